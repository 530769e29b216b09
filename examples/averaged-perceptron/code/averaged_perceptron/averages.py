"""What a learner returns: the last weights, or their tail average in one of three equal forms."""

from __future__ import annotations

from operator import add
from typing import Protocol

from averaged_perceptron.hashing import Example


class Form(Protocol):
    """Applies steps to weights, and knows at the end what to return."""

    def __init__(self, size: int, steps: int, burn_in: int) -> None: ...

    @property
    def writes(self) -> int:
        """Writes to entries of vectors of length D so far, without the set-up of zeros."""
        ...

    def update(self, weights: list[float], t: int, example: Example, length: float) -> None:
        """Adds length * y * x to the weights, in step t."""

    def end_step(self, weights: list[float]) -> None:
        """Called after every step, also one without an update."""

    def returned(self, weights: list[float]) -> list[float]:
        """What the learner returns after the last step."""
        ...


class LastWeights:
    """No average: w_T is returned, and an update writes |s(x)| entries (R16, section 4.2, page 2)."""

    def __init__(self, size: int, steps: int, burn_in: int) -> None:
        self.writes = 0

    def update(self, weights: list[float], t: int, example: Example, length: float) -> None:
        signed = length * example.label
        for j, value in zip(example.buckets, example.values, strict=True):
            weights[j] += signed * value
        self.writes += len(example.buckets)

    def end_step(self, weights: list[float]) -> None:
        pass

    def returned(self, weights: list[float]) -> list[float]:
        return list(weights)


class DenseAverage:
    """The definition, equation (4) (R6, section 3.3, page 2): w is added to a sum after every step later than t0."""

    def __init__(self, size: int, steps: int, burn_in: int) -> None:
        self._sum = [0.0] * size
        self._steps, self._burn_in, self._now = steps, burn_in, 0
        self._plain = LastWeights(size, steps, burn_in)
        self._summed = 0

    @property
    def writes(self) -> int:
        return self._plain.writes + self._summed

    def update(self, weights: list[float], t: int, example: Example, length: float) -> None:
        self._plain.update(weights, t, example, length)

    def end_step(self, weights: list[float]) -> None:
        self._now += 1
        if self._now > self._burn_in:
            self._sum = list(map(add, self._sum, weights))
            self._summed += len(weights)

    def returned(self, weights: list[float]) -> list[float]:
        self._summed += len(weights)
        return [total / (self._steps - self._burn_in) for total in self._sum]


class StampAverage:
    """Algorithm 1, time stamps (R7, section 3.4, page 2): a coordinate is brought up to date only before it changes."""

    def __init__(self, size: int, steps: int, burn_in: int) -> None:
        self._sum, self._stamps = [0.0] * size, [0] * size
        self._steps, self._burn_in = steps, burn_in
        self.writes = 0

    def update(self, weights: list[float], t: int, example: Example, length: float) -> None:
        """Lines 8 to 12, and so equation (5) (R7, section 3.4, page 2); the writes are those of (7)."""
        signed, burn_in, total, stamps = length * example.label, self._burn_in, self._sum, self._stamps
        for j, value in zip(example.buckets, example.values, strict=True):
            # Until step t - 1 this coordinate kept its weight; step t itself counts with the new one.
            gap = t - 1 - max(stamps[j], burn_in)
            if gap > 0:
                total[j] += gap * weights[j]
            stamps[j] = t - 1
            weights[j] += signed * value
        self.writes += 3 * len(example.buckets)

    def end_step(self, weights: list[float]) -> None:
        pass

    def returned(self, weights: list[float]) -> list[float]:
        """Lines 13 to 15: the final sweep, two writes an entry (R7, section 3.4, page 2)."""
        self.writes += 2 * len(weights)
        for j, weight in enumerate(weights):
            self._sum[j] += (self._steps - max(self._stamps[j], self._burn_in)) * weight
        return [total / (self._steps - self._burn_in) for total in self._sum]


class CorrectionAverage:
    """Algorithm 2, correction vector (R8, section 3.4, page 2): what of each step must be taken back at the end."""

    def __init__(self, size: int, steps: int, burn_in: int) -> None:
        self._correction = [0.0] * size
        self._steps, self._burn_in = steps, burn_in
        self.writes = 0

    def update(self, weights: list[float], t: int, example: Example, length: float) -> None:
        """Lines 3 to 5: step t is missing from the t - 1 - t0 averaged weights before it (R8, section 3.4, page 2)."""
        signed, late, correction = length * example.label, max(0, t - 1 - self._burn_in), self._correction
        for j, value in zip(example.buckets, example.values, strict=True):
            change = signed * value
            weights[j] += change
            correction[j] += late * change
        self.writes += 2 * len(example.buckets)

    def end_step(self, weights: list[float]) -> None:
        pass

    def returned(self, weights: list[float]) -> list[float]:
        """Line 6, equation (6) (R8, section 3.4, page 2)."""
        self.writes += len(weights)
        averaged = self._steps - self._burn_in
        return [weight - taken / averaged for weight, taken in zip(weights, self._correction, strict=True)]
