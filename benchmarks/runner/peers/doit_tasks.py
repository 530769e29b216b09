"""The workload as doit tasks: one task a step, each waiting for the file of the one before it.

Usage: ``BENCH_DIR=<task directory> python doit_tasks.py``; doit keeps its records in ``<task directory>.doit``.
"""

import os
import sys
from collections.abc import Iterator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import doit
import workload

DIRECTORY = workload.task_directory()
DOIT_CONFIG = {"dep_file": f"{DIRECTORY}.doit", "verbosity": 0}


def perform(step: int) -> None:
    """Run one step (an action that returns nothing counts as a success)."""
    workload.run_step(step, DIRECTORY)


def task_step() -> Iterator[dict[str, object]]:
    """Yield one task for every step; doit runs those whose input changed or whose files are missing."""
    for step in range(1, workload.STEPS + 1):
        targets = [workload.step_path(DIRECTORY, step)]
        if step == workload.PLAN_STEP:
            targets.append(workload.plan_path(DIRECTORY))
        task: dict[str, object] = {"name": str(step), "actions": [(perform, [step])], "targets": targets}
        if step == 1:
            task["uptodate"] = [True]
        else:
            task["file_dep"] = [workload.step_path(DIRECTORY, step - 1)]
        yield task


if __name__ == "__main__":
    doit.run(globals())
