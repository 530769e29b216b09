"""Reads .bib files: entries, their fields, and strings that stand for others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_ENTRIES, LONGEST_FIELD = 20_000, 20_000
_START = re.compile(r"^[ \t]*@[ \t]*([A-Za-z]+)[ \t]*[{(]", re.MULTILINE)
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w.:+-]*)[ \t\n]*=[ \t\n]*")
_PIECE = re.compile(r"[{}\"\\]")
_WORD = re.compile(r"[^\s,{}\"#=]+")
_MONTHS = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May", "jun": "June", "jul": "July",
    "aug": "August", "sep": "September", "oct": "October", "nov": "November", "dec": "December",
}  # fmt: skip
_VENUES = (
    "journal", "journaltitle", "booktitle", "howpublished", "publisher", "school", "institution", "eprint", "note",
)  # fmt: skip
_ENTRY = re.compile(r"\\entry\{([^{}]{1,200})\}\{([a-z]{1,40})\}")
_BIBLATEX_FIELD = re.compile(r"\\field\{([a-z]{1,40})\}(?=\{)")
_LIST = re.compile(r"\\list\{(publisher|institution|organization)\}\{[0-9]+\}\{%?\s*(?=\{)")
_NAMES = re.compile(r"\\name\{(author|editor)\}\{")
_PART = re.compile(r"\b(family|given)=(?=\{)")
_ADDRESS = re.compile(r"\\verb\{(url|doi)\}\s+\\verb ([^\n]{1,2000})\n")


@dataclass(frozen=True)
class BibEntry:
    """One reference: its key, and its fields as LaTeX, by names in small letters."""

    key: str
    kind: str
    fields: dict[str, str]


def bib_entries(texts: Iterable[str]) -> dict[str, BibEntry]:
    """The entries of some .bib files by key; the first of a key counts."""
    entries: dict[str, BibEntry] = {}
    strings = dict(_MONTHS)
    for text in texts:
        starts = list(_START.finditer(text))
        ends = [*(other.start() for other in starts[1:]), len(text)]
        for match, end in zip(starts, ends, strict=False):
            kind = match.group(1).lower()
            body = text[match.end() : end]
            if kind == "string":
                strings.update(_parse_fields(body, strings))
            elif kind not in ("comment", "preamble") and len(entries) < MOST_ENTRIES:
                key, _, rest = body.partition(",")
                entries.setdefault(key.strip(), BibEntry(key.strip(), kind, _parse_fields(rest, strings)))
    return entries


def _parse_fields(body: str, strings: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    while match := _FIELD.match(body, position):
        value, position = _parse_value(body, match.end(), strings)
        found.setdefault(match.group(1).lower(), " ".join(value.split()))
    return found


def _parse_value(body: str, position: int, strings: dict[str, str]) -> tuple[str, int]:
    """A value of pieces joined by `#`, and where it ends."""
    parts: list[str] = []
    while position < len(body):
        opener = body[position]
        if opener in '{"':
            end = find_closing(body, position)
            parts.append(body[position + 1 : end][:LONGEST_FIELD])
            position = end + 1
        elif word := _WORD.match(body, position):
            parts.append(strings.get(word.group().lower(), word.group())[:LONGEST_FIELD])
            position = word.end()
        rest = body[position : position + 200]
        blanks = len(rest) - len(rest.lstrip())
        if not rest[blanks:].startswith("#"):
            break
        position += blanks + 1
        while position < len(body) and body[position].isspace():
            position += 1
    return "".join(parts)[:LONGEST_FIELD], position


def find_closing(body: str, position: int) -> int:
    """Where the brace or quote at `position` is closed; the end of the text where it is not."""
    quoted = body[position] == '"'
    depth = 0
    at = position + quoted
    while match := _PIECE.search(body, at):
        at = match.end()
        sign = match.group()
        if sign == "\\":
            at += 1
        elif sign == '"':
            if quoted and not depth:
                return match.start()
        else:
            depth += 1 if sign == "{" else -1
            if depth < 0 or (depth == 0 and not quoted):
                return match.start()
    return len(body)


def person_names(field: str) -> list[str]:
    """The persons in an author field, first name first."""
    persons = []
    for person in re.split(r"\s+and\s+", _strip_braces(field)):
        last, comma, first = person.partition(",")
        if comma and first.count(",") == 1:
            suffix, _, first = first.partition(",")
            last = f"{last} {suffix.strip()}"
        persons.append(f"{first.strip()} {last.strip()}".strip() if comma else person.strip())
    return [person for person in persons if person]


def surname_of(person: str) -> str:
    """The last name, with the small words that belong to it."""
    words = person.split()
    start = next((index for index, word in enumerate(words[:-1]) if index and word[:1].islower()), len(words) - 1)
    return " ".join(words[max(0, start) :])


def _strip_braces(field: str) -> str:
    """A name field; in braces as a whole it is one name and is not split."""
    if field.startswith("{") and field.endswith("}") and " and " in field:
        return field[1:-1].replace(" and ", " & ")
    return field


def format_entry(entry: BibEntry) -> str:
    """The reference as LaTeX text: authors, title, venue, year."""
    fields = entry.fields
    persons = person_names(fields.get("author") or fields.get("editor") or "")
    persons = ["et al." if person == "others" else person for person in persons]
    people = " and ".join([", ".join(persons[:-1]), persons[-1]]) if len(persons) > 1 else "".join(persons)
    people = people.replace(" and et al.", " et al.")
    venue = next((fields[name] for name in _VENUES if fields.get(name)), "")
    volume = fields.get("volume", "")
    numbers = volume + (f"({fields['number']})" if volume and fields.get("number") else "")
    pages = f"pages {fields['pages']}" if fields.get("pages") else ""
    year = fields.get("year") or fields.get("date", "")[:4]
    place = ", ".join(part for part in (venue, numbers, pages, year) if part)
    address = fields.get("url") or (f"https://doi.org/{fields['doi']}" if fields.get("doi") else "")
    link = f"\\url{{{address.strip('{}')}}}" if address and "url{" not in address else ""
    sentences = (people, fields.get("title", ""), place)
    ended = [f"{part}{'' if part.endswith(('.', '?', '!')) else '.'}" for part in sentences if part]
    return " ".join([*ended, link] if link else ended)


def biblatex_entries(text: str) -> dict[str, BibEntry]:
    """The entries of a .bbl by key, in its order."""
    starts = list(_ENTRY.finditer(text))[:MOST_ENTRIES]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    entries: dict[str, BibEntry] = {}
    for match, end in zip(starts, ends, strict=False):
        body = text[match.end() : end]
        entries.setdefault(match.group(1), BibEntry(match.group(1), match.group(2), _biblatex_fields(body)))
    return entries


def _biblatex_fields(body: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for pattern in (_BIBLATEX_FIELD, _LIST):
        for match in pattern.finditer(body):
            fields.setdefault(match.group(1), _read_braced(body, match.end()))
    for match in _ADDRESS.finditer(body):
        fields.setdefault(match.group(1), match.group(2).strip())
    if people := _biblatex_people(body):
        fields["author"] = people
    fields.setdefault("journal", fields.get("journaltitle", ""))
    return fields


def _read_braced(body: str, position: int) -> str:
    return " ".join(body[position + 1 : min(find_closing(body, position), position + LONGEST_FIELD)].split())


def _biblatex_people(body: str) -> str:
    """The authors, each as `Last, First`."""
    match = _NAMES.search(body)
    if not match:
        return ""
    following = re.compile(r"\\(?:strng|field|list|name)\{").search(body, match.end())
    block = body[match.end() : following.start() if following else len(body)]
    people: list[str] = []
    for part in _PART.finditer(block):
        value = _read_braced(block, part.end())
        if part.group(1) == "family":
            people.append(value)
        elif people and "," not in people[-1]:
            people[-1] += f", {value}"
    return " and ".join(people)
