"""Recognize names in running text: what the paper calls its method, and abbreviations in brackets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BACKGROUND, BUILD

NAME = r"(?:[A-Z][\w+*/.’-]*\w[+*]*|[A-Z][+*]?|[a-z]{1,4}-?[A-Z][\w+*-]*|[0-9]+[A-Z][\w+-]*)"
"""A word that is written as a name."""
NAMES = rf"{NAME}(?: (?:{NAME}|[0-9]{{1,4}}\b(?![.,]?[0-9])))*"
"""Names in a row that are one name: Penn Treebank, WMT 2014 English-German."""
_TELLING = re.compile(
    r"\w*[a-z]\w*[A-Z]\w*|[A-Z0-9][\w*]*-[\w*+]{1,3}|[A-Z]{2,}[\w*+-]*|\w*[A-Za-z]\w*\d\w*|\w+\+\w[\w+-]*"
)
"""A word whose letters alone make it a name: PaperMage, Min-p, DyT, 2Q, L-BFGS."""
_OURS = re.compile(
    r"([A-Za-z0-9][\w*+-]*(?: [\w*+-]+){0,3}) ?[(\[](?:ours?|this (?:work|paper)|proposed)[)\]]", re.IGNORECASE
)
_CALLED = re.compile(
    r"\b(?:call(?:ed)?|named?|term(?:ed)?|dub(?:bed)?|refer(?:red)? to (?:it |this \w+ )?as|namely) (?:it |this (?:\w+ )?"
    r"|them |the |our |an? )?[\"“*_]*([A-Z][\w*+-]*(?: [A-Z][\w*+-]*){0,3}|[a-z]+[A-Z-][\w*+-]*)(?![\w/])"
)
_PROPOSES = re.compile(
    r"\b(?:[Ww]e|[Tt]his (?:paper|work)|[Oo]ur)\b.{0,40}?\b(?:propos|introduc|present|develop|describ|design|call|nam)\w*"
    r"(?: (?:the|an?|novel|new|our|,))* ([A-Za-z]?[\w+*-]*[A-Z][\w+*-]*(?: [A-Z][\w+*-]*){0,2})"
    r"(?![\w/]| (?!which|that|to|for|is|as|and|in|with|on|by)[a-z])",
)
_OUR = re.compile(r"\b[Oo]ur (?:proposed |own |new |novel )((?:[A-Z][a-z]*[A-Z0-9]|[A-Z]{2})[\w*+-]*)(?= |[.,;:)])")
_SAYS_OURS = re.compile(r"\b(?:we|our|this paper|resulting)\b", re.IGNORECASE)
_MOST, _OFTEN, _SOMETIMES = 8, 6, 3
_ROLE_WORDS = re.compile(
    "(?:table|fig(?:ure)?|section|algorithm|eq(?:uation)?|appendix|theorem|lemma|definition|step)s?", re.IGNORECASE
)


def is_telling(name: str) -> bool:
    """Return whether a word is a name by its letters alone."""
    return bool(_TELLING.fullmatch(name)) and not _ROLE_WORDS.fullmatch(name)


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, for comparing."""
    return "".join(filter(str.isalnum, text.casefold()))


def is_same(one: str, other: str) -> bool:
    """Return whether two names differ by case, signs and a plural at most."""
    return letters_of(one).rstrip("s") == letters_of(other).rstrip("s") != ""


def own_names(paper: PaperText) -> list[str]:
    """Return at most eight names of the paper's own method, the surest first."""
    body, abstract, points = paper.prose, str(paper.outline.get("abstract") or ""), Counter[str]()
    for name, worth in _candidates(paper, body):
        plain = re.sub(r"[$\\*_]", "", name).strip(" -")
        if len(plain) > 1 and not _ROLE_WORDS.fullmatch(plain) and re.search(r"[^\W\d_]", plain):
            points[plain] += worth
    sure: dict[str, float] = {}
    for name, worth in points.items():
        word = rf"(?<!\w){re.escape(name)}"
        forms = "|".join([re.escape(name), *map(re.escape, abbreviations_of(name, f"{abstract} {body}"))])
        times = len(re.findall(rf"(?<!\w)(?:{forms})(?!\w)", body, re.IGNORECASE))
        if not times and not is_telling(name):
            continue  # the head of a title, and no name that the paper uses
        is_cited = re.search(rf"{word} ?(?:\[[0-9, ]+\]|\([A-Z][^()]{{0,40}}[0-9]{{4}})", body)
        is_data = len(re.findall(rf"{word} (?:data ?sets?|corpus|benchmark)\b", body)) > 1
        sure[name] = worth + (times >= _OFTEN) - 3 * bool(is_cited) - 3 * is_data - 2 * (times < _SOMETIMES)
    kept: dict[str, str] = {}
    for name in sorted(sure, key=lambda one: -sure[one]):
        if sure[name] >= 2:
            kept.setdefault(letters_of(name).rstrip("s"), name)
    own = list(kept.values())[:_MOST]
    return list(
        dict.fromkeys([*own, *(short for name in own for short in abbreviations_of(name, f"{abstract} {body}"))])
    )


def expand(short: str, text: str) -> str:
    """Return what a name of capitals stands for, where the text says so: EM of "Exact Match (EM)"; else the name."""
    if not re.fullmatch(r"[A-Z]{2,5}", short):
        return short
    words = r"[- ]".join(rf"{letter}[a-z]+" for letter in short)
    found = re.search(rf"\b({words})s? ?\({short}\)", text, re.IGNORECASE)
    return found[1] if found else short


def abbreviations_of(name: str, text: str) -> list[str]:
    """Return how a name is shortened where the text says so: NysNewton-CG (NNCG)."""
    found = re.findall(rf"(?<!\w){re.escape(name)}s? ?\(([A-Za-z]*[A-Z][\w-]{{1,9}})\)", text, re.IGNORECASE)
    return [short for short in dict.fromkeys(found) if short[0].lower() == name[0].lower()]


def _candidates(paper: PaperText, body: str) -> Iterator[tuple[str, int]]:
    title = re.sub(r"^\[\w+\] |[$]", "", str(paper.outline.get("title") or "")).replace("：", ":")
    head, colon, _ = title.partition(":")
    if colon and len(head.split()) <= 4:
        yield head.strip(), 4
    elif len(title.split()) <= 4:
        yield title, 2
    words = re.findall(r"[\w*+’'-]+", title)
    for word in words if not title.isupper() else ():
        if is_telling(word) and not (word.isupper() and word != words[-1]) and body.count(word) >= _SOMETIMES:
            yield word, 3
    for table in paper.tables:
        yield from ((match.group(1).strip(), 4) for match in _OURS.finditer(re.sub(r"[*_$|]", "", table.text)))
    for one in paper.sentences:
        if one.role in (BACKGROUND, BUILD):
            for match in (*_PROPOSES.finditer(one.text), *_OUR.finditer(one.text)):
                yield match.group(1), 2
            if _SAYS_OURS.search(one.text):
                yield from ((match.group(1), 2) for match in _CALLED.finditer(one.text))
    abstract = str(paper.outline.get("abstract") or "")
    yield from ((match.group(1), 2) for pattern in (_PROPOSES, _CALLED) for match in pattern.finditer(abstract))
