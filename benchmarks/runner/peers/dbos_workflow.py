"""The workload as a dbos workflow: one durable step a step, kept in a SQLite system database.

Usage: ``BENCH_DIR=<task directory> python dbos_workflow.py``; the database is ``<task directory>.dbos.sqlite``.
Launching dbos brings back a workflow that was cut off; the program then only waits for it.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import workload
from dbos import DBOS, DBOSConfig, SetWorkflowID


@DBOS.step()
def perform(step: int, directory: str) -> int:
    """Run one step of the workload."""
    workload.run_step(step, directory)
    return step


@DBOS.workflow()
def perform_all(directory: str) -> int:
    """Run every step, one after the other."""
    completed = 0
    for step in range(1, workload.STEPS + 1):
        completed = perform(step, directory)
    return completed


def main() -> None:
    """Start the task's workflow, or wait for the one that is already known."""
    directory = workload.task_directory()
    config: DBOSConfig = {
        "name": "workload",
        "application_version": "1",
        "system_database_url": f"sqlite:///{directory}.dbos.sqlite",
        "log_level": "ERROR",
    }
    workflow = os.path.basename(directory)
    DBOS(config=config)
    DBOS.launch()
    if DBOS.get_workflow_status(workflow) is None:
        with SetWorkflowID(workflow):
            perform_all(directory)
    else:
        DBOS.retrieve_workflow(workflow).get_result(polling_interval_sec=0.01)
    DBOS.destroy()


if __name__ == "__main__":
    main()
