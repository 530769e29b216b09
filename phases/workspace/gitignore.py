"""Which paths the .gitignore files of a workspace mean, as git understands them, in time that no pattern can stretch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

LONGEST_GITIGNORE = 64 * 1024
"""Bytes; a longer file says nothing."""
_LONGEST_PATTERN = 500
_MOST_STEPS = 20_000_000
"""Comparisons for all questions together. When they are used up, nothing more is hidden."""
_CACHED = (".pyc", ".pyo")
_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_PRINTED = "".join(map(chr, range(33, 127)))
_CLASSES = {
    "alnum": _LETTERS + _LETTERS.upper() + _DIGITS,
    "alpha": _LETTERS + _LETTERS.upper(),
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(1, 32), 127))),
    "digit": _DIGITS,
    "graph": _PRINTED,
    "lower": _LETTERS,
    "print": " " + _PRINTED,
    "punct": "".join(sign for sign in _PRINTED if not sign.isalnum()),
    "space": " \t\n\v\f\r",
    "upper": _LETTERS.upper(),
    "xdigit": _DIGITS + "abcdefABCDEF",
}
_ANY_DIRECTORIES = None
"""The part of a pattern that stands for any number of directories."""


# Own code: a hostile file can make the patterns of other libraries run for ever (decision 95).
class GitignoreRules:
    """The rules of .gitignore files. `texts`: theirs, by path, as they stood when nobody who is judged had touched them."""

    def __init__(self, texts: Mapping[str, str], never: Collection[str] = ()) -> None:
        """`never`: paths that no rule hides."""
        self._never = frozenset(never)
        self._rules = {_byte_signs(path.rpartition("/")[0]): _parse_rules(text) for path, text in texts.items()}
        self._directories: dict[str, bool] = {}
        self._left = _StepBudget(_MOST_STEPS)

    def hides(self, path: str) -> bool:
        """Whether a file is of no account: a cache of Python, or ignored."""
        if path in self._never:
            return False
        if path.endswith(_CACHED):
            return True
        if not any(self._rules.values()):
            return False
        try:
            directory = path.rpartition("/")[0]
            return self._is_hidden_directory(directory) or self._verdict(path, is_directory=False)
        except _StepsUsedUp:  # what is not hidden counts: that is the safe side
            return False

    def _is_hidden_directory(self, directory: str) -> bool:
        """Whether it or one that it is in is ignored: nothing in such a one is brought back by any rule."""
        if not directory:
            return False
        if directory not in self._directories:
            above = directory.rpartition("/")[0]
            self._directories[directory] = self._is_hidden_directory(above) or self._verdict(
                directory, is_directory=True
            )
        return self._directories[directory]

    def _verdict(self, path: str, *, is_directory: bool) -> bool:
        """The last rule that fits in the nearest .gitignore that has one."""
        names = _byte_signs(path).split("/")
        for depth in range(len(names) - 1, -1, -1):
            inside = names[depth:]
            for rule in self._rules.get("/".join(names[:depth]), ()):
                if (is_directory or not rule.directories_only) and rule.fits(inside, self._left):
                    return rule.hides
        return False


class _StepsUsedUp(Exception):
    """There are no steps left."""


class _StepBudget:
    def __init__(self, steps: int) -> None:
        self._steps = steps

    def take(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _StepsUsedUp


class _Set(NamedTuple):
    """One of several signs, or none of them."""

    members: frozenset[str]
    negated: bool = False


_ANY = _Set(frozenset(), negated=True)
_STAR = _Set(frozenset())
"""Any number of any signs; told from a set without members by being this one."""
_Name = tuple[str | _Set, ...]


class _Rule(NamedTuple):
    hides: bool
    directories_only: bool
    anywhere: bool
    """It is about a name, in any directory below its own."""
    parts: tuple[_Name | None, ...]

    def fits(self, names: Sequence[str], left: _StepBudget) -> bool:
        """Whether it is about this path, relative to its own directory."""
        if self.anywhere:
            return _matches_name(names[-1], self.parts[0] or (), left)
        reached = [True, *[False] * len(names)]  # which beginnings of the path fit the parts so far
        for number, part in enumerate(self.parts, 1):
            left.take(len(reached))
            following = [False] * len(reached)
            for place, fits in enumerate(reached):
                if part is _ANY_DIRECTORIES:
                    nothing = fits and number < len(self.parts)  # at the end it is about what is inside
                    following[place] = nothing or (place > 0 and (reached[place - 1] or following[place - 1]))
                elif fits and place < len(names):
                    following[place + 1] = _matches_name(names[place], part, left)
            reached = following
        return reached[-1]


def _parse_rules(text: str) -> list[_Rule]:
    """The rules, the last one first."""
    lines = _byte_signs(text.removeprefix("\ufeff")).split("\n")
    rules = (_parse_rule(line.removesuffix("\r")) for line in reversed(lines) if line and not line.startswith("#"))
    return [rule for rule in rules if rule is not None]


def _parse_rule(line: str) -> _Rule | None:
    """None for a line that nothing fits, or that is too long."""
    pattern = _strip_spaces(line)
    if len(pattern) > _LONGEST_PATTERN:
        return None
    negated, pattern = pattern.startswith("!"), pattern.removeprefix("!")
    directories_only, pattern = pattern.endswith("/"), pattern.removesuffix("/")
    if not pattern:
        return None
    anywhere = "/" not in pattern
    texts = pattern.removeprefix("/").split("/")
    parts = tuple(_ANY_DIRECTORIES if text == "**" and not anywhere else _parse_name(text) for text in texts)
    if any(part == () for part in parts):
        return None
    return _Rule(not negated, directories_only, anywhere, parts)


def _strip_spaces(line: str) -> str:
    """Without the spaces at its end, unless a backslash keeps them."""
    end = len(line)
    while end and line[end - 1] == " ":
        end -= 1
    slashes = len(line[:end]) - len(line[:end].rstrip("\\"))
    return line[: end + 1] if slashes % 2 and end < len(line) else line[:end]


def _parse_name(text: str) -> _Name:
    """One part of a pattern; empty where nothing fits it."""
    signs: list[str | _Set] = []
    place = 0
    while place < len(text):
        sign, place = text[place], place + 1
        if sign == "*":
            if not signs or signs[-1] is not _STAR:
                signs.append(_STAR)
        elif sign == "?":
            signs.append(_ANY)
        elif sign == "[":
            found = _parse_set(text, place)
            if found is None:
                return ()
            signs.append(found[0])
            place = found[1]
        elif sign == "\\":
            if place == len(text):
                return ()
            signs.append(text[place])
            place += 1
        else:
            signs.append(sign)
    return tuple(signs)


def _parse_set(text: str, place: int) -> tuple[_Set, int] | None:
    """The set that begins behind its bracket, and where it ends; None where it does not."""
    negated = text[place : place + 1] in ("!", "^")
    place += negated
    first, members, before = place, set[str](), ""
    while place < len(text) and (text[place] != "]" or place == first):
        if text.startswith("[:", place) and (end := text.find("]", place + 2)) > 0 and text[end - 1] == ":":
            name = text[place + 2 : end - 1]
            if name not in _CLASSES:
                return None
            members.update(_CLASSES[name])
            before, place = "", end + 1
        elif text[place] == "-" and before and text[place + 1 : place + 2] not in ("", "]"):
            place += 2 if text[place + 1] == "\\" else 1
            members.update(map(chr, range(ord(before), ord(text[place : place + 1] or "\0") + 1)))
            before, place = "", place + 1
        else:
            place += text[place] == "\\"
            before = text[place : place + 1]
            members.add(before)
            place += 1
    return (_Set(frozenset(members), negated), place + 1) if place < len(text) else None


def _matches_name(name: str, signs: _Name, left: _StepBudget) -> bool:
    """Whether a name fits a part. Of the stars only the last one is ever tried again, so no pattern takes long."""
    at, place, star, mark, steps = 0, 0, -1, 0, 1
    while place < len(name):
        steps += 1
        wanted = signs[at] if at < len(signs) else ""
        if wanted is _STAR:
            star, mark, at = at, place, at + 1
        elif wanted == name[place] or (isinstance(wanted, _Set) and (name[place] in wanted.members) != wanted.negated):
            at, place = at + 1, place + 1
        elif star >= 0:
            at, mark = star + 1, mark + 1
            place = mark
        else:
            break
    left.take(steps)
    return place == len(name) and all(sign is _STAR for sign in signs[at:])


def _byte_signs(text: str) -> str:
    """A text by its bytes, a sign each: git compares bytes."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
