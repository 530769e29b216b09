"""Why a run of the agent ended, as the guide says it and as the screen does."""

from __future__ import annotations

import pytest

from phases.acceptance.stop_reasons import ACCEPTED, STATUS, describe_reason
from tests.papers import ROOT


@pytest.mark.parametrize("reason", sorted(set(STATUS) - {ACCEPTED}))
def test_the_guide_has_the_words_of_the_screen_beside_the_code(reason: str) -> None:
    rows = [line for line in (ROOT / "docs" / "guide.md").read_text().splitlines() if f"(`{reason}`)" in line]
    (row,) = [row for row in rows if row.startswith(f"| {describe_reason(reason)} (")]
    assert f"| `{STATUS[reason]}`, " in row
