"""The papers with gold, how to read them, and which of them may be learnt from (split.json)."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, ROOT)

from phases.readers.latex.reader import read_latex
from phases.readers.markdown import Markdown, paper_document
from phases.readers.outline import outline_of
from phases.readers.pdf.reader import read_pdf


def load_groups() -> dict[str, list[str]]:
    """Seen, learnt, later and unseen: the names of the papers of each."""
    with open(os.path.join(HERE, "split.json"), encoding="utf-8") as file:
        return dict(json.load(file)["groups"])


def names_to_learn_from() -> list[str]:
    groups = load_groups()
    return [*groups["seen"], *groups["learnt"]]


def load_gold(shared: str, name: str) -> dict[str, Any] | None:
    """The gold of a paper: of papers/gold-plan in `shared`, else the one beside this file."""
    for folder in (os.path.join(shared, "papers", "gold-plan"), os.path.join(HERE, "gold")):
        path = os.path.join(folder, f"{name}.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return _whole(json.load(file))
    return None


def _whole(gold: dict[str, Any]) -> dict[str, Any]:
    """Gold as the scorer reads it; ours says only what it knows, in short rows, so that a person can read it."""
    if "claims" in gold:
        return gold
    named = {
        kind: [_with_aliases(one) for one in gold[kind]] for kind in ("modules", "datasets", "metrics", "baselines")
    }
    return {
        "title": gold["id"], "sections": [], "not_values": [], "algorithms": [], "equations": [], "claims": [], "not_claims": [],
        **gold,
        **named,
        "values": [
            {"name": names[0], "aliases": names[1:], "value": value, "owner": owner, "condition": condition,
             "quote": "", "page": None}
            for (name, value, owner, condition) in gold["values"]
            for names in [name.split("|")]
        ],
        "results": [
            {"row": row, "column": column, "value": value, "page": page} for row, column, value, page in gold["results"]
        ],
    }  # fmt: skip


def _with_aliases(row: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(row, dict):
        return row
    name, *aliases = row.split("|")
    return {"name": name, "aliases": aliases}


def read_paper(shared: str, name: str) -> tuple[str, dict[str, Any], int] | None:
    """Text, outline and where the body begins; None where `shared` has no such paper."""
    folders = (os.path.join(shared, "papers"), os.path.join(shared, "papers", "other"))
    path = next((path for folder in folders if os.path.isfile(path := os.path.join(folder, f"{name}.pdf"))), None)
    if path:
        return _parts(paper_document(read_pdf(path), "0" * 64, "pdf"))
    source = os.path.join(shared, "researchcodebench", name.removeprefix("rcb_"), "paper2code_paper.tex")
    if not os.path.isfile(source):
        return None
    with open(source, "rb") as file:
        return _parts(paper_document(read_latex({"main.tex": file.read()}), "0" * 64, "tex"))


def _parts(paper: Markdown) -> tuple[str, dict[str, Any], int]:
    return paper.text, dict(outline_of(paper)), paper.body_start


def load_scorer(shared: str) -> Any:
    """measure/plan_quality.py of `shared` as a module; None where it is not there."""
    path = os.path.join(shared, "measure", "plan_quality.py")
    spec = importlib.util.spec_from_file_location("plan_quality", path) if os.path.isfile(path) else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module
