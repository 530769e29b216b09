"""Tests against the figures that the paper prints, on its own data at full size."""

from __future__ import annotations

import unittest

from averaged_perceptron import settings
from averaged_perceptron.averages import StampAverage
from averaged_perceptron.baselines import methods
from averaged_perceptron.experiments import FULL, Data, Scale, bits_table, data_of, exactness, run_of
from averaged_perceptron.learning import Schedule, perceptron, train
from averaged_perceptron.metrics import error_percent, mistake_percent, spread, update_percent, writes_per_example
from averaged_perceptron.values import values_to_check

NOISE = 0.1


class Paper(unittest.TestCase):
    def test_r21_r27_every_value_to_check_is_that_of_the_paper(self) -> None:
        values = values_to_check()
        self.assertEqual(len(values), 16)
        self.assertEqual([value for value in values if not value.agrees], [])

    def test_r30_three_rows_of_table_2_come_out_to_the_last_digit(self) -> None:
        rows = {method.name: method for method in methods()}
        paper = {
            "Perceptron": ("27.04 ± 2.34", 35.3, 35.3, 6.2),
            "AP": ("19.95 ± 1.27", 35.3, 35.3, 21.8),
            "AP+M+T": ("19.10 ± 1.36", 33.2, 45.5, 27.2),
        }
        for name, told in paper.items():
            runs = [(run_of(rows[name], data), data.test) for data in self.data_of_all_seeds()]
            online = [
                round(spread([measure(run) for run, _ in runs]).mean, 1)
                for measure in (mistake_percent, update_percent, writes_per_example)
            ]
            self.assertEqual((str(spread([error_percent(run.weights, test) for run, test in runs])), *online), told)

    def test_r28_the_row_for_8_bits_of_table_3_comes_out_to_the_last_digit(self) -> None:
        row = bits_table(Scale(bits=(8,)))[0]
        self.assertEqual((str(row.perceptron), str(row.averaged)), ("36.39 ± 2.41", "28.50 ± 2.15"))
        self.assertEqual([round(writes, 1) for writes in row.writes], [6.8, 262.8, 20.4, 13.6])
        self.assertEqual((row.buckets, f"{row.difference:.1e}"), (256, "4.4e-14"))

    def test_r28_the_lazy_forms_are_exact_with_a_margin_a_late_start_and_two_epochs(self) -> None:
        data = data_of(0, NOISE, FULL.sizes, 8)
        self.assertLess(exactness(perceptron(0.25), Schedule(8, 2, 0.5), data), 6e-13)

    def test_r29_a_row_of_table_4_with_five_epochs_comes_out_to_the_last_digit(self) -> None:
        last, averaged, updates = [], [], []
        for seed, data in zip(settings.SEEDS, self.data_of_all_seeds(), strict=True):
            run = train(data.training, perceptron(1.0), StampAverage, Schedule(epochs=5, seed=seed))
            last.append(error_percent(run.last, data.test))
            averaged.append(error_percent(run.weights, data.test))
            updates.append(update_percent(run))
        self.assertEqual((str(spread(last)), str(spread(averaged))), ("19.26 ± 1.12", "16.54 ± 0.83"))
        self.assertEqual(round(spread(updates).mean, 1), 46.8)

    def data_of_all_seeds(self) -> list[Data]:
        return [data_of(seed, NOISE, FULL.sizes) for seed in settings.SEEDS]
