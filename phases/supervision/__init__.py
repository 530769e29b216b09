"""The supervision kernel watches an agent round by round: it trusts the agent while its work is healthy, and leads it if not.

It consists of values and pure functions: it uses no disk, clock, network or environment, and decides by the facts that it is
given. It needs the standard library alone. README.md says how to call it; an agent's loop talks to bridge.py.
"""

__all__ = [
    "bridge",
    "checkpoint",
    "config",
    "effects",
    "enums",
    "facts",
    "serialization",
    "signatures",
    "state",
]
