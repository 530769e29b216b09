"""Finished work is judged again: by `pipeline verify`, by the user's own tests, by a judge, after more attempts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.box import BUBBLEWRAP, NONE
from phases.sandbox.commands import kind_of_sandbox
from tests.cli.test_accepted_runs import DONE, WRITES, assert_ended, ground, report
from tests.drills.ground import Ground
from tests.drills.looping import Turn, looping
from tests.llm_server import LlmServer, Says

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
PASSES = "from decay import averaged\n\n\ndef test_runs():\n    assert averaged(1.0, 1.0) == 1.0\n"
FAILS = PASSES + "\n\ndef test_wish():\n    assert averaged is None\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A task whose code is accepted."""
    there = ground(tmp_path_factory.mktemp("finished"))
    assert there.call().code == 0
    return there


@pytest.fixture
def there(finished: Ground, tmp_path: Path) -> Ground:
    """A copy of it, without the recording that its code was written from: nobody can be asked."""
    shutil.copytree(finished.base, tmp_path / "copy", symlinks=True)
    copy = Ground(tmp_path / "copy", arguments=finished.arguments)
    for recording in copy.base.glob("*.jsonl"):
        recording.unlink()
    return copy


def put_tests(there: Ground, text: str) -> str:
    folder = there.work / "mine"
    folder.mkdir(exist_ok=True)
    (folder / "test_mine.py").write_text(text)
    return "mine"


def traced(there: Ground) -> dict[str, Any]:
    return {row["id"]: row for row in json.loads((there.task / "traceability.json").read_bytes())["requirements"]}


@pytest.mark.slow
def test_finished_work_is_judged_again_in_the_same_words_and_no_model_is_asked(there: Ground) -> None:
    before = json.loads((there.task / "report.json").read_bytes())
    ended = there.call("verify", "paper")
    assert_ended(there, ended, "completed", 0, verified=True)
    assert report(there)["reason"] == before["reason"]
    assert report(there)["usage"] == before["usage"]
    assert there.call("why", "paper").out == "paper: everything is up to date\n"
    assert "Attempt 2, turn" in there.call("show", "paper", "acceptance").out


@pytest.mark.slow
def test_code_that_was_broken_by_hand_is_refused(there: Ground) -> None:
    path = there.task / "generate_code" / "decay.py"
    path.write_text(path.read_text().replace("BETA * weight", "BETA + weight"))
    ended = there.call("verify", "paper")
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert path.read_text().count("BETA + weight") == 1


def test_work_that_is_not_finished_cannot_be_judged_again(tmp_path: Path) -> None:
    there = ground(tmp_path, words=("--stop-at", "implement"))
    assert there.call().code == 0
    ended = there.call("verify", "paper")
    ended.assert_failed("is not finished", "pipeline resume paper")


def test_the_tests_of_the_user_decide_and_what_they_ran_is_told(there: Ground) -> None:
    ended = there.call("verify", "paper", "--tests", put_tests(there, FAILS))
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert "pytest user_tests (the user's own tests): 1 test passed, 1 failed" in ended.out
    ended = there.call("verify", "paper", "--tests", put_tests(there, PASSES))
    assert_ended(there, ended, "completed", 0, verified=True)
    assert report(there)["verified_by"] == ["own tests (3)", "your tests"]
    assert "Checked by own tests (3), your tests; 3 of 3 requirements and values located" in " ".join(ended.out.split())
    assert "yours  test_mine.py::test_runs" in there.call("trace", "paper").out


@pytest.mark.parametrize("number", ["abc", "-1", "0", "100"])
def test_a_number_of_changes_that_makes_no_sense_is_refused_before_anything_runs(there: Ground, number: str) -> None:
    there.call("verify", "paper", f"--mutants={number}").assert_failed("give a number from 1 to 99, or off")


def test_a_folder_without_tests_is_refused_before_anything_runs(there: Ground) -> None:
    (there.work / "empty").mkdir()
    there.call("verify", "paper", "--tests", "empty").assert_failed("no test_*.py or *_test.py")
    there.call("verify", "paper", "--tests", "nowhere").assert_failed("no such folder or file")


def test_the_agent_cannot_read_the_tests_of_the_user_and_mends_what_they_refuse(tmp_path: Path) -> None:
    looks: Turn = [("Bash", {"command": "cat ../user_tests/test_mine.py || ls .."})]
    mends: Turn = [("Write", {"file_path": "extra.py", "content": "WISH = 1\n"})]
    there = looping(tmp_path, [[*WRITES, *looks], DONE, mends, *[DONE] * 4], "--supervisor", "off", "--tests", "mine")
    put_tests(there, "def test_wish():\n    import extra\n    assert extra.WISH == 1\n")
    ended = there.call()
    assert_ended(there, ended, "completed", 0, verified=True)
    rows = [json.loads(line) for line in (there.task / "journal.jsonl").read_text().splitlines()]
    [looked] = [row["result"] for row in rows if row["kind"] == "result" and "user_tests" in str(row["result"]["text"])]
    assert "WISH" not in looked["text"]
    refused = next(row["result"] for row in rows if row["kind"] == "verdict")
    assert "No module named 'extra'" in refused["feedback"]


def test_work_without_attempts_left_goes_on_when_there_are_more(tmp_path: Path) -> None:
    breaks: Turn = [("Write", {"file_path": "broken.py", "content": "def f(:\n"})]
    again: Turn = [("Write", {"file_path": "broken.py", "content": "def f(: # still\n"})]
    mends: Turn = [("Write", {"file_path": "broken.py", "content": "F = 1\n"})]
    turns = [[*WRITES, *breaks], DONE, again, DONE, mends, DONE, DONE]
    there = looping(tmp_path, turns, "--max-acceptance-continues", "1")
    ended = there.call()
    assert_ended(there, ended, "incomplete", 3, verified=False)
    advised = "pipeline resume paper --max-acceptance-continues 2"
    assert advised in ended.out
    assert "up to date" in there.call("why", "paper").out
    ended = there.call(*advised.split()[1:])
    assert_ended(there, ended, "completed", 0, verified=True)
    rows = [json.loads(line) for line in (there.task / "journal.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows if row["kind"] in ("verdict", "ending", "more")] == [
        *("verdict", "verdict", "ending", "more", "verdict", "ending")
    ]
    (there.task / "generate_code" / "broken.py").write_text("F = 2\n")  # walked again, and judged anew
    assert_ended(there, there.call("resume", "paper"), "completed", 0, verified=True)


def judging(verdict: str) -> Any:
    """A server that judges every requirement alike."""

    def answer(body: dict[str, Any]) -> Says:
        asked = str(body["messages"][-1]["content"]).rpartition("Judge ")[2].partition(". Reply")[0]
        said = {"verdict": verdict, "file": "decay.py", "line": 3, "sentence": "It says so."}
        rows = [{"id": name, **said} for name in asked.split(", ")]
        return Says(json.dumps({"judgements": rows}))

    return answer


def test_what_the_reviewer_finds_to_differ_is_a_doubt_that_refuses_nothing_and_is_paid_for_once(there: Ground) -> None:
    before = {name: row["status"] for name, row in traced(there).items()}
    with LlmServer(*[judging("differs")] * 20) as server:
        judge = ("--judge", "compatible:tiny")
        there.extra.update(PIPELINE_BASE_URL=server.base_url, PIPELINE_API_KEY="none")
        for _ in range(2):
            ended = there.call("verify", "paper", *judge)
            assert_ended(there, ended, "warning", 0, verified=False)
            assert server.asked == 1
    assert "R1, R2, R3 differ in decay.py, line 3: It says so. (compatible:tiny)" in " ".join(ended.out.split())
    assert report(there)["verified_by"] == ["own tests (3)"]
    assert "<<<CODE" in str(server.requests[0].body)
    assert "<<<PAGE 1 OF THE TEXT" in str(server.requests[0].body)
    assert {name: row["status"] for name, row in traced(there).items()} == before
    assert "review differs in decay.py, line 3: It says so. (compatible:tiny)" in there.call("trace", "paper").out


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("decay.py", "BETA * weight", "BETA + weight"),
        ("tests/test_decay.py", "import unittest", "import nothing_of_that_name, unittest"),
        ("decay.py", "def averaged", "def averaged("),
    ],
    ids=["a check fails", "a test cannot be imported", "a file does not parse"],
)
def test_the_reviewer_is_not_asked_while_the_facts_do_not_hold(path: str, before: str, after: str, there: Ground) -> None:
    file = there.task / "generate_code" / path
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    with LlmServer(judging("meets")) as server:
        there.extra.update(PIPELINE_BASE_URL=server.base_url, PIPELINE_API_KEY="none")
        ended = there.call("verify", "paper", "--judge", "compatible:tiny")
    assert_ended(there, ended, "incomplete", 3, verified=False)
    assert (server.asked, report(there)["verified_by"]) == (0, [])


def test_a_run_that_has_no_code_to_write_names_the_command_that_judges(there: Ground) -> None:
    with LlmServer(*[judging("meets")] * 20) as server:
        there.extra.update(PIPELINE_BASE_URL=server.base_url, PIPELINE_API_KEY="none")
        ended = there.call("resume", "paper", "--judge", "compatible:tiny")
        assert (ended.code, server.asked) == (0, 0)
        command = "pipeline verify paper --judge compatible:tiny"
        assert "compatible:tiny is not asked: phase 09 implement is up to date" in ended.err
        assert command in " ".join(ended.err.split())
        assert there.call(*command.split()[1:]).code == 0
        assert server.asked >= 1


def test_a_scaffold_is_not_judged_and_the_user_reads_why(tmp_path: Path) -> None:
    there = Ground(tmp_path, text="# Decay\n\n## Method\n\nWe use a learning rate of 0.1 and a batch size of 32.\n")
    with LlmServer(judging("meets")) as server:
        there.extra.update(PIPELINE_BASE_URL=server.base_url, PIPELINE_API_KEY="none")
        ended = there.call("run", "--fast", "paper.md", "--judge", "compatible:tiny")
    assert server.asked == 0
    assert "compatible:tiny was not asked to review the code: rules wrote it" in " ".join(ended.err.split())


def test_a_reviewer_who_agrees_vouches_for_the_code(there: Ground) -> None:
    with LlmServer(*[judging("meets")] * 20) as server:
        there.extra.update(PIPELINE_BASE_URL=server.base_url, PIPELINE_API_KEY="none")
        ended = there.call("verify", "paper", "--judge", "compatible:tiny")
    assert_ended(there, ended, "completed", 0, verified=True)
    told = "Checked by own tests (3), reviewer (compatible:tiny); 3 of 3 requirements and values located"
    assert told in " ".join(ended.out.split())
    there.call("verify", "paper", "--judge", "offline").assert_failed("rules cannot judge code")


@pytest.mark.slow
@pytest.mark.skipif(kind_of_sandbox("required") != BUBBLEWRAP, reason="a mount says so, and only bubblewrap mounts")
def test_no_command_of_the_agent_writes_where_the_hooks_of_the_workspace_lie(tmp_path: Path) -> None:
    tries: Turn = [("Bash", {"command": "echo x > .pipeline/hooks.yaml; echo x > .pipeline/new; true"})]
    there = looping(tmp_path, [WRITES, DONE, tries, *[DONE] * 4], "--supervisor", "off", "--max-turns", "2")
    assert there.call().code in (0, 5)
    control = there.task / "generate_code" / ".pipeline"
    control.mkdir(exist_ok=True)
    (control / "hooks.yaml").write_text("hooks: {}\n")
    ended = there.call("resume", "paper", "--max-turns", "99", "--redo", "implement")
    assert "Traceback" not in ended.err
    assert (control / "hooks.yaml").read_text() == "hooks: {}\n"
    assert not (control / "new").exists()


THEIRS = {
    "pkg/__init__.py": "",
    "pkg/training.py": "LEARNING_RATE = 0.1\nBATCH_SIZE = 64\n\n\n"
    "def decayed_average(before, weight):\n    return 0.95 * before + 0.05 * weight\n",
    "test_training.py": "from pkg.training import BATCH_SIZE, LEARNING_RATE, decayed_average\n\n\n"
    "def test_average():\n    assert decayed_average(1.0, 0.0) == 0.95\n\n\n"
    "def test_values():\n    assert (LEARNING_RATE, BATCH_SIZE) == (0.1, 64)\n",
}


def test_code_that_was_made_elsewhere_is_judged_by_its_names_and_its_own_tests(tmp_path: Path) -> None:
    there = Ground(tmp_path, text="# Decay\n\n## Method\n\nWe use a learning rate of 0.1 and a batch size of 32.\n")
    for path, text in THEIRS.items():
        (there.work / "theirs" / path).parent.mkdir(parents=True, exist_ok=True)
        (there.work / "theirs" / path).write_text(text)
    before = {path: (there.work / "theirs" / path).read_bytes() for path in THEIRS}
    ended = there.call("verify", "--paper", "paper.md", "--code", "theirs")
    assert "Traceback" not in ended.err
    assert ended.code == 0  # a name that fits nothing and a value that differs are told, and refuse nothing
    assert "with doubts: 1 of 1 requirements were not located in the code: R1" in " ".join(ended.out.split())
    assert {path: (there.work / "theirs" / path).read_bytes() for path in THEIRS} == before
    [task] = [path for path in there.tasks.iterdir() if path.is_dir()]
    rows = {row["text"]: row for row in json.loads((task / "traceability.json").read_bytes())["requirements"]}
    told = json.dumps(rows)
    assert "pkg/training.py:LEARNING_RATE" in told
    assert "pkg/training.py:BATCH_SIZE is 64" in told  # and the paper says 32
    assert "python -m pytest -q: 2 tests passed" in ended.out
    assert there.call("resume", task.name).code == 0  # nothing is written over it
    assert {path: (task / "generate_code" / path).read_bytes() for path in THEIRS} == before
    (there.work / "theirs" / "pkg" / "training.py").write_text(THEIRS["pkg/training.py"].replace("64", "32"))
    (there.work / "theirs" / "test_training.py").write_text(THEIRS["test_training.py"].replace("64", "32"))
    ended = there.call("verify", "--paper", "paper.md", "--code", "theirs")
    assert "BATCH_SIZE is 64" not in (task / "traceability.json").read_text()


def test_what_the_code_itself_says_that_it_needs_is_looked_for_too(tmp_path: Path) -> None:
    there = Ground(tmp_path / "place")
    (there.work / "paper.md").write_text("# Means\n\n## Method\n\nThe score is the mean of all values.\n")
    (there.work / "theirs").mkdir()
    (there.work / "theirs" / "means.py").write_text("def mean(values):\n    return sum(values) / len(values)\n")
    wanted = "# what it needs\nnosuchpackage >= 2.0  # a note\n-e .\nhttps://evil.test/x.whl\nnumpyless; python_version < '4'\n"
    (there.work / "theirs" / "requirements.txt").write_text(wanted)
    ended = there.call("verify", "--paper", "paper.md", "--code", "theirs")
    assert "nosuchpackage and numpyless are not installed here" in ended.err
    plan = there.call("show", "paper-theirs-verify", "plan", "--json").out
    assert json.loads(plan)["environment_setup"]["packages"] == ["nosuchpackage >= 2.0", "numpyless"]


def test_other_code_is_named_together_with_its_paper(there: Ground) -> None:
    there.call("verify", "--paper", "paper.md").assert_failed("--paper together with --code")
    there.call("verify", "paper", "--plan-model", "offline").assert_failed("go with --paper and --code")
    (there.work / "nothing").mkdir()
    there.call("verify", "--paper", "paper.md", "--code", "nothing").assert_failed("no Python file in it")
    there.call("verify", "--paper", "paper.md", "--code", "nowhere").assert_failed("no such folder")
