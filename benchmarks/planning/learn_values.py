"""Learns how much each cue counts when a plan without a model decides whether a number in a sentence was set by the authors.

    python benchmarks/planning/learn_values.py [--shared DIR] [--write]

A logistic regression over the cues of value_cues.py, on all papers of split.json that may be learnt from; a number is one that
the authors set where its name and value agree with a row of the gold. Printed is what each paper scores with weights that were
learnt from the others alone (leave one out), beside what it scores now. --write puts the weights of all into value_weights.py.
It needs numpy.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from papers import ROOT, load_gold, load_scorer, names_to_learn_from, read_paper

from phases.planning.rules import passages
from phases.planning.rules.plan import plan_by_rules
from phases.planning.rules.settings import candidates_of
from phases.planning.rules.value_cues import cues_of_sentence, cues_of_value
from phases.planning.rules.value_weights import WEIGHTS

FEWEST, PULL, STEPS = 10, 30.0, 25
"""A cue that fewer numbers have is left out; how strongly weights are pulled to 0; steps of Newton's method."""
ASIDES = ("sentence: tells a result", "sentence: an aside")
SHOWN = ("value_precision", "value_recall_method", "value_owner_right", "value_definitely_wrong")
Row = tuple[list[str], bool]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    scorer = load_scorer(given.shared)
    names = names_to_learn_from()
    papers = {name: (read_paper(given.shared, name), load_gold(given.shared, name)) for name in names}
    known = {name: (paper, gold) for name, (paper, gold) in papers.items() if paper and gold}
    if scorer is None or not known:
        print(
            f"nothing is learnt: {given.shared} has no measure/plan_quality.py, or no papers; name the folder with --shared"
        )
        return
    weights = learn_and_compare(known, scorer)
    if given.write:
        words = (
            "How much each cue counts for a number that the authors set: benchmarks/planning/learn_values.py writes it."
        )
        write_weights(weights, "value_weights.py", words)


def learn_and_compare(known: dict[str, tuple[Any, Any]], scorer: Any) -> dict[str, float]:
    """The weights that all papers give; prints what each scores with those of the others."""
    rows = {name: list(rows_of(paper, gold, scorer)) for name, (paper, gold) in known.items()}
    now, apart = dict(WEIGHTS), {}
    before = {name: _score(name, known, scorer, now) for name in known} if now else {}
    for name in known:
        weights = fit([row for other in known if other != name for row in rows[other]])
        apart[name] = _score(name, known, scorer, weights)
        shown = "  ".join(f"{apart[name][key]:.3f} ({before[name][key] if now else 0:.3f})" for key in SHOWN)
        print(f"{name[:40]:40} {len(rows[name]):5} {shown}")
    for words, found in (("left out", apart), ("as it is", before)):
        print(
            f"{words:40}       "
            + "  ".join(f"{np.mean([row[key] or 0 for row in found.values()]):.3f}" for key in SHOWN)
        )
    return fit([row for name in known for row in rows[name]])


def rows_of(paper: tuple[str, dict[str, Any], int], gold: dict[str, Any], scorer: Any) -> list[Row]:
    """The cues of each number with a name, and whether the gold has it.

    A value that is set in one sentence and mentioned in another that tells results says nothing of how values are set:
    the mention is left out.
    """
    text, outline, start = paper
    found = []
    for sentence, values in candidates_of(passages.read_paper(text, outline, start)):
        said = list(cues_of_sentence(sentence)) if values else []
        for one in values:
            stated = list(one.value) if isinstance(one.value, tuple) else one.value
            row = {"name": one.name, "symbol": one.symbol, "_value": stated, "_quote": one.quote}
            rows = frozenset(at for at, want in enumerate(gold["values"]) if scorer.v1.value_matches(row, want))
            found.append(([*said, *cues_of_value(one)], rows))
    is_told = [any(cue in ASIDES for cue in cues) for cues, _ in found]
    set_elsewhere = frozenset().union(*(rows for (_, rows), told in zip(found, is_told, strict=True) if not told))
    return [
        (cues, bool(rows))
        for (cues, rows), told in zip(found, is_told, strict=True)
        if not (told and rows and rows <= set_elsewhere)
    ]


def fit(
    rows: list[Row], *, pull: float = PULL, fewest: int = FEWEST, prior: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The weight of each cue, pulled to `prior` (0 where it has none)."""
    expected = prior or {}
    counts = Counter(cue for cues, _ in rows for cue in set(cues))
    cues = sorted(cue for cue, number in counts.items() if number >= fewest)
    place = {cue: at for at, cue in enumerate(cues)}
    has, right = np.zeros((len(rows), len(cues))), np.array([float(is_gold) for _, is_gold in rows])
    for at, (row, _) in enumerate(rows):
        has[at, [place[cue] for cue in row if cue in place]] = 1.0
    start = np.array([expected.get(cue, 0.0) for cue in cues])
    weights = start.copy()
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-has @ weights))
        slope = has.T @ (likely - right) + pull * (weights - start)
        bend = (has * (likely * (1 - likely))[:, None]).T @ has + pull * np.eye(len(cues))
        weights -= np.linalg.solve(bend, slope)
    return {**expected, **{cue: round(float(weight), 2) for cue, weight in zip(cues, weights, strict=True)}}


def _score(name: str, known: dict[str, tuple[Any, Any]], scorer: Any, weights: dict[str, float]) -> dict[str, Any]:
    (text, outline, start), gold = known[name]
    with weighed_by(weights, WEIGHTS):
        plan = plan_by_rules(text, outline, body_start=start)
    return dict(scorer.score(gold, plan, text)[0])


@contextmanager
def weighed_by(weights: dict[str, float], own: dict[str, float]) -> Iterator[None]:
    """Has the rules go by other weights than their own meanwhile."""
    kept = dict(own)
    own.clear()
    own.update(weights)
    try:
        yield
    finally:
        own.clear()
        own.update(kept)


def write_weights(weights: dict[str, float], name: str, words: str) -> None:
    """The module of rules/ of that name, which begins with `words`; the strongest first, without what rounds to nothing."""
    path = os.path.join(ROOT, "phases", "planning", "rules", name)
    order = sorted((cue for cue in weights if math.fabs(weights[cue]) >= 0.05), key=lambda cue: -weights[cue])
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'"""{words}"""\n')
        file.write("\nfrom __future__ import annotations\n\nWEIGHTS = {\n")
        file.writelines(f'    "{cue}": {weights[cue]},\n' for cue in order)
        file.write("}\n")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
