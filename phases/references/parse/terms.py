"""Split code into search words: identifiers taken apart, endings cut, accents folded."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LONGEST_WORD = 40
_RUN = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
_JOINT = re.compile(r"[\W_]+")
"""Separators within a run: `_`, and signs from folding, like the brackets of `⑴`."""
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+")
"""Scripts without spaces between words; their characters are indexed in pairs."""
_VOWEL = re.compile("[aeiouy]")
_KEPT_TWINS = "lsz"
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "đ": "d", "ı": "i"}
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and stemmed: `getLoss_2` gives get, loss, 2 and getloss2."""
    # cut here and not by FTS5, whose tokenisers know no identifiers (decision 109)
    words: list[str] = []
    for run in _RUN.findall(text):
        words += _words_of_run(run) if len(run) < 200 else _split_run(run[:2000])
    return words


def first_spellings(text: str) -> dict[str, str]:
    """Return the first spelling of each word in lower case, without the joined forms of words_of."""
    spellings: dict[str, str] = {}
    for run in _RUN.findall(text):
        for part in _PART.findall(run[:2000]) if run.isascii() else (run[:2000],):
            for word in words_of(part):
                spellings.setdefault(word, part.lower())
    return spellings


@lru_cache(maxsize=1 << 16)
def _words_of_run(run: str) -> tuple[str, ...]:
    return _split_run(run)


def fold_name(name: str) -> str:
    """Return a name without differences in spelling: `get_loss`, `getLoss` and `GetLoss` are equal."""
    return name.replace("_", "").lower() or name


def _split_run(run: str) -> tuple[str, ...]:
    if not run.isascii():
        run = _fold_accents(run)
    words: list[str] = []
    for part in _PART.findall(run):
        if part.isascii():
            words.append(stem_word(part.lower()[:LONGEST_WORD]))
        else:
            words += _foreign_words(part)
    if len(words) > 1 and run.isascii():
        words.append(_JOINT.sub("", run).lower()[:LONGEST_WORD])
    return tuple(words)


def _fold_accents(run: str) -> str:
    """Without accents where a plain letter is under them."""
    apart = unicodedata.normalize("NFKD", run)
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", plain).translate(_LETTERS)


def _foreign_words(part: str) -> list[str]:
    words: list[str] = []
    for piece in re.split(f"({_WIDE.pattern})", part):
        if _WIDE.fullmatch(piece):
            words += [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
        elif piece:
            words.append(piece.lower().replace("ς", "σ")[:LONGEST_WORD])  # the index knows the one alone
    return words


def stem_word(word: str) -> str:
    """Return a lower-case English word without the ending of number or tense, so that `computes` and `computing` are equal."""
    if len(word) < 4:
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
        if word.endswith(("sse", "xe", "che", "she", "zze")):
            word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and _VOWEL.search(word[: -len(ending)]):
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in _KEPT_TWINS:
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word
