"""Compare the reviewed versions of a plan, each kept under its digest."""

from __future__ import annotations

import os
from typing import Any

from pipeline.base.files import make_directory, read_bytes, sha256, write_durable
from pipeline.cli.output import print_pages, print_text, wrap_text
from pipeline.engine.store import TaskStore

PLAN = "initial_plan.txt"


def replace_plan(store: TaskStore, before: bytes, data: bytes) -> None:
    """Write a plan and its plan.md; the one before is kept."""
    from phases.planning.plan_md import PLAN_MD, plan_md  # imported here: TAB must import no phase

    make_directory(store.path("plan_versions"))
    write_durable(store.path(f"plan_versions/{sha256(before)[:16]}.txt"), before)
    write_durable(store.path(PLAN), data)
    write_durable(store.path(PLAN_MD), plan_md(store.load(PLAN)).encode())


def show_plan(plan: dict[str, Any], most: int | None = None) -> None:
    """Print plan.md, or with `most` 0 all of the plan in this form, in lines that fit the terminal."""
    from phases.planning.plan_md import MOST_LINES, plan_md  # imported here: as above

    lines = plan_md(plan, MOST_LINES if most is None else most).splitlines()
    lines = [line if line.startswith(("|", "     ", "```")) else wrap_text(line, hanging=4) for line in lines]
    print_pages("\n".join(lines))


def show_difference(store: TaskStore) -> None:
    """Print the lines that differ between the plan and the newest of its other versions."""
    before, lines = compare_versions(store)
    if not before:
        print_text("there is no other version of this plan")
        return
    print_text("\n".join([f"from {before} to {(store.digest(PLAN) or '')[:12]}:", *(lines or ["no differences"])]))


def compare_versions(store: TaskStore) -> tuple[str, list[str]]:
    """Return the digest of the plan's newest other version, empty if there is none, and the differing lines."""
    from phases.planning.changes import plan_difference  # imported here: TAB must import no phase

    folder, digest = store.path("plan_versions"), (store.digest(PLAN) or "")[:16]
    names = os.listdir(folder) if os.path.isdir(folder) else []
    names = [name for name in names if name.endswith(".txt") and not name.startswith(digest)]
    if not names:
        return "", []
    newest = max(names, key=lambda name: (os.stat(os.path.join(folder, name)).st_mtime_ns, name))
    before = store.contracts.parse(PLAN, read_bytes(os.path.join(folder, newest)), writer="an earlier review")
    return newest[:12], plan_difference(before, store.load(PLAN))
