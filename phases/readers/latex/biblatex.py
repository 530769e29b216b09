"""Reads the .bbl files that biblatex writes: entries with their fields, as a .bib would have them."""

from __future__ import annotations

import re

from phases.readers.latex.bibtex import LONGEST_FIELD, MOST_ENTRIES, Entry, closing

_ENTRY = re.compile(r"\\entry\{([^{}]{1,200})\}\{([a-z]{1,40})\}")
_FIELD = re.compile(r"\\field\{([a-z]{1,40})\}(?=\{)")
_LIST = re.compile(r"\\list\{(publisher|institution|organization)\}\{[0-9]+\}\{%?\s*(?=\{)")
_NAMES = re.compile(r"\\name\{(author|editor)\}\{")
_PART = re.compile(r"\b(family|given)=(?=\{)")
_ADDRESS = re.compile(r"\\verb\{(url|doi)\}\s+\\verb ([^\n]{1,2000})\n")


def biblatex_entries(text: str) -> dict[str, Entry]:
    """The entries of a .bbl by key, in its order."""
    starts = list(_ENTRY.finditer(text))[:MOST_ENTRIES]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    entries: dict[str, Entry] = {}
    for match, end in zip(starts, ends, strict=False):
        body = text[match.end() : end]
        entries.setdefault(match.group(1), Entry(match.group(1), match.group(2), _fields(body)))
    return entries


def _fields(body: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for pattern in (_FIELD, _LIST):
        for match in pattern.finditer(body):
            fields.setdefault(match.group(1), _braced(body, match.end()))
    for match in _ADDRESS.finditer(body):
        fields.setdefault(match.group(1), match.group(2).strip())
    if people := _people(body):
        fields["author"] = people
    fields.setdefault("journal", fields.get("journaltitle", ""))
    return fields


def _braced(body: str, position: int) -> str:
    return " ".join(body[position + 1 : min(closing(body, position), position + LONGEST_FIELD)].split())


def _people(body: str) -> str:
    """The authors, each as `Last, First`."""
    match = _NAMES.search(body)
    if not match:
        return ""
    following = re.compile(r"\\(?:strng|field|list|name)\{").search(body, match.end())
    block = body[match.end() : following.start() if following else len(body)]
    people: list[str] = []
    for part in _PART.finditer(block):
        value = _braced(block, part.end())
        if part.group(1) == "family":
            people.append(value)
        elif people and "," not in people[-1]:
            people[-1] += f", {value}"
    return " and ".join(people)
