"""Hooks that are real scripts, and the setting that mounts them: what tests of acceptance share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phases.acceptance.hook_registry import HookSetting
from phases.llm.model import Message
from tests.agents import CONTRACTS

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def item(identifier: str, command: str, **more: Any) -> dict[str, Any]:
    """One command hook at the gate, unless `more` says otherwise."""
    return {"id": identifier, "point": "accept_gate", "kind": "command", "params": {"command": command}, **more}


def mounting(*items: Mapping[str, Any], folder: Path | None = None, **more: Any) -> HookSetting:
    """The user's setting with these hooks. `more`: other fields of HookSetting, or of `hooks`."""
    fields = {name: more.pop(name) for name in ("trust_now", "most_continues", "environment") if name in more}
    own = {"hooks": {"items": [dict(row) for row in items], **more}} if items or more else {}
    assert not own or CONTRACTS.breach(CONTRACTS.schema("hooks.yaml"), own) is None
    return HookSetting(
        own,
        str(folder) if folder else "",
        lambda data: dict(CONTRACTS.parse("hooks.yaml", data, writer="you")),
        lambda value: CONTRACTS.breach(CONTRACTS.schema("trusted-workspaces.json"), value),
        **{"environment": PATH, **fields},
    )


def script(folder: Path, name: str, text: str) -> str:
    """A shell script that can be run. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def events(task: Path) -> list[dict[str, Any]]:
    """The event log of a task."""
    path = task / "hooks" / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def names_of(rows: list[dict[str, Any]], *wanted: str) -> list[str]:
    """The names of events, of those that are wanted, in order."""
    return [row["event"] for row in rows if not wanted or row["event"] in wanted]


def feedback_in(messages: list[Message]) -> list[str]:
    """The refusals that a request shows."""
    return [message.text for message in messages if "<acceptance-feedback" in message.text]
