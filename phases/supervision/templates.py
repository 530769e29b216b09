"""A task graph made from the template of a task (sections 6.1 to 6.4)."""

from __future__ import annotations

from dataclasses import dataclass

from phases.supervision.complexity import Complexity, complexity_of
from phases.supervision.facts import Task
from phases.supervision.graph import Branch, Cursor, Delegate, Edge, Node, TaskGraph
from phases.supervision.template_choice import BUILT_IN, Step, Template, steps_of
from phases.supervision.words import FallbackReason, NodeType, TaskPhase

PHASES = {
    NodeType.INSPECT: TaskPhase.INTENT,
    NodeType.SEARCH: TaskPhase.CONTEXT,
    NodeType.READ: TaskPhase.CONTEXT,
    NodeType.DELEGATE: TaskPhase.CONTEXT,
    NodeType.EDIT: TaskPhase.EDITING,
    NodeType.FALLBACK: TaskPhase.EDITING,
    NodeType.VERIFY: TaskPhase.VERIFICATION,
    NodeType.SUMMARIZE: TaskPhase.FINAL,
}
SUGGESTED = {
    NodeType.INSPECT: ("read", "search"),
    NodeType.SEARCH: ("search", "read"),
    NodeType.READ: ("read",),
    NodeType.DELEGATE: ("delegate", "read", "search"),
    NodeType.EDIT: ("write",),
    NodeType.FALLBACK: ("write", "read", "exec"),
    NodeType.VERIFY: ("exec",),
    NodeType.SUMMARIZE: (),
}


@dataclass(frozen=True)
class _Effort:
    """What a level of complexity is worth."""

    retries: int
    fallbacks: int


_EFFORT = {
    Complexity.TRIVIAL: _Effort(1, 0),
    Complexity.SIMPLE: _Effort(1, 0),
    Complexity.MODERATE: _Effort(2, 1),
    Complexity.COMPLEX: _Effort(2, 2),
    Complexity.HARD: _Effort(3, 3),
}
_FALLBACKS = (
    (NodeType.EDIT, "another way to write the code", FallbackReason.RETRIES_EXCEEDED),
    (NodeType.VERIFY, "another way to make the checks pass", FallbackReason.VERIFY_FAIL),
    (NodeType.EDIT, "the smallest change that works", FallbackReason.RETRIES_EXCEEDED),
)
_MOST_EVIDENCE, _LONGEST_EVIDENCE = 3, 200


def build_graph(task: Task, *, graph_id: str, at: int, templates: tuple[Template, ...] = BUILT_IN) -> TaskGraph:
    """The graph of a task: ready, no step started. Raises ValueError where no template gives a step."""
    steps = steps_of(task, templates)
    if not steps:
        raise ValueError(f"empty_template: nothing is known to do for the intent {task.intent}")
    effort = _EFFORT[complexity_of(task)[1]]
    nodes = [_node(index, step, effort.retries, task) for index, step in enumerate(steps, 1)]
    main = Branch(f"branch-main-{graph_id}", tuple(node.id for node in nodes))
    pairs = zip(main.node_ids, main.node_ids[1:], strict=False)
    edges = tuple(Edge(source, target) for source, target in pairs)
    spares, branches, bindings = _fallbacks(nodes, effort.fallbacks, main.id)
    return TaskGraph(
        graph_id=graph_id,
        goal=task.goal,
        intent=task.intent,
        nodes={node.id: node for node in (*nodes, *spares)},
        edges=(*edges, *bindings),
        main_branch=main,
        cursor=Cursor(main.id, nodes[0].id, 0),
        created_at=at,
        updated_at=at,
        fallback_branches=branches,
    )


def one_line(text: str, most: int = _LONGEST_EVIDENCE) -> str:
    """A text of the workspace or a model, in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _node(index: int, step: Step, retries: int, task: Task) -> Node:
    kind, title = step
    delegate = None
    if kind is NodeType.DELEGATE:
        delegate = Delegate("Explore the repository: its layout, its entry points, what the goal touches.")
    return Node(
        id=f"node-{index:02}",
        type=kind,
        title=title,
        phase=PHASES[kind],
        requires_tool=kind not in (NodeType.INSPECT, NodeType.SUMMARIZE),
        suggested_tools=SUGGESTED[kind],
        evidence=_evidence(task) if kind is NodeType.EDIT else None,
        max_retries=retries,
        delegate=delegate,
    )


def _evidence(task: Task) -> str | None:
    """The first planned files."""
    files = task.planned_files
    more = f" and {len(files) - _MOST_EVIDENCE} more" if len(files) > _MOST_EVIDENCE else ""
    return one_line(", ".join(files[:_MOST_EVIDENCE]) + more) or None


def _fallbacks(
    nodes: list[Node], count: int, main: str
) -> tuple[tuple[Node, ...], tuple[Branch, ...], tuple[Edge, ...]]:
    """Fallback steps, a branch for each, what binds them. Where nothing is verified, all are for the edit."""
    edits = [node for node in nodes if node.type is NodeType.EDIT]
    spares: list[Node] = []
    edges: list[Edge] = []
    for number, (kind, title, condition) in enumerate(_FALLBACKS[: count if edits else 0], 1):
        spares.append(
            Node(
                id=f"node-fb{number:02}",
                type=NodeType.FALLBACK,
                title=f"Fallback plan {number}: {title}",
                phase=PHASES[NodeType.FALLBACK],
                suggested_tools=SUGGESTED[NodeType.FALLBACK],
            )
        )
        bound = [step for step in nodes if step.type is kind] or edits
        edges.extend(Edge(step.id, spares[-1].id, "fallback", condition.value) for step in bound)
    stem = main.replace("branch-main-", "branch-fb-", 1)
    branches = tuple(
        Branch(f"{stem}-{index}", (node.id,), is_fallback=True, source_branch_id=main)
        for index, node in enumerate(spares)
    )
    return tuple(spares), branches, tuple(edges)
