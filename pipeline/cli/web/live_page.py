"""Page of an agent at work: its turns as they come, their costs, and on top the failing check."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.attempt_report import describe_attempt, read_attempts
from phases.acceptance.stop_reasons import describe_reason
from phases.llm.journal import read_journal_lines
from phases.pages.supervisor_page import describe_supervision, read_view
from pipeline.base.safe_tree import read_beneath
from pipeline.base.text_escaping import bound_text
from pipeline.cli.assembly import command_name
from pipeline.cli.cost import sum_costs
from pipeline.cli.supervisor import schema_check
from pipeline.cli.web.exchange import HtmlPage, PageRequest, Site
from pipeline.cli.web.overview_page import head_of
from pipeline.cli.web.watch import Newest, file_signature
from pipeline.engine.lock import holder_of
from pipeline.engine.store import TaskStore

_JOURNAL, _WORDS, _EVENTS = "journal.jsonl", "logs/words.jsonl", "kernel/supervisor-events.jsonl"
_SHOWN = 40
_LONGEST, _LAST_WORDS, _LARGEST_WORDS = 6000, 8, 4 << 20
_MAIN_ARGUMENTS = ("command", "file_path", "path", "pattern", "query", "question", "description")
Row = Mapping[str, Any]


class _Told(NamedTuple):
    """Content of a journal for the page."""

    turns: Sequence[Row]
    attempts: Sequence[Row]


_kept: Newest[_Told] = Newest(16)
_views: Newest[Mapping[str, Any] | None] = Newest(16)


def show_live(site: Site, request: PageRequest) -> HtmlPage:
    """Show the page with the last turns, or with all of them if the query says so."""
    store = site.open(request.route["task"])
    head = head_of(site, store)
    if not store.exists(_JOURNAL):
        told = "The agent has not begun: phase 09 follows the approved plan."
        return HtmlPage("nothing.html", {**head, "tab": "live", "told": told})
    turns = _told(store).turns
    first = 0 if request.query.get("all") else max(0, len(turns) - _SHOWN)
    return HtmlPage("live.html", {**head, **_state(store), **_since(store, turns, first), "earlier": first})


def show_turns(site: Site, request: PageRequest) -> HtmlPage:
    """Show the turns after those that a page has."""
    store, after = site.open(request.route["task"]), request.query.get("after", "0")
    first = int(after) if after.isdecimal() and len(after) < 8 else 0
    return HtmlPage("turns.html", {"task": store.id, **_since(store, _told(store).turns, first)})


def show_state(site: Site, request: PageRequest) -> HtmlPage:
    """Show the part above the turns."""
    store = site.open(request.route["task"])
    return HtmlPage("live_state.html", {**head_of(site, store), **_state(store), "part": True})


def _since(store: TaskStore, turns: Sequence[Row], first: int) -> dict[str, Any]:
    """Return the turns from there on; the last one apart while it runs, because it will be shown again."""
    whole = [turn for turn in turns if turn["whole"]]
    return {
        "turns": whole[first:],
        "after": len(whole),
        "at_work": [turn for turn in turns if not turn["whole"]],
        "words": _last_words(store),
    }


def _state(store: TaskStore) -> dict[str, Any]:
    (turns, attempts), total = _told(store), sum_costs(store)["total"]
    last = attempts[-1] if attempts else None
    failing = [hook for hook in (last or {}).get("hooks", ()) if hook.get("status") not in ("pass", None)]
    todos: list[Any] = next(
        (call["todos"] for turn in reversed(turns) for call in reversed(turn["calls"]) if call["todos"]), []
    )
    return {
        "total": total,
        "newest": turns[-1] if turns else None,
        "attempts": [{**one, "told": describe_attempt(one)} for one in attempts],
        "failing": failing,
        "todos": todos,
        "supervision": _read_supervision(store),
    }


def _read_supervision(store: TaskStore) -> Mapping[str, Any] | None:
    """Return the supervisor's actions and messages, as its own page shows them, or None."""
    running = holder_of(store.root) is not None
    signature = (running, *(file_signature(store.path(name)) for name in (_EVENTS, "kernel-report.json")))

    def read() -> Mapping[str, Any] | None:
        view = read_view(store.root, store.id, schema_check(store), running=running)
        return None if view.empty else describe_supervision(view, command_name(store))

    return _views.get(store.root, signature, read)


def _told(store: TaskStore) -> _Told:
    path = store.path(_JOURNAL)
    return _kept.get(path, file_signature(path), lambda: _read_journal(path))


def _read_journal(path: str) -> _Told:
    rows = [row for _, row in read_journal_lines(path)] if os.path.lexists(path) else []
    return _Told(_read_turns(rows), read_attempts(rows[1:]))


def _read_turns(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the turns of a journal: the model's text, its calls with results, and acceptance."""
    turns: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    for row in rows:
        key, result = row.get("key", {}), row.get("result", {})
        if row["kind"] == "reply":
            own = [_describe_call(call) for call in result["calls"]]
            calls |= {call["id"]: call for call in own}
            spent = {name: result[name] for name in ("tokens_in", "tokens_out", "usd", "model", "about", "outcome")}
            turns.append({"turn": key["turn"], "text": result.get("text", ""), "calls": own, "notes": [], **spent})
        elif row["kind"] == "result" and key["call"] in calls:
            calls[key["call"]].update(result=bound_text(result["text"], _LONGEST), failed=result["failed"])
        elif turns and (note := _note_in(row)):
            turns[-1]["notes"].append(note)
    ended = bool(rows) and rows[-1]["kind"] in ("ending", "stop")
    for number, turn in enumerate(turns, 1):
        # a turn without calls is whole when acceptance has spoken, and another turn or the end has come
        open_calls = any(call["result"] is None for call in turn["calls"])
        turn["whole"] = number < len(turns) or ended or (bool(turn["calls"]) and not open_calls)
    return turns


def _describe_call(call: Row) -> dict[str, Any]:
    arguments = call["arguments"]
    main = next((str(arguments[name]) for name in _MAIN_ARGUMENTS if arguments.get(name)), "")
    rest = {name: value for name, value in arguments.items() if str(value) != main}
    return {
        "id": call["id"],
        "name": call["name"],
        "main": " ".join(main.split())[:300],
        "change": _describe_change(call["name"], arguments),
        "todos": arguments.get("todos") if isinstance(arguments.get("todos"), list) else [],
        "rest": bound_text(json.dumps(rest, indent=1, ensure_ascii=False), _LONGEST) if rest else "",
        "result": None,
        "failed": False,
    }


def _describe_change(name: str, arguments: Row) -> list[tuple[str, str]]:
    """Return the lines that an Edit removes and adds, or those of a written file."""
    if name == "Write":
        return [("+", line) for line in bound_text(str(arguments.get("content", "")), 2 * _LONGEST).splitlines()]
    if name == "Edit":
        before, after = (str(arguments.get(key, "")).splitlines() for key in ("old_string", "new_string"))
        return [*(("-", line) for line in before[:200]), *(("+", line) for line in after[:200])]
    return []


def _note_in(row: Row) -> dict[str, Any] | None:
    """Return an event between the model's turns that a user wants to see, or None."""
    result = row["result"]
    if row["kind"] == "hook":
        passed = result["status"] == "pass"
        return {
            "what": f"check {row['key']['hook']}",
            "text": "passed" if passed else result["reason"],
            "bad": not passed,
        }
    if row["kind"] == "verdict":
        text = bound_text(result["feedback"], _LONGEST) or result["detail"] or "accepted"
        return {"what": "acceptance", "text": text, "bad": bool(result["feedback"] or result["stop"])}
    if row["kind"] == "said":
        return {"what": "supervisor", "text": bound_text("\n".join(map(str, result["texts"])), _LONGEST), "bad": False}
    if row["kind"] in ("ending", "stop"):
        why = result.get("detail") or describe_reason(str(result["stop_reason"]))
        return {"what": "end", "text": bound_text(str(why), _LONGEST), "bad": row["kind"] == "stop"}
    return None


def _last_words(store: TaskStore) -> list[tuple[str, str]]:
    """Return the model's present words; empty if no process works, or they cannot be read."""
    try:
        lines = read_beneath(store.root, _WORDS, _LARGEST_WORDS).splitlines()[-_LAST_WORDS:]
    except OSError:
        return []
    said = []
    for line in lines:
        try:
            row = json.loads(line)
            said.append((str(row["who"]), str(row["text"])))
        except (ValueError, KeyError, TypeError):  # a line that is half there
            continue
    return said
