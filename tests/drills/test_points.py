"""The points of drills: chosen by the commit, repeatable by name, and all of them in `make drills`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills import points

POINTS = [f"call {number}" for number in range(100)]


@pytest.fixture(autouse=True)
def _forgotten_seed() -> Iterator[None]:
    points.seed.cache_clear()
    yield
    points.seed.cache_clear()


def test_a_drill_of_few_points_names_the_seed_that_repeats_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = points.sample(POINTS, 5)
    told = capsys.readouterr().out
    assert "5 of 100 points" in told
    monkeypatch.setenv("DRILL_SEED", told.split("'")[1])
    points.seed.cache_clear()
    assert points.sample(POINTS, 5) == chosen


def test_another_seed_chooses_other_points_and_keeps_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seed in ("one", "two"):
        monkeypatch.setenv("DRILL_SEED", seed)
        points.seed.cache_clear()
        found.append(points.sample(POINTS, 10))
    assert found[0] != found[1]
    assert all(chosen == sorted(chosen, key=POINTS.index) and len(set(chosen)) == 10 for chosen in found)


def test_without_a_repository_the_choice_is_a_constant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DRILL_SEED", raising=False)
    monkeypatch.setattr(points, "ROOT", tmp_path)
    assert points.seed() == points.NO_COMMIT


def test_no_more_points_than_there_are_can_be_chosen() -> None:
    assert points.sample(POINTS[:3], 5) == POINTS[:3]
    assert points.sample([], 5) == []


@pytest.mark.parametrize("count", [1, 7, 100, 120])
def test_all_shares_together_try_every_point_once(count: int) -> None:
    tried = [point for share in points.all_shares(count, 5, every=True) for point in share.of(POINTS)]
    assert sorted(tried, key=POINTS.index) == POINTS


def test_one_share_tries_a_few_points() -> None:
    (share,) = points.all_shares(120, 5, every=False)
    assert len(share.of(POINTS)) == 5
