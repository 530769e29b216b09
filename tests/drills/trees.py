"""What a run leaves behind, as a value that can be compared: all but the clock, the logs and the locks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.engine.contract import BUILT_IN, Contracts
from pipeline.engine.stamps import read_state
from tests.drills.ground import Ground

_PASSED_OVER = (".lock", ".tasks.jsonl.lock", "system.jsonl", "events.jsonl")
_VOLATILE = "(volatile)"
_EVENTS = "supervisor-events.jsonl"
_OF_A_RESUME = "checkpoint_resumed"
_OF_A_LINE = ("seq", "ts", "executionMode")
"""Of a line of the event log: its number and its time, and the execution mode, which a resume makes another one."""


def tree_of(ground: Ground) -> dict[str, Any]:
    """Every file and folder that the drill's commands could have written, by path."""
    found: dict[str, Any] = {}
    for top in (ground.work, ground.home):
        for folder, folders, names in os.walk(top):
            folders[:] = [
                name for name in folders if not name.startswith("generate_code.interrupted")
            ]  # what a kill left
            for name in sorted([*folders, *names]):
                path = Path(folder, name)
                if name not in _PASSED_OVER:
                    found[str(path.relative_to(ground.base))] = _content(path, ground)
    # A run that nothing happens to has no event log, and a resumed one has one that tells of the resume alone.
    return {path: content for path, content in found.items() if content or not path.endswith(_EVENTS)}


def differences(tree: Mapping[str, Any], reference: Mapping[str, Any]) -> list[str]:
    """In words, in what a tree is not the reference."""
    told = [f"{path} is missing" for path in reference if path not in tree]
    told += [f"{path} should not be there" for path in tree if path not in reference]
    for path in tree:
        if path in reference and tree[path] != reference[path]:
            told.append(f"{path} is {_first_difference(tree[path], reference[path])}")
    return told


def half_written(ground: Ground) -> list[str]:
    """Documents that are neither the old nor the new version: empty, or cut off. What is still a .tmp does not count."""
    told = []
    for path in sorted(ground.task.rglob("*.json")) if ground.task.is_dir() else []:
        if not (path.name.startswith(".") and path.name.endswith(".tmp")):
            try:
                json.loads(path.read_bytes())
            except ValueError as error:
                told.append(f"{path.name} is half written: {error}")
    return told


def attempts_of_done(ground: Ground) -> dict[str, int]:
    """How often each phase ran that its stamp calls done: nothing may make one of these run again."""
    stamps = read_state(str(ground.task), Contracts()) if ground.task.exists() else {}
    return {number: stamp.attempts for number, stamp in stamps.items() if stamp.status in ("done", "skipped")}


def _content(path: Path, ground: Ground) -> Any:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    if path.is_dir():
        return "folder"
    data = path.read_bytes()
    if path.name == "tasks.jsonl":
        return _last_words(data)
    if path.name == "llm.jsonl":
        return [{**json.loads(line), "at": _VOLATILE, "seconds": _VOLATILE} for line in data.splitlines()]
    if path.name == "journal.jsonl":
        return [row for line in data.splitlines() if (row := _journal_row(json.loads(line)))]
    if path.name == _EVENTS:
        return _without_resumes([json.loads(line) for line in data.splitlines()])
    if path.name in _OF_THE_KERNEL:
        return _OF_THE_KERNEL[path.name](json.loads(data))
    if path.suffix == ".json" and (schema := _schema(path, ground)):
        value = _strip(json.loads(data), schema, schema)
        return _known_digests(value, path.parent) if path.name == "state.json" else value
    return data.decode("utf-8", "backslashreplace")


def _last_words(data: bytes) -> dict[str, Any]:
    """The catalog: a task's last line is what holds."""
    rows = [json.loads(line) for line in data.splitlines()]
    return {row["id"]: {**row, "at": _VOLATILE} for row in rows}


def _journal_row(row: dict[str, Any]) -> dict[str, Any] | None:
    """A line of the journal, without what commands printed: it tells how long they took. None for a line of a resume.

    A supervised run that goes on notes that it was resumed. What else such a line says (a limit, other settings, a takeover
    that was asked for) every run must note, so that stays.
    """
    result = row.get("result") or {}
    if row["kind"] == "facts":
        result.pop("resumed", None)
        return row if result else None
    for command in (result.get("verification") or {}).get("commands") or []:
        command["tail"] = _VOLATILE
    return row


def _without_resumes(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The event log, without the resume and what it does to L1, whose lines are the switches: it forces the mode for a spell.

    What L2 decided stays, line by line: takeovers, recoveries, hints, handoffs, stops.
    """
    return [
        {name: value for name, value in line.items() if name not in _OF_A_LINE}
        for line in lines
        if line["reason"] != _OF_A_RESUME and line["event"] != "switch"
    ]


def _kernel_report(report: dict[str, Any]) -> dict[str, Any]:
    """kernel-report.json: a resume moves rounds from the one execution mode to the other; all rounds together stay."""
    rounds = report["modeRounds"]
    return {**report, "modeRounds": rounds["free"] + rounds["forced"], "modeSwitches": _VOLATILE}


def _checkpoint(data: dict[str, Any]) -> dict[str, Any]:
    """kernel/checkpoint.json, without what a resume clears (signals that were seen) or adds (its row), and without what counts
    in forced mode alone: L1 itself, the budget of branches, the lines since it was left, and how the graph judges.
    """
    state = data["supervisorState"]
    counts, ledger, graph = state["counts"], state["ledger"], state["graph"]
    counts = {**counts, "freeRounds": counts["freeRounds"] + counts["forcedRounds"]}
    left_out = {
        "mode": _VOLATILE,
        "budget": _VOLATILE,
        "observer": {**state["observer"], "live": _VOLATILE},
        "counts": {**counts, "forcedRounds": _VOLATILE, "modeSwitches": _VOLATILE},
        "ledger": {**ledger, "diffLines": _VOLATILE},
        "graph": graph,
    }
    return {
        **data,
        "journalRows": _VOLATILE,
        "supervisorState": {**state, **left_out},
    }


_OF_THE_KERNEL = {"kernel-report.json": _kernel_report, "checkpoint.json": _checkpoint}


def _schema(path: Path, ground: Ground) -> dict[str, Any] | None:
    name = path.name.split(".", 1)[0] + ".schema.json"
    for folder in (Path(ground.phases, "schemas"), Path(BUILT_IN)):
        if (folder / name).is_file():
            schema = json.loads((folder / name).read_bytes())
            assert isinstance(schema, dict)
            return schema
    return None


def _strip(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """The value, with every field that its schema calls volatile put out of the comparison."""
    if "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if schema.get("volatile"):
        return _VOLATILE
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            key: _strip(item, known.get(key) or (others if isinstance(others, dict) else {}), root)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_strip(item, schema.get("items", {}), root) for item in value]
    return value


def _known_digests(state: dict[str, Any], task: Path) -> dict[str, Any]:
    """Stamps in which a digest that is the file's own says so: the digest of a time of day is not comparable."""
    for stamp in state["phases"].values():
        for which in ("read", "written"):
            stamp[which] = {
                name: "as on the disk" if digest == _digest(task / name) else digest
                for name, digest in stamp[which].items()
            }
    return state


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _first_difference(value: Any, wanted: Any, at: str = "") -> str:
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in {**wanted, **value}:
            if value.get(key) != wanted.get(key):
                return _first_difference(value.get(key), wanted.get(key), f"{at}.{key}")
    if isinstance(value, list) and isinstance(wanted, list) and len(value) == len(wanted):
        at_first = next(index for index, pair in enumerate(zip(value, wanted, strict=True)) if pair[0] != pair[1])
        return _first_difference(value[at_first], wanted[at_first], f"{at}[{at_first}]")
    return f"not as it should be at {at or 'its top'}: {str(value)[:200]!r}, and not {str(wanted)[:200]!r}"
