"""The filter on system calls: what it answers on each machine, by an interpreter of its program."""

from __future__ import annotations

import errno
import struct

import pytest

from phases.sandbox.seccomp import ARCHITECTURES, assemble_filter, syscall_numbers

MACHINES = pytest.mark.parametrize("machine", list(ARCHITECTURES))
ALLOWED, KILLED = "allowed", "killed"


def answer(program: bytes, machine: int, number: int, *arguments: int) -> str | int:
    """What the kernel would do: allow, kill, or an errno."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("<IIQ6Q", number, machine, 0, *(argument & (2**64 - 1) for argument in padded))
    steps: list[tuple[int, ...]] = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, if_so, if_not, operand = steps[at]
        at += 1
        if code == 0x20:
            value = int(struct.unpack_from("<I", call, operand)[0])
        elif code == 0x54:
            value &= operand
        elif code in (0x15, 0x35):
            at += if_so if (value == operand if code == 0x15 else value >= operand) else if_not
        elif code == 0x06:
            return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}.get(operand, operand & 0xFFFF)
        else:
            pytest.fail(f"no such step: {code:#x}")


class Filter:
    """One program, asked by the names of calls."""

    def __init__(self, machine: str, *, alone: bool, signals: bool = False) -> None:
        self._program = assemble_filter(machine, alone=alone, signals=signals)
        self._machine, self._numbers = ARCHITECTURES[machine], syscall_numbers(machine)

    def __call__(self, name: str, *arguments: int) -> str | int:
        return answer(self._program, self._machine, self._numbers[name], *arguments)


@MACHINES
@pytest.mark.parametrize("alone", [True, False])
def test_the_ways_out_are_shut_and_the_rest_is_open(machine: str, alone: bool) -> None:
    ask = Filter(machine, alone=alone)
    for name in (
        "ptrace",
        "bpf",
        "keyctl",
        "mount",
        "unshare",
        "setns",
        "io_uring_setup",
        "userfaultfd",
        "memfd_create",
    ):
        assert ask(name) == errno.EPERM, name
    assert ask("clone3") == errno.ENOSYS
    assert ask("clone", 0x00010F11) == ALLOWED
    for namespace in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x02000000, 0x04000000, 0x08000000):
        assert ask("clone", namespace | 17) == errno.EPERM
    assert [ask("ioctl", 0, request) for request in (0x5412, 0x541C, 0x5401)] == [errno.EPERM, errno.EPERM, ALLOWED]
    assert ask("ioctl", 0, 0x5412 | 1 << 32) == errno.EPERM, "the kernel looks at 32 bits"
    listed = set(syscall_numbers(machine).values())
    open_calls = set(range(500)) - listed
    program = assemble_filter(machine, alone=alone, signals=False)
    assert {answer(program, ARCHITECTURES[machine], number) for number in open_calls} == {ALLOWED}


@MACHINES
def test_without_namespaces_there_are_no_sockets_and_no_hands_on_other_processes(machine: str) -> None:
    ask = Filter(machine, alone=True)
    for family in range(46):
        assert ask("socket", family, 1) == errno.EPERM
    assert ask("socketpair", 1, 1 | 0o2000000) == ALLOWED
    assert [ask("socketpair", 1, 2), ask("socketpair", 2, 1)] == [errno.EPERM, errno.EPERM]
    assert [ask("prlimit64", 0), ask("prlimit64", 4711)] == [ALLOWED, errno.EPERM]
    assert [ask("setpriority", 0, 0), ask("setpriority", 0, 4711)] == [ALLOWED, errno.EPERM]
    assert [ask("fcntl", 3, command) for command in (8, 10, 15, 3)] == [errno.EPERM] * 3 + [ALLOWED]
    assert [ask("fchmod"), ask("fchown"), ask("setxattr")] == [0, errno.EPERM, errno.EPERM]
    assert [ask("utimensat", 3, 0), ask("utimensat", 3, 1), ask("utimensat", 3, 1 << 32)] == [ALLOWED, 0, 0]
    assert ask("kill", 1, 9) == ALLOWED
    assert Filter(machine, alone=True, signals=True)("kill", 1, 9) == errno.EPERM


@MACHINES
def test_in_bubblewrap_only_sockets_of_its_own_network_are_open(machine: str) -> None:
    ask = Filter(machine, alone=False)
    assert {family for family in range(46) if ask("socket", family, 1) == ALLOWED} == {1, 2, 10, 16}
    assert [ask("socketpair", 1, 2), ask("fchmod"), ask("kill", 1, 9), ask("connect")] == [ALLOWED] * 4


@MACHINES
def test_calls_by_another_table_are_no_way_around(machine: str) -> None:
    program = assemble_filter(machine, alone=True, signals=False)
    assert answer(program, 0x40000003, syscall_numbers(machine)["ptrace"]) == KILLED
    if machine == "x86_64":
        assert answer(program, ARCHITECTURES[machine], 0x40000000 | 41) == errno.ENOSYS


@MACHINES
@pytest.mark.parametrize("alone", [True, False])
def test_no_call_gives_a_file_the_rights_of_its_owner_or_group(machine: str, alone: bool) -> None:
    ask, known = Filter(machine, alone=alone), syscall_numbers(machine)
    places = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
    places |= {"creat": 1, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2}
    for name in places.keys() & known.keys():
        before = [0] * places[name]
        for mode in (0o4755, 0o2755, 0o6000, 0o104755):
            assert ask(name, *before, mode) == errno.EPERM, (name, mode)
        assert ask(name, *before, 0o1777) == (0 if alone and "chmod" in name else ALLOWED), name
    for name, before in (("open", [0]), ("openat", [0, 0])):
        if name in known:
            for makes in (0o100, 0o1101, 0o20200002, 0o20040002):
                assert ask(name, *before, makes, 0o4755) == errno.EPERM
                assert ask(name, *before, makes, 0o1755) == ALLOWED
            assert ask(name, *before, 0o2000001, 0o4755) == ALLOWED, "nothing is made, so what stands there is no mode"
    assert ask("openat2") == errno.ENOSYS
