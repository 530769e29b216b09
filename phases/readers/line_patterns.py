"""Recognize headings, by number or name, and formulas that no reader marked as displayed."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(
    r"^(?:(?:[Ss]ection|[Cc]hapter|[Aa]ppendix|[Aa]bschnitt|[Kk]apitel|[Aa]nhang|SECTION|CHAPTER|APPENDIX)\s+)?"
    r"((?:[0-9]{1,2}|[A-Z](?=\.|:|\.[0-9])|(?:X{0,2}(?:IX|IV|V?I{1,3}|V)|X{1,2})(?=\.\s)"
    r"|(?<=ppendix )[A-Z]|(?<=PPENDIX )[A-Z]|(?<=nhang )[A-Z])(?:\.[0-9]{1,2})*)[.:)]?\s+(?=\S)"
)
REFERENCES = (
    "references", "bibliography", "literatur", "literaturverzeichnis", "références", "bibliographie", "referencias",
    "参考文献", "參考文獻", "참고문헌", "referencesandnotes", "literaturecited", "workscited",
)  # fmt: skip
ABSTRACT = ("abstract", "zusammenfassung", "résumé", "resumen", "摘要", "초록", "要旨", "요약")
UNNUMBERED = (
    *ABSTRACT, *REFERENCES, "acknowledgments", "acknowledgements", "acknowledgment", "acknowledgement", "appendix",
    "appendices", "contents", "tableofcontents", "inhaltsverzeichnis", "danksagung", "supplementarymaterial",
    "authorcontributions", "introduction", "conclusion", "conclusions",
)  # fmt: skip
_SHORTEST, _LONGEST = 6, 600
_RELATION = re.compile(r":=|[=≡←≤≥≜∝]|\\(?:leftarrow|gets|leq?|geq?|equiv|propto|triangleq)(?![a-z])")
_NO_FORMULA = re.compile(
    r"[#>|*<\[`!-]|\$\$|[0-9]{1,2}[.)] |\d+ >>>|(?:Table|Figure|Fig\.|Algorithm|Listing|Lemma|Theorem|R>)"
)
_INSIDE = re.compile(r"\$[^$]*\$")
_WORD = re.compile(r"[a-z]{2,}|[A-Z][A-Za-z-]{3,}")
_OTHER_SCRIPT = re.compile(r"[\u0400-\u1cff\u3040-\u9fff\uac00-\ud7af]")
"""A letter of a script that formulas never use; `_WORD` matches Latin words only."""
_WORDS = "min max log exp if otherwise else where for all and with mod arg sin cos tanh sup inf argmin argmax softmax"
_OF_FORMULAS = frozenset(_WORDS.split())
_LABEL = re.compile(r"\((?:[A-Z]\.?)?[0-9]{1,3}[a-z]?\)")
_LABEL_BEHIND = re.compile(rf"(?<=[ \t])({_LABEL.pattern})[ \t]*$|(?<=[ \t][ \t])({_LABEL.pattern})(?=[ \t])")


def plain_title(title: str) -> str:
    """Return a title without number, case, spaces and punctuation, for comparison."""
    return re.sub(r"[\W_]+", "", NUMBER.sub("", title.strip()).lower())


def number_of(title: str) -> str | None:
    """Return the number in front of a heading, or None."""
    match = NUMBER.match(title)
    return match.group(1) if match else None


def without_number(title: str) -> str:
    """Return a heading without its number."""
    return NUMBER.sub("", title).strip()


def find_bare_formulas(lines: Sequence[str]) -> dict[int, int]:
    """Return the first and last line of each unmarked formula; its number may be alone on the last line."""
    found: dict[int, int] = {}
    for place, line in enumerate(lines):
        if not (_is_alone(lines, place) and _is_formula(line.strip())):
            continue
        below = place + 2
        has_label = below < len(lines) and _is_alone(lines, below) and _LABEL.fullmatch(lines[below].strip())
        found[place] = below if has_label else place
    return found


def split_label(text: str) -> tuple[str, str]:
    """Split a formula into its number ("" if it has none) and the rest."""
    label = _LABEL_BEHIND.search(text)
    if not label:
        return "", text
    return label.group(1) or label.group(2), f"{text[: label.start()].rstrip()}{text[label.end() :]}"


def as_latex(text: str) -> str:
    """Return a line as one formula: braces between its inline formulas are literal."""
    return "".join(
        part if place % 2 else part.replace("{", "\\{").replace("}", "\\}")
        for place, part in enumerate(re.split(r"(\$[^$]*\$)", text))
    )


def _is_alone(lines: Sequence[str], place: int) -> bool:
    return (not place or not lines[place - 1].strip()) and (place + 1 >= len(lines) or not lines[place + 1].strip())


def _is_formula(line: str) -> bool:
    """Return whether a line relates two terms and has no words but the names of its terms."""
    if not _SHORTEST <= len(line) <= _LONGEST or line.endswith(":") or _NO_FORMULA.match(line):
        return False
    if not _RELATION.search(line):
        return False
    outside = _INSIDE.sub("$", line)
    if _OTHER_SCRIPT.search(outside):
        return False
    return all(
        one.group() in _OF_FORMULAS or _is_name(outside[: one.start()].rstrip(" "), outside[one.end() :])
        for one in _WORD.finditer(outside)
    )


def _is_name(before: str, after: str) -> bool:
    """Return whether a word is a symbol of the formula: it is called, or next to an operator."""
    return (
        after[:1] in ("(", "_", "$", "^")
        or before[-1:] in tuple("(_{=∈∪∩∧∨+·<>≤≥^.⟨")
        or bool(not before and _RELATION.match(after.lstrip(" ")))
    )
