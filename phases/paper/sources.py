"""Takes a paper in from the disk or from the net: which files it is made of, and of what kind they are."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from phases.paper.archive import unpack
from phases.paper.kinds import ARCHIVE, DOCX, ENDINGS, LATEX, PDF, READ, kind_of
from phases.paper.reading import BROKEN, Unreadable
from pipeline.errors import StorageError
from pipeline.files import read_bytes, sha256

LATEX_FILES = (".tex", ".ltx", ".latex", ".bbl", ".bib", ".sty", ".cls", ".def", ".cfg", ".tikz")
_MOST_FILES = 2000
_MOST_REFUSED = 100
_DEEPEST = 8
_NAMES = re.compile(
    r"\\(?:input|include|subfile|subfileinclude|bibliography|addbibresource|usepackage|documentclass|import\s*\{[^{}]{0,200}\})"
    r"\s*(?:\[[^\]]{0,300}\])?\s*\{([^{}]{1,2000})\}|\\input\s+([^\s{}\\%]{1,200})"
)


@dataclass(frozen=True)
class Source:
    """What a paper is made of. `files` are named as they will lie in the task's folder source/."""

    kind: str
    files: Mapping[str, bytes]
    refused: tuple[str, ...] = ()


def source_on_disk(path: str, limit: int) -> Source:
    """The paper in a file or a folder. Raises StorageError, or Unreadable for what is no paper."""
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return _latex(_walked(real, limit), nothing=f"holds no LaTeX source (no .tex file); give {READ}")
    content = read_bytes(real, limit=limit)
    source = source_of(content)
    if source.kind == LATEX and len(source.files) == 1 and kind_of(content).name == LATEX:
        return _latex(_reachable(real, limit), nothing="")
    return source


def source_of(content: bytes) -> Source:
    """The paper in these bytes. Raises Unreadable for what is no paper."""
    kind = kind_of(content)
    if kind.name is None:
        raise Unreadable(BROKEN, kind.reason)
    if kind.name != ARCHIVE:
        return Source(kind.name, {f"paper{ENDINGS[kind.name]}": content})
    opened = unpack(content)
    papers = [name for name in sorted(opened.files) if kind_of(opened.files[name]).name in (PDF, DOCX)]
    if not any(kind_of(member).name == LATEX for member in opened.files.values()) and len(papers) == 1:
        return source_of(opened.files[papers[0]])
    found = _latex(opened.files, nothing=f"is an archive without LaTeX source in it; give {READ}")
    return Source(found.kind, found.files, (*found.refused, *opened.refused)[:_MOST_REFUSED])


def _latex(files: Mapping[str, bytes], *, nothing: str) -> Source:
    """LaTeX source out of these files: its texts. Pictures and the like are left out, and told."""
    texts = {name: content for name, content in files.items() if name.lower().endswith(LATEX_FILES)}
    if not texts:
        texts = {f"{name}.tex": content for name, content in files.items() if kind_of(content).name == LATEX}
    if not any(kind_of(content).name == LATEX for content in texts.values()):
        raise Unreadable(BROKEN, nothing)
    left = [
        f"{name}: not part of the text" for name in sorted(files) if name not in texts and f"{name}.tex" not in texts
    ]
    return Source(LATEX, dict(sorted(texts.items())), tuple(left[:_MOST_REFUSED]))


def _walked(folder: str, limit: int) -> dict[str, bytes]:
    """The files of a folder by their paths in it. Links and hidden folders are not followed."""
    found: dict[str, bytes] = {}
    total = 0
    for base, folders, names in os.walk(folder):
        inside = os.path.relpath(base, folder)
        depth = 0 if inside == "." else inside.count(os.sep) + 1
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < _DEEPEST else []
        for name in sorted(names):
            path = os.path.join(base, name)
            if not name.lower().endswith(LATEX_FILES) or os.path.islink(path):
                continue
            content = read_bytes(path, limit=limit)
            total += len(content)
            if total > limit or len(found) >= _MOST_FILES:
                raise Unreadable(BROKEN, f"holds more LaTeX than a paper may ({limit:,} bytes, {_MOST_FILES} files)")
            found[posixpath.normpath(os.path.relpath(path, folder).replace(os.sep, "/"))] = content
    return found


def _reachable(path: str, limit: int) -> dict[str, bytes]:
    """A .tex file and what it names, directly or not, in its own folder and below it."""
    folder, name = os.path.split(path)
    todo, found, total = [name], dict[str, bytes](), 0
    while todo and len(found) < _MOST_FILES:
        name = todo.pop()
        if name in found:
            continue
        try:
            content = read_bytes(_inside(folder, name), limit=limit - total)
        except StorageError:
            if not found:
                raise
            continue
        found[name] = content
        total += len(content)
        todo += [other for other in _named_in(content, name) if os.path.isfile(_inside(folder, other))]
    return found


def _inside(folder: str, name: str) -> str:
    """The path of a name in a folder; a name that leads out of it, by dots or by links, leads nowhere."""
    real = os.path.realpath(os.path.join(folder, name))
    return real if real.startswith(folder.rstrip(os.sep) + os.sep) else os.path.join(folder, ".nowhere", name)


def _named_in(content: bytes, name: str) -> Iterator[str]:
    text = content.decode("utf-8", "replace")
    yield posixpath.normpath(f"{os.path.splitext(name)[0]}.bbl")
    for match in _NAMES.finditer(text):
        for part in (match.group(1) or match.group(2)).split(","):
            base = posixpath.normpath(part.strip())
            for ending in ("", ".tex", ".bib", ".sty", ".cls"):
                if not base.startswith(("/", "..")) and f"{base}{ending}".lower().endswith(LATEX_FILES):
                    yield f"{base}{ending}"


def digest_of(source: Source) -> str:
    """The sha256 of a paper: of its one file, or of the names and digests of its many."""
    contents = list(source.files.values())
    if len(contents) == 1:
        return sha256(contents[0])
    return sha256("".join(f"{sha256(data)}  {name}\n" for name, data in sorted(source.files.items())).encode())
