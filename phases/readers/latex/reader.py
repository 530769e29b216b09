"""Read a paper from its LaTeX source, with exact structure and numbers as printed, without executing anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from phases.readers.latex.algorithms import ALGORITHMS
from phases.readers.latex.expand import Stream, expand_sources
from phases.readers.latex.floats import FLOAT_ENVIRONMENTS, FLOATS, TABLE_ENVIRONMENTS, TABLES
from phases.readers.latex.lists import LIST_ENVIRONMENTS, LISTS, SCOPE_ENVIRONMENTS, SCOPES, THEOREMS
from phases.readers.latex.marks import LABELS, Label, resolve_marks, without_marks
from phases.readers.latex.math import MATH, MATH_ENVIRONMENTS
from phases.readers.latex.references import (
    REFERENCE_ENVIRONMENTS,
    REFERENCES,
    bib_entries,
    biblatex_entries,
    label_entries,
    labels_of,
    reference_blocks,
)
from phases.readers.latex.sections import COUNTERS, SECTION_ENVIRONMENTS, SECTIONS
from phases.readers.latex.source import Sources
from phases.readers.latex.text import TEXT
from phases.readers.latex.tokens import PARAGRAPH, match_pairs, plain_of, tokenise
from phases.readers.latex.walk import Block, Known, Rules, Walk, escape_structure
from phases.readers.reading import BROKEN, OK, Hidden, InputFile, Link, Reading, Unreadable

READER = "latex 1"
_PREAMBLE = {**COUNTERS, **THEOREMS, "\\addbibresource": REFERENCES["\\addbibresource"]}
_STRUCTURE = {**SECTIONS, **COUNTERS, **THEOREMS, **LABELS, **LISTS, **REFERENCES, **SCOPES}
_CORE = ("\\caption", "\\footnote", "\\href", "\\url", "\\textbf", "\\title", "\\author", "\\icmltitle", "\\icmlauthor", "\\and",
         "\\And", "\\AND", "\\thanks", "\\maketitle", "\\multicolumn", "\\multirow", "\\usepackage", "\\item")  # fmt: skip
_ENVIRONMENTS = {
    **SECTION_ENVIRONMENTS, **LIST_ENVIRONMENTS, **FLOAT_ENVIRONMENTS, **TABLE_ENVIRONMENTS, **MATH_ENVIRONMENTS,
    **REFERENCE_ENVIRONMENTS, **SCOPE_ENVIRONMENTS,
}  # fmt: skip
RULES = Rules({**TEXT, **TABLES, **FLOATS, **ALGORITHMS, **MATH, **_STRUCTURE}, _ENVIRONMENTS)
PROTECTED = frozenset((*_STRUCTURE, *_CORE, *_ENVIRONMENTS)) - {"listing", "program", "promptbox"}
_AUTHOR_AND_YEAR = (
    "natbib", "icml", "iclr", "neurips", "nips", "acl", "emnlp", "naacl", "colm", "aistats", "tmlr", "apacite",
    "jmlr",
)  # fmt: skip
"""Packages that cite by author and year, unless an option says otherwise."""
_MOST_HIDDEN = 200
_FEWEST_LETTERS = 40
Inline = Callable[[list[str]], str]
_TITLES = ("\\icmltitle", "\\title", "\\aistatstitle", "\\Title", "\\mlsystitle", "\\jmlrtitle", "\\papertitle")
_AUTHORS = ("\\author", "\\icmlauthor", "\\mlsysauthor", "\\Author", "\\aistatsauthor", "\\name")
_BREAKS = {
    "\\and", "\\And", "\\AND", "\\quad", "\\qquad", "\\IEEEauthorblockN", "\\hspace", "\\hfill", "\\enspace",
    PARAGRAPH,
}  # fmt: skip
_WITH_NOTE = {
    "\\thanks", "\\footnote", "\\inst", "\\textsuperscript", "\\footnotemark", "\\email", "\\IEEEauthorblockA", "\\texttt",
    "\\affiliation", "\\orcidID", "\\orcid", "\\orcidlink", "\\IEEEmembership", "\\authornotemark", "\\corref", "\\fnref",
    "\\hspace", "\\vspace", "\\href", "\\url", "\\addr", "\\institute", "\\includegraphics", "\\samethanks",
}  # fmt: skip
_NO_NAME = re.compile(
    r"universit|institut|department|dept\b|school|college|laborator|\blabs?\b|research|google|\bmeta\b|facebook|microsoft|\binc\b|"
    r"academy|center|centre|faculty|@|\bcorp|\bltd\b|equal|contribut|correspond|anonymous|\bai\b|group\b|team\b|technolog|hospital|"
    r"usa\b|china\b|france\b|germany|sciences?\b|engineering|deepmind|openai|division|street|www|http|author",
    re.IGNORECASE,
)
_PARTICLES = frozenset((
    "de", "van", "der", "den", "von", "la", "di", "da", "del", "bin", "al", "el", "le", "ter", "dos", "du", "zu",
    "y", "and",
))  # fmt: skip
_PACKAGES = ("\\usepackage", "\\documentclass", "\\PassOptionsToPackage", "\\bibliographystyle", "\\setcitestyle")
_LONGEST = 400
_MOST_AUTHORS, _MOST_TITLES = 500, 20


def read_latex(files: Mapping[str, bytes]) -> Reading:
    """Read the paper in these files, whose names refer to each other. Raises Unreadable if there is none."""
    # decision 33: an own reader, because LaTeX structure is exact and pandoc is not everywhere
    sources = Sources(files)
    stream = expand_sources(sources, PROTECTED)
    known = Known(code=sources.code)
    preamble, body = _split_preamble(stream.out)
    for name in ("require", "ensure", "input", "output"):
        if macro := stream.macros.get(f"\\algorithmic{name}"):
            known.words[f"algorithmic{name}"] = _render_inline(known.code, macro.fill([]))
    _learn_preamble(preamble, known)
    blocks = Walk([*_early_abstract(preamble), *body], RULES, known).run()
    inline = partial(_render_inline, known.code)
    title = title_of(stream.out, inline) or _title_in_macros(stream, inline)
    authors = authors_of(stream.out, inline)
    text = _compose_page(blocks, known, sources, find_packages(stream.out), title, authors)
    if sum(map(str.isalpha, text)) < _FEWEST_LETTERS:
        raise Unreadable(BROKEN, "its LaTeX source has no text")
    links = tuple(Link(url, 1, without_marks(words)) for url, words in dict.fromkeys(known.links) if url)
    hidden = tuple(Hidden(words, 1, "white") for words in sources.white[:_MOST_HIDDEN])
    return Reading(OK, READER, (text,), title, authors, links, hidden)


def read_latex_input(source: InputFile) -> Reading:
    """Read a directory of LaTeX source (InputKind.reader)."""
    return read_latex(source.files())


def _split_preamble(tokens: list[str]) -> tuple[list[str], list[str]]:
    for index, lexeme in enumerate(tokens):
        if lexeme == "\\begin" and tokens[index + 2 : index + 3] == ["document"]:
            return tokens[:index], tokens[index + 4 :]
    return [], tokens


def _learn_preamble(preamble: list[str], known: Known) -> None:
    walk = Walk(preamble, Rules(_PREAMBLE, {}), known)
    while walk.at < len(preamble):
        lexeme = preamble[walk.at]
        walk.at += 1
        if act := _PREAMBLE.get(lexeme.rstrip("*")):
            act(walk, lexeme)


def _early_abstract(preamble: list[str]) -> list[str]:
    if "\\abstract" in preamble:
        start = preamble.index("\\abstract")
        walk = Walk(preamble[start + 1 :], RULES, Known())
        content = walk.raw()
        return ["\\abstract", "{", *content, "}"] if content else []
    for index, lexeme in enumerate(preamble):
        if lexeme == "\\begin" and preamble[index + 2 : index + 3] == ["abstract"]:
            walk = Walk(preamble[index + 4 :], RULES, Known())
            return ["\\abstract", "{", *(walk.environment("abstract") or []), "}"]
    return []


def _render_inline(code: Sequence[str], tokens: list[str] | str) -> str:
    given = tokenise(" ".join(tokens.split())) if isinstance(tokens, str) else list(tokens)
    walk = Walk(given, RULES, Known(code=code))
    walk.plain = True
    text = " ".join(text for _, text in walk.run())
    return resolve_marks(text, walk.known, {}, numeric=False, textual=False)


def _title_in_macros(stream: Stream, inline: partial[str]) -> str | None:
    """Return a title that a template keeps in a command of its own, such as \\paperTitle."""
    for name, macro in stream.macros.items():
        if name.lower().endswith("title") and not macro.parameters and len(macro.body) < 200:
            found = inline(macro.fill([])).strip()
            if len(found) > 10 and " " in found:
                return found
    return None


def _compose_page(
    blocks: list[Block],
    known: Known,
    sources: Sources,
    used: Mapping[str, str],
    title: str | None,
    authors: tuple[str, ...],
) -> str:
    """Compose the text: title, authors, blocks, references in place, and all marks resolved."""
    numeric = _cites_by_number(used)
    labels = labels_of(known)
    if not known.entries:
        labels = _from_files(known, sources, used, numeric=numeric)
    elif not any(label.author for label in labels.values()):
        numeric = True
    references = reference_blocks(known, labels, numeric=numeric)
    parts: list[str] = []
    front = [("heading", f"# {title}")] if title else []
    front += [("text", escape_structure(", ".join(authors)))] if authors else []
    last = ""
    for kind, text in [*front, *blocks]:
        row = references if kind == "references" else [(kind, text)]
        references = [] if kind == "references" else references
        for inner, words in row:
            tight = inner == last == "item"
            parts.append(("\n" if tight else "\n\n") * bool(parts) + words)
            last = inner
    textual = not any(name.startswith(("acl", "emnlp", "naacl", "biblatex")) for name in used)
    return resolve_marks("".join(parts), known, labels, numeric=numeric, textual=textual).strip() + "\n"


def _cites_by_number(used: Mapping[str, str]) -> bool:
    """Return whether references are cited as [12], according to options, class or packages."""
    options = (
        used.get("natbib", "")
        + used.get("setcitestyle", "")
        + used.get("biblatex", "style=numeric" * ("biblatex" in used))
    )
    if "authoryear" in options or "style=apa" in options:
        return False
    if any(word in options for word in ("numbers", "super", "numeric", "ieee")) or "IEEEtran" in used or "cite" in used:
        return True
    return "acmart" in used or not any(name.lower().startswith(_AUTHOR_AND_YEAR) for name in used)


def _from_files(known: Known, sources: Sources, used: Mapping[str, str], *, numeric: bool) -> dict[str, Label]:
    paths = [sources.find(name.strip(), suffixes=(".bib", "")) for name in known.bibliographies]
    entries = bib_entries(sources.text(path) for path in dict.fromkeys(paths) if path)
    written = sources.bibliography()
    if not entries and written:
        entries = biblatex_entries(sources.text(written))
    style = used.get("bibliographystyle", "") + used.get("biblatex", "")
    return label_entries(entries, known, style, partial(_render_inline, known.code), numeric=numeric)


def title_of(tokens: list[str], inline: Inline) -> str | None:
    """Return the title, wherever its command is."""
    ends = match_pairs(tokens)
    places = [index for index, lexeme in enumerate(tokens) if lexeme.rstrip("*") in _TITLES]
    places.sort(key=lambda index: (_TITLES.index(tokens[index].rstrip("*")), index))
    for index in places[:_MOST_TITLES]:
        found = " ".join(inline(_read_argument(tokens, ends, index + 1)).split())
        if any(letter.isalnum() for letter in found):
            return found[:_LONGEST]
    return None


def authors_of(tokens: list[str], inline: Inline) -> tuple[str, ...]:
    """Return the names of the authors, as far as they can be separated from their addresses."""
    ends = match_pairs(tokens)
    authors: dict[str, None] = {}
    for index, lexeme in enumerate(tokens):
        if lexeme in _AUTHORS:
            for chunk in _author_chunks(_read_argument(tokens, ends, index + 1)):
                for line in chunk:
                    found = _split_names(inline(line))
                    authors.update(dict.fromkeys(found))
                    if not found:
                        # names come first: a line without one begins the address
                        break
        if len(authors) > _MOST_AUTHORS:
            break
    return tuple(authors)


def _read_argument(tokens: list[str], ends: list[int], at: int) -> list[str]:
    while at < len(tokens) and (tokens[at] == " " or (tokens[at] == "[" and ends[at] > 0)):
        at = ends[at] + 1 if tokens[at] == "[" else at + 1
    if at < len(tokens) and tokens[at] == "{" and ends[at] > 0:
        return tokens[at + 1 : ends[at]]
    return []


def _author_chunks(tokens: list[str]) -> list[list[list[str]]]:
    """Yield the tokens of each author (or of several) as lines, without notes and formulas."""
    ends = match_pairs(tokens)
    chunks: list[list[list[str]]] = [[[]]]
    index, math = 0, False
    while index < len(tokens):
        lexeme = tokens[index]
        if lexeme.rstrip("*") in _WITH_NOTE:
            if lexeme.rstrip("*") in _BREAKS:
                chunks.append([[]])
            while index + 1 < len(tokens) and (tokens[index + 1] in ("{", "[") and ends[index + 1] > 0):
                index = ends[index + 1]
        elif lexeme in _BREAKS:
            chunks.append([[]])
        elif lexeme == "\\\\":
            chunks[-1].append([])
        elif lexeme == "$":
            math = not math
        elif not math and lexeme not in ("{", "}", "^", "\\textbf", "\\bf"):
            chunks[-1][-1].append(lexeme)
        index += 1
    return [[line for line in chunk if "".join(line).strip()] for chunk in chunks]


def _split_names(text: str) -> list[str]:
    pieces = re.split(r"[,;&]| and |\band\b|\s{3,}", text.replace("*", " ").replace("†", " ").replace("‡", " "))
    return [name for name in (" ".join(piece.split()).strip(" .:0123456789") for piece in pieces) if _is_name(name)]


def _is_name(text: str) -> bool:
    words = text.split()
    if not 1 <= len(words) <= 6 or len(text) > 60 or _NO_NAME.search(text) or any(letter.isdigit() for letter in text):
        return False
    if len(words) == 1:
        return len(text) in (2, 3, 4) and all(
            "\u3400" <= letter <= "\u9fff" or "가" <= letter <= "힣" for letter in text
        )
    return all(word[:1].isupper() or not word[:1].isascii() or word.lower() in _PARTICLES for word in words)


def find_packages(tokens: list[str]) -> dict[str, str]:
    """Yield the packages and the class of a paper with their options."""
    ends = match_pairs(tokens)
    result: dict[str, str] = {}
    for index, lexeme in enumerate(tokens):
        if lexeme not in _PACKAGES:
            continue
        at, option = index + 1, ""
        if tokens[at : at + 1] == ["["] and ends[at] > 0:
            option = plain_of(tokens[at + 1 : ends[at]])
            at = ends[at] + 1
        names = plain_of(_read_argument(tokens, ends, at))
        if lexeme == "\\PassOptionsToPackage":
            behind = ends[at] + 1 if at < len(ends) else at
            option, names = names, plain_of(_read_argument(tokens, ends, behind))
        elif lexeme in ("\\bibliographystyle", "\\setcitestyle"):
            option, names = names, lexeme[1:]
        for name in names.split(","):
            result[name.strip()] = f"{result.get(name.strip(), '')},{option}"
    return result
