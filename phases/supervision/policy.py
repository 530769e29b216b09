"""Resolve the policy of a whole run for L0, once (section 3).

The only module that sees the mode's name or the shadow variable; all others receive a GlobalModePolicy.
"""

from __future__ import annotations

from dataclasses import dataclass

from phases.supervision.config import Config
from phases.supervision.enums import ExecutionMode, SupervisorMode

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
