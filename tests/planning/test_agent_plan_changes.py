"""What a change of the plan reaches: no file too few, no file without a reason, and the words that a person reads."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.planning.changes import FileChanges, compare_files, plan_difference
from tests.agents import PLAN_LISTS

Plan = dict[str, Any]


def requirement(identifier: str, kind: str = "model", text: str = "it waits", **more: Any) -> dict[str, Any]:
    source = {"section": "2", "page": 1, "quote": "it waits a little"}
    return {"id": identifier, "kind": kind, "text": text, "source": source, "status": "stated", **more}


def value(identifier: str, name: str, said: Any) -> dict[str, Any]:
    source = {"section": "2", "page": 1, "quote": "it waits a little"}
    return {"id": identifier, "name": name, "value": said, "owner": "method", "kind": "training", "source": source}


def component(name: str, *requirements: str, **more: Any) -> dict[str, Any]:
    source = {"section": "2", "page": 1, "quote": "it waits a little"}
    return {
        "id": f"C{ord(name) - 96}",
        "name": name,
        "what": name,
        "source": source,
        "requirements": [*requirements],
        **more,
    }


def file(path: str, implements: list[str], depends_on: list[str], interface: list[str]) -> dict[str, Any]:
    return {
        "path": path, "purpose": "x", "implements": implements, "depends_on": depends_on, "interface": interface,
    }  # fmt: skip


PLAN: Plan = {
    "plan_version": 2,
    "paper": {"title": "On Time", "core_contribution": "We wait."},
    "language": "Python",
    "requirements": [
        requirement("R1", "hyperparameter"),
        requirement("R2"),
        requirement("R3", "experiment"),
    ],
    "file_structure": [
        file("p/config.py", ["R1", "V1"], [], ["RATE"]),
        file("p/model.py", ["R2"], ["p/config.py"], ["class Waiter"]),
        file("p/experiments.py", ["R3"], ["p/model.py"], ["def run"]),
        file("p/__main__.py", [], ["p/experiments.py"], ["def main"]),
        {"path": "requirements.txt", "purpose": "packages"},
        {"path": "tests/__init__.py", "purpose": "tests"},
        file("tests/test_config.py", [], ["p/config.py"], []),
        file("tests/test_model.py", ["R2"], ["p/model.py"], []),
    ],
    **{name: [] for name in PLAN_LISTS},
    "values": [value("V1", "rate", 1)],
    "experiments": [{"id": "X1", "what": "wait"}],
    "validation_approach": {"verify_commands": ["python -m unittest"]},
    "environment_setup": {"python": ">=3.11", "packages": []},
    "implementation_strategy": [
        "p/config.py", "p/model.py", "p/experiments.py", "p/__main__.py", "requirements.txt", "tests/__init__.py",
        "tests/test_config.py", "tests/test_model.py",
    ],
}  # fmt: skip
PATHS = PLAN["implementation_strategy"]


def changed(change: Callable[[Plan], object]) -> Plan:
    plan = copy.deepcopy(PLAN)
    change(plan)
    return plan


def row(plan: Plan, path: str) -> dict[str, Any]:
    return next(row for row in plan["file_structure"] if row["path"] == path)


def drop(plan: Plan, path: str) -> None:
    plan["file_structure"] = [row for row in plan["file_structure"] if row["path"] != path]
    plan["implementation_strategy"].remove(path)
    for other in plan["file_structure"]:
        other["depends_on"] = [name for name in other.get("depends_on", []) if name != path]


def add(plan: Plan, path: str) -> None:
    plan["file_structure"].append(file(path, [], [], []))
    plan["implementation_strategy"].insert(0, path)


@pytest.mark.parametrize(
    ("change", "write"),
    [
        pytest.param(lambda plan: None, [], id="nothing"),
        pytest.param(lambda plan: plan["values"][0].update(value=2), ["p/config.py"], id="a value"),
        pytest.param(
            lambda plan: plan["values"][0].update(value=1.0),
            ["p/config.py"],
            id="1 is not 1.0",
        ),
        pytest.param(
            lambda plan: plan["values"][0].update(value=True),
            ["p/config.py"],
            id="1 is not true",
        ),
        pytest.param(
            lambda plan: plan["requirements"][1].update(text="it runs"),
            ["p/model.py", "tests/test_model.py"],
            id="a text",
        ),
        pytest.param(lambda plan: plan["requirements"][1]["source"].update(page=9), [], id="where it is cited from"),
        pytest.param(
            lambda plan: row(plan, "p/config.py").update(purpose="y"),
            ["p/config.py"],
            id="a purpose",
        ),
        pytest.param(
            lambda plan: row(plan, "p/model.py").update(interface=["class Runner"]),
            ["p/model.py"],
            id="an interface",
        ),
        pytest.param(lambda plan: add(plan, "p/new.py"), ["p/new.py"], id="a new file"),
        pytest.param(
            lambda plan: drop(plan, "p/config.py"),
            ["p/model.py", "tests/test_config.py"],
            id="a file less",
        ),
        pytest.param(
            lambda plan: row(plan, "requirements.txt").update(implements=[], depends_on=[]), [], id="an empty list"
        ),
        pytest.param(
            lambda plan: plan["validation_approach"].update(verify_commands=["pytest"]),
            [],
            id="other verify commands",
        ),
        pytest.param(
            lambda plan: plan["experiments"][0].update(what="run"),
            ["p/experiments.py"],
            id="other experiments reach what implements them",
        ),
        pytest.param(
            lambda plan: plan["environment_setup"].update(packages=["numpy"]), ["requirements.txt"], id="other packages"
        ),
        pytest.param(lambda plan: plan["paper"].update(title="On Space"), [], id="another title"),
        pytest.param(lambda plan: plan["implementation_strategy"].reverse(), [], id="another order"),
        pytest.param(
            lambda plan: plan["requirements"].__delitem__(1),
            ["p/model.py", "tests/test_model.py"],
            id="a requirement is gone",
        ),
    ],
)
def test_a_change_reaches_exactly_what_it_matters_to(change: Callable[[Plan], object], write: list[str]) -> None:
    assert list(compare_files(PLAN, changed(change)).write) == write


@pytest.mark.parametrize(
    ("change", "may_change"),
    [
        pytest.param(
            lambda plan: row(plan, "p/model.py").update(interface=["class Runner"]),
            ["p/experiments.py", "tests/test_model.py"],
            id="an interface reaches what uses it, and no further",
        ),
        pytest.param(
            lambda plan: plan["values"][0].update(value=2),
            ["tests/test_config.py"],
            id="a value reaches the tests",
        ),
        pytest.param(
            lambda plan: plan["validation_approach"].update(verify_commands=["pytest"]),
            ["tests/__init__.py", "tests/test_config.py", "tests/test_model.py"],
            id="verify commands reach all tests",
        ),
    ],
)
def test_what_uses_or_tests_a_changed_file_is_kept_and_named(
    change: Callable[[Plan], object], may_change: list[str]
) -> None:
    touched = compare_files(PLAN, changed(change))
    assert list(touched.may_change) == may_change
    assert {*may_change} <= {*touched.keep}


WITH_CONFIG = ["p/config.py"]
WITH_MODEL = ["p/model.py", "tests/test_model.py"]
COMPONENTS = [component("a", "R1", equations=["(1)"]), component("b", "R2")]


@pytest.mark.parametrize(
    ("components", "write"),
    [
        pytest.param(COMPONENTS, [], id="none"),
        pytest.param(COMPONENTS[::-1], [], id="their order"),
        pytest.param([COMPONENTS[0], {**COMPONENTS[1], "equations": []}], [], id="an empty list"),
        pytest.param([{**COMPONENTS[0], "equations": ["(2)"]}, COMPONENTS[1]], WITH_CONFIG, id="an equation"),
        pytest.param([COMPONENTS[0], {**COMPONENTS[1], "what": "c"}], WITH_MODEL, id="what it is"),
        pytest.param([{**COMPONENTS[0], "name": "c"}, COMPONENTS[1]], WITH_CONFIG, id="a name"),
        pytest.param([{**COMPONENTS[0], "source": {"page": 3}}, COMPONENTS[1]], [], id="where it is cited from"),
        pytest.param(COMPONENTS[:1], WITH_MODEL, id="one that is gone"),
        pytest.param([*COMPONENTS, component("c", "R3")], ["p/experiments.py"], id="a new one"),
        pytest.param(
            [{**COMPONENTS[0], "requirements": ["R3"]}, COMPONENTS[1]],
            ["p/config.py", "p/experiments.py"],
            id="another requirement reaches those of the old one and those of the new one",
        ),
    ],
)
def test_a_change_of_a_component_reaches_the_files_that_implement_it(
    components: list[dict[str, Any]], write: list[str]
) -> None:
    before, after = ({**PLAN, "components": rows} for rows in (COMPONENTS, components))
    assert list(compare_files(before, after).write) == write
    assert not write or all("components C" in line for line in plan_difference(before, after))


def test_experiments_that_no_file_implements_reach_the_entry_script() -> None:
    before = changed(lambda plan: row(plan, "p/experiments.py").update(implements=[]))
    after = copy.deepcopy(before)
    after["experiments"] = [{"id": "X1", "what": "more"}]
    assert compare_files(before, after).write == ("p/__main__.py",)


def test_files_come_in_the_order_of_implementation_and_those_it_forgot_at_the_end() -> None:
    plan = changed(lambda plan: plan.update(implementation_strategy=["tests/test_model.py", "gone.py", "p/config.py"]))
    touched = compare_files({**PLAN, "file_structure": []}, plan)
    assert touched.write[:2] == ("tests/test_model.py", "p/config.py")
    assert sorted(touched.write) == sorted(PATHS)


def test_a_file_that_is_planned_no_more_is_to_be_removed() -> None:
    assert compare_files(PLAN, changed(lambda plan: drop(plan, "p/__main__.py"))).remove == ("p/__main__.py",)


IDS = st.sampled_from(["R1", "R2", "R3"])
NAMES = st.sampled_from(
    ["a.py", "b.py", "c/d.py", "tests/test_a.py", "tests/test_b.py", "requirements.txt", "c/__main__.py"]
)
ROWS = st.builds(
    file,
    NAMES,
    st.lists(IDS, max_size=2),
    st.lists(NAMES, max_size=2),
    st.lists(st.sampled_from(["f", "g"]), max_size=1),
)


COMPONENT_ROWS = st.builds(lambda names: component("a", *names), st.lists(IDS, max_size=2, unique=True))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    rows = draw(st.lists(ROWS, min_size=1, max_size=6, unique_by=lambda row: row["path"]))
    order = draw(st.permutations([row["path"] for row in rows]))
    texts = st.sampled_from(["x", "y"])
    return {
        **PLAN,
        "requirements": [
            requirement(name, draw(st.sampled_from(["model", "experiment"])), draw(texts)) for name in ("R1", "R2")
        ],
        "file_structure": rows,
        "components": draw(st.lists(COMPONENT_ROWS, max_size=1)),
        "implementation_strategy": order[: draw(st.integers(0, len(order)))],
        "experiments": draw(st.lists(st.builds(lambda what: {"id": "X1", "what": what}, texts), max_size=1)),
        "validation_approach": {"verify_commands": [draw(texts)]},
    }


@pytest.mark.slow
@given(plans())
def test_the_same_plan_touches_nothing_and_differs_in_nothing(plan: Plan) -> None:
    touched = compare_files(plan, copy.deepcopy(plan))
    assert (touched.write, touched.remove) == ((), ())
    assert plan_difference(plan, copy.deepcopy(plan)) == []


@pytest.mark.slow
@given(plans(), plans())
def test_every_planned_file_is_written_or_kept_and_no_file_is_two_things(old: Plan, new: Plan) -> None:
    before, after = (copy.deepcopy(plan) for plan in (old, new))
    touched = compare_files(old, new)
    everything = [*touched.write, *touched.keep, *touched.remove]
    planned = {row["path"] for row in new["file_structure"]}
    assert len(everything) == len(set(everything))
    assert {*touched.write, *touched.keep} == planned
    assert {*touched.may_change} <= {*touched.keep}
    assert set(touched.remove) == {row["path"] for row in old["file_structure"]} - planned
    assert (old, new) == (before, after)


@pytest.mark.slow
@given(plans(), plans())
def test_what_is_kept_is_in_both_plans_and_says_the_same_in_both(old: Plan, new: Plan) -> None:
    texts = [{row["id"]: (row["kind"], row["text"]) for row in plan["requirements"]} for plan in (old, new)]
    for path in compare_files(old, new).keep:
        assert row(old, path) == row(new, path)
        assert all(texts[0].get(name) == texts[1].get(name) for name in row(new, path)["implements"])


@pytest.mark.slow
@given(plans(), plans())
def test_a_file_is_touched_only_where_the_plans_differ_for_a_person_too(old: Plan, new: Plan) -> None:
    touched = compare_files(old, new)
    if touched.write or touched.remove:
        assert plan_difference(old, new)


def test_an_entry_that_stands_there_twice_now_is_a_difference() -> None:
    twice = changed(lambda plan: plan["validation_approach"].update(verify_commands=["y", "y"]))
    once = changed(lambda plan: plan["validation_approach"].update(verify_commands=["y"]))
    assert plan_difference(once, twice) == ["+ verify_commands: y"]
    assert plan_difference(twice, once) == ["- verify_commands: y"]


def test_the_difference_is_told_in_short_lines() -> None:
    def change(plan: Plan) -> None:
        plan["requirements"].append(requirement("R4", "metric", "the share of\nrooms " * 40))
        plan["values"][0]["value"] = 2
        del plan["requirements"][2]
        row(plan, "p/model.py").update(purpose="y", implements=["R4"])
        drop(plan, "p/__main__.py")
        add(plan, "p/new.py")
        plan["validation_approach"]["verify_commands"] = ["pytest"]
        plan["environment_setup"].update(python=">=3.12", packages=["numpy"])
        plan["paper"]["title"] = "On Space"

    lines = plan_difference(PLAN, changed(change))
    assert [line[:60] for line in lines] == [
        "~ paper: title",
        "+ R4 metric: the share of rooms the share of rooms the share",
        "- R3 experiment: it waits",
        "~ p/model.py: implements -R2 +R4, purpose x -> y",
        "+ p/new.py: x",
        "- p/__main__.py",
        "~ values V1, rate: value 1 -> 2",
        "- verify_commands: python -m unittest",
        "+ verify_commands: pytest",
        "+ packages: numpy",
        "~ python: >=3.11 -> >=3.12",
    ]
    assert max(map(len, lines)) == 140


def test_another_order_is_told() -> None:
    lines = plan_difference(PLAN, changed(lambda plan: plan["implementation_strategy"].reverse()))
    assert lines == ["~ implementation_strategy: another order"]


def test_touched_is_what_its_fields_say() -> None:
    assert compare_files(PLAN, PLAN) == FileChanges((), tuple(PATHS), ())
