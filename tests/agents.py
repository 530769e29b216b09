"""Models that follow a script, and phase 09 in a folder: what tests of the agent share."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phases.acceptance.hook_registry import HookSetting
from phases.agent.assignment import Assignment
from phases.agent.explore import Explorers
from phases.agent.implement import implement_plan
from phases.agent.offline_model import OfflineModel
from phases.agent.tools.ask_user import ask_user_tool
from phases.agent.tools.commands import bash_tool, job_tool
from phases.agent.tools.files import file_tools
from phases.agent.tools.reference import reference_tool
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import Notes, Tool, Toolbox, ToolKind
from phases.llm.model import Model, Reachability, Reply, Request, ToolCall, reply_to_json
from phases.sandbox.box import LANDLOCK
from phases.sandbox.commands import kind_of_sandbox
from phases.sandbox.probe import probe_kind
from phases.workspace.jobs import Jobs, JobState
from phases.workspace.task_paths import task_paths
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts
from tests.bare import shared_python

CONTRACTS = Contracts()
WITHOUT_MOUNTS = LANDLOCK if probe_kind(LANDLOCK).usable else "off"
"""A sandbox in which commands can write to .pipeline: what they do to it is seen afterwards."""


class Scripted:
    """Asks a function for the reply to each request, and keeps the requests."""

    name, detail, window, priced = "scripted", "a script", 10**6, True
    reports_cost = False
    secrets: tuple[str, ...] = ()

    def __init__(self, reply: Callable[[Request], Reply]) -> None:
        self.reply = reply
        self.requests: list[Request] = []
        self.replies: list[Reply] = []

    @property
    def asked(self) -> int:
        return len(self.requests)

    def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        self.replies.append(self.reply(request))
        return self.replies[-1]

    def check(self) -> Reachability:
        return Reachability(True, self.detail)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in + tokens_out) / 1_000_000


class _Counting(Scripted):
    """The offline model, with its requests kept; it writes a scaffold, which is judged once."""

    name = OfflineModel.name

    def __init__(self) -> None:
        self._offline = OfflineModel()
        super().__init__(self._offline.ask)

    def is_over(self, thread: str, turn: int) -> bool:
        return self._offline.is_over(thread, turn)


def counting() -> Scripted:
    """The offline model, with its requests kept."""
    return _Counting()


def says(*replies: Reply) -> Scripted:
    """Says what it was given, turn by turn, and then that it is done."""
    return Scripted(lambda request: replies[request.turn - 1] if request.turn <= len(replies) else Reply("ok", "done"))


def call(name: str, arguments: Mapping[str, Any] | None = None, identifier: str = "c1", **more: Any) -> Reply:
    """A reply with one call."""
    return Reply("ok", "", (ToolCall(identifier, name, {**(arguments or {}), **more}),))


def write(path: str, content: str, identifier: str = "c1") -> Reply:
    """A reply that writes one file."""
    return call("Write", {"file_path": path, "content": content}, identifier)


def write_recording(folder: Path, threads: Mapping[str, Sequence[Reply]]) -> Path:
    """Write the replies of each thread as a recording for `--model replay:PATH`."""
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(reply)}
        for thread, replies in threads.items()
        for turn, reply in enumerate(replies, 1)
    ]
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def assignment_in(
    folder: Path,
    plan: dict[str, Any],
    digest: str = "1" * 64,
    *,
    sandbox: str = "required",
    supervisor: str = "off",
    hooks: HookSetting = HookSetting(),  # noqa: B008 - frozen
    tell: Callable[[str], None] = lambda text: None,
    judge: Model | None = None,
    **limits: Any,
) -> Assignment:
    """Phase 09 in a folder, as the phase itself would ask for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "paper.md").touch()
    return Assignment(
        plan,
        digest,
        task_paths(str(folder)),
        sandbox if sandbox == LANDLOCK else kind_of_sandbox(sandbox),
        limits,
        CONTRACTS.breach,
        lambda data: dict(CONTRACTS.parse("initial_plan.txt", data, writer="a test")),
        lambda data: dict(CONTRACTS.parse("supervisor-config.json", data, writer="a test")),
        1,
        supervisor=supervisor,
        hooks=hooks,
        cache_directory=os.path.dirname(os.path.dirname(shared_python())),
        tell=tell,
        judge=judge,
    )


def carry_out(
    folder: Path, model: Model, plan: dict[str, Any], digest: str = "1" * 64, **limits: Any
) -> dict[str, Any]:
    """The documents of phase 09."""
    return implement_plan(assignment_in(folder, plan, digest, **limits), model, lambda done, total, text: None)


def all_tools(root: str = "/nowhere") -> list[Tool]:
    """Every tool that an agent has."""
    workspace, explorers = Workspace(root), Explorers.__new__(Explorers)
    bash = bash_tool(lambda command, seconds: (0, ""), start=lambda command: JobState(1, command))
    own = [bash, job_tool(Jobs(""), lambda: 0), todo_tool(tuple), reference_tool(None)]
    own.append(ask_user_tool(lambda question, options: None, list))
    return [*file_tools(workspace, Notes()), *search_tools(workspace), *own, explorers.tool()]


def tool_kinds() -> dict[str, ToolKind]:
    """The kind of every tool that an agent has, by name, as the tools themselves say it."""
    return Toolbox(all_tools(), CONTRACTS.breach).kinds()


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of the workspace."""
    workspace = Workspace(str(folder / "generate_code"))
    rows = [row for row in workspace.digests() if row.sha256]
    return {row.path: workspace.read_bytes(row.path) for row in rows}


def check_of(*paths: str) -> str:
    """A command that runs the code of these files, and fails when a number in it is another than 1, 2 or 4."""
    names = [path.removesuffix(".py") for path in paths]
    test = f"""import importlib, pytest
@pytest.mark.parametrize("name", {names})
def test_it(name):
    module = importlib.import_module(name)
    assert not hasattr(module, "meet") or module.meet()
    assert all(value in (1, 2, 4) for value in vars(module).values() if type(value) is int)
"""
    return f"printf %s {shlex.quote(test)} > test_it.py && python -m pytest -q test_it.py"


PLAN_LISTS = (
    "components", "values", "datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain",
)  # fmt: skip


def small_plan(*paths: str, verify: tuple[str, ...] = (), demands: bool = False) -> dict[str, Any]:
    """A plan of these files. `demands`: with one requirement each, which nothing accepts unless code names it and runs."""
    verify = verify or ((check_of(*paths),) if demands else ())
    rows = [
        {
            "id": f"R{number}",
            "kind": "artifact",
            "text": f"what {path} is for",
            "source": {"section": "1", "page": 1, "quote": path},
            "status": "stated",
        }
        for number, path in enumerate(paths, 1)
    ]
    return {
        "plan_version": 2,
        "paper": {"title": "A paper", "core_contribution": "something"},
        "language": "Python",
        "requirements": rows if demands else [],
        "file_structure": [
            {"path": path, "purpose": f"the purpose of {path}", "implements": [f"R{number}"]}
            for number, path in enumerate(paths, 1)
        ],
        **{name: [] for name in PLAN_LISTS},
        "validation_approach": {"verify_commands": list(verify)},
        "environment_setup": {"python": ">=3.11", "packages": []},
        "implementation_strategy": list(paths),
    }
