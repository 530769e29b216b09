"""A takeover leads: who then does the right work is accepted, who never does is stopped, and healthy work gets no word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from phases.supervision.enums import CorrectionKind
from tests.supervision_players import (
    FIXABLE,
    NOTES,
    RIGHT,
    TASK,
    Do,
    Played,
    Player,
    Right,
    Told,
    Wrong,
    checks,
    fail_to_find,
    find,
    finish,
    look,
    look_again,
    note,
    play,
    put,
    runs,
)

LEADING = pytest.mark.parametrize("mode", ["adaptive", "strict"])
_SOONEST, _LATEST, _LATEST_EXTENDED = 3, 12, 18
"""Turns of a takeover before a hopeless run ends: its window, its budget, its budget once extended."""


# Ways to go wrong


def known_reads(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [look(paths[step % 5])]


def one_failing_command(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [runs(f"python {paths[FIXABLE]}", error=f"{paths[FIXABLE]}: TypeError: no sum")]


def a_cycle_of_calls(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [(look(paths[0]), find("unit"), runs("ls"))[step % 3]]


def a_failing_search(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [fail_to_find("totals.py")]


def all_files_again(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [look(paths[step % 9])]


STALLS = [known_reads, one_failing_command, a_cycle_of_calls, a_failing_search, all_files_again]


def a_wrong_sum_then_the_check(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [checks if step % 2 else put(paths[FIXABLE], step)]


def a_wrong_sum_with_the_check(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [put(paths[FIXABLE], step + 1), checks]


LOOPS = [a_wrong_sum_then_the_check, a_wrong_sum_with_the_check]


def files_at_the_root(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [put(f"helper{step}.py")]


def files_in_another_folder(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [put(f"extra/helper{step}.py")]


def files_beside_the_planned(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [put(f"src/helper{step}.py")]


def squares(step: int, paths: Sequence[str]) -> Sequence[Do]:
    return [runs(f"python -c 'print({step}*{step})'", str(step * step))]


def notes_searches_and_squares(step: int, paths: Sequence[str]) -> Sequence[Do]:
    looks = (note(f"step {step}"), find(f"word{step} in vendor"), find(f"vendor/part{step}/*"))
    return [looks[step % 4]] if step % 4 < 3 else squares(step, paths)


DRIFTS = [files_at_the_root, files_in_another_folder, files_beside_the_planned, squares, notes_searches_and_squares]
LONG = replace(TASK, planned_files=(*TASK.planned_files, *(f"src/part{number}.py" for number in range(11))))
"""A plan of more files than a takeover has turns."""
RIGHT_PATH = TASK.planned_files[FIXABLE]
_BEFORE = 3
"""Planned files that are written before a drift begins."""

hopeless = [*(Player(wrong) for wrong in STALLS), *(Player(wrong, written=5) for wrong in LOOPS)]
hopeless += [Player(wrong, written=_BEFORE) for wrong in DRIFTS]


def named(player: Player) -> str:
    return getattr(player.wrong, "__name__", "")


# The right work, from the text of the takeover


def mends_at_once(text: str, paths: Sequence[str]) -> Sequence[Sequence[Do]]:
    return finish(paths, opened=5)


def reads_what_the_text_names(text: str, paths: Sequence[str]) -> Sequence[Sequence[Do]]:
    return [[look(next((path for path in paths if path in text), paths[FIXABLE]))], *finish(paths, opened=5)]


def reads_eight_files_in_one_turn(text: str, paths: Sequence[str]) -> Sequence[Sequence[Do]]:
    return [[look(path) for path in paths[:8]], *finish(paths, opened=5)]


def reads_eight_files_in_four_turns(text: str, paths: Sequence[str]) -> Sequence[Sequence[Do]]:
    return [*([look(paths[at]), look(paths[at + 1])] for at in range(0, 8, 2)), *finish(paths, opened=5)]


RIGHTS = [mends_at_once, reads_what_the_text_names, reads_eight_files_in_one_turn, reads_eight_files_in_four_turns]


def assert_led_to_the_end(played: Played, patience: int) -> None:
    assert played.led
    assert played.end == "accepted"
    assert [turn for turn in played.kept_back if turn >= played.led + patience] == []
    assert played.led < played.handed_back < played.accepted


def assert_stopped(played: Played, latest: int = _LATEST) -> None:
    assert played.led
    assert _SOONEST <= played.stopped - played.led <= latest


# A takeover of a stall gets its chance


@LEADING
@pytest.mark.parametrize("wrong", STALLS)
@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("patience", [1, 2, 3])
def test_who_does_the_right_work_soon_after_a_takeover_reaches_the_end(
    patience: int, right: Right, wrong: Wrong, mode: str
) -> None:
    assert_led_to_the_end(play(Player(wrong, right, patience), mode), patience)


@LEADING
@pytest.mark.parametrize("wrong", STALLS)
def test_a_stall_that_goes_on_after_a_takeover_ends_within_its_budget(wrong: Wrong, mode: str) -> None:
    assert_stopped(play(Player(wrong), mode))


@LEADING
@pytest.mark.parametrize("wrong", LOOPS)
def test_a_failing_check_that_is_mended_in_a_takeover_is_accepted_and_else_stopped(wrong: Wrong, mode: str) -> None:
    assert_led_to_the_end(play(Player(wrong, mends_at_once, written=5), mode), 1)
    assert_stopped(play(Player(wrong, written=5), mode))


@LEADING
def test_reading_what_the_conversation_no_longer_shows_is_news(mode: str) -> None:
    again = play(Player(lambda step, paths: [look_again(paths[step % 9])]), mode, turns=22)
    assert (again.word, again.kept_back, again.stall) == (0, [], 0)
    assert play(Player(all_files_again), mode, turns=28).word, "what it still shows is known"


def obeys(told: Told) -> Sequence[Do]:
    """Write five of twenty files with a wrong sum, mend it wrongly until it is led, then do only what it is told."""
    begun = [[put(path)] for path in LONG.planned_files[:5]]
    if len(told) < len(begun):
        return begun[len(told)]
    orders = [
        text.text.rpartition("Next: ")[2] for texts in told for text in texts if text.kind is CorrectionKind.TAKEOVER
    ]
    if not orders:
        return [put(RIGHT_PATH, len(told)), checks]
    if orders[-1].startswith("write "):
        return [put(orders[-1].split()[1].rstrip(","), 1)]
    return [checks] if orders[-1].startswith("run ") else [put(RIGHT_PATH, RIGHT)]


@LEADING
def test_who_does_no_more_than_the_block_says_is_handed_back_whatever_is_still_to_be_written(mode: str) -> None:
    played = play(obeys, mode, LONG, turns=40)
    assert (played.handed_back > played.led > 0, played.stopped) == (True, 0)
    assert played.handed_back - played.led <= _LATEST


@LEADING
def test_a_check_that_fails_for_want_of_files_is_no_reason_to_lead_on(mode: str) -> None:
    def writes(told: Told) -> Sequence[Do]:
        led = any(text.kind is CorrectionKind.TAKEOVER for texts in told for text in texts)
        first = [[put(path)] for path in LONG.planned_files[:3]] + [[checks]]
        if len(told) < len(first):
            return first[len(told)]
        at = sum(any(text.kind is CorrectionKind.TAKEOVER for text in texts) for texts in told)
        return [put(LONG.planned_files[2 + at], 1)] if led else squares(len(told), LONG.planned_files)

    played = play(writes, mode, LONG, turns=20)
    assert 0 < played.led < played.handed_back <= played.led + 5


# Strict is not weaker than adaptive


@pytest.mark.parametrize("player", hopeless, ids=named)
def test_strict_speaks_leads_and_stops_no_later_than_adaptive(player: Player) -> None:
    adaptive, strict = play(player, "adaptive", turns=90), play(player, "strict", turns=90)
    assert 0 < strict.word <= adaptive.word
    assert 0 < strict.led <= adaptive.led
    assert 0 < strict.stopped <= adaptive.stopped


def test_strict_begins_with_a_graph_and_its_floor_and_adaptive_with_neither() -> None:
    strict, adaptive = (play(Player(squares), mode, turns=5) for mode in ("strict", "adaptive"))
    assert (strict.graph, strict.forced) == (1, 1)
    assert (adaptive.graph, adaptive.forced) == (0, 0)


@pytest.mark.parametrize("player", hopeless, ids=named)
def test_off_says_and_keeps_back_nothing_and_ends_no_run(player: Player) -> None:
    played = play(player, "off")
    assert (played.texts, played.kept_back, played.led, played.end) == ([], [], 0, "goes on")


# Drift is seen wherever it happens


@LEADING
@pytest.mark.parametrize("wrong", DRIFTS)
def test_a_drift_gets_one_word_within_six_rounds_that_names_the_next_open_file_and_is_then_led(
    wrong: Wrong, mode: str
) -> None:
    played = play(Player(wrong, written=_BEFORE), mode)
    (turn, text), *more = [(at, text) for at, text in played.words if at < played.led]
    assert more == []
    assert _BEFORE < turn <= _BEFORE + 6
    assert TASK.planned_files[_BEFORE] in text


@LEADING
@pytest.mark.parametrize("heeds", [CorrectionKind.RECOVERY, CorrectionKind.TAKEOVER])
@pytest.mark.parametrize("wrong", DRIFTS)
def test_who_writes_the_planned_files_after_a_drift_is_accepted(wrong: Wrong, heeds: CorrectionKind, mode: str) -> None:
    player = Player(wrong, lambda text, paths: finish(paths, opened=_BEFORE), written=_BEFORE, heeds=[heeds])
    played = play(player, mode)
    if heeds is CorrectionKind.TAKEOVER:
        assert_led_to_the_end(played, 1)
    assert (played.end, bool(played.led)) == ("accepted", heeds is CorrectionKind.TAKEOVER)


@LEADING
@pytest.mark.parametrize("wrong", DRIFTS)
def test_a_drift_that_goes_on_after_its_takeover_is_stopped(wrong: Wrong, mode: str) -> None:
    assert_stopped(play(Player(wrong, written=_BEFORE), mode), _LATEST_EXTENDED)


# Healthy work gets no word


def planned_files_with_their_check(paths: Sequence[str]) -> list[Sequence[Do]]:
    return [turn for path in paths[_BEFORE:-1] for turn in ([put(path)], [checks])]


def new_tests_in_any_directory(paths: Sequence[str]) -> list[Sequence[Do]]:
    places = "tests/test_a.py src/test_b.py src/total_test.py test_c.py checks/tests/deep.py test/d.py tests/e/f.py"
    return [[put(path)] for path in places.split()]


def debugging_of_planned_files(paths: Sequence[str]) -> list[Sequence[Do]]:
    commands = (
        "python -c 'from src.total import total; print(total([{0}]))'",
        "python src/total.py --count {0}",
        "python -c 'import src.total; print(src.total.total([{0}]))'",
        "head -{0} src/data.py",
        "cd src && python -m total {0}",
    )
    return [[runs(commands[at % 5].format(at), str(at))] for at in range(10)]


def reading_what_is_there(paths: Sequence[str]) -> list[Sequence[Do]]:
    return [[look(f"docs/part{at}.md")] for at in range(8)]


def a_helper_script_and_the_check(paths: Sequence[str]) -> list[Sequence[Do]]:
    return [[put("scripts/probe.py")], [runs("python scripts/probe.py", "12")], [checks]]


def a_few_rounds_elsewhere_between_planned_files(paths: Sequence[str]) -> list[Sequence[Do]]:
    return [[put(paths[_BEFORE + at // 5])] if at % 5 == 4 else squares(at, paths) for at in range(15)]


HEALTHY = [
    planned_files_with_their_check,
    new_tests_in_any_directory,
    debugging_of_planned_files,
    reading_what_is_there,
    a_helper_script_and_the_check,
    a_few_rounds_elsewhere_between_planned_files,
]


@LEADING
@pytest.mark.parametrize("healthy", HEALTHY)
def test_healthy_work_gets_no_word_and_is_accepted(
    healthy: Callable[[Sequence[str]], list[Sequence[Do]]], mode: str
) -> None:
    paths = TASK.planned_files
    first = [] if healthy is reading_what_is_there else [[put(path, RIGHT)] for path in paths[:_BEFORE]]
    turns = [*first, *healthy(paths), *([put(path, RIGHT)] for path in paths[len(first) :]), [checks], []]
    played = play(lambda told: turns[len(told)] if len(told) < len(turns) else [], mode)
    assert (played.texts, played.kept_back, played.led, played.end) == ([], [], 0, "accepted")


# One rule for a takeover


@LEADING
@pytest.mark.parametrize("wrong", [known_reads, a_failing_search, a_wrong_sum_then_the_check])
def test_a_plan_of_prose_is_led_and_stopped_by_the_same_rule(wrong: Wrong, mode: str) -> None:
    assert_led_to_the_end(play(Player(wrong, mends_at_once, written=5, task=NOTES), mode, NOTES), 1)
    assert_stopped(play(Player(wrong, written=5, task=NOTES), mode, NOTES))


def test_who_has_written_nothing_yet_is_told_of_a_drift_and_given_time() -> None:
    played = play(Player(squares, written=0), "adaptive")
    assert [turn for turn, _ in played.words if turn < played.led] == [5, 10]
    assert played.led == 12
    assert play(Player(squares, written=1), "adaptive").led == 1 + 7
