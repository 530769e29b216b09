"""Mappings and lists of a state, which stay small however long a run is: the oldest are left out."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeVar

T = TypeVar("T")
_MOST = 200


def put_bounded(mapping: Mapping[str, T], key: str, value: T, most: int = _MOST) -> dict[str, T]:
    """The mapping with the key at its end; over the bound its oldest keys are left out."""
    rows = {**without_keys(mapping, {key}), key: value}
    while len(rows) > most:
        del rows[next(iter(rows))]
    return rows


def without_keys(mapping: Mapping[str, T], keys: Set[str]) -> dict[str, T]:
    return {name: kept for name, kept in mapping.items() if name not in keys}


def add_keys(keys: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """The keys with these, each once; over the bound the first are left out."""
    return tuple(dict.fromkeys((*keys, *more)))[-_MOST:]
