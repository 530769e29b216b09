"""Phase 06: the paper's references, ranked by rules, with the repositories that the paper links. No network."""

from __future__ import annotations

import re
from typing import Any

from pipeline.phase import Context, Documents, Phase

_REPOSITORY = re.compile(r"https?://(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)/[\w.-]+/[\w.-]+")


def run(inputs: Documents, ctx: Context) -> Documents:
    outline, text = inputs["outline.json"], inputs["paper.md"].text
    rows = [_row(reference, text) for reference in outline["references"]]
    rows.sort(key=lambda row: (-len(row["repositories"]), -row["cited"], int(row["id"][1:])))
    attached = {url for row in rows for url in row["repositories"]}
    linked = {
        match.group().removesuffix(".git") for link in outline["links"] if (match := _REPOSITORY.match(link["url"]))
    }
    return {"reference.txt": {"version": 1, "references": rows, "unattached_repositories": sorted(linked - attached)}}


def _row(reference: dict[str, str], text: str) -> dict[str, Any]:
    raw = reference["raw"]
    label = re.match(r"\[([^\]]+)\]", raw)
    cited = (
        len(re.findall(rf"\[[^\]]*\b{re.escape(label.group(1))}\b[^\]]*\]", text)) - 1
        if label
        else _by_author(raw, text)
    )
    repositories = sorted({match.group().removesuffix(".git") for match in _REPOSITORY.finditer(raw)})
    why = f"cited {max(cited, 0)} times" + (", with a repository" if repositories else "")
    return {"id": reference["id"], "raw": raw, "repositories": repositories, "cited": max(cited, 0), "why": why}


def _by_author(raw: str, text: str) -> int:
    author, year = re.match(r"\W*([^\W\d_]{2,})", raw), re.search(r"\b(?:1[89]|20)[0-9]{2}\b", raw)
    if not author or not year:
        return 0
    return len(re.findall(rf"{re.escape(author.group(1))}[^.;\n]{{0,40}}{year.group()}", text)) - 1


PHASE = Phase(
    number="06",
    name="references",
    reads=("paper.md", "outline.json"),
    writes=("reference.txt",),
    optional=True,
    run=run,
)
