"""Tests of the online learner."""

from __future__ import annotations

import unittest
from random import Random

from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Schedule, loss, perceptron, predict, product, stream, train
from averaged_perceptron.settings import ETA
from tests.streams import BITS, random_stream

ONE = Example((0, 2), (0.6, -0.8), -1)


class Learning(unittest.TestCase):
    def test_r5_learning_starts_from_zero_weights_without_a_margin(self) -> None:
        run = train([ONE], perceptron(), schedule=Schedule(BITS))
        self.assertEqual(run.weights[:3], [-0.6, 0.0, 0.8])
        self.assertEqual((run.updates, run.touched, run.writes), (1, 2, 2))

    def test_r5_an_example_exactly_on_the_margin_is_learnt_and_one_beyond_it_is_not(self) -> None:
        rule = perceptron(0.5)
        self.assertEqual([rule(0.5, 1), rule(0.5000001, 1), rule(-3.0, 1)], [ETA, 0.0, ETA])

    def test_r23_scaling_eta_and_gamma_together_changes_no_prediction(self) -> None:
        self.assertEqual(ETA, 1.0)
        examples = random_stream(Random(5), 40)
        one = train(examples, perceptron(0.5), schedule=Schedule(BITS)).weights
        four = train(examples, lambda margin, t: 4.0 if margin <= 2.0 else 0.0, schedule=Schedule(BITS)).weights
        self.assertEqual([4 * weight for weight in one], four)

    def test_r4_the_loss_is_the_distance_to_the_margin_or_nothing(self) -> None:
        self.assertEqual([loss(-1.0, 0.5), loss(0.25, 0.5), loss(0.5, 0.5), loss(2.0, 0.5)], [1.5, 0.25, 0.0, 0.0])

    def test_r2_a_product_of_zero_predicts_plus_1(self) -> None:
        self.assertEqual(predict([0.0] * 4, ONE), 1)
        self.assertEqual(predict([-1.0, 0.0, 0.0, 0.0], ONE), -1)
        self.assertEqual(product([1.0, 9.0, 0.5, 9.0], ONE), 0.6 - 0.4)

    def test_r14_epoch_1_keeps_the_order_and_later_ones_shuffle_the_current_one(self) -> None:
        examples = [Example((index,), (1.0,), 1) for index in range(9)]
        walked = [example.buckets[0] for example in stream(examples, 3, 7)]
        order, draw = list(range(9)), Random(1007).random
        expected = list(order)
        for _ in range(2):
            for i in range(8, 0, -1):
                j = int((i + 1) * draw())
                order[i], order[j] = order[j], order[i]
            expected += order
        self.assertEqual(walked, expected)
        self.assertNotEqual(walked[9:18], walked[:9])
