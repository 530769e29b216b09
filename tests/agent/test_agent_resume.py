"""What is gone on with: the same run, whatever cut it, and whatever was changed on purpose meanwhile."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from phases.agent import explore, memory, prompt
from phases.agent.session import RULES_KEY, order_files
from phases.agent.tools.toolbox import Toolbox
from phases.llm.ledger import Ledger
from phases.llm.model import Reply, Request, ToolCall
from phases.sandbox.box import NONE, OFF, Box
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.snapshots import Snapshot
from pipeline.base.errors import Interrupted, Paused, PhaseError
from tests.agents import Scripted, call, carry_out, says, small_plan, tree, write

needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
PATHS = ["b.py", "a.py", "z.py", "c.py"]
KEY = "sk-a-key-of-ours-4711"


def both(*calls: Reply) -> Reply:
    """One reply with the calls of several."""
    together = [ToolCall(f"{one.calls[0].id}-{number}", one.calls[0].name, one.calls[0].arguments)
                for number, one in enumerate(calls)]  # fmt: skip
    return Reply("ok", "together", tuple(together))


def session() -> list[Reply]:
    """Everything that a session may hold, in an order in which much of it follows from what was before."""
    return [
        call("TodoWrite", todos=[{"content": "all of it", "status": "completed"}]),
        call("Bash", command="printf 'Z = 1\\n' > z.py; printf 'B = 1\\n' > b.py; echo once >> log.txt"),
        both(write("a.py", "import b\n\nA = b.B\n"), call("Read", file_path="b.py"), call("Glob", pattern="*.py")),
        Reply("malformed", detail="half a call"),
        call("Task", description="look", prompt="what is A?"),
        write("scratch.py", "x = 1\n"),
        call("Bash", command="rm scratch.py; sed -i s/1/2/ b.py"),
        call("Edit", file_path="b.py", old_string="B = 2", new_string="B = 3"),
        write("c.py", "C = 1\n" * 300),
        call("Read", file_path="c.py"),
        Reply("ok", "done"),
        call("Edit", file_path="a.py", old_string="A = b.B", new_string="A = b.B + 1"),
        Reply("ok", "done"),
    ]


def following(script: list[Reply], cut: int = 0, ending: Reply | None = None) -> Scripted:
    """Follows a script; at turn `cut` of the main thread it gives `ending` instead."""

    def reply(request: Request) -> Reply:
        if request.thread != "implement":
            return Reply("ok", "A is B")
        if request.turn == cut and ending:
            return ending
        return script[request.turn - 1] if request.turn <= len(script) else Reply("ok", "done")

    return Scripted(reply)


def journal_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


PLAN = small_plan(*PATHS, verify=("python -c 'import a; assert a.A == 4, a.A'", "touch litter"))


@needs_a_sandbox
@pytest.mark.parametrize(
    "window",
    [pytest.param(10**6, id="a wide window"), pytest.param(16_000, id="a narrow one", marks=pytest.mark.slow)],
)
def test_a_run_that_stops_at_any_turn_goes_on_as_if_it_had_not(window: int, tmp_path: Path) -> None:
    straight = following(session())
    straight.window = window
    documents = carry_out(tmp_path / "straight", straight, PLAN)
    assert documents["implementation"]["stop_reason"] == "accepted", documents["implementation"]["reason"]
    for cut in range(1, len(session()) + 1):
        folder = tmp_path / f"cut{cut}"
        stopped, resumed = following(session(), cut, Reply("fatal", detail="cut")), following(session())
        stopped.window = resumed.window = window
        with pytest.raises(PhaseError, match="cut"):
            carry_out(folder, stopped, PLAN)
        again = carry_out(folder, resumed, PLAN)
        assert journal_of(folder) == journal_of(tmp_path / "straight"), cut
        assert tree(folder) == tree(tmp_path / "straight"), cut
        assert again == documents, cut
        assert next(request.turn for request in resumed.requests if request.thread == "implement") == cut
    assert tree(tmp_path / "straight")["log.txt"] == b"once\n"
    assert "litter" not in tree(tmp_path / "straight")


def say_otherwise(what: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As another release would: the words of the prompts, of the tools, or the shape of their arguments."""
    schemas, needs_of, word = Toolbox.schemas, prompt.describe_next_file, f"release {number}: "
    if what == "the system's text":
        monkeypatch.setattr(prompt, "DATA", f"{prompt.DATA}\n{word}")
        monkeypatch.setattr(explore, "_SYSTEM", f"{explore._SYSTEM}\n{word}")
    elif what == "what a file is introduced by":
        monkeypatch.setattr(memory, "describe_next_file", lambda *given, **more: word + needs_of(*given, **more))
    else:
        title = {"title": word}
        monkeypatch.setattr(
            Toolbox,
            "schemas",
            lambda box: [
                {**row, "description": word, "parameters": {**row["parameters"], **title}} for row in schemas(box)
            ],
        )


@needs_a_sandbox
@pytest.mark.parametrize(
    "what",
    [
        "the system's text",
        "what a file is introduced by",
        pytest.param("the tools", marks=pytest.mark.slow),
    ],
)
def test_work_goes_on_after_a_release_that_says_its_prompts_otherwise_and_nothing_is_asked_again(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    for number, cut in enumerate([5, 9, 0]):
        model = following(session(), cut, Reply("fatal", detail="cut"))
        if number:
            say_otherwise(what, number, monkeypatch)
        with pytest.raises(PhaseError, match="cut") if cut else nullcontext():
            carry_out(tmp_path / "task", model, PLAN)
        asked += [(request.thread, request.turn) for request in model.requests][: -1 if cut else None]
    assert len(set(asked)) == len(asked)
    rows = journal_of(tmp_path / "task")
    assert [row["key"]["turn"] for row in rows if row["kind"] == "reply"] == list(range(1, len(session()) + 1))
    assert rows[-1]["result"]["stop_reason"] == "accepted"


def test_a_sub_agent_that_was_cut_off_goes_on_from_its_own_journal_after_a_release_that_asks_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        ("implement", 1): call("Task", description="look", prompt="what is A?"),
        ("explore-1-0", 1): Reply("malformed", detail="half"),
        ("explore-1-0", 2): call("Glob", pattern="*.py"),
        ("explore-1-0", 3): Reply("fatal", detail="cut"),
    }
    cut = Scripted(lambda request: said[request.thread, request.turn])
    with pytest.raises(PhaseError, match="cut"):
        carry_out(tmp_path / "task", cut, small_plan("a.py"))
    monkeypatch.setattr(explore, "_SYSTEM", "another text")
    monkeypatch.setattr(explore, "digest_of", lambda part: b"another way to take the digest")
    again = Scripted(lambda request: Reply("ok", "A is B"))
    made = carry_out(tmp_path / "task", again, small_plan("a.py"))["implementation"]
    assert made["subagents"]["completed"] == 1
    assert [(request.thread, request.turn) for request in again.requests][:2] == [("explore-1-0", 3), ("implement", 2)]
    assert len(again.requests[0].messages) == 5  # its first two turns, as they were


def test_a_file_that_the_work_removed_stays_away(tmp_path: Path) -> None:
    plan = small_plan("a.py", "b.py")
    replies = [write("a.py", "A = 1\n"), write("scratch.py", "x\n"), Reply("fatal", detail="cut")]
    with pytest.raises(PhaseError):
        carry_out(tmp_path / "task", says(*replies), plan)
    os.rename(tmp_path / "task" / "generate_code" / "scratch.py", tmp_path / "task" / "generate_code" / "Scratch.py")
    carry_out(tmp_path / "task", says(*replies[:2], write("b.py", "B = 1\n")), plan)
    assert sorted(tree(tmp_path / "task")) == ["Scratch.py", "a.py", "b.py"]


def test_a_window_that_was_too_small_is_gone_on_with_when_a_larger_one_is_named(tmp_path: Path) -> None:
    first, plan = write("a.py", "A = 1\n"), small_plan("a.py", "b.py")
    with pytest.raises(PhaseError, match="cut"):
        carry_out(tmp_path / "task", says(first, Reply("fatal", detail="cut")), plan)
    for window in (900, 800):
        small = says()
        small.window = window
        for folder in ("task", "new"):
            with pytest.raises(PhaseError, match=r"the model has room for.*larger one.*context_tokens"):
                carry_out(tmp_path / folder, small, plan)
        assert small.asked == 0
    for folder in ("task", "new", "task"):  # in the end the change of the window is walked again
        carry_out(tmp_path / folder, says(first, write("b.py", "B = 1\n")), plan)
        assert tree(tmp_path / folder) == {"a.py": b"A = 1\n", "b.py": b"B = 1\n"}


def test_a_question_that_was_too_long_for_one_model_is_asked_of_a_larger_one(tmp_path: Path) -> None:
    with pytest.raises(PhaseError):
        carry_out(tmp_path / "task", Scripted(lambda request: Reply("overflow", detail="too long")), small_plan("a.py"))
    larger = says(Reply("overflow"), write("a.py", "A = 1\n"), write("a.py", "A = 1\n"))
    larger.window = 2 * 10**6
    carry_out(tmp_path / "task", larger, small_plan("a.py"))
    assert tree(tmp_path / "task") == {"a.py": b"A = 1\n"}


@pytest.mark.slow
def test_many_large_interfaces_do_not_keep_the_last_files_from_being_written(tmp_path: Path) -> None:
    paths = [f"part{number:02}.py" for number in range(30)]
    text = "".join(
        f'def function_{n}(first: int, second: str) -> int:\n    """Does {n}."""\n    return {n}\n\n\n'
        for n in range(40)
    )
    model = says(*[write(path, text, f"w{number}") for number, path in enumerate(paths)])
    model.window = 32_768
    carry_out(tmp_path / "task", model, small_plan(*paths))
    assert sorted(tree(tmp_path / "task")) == paths


# another model


@pytest.mark.parametrize("broken", [False, True], ids=["never accepted", "accepted, and broken by hand"])
def test_another_model_writes_only_what_is_missing_or_broken(broken: bool, tmp_path: Path) -> None:
    plan, replies = small_plan("a.py", "b.py"), [write("a.py", "A = 1\n"), write("b.py", "B = 1\n")]
    carry_out(tmp_path / "task", says(*replies[: 1 + broken]), plan)
    if broken:
        (tmp_path / "task" / "generate_code" / "b.py").write_text("def (")
    other = says(write("b.py", "B = 2\n"))
    other.name = "another"
    made = carry_out(tmp_path / "task", other, plan)["implementation"]
    assert made["stop_reason"] == "accepted"
    assert json.loads(other.requests[0].messages[1].text)["write"] == ["b.py"]
    assert tree(tmp_path / "task") == {"a.py": b"A = 1\n", "b.py": b"B = 2\n"}
    assert (tmp_path / "task" / "generate_code.prev" / "a.py").exists()


def test_a_limit_of_turns_stops_no_run_that_is_only_walked_again(tmp_path: Path) -> None:
    plan = small_plan("a.py", "b.py")
    replies = [write("a.py", "A = 1\n"), write("b.py", "B = 1\n")]
    first = carry_out(tmp_path / "task", says(*replies), plan)
    assert carry_out(tmp_path / "task", says(), plan, max_turns=1) == first
    assert carry_out(tmp_path / "free", says(*replies), plan, max_turns=0) == first


# a plan that changes, and kills


def changed() -> tuple[dict[str, Any], dict[str, Any]]:
    old, new = (small_plan("a.py", "b.py", path, demands=True) for path in ("c.py", "d.py"))
    new["requirements"][1]["text"] = "what b.py is for, changed"
    return old, new


def begun_on(folder: Path, *replies: Reply) -> None:
    old, _ = changed()
    (folder / "plan_versions").mkdir(parents=True)
    (folder / "plan_versions" / f"{'1' * 16}.txt").write_text(json.dumps(old))
    with pytest.raises(PhaseError):
        carry_out(folder, says(*replies, Reply("fatal", detail="cut")), old)


def test_folders_too_deep_to_be_copied_are_set_aside_and_stop_nobody(tmp_path: Path) -> None:
    begun_on(tmp_path / "task", write("a.py", "A = 1\n"), write("b.py", "B = 1\n"))
    where = os.getcwd()
    os.chdir(tmp_path / "task" / "generate_code")
    for _ in range(100):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(where)
    model = says(*(write(path, "V = 1\n", path) for path in order_files(changed()[1])))
    carry_out(tmp_path / "task", model, changed()[1], "2" * 64)
    assert sorted(tree(tmp_path / "task")) == ["a.py", "b.py", "d.py"]


@pytest.mark.slow
@pytest.mark.parametrize("left", [None, b'{"kind": "header", "begun": {}}\n', b"", b'{"kind": "head', b"garbage\n"])
def test_a_decision_that_was_not_written_whole_is_made_again_and_a_file_never_written_is_dropped(
    left: bytes | None, tmp_path: Path
) -> None:
    begun_on(tmp_path / "task", write("a.py", "A = 1\n"), write("b.py", "B = 1\n"))
    if left is not None:
        (tmp_path / "task" / "journal.jsonl.next").write_bytes(left)
    carry_out(tmp_path / "task", says(write("b.py", "B = 2\n"), write("d.py", "D = 1\n")), changed()[1], "2" * 64)
    assert sorted(tree(tmp_path / "task")) == ["a.py", "b.py", "d.py"]
    assert not (tmp_path / "task" / "journal.jsonl.next").exists()


@pytest.mark.parametrize(
    "died",
    [
        "session.back_up_tree",
        pytest.param("session.Journal", marks=pytest.mark.slow),
        "session.carry_out_decision",
        pytest.param("session.set_aside", marks=pytest.mark.slow),
        pytest.param("session.replace_file", marks=pytest.mark.slow),
        pytest.param("session.sync_directory", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before it"), pytest.param(True, id="after it", marks=pytest.mark.slow)]
)
def test_a_change_of_the_plan_that_a_kill_cut_off_is_carried_out_by_the_next_run(
    died: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "task"
    begun_on(folder, write("a.py", "A = 1\n"), write("b.py", "B = 1\n"), write("c.py", "C = 1\n"))
    module, _, name = f"phases.agent.{died}".rpartition(".")
    real = getattr(importlib.import_module(module), name)

    def dies(*arguments: Any, **named: Any) -> Any:
        if after:
            real(*arguments, **named)
        raise Interrupted(9)

    model = says(write("b.py", "B = 2\n"), write("d.py", "D = 1\n"))
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{name}", dies)
        with pytest.raises(Interrupted):
            carry_out(folder, model, changed()[1], "2" * 64)
    carry_out(folder, model, changed()[1], "2" * 64)
    assert json.loads(model.requests[0].messages[1].text)["write"] == ["b.py", "d.py"]
    assert tree(folder) == {"a.py": b"A = 1\n", "b.py": b"B = 2\n", "d.py": b"D = 1\n"}
    copies = [path for path in folder.iterdir() if path.name.startswith("generate_code.prev")]
    assert copies
    assert {name.name for name in copies[0].iterdir()} == {"a.py", "b.py", "c.py"}


# commands


def commands_at(folder: Path, step: str) -> CommandRunner:
    """The commands of a step, in a start of their own."""
    (folder / "code").mkdir(exist_ok=True)
    code = str(folder / "code")
    commands = CommandRunner(Box(code, OFF), Snapshot(code, str(folder / "kept")))
    commands.step = step
    return commands


def test_what_hands_changed_after_a_command_was_cut_off_is_kept(tmp_path: Path) -> None:
    code = tmp_path / "code"
    for number in range(3):
        commands_at(tmp_path, "1-0").run(f"echo {number} > made.txt", 30)
        assert (code / "made.txt").read_text() == f"{number}\n"
        assert not (code / f"mine{number - 1}.txt").exists()
        (code / f"mine{number}.txt").write_text("by hand")
    assert {path.name for path in tmp_path.glob("code.interrupted*/mine*.txt")} == {"mine0.txt", "mine1.txt"}


@pytest.mark.slow
def test_checks_of_one_verdict_share_the_tree_that_the_first_began_with(tmp_path: Path) -> None:
    for _ in range(2):  # the second time, after the first was cut off
        commands = commands_at(tmp_path, "verdict-3")
        for command in ("test ! -e mark", "touch mark", "test -e mark"):
            assert commands.run(command, 30).exit_code == 0
    commands.take_back()
    assert list((tmp_path / "code").iterdir()) == []


@needs_a_sandbox
def test_large_files_that_commands_make_keep_nobody_from_being_accepted(tmp_path: Path) -> None:
    checks = ("test -s data.bin && head -c 3000000 /dev/zero > c.bin", "python -m pytest -q -p no:cacheprovider")
    make = call("Bash", command="head -c 3000000 /dev/zero > data.bin", identifier="b1")
    test = write("test_a.py", "from a import A\n\n\ndef test_a():\n    assert A == 1\n", "w2")
    model = says(write("a.py", "A = 1\n"), test, make)
    made = carry_out(tmp_path / "task", model, small_plan("a.py", verify=checks))["implementation"]
    assert (made["status"], made["stop_reason"]) == ("completed", "accepted"), made["reason"]
    assert [row["path"] for row in made["files"]] == ["generate_code/a.py", "generate_code/test_a.py"]
    assert (tmp_path / "task" / "generate_code" / "data.bin").stat().st_size == 3_000_000


@needs_a_sandbox
def test_what_checks_leave_behind_is_taken_back(tmp_path: Path) -> None:
    plan = small_plan("a.py", verify=("head -c 3000000 /dev/zero > checkpoint.bin; echo 2 > a.py; mkdir d; touch d/e",))
    carry_out(tmp_path / "task", says(write("a.py", "A = 1\n")), plan)
    assert tree(tmp_path / "task") == {"a.py": b"A = 1\n"}
    assert sorted(path.name for path in (tmp_path / "task" / "generate_code").iterdir()) == ["a.py"]


# money


def test_what_was_paid_is_counted_when_its_journal_was_set_aside_before_it_was_noted(tmp_path: Path) -> None:
    plan, paid = small_plan("a.py"), Reply("ok", "", write("a.py", "A = 1\n").calls, 90, 0, 10, 0.25)
    carry_out(tmp_path / "task", says(paid), plan)
    (tmp_path / "task" / "logs" / "llm.jsonl").unlink()
    os.rename(tmp_path / "task" / "journal.jsonl", tmp_path / "task" / "journal.jsonl.prev")
    assert Ledger(str(tmp_path / "task" / "logs" / "llm.jsonl"), {}).spent["usd"] == 0.25


def test_a_call_that_was_interrupted_is_noted_with_an_estimate(tmp_path: Path) -> None:
    def interrupted(request: Request) -> Reply:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        carry_out(tmp_path / "task", Scripted(interrupted), small_plan("a.py"))
    ledger = Ledger(str(tmp_path / "task" / "logs" / "llm.jsonl"), {})
    assert ledger.spent["calls"] == 1
    assert ledger.spent["usd"] > 0


def test_a_damaged_ledger_of_a_neighbour_stops_nobody_and_a_limit_names_its_own_task(tmp_path: Path) -> None:
    (tmp_path / "two" / "logs").mkdir(parents=True)
    (tmp_path / "two" / "logs" / "llm.jsonl").write_text('{"half')
    replies, plan = [write("a.py", "A = 1\n"), write("b.py", "B = 1\n")], small_plan("a.py", "b.py")
    with pytest.raises(Paused, match=r"pipeline resume mine --max-turns 2"):
        carry_out(tmp_path / "mine", says(*replies), plan, max_turns=1, batch_usd=1)
    carry_out(tmp_path / "mine", says(*replies), plan, batch_usd=1)
    assert sorted(tree(tmp_path / "mine")) == ["a.py", "b.py"]


# keys


@pytest.mark.slow
@needs_a_sandbox
def test_a_key_that_turns_up_anywhere_is_in_no_file(tmp_path: Path) -> None:
    def leaking(request: Request) -> Reply:
        if request.thread != "implement":
            return call("Read", file_path="a.py") if request.turn == 1 else Reply("ok", "read")
        script = [
            call("Bash", command="k=a-key-of-ours; printf 'KEY = \"sk-%s-4711\"  # R1\\n' $k > a.py; cat a.py"),
            call("Task", description="look", prompt="read a.py"),
        ]
        return script[request.turn - 1] if request.turn <= len(script) else Reply("ok", "done")

    model = Scripted(leaking)
    model.secrets = (KEY,)
    plan = small_plan("a.py", verify=("cat a.py; false",))
    carry_out(tmp_path / "task", model, plan)
    told = [path for path in (tmp_path / "task").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert {path.name for path in told} == {"a.py"}  # what a command wrote there is the workspace's own affair
    shown = "".join(message.text for request in model.requests for message in request.messages)
    assert KEY not in shown


def test_a_sub_agent_that_reads_much_stays_within_the_window(tmp_path: Path) -> None:
    def reading(request: Request) -> Reply:
        if request.thread == "implement":
            return says(write("a.py", "A = 1\n" * 1500), call("Task", description="look", prompt="read it all")).ask(
                request
            )
        return call("Read", identifier=f"r{request.turn}", file_path="a.py", offset=request.turn)

    model = Scripted(reading)
    model.window = 40_000
    made = carry_out(tmp_path / "task", model, small_plan("a.py"))["implementation"]
    assert made["subagents"]["failed"] == 1
    sizes = [sum(message.tokens for message in request.messages) for request in model.requests]
    assert len(sizes) > 30
    assert max(sizes) <= 31_000


# more of what may have changed meanwhile


@pytest.mark.slow
def test_a_decision_that_was_not_carried_out_is_carried_out_where_the_task_lies_now(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    begun_on(folder, write("a.py", "A = 1\n"))
    old = journal_of(folder)[0]
    decided: dict[str, Any] = {
        "write": ["d.py", "a.py", "b.py"],
        "kept": {},
        "before": {},
        "packages": [],
        "window": 10**6,
        "hand": "model",
        **{key: old["begun"][key] for key in ("supervisor", RULES_KEY)},
    }
    header = {**old, "plan_sha256": "2" * 64, "begun": {**decided, "aside": "generate_code.prev"}}
    (folder / "journal.jsonl.next").write_text(json.dumps(header) + "\n")
    moved = tmp_path / "elsewhere" / "task"
    shutil.copytree(folder, moved)
    carry_out(moved, says(*(write(path, "V = 1\n", path) for path in decided["write"])), changed()[1], "2" * 64)
    assert (moved / "generate_code.prev" / "a.py").exists()
    assert (folder / "generate_code" / "a.py").exists()
    assert not (folder / "generate_code.prev").exists()


def test_a_decision_for_a_plan_that_is_no_more_is_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    begun_on(folder, write("a.py", "A = 1  # R1\n"))
    header = {**journal_of(folder)[0], "plan_sha256": "9" * 64, "begun": {"aside": "generate_code.prev"}}
    (folder / "journal.jsonl.next").write_text(json.dumps(header) + "\n")
    os.rename(folder / "generate_code", folder / "generate_code.prev")
    model = says(write("a.py", "A = 1  # R1\n"), write("b.py", "B = 1  # R2\n"), write("c.py", "C = 1  # R3\n"))
    carry_out(folder, model, changed()[0])
    assert [request.turn for request in model.requests] == [2, 3, 4]
    assert tree(folder)["a.py"] == b"A = 1  # R1\n"


@pytest.mark.slow
def test_what_one_change_of_the_plan_left_undone_the_next_one_does(tmp_path: Path) -> None:
    folder, plans = tmp_path / "task", [small_plan("a.py", "b.py", "c.py", demands=True) for _ in range(3)]
    for plan in plans[1:]:
        plan["requirements"][1]["text"] = "b.py, changed"
    plans[2]["requirements"][2]["text"] = "c.py, changed"
    digests = [str(number) * 64 for number in (1, 2, 3)]
    (folder / "plan_versions").mkdir(parents=True)
    for plan, digest in zip(plans, digests, strict=True):
        (folder / "plan_versions" / f"{digest[:16]}.txt").write_text(json.dumps(plan))
    carry_out(folder, says(*(write(path, "V = 1\n", path) for path in ("a.py", "b.py", "c.py"))), plans[0], digests[0])
    with pytest.raises(PhaseError):
        carry_out(folder, says(Reply("fatal", detail="cut")), plans[1], digests[1])
    model = says(write("b.py", "V = 2\n"), write("c.py", "V = 2\n", "c2"))
    carry_out(folder, model, plans[2], digests[2])
    assert json.loads(model.requests[0].messages[1].text)["write"] == ["b.py", "c.py"]


def test_code_that_no_journal_tells_of_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "generate_code").mkdir(parents=True)
    (folder / "generate_code" / "a.py").write_text("mine")
    carry_out(folder, says(write("a.py", "A = 1\n")), small_plan("a.py"))
    assert (folder / "generate_code.prev" / "a.py").read_text() == "mine"


@pytest.mark.parametrize("row", ['{"usd": "x"}', '{"kind": 1}', "[]", '{"thread": ["a"], "run": 1}'])
def test_a_damaged_row_of_a_ledger_is_named_with_its_line(row: str, tmp_path: Path) -> None:
    carry_out(tmp_path / "task", says(write("a.py", "A = 1\n")), small_plan("a.py"))
    ledger = tmp_path / "task" / "logs" / "llm.jsonl"
    whole = json.loads(ledger.read_text().splitlines()[0])
    damaged = {**whole, **json.loads(row)} if row.startswith(('{"u', '{"t')) else json.loads(row)
    ledger.write_text(ledger.read_text() + json.dumps(damaged) + "\n")
    with pytest.raises(PhaseError, match=r"llm\.jsonl, line 3: not a row of what calls cost"):
        Ledger(str(ledger), {})
