"""Phase 10: the experiments of the code, and the paper's tables beside what they gave. It runs only where it is asked for."""

from __future__ import annotations

from typing import Any

from pipeline.engine.phase import Context, Documents, Phase

_PLAN, _RESULTS = "initial_plan.txt", "results.json"
_GIVEN = ("data", "allow_data", "gpu", "programs")


def run(inputs: Documents, ctx: Context) -> Documents:
    # late: every command looks at every phase, and few of them run experiments (decision 38)
    from phases.reproduction.reproduce import reproduce_tables, request_of

    return {_RESULTS: reproduce_tables(request_of(inputs[_PLAN], ctx))}


def _report(documents: Documents) -> dict[str, Any]:
    from phases.reproduction.compare import REPRODUCED, count_verdicts  # late, as above

    results = documents[_RESULTS]
    cells, verdicts = len(results["cells"]), count_verdicts(results["cells"])
    counts = {"size": results["size"], "cells": cells, "verdicts": verdicts}
    data = {"data": results["data"]} if "data" in results else {}
    found = verdicts.get(REPRODUCED, 0) if results["held_out"] else 0
    by = {"verified_by": [f"held-out figures ({found} of {cells})"]} if found else {}
    return {"reproduction": {**counts, "sentence": results["sentence"], **data}, **by}


PHASE = Phase(
    number="10",
    name="reproduce",
    # the code alone, not implementation.json: another verdict on the same code leaves its results valid
    reads=(_PLAN, "generate_code/"),
    writes=(_RESULTS,),
    settings=("reproduce", "tolerance", "sandbox", "install", *_GIVEN),
    asked="reproduce",
    owns=("results",),
    report=_report,
    run=run,
)
