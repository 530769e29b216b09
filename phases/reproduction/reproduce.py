"""Run phase 10: run the declared experiments, measure their results, and judge every cell that the paper reports."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from phases.evidence.bare_python import layer_python, make_bare_python
from phases.reproduction import measures
from phases.reproduction.artifacts import (
    Artifacts,
    Predictions,
    find_constants,
    find_copied_labels,
    read_artifacts,
    read_labels,
    to_number,
)
from phases.reproduction.attempts import Attempt, digest_labels, end_attempt, place_of, told_cells
from phases.reproduction.compare import (
    HELD_BACK,
    MEASURED,
    NO_FIGURE,
    NOT_RUN,
    OWN_LABELS,
    WORD,
    Doubts,
    Figure,
    Judgement,
    Ours,
    compare_orders,
    describe_counts,
    judge_cell,
    read_figure,
    tolerance_of,
)
from phases.reproduction.declared import NAME, Declared, Experiment, read_declared
from phases.reproduction.runs import (
    DONE,
    LABELS,
    RESULTS,
    Place,
    Run,
    collect_code,
    read_given_tables,
    run_experiment,
)
from phases.sandbox.box import OFF
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.data_sets import provide_data
from phases.workspace.packages import find_or_install, package_rules
from phases.workspace.task_paths import task_paths
from phases.workspace.workspace import Workspace
from pipeline.base.safe_tree import read_beneath
from pipeline.engine.phase import Context

QUICK = "quick"
_PLAN = "initial_plan.txt"
HELD_OUT = "held_out"
_MINUTES = 60
_LARGEST_LABELS = 256 * 2**20
_OTHER_FIGURE = 0.01
"""Share by which a reported figure may differ from the code's own predictions, for rounding."""


class Request(NamedTuple):
    plan: Mapping[str, Any]
    workspace: str
    size: str
    """quick or full."""
    percent: float
    """The tolerance that the user set; 0: none."""
    place: Place
    parse: Callable[[bytes], Mapping[str, Any]]
    """experiments.yaml, checked. Raises ContractError."""
    progress: Callable[[int, int, str], None] = lambda done, total, text: None
    task: str = ""
    """The directory of the task, which keeps the attempts; empty: there are none."""
    plan_sha256: str = ""


class _Evidence(NamedTuple):
    """All that is known of one experiment when its cells are judged."""

    one: Experiment
    run: Run
    found: Artifacts
    labels: Mapping[tuple[str, str], str]
    """The user's, held back; empty where there are none."""
    why: str
    """The reason why the user's labels are not used; empty if they are, or if there are none."""


def request_of(plan: Mapping[str, Any], ctx: Context) -> Request:
    """Return what the documents and the context of phase 10 ask for."""
    paths = task_paths(ctx.paths.root)
    bare = make_bare_python(ctx.cache_directory, paths.python)
    own = str(ctx.limits.get("python") or "")
    if own:
        packages: str | None = layer_python(own, bare, paths.own_python)
    else:
        packages = find_or_install(package_rules(ctx)) if ctx.settings["install"] == "allowed" else None
    held_out, provided = os.path.join(ctx.paths.root, HELD_OUT), provide_data(plan, ctx)
    place = Place(
        os.path.join(ctx.paths.root, RESULTS),
        kind_of_sandbox(str(ctx.settings["sandbox"])),
        packages or bare,
        tuple(filter(None, (bare, own))) if packages else (),
        float(ctx.limits.get("experiment_minutes") or _MINUTES) * 60,
        held_out if os.path.isdir(held_out) and not os.path.islink(held_out) else "",
        ctx.in_place,
        {**ctx.limits, "data": provided.setting},
        provided,
    )
    return Request(
        plan,
        paths.workspace,
        str(ctx.settings["reproduce"]),
        float(ctx.settings["tolerance"]),
        place,
        lambda data: dict(ctx.contracts.parse(NAME, data, writer="the generated code")),
        ctx.progress,
        ctx.paths.root,
        ctx.digests[_PLAN],
    )


def reproduce_tables(request: Request) -> dict[str, Any]:
    """results.json: every experiment with what came of it, and every cell of the plan's expected_results with its verdict."""
    workspace, expected = Workspace(request.workspace), request.plan.get("expected_results", [])
    declared = read_declared(workspace, request.size, {row["id"] for row in expected}, request.parse)
    code = collect_code(workspace, declared.leave_out)
    request.place.in_place()
    attempts = end_attempt(request.task, request.workspace) if request.task else []
    evidence = _run_all(request, declared, code)
    cells = _judge_all(request, declared, evidence, code, attempts)
    told = [_attempt_row(one) for one in attempts if one.plan_sha256 == request.plan_sha256]
    sentence = describe_counts(cells) if cells else "the plan names no figure of the paper's tables"
    return {
        "version": 1,
        "size": request.size,
        "sandbox": request.place.kind,
        "held_out": bool(request.place.held_out),
        "machine": _describe_machine(),
        "faults": [*declared.faults, *_faults_of(evidence)],
        "experiments": [_experiment_row(one) for one in evidence],
        "cells": cells,
        "orderings": compare_orders(cells),
        **({"attempts": told} if told else {}),
        **({"data": data} if (data := request.place.provided.facts()) else {}),
        "sentence": f"{sentence}; attempts at what differs: {len(told)}" if told else sentence,
    }


def _attempt_row(one: Attempt) -> dict[str, Any]:
    return {
        "number": one.number,
        "before": one.sentence,
        "told": len(one.told),
        "changed": list(one.changed),
        "changes": one.changes,
    }


def _run_all(request: Request, declared: Declared, code: Mapping[str, bytes]) -> list[_Evidence]:
    evidence, total = [], len(declared.experiments)
    for number, experiment in enumerate(declared.experiments):
        request.progress(number, total, f"{experiment.name} ({request.size}) …")
        run = run_experiment(experiment, request.size, code, request.place)
        request.progress(number + 1, total, f"{experiment.name}: {run.why or run.status}")
        own = os.path.join(run.directory, experiment.name)
        artifacts = read_artifacts(own if run.directory and os.path.isdir(own) else run.directory, experiment.metrics)
        labels, why = _read_held_back(request.place.held_out, experiment)
        evidence.append(_Evidence(experiment, run, artifacts, labels, why))
    return evidence


def _read_held_back(held_out: str, one: Experiment) -> tuple[Mapping[tuple[str, str], str], str]:
    """Return the user's labels for an experiment, by seed and row, or why they cannot be read."""
    directory = os.path.join(held_out, LABELS)
    if not held_out or not os.path.isdir(directory):
        return {}, ""
    files = sorted(file for file in os.listdir(directory) if file.endswith(".csv"))
    wanted = [f"{one.labels or one.name}.csv", *([] if one.labels or len(files) != 1 else files)]
    file = next((name for name in wanted if name in files), "")
    if not file:
        return {}, ""
    try:
        return read_labels(read_beneath(directory, file, _LARGEST_LABELS)), ""
    except (OSError, ValueError) as error:
        return {}, f"{LABELS}/{file} of --held-out: {error}"


def _faults_of(evidence: Sequence[_Evidence]) -> list[str]:
    faults = [f"{each.one.name}: {fault}" for each in evidence for fault in each.found.faults]
    return faults + list(dict.fromkeys(each.why for each in evidence if each.why))


def _judge_all(
    request: Request,
    declared: Declared,
    evidence: Sequence[_Evidence],
    code: Mapping[str, bytes],
    attempts: Sequence[Attempt],
) -> list[dict[str, Any]]:
    expected = request.plan.get("expected_results", [])
    figures = {row["id"]: figure for row in expected if (figure := read_figure(row["value"]))}
    places = find_constants(
        code, {name: abs(figure.value) for name, figure in figures.items()}, _planned_values(request.plan)
    )
    tables = {**code, **read_given_tables(request.place.held_out)}
    speaks = {name: each for each in evidence for name in each.one.results}
    told = told_cells(attempts, digest_labels(request.place.held_out))
    cells = []
    for row in expected:
        figure, each = figures.get(row["id"]), speaks.get(row["id"])
        if figure is None:
            cells.append(
                _cell(row, None, None, 0.0, Judgement(NO_FIGURE, "", "the paper's cell is not a number"), each)
            )
            continue
        tolerance, _ = tolerance_of(figure, request.percent)
        ours, why = _measure(row, figure, each) if each else (None, _why_nobody(declared))
        ran = each is not None and each.run.status != NOT_RUN
        doubts = Doubts(
            not_run="" if ran else why,
            no_figure=why if ran else "",
            stand_in=each.one.stand_in if each else "",
            suspect=_why_suspect(row["id"], each, ours, places, tables) if each and ours else "",
            is_quick=request.size == QUICK,
            is_unconfined=request.place.kind == OFF,
            attempt=told.get(place_of(row), 0),
        )
        cells.append(_cell(row, figure, ours, request.percent, judge_cell(figure, ours, tolerance, doubts), each))
    return cells


def _why_nobody(declared: Declared) -> str:
    return declared.faults[0] if declared.faults and not declared.experiments else "no experiment speaks of it"


def _measure(row: Mapping[str, Any], figure: Figure, each: _Evidence) -> tuple[Ours | None, str]:
    """Return the result for a cell from the best available files, otherwise nothing and the reason."""
    name, run = row["id"], each.run
    if run.status != DONE:
        return None, f"{each.one.name}: {run.why}"
    why = f"{each.one.name} left no figure for it"
    measure = measures.measure_of(row.get("metric", "")) or measures.measure_of(row["column"])
    measure = measure or each.one.measures.get(name, "")
    if name in each.found.predictions:
        try:
            return _from_predictions(each, name, measure, _scale(row, figure, measure)), ""
        except ValueError as error:
            why = str(error)
    if values := _in_percent(each.found.measurements.get(name, ()), row, figure, measure):
        kind = each.one.measures.get(name, "mean")
        value = measures.deviation(values) if kind == "deviation" else measures.mean(values)
        if value is not None:
            kind = kind if kind == "deviation" else "mean"
            return Ours(value, measures.deviation(values), len(values), len(values), MEASURED, kind), ""
    if values := _in_percent(each.found.reported.get(name, ()), row, figure, measure):
        return Ours(measures.mean(values), measures.deviation(values), len(values), 0, WORD, ""), ""
    return None, each.found.faults[0] if each.found.faults else why


def _scale(row: Mapping[str, Any], figure: Figure, measure: str) -> float:
    """Papers print shares in percent."""
    in_percent = "%" in row.get("unit", "") or abs(figure.value) > 1
    return 100.0 if measure in measures.SHARES and in_percent else 1.0


def _in_percent(values: Sequence[float], row: Mapping[str, Any], figure: Figure, measure: str) -> Sequence[float]:
    """Return the code's result in percent if the paper prints percent and the code gives shares of 1."""
    is_share = measure in measures.SHARES or "%" in row.get("unit", "")
    if is_share and abs(figure.value) > 1 and all(abs(value) <= 1 for value in values):
        return [100 * value for value in values]
    return values


def _from_predictions(each: _Evidence, name: str, measure: str, scale: float) -> Ours:
    """Return the measure of each seed, and their mean. Raises ValueError if it cannot be computed."""
    if measure not in {*measures.OF_LABELS, *measures.OF_VALUES, *measures.OF_SCORES}:
        raise ValueError("which measure its predictions are to be counted by is not known: experiments.yaml may say it")
    if each.why:
        raise ValueError(each.why)
    groups = each.found.predictions[name]
    if each.labels and (missing := {seed for seed, _ in each.labels} - set(groups)):
        raise ValueError(f"it predicts nothing for seed {min(missing)!r} of the labels that are held back")
    values = []
    for seed, group in groups.items():
        true = _held_back_labels(each.labels, seed, group) if each.labels else group.true
        if not true:
            raise ValueError("its predictions have no labels")
        values.append(scale * _apply(measure, true, group))
    known_from = HELD_BACK if each.labels else OWN_LABELS
    samples = sum(len(group.predicted) for group in groups.values())
    return Ours(measures.mean(values), measures.deviation(values), len(values), samples, known_from, measure)


def _apply(measure: str, true: Sequence[str], group: Predictions) -> float:
    if measure in measures.OF_LABELS:
        return measures.OF_LABELS[measure](true, group.predicted)
    if measure in measures.OF_VALUES:
        return measures.OF_VALUES[measure]([*map(to_number, true)], [*map(to_number, group.predicted)])
    if not group.scores:
        raise ValueError(f"{measure} needs the column y_score")
    return measures.OF_SCORES[measure](true, group.scores)


def _held_back_labels(labels: Mapping[tuple[str, str], str], seed: str, group: Predictions) -> list[str]:
    """Return the true labels of the predicted rows: all of them, each once. Raises ValueError."""
    there = {row for of, row in labels if of == seed}
    if not there:
        raise ValueError(f"no labels are held back for seed {seed!r}")
    if len(group.rows) != len(there) or set(group.rows) != there:
        raise ValueError(f"it must predict each of the {len(there):,} rows whose labels are held back once")
    return [labels[seed, row] for row in group.rows]


def _why_suspect(
    name: str,
    each: _Evidence,
    ours: Ours,
    places: Mapping[str, Sequence[str]],
    tables: Mapping[str, bytes],
) -> str:
    if places.get(name):
        more = f" and {len(places[name]) - 1} more" if len(places[name]) > 1 else ""
        return f"the code holds the paper's figure: {places[name][0]}{more}"
    if ours.known_from in (HELD_BACK, OWN_LABELS):
        if copied := find_copied_labels(each.found.predictions[name], tables):
            return copied
        if reported := each.found.reported.get(name):
            other = measures.mean(reported)
            if min(abs(other * scale - ours.value) for scale in (1, 100)) > _OTHER_FIGURE * abs(ours.value) + 1e-9:
                return f"it reports {other:.6g}, and its own predictions give {ours.value:.6g}"
    return ""


def _cell(
    row: Mapping[str, Any],
    figure: Figure | None,
    ours: Ours | None,
    percent: float,
    judged: Judgement,
    each: _Evidence | None,
) -> dict[str, Any]:
    tolerance, source = tolerance_of(figure, percent) if figure else (None, "")
    return {
        **{name: row[name] for name in ("id", "table", "row", "column", "page")},
        "unit": row.get("unit", ""),
        "measure": ours.measure if ours else "",
        "paper": figure.value if figure else None,
        "spread": figure.spread if figure else None,
        "ours": ours.value if ours else None,
        "our_spread": ours.spread if ours else None,
        "runs": ours.runs if ours else 0,
        "samples": ours.samples if ours else 0,
        "difference": ours.value - figure.value if ours and figure else None,
        "tolerance": tolerance,
        "tolerance_from": source,
        "verdict": judged.verdict,
        "agrees": judged.agrees,
        "known_from": ours.known_from if ours else "",
        "experiment": each.one.name if each else "",
        "why": judged.why,
    }


def _experiment_row(each: _Evidence) -> dict[str, Any]:
    one, run = each.one, each.run
    return {
        **{name: getattr(one, name) for name in ("name", "command", "stand_in")},
        "results": list(one.results),
        **{name: getattr(run, name) for name in ("status", "why", "seconds", "log")},
        "files": [dict(file) for file in run.files],
    }


def _planned_values(plan: Mapping[str, Any]) -> list[float]:
    """Return numbers that the plan requires in the code; they are settings, in whatever table they occur."""
    rows = [*plan.get("values", ()), *(row for row in plan["requirements"] if "value" in row)]
    given = [row["value"] if "value" in row else row.get("values", []) for row in rows]
    values = [number for value in given for number in (value if isinstance(value, list) else [value])]
    return [abs(float(value)) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _describe_machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
    }
