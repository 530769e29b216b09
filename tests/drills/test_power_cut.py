"""Drills 5 to 8: a power cut after any step of a run. What the user was told is done is still done, or its loss is noticed.

The steps of a run are replayed into every state that a disk may keep (tests/drills/power.py). In each: no document is half
written, what was called done is there or is named, and the run goes on to the very tree of a run that nothing happened to.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.cli.assembly import open_task_directory
from pipeline.engine.settings import Settings
from tests.drills import scenes
from tests.drills.aftermath import Reference, last_words
from tests.drills.faults import mount
from tests.drills.ground import COMMAND, Ground
from tests.drills.points import Share, sample, seed, shares
from tests.drills.power import MODELS, Disk, Step, record
from tests.drills.trees import differences, tree_of

pytestmark = pytest.mark.slow

_DONE = re.compile(rb"^  (\d\d\w?)  .* done$", re.MULTILINE)
CUTS = 180
"""Moments of a run at which the power goes; each has a state for each model."""


class State(NamedTuple):
    """What a power cut left."""

    model: str
    step: int
    told: frozenset[str]
    """The phases that the user was told are done."""


@dataclass
class Tally:
    """What became of the states, in numbers for docs/benchmarks.md."""

    tried: dict[str, int]
    lost: list[str]


def _fast(base: Path) -> Ground:
    return scenes.paper(base, tools=False)


def _agent(base: Path) -> Ground:
    ground = scenes.recorded(base)
    return replace(ground, arguments=(*ground.arguments, "--unsandboxed"))


def _full(base: Path) -> Ground:
    (base / "ours" / "encoders").mkdir(parents=True)
    (base / "ours" / "encoders" / "model.py").write_text("SIZE = 1\n")
    words = ("run", "--full", "paper.md", "--references", str(base / "ours"), "--unsandboxed", "--review", "auto")
    return Ground(base, arguments=words, text=scenes.PAPER)


def _states(steps: list[Step], start: Path, into: Path, share: Share) -> Iterator[State]:
    """Yield each different state of a share of the cuts, left in `into` while the caller looks at it."""
    disk, chance, told = Disk(start), random.Random(seed()), set[str]()
    seen: set[str] = set()
    points = [place for place, step in enumerate(steps) if step.name != "told"]
    chosen = set(share.of(sample(points, CUTS)))
    for place, step in enumerate(steps):
        if step.name == "told":
            told |= {found.decode() for found in _DONE.findall(step.data)}
            continue
        disk.take(step)
        for model in MODELS if place in chosen else ():
            disk.leave(model, chance, into)
            digest = _digest(into)
            if digest not in seen:
                seen.add(digest)
                yield State(model, place, frozenset(told))


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(place, name)
            total.update(f"{path.relative_to(folder)}\0".encode())
            total.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"folder")
    return total.hexdigest()


@shares(15, few=3)
@pytest.mark.parametrize("scene", [_fast, _agent, _full], ids=["fast", "agent", "full"])
def test_after_a_power_cut_nothing_is_lost_that_was_told_and_the_run_goes_on(
    scene: Callable[[Path], Ground], share: Share, tmp_path: Path
) -> None:
    ground = scene(tmp_path / "ground")
    ground.call()  # the first time writes byte code
    wanted, code = _undisturbed(ground)
    before = tmp_path / "before"
    shutil.copytree(ground.base, before, symlinks=True)
    ended, steps = record(ground)
    assert ended.code == code, ended.err
    after = tmp_path / "after"
    shutil.move(ground.base, after)  # the disk is told of by its old name
    shutil.copytree(before, ground.base, symlinks=True)
    reference = Reference(ground, code, wanted)
    tally = Tally(dict.fromkeys(MODELS, 0), [])
    for state in _states(steps, ground.base, ground.base, share):
        tally.tried[state.model] += 1
        tally.lost += [
            f"{state.model}, after {_name(steps, state)}: {problem}" for problem in _problems(reference, state)
        ]
    print(f"\n{ground.arguments}: {tally.tried} states, {len(tally.lost)} problems")
    print(*tally.lost, sep="\n")
    assert sum(tally.tried.values()) > 0
    assert tally.lost == []


def _name(steps: list[Step], state: State) -> str:
    step = steps[state.step]
    return f"step {state.step} ({step.name} {' '.join(map(os.path.basename, step.paths))})"


def _undisturbed(ground: Ground) -> tuple[dict[str, object], int]:
    _forget(ground)
    ended = ground.call()
    tree = tree_of(ground)
    _forget(ground)
    return tree, ended.code


def _forget(ground: Ground) -> None:
    ground.fresh()


def _problems(reference: Reference, state: State) -> Iterator[str]:
    """What is wrong after a power cut, in words: what was lost though it was told, and what the next run makes of it."""
    ground = reference.ground
    present = _phases_done(ground)
    shutil.rmtree(ground.temporary, ignore_errors=True)
    ground.temporary.mkdir()
    if missing := state.told - present:
        yield f"was told, and is lost: phases {', '.join(sorted(missing))}"
    ended = ground.call()
    if ended.code != reference.code or "Traceback" in ended.err:
        yield f"going on ends with {ended.code}: {last_words(ended)}"
    # what a cut tore off is set aside by its name, and told of; a cache is made anew
    yield from differences(_compared(tree_of(ground)), _compared(reference.tree))


def _compared(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree, with the rows of a ledger in one order: those that a cut took are made again from the journals, one by one."""
    kept = {path: what for path, what in tree.items() if not path.endswith(".corrupt") and "/.cache/" not in path}
    for path in kept:
        if path.endswith("/llm.jsonl"):
            kept[path] = sorted(kept[path], key=lambda row: (row["thread"], row["run"], row["turn"]))
    return kept


def _phases_done(ground: Ground) -> set[str]:
    """The phases that are done by what is on the disk: by their stamps, and by the digests of all that they wrote."""
    if not ground.task.exists():
        return set()
    store = open_task_directory(Settings(), str(ground.task))
    done = ((number, stamp) for number, stamp in store.stamps.items() if stamp.status == "done")
    return {number for number, stamp in done if all(store.digest(name) == was for name, was in stamp.written.items())}


# A real disk: the blocks of an ext4 as they are at a moment, with its own journal to make good what was open


MOMENTS = 8


@contextmanager
def _mounted(image: Path, place: Path) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    mount("-o", "loop", str(image), str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def _copy_blocks(image: Path, into: Path) -> None:
    """A copy in whose making nothing was written: what the disk holds if the power goes now."""
    for _ in range(20):
        shutil.copyfile(image, into)
        if filecmp.cmp(image, into, shallow=False):
            return
    pytest.skip("the disk is never still for the time of a copy")


def test_after_a_cut_of_a_real_ext4_nothing_is_lost_that_was_told(tmp_path: Path) -> None:
    image, place = tmp_path / "disk", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(96 * 2**20)
    if not shutil.which("mkfs.ext4"):
        pytest.skip("mkfs.ext4 is not installed (apt-get install e2fsprogs)")
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    told_of: list[tuple[Path, frozenset[str]]] = []
    with _mounted(image, place):
        ground = _fast(place / "ground")
        ground.call()
        wanted, code = _undisturbed(ground)
        os.sync()  # the start is safe; from here on the run alone says what is
        began = time.monotonic()
        ground.call()
        seconds = time.monotonic() - began
        for moment in range(MOMENTS):
            _forget(ground)
            os.sync()
            log = tmp_path / f"log{moment}"
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [COMMAND, *ground.arguments], cwd=ground.work, env=ground.environment, stdout=output, stderr=output
                )
                time.sleep(seconds * (moment + 1) / (MOMENTS + 1))
                process.send_signal(signal.SIGSTOP)
                told = frozenset(found.decode() for found in _DONE.findall(log.read_bytes()))
                copy = tmp_path / f"disk{moment}"
                _copy_blocks(image, copy)
                process.kill()
                process.wait()
            told_of.append((copy, told))
    problems, phases = list[str](), 0
    for moment, (copy, told) in enumerate(told_of):
        with _mounted(copy, place):
            phases += len(told)
            state = State("ext4", moment, told)
            problems += [f"moment {moment}: {problem}" for problem in _problems(Reference(ground, code, wanted), state)]
        copy.unlink()
    print(f"\n{MOMENTS} cuts of an ext4, {phases} phases were told done by then, {len(problems)} problems")
    assert phases, "no cut came after a phase that was told"
    assert problems == []
