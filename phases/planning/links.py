"""Find the address and the licence of a data set beside its name."""

from __future__ import annotations

import re
from collections.abc import Collection

_URL = re.compile(r"https?://[^\s<>()\[\]{}\"'`|]{4,300}", re.IGNORECASE)
_MORE = re.compile(r"\s+([^\s<>()\[\]{}\"'`|]{1,300})")
_ENDS, _GOES_ON = tuple("/-_=&?%#~:"), tuple("/-_=&?%#~.")
"""How a piece of an address ends that a line breaks, and how the next one begins."""
_MOST_PIECES, _NEAR, _BEHIND = 3, 200, ".,;:!?*_"
_FILE = re.compile(
    r"\.(?:csv|tsv|txt|dat|data|json|jsonl|zip|tar|tgz|gz|bz2|xz|npz|npy|mat|h5|hdf5|parquet|arff|xlsx)$", re.IGNORECASE
)
"""A file, and not a page on which somebody would have to look for it."""
_LICENCE = re.compile(
    r"\b(?:CC[ -]BY(?:-(?:NC|SA|ND)){0,2}(?:[ -][1-4]\.[0-9])?|CC0(?: 1\.0)?|ODbL|Apache(?: License)?,? (?:Version )?2\.0"
    r"|(?:MIT|BSD|GPL)(?:-?[23](?:-Clause)?)?(?= licen[sc]e))"
)
_MARK = re.compile(r"\[\^([0-9]{1,3})\](?!:)")


def link_and_licence(name: str, text: str, others: Collection[str]) -> dict[str, str]:
    """Return the address of a file and the licence behind a data set's name, as far as the next data set of `others`."""
    found: dict[str, str] = {}
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?![\w/.-]*\w)", text):
        near = text[match.end() : match.end() + _NEAR].partition("\n")[0]
        ends = [near.find(other) for other in others if other in near and other != name and name not in other]
        near = near[: min(ends, default=_NEAR)]
        notes = (re.search(rf"^\[\^{number}\]:(.*)$", text, re.MULTILINE) for number in _MARK.findall(near))
        for url in _URL.findall(" ".join([near, *(note[1] for note in notes if note)])):
            address = url.rstrip(_BEHIND)
            if _FILE.search(address.partition("?")[0].partition("#")[0]):
                found.setdefault("address", address)
        if licence := _LICENCE.search(near):
            found.setdefault("licence", licence[0])
    return found


def printed_addresses(text: str) -> frozenset[str]:
    """Return the addresses that a text prints; one that lines break in pieces, and with the next ones too."""
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
