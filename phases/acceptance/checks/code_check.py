"""The one hook that ships: written files parse, imports hold, the plan's checks pass, the program answers `--help`.

(acceptance chain, section 1; a project without hooks of its own still gets a real check)
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.bindings import Bindings
from phases.acceptance.checks.imports import Modules, import_problems
from phases.acceptance.checks.missing_dependencies import find_missing_dependency, packages_missing_in_tests
from phases.acceptance.checks.planned_files import file_problems, find_shadows
from phases.acceptance.checks.test_runs import (
    ASK_FOR_PYTEST,
    WITH_PYTEST,
    SuiteCounts,
    command_for_all,
    count_tests,
    counts_row,
    describe_runner,
    find_tests_not_run,
)
from phases.acceptance.checks.traceability import list_open_requirements
from phases.sandbox.box import NONE, CommandResult
from phases.sandbox.probe import probe_best
from phases.workspace import syntax
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.packages import describe_missing
from phases.workspace.workspace import Workspace, WorkspaceError

MOST_NAMED = 20
_SECONDS, _HELP_SECONDS = 300, 60
_TAIL = 1500
_OWN = "a module of Python or of a test runner"
_CHECKED = (".py", ".json", ".toml")
_MOST_OTHERS, _MOST_CHARACTERS = 2000, 8 * 2**20
"""Of files that the plan does not name; what lies behind is not looked into."""
_NOT_WRITTEN = ("node_modules", "site-packages")
Row = dict[str, Any]


def check_code(
    workspace: Workspace,
    plan: dict[str, Any],
    commands: CommandRunner,
    untouched: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """The verdict on the workspace as it is: `block` is None, or what must be mended, in words for the model.

    `untouched`: files that this work was to change and that are as they were; `missing`: packages of the plan that are not
    installed, so that what fails for want of one is no fault of the code. `commands.step` is set by the caller. Raises
    StorageError.
    """
    planned = [row["path"] for row in plan["file_structure"]]
    others = dict(_other_files(workspace, planned))
    files = {**others, **dict(_read_texts(workspace, planned))}
    python = {path: text for path, text in files.items() if path.endswith(".py")}
    paths = workspace.paths()
    problems = [
        *file_problems(workspace, plan),
        *(f"{path} is as it was, and the plan changed it" for path in untouched),
        *_cut_list(
            [f"{path} does not parse: {why}" for path, text in others.items() if (why := _parse_fault(path, text))]
        ),
        *import_problems(python, paths),
        *(f"{path} stands in for {_OWN}: rename it" for path in find_shadows(paths) if path not in planned),
    ]
    if problems:
        run = _CheckRun([], problems, ["the files are not in order, so nothing was run"], [])
    else:
        run = _run_checks(workspace, plan, python, commands, missing)
    verification = {
        "verified": bool(run.rows) and not run.problems and not run.why and not run.doubts,
        "tree_sha256": tree_digest(workspace),
        "sandbox": commands.box.kind,
        "commands": run.rows,
        "why": "; ".join([*run.doubts, *run.why]),
        "missing_packages": list(missing),
        "doubts": run.doubts,
    }
    return {"block": "\n\n".join(run.problems) or None, "verification": verification}


def _run_checks(
    workspace: Workspace,
    plan: dict[str, Any],
    python: Mapping[str, str],
    commands: CommandRunner,
    missing: Sequence[str],
) -> _CheckRun:
    """What the checks say of files that are in order, and which requirements are open all the same."""
    if commands.box.kind == NONE:
        # Without a sandbox nothing of the agent is run: its code may do anything.
        why = [f"no sandbox on this machine: {probe_best().detail}"]
        return _CheckRun([], list_open_requirements(workspace, plan), why, [])
    paths = workspace.paths()
    run = _run_all(plan, python, paths, commands, missing)
    still_open = list_open_requirements(workspace, plan)
    run.problems.extend(still_open)
    run.why.extend(["requirements of the plan are open"] if still_open else [])
    run.doubts.extend(f"{path} stands in for {_OWN}" for path in find_shadows(paths))
    return run


class _CheckRun(NamedTuple):
    """What was run, what is wrong, and why nothing is verified."""

    rows: list[Row]
    problems: list[str]
    why: list[str]
    doubts: list[str]
    """Why nothing is verified, whatever hooks of the user say."""


class _TestRuns(NamedTuple):
    """The commands that were run for their tests."""

    rows: list[Row]
    outputs: list[str]
    counts: list[SuiteCounts]


def _run_all(
    plan: Mapping[str, Any],
    python: Mapping[str, str],
    there: Collection[str],
    commands: CommandRunner,
    missing: Sequence[str],
) -> _CheckRun:
    """Runs the plan's checks, the tests that they left out, and the program. What they leave behind is taken back."""
    modules = Modules(python, there)
    tests = _run_tests(plan["validation_approach"]["verify_commands"], python, commands)
    failed, lacking_here = [], dict[str, None]()
    for row, output in zip(tests.rows, tests.outputs, strict=True):
        # Decision 120: only a package that the plan names excuses a failing check.
        tops = packages_missing_in_tests(output, missing) if row["exit_code"] else []
        lacking_here.update(dict.fromkeys(tops))
        failed += [row] if row["exit_code"] != 0 and not tops else []
    problems, why, rows = list[str](), list[str](), tests.rows
    if not failed and not lacking_here and tests.counts and not any(each.run for each in tests.counts):
        if missing and any(each.skipped for each in tests.counts):
            lacking_here.update(dict.fromkeys(missing))
        else:
            problems.append(_no_test_ran(tests))
            why.append("no test was run")
    if entry := find_entry_script(python, plan):
        asked, answer = _run_command(commands, help_command(entry, python), _HELP_SECONDS)
        rows = [*rows, asked]
        excuse = _why_excused(asked, entry, modules, commands, timed_out=answer.timed_out)
        failed += [asked] if asked["exit_code"] != 0 and not excuse else []
        why += [f"{asked['command']} {excuse}"] if excuse else []
    # Checks leave caches and reports behind, and those are no work of the agent.
    commands.take_back()
    problems = [*(f"`{row['command']}` {_how_it_ended(row)}:\n{row['tail']}" for row in failed), *problems]
    why += [f"not passed: {', '.join(row['command'] for row in failed)}"] if failed else []
    doubts = [f"not checked: {describe_missing(list(lacking_here))}"] if lacking_here else []
    if not rows:
        why.append("nothing was run: the plan has no checks and there is no entry script")
    return _CheckRun(rows, problems, why, doubts)


def _run_tests(checks: Sequence[str], python: Mapping[str, str], commands: CommandRunner) -> _TestRuns:
    """Runs the plan's checks, and then the tests that none of them runs."""
    tests = _TestRuns([], [], [])
    for command in checks:
        _add_run(tests, *_run_command(commands, command, _SECONDS))
    # Decision 121: a user's machine need not have pytest, so there is a runner of our own.
    if left := find_tests_not_run(python, tests.counts):
        if commands.run(ASK_FOR_PYTEST, _HELP_SECONDS).exit_code == 0:
            _add_run(tests, *_run_command(commands, WITH_PYTEST, _SECONDS))
        else:
            row, finished = _run_command(commands, command_for_all(left), _SECONDS)
            _add_run(tests, {**row, "command": describe_runner(left)}, finished)
    return tests


def _add_run(tests: _TestRuns, row: Row, finished: CommandResult) -> None:
    counts = count_tests(finished.output)
    tests.rows.append({**row, "tests": counts_row(counts)} if counts else row)
    tests.outputs.append(finished.output)
    tests.counts.extend([counts] if counts else [])


def _no_test_ran(tests: _TestRuns) -> str:
    """What the model is told where checks pass because they check nothing."""
    commands = ", ".join(f"`{row['command']}`" for row in tests.rows if "tests" in row)
    skipped = sum(each.skipped for each in tests.counts)
    told = f"all {skipped} tests were skipped, or are expected to fail" if skipped else "no test was found"
    return f"{commands} ran no test ({told}), so nothing is known of the code: write tests that run, where the command looks"


def _run_command(commands: CommandRunner, command: str, seconds: int) -> tuple[Row, CommandResult]:
    finished = commands.run(command, seconds)
    limit = f"\nstopped by a limit: {finished.limit}" if finished.limit else ""
    row = {"command": command, "exit_code": finished.exit_code, "tail": finished.output[-_TAIL:] + limit}
    return row, finished


def _how_it_ended(row: Row) -> str:
    return "did not end by itself" if row["exit_code"] is None else f"ended with {row['exit_code']}"


def _why_excused(row: Row, entry: str, modules: Modules, commands: CommandRunner, *, timed_out: bool) -> str:
    """Why a program that gave no help need not be at fault; empty where it is, and where it gave help."""
    # Decision 94: a program may do its work whatever it is asked, and that takes as long as it takes.
    if row["exit_code"] is None:
        return f"gave no answer within {_HELP_SECONDS} s" if timed_out else ""
    return find_missing_dependency(row["tail"], entry, modules, commands) if row["exit_code"] else ""


def _read_texts(workspace: Workspace, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files that can be read. Of those that cannot, others tell."""
    for path in paths:
        try:
            yield path, workspace.read(path)
        except WorkspaceError:
            continue


def _other_files(workspace: Workspace, planned: Collection[str]) -> Iterator[tuple[str, str]]:
    """Written files that the plan does not name, as far as they can be looked into."""
    paths, known = workspace.paths(), frozenset(planned)
    environments = tuple(path.removesuffix("pyvenv.cfg") for path in paths if path.endswith("/pyvenv.cfg"))
    wanted = [path for path in paths if path.endswith(_CHECKED) and path not in known and _is_written(path)]
    left = _MOST_CHARACTERS
    for path, text in _read_texts(
        workspace, [path for path in wanted if not path.startswith(environments)][:_MOST_OTHERS]
    ):
        left -= len(text)
        if left < 0:
            return
        if len(text) <= syntax.LARGEST_PYTHON or path.endswith(".json"):
            yield path, text


def _is_written(path: str) -> bool:
    """Whether it is no part of what a tool put there."""
    return not any(part.startswith(".") or part in _NOT_WRITTEN for part in path.split("/"))


def _parse_fault(path: str, text: str) -> str | None:
    """Why a file that is not planned does not parse. JSON is what Python takes for it: results hold NaN, too."""
    if not path.endswith(".json"):
        return syntax.find_syntax_fault(path, text)
    fault = _json_fault(text)
    # Logs and data sets have one value on each line, whatever their name says.
    lines = [line for line in text.split("\n") if line.strip()] if fault else []
    return None if len(lines) > 1 and all(_json_fault(line) is None for line in lines) else fault


def _json_fault(text: str) -> str | None:
    try:
        json.loads(text)
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return str(error)
    return None


def _cut_list(problems: list[str]) -> list[str]:
    more = len(problems) - MOST_NAMED
    return [*problems[:MOST_NAMED], *([f"and {more} more files that do not parse"] if more > 0 else [])]


_PARSERS = frozenset({"argparse", "click", "typer", "fire", "docopt"})
_MAIN = "__main__.py"
_PREFERRED = ("main.py", _MAIN, "cli.py", "run.py", "app.py", "train.py")
_NO_PROGRAMS = ("setup.py", "conftest.py")
_TEST_DIRECTORIES = ("test", "tests")


def find_entry_script(files: Mapping[str, str], plan: Mapping[str, Any]) -> str:
    """The planned Python file that is the program; empty where there is none. `files`: the Python files, by path."""
    modules = Modules(files)
    planned = [row["path"] for row in plan["file_structure"]]
    programs = [path for path in planned if path in files and _is_program(modules, path)]
    return min(programs, key=lambda path: (_name_rank(path), path.count("/"), planned.index(path)), default="")


def help_command(path: str, files: Mapping[str, str]) -> str:
    """The command line, in the workspace, that asks it for its help."""
    modules = Modules(files)
    bindings = modules.bindings.get(path)
    *directories, name = path.split("/")
    inside = len(directories) - _count_outside(modules, directories, max(_relative_depth(bindings), int(name == _MAIN)))
    from_root = _takes_from_root(modules, bindings, "/".join(directories))
    if inside and (name == _MAIN or _relative_depth(bindings) or from_root):
        base, package = directories[: len(directories) - inside], directories[len(directories) - inside :]
        parts = [*package, *([] if name == _MAIN else [name.removesuffix(".py")])]
        if all(part.isidentifier() for part in parts):
            found_in = f"PYTHONPATH={shlex.quote('/'.join(base))} " if base else ""
            return f"{found_in}python -m {'.'.join(parts)} --help"
    found_in = "PYTHONPATH=. " if from_root else ""
    return f"{found_in}python {shlex.quote(path if not path.startswith('-') else './' + path)} --help"


def _is_program(modules: Modules, path: str) -> bool:
    """Whether it does something where it is run, and it or something that it imports reads a command line."""
    *directories, name = path.split("/")
    bindings = modules.bindings.get(path)
    if bindings is None or name in _NO_PROGRAMS or name.startswith("test_") or any(map(_holds_tests, directories)):
        return False
    if not bindings.is_program and name != _MAIN:
        return False
    # A file with a guard of its own reads a command line where it is the one that is run.
    found = (modules.bindings.get(each) for each in modules.targets(path))
    return _parses_arguments(bindings) or any(_parses_arguments(each) for each in found if each and not each.is_program)


def _holds_tests(directory: str) -> bool:
    return directory in _TEST_DIRECTORIES


def _parses_arguments(bindings: Bindings | None) -> bool:
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(tops & _PARSERS)


def _name_rank(path: str) -> int:
    name = path.rpartition("/")[2]
    return _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED)


def _relative_depth(bindings: Bindings | None) -> int:
    """How many packages it is in, by its relative imports."""
    return max((found.level for found in bindings.imports), default=0) if bindings else 0


def _count_outside(modules: Modules, directories: list[str], least: int) -> int:
    """How many of the directories are outside of the package that it is in, which has `least` levels."""
    depth = len(directories)
    while depth and (modules.is_package("/".join(directories[:depth])) or len(directories) - depth < least):
        depth -= 1
    return depth


def _takes_from_root(modules: Modules, bindings: Bindings | None, directory: str) -> bool:
    """Whether it imports what is found from the workspace alone, and not from its own directory."""
    tops = {found.module.partition(".")[0] for found in bindings.imports if not found.level} if bindings else set()
    return bool(directory) and any(
        modules.is_there(top) and not modules.is_there(f"{directory}/{top}") for top in tops if top
    )
