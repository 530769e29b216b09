"""Detect shell commands that would take work back: what git, rm and find would do, however they are called."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Sequence

_SEPARATORS = re.compile(r"^[;&|()]+$")
_SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "eval"}
_UNDO = {"git", "rm", "find"}
_PRINTS = {"echo", "printf", "grep", "rg", "cat", "ls", "which", "man"}
"""Commands whose arguments are not run, whatever they name."""
_TAKES_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"}
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_BROAD = {"*", ".", "./", "./*", "..", "../", "/", "/*", "~", "~/", "$HOME", "$PWD", "${PWD}", "{}"}
_NAMED = re.compile(r"\b(?:git|rm|find)\b")
_DEEPEST = 4


def takes_back(command: str, files: Collection[str] = ()) -> bool:
    """Return whether a command would undo or remove work. `files`: those of the work, relative to the workspace."""
    if not _NAMED.search(command):
        return False
    work = frozenset(map(posixpath.normpath, files))
    return any(_part_takes_back(name, rest, work) for name, rest in _undo_commands(command, _DEEPEST))


def _undo_commands(command: str, depth: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and arguments of each git, rm and find, whatever it is wrapped in: env, sudo, timeout, a shell."""
    for words in _split_parts(_HERE_DOCUMENT.sub(" ", command)):
        names = [posixpath.basename(word) for word in words]
        if not words or names[0] in _PRINTS:
            continue
        at = next((at for at, name in enumerate(names) if name in _UNDO or name in _SHELLS), len(words))
        rest = words[at + 1 :]
        if at < len(words) and names[at] in _UNDO:
            yield names[at], rest
        elif depth:
            yield from _undo_commands(" ".join(word for word in rest if not word.startswith("-")), depth - 1)


def _split_parts(command: str) -> Iterator[list[str]]:
    """The words of each simple command. What no shell would take is read by its spaces."""
    for line in command.split("\n"):
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
            lexer.whitespace_split, lexer.commenters = True, "#"
            words = list(lexer)
        except ValueError:
            words = line.split()
        part: list[str] = []
        for word in words:
            if _SEPARATORS.match(word):
                yield part
                part = []
            else:
                part.append(word)
        yield part


def _part_takes_back(name: str, rest: list[str], files: frozenset[str]) -> bool:
    if name == "git":
        return _git_takes_back(rest)
    if name == "rm":
        return _removes_work(rest, files)
    return "-delete" in rest and not {"-name", "-iname", "-path", "-regex"} & set(rest)


def _joined(words: Sequence[str]) -> set[str]:
    """Short options that are written together, as `-lc`."""
    return {f"-{letter}" for word in words if re.match(r"^-[a-z]{2,}$", word) for letter in word[1:]}


def _git_takes_back(words: list[str]) -> bool:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _TAKES_VALUE else words[1:]
    if not words:
        return False
    verb, rest = words[0], words[1:]
    options = {word for word in rest if word.startswith("-")} | _joined(rest)
    named = [word for word in rest if not word.startswith("-")]
    match verb:
        case "reset":
            return bool(options & {"--hard", "--merge", "--keep"})
        case "checkout":
            makes = options & {"-b", "-B", "--orphan", "--detach", "--track", "-t"}
            paths = "--" in rest or any(name == "." or "." in posixpath.basename(name) for name in named)
            return bool(options & {"-f", "--force"}) or (not makes and (paths or len(named) > 1))
        case "switch":
            return bool(options & {"-f", "--force", "--discard-changes"})
        case "restore":
            return ("--staged" not in options and "-S" not in options) or bool(options & {"--worktree", "-W"})
        case "clean":
            return bool(options & {"-f", "--force"}) and not options & {"-n", "--dry-run"}
        case "stash":
            return not named or named[0] in ("push", "save", "drop", "clear")
        case "revert":
            return not options & {"--abort", "--quit", "--continue"}
        case "rm":
            return not options & {"--cached", "-n", "--dry-run"}
    return False


def _removes_work(words: list[str], files: frozenset[str]) -> bool:
    """Files of the work, or all there is; what was made on the way may go."""
    targets = [word for word in words if not word.startswith("-")]
    deep = any(word == "--recursive" or re.match(r"^-[a-zA-Z]*[rR]", word) for word in words)
    if deep and any(target in _BROAD for target in targets):
        return True
    paths = {posixpath.normpath(target) for target in targets}
    return bool(paths & files) or (deep and any(file.startswith(f"{path}/") for path in paths for file in files))
