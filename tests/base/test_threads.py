"""A machine that starts no more threads is reported as one, wherever a thread is needed."""

from __future__ import annotations

import ast
import resource
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phases.references.parse.worker_queue import parse_files
from phases.sandbox.box import OFF, Box
from phases.workspace.jobs import Jobs
from pipeline.base.errors import StorageError
from pipeline.base.http.proxy import Proxy, lend_to_git
from pipeline.base.lease import keep_lease
from pipeline.base.threads import reporting_thread_shortage, run_side_by_side
from tests.papers import Command, command_line, paper

ROOT = Path(__file__).resolve().parents[2]
TOO_LARGE = 2**47
"""The bytes of a stack that fits into no address space, so that the system refuses every thread."""
REPORT = "the machine starts no more threads: Resource temporarily unavailable (EAGAIN); end other programs, or raise the limits"


@pytest.fixture
def _no_threads() -> Iterator[None]:
    threading.stack_size(TOO_LARGE)
    yield
    threading.stack_size(0)


def hold_lease(folder: Path) -> None:
    lease = folder / "lease"
    lease.write_text('{"attempt": "mine"}')
    try:
        with keep_lease(str(lease), "mine"):
            pytest.fail("no thread keeps the lease alive")
    finally:
        assert not lease.exists(), "a lease that no thread keeps alive is given back"


def lend_way_out(_: Path) -> None:
    with lend_to_git(Proxy("127.0.0.1", 1, "HTTPS_PROXY"), "example.org", 443, ["127.0.0.1"]):
        pytest.fail("no thread answers git")


def begin_job(folder: Path) -> None:
    (folder / "code").mkdir()
    jobs = Jobs(str(folder / "jobs"), print)
    try:
        jobs.start(1, "true", Box(str(folder / "code"), OFF))
    finally:
        assert jobs.wait(1, 0).exit_code is None, "a job without a thread is not waited for"


def parse_code(_: Path) -> None:
    list(parse_files([("a", "python", b"x = 1\n")]))


def look_up(_: Path) -> None:
    run_side_by_side({"one": lambda: 1, "other": lambda: 2}, 2)


@pytest.mark.usefixtures("_no_threads")
@pytest.mark.parametrize(
    "work", [hold_lease, lend_way_out, begin_job, parse_code, look_up], ids=lambda work: work.__name__
)
def test_work_that_needs_a_thread_reports_the_machine_where_it_gets_none(
    work: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(StorageError) as caught:
        work(tmp_path)
    assert str(caught.value).startswith(REPORT)


def test_another_error_of_a_thread_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="generator raised"), reporting_thread_shortage():
        raise RuntimeError("generator raised StopIteration")


def test_a_run_that_gets_no_thread_ends_with_one_line_and_1(tmp_path: Path) -> None:
    command, source = Command(tmp_path), paper(tmp_path)
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip(f"stacks are limited to {hard} bytes here")
    line = ["prlimit", f"--stack={TOO_LARGE}:unlimited", *command_line("run", "--fast", source)]
    ended = subprocess.run(line, cwd=tmp_path, env=command.environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"pipeline: {REPORT}")
    assert ended.stderr.count("\n") == 1
    assert not list((tmp_path / "tasks").rglob("*lease*"))
    assert command("run", "--fast", source, "--until", "intake").code == 0


def test_every_thread_is_started_where_a_shortage_is_reported() -> None:
    """A start elsewhere would end in a traceback. A script that a process of its own runs has no user to report to."""
    strays = []
    for path in sorted([*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("phases/**/*.py")]):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if name == "pipeline/base/threads.py" or "hread" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.With):
                calls = [ast.unparse(item.context_expr) for item in node.items]
                pools = [call for call in calls if call.startswith("ThreadPoolExecutor(")]
                strays += [f"{name}:{node.lineno}" for _ in pools if calls[0] != "reporting_thread_shortage()"]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("Thread", "Timer"):
                strays.append(f"{name}:{node.lineno}")
    assert not strays
