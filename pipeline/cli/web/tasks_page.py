"""First page: every task with its state and cost, and the form that starts a run."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from threading import get_native_id
from typing import Any, BinaryIO

from phases.llm.ledger_rows import rows_by_now, sum_rows
from phases.readers.origins import canonical_origin
from pipeline.base.errors import PipelineError
from pipeline.base.files import make_directory
from pipeline.base.safe_tree import open_file
from pipeline.cli.assembly import locate_task
from pipeline.cli.batches import NAME as BATCHES
from pipeline.cli.batches import Batch, read_batches
from pipeline.cli.list import current_entries
from pipeline.cli.output import rewrite_commands
from pipeline.cli.task_factory import safe_name
from pipeline.cli.web.commands import start_command
from pipeline.cli.web.exchange import HtmlPage, PageRequest, SeeOther, Site, Upload
from pipeline.cli.web.watch import Newest, file_signature, list_signature
from pipeline.engine.catalog import Catalog, CatalogEntry, TaskList
from pipeline.engine.phase import TYPED
from pipeline.engine.stamps import PENDING, RUNNING
from pipeline.engine.store import TaskStore

_ON_A_PAGE = 25
_FILTERS = {
    "all": (),
    "running": ("running",),
    "waiting": ("paused",),
    "unfinished": ("incomplete", "error", "interrupted", "cancelled"),
    "done": ("completed", "warning"),
}
_FIRST = {"running": 0, "paused": 1}
STOPPED = "stopped"
_UPLOADS = ".uploads"
_LONGEST_WORDS = 20_000
_JOBS = 2
_MOST_BATCHES, _MOST_ADDED = 5, 200
_entries: Newest[list[CatalogEntry]] = Newest(1)
_kept_batches: Newest[list[Batch]] = Newest(1)
_facts: Newest[dict[str, Any]] = Newest(2000)


def show_tasks(site: Site, request: PageRequest) -> HtmlPage:
    """Show the page with the tasks that the query selects."""
    return HtmlPage("tasks.html", {**_choose_rows(site, request.query), "models": _known_models(site)})


def show_rows(site: Site, request: PageRequest) -> HtmlPage:
    """Show the part of the page that changes."""
    return HtmlPage("task_rows.html", _choose_rows(site, request.query))


def _choose_rows(site: Site, query: Mapping[str, str]) -> dict[str, Any]:
    listing = site.listing()
    kept = _entries.get(site.folder, list_signature(site.folder), lambda: _list_entries(listing, site.folder))
    entries = _look_again(kept, site.folder)
    batches = _list_batches(site, entries)
    batch = next((one for one in _batches(site) if one.mark == query.get("batch")), None)
    if batch:
        entries = [entry for entry in entries if entry.source in set(batch.sources)]
    counts = Counter(entry.status for entry in entries)
    chosen = query.get("show", "all") if query.get("show", "all") in _FILTERS else "all"
    words = query.get("find", "").casefold().split()
    found = [
        entry
        for entry in entries
        if (not _FILTERS[chosen] or entry.status in _FILTERS[chosen])
        and all(word in f"{entry.id} {entry.source} {entry.reason}".casefold() for word in words)
    ]
    number = query.get("page", "1")
    pages = max(1, -(-len(found) // _ON_A_PAGE))
    page = min(max(1, int(number)), pages) if number.isdecimal() and len(number) < 7 else 1
    rows = [describe_entry(site, entry) for entry in found[(page - 1) * _ON_A_PAGE : page * _ON_A_PAGE]]
    return {
        "rows": rows,
        "usd": sum(row["usd"] for row in rows),
        "counts": {name: sum(counts[one] for one in of) if of else len(entries) for name, of in _FILTERS.items()},
        "show": chosen,
        "find": query.get("find", ""),
        "page": page,
        "pages": pages,
        "found": len(found),
        "damages": listing.damages,
        "batches": [] if batch else batches,
        "batch": batch,
    }


def _list_entries(listing: TaskList, folder: str) -> list[CatalogEntry]:
    """Return every existing task: running ones first, then those that wait, then the newest."""
    entries = [one for one in reversed(current_entries(listing, folder)) if one.status != "gone"]
    return sorted(entries, key=_rank)


def _rank(entry: CatalogEntry) -> int:
    return _FIRST.get(entry.status, 2)


def _look_again(entries: Sequence[CatalogEntry], folder: str) -> list[CatalogEntry]:
    """Return the entries again, corrected for processes that were killed since."""
    running = {entry.id: entry for entry in entries if entry.status == "running"}
    now = {entry.id: entry for entry in current_entries(TaskList(running, [], []), folder)}
    return sorted((now.get(entry.id, entry) for entry in entries), key=_rank) if running else [*entries]


def describe_entry(site: Site, entry: CatalogEntry) -> dict[str, Any]:
    """Describe a task for the list, or that it is damaged."""
    root = os.path.join(site.folder, entry.id)
    signature = tuple(
        file_signature(os.path.join(root, name))
        for name in ("state.jsonl", "state.json", "report.json", "logs/llm.jsonl")
    )
    facts = _facts.get(root, signature, lambda: _read_facts(site, root))
    waits = any(name == "plan_review" and state == STOPPED for _, name, state in facts["bar"])
    waits = waits and entry.status == "paused"
    running = ", ".join(f"{number} {name}" for number, name, state in facts["bar"] if state == RUNNING)
    reason = running if entry.status == "running" else rewrite_commands(locate_task(entry.reason, root))
    return {**entry._asdict(), **facts, "waits": waits, "reason": reason}


def _read_facts(site: Site, root: str) -> dict[str, Any]:
    try:
        store = site.open_root(root)
        report = store.load("report.json") if store.exists("report.json") else {}
        return {
            "title": read_title(store),
            "bar": describe_bar(store, report),
            "usd": sum_rows(rows_by_now(store.path("logs/llm.jsonl")))["usd"],
            "evidence": count_requirements(report),
            "damaged": "",
        }
    except PipelineError as error:
        return {"title": "", "bar": [], "usd": 0.0, "evidence": {}, "damaged": str(error)}


def read_title(store: TaskStore) -> str:
    """Return the paper's title or the typed words; empty before it is read."""
    if store.exists("outline.json") and (title := str(store.load("outline.json").get("title") or "")):
        return title
    source = str(store.load("task.json")["source"])
    return source.removeprefix(TYPED)[:200] if source.startswith(TYPED) else os.path.basename(source)


def describe_bar(store: TaskStore, report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return number, name and state of each phase of the task."""
    settings = store.load("task.json")["settings"]
    phases = [phase for phase in store.graph.phases if phase.is_selected(settings) or phase.number in store.stamps]
    states = {number: stamp.status for number, stamp in store.stamps.items()}
    at_work = RUNNING in states.values()
    ended = {row["number"]: row["status"] for row in report.get("phases", ())} if not at_work else {}
    return [(phase.number, phase.name, states.get(phase.number, ended.get(phase.number, PENDING))) for phase in phases]


def count_requirements(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a report's requirements; empty before there is code."""
    found = report.get("requirements") or {}
    return dict(found) if found.get("total") else {}


def _known_models(site: Site) -> Sequence[str]:
    from phases.llm.providers import PROVIDERS  # imported here: only this form needs it

    return sorted({"offline", site.settings.model, *(f"{name}:" for name in PROVIDERS)})


def begin_run(site: Site, request: PageRequest) -> SeeOther | HtmlPage:
    """Start `run` on what was sent, `run` on an arXiv id, or `chat` on words."""
    form, typed = request.form, " ".join(request.form.get("source", "").split())[:_LONGEST_WORDS]
    if request.uploads:
        source = _keep_uploads(site, request.uploads)
        command = ["run", source] if len(request.uploads) == 1 else ["batch", source, f"--jobs={_JOBS}"]
    elif _is_arxiv(typed):
        source = canonical_origin(typed)
        command = ["run", source]
    elif any(character.isalnum() for character in typed):
        source = TYPED + typed
        command = ["chat"]
    else:
        return SeeOther("/", "Nothing was started: choose a file, or type an arXiv id, or what is to be built.")
    command += ["--fast" if form.get("mode", "fast") == "fast" else "--full", f"--tasks-dir={site.folder}"]
    command += [f"--review={'auto' if form.get('review') == 'auto' else 'file'}"]
    command += [
        f"--{name.replace('_', '-')}={form[name].strip()}"
        for name in ("model", "max_usd")
        if form.get(name, "").strip()
    ]
    ended = start_command([*command, *(["--", typed] if command[0] == "chat" else [])])
    if command[0] == "batch" and ended.code is None:
        return SeeOther(
            "/", f"{len(request.uploads)} files were sent; the papers among them appear here as they are begun."
        )
    if ended.code not in (None, 0, 3, 5) and not _find_task(site, source):
        return SeeOther("/", ended.text or f"The command ended with {ended.code}.")
    task = _find_task(site, source)
    return SeeOther(f"/t/{task}" if task else "/", "" if task else "It was started; its task will appear here.")


def _is_arxiv(typed: str) -> bool:
    """Return whether it is the id of a paper. No path and no other address of a client is ever opened."""
    return " " not in typed and not os.path.lexists(typed) and canonical_origin(typed).startswith("arXiv:")


def _find_task(site: Site, source: str) -> str:
    """Return the newest task of a source."""
    entries = Catalog(site.folder).read().entries.values()
    return next((entry.id for entry in reversed([*entries]) if entry.source == source), "")


def _keep_uploads(site: Site, uploads: Sequence[Upload]) -> str:
    """Put files beside the tasks, under their digest and safe names; the same again is the same task. Returns the path of one
    file, or the directory of many."""
    digests = [_digest_file(upload.file) for upload in uploads]
    is_one = len(uploads) == 1
    together = digests[0] if is_one else hashlib.sha256("".join(digests).encode()).hexdigest()
    top, slash, _ = uploads[0].name.replace("\\", "/").partition("/")
    inside = [] if is_one else [safe_name(top) if slash else f"{len(uploads)}-files"]
    folder = site.folder
    make_directory(folder)
    for name in (_UPLOADS, together[:16], *inside):
        folder = os.path.join(folder, name)
        make_directory(folder)
    paths: dict[str, str] = {}
    for upload, digest in zip(uploads, digests, strict=True):
        name = safe_name(os.path.basename(upload.name.replace("\\", "/")))
        name = name if paths.get(name, digest) == digest else f"{digest[:8]}-{name}"
        paths[name] = digest
        unfinished = os.path.join(folder, f".{name}.{get_native_id()}")
        with open_file(unfinished, "wb") as file:
            shutil.copyfileobj(upload.file, file)
        os.replace(unfinished, os.path.join(folder, name))
    return os.path.join(folder, *paths) if is_one else folder


def _digest_file(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    file.seek(0)
    return digest.hexdigest()


def _list_batches(site: Site, entries: Sequence[CatalogEntry]) -> list[dict[str, Any]]:
    """Return the newest batches, each with the results and costs of its papers."""
    by_source: dict[str, list[CatalogEntry]] = {}
    for entry in entries if _batches(site) else ():
        by_source.setdefault(entry.source, []).append(entry)
    rows = []
    for batch in _batches(site)[:_MOST_BATCHES]:
        own = [one for source in batch.sources for one in by_source.get(source, ())]
        counts = Counter(entry.status for entry in own)
        is_small = len(own) <= _MOST_ADDED
        rows.append(
            {
                "name": batch.name,
                "mark": batch.mark,
                "at": batch.at,
                "papers": len(batch.sources),
                "counts": sorted(counts.items()),
                "usd": sum(describe_entry(site, entry)["usd"] for entry in own) if is_small else None,
            }
        )
    return rows


def _batches(site: Site) -> list[Batch]:
    signature = file_signature(os.path.join(site.folder, BATCHES))
    return _kept_batches.get(site.folder, signature, lambda: read_batches(site.folder))
