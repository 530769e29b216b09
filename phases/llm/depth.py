"""How deeply the arguments of a call may be nested."""

from __future__ import annotations

DEEPEST = 64
"""Levels of lists and objects: no tool has use for more, and whoever walks them later must get to the bottom."""


def is_deep(value: object) -> bool:
    """Whether a JSON value has more levels than that; found out level by level, without a call for each."""
    level = [value]
    for _ in range(DEEPEST):
        level = [child for each in level for child in _children(each) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(value: object) -> list[object]:
    return [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
