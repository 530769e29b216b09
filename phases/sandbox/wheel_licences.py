"""Ask an index for the licences of wheels: a script that runs where packages are resolved, in the sandbox with network.

Standard input: an address of a wheel on each line. Standard output: one JSON object, address -> licence, of those that say one.
Only a wheel's metadata is fetched, which an index keeps beside it; a wheel on this machine is opened for it.
"""

from __future__ import annotations

import json
import re
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from functools import partial
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

SECONDS = 15
"""For all of them together. A review is not to wait longer for what is good to know and stops nothing."""
LONGEST = 100
_AT_ONCE = 16
_LARGEST = 2**20
_OSI = "License :: OSI Approved :: "


def find_licence(metadata: str) -> str:
    """Return the licence in a wheel's METADATA; empty if there is none, or a whole text."""
    told = HeaderParser().parsestr(metadata)
    classifiers = [line for line in told.get_all("Classifier", []) if line.startswith("License :: ")]
    named = [line.removeprefix(_OSI) for line in classifiers if line != _OSI.strip(" :")]
    # the field of before expressions often holds a whole text; its classifiers are short
    for text in (told.get("License-Expression", ""), told.get("License", ""), ", ".join(named)):
        if (words := " ".join(str(text).split())) and words.upper() != "UNKNOWN" and len(words) <= LONGEST:
            return words
    return ""


def read_metadata(address: str, deadline: float) -> str:
    """Return the METADATA of a wheel; empty if it cannot be read in time."""
    left = deadline - time.monotonic()
    parts = urlsplit(address)
    try:
        if parts.scheme == "file":
            with zipfile.ZipFile(unquote(parts.path)) as wheel:
                name = next(name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
                with wheel.open(name) as file:
                    return file.read(_LARGEST).decode("utf-8", "replace")
        if parts.scheme not in ("http", "https") or left <= 0:
            return ""
        with urlopen(f"{address.partition('#')[0]}.metadata", timeout=left) as reply:  # noqa: S310 - of these schemes
            return bytes(reply.read(_LARGEST)).decode("utf-8", "replace")
    except (OSError, ValueError, StopIteration, zipfile.BadZipFile):
        return ""


def main() -> int:
    addresses = sys.stdin.read().split()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        texts = pool.map(partial(read_metadata, deadline=time.monotonic() + SECONDS), addresses)
        found = {address: find_licence(text) for address, text in zip(addresses, texts, strict=True)}
    sys.stdout.write(json.dumps({address: licence for address, licence in found.items() if licence}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
