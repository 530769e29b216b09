"""Decide whether the agent's work is done: user hooks judge correctness, the gate judges completeness.

The agent's completion request goes through `chain`: protected files are compared, hooks run, the built-in check runs the
plan's tests, and the gate looks at the todos. `administration` lists, trusts, tries and imports hooks for the command line.
It needs the journal of phases/llm, commands and snapshots of phases/workspace and phases/sandbox, and pipeline/base.
"""

__all__ = [
    "administration",
    "attempt_report",
    "chain",
    "checks",
    "gate",
    "hook_executor",
    "hook_registry",
    "payload",
    "protected_files",
    "stop_reasons",
    "todos",
    "tool_hooks",
]
