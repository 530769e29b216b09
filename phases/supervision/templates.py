"""A task graph made from the template of a task (sections 6.1 to 6.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from phases.supervision.enums import EXECUTABLE, FallbackReason, NodeType, TaskIntent, TaskPhase
from phases.supervision.facts import RepoShape, Task
from phases.supervision.graph import Branch, Cursor, Delegate, Edge, Node, TaskGraph

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
    retries: int
    fallbacks: int


class Complexity(StrEnum):
    TRIVIAL = "trivial"
    SIMPLE = "simple"
    MODERATE = "moderate"
    COMPLEX = "complex"
    HARD = "hard"


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


@dataclass(frozen=True)
class Template:
    """Steps for some intents. One with a condition is no choice where its condition does not hold."""

    name: str
    intents: tuple[TaskIntent, ...]
    score: float
    """How well it does, 0 to 1."""
    steps: tuple[TemplateStep, ...]
    condition: Callable[[Task, Complexity], bool] | None = None


_DELEGATE: TemplateStep = (NodeType.DELEGATE, "Explore the repository")
_VERIFY: TemplateStep = (NodeType.VERIFY, "Run verification")


def _five_steps(inspect: str, search: str, edit: str, summarize: str) -> tuple[TemplateStep, ...]:
    return (
        (NodeType.INSPECT, inspect),
        (NodeType.SEARCH, search),
        (NodeType.EDIT, edit),
        _VERIFY,
        (NodeType.SUMMARIZE, summarize),
    )


_EDIT = _five_steps("Understand the goal", "Consult related content", "Write or modify code", "Summarize the changes")
BUILT_IN = (
    Template("standard", (TaskIntent.EDIT,), 0.82, _EDIT),
    Template(
        "quickfix",
        (TaskIntent.EDIT,),
        0.91,
        tuple(step for step in _EDIT if step[0] is not NodeType.SEARCH),
        condition=lambda task, level: level in (Complexity.TRIVIAL, Complexity.SIMPLE),
    ),
    Template(
        "large-repo",
        (TaskIntent.EDIT,),
        0.74,
        (_DELEGATE, *_EDIT[:3], (NodeType.VERIFY, "Run the nearest checks"), *_EDIT[3:]),
        condition=lambda task, level: task.repo.file_count > _LARGE_REPO_FILES,
    ),
    Template(
        "no-test",
        (TaskIntent.EDIT,),
        0.65,
        _EDIT,  # its verify step is a compile check, or falls away where there is none
        condition=lambda task, level: task.repo.test_framework == "none",
    ),
    Template(
        "debug",
        (TaskIntent.DEBUG,),
        0.80,
        _five_steps(
            "Pin the problem and its symptom",
            "Find context and evidence",
            "Make a minimal fix",
            "Summarize cause, change",
        ),
    ),
    Template(
        "test",
        (TaskIntent.TEST,),
        0.78,
        _five_steps(
            "Settle scope and aim", "Run tests, read their output", "Adjust code or tests", "Summarize the result"
        ),
    ),
    Template(
        "refactor",
        (TaskIntent.REFACTOR,),
        0.79,
        _five_steps(
            "Settle aim and scope", "Find impact and dependencies", "Apply the refactoring", "Summarize the impact"
        ),
    ),
    Template(
        "docs",
        (TaskIntent.DOCS,),
        0.80,
        (
            (NodeType.INSPECT, "Understand the goal"),
            (NodeType.SEARCH, "Search the sources"),
            (NodeType.EDIT, "Write the documentation"),
            (NodeType.SUMMARIZE, "Summarize the changes"),
        ),
    ),
    Template(
        "inspect",
        (TaskIntent.INSPECT, TaskIntent.QUESTION),
        0.85,
        ((NodeType.SEARCH, "Search and read"), (NodeType.SUMMARIZE, "Summarize what was found")),
    ),
)


def build_graph(task: Task, *, graph_id: str, at: int, templates: tuple[Template, ...] = BUILT_IN) -> TaskGraph:
    """The graph of a task: ready, no step started. Raises ValueError where no template gives a step."""
    steps = steps_of(task, templates)
    if not steps:
        raise ValueError(f"empty_template: nothing is known to do for the intent {task.intent}")
    effort = _EFFORT[complexity_of(task)[1]]
    nodes = [_build_node(index, step, effort.retries, task) for index, step in enumerate(steps, 1)]
    main = Branch(f"branch-main-{graph_id}", tuple(node.id for node in nodes))
    pairs = zip(main.node_ids, main.node_ids[1:], strict=False)
    edges = tuple(Edge(source, target) for source, target in pairs)
    spares, branches, bindings = _build_fallbacks(nodes, effort.fallbacks, main.id)
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


def _build_node(index: int, step: TemplateStep, retries: int, task: Task) -> Node:
    kind, title = step
    explore = Delegate("Explore the repository: its layout, its entry points, what the goal touches.")
    return Node(
        id=f"node-{index:02}",
        type=kind,
        title=title,
        phase=PHASES[kind],
        requires_tool=kind not in (NodeType.INSPECT, NodeType.SUMMARIZE),
        suggested_tools=SUGGESTED[kind],
        evidence=_evidence_of(task) if kind is NodeType.EDIT else None,
        max_retries=retries,
        delegate=explore if kind is NodeType.DELEGATE else None,
    )


def _evidence_of(task: Task) -> str | None:
    files = task.planned_files
    more = f" and {len(files) - _MOST_EVIDENCE} more" if len(files) > _MOST_EVIDENCE else ""
    return one_line(", ".join(files[:_MOST_EVIDENCE]) + more) or None


def _build_fallbacks(
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


TemplateStep = tuple[NodeType, str]
_TRIVIAL: tuple[TemplateStep, ...] = (
    (NodeType.EDIT, "Write or modify code"),
    _VERIFY,
    (NodeType.SUMMARIZE, "Summarize the changes"),
)
_LARGE_REPO_FILES = 500


def rank_templates(task: Task, templates: tuple[Template, ...] = BUILT_IN) -> tuple[tuple[Template, float], ...]:
    """What fits the task, the best first: 0.6 of its score, and 0.2 where its condition holds."""
    level = complexity_of(task)[1]
    fitting = [
        (template, 0.6 * template.score + (0.2 if template.condition else 0.0))
        for template in templates
        if task.intent in template.intents and (template.condition is None or template.condition(task, level))
    ]
    return tuple(sorted(fitting, key=lambda row: -row[1]))


def steps_of(task: Task, templates: tuple[Template, ...] = BUILT_IN) -> tuple[TemplateStep, ...]:
    """The steps that a task is to take: the best template in the shape of section 6.3, without what it cannot do."""
    level = complexity_of(task)[1]
    chosen = next((template.steps for template, _ in rank_templates(task, templates)), ())
    if chosen and level is Complexity.TRIVIAL and task.intent in EXECUTABLE:
        chosen = _TRIVIAL
    if chosen and level is Complexity.HARD and chosen[0][0] is not NodeType.DELEGATE:
        chosen = (_DELEGATE, *chosen)
    if task.verify_commands:
        return chosen
    compiled = ((NodeType.VERIFY, "Check that the code compiles"),) if task.repo.byte_compiles else ()
    return tuple(kept for step in chosen for kept in (compiled if step[0] is NodeType.VERIFY else (step,)))


def step_queue(task: Task, done: frozenset[NodeType]) -> tuple[TemplateStep, ...]:
    """The steps of the template that are not done: what drives where no graph can."""
    return tuple(step for step in steps_of(task) if step[0] not in done)


_LEVELS = ((15, Complexity.TRIVIAL), (30, Complexity.SIMPLE), (55, Complexity.MODERATE), (75, Complexity.COMPLEX))
_LONG_GOAL, _MANY_WORDS, _LENGTH_POINTS, _WORD_POINTS = 30, 10, 10, 15
_MULTISTEP_POINTS, _DEEP_POINTS = 8, 7
_MONOREPO_POINTS, _FULLSTACK_POINTS, _BACKEND_POINTS = 10, 10, 6
_POINTS_A_FILE, _MOST_FILE_POINTS = 6, 30
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_MULTISTEP = re.compile(
    r"\b(?:then|after that|afterwards|finally|first|second|next|step by step|steps|phases?|stages?|multiple|several"
    r"|dann|danach|zuerst|anschließend|schließlich|schritte"
    r"|ensuite|puis|enfin|étapes|luego|después|finalmente|pasos)\b"
    r"|然后|之后|接着|首先|最后|步骤|分阶段|次に|その後|最後に|그다음|마지막",
    re.IGNORECASE,
)
_DEEP_CHANGE = re.compile(
    r"\b(?:refactor\w*|rewrite|rearchitect\w*|architecture|migrat\w+|redesign\w*|restructur\w*|overhaul|from scratch"
    r"|implement\w*|reproduc\w+"
    r"|umbau\w*|umschreiben|architektur|migrier\w*|implementier\w*"
    r"|refonte|réécri\w+|refactoriz\w+|reescrib\w+|migración)\b"
    r"|重构|架构|迁移|重写|实现|复现|リファクタ|再設計|移行|実装|리팩터|재설계|구현",
    re.IGNORECASE,
)
"""English, German, French, Spanish, Chinese, Japanese, Korean: a word of another language counts for nothing."""


def complexity_of(task: Task, *, changed_files: int = 0) -> tuple[int, Complexity]:
    """The score, 0 to 100, with its level. The goal's text alone comes to 40 at most, so planned files count."""
    files = max(len(task.planned_files), changed_files, 0)
    score = goal_points(task.goal) + repo_points(task.repo) + min(_MOST_FILE_POINTS, _POINTS_A_FILE * files)
    return score, next((level for most, level in _LEVELS if score <= most), Complexity.HARD)


def goal_points(goal: str) -> int:
    """0 to 40."""
    words = _count_words(goal)
    length = _LENGTH_POINTS if len(goal) > _LONG_GOAL else half_up(len(goal) / 3)
    return (
        length
        + (_WORD_POINTS if words > _MANY_WORDS else half_up(1.5 * words))
        + (_MULTISTEP_POINTS if _MULTISTEP.search(goal) else 0)
        + (_DEEP_POINTS if _DEEP_CHANGE.search(goal) else 0)
    )


def repo_points(repo: RepoShape) -> int:
    """0 to 30."""
    size = 10 if repo.file_count > 500 else 5 if repo.file_count > 100 else 0
    stack = _FULLSTACK_POINTS if repo.fullstack else _BACKEND_POINTS if repo.backend else 0
    return size + stack + (_MONOREPO_POINTS if repo.monorepo else 0)


def half_up(value: float) -> int:
    """The nearest whole number, halves upwards: for values that are not negative."""
    return int(value + 0.5)


def _count_words(goal: str) -> int:
    """Words between spaces; of scripts without spaces, two characters are one."""
    return len(_IDEOGRAPHS.sub(" ", goal).split()) + half_up(len(_IDEOGRAPHS.findall(goal)) / 2)
