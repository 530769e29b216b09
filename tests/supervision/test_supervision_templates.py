"""Which steps a task is given: complexity, the choice of a template, the shape of its graph."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.supervision.enums import GraphStatus, NodeStatus, NodeType, TaskIntent, TaskPhase, ToolClass
from phases.supervision.facts import RepoShape, Task
from phases.supervision.graph import TaskGraph
from phases.supervision.serialization import from_json, to_json
from phases.supervision.templates import (
    Complexity,
    build_graph,
    complexity_of,
    goal_points,
    half_up,
    rank_templates,
    repo_points,
    step_queue,
    steps_of,
)
from tests.supervision_runs import find_breaches

TESTED = RepoShape(test_framework="pytest")
FULL_GOAL = "First refactor the whole login page of the shop, then test that every customer can sign in"
SIMPLE = Task("Show the name of the customer on top", TaskIntent.EDIT, (), ("pytest",), TESTED)
MODERATE = Task(FULL_GOAL, TaskIntent.EDIT, (), ("pytest",), TESTED)
FILES = tuple(f"m{index}.py" for index in range(5))
COMPLEX = replace(MODERATE, planned_files=FILES)
HARD = replace(COMPLEX, repo=replace(TESTED, monorepo=True))
TRIVIAL = Task("fix the login bug", TaskIntent.EDIT, (), ("pytest",), TESTED)
NodeKinds = list[NodeType]


def kinds(graph: TaskGraph) -> NodeKinds:
    return [graph.nodes[step].type for step in graph.main_branch.node_ids]


def built(task: Task) -> TaskGraph:
    graph = build_graph(task, graph_id="g1", at=3)
    assert find_breaches(graph) == []
    return graph


# --- complexity -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (TRIVIAL, (12, Complexity.TRIVIAL)),
        (SIMPLE, (22, Complexity.SIMPLE)),
        (MODERATE, (40, Complexity.MODERATE)),
        (COMPLEX, (70, Complexity.COMPLEX)),
        (replace(COMPLEX, repo=RepoShape(600, backend=True)), (86, Complexity.HARD)),
    ],
    ids=["four words", "eight words", "all that a goal can say", "with five files", "in a backend of 600 files"],
)
def test_the_score_is_the_checked_one(task: Task, expected: tuple[int, Complexity]) -> None:
    assert complexity_of(task) == expected


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (15, "trivial"),
        (16, "simple"),
        (30, "simple"),
        (31, "moderate"),
        (55, "moderate"),
        (56, "complex"),
        (75, "complex"),
    ],
)
def test_a_level_ends_where_the_table_says(score: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phases.supervision.templates.goal_points", lambda goal: score)
    assert complexity_of(Task("", TaskIntent.EDIT)) == (score, Complexity(level))


@pytest.mark.parametrize(
    ("goal", "points"),
    [
        ("", 0),
        ("ab", 1 + 2),
        ("x" * 30, 10 + 2),
        ("x" * 31, 10 + 2),
        ("a b c d e f g h i j", half_up(19 / 3) + 15),
        ("a b c d e f g h i j k", half_up(21 / 3) + 15),
        ("fix, then test", 5 + 5 + 8),
        ("migrate it", 3 + 3 + 7),
        ("authentic", 3 + 2),
        ("修复登录", half_up(4 / 3) + 3),
        ("重构", 1 + half_up(1.5) + 7),
        ("dann implementieren", 6 + 3 + 8 + 7),
    ],
)
def test_a_goal_is_worth_its_length_its_words_and_what_they_say(goal: str, points: int) -> None:
    assert goal_points(goal) == points


@pytest.mark.parametrize(
    ("repo", "points"),
    [
        (RepoShape(100), 0),
        (RepoShape(101), 5),
        (RepoShape(500), 5),
        (RepoShape(501), 10),
        (RepoShape(backend=True), 6),
        (RepoShape(backend=True, fullstack=True), 10),
        (RepoShape(501, monorepo=True, fullstack=True), 30),
    ],
)
def test_a_repository_is_worth_its_size_and_its_shape(repo: RepoShape, points: int) -> None:
    assert repo_points(repo) == points


def test_changed_files_count_where_they_are_more_than_the_planned_ones() -> None:
    assert complexity_of(MODERATE, changed_files=2)[0] == 52
    assert complexity_of(COMPLEX, changed_files=2)[0] == 70
    assert complexity_of(COMPLEX, changed_files=500)[0] == 70


# --- the choice -----------------------------------------------------------------------------------------------------


def test_without_a_test_framework_no_test_beats_standard_by_592_to_492() -> None:
    task = replace(MODERATE, verify_commands=(), repo=RepoShape(byte_compiles=False))
    assert [(template.name, round(rank, 3)) for template, rank in rank_templates(task)] == [
        ("no-test", 0.59),
        ("standard", 0.492),
    ]
    assert NodeType.VERIFY not in kinds(built(task))


def test_a_compile_check_keeps_the_verify_step() -> None:
    graph = built(replace(MODERATE, verify_commands=(), repo=RepoShape(byte_compiles=True)))
    verify = next(node for node in graph.nodes.values() if node.type is NodeType.VERIFY)
    assert verify.title == "Check that the code compiles"


def test_a_verify_command_keeps_the_verify_step_whatever_the_framework() -> None:
    graph = built(replace(MODERATE, repo=RepoShape(byte_compiles=False)))
    assert [node.title for node in graph.nodes.values() if node.type is NodeType.VERIFY] == ["Run verification"]


def test_a_simple_task_with_tests_gets_the_quick_way_without_a_search() -> None:
    assert rank_templates(SIMPLE)[0][0].name == "quickfix"
    assert kinds(built(SIMPLE)) == [NodeType.INSPECT, NodeType.EDIT, NodeType.VERIFY, NodeType.SUMMARIZE]


def test_a_template_whose_condition_does_not_hold_is_no_choice() -> None:
    assert [template.name for template, _ in rank_templates(MODERATE)] == ["standard"]


def test_a_large_repository_is_explored_first_and_checked_twice() -> None:
    task = replace(MODERATE, repo=replace(TESTED, file_count=501))
    assert rank_templates(task)[0][0].name == "large-repo"
    assert kinds(built(task)) == [
        NodeType.DELEGATE,
        NodeType.INSPECT,
        NodeType.SEARCH,
        NodeType.EDIT,
        NodeType.VERIFY,
        NodeType.VERIFY,
        NodeType.SUMMARIZE,
    ]


# --- the shape ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "steps", "first", "spares", "retries"),
    [
        (TRIVIAL, 3, NodeType.EDIT, {}, 1),
        (SIMPLE, 4, NodeType.INSPECT, {}, 1),
        (MODERATE, 5, NodeType.INSPECT, {"node-fb01": "edit"}, 2),
        (COMPLEX, 5, NodeType.INSPECT, {"node-fb01": "edit", "node-fb02": "verify"}, 2),
        (HARD, 6, NodeType.DELEGATE, {"node-fb01": "edit", "node-fb02": "verify", "node-fb03": "edit"}, 3),
    ],
    ids=["trivial", "simple", "moderate", "complex", "hard"],
)
def test_a_graph_has_the_shape_of_its_complexity(
    task: Task, steps: int, first: NodeType, spares: dict[str, str], retries: int
) -> None:
    graph = built(task)
    assert len(graph.main_branch.node_ids) == steps
    assert kinds(graph)[0] is first
    assert list(graph.main_branch.node_ids) == [f"node-{index:02}" for index in range(1, steps + 1)]
    assert {graph.nodes[step].max_retries for step in graph.main_branch.node_ids} == {retries}
    bound = {edge.target: graph.nodes[edge.source].type.value for edge in graph.edges if edge.type == "fallback"}
    assert bound == spares
    assert not spares.keys() & set(graph.main_branch.node_ids)
    assert [branch.node_ids for branch in graph.fallback_branches] == [(spare,) for spare in spares]
    normal = [(edge.source, edge.target) for edge in graph.edges if edge.type == "normal"]
    assert normal == list(itertools.pairwise(graph.main_branch.node_ids))


def test_a_graph_is_ready_and_no_step_has_begun() -> None:
    graph = built(COMPLEX)
    assert (graph.status, graph.progress, graph.created_at) == (GraphStatus.READY, 0, 3)
    assert {node.status for node in graph.nodes.values()} == {NodeStatus.PENDING}
    assert (graph.cursor.node_id, graph.cursor.branch_id) == ("node-01", "branch-main-g1")
    assert [branch.id for branch in graph.fallback_branches] == ["branch-fb-g1-0", "branch-fb-g1-1"]
    edit = graph.nodes["node-03"]
    assert (edit.phase, edit.suggested_tools, edit.evidence) == (
        TaskPhase.EDITING,
        ("write",),
        "m0.py, m1.py, m2.py and 2 more",
    )
    assert [graph.nodes[step].requires_tool for step in graph.main_branch.node_ids] == [False, True, True, True, False]


def test_the_exploration_is_read_only_and_short() -> None:
    delegate = built(HARD).nodes["node-01"].delegate
    assert delegate is not None
    assert (delegate.tools, delegate.max_rounds) == ((ToolClass.READ, ToolClass.SEARCH), 6)


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        (TaskIntent.DEBUG, ["inspect", "search", "edit", "verify", "summarize"]),
        (TaskIntent.TEST, ["inspect", "search", "edit", "verify", "summarize"]),
        (TaskIntent.REFACTOR, ["inspect", "search", "edit", "verify", "summarize"]),
        (TaskIntent.DOCS, ["inspect", "search", "edit", "summarize"]),
        (TaskIntent.INSPECT, ["search", "summarize"]),
        (TaskIntent.QUESTION, ["search", "summarize"]),
    ],
)
def test_each_intent_has_its_own_steps(intent: TaskIntent, expected: list[str]) -> None:
    graph = built(replace(MODERATE, intent=intent))
    assert [kind.value for kind in kinds(graph)] == expected


def test_a_trivial_question_is_not_turned_into_an_edit() -> None:
    assert kinds(built(replace(TRIVIAL, intent=TaskIntent.QUESTION))) == [NodeType.SEARCH, NodeType.SUMMARIZE]


def test_a_task_that_writes_nothing_has_no_fallback_that_could_write() -> None:
    assert built(replace(HARD, intent=TaskIntent.QUESTION)).fallback_branches == ()


def test_where_nothing_is_checked_every_fallback_is_for_the_edit() -> None:
    graph = built(replace(HARD, intent=TaskIntent.DOCS))
    edges = [edge for edge in graph.edges if edge.type == "fallback"]
    assert {graph.nodes[edge.source].type for edge in edges} == {NodeType.EDIT}
    assert len(edges) == 3


def test_no_template_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="empty_template: nothing is known to do for the intent edit"):
        build_graph(MODERATE, graph_id="g", at=0, templates=())


def test_the_queue_is_the_template_without_what_is_done() -> None:
    done = frozenset({NodeType.INSPECT, NodeType.SEARCH})
    assert step_queue(MODERATE, done) == (
        (NodeType.EDIT, "Write or modify code"),
        (NodeType.VERIFY, "Run verification"),
        (NodeType.SUMMARIZE, "Summarize the changes"),
    )
    assert step_queue(MODERATE, frozenset(NodeType)) == ()


# --- whatever comes -------------------------------------------------------------------------------------------------

TASKS = st.builds(
    Task,
    goal=st.text(max_size=200),
    intent=st.sampled_from(TaskIntent),
    planned_files=st.lists(st.text(max_size=20), max_size=8).map(tuple),
    verify_commands=st.sampled_from([(), ("pytest",)]),
    repo=st.builds(RepoShape, st.integers(0, 2000), st.booleans(), st.booleans(), st.booleans()),
)


@pytest.mark.slow
@given(TASKS)
@settings(max_examples=150, deadline=None)
def test_every_task_has_a_sound_graph_that_round_trips(task: Task) -> None:
    graph = built(task)
    assert from_json(TaskGraph, to_json(graph)) == graph
    assert len(steps_of(task)) == len(graph.main_branch.node_ids)
    assert 0 <= complexity_of(task)[0] <= 100
    assert all("\n" not in (node.evidence or "") and len(node.evidence or "") <= 200 for node in graph.nodes.values())
