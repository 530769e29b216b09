"""Build the table of evidence and traceability.json: places, tests that run them, noticed changes, and the counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.evidence.locate import demands_of, describe_places, is_value, locate_demands, read_sources
from phases.evidence.mutants import Job, Mutant, change_lines, change_value
from phases.evidence.observation import NOTHING, OF_USER, Observation
from phases.evidence.places import DATA, PLANNED, TEXT, VALUE, Place
from phases.evidence.values import value_difference
from phases.workspace.workspace import Workspace

LEVELS = UNLOCATED, STUBBED, LOCATED, RUN, GUARDED = ("unlocated", "stubbed", "located", "run", "guarded")
"""No place in the code is known; the place is a stub; it is there; passing tests run it; they notice most changes to it."""
_NOTICED_SHARE = 0.8
"""Of the changes tried on a requirement, for guarded."""
_MOST_TESTS, _MOST_MISSED, _MOST_VALUES = 10, 3, 3
_SHORTEST_NAME = 3
"""Of a value, for other files to be searched for it."""
_NO_LINES = (VALUE, DATA, TEXT)
Row = dict[str, Any]
RunJobs = Callable[[Sequence[Job]], Mapping[int, bool]]
"""Runs jobs; returns by number whether tests noticed the change, for those that could be run."""
MEETS, DIFFERENT, UNCLEAR = "meets", "differs", "cannot tell"
"""The reviewer's verdicts."""
_ID = re.compile(r"\b[RV][0-9]+\b")
_KEPT = ("how", "note", "places", "tests", "test_count", "user_tests", "measured", "noticed", "tried", "missed")


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


def trace_requirements(
    workspace: Workspace, plan: dict[str, Any], evidence: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the document. `evidence` is the table of a check of just this code; without it no test was run."""
    rows = evidence or build_table(plan, read_sources(workspace), NOTHING)
    known = {row["id"]: row for row in rows}
    return {"version": 3, "requirements": [_trace_row(row, known[row["id"]]) for row in demands_of(plan)]}


def _trace_row(requirement: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": requirement["id"],
        "kind": "value" if is_value(requirement) else "requirement",
        "text": requirement["text"],
        "status": known["level"],
        **{name: known[name] for name in _KEPT},
        **({"judged": dict(known["judged"])} if known.get("judged") else {}),
    }


def count_evidence(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts that every report shows.

    {total, unlocated, stubbed, located, run, guarded, measured, tried, reviewed, differing, unclear}.
    Levels add up: what is guarded is also run, and what is run is also located. `rows` are those of the document.
    """
    at = {level: sum(row["status"] == level for row in rows) for level in LEVELS}
    judged = [row["judged"]["verdict"] for row in rows if row.get("judged")]
    return {
        "total": len(rows),
        "unlocated": at[UNLOCATED],
        "stubbed": at[STUBBED],
        "located": at[LOCATED] + at[RUN] + at[GUARDED],
        "run": at[RUN] + at[GUARDED],
        "guarded": at[GUARDED],
        "measured": sum(bool(row["measured"]) for row in rows),
        "tried": sum(row["tried"] for row in rows),
        "reviewed": len(judged),
        "differing": judged.count(DIFFERENT),
        "unclear": judged.count(UNCLEAR),
    }


def open_requirements(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return id, text and status of the requirements that are stubs or were not located."""
    wanted = (STUBBED, UNLOCATED)
    return [{name: row[name] for name in ("id", "text", "status")} for row in rows if row["status"] in wanted]


def describe_counts(counts: Mapping[str, Any]) -> str:
    """Return the counts in words: "40 of 42 requirements and values located, 38 run by passing tests"."""
    total, differing = counts["total"], counts["differing"]
    meet = counts["reviewed"] - differing - counts["unclear"]
    words = [f"{counts['located']} of {total} requirements and values located"]
    is_measured = counts["measured"] or counts["run"]
    words += [f"{counts['run']} run by passing tests" if is_measured else "test coverage was not measured"]
    words += [f"{counts['guarded']} guarded"] if counts["tried"] else []
    words += [f"{counts['stubbed']} stub{'s' * (counts['stubbed'] > 1)}"] if counts["stubbed"] else []
    if counts["reviewed"]:
        words += [
            f"{meet} meet{'s' * (meet == 1)} the text by the reviewer",
            f"{differing} differ{'s' * (differing == 1)}",
        ]
        words += [f"{counts['unclear']} it cannot tell"] if counts["unclear"] else []
    return ", ".join(words) if total else "no requirements"


def _describe_verifiers(names: Sequence[str]) -> str:
    alone = len(names) == 1 and names[0].startswith("own tests")
    return "checked by its own tests only" if alone else f"checked by {', '.join(names)}" if names else ""


def describe_evidence(counts: Mapping[str, Any], verified_by: Sequence[str]) -> str:
    """Return who vouches for the code and the counts, as every screen and page says it; empty if there is neither."""
    summary = describe_counts(counts) if counts["total"] else ""
    return "; ".join(filter(None, [_describe_verifiers(verified_by), summary]))


def find_unread(doubts: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the doubts but for those about requirements on which a reviewer has decided: who has read the code knows better.

    `rows` are those of a table of evidence. A doubt that names no requirement, about tests say, is nothing that was asked.
    """
    read = {row["id"] for row in rows if row.get("judged", {}).get("verdict") in (MEETS, DIFFERENT)}
    return [doubt for doubt in doubts if not (named := {*_ID.findall(doubt)}) or not named <= read]


def describe_judgement(row: Mapping[str, Any]) -> str:
    """Return what the reviewer found for a row; empty if it was not reviewed."""
    judged = row.get("judged")
    if not judged:
        return ""
    line = f" in {judged['file']}, line {judged['line']}" if judged["file"] and judged["line"] else ""
    return f"{judged['verdict']}{line}: {judged['sentence']} ({judged['by']})"
