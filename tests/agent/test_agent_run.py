"""The loop as a whole: what counts as done, what is done once, what stops it, and what a sub-agent may do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from phases.agent import prompt
from phases.llm.model import Reply, Request, ToolCall
from phases.sandbox.commands import kind_of_sandbox
from pipeline.base.errors import Paused, PhaseError
from tests.agents import Scripted, call, carry_out, check_of, says, small_plan, tree, write
from tests.papers import HANGS

EIGHT = [f"part{number}.py" for number in range(1, 9)]
needs_a_sandbox = pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")


def meets(path: str, number: int) -> str:
    return f'def meet() -> int:\n    """R{number}, section 1, page 1."""\n    return {number} + len({path!r})\n'


def writes(paths: list[str]) -> list[Reply]:
    return [write(path, meets(path, number), f"w{number}") for number, path in enumerate(paths, 1)]


def rows(folder: Path, name: str = "journal.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


# done


@needs_a_sandbox
def test_eight_files_are_completed_with_a_check_that_passes_and_not_without(tmp_path: Path) -> None:
    plan = small_plan(*EIGHT, verify=(check_of(*EIGHT),))
    made = carry_out(tmp_path / "checked", says(*writes(EIGHT)), plan)["implementation"]
    assert (made["status"], made["stop_reason"], made["turns"]) == ("completed", "accepted", 9)
    assert sorted(tree(tmp_path / "checked")) == EIGHT
    made = carry_out(tmp_path / "task", says(*writes(EIGHT)), small_plan(*EIGHT))["implementation"]
    assert (made["status"], made["stop_reason"], made["verification"]["verified"]) == ("warning", "accepted", False)
    assert "accepted, but not verified: nothing was run" in made["reason"]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("command", "text", "turns"),
    [
        pytest.param("true", "The checks should pass.\n\nDONE", 1, id="and all succeeded"),
        pytest.param("false", "DONE", 2, id="and one failed"),
        pytest.param("true", "It is not DONE", 2, id="where the line says more"),
    ],
)
def test_done_at_the_end_of_a_reply_with_calls_is_a_claim(command: str, text: str, turns: int, tmp_path: Path) -> None:
    calls = (*write("a.py", meets("a.py", 1)).calls, ToolCall("b1", "Bash", {"command": command}))
    plan = small_plan("a.py", verify=(check_of("a.py"),))
    made = carry_out(tmp_path / "task", says(Reply("ok", text, calls), Reply("ok", "done")), plan)["implementation"]
    assert (made["status"], made["stop_reason"], made["turns"]) == ("completed", "accepted", turns)
    nobody = says(Reply("fatal"))
    assert carry_out(tmp_path / "task", nobody, plan)["implementation"]["turns"] == turns
    assert nobody.requests == []


def test_a_resume_with_three_finished_files_writes_the_other_five_only(tmp_path: Path) -> None:
    plan = small_plan(*EIGHT)
    cut = says(*writes(EIGHT)[:3], Reply("fatal", detail="the line is cut"))
    with pytest.raises(PhaseError, match="the line is cut"):
        carry_out(tmp_path / "task", cut, plan)
    before = {name: os.stat(tmp_path / "task" / "generate_code" / name).st_mtime_ns for name in EIGHT[:3]}
    resumed = says(*writes(EIGHT))
    carry_out(tmp_path / "task", resumed, plan)
    assert [request.turn for request in resumed.requests] == [4, 5, 6, 7, 8, 9]
    assert before == {name: os.stat(tmp_path / "task" / "generate_code" / name).st_mtime_ns for name in EIGHT[:3]}
    assert sorted(tree(tmp_path / "task")) == EIGHT


def test_a_write_that_failed_or_was_empty_is_not_done(tmp_path: Path) -> None:
    plan = small_plan("a.py", "b.py", "c.py")
    replies = [write("a.py", ""), write("b.py", "def ("), write("../c.py", "x")]
    made = carry_out(tmp_path / "task", says(*replies), plan)["implementation"]
    assert made["status"] == "incomplete"
    for fault in ("a.py is empty", "b.py does not parse", "c.py is planned and not there"):
        assert fault in made["reason"]


@needs_a_sandbox
def test_a_check_that_fails_goes_back_to_the_model_and_its_repair_is_accepted(tmp_path: Path) -> None:
    wrong = write("a.py", "RATE = 3\n")
    mend = call("Edit", identifier="e1", file_path="a.py", old_string="3", new_string="2 + 2")
    model = says(wrong, Reply("ok", "done"), mend, Reply("ok", "done"))
    made = carry_out(tmp_path / "task", model, small_plan("a.py", verify=(check_of("a.py"),)))["implementation"]
    assert (made["status"], made["verification"]["verified"]) == ("completed", True)
    assert made["verification"]["verified_by"] == ["own tests (1)"]
    assert "1 failed" in model.requests[2].messages[-1].text


def test_words_never_make_it_done_and_the_model_is_asked_three_times_to_mend(tmp_path: Path) -> None:
    model = says()
    made = carry_out(tmp_path / "task", model, small_plan("a.py"))["implementation"]
    assert (made["stop_reason"], model.asked) == ("accept_continue_exhausted", 4)
    assert made["missing"] == ["a.py"]


def test_the_list_of_things_to_do_is_kept_over_a_resume(tmp_path: Path) -> None:
    todos = [{"content": "write a.py", "status": "completed"}]
    kept = [{"id": "t1", **todos[0], "required": True}]
    replies = [call("TodoWrite", todos=todos), *writes(["a.py"])]
    plan = small_plan("a.py")
    assert carry_out(tmp_path / "task", says(*replies), plan)["implementation"]["todos"] == kept
    assert carry_out(tmp_path / "task", says(*replies), plan)["implementation"]["todos"] == kept


# loops and limits


def test_the_same_call_with_the_same_result_is_pointed_out_and_then_ends_the_work(tmp_path: Path) -> None:
    model = Scripted(lambda request: call("Read", {"file_path": "none.py"}, f"c{request.turn}"))
    made = carry_out(tmp_path / "task", model, small_plan("a.py"))["implementation"]
    assert (made["stop_reason"], made["status"]) == ("stuck", "incomplete")
    assert model.asked == 10
    assert "the same call with the same result 3 times" in model.requests[3].messages[-1].text


def test_the_limit_of_turns_pauses_the_run_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    plan = small_plan(*EIGHT)
    with pytest.raises(Paused, match=r"5 of 8 files written; the limit max_turns = 5 is reached.*--max-turns 10"):
        carry_out(tmp_path / "task", says(*writes(EIGHT)), plan, max_turns=5)
    model = says(*writes(EIGHT))
    carry_out(tmp_path / "task", model, plan, max_turns=10)
    assert model.asked == 4


@pytest.mark.parametrize(("limit", "value"), [("max_usd", 0.25), ("max_tokens", 250)], ids=["money", "tokens"])
def test_a_limit_stops_within_one_call_and_raising_it_goes_on(limit: str, value: float, tmp_path: Path) -> None:
    plan, cap = small_plan(*EIGHT), dict[str, Any]({limit: value})
    paid = [Reply("ok", "", reply.calls, 90, 0, 10, 0.1) for reply in writes(EIGHT)]
    model = says(*paid)
    with pytest.raises(
        Paused, match=rf"the limit {limit} = .* is reached \(\$0.3000 and 300 tokens in 3 calls so far\)"
    ):
        carry_out(tmp_path / "task", model, plan, **cap)
    assert model.asked == 3
    again = says(*paid)
    with pytest.raises(Paused):
        carry_out(tmp_path / "task", again, plan, **cap)
    assert again.asked == 0
    carry_out(tmp_path / "task", again, plan, **{limit: cap[limit] * 100})
    assert again.asked == 6


def test_a_call_that_does_not_fit_the_limit_is_not_made_and_what_is_told_is_enough(tmp_path: Path) -> None:
    plan, limit = small_plan(*EIGHT), 0.001
    for least in (0, 1, 1):
        model = says(*[Reply("ok", "", reply.calls, 90, 0, 500, 0.01) for reply in writes(EIGHT)])
        model.price = lambda tokens_in, tokens_out: tokens_out * 0.000_02  # type: ignore[method-assign]
        with pytest.raises(Paused, match=r"the next call costs about \$0\.[0-9]+ ") as paused:
            carry_out(tmp_path / "task", model, plan, max_usd=limit)
        assert model.asked >= least, "what was told the last time was not enough"
        assert 0.01 * len(tree(tmp_path / "task")) <= limit
        limit += float(str(paused.value).rpartition("pipeline resume task --add-usd ")[2])


def test_a_reply_is_expected_to_be_as_long_as_the_longest_before(tmp_path: Path) -> None:
    paid = [Reply("ok", "", reply.calls, 90, 0, 1000, 0.01) for reply in writes(EIGHT)]
    model = says(*paid)
    model.price = lambda tokens_in, tokens_out: tokens_out * 0.000_01  # type: ignore[method-assign]
    with pytest.raises(
        Paused, match=r"max_usd = 0.025 would be passed: the next call costs about \$0.0100 .*--add-usd 0.01$"
    ):
        carry_out(tmp_path / "task", model, small_plan(*EIGHT), max_usd=0.025)
    assert model.asked == 2


def test_where_no_price_is_known_a_limit_holds_by_what_the_server_says_and_is_refused_if_it_says_nothing(
    tmp_path: Path,
) -> None:
    model = says(*(Reply("ok", "", reply.calls, 10_000, 0, 10, 0.4) for reply in writes(EIGHT)))
    model.priced, model.price = False, lambda tokens_in, tokens_out: 0.0  # type: ignore[method-assign]
    told = r"what scripted costs is not known, and its server does not say it, so .*prices\.yaml.*--max-tokens"
    with pytest.raises(PhaseError, match=told):
        carry_out(tmp_path / "task", model, small_plan(*EIGHT), max_usd=1)
    assert model.asked == 0
    model.reports_cost = True
    with pytest.raises(Paused, match=r"max_usd = 1 (would be passed|is reached).*--add-usd 0\.[0-9]+$"):
        carry_out(tmp_path / "task", model, small_plan(*EIGHT), max_usd=1)
    assert model.asked in (2, 3)
    assert [row["usd"] for row in rows(tmp_path / "task", "logs/llm.jsonl")] == [0.4] * model.asked


def test_a_limit_for_all_tasks_of_a_folder_counts_what_the_others_spent(tmp_path: Path) -> None:
    plan = small_plan("a.py", "b.py", "c.py")
    paid = [Reply("ok", "", reply.calls, 90, 0, 10, 0.4) for reply in writes(["a.py", "b.py", "c.py"])]
    carry_out(tmp_path / "one", says(*paid), plan)
    model = says(*paid)
    with pytest.raises(Paused, match=r"the limit batch_usd = 1.5 is reached.*--batch-usd"):
        carry_out(tmp_path / "two", model, plan, batch_usd=1.5)
    assert model.asked == 1
    carry_out(tmp_path / "two", model, plan, batch_usd=9)


def test_a_reply_that_was_of_no_use_is_paid_for_all_the_same(tmp_path: Path) -> None:
    cut = Reply("truncated", "half a", (), 90, 0, 10, 0.5, "cut off")
    with pytest.raises(Paused, match="max_usd"):
        carry_out(tmp_path / "task", Scripted(lambda request: cut), small_plan("a.py"), max_usd=0.9)
    paid = rows(tmp_path / "task", "logs/llm.jsonl")
    assert [(row["outcome"], row["usd"], row["partial"]) for row in paid] == [("truncated", 0.5, "half a")] * 2


def test_what_a_journal_says_was_paid_and_the_ledger_lost_is_noted_again(tmp_path: Path) -> None:
    plan, paid = small_plan("a.py"), Reply("ok", "", writes(["a.py"])[0].calls, 90, 0, 10, 0.25)
    carry_out(tmp_path / "task", says(paid), plan)
    ledger = tmp_path / "task" / "logs" / "llm.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join(lines[1:]))
    carry_out(tmp_path / "task", says(paid), plan)
    assert sorted((row["turn"], row["usd"]) for row in rows(tmp_path / "task", "logs/llm.jsonl")) == [(1, 0.25), (2, 0)]
    carry_out(tmp_path / "task", says(paid), plan)
    assert len(rows(tmp_path / "task", "logs/llm.jsonl")) == 2


# commands


SCRIPT = """
import os, sys
from pathlib import Path
from phases.workspace import command_runner
from tests.agents import call, carry_out, says, small_plan, write

def dies(box, command, real=command_runner.run_command, **more):
    real(box, command, **more)
    os._exit(9)

if sys.argv[2:]:
    command_runner.run_command = dies
command = "echo one >> log; rm -f a.py; echo A=2 > c.py"
replies = [write("a.py", "A = 1\\n"), call("Bash", identifier="b", command=command)]
carry_out(Path(sys.argv[1]), says(*replies), small_plan("a.py"))
"""
"""Runs a command that is not safe to repeat: it adds a line to a file each time."""


@pytest.mark.slow
@needs_a_sandbox
def test_a_command_that_a_kill_cut_off_is_run_again_on_the_tree_that_it_began_with(tmp_path: Path) -> None:
    def start(name: str, *dies: str) -> int:
        argv = [sys.executable, "-c", SCRIPT, str(tmp_path / name), *dies]
        return subprocess.run(argv, cwd=os.getcwd(), timeout=HANGS, check=False).returncode

    assert start("cut", "dies") == 9
    assert (tmp_path / "cut" / "generate_code" / "log").read_text() == "one\n"
    assert (start("cut"), start("whole")) == (0, 0)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
    assert tree(tmp_path / "cut")["log"] == b"one\n"


@needs_a_sandbox
def test_a_command_may_read_the_paper_and_not_change_it(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "paper.md").write_text("the method")
    commands = "cat ../paper.md; echo owned > ../paper.md; ls ..; cat ../journal.jsonl"
    model = says(call("Bash", command=commands), *writes(["a.py"]))
    carry_out(folder, model, small_plan("a.py"))
    answer = model.requests[1].messages[-1].text
    assert "the method" in answer
    assert '"thread"' not in answer
    assert (folder / "paper.md").read_text() == "the method"


# sub-agents


def explorer(request: Request) -> Reply:
    if request.thread == "implement":
        first = call("Task", identifier="t1", description="look", prompt="what is in a.py?")
        return {1: write("a.py", "A = 1\n"), 2: first}.get(request.turn, Reply("ok", "done"))
    if request.turn == 1:
        return Reply("ok", "", (ToolCall("r1", "Read", {"file_path": "a.py"}), ToolCall("w1", "Write", {})))
    return Reply("ok", f"it says: {request.messages[-2].text.split()[-1]}")


def test_a_sub_agent_reads_and_changes_nothing_and_its_answer_comes_back(tmp_path: Path) -> None:
    model = Scripted(explorer)
    made = carry_out(tmp_path / "task", model, small_plan("a.py"))["implementation"]
    assert made["subagents"] == {"started": 1, "running": 0, "completed": 1, "failed": 0}
    asked = [request for request in model.requests if request.thread != "implement"]
    assert len(asked) == 2
    assert "Write" not in {tool["name"] for tool in asked[0].tools}
    assert "there is no tool 'Write'" in asked[1].messages[-1].text
    back = next(request for request in model.requests if request.thread == "implement" and request.turn == 3)
    assert back.messages[-1].text == "it says: 1"
    assert [path.name for path in (tmp_path / "task" / "explorations").iterdir()] == ["1-2-0.jsonl"]


@pytest.mark.parametrize("outcome", ["empty", "refused"])
def test_a_sub_agent_that_is_of_no_use_is_told_as_failed_and_the_work_goes_on(outcome: str, tmp_path: Path) -> None:
    def useless(request: Request) -> Reply:
        return Reply(outcome, detail="nothing") if request.thread != "implement" else explorer(request)

    made = carry_out(tmp_path / "task", Scripted(useless), small_plan("a.py"))["implementation"]
    assert (made["stop_reason"], made["subagents"]) == (
        "accepted", {"started": 1, "running": 0, "completed": 0, "failed": 1},
    )  # fmt: skip


# plans that change


def two_plans() -> tuple[dict[str, Any], dict[str, Any]]:
    old = small_plan("a.py", "b.py", "c.py", demands=True)
    new = json.loads(json.dumps(small_plan("a.py", "b.py", "d.py", demands=True)))
    new["requirements"][1]["text"] = "what b.py is for, changed"
    return old, new


def written_by(plan: dict[str, Any], folder: Path) -> None:
    """Write the files of the first plan, which is kept among the versions."""
    in_versions(folder, plan, "1" * 64)
    carry_out(folder, says(*writes(["a.py", "b.py", "c.py"])), plan)


def in_versions(folder: Path, plan: dict[str, Any], digest: str) -> None:
    (folder / "plan_versions").mkdir(parents=True, exist_ok=True)
    (folder / "plan_versions" / f"{digest[:16]}.txt").write_text(json.dumps(plan))


@pytest.mark.slow
def test_a_changed_plan_touches_only_the_files_that_it_changes_also_after_a_cut(tmp_path: Path) -> None:
    old, new = two_plans()
    folder = tmp_path / "task"
    written_by(old, folder)
    (folder / "generate_code" / "notes.txt").write_text("made by a command")
    replies = [write("b.py", "B = 2  # R2\n"), write("d.py", "D = 4  # R3\n", "c2")]
    cut, model = says(replies[0], Reply("fatal", detail="cut")), says(*replies)
    with pytest.raises(PhaseError, match="cut"):
        carry_out(folder, cut, new, "2" * 64)
    made = carry_out(folder, model, new, "2" * 64)["implementation"]
    assert (made["stop_reason"], [request.turn for request in model.requests]) == ("accepted", [2, 3])
    assert json.loads(cut.requests[0].messages[1].text)["write"] == ["b.py", "d.py"]
    told = next(one.text for one in cut.requests[0].messages if one.text.startswith("Files left to write"))
    assert json.loads(told.partition("\n")[2])["changed"] == ["~ R2 artifact: text is now: what b.py is for, changed"]
    assert sorted(tree(folder)) == ["a.py", "b.py", "d.py", "notes.txt"]
    assert tree(folder)["a.py"] == meets("a.py", 1).encode()
    kept = folder / "generate_code.prev"
    assert sorted(path.name for path in kept.iterdir()) == ["a.py", "b.py", "c.py", "notes.txt"]
    assert (kept / "b.py").read_text() == meets("b.py", 2)
    assert not (folder / "generate_code.prev2").exists()


def test_a_file_that_a_changed_plan_touches_need_not_be_written_again(tmp_path: Path) -> None:
    old, new = two_plans()
    folder = tmp_path / "task"
    written_by(old, folder)
    model = says(write("d.py", "D = 4  # R3\n"))
    made = carry_out(folder, model, new, "2" * 64)["implementation"]
    assert "b.py is unchanged, although the plan changed" in model.requests[2].messages[-1].text
    assert (made["stop_reason"], len(model.requests)) == ("accepted", 3)
    in_versions(folder, new, "2" * 64)
    again = says()
    carry_out(folder, again, {**new, "paper": {**new["paper"], "title": "Other"}}, "3" * 64)
    assert json.loads(again.requests[0].messages[1].text)["write"] == [], "what was looked at and left is done"


def test_files_that_use_what_a_changed_plan_touches_are_named_and_kept(tmp_path: Path) -> None:
    old, new = two_plans()
    for plan in (old, new):
        plan["file_structure"][0]["depends_on"] = ["b.py"]
    new["file_structure"][1]["interface"] = ["B: int"]
    folder = tmp_path / "task"
    written_by(old, folder)
    model = says(write("b.py", "B = 2  # R2\n"), write("d.py", "D = 4  # R3\n", "c2"))
    assert carry_out(folder, model, new, "2" * 64)["implementation"]["stop_reason"] == "accepted"
    told = json.loads(model.requests[0].messages[1].text)
    assert (told["write"], told["may_need_a_change"]) == (["b.py", "d.py"], ["a.py"])


def test_every_reply_on_record_names_the_version_of_the_prompt_that_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def versions(name: str) -> set[str]:
        carry_out(tmp_path / name, says(*writes(["a.py", "b.py"])), small_plan("a.py", "b.py"))
        rows = map(json.loads, (tmp_path / name / "journal.jsonl").read_text().splitlines())
        return {row["result"]["prompt"] for row in rows if row["kind"] == "reply"}

    (first,) = versions("first")
    assert versions("second") == {first}
    monkeypatch.setattr(prompt, "DATA", f"{prompt.DATA} Really.")
    (other,) = versions("third")
    assert other != first


@pytest.mark.slow
def test_a_plan_of_which_nothing_is_known_begins_anew(tmp_path: Path) -> None:
    old, new = two_plans()
    folder = tmp_path / "task"
    carry_out(folder, says(*writes(["a.py", "b.py", "c.py"])), old)
    model = says(*writes(["a.py", "b.py", "d.py"]))
    carry_out(folder, model, new, "2" * 64)
    assert json.loads(model.requests[0].messages[1].text)["write"] == ["a.py", "b.py", "d.py"]
    assert (folder / "generate_code.prev" / "c.py").exists()


@pytest.mark.parametrize("ended", [True, False], ids=["begun anew after its end", "gone on with before it"])
def test_work_is_taken_over_by_another_model(ended: bool, tmp_path: Path) -> None:
    plan, replies = small_plan("a.py", "b.py"), writes(["a.py", "b.py"])
    with nullcontext() if ended else pytest.raises(PhaseError):
        carry_out(tmp_path, says(*(replies if ended else [replies[0], Reply("fatal", detail="cut")])), plan)
    other = says(*replies)
    other.name = "another"
    carry_out(tmp_path, other, plan)
    assert other.asked == 2 + ended


@needs_a_sandbox
def test_a_planned_file_that_a_command_wrote_or_changed_is_noticed_and_one_that_did_not_change_is_not(
    tmp_path: Path,
) -> None:
    plan = small_plan("a.py", "b.py")
    bash = call("Bash", command="printf 'B = 1\\n' > b.py; printf 'A = 2\\n' > a.py")
    model = says(write("a.py", "A = 1\n"), bash, call("Bash", {"command": "true"}, "c2"))
    carry_out(tmp_path / "task", model, plan)
    rows = [json.loads(line) for line in (tmp_path / "task" / "journal.jsonl").read_text().splitlines()]
    files = [row["result"]["files"] for row in rows if row["kind"] == "result"]
    assert [sorted(state) for state in files] == [["a.py"], ["a.py", "b.py"], []]
    assert files[1]["b.py"]["sound"]
    assert "A = 2" in files[1]["a.py"]["interface"]
    assert "Every planned file is written" in "".join(message.text for message in model.requests[3].messages)
