"""The files of supervision on a disk that refuses them: no work stops for it, and no run ends well without them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from phases.agent.kernel_files import KernelFiles
from pipeline.base.errors import StorageError

Write = Callable[[KernelFiles], None]
WRITES: dict[str, Write] = {
    "kernel/supervisor-events.jsonl": lambda files: files.note([{"seq": 1, "event": "switch"}]),
    "kernel/task-graph.json": lambda files: files.graph({"graphId": "graph-1"}),
    "kernel/checkpoint.json": lambda files: files.checkpoint({"round": 3}),
    "kernel/snapshots/snapshot-3.json": lambda files: files.snapshot({"snapshotId": "snapshot-3"}),
    "kernel-report.json": lambda files: files.report({"rounds": 3}),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_file_that_cannot_be_written_stops_nothing_is_told_once_and_fails_the_end_until_it_is_there(
    name: str, tmp_path: Path
) -> None:
    def opened() -> KernelFiles:
        return KernelFiles(str(tmp_path / "kernel"), str(tmp_path / "kernel-report.json"), lambda: None, told.append)

    told: list[str] = []
    in_the_way = tmp_path / name
    in_the_way.mkdir(parents=True)  # a directory where the file belongs
    (in_the_way / "x").write_text("")
    files = opened()
    for _ in range(2):
        for write in WRITES.values():
            write(files)
    assert len(told) == 1
    with pytest.raises(StorageError):
        files.settle()
    (in_the_way / "x").unlink()
    in_the_way.rmdir()
    again = opened()
    for write in WRITES.values():
        write(again)
    again.request_is_met()  # one that somebody took away
    again.settle()
    text = (tmp_path / name).read_text()
    assert json.loads(text if text.startswith("{\n") else text.splitlines()[0])
