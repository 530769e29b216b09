"""The plan by rules: from requirements to files, components, order and checks. Deterministic, and without a model."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.body import is_named_after_content
from phases.planning.rules.requirements import shorten_line
from phases.planning.rules.sentences import sentences_of

PYTHON = ">=3.11"
# decision 16: it must run where only Python is installed.
VERIFY = "python -m unittest discover -s tests -t ."
# file name, kinds of requirement, purpose; in the order of writing
_MODULES = (
    ("config", ("hyperparameter",), "every hyper-parameter that the paper states, with its source"),
    ("data", ("dataset",), "the data sets"),
    ("losses", ("loss",), "the losses and objectives"),
    ("model", ("model", "equation", "artifact"), "the parts of the method"),
    ("algorithms", ("algorithm",), "the algorithms"),
    ("metrics", ("metric",), "the metrics"),
    ("baselines", ("baseline",), "what the method is compared with"),
    ("experiments", ("experiment",), "the experiments"),
)
_LONGEST_CONTRIBUTION, _LONGEST_EQUATION = 360, 200
_NEW = re.compile(
    r"\b(?:we|this (?:paper|work)) (?:\w+ )?(?:propos|introduc|present|develop|design|study|investigat)"
    r"|\bour (?:approach|method|framework|model|algorithm)|wir (?:stellen|zeigen)|提出|本文",
    re.IGNORECASE,
)
LONGEST_NAME = 40
_MOST_WORDS = 4
_PREFIX = {"dataset": "load", "experiment": "run", "metric": "measure", "baseline": "baseline", "loss": "loss"}
_STOPS = """
a an and are as at by for from in into is it its of on or our that the their this to via we with section algorithm
following use used using can be which these each all two one more additional details further how does do what why not
"""
_STOP_WORDS = frozenset(_STOPS.split())


def plan_by_rules(outline: dict[str, Any], requirements: list[dict[str, Any]], requests: list[str]) -> dict[str, Any]:
    """initial_plan.txt as a value. What people asked for becomes a requirement of its own."""
    rows = [*requirements, *_requirements_of_requests(requests, len(requirements))]
    package = package_name(outline["title"] or "paper")
    files = _plan_files(package, rows, symbols_of(rows, outline))
    return {
        "plan_version": 1,
        "paper": {
            "title": outline["title"] or "untitled",
            "core_contribution": _core_contribution(outline["abstract"] or outline["title"] or ""),
        },
        "requirements": rows,
        "file_structure": files,
        "implementation_components": _build_components(rows, outline),
        "validation_approach": {
            "verify_commands": [VERIFY],
            "experiments": [
                f"{row['id']}: {next(sentences_of(row['text']))}" for row in rows if row["kind"] == "experiment"
            ],
        },
        "environment_setup": {"python": PYTHON, "packages": []},
        "implementation_strategy": [file["path"] for file in files],
    }


def package_name(title: str) -> str:
    """A Python package name from the first telling words of a title."""
    name = "_".join(telling_words(title)[:3])[:LONGEST_NAME].strip("_") or "paper"
    # a package named like a standard module would hide it
    taken = keyword.iskeyword(name) or name in sys.stdlib_module_names or name == "tests"
    return f"paper_{name}" if name[0].isdigit() or taken else name


def _core_contribution(abstract: str) -> str:
    """The sentences of an abstract that say what is new, else its first ones."""
    sentences = list(sentences_of(" ".join(abstract.split())))
    kept = [sentence for sentence in sentences if _NEW.search(sentence)] or sentences
    return shorten_line(" ".join(kept), _LONGEST_CONTRIBUTION)


def _requirements_of_requests(requests: list[str], before: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"R{before + index}",
            "kind": "artifact",
            "text": " ".join(text.split()),
            "status": "stated",
            "source": {"section": "review", "page": 0, "quote": shorten_line(text)},
        }
        for index, text in enumerate(requests, 1)
    ]


def _plan_files(package: str, rows: list[dict[str, Any]], named: dict[str, str]) -> list[dict[str, Any]]:
    files = [_file_row(f"{package}/__init__.py", "the package")]
    config = f"{package}/config.py"
    for module, kinds, purpose in _MODULES:
        met = [row for row in rows if row["kind"] in kinds]
        if met or module == "config":
            needs = [config] if module != "config" else []
            needs += [file["path"] for file in files[2:]] if module == "experiments" else []
            interface = [_declare_symbol(row, named[row["id"]]) for row in met]
            files.append(_file_row(f"{package}/{module}.py", purpose, [row["id"] for row in met], needs, interface))
    modules = [file["path"] for file in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file_row(f"{package}/__main__.py", main, needs=modules, interface=["def main"]),
        _file_row("tests/__init__.py", "the tests"),
        _file_row("tests/test_scaffold.py", "imports, values and stubs are what the plan says", needs=modules),
    ]


def _file_row(
    path: str, purpose: str, met: Sequence[str] = (), needs: Sequence[str] = (), interface: Sequence[str] = ()
) -> dict[str, Any]:
    lists = {"implements": list(met), "depends_on": list(needs), "interface": list(interface)}
    return {"path": path, "purpose": purpose, **lists}


def _declare_symbol(row: dict[str, Any], name: str) -> str:
    forms = {"model": f"class {name}", "hyperparameter": f"{name} = {row.get('value')!r}"}
    return forms.get(row["kind"], f"def {name}")


def _build_components(rows: list[dict[str, Any]], outline: dict[str, Any]) -> list[dict[str, Any]]:
    values = [row["id"] for row in rows if row["kind"] == "hyperparameter"]
    # outlines of older versions may hold empty equations
    known = [row for row in outline["equations"] if shorten_line(row["text"])]
    equations = [shorten_line(f"{row['label']} {row['text']}".strip(), _LONGEST_EQUATION) for row in known]
    components = []
    for module, kinds, _ in _MODULES:
        met = [row["id"] for row in rows if row["kind"] in kinds]
        if met and module != "config":
            central = module in ("model", "algorithms", "losses")
            components.append(
                {
                    "name": module,
                    "requirements": met,
                    "equations": equations[:20] if central else [],
                    "hyperparameters": values if central else [],
                }
            )
    return components or [
        {"name": "config", "requirements": values or [rows[0]["id"]], "equations": [], "hyperparameters": values}
    ]


def symbols_of(rows: Sequence[Mapping[str, Any]], outline: Mapping[str, Any]) -> dict[str, str]:
    """Requirement id -> the symbol that will meet it."""
    titles = {section["number"] or section["title"]: section["title"] for section in outline.get("sections", [])}
    symbols: dict[str, str] = {}
    taken: dict[str, int] = {}
    for row in rows:
        base = _symbol_for(row, titles.get(row["source"]["section"], ""))
        number, name = taken.get(base, 0) + 1, base
        while number > 1 and (name := f"{base}_{number}") in taken:
            number += 1
        taken[base] = number
        taken.setdefault(name, 1)
        symbols[row["id"]] = name
    return symbols


def telling_words(text: str) -> list[str]:
    """The words of a text that say what it is about, in small letters."""
    return [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP_WORDS]


def _symbol_for(row: Mapping[str, Any], title: str) -> str:
    kind = row["kind"]
    if kind == "hyperparameter" and "name" in row:
        return str(row["name"]).upper()
    words = _naming_words(kind, row["text"], title) or [kind]
    if kind == "model":
        name = "".join(word.capitalize() for word in words)
    else:
        name = "_".join([_PREFIX[kind], *words] if kind in _PREFIX and words[0] != _PREFIX[kind] else words)
    name = name[:LONGEST_NAME].strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"{kind}_{name}"


def _naming_words(kind: str, text: str, title: str) -> list[str]:
    """What a symbol is called after: an algorithm's caption, an equation's number, else the section."""
    if kind == "equation":
        return re.findall(r"[a-z0-9]+", text.partition(":")[0].lower())[:2]
    about = title if title and is_named_after_content(title) else text
    if kind == "algorithm":
        about = text.partition(": ")[2].partition(":")[0] or text
    words = [word for word in telling_words(about) if not word.isdigit()][:_MOST_WORDS]
    return words or [word for word in telling_words(text) if not word.isdigit()][:_MOST_WORDS]
