"""Last step before a command: drop every right that it must not have, for good, then become the command.

Runs as a script inside bubblewrap, where nothing else of this program is seen, so it imports the standard library alone,
little of that, and takes plain words as its orders: every command pays for its start.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import sys

REFUSED = 125
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_FILE_RIGHTS = 1 | 2 | 4 | (1 << 14) | (1 << 15)
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER_MODE, _DROP_BOUND, _AMBIENT, _CLEAR_ALL = 38, 22, 2, 24, 47, 4
_SIGNALS = 2
_CAPABILITIES_V3, _MOST_CAPABILITIES = 0x20080522, 64
_Order = tuple[str, str]


class _Rules(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main(words: list[str], environment: dict[bytes, bytes] | None = None) -> int:
    """Run `order:value … -- program argument …`. Returns only if a restriction failed: then nothing runs.

    `environment` is the program's; None: that of this process.
    """
    end = words.index("--")
    orders = [_parse_order(word) for word in words[:end]]
    try:
        confine_process(orders)
        if "first" in dict(orders) and (child := os.fork()):
            return _wait_as_first(child)
        if "first" in dict(orders):
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        program, arguments = words[end + 1], words[end + 1 :]
        if environment is None:
            os.execvp(program, arguments)  # noqa: S606 - to become the command is what this is for
        os.execvpe(program, arguments, environment)  # noqa: S606 - the same
    except (OSError, ValueError) as error:
        os.write(2, f"not run: the sandbox could not be closed: {error}\n".encode("utf-8", "replace"))
    return REFUSED


def _wait_as_first(child: int) -> int:
    """Wait as the first process of a container: reap the dead, and end all with the command or the other end of standard input.

    The runner of the container holds that end, so no container outlives a killed run.
    """
    import select  # late: every command pays for the start of this, and few are in a container

    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    waiting = select.poll()
    for descriptor in (0, ended):
        waiting.register(descriptor, select.POLLIN)
    while True:
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                if dead[0] == child:
                    code = os.waitstatus_to_exitcode(dead[1])
                    return code if code >= 0 else 128 - code
        except ChildProcessError:
            return REFUSED
        ready = [descriptor for descriptor, _ in waiting.poll()]
        if ended in ready:
            os.read(ended, 4096)
        if 0 in ready and not os.read(0, 4096):
            return REFUSED


def confine_process(orders: list[_Order]) -> None:
    """Do what is ordered, in the one order in which it can be done. Raises OSError."""
    kernel = ctypes.CDLL(None, use_errno=True)
    # A descriptor of the runner that is left open is a way out that no rule on paths sees.
    os.closerange(3, 65536)
    for directory in _values_of(orders, "cd"):
        os.chdir(directory)
    for steps in _values_of(orders, "nice"):
        os.nice(int(steps))
        _go_first_when_memory_is_short()
    for order in _values_of(orders, "limit"):
        number, most = (int(part) for part in order.split(":"))
        hard = resource.getrlimit(number)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (most, most))
    if "drop" in dict(orders):
        _drop_capabilities(kernel)
    # Without new privileges no setuid program gives back what is given up here; the kernel asks for it before a filter.
    if "fs" in dict(orders) or "seccomp" in dict(orders):
        _check_result(kernel.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if "fs" in dict(orders):
        _apply_landlock(kernel, orders)
    # The filter comes last: so it need not allow what is done above.
    for program in _values_of(orders, "seccomp"):
        _load_seccomp(kernel, bytes.fromhex(program))
    # Python ignores them, and what is ignored stays so in the command.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _go_first_when_memory_is_short() -> None:
    """Make the kernel end this process before any other if memory runs out between two measurements."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:  # a system without it
        pass


def hold_signals_in() -> bool:
    """Restrict signals of this process and its children to each other. Returns False if the kernel cannot."""
    kernel = ctypes.CDLL(None, use_errno=True)
    try:
        _check_result(kernel.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _apply_landlock(kernel, [("scope", str(_SIGNALS))])
    except OSError:
        return False
    return True


def _drop_capabilities(kernel: ctypes.CDLL) -> None:
    kernel.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for capability in range(_MOST_CAPABILITIES):
        kernel.prctl(_DROP_BOUND, capability, 0, 0, 0)  # fails for an ordinary user, who has none to drop
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0)
    _check_result(kernel.capset(header, (ctypes.c_uint32 * 6)()))


def _apply_landlock(kernel: ctypes.CDLL, orders: list[_Order]) -> None:
    handled = [int(dict(orders).get(name, "0")) for name in ("fs", "net", "scope")]
    rules = _Rules(*handled)
    length = 24 if handled[2] else 16 if handled[1] else 8  # an older kernel knows a shorter structure
    ruleset = _check_result(kernel.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(length), 0))
    for order in _values_of(orders, "rule"):
        rights, _, path = order.partition(":")
        try:
            directory = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            # It is not on this machine, so it cannot be allowed.
            continue
        only = -1 if stat.S_ISDIR(os.fstat(directory).st_mode) else _FILE_RIGHTS
        beneath = _Beneath(int(rights) & only, directory)
        _check_result(kernel.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(beneath), 0))
        os.close(directory)
    _check_result(kernel.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _load_seccomp(kernel: ctypes.CDLL, program: bytes) -> None:
    loaded = _Program(len(program) // 8, program)
    _check_result(kernel.prctl(_SECCOMP, _FILTER_MODE, ctypes.byref(loaded), 0, 0))


def _check_result(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _parse_order(word: str) -> _Order:
    name, _, value = word.partition(":")
    return name, value


def _values_of(orders: list[_Order], name: str) -> list[str]:
    return [value for given, value in orders if given == name]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
