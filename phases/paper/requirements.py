"""What a paper demands, found by rules: each requirement quotes the paper, with section and page. Deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from phases.paper.markdown import PAGE_MARK
from phases.paper.outline import own_text, pages_of
from phases.paper.values import values_in

LONGEST_QUOTE = 240
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z])")
_NO_PROSE = ("|", "#", "```", "<")
_CUES = (
    (
        "loss",
        r"\b(?:loss function|training loss|objective function|cross[- ]entropy|[A-Za-z-]+ loss|we (?:minimi|optimi)[sz]e)\b",
        "method",
    ),
    ("dataset", r"\b(?:data ?sets?|corpus|corpora|benchmark suite|synthetic stream)\b", "experiment"),
    (
        "metric",
        r"\b(?:accuracy|F1|BLEU|ROUGE|perplexity|error rate|RMSE|mean squared error|AUC|precision and recall|mistakes?)\b",
        "experiment",
    ),
    ("baseline", r"\b(?:baselines?|we compare (?:with|to|against)|compared (?:with|to|against))\b", "experiment"),
)
_MOST_PER_CUE = 4


@dataclass
class _Found:
    """The requirements so far, numbered as they come."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def add(self, kind: str, text: str, where: dict[str, Any], quote: str, **extra: Any) -> None:
        key = (kind, str(extra.get("name") or text).lower())
        if key in self.seen or not text.strip():
            return
        self.seen.add(key)
        source = {
            "section": where.get("number") or where.get("title") or None,
            "page": where["page"],
            "quote": shorten(quote),
        }
        self.rows.append(
            {
                "id": f"R{len(self.rows) + 1}",
                "kind": kind,
                "text": shorten(text),
                "source": source,
                "status": "stated",
                **extra,
            }
        )


def requirements_of(text: str, outline: dict[str, Any], segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requirements in the order of kinds: algorithms, model parts, losses, data, metrics, baselines, values, experiments."""
    found = _Found()
    sections = {section["id"]: section for section in outline["sections"]}
    kinds = {segment["section"]: segment["kind"] for segment in segments if segment["section"]}
    for row in outline["algorithms"]:
        where = {**sections.get(row["section"], {"title": None}), "page": row["page"]}
        found.add("algorithm", f"{row['label']}: {row['text']}".rstrip(": "), where, row["text"] or row["label"])
    for section in outline["sections"]:
        if kinds.get(section["id"]) in ("method", "algorithm") and not _has_children(section, outline["sections"]):
            found.add("model", section["title"], section, _first_sentence(own_text(text, section)) or section["title"])
    for kind, pattern, where_kind in _CUES:
        _add_cued(found, kind, pattern, where_kind, text, outline["sections"], kinds)
    for section in outline["sections"]:
        if kinds.get(section["id"]) != "references":
            for page, block in pages_of(text, section):
                for name, value, quote in values_in(block):
                    where = {**section, "page": page}
                    found.add("hyperparameter", f"{name} = {value}", where, quote, name=name, value=value)
    for section in outline["sections"]:
        if kinds.get(section["id"]) == "experiment" and not _has_children(section, outline["sections"]):
            found.add(
                "experiment", section["title"], section, _first_sentence(own_text(text, section)) or section["title"]
            )
    if not found.rows:
        found.add(
            "artifact",
            outline["title"] or "what the paper describes",
            {"page": 1, "title": None},
            outline["abstract"] or "",
        )
    return found.rows


def shorten(text: str, limit: int = LONGEST_QUOTE) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(PAGE_MARK.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _has_children(section: dict[str, Any], sections: list[dict[str, Any]]) -> bool:
    index = sections.index(section)
    return index + 1 < len(sections) and sections[index + 1]["level"] > section["level"]


def _sentences(block: str) -> Iterator[str]:
    """The sentences of running text. They never reach over a table, a heading or an empty line: a quote must stand as it is."""
    paragraph: list[str] = []
    for line in [*PAGE_MARK.sub("\n", block).split("\n"), ""]:
        if line.strip() and not line.lstrip().startswith(_NO_PROSE):
            paragraph.append(line)
            continue
        for sentence in _SENTENCE_END.split(" ".join(" ".join(paragraph).split())):
            if len(sentence) > 15:
                yield sentence
        paragraph = []


def _first_sentence(block: str) -> str | None:
    return next(_sentences(block), None)


def _add_cued(
    found: _Found,
    kind: str,
    pattern: str,
    where_kind: str,
    text: str,
    sections: list[dict[str, Any]],
    kinds: dict[str, str],
) -> None:
    added = 0
    for section in sections:
        if kinds.get(section["id"]) not in (where_kind, "algorithm", "appendix"):
            continue
        cited = (
            (page, sentence)
            for page, block in pages_of(text, section)
            for sentence in _sentences(block)
            if re.search(pattern, sentence, re.IGNORECASE)
        )
        page, sentence = next(cited, (0, ""))  # one a section: the plan names the place, it does not repeat the paper
        if sentence and added < _MOST_PER_CUE:
            found.add(kind, sentence, {**section, "page": page}, sentence)
            added += 1
