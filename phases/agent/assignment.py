"""The assignment of phase 09: plan, limits and settings, and the paths of its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from phases.acceptance.hook_registry import MOST_CONTINUES, HookSetting
from phases.agent.tools.files import find_parse_fault
from phases.agent.tools.reference import ReferenceContext, reference_context_of
from phases.evidence.bare_python import make_bare_python
from phases.llm.model import Model, as_model
from phases.reproduction.declared import NAME as EXPERIMENTS
from phases.reproduction.declared import parse_declared
from phases.sandbox.box import Box, limits_from, with_machine
from phases.workspace.packages import ALLOWED, PackageRules, package_rules
from phases.workspace.task_paths import TaskPaths, task_paths
from pipeline.base.files import read_bytes
from pipeline.engine.phase import Checker, Context

_MOST_TURNS = 400


class Assignment(NamedTuple):
    """One plan that is to become code."""

    plan: dict[str, Any]
    plan_sha256: str
    places: TaskPaths
    sandbox: str
    """The kind of sandbox that commands run in."""
    limits: Mapping[str, Any]
    breach: Callable[[Mapping[str, Any], Any], str | None]
    """Returns why a value breaks a JSON schema, or None."""
    parse_plan: Callable[[bytes], dict[str, Any]]
    """A plan of before. Raises PipelineError where it breaks its schema."""
    parse_supervision: Callable[[bytes], dict[str, Any]]
    """The user's kernel/supervisor-config.json. Raises PipelineError where it breaks its schema."""
    version: int
    """Of the phase: another version does not go on with the journal of this one."""
    packages: PackageRules | None = None
    """Sources of the plan's packages; None if they may not be installed."""
    deadline: float | None = None
    supervisor: str = ""
    """off, adaptive or strict; empty: what the file of the supervision says."""
    shadow: str = ""
    """Shadow mode of supervision; empty: as in its file."""
    hooks: HookSetting = HookSetting()
    judge: Model | None = None
    """The model that judges the code against the paper; it can only open what looked closed."""
    cache_directory: str = ""
    """The user's, where the Python of commands lies; empty: it lies in the task."""
    library: ReferenceContext | None = None
    """Other people's code, where there is any."""
    tell: Callable[[str], None] = lambda text: None
    """Tells the user something that stays on the screen."""
    ask: Callable[[str, Sequence[str]], str | None] = lambda question, options: None
    """Asks the user a question with options; None if there is no answer."""
    find_fault: Callable[[str, str], str] = find_parse_fault
    """Says, from path and text, why a file of the workspace is of no use to what reads it; empty where it is."""
    in_place: Callable[[], None] = lambda: None
    """Raises when the task directory is no longer where it was."""

    @property
    def task(self) -> str:
        return os.path.basename(os.path.dirname(self.places.workspace))

    def make_bare_python(self) -> str:
        """Return the Python environment of commands, in the task if the cache cannot be written. Raises StorageError."""
        return make_bare_python(self.cache_directory, self.places.python)

    def read_paper(self) -> str:
        """Return the text of paper.md; empty where there is none."""
        path = self.places.paper
        return read_bytes(path).decode("utf-8", "replace") if os.path.isfile(path) else ""

    @property
    def command_box(self) -> Box:
        """Return the sandbox of commands and checks: access and limits, without Python and readable paths."""
        box = Box(self.places.workspace, self.sandbox, limits=limits_from(self.limits))
        return with_machine(box, self.limits)

    @property
    def is_watched(self) -> bool:
        """Return whether test coverage is measured."""
        return bool(self.limits.get("evidence", "on") != "off")

    @property
    def mutants(self) -> str:
        """Return the number of mutants for each requirement, or off."""
        return str(self.limits.get("mutants") or "off")

    @property
    def require(self) -> str:
        """Return the level of evidence demanded of each requirement: located, run, guarded or empty."""
        return str(self.limits.get("require") or "")

    @property
    def turn_limit(self) -> int:
        """Return the limit on turns; 0: no limit."""
        return int(self.limits.get("max_turns", _MOST_TURNS))


def assignment_of(
    plan: dict[str, Any], digest: str, index: Mapping[str, Any], ctx: Context, version: int, *, sandbox: str, data: str
) -> Assignment:
    """Return what the documents and the context of phase 09 ask for. `data`: the folders that commands may read."""
    contracts = ctx.contracts
    hooks = HookSetting(
        ctx.hooks,
        ctx.config_directory,
        lambda data: dict(contracts.parse("hooks.yaml", data, writer="you")),
        lambda value: contracts.breach(contracts.schema("trusted-workspaces.json"), value),
        ctx.environment,
        ctx.permissions.get("trust_hooks") == "yes",
        int(ctx.limits.get("max_acceptance_continues", MOST_CONTINUES)),
    )
    return Assignment(
        plan,
        digest,
        task_paths(ctx.paths.root),
        sandbox,
        {**ctx.limits, "data": data},
        contracts.breach,
        lambda data: dict(contracts.parse("initial_plan.txt", data, writer="an earlier review")),
        lambda data: dict(contracts.parse("supervisor-config.json", data, writer="you")),
        version,
        package_rules(ctx) if ctx.settings["install"] == ALLOWED else None,
        deadline=ctx.deadline,
        supervisor=str(ctx.limits.get("supervisor") or ""),
        shadow=str(ctx.limits.get("supervisor_shadow") or ""),
        hooks=hooks,
        judge=_judge_of(ctx),
        cache_directory=ctx.cache_directory,
        library=reference_context_of(index, ctx.paths.root, ctx.cache_directory, ctx.environment),
        tell=ctx.tell,
        ask=ctx.ask,
        find_fault=partial(_find_fault, plan, contracts),
        in_place=ctx.in_place,
    )


def _find_fault(plan: Mapping[str, Any], contracts: Checker, path: str, text: str) -> str:
    """Say why a file does not parse, or why phase 10 could not use what it declares."""
    if path != EXPERIMENTS:
        return find_parse_fault(path, text)
    known = {row["id"] for row in plan.get("expected_results", ())}
    parse = partial(contracts.parse, EXPERIMENTS, writer="you")
    faults = parse_declared(text.encode(), "full", known, parse).faults
    return f"cannot be used: {'; '.join(faults[:3])}" if faults else ""


def _judge_of(ctx: Context) -> Model | None:
    """Return the model that reviews the code, or None."""
    model = ctx.open_other("judge")
    return as_model(model) if model else None
