"""Cuts running text into its sentences, each as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(r"(?:(?<!\. )[.!?]['\")\]*_”’]*(?:(?<=[a-z)\]]\.)[0-9]{1,2})?\s+(?=[^\sa-z.])|[。！？；]\s*)")
"""The end of a sentence; the number of a footnote may stand behind it. The dots of "0. . .V" end none."""
_ABBREVIATION = re.compile(
    r"(?:\b(?:et al|e\.g|i\.e|cf|vs|resp|w\.r\.t|s\.t|a\.k\.a|approx|Figs?|Eqs?|Eqn|Secs?|Tabs?|App|Alg|Refs?|No|Dr|Prof|St"
    r"|bzw|z\. ?B|d\. ?h|u\. ?a|vgl|Abb|Nr)|(?:^|[\s(.])[A-Z])$"
)
_OPENS = re.compile(
    r"(?:The|There|Th[eo]se|This|We|Our|It|Its|In|For|If|When|Where|An?|To|Then|Each|All|Every|By|As|At|On|Note|Let|Since"
    r"|However|Thus)\b"
)
"""How a sentence begins behind one that ends with a letter, as "the data is read into R." does, and no name behind initials."""
_INITIAL = re.compile(r"(?:^|[\s(])[A-Z]\.(?=\s)")
"""An initial in the words before a letter: the letter is one, too."""
_FROM_INITIAL = 24
_STOPPED = re.compile(r"[.!?。！？]['\")\]*_”’]*$")
_ENDED = re.compile(r"(?:[.!?:;。！？：；]['\")\]*_”’]*|\$\$)$")
_BEGUN = re.compile(
    r"['\"(*_“‘]*(?:(?:and|as|at|by|for|from|in|is|of|on|or|the|to|with)[0-9]{1,2}\s|(?![a-z](?:[a-z]"
    r"|\.(?=[a-z])){0,40}[A-Z0-9_(])[a-z,;:.)\]])"
)
"""How a piece begins whose first words are lost, also with the number of a footnote behind one of them.

A name begins a sentence as it is written: readData, init_model, tanh(x), os.pathExists.
"""
_LEANING = re.compile(
    r"(?:it|its|this|these|those|they|their|he|she|his|her|such|that|then|here|however|therefore|thus|hence|moreover"
    r"|furthermore|similarly|otherwise|also|in (?:contrast|particular|addition(?! to)|this case|other words)|as a (?:result"
    r"|consequence)|the (?:former|latter)|for (?:this|that|example|instance)|to (?:this end|do so)|if (?:so|not)|where|which"
    r"|dies\w*|dabei|somit|其中|因此|这|此)\b",
    re.IGNORECASE,
)
_SAID_BEFORE = re.compile(r"\b(?:this|these|those)[.!]$", re.IGNORECASE)
_AND_NEXT = re.compile(r"([;,]) (?:and|or)$")
"""How the last item but one of a list ends."""
_HALF_OPEN = re.compile(r"\[[^()\[\]\s,]{1,12}, ?[^()\[\]\s,]{1,12}\)|\([^()\[\]\s,]{1,12}, ?[^()\[\]\s,]{1,12}\]")
"""An interval with one end left out: [0, 1)."""
_WORDS_WITHOUT_BLANKS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}")
_MARKS = re.compile(r"\*{2,3}|\[\^[^\]\s]{1,9}\]|(?<=[a-z)\]]\.)[0-9]{1,2}$")


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a line of running text, each as it stands there."""
    start = 0
    for match in _END.finditer(text):
        # Only the last words decide, so a long text stays linear.
        before = text[max(start, match.start() - 12) : match.start()]
        is_letter = before[-1:].isupper() and before[-2:-1] == " "
        is_initial = is_letter and _INITIAL.search(text, max(start, match.start() - _FROM_INITIAL), match.start())
        if (
            match.group()[0] == "."
            and _ABBREVIATION.search(before)
            and not (is_letter and not is_initial and _OPENS.match(text, match.end()))
        ):
            continue
        yield text[start : match.end()].strip()
        start = match.end()
    yield text[start:].strip()


def is_whole(sentence: str) -> bool:
    """Return whether a sentence is there from its first word to its last, and no piece that a page or a column left over."""
    return not _BEGUN.match(sentence) and bool(_ENDED.search(sentence)) and is_closed(sentence)


def is_closed(sentence: str) -> bool:
    """Return whether each bracket and formula that is opened is closed; [0, 1) is."""
    said = _HALF_OPEN.sub("", sentence)
    return said.count("(") == said.count(")") and said.count("（") == said.count("）") and said.count("$") % 2 == 0


def is_open(paragraph: str) -> bool:
    """Whether the last sentence of a paragraph has not come to its end."""
    return not _STOPPED.search(paragraph)


def leans_on(sentence: str) -> bool:
    """Whether it can only be understood with the sentence before it, by its first word or a bare "this" at its end."""
    return bool(_LEANING.match(sentence) or _SAID_BEFORE.search(sentence))


def count_words(text: str) -> int:
    """The words of a text; Chinese and Japanese have no blanks between theirs, and two signs are a word on average."""
    return len(text.split()) + len(_WORDS_WITHOUT_BLANKS.findall(text))


def without_next(sentence: str) -> str:
    """An item of a list without the "and" that leads to the next."""
    return _AND_NEXT.sub(r"\1", sentence)


def without_marks(text: str) -> str:
    """The text without the signs of Markdown for emphasis and footnotes. Every word stays."""
    return " ".join(_MARKS.sub("", text).split())
