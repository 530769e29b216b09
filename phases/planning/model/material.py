"""Prepare the paper for a planning model: segments and page pictures, within its window and marked as data.

Characters that are never seen (of Unicode's category Cf) are taken out on the way: nobody who reads the paper can see what
they say.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from phases.llm.model import Model, sees_pictures, tokens_of
from phases.llm.pictures import Picture, PictureStore, parse_picture, why_not_shown
from phases.readers.kinds import PDF, REQUIREMENT
from phases.readers.line_patterns import REFERENCES, plain_title
from phases.readers.markdown import PAGE_MARK
from phases.readers.page_pictures import View, draw_views
from phases.readers.reader_subprocess import run_worker
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, sha256
from pipeline.base.formats import Markdown
from pipeline.base.logs import logger
from pipeline.base.workers import WorkerStart
from pipeline.engine.phase import Context

_MOST_PAGES, _MOST_BYTES = 6, 2_000_000
_LARGEST_SOURCE = 200 * 2**20
_SHARE = 4
"""At most this part of what the model can read at once is spent on pictures."""
_DOTS_PER_INCH = 110
_TORN = re.compile(r"[\ufffd\ue000-\uf8ff\u02c6\u02dc\u00af]|\\surd\b|(?:\\\|){3}|[_^]\{\s*\}|^\s*[=^_<>]")
"""Signs without a letter, roots and norms whose reach is lost, scripts of nothing, and a formula without its left side."""
_BRACKETS = (("(", ")"), ("{", "}"))


class DoubtfulPage(NamedTuple):
    """A page that a picture may explain, with a description of what is on it."""

    number: int
    what: str


class ShownPage(NamedTuple):
    """A doubtful page with its picture."""

    page: DoubtfulPage
    picture: Picture


def choose_pages(outline: Mapping[str, Any]) -> tuple[DoubtfulPage, ...]:
    """Return the pages of a PDF worth a picture, in order; where there are many, the most doubtful ones."""
    algorithms: dict[int, list[str]] = defaultdict(list)
    torn: dict[int, int] = defaultdict(int)
    for row in outline["algorithms"]:
        algorithms[row["page"]].append(row["label"])
    for row in outline["equations"]:
        torn[row["page"]] += is_torn(row["text"])
    weights = {page: torn[page] + 2 * len(algorithms[page]) for page in {*algorithms, *torn} if page}
    chosen = sorted(sorted(weights), key=lambda page: -weights[page])[:_MOST_PAGES]
    return tuple(
        DoubtfulPage(page, _describe(algorithms[page], torn[page])) for page in sorted(chosen) if weights[page]
    )


def is_torn(formula: str) -> bool:
    """Return whether a formula has signs that only appear when its reading failed."""
    if _TORN.search(formula):
        return True
    plain = re.sub(r"\\[{}]", "", formula)
    return any(plain.count(left) != plain.count(right) for left, right in _BRACKETS)


def draw_doubtful(
    pages: Iterable[DoubtfulPage], source_sha256: str, model: Model, ctx: Context
) -> list[dict[str, Any]]:
    """Draw these pages and return their journal record; None for a model without vision."""
    path = _find_source(ctx.paths.root, source_sha256) if sees_pictures(model) else ""
    wanted = list(pages) if path else []
    if not wanted:
        return []
    run = partial(run_worker, start=WorkerStart(ctx.environment, confine_parser))
    password = ctx.secrets.get("password") or None
    drawn = draw_views(path, [View(row.number) for row in wanted], password, dots_per_inch=_DOTS_PER_INCH, run=run)
    store, rows = PictureStore(ctx.paths.plan_pictures, ctx.in_place), []
    most_bytes, most_tokens = _MOST_BYTES, model.window // _SHARE
    for row, view in zip(wanted, drawn, strict=True):
        picture = parse_picture(view.png) if view else None
        if picture is None or why_not_shown(picture) or len(picture.data) > most_bytes or picture.tokens > most_tokens:
            logger.debug("page {} is not shown to {}: it cannot be drawn, or is too much", row.number, model.name)
            continue
        most_bytes, most_tokens = most_bytes - len(picture.data), most_tokens - picture.tokens
        rows.append({"page": row.number, "what": row.what, **store.keep(picture)})
    return rows


def load_shown(rows: Iterable[Mapping[str, Any]], ctx: Context) -> Iterator[ShownPage]:
    """Return the pages of a journal record whose pictures still exist."""
    store = PictureStore(ctx.paths.plan_pictures, ctx.in_place)
    for row in rows:
        for picture in store.load([row]):
            yield ShownPage(DoubtfulPage(int(row["page"]), str(row["what"])), picture)


def _describe(algorithms: list[str], torn: int) -> str:
    formulas = ["a formula that may be torn" if torn == 1 else f"{torn} formulas that may be torn"] if torn else []
    return " and ".join([*algorithms, *formulas])


def _find_source(root: str, source_sha256: str) -> str:
    """Return the path of the PDF that the paper was read from; empty where the task no longer has it unchanged."""
    directory = os.path.join(root, "source")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) and not os.path.islink(directory) else []
    if len(names) != 1 or not names[0].endswith(f".{PDF}"):
        return ""
    path = os.path.join(directory, names[0])
    try:
        return path if sha256(read_bytes(path, limit=_LARGEST_SOURCE)) == source_sha256 else ""
    except StorageError:
        return ""


_MOST_LINKS = 60
_BYTES_A_TOKEN = 2
"""On the low side: what is cut by this measure fits by every other."""


class Segment(NamedTuple):
    id: str
    place: str
    """Section, page and kind, in words; empty for a request."""
    relevance: float
    text: str


@dataclass(frozen=True)
class Paper:
    """A paper as plain values. References are in no segment; `left_out` names their sections."""

    title: str
    abstract: str
    outline: tuple[str, ...]
    """A line a section, indented by its level."""
    segments: tuple[Segment, ...]
    pages: tuple[tuple[int, str], ...]
    """Number and text of each page; quotes are looked up in them."""
    left_out: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    hidden: int = 0
    """How many stretches of text the paper holds and does not show. They are in no segment."""
    recognized: bool = False
    """Whether a program recognized the text in pictures of a scan."""
    source_sha256: str = ""
    doubtful: tuple[DoubtfulPage, ...] = ()
    """Pages that a model that sees is shown."""
    shown: tuple[ShownPage, ...] = ()
    """Those of them that this one is shown."""
    sections: tuple[tuple[str | None, str], ...] = ()
    """Number or title of each section, and its own text without its parts; together they are the text of the pages."""
    is_request: bool = False
    """Whether it is what a person asks for in plain words."""
    tools: str = ""
    """What commands find on this machine, with versions."""


def paper_material(paper: Markdown, outline: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Paper:
    """Return the paper for a model. `outline` is outline.json, `rows` are the segments of the document index."""
    segments, left_out, is_request = [], [], paper.front["kind"] == REQUIREMENT
    for row in rows:
        # The front matter is the reader's note to the machine; it quotes hidden text, which nobody is to be told.
        text = paper.text[max(row["start"], paper.body_start) : row["end"]]
        if row["kind"] == "references" and plain_title(row["title"]) in REFERENCES:
            left_out.append(row["title"])
        elif text.strip():
            place = f"{row['number'] or ''} {row['title']}".strip()[:120] or "before the first section"
            place = f"{place}, page {row['page']}, {row['kind']}"
            if is_request:
                place, text = "", PAGE_MARK.sub("", text).strip()
            segments.append(Segment(row["id"], place, row["relevance"], text))
    return Paper(
        outline["title"] or "",
        outline["abstract"] or "",
        tuple(_outline_line(row) for row in outline["sections"]),
        tuple(segments),
        tuple(split_pages(paper.text[paper.body_start :])),
        tuple(dict.fromkeys(left_out)),
        tuple(dict.fromkeys(row["url"] for row in outline["links"])),
        len(outline["hidden_text"]),
        "recognized_by" in paper.front,
        paper.front["source_sha256"],
        choose_pages(outline) if paper.front["kind"] == PDF else (),
        (),
        tuple(_split_sections(paper, outline["sections"])),
        is_request,
    )


def paper_overview(paper: Paper) -> str:
    """Return the text in front of the segments in every request: title, abstract, outline, links."""
    parts = [f"Title: {paper.title or 'none'}", f"Abstract: {paper.abstract or 'none'}", "Outline:", *paper.outline]
    if paper.recognized:
        parts += ["A program recognized this text in a scan: letters and figures may be wrong, and that is uncertain."]
    if paper.links:
        parts += ["Links:", *paper.links[:_MOST_LINKS]]
        more = len(paper.links) - _MOST_LINKS
        parts += [f"({more} more links are left out of this list)"] if more > 0 else []
    return strip_invisible("\n".join(parts))


def describe_omissions(paper: Paper) -> str:
    """Describe what the model does not get; empty where it gets everything."""
    said = [f"the list of references ({', '.join(map(repr, paper.left_out))})"] if paper.left_out else []
    said += [f"{paper.hidden} stretches of text that the paper holds and does not show"] if paper.hidden else []
    return f"Left out of what you are given: {'; '.join(said)}." if said else ""


def pack_batches(paper: Paper, room: int) -> list[str]:
    """Return all segments in as few texts of at most `room` tokens as possible, the most important first."""
    pieces = [piece for number, segment in enumerate(paper.segments) for piece in _split_segment(number, segment, room)]
    packed: list[list[_Piece]] = []
    left = 0
    for piece in sorted(pieces, key=lambda piece: (-piece.relevance, piece.number)):
        if not packed or piece.tokens > left:
            packed.append([])
            left = room
        packed[-1].append(piece)
        left -= piece.tokens
    # Inside a text the paper's own order: a model reads it as it was written.
    return ["\n\n".join(piece.text for piece in sorted(pack, key=lambda piece: piece.number)) for pack in packed]


def as_data(name: str, text: str) -> str:
    """Return the text between two markers that cannot occur in it, so that its content stays data."""
    mark = sha256(text.encode("utf-8", "replace"))[:16]
    while mark in text:
        mark = sha256(mark.encode())[:16]
    return f"<<<{name} {mark}>>>\n{text}\n<<<END OF {name} {mark}>>>"


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters."""
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


class _Piece(NamedTuple):
    number: int
    relevance: float
    text: str
    tokens: int


def _split_segment(number: int, segment: Segment, room: int) -> Iterator[_Piece]:
    """Return the segment under its heading; in several pieces where it does not fit alone."""
    heading = f"[segment {segment.id}: {' '.join(strip_invisible(segment.place).split())}]\n" if segment.place else ""
    most = max(room - tokens_of(heading) - 2, 1) * _BYTES_A_TOKEN
    whole = strip_invisible(segment.text)
    fits = tokens_of(heading + whole) + 2 <= room
    for text in [whole] if fits else _cut_text(whole, most):
        yield _Piece(number, segment.relevance, heading + text, tokens_of(heading + text) + 2)


def _cut_text(text: str, most: int) -> Sequence[str]:
    """Yield pieces of at most `most` bytes, cut at line ends where possible; joined they are the text."""
    data, start, cut = text.encode("utf-8", "replace"), 0, []
    while start < len(data):
        end = min(start + most, len(data))
        line_end = data.rfind(b"\n", start + most // 2, end) + 1
        end = line_end if end < len(data) and line_end else end
        while end < len(data) and end > start + 1 and data[end] & 0xC0 == 0x80:
            end -= 1  # never inside a character
        cut.append(data[start:end].decode("utf-8", "replace"))
        start = end
    return cut


def _outline_line(row: Mapping[str, Any]) -> str:
    return f"{'  ' * (row['level'] - 1)}{row['number'] or '-'} {' '.join(row['title'].split())} (page {row['page']})"


def _split_sections(paper: Markdown, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str | None, str]]:
    starts = [paper.body_start, *(max(row["start"], paper.body_start) for row in rows), len(paper.text)]
    labels = [None, *(str(row["number"] or row["title"]) for row in rows)]
    for label, (start, end) in zip(labels, pairwise(starts), strict=True):
        yield label, PAGE_MARK.sub("", paper.text[start:end])


def split_pages(text: str) -> list[tuple[int, str]]:
    """Return number and text of each page."""
    marks = list(PAGE_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(int(mark.group(1)), text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)] or [(1, text)]
