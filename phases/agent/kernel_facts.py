"""Turn journal rows and the workspace into facts for supervision.

Calls and results are read from the journal alone, so a replay yields the same facts.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.gate import ADVICE
from phases.agent.tools.toolbox import ToolKind
from phases.llm.model import ToolCall
from phases.supervision.enums import ToolClass
from phases.supervision.facts import ERROR, OK, Call, CallResult, DiskFacts, GateVerdict
from phases.supervision.signatures import (
    command_key,
    failures_of_check,
    first_assertion,
    gap_of,
    has_passed,
    kind_of_failure,
    limit_of,
    signature_of,
    summarize_check,
    summarize_result,
)
from phases.workspace import syntax
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.files import sha256
from pipeline.base.text_escaping import one_line

_LONGEST_ERROR = 200
_PATHS = ("file_path", "path")
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
MOST_FILES = 500
"""Changed files that are told of each kind; further ones are counted."""
_CONFLICT_BEGINS, _CONFLICT_ENDS = "\n<<<<<<< ", "\n>>>>>>> "
_PYTHON = (".py", ".pyi")


class FactExtractor:
    """The facts of one run, call by call. It knows what the files held as far as the journal tells."""

    def __init__(
        self,
        planned: Sequence[str],
        before: Mapping[str, str],
        done: Collection[str],
        checks: Sequence[str],
        kinds: Mapping[str, ToolKind],
    ) -> None:
        """`before`: the sha256 of files that were there at the beginning; `done`: planned files that need not be written;
        `kinds`: of all tools, by name. Raises ValueError for a kind that supervision does not know.
        """
        self._classes = {name: ToolClass(kind) for name, kind in kinds.items()}
        self._digests = dict(before)
        self._lines: dict[str, Counter[str]] = {}
        self._open = [path for path in planned if path not in done]
        self._written: set[str] = set()
        self._planned = frozenset(planned)
        self._checks = frozenset(map(command_key, checks))
        self._became_sound: tuple[str, ...] = ()
        self._shown: dict[str, str] = {}
        """By path: the digest of the file that a Read showed last."""
        self._own = frozenset(part for path in planned for part in path.removesuffix(".py").split("/"))

    @property
    def open_files(self) -> int:
        """Number of planned files that are not written or not sound."""
        return len(self._open)

    @property
    def open_names(self) -> tuple[str, ...]:
        """Names of the open files."""
        return tuple(self._open)

    @property
    def written(self) -> frozenset[str]:
        """Files that calls are known to have changed."""
        return frozenset(self._written)

    def call(self, call: ToolCall) -> Call:
        # A tool that is not there does nothing, like a search; one that is there has named its kind.
        kind, arguments = self._classes.get(call.name, ToolClass.SEARCH), call.arguments
        path = next(
            (_relative_path(str(arguments[name])) for name in _PATHS if isinstance(arguments.get(name), str)), ""
        )
        command = str(arguments.get("command", "")) if kind is ToolClass.EXEC and not _is_job(call) else ""
        check = self._check_in(command)
        # However a check is run, it is the same call: else each new filter would start the count of a loop again.
        same = {"command": check.key} if check else arguments
        return Call(
            call.id,
            call.name[:80],
            kind,
            signature_of(call.name, same),
            path,
            check.key if check else command,
            kind is ToolClass.WRITE and path not in self._digests,
            check is not None,
            bool(command) and takes_back(command, self._written | self._planned),
            check is None and (self._holds_check(command) or looks_like_check(command)),
            next((value[:120] for value in arguments.values() if isinstance(value, str)), "") if not path else "",
        )

    def result(self, call: ToolCall, row: Mapping[str, Any]) -> CallResult:
        """Return the result of a call, by its journal row."""
        if row.get("skipped"):
            return CallResult(executed=False, failed=True)
        ran = call.name == "Bash" and not _is_job(call)
        command = str(call.arguments.get("command", "")) if ran else ""
        changed, lines = self.changed(call, row)
        sound = self._became_sound
        text, check = str(row["text"]), self._check_in(command)
        like = check is None and (self._holds_check(command) or looks_like_check(command))
        ended = _ended_well(row, check, like=like)
        failed = bool(row["failed"]) if ended is None else not ended
        summary = summarize_check(text) if failed and (check or like) else summarize_result(text, failed=failed)
        tests = failed and bool(check or like)
        return CallResult(
            executed=True,
            forgotten=self._was_forgotten(call, row),
            failed=failed,
            changed=changed,
            lines=lines,
            digest=summary.digest,
            error=summary.error,
            failures=summary.failures if tests else (),
            background=_is_job(call) or (command.rstrip().endswith("&") and not command.rstrip().endswith("&&")),
            undecided=check is not None and ended is None,
            way="" if tests or not failed else kind_of_failure(text),
            limit=limit_of(text, self._own) if failed else "",
            gap=gap_of(text) if tests else None,
            assertion=first_assertion(text) if tests else "",
            sound=sound,
        )

    def _was_forgotten(self, call: ToolCall, row: Mapping[str, Any]) -> bool:
        """Return whether a whole file is shown again, which Read does once the conversation has lost it."""
        shown = dict(row["seen"]) if self._classes.get(call.name) is ToolClass.READ else {}
        again = any(self._shown.get(path) == digest for path, digest in shown.items())
        self._shown.update(shown)
        return again and not call.arguments.keys() & {"offset", "limit"}

    def _check_in(self, command: str) -> CheckCommand | None:
        return find_check(command, self._checks) if command else None

    def _holds_check(self, command: str) -> bool:
        return any(check in command_key(command) for check in self._checks)

    def changed(self, call: ToolCall, row: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
        """Take in a result; return the changed files and the lines added and removed by Write and Edit."""
        touched, lines = set(row["touched"]), 0
        changed = [
            path for path, state in row["files"].items() if state.get("sha256", "") != self._digests.get(path, "")
        ]
        for path in touched:
            content = call.arguments.get("content") if call.name == "Write" else None
            if content is not None and self._digests.get(path) == _sha256_of(str(content)):
                continue
            changed.append(path)
            lines += self._rewritten(path, str(content)) if content is not None else self._edited(path, call.arguments)
        before = set(self._open)
        for path, state in row["files"].items():
            self._ingest_state(path, state)
        self._became_sound = tuple(sorted(before.difference(self._open)))
        for path in touched - row["files"].keys():
            self._digests[path] = str(row["seen"].get(path, "")) or "unknown"
        self._written.update(changed)
        return tuple(sorted(set(changed))), lines

    def _ingest_state(self, path: str, state: Mapping[str, Any]) -> None:
        if digest := str(state.get("sha256", "")):
            self._digests[path] = digest
        else:
            self._digests.pop(path, None)
        self._open = [other for other in self._open if other != path]
        if not state["sound"] and path in self._planned:
            self._open.append(path)

    def _rewritten(self, path: str, content: str) -> int:
        now, before = Counter(content.split("\n")), self._lines.get(path, Counter())
        self._lines[path] = now
        return (now - before).total() + (before - now).total()

    def _edited(self, path: str, arguments: Mapping[str, Any]) -> int:
        """Count the lines of an edit once: the number of replacements is not on record."""
        old, new = (Counter(str(arguments.get(name, "")).split("\n")) for name in ("old_string", "new_string"))
        if path in self._lines:
            self._lines[path] = self._lines[path] - old + new
        return (new - old).total() + (old - new).total()


def gate_verdict(verdict: Mapping[str, Any]) -> GateVerdict:
    """Return the verdict of the acceptance as a fact."""
    text = verdict["block"]
    if text is None or verdict["source"] == ADVICE:
        return GateVerdict(passed=True)
    failures = set(failures_of_check(text)) or {" ".join(part.split())[:_LONGEST_ERROR] for part in text.split("\n\n")}
    # Where all that is wrong is what the machine lacks, the refusal has named it, and nobody is led for it.
    limits = {limit_of(failure) for failure in failures}
    limit = limits.pop() if len(limits) == 1 else ""
    return GateVerdict(passed=False, failures=tuple(sorted(failures))[:50], limit=limit)


def _is_job(call: ToolCall) -> bool:
    """Return whether a call starts a job, which verifies nothing and writes nothing in the workspace."""
    return call.arguments.get("background") is True


# A filter may hide how a check ended; one that says nothing verifies nothing (decision 123).
def _ended_well(row: Mapping[str, Any], check: CheckCommand | None, *, like: bool) -> bool | None:
    """Return whether a call succeeded, by its output behind a filter; None if that is unclear."""
    if check and check.filtered:
        return has_passed(str(row["text"]))
    if like and not row["failed"] and has_passed(str(row["text"])) is False:
        return False
    return not row["failed"]


def _relative_path(path: str) -> str:
    """Return a path relative to the workspace, wherever the task is."""
    return posixpath.normpath(path.rpartition("/generate_code/")[2]).removeprefix("./")[:_LONGEST_ERROR]


def _sha256_of(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


_TOKEN = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""  # what is quoted holds no operator
    r"""|(?P<joins>\|\||\|&|&&|[|;\n])|(?P<other>(?<![>&])&(?![>&])|`|\$\(|<<)"""
)
_SHOWS = {
    "tail", "head", "tee", "grep", "egrep", "fgrep", "rg", "cat", "less", "sort", "uniq", "wc", "cut", "tr", "nl",
    "echo", "printf", "true", ":",
}  # fmt: skip
_REDIRECTS = re.compile(r"(?:\s+(?:2>&1|[&2]?>>? ?[\w./-]+))+\s*$")
_BEGINS = re.compile(r"^(?:\s*(?:set -o pipefail|cd (?:\.|(?:[\w./-]*/)?generate_code/?))\s*(?:;|&&))*\s*")
_LONGEST, _MOST_PARTS = 4_000, 20
_CHECKS = re.compile(
    r"(?:^|[;&|(]\s*|\s)(?:(?:python[\d.]*\s+-m\s+)?(?:pytest|unittest|tox|nox)\b|make\s+(?:\S+\s+)*(?:test|check)\b|ctest\b"
    r"|(?:npm|yarn|pnpm|bun)\s+(?:run\s+)?(?:test|build)\b|npx\s+(?:jest|vitest|mocha|tsc)\b|node\s+--test\b"
    r"|(?:cargo|go)\s+(?:test|build|check|vet)\b|(?:\S*/)?(?:mvnw?|gradlew?)\s)"
)


class CheckCommand(NamedTuple):
    key: str
    """Of the plan's command."""
    filtered: bool
    """The exit code is that of a command after it, and its output may not be all there."""


def find_check(command: str, checks: Collection[str]) -> CheckCommand | None:
    """Return the plan's check that a command runs; None if it runs none, or something else besides."""
    if len(command) > _LONGEST:
        key = command_key(command)
        return CheckCommand(key, filtered=False) if key in checks else None
    for whole in (command, _BEGINS.sub("", command, count=1)):
        for head, rest in _split_command(whole):
            key = command_key(_REDIRECTS.sub("", head))
            if key in checks and all(map(_only_shows, rest)):
                return CheckCommand(key, filtered=bool(rest))
    return None


def looks_like_check(command: str) -> bool:
    """Return whether a command runs tests or a build; its output then outranks its exit code."""
    return _CHECKS.search(command[:_LONGEST]) is not None


def _split_command(command: str) -> list[tuple[str, list[str]]]:
    """Split a command at each operator into a first command and the rest.

    Commands with background parts, substitutions or here documents are not split.
    """
    tokens = list(_TOKEN.finditer(command))
    joins = [token for token in tokens if token["joins"]]
    if any(token["other"] for token in tokens) or len(joins) > _MOST_PARTS:
        return [(command, [])]
    stops = [*(join.start() for join in joins), len(command)]
    starts = [0, *(join.end() for join in joins)]
    parts = [command[start:stop] for start, stop in zip(starts, stops, strict=True)]
    return [(command[:stop], parts[at + 1 :]) for at, stop in enumerate(stops)]


def _only_shows(part: str) -> bool:
    words = _REDIRECTS.sub("", part).split()
    return not words or words[0] in _SHOWS or words[:2] == ["sed", "-n"]


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
    """Yield the words of each simple command; split at spaces what the shell would reject."""
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
    """Return the short options of a group such as `-lc`."""
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
    """Return whether rm removes files of the work, or everything."""
    targets = [word for word in words if not word.startswith("-")]
    deep = any(word == "--recursive" or re.match(r"^-[a-zA-Z]*[rR]", word) for word in words)
    if deep and any(target in _BROAD for target in targets):
        return True
    paths = {posixpath.normpath(target) for target in targets}
    return bool(paths & files) or (deep and any(file.startswith(f"{path}/") for path in paths for file in files))


class _PlannedFile(NamedTuple):
    """A planned file that is there, as far as it is looked into."""

    sha256: str
    unmerged: bool
    fault: str
    """Parse error; empty if it parses or was not examined."""


def read_disk_facts(
    workspace: Workspace, planned: Sequence[str], before: Mapping[str, str], written: Collection[str] = ()
) -> DiskFacts:
    """Compare the workspace with its beginning. `before`: sha256 of the files then; `written`: files changed by calls.

    Reads only planned files and those in `before`. Others are counted, if the plan has files of their kind: tables, pictures
    and checkpoints of a run are not work.
    """
    # The workspace's .git is not asked: the directory is hostile, and git runs what its configuration says (decision 73).
    files = _read_planned(workspace, planned)
    listed = set(workspace.paths())
    there = {*files, *listed, *(path for path in {*before, *written} - listed if workspace.exists(path))}
    ours = dict.fromkeys((*planned, *sorted(_work_files(listed, planned, written))))
    added = [path for path in ours if path in there and path not in before]
    modified = [path for path in before if path in there and _digest_of(workspace, path, files) != before[path]]
    deleted = [path for path in before if path not in there]
    return DiskFacts(
        added=tuple(added[:MOST_FILES]),
        modified=tuple(modified[:MOST_FILES]),
        deleted=tuple(deleted[:MOST_FILES]),
        left_out=sum(len(paths[MOST_FILES:]) for paths in (added, modified, deleted)),
        unmerged=tuple(path for path, file in files.items() if file.unmerged)[:MOST_FILES],
        present=tuple(files),
        build_summary=_build_summary(files),
    )


def _read_planned(workspace: Workspace, planned: Sequence[str]) -> dict[str, _PlannedFile]:
    """Read each planned file once, keep none, and parse until the first fault."""
    files: dict[str, _PlannedFile] = {}
    broken = False
    for path in dict.fromkeys(planned):
        try:
            data = workspace.read_bytes(path)
        except WorkspaceError:
            continue
        text = data.decode("utf-8", "replace")
        fault = syntax.find_syntax_fault(path, text) if path.endswith(_PYTHON) and not broken else None
        broken = broken or bool(fault)
        files[path] = _PlannedFile(sha256(data), _is_unmerged(text), fault or "")
    return files


def _is_unmerged(text: str) -> bool:
    lines = "\n" + text
    begins = lines.find(_CONFLICT_BEGINS)
    return begins >= 0 and lines.find(_CONFLICT_ENDS, begins + 1) >= 0


def _work_files(listed: Collection[str], planned: Sequence[str], written: Collection[str]) -> set[str]:
    kinds = {_kind_of(path) for path in planned}
    return {path for path in listed if _kind_of(path) in kinds} | set(written)


def _kind_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].casefold() if "." in name else name


def _digest_of(workspace: Workspace, path: str, files: Mapping[str, _PlannedFile]) -> str | None:
    return files[path].sha256 if path in files else workspace.digest_of(path)


def _build_summary(files: Mapping[str, _PlannedFile]) -> str | None:
    """Return the first planned Python file that does not parse. An empty file parses."""
    if not any(path.endswith(_PYTHON) for path in files):
        return None
    path, fault = next(((path, file.fault) for path, file in files.items() if file.fault), ("", ""))
    # Place and message, without the line itself: that is text of the workspace, and would be read for what it says.
    summary = ": ".join(fault.split(": ")[:2])
    return f"{ERROR}: {one_line(path, 80)} does not parse: {one_line(summary, 100)}" if path else OK
