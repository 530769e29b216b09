"""Two runs of the same paper differ in nothing but what their schemas call volatile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import ContractError
from pipeline.engine.contract import Contracts, schema_name
from tests.papers import EXAMPLE, Command, paper

NOT_DOCUMENTS = ("logs/", ".lock")


def steady(value: Any, rule: dict[str, Any], schema: dict[str, Any]) -> Any:
    """The value without what its schema calls volatile."""
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        known, others = rule.get("properties", {}), rule.get("additionalProperties")
        rules = {name: known.get(name, others if isinstance(others, dict) else {}) for name in value}
        return {name: steady(value[name], of, schema) for name, of in rules.items() if not of.get("volatile")}
    if isinstance(value, list):
        return [steady(item, rule.get("items", {}), schema) for item in value]
    return value


def documents(task: Path) -> dict[str, Any]:
    """Every file of a task, JSON documents without what is volatile."""
    contracts = Contracts()
    found: dict[str, Any] = {}
    for path in sorted(task.rglob("*")):
        name = str(path.relative_to(task))
        if not path.is_file() or name.startswith(NOT_DOCUMENTS):
            continue
        data = path.read_bytes().replace(str(task).encode(), b"<task>")
        found[name] = data
        if name == "hooks/events.jsonl":
            rows = [json.loads(line) for line in data.splitlines()]
            found[name] = [{key: row[key] for key in row if key not in ("at", "duration_ms")} for row in rows]
        elif name.endswith("events.jsonl"):
            schema = contracts.schema("supervisor-event.json")
            found[name] = [steady(json.loads(line), schema, schema) for line in data.splitlines()]
        if name.endswith(".json"):
            try:
                schema = contracts.schema(schema_name(name))
            except ContractError:
                continue  # a file of a folder document: compared byte by byte
            found[name] = steady(json.loads(data), schema, schema)
    return found


def without_digests_of(names: set[str], state: dict[str, Any]) -> dict[str, Any]:
    """state.json without the digests of documents that hold something volatile."""
    phases = {
        number: {
            **row,
            **{side: {name: digest for name, digest in row[side].items() if name not in names}
               for side in ("read", "written")},
        }
        for number, row in state["phases"].items()
    }  # fmt: skip
    return {**state, "phases": phases}


@pytest.mark.parametrize("mode", [pytest.param("--fast", marks=pytest.mark.slow), "--full"])
@pytest.mark.parametrize("kind", [pytest.param("a PDF", marks=pytest.mark.slow), "Markdown"])
def test_two_runs_give_the_same_documents(mode: str, kind: str, tmp_path: Path) -> None:
    source = EXAMPLE if kind == "a PDF" else paper(tmp_path)
    found = []
    for name, seed, zone in (("one", "1", "UTC"), ("two", "22", "Asia/Tokyo")):
        (tmp_path / name).mkdir()
        command = Command(tmp_path / name, PYTHONHASHSEED=seed, TZ=zone)
        assert command("run", mode, source).code == 3
        found.append((command.task("paper"), documents(command.task("paper"))))
    (one_root, one), (two_root, two) = found
    assert one.keys() == two.keys()
    assert len(one) > 25
    differing = {name for name in one if (one_root / name).read_bytes() != (two_root / name).read_bytes()}
    one["state.json"] = without_digests_of(differing, one["state.json"])
    two["state.json"] = without_digests_of(differing, two["state.json"])
    assert [name for name in one if one[name] != two[name]] == []
    assert differing <= {"task.json", "state.json", "report.json", "environment.json", "plan_review.json", "acceptance.json",
                         "implementation.json", "kernel/supervisor-events.jsonl", "hooks/events.jsonl"}  # fmt: skip


def test_a_redo_gives_the_same_documents_again(tmp_path: Path) -> None:
    command = Command(tmp_path)
    source = paper(tmp_path)
    command("run", "--fast", source)
    before = documents(command.task("paper"))
    assert command("run", source, "--redo", "acquire").code == 3
    after = documents(command.task("paper"))
    steady_ones = [name for name in before if name.endswith((".md", ".py", ".txt", "outline.json", "journal.jsonl"))]
    assert len(steady_ones) > 15
    before["journal.jsonl"] = (
        before["journal.jsonl"].replace(b'"run": 1', b'"run": 2').replace(b'"first": true', b'"first": false')
    )  # it was begun twice, and says so
    assert [name for name in steady_ones if before[name] != after[name]] == []
