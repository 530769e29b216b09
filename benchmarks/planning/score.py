"""Measures plans without a model against gold that was made by hand: values, requirements, components, results.

    python benchmarks/planning/score.py [--shared DIR] [--tasks DIR] [--papers NAMES] [--each] [--keep DIR]

DIR of --shared (../shared by default) holds measure/plan_quality.py, which scores, and papers/gold-plan/NAME.json beside
papers/NAME.pdf or papers/other/NAME.pdf. Without it nothing is measured, and the reason is printed. Each paper is read and
planned here; --tasks takes paper.md and initial_plan.txt from DIR/NAME instead, so that plans of a model, or of an older
release, are scored alike. Figures are means over the papers that have one; counts are sums. Those of split.json are given
apart: split.json says how unseen they are. --keep writes the plans. A benchmark reports: the exit code is 0 in any case.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from phases.planning.rules.plan import plan_by_rules
from phases.readers.markdown import paper_document
from phases.readers.outline import outline_of
from phases.readers.pdf.reader import read_pdf
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

SUMS = ("value_definitely_wrong", "said_twice", "results_that_are_settings")
GOALS = {
    "value_precision": "≥ 0.85", "value_recall_method": "≥ 0.70", "value_owner_right": "≥ 0.85",
    "value_owner_right_others": "≥ 0.75", "value_anchored": "≥ 0.95", "value_definitely_wrong": "0",
    "results_that_are_settings": "0", "verbatim": "≥ 0.98", "whole_sentences": "≥ 0.95", "from_built_sections": "≥ 0.90",
    "requirement_length_right": "≥ 0.98", "readable_alone": "≥ 0.90", "claims_covered": "≥ 0.45",
    "non_claims_taken": "≤ 0.02", "components_found": "≥ 0.70", "components_precision": "≥ 0.60",
    "datasets_found": "≥ 0.80", "datasets_precision": "≥ 0.70", "metrics_found": "≥ 0.70", "baselines_found": "≥ 0.70",
    "baselines_precision": "≥ 0.60", "results_found": "≥ 0.55", "results_placed": "≥ 0.80",
}  # fmt: skip


def main() -> None:
    given = _arguments()
    scorer = os.path.join(given.shared, "measure", "plan_quality.py")
    gold = os.path.join(given.shared, "papers", "gold-plan")
    if not os.path.isfile(scorer) or not os.path.isdir(gold):
        print(f"nothing is measured: there is no {scorer}, or no gold in {gold}; name their folder with --shared")
        return
    score = _load(scorer).score
    names = (
        given.papers.split(",")
        if given.papers
        else sorted(name[:-5] for name in os.listdir(gold) if name.endswith(".json"))
    )
    with open(os.path.join(os.path.dirname(__file__), "split.json"), encoding="utf-8") as file:
        unseen = set(json.load(file)["unseen"])
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        made = _from_task(given.tasks, name) if given.tasks else _planned(given.shared, name)
        if made is None:
            print(f"{name}: skipped, there is no such paper or task")
            continue
        plan, paper = made
        if given.keep:
            _keep(given.keep, name, plan)
        with open(os.path.join(gold, f"{name}.json"), encoding="utf-8") as file:
            found[name], _ = score(json.load(file), plan, paper)
    _print(found, unseen, each=given.each)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--tasks", default="")
    parser.add_argument("--papers", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--each", action="store_true")
    return parser.parse_args()


def _load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("plan_quality", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def _planned(shared: str, name: str) -> tuple[dict[str, Any], str] | None:
    places = (os.path.join(shared, "papers", f"{name}.pdf"), os.path.join(shared, "papers", "other", f"{name}.pdf"))
    path = next(filter(os.path.isfile, places), None)
    if path is None:
        return None
    paper = paper_document(read_pdf(path), "0" * 64, "pdf")
    return plan_by_rules(paper.text, outline_of(paper), body_start=paper.body_start), paper.text


def _from_task(tasks: str, name: str) -> tuple[dict[str, Any], str] | None:
    plan, paper = (os.path.join(tasks, name, file) for file in ("initial_plan.txt", "paper.md"))
    if not os.path.isfile(plan) or not os.path.isfile(paper):
        return None
    with open(plan, "rb") as file:
        value = parse_yaml(file.read())
    with open(paper, encoding="utf-8") as file:
        return value, file.read()


def _keep(folder: str, name: str, plan: dict[str, Any]) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.yaml"), "wb") as file:
        file.write(dump_yaml(plan))


def _print(found: dict[str, dict[str, Any]], unseen: set[str], *, each: bool) -> None:
    halves = [
        ("seen", [name for name in found if name not in unseen]),
        ("unseen", [name for name in found if name in unseen]),
    ]
    heads = [f"{word} ({len(names)})" for word, names in halves]
    print(f"{'':28}{heads[0]:>12}{heads[1]:>12}   goal")
    for key in next(iter(found.values()), {}):
        shown = [_summary(key, [found[name][key] for name in names]) for _, names in halves]
        print(f"{key:28}{shown[0]:>12}{shown[1]:>12}   {GOALS.get(key, '')}")
        if each:
            print("".join(f"    {name} {figures[key]}\n" for name, figures in found.items()), end="")


def _summary(key: str, values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return str(sum(known)) if key in SUMS else f"{sum(known) / len(known):.3f}"


if __name__ == "__main__":
    main()
