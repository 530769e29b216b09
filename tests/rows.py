"""Tables of rows for tests: those that differ in kind are for `make test`, the others for `make test-slow`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def with_covered(rows: Iterable[Any], *names: str) -> list[ParameterSet]:
    """The rows of a table, of which those of these names are for later. A row without a name is named by what it is."""
    named = {}
    for row in rows:
        whole = row if isinstance(row, ParameterSet) else pytest.param(row)
        named[str(whole.id or whole.values[0])] = whole
    for name in names:
        values, marks, shown = named[name]
        named[name] = pytest.param(*values, marks=(*marks, pytest.mark.slow), id=shown)
    return list(named.values())


@dataclass(frozen=True)
class Later:
    """A large value of a row, made when its test runs: each worker would otherwise hold it for the whole run."""

    make: Callable[[], Any]


def later(make: Callable[[], Any]) -> Any:
    """The value that this returns, once the test of its row runs (see conftest.py)."""
    return Later(make)
