"""Todos: what may become of one, what a list may never be, and that nobody drops what the plan requires."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.acceptance.gate import run_gate
from phases.acceptance.todos import (
    ACTIONS,
    ALIASES,
    BLOCKED_REASONS,
    FINAL,
    NEXT,
    STATUSES,
    Todo,
    TodoError,
    apply_change,
    find_protected,
    find_refused_changes,
    is_superseded,
    plan_todos,
    summarize_todos,
    todo_rows,
)
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import Toolbox
from phases.llm.model import ToolCall
from pipeline.base.errors import ContractError, PhaseError
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.strategies import QUICK, json_values

Todos = tuple[Todo, ...]
PLANNED = Todo("p", "run the tests", owner_type="plan")


def todo(name: str, status: str = "pending", **more: Any) -> Todo:
    return Todo(name, f"do {name}", status, **more)


def item(name: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"id": name, "content": f"do {name}", "status": status, **more}


def act(todos: Todos, action: str, name: Any = None, **more: Any) -> Todos:
    return apply_change(todos, {"action": action, "id": name, **more})


def refused(todos: Todos, arguments: Mapping[str, Any]) -> TodoError:
    with pytest.raises(TodoError) as caught:
        apply_change(todos, arguments)
    assert str(caught.value).startswith(f"{caught.value.code}: ")
    assert "\n" not in str(caught.value)
    return caught.value


# Single steps


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATUSES, STATUSES)))
def test_a_step_leads_where_the_table_says_and_nowhere_else(before: str, after: str) -> None:
    todos = (todo("a", before), Todo("n", "instead", supersedes=("a",)))
    arguments = {"action": "set_status", "id": "a", "status": after}
    if after == before or after in NEXT[before]:
        made = apply_change(todos, arguments)[0]
        assert (made.status, made.revision) == (after, 2)
    else:
        assert refused(todos, arguments).code == "invalid_transition"


def test_the_table_of_steps_is_that_of_the_specification() -> None:
    assert {name: set(after) for name, after in NEXT.items()} == {
        "pending": {"in_progress", "blocked", "failed", "canceled"},
        "in_progress": {"completed", "failed", "blocked", "canceled"},
        "blocked": {"pending", "in_progress", "failed", "canceled"},
        "completed": set(), "failed": set(), "canceled": set(),
    }  # fmt: skip


def test_pending_is_not_completed_in_one_step() -> None:
    error = refused((todo("a"),), {"action": "complete", "id": "a"})
    assert str(error) == (
        "invalid_transition: a is pending and cannot become completed; what may follow: in_progress, blocked, failed, canceled"
    )
    done = act(act((todo("a"),), "claim", "a"), "complete", "a")
    assert (done[0].status, done[0].revision) == ("completed", 3)


def test_a_revision_that_is_not_the_present_one_is_a_conflict() -> None:
    todos = act((todo("a"),), "claim", "a", expected_revision=1)
    error = refused(todos, {"action": "complete", "id": "a", "expected_revision": 1})
    assert str(error) == "revision_conflict: a has revision 2 by now, not 1; look at it again"
    assert act(todos, "complete", "a", expected_revision=0)[0].status == "completed"


@pytest.mark.parametrize("action", [name for name in ACTIONS if name != "add"])
def test_a_change_of_what_is_not_there_names_what_is(action: str) -> None:
    error = refused((todo("a"), todo("b")), {"action": action, "id": "c", "status": "failed"})
    assert str(error) == "not_found: there is no todo c; there are: a, b"
    assert refused((), {"action": action, "id": "c"}).code == "not_found"


@pytest.mark.parametrize(
    ("arguments", "status", "blocked", "failure"),
    [
        pytest.param({"status": "blocked", "reason": "user_input_wait"}, "blocked", "user_input_wait", "", id="a wait"),
        pytest.param({"status": "blocked", "reason": "no disk"}, "blocked", "unknown", "no disk", id="a reason in words"),
        pytest.param({"status": "blocked"}, "blocked", "unknown", "", id="no reason"),
        pytest.param({"status": "failed", "reason": "no data"}, "failed", "", "no data", id="a failure"),
        pytest.param({"status": "in_progress", "reason": "now"}, "in_progress", "", "", id="a reason for work"),
    ],
)  # fmt: skip
def test_a_reason_stays_only_with_a_status_that_it_goes_with(
    arguments: dict[str, Any], status: str, blocked: str, failure: str
) -> None:
    made = act((todo("a"),), "set_status", "a", **arguments)[0]
    assert (made.status, made.blocked_reason, made.failure_reason) == (status, blocked, failure)


def test_what_blocked_is_forgotten_when_it_goes_on() -> None:
    blocked = act((todo("a"),), "set_status", "a", status="blocked", reason="permission_wait")
    assert act(blocked, "claim", "a")[0].blocked_reason == ""
    assert apply_change(blocked, {"todos": [item("a", "done")]})[0].blocked_reason == ""
    assert apply_change(blocked, {"todos": [item("a", "blocked")]}) == blocked


def test_an_added_todo_gets_an_id_that_nothing_has() -> None:
    todos = act((todo("t1"), todo("t3")), "add", patch={"content": "more", "dependencies": ["t1"]})
    assert todos[-1] == Todo("t2", "more", dependencies=("t1",))
    assert refused(todos, {"action": "add", "id": "t3", "patch": {"content": "x"}}).code == "duplicate"
    assert refused(todos, {"action": "add", "patch": {"content": "x", "status": "done"}}).code == "invalid_transition"


# Dependencies and circles


@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_nothing_begins_before_what_it_depends_on_is_completed(status: str) -> None:
    todos = (todo("a", "in_progress"), todo("b", dependencies=("a",)))
    error = refused(todos, {"todos": [item("a", "in_progress"), item("b", status)]})
    assert str(error) == f"dependency_violation: b cannot be {status} before these are completed: a"
    assert apply_change(todos, {"todos": [item("a", "completed"), item("b", status)]})[1].status == status


@pytest.mark.parametrize(
    ("todos", "arguments", "code"),
    [
        pytest.param((todo("a"), todo("b", dependencies=("a",))), {"action": "remove", "id": "a"}, "dependency_violation",
            id="removing what another depends on"),
        pytest.param((todo("a"), todo("b", dependencies=("a",))), {"todos": [item("b")]}, "dependency_violation",
            id="leaving out what another depends on"),
        pytest.param((todo("a"),), {"action": "update", "id": "a", "patch": {"dependencies": ["x"]}}, "not_found",
            id="depending on what is not there"),
        pytest.param((todo("a"),), {"action": "update", "id": "a", "patch": {"supersedes": ["x"]}}, "not_found",
            id="standing for what is not there"),
        pytest.param((todo("a"),), {"action": "update", "id": "a", "patch": {"dependencies": ["a"]}}, "cyclic_dependency",
            id="depending on itself"),
        pytest.param((todo("a", dependencies=("b",)), todo("b", dependencies=("c",)), todo("c")),
            {"action": "update", "id": "c", "patch": {"dependencies": ["a"]}}, "cyclic_dependency", id="a circle of three"),
        pytest.param((todo("a", supersedes=("b",)), todo("b")), {"action": "update", "id": "b", "patch": {"supersedes": ["a"]}},
            "cyclic_dependency", id="two in the place of each other"),
        pytest.param((todo("a", "in_progress"), todo("b")), {"action": "update", "id": "a", "patch": {"dependencies": ["b"]}},
            "dependency_violation", id="depending, when begun, on what is open"),
    ],
)  # fmt: skip
def test_a_link_that_cannot_be_is_refused(todos: Todos, arguments: dict[str, Any], code: str) -> None:
    assert refused(todos, arguments).code == code


# Whole lists


def test_a_list_of_contents_and_states_is_all_that_a_model_need_write() -> None:
    first = apply_change((), {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "doing"}]})
    assert [(row.id, row.content, row.status) for row in first] == [("t1", "a", "pending"), ("t2", "b", "in_progress")]
    rows = [(content, status) for content, status in (("a", "done"), ("b", "done"), ("c", "pending"))]
    second = apply_change(first, {"todos": [{"content": content, "status": status} for content, status in rows]})
    assert [(row.id, row.status, row.revision) for row in second] == [
        ("t1", "completed", 2),
        ("t2", "completed", 2),
        ("t3", "pending", 1),
    ]


@pytest.mark.parametrize("end", FINAL)
def test_a_whole_list_may_pass_over_steps_but_not_out_of_the_end_of_what_is_planned(end: str) -> None:
    assert apply_change((todo("a"),), {"todos": [item("a", "completed")]})[0].status == "completed"
    todos = (replace(PLANNED, status=end), Todo("n", "x", supersedes=("p",)))
    for row in ({"id": "p"}, {}):
        error = refused(todos, {"todos": [{**row, "content": PLANNED.content, "status": "in_progress"}]})
        assert str(error) == (
            f"invalid_transition: p is {end}, and that is final: it cannot become in_progress; add a new todo for what is left"
        )


@pytest.mark.parametrize("end", FINAL)
@pytest.mark.parametrize("name", [{}, {"id": "a"}, {"id": "1"}], ids=["no id", "its id", "an id of the model's own"])
def test_what_has_ended_and_is_open_on_the_next_list_is_a_new_todo(end: str, name: dict[str, str]) -> None:
    before = todo("a", end, required=False, failure_reason="no disk", acceptance=("it runs",))
    made = apply_change((before, todo("b")), {"todos": [{**name, "content": "do a", "status": "doing"}, item("b")]})
    new = "1" if name == {"id": "1"} else "t1"
    assert made[0] == Todo(new, "do a", "in_progress", required=False, acceptance=("it runs",))
    assert made[1:] == (todo("b"),)


def test_an_optional_todo_of_the_plan_is_not_begun_anew_by_the_agent_either() -> None:
    todos = (replace(PLANNED, required=False, status="completed"),)
    error = refused(todos, {"todos": [{"content": PLANNED.content, "status": "pending"}]})
    assert error.code == "invalid_transition"


def test_what_stands_in_the_place_of_a_planned_todo_is_not_begun_anew() -> None:
    todos = (replace(PLANNED, status="failed"), todo("n", "completed", supersedes=("p",)))
    rows = [{"id": "p", "content": PLANNED.content, "status": "failed"}, item("n", "pending")]
    assert refused(todos, {"todos": rows}).code == "invalid_transition"


def test_what_begins_anew_stands_for_what_it_stood_for() -> None:
    todos = (todo("a", "failed"), todo("b", "completed", supersedes=("a",)))
    made = apply_change(todos, {"todos": [item("a", "failed"), item("b", "in_progress")]})
    assert [(row.id, row.status, row.supersedes) for row in made] == [
        ("a", "failed", ()), ("t1", "in_progress", ("a",)),
    ]  # fmt: skip
    assert run_gate(made, "done").stop_reason == "accept_continue"


@pytest.mark.parametrize("end", FINAL)
def test_a_new_list_may_count_from_one_again(end: str) -> None:
    before = (Todo("1", "write it", end), Todo("2", "test it", end))
    rows: list[dict[str, Any]] = [
        {"id": "1", "content": "fix the test", "status": "in_progress"},
        {"id": "2", "content": "test again", "status": "pending", "dependencies": ["1"]},
    ]
    made = apply_change(before, {"todos": rows})
    assert [(row.id, row.content, row.status, row.dependencies) for row in made] == [
        ("t1", "fix the test", "in_progress", ()),
        ("t2", "test again", "pending", ("t1",)),
    ]
    rows[0]["status"], rows[1]["status"] = "completed", "in_progress"
    later = apply_change(made, {"todos": rows})
    assert [(row.id, row.status) for row in later] == [("t1", "completed"), ("t2", "in_progress")]


def test_an_ended_todo_may_be_said_in_other_words() -> None:
    made = apply_change((todo("a", "completed"),), {"todos": [{"id": "a", "content": "did a", "status": "done"}]})
    assert [(row.id, row.content, row.revision) for row in made] == [("a", "did a", 2)]


def test_what_ended_stays_while_the_list_has_links_to_it() -> None:
    before = (
        todo("a", "completed"),
        todo("b", "completed", dependencies=("a",)),
        todo("c", "in_progress", dependencies=("b",)),
    )
    made = apply_change(before, {"todos": [item("c", "in_progress"), item("b", "in_progress")]})
    assert [(row.id, row.content, row.status) for row in made] == [
        ("c", "do c", "in_progress"), ("t1", "do b", "in_progress"), ("b", "do b", "completed"), ("a", "do a", "completed"),
    ]  # fmt: skip
    rows = [item("c", "completed"), item("b", "in_progress")]
    again = apply_change(made, {"todos": rows})
    assert [(row.id, row.status) for row in again] == [
        ("c", "completed"), ("t1", "in_progress"), ("b", "completed"), ("a", "completed"),
    ]  # fmt: skip


def test_of_equal_contents_the_one_with_the_same_status_is_meant_then_an_open_one() -> None:
    before = (Todo("1", "x", "completed"), Todo("2", "x"))
    for rows, names in (
        ([("x", "in_progress"), ("x", "completed")], ["2", "1"]),
        ([("x", "in_progress")], ["2"]),
        ([("x", "pending"), ("x", "in_progress")], ["2", "t1"]),
    ):
        sent = [{"content": content, "status": status} for content, status in rows]
        assert [row.id for row in apply_change(before, {"todos": sent})] == names


def test_the_same_list_again_changes_nothing() -> None:
    rows = [item("a"), {"content": "x", "status": "blocked"}]
    once = apply_change((), {"todos": rows})
    assert apply_change(once, {"todos": rows}) == once


def test_what_a_list_does_not_say_of_a_todo_stays() -> None:
    before = todo("a", required=False, acceptance=("it runs",))
    made = apply_change((before,), {"todos": [item("a", "in_progress")]})[0]
    assert made == replace(before, status="in_progress", revision=2)


def test_rows_are_matched_by_id_before_content() -> None:
    before = (Todo("a", "x"), Todo("b", "y", "completed"))
    rows = [{"content": "x", "status": "pending"}, {"id": "a", "content": "z", "status": "pending"}]
    assert [(row.id, row.content) for row in apply_change(before, {"todos": rows})] == [("t1", "x"), ("a", "z")]


def test_a_name_of_the_models_own_for_a_todo_that_has_one_is_understood_within_the_list() -> None:
    rows = [{**item("1", "pending"), "content": "do a"}, item("2", dependencies=["1"])]
    assert [(row.id, row.dependencies) for row in apply_change((todo("a"),), {"todos": rows})] == [
        ("a", ()),
        ("2", ("a",)),
    ]


@pytest.mark.parametrize("name", ["a", "new"])
def test_two_rows_for_one_todo_are_refused(name: str) -> None:
    assert (
        str(refused((todo("a"),), {"todos": [item(name), item(name)]}))
        == f"duplicate: an id may appear only once: {name}"
    )


@pytest.mark.parametrize("contents", [("do a", "x"), ("x", "do a"), ("x", "y")], ids=" then ".join)
def test_one_id_for_two_todos_is_refused_whatever_they_are_matched_by(contents: tuple[str, str]) -> None:
    rows: list[dict[str, Any]] = [
        {"id": name, "content": text, "status": "pending"} for name, text in zip(("1", 1), contents, strict=True)
    ]
    rows.append({"content": "z", "status": "pending", "dependencies": ["1"]})
    assert str(refused((todo("a"),), {"todos": rows})) == "duplicate: an id may appear only once: 1"


def test_numbers_become_ids_and_other_words_for_a_status_are_known() -> None:
    rows = [{"id": 7, "content": "a", "status": "done"}, {"id": 8, "content": "b", "status": "x", "dependencies": [7]}]
    for alias, status in ALIASES.items():
        rows[1].update(status=alias)
        extra = [{"content": "c", "status": "pending", "supersedes": [8]}]
        made = apply_change((), {"todos": rows + extra})
        assert [(row.id, row.status) for row in made[:2]] == [("7", "completed"), ("8", status)]
        assert made[1].dependencies == ("7",)
    assert act((todo("7"),), "claim", 7)[0].status == "in_progress"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("In Progress", "in_progress"), ("in-progress", "in_progress"), (" IN_PROGRESS ", "in_progress"),
        ("complete", "completed"), ("Done", "completed"), ("Finished", "completed"), ("COMPLETED", "completed"),
        ("not started", "pending"), ("not_started", "pending"), ("todo", "pending"), ("To-Do", "pending"), ("open", "pending"),
        ("Failed", "failed"), ("blocked", "blocked"),
    ],
)  # fmt: skip
def test_a_status_is_known_however_it_is_written(said: str, status: str) -> None:
    assert apply_change((), {"todos": [{"content": "a", "status": said}]})[0].status == status
    if status in NEXT["pending"]:
        assert act((todo("a"),), "set_status", "a", status=said)[0].status == status


@pytest.mark.parametrize("said", ["soon", "", "in progress now", "progress", "completed!"])
def test_a_status_that_is_none_is_refused_with_those_that_are(said: str) -> None:
    assert str(refused((), {"todos": [item("a", said)]})) == (
        "invalid: `status` must be one of: pending, in_progress, completed, blocked, failed, canceled"
    )


def test_a_list_may_be_a_text_of_json() -> None:
    rows = [{"id": 1, "content": "ä", "status": "pending"}, item("b", "done", dependencies=[])]
    assert apply_change((), {"todos": json.dumps(rows)}) == apply_change((), {"todos": rows})


def test_what_models_say_beside_a_todo_is_not_kept() -> None:
    plain = apply_change((), {"todos": [item("a")]})
    more: dict[str, Any] = {"activeForm": "Doing a", "priority": "high", "blocked_reason": "", "required": None}
    assert apply_change((), {"explanation": "first things first", "todos": [item("a", **more)]}) == plain
    assert refused((), {"explanation": "only that"}).code == "invalid"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({}, "invalid: give either `todos`, the whole list, or `action`, one change", id="nothing"),
        pytest.param({"todos": [], "action": "add"}, "invalid: give either", id="both forms"),
        pytest.param({"todos": [], "plan": 1}, "invalid: 'plan' is none of: todos, action", id="another argument"),
        pytest.param({"todos": {}}, "invalid: `todos` must be a list", id="a list that is none"),
        pytest.param({"todos": "a, b"}, "`todos` must be a list; as a string it is not JSON", id="a text that is not JSON"),
        pytest.param({"todos": "[" * 60_000}, "as a string it is nested too deeply", id="a text that is too deep"),
        pytest.param({"todos": '[{"content": "\ud800"}]'}, "as a string it is not UTF-8", id="half a character in a text"),
        pytest.param({"todos": '{"content": "a"}'}, "invalid: `todos` must be a list", id="a text of one todo"),
        pytest.param({"todos": '"[]"'}, "invalid: `todos` must be a list", id="a text in a text"),
        pytest.param({"todos": json.dumps([item(str(n)) for n in range(65)])}, "limit: 65 todos", id="65 todos in a text"),
        pytest.param({"todos": '[{"owner_type": "plan"}]'}, "'owner_type' cannot be set", id="a text that says whose"),
        pytest.param({"todos": ["a"]}, "invalid: a todo is an object", id="a todo that is a text"),
        pytest.param({"todos": [{"content": "a"}]}, "invalid: every todo of the list needs", id="no status"),
        pytest.param({"todos": [item("a", "soon")]}, "invalid: `status` must be one of: pending", id="an odd status"),
        pytest.param({"todos": [{"title": "a", "status": "done"}]}, "invalid: `title` is no longer used", id="a title"),
        pytest.param({"todos": [item("a", owner_type="user")]}, "'owner_type' cannot be set", id="whose it is"),
        pytest.param({"todos": [item("a", required="no")]}, "`required` must be true or false", id="a text for a flag"),
        pytest.param({"todos": [item("a", dependencies="b")]}, "`dependencies` must be a list", id="a text for a list"),
        pytest.param({"todos": [item("")]}, "invalid: `id` must be", id="an empty id"),
        pytest.param({"todos": [{**item("a"), "id": True}]}, "invalid: `id` must be", id="true for an id"),
        pytest.param({"todos": [{"content": " \n", "status": "done"}]}, "invalid: `content` is empty", id="no content"),
        pytest.param({"todos": [item("x" * 65)]}, "limit: `id` has 65 characters", id="a long id"),
        pytest.param({"todos": [{"content": "x" * 1025, "status": "done"}]}, "limit: `content` has 1,025", id="a long text"),
        pytest.param({"todos": [item(str(n)) for n in range(65)]}, "limit: 65 todos are over the limit of 64", id="65 todos"),
        pytest.param({"todos": [item("a", acceptance=["x"] * 65)]}, "limit: `acceptance` has 65 entries", id="65 entries"),
        pytest.param({"todos": [item("a", failure_reason="x" * 66_000)]}, "limit: the arguments have 66,", id="66 KB"),
        pytest.param({"action": "plan"}, "invalid: `action` must be one of: add, update", id="an action that there is not"),
        pytest.param({"action": ["add"]}, "invalid: `action` must be one of", id="a list for an action"),
        pytest.param({"action": "update"}, "invalid: `update` needs the `id`", id="no id"),
        pytest.param({"action": "add"}, "invalid: `add` needs `patch` with `content`", id="no content to add"),
        pytest.param({"action": "set_status", "id": "a"}, "invalid: `set_status` needs a `status`", id="no status to set"),
        pytest.param({"action": "update", "id": "a", "patch": {"id": "b"}}, "invalid: an id never changes", id="a new id"),
        pytest.param({"action": "claim", "id": "a", "expected_revision": "1"}, "`expected_revision` must", id="a text"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    assert message in str(refused((todo("a"),), arguments))


def test_a_list_that_is_full_takes_no_more() -> None:
    full = apply_change((), {"todos": [item(str(number)) for number in range(64)]})
    assert refused(full, {"action": "add", "patch": {"content": "one more"}}).code == "limit"


def test_texts_become_one_line_that_hides_nothing() -> None:
    made = apply_change((), {"todos": [{"content": " a\n\x1b[2J\ud800\u202eb ", "status": "pending"}]})
    assert made[0].content == r"a \x1b[2J\ud800\u202eb"


# What the plan requires


@pytest.mark.parametrize("owner", ["plan", "user"])
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"action": "remove", "id": "p"}, id="removing it"),
        pytest.param({"action": "update", "id": "p", "patch": {"required": False}}, id="making it optional"),
        pytest.param({"action": "update", "id": "p", "patch": {"content": "nothing"}}, id="making it mean something else"),
        pytest.param({"action": "claim", "id": "p", "patch": {"required": False}}, id="making it optional on the way"),
        pytest.param({"action": "set_status", "id": "p", "status": "canceled"}, id="canceling it"),
        pytest.param({"todos": []}, id="an empty list"),
        pytest.param({"todos": [item("mine", "done")]}, id="a list without it"),
        pytest.param({"todos": [item("p")]}, id="its id for something else"),
        pytest.param({"todos": [{"id": "p", "content": "run the tests", "status": "done", "required": False}]},
            id="a list with it as optional"),
        pytest.param({"todos": [{"id": "p", "content": "run the tests", "status": "canceled"}]}, id="a list with it canceled"),
    ],
)  # fmt: skip
def test_nobody_drops_what_the_plan_or_the_user_requires(owner: str, arguments: dict[str, Any]) -> None:
    error = refused((replace(PLANNED, owner_type=owner), todo("mine", "completed")), arguments)
    assert error.code == "protected"
    assert "p" in str(error)


def test_a_list_without_a_required_todo_is_told_which_one_is_missing() -> None:
    assert str(refused((PLANNED,), {"todos": [item("a")]})) == (
        "protected: required todos of the plan or the user stay on the list; send these too: p: run the tests"
    )


OPEN = (todo("a", "completed"), todo("b", "in_progress"), todo("c", "blocked"))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"todos": [item("a", "completed"), item("c", "blocked")]}, id="a list without it"),
        pytest.param({"todos": []}, id="an empty list"),
        pytest.param({"action": "remove", "id": "b"}, id="removing it"),
        pytest.param({"action": "update", "id": "c", "patch": {"required": False}}, id="making it optional"),
        pytest.param({"action": "complete", "id": "b", "patch": {"required": False}}, id="on the way to its end"),
        pytest.param({"todos": [item("a", "completed"), item("b", "done"), item("c", "blocked", required=False)]},
            id="making it optional in a list"),
        pytest.param({"todos": [item("b", "canceled"), item("c", "blocked")]}, id="canceling it"),
    ],
)  # fmt: skip
def test_what_is_required_and_open_is_not_dropped_and_not_made_optional_any_more_than_canceled(
    arguments: dict[str, Any],
) -> None:
    assert refused(OPEN, arguments).code == "invalid_transition"
    assert "supersedes" in str(refused(OPEN, arguments))


def test_what_is_required_and_open_may_be_made_optional_where_another_stands_in_its_place() -> None:
    rows = [item("b", "in_progress", required=False), item("c", "blocked"), item("d", supersedes=["b"])]
    assert [row.id for row in apply_change(OPEN, {"todos": rows})] == ["b", "c", "d"]


def test_what_has_ended_or_is_optional_may_be_left_out() -> None:
    before = (todo("a", "completed"), todo("b", required=False), todo("c"))
    assert [row.id for row in apply_change(before, {"todos": [item("c")]})] == ["c"]
    assert act(before, "remove", "b") == (before[0], before[2])


def test_what_the_plan_says_is_optional_may_be_dropped() -> None:
    optional = replace(PLANNED, required=False)
    assert act((optional,), "remove", "p") == ()
    assert apply_change((optional,), {"todos": []}) == ()
    assert act((optional,), "set_status", "p", status="canceled")[0].status == "canceled"


def test_a_required_todo_is_canceled_when_another_stands_in_its_place() -> None:
    assert (
        refused((todo("a"),), {"action": "set_status", "id": "a", "status": "cancelled"}).code == "invalid_transition"
    )
    for first in (PLANNED, todo("p")):
        todos = act((first,), "add", "n", patch={"content": "run other tests", "supersedes": ["p"]})
        todos = act(todos, "set_status", "p", status="canceled")
        assert run_gate(todos, "done").stop_reason == "accept_continue"
        done = act(act(todos, "claim", "n"), "complete", "n")
        assert run_gate(done, "done").status == "accepted"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"action": "remove", "id": "n"}, id="removing it"),
        pytest.param({"action": "update", "id": "n", "patch": {"required": False}}, id="making it optional"),
        pytest.param({"action": "update", "id": "n", "patch": {"supersedes": []}}, id="standing for it no more"),
        pytest.param({"action": "set_status", "id": "n", "status": "canceled"}, id="canceling it"),
        pytest.param({"todos": [{"content": "run the tests", "status": "canceled"}]}, id="leaving it out"),
    ],
)
@pytest.mark.parametrize("end", ["canceled", "failed"])
def test_what_stands_in_the_place_of_a_planned_todo_is_not_dropped_either(end: str, arguments: dict[str, Any]) -> None:
    todos = (replace(PLANNED, status=end), Todo("n", "run other tests", supersedes=("p",)))
    if "todos" in arguments:
        arguments = {"todos": [{**arguments["todos"][0], "status": end}]}
    assert refused(todos, arguments).code == "protected"
    assert find_protected(todos) == {"p", "n"}


def test_a_third_may_stand_in_the_place_of_the_second() -> None:
    todos: Todos = (replace(PLANNED, status="canceled"), Todo("n", "run other tests", supersedes=("p",)))
    todos = act(todos, "add", "o", patch={"content": "run these", "supersedes": ["n"]})
    todos = act(todos, "set_status", "n", status="canceled")
    assert find_protected(todos) == {"p", "n", "o"}
    assert refused(todos, {"action": "remove", "id": "o"}).code == "protected"


# Plans, reports


PLAN = Contracts().schema("initial_plan.txt")["examples"][0]


def parsed(todos: Any) -> Any:
    return Contracts().parse("initial_plan.txt", dump_yaml({**PLAN, "todos": todos}), writer="you")


def test_a_plan_may_name_todos_and_they_are_required_unless_it_says_otherwise() -> None:
    rows = [{"id": "data", "content": "ask\nfor the data"}, {"id": "b", "content": "b", "required": False}]
    assert plan_todos(parsed(rows)) == (
        Todo("data", "ask for the data", owner_type="plan"),
        Todo("b", "b", required=False, owner_type="plan"),
    )
    assert plan_todos(PLAN) == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([{"id": "a"}], "'content' is a required property", id="no content"),
        pytest.param([{"id": "a", "content": "x", "status": "done"}], "'status' was unexpected", id="a status"),
        pytest.param([{"id": "a b", "content": "x"}], "at $.todos[0].id", id="an id with a space"),
        pytest.param([{"id": str(n), "content": "x"} for n in range(33)], "at $.todos", id="33 todos"),
    ],
)
def test_todos_of_a_plan_have_their_contract(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ContractError) as caught:
        parsed(rows)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["x", "y"], "initial_plan.txt at $.todos[1]: the id 'a' appears twice; fix it with: pipeline review"),
        ([" "], "initial_plan.txt at $.todos[0]: the content is empty; fix it with: pipeline review"),
    ],
    ids=["an id twice", "no content"],
)
def test_todos_that_no_schema_can_refuse_are_refused_all_the_same(rows: list[str], message: str) -> None:
    with pytest.raises(PhaseError) as caught:
        plan_todos(parsed([{"id": "a", "content": content} for content in rows]))
    assert str(caught.value) == message


def test_a_planned_todo_is_taken_up_by_its_content() -> None:
    made = apply_change(plan_todos(parsed([{"id": "a", "content": "ask  for\ndata"}])), {"todos": [
        {"content": "ask for data", "status": "in_progress"},
    ]})  # fmt: skip
    assert [(row.id, row.status, row.owner_type) for row in made] == [("a", "in_progress", "plan")]


def test_the_rows_and_the_counts_of_a_report() -> None:
    todos = (
        todo("a", "completed"), todo("b", "failed"), todo("c", "failed"), todo("d", "blocked", supersedes=("c",)),
        todo("e", required=False),
    )  # fmt: skip
    assert todo_rows(todos)[::4] == [
        {"id": "a", "content": "do a", "status": "completed", "required": True},
        {"id": "e", "content": "do e", "status": "pending", "required": False},
    ]
    assert summarize_todos(todos) == {
        "total": 5, "required_total": 4, "required_completed": 1, "required_failed": 1, "required_open": 1,
    }  # fmt: skip


def test_every_attempt_to_drop_what_is_required_is_listed_for_the_report() -> None:
    rows: list[dict[str, Any]] = []
    box = Toolbox([todo_tool(lambda: (PLANNED,))], Contracts().breach)
    drop = {"action": "remove", "id": "p"}
    attempts: list[dict[str, Any]] = [{"todos": []}, drop, {**drop, "id": "x"}, {**drop, "action": "claim"}]
    for turn, arguments in enumerate(attempts, 1):
        call = {"id": "c", "name": "TodoWrite", "arguments": arguments}
        rows.append({"kind": "reply", "key": {"turn": turn}, "result": {"outcome": "ok", "calls": [call]}})
        answer = box.answer(ToolCall("c", "TodoWrite", arguments))
        rows.append({"kind": "result", "key": {"turn": turn, "call": "c"}, "result": answer})
    assert [row["result"].get("code") for row in rows[1::2]] == ["protected", "protected", "not_found", None]
    told = {"text": "protected: says a command", "failed": True}
    bash = {"id": "b", "name": "Bash", "arguments": {}}
    rows.append({"kind": "reply", "key": {"turn": 9}, "result": {"outcome": "ok", "calls": [bash]}})
    rows.append({"kind": "result", "key": {"turn": 9, "call": "b"}, "result": told})
    assert [(row["turn"], row["why"].split(";")[0]) for row in find_refused_changes(rows)] == [
        (1, "required todos of the plan or the user stay on the list"),
        (2, "required todos of the plan or the user stay on the list"),
    ]


# The tool


def test_the_tool_shows_the_list_with_ids_and_marks_and_keeps_nothing() -> None:
    todos: Todos = (todo("a", "completed"), todo("b", "blocked", blocked_reason="permission_wait", dependencies=("a",)))
    todos = (*todos, todo("c", required=False, revision=4), todo("d", "failed"), todo("e", "canceled"))
    box = Toolbox([todo_tool(lambda: todos)], Contracts().breach)
    call = ToolCall("x", "TodoWrite", {"action": "claim", "id": "c", "expected_revision": 4})
    expected = (
        "the list is kept:\n[x] a: do a\n[~] b: do b (permission_wait; after a)\n[>] c: do c (optional; revision 5)\n"
        "[!] d: do d\n[-] e: do e"
    )
    assert [box.answer(call)["text"] for _ in range(2)] == [expected, expected]
    wrong = box.answer(ToolCall("x", "TodoWrite", {"action": "complete", "id": "b"}))
    assert (wrong["failed"], wrong["text"].split(":")[0]) == (True, "invalid_transition")


CLAUDE = {"content": "Write tests", "status": "in_progress", "activeForm": "Writing tests"}


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        pytest.param({"todos": [CLAUDE]}, "[>] t1: Write tests", id="an active form"),
        pytest.param({"todos": json.dumps([CLAUDE])}, "[>] t1: Write tests", id="a text of JSON"),
        pytest.param({"todos": [item("1", priority="high")]}, "[ ] 1: do 1", id="a word for a priority"),
        pytest.param({"todos": [item("1", "In Progress")]}, "[>] 1: do 1", id="a status in two words"),
        pytest.param({"todos": [item("1", "complete"), item("2", "todo")]}, "[x] 1: do 1\n[ ] 2: do 2", id="other words"),
        pytest.param({"explanation": "x", "todos": [item("1")]}, "[ ] 1: do 1", id="an explanation"),
        pytest.param({"todos": [{"id": None, **CLAUDE, "blocked_reason": None, "dependencies": None, "priority": None}]},
            "[>] t1: Write tests", id="nulls"),
        pytest.param({"todos": [item("1", blocked_reason="")]}, "[ ] 1: do 1", id="no reason to be blocked"),
        pytest.param({"action": "add", "patch": CLAUDE}, "[>] t1: Write tests", id="an active form of a single todo"),
    ],
)  # fmt: skip
def test_the_tool_takes_lists_as_models_write_them(arguments: dict[str, Any], shown: str) -> None:
    answer = Toolbox([todo_tool(tuple)], Contracts().breach).answer(ToolCall("x", "TodoWrite", arguments))
    assert answer["text"] == f"the list is kept:\n{shown}"


def test_the_tool_tells_models_the_words_that_are_meant() -> None:
    properties = todo_tool(tuple).parameters["properties"]
    row = properties["todos"]["items"]
    assert row["required"] == ["content", "status"]
    assert row["properties"]["status"]["description"] == " | ".join(STATUSES)
    assert row["properties"]["blocked_reason"]["description"] == " | ".join(BLOCKED_REASONS)


# Any sequence of changes

NAMES = st.sampled_from(["a", "b", "c", "p", "t1"])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.sampled_from(["do a", "do b", "run the tests", "x"]), "status": st.sampled_from([*STATUSES, *ALIASES]),
        "required": st.sampled_from([True, False, None]), "dependencies": st.lists(NAMES, max_size=2),
        "supersedes": st.lists(NAMES, max_size=2), "blocked_reason": st.sampled_from(BLOCKED_REASONS),
        "failure_reason": st.text(max_size=3), "priority": st.sampled_from(["high", -3, None]),
        "activeForm": st.text(max_size=3),
    },
)  # fmt: skip
SPELLED = st.sampled_from([*STATUSES, *ALIASES, "In Progress", "COMPLETED", "not-started"])
ROW = st.builds(lambda name, status, more: {"content": "x", **more, **name, "status": status},
    st.fixed_dictionaries({}, optional={"id": NAMES}), SPELLED, FIELDS)  # fmt: skip
CHANGE = st.one_of(
    st.fixed_dictionaries({"todos": st.lists(ROW, max_size=4)}),
    st.fixed_dictionaries({"todos": st.lists(ROW, max_size=4).map(json.dumps), "explanation": st.text(max_size=3)}),
    st.fixed_dictionaries(
        {"action": st.sampled_from(ACTIONS), "id": NAMES},
        optional={
            "patch": FIELDS,
            "status": SPELLED,
            "reason": st.sampled_from(["", "why", *BLOCKED_REASONS]),
            "expected_revision": st.integers(0, 3),
        },
    ),
)


def check_invariants(old: Todos, new: Todos) -> None:
    names = [row.id for row in new]
    assert len(set(names)) == len(names) <= 64
    by_id, before = {row.id: row for row in new}, {row.id: row for row in old}
    for row in new:
        assert {*row.dependencies, *row.supersedes} <= set(names) - {row.id}
        assert row == settled_again(row)
        if row.status in ("in_progress", "completed"):
            assert all(by_id[name].status == "completed" for name in row.dependencies)
        if row.id in before:
            was = before[row.id]
            assert was.status not in FINAL or row.status == was.status
            assert row.revision >= was.revision
            assert row == was or row.revision == was.revision + 1
            assert row.owner_type == was.owner_type
    TopologicalSorter({row.id: row.dependencies for row in new}).prepare()
    planned = by_id["p"]
    assert planned.counts
    assert planned.content == PLANNED.content
    assert planned.status != "canceled" or is_superseded(new, planned)


def settled_again(row: Todo) -> Todo:
    blocked = row.blocked_reason if row.status == "blocked" else ""
    assert bool(blocked) == (row.status == "blocked")
    return replace(row, blocked_reason=blocked)


@given(st.lists(CHANGE, max_size=12), st.booleans())
@example(
    [{"todos": [{"id": "p", "content": "run the tests", "status": "failed"}]}, {"action": "claim", "id": "p"}], False
)
@QUICK
def test_no_sequence_of_changes_breaks_a_rule_or_is_accepted_without_what_is_planned(
    changes: list[dict[str, Any]], alone: bool
) -> None:
    todos: Todos = (PLANNED,) if alone else (PLANNED, todo("a"), todo("b"))
    for arguments in changes:
        before = json.dumps(arguments)
        try:
            made = apply_change(todos, arguments)
        except TodoError:
            continue
        finally:
            assert json.dumps(arguments) == before
        check_invariants(todos, made)
        assert apply_change(todos, arguments) == made
        todos = made
    if run_gate(todos, "done").status == "accepted":
        planned = next(row for row in todos if row.id == "p")
        assert planned.status == "completed" or is_superseded(todos, planned)
        assert any(row.status == "completed" and row.id in find_protected(todos) for row in todos)


@given(
    st.one_of(json_values, st.dictionaries(st.sampled_from(["todos", "action", "id", "patch", "reason"]), json_values))
)
@example({"todos": [{"id": 10**5000, "content": "a", "status": "done"}]})
@example({"action": "add", "patch": {"content": "a", 7: 1}})
@example({"todos": '[{"id": ' + "9" * 5000 + ', "content": "a", "status": "done"}]'})
@example({"action": "claim", "id": "a", "expected_revision": float("nan")})
@QUICK
def test_no_arguments_raise_anything_but_a_refusal(arguments: Any) -> None:
    told = ""
    try:
        apply_change((todo("a"),), arguments if isinstance(arguments, dict) else {"todos": arguments})
    except TodoError as error:
        told = str(error)
    assert len(told) < 5000


PLAIN = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["a", "b", "c"]),
        "status": st.sampled_from(["pending", "in_progress", "completed", "Done"]),
    },
    optional={"activeForm": st.just("x"), "priority": st.sampled_from(["high", "low"])},
)


@pytest.mark.slow
@given(st.lists(st.tuples(st.lists(PLAIN, max_size=5), st.booleans(), st.booleans()), max_size=6))
@QUICK
def test_a_list_of_the_agents_own_todos_is_refused_only_where_it_leaves_out_what_is_open(
    lists: list[tuple[list[dict[str, Any]], bool, bool]],
) -> None:
    todos: Todos = ()
    for plain, is_numbered, is_text in lists:
        rows = [{**row, "id": str(number)} for number, row in enumerate(plain)] if is_numbered else plain
        arguments = {"todos": json.dumps(rows) if is_text else rows}
        why = ""
        try:
            made = apply_change(todos, arguments)
        except TodoError as error:
            why = str(error)
        if why:
            assert "stay on the list" in why
            continue
        assert [(row.content, row.status == "completed") for row in made] == [
            (row["content"], row["status"] in ("completed", "Done")) for row in rows
        ]
        for row in made:
            was = next((old for old in todos if old.id == row.id), row)
            assert was.status not in FINAL or row.status == was.status
        todos = made
