"""What in a sentence points elsewhere: citations, numbers of equations, tables, sections and pages. They set no value."""

from __future__ import annotations

import re

_NUMBERS = r"[1-9][0-9]{0,2}(?:(?: ?[,;–-] ?| )[1-9][0-9]{0,2}){0,20}"
_PLACES = (
    "refs?|references?|eqs?|eqns?|equations?|figs?|figures?|tabs?|tables?|secs?|sects?|sections?|chap|chapters?|app|appendix"
    "|appendices|algs?|algorithms?|thms?|theorems?|lemmas?|props?|propositions?|definitions?|corollary|pages?|lines?|footnotes?"
    "|gl|gleichung(?:en)?|abb|abbildung(?:en)?|tabellen?|abschnitt|kapitel|seiten?|anhang|équations?|tableaux?|ecuaci[oó]n"
    "|tablas?|figuras?|página|secci[oó]n"
)
_POINTERS = (
    # [33], [4, 12]; a set or a range to choose from is none
    re.compile(rf"(?<![=∈$\w])(?<![=∈] )(?<!\\in )\[{_NUMBERS}\]"),
    re.compile(r"\[(?=[^\[\]]{0,300}[0-9]{2})[^\W\d_][^\[\]]{1,300}\](?!\()"),  # [Smith 2019], [Smi19]
    re.compile(r"\((?=[^()]{0,300}[^\W\d_])[^()]{0,300}\b(?:19|20)[0-9]{2}[a-z]?\b[^()]{0,300}\)"),  # (Smith, 2019)
    re.compile(r"\((?:19|20)[0-9]{2}[a-z]?\)"),
    re.compile(r"\bet al\.?,? (?:19|20)[0-9]{2}\b|\b(?:in|since|until|im Jahr) (?:19|20)[0-9]{2}(?! [a-z]+s\b)\b"),
    re.compile(r"\[\^[^\]\s]{1,9}\]|(?<![0-9\s])\$\^\{?\[?[0-9,–-]{1,12}\]?\}?\$|<sup>[^<>]{0,40}</sup>"),
    re.compile(
        rf"(?:\b(?:{_PLACES}|pp?(?=\.)|nos?(?=\.))\b\.?|§+)[ ~]?[(\[]?(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?"
        r"(?:(?:, ?| and | und | & |[–-]| to )[(\[]?(?:[A-Z]\.)?[0-9]+(?:\.[0-9]+)*[a-z]?\b[)\]]?(?! ?[a-z]+s\b))*",
        re.IGNORECASE,
    ),
    re.compile(r"[表图圖式] ?[(（]?[0-9]+(?:\.[0-9]+)*[)）]?|第 ?[0-9]+ ?[章节節页頁]|(?:표|그림|식) ?\(?[0-9]+\)?"),
)
_CHOSEN_FROM = re.compile(r"(?:from|range|interval|between|over|grid|values?|set) \$?$", re.IGNORECASE)


def without_pointers(text: str) -> str:
    """The text with blanks where it points elsewhere; everything else stays at its place."""
    for pattern in _POINTERS:
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    words, before = match.group(), match.string[max(0, match.start() - 12) : match.start()]
    is_range = words.startswith("[") and re.search(r"[,;]", words) and _CHOSEN_FROM.search(before)
    return words if is_range else " " * len(words)
