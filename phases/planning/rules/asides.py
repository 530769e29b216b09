"""Which sentences only work through an example or prove something, paragraph by paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phases.planning.rules.passages import Sentence
from phases.planning.rules.sections import BUILD, SETUP

_OPENS_EXAMPLE = re.compile(
    r"(?:For (?:example|instance)\b|As an (?:example|illustration)\b|To illustrate\b"
    r"|Consider,? (?:for (?:example|instance)|the following (?:example|scenario|situation)|(?:this|our|the \w+) example)\b)"
)
_GOES_ON = re.compile(
    r"(?:Consider|Now|Then|Going on|Subsequently|Continuing|At this point|In [a-z]+ [0-9]|Step [0-9] of)\b"
)
"""How a paragraph begins that goes on with the example of the one before: "In step 2", and not "In Algorithm 1"."""
_OPENS_PROOF = re.compile(r"(?:PROOF|Proof)(?:\b[.:]|$| \()")
_ENDS_PROOF = re.compile(r"[□■∎✷]|\[\]|Q\.E\.D")
_MOST_PARAGRAPHS, _SHOWN_BELOW, _BREAK = 8, 2, 1


def find_asides(sentences: Sequence[Sentence]) -> frozenset[int]:
    """The places of the sentences that are part of a worked example, or of a proof."""
    paragraphs = list(_paragraphs(sentences))
    found: set[int] = set()
    for number, paragraph in enumerate(paragraphs):
        if found.intersection(paragraph):
            continue
        opening = next((at for at in paragraph if _opens(sentences[at], is_first=at == paragraph[0])), None)
        if opening is None:
            continue
        found.update(range(opening, paragraph[-1] + 1))
        section = sentences[opening].section["id"]
        below = paragraphs[number + 1 : number + 1 + _MOST_PARAGRAPHS]
        following = [one for one in below if sentences[one[0]].section["id"] == section]
        count = _count_following(sentences, paragraph, following)
        found.update(at for one in following[:count] for at in one)
    return frozenset(found)


def _paragraphs(sentences: Sequence[Sentence]) -> Iterator[range]:
    start = 0
    for at in range(1, len(sentences) + 1):
        if at == len(sentences) or not sentences[at].before:
            yield range(start, at)
            start = at


def _opens(sentence: Sentence, *, is_first: bool) -> bool:
    """Whether an example or a proof begins here that takes the rest of its paragraph."""
    said = sentence.text
    if sentence.role not in (BUILD, SETUP):
        return False
    if is_first:
        return bool(_OPENS_EXAMPLE.match(said) or _OPENS_PROOF.match(said))
    return bool(re.match(r"Consider the following (?:example|scenario|situation)\b", said))


def _count_following(sentences: Sequence[Sentence], paragraph: range, following: Sequence[range]) -> int:
    """How many of the paragraphs behind it belong to the same example or proof."""
    if _OPENS_PROOF.match(sentences[paragraph[0]].text):
        if any(_ENDS_PROOF.search(sentences[at].text) for at in paragraph):
            return 0
        ends = (any(_ENDS_PROOF.search(sentences[at].text) for at in one) for one in following)
        return next((number for number, is_end in enumerate(ends, 1) if is_end), 0)
    count = _SHOWN_BELOW if sentences[paragraph[-1]].text.endswith(":") else 0
    for number, one in enumerate(following[: count + 1 + _BREAK], 1):
        if _GOES_ON.match(sentences[one[0]].text):
            count = number
    return min(_run_of(sentences, following, count), len(following))


def _run_of(sentences: Sequence[Sentence], following: Sequence[range], count: int) -> int:
    """The count with the paragraphs behind that go on without a break."""
    while count < len(following) and _GOES_ON.match(sentences[following[count][0]].text):
        count += 1
    return count
