"""Code is changed for one job alone, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.evidence.inside.mutation_worker import _run_changed


def test_a_file_that_cannot_be_changed_leaves_the_others_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 1\n")
    sources = {"a.py": "x = 2\n", "b.py": "y = '\ud800'\n"}  # half a pair has no UTF-8
    job = {"job": 1, "sources": sources, "tests": [], "seconds": 1}
    with pytest.raises(UnicodeEncodeError):
        _run_changed(job, str(tmp_path))
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()) == ("x = 1\n", "y = 1\n")
