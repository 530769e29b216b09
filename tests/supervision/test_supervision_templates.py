"""Which steps a task is given: the same five, with a second way for the edit and for the check."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.supervision.enums import GraphStatus, NodeStatus, NodeType, TaskPhase
from phases.supervision.facts import Task
from phases.supervision.graph import TaskGraph, build_graph
from phases.supervision.serialization import from_json, to_json
from tests.strategies import QUICK
from tests.supervision_runs import MODERATE, find_breaches

STEPS = [NodeType.INSPECT, NodeType.SEARCH, NodeType.EDIT, NodeType.VERIFY, NodeType.SUMMARIZE]
TASKS = [
    pytest.param(MODERATE, id="files and a check"),
    pytest.param(Task("What does the paper measure?"), id="a question without a plan"),
    pytest.param(Task("", tuple(f"m{index}.py" for index in range(600)), from_nothing=True), id="600 files, no check"),
]


def built(task: Task) -> TaskGraph:
    graph = build_graph(task, graph_id="g1")
    assert find_breaches(graph) == []
    return graph


@pytest.mark.parametrize("task", TASKS)
def test_every_task_gets_the_same_five_steps_in_order(task: Task) -> None:
    graph = built(task)
    main = [graph.nodes[step] for step in graph.main_branch.node_ids]
    assert [node.type for node in main] == STEPS
    assert [node.phase for node in main] == list(TaskPhase)
    assert {node.max_retries for node in main} == {2}
    normal = [(edge.source, edge.target) for edge in graph.edges if edge.type == "normal"]
    assert normal == list(itertools.pairwise(graph.main_branch.node_ids))


@pytest.mark.parametrize("task", TASKS)
def test_the_edit_and_the_check_have_one_fallback_each_and_the_other_steps_none(task: Task) -> None:
    graph = built(task)
    bound = {edge.target: graph.nodes[edge.source].type for edge in graph.edges if edge.type == "fallback"}
    assert bound == {"node-fb01": NodeType.EDIT, "node-fb02": NodeType.VERIFY}
    assert [branch.node_ids for branch in graph.fallback_branches] == [("node-fb01",), ("node-fb02",)]
    assert {graph.nodes[step].type for step in bound} == {NodeType.FALLBACK}
    assert not bound.keys() & set(graph.main_branch.node_ids)


@pytest.mark.parametrize("task", TASKS)
def test_a_graph_is_ready_and_no_step_has_begun(task: Task) -> None:
    graph = built(task)
    assert (graph.status, graph.progress, graph.goal) == (GraphStatus.READY, 0, task.goal)
    assert {node.status for node in graph.nodes.values()} == {NodeStatus.PENDING}
    assert (graph.cursor.node_id, graph.cursor.branch_id) == ("node-01", "branch-main-g1")


@pytest.mark.slow
@given(st.builds(Task, st.text(max_size=200), st.lists(st.text(max_size=20), max_size=8).map(tuple)))
@QUICK
def test_every_graph_comes_back_from_its_json(task: Task) -> None:
    graph = built(task)
    assert from_json(TaskGraph, to_json(graph)) == graph
