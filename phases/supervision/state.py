"""The kernel's memory between two rounds. It follows from the events alone, and goes into the checkpoint whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phases.supervision.config import Config, GlobalModePolicy
from phases.supervision.enums import StopReason, SupervisorPhase, ToolClass
from phases.supervision.execution_mode import ModeState
from phases.supervision.facts import Task
from phases.supervision.graph import GraphRun
from phases.supervision.observer import ObserverState
from phases.supervision.progress import Progress
from phases.supervision.work_ledger import WorkLedger


@dataclass(frozen=True)
class Setting:
    """The constants of a run."""

    task: Task
    policy: GlobalModePolicy
    config: Config


@dataclass(frozen=True)
class LastRound:
    """The last round, as L1 and the texts need it."""

    branch_switched: bool = False
    write_targets: int = 0
    planned_write_targets: int = 0
    tool_success: bool = True
    tool_classes: tuple[ToolClass, ...] = ()


@dataclass(frozen=True)
class Counts:
    """The counts of kernel-report.json."""

    free_rounds: int = 0
    forced_rounds: int = 0
    mode_switches: int = 0
    phase_rounds: Mapping[str, int] = field(default_factory=dict)
    hints: int = 0
    blocks: int = 0
    graphs: int = 0


@dataclass(frozen=True)
class PhaseState:
    phase: SupervisorPhase = SupervisorPhase.FREE
    takeover_start_round: int = 0
    stable_rounds: int = 0
    """Consecutive rounds of the takeover without a signal."""
    effective_rounds: int = 0
    """Stable rounds with meaningful progress."""
    cooldown_remaining: int = 0
    takeovers: int = 0
    handoffs: int = 0


@dataclass(frozen=True)
class RecoveryBudget:
    """The resources spent in one takeover."""

    rounds: int = 0
    """Rounds of any kind: a takeover without progress must end too."""
    effective_rounds: int = 0
    """Rounds with meaningful progress."""
    peak_token_ratio: float = 0.0
    """Growth of the requests since the takeover began, as a share of the model's window."""
    first_token_ratio: float | None = None
    """Token ratio of the first round."""
    retries: Mapping[str, int] = field(default_factory=dict)
    """Call with result -> how often it failed again with that result; bounded, the least recent dropped."""
    extended: bool = False
    last_progress_round: int = 0


@dataclass(frozen=True)
class KernelState:
    round: int = 0
    ledger: WorkLedger = field(default_factory=WorkLedger)
    mode: ModeState = field(default_factory=ModeState)
    progress: Progress = field(default_factory=Progress)
    graph: GraphRun = field(default_factory=GraphRun)
    observer: ObserverState = field(default_factory=ObserverState)
    refused: tuple[str, ...] = ()
    """Signatures of refused calls."""
    phase: PhaseState = field(default_factory=PhaseState)
    shadow_phase: PhaseState = field(default_factory=PhaseState)
    """The virtual phase machine of shadow mode."""
    recovery: RecoveryBudget = field(default_factory=RecoveryBudget)
    shadow_recovery: RecoveryBudget = field(default_factory=RecoveryBudget)
    """The budget of the virtual takeover."""
    tried: tuple[str, ...] = ()
    """Takeover: what had failed before it, in words."""
    first_action: str = ""
    """Takeover: the action that this workspace needs first; empty if none is special."""
    spoke_at: int = 0
    """The last round after which the model was told something."""
    recovery_failed: bool = False
    """The last recovery gave only a hint."""
    proved: bool = False
    """Since the takeover began a check passed or a planned file became sound, and none is known to fail."""
    resumed: bool = False
    """The run was resumed since the last decision of L1."""
    rollback_asked: bool = False
    """The run was stopped because the model wanted to discard work."""
    rollback_allowed: bool = False
    """The user resumed after that: it may, once."""
    force_takeover: bool = False
    """The user requested a takeover that has not begun."""
    graph_tried: bool = False
    """The graph of the first round was built, or could not be."""
    open_files: int = 0
    """Number of planned files that are missing or not sound."""
    next_file: str = ""
    """The first of them."""
    last: LastRound = field(default_factory=LastRound)
    stopped: StopReason | None = None
    counts: Counts = field(default_factory=Counts)
