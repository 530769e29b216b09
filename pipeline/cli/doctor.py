"""`pipeline doctor`: show what is installed and missing, and what to type."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

from phases.readers.reader_subprocess import INSTALL
from phases.references.parse.grammars import GRAMMARS
from phases.sandbox.box import BUBBLEWRAP, ENGINES
from phases.sandbox.git import OLDEST_FOR_THE_NETWORK, git_version
from phases.sandbox.probe import probe_best, probe_kind
from pipeline import __version__
from pipeline.base.errors import PipelineError, StorageError
from pipeline.cli.arguments import answers
from pipeline.cli.assembly import discover_phases, open_task_directory, settings_from
from pipeline.cli.output import Answer, print_text
from pipeline.engine.settings import Settings


@click.command("doctor")
@answers
def doctor_command() -> Answer:
    """Show what is installed, what is missing, and what to type. Exits with 1 when the main job cannot run.

    \b
    pipeline doctor
    """
    settings = settings_from({})
    rows = [
        *_check_libraries(),
        *_check_sandboxes(),
        _check_git(),
        _check_grammars(),
        _check_ocr(),
        _check_tasks_dir(settings),
        _check_phases(settings),
    ]
    return Answer(rows, lambda: _show_rows(rows), 1 if any(row["state"] == "missing" for row in rows) else 0)


def _show_rows(rows: list[dict[str, str]]) -> None:
    print_text(f"pipeline {__version__}, Python {platform.python_version()} on {platform.platform()}")
    for row in rows:
        print_text(f"  {row['state']:<8} {row['what']:<14} {row['detail']}")


def _build_row(state: str, what: str, detail: str) -> dict[str, str]:
    return {"state": state, "what": what, "detail": detail}


def _check_libraries() -> list[dict[str, str]]:
    rows = []
    for name in ("click", "jsonschema", "jsonschema-rs", "liteparse", "loguru", "pypdfium2", "PyYAML", "tenacity"):
        try:
            rows.append(_build_row("ok", name, version(name)))
        except PackageNotFoundError:
            rows.append(_build_row("missing", name, f"{sys.executable} -m pip install {name}"))
    return rows


def _check_sandboxes() -> list[dict[str, str]]:
    try:
        return [_check_sandbox(), _check_engines()]
    except StorageError as error:
        return [_build_row("missing", "sandbox", str(error))]


def _check_sandbox() -> dict[str, str]:
    found = probe_best()
    if found.usable:
        why = probe_kind(BUBBLEWRAP).detail
        better = f"; bubblewrap would be a stronger one, and --install needs it: {why}"
        return _build_row("ok", "sandbox", found.detail + (better if found.kind != BUBBLEWRAP else ""))
    missing = f"{found.detail}; apt-get install bubblewrap (without it, tests of the code do not run)"
    return _build_row("absent", "sandbox", missing)


def _check_engines() -> dict[str, str]:
    """Try each installed container engine as the sandbox does."""
    found = {kind: probe_kind(kind) for kind in ENGINES}
    usable = [f"{tried.detail} (--sandbox {kind})" for kind, tried in found.items() if tried.usable]
    others = [tried.detail for tried in found.values() if not tried.usable]
    why = "" if usable else " (needed for --sandbox alone)"
    return _build_row("ok" if usable else "absent", "containers", "; ".join([*usable, *others]) + why)


def _check_git() -> dict[str, str]:
    found = shutil.which("git", path=os.defpath)  # the one that is run
    if not found:
        return _build_row("absent", "git", "apt-get install git (needed for the reference phases only)")
    own, oldest = (".".join(map(str, numbers)) for numbers in (git_version(), OLDEST_FOR_THE_NETWORK))
    if git_version() < OLDEST_FOR_THE_NETWORK:
        old = f"{found} is {own}; repositories are fetched from {oldest} on, or with --mirror"
        return _build_row("absent", "git", old)
    return _build_row("ok", "git", f"{found} {own}")


def _check_ocr() -> dict[str, str]:
    found = shutil.which("ocrmypdf")
    return _build_row(
        *(("ok", "ocrmypdf", found) if found else ("absent", "ocrmypdf", f"{INSTALL} (needed for --ocr only)"))
    )


def _check_grammars() -> dict[str, str]:
    missing = sorted(name for name, grammar in GRAMMARS.items() if find_spec(grammar.package) is None)
    if missing or find_spec("tree_sitter") is None:
        how = f"{sys.executable} -m pip install 'paper-pipeline[code]' (symbols of {', '.join(missing or GRAMMARS)})"
        return _build_row("absent", "grammars", how)
    return _build_row("ok", "grammars", ", ".join(sorted(GRAMMARS)))


def _check_tasks_dir(settings: Settings) -> dict[str, str]:
    folder = os.path.abspath(settings.tasks_dir)
    nearest = folder
    while not os.path.isdir(nearest):
        nearest = os.path.dirname(nearest)
    free = shutil.disk_usage(nearest).free // 2**20
    if not os.access(nearest, os.W_OK):
        return _build_row("missing", "task directory", f"{folder} cannot be written; choose another with --tasks-dir")
    return _build_row("ok", "task directory", f"{folder}, {free:,} MB free")


def _check_phases(settings: Settings) -> dict[str, str]:
    try:
        graph = discover_phases(settings.phases)
        open_contracts = open_task_directory(settings, os.path.abspath(settings.tasks_dir)).contracts
        for name in graph.documents:
            open_contracts.schema(name)
    except PipelineError as error:
        return _build_row("missing", "phases", str(error))
    return _build_row("ok", "phases", f"{len(graph.phases)} found, every document has a schema")
