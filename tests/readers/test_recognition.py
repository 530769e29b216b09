"""Scans: ocrmypdf recognizes their letters where that is asked for, once, and the task says so."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from phases.readers.reader_subprocess import read_copy, recognize_letters, run_worker
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import PhaseError
from pipeline.base.workers import WorkerStart
from tests.papers import Command, Ended, good_pdf, scan


def with_ocrmypdf(folder: Path, script: str) -> Any:
    """Runs workers that find this script under the name of ocrmypdf."""
    (folder / "bin").mkdir()
    (folder / "bin" / "ocrmypdf").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "bin" / "ocrmypdf").chmod(0o755)
    return partial(
        run_worker,
        start=WorkerStart({"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret"}, confine_parser),
    )


def test_a_scan_is_read_once_ocrmypdf_has_put_text_into_a_copy(tmp_path: Path) -> None:
    (tmp_path / "good.pdf").write_bytes(good_pdf())
    (tmp_path / "scan.pdf").write_bytes(scan())
    run = with_ocrmypdf(
        tmp_path,
        f'env > {tmp_path}/seen; for last; do :; done; cp {tmp_path}/good.pdf "$last"; echo "$@" >> {tmp_path}/seen',
    )
    assert recognize_letters(str(tmp_path / "scan.pdf"), run=run) == good_pdf()
    seen = (tmp_path / "seen").read_text()
    assert f"--force-ocr --jobs 1 --output-type pdf --quiet {tmp_path}/scan.pdf" in seen
    assert "sk-secret" not in seen


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param("echo 'page 3: no pixels' >&2; exit 2", r"ended with code 2 \(page 3: no pixels\)", id="it fails"),
        pytest.param("exit 0", "ended with code 0", id="it writes nothing"),
        pytest.param("exit 127", "ocrmypdf is not installed.*install it", id="it is not there"),
    ],
)
def test_why_there_is_no_recognized_text_is_told(tmp_path: Path, script: str, message: str) -> None:
    (tmp_path / "scan.pdf").write_bytes(scan())
    with pytest.raises(PhaseError, match=message):
        recognize_letters(str(tmp_path / "scan.pdf"), run=with_ocrmypdf(tmp_path, script))


def test_without_ocrmypdf_the_user_is_told_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(scan())
    run = partial(run_worker, start=WorkerStart({"PATH": str(tmp_path)}))
    with pytest.raises(PhaseError, match="ocrmypdf is not installed"):
        recognize_letters(str(tmp_path / "scan.pdf"), run=run)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def install(command: Command, script: str) -> dict[str, str]:
    """The environment in which this script is ocrmypdf. Each call adds a line to the file `calls`."""
    tools = command.folder / "tools"
    tools.mkdir()
    (tools / "ocrmypdf").write_text(
        f"#!/bin/sh\necho called >> {command.folder}/calls\nfor last; do :; done\n{script}\n"
    )
    (tools / "ocrmypdf").chmod(0o755)
    (command.folder / "good.pdf").write_bytes(good_pdf())
    (command.folder / "scan.pdf").write_bytes(scan())
    return {"PATH": f"{tools}:{command.environment['PATH']}"}


def calls(command: Command) -> int:
    path = command.folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def assert_refused(ended: Ended, *words: str) -> None:
    assert ended.code == 1, ended.err
    assert all(word in ended.complaints[0] for word in words), ended.err


@pytest.mark.slow
def test_a_run_with_ocr_reads_the_copy_and_the_task_says_that_its_text_was_recognized(command: Command) -> None:
    there = install(command, f'cp {command.folder}/good.pdf "$last"')
    ended = command("run", "--fast", "scan.pdf", "--ocr", "--until", "plan", **there)
    assert ended.code == 0, ended.err
    task = command.task("scan")
    assert "recognized_by: ocrmypdf\n" in (task / "paper.md").read_text()
    assert json.loads((task / "report.json").read_text())["recognized_by"] == "ocrmypdf"
    assert "The paper is a scan: ocrmypdf recognized its text" in ended.out
    assert "ocrmypdf recognized its text" in command("review", "scan").err
    [copy] = (task / "recognized").iterdir()
    assert copy.read_bytes() == good_pdf()
    assert command("resume", "scan", **there).code == 3
    assert calls(command) == 1
    assert command("why", "scan").out.strip() == "scan: everything is up to date"


@pytest.mark.slow
def test_a_scan_that_was_refused_goes_on_with_the_command_that_its_refusal_names(command: Command) -> None:
    there = install(command, f'cp {command.folder}/good.pdf "$last"')
    refused = command("run", "--fast", "scan.pdf", **there)
    assert refused.code == 1
    assert "no text layer" in refused.complaints[0]
    assert "pipeline resume scan --ocr" in refused.out
    assert calls(command) == 0
    assert command("resume", "scan", "--ocr", "--until", "outline", **there).code == 0
    assert command("resume", "scan", "--redo", "acquire", "--until", "outline", **there).code == 0
    assert calls(command) == 2, "a redo recognizes anew, and the task remembers that it is wanted"


def test_what_a_killed_run_recognized_is_not_recognized_again(command: Command) -> None:
    there = install(command, f'cp {command.folder}/good.pdf "$last"')
    assert command("run", "--fast", "scan.pdf", "--ocr", "--until", "acquire", **there).code == 0
    task = command.task("scan")
    # as if it had been killed before its phase was done
    (task / "paper.md").unlink()
    assert command("resume", "scan", "--until", "acquire", **there).code == 0
    assert calls(command) == 1


def test_a_link_that_leads_out_of_the_task_is_not_written_through(command: Command) -> None:
    there = install(command, f'cp {command.folder}/good.pdf "$last"')
    command("run", "--fast", "scan.pdf", **there)
    (command.folder / "elsewhere").mkdir()
    (command.task("scan") / "recognized").symlink_to(command.folder / "elsewhere")
    ended = command("resume", "scan", "--ocr", **there)
    assert_refused(ended, "recognized is a symbolic link, and a task holds its own files")
    assert not list((command.folder / "elsewhere").iterdir())


def test_without_the_program_a_run_says_what_to_install_and_keeps_its_verdict(command: Command) -> None:
    (command.folder / "scan.pdf").write_bytes(scan())
    (command.folder / "bin").mkdir()
    (command.folder / "bin" / "env").symlink_to(shutil.which("env") or "")
    ended = command("run", "--fast", "scan.pdf", "--ocr", PATH=str(command.folder / "bin"))
    assert_refused(ended, "ocrmypdf is not installed", "apt-get install ocrmypdf")
    assert "apt-get install ocrmypdf" in ended.out.partition("Next:")[2]
    assert json.loads((command.task("scan") / "report.json").read_text())["input_verdict"] == "no_text"


@pytest.mark.slow
def test_a_paper_with_a_text_of_its_own_is_not_recognized(command: Command) -> None:
    there = install(command, "exit 1")
    assert command("run", "--fast", "good.pdf", "--ocr", "--until", "acquire", **there).code == 0
    assert calls(command) == 0
    assert "recognized_by" not in (command.task("good") / "paper.md").read_text()


def test_a_copy_in_which_nothing_was_recognized_is_said_to_show_no_letters(command: Command) -> None:
    there = install(command, f'cp {command.folder}/scan.pdf "$last"')
    assert_refused(
        command("run", "--fast", "scan.pdf", "--ocr", **there), "shows no letters that ocrmypdf could recognize"
    )


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("ocrmypdf"), reason="ocrmypdf is not installed")
def test_the_real_program_reads_a_page_that_is_a_picture(tmp_path: Path) -> None:
    page = pypdfium2.PdfDocument(good_pdf())[0].render(scale=3, grayscale=True)
    rows = (bytes(page.buffer)[row * page.stride :][: page.width] for row in range(page.height))
    (tmp_path / "scan.pdf").write_bytes(scan(b"".join(rows), page.width, page.height))
    copy = tmp_path / "copy.pdf"
    copy.write_bytes(recognize_letters(str(tmp_path / "scan.pdf")))
    reading = read_copy(str(copy))
    assert reading.recognized_by == "ocrmypdf"
    assert "Slow Waiting" in " ".join(reading.pages)
