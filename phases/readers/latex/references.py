"""The list of references: from \\bibitem commands, else from the .bib files of what is cited."""

from __future__ import annotations

import re
from collections.abc import Callable

from phases.readers.latex.bibtex import BibEntry, format_entry, person_names, surname_of
from phases.readers.latex.marks import Label
from phases.readers.latex.sections import set_heading
from phases.readers.latex.state import Block, BlockFlow, Known
from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import Act, Walk, escape_structure, one_line

Inline = Callable[[str], str]
_YEAR = re.compile(r"\b(?:1[5-9]|20)[0-9]{2}[a-z]?\b|\bn\.d\.|\bin press\b|\bforthcoming\b")
_IN_ORDER_OF_CITATION = re.compile(
    "unsrt|ieee|num|nature|phys|apsrev|jhep|iopart|acm_ref_none|siamplain_none", re.IGNORECASE
)
_TITLES = ("## References", "## Bibliography", "## REFERENCES", "## Reference")


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
    """\\bibitem[label]{key}: the text follows."""
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
    """\\bibliography{a,b} without a .bbl."""
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
    """How \\bibitem[Author et al.(2017)Author, Other]{key} is cited; a plain one by its number."""
    author, opened, rest = label.partition("(")
    year = rest.partition(")")[0]
    if not (opened and _YEAR.search(year)):
        match = list(_YEAR.finditer(label))[-1:]
        author, year = (label[: match[0].start()], match[0].group()) if match else ("", "")
    author = author.strip(" ,[]")
    return Label(author, year.strip(), number) if author else Label("", "", label.strip("[]") or number)


def labels_of(known: Known) -> dict[str, Label]:
    """The labels of all references in the paper's own list."""
    return {key: label_of(label, str(count)) for count, (key, label, _) in enumerate(known.entries, 1)}


def label_entries(
    entries: dict[str, BibEntry], known: Known, style: str, inline: Inline, *, numeric: bool
) -> dict[str, Label]:
    """Puts the references that are cited into `known`, in the order of the style, and gives their labels."""
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
    """A paragraph for each reference, after its label where it has one."""
    blocks = []
    for key, _, text in known.entries:
        label = labels.get(key, Label())
        shown = f"[{label.number}] " if label.number and (numeric or not label.author) else ""
        words = one_line(text)
        blocks.append(("reference", f"{shown}{words}" if shown else escape_structure(words)))
    return blocks


REFERENCES: dict[str, Act] = {
    "\\bibitem": _on_bibitem, "\\bibliography": _ask_files, "\\printbibliography": _ask_files,
    "\\addbibresource": _name_file,
}  # fmt: skip
REFERENCE_ENVIRONMENTS: dict[str, Act] = {"thebibliography": _on_bibliography}
