"""Filter on system calls: a program for the kernel, assembled by hand from a list of refusals."""

from __future__ import annotations

import errno
import platform
import stat
import struct
from collections.abc import Iterable
from functools import cache

_Step = tuple[int, int, int, int]
"""Operation, how many steps to jump if so, if not, operand."""
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANSWER = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _REFUSE, _END_THE_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_OTHER_TABLE = 0x40000000
"""First number at which an x86_64 kernel uses another table."""
_NAMESPACES = 0x7E020000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _TYPE = 1, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15

# Each call is listed once: its name, its number on x86_64, its number on aarch64; - where that machine never had it.
_NEVER = """
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
    process_mrelease 448 448, kcmp 312 272, pidfd_getfd 438 438, keyctl 250 219, add_key 248 217,
    request_key 249 218, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, bpf 321 280,
    perf_event_open 298 241, unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41,
    chroot 161 51, open_tree 428 428, open_tree_attr 467 467, move_mount 429 429, fsopen 430 430, fsconfig 431 431,
    fsmount 432 432, fspick 433 433, mount_setattr 442 442, quotactl 179 60, quotactl_fd 443 443, swapon 167 224,
    swapoff 168 225, kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, userfaultfd 323 282,
    init_module 175 105, finit_module 313 273, delete_module 176 106, syslog 103 116, acct 163 89,
    settimeofday 164 170, clock_settime 227 112, sethostname 170 161, setdomainname 171 162, iopl 172 -,
    ioperm 173 -, modify_ldt 154 -, lookup_dcookie 212 18, name_to_handle_at 303 264, open_by_handle_at 304 265,
    fanotify_init 300 262, fanotify_mark 301 263, vhangup 153 58, nfsservctl 180 42, migrate_pages 256 238,
    move_pages 279 239
"""
_UNCOUNTED_MEMORY = """
    memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196, shmctl 31 195, msgget 68 186,
    msgsnd 69 189, msgrcv 70 188, msgctl 71 187, semget 64 190, semop 65 193, semctl 66 191, semtimedop 220 192,
    mq_open 240 180, mq_unlink 241 181
"""
"""Calls whose memory belongs to no process, so no limit on memory sees it; without namespaces it is the host's."""
_SOCKETS = "socket 41 198, connect 42 203, bind 49 200"
_SIGNALS = """
    kill 62 129, tkill 200 130, tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
    pidfd_send_signal 424 424
"""
_ONESELF_ALONE = """
    prlimit64 302 261, sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,
    sched_setaffinity 203 122
"""
_ONESELF_SECOND = "setpriority 141 140, ioprio_set 251 30"
_OWNERS = """
    chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
    removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, setxattrat 463 463, removexattrat 466 466,
    file_setattr 469 469
"""
_IGNORED = "utime 132 -, utimes 235 -, futimesat 261 -"
"""Landlock does not hold back a change of mode or time outside the workspace. Refused, they would stop a plain copy
of a file; so they do nothing, and say nothing."""
_BY_ARGUMENT = """
    socketpair 53 199, clone 56 220, clone3 435 435, ioctl 16 29, fcntl 72 25, chmod 90 -, fchmod 91 52,
    fchmodat 268 53, fchmodat2 452 452, open 2 -, openat 257 56, openat2 437 437, creat 85 -, mkdir 83 -,
    mkdirat 258 34, mknod 133 -, mknodat 259 33, utimensat 280 88
"""
_TABLE = (
    _NEVER, _UNCOUNTED_MEMORY, _SOCKETS, _SIGNALS, _ONESELF_ALONE, _ONESELF_SECOND, _OWNERS, _IGNORED, _BY_ARGUMENT,
)  # fmt: skip
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
"""Calls that change a mode, and which of their arguments that is. With Landlock alone they do nothing either."""
_MADE = {"creat": 1, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2}
_OPENED = {"open": 1, "openat": 2}
"""Positions of the flags; the mode comes after them, and does not count if nothing is created."""
_SETUID_OR_SETGID = stat.S_ISUID | stat.S_ISGID
"""A file with one of these is a door to the rights of its owner for whoever of the host runs it."""
_MAKES = 0o100 | 0o20000000
"""O_CREAT, or O_TMPFILE without O_DIRECTORY, whose number differs between machines."""


@cache
def seccomp_words(*, alone: bool, signals: bool = False) -> tuple[str, ...]:
    """Return the words that make confine.py load the filter; none if this machine has no filter.

    `alone`: no namespaces contain the command, so what they would contain is refused as well. `signals`: these too.
    """
    if platform.machine() not in ARCHITECTURES:
        return ()
    return (f"seccomp:{assemble_filter(platform.machine(), alone=alone, signals=signals).hex()}",)


def assemble_filter(machine: str, *, alone: bool, signals: bool) -> bytes:
    known = syscall_numbers(machine)
    steps: list[_Step] = [(_LOAD, 0, 0, _MACHINE_AT), (_EQUAL, 1, 0, ARCHITECTURES[machine])]
    steps += [(_ANSWER, 0, 0, _END_THE_PROCESS), (_LOAD, 0, 0, _NUMBER_AT)]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _OTHER_TABLE), _refuse_with(errno.ENOSYS)]
    for names, body in _list_refusals(alone=alone, signals=signals):
        for name in names:
            if name in known:
                steps += [(_EQUAL, 0, len(body), known[name]), *body]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _list_refusals(*, alone: bool, signals: bool) -> Iterable[tuple[tuple[str, ...], list[_Step]]]:
    """Yield calls with their rules. Each rule ends with an answer, on every path through it."""
    no = [_refuse_with(errno.EPERM)]
    yield _names_of(_NEVER), no
    yield _names_of(_UNCOUNTED_MEMORY), no
    yield ("clone",), [_load_argument(0), (_AND, 0, 0, _NAMESPACES), (_EQUAL, 1, 0, 0), *no, (_ANSWER, 0, 0, _ALLOW)]
    yield ("clone3",), [_refuse_with(errno.ENOSYS)]  # its flags cannot be seen here; the C library then takes clone
    yield ("ioctl",), [_load_argument(1), *_refuse_values((_TIOCSTI, _TIOCLINUX))]
    yield (
        ("openat2",),
        [_refuse_with(errno.ENOSYS)],
    )  # its mode cannot be seen here; callers then take openat (decision 129)
    for name, place in _MODES.items():
        yield (name,), _plain_mode(place, _refuse_with(0) if alone else (_ANSWER, 0, 0, _ALLOW))
    for name, place in _MADE.items():
        yield (name,), _plain_mode(place, (_ANSWER, 0, 0, _ALLOW))
    for name, place in _OPENED.items():
        made = [_load_argument(place), (_AND, 0, 0, _MAKES), (_EQUAL, 0, 1, 0), (_ANSWER, 0, 0, _ALLOW)]
        yield (name,), [*made, *_plain_mode(place + 1, (_ANSWER, 0, 0, _ALLOW))]
    pair = [_load_argument(0), (_EQUAL, 0, 4, _AF_UNIX), _load_argument(1), (_AND, 0, 0, _TYPE)]
    if not alone:
        plain = [*_allow_values((_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK))]
        yield ("socket",), [_load_argument(0), *plain]
        return
    yield _names_of(_SOCKETS), no
    # A pair of streams has no address and gets none; a datagram could still be sent to any socket of the host.
    yield ("socketpair",), [*pair, (_EQUAL, 0, 1, _SOCK_STREAM), (_ANSWER, 0, 0, _ALLOW), *no]
    yield _names_of(_OWNERS), no
    yield _names_of(_IGNORED), [_refuse_with(0)]
    yield ("utimensat",), [*_answer_if_zero(1, (_ANSWER, 0, 0, _ALLOW)), _refuse_with(0)]
    yield _names_of(_ONESELF_ALONE), [*_answer_if_zero(0, (_ANSWER, 0, 0, _ALLOW)), *no]
    yield _names_of(_ONESELF_SECOND), [*_answer_if_zero(1, (_ANSWER, 0, 0, _ALLOW)), *no]
    yield ("fcntl",), [_load_argument(1), *_refuse_values((_F_SETOWN, _F_SETSIG, _F_SETOWN_EX))]
    if signals:
        yield _names_of(_SIGNALS), no


def _refuse_with(code: int) -> _Step:
    return (_ANSWER, 0, 0, _REFUSE | code)


def _load_argument(number: int) -> _Step:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * number)


def _plain_mode(number: int, answer: _Step) -> list[_Step]:
    """Refuse a mode that lends the rights of the file's owner or group, and answer to every other."""
    return [
        _load_argument(number),
        (_AND, 0, 0, _SETUID_OR_SETGID),
        (_EQUAL, 1, 0, 0),
        _refuse_with(errno.EPERM),
        answer,
    ]


def _answer_if_zero(number: int, answer: _Step) -> list[_Step]:
    """Answer if all 64 bits of an argument are 0; go on if not."""
    high = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * number + 4)
    return [_load_argument(number), (_EQUAL, 0, 3, 0), high, (_EQUAL, 0, 1, 0), answer]


def _refuse_values(values: tuple[int, ...]) -> list[_Step]:
    """Refuse these values of what was loaded, and allow every other."""
    steps = [step for value in values for step in ((_EQUAL, 0, 1, value), _refuse_with(errno.EPERM))]
    return [*steps, (_ANSWER, 0, 0, _ALLOW)]


def _allow_values(values: tuple[int, ...]) -> list[_Step]:
    """Allow these values of what was loaded, and refuse every other."""
    steps = [step for value in values for step in ((_EQUAL, 0, 1, value), (_ANSWER, 0, 0, _ALLOW))]
    return [*steps, _refuse_with(errno.EPERM)]


ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Architecture constants of a filter by platform.machine(), in the order of the columns."""


def syscall_numbers(machine: str) -> dict[str, int]:
    """Return the number of each call by its name; calls that this machine never had are left out."""
    column = 1 + list(ARCHITECTURES).index(machine)
    return {row[0]: int(row[column]) for calls in _TABLE for row in _split_rows(calls) if row[column] != "-"}


def _split_rows(calls: str) -> list[list[str]]:
    return [entry.split() for entry in calls.split(",")]


def _names_of(calls: str) -> tuple[str, ...]:
    return tuple(row[0] for row in _split_rows(calls))
