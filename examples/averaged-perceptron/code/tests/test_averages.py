"""Tests of the three forms of the average: both lazy ones must equal the definition on any stream."""

from __future__ import annotations

import unittest
from random import Random

from averaged_perceptron.averages import CorrectionAverage, DenseAverage, Form, StampAverage
from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Schedule, perceptron, train
from averaged_perceptron.metrics import largest_difference
from tests.streams import average_by_definition, random_schedule, random_stream

STREAMS = 400
EXACT = 1e-12
TWICE = [Example((0,), (1.0,), 1)] * 2


class Averages(unittest.TestCase):
    def check_on_random_streams(self, form: type[Form]) -> None:
        """Compares a form with the definition: streams, margins, epochs and burn-ins are drawn anew each time."""
        for number in range(STREAMS):
            random = Random(number)
            examples, schedule, gamma = random_stream(random), random_schedule(random), random.choice((0.0, 0.25, 1.0))
            here = train(examples, perceptron(gamma), form, schedule).weights
            difference = largest_difference(here, average_by_definition(examples, gamma, schedule))
            self.assertLess(difference, EXACT, f"stream {number}, {schedule}, gamma {gamma}")

    def test_r6_the_dense_form_is_the_tail_average(self) -> None:
        self.check_on_random_streams(DenseAverage)
        self.assertEqual(train(TWICE, perceptron(), DenseAverage, Schedule(1)).weights, [1.0, 0.0])

    def test_r7_time_stamps_give_the_tail_average(self) -> None:
        self.check_on_random_streams(StampAverage)
        self.assertEqual(train(TWICE, perceptron(), StampAverage, Schedule(1)).weights, [1.0, 0.0])

    def test_r8_a_correction_vector_gives_the_tail_average(self) -> None:
        self.check_on_random_streams(CorrectionAverage)
        self.assertEqual(train(TWICE, perceptron(), CorrectionAverage, Schedule(1)).weights, [1.0, 0.0])

    def test_r6_a_step_without_an_update_counts_too(self) -> None:
        examples = [Example((0,), (1.0,), 1), Example((0,), (1.0,), -1), *TWICE, *TWICE]
        for form in (DenseAverage, StampAverage, CorrectionAverage):
            self.assertAlmostEqual(train(examples, perceptron(), form, Schedule(1)).weights[0], 5 / 6, places=15)

    def test_r6_the_average_starts_after_t0(self) -> None:
        examples = [
            Example((0,), (1.0,), 1),
            Example((0,), (0.5,), 1),
            Example((1,), (0.25,), 1),
            Example((0,), (1.0,), 1),
        ]
        for form in (DenseAverage, StampAverage, CorrectionAverage):
            self.assertEqual(train(examples, perceptron(), form, Schedule(1, kappa=0.5)).weights, [1.0, 0.25])
