"""The toolbox and the tools for files: nonsense is answered, never raised, and nothing is sent twice."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.agent.assignment import _find_fault
from phases.agent.tools.commands import bash_tool
from phases.agent.tools.files import LONGEST_LINE, file_tools
from phases.agent.tools.search import search_tools
from phases.agent.tools.todos import todo_tool
from phases.agent.tools.toolbox import MOST_CHARACTERS, Notes, Tool, Toolbox, ToolKind, object_schema
from phases.llm.model import ToolCall
from phases.workspace.syntax import LARGEST_PYTHON, parse_python, planned_file_fault
from phases.workspace.workspace import LARGEST_FILE, Workspace
from pipeline.base.files import sha256
from pipeline.base.formats import dump_json_line
from pipeline.base.text_escaping import LARGEST_ANSWER, bound_text, escape_text
from pipeline.engine.contract import Contracts
from tests.strategies import FEW, QUICK, json_values

SECRET = "a secret outside"


class Bench(NamedTuple):
    """A box with every tool, and what it works on."""

    box: Toolbox
    workspace: Workspace
    notes: Notes
    commands: list[tuple[str, int]]

    def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.box.answer(ToolCall("c1", name, arguments))

    def says(self, name: str, **arguments: Any) -> str:
        """The text of an answer that must be a good one."""
        answer = self(name, **arguments)
        assert answer["failed"] is False, answer["text"]
        return str(answer["text"])

    def refuses(self, name: str, **arguments: Any) -> str:
        """The text of an answer that must be an error."""
        answer = self(name, **arguments)
        assert answer["failed"] is True, answer["text"]
        return str(answer["text"])


def bench_in(folder: Path, code: int | None = 0, output: str = "out\n") -> Bench:
    workspace, notes, commands = Workspace(str(folder)), Notes(), []

    def run(command: str, seconds: int) -> tuple[int | None, str]:
        commands.append((command, seconds))
        return code, output

    tools = [*file_tools(workspace, notes), *search_tools(workspace), bash_tool(run), todo_tool(tuple)]
    return Bench(Toolbox(tools, Contracts().breach), workspace, notes, commands)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "inside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").write_text(SECRET)
    return bench_in(tmp_path / "inside")


# Calls that make no sense

CALLS: dict[str, tuple[Any, Any, str]] = {
    "a tool that there is not": ("Fly", {}, "there is no tool 'Fly'. There are: Read, Write, Edit"),
    "a tool in the wrong case": ("read", {"file_path": "a.py"}, "did you mean Read?"),
    "no name": ("", {}, "there is no tool ''"),
    "a name that is none": (None, {}, "there is no tool 'None'"),
    "a name that drives terminals": ("\x1b[2J" * 900, {}, r"\x1b[2J"),
    "no argument": ("Read", {}, "'file_path' is a required property"),
    "another name": ("Read", {"path": "a.py"}, "Read takes: file_path (text), offset (whole number"),
    "a number for a path": ("Read", {"file_path": 7}, "7 is not of type 'string'"),
    "nothing for a path": ("Read", {"file_path": None}, "'file_path' is a required property"),
    "a line before the first": ("Read", {"file_path": "a.py", "offset": 0}, "less than the minimum"),
    "a number as text": ("Read", {"file_path": "a.py", "offset": "1"}, "not of type 'integer'"),
    "a number of 400 digits": ("Read", {"file_path": "a.py", "offset": 10**400}, "greater than the maximum"),
    "a file that is not there": ("Read", {"file_path": "gone.py"}, "No such file"),
    "a path that leads out": ("Read", {"file_path": "../out/secret.py"}, "is refused: give a path inside"),
    "an absolute path": ("Read", {"file_path": "/etc/passwd"}, "is refused: give a path inside"),
    "a path by way of /proc": ("Read", {"file_path": "/proc/self/cwd/a.py"}, "is refused: give a path inside"),
    "a path that is no text": ("Read", {"file_path": "\ud800"}, "is refused: give a path inside"),
    "a name of 300 characters": ("Read", {"file_path": "x" * 300}, "File name too long"),
    "a folder": ("Read", {"file_path": "folder"}, "not a regular file"),
    "a list of arguments": ("Read", ["file_path"], "is not of type 'object'"),
    "arguments that are none": ("Read", None, "is not of type 'object'"),
    "arguments that are text": ("Read", "file_path", "is not of type 'object'"),
    "a number that is none": ("Read", {"file_path": float("nan")}, "is not of type 'string'"),
    "a name that is a number": ("Read", {7: "a.py"}, "Read takes:"),
    "no content": ("Write", {"file_path": "a.py"}, "'content' is a required property"),
    "a hook of git": ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, "is refused"),
    "git in capitals": ("Write", {"file_path": ".GIT/config", "content": "x"}, "is refused"),
    "a file as a folder": ("Write", {"file_path": "there.py/b.py", "content": "x"}, "Not a directory"),
    "a twin in capitals": ("Write", {"file_path": "THERE.py", "content": "x"}, "differs in case alone"),
    "too much content": ("Write", {"file_path": "a.txt", "content": "x" * (LARGEST_FILE + 1)}, "over the limit"),
    "content over all limits": ("Write", {"file_path": "a.txt", "content": "x" * (MOST_CHARACTERS + 1)}, f"{MOST_CHARACTERS:,}"),
    "nothing to edit": ("Edit", {"file_path": "there.py", "old_string": "y", "new_string": "z"}, "does not occur"),
    "an empty old text": ("Edit", {"file_path": "there.py", "old_string": "", "new_string": "z"}, "is empty"),
    "the same text": ("Edit", {"file_path": "there.py", "old_string": "x", "new_string": "x"}, "are the same"),
    "a text in Latin-1": ("Edit", {"file_path": "latin.txt", "old_string": "x", "new_string": "y"}, "not UTF-8"),
    "a pattern that leads out": ("Glob", {"pattern": "../*"}, "leads out"),
    "a pattern that explodes": ("Glob", {"pattern": "{a,b}" * 20}, "more than 64"),
    "half a pattern": ("Grep", {"pattern": "("}, "not a Python regular expression"),
    "a search outside": ("Grep", {"pattern": "x", "path": "../out"}, "no file at or under"),
    "a mode that there is not": ("Grep", {"pattern": "x", "output_mode": "all"}, "is not one of"),
    "a command with a NUL byte": ("Bash", {"command": "a\x00b"}, "NUL"),
    "a command that is no text": ("Bash", {"command": "echo \ud800"}, "half a surrogate pair"),
    "a command of 200 KB": ("Bash", {"command": "x" * 200_000}, "put it into a file"),
    "too long a time": ("Bash", {"command": "x", "timeout": 601}, "greater than the maximum of 600"),
    "an odd status": ("TodoWrite", {"todos": [{"content": "a", "status": "soon"}]}, "must be one of: pending, in_progress"),
    "a todo with a title": ("TodoWrite", {"todos": [{"title": "a", "status": "done"}]}, "('title' was unexpected)"),
    "a todo of nothing": ("TodoWrite", {"todos": [{"status": "done"}]}, "list of objects with id: text or whole number"),
    "todos as a text in words": ("TodoWrite", {"todos": "a, b"}, "as a string it is not JSON"),
    "neither a list nor an action": ("TodoWrite", {}, "invalid: give either `todos`"),
    "a todo of no list": ("TodoWrite", {"action": "remove", "id": "x"}, "not_found: there is no todo x"),
}  # fmt: skip


def test_a_call_that_makes_no_sense_is_answered_with_what_is_wrong(bench: Bench) -> None:
    root = Path(bench.workspace.root)
    bench.workspace.write("there.py", "x = 1\n")
    (root / "latin.txt").write_bytes(b"x\xe4")
    (root / "folder").mkdir()
    (root / "link").symlink_to(root.parent / "out")
    for case, (name, arguments, words) in CALLS.items():
        answer = bench.box.answer(ToolCall("c1", name, arguments))
        assert (answer["failed"], answer["touched"], answer["seen"]) == (True, [], {}), case
        assert words in answer["text"], case
        assert len(answer["text"]) < 2000, case
        assert SECRET not in answer["text"], case
        assert os.listdir(root.parent / "out") == ["secret.py"], case
        assert bench.workspace.paths() == ["latin.txt", "there.py"], case
    assert bench.commands == []


@given(st.sampled_from(["Read", "Write", "Edit", "Glob", "TodoWrite", "Nothing"]), json_values)
@FEW
def test_no_arguments_surprise_a_tool(tmp_path_factory: pytest.TempPathFactory, name: str, arguments: Any) -> None:
    answer = bench_in(tmp_path_factory.mktemp("w")).box.answer(ToolCall("c1", name, arguments))
    assert dump_json_line(answer)


@given(st.text(max_size=40), st.text(max_size=40))
@FEW
def test_any_text_can_be_written_read_and_recorded(
    tmp_path_factory: pytest.TempPathFactory, path: str, text: str
) -> None:
    bench = bench_in(tmp_path_factory.mktemp("w"))
    for answer in (bench("Write", file_path=path, content=text), bench("Read", file_path=path)):
        assert dump_json_line(answer)


def test_a_null_counts_as_left_out_and_a_fraction_of_zero_as_whole(bench: Bench) -> None:
    bench.workspace.write("a.txt", "one\ntwo\n")
    assert bench.says("Read", file_path="a.txt", offset=2.0, limit=None) == "     2\ttwo"


def test_every_tool_tells_a_model_what_it_takes_and_is_closed_and_three_only_read(bench: Bench) -> None:
    schemas = bench.box.schemas()
    names = ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "TodoWrite"]
    assert [schema["name"] for schema in schemas] == names
    for schema in schemas:
        assert schema["description"]
        assert schema["parameters"]["additionalProperties"] is False
        assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])
    assert [name for name in names if bench.box.reads_only(name)] == ["Read", "Glob", "Grep"]


# What is answered


@given(st.text(), st.integers(200, 400))
@example("x" * 100_000, LARGEST_ANSWER)
@QUICK
def test_an_answer_is_bounded_and_keeps_its_head_and_its_tail(text: str, most: int) -> None:
    whole = f"first {text * 50} last"
    shown = bound_text(whole, most)
    assert len(shown) <= most or shown == whole
    assert (shown.startswith("first"), shown.endswith("last")) == (True, True)
    assert shown == whole or "characters left out here" in shown


@given(st.text())
@QUICK
def test_escaped_text_shows_all_can_be_stored_and_is_not_changed_again(text: str) -> None:
    shown = escape_text(text)
    assert escape_text(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown
    for code in (0x1B, 0x07, 0x00, 0x0D, 0x9B, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xD800, 0xE0041, 0xFE0F):
        shown = escape_text(f"a{chr(code)}b")
        assert (shown.isprintable(), shown[0] + shown[-1], "\\" in shown) == (True, "ab", True), hex(code)


def test_a_tool_of_another_module_may_answer_with_plain_text() -> None:
    tool = Tool(
        "Ask",
        "Asks.",
        object_schema({"question": {"type": "string"}}),
        lambda question: question.upper(),
        kind=ToolKind.READ,
    )
    answer = Toolbox([tool], Contracts().breach).answer(ToolCall("c1", "Ask", {"question": "why\x1b"}), again=True)
    assert answer == {"text": "WHY\\x1b", "failed": False, "touched": [], "seen": {}}


# Read


def test_a_file_or_the_part_that_is_asked_for_is_shown_with_line_numbers(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\n\ny = 2")
    assert bench.says("Read", file_path="a.py") == "     1\tx = 1\n     2\t\n     3\ty = 2"
    assert bench.says("Read", file_path="a.py", offset=3) == "     3\ty = 2"
    more = "… lines 1 to 1 of 3; go on with offset 2"
    assert bench.says("Read", file_path="a.py", offset=1, limit=1) == f"     1\tx = 1\n{more}"
    assert bench.refuses("Read", file_path="a.py", offset=11) == "a.py has 3 lines; there is no line 11"


def test_a_long_file_is_read_to_its_end_in_pieces_and_no_line_is_lost(bench: Bench) -> None:
    lines = [f"{number} {'x' * (number % 97)}" for number in range(1, 5001)]
    bench.workspace.write("a.txt", "\n".join(lines) + "\n")
    seen, offset = [], 1
    while offset:
        text = bench.says("Read", file_path="a.txt", offset=offset)
        assert len(text) <= LARGEST_ANSWER
        assert "left out" not in text
        rows = text.splitlines()
        more = rows.pop() if rows[-1].startswith("…") else ""
        seen += [row.partition("\t")[2] for row in rows]
        offset = int(more.rpartition(" ")[2]) if more else 0
    assert seen == lines


def test_a_long_line_is_cut_and_that_is_said(bench: Bench) -> None:
    bench.workspace.write("a.txt", "x" * 100_000 + "\nshort\n")
    first, second = bench.says("Read", file_path="a.txt").splitlines()
    assert first.endswith(f"x … {100_000 - LONGEST_LINE:,} characters more in this line")
    assert second == "     2\tshort"


def test_an_empty_file_and_one_that_is_no_text_are_told_as_such(bench: Bench) -> None:
    bench.workspace.write("a.txt", "")
    Path(bench.workspace.root, "b.bin").write_bytes(b"\x7fELF\x00\x01")
    assert bench.says("Read", file_path="a.txt") == "a.txt is empty"
    assert "not text" in bench.refuses("Read", file_path="b.bin")


def test_an_absolute_path_inside_the_workspace_means_the_same_file(bench: Bench) -> None:
    path = os.path.join(bench.workspace.root, "deep", "a.txt")
    assert bench("Write", file_path=path, content="one\n")["touched"] == ["deep/a.txt"]
    assert "unchanged" in bench.says("Read", file_path="./deep/a.txt")


# What did not change is not sent again


def test_a_file_that_the_model_read_wrote_or_edited_is_sent_again_only_once_it_changed(bench: Bench) -> None:
    known = "a.txt is unchanged since you last read or wrote it (2 lines, shown above)"
    assert bench("Write", file_path="a.txt", content="one\ntwo\n")["seen"] == {"a.txt": sha256(b"one\ntwo\n")}
    assert bench.says("Read", file_path="a.txt") == known
    bench.says("Edit", file_path="a.txt", old_string="one", new_string="six")
    assert bench.says("Read", file_path="a.txt") == known
    assert bench.says("Read", file_path="a.txt", offset=2) == "     2\ttwo", "a part is shown whenever it is asked for"
    Path(bench.workspace.root, "a.txt").write_text("three\nfour\n")
    assert bench("Read", file_path="a.txt")["seen"] == {"a.txt": sha256(b"three\nfour\n")}
    assert bench.says("Read", file_path="a.txt") == known
    bench.workspace.write("b.txt", "one\ntwo\n")
    bench.says("Read", file_path="b.txt", limit=1)
    bench.says("Edit", file_path="b.txt", old_string="one", new_string="six")
    assert bench.says("Read", file_path="b.txt") == "     1\tsix\n     2\ttwo", "only a part of it was seen"


def test_what_the_context_dropped_is_sent_again_and_notes_come_back_from_answers(bench: Bench) -> None:
    for paths in (None, ["a.txt"]):
        bench.says("Write", file_path="a.txt", content="one\n")
        bench.notes.forget(paths)
        assert bench.says("Read", file_path="a.txt") == "     1\tone"
    edited = bench("Edit", file_path="a.txt", old_string="one", new_string="two")
    notes = Notes()
    for answer in (bench("Write", file_path="b.txt", content="one\n"), edited):
        notes.learn(answer["seen"])
    assert (notes.known("a.txt"), notes.known("b.txt")) == (sha256(b"two\n"), sha256(b"one\n"))


# Write and Edit


BROKEN = {
    "Python": ("a.py", "x = 1\ndef (", "line 2, column 5: invalid syntax"),
    "a NUL byte": ("a.py", "x = 1\x00", "line 1, column 1: source code string cannot contain null bytes"),
    "too many parentheses": ("a.py", "(" * 9999, "line 1, column 201: too many nested parentheses"),
    "Python that is nested too deeply": ("a.py", "x = " + "-" * 9999 + "1", "line 1, column 1: "),
    "a huge literal":
        ("a.py", "x = [" + "1," * (LARGEST_PYTHON // 2) + "]", "it is over 512 KiB, and no such file is taken for code"),
    "bytes count, not characters": ("a.pyi", "#" + "é" * (LARGEST_PYTHON // 2), "it is over 512 KiB"),
    "JSON": ("a.json", '{"a": 1,\n}', "line 2, column 1: not JSON"),
    "JSON that is nested too deeply": ("a.json", "[" * 99_999, "line 1, column 1: nested too deeply"),
    "JSON with a number that is none": ("a.json", '{"a": NaN}', "not a JSON number"),
    "TOML": ("a.toml", "a = 1\nb =", "line 2, column 4: Invalid value"),
    "TOML that is nested too deeply": ("a.toml", "a = " + "[" * 9999, "nested too deeply"),
}  # fmt: skip


def test_a_file_that_does_not_parse_is_written_and_said_to_be_wrong(bench: Bench) -> None:
    for case, (path, content, words) in BROKEN.items():
        answer = bench("Write", file_path=path, content=content)
        assert (answer["failed"], answer["touched"]) == (True, [path]), case
        for part in (f"{path} is written", "does not parse", words):
            assert part in answer["text"], case
        assert bench.workspace.read(path) == content, case


def test_experiments_that_cannot_be_used_are_said_to_be_wrong_when_they_are_written_or_edited(tmp_path: Path) -> None:
    find_fault = partial(_find_fault, {"expected_results": [{"id": "E1"}]}, Contracts())
    box = Toolbox(file_tools(Workspace(str(tmp_path)), Notes(), None, find_fault), Contracts().breach)
    right, path = "experiments: [{name: a, results: [E1], full: run}]", "experiments.yaml"
    for text, told in (
        ("experiments: [{name: a, results: [E1]}]", "'full' is a required property"),
        ("experiments: [{name: a, results: [E7], full: run}]", "the plan expects no E7"),
        ("experiments: [{name: a", "experiments.yaml, line 2"),
    ):
        bad = box.answer(ToolCall("c", "Write", {"file_path": path, "content": text}))
        assert (bad["failed"], "cannot be used" in bad["text"], told in bad["text"]) == (True, True, True), text
        assert not box.answer(ToolCall("c", "Write", {"file_path": path, "content": right}))["failed"]
        edit = {"file_path": path, "old_string": right, "new_string": text}
        assert told in box.answer(ToolCall("c", "Edit", edit))["text"]


def test_python_up_to_a_size_with_a_byte_order_mark_or_a_doubtful_escape_is_taken_for_code(bench: Bench) -> None:
    largest = "#" + "x" * (LARGEST_PYTHON - 1)
    bench.says("Write", file_path="a.py", content=largest)
    bench.refuses("Edit", file_path="a.py", old_string="#", new_string="##")
    assert parse_python(largest)
    assert parse_python("#" + largest) is None
    bench.says("Write", file_path="a.txt", content="#" + largest)
    bench.says("Write", file_path="a.py", content="\ufeffx = '\\d'\n")
    bench.refuses("Write", file_path="a.py", content="\ufeff\ufeffx = 1\n")
    assert bench.workspace.read("a.py") == "\ufeff\ufeffx = 1\n"


def test_what_could_be_run_can_be_run_after_it_was_written_and_edited(bench: Bench) -> None:
    bench.says("Write", file_path="run.sh", content="echo one\n")
    path = Path(bench.workspace.root, "run.sh")
    path.chmod(0o755)
    bench.says("Write", file_path="run.sh", content="echo two\n")
    assert path.stat().st_mode & 0o7777 == 0o755
    bench.says("Edit", file_path="run.sh", old_string="two", new_string="six")
    assert path.stat().st_mode & 0o7777 == 0o755


def test_an_empty_file_is_said_to_be_empty_unless_it_does_its_work_by_being_there(bench: Bench) -> None:
    for path in ("a/__init__.py", "py.typed", "results/.gitkeep"):
        assert bench.says("Write", file_path=path, content="") == f"{path} is written, 0 lines"
        assert planned_file_fault(bench.workspace, path) is None
    for path, content in (("a.py", ""), ("a/init.py", "\n\n"), ("config.yaml", " ")):
        told = bench.says("Write", file_path=path, content=content)
        assert told.endswith("; it is empty, and an empty file does not count as written")
        assert planned_file_fault(bench.workspace, path) == "is empty"
    bench.says("Write", file_path="b.py", content="x = 1\n")
    assert "it is empty" in bench.says("Edit", file_path="b.py", old_string="x = 1\n", new_string="")
    for path in ("a.yaml", "a.txt", "a.md", "py"):  # no parser here
        assert bench.says("Write", file_path=path, content="}: [\n") == f"{path} is written, 1 lines"


def test_an_edit_replaces_the_one_place_or_says_how_many_there_are_and_what_is_near(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\ny = 2\n")
    answer = bench("Edit", file_path="a.py", old_string="y = 2", new_string="x = 1")
    assert (answer["text"], answer["touched"]) == ("a.py is edited, 2 lines", ["a.py"])
    twice = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
    assert "old_string occurs 2 times" in bench.refuses("Edit", **twice)
    assert bench.workspace.read("a.py") == "x = 1\nx = 1\n"
    bench.says("Edit", **twice, replace_all=True)
    assert bench.workspace.read("a.py") == "x = 2\nx = 2\n"
    assert "Nothing in it is like that" in bench.refuses("Edit", file_path="a.py", old_string="zzzz 999", new_string="")
    bench.workspace.write("a.py", "import os\n\n\ndef wait(room):\n    return room + 1\n")
    said = bench.refuses("Edit", file_path="a.py", old_string="def wait(room):\n  return room + 1", new_string="")
    assert "     4\tdef wait(room):\n     5\t    return room + 1\n" in said
    assert "spaces included" in said


@pytest.mark.slow
def test_a_hostile_file_does_not_hold_up_the_search_for_near_lines(bench: Bench) -> None:
    bench.workspace.write("a.txt", "\n".join("abcdefgh" * 12 + str(number) for number in range(20_000)))
    bench.refuses("Edit", file_path="a.txt", old_string="hgfedcba" * 15, new_string="x")


def test_an_edit_that_breaks_a_file_says_where(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\n")
    answer = bench("Edit", file_path="a.py", old_string="1", new_string="(")
    assert (answer["failed"], answer["touched"]) == (True, ["a.py"])
    assert "a.py is edited (1 lines) and does not parse: line 1, column 5" in answer["text"]


# Bash and TodoWrite


def test_a_command_is_answered_with_what_it_printed_and_as_an_error_if_it_failed(bench: Bench, tmp_path: Path) -> None:
    assert bench.says("Bash", command="ls", timeout=7) == "exit code 0\nout\n"
    assert bench.says("Bash", command="ls") == "exit code 0\nout\n"
    assert bench.commands == [("ls", 7), ("ls", 120)]
    for code, words in ((7, "exit code 7\nwords"), (None, "words")):
        assert bench_in(tmp_path, code, "words").refuses("Bash", command="x") == words


def test_the_list_of_things_to_do_is_replaced_as_a_whole(bench: Bench) -> None:
    rows: list[Mapping[str, str]] = [
        {"content": "read\nthe plan", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]
    assert bench.says("TodoWrite", todos=rows) == (
        "the list is kept:\n[x] t1: read the plan\n[>] t2: write\n[ ] t3: test"
    )
    assert bench.says("TodoWrite", todos=json.dumps(rows)) == bench.says("TodoWrite", todos=rows)
    assert "empty" in bench.says("TodoWrite", todos=[])
