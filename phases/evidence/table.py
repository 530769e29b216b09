"""Build the table of evidence: for each requirement and value, where it is, which passing tests run it, what they notice.

Everything here is observed and reported. Nothing here decides whether work is accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.evidence.demands import demands_of
from phases.evidence.locate import describe_places, locate_demands
from phases.evidence.mutants import Job, Mutant, change_lines, change_value
from phases.evidence.observation import OF_USER, Observation
from phases.evidence.places import DATA, PLANNED, TEXT, VALUE, Place
from phases.evidence.values import value_difference

LEVELS = UNLOCATED, STUBBED, LOCATED, RUN, GUARDED = ("unlocated", "stubbed", "located", "run", "guarded")
"""No place in the code is known; the place is a stub; it is there; passing tests run it; they notice most changes to it."""
_NOTICED_SHARE = 0.8
"""Share of a requirement's tried changes that must be noticed for guarded."""
_MOST_TESTS, _MOST_MISSED, _MOST_VALUES = 10, 3, 3
_SHORTEST_NAME = 3
"""Shortest name of a value for which other files are searched."""
_NO_LINES = (VALUE, DATA, TEXT)
Row = dict[str, Any]
RunJobs = Callable[[Sequence[Job]], Mapping[int, bool]]
"""Runs jobs; returns by number whether tests noticed the change, for those that could be run."""


def build_table(
    plan: Mapping[str, Any],
    sources: Mapping[str, str],
    seen: Observation,
    *,
    changes: int = 0,
    run_jobs: RunJobs | None = None,
) -> list[Row]:
    """Return one row for each requirement and value of the plan, in its order.

    Args:
        sources: The text files of the workspace by path.
        seen: Which tests passed, and which lines each of them ran.
        changes: How many small changes to try on each requirement's code; `run_jobs` runs them.

    Returns:
        Rows {id, level, how, note, places, tests, test_count, user_tests, measured, noticed, tried, missed}.
    """
    places = dict[str, list[Place]]()
    for place in locate_demands(plan, sources):
        places.setdefault(place.identifier, []).append(place)
    tests = {name: _tests_running(found, sources, seen) for name, found in places.items()}
    counts = Counter(test for running in tests.values() for test in running)
    # a test that runs little else comes first: what a whole class of tests sets up counts for each of them
    first = {name: sorted(running, key=lambda test: (counts[test], test)) for name, running in tests.items()}
    rows = [_observe(row, places.get(row["id"], []), first.get(row["id"], []), seen) for row in demands_of(plan)]
    jobs = [job for row in rows for job in _jobs_for(row, places.get(row["id"], []), sources, seen, changes)]
    results = run_jobs(jobs) if run_jobs and jobs else {}
    return [_with_trials(row, jobs, results) for row in rows]


def find_below(rows: Sequence[Row], level: str) -> tuple[list[str], list[str]]:
    """Return, a line each, the rows that are known to be below a level, and those of which it cannot be said here."""
    below, unknown = list[str](), list[str]()
    for row in rows:
        if LEVELS.index(row["level"]) >= LEVELS.index(level):
            continue
        is_known = row["level"] in (UNLOCATED, STUBBED) or (
            row["measured"] and (row["level"] == LOCATED or row["tried"])
        )
        why = "; ".join([*filter(None, [row["note"]]), *(f"its tests also pass with {each}" for each in row["missed"])])
        (below if is_known else unknown).append(f"{row['id']} is {row['level']}{f': {why}' if why else ''}")
    return below, unknown


def find_stubs(plan: Mapping[str, Any], sources: Mapping[str, str]) -> list[Place]:
    """Return the places that are stubs: functions and classes that cite a requirement, and planned files of nothing else."""
    return [place for place in locate_demands(plan, sources) if _is_stub(place)]


def _is_stub(place: Place) -> bool:
    return place.is_stub and not place.is_abstract and place.kind not in _NO_LINES


def _observe(demand: Mapping[str, Any], places: Sequence[Place], tests: Sequence[str], seen: Observation) -> Row:
    own = [test for test in tests if not test.startswith(OF_USER)]
    stubs = [place for place in places if _is_stub(place)]
    has_lines = [place for place in places if place.kind not in _NO_LINES and place.body]
    has_lines += [place for place in places if place.kind == TEXT and place.path.endswith(seen.suffixes)]
    measured = bool(has_lines or tests) and not seen.is_blind
    level = UNLOCATED if not places else STUBBED if stubs else RUN if tests else LOCATED
    note = f"{describe_places(stubs)} does nothing yet" if stubs else value_difference(demand, places)
    if not note and level == LOCATED and measured:
        note = f"no passing test runs {describe_places(has_lines)}"
    elif not note and level == LOCATED and any(place.kind in (DATA, TEXT) for place in places):
        note = "which lines tests run was not measured"
    return {
        "id": str(demand["id"]),
        "level": level,
        "how": places[0].how if places else "",
        "note": note,
        "places": list(dict.fromkeys(place.name for place in places)),
        "tests": own[:_MOST_TESTS],
        "test_count": len(own),
        "user_tests": sorted(test.removeprefix(OF_USER) for test in tests if test.startswith(OF_USER)),
        "measured": measured,
        "noticed": 0,
        "tried": 0,
        "missed": [],
    }


def _tests_running(places: Sequence[Place], sources: Mapping[str, str], seen: Observation) -> frozenset[str]:
    """Return the passing tests that run one of the places; a value is used when anything of a file that names it runs."""
    found = set[str]()
    for place in places:
        if place.kind not in (VALUE, DATA):
            found |= seen.tests_of(place.path, ((place.first, place.last),) if place.kind == TEXT else place.body)
            continue
        name = place.symbol.rpartition(".")[2]
        named = re.compile(
            rf"\b{re.escape(name)}\b" if len(name) >= _SHORTEST_NAME and name.isidentifier() else r"(?!)"
        )
        for path, lines in seen.lines.items():
            if lines and (path == place.path or named.search(sources.get(path, ""))):
                found |= seen.tests_of(path, ((min(lines), max(lines)),))
    return frozenset(found)


def _jobs_for(
    row: Row, places: Sequence[Place], sources: Mapping[str, str], seen: Observation, changes: int
) -> list[Job]:
    if not changes or row["level"] != RUN or row["how"] == PLANNED:
        return []
    tests = tuple(sorted(_tests_running(places, sources, seen)))
    values = [place for place in places if place.kind in (VALUE, DATA)][:_MOST_VALUES]
    ran = {path: {line for line, by in lines.items() if by} for path, lines in seen.lines.items()}
    mutants: list[Mutant] = [mutant for place in values for mutant in change_value(place, sources)][:changes]
    mutants += change_lines([place for place in places if place not in values], sources, ran, changes)
    return [Job(row["id"], mutant, tests) for mutant in mutants]


def _with_trials(row: Row, jobs: Sequence[Job], results: Mapping[int, bool]) -> Row:
    tried = [
        (job, results[number]) for number, job in enumerate(jobs) if job.requirement == row["id"] and number in results
    ]
    if not tried:
        return row
    noticed = sum(found for _, found in tried)
    missed = [f"{job.mutant.path}, line {job.mutant.line}: {job.mutant.what}" for job, found in tried if not found]
    level = GUARDED if noticed >= _NOTICED_SHARE * len(tried) else row["level"]
    return {**row, "level": level, "noticed": noticed, "tried": len(tried), "missed": missed[:_MOST_MISSED]}
