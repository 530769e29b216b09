"""Public runs of other agents, played to the kernel as the loop would: what it says, keeps back, leads and stops.

A replay is counterfactual from the first intervention on: the recorded agent never read what it was told. A call that is
kept back is taken in as such, a run that is stopped ends there.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from phases.agent.kernel_facts import FactExtractor
from phases.agent.supervisor_adapter import setting_from
from phases.agent.tools.toolbox import ToolKind
from phases.llm.model import ToolCall
from phases.supervision.bridge import SupervisorBridge
from phases.supervision.config import Config
from phases.supervision.enums import LED
from phases.supervision.facts import DiskFacts, Round
from phases.supervision.serialization import to_json

KINDS = {
    "Read": ToolKind.READ,
    "Write": ToolKind.WRITE,
    "Edit": ToolKind.WRITE,
    "Grep": ToolKind.SEARCH,
    "Bash": ToolKind.EXEC,
    "TodoWrite": ToolKind.NEUTRAL,
}
_CHECKS = re.compile(
    r"\b(?:pytest|unittest|tox|make (?:test|check)|npm (?:run )?test|cargo test|ctest|go test|mvn|mvnw|gradlew?)\b"
)


@dataclass
class Played:
    """What came of one run. Rounds count from 1; 0: it never came."""

    words: list = field(default_factory=list)
    """Rounds after which, or in which, the model was given a text."""
    texts: list = field(default_factory=list)
    refused: list = field(default_factory=list)
    """(round, whether the call had worked)."""
    takeover: int = 0
    stop: int = 0
    lines: list = field(default_factory=list)
    """Of the event log."""

    @property
    def word(self):
        return min(self.words, default=0)

    @property
    def hard(self):
        return bool(self.refused or self.takeover or self.stop)


def read_runs(path):
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def is_kept_unseen(run):
    """The half that no rule was made on: the first byte of the SHA-256 of the run's id is odd."""
    return bool(hashlib.sha256(run["id"].encode()).digest()[0] % 2)


def round_of_call(run, number):
    """The round in which the call of this number was made; calls count from 1."""
    seen = 0
    for at, turn in enumerate(run["rounds"], 1):
        seen += len(turn["calls"])
        if seen >= number:
            return at
    return len(run["rounds"])


def find_check(run):
    """The run's most frequent test command, which stands for the check of a plan."""
    commands = (
        str(c["arguments"].get("command", "")) for turn in run["rounds"] for c in turn["calls"] if c["tool"] == "Bash"
    )
    counts = Counter(command for command in commands if _CHECKS.search(command))
    return [command for command, _ in counts.most_common(1)]


def plan_of(run):
    checks = find_check(run)
    return {
        "paper": {"title": run["id"], "core_contribution": "The issue is to be mended in this repository"},
        "file_structure": [],
        "validation_approach": {"verify_commands": checks},
    }


def play(run, mode):
    """The run under supervision of one mode."""
    plan, played = plan_of(run), Played()
    before = {c["changed"]: "before" for turn in run["rounds"] for c in turn["calls"] if c["changed"] and not c["new"]}
    pinned = {"mode": mode, "shadow": False, "config": to_json(Config())}
    setting = setting_from(pinned, plan, there=before or ["README.md"])
    written = {}
    bridge = SupervisorBridge(
        setting, lambda: DiskFacts(modified=tuple(written), present=tuple(written), build_summary="ok")
    )
    facts = FactExtractor([], before, (), plan["validation_approach"]["verify_commands"], KINDS)
    for number, turn in enumerate(run["rounds"], 1):
        _play_round(bridge, facts, turn, number, played, written)
        played.lines += bridge.lines()
        if played.stop:
            break
    return played


def _play_round(bridge, facts, turn, number, played, written):
    context = bridge.begin()
    if context:
        _note(played, number, context)
    for at, call in enumerate(turn["calls"]):
        asked = ToolCall(f"{number}-{at}", call["tool"], call["arguments"])
        fact = facts.call(asked)
        if refusal := bridge.gate(fact):
            played.refused.append((number, not call["failed"]))
            _note(played, number, refusal)  # a refusal is a text, too
            bridge.record(fact, facts.result(asked, {"skipped": True}))
            continue
        if call["changed"]:
            written[call["changed"]] = number
        bridge.record(fact, facts.result(asked, row_of(call, number)))
    out = bridge.end(Round(0, text=turn["said"], token_ratio=0.2))
    for said in out.injections:
        _note(played, number, said.text)
    if bridge.state.phase.phase in LED and not played.takeover:
        played.takeover = number
    if out.stop and not played.stop:
        played.stop = number
        played.texts.append((number, f"STOP {out.stop.reason}: {out.stop.detail}"))


def _note(played, number, text):
    played.words.append(number)
    played.texts.append((number, text))


def row_of(call, number):
    """A call as the journal would hold it. Where a file was changed by another tool than Write, its content is not known."""
    touched = [call["changed"]] if call["changed"] else []
    seen = dict.fromkeys(touched, f"{number:064}")
    return {"text": call["result"], "failed": call["failed"], "touched": touched, "seen": seen, "files": {}}
