"""The toolbox and the tools for files: nonsense is answered, never raised, and nothing is sent twice."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
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
from tests.rows import later
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

CALLS: list[Any] = [
    pytest.param("Fly", {}, "there is no tool 'Fly'. There are: Read, Write, Edit", id="a tool that there is not"),
    pytest.param("read", {"file_path": "a.py"}, "did you mean Read?", id="a tool in the wrong case"),
    pytest.param("", {}, "there is no tool ''", id="no name"),
    pytest.param(None, {}, "there is no tool 'None'", id="a name that is none"),
    pytest.param("\x1b[2J" * 900, {}, r"\x1b[2J", id="a name that drives terminals"),
    pytest.param("Read", {}, "'file_path' is a required property", id="no argument"),
    pytest.param("Read", {"path": "a.py"}, "Read takes: file_path (text), offset (whole number", id="another name"),
    pytest.param("Read", {"file_path": 7}, "7 is not of type 'string'", id="a number for a path"),
    pytest.param("Read", {"file_path": None}, "'file_path' is a required property", id="nothing for a path"),
    pytest.param("Read", {"file_path": "a.py", "offset": 0}, "less than the minimum", id="a line before the first"),
    pytest.param("Read", {"file_path": "a.py", "offset": "1"}, "not of type 'integer'", id="a number as text"),
    pytest.param(
        "Read", {"file_path": "a.py", "offset": 10**400}, "greater than the maximum", id="a number of 400 digits"
    ),
    pytest.param("Read", {"file_path": "gone.py"}, "No such file", id="a file that is not there"),
    pytest.param(
        "Read", {"file_path": "../out/secret.py"}, "is refused: give a path inside", id="a path that leads out"
    ),
    pytest.param("Read", {"file_path": "/etc/passwd"}, "is refused: give a path inside", id="an absolute path"),
    pytest.param(
        "Read", {"file_path": "/proc/self/cwd/a.py"}, "is refused: give a path inside", id="a path by way of /proc"
    ),
    pytest.param("Read", {"file_path": "\ud800"}, "is refused: give a path inside", id="a path that is no text"),
    pytest.param("Read", {"file_path": "x" * 300}, "File name too long", id="a name of 300 characters"),
    pytest.param("Read", {"file_path": "folder"}, "not a regular file", id="a folder"),
    pytest.param("Read", ["file_path"], "is not of type 'object'", id="a list of arguments"),
    pytest.param("Read", None, "is not of type 'object'", id="arguments that are none"),
    pytest.param("Read", "file_path", "is not of type 'object'", id="arguments that are text"),
    pytest.param("Read", {"file_path": float("nan")}, "is not of type 'string'", id="a number that is none"),
    pytest.param("Read", {7: "a.py"}, "Read takes:", id="a name that is a number"),
    pytest.param("Write", {"file_path": "a.py"}, "'content' is a required property", id="no content"),
    pytest.param("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, "is refused", id="a hook of git"),
    pytest.param("Write", {"file_path": ".GIT/config", "content": "x"}, "is refused", id="git in capitals"),
    pytest.param("Write", {"file_path": "there.py/b.py", "content": "x"}, "Not a directory", id="a file as a folder"),
    pytest.param("Write", {"file_path": "THERE.py", "content": "x"}, "differs in case alone", id="a twin in capitals"),
    pytest.param(
        "Write",
        later(lambda: {"file_path": "a.txt", "content": "x" * (LARGEST_FILE + 1)}),
        "over the limit",
        id="too much content",
    ),
    pytest.param(
        "Write",
        later(lambda: {"file_path": "a.txt", "content": "x" * 50_000_000}),
        f"{MOST_CHARACTERS:,}",
        id="50 MB of content",
    ),
    pytest.param(
        "Edit", {"file_path": "there.py", "old_string": "y", "new_string": "z"}, "does not occur", id="nothing to edit"
    ),
    pytest.param(
        "Edit", {"file_path": "there.py", "old_string": "", "new_string": "z"}, "is empty", id="an empty old text"
    ),
    pytest.param(
        "Edit", {"file_path": "there.py", "old_string": "x", "new_string": "x"}, "are the same", id="the same text"
    ),
    pytest.param(
        "Edit", {"file_path": "latin.txt", "old_string": "x", "new_string": "y"}, "not UTF-8", id="a text in Latin-1"
    ),
    pytest.param("Glob", {"pattern": "../*"}, "leads out", id="a pattern that leads out"),
    pytest.param("Glob", {"pattern": "{a,b}" * 20}, "more than 64", id="a pattern that explodes"),
    pytest.param("Grep", {"pattern": "("}, "not a Python regular expression", id="half a pattern"),
    pytest.param("Grep", {"pattern": "x", "path": "../out"}, "no file at or under", id="a search outside"),
    pytest.param("Grep", {"pattern": "x", "output_mode": "all"}, "is not one of", id="a mode that there is not"),
    pytest.param("Bash", {"command": "a\x00b"}, "NUL", id="a command with a NUL byte"),
    pytest.param("Bash", {"command": "echo \ud800"}, "half a surrogate pair", id="a command that is no text"),
    pytest.param("Bash", {"command": "x" * 200_000}, "put it into a file", id="a command of 200 KB"),
    pytest.param("Bash", {"command": "x", "timeout": 601}, "greater than the maximum of 600", id="too long a time"),
    pytest.param(
        "TodoWrite",
        {"todos": [{"content": "a", "status": "soon"}]},
        "must be one of: pending, in_progress",
        id="an odd status",
    ),
    pytest.param(
        "TodoWrite", {"todos": [{"title": "a", "status": "done"}]}, "('title' was unexpected)", id="a todo with a title"
    ),
    pytest.param(
        "TodoWrite",
        {"todos": [{"status": "done"}]},
        "list of objects with id: text or whole number",
        id="a todo of nothing",
    ),
    pytest.param("TodoWrite", {"todos": "a, b"}, "as a string it is not JSON", id="todos as a text in words"),
    pytest.param("TodoWrite", {}, "invalid: give either `todos`", id="neither a list nor an action"),
    pytest.param("TodoWrite", {"action": "remove", "id": "x"}, "not_found: there is no todo x", id="a todo of no list"),
]


@pytest.mark.parametrize(("name", "arguments", "words"), CALLS)
def test_a_call_that_makes_no_sense_is_answered_with_what_is_wrong(
    name: str, arguments: Any, words: str, bench: Bench
) -> None:
    bench.workspace.write("there.py", "x = 1\n")
    Path(bench.workspace.root, "latin.txt").write_bytes(b"x\xe4")
    os.mkdir(os.path.join(bench.workspace.root, "folder"))
    os.symlink(Path(bench.workspace.root).parent / "out", os.path.join(bench.workspace.root, "link"))
    answer = bench.box.answer(ToolCall("c1", name, arguments))
    assert (answer["failed"], answer["touched"], answer["seen"]) == (True, [], {})
    assert words in answer["text"]
    assert len(answer["text"]) < 2000
    assert SECRET not in answer["text"]
    assert os.listdir(Path(bench.workspace.root).parent / "out") == ["secret.py"]
    assert bench.workspace.paths() == ["latin.txt", "there.py"]
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


def test_a_null_counts_as_an_argument_that_was_left_out(bench: Bench) -> None:
    bench.workspace.write("a.txt", "one\n")
    assert bench.says("Read", file_path="a.txt", offset=None, limit=None) == "     1\tone"


def test_a_number_with_a_fraction_of_zero_is_a_whole_number(bench: Bench) -> None:
    bench.workspace.write("a.txt", "one\ntwo\n")
    assert bench.says("Read", file_path="a.txt", offset=2.0) == "     2\ttwo"


def test_every_tool_tells_a_model_what_it_takes_and_is_closed(bench: Bench) -> None:
    schemas = bench.box.schemas()
    assert [schema["name"] for schema in schemas] == ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "TodoWrite"]
    for schema in schemas:
        assert schema["description"]
        assert schema["parameters"]["additionalProperties"] is False
        assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])


def test_only_what_changes_nothing_counts_as_reading(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path))
    tools = [
        *file_tools(workspace, Notes()),
        *search_tools(workspace),
        bash_tool(lambda c, s: (0, "")),
        todo_tool(tuple),
    ]
    assert [tool.name for tool in tools if tool.reads_only] == ["Read", "Glob", "Grep"]


# What is answered


def test_an_answer_is_bounded_and_keeps_its_head_and_its_tail() -> None:
    text = "first " + "x" * 100_000 + " last"
    shown = bound_text(text)
    assert len(shown) <= LARGEST_ANSWER
    assert (shown.startswith("first"), shown.endswith("last")) == (True, True)
    assert "characters left out here" in shown


@given(st.text(), st.integers(200, 400))
@QUICK
def test_what_is_left_out_and_what_is_kept_are_the_whole(text: str, most: int) -> None:
    shown = bound_text(text * 50, most)
    assert len(shown) <= most or shown == text * 50


@pytest.mark.parametrize(
    "code", [0x1B, 0x07, 0x00, 0x0D, 0x9B, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xD800, 0xE0041, 0xFE0F]
)
def test_what_would_not_be_seen_is_written_out(code: int) -> None:
    shown = escape_text(f"a{chr(code)}b")
    assert shown.isprintable()
    assert shown[0] + shown[-1] == "ab"
    assert "\\" in shown


@given(st.text())
@QUICK
def test_escaped_text_can_be_stored_and_is_not_changed_again(text: str) -> None:
    shown = escape_text(text)
    assert escape_text(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown


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


def test_a_file_is_shown_with_line_numbers(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\n\ny = 2")
    assert bench.says("Read", file_path="a.py") == "     1\tx = 1\n     2\t\n     3\ty = 2"


def test_a_part_of_a_file_is_shown_where_a_part_is_asked_for(bench: Bench) -> None:
    bench.workspace.write("a.txt", "".join(f"line {number}\n" for number in range(1, 11)))
    assert bench.says("Read", file_path="a.txt", offset=9) == "     9\tline 9\n    10\tline 10"
    assert bench.says("Read", file_path="a.txt", offset=2, limit=1).splitlines() == [
        "     2\tline 2",
        "… lines 2 to 2 of 10; go on with offset 3",
    ]
    assert bench.refuses("Read", file_path="a.txt", offset=11) == "a.txt has 10 lines; there is no line 11"


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


def test_a_file_that_did_not_change_is_not_sent_again(bench: Bench) -> None:
    bench.workspace.write("a.txt", "one\ntwo\n")
    first = bench("Read", file_path="a.txt")
    assert first["seen"] == {"a.txt": sha256(b"one\ntwo\n")}
    assert bench.says("Read", file_path="a.txt") == (
        "a.txt is unchanged since you last read or wrote it (2 lines, shown above)"
    )
    assert bench.says("Read", file_path="a.txt", offset=2) == "     2\ttwo", "a part is shown whenever it is asked for"
    Path(bench.workspace.root, "a.txt").write_text("three\n")
    assert bench.says("Read", file_path="a.txt") == "     1\tthree"


@pytest.mark.parametrize("paths", [None, ["a.txt"]], ids=["everything", "this file"])
def test_what_the_context_dropped_is_sent_again(paths: list[str] | None, bench: Bench) -> None:
    bench.says("Write", file_path="a.txt", content="one\n")
    bench.notes.forget(paths)
    assert bench.says("Read", file_path="a.txt") == "     1\tone"


def test_what_was_written_or_edited_is_not_sent_again(bench: Bench) -> None:
    bench.says("Write", file_path="a.txt", content="one\n")
    assert "unchanged" in bench.says("Read", file_path="a.txt")
    bench.says("Edit", file_path="a.txt", old_string="one", new_string="two")
    assert "unchanged" in bench.says("Read", file_path="a.txt")


def test_a_file_that_was_only_seen_in_part_is_sent_whole_after_an_edit(bench: Bench) -> None:
    bench.workspace.write("a.txt", "one\ntwo\n")
    bench.says("Read", file_path="a.txt", limit=1)
    bench.says("Edit", file_path="a.txt", old_string="one", new_string="six")
    assert bench.says("Read", file_path="a.txt") == "     1\tsix\n     2\ttwo"


def test_the_notes_of_a_run_that_ended_come_back_from_its_answers(bench: Bench) -> None:
    answers = [
        bench("Write", file_path="a.txt", content="one\n"),
        bench("Write", file_path="b.txt", content="one\n"),
        bench("Edit", file_path="a.txt", old_string="one", new_string="two"),
    ]
    notes = Notes()
    for answer in answers:
        notes.learn(answer["seen"])
    assert (notes.known("a.txt"), notes.known("b.txt")) == (sha256(b"two\n"), sha256(b"one\n"))


# Write and Edit


BROKEN: list[Any] = [
    pytest.param("a.py", "x = 1\ndef (", "line 2, column 5: invalid syntax", id="Python"),
    pytest.param(
        "a.py", "x = 1\x00", "line 1, column 1: source code string cannot contain null bytes", id="a NUL byte"
    ),
    pytest.param("a.py", "(" * 9999, "line 1, column 201: too many nested parentheses", id="too many parentheses"),
    pytest.param("a.py", "x = " + "-" * 9999 + "1", "line 1, column 1: ", id="Python that is nested too deeply"),
    pytest.param(
        "a.py",
        "x = [" + "1," * (LARGEST_PYTHON // 2) + "]",
        "it is over 512 KiB, and no such file is taken for code",
        id="a huge literal",
    ),
    pytest.param("a.pyi", "#" + "é" * (LARGEST_PYTHON // 2), "it is over 512 KiB", id="bytes count, not characters"),
    pytest.param("a.json", '{"a": 1,\n}', "line 2, column 1: not JSON", id="JSON"),
    pytest.param("a.json", "[" * 99_999, "line 1, column 1: nested too deeply", id="JSON that is nested too deeply"),
    pytest.param("a.json", '{"a": NaN}', "not a JSON number", id="JSON with a number that is none"),
    pytest.param("a.toml", "a = 1\nb =", "line 2, column 4: Invalid value", id="TOML"),
    pytest.param("a.toml", "a = " + "[" * 9999, "nested too deeply", id="TOML that is nested too deeply"),
]


@pytest.mark.parametrize(("path", "content", "words"), BROKEN)
def test_a_file_that_does_not_parse_is_written_and_said_to_be_wrong(
    path: str, content: str, words: str, bench: Bench
) -> None:
    answer = bench("Write", file_path=path, content=content)
    assert (answer["failed"], answer["touched"]) == (True, [path])
    assert f"{path} is written" in answer["text"]
    assert "does not parse" in answer["text"]
    assert words in answer["text"]
    assert bench.workspace.read(path) == content


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("experiments: [{name: a, results: [E1]}]", "'full' is a required property"),
        ("experiments: [{name: a, results: [E7], full: run}]", "the plan expects no E7"),
        ("experiments: [{name: a", "experiments.yaml, line 2"),
    ],
)
def test_experiments_that_cannot_be_used_are_said_to_be_wrong_when_they_are_written(
    tmp_path: Path, text: str, told: str
) -> None:
    find_fault = partial(_find_fault, {"expected_results": [{"id": "E1"}]}, Contracts())
    workspace = Workspace(str(tmp_path))
    box = Toolbox(file_tools(workspace, Notes(), None, find_fault), Contracts().breach)
    bad = box.answer(ToolCall("c", "Write", {"file_path": "experiments.yaml", "content": text}))
    assert bad["failed"]
    assert "cannot be used" in bad["text"]
    assert told in bad["text"]
    right = "experiments: [{name: a, results: [E1], full: run}]"
    assert not box.answer(ToolCall("c", "Write", {"file_path": "experiments.yaml", "content": right}))["failed"]
    edit = {"file_path": "experiments.yaml", "old_string": right, "new_string": text}
    assert told in box.answer(ToolCall("c", "Edit", edit))["text"]


def test_python_of_the_largest_size_is_taken_for_code_and_one_byte_more_is_not(bench: Bench) -> None:
    largest = "#" + "x" * (LARGEST_PYTHON - 1)
    bench.says("Write", file_path="a.py", content=largest)
    bench.refuses("Edit", file_path="a.py", old_string="#", new_string="##")
    assert parse_python(largest)
    assert parse_python("#" + largest) is None
    bench.says("Write", file_path="a.txt", content="#" + largest)


def test_python_with_the_mark_of_an_editor_is_taken_for_code(bench: Bench) -> None:
    assert "parse" not in bench.says("Write", file_path="a.py", content="\ufeffx = 1\n")
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


@pytest.mark.parametrize("path", ["a.yaml", "a.txt", "a.md", "py"])
def test_what_has_no_parser_here_is_not_looked_at(path: str, bench: Bench) -> None:
    assert bench.says("Write", file_path=path, content="}: [\n") == f"{path} is written, 1 lines"


@pytest.mark.parametrize("path", ["a/__init__.py", "py.typed", "results/.gitkeep"])
def test_an_empty_file_that_does_its_work_by_being_there_is_a_written_one(tmp_path: Path, path: str) -> None:
    bench = bench_in(tmp_path)
    assert bench.says("Write", file_path=path, content="") == f"{path} is written, 0 lines"
    assert planned_file_fault(bench.workspace, path) is None


@pytest.mark.parametrize(("path", "content"), [("a.py", ""), ("a/init.py", "\n\n"), ("config.yaml", " ")])
def test_any_other_empty_file_is_said_to_be_empty_at_once(tmp_path: Path, path: str, content: str) -> None:
    bench = bench_in(tmp_path)
    told = bench.says("Write", file_path=path, content=content)
    assert told.endswith("; it is empty, and an empty file does not count as written")
    assert planned_file_fault(bench.workspace, path) == "is empty"
    bench.says("Write", file_path="b.py", content="x = 1\n")
    assert "it is empty" in bench.says("Edit", file_path="b.py", old_string="x = 1\n", new_string="")


def test_a_doubtful_escape_in_a_string_is_no_fault(bench: Bench) -> None:
    bench.says("Write", file_path="a.py", content="x = '\\d'\n")


def test_an_edit_replaces_the_one_place(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\ny = 2\n")
    answer = bench("Edit", file_path="a.py", old_string="y = 2", new_string="y = 3")
    assert (answer["text"], answer["touched"]) == ("a.py is edited, 2 lines", ["a.py"])
    assert bench.workspace.read("a.py") == "x = 1\ny = 3\n"


def test_an_edit_of_several_places_says_how_many_and_changes_none(bench: Bench) -> None:
    bench.workspace.write("a.py", "x = 1\nx = 1\n")
    assert "old_string occurs 2 times" in bench.refuses(
        "Edit", file_path="a.py", old_string="x = 1", new_string="x = 2"
    )
    assert bench.workspace.read("a.py") == "x = 1\nx = 1\n"
    bench.says("Edit", file_path="a.py", old_string="x = 1", new_string="x = 2", replace_all=True)
    assert bench.workspace.read("a.py") == "x = 2\nx = 2\n"


def test_an_edit_that_finds_nothing_shows_the_nearest_lines(bench: Bench) -> None:
    bench.workspace.write("a.py", "import os\n\n\ndef wait(room):\n    return room + 1\n")
    said = bench.refuses("Edit", file_path="a.py", old_string="def wait(room):\n  return room + 1", new_string="")
    assert "     4\tdef wait(room):\n     5\t    return room + 1\n" in said
    assert "spaces included" in said


def test_an_edit_whose_text_is_nowhere_near_says_so(bench: Bench) -> None:
    bench.workspace.write("a.py", "import os\n")
    assert "Nothing in it is like that" in bench.refuses("Edit", file_path="a.py", old_string="zzzz 999", new_string="")


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


def test_a_command_that_ends_well_is_answered_with_what_it_printed(bench: Bench) -> None:
    assert bench.says("Bash", command="ls", timeout=7) == "exit code 0\nout\n"
    assert bench.says("Bash", command="ls") == "exit code 0\nout\n"
    assert bench.commands == [("ls", 7), ("ls", 120)]


@pytest.mark.parametrize(
    ("code", "words"), [(7, "exit code 7\nwords"), (None, "words")], ids=["an exit code", "it did not run"]
)
def test_a_command_that_fails_is_answered_as_an_error(code: int | None, words: str, tmp_path: Path) -> None:
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
