"""Phase 08: what the fetched code holds, and which of it helps with which planned file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pipeline.base.files import telling_room
from pipeline.engine.phase import Context, Documents, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phases.references.index.build import RepositoryIndex
    from phases.references.relations import NearbyRequirements
    from pipeline.base.workers import WorkerStart

INDEX = "indexes/index.json"
_INDEX_TIMES = 3
"""So many times the bytes of the code its index and the cache take."""
# What is imported late is imported late because every command looks at every phase, and few of them run this one.


def run(inputs: Documents, ctx: Context) -> Documents:
    code = inputs["code_base.json"]
    code_bytes = sum(int(row["bytes"]) for row in code["repositories"])
    with telling_room(ctx.cache_directory or ctx.paths.root, _INDEX_TIMES * code_bytes):
        made = _index_code(code["repositories"], ctx)
        relations, near = _relate_to_plan(made, inputs, ctx)
    return {
        INDEX: {
            "version": 2,
            "repositories": [_index_row(one, code["repositories"], near) for one in made],
            "relations": relations,
            "notes": [] if made else [_why_none(code)],
            "files": [{"path": one.path, "bytes": one.bytes, "sha256": one.sha256} for one in made],
        }
    }


def _index_code(repositories: list[dict[str, Any]], ctx: Context) -> list[RepositoryIndex]:
    from phases.references.index.build import index_repositories

    schema = ctx.contracts.schema("repository_index.json")["properties"]["files"]["items"]
    return index_repositories(
        os.path.join(ctx.paths.root, "code_base"),
        repositories,
        os.path.join(ctx.paths.root, "indexes"),
        lambda row: ctx.contracts.breach(schema, row),
        lambda text: ctx.progress(0, 1, text),
        ctx.in_place,
        _worker_start(ctx),
        ctx.cache_directory,
    )


def _relate_to_plan(
    made: list[RepositoryIndex], inputs: Documents, ctx: Context
) -> tuple[list[dict[str, Any]], Mapping[str, NearbyRequirements]]:
    from phases.references.relations import relate_repositories

    return relate_repositories(
        os.path.join(ctx.paths.root, "indexes"),
        inputs["initial_plan.txt"],
        inputs["code_base.json"]["repositories"],
        inputs["reference.txt"],
        sections={row["id"]: (row["number"] or "", row["title"]) for row in inputs["outline.json"]["sections"]},
        code_base=os.path.join(ctx.paths.root, "code_base"),
        cache_directory=ctx.cache_directory,
        start=_worker_start(ctx),
    )


def _worker_start(ctx: Context) -> WorkerStart:
    from phases.sandbox.parsers import confine_parser
    from pipeline.base.workers import WorkerStart

    return WorkerStart(ctx.environment, confine_parser)


def _index_row(
    made: RepositoryIndex, fetched: list[dict[str, Any]], near: Mapping[str, NearbyRequirements]
) -> dict[str, Any]:
    row = next(row for row in fetched if row["name"] == made.name)
    return {
        **{name: row[name] for name in ("name", "url", "commit", "licence")},
        **{name: getattr(made, name) for name in ("path", "files", "symbols", "languages", "left_out", "faults")},
        "requirements": list(near[made.name].requirements),
        "why": near[made.name].why,
    }


def _why_none(code: dict[str, Any]) -> str:
    refused = len(code["refused"])
    return f"no code to index: {refused} repositories refused" if refused else "no code to index: the paper links none"


PHASE = Phase(
    number="08",
    name="index",
    reads=("outline.json", "reference.txt", "code_base.json", "initial_plan.txt"),
    writes=(INDEX, "indexes/"),
    optional=True,
    run=run,
    version=3,
)
