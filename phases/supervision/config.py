"""The kernel's settings, and the policy that follows from them for a whole run (section 3).

kernel/supervisor-config.json may hold the settings below. `python -m scripts.kernel_schema` writes its schema from them, with
defaults, bounds and descriptions; a test compares the two. Only this module sees the mode's name or the shadow variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from phases.supervision.enums import DeviationSignal, ExecutionMode, SupervisorMode
from phases.supervision.signals import SIGNALS


def setting(default: Any, about: str, least: float | None = None, most: float | None = None) -> Any:
    """Return a field with its default, its description in the schema and, for a number, its bounds."""
    return field(default=default, metadata={"about": about, "least": least, "most": most})


def count(default: int, about: str, least: int = 0, most: int = 1000) -> Any:
    """Return the field of a count."""
    return setting(default, about, least, most)


def share(default: float, about: str) -> Any:
    """Return the field of a share between 0 and 1."""
    return setting(default, about, 0, 1)


def signal_setting(kind: DeviationSignal) -> Any:
    """Return the field of a signal's threshold."""
    return count(SIGNALS[kind].default, SIGNALS[kind].about, least=1)


@dataclass(frozen=True)
class Layers:
    """Each layer can be switched off alone."""

    mode_engine: bool = setting(True, "L1: free or forced.")
    observer: bool = setting(True, "Look for signals of trouble.")
    recovery_supervisor: bool = setting(True, "L2: takeovers and handbacks.")
    task_graph: bool = setting(True, "Use a graph of steps.")


@dataclass(frozen=True)
class RecoveryLimits:
    """The budget of one takeover, and how it ends."""

    max_recovery_rounds: int = count(
        6, "Rounds with progress that a takeover may last; rounds of any kind, twice as many.", least=1
    )
    recovery_token_ratio: float = share(
        0.25,
        "Growth of the requests since the takeover began, as a share of the model's window, that ends it.",
    )
    max_recovery_retries: int = count(2, "Repeated failures of one call with the same result that end a takeover.")
    template_graph_min: float = share(
        0.65, "Confidence in the workspace from which on a takeover rebuilds a graph from it; below it, a hint leads."
    )
    stability_window_rounds: int = count(
        3, "Consecutive rounds without a signal before control is handed back.", least=1
    )
    handoff_cooldown_rounds: int = count(
        3, "Rounds after a handback in which only a strong signal starts another takeover.", least=1
    )


@dataclass(frozen=True)
class Triggers:
    """The thresholds of the observer."""

    tool_repeat_fail_min: int = signal_setting(DeviationSignal.TOOL_REPEAT_FAIL)
    no_progress_rounds_min: int = signal_setting(DeviationSignal.NO_PROGRESS)
    file_loop_min: int = signal_setting(DeviationSignal.FILE_LOOP)
    goal_drift_rounds: int = signal_setting(DeviationSignal.GOAL_DRIFT)
    scope_creep_files: int = signal_setting(DeviationSignal.SCOPE_CREEP)
    cycle_repeats: int = signal_setting(DeviationSignal.CYCLE)
    plateau_repeats: int = signal_setting(DeviationSignal.ERROR_PLATEAU)
    signal_ttl_rounds: int = count(3, "Rounds after which a signal is forgotten.", least=1)
    disabled: tuple[DeviationSignal, ...] = setting((), "Signals that are switched off.")


@dataclass(frozen=True)
class ModeLimits:
    """The conditions to enter and leave forced mode."""

    pending_steps_enter_threshold: int = count(2, "Open steps that enter forced mode.", least=1)
    diff_lines_enter_threshold: int = count(
        400, "Changed lines since the checks last passed above which forced mode is entered.", most=1_000_000
    )
    write_targets_enter_threshold: int = count(4, "Files written in one round above which forced mode is entered.")
    stable_rounds_exit_threshold: int = count(2, "Quiet rounds before forced mode is left.")
    mode_lock_rounds: int = count(2, "Minimum rounds of forced mode.")
    forced_min_dwell_rounds: int = count(1, "Minimum rounds of forced mode in which something was done.")


@dataclass(frozen=True)
class BranchLimits:
    """Limits on repetitions in forced mode."""

    command_retry_max: int = count(
        3, "Failures of one call, with nothing changed since, before it is refused.", least=1
    )
    error_repeat_max: int = count(3, "Repeats of one error before the graph takes a fallback.")


# decision 55: no setting takes a path, since an untrusted task must not decide where to write.
@dataclass(frozen=True)
class Config:
    mode: SupervisorMode | None = field(
        default=None,
        metadata={"about": "off, adaptive or strict. The setting `supervisor` takes precedence; null is adaptive."},
    )
    shadow: bool = setting(False, "Observe, and log what would be done, without doing it.")
    layers: Layers = field(default_factory=Layers)
    takeover: RecoveryLimits = field(default_factory=RecoveryLimits)
    triggers: Triggers = field(default_factory=Triggers)
    execution_mode: ModeLimits = field(default_factory=ModeLimits)
    branch_budget: BranchLimits = field(default_factory=BranchLimits)


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
    """A graph is built before the first round."""


def resolve_policy(setting: str, config: Config, shadow_variable: str = "") -> GlobalModePolicy:
    """Return the policy of a run. The setting overrides the file, and an unknown mode is adaptive."""
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
