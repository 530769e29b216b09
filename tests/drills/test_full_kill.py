"""Full mode on real papers with mirrors of what they link: killed in every phase, and resumed to the same documents."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.cli.test_full_mode import documents, inodes, killed_in, repository, whole_ones
from tests.drills.points import chosen
from tests.papers import NUMBERS, SHARED, Command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine"),
    pytest.mark.skipif(not SHARED.is_dir(), reason="the real papers are not on this machine"),
]
PAPERS = ("pb_lbcs", "pb_rice")
PHASES = NUMBERS[1:]


@pytest.fixture(scope="module", params=PAPERS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Command]:
    """A real paper, a mirror of every repository that it links, and an unkilled run on both."""
    base, source = tmp_path_factory.mktemp("whole"), SHARED / f"{request.param}.pdf"
    command, mirror = Command(base), base / "mirror"
    mirror.mkdir()
    command("run", "--full", source, "--id", "paper", "--mirror", mirror, "--until", "06")
    found = yaml.safe_load((command.task("paper") / "reference.txt").read_text(encoding="utf-8"))["repositories"]
    links = [row["url"] for row in found if row["fetch"]]
    assert len(links) >= 2, links
    for url in links:
        repository(mirror, url.removeprefix("https://"))
    ended = command("resume", "paper", "--redo", "07")
    assert ended.code == 3, ended.err
    assert len(command.document("paper", "code_base.json")["repositories"]) == min(len(links), 8)
    return source, mirror, command


@pytest.mark.parametrize("phase", chosen(PHASES, 2))
def test_a_real_paper_killed_in_a_phase_ends_in_the_same_documents_and_fetches_nothing_twice(
    whole: tuple[Path, Path, Command], tmp_path: Path, phase: str
) -> None:
    source, mirror, unkilled = whole
    command = Command(tmp_path)
    with command.start("run", "--full", source, "--id", "paper", "--mirror", mirror) as process:
        killed_in(command, process, phase)
    before = whole_ones(command)
    ended = command("resume", "paper")
    assert ended.code == 3, ended.err
    assert documents(command) == documents(unkilled)
    after = inodes(command)
    assert {name: after[name] for name in before} == before
