"""Page of a plan: each row next to its page of the paper, to be removed, added to, changed, approved or rejected."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from phases.pages.plan_page import Reviewed, describe_figure, describe_plan
from phases.planning.quotes import quote_of
from phases.readers.page_pictures import Picture, QuotePlace
from pipeline.cli.plan_versions import PLAN, compare_versions
from pipeline.cli.review import find_doubts, plan_standing
from pipeline.cli.review_packages import note_data, note_packages
from pipeline.cli.review_page import draw_sheet, find_source, locate_rows
from pipeline.cli.web.commands import run_command_to_end, start_command
from pipeline.cli.web.exchange import HtmlPage, NotThere, PageRequest, SeeOther, Site, WebFile
from pipeline.cli.web.overview_page import head_of, last_words
from pipeline.cli.web.watch import Newest, file_signature
from pipeline.engine.store import TaskStore

Row = Mapping[str, Any]
_FIELDS = {
    "R": ("text",),
    "V": ("name", "value", "owner", "condition"),
    "C": ("name", "what"),
    "E": ("row", "column", "value"),
    "X": ("what",),
}
"""Editable fields of a row, by the letter of its id; the file itself takes every change."""
_LISTS = {"R": "requirements", "V": "values", "C": "components", "E": "expected_results", "X": "experiments"}
_ID = re.compile(r"[RVCEX][0-9]{1,5}")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
_OLD = 60
_looking = threading.Lock()
_pictures: Newest[Picture | None] = Newest(200)
_places: Newest[Mapping[str, Sequence[QuotePlace]]] = Newest(50)
_notes: Newest[list[str]] = Newest(200)


def show_plan(site: Site, request: PageRequest) -> HtmlPage:
    store = site.open(request.route["task"])
    head = head_of(site, store)
    if not store.exists(PLAN):
        return HtmlPage("nothing.html", {**head, "tab": "plan", "told": "There is no plan yet: phase 05 writes it."})
    plan, difference = store.load(PLAN), compare_versions(store)
    shown = Reviewed(
        plan,
        store.load("paper.md"),
        store.digest(PLAN) or "",
        plan_standing(store)["standing"],
        "",
        find_doubts(store),
        difference[1],
        is_drawn_later=bool(find_source(store)),
    )
    values = {
        **head,
        **describe_plan(shown),
        "notes": [*_note_packages(store), *note_data(store)],
        "has_pictures": shown.is_drawn_later,
        "editable": True,
        "fields_of": list_fields,
    }
    return HtmlPage("plan.html", values)


def _note_packages(store: TaskStore) -> list[str]:
    """Describe the packages, at most once a minute: that takes a process."""
    signature = (store.digest(PLAN), int(time.monotonic()) // _OLD)
    return _notes.get(store.root, signature, lambda: note_packages(store))


def list_fields(row: Row) -> list[tuple[str, str]]:
    """Return the editable fields of a row, as a user types them."""
    return [(name, _as_typed(row, name)) for name in _FIELDS[row["id"][0]]]


def _as_typed(row: Row, field: str) -> str:
    value = row.get("values") if field == "value" and "values" in row else row.get(field)
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "" if value is None else str(value)


def show_figure(site: Site, request: PageRequest) -> HtmlPage:
    """Show a page of the paper as a picture, with the rows' quotes marked."""
    store = site.open(request.route["task"])
    page, source, picture = _find_picture(store, request)
    if not store.exists(PLAN):
        raise NotThere("There is no plan yet: phase 05 writes it.")
    digest, plan = store.digest(PLAN) or "", store.load(PLAN)
    places = _find_places(source, digest, plan)
    own = [row["id"] for row in (*plan["requirements"], *plan.get("values", ())) if row["source"]["page"] == page]
    lost = [name for name in own if not places.get(name) and _has_quote(plan, name)]
    shown = Reviewed(plan, store.load("paper.md"), digest, "", "", pictures={page: picture}, places=places)
    address = f"/t/{store.id}/sheet/{page}?v={_mark_of(source)}"
    return HtmlPage("figure.html", {"figure": {**describe_figure(shown, page), "src": address, "lost": lost}})


def _has_quote(plan: Row, name: str) -> bool:
    return any(row["id"] == name and quote_of(row) for row in (*plan["requirements"], *plan.get("values", ())))


def show_sheet(site: Site, request: PageRequest) -> WebFile:
    """Send the picture of a page."""
    _, _, picture = _find_picture(site.open(request.route["task"]), request)
    return WebFile(picture.png, "image/png", lasts="v" in request.query)


def _find_picture(store: TaskStore, request: PageRequest) -> tuple[int, str, Picture]:
    """Return the page that a route names, its PDF, and its picture. Raises NotThere if the paper has no such page."""
    number, source = request.route["page"], find_source(store)
    pages = store.load("paper.md").front["pages"] if source and store.exists("paper.md") else 0
    is_page = number.isascii() and number.isdecimal() and len(number) < 7 and 1 <= int(number) <= pages
    picture = _draw(source, int(number)) if is_page else None
    if picture is None:
        raise NotThere("This page has no picture.")
    return int(number), source, picture


def _mark_of(source: str) -> str:
    return "-".join(map(str, file_signature(source)))


def _draw(source: str, page: int) -> Picture | None:
    with _looking:  # pages ask for their pictures all at once, and each costs a process
        return _pictures.get((source, page), file_signature(source), lambda: draw_sheet(source, page))


def _find_places(source: str, digest: str, plan: Row) -> Mapping[str, Sequence[QuotePlace]]:
    with _looking:
        return _places.get(source, (file_signature(source), digest), lambda: locate_rows(source, plan))


def decide(site: Site, request: PageRequest) -> SeeOther:
    """Apply the form by `review`, to the very plan that the form was made of."""
    store, form = site.open(request.route["task"]), request.form
    here, digest = f"/t/{store.id}/plan", form.get("digest", "")
    if not _DIGEST.fullmatch(digest):
        raise NotThere("The form names no plan.")
    flags = _flags_of(store, form)
    if not flags:
        return SeeOther(here, "Nothing was changed.")
    ended = run_command_to_end(["review", store.root, f"--plan={digest}", *flags])
    place = f"#{form['id']}" if ended.code == 0 and form.get("id") else ""
    if ended.code or form.get("action") not in ("approve", "request"):
        return SeeOther(here + place, last_words(ended))
    begun = start_command(["resume", store.root])
    failed = begun.code not in (None, 0, 3, 5)
    return SeeOther(f"/t/{store.id}", f"{last_words(ended)}\n{last_words(begun)}" if failed else "")


def _flags_of(store: TaskStore, form: Mapping[str, str]) -> list[str]:
    """Return the options of `review` that a form requests; none without a change."""
    action, identifier, text = form.get("action", ""), form.get("id", ""), form.get("text", "").strip()
    if action in ("approve", "reject"):
        return [f"--{action}"]
    if action == "request" and text:
        return [f"--change={text}"]
    if action == "add" and text:
        return ["--add", "value" if form.get("kind") == "value" else "requirement", text]
    if action in ("strike", "set") and not _ID.fullmatch(identifier):
        raise NotThere("There is no such row.")
    if action == "strike":
        return [f"--strike={identifier}"]
    if action == "set":
        rows = store.load(PLAN).get(_LISTS[identifier[0]], ())
        before = dict(list_fields(next((row for row in rows if row["id"] == identifier), {"id": identifier})))
        typed = {name: form[f"field.{name}"].strip() for name in before if f"field.{name}" in form}
        return [f"--set={identifier}.{name}={value}" for name, value in typed.items() if value != before[name].strip()]
    return []
