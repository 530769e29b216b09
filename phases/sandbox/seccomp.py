"""The filter on system calls: a program for the kernel, put together by hand from a list of refusals."""

from __future__ import annotations

import errno
import platform
import stat
import struct
from collections.abc import Iterable
from functools import cache

from phases.sandbox.syscalls import ARCHITECTURES, numbers

_Step = tuple[int, int, int, int]
"""Operation, how many steps to jump if so, if not, operand."""
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANSWER = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _REFUSE, _END_THE_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_OTHER_TABLE = 0x40000000
"""From here on an x86_64 kernel reads numbers by another table."""
_NAMESPACES = 0x7E020000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _TYPE = 1, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15

_NEVER = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd"),
    *("keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf"),
    *("perf_event_open", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr"),
    *("move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "quotactl", "quotactl_fd", "swapon"),
    *("swapoff", "kexec_load", "kexec_file_load", "reboot", "userfaultfd", "init_module", "finit_module"),
    *("delete_module", "syslog", "acct", "settimeofday", "clock_settime", "sethostname", "setdomainname", "iopl"),
    *("ioperm", "modify_ldt", "lookup_dcookie", "name_to_handle_at", "open_by_handle_at", "fanotify_init"),
    *("fanotify_mark", "vhangup", "nfsservctl", "migrate_pages", "move_pages"),
)
_UNCOUNTED_MEMORY = (
    *("memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl"),
    *("semget", "semop", "semctl", "semtimedop", "mq_open", "mq_unlink"),
)
"""What these hold belongs to no process, so no limit on memory sees it; and without namespaces it is the host's."""
_SOCKETS = ("socket", "connect", "bind")
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
_ONESELF_ALONE = ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
_ONESELF_SECOND = ("setpriority", "ioprio_set")
_OWNERS = (
    *("chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr"),
    *("fremovexattr", "setxattrat", "removexattrat", "file_setattr"),
)
_IGNORED = ("utime", "utimes", "futimesat")
"""Landlock does not hold back a change of mode or time outside the workspace. Refused, they would stop a plain copy
of a file; so they do nothing, and say nothing."""
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
"""Calls that change a mode, and which of their arguments that is. With Landlock alone they do nothing either."""
_MADE = {"creat": 1, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2}
_OPENED = {"open": 1, "openat": 2}
"""Where their flags are; the mode comes after them, and is none where nothing is made."""
_SETUID_OR_SETGID = stat.S_ISUID | stat.S_ISGID
"""A file with one of these is a door to the rights of its owner for whoever of the host runs it."""
_MAKES = 0o100 | 0o20000000
"""O_CREAT, or O_TMPFILE without O_DIRECTORY, whose number differs between machines."""


@cache
def seccomp_words(*, alone: bool, signals: bool = False) -> tuple[str, ...]:
    """The order that makes confine.py load the filter; none on a machine that there is no filter for.

    `alone`: no namespaces contain the command, so what they would contain is refused as well. `signals`: these too.
    """
    if platform.machine() not in ARCHITECTURES:
        return ()
    return (f"seccomp:{assembled(platform.machine(), alone=alone, signals=signals).hex()}",)


def assembled(machine: str, *, alone: bool, signals: bool) -> bytes:
    """The program, as the kernel takes it."""
    known = numbers(machine)
    steps: list[_Step] = [(_LOAD, 0, 0, _MACHINE_AT), (_EQUAL, 1, 0, ARCHITECTURES[machine])]
    steps += [(_ANSWER, 0, 0, _END_THE_PROCESS), (_LOAD, 0, 0, _NUMBER_AT)]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _OTHER_TABLE), _refusal(errno.ENOSYS)]
    for names, body in _refusals(alone=alone, signals=signals):
        for name in names:
            if name in known:
                steps += [(_EQUAL, 0, len(body), known[name]), *body]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _refusals(*, alone: bool, signals: bool) -> Iterable[tuple[tuple[str, ...], list[_Step]]]:
    """Which calls, and what is done with them. A body ends with an answer, whatever way is taken through it."""
    no = [_refusal(errno.EPERM)]
    yield _NEVER, no
    yield _UNCOUNTED_MEMORY, no
    yield ("clone",), [_argument(0), (_AND, 0, 0, _NAMESPACES), (_EQUAL, 1, 0, 0), *no, (_ANSWER, 0, 0, _ALLOW)]
    yield ("clone3",), [_refusal(errno.ENOSYS)]  # its flags cannot be seen here; the C library then takes clone
    yield ("ioctl",), [_argument(1), *_none_of((_TIOCSTI, _TIOCLINUX))]
    yield ("openat2",), [_refusal(errno.ENOSYS)]  # its mode cannot be seen here; who asks for it then takes openat
    for name, place in _MODES.items():
        yield (name,), _plain_mode(place, _refusal(0) if alone else (_ANSWER, 0, 0, _ALLOW))
    for name, place in _MADE.items():
        yield (name,), _plain_mode(place, (_ANSWER, 0, 0, _ALLOW))
    for name, place in _OPENED.items():
        made = [_argument(place), (_AND, 0, 0, _MAKES), (_EQUAL, 0, 1, 0), (_ANSWER, 0, 0, _ALLOW)]
        yield (name,), [*made, *_plain_mode(place + 1, (_ANSWER, 0, 0, _ALLOW))]
    pair = [_argument(0), (_EQUAL, 0, 4, _AF_UNIX), _argument(1), (_AND, 0, 0, _TYPE)]
    if not alone:
        plain = [*_only((_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK))]
        yield ("socket",), [_argument(0), *plain]
        return
    yield _SOCKETS, no
    # A pair of streams has no address and gets none; a datagram could still be sent to any socket of the host.
    yield ("socketpair",), [*pair, (_EQUAL, 0, 1, _SOCK_STREAM), (_ANSWER, 0, 0, _ALLOW), *no]
    yield _OWNERS, no
    yield _IGNORED, [_refusal(0)]
    yield ("utimensat",), [*_zero(1, (_ANSWER, 0, 0, _ALLOW)), _refusal(0)]
    yield _ONESELF_ALONE, [*_zero(0, (_ANSWER, 0, 0, _ALLOW)), *no]
    yield _ONESELF_SECOND, [*_zero(1, (_ANSWER, 0, 0, _ALLOW)), *no]
    yield ("fcntl",), [_argument(1), *_none_of((_F_SETOWN, _F_SETSIG, _F_SETOWN_EX))]
    if signals:
        yield _SIGNALS, no


def _refusal(code: int) -> _Step:
    return (_ANSWER, 0, 0, _REFUSE | code)


def _argument(number: int) -> _Step:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * number)


def _plain_mode(number: int, answer: _Step) -> list[_Step]:
    """Refuses a mode that lends the rights of the file's owner or group, and answers to every other."""
    return [_argument(number), (_AND, 0, 0, _SETUID_OR_SETGID), (_EQUAL, 1, 0, 0), _refusal(errno.EPERM), answer]


def _zero(number: int, answer: _Step) -> list[_Step]:
    """Answers if all 64 bits of an argument are 0; goes on if not."""
    high = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * number + 4)
    return [_argument(number), (_EQUAL, 0, 3, 0), high, (_EQUAL, 0, 1, 0), answer]


def _none_of(values: tuple[int, ...]) -> list[_Step]:
    """Refuses these values of what was loaded, and allows every other."""
    steps = [step for value in values for step in ((_EQUAL, 0, 1, value), _refusal(errno.EPERM))]
    return [*steps, (_ANSWER, 0, 0, _ALLOW)]


def _only(values: tuple[int, ...]) -> list[_Step]:
    """Allows these values of what was loaded, and refuses every other."""
    steps = [step for value in values for step in ((_EQUAL, 0, 1, value), (_ANSWER, 0, 0, _ALLOW))]
    return [*steps, _refusal(errno.EPERM)]
