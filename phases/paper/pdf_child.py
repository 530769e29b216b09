"""The child process that reads one PDF and prints what it found as JSON. It may be killed at any time."""

from __future__ import annotations

import ctypes
import json
import resource
import signal
import sys
from importlib.metadata import version
from typing import Any

MEMORY = 4 * 1024**3
CPU_SECONDS = 100
LARGEST_OUTPUT = 64 * 1024 * 1024
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Reads the file named on the command line under limits of its own."""
    _die_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_OUTPUT, LARGEST_OUTPUT))
    json.dump(_read(sys.argv[1]), sys.stdout)


def _die_with_parent() -> None:
    """A run that is killed takes its child along (Linux only; elsewhere the limits end it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _read(path: str) -> dict[str, Any]:
    import liteparse

    found: dict[str, Any] = {
        "verdict": "ok",
        "reader": f"liteparse {version('liteparse')}",
        "pages": [],
        "title": None,
        "authors": [],
        "toc": [],
        "detail": "",
    }
    # ocr_enabled=False: with the default, a scanned page makes it download a language model.
    engine = liteparse.LiteParse(ocr_enabled=False, output_format="markdown", quiet=True, include_complexity=True)
    try:
        result = engine.parse(path)
    except liteparse.ParseError as error:
        locked = "password" in str(error).lower()
        return {**found, "verdict": "encrypted" if locked else "broken", "detail": " ".join(str(error).split())[:200]}
    found["pages"] = [page.markdown or "" for page in result.pages]
    found["verdict"] = _verdict(result.pages)
    if found["verdict"] == "ok":
        found |= _metadata(path)
    return found


def _verdict(pages: list[Any]) -> str:
    """Most pages decide. A scan has no text; a garbled text layer has the wrong letters."""
    reasons = [set(page.complexity.reasons if page.complexity else ()) for page in pages]
    if 2 * sum("garbled" in found for found in reasons) > len(pages):
        return "garbled_text"
    blank = sum(bool(found & {"no-text", "scanned"}) for found in reasons)
    if 2 * blank > len(pages) or not any(character.isalnum() for page in pages for character in page.text or ""):
        return "no_text"
    return "ok"


def _metadata(path: str) -> dict[str, Any]:
    """The PDF's own outline and title; a damaged one counts as none."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        entries = [
            {"title": mark.get_title(), "level": mark.level, "page": (mark.get_dest().get_index() or 0) + 1}
            for mark in document.get_toc()
            if mark.get_dest() is not None
        ]
        given = document.get_metadata_dict()
    except pypdfium2.PdfiumError:
        return {}
    authors = [name.strip() for name in given.get("Author", "").replace(" and ", ";").split(";") if name.strip()]
    return {"toc": entries, "title": given.get("Title", "").strip() or None, "authors": authors}


if __name__ == "__main__":
    main()
