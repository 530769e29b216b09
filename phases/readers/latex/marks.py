"""Mark references and citations during the walk, and resolve the marks when all labels are known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import Act, Anchor, Known, Walk, typeset

_NUMBERS = ("\\ref", "\\labelcref", "\\subref", "\\pageref", "\\thref")
_NAMES = ("\\cref", "\\Cref", "\\autoref", "\\vref", "\\Vref", "\\fref", "\\Fref", "\\nameref")
_TEXTUAL = ("\\citet", "\\Citet", "\\citealt", "\\textcite", "\\Textcite", "\\newcite", "\\citeN", "\\citeasnoun")
_PARENTHETICAL = ("\\citep", "\\Citep", "\\citealp", "\\parencite", "\\Parencite", "\\autocite", "\\Autocite", "\\footcite",
                  "\\cites", "\\supercite", "\\smartcite", "\\onlinecite", "\\fullcite", "\\shortcite", "\\citenum")  # fmt: skip
_PARTS = ("\\citeauthor", "\\Citeauthor", "\\citeyear", "\\citeyearpar")
_CITATIONS = ("\\cite", *_TEXTUAL, *_PARENTHETICAL, *_PARTS)
_MOST_KEYS = 200
_MARK = re.compile("\x03([0-9]+)\x03")
_ANY_MARK = re.compile("[\x01-\x03](?:[0-9]+[\x01-\x03])?")
_WORDS = {"subsection": "section", "subsubsection": "section", "chapter": "chapter", "item": "item"}


@dataclass(frozen=True)
class Label:
    """Citation label of a reference: author and year, or a number."""

    author: str = ""
    year: str = ""
    number: str = ""


def build_mark(walk: Walk, command: str, keys: str, before: str = "", behind: str = "") -> str:
    """Return a mark for a reference or a citation, which `resolve_marks` replaces."""
    names = tuple(key.strip() for key in keys.split(",")[:_MOST_KEYS] if key.strip())
    if command in _CITATIONS or command == "\\nocite":
        walk.known.cited.update(dict.fromkeys(names))
    if command == "\\nocite" or not names:
        return ""
    walk.known.marks.append((command, names, before, behind))
    return f"\x03{len(walk.known.marks) - 1}\x03"


def _on_mark(walk: Walk, lexeme: str) -> None:
    options: list[str] = []
    while len(options) < 2 and (option := walk.option()) is not None:
        options.append(typeset(plain_of(option)))
    before, behind = ["", "", *options][-2:]
    walk.out.append(build_mark(walk, lexeme.rstrip("*"), walk.word(), before, behind))


def _on_label(walk: Walk, lexeme: str) -> None:
    key = walk.word()
    if walk.anchor.number or key not in walk.known.labels:
        walk.known.labels[key] = walk.anchor


MARKS: dict[str, Act] = dict.fromkeys((*_NUMBERS, *_NAMES, "\\eqref", "\\nocite", *_CITATIONS), _on_mark)
LABELS: dict[str, Act] = {**MARKS, "\\label": _on_label}


def resolve_marks(text: str, known: Known, labels: Mapping[str, Label], *, numeric: bool, textual: bool) -> str:
    """Replace marks by numbers and authors. `textual`: a plain \\cite names the author in the sentence."""

    def word(match: re.Match[str]) -> str:
        index = int(match.group(1))
        command, keys, before, behind = known.marks[index] if index < len(known.marks) else ("", (), "", "")
        if command in _CITATIONS:
            named = command in _TEXTUAL or (command == "\\cite" and textual)
            return _citation_text(
                command, [(key, labels.get(key)) for key in keys], before, behind, numeric=numeric, named=named
            )
        return _reference_text(command, [(key, known.labels.get(key)) for key in keys])

    return without_marks(_MARK.sub(word, text))


def without_marks(text: str) -> str:
    """Remove unresolved marks from a text."""
    return _ANY_MARK.sub("", text)


def _reference_text(command: str, anchors: list[tuple[str, Anchor | None]]) -> str:
    words = []
    for key, anchor in anchors:
        number = anchor.number if anchor and anchor.number else f"[{key}]"
        if command == "\\eqref":
            number = f"({number})"
        elif command in _NAMES and anchor and anchor.number:
            kind = _WORDS.get(anchor.kind, anchor.kind)
            kind = "appendix" if kind == "section" and number[0].isalpha() else kind
            number = f"{kind.capitalize()} {f'({number})' if kind == 'equation' else number}"
        words.append(number)
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + "".join(words[-1:])


def _citation_text(
    command: str, labels: list[tuple[str, Label | None]], before: str, behind: str, *, numeric: bool, named: bool
) -> str:
    lead, tail = f"{before} " * bool(before), f", {behind}" * bool(behind)
    known = [(key, label) for key, label in labels if label and (label.number if numeric else label.author)]
    if command in ("\\citeauthor", "\\Citeauthor") and known:
        return ", ".join(label.author or f"[{key}]" for key, label in known)
    if command in ("\\citeyear", "\\citeyearpar") and known and all(label.year for _, label in known):
        years = ", ".join(label.year for _, label in known)
        return f"({years})" if command == "\\citeyearpar" else years
    if len(known) < len(labels) or not labels:
        keys = "; ".join(f"{label.author}, {label.year}" if label and label.author else key for key, label in labels)
        return f"[{lead}{keys}{tail}]"
    if numeric:
        numbers = f"[{lead}{', '.join(label.number for _, label in known)}{tail}]"
        author = known[0][1].author if named and command != "\\cite" else ""
        return f"{author} {numbers}" if author else numbers
    if named:
        joined = ", ".join(f"{label.author} ({lead}{label.year}{tail})" for _, label in known)
        return joined if command != "\\citealt" else joined.replace("(", "").replace(")", "")
    inside = f"{lead}{'; '.join(f'{label.author}, {label.year}'.rstrip(', ') for _, label in known)}{tail}"
    return inside if command == "\\citealp" else f"({inside})"
