"""Hooks that are an entry of the configuration and no program of the user's."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from phases.acceptance.commands.clean import cleaned
from phases.acceptance.hook import BLOCK, FAILED, PASS, Hook, Result
from phases.acceptance.points import ACCEPT_GATE

REQUIRE_FILE, WARN_ON_TOOL, ADD_NOTE = "require_file_exists", "warn_on_tool_call", "add_context_note"
_LONGEST = 2048


def run_builtin(hook: Hook, workspace_root: str, tool_name: str = "") -> Result:
    """What the hook says. `tool_name`: the tool that is called, at the points where one is."""
    handler = hook.params.get("handler")
    if handler == REQUIRE_FILE:
        return _require_file(hook, workspace_root)
    if handler == WARN_ON_TOOL:
        return _warn(hook.params, tool_name)
    if handler == ADD_NOTE:
        return Result(PASS, context=_text(hook.params.get("note") or hook.params.get("message")))
    return Result(FAILED, f"hook {hook.key}: there is no builtin {_text(handler)!r}")


def file_fault(root: str, path: str) -> str | None:
    """Why this is no file of the folder, or None (acceptance chain, section 12).

    Links are followed on both sides before they are compared, those of the folders above a missing file among them, so
    nothing is told of what lies outside. Only what is there now is looked at, and nothing is opened.
    """
    try:
        inside = os.path.realpath(root)
        real = os.path.realpath(os.path.join(inside, path))
        if os.path.commonpath((inside, real)) != inside:
            return "leads out of the workspace"
        mode = os.stat(real, follow_symlinks=False).st_mode
    except OSError:
        return "is not there"
    except ValueError:  # a NUL, or half a surrogate pair
        return "is no path"
    if stat.S_ISDIR(mode):
        return "is a directory"
    return None if stat.S_ISREG(mode) else "is no regular file"


def _require_file(hook: Hook, root: str) -> Result:
    path = str(hook.params.get("path", ""))
    fault = file_fault(root, path) if path else "is no path"
    if fault is None:
        return Result(PASS)
    told = f"the required file {_text(path)} {fault}"
    message = _text(hook.params.get("message"))
    status = BLOCK if hook.point == ACCEPT_GATE else FAILED
    return Result(status, f"{message} ({told})" if message else told)


def _warn(params: Mapping[str, Any], tool_name: str) -> Result:
    names = [params.get("tool_name"), *(params.get("tool_names") or ())]
    if not tool_name or tool_name.casefold() not in {str(name).casefold() for name in names if name}:
        return Result(PASS)
    return Result(PASS, message=_text(params.get("message")) or f"the tool {_text(tool_name)} is called")


def _text(value: object) -> str:
    return cleaned(str(value or ""), _LONGEST).strip()
