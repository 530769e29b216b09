"""The sentences of a paper in their order, each with its section, its page and what the section is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from phases.planning.rules.blocks import CAPTION, EQUATION, FENCE, ITEM, NOTE, PROSE, TABLE, TextBlock, blocks_of
from phases.planning.rules.cells import cells_of
from phases.planning.rules.sections import (
    BACKGROUND,
    BUILD,
    MIXED,
    OTHER,
    PROOF,
    RESULTS,
    SETUP,
    Section,
    roles_of,
    sections_around,
)
from phases.planning.rules.sentences import is_open, sentences_of, without_marks
from phases.planning.rules.tables import Grid, read_grid
from phases.readers.outline import cut_formula, pages_of

_LONGEST_BLOCK = 20_000
_MOST_SENTENCES = 20_000
_LONGEST_FORMULA = 2_000
_FEWEST_BEFORE, _LONGEST_BEGUN = 4, 2_000
"""Words of a line that may go on in the next block, and characters: a list of words without a full stop is no sentence."""
_BETWEEN = ("and", "and,", ",", ", and", "or", "with", "where")
"""What may stand alone between two formulas that one sentence leads to."""
_UNFINISHED = re.compile(
    r"\b(?:the|an?|of|to|from|in|on|for|with|by|at|and|or|each|every|its|their|that|such|is|are|be|if|when|than|as|into)$|[(,–-]$"
)
"""How a line ends that has more to come, whatever the next begins with."""
_NUMBERS = re.compile(r"(?: [0-9.]+){2}$")
"""How the labels of a picture end."""
_OWN_BEGINNING = re.compile(r"(?:where|with|in which)\b|[•✷□■◦▪*–-]|\$?\\?(?:bullet|square)")
"""How a block begins that is no piece of the one before: the words behind a formula, and the sign of an item."""
_LONGEST_TERMS = 400
_EXPLAINS = re.compile(
    r"(?:,? ?(?:where|wobei|où|donde)\b(?! (?:we )?(?:see|note|observe)\b)|其中|ここで|여기서)"
    r"|(?:,? ?(?:with|in which)|Here,?) [^.]*?(?:\b(?:is|are|be|denotes?|stands?|represents?)\b|[=∈]|\\in\b)",
    re.IGNORECASE,
)
"""How the words behind a formula begin that say what its signs stand for."""
_SECOND_IN_CAPTION = re.compile(r"(?<=[.;,]) \([b-z]\) (?=[A-Z])|(?<=[.;]) (?=[Pp]seudo-? ?code (?:of|for) )")
_LEADERS = re.compile(r"(?:\.[ ]?){5}|[…·_]{4}")
"""Between a heading and its page, in a table of contents."""
_FOLLOWS = re.compile(r"(?:Suppose|Assume|Otherwise|Similarly|Conversely|Then|Thus|Hence|Therefore|So)\b")
"""How sentences of proofs begin, and those of an algorithm in prose."""
_PROVING = re.compile(
    r"\b(?:Lemma|Theorem|Corollary|Proposition|(?-i:Claim)|Q\.E\.D|contradiction|induction|pro(?:of|ve|ves|ved|ven))\b",
    re.IGNORECASE,
)
"""What only proofs say."""
_PROVES = re.compile(
    r"^By (?:the |our )?(?:\w+ )?(?:Algorithm"
    r"|Lemma|Theorem|induction|hypothesis|definition|Invariant|assumption|construction)\b|contradiction|\binduction\b"
    r"|if and only if|\b(?:Lemma|Theorem|Corollary|Proposition|Claim|Q\.E\.D)\b|\b[Ww]e (?:shall |now |will |first |can |must )?"
    r"(?:prove|show that|claim|conclude|argue|reason about)\b|\bthe (?:claim|proof|lemma|theorem)\b"
    r"|\b(?:must have|cannot (?:be|have)|would have)\b"
)
_PROOF_SHARE, _PROOF_FEWEST = 0.28, 8
"""What share of how many sentences argues, where a section whose heading does not say so proves something: decision 343."""


@dataclass(frozen=True)
class Sentence:
    """One sentence as it stands in the paper."""

    text: str
    section: Section
    page: int
    role: str
    kind: str
    """PROSE, ITEM or NOTE."""
    before: str = ""
    """The sentence before it in its paragraph; empty for the first."""
    lead: str = ""
    """What a list is introduced by, for an item of it; the paragraph's first words for others."""
    formula: str = ""
    """The equations that follow it."""


@dataclass(frozen=True)
class Table:
    """A pipe table, its caption, and where it stands."""

    text: str
    caption: str
    section: Section
    page: int
    role: str

    @cached_property
    def cells(self) -> list[list[str]]:
        """Its rows as they are printed; empty where it is no grid."""
        return cells_of(self.text)

    @cached_property
    def grid(self) -> Grid:
        """Its heads told from its body: read once, since several rules ask."""
        return read_grid(self.cells)


@dataclass(frozen=True, eq=False)
class PaperText:
    """A paper as the rules read it; no two are the same, so what is counted of one can be kept."""

    outline: Mapping[str, Any]
    roles: Mapping[str, str]
    sentences: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    listings: tuple[tuple[str, Section, int], ...]
    """Code and algorithms in fences."""
    text: str = ""

    @cached_property
    def around(self) -> dict[str, tuple[Section, ...]]:
        """Section id -> the sections of which it is a part, the innermost first."""
        return sections_around(self.outline["sections"])


@dataclass
class _Walk:
    """What is carried from block to block of a section."""

    sentences: list[Sentence] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    listings: list[tuple[str, Section, int]] = field(default_factory=list)
    lead: str = ""
    is_adjacent: bool = False
    """Whether the block before was running text of the same section."""
    is_led: bool = False
    """Whether the block before was a formula."""


def read_paper(text: str, outline: Mapping[str, Any], body_start: int = 0) -> PaperText:
    """The sentences, tables and listings of a paper. A paper without headings is one section that may say anything."""
    sections = list(outline["sections"])
    roles = _with_a_body(roles_of(sections, text))
    if not set(roles.values()) & {BUILD, SETUP, MIXED, RESULTS}:
        # what stands before the first heading is all that there is
        sections.insert(0, _front(text, body_start, sections[0]["start"] if sections else len(text)))
        roles["S0"] = BUILD
    walk = _Walk()
    for section in sections:
        if len(walk.sentences) > _MOST_SENTENCES:
            break
        _read_section(text, section, roles.get(section["id"], OTHER), walk)
    proofs = _find_proofs(walk.sentences)
    return PaperText(
        outline,
        {**roles, **dict.fromkeys(proofs, PROOF)},
        tuple(replace(one, role=PROOF) if one.section["id"] in proofs else one for one in walk.sentences),
        tuple(walk.tables),
        tuple(walk.listings),
        text,
    )


def find_terms(sentences: Sequence[Sentence], lead: int) -> str:
    """What the signs of the formulas behind a sentence stand for, as the sentence after them says it."""
    if not sentences[lead].formula or lead + 1 == len(sentences):
        return ""
    following = sentences[lead + 1]
    is_here = following.section["id"] == sentences[lead].section["id"]
    if not is_here or not _EXPLAINS.match(following.text) or len(following.text) > _LONGEST_TERMS:
        return ""
    return f"{following.text} {following.formula}" if following.formula and is_open(following.text) else following.text


def find_caption(paper: PaperText, label: str) -> str:
    """What the caption of an algorithm says behind its name, mostly what it is given; what it says of a second is left out."""
    captions = (str(row["text"]) for row in paper.outline["algorithms"] if row["label"] == label)
    return " ".join(list(sentences_of(_SECOND_IN_CAPTION.split(next(captions, ""), maxsplit=1)[0]))[1:])


def _find_proofs(sentences: Sequence[Sentence]) -> set[str]:
    """The sections that would be built by their headings, and argue by their sentences."""
    texts: dict[str, list[str]] = {}
    for one in sentences:
        if one.role == BUILD:
            texts.setdefault(one.section["id"], []).append(one.text)
    found = {name for name, said in texts.items() if len(said) >= _PROOF_FEWEST and _argue(said)}
    # a paper that is nothing but proofs is planned from these
    return found if found != set(texts) else set()


def _argue(texts: Sequence[str]) -> bool:
    """Whether enough sentences of a section argue; "Then" and "Otherwise" argue only where something says that it proves."""
    is_proof = any(map(_PROVING.search, texts))
    return sum(bool(_PROVES.search(one) or (is_proof and _FOLLOWS.match(one))) for one in texts) >= _PROOF_SHARE * len(
        texts
    )


def _with_a_body(roles: dict[str, str]) -> dict[str, str]:
    """The roles; where no section is built or set up, what leads to such sections in other papers is read as one."""
    if set(roles.values()) & {BUILD, SETUP, MIXED}:
        return roles
    return {name: BUILD if role == BACKGROUND else role for name, role in roles.items()}


def _front(text: str, body_start: int, end: int) -> Section:
    # own_text leaves out the first line, which is a heading in every other section
    start = max(body_start - 1, 0)
    return {"id": "S0", "number": None, "title": "", "level": 1, "page": 1, "start": start, "end": end}


def _read_section(text: str, section: Section, role: str, walk: _Walk) -> None:
    walk.lead, caption, walk.is_adjacent, walk.is_led = "", "", False, False
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if walk.is_led and block.text in _BETWEEN:
                continue
            if block.kind == CAPTION:
                caption = block.text
            elif block.kind == TABLE:
                walk.tables.append(Table(block.text, caption, section, page, role))
            elif block.kind == FENCE:
                walk.listings.append((block.text, section, page))
            elif block.kind == EQUATION:
                _add_formula(block.text, walk)
            elif block.kind in (PROSE, ITEM, NOTE):
                walk.sentences += _sentences(block, section, page, role, walk)
            walk.is_adjacent = block.kind in (PROSE, ITEM)
            walk.is_led = block.kind == EQUATION


def _sentences(block: TextBlock, section: Section, page: int, role: str, walk: _Walk) -> Iterator[Sentence]:
    before, first, text, kind = "", "", block.text[:_LONGEST_BLOCK], block.kind
    if _LEADERS.search(block.text):
        return
    last = walk.sentences[-1] if walk.sentences and walk.is_adjacent else None
    begun = last if last and kind == PROSE and _goes_on(last, text) else None
    if begun:
        walk.sentences.pop()
        before, first, kind = begun.before, begun.lead, begun.kind
        joint = "" if begun.text.endswith("-") else " "
        text = f"{begun.text.removesuffix('-')}{joint}{text}"
    for sentence in filter(None, sentences_of(text)):
        said = without_marks(sentence)
        first = first or said
        lead = walk.lead if kind == ITEM else first
        yield Sentence(said, section, begun.page if begun else page, role, kind, before, lead)
        # what follows the sentence that goes on stands where the block does
        before, begun = said, None
    if kind == PROSE:
        walk.lead = before


def _goes_on(last: Sentence, text: str) -> bool:
    """Whether a block of text begins in the middle of the sentence that the block before it left open.

    Pages are cut into blocks by their looks, and a list of steps without numbers is cut at each line.
    """
    said = last.text
    if len(said) > _LONGEST_BEGUN or not is_open(said) or len(said.split()) < _FEWEST_BEFORE:
        return False
    if said[-1] in ":;" or _NUMBERS.search(said):
        return False
    if text[0].islower():
        return not _OWN_BEGINNING.match(text)
    return bool(_UNFINISHED.search(said)) or not (text[0].isupper() or text[0].isdigit() or _OWN_BEGINNING.match(text))


def _add_formula(text: str, walk: _Walk) -> None:
    """A formula to the sentence that leads to it, behind those that stand between them."""
    if not walk.sentences or (walk.sentences[-1].formula and not walk.is_led):
        return
    last = walk.sentences[-1]
    formula = " ".join(text.replace("$$", " ").split())
    whole = f"{last.formula} \\\\ {formula}" if last.formula else cut_formula(formula, _LONGEST_FORMULA)
    if len(whole) <= _LONGEST_FORMULA:
        walk.sentences[-1] = replace(last, formula=whole)
