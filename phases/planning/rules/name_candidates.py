"""What may be the name of a data set, a metric or a baseline: where each name stands in a paper, and by what signs.

A sign is a cue in words; how much each counts for which kind is learnt (name_weights.py, decision 304).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from phases.planning.rules.known_names import (
    KNOWN_DATA,
    KNOWN_METHODS,
    KNOWN_METRICS,
    KNOWN_MODELS,
    METHODS_IN_WORDS,
)
from phases.planning.rules.name_patterns import (
    AFTER,
    AUTHORS,
    AUTHORS_AFTER,
    BEFORE,
    BETWEEN,
    CITE_KEY,
    CITED,
    GENERIC,
    HEADINGS,
    IN_SENTENCE,
    NAME,
    NO_NAME,
    ORDINARY,
    PHRASE,
    PROMISES,
    QUOTED,
)
from phases.planning.rules.passages import PaperText, Sentence, Table
from phases.planning.rules.sections import MIXED, OTHER, PROOF, RESULTS, SETUP
from phases.planning.rules.sentences import without_marks
from phases.planning.rules.short_forms import find_short_forms
from phases.planning.rules.tables import METHOD_HEAD, SETTING_NAME, Grid

_LONGEST_SENTENCE, _MOST_WORDS, _LONGEST_NAME, _MOST_SPELLED = 1500, 7, 60, 5
_MOST_LABELS = 30
_OWN_PLACES = 8
_MOSTLY = 0.75
_SIZE = re.compile(r"[-_ ]?(?:BASE|LARGE|SMALL|TINY|Base|Large|Small|Tiny|XL|XXL|[0-9.]+[BM])$")
_PLAIN_WORD = re.compile(r"[A-Z][a-z]+")
_MARKS = re.compile(r"\\?\b(?:up|down)arrow\b|[↑↓$*_]|\\[a-z]+\{?|[{}]")
_LABEL_END = re.compile(r"(?: ?\([^()]*\)| ?\[[^\[\]]*\]| (?:paper|code|ours)| \^[0-9]| ?[±<>=].*| [0-9.]+ ?%?)+$")
_NO_LABEL = re.compile(
    r"(?:methods?|models?|algorithms?|how|total|average|mean|all|baselines?|change|reduction|improv\w*|gains?"
    r"|differences?|data ?sets?|tasks?|metrics?)",
    re.IGNORECASE,
)
_KIND_AFTER = re.compile(
    r"(?<=\w)[ -](?:data ?sets?|corpora|corpus|tasks?|benchmarks?|scores?|methods?|algorithms?|problems?|equations?)$"
)
_OURS = re.compile(r"\b(?:ours?|proposed|this work)\b", re.IGNORECASE)
_CAPTION_MARK = re.compile(r"^[> ]*(?:Table|Figure|Fig\.|TABLE|FIGURE) ?[0-9A-Z.]+[.:]? *|\*+")
_DATA_HEAD = re.compile(r"data ?set|corpus|benchmark|task|problem|workload|trace|environment", re.IGNORECASE)
_METRIC_HEAD = re.compile(r"metric|measure|score", re.IGNORECASE)


@dataclass
class Candidate:
    """A name with all of its places."""

    name: str
    spellings: Counter[str] = field(default_factory=Counter)
    cues: Counter[str] = field(default_factory=Counter)
    """How many of its places have each sign."""
    sentences: list[tuple[int, Sentence]] = field(default_factory=list)
    """Its places, each with the number of signs that it has."""
    beside: set[str] = field(default_factory=set)
    """Keys of the names that stand in one list with it in a sentence."""
    is_own: bool = False
    has_own: bool = False
    is_word: bool = False
    """Whether it has its capital at the beginning of sentences, and the paper mostly writes it in small letters."""

    @property
    def places(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class _Place:
    name: str
    sentence: Sentence
    cues: tuple[str, ...]
    beside: tuple[str, ...] = ()


def find_candidates(paper: PaperText, own: Sequence[str]) -> list[Candidate]:
    """The names of a paper in the order in which they come; `own`: what it calls its method."""
    own = [
        name for name in own if not any(known.fullmatch(name) for known in (KNOWN_DATA, KNOWN_MODELS, KNOWN_METHODS))
    ]
    own = [*own, *_names_in_title(paper)]
    mine = [key_of_name(name) for name in own]
    # a short name is in many words: AP is in AP+M, and not in MAP
    within = [re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])") for name in own if len(name) > 1]
    found: dict[str, Candidate] = {}
    for place in _places(paper, own):
        key = key_of_name(place.name)
        if not key:
            continue
        one = found.setdefault(key, Candidate(place.name))
        one.spellings[place.name] += 1
        one.cues.update(dict.fromkeys(place.cues, 1))
        one.sentences.append((len(place.cues), place.sentence))
        one.is_own = one.is_own or key in mine
        one.beside.update(map(key_of_name, place.beside))
        one.has_own = one.has_own or any(len(name) > 2 and name in key for name in mine)
    _join_forms(found, _short_forms(paper))
    small = Counter(re.findall(r"(?<![\w-])[a-z]{3,}(?![\w-])", paper.text))
    for one in found.values():
        one.has_own = one.has_own or any(pattern.search(name) for pattern in within for name in one.spellings)
        # at the beginning of a sentence a capital says nothing
        plain = one.cues["before: begins"] + sum(one.spellings[name] for name in one.spellings if name.islower())
        is_first = plain >= _MOSTLY * one.places
        one.is_word = is_first and bool(_PLAIN_WORD.fullmatch(one.name)) and small[one.name.lower()] >= one.places
        known = [name for name in one.spellings if KNOWN_DATA.fullmatch(name)]
        most = max(known or one.spellings, key=lambda name: one.spellings[name])
        one.name = most.lower() if most.lower() in one.spellings else most
    return list(found.values())


def _names_in_title(paper: PaperText) -> list[str]:
    """The longest words of the title that the paper goes on about."""
    words = re.findall(r"[\w+*’'-]+", str(paper.outline.get("title") or ""))
    for length in (4, 3, 2):
        for at in range(len(words) - length + 1):
            name = " ".join(words[at : at + length])
            if all(word[0].isupper() for word in name.split()) and paper.text.count(name) >= _OWN_PLACES:
                return [name]
    return []


def _join_forms(found: dict[str, Candidate], short: Mapping[str, str]) -> None:
    """Counts an abbreviation as what it stands for, and a model of a size as the model: TAPAS-Base as TAPAS."""
    for key in list(found):
        one, match = found[key], _SIZE.search(found[key].name)
        whole = found.get(key_of_name(one.name[: match.start()]) if match else short.get(key, ""))
        if whole is not None and whole is not one:
            whole.cues.update(one.cues)
            whole.beside |= one.beside
            whole.sentences += one.sentences
            whole.spellings.update({} if match else one.spellings)
            del found[key]


def key_of_name(name: str) -> str:
    """What the spellings of a name have in common."""
    told = _KIND_AFTER.sub("", name.lower()) or name.lower()
    return re.sub(r"(?<=\w\w\w)s$", "", re.sub(r"[\W_]", "", told))


def _short_forms(paper: PaperText) -> dict[str, str]:
    """Keys of abbreviations to the keys of what they stand for: "Fashion MNIST (FMNIST)"."""
    found: dict[str, str] = {}
    for sentence in paper.sentences:
        for one in find_short_forms(sentence.text[:_LONGEST_SENTENCE]):
            words, short = one.before.split()[-_MOST_SPELLED:], one.short.lower()
            spelled = re.compile(".*?".join(map(re.escape, re.sub(r"\W", "", short))))
            tails = (" ".join(words[at:]) for at in reversed(range(len(words))))
            whole = next((tail for tail in tails if spelled.match(re.sub(r"\W", "", tail.lower()))), "")
            found.setdefault(key_of_name(short), key_of_name(whole))
    return found


def _places(paper: PaperText, own: Sequence[str]) -> Iterator[_Place]:
    for sentence in paper.sentences:
        if sentence.role not in (PROOF, OTHER):
            yield from _in_sentence(sentence, own)
    sections = {section["id"]: section for section in paper.outline["sections"]}
    for kind in ("tables", "figures"):
        for row in paper.outline[kind]:
            section = sections.get(row["section"])
            if section is not None:
                text = _CAPTION_MARK.sub("", without_marks(str(row["text"])))
                role = paper.roles.get(section["id"], OTHER)
                yield from _in_sentence(Sentence(text, section, row["page"], role, "caption"), own)
    yield from _in_headings(paper)
    for table in paper.tables:
        yield from _in_table(table, own)


def _in_sentence(sentence: Sentence, own: Sequence[str]) -> Iterator[_Place]:
    """The names of a sentence, with the signs before, after and around each list of them."""
    text = sentence.text[:_LONGEST_SENTENCE]
    around = [
        *_cues_of_place(sentence),
        *(f"sentence: {name}" for name, pattern in IN_SENTENCE if pattern.search(text)),
    ]
    for group in _lists_of(_spans(text), text):
        start, end = group[0][0], group[-1][1]
        before, after = text[max(0, start - 90) : start], text[end : end + 80]
        cited = CITED.match(after)
        after = after[cited.end() :] if cited else after
        near = [f"before: {name}" for name, pattern in BEFORE if pattern.search(before)]
        near += [f"after: {name}" for name, pattern in AFTER if pattern.match(after)]
        if len(group) > 1:
            near.append("in a list")
            with_own = any(text[a:b] in own for a, b in group)
            near += (
                [f"in a {'caption' if sentence.kind == 'caption' else 'list'} with the paper's own"] if with_own else []
            )
        for begin, stop in group:
            if begin == 0 and sentence.kind == "item":
                near += [f"begins an item of {name}" for name, pattern in HEADINGS if pattern.search(sentence.lead)]
            cues = [*around, *near, *(["cited"] if CITED.match(text[stop : stop + 80]) else [])]
            cues += ["cited where it is compared"] if "cited" in cues and "sentence: compares" in around else []
            cues += ["in quotes"] if text[begin - 1 : begin] in ('"', "“", "‘") and begin else []
            name = _singular(text[begin:stop])
            yield _Place(name, sentence, tuple(cues), tuple(text[a:b] for a, b in group if a != begin))


def _singular(name: str) -> str:
    """A name in small letters as that of one thing."""
    if not name.rpartition(" ")[2].islower():
        return name
    if name.endswith(("ies", "sses")):
        return name[:-3] + "y" if name.endswith("ies") else name[:-2]
    return re.sub(r"(?<=\w\w\w)(?<![suai])s$", "", name)


def _spans(text: str) -> list[tuple[int, int]]:
    """Where names stand, none over another."""
    found: list[tuple[int, int]] = []
    whole, text = text, CITE_KEY.sub(lambda match: " " * len(match.group()), text)
    for match in NAME.finditer(text):
        start, end = match.span()
        # words that begin a sentence belong to no name
        while (first := ORDINARY.match(text, start, end)) is not None:
            start = first.end()
        authors = AUTHORS_AFTER.search(whole, start, end + 12)
        end = min(end, authors.start()) if authors else end
        if (
            start < end
            and " al." not in text[start:end]
            and not NO_NAME.match(text[start:end])
            and end - start <= _LONGEST_NAME
        ):
            found.append((start, end))
    for pattern in (QUOTED, KNOWN_METRICS, METHODS_IN_WORDS, PHRASE):
        taken = sorted(found)
        for match in pattern.finditer(text):
            start, end = match.span(1) if match.re.groups else match.span()
            if start < end and not any(a < end and start < b for a, b in taken):
                found.append((start, end))
    return _without_short_forms(sorted(found), text)


def _without_short_forms(found: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Without what stands in brackets right behind a name: it would end a list."""
    ends = {end for _, end in found}
    return [
        (start, end)
        for start, end in found
        if not (text[start - 1 : start] == "(" and text[end : end + 1] == ")" and {start - 1, start - 2} & ends)
    ]


def _lists_of(spans: Sequence[tuple[int, int]], text: str) -> Iterator[list[tuple[int, int]]]:
    group: list[tuple[int, int]] = []
    for span in spans:
        if group and not BETWEEN.fullmatch(text[group[-1][1] : span[0]][:120]):
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _cues_of_place(sentence: Sentence) -> Iterator[str]:
    yield from _cues_of_role(sentence.role)
    if sentence.kind == "caption":
        yield "in a caption"
    for name, pattern in HEADINGS:
        if pattern.search(sentence.section["title"] or ""):
            yield f"section on {name}"


def _cues_of_role(role: str) -> Iterator[str]:
    yield f"section: {role}"
    if role in (SETUP, MIXED, RESULTS):
        yield "in set-up or results"


def _in_headings(paper: PaperText) -> Iterator[_Place]:
    over: list[tuple[str, str]] = []
    for section in paper.outline["sections"]:
        title, number = (section["title"] or "").strip(), str(section["number"] or "")
        kind, colon, named = title.partition(": ")  # "Data: ZipfBag-5k"
        told = [name for name, pattern in HEADINGS if colon and pattern.fullmatch(kind)]
        title = named if told else title
        role = paper.roles.get(section["id"], OTHER)
        above = [name for head, name in over if number.startswith(f"{head}.")]
        if (
            0 < len(title.split()) <= 3
            and role not in (PROOF, OTHER)
            and (above or told or role not in ("build", "background"))
            and not GENERIC.search(title)
        ):
            cues = ["a heading", f"section: {role}", *(f"a heading below {name}" for name in (*above, *told))]
            yield _Place(title, Sentence(title, section, section["page"], role, "heading"), tuple(cues))
        over += [(number, name) for name, pattern in PROMISES if number and pattern.search(title)]


def _in_table(table: Table, own: Sequence[str]) -> Iterator[_Place]:
    """The labels of rows and the heads of columns."""
    cells, grid = table.cells, table.grid
    if _is_of_settings(grid, cells):
        return
    corner = " ".join(cells[0][:2] + cells[1][:2]) if cells else ""
    numbers = [cell for _, row in grid.rows for cell in row if re.search("[0-9]", cell)]
    is_measured = sum("." in cell or "%" in cell for cell in numbers) * 2 > len(numbers)
    said = ["table: measured" if is_measured else "table: of counts", *_cues_of_role(table.role)]
    heads = [part for head in grid.heads for part in head.split(" / ")]
    raw = [row[0] for row in cells[1:]] if cells else []
    groups = [part for label, _ in grid.rows for part in label.split(" / ")[:-1]]
    for kind, names in (("row", [*grid.labels, *raw]), ("group", groups), ("column", heads)):
        labels = list(dict.fromkeys(filter(None, names)))
        if len(labels) > _MOST_LABELS:
            continue
        cues = [f"a {kind} of a table", *said]
        beside = _beside_own(grid.heads, own) if kind == "column" else set(labels) if _has_own(labels, own) else set()
        if kind == "row" and is_measured and METHOD_HEAD.search(corner):
            cues.append("a row of methods with measures")
        if kind != "column":
            cues += [f"a {kind} below {word}" for word, head in _HEADS if head.search(corner)]
        for name in labels:
            plain = " ".join(_MARKS.sub(" ", name).split())
            authors = AUTHORS.match(plain)
            shown = authors.group() if authors else _LABEL_END.sub("", CITED.sub("", plain)).strip(" .,:;-–()")
            shown = _SHORT_HEADS.get(shown, shown) if "F1" in heads else shown
            more = [
                *([f"a {kind} beside the paper's own"] if name in beside else []),
                *(["cited in a table"] if CITED.search(plain) else []),
                *(["with an arrow"] if re.search("[↑↓]|arrow", name) else []),
            ]
            if _may_be_name(shown) and not _OURS.search(plain):
                place = Sentence(plain, table.section, table.page, table.role, "table")
                yield _Place(shown, place, (*cues, *more))


_SHORT_HEADS = {"P": "precision", "R": "recall"}
_HEADS = (("methods", METHOD_HEAD), ("data", _DATA_HEAD), ("metrics", _METRIC_HEAD))


def _has_own(names: Iterable[str], own: Sequence[str]) -> bool:
    return any(_OURS.search(name) or any(one.lower() in name.lower() for one in own if len(one) > 1) for name in names)


def _beside_own(heads: Sequence[str], own: Sequence[str]) -> set[str]:
    """The heads of columns in the rows of heads that have a name of the paper's own; what is measured stands in another."""
    rows = list(zip_longest(*(head.split(" / ")[::-1] for head in heads), fillvalue=""))
    return {name for row in rows if _has_own(row, own) for name in row}


def _is_of_settings(grid: Grid, cells: Sequence[Sequence[str]]) -> bool:
    """Whether a table says what is set, and not what came out."""
    labels = grid.labels or [row[0] for row in cells]
    named = sum(bool(SETTING_NAME.match(label)) for label in labels)
    return named * 4 > len(labels) or bool(
        cells and re.search(r"parameter|^\W*value\W*$", " ".join(cells[0]), re.IGNORECASE)
    )


def _may_be_name(name: str) -> bool:
    return bool(
        1 < len(name) <= _LONGEST_NAME
        and len(name.split()) <= _MOST_WORDS
        and re.match(r"[A-Za-z]", name)
        and not _NO_LABEL.fullmatch(name)
        and not re.search(r"[=<>|\\:]|, |\b(?:which|that|is|are|the)\b", name)
    )
