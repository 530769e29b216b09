"""What a file is, by its content and never by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_LFS = b"version https://git-lfs"
_HTML = re.compile(
    rb"^(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype html|html|head|body)\b", re.DOTALL
)
_LATEX = re.compile(r"^[^%\n]*\\(?:documentclass|documentstyle|begin\{document\}|section\*?\{|input\{)", re.MULTILINE)
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
_PAPER = re.compile(r"^\s*(?:abstract|references|bibliography|[1-9]\.?\s+introduction)\b", re.IGNORECASE | re.MULTILINE)
_LONGEST_REQUIREMENT = 20_000


@dataclass(frozen=True)
class Kind:
    """What content is: one of the kinds that are read, or None and the reason why it is refused, with what to do."""

    name: str | None
    reason: str = ""


def kind_of(content: bytes) -> Kind:
    """The kind of these bytes. An archive may turn out to be LaTeX source or a Word file."""
    start = content[:4096].lstrip().lower()
    if not content.strip():
        return Kind(None, "is empty; fetch the file again")
    if b"%PDF-" in content[:1024]:
        return Kind(PDF)
    if content.startswith(_LFS):
        return Kind(None, "is a Git LFS pointer, not the file itself; run `git lfs pull` where it comes from")
    if _HTML.match(start):
        return Kind(HTML)
    if content.startswith(b"PK\x03\x04"):
        return Kind(DOCX if b"word/" in content[:4096] or b"word/document.xml" in content else ARCHIVE)
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        return Kind(DOCX)
    if content.startswith(_PACKED) or content[_TAR[0] : _TAR[0] + 5] == _TAR[1]:
        return Kind(ARCHIVE)
    for magic, name in _REFUSED.items():
        if content.startswith(magic):
            return Kind(None, f"is {name}; give the paper as {READ}")
    return _text_kind(content)


def _text_kind(content: bytes) -> Kind:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if _LATEX.search(content.decode("latin-1")):
            return Kind(LATEX)
        return Kind(None, f"is not a paper that can be read (byte {error.start} is no UTF-8); give {READ}")
    if "\x00" in text:
        return Kind(None, f"is not a paper that can be read (it holds NUL bytes); give {READ}")
    if not any(character.isalnum() for character in text):
        return Kind(None, f"has no words in it; give the paper as {READ}")
    if _LATEX.search(text):
        return Kind(LATEX)
    headings = sum(bool(re.match(r"#{1,6}\s", line)) for line in text.splitlines()[:2000])
    if headings or text.startswith("---\n"):
        return Kind(MARKDOWN)
    return Kind(TEXT if _PAPER.search(text) or len(text) > _LONGEST_REQUIREMENT else REQUIREMENT)
