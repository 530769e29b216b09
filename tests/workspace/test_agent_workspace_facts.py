"""What the kernel is told of the disk: everything that matters, and nothing that a workspace can do stops it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent import kernel_facts
from phases.agent.kernel_facts import FactExtractor, read_disk_facts
from phases.agent.tools.files import file_tools
from phases.agent.tools.toolbox import Notes, Toolbox
from phases.llm.model import ToolCall
from phases.supervision.facts import DiskFacts
from phases.supervision.recovery import check_safety, snapshot_of
from phases.supervision.serialization import from_json, to_json
from phases.supervision.work_ledger import WorkLedger
from phases.workspace import syntax
from phases.workspace.syntax import LARGEST_PYTHON
from phases.workspace.workspace import LARGEST_FILE, Workspace
from pipeline.base.errors import StorageError
from pipeline.base.files import sha256
from pipeline.engine.contract import Contracts
from tests.rows import later
from tests.strategies import FEW

PLANNED = ("model.py", "train.py", "config.json", "README.md")
CONFLICT = "a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> other\n"
MIB = 1024 * 1024


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def write(root: Path, **files: str) -> None:
    """Files by name; `model` is model.py."""
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)


def told(root: Path, *, planned: tuple[str, ...] = PLANNED, before: dict[str, str] | None = None) -> DiskFacts:
    return read_disk_facts(Workspace(str(root)), planned, before or {})


def digest(text: str) -> str:
    return sha256(text.encode())


# What is told


def test_an_empty_workspace_has_nothing_to_tell(root: Path) -> None:
    assert told(root) == DiskFacts()


def test_every_file_of_work_that_begins_anew_is_added(root: Path) -> None:
    write(root, model="a = 1\n", train="import model\n")
    assert told(root) == DiskFacts(added=("model.py", "train.py"), present=("model.py", "train.py"), build_summary="ok")


def test_on_code_that_was_there_changes_are_told_apart(root: Path) -> None:
    write(root, model="a = 2\n", train="t = 1\n", extra="x = 1\n")
    before = {"model.py": digest("a = 1\n"), "train.py": digest("t = 1\n"), "README.md": digest("# x\n")}
    facts = told(root, before=before)
    assert facts.added == ("extra.py",)
    assert facts.modified == ("model.py",)
    assert facts.deleted == ("README.md",)
    assert facts.present == ("model.py", "train.py")


def test_a_file_that_is_as_it_was_again_is_not_changed(root: Path) -> None:
    write(root, model="a = 1\n")
    assert told(root, before={"model.py": digest("a = 1\n")}).dirty == ()


def test_what_a_run_leaves_behind_is_no_work(root: Path) -> None:
    write(root, model="a = 1\n")
    (root / "out").mkdir()
    for name in ("loss.csv", "curve.png", "weights.pt", "log"):
        (root / "out" / name).write_text("x")
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "model.cpython-311.pyc").write_text("x")
    assert told(root).dirty == ("model.py",)


def test_what_a_call_wrote_outside_of_the_plan_is_work_of_whatever_kind(root: Path) -> None:
    (root / "notes.txt").write_text("x")
    facts = read_disk_facts(
        Workspace(str(root)), PLANNED, {}, written=("notes.txt", "gone.txt", "../out", "\x00", "a\\b")
    )
    assert facts.added == ("notes.txt",)


def test_planned_files_are_told_first_and_in_their_order(root: Path) -> None:
    for name in ("a.py", "train.py", "model.py", "README.md"):
        (root / name).write_text("# x\n")
    assert told(root).added == ("model.py", "train.py", "README.md", "a.py")


def test_more_files_than_anybody_reads_are_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_facts, "MOST_FILES", 5)
    for number in range(12):
        (root / f"extra{number:02}.py").write_text("")
    write(root, train="t = 1\n")
    facts = told(root)
    assert facts.added == ("train.py", "extra00.py", "extra01.py", "extra02.py", "extra03.py")
    assert facts.left_out == 8
    assert snapshot_of(facts, WorkLedger(), 1).git_summary == "5 added, 8 more"


@pytest.mark.parametrize(
    ("name", "text", "summary"),
    [
        ("model.py", "a = 1\n", "ok"),
        ("model.py", "", "ok"),
        ("model.py", "def f(:\n", "error: model.py does not parse: line 1, column 7: "),
        ("model.py", "x = 1 fatal panic\n", "error: model.py does not parse: line 1, column "),
        ("config.json", "{", None),
        ("extra.py", "def f(:\n", None),
    ],
    ids=[
        "code that parses",
        "an empty file",
        "code that does not parse",
        "the line itself is not told",
        "no Python",
        "a file outside of the plan",
    ],
)
def test_the_build_is_whether_planned_code_parses(name: str, text: str, summary: str | None, root: Path) -> None:
    (root / name).write_text(text)
    facts = told(root)
    if summary and summary != "ok":
        assert (facts.build_summary or "").startswith(summary)
        assert "panic" not in (facts.build_summary or "")
    else:
        assert facts.build_summary == summary
    assert check_safety(snapshot_of(facts, WorkLedger(), 1), facts, WorkLedger(), PLANNED).recoverable


def test_the_first_fault_in_the_order_of_the_plan_is_told(root: Path) -> None:
    write(root, model="a = 1\n", train="def f(:\n")
    assert (told(root).build_summary or "").startswith("error: train.py does not parse: line 1")


@pytest.mark.parametrize(
    ("text", "unmerged"),
    [
        (CONFLICT, True),
        (CONFLICT.replace("\n", "\r\n"), True),
        ("<<<<<<< HEAD\nx\n>>>>>>> b", True),
        ("<<<<<<< HEAD\nx\n", False),
        (">>>>>>> b\n<<<<<<< HEAD\n", False),
        ("a = 1 <<<<<<< HEAD\nx\n>>>>>>> b\n", False),
        ("print(x) # merge\n=======\n", False),
        ("<<<<<<<\n>>>>>>>\n", False),
    ],
    ids=[
        "a conflict",
        "a conflict with other line ends",
        "from the first line to the last",
        "a beginning alone",
        "the wrong way round",
        "not at the beginning of a line",
        "the word alone",
        "marks without a name",
    ],
)
def test_marks_of_a_merge_are_seen_in_planned_files(text: str, unmerged: bool, root: Path) -> None:
    (root / "README.md").write_text(text, newline="")
    (root / "extra.py").write_text(CONFLICT)
    assert told(root).unmerged == (("README.md",) if unmerged else ())


def test_a_repository_in_the_workspace_is_not_asked(root: Path) -> None:
    write(root, model="a = 1\n")
    before = told(root)
    (root / ".git" / "rebase-merge").mkdir(parents=True)
    (root / ".git" / "MERGE_HEAD").write_text("x")
    (root / ".git" / "config").write_text("[core]\n\tfsmonitor = touch ran\n")
    (root / ".git" / "hook.py").write_text("x = 1\n")
    facts = told(root, planned=(*PLANNED, ".git/hook.py"))
    assert facts == before
    assert facts.head_broken == ""
    assert not (root / "ran").exists()


def test_the_facts_come_back_from_json(root: Path) -> None:
    write(root, model=CONFLICT, extra="x")
    facts = told(root, before={"train.py": "0"})
    assert from_json(DiskFacts, json.loads(json.dumps(to_json(facts)))) == facts


def test_files_are_read_once_and_others_not_at_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, model="a = 1\n", train="t = 1\n", extra="x = 1\n")
    (root / "old.txt").write_text("old")
    (root / "data.bin").write_bytes(b"x" * 1_000)
    read: list[str] = []

    def watched(self: Workspace, path: str, real=Workspace.read_bytes) -> bytes:  # type: ignore[no-untyped-def]
        read.append(path)
        return bytes(real(self, path))

    monkeypatch.setattr(Workspace, "read_bytes", watched)
    told(root, planned=("model.py", "train.py", "model.py"), before={"model.py": "0", "old.txt": digest("old")})
    assert sorted(read) == ["model.py", "old.txt", "train.py"]


def test_after_one_fault_nothing_more_is_parsed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, model="a = 1\n", train="def f(:\n", extra="def g(:\n")
    parsed: list[str] = []

    def watched(path: str, text: str) -> str | None:
        parsed.append(path)
        return syntax.find_syntax_fault(path, text)

    monkeypatch.setattr(kernel_facts, "syntax", SimpleNamespace(find_syntax_fault=watched))
    told(root, planned=("model.py", "train.py", "extra.py"))
    assert parsed == ["model.py", "train.py"]


# What is read again because the conversation no longer shows it


class Conversation:
    """The tools for files, with the facts of what they answer."""

    def __init__(self, root: Path) -> None:
        self.notes, self.root = Notes(), root
        self.tools = Toolbox(file_tools(Workspace(str(root)), self.notes, None), Contracts().breach)
        self.facts = FactExtractor(PLANNED, {}, [], [], self.tools.kinds())

    def forgot(self, name: str = "Read", **arguments: Any) -> bool:
        """Whether a call reads what was forgotten."""
        call = ToolCall("c1", name, {"file_path": "model.py", **arguments})
        return self.facts.result(call, {**self.tools.answer(call), "files": {}}).forgotten


@pytest.fixture
def conversation(root: Path) -> Conversation:
    write(root, model="a = 1\n", train="t = 1\n")
    return Conversation(root)


def test_a_file_that_the_conversation_lost_is_read_again_as_forgotten_each_time(conversation: Conversation) -> None:
    assert not conversation.forgot()
    for paths in (None, ["model.py"], None):
        conversation.notes.forget(paths)
        assert conversation.forgot()
        assert not conversation.forgot(), "it is shown above"


def test_what_was_not_shown_whole_or_reads_otherwise_now_was_not_forgotten(conversation: Conversation) -> None:
    assert not conversation.forgot(limit=1)
    conversation.notes.forget()
    assert not conversation.forgot(file_path="train.py")
    assert not conversation.forgot("Write", content="a = 2\n")
    conversation.notes.forget()
    assert not conversation.forgot(), "its own Write was never shown by a Read"
    write(conversation.root, model="a = 3\n")
    conversation.notes.forget()
    assert not conversation.forgot()


@pytest.mark.parametrize("part", [{"offset": 1}, {"limit": 99}, {"offset": 1, "limit": 1}])
def test_a_part_that_is_asked_for_again_and_again_was_not_forgotten(
    part: dict[str, Any], conversation: Conversation
) -> None:
    """Read shows a part whether or not the conversation shows it still."""
    assert [conversation.forgot(**part) for _ in range(3)] == [False] * 3


# Hostile workspaces


def test_a_pipe_a_socket_a_link_and_a_folder_are_no_files(root: Path) -> None:
    os.mkfifo(root / "model.py")
    (root.parent / "secret.py").write_text("def f(:\n" + CONFLICT)
    os.symlink(root.parent / "secret.py", root / "train.py")
    (root / "README.md").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "config.json"))
        facts = told(root, before={"model.py": "0", "train.py": "0"})
    assert facts == DiskFacts(deleted=("model.py", "train.py"))


def test_a_link_to_a_folder_outside_leads_nowhere(root: Path) -> None:
    (root.parent / "out").mkdir()
    (root.parent / "out" / "model.py").write_text("def f(:\n")
    os.symlink(root.parent / "out", root / "package")
    os.symlink(root, root / "self")
    assert told(root, planned=("package/model.py", "self/package/model.py")) == DiskFacts()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads whatever it likes")
def test_a_file_that_cannot_be_read_is_there_and_not_what_it_was(root: Path) -> None:
    write(root, model="a = 1\n")
    (root / "model.py").chmod(0)
    facts = told(root, before={"model.py": digest("a = 1\n")})
    assert (facts.modified, facts.present) == (("model.py",), ())


def test_a_file_over_the_limit_is_changed_and_not_sound(root: Path) -> None:
    (root / "model.py").write_bytes(b"#" * (LARGEST_FILE + 1))
    (root / "train.py").write_bytes(b"#" * (LARGEST_FILE + 1))
    facts = told(root, before={"model.py": "0"})
    assert (facts.added, facts.modified, facts.present) == (("train.py",), ("model.py",), ())


@pytest.mark.parametrize(
    "text",
    [
        later(lambda: "x" * MIB), later(lambda: "<" * MIB), later(lambda: "<<<<<<< " * (MIB // 8)),
        later(lambda: "(" * 100_000), "\x00" * 1_000, later(lambda: "\n<<<<<<< " * 100_000),
        later(lambda: "x\n" * LARGEST_PYTHON),
    ],
    ids=["1 MiB line", "1 MiB of marks", "1 MiB of beginnings", "nesting", "zeros", "many beginnings", "too much code"],
)  # fmt: skip
def test_no_content_is_too_much(text: str, root: Path) -> None:
    (root / "model.py").write_text(text)
    (root / "README.md").write_text(text)
    facts = told(root)
    assert facts.present == ("model.py", "README.md")
    assert facts.unmerged == ()
    assert len(facts.build_summary or "") < 250


def test_bytes_that_are_no_text_are_no_trouble(root: Path) -> None:
    (root / "model.py").write_bytes(b"\xff\xfe\x00\xd8 = 1\n<<<<<<< a\n\xed\xa0\x80\n>>>>>>> b\n")
    facts = told(root)
    assert facts.unmerged == ("model.py",)
    assert (facts.build_summary or "").startswith("error: model.py does not parse")
    assert (facts.build_summary or "").isprintable()


def test_names_that_nobody_can_take_in_are_left_out(root: Path) -> None:
    deep = root
    for _ in range(40):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "deep.py").write_text("x")
    (root / "new\nline.py").write_text("x")
    os.close(os.open(os.fsencode(root) + b"/\xff\xfe.py", os.O_CREAT | os.O_WRONLY))
    write(root, model="a = 1\n")
    assert told(root).dirty == ("model.py",)


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../model.py", "a\x00b.py", "\ud800.py", "x" * 300, "a/" * 40 + "b"]
)
def test_a_planned_path_that_leads_nowhere_good_is_not_there(path: str, root: Path) -> None:
    (root.parent / "model.py").write_text("def f(:\n")
    facts = told(root, planned=(path,), before={path: "0"})
    assert facts == DiskFacts(deleted=(path,))


def test_a_workspace_that_is_gone_is_the_disks_affair(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="workspace"):
        told(tmp_path / "workspace")


@given(st.binary(max_size=200))
@example(b"<<<<<<< a\n>>>>>>> b\n")
@example(b"\x00")
@FEW
def test_no_content_surprises(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "model.py").write_bytes(data)
    facts = told(root, before={"model.py": sha256(data)})
    assert (facts.dirty, facts.present) == ((), ("model.py",))
    assert facts.build_summary is not None
    assert "\n" not in facts.build_summary
