"""Citations by label: [3, 5-7], [Smi19], and numbers that the page raises."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phases.references.find.entries import label_of
from phases.references.find.places import PaperPlaces
from phases.references.values import Entry

_BRACKETS = re.compile(r"\[([^\[\]\n^]{1,160})\](?![(:])")
_UP_TO = re.compile(r"\s?[-–—]\s?\[([0-9]{1,4})\]")
"""[1]-[3]: the second bracket of a range."""
_INTERVAL = re.compile(
    r"(?:\b(?:clip|scale|rescale|normali[sz]e|map|uniform|range|interval|value|sample)\w*|∈)(?:\s[\w$\\]{1,20}){0,3}\s?$",
    re.IGNORECASE,
)
_OF_A_WORD = re.compile(r"[^\W\d_]{2,40}[0-9]{0,6}$|(?<![\w.])[0-9]{1,6}\.[0-9]{1,6}$")
"""What a bracket follows directly where it cites: MNIST[2], CIFAR10[5], 0.1[36]; and not x[1]."""
_NUMBERS = re.compile(r"\s*([0-9]{1,4})(?:\s*[-–—]\s*([0-9]{1,4}))?\s*")
_RAISED = re.compile(
    r"(?:(?<=[^\W\d_][^\W\d_][^\W\d_])|(?<=[^\W\d_]al\.)|(?<= al\.)|(?<=[’ʼ]s)|(?<=[^\W\d_][^\W\d_][.,)]))"
    r"(?:\$?\^\{?|<sup>)?([0-9]{1,3}(?:\s?[,–-]\s?[0-9]{1,3}){0,12})(?:\}?\$|\}|</sup>)?(?=\)?(?:[.,;:)]?(?:\s|$)|[.;:][A-Z]))"
)
_WORD_BEFORE = re.compile(r"[^\W_]{1,40}[.,)’ʼ]?s?$")
_LONGEST_RANGE = 60
_LINE = 400
"""Characters before a bracket in which its line, and what makes it a formula, is looked for."""
_FEWEST_SHARE = 0.3
"""The share of a numbered list that must be cited by raised numbers before they are believed."""


def citations_by_label(entries: Sequence[Entry], places: PaperPlaces) -> Iterator[tuple[str, int, int]]:
    """Citations in square brackets: the reference's id, and start and end of the brackets."""
    labels = _ids_by_label(entries)
    if not labels:
        return
    done = 0
    for match in _BRACKETS.finditer(places.text, places.body_start):
        if match.start() < done:
            continue
        last = _UP_TO.match(places.text, match.end())
        names = _ids_in_brackets(f"{match.group(1)}-{last.group(1)}" if last else match.group(1), labels)
        aside = names and (_is_formula(places.text, match.start(), match.end()) or places.is_aside(match.start()))
        done = last.end() if last else 0
        if names and not aside:
            for name in names:
                yield name, match.start(), match.end()


def raised_citations(entries: Sequence[Entry], places: PaperPlaces, known: set[str]) -> Iterator[tuple[str, int, int]]:
    """Citations that the page raises, as the reader gives them: networks1,2. Believed only where many are, and no footnotes."""
    labels = {label: name for label, name in _ids_by_label(entries).items() if label.isdigit()}
    if len(labels) < 3:
        return
    found = []
    for match in _RAISED.finditer(places.text, places.body_start):
        section = places.section(match.start())
        names = _ids_in_brackets(match.group(1), labels)
        if not section or not names or not _is_plain_word(places.text, match.start()):
            continue
        notes = places.footnotes(places.page(match.start()))
        if places.footnote(match.start()) or places.is_aside(match.start()) or match.group(1) in notes:
            continue
        found += [(name, match.start(), match.end()) for name in names]
    if len({name for name, _, _ in found} - known) >= _FEWEST_SHARE * len(labels):
        yield from found


def _ids_by_label(entries: Sequence[Entry]) -> dict[str, str]:
    """Id by label. A list without labels is counted, as its order is all that a number can mean."""
    known = {label: entry.id for entry in reversed(entries) if (label := label_of(entry.raw))}
    if len(known) >= max(1, len(entries) // 2):
        return known
    return {str(index): entry.id for index, entry in enumerate(entries, 1)}


def _ids_in_brackets(inside: str, labels: dict[str, str]) -> list[str]:
    """The references that a bracket names, if all that it says are labels of this list."""
    names: list[str] = []
    for piece in re.split(r"[,;]", inside):
        bare = " ".join(piece.split())
        if bare in labels:
            names.append(labels[bare])
        elif number := _NUMBERS.fullmatch(piece):
            first, last = int(number.group(1)), int(number.group(2) or number.group(1))
            if not 0 <= last - first <= _LONGEST_RANGE or str(first) not in labels or str(last) not in labels:
                return []
            names += [labels[str(one)] for one in range(first, last + 1) if str(one) in labels]
        elif not re.match(
            r"\s*(?:pp?\.|Sec|Thm|Theorem|Chap|Ch\.|Fig|Eq|Lemma|Prop|App|Def|§|Alg|Tab|Part|see|e\.g)", piece
        ):
            return []
    return list(dict.fromkeys(names))


def _is_formula(text: str, start: int, end: int) -> bool:
    """Whether a bracket belongs to a formula or an index: x[1], $[0,1]$."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    low = max(0, start - _LINE)
    line = text[max(low, text.rfind("\n", low, start) + 1) : start]
    if before.isalnum() and not (_is_plain_word(text, start) or _OF_A_WORD.search(text, max(0, start - 48), start)):
        return True
    if re.fullmatch(r"\[[0-9]{1,4}\s?,\s?[0-9]{1,4}\]", text[start:end]) and _INTERVAL.search(
        text, max(low, start - 80), start
    ):
        return True
    return (
        before in ("_", "\\", "^", "=", "]")
        or after in ("^", "_")
        or line.count("$") % 2 == 1
        or line.startswith(("$$", "    "))
    )


def _is_plain_word(text: str, start: int) -> bool:
    """Whether the word before a raised number is a word, and no name of a thing with a number: ResNet50, T5, Conv4."""
    word = _WORD_BEFORE.search(text, max(0, start - 42), start)
    bare = word.group().strip(".,)’ʼ") if word else ""
    return (
        len(bare) >= 2
        and bare[1:].islower()
        and bare.lower() not in ("fig", "table", "eq", "conv", "layer", "stage", "block", "step", "top")
    )
