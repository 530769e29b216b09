"""Test each kind of sandbox on this machine before it is trusted."""

from __future__ import annotations

import os
import platform
import secrets
import socket
import sys
import tempfile
from functools import cache

from phases.sandbox.box import BUBBLEWRAP, ENGINES, LANDLOCK, NONE, Box, Probe
from phases.sandbox.bubblewrap import bubblewrap_version, find_bubblewrap
from phases.sandbox.containers import engine_version
from phases.sandbox.landlock import OLDEST_ABI, SIGNALS_ABI, landlock_abi
from phases.sandbox.launch import launch_command
from phases.sandbox.scratch import scratch_directory
from phases.sandbox.seccomp import seccomp_words
from pipeline.base.errors import StorageError
from pipeline.base.files import DISK_FULL, MACHINE_SHORT, PROCESS_SHORT, storage_error

_SECONDS = 30
_ATTEMPT = """
import os, sys, socket
word, canary, folder, port = sys.argv[1:]
holes = []
try:
    open(canary).read()
    holes.append("a file outside could be read")
except OSError: pass
try:
    os.makedirs(folder, exist_ok=True)
    open(folder + "/written", "w").close()
    os.stat(canary)
    holes.append("a file outside could be written")
except OSError: pass
try:
    socket.create_connection(("127.0.0.1", int(port)), 5)
    holes.append("a socket of this machine could be reached")
except OSError: pass
open("inside", "w").write(word)
print(word, "; ".join(holes))
"""


def probe_best() -> Probe:
    """Return the best kind of sandbox that holds here."""
    why = []
    for kind in (BUBBLEWRAP, LANDLOCK):
        found = probe_kind(kind)
        if found.usable:  # what comes behind it is not tried: each try starts a program
            return found
        why.append(found.detail)
    return Probe(False, "; ".join(why))


@cache
def probe_kind(kind: str) -> Probe:
    """Try this kind of sandbox out, once a process. Raise StorageError where the machine is short of what that takes."""
    name = ""
    try:
        name, missing = _what_is_missing(kind)
        if missing:
            return Probe(False, missing)
        fault = _find_hole(kind)
    except OSError as error:
        if error.errno in MACHINE_SHORT:  # a busy or full machine has a sandbox all the same
            place = str(error.filename or tempfile.tempdir or os.curdir)
            raise storage_error("try the sandbox out in", place, error) from error
        if not name:
            return Probe(False, str(error))
        fault = f"cannot be tested: {error}"
    return Probe(False, f"{name.split()[0]} {fault}") if fault else Probe(True, name, kind)


def describe_sandbox() -> str:
    """Return the name of the best sandbox that holds today, `none`, or why it is not known."""
    try:
        found = probe_best()
    except StorageError as error:
        return f"unknown: {error}"
    return found.detail if found.usable else NONE


def _what_is_missing(kind: str) -> tuple[str, str]:
    """Return the sandbox's full name, and what it lacks, if anything."""
    if sys.platform != "linux":
        return "", f"{platform.system()} has no sandbox"
    if not seccomp_words(alone=True):
        return "", f"there is no filter of system calls for {platform.machine()}"
    if kind in ENGINES:
        return engine_version(kind) + ", seccomp", ""
    if kind == LANDLOCK:
        if landlock_abi() < OLDEST_ABI:
            return "", f"the kernel has {_landlock_name()}, and {OLDEST_ABI} is needed"
        return f"Landlock {landlock_abi()} and seccomp{'' if landlock_abi() >= SIGNALS_ABI else ', no signals'}", ""
    if not find_bubblewrap():
        return "", "bubblewrap is not installed"
    return f"{bubblewrap_version()}, {_landlock_name()}, seccomp", ""


def _find_hole(kind: str) -> str | None:
    """Try what must not succeed, and what must: the first thing that is wrong, in words."""
    with scratch_directory() as directory, socket.create_server(("127.0.0.1", 0)) as host:
        inside, outside = os.path.join(directory, "inside"), os.path.join(directory, "outside")
        word = secrets.token_hex(8)
        os.mkdir(inside)
        os.mkdir(outside)
        canary = os.path.join(outside, "canary")
        with open(canary, "w", encoding="utf-8") as file:
            file.write(word[::-1])
        attempt = os.path.join(inside, "attempt.py")
        with open(attempt, "w", encoding="utf-8") as file:
            file.write(_ATTEMPT)
        port = host.getsockname()[1]
        # What a kernel says that it has is not asked: in containers it is often there and refused.
        finished = launch_command(
            Box(inside, kind), f"python -I -S attempt.py {word} '{canary}' '{outside}' {port}", _SECONDS
        )
        if os.listdir(outside) != ["canary"]:
            return "starts, but isolates nothing: a file outside could be written"
        if finished.exit_code != 0 or not finished.output.startswith(word):
            _raise_shortage(finished.output)
            return f"does not start here: {' '.join(finished.output.split())[-300:] or finished.exit_code}"
        holes = finished.output.removeprefix(word).strip()
        if holes:
            return f"starts, but isolates nothing: {holes}"
        if not os.path.exists(os.path.join(inside, "inside")):
            return "starts, but the workspace cannot be written in it"
    return None


def _raise_shortage(output: str) -> None:
    """Raise OSError where a program in the sandbox ended because the machine is full or busy."""
    if "namespace" in output.casefold():
        return  # the kernel calls a limit on namespaces "No space left on device"
    for code in sorted(DISK_FULL | PROCESS_SHORT):
        if os.strerror(code).casefold() in output.casefold():
            raise OSError(code, os.strerror(code))


def _landlock_name() -> str:
    return f"Landlock {landlock_abi()}" if landlock_abi() else "no Landlock"
