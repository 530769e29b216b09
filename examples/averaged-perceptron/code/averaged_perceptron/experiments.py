"""The experiments of the paper: each returns the rows of its table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from averaged_perceptron import settings
from averaged_perceptron.averages import CorrectionAverage, DenseAverage, LastWeights, StampAverage
from averaged_perceptron.baselines import Method, logistic, majority_label, methods, passive_aggressive
from averaged_perceptron.hashing import Example, buckets_in_use
from averaged_perceptron.learning import Rule, Schedule, Trained, perceptron, train
from averaged_perceptron.metrics import (
    Spread,
    error_percent,
    expected_cost,
    largest_difference,
    mistake_percent,
    spread,
    update_percent,
    writes_per_example,
)
from averaged_perceptron.zipfbag import DataSet, Sizes, hashed, zipf_bag


class Scale(NamedTuple):
    """How much of the paper is run: FULL is the paper's own."""

    sizes: Sizes = Sizes()
    seeds: tuple[int, ...] = settings.SEEDS
    bits: tuple[int, ...] = settings.ALL_BITS


FULL = Scale()
SMALL = Scale(Sizes(1000, 500), (0, 1), (8, 10))


class Data(NamedTuple):
    """One hashed data set."""

    training: list[Example]
    test: list[Example]


class Measured(NamedTuple):
    """One method on one data set: the test error, and, of one that learns, mistakes, updates and writes."""

    error: float
    online: tuple[float, float, float] | None


class MethodRow(NamedTuple):
    """A row of table 2."""

    name: str
    errors: list[list[float]]
    """For each noise rate the test error of each seed."""
    online: list[float] | None
    """Mistakes, updates and writes at noise 0.1; None for the majority."""


class BitsRow(NamedTuple):
    """A row of table 3."""

    bits: int
    buckets: int
    perceptron: Spread
    averaged: Spread
    writes: tuple[float, float, float, float]
    """Without an average, dense, stamps, correction."""
    difference: float


class MarginRow(NamedTuple):
    """A row of table 4."""

    gamma: float
    epochs: int
    last: Spread
    averaged: Spread
    updates: float


class Choice(NamedTuple):
    """What was chosen on the tuning seed, and its test error there."""

    method: str
    value: tuple[float, ...]
    error: float


def main_table(scale: Scale) -> list[MethodRow]:
    """Table 2: every method at every noise rate (R30, section 4.4, page 2)."""
    cells = [[_measured(data_of(seed, rho, scale.sizes)) for seed in scale.seeds] for rho in settings.NOISE_RATES]
    told = cells[settings.NOISE_RATES.index(settings.TUNING_NOISE)]
    rows = []
    for name in cells[0][0]:
        online = [cell[name].online or () for cell in told]
        means = [spread(column).mean for column in zip(*online, strict=True)]
        rows.append(MethodRow(name, [[cell[name].error for cell in row] for row in cells], means or None))
    return rows


def paired_wins(rows: list[MethodRow]) -> tuple[int, int]:
    """In how many of the paired comparisons AP has a lower error than a learned baseline (R30, section 4.4, page 2)."""
    by_name = {row.name: row for row in rows}
    pairs = [
        (ours, theirs)
        for name in ("Perceptron", "Margin perceptron", "PA-I", "Logistic SGD")
        for ours_of_noise, theirs_of_noise in zip(by_name["AP"].errors, by_name[name].errors, strict=True)
        for ours, theirs in zip(ours_of_noise, theirs_of_noise, strict=True)
    ]
    return sum(ours < theirs for ours, theirs in pairs), len(pairs)


def bits_table(scale: Scale) -> list[BitsRow]:
    """Table 3: the hash size, its writes, and how exact the lazy forms are (R28, section 4.5, page 3)."""
    return [_bits_row(bits, scale) for bits in scale.bits]


def margin_table(scale: Scale) -> list[MarginRow]:
    """Table 4: last and averaged weights by margin and epochs (R29, section 4.6, page 3)."""
    return [_margin_row(gamma, epochs, scale) for epochs in settings.EPOCHS for gamma in settings.MARGINS]


def tuning(scale: Scale) -> list[Choice]:
    """The starred values of table 1: the lowest test error on seed 100 (R27, section 4.3, page 2)."""
    gammas = [(gamma,) for gamma in settings.GAMMA_GRID]
    pairs = [(gamma, kappa) for gamma in settings.GAMMA_GRID for kappa in settings.KAPPA_GRID]
    grids: list[tuple[str, list[tuple[float, ...]], Callable[..., Method]]] = [
        ("Margin perceptron", [*gammas], lambda gamma: Method("", perceptron(gamma))),
        ("AP+M", [*gammas], lambda gamma: Method("", perceptron(gamma), StampAverage)),
        ("AP+M+T", [*pairs], lambda gamma, kappa: Method("", perceptron(gamma), StampAverage, kappa)),
        ("PA-I", [(c,) for c in settings.C_GRID], lambda c: Method("", passive_aggressive(c))),
        ("Logistic SGD", [(eta_0,) for eta_0 in settings.ETA_0_GRID], lambda eta_0: Method("", logistic(eta_0))),
    ]
    data = data_of(settings.TUNING_SEED, settings.TUNING_NOISE, scale.sizes)
    return [best_of(name, {value: error_of(make(*value), data) for value in grid}) for name, grid, make in grids]


def best_of(name: str, errors: dict[tuple[float, ...], float]) -> Choice:
    """The value with the lowest error; ties go to the smaller value (R27, section 4.3, page 2)."""
    value = min(errors, key=lambda value: (errors[value], value))
    return Choice(name, value, errors[value])


def exactness(rule: Rule, schedule: Schedule, data: Data) -> float:
    """The largest difference between a lazy form and the dense average (R28, section 4.5, page 3)."""
    dense = train(data.training, rule, DenseAverage, schedule).weights
    lazy = [train(data.training, rule, form, schedule).weights for form in (StampAverage, CorrectionAverage)]
    return max(largest_difference(weights, dense) for weights in lazy)


def error_of(method: Method, data: Data) -> float:
    """The test error of a method after one epoch."""
    return error_percent(run_of(method, data).weights, data.test)


def run_of(method: Method, data: Data) -> Trained:
    """A method after one epoch with b = 14."""
    return train(data.training, method.rule, method.form, Schedule(kappa=method.kappa))


@lru_cache(maxsize=len(settings.SEEDS))
def data_of(seed: int, noise: float, sizes: Sizes, bits: int = settings.BITS) -> Data:
    """A data set, hashed; as many as a table has seeds are kept, because several runs learn from each."""
    bags = _bags_of(seed, noise, sizes)
    return Data(hashed(bags.training, bits), hashed(bags.test, bits))


@lru_cache(maxsize=len(settings.SEEDS))
def _bags_of(seed: int, noise: float, sizes: Sizes) -> DataSet:
    return zipf_bag(seed, noise, sizes)


def _measured(data: Data) -> dict[str, Measured]:
    """Every method of table 2 on one data set."""
    label = majority_label(data.training)
    cells = {"Majority": Measured(100 * sum(example.label != label for example in data.test) / len(data.test), None)}
    for method in methods():
        run = run_of(method, data)
        online = (mistake_percent(run), update_percent(run), writes_per_example(run))
        cells[method.name] = Measured(error_percent(run.weights, data.test), online)
    return cells


def _bits_row(bits: int, scale: Scale) -> BitsRow:
    last, averaged, writes = [], [], []
    for seed in scale.seeds:
        data, schedule = data_of(seed, settings.TUNING_NOISE, scale.sizes, bits), Schedule(bits, seed=seed)
        plain = train(data.training, perceptron(), LastWeights, schedule)
        stamps = train(data.training, perceptron(), StampAverage, schedule)
        last.append(error_percent(plain.weights, data.test))
        averaged.append(error_percent(stamps.weights, data.test))
        writes.append((writes_per_example(plain), *expected_cost(stamps, 2**bits)))
    none, dense, stamp, correction = (spread(column).mean for column in zip(*writes, strict=True))
    first = data_of(scale.seeds[0], settings.TUNING_NOISE, scale.sizes, bits)
    difference = exactness(perceptron(), Schedule(bits), first)
    return BitsRow(
        bits, buckets_in_use(bits), spread(last), spread(averaged), (none, dense, stamp, correction), difference
    )


def _margin_row(gamma: float, epochs: int, scale: Scale) -> MarginRow:
    last, averaged, updates = [], [], []
    for seed in scale.seeds:
        data = data_of(seed, settings.TUNING_NOISE, scale.sizes)
        run = train(data.training, perceptron(gamma), StampAverage, Schedule(epochs=epochs, seed=seed))
        last.append(error_percent(run.last, data.test))
        averaged.append(error_percent(run.weights, data.test))
        updates.append(update_percent(run))
    return MarginRow(gamma, epochs, spread(last), spread(averaged), spread(updates).mean)
