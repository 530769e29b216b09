"""Finds out which papers a folder holds: what is one beside what is none, and where there are several."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from phases.readers.kinds import DOCX, HTML, MARKDOWN, PDF, TEXT, kind_of
from pipeline.base.files import failure

_ENDINGS = (".pdf", ".docx", ".doc", ".html", ".htm", ".md", ".txt", ".tex")
_STARTS = 1 << 16
_MOST = 1000
_CLASS = re.compile(rb"^[^%\n]{0,200}\\documentclass(?![^\n]{0,200}\{standalone\})", re.MULTILINE)
_BEGIN = re.compile(rb"^[^%\n]{0,200}\\begin ?\{document\}", re.MULTILINE)
_READS_LIKE_ONE = re.compile(rb"^[#\s\d.]{0,9}(?:abstract|introduction)\b", re.IGNORECASE | re.MULTILINE)


def papers_beside(folder: str) -> list[str]:
    """The names of the files in a folder that are papers by their content. Of text, what reads like one."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith(_ENDINGS))[:_MOST]
        return [name for name in names if not name.startswith(".") and _is_paper(os.path.join(folder, name))]
    except OSError as error:
        raise failure("look into", folder, error) from error


def latex_papers(files: Mapping[str, bytes]) -> list[str]:
    """The sub-folders with a LaTeX document of their own, where nothing above them is one: several papers if several."""
    mains = [name for name, content in files.items() if _CLASS.search(content) and _BEGIN.search(content)]
    if any("/" not in name for name in mains):
        return []  # one paper, with what belongs to it
    return sorted({name.partition("/")[0] for name in mains})


def _is_paper(path: str) -> bool:
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    with open(path, "rb") as file:
        start = file.read(_STARTS)
    if start.startswith(b"PK\x03\x04"):
        return path.lower().endswith(".docx")
    kind = kind_of(start).name
    return kind in (PDF, DOCX) or (kind in (HTML, MARKDOWN, TEXT) and bool(_READS_LIKE_ONE.search(start)))
