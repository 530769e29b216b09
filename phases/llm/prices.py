"""What models cost: the table that comes along, and the user's own over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes
from pipeline.base.formats import parse_json

_TABLE = os.path.join(os.path.dirname(__file__), "prices.json")
_MILLION = 1_000_000
_CACHE_WRITE = 1.25
"""What providers charge for a token that goes into their cache, in prices of one that does not, where they charge for it."""
_FIELDS = ("in", "cached", "out", "window")


class Usage(NamedTuple):
    tokens_in: int
    """All of the request, those that were cached and those that were put into the cache among them."""
    cached: int
    out: int
    written: int = 0


class Tariff(NamedTuple):
    """What a model costs, in US dollars a million tokens."""

    known: bool = False
    input: float = 0.0
    cached: float = 0.0
    output: float = 0.0
    window: int = 0
    """0: not known."""

    def usd(self, usage: Usage) -> float:
        """What a call costs; 0.0 where the price is not known."""
        plain = max(0, usage.tokens_in - usage.cached - usage.written)
        weighed = (plain + usage.written * _CACHE_WRITE) * self.input + usage.cached * self.cached
        return (weighed + usage.out * self.output) / _MILLION


UNKNOWN = Tariff()


def tariff_of(name: str, own: Mapping[str, Any], where: str = "prices.yaml") -> Tariff:
    """The price of a model, by its whole name or the longest `prefix*`; the user's own table goes first. Raises UsageError."""
    for rows, place in ((_check_rows(own, where), where), (_load_table(), _TABLE)):
        key = _best_key(name, rows)
        if key is not None:
            return _parse_tariff(rows[key], key, place)
    return UNKNOWN


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
    for name, value in row.items():
        if name not in _FIELDS:
            raise UsageError(f"{where}: {key} has '{name}', and only {', '.join(_FIELDS)} are known there")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < _MILLION * 100 or (name == "window" and int(value) != value):
            raise UsageError(f"{where}: {key}, {name} must be a number (0 or more), not {value!r}")
    if missing := [name for name in ("in", "out") if name not in row]:
        raise UsageError(f"{where}: {key} has no price '{missing[0]}' (US dollars a million tokens)")
    cached = float(row.get("cached", row["in"]))
    return Tariff(True, float(row["in"]), cached, float(row["out"]), int(row.get("window", 0)))
