"""Archives of papers, opened in memory: what is wrong with one is a verdict on the paper."""

from __future__ import annotations

from phases.readers.reading import BROKEN, Unreadable
from pipeline.base import archives


def unpack(data: bytes) -> archives.Unpacked:
    """The files in a tar (plain, gz, bz2, xz), a zip, or a gzip of one file; raises Unreadable and nothing else."""
    try:
        return archives.unpack(data)
    except archives.BadArchive as error:
        raise Unreadable(BROKEN, str(error)) from error
