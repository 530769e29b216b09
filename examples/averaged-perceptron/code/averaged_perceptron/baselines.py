"""The methods that the averaged perceptron is measured against, and its own variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from averaged_perceptron.averages import Form, LastWeights, StampAverage
from averaged_perceptron.hashing import Example
from averaged_perceptron.learning import Rule, loss, perceptron
from averaged_perceptron.settings import (
    AP_M_GAMMA,
    AP_M_T_GAMMA,
    AP_M_T_KAPPA,
    MARGIN_PERCEPTRON_GAMMA,
    PA_C,
    SGD_ETA_0,
)


class Method(NamedTuple):
    """A row of table 2 that learns: its name, its step, what it returns, and how late its average starts."""

    name: str
    rule: Rule
    form: type[Form] = LastWeights
    kappa: float = 0.0


def passive_aggressive(c: float) -> Rule:
    """PA-I, equation (9) (R17, section 4.2, page 2): min(C, loss with margin 1), for vectors of unit length."""
    return lambda margin, t: min(c, loss(margin, 1.0))


def logistic(eta_0: float) -> Rule:
    """Logistic SGD, equation (10) (R18, section 4.2, page 2): (eta_0 / sqrt(t)) * sigma(-y<w, x>)."""
    return lambda margin, t: eta_0 / math.sqrt(t) * sigmoid(-margin)


def sigmoid(z: float) -> float:
    """sigma(z) = 1 / (1 + e**-z) (R18, section 4.2, page 2), without overflow on either side."""
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def majority_label(examples: Sequence[Example]) -> int:
    """The more frequent training label (R15, section 4.2, page 2); +1 if they are equally frequent."""
    return 1 if sum(example.label for example in examples) >= 0 else -1


def methods() -> list[Method]:
    """The rows of table 2 that learn: four baselines (R16, R17, R18) and AP, AP+M, AP+M+T (R19, section 4.2, page 2)."""
    return [
        Method("Perceptron", perceptron()),
        Method("Margin perceptron", perceptron(MARGIN_PERCEPTRON_GAMMA)),
        Method("PA-I", passive_aggressive(PA_C)),
        Method("Logistic SGD", logistic(SGD_ETA_0)),
        Method("AP", perceptron(), StampAverage),
        Method("AP+M", perceptron(AP_M_GAMMA), StampAverage),
        Method("AP+M+T", perceptron(AP_M_T_GAMMA), StampAverage, AP_M_T_KAPPA),
    ]
