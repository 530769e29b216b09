"""What a paper points to on the web: its own code, data and models, which a builder should look at before anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from phases.paper.headings import REFERENCES, plain
from phases.paper.places import Places
from phases.paper.planning.notes import Found

_CODE = re.compile(r"git|huggingface|kaggle|zenodo|figshare|osf\.io|drive\.google|dropbox", re.IGNORECASE)
_NEVER = re.compile(
    r"(?:^|\.)(?:doi\.org|arxiv\.org|orcid\.org|creativecommons\.org|semanticscholar\.org|aclanthology\.org|openreview\.net"
    r"|ieee\.org|acm\.org|springer\.com|crossref\.org)$",
    re.IGNORECASE,
)
_MOST = 8


def artifacts_of(text: str, outline: dict[str, Any]) -> Iterator[Found]:
    """The addresses before the references, those of code and data first; what stands among the references is other people's."""
    until = next((row["page"] for row in outline["sections"] if plain(row["title"]) in REFERENCES), 10**6)
    rows = [row for row in outline["links"] if row["page"] <= until and not _NEVER.search(_host(row["url"]))]
    listed = " ".join(row["raw"] for row in outline["references"])
    rows = [row for row in rows if row["url"] not in listed]
    rows.sort(key=lambda row: not _CODE.search(row["url"]))
    places = Places(text, 0)
    places.know(outline["sections"])
    sections = {section["id"]: section for section in outline["sections"]}
    begin = outline["sections"][0]["start"] if outline["sections"] else 0
    for row in rows[:_MOST]:
        at, quote = next(
            (
                (found, words)
                for words in (row["url"], row["text"])
                if words and (found := text.find(words, begin)) >= 0
            ),
            (-1, ""),
        )
        section = sections.get(places.section(at) or "")
        if section:  # a link that no word of a section carries cannot be cited
            kind = "Code or data" if _CODE.search(row["url"]) else "Material"
            yield Found("artifact", f"{kind} that the paper points to: {row['url']}", quote, section, places.page(at))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
