"""The kernel's settings: what kernel/supervisor-config.json may say, with defaults, bounds and a sentence on each.

They stand here once. schemas/supervisor-config.schema.json is written from them by `python -m scripts.kernel_schema`; a test
compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from phases.supervision.enums import DeviationSignal, ExecutionMode, SupervisorMode
from phases.supervision.signals import SIGNALS


def setting(default: Any, about: str, least: float | None = None, most: float | None = None) -> Any:
    """A setting with its default and the sentence that the schema says of it; of a number, also its bounds."""
    return field(default=default, metadata={"about": about, "least": least, "most": most})


def count(default: int, about: str, least: int = 0, most: int = 1000) -> Any:
    """A setting that counts something."""
    return setting(default, about, least, most)


def share(default: float, about: str) -> Any:
    """A setting between 0 and 1."""
    return setting(default, about, 0, 1)


def signal_setting(kind: DeviationSignal) -> Any:
    """The setting of a signal: from which count on it is raised."""
    return count(SIGNALS[kind].default, SIGNALS[kind].about, least=1)


@dataclass(frozen=True)
class Layers:
    """Each layer can be switched off alone."""

    mode_engine: bool = setting(True, "L1: free or forced.")
    observer: bool = setting(True, "Look for signals of trouble.")
    recovery_supervisor: bool = setting(True, "L2: takeover and handback.")
    task_graph: bool = setting(True, "Lead by a graph of steps.")


@dataclass(frozen=True)
class RecoveryLimits:
    """The budget of one takeover, and how it ends."""

    max_recovery_rounds: int = count(
        6, "Rounds with progress that a takeover may last; of any kind, twice as many.", least=1
    )
    recovery_token_ratio: float = share(
        0.25,
        "A takeover ends when its requests have grown by more than this share of the model's window since it began.",
    )
    max_recovery_retries: int = count(2, "How often one call may fail in one way during a takeover.")
    stability_window_rounds: int = count(3, "Rounds in a row without a signal, until control is handed back.", least=1)
    handoff_cooldown_rounds: int = count(
        3, "Rounds after a handback in which only a strong signal leads to another takeover.", least=1
    )


@dataclass(frozen=True)
class Triggers:
    """When the observer speaks."""

    tool_repeat_fail_min: int = signal_setting(DeviationSignal.TOOL_REPEAT_FAIL)
    no_progress_rounds_min: int = signal_setting(DeviationSignal.NO_PROGRESS)
    file_loop_min: int = signal_setting(DeviationSignal.FILE_LOOP)
    goal_drift_rounds: int = signal_setting(DeviationSignal.GOAL_DRIFT)
    scope_creep_files: int = signal_setting(DeviationSignal.SCOPE_CREEP)
    cycle_repeats: int = signal_setting(DeviationSignal.CYCLE)
    plateau_repeats: int = signal_setting(DeviationSignal.ERROR_PLATEAU)
    signal_ttl_rounds: int = count(3, "A signal is forgotten after so many rounds.", least=1)
    disabled: tuple[DeviationSignal, ...] = setting((), "Signals that are not looked for.")


@dataclass(frozen=True)
class Weights:
    """How much each factor says of a snapshot."""

    git_clean: float = share(0.25, "How far what changed is the agent's own.")
    snapshot_age: float = share(0.15, "How new the snapshot is.")
    verify_passed: float = share(0.20, "Whether it is known how the checks stand.")
    repo_context_match: float = share(0.25, "How far the files that were written are there.")
    build_signal: float = share(0.15, "Whether it builds.")


@dataclass(frozen=True)
class SnapshotConfidence:
    """From when on a snapshot is trusted."""

    template_graph_min: float = share(
        0.65,
        "From this confidence on, a takeover leads by a graph that is rebuilt from the workspace; below it, by a hint.",
    )
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True)
class ModeLimits:
    """When forced mode is entered and left."""

    pending_steps_enter_threshold: int = count(2, "So many open steps enter forced mode.", least=1)
    diff_lines_enter_threshold: int = count(
        400, "More changed lines than this since the checks last passed enter forced mode.", most=1_000_000
    )
    write_targets_enter_threshold: int = count(4, "More files than this written in one round enter forced mode.")
    stable_rounds_exit_threshold: int = count(2, "So many quiet rounds leave forced mode.")
    mode_lock_rounds: int = count(2, "Forced mode lasts at least so many rounds.")
    forced_min_dwell_rounds: int = count(1, "Forced mode lasts at least so many rounds in which something was done.")


@dataclass(frozen=True)
class BranchLimits:
    """How often the same may be tried in forced mode."""

    command_retry_max: int = count(
        3, "Failures of one call, with nothing changed since, before it is kept back.", least=1
    )
    error_repeat_max: int = count(3, "Times that one error may come again before the graph takes another way.")


@dataclass(frozen=True)
class EventTimeline:
    """The event log."""

    enabled: bool = setting(True, "Write kernel/supervisor-events.jsonl.")
    max_events_in_checkpoint: int = count(50, "The last events that a checkpoint keeps.")


# decision 55: no setting takes a path, as a stranger's task must not say where to write.
@dataclass(frozen=True)
class Config:
    mode: SupervisorMode | None = field(
        default=None,
        metadata={"about": "off, adaptive or strict. The setting `supervisor` goes before; null is adaptive."},
    )
    shadow: bool = setting(False, "Observe, and log what would be done, and do nothing.")
    layers: Layers = field(default_factory=Layers)
    takeover: RecoveryLimits = field(default_factory=RecoveryLimits)
    triggers: Triggers = field(default_factory=Triggers)
    snapshot_confidence: SnapshotConfidence = field(default_factory=SnapshotConfidence)
    execution_mode: ModeLimits = field(default_factory=ModeLimits)
    branch_budget: BranchLimits = field(default_factory=BranchLimits)
    event_timeline: EventTimeline = field(default_factory=EventTimeline)


_SHADOW = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True)
class GlobalModePolicy:
    """The policy of a whole run: its mode, and whether each layer is on."""

    mode: SupervisorMode
    auto_decision: bool
    observer: bool
    mode_engine: bool
    recovery_supervisor: bool
    task_graph: bool
    floor: ExecutionMode
    """Strict is adaptive with a forced floor, and with a graph from the first round on."""
    shadow: bool
    first_round_graph: bool
    """Whether a graph is built before the first round."""


def resolve_policy(setting: str, config: Config, shadow_variable: str = "") -> GlobalModePolicy:
    """Return the policy of a run: the setting overrides the file, and both adaptive. An unknown mode is adaptive."""
    mode = _mode_of(setting, config)
    on, strict, layers = mode is not SupervisorMode.OFF, mode is SupervisorMode.STRICT, config.layers
    graph = on and layers.task_graph
    return GlobalModePolicy(
        mode=mode,
        auto_decision=on,
        observer=on and layers.observer,
        mode_engine=on and layers.mode_engine,
        recovery_supervisor=on and layers.recovery_supervisor,
        task_graph=graph,
        floor=ExecutionMode.FORCED if strict and layers.mode_engine else ExecutionMode.FREE,
        shadow=on and _SHADOW.get(shadow_variable, config.shadow),
        first_round_graph=graph and strict,
    )


def _mode_of(setting: str, config: Config) -> SupervisorMode:
    if not setting:
        return config.mode or SupervisorMode.ADAPTIVE
    return next((mode for mode in SupervisorMode if mode == setting), SupervisorMode.ADAPTIVE)
