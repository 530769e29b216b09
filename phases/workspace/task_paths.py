"""Name the paths of phase 09: in one task directory, or in the cache directory that tasks share."""

from __future__ import annotations

import os
from typing import NamedTuple


# Here and not in the machine's paths: tests and replays need them for a directory of their own (decision 69).
class TaskPaths(NamedTuple):
    workspace: str
    journal: str
    explorations: str
    """The journals of sub-agents."""
    pictures: str
    """The pictures that the model was shown, by their digests."""
    snapshot: str
    """The tree that the command at work began with."""
    jobs: str
    """Copies and output of jobs."""
    ledger: str
    plan_versions: str
    paper: str
    """paper.md: the agent may read it."""
    evidence: str
    """Notes of checks on tests and lines while they run."""
    user_tests: str
    """The tests that the user gave (--tests), out of the agent's reach."""
    python: str
    """The Python of commands, where the user's cache cannot be written."""
    own_python: str
    """Interpreter that lends the packages of the user's own environment to commands."""
    packages: str
    """Environment of the plan's packages, if their installation is permitted."""
    summary: str
    """implement_code_summary.md, as it grows."""
    kernel: str
    """The directory of the supervision."""
    kernel_report: str
    hooks: str
    """Output and effects of hooks."""
    endings: str
    """The workspace as it was each time that the work was not accepted."""


def make_shared_directory(cache_directory: str, name: str) -> str:
    """Make the user's cache directory, and return the path of what tasks share in it; empty where it cannot be written."""
    try:
        os.makedirs(cache_directory, mode=0o700, exist_ok=True)
    except OSError:
        return ""
    return os.path.join(cache_directory, name) if os.access(cache_directory, os.W_OK) else ""


def task_paths(root: str) -> TaskPaths:
    def path(name: str) -> str:
        return os.path.join(root, name)

    return TaskPaths(
        workspace=path("generate_code"),
        journal=path("journal.jsonl"),
        explorations=path("explorations"),
        pictures=path("pictures"),
        snapshot=path("before_command"),
        jobs=path("jobs"),
        ledger=path("logs/llm.jsonl"),
        plan_versions=path("plan_versions"),
        paper=path("paper.md"),
        evidence=path("evidence"),
        user_tests=path("user_tests"),
        python=path("python"),
        packages=path("packages"),
        own_python=path("python/own"),
        summary=path("implement_code_summary.md"),
        kernel=path("kernel"),
        kernel_report=path("kernel-report.json"),
        hooks=path("hooks"),
        endings=path("endings"),
    )
