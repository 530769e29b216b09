"""ZipfBag-5k, the data of the paper, bit for bit: one generator a seed, drawn from in a fixed order."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import NamedTuple

from averaged_perceptron.hashing import Example, features
from averaged_perceptron.settings import LONGEST_BAG, SHORTEST_BAG, TEST_SIZE, TRAINING_SIZE, VOCABULARY

Draw = Callable[[], float]


class Bag(NamedTuple):
    """The tokens of one example; `label` differs from `clean` where the noise flipped it."""

    tokens: tuple[int, ...]
    clean: int
    label: int


class Sizes(NamedTuple):
    """How many examples a data set has."""

    training: int = TRAINING_SIZE
    test: int = TEST_SIZE


class DataSet(NamedTuple):
    """Training bags with noise in the labels, and test bags without."""

    training: list[Bag]
    test: list[Bag]


@dataclass(frozen=True)
class _Language:
    """What one seed fixes for all of its bags: where each token ends on [0, 1), and its teacher weight."""

    ends: list[float]
    teacher: list[float]


def zipf_bag(seed: int, noise: float = 0.0, sizes: Sizes = Sizes()) -> DataSet:
    """The data set of a seed (R12, appendix A, page 4): teacher first, then training, then test examples.

    The call that decides a flip is made even without noise (R13, section 4.1, page 2), so noise changes no bag.
    """
    draw = Random(seed).random
    language = _language(draw)
    training = [_noisy(_bag(draw, language), draw() < noise) for _ in range(sizes.training)]
    return DataSet(training, [_bag(draw, language) for _ in range(sizes.test)])


def hashed(bags: list[Bag], bits: int) -> list[Example]:
    """The bags as the learners see them."""
    return [features(bag.tokens, bag.label, bits) for bag in bags]


def token_probabilities() -> list[float]:
    """p_k = (1 / (k + 1)) / Z: equation (8) (R10, section 4.1, page 2). Z is a correctly rounded sum."""
    shares = [1 / (k + 1) for k in range(VOCABULARY)]
    total = math.fsum(shares)
    return [share / total for share in shares]


def _language(draw: Draw) -> _Language:
    """Teacher weights v from U[-1, 1), centred to u, so that the classes are of nearly one size (R11, section 4.1, page 2)."""
    probabilities = token_probabilities()
    drawn = [2 * draw() - 1 for _ in range(VOCABULARY)]
    mean = math.fsum(p * v for p, v in zip(probabilities, drawn, strict=True))
    return _Language(list(accumulate(probabilities)), [v - mean for v in drawn])


def _bag(draw: Draw, language: _Language) -> Bag:
    """One call for the length, one for each token (R12, appendix A, page 4); the sign of the score is the label (R11)."""
    length = SHORTEST_BAG + math.floor((LONGEST_BAG - SHORTEST_BAG + 1) * draw())
    tokens = tuple(min(bisect_right(language.ends, draw()), VOCABULARY - 1) for _ in range(length))
    clean = 1 if math.fsum(language.teacher[token] for token in tokens) >= 0 else -1
    return Bag(tokens, clean, clean)


def _noisy(bag: Bag, flipped: bool) -> Bag:
    """The bag with its label flipped, or as it is (R13, section 4.1, page 2)."""
    return bag._replace(label=-bag.clean) if flipped else bag
