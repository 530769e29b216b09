"""The journal: what was paid for is never asked again, wherever the run was cut; and the models that drive the loop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from phases.agent.implement import Assignment, implement
from phases.agent.model import Message, Model, Reply, ToolCall, open_model, reply_to_json
from phases.agent.offline import OfflineModel
from phases.agent.replay import ReplayModel
from phases.agent.workspace import Workspace
from pipeline.errors import PhaseError, UsageError
from tests.papers import PAPER, Command, paper, read

PLAN = read(PAPER).plan
QUIET = {**PLAN, "validation_approach": {**PLAN["validation_approach"], "verify_commands": []}}


class Counting:
    """The offline model, counted."""

    name = "offline"
    detail = "rules, counted"

    def __init__(self) -> None:
        self.asked = 0
        self.replies: list[Reply] = []
        self._model = OfflineModel()

    def ask(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        self.asked += 1
        self.replies.append(self._model.ask(messages, tools))
        return self.replies[-1]


class Says:
    """A model that says what it was given, and then that it is done."""

    name = "says"
    detail = "a script"

    def __init__(self, *replies: Reply) -> None:
        self._replies = [*replies]

    def ask(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        turn = sum(message.role == "assistant" for message in messages)
        return self._replies[turn] if turn < len(self._replies) else Reply("ok", "done")


def carry_out(folder: Path, model: Model, plan: dict[str, Any] = QUIET, digest: str = "1" * 64) -> dict[str, Any]:
    """Phase 09 in a folder."""
    folder.mkdir(exist_ok=True)
    where = (str(folder / "generate_code"), str(folder / "journal.jsonl"))
    return implement(Assignment(plan, digest, *where, "required"), model, lambda done, total, text: None)


def tree(folder: Path) -> dict[str, bytes]:
    return dict(Workspace(str(folder / "generate_code")).files())


def call(name: str, arguments: Mapping[str, Any], identifier: str = "c1") -> Reply:
    return Reply("ok", "", (ToolCall(identifier, name, arguments),))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody cut."""
    folder = tmp_path_factory.mktemp("whole") / "task"
    carry_out(folder, Counting())
    return folder


@pytest.mark.parametrize("kept", [True, False], ids=["with its files", "with its files gone"])
def test_a_run_cut_after_any_line_gives_the_same_and_asks_nothing_again(
    kept: bool, whole: Path, tmp_path: Path
) -> None:
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    documents = carry_out(tmp_path / "whole", Counting())
    total = sum(json.loads(line)["kind"] == "reply" for line in lines)
    for cut in range(len(lines) + 1):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        if kept:
            shutil.copytree(whole / "generate_code", folder / "generate_code")
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:cut]))
        recorded = sum(json.loads(line)["kind"] == "reply" for line in lines[:cut])
        model = Counting()
        again = carry_out(folder, model)
        if cut or not kept:  # without a journal, what is in the folder is nobody's: see below
            assert tree(folder) == tree(whole), cut
            assert again == documents, cut
        assert model.asked == total - recorded, cut
        assert (folder / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes(), cut


@pytest.mark.parametrize("part", [1, 40, -2])
def test_a_run_cut_in_the_middle_of_a_line_goes_on_from_the_line_before(part: int, whole: Path, tmp_path: Path) -> None:
    lines = (whole / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "journal.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:part])
    carry_out(tmp_path / "task", Counting())
    assert tree(tmp_path / "task") == tree(whole)
    assert (tmp_path / "task" / "journal.jsonl").read_bytes() == b"".join(lines)


def test_a_file_edited_by_hand_between_two_runs_is_left_as_it_is(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(whole, folder)
    config = folder / "generate_code" / "slow_waiting_everyone" / "config.py"
    config.write_text("MINE = 1\n")
    model = Counting()
    made = carry_out(folder, model)
    assert config.read_text() == "MINE = 1\n"
    assert model.asked == 0
    statuses = {row["id"]: row["status"] for row in made["traceability"]["requirements"]}
    values = [row["id"] for row in PLAN["requirements"] if row["kind"] == "hyperparameter"]
    assert {statuses[identifier] for identifier in values} == {"missing"}


def test_the_work_on_another_plan_is_kept_aside_and_begun_anew(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(whole, folder)
    model = Counting()
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
        carry_out(tmp_path / "task", Counting())


# what a model may say


@pytest.mark.parametrize("outcome", ["truncated", "refused", "empty", "malformed", "overflow", "transient", "fatal"])
def test_only_a_reply_that_is_ok_becomes_content(outcome: str, tmp_path: Path) -> None:
    path = PLAN["file_structure"][0]["path"]
    cut = Reply(outcome, "", (ToolCall("c1", "Write", {"path": path, "content": "half a fi"}),), detail="cut off")
    with pytest.raises(PhaseError, match=rf"no usable reply in turn 1 \({outcome}: cut off\).*pipeline resume"):
        carry_out(tmp_path / "task", Says(cut))
    assert tree(tmp_path / "task") == {}
    counting = Counting()
    carry_out(tmp_path / "task", counting)  # the failure is not recorded: the next run asks again, and gets on
    assert counting.asked > 0
    assert tree(tmp_path / "task") != {}


def test_a_model_that_says_done_and_did_nothing_is_not_believed(tmp_path: Path) -> None:
    made = carry_out(tmp_path / "task", Says())["implementation"]
    assert made["status"] == "incomplete"
    assert made["stop_reason"] == "accept_continue_exhausted"
    assert len(made["missing"]) == len(made["planned"]) == len(PLAN["file_structure"])
    assert f"0 of {len(made['planned'])} files written" in made["reason"]


def test_nonsense_calls_are_answered_and_the_run_goes_on(tmp_path: Path) -> None:
    replies = [call("Fly", {}), call("Write", {"path": "../out.py", "content": "x"}), call("Read", {})]
    made = carry_out(tmp_path / "task", Says(*replies))["implementation"]
    assert made["status"] == "incomplete"
    rows = [json.loads(line) for line in (tmp_path / "task" / "journal.jsonl").read_text().splitlines()]
    assert [row["result"]["failed"] for row in rows if row["kind"] == "result"] == [True, True, True]
    assert not (tmp_path / "task" / "out.py").exists()


def test_two_calls_with_one_id_are_refused_by_name(tmp_path: Path) -> None:
    twice = ToolCall("c1", "Read", {"path": "a.py"})
    with pytest.raises(PhaseError, match="the same id"):
        carry_out(tmp_path / "task", Says(Reply("ok", "", (twice, twice))))


def test_empty_files_and_files_that_do_not_parse_are_not_done(tmp_path: Path) -> None:
    first, second = (row["path"] for row in PLAN["file_structure"][:2])
    replies = [
        call("Write", {"path": first, "content": "\n"}),
        call("Write", {"path": second, "content": "def ("}, "c2"),
    ]
    made = carry_out(tmp_path / "task", Says(*replies))["implementation"]
    assert f"{first} is empty" in made["reason"]
    assert f"{second} does not parse" in made["reason"]


# recorded replies


def record(path: Path, replies: Sequence[Reply]) -> Path:
    path.write_text("".join(json.dumps(reply_to_json(reply)) + "\n" for reply in replies))
    return path


def test_recorded_replies_give_the_tree_that_was_recorded(whole: Path, tmp_path: Path) -> None:
    model = Counting()
    carry_out(tmp_path / "first", model)
    replay = ReplayModel(str(record(tmp_path / "replies.jsonl", model.replies)))
    carry_out(tmp_path / "second", replay)
    assert tree(tmp_path / "second") == tree(whole)


def test_a_recording_that_is_too_short_says_so(tmp_path: Path) -> None:
    path = record(tmp_path / "replies.jsonl", [call("Read", {"path": "a.py"})])
    with pytest.raises(PhaseError, match="holds 1 replies"):
        carry_out(tmp_path / "task", ReplayModel(str(path)))


@pytest.mark.parametrize("line", ["{", "[]", "7", '{"outcome": "ok"}', '{"outcome": "ok", "calls": [{}]}',
                                  '{"outcome": "ok", "calls": [], "surprise": 1}'])  # fmt: skip
def test_a_damaged_recording_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    path = record(tmp_path / "replies.jsonl", [Reply("ok", "a")])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(PhaseError, match=r"replies\.jsonl, line 2: not a recorded reply"):
        ReplayModel(str(path))


def test_a_model_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="offline, replay:FILE"):
        open_model("gpt-unknown")


def test_the_whole_command_runs_on_recorded_replies(tmp_path: Path) -> None:
    command, model = Command(tmp_path), Counting()
    source = paper(tmp_path)
    carry_out(tmp_path / "recording", model, PLAN)
    replies = record(tmp_path / "replies.jsonl", model.replies)
    assert command("run", "--fast", source, "--model", f"replay:{replies}").code == 3
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
    writes = [Reply("ok", "", (ToolCall(f"w{n}", "Write", {"path": path, "content": f"V = {n}\n"}),)) for n in (1, 2)]
    carry_out(tmp_path / "task", Says(*writes))
    (tmp_path / "task" / "generate_code" / path).unlink()
    carry_out(tmp_path / "task", Says(*writes))
    assert tree(tmp_path / "task")[path] == b"V = 2\n"


def test_what_cannot_be_taken_in_keeps_the_work_from_being_accepted(tmp_path: Path) -> None:
    carry_out(tmp_path / "task", Counting())
    (tmp_path / "task" / "generate_code" / "odd").symlink_to("/etc/passwd")
    made = carry_out(tmp_path / "task", Counting())["implementation"]
    assert made["status"] == "incomplete"
    assert "'odd'" in made["reason"]
