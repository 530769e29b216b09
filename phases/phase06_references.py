"""Phase 06: what the paper refers to, ranked by how much it would help, and the repositories that it links."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.engine.phase import Context, Documents, Phase

if TYPE_CHECKING:
    from phases.references.values import Candidate, Entry

INDEX, REFERENCES = "document_segments/document_index.json", "reference.txt"
# What is imported late is imported late because every command looks at every phase, and few of them run this one.


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.references.find.reference_document import build_reference_document

    # it does not read the plan, so that it runs beside planning (decision 98)
    paper = inputs["paper.md"]
    document = build_reference_document(
        paper.text,
        paper.body_start,
        inputs["outline.json"],
        kinds={row["section"]: row["kind"] for row in inputs[INDEX]["segments"] if row["section"]},
        allow_own_code=ctx.settings["allow_own_code"] == "yes",
        candidates=(lambda entries: _look_up_repositories(entries, ctx)) if ctx.settings["lookup"] else None,
    )
    return {REFERENCES: _rerank_references(document, inputs["outline.json"], ctx)}


def _look_up_repositories(entries: Sequence[Entry], ctx: Context) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """Look up repositories in the network services that the user has named."""
    from phases.references.lookup.services import look_up, open_lookups
    from pipeline.base.http.proxy import find_proxy

    ctx.in_place()
    lookups = open_lookups(
        str(ctx.settings["lookup"]),
        cache=os.path.join(ctx.paths.root, "lookups"),
        private=ctx.settings["private_addresses"] == "allowed",
        blacklist=str(ctx.limits.get("blacklist", "")),
        proxy=find_proxy(ctx.environment),
    )
    return look_up(entries, lookups)


def _rerank_references(document: dict[str, Any], outline: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Return the ranking with a model's opinion, if one is set. Its absence is explained on the screen, too."""
    if (ctx.settings["plan_model"] or ctx.settings["model"]) == "offline" or not document["references"]:
        return document
    from phases.llm.model import require_model
    from phases.planning.model.rerank_references import rerank_with_model

    material = {"title": outline["title"] or "", "abstract": outline["abstract"] or ""}
    result = rerank_with_model(document, material, require_model(ctx), ctx)
    for note in result["notes"][len(document["notes"]) :] if result["refined_by"] is None else ():
        ctx.tell(f"06 references: {note}")
    return result


PHASE = Phase(
    number="06",
    name="references",
    reads=("paper.md", "outline.json", INDEX),
    writes=(REFERENCES,),
    settings=("model", "plan_model", "lookup", "allow_own_code", "private_addresses"),
    optional=True,
    owns=("references_journal.jsonl",),
    run=run,
    version=3,
)
