"""Compute the usual measures from predictions, labels and measurements, by their textbook definitions.

Shares lie between 0 and 1. Macro averages weigh every class that occurs among labels or predictions alike; a class without a
prediction has the precision 0, one without a label the recall 0, as scikit-learn has it with zero_division=0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

Labels = Sequence[str]
Values = Sequence[float]
_POSITIVE = ("1", "1.0", "+1", "true", "True", "yes", "positive")


def accuracy(true: Labels, predicted: Labels) -> float:
    """Return the share of correct predictions."""
    return sum(map(str.__eq__, true, predicted)) / len(true)


def error_rate(true: Labels, predicted: Labels) -> float:
    return 1 - accuracy(true, predicted)


def precision(true: Labels, predicted: Labels, average: str = "binary") -> float:
    return _averaged(true, predicted, average, lambda hits, said, there: _share(hits, said))


def recall(true: Labels, predicted: Labels, average: str = "binary") -> float:
    return _averaged(true, predicted, average, lambda hits, said, there: _share(hits, there))


def f1(true: Labels, predicted: Labels, average: str = "binary") -> float:
    """Return the harmonic mean of precision and recall: of the positive class, of all counts, or averaged over classes."""
    return _averaged(true, predicted, average, lambda hits, said, there: _share(2 * hits, said + there))


def mean_squared_error(true: Values, predicted: Values) -> float:
    return math.fsum((a - b) ** 2 for a, b in zip(true, predicted, strict=True)) / len(true)


def root_mean_squared_error(true: Values, predicted: Values) -> float:
    return math.sqrt(mean_squared_error(true, predicted))


def mean_absolute_error(true: Values, predicted: Values) -> float:
    return math.fsum(abs(a - b) for a, b in zip(true, predicted, strict=True)) / len(true)


def r_squared(true: Values, predicted: Values) -> float:
    """1 - residual sum of squares / total sum of squares. Raises ValueError where all labels are the same."""
    middle = mean(true)
    total = math.fsum((a - middle) ** 2 for a in true)
    if not total:
        raise ValueError("all labels are the same, so R² is not defined")
    return 1 - math.fsum((a - b) ** 2 for a, b in zip(true, predicted, strict=True)) / total


def area_under_curve(true: Labels, scores: Values) -> float:
    """Return the probability that a positive has a higher score than a negative; ties count half."""
    positive = _positive_class(true)
    ranked = sorted(zip(scores, true, strict=True))
    ranks, at = 0.0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ranks += (at + end + 1) / 2 * sum(label == positive for _, label in ranked[at:end])
        at = end
    there = sum(label == positive for label in true)
    if not 0 < there < len(true):
        raise ValueError("all labels are of one class, so AUC is not defined")
    return (ranks - there * (there + 1) / 2) / (there * (len(true) - there))


def mean(values: Values) -> float:
    return math.fsum(values) / len(values)


def deviation(values: Values) -> float | None:
    """Return the sample standard deviation; None of fewer than two values."""
    if len(values) < 2:
        return None
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


OF_LABELS: dict[str, Callable[[Labels, Labels], float]] = {
    "accuracy": accuracy,
    "error_rate": error_rate,
    **{
        f"{name}{f'_{average}' if average != 'binary' else ''}": partial(measure, average=average)
        for name, measure in (("precision", precision), ("recall", recall), ("f1", f1))
        for average in ("binary", "macro", "micro")
    },
}
OF_VALUES: dict[str, Callable[[Values, Values], float]] = {
    "mse": mean_squared_error,
    "rmse": root_mean_squared_error,
    "mae": mean_absolute_error,
    "r2": r_squared,
}
OF_SCORES: dict[str, Callable[[Labels, Values], float]] = {"auc": area_under_curve}
SHARES = frozenset({*OF_LABELS, *OF_SCORES})
"""Measures between 0 and 1, which papers print in percent as well."""
_NAMES = (
    (r"macro.{0,12}f-?1|f-?1.{0,12}macro", "f1_macro"),
    (r"micro.{0,12}f-?1|f-?1.{0,12}micro", "f1_micro"),
    (r"\bf-?1\b|\bf-?(?:score|measure)\b", "f1"),
    (r"root.mean.square|\brmse\b", "rmse"),
    (r"mean.squared?.error|\bmse\b", "mse"),
    (r"mean.absolute.error|\bmae\b", "mae"),
    (r"\br2\b|r²|r\^2|coefficient of determination", "r2"),
    (r"\bau-?(?:c|roc)\b|area under", "auc"),
    (r"accurac|\bacc\b|\btop-?1\b", "accuracy"),
    (r"precision", "precision"),
    (r"recall", "recall"),
    (r"^(?:test|classification|validation|top-1)? ?error\b|misclassif", "error_rate"),
)


def measure_of(metric: str) -> str:
    """Return the measure that a paper's metric name stands for; empty if there is none."""
    return next((name for pattern, name in _NAMES if re.search(pattern, metric, re.IGNORECASE)), "")


def _averaged(true: Labels, predicted: Labels, average: str, measure: Callable[[int, int, int], float]) -> float:
    """Return a measure of (right predictions of a class, predictions of it, labels of it), averaged over classes as asked."""
    hits = Counter(a for a, b in zip(true, predicted, strict=True) if a == b)
    predicted_counts, there = Counter(predicted), Counter(true)
    if average == "micro":
        return measure(hits.total(), predicted_counts.total(), there.total())
    classes = sorted({*predicted_counts, *there})
    if average == "binary":
        classes = [_positive_class([*classes])]
    return mean([measure(hits[label], predicted_counts[label], there[label]) for label in classes])


def _positive_class(labels: Labels) -> str:
    """Of two classes the one that is called positive. Raises ValueError where none is, or where there are more."""
    classes = set(labels)
    positives = [name for name in _POSITIVE if name in classes]
    if len(classes) > 2 or len(positives) != 1:
        raise ValueError(f"which of the classes {', '.join(sorted(classes)[:5])} is the positive one is not known")
    return positives[0]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
