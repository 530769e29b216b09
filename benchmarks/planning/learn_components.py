"""Learns how much each cue counts when a plan without a model decides whether a name is that of a component.

    python benchmarks/planning/learn_components.py [--shared DIR] [--write]

A logistic regression over the cues of component_cues.py, on all papers of split.json that may be learnt from; a name is a
component where it agrees with one of the gold's modules. Printed is what each paper scores with weights that were learnt from
the others alone (leave one out), beside what it scores now. --write puts the weights of all into component_weights.py. It needs
numpy.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from learn_values import Row, fit, weighed_by, write_weights
from papers import ROOT, load_gold, load_scorer, names_to_learn_from, read_paper

from phases.planning.rules import name_candidates, passages
from phases.planning.rules.component_weights import WEIGHTS
from phases.planning.rules.components import find_candidates, find_components
from phases.planning.rules.mentions import DATASETS, METRICS, find_mentions
from phases.planning.rules.own_names import own_names

SURE = 0.66
"""What share of their words two names have in common, when one is surely the other."""
Known = tuple[passages.PaperText, list[str], list[str], list[dict[str, Any]]]
"""A paper, what it calls its method, its data sets and metrics, and the modules of its gold."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    scorer = load_scorer(given.shared)
    names = names_to_learn_from()
    known = {name: made for name in names if (made := read_known(given.shared, name))}
    if scorer is None or not known:
        print(
            f"nothing is learnt: {given.shared} has no measure/plan_quality.py, or no papers; name the folder with --shared"
        )
        return
    weights = learn_and_compare(known, scorer)
    if given.write:
        words = (
            "How much each cue counts for the name of a component: benchmarks/planning/learn_components.py writes it."
        )
        write_weights(weights, "component_weights.py", words)


def read_known(shared: str, name: str) -> Known | None:
    paper, gold = read_paper(shared, name), load_gold(shared, name)
    if paper is None or gold is None:
        return None
    read = passages.read_paper(*paper)
    own = own_names(read)
    names = name_candidates.find_candidates(read, own)
    data = [one.name for kind in (DATASETS, METRICS) for one in find_mentions(kind, names)]
    return read, [one for one in own if one not in data], data, gold["modules"]


def learn_and_compare(known: dict[str, Known], scorer: Any) -> dict[str, float]:
    """The weights that all papers give; prints what each scores with those of the others, and as it is."""
    rows = {name: list(rows_of(*known[name], scorer)) for name in known}
    now, figures = dict(WEIGHTS), []
    for name in known:
        before = _score(*known[name], scorer, now)
        apart = _score(*known[name], scorer, fit([row for other in known if other != name for row in rows[other]]))
        figures.append((*apart, *before))
        cells = f"found {apart[0]:.3f} ({before[0]:.3f})  precision {apart[1]:.3f} ({before[1]:.3f})"
        print(f"{name[:40]:40} {len(rows[name]):5} {cells}")
    mean = np.mean(figures, axis=0)
    print(
        f"{'left out (as it is)':40}       found {mean[0]:.3f} ({mean[2]:.3f})  precision {mean[1]:.3f} ({mean[3]:.3f})"
    )
    return fit([row for name in known for row in rows[name]])


def rows_of(
    read: passages.PaperText, own: list[str], data: list[str], modules: list[dict[str, Any]], scorer: Any
) -> list[Row]:
    """The cues of each name that is offered, and whether it is a component.

    What agrees with a module of the gold but has many other words is neither right nor wrong, and is left out.
    """
    found = list(find_candidates(read, own, data))
    shares = np.array([[_share(one.name, want, scorer) for want in modules] for one, _ in found])
    best = shares.max(axis=0, initial=0.0)
    rows = []
    for (_, cues), row in zip(found, shares, strict=True):
        is_right = bool(((row > 0) & ((row >= SURE) | (row >= best))).any())
        if is_right or not row.any():
            rows.append((cues, is_right))
    return rows


def _share(name: str, want: dict[str, Any], scorer: Any) -> float:
    """The share of words that a name has in common with a module's; 0 where the scorer would not pair the two."""
    if scorer.found_of([want], [name])[0] != 1.0:
        return 0.0
    words = scorer.tokens(name)
    forms = [scorer.tokens(form) for form in (want["name"], *want["aliases"])]
    return max((len(words & form) / len(words | form) for form in forms if words | form), default=0.0)


def _score(
    read: passages.PaperText,
    own: list[str],
    data: list[str],
    modules: list[dict[str, Any]],
    scorer: Any,
    weights: dict[str, float],
) -> tuple[float, float]:
    with weighed_by(weights, WEIGHTS):
        names = [one.name for one in find_components(read, own, data)]
    found, precision = scorer.found_of(modules, names)
    return found or 0.0, precision or 0.0


if __name__ == "__main__":
    main()
