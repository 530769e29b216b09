"""Joins lines of print into running text: words that a hyphen broke are whole again, and real hyphens stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_HYPHEN = re.compile(r"(?<=\w)[-‐]$")
_LAST = re.compile(r"([^\W\d_]+(?:[-‐][^\W\d_]+)*)[-‐]$")
_FIRST = re.compile(r"^[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_CJK = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_ADDRESS = re.compile(r"(?:https?:\S*|www\.\S*|doi:\S*)$")


class Words:
    """The words of one paper: they tell whether a hyphen at the end of a line is the author's or the printer's."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._hyphened: set[str] = set()
        for text in texts:
            for word in re.findall(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*", text.lower()):
                self._whole.add(word)
                if "-" in word:
                    self._hyphened.add(word)

    def join(self, lines: Sequence[str]) -> str:
        """The lines as one line of text."""
        text = ""
        for line in lines:
            text = self._join_words(text, line.strip()) if text else line.strip()
        return text

    def _join_words(self, before: str, after: str) -> str:
        if not after:
            return before
        last, first = _LAST.search(before[-60:]), _FIRST.match(after)
        if last and first:
            return self._across(before, after, last.group(1).lower(), first.group().lower())
        if _ADDRESS.search(before[-300:]) and not before.endswith(",") and re.match(r"[\w/#?&=%~-]", after):
            return before + after if _is_continuation(before, after) else f"{before} {after}"
        if _HANGUL.match(before[-1]) and _HANGUL.match(after[0]):
            whole = before[-40:].rpartition(" ")[2] + after[:40].partition(" ")[0]
            return before + after if whole.rstrip(".,") in self._whole else f"{before} {after}"
        if _HYPHEN.search(before[-2:]) or (_CJK.match(before[-1]) and _CJK.match(after[0])):
            return before + after
        return f"{before} {after}"

    def _across(self, before: str, after: str, last: str, first: str) -> str:
        """A broken word: the hyphen stays if the paper writes the word with it elsewhere, or never without it."""
        whole = last + first
        compound = "-" in last or "-" in first or after[0].isupper() or len(last) == 1
        if f"{last}-{first}" in self._hyphened or (compound and whole not in self._whole):
            return before + after
        return before[:-1] + after


def _is_continuation(before: str, after: str) -> bool:
    """Whether an address goes on in the next line: it was cut at a slash or a hyphen, or goes on with one."""
    # behind a full stop an address goes on only if what follows cannot begin a sentence
    if before.endswith("."):
        return bool(re.match(r"[a-z0-9][^\s]*[/.]\S", after))
    return before.endswith(("/", "-", "_", "=", "&", "?", ":")) or after.startswith(("/", "_", "-", "?"))
