"""Read the experiments that the code declares in experiments.yaml, which is untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.errors import ContractError, FormatError
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

NAME = "experiments.yaml"
METRICS = "metrics.json"
_LONGEST_NAME, _MOST_ROWS = 40, 100


class Experiment(NamedTuple):
    """One experiment in the size that was asked for."""

    name: str
    """Name from the code, with dashes for characters that file names cannot have."""
    command: str
    """Empty where the code has none in this size."""
    results: tuple[str, ...]
    """The ids of the plan's expected_results that it speaks of."""
    measures: Mapping[str, str]
    """Measure of each result, if the code states it."""
    metrics: str
    """The file with what it reports."""
    labels: str
    """Name of the true labels that may be held back; empty: that of the experiment, or of the only labels."""
    data: tuple[str, ...]
    """The names of the data sets that it reads, as the user gives them with --data."""
    stand_in: str
    """Data set that generated data replaces; empty: the data are the paper's."""


class Declared(NamedTuple):
    experiments: tuple[Experiment, ...] = ()
    leave_out: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def read_declared(
    workspace: Workspace, size: str, known: Collection[str], parse: Callable[[bytes], Mapping[str, Any]]
) -> Declared:
    """Return the experiments of a workspace, each result with one experiment. `known`: the ids that the plan expects."""
    try:
        data = workspace.read_bytes(NAME)
    except WorkspaceError:
        return Declared(faults=(f"the code has no {NAME}, so it declares no experiments",))
    return parse_declared(data, size, known, parse)


def parse_declared(
    data: bytes, size: str, known: Collection[str], parse: Callable[[bytes], Mapping[str, Any]]
) -> Declared:
    """Return what experiments.yaml declares, with what is wrong in it: one bad experiment costs itself alone."""
    faults: list[str] = []
    try:
        document = parse(data)
    except ContractError as error:
        document, faults = {"experiments": _rows_that_fit(data, parse)}, [str(error)]
    experiments = [_experiment_of(row, size) for row in document["experiments"]]
    faults += _find_faults(experiments, known)
    return Declared(_without_twins(experiments), tuple(document.get("leave_out", ())), tuple(faults))


def _rows_that_fit(data: bytes, parse: Callable[[bytes], Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    try:
        raw = parse_yaml(data)
    except FormatError:
        return []
    rows = raw.get("experiments") if isinstance(raw, dict) else None
    fitting = []
    for row in rows[:_MOST_ROWS] if isinstance(rows, list) else ():
        with suppress(ContractError, FormatError):
            fitting += parse(dump_yaml({"experiments": [row]}))["experiments"]
    return fitting


def _experiment_of(row: Mapping[str, Any], size: str) -> Experiment:
    results, stand_in = row.get("results", ()), row.get("stand_in", "")
    return Experiment(
        re.sub(r"[^\w-]+", "-", row["name"])[:_LONGEST_NAME].strip("-") or "experiment",
        row.get(size, ""),
        tuple(results),
        results if isinstance(results, Mapping) else {},
        row.get("metrics", METRICS),
        row.get("labels", ""),
        tuple(row.get("data", ())),
        " ".join((stand_in if isinstance(stand_in, str) else ", ".join(stand_in)).split()),
    )


def _find_faults(experiments: Sequence[Experiment], known: Collection[str]) -> list[str]:
    names = [experiment.name for experiment in experiments]
    faults = [f"{NAME}: two experiments are called {name}" for name in dict.fromkeys(names) if names.count(name) > 1]
    spoken = [result for experiment in experiments for result in dict.fromkeys(experiment.results)]
    faults += [f"{NAME}: {result} is spoken of twice" for result in dict.fromkeys(spoken) if spoken.count(result) > 1]
    return faults + [f"{NAME}: the plan expects no {result}" for result in dict.fromkeys(spoken) if result not in known]


def _without_twins(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Return the first experiment of each name, and for each result."""
    experiments_kept: dict[str, Experiment] = {}
    spoken: set[str] = set()
    for one in experiments:
        if one.name not in experiments_kept:
            experiments_kept[one.name] = one._replace(results=tuple(name for name in one.results if name not in spoken))
            spoken.update(one.results)
    return tuple(experiments_kept.values())
