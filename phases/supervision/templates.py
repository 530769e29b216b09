"""Build the task graph of a run: five steps, with a fallback for the edit and for the check (sections 6.1 and 6.3)."""

from __future__ import annotations

from phases.supervision.enums import FallbackReason, NodeType, TaskPhase
from phases.supervision.facts import Task
from phases.supervision.graph import Branch, Cursor, Edge, Node, TaskGraph

TemplateStep = tuple[NodeType, TaskPhase, str]
STEPS: tuple[TemplateStep, ...] = (
    (NodeType.INSPECT, TaskPhase.INTENT, "Understand the goal"),
    (NodeType.SEARCH, TaskPhase.CONTEXT, "Find what the goal touches"),
    (NodeType.EDIT, TaskPhase.EDITING, "Write the code"),
    (NodeType.VERIFY, TaskPhase.VERIFICATION, "Run the checks"),
    (NodeType.SUMMARIZE, TaskPhase.FINAL, "Summarize the work"),
)
_FALLBACKS = (
    (NodeType.EDIT, "Write the code in another way", FallbackReason.RETRIES_EXCEEDED),
    (NodeType.VERIFY, "Make the checks pass in another way", FallbackReason.VERIFY_FAIL),
)
_RETRIES = 2


def build_graph(task: Task, *, graph_id: str, at: int) -> TaskGraph:
    """Return the graph of a task, ready and without a started step."""
    nodes = [
        Node(f"node-{index:02}", kind, title, phase, max_retries=_RETRIES)
        for index, (kind, phase, title) in enumerate(STEPS, 1)
    ]
    main = Branch(f"branch-main-{graph_id}", tuple(node.id for node in nodes))
    edges = [Edge(source, target) for source, target in zip(main.node_ids, main.node_ids[1:], strict=False)]
    branches = []
    for index, (kind, title, condition) in enumerate(_FALLBACKS):
        spare = Node(f"node-fb{index + 1:02}", NodeType.FALLBACK, title, TaskPhase.EDITING)
        edges += [Edge(node.id, spare.id, "fallback", condition.value) for node in nodes if node.type is kind]
        branches.append(Branch(f"branch-fb-{graph_id}-{index}", (spare.id,), is_fallback=True))
        nodes.append(spare)
    return TaskGraph(
        graph_id=graph_id,
        goal=task.goal,
        nodes={node.id: node for node in nodes},
        edges=tuple(edges),
        main_branch=main,
        cursor=Cursor(main.id, main.node_ids[0], 0),
        created_at=at,
        updated_at=at,
        fallback_branches=tuple(branches),
    )
