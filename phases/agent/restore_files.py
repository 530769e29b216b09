"""Planned files that an earlier run wrote and that are gone since: written again from the journal, as they were last."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from phases.agent.tools.edit import EditError, Replacement, apply_replacement
from phases.llm.journal import Journal
from phases.llm.model import ToolCall, reply_from_json
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256


def restore_missing(journal: Journal, workspace: Workspace) -> None:
    """Writes back what is missing. A file that is there is left as it is; one that the work itself removed stays away."""
    last = {
        path: state["sha256"]
        for row in journal.rows()
        if row["kind"] == "result"
        for path, state in row["result"]["files"].items()
    }
    for path, text in _last_texts(journal).items():
        if last.get(path) == sha256(text.encode("utf-8", "replace")) and not workspace.exists(path):
            with contextlib.suppress(WorkspaceError):
                workspace.write(path, text)


def _last_texts(journal: Journal) -> dict[str, str]:
    """What Write and Edit left of each file. Edits on top of what a command made cannot be followed, and are left out."""
    texts: dict[str, str] = {}
    calls: dict[tuple[int, str], ToolCall] = {}
    for row in journal.rows():
        if row["kind"] == "reply":
            turn = row["key"]["turn"]
            calls.update({(turn, call.id): call for call in reply_from_json(row["result"]).calls})
        elif row["kind"] == "result":
            call = calls.get((row["key"]["turn"], row["key"]["call"]))
            for path in row["result"]["touched"] if call else ():
                _apply_call(texts, path, call.name if call else "", call.arguments if call else {})
    return texts


def _apply_call(texts: dict[str, str], path: str, name: str, arguments: Mapping[str, Any]) -> None:
    if name == "Write":
        texts[path] = arguments["content"]
    elif name == "Edit" and path in texts:
        replacement = Replacement(
            arguments["old_string"], arguments["new_string"], arguments.get("replace_all") or False
        )
        try:
            texts[path] = apply_replacement(texts[path], replacement)
        except EditError:
            del texts[path]
