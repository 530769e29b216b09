"""Papers, and what the real command makes of them in folders of its own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

import peers as others  # noqa: TC002 - a script beside this one, not a library

SECONDS = 300
OK, PARTIAL = "ok", "partial"


@dataclass(frozen=True)
class Paper:
    """One row of the manifest."""

    name: str
    path: str
    expect: str
    latex: str | None
    gold: dict[str, Any]
    rubric: Any


@dataclass(frozen=True)
class Run:
    """How the command ended on one file, and where its task is."""

    code: int
    verdict: str | None
    task: str
    seconds: float

    def document(self, name: str) -> Any:
        """A JSON document of the task, or None where there is none."""
        text = self.text(name)
        return json.loads(text) if text else None

    def text(self, name: str) -> str:
        """The text of a document of the task, empty where there is none."""
        path = os.path.join(self.task, name)
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()


@dataclass
class Bench:
    """One folder in which everything is run, and every file but once."""

    folder: str
    command: str
    papers: list[Paper]
    peers: others.Peers
    given: argparse.Namespace
    _runs: dict[str, Run] = field(default_factory=dict)
    _count: int = 0

    def run(self, path: str) -> Run:
        """The whole way to the plan; remembered."""
        if path not in self._runs:
            self._runs[path] = self.fresh_run(path, "plan")
        return self._runs[path]

    def fresh_run(self, path: str, until: str) -> Run:
        """A cold run in a new tasks folder, to the end of one phase."""
        self._count += 1
        tasks = os.path.join(self.folder, f"tasks{self._count}")
        argv = [self.command, "run", "--fast", path, "--json", "--until", until, "--id", "paper", "--tasks-dir", tasks]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": self.folder, "LANG": "C.UTF-8"}
        started = time.perf_counter()
        try:
            ended = subprocess.run(
                argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Run(-1, "too slow", tasks, float(SECONDS))
        seconds = time.perf_counter() - started
        try:
            verdict = json.loads(ended.stdout)["input_verdict"]
        except (ValueError, KeyError):
            verdict = None
        return Run(ended.returncode, verdict, os.path.join(tasks, "paper"), seconds)

    def note(self, words: str) -> None:
        """A line about one paper, where every one is asked for."""
        if self.given.each:
            print(f"    {words}", flush=True)


def papers_of(folder: str) -> list[Paper]:
    """The papers that a folder's manifest names."""

    def loaded(name: str | None) -> Any:
        if not name:
            return {}
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)

    return [
        Paper(
            name=row["id"],
            path=os.path.join(folder, row["file"]),
            expect=row["expect"],
            latex=os.path.join(folder, row["latex_source"]) if row.get("latex_source") else None,
            gold=loaded(row.get("gt", {}).get("gold")),
            rubric=loaded(row.get("gt", {}).get("rubric")),
        )
        for row in loaded("manifest.json")
    ]
