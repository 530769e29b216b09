"""What a file is, by its content and never by its name."""

from __future__ import annotations

from dataclasses import dataclass

PDF, MARKDOWN, TEXT = "pdf", "md", "txt"
ENDINGS = {PDF: ".pdf", MARKDOWN: ".md", TEXT: ".txt"}
_LFS = b"version https://git-lfs"
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive (a Word file, perhaps)",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%!PS": "PostScript",
    b"{\\rtf": "an RTF file",
    b"\xd0\xcf\x11\xe0": "an old Word file",
    b"\x7fELF": "a program",
}


@dataclass(frozen=True)
class Kind:
    """What content is: one of the kinds that are read, or None and the reason why it is refused, with what to do."""

    name: str | None
    reason: str = ""


def kind_of(data: bytes) -> Kind:
    """The kind of these bytes."""
    start = data[:1024].lstrip().lower()
    if not data.strip():
        return Kind(None, "is empty; fetch the file again")
    if b"%PDF-" in data[:1024]:
        return Kind(PDF)
    if data.startswith(_LFS):
        return Kind(None, "is a Git LFS pointer, not the file itself; run `git lfs pull` where it comes from")
    if start.startswith(_HTML):
        return Kind(None, "is an HTML page, perhaps a login page saved by mistake; download the paper itself as PDF")
    for magic, name in _ARCHIVES.items():
        if data.startswith(magic):
            return Kind(None, f"is {name}; give the paper as PDF, Markdown or plain text")
    return _text_kind(data)


def _text_kind(data: bytes) -> Kind:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Kind(
            None, f"is neither a PDF nor UTF-8 text (byte {error.start}); give the paper as PDF, Markdown or plain text"
        )
    if "\x00" in text:
        return Kind(
            None, "is neither a PDF nor text (it holds NUL bytes); give the paper as PDF, Markdown or plain text"
        )
    if not any(character.isalnum() for character in text):
        return Kind(None, "has no words in it; give the paper as PDF, Markdown or plain text")
    headings = sum(line.startswith("#") for line in text.splitlines()[:2000])
    return Kind(MARKDOWN if headings or text.startswith("---\n") else TEXT)
