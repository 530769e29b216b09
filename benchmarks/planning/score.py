"""Measures plans without a model against gold that was made by hand: values, requirements, components, results.

    python benchmarks/planning/score.py [--shared DIR] [--tasks DIR] [--papers NAMES] [--each] [--keep DIR]

DIR of --shared (../shared by default) holds measure/plan_quality.py, which scores, and the papers; gold is in its
papers/gold-plan and in the folder gold beside this file. Without the scorer nothing is measured, and the reason is printed.
Each paper is read and planned here; --tasks takes paper.md and initial_plan.txt from DIR/NAME instead, so that plans of a
model, or of an older release, are scored alike. Figures are means over the papers that have one; counts are sums. The groups
of split.json are given apart: it says which may be learnt from, and how unseen the others are. --keep writes the plans. A
benchmark reports: the exit code is 0 in any case.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from papers import ROOT, load_gold, load_groups, load_scorer, read_paper

from phases.planning.rules import plan_by_rules
from pipeline.base.plain_yaml import dump_yaml, parse_yaml

SUMS = ("value_definitely_wrong", "said_twice", "results_that_are_settings")
OF_STATED = ("verbatim", "whole_sentences", "from_built_sections", "readable_alone")
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
    scorer, groups = load_scorer(given.shared), load_groups()
    if scorer is None:
        print(f"nothing is measured: {given.shared} has no measure/plan_quality.py; name the folder with --shared")
        return
    names = given.papers.split(",") if given.papers else [name for group in groups.values() for name in group]
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        made = _from_task(given.tasks, name) if given.tasks else _planned(given.shared, name)
        if made is None:
            print(f"{name}: skipped, there is no such paper or task")
            continue
        plan, paper = made
        if given.keep:
            _keep(given.keep, name, plan)
        gold = load_gold(given.shared, name)
        if gold is not None:
            found[name], _ = scorer.score(gold, plan, paper)
            found[name]["value_anchored_as_printed"] = share_as_printed(plan, paper, scorer)
            found[name]["lines_of_code_kept"] = share_of_code(plan, paper)
            # what a model infers, or assumes where the paper is silent, says so and is in no words of the paper
            stated = [row for row in plan["requirements"] if row["status"] == "stated"]
            alone, _ = scorer.score(gold, {**plan, "requirements": stated}, paper)
            found[name] |= {f"stated_{figure}": alone[figure] for figure in OF_STATED}
    _print(found, groups, each=given.each)


def share_as_printed(plan: dict[str, Any], paper: str, scorer: Any) -> float | None:
    """How many values stand in the words that they quote as they are or as they are printed: 10^-4 holds 0.0001, "two" holds 2.

    The scorer's `value_anchored` looks for the digits of the value alone. None where a plan has no values.
    """
    letters, rows = scorer.letters, plan["values"]
    text = letters(paper.replace("\n", " "))
    held = 0
    for row in rows:
        quote = letters(row["source"]["quote"].replace("\\times", "×").replace("\\cdot", "·"))
        given = row["values"] if "values" in row else [row["value"]]
        forms = (
            [row["printed"]]
            if "printed" in row
            else [f"{one:g}" if isinstance(one, float) else str(one) for one in given]
        )
        held += letters(row["source"]["quote"]) in text and all(letters(form) in quote for form in forms)
    return round(held / len(rows), 3) if rows else None


def share_of_code(plan: dict[str, Any], paper: str) -> float | None:
    """How many lines of the paper's algorithms and listings are steps of a component. None where the paper has no such lines.

    The scorer knows the names of algorithms and not their lines, so a plan could lose all of these unseen.
    """
    steps = {_bare(step) for row in plan["components"] for step in row.get("steps", ())}
    fences = re.findall(r"^```[^\n]*\n(.*?)^```", paper, re.DOTALL | re.MULTILINE)
    lines = [line for fence in fences for line in map(_bare, fence.splitlines()) if line]
    return round(sum(line in steps for line in lines) / len(lines), 3) if lines else None


def _bare(line: str) -> str:
    return re.sub(r"^[0-9]+|\W", "", line.strip())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--tasks", default="")
    parser.add_argument("--papers", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--each", action="store_true")
    return parser.parse_args()


def _planned(shared: str, name: str) -> tuple[dict[str, Any], str] | None:
    paper = read_paper(shared, name)
    return (plan_by_rules(paper[0], paper[1], body_start=paper[2]), paper[0]) if paper else None


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


def _print(found: dict[str, dict[str, Any]], groups: dict[str, list[str]], *, each: bool) -> None:
    shown = {word: [name for name in names if name in found] for word, names in groups.items()}
    print(f"{'':28}" + "".join(f"{f'{word} ({len(names)})':>16}" for word, names in shown.items()) + "   goal")
    for key in next(iter(found.values()), {}):
        cells = [_summary(key, [found[name][key] for name in names]) for names in shown.values()]
        print(f"{key:28}" + "".join(f"{cell:>16}" for cell in cells) + f"   {GOALS.get(key, '')}")
        if each:
            print("".join(f"    {name} {figures[key]}\n" for name, figures in found.items()), end="")


def _summary(key: str, values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return str(sum(known)) if key in SUMS else f"{sum(known) / len(known):.3f}"


if __name__ == "__main__":
    main()
