"""`pipeline doctor`: what is installed, what is missing, and what to type."""

from __future__ import annotations

import os
import platform
import shutil
import sys

import click

from pipeline import __version__
from pipeline.base.errors import PipelineError
from pipeline.cli.assembly import discover, open_folder, settings_from
from pipeline.cli.console import say, say_json
from pipeline.engine.settings import Settings


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(as_json: bool) -> int:
    """Tell what is installed, what is missing, and what to type. Exits with 1 when the main job cannot run.

    \b
    pipeline doctor
    """
    settings = settings_from({})
    rows = [*_libraries(), _sandbox(), _git(), _grammars(), _tasks_dir(settings), _phases(settings)]
    if as_json:
        say_json(rows)
    else:
        say(f"pipeline {__version__}, Python {platform.python_version()} on {platform.platform()}")
        for row in rows:
            say(f"  {row['state']:<8} {row['what']:<14} {row['detail']}")
    return 1 if any(row["state"] == "missing" for row in rows) else 0


def _row(state: str, what: str, detail: str) -> dict[str, str]:
    return {"state": state, "what": what, "detail": detail}


def _libraries() -> list[dict[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    rows = []
    for name in ("click", "jsonschema", "jsonschema-rs", "liteparse", "loguru", "pypdfium2", "PyYAML"):
        try:
            rows.append(_row("ok", name, version(name)))
        except PackageNotFoundError:
            rows.append(_row("missing", name, f"{sys.executable} -m pip install {name}"))
    return rows


def _sandbox() -> dict[str, str]:
    from phases.sandbox.commands import BUBBLEWRAP, probe

    found = probe()
    if found.usable:
        better = (
            "" if found.kind == BUBBLEWRAP else "; apt-get install bubblewrap for a stronger one, and for --install"
        )
        return _row("ok", "sandbox", f"{found.detail}{better}")
    return _row(
        "absent", "sandbox", f"{found.detail}; apt-get install bubblewrap (without it, tests of the code do not run)"
    )


def _git() -> dict[str, str]:
    from phases.sandbox.git import OLDEST_FOR_THE_NETWORK, git_version

    found = shutil.which("git", path=os.defpath)  # the one that is run
    if not found:
        return _row("absent", "git", "apt-get install git (needed for the reference phases only)")
    version = ".".join(map(str, git_version()))
    if git_version() < OLDEST_FOR_THE_NETWORK:
        oldest = ".".join(map(str, OLDEST_FOR_THE_NETWORK))
        return _row(
            "absent", "git", f"{found} is {version}; repositories are fetched from {oldest} on, or with --mirror"
        )
    return _row("ok", "git", f"{found} {version}")


def _grammars() -> dict[str, str]:
    from importlib.util import find_spec

    from phases.references.parse.grammar_tables import GRAMMARS

    missing = sorted(name for name, grammar in GRAMMARS.items() if find_spec(grammar.package) is None)
    if missing or find_spec("tree_sitter") is None:
        what = ", ".join(missing or GRAMMARS)
        return _row("absent", "grammars", f"{sys.executable} -m pip install 'paper-pipeline[code]' (symbols of {what})")
    return _row("ok", "grammars", ", ".join(sorted(GRAMMARS)))


def _tasks_dir(settings: Settings) -> dict[str, str]:
    folder = os.path.abspath(settings.tasks_dir)
    nearest = folder
    while not os.path.isdir(nearest):
        nearest = os.path.dirname(nearest)
    free = shutil.disk_usage(nearest).free // 2**20
    if not os.access(nearest, os.W_OK):
        return _row("missing", "tasks folder", f"{folder} cannot be written; choose another with --tasks-dir")
    return _row("ok", "tasks folder", f"{folder}, {free:,} MB free")


def _phases(settings: Settings) -> dict[str, str]:
    try:
        graph = discover(settings.phases)
        open_contracts = open_folder(settings, os.path.abspath(settings.tasks_dir)).contracts
        for name in graph.documents:
            open_contracts.schema(name)
    except PipelineError as error:
        return _row("missing", "phases", str(error))
    return _row("ok", "phases", f"{len(graph.phases)} found, every document has a schema")
