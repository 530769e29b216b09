"""Experiments in their box: what they see, what is kept of them, when they run again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from phases.reproduction.runs import collect_code
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.workspace import Workspace
from pipeline.base.errors import StorageError
from tests.reproduction.programs import HONEST, cell, declare, expect, hold_out, reproduce

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
LOOK = """\
import os
seen = sorted(os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names)
above = [name for name in ("initial_plan.txt", "paper.md", "outline.json") if os.path.exists("../../../" + name)]
print(*seen, *above)
"""


def test_an_experiment_sees_its_code_and_what_it_is_given_and_nothing_else(tmp_path: Path) -> None:
    held = hold_out(tmp_path)
    (tmp_path / "task").mkdir()
    for name in ("initial_plan.txt", "paper.md", "outline.json"):
        (tmp_path / "task" / name).write_text("19.25")
    files = {
        "look.py": LOOK, "README.md": "19.25", "tests/test_a.py": "19.25", "pkg/test_b.py": "",
        "check.py": "19.25", "a.json": "{}",
    }  # fmt: skip
    reproduce(
        tmp_path, {**files, "experiments.yaml": "leave_out: [check.py]\n" + declare("python look.py")}, held_out=held
    )
    log = (tmp_path / "task" / "results" / "main-full" / "log.txt").read_text()
    assert log.split() == ["./a.json", "./data/test.csv", "./data/train.csv", "./experiments.yaml", "./look.py"]


def test_what_is_no_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)))
    (tmp_path / "odd.txt").write_bytes(b"\xff\xfe")
    assert list(collect_code(Workspace(str(tmp_path)), ())) == ["a.py"]


def _inode(folder: Path) -> int:
    return (folder / "task" / "results" / "main-full" / "run.json").stat().st_mtime_ns


@pytest.mark.slow
def test_an_experiment_runs_again_when_its_code_or_its_data_change_and_not_otherwise(tmp_path: Path) -> None:
    held, files = hold_out(tmp_path), {"study.py": HONEST, "experiments.yaml": declare()}
    reproduce(tmp_path, files, held_out=held)
    first = _inode(tmp_path)
    reproduce(tmp_path, {**files, "README.md": "new"}, expect(50.0), held_out=held, percent=1.0)
    assert _inode(tmp_path) == first
    reproduce(tmp_path, {**files, "study.py": HONEST + "\n"}, held_out=held)
    second = _inode(tmp_path)
    assert second != first
    (held / "test.csv").write_text((held / "test.csv").read_text() + "\n")
    reproduce(tmp_path, {}, held_out=held)
    assert _inode(tmp_path) != second


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import time; time.sleep(60)", "stopped at a limit: time"),
    ],
)
def test_an_experiment_that_failed_runs_again_the_next_time(code: str, why: str, tmp_path: Path) -> None:
    """What was missing may be there by then, or the limit be higher: neither is a part of its code."""
    files = {"study.py": code, "experiments.yaml": declare()}
    before = []
    for _ in range(2):
        [row] = reproduce(tmp_path, files, seconds=1.0 if "sleep" in code else 60.0)["experiments"]
        assert (row["status"], why in row["why"]) == ("failed", True)
        before.append(_inode(tmp_path))
    assert before[0] != before[1]


def test_values_of_the_plan_with_several_numbers_are_settings_too(tmp_path: Path) -> None:
    held, files = hold_out(tmp_path), {"study.py": HONEST, "experiments.yaml": declare()}
    values = [{"id": "V1", "values": [3, 4.5]}, {"id": "V2", "value": "adam"}, {"id": "V3", "value": 7}]
    assert cell(reproduce(tmp_path, files, held_out=held, values=values))["ours"] is not None


def test_files_that_were_changed_since_are_made_again(tmp_path: Path) -> None:
    held, files = hold_out(tmp_path), {"study.py": HONEST, "experiments.yaml": declare()}
    before = cell(reproduce(tmp_path, files, held_out=held))
    kept = tmp_path / "task" / "results" / "main-full" / "files" / "predictions.csv"
    kept.write_text("result,row,y_pred\n")
    assert cell(reproduce(tmp_path, files, held_out=held)) == before
    assert len(kept.read_text().splitlines()) == 401


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit(3)", "main: it ended with exit code 3"),
        ("import os; [open(f'results/{n}', 'w') for n in range(1001)]", "main: it left 1,001 files below results/"),
        ("print('no figure')", "main left no figure for it"),
    ],
)
def test_why_an_experiment_gave_nothing_is_told(code: str, why: str, tmp_path: Path) -> None:
    found = cell(reproduce(tmp_path, {"study.py": code, "experiments.yaml": declare()}))
    assert (found["verdict"], found["ours"]) == ("no figure", None)
    assert found["why"].startswith(why)


@pytest.mark.parametrize(("value", "agrees"), [(0.1875, "yes"), (18.75, "yes"), (0.3, "no"), (30.0, "no")])
def test_what_the_code_reports_as_a_share_is_compared_in_percent(value: float, agrees: str, tmp_path: Path) -> None:
    code = f"import json\nvalue = {value} + 0.0001\njson.dump({{'E1': value}}, open('results/metrics.json', 'w'))"
    found = cell(reproduce(tmp_path, {"study.py": code, "experiments.yaml": declare()}, expect("18.75 ± 0.5")))
    assert (found["agrees"], found["known_from"]) == (agrees, "its word")


def test_an_experiment_may_leave_its_figures_in_a_directory_of_its_own(tmp_path: Path) -> None:
    code = "import os, json\nos.mkdir('results/main')\njson.dump({'E1': 18.75}, open('results/main/metrics.json', 'w'))"
    code += "\njson.dump({'E1': 3.0}, open('results/metrics.json', 'w'))"
    found = cell(reproduce(tmp_path, {"study.py": code, "experiments.yaml": declare()}, expect("18.75 ± 0.5")))
    assert found["agrees"] == "yes"


@pytest.mark.parametrize("link", ["results", "results/main-full"])
def test_nothing_is_written_where_a_link_leads(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "main-full").mkdir(parents=True)
    path = tmp_path / "task" / link
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    with pytest.raises(StorageError, match="is a link"):
        reproduce(tmp_path, {"study.py": HONEST, "experiments.yaml": declare()})
    assert os.listdir(outside) == ["main-full"]


def test_links_among_what_it_leaves_are_not_followed(tmp_path: Path) -> None:
    code = "import os; os.symlink('/etc/passwd', 'results/predictions.csv')"
    found = reproduce(tmp_path, {"study.py": code, "experiments.yaml": declare()})
    assert found["experiments"][0]["files"] == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("main", "main"), ("Fig. 3: noise (GSM)", "Fig-3-noise-GSM"), ("../../etc/x", "etc-x"), ("实验 一", "实验-一"),
        ("...", "experiment"), ("x" * 200, "x" * 40),
    ],
)  # fmt: skip
def test_an_experiment_may_have_any_name_and_runs_in_a_directory_of_its_own(
    name: str, safe: str, tmp_path: Path
) -> None:
    code = 'import json\njson.dump({"E1": 10.0}, open("results/metrics.json", "w"))\n'
    declared = declare().replace("name: main", f"name: {json.dumps(name)}")
    found = reproduce(tmp_path, {"study.py": code, "experiments.yaml": declared})
    assert [row["name"] for row in found["experiments"]] == [safe]
    assert (tmp_path / "task" / "results" / f"{safe}-full" / "run.json").is_file()
    assert found["experiments"][0]["status"] == "done"
