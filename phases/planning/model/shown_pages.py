"""Which pages of a PDF a planning model that sees is shown: those with algorithms, or with formulas that reading has torn."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from phases.llm.model import Model, sees_pictures
from phases.llm.pictures import Picture, PictureStore, parse_picture, why_not_shown
from phases.readers.kinds import PDF
from phases.readers.page_pictures import View, draw_views
from phases.readers.reader_subprocess import run_worker
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes, sha256
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
    """A page that a picture may explain, and what is on it, in words."""

    number: int
    what: str


class ShownPage(NamedTuple):
    """Such a page as it is shown."""

    page: DoubtfulPage
    picture: Picture


def choose_pages(outline: Mapping[str, Any]) -> tuple[DoubtfulPage, ...]:
    """The pages of a PDF that are worth a picture, in their order; those with the most doubt where there are many."""
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
    """Whether a formula, as it was read, has signs that only a torn one has."""
    if _TORN.search(formula):
        return True
    plain = re.sub(r"\\[{}]", "", formula)
    return any(plain.count(left) != plain.count(right) for left, right in _BRACKETS)


def draw_doubtful(
    pages: Iterable[DoubtfulPage], source_sha256: str, model: Model, ctx: Context
) -> list[dict[str, Any]]:
    """What the journal says of the pictures of these pages, which are kept in the task. None for a model that sees none."""
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
    """The pages that a journal tells of, as far as their pictures are still there."""
    store = PictureStore(ctx.paths.plan_pictures, ctx.in_place)
    for row in rows:
        for picture in store.load([row]):
            yield ShownPage(DoubtfulPage(int(row["page"]), str(row["what"])), picture)


def _describe(algorithms: list[str], torn: int) -> str:
    formulas = ["a formula that may be torn" if torn == 1 else f"{torn} formulas that may be torn"] if torn else []
    return " and ".join([*algorithms, *formulas])


def _find_source(root: str, source_sha256: str) -> str:
    """The PDF that the paper was read from; empty where it is not in the task as it was."""
    directory = os.path.join(root, "source")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) and not os.path.islink(directory) else []
    if len(names) != 1 or not names[0].endswith(f".{PDF}"):
        return ""
    path = os.path.join(directory, names[0])
    try:
        return path if sha256(read_bytes(path, limit=_LARGEST_SOURCE)) == source_sha256 else ""
    except StorageError:
        return ""
