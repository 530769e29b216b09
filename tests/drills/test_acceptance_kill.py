"""Runs killed while their work is checked: they go on in the midst of it, with the right count and the right words, and a
hook that had its say about a tree is not run again on it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest

from phases.sandbox.commands import kind_of_sandbox
from tests.drills.accepting import CLAIMS, REFUSALS, Bench, refused_twice
from tests.drills.aftermath import last_words
from tests.drills.faults import launched
from tests.drills.ground import Ended, until
from tests.drills.points import Share, chosen, sample, seed, shares
from tests.drills.test_agent_kill import processes_of, settled_tree
from tests.drills.trees import differences, half_written
from tests.hooks import events

pytestmark = pytest.mark.slow

if kind_of_sandbox("required") == "none":
    pytest.skip("no sandbox on this machine, so the built-in check runs nothing", allow_module_level=True)

KILLED, INCOMPLETE = 137, 3
POINTS = 120
"""Of the audited events of the checks, which are thousands: so many are all."""
_MAY_BE_FEWER = 60
FIRST, SECOND, THIRD = CLAIMS
BEFORE, AFTER, SETTLED = "before", "after", "settled"
"""Moments of a row: about to be written; written; and the tree that its step began with is forgotten."""
_CUT = """
if not getattr(sys, "looks", False):
    sys.looks = True
    data = b""
    if os.path.exists({journal!r}):
        with open({journal!r}, "rb") as file:
            data = file.read()
    sys.looks = False
    opens = event == "open" and "journal.jsonl" in str(details[0])
    lines = data.count(b"\\n") + ({moment!r} == "before" and opens)
    if lines >= {line} and ({moment!r} != "settled" or not os.path.lexists({mark!r})):
        os._exit(137)
"""
"""Which audited event that is differs from run to run: files that are young are read once more."""


class At(NamedTuple):
    """A row of the journal."""

    kind: str
    turn: int
    hook: str = ""
    round: int = 0


class Cut(NamedTuple):
    """A moment of a row."""

    row: At
    moment: str = AFTER


Point = Cut | int
"""Where a run is killed: there, or at that audited event."""


@dataclass(frozen=True)
class Whole:
    """The scene, and what a run of it leaves that nobody kills."""

    bench: Bench
    tree: dict[str, Any]
    told: list[str]
    runs: Counter[tuple[str, int]]
    events: list[str]
    """The audited events."""
    lines: dict[At, int]
    """Which line of the journal each row is, from 1."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Two runs, which must leave the same; the second counts its events."""
    bench = refused_twice(tmp_path_factory.mktemp("refused"))
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    tree, told = _tree(bench), bench.told()
    _afresh(bench)
    ended = launched(bench.ground, 0)
    assert ended.code == 0, last_words(ended)
    assert differences(_tree(bench), tree) == []
    assert bench.told() == told
    assert bench.recorded() == bench.runs(), "every run of a hook has a row, and every row a run"
    audited = (bench.ground.base / "events").read_text().splitlines()
    rows = {_at(row): number for number, row in enumerate(bench.rows()[1:], 2)}
    return Whole(bench, tree, told, bench.runs(), audited, rows)


# the scene


def test_the_scene_is_refused_twice_with_different_words_and_then_accepted(whole: Whole) -> None:
    """What the drills go by: two rounds where a hook wrote, no litter of the checks, and each refusal told in its words."""
    verdicts = [row["result"] for turn in CLAIMS for row in _rows_of(whole, "verdict", turn)]
    assert [row["source"] for row in verdicts] == ["hook:user:tests", "hook:user:tests", ""]
    for number, (row, words) in enumerate(zip(verdicts, REFUSALS, strict=False), 1):
        assert f'attempt="{number}" of="4"' in row["feedback"]
        assert words in row["feedback"]
    assert [row["key"]["round"] for row in _rows_of(whole, "hook", FIRST)] == [1] * 5 + [2] * 5
    assert {row["key"]["round"] for row in _rows_of(whole, "hook", SECOND)} == {1}
    assert not [path for path in whole.tree if path.endswith(("litter.txt", "checked.txt", "forbidden", "late.txt"))]
    assert whole.tree["work/tasks/paper/generate_code/log.txt"] == "one\ntwo\n"


# killed at audited events


@shares(20, few=3)
def test_a_run_killed_while_its_work_is_checked_ends_as_if_it_had_not_been(whole: Whole, share: Share) -> None:
    """At random events, from the first one of a hook on."""
    points = sample(range(_begins(whole), len(whole.events) + 1), POINTS)
    _at_each(whole, share.of(points), lambda nth: _killed_at(whole, [nth]))


@shares(24, few=3)
def test_a_verdict_that_was_recorded_before_a_kill_is_not_asked_for_again(whole: Whole, share: Share) -> None:
    """At every moment of every row of the chain."""
    rows = [row for row in whole.lines if row.kind in ("look", "hook", "verdict", "ending")]
    cuts = [Cut(row, moment) for row in rows for moment in (BEFORE, AFTER, SETTLED)]
    _at_each(whole, share.of(cuts), lambda cut: _killed_at(whole, [cut]))


@shares(12, few=2)
def test_a_run_killed_again_and_again_while_its_work_is_checked_ends_the_same(whole: Whole, share: Share) -> None:
    """The events after a resume are fewer, so a later kill may come anywhere, or not at all."""
    chance = random.Random(seed())
    first = [chance.randint(_begins(whole), len(whole.events)) for _ in range(48)]
    kills = [[nth, *(chance.randint(300, 1200) for _ in range(chance.randint(1, 3)))] for nth in first]
    _at_each(whole, share.of(kills), lambda points: _killed_at(whole, points))


@shares(6, few=2)
def test_a_run_killed_with_all_its_group_at_random_times_of_its_checks_ends_the_same(
    whole: Whole, share: Share
) -> None:
    """By the clock, from the first hook on: a hook, its keeper or a command of the built-in check may be at work."""
    chance = random.Random(seed())
    waits = [[round(chance.uniform(0.0, 4.0 / (at + 1)), 3) for at in range(chance.randint(1, 3))] for _ in range(24)]
    _at_each(whole, share.of(waits), lambda times: _killed_after(whole, times))


# killed while a hook sleeps


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice in a row"])
@pytest.mark.parametrize(
    ("hook", "turn"),
    chosen(
        [
            pytest.param("tests", FIRST, id="one that refuses"),
            pytest.param("tidy", FIRST, id="one that may write"),
            pytest.param("fine", THIRD, id="the last of all"),
            pytest.param("slow", SECOND, id="after a refusal"),
            pytest.param("guard", 3, id="before a call"),
            pytest.param("style", 5, id="after a call"),
        ],
        2,
    ),
)
def test_a_hook_that_was_killed_leaves_no_process_and_runs_again_on_the_tree_that_it_began_with(
    whole: Whole, hook: str, turn: int, times: int
) -> None:
    """It had left litter in the workspace, and processes with sessions of their own."""
    bench = whole.bench
    _afresh(bench)
    for _ in range(times):
        _killed_in(bench, hook, turn)
        assert (bench.ground.task / "generate_code" / "litter.txt").exists()
        assert _alive(bench) == []
    assert _problems_afterwards(whole) == []


def test_a_hook_before_a_call_is_asked_again_on_the_tree_that_the_call_began_with(whole: Whole) -> None:
    """The command was half done when the run was killed."""
    bench = whole.bench
    _afresh(bench)
    log = bench.ground.task / "generate_code" / "log.txt"
    process = bench.ground.start()
    until(lambda: log.exists() or process.poll() is not None, "the command has written")
    _kill(process)
    assert _problems_afterwards(whole) == []


# a hand in the workspace


@pytest.mark.parametrize(
    ("cut", "turn"),
    [
        pytest.param(Cut(At("hook", SECOND, "user:tests", 1)), SECOND, id="after the refusal of a hook"),
        pytest.param(Cut(At("look", THIRD)), THIRD, id="before the first hook"),
        pytest.param(Cut(At("hook", THIRD, "internal:code", 1)), THIRD, id="after the built-in check"),
        pytest.param(Cut(At("hook", FIRST, "user:fine", 1)), FIRST, id="between two rounds"),
        pytest.param(Cut(At("hook", THIRD, "user:fine", 1), SETTLED), THIRD, id="before the verdict"),
    ],
)
def test_a_hand_edit_after_a_kill_has_every_hook_asked_about_the_new_tree_and_costs_no_attempt(
    whole: Whole, cut: Cut, turn: int
) -> None:
    bench = whole.bench
    _cut_off(whole, cut)
    _edit(bench)
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    assert (bench.ground.task / "generate_code" / "data.py").read_text().endswith("# by hand\n")
    looks = [(row["key"]["turn"], row["key"]["look"]) for row in bench.of_kind("look")]
    assert looks == sorted([*((claim, 1) for claim in CLAIMS), (turn, 2)])
    first, second = [row["result"]["head"] for row in bench.of_kind("look") if row["key"]["turn"] == turn]
    assert first != second
    asked = [row["key"]["hook"] for row in bench.of_kind("hook") if row["key"]["look"] == 2]
    assert asked[:5] == ["internal:code", "user:tidy", "user:tests", "user:slow", "user:fine"]
    assert _count_is_right(bench)
    assert next(row["decision"] for row in _attempts(bench) if row["turn"] == turn) == "cut off"
    assert _walked_again(bench) == []


def test_a_hand_edit_after_a_kill_in_the_midst_of_a_hook_is_set_aside_and_the_user_is_told(whole: Whole) -> None:
    """Nobody can tell it from what the hook left."""
    bench = whole.bench
    _afresh(bench)
    _killed_in(bench, "tests", SECOND)
    _edit(bench)
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    (kept,) = bench.ground.task.glob("generate_code.interrupted*")
    assert f"what it left is {kept.name}" in ended.err
    assert (kept / "data.py").read_text().endswith("# by hand\n")
    assert differences(_tree(bench), whole.tree) == []


def test_a_hand_edit_after_two_kills_is_not_taken_back_to_what_an_earlier_check_began_with(whole: Whole) -> None:
    """Killed where the one verdict is recorded and its step is not over, then where the decision is recorded, too."""
    bench = whole.bench
    alone = dict.fromkeys(("tidy", "tests", "slow", "fine"))

    bench.ground.fresh()
    bench.fresh(**alone)
    for line, moment in ((whole.lines[At("look", FIRST)] + 1, AFTER), (whole.lines[At("look", FIRST)] + 2, AFTER)):
        assert _cut(bench, line, moment).code == KILLED
    assert bench.rows()[-1]["kind"] == "verdict"
    _edit(bench)
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    assert (bench.ground.task / "generate_code" / "data.py").read_text().endswith("# by hand\n")
    assert not list(bench.ground.task.glob("generate_code.interrupted*"))
    assert bench.document("acceptance.json")["stop_reason"] == "accepted"


# the exam itself


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(Cut(At("reply", 1)), id="before the first claim"),
        pytest.param(Cut(At("hook", FIRST, "user:tidy", 1)), id="when other hooks have been asked"),
    ],
)
def test_a_script_in_the_workspace_that_is_edited_after_a_kill_is_not_run_and_is_named(whole: Whole, cut: Cut) -> None:
    """The agent may have done it: a command of it can write there."""
    bench = whole.bench
    _cut_off(whole, Cut(At("base", 0), BEFORE))
    bench.move_in("tests")
    assert _gone(whole, cut).code == KILLED
    before = bench.runs()
    bench.write("tests", "exit 0", bench.inside)
    ended = bench.ground.call()
    assert ended.code == INCOMPLETE, last_words(ended)
    assert [name for name, _ in bench.runs() - before if name not in ("guard", "style")] == []
    path = ".pipeline/tests.sh"
    assert [row["files"] for row in events(bench.ground.task) if row["event"] == "hook_tampered"] == [[path]]
    assert f"{path} decides about acceptance, and is not what it was" in last_words(ended) + ended.err


def test_a_hook_that_the_user_takes_out_after_a_kill_is_not_asked_and_not_waited_for(whole: Whole) -> None:
    """Its script goes with it: that is no tampering."""
    bench = whole.bench
    _cut_off(whole, Cut(At("hook", FIRST, "user:tidy", 1)))
    bench.configure(tests=None)
    (bench.folder / "tests.sh").unlink()
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    assert ("tests", FIRST) not in bench.runs()
    assert [(row["turn"], row["look"], row["decision"]) for row in _attempts(bench)] == [
        (FIRST, 1, "cut off"),
        (FIRST, 2, "accepted"),
    ]
    assert _walked_again(bench) == []


@pytest.mark.parametrize(
    ("hook", "turn"),
    [
        pytest.param("tests", FIRST, id="at the gate"),
        pytest.param("guard", 3, id="before a call"),
        pytest.param("style", 5, id="after a call"),
    ],
)
def test_the_litter_of_a_hook_that_was_killed_is_taken_back_though_the_user_takes_the_hook_out(
    whole: Whole, hook: str, turn: int
) -> None:
    bench = whole.bench
    _afresh(bench)
    _killed_in(bench, hook, turn)
    bench.configure(**{hook: None})
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    code = bench.ground.task / "generate_code"
    assert not (code / "litter.txt").exists()
    assert "# cut off" not in (code / "decay.py").read_text()
    assert (code / "log.txt").read_text() == "one\ntwo\n"
    assert bench.runs()[hook, turn] == 1


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(Cut(At("hook", THIRD, "user:tidy", 1)), id="while others are still to be asked"),
        pytest.param(Cut(At("hook", THIRD, "user:fine", 1)), id="when all others have been asked"),
    ],
)
def test_a_hook_that_the_user_adds_after_a_kill_is_asked_before_anything_is_accepted(whole: Whole, cut: Cut) -> None:
    bench = whole.bench
    _cut_off(whole, cut)
    bench.configure(late="case $attempt in 3) echo 'one thing more' >&2; exit 2;; esac")
    ended = bench.ground.call()
    assert ended.code == 0, last_words(ended)
    assert ("late", THIRD) in bench.runs()
    decided = [(row["turn"], row["look"], row["source"], row["decision"]) for row in _attempts(bench)]
    assert decided[2:] == [
        (THIRD, 1, "", "cut off"),
        (THIRD, 2, "hook:user:late", "continued"),
        (THIRD + 1, 1, "", "accepted"),
    ]
    assert 'attempt="3" of="4" source="hook:user:late"' in bench.of_kind("verdict")[2]["result"]["feedback"]
    assert _walked_again(bench) == []


# what is done to a run


def _killed_at(whole: Whole, points: Sequence[Point]) -> list[str]:
    """Killed there, one start after the other: what is not as it should be afterwards."""
    found = []
    for number, point in enumerate(points):
        ended, odd = _watched(whole, partial(_gone, whole, point))
        found += odd
        late = number > 0 or (isinstance(point, int) and point > len(whole.events) - _MAY_BE_FEWER)
        if ended.code not in ((0, KILLED) if late else (KILLED,)):
            found.append(f"killed, it ends with {ended.code}: {last_words(ended)}")
        found += _alive(whole.bench)
    return found + _problems_afterwards(whole)


def _killed_after(whole: Whole, waits: Iterable[float]) -> list[str]:
    found = []
    for wait in waits:
        found += _watched(whole, partial(_killed_by_the_clock, whole.bench, wait))[1] + _alive(whole.bench)
    return found + _problems_afterwards(whole)


def _killed_by_the_clock(bench: Bench, wait: float) -> Ended:
    process = bench.ground.start()
    until(lambda: bool(bench.told()) or process.poll() is not None, "the first hook is asked")
    try:
        out, err = process.communicate(timeout=wait)
    except subprocess.TimeoutExpired:
        return _kill(process)
    return Ended(process.returncode, out, err)


def _killed_in(bench: Bench, hook: str, turn: int) -> None:
    """Kills the runner alone while that hook sleeps."""
    (bench.folder / "held").unlink(missing_ok=True)
    bench.hold(hook, turn)
    process = bench.ground.start()
    until(lambda: bench.held or process.poll() is not None, "the hook sleeps")
    assert bench.held, process.communicate()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def _kill(process: subprocess.Popen[str]) -> Ended:
    os.killpg(process.pid, signal.SIGKILL)
    out, err = process.communicate()
    return Ended(process.returncode, out, err)


def _gone(whole: Whole, point: Point) -> Ended:
    if isinstance(point, int):
        return launched(whole.bench.ground, point)
    return _cut(whole.bench, whole.lines[point.row], point.moment)


def _cut(bench: Bench, line: int, moment: str) -> Ended:
    """Starts it, and ends it at that moment of a line of the journal."""
    task = bench.ground.task
    places = {"journal": str(task / "journal.jsonl"), "mark": str(task / "before_command" / "taken.json")}
    return launched(bench.ground, -1, _CUT.format(line=line, moment=moment, **places))


def _cut_off(whole: Whole, cut: Cut) -> None:
    """From a fresh start to that moment."""
    _afresh(whole.bench)
    assert _gone(whole, cut).code == KILLED
    assert len(whole.bench.rows()) == whole.lines[cut.row] - (cut.moment == BEFORE)


def _afresh(bench: Bench) -> None:
    bench.ground.fresh()
    bench.fresh()


def _edit(bench: Bench) -> None:
    with (bench.ground.task / "generate_code" / "data.py").open("a") as file:
        file.write("# by hand\n")


def _at_each(whole: Whole, points: Iterable[Any], drill: Callable[[Any], list[str]]) -> None:
    """Drills at every point from a fresh start, and fails with all that was found at any of them."""
    found, tried = [], 0
    for point in points:
        _afresh(whole.bench)
        found += [f"{point}\n      {problem}" for problem in drill(point)]
        tried += 1
    assert tried, "there was nothing to drill at"
    assert not found, f"{len(found)} problems at {tried} points:\n" + "\n".join(found)


# what is looked at


def _watched(whole: Whole, start: Callable[[], Ended]) -> tuple[Ended, list[str]]:
    """A start, and which hooks were run in it though what they said was on record."""
    bench = whole.bench
    ran, recorded = bench.runs(), bench.recorded()
    ended = start()
    again = (bench.runs() - ran) - (whole.runs - recorded)
    return ended, [f"{name} of turn {turn} was on record, and ran again" for name, turn in again]


def _problems_afterwards(whole: Whole) -> list[str]:
    """Goes on after kills. The tree, the rows of the journal (the digests of the requests are in them) and the documents are
    the undisturbed ones; every hook saw the tree that it sees there, and was run as often as its verdict was not on record.
    """
    bench = whole.bench
    found = [*half_written(bench.ground), *_alive(bench)]
    ran, missing = bench.runs(), whole.runs - bench.recorded()
    ended = bench.ground.call()
    if ended.code != 0 or "Traceback" in ended.err:
        return [*found, f"going on ends with {ended.code}: {last_words(ended)}"]
    found += differences(_tree(bench), whole.tree)
    if (now := bench.runs() - ran) != missing:
        found.append(f"these hooks ran: {sorted(now.items())}, and these were to be asked: {sorted(missing.items())}")
    found += [f"a hook saw another tree, or was told of another attempt: {line}" for line in _strange(whole)]
    last = events(bench.ground.task)[-1]
    if (last["event"], last.get("reason")) != ("stop_reason_decided", "accepted"):
        found.append(f"the last event is {last}")
    return found + _alive(bench)


def _strange(whole: Whole) -> list[str]:
    return sorted(set(whole.bench.told()) ^ set(whole.told))


def _tree(bench: Bench) -> dict[str, Any]:
    """Without the logs of hooks: a hook that was cut off stands in them twice."""
    return {path: content for path, content in settled_tree(bench.ground).items() if "/hooks/" not in path}


def _walked_again(bench: Bench) -> list[str]:
    """The work is done: another start does nothing, and runs no hook."""
    before, rows = bench.told(), bench.rows()
    ended = bench.ground.call()
    odd = [] if ended.code == 0 else [f"it ends with {ended.code}: {last_words(ended)}"]
    return odd + ([] if (bench.told(), bench.rows()) == (before, rows) else ["it did something"])


def _count_is_right(bench: Bench) -> bool:
    """Each refusal is told with its own number, and a claim that was looked at twice has one."""
    told = [row["result"]["feedback"] for row in bench.of_kind("verdict") if row["result"]["feedback"]]
    return len(told) == len(REFUSALS) and all(
        f'attempt="{number}" of="4"' in text and words in text
        for number, (text, words) in enumerate(zip(told, REFUSALS, strict=True), 1)
    )


def _attempts(bench: Bench) -> list[dict[str, Any]]:
    return list(bench.document("acceptance.json")["attempts"])


def _alive(bench: Bench) -> list[str]:
    """Processes of a killed run: those that it started have a moment to end, since they notice that it is gone."""
    try:
        until(lambda: not processes_of(bench.ground.base), "every process is gone", patience=20)
    except AssertionError:
        return [f"a process is left: {words}" for words in processes_of(bench.ground.base)]
    return []


def _begins(whole: Whole) -> int:
    return next(nth for nth, line in enumerate(whole.events, 1) if "/hooks/events.jsonl" in line)


def _rows_of(whole: Whole, kind: str, turn: int) -> list[dict[str, Any]]:
    (rows,) = [content for path, content in whole.tree.items() if path.endswith("paper/journal.jsonl")]
    return [row for row in rows if row["kind"] == kind and row["key"]["turn"] == turn]


def _at(row: dict[str, Any]) -> At:
    key = row["key"]
    return At(row["kind"], key["turn"], key.get("hook", key.get("call", "")), key.get("round", 0))
