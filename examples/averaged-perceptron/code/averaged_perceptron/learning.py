"""The online learner: one step an example, with a rule for its length and a form for what is returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from averaged_perceptron.averages import Form, LastWeights
from averaged_perceptron.hashing import Example
from averaged_perceptron.settings import BITS, ETA, SHUFFLE_SEED

Rule = Callable[[float, int], float]
"""From the margin y<w, x> and the number t of the step to the length of the step; 0.0 is no update."""


class Schedule(NamedTuple):
    """How a learner walks over the examples: D = 2**bits, E epochs, burn-in fraction kappa, and the seed of the data."""

    bits: int = BITS
    epochs: int = 1
    kappa: float = 0.0
    seed: int = 0


class Trained(NamedTuple):
    """What a run left behind. `touched` is the sum of |s(x)| over the steps with an update."""

    weights: list[float]
    last: list[float]
    steps: int
    mistakes: int
    updates: int
    touched: int
    writes: int


def train(
    examples: Sequence[Example], rule: Rule, form: type[Form] = LastWeights, schedule: Schedule = Schedule()
) -> Trained:
    """Runs over the stream from w = 0 (R5, section 3.2, page 1); t0 = floor(kappa T) (R6, section 3.3, page 2)."""
    size, steps = 2**schedule.bits, schedule.epochs * len(examples)
    average = form(size, steps, math.floor(schedule.kappa * steps))
    weights = [0.0] * size
    mistakes = updates = touched = 0
    for t, example in enumerate(stream(examples, schedule.epochs, schedule.seed), 1):
        margin = example.label * product(weights, example)
        mistakes += margin <= 0
        length = rule(margin, t)
        if length:
            updates += 1
            touched += len(example.buckets)
            average.update(weights, t, example, length)
        average.end_step(weights)
    return Trained(average.returned(weights), weights, steps, mistakes, updates, touched, average.writes)


def stream(examples: Sequence[Example], epochs: int, seed: int) -> Iterator[Example]:
    """Epoch 1 in order; before each later one, the current order is shuffled (R14, appendix A, page 4).

    One generator, with seed 1000 + seed, lasts for the whole run.
    """
    draw = Random(SHUFFLE_SEED + seed).random
    order = list(examples)
    for epoch in range(1, epochs + 1):
        if epoch > 1:
            for i in range(len(order) - 1, 0, -1):
                j = math.floor((i + 1) * draw())
                order[i], order[j] = order[j], order[i]
        yield from order


def product(weights: Sequence[float], example: Example) -> float:
    """<w, x>, summed in the order of the features by a plain loop (R3, appendix A, page 4)."""
    total = 0.0
    for j, value in zip(example.buckets, example.values, strict=True):
        total += weights[j] * value
    return total


def predict(weights: Sequence[float], example: Example) -> int:
    """+1 if <w, x> >= 0, and -1 otherwise (R2, section 3.1, page 1)."""
    return 1 if product(weights, example) >= 0 else -1


def loss(margin: float, gamma: float) -> float:
    """The perceptron loss with margin: max(0, gamma - y<w, x>), equation (2) (R4, section 3.2, page 1)."""
    return max(0.0, gamma - margin)


def perceptron(gamma: float = 0.0) -> Rule:
    """Equation (3) (R5, section 3.2, page 1): a step of eta if y<w, x> <= gamma. With `<` nothing would ever be learnt."""
    return lambda margin, t: ETA if margin <= gamma else 0.0
