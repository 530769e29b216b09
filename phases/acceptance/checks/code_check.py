"""The one hook that ships: written files parse, imports hold, the plan's checks pass, the program answers `--help`.

(acceptance chain, section 1; a project without hooks of its own still gets a real check)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from phases.acceptance.checks.entry_script import asks_same_program, find_entry_script, help_command
from phases.acceptance.checks.imports import Modules, import_problems
from phases.acceptance.checks.missing_dependencies import find_missing_dependency, packages_missing_in_tests
from phases.acceptance.checks.planned_files import file_problems, find_shadows, find_test_detectors
from phases.acceptance.checks.test_runs import (
    PYTEST,
    UNITTEST,
    WITH_PYTEST,
    SuiteCounts,
    count_tests,
    counts_row,
    find_tests_not_run,
)
from phases.evidence.demands import demands_of
from phases.evidence.look import EvidenceSetting, Look
from phases.evidence.observation import FAILED, NOTHING, Observation
from phases.evidence.rungs import EXECUTED, NAMED
from phases.evidence.traceability import DIFFERENT, describe_judgement, differing_problem, open_problem
from phases.sandbox.box import NONE, CommandResult
from phases.sandbox.probe import probe_best
from phases.workspace import syntax
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.packages import ALLOW, describe_missing
from phases.workspace.workspace import Workspace, WorkspaceError

MOST_NAMED = 20
_HELP_SECONDS = 60
_TAIL = 1500
_USER_TESTS = "pytest user_tests (the user's own tests)"
_NO_TESTS = 5
"""The exit code of pytest where it found no test."""
_OWN = "a module of Python or of a test runner"
_CHECKED = (".py", ".json", ".toml")
_MOST_OTHERS, _MOST_CHARACTERS = 2000, 8 * 2**20
"""Of files that the plan does not name; what lies behind is not looked into."""
_UNTRIED = "nobody looked which tests run it"
_NOT_WRITTEN = ("node_modules", "site-packages")
Row = dict[str, Any]


class Judge(Protocol):
    """A model that holds the code against the paper."""

    def judge_rows(self, workspace: Workspace, evidence: Sequence[Row]) -> tuple[Sequence[Row], Collection[str]]:
        """The rows of evidence, each with its verdict, and the ids of those that the implementer is to mend."""

    def skip(self, why: str) -> None:
        """Tell the user that the code is not judged."""


def check_code(
    workspace: Workspace,
    plan: dict[str, Any],
    commands: CommandRunner,
    untouched: Sequence[str] = (),
    missing: Sequence[str] = (),
    evidence: EvidenceSetting = EvidenceSetting(),  # noqa: B008 - frozen
    judge: Judge | None = None,
) -> dict[str, Any]:
    """The verdict on the workspace as it is: `block` is None, or what must be mended, in words for the model.

    `untouched`: files that this work was to change and that are as they were; `missing`: packages of the plan that are not
    installed, so that what fails for want of one is no fault of the code; `judge` is asked once the checks pass, whatever
    requirements are open. The caller sets `commands.step`. Raises StorageError.
    """
    planned = [row["path"] for row in plan["file_structure"]]
    others = dict(_other_files(workspace, planned))
    files = {**others, **dict(_read_texts(workspace, planned))}
    python = {path: text for path, text in files.items() if path.endswith(".py")}
    problems = [
        *file_problems(workspace, plan),
        *(f"{path} is as it was, and the plan changed it" for path in untouched),
    ]
    if problems := [*problems, *_find_faults(others, python, planned, workspace.paths())]:
        run = _CheckRun([], problems, ["the files are not in order, so nothing was run"], [])
        why_not = "its files are not in order"
    else:
        look = Look(evidence, commands)
        try:
            run = _run_checks(workspace, plan, python, commands, missing, look)
        finally:
            look.end()
        why_not = "its checks do not pass" if run.problems and not evidence.by_name else ""
        _add_open_requirements(run, demands_of(plan))
        run.doubts.extend(f"{path} stands in for {_OWN}" for path in find_shadows(workspace.paths()))
    if judge and why_not:
        judge.skip(why_not)
    elif judge:
        run = _add_judgements(run, *judge.judge_rows(workspace, run.evidence), demands_of(plan))
    verification = _build_verification(run, tree_digest(workspace), commands.box.kind, missing)
    return {"block": "\n\n".join(run.problems) or None, "verification": verification}


def _find_faults(
    others: Mapping[str, str], python: Mapping[str, str], planned: Collection[str], paths: Collection[str]
) -> list[str]:
    """What is wrong with the text of files: the planned ones, and `others` beside them."""
    faults = [f"{path} does not parse: {why}" for path, text in others.items() if (why := _parse_fault(path, text))]
    return [
        *_cut_list(faults),
        *import_problems(python, paths),
        *find_test_detectors(python),
        *(f"{path} stands in for {_OWN}: rename it" for path in find_shadows(paths) if path not in planned),
    ]


def _add_judgements(
    run: _CheckRun, evidence: Sequence[Row], opened: Collection[str], requirements: Sequence[Row]
) -> _CheckRun:
    """Adds what the judge says: what it opens goes back to the model, what else it finds to differ to the user."""
    reported = [row for row in evidence if row["id"] in opened]
    if reported:
        run.problems.append(differing_problem(requirements, reported))
        run.why.append("the judge does not agree")
    known, doubted = {describe_judgement(row) for row in reported}, dict[str, list[str]]()
    for row in evidence:
        if row.get("judged", {}).get("verdict") == DIFFERENT and (told := describe_judgement(row)) not in known:
            doubted.setdefault(told, []).append(row["id"])
    run.doubts.extend(f"{', '.join(ids)} {told}" for told, ids in [*doubted.items()][:MOST_NAMED])
    if unjudged := [row["id"] for row in evidence if not row.get("judged")]:
        run.doubts.append(f"the judge gave no verdict on {', '.join(unjudged[:MOST_NAMED])}")
    return run._replace(evidence=evidence)


def _build_verification(run: _CheckRun, tree_sha256: str, sandbox: str, missing: Sequence[str]) -> Row:
    """What was run and seen, as the journal keeps it."""
    return {
        "verified": bool(run.rows) and not run.problems and not run.why and not run.doubts,
        "tree_sha256": tree_sha256,
        "sandbox": sandbox,
        "commands": run.rows,
        "why": "; ".join([*run.doubts, *run.why]),
        "missing_packages": list(missing),
        "doubts": run.doubts,
        "evidence": run.evidence,
    }


def _run_checks(
    workspace: Workspace,
    plan: dict[str, Any],
    python: Mapping[str, str],
    commands: CommandRunner,
    missing: Sequence[str],
    look: Look,
) -> _CheckRun:
    """What the checks say of files that are in order, and how much is known of each requirement."""
    paths = workspace.paths()
    if commands.box.kind == NONE:
        # Without a sandbox nothing of the agent is run: its code may do anything.
        run = _CheckRun([], [], [f"no sandbox on this machine: {probe_best().detail}"], [])
        seen = NOTHING
    else:
        run = _run_all(plan, python, paths, commands, missing, look)
        seen = look.observe()
        _add_test_problems(run, seen)
    # Before what the checks left is taken back: a later test may need what an earlier command prepared.
    evidence = look.judge(workspace, plan, seen, change=not run.problems)
    if commands.box.kind != NONE:
        commands.take_back()
    return run._replace(evidence=evidence)


class _CheckRun(NamedTuple):
    """What was run, what is wrong, and why nothing is verified."""

    rows: list[Row]
    problems: list[str]
    why: list[str]
    doubts: list[str]
    """Why nothing is verified, whatever hooks of the user say."""
    evidence: Sequence[Row] = ()
    """What is known of each requirement."""
    missing: Sequence[str] = ()
    """Packages for whose lack tests failed, or were skipped."""


def _add_test_problems(run: _CheckRun, seen: Observation) -> None:
    """What tests did that the exit code of their command does not say."""
    failed = sorted(name for name, outcome in seen.tests.items() if outcome == FAILED)
    if failed and not run.problems and not run.missing:
        named = ", ".join(failed[:MOST_NAMED])
        run.problems.append(f"the checks ended with 0, and tests failed all the same: {named}")
        run.why.append("tests failed")
    if seen.cut_off and not run.problems:
        run.problems.append(
            "a run of tests began and did not come to its end: something in the code or the tests ends the process"
        )
        run.why.append("a run of tests was cut off")


def _add_open_requirements(run: _CheckRun, requirements: Sequence[Row]) -> None:
    """What the model can mend is a problem; what cannot be seen here is a doubt, and costs no attempt."""
    evidence = run.evidence
    if run.missing:  # then nobody knows what of it would have run
        evidence = [
            {**row, "is_open": False, "is_unknown": True}
            if row["is_open"] and row["rung"] in (NAMED, EXECUTED)
            else row
            for row in evidence
        ]
    if told := open_problem(requirements, evidence):
        run.problems.append(told)
        run.why.append("requirements of the plan are open")
    if unknown := [row for row in evidence if row["is_unknown"]]:
        count = f"{len(unknown)} of {len(evidence)} requirements"
        if run.missing:
            run.doubts[:] = [
                f"{count} were not executed here: {describe_missing(run.missing)} ({ALLOW} installs the plan's packages)"
            ]
        else:
            run.doubts.append(
                f"{count} are not known to be tested: {unknown[0]['id']}: {unknown[0]['why'] or _UNTRIED}"
            )


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
    look: Look,
) -> _CheckRun:
    """Runs the plan's checks, the tests that they left out, and the program. What they leave behind is taken back."""
    modules = Modules(python, there)
    tests = _run_tests(plan["validation_approach"]["verify_commands"], python, look)
    failed, lacking_here = [], dict[str, None]()
    for row, output in zip(tests.rows, tests.outputs, strict=True):
        # Decision 120: only a package that the plan names excuses a failing check.
        tops = packages_missing_in_tests(output, missing) if row["exit_code"] else []
        lacking_here.update(dict.fromkeys(tops))
        failed += [row] if row["exit_code"] != 0 and not tops and not _has_no_user_test(row) else []
    problems, why, rows = list[str](), list[str](), tests.rows
    if not failed and not lacking_here and tests.counts and not any(each.run for each in tests.counts):
        if missing and any(each.skipped for each in tests.counts):
            lacking_here.update(dict.fromkeys(missing))
        else:
            problems.append(_no_test_ran(tests))
            why.append("no test was run")
    entry = find_entry_script(python, plan)
    # the plan's checks often ask for it, and a program that imports much takes seconds for it
    if entry and not any(asks_same_program(row["command"], help_command(entry, python)) for row in rows):
        asked, answer = _run_command(look, help_command(entry, python), _HELP_SECONDS)
        rows = [*rows, asked]
        excuse = _why_excused(asked, entry, modules, commands, timed_out=answer.timed_out)
        failed += [asked] if asked["exit_code"] != 0 and not excuse else []
        why += [f"{asked['command']} {excuse}"] if excuse else []
    problems = [*(f"`{row['command']}` {_how_it_ended(row)}:\n{row['tail']}" for row in failed), *problems]
    why += [f"not passed: {', '.join(row['command'] for row in failed)}"] if failed else []
    doubts = [f"not checked: {describe_missing(list(lacking_here))}"] if lacking_here else []
    doubts += ["no test was found in the tests that you gave"] if any(map(_has_no_user_test, rows)) else []
    if not rows:
        why.append("nothing was run: the plan has no checks and there is no entry script")
    return _CheckRun(rows, problems, why, doubts, missing=list(lacking_here))


def _run_tests(checks: Sequence[str], python: Mapping[str, str], look: Look) -> _TestRuns:
    """Runs the plan's checks, and then the tests that none of them runs."""
    tests = _TestRuns([], [], [])
    for number, command in enumerate(checks, 1):
        look.report("runs check", number, len(checks), command)
        row, finished = _run_command(look, command, look.seconds)
        _add_run(tests, row, finished, look)
    if find_tests_not_run(python, tests.counts):  # pytest runs those of unittest too, and it is always there
        row, finished = _run_command(look, WITH_PYTEST, look.seconds)
        _add_run(tests, row, finished, look)
    if given := look.run_user_tests(look.seconds):
        # They are no tests of the work: work without tests stays that, so they are not counted among its own.
        _add_run(tests._replace(counts=[]), _row_of(_USER_TESTS, given), given, look)
    return tests


def _add_run(tests: _TestRuns, row: Row, finished: CommandResult, look: Look) -> None:
    counts = count_tests(finished.output)
    if (
        noted := look.count_last()
    ):  # the runner's own account, where there is one; a class that skips itself is in the text alone
        passed, failed, skipped = noted
        styles = counts.styles if counts else frozenset([PYTEST, UNITTEST])
        counts = SuiteCounts(passed, failed, max(skipped, counts.skipped if counts else 0), styles)
    tests.rows.append({**row, "tests": counts_row(counts)} if counts else row)
    tests.outputs.append(finished.output)
    tests.counts.extend([counts] if counts else [])


def _no_test_ran(tests: _TestRuns) -> str:
    """What the model is told where checks pass because they check nothing."""
    commands = ", ".join(f"`{row['command']}`" for row in tests.rows if "tests" in row)
    skipped = sum(each.skipped for each in tests.counts)
    told = f"all {skipped} tests were skipped, or are expected to fail" if skipped else "no test was found"
    return f"{commands} ran no test ({told}), so nothing is known of the code: write tests that run, where the command looks"


def _run_command(look: Look, command: str, seconds: int) -> tuple[Row, CommandResult]:
    finished = look.run(command, seconds)
    return _row_of(command, finished), finished


def _has_no_user_test(row: Row) -> bool:
    return bool(row["command"] == _USER_TESTS and row["exit_code"] == _NO_TESTS)


def _row_of(command: str, finished: CommandResult) -> Row:
    limit = f"\nstopped by a limit: {finished.limit}" if finished.limit else ""
    return {"command": command, "exit_code": finished.exit_code, "tail": finished.output[-_TAIL:] + limit}


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
