"""Which sentences of a paper are its requirements: whole, verbatim, and only what is built or set up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phases.planning.rules.asides import find_asides
from phases.planning.rules.blocks import ITEM, NOTE
from phases.planning.rules.cues import kind_of_statement, says_what_is_set, why_not
from phases.planning.rules.deeds import gist_of, weigh_deeds
from phases.planning.rules.item_lists import ItemList, find_lists, find_open_lists, join_items
from phases.planning.rules.passages import PaperText, Sentence, find_terms
from phases.planning.rules.sections import BUILD, MIXED, OTHER, RESULTS, SETUP
from phases.planning.rules.sentences import count_words, is_connected, is_whole, leans_on, without_next
from phases.planning.rules.table_uses import find_definitions

_LEAST, _LEAST_LOOSELY, SURE = 0.5, 0.0, 0.79
_FEW = 8
"""With fewer than this, the paper is read loosely."""
LONGEST = 480
"""Two sentences that are longer together are read badly, and one alone is a paragraph."""
_SHORTEST, _LONGEST_SENTENCE, _LONGEST_LIST = 25, 400, 720
"""A list is longer than other requirements before it is cut: each part of it would need the words above the list again."""
_ELSE = re.compile(r"(?:otherwise|else|or|and|finally)\b", re.IGNORECASE)
_STOP = re.compile(r"[.!?。！？]\s+(?=[\"“(\[A-Z0-9\u3040-\u9fff])")
_ENDED = re.compile(r"[.!?。！？][)\"”’]*\s*$")
_TERM = re.compile(
    r"(?!there\b|it\b|this\b|if\b|when\b|to\b)[\w$.\\{}^*⟨⟩-]{1,24}(?: [\w()+-]{1,12}){0,2} ?(?:[∈=:]|\bis\b|\bare\b|\\in\b)"
)
"""How an item begins that says what its first word stands for: "id is the name of the door"."""
_FEWEST_WORDS = 3
_POINTS_DOWN = re.compile(r",? ?\b(?:as follows|(?:by |as |in )?the following(?: \w+){0,3})[.:]?$")
"""How a sentence ends whose formula stands below it."""
_DEFINED = 2.0
"""What a table says that names stand for: it is needed wherever these are used."""
_QUOTE = 90
_SET_BY_US = re.compile(
    r"\bwe (?:[a-z]+ly |also |then |first )?(?:use[d]?|set|sampled?|delete[d]?|add(?:ed)?|employ(?:ed)?"
    r"|train(?:ed)?|r[au]n|implemented|fixed|chose"
    r"|removed?|initialized?|tuned?|averaged?|split|pick(?:ed)?|normalized?|repeat(?:ed)?|replaced?|limit(?:ed)?)\b"
    r"|\b(?:were|was|is|are) (?:set to|trained (?:for|with|on|using)|run (?:for|with|on)|repeated|sampled|created"
    r"|initialized|implemented|obtained by)\b",
    re.IGNORECASE,
)
"""How a sentence among results says what the authors set."""
_CAME_OUT = re.compile(r"(?<![\w.-])[0-9]+\.[0-9]+ ?(?:[mµ]?s|[KMG]B|seconds|minutes|hours|%|\\%|×)(?!\w)")
"""A size, a time or a share with a fraction: what nobody set it to came out, as "The remaining 18.2 MB are sent" says."""
_LEAST_AMONG_RESULTS = 1.0
_BY_THE_WAY = ("result", "discussion", "motivation", "points elsewhere", "of authors")
_USED = re.compile(
    r"\bwe (?:[a-z]+ly |also |first |then )?(?:use|utili[sz]e|employ|adopt|apply|follow|train|run|fine-?tune"
    r"|implement|replace|add)\b",
    re.IGNORECASE,
)
_BEFORE = ("", "points elsewhere", "assumption")
"""Why a sentence may be no requirement, and yet be printed before one that leans on it."""
_PREMISE = re.compile(r"(?:[A-Z][0-9]{1,2}[:.] )?(?:Now |First )?(?:suppose|assume|let)\b", re.IGNORECASE)
_LETS = re.compile(r"Let\b")
_FOLLOWS = re.compile(r"(?:If|When|Whenever|Then|For) ")
"""How a sentence begins that is true alone where the one before it holds, and how that one begins."""
_BESIDE_SISTERS = ("", "no sentence", "points elsewhere")
_LEAST_BESIDE_SISTERS = -0.3
_SHORT_ITEM, _TOGETHER = 3, 0.3
"""So many sentences of an item are kept together, and so much more a list is worth than its sentences."""
"""Why an item of a list may be no requirement alone, what it must weigh, and yet be one where its sisters are."""
_ALONE = 0.4
"""So much more is asked of a sentence that begins with "Then" or "Hence" where the one before it is not printed."""
_CITATION = re.compile(
    r"\[[0-9, –-]+\]|\[[A-Za-z][\w:.+-]*[0-9]\w*(?:; ?[\w:.+-]+)*\]|\((?:[^()]*\b(?:19|20)[0-9]{2}[a-z]?)\)"
)


@dataclass(frozen=True)
class Requirement:
    """One claim: a sentence, or two neighbours of which the second leans on the first."""

    sentences: tuple[Sentence, ...]
    score: float
    place: int
    terms: str = ""
    """What the signs of its formula stand for, as the paper says it after the formula."""
    list_place: int | None = None
    """Where the list begins of which it is an item; its items are chosen together."""

    @property
    def text(self) -> str:
        said = " ".join(one.text for one in self.sentences)
        return said if self.sentences[-1].formula else without_next(said)

    @property
    def formula(self) -> str:
        """The formula that its words end with, and what its signs stand for; a sentence that ends by itself has none."""
        formula = self.sentences[-1].formula
        if _ENDED.search(self.text) and not _POINTS_DOWN.search(self.text):
            return ""
        return f"{formula.rstrip(' .')} {self.terms}" if formula and self.terms else formula


def find_requirements(paper: PaperText, names: Iterable[str] = ()) -> list[Requirement]:
    """Every sentence that may be a requirement, in the order of the paper. `names`: what the paper calls its own parts."""
    wanted = [re.escape(name) for name in names if len(name) > 2]
    own = re.compile(rf"\b(?:{'|'.join(wanted)})\b", re.IGNORECASE) if wanted else None
    asides = find_asides(paper.sentences)
    sentences = [replace(one, role=OTHER) if at in asides else one for at, one in enumerate(paper.sentences)]
    found = list(_candidates(sentences, own))
    if len(found) < _FEW:
        found = list(_candidates(sentences, own, loosely=True))
    found = _join_open_lists(_complete_lists(found, sentences, own), sentences, own)
    found += _defined_in_tables(paper, {row.place for row in found})
    return [_with_terms(row, paper.sentences) for row in sorted(found, key=lambda row: row.place)]


def requirement_row(found: Requirement, identifier: str) -> dict[str, Any]:
    """The requirement as the plan has it, without its component."""
    first = found.sentences[0]
    row = {
        "id": identifier,
        "kind": kind_of_statement(found.text, first.role),
        "text": found.text,
        "source": {
            "section": first.section["number"] or first.section["title"] or None,
            "page": first.page,
            "quote": quote_start(first.text.removesuffix(":")),
        },
        "status": "stated",
    }
    return {**row, "formula": found.formula} if found.formula else row


def quote_start(words: str) -> str:
    """The first words of a passage, enough of them to find it by."""
    line = " ".join(words.split())
    if len(line) <= _QUOTE:
        return line
    end = line.find(" ", _QUOTE)
    return line[: end if 0 < end <= 2 * _QUOTE else _QUOTE]


def _candidates(
    sentences: Sequence[Sentence], own: re.Pattern[str] | None, *, loosely: bool = False
) -> Iterable[Requirement]:
    """Each sentence that asks for something, with the one before it where it leans on that."""
    rows: list[Requirement] = []
    known: set[str] = set()
    for place, sentence in enumerate(sentences):
        is_lead = _leads_to_formula(sentence)
        if sentence.text in known or not (is_lead or _asks(sentence, own, loosely=loosely)):
            continue
        known.add(sentence.text)
        score = _score(sentence, own) + is_lead
        follows = bool(_FOLLOWS.match(sentence.text) and _PREMISE.match(sentence.before))
        if not leans_on(sentence.text) and not follows:
            rows.append(Requirement((sentence,), score, place))
            continue
        previous = sentences[place - 1] if place and sentences[place - 1].text == sentence.before else None
        previous = previous if previous and previous.role == sentence.role else None
        pair = Requirement((previous, sentence), score + 0.1, place - 1) if previous else None
        if pair and previous and _is_readable(previous) and not leans_on(previous.text) and _fits(pair.text):
            last = rows[-1] if rows else None
            if last and last.sentences == (previous,):
                rows[-1] = Requirement(pair.sentences, max(last.score, pair.score) + 0.3, place - 1)
                continue
            if _why_none(previous.text) in _BEFORE:
                rows.append(pair)
                continue
        if (is_connected(sentence.text) or _LETS.match(sentence.before)) and score >= _LEAST + _ALONE:
            rows.append(Requirement((sentence,), score - _ALONE, place))
    return rows


def _complete_lists(
    rows: Sequence[Requirement], sentences: Sequence[Sentence], own: re.Pattern[str] | None
) -> list[Requirement]:
    """The requirements with what is missing of a list that is mostly taken, and without the lists that ask for nothing."""
    found = list(rows)
    for one in find_lists(sentences):
        first, last = one.items[0][0], one.items[-1][-1]
        inside = [row for row in found if first <= row.place <= last]
        if not inside:
            continue
        found = [row for row in found if not first <= row.place <= last]
        if one.has_duties:
            found += _complete_list(one, inside, sentences, own)
    return found


def _complete_list(
    one: ItemList, rows: list[Requirement], sentences: Sequence[Sentence], own: re.Pattern[str] | None
) -> list[Requirement]:
    """The requirements of a list; all of its items where half are taken, each with the score of its sisters at least."""
    taken = {place for row in rows for place in range(row.place, row.place + len(row.sentences))}
    if 2 * sum(not taken.intersection(item) for item in one.items) > len(one.items):
        return rows
    mean = sum(row.score for row in rows) / len(rows)
    found: list[Requirement] = []
    for item in one.items:
        inside = [row for row in rows if item[0] <= row.place <= item[-1]]
        for place in item:
            if place not in taken and _may_join(place, item, taken, sentences, own):
                inside.append(Requirement((sentences[place],), _score(sentences[place], own), place))
                taken.add(place)
        inside.sort(key=lambda row: row.place)
        telling = [row for row in inside if count_words(row.text) > _FEWEST_WORDS] or inside
        close = telling if len(item) <= _SHORT_ITEM else telling[:1]
        found += [replace(row, score=max(row.score, mean) + _TOGETHER, list_place=one.items[0][0]) for row in close]
        found += [row for row in inside if row not in close]
    return found


def _join_open_lists(
    found: list[Requirement], sentences: Sequence[Sentence], own: re.Pattern[str] | None
) -> list[Requirement]:
    """The requirements with those lists whole that end a sentence: "A point is hopeless when", and the items behind it."""
    joined: list[Requirement] = []
    end = -1
    for lead, items in find_open_lists(sentences):
        # a list in an item of the list before it is told there
        rows = _open_list_rows(lead, items, sentences, own) if lead > end else []
        if not rows:
            continue
        end = items[-1]
        around = next((one.list_place for one in found if one.place in (lead, lead - 1)), None)
        found = [one for one in found if one.place + len(one.sentences) <= lead or one.place > items[-1]]
        joined += [replace(row, list_place=around) for row in rows]
    return found + joined


def _open_list_rows(
    lead: int, items: Sequence[int], sentences: Sequence[Sentence], own: re.Pattern[str] | None
) -> list[Requirement]:
    """A list and the words that lead to it in one requirement; in several, with these words again, where it is long."""
    head, told = sentences[lead], [sentences[place] for place in items]
    why = [_why_none(_POINTS_DOWN.sub(".", one.text)) for one in (head, *told)]
    score = max(_score(head, own), sum(_score(one, own) for one in told) / len(told)) + _TOGETHER
    is_asked = (
        (head.role in (BUILD, SETUP) or (head.role == MIXED and says_what_is_set(head.text)))
        and why[0] in _BESIDE_SISTERS
        and 2 * sum(one not in _BESIDE_SISTERS for one in why[1:]) <= len(told)
        and score >= _LEAST
        and not all(map(_is_readable, told))
    )
    before = sentences[lead - 1 : lead] if head.before and leans_on(head.text) else ()
    if not is_asked or (leans_on(head.text) and not before and not is_connected(head.text)):
        return []
    front = (*before, head)
    rows: list[Requirement] = []
    for part in _parts_of_list(told, _LONGEST_LIST - sum(len(one.text) for one in front)):
        place = lead - len(before) if part[0] is told[0] else items[told.index(part[0])]
        row = Requirement((*before, *join_items(head, part)), score, place)
        if not (row.sentences[-1].formula or is_whole(row.text)):
            return []
        rows.append(row)
    return rows


def _parts_of_list(items: Sequence[Sentence], room: int) -> Iterator[list[Sentence]]:
    """The items in runs of so many characters; what begins with "otherwise" stays behind the item before it."""
    part: list[Sentence] = []
    for item in items:
        if sum(len(one.text) for one in part) + len(item.text) > room and part and not _ELSE.match(item.text):
            yield part
            part = []
        part.append(item)
    yield part


def _may_join(
    place: int, item: Sequence[int], taken: set[int], sentences: Sequence[Sentence], own: re.Pattern[str] | None
) -> bool:
    """Whether a sentence of an item is needed: the first that says something, and what goes on with one that is printed."""
    sentence = sentences[place]
    if place - 1 in item and place - 1 in taken and sentence.before:
        return _asks(sentence, own) and _score(sentence, own) >= SURE
    if _FOLLOWS.match(sentence.text) and _PREMISE.match(sentence.before):
        return False  # alone, without its premise, it would be false
    alone = not leans_on(sentence.text) or is_connected(sentence.text)
    return alone and not taken.intersection(item) and _goes_with_list(sentence, own)


def _goes_with_list(sentence: Sentence, own: re.Pattern[str] | None) -> bool:
    """Whether an item may be printed because its sisters are."""
    return (
        sentence.role in (BUILD, SETUP, MIXED)
        and _is_readable(sentence)
        and count_words(sentence.text) > _FEWEST_WORDS
        and _why_none(sentence.text) in _BESIDE_SISTERS
        and _score(sentence, own) >= _LEAST_BESIDE_SISTERS
    )


def _defined_in_tables(paper: PaperText, taken: Collection[int]) -> Iterator[Requirement]:
    """What tables say that names stand for, at places of their section and page without a requirement, if there are such."""
    for table, said in find_definitions(paper):
        told = [Sentence(text, table.section, table.page, table.role, ITEM) for text in said]
        here = [at for at, one in enumerate(paper.sentences) if one.section["id"] == table.section["id"]]
        here.sort(key=lambda at: (at in taken, paper.sentences[at].page != table.page))
        for part, place in zip(_parts_of_list(told[1:], _LONGEST_LIST - len(said[0])), here, strict=False):
            yield Requirement(join_items(told[0], part), _DEFINED, place)


def _with_terms(row: Requirement, sentences: Sequence[Sentence]) -> Requirement:
    last = row.place + len(row.sentences) - 1
    is_there = last < len(sentences) and sentences[last] == row.sentences[-1]
    return replace(row, terms=find_terms(sentences, last)) if is_there else row


def _asks(sentence: Sentence, own: re.Pattern[str] | None, *, loosely: bool = False) -> bool:
    """Whether it says what is built or set up. `loosely`: or what there is."""
    if sentence.role not in (BUILD, SETUP, MIXED, RESULTS) or not _is_readable(sentence) or _why_none(sentence.text):
        return False
    if sentence.role == RESULTS and not (
        _SET_BY_US.search(sentence.text) and _score(sentence, own) >= _LEAST_AMONG_RESULTS
    ):
        return False
    if sentence.role == MIXED and not says_what_is_set(sentence.text):
        return False
    return _score(sentence, own) >= (_LEAST_LOOSELY if loosely else _LEAST)


def _why_none(said: str) -> str:
    """Why a sentence is no requirement. What only stands in brackets, and whose model the authors use, are no reasons."""
    why = why_not(said)
    if why == "related" and _USED.search(said):
        return ""
    return why_not(gist_of(said)) if why in _BY_THE_WAY and not said.startswith("As shown") else why


def _leads_to_formula(sentence: Sentence) -> bool:
    """Whether these are the words of which a displayed formula is the end, like "Token k has probability"."""
    said = sentence.text
    points_down = bool(_POINTS_DOWN.search(said))
    return (
        bool(sentence.formula)
        and sentence.role in (BUILD, SETUP)
        and count_words(said) >= _FEWEST_WORDS
        and len(said) <= _LONGEST_SENTENCE
        and not said[0].islower()
        and said[0].isalpha()
        and said.count(")") <= said.count("(")
        and (points_down or not _ENDED.search(said))
        and (is_connected(said) if points_down and leans_on(said) else not leans_on(said))
        # what is compared with has to be built, too
        and why_not(_POINTS_DOWN.sub(".", said)) in ("", "no sentence", "related")
    )


def _is_readable(sentence: Sentence) -> bool:
    said = without_next(sentence.text)
    item = sentence.kind == ITEM and not sentence.before and said
    return (
        _length_of(said) >= _SHORTEST
        and len(said) <= _LONGEST_SENTENCE
        and sentence.kind != NOTE
        and _fits(said)
        and is_whole(f"{said[0].upper()}{said[1:]}" if item and _TERM.match(said) else said)
        and not (said.endswith((":", "：")) and not sentence.formula)
    )


def _length_of(said: str) -> int:
    """The letters of a sentence; a word of signs that have none between them is as long as another with its blank."""
    return len(said) + 4 * (count_words(said) - len(said.split()))


def _fits(text: str) -> bool:
    return len(text) <= LONGEST and len(_STOP.findall(text)) < 2


def _score(sentence: Sentence, own: re.Pattern[str] | None) -> float:
    """How much an implementer needs a sentence; the formula that it leads to and a name of the paper's own speak for it."""
    said = sentence.text
    score = weigh_deeds(said) + 0.2 * bool(own and own.search(said)) + 0.6 * bool(sentence.formula)
    score += 0.4 * (sentence.kind == ITEM) + 0.2 * (sentence.role == BUILD) - 0.2 * (sentence.role == MIXED)
    score += 0.3 * (sentence.role in (SETUP, MIXED) and says_what_is_set(said))
    score -= 1.2 * (sentence.role != BUILD and bool(_CAME_OUT.search(said)) and not _SET_BY_US.search(said))
    return score - 0.2 * min(len(_CITATION.findall(said)), 2) - 0.3 * (_length_of(said) < 45)
