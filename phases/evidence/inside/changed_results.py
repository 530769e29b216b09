"""Gives back other results than a function does, of the same kind and size: what a test that looks at them must notice.

A test that asks only whether something came, of which type or of which length, notices nothing.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import wraps
from typing import Any

_DEEPEST = 4


def changed_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with all that it returns or yields changed."""
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def change_async_items(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async for item in function(*args, **kwargs):
                yield change(item)

        return change_async_items
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def change_awaited(*args: Any, **kwargs: Any) -> Any:
            return change(await function(*args, **kwargs))

        return change_awaited

    @wraps(function)
    def change_result(*args: Any, **kwargs: Any) -> Any:
        return change(function(*args, **kwargs))

    return change_result


def change(value: Any, depth: int = 0) -> Any:
    """Another value of the same type and shape; None, and what nobody can change, stay."""
    if isinstance(value, bool):
        return not value
    if type(value) in (int, float, complex):
        return value * 2 + 1
    if isinstance(value, str):
        return value[:-1] + ("?" if value[-1] != "?" else "!") if value else "?"
    if isinstance(value, (bytes, bytearray)):
        return type(value)(bytes(value[:-1]) + (b"?" if value[-1:] != b"?" else b"!"))
    if isinstance(value, Enum):
        return next((other for other in type(value) if other is not value), value)
    if isinstance(value, (Decimal, Fraction)):
        return value * 2 + 1
    if depth >= _DEEPEST or value is None or isinstance(value, type):
        return value
    return _change_inside(value, depth + 1)


def _change_inside(value: Any, depth: int) -> Any:
    if isinstance(value, tuple):
        items = [change(item, depth) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [change(item, depth) for item in value] or [None]
    if isinstance(value, (set, frozenset)):
        return type(value)(change(item, depth) for item in value) or type(value)([None])
    if isinstance(value, Mapping) and type(value).__module__ in ("builtins", "collections"):
        other = copy.copy(value)
        for key in value:
            other[key] = change(value[key], depth)  # type: ignore[index]
        return other
    if isinstance(value, Iterator):
        return (change(item, depth) for item in value)
    if hasattr(value, "dtype"):  # an array, or a tensor
        return _change_array(value)
    if inspect.isfunction(value) or inspect.ismethod(value):
        return changed_results(value)
    return _change_object(value, depth)


def _change_array(value: Any) -> Any:
    try:
        return ~value if str(value.dtype).endswith("bool") else value * 2 + 1
    except Exception:  # noqa: BLE001 - an array of objects may refuse anything
        return value


def _change_object(value: Any, depth: int) -> Any:
    try:
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        fields = vars(value) if hasattr(value, "__dict__") else {name: getattr(value, name) for name in slots}
        other = copy.copy(value)
        for name, field in fields.items():
            object.__setattr__(other, name, change(field, depth))
    except Exception:  # noqa: BLE001 - not every object can be copied, or changed
        return value
    return other
