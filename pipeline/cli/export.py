"""`pipeline export`: the code of a task as a notebook, a zip or a git repository, for people who have no pipeline."""

from __future__ import annotations

import json
import os
import platform
import shutil
import zipfile
from collections.abc import Mapping
from shlex import quote
from threading import get_native_id
from typing import Any

import click

from phases.evidence.demands import demands_of
from phases.evidence.traceability import count_evidence, describe_evidence
from phases.sandbox.git import run_git
from phases.sandbox.installs import read_requirement
from phases.sandbox.locks import LockedPackage, render_requirements
from phases.workspace.backup_tree import latest_aside
from phases.workspace.workspace import LARGEST_FILE, Workspace
from pipeline.base.errors import ContractError, PhaseError, UsageError
from pipeline.base.files import storage_error, sync_tree, write_durable
from pipeline.base.safe_tree import open_file
from pipeline.cli.arguments import complete_files, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import (
    GIVEN_CODE,
    command_name,
    is_served,
    model_for,
    open_task,
    relative_path,
    settings_from,
)
from pipeline.cli.output import notify, print_text
from pipeline.cli.task_factory import safe_name
from pipeline.engine.phase import is_placeholder
from pipeline.engine.store import TaskStore

_ENDINGS = {"notebook": ".ipynb", "zip": ".zip", "git": "-code"}
_GIT_SECONDS, _GIT_BYTES = 120.0, 4 << 30
_COMMIT = "git -c user.name=pipeline -c user.email=pipeline@localhost commit --quiet --allow-empty --no-verify"
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding"
"""Over those of the code: its bytes are kept as they are."""
_RUNNABLE = 0o755


@click.command("export")
@task_or_newest
@click.option("--to", "form", type=click.Choice([*_ENDINGS]), required=True, help="What to make of it.")
@click.option("-o", "--output", metavar="PATH", help="Where to (default: by the id).", shell_complete=complete_files)
@click.option("--agents-md", is_flag=True, help="Add AGENTS.md: rules for an assistant that goes on with the code.")
@tasks_dir_option
def export_command(task: str | None, form: str, output: str | None, tasks_dir: str | None, *, agents_md: bool) -> None:
    """Export the code of a task (the newest without ID): as a notebook that walks from section to code to result, as a zip, or
    as a git repository with a commit for each version of the code.

    A zip and a repository also hold what the code is worth, requirement by requirement, notes on licences, the packages
    that it needs, and reproduce.sh. Nothing of the paper but the quoted requirements is in them.

    \b
    pipeline export paper --to notebook
    pipeline export paper --to git -o ../paper-code
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    if not os.path.isdir(store.path("generate_code")) or not store.exists("traceability.json"):
        raise UsageError(f"task {store.id} has no finished code yet; go on with: pipeline resume {command_name(store)}")
    target = os.path.abspath(output or f"{store.id}{_ENDINGS[form]}")
    if os.path.lexists(target):
        raise UsageError(f"{relative_path(target)} already exists; remove it first, or name another place with -o")
    files, too_large = _read_code(store.path("generate_code"))
    for path in too_large:
        notify(f"left out: {path} (over {LARGEST_FILE >> 20} MB)")
    if form == "notebook":
        _write_notebook(store, files, target)
    elif form == "zip":
        _write_zip(store.id, {**_make_companions(store, files, agents_md=agents_md), **files}, target)
    else:
        _write_repository(store, {**_make_companions(store, files, agents_md=agents_md), **files}, target)
    print_text(f"wrote {relative_path(target)}")


Files = dict[str, tuple[bytes, int]]
"""Path -> content and permissions."""


def _read_code(root: str) -> tuple[Files, list[str]]:
    """The files of a workspace, which is hostile, without what tools put there; and the names of those that are too large."""
    workspace, files, too_large = Workspace(root), Files(), []
    for found in workspace.digests():
        if found.path.partition("/")[0] == ".pipeline":
            continue
        if found.sha256 is None:
            too_large.append(found.path)
            continue
        mode = os.lstat(os.path.join(root, found.path)).st_mode
        files[found.path] = workspace.read_bytes(found.path), _RUNNABLE if mode & 0o100 else 0o644
    return files, too_large


def _make_companions(store: TaskStore, files: Mapping[str, Any], *, agents_md: bool) -> Files:
    """What tells of the code and helps to run it; nothing that stands over a file of the code itself."""
    commands, packages = _list_commands(store), _list_packages(store)
    made = {
        "README.md" if "README.md" not in files else "REPRODUCTION.md": _render_readme(store),
        "LICENCES.md": _render_licences(store),
        **({"AGENTS.md": _render_rules(commands)} if agents_md else {}),
        "requirements.txt": "".join(f"{name}\n" for name in packages),
        "pyproject.toml": _render_project(store),
        "Containerfile": _render_container(store),
    }
    if lock := _render_lock(store):
        made["requirements.lock"] = lock
    found: Files = {name: (text.encode(), 0o644) for name, text in made.items() if name not in files}
    if "reproduce.sh" not in files:
        found["reproduce.sh"] = _render_script(commands, _list_experiments(store)).encode(), _RUNNABLE
    return found


def _rows_of(store: TaskStore) -> list[dict[str, Any]]:
    """Each requirement as it was traced, with its place in the paper."""
    planned = {row["id"]: row["source"] for row in demands_of(store.load("initial_plan.txt"))}
    nowhere = {"section": None, "page": 0, "quote": ""}
    rows = store.load("traceability.json")["requirements"]
    return [{**row, "source": planned.get(row["id"], nowhere)} for row in rows]


def _summarize(store: TaskStore) -> str:
    report = store.load("report.json") if store.exists("report.json") else {"status": "running", "reason": ""}
    model = model_for(store.load("task.json")["settings"], "implement")
    author = f"by {model}"
    if not is_served(model):
        rules = "by rules, without a model: constants of the paper, and stubs"
        author = {"offline": rules, GIVEN_CODE: "elsewhere"}.get(model, "by a recording")
    counts = count_evidence(store.load("traceability.json")["requirements"])
    told, reason = describe_evidence(counts, report.get("verified_by", ())), " ".join(str(report["reason"]).split())
    return f"Code written {author}, from the paper's text. It ended {report['status']}: {reason}. {told[:1].upper()}{told[1:]}."


def _render_readme(store: TaskStore) -> str:
    title = " ".join(str(store.load("initial_plan.txt")["paper"]["title"]).split())
    lines = [
        f"# {title}",
        "",
        _summarize(store),
        "",
        "`sh reproduce.sh` installs what it needs and runs its checks. `podman build -t code .` does so in a container.",
        "",
        *_list_data(store),
    ]
    lines += ["| requirement | page | status | code |", "|---|---|---|---|"]
    for row in _rows_of(store):
        text = " ".join(row["text"].split()).replace("|", "\\|")
        lines.append(
            f"| {row['id']}: {text} | {row['source']['page']} | {row['status']} | {', '.join(row['places'][:2])} |"
        )
    return "\n".join([*lines, ""])


def _list_data(store: TaskStore) -> list[str]:
    """Which data sets it read, and where they are from. Where the user's own ones lay is nobody's business."""
    rows = store.load("data.json")["datasets"] if store.exists("data.json") else ()
    there = [row for row in rows if row["state"] != "missing"]
    lines = [
        f"- `/data/{row['name']}`: "
        + (
            f"{row['address']}, sha256 `{row['sha256']}`, licence: {row['licence']}"
            if row["address"]
            else "given by its user"
        )
        for row in there
    ]
    return (
        ["Data that it finds there, or where `$DATA_NAME` says (`podman run -v DIR:/data/NAME:ro`):", "", *lines, ""]
        if lines
        else []
    )


def _render_rules(commands: list[str]) -> str:
    """What whoever goes on with the code should keep to, be it a person's assistant."""
    lines = [
        "# For whoever changes this code",
        "",
        "It implements a paper. The table in README.md (or REPRODUCTION.md) has its requirements: R3 is one, V2 a value.",
        "",
        "- Code says in a docstring or comment which part it implements: a requirement's id, or its section or equation.",
        "- Tests fail if the code is wrong: they assert numbers worked out by hand, and relations that the text states.",
        "- No stub is called done, and none of the paper's results is written into the code.",
        "- Before you are done, these must pass:",
        "",
        *(f"      {command}" for command in commands),
    ]
    return "\n".join([*lines, ""])


def _render_licences(store: TaskStore) -> str:
    shown = store.load("implementation.json").get("reference_files", ())
    lines = ["# Licences", "", "Nobody has chosen a licence for this code yet: do so before you pass it on."]
    lines += ["Sentences of the paper are quoted in it; the paper is its authors'.", ""]
    if not shown:
        return "\n".join([*lines, "No code of other people was shown to whoever wrote it.", ""])
    lines += [
        "Whoever wrote it was shown these files of other people. What is taken over from them is under their licence:",
        "",
    ]
    lines += ["| repository | commit | file | lines | licence |", "|---|---|---|---|---|"]
    for row in shown:
        licence = row["licence"] or "none found: all rights are its authors'"
        lines.append(
            f"| {row['repository']} | {row['commit']} | {row['file']} | {', '.join(row['lines'])} | {licence} |"
        )
    return "\n".join([*lines, ""])


def _list_packages(store: TaskStore) -> list[str]:
    """The packages in the versions that the checks ran with; else as the plan names them."""
    installed = [f"{row['name']}=={row['version']}" for row in store.load("implementation.json").get("packages", ())]
    wanted = store.load("initial_plan.txt")["environment_setup"]["packages"]
    # as the installer reads them: a plan may say PyTorch, whose package is torch
    found = installed or [
        line for name in wanted if (line := name if (read := read_requirement(name)) is None else read)
    ]
    needs_pytest = any("pytest" in command for command in _list_commands(store))
    return [*found, *(["pytest"] if needs_pytest and not any(name.startswith("pytest") for name in found) else [])]


def _render_lock(store: TaskStore) -> str:
    """What the plan's packages were resolved to, each file with its hash; empty where nothing was."""
    lock = store.load("package_lock.json") if store.exists("package_lock.json") else {"resolved": ()}
    rows = [LockedPackage(row["name"], row["version"], tuple(row["sha256"])) for row in lock["resolved"]]
    return render_requirements(rows).decode()


def _render_project(store: TaskStore) -> str:
    """The code as a project: its name, the Python and the packages that its plan names."""
    # a string in JSON is one in TOML as well
    setup = store.load("initial_plan.txt")["environment_setup"]
    asked = store.load("package_lock.json")["asked"] if store.exists("package_lock.json") else ()
    facts = {
        "name": safe_name(store.id),
        "version": "0",
        "requires-python": setup.get("python", ">=3.11"),
        "dependencies": list(asked),
    }
    return "\n".join(["[project]", *(f"{name} = {json.dumps(fact)}" for name, fact in facts.items()), ""])


def _render_container(store: TaskStore) -> str:
    """The code in a container with its packages in it: its checks then need no network."""
    lock = (
        store.load("package_lock.json") if store.exists("package_lock.json") else {"python": platform.python_version()}
    )
    version = ".".join(str(lock["python"]).split(".")[:2])
    lines = [
        "#   podman build -t code .",
        "#   podman run --rm --network none code                 the checks",
        "#   podman run --rm --network none code experiments     the experiments, too",
        f"ARG BASE=docker.io/library/python:{version}-slim",
        "FROM $BASE",
        "WORKDIR /code",
        "COPY . .",
        "RUN sh reproduce.sh install",
        'ENTRYPOINT ["sh", "reproduce.sh"]',
    ]
    return "\n".join([*lines, ""])


def _list_commands(store: TaskStore) -> list[str]:
    """The checks of the code, each on one line."""
    checks = store.load("initial_plan.txt")["validation_approach"]["verify_commands"]
    return [command for command in checks if command.isprintable()]


def _list_experiments(store: TaskStore) -> list[str]:
    """What the code declares, in the paper's size where it has that."""
    path = store.path("generate_code/experiments.yaml")
    if not os.path.isfile(path):
        return []
    try:
        data = Workspace(store.path("generate_code")).read_bytes("experiments.yaml")
        rows = store.contracts.parse("experiments.yaml", data, writer="the code")["experiments"]
    except ContractError:
        return []
    commands = [str(row.get("full") or row.get("quick") or "") for row in rows]
    return [command for command in commands if command and command.isprintable()]


def _render_script(commands: list[str], experiments: list[str]) -> str:
    lines = [
        "#!/bin/sh",
        "# Makes an environment beside the code, installs its packages, and runs its checks. They were written with the code:",
        "# read them before you run them. `sh reproduce.sh experiments` runs the experiments, too.",
        "set -eu",
        'cd "$(dirname "$0")"',
        "[ -d .venv ] || python3 -m venv .venv",
        "PATH=$PWD/.venv/bin:$PATH",
        "if [ -f requirements.lock ]; then",
        "    pip install --quiet --require-hashes --only-binary :all: -r requirements.lock ||",
        "        echo 'requirements.lock is of another platform or Python: the newest that requirements.txt permits instead' >&2",
        "fi",
        "pip install --quiet -r requirements.txt",
        '[ "${1:-}" != install ] || exit 0',
        *commands,
    ]
    if experiments:
        lines += ['if [ "${1:-}" = experiments ]; then', *(f"    {command}" for command in experiments), "fi"]
    return "\n".join([*lines, ""])


def _write_notebook(store: TaskStore, files: Files, target: str) -> None:
    from phases.pages.notebook import Walk, render_notebook  # imported here: only this form needs it

    plan = store.load("initial_plan.txt")
    results = store.load("results.json") if store.exists("results.json") else {"cells": []}
    texts = {path: data.decode("utf-8", "replace") for path, (data, _) in files.items() if b"\0" not in data}
    walk = Walk(
        name=store.id,
        title=plan["paper"]["title"] or store.id,
        summary=_summarize(store),
        sections=store.load("outline.json")["sections"],
        rows=_rows_of(store),
        files=texts,
        commands=_list_commands(store),
        cells=[] if is_placeholder(results) else results["cells"],
    )
    write_durable(target, json.dumps(render_notebook(walk), indent=1).encode() + b"\n")


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
    """A repository of our own making: nothing that the workspace says of hooks, filters or settings holds in it."""
    unfinished = f"{target}.{get_native_id()}.tmp"
    versions = [
        (_read_code(path)[0], "Code of before it was made anew, or its plan changed") for path in _earlier_code(store)
    ]
    versions.append((files, _summarize(store)))
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
    """The directories of earlier code, the oldest first."""
    root = store.path("generate_code")
    last = latest_aside(root)
    count = int(last.removeprefix(f"{root}.prev") or 1) if last else 0
    return [f"{root}.prev{number if number > 1 else ''}" for number in range(1, count + 1)]


def _replace_tree(folder: str, files: Files) -> None:
    """Makes these the files of a work tree."""
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
