"""`pipeline export`: the code of a task as a notebook, a zip or a git repository, for use without the pipeline."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from shlex import quote
from textwrap import shorten
from threading import get_native_id
from typing import Any

import click

from phases.evidence.locate import demands_of
from phases.planning.plan_words import language_of
from phases.sandbox.git import run_git
from phases.workspace.backup_tree import latest_aside
from phases.workspace.workspace import LARGEST_FILE, Workspace
from pipeline.base.errors import PhaseError, UsageError
from pipeline.base.files import storage_error, sync_tree, write_durable
from pipeline.base.safe_tree import open_file
from pipeline.cli.arguments import complete_files, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import cache_directory, command_name, open_task, relative_path, settings_from
from pipeline.cli.export_files import RUNNABLE, Files, list_commands, list_packages, make_companions, summarize
from pipeline.cli.output import notify, print_text
from pipeline.cli.trust import settings_in_force
from pipeline.engine.phase import is_placeholder
from pipeline.engine.store import TaskStore

_ENDINGS = {"notebook": ".ipynb", "zip": ".zip", "git": "-code"}
_GIT_SECONDS, _GIT_BYTES = 120.0, 4 << 30
_COMMIT = "git -c user.name=pipeline -c user.email=pipeline@localhost commit --quiet --allow-empty --no-verify"
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding"
"""Over those of the code: its bytes are kept as they are."""
_LONGEST_TITLE, _WIDTH = 60, 160


@click.command("export")
@task_or_newest
@click.option("--to", "form", type=click.Choice([*_ENDINGS]), required=True, help="What to make of it.")
@click.option("-o", "--output", metavar="PATH", help="Where to (default: by the id).", shell_complete=complete_files)
@click.option("--agents-md", is_flag=True, help="Add AGENTS.md: rules for an assistant that goes on with the code.")
@tasks_dir_option
def export_command(task: str | None, form: str, output: str | None, tasks_dir: str | None, *, agents_md: bool) -> None:
    """Export the code of a task (the newest without ID): as a notebook that installs, imports and shows it section by section,
    as a zip, or as a git repository with a commit for each version of the code.

    The notebook is run once, in the sandbox. A zip and a repository also hold PROVENANCE.md (who wrote the code, how it was
    checked, data, licences), a Containerfile and reproduce.sh, which installs the code and runs its checks.

    \b
    pipeline export paper --to notebook
    pipeline export paper --to git -o ../paper-code
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    if not os.path.isdir(store.path("generate_code")) or not store.exists("traceability.json"):
        raise UsageError(f"task {store.id} has no finished code yet; go on with: pipeline resume {command_name(store)}")
    target = os.path.abspath(output or f"{store.id}{_ENDINGS[form]}")
    if os.path.lexists(target):
        raise UsageError(f"{relative_path(target)} already exists; remove it first, or name another place with -o")
    language = language_of(store.load("initial_plan.txt"))
    if form == "notebook" and language != "Python":
        raise UsageError(f"a notebook runs Python, and this code is in {language}; export it with --to zip or --to git")
    files, too_large = _read_code(store.path("generate_code"))
    for path in too_large:
        notify(f"left out: {path} (over {LARGEST_FILE >> 20} MB)")
    if form == "notebook":
        _write_notebook(store, files, target, settings_in_force(store, settings, {}).values)
    elif form == "zip":
        _write_zip(store.id, {**make_companions(store, files, agents_md=agents_md), **files}, target)
    else:
        _write_repository(store, {**make_companions(store, files, agents_md=agents_md), **files}, target)
    print_text(f"wrote {relative_path(target)}")


def _read_code(root: str) -> tuple[Files, list[str]]:
    """Read the files of a workspace, which is hostile, without tools' files; also list those that are too large."""
    workspace, files, too_large = Workspace(root), Files(), []
    for found in workspace.digests():
        if found.path.partition("/")[0] == ".pipeline":
            continue
        if found.sha256 is None:
            too_large.append(found.path)
            continue
        mode = os.lstat(os.path.join(root, found.path)).st_mode
        files[found.path] = workspace.read_bytes(found.path), RUNNABLE if mode & 0o100 else 0o644
    return files, too_large


def _write_notebook(store: TaskStore, files: Files, target: str, values: Mapping[str, Any]) -> None:
    # imported here: only this form needs them
    from phases.evidence.bare_python import make_bare_python
    from phases.pages.notebook import Walk, order_files, render_notebook, run_cells
    from phases.sandbox.box import Box, limits_from, with_machine
    from phases.sandbox.commands import kind_of_sandbox
    from phases.workspace.packages import find_python, package_store
    from phases.workspace.task_paths import task_paths

    plan, places = store.load("initial_plan.txt"), task_paths(store.root)
    results = store.load("results.json") if store.exists("results.json") else {"cells": []}
    texts = {path: data.decode("utf-8", "replace") for path, (data, _) in files.items() if b"\0" not in data}
    walk = Walk(
        name=store.id,
        title=plan["paper"]["title"] or store.id,
        summary=summarize(store),
        sections=store.load("outline.json")["sections"],
        rows=_rows_of(store),
        files=order_files(texts, plan["implementation_strategy"]),
        packages=[*dict.fromkeys([*list_packages(store), "pytest"])],
        commands=list_commands(store),
        cells=[] if is_placeholder(results) else results["cells"],
    )
    bare = make_bare_python(cache_directory(), places.python)
    python = find_python(places, values, package_store(cache_directory())) or bare
    readable = tuple(filter(None, (bare, str(values["python"]))))
    box = Box("", kind_of_sandbox(str(values["sandbox"])), readable, python, limits_from(values))
    faults = []

    def run(sources: Sequence[str]) -> tuple[Sequence[str], str]:
        notify(f"runs {len(sources)} cells once, without the network …")
        outputs, fault = run_cells(sources, with_machine(box, values))
        faults.extend([fault] if fault else [])
        return outputs, fault

    notebook = render_notebook(walk, run)
    if faults:
        notify(f"not all cells ran: {shorten(faults[0], _WIDTH, placeholder=' …')}")
    write_durable(target, json.dumps(notebook, indent=1).encode() + b"\n")


def _rows_of(store: TaskStore) -> list[dict[str, Any]]:
    """Return each requirement as it was traced, with its place in the paper."""
    planned = {row["id"]: row["source"] for row in demands_of(store.load("initial_plan.txt"))}
    nowhere = {"section": None, "page": 0, "quote": ""}
    rows = store.load("traceability.json")["requirements"]
    return [{**row, "source": planned.get(row["id"], nowhere)} for row in rows]


def _write_zip(name: str, files: Files, target: str) -> None:
    unfinished = f"{target}.{get_native_id()}.tmp"
    try:
        with zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED) as archive:
            for path, (data, mode) in sorted(files.items()):
                member = zipfile.ZipInfo(f"{name}/{path}")  # with no time of its own: equal code gives an equal file
                member.external_attr, member.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
                archive.writestr(member, data)
        os.rename(unfinished, target)
    except OSError as error:
        raise storage_error("write", target, error) from error


def _write_repository(store: TaskStore, files: Files, target: str) -> None:
    """Write a repository in which no hook, filter or setting of the workspace applies."""
    unfinished = f"{target}.{get_native_id()}.tmp"
    versions = [(_read_code(path)[0], "Earlier version of the code") for path in _earlier_code(store)]
    title = " ".join(str(store.load("initial_plan.txt")["paper"]["title"] or store.id).split())
    versions.append((files, f"{shorten('Implement ' + title, _LONGEST_TITLE, placeholder=' …')}\n\n{summarize(store)}"))
    try:
        os.makedirs(unfinished)
        try:
            _run_git(
                f"git init --quiet --template= . && mkdir .git/info && echo '{_ATTRIBUTES}' > .git/info/attributes",
                unfinished,
            )
            for version, message in versions:
                _replace_tree(unfinished, version)
                _run_git(f"git add --all --force . && {_COMMIT} -m {quote(message)}", unfinished)
            shutil.rmtree(os.path.join(unfinished, ".git", "info"))
            sync_tree(unfinished)
            os.rename(unfinished, target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise storage_error("write", target, error) from error


def _earlier_code(store: TaskStore) -> list[str]:
    """Return the directories of earlier code, the oldest first."""
    root = store.path("generate_code")
    last = latest_aside(root)
    count = int(last.removeprefix(f"{root}.prev") or 1) if last else 0
    return [f"{root}.prev{number if number > 1 else ''}" for number in range(1, count + 1)]


def _replace_tree(folder: str, files: Files) -> None:
    """Make these the files of a work tree."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name != ".git":
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    for path, (data, mode) in files.items():
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open_file(place, "xb") as file:
            file.write(data)
        os.chmod(place, mode)


def _run_git(script: str, folder: str) -> None:
    result = run_git(script, folder, readable=(), seconds=_GIT_SECONDS, most_bytes=_GIT_BYTES, network=False)
    if result.exit_code != 0:
        raise PhaseError(f"git failed in {folder}: {' '.join(result.output.split())[-300:]}")
