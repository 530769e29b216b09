"""Prepare a command of a model or a check for bash: with pipefail, so that a failing test in a pipe is a failure."""

from __future__ import annotations

import os
import shutil

from phases.sandbox.box import OFF, Box

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Path for programs, bash among them, whatever the user's PATH."""
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
"""Shell prelude. `yes | head -1` is not a failure: its first part ends by SIGPIPE (141) because its reader is gone. So an exit
code of 141 counts as 0 if the last thing was a pipe whose other parts did not fail. ERR does not see a pipe before `&&`, nor is
one forgiven under `set -e`: there 141 stays, because what should have come next was not run.
"""


def shell_words(command: str) -> list[str]:
    """Return the argument list that runs a shell command; bash's own messages count its lines from 2."""
    return ["bash", "-c", _PRELUDE + command]


def has_bash() -> bool:
    return shutil.which("bash", path=SEARCH_PATH) is not None


def build_search_path(box: Box, fallback: str) -> str:
    """Return the path for programs: the requested python first, then the user's directories.

    With the user's own rights, the path of the user's shell comes last.
    """
    first = [os.path.join(box.python, "bin")] if box.python else []
    shown = [path for folder in box.programs for path in (os.path.join(folder, "bin"), folder) if os.path.isdir(path)]
    own = os.get_exec_path() if box.kind == OFF else []
    return os.pathsep.join(dict.fromkeys([*first, fallback, *shown, *own, SEARCH_PATH]))


def why_no_command(command: str) -> str:
    """Return why a shell cannot run this text, or an empty string.

    One message for all kinds of sandbox, which would each fail in words of their own.
    """
    try:
        length = len(command.encode())
    except UnicodeEncodeError:
        return "the command is not valid text: it holds half a surrogate pair"
    if length > LONGEST:
        return f"the command has {length:,} bytes, over {LONGEST:,}; put it into a file, and run that"
    return "there is a NUL character in the command" if "\0" in command else ""
