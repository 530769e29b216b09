"""Define the supported formats, and detect the format of a file by its content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec

PDF, LATEX, HTML, DOCX, MARKDOWN, TEXT, ARCHIVE = "pdf", "tex", "html", "docx", "md", "txt", "archive"
REQUIREMENT = "requirement"


@dataclass(frozen=True)
class InputKind:
    """A supported format, with everything the project needs to know about it outside its reader."""

    label: str
    """Name in messages; empty for a format that messages never ask for."""
    suffix: str
    """Suffix of the file, which is stored in the task as `paper` plus this."""
    reader: str
    """The worker's function InputFile -> Reading, as `module:function` within phases.readers.

    It is imported in the worker only, so that this table loads no reader.
    """
    fallback: str = ""
    """A second function of this kind, called when the first one crashes."""


# To add a format: a row here, its reader, detection in kind_of, and its name in schemas/input.schema.json.
KINDS = {
    PDF: InputKind("a PDF", ".pdf", "pdf.reader:read_pdf_input", fallback="pdf.reader:read_pdf_plainly"),
    LATEX: InputKind("LaTeX source (a directory, .tex or .tar.gz)", ".tex", "latex.reader:read_latex_input"),
    HTML: InputKind("HTML", ".html", "html.reader:read_html_input"),
    DOCX: InputKind("a Word file (.docx)", ".docx", "docx.reader:read_docx_input"),
    MARKDOWN: InputKind("Markdown", ".md", "text:read_markdown_input"),
    TEXT: InputKind("plain text", ".txt", "text:read_text_input"),
    REQUIREMENT: InputKind("", ".txt", "text:read_requirement_input"),
}
PDF_READERS = {"docling": "pdf.docling:read_docling_input"}
"""Optional PDF engines that a user may install and select with --reader; functions as in `InputKind.reader`."""
DOCLING_MODELS = "docling-tools models download"
"""Command that downloads the models of docling."""
_LABELS = [kind.label for kind in KINDS.values() if kind.label]
READ = f"{', '.join(_LABELS[:-1])} or {_LABELS[-1]}"
# every repetition below is bounded: these patterns meet hostile text in the run itself, outside the worker
_JUDGED = 1 << 18
"""Bytes of a text that are inspected."""
_LFS = b"version https://git-lfs"
_BOM = b"\xef\xbb\xbf"
_HTML = re.compile(rb"<(?:!doctype html|html|head|body)\b")
_WORD = re.compile(rb"PK\x01\x02.{42}word/document\.xml", re.DOTALL)
_LATEX = re.compile(r"^[^%\n]{0,200}\\(?:documentclass|documentstyle|begin ?\{document\})", re.MULTILINE)
_PLAIN_TEX = re.compile(
    r"^[ \t]{0,20}\\(?:bye\b|beginsection\b|magnification\b|topmatter\b|input (?:amstex|eplain|harvmac)\b|proclaim\b"
    r"|(?:center|left)line ?\{)",
    re.MULTILINE,
)
_LATEX_PIECE = re.compile(r"^[^%\n]{0,200}\\(?:section\*?|chapter\*?|input|begin) ?\{", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s", re.MULTILINE)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_TAR = (257, b"ustar")
_REFUSED = {
    b"7z\xbc\xaf": "a 7z archive", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"%!PS": "PostScript",
    b"{\\rtf": "an RTF file", b"\x7fELF": "a program",
}  # fmt: skip
_BINARY = {
    b"Rar!": "a RAR archive", b"GIF8": "a picture", b"BM": "a picture", b"II*\x00": "a picture", b"MM\x00*": "a picture",
    b"RIFF": "a picture, a sound or a film", b"ID3": "a sound", b"OggS": "a sound", b"MZ": "a program",
    b"\x00asm": "a program", b"\xca\xfe\xba\xbe": "a program", b"\xcf\xfa\xed\xfe": "a program",
    b"SQLite format 3\x00": "a database", b"\x93NUMPY": "an array of NumPy", b"\x89HDF": "data (HDF5)",
    b"PAR1": "data (Parquet)",
}  # fmt: skip
"""These magic numbers are also letters: they count only before NUL bytes, which text never has."""
_PAPER = re.compile(
    r"^[ \t]{0,9}(?:abstract|references|bibliography|[1-9]\.?[ \t]{1,9}introduction)\b", re.IGNORECASE | re.MULTILINE
)
_LONGEST_REQUIREMENT = 20_000
_LINES, _LONGEST = 400, 400
"""Inspected lines of a text, and characters of each."""
_LEAST_WORDS = 3
_FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_MAIL = re.compile(
    r"(?:from|to|cc|subject|date|received|message-id|mime-version|return-path|reply-to|delivered-to):\s", re.IGNORECASE
)
_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]{1,40}:|[ \t])")
_CODE = re.compile(
    r"(?:(?:async )?def \w+\(|class \w+[(:{ ]?[^.]*[:{]$|import [\w.{*]+[\w., {}*;\"'@/-]*$|from [\w.]+ import "
    r"|#\s?include\s?[<\"]|(?:public|private|protected|static|const|let|var|fn|func|function|package|using|namespace|struct|template|typedef)\b"
    r"[^.]*[;{(=]?$"
    r"|return\b.*;?$|(?:if|for|while|elif|switch|catch)\b.*[:{]$|(?:else|try|finally)\s?[:{]$|@\w+(?:\(.*\))?$"
    r"|[}\])]+[;,]?$|(?:raise|assert|yield|await|with|except)\b.*[:)\w]$"
    r"|[\w.\[\]\"']+(?::\s?[\w.\[\], |]+)?\s?(?:[+*/-]|<-)?=\s?[^=].*$|[\w.]+\(.*\);?$|.*[()=\[\]<>{}].*[;{]$|//|/\*|\"\"\")"
)
_PROSE = re.compile(r"[.!?][\"')\]]?$")
_NUMBER = re.compile(r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?%?|")
_TIME = re.compile(r"\W?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d)")
"""Text lines with a timestamp in front are a log."""


TEXTS = (MARKDOWN, TEXT, REQUIREMENT)
TEXT_NAMES = (".md", ".markdown", ".txt", ".text", ".rst", ".tex", ".ltx", ".latex")
"""Suffixes of text files that hold a paper or a requirement. Other formats are detected by content."""


@dataclass(frozen=True)
class Kind:
    """The format of some content, or None with the reason for refusing it and the next step."""

    name: str | None
    reason: str = ""
    is_text: bool = False
    """Whether it could still be read as text."""


def refused_text(what: str) -> Kind:
    """Return the refusal of a text that is taken for something else."""
    return Kind(None, f"is {what}, and neither a paper nor a requirement; give the paper as {READ}", is_text=True)


def kind_of(content: bytes, *, anyway: bool = False) -> Kind:
    """Return the format of these bytes. An archive may hold LaTeX source or a Word file. `anyway`: accept any text."""
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
    return _text_kind(start, whole=len(content) <= _JUDGED, anyway=anyway)


def _is_pdf(start: bytes) -> bool:
    """Return whether content is a PDF, which may start after a few bytes; a text that mentions PDFs is not one."""
    before, mark, after = start.partition(b"%PDF-")
    strange = any(byte < 9 or byte > 126 for byte in before + after[:200])
    return bool(mark) and (strange or not before.removeprefix(_BOM).strip())


def _without_comments(start: bytes) -> bytes:
    """Return the start of a page without white space and comments."""
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


def _text_kind(start: bytes, *, whole: bool, anyway: bool) -> Kind:
    try:
        text = start.decode("utf-8-sig") if whole else start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        old = start.decode("latin-1")
        if _LATEX.search(old) or _LATEX_PIECE.search(old) or _PLAIN_TEX.search(old):
            return Kind(LATEX)
        return Kind(None, f"is not a paper that can be read (it is not valid UTF-8 at byte {error.start}); give {READ}")
    if "\x00" in text:
        return Kind(None, f"is not a paper that can be read (it holds NUL bytes); give {READ}")
    if whole and not re.search(r"[^\W_]", text):
        return Kind(None, f"has no words in it; give the paper as {READ}")
    piece = bool(_LATEX_PIECE.search(text) or _PLAIN_TEX.search(text))
    heading, latex = _HEADING.search(text), _LATEX.search(text)
    headed = bool(heading) or text.startswith("---\n")
    # comments of a LaTeX program look like headings: what comes first decides
    if latex and not (text.startswith("---\n") or (heading and heading.start() < latex.start())):
        return Kind(LATEX)
    if not (piece or anyway) and (what := why_no_paper(text)):
        return refused_text(what)
    if headed:
        return Kind(MARKDOWN)
    if piece:
        return Kind(LATEX)
    if not whole or len(text) > _LONGEST_REQUIREMENT or _PAPER.search(text):
        return Kind(TEXT)
    if what := why_too_short(text):
        return Kind(None, f"is {what}, too little to plan from; say in a sentence or two what is to be built")
    return Kind(REQUIREMENT)


def why_no_paper(text: str) -> str | None:
    """Name what a text is instead of a paper or a requirement ("a mail"); None if it may be one."""
    start = text.lstrip("\ufeff").lstrip()
    lines = [line[:_LONGEST] for line in text.splitlines()[:_LINES] if line.strip()]
    if start.startswith(("<?xml", "<svg")):
        return "an SVG picture" if "<svg" in start[:2000] else "XML"
    if _is_json(start):
        return "JSON"
    if _is_mail(start):
        return "a mail"
    if start.startswith("#!"):
        return "a script"
    if _is_table(lines):
        return "a table (CSV)"
    if _is_code(text):
        return "source code"
    if sum(bool(_TIME.match(line)) for line in lines) > 0.5 * len(lines):
        return "a log"
    return None


def why_too_short(text: str) -> str | None:
    """Describe a text with too few words to plan from, or return None. Not every script separates words."""
    words = re.findall(r"[^\W\d_]+", text[:4000])
    enough = len(words) >= _LEAST_WORDS or not "".join(words).isascii()
    return None if enough else f"a text of {len(words)} word{'' if len(words) == 1 else 's'}"


def _is_json(start: str) -> bool:
    return bool(
        re.match(r'\{\s*(?:"[^"\n]{0,200}"\s*:|\})|\[\s*(?:[\[{"]|-?\d[\d.\s-]{0,200},[\d.,\s-]{0,2000}\])', start)
    )


def _is_mail(start: str) -> bool:
    """At least three mail headers, and only headers before the first empty line."""
    head = start.partition("\n\n")[0].splitlines()[:_LINES]
    # the first line of a mailbox
    if head and head[0].startswith("From "):
        head = head[1:]
    return all(map(_HEADER.match, head)) and sum(bool(_MAIL.match(line)) for line in head) >= 3


def _is_table(lines: list[str]) -> bool:
    """Every line has the same number of the same separator, and short cells."""
    for separator in (",", ";", "\t"):
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=counts.count) if counts else 0
        if len(lines) < 2 or not usual or counts.count(usual) < 0.9 * len(lines):
            continue
        cells = [cell.strip().strip('"') for line in lines for cell in line.split(separator)]
        numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / len(cells)
        words = sum(len(cell.split()) for cell in cells) / len(cells)
        prose = sum(bool(_PROSE.search(line)) for line in lines) / len(lines)
        if prose < 0.2 and words <= 4 and (usual >= 2 or numbers >= 0.3) and (len(lines) > 2 or numbers > 0):
            return True
    return False


def _is_code(text: str) -> bool:
    """Most lines outside fences look like code: a paper may show code as well."""
    lines = [line.strip()[:_LONGEST] for line in _FENCED.sub("", text).splitlines()[: 3 * _LINES]]
    lines = [line for line in lines if (line and not line.startswith("#")) or line.startswith("#include")]
    code = sum(bool(_CODE.match(line)) and not _PROSE.search(line) for line in lines)
    return code >= 3 and code >= 0.5 * len(lines)


def why_no_reader(name: str) -> str:
    """Return why an optional PDF engine is unavailable, with the command to install it; "" if it is available."""
    if find_spec(name):
        return ""
    return (
        f"{name} is not installed; install it with: pip install 'paper-pipeline[{name}]', and its models with: "
        f"{DOCLING_MODELS}; or read the paper with --reader built-in"
    )
