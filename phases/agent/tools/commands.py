"""Bash, Job and AddPackage: shell commands, background jobs, and packages for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from phases.agent.tools.toolbox import Tool, ToolError, ToolKind, ToolResult, object_schema
from phases.sandbox.bash import why_no_command
from phases.sandbox.box import Limits
from phases.workspace.jobs import ENDED, RUNNING, VARIABLE, Jobs, JobState
from phases.workspace.packages import CannotInstall, Packages, why_not_a_package
from pipeline.base.text_escaping import one_line

SECONDS = 120
WAIT, TAIL, STOP = "wait", "tail", "stop"
Run = Callable[[str, int], tuple[int | None, str]]
"""Takes a command and seconds; returns the exit code (None: not run, or timed out) and output."""
Start = Callable[[str], JobState]
"""Starts a command as a job. Raises WorkspaceError."""
MOST_ADDED = 10
"""Packages added in one run, resumes included."""
Install = Callable[[Sequence[str]], Packages]
"""Installs the plan's packages and these lines for commands. Raises CannotInstall."""


def bash_tool(run: Run, most_seconds: int = Limits().seconds, start: Start | None = None) -> Tool:
    """Return Bash. Files that a command writes are not in `touched`. Without `start` there are no jobs."""

    def act(command: str, timeout: int = SECONDS, background: bool = False) -> ToolResult | str:
        if why := why_no_command(command):
            raise ToolError(why)
        if background and start:
            return _describe_start(start(command))
        code, output = run(command, int(timeout))
        if code != 0:
            raise ToolError(output if code is None else f"exit code {code}\n{output}")
        return f"exit code 0\n{output}"

    optional: dict[str, Any] = {"timeout": {"type": "integer", "minimum": 1, "maximum": most_seconds}}
    return Tool(
        "Bash",
        "Runs a shell command in the workspace, in a sandbox without network. Each command is a shell of its own. "
        f'`timeout` is in seconds, {SECONDS} unless given: {{"command": "python -m pytest -q"}}.'
        + (_ON_JOBS if start else ""),
        object_schema(
            {"command": {"type": "string", "minLength": 1}},
            **optional,
            **({"background": {"type": "boolean"}} if start else {}),
        ),
        act,
        ToolKind.EXEC,
    )


_ON_JOBS = (
    " What takes longer, like training, runs with `background` as a job, on a copy of the workspace as it is now. It should "
    "save checkpoints and go on from them, because a job that is cut off is started again where it was."
)


def job_tool(jobs: Jobs, started: Callable[[], int], most_seconds: int = Limits().seconds) -> Tool:
    """Return Job. `started` returns the number of jobs in the journal."""
    return Tool(
        "Job",
        'Looks after a job that Bash started: {"number": 1, "action": "wait", "seconds": 300} waits until it has ended, '
        "for so long at most; tail shows the end of its log; stop ends it.",
        object_schema(
            {"number": {"type": "integer", "minimum": 1}, "action": {"type": "string", "enum": [WAIT, TAIL, STOP]}},
            seconds={"type": "integer", "minimum": 1, "maximum": most_seconds},
        ),
        partial(_tend_job, jobs, started),
        ToolKind.NEUTRAL,
    )


def _tend_job(
    jobs: Jobs, started: Callable[[], int], *, number: int, action: str, seconds: int = SECONDS
) -> ToolResult:
    if number > started():
        raise ToolError(f"there is no job {number}; so many were started in this run: {started()}")
    job = {WAIT: lambda: jobs.wait(number, seconds), STOP: lambda: jobs.stop(number)}.get(
        action, lambda: jobs.look(number)
    )()
    if job.state == RUNNING:
        how = f"job {number} runs, for {job.seconds} s now"
    else:
        how = f"job {number} ended: " + (f"exit code {job.exit_code}" if job.exit_code is not None else job.why)
    result = ToolResult(f"{how}\n{jobs.read_tail(number)}", job=job._replace(seconds=0)._asdict())
    if job.state == ENDED and job.exit_code != 0 and action != STOP:
        raise ToolError(result.text, result)
    return result


def _describe_start(job: JobState) -> ToolResult:
    return ToolResult(
        f"started as job {job.number}, on a copy of the workspace: ask Job how it is. What it writes stays in "
        f"${VARIABLE}/{job.number}, which Bash can read; copy from there what the work needs.",
        job=job._asdict(),
    )


def add_package_tool(install: Install, added_before: Callable[[], Sequence[Mapping[str, Any]]]) -> Tool:
    """Return AddPackage. `added_before` returns the packages added earlier: packages_added()."""
    return Tool(
        "AddPackage",
        "Installs a package that the plan lacks and the code cannot do without, for commands and checks: "
        '{"name": "einops>=0.7", "why": "rearranges tensors"}',
        object_schema(
            {
                "name": {"type": "string", "minLength": 1, "maxLength": 100},
                "why": {"type": "string", "minLength": 1, "maxLength": 300},
            }
        ),
        partial(_add_package, install, added_before),
        ToolKind.NEUTRAL,
    )


def _add_package(
    install: Install, added_before: Callable[[], Sequence[Mapping[str, Any]]], *, name: str, why: str
) -> ToolResult:
    before = [row["line"] for row in added_before()]
    if fault := why_not_a_package(name):
        raise ToolError(fault)
    if len(before) >= MOST_ADDED:
        raise ToolError(f"{MOST_ADDED} packages were added in this run, and no more may be: do without {name}")
    try:
        made = install([*before, name])
    except CannotInstall as error:
        raise ToolError(f"{name} is not installed, and everything is as it was: {error.said}") from error
    there = ", ".join(f"{row['name']} {row['version']}" for row in made.installed)
    return ToolResult(
        f"installed; commands find these packages now: {there}", added={"line": name, "why": one_line(why, 300)}
    )


def packages_added(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each package line that the journal adds, once, with the reason."""
    added = (row["result"]["added"] for row in rows if row["kind"] == "result" and "added" in row["result"])
    return list({row["line"]: dict(row) for row in added}.values())
