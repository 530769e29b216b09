"""The kernel's numbers (section 11, the column `recommend`): what kernel/supervisor-config.json may say, with its defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from phases.supervision.enums import DeviationSignal, SupervisorMode


@dataclass(frozen=True)
class AdaptiveFree:
    risk_threshold: float = 0.6
    """A takeover needs this risk score."""
    first_round_graph: bool = False


@dataclass(frozen=True)
class RecoveryLimits:
    """The budget of one takeover, and how it ends."""

    max_recovery_rounds: int = 6
    recovery_token_ratio: float = 0.25
    max_recovery_retries: int = 2
    stability_window_rounds: int = 3
    handoff_cooldown_rounds: int = 3


@dataclass(frozen=True)
class Strict(RecoveryLimits):
    """Of these, this version goes by `first_round_graph` alone: a supervisor leads in adaptive mode only (section 3)."""

    max_recovery_rounds: int = 5
    recovery_token_ratio: float = 0.3
    stability_window_rounds: int = 2
    handoff_cooldown_rounds: int = 2
    first_round_graph: bool = True


@dataclass(frozen=True)
class GoalDrift:
    threshold: float = 0.40
    rounds: int = 3
    jaccard_min: float = 0.05


@dataclass(frozen=True)
class Triggers:
    """When the observer speaks."""

    tool_repeat_fail_min: int = 3
    no_progress_rounds_min: int = 4
    file_loop_min: int = 4
    goal_drift: GoalDrift = field(default_factory=GoalDrift)
    scope_creep_files: int = 3
    cycle_repeats: int = 3
    plateau_repeats: int = 3
    signal_ttl_rounds: int = 3
    disabled: tuple[DeviationSignal, ...] = ()


@dataclass(frozen=True)
class Weights:
    git_clean: float = 0.25
    snapshot_age: float = 0.15
    verify_passed: float = 0.20
    repo_context_match: float = 0.25
    build_signal: float = 0.15


@dataclass(frozen=True)
class SnapshotConfidence:
    template_graph_min: float = 0.65
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True)
class CorrectionLimits:
    free_segment_max_per_task: int = 1
    strict_max_per_node: int = 1


@dataclass(frozen=True)
class ModeLimits:
    """When forced mode is entered and left."""

    pending_steps_enter_threshold: int = 2
    diff_lines_enter_threshold: int = 400
    write_targets_enter_threshold: int = 4
    stable_rounds_exit_threshold: int = 2
    mode_lock_rounds: int = 2
    forced_min_dwell_rounds: int = 1


@dataclass(frozen=True)
class BranchLimits:
    file_edit_max: int = 3
    command_retry_max: int = 2
    error_repeat_max: int = 3


@dataclass(frozen=True)
class EventTimeline:
    enabled: bool = True
    max_events_in_checkpoint: int = 50


@dataclass(frozen=True)
class Layers:
    """Each layer can be switched off alone."""

    mode_engine: bool = True
    observer: bool = True
    recovery_supervisor: bool = True
    task_graph: bool = True


@dataclass(frozen=True)
class Config:
    """All of it."""

    mode: SupervisorMode | None = None
    """Where the setting `supervisor` says nothing."""
    shadow: bool = False
    layers: Layers = field(default_factory=Layers)
    adaptive_free: AdaptiveFree = field(default_factory=AdaptiveFree)
    adaptive_takeover: RecoveryLimits = field(default_factory=RecoveryLimits)
    strict: Strict = field(default_factory=Strict)
    triggers: Triggers = field(default_factory=Triggers)
    snapshot_confidence: SnapshotConfidence = field(default_factory=SnapshotConfidence)
    correction_budget: CorrectionLimits = field(default_factory=CorrectionLimits)
    execution_mode: ModeLimits = field(default_factory=ModeLimits)
    branch_budget: BranchLimits = field(default_factory=BranchLimits)
    event_timeline: EventTimeline = field(default_factory=EventTimeline)


FIRST = 1
"""Of runs whose journal names none."""
RULES = 2
"""Today's. A change of what is decided or said takes the next number, and leaves what the ones before it decide."""
