"""Read the list of references from \\bibitem commands, else from the .bib files (or biblatex's .bbl)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from phases.readers.latex.marks import Label
from phases.readers.latex.sections import set_heading
from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import Act, Block, BlockFlow, Known, Walk, escape_structure, one_line

Inline = Callable[[str], str]
_YEAR = re.compile(r"\b(?:1[5-9]|20)[0-9]{2}[a-z]?\b|\bn\.d\.|\bin press\b|\bforthcoming\b")
_IN_ORDER_OF_CITATION = re.compile(
    "unsrt|ieee|num|nature|phys|apsrev|jhep|iopart|acm_ref_none|siamplain_none", re.IGNORECASE
)
_TITLES = ("## References", "## Bibliography", "## REFERENCES", "## Reference")
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


def _on_bibliography(walk: Walk, name: str) -> None:
    walk.raw()
    _set_heading(walk)
    flow = BlockFlow("references")

    def close(_: str) -> None:
        starts = [index for index, (kind, _) in enumerate(flow.blocks) if kind == "bibitem"]
        for start, end in zip(starts, [*starts[1:], len(flow.blocks)], strict=False):
            key, _, label = flow.blocks[start][1].partition("\n")
            text = " ".join(text for kind, text in flow.blocks[start + 1 : end])
            walk.known.entries.append((key, label, text))
        walk.flow.blocks.append(("references", ""))

    walk.push(name, close)
    walk.flow, walk.out, walk.captures, walk.plain = flow, flow.words, 0, True


def _set_heading(walk: Walk) -> None:
    last = next((text for kind, text in reversed(walk.flow.blocks) if kind != "note"), "")
    if last not in _TITLES or walk.flow.words:
        set_heading(walk, "part", "References")


def _on_bibitem(walk: Walk, lexeme: str) -> None:
    if walk.flow.kind != "references":
        walk.option()
        walk.raw()
        return
    walk.flush()
    flow = walk.flow

    def close(label: str) -> None:
        flow.blocks.append(("bibitem", f"{walk.word()}\n{' '.join(label.split())}"))

    if walk.follows("["):
        walk.capture(close, bracket=True)
    else:
        close("")


def _ask_files(walk: Walk, lexeme: str) -> None:
    if lexeme == "\\printbibliography":
        walk.option()
    else:
        walk.known.bibliographies += plain_of(walk.raw()).split(",")[:50]
    if ("references", "") not in walk.flow.blocks:
        _set_heading(walk)
        walk.flow.blocks.append(("references", ""))


def _name_file(walk: Walk, lexeme: str) -> None:
    walk.option()
    walk.known.bibliographies.append(walk.word())


def label_of(label: str, number: str) -> Label:
    """Return the label of \\bibitem[Author et al.(2017)Author, Other]{key}, or the number of a plain one."""
    author, opened, rest = label.partition("(")
    year = rest.partition(")")[0]
    if not (opened and _YEAR.search(year)):
        match = list(_YEAR.finditer(label))[-1:]
        author, year = (label[: match[0].start()], match[0].group()) if match else ("", "")
    author = author.strip(" ,[]")
    return Label(author, year.strip(), number) if author else Label("", "", label.strip("[]") or number)


def labels_of(known: Known) -> dict[str, Label]:
    """Return the labels of all references in the paper's own list."""
    return {key: label_of(label, str(count)) for count, (key, label, _) in enumerate(known.entries, 1)}


def label_entries(
    entries: dict[str, BibEntry], known: Known, style: str, inline: Inline, *, numeric: bool
) -> dict[str, Label]:
    """Add the cited references to `known` in the order of the style, and return their labels."""
    wanted = list(entries) if "*" in known.cited else [key for key in known.cited if key in entries]
    people = {key: [inline(person) for person in person_names(entries[key].fields.get("author", ""))] for key in wanted}
    if not (numeric and _IN_ORDER_OF_CITATION.search(style)):
        wanted.sort(
            key=lambda key: ([surname_of(person).casefold() for person in people[key][:2]], _year_of(entries[key]))
        )
    labels = {}
    for count, key in enumerate(wanted, 1):
        known.entries.append((key, "", inline(format_entry(entries[key]))))
        last = [surname_of(person) for person in people[key]]
        author = f"{last[0]} and {last[1]}" if len(last) == 2 else "".join(last[:1]) + " et al." * (len(last) > 1)
        labels[key] = Label(author.replace(" and others", " et al."), _year_of(entries[key]), str(count))
    return labels


def _year_of(entry: BibEntry) -> str:
    return (entry.fields.get("year") or entry.fields.get("date", ""))[:4]


def reference_blocks(known: Known, labels: dict[str, Label], *, numeric: bool) -> list[Block]:
    """Return a paragraph for each reference, after its label if it has one."""
    blocks = []
    for key, _, text in known.entries:
        label = labels.get(key, Label())
        shown = f"[{label.number}] " if label.number and (numeric or not label.author) else ""
        words = one_line(text)
        blocks.append(("reference", f"{shown}{words}" if shown else escape_structure(words)))
    return blocks


@dataclass(frozen=True)
class BibEntry:
    """A reference: its key, and its LaTeX fields by lower-case names."""

    key: str
    kind: str
    fields: dict[str, str]


def bib_entries(texts: Iterable[str]) -> dict[str, BibEntry]:
    """Parse .bib files into entries by key; the first entry of a key counts."""
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
    """Return the position that closes the brace or quote at `position`; the end of the text if nothing does."""
    # counted by hand: braces in hostile files nest deeper than patterns or recursion can go
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
    """Return the persons of an author field, first name first."""
    persons = []
    for person in re.split(r"\s+and\s+", _strip_braces(field)):
        last, comma, first = person.partition(",")
        if comma and first.count(",") == 1:
            suffix, _, first = first.partition(",")
            last = f"{last} {suffix.strip()}"
        persons.append(f"{first.strip()} {last.strip()}".strip() if comma else person.strip())
    return [person for person in persons if person]


def surname_of(person: str) -> str:
    """Return the last name with its particles."""
    words = person.split()
    start = next((index for index, word in enumerate(words[:-1]) if index and word[:1].islower()), len(words) - 1)
    return " ".join(words[max(0, start) :])


def _strip_braces(field: str) -> str:
    if field.startswith("{") and field.endswith("}") and " and " in field:
        return field[1:-1].replace(" and ", " & ")
    return field


def format_entry(entry: BibEntry) -> str:
    """Return a reference as LaTeX text: authors, title, venue, year."""
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
    """Parse the entries of a biblatex .bbl by key, in order."""
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


REFERENCES: dict[str, Act] = {
    "\\bibitem": _on_bibitem, "\\bibliography": _ask_files, "\\printbibliography": _ask_files,
    "\\addbibresource": _name_file,
}  # fmt: skip
REFERENCE_ENVIRONMENTS: dict[str, Act] = {"thebibliography": _on_bibliography}
