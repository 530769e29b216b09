"""Which paths a glob pattern means: part by part, in time that no pattern can stretch."""

from __future__ import annotations

from fnmatch import fnmatchcase

MOST_ALTERNATIVES = 64
LONGEST_PATTERN = 500


class NoPattern(Exception):
    """Why a pattern cannot be used, in words for a model."""


def matching(paths: list[str], pattern: str) -> list[str]:
    """The paths that match: `*` and `?` within a name, `**` over folders, `{a,b}` one of them.

    A pattern without a slash is about names, in any folder. Raises NoPattern.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise NoPattern(f"the pattern has {len(pattern):,} characters, over {LONGEST_PATTERN}")
    wanted = []
    for text in _alternatives(pattern.removeprefix("./")):
        parts = text.split("/")
        if text.startswith("/") or ".." in parts:
            raise NoPattern(f"the pattern {text[:80]!r} leads out of the workspace; give one like package/**/*.py")
        wanted.append(["**", *parts] if len(parts) == 1 else parts)
    return [path for path in paths if any(_fits(path.split("/"), parts) for parts in wanted)]


def _alternatives(pattern: str) -> list[str]:
    """The pattern with every `{a,b}` written out, the innermost first."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        end = text.find("}")
        start = text.rfind("{", 0, end) if end >= 0 else -1
        if start < 0:
            done.append(text)
            continue
        todo += [text[:start] + choice + text[end + 1 :] for choice in reversed(text[start + 1 : end].split(","))]
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            raise NoPattern(f"the pattern means more than {MOST_ALTERNATIVES} patterns")
    return done


def _fits(names: list[str], parts: list[str]) -> bool:
    """By a row for each part: which beginnings of the path fit the parts so far."""
    reached = [True, *[False] * len(names)]
    for part in parts:
        following = [False] * (len(names) + 1)
        for place, fits in enumerate(reached):
            if part == "**":
                following[place] = fits or (place > 0 and following[place - 1])
            elif fits and place < len(names):
                following[place + 1] = following[place + 1] or fnmatchcase(names[place], part)
        reached = following
    return reached[-1]
