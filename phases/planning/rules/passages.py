"""Read a paper as sentences, tables and listings, each with its section, page and role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from phases.planning.rules.sections import (
    BACKGROUND,
    BUILD,
    MIXED,
    OTHER,
    SETUP,
    Section,
    roles_of,
    sections_around,
    split_heading,
)  # fmt: skip
from phases.planning.rules.tables import Grid, cells_of, read_grid
from phases.readers.line_patterns import as_latex, find_bare_formulas
from phases.readers.outline import cut_formula, pages_of

_END = re.compile(r"(?:(?<!\. )[.!?]['\")\]*_”’]*(?:(?<=[a-z)\]]\.)[0-9]{1,2})?\s+(?=[^\sa-z.])|[。！？；]\s*)")
"""The end of a sentence; the number of a footnote may stand behind it. The dots of "0. . .V" end none."""
_ABBREVIATION = re.compile(
    r"(?:\b(?:et al|e\.g|i\.e|cf|vs|resp|w\.r\.t|s\.t|a\.k\.a|approx|Figs?|Eqs?|Eqn|Secs?|Tabs?|App|Alg|Refs?|No|Dr|Prof|St"
    r"|bzw|z\. ?B|d\. ?h|u\. ?a|vgl|Abb|Nr)|(?:^|[\s(.])[A-Z])$"
)
_OPENS = re.compile(
    r"(?:The|There|Th[eo]se|This|We|Our|It|Its|In|For|If|When|Where|An?|To|Then|Each|All|Every|By|As|At|On|Note|Let|Since"
    r"|However|Thus)\b"
)
"""How a sentence begins behind one that ends with a letter, as "the data is read into R." does, and no name behind initials."""
_INITIAL = re.compile(r"(?:^|[\s(])[A-Z]\.(?=\s)")
"""An initial in the words before a letter: the letter is one, too."""
_FROM_INITIAL = 24
_STOPPED = re.compile(r"[.!?。！？]['\")\]*_”’]*$")
_ENDED = re.compile(r"(?:[.!?:;。！？：；]['\")\]*_”’]*|\$\$)$")
_BEGUN = re.compile(
    r"['\"(*_“‘]*(?:(?:and|as|at|by|for|from|in|is|of|on|or|the|to|with)[0-9]{1,2}\s|(?![a-z](?:[a-z]"
    r"|\.(?=[a-z])){0,40}[A-Z0-9_(])[a-z,;:.)\]])"
)
"""How a piece begins whose first words are lost, also with the number of a footnote behind one of them.

A name begins a sentence as it is written: readData, init_model, tanh(x), os.pathExists.
"""
_LEANING = re.compile(
    r"(?:it|its|this|these|those|they|their|he|she|his|her|such|that|then|here|however|therefore|thus|hence|moreover"
    r"|furthermore|similarly|otherwise|also|in (?:contrast|particular|addition(?! to)|this case|other words)|as a (?:result"
    r"|consequence)|the (?:former|latter)|for (?:this|that|example|instance)|to (?:this end|do so)|if (?:so|not)|where|which"
    r"|dies\w*|dabei|somit|其中|因此|这|此)\b",
    re.IGNORECASE,
)
_SAID_BEFORE = re.compile(r"\b(?:this|these|those)[.!]$", re.IGNORECASE)
_AND_NEXT = re.compile(r"([;,]) (?:and|or)$")
"""How the last item but one of a list ends."""
_HALF_OPEN = re.compile(r"\[[^()\[\]\s,]{1,12}, ?[^()\[\]\s,]{1,12}\)|\([^()\[\]\s,]{1,12}, ?[^()\[\]\s,]{1,12}\]")
"""An interval with one end left out: [0, 1)."""
_WORDS_WITHOUT_BLANKS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}")
_MARKS = re.compile(r"\*{2,3}|\[\^[^\]\s]{1,9}\]|(?<=[a-z)\]]\.)[0-9]{1,2}$")


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of running text, each as printed."""
    start = 0
    for match in _END.finditer(text):
        # Only the last words decide, so a long text stays linear.
        before = text[max(start, match.start() - 12) : match.start()]
        is_letter = before[-1:].isupper() and before[-2:-1] == " "
        is_initial = is_letter and _INITIAL.search(text, max(start, match.start() - _FROM_INITIAL), match.start())
        if (
            match.group()[0] == "."
            and _ABBREVIATION.search(before)
            and not (is_letter and not is_initial and _OPENS.match(text, match.end()))
        ):
            continue
        yield text[start : match.end()].strip()
        start = match.end()
    yield text[start:].strip()


def is_whole(sentence: str) -> bool:
    """Return whether a sentence is there from its first word to its last, and no piece that a page or a column left over."""
    return not _BEGUN.match(sentence) and bool(_ENDED.search(sentence)) and is_closed(sentence)


def is_closed(sentence: str) -> bool:
    """Return whether each bracket and formula that is opened is closed; [0, 1) is."""
    said = _HALF_OPEN.sub("", sentence)
    return said.count("(") == said.count(")") and said.count("（") == said.count("）") and said.count("$") % 2 == 0


def is_open(paragraph: str) -> bool:
    """Return whether the last sentence of a paragraph is unfinished."""
    return not _STOPPED.search(paragraph)


def leans_on(sentence: str) -> bool:
    """Return whether a sentence needs the one before it: by its first word, or a bare "this" at its end."""
    return bool(_LEANING.match(sentence) or _SAID_BEFORE.search(sentence))


def count_words(text: str) -> int:
    """Return the number of words; in Chinese and Japanese two characters count as one."""
    return len(text.split()) + len(_WORDS_WITHOUT_BLANKS.findall(text))


def without_next(sentence: str) -> str:
    """Return an item of a list without the "and" that leads to the next."""
    return _AND_NEXT.sub(r"\1", sentence)


def without_marks(text: str) -> str:
    """Return the text without Markdown marks for emphasis and footnotes."""
    return " ".join(_MARKS.sub("", text).split())


PROSE, ITEM, NOTE, TABLE, FENCE, CAPTION, EQUATION = (
    "prose", "item", "note", "table", "fence", "caption", "equation",
)  # fmt: skip
_FENCE_LINE = re.compile(r" {0,3}(?:```|~~~)")
_LABELLED = (
    r"(?:Table|TABLE|Tabelle|Tableau|表|Figure|FIGURE|Fig\.|Abbildung|图|図|Algorithm|ALGORITHM|Algorithmus|算法)"
)
_CAPTION_LINE = re.compile(
    rf"[>*_ ]*{_LABELLED}[ ]?(?:(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)?|[IVX]{{1,5}})(?:[.:|*_]|$| (?![a-z(\[,])(?!.{{0,60}}? "
    rf"(?:shows?|zeigt) ))"
)
"""A label with its mark, or a label and a capital: "Table 2 shows the results." is a sentence."""
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,2}[.)])[ \t]+(?=\S)")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,9}\]:[ \t]*")
# of quotations only captions are read: what stands in a picture asks for nothing
_SKIPPED = ("#", "<!--", ">")


@dataclass(frozen=True)
class TextBlock:
    """A stretch of lines of one kind, as they stand in the paper; what is no table and no listing is one line."""

    kind: str
    text: str


def blocks_of(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text in order, without headings and comments."""
    lines: list[str] = []
    kind = ""
    for line, found in _lines_with_kinds(text):
        if (
            lines
            and (found != kind or found in ("", ITEM, NOTE, CAPTION))
            and not (found == PROSE and kind in (ITEM, NOTE, CAPTION))
        ):
            yield _build_block(kind, lines)
            lines = []
        if found:
            kind = kind if lines else found
            lines.append(line)
    if lines:
        yield _build_block(kind, lines)


def _lines_with_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the kind of its block; an empty kind ends the block."""
    fenced = formula = False
    lines = text.split("\n")
    bare_formulas = {place for ends in find_bare_formulas(lines).items() for place in ends}
    for place, line in enumerate(lines):
        bare = line.strip()
        if _FENCE_LINE.match(line):
            yield "", ""
            fenced = not fenced
        elif fenced:
            yield line, FENCE
        elif bare.startswith("|") and not formula:
            yield bare, TABLE
        elif _CAPTION_LINE.match(bare):
            yield bare, CAPTION
        elif not bare or bare.startswith(_SKIPPED):
            # an empty line ends a formula whose closing signs are missing
            formula = False
            yield "", ""
        elif _FOOTNOTE.match(bare):
            yield _FOOTNOTE.sub("", bare), NOTE
        elif formula or bare.startswith("$$"):
            formula ^= bare.count("$$") % 2 == 1
            yield bare, EQUATION
        elif place in bare_formulas:
            yield as_latex(bare), EQUATION
        else:
            yield line, ITEM if _ITEM.match(line) else PROSE


def _build_block(kind: str, lines: list[str]) -> TextBlock:
    if kind in (TABLE, FENCE):
        return TextBlock(kind, "\n".join(lines))
    text = " ".join(" ".join(lines).split())
    return TextBlock(kind, _ITEM.sub("", text, count=1) if kind == ITEM else text)


_LONGEST_BLOCK, _MOST_SENTENCES, _LONGEST_FORMULA = 20_000, 20_000, 2_000
_FEWEST_BEFORE, _LONGEST_BEGUN = 4, 2_000
_QUOTE = 90
_BETWEEN = ("and", "and,", ",", ", and", "or", "with", "where")
"""Words that may stand alone between two formulas of one sentence."""
_UNFINISHED = re.compile(
    r"\b(?:the|an?|of|to|from|in|on|for|with|by|at|and|or|each|every|its|their|that|such|is|are|be|if|when|than|as|into)$"
    r"|[(,–-]$"
)
_NUMBERS = re.compile(r"(?: [0-9.]+){2}$")
"""The labels of a drawing end like this."""
_OWN_BEGINNING = re.compile(r"(?:where|with|in which)\b|[•✷□■◦▪*–-]|\$?\\?(?:bullet|square)")
_BACKGROUND = re.compile("background", re.IGNORECASE)
_OF_OTHERS = re.compile("related|previous", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\.[ ]?){5}|[…·_]{4}")
"""Dots between a heading and its page, in a table of contents."""
_RUN_IN = re.compile(
    r"\*\*([^*]{2,60}?)[.:]?\*\*[.:]? |(?:[-*•] )?(?!(?:We|It|This|That|The|There|They|Table|Figure|Fig|Algorithm)\b)"
    r"([A-Z][\w+-]*(?:(?: [\w+&/()-]+){0,4}:|(?: [\w+&/()-]+){0,2}\.)) (?=[A-Z(])"
)


@dataclass(frozen=True)
class Sentence:
    """One sentence as the paper prints it."""

    text: str
    section: Section
    page: int
    role: str
    kind: str
    """PROSE, ITEM or NOTE."""
    before: str = ""
    """The sentence before it in its paragraph; empty for the first."""
    formula: str = ""
    """The displayed equations that follow it."""
    head: str = ""
    """The run-in heading of its paragraph: "Adam." or "**Optimizer:**"."""


@dataclass(frozen=True)
class Table:
    """A pipe table with the caption before it and its place."""

    text: str
    caption: str
    section: Section
    page: int
    role: str

    @cached_property
    def cells(self) -> list[list[str]]:
        """Return the printed rows; empty where the text is not a grid."""
        return cells_of(self.text)

    @cached_property
    def grid(self) -> Grid:
        """Return heads and labelled rows."""
        return read_grid(self.cells)


@dataclass(frozen=True)
class Listing:
    """Code or an algorithm in a fence."""

    text: str
    section: Section
    page: int


@dataclass(frozen=True, eq=False)
class PaperText:
    """A paper as the rules read it; compared by identity, so that results about one can be cached."""

    outline: Mapping[str, Any]
    roles: Mapping[str, str]
    sentences: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    listings: tuple[Listing, ...]
    text: str = ""

    @cached_property
    def around(self) -> dict[str, tuple[Section, ...]]:
        """Return section id -> the sections that contain it, the innermost first."""
        return sections_around(self.outline["sections"])

    @cached_property
    def prose(self) -> str:
        """Return all sentences as one text."""
        return " ".join(one.text for one in self.sentences)


@dataclass
class _Walk:
    """State carried from block to block of a section."""

    sentences: list[Sentence] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    is_adjacent: bool = False
    """Whether the block before was running text of the same section."""
    is_led: bool = False
    """Whether the block before was a formula."""


def read_paper(text: str, outline: Mapping[str, Any], body_start: int = 0) -> PaperText:
    """Return the sentences, tables and listings of a paper. One without usable headings is a single section that is built."""
    sections = list(outline["sections"])
    roles = roles_of(sections)
    if str(outline.get("title") or "").startswith("[Re]"):
        # a reproduction describes the method that it builds as its background
        above = sections_around(sections)
        described = [one for one in sections if _BACKGROUND.match([one, *above[one["id"]]][-1]["title"])]
        roles |= {one["id"]: BUILD for one in described if not _OF_OTHERS.search(one["title"])}
    if not set(roles.values()) & {BUILD, SETUP, MIXED}:
        roles = {name: BUILD if role == BACKGROUND else role for name, role in roles.items()}
    if not set(roles.values()) - {OTHER}:
        # own_text drops the first line, which is a heading in every other section
        start, end = max(body_start - 1, 0), sections[0]["start"] if sections else len(text)
        sections.insert(0, {"id": "S0", "number": None, "title": "", "level": 1, "page": 1, "start": start, "end": end})
        roles["S0"] = BUILD
    walk = _Walk()
    for section in sections:
        if len(walk.sentences) > _MOST_SENTENCES:
            break
        _read_section(text, section, roles.get(section["id"], OTHER), walk)
    return PaperText(outline, roles, tuple(walk.sentences), tuple(walk.tables), tuple(walk.listings), text)


def quote_start(words: str) -> str:
    """Return the first words of a passage, enough to find it by."""
    line = " ".join(words.split())
    if len(line) <= _QUOTE:
        return line
    end = line.find(" ", _QUOTE)
    return line[: end if 0 < end <= 2 * _QUOTE else _QUOTE]


def name_section(section: Section) -> str | None:
    """Return the number of a section, else its heading."""
    return section["number"] or split_heading(section["title"])[0] or None


def source_of(section: Section, page: int, quote: str) -> dict[str, Any]:
    """Return the `source` of a row."""
    return {"section": name_section(section), "page": page, "quote": quote}


def _read_section(text: str, section: Section, role: str, walk: _Walk) -> None:
    caption, walk.is_adjacent, walk.is_led = "", False, False
    if swallowed := split_heading(section["title"])[1]:
        walk.sentences += _sentences(TextBlock(PROSE, swallowed), section, section["page"], role, walk)
        walk.is_adjacent = True
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if walk.is_led and block.text in _BETWEEN:
                continue
            if block.kind == CAPTION:
                caption = block.text
            elif block.kind == TABLE:
                walk.tables.append(Table(block.text, caption, section, page, role))
            elif block.kind == FENCE:
                walk.listings.append(Listing(block.text, section, page))
            elif block.kind == EQUATION:
                _add_formula(block.text, walk)
            elif not _LEADERS.search(block.text):
                walk.sentences += _sentences(block, section, page, role, walk)
            walk.is_adjacent = block.kind in (PROSE, ITEM)
            walk.is_led = block.kind == EQUATION


def _sentences(block: TextBlock, section: Section, page: int, role: str, walk: _Walk) -> Iterator[Sentence]:
    before, text, kind = "", block.text[:_LONGEST_BLOCK], block.kind
    last = walk.sentences[-1] if walk.sentences and walk.is_adjacent else None
    begun = last if last and kind == PROSE and _goes_on(last, text) else None
    run_in = _RUN_IN.match(text)
    head = (run_in[1] or run_in[2]).rstrip(":.") if run_in else begun.head if begun else ""
    if begun:
        walk.sentences.pop()
        before, kind = begun.before, begun.kind
        joint = "" if begun.text.endswith("-") else " "
        text = f"{begun.text.removesuffix('-')}{joint}{text}"
    for sentence in filter(None, sentences_of(text)):
        said = without_marks(sentence)
        yield Sentence(said, section, begun.page if begun else page, role, kind, before, head=head)
        before, begun = said, None


def _goes_on(last: Sentence, text: str) -> bool:
    """Return whether a block begins inside the sentence that the block before it left open, as pages and columns cut them."""
    said = last.text
    if len(said) > _LONGEST_BEGUN or not is_open(said) or len(said.split()) < _FEWEST_BEFORE:
        return False
    if said[-1] in ":;" or _NUMBERS.search(said):
        return False
    if text[0].islower():
        return not _OWN_BEGINNING.match(text)
    return bool(_UNFINISHED.search(said)) or not (text[0].isupper() or text[0].isdigit() or _OWN_BEGINNING.match(text))


def _add_formula(text: str, walk: _Walk) -> None:
    if not walk.sentences or (walk.sentences[-1].formula and not walk.is_led):
        return
    last = walk.sentences[-1]
    formula = " ".join(text.replace("$$", " ").split())
    whole = f"{last.formula} \\\\ {formula}" if last.formula else cut_formula(formula, _LONGEST_FORMULA)
    if len(whole) <= _LONGEST_FORMULA:
        walk.sentences[-1] = replace(last, formula=whole)
