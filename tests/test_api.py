"""`import pipeline`: the work of the commands for programs, which prints nothing, ends nothing and costs nothing to import."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pipeline
from pipeline.base.errors import PipelineError, StorageError, TaskBusy, UsageError
from pipeline.cli.run_task import check_settings
from pipeline.cli.task_factory import find_or_make_task
from pipeline.engine.lock import lock_task
from pipeline.engine.run_request import RunEvent
from scripts.api_page import PAGE, SETTINGS_PAGE, settings_page, whole_page
from tests.bare import lend_python
from tests.papers import ROOT, Command, paper


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory and a home of one's own, and a paper."""
    lend_python(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    paper(tmp_path)
    return tmp_path


def test_an_import_loads_nothing(tmp_path: Path) -> None:
    told = (
        "import sys; import pipeline; print([n for n in sys.modules if n.startswith(('pipeline', 'click', 'phases'))])"
    )
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "['pipeline']\n"


def test_every_name_is_there_and_no_other() -> None:
    assert len(pipeline.__all__) <= 12
    assert all(getattr(pipeline, name) for name in pipeline.__all__)
    assert set(dir(pipeline)) == {*pipeline.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        pipeline.runn  # type: ignore[attr-defined]  # noqa: B018 - a name that is not there
    assert gc.isenabled(), "the collector is the caller's"


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path) -> None:
    command = Command(tmp_path)
    lines = [sys.executable, str(ROOT / "examples" / "library.py"), str(paper(tmp_path))]
    ended = subprocess.run(
        lines, capture_output=True, text=True, check=False, cwd=tmp_path, env=command.environment, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Slow Waiting for Everyone (ok): ")
    assert "09 implement: " in ended.stdout
    assert "incomplete: " in ended.stdout
    assert ended.stderr == ""
    assert len((ROOT / "examples" / "library.py").read_text().splitlines()) <= 20


def test_a_run_reports_and_prints_nothing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[RunEvent] = []
    read = pipeline.read_paper("paper.md")
    report = pipeline.run(Path("paper.md"), mode="fast", until="plan", on_event=seen.append)
    assert (read.title, read.verdict) == ("Slow Waiting for Everyone", "ok")
    assert read.markdown.startswith("<!-- page 1 -->\n\n# Slow Waiting for Everyone")
    assert (report.status, report.exit_code, report.done) == ("paused", 0, False)
    assert [event.phase.name for event in seen if event.kind == "done"][-1] == "plan"
    task = pipeline.load_task("paper")
    assert task.plan.requirements[0]["id"] == "R1"
    assert "outline.json" in task.documents()
    assert task.read("outline.json")["title"] == read.title
    ended = pipeline.resume("paper", until="")
    assert ended.status == "incomplete"
    assert ended.open_requirements
    assert ended.document == json.loads((here / "tasks/paper/report.json").read_text())
    assert pipeline.load_task(ended.directory).report.reason == ended.reason
    assert [row["stale"] for row in pipeline.status("paper").phases] == [None] * len(pipeline.status("paper").phases)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pipeline.run("nothing.pdf"), "nothing.pdf does not exist"),
        (lambda: pipeline.run("paper.md", modle="x"), "is not a setting; did you mean 'mode'"),
        (lambda: pipeline.run("paper.md", until="99"), "99"),
        (lambda: pipeline.resume("nobody"), "there is no task 'nobody'"),
        (lambda: pipeline.load_task("nobody"), "there is no task 'nobody'"),
        (lambda: next(pipeline.events("nothing.pdf")), "nothing.pdf does not exist"),
    ],
)
def test_what_cannot_begin_is_raised(here: Path, call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(UsageError, match=words):
        call()
    assert not (here / "tasks" / "nothing").exists()


def test_a_plan_that_is_not_there_is_an_error_of_ours(here: Path) -> None:
    report = pipeline.run("paper.md", mode="fast", until="outline")
    with pytest.raises(StorageError):
        _ = pipeline.load_task(report.task).plan


def test_events_come_as_they_happen_and_the_run_is_over_with_them(here: Path) -> None:
    work = pipeline.events("paper.md", mode="fast")
    kinds = [(event.phase.number, event.kind) for event in work]
    assert kinds[0] == ("00", "started")
    assert ("09", "done") in kinds
    assert work.report
    assert work.report.status == "incomplete"
    assert list(work) == []


def test_a_run_that_is_closed_can_be_resumed(here: Path) -> None:
    work = pipeline.events("paper.md", mode="fast")
    assert next(work).kind == "started"
    work.close()
    assert work.report is not None
    assert (work.report.status, work.report.exit_code) == ("cancelled", 143)
    assert pipeline.resume("paper").status == "incomplete"


def test_ctrl_c_in_a_program_leaves_a_report_and_goes_on_upwards(here: Path) -> None:
    def press(event: RunEvent) -> None:
        if event.phase.name == "outline":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.run("paper.md", mode="fast", on_event=press)
    assert pipeline.load_task("paper").report.status == "cancelled"
    assert pipeline.resume("paper").status == "incomplete"


def test_a_caller_decides_about_the_plan(here: Path) -> None:
    titles: list[str] = []

    def refuse(plan: pipeline.Plan) -> bool:
        titles.append(plan.title)
        return False

    held = pipeline.run("paper.md", mode="fast", approve=refuse)
    assert titles == ["Slow Waiting for Everyone"]
    assert (held.status, held.exit_code) == ("paused", 5)
    assert not (here / "tasks/paper/generate_code").exists()
    assert pipeline.resume("paper", approve=lambda plan: len(plan.files) > 1).status == "incomplete"


@pytest.mark.slow
def test_nobody_is_asked_at_the_terminal(here: Path) -> None:
    report = pipeline.run("paper.md", mode="fast", review="ask")
    assert (report.status, report.exit_code) == ("paused", 5)
    assert "waits for a decision" in report.reason


@pytest.mark.slow
def test_several_tasks_run_in_one_process(here: Path) -> None:
    reports: dict[str, pipeline.Report] = {}

    def work(name: str) -> None:
        path = paper(here, name=f"{name}.md", text=(here / "paper.md").read_text().replace("Slow", name.title()))
        reports[name] = pipeline.run(path, mode="fast")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
    assert sorted(reports) == ["one", "three", "two"]
    assert [report.reason for report in reports.values() if report.status != "incomplete"] == []
    for name, report in reports.items():
        assert report.task == name
        assert pipeline.load_task(name).plan.title == f"{name.title()} Waiting for Everyone"
        log = (Path(report.directory) / "logs/system.jsonl").read_text().splitlines()
        assert [json.loads(line)["seq"] for line in log] == list(range(1, len(log) + 1))


def test_threads_that_make_tasks_at_once_each_make_their_own(here: Path) -> None:
    source, given = str(paper(here)), check_settings({})
    together, faults = threading.Barrier(8), []

    def make(name: str) -> None:
        together.wait()
        try:
            task = find_or_make_task(source, given, {}, wanted_id=name, new=False).load("task.json")
            assert (task["id"], "seal" in task) == (name, True)
        except (PipelineError, AssertionError) as error:
            faults.append(error)

    names, mask, often = [f"t{number}" for number in range(8)], os.umask(0o22), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=make, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(often)
        left = os.umask(mask)
    assert (faults, left) == ([], 0o22)
    assert (
        sorted(path.name for path in (here / "tasks").iterdir() if not path.name.endswith((".lock", ".jsonl"))) == names
    )


def test_a_task_that_is_held_is_told_as_busy(here: Path) -> None:
    report = pipeline.run("paper.md", mode="fast", until="intake")
    with lock_task(report.directory), pytest.raises(TaskBusy):
        pipeline.resume(report.task)


def test_phases_are_known_by_number() -> None:
    assert pipeline.phases()["03"]["writes"] == ("outline.json",)


@pytest.mark.parametrize(
    ("page", "text"), [(PAGE, whole_page()), (SETTINGS_PAGE, settings_page())], ids=["api", "settings"]
)
def test_the_page_says_what_the_docstrings_say(page: Path, text: str) -> None:
    assert page.read_text(encoding="utf-8") == text, "write it again: python -m scripts.api_page"
