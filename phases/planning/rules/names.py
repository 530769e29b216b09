"""Names the symbol of the code that will meet each requirement: after the section that asks for it, and never twice."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.body import is_named_after_content

LONGEST_NAME = 40
_MOST_WORDS = 4
_PREFIX = {"dataset": "load", "experiment": "run", "metric": "measure", "baseline": "baseline", "loss": "loss"}
_STOPS = """
a an and are as at by for from in into is it its of on or our that the their this to via we with section algorithm
following use used using can be which these each all two one more additional details further how does do what why not
"""
_STOP_WORDS = frozenset(_STOPS.split())


def symbols_of(rows: Sequence[Mapping[str, Any]], outline: Mapping[str, Any]) -> dict[str, str]:
    """Requirement id -> the symbol that will meet it."""
    titles = {section["number"] or section["title"]: section["title"] for section in outline.get("sections", [])}
    symbols: dict[str, str] = {}
    taken: dict[str, int] = {}
    for row in rows:
        base = _symbol(row, titles.get(row["source"]["section"], ""))
        number, name = taken.get(base, 0) + 1, base
        while number > 1 and (name := f"{base}_{number}") in taken:
            number += 1
        taken[base] = number
        taken.setdefault(name, 1)
        symbols[row["id"]] = name
    return symbols


def telling_words(text: str) -> list[str]:
    """The words of a text that say what it is about, in small letters."""
    return [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP_WORDS]


def _symbol(row: Mapping[str, Any], title: str) -> str:
    kind = row["kind"]
    if kind == "hyperparameter" and "name" in row:
        return str(row["name"]).upper()
    words = _words(kind, row["text"], title) or [kind]
    if kind == "model":
        name = "".join(word.capitalize() for word in words)
    else:
        name = "_".join([_PREFIX[kind], *words] if kind in _PREFIX and words[0] != _PREFIX[kind] else words)
    name = name[:LONGEST_NAME].strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"{kind}_{name}"


def _words(kind: str, text: str, title: str) -> list[str]:
    """What a symbol is called after: an algorithm's caption, an equation's number, else the section."""
    if kind == "equation":
        return re.findall(r"[a-z0-9]+", text.partition(":")[0].lower())[:2]
    about = title if title and is_named_after_content(title) else text
    if kind == "algorithm":
        about = text.partition(": ")[2].partition(":")[0] or text
    words = [word for word in telling_words(about) if not word.isdigit()][:_MOST_WORDS]
    return words or [word for word in telling_words(text) if not word.isdigit()][:_MOST_WORDS]
