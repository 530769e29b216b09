"""The loop of this project, with its journal and its ledger on the disk: every reply and every result synced before its use."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(HERE))))

from canned import OUTPUT, TEXT, TURNS, Clock

from phases.agent.acceptance_setup import build_acceptance
from phases.agent.agent_state import AgentState, RunTodos, Supervisor, Unsupervised
from phases.agent.assignment import Assignment
from phases.agent.loop import run_loop
from phases.agent.memory import Memory
from phases.agent.session import Session, read_wanted
from phases.agent.tool_runner import ToolRunner
from phases.agent.tools.toolbox import Notes, Tool, Toolbox, ToolKind, object_schema
from phases.llm.conversation import Conversation
from phases.llm.journal import Journal
from phases.llm.ledger import Ledger
from phases.llm.model import Reachability, Reply, Request, ToolCall
from phases.sandbox.box import NONE, Box
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from phases.workspace.task_paths import task_paths
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts

CLOCK = Clock()
PLAN = {
    "paper": {"title": "A paper", "core_contribution": "something"},
    "requirements": [],
    "file_structure": [{"path": "a.py", "purpose": "x"}],
    "components": [],
    "implementation_strategy": [],
    "validation_approach": {"verify_commands": ["true"]},
}


ACCEPTED = {
    "block": None,
    "stop": "",
    "lines": [],
    "messages": [],
    "feedback": "",
    "most": 3,
    "verification": {"verified": True, "commands": []},
}


class NoEvents:
    """Tells nobody."""

    def begin_turn(self, turn: int) -> None: ...
    def end_turn(self, turn: int, what: str, interfaces: Mapping[str, str]) -> None: ...
    def working(self, what: str) -> None: ...
    def receiving(self, characters: int) -> None: ...
    def say(self, line: str) -> None: ...
    def rejected(self, number: int, tree_sha256: str) -> None: ...


class Canned:
    name, detail, window, priced = "canned", "", 10**7, True
    secrets: tuple[str, ...] = ()

    def ask(self, request: Request) -> Reply:
        turn = CLOCK.tick()
        calls = () if turn >= TURNS else (ToolCall(f"c{turn}", "Look", {"number": turn}),)
        return Reply("ok", TEXT, calls)

    def check(self) -> Reachability:
        return Reachability(True, "")

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


def main() -> None:
    folder = tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER"))
    os.mkdir(f"{folder}/generate_code")
    os.mkdir(f"{folder}/logs")
    mode = sys.argv[2] if len(sys.argv) > 2 else "off"
    work_in = Assignment(
        PLAN, "0" * 64, task_paths(folder), NONE, {"max_turns": 0}, Contracts().breach, dict, dict, 1, supervisor=mode
    )
    places, notes, model = work_in.places, Notes(), Canned()
    workspace, ledger = Workspace(places.workspace), Ledger(places.ledger, {})
    look = Tool(
        "Look", "Shows a file.", object_schema({"number": {"type": "integer"}}), lambda number: OUTPUT, ToolKind.SEARCH
    )
    box = Toolbox([look], Contracts().breach)
    commands = CommandRunner(Box(workspace.root, NONE), Snapshot(workspace.root, places.snapshot))
    explorers = type("Nobody", (), {"step": ""})()
    begun_with = {"before": {}, "supervisor": read_wanted(work_in)[0]}
    journal = Journal(places.journal, {"thread": "implement"}, begun=begun_with)
    conversation = Conversation(model, journal, ledger, "implement")
    begun = Session(journal, ("a.py",), ("a.py",), {}, {}, (), model.window, None)
    acceptance = build_acceptance(work_in, begun, workspace, commands, model)
    runner = ToolRunner(box, acceptance.tool_hooks, workspace, commands, explorers, notes, {"a.py": ""})
    memory = Memory(PLAN, begun, runner.schemas)
    supervisor: Supervisor = Unsupervised()
    if mode != "off":
        from phases.agent.supervisor_adapter import (
            build_supervisor,  # late: as in a run, the kernel is loaded when it is on
        )

        supervisor = build_supervisor(work_in, begun, memory, ledger, runner.kinds, lambda text: None)
    acceptance.chain.judge = lambda claim: ACCEPTED  # what a claim costs is timed in benchmarks/acceptance
    run_loop(AgentState(conversation, memory, runner, acceptance.chain, supervisor, NoEvents(), 10**6, 3, RunTodos()))
    CLOCK.tell()


main()
