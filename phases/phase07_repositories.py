"""Phase 07: the code that the paper stands on. This version fetches nothing, and says so for each repository."""

from __future__ import annotations

from pipeline.phase import Context, Documents, Phase

NOT_FETCHED = "fetching repositories is not part of this version"


def run(inputs: Documents, ctx: Context) -> Documents:
    references = inputs["reference.txt"]
    urls = [url for row in references["references"] for url in row["repositories"]] + references[
        "unattached_repositories"
    ]
    refused = [{"url": url, "why": NOT_FETCHED} for url in dict.fromkeys(urls)]
    return {"code_base.json": {"version": 1, "repositories": [], "refused": refused, "files": []}}


PHASE = Phase(
    number="07",
    name="repositories",
    reads=("reference.txt",),
    writes=("code_base.json", "code_base/"),
    optional=True,
    run=run,
)
