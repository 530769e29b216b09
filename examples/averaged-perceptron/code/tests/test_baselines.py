"""Tests of the baselines and of the variants of the averaged perceptron."""

from __future__ import annotations

import math
import unittest

from averaged_perceptron import settings
from averaged_perceptron.averages import LastWeights, StampAverage
from averaged_perceptron.baselines import logistic, majority_label, methods, passive_aggressive, sigmoid
from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Schedule, train

POSITIVE, NEGATIVE = Example((0,), (1.0,), 1), Example((0,), (1.0,), -1)


class Baselines(unittest.TestCase):
    def test_r15_the_majority_is_the_more_frequent_label(self) -> None:
        self.assertEqual(majority_label([POSITIVE, NEGATIVE, NEGATIVE]), -1)
        self.assertEqual(majority_label([POSITIVE, POSITIVE, NEGATIVE]), 1)

    def test_r17_pa_i_goes_as_far_as_the_loss_but_not_beyond_c(self) -> None:
        rule = passive_aggressive(0.5)
        self.assertEqual([rule(0.75, 1), rule(0.0, 1), rule(-3.0, 9), rule(1.0, 1)], [0.25, 0.5, 0.5, 0.0])

    def test_r17_pa_i_ends_exactly_on_the_margin_of_1(self) -> None:
        self.assertEqual(train([NEGATIVE], passive_aggressive(3.0), schedule=Schedule(1)).weights, [-1.0, 0.0])

    def test_r18_a_logistic_step_shrinks_with_the_root_of_t_and_never_is_nothing(self) -> None:
        rule = logistic(8.0)
        self.assertEqual([rule(0.0, 1), rule(0.0, 4), rule(0.0, 16)], [4.0, 2.0, 1.0])
        self.assertAlmostEqual(rule(2.0, 1), 8 / (1 + math.exp(2)), places=14)
        self.assertEqual(train([POSITIVE] * 5, rule, schedule=Schedule(1)).updates, 5)

    def test_r18_sigma_is_symmetric_and_does_not_overflow(self) -> None:
        for z in (0.0, 0.5, 3.0, 20.0, 2000.0):
            self.assertAlmostEqual(sigmoid(z) + sigmoid(-z), 1.0, places=15)

    def test_r16_r19_r26_every_row_of_table_2_has_the_settings_of_table_1(self) -> None:
        rows = {row.name: row for row in methods()}
        self.assertEqual(
            list(rows), ["Perceptron", "Margin perceptron", "PA-I", "Logistic SGD", "AP", "AP+M", "AP+M+T"]
        )
        edges = {"Perceptron": 0.0, "Margin perceptron": 1.0, "AP": 0.0, "AP+M": 0.25, "AP+M+T": 0.25}
        for name, gamma in edges.items():
            self.assertEqual((rows[name].rule(gamma, 1), rows[name].rule(gamma + 1e-9, 1)), (1.0, 0.0))
        self.assertEqual((rows["PA-I"].rule(-9.0, 1), rows["Logistic SGD"].rule(0.0, 1)), (1.0, 50.0))
        averaged = {name for name, row in rows.items() if row.form is StampAverage}
        self.assertEqual(averaged, {"AP", "AP+M", "AP+M+T"})
        self.assertTrue(all(row.form is LastWeights for name, row in rows.items() if name not in averaged))
        self.assertEqual(
            {name: row.kappa for name, row in rows.items() if row.kappa}, {"AP+M+T": settings.AP_M_T_KAPPA}
        )
