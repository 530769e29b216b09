"""Tests of what is measured."""

from __future__ import annotations

import math
import unittest
from random import Random

from averaged_perceptron.averages import CorrectionAverage, DenseAverage, LastWeights, StampAverage
from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Schedule, perceptron, train
from averaged_perceptron.metrics import (
    error_percent,
    expected_cost,
    mistake_percent,
    spread,
    update_percent,
    writes_per_example,
)
from averaged_perceptron.settings import SEEDS
from tests.streams import BITS, random_stream

RIGHT, WRONG = Example((0,), (1.0,), 1), Example((0,), (1.0,), -1)


class Metrics(unittest.TestCase):
    def test_r9_the_writes_of_every_form_are_those_of_equation_7(self) -> None:
        for number in range(50):
            examples, schedule = random_stream(Random(number), 40), Schedule(BITS)
            forms = (DenseAverage, StampAverage, CorrectionAverage)
            runs = [train(examples, perceptron(), form, schedule) for form in forms]
            for run, expected in zip(runs, expected_cost(runs[0], 2**BITS), strict=True):
                self.assertAlmostEqual(writes_per_example(run), expected, places=12)
            plain = train(examples, perceptron(), LastWeights, schedule)
            self.assertEqual(plain.writes, plain.touched)

    def test_r20_the_error_is_the_share_of_wrong_predictions(self) -> None:
        self.assertEqual(error_percent([1.0, 0.0], [RIGHT, RIGHT, RIGHT, WRONG]), 25.0)

    def test_r20_a_step_with_a_product_of_zero_is_a_mistake_and_one_inside_the_margin_is_not(self) -> None:
        run = train([RIGHT, RIGHT, RIGHT, WRONG], perceptron(1.0), schedule=Schedule(1))
        self.assertEqual((mistake_percent(run), update_percent(run)), (50.0, 75.0))

    def test_r22_the_deviation_is_that_of_a_sample(self) -> None:
        self.assertEqual(len(SEEDS), 5)
        told = spread([1.0, 2.0, 3.0, 4.0])
        self.assertEqual(told.mean, 2.5)
        self.assertAlmostEqual(told.deviation, math.sqrt(5 / 3), places=15)
        self.assertEqual(str(spread([7.0])), "7.00 ± 0.00")
