"""Plans of before had a key `verify`: they load as if it were not there, and it is not written back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from pipeline.base.errors import ContractError
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.strategies import QUICK, json_values

NAME = "initial_plan.txt"
CONTRACTS = Contracts()
PLAN: dict[str, Any] = {
    **CONTRACTS.schema(NAME)["examples"][-1],
    "todos": [{"id": "data", "content": "ask for the data set", "required": True}],
}
VALUES = [
    pytest.param(["python -m pytest", "ruff check"], id="a list of commands"),
    pytest.param([{"kind": "command", "target": "pytest", "required": True}], id="a list of objects"),
    pytest.param({"kind": "command", "target": "pytest", "required": "perhaps"}, id="an object"),
    pytest.param(None, id="null"),
    pytest.param(7, id="a number"),
    pytest.param("", id="an empty text"),
    pytest.param([[None, {"verify": [{}]}], -0.5, True], id="garbage"),
]


def objects(value: Any, schema: Any, place: str = "the plan") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a plan that is closed by its schema, by its place."""
    if isinstance(value, dict):
        yield place, value
        for name, inner in value.items():
            yield from objects(inner, schema["properties"][name], name)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner, schema.get("items", {}), place)


PLACES = [place for place, _ in objects(PLAN, CONTRACTS.schema(NAME))]


def with_verify(value: Any, *places: str) -> dict[str, Any]:
    plan = copy.deepcopy(PLAN)
    for place, part in list(objects(plan, CONTRACTS.schema(NAME))):
        if place in places:
            part["verify"] = value
    assert plan != PLAN
    return plan


def parsed(plan: dict[str, Any]) -> Any:
    return CONTRACTS.parse(NAME, dump_yaml(plan), writer="an earlier run")


def test_the_example_has_every_object_that_a_plan_can_have() -> None:
    assert set(PLACES) == {
        *("the plan", "paper", "requirements", "source", "file_structure", "implementation_components"),
        *("validation_approach", "environment_setup", "todos"),
    }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_a_plan_with_verify_loads_as_the_same_plan_without_it(value: Any, place: str) -> None:
    assert parsed(with_verify(value, place)) == parsed(PLAN) == PLAN


@pytest.mark.parametrize("value", VALUES)
def test_verify_in_every_place_at_once_is_read_past(value: Any) -> None:
    assert parsed(with_verify(value, *PLACES)) == PLAN


@pytest.mark.slow
@given(json_values)
@QUICK
def test_no_value_of_verify_keeps_a_plan_from_loading(value: Any) -> None:
    assert parsed(with_verify(value, *PLACES)) == PLAN


@pytest.mark.parametrize("value", VALUES)
def test_verify_is_not_written_back(value: Any) -> None:
    data = dump_yaml(with_verify(value, *PLACES))
    loaded = CONTRACTS.parse(NAME, data, writer="an earlier run")
    assert CONTRACTS.serialise(NAME, loaded, writer="phase 05") == dump_yaml(PLAN)
    assert CONTRACTS.serialise(NAME, with_verify(value, *PLACES), writer="phase 05") == dump_yaml(PLAN)


def test_the_commands_that_verify_the_work_are_no_older_key() -> None:
    assert parsed(PLAN)["validation_approach"]["verify_commands"] == ["python -m unittest discover -s tests"]


@pytest.mark.parametrize("name", ["verfy", "verification", "Verify"])
def test_a_key_that_only_looks_like_it_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match=f"'{name}' was unexpected"):
        parsed({**PLAN, name: []})
