"""Connect a run to the supervision kernel: facts in, messages and stops out, files kept.

Facts for the kernel are in the journal, so a replay is supervised in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.kernel_facts import FactExtractor, gate_verdict, read_disk_facts
from phases.agent.kernel_files import KernelFiles
from phases.agent.memory import Memory
from phases.agent.session import OFF, RULES, RULES_KEY, Session, read_wanted
from phases.agent.tools.toolbox import ToolKind
from phases.llm.journal import Journal
from phases.llm.ledger import Ledger
from phases.llm.model import Reply, ToolCall
from phases.supervision.bridge import SupervisorBridge
from phases.supervision.checkpoint import build_checkpoint, kernel_report
from phases.supervision.config import Config, resolve_policy
from phases.supervision.effects import Effects, Stop
from phases.supervision.facts import Call, DiskFacts, Round, Task
from phases.supervision.serialization import from_json, to_json
from phases.supervision.state import Setting
from phases.workspace.workspace import Workspace
from pipeline.base.errors import Paused, PhaseError

_ANEW = "--redo implement"
SNAPSHOT, STOP = "snapshot", "stop"
"""Kinds of journal rows: the snapshot of a takeover, and a stop."""
_MOST_MISSING = 8
_NOTICES = (10, 25, 50)
"""Percentages of a limit left at which the model is told."""
_TIMES = ("budget_time", "budget_minutes")
_NAMES = {"max_turns": "turns", "max_tokens": "tokens", "max_usd": "money", "batch_usd": "money", "max_minutes": "time"}


def build_supervisor(
    assignment: Assignment,
    session: Session,
    memory: Memory,
    ledger: Ledger,
    kinds: Mapping[str, ToolKind],
    tell: Callable[[str], None],
) -> KernelSupervisor:
    """Return the supervisor of a run that has begun. `kinds`: of the tools, by name; `tell` says what a user should know.

    Raises PhaseError for work that began under other rules: a resume walks it again, and would part from what is recorded.
    """
    if (rules := session.journal.begun.get(RULES_KEY)) != RULES:
        raise PhaseError(
            f"this work began under rules {rules} of supervision, and this version of pipeline goes by rules {RULES}, "
            "so it cannot be continued; begin it anew, with what is there kept aside: "
            f"pipeline resume {assignment.task} {_ANEW}",
            flag=_ANEW,
        )
    plan, places = assignment.plan, assignment.places
    wanted, warning = read_wanted(assignment)
    done = [path for path in session.planned if path not in session.write or path in session.before]
    checks = plan["validation_approach"]["verify_commands"]
    observed = FactExtractor(session.planned, session.before, done, checks, kinds)
    workspace, most_turns = Workspace(places.workspace), float(assignment.turn_limit)

    def limits(turn: int) -> dict[str, tuple[float, float]]:
        used = {name: (used, float(assignment.limits[name])) for name, used in ledger.used().items()}
        return {**used, "max_turns": (turn - 1, most_turns)}

    return KernelSupervisor(
        plan,
        assignment.task,
        observed,
        KernelFiles(places.kernel, places.kernel_report, assignment.in_place, tell),
        session.journal,
        memory,
        wanted,
        warning,
        limits,
        lambda: read_disk_facts(workspace, session.planned, session.before, observed.written),
    )


@dataclass
class KernelSupervisor:
    """The supervisor of one run: what the loop tells goes to the kernel, and what the kernel says goes to the model."""

    plan: Mapping[str, Any]
    task: str
    observed: FactExtractor
    files: KernelFiles
    journal: Journal
    memory: Memory
    wanted: Mapping[str, Any]
    """Supervision settings of this start."""
    warning: str
    """Fault of the settings file."""
    limits: Callable[[int], Mapping[str, tuple[float, float]]]
    """Returns use and size of each limit before a turn."""
    read_disk: Callable[[], DiskFacts]
    turn: int = 0
    _left: int = 100
    """Percentage of a limit last reported to the model."""
    _call: Call | None = None
    """Call passed to `refuse` last; None if the kernel is off."""
    missing: tuple[str, ...] = ()
    """Requirements that the last acceptance check found missing."""
    _stopped: str = ""
    """Reason for stopping the run."""

    def __post_init__(self) -> None:
        self.bridge = SupervisorBridge(self._setting(self.journal.begun["supervisor"]), self._disk)
        self._unlike = self.bridge.setting != self._setting(self.wanted)
        self._resumes = any(row["kind"] == "reply" for row in self.journal.rows())

    @property
    def acts(self) -> bool:
        """Return whether supervision may intervene in a run that goes wrong."""
        layers = self.bridge.setting.config.layers
        return self.bridge.on and not self.bridge.setting.policy.shadow and all(vars(layers).values())

    @property
    def may_refuse(self) -> bool:
        """Return whether a call of this turn may be refused; rollbacks are refused in free mode too."""
        return self.bridge.on and self.bridge.is_forced

    def news(self) -> dict[str, Any]:
        """Return facts for the kernel that are not on record; empty if there are none."""
        news: dict[str, Any] = {}
        if self._unlike:
            news["supervisor"] = dict(self.wanted)
        if self.wanted["mode"] == OFF:
            return news
        if self._resumes:
            news["resumed"] = True
            if (last := self.files.last_stop()) in _TIMES:
                news["timed_out"] = last
        if self.files.request():
            news["take_over"] = True
        if left := self._notice():
            news["left"] = left
        return news

    def ingest(self, news: Mapping[str, Any], live: bool) -> None:
        """Take in facts from outside. `live`: from this start of the run."""
        if "supervisor" in news:
            self.bridge.set_to(self._setting(news["supervisor"]))
            self._unlike = self.bridge.setting != self._setting(self.wanted)
        if "timed_out" in news:
            self.bridge.timed_out(news["timed_out"])
        if "resumed" in news:
            self._resumes = self._resumes and not live
            self.bridge.resumed()
        if "take_over" in news:
            self.bridge.take_over()
            if live or not self.journal.replaying:
                self.files.request_is_met()
        if "left" in news:
            self._left = int(news["left"]["percent"])
            if notice := news["left"]["text"]:
                self.memory.told(notice)

    def brief(self) -> str:
        return self.bridge.begin() if self.bridge.on else ""

    def refuse(self, call: ToolCall) -> str:
        self._call = self.observed.call(call) if self.bridge.on else None
        return self.bridge.gate(self._call) if self._call else ""

    def observe(self, call: ToolCall, result: Mapping[str, Any]) -> None:
        # Off now, it may be switched on by a resume, which must know what was written until then.
        if self._call is None:
            self.observed.changed(call, result)
        else:
            self.bridge.record(self._call, self.observed.result(call, result))

    def end_turn(self, reply: Reply, verdict: Mapping[str, Any] | None = None) -> str:
        """End a usable turn and return a line for the user. Raises Paused if supervision stops the run."""
        if not self.bridge.on:
            return ""
        before = self.bridge.state.phase
        ratio = reply.tokens_in / max(self.memory.window, 1)
        if verdict:
            self.missing = _missing_in(verdict)
        open_files = tuple(f"{path} is not written, or not sound" for path in self.observed.open_names)
        turn = Round(
            0,
            text=reply.text,
            token_ratio=ratio,
            open_files=self.observed.open_files,
            next_file=next(iter(self.observed.open_names), ""),
            missing=(*open_files, *self.missing)[:_MOST_MISSING],
        )
        out = self.bridge.end(turn, gate_verdict(verdict) if verdict else None)
        self._say(out)
        self._keep(out, failed=bool(verdict and verdict["block"]))
        if out.stop:
            self._stop(out.stop)
        now = self.bridge.state.phase
        if now.takeovers > before.takeovers:
            return "the supervisor leads from here"
        return "the supervisor hands the work back" if now.handoffs > before.handoffs else ""

    def close(self, stop_reason: str, detail: str, *, ended: bool = False) -> None:
        """Write how the run was supervised. Raises StorageError where the run has `ended` and a file could not be kept."""
        if self.bridge.on:
            self._write_down("ended")
        if self.bridge.on or self.warning:
            setting, warning, detail = self.bridge.setting, self.warning, self._stopped or detail
            self.files.report(
                kernel_report(self.bridge.state, setting, stop_reason=stop_reason, detail=detail, warning=warning)
            )
        if ended:
            self.files.settle()

    def _setting(self, pinned: Mapping[str, Any]) -> Setting:
        return setting_from(pinned, self.plan, there=self.journal.begun["before"])

    def _notice(self) -> dict[str, Any] | None:
        """Return the remaining share of the nearest limit if it was not reported, or the limit was raised."""
        shares = {name: 100 * (1 - used / most) for name, (used, most) in self.limits(self.turn).items() if most}
        name = min(shares, key=lambda name: shares[name], default="")
        step = next((step for step in _NOTICES if name and shares[name] <= step), 100)
        if step == self._left:
            return None
        if step > self._left:
            return {"percent": step, "text": ""}
        used, most = self.limits(self.turn)[name]
        share = f"{used:,.6g} of {most:,.6g} are used, {step}% or less of the {_NAMES[name]} are left"
        return {"percent": step, "text": f"[Budget] {share}. Do what matters most first."}

    def _disk(self) -> DiskFacts:
        row = self.journal.replay_or_record(SNAPSHOT, {"turn": self.turn}, lambda: {"disk": to_json(self.read_disk())})
        return from_json(DiskFacts, row["disk"])

    def _say(self, out: Effects) -> None:
        for injection in out.injections:
            self.memory.told(injection.text)

    def _keep(self, out: Effects, *, failed: bool) -> None:
        """Write the event log, and the other files at the moments of section 9 unless replaying."""
        self._log()
        if out.snapshot:
            self.files.snapshot(to_json(out.snapshot))
        # The checkpoint is for people; nothing is ever restored from it (decision 51).
        triggers = [*out.triggers, *(["verification_failed"] if failed else [])]
        if triggers and not self.journal.replaying:
            self._write_down(",".join(dict.fromkeys(triggers)))

    def _log(self) -> None:
        first = {"schemaVersion": 1, "taskId": self.task, "turn": self.turn}
        lines = [{**first, **line} for line in self.bridge.lines()]
        self.files.note(lines)

    def _write_down(self, trigger: str) -> None:
        state = self.bridge.state
        if state.graph.graph:
            self.files.graph(to_json(state.graph.graph))
        checkpoint = build_checkpoint(state, task=self.task, turn=self.turn, trigger=trigger)
        self.files.checkpoint({**checkpoint, "journalRows": len(self.journal.all_rows())})

    def _stop(self, stop: Stop) -> None:
        # A pause and not an ending: to resume is a person's word, and what counted against the work begins anew (decision 54).
        was_stopped = self.journal.replaying
        row = self.journal.replay_or_record(
            STOP, {"turn": self.turn}, lambda: {"stop_reason": stop.reason.value, "detail": stop.detail}
        )
        if not was_stopped:
            self._stopped = row["detail"]
            raise Paused(
                f"supervision stopped the run: {row['detail']}; all work is kept; look at it with: "
                f"pipeline supervisor {self.task}, then continue with: pipeline resume {self.task}",
                stop_reason=row["stop_reason"],
            )


def setting_from(pinned: Mapping[str, Any], plan: Mapping[str, Any], *, there: Collection[str]) -> Setting:
    """Return the kernel's setting. `there`: files present at the beginning. Raises ValueError for an unknown format."""
    config = _config_of(pinned["config"])
    checks = tuple(plan["validation_approach"]["verify_commands"])
    goal = f"{plan['paper']['title']}: {plan['paper']['core_contribution']}"
    planned = tuple(row["path"] for row in plan["file_structure"])
    task = Task(goal, planned, checks, from_nothing=not there)
    policy = resolve_policy(str(pinned["mode"]), config, "1" if pinned["shadow"] else "0")
    return Setting(task, policy, config)


def _missing_in(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the requirements that are stubs or were not located, as the acceptance saw them."""
    rows = verdict.get("verification", {}).get("evidence", ())
    return tuple(f"{row['id']} is {row['level']}" for row in rows if row["level"] in ("unlocated", "stubbed"))


def _config_of(content: Mapping[str, Any] | None) -> Config:
    return from_json(Config, dict(content or {}))
