"""Every way in which a paper offers a name for a part of what it builds: headings, algorithms, listings, captions, sentences.

Each reading offers more than is right; which names are components is weighed afterwards (component_cues.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from phases.planning.rules.blocks import ITEM, TABLE
from phases.planning.rules.component_names import clean_name, is_component_name
from phases.planning.rules.component_phrases import Phrase
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.procedures import MOST_LINES, is_procedure, placed_listings, set_in
from phases.planning.rules.sections import (
    BACKGROUND,
    BUILD,
    MIXED,
    RESULTS,
    SETUP,
    Section,
    is_named_after_content,
)
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.short_forms import find_short_forms
from phases.planning.rules.techniques import find_techniques

_LONGEST_LINE = 300
STEPS = "steps"
"""What a procedure without a box is called."""
_FEWEST_LINES, _FEWEST_DEEDS, _NEAR, _MOST_BEFORE = 3, 2, 700, 3
"""Of a listing without a caption: its lines, those that do something, and where its name may stand before it."""
_FEWEST_CALLED = 4
"""The lines of a listing that has a name without "function" or "def" before it, which may be a call."""
_HEADER = re.compile(
    r"(?:(?:[Pp]rocedure|[Ff]unction|[Aa]lgorithm|def) (?P<declared>[A-Za-z][\w-]{2,30})|(?P<called>[A-Z][A-Za-z-]{2,30}))"
    r" ?\([^()\n]{1,80}\) ?[:{]?"
)
_DOES = re.compile(
    r"\s*(?:[0-9]+[:.)]? )?(?:if|for|while|repeat|return|set|let|add|else|until|end)\b|[^\n]{0,80}(?::=|←|\\leftarrow)",
    re.IGNORECASE,
)
_MADE = (BUILD, SETUP, MIXED)
_MOST_LOOKED_FOR = 50
"""Boxes in sections of no method: each is looked for in the whole text."""
_BOXED = re.compile(r"Algorithm|Listing|Procedure", re.IGNORECASE)
_CAMEL = re.compile(
    r"(?<![\w./-])((?:[A-Z][a-z0-9]+){2,}|[A-Z]{2,}[0-9A-Z]*[A-Z][a-z]+[A-Za-z0-9]*"
    r"|[A-Z][a-z]*[0-9][A-Za-z0-9]*[A-Z]\w+|[a-z]+[A-Z][a-z]\w+)(?![\w])"
)
_CODE = re.compile(r"`([A-Za-z_][\w.]{2,30})(?:\(\))?`|(?<![\w./])([a-z]+(?:[._][a-z]+)+)\(\)")
_CALLED = re.compile(
    r"\b(?:call(?:ed|s)?|named?|term(?:ed)?|dubbed|denoted(?: by| as)?|refer(?:red)? to (?:it |this |them )?as"
    r"|known as) (?:this |it |our (?:\w+ ){0,3}|the |a |an |these )?[\"“‘'*]*"
    r"((?:[A-Za-z][\w'’*-]+ ?){1,4}?)[\"”’'*]*(?<! is)(?=[ ]?(?:[.,;:(\[]| which| that| and| is| are| to| in| for| with|$))"
)
PROPOSED = re.compile(
    r"\b(?:we|this (?:paper|work)|[Ii]t) (?:\w+ly |also |first |then |further )?(?:propose|introduce|present"
    r"|develop|design|describe)s? (?:(?:a|an|the|our|two|several|new|novel|simple|efficient) ){0,3}"
    r"((?:[A-Za-z][\w*+-]* ){0,4}?[A-Za-z][\w*+-]*(?: \([A-Z][\w*+-]+\))?)(?=[.,;:(]| (?:which|that|to|for|with"
    r"|in|based|where|on|by|as|of|using)\b)"
)
_QUOTED = re.compile(r"[\"“]([A-Za-z][A-Za-z-]+(?: [A-Za-z -]{3,38})?)[\"”]")
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
    r"\((?:[1-9]|i{1,3}|iv|v|[a-e])\) (?:an?|the|our)? ?((?:[A-Za-z][\w-]* ){0,4}?[A-Za-z][\w-]*)"
    r"(?=[,;.:]| (?:that|which|with|for|of|to|in|on|based|where|when|and)\b)"
)
"""The parts that a sentence counts: "(1) a discrete memoryless model, (2) a discrete model with memory"."""
_USED = re.compile(
    r"\b[Ww]e (?:\w+ly |also |then |first )?(?:use|apply|appli|employ|introduce|define|add|adopt|build|built|construct|compute"
    r"|propose|implement|maintain|design|perform|create|train|run)(?:s|d|ed)? (?:an?|the|our) "
    r"((?:[A-Za-z][\w-]* ){0,3}[A-Za-z-]+(?<!ing))"
    r"(?= (?:to|for|with|of|in|on|that|which|and|from|by|as|at|over|between|using|where|while)\b|[.,;:(\[]| [(\[$]|$)"
)
_DEFINED = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|[Oo]ur|[Ee]ach) ((?:[A-Za-z][\w-]* ){0,3}[A-Za-z][\w-]*)(?: \$[^$]*\$)? (?:is|are"
    r"|can be) (?:\w+ly |then )?(?:defined"
    r"|given|computed|calculated|formulated|written|obtained|expressed)\b"
)
_FUNCTION = re.compile(
    r"\b(?:[Ff]unction|[Pp]rocedure|FUNCTION|PROCEDURE|def|class|struct|proc|fn)\s+([A-Za-z][\w-]{2,30})\s*[({:]"
)
_PSEUDO = re.compile(r"^(?:\([a-z]\) )?pseudo-? ?code (?:\w+ )?(?:of|for) (?:an? |the )?", re.IGNORECASE)
"""What a caption says before the name: "Pseudo code for a replica"."""
_NUMBERED = re.compile(r"^(?:Task|Experiment|Step|Stage|Phase|Problem|Case|Study) (?:[0-9]+|[A-Z])[.:] ")


@dataclass(frozen=True)
class Offer:
    """A name, by which reading, and where it stands."""

    name: str
    reading: str
    section: Section
    page: int
    sentence: Sentence | None = None
    algorithm: str = ""
    steps: tuple[str, ...] = ()


def read_offers(paper: PaperText, phrases: Mapping[str, Phrase]) -> Iterator[Offer]:
    """All names that any reading finds, cleaned, those of the surest readings first."""
    for offer in (
        *_algorithms(paper),
        *_declared(paper),
        *_headings(paper),
        *_listed(paper),
        *_tabled(paper),
        *_said(paper, phrases),
    ):
        name = clean_name(offer.name)
        if is_component_name(name) or (name and offer.algorithm):
            yield Offer(name, offer.reading, offer.section, offer.page, offer.sentence, offer.algorithm, offer.steps)


def _algorithms(paper: PaperText) -> Iterator[Offer]:
    sections = {section["id"]: section for section in paper.outline["sections"]}
    looked_for = 0
    for row in paper.outline["algorithms"]:
        section = sections.get(row["section"])
        if section is None:
            continue
        role, name = paper.roles.get(section["id"]), _PSEUDO.sub("", row["text"].partition(". ")[0])
        is_elsewhere = role not in (*_MADE, RESULTS)
        looked_for += is_elsewhere and role != BACKGROUND
        if is_elsewhere and (role == BACKGROUND or looked_for > _MOST_LOOKED_FOR):
            continue
        steps = _steps(paper.text, row)
        if not is_elsewhere or (_is_pointed_to(row["label"], name, paper.text) and is_procedure(steps)):
            yield Offer(name, "an algorithm", section, row["page"], None, row["label"], tuple(steps))


def _is_pointed_to(label: str, name: str, text: str) -> bool:
    """Whether the text speaks of a box beside its caption: then it is built, wherever it floats to, be it the references."""
    if not _BOXED.match(label):
        return False  # a figure with lines, where a section proves something, may be a step of the proof
    is_named = " " in name.strip() and text.casefold().count(name.casefold()) > 1
    return is_named or len(re.findall(rf"\b{re.escape(label)}(?![\w.]\w)", text)) > 1


def _declared(paper: PaperText) -> Iterator[Offer]:
    """Listings without a caption that are a procedure: "Iterate(G, k)" stands in their first line, or before them."""
    shown = [(row["start"], row["end"]) for row in paper.outline["algorithms"]]
    for text, section, page, place in placed_listings(paper):
        lines = [line for line in text.split("\n")[:MOST_LINES] if line.strip()]
        if (
            paper.roles.get(section["id"]) not in _MADE
            or len(lines) < _FEWEST_LINES
            or any(start <= place < end for start, end in shown)
            or sum(bool(_DOES.match(line)) for line in lines) < _FEWEST_DEEDS
        ):
            continue
        before = [
            part.strip() for part in paper.text[max(place - _NEAR, 0) : place].split("\n\n")[-_MOST_BEFORE - 1 : -1]
        ]
        told = next((number for number, part in enumerate(before) if _HEADER.fullmatch(part)), None)
        given = [] if told is None else [part for part in before[told:] if part and not part.startswith("<!--")]
        header = _HEADER.fullmatch(given[0] if given else lines[0].strip())
        if header and (header["declared"] or len(lines) >= _FEWEST_CALLED):
            steps = [line[:_LONGEST_LINE] for line in (*given, *set_in(lines))]
            name = header["declared"] or header["called"]
            yield Offer(name, "an algorithm", section, page, None, STEPS, tuple(steps))


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
            else [line for line in following.split("\n")[:MOST_LINES] if re.match(r"\s*(?:[-*]|[0-9]+[:.)])\s", line)]
        )
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith(("```", "<!--", "#", ">"))]
    return [line[:_LONGEST_LINE].rstrip() for line in set_in(kept[:MOST_LINES])]


def _headings(paper: PaperText) -> Iterator[Offer]:
    """Headings of what is built or set up, whole and by their parts."""
    first: dict[str, Sentence] = {}
    for one in paper.sentences:
        first.setdefault(one.section["id"], one)
    for section in paper.outline["sections"]:
        role, title = paper.roles.get(section["id"]), section["title"]
        sentence = first.get(section["id"])
        if role not in _MADE or sentence is None or not is_named_after_content(title):
            continue
        parts = re.split(r",? and (?=[A-Z])|, (?=[A-Z])|: ", title)
        for part in dict.fromkeys([title, *parts, *re.findall(r"\(([A-Z][\w*+-]{1,12})\)", title)]):
            plain = _NUMBERED.sub("", part)
            yield Offer(plain, f"a heading of {role}", section, section["page"], sentence)


def _listed(paper: PaperText) -> Iterator[Offer]:
    """Functions and classes that a listing declares."""
    for text, section, page in paper.listings:
        if paper.roles.get(section["id"]) in (*_MADE, RESULTS, BACKGROUND):
            for match in _FUNCTION.finditer(text):
                yield Offer(match.group(1), "a listing", section, page)


def _tabled(paper: PaperText) -> Iterator[Offer]:
    """Classes and functions that a table of what is built lists in its first column."""
    for table in paper.tables:
        if table.role not in (BUILD, BACKGROUND, SETUP):
            continue
        for line in table.text.split("\n")[2:]:
            for match in re.finditer(rf"(?:^\W*|\| |\. ){_CAMEL.pattern}(?= ?\||[ ][a-z]+s )", line):
                cell = next(part for part in line.split("|") if match.group(1) in part)
                said = next((one for one in sentences_of(" ".join(cell.split())) if match.group(1) in one), cell)
                sentence = Sentence(said.strip(), table.section, table.page, table.role, TABLE)
                yield Offer(match.group(1), "a table", table.section, table.page, sentence)


def _said(paper: PaperText, phrases: Mapping[str, Phrase]) -> Iterator[Offer]:
    for sentence, follower in pairwise([*paper.sentences, *paper.sentences[-1:]]):
        if sentence.role not in (*_MADE, RESULTS, BACKGROUND):
            continue
        for found, reading in _names_in(sentence):
            source = follower if found == sentence.text.rstrip(".") else sentence
            yield Offer(found, reading, sentence.section, sentence.page, source)
    for name, sentence in find_techniques(paper):
        yield Offer(name, "a known technique", sentence.section, sentence.page, sentence)
    for phrase in phrases.values():
        yield Offer(phrase.name, "a phrase", phrase.sentence.section, phrase.sentence.page, phrase.sentence)


def _names_in(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """The names that a sentence gives, and by which reading."""
    said, is_made = sentence.text, sentence.role in _MADE
    yield from ((match.group(1), "an identifier") for match in _CAMEL.finditer(said))
    yield from ((match.group(1) or match.group(2), "code") for match in _CODE.finditer(said))
    for reading, pattern in (("called", _CALLED), ("proposed", PROPOSED), ("used", _USED), ("defined", _DEFINED)):
        if is_made or reading == "proposed":
            yield from ((match.group(1), reading) for match in pattern.finditer(said))
    for one in find_short_forms(said):
        if one.capitals and not re.search(r"[0-9]{4}", one.short):
            yield one.capitals, "abbreviated"
    if not is_made:
        return
    yield from ((match.group(1), "quoted") for match in _QUOTED.finditer(said))
    for pattern in (_RUN_IN, _RUN_IN_BARE, _HEADING_ALONE):
        if not sentence.before and (match_in := pattern.match(said)):
            yield match_in.group(1), "a run-in heading"
    if sentence.kind == ITEM and (match_in := re.match(r"([A-Z][\w-]*(?: [\w-]+){0,3})(?::| [-–—] )", said)):
        yield match_in.group(1), "an item"
    yield from ((match.group(1), "counted") for match in _ENUMERATED.finditer(said))
