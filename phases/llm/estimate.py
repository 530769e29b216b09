"""Estimate the cost of work: a rule of thumb, corrected by the tasks in the same directory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import Any, NamedTuple

from phases.llm.ledger_rows import read_ledger, sum_rows
from phases.llm.model import Model
from pipeline.base.errors import Paused, PipelineError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json
from pipeline.base.jsonl import append_row, read_rows

FILE = "expected.jsonl"
_MOST_TASKS = 200
_USUAL_SHARE = 0.8
"""Usual share of request tokens that a provider reads from its cache."""
_FINISHED = ("completed", "warning", "incomplete")
_SMALL = 0.005
_SLOW = {"plan": 3, "implement": 4}
"""Times as many turns as by the rule of thumb, where much must be mended: live runs took 3 to 15 turns for code of equal size."""


class Work(NamedTuple):
    """Work of one thread, by a rule of thumb."""

    thread: str
    """plan or implement; sub-agents and judges count with the code."""
    turns: int
    tokens_in: int
    tokens_out: int


class Past(NamedTuple):
    """Ratio of one finished piece of work to its rule of thumb."""

    model: str
    usd: float
    """Cost in dollars of a million tokens of the rule of thumb."""
    tokens_in: float
    tokens_out: float
    cached: float
    """Share of request tokens that were read from a cache."""


class Price(NamedTuple):
    """Cost of one kind of work."""

    text: str
    usd: tuple[float, float] | None
    """Minimum and maximum; None: unknown."""


class DryRun(Paused):
    """The first call of a dry run, which is not made. It ends the run with 0: the prices were all that was asked for."""

    exit_code = 0

    def __init__(self, task: str, prices: Mapping[str, Price]) -> None:
        """`prices`: by what asks, such as "the plan"."""
        parts = [f"{name} {price.text}" for name, price in prices.items()]
        if len(known := [price.usd for price in prices.values() if price.usd is not None]) > 1:
            least, most = (sum(bound) for bound in zip(*known, strict=True))
            parts.append(
                f"{'together' if len(known) == len(prices) else 'what is known, together,'} {_dollars(least, most)}"
            )
        told = f": {'; '.join(parts)}; to begin: pipeline resume {task}" if parts else ""
        super().__init__(f"a dry run, so no model was asked{told}", stop_reason="dry_run")
        self.task, self.prices = task, prices


def note_expected(ledger: str, work: Work, run: int, model: str) -> None:
    """Write down what was expected, beside the ledger, so that later work learns from the difference."""
    append_row(
        os.path.join(os.path.dirname(ledger), FILE), {**work._asdict(), "run": run, "model": model}, durable=False
    )


def learn(ledger: str, thread: str) -> list[Past]:
    """Learn from the finished tasks in the same directory. A damaged one is left out."""
    task = os.path.dirname(os.path.dirname(os.path.abspath(ledger)))
    found: list[Past] = []
    for name in sorted(os.listdir(os.path.dirname(task)))[:_MOST_TASKS]:
        folder = os.path.join(os.path.dirname(task), name)
        with suppress(PipelineError, OSError, KeyError, TypeError, ValueError, ZeroDivisionError):
            if folder != task and os.path.isfile(os.path.join(folder, "logs", FILE)) and _is_finished(folder, thread):
                found += _read_past(os.path.join(folder, "logs"), thread)
    return found


def expected_usd(work: Work, model: Model, past: Sequence[Past]) -> float | None:
    """Estimate the cost of work; None without a price or an earlier task."""
    if own := [row for row in past if row.model == model.name]:
        return median(row.usd for row in own) * (work.tokens_in + work.tokens_out) / 1e6
    if not model.priced:
        return None
    times_in, times_out, cached = (
        (median(getattr(row, name) for row in past) if past else usual)
        for name, usual in (("tokens_in", 1.0), ("tokens_out", 1.0), ("cached", _USUAL_SHARE))
    )
    price = getattr(model, "price_cached", None)
    tokens_in, tokens_out = round(work.tokens_in * times_in), round(work.tokens_out * times_out)
    return float(price(tokens_in, tokens_out, cached) if callable(price) else model.price(tokens_in, tokens_out))


def price_work(work: Work, model: Model, past: Sequence[Past]) -> Price | None:
    """Return the cost of work, corrected by `past` tasks; None if it is free."""
    # where earlier tasks say what it takes, a run in which much must be mended is among them
    times = 1 if past else _SLOW[work.thread]
    slow = work._replace(turns=work.turns * times, tokens_in=work.tokens_in * times)
    least, most = (expected_usd(course, model, past) for course in (work, slow))
    if model.priced and not least:
        return None
    counts = (
        "once"
        if slow.turns == 1
        else f"about {work.turns} times"
        if times == 1
        else f"{work.turns} to {slow.turns} times"
    )
    sizes = dict.fromkeys(f"{round(course.tokens_in + course.tokens_out, -3):,}" for course in (work, slow))
    usd = None if least is None or most is None else (least, most)
    cost = "price not known" if usd is None else "under one cent" if usd[1] < _SMALL else _dollars(*usd)
    own = sum(row.model == model.name for row in past)
    tasks = "1 earlier task" if (own or len(past)) == 1 else f"{own or len(past)} earlier tasks"
    by = f"{tasks} with it" if own else tasks if past else "a rule of thumb"
    return Price(f"asks {model.name} {counts}, ≈ {' to '.join(sizes)} tokens, {cost} (by {by})", usd)


def _dollars(least: float, most: float) -> str:
    return "≈ " + " to ".join(dict.fromkeys(f"${usd:.2f}" for usd in (least, most)))


def _is_finished(folder: str, thread: str) -> bool:
    report = parse_json(read_bytes(os.path.join(folder, "report.json")))
    if not isinstance(report, dict):
        return False
    done = {str(row["name"]) for row in report["phases"] if row["status"] == "done"}
    return thread in done and (thread == "plan" or report["status"] in _FINISHED)


def _read_past(logs: str, thread: str) -> list[Past]:
    """Return one entry for each model that did work of its own."""
    rows = [
        row for row in read_ledger(os.path.join(logs, "llm.jsonl")) if (row["thread"] == "plan") == (thread == "plan")
    ]
    expected = [
        row
        for row in read_rows(os.path.join(logs, FILE), _is_row, "what was expected", "delete it")
        if row["thread"] == thread
    ]
    models = {row["model"] for row in rows}
    if len(expected) != 1 or models != {expected[0]["model"]}:
        return []  # it was begun more than once, or several models shared it: what belongs together is not known
    spent, told = sum_rows(rows), expected[0]
    return [
        Past(
            told["model"],
            spent["usd"] / (told["tokens_in"] + told["tokens_out"]) * 1e6,
            spent["tokens_in"] / told["tokens_in"],
            spent["tokens_out"] / told["tokens_out"],
            spent["tokens_cached"] / max(1, spent["tokens_in"]),
        )
    ]


def _is_row(row: Mapping[str, Any]) -> bool:
    sizes = [row.get(name) for name in ("run", "turns", "tokens_in", "tokens_out")]
    return all(isinstance(size, int) and size > 0 for size in sizes) and isinstance(row.get("model"), str)
