"""What the method is made of: its algorithms, the parts that have a name, and the equations of each.

A name comes from an algorithm's caption, a heading of what is built, a run-in heading, or a sentence that names something;
never from the number of a section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.component_names import clean_name, is_component_name, is_known_to_all, is_same_name, key_of
from phases.planning.rules.component_phrases import FEWEST, find_objects, find_phrases, is_cited
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, RESULTS, SETUP, Section, is_named_after_content
from phases.planning.rules.techniques import find_techniques

MOST, _ENOUGH = 24, 12
_WEAK_SCORE, _SURE, _CERTAIN = 1.3, 2.0, 3.0
_LONGEST_STEPS = 40
_CAPS = r"[A-Z][A-Za-z0-9]*(?:[A-Z0-9*+-][A-Za-z0-9*+-]*)+"
_CAMEL = re.compile(
    r"(?<![\w./-])((?:[A-Z][a-z0-9]+){2,}|[A-Z]{2,}[0-9A-Z]*[A-Z][a-z]+[A-Za-z0-9]*"
    r"|[A-Z][a-z]*[0-9][A-Za-z0-9]*[A-Z]\w+)(?![\w])"
)
_CALLED = re.compile(
    r"\b(?:call(?:ed|s)?|named?|term(?:ed)?|dubbed|denoted(?: by| as)?|refer(?:red)? to (?:it |this |them )?as"
    r"|known as) (?:this |it |our (?:\w+ ){0,3}|the |a |an |these )?[\"“‘'*]*"
    r"((?:[A-Za-z][\w'’*-]+ ?){1,4}?)[\"”’'*]*(?<! is)(?=[ ]?(?:[.,;:(\[]| which| that| and| is| are| to| in| for| with|$))"
)
_PROPOSED = re.compile(
    r"\b(?:we|this (?:paper|work)|[Ii]t) (?:\w+ly |also |first |then |further )?(?:propose|introduce|present"
    r"|develop|design|describe)s? (?:(?:a|an|the|our|two|several|new|novel|simple|efficient) ){0,3}"
    r"((?:[A-Za-z][\w*+-]* ){0,4}?[A-Za-z][\w*+-]*(?: \([A-Z][\w*+-]+\))?)(?=[.,;:(]| (?:which|that|to|for|with"
    r"|in|based|where|on|by|as|of|using)\b)"
)
_ABBREVIATED = re.compile(
    r"((?:[A-Z][\w*+-]*[ -]){1,5}(?:[a-z]+ )?(?:[A-Z][\w*+-]*)?) ?\(([A-Z][A-Za-z0-9*+-]{1,9}s?)\)"
)
_QUOTED = re.compile(r"[\"“]([A-Za-z][A-Za-z-]+ [A-Za-z -]{3,38})[\"”]")
_BOLD = re.compile(r"\*\*([^*\n]{3,80})\*\*")
_RUN_IN = re.compile(r"^([A-Z][\w()/’'-]*(?: [\w()/’'&-]+){0,4})[.:] (?=[A-Z])")
_RUN_IN_BARE = re.compile(
    r"^((?:[A-Z][\w-]+ ){1,3}[A-Z]?[\w-]+) (?=(?:We|The|In|During|To|For|Our|Each|This|It|An|As|When|All|At)\b [a-z])"
)
"""A run-in heading whose full stop or bold type was lost: "Label Smoothing During training, we"."""

_HEADING_ALONE = re.compile(
    r"^(?!(?:The|An?|We|This|It|Our|These) )([A-Z][\w()’'-]*(?: [\w()’'&-]+){0,2}|[A-Z][\w()’'-]*(?: (?:[A-Z][\w()’'-]*|of|in"
    r"|and|for|with|the|to|on|via)){1,5})\.$"
)
"""A run-in heading that ends its own sentence: "Signal propagation."."""
_ENUMERATED = re.compile(
    r"\((?:[1-9]|i{1,3}|iv|v|[a-e])\) (?:an?|the|our) ((?:[A-Za-z][\w-]* ){0,4}?[A-Za-z][\w-]*)"
    r"(?=[,;.:]| (?:that|which|with|for|of|to|in|on|based|where|when|and)\b)"
)
"""The parts that a sentence counts: "(1) a discrete memoryless model, (2) a discrete model with memory"."""


@dataclass
class Component:
    """Something to be built, and where the paper says so."""

    name: str
    sentence: Sentence | None
    section: Section
    page: int
    score: float
    algorithm: str = ""
    steps: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


def own_names(paper: PaperText) -> list[str]:
    """What the paper calls its own method: by its title, and by the sentences that propose something."""
    names: list[str] = []
    title = str(paper.outline.get("title") or "")
    if ":" in title and len(title.partition(":")[0].split()) <= 4:
        names.append(title.partition(":")[0].strip())
    lead = [one for one in paper.sentences if one.role == BACKGROUND][:400]
    for sentence in lead:
        if not re.search(r"\b(?:we|our|this (?:paper|work))\b", sentence.text, re.IGNORECASE):
            continue
        names += [re.sub(r" \(.*", "", match.group(1)) for match in _PROPOSED.finditer(sentence.text)]
        names += [
            part
            for match in _ABBREVIATED.finditer(sentence.text)
            for part in match.groups()
            if re.search(r"\b(?:we|our)\b", sentence.text[: match.start()])
        ]
    names += _proper_names(paper, lead)
    kept = [
        name.strip()
        for name in dict.fromkeys(names)
        if is_component_name(name) and (not name.islower() or len(name.split()) > 2)
    ]
    return sorted(kept, key=lambda name: -sum(name in one.text for one in paper.sentences))[:8]


def _proper_names(paper: PaperText, lead: list[Sentence]) -> Iterator[str]:
    """Names of the abstract that the rest goes on about, and that no citation gives to somebody else."""
    abstract = " ".join(one.text for one in lead[:14])
    everything = " ".join(one.text for one in paper.sentences)
    for name in dict.fromkeys(
        re.findall(r"(?<=[a-z,(] )((?:[A-Z][\w+*-]*[A-Z0-9+*][\w+*-]*|[A-Z][a-z]+ [A-Z][a-z]+))(?=[\s.,;:)])", abstract)
    ):
        cited = re.search(
            rf"{re.escape(name)}[\w-]*,? ?(?:\[[0-9, ]+\]|\([A-Z][^()]*[0-9]{{4}}|[A-Z][a-z]+ et al)", everything
        )
        if not cited and everything.count(name) >= 8 and not is_known_to_all(name):
            yield name


def find_components(paper: PaperText, own: list[str]) -> list[Component]:
    """At most MOST components, those that are sure first: algorithms, headings, names; each name once."""
    found: dict[str, Component] = {}
    for one in (
        *_algorithms(paper),
        *_headings(paper),
        *_named(paper, own),
        *_tabled(paper),
        *_said(paper),
    ):
        key = key_of(one.name)
        known = next((other for other in found if is_same_name(key, other)), None)
        if known is None:
            found[key] = one
            continue
        old = found[known]
        old.score += min(one.score, 1.0)
        old.algorithm, old.steps = old.algorithm or one.algorithm, old.steps or one.steps
        old.sentence = old.sentence or one.sentence
    whole = [one for one in found.values() if not _has_parts(one, paper)]
    best = _best_of(whole, _display_of(paper))
    kept = sorted(best, key=lambda one: (one.section["start"], one.page))
    _give_equations(paper, kept)
    for one in kept:
        one.aliases = list(
            dict.fromkeys(re.findall(rf"{re.escape(one.name)}s? \(([A-Z][A-Za-z0-9]{{1,8}})\)", paper.text))
        )[:2]
    return kept


def _display_of(paper: PaperText) -> str:
    """What stands out of the text, in small letters: headings, captions and what is bold."""
    rows = [row for kind in ("tables", "figures", "algorithms") for row in paper.outline.get(kind, ())]
    titles = [section["title"] for section in paper.outline["sections"]]
    return "\n".join((*titles, *(str(row["text"]) for row in rows), *_BOLD.findall(paper.text))).lower()


def _best_of(found: list[Component], display: str) -> list[Component]:
    """The surest first; a weak one only where it stands out and there is little else, and no kind of what is there."""
    kept: list[Component] = []
    for one in sorted(found, key=lambda one: -one.score):
        is_known = not one.algorithm and any(_says_the_same(one, other) for other in kept)
        most = MOST if one.score >= _WEAK_SCORE else _ENOUGH if one.name.lower() in display else 0
        if not is_known and len(kept) < most:
            kept.append(one)
    heads = {_heads_of(one.name) for one in kept if " " in one.name}
    return [one for one in kept if " " in one.name or one.algorithm or one.name.lower().rstrip("s") not in heads]


def _says_the_same(one: Component, other: Component) -> bool:
    """Whether a name is another one's abbreviation, a weaker kind of it, or has no telling word that the other has not."""
    short, long = sorted((one.name, other.name), key=len)
    initials = "".join(word[0] for word in re.split(r"[\W_]+", long) if word).lower()
    if len(short) > 2 and short.lower().rstrip("s") == initials:
        return True
    words, known = (set(key_words(name)) for name in (one.name, other.name))
    is_kind = one.score < _SURE and " " in other.name and one.name.lower().endswith(f" {other.name.lower()}")
    return is_kind or (len(words) > 1 and words < known) or (len(known) > 1 and known < words and one.score < _CERTAIN)


def _heads_of(name: str) -> str:
    return name.split()[-1].lower().rstrip("s")


def _has_parts(one: Component, paper: PaperText) -> bool:
    """Whether a component is a heading over other headings: then those are built, and it is their title."""
    title = one.section["title"]
    if one.algorithm or clean_name(title) != one.name or one.score > 4:
        return False
    number = one.section["number"]
    return (
        bool(number)
        and sum(str(other["number"] or "").startswith(f"{number}.") for other in paper.outline["sections"]) > 1
    )


def _algorithms(paper: PaperText) -> Iterator[Component]:
    sections = {section["id"]: section for section in paper.outline["sections"]}
    for row in paper.outline["algorithms"]:
        section = sections.get(row["section"])
        name = clean_name(row["text"])
        if section is None or paper.roles.get(section["id"]) not in (BUILD, SETUP, MIXED, RESULTS) or not name:
            continue
        steps = _steps(paper.text, row)
        yield Component(name, None, section, row["page"], 6.0, row["label"], steps)


def _steps(text: str, row: dict[str, Any]) -> list[str]:
    """The lines of an algorithm: its own fence, or the lines under its caption that look like steps."""
    own = text[row["start"] : row["end"]]
    if "```" in own:
        lines = own.split("\n")
    else:
        following = text[row["end"] : row["end"] + 4000]
        fence = re.match(r"\s*```[^\n]*\n(.*?)```", following, re.DOTALL)
        lines = (
            fence.group(1).split("\n")
            if fence
            else [
                line for line in following.split("\n")[:_LONGEST_STEPS] if re.match(r"\s*(?:[-*]|[0-9]+[:.)])\s", line)
            ]
        )
    kept = [
        " ".join(line.split())
        for line in lines
        if line.strip() and not line.lstrip().startswith(("```", "<!--", "#", ">"))
    ]
    return [line[:300] for line in kept[:_LONGEST_STEPS]]


def _headings(paper: PaperText) -> Iterator[Component]:
    """What is built, or set up, under a heading that names it; one that nothing else speaks of is a chapter, and no part."""
    said = _words_of(paper)
    for section in paper.outline["sections"]:
        role, title = paper.roles.get(section["id"]), section["title"]
        if (
            role not in (BUILD, SETUP, MIXED)
            or not is_named_after_content(title)
            or (role != BUILD and _SETUP_HEADING.search(_NUMBERED.sub("", title)))
        ):
            continue
        first = next((one for one in paper.sentences if one.section["id"] == section["id"]), None)
        for part in re.split(r",? and (?=[A-Z])|, (?=[A-Z])", title) if len(title.split()) <= 6 else [title]:
            name = clean_name(_NUMBERED.sub("", part))
            if is_component_name(name) and first is not None:
                score = 1.4 if role != BUILD else 3.0 if _recurs(name, said) else 1.6
                yield Component(name, first, section, section["page"], score)


_NUMBERED = re.compile(r"^(?:Task|Experiment|Step|Stage|Phase|Problem|Case|Study) (?:[0-9]+|[A-Z])[.:] ")
_SETUP_HEADING = re.compile(
    r"\b(?:data|metrics?|hardware|implementation|training|hyper|config|models?|tasks?|settings?|prompt|usage"
    r"|parameters?|schedule)",
    re.IGNORECASE,
)


def _words_of(paper: PaperText) -> Counter[str]:
    """In how many sentences of what is built each word stands."""
    counts: Counter[str] = Counter()
    for sentence in paper.sentences:
        if sentence.role in (BUILD, SETUP, MIXED):
            counts.update(set(key_words(sentence.text)))
    return counts


def _recurs(name: str, said: Counter[str]) -> bool:
    """Whether what is built speaks of at least half of a name's words again and again."""
    words = key_words(name)
    return bool(words) and 2 * sum(said[word] >= FEWEST for word in words) >= len(words)


def key_words(text: str) -> list[str]:
    """The words of a name in small letters, without plurals."""
    return [re.sub(r"(?<=\w\w)s$", "", word) for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2]


def _named(paper: PaperText, own: list[str]) -> Iterator[Component]:
    points: dict[str, float] = {}
    words = _words_of(paper)
    first: dict[str, Sentence] = {}
    everything = " ".join(one.text for one in paper.sentences if one.role in (BUILD, SETUP, MIXED, BACKGROUND))
    for sentence, follower in pairwise([*paper.sentences, *paper.sentences[-1:]]):
        if sentence.role not in (BUILD, SETUP, MIXED):
            continue
        weight = {BUILD: 1.0, SETUP: 0.8}.get(sentence.role, 0.6)
        for found, worth in _names_in(sentence):
            name = clean_name(found)
            is_told = everything.count(name) >= 2 or _recurs(name, words)
            if is_told and is_component_name(name) and not is_cited(sentence.text, found):
                points[name] = points.get(name, 0.0) + worth * weight
                first.setdefault(name, follower if found == sentence.text.rstrip(".") else sentence)
    for name, worth in points.items():
        if worth >= 1.5:
            yield Component(name, first[name], first[name].section, first[name].page, min(worth, 4.5))


def _names_in(sentence: Sentence) -> Iterator[tuple[str, float]]:
    """The names that a sentence gives, and what each way of giving one is worth."""
    said = sentence.text
    yield from ((match.group(1), 0.8) for match in _CAMEL.finditer(said))
    for pattern in (_CALLED, _PROPOSED):
        yield from (
            (match.group(1), 1.6)
            for match in pattern.finditer(said)
            if " " in match.group(1) or not match.group(1).islower()
        )
    yield from (
        (match.group(1), 1.6) for match in _ABBREVIATED.finditer(said) if not re.search(r"[0-9]{4}", match.group(2))
    )
    yield from ((match.group(1), 0.8) for match in _QUOTED.finditer(said))
    for pattern in (_RUN_IN, _RUN_IN_BARE):
        if not sentence.before and (match := pattern.match(said)):
            yield match.group(1), 2.0 if len(match.group(1).split()) > 1 else 1.5
    if sentence.kind == ITEM and (match := re.match(r"([A-Z][\w-]*(?: [\w-]+){0,3})(?::| [-–—] )", said)):
        yield match.group(1), 1.5
    if not sentence.before and (match := _HEADING_ALONE.match(said)):
        yield match.group(1), 2.0
    yield from ((match.group(1), 1.6) for match in _ENUMERATED.finditer(said) if " " in match.group(1))


def _tabled(paper: PaperText) -> Iterator[Component]:
    """Classes and functions that a table of what is built lists in its first column."""
    for table in paper.tables:
        if table.role not in (BUILD, BACKGROUND, SETUP):
            continue
        for line in table.text.split("\n")[2:]:
            for match in re.finditer(rf"(?:^\W*|\| |\. ){_CAMEL.pattern}(?= ?\||[ ][a-z]+s )", line):
                if is_component_name(match.group(1)):
                    said = next(part for part in line.split("|") if match.group(1) in part)
                    sentence = Sentence(" ".join(said.split()), table.section, table.page, table.role, "table")
                    yield Component(match.group(1), sentence, table.section, table.page, 2.0)


def _said(paper: PaperText) -> Iterator[Component]:
    for name, sentence, score in (*find_phrases(paper), *find_techniques(paper), *find_objects(paper)):
        yield Component(name, sentence, sentence.section, sentence.page, score)


def _give_equations(paper: PaperText, components: list[Component]) -> None:
    """Each equation to the component of its section; the first that stands there, else the nearest before it."""
    for row in paper.outline["equations"]:
        text = " ".join(str(row["text"]).split())
        if not text or len(text) < 5 or not re.search(r"[=≤≥∈\\<>]", text):
            continue
        same = [one for one in components if one.section["id"] == row["section"]]
        if same and len(same[0].equations) < 6:
            same[0].equations.append(f"{row['label']} {text}".strip()[:400])
