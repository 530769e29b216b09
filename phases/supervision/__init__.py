"""The supervision kernel watches an agent round by round: it trusts the agent while its work is healthy, and leads it if not.

It is values and pure functions: it asks no disk, clock, network or environment, and decides by the facts that it is given. It
needs the standard library and nothing of ours, so it could be released alone. bridge.py is all that an agent's loop talks to.
"""

__all__ = [
    "bridge",
    "checkpoint",
    "config",
    "effects",
    "enums",
    "facts",
    "graph",
    "policy",
    "serialization",
    "signatures",
    "state",
    "workspace_snapshot",
]
