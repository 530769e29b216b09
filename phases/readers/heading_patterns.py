"""How headings are written: their numbers, and the names that are headings without one."""

from __future__ import annotations

import re

NUMBER = re.compile(
    r"^(?:(?:[Ss]ection|[Cc]hapter|[Aa]ppendix|[Aa]bschnitt|[Kk]apitel|[Aa]nhang|SECTION|CHAPTER|APPENDIX)\s+)?"
    r"((?:[0-9]{1,2}|[A-Z](?=\.|:|\.[0-9])|(?:X{0,2}(?:IX|IV|V?I{1,3}|V)|X{1,2})(?=\.\s)"
    r"|(?<=ppendix )[A-Z]|(?<=PPENDIX )[A-Z]|(?<=nhang )[A-Z])(?:\.[0-9]{1,2})*)[.:)]?\s+(?=\S)"
)
REFERENCES = (
    "references", "bibliography", "literatur", "literaturverzeichnis", "références", "bibliographie", "referencias",
    "参考文献", "參考文獻", "참고문헌", "referencesandnotes", "literaturecited", "workscited",
)  # fmt: skip
ABSTRACT = ("abstract", "zusammenfassung", "résumé", "resumen", "摘要", "초록", "要旨", "요약")
UNNUMBERED = (
    *ABSTRACT, *REFERENCES, "acknowledgments", "acknowledgements", "acknowledgment", "acknowledgement", "appendix",
    "appendices", "contents", "tableofcontents", "inhaltsverzeichnis", "danksagung", "supplementarymaterial",
    "authorcontributions", "introduction", "conclusion", "conclusions",
)  # fmt: skip


def plain_title(title: str) -> str:
    """A title without its number, case, spaces and marks, for comparing."""
    return re.sub(r"[\W_]+", "", NUMBER.sub("", title.strip()).lower())


def number_of(title: str) -> str | None:
    """The number that a heading begins with."""
    match = NUMBER.match(title)
    return match.group(1) if match else None


def without_number(title: str) -> str:
    """A heading without its number."""
    return NUMBER.sub("", title).strip()
