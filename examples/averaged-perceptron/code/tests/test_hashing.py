"""Tests of the hashed features."""

from __future__ import annotations

import math
import unittest
from random import Random

from averaged_perceptron.hashing import bucket_of, buckets_in_use, crc_of, features, sign_of
from averaged_perceptron.settings import ALL_BITS, BITS


class Hashing(unittest.TestCase):
    def test_r3_the_hash_of_token_0_is_that_of_the_paper(self) -> None:
        self.assertEqual(crc_of(0), 743677601)
        self.assertEqual((bucket_of(0, BITS), sign_of(0)), (7841, 1))

    def test_r3_the_sign_is_bit_31_and_the_bucket_the_low_bits(self) -> None:
        for token in range(500):
            z = crc_of(token)
            self.assertEqual(sign_of(token), 1 if z < 2**31 else -1)
            self.assertEqual(bucket_of(token, 10), z - z // 1024 * 1024)

    def test_r1_tokens_count_as_often_as_they_occur_and_the_length_is_1(self) -> None:
        example = features((0, 1, 0, 0), 1, BITS)
        self.assertEqual(example.buckets, (bucket_of(0, BITS), bucket_of(1, BITS)))
        self.assertAlmostEqual(example.values[0], 3 * sign_of(0) / math.sqrt(10), places=15)
        self.assertAlmostEqual(example.values[1], sign_of(1) / math.sqrt(10), places=15)

    def test_r1_every_vector_has_unit_length_in_the_order_of_first_occurrence(self) -> None:
        random = Random(1)
        for _ in range(200):
            bag = [random.randrange(5000) for _ in range(random.randint(10, 30))]
            example = features(bag, -1, 8)
            self.assertAlmostEqual(math.fsum(value * value for value in example.values), 1.0, places=12)
            seen = list(dict.fromkeys(bucket_of(token, 8) for token in bag))
            self.assertEqual([bucket for bucket in seen if bucket in example.buckets], list(example.buckets))

    def test_r1_a_bucket_whose_sum_is_zero_is_dropped_and_an_all_zero_vector_stays_zero(self) -> None:
        first, second = next(
            (a, b)
            for a in range(100)
            for b in range(a)
            if bucket_of(a, 2) == bucket_of(b, 2) and sign_of(a) != sign_of(b)
        )
        third = next(token for token in range(100) if bucket_of(token, 2) != bucket_of(first, 2))
        self.assertEqual(features((first, third, second), 1, 2).values, (float(sign_of(third)),))
        self.assertEqual(features((first, second), 1, 2), ((), (), 1))

    def test_r28_the_buckets_in_use_are_those_of_table_3(self) -> None:
        self.assertEqual([buckets_in_use(bits) for bits in ALL_BITS], [256, 1024, 3454, 4606, 5000])
