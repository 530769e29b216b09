"""Several numbers that one sentence gives to as many names: "σ_min and σ_max are set to 0.002 and 80"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from phases.planning.rules.numbers import parse_value
from phases.planning.rules.value_names import name_before, name_of_symbol, plain_symbol
from phases.planning.rules.value_patterns import HEADS, ONE, RESULT_NAME, WHOLE

_SIGN = r"(?:[α-ωϵϕ]|[A-Za-z])(?:_\w{1,24}|[0-9])?|[A-Za-z]{2,12}_\w{1,24}"
_PART = r"[^\W\d](?>[\w-]*)(?: [^\W\d](?>[\w-]*)){0,4}?"
_AND = r"(?:, | and |, and )"
_PAIRED = re.compile(
    rf"(?<![\w.])({_PART}(?:{_AND}{_PART}){{1,4}})\)?"
    r" (?:(?:is|are|was|were|be) (?:both |each )?(?:set |fixed |chosen |initiali[sz]ed |equal )?(?:to |at |as )?"
    r"|(?:to|of|at|as|=) )"
    rf"\(?({ONE}(?:{_AND}{ONE}){{1,4}}){WHOLE}(?= ?[.,;)]| (?:respectively|for|in|on|as|during|when|with|throughout)\b|$)"
)
_ARTICLE = re.compile(r"^(?:the|our|an?|its|both) ", re.IGNORECASE)
_SHARED = re.compile(rf"^(.+?) ((?:{HEADS}))$", re.IGNORECASE)
_ALONE = re.compile(rf"(?:number of )?(?:{HEADS})", re.IGNORECASE)
_VALUES = r"\b(?:values?|parameters?|hyper-?parameters?|constants?|coefficients?)$"
"""What symbols are called together, and none of them alone."""


class Paired(NamedTuple):
    """One of several names, its symbol if it is one, and where its number stands."""

    name: str
    symbol: str
    shown: str
    start: int
    end: int


def find_pairs(read: str) -> Iterator[tuple[re.Match[str], list[Paired]]]:
    """The lists of names that are followed by as many numbers; nothing where one of the names is none, or what is measured."""
    for match in _PAIRED.finditer(read):
        numbers = list(re.finditer(ONE, match.group(2)))
        names = _names_of(re.split(_AND, match.group(1))[-len(numbers) :], read[: match.start()])
        if len(names) == len(numbers) and all(name and not RESULT_NAME.search(name) for name, _ in names):
            first = match.start(2)
            yield (
                match,
                [
                    Paired(name, symbol, one.group(), first + one.start(), first + one.end())
                    for (name, symbol), one in zip(names, numbers, strict=True)
                    if parse_value(one.group()) is not None
                ],
            )


def _names_of(parts: list[str], before: str) -> list[tuple[str, str]]:
    """Name and symbol of each part: symbols, nouns alone, or some that share a word: "training and test batch sizes"."""
    words = [part.split() for part in parts]
    if all(re.fullmatch(_SIGN, one[-1]) for one in words):
        signs = [plain_symbol(one[-1]) for one in words]
        named = [name_of_symbol(f"{' '.join(one[:-1])} ") for one in words]
        if len(words[0]) == 1 and not named[0]:
            named[0] = name_of_symbol(before)
        named = ["" if re.search(_VALUES, name) else name for name in named]
        return [(name or sign, sign) for name, sign in zip(named, signs, strict=True)]
    nouns = [_ARTICLE.sub("", part) for part in parts]
    if all(map(_ALONE.fullmatch, nouns)):
        counted = "number of " if nouns[0].startswith("number of ") else ""
        return [(f"{counted if noun[-1] == 's' else ''}{noun.removeprefix(counted)}", "") for noun in nouns]
    shared = _SHARED.match(parts[-1])
    if shared is None:
        return []
    head = re.sub(r"(?<=[^s])s$", "", shared.group(2))
    whole = [
        _ARTICLE.sub("", part if re.search(rf"\b(?:{HEADS})$", part, re.IGNORECASE) else f"{part} {head}")
        for part in [*parts[:-1], f"{shared.group(1)} {head}"]
    ]
    named = [name_before(part) for part in whole]
    return [(name, "") for name in named] if named[1:] == whole[1:] else []
