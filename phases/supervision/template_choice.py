"""Which steps a task is to take (sections 6.2 to 6.4): the built-in templates, ranked for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phases.supervision.complexity import Complexity, complexity_of
from phases.supervision.facts import Task
from phases.supervision.words import NodeType, TaskIntent

Step = tuple[NodeType, str]
EXECUTABLE = (TaskIntent.EDIT, TaskIntent.DEBUG, TaskIntent.TEST, TaskIntent.REFACTOR)
_VERIFY: Step = (NodeType.VERIFY, "Run verification")
_TRIVIAL: tuple[Step, ...] = (
    (NodeType.EDIT, "Write or modify code"),
    _VERIFY,
    (NodeType.SUMMARIZE, "Summarize the changes"),
)
_DELEGATE: Step = (NodeType.DELEGATE, "Explore the repository")
_LARGE_REPO_FILES = 500


@dataclass(frozen=True)
class Template:
    """Steps for some intents. One with a condition is no choice where its condition does not hold."""

    name: str
    intents: tuple[TaskIntent, ...]
    score: float
    """How well it does, 0 to 1."""
    steps: tuple[Step, ...]
    condition: Callable[[Task, Complexity], bool] | None = None


def _steps(inspect: str, search: str, edit: str, summarize: str) -> tuple[Step, ...]:
    return (
        (NodeType.INSPECT, inspect),
        (NodeType.SEARCH, search),
        (NodeType.EDIT, edit),
        _VERIFY,
        (NodeType.SUMMARIZE, summarize),
    )


_EDIT = _steps("Understand the goal", "Consult related content", "Write or modify code", "Summarize the changes")
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
        _steps(
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
        _steps("Settle scope and aim", "Run tests, read their output", "Adjust code or tests", "Summarize the result"),
    ),
    Template(
        "refactor",
        (TaskIntent.REFACTOR,),
        0.79,
        _steps("Settle aim and scope", "Find impact and dependencies", "Apply the refactoring", "Summarize the impact"),
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


def ranked(task: Task, templates: tuple[Template, ...] = BUILT_IN) -> tuple[tuple[Template, float], ...]:
    """What fits the task, the best first: 0.6 of its score, and 0.2 where its condition holds."""
    level = complexity_of(task)[1]
    fitting = [
        (template, _rank(template))
        for template in templates
        if task.intent in template.intents and (template.condition is None or template.condition(task, level))
    ]
    return tuple(sorted(fitting, key=lambda row: -row[1]))


def steps_of(task: Task, templates: tuple[Template, ...] = BUILT_IN) -> tuple[Step, ...]:
    """The steps that a task is to take: the best template in the shape of section 6.3, without what it cannot do."""
    level = complexity_of(task)[1]
    chosen = next((template.steps for template, _ in ranked(task, templates)), ())
    if chosen and level is Complexity.TRIVIAL and task.intent in EXECUTABLE:
        chosen = _TRIVIAL
    if chosen and level is Complexity.HARD and chosen[0][0] is not NodeType.DELEGATE:
        chosen = (_DELEGATE, *chosen)
    if task.verify_commands:
        return chosen
    compiled = ((NodeType.VERIFY, "Check that the code compiles"),) if task.repo.byte_compiles else ()
    return tuple(kept for step in chosen for kept in (compiled if step[0] is NodeType.VERIFY else (step,)))


def step_queue(task: Task, done: frozenset[NodeType]) -> tuple[Step, ...]:
    """The steps of the template that are not done: what drives where no graph can."""
    return tuple(step for step in steps_of(task) if step[0] not in done)


def _rank(template: Template) -> float:
    return 0.6 * template.score + (0.2 if template.condition else 0.0)
