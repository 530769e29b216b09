"""Reads a paper that is a Word document (.docx)."""

from __future__ import annotations

import posixpath
import re

from phases.readers.archive import unpack
from phases.readers.dialect.beside import Found
from phases.readers.dialect.blocks import HEADING, compose, one_line, visible
from phases.readers.docx.body import Body
from phases.readers.docx.line import Beside
from phases.readers.docx.styles import Numbering, Styles
from phases.readers.docx.xml import Node, parse_xml
from phases.readers.reading import BROKEN, ENCRYPTED, OK, Reading, Unreadable

READER = "docx 1"
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED, _OLD_WORD = ("EncryptedPackage".encode("utf-16-le"), "WordDocument".encode("utf-16-le"))
_MAIN, _CORE = "word/document.xml", "docProps/core.xml"
_LONGEST_TITLE, _LONGEST_NAME = 400, 200


def read_docx(data: bytes) -> Reading:
    """The reading of a Word document, as one page."""
    files = _unpacked(data)
    main = _main_part(files)
    folder = posixpath.dirname(main)
    found = Found("", dollars=False)
    beside = Beside(Styles(_part(files, f"{folder}/styles.xml")), found, _addresses(files, main))
    body = Body(beside, Numbering(_part(files, f"{folder}/numbering.xml")))
    document = parse_xml(files[main], main).find("w:document", "w:body")
    if document is None:
        raise Unreadable(BROKEN, f"{main} holds no text of a document")
    body.read(document)
    _read_notes(files, folder, beside, body.numbering)
    core = _part(files, _CORE)
    title, authors = _title(body, core), _authors(body, core)
    text = compose(body.blocks, title=title, authors=authors, notes=found.notes.texts)
    if not any(map(str.isalnum, text)):
        raise Unreadable(BROKEN, "is a Word document without words")
    return Reading(OK, READER, (text,), title, authors, tuple(found.links), tuple(beside.hidden))


def _unpacked(data: bytes) -> dict[str, bytes]:
    if data.startswith(_OLE):
        if _OLD_WORD in data and _ENCRYPTED not in data:
            raise Unreadable(BROKEN, "is an old Word file (.doc); save it as .docx or PDF")
        raise Unreadable(ENCRYPTED, "is a Word document with a password")
    if not data.startswith(b"PK"):
        raise Unreadable(BROKEN, "is no Word document: a .docx is a zip archive")
    return unpack(data).files


def _main_part(files: dict[str, bytes]) -> str:
    """The name of the part with the text, which is not the same in all documents."""
    for relation in _relations(files, "_rels/.rels"):
        target = relation.attributes.get("Target", "").lstrip("/")
        if relation.attributes.get("Type", "").endswith("/officeDocument") and target in files:
            return target
    if _MAIN not in files:
        raise Unreadable(BROKEN, f"is a zip archive without {_MAIN}, so no Word document")
    return _MAIN


def _part(files: dict[str, bytes], name: str) -> Node | None:
    """The outermost element of a part, if the document has that part."""
    return next(iter(parse_xml(files[name], name).children), None) if name in files else None


def _relations(files: dict[str, bytes], name: str) -> list[Node]:
    part = _part(files, name)
    return [one for one in part.children if one.name == "rel:Relationship"] if part else []


def _addresses(files: dict[str, bytes], part: str) -> dict[str, str]:
    folder, name = posixpath.split(part)
    return {
        one.attributes.get("Id", ""): one.attributes.get("Target", "")
        for one in _relations(files, f"{folder}/_rels/{name}.rels")
        if one.attributes.get("TargetMode") == "External"
    }


def _read_notes(files: dict[str, bytes], folder: str, beside: Beside, numbering: Numbering) -> None:
    """Takes the texts of the footnotes that the document points to."""
    for kind in ("footnote", "endnote"):
        name = f"{folder}/{kind}s.xml"
        part = _part(files, name)
        beside.addresses = _addresses(files, name)
        for note in part.children if part else ():
            key = f"{kind} {note.attributes.get('w:id', '')}"
            if note.attributes.get("w:type", "normal") == "normal" and beside.found.notes.knows(key):
                inner = Body(beside, numbering)
                inner.read(note)
                beside.found.notes.texts[beside.found.notes.number(key)] = inner.line()


def _title(body: Body, core: Node | None) -> str | None:
    headings = (block.text for block in body.blocks if block.kind == HEADING)
    told = core.find("dc:title") if core else None
    written = one_line(visible(told.text)) if told else ""
    written = "" if written.startswith("Microsoft Word") else written  # the name of a file, which Word took for a title
    title = " ".join(body.titles) or written or next(headings, "")
    return title[:_LONGEST_TITLE] or None


def _authors(body: Body, core: Node | None) -> tuple[str, ...]:
    told = core.find("dc:creator") if core else None
    lines = body.authors or ([visible(told.text)] if told else [])
    names = [one_line(name) for line in lines for name in re.split(r"[,;、，\n]|\band\b|\bund\b", line)]
    clean = (re.sub(r"\^(?:\{[^{}]*\}|\w)|[*†‡§]", "", name).strip() for name in names)
    return tuple(dict.fromkeys(name for name in clean if 1 < len(name) <= _LONGEST_NAME))
