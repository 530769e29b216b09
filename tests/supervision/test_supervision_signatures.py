"""What two results are compared by: the same failure has one digest, and another result has another."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phases.supervision.signatures import (
    failures_of_check,
    has_passed,
    normalize_text,
    summarize_check,
    summarize_result,
)

LONG = "".join(f"step {number}: loss 0.{number}\n" for number in range(2000))


def digest(text: str, *, failed: bool) -> str:
    return summarize_result(text, failed=failed, check=False).digest


POLLED = [
    pytest.param("12 s elapsed", "13 s elapsed", id="a duration"),
    pytest.param("3 of 10 files", "4 of 10 files", id="a count"),
    pytest.param("00:00:12 running", "00:00:13 running", id="a clock"),
    pytest.param("step:12", "step:13", id="a count that looks like a line"),
    pytest.param("line 4 of 9 read", "line 5 of 9 read", id="a line"),
]


@pytest.mark.parametrize(("before", "after"), POLLED)
def test_what_did_not_fail_and_goes_on_says_something_new(before: str, after: str) -> None:
    assert digest(before, failed=False) != digest(after, failed=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("<Model at 0x7f12ab>", "<Model at 0x7e00cd>", id="an address"),
        pytest.param("2026-01-02 10:11:12,5 ready", "2026-01-03T00:01:02Z ready", id="a date"),
    ],
)
@pytest.mark.parametrize("failed", [True, False], ids=["failed", "ended well"])
def test_addresses_and_dates_never_make_a_result_another_one(before: str, after: str, failed: bool) -> None:
    assert digest(before, failed=failed) == digest(after, failed=failed)


@pytest.mark.parametrize("long", [False, True], ids=["a short one", "a long one"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("1 failed in 0.12s", "1 failed in 10.3s", id="a duration"),
        pytest.param("10:00:01 Error: x", "11:12:13 Error: x", id="a clock"),
        pytest.param("a.py:3: ValueError", "a.py:12:4: ValueError", id="a place"),
        pytest.param('File "a.py", line 3\nKeyError', 'File "a.py", line 14\nKeyError', id="a line"),
    ],
)
def test_a_failure_is_the_same_at_another_time_and_place(before: str, after: str, long: bool) -> None:
    around = LONG if long else ""
    assert summarize_result(around + before, failed=True, check=True) == summarize_result(
        around + after, failed=True, check=True
    )


@pytest.mark.parametrize("long", [False, True], ids=["a short one", "a long one"])
@pytest.mark.parametrize(
    ("before", "after"),
    [("2 failed, 3 passed", "1 failed, 4 passed"), ("KeyError: 'a'", "KeyError: 'b'"), ("exit 1", "exit 2")],
)
def test_a_failure_that_says_something_else_is_another_one(before: str, after: str, long: bool) -> None:
    around = LONG if long else ""
    assert digest(around + before, failed=True) != digest(around + after, failed=True)


def test_what_differs_in_the_middle_of_a_long_failure_makes_it_another_one_but_for_its_numbers() -> None:
    one, other, later = (f"{LONG}{middle}\n{LONG}" for middle in ("reads a.csv", "reads b.csv", "reads a.csv 0x12 9.5"))
    assert digest(one, failed=True) != digest(other, failed=True)
    assert digest(LONG.replace("loss 0.5", "loss 17"), failed=True) == digest(LONG, failed=True)
    assert digest(later.replace("0x12 9.5", "0xff 12"), failed=True) == digest(later, failed=True)


def test_a_failure_is_told_by_its_lines_and_a_success_by_none() -> None:
    text = "collected 2 items\nFAILED test_b in 0.2s\nFAILED test_a in 0.1s\n2 failed\n"
    told = summarize_result(text, failed=True, check=True)
    assert told.failures == ("<n> failed", "FAILED test_a in <duration>", "FAILED test_b in <duration>")
    assert told.error == told.failures[0]
    assert summarize_result(text, failed=True, check=False) == told._replace(failures=())
    assert summarize_result(text, failed=False, check=True)[1:] == ("", ())


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        pytest.param(f"FAILED at the head\n{LONG}", ("FAILED at the head",), id="the head"),
        pytest.param(f"{LONG}FAILED at the end\n", ("FAILED at the end",), id="the end"),
        pytest.param(f"{LONG}FAILED in between\n{LONG}killed", ("killed",), id="nothing but the middle"),
        pytest.param(f"{'x' * 9000}\n", ("x" * 160,), id="one line that never ends"),
        pytest.param("\n" * 9000, (), id="nothing at all"),
        pytest.param(f"{LONG}\n  killed  \n\n", ("killed",), id="a last word"),
    ],
)
def test_of_a_long_failure_both_ends_are_read(text: str, failures: tuple[str, ...]) -> None:
    told = summarize_result(text, failed=True, check=True)
    assert (told.failures, told.error) == (failures, (*failures, "")[0])


def test_a_line_that_is_cut_is_not_read() -> None:
    """Where it is cut differs from run to run."""
    lines = "".join(f"FAILED test_{'x' * 140}_{number:04}\n" for number in range(60))
    told = summarize_result(f"{lines}1 failed in 0.12s", failed=True, check=True).failures
    assert told[0] == "<n> failed in <duration>"
    assert {len(line) for line in told[1:]} == {157}


TEXTS = st.lists(
    st.sampled_from(
        ["0x1f", "x0xab", " 12.5 s", "3 ms", "12:00:01", "2026-01-02T10:11:12Z", " ", "a.py:3:4", "line 4", "error",
         "xline 4", "-", "1", "23", "\n", "a", "é", "\ud800", "٣", " 5 seconds", "2026-01-02", "FAILED ", "y" * 5000]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.slow
@given(TEXTS, st.booleans(), st.booleans())
@example("", True, True)
@settings(max_examples=150, deadline=None)
def test_any_text_is_told_in_small_pieces_and_always_in_the_same_way(text: str, failed: bool, check: bool) -> None:
    told = summarize_result(text, failed=failed, check=check)
    assert told == summarize_result(text, failed=failed, check=check)
    assert (len(told.digest), len(told.error) <= 200, len(told.failures) <= 50) == (16, True, True)
    assert all("\n" not in line and 0 < len(line) <= 160 for line in told.failures)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("at 0xAf9 and x0xAf9", "at <address> and x0xAf9"),
        ("2026-01-02", "<time>"),
        ("2026-01-02 10:11:12.5+02:00 up", "<time> up"),
        ("10:11:12,123 x", "<time> x"),
        ("in 1.5 s, 3ms, 20 µs, 9 ns, 4us, 2 seconds, 5 minutes", "in " + ", ".join(["<duration>"] * 7)),
        ("v1.5s 3 steps 12sx", "v1.<duration> 3 steps 12sx"),
        ("a.py:3:4 f():5 ' :6", "a.py:<line> f():<line> ' :6"),
        ("line 4, xline 4, line 4b", "line <line>, xline 4, line 4b"),
    ],
)
def test_times_addresses_and_places_are_left_out(text: str, without: str) -> None:
    assert normalize_text(text) == without


# What a check says

UNITTEST = "{0}\nFAIL: test_x (test_a.T.test_x)\n{0}\nERROR: test_b (unittest.loader._FailedTest.test_b)\nRan 4 tests in {1}\n\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("FAILED a.py::test_x - assert 0.51 == 2", "FAILED a.py::test_x - assert 0.77 == 2", id="a value"),
        pytest.param("FAILED a.py::test_x - 1", "a.py::test_x FAILED  [ 50%]", id="the other form of pytest"),
        pytest.param("FAILED a.py::t - 1\nFAILED b.py::t", "FAILED b.py::t\nFAILED a.py::t - 2", id="another order"),
        pytest.param("\x1b[31mFAILED\x1b[0m a.py::t", "FAILED a.py::t", id="colours"),
        pytest.param("ERROR a.py - KeyError: 17", "ERROR a.py - KeyError: 18", id="a file that cannot be collected"),
        pytest.param(UNITTEST.format("=" * 70, "0.1s"), UNITTEST.format("-" * 70, "7.1s"), id="unittest"),
        pytest.param("loss 0.53 failed the bound 1e-3", "loss 0.61 failed the bound 2e-4", id="no test by name"),
        pytest.param("error in /tmp/tmpab12/x.csv", "error in /tmp/tmpzz99/y.csv", id="a temporary file"),
        pytest.param("Error: job 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "Error: job 6fa459ea-ee8a-3ca4-894e-db77e160355e",
                     id="a uuid"),
        pytest.param("Error: <M at 0x7f01>, seed=12", "Error: <M at 0x7e99>, seed=99", id="an address and a seed"),
        pytest.param("10:00:01 Error after 3 min", "23:59:59 Error after 14 min", id="a clock"),
    ],
)  # fmt: skip
def test_the_same_tests_that_fail_are_the_same_failure(before: str, after: str) -> None:
    assert failures_of_check(before) == failures_of_check(after)
    assert summarize_check(f"some output\n{before}") == summarize_check(f"other output\n{after}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("FAILED a.py::test_1", "FAILED a.py::test_2", id="a digit of the name"),
        pytest.param("FAILED a.py::t[0.5]", "FAILED a.py::t[1.5]", id="another parameter"),
        pytest.param("FAILED a.py::t\nFAILED a.py::u", "FAILED a.py::t", id="fewer"),
        pytest.param("FAILED a.py::t\n9 failed", "FAILED a.py::t\n8 failed", id="fewer than are shown"),
        pytest.param("FAILED (failures=3, errors=1)", "FAILED (failures=2, errors=1)", id="nothing but a count"),
        pytest.param("ERROR a.py - No module named 'x'", "ERROR a.py - No module named 'y'", id="another missing module"),
        pytest.param("\n".join(f"FAILED a.py::t{at:03}" for at in range(90)),
                     "\n".join(f"FAILED a.py::t{at:03}" for at in range(80)), id="more than are kept"),
    ],
)  # fmt: skip
def test_other_tests_or_fewer_that_fail_are_another_failure(before: str, after: str) -> None:
    assert failures_of_check(before) != failures_of_check(after)
    assert summarize_check(before).digest != summarize_check(after).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 failed, 3 passed in … s", False),
        ("== 1 error in 0.2s ==", False),
        ("FAILED (failures=1)", False),
        ("Traceback (most recent call last):\n  x\nValueError: bad", False),
        ("test result: FAILED. 1 passed; 2 failed; 0 ignored", False),
        ("5 passed, 1 xfailed, 2 warnings in 0.1s", True),
        ("tests/test_error_of.py ....\n4 passed", True),
        ("Ran 3 tests in 0.1s\n\nOK", True),
        ("test result: ok. 3 passed; 0 failed", True),
        ("0 passed", None),
        ("exit code 0\n", None),
        ("loss 0.3", None),
    ],
)
def test_how_a_check_ended_is_read_from_its_output_where_that_says_it(text: str, said: bool | None) -> None:
    assert has_passed(text) is said


@pytest.mark.slow
@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_any_output_of_a_check_is_told_in_few_short_lines(text: str) -> None:
    told = summarize_check(text)
    assert told == summarize_check(text)
    assert len(told.failures) <= 50
    assert all("\n" not in line and 0 < len(line) <= 160 for line in told.failures)
