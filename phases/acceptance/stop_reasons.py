"""Stop reasons of the agent's runs, each with its status."""

from __future__ import annotations

from types import MappingProxyType

ACCEPTED, EXHAUSTED, STUCK = "accepted", "accept_continue_exhausted", "stuck"
TODO_FAILED, TODO_WAITING = "required_todo_failed", "todo_waiting_external"
HOOK_STOPPED, VERIFICATION_ERROR = "hook_stopped", "verification_error"
HOOK_TAMPERED, CONFIG_INVALID = "hook_tampered", "hook_config_invalid"
_WORDS = MappingProxyType(
    {
        ACCEPTED: "accepted",
        EXHAUSTED: "no attempts are left",
        STUCK: "it does the same again and again",
        TODO_FAILED: "a required todo failed",
        TODO_WAITING: "a todo waits for you",
        HOOK_STOPPED: "a hook stopped the run",
        VERIFICATION_ERROR: "a check did not work",
        HOOK_TAMPERED: "a check was changed",
        CONFIG_INVALID: "the settings of the hooks are wrong",
    }
)
ACCEPT_CONTINUE = "accept_continue"
"""Inside a decision alone: it ends nothing."""
COMPLETED, WARNING, INCOMPLETE, ERROR = "completed", "warning", "incomplete", "error"
STATUS = MappingProxyType(
    {
        ACCEPTED: COMPLETED,
        EXHAUSTED: INCOMPLETE,
        STUCK: INCOMPLETE,
        TODO_FAILED: ERROR,
        TODO_WAITING: INCOMPLETE,
        HOOK_STOPPED: INCOMPLETE,
        VERIFICATION_ERROR: INCOMPLETE,
        HOOK_TAMPERED: INCOMPLETE,
        CONFIG_INVALID: INCOMPLETE,
    }
)
"""The best that an ending can be: accepted work that nothing verified is a warning."""


def describe_reason(reason: str) -> str:
    """Return a reason in words; an unknown one stays as it is."""
    return _WORDS.get(reason, reason)
