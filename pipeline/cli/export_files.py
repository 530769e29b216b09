"""Write the files that accompany exported code: its author, its checks, and how to install and run it in its language."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.evidence.traceability import count_evidence, describe_evidence
from phases.pages.notebook import escape_markdown
from phases.planning.plan_words import language_of
from phases.sandbox.installs import read_requirement
from phases.sandbox.locks import LockedPackage, render_requirements
from phases.workspace.workspace import Workspace
from pipeline.base.errors import ContractError
from pipeline.cli.assembly import GIVEN_CODE, OWN_AGENT, is_served, model_for
from pipeline.engine.store import TaskStore

RUNNABLE = 0o755
_HUB = "docker.io/library/"
Files = dict[str, tuple[bytes, int]]
"""Path -> content and permissions."""


class _Tools(NamedTuple):
    """The tools of a language."""

    image: str
    """A container image that has them."""
    install: str = ""
    """Fetches the packages; nothing where that needs no command of its own."""


_PYTHON_INSTALL = """[ -d .venv ] || python3 -m venv .venv
PATH=$PWD/.venv/bin:$PATH
if [ -f requirements.lock ]; then
    pip install --quiet --require-hashes --only-binary :all: -r requirements.lock ||
        echo 'requirements.lock is of another platform or Python: the newest that requirements.txt permits instead' >&2
fi
pip install --quiet -r requirements.txt"""
_NODE = _Tools(_HUB + "node:22-slim", "[ ! -f package.json ] || npm install --no-audit --no-fund")
_GCC = _Tools(_HUB + "gcc:14")
_TOOLS = {
    "JavaScript": _NODE,
    "TypeScript": _NODE,
    "C": _GCC,
    "C++": _GCC,
    "Rust": _Tools(_HUB + "rust:1-slim", "cargo fetch"),
    "Go": _Tools(_HUB + "golang:1", "[ ! -f go.mod ] || go mod download"),
    "Java": _Tools(_HUB + "maven:3-eclipse-temurin-21"),
    "C#": _Tools("mcr.microsoft.com/dotnet/sdk:8.0", "dotnet restore"),
    "Julia": _Tools(_HUB + "julia:1", "[ ! -f Project.toml ] || julia --project -e 'using Pkg; Pkg.instantiate()'"),
    "R": _Tools(_HUB + "r-base:latest"),
}
_OTHER = _Tools(_HUB + "debian:stable-slim")
_OF_DEBIAN = ("cmake", "make", "g++", "gcc", "git", "python3")
"""Programs that Debian has in packages of their names."""


def make_companions(store: TaskStore, files: Mapping[str, Any], *, agents_md: bool) -> Files:
    """Return what tells of the code and helps to run it; nothing of the name of a file of the code itself."""
    plan = store.load("initial_plan.txt")
    language = language_of(plan)
    tools = _tools_of(store, language)
    made = {
        "PROVENANCE.md": _render_provenance(store, files),
        **({"AGENTS.md": _render_rules(list_commands(store))} if agents_md else {}),
        "Containerfile": _render_container(tools.image, plan["environment_setup"].get("tools", ())),
    }
    if language == "Python":
        made["requirements.txt"] = "".join(f"{name}\n" for name in list_packages(store))
        if lock := _render_lock(store):
            made["requirements.lock"] = lock
    found: Files = {name: (text.encode(), 0o644) for name, text in made.items() if name not in files}
    if "reproduce.sh" not in files:
        script = _render_script(tools.install, list_commands(store), _list_experiments(store))
        found["reproduce.sh"] = script.encode(), RUNNABLE
    return found


def summarize(store: TaskStore) -> str:
    """Return who wrote the code, how the work ended, and what is known of it."""
    report = store.load("report.json") if store.exists("report.json") else {"status": "running", "reason": ""}
    model = model_for(store.load("task.json")["settings"], "implement")
    author = f"by {model}"
    if model.startswith(OWN_AGENT):
        program = os.path.basename(model.removeprefix(OWN_AGENT).split()[0])
        author = f"by {program}, an agent that its user ran"
    elif not is_served(model):
        rules = "by rules, without a model: constants of the paper, and stubs"
        author = {"offline": rules, GIVEN_CODE: "elsewhere"}.get(model, "by a recording")
    counts = count_evidence(store.load("traceability.json")["requirements"])
    evidence, reason = describe_evidence(counts, report.get("verified_by", ())), " ".join(str(report["reason"]).split())
    told = reason if evidence in reason else f"{reason}; {evidence}"
    return f"Code written {author}. It ended {report['status']}: {told}."


def list_packages(store: TaskStore) -> list[str]:
    """Return the packages in the versions that the checks ran with; else as the plan names them."""
    installed = [f"{row['name']}=={row['version']}" for row in store.load("implementation.json").get("packages", ())]
    wanted = store.load("initial_plan.txt")["environment_setup"]["packages"]
    # as the installer reads them: a plan may say PyTorch, whose package is torch
    found = installed or [
        line for name in wanted if (line := name if (read := read_requirement(name)) is None else read)
    ]
    needs_pytest = any("pytest" in command for command in list_commands(store))
    return [*found, *(["pytest"] if needs_pytest and not any(name.startswith("pytest") for name in found) else [])]


def list_commands(store: TaskStore) -> list[str]:
    """Return the checks of the code, each on one line."""
    checks = store.load("initial_plan.txt")["validation_approach"]["verify_commands"]
    return [command for command in checks if command.isprintable()]


def _tools_of(store: TaskStore, language: str) -> _Tools:
    if language != "Python":
        return _TOOLS.get(language, _OTHER)
    lock = store.load("package_lock.json") if store.exists("package_lock.json") else {}
    version = ".".join(str(lock.get("python", platform.python_version())).split(".")[:2])
    return _Tools(f"{_HUB}python:{version}-slim", _PYTHON_INSTALL)


def _render_rules(commands: list[str]) -> str:
    """Return rules for an assistant that changes the code."""
    lines = [
        "# Rules for changing this code",
        "",
        "- Code says in a docstring or comment which part it implements: a requirement's id, or its section or equation.",
        "- Tests fail if the code is wrong: they assert numbers worked out by hand, and relations that the text states.",
        "- No stub is called done, and none of the paper's results is written into the code.",
        "- Before you are done, these must pass:",
        "",
        *(f"      {command}" for command in commands),
    ]
    return "\n".join([*lines, ""])


def _render_provenance(store: TaskStore, files: Mapping[str, Any]) -> str:
    lines = ["# Provenance", "", summarize(store), "", *_list_data(store), *_list_requirements(store)]
    lines += ["## Licences", ""]
    if not any(path.upper().startswith(("LICENSE", "LICENCE")) for path in files):
        lines += ["No licence is chosen for this code yet: do so before you pass it on.", ""]
    shown = store.load("implementation.json").get("reference_files", ())
    if not shown:
        return "\n".join([*lines, "No code from other projects was shown to its author.", ""])
    lines += [
        "Its author was shown these files from other projects; what was taken from them is under their licence:",
        "",
    ]
    lines += ["| repository | commit | file | lines | licence |", "|---|---|---|---|---|"]
    for row in shown:
        licence = row["licence"] or "none found: all rights are its authors'"
        cells = (row["repository"], row["commit"], row["file"], ", ".join(row["lines"]), licence)
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    return "\n".join([*lines, ""])


def _list_requirements(store: TaskStore) -> list[str]:
    """Return what the ids stand for that comments in the code cite."""
    rows = store.load("initial_plan.txt")["requirements"]
    places = [f" (section {escape_markdown(name)})" if (name := row["source"]["section"]) else "" for row in rows]
    lines = [f"- {row['id']}{place}: {escape_markdown(row['text'])}" for row, place in zip(rows, places, strict=True)]
    return ["## Requirements that comments in the code cite", "", *lines, ""]


def _list_data(store: TaskStore) -> list[str]:
    """Return which data sets it read, and where they are from; not where the user's own ones are."""
    rows = store.load("data.json")["datasets"] if store.exists("data.json") else ()
    lines = []
    for row in (row for row in rows if row["state"] != "missing"):
        source = f"{row['address']}, sha256 `{row['sha256']}`, licence: {row['licence']}"
        lines.append(f"- `/data/{row['name']}`: {source if row['address'] else 'given by its user'}")
    head = "Data, read there or where `$DATA_NAME` says (`podman run -v DIR:/data/NAME:ro`):"
    return ["## Data", "", head, "", *lines, ""] if lines else []


def _render_lock(store: TaskStore) -> str:
    """Return what the plan's packages were resolved to, each file with its hash; empty if nothing was."""
    lock = store.load("package_lock.json") if store.exists("package_lock.json") else {"resolved": ()}
    rows = [LockedPackage(row["name"], row["version"], tuple(row["sha256"])) for row in lock["resolved"]]
    return render_requirements(rows).decode()


def _render_container(image: str, programs: Any) -> str:
    """Return how to build the code into a container with its packages: its checks then need no network."""
    packages = [name for name in programs if name in _OF_DEBIAN]
    lines = [
        "#   podman build -t code .",
        "#   podman run --rm --network none code                 the checks",
        "#   podman run --rm --network none code experiments     the experiments, too",
        f"ARG BASE={image}",
        "FROM $BASE",
        *([f"RUN apt-get update && apt-get install -y {' '.join(packages)}"] if packages else []),
        "WORKDIR /code",
        "COPY . .",
        "RUN sh reproduce.sh install",
        'ENTRYPOINT ["sh", "reproduce.sh"]',
    ]
    return "\n".join([*lines, ""])


def _list_experiments(store: TaskStore) -> list[str]:
    """Return what the code declares, in the paper's size if it has that."""
    if not os.path.isfile(store.path("generate_code/experiments.yaml")):
        return []
    try:
        data = Workspace(store.path("generate_code")).read_bytes("experiments.yaml")
        rows = store.contracts.parse("experiments.yaml", data, writer="the code")["experiments"]
    except ContractError:
        return []
    commands = [str(row.get("full") or row.get("quick") or "") for row in rows]
    return [command for command in commands if command and command.isprintable()]


def _render_script(install: str, commands: list[str], experiments: list[str]) -> str:
    lines = [
        "#!/bin/sh",
        "# Installs the packages of the code, and runs its checks. They were written with the code: read them before you run",
        "# them. `sh reproduce.sh experiments` runs the experiments, too.",
        "set -eu",
        'cd "$(dirname "$0")"',
        *filter(None, [install]),
        '[ "${1:-}" != install ] || exit 0',
        *commands,
    ]
    if experiments:
        lines += ['if [ "${1:-}" = experiments ]; then', *(f"    {command}" for command in experiments), "fi"]
    return "\n".join([*lines, ""])
