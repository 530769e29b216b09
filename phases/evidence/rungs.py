"""How much is known of each requirement, and why no more: one rung of the ladder each, with what was seen.

missing: nothing names it. named: code says that it is about it. stubbed: that code does nothing. executed: a passing check ran
it. tested: a passing test that names it ran it, and failed when it gave other results, or for one change at least. guarded: such
tests failed for four in five of its changes. A value is executed where a test fails when it is changed. A test that the user
gave speaks for all that it runs, whatever it names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.mutants import MOST, Job, JobResult, Mutant, change_lines, change_value, changed_results
from phases.evidence.observation import OF_USER, PASSED, Observation
from phases.evidence.places import (
    CLASS,
    DATA,
    FUNCTION,
    MODULE,
    TEXT,
    VALUE,
    Place,
    functions_that_ran,
    is_test_file,
)
from phases.evidence.pretence import find_overload, find_pretence
from phases.evidence.values import value_difference

MISSING, NAMED, STUBBED, EXECUTED, TESTED, GUARDED = RUNGS = (
    "missing", "named", "stubbed", "executed", "tested", "guarded",
)  # fmt: skip
DIFFERS = "differs"
IMPLEMENTED = (EXECUTED, TESTED, GUARDED)
"""What counts as implemented where one word must do."""
WORKED_OUT = ("equation", "algorithm", "loss")
"""Kinds of requirement that no constant and no text can meet."""
ENOUGH_WHEN_EXECUTED = ("artifact", "dataset", "experiment")
ALL, STUB_ALONE, OFF = "all", "stub", "off"
_MOST_TESTS, _MOST_VALUES = 40, 3
_MOST_INFERRED = 8
_FEW_LINES = 4
_LANGUAGES = (
    ".c", ".cc", ".cpp", ".cu", ".cuh", ".go", ".h", ".hpp", ".java", ".jl", ".js", ".m", ".r", ".R", ".rs", ".scala", ".sh",
    ".swift", ".ts", ".ipynb",
)  # fmt: skip
_SHARE = 0.8
"""Of the changes of a requirement that tests notice, for guarded."""
_LEAST_SHARE = 0.5
"""Of the lines of a requirement that tests run, for tested."""


RunJobs = Callable[[Sequence[Job]], Mapping[int, JobResult]]
"""Runs jobs, as many as there is time for: the results by number."""


class _Known(NamedTuple):
    """What is known of one requirement before anything is changed."""

    row: Mapping[str, Any]
    code: Sequence[Place]
    naming: frozenset[str]
    """Its tests: they name it, and pass."""
    users: frozenset[str]
    """The passing tests that run it."""
    rung: str
    why: str
    given: frozenset[str]
    """The user's own passing tests that may prove it: those that run it; for a value, which nothing runs, all of them."""

    @property
    def identifier(self) -> str:
        return str(self.row["id"])

    @property
    def is_value(self) -> bool:
        return all(place.kind in (VALUE, DATA, TEXT) for place in self.code)

    @property
    def proving(self) -> frozenset[str]:
        """The tests that may prove it."""
        return self.given | (self.naming if self.is_value else _proving(self.naming, self.users))

    @property
    def is_beyond_python(self) -> bool:
        """Whether it is in files of other languages alone: what runs there, nothing here can see."""
        return bool(self.code) and all(place.kind == TEXT and place.path.endswith(_LANGUAGES) for place in self.code)


def climb(
    requirements: Sequence[Mapping[str, Any]],
    places: Sequence[Place],
    sources: Mapping[str, str],
    seen: Observation,
    run_jobs: RunJobs | None = None,
    mutants: str = ALL,
    most: int = MOST,
) -> list[dict[str, Any]]:
    """For each requirement {id, rung, why, is_open, is_unknown, places, tests, noticed, tried}. Without `run_jobs` nothing is
    changed, and nothing is tested but what the user's own tests run.

    `why` says what keeps it from the next rung. What is open can be mended in the code; of what is unknown nothing more can
    be seen here. `noticed` of the `tried` small changes made a test fail that names the requirement.
    """
    by_tests = _code_by_tests(requirements, places, sources, seen)
    known = [_look_at(row, places, by_tests.get(row["id"], []), sources, seen) for row in requirements]
    known = [_with_overload(one, places, requirements, sources) for one in known]
    jobs = [job for one in known for job in _jobs_for(one, sources, seen, mutants, most)] if run_jobs else []
    # First of each requirement its first change, and so on: where the time is over, none of them was left out.
    turn = dict[str, int]()
    order = []
    for number, job in enumerate(jobs):
        turn[job.requirement] = turn.get(job.requirement, 0) + 1
        order.append((turn[job.requirement], number))
    jobs = [jobs[number] for _, number in sorted(order)]
    results = run_jobs(jobs) if run_jobs and jobs else {}
    return [_judge(one, jobs, results, tried=run_jobs is not None, is_blind=seen.is_blind) for one in known]


def _look_at(
    row: Mapping[str, Any],
    places: Sequence[Place],
    by_tests: Sequence[Place],
    sources: Mapping[str, str],
    seen: Observation,
) -> _Known:
    own = [place for place in places if place.identifier == row["id"]]
    named = _tests_naming(row["id"], places, seen)
    passing = frozenset(name for name in named if seen.tests.get(name) == PASSED)
    code = [place for place in own if not place.is_test] or by_tests
    users = frozenset[str]().union(*(seen.tests_of(place.path, place.body) for place in code))
    of_user = frozenset(test for test, ended in seen.tests.items() if ended == PASSED and test.startswith(OF_USER))
    rung, why = _static_rung(row, code)
    one = _Known(row, code, passing, users, rung, why, of_user)
    one = one._replace(given=of_user if one.is_value else of_user & users)
    if rung != NAMED:
        return one
    if other := value_difference(dict(row), own):
        return one._replace(rung=DIFFERS, why=other)
    if not users:
        return one._replace(why="" if seen.is_blind else f"no passing test runs {_names(code)}")
    why = _why_untested(one, named) or _why_partial(code, str(row.get("kind")), sources, seen)
    return one._replace(rung=EXECUTED, why=why)


def _with_overload(
    one: _Known, places: Sequence[Place], requirements: Sequence[Mapping[str, Any]], sources: Mapping[str, str]
) -> _Known:
    if one.rung != EXECUTED or one.why:
        return one
    kinds = {str(row["id"]): str(row.get("kind")) for row in requirements}
    code = [place for place in places if not place.is_test]
    counts = Counter(place.identifier for place in code)
    alone = [place for place in code if counts[place.identifier] == 1]  # what stands elsewhere too is no burden here
    told = [find_overload([place], alone, kinds, sources.get(place.path, "")) for place in one.code]
    return one._replace(why=told[0] if told and all(told) else "")


def _tests_naming(identifier: str, places: Sequence[Place], seen: Observation) -> set[str]:
    """The tests that name a requirement, by their own words or by those of their parameters."""
    defined = {test_name(place) for place in places if place.is_test and place.identifier == identifier}
    named = {test for name in defined for test in seen.aliases.get(name, frozenset([name]))}
    return named | {test for test, ids in seen.named.items() if identifier in ids}


def _code_by_tests(
    requirements: Sequence[Mapping[str, Any]], places: Sequence[Place], sources: Mapping[str, str], seen: Observation
) -> dict[str, list[Place]]:
    """The code of requirements that tests alone name. More names than functions and tests say nothing of which is whose."""
    named = {place.identifier for place in places if not place.is_test}
    found = dict[str, list[Place]]()
    for row in requirements:
        if row["id"] not in named:
            tests = _tests_naming(row["id"], places, seen)
            passing = frozenset(name for name in tests if seen.tests.get(name) == PASSED)
            found[row["id"]] = _code_of_tests(row["id"], passing, sources, seen)
    kinds = {row["id"]: row.get("kind") for row in requirements}
    sharing = Counter(_names_of(code) for name, code in found.items() if kinds[name] != "hyperparameter")
    return {name: code for name, code in found.items() if sharing[_names_of(code)] <= max(len(code), 1)}


def _names_of(code: Sequence[Place]) -> frozenset[str]:
    return frozenset(place.name for place in code)


def _code_of_tests(
    identifier: str, tests: frozenset[str], sources: Mapping[str, str], seen: Observation
) -> list[Place]:
    """What the tests of a requirement run or read, where they alone name it: functions, else files by their names."""
    found = list[Place]()
    for path, lines in seen.lines.items():
        if not is_test_file(path):
            ran = [line for line, by in lines.items() if by & tests]
            found += functions_that_ran(path, sources.get(path, ""), identifier, ran) if ran else []
    if not found:
        by_file = (lines for path, lines in seen.lines.items() if not is_test_file(path))
        runs = {test for lines in by_file for by in lines.values() for test in by & tests}
        texts = [
            sources.get(test.partition("::")[0], "") for test in runs
        ]  # one that runs no code may read what it likes
        for path, content in sources.items():
            name = path.rsplit("/", 1)[-1]
            if not path.endswith(".py") and any(f'{name}"' in text or f"{name}'" in text for text in texts):
                found.append(Place(identifier, path, name, 1, content.count("\n") + 1, TEXT))
    return found[:_MOST_INFERRED]


def _why_partial(code: Sequence[Place], kind: str, sources: Mapping[str, str], seen: Observation) -> str:
    """What of the code no test has run, or cannot be run; empty where most of it ran."""
    for path in dict.fromkeys(place.path for place in code):
        own = [place for place in code if place.path == path and place.kind in (FUNCTION, CLASS, MODULE)]
        lines, unrun = seen.lines.get(path, {}), seen.unrun.get(path, frozenset())
        executed = {line for line, by in lines.items() if any(by)}
        if told := find_pretence(path, sources.get(path, ""), own, kind, executed, unrun):
            return told
        spans = [span for place in own for span in place.body]
        within = [line for line in unrun if any(first <= line <= last for first, last in spans)]
        ran = [line for line in executed if any(first <= line <= last for first, last in spans)]
        if within and len(ran) <= _LEAST_SHARE * (len(ran) + len(within)):
            return f"tests run {len(ran)} of the {len(ran) + len(within)} lines of {_names(own)}"
    return ""


def test_name(place: Place) -> str:
    """The test that a place is, as the notes name it."""
    return "::".join([place.path, *place.symbol.split(".")])


def _static_rung(row: Mapping[str, Any], code: Sequence[Place]) -> tuple[str, str]:
    """missing, stubbed or named, by the code alone. One stub among functions and classes leaves a requirement open, whatever
    stands beside it: somebody meant to write it.
    """
    if not code:
        return MISSING, f"nothing names {row['id']}: put {row['id']} into the docstring of what implements it"
    own = [place for place in code if not place.is_abstract] or list(code)
    working = [place for place in own if not place.is_value and place.kind != TEXT]
    judged = working if working and row.get("kind") != "hyperparameter" else own
    hard = any if judged is working else all
    stubs = [place for place in judged if place.is_stub or place.is_abstract]
    if stubs and hard(place.is_stub or place.is_abstract for place in judged):
        return STUBBED, f"{_names(stubs)} does nothing yet"
    if judged is working and working and all(place.is_trivial for place in working):
        return STUBBED, f"{_names(working)} does nothing with what it is given"
    return NAMED, ""


def _why_untested(one: _Known, named: set[str]) -> str:
    name = one.identifier
    if one.proving:
        return ""
    if not named:
        return f"no test names {name}: {min(one.users)} runs it; name {name} in the test that checks it"
    if not one.naming:
        return f"{min(named)} names {name}, and did not pass when the checks ran"
    return f"{min(one.naming)} names {name}, and does not run it"


def _proving(naming: frozenset[str], users: frozenset[str]) -> frozenset[str]:
    """The tests that name a requirement and run it, or share what another test of their file has set up. On changed code each
    runs alone, and shows whether it depends on it."""
    files = {test.partition("::")[0] for test in users}
    return frozenset(test for test in naming if test in users or test.partition("::")[0] in files)


def _jobs_for(one: _Known, sources: Mapping[str, str], seen: Observation, mutants: str, most: int) -> list[Job]:
    if mutants == OFF or one.rung not in (NAMED, EXECUTED):
        return []
    name = one.identifier
    if one.is_value:
        everyone = sorted(test for test, outcome in seen.tests.items() if outcome == PASSED)
        tests = tuple(dict.fromkeys([*sorted(one.naming), *sorted(one.given), *everyone]))[:_MOST_TESTS]
        values = [place for place in one.code if place.kind != TEXT][:_MOST_VALUES]
        changes = [mutant for place in values for mutant in change_value(place, sources)]
        texts = [place for place in one.code if place.kind == TEXT][:_MOST_VALUES]
        changes += [Mutant(place.path, 1, f"{place.path} is empty", "") for place in texts]
        return [Job(name, mutant, tests) for mutant in changes if tests]
    # The quickest first: for most changes the first failure is enough.
    tests = tuple(sorted(one.proving, key=lambda test: (seen.seconds.get(test, 0.0), test)))
    if not tests or one.why:
        return []
    jobs = [Job(name, mutant, tests, is_whole=True) for mutant in changed_results(one.code, sources)]
    ran = {path: {line for line, by in lines.items() if by} for path, lines in seen.lines.items()}
    # One line at least: what a function does to its object no other result shows. Where there are no results, a few.
    lines = most if mutants == ALL else 1 if jobs else _FEW_LINES
    jobs += [Job(name, mutant, tests) for mutant in change_lines(one.code, sources, ran, lines)]
    return jobs


def _judge(
    one: _Known, jobs: Sequence[Job], results: Mapping[int, JobResult], *, tried: bool, is_blind: bool
) -> dict[str, Any]:
    """The rung, with what was seen under the changes."""
    own = [
        (job, results[number])
        for number, job in enumerate(jobs)
        if job.requirement == one.identifier and number in results
    ]
    naming = one.naming | one.given
    by_tests = [(job, found) for job, found in own if found.hung or found.failed & naming]
    # What only a helper of it does proves the helper, unless the tests also fail without the requirement's own work.
    is_felt = any(found.failed & naming and _is_of(job, one) for job, found in own)
    # A test of a model may run code and assert nothing of it; one of the user's is believed however it fails (decision 237).
    proved = [(job, found.asserted & naming | found.failed & one.given) for job, found in own]
    asserted = [job for job, by in proved if by and (is_felt or _is_of(job, one))]
    counted = [job for job, _ in own if not job.is_whole]
    noticed = [job for job, _ in by_tests if not job.is_whole]
    rung, why = one.rung, one.why
    out_of_time = not own and any(job.requirement == one.identifier for job in jobs)
    if one.is_value and rung == NAMED:
        rung, why = _judge_value(one, own, tried=tried, out_of_time=out_of_time)
    if rung == EXECUTED and one.is_value and one.row.get("kind") in WORKED_OUT:
        why = f"{_names(one.code)} holds a value or a text, and {one.identifier} must be worked out by code"
    elif rung == EXECUTED and asserted and (one.is_value or not why):
        rung, why = TESTED, ""
        if counted and len(noticed) >= _SHARE * len(counted) and (one.is_value or len(counted) > 1):
            rung = GUARDED
        elif left := [job for job in counted if job not in noticed]:
            why = f"its tests also pass with line {left[0].mutant.line}: {left[0].mutant.what}"
    elif rung == EXECUTED and not why and one.given and not own:
        rung, why = TESTED, "your own tests run it and pass; whether they notice a change was not tried"
    elif rung == EXECUTED and not why:
        why = _why_unnoticed(one, own, tried=tried)
    untried = not own and (
        (rung == EXECUTED and not one.why) or (rung == NAMED and one.is_value and (not tried or out_of_time))
    )
    unseen = is_blind or one.is_beyond_python or untried
    noticing = frozenset(test for _, found in own for test in found.failed)
    return _row(one, rung, why, (len(noticed), len(counted)), noticing, is_unseen=unseen)


def _judge_value(
    one: _Known, own: Sequence[tuple[Job, JobResult]], *, tried: bool, out_of_time: bool
) -> tuple[str, str]:
    if any(found.is_noticed for _, found in own):
        return EXECUTED, _why_value_untested(one)
    if one.is_beyond_python:
        return NAMED, f"{_names(one.code)} is in another language, and what of it runs cannot be seen"
    if not tried or out_of_time:
        return NAMED, f"whether a test depends on it was not tried{': there was no time' if out_of_time else ''}"
    if own:
        return NAMED, f"no test fails when {own[0][0].mutant.what}"
    texts = all(place.kind == TEXT for place in one.code)
    return NAMED, f"no passing test depends on {_names(one.code)}" if texts else one.why


def _is_of(job: Job, one: _Known) -> bool:
    """Whether a change is one of the requirement's own code, and not of a function that it calls."""
    spans = [(place.first, place.last) for place in one.code if place.path == job.mutant.path]
    return job.is_whole or one.is_value or any(first <= job.mutant.line <= last for first, last in spans)


def _row(
    one: _Known, rung: str, why: str, noticed: tuple[int, int], noticing: frozenset[str], *, is_unseen: bool
) -> dict[str, Any]:
    """The row of one requirement. `noticing`: the tests that failed for a change; `is_unseen`: nothing here could see more."""
    enough = rung in (TESTED, GUARDED) or (rung == EXECUTED and one.row.get("kind") in ENOUGH_WHEN_EXECUTED)
    cannot = rung in (NAMED, EXECUTED) and is_unseen
    return {
        "id": one.identifier,
        "rung": rung,
        "why": why,
        "is_open": not enough and not cannot,
        "is_unknown": not enough and cannot,
        "places": list(dict.fromkeys(place.name for place in one.code)),
        "tests": sorted(one.proving - one.given) if rung in IMPLEMENTED else [],
        "user_tests": sorted(test.removeprefix(OF_USER) for test in one.given & (one.users | noticing)),
        "noticed": noticed[0],
        "tried": noticed[1],
    }


def _why_value_untested(one: _Known) -> str:
    if one.naming:
        return f"{min(one.naming)} names {one.identifier}, and passes with another value"
    return f"no test names {one.identifier}: name it in the test that depends on {_names(one.code)}"


def _why_unnoticed(one: _Known, own: Sequence[tuple[Job, JobResult]], *, tried: bool) -> str:
    tests = ", ".join(sorted(one.proving - one.given)[:2])
    if own and not tests:
        told = f"the user's tests pass whatever {_names(one.code)} gives"
        return f"{told}: name {one.identifier} in a test that asserts what the result must be"
    if own:
        return f"{tests} passes whatever {_names(one.code)} gives: assert what the result must be"
    if tried:
        return f"whether {tests} notice a change could not be tried: there was no time, or they do not run on a copy"
    return "whether its tests notice a change was not tried"


def _names(places: Sequence[Place]) -> str:
    return ", ".join(list(dict.fromkeys(place.name for place in places))[:3])
