"""Pages on the results: the trace of each requirement, the paper's tables, the costs, the files and the log."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from phases.evidence.locate import demands_of, find_tests, read_sources
from phases.evidence.places import Place, split_lines
from phases.evidence.traceability import count_evidence, describe_evidence, describe_judgement, open_requirements
from phases.pages.results_page import describe_results
from phases.workspace.workspace import Workspace
from pipeline.base.safe_tree import read_beneath, walk_files
from pipeline.cli.cost import sum_costs
from pipeline.cli.results import read_curves
from pipeline.cli.trace import collect_page, read_code, read_trace, read_verifiers
from pipeline.cli.web.exchange import HtmlPage, NotThere, PageRequest, Site, WebFile
from pipeline.cli.web.overview_page import head_of
from pipeline.engine.store import TaskStore

_MOST_LINES, _MOST_TESTS, _TEST_LINES = 40, 4, 16
_LARGEST_SHOWN, _LARGEST_FILE, _LARGEST_ZIP, _MOST_FILES = 400_000, 64 << 20, 256 << 20, 5000
_MOST_LOG_ROWS, _LARGEST_LOG = 500, 64 << 20
_LOG = "logs/system.jsonl"
_PARTS = ("generate_code", "document_segments", "plan_versions", "logs", "source", "experiments")
Row = Mapping[str, Any]


class TaskFile(NamedTuple):
    path: str
    bytes: int
    mark: str
    """Opaque part of its address: never its path."""
    about: str


def show_trace(site: Site, request: PageRequest) -> HtmlPage:
    """Show each requirement between the paper's words and the code that meets it."""
    store = site.open(request.route["task"])
    head = {**head_of(site, store), "tab": "trace"}
    if not store.exists("traceability.json"):
        return HtmlPage("nothing.html", {**head, "told": "Nothing is traced yet: phase 09 writes it with the code."})
    rows, plan = read_trace(store)
    workspace, places = read_code(store, plan)
    sources = read_sources(workspace) if workspace else {}
    planned = {row["id"]: row for row in demands_of(plan)}
    made = [_describe_requirement(row, planned.get(row["id"], {}), workspace, places, sources) for row in rows]
    counts = describe_evidence(count_evidence(rows), read_verifiers(store))
    is_open, unmet = request.query.get("only") == "open", {row["id"] for row in open_requirements(rows)}
    shown = [row for row in made if not is_open or row["id"] in unmet]
    return HtmlPage("trace.html", {**head, "rows": shown, "counts": counts, "total": len(rows), "only_open": is_open})


def _describe_requirement(
    row: Row, planned: Row, workspace: Workspace | None, places: Sequence[Place], sources: Mapping[str, str]
) -> dict[str, Any]:
    own = [place for place in places if place.identifier == row["id"]]
    code = [_excerpt(workspace, place, _MOST_LINES) for place in own][:2]
    tests = [_excerpt(workspace, place, _TEST_LINES) for place in find_tests(row["tests"][:_MOST_TESTS], sources)]
    why = [row["note"], describe_judgement(row)]
    noticed = f"its tests noticed {row['noticed']} of {row['tried']} changes to its code" if row["tried"] else ""
    return {
        **row,
        "source": planned.get("source"),
        "code": code,
        "test_code": tests,
        "why": [text for text in (*why, noticed) if text],
    }


def _excerpt(workspace: Workspace | None, place: Place, most: int) -> dict[str, Any]:
    lines = split_lines(workspace.read(place.path)) if workspace else []
    last = min(place.last, place.first + most - 1, len(lines))
    shown = [(number, lines[number - 1]) for number in range(place.first, last + 1)]
    return {"path": place.path, "symbol": place.symbol, "first": place.first, "lines": shown, "more": place.last - last}


def show_panes(site: Site, request: PageRequest) -> WebFile:
    """Show the whole paper next to the whole code, as `trace --html` writes it, in a frame without permissions."""
    from phases.pages.trace_page import render_page  # imported here: the other pages need it not

    store = site.open(request.route["task"])
    plan = read_trace(store)[1]
    page = render_page(collect_page(store, plan, read_code(store, plan)))
    return WebFile(page.encode("utf-8", "replace"), "text/html; charset=utf-8", is_frame=True)


def show_results(site: Site, request: PageRequest) -> HtmlPage:
    """Show the paper's tables next to ours, cell by cell."""
    store = site.open(request.route["task"])
    head = {**head_of(site, store), "tab": "results"}
    if not store.exists("results.json"):
        told = "No experiment was run yet. Have them run with: pipeline reproduce"
        return HtmlPage("nothing.html", {**head, "told": f"{told} {store.id}"})
    results = store.load("results.json")
    return HtmlPage("results.html", {**head, **describe_results(results), "curves": read_curves(store, results)})


def show_cost(site: Site, request: PageRequest) -> HtmlPage:
    """Show the cost of the task by phase, file and model, and the rest of its limits."""
    store = site.open(request.route["task"])
    costs = sum_costs(store)
    spent = {"max_usd": costs["total"]["usd"], "max_minutes": costs["total"]["minutes"]}
    spent["max_tokens"] = costs["total"]["tokens_in"] + costs["total"]["tokens_out"]
    limits = [
        (name, limit, spent[name], max(0, limit - spent[name])) for name, limit in costs["limits"].items() if limit
    ]
    return HtmlPage("cost.html", {**head_of(site, store), "tab": "cost", "costs": costs, "limits": limits})


def _list_files(store: TaskStore) -> Iterator[TaskFile]:
    """Yield every document, then the files in the task's directories. Links are neither followed nor shown."""
    for count, found in enumerate(walk_files(store.root, skip=lambda name: name in ("__pycache__", ".git"))):
        top = found.path.partition("/")[0]
        if found.is_regular() and count < _MOST_FILES and (top == found.path or top in _PARTS) and top[0] != ".":
            with suppress(OSError):
                mark = hashlib.sha256(found.path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
                yield TaskFile(found.path, found.status().st_size, mark, _about(store, found.path))


def _about(store: TaskStore, path: str) -> str:
    """Return the description of a document in its schema."""
    if path not in store.graph.documents or path.endswith(".md"):
        return ""
    return str(store.contracts.schema(path).get("description", ""))


def show_files(site: Site, request: PageRequest) -> HtmlPage:
    store = site.open(request.route["task"])
    files = sorted(_list_files(store), key=lambda file: ("/" in file.path, file.path))
    parts = [(name, list(rows)) for name, rows in groupby(files, key=lambda file: file.path.rpartition("/")[0])]
    return HtmlPage("files.html", {**head_of(site, store), "tab": "files", "parts_of": parts})


def _find_file(store: TaskStore, mark: str) -> TaskFile:
    found = next((file for file in _list_files(store) if file.mark == mark), None)
    if found is None:
        raise NotThere("There is no such file.")
    return found


def _read(store: TaskStore, path: str, most: int) -> bytes:
    try:
        return read_beneath(store.root, path, most)
    except OSError as error:
        raise NotThere(f"{path} cannot be shown: {error.strerror or error}") from error


def show_file(site: Site, request: PageRequest) -> HtmlPage | WebFile:
    """Show one file as text, or send it as a download."""
    store = site.open(request.route["task"])
    file = _find_file(store, request.route["mark"])
    data = _read(store, file.path, _LARGEST_FILE)
    if "save" in request.query:
        name = "".join(letter for letter in os.path.basename(file.path) if letter.isalnum() or letter in "._-")
        return WebFile(data, "application/octet-stream", name.encode("ascii", "ignore").decode() or "file")
    text = "" if b"\x00" in data[:8000] else data[:_LARGEST_SHOWN].decode("utf-8", "replace")
    lines = [*enumerate(text.splitlines(), 1)]
    values = {"tab": "files", "file": file, "lines": lines, "more": max(0, len(data) - _LARGEST_SHOWN)}
    return HtmlPage("file.html", {**head_of(site, store), **values})


def send_zip(site: Site, request: PageRequest) -> WebFile:
    """Send the task's files as an archive, without links; what is over the limit is left out."""
    store, packed, total = site.open(request.route["task"]), io.BytesIO(), 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _list_files(store):
            total += file.bytes
            if total > _LARGEST_ZIP:
                break
            with suppress(OSError):
                archive.writestr(f"{store.id}/{file.path}", read_beneath(store.root, file.path, _LARGEST_FILE))
    return WebFile(packed.getvalue(), "application/zip", f"{store.id}.zip")


def show_log(site: Site, request: PageRequest) -> HtmlPage:
    """Show the newest lines of the log, by level and word."""
    store = site.open(request.route["task"])
    level, words = request.query.get("level", "INFO"), request.query.get("find", "").casefold()
    rows = [row for row in _read_log(store) if level == "ALL" or row["level"] not in ("DEBUG", "TRACE")]
    found = [row for row in rows if words in f"{row['message']} {row['level']}".casefold()]
    values = {"tab": "log", "rows": found[-_MOST_LOG_ROWS:][::-1], "level": level, "find": words, "count": len(found)}
    return HtmlPage("log.html", {**head_of(site, store), **values})


def _read_log(store: TaskStore) -> Iterator[dict[str, str]]:
    try:
        lines = read_beneath(store.root, _LOG, _LARGEST_LOG).splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            told = {name: str(row[name]) for name in ("at", "level", "message")}
            yield {**told, "traceback": str(row.get("traceback", ""))}
