"""Prices and abilities of models: the built-in tables, overridden by the user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

_TABLE = os.path.join(os.path.dirname(__file__), "prices.json")
_FACTS = os.path.join(os.path.dirname(__file__), "model_facts.json")
_MILLION = 1_000_000
_CACHE_WRITE = 1.25
"""Price of a token written to the cache, relative to an uncached one, at providers that charge for it."""
_FIELDS = ("in", "cached", "written", "out", "window", "reply")
_SIZES = ("window", "reply")
_DATE = re.compile(r"[-@](20[0-9]{2}-[01][0-9]-[0-3][0-9]|20[0-9]{6}|latest)$")


class Usage(NamedTuple):
    tokens_in: int
    """All of the request, those that were cached and those that were put into the cache among them."""
    cached: int
    out: int
    written: int = 0


class Tariff(NamedTuple):
    """Price of a model, in US dollars a million tokens, and its limits."""

    known: bool = False
    input: float = 0.0
    cached: float = 0.0
    output: float = 0.0
    window: int = 0
    """0: not known."""
    reply: int = 0
    """Longest reply; 0: unknown."""
    written: float | None = None
    """Price of a token written to the cache; None: the usual one."""
    marks: str = ""
    """r: it reasons; v: it sees pictures; e: it takes an effort; R: it answers on the Responses API alone."""

    def usd(self, usage: Usage) -> float:
        """Return the cost of a call; 0.0 if the price is unknown."""
        plain = max(0, usage.tokens_in - usage.cached - usage.written)
        written = self.input * _CACHE_WRITE if self.written is None else self.written
        weighed = plain * self.input + usage.written * written + usage.cached * self.cached
        return (weighed + usage.out * self.output) / _MILLION


UNKNOWN = Tariff()


def tariff_of(name: str, own: Mapping[str, Any], where: str = "prices.yaml") -> Tariff:
    """Return a model's price by its whole name or the longest `prefix*`; the user's table goes first. Raises UsageError.

    A model whose name ends in a date costs what the same name without it does. What else is known of it comes along.
    """
    for rows, place in ((_check_rows(own, where), where), (_load_table(), _TABLE)):
        key = _best_key(name, rows)
        if key is not None:
            return _parse_tariff(rows[key], key, place)
    models = _load_facts()["models"]
    found = next((one for one in (name, _DATE.sub("", name)) if one in models), "")
    return _parse_tariff(models[found], found, _FACTS) if found else UNKNOWN


def facts_by_name(name: str) -> Tariff:
    """Return the facts of a model on any server: window, longest reply and abilities, without a price."""
    row = _load_facts()["windows"].get(plain_name(name), {})
    return Tariff(window=row.get("window", 0), reply=row.get("reply", 0), marks=row.get("marks", ""))


def plain_name(name: str) -> str:
    """Strip provider, date and tag from a model's name: `openrouter/qwen/Qwen3-8B:free` becomes qwen3-8b."""
    return _DATE.sub("", name.lower().rpartition("/")[2].partition(":")[0]).replace(".", "-")


def facts_date() -> str:
    """Return the date of the built-in prices."""
    return str(_load_facts()["date"])


@cache
def _load_facts() -> Mapping[str, Any]:
    facts: dict[str, Any] = parse_json(read_bytes(_FACTS))
    return facts


def _best_key(name: str, rows: Mapping[str, Any]) -> str | None:
    if name in rows:
        return name
    prefixes = [key for key in rows if key.endswith("*") and name.startswith(key[:-1])]
    return max(prefixes, key=len, default=None)


@cache
def _load_table() -> Mapping[str, Any]:
    return _check_rows(parse_json(read_bytes(_TABLE)), _TABLE)


def _check_rows(table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    rows = table.get("models", table)
    if not isinstance(rows, Mapping):
        raise UsageError(f"{where}: 'models' must map the names of models to prices")
    for key, row in rows.items():
        _parse_tariff(row, str(key), where)
    return rows


def _parse_tariff(row: object, key: str, where: str) -> Tariff:
    if not isinstance(row, Mapping):
        raise UsageError(f"{where}: {key} must have prices, like {{in: 1.25, cached: 0.125, out: 10}}")
    marks = str(row.get("marks", "")) if where == _FACTS else ""
    for name, value in row.items():
        if name == "marks" and where == _FACTS:
            continue
        if name not in _FIELDS:
            raise UsageError(f"{where}: {key} has '{name}', and only {', '.join(_FIELDS)} are known there")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < _MILLION * 100 or (name in _SIZES and int(value) != value):
            raise UsageError(f"{where}: {key}, {name} must be a number (0 or more), not {value!r}")
    if missing := [name for name in ("in", "out") if name not in row]:
        raise UsageError(f"{where}: {key} has no price '{missing[0]}' (US dollars a million tokens)")
    cached = float(row.get("cached", row["in"]))
    written = float(row["written"]) if "written" in row else None
    sizes = int(row.get("window", 0)), int(row.get("reply", 0))
    return Tariff(True, float(row["in"]), cached, float(row["out"]), *sizes, written, marks)
