"""Hyper-parameters and their values, as papers write them: in sentences and in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phases.paper.markdown import PAGE_MARK

LARGEST_VALUE = 1e18
_POWER = r"10\s*\^?\s*\{?\s*[-−–]?\s*[0-9]+\s*\}?"
_PLAIN = r"[0-9]+(?:[.,][0-9]+)*"
_NUMERIC = (
    rf"\$?\s*({_PLAIN}\s*(?:\\times|×|x|\*)\s*{_POWER}|{_PLAIN}e[-−]?[0-9]+|{_POWER.replace('^?', '^')}|{_PLAIN})"
)
_NAMES = (
    "learning rate",
    "batch size",
    "weight decay",
    "momentum",
    "dropout rate",
    "dropout",
    "number of epochs",
    "epochs",
    "number of layers",
    "hidden size",
    "hidden dimension",
    "embedding dimension",
    "embedding size",
    "number of heads",
    "attention heads",
    "warmup steps",
    "warm-up steps",
    "training steps",
    "iterations",
    "number of iterations",
    "temperature",
    "margin",
    "discount factor",
    "replay buffer size",
    "buffer size",
    "label smoothing",
    "gradient clipping",
    "maximum sequence length",
    "sequence length",
    "beam size",
    "random seed",
    "seed",
    "number of seeds",
    "noise rate",
    "number of samples",
    "sample size",
    "number of clusters",
    "window size",
    "kernel size",
    "regularization strength",
    "learning-rate",
    "patience",
    "clip range",
    "entropy coefficient",
    "latent dimension",
    "hash bits",
    "hashing bits",
    "dimension",
    "tolerance",
)
_HYPER = re.compile(
    r"\b(" + "|".join(sorted((re.escape(name) for name in _NAMES), key=len, reverse=True)) + r")s?\b"
    r"(?:\s*\(?\$?\\?[A-Za-zα-ωη_{}]{0,12}\$?\)?)?"
    r"\s*(?:(?:is |are |was )?set to|is|are|of|to|=|:|\|)\s*(?:be\s+|about\s+)?" + _NUMERIC,
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b([0-9][0-9,]*)\s+(epochs|iterations|layers|attention heads|training steps|warmup steps|random seeds|hidden units)\b",
    re.IGNORECASE,
)


def values_in(block: str) -> Iterator[tuple[str, int | float, str]]:
    """Name, value and the words around them, for each hyper-parameter that a text gives a value to."""
    flat = " ".join(PAGE_MARK.sub(" ", block).split())
    for match in _HYPER.finditer(flat):
        value = _number(match.group(2))
        if value is not None:
            yield _symbol(match.group(1)), value, flat[max(0, match.start() - 60) : match.end() + 40]
    for match in _COUNTED.finditer(flat):
        value = _number(match.group(1))
        if value is not None:
            yield _symbol(match.group(2)), value, flat[max(0, match.start() - 60) : match.end() + 40]


def _symbol(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return {"number_of_epochs": "epochs", "number_of_iterations": "iterations", "random_seeds": "number_of_seeds"}.get(
        plain, plain
    )


def _number(text: str) -> int | float | None:
    plain = (
        re.sub(r"[\s{}$]", "", text)
        .replace("−", "-")
        .replace("–", "-")
        .replace("\\times", "x")
        .replace("×", "x")
        .replace("*", "x")
    )
    power = re.fullmatch(r"(?:([0-9.,]+)x)?10\^?(-?[0-9]{1,3})", plain) if "^" in plain or "x10" in plain else None
    try:
        if power:
            plain = f"{(power.group(1) or '1').replace(',', '')}e{power.group(2)}"
        digits = plain.rstrip(".,").replace(",", "")
        value = float(digits) if re.search(r"[.e]", digits) else int(digits)
    except ValueError:
        return None
    return value if abs(value) < LARGEST_VALUE else None
