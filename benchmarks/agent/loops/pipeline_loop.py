"""The loop of this project, with its journal and its ledger on the disk: every reply and every result synced before its use."""

from __future__ import annotations

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(HERE))))

from canned import OUTPUT, TEXT, TURNS, Clock

from phases.agent.asking import Conversation
from phases.agent.beginning import Begun
from phases.agent.commands import Commands
from phases.agent.hands import Hands, Watched
from phases.agent.journal import Journal
from phases.agent.ledger import Ledger
from phases.agent.loop import Run, work
from phases.agent.memory import Memory
from phases.agent.model import Check, Reply, Request, ToolCall
from phases.agent.sandbox.commands import NONE, Box
from phases.agent.sandbox.snapshots import Snapshot
from phases.agent.tools.notes import Notes
from phases.agent.tools.tool import Tool, closed
from phases.agent.tools.toolbox import Toolbox
from phases.agent.workspace import Workspace
from pipeline.contract import Contracts

CLOCK = Clock()
PLAN = {"requirements": [], "file_structure": [{"path": "a.py", "purpose": "x"}], "implementation_components": []}


class Canned:
    name, detail, window, priced = "canned", "", 10**7, True
    secrets: tuple[str, ...] = ()

    def ask(self, request: Request) -> Reply:
        turn = CLOCK.tick()
        calls = () if turn >= TURNS else (ToolCall(f"c{turn}", "Look", {"number": turn}),)
        return Reply("ok", TEXT, calls)

    def check(self) -> Check:
        return Check(True, "")

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0


def main() -> None:
    folder = tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER"))
    os.mkdir(f"{folder}/code")
    workspace, notes, model = Workspace(f"{folder}/code"), Notes(), Canned()
    ledger = Ledger(f"{folder}/llm.jsonl", {})
    look = Tool(
        "Look", "Shows a file.", closed({"number": {"type": "integer"}}), lambda number: OUTPUT, reads_only=True
    )
    box = Toolbox([look], Contracts().breach)
    commands = Commands(Box(workspace.root, NONE), Snapshot(workspace.root, f"{folder}/before"))
    explorers = type("Nobody", (), {"step": ""})()
    hands = Hands(box, Watched(workspace, ["a.py"], commands, explorers, notes, {}))
    conversation = Conversation(model, Journal(f"{folder}/journal.jsonl", {"thread": "implement"}), ledger, "implement")
    begun = Begun(conversation.journal, ("a.py",), ("a.py",), {}, {}, (), model.window)
    memory = Memory(PLAN, begun, hands.schemas)
    work(Run(conversation, memory, hands, lambda turn: {"block": None, "verification": {}}, 10**6))
    CLOCK.tell()


main()
