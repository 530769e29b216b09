"""Stamps: why a phase must run again, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engine.contract import Contracts
from pipeline.engine.phase import Context, Documents, Phase
from pipeline.engine.stamps import (
    DONE,
    FINISHED,
    Stamp,
    find_edited_outputs,
    is_of_older_edition,
    stale_reason,
    stamps_from,
    stamps_to,
)
from tests.strategies import QUICK

NOW = {"a.json": "a" * 64, "b.json": "b" * 64, "x.json": "1" * 64, "y.json": "2" * 64}


def nothing(inputs: Documents, ctx: Context) -> Documents:
    return {}


def phase(
    *, reads: tuple[str, ...] = ("a.json",), writes: tuple[str, ...] = ("x.json",), version: int = 1, **more: Any
) -> Phase:
    return Phase(number="03", name="toy", reads=reads, writes=writes, run=nothing, version=version, **more)


def stamp(**changes: Any) -> Stamp:
    """The stamp of a phase that is up to date."""
    fresh: dict[str, Any] = {
        "name": "toy",
        "status": DONE,
        "attempts": 1,
        "settings": {"mode": "fast"},
        "read": {"a.json": NOW["a.json"]},
        "written": {"x.json": NOW["x.json"]},
    }
    return Stamp(**{**fresh, **changes})


def reason(
    of: Phase,
    with_stamp: Stamp | None,
    *,
    settings: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
) -> str | None:
    now = {**{name: digest for name, digest in NOW.items() if name not in without}, **dict.fromkeys(changed, "f" * 64)}
    return stale_reason(of, with_stamp, {"mode": "fast"} if settings is None else settings, now.get)


def test_a_phase_of_which_nothing_changed_is_up_to_date() -> None:
    assert reason(phase(), stamp()) is None


def test_what_an_older_edition_made_is_up_to_date_and_known_as_such() -> None:
    newer, made = phase(edition=2), stamp()
    assert made.edition == 1, "the stamps of before have none"
    assert reason(newer, made) is None
    assert is_of_older_edition(newer, made)
    assert not is_of_older_edition(newer, made._replace(edition=2))
    assert not is_of_older_edition(newer, made._replace(status="skipped"))


@pytest.mark.parametrize("status", FINISHED)
def test_a_finished_phase_is_up_to_date_however_it_finished(status: str) -> None:
    assert reason(phase(), stamp(status=status)) is None


@pytest.mark.parametrize(
    ("left", "words"),
    [
        pytest.param(None, "never ran", id="no stamp"),
        pytest.param(Stamp("toy"), "never ran", id="a stamp of a phase that never began"),
        pytest.param(stamp(status="running"), "never finished", id="a crash while it ran"),
        pytest.param(stamp(status="failed", error="no paper"), "never finished: no paper", id="a failure"),
        pytest.param(stamp(status="stopped", error="signal 2"), "never finished: signal 2", id="an interruption"),
        pytest.param(stamp(status="redo", error="asked to redo"), "never finished: asked to redo", id="a redo"),
        pytest.param(stamp(status="pending"), "never finished", id="a phase that waits after an attempt"),
    ],
)
def test_a_phase_that_never_finished_says_so(left: Stamp | None, words: str) -> None:
    assert reason(phase(), left) == words


@pytest.mark.parametrize(
    ("of", "left", "settings", "words"),
    [
        pytest.param(phase(version=3), stamp(version=2), None, "version changed from 2 to 3", id="a newer version"),
        pytest.param(phase(), stamp(version=2), None, "version changed from 2 to 1", id="an older version"),
        pytest.param(phase(), stamp(), {"mode": "full"}, "mode changed from fast to full", id="another mode"),
        pytest.param(
            phase(),
            stamp(settings={"mode": "fast", "model": "a"}),
            {"mode": "fast", "model": "b"},
            "model changed from a to b",
            id="another model",
        ),
        pytest.param(
            phase(), stamp(), {"mode": "fast", "limit": 3}, "limit changed from nothing to 3", id="a setting more"
        ),
        pytest.param(phase(), stamp(), {}, "mode changed from fast to nothing", id="a setting less"),
        pytest.param(phase(), stamp(), {"mode": "fast", "ocr": ""}, None, id="a later setting that is empty"),
        pytest.param(phase(reads=("a.json", "b.json")), stamp(), None, "it now reads b.json too", id="an input more"),
        pytest.param(
            phase(writes=("x.json", "y.json")), stamp(), None, "it now writes y.json too", id="an output more"
        ),
    ],
)
def test_a_phase_that_is_another_now_says_in_what(
    of: Phase, left: Stamp, settings: Mapping[str, Any] | None, words: str
) -> None:
    assert reason(of, left, settings=settings) == words


def test_an_input_that_changed_is_named() -> None:
    assert reason(phase(), stamp(), changed=("a.json",)) == "a.json changed"


def test_an_input_that_is_missing_is_named() -> None:
    assert reason(phase(), stamp(), without=("a.json",)) == "a.json is missing"


def test_an_output_that_is_missing_is_named() -> None:
    assert reason(phase(), stamp(), without=("x.json",)) == "x.json is missing"


def test_a_file_of_a_folder_that_is_missing_is_named() -> None:
    of = phase(writes=("x.json", "code/"))
    left = stamp(written={"x.json": NOW["x.json"], "code/a.py": "c" * 64})
    assert reason(of, left) == "code/a.py is missing"
    assert stale_reason(of, left, {"mode": "fast"}, {**NOW, "code/a.py": "c" * 64}.get) is None


def test_an_output_that_was_edited_is_no_reason_and_is_named_as_edited() -> None:
    assert reason(phase(), stamp(), changed=("x.json",)) is None
    assert find_edited_outputs(stamp(), {**NOW, "x.json": "f" * 64}.get) == ("x.json",)
    assert find_edited_outputs(stamp(), NOW.get) == ()


def test_an_input_that_is_no_longer_read_does_not_count() -> None:
    left = stamp(read={"a.json": NOW["a.json"], "old.json": "0" * 64})
    assert reason(phase(), left) is None


def test_the_first_reason_is_the_one_that_tells_most() -> None:
    left = stamp(version=2, settings={"mode": "full"}, read={"a.json": "0" * 64})
    assert reason(phase(), left, without=("x.json",)) == "version changed from 2 to 1"
    assert reason(phase(), stamp(settings={"mode": "full"}), changed=("a.json",)) == "mode changed from full to fast"


_digests = st.dictionaries(st.sampled_from(sorted(NOW)), st.sampled_from(sorted({*NOW.values()})), max_size=3)
_stamps = st.builds(
    Stamp,
    name=st.just("toy"),
    status=st.sampled_from((*FINISHED, "running", "failed", "stopped", "redo", "pending")),
    attempts=st.integers(0, 3),
    version=st.integers(1, 3),
    edition=st.integers(1, 3),
    settings=st.dictionaries(st.sampled_from(("mode", "model")), st.sampled_from(("a", 1, True, None)), max_size=2),
    read=_digests,
    written=_digests,
    edited=st.lists(st.sampled_from(sorted(NOW)), max_size=2, unique=True).map(tuple),
    started=st.sampled_from((None, "2026-01-31T12:00:00.000Z")),
    seconds=st.floats(0, 1e6),
    error=st.sampled_from((None, "why")),
)


@pytest.mark.slow
@QUICK
@given(st.dictionaries(st.sampled_from(("00", "05", "05b", "09")), _stamps, max_size=4))
def test_stamps_come_back_from_a_state_file_that_keeps_its_schema(stamps: dict[str, Stamp]) -> None:
    contracts = Contracts()
    data = contracts.serialise("state.json", stamps_to(stamps), writer="the test")
    assert stamps_from(contracts.parse("state.json", data, writer="the test")) == stamps


@pytest.mark.slow
@QUICK
@given(_stamps, st.sampled_from(("a", 1, True, None)), st.integers(1, 3))
def test_up_to_date_means_finished_and_all_the_same(left: Stamp, mode: Any, version: int) -> None:
    of, settings = phase(version=version), {"mode": mode}
    words = stale_reason(of, left, settings, NOW.get)
    same = (
        left.status in FINISHED
        and left.version == version
        and {name: left.settings.get(name) for name in ("mode", "model")} == {"mode": mode, "model": None}
        and left.read.get("a.json") == NOW["a.json"]
        and "x.json" in left.written
    )
    assert (words is None) == same, words
    assert words is None or (words and "\n" not in words)
