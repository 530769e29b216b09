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
from papers import ROOT, load_gold, load_groups, load_scorer, read_paper

from phases.planning.rules import mentions, passages
from phases.planning.rules.components import own_names
from phases.planning.rules.name_candidates import Candidate, cues_of_candidate, find_candidates
from phases.planning.rules.name_weights import WEIGHTS

FEWEST, PULL = 4, 4.0
Row = tuple[list[str], bool]
Papers = dict[str, tuple[list[Candidate], Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--papers", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    scorer, groups = load_scorer(given.shared), load_groups()
    names = given.papers.split(",") if given.papers else [n for group in ("seen", "learnt", "held back") for n in groups[group]]
    read = {name: (read_paper(given.shared, name), load_gold(given.shared, name)) for name in names}
    papers = {name: (_candidates(paper), gold) for name, (paper, gold) in read.items() if paper and gold}
    if scorer is None or not papers:
        print(f"nothing is learnt: {given.shared} has no measure/plan_quality.py, or no papers; name the folder with --shared")
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
        apart[name] = _score(kind, found, gold, scorer, fit(others, pull=PULL, fewest=FEWEST))
        before[name] = _score(kind, found, gold, scorer, WEIGHTS.get(kind, {}))
        print(f"{name[:40]:40} {_shown(apart[name])}  ({_shown(before[name])})")
    for words, figures in (("left out", apart), ("as it is", before)):
        means = [np.mean([row[at] for row in figures.values() if row[at] is not None]) for at in (0, 1)]
        print(f"{kind}, {words:30} " + "  ".join(f"{mean:.3f}" for mean in means))
    return fit([row for name in papers for row in rows[name]], pull=PULL, fewest=FEWEST)


def rows_of(kind: str, found: list[Candidate], gold: dict[str, Any], scorer: Any) -> list[Row]:
    """The signs of each name, and whether the gold has it as one of that kind."""
    return [
        (list(dict.fromkeys(cues_of_candidate(one))), any(scorer.found_of([want], [one.name])[0] for want in gold[kind]))
        for one in found
    ]


def _score(kind: str, found: list[Candidate], gold: dict[str, Any], scorer: Any, weights: dict[str, float]) -> Any:
    chosen = mentions.choose_names(kind, found, {**WEIGHTS, kind: weights})
    return scorer.found_of(gold[kind], [one.name for one in chosen])


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
