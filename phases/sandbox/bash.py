"""How a command of a model, or of a check, is given to bash: with pipefail, so that a failing test in a pipe is a failure."""

from __future__ import annotations

import os
import shutil

from phases.sandbox.box import OFF, Box

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a command finds programs, bash among them, whatever the PATH of the user says."""
LONGEST = 100_000
"""Bytes of a command: a kernel gives a program no longer argument than 128 KiB."""
# A check like `pytest | tail` must fail where pytest does, and sh has no pipefail (decision 117).
_PRELUDE = """\
set -o pipefail; __ok=0 __was=0; \
__of_pipe() { local s; [[ $- != *e* && ${!#} == 0 ]] || return 0; \
for s; do [[ $s == 0 || $s == 141 ]] || return 0; done; __ok=1; }; \
__end() { [[ $1 == 141 && $__was == 1 ]] && exit 0; exit $1; }; \
trap '__was=$__ok __ok=0' DEBUG; trap '__of_pipe "${PIPESTATUS[@]}"' ERR; trap '__end $?' EXIT
"""
"""`yes | head -1` is no failure: its first part ends by SIGPIPE (141) because nobody reads on. So an exit code of 141 counts as
0 where the very last thing was a pipe whose other parts did not fail. ERR does not see a pipe before `&&`, nor is one forgiven
under `set -e`: there 141 stays, because what should have come next was not run."""


def shell_words(command: str) -> list[str]:
    """The argument list that runs a shell command, bash's own messages counting its lines from 2."""
    return ["bash", "-c", _PRELUDE + command]


def has_bash() -> bool:
    return shutil.which("bash", path=SEARCH_PATH) is not None


def build_search_path(box: Box, fallback: str) -> str:
    """Where programs are looked for: the python that was asked for first, then directories that the user shows; with the
    user's own rights also where the user's shell looks.
    """
    first = [os.path.join(box.python, "bin")] if box.python else []
    shown = [path for folder in box.programs for path in (os.path.join(folder, "bin"), folder) if os.path.isdir(path)]
    own = os.get_exec_path() if box.kind == OFF else []
    return os.pathsep.join(dict.fromkeys([*first, fallback, *shown, *own, SEARCH_PATH]))


def why_no_command(command: str) -> str:
    """Why no shell can be given this text; empty where one can. Said in one way, because each kind of sandbox would fail
    over it in words of its own.
    """
    try:
        length = len(command.encode())
    except UnicodeEncodeError:
        return "the command is not valid text: it holds half a surrogate pair"
    if length > LONGEST:
        return f"the command has {length:,} bytes, over {LONGEST:,}; put it into a file, and run that"
    return "there is a NUL character in the command" if "\0" in command else ""
