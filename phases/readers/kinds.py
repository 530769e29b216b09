"""What a file is, by its content and never by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from phases.readers.strange import few_words, recognized

PDF, LATEX, HTML, DOCX, MARKDOWN, TEXT, ARCHIVE = "pdf", "tex", "html", "docx", "md", "txt", "archive"
REQUIREMENT = "requirement"
PLAIN_PDF = "plain pdf"
"""No kind of source: how a PDF is read that the usual engine breaks on."""
ENDINGS = {
    PDF: ".pdf",
    LATEX: ".tex",
    HTML: ".html",
    DOCX: ".docx",
    MARKDOWN: ".md",
    TEXT: ".txt",
    REQUIREMENT: ".txt",
}
READ = "a PDF, LaTeX source (a folder, .tex or .tar.gz), HTML, a Word file (.docx), Markdown or plain text"
_JUDGED = 1 << 18
"""So many bytes tell what a text is: a source may be large, and an archive may hold many."""
_LFS = b"version https://git-lfs"
_BOM = b"\xef\xbb\xbf"
_HTML = re.compile(rb"<(?:!doctype html|html|head|body)\b")
_WORD = re.compile(rb"PK\x01\x02.{42}word/document\.xml", re.DOTALL)
_LATEX = re.compile(r"^[^%\n]{0,200}\\(?:documentclass|documentstyle|begin ?\{document\})", re.MULTILINE)
_LATEX_PIECE = re.compile(r"^[^%\n]{0,200}\\(?:section\*?|chapter\*?|input|begin) ?\{", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s", re.MULTILINE)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_TAR = (257, b"ustar")
_REFUSED = {
    b"7z\xbc\xaf": "a 7z archive",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%!PS": "PostScript",
    b"{\\rtf": "an RTF file",
    b"\x7fELF": "a program",
}
_BINARY = {
    b"Rar!": "a RAR archive",
    b"GIF8": "a picture",
    b"BM": "a picture",
    b"II*\x00": "a picture",
    b"MM\x00*": "a picture",
    b"RIFF": "a picture, a sound or a film",
    b"ID3": "a sound",
    b"OggS": "a sound",
    b"MZ": "a program",
    b"\x00asm": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"SQLite format 3\x00": "a database",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89HDF": "data (HDF5)",
    b"PAR1": "data (Parquet)",
}
"""These are letters as well: they count where NUL bytes follow, which no text has."""
_PAPER = re.compile(
    r"^[ \t]{0,9}(?:abstract|references|bibliography|[1-9]\.?[ \t]{1,9}introduction)\b", re.IGNORECASE | re.MULTILINE
)
_LONGEST_REQUIREMENT = 20_000


@dataclass(frozen=True)
class Kind:
    """What content is: one of the kinds that are read, or None and the reason why it is refused, with what to do."""

    name: str | None
    reason: str = ""


def kind_of(content: bytes) -> Kind:
    """The kind of these bytes. An archive may turn out to be LaTeX source or a Word file."""
    start = content[:_JUDGED]
    if not start.strip() and not content.strip():
        return Kind(None, "is empty; fetch the file again")
    if content.startswith(b"PK\x03\x04"):
        return Kind(DOCX if _WORD.search(content) else ARCHIVE)
    if content.startswith(_PACKED) or content[_TAR[0] : _TAR[0] + 5] == _TAR[1]:
        return Kind(ARCHIVE)
    if _is_pdf(content[:1029]):
        return Kind(PDF)
    if content.startswith(_LFS):
        return Kind(None, "is a Git LFS pointer, not the file itself; run `git lfs pull` where it comes from")
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        return Kind(DOCX)
    if _HTML.match(_without_comments(start.removeprefix(_BOM).lower())):
        return Kind(HTML)
    known = {**_REFUSED, **(_BINARY if b"\x00" in content[:4096] else {})}
    for magic, name in known.items():
        if content.startswith(magic):
            return Kind(None, f"is {name}; give the paper as {READ}")
    if not re.search(rb"[0-9A-Za-z\x80-\xff]", content):
        return Kind(None, f"has no words in it; give the paper as {READ}")
    return _text_kind(start, whole=len(content) <= _JUDGED)


def _is_pdf(start: bytes) -> bool:
    """A PDF may begin behind some bytes of rubbish, but a text that speaks of PDFs is none."""
    before, mark, after = start.partition(b"%PDF-")
    strange = any(byte < 9 or byte > 126 for byte in before + after[:200])
    return bool(mark) and (strange or not before.removeprefix(_BOM).strip())


def _without_comments(start: bytes) -> bytes:
    """The beginning of a page without white space and comments."""
    place = 0
    while True:
        while place < len(start) and start[place : place + 1].isspace():
            place += 1
        declaration = start.startswith(b"<?xml", place)
        if not declaration and not start.startswith(b"<!--", place):
            return start[place : place + 4096]
        end = start.find(b"?>" if declaration else b"-->", place)
        if end < 0:
            return b""
        place = end + 3


def _text_kind(start: bytes, *, whole: bool) -> Kind:
    """The kind of a text by its first stretch, whose last character may be cut."""
    try:
        text = start.decode("utf-8-sig") if whole else start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        old = start.decode("latin-1")
        if _LATEX.search(old) or _LATEX_PIECE.search(old):
            return Kind(LATEX)
        return Kind(None, f"is not a paper that can be read (byte {error.start} is no UTF-8); give {READ}")
    if "\x00" in text:
        return Kind(None, f"is not a paper that can be read (it holds NUL bytes); give {READ}")
    if whole and not re.search(r"[^\W_]", text):
        return Kind(None, f"has no words in it; give the paper as {READ}")
    piece = bool(_LATEX_PIECE.search(text))
    headed = bool(_HEADING.search(text)) or text.startswith("---\n")
    if _LATEX.search(text) and not headed:
        return Kind(LATEX)
    if not piece and (what := recognized(text)):
        return Kind(None, f"is {what}, and neither a paper nor a requirement; give the paper as {READ}")
    if headed:
        return Kind(MARKDOWN)
    if piece:
        return Kind(LATEX)
    if not whole or len(text) > _LONGEST_REQUIREMENT or _PAPER.search(text):
        return Kind(TEXT)
    if what := few_words(text):
        return Kind(None, f"is {what}, too little to plan from; say in a sentence or two what is to be built")
    return Kind(REQUIREMENT)
