"""What a user names as a source (a path, an address or an arXiv id): in the one spelling that tasks keep, and by a short name."""

from __future__ import annotations

import os
import re

from phases.readers.arxiv import arxiv_id

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def canonical_origin(origin: str) -> str:
    """A path in full, an address as it is, an arXiv id as tasks know it. What is on the disk is a path, whatever its name."""
    is_address = _ADDRESS.match(origin)
    paper = arxiv_id(origin) if is_address or not os.path.lexists(origin) else None
    if paper:
        return f"arXiv:{paper.spelling}"
    return origin if is_address else os.path.abspath(origin)


def is_path(origin: str) -> bool:
    """Whether it names something on the disk, be it there or not."""
    return os.path.isabs(canonical_origin(origin))


def name_of_origin(origin: str) -> str:
    """A short name: that of the file, of the last part of an address, or of the paper."""
    if not os.path.lexists(origin) and (paper := arxiv_id(origin)):
        return f"arxiv-{paper.spelling}"
    path = origin.partition("?")[0].partition("#")[0] if "://" in origin else origin
    base = os.path.basename(path.rstrip("/"))
    for ending in (".tar.gz", ".tar.bz2", ".tar.xz"):
        base = base.removesuffix(ending)
    return base.rsplit(".", 1)[0] or base
