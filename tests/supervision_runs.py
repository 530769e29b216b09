"""Runs under supervision, for tests: rounds on a real bridge, one after the other, with all that came of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phases.supervision.bridge import SupervisorBridge
from phases.supervision.checkpoint import build_checkpoint
from phases.supervision.config import Config, resolve_policy
from phases.supervision.effects import Effects
from phases.supervision.enums import ExecutionMode, GraphStatus, NodeStatus, SupervisorPhase, ToolClass
from phases.supervision.facts import Action, Call, CallResult, DiskFacts, GateVerdict, Round, Task
from phases.supervision.graph import CLOSED, TaskGraph, percent_closed
from phases.supervision.serialization import from_json, to_json
from phases.supervision.signatures import digest_of_text, signature_of
from phases.supervision.state import KernelState, Setting

CHECK = "python -m pytest -q"
MODERATE = Task(
    goal="Implement the whole method of the paper, then train it and report the numbers of its tables",
    planned_files=("src/a.py", "src/b.py"),
    verify_commands=(CHECK,),
)
SOUND = DiskFacts(modified=("src/a.py",), present=MODERATE.planned_files, build_summary="ok")
"""A workspace in which the work of a run that wrote src/a.py stands: a graph can be made of it."""
UNMERGED = replace(SOUND, unmerged=("src/a.py",))
"""One of which none can be made."""


def as_written(state: KernelState) -> DiskFacts:
    """A workspace that holds just what the run is known to have written."""
    return DiskFacts(modified=tuple(state.ledger.files), present=tuple(state.ledger.files), build_summary="ok")


@dataclass(frozen=True)
class Turn:
    """One round, and what came of it."""

    context: str
    """What the model was told for this round alone."""
    refused: tuple[str, ...]
    """For each call its answer where it was kept back; empty where it was executed."""
    actions: tuple[Action, ...]
    """As they were recorded."""
    out: Effects
    lines: list[dict[str, Any]]
    """Of the event log, without their numbers."""
    before: KernelState
    begun: KernelState
    """After the decision on the mode."""
    state: KernelState
    """After the round."""

    @property
    def reasons(self) -> list[str]:
        """`event reason` of each line."""
        return [f"{line['event']} {line['reason']}" for line in self.lines]

    @property
    def said(self) -> list[str]:
        """What the model is told after the round."""
        return [said.text for said in self.out.injections]


class Supervision:
    """A run. A call that the gate keeps back is recorded as one that was not executed."""

    def __init__(
        self,
        word: str = "adaptive",
        config: Config | None = None,
        task: Task = MODERATE,
        *,
        disk: DiskFacts | Callable[[KernelState], DiskFacts] = SOUND,
        shadow: str = "",
    ) -> None:
        self.asked = 0
        """How often the disk was looked at."""
        self._disk = disk
        self.bridge = SupervisorBridge(setting_of(word, config, task, shadow), self._look)

    @property
    def state(self) -> KernelState:
        return self.bridge.state

    @property
    def mode(self) -> ExecutionMode:
        return self.state.mode.execution_mode

    @property
    def phase(self) -> SupervisorPhase:
        return self.state.phase.phase

    def round(
        self,
        *actions: Action,
        text: str = "",
        open_files: int = 0,
        ratio: float = 0.0,
        verdict: GateVerdict | None = None,
    ) -> Turn:
        """One round, whole."""
        before, context = self.state, self.bridge.begin()
        begun, refused, done = self.state, [], []
        for action in actions:
            refused.append(self.bridge.gate(action.call))
            done.append(replace(action, result=CallResult(executed=False)) if refused[-1] else action)
            self.bridge.record(action.call, done[-1].result)
        out = self.bridge.end(Round(0, text=text, token_ratio=ratio, open_files=open_files), verdict)
        lines = [{key: value for key, value in line.items() if key != "seq"} for line in self.bridge.lines()]
        return Turn(context, tuple(refused), tuple(done), out, lines, before, begun, self.state)

    def rounds(self, *rounds: Action) -> list[Turn]:
        """One round for each of these calls."""
        return [self.round(action) for action in rounds]

    def resumed(self) -> None:
        """It was cut off, or stopped, and goes on."""
        self.bridge.resumed()

    def set_to(self, word: str, config: Config | None = None, task: Task = MODERATE, *, shadow: str = "") -> None:
        """It goes on with other settings."""
        self.bridge.set_to(setting_of(word, config, task, shadow))

    def continued(self) -> Supervision:
        """Another run that goes on from the checkpoint of this one."""
        other = Supervision(disk=self._disk)
        other.bridge.setting, other.bridge.state = self.bridge.setting, self.kept()
        return other

    def kept(self) -> KernelState:
        """The state as its files bring it back."""
        return from_json(KernelState, json.loads(json.dumps(self.files()[0]["supervisorState"])))

    def files(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """checkpoint.json and task-graph.json."""
        graph = self.state.graph.graph
        return build_checkpoint(self.state, task="paper", turn=self.state.round, trigger="test"), to_json(
            graph
        )

    def _look(self) -> DiskFacts:
        self.asked += 1
        return self._disk(self.state) if callable(self._disk) else self._disk


def setting_of(word: str, config: Config | None = None, task: Task = MODERATE, shadow: str = "") -> Setting:
    """What stays the same for a run."""
    config = config or Config()
    policy = resolve_policy(word, config, shadow)
    return Setting(task, policy, config)


def read(path: str = "README.md", *, digest: str = "", kind: ToolClass = ToolClass.READ) -> Action:
    """A file is read, or with another class: looked for, delegated, noted down."""
    return _action(kind, path, CallResult(executed=True, digest=digest or path), path=path)


def write(path: str = "src/a.py", version: int = 0, *, lines: int = 3, new: bool = False) -> Action:
    """A file is changed. Each version is another call."""
    result = CallResult(executed=True, changed=(path,), lines=lines, digest=f"{path} {version}", sound=(path,))
    return _action(ToolClass.WRITE, f"{path} {version}", result, path=path, new_file=new)


def ran(command: str = "make", *, error: str = "") -> Action:
    """A command that ended well, or in an error."""
    result = CallResult(executed=True, failed=bool(error), digest=error or "ok", error=error)
    return _action(ToolClass.EXEC, command, result, command=command)


def check(*failures: str, command: str = CHECK) -> Action:
    """A verify command that passed, or left these failures."""
    told = tuple(sorted(failures))
    result = CallResult(
        executed=True, failed=bool(told), digest=digest_of_text(str(told)), error=(*told, "")[0], failures=told
    )
    return _action(ToolClass.EXEC, command, result, command=command, verify=True)


def broken(what: str = "broken.py") -> Action:
    """A search that fails, always in the same way."""
    result = CallResult(executed=True, failed=True, digest="gone", error=f"{what}: not found")
    return _action(ToolClass.SEARCH, what, result, path=what)


def events(turns: Sequence[Turn]) -> list[str]:
    """`event reason` of all their lines."""
    return [reason for turn in turns for reason in turn.reasons]


def _action(kind: ToolClass, about: str, result: CallResult, **call: Any) -> Action:
    signature = signature_of(kind.value, {"about": about})
    return Action(Call(signature, kind.value.title(), kind, signature, **call), result)


def find_breaches(graph: TaskGraph) -> list[str]:
    """Which invariants of section 6.1 do not hold; empty for a sound graph."""
    branches = (graph.main_branch, *graph.fallback_branches)
    named = {step for branch in branches for step in branch.node_ids}
    named |= {end for edge in graph.edges for end in (edge.source, edge.target)}
    found = [f"no step {step!r}" for step in sorted(named - graph.nodes.keys())]
    if graph.cursor.branch_id not in {branch.id for branch in branches}:
        return [*found, f"no branch {graph.cursor.branch_id!r}"]
    if found:
        return found
    if graph.branch.node_ids[graph.cursor.node_index : graph.cursor.node_index + 1] != (graph.cursor.node_id,):
        found.append("the cursor's step is not where its index says")
    running = [step for step, node in graph.nodes.items() if node.status is NodeStatus.RUNNING]
    if running not in ([], [graph.cursor.node_id]):
        found.append(f"running, and not the cursor's: {running}")
    for status, kept in (
        (NodeStatus.DONE, graph.cursor.completed_node_ids),
        (NodeStatus.SKIPPED, graph.cursor.skipped_node_ids),
    ):
        if len(set(kept)) != len(kept):
            found.append(f"{status} twice: {kept}")
        if set(kept) != {step for step, node in graph.nodes.items() if node.status is status}:
            found.append(f"the cursor's list of {status} steps differs from the steps")
    percent = percent_closed(graph.nodes, graph.main_branch)
    if graph.progress != percent:
        found.append(f"progress {graph.progress} is not {percent}")
    closed = sum(graph.nodes[step].status in CLOSED for step in graph.main_branch.node_ids)
    if (graph.status is GraphStatus.DONE) != (closed == len(graph.main_branch.node_ids)):
        found.append(f"{graph.status} with {closed} of {len(graph.main_branch.node_ids)} steps closed")
    return found
