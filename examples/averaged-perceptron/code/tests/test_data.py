"""Tests of the data set."""

from __future__ import annotations

import math
import unittest
from random import Random

from averaged_perceptron.settings import LONGEST_BAG, NOISE_RATES, SHORTEST_BAG, TEST_SIZE, TRAINING_SIZE, VOCABULARY
from averaged_perceptron.values import FIRST_BAG
from averaged_perceptron.zipfbag import Sizes, hashed, token_probabilities, zipf_bag

FEW = Sizes(60, 20)


class ZipfBag(unittest.TestCase):
    def test_r12_the_first_bag_of_seed_0_is_that_of_the_paper(self) -> None:
        first = zipf_bag(0, 0.1, FEW).training[0]
        self.assertEqual((first.tokens, first.clean), (FIRST_BAG, 1))

    def test_r12_one_call_is_made_for_each_token_length_and_flip_and_none_besides(self) -> None:
        data, random = zipf_bag(3, 0.1, FEW), Random(3)
        for _ in range(VOCABULARY):
            random.random()
        for bag in data.training:
            self.assertEqual(len(bag.tokens), 10 + math.floor(21 * random.random()))
            for _ in bag.tokens:
                random.random()
            self.assertEqual(bag.label != bag.clean, random.random() < 0.1)

    def test_r10_a_token_has_a_share_of_one_over_its_rank(self) -> None:
        shares = token_probabilities()
        self.assertEqual(len(shares), 5000)
        self.assertAlmostEqual(math.fsum(shares), 1.0, places=14)
        self.assertAlmostEqual(shares[0] / shares[9], 10.0, places=12)

    def test_r11_the_two_classes_have_nearly_the_same_size(self) -> None:
        for seed in range(3):
            bags = zipf_bag(seed, 0.0, Sizes(1000, 0)).training
            self.assertLess(abs(sum(bag.clean for bag in bags)), 100)

    def test_r13_noise_flips_labels_of_the_training_bags_and_changes_nothing_else(self) -> None:
        clean, *noisy = (zipf_bag(1, rho, Sizes(500, 100)) for rho in NOISE_RATES)
        self.assertEqual([bag.label for bag in clean.training], [bag.clean for bag in clean.training])
        for rho, data in zip(NOISE_RATES[1:], noisy, strict=True):
            self.assertEqual(data.test, clean.test)
            self.assertEqual([bag.tokens for bag in data.training], [bag.tokens for bag in clean.training])
            flipped = sum(bag.label != bag.clean for bag in data.training)
            self.assertAlmostEqual(flipped / 500, rho, delta=0.05)

    def test_r25_r24_the_sizes_are_those_of_the_paper(self) -> None:
        data = zipf_bag(0, 0.1)
        self.assertEqual((len(data.training), len(data.test)), (TRAINING_SIZE, TEST_SIZE))
        self.assertEqual((TRAINING_SIZE, TEST_SIZE), (10_000, 5_000))
        lengths = {len(bag.tokens) for bag in data.training}
        self.assertEqual((min(lengths), max(lengths)), (SHORTEST_BAG, LONGEST_BAG))
        self.assertLess(max(max(bag.tokens) for bag in data.training), VOCABULARY)
        sizes = [len(example.buckets) for example in hashed(data.training, 14)]
        self.assertEqual(round(sum(sizes) / len(sizes), 1), 17.4)
