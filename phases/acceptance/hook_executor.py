"""Run one hook of any kind: retry it at the gate, downgrade a block that has no effect, and emit events."""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from phases.acceptance.command_hooks import (
    HookPlace,
    ProcessOutcome,
    judge_outcome,
    read_session_variables,
    run_command,
    strip_control,
)
from phases.acceptance.configuration.checksums import remove_caches
from phases.acceptance.hook import (
    ACCEPT_GATE,
    BEFORE_TOOL,
    BLOCK,
    BUILTIN,
    COMMAND,
    FAIL_CLOSED,
    FAILED,
    NO_VERDICT,
    PASS,
    SESSION_START,
    STOP,
    Hook,
    HookResult,
    downgrade_block,
)
from phases.acceptance.payload import RunFacts, payload_bytes, variables_for
from phases.acceptance.protected_files import ProtectedFiles
from phases.workspace.command_runner import CommandRunner
from pipeline.base.errors import StorageError
from pipeline.base.files import make_directory, write_without_sync
from pipeline.base.jsonl import append_without_sync, row_line
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file

_ENV_FILE = "session.env"
_LARGEST_LOG = 64 * 2**20
TAMPERED = "files that decide about acceptance were changed during the run"


class Occasion(NamedTuple):
    """The event that a hook is run for."""

    point: str
    body: Callable[[Hook], Mapping[str, Any]]
    """Build the input of a hook."""
    tool: str = ""
    call: str = ""
    attempt: int = 0


class HookContext(NamedTuple):
    """Context of hooks that does not depend on the run."""

    directory: str
    """`hooks` in the task directory: logs lie there."""
    environment: Mapping[str, str]
    secret_names: Sequence[str]
    clean: Callable[[str], str] = lambda text: text
    """Takes out of a text what may be in no file."""
    write_transcript: Callable[[], None] = lambda: None
    """Brings the file up to date that hooks are pointed to."""


class HookExecutor:
    """Runs hooks of one task. Not while a run is only walked again."""

    def __init__(
        self,
        run: RunFacts,
        context: HookContext,
        events: HookEvents,
        commands: CommandRunner,
        protected: ProtectedFiles | None = None,
        doing: Callable[[str], None] = lambda what: None,
    ) -> None:
        """`protected`: what must be as it was before a hook is run; `doing` is notified of which hook is asked."""
        self._run, self._context, self._events, self._commands = run, context, events, commands
        self._protected, self._doing = protected, doing
        self._session: dict[str, str] = {}
        """Variables that hooks at session_start set for later hooks."""

    def run(self, hook: Hook, occasion: Occasion, own: Callable[[], HookResult] | None = None) -> HookResult:
        """Return the result of one hook. `own` runs a hook of this program."""
        started = time.monotonic()
        who = _hook_fields(hook, occasion)
        self._events.emit("hook_started", **who)
        if occasion.point == ACCEPT_GATE:
            self._doing(f"asks {hook.key} …")
        result = own() if own else self._why_not_run(hook, occasion) or self._run_kind(hook, occasion)
        if (
            not own
            and occasion.point == ACCEPT_GATE
            and result.status == FAILED
            and not self._why_not_run(hook, occasion)
        ):
            result = self._run_kind(hook, occasion)
        result = _apply_policy(hook, occasion.point, result)
        result = downgrade_block(result, occasion.point)._replace(seconds=round(time.monotonic() - started, 3))
        self._report(hook, occasion, result)
        return result

    def report_block(self, hook: Hook, occasion: Occasion, reason: str) -> None:
        """Says so in the event log."""
        tool = {"tool_call_id": occasion.call, "tool_name": occasion.tool} if occasion.tool else {}
        self._events.emit("hook_blocked", **_hook_fields(hook, occasion), **tool, reason=reason, enforced=True)

    def log_of(self, hook: Hook, attempt: int) -> str:
        """Return the path within the task for the whole output of a hook at the gate."""
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{attempt}-{hook.source}-{hook.id}.log")
        return f"{os.path.basename(self._context.directory)}/{name}"

    def _why_not_run(self, hook: Hook, occasion: Occasion) -> HookResult | None:
        """Return why a command is not run: its files changed, or the agent would have to supply them."""
        if hook.kind != COMMAND or self._protected is None:
            return None
        # Decision 87: a planted cache would be run instead of the script.
        remove_caches(self._run.cwd)
        if odd := self._protected.changed_for(hook):
            self._events.emit("hook_tampered", files=odd, **_hook_fields(hook, occasion))
            # No call may go on unguarded; at the gate a missing verdict ends the run by its own policy.
            status = STOP if occasion.point == BEFORE_TOOL else FAILED
            return HookResult(status, f"{TAMPERED}: {', '.join(odd)}", notes=(TAMPERED,), tampered=True)
        if missing := self._protected.missing_for(hook):
            return HookResult(
                FAILED, f"its script {', '.join(missing)} is not there; write it, then: pipeline hooks trust"
            )
        return None

    def _run_kind(self, hook: Hook, occasion: Occasion) -> HookResult:
        body = occasion.body(hook)
        if hook.kind == BUILTIN:
            return run_builtin(hook, self._run.cwd, occasion.tool)
        self._context.write_transcript()
        if hook.sandbox:
            return self._run_in_sandbox(hook)
        log = ""
        if occasion.point == ACCEPT_GATE:
            make_directory(self._context.directory)
            log = os.path.join(os.path.dirname(self._context.directory), self.log_of(hook, occasion.attempt))
        place = HookPlace(
            self._run.cwd,
            log,
            {**self._context.environment, **self._session},
            tuple(self._context.secret_names),
            variables_for(hook, self._run),
        )
        if occasion.point == SESSION_START:
            return self._run_at_start(hook, payload_bytes(body), place)
        began = _log_size(log)
        result = run_command(hook, payload_bytes(body), place)
        return result._replace(notes=(*result.notes, *self._clean_log(log, began)))

    def _run_at_start(self, hook: Hook, payload: bytes, place: HookPlace) -> HookResult:
        """Keep the variables from its CLAUDE_ENV_FILE for later hooks."""
        make_directory(self._context.directory)
        path = os.path.join(self._context.directory, _ENV_FILE)
        write_without_sync(path, b"")
        result = run_command(hook, payload, place._replace(added={**place.added, "CLAUDE_ENV_FILE": path}))
        with contextlib.suppress(OSError):  # the hook may have removed it
            if os.path.getsize(path):
                self._session |= read_session_variables(hook, path, place)
            os.unlink(path)
        return result

    def _clean_log(self, path: str, began: int) -> tuple[str, ...]:
        """Remove keys from the new part of a log: a hook may print them from the workspace."""
        try:
            added = _read_tail(path, began)
            text = added.decode("utf-8", "surrogateescape")
            if (clean := self._context.clean(text)) != text:
                with open_file(path, "r+b") as file:
                    file.truncate(began)
                    file.seek(began)
                    file.write(clean.encode("utf-8", "surrogateescape"))
        except OSError as error:
            return (f"its log could not be read: {error.strerror}",)
        return ()

    def _run_in_sandbox(self, hook: Hook) -> HookResult:
        """In the sandbox of the agent's own commands: no input, and its exit code alone counts."""
        finished = self._commands.run(hook.command, math.ceil(hook.seconds))
        timed_out = finished.timed_out
        fault = "" if finished.exit_code is not None or timed_out else finished.limit or finished.output.strip()
        ran = ProcessOutcome(
            finished.exit_code, None, timed_out, fault, finished.output.encode("utf-8", "replace"), b"", 0.0
        )
        return judge_outcome(ran, hook, self._run.cwd, None)

    def _report(self, hook: Hook, occasion: Occasion, result: HookResult) -> None:
        who = _hook_fields(hook, occasion)
        fields = {
            **who,
            "status": result.status,
            "message": result.message or result.reason,
            "exit_code": result.exit_code,
            "duration_ms": int(result.seconds * 1000),
        }
        logger.debug(
            "{} at {}: {} ({:.1f} s) {}", hook.key, occasion.point, _ending_of(result), result.seconds, result.reason
        )
        if result.status == FAILED or result.fault:
            self._events.emit("hook_failed", **fields, error=result.reason or "; ".join(result.notes))
        else:
            self._events.emit("hook_finished", **fields)
        if note := result.downgraded:
            self._events.emit("hook_downgraded", **who, original_status=BLOCK, block_downgraded=True, message=note)
        if result.status == BLOCK:
            self.report_block(hook, occasion, result.reason)


def select_hooks(hooks: Sequence[Hook], point: str, name: str = "") -> list[Hook]:
    """Return the hooks of a point, in order, whose matcher fits the tool or the way a run begins."""
    return [
        hook for hook in hooks if hook.point == point and (not hook.matcher or re.fullmatch(hook.matcher, name or ""))
    ]


def _apply_policy(hook: Hook, point: str, result: HookResult) -> HookResult:
    """Turn a missing verdict into a block if the hook fails closed. At the gate it is not the model's fault."""
    # Spec 12.17: at the gate a broken hook costs the model no attempt, so there its policy is applied by the decision.
    if result.status == FAILED and point != ACCEPT_GATE and hook.failure_policy == FAIL_CLOSED:
        return result._replace(status=BLOCK, notes=(*result.notes, NO_VERDICT), closed=True)
    return result


def _hook_fields(hook: Hook, occasion: Occasion) -> dict[str, Any]:
    return {
        "hook_id": hook.id,
        "source": hook.source,
        "point": occasion.point,
        "kind": hook.kind,
        "mode": "sync",
        "attempt": occasion.attempt,
    }


def _ending_of(result: HookResult) -> str:
    code = "" if result.exit_code is None else f", exit code {result.exit_code}"
    return f"{result.status}{', timed out' if result.timed_out else code}"


def _log_size(path: str) -> int:
    """Of a log, which goes on; one that has grown too large begins anew."""
    size = os.path.getsize(path) if path and os.path.isfile(path) else 0
    if size > _LARGEST_LOG:
        os.unlink(path)
        return 0
    return size


def _read_tail(path: str, began: int) -> bytes:
    if not path or not os.path.isfile(path):
        return b""
    with open_file(path) as file:
        file.seek(began)
        return file.read()


REQUIRE_FILE, WARN_ON_TOOL, ADD_NOTE = "require_file_exists", "warn_on_tool_call", "add_context_note"
_LONGEST = 2048


def run_builtin(hook: Hook, workspace_root: str, tool_name: str = "") -> HookResult:
    """Return the result of a builtin hook. `tool_name`: the called tool, at points where there is one."""
    handler = hook.params.get("handler")
    if handler == REQUIRE_FILE:
        return _require_file(hook, workspace_root)
    if handler == WARN_ON_TOOL:
        return _warn_on_tool(hook.params, tool_name)
    if handler == ADD_NOTE:
        return HookResult(PASS, context=_clean_text(hook.params.get("note") or hook.params.get("message")))
    return HookResult(FAILED, f"hook {hook.key}: there is no builtin {_clean_text(handler)!r}")


def file_fault(root: str, path: str) -> str | None:
    """Return why this is not a file of the directory, or None (acceptance chain, section 12).

    Links are followed on both sides before they are compared, those of the directories above a missing file among them, so
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
        return "is not a path"
    if stat.S_ISDIR(mode):
        return "is a directory"
    return None if stat.S_ISREG(mode) else "is not a regular file"


def _require_file(hook: Hook, root: str) -> HookResult:
    path = str(hook.params.get("path", ""))
    fault = file_fault(root, path) if path else "is not a path"
    if fault is None:
        return HookResult(PASS)
    words = f"the required file {_clean_text(path)} {fault}"
    message = _clean_text(hook.params.get("message"))
    status = BLOCK if hook.point == ACCEPT_GATE else FAILED
    return HookResult(status, f"{message} ({words})" if message else words)


def _warn_on_tool(params: Mapping[str, Any], tool_name: str) -> HookResult:
    names = [params.get("tool_name"), *(params.get("tool_names") or ())]
    if not tool_name or tool_name.casefold() not in {str(name).casefold() for name in names if name}:
        return HookResult(PASS)
    return HookResult(
        PASS, message=_clean_text(params.get("message")) or f"the tool {_clean_text(tool_name)} is called"
    )


def _clean_text(value: object) -> str:
    return strip_control(str(value or ""), _LONGEST).strip()


FILE = "events.jsonl"
_LONGEST_EVENT = 4096


class HookEvents:
    """The event log of one task."""

    def __init__(
        self,
        directory: str,
        in_place: Callable[[], None] = lambda: None,
        clean: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """`clean` takes out what may be in no file."""
        self._folder, self._in_place, self._clean = directory, in_place, clean

    def emit(self, event: str, **fields: Any) -> None:
        """Adds one line. Texts are cut at 4 KiB."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        cleaned = self._clean(fields)
        cut = {name: value[:_LONGEST_EVENT] if isinstance(value, str) else value for name, value in cleaned.items()}
        with contextlib.suppress(StorageError, OSError):
            self._in_place()
            make_directory(self._folder)
            append_without_sync(os.path.join(self._folder, FILE), row_line({"at": at, "event": event, **cut}))
