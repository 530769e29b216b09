"""Joins one run with the kernel that supervises it: facts in, texts and stops out, its files kept. What the kernel is told is in
the journal, so a run that is walked again is supervised in just the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from phases.agent.assignment import Assignment
from phases.agent.journal_facts import FactExtractor, gate_verdict
from phases.agent.kernel_files import KernelFiles, unusable_text
from phases.agent.kernel_setting import OFF, RULES, RULES_KEY, read_wanted
from phases.agent.memory import Memory
from phases.agent.session import Session
from phases.agent.tools.toolbox import ToolKind
from phases.agent.workspace_facts import read_disk_facts
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
"""Kinds of journal rows: what a takeover found, and that it stopped the run."""
_MOST_MISSING = 8
_NOTICES = (10, 25, 50)
"""At so many percent left of a limit, the model is told."""
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
    """How this start of the run should be supervised."""
    warning: str
    """What is wrong with the file of settings."""
    limits: Callable[[int], Mapping[str, tuple[float, float]]]
    """Before a turn: of each limit that is set, how much is used, and how much there is."""
    read_disk: Callable[[], DiskFacts]
    turn: int = 0
    _left: int = 100
    """Percent of a limit that the model was last told of."""
    _tail: list[dict[str, Any]] = field(default_factory=list)
    _call: Call | None = None
    """The call that was asked about last; None where the kernel is off."""
    missing: tuple[str, ...] = ()
    """What the acceptance found to be missing when it looked last."""
    _stopped: str = ""
    """Why supervision stops the run."""

    def __post_init__(self) -> None:
        self.bridge = SupervisorBridge(self._setting(self.journal.begun["supervisor"]), self._disk)
        self._unlike = self.bridge.setting != self._setting(self.wanted)
        self._resumes = any(row["kind"] == "reply" for row in self.journal.rows())

    @property
    def acts(self) -> bool:
        """Whether supervision may do something about a run that goes wrong."""
        layers = self.bridge.setting.config.layers
        return self.bridge.on and not self.bridge.setting.policy.shadow and all(vars(layers).values())

    @property
    def may_refuse(self) -> bool:
        """Whether a call of this turn may be kept back; work that is taken back is kept back in free mode too."""
        return self.bridge.on and self.bridge.is_forced

    def news(self) -> dict[str, Any]:
        """What the kernel should be told now, and nobody wrote down yet; empty where that is nothing."""
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
        """Learns what came from outside. `live`: from this very start of the run, and not from an earlier one."""
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
            if told := news["left"]["text"]:
                self.memory.told(told)

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
        """Ends a turn that was of use, and says what a person should know of it. Raises Paused where supervision stops the run:
        its work is kept.
        """
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
        """How much is left of the limit that is nearest, where that was not said yet. A limit that was raised is said anew."""
        shares = {name: 100 * (1 - used / most) for name, (used, most) in self.limits(self.turn).items() if most}
        name = min(shares, key=lambda name: shares[name], default="")
        step = next((step for step in _NOTICES if name and shares[name] <= step), 100)
        if step == self._left:
            return None
        if step > self._left:
            return {"percent": step, "text": ""}
        used, most = self.limits(self.turn)[name]
        told = f"{used:,.6g} of {most:,.6g} are used, {step}% or less of the {_NAMES[name]} are left"
        return {"percent": step, "text": f"[Budget] {told}. Do what matters most first."}

    def _disk(self) -> DiskFacts:
        row = self.journal.replay_or_record(SNAPSHOT, {"turn": self.turn}, lambda: {"disk": to_json(self.read_disk())})
        return from_json(DiskFacts, row["disk"])

    def _say(self, out: Effects) -> None:
        for said in out.injections:
            self.memory.told(said.text)

    def _keep(self, out: Effects, *, failed: bool) -> None:
        """The event log always; the other files at the moments of section 9, and not while a run is only walked again."""
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
        most = self.bridge.setting.config.event_timeline.max_events_in_checkpoint
        self._tail = [*self._tail, *lines][-most:] if most else []
        self.files.note(lines)

    def _write_down(self, trigger: str) -> None:
        state = self.bridge.state
        if state.graph.graph:
            self.files.graph(to_json(state.graph.graph))
        kept = build_checkpoint(state, task=self.task, turn=self.turn, trigger=trigger, tail=tuple(self._tail))
        self.files.checkpoint({**kept, "journalRows": len(self.journal.all_rows())})

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


def resolve_setting(work: Assignment, content: dict[str, Any] | None, warning: str) -> tuple[dict[str, Any], str]:
    """The user's setting and the file of the task (None: it cannot be used) as one value, and what is wrong with the file."""
    try:
        config = _config_of(content)
    except ValueError as error:
        content, config, warning = None, Config(), unusable_text(work.places.kernel, str(error))
    policy = resolve_policy(OFF if content is None else work.supervisor, config, work.shadow)
    return {"mode": policy.mode.value, "shadow": policy.shadow, "config": to_json(config)}, warning


def setting_from(pinned: Mapping[str, Any], plan: Mapping[str, Any], *, there: Collection[str]) -> Setting:
    """What the kernel goes by. `there`: files that stood in the workspace. Raises ValueError for what no version of it wrote."""
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
