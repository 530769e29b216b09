"""What is measured of a run, and how runs are summed up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Trained, predict


class Spread(NamedTuple):
    """Mean and sample standard deviation over seeds."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


class Cost(NamedTuple):
    """Writes per example of the three forms."""

    dense: float
    stamps: float
    correction: float


def error_percent(weights: Sequence[float], examples: Sequence[Example]) -> float:
    """The test error of the returned weights, in percent (R20, section 4.3, page 2)."""
    return 100 * sum(predict(weights, example) != example.label for example in examples) / len(examples)


def mistake_percent(run: Trained) -> float:
    """The share of training steps with y<w, x> <= 0 under the possibly flipped label, in percent (R20, section 4.3, page 2)."""
    return 100 * run.mistakes / run.steps


def update_percent(run: Trained) -> float:
    """The update rate u, in percent (R20, section 4.3, page 2)."""
    return 100 * run.updates / run.steps


def writes_per_example(run: Trained) -> float:
    """The writes that the run counted itself, per example (R9, section 3.5, page 2)."""
    return run.writes / run.steps


def expected_cost(run: Trained, size: int) -> Cost:
    """Equation (7), for kappa = 0 (R9, section 3.5, page 2): u times the mean of |s(x)| is `touched` per step."""
    plain, sweep = run.touched / run.steps, size / run.steps
    return Cost(plain + size + sweep, 3 * plain + 2 * sweep, 2 * plain + sweep)


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation (R22, section 4.3, page 2); one value has no spread."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Spread(mean, 0.0)
    return Spread(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)))


def largest_difference(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest difference of any weight: how exact the lazy forms are (R28, section 4.5, page 3)."""
    return max(abs(a - b) for a, b in zip(first, second, strict=True))
