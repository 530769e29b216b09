"""The values to check that the paper gives, each beside what this implementation gets."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from averaged_perceptron.baselines import methods
from averaged_perceptron.experiments import FULL, data_of, error_of, run_of, tuning
from averaged_perceptron.hashing import bucket_of, crc_of, sign_of
from averaged_perceptron.zipfbag import zipf_bag

FIRST_BAG = (12, 2444, 380, 1, 728, 2, 3, 148, 3, 17, 1, 296, 150, 2149, 0)


class Value(NamedTuple):
    """One value: what the paper says, and what came out here, as text."""

    name: str
    paper: str
    here: str

    @property
    def agrees(self) -> bool:
        return self.paper == self.here


def values_to_check() -> list[Value]:
    """All of them (R21, appendix A, page 4); about two seconds."""
    return [*_of_the_data(), *_of_the_perceptron(), *_of_the_tuning_seed()]


def _of_the_data() -> list[Value]:
    """The stream, the hash and the noise of seed 0 (R21, appendix A, page 4)."""
    data = zipf_bag(0, 0.1)
    first = data.training[0]
    return [
        Value("first r", "0.8444218515", f"{Random(0).random():.10f}"),
        Value("first bag", str(FIRST_BAG), str(first.tokens)),
        Value("its clean label", "+1", f"{first.clean:+}"),
        Value("CRC of t0", "743677601", str(crc_of(0))),
        Value("h(0) at b = 14", "7841", str(bucket_of(0, 14))),
        Value("xi(0)", "+1", f"{sign_of(0):+}"),
        Value("flipped training labels", "1035", str(sum(bag.label != bag.clean for bag in data.training))),
        Value("positive test labels", "2501", str(sum(bag.clean > 0 for bag in data.test))),
    ]


def _of_the_perceptron() -> list[Value]:
    """Updates and errors on seed 0 with noise 0.1 (R21, appendix A, page 4)."""
    data = data_of(0, 0.1, FULL.sizes)
    by_name = {method.name: method for method in methods()}
    return [
        Value("updates of the perceptron", "3715", str(run_of(by_name["Perceptron"], data).updates)),
        Value("its test error", "29.40", f"{error_of(by_name['Perceptron'], data):.2f}"),
        Value("that of AP", "21.52", f"{error_of(by_name['AP'], data):.2f}"),
    ]


def _of_the_tuning_seed() -> list[Value]:
    """The chosen settings and their errors on seed 100 (R21, appendix A, page 4)."""
    paper = {
        "Margin perceptron": "(1.0,) 20.84",
        "AP+M": "(0.25,) 19.28",
        "AP+M+T": "(0.25, 0.5) 18.62",
        "PA-I": "(1.0,) 21.72",
        "Logistic SGD": "(100.0,) 21.74",
    }
    return [Value(f"tuned {row.method}", paper[row.method], f"{row.value} {row.error:.2f}") for row in tuning(FULL)]
