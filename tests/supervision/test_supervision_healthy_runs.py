"""Work that goes well is left alone: whole runs, through the adapter and the bridge, as a loop would drive them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from phases.agent.kernel_facts import FactExtractor, looks_like_check
from phases.agent.supervisor_adapter import setting_from
from phases.llm.model import ToolCall
from phases.supervision.bridge import SupervisorBridge
from phases.supervision.config import Config
from phases.supervision.effects import Effects
from phases.supervision.enums import SupervisorPhase
from phases.supervision.facts import DiskFacts, GateVerdict, Round
from phases.supervision.serialization import to_json
from tests.agents import small_plan, tool_kinds

CHECK = "python -m pytest -q"
Asked = tuple[str, dict[str, Any], dict[str, Any]]
"""A tool, its arguments, and what the journal would say of it."""


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def name(number: int) -> str:
    return f"src/m{number}.py"


def write(number: int) -> Asked:
    return "Write", {"file_path": name(number), "content": f"# {number}\n" + "x = 1\n" * 20}, {}


def edit(number: int, new: str) -> Asked:
    return "Edit", {"file_path": name(number), "old_string": "", "new_string": f"{new}\n"}, {}


def read(number: int) -> Asked:
    return "Read", {"file_path": name(number)}, {"text": f"the content of file {number}"}


def run(command: str, *failures: str) -> Asked:
    return "Bash", {"command": command}, {"text": "\n".join(failures) or "10 passed", "failed": bool(failures)}


def note(number: int) -> Asked:
    return "TodoWrite", {"todos": [f"step {number}"]}, {"text": "noted"}


class Run:
    """One run that nobody has to correct."""

    def __init__(self, files: int, *checks: str, shadow: bool = False) -> None:
        plan = small_plan(*map(name, range(files)), verify=checks)
        self.files: dict[str, str] = {}
        self.facts = FactExtractor([name(number) for number in range(files)], {}, [], checks, tool_kinds())
        pinned = {"mode": "adaptive", "shadow": shadow, "config": to_json(Config())}
        self.bridge = SupervisorBridge(setting_from(pinned, plan, there=()), self.disk)
        self.said: list[str] = []
        self.refused: list[str] = []
        self.calls = 0

    def disk(self) -> DiskFacts:
        return DiskFacts(added=tuple(self.files), present=tuple(self.files), build_summary="ok")

    def round(self, *asked: Asked, text: str = "", verdict: GateVerdict | None = None) -> Effects:
        self.bridge.begin()
        for one in asked:
            self._done(*one)
        missing = self.facts.open_names
        turn = Round(0, text=text, token_ratio=0.01, open_files=len(missing), next_file=next(iter(missing), ""))
        out = self.bridge.end(turn, verdict)
        self.said += [said.text for said in out.injections]
        return out

    def rounds(self, asked: Sequence[Asked], text: str = "") -> None:
        for one in asked:
            self.round(one, text=text)

    def _done(self, tool: str, arguments: dict[str, Any], told: dict[str, Any]) -> None:
        self.calls += 1
        call = ToolCall(f"c{self.calls}", tool, arguments)
        fact = self.facts.call(call)
        row: dict[str, Any] = {"text": "ok", "failed": False, "touched": [], "seen": {}, "files": {}, **told}
        if refused := self.bridge.gate(fact):
            self.refused.append(refused)
            row |= {"text": refused, "failed": True, "skipped": True}
        elif tool in ("Write", "Edit") and not row["failed"]:
            path = arguments["file_path"]
            self.files[path] = arguments.get("content", self.files.get(path, "") + arguments.get("new_string", ""))
            row["touched"], row["seen"] = [path], {path: sha(self.files[path])}
            row["files"] = {path: {"sound": True, "interface": "", "sha256": sha(self.files[path])}}
        self.bridge.record(fact, self.facts.result(call, row))


def left_alone(run: Run) -> bool:
    state = run.bridge.state
    return (state.phase.takeovers, state.phase.phase, run.said, run.refused) == (0, SupervisorPhase.FREE, [], [])


def test_thirty_files_and_then_four_edits_of_one_in_one_reply_are_left_alone() -> None:
    here = Run(30, CHECK)
    here.rounds([write(number) for number in range(30)])
    here.round(*[edit(0, f"def part{at}(): ...") for at in range(4)])
    here.round(run(CHECK))
    assert left_alone(here), (here.said, here.refused)


@pytest.mark.parametrize("checks", [(CHECK,), ()], ids=["with a check", "without one"])
def test_a_file_that_is_written_in_parts_is_left_alone(checks: tuple[str, ...]) -> None:
    here = Run(10, *checks)
    for number in range(10):
        here.round(write(number))
        here.rounds([edit(4, f"def part{at}(): ...") for at in range(4)] if number == 4 else [])
    assert here.bridge.state.phase.takeovers == 0
    assert here.said == []


def test_an_edit_after_a_file_in_parts_and_a_failed_check_is_the_first_one() -> None:
    here = Run(5, CHECK)
    here.rounds([write(number) for number in range(5)])
    here.rounds([edit(4, f"def part{at}(): ...") for at in range(4)])
    here.rounds([run(CHECK, "FAILED test_a"), edit(4, "a fix"), run(CHECK)])
    assert here.bridge.state.phase.takeovers == 0
    assert here.said == []


@pytest.mark.parametrize(
    "text", ["", "Let me look at this one.", "让我看看这个文件。"], ids=["silent", "few words", "no letters"]
)
def test_eight_files_read_after_a_failed_check_are_left_alone(text: str) -> None:
    here = Run(10, CHECK)
    here.rounds([write(number) for number in range(10)])
    here.round(run(CHECK, "FAILED test_a", "assert 1 == 2"))
    here.rounds([read(number) for number in range(8)], text)
    here.rounds([edit(0, "a fix"), run(CHECK)])
    here.round(text="done", verdict=GateVerdict(passed=True))
    assert left_alone(here), (here.said, here.refused)


def test_reading_eight_files_before_the_first_change_is_left_alone() -> None:
    here = Run(8, CHECK)
    here.rounds([read(number) for number in range(8)], "First I look at what is there.")
    for number in range(8):
        here.rounds([write(number), run(CHECK)])
    assert left_alone(here), (here.said, here.refused)


@pytest.mark.parametrize("form", ["cd generate_code && {}", "{} | tail -20", "{} 2>&1", "{} -x"])
def test_a_check_in_another_form_that_passes_after_each_of_five_edits_is_left_alone(form: str) -> None:
    here = Run(10, CHECK)
    here.rounds([write(number) for number in range(10)])
    for at in range(5):
        here.rounds([edit(0, f"step {at}"), run(form.format(CHECK))])
    assert here.bridge.state.phase.takeovers == 0
    assert here.said == []


def test_a_check_in_another_form_that_passes_ends_the_count_that_a_failed_one_began() -> None:
    here = Run(6, CHECK)
    here.rounds([write(number) for number in range(6)])
    here.round(run(CHECK, "FAILED test_a"))
    for at in range(5):
        here.rounds([edit(0, f"step {at}"), run(f"cd src && {CHECK}")])
    assert here.bridge.state.phase.takeovers == 0


def test_a_list_of_things_to_do_between_the_work_is_left_alone() -> None:
    here = Run(8, CHECK)
    for number in range(8):
        here.rounds([write(number), *(note(10 * number + at) for at in range(3))], "Next I do the following.")
    here.rounds([edit(0, "more"), run(CHECK)])
    assert left_alone(here), (here.said, here.refused)


def test_the_same_failure_with_a_success_of_that_call_between_is_no_repeated_one() -> None:
    here = Run(6, CHECK)
    here.rounds([write(number) for number in range(6)])
    for number in range(6):
        here.rounds([edit(number, "broken"), run(CHECK, "FAILED test_a"), edit(number, "mended"), run(CHECK)])
    assert left_alone(here), (here.said, here.refused)


def test_work_that_goes_nowhere_is_still_taken_over() -> None:
    """What is left alone must not be everything."""
    here = Run(6, CHECK)
    here.rounds([write(number) for number in range(6)])
    here.rounds([run(CHECK, "FAILED test_a"), *[edit(0, f"try {at}") for at in range(6)]])
    assert here.bridge.state.phase.phase is SupervisorPhase.TAKEOVER
    other = Run(6, CHECK)
    other.rounds([write(number) for number in range(6)])
    other.rounds([read(0), read(1)] * 5)
    assert other.bridge.state.phase.phase is SupervisorPhase.TAKEOVER


def test_nobody_reads_for_ever() -> None:
    here = Run(6, CHECK)
    here.rounds([write(number) for number in range(6)])
    here.rounds([read(number) for number in range(30)])
    assert left_alone(here)
    here.rounds([read(number) for number in range(30, 42)])
    assert here.bridge.state.phase.phase is SupervisorPhase.TAKEOVER


# The command of a check

LONG = f"{CHECK} " + " ".join(f"tests/test_{number}.py" for number in range(40))


@pytest.mark.parametrize(
    ("planned", "asked"),
    [
        pytest.param(LONG, LONG, id="longer than a key"),
        pytest.param(CHECK, f"{CHECK} 2>&1", id="with its errors among its output"),
        pytest.param(CHECK, f"  {CHECK.replace(' ', '   ')}", id="other spaces"),
    ],
)
def test_a_check_is_known_however_it_is_written(planned: str, asked: str) -> None:
    here = Run(2, planned)
    here.rounds([write(0), write(1), run(asked)])
    assert here.bridge.state.ledger.test_summary == "passed"
    assert here.bridge.state.ledger.diff_lines == 0


# Loops that get a word


def first_word(here: Run, asked: Sequence[tuple[Asked, ...]]) -> int:
    """In which of these rounds something is said for the first time; 0 where in none."""
    for at, row in enumerate(asked, 1):
        here.round(*row)
        if here.said or here.refused:
            return at
    return 0


def written(*checks: str) -> Run:
    here = Run(6, *(checks or (CHECK,)))
    here.rounds([write(number) for number in range(6)])
    return here


def failing(at: int) -> str:
    """What pytest prints of the same two tests, at another time and place, with other values."""
    return (
        f"exit code 1\n/tmp/pytest-of-me/pytest-{at}/test_a0: seed {at * 7919}, <Model at 0x7f{at:06x}>\n"
        f"FAILED tests/test_a.py::test_sum - assert 0.{7 * at % 10}53 == 1 in {at}.5s\n"
        f"FAILED tests/test_a.py::test_mean[{2.5}] - ValueError: run 3f2a{at:04x}-1111-4222-8333-0123456789ab\n"
        f"2 failed, 3 passed in {at}.53s\n"
    )


def shown(command: str, text: str, *, failed: bool) -> Asked:
    return "Bash", {"command": command}, {"text": text, "failed": failed}


def test_a_suite_that_fails_alike_gets_a_word_at_its_third_failure_whatever_numbers_it_prints() -> None:
    tries = [(edit(0, f"try {at}"), shown(CHECK, failing(at), failed=True)) for at in range(1, 9)]
    assert first_word(written(), tries) == 3


@pytest.mark.parametrize(
    "form",
    [
        "{} 2>&1 | tail -3",
        "{} | tee log.txt",
        "{} 2>&1 | grep -E 'FAILED|passed' | head -20",
        "{} || true",
        "{} > log.txt 2>&1; tail -5 log.txt",
        "cd /home/me/tasks/paper/generate_code && {} 2>&1 | tail -3",
        "set -o pipefail; {} |& tail -3",
    ],
)
def test_a_check_behind_a_filter_counts_as_that_check(form: str) -> None:
    """Its exit code is the filter's; what it says is its own."""
    here = written()
    command = form.format(CHECK)
    tries = [(edit(0, f"try {at}"), shown(command, failing(at), failed=False)) for at in range(1, 9)]
    assert first_word(here, tries) == 3
    assert here.bridge.state.ledger.failing_checks == (CHECK,)
    assert "tests/test_a.py::test_sum" in here.said[0]
    here.round(shown(command, "exit code 0\n5 passed in 0.53s\n", failed=False))
    assert here.bridge.state.ledger.test_summary == "passed"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param(f"{CHECK} | head -2", "exit code 0\n==== test session starts ====\n", id="the end is not shown"),
        pytest.param(f"{CHECK} | grep -c FAILED", "exit code 1\n0\n", id="nothing but a count"),
        pytest.param(f"python fix.py; {CHECK}", "exit code 0\n5 passed\n", id="another command before it"),
        pytest.param(f"{CHECK} | python judge.py", "exit code 0\n5 passed\n", id="a program behind it"),
        pytest.param(f"{CHECK} & tail log", "exit code 0\n5 passed\n", id="not waited for"),
        pytest.param(f"echo '| {CHECK} |'", f"exit code 0\n| {CHECK} |\n5 passed", id="quoted"),
    ],
)
def test_what_does_not_say_how_a_check_ended_verifies_nothing(command: str, text: str) -> None:
    here = written()
    here.round(shown(command, text, failed=text.startswith("exit code 1")))
    ledger = here.bridge.state.ledger
    assert (ledger.test_summary, ledger.failing_checks) == (None, ())


def test_a_check_that_is_looked_at_through_another_filter_each_time_is_a_loop() -> None:
    looks = [(shown(f"{CHECK} 2>&1 | tail -{at}", failing(at), failed=False),) for at in range(3, 12)]
    assert first_word(written(), looks) == 5


def test_fewer_failing_tests_are_progress_and_the_same_ones_are_none() -> None:
    here = written()
    for at in range(9, 0, -1):
        names = [f"FAILED tests/test_a.py::test_{number} - assert {at}" for number in range(at)]
        here.rounds([edit(0, f"try {at}"), run(CHECK, *names)])
    assert left_alone(here), (here.said, here.refused)
    same = [f"FAILED tests/test_a.py::test_{number} - assert 1" for number in range(3)]
    tries = [(edit(0, f"again {at}"), run(CHECK, *reversed(same), f"in 0.{at}s")) for at in range(9)]
    assert first_word(here, tries) == 3


def failing_edit(at: int) -> Asked:
    told = {"text": "old_string is not in the file", "failed": True}
    return "Edit", {"file_path": name(0), "old_string": f"what is not there {at}", "new_string": ""}, told


@pytest.mark.parametrize(
    ("between", "latest"), [(0, 5), (1, 24), (3, 24)], ids=["in a row", "a read between", "three reads between"]
)
def test_edits_that_fail_get_a_word_whatever_is_read_between(between: int, latest: int) -> None:
    here, rounds = written(), []
    for at in range(60):
        rounds += [(failing_edit(at),), *((read(look % 6),) for look in range(at * between, (at + 1) * between))]
    assert 0 < first_word(here, rounds) <= latest
    assert "old_string is not in the file" in here.said[0]


def test_failed_rounds_do_not_take_back_what_idle_ones_added() -> None:
    here = written()
    here.rounds([*map(read, range(6)), read(0), read(1)])
    before = here.bridge.state.progress.stall
    here.rounds([failing_edit(0), read(2)])
    assert here.bridge.state.progress.stall > before > 0


def test_two_failed_rounds_are_no_reason_to_speak() -> None:
    here = written()
    here.rounds([failing_edit(0), read(0), failing_edit(1), edit(0, "it works"), failing_edit(2), failing_edit(3)])
    assert left_alone(here), (here.said, here.refused)


# Rounds in which only a check failed


def test_checks_that_fail_are_no_failed_rounds() -> None:
    here = Run(3, CHECK, "python main.py")
    here.rounds([write(0), run(CHECK, "FAILED a"), run("python main.py", "ValueError")])
    assert here.bridge.state.progress.stall == 0
    assert here.said == []


# A takeover is not over while a check is known to fail


def led(checks: tuple[str, ...] = (CHECK,)) -> Run:
    """A run that was taken over because somebody asked for it, and where the model may edit."""
    here = Run(5, *checks)
    here.rounds([write(number) for number in range(5)])
    here.bridge.take_over()
    here.round(read(0))
    assert here.bridge.state.phase.phase is SupervisorPhase.TAKEOVER
    return here


def phase(here: Run) -> SupervisorPhase:
    return here.bridge.state.phase.phase


def test_control_is_not_handed_back_while_a_check_is_known_to_fail() -> None:
    here = led()
    here.rounds([edit(0, "a"), run(CHECK, "FAILED a", "FAILED b"), edit(1, "b"), run(CHECK, "FAILED a", "FAILED c")])
    assert phase(here) is SupervisorPhase.TAKEOVER
    here.rounds([edit(2, "c"), run(CHECK)])
    assert phase(here) is SupervisorPhase.HANDOFF_PENDING
    here.round(read(1))
    assert phase(here) is SupervisorPhase.COOLDOWN


def test_a_check_that_fails_before_the_handback_withdraws_it_and_stops_nothing() -> None:
    here = led()
    here.rounds([edit(0, "a"), run(CHECK), read(1)])
    assert phase(here) is SupervisorPhase.HANDOFF_PENDING
    out = here.round(run(CHECK, "FAILED a"))
    assert (phase(here), out.stop) == (SupervisorPhase.TAKEOVER, None)
    assert [line["reason"] for line in here.bridge.lines()][-1] == "handoff_withdrawn"
    here.rounds([edit(1, "c"), run(CHECK), read(2), read(3)])
    assert phase(here) is SupervisorPhase.COOLDOWN


def test_a_gate_that_refuses_the_work_before_the_handback_withdraws_it() -> None:
    here = led()
    here.rounds([edit(0, "a"), run(CHECK), read(1)])
    here.round(text="done", verdict=GateVerdict(passed=False, failures=("src/m1.py is empty",)))
    assert phase(here) is SupervisorPhase.TAKEOVER


# A shadow says nothing, and still comes to its end


def test_a_shadow_would_have_given_up_and_begins_anew() -> None:
    here = Run(5, CHECK, shadow=True)
    here.rounds([write(number) for number in range(5)])
    here.rounds([read(number % 5) for number in range(40)])
    told = [line["reason"] for line in here.bridge.lines() if line["event"] == "shadow_diagnostic"]
    assert "would_fail:checkpoint" in told
    after = told[told.index("would_fail:checkpoint") + 1 :]
    assert any(reason.startswith("cycle") for reason in after)
    assert (here.said, here.refused, here.bridge.state.phase.phase) == ([], [], SupervisorPhase.FREE)
    assert here.bridge.state.shadow_phase.takeovers > 1
    assert here.bridge.state.recovery.rounds == 0


def modules_run(work: Callable[[], object]) -> set[str]:
    """The modules of the kernel whose functions are called."""
    seen: set[str] = set()

    def look(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and "/phases/supervision/" in path:
            seen.add(path.rpartition("/")[2])

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def test_in_a_healthy_turn_only_the_modules_that_look_are_run() -> None:
    here = Run(30, CHECK)
    here.rounds([write(number) for number in range(5)])
    assert modules_run(lambda: here.round(write(5))) == {
        "bridge.py",
        "execution_mode.py",
        "facts.py",
        "observer.py",
        "progress.py",
        "signatures.py",
        "work_ledger.py",
    }


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python -m pytest -x", True),
        ("cd app && npm run build", True),
        ("npx jest src", True),
        ("node --test", True),
        ("cargo build --release", True),
        ("go vet ./...", True),
        ("npm install jest", False),
        ("cargo run", False),
        ("node build.js", False),
    ],
)
def test_tests_and_builds_of_any_language_are_known_by_their_command(command: str, expected: bool) -> None:
    assert looks_like_check(command) is expected
