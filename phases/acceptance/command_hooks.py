"""Run a command hook as a bounded process, and read its verdict from exit code and JSON. A missing program is not a verdict."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any, NamedTuple

from phases.acceptance.configuration.checksums import hash_scripts, is_tool_module
from phases.acceptance.hook import (
    ACCEPT_GATE,
    AUTO,
    BEFORE_TOOL,
    BLOCK,
    CLAUDE,
    FAILED,
    PASS,
    POINTS,
    SESSION_START,
    STOP,
    STRICT,
    Hook,
    HookPoint,
    HookResult,
)
from phases.sandbox.bash import shell_words
from phases.sandbox.output import OutputBuffer, cut_middle
from phases.sandbox.process import PATIENCE, SupervisedProcess, Taker, follow_process
from phases.sandbox.supervisor import pack_order
from phases.workspace.workspace import LARGEST_FILE
from pipeline.base.errors import StorageError
from pipeline.base.files import read_bytes
from pipeline.base.safe_tree import open_regular
from pipeline.base.text_escaping import UNSEEN

_LONGEST_HEADING = 8192
_LONGEST_QUOTE = 200
_SECONDS_TO_READ = 5.0
MOST_TEXT = 8192
"""Bytes of any one text."""
_DENIES, _ALLOWS = ("block", "deny"), ("approve", "allow", "ask")
_REFUSED_UPDATES = ("updatedInput", "updatedToolOutput", "updatedMCPToolOutput")
_SPECIFIC, _PERMISSION = "hookSpecificOutput", "permissionDecision"
_REFUSES = re.compile(
    rb"""["'](?:decision|permissionDecision)["']\s*:\s*["'](?:block|deny)["']|["']continue["']\s*:\s*[Ff]alse"""
)
_TEXTS = ("reason", "stopReason", "systemMessage", "decision")
_SPECIFIC_TEXTS = ("additionalContext", _PERMISSION, "permissionDecisionReason")
MOST_KEPT = 65_536
"""Bytes of each stream that are kept: the first quarter, and the last three."""
MOST_LOGGED = 16 * 2**20
GRACE = 2.0
"""Seconds between the request to end and the end."""
_SEQUENCES = re.compile(
    # No part of a sequence can begin another one, so the time is linear in the text. What is not closed ends with its line.
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\\\)?"
    "|\x1b[ -/]*[0-~]?"
)
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?acceptance\s*+[-_\u2010-\u2015\u2212]\s*+feedback)", re.IGNORECASE)


class HookPlace(NamedTuple):
    """Directory, log and environment of a hook."""

    workspace: str
    log: str
    """The file for all of its output; its directory is there. Empty: none."""
    environment: Mapping[str, str]
    """All of the user's variables."""
    secret_names: Collection[str] = ()
    """Variables that hold keys of models, whatever they are called."""
    added: Mapping[str, str] = {}
    """Variables set for every hook, such as CLAUDE_PROJECT_DIR."""


def run_command(hook: Hook, payload: bytes, place: HookPlace) -> HookResult:
    """Run the hook once with the user's rights and `payload` as its input."""
    argv = _build_argv(hook)
    if not argv:
        return HookResult(FAILED, f"hook {hook.key} could not be run: it has no command")
    environment = environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added)
    launch = CommandLaunch(
        argv,
        place.workspace,
        environment,
        payload,
        hook.seconds,
        place.log,
        _log_heading(hook, dropped_names(place.environment, secret_names=place.secret_names, hook=hook)),
    )
    return judge_outcome(run_process(launch), hook, place.workspace, environment.get("PATH"))


_MISSING_PROGRAM = re.compile(
    r"""
    :[ ](?P<shell>[\w+][\w.+-]*):[ ](?:command[ ])?not[ ]found$
    | [ ]command[ ]not[ ]found:[ ](?P<zsh>[\w+][\w.+-]*)$
    | \b(?:make|xargs|env):[ ]['\u2018]?(?P<caller>[\w+][\w.+-]*)['\u2019]?:[ ]No[ ]such[ ]file[ ]or[ ]directory$
    | \bNo[ ]such[ ]file[ ]or[ ]directory:[ ]'(?P<python>[\w+][\w+-]*)'$
    | ^\S*python[\d.]*:[ ]No[ ]module[ ]named[ ]'?(?P<module>\w+)'?$
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Messages about a program that is not installed. A name with a slash is a file, which the agent may owe, and
so is one with a suffix where Python names it."""
_MAY_HIDE_IT = (1, 2)
"""Exit codes that scripts use after any failure."""


def judge_outcome(ran: ProcessOutcome, hook: Hook, workspace: str, path: str | None) -> HookResult:
    """Return the verdict of one run. At the gate, a block because of a missing program becomes a failure: no agent can fix that.

    `path`: where the hook's programs are looked for; None where that is not known, as in the sandbox.
    """
    result = read_verdict(ran, hook, POINTS[hook.point])
    # A guard that refuses a call goes on refusing it: what it prints may be words of the agent.
    if hook.point != ACCEPT_GATE or result.status != BLOCK or ran.exit_code not in _MAY_HIDE_IT:
        return result
    for found in _MISSING_PROGRAM.finditer(result.tail):
        name = str(found[found.lastgroup or 0])
        if _is_program_of(hook, name, workspace) and _is_not_installed(name, found.lastgroup == "module", path):
            line = result.tail[: found.end()].rpartition("\n")[2].strip()
            code = f"hook {hook.key} exited with code {ran.exit_code}"
            message = f"{code} because a program is missing: {name} is not installed here"
            return result._replace(status=FAILED, reason=f"{message} ({strip_control(line, _LONGEST_QUOTE)})")
    return result


def _is_not_installed(name: str, module: bool, path: str | None) -> bool:
    return is_tool_module(name) if module else path is None or shutil.which(name, path=path) is None


def _is_program_of(hook: Hook, name: str, workspace: str) -> bool:
    """Return whether a hook's command or scripts name a program. Any other program is called by the agent's code."""
    word = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])")
    if word.search(hook.command):
        return True
    for script in hash_scripts(hook, workspace):
        try:
            text = read_bytes(os.path.join(workspace, script), limit=LARGEST_FILE).decode("utf-8", "replace")
        except StorageError:
            continue
        if word.search(text):
            return True
    return False


def read_session_variables(hook: Hook, path: str, place: HookPlace) -> dict[str, str]:
    """Return the variables that a hook wrote into its CLAUDE_ENV_FILE, as its shell reads them."""
    before = environment_of(place.environment, secret_names=place.secret_names, hook=hook, added=place.added)
    argv = tuple(shell_words('. "$CLAUDE_ENV_FILE" > /dev/null 2>&1; exec env -0'))
    ran = run_process(CommandLaunch(argv, place.workspace, {**before, "CLAUDE_ENV_FILE": path}, b"", _SECONDS_TO_READ))
    rows = ran.stdout.decode("utf-8", "surrogateescape").split("\0") if ran.is_whole else []
    given = dict(row.split("=", 1) for row in rows if "=" in row)
    ours = {*place.added, "CLAUDE_ENV_FILE", "_", "SHLVL", "PWD", "OLDPWD"}
    return {name: value for name, value in given.items() if name not in ours and before.get(name) != value}


def _build_argv(hook: Hook) -> tuple[str, ...]:
    if args := hook.params.get("args"):
        return tuple(map(str, args))
    return tuple(shell_words(hook.command)) if hook.command.strip() else ()


def _log_heading(hook: Hook, dropped: Collection[str]) -> str:
    lines = [f"{hook.key} at {hook.point}: {hook.command}"]
    if dropped:
        lines.append(f"not given to it: {', '.join(dropped)} (env_allow gives one by its name)")
    return "\n".join(strip_control(line, _LONGEST_HEADING) for line in lines)


SET_FOR_ALL = ("CI", "GIT_TERMINAL_PROMPT", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""Names among `added` that a hook might set in its `env`: ours win."""
_SECRET = re.compile(
    r"(?:_|^)(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PASSPHRASE|(?:ACCESS|PRIVATE)_?KEY)(?:$|_)"
    r"|^AWS_|^GIT_CONFIG_|^(?:GIT_ASKPASS|SSH_AUTH_SOCK|LD_PRELOAD)$"
    r"|(?:^|_)(?:DATABASE_URL|DB_URL|DSN)$|(?:^|_)WEBHOOK(?:_URL)?$|^SLACK_.*WEBHOOK"
    r"|^PIPELINE_.*(?:KEY|PASSWORD)S?(?:$|_)",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"://[^\s/@:]*:[^\s/@]+@")
"""An address with a password in it, be it of a database or of a proxy."""


def environment_of(
    own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook, added: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of one hook: the user's without secrets, then the hook's `env`, then `added`."""
    dropped = dropped_names(own, secret_names=secret_names, hook=hook)
    given = {name: value for name, value in own.items() if name not in dropped}
    return {**given, **hook.env, **added}


def dropped_names(own: Mapping[str, str], *, secret_names: Collection[str], hook: Hook) -> tuple[str, ...]:
    """Return the names of the variables that the hook does not get."""
    # Names are compared in capitals: programs on Linux may use any case.
    secrets = {name.upper() for name in secret_names}
    return tuple(
        sorted(
            name
            for name in own
            if name not in hook.env_allow
            and (name.upper() in secrets or _SECRET.search(name) is not None or _PASSWORD.search(own[name]) is not None)
        )
    )


class _Misunderstood(ValueError):
    """The hook answered, and its answer is not valid."""


def judge_reply(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """Return the verdict of a hook that exited with 0: a pass, unless its output is a JSON object that says otherwise."""
    try:
        reply = parse_object(ran)
        if reply is None:
            return _plain_reply(ran, hook, point)
        return _judge_object(reply, hook, point)
    except _Misunderstood as error:
        return HookResult(FAILED, f"hook {hook.key} exited with 0, and {strip_control(str(error), MOST_TEXT)}")


def parse_object(ran: ProcessOutcome) -> Mapping[str, Any] | None:
    """Standard output, if the whole of it is one JSON object."""
    try:
        value = json.loads(ran.stdout.decode("utf-8", "replace").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # RecursionError: lists in lists in lists
        return None
    return value if ran.is_whole and isinstance(value, dict) else None


def _plain_reply(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """Return a pass; output that was meant as an object fails it: a missing comma must not lose a block.

    A strict hook is any command at all, and may print braces; its output counts as an answer only if it refuses something.
    """
    # decision 92: test commands print what they like, so braces alone are no answer
    text = ran.stdout.strip().removeprefix(b"\xef\xbb\xbf")
    meant = hook.exit_policy == CLAUDE or _REFUSES.search(text) is not None
    if text.startswith(b"{") and meant:
        size = "" if ran.is_whole else ": it is larger than 64 KiB"
        raise _Misunderstood(f"its answer looks like a JSON object but is not valid{size}")
    shown = strip_control(text, MOST_TEXT).strip()
    if point.name == SESSION_START and hook.exit_policy == CLAUDE:  # as Claude Code takes it
        return HookResult(PASS, context=shown)
    lines = [line for line in shown.splitlines() if line.strip()]
    return HookResult(PASS, notes=(f"it printed: {strip_control(lines[-1].strip(), _LONGEST_QUOTE)}",) if lines else ())


def _judge_object(reply: Mapping[str, Any], hook: Hook, point: HookPoint) -> HookResult:
    if reply.get("continue") is False:  # it wins over everything, also over what is wrong with the rest
        reason = reply.get("stopReason")
        text = strip_control(reason, MOST_TEXT).strip() if isinstance(reason, str) else ""
        return HookResult(STOP, text or f"hook {hook.key} stopped the run", message=_message_of(reply))
    faults = list(_reply_faults(reply))
    if faults and hook.exit_policy == CLAUDE:
        raise _Misunderstood(faults[0])
    found = reply.get(_SPECIFIC)
    specific = found if isinstance(found, dict) else {}
    notes = (
        *faults,
        *_update_notes(reply, specific),
        *_decision_notes(reply, point),
        *_specific_notes(specific, point),
    )
    result = HookResult(PASS, message=_message_of(reply), context=_text_of(specific, "additionalContext"), notes=notes)
    if reply.get("decision") in _DENIES:
        text = f"its answer has the decision {reply['decision']!r} without a reason"
        reason = _text_of(reply, "reason")
        if not reason and hook.exit_policy == CLAUDE:
            raise _Misunderstood(text)
        return result._replace(status=BLOCK, reason=reason or f"hook {hook.key} exited with 0, and {text}")
    if point.name == BEFORE_TOOL and specific.get(_PERMISSION) == "deny":
        reason = _text_of(specific, "permissionDecisionReason") or f"hook {hook.key} denies this call"
        return result._replace(status=BLOCK, reason=reason)
    return result


def _reply_faults(reply: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of an answer. Null counts as absent.

    Under the protocol of Claude Code the answer is invalid then. Under the other policies exit codes are the
    protocol, and an object of a program's own (`{"decision": "PASS"}`) is not an answer at all, only a note.
    """
    specific = reply.get(_SPECIFIC)
    if not isinstance(reply.get("continue"), bool | None):
        yield "in its answer 'continue' is neither true nor false"
    if not isinstance(specific, dict | None):
        yield f"in its answer {_SPECIFIC!r} is not an object"
    specific = specific if isinstance(specific, dict) else {}
    for values, names in ((reply, _TEXTS), (specific, _SPECIFIC_TEXTS)):
        for name in names:
            if not isinstance(values.get(name), str | None):
                yield f"in its answer {name!r} is not a string"
    known = (*_DENIES, *_ALLOWS)
    for decision in (reply.get("decision"), specific.get(_PERMISSION)):
        if decision and isinstance(decision, str) and decision not in known:
            shown = strip_control(decision, _LONGEST_QUOTE)
            yield f"its answer has the decision {shown!r}, which is none of {', '.join(known)}"


def _update_notes(reply: Mapping[str, Any], specific: Mapping[str, Any]) -> list[str]:
    names = [name for name in _REFUSED_UPDATES if name in reply or name in specific]
    return [f"{name} is refused: a hook cannot change a tool's input or output" for name in names]


def _decision_notes(reply: Mapping[str, Any], point: HookPoint) -> list[str]:
    if reply.get("decision") in _ALLOWS and point.name == BEFORE_TOOL:
        return [f"its decision {reply['decision']!r} changes nothing: a hook can refuse a call, and allow none"]
    return []


def _specific_notes(specific: Mapping[str, Any], point: HookPoint) -> list[str]:
    notes = []
    decision, event = specific.get(_PERMISSION), specific.get("hookEventName")
    if decision and point.name != BEFORE_TOOL:
        notes.append(f"its {_PERMISSION} is ignored: at {point.name} nothing is permitted or denied")
    elif decision in _ALLOWS:
        notes.append(f"its {_PERMISSION} {decision!r} changes nothing: a hook can refuse a call, and allow none")
    if isinstance(event, str) and event not in (point.claude, point.gemini, point.name):
        notes.append(f"it answered as if at {strip_control(event, _LONGEST_QUOTE)!r}")
    return notes


def _message_of(reply: Mapping[str, Any]) -> str:
    return _text_of(reply, "systemMessage")


def _text_of(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return strip_control(value, MOST_TEXT).strip() if isinstance(value, str) else ""


_NOT_EXECUTABLE, _NOT_FOUND, _BLOCKS = 126, 127, 2
_LONGEST_LINE = 200


def read_verdict(ran: ProcessOutcome, hook: Hook, point: HookPoint) -> HookResult:
    """Return the verdict of one run. Whether a block holds at the point is decided elsewhere."""
    printed = _combine_output(ran)
    verdict = _judge_exit(ran, hook, point, printed)
    return verdict._replace(
        tail=printed,
        exit_code=ran.exit_code,
        timed_out=ran.timed_out,
        notes=(*verdict.notes, *(strip_control(note, MOST_TEXT) for note in ran.notes)),
        seconds=ran.seconds,
    )


def _judge_exit(ran: ProcessOutcome, hook: Hook, point: HookPoint, printed: str) -> HookResult:
    name = f"hook {hook.key}"
    if ran.fault:
        return HookResult(FAILED, f"{name} could not be run: {strip_control(ran.fault, MOST_TEXT)}")
    if ran.timed_out:
        message = f"{name} timed out after {hook.seconds:g} s"
        return HookResult(BLOCK, _join_texts(message, printed)) if hook.timeout_blocks else HookResult(FAILED, message)
    if ran.signal is not None or ran.exit_code is None:
        return HookResult(FAILED, f"{name} was ended by {_signal_name(ran.signal)}{_last_words(printed)}")
    if ran.exit_code == 0:
        return (
            HookResult(PASS) if hook.sandbox else judge_reply(ran, hook, point)
        )  # in the sandbox exit codes alone count
    message = f"exited with code {ran.exit_code}"
    # The shell says so of a mistyped command: that is a broken hook, not a verdict on the code.
    if ran.exit_code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return HookResult(FAILED, f"{name} {message}: its command cannot be run{_last_words(printed)}")
    if ran.exit_code in _blocking_codes(hook, ran.exit_code):
        silent = "and wrote no reason to standard error" if printed.strip() else "without output"
        return HookResult(BLOCK, _block_reason(ran, hook, printed) or f"{name} {message} {silent}")
    if hook.exit_policy == CLAUDE:
        fault = f"{name} {message}{_last_words(printed)}"
        return HookResult(PASS, notes=(f"hook_failed: {fault}",), fault=fault)
    return HookResult(FAILED, f"{name} {message}, which is not a verdict{_last_words(printed)}")


def _blocking_codes(hook: Hook, code: int) -> tuple[int, ...]:
    """Return the exit codes that block."""
    return {STRICT: (code,), AUTO: (1, _BLOCKS)}.get(hook.exit_policy, (_BLOCKS,))


def _block_reason(ran: ProcessOutcome, hook: Hook, printed: str) -> str:
    """Return the reason of a block. At exit code 2 JSON does not count, and standard error is the reason."""
    errors = strip_control(ran.stderr, MOST_TEXT).strip("\n")
    answered = ran.exit_code == _BLOCKS and parse_object(ran) is not None
    return errors if hook.exit_policy == CLAUDE or (answered and errors.strip()) else printed.strip("\n")


def _combine_output(ran: ProcessOutcome) -> str:
    """Join standard error and standard output; each may use half of the room, or more if the other needs less."""
    # Failures are printed at the end, often to standard output: neither stream may crowd out the other.
    room = MOST_TEXT - 1
    errors, output = (strip_control(data, room).strip("\n") for data in (ran.stderr, ran.stdout))
    half = room // 2
    errors = strip_control(errors, max(half, room - len(output.encode())))
    output = strip_control(output, room - len(errors.encode()))
    return _join_texts(errors, output)


def _join_texts(first: str, second: str) -> str:
    return strip_control("\n".join(part for part in (first, second) if part.strip()), MOST_TEXT)


def _last_words(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return f": {strip_control(lines[-1].strip(), _LONGEST_LINE)}" if lines else ""


def _signal_name(number: int | None) -> str:
    if number is None:
        return "something that is not known"
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


class CommandLaunch(NamedTuple):
    """A command line, ready to start."""

    argv: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    """Complete: nothing is inherited."""
    stdin: bytes
    seconds: float
    log: str = ""
    """The file that all of the output is appended to, up to 16 MiB a run; empty: none."""
    heading: str = ""
    """Heading of the output in the log."""


class ProcessOutcome(NamedTuple):
    """Result of a process: an exit code, a signal, a timeout or a fault."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    fault: str = ""
    """Reason why it could not be run."""
    stdout: bytes = b""
    """At most 64 KiB; the middle is left out, and its size stated."""
    stderr: bytes = b""
    seconds: float = 0.0
    is_whole: bool = True
    """Nothing of `stdout` is left out."""
    notes: tuple[str, ...] = ()
    """Faults that do not change the verdict: a log that could not be written, a process that could not be ended."""


def run_process(launch: CommandLaunch) -> ProcessOutcome:
    """Run a command and return when no process of it is left. Only signals raise."""
    began = time.monotonic()
    output, errors = OutputBuffer(MOST_KEPT), OutputBuffer(MOST_KEPT)
    with contextlib.closing(OutputLog(launch.log, launch.heading)) as log:
        outcome = _run_supervised(launch, (log.also(output.add), log.also(errors.add)))
    return outcome._replace(
        stdout=output.data(),
        stderr=errors.data(),
        is_whole=output.is_whole(),
        seconds=time.monotonic() - began,
        notes=(*outcome.notes, *log.faults),
    )


def _run_supervised(launch: CommandLaunch, takers: tuple[Taker, Taker]) -> ProcessOutcome:
    try:
        order = pack_order(launch.argv, launch.environment, launch.folder, seconds=launch.seconds, grace=GRACE)
        with SupervisedProcess(order, takers, launch.stdin) as process:
            follow_process(process, launch.seconds + GRACE + PATIENCE)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes, halves of surrogate pairs
        return ProcessOutcome(fault=str(error))
    return ProcessOutcome(**process.outcome()._asdict())


class OutputLog:
    """A log of the output, up to a cap."""

    def __init__(self, path: str, heading: str) -> None:
        self.faults: tuple[str, ...] = ()
        self._room, self._left_out = MOST_LOGGED, 0
        self._file: IO[bytes] | None = None
        if path:
            try:
                self._file = os.fdopen(_open_log(path), "ab", buffering=0)
            except OSError as error:
                self._give_up(error.strerror or str(error))
            except ValueError as error:  # a NUL byte in the path
                self._give_up(str(error))
        if heading:
            self.write(f"{heading}\n".encode("utf-8", "replace"))

    def also(self, taker: Taker) -> Taker:
        """Wrap a taker so that the log gets each piece too."""

        def take(piece: bytes) -> None:
            self.write(piece)
            taker(piece)

        return take

    def write(self, piece: bytes) -> None:
        """Write the next bytes. Errors are not raised but kept in `faults`."""
        fitting = piece[: self._room]
        self._room -= len(fitting)
        self._left_out += len(piece) - len(fitting)
        self._put(fitting)

    def close(self) -> None:
        """Note how much did not fit, and close the file."""
        if self._left_out:
            self._put(f"\n… the log of a run ends here: {self._left_out:,} more bytes are left out …\n".encode())
        if self._file:
            self._file.close()

    def _put(self, data: bytes) -> None:
        try:
            if self._file and data and self._file.write(data) != len(data):
                self._give_up("no room is left")
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _give_up(self, why: str) -> None:
        self.faults = (f"its log could not be written: {why}",)
        if self._file:
            self._file.close()
        self._file = None


def _open_log(path: str) -> int:
    """Open a regular file of this user that has no other name, to append to it."""
    descriptor = open_regular(path, flags=os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode=0o600)
    status = os.fstat(descriptor)
    if status.st_nlink != 1 or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(f"{path} is not an ordinary file of this user")
    os.fchmod(descriptor, 0o600)
    return descriptor


def strip_control(data: bytes | str, most: int) -> str:
    """Return the visible text; beyond `most` bytes of UTF-8, its first quarter and last three."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = _SEQUENCES.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_shown, text.split("\n")))
    return cut_middle(UNSEEN.sub("", text).encode(), most).decode()


def mask_tag(text: str) -> str:
    """Replace each `<acceptance-feedback` and `</acceptance-feedback`, however spelled; the length stays."""
    return _TAG.sub("[", text)


def _last_shown(line: str) -> str:
    """Return the final state of a line that is overwritten, such as a progress bar."""
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")
