"""The one hook that ships: it refuses for facts that anyone can check, and collects evidence that refuses nothing.

Facts: a planned file is missing, empty or does not parse; a planned module or the program fails when it is executed; a check
command fails or runs no test; what a requirement names is a stub; tests of the user fail. (acceptance chain, section 1)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.acceptance.checks.missing_programs import missing_programs, programs_option
from phases.acceptance.checks.planned_files import (
    ask_for_help,
    asks_same_program,
    file_problems,
    find_program,
    find_shadows,
    find_test_detectors,
    help_commands,
    import_planned,
    packages_missing_in_tests,
)
from phases.acceptance.checks.test_runs import (
    WITH_PYTEST,
    SuiteCounts,
    count_tests,
    counts_row,
    find_tests_not_run,
)
from phases.acceptance.feedback import frame_output
from phases.evidence.locate import demands_of, is_value, read_sources
from phases.evidence.look import EvidenceSetting, Look
from phases.evidence.observation import FAILED, Observation
from phases.evidence.places import extended_classes, is_test_file, text_stubs
from phases.evidence.traceability import (
    DIFFERENT,
    LOCATED,
    MEETS,
    RUN,
    UNLOCATED,
    describe_judgement,
    find_below,
    find_stubs,
    find_unread,
)
from phases.sandbox.box import NONE, OFF, CommandResult
from phases.sandbox.probe import probe_best
from phases.workspace import syntax
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.packages import describe_missing
from phases.workspace.workspace import Workspace
from pipeline.base.text_escaping import bound_text, one_line

README = "README.md"
_README_COMMAND = re.compile(r"^[ \t]*\$ (.+(?:(?<=\\)\n.+)*)", re.MULTILINE)
_STAYS = re.compile(r"(?:^|&&[ \t]*)((?:cd|export)[ \t]+[^&|;\n]+)")
_MOST_COMMANDS, _LONGEST_COMMAND, _COMMAND_SECONDS = 8, 500, 20
_NO_COMMAND = re.compile(r"\$$|\b(?:install|clone|venv|activate|curl|wget)(?![\w-])")
"""A formula, or a command that fetches packages, which a sandbox without a network can only fail at."""
MOST_NAMED = 20
_TAIL = 1500
_STANDS_IN = "replaces a module of Python or of a test runner"
_USER_TESTS = "pytest user_tests (the user's own tests)"
_NO_TESTS, _NO_PROGRAM = 5, 127
"""Exit codes: of pytest if it found no test, of a shell if it found no program."""
_NOT_FOUND = re.compile(
    r"(?:^|[:\s])([\w.+-]+): (?:command )?not found$|^make(?:\[\d+\])?: ([\w.+-]+): No such file or directory$",
    re.MULTILINE,
)
_OF_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* .* Error 127$", re.MULTILINE)
_SEVERAL = re.compile(r"[;\n]")
_PARSED = (".py", ".json", ".toml")
_MOST_OTHERS, _MOST_CHARACTERS = 2000, 8 * 2**20
"""Of files that the plan does not name; later ones are not parsed."""
_INSTALLED = ("node_modules", "site-packages")
Row = dict[str, Any]
Reviewer = Callable[[Workspace, Sequence[Row], Sequence[Row]], tuple[list[Row], list[str]]]
"""Add to each row of evidence whether the code does what the paper says, and return what the delivered directory lacks.

The second list has the README's commands and what they did.
"""


class _Facts(NamedTuple):
    """Findings of the checks."""

    rows: list[Row]
    """The commands that were run."""
    problems: list[str]
    """Problems that the model must fix."""
    doubts: list[str]
    """Reasons why the work is not verified although the model has nothing to fix."""
    lacking: list[str]
    """Packages of the plan for whose lack something could not be run."""
    advice: list[str]
    """Doubts that the model can perhaps mend."""
    absent: list[str]
    """Programs that check commands needed and did not find."""


def check_code(
    workspace: Workspace,
    plan: dict[str, Any],
    commands: CommandRunner,
    untouched: Sequence[str] = (),
    missing: Sequence[str] = (),
    evidence: EvidenceSetting = EvidenceSetting(),  # noqa: B008 - frozen
    review: Reviewer | None = None,
) -> dict[str, Any]:
    """Return the verdict: `block` is None, or all that must be mended, in words for the model. Raises StorageError.

    Args:
        untouched: Files that this work was to change and that are as they were: advice, since some need no change.
        missing: Packages of the plan that are not installed; what fails for lack of one is not the fault of the code.
        review: Reads code whose facts hold.
    """
    sources = read_sources(workspace)
    left = [f"{path} is unchanged, although the plan changed its purpose" for path in untouched]
    facts = _Facts([], _file_facts(workspace, plan, sources), [], [], left, [])
    look = Look(evidence, commands)
    try:
        if commands.box.kind == NONE:
            facts.doubts.append(f"no sandbox on this machine, so nothing was run: {probe_best().detail}")
        else:
            _execute(facts, plan, sources, missing, look)
        seen = look.observe(sources)
        _add_test_facts(facts, seen)
        seen = seen._replace(is_blind=seen.is_blind or bool(facts.lacking))  # without packages not all tests run
        rows, doubts = look.collect(workspace, plan, seen, passed=not facts.problems)
        _add_below(facts, rows, evidence.require)
        is_reviewed = review is not None and not facts.problems
        if commands.box.kind != NONE:
            commands.take_back()
        tried = _run_readme_commands(sources, commands, facts.rows) if is_reviewed else []
        if review and is_reviewed:
            rows, lacks = review(workspace, rows, tried)
            facts.advice.extend(lacks)
    finally:
        look.end()
    differing = _describe_differing(_without_assumptions(rows, plan))
    facts.doubts.extend([*_doubt_files(sources), *find_unread(doubts, rows), *_unlocated(rows), *differing])
    lacking = {"missing_packages": list(missing), "missing_programs": list(missing_programs(plan, commands.box))}
    seen_here = {"tree_sha256": tree_digest(workspace), "sandbox": commands.box.kind, **lacking}
    verification = {**seen_here, **_build_verification(facts, rows, [*facts.advice, *doubts], differing)}
    return {"block": "\n\n".join(facts.problems) or None, "verification": verification}


def _run_readme_commands(sources: Mapping[str, str], commands: CommandRunner, checks: Sequence[Row]) -> list[Row]:
    """Run the commands on the README's lines `$ COMMAND` in order, without the checks, on the tree as it is delivered.

    Return the command, exit_code, limit and tail of each. Nothing is run without a sandbox, or where what a command leaves could
    not be taken back.
    """
    text, ran = sources.get(README, "").replace("\r", ""), {check["command"] for check in checks}
    shown = [command for command in dict.fromkeys(map(str.strip, _README_COMMAND.findall(text))) if command not in ran]
    shown = [command for command in shown if len(command) <= _LONGEST_COMMAND and not _NO_COMMAND.search(command)]
    if not shown or commands.box.kind in (NONE, OFF) or not commands.can_take_back():
        return []
    variables = {"PYTHONPATH": "src"} if os.path.isdir(os.path.join(commands.box.workspace, "src")) else {}
    rows, before = list[Row](), ""
    for number, command in enumerate(shown[:_MOST_COMMANDS], 1):
        commands.report("runs README command", number, min(len(shown), _MOST_COMMANDS), one_line(command))
        finished = commands.run(before + command, _COMMAND_SECONDS, variables)
        tail = bound_text(finished.output, _TAIL // 2)
        rows.append({"command": command, "exit_code": finished.exit_code, "limit": finished.limit or "", "tail": tail})
        # each command is a shell of its own, and a reader types them all into one
        before += "".join(f"{change}\n" for change in _STAYS.findall(command) if finished.exit_code == 0)
    commands.take_back()
    return rows


def _without_assumptions(rows: Sequence[Row], plan: Mapping[str, Any]) -> list[Row]:
    """Return the rows without assumptions of the plan: code may choose otherwise."""
    assumed = {row["id"] for row in demands_of(plan) if row.get("status") == "missing"}
    return [row for row in rows if row["id"] not in assumed]


def _add_below(facts: _Facts, rows: Sequence[Row], level: str) -> None:
    """Add the requirements that are below the level that the user demands, once nothing else is wrong."""
    below, unknown = find_below(rows, level) if level and not facts.problems else ([], [])
    if below:
        lines = "\n".join(below)
        facts.problems.append(
            f"the user requires `{level}` of every requirement, and {len(below)} are below it:\n{lines}"
        )
    if unknown:
        facts.doubts.append(f"whether {len(unknown)} of {len(rows)} requirements are `{level}` cannot be seen here")


def _build_verification(facts: _Facts, rows: Sequence[Row], doubts: Sequence[str], differing: Sequence[str]) -> Row:
    """Return what was run and seen, as the journal keeps it."""
    return {
        "verified": bool(facts.rows) and not facts.problems and not facts.doubts,
        "commands": facts.rows,
        "why": "; ".join(facts.doubts) or ("" if facts.rows else "nothing was run: the plan has no check commands"),
        "doubts": facts.doubts,
        "verified_by": _list_verifiers(facts, rows, is_reviewed=not differing),
        "advice": _advise(rows, doubts),
        "evidence": rows,
    }


def _list_verifiers(facts: _Facts, rows: Sequence[Row], *, is_reviewed: bool) -> list[str]:
    """Return who vouches for the code: its own tests with their count, the user's tests, the reviewer."""
    passed = sum(row["tests"]["passed"] for row in facts.rows if "tests" in row and row["command"] != _USER_TESTS)
    given = any(row["command"] == _USER_TESTS and row["exit_code"] == 0 for row in facts.rows)
    meets = [row["judged"]["by"] for row in rows if row.get("judged", {}).get("verdict") == MEETS]
    part = f"; {len(meets)} of {len(rows)}" if len(meets) < len(rows) else ""
    reviewed = [f"reviewer ({meets[0]}{part})"] if meets and is_reviewed else []
    return [*([f"own tests ({passed})"] if passed else []), *(["your tests"] if given else []), *reviewed]


def _advise(rows: Sequence[Row], doubts: Sequence[str]) -> list[str]:
    """Return what could be improved in code whose facts hold, the gravest first."""
    # a value is mostly a constant of a module, which no test runs by itself
    measured = [row for row in rows if row["level"] == LOCATED and row["measured"] and not is_value(row)]
    idle = [f"{row['id']} ({row['places'][0]})" for row in measured]
    values = [f"{row['id']}: {row['note']}" for row in rows if row["level"] == RUN and row["note"]]
    missed = [f"{row['id']}: its tests also pass with {line}" for row in rows for line in row["missed"]]
    points = [
        *_describe_differing(rows),
        *doubts,
        *_unlocated(rows),
        *([f"no passing test runs the code of {_join(idle)}"] if idle else []),
        *values,
        *missed,
    ]
    return _cut_list(points, "points")


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _file_facts(workspace: Workspace, plan: dict[str, Any], sources: Mapping[str, str]) -> list[str]:
    """Return what is wrong with files, read and not run."""
    planned = [row["path"] for row in plan["file_structure"]]
    others = dict(_other_files(sources, planned))
    faults = [f"{path} does not parse: {why}" for path, text in others.items() if (why := _parse_fault(path, text))]
    stubs = list(dict.fromkeys(place.name for place in find_stubs(plan, sources)))
    bases = extended_classes(text for path, text in sources.items() if not path.endswith(".py"))
    texts = [
        f"{path}, line {line}: {what}"
        for path in planned
        if not is_test_file(path)
        for line, what in text_stubs(path, sources.get(path, ""), bases)
    ]
    return [
        *file_problems(workspace, plan),
        *(f"{path} {_STANDS_IN}: rename it" for path in find_shadows(sources) if path not in planned),
        *_cut_list(faults, "files that do not parse"),
        *_cut_list([f"{name} is a stub" for name in stubs] + texts, "stubs"),
    ]


def _execute(
    facts: _Facts, plan: Mapping[str, Any], sources: Mapping[str, str], missing: Sequence[str], look: Look
) -> None:
    """Run the checks and the tests that these leave out, import the planned modules, and ask the program for its help."""
    planned = [row["path"] for row in plan["file_structure"]]
    python = {path: text for path, text in sources.items() if path.endswith(".py")}
    lacking, counts = dict[str, None](), list[SuiteCounts]()
    checks = plan["validation_approach"]["verify_commands"]
    for number, command in enumerate(checks, 1):
        look.report("runs check", number, len(checks), command)
        counts += _run_check(facts, command, look, missing, lacking)
    if find_tests_not_run(python, counts):
        counts += _run_check(facts, WITH_PYTEST, look, missing, lacking)
    seen = look.observe(sources)  # what a passing test runs can be imported, in the way that the work has it
    sound = [path for path in planned if path in python and syntax.parse_python(python[path])]
    idle = [path for path in sound if not seen.tests_of(path, ((1, len(python[path])),))]
    imports = import_planned(idle, missing, look)
    facts.problems.extend(_cut_list(imports.faults, "modules that cannot be imported"))
    lacking.update(dict.fromkeys(imports.lacking))
    if facts.rows and counts and not any(each.run for each in counts) and not lacking:
        if missing and any(each.skipped for each in counts):
            lacking.update(dict.fromkeys(missing))
        else:
            facts.problems.append(_no_test_ran(facts.rows, counts))
    elif facts.rows and not counts and not lacking and not facts.absent:
        facts.doubts.append(
            "no check command printed the summary of a test runner, so it is unknown whether a test ran"
        )
    if given := look.run_user_tests(look.seconds):
        row = _row_of(_USER_TESTS, given)
        _add_row(facts, row, count_tests(given.output), look)
        if given.exit_code == _NO_TESTS:
            facts.doubts.append("no test was found in the tests that you gave")
        elif given.exit_code != 0:
            facts.problems.append(_failure(row))
    if program := find_program(planned, sources):
        _ask_program(facts, program, sources[program], missing, lacking, look)
    facts.lacking.extend(lacking)
    if lacking:
        facts.doubts.append(f"not checked: {describe_missing(list(lacking))}")


def _run_check(
    facts: _Facts, command: str, look: Look, missing: Sequence[str], lacking: dict[str, None]
) -> list[SuiteCounts]:
    """Run one check command; return what it counted. No part of it may hide a failure of another."""
    # a pipe that ends early is forgiven without -e alone, and what asks for the code of a command wants it to go on
    stops = "set -e\n" if _SEVERAL.search(command) and "$?" not in command else ""
    finished = look.run(f"{stops}{command}", look.seconds)
    row, counts = _row_of(command, finished), count_tests(finished.output)
    counts = _add_row(facts, row, counts, look)
    if program := _missing_program(finished):
        facts.absent.append(program)
        facts.doubts.append(f"`{command}` was not run: {program} was not found ({programs_option(program)})")
        # a file of the work names it, perhaps wrongly
        facts.advice.extend([] if program in re.findall(r"[\w.+-]+", command) else facts.doubts[-1:])
    elif finished.exit_code != 0:
        tops = packages_missing_in_tests(finished.output, missing)
        lacking.update(dict.fromkeys(tops))
        facts.problems.extend([] if tops else [_failure(row)])
    elif counts and counts.failed:
        facts.problems.append(
            f"`{command}` ended with 0 although {counts.failed} tests failed:\n{frame_output(row['tail'])}"
        )
    return [counts] if counts else []


def _add_row(facts: _Facts, row: Row, counts: SuiteCounts | None, look: Look) -> SuiteCounts | None:
    """Add a command that was run, with the tests that it ran as they were noted, else as its output says."""
    if noted := look.count_last():
        passed, failed, skipped = noted
        styles = counts.styles if counts else frozenset(["pytest", "unittest"])
        counts = SuiteCounts(passed, failed, max(skipped, counts.skipped if counts else 0), styles)
    facts.rows.append({**row, "tests": counts_row(counts)} if counts else row)
    return counts


def _missing_program(finished: CommandResult) -> str:
    """Return the program that a command needs and the machine lacks; empty if it failed for another reason."""
    if finished.exit_code != _NO_PROGRAM and not (finished.exit_code and _OF_MAKE.search(finished.output)):
        return ""
    return next((match[1] or match[2] for match in _NOT_FOUND.finditer(finished.output)), "")


def _ask_program(
    facts: _Facts, program: str, text: str, missing: Sequence[str], lacking: dict[str, None], look: Look
) -> None:
    commands = help_commands(program, text)
    # the plan's checks often ask for it, and a program that imports much takes seconds for it
    if any(asks_same_program(row["command"], each) for row in facts.rows for each in commands):
        return
    command, finished = ask_for_help(commands, look)
    row = _row_of(command, finished)
    facts.rows.append(row)
    if finished.exit_code != 0 and not finished.timed_out:
        tops = packages_missing_in_tests(finished.output, missing)
        lacking.update(dict.fromkeys(tops))
        facts.problems.extend([] if tops else [_failure(row)])


def _no_test_ran(rows: Sequence[Row], counts: Sequence[SuiteCounts]) -> str:
    commands = ", ".join(f"`{row['command']}`" for row in rows if "tests" in row)
    skipped = sum(each.skipped for each in counts)
    found = f"all {skipped} tests were skipped, or are expected to fail" if skipped else "no test was found"
    return f"{commands} ran no test ({found}): write tests that run, where the command looks for them"


def _row_of(command: str, finished: CommandResult) -> Row:
    limit = f"\nstopped by a limit: {finished.limit}" if finished.limit else ""
    return {"command": command, "exit_code": finished.exit_code, "tail": finished.output[-_TAIL:] + limit}


def _failure(row: Row) -> str:
    ended = "did not end by itself" if row["exit_code"] is None else f"ended with {row['exit_code']}"
    return f"`{row['command']}` {ended}:\n{frame_output(row['tail'])}"


def _add_test_facts(facts: _Facts, seen: Observation) -> None:
    """Add what tests did that the exit code of their command does not say."""
    failed = sorted(name for name, outcome in seen.tests.items() if outcome == FAILED)
    if failed and not facts.problems and not facts.lacking:
        facts.problems.append(f"the checks ended with 0 although tests failed: {', '.join(failed[:MOST_NAMED])}")
    if seen.cut_off and not facts.problems:
        facts.problems.append("a test run began and did not end: something in the code or the tests ends the process")


def _doubt_files(sources: Mapping[str, str]) -> list[str]:
    python = {path: text for path, text in sources.items() if path.endswith(".py") and not is_test_file(path)}
    shadows = [f"{path} {_STANDS_IN}" for path in find_shadows(sources)]
    return [*shadows, *find_test_detectors(python)]


def _unlocated(rows: Sequence[Row]) -> list[str]:
    """Return the requirements that were not located. Values are left out: a baseline's value need not be built."""
    rows = [row for row in rows if not is_value(row)]
    names = [row["id"] for row in rows if row["level"] == UNLOCATED and row.get("judged", {}).get("verdict") != MEETS]
    return [f"{len(names)} of {len(rows)} requirements were not located in the code: {_join(names)}"] if names else []


def _describe_differing(rows: Sequence[Row]) -> list[str]:
    """Return what the reviewer finds to differ; values that share the verdict of their requirement are named with it."""
    found = dict[str, list[str]]()
    for row in rows:
        if row.get("judged", {}).get("verdict") == DIFFERENT:
            found.setdefault(describe_judgement(row), []).append(row["id"])
    return [
        f"{', '.join(names)} {text if len(names) == 1 else text.replace(DIFFERENT, 'differ', 1)}"
        for text, names in found.items()
    ][:MOST_NAMED]


def _other_files(sources: Mapping[str, str], planned: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield files that the plan does not name and that have a format to check, up to a total size."""
    environments = tuple(path.removesuffix("pyvenv.cfg") for path in sources if path.endswith("/pyvenv.cfg"))
    wanted = [
        path for path in sources if path.endswith(_PARSED) and path not in planned and not syntax.is_test_data(path)
    ]
    wanted = [
        path for path in wanted if not path.startswith(environments) and not set(path.split("/")) & set(_INSTALLED)
    ]
    left = _MOST_CHARACTERS
    for path in wanted[:_MOST_OTHERS]:
        left -= len(sources[path])
        if left < 0:
            return
        if len(sources[path]) <= syntax.LARGEST_PYTHON or path.endswith(".json"):
            yield path, sources[path]


def _parse_fault(path: str, text: str) -> str | None:
    """Return why an unplanned file does not parse. JSON may hold NaN, or a value on each line, whatever its name says."""
    if not path.endswith(".json"):
        return syntax.find_syntax_fault(path, text)
    fault = _json_fault(text) if syntax.find_syntax_fault(path, text) else None
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


def _cut_list(problems: list[str], what: str) -> list[str]:
    more = len(problems) - MOST_NAMED
    return [*problems[:MOST_NAMED], *([f"and {more} more {what}"] if more > 0 else [])]
