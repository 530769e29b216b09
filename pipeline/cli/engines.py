"""Run the papers of a batch on other machines: as a Slurm array, or on Dask's workers. Neither keeps a state.

What runs there is this command with one task directory and the same options, so that a paper is run as it would be here. The
truth is in the task directories, which all machines must see: when a scheduler dies, the same command goes on.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from shlex import quote, split
from tempfile import mkdtemp
from typing import Any

import click
from click.core import ParameterSource

from pipeline.base.errors import Interrupted, UsageError
from pipeline.base.files import read_bytes, write_without_sync
from pipeline.base.safe_tree import open_file
from pipeline.cli.assembly import relative_path
from pipeline.cli.output import notify
from pipeline.cli.run_batch import Paper, conclude_paper, last_line_of, prepare_paper
from pipeline.engine.settings import Settings

_LOST = 75
"""Exit code of a paper whose outcome is unknown: the same command continues it."""
_TOLD = 500
"""Longest quote of sbatch's refusal."""
_RETRIES = 3
_PATIENCE = 15
"""Seconds that a scheduler has to answer."""
_TIED = (
    "import sys; from pipeline.cli.run_batch import die_with; die_with(int(sys.argv[1])); "
    "from pipeline.cli import main; main(sys.argv[2:])"
)
"""Program that asks the kernel for a SIGTERM when its parent dies, for whatever reason."""
Worker = Sequence[str]
"""Command line for one paper, without its task directory."""
Runner = Callable[[Sequence[Paper], int, Worker, str], None]


def run_elsewhere(
    engine: str, where: str, papers: list[Paper], jobs: int, settings: Settings, flags: dict[str, Any]
) -> int:
    """Run every paper that is not finished on an engine, and fill in what came of each. Returns 0, or the exit code of the
    signal that ended the batch. Raises UsageError where there is no such engine."""
    _refuse_missing(engine)
    worker = [sys.executable, "-m", "pipeline", "resume", *words_of(click.get_current_context()), "--"]
    waiting = [paper for paper in papers if prepare_paper(paper, settings, flags) is not None]
    for paper in waiting:
        paper.status, paper.reason, paper.exit_code, paper.starts = "lost", "its worker or its scheduler died", _LOST, 1
    runners: dict[str, Runner] = {"slurm": _run_on_slurm, "dask": _run_on_dask}
    try:
        if waiting:
            runners[engine](waiting, jobs, worker, where)
    except Interrupted as error:
        notify("stopping; each paper keeps what it has")
        return error.exit_code
    for paper in waiting:
        if paper.status == "lost":
            prepare_paper(paper, settings, flags)  # it may have ended all the same, and then its report says so
    return 0


def _refuse_missing(engine: str) -> None:
    """Raise UsageError where an engine is not here, before a task is made."""
    if engine == "slurm" and not shutil.which("sbatch"):
        raise UsageError(
            "--engine slurm: sbatch is not here; type this where jobs are submitted, or leave --engine out"
        )
    if engine == "dask" and find_spec("distributed") is None:
        raise UsageError("--engine dask: Dask is not installed; pip install 'paper-pipeline[dask]'")


def words_of(context: click.Context) -> list[str]:
    """Return the typed options that a worker gets, without those of the batch itself."""
    words: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not typed or name in _OF_THE_BATCH:
            continue
        value = context.params[name]
        if option.is_flag and option.secondary_opts:
            words.append(option.opts[0] if value else option.secondary_opts[0])
        elif option.is_flag:
            words.append(option.opts[0])
        else:
            values = str(value).split(os.pathsep) if option.multiple else [value]
            words += [f"{option.opts[0]}={one}" for one in values]
    return words


_OF_THE_BATCH = ("jobs", "engine", "where", "csv_file", "html", "rows_as_json")


def _run_on_slurm(papers: Sequence[Paper], jobs: int, worker: Worker, where: str) -> None:
    """Write an array of one element a paper, submit it, and wait for it. `where`: options for sbatch."""
    # next to the tasks, because the nodes must see it
    folder = mkdtemp(prefix=".slurm-", dir=os.path.dirname(os.path.abspath(papers[0].root)))
    script = write_slurm_array(folder, [os.path.abspath(paper.root) for paper in papers], jobs, worker, where)
    said = os.path.join(folder, "sbatch.log")
    with (
        open_file(said, "wb") as errors,
        subprocess.Popen(
            ["sbatch", "--parsable", "--wait", script], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as waits,
    ):
        job = (waits.stdout.readline() if waits.stdout else "").strip().partition(";")[0]
        try:
            if job:
                notify(
                    f"submitted as job {job}: {len(papers)} papers, {jobs} at a time; watch it with: squeue --job {job}"
                )
            code = waits.wait()
        except Interrupted:
            waits.kill()
            if job:
                subprocess.run(["scancel", job], check=False)
            raise
    if not job:
        words = (
            " ".join(read_bytes(said)[-_TOLD:].decode("utf-8", "replace").split()) or f"it ended with exit code {code}"
        )
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(
            f"--engine slurm: sbatch refused the array ({words}); no paper was begun: give sbatch other options with --where "
            "(`sinfo` lists the partitions), and type the same command again"
        )
    for number, paper in enumerate(papers, 1):
        ended = os.path.join(folder, f"{number}.code")
        if os.path.exists(ended):
            conclude_paper(
                paper, int(read_bytes(ended) or _LOST), last_line_of(read_bytes(os.path.join(folder, f"{number}.log")))
            )
    if all(paper.exit_code in (0, 3, 5) for paper in papers):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        notify(f"what each job printed is in {relative_path(folder)}")


def write_slurm_array(folder: str, roots: Sequence[str], jobs: int, worker: Worker, options: str) -> str:
    """Write the script for sbatch and a list of task directories. A job ends in order after a SIGTERM."""
    names, script = os.path.join(folder, "tasks.txt"), os.path.join(folder, "array.sh")
    write_without_sync(names, "".join(f"{root}\n" for root in roots).encode())
    own = [f"#SBATCH {word}" for word in split(options)]
    lines = [
        "#!/bin/bash",
        "#SBATCH --job-name=pipeline",
        f"#SBATCH --array=1-{len(roots)}%{jobs}",
        f"#SBATCH --output={folder}/%a.log",
        "#SBATCH --open-mode=append",
        "#SBATCH --requeue",
        "#SBATCH --signal=B:TERM@60",
        *own,
        f"cd {quote(os.getcwd())}",
        f'root=$(sed -n "${{SLURM_ARRAY_TASK_ID}}p" {quote(names)})',
        f'{" ".join(map(quote, worker))} "$root" &',
        "pid=$!",
        "trap 'kill -TERM $pid' TERM INT",  # the shell alone is sent the signal, and bash runs a trap while it waits
        "wait $pid",
        "code=$?",
        "[ $code -gt 128 ] && { wait $pid; code=$?; }",
        f'echo $code > {quote(folder)}/"$SLURM_ARRAY_TASK_ID".code',
        "exit $code",
    ]
    write_without_sync(script, "\n".join([*lines, ""]).encode())
    return script


def _run_on_dask(papers: Sequence[Paper], jobs: int, worker: Worker, where: str) -> None:
    """Give each paper to a worker of Dask. `where`: the address of a scheduler, or a class of clusters with its arguments."""
    from distributed import Client, as_completed  # late: an extra, and seconds

    with _open_cluster(where or "distributed.LocalCluster", jobs) as cluster:
        try:
            client = Client(cluster, timeout=_PATIENCE)  # type: ignore[no-untyped-call]  # it has none
        except OSError as error:
            raise UsageError(f"--where {where}: no scheduler answers there ({error})") from error
        with client:
            _follow_futures(client, as_completed, papers, jobs, worker)


def _follow_futures(client: Any, as_completed: Any, papers: Sequence[Paper], jobs: int, worker: Worker) -> None:
    """Submit every paper, and note what came of each as it ends."""
    notify(f"{len(papers)} papers on {client.scheduler_info()['address']}; {jobs} workers were asked for")
    futures = {
        client.submit(
            run_command_there, [*worker, os.path.abspath(paper.root)], os.getcwd(), pure=False, retries=_RETRIES
        ): paper
        for paper in papers
    }
    try:
        for future in as_completed(list(futures)):
            if future.status == "finished":
                conclude_paper(futures[future], *future.result())
                notify(f"  {futures[future].name}  {futures[future].status}")
    except Interrupted:
        client.cancel(list(futures), force=True)
        raise


@contextmanager
def _open_cluster(where: str, jobs: int) -> Iterator[object]:
    """Yield the address itself, or a cluster of that class with one-threaded workers."""
    if "://" in where:
        yield where
        return
    name, *given = split(where)
    module, _, kind = name.rpartition(".")
    try:
        make = getattr(import_module(module or "distributed"), kind)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"--where {name}: there is no such class of clusters; pip install dask-jobqueue has some"
        ) from error
    arguments: Mapping[str, Any] = dict(_parse_argument(word) for word in given)
    own = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None} if kind == "LocalCluster" else {}
    with make(**{**own, **arguments}) as cluster:
        if not own:
            cluster.scale(jobs)
        yield cluster


def _parse_argument(word: str) -> tuple[str, int | str]:
    name, equals, value = word.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--where: {word!r} is not an argument like cores=4")
    return name, int(value) if value.isdecimal() else value


def run_command_there(line: list[str], directory: str) -> tuple[int, str]:
    """Run on a worker: its exit code and its last line. The command ends with the worker, however that dies."""
    line = [line[0], "-c", _TIED, str(os.getpid()), *line[line.index("pipeline") + 1 :]]
    with subprocess.Popen(
        line, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        try:
            output, _ = run.communicate()
        finally:
            if run.poll() is None:
                run.send_signal(signal.SIGTERM)
    return run.returncode, last_line_of(output)
