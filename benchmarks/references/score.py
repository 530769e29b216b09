"""Measures what is found in papers' references: titles, years, authors, links of repositories, the papers' own code.

    python benchmarks/references/score.py [PAPERS] [--each]

PAPERS is a folder with manifest.json (see benchmarks/reader/bench.py) whose gold files list references (key, title) and
code_url. Years and authors come from the paper's LaTeX bibliography (*.bbl in the archive), from a GROBID file and from
S2ORC files, where there are any; one paper may so be counted once for each source. A title counts as found where letters
and digits, small, are equal, or one holds the other at 0.9 of its length, or they are at least 0.9 similar; the volume
and the year that a bibliography style puts behind a title are taken off the gold one first, and gold titles that are an
address ("url https://…") are none. A reference whose title stands in no single reference of the outline was lost or merged
by the reader: it counts as missed, and is told apart. A benchmark reports: the exit code is 0 in any case.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tarfile
import unicodedata
import xml.etree.ElementTree as ET
from difflib import SequenceMatcher
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from phases.readers.markdown import paper_document
from phases.readers.outline import outline_of
from phases.readers.pdf.reader import read_pdf
from phases.readers.segments import segments_of
from phases.references.find.authors import surname_of
from phases.references.find.entries import entries_of
from phases.references.find.links import repository_key, repository_of
from phases.references.find.reference_document import build_reference_document
from phases.references.values import Entry

TEI = "{http://www.tei-c.org/ns/1.0}"
OWN_BESIDES = {"pb_rice": "https://github.com/chengzelei/RICE"}
"""Own repositories that stand in the paper, and not in a gold file."""
_TAIL = re.compile(r",\s(?:volume\s[0-9]+(?:\sof\s.*)?|(?:1[7-9]|20)[0-9]{2}[a-z]?)$")
_YEAR = re.compile(r"(?<![0-9])(?:1[7-9]|20)[0-9]{2}(?![0-9])")


class Known(NamedTuple):
    """What is known of one reference."""

    title: str
    year: int | None
    surnames: tuple[str, ...]
    """Compared by letters; empty where they are not known, or not all of them."""


class Count(NamedTuple):
    """Figures of one paper."""

    titles: int
    right: int
    lost: int
    years: int
    years_right: int
    authors: int
    authors_right: int
    entries: int
    wrong: int


def main() -> None:
    """Prints one line for each paper that has known references, the totals, and what becomes of the repositories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="?", default=os.path.join(os.path.dirname(ROOT), "shared", "papers"))
    parser.add_argument("--each", action="store_true", help="every reference that is not right")
    given = parser.parse_args()
    if not os.path.isfile(os.path.join(given.papers, "manifest.json")):
        print(f"no manifest.json in {given.papers}; name a folder of papers")
        return
    counts, repositories = [], []
    print(
        "| paper | titles | lost by the reader | years | authors | entries | wrong titles |\n|---|---|---|---|---|---|---|"
    )
    for row in _loaded(os.path.join(given.papers, "manifest.json")):
        if row["expect"] != "ok":
            continue
        gold = _gold(given.papers, row)
        text, body_start, outline, kinds = _read(os.path.join(given.papers, row["file"]))
        for source, known in _known(given.papers, row, gold):
            count = _counted(known, outline["references"], f"{row['id']} ({source})" if given.each else None)
            counts.append(count)
            print(_line(f"{row['id']} ({source})", count))
        own = gold.get("code_url") or OWN_BESIDES.get(row["id"])
        document = build_reference_document(text, body_start, outline, kinds=kinds, allow_own_code=False)
        repositories.append((row["id"], own, document))
    print(_line("together", Count(*map(sum, zip(*counts, strict=True)))))
    _tell_repositories(repositories)


def _loaded(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _gold(folder: str, row: dict[str, Any]) -> dict[str, Any]:
    path = row.get("gt", {}).get("gold")
    return dict(_loaded(os.path.join(folder, path))) if path else {}


def _read(path: str) -> tuple[str, int, dict[str, Any], dict[str, str]]:
    document = paper_document(read_pdf(path), "0" * 64, "pdf")
    outline = outline_of(document)
    index, _ = segments_of(document.text, outline)
    kinds = {row["section"]: row["kind"] for row in index["segments"] if row["section"]}
    return document.text, document.body_start, outline, kinds


def _known(folder: str, row: dict[str, Any], gold: dict[str, Any]) -> list[tuple[str, list[Known]]]:
    """The lists of references that are known of a paper, each with where it comes from."""
    found = []
    if rows := [one for one in gold.get("references", ()) if _is_title(one.get("title"))]:
        extra = _from_bbl(os.path.join(folder, row["latex_source"])) if row.get("latex_source") else {}
        found.append(("gold", [Known(one["title"], *extra.get(one["key"], (None, ()))) for one in rows]))
    here = os.path.join(folder, "gt", row["id"])
    names = sorted(os.listdir(here)) if os.path.isdir(here) else []
    found += [("tei", _from_tei(os.path.join(here, name))) for name in names if name.endswith(".tei.xml")]
    found += [("s2orc", _from_s2orc(os.path.join(here, name))) for name in names if name.startswith("s2orc")]
    return [(source, known) for source, known in found if known]


def _is_title(text: str | None) -> bool:
    """Whether a gold title is one: some are what LaTeX made of an entry that has an address and nothing else."""
    return bool(text) and not str(text).startswith("url http")


def _from_bbl(archive: str) -> dict[str, tuple[int | None, tuple[str, ...]]]:
    """Year and surnames by key, as the labels of a bibliography that natbib made give them: [A et al.(2019)A, B, and C]{key}."""
    with tarfile.open(archive) as tar:
        member = next((name for name in tar.getnames() if name.endswith(".bbl")), None)
        file = tar.extractfile(member) if member else None
        text = file.read().decode("utf-8", "replace") if file else ""
    found: dict[str, tuple[int | None, tuple[str, ...]]] = {}
    for block in text.split("\\bibitem")[1:]:
        label, _, rest = block.partition("]{")
        key = rest.partition("}")[0]
        year = re.search(r"\(((?:1[7-9]|20)[0-9]{2})", label)
        if year is None and (years := _YEAR.findall(block.replace("\\penalty0", ""))):
            found[key] = (int(years[-1]), ())
        elif year:
            full = label.partition(")")[2]
            names = () if "et" in full.split() or "et~al" in full else tuple(
                surname_of(_plain_latex(name)) for name in re.split(r",\s+(?:and\s+)?|\s+and\s+", full) if name.strip()
            )  # fmt: skip
            found[key] = (int(year.group(1)), names)
    return found


def _plain_latex(text: str) -> str:
    text = re.sub(r"\\([\"'`^~=.uvHckr])\s*\{?\\?([A-Za-z])\}?", r"\2", text)
    return re.sub(
        r"[{}\\]", "", text.replace("~", " ").replace("\\o", "o").replace("\\l", "l").replace("\\ss", "ss")
    ).strip()


def _from_tei(path: str) -> list[Known]:
    known = []
    for struct in ET.parse(path).getroot().iter(f"{TEI}biblStruct"):
        if not struct.get("{http://www.w3.org/XML/1998/namespace}id"):
            continue
        title = next((one.text for one in struct.iter(f"{TEI}title") if one.get("type") == "main" or one.text), None)
        year = next((one.get("when", "")[:4] for one in struct.iter(f"{TEI}date") if one.get("when")), "")
        names = tuple(surname_of(one.text) for one in struct.iter(f"{TEI}surname") if one.text)
        if title:
            known.append(Known(title, int(year) if year.isdigit() else None, names))
    return known


def _from_s2orc(path: str) -> list[Known]:
    data = _loaded(path)
    rows = (data.get("pdf_parse") or data).get("bib_entries") or data.get("bib_entries") or {}
    return [
        Known(row["title"], row.get("year"), tuple(surname_of(one["last"]) for one in row.get("authors", ())))
        for row in rows.values()
        if row.get("title")
    ]


def letters(text: str) -> str:
    """Letters and digits alone, small, without accents."""
    split = unicodedata.normalize("NFKD", text).lower()
    return "".join(letter for letter in split if letter.isascii() and letter.isalnum())


def agree(one: str, other: str) -> bool:
    """Whether two titles are the same one; see the module's words."""
    first, second = sorted((letters(one), letters(other)), key=len)
    if not first:
        return False
    if first == second or (first in second and len(first) >= 0.9 * len(second)):
        return True
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= 0.9


def _counted(known: list[Known], references: list[dict[str, str]], note: str | None) -> Count:
    entries = list(entries_of(references))
    raws = [letters(entry.raw) for entry in entries]
    paired: dict[int, int] = {}
    lost = years = years_right = authors = authors_right = 0
    for index, one in enumerate(known):
        title = _TAIL.sub("", _TAIL.sub("", one.title))
        free = [at for at in range(len(entries)) if at not in paired.values()]
        at = next((at for at in free if agree(title, entries[at].title or "")), None)
        if at is None:
            lost += (missing := _is_lost(title, raws))
            if note:
                shown = next((entries[at] for at in free if letters(title) in raws[at]), None)
                print(f"    {note}: {'LOST' if missing else 'WRONG'}: {title!r}")
                if shown:
                    print(f"        read as {shown.title!r} of {shown.raw[:150]!r}")
        else:
            paired[index] = at
        # A year and authors are asked of the reference that holds the title, be its own title right or wrong.
        holder = (
            entries[at] if at is not None else next((entries[at] for at in free if letters(title) in raws[at]), None)
        )
        if one.year is not None:
            years += 1
            years_right += (right := holder is not None and holder.year == one.year)
            if note and not right:
                print(f"    {note}: YEAR {one.year}, read {holder.year if holder else None}: {title!r}")
        if one.surnames:
            authors += 1
            authors_right += (right := holder is not None and _same_names(holder, one.surnames))
            if note and not right:
                print(f"    {note}: AUTHORS {one.surnames}, read {holder.authors if holder else None}")
    return Count(
        len(known),
        len(paired),
        lost,
        years,
        years_right,
        authors,
        authors_right,
        len(entries),
        len(entries) - len(paired),
    )


def _is_lost(title: str, raws: list[str]) -> bool:
    """Whether no single reference of the outline holds the title, or one that holds it runs on into another reference."""
    wanted = letters(title)
    return not any(
        wanted in raw
        or SequenceMatcher(None, wanted, raw, autojunk=False).find_longest_match().size >= 0.8 * len(wanted)
        for raw in raws
    )


def _same_names(entry: Entry, names: tuple[str, ...]) -> bool:
    return tuple(letters(surname_of(name)) for name in entry.authors) == tuple(letters(name) for name in names)


def _line(name: str, count: Count) -> str:
    def share(part: int, whole: int) -> str:
        return f"{part} of {whole} ({part / whole:.1%})" if whole else "–"

    return (
        f"| {name} | {share(count.right, count.titles)} | {count.lost} | {share(count.years_right, count.years)} "
        f"| {share(count.authors_right, count.authors)} | {count.entries} | {share(count.wrong, count.entries)} |"
    )


def _tell_repositories(rows: list[tuple[str, str | None, dict[str, Any]]]) -> None:
    wanted = [(name, own, document) for name, own, document in rows if own]
    found = marked = 0
    print("\n| paper | repository | role | cited for |\n|---|---|---|---|")
    for name, _, document in rows:
        for row in document["repositories"]:
            print(f"| {name} | {row['url']} | {row['role']} {row['score']:.2f} | {row['why']} |")
    for name, own, document in wanted:
        keys = {repository_key(row["url"]): row["role"] for row in document["repositories"]}
        key = repository_key(repository_of(str(own)) or "")
        found, marked = found + (key in keys), marked + (keys.get(key) == "own")
        if keys.get(key) != "own":
            print(f"{name}: {own} is {keys.get(key, 'not found')}")
    print(f"\nown repositories found: {found} of {len(wanted)}; marked as own: {marked} of {len(wanted)}")


if __name__ == "__main__":
    main()
