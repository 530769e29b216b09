"""What the model is shown: bounded by structure, stable in front, and the same after a resume."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phases.agent.memory import Memory
from phases.agent.prompt import parse_first_messages
from phases.agent.session import Session
from phases.llm.model import Message, Reply, ToolCall, tokens_of
from pipeline.base.errors import PhaseError
from tests.agents import small_plan

PATHS = [f"part{number}.py" for number in range(1, 21)]
ROOMY = 200_000


def memory(window: int = ROOMY, paths: list[str] = PATHS, kept: dict[str, str] | None = None) -> Memory:
    return Memory(small_plan(*paths), begun(paths, window, kept), [])


def begun(write: list[str], window: int, kept: dict[str, str] | None = None) -> Session:
    """Work that has begun. Its journal is not looked at."""
    return Session(None, tuple(write), tuple(write), kept or {}, {}, (), window, None)  # type: ignore[arg-type]


def written(memory: Memory, path: str, *, sound: bool = True, text: str = "written", lines: int = 400) -> None:
    """One turn that writes a file."""
    memory.heard(Reply("ok", "", (ToolCall("c", "Write", {"file_path": path, "content": "x = 1\n" * lines}),)))
    memory.observed("c", text, {path: {"sound": sound, "interface": f"{path}: def meet() -> int"}})
    memory.turn_over()


def looked(memory: Memory, number: int, size: int = 4000) -> None:
    """One turn that reads something."""
    memory.heard(Reply("ok", "", (ToolCall(f"r{number}", "Read", {"file_path": f"{number}.txt"}),)))
    memory.observed(f"r{number}", f"line {number}\n" + "word " * (size // 5), {})
    memory.turn_over()


def size(messages: list[Message]) -> int:
    return sum(message.tokens for message in messages)


def wrote(messages: list[Message]) -> list[str]:
    """The files that are whole before the model, as it wrote them."""
    return [str(call.arguments["file_path"]) for message in messages for call in message.calls if call.name == "Write"]


def test_in_a_large_window_the_last_files_stay_whole_and_older_ones_are_shown_by_their_interfaces() -> None:
    shown = memory()
    for path in PATHS[:3]:
        written(shown, path)
    assert wrote(shown.messages()) == PATHS[:3]
    assert "def meet()" not in "".join(message.text for message in shown.messages())
    assert '"path": "part4.py"' in shown.messages()[-1].text
    written(shown, PATHS[3], lines=30_000)  # more than all of them may take
    assert wrote(shown.messages()) == [PATHS[3]]
    assert shown.forgotten == 1
    assert sum("def meet()" in message.text for message in shown.messages()) == 3


def test_where_the_last_files_take_too_much_the_older_half_makes_way_at_once() -> None:
    shown, kept, left = memory(), 0, []
    for path in PATHS:
        written(shown, path, lines=4_000)
        now = wrote(shown.messages())
        left += [kept + 1 - len(now)] if len(now) <= kept else []
        kept = len(now)
        interfaces = {path for path in PATHS if any(f"{path}: def meet()" in one.text for one in shown.messages())}
        assert not interfaces & set(now), "no file is shown twice"
        assert interfaces | set(now) == set(PATHS[: PATHS.index(path) + 1])
    assert min(left) > 1, "so that a cached prefix holds for some files"


def test_in_a_small_window_a_file_that_is_written_is_shown_by_its_interface_alone() -> None:
    shown = memory(window=8_000, paths=PATHS[:5])
    written(shown, "part1.py", lines=4_000)
    texts = "".join(message.text for message in shown.messages())
    assert "part1.py: def meet() -> int" in texts
    assert wrote(shown.messages()) == []
    assert '"path": "part2.py"' in shown.messages()[-1].text


def test_files_make_way_for_the_turn_at_hand_and_its_sections_of_the_paper_come_back() -> None:
    plan = small_plan("a.py", "b.py")
    source = {"section": "2", "page": 1, "quote": "We wait."}
    plan["requirements"] = [{"id": "R1", "kind": "equation", "text": "waits", "source": source, "status": "stated"}]
    for row in plan["file_structure"]:
        row["implements"] = ["R1"]
    shown = Memory(plan, begun(["a.py", "b.py"], 40_000), [], paper="# Slow\n## 2 Method\nWe wait for w.\n")

    def told() -> int:
        return sum("We wait for w." in message.text for message in shown.messages())

    assert told() == 1
    written(shown, "a.py", lines=2_000)
    assert (wrote(shown.messages()), told()) == (["a.py"], 1)
    looked(shown, 1, 80_000)
    assert (wrote(shown.messages()), told()) == ([], 1)
    assert shown.messages()[-1].text.startswith("line 1")


@pytest.mark.parametrize("lines", [30, 30_000], ids=["files that stay", "files that make way"])
@pytest.mark.parametrize("last", [True, False], ids=["after the last file", "before others"])
def test_what_commands_of_the_last_reply_printed_is_shown_once_whatever_makes_way(lines: int, last: bool) -> None:
    shown = memory(window=20_000, paths=["a.py"] if last else ["a.py", "b.py"])
    write = ToolCall("w", "Write", {"file_path": "a.py", "content": "x\n" * lines})
    more = ToolCall("r", "Write", {"file_path": "README.md", "content": "x"})
    shown.heard(Reply("ok", "", (write, more, ToolCall("t", "Bash", {"command": "pytest -q"}))))
    shown.observed("w", "written", {"a.py": {"interface": "a.py: def meet()", "sound": True}})
    shown.observed("r", "written", {})
    shown.observed("t", "41 passed", {})
    shown.turn_over()
    told = [message.text for message in shown.messages()]
    assert sum("41 passed" in text for text in told) == 1
    if lines > 1000:
        assert any("you wrote a.py, README.md." in text and "Bash pytest -q gave:" in text for text in told)


def test_why_the_work_was_refused_stays_when_the_turns_around_it_make_way() -> None:
    shown = memory(paths=["a.py", "b.py", "c.py"])
    written(shown, "a.py")
    shown.rejected("a test fails")
    written(shown, "b.py")
    written(shown, "c.py", lines=30_000)
    assert wrote(shown.messages()) == ["c.py"]
    assert [message.text for message in shown.messages()].count("a test fails") == 1


def test_what_is_said_to_last_begins_the_next_requests_too() -> None:
    shown, pinned = memory(), list[str]()
    for number, path in enumerate(PATHS[:5]):
        before = list(shown.messages("only now"))
        plan, interfaces, turns = shown.lasting
        assert [message.text for message in before[turns + 1 :]] == [*pinned, "only now"]
        looked(shown, number)
        assert shown.messages()[: turns + 1] == before[: turns + 1]
        pinned = [f"this stays before the model in place of the one before, and moves: {number}"]
        shown.pin("hooks", pinned[0])
        assert shown.messages()[shown.lasting[2] + 1 :] == [Message("user", pinned[0])]
        written(shown, path)
        assert shown.messages()[: turns + 1] == before[: turns + 1], "a file that is written takes nothing away"
        assert shown.lasting[:2] == (plan, interfaces) == (1, 1)
    written(shown, PATHS[5], lines=30_000)
    assert shown.lasting[:2] == (1, 6)


def test_the_cost_of_a_turn_does_not_grow_and_what_comes_first_stays_as_it_is_so_that_caches_hold() -> None:
    paths = [f"part{number}.py" for number in range(60)]
    shown, sizes = memory(paths=paths), []
    for number, path in enumerate(paths):
        before = shown.messages()
        sizes.append(size(before))
        written(shown, path, lines=2_000 if number > 20 else 400)
        if number < 20:
            assert shown.messages()[: len(before) - 1] == before[:-1], "all but what tells the next file"
    assert max(sizes) < sizes[0] + 60_000 + 60 * 40  # the last files, and an interface each


def test_turns_that_read_much_are_shortened_to_the_window_and_the_last_ones_are_kept_whole() -> None:
    shown = memory(window=40_000)
    for number in range(600):
        looked(shown, number, 9000)
        messages = shown.messages()
        assert size(messages) <= 40_000 - 10_000
        assert messages[-1].text.startswith(f"line {number}\n")
        assert messages[-1].tokens > 2000
    assert "Earlier turns, in short" in "".join(message.text for message in shown.messages())


@given(
    st.lists(st.sampled_from(["look", "write", "broken", "told", "useless"]), max_size=60), st.integers(6_000, 60_000)
)
@settings(max_examples=60, deadline=None)
def test_whatever_happens_the_transcript_is_valid_and_fits(steps: list[str], window: int) -> None:
    shown = memory(window, PATHS[:6])
    for number, step in enumerate(steps):
        if step == "look":
            looked(shown, number, 3000)
        elif step in ("write", "broken") and shown.target:
            written(shown, shown.target, sound=step == "write")
        elif step == "told":
            shown.told("mend this")
        elif step == "useless":
            shown.useless(Reply("malformed", detail="half a call"))
        messages = shown.messages()
        assert size(messages) <= window
        assert messages[0].role == "system"
        assert parse_first_messages(messages)[1] == PATHS[:6]
        open_calls: list[str] = []
        for message in messages:
            if message.role == "tool":
                open_calls.remove(str(message.call_id))
            else:
                assert not open_calls, "a call is left without its answer"
                open_calls = [call.id for call in message.calls]
        assert not open_calls


def test_a_long_request_leaves_room_for_the_work_and_says_where_the_rest_of_it_is() -> None:
    asked = "Leuchten zählen. " * 10_000
    paper = f"---\nkind: requirement\n---\n<!-- page 1 -->\n\n{asked}\n"
    shown = Memory(small_plan(*PATHS[:2]), begun(PATHS[:2], 30_000), [], paper=paper)
    request = json.loads(shown.messages()[1].text)["request"]
    assert request.startswith("Leuchten zählen. Leuchten")
    assert "whole: ../paper.md, 169,999 characters" in request
    written(shown, PATHS[0])
    assert size(shown.messages()) <= 30_000


def test_an_overflow_makes_the_next_question_smaller_until_not_even_the_plan_fits() -> None:
    shown = memory(window=10**7)
    for number in range(20):
        looked(shown, number)
    before = size(shown.messages())
    shown.useless(Reply("overflow", detail="too long"))
    assert size(shown.messages()) <= before * 0.6

    def shrink_without_end() -> None:
        while True:
            shown.useless(Reply("overflow", detail="too long"))
            shown.messages()

    with pytest.raises(PhaseError, match="continue with a model that has a larger one"):
        shrink_without_end()
    with pytest.raises(PhaseError, match=r"need about [0-9,]+ tokens, and the model has room for [0-9,]+"):
        memory(window=600).messages()


def test_a_plan_that_is_large_for_the_window_is_shown_in_short_and_a_file_with_all_that_it_needs() -> None:
    plan: dict[str, Any] = small_plan(*PATHS, demands=True)
    for row in plan["requirements"]:
        row["text"] = f"{row['id']} demands " + "much " * 400
    shown = Memory(plan, begun(PATHS, 40_000), [])
    messages = shown.messages()
    assert tokens_of(messages[1].text) < 12_000
    assert plan["requirements"][0]["text"] in messages[-1].text
    assert plan["requirements"][1]["text"] not in "".join(message.text for message in messages)


def test_where_room_is_short_a_file_still_sees_the_whole_interface_of_what_it_needs_and_none_is_lost() -> None:
    paths = [f"part{number}.py" for number in range(30)]
    plan: dict[str, Any] = small_plan(*paths)
    plan["file_structure"][-1]["depends_on"] = ["part3.py"]
    shown = Memory(plan, begun(paths, 20_000), [])
    for path in paths[:-1]:
        text = f"# {path}\ndef meet_{path[:-3]}() -> int:\n" + f"    # what {path} is about\n" * 60
        shown.messages()
        shown.heard(Reply("ok", "", (ToolCall("c", "Write", {"file_path": path, "content": "x = 1\n" * 2_000}),)))
        shown.observed("c", "written", {path: {"sound": True, "interface": text}})
        shown.turn_over()
    told = "\n".join(message.text for message in shown.messages())
    assert "what part3.py is about" in told
    assert "what part4.py is about" not in told
    assert "defines meet_part4" in told
    assert all(f"what {path} is about" in shown.interfaces[path] for path in paths[:-1])


def test_files_of_an_earlier_plan_are_shown_and_the_model_is_told_to_change_them_and_why() -> None:
    plan, kept = small_plan("a.py", "b.py"), {"a.py": "def old()", "b.py": "def other()"}
    plan["file_structure"][0]["implements"] = ["R1"]
    told = ("~ R1 loss: text is now: the mean", "~ a.py: purpose", "- R3 loss: gone", "~ paper: title")
    shown = Memory(plan, begun(["a.py", "b.py"], ROOMY, kept)._replace(changed=told), [])

    def changes() -> list[str]:
        text = shown.messages()[-1].text
        assert "It is there from an earlier plan" in text
        return list(json.loads(text.partition("\n")[2])["changed"])

    assert [message.text for message in shown.messages()[2:4]] == list(kept.values())
    assert changes() == list(told[:2])
    written(shown, "a.py")
    assert shown.interfaces["a.py"] == "a.py: def meet() -> int"
    assert changes() == list(told), "no line is about that file, so all are shown"


def test_a_file_that_breaks_is_open_again_before_those_that_are_not_begun() -> None:
    shown = memory(paths=["a.py", "b.py"])
    for path, sound, target in (("a.py", True, "b.py"), ("a.py", False, "a.py"), ("a.py", True, "b.py"), ("b.py", True, ""),
                                ("a.py", False, "a.py")):  # fmt: skip
        written(shown, path, sound=sound)
        assert shown.target == target
