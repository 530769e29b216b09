"""Find the address and the licence of a data set beside its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_URL = re.compile(r"https?://[^\s<>()\[\]{}\"'`|]{4,300}", re.IGNORECASE)
_MORE = re.compile(r"\s+([^\s<>()\[\]{}\"'`|]{1,300})")
_ENDS, _GOES_ON = tuple("/-_=&?%#~:"), tuple("/-_=&?%#~.")
"""What the piece of an address ends in that a line breaks, or the next one begins with."""
_MOST_PIECES = 3
_FILE = re.compile(
    r"\.(?:csv|tsv|txt|dat|data|json|jsonl|zip|tar|tgz|(?:tar\.)?(?:gz|bz2|xz)|npz|npy|mat|h5|hdf5|parquet|arff|xlsx)$",
    re.IGNORECASE,
)
"""Data themselves, and no page about them, on which somebody would have to look for the link."""
_LICENCE = re.compile(
    r"\b(?:CC[ -]BY(?:-(?:NC|SA|ND)){0,2}(?:[ -][1-4]\.[0-9])?|CC0(?: 1\.0)?|ODbL|Apache(?: License)?,? (?:Version )?2\.0"
    r"|(?:MIT|BSD|GPL)(?:-?[23](?:-Clause)?)?(?= licen[sc]e))"
)
_MARK = re.compile(r"\[\^([0-9]{1,3})\](?!:)")
_BEHIND = ".,;:!?*_"
"""Marks of the sentence, and no part of the address before them."""
_NEAR = 200
"""Characters from the name to what belongs to it."""


def find_link(name: str, text: str, others: Collection[str]) -> str:
    """The address of a file that a paper prints behind a data set's name, or in the footnote there; empty for none.

    `others`: the other data sets' names. What stands behind one of them is not this one's.
    """
    for near in _words_behind(name, text, others):
        notes = [_note(number, text) for number in _MARK.findall(near)]
        for url in _URL.findall(" ".join([near, *notes])):
            address = url.rstrip(_BEHIND)
            if _FILE.search(address.partition("?")[0].partition("#")[0]):
                return str(address)
    return ""


def printed_addresses(text: str) -> frozenset[str]:
    """The addresses that a text prints, each to its end; one that lines break in pieces, and with the next ones too."""
    found = set()
    for match in _URL.finditer(text):
        address, end = match.group(), match.end()
        found.add(address.rstrip(_BEHIND))
        for _ in range(_MOST_PIECES - 1):
            more = _MORE.match(text, end)
            if more is None or not (address.endswith(_ENDS) or more[1].startswith(_GOES_ON)):
                break
            address, end = address + more[1], more.end()
            found.add(address.rstrip(_BEHIND))
    return frozenset(found)


def find_licence(name: str, text: str, others: Collection[str]) -> str:
    """The licence that a paper names behind a data set's name; empty for none."""
    found = (_LICENCE.search(near) for near in _words_behind(name, text, others))
    return next((match[0] for match in found if match), "")


def _words_behind(name: str, text: str, others: Collection[str]) -> Iterator[str]:
    """What stands behind each mention of the name, in its paragraph, as far as the next data set."""
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?![\w/.-]*\w)", text):
        near = text[match.end() : match.end() + _NEAR].partition("\n")[0]
        ends = [near.find(other) for other in others if other in near and other != name and name not in other]
        yield near[: min(ends, default=_NEAR)]


def _note(number: str, text: str) -> str:
    match = re.search(rf"^\[\^{number}\]:(.*)$", text, re.MULTILINE)
    return match[1] if match else ""
