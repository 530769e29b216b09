"""What a value is called: the noun phrase beside a number, and what a paper says that a symbol means."""

from __future__ import annotations

import re
from collections.abc import Iterable

from phases.planning.rules.numbers import GREEK, fold
from phases.planning.rules.value_patterns import HEADS, STOPS, VAGUE

_MOST_WORDS, _ROOM = 4, 70
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BREAK = re.compile(r"[,.;:()\[\]{}=<>|“”\"]|\$[^$]*\$| [–—-] |\b[0-9]\S*")
_DEED = re.compile(r"(?:[^e]ed|ly)$")
"""How a word ends that is no noun: a name may have one before its noun, and never ends in one."""
_OF_VALUE = re.compile(r"(?: (?:of|to|is|as))?(?: an?| the)?(?: (?:fixed )?value(?: of)?)? $")
_PART_OF = re.compile(
    r"\b((?:[a-z][\w-]* )?(?:mean|median|variance|deviation|extent|length|width|height|depth|size|duration|probability|rate"
    r"|threshold|period|weight|scale|limit|spread|capacity)) of (?:the |our |its |each )?([a-z][\w-]*(?: [a-z][\w-]*)?) $"
)
_MEANT = re.compile(rf"\b((?:[a-z][\w-]* ){{0,2}}(?:{HEADS})) \(?([α-ωϵϕ]|[A-Za-z])(?:_\w+)?\)?(?=[\s,.;:)=∈]|$)")
_DEFINED = re.compile(
    r"(?<![\w\\])([α-ωϵϕ]|[A-Za-z])(?:_\w+)? (?:is|denotes|represents|controls|stands for) (?:the |an? )"
    r"((?:[a-z][\w-]* ){0,3}?[a-z][\w-]{2,})(?= (?:of|that|which|for|in|and|to|at|used|from|between)\b|[,.;:)]|$)"
)


def words_before(read: str, place: int) -> str:
    """What stands before a place, in whole words."""
    start = max(0, place - _ROOM)
    return read[read.find(" ", start, place) + 1 if start else 0 : place]


def name_before(before: str) -> str:
    """The noun phrase that ends a text, "of dimension" gives "dimension"; empty where that ends in no noun.

    What has it stands before it: "the inner layer has dimensionality" gives "inner layer dimensionality".
    """
    tail = _BREAK.split(before)[-1]
    kept: list[str] = []
    words = list(_WORD.finditer(tail))
    for match in reversed(words):
        word = match.group()
        if word.lower() in STOPS or (not kept and _DEED.search(word)):
            if kept and word in ("has", "have") and (owner := name_before(tail[: match.start()])):
                kept = [*owner.split(), *kept][-_MOST_WORDS:]
            break
        kept.insert(0, word)
        if len(kept) == _MOST_WORDS:
            break
    while kept and kept[0].lower().endswith("ly"):
        kept.pop(0)
    named = " ".join(kept)
    return named if (len(named) > 2 or named.isupper()) and (len(kept) > 1 or _is_noun(kept[0])) else ""


def name_of_part(before: str) -> str:
    """The name that ends a text, with what it is of: "the mean of the size-distribution" is the size-distribution mean."""
    if match := _PART_OF.search(before):
        part = name_before(match.group(1))
        return f"{match.group(2)} {part}" if part else match.group(2)
    return name_before(before)


def name_of_symbol(before: str) -> str:
    """The noun phrase before a symbol, without what leads to its value: "label smoothing of value" is label smoothing."""
    return name_before(_OF_VALUE.sub(" ", before))


def plain_symbol(sign: str) -> str:
    """A symbol in plain letters: d_{model} is d_model, \\eta is eta."""
    spelled = "".join(GREEK.get(letter, letter) for letter in sign).replace("\\", "")
    return re.sub(r"[^A-Za-z0-9_*-]+", "_", re.sub(r"[{}$ ]", "", spelled)).strip("_")


def meanings_of(sentences: Iterable[str]) -> dict[str, str]:
    """Symbol -> what a sentence says that it is: "the discount factor γ", "λ controls the strength of". The first counts."""
    found: dict[str, str] = {}
    for text in sentences:
        read, _ = fold(text)
        for match in _MEANT.finditer(read):
            found.setdefault(plain_symbol(match.group(2)), name_before(match.group(1)))
        for match in _DEFINED.finditer(read):
            found.setdefault(plain_symbol(match.group(1)), name_before(match.group(2)))
    return {
        symbol: name
        for symbol, name in found.items()
        if name and name.lower() not in VAGUE and symbol.lower() not in ("a", "i")
    }


def _is_noun(word: str) -> bool:
    return bool(re.fullmatch(HEADS, word, re.IGNORECASE)) or len(word) > 3 or (len(word) > 1 and word.isupper())
