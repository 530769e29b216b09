"""Cuts running text into statements that say one thing each, without the words that tell a builder nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST_SENTENCE = 1200
_END = re.compile(r"(?:[.!?]['\")\]*_”’]*\s+(?=[^\sa-z])|[。！？；]\s*)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:et al|e\.g|i\.e|cf|vs|resp|w\.r\.t|s\.t|a\.k\.a|approx|Figs?|Eqs?|Eqn|Secs?|Tabs?|App|Alg|Refs?|No|Dr"
    r"|Prof|St"
    r"|bzw|z\.B|d\.h|u\.a|vgl|Abb|Nr)|(?:^|[\s(.])[A-Z])$"
)
_CLAUSE_END = re.compile(
    r"; +|, +(?=(?:(?:while|whereas|and (?:we|then)|but)|(which|where|so that|because|since|such as|including"
    r"|i\.e\.|e\.g\.|wobei|welche))\b)"
)
_SHORTEST_CLAUSE = 40
_CITATION = re.compile(
    r" *\((?:see |e\.g\.,? |cf\. )?[A-Z][^()]{1,300}?\b(?:19|20)[0-9]{2}[a-z]?(?:;[^()]{1,300})?\)"
    r"| *(?<!in )\[(?:[1-9][0-9]{0,2}(?:, ?|[-–])?){1,12}\]"
    r"| *\[(?=[^\[\]]{0,300}[0-9]{2})[^\W\d_][\w:-]{1,40}(?:[,;] ?[^\W\d_][\w:-]{1,40}){0,8}\](?!\()"
)
_ET_AL = re.compile(r"(?: et al\.?|(?: and| &) [A-Z][\w'-]{1,30})?,? (?=(?:19|20)[0-9]{2}[a-z]?[;)])")
_YEAR = re.compile(r"(?<=[a-z.]) \((?:19|20)[0-9]{2}[a-z]?\)")
_POINTER = re.compile(
    r",? *\((?:see |cf\. |refer to |as in )?(?:also )?(?:Fig|Tab|Sec|App|Eq|Alg|§)[^()]{0,60}\)"
    r"|(?:^|,? )as (?:shown|depicted|described|mentioned|discussed|illustrated|detailed|stated|noted"
    r"|defined) in [A-Z§][^,.;()]{0,40}(?=[,.;]|$)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:more |most )?(?:specifically|importantly|precisely|concretely)|in (?:particular|addition(?! to)|general"
    r"|practice|contrast(?! to)"
    r"|this (?:section|paper|work|experiment|subsection|appendix|case|setting))|moreover|furthermore|additionally"
    r"|however"
    r"|therefore|thus|hence|besides|to this end|as a result|consequently|for (?:example|instance)|finally|next|then"
    r"|first(?:ly)?"
    r"|second(?:ly)?|third(?:ly)?|here|also|meanwhile|similarly|indeed|overall|lastly|intuitively|that is|note that"
    r"|recall that"
    r"|following (?:prior|previous) works?|it is (?:worth noting|important to note) that|and|but"
    r"|which means that)\b,? +",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:and )?we (?:also |then |further |first |next |now |simply |thus |here )*(?=[a-z])", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?<![\w$\\])(?:the|an?) (?=[\"'“(]?[A-Za-z]{3})", re.IGNORECASE)
_SHORTER = (
    (re.compile(r"\b(?:in order to|so as to)\b"), "to"),
    (re.compile(r"\bas well as\b"), "and"),
    (re.compile(r"\bdue to fact that\b"), "because"),
    (re.compile(r"\bwith respect to\b"), "w.r.t."),
    (re.compile(r"\b(?:propose|choose|decide) to (?=[a-z])"), ""),
    (re.compile(r"\b(?:is|are|was|were) (?:set|fixed) to\b"), "="),
    (re.compile(r"\bmake use of\b"), "use"),
    (re.compile(r"\b(each|all|both|most) of (?=[a-z])"), r"\1 "),
    (re.compile(r"(?<=[a-z]) (?:that|which) (?:is|are|was|were) (?=[a-z]{3,}(?:ed|en|ing)\b)"), " "),
    (re.compile(r", we (?:also |then |further |first |next |now |simply )*(?=[a-z])"), ", "),
    (re.compile(r"\b(?:in (?:the )?case of)\b", re.IGNORECASE), "for"),
    (re.compile(r"\b(?:is|are) able to\b"), "can"),
    (re.compile(r",? (?:as follows|in this (?:section|paper|work)|in (?:our|all|the) experiments)\b"), ""),
    (re.compile(r" (?:has|have|had) been\b"), ""),
    (re.compile(r"\b(?:also|further|therefore|simply|really|very) (?=[a-z])"), ""),
)
_MARKS = re.compile(r"\*{1,3}|(?<![\w$\\])_(?=\w)|(?<=\w)_(?![\w{$(])|\[\^[0-9]+\]")
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{1,300}\)")


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a line of running text, each as it stands there."""
    start = 0
    for match in _END.finditer(text):
        # Only the last words decide, so a long text stays linear.
        before = text[max(start, match.start() - 12) : match.start()]
        if match.group()[0] == "." and _ABBREVIATION.search(before):
            continue
        yield text[start : match.end()].strip()
        start = match.end()
    yield text[start:].strip()


def clauses_of(sentence: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a sentence as they stand there, each with whether it leans on the one before. Brackets stay whole."""
    sentence, start, leans = sentence[:LONGEST_SENTENCE], 0, False
    for match in _CLAUSE_END.finditer(sentence):
        part = sentence[start : match.start()]
        if len(part) < _SHORTEST_CLAUSE or len(sentence) - match.end() < _SHORTEST_CLAUSE // 2:
            continue
        if part.count("$") % 2 or part.count("(") != part.count(")"):
            continue
        yield part, leans
        start, leans = match.end(), match.group(1) is not None
    yield sentence[start:], leans


def statement_of(clause: str, *, cited: bool = False) -> str:
    """What a clause says, in note form: no pointers, no filler, no articles; names and numbers are kept.

    Citations stay in short where `cited` says so: they tell which data, or whose method, is meant.
    """
    text = _LINK.sub(r"\1", clause)
    text = _MARKS.sub("", text)
    text = _ET_AL.sub(" ", text) if cited else _YEAR.sub("", _CITATION.sub("", text))
    text = _POINTER.sub("", text).lstrip(" ,")
    for _ in range(3):  # "Moreover, in this section, we …" has three
        text = _LEAD.sub("", text, count=1) if _LEAD.match(text) else text
    text = _SUBJECT.sub("", text, count=1) if _SUBJECT.match(text) else text
    text = _ARTICLE.sub("", text)
    for pattern, shorter in _SHORTER:
        text = pattern.sub(shorter, text)
    return " ".join(text.split()).strip(" ,;.:")
