"""The journal: what was paid for is never asked again, wherever the run was cut; and the models that drive the loop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.llm.adapters.replay import ReplayModel
from phases.llm.factory import open_model
from phases.llm.model import Model, Reply, ToolCall, reply_to_json
from pipeline.base.errors import Paused, PhaseError, UsageError
from tests import agents
from tests.agents import Scripted, call, counting, says, tree, write
from tests.papers import PAPER, Command, paper, read

PLAN = read(PAPER).plan
QUIET = {**PLAN, "validation_approach": {**PLAN["validation_approach"], "verify_commands": []}}


def carry_out(folder: Path, model: Model, plan: dict[str, Any] = QUIET, digest: str = "1" * 64) -> dict[str, Any]:
    """Phase 09 in a folder."""
    return agents.carry_out(folder, model, plan, digest)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody cut."""
    folder = tmp_path_factory.mktemp("whole") / "task"
    carry_out(folder, counting())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("step", [1], ids=["every line"])
@pytest.mark.parametrize("kept", [True, False], ids=["with its files", "with its files gone"])
def test_a_run_cut_after_any_line_gives_the_same_and_asks_nothing_again(
    kept: bool, step: int, whole: Path, tmp_path: Path
) -> None:
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    documents = carry_out(tmp_path / "whole", counting())
    total = sum(json.loads(line)["kind"] == "reply" for line in lines)
    for cut in range(0, len(lines) + 1, step):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        asked = [row["result"]["calls"] for row in map(json.loads, lines[:cut]) if row["kind"] == "reply"]
        for path in [done["arguments"]["file_path"] for calls in asked for done in calls] if kept else ():
            (folder / "generate_code" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole / "generate_code" / path, folder / "generate_code" / path)
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:cut]))
        recorded = sum(json.loads(line)["kind"] == "reply" for line in lines[:cut])
        model = counting()
        again = carry_out(folder, model)
        assert tree(folder) == tree(whole), cut
        assert again == documents, cut
        assert model.asked == total - recorded, cut
        assert (folder / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes(), cut


@pytest.mark.slow
@pytest.mark.parametrize("part", [40, 1, -2])
def test_a_run_cut_in_the_middle_of_a_line_goes_on_from_the_line_before(part: int, whole: Path, tmp_path: Path) -> None:
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "journal.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:part])
    carry_out(tmp_path / "task", counting())
    assert tree(tmp_path / "task") == tree(whole)
    assert (tmp_path / "task" / "journal.jsonl").read_bytes() == b"".join(lines)


@pytest.mark.slow
def test_a_file_edited_by_hand_between_two_runs_is_left_as_it_is(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(whole, folder)
    config = folder / "generate_code" / "slow_waiting_everyone" / "config.py"
    config.write_text("MINE = 1\n")
    model = counting()
    made = carry_out(folder, model)
    assert config.read_text() == "MINE = 1\n"
    assert model.asked == 0
    found = {row["id"]: row["how"] for row in made["traceability"]["requirements"]}
    assert {found[row["id"]] for row in PLAN["values"]} == {"planned"}, "the file holds none of them any more"


@pytest.mark.slow
def test_the_work_on_another_plan_is_kept_aside_and_begun_anew(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(whole, folder)
    model = counting()
    carry_out(folder, model, digest="2" * 64)
    assert model.asked > 0
    assert (folder / "generate_code.prev" / "tests" / "__init__.py").is_file()
    assert (folder / "journal.jsonl.prev").read_bytes() == (whole / "journal.jsonl").read_bytes()


@pytest.mark.parametrize(
    "line", [b"{\n", b"[]\n", b'{"kind": "reply"}\n', b"null\n", b'{"kind": "reply", "key": {}, "result": {}}\n']
)
def test_a_damaged_journal_is_named_with_its_line(line: bytes, whole: Path, tmp_path: Path) -> None:
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "journal.jsonl").write_bytes(b"".join([*lines[:3], line, *lines[4:]]))
    with pytest.raises(PhaseError, match=r"journal\.jsonl, line 4: .*--redo implement"):
        carry_out(tmp_path / "task", counting())


# what a model may say


def unusable(outcome: str) -> Reply:
    path = PLAN["file_structure"][0]["path"]
    cut = ToolCall("c1", "Write", {"file_path": path, "content": "half a fi"})
    return Reply(outcome, "half", (cut,), tokens_out=7, detail="cut off")


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["refused", "rate_limited", "unavailable", "transient", "fatal"])
def test_a_reply_that_ends_the_run_is_no_content_and_is_asked_for_again(outcome: str, tmp_path: Path) -> None:
    error = Paused if outcome in ("rate_limited", "unavailable") else PhaseError
    with pytest.raises(error, match=r"scripted, turn 1 of implement.*cut off"):
        carry_out(tmp_path / "task", says(unusable(outcome)))
    assert tree(tmp_path / "task") == {}
    again = counting()
    carry_out(tmp_path / "task", again)  # the failure is not in the journal: the next run asks again, and gets on
    assert again.asked > 0
    assert tree(tmp_path / "task") != {}


def test_a_connection_that_is_lost_after_an_answer_pauses_the_run_and_not_before(tmp_path: Path) -> None:
    lost, path = Reply("transient", detail="nothing listens there"), PLAN["file_structure"][0]["path"]
    first = says(lost)
    with pytest.raises(PhaseError, match="transient: nothing listens there"):
        carry_out(tmp_path / "task", first)
    assert [request.answered_before for request in first.requests] == [False]
    with pytest.raises(Paused, match=r"unavailable: scripted, turn 2 .*nothing listens there.*pipeline resume"):
        carry_out(tmp_path / "task", says(write(path, "X = 1\n"), lost))
    later = says(lost, lost)
    with pytest.raises(Paused, match="turn 2"):  # the next run knows that this server answers
        carry_out(tmp_path / "task", later)
    assert [request.answered_before for request in later.requests] == [True]


def test_a_reply_that_broke_off_comes_from_a_server_that_answers(tmp_path: Path) -> None:
    with pytest.raises(Paused, match="ended its reply in the middle"):
        carry_out(
            tmp_path / "task", says(Reply("transient", "half", tokens_in=9, detail="it ended its reply in the middle"))
        )


@pytest.mark.parametrize("outcome", ["truncated", "empty", "malformed"])
def test_a_reply_of_no_use_is_told_back_and_the_run_goes_on(outcome: str, tmp_path: Path) -> None:
    path = PLAN["file_structure"][0]["path"]
    model = says(unusable(outcome), write(path, "A = 1\n"))
    carry_out(tmp_path / "task", model)
    assert tree(tmp_path / "task") == {path: b"A = 1\n"}
    told = model.requests[1].messages[-1]
    assert told.role == "user"
    assert "nothing of it was" in told.text.lower()


@pytest.mark.parametrize("outcome", ["truncated", "empty", "malformed", "overflow"])
def test_replies_of_no_use_without_end_stop_the_run_and_a_resume_asks_once_more(outcome: str, tmp_path: Path) -> None:
    model = Scripted(lambda request: unusable(outcome))
    with pytest.raises(PhaseError, match=r"4 replies in a row could not be used|the plan and the turn at hand need"):
        carry_out(tmp_path / "task", model)
    assert tree(tmp_path / "task") == {}
    assert model.asked <= 4
    again = Scripted(lambda request: unusable(outcome))
    with pytest.raises(PhaseError):
        carry_out(tmp_path / "task", again)
    assert again.asked <= 1


def test_a_model_that_says_done_and_did_nothing_is_not_believed(tmp_path: Path) -> None:
    made = carry_out(tmp_path / "task", says())["implementation"]
    assert made["status"] == "incomplete"
    assert made["stop_reason"] == "accept_continue_exhausted"
    assert len(made["missing"]) == len(made["planned"]) == len(PLAN["file_structure"])
    assert f"0 of {len(made['planned'])} files written" in made["reason"]


def test_nonsense_calls_are_answered_and_the_run_goes_on(tmp_path: Path) -> None:
    replies = [call("Fly"), write("../out.py", "x"), call("Read")]
    made = carry_out(tmp_path / "task", says(*replies))["implementation"]
    assert made["status"] == "incomplete"
    rows = [json.loads(line) for line in (tmp_path / "task" / "journal.jsonl").read_text().splitlines()]
    assert [row["result"]["failed"] for row in rows if row["kind"] == "result"] == [True, True, True]
    assert not (tmp_path / "task" / "out.py").exists()


def test_two_calls_with_one_id_are_of_no_use(tmp_path: Path) -> None:
    twice = ToolCall("c1", "Read", {"file_path": "a.py"})
    model = says(Reply("ok", "", (twice, twice)))
    carry_out(tmp_path / "task", model)
    assert "two calls have the same id" in model.requests[1].messages[-1].text


def test_empty_files_and_files_that_do_not_parse_are_not_done(tmp_path: Path) -> None:
    first, second, *_ = (row["path"] for row in PLAN["file_structure"] if "__init__" not in row["path"])
    replies = [write(first, "\n"), write(second, "def (", "c2")]
    made = carry_out(tmp_path / "task", says(*replies))["implementation"]
    assert f"{first} is empty" in made["reason"]
    assert f"{second} does not parse" in made["reason"]


# recorded replies


def record(path: Path, replies: Sequence[Reply]) -> Path:
    rows = [
        {"kind": "reply", "key": {"thread": "implement", "turn": turn}, "result": reply_to_json(reply)}
        for turn, reply in enumerate(replies, 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_recorded_replies_give_the_tree_that_was_recorded(whole: Path, tmp_path: Path) -> None:
    model = counting()
    carry_out(tmp_path / "first", model)
    replay = ReplayModel(str(record(tmp_path / "replies.jsonl", model.replies)))
    carry_out(tmp_path / "second", replay)
    assert tree(tmp_path / "second") == tree(whole)


def test_a_recording_that_is_too_short_says_so(tmp_path: Path) -> None:
    path = record(tmp_path / "replies.jsonl", [call("Read", {"file_path": "a.py"})])
    with pytest.raises(PhaseError, match="holds no reply for turn 2 of implement"):
        carry_out(tmp_path / "task", ReplayModel(str(path)))


_HEAD = '{"kind": "reply", "key": {"thread": "plan", "turn": 1}, "result": '


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "7", '{"kind": "reply"}'),
        _HEAD + '{"calls": [{}]}}',
        _HEAD + '{"outcome": "ok", "calls": [], "surprise": 1}}',
    ],
)
def test_a_damaged_recording_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    path = record(tmp_path / "replies.jsonl", [Reply("ok", "a")])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(PhaseError, match=r"replies\.jsonl, line 2: "):
        ReplayModel(str(path))


def test_a_model_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="offline, replay:"):
        open_model("gpt-unknown")


@pytest.mark.slow
def test_the_whole_command_runs_on_recorded_replies(tmp_path: Path) -> None:
    command, model = Command(tmp_path), counting()
    source = paper(tmp_path)
    carry_out(tmp_path / "recording", model, PLAN)
    replies = record(tmp_path / "replies.jsonl", model.replies)
    assert command("run", "--fast", source, "--code-model", f"replay:{replies}").code == 3
    assert command("run", "--fast", source, "--id", "rules").code == 3
    assert tree(command.task("paper")) == tree(command.task("rules"))


def test_a_recording_that_is_not_there_ends_the_run_in_one_line(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("run", "--fast", paper(tmp_path), "--model", "replay:gone.jsonl")
    assert ended.code in (1, 2), ended.err
    assert len(ended.complaints) == 1, ended.err
    assert "gone.jsonl" in ended.complaints[0]


def test_a_file_that_is_gone_comes_back_as_it_was_written_last(tmp_path: Path) -> None:
    path = PLAN["file_structure"][0]["path"]
    writes = [write(path, f"V = {n}\n", f"w{n}") for n in (1, 2)]
    carry_out(tmp_path / "task", says(*writes))
    (tmp_path / "task" / "generate_code" / path).unlink()
    carry_out(tmp_path / "task", says(*writes))
    assert tree(tmp_path / "task")[path] == b"V = 2\n"


@pytest.mark.slow
def test_what_cannot_be_taken_in_keeps_the_work_from_being_accepted(tmp_path: Path) -> None:
    carry_out(tmp_path / "task", counting())
    (tmp_path / "task" / "generate_code" / "odd").symlink_to("/etc/passwd")
    made = carry_out(tmp_path / "task", counting())["implementation"]
    assert made["status"] == "incomplete"
    assert "'odd'" in made["reason"]
