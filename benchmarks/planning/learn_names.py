"""Learns how much each sign counts when a plan without a model decides whether a name is a data set, a metric or a baseline.

    python benchmarks/planning/learn_names.py [--shared DIR] [--papers NAMES] [--write]

A logistic regression for each kind over the signs of name_candidates.py; a name is right where the scorer takes it for a row
of the gold. Printed is what each paper scores (recall and precision) with weights that were learnt from the others alone
(leave one out), beside what it scores now; --papers learns from these alone. --write puts the weights of all into
name_weights.py. It needs numpy.
"""

from __future__ import annotations

import argparse
import math
import os
from typing import Any

import numpy as np
from learn_values import fit
from papers import ROOT, load_gold, load_scorer, names_to_learn_from, read_paper

from phases.planning.rules import mentions, passages
from phases.planning.rules.name_candidates import Candidate, find_candidates
from phases.planning.rules.name_weights import WEIGHTS
from phases.planning.rules.own_names import own_names

FEWEST, PULL = 4, 20.0
PRIOR: dict[str, dict[str, float]] = {
    "datasets": {
        "any": -4.0, "known data": 3.5, "has a known data": 1.5, "after: data": 1.5, "after: its own kind, data": 2.5,
        "before: data": 1.5, "before: tasks": 1.0,
        "after: a task": 1.2, "before: tested on": 1.5, "before: on": 0.5, "a heading below data": 4.0,
        "a heading below experiments": 0.7, "begins an item of data": 4.0,
        "section on data": 0.7, "cited": 0.5, "in a list": 0.3, "sentence: of data": 0.5, "in a caption": 0.5,
        "a group of a table": 0.7, "a row below data": 2.5, "in quotes": 0.5, "said: often": 0.5, "in set-up or results": 0.7,
        "section: background": -0.5, "section: build": -0.5, "known metric": -4.0, "a wide metric": -4.0,
        "known machine": -4.0, "known model": -2.5,
        "known method": -2.5, "name: like a metric": -3.0, "name: like a method": -2.0, "name: has the paper's own": -1.0,
        "name: like a setting": -1.5, "name: authors": -3.0, "after: a method": -1.0, "after: how well it does": -0.7,
        "before: compared with": -0.5, "name: small letters": -1.5, "name: like data": 1.0, "name: many words": -1.0,
        "the paper's own": -1.0, "a row beside the paper's own": -2.0, "a column beside the paper's own": -1.5,
        "before: written in": -3.0, "after: a library": -1.5, "name: a word of the text": -1.5,
    },
    "metrics": {
        "any": -4.0, "known metric": 3.5, "a wide metric": 2.0, "name: like a metric": 1.5,
        "section on metrics": 2.0, "begins an item of metrics": 4.0,
        "before: measured": 1.2, "after: a definition": 1.0, "after: a score": 0.7, "with an arrow": 3.0,
        "a column of a table": 0.8, "in a caption": 1.0, "sentence: of measures": 0.5, "after: on": 0.3,
        "section: results": 0.5,
        "in set-up or results": 0.4, "section: build": -0.8, "said: often": 0.5, "said: once": -0.5, "known data": -4.0,
        "known method": -3.0, "known model": -3.0, "known machine": -4.0, "name: like a setting": -2.5, "name: authors": -4.0,
        "name: like a method": -2.0, "cited": -0.7, "a row beside the paper's own": -1.5, "name: like data": -2.0,
        "after: a number": 0.5, "before: best or change": 0.5, "the paper's own": -3.0, "a heading below metrics": 3.0,
    },
    "baselines": {
        "any": -4.0, "before: compared with": 1.5, "before: against": 1.3, "before: beats": 1.5,
        "before: than": 1.0, "before: over": 0.3, "before: so much over": 1.5, "name: a word of the text": -1.0,
        "before: baselines": 1.5, "after: a baseline": 1.5, "after: its own kind, a baseline": 2.5,
        "a row beside the paper's own": 2.5,
        "a column beside the paper's own": 2.0,
        "a row below methods": 2.5, "table: measured": 0.7, "cited where it is compared": 1.5,
        "sentence: tells what we compare": 0.8, "cited in a table": 1.8, "in a list with the paper's own": 1.0,
        "in a caption with the paper's own": 2.5, "a row of methods with measures": 1.5, "section on baselines": 0.8,
        "begins an item of baselines": 4.0, "a heading below baselines": 4.0, "after: how well it does": 1.0,
        "sentence: compares": 0.5,
        "known method": 1.5, "cited": 0.5, "in a caption": 0.5, "after: a method": 0.5, "said: often": 0.4,
        "name: like a method": 1.0,
        "known data": -4.0, "known metric": -4.0, "a wide metric": -4.0, "known machine": -4.0, "known model": -2.5,
        "name: like a metric": -2.5,
        "name: like a setting": -2.5, "name: has the paper's own": -3.0, "the paper's own": -5.0,
        "name: authors": 1.0, "in set-up or results": 0.5,
        "section: results": 0.5, "after: data": -1.0, "before: tested on": -0.5, "after: a model": -0.3,
        "after: a library": -0.7,
        "before: written in": -2.0, "a group of a table": -0.5, "name: many words": -1.0, "name: like data": -2.0,
    },
}  # fmt: skip
"""What a person would expect of the signs; figures move the weights away from it as far as they are many."""
Row = tuple[list[str], bool]
Papers = dict[str, tuple[list[Candidate], Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--papers", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    scorer = load_scorer(given.shared)
    names = given.papers.split(",") if given.papers else names_to_learn_from()
    read = {name: (read_paper(given.shared, name), load_gold(given.shared, name)) for name in names}
    papers = {name: (_candidates(paper), gold) for name, (paper, gold) in read.items() if paper and gold}
    if scorer is None or not papers:
        print(
            f"nothing is learnt: {given.shared} has no measure/plan_quality.py, or no papers; name the folder with --shared"
        )
        return
    weights = {kind: learn_and_compare(kind, papers, scorer) for kind in mentions.KINDS}
    if given.write:
        write_weights(weights)


def _candidates(paper: tuple[str, dict[str, Any], int]) -> list[Candidate]:
    read = passages.read_paper(*paper)
    return find_candidates(read, own_names(read))


def learn_and_compare(kind: str, papers: Papers, scorer: Any) -> dict[str, float]:
    """The weights of a kind that all papers give; prints what each scores with those of the others."""
    rows = {name: rows_of(kind, found, gold, scorer) for name, (found, gold) in papers.items()}
    apart, before = {}, {}
    for name, (found, gold) in papers.items():
        others = [row for other in papers if other != name for row in rows[other]]
        apart[name] = _score(kind, found, gold, scorer, fit(others, pull=PULL, fewest=FEWEST, prior=PRIOR[kind]))
        before[name] = _score(kind, found, gold, scorer, WEIGHTS.get(kind, {}))
        print(f"{name[:40]:40} {_shown(apart[name])}  ({_shown(before[name])})")
    for words, figures in (("left out", apart), ("as it is", before)):
        means = [np.mean([row[at] for row in figures.values() if row[at] is not None]) for at in (0, 1)]
        print(f"{kind}, {words:30} " + "  ".join(f"{mean:.3f}" for mean in means))
    return fit([row for name in papers for row in rows[name]], pull=PULL, fewest=FEWEST, prior=PRIOR[kind])


def rows_of(kind: str, found: list[Candidate], gold: dict[str, Any], scorer: Any) -> list[Row]:
    """The signs of each name, and whether the gold has it as one of that kind."""
    return [
        (
            list(dict.fromkeys(mentions.cues_of_candidate(one))),
            any(scorer.found_of([want], [one.name])[0] for want in gold[kind]),
        )
        for one in found
    ]


def _score(kind: str, found: list[Candidate], gold: dict[str, Any], scorer: Any, weights: dict[str, float]) -> Any:
    chosen = mentions.choose_names(kind, found, {**WEIGHTS, kind: weights})
    return scorer.found_of(gold[kind], [one.name for one, _ in chosen])


def _shown(figures: Any) -> str:
    return "  ".join("    –" if one is None else f"{one:.3f}" for one in figures)


def write_weights(weights: dict[str, dict[str, float]]) -> None:
    """name_weights.py, the strongest first; what rounds to nothing is left out."""
    path = os.path.join(ROOT, "phases", "planning", "rules", "name_weights.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write('"""How much each sign counts for a name: benchmarks/planning/learn_names.py writes it."""\n')
        file.write("\nfrom __future__ import annotations\n\nWEIGHTS = {\n")
        for kind, counted in weights.items():
            file.write(f'    "{kind}": {{\n')
            order = sorted((cue for cue in counted if math.fabs(counted[cue]) >= 0.1), key=lambda cue: -counted[cue])
            file.writelines(f'        "{cue}": {counted[cue]},\n' for cue in order)
            file.write("    },\n")
        file.write("}\n")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
