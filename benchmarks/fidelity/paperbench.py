"""PaperBench: papers with their addendum and blacklist go in, submissions in the form that its judges take come out.

A paper is a folder: paper.pdf, paper.md, addendum.md, blacklist.txt, and a rubric, which is never read here. The addendum stands
behind the paper's text. A fast run fetches nothing and its commands have no network, so no address can be reached, blacklisted or
not; that the model did not name one either is looked up in what it wrote.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from phases.sandbox.installs import read_requirement
from pipeline.base.plain_yaml import parse_yaml

_NO_LINES = ("", "none", "n/a")


class Paper(NamedTuple):
    name: str
    folder: Path

    def blacklist(self) -> list[str]:
        """The addresses that must not be used."""
        path = self.folder / "blacklist.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.strip() for line in lines if line.strip().lower() not in _NO_LINES and not line.startswith("#")]


def find_papers(data: Path, names: list[str]) -> list[Paper]:
    """The papers named, or all that are there. Ends the program for one that has no text."""
    wanted = names or sorted(path.name for path in data.iterdir() if (path / "paper.md").exists())
    if missing := [name for name in wanted if not (data / name / "paper.md").exists()]:
        raise SystemExit(f"{data} has no paper.md for {', '.join(missing)}; large files need `git lfs pull` there")
    return [Paper(name, data / name) for name in wanted]


def write_source(paper: Paper, folder: Path) -> Path:
    """One Markdown file with the paper, its addendum and what is not to be used; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [(paper.folder / "paper.md").read_text(encoding="utf-8")]
    if (paper.folder / "addendum.md").exists():
        parts.append("# Addendum\n\n" + (paper.folder / "addendum.md").read_text(encoding="utf-8"))
    if addresses := paper.blacklist():
        listed = "".join(f"- {address}\n" for address in addresses)
        parts.append(f"# Addresses that must not be used\n\n{listed}")
    target = folder / f"{paper.name}.md"
    target.write_text("\n\n".join(parts), encoding="utf-8")
    return target


def write_submission(task: Path, paper: Paper, target: Path) -> list[str]:
    """Makes a git repository of the task's code, with reproduce.sh; returns the blacklisted addresses that the code names."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(task / "generate_code", target, ignore=shutil.ignore_patterns(".git", ".pipeline", "__pycache__"))
    script = target / "reproduce.sh"
    if not script.exists():
        script.write_text(_reproduce_script(task), encoding="utf-8")
        script.chmod(0o755)
    _commit_all(target, f"{paper.name}: the code as it was left")
    texts = [path.read_bytes() for path in target.rglob("*") if path.is_file() and ".git" not in path.parts]
    return [address for address in paper.blacklist() if any(_bare(address) in text for text in texts)]


def _bare(address: str) -> bytes:
    return address.partition("://")[2].encode() or address.encode()


def _reproduce_script(task: Path) -> str:
    plan = parse_yaml((task / "initial_plan.txt").read_bytes())
    packages = [line for name in plan["environment_setup"]["packages"] if (line := read_requirement(name) or "")]
    install = [f"python3 -m pip install {shlex.join(packages)}"] if packages else []
    commands = plan["validation_approach"]["verify_commands"]
    return "\n".join(["#!/bin/sh", "set -ex", *install, *commands]) + "\n"


def _commit_all(folder: Path, message: str) -> None:
    # No hook and no setting of what was generated, nor of this user, has a say.
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    who = ["-c", "user.name=pipeline", "-c", "user.email=pipeline@localhost", "-c", "core.hooksPath=/dev/null"]
    for arguments in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "--allow-empty", "-m", message]):
        subprocess.run(["git", *who, *arguments], cwd=folder, env=environment, check=True)
