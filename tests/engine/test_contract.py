"""Contracts: every schema is sound and closed, two validators agree on it, and a breach is told so that it can be mended."""

from __future__ import annotations

import copy
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.base.errors import ContractError
from pipeline.base.formats import compose_markdown, dump_json
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import BUILT_IN, PLACEHOLDER, Contracts, explain_breaches, fast_validator, schema_name
from pipeline.engine.phase import build_placeholder
from tests.strategies import FEW, QUICK, hostile_json, hostile_markdown, hostile_yaml, json_values

SCHEMAS = sorted(name for name in os.listdir(BUILT_IN) if name.endswith(".schema.json"))
EXAMPLES = [
    pytest.param(name, number, id=f"{name} example {number}")
    for name in SCHEMAS
    for number in range(len(Contracts().schema(name).get("examples", ())))
]

TOY: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["step", "rows"],
    "properties": {
        "step": {"type": "integer", "minimum": 0},
        "rows": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["deep"]}]},
    },
    "examples": [{"step": 1, "rows": ["a"]}],
}


@pytest.fixture
def toys(tmp_path: Path) -> Contracts:
    """Contracts with one schema of their own, for toy.json, toy.txt, toy.yaml and toy.md."""
    (tmp_path / "toy.schema.json").write_text(json.dumps(TOY))
    return Contracts((str(tmp_path),))


def schema_of(name: str) -> dict[str, Any]:
    return Contracts().schema(name)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema that is not one of its examples."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key != "examples":
                yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


# The schemas themselves


def every_part() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object inside every schema, with the schema's name."""
    return ((name, part) for name in SCHEMAS for part in parts(schema_of(name)))


def test_every_schema_is_a_valid_schema_of_the_draft_that_it_names() -> None:
    for name in SCHEMAS:
        schema = schema_of(name)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", name
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_schema_is_closed_wherever_it_lists_properties() -> None:
    for name, part in every_part():
        if "properties" in part and isinstance(part["properties"], dict) and "type" in part:
            assert part.get("additionalProperties") is False, (name, sorted(part["properties"]))


def test_no_schema_requires_what_it_does_not_describe() -> None:
    for name, part in every_part():
        if (
            isinstance(part.get("required"), list) and part.get("additionalProperties") is False
        ):  # a condition adds to one
            assert set(part["required"]) <= set(part.get("properties", ())), (name, part["required"])


def test_every_schema_says_what_it_is_for_and_shows_an_example() -> None:
    for name in SCHEMAS:
        schema = schema_of(name)
        assert schema["title"], name
        assert schema["description"].endswith("."), name
        assert schema["examples"], name


def test_no_schema_refers_to_anything_outside_itself() -> None:
    for name, part in every_part():
        assert str(part.get("$ref", "#")).startswith("#"), name
        assert "$dynamicRef" not in part, name


def test_every_pattern_of_a_schema_is_bound_at_both_ends() -> None:
    for name, part in every_part():
        if isinstance(part.get("pattern"), str):
            assert part["pattern"].startswith("^"), (name, part["pattern"])
            assert part["pattern"].endswith("$"), (name, part["pattern"])


@pytest.mark.parametrize(("name", "number"), EXAMPLES)
def test_an_example_passes_both_validators(name: str, number: int) -> None:
    schema = schema_of(name)
    example = schema["examples"][number]
    assert fast_validator(schema).is_valid(example)
    assert explain_breaches(schema, example) == []


# Two validators, one verdict


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_of(child, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@st.composite
def mutants(draw: st.DrawFn, example: Any) -> Any:
    """An example with one to three things wrong, or perhaps still right."""
    value = {"": copy.deepcopy(example)}
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(paths_of(value))[1:]))
        parent, key = at(value, path[:-1]), path[-1]
        target = parent[key]
        kind = draw(st.sampled_from(("drop", "add", "type", "value")))
        if kind == "drop" and len(path) > 1:
            del parent[key]
        elif kind == "add" and isinstance(target, dict):
            target[draw(st.sampled_from(("extra", "", "version", "status")))] = draw(json_values)
        elif kind == "add" and isinstance(target, list):
            target.append(draw(st.one_of(json_values, st.sampled_from(target) if target else st.none())))
        elif kind == "type":
            parent[key] = draw(
                st.sampled_from((None, True, False, 0, 1, 1.0, -1, 1.5, "", "x", [], {}, [{}], {"x": 1}))
            )
        else:
            parent[key] = draw(near(target))
    return value[""]


def near(target: Any) -> st.SearchStrategy[Any]:
    if isinstance(target, bool):
        return st.sampled_from((not target, int(target)))
    if isinstance(target, (int, float)):
        return st.one_of(
            st.sampled_from((target + 1, target - 1, -target, float(target), 10**40, 1e300)), st.integers()
        )
    if isinstance(target, str):
        changed = (target + "x", " " + target, target.upper(), target[:-1], "", "\u0661" + target[1:], target * 60)
        return st.one_of(st.sampled_from(changed), st.text(max_size=5))
    return json_values


def no_text_ends_in_a_newline(value: Any) -> bool:
    """Python's `$` also matches before a last newline; see the test of that below."""
    if isinstance(value, dict):
        return all(map(no_text_ends_in_a_newline, (*value, *value.values())))
    if isinstance(value, list):
        return all(map(no_text_ends_in_a_newline, value))
    return not (isinstance(value, str) and value.endswith("\n"))


@pytest.mark.parametrize("size", [FEW, pytest.param(QUICK, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize(("name", "number"), EXAMPLES)
def test_the_two_validators_agree_on_whatever_becomes_of_an_example(name: str, number: int, size: settings) -> None:
    schema = schema_of(name)
    fast = fast_validator(schema)

    @size
    @given(mutants(schema["examples"][number]).filter(no_text_ends_in_a_newline))
    def agree(value: Any) -> None:
        slow = explain_breaches(schema, value)
        assert fast.is_valid(value) == (not slow), [error.message for error in slow]

    agree()


def test_a_newline_after_the_end_does_not_slip_past_a_pattern_and_the_breach_says_where(toys: Contracts) -> None:
    with pytest.raises(ContractError) as caught:
        toys.parse("toy.json", b'{"step": 1, "rows": ["a", "b\\n"]}', writer="phase 01 toy")
    assert str(caught.value).startswith("toy.json at $.rows[1]: ")
    assert str(caught.value).endswith("(rule: pattern; written by phase 01 toy)")


# What a breach says


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        pytest.param(
            "toy.json",
            b'{"step": 1}',
            "toy.json at $: 'rows' is a required property (rule: required; written by phase 01 toy)",
            id="a key that is missing",
        ),
        pytest.param(
            "toy.json",
            b'{"step": "x", "rows": []}',
            "toy.json at $.step: 'x' is not of type 'integer' (rule: type; written by phase 01 toy)",
            id="a wrong type",
        ),
        pytest.param(
            "toy.json",
            b'{"step": -1, "rows": []}',
            "toy.json at $.step: -1 is less than the minimum of 0 (rule: minimum; written by phase 01 toy)",
            id="a number out of range",
        ),
        pytest.param(
            "toy.json",
            b'{"step": 1, "rows": ["a", "B"]}',
            "toy.json at $.rows[1]: 'B' does not match '^[a-z]+$' (rule: pattern; written by phase 01 toy)",
            id="an item of a list",
        ),
        pytest.param(
            "deep/in/toy.json",
            b'{"step": 1, "rows": [], "more": 1}',
            "deep/in/toy.json at $: Additional properties are not allowed ('more' was unexpected)"
            " (rule: additionalProperties; written by phase 01 toy)",
            id="a key too many, in a folder",
        ),
        pytest.param(
            "toy.json",
            b'{"step": 1, "rows": [], "either": {"x": 1}}',
            "toy.json at $.either: 'deep' is a required property (rule: required; written by phase 01 toy)",
            id="the nearest of two choices",
        ),
        pytest.param(
            "toy.txt",
            b"step: 1\nrows:\n  - a\n  - B\n",
            "toy.txt, line 4, column 5, at $.rows[1]: 'B' does not match '^[a-z]+$'"
            " (rule: pattern; written by phase 01 toy)",
            id="YAML, with line and column",
        ),
        pytest.param(
            "toy.yaml",
            b"step: x\nrows: []\n",
            "toy.yaml, line 1, column 7, at $.step: 'x' is not of type 'integer' (rule: type; written by phase 01 toy)",
            id="YAML by its other name",
        ),
        pytest.param(
            "toy.md",
            b"---\nstep: x\nrows: []\n---\nbody",
            "toy.md at $.step: 'x' is not of type 'integer' (rule: type; written by phase 01 toy)",
            id="front matter",
        ),
        pytest.param(
            "toy.json",
            b'{\n  "step": }',
            "toy.json, line 2, column 11: not JSON: Expecting value (written by phase 01 toy)",
            id="bytes that are not JSON",
        ),
        pytest.param(
            "toy.txt",
            b"step: &x 1\n",
            "toy.txt, line 1, column 7: anchors and aliases are not allowed (written by phase 01 toy)",
            id="bytes that are not our YAML",
        ),
        pytest.param("toy.json", b"\xff", "(written by phase 01 toy)", id="bytes that are not text"),
        pytest.param("toy.md", b"body", "toy.md, line 1, column 1: no front matter", id="no front matter"),
    ],
)
def test_a_breach_says_what_where_by_which_rule_and_who_wrote_it(
    toys: Contracts, name: str, data: bytes, message: str
) -> None:
    with pytest.raises(ContractError) as caught:
        toys.parse(name, data, writer="phase 01 toy")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_breach_by_a_huge_value_is_still_one_short_line(toys: Contracts) -> None:
    with pytest.raises(ContractError) as caught:
        toys.parse("toy.json", dump_json({"step": ["long\n" * 10_000], "rows": []}), writer="phase 01 toy")
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert " … " in str(caught.value)


def test_writing_a_breach_names_the_phase_that_tried(toys: Contracts) -> None:
    with pytest.raises(ContractError, match=r"toy\.json at \$\.step: .* written by phase 01 toy"):
        toys.serialise("toy.json", {"step": None, "rows": []}, writer="phase 01 toy")


@pytest.mark.parametrize("name", ["toy.json", "toy.txt", "toy.yaml"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param({1: 2}, id="a key that is no text"),
        pytest.param({"step": 1, "rows": {"a", "b"}}, id="a set"),
        pytest.param({"step": 1, "rows": [b"a"]}, id="bytes"),
        pytest.param({"step": 1, "rows": ["\ud800"]}, id="half a surrogate pair"),
        pytest.param({"step": float("nan"), "rows": []}, id="NaN"),
        pytest.param({"step": object(), "rows": []}, id="an object"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_is_no_document_is_a_breach_and_never_a_crash(toys: Contracts, name: str, value: object) -> None:
    with pytest.raises(ContractError, match="written by phase 01 toy"):
        toys.serialise(name, value, writer="phase 01 toy")


@pytest.mark.parametrize("name", ["toy.json", "toy.txt"])
def test_markdown_is_not_written_under_the_name_of_another_format(toys: Contracts, name: str) -> None:
    with pytest.raises(ContractError, match="toy"):
        toys.serialise(name, compose_markdown({"step": 1, "rows": ["a"]}, "body"), writer="phase 01 toy")


@pytest.mark.parametrize("name", ["toy.json", "toy.txt", "toy.yaml"])
def test_what_is_serialised_is_read_back(toys: Contracts, name: str) -> None:
    value = {"step": 1, "rows": ["a", "b"]}
    assert toys.parse(name, toys.serialise(name, value, writer="x"), writer="x") == value


def test_a_markdown_document_is_checked_by_its_front_matter_and_kept_whole(toys: Contracts) -> None:
    document = compose_markdown({"step": 1, "rows": []}, "# body\n")
    read = toys.parse("toy.md", toys.serialise("toy.md", document, writer="x"), writer="x")
    assert (read.text, dict(read.front)) == (document.text, {"step": 1, "rows": []})


@pytest.mark.parametrize(
    ("name", "hostile"),
    [
        pytest.param("state.json", hostile_json, id="JSON"),
        pytest.param("initial_plan.txt", hostile_yaml, id="YAML"),
        pytest.param("paper.md", hostile_markdown, id="Markdown"),
    ],
)
def test_any_bytes_give_a_document_or_a_breach(name: str, hostile: st.SearchStrategy[bytes]) -> None:
    contracts = Contracts()

    @QUICK
    @given(hostile)
    def parses(data: bytes) -> None:
        with pytest.raises(ContractError, match="written by a stranger"):
            contracts.parse(name, data, writer="a stranger")

    parses()


def test_depth_and_size_of_a_value_end_in_a_breach(toys: Contracts) -> None:
    for deep in (100, 250, 300, 500, 900, 100_000):
        data = b'{"step": 1, "rows": [' + b"[" * deep + b"]" * deep + b"]}"
        with pytest.raises(ContractError, match="written by x"):
            toys.parse("toy.json", data, writer="x")


# Where schemas come from


@pytest.mark.parametrize(
    ("document", "file_name"),
    [
        ("outline.json", "outline.schema.json"),
        ("document_segments/document_index.json", "document_index.schema.json"),
        ("initial_plan.txt", "initial_plan.schema.json"),
        ("paper.md", "paper.schema.json"),
        ("placeholder.schema.json", "placeholder.schema.json"),
    ],
)
def test_the_stem_of_a_document_names_its_schema(document: str, file_name: str) -> None:
    assert schema_name(document) == file_name


def test_a_document_without_a_schema_is_refused_and_the_remedy_named(toys: Contracts, tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        toys.parse("other.json", b"{}", writer="x")
    assert str(caught.value) == f"no schema governs other.json: add other.schema.json to {tmp_path}"


def test_a_schema_of_ones_own_goes_before_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "task.schema.json").write_text(json.dumps(TOY))
    assert Contracts((str(tmp_path),)).parse("task.json", b'{"step": 1, "rows": []}', writer="x")
    assert Contracts((str(tmp_path),)).schema("state.json")["title"] == "state.json"


def test_a_schema_that_does_not_parse_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "toy.schema.json").write_text('{\n"type": \n}')
    with pytest.raises(ContractError, match=r"toy\.schema\.json, line 3: not JSON"):
        Contracts((str(tmp_path),)).parse("toy.json", b"{}", writer="x")


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "no such type"}, id="an unknown type"),
        pytest.param({"pattern": "("}, id="a pattern that is none"),
        pytest.param({"$ref": "#/$defs/missing"}, id="a reference to nothing"),
        pytest.param([], id="a list"),
        pytest.param("text", id="a text"),
        pytest.param({"properties": []}, id="properties that are a list"),
    ],
)
def test_a_schema_that_is_none_is_a_contract_error(tmp_path: Path, schema: object) -> None:
    (tmp_path / "toy.schema.json").write_text(json.dumps(schema))
    with pytest.raises(ContractError, match="toy"):
        Contracts((str(tmp_path),)).parse("toy.json", b'"x"', writer="x")


@pytest.mark.parametrize("place", ["at the top", "further in", "behind a definition"])
@pytest.mark.parametrize(
    "reference",
    ["https://schemas.example.org/a.json", "http://127.0.0.1:9/a.json", "file:///a.json", "a.json", "urn:a:b"],
)
def test_a_schema_that_refers_elsewhere_is_refused_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, place: str
) -> None:
    def no_network(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a schema was fetched")

    remote = {"$ref": reference}
    schema = {
        "at the top": remote,
        "further in": {"properties": {"x": remote}},
        "behind a definition": {"$defs": {"d": remote}, "properties": {"x": {"$ref": "#/$defs/d"}}},
    }[place]
    (tmp_path / "toy.schema.json").write_text(json.dumps(schema))
    (tmp_path / "a.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    with pytest.raises(ContractError, match="toy") as caught:
        Contracts((str(tmp_path),)).parse("toy.json", b'{"x": 1}', writer="x")
    assert reference in str(caught.value)
    assert "\n" not in str(caught.value)


# Placeholders


@pytest.mark.parametrize("status", ["skipped", "failed"])
@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != PLACEHOLDER])
def test_a_placeholder_stands_only_where_the_schema_allows_it(name: str, status: str) -> None:
    document = name.replace(".schema.json", ".json")
    data = dump_json(build_placeholder(status, "fast mode leaves this phase out", "fast"))
    if schema_of(name).get("mayBePlaceholder"):
        assert Contracts().parse(document, data, writer="x")["status"] == status
    else:
        with pytest.raises(ContractError, match="written by x"):
            Contracts().parse(document, data, writer="x")


def test_a_placeholder_in_yaml_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "toy.schema.json").write_text(json.dumps({**TOY, "mayBePlaceholder": True}))
    contracts = Contracts((str(tmp_path),))
    value = build_placeholder("skipped", "fast mode leaves this phase out", "fast")
    assert contracts.parse("toy.txt", dump_yaml(value), writer="x") == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"status": "skipped"}, "'reason' is a required property", id="no reason"),
        pytest.param({"status": "skipped", "reason": "", "mode": "fast"}, "$.reason", id="an empty reason"),
        pytest.param({"status": "skipped", "reason": "x", "mode": "slow"}, "$.mode", id="an unknown mode"),
        pytest.param(
            {"status": "failed", "reason": "x", "mode": "fast", "rows": []},
            "'rows' was unexpected",
            id="a result beside",
        ),
    ],
)
def test_a_placeholder_has_its_own_contract(tmp_path: Path, value: dict[str, Any], message: str) -> None:
    (tmp_path / "toy.schema.json").write_text(json.dumps({**TOY, "mayBePlaceholder": True}))
    with pytest.raises(ContractError) as caught:
        Contracts((str(tmp_path),)).parse("toy.json", dump_json(value), writer="x")
    assert message in str(caught.value)
