"""Plants five errors in the plan of a task, to try a review on: python plant_errors.py TASK_DIRECTORY SEED KEY_FILE

A wrong value, a wrong owner, a requirement from related work, a missing step and a misplaced result take the place of what is
there; which rows they are is written to KEY_FILE alone, so that whoever reviews need not know.

python plant_errors.py --told TASKS_DIRECTORY plants them ten times in each plan, in memory, and counts what the review tells.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import sys
from collections import Counter
from typing import Any

from phases.planning.model.material import split_pages
from phases.planning.paper_check import differences_from_paper
from phases.planning.plan_edits import change_row
from phases.planning.rules import BACKGROUND, roles_of, sentences_of
from pipeline.engine.contract import Contracts

PLAN = "initial_plan.txt"


def plant(plan: dict[str, Any], text: str, outline: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The plan with its errors, and what each of them is."""
    draw, key = random.Random(seed), {}
    numbers = [row for row in plan["values"] if isinstance(row.get("value"), (int, float)) and row["value"]]
    row, other = draw.sample(numbers, 2)
    wrong = draw.choice([row["value"] * 2, row["value"] * 10, row["value"] / 2])
    wrong = int(wrong) if wrong == int(wrong) else wrong
    plan = change_row(plan, row["id"], "value", repr(wrong))
    key["value"] = f"{row['id']}: {row['value']} -> {wrong}"
    owners = {one["owner"] for one in plan["values"]} | {one["name"] for one in plan["baselines"]}
    owner = draw.choice(sorted(owners - {other["owner"]}))
    plan = change_row(plan, other["id"], "owner", owner)
    key["owner"] = f"{other['id']}: {other['owner']} -> {owner}"
    requirement = draw.choice(plan["requirements"])
    section, words = draw.choice(list(_background(text, outline)))
    source = {"section": section["number"] or section["title"], "page": section["page"], "quote": words[:150]}
    key["requirement"] = f"{requirement['id']}: {words}"
    requirement |= {"text": words, "source": source}
    requirement.pop("formula", None)
    with_steps = [one for one in plan["components"] if len(one.get("steps", ())) > 3]
    if with_steps:
        component = draw.choice(with_steps)
        key["step"] = f"{component['id']}: {component['steps'].pop(draw.randrange(1, len(component['steps'])))}"
    else:
        gone = draw.choice([one for one in plan["requirements"] if one is not requirement])
        key["missing requirement"] = f"{gone['id']} is gone: {gone['text']}"
        plan["requirements"].remove(gone)
        for holder in (*plan["components"], *plan["file_structure"]):
            name = "requirements" if "requirements" in holder else "implements"
            holder[name] = [one for one in holder.get(name, ()) if one != gone["id"]]
    first = draw.choice(plan["expected_results"])
    second = draw.choice([one for one in plan["expected_results"] if one["value"] != first["value"]])
    key["result"] = f"{first['id']} and {second['id']}: {first['value']} <-> {second['value']}"
    first["value"], second["value"] = second["value"], first["value"]
    return plan, key


def _background(text: str, outline: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    roles, sections = roles_of(outline["sections"]), outline["sections"]
    found = []
    for section in sections:
        if roles[section["id"]] == BACKGROUND:
            body = " ".join(text[section["start"] : section["end"]].split())
            found += [(section, one) for one in sentences_of(body) if 60 < len(one) < 250 and one[:1].isupper()]
    return found


def load_task(contracts: Contracts, folder: str) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Plan, paper and outline of a task."""
    found = []
    for name in (PLAN, "paper.md", "outline.json"):
        with open(os.path.join(folder, name), "rb") as file:
            found.append(contracts.parse(name, file.read(), writer="the task"))
    return found[0], found[1], found[2]


def count_told(tasks: str) -> None:
    """Prints how many errors of each kind the review tells, of those that can be planted, and what it tells without any."""
    contracts, told, planted, idle = Contracts(), Counter[str](), Counter[str](), 0
    for name in sorted(os.listdir(tasks)):
        if not os.path.exists(os.path.join(tasks, name, PLAN)):
            continue
        plan, paper, outline = load_task(contracts, os.path.join(tasks, name))
        pages = split_pages(paper.text[paper.body_start :])
        idle += len(list(differences_from_paper(plan, pages, paper.text, outline)))
        for seed in range(10):
            try:
                made, key = plant(copy.deepcopy(plan), paper.text, outline, seed)
            except (IndexError, ValueError):
                continue  # it has no two values, no results or no related work
            said = list(differences_from_paper(made, pages, paper.text, outline))
            for kind, what in key.items():
                planted[kind] += 1
                told[kind] += any(what.partition(":")[0].split()[0] in _ids_of(line) for line in said)
    print({kind: f"{told[kind]} of {planted[kind]}" for kind in planted}, f"{idle} told without an error")


def _ids_of(line: str) -> set[str]:
    """The ids that a doubt is about: "V3 (also V5–V7): …"."""
    found: set[str] = set()
    for first, last in re.findall(r"([A-Z][0-9]+)(?:–[A-Z]([0-9]+))?", line.partition(":")[0]):
        found |= {f"{first[0]}{number}" for number in range(int(first[1:]), int(last or first[1:]) + 1)}
    return found


def main() -> None:
    if sys.argv[1] == "--told":
        count_told(sys.argv[2])
        return
    folder, seed, key_file = sys.argv[1:]
    contracts = Contracts()
    plan, paper, outline = load_task(contracts, folder)
    plan, key = plant(plan, paper.text, outline, int(seed))
    with open(os.path.join(folder, PLAN), "wb") as file:
        file.write(contracts.serialise(PLAN, plan, writer="plant_errors"))
    with open(key_file, "w", encoding="utf-8") as file:
        json.dump(key, file, indent=1)


if __name__ == "__main__":
    main()
