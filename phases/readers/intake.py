"""Load the source of a paper from a path, an address or an arXiv id, and record its origin."""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from phases.readers.kinds import (
    ARCHIVE,
    DOCX,
    HTML,
    KINDS,
    LATEX,
    MARKDOWN,
    PDF,
    READ,
    TEXT,
    TEXT_NAMES,
    TEXTS,
    kind_of,
    refused_text,
)
from phases.readers.origins import ArxivId, arxiv_id
from phases.readers.reading import BROKEN, OtherText, UnclearDirectory, Unreadable, unpack
from pipeline.base.credentials import why_no_source
from pipeline.base.errors import FileTooLarge, StorageError, UsageError
from pipeline.base.files import read_bytes, sha256, storage_error
from pipeline.base.logs import logger
from pipeline.base.safe_tree import open_file

_SECONDS_TO_CONNECT = 20
LATEX_FILES = (".tex", ".ltx", ".latex", ".bbl", ".bib", ".sty", ".cls", ".def", ".cfg", ".tikz")
_MAIN = (".tex", ".ltx", ".latex")
_MOST_FILES = 2000
_MOST_NAMES = 20_000
_MOST_VISITED = 200_000
_MOST_REFUSED = 100
_DEEPEST = 8
_SHELL_OF_A_PDF = 3000
"""A LaTeX document of fewer bytes that includes a PDF is only a wrapper for it."""
_NAMES = re.compile(
    r"\\(?:input|include|subfile|subfileinclude|bibliography|addbibresource|usepackage|documentclass)"
    r"\s{0,9}(?:\[[^\]\\]{0,300}\]\s{0,9})?\{([^{}\\]{1,2000})\}"
    r"|\\(?:sub)?(?:import|inputfrom|includefrom)\*?\s{0,9}\{([^{}\\]{1,200})\}\s{0,9}\{([^{}\\]{1,200})\}"
    r"|\\input\s{1,9}([^\s{}\\%]{1,200})"
)
NOTES = "notes"
"""Directory in source/ for the texts given with the paper."""
_ADDENDUM, _BLACKLIST = "addendum.md", "blacklist.txt"
_PAPERS = ("paper.pdf", "paper.md", "paper.tex", "paper.html", "paper.docx", "paper.txt")
_LARGEST_NOTE = 2 << 20
_LARGEST_TEX = 64 << 20
IN_ARCHIVES = "an archive must hold LaTeX source (a .tex file), or one PDF or Word file"
_ENDINGS = (".pdf", ".docx", ".doc", ".html", ".htm", ".md", ".txt", ".tex")
_CLAIMS = (".pdf", ".docx", ".tar.gz", ".tgz", ".zip")
"""A file with one of these names is meant as a paper, whatever it contains."""
_STARTS = 1 << 16
_MOST = 1000
_STANDALONE = re.compile(rb"^[^%\n]{0,200}\\documentclass[^\n]{0,200}\{standalone\}", re.MULTILINE)
_BEGIN = re.compile(rb"^[^%\n]{0,200}\\begin ?\{document\}", re.MULTILINE)
_READS_LIKE_ONE = re.compile(rb"^[#\s\d.]{0,9}(?:abstract|introduction)\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class IntakeLimits:
    """Limits of a source, and where downloads may come from."""

    bytes: int
    seconds: int
    arxiv: str
    """The server for papers named by an arXiv id."""
    private: bool
    """Whether addresses inside a private network are allowed."""
    environment: Mapping[str, str]
    """The user's environment, for its proxy settings."""
    blacklist: str = ""
    """Addresses that must not be requested."""
    anyway: bool = False
    """Accept any text, whatever it looks like."""


@dataclass(frozen=True)
class Download:
    """The final address of a download, and the arXiv paper it is, with a version if one was requested."""

    url: str
    content_type: str
    arxiv: str | None


def load_source(origin: str, limits: IntakeLimits, progress: Callable[[str], None]) -> tuple[Source, Download | None]:
    """Load the paper that `origin` names (a path, an address or an arXiv id), and return it with its download, if any.

    Raises StorageError, DownloadError, or Unreadable for anything but a paper.
    """
    # a file on disk wins: it may be named like an arXiv id
    if not os.path.lexists(origin):
        paper = arxiv_id(origin)
        if paper:
            return _from_arxiv(paper, limits, progress)
        if "://" in origin:
            return _download_source(origin, limits, progress)
    return source_on_disk(origin, limits.bytes, anyway=limits.anyway), None


def _from_arxiv(paper: ArxivId, limits: IntakeLimits, progress: Callable[[str], None]) -> tuple[Source, Download]:
    """Prefer the LaTeX source, whose structure is exact, to the PDF."""
    from pipeline.base.http.fetch import (
        DownloadError,
    )  # imported here: TLS costs 45 ms, and a paper on the disk needs none

    base = limits.arxiv.rstrip("/")
    try:
        source, fetched = _download_source(paper.source_url(base), limits, progress, paper.spelling)
        # arXiv may answer with a page that explains why there is no source
        if source.kind in (LATEX, PDF):
            return source, fetched
        logger.debug("arXiv has no source of {}: it sent {}; the PDF is taken", paper.spelling, source.kind)
    except (DownloadError, Unreadable) as error:
        # a busy server must not decide that the PDF is read instead of the source
        if isinstance(error, DownloadError) and error.transient:
            raise
        logger.debug("arXiv has no source of {} ({}); the PDF is taken", paper.spelling, error)
    return _download_source(paper.pdf_url(base), limits, progress, paper.spelling)


def _download_source(
    url: str, limits: IntakeLimits, progress: Callable[[str], None], paper: str | None = None
) -> tuple[Source, Download]:
    from pipeline.base.http import fetch, proxy  # imported here, as above

    progress(f"downloading {url}")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "download")
        allowed = fetch.DownloadLimits(limits.bytes, limits.seconds, _SECONDS_TO_CONNECT)
        fetched = fetch.fetch_url(
            url,
            path,
            allowed,
            private=limits.private,
            proxy=proxy.find_proxy(limits.environment),
            blacklist=limits.blacklist,
        )
        content = read_bytes(path, limit=limits.bytes)
    return source_of(content, anyway=limits.anyway), Download(fetched.url, fetched.content_type, paper)


@dataclass(frozen=True)
class Source:
    """The files of a paper. `files` has the names under which they are stored in the task's directory source/."""

    kind: str
    files: Mapping[str, bytes]
    refused: tuple[str, ...] = ()
    notes: Mapping[str, bytes] = field(default_factory=dict)
    """Texts that belong to the paper, by path."""
    chosen: str = ""
    """The file of a directory that is the paper, by its path in it; empty for a single file."""


def source_on_disk(path: str, limit: int, *, anyway: bool = False) -> Source:
    """Load the paper in a file or a directory. Raises StorageError, or Unreadable for anything but a paper.

    `anyway`: accept any text.
    """
    real = os.path.realpath(path)
    if found := find_bundle(real):
        return replace(_read_bundle(real, found, limit), chosen=found)
    if os.path.isdir(real):
        return _read_directory(real, limit)
    content = _read_file(path, limit)
    kind = kind_of(content, anyway=anyway).name
    if kind == LATEX:
        files, left = _follow_includes(real, content, limit)
        return _build_latex_source(files, left, nothing=f"holds no LaTeX source; give {READ}")
    if kind in TEXTS and not anyway and not path.lower().endswith(TEXT_NAMES):
        ending = os.path.splitext(path)[1]
        what = f"text in a {ending} file" if ending else "text in a file whose name has no ending like .txt or .md"
        raise OtherText(BROKEN, refused_text(what).reason)
    return source_of(content, anyway=anyway)


def _read_directory(directory: str, limit: int) -> Source:
    """Load the only paper at the top of a directory or one directory below. Raises UnclearDirectory if there are several."""
    files, left = _walk_directory(directory, limit)
    documents = find_documents(files)
    papers = [name for name in documents if "/" not in name]
    if not papers:
        papers = [*papers_in_directory(directory), *(name for name in documents if name.count("/") == 1)]
    papers = papers or _find_pieces({name: content for name, content in files.items() if "/" not in name})
    if len(papers) > 1:
        raise UnclearDirectory(papers)
    if not papers and documents:
        raise UnclearDirectory(documents, is_deep=True)
    if not papers:
        is_empty = not files and not os.listdir(directory)
        nothing = "is an empty directory: there is no paper in it" if is_empty else "holds no paper at its top"
        raise Unreadable(BROKEN, f"{nothing}; give {READ}")
    chosen = papers[0]
    if chosen not in files:
        return replace(source_of(_read_file(os.path.join(directory, chosen), limit)), chosen=chosen)
    for name in set(documents) - {chosen}:
        left.append(f"{name}: another document")
        del files[name]
    return replace(_build_latex_source(files, left, nothing="holds no LaTeX source"), chosen=chosen)


def _read_file(path: str, limit: int) -> bytes:
    """Read the file of a paper. Raises StorageError, or Unreadable for a file of keys."""
    content = read_bytes(os.path.realpath(path), limit=limit)
    if why := why_no_source(path, content):
        raise Unreadable(BROKEN, why)
    return content


def find_bundle(directory: str) -> str:
    """Return the name of the paper in a PaperBench directory (one paper.* next to an addendum or a blacklist), or ""."""
    if not any(os.path.isfile(os.path.join(directory, name)) for name in (_ADDENDUM, _BLACKLIST)):
        return ""
    papers = [name for name in _PAPERS if os.path.isfile(os.path.join(directory, name))]
    return papers[0] if papers else ""


def _read_bundle(directory: str, name: str, limit: int) -> Source:
    addendum = os.path.join(directory, _ADDENDUM)
    source = source_of(_read_file(os.path.join(directory, name), limit))
    notes = {addendum: read_note(addendum)} if os.path.isfile(addendum) else {}
    return replace(source, notes=notes)


def find_blacklist(directory: str) -> str:
    """Return the path of the blacklist in a PaperBench directory, or ""."""
    path = os.path.join(directory, _BLACKLIST)
    return path if find_bundle(directory) and os.path.isfile(path) else ""


def read_note(path: str) -> bytes:
    """Read a text that belongs to a paper. Raises UsageError if it is missing, too large, not UTF-8, or a file of keys."""
    if not os.path.isfile(path):
        raise UsageError(f"--with {path}: there is no such file")
    try:
        content = read_bytes(path, limit=_LARGEST_NOTE)
        content.decode("utf-8-sig")
    except FileTooLarge as error:
        raise UsageError(
            f"--with {path}: it is larger than {_LARGEST_NOTE >> 20} MB; data is given with --data"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--with {path}: it is not UTF-8 text; only Markdown and plain text can be given with a paper"
        ) from error
    if why := why_no_source(os.path.realpath(path), content):
        raise UsageError(f"--with {path} {why}")
    return content


def source_of(content: bytes, *, anyway: bool = False) -> Source:
    """Return the paper in these bytes. Raises Unreadable for anything but a paper. `anyway`: accept any text."""
    kind = kind_of(content, anyway=anyway)
    if kind.name is None:
        raise (OtherText if kind.is_text else Unreadable)(BROKEN, kind.reason)
    if kind.name != ARCHIVE:
        return Source(kind.name, {f"paper{KINDS[kind.name].suffix}": content})
    opened = unpack(content)
    kinds = {name: kind_of(member).name for name, member in opened.files.items()}
    papers = [name for name, found in kinds.items() if found in (PDF, DOCX)]
    latex = [opened.files[name] for name, found in kinds.items() if found == LATEX]
    wrapped = sum(map(len, latex)) < _SHELL_OF_A_PDF and any(rb"\includepdf" in member for member in latex)
    if len(papers) == 1 and (not latex or wrapped):
        return source_of(opened.files[papers[0]])
    if len(papers) > 1 and not latex:
        raise Unreadable(BROKEN, f"is an archive of {len(papers)} papers; unpack it, and give one of them")
    return _build_latex_source(
        opened.files, list(opened.refused), nothing=f"is an archive, and {IN_ARCHIVES}; give {READ}"
    )


def digest_of(source: Source) -> str:
    """Return the sha256 of a paper without its notes: of its one file, or of the names and digests of all files."""
    contents = list(source.files.values())
    if len(contents) == 1:
        return sha256(contents[0])
    return sha256("".join(f"{sha256(data)} {name}\0" for name, data in sorted(source.files.items())).encode())


def _build_latex_source(files: Mapping[str, bytes], left: list[str], *, nothing: str) -> Source:
    """Select the text files of LaTeX source. `refused` lists the others, such as pictures."""
    texts: dict[str, bytes] = {}
    found = False
    for name, content in sorted(files.items()):
        known = name.lower().endswith(LATEX_FILES)
        latex = (not known or name.lower().endswith(_MAIN)) and kind_of(content).name == LATEX
        found = found or latex
        if known or (latex and f"{name}.tex" not in files):
            texts[name if known else f"{name}.tex"] = content
        else:
            left.append(f"{name}: not part of the text")
    if not found:
        raise Unreadable(BROKEN, nothing)
    return Source(LATEX, texts, tuple(left[:_MOST_REFUSED]))


def _walk_directory(directory: str, limit: int) -> tuple[dict[str, bytes], list[str]]:
    """Read the LaTeX files of a directory by path, and list what is skipped. Links and hidden directories are not followed."""
    result: dict[str, bytes] = {}
    left: list[str] = []
    total = visited = 0
    for base, directories, names in os.walk(
        directory, onerror=lambda error: left.append(f"{_printable_name(error.filename)}: {error.strerror}")
    ):
        visited += len(names) + len(directories)
        if visited > _MOST_VISITED:
            raise Unreadable(BROKEN, f"holds more than {_MOST_VISITED:,} files; name the directory of the paper alone")
        inside = os.path.relpath(base, directory)
        depth = 0 if inside == "." else inside.count(os.sep) + 1
        if depth >= _DEEPEST and directories:
            left.append(f"{_printable_name(inside)}: directories deeper than {_DEEPEST}")
        directories[:] = sorted(name for name in directories if not name.startswith(".")) if depth < _DEEPEST else []
        for name in sorted(names):
            path = os.path.join(base, name)
            inner = posixpath.normpath(os.path.relpath(path, directory).replace(os.sep, "/"))
            if not name.lower().endswith(LATEX_FILES):
                continue
            if os.path.islink(path) or _printable_name(inner) != inner:
                left.append(f"{_printable_name(inner)}: a link, or an unprintable name")
                continue
            content = read_bytes(path, limit=limit)
            total += len(content)
            if total > limit or len(result) >= _MOST_FILES:
                raise Unreadable(BROKEN, f"holds more LaTeX than a paper may ({limit:,} bytes, {_MOST_FILES} files)")
            result[inner] = content
    return result, left


def _printable_name(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _follow_includes(path: str, content: bytes, limit: int) -> tuple[dict[str, bytes], list[str]]:
    """Read a .tex file and what it includes, directly or not, at or below its directory; list what is skipped."""
    # only files that are named: the directory may hold a hundred unrelated ones
    directory, name = os.path.split(path)
    main = name if name.lower().endswith(LATEX_FILES) else f"{name}.tex"
    main = main if _printable_name(main) == main else "main.tex"
    result = {main: content}
    left: list[str] = []
    total, todo = len(content), list(_names_included_in(content, main))
    seen = {main, *todo}
    while todo:
        name = todo.pop()
        real = _path_inside(directory, name)
        if real is None:
            continue
        if len(result) >= _MOST_FILES or len(seen) >= _MOST_NAMES:
            raise Unreadable(BROKEN, f"names more files than a paper may ({_MOST_FILES})")
        try:
            result[name] = read_bytes(real, limit=limit - total)
        except FileTooLarge:
            raise
        except StorageError as error:
            left.append(f"{_printable_name(name)}: {_printable_name(str(error))}")
            continue
        total += len(result[name])
        fresh = [other for other in _names_included_in(result[name], name) if other not in seen]
        seen.update(fresh)
        todo += dict.fromkeys(fresh)
    return result, left


def _path_inside(directory: str, name: str) -> str | None:
    """Return the path of a file inside a directory; None if it is missing or a name leads outside, by dots or links."""
    real = os.path.realpath(os.path.join(directory, name)) if "\0" not in name else ""
    return real if real.startswith(directory.rstrip(os.sep) + os.sep) and os.path.isfile(real) else None


def _names_included_in(content: bytes, name: str) -> Iterator[str]:
    """Return the paths that the includes in a file may mean, relative to the main file and to the file's own directory."""
    text = content.decode("utf-8", "replace")
    yield posixpath.normpath(f"{os.path.splitext(name)[0]}.bbl")
    own = posixpath.dirname(name)
    given: set[str] = set()
    for match in _NAMES.finditer(text):
        listed, base, imported, bare = match.groups()
        given.update([posixpath.join(base, imported)] if base else (listed or bare).split(","))
        if len(given) > _MOST_NAMES:
            break
    for part in sorted(given):
        for place in dict.fromkeys(("", own)):
            inner = posixpath.normpath(posixpath.join(place, part.strip()))
            for ending in ("", ".tex", ".bib", ".sty", ".cls"):
                if not inner.startswith(("/", "..")) and f"{inner}{ending}".lower().endswith(LATEX_FILES):
                    yield f"{inner}{ending}"


def papers_in_directory(directory: str) -> list[str]:
    """Return the names of the files in a directory that are papers by their content; a text must read like one."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.lower().endswith(_ENDINGS))[:_MOST]
        return [name for name in names if not name.startswith(".") and _is_paper(os.path.join(directory, name))]
    except OSError as error:
        raise storage_error("look into", directory, error) from error


def list_papers(directory: str) -> list[str]:
    """List the papers in a directory: its files that are or claim to be papers, and subdirectories with LaTeX or a paper.*.

    A directory with one LaTeX document at its top is one paper; with several, each is one. Raises StorageError.
    """
    try:
        entries = sorted(entry.name for entry in os.scandir(directory) if not entry.name.startswith("."))
    except OSError as error:
        raise storage_error("look into", directory, error) from error
    paths = {name: os.path.join(directory, name) for name in entries}
    documents = _documents_at_top(directory)
    if find_bundle(directory) or len(documents) == 1:
        return [directory]
    compiled = {f"{os.path.splitext(name)[0]}.pdf" for name in documents}
    named = {name for name in entries if name.lower().endswith(_CLAIMS) and os.path.isfile(paths[name])}
    named = {name for name in named if not is_other_archive(paths[name])}
    latex = {name for name in entries if os.path.isdir(paths[name]) and not os.path.islink(paths[name])}
    latex = {
        name
        for name in latex
        if any(os.path.isfile(os.path.join(paths[name], paper)) for paper in _PAPERS) or _documents_at_top(paths[name])
    }
    found = named | latex | set(papers_in_directory(directory))
    return [paths[name] for name in sorted((found - compiled).union(documents))]


def is_other_archive(path: str) -> bool:
    """Return whether a file is an intact zip without a paper, such as code written by `pipeline export`."""
    # by the names in its central directory: unpacking every archive would take as long as reading it
    if not path.lower().endswith(".zip"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # phase 01 reports what is wrong with it
    return not any(name.lower().endswith((*_MAIN, ".pdf", ".docx")) for name in names)


def find_documents(files: Mapping[str, bytes]) -> list[str]:
    """Return the names of the LaTeX documents among files: those with a body that no other file includes."""
    sources = {name: content for name, content in files.items() if name.lower().endswith(_MAIN)}
    bodies = [name for name, text in sources.items() if _BEGIN.search(text) and not _STANDALONE.search(text)]
    if len(bodies) < 2:
        return bodies
    included = _list_included(sources)
    return sorted(name for name in bodies if name not in included)


def _find_pieces(files: Mapping[str, bytes]) -> list[str]:
    """Return the names of LaTeX files without a document body: parts of a document."""
    sources = {name: content for name, content in files.items() if name.lower().endswith(_MAIN)}
    included = _list_included(sources)
    return sorted(name for name in sources if name not in included and kind_of(sources[name]).name == LATEX)


def _list_included(sources: Mapping[str, bytes]) -> set[str]:
    return {other for name, content in sources.items() for other in _names_included_in(content, name) if other != name}


def _documents_at_top(directory: str) -> list[str]:
    paths = {name: os.path.join(directory, name) for name in os.listdir(directory) if name.lower().endswith(_MAIN)}
    regular = {name: path for name, path in paths.items() if os.path.isfile(path) and not os.path.islink(path)}
    return find_documents({name: read_bytes(path, limit=_LARGEST_TEX) for name, path in regular.items()})


def _is_paper(path: str) -> bool:
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    with open_file(path) as file:
        start = file.read(_STARTS)
    if start.startswith(b"PK\x03\x04"):
        return path.lower().endswith(".docx")
    kind = kind_of(start).name
    return kind in (PDF, DOCX) or (kind in (HTML, MARKDOWN, TEXT) and bool(_READS_LIKE_ONE.search(start)))
