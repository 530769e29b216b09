"""The title of a paper, its authors, and how it cites: what stands before the text."""

from __future__ import annotations

import re
from collections.abc import Callable

from phases.readers.latex.tokens import PARAGRAPH, match_pairs, plain_of

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


def title_of(tokens: list[str], inline: Inline) -> str | None:
    """The title: what its command holds, wherever it stands."""
    ends = match_pairs(tokens)
    places = [index for index, lexeme in enumerate(tokens) if lexeme.rstrip("*") in _TITLES]
    places.sort(key=lambda index: (_TITLES.index(tokens[index].rstrip("*")), index))
    for index in places[:_MOST_TITLES]:
        found = " ".join(inline(_read_argument(tokens, ends, index + 1)).split())
        if any(letter.isalnum() for letter in found):
            return found[:_LONGEST]
    return None


def authors_of(tokens: list[str], inline: Inline) -> tuple[str, ...]:
    """The names of the authors, as far as they can be separated from their addresses."""
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
    """The tokens of each author (or of some), as lines, without notes and formulas."""
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
    """The packages and the class of a paper, each with its options."""
    ends = match_pairs(tokens)
    found: dict[str, str] = {}
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
            found[name.strip()] = f"{found.get(name.strip(), '')},{option}"
    return found
