"""Split paper.md into segments that cover every character exactly once, with kind and relevance for planning."""

from __future__ import annotations

import re
from typing import Any

from phases.readers.line_patterns import plain_title

LONGEST = 8000
RELEVANCE = {
    "method": 1.0, "algorithm": 1.0, "experiment": 0.9, "appendix": 0.7, "abstract": 0.6, "introduction": 0.4,
    "other": 0.5, "conclusion": 0.3, "front": 0.2, "related": 0.2, "references": 0.1,
}  # fmt: skip
# in the order of matching: "Experimental setup of the method" is an experiment
_KINDS = (
    ("abstract", r"abstract|zusammenfassung|초록"),
    ("references", r"\breferences\b|bibliography|literatur|参考文献|참고문헌|acknowledge?ment"),
    ("appendix", r"appendix|supplement|anhang|附录"),
    ("introduction", r"introduction|motivation|einleitung|引言|서론"),
    ("related", r"related|background|prior work|preliminar|literature"),
    ("conclusion", r"conclusion|discussion|limitation|future|broader impact|summary|fazit|结论"),
    ("algorithm", r"algorithm|pseudo ?code|算法"),
    ("experiment", (r"experiment|evaluation|result|setup|setting|data|baseline|ablation|benchmark|analysis|empirical|metric|"
                    r"implementation detail")),
    ("method", (r"method|approach|model|architecture|framework|training|objective|loss|formulation|proposed|optimi[sz]ation|"
                r"network|attention|update|learning|system|design")),
)  # fmt: skip


def kind_of_title(title: str, *, in_appendix: bool) -> str:
    """Classify a section by its title."""
    for kind, pattern in _KINDS:
        if re.search(pattern, title, re.IGNORECASE):
            return "appendix" if in_appendix and kind != "references" else kind
    return "appendix" if in_appendix else "other"


def segments_of(text: str, outline: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return document_index.json without `files`, and the text of each segment file by path."""
    rows: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for section, start, end in _section_spans(text, outline["sections"]):
        for piece_start, piece_end in _split_span(text, start, end):
            number = f"{len(rows) + 1:04}"
            path = f"document_segments/segment_{number}.md"
            rows.append(_build_row(number, path, section, piece_start, piece_end))
            texts[path] = text[piece_start:piece_end]
    return {"version": 1, "characters": len(text), "segments": rows}, texts


def _section_spans(text: str, sections: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int, int]]:
    first = sections[0]["start"] if sections else len(text)
    front = {"id": None, "title": "", "number": None, "page": 1, "kind": "front"}
    stretches = [(front, 0, first)] if first else []
    top_kind, references_seen = "other", False
    for section in sections:
        lettered = bool(re.match(r"[A-Z](\.|$)", section["number"] or ""))
        kind = kind_of_title(
            section["title"],
            in_appendix=lettered or (references_seen and plain_title(section["title"]) != "references"),
        )
        if section["level"] == 1:
            top_kind = kind
        elif kind == "other":
            # a subsection with an unspecific heading has the kind of its section
            kind = top_kind
        references_seen = references_seen or kind == "references"
        stretches.append(({**section, "kind": kind}, section["start"], section["end"]))
    return stretches


def _split_span(text: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    while end - start > LONGEST:
        window = text[start : start + LONGEST]
        # an empty line is the best place to cut, a line end the next best
        cut = max(window.rfind("\n\n") + 2, 2)
        cut = cut if cut > LONGEST // 4 else max(window.rfind("\n") + 1, 1)
        cut = cut if cut > LONGEST // 4 else LONGEST
        pieces.append((start, start + cut))
        start += cut
    return [*pieces, (start, end)] if end > start else pieces


def _build_row(number: str, path: str, section: dict[str, Any], start: int, end: int) -> dict[str, Any]:
    return {
        "id": number,
        "path": path,
        "section": section["id"],
        "title": section["title"],
        "number": section["number"],
        "page": section["page"],
        "kind": section["kind"],
        "relevance": RELEVANCE[section["kind"]],
        "start": start,
        "end": end,
    }
