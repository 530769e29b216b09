"""Random small streams, and the average computed from its definition alone."""

from __future__ import annotations

import math
from random import Random

from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Schedule

BITS = 3


def random_stream(random: Random, most: int = 12) -> list[Example]:
    """Up to `most` examples over 2**BITS buckets, in eighths, so that sums of them are exact."""
    return [_random_example(random) for _ in range(random.randint(1, most))]


def random_schedule(random: Random) -> Schedule:
    """One to three epochs, and a burn-in from none to nearly all."""
    return Schedule(BITS, random.randint(1, 3), random.choice((0.0, 0.1, 0.25, 0.5, 0.9)), random.randrange(100))


def average_by_definition(examples: list[Example], gamma: float, schedule: Schedule) -> list[float]:
    """Equations (3) and (4) word for word: every w_t is kept, and those later than t0 are averaged."""
    weights, passed = [0.0] * 2**schedule.bits, []
    order, draw = list(examples), Random(1000 + schedule.seed).random
    for epoch in range(schedule.epochs):
        for i in range(len(order) - 1, 0, -1) if epoch else ():
            j = int((i + 1) * draw())
            order[i], order[j] = order[j], order[i]
        for example in order:
            pairs = list(zip(example.buckets, example.values, strict=True))
            if example.label * sum(weights[j] * value for j, value in pairs) <= gamma:
                weights = list(weights)
                for j, value in pairs:
                    weights[j] += example.label * value
            passed.append(weights)
    averaged = passed[math.floor(schedule.kappa * len(passed)) :]
    return [sum(column) / len(averaged) for column in zip(*averaged, strict=True)]


def _random_example(random: Random) -> Example:
    buckets = random.sample(range(2**BITS), random.randint(1, 5))
    values = [random.choice((-1, 1)) * random.randint(1, 8) / 8 for _ in buckets]
    return Example(tuple(buckets), tuple(values), random.choice((-1, 1)))
