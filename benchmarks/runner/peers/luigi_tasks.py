"""The workload as luigi tasks: each requires the one before it and is done when its files exist.

Usage: ``BENCH_DIR=<task directory> python luigi_tasks.py``; luigi keeps no records beside the files.
Files are written through luigi's own temporary paths, so that a killed run leaves no half-written one in place.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import luigi
import workload


def write_target(path: str, content: bytes) -> None:
    """Write a file beside its place and let luigi move it there."""
    with luigi.LocalTarget(path).temporary_path() as temporary:
        workload.plain_write(temporary, content)


class Step(luigi.Task):
    """One step of the workload."""

    directory = luigi.Parameter()
    number = luigi.IntParameter()

    def requires(self) -> "list[Step]":
        """Return the step before this one."""
        return [Step(directory=self.directory, number=self.number - 1)] if self.number > 1 else []

    def output(self) -> list[luigi.LocalTarget]:
        """Return the files that make this step done."""
        paths = [workload.step_path(self.directory, self.number)]
        if self.number == workload.PLAN_STEP:
            paths.append(workload.plan_path(self.directory))
        return [luigi.LocalTarget(path) for path in paths]

    def run(self) -> None:
        """Run the step."""
        workload.run_step(self.number, self.directory, write_target)


def main() -> int:
    """Run the last step and what it requires in this process."""
    last = Step(directory=workload.task_directory(), number=workload.STEPS)
    return 0 if luigi.build([last], workers=1, local_scheduler=True, log_level="WARNING") else 1


if __name__ == "__main__":
    sys.exit(main())
