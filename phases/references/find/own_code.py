"""Which repository is the paper's own: only where the paper says so.

Both errors cost: own code that is shown makes the reproduction worthless, and the code that a paper builds on helps most, so
it must not be left out. The first of these rules that fits decides; `the words` are the sentence up to the address, without
what another address before it has said, and of a footnote that holds nothing else the sentence up to its mark:

1. the owner bears an author's name, and the repository the name that the title coins: own, whatever the words are;
2. between a claim in the first person (our code, we release, the code to reproduce the results) and the address stands no
   verb of use (uses, follows, relies on, extends, is modified from), nobody else's code (their, X's, of X) and no citation: own;
3. the words use what lies there, credit others, or cite somebody: not own, and no later rule is asked;
4. the words say that code lies there or that it is given away, and the repository bears the name that the title coins, or the
   words say that it is the code of that name: own, on every page;
5. the words say that code lies there, on the first page or in the abstract, or with an owner who bears an author's name: own;
6. the first page links it, and it bears the name that the title coins, or the link is nothing but the word code: own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.references.find.authors import surname_of
from phases.references.find.claims import (
    claim_position,
    has_citation,
    is_credited_to_others,
    is_label,
    is_offered,
    is_used,
    says_available,
    without_asides,
)
from phases.references.find.text import letters_of, shorten_text

_ENDING = re.compile(r"[-_.]?(?:official|code|pytorch|torch|tf|jax|release|public|main|paper|py)$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|www\.|git@|(?:github|gitlab|gitee|codeberg|bitbucket)\.)[!-~]{3,300}")
_JOINED = re.compile(r"[\s,;&()]*(?:and|und|et|y|or|with|mirror|和)?[\s,;&()]*")
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"})


class Linked(NamedTuple):
    """A repository's address where the paper gives it, with the words around it."""

    repository: str
    page: int
    sentence: str
    """The sentence, or the footnote, that holds the address."""
    before: str
    """The part of it before the address."""
    early: bool
    """On the first page, in the abstract, or in a footnote of either."""
    after: str = ""
    """The part of it behind the address."""


def own_reason(linked: Linked, outline: Mapping[str, Any]) -> str | None:
    """Why the repository is the paper's own, in words for a person; None where nothing says so. The rules are above."""
    said = f'"{shorten_text(linked.sentence, 160)}"'
    owner, name = linked.repository.split("/")[-2:]
    author, coined = _author_owner(owner, outline), _is_coined(name, outline)
    if author and coined:
        return f"its owner bears the name of the author {author}, and it the name in the paper's title: {said}"
    words = without_asides(_since_last_address(linked.before))
    claim = claim_position(words)
    if claim is not None and not _is_of_others(words[claim:], linked.after):
        return f"the paper calls it its own: {said}"
    if _is_of_others(words, linked.after) and not _names_paper(words, outline):
        return None
    available = says_available(words) or is_label(words)
    if (
        (available or is_offered(words))
        and (coined or _names_paper(words, outline))
        and not _is_credited(words, linked)
    ):
        return f"it is said to hold the code of what the title names: {said}"
    if available and linked.early:
        return f"the paper's first page says where its code is: {said}"
    if available and author:
        return f"its owner bears the name of the author {author}: {said}"
    if linked.early and coined:
        return f"the first page links it, and it bears the name in the paper's title: {said}"
    return None


def _is_of_others(words: str, after: str) -> bool:
    return is_used(words, after) or is_credited_to_others(words) or has_citation(words) or has_citation(after[:60])


def _is_credited(words: str, linked: Linked) -> bool:
    """Whether others are credited, where the words `code of X` were excused, as X is the paper's own name."""
    return is_used(words, linked.after) or has_citation(words) or has_citation(linked.after[:60])


def _since_last_address(before: str) -> str:
    """The words behind another address of the same sentence; all of them where the two are only joined by `and`."""
    addresses = list(_ADDRESS.finditer(before))
    if not addresses or _JOINED.fullmatch(before, addresses[-1].end()):
        return before
    return before[addresses[-1].end() :]


def _author_owner(owner: str, outline: Mapping[str, Any]) -> str | None:
    """The author whose surname the owner's name holds."""
    key = letters_of(owner)
    for author in outline.get("authors", ())[:60]:
        for last in (surname_of(author), surname_of(author.lower().translate(_SPELLED_OUT))):
            if len(last) >= 4 and last in key:
                return str(author)
    return None


def _names_paper(words: str, outline: Mapping[str, Any]) -> bool:
    """`The source code of RICE can be found in`, `we release RICE`: whether what is there is a name that the title coins."""
    of = re.search(
        r"\b(?:code|implementation|repository|Code)\s(?:of|for|von|de)\s(?:the\s)?([A-Z][\w+*-]{1,40})", words
    )
    itself = re.search(r"(?:^|\brelease[sd]?\s|\bsource\s|\bpublish\s)([A-Z][\w+*-]{1,40})\b", words)
    return any(found is not None and _is_coined(found.group(1), outline) for found in (of, itself))


def _is_coined(name: str, outline: Mapping[str, Any]) -> bool:
    """Whether a name is one that the title gives to what the paper makes, and no word of every day."""
    title = str(outline.get("title") or "")[:500]
    head, colon, _ = title.partition(":")
    key = letters_of(_ENDING.sub("", name)) or letters_of(name)
    if len(key) < 4:
        return False
    words = re.findall(r"[\w+*-]+", title)
    own_words = re.findall(r"[\w+*-]+", head) if colon and len(head.split()) <= 2 else []
    odd = [word for word in words if word[1:] != word[1:].lower() or any(sign.isdigit() for sign in word)]
    if key in {letters_of(word) for word in own_words or (odd if not title.isupper() else [])}:
        return True
    small = [letters_of(word) for word in words]
    joined = ["".join(small[at:end]) for at in range(len(small)) for end in range(at + 2, min(len(small), at + 8) + 1)]
    return len(key) >= 8 and key in joined
