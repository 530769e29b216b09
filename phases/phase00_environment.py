"""Phase 00: what the machine offers, before anything is begun."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

from phases.llm.model import require_model
from phases.sandbox.probe import describe_sandbox, probe_best
from pipeline.engine.phase import Context, Documents, Phase

_SANDBOX = "usable_sandbox"


def run(inputs: Documents, ctx: Context) -> Documents:
    model = require_model(ctx)
    check = model.check()  # only told: what needs no model goes on, and what does ends with its own words
    sandbox = probe_best()
    return {
        "environment.json": {
            "version": 1,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "free_mb": shutil.disk_usage(ctx.paths.root).free // 2**20,
            "tools": {"git": _git_version(), "sandbox": sandbox.detail if sandbox.usable else None},
            "model": {"name": model.name, "reachable": check.reachable, "detail": check.detail},
            "limits": {"max_source_mb": ctx.settings["max_source_mb"]},
        }
    }


def _git_version() -> str | None:
    if not shutil.which("git"):
        return None
    told = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    match = re.search(r"[0-9]+(\.[0-9]+)+", told)
    return match.group() if match else None


def _observe_machine() -> dict[str, str]:
    return {_SANDBOX: describe_sandbox()}


PHASE = Phase(
    number="00",
    name="environment",
    reads=(),
    writes=("environment.json",),
    settings=("model", "max_source_mb"),
    observe=_observe_machine,
    run=run,
)
