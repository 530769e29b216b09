"""Phase 07: the code that the paper stands on, fetched, pinned, and never run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from pipeline.base.errors import PhaseError, UsageError
from pipeline.base.files import telling_room
from pipeline.engine.phase import Context, Documents, Phase

if TYPE_CHECKING:
    from phases.references.fetch.model import FetchRules

# What is imported late is imported late because every command looks at every phase, and few of them run this one.


def run(inputs: Documents, ctx: Context) -> Documents:
    from phases.references.fetch.fetch import fetch_repositories
    from phases.references.fetch.model import WantedRepository
    from phases.references.values import count_fetched
    from phases.sandbox.git import run_git

    own = bool(ctx.settings["references"])  # the user's folders take the place of all that the paper links
    # a mixture could not be told from a network that failed (decision 106)
    rows = [row for row in inputs["reference.txt"]["repositories"] if row["fetch"] and not own]
    wanted = [WantedRepository(row["url"], row["role"], tuple(row["references"])) for row in rows]
    into = os.path.join(ctx.paths.root, "code_base")
    try:
        with telling_room(into, 2 * int(ctx.settings["max_repository_mb"]) * 2**20):
            fetched = fetch_repositories(wanted, into, _fetch_rules(ctx), run_git, ctx.progress)
    except UsageError as error:  # the command has looked already: a link that was laid since
        raise PhaseError(str(error)) from error
    ctx.tell(count_fetched(fetched) or "the paper links no repository to fetch")
    return {"code_base.json": fetched}


def _fetch_rules(ctx: Context) -> FetchRules:
    from phases.references.fetch.model import FetchRules
    from phases.sandbox.git import git_box_kind
    from pipeline.base.http.proxy import find_proxy

    return FetchRules(
        mirror=str(ctx.settings["mirror"]),
        folders=str(ctx.settings["references"]),
        most_bytes=int(ctx.settings["max_repository_mb"]) * 2**20,
        most_files=int(ctx.settings["max_repository_files"]),
        most_repositories=int(ctx.settings["max_repositories"]),
        private=ctx.settings["private_addresses"] == "allowed",
        proxy=find_proxy(ctx.environment),
        # the first question is asked by Python, which reads the same variable by itself
        ca_file=ctx.environment.get("SSL_CERT_FILE") or None,
        in_place=ctx.in_place,
        blacklist=str(ctx.limits.get("blacklist", "")),
        sandbox=git_box_kind(),
    )


def _find_changes(root: str, written: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the fetched files that differ from their manifests."""
    from phases.references.fetch.install import changes_in

    for name in sorted(written):
        folder, _, manifest = name.partition("/")
        if folder == "code_base" and manifest:
            repository = manifest.removesuffix(".json")
            for path, what in changes_in(repository, os.path.join(root, folder)):
                yield f"{folder}/{repository}/{path}".rstrip("/"), what


PHASE = Phase(
    number="07",
    name="repositories",
    reads=("reference.txt",),
    writes=("code_base.json", "code_base/"),
    settings=(
        *("references", "mirror", "max_repositories", "max_repository_mb", "max_repository_files", "private_addresses"),
    ),
    optional=True,
    # it owns nothing: a redo of the plan must not fetch anything again (decision 102)
    changes=_find_changes,
    run=run,
    version=2,
)
