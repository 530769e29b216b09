"""What a paper demands, found by rules: each requirement quotes the paper, with section and page. Deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from phases.planning.rules.blocks import CAPTION, EQUATION, ITEM, NOTE, PROSE, TABLE, TextBlock, blocks_of
from phases.planning.rules.body import Section, body_of, leading_sections, read_sections
from phases.planning.rules.cues import asks_for_code, kind_of_statement
from phases.planning.rules.sentences import is_open, is_whole, leans_on, sentences_of, without_marks
from phases.planning.rules.values import NUMBER, Value, number_of, symbol_of, values_in
from phases.readers.markdown import PAGE_MARK
from phases.readers.outline import pages_of
from phases.readers.segments import RELEVANCE

LONGEST_QUOTE = 120
MOST_STATEMENTS = 80
_SHORTEST_QUOTE = 30
_MOST_VALUES = 1000
_STEP = re.compile(
    r"[ \t*]*(?:[0-9]{1,3}[:.)]|for\b|while\b|if\b|else|end\b|input|output|require|ensure|return|initiali[sz]"
    r"|repeat|until|set\b|compute|sample"
    r"|update|procedure|function|train\b|let\b|Eingabe|Ausgabe|输入|输出)|[^\n]{0,200}(?:←|\\leftarrow|:=)",
    re.IGNORECASE,
)
_LONGEST, _MOST_LINES, _MOST_EQUATIONS = 900, 60, 40
_FENCES = ("```", "~~~")
_MARKS = re.compile(r"\*{1,3}|^[ \t]*[0-9]{1,3}[:.)][ \t]*")


def requirements_of(
    text: str, outline: dict[str, Any], segments: list[dict[str, Any]], body_start: int
) -> list[dict[str, Any]]:
    """The requirements in the order of the paper: algorithms, equations, what its body says, and the values.

    Where the body asks for nothing, what leads to it is read, too, and at last the text before the first heading.
    """
    kinds = {segment["section"]: segment["kind"] for segment in segments if segment["section"]}
    sections = outline["sections"]
    headless = {"id": None, "number": None, "title": None, "page": 1, "start": body_start}
    headless["end"] = sections[0]["start"] if sections else len(text)
    found = (
        _in_sections(text, outline, body_of(sections, kinds), kinds)
        or _in_sections(text, outline, read_sections(sections), kinds, loosely=True)
        or _in_sections(text, outline, [headless], kinds, loosely=True)
    )
    # decision 135: whole sentences in the order of the paper, because people read them
    rows = [_build_requirement(f"R{number}", one) for number, one in enumerate(found, 1)]
    return rows or [_missing_requirement(outline)]


def shorten_line(text: str, limit: int = LONGEST_QUOTE) -> str:
    line = " ".join(PAGE_MARK.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _in_sections(
    text: str, outline: dict[str, Any], sections: Sequence[Section], kinds: Mapping[str, str], *, loosely: bool = False
) -> list[Demand]:
    """All that these sections ask for, once. An introduction has the formulas of a paper that has no others."""
    said = [
        one
        for section in sections
        for one in demands_in(text, section, kinds.get(section["id"], "other"), loosely=loosely)
    ]
    leading = leading_sections(outline["sections"])
    found = [
        *(algorithms_of(text, outline, sections) or algorithms_of(text, outline, leading)),
        *(equations_of(outline, sections) or equations_of(outline, leading)),
        # so many statements are read by a person; of values, which are short, all
        *_most_telling([one for one in said if not one.value], kinds),
        *[one for one in said if one.value][:_MOST_VALUES],
    ]
    return _drop_duplicates(found)


def _most_telling(found: Sequence[Demand], kinds: Mapping[str, str]) -> list[Demand]:
    """As many statements as a person reads, those of the method before those of an appendix, in the paper's order."""

    def weight(index: int) -> float:
        return RELEVANCE[kinds.get(found[index].section["id"], "other")]

    kept = sorted(range(len(found)), key=weight, reverse=True)[:MOST_STATEMENTS]
    return [found[index] for index in sorted(kept)]


def _drop_duplicates(found: Iterable[Demand]) -> list[Demand]:
    return list({(one.kind, one.text.lower()): one for one in reversed([*found])}.values())[::-1]


def _build_requirement(identifier: str, found: Demand) -> dict[str, Any]:
    value = {"name": found.value.name, "value": found.value.value} if found.value else {}
    return {
        "id": identifier,
        "kind": found.kind,
        "text": found.text,
        "source": {
            "section": found.section["number"] or found.section["title"] or None,
            "page": found.page,
            "quote": _quote_line(found.quote) if found.value else _quote_start(found.quote),
        },
        "status": "stated",
        **value,
    }


def _quote_line(words: str) -> str:
    return " ".join(words.split())[:LONGEST_QUOTE].rstrip()


def _quote_start(words: str) -> str:
    """The first words of a passage, enough of them to find it by."""
    line = " ".join(words.split())
    if len(line) <= _SHORTEST_QUOTE:
        return line
    end = line.find(" ", _SHORTEST_QUOTE)
    return line[: end if 0 < end <= LONGEST_QUOTE else LONGEST_QUOTE]


def _missing_requirement(outline: dict[str, Any]) -> dict[str, Any]:
    """The one requirement of a paper in which no rule finds any: it says so."""
    named = shorten_line(outline["title"] or outline["abstract"] or "what was given", 240)
    return {
        "id": "R1",
        "kind": "artifact",
        "text": f"Nothing to build was found by rules in: {named}. Say at the review what is wanted, or plan with a model "
        "(--plan-model).",
        "source": {"section": None, "page": 1, "quote": ""},
        "status": "missing",
    }


def algorithms_of(text: str, outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Demand]:
    """The algorithms of these sections, each with the steps that stand under its caption."""
    return [
        _build_algorithm(text, row, section)
        for section in sections
        for row in outline["algorithms"]
        if row["section"] == section["id"]
    ]


def equations_of(outline: Mapping[str, Any], sections: Sequence[Section]) -> list[Demand]:
    known = {section["id"]: section for section in sections}
    rows = [row for row in outline["equations"] if row["label"] and row["text"] and row["section"] in known]
    return [
        Demand("equation", f"Equation {row['label']}: {row['text']}", row["text"], known[row["section"]], row["page"])
        for row in rows[:_MOST_EQUATIONS]
    ]


def _build_algorithm(text: str, row: Mapping[str, Any], section: Section) -> Demand:
    caption, below = _caption_and_steps(text, row["start"], row["end"])
    steps, length = [], 0
    for step in below:
        length += len(step)
        if length > _LONGEST:
            break
        steps.append(step)
    name = f"{row['label']}: {row['text']}".rstrip(": ")
    said = f"{name}: {'; '.join(steps)}" if steps else name
    return Demand("algorithm", _MARKS.sub("", said), caption, section, row["page"])


def _caption_and_steps(text: str, start: int, end: int) -> tuple[str, Iterator[str]]:
    """The line of the caption, and the steps: all of a fence that is the algorithm's own, else what looks like steps."""
    if text[start:end].lstrip().startswith(_FENCES):
        lines = [line for line in text[start:end].split("\n") if not line.lstrip().startswith(_FENCES)]
        return lines[0] if lines else "", _plain_steps(lines[1 : _MOST_LINES + 1])
    return text[start:end], _plain_steps(_looking_like_steps(text[end : end + 4 * _LONGEST].split("\n")[:_MOST_LINES]))


def _looking_like_steps(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        if bare.startswith((*_FENCES, "#", "<!--", "|")) or (bare and not _STEP.match(line)):
            return
        yield line


def _plain_steps(lines: Iterable[str]) -> Iterator[str]:
    return (" ".join(_MARKS.sub("", line).split()) for line in lines if line.strip())


_MOST_SENTENCES, _LONGEST_TEXT, _LONGEST_SENTENCE = 3, 600, 1200
_LONGEST_BLOCK = 20_000
_LONGEST_CAPTION = 400
_METHOD = ("method", "algorithm")
_LEADERS = re.compile(r"(?:\.[ ]?){5}|[…·_]{4}")
"""Between a heading and its page, in a table of contents."""
_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_SETTINGS = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|model|architecture) (?:settings?|choices?|values?"
    r"|configurations?|details?)|parameters? (?:used|of)\b|Hyperparameter|Einstellung|超参数|参数设置",
    re.IGNORECASE,
)
_RESULTS = re.compile(
    r"\bresults?\b|accurac|perplexit|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|\bcomparison|\bcompared\b|ablation|\b(?:low|high)est\b|attain|achiev"
    r"|variations|\btest set\b|\bErgebnis|\bVergleich|结果|准确率|比较",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:learning|dropout|batch|momentum|weight|warm|epochs|layers|hidden|heads|steps|iterations|temperature"
    r"|optimi[sz]er|decay|size|seed|α|β|γ|λ|\\(?:alpha|beta|gamma|lambda))",
    re.IGNORECASE,
)
_LONGEST_LABEL, _MOST_ROWS = 40, 60
_LONGEST_PROSE = 6
_CELL_MARKS = re.compile(r"[*_$\\{}]|<[^<>]{0,20}>")


@dataclass(frozen=True)
class Demand:
    kind: str
    text: str
    quote: str
    section: dict[str, Any]
    page: int
    value: Value | None = None


@dataclass
class _Paragraph:
    """Text that belongs together: a page, a picture or a formula may stand in its middle."""

    kind: str = PROSE
    parts: list[tuple[int, str]] = field(default_factory=list)
    """Each with its page."""

    def takes(self, block: TextBlock) -> bool:
        """Whether a block goes on where this stopped in the middle of a sentence."""
        if not self.parts or block.kind == NOTE or not is_open(self.parts[-1][1]):
            return False
        return block.kind == EQUATION or block.text[:1].islower()

    def sentences(self) -> Iterator[_Sentence]:
        """Its sentences, each with the pieces of it that a page or a formula divides."""
        whole, at = " ".join(text for _, text in self.parts)[:_LONGEST_BLOCK], 0
        for sentence in filter(None, sentences_of(whole)):
            at = whole.index(sentence, at)
            pieces, begin = [], 0
            for page, text in self.parts:
                piece = text[max(at - begin, 0) : max(at + len(sentence) - begin, 0)]
                pieces += [(page, piece)] if piece.strip() else []
                begin += len(text) + 1
            yield _Sentence(sentence, pieces)


@dataclass(frozen=True)
class _Sentence:
    text: str
    pieces: list[tuple[int, str]]


def demands_in(text: str, section: dict[str, Any], kind: str, *, loosely: bool = False) -> Iterator[Demand]:
    """What one section asks for, in its order; `kind` is the section's. `loosely`: what there is counts like what is done."""
    caption, paragraph = "", _Paragraph()
    loosely = loosely or kind in _METHOD
    for page, part in pages_of(text, section):
        for block in blocks_of(part):
            if block.kind == TABLE:
                yield from _demands_of_table(block, caption, section, page)
            elif block.kind == CAPTION:
                caption = block.text
            elif block.kind in (PROSE, ITEM, NOTE, EQUATION):
                if not paragraph.takes(block):
                    yield from _demands_of_paragraph(paragraph, section, kind, loosely)
                    paragraph = _Paragraph(block.kind)
                paragraph.parts.append((page, block.text))
    yield from _demands_of_paragraph(paragraph, section, kind, loosely)


def _demands_of_paragraph(paragraph: _Paragraph, section: dict[str, Any], kind: str, loosely: bool) -> Iterator[Demand]:
    contents = any(_LEADERS.search(text) for _, text in paragraph.parts)
    sentences = [] if paragraph.kind == EQUATION or contents else list(paragraph.sentences())
    listed = paragraph.kind == ITEM
    kinds = [_demand_kind(one.text, kind, loosely=loosely, listed=listed) for one in sentences]
    for row in _group_sentences(sentences, kinds):
        said = without_marks(" ".join(one.text for one in row))
        page, quote = row[0].pieces[0]
        yield Demand(kind_of_statement(said, kind), said, quote, section, page)
    for one in sentences:
        for value in values_in(one.text) if asks_for_code(one.text, loosely=True) else ():
            for page in [page for page, piece in one.pieces if value.quote in piece][:1]:
                yield Demand("hyperparameter", f"{value.name} = {value.value}", value.quote, section, page, value)


def _demand_kind(sentence: str, kind: str, *, loosely: bool, listed: bool) -> str:
    """The kind of demand that a sentence is; empty where it is none. An item of a list needs no full stop."""
    fits = len(sentence) <= _LONGEST_SENTENCE and (listed or is_whole(sentence))
    return kind_of_statement(sentence, kind) if fits and asks_for_code(sentence, loosely=loosely) else ""


def _group_sentences(sentences: Sequence[_Sentence], kinds: Sequence[str]) -> Iterator[list[_Sentence]]:
    """The sentences that ask for something, up to three that follow each other in a row.

    One that begins with "This" or "Then" stays with the sentence before it, also where that asks for nothing.
    """
    row: list[_Sentence] = []
    for at, (one, kind) in enumerate(zip(sentences, kinds, strict=True)):
        leans = leans_on(one.text)
        length = sum(len(other.text) for other in row) + len(one.text)
        joins = bool(row) and (leans or kind == kinds[at - 1])
        if row and not (kind and joins and len(row) < _MOST_SENTENCES and length <= _LONGEST_TEXT):
            yield row
            row = []
        elif kind and not row and leans and at and is_whole(sentences[at - 1].text):
            row = [sentences[at - 1]]
        row = [*row, one] if kind else []
    if row:
        yield row


def _demands_of_table(block: TextBlock, caption: str, section: dict[str, Any], page: int) -> Iterator[Demand]:
    lines = block.text.split("\n")
    for value in settings_in(cells_of(block.text), caption[:_LONGEST_CAPTION]):
        quote = next((line for line in lines if value.quote in line), lines[0])
        yield Demand("hyperparameter", f"{value.name} = {value.value}", quote, section, page, value)


def cells_of(table: str) -> list[list[str]]:
    """The rows of a pipe table, without its rule; empty where it is no grid but prose that fell into columns."""
    rows = [
        [" ".join(cell.replace("\\|", "|").split()) for cell in _CELL.split(line.strip().strip("|"))]
        for line in table.split("\n")[:_MOST_ROWS]
        if not _RULE.match(line.strip())
    ]
    filled = [cell for row in rows for cell in row if cell]
    words = sum(cell.count(" ") + 1 for cell in filled)
    return rows if len(rows) > 1 and filled and words <= _LONGEST_PROSE * len(filled) else []


def settings_in(rows: Sequence[Sequence[str]], caption: str) -> Iterator[Value]:
    """What a table of settings sets, each named after its row and column. What is no such table sets nothing."""
    if not rows or _RESULTS.search(caption):
        return
    is_named = bool(_SETTINGS.search(caption) or _SETTINGS.search(rows[0][0]))
    # a table may have a run in each row: turned, it has a setting in each
    if 2 * sum(map(_is_setting, rows[0][1:])) > len(rows[0][1:]):
        rows = [list(column) for column in zip_longest(*rows, fillvalue="")]
    head = rows[0]
    body = rows if number_of(head[-1]) is not None else rows[1:]
    known = sum(_is_setting(row[0]) and any(_number_in_cell(cell) is not None for cell in row[1:]) for row in body)
    if not known or (not is_named and 2 * known <= len(body)):
        return
    for row in body:
        label = _CELL_MARKS.sub("", row[0]).strip()
        if 0 < len(label) <= _LONGEST_LABEL:
            yield from _row_values(label, row[1:], head[1:])


def _is_setting(label: str) -> bool:
    """By its name; one with a number in it is a variant that was measured."""
    return bool(_KNOWN.match(_CELL_MARKS.sub("", label).strip())) and not re.search(r"[0-9]", label)


def _row_values(label: str, cells: Sequence[str], heads: Sequence[str]) -> Iterator[Value]:
    columns = zip_longest(cells, heads[: len(cells)], fillvalue="")
    found = [(cell, head) for cell, head in columns if _number_in_cell(cell) is not None]
    same = len({cell for cell, _ in found}) == 1
    for cell, head in found[:1] if same else found:
        value, which = _number_in_cell(cell), "" if same or number_of(head) is not None else _CELL_MARKS.sub("", head)
        name = symbol_of(f"{label} {which}")
        if name and value is not None:
            yield Value(name, value, cell)


def _number_in_cell(cell: str) -> int | float | None:
    plain = cell.strip("$* ")
    return number_of(plain) if re.fullmatch(NUMBER, plain) else None
