"""Each measure is its definition: held against the definition written out, on random labels and values."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.reproduction import measures
from tests.strategies import QUICK

CLASSES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)
BINARY = st.lists(st.tuples(st.sampled_from("01"), st.sampled_from("01")), min_size=1, max_size=30)
VALUES = st.floats(-1e6, 1e6)
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30)
SCORES = st.lists(st.tuples(st.sampled_from("01"), st.integers(0, 5).map(float)), min_size=2, max_size=25)


def counts(pairs: list[tuple[str, str]], one: str) -> tuple[int, int, int]:
    """True positives, false positives, false negatives of a class."""
    hits = sum(true == said == one for true, said in pairs)
    return hits, sum(said == one != true for true, said in pairs), sum(true == one != said for true, said in pairs)


def ratio(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)


def definition(name: str, hits: int, false_positives: int, false_negatives: int) -> Fraction:
    precision, recall = ratio(hits, hits + false_positives), ratio(hits, hits + false_negatives)
    if name == "f1":
        return 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)
    return precision if name == "precision" else recall


@QUICK
@given(CLASSES)
def test_accuracy_and_error_rate_are_shares_of_one(pairs: list[tuple[str, str]]) -> None:
    true, said = map(list, zip(*pairs, strict=True))
    right = sum(a == b for a, b in pairs)
    assert measures.accuracy(true, said) == right / len(pairs)
    assert measures.error_rate(true, said) == pytest.approx((len(pairs) - right) / len(pairs))


@QUICK
@pytest.mark.parametrize("name", ["precision", "recall", pytest.param("f1", marks=pytest.mark.slow)])
@given(pairs=CLASSES)
def test_averages_over_classes_are_their_definitions(name: str, pairs: list[tuple[str, str]]) -> None:
    true, said = map(list, zip(*pairs, strict=True))
    of_class = [counts(pairs, one) for one in sorted({*true, *said})]
    macro = sum(definition(name, *one) for one in of_class) / len(of_class)
    micro = definition(name, *(sum(column) for column in zip(*of_class, strict=True)))
    assert measures.OF_LABELS[f"{name}_macro"](true, said) == pytest.approx(float(macro))
    assert measures.OF_LABELS[f"{name}_micro"](true, said) == pytest.approx(float(micro))
    assert measures.OF_LABELS[f"{name}_micro"](true, said) == pytest.approx(measures.accuracy(true, said))


@QUICK
@pytest.mark.parametrize("name", ["precision", "recall", pytest.param("f1", marks=pytest.mark.slow)])
@given(pairs=BINARY)
@example(pairs=[("1", "0"), ("0", "0")])
def test_of_two_classes_the_positive_one_is_counted(name: str, pairs: list[tuple[str, str]]) -> None:
    true, said = map(list, zip(*pairs, strict=True))
    if "1" not in {*true, *said}:
        with pytest.raises(ValueError, match="positive"):
            measures.OF_LABELS[name](true, said)
    else:
        assert measures.OF_LABELS[name](true, said) == pytest.approx(float(definition(name, *counts(pairs, "1"))))


@QUICK
@given(PAIRS)
def test_errors_of_values_are_their_definitions(pairs: list[tuple[float, float]]) -> None:
    true, said = map(list, zip(*pairs, strict=True))
    square = sum(Fraction(a - b) ** 2 for a, b in pairs) / len(pairs)
    assert measures.OF_VALUES["mse"](true, said) == pytest.approx(float(square))
    assert measures.OF_VALUES["rmse"](true, said) == pytest.approx(math.sqrt(square))
    assert measures.OF_VALUES["mae"](true, said) == pytest.approx(sum(abs(a - b) for a, b in pairs) / len(pairs))
    if len(set(true)) > 1 and statistics.pvariance(true) > 1e-6:
        expected = 1 - float(square) / statistics.pvariance(true)
        assert measures.OF_VALUES["r2"](true, said) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@QUICK
@given(SCORES)
def test_the_area_under_the_curve_is_the_chance_of_the_right_order(pairs: list[tuple[str, float]]) -> None:
    true, scores = map(list, zip(*pairs, strict=True))
    duels = [(a, b) for label, a in pairs if label == "1" for other, b in pairs if other == "0"]
    if not duels:
        with pytest.raises(ValueError, match="class"):
            measures.area_under_curve(true, scores)
        return
    won = sum(a > b for a, b in duels) + 0.5 * sum(a == b for a, b in duels)
    assert measures.area_under_curve(true, scores) == pytest.approx(won / len(duels))


@QUICK
@given(st.lists(VALUES, min_size=1, max_size=30))
def test_mean_and_deviation_are_those_of_a_sample(values: list[float]) -> None:
    assert measures.mean(values) == pytest.approx(statistics.fmean(values))
    if len(values) == 1:
        assert measures.deviation(values) is None
    else:
        assert measures.deviation(values) == pytest.approx(statistics.stdev(values), abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "measure"),
    [
        ("accuracy", "accuracy"), ("Acc", "accuracy"), ("top-1", "accuracy"), ("test error", "error_rate"),
        ("Error, rho=0.1", "error_rate"), ("error", "error_rate"), ("macro F1", "f1_macro"), ("F1 (micro)", "f1_micro"),
        ("F1", "f1"), ("RMSE", "rmse"), ("mean squared error", "mse"), ("MAE", "mae"), ("AUROC", "auc"), ("AUC", "auc"),
        ("R2", "r2"), ("writes per example", ""), ("update rate", ""), ("BLEU", ""), ("perplexity", ""), ("", ""),
        ("relative L2 error", ""), ("mean absolute error", "mae"), ("word error rate", ""),
    ],
)  # fmt: skip
def test_a_paper_names_its_measures_in_many_ways(metric: str, measure: str) -> None:
    assert measures.measure_of(metric) == measure
