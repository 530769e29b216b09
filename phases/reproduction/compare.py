"""Compare the paper's figures with ours: the difference, the tolerance, and the verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

REPRODUCED, NEAR, DIFFERS, REPORTED = "reproduced", "near", "differs", "reported"
SUSPECT, NOT_RUN, STAND_IN = "suspect", "not run", "stand-in data"
QUICK_SIZE, NO_FIGURE = "quick size", "no figure"
VERDICTS = (REPRODUCED, NEAR, DIFFERS, REPORTED, SUSPECT, STAND_IN, QUICK_SIZE, NO_FIGURE, NOT_RUN)
HELD_BACK, OWN_LABELS, MEASURED, WORD = "labels held back", "the code's own labels", "its measurements", "its word"
YES, CLOSE, NO = "yes", "near", "no"
_DEFAULT = 0.05
_TIMES = 2
_ROUNDING = 1e-9
_NUMBER = r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_CELL = re.compile(rf"({_NUMBER}) ?%?(?: ?(?:±|\+/?-|\\pm) ?({_NUMBER})| ?\(({_NUMBER})\))?")


class Figure(NamedTuple):
    """A cell of the paper."""

    value: float
    spread: float | None
    """Spread after ±."""
    rounding: float = 0.0
    """Half a unit of its last decimal place; 0 of a whole number, whose zeros may have been lost."""


class Ours(NamedTuple):
    """Our result for one cell."""

    value: float
    spread: float | None
    runs: int
    samples: int
    known_from: str
    measure: str


class Judgement(NamedTuple):
    verdict: str
    agrees: str
    why: str


class Doubts(NamedTuple):
    """Reasons against a verdict, in words; empty if there are none."""

    not_run: str = ""
    no_figure: str = ""
    """Its experiment ran, and gave nothing for it."""
    stand_in: str = ""
    suspect: str = ""
    is_quick: bool = False
    is_unconfined: bool = False
    """It ran without a sandbox, where it could read everything."""
    attempt: int = 0
    """First attempt that was told of a difference on these labels; 0: none."""


def read_figure(value: object) -> Figure | None:
    """Return the number and spread of a cell: 17.49, "17.49 ± 0.95", "92.1 (0.3)", "1,024"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Figure(float(value), None, _rounding_of(repr(value)))
    match = _CELL.fullmatch(" ".join(str(value).replace("−", "-").replace("**", "").split()))
    if not match:
        return None
    spread = match[2] or match[3]
    value = match[1].replace(",", "")
    return Figure(float(value), float(spread.replace(",", "")) if spread else None, _rounding_of(value))


def _rounding_of(text: str) -> float:
    """Half a unit of the last decimal place of a number as it is written."""
    mantissa, _, power = text.lower().partition("e")
    decimals = mantissa.partition(".")[2].removesuffix("0") if mantissa.endswith(".0") else mantissa.partition(".")[2]
    return 0.5 * 10.0 ** (int(power or 0) - len(decimals)) if decimals else 0.0


def tolerance_of(figure: Figure, percent: float) -> tuple[float, str]:
    """Return the tolerance for a figure, and its source. `percent`: the user's setting, 0 if unset."""
    if percent:
        return abs(figure.value) * percent / 100, "--tolerance"
    if figure.spread:
        return figure.spread, "the paper's spread"
    if figure.rounding > abs(figure.value) * _DEFAULT:
        return figure.rounding, "the paper's rounding"
    return abs(figure.value) * _DEFAULT, "5 % of the paper's value"


def judge_cell(figure: Figure, ours: Ours | None, tolerance: float, doubts: Doubts) -> Judgement:
    """Return the verdict on one cell. Only measurements on labels that the code could not see can be reproduced."""
    if ours is None and doubts.no_figure:
        return Judgement(NO_FIGURE, "", doubts.no_figure)
    if ours is None:
        return Judgement(NOT_RUN, "", doubts.not_run or "no experiment speaks of it")
    agrees = _agreement(abs(ours.value - figure.value), tolerance)
    if doubts.suspect:
        return Judgement(SUSPECT, agrees, doubts.suspect)
    if doubts.stand_in:
        return Judgement(STAND_IN, agrees, f"{doubts.stand_in} was replaced by made-up data")
    if doubts.is_quick:
        return Judgement(QUICK_SIZE, agrees, "a quick run shows nothing of the paper's size")
    if agrees == NO:
        return Judgement(DIFFERS, agrees, "")
    if ours.known_from != HELD_BACK:
        return Judgement(REPORTED, agrees, _WHY_REPORTED[ours.known_from])
    if doubts.is_unconfined:
        return Judgement(REPORTED, agrees, "it ran without a sandbox, where the labels can be read")
    if doubts.attempt:
        return Judgement(REPORTED, agrees, f"attempt {doubts.attempt} was informed of a difference on these labels")
    return Judgement(REPRODUCED if agrees == YES else NEAR, agrees, "")


_WORDS = {
    STAND_IN: "on stand-in data",
    REPORTED: "reported by the code alone",
    QUICK_SIZE: "at the quick size only",
    NO_FIGURE: "without a figure",
}
_WHY_REPORTED = {
    OWN_LABELS: "the labels are the code's own, so it could know them",
    MEASURED: "what was measured is the code's word",
    WORD: "the code reports it, and left nothing to compute it from",
}


def _agreement(difference: float, tolerance: float) -> str:
    slack = tolerance * _ROUNDING + 1e-15  # a difference of just the tolerance is within it, however it was rounded
    if difference <= tolerance + slack:
        return YES
    return CLOSE if difference <= _TIMES * tolerance + slack else NO


def compare_orders(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many pairs of a column the paper clearly orders (beyond their tolerances), and how many of them are so here."""
    columns: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        if cell["ours"] is not None and cell["paper"] is not None:
            columns.setdefault((cell["table"], cell["column"]), []).append(cell)
    held = of = 0
    for column in columns.values():
        for pair, other in combinations(column, 2):
            theirs = pair["paper"] - other["paper"]
            if abs(theirs) > max(pair["tolerance"], other["tolerance"]):
                of += 1
                held += (pair["ours"] - other["ours"]) * theirs > 0
    return {"held": held, "of": of}


def describe_counts(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return one sentence: 4 of 12 cells reproduced, 2 near, 1 differs, 5 not run (ImageNet is missing)."""
    counts = Counter(cell["verdict"] for cell in cells)
    parts = [f"{counts[REPRODUCED]} of {len(cells)} cells reproduced"]
    for verdict in VERDICTS[1:]:
        if not counts[verdict]:
            continue
        own = [cell for cell in cells if cell["verdict"] == verdict]
        words = "differ" if verdict == DIFFERS and counts[verdict] > 1 else verdict
        words = _WORDS.get(verdict, words)
        parts.append(f"{counts[verdict]} {words}{_add_detail(verdict, own)}")
    return ", ".join(parts)


def count_verdicts(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of cells for each verdict that occurs."""
    counts = Counter(cell["verdict"] for cell in cells)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _add_detail(verdict: str, cells: Sequence[Mapping[str, Any]]) -> str:
    if verdict == REPORTED:
        agree = sum(cell["agrees"] == YES for cell in cells)
        return f" ({'all agree' if agree == len(cells) else f'{agree} agree'})"
    whys = Counter(cell["why"] for cell in cells)
    if verdict not in (NOT_RUN, NO_FIGURE) or not whys:
        return ""
    why, count = whys.most_common(1)[0]
    return f" ({why}{f'; {len(whys) - 1} other reasons' if len(whys) > 1 else ''})" if count else ""
