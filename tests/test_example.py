"""The example's recording: it holds what a model would have to say, and the code that comes of it keeps the paper's word."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from phases.evidence.traceability import trace_requirements
from phases.llm.model import OK, reply_from_json
from phases.reproduction.compare import read_figure
from phases.reproduction.measures import measure_of
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts
from tests.drills.points import chosen
from tests.papers import EXAMPLE, HANGS, example_paper
from tests.reproduction.programs import reproduce

HERE = EXAMPLE.parent
CODE = HERE / "code"
RECORD = [sys.executable, str(HERE / "record.py")]
TESTS = ("discover", "-s", "tests", "-t", ".")
QUICK_FIRST = [
    f"tests.test_{name}"
    for name in ("averages", "baselines", "hashing", "learning", "metrics", "data", "command", "paper")
]
"""All tests of the code, in the order in which a fault is found soonest."""
PACKAGE = "averaged_perceptron"
ENVIRONMENT = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}


@cache
def plan() -> dict[str, Any]:
    parsed: dict[str, Any] = Contracts().parse("initial_plan.txt", (HERE / "plan.yaml").read_bytes(), writer="a person")
    return parsed


@cache
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "replies.jsonl").read_bytes().splitlines()]


def calls() -> list[tuple[str, dict[str, Any]]]:
    """Every tool call of the recording, in order."""
    return [(call["name"], call["arguments"]) for row in rows() for call in row["result"]["calls"]]


def played(folder: Path, *, until: str = "") -> Path:
    """The workspace after the recorded Writes and Edits, up to the first call of the tool `until`."""
    for tool, given in calls():
        if tool == until:
            break
        if tool in ("Write", "Edit"):
            path = folder / given["file_path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            text = given.get("content")
            if text is None:
                text = path.read_text(encoding="utf-8")
                assert text.count(given["old_string"]) == 1
                text = text.replace(given["old_string"], given["new_string"])
            path.write_text(text, encoding="utf-8")
    return folder


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def run_tests(folder: Path, *which: str) -> subprocess.CompletedProcess[str]:
    """Tests of the code in a folder, run in a process of their own."""
    command = [sys.executable, "-m", "unittest", *which]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=2 * HANGS, check=False
    )


# The recording


def test_the_recording_is_what_record_py_makes_of_the_plan_and_the_code() -> None:
    ended = subprocess.run([*RECORD, "--check"], capture_output=True, text=True, timeout=HANGS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_recording_that_is_not_what_record_py_makes_is_told(tmp_path: Path) -> None:
    copy = shutil.copytree(HERE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__", ".*", "paper.*"))
    settings = copy / "code" / PACKAGE / "settings.py"
    settings.write_text(settings.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    command = [sys.executable, str(copy / "record.py")]
    ended = subprocess.run([*command, "--check"], capture_output=True, text=True, timeout=HANGS, check=False)
    assert ended.returncode == 1
    assert ended.stdout == (
        "replies.jsonl is not what plan.yaml, code/ and record.py give; write it anew: python record.py\n"
    )
    subprocess.run(command, timeout=HANGS, check=True)
    assert subprocess.run([*command, "--check"], timeout=HANGS, check=False).returncode == 0


def test_every_row_is_a_reply_with_its_thread_and_turn_and_costs_nothing() -> None:
    assert [(row["kind"], row["key"]["thread"]) for row in rows()] == [("reply", "plan")] + [("reply", "implement")] * (
        len(rows()) - 1
    )
    assert [row["key"]["turn"] for row in rows()] == [1, *range(1, len(rows()))]
    for row in rows():
        reply = reply_from_json(row["result"])
        assert reply.outcome == OK
        assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out, reply.usd) == (0, 0, 0, 0.0)


def test_only_the_last_turn_of_a_thread_calls_no_tool() -> None:
    without = [(row["key"]["thread"], row["key"]["turn"]) for row in rows() if not row["result"]["calls"]]
    assert without == [("plan", 1), ("implement", len(rows()) - 1)]


def test_the_recorded_plan_is_the_plan_to_the_byte() -> None:
    assert rows()[0]["result"]["text"].encode("utf-8") == (HERE / "plan.yaml").read_bytes()


def test_the_recording_writes_in_the_plans_order_and_repairs_between_two_runs_of_the_tests() -> None:
    tools = [tool for tool, _ in calls() if tool != "TodoWrite"]
    order = plan()["implementation_strategy"]
    assert [given["file_path"] for tool, given in calls() if tool == "Write"] == order
    assert tools == ["Write"] * len(order) + ["Bash", "Read", "Edit", "Bash"]
    commands = [given["command"] for tool, given in calls() if tool == "Bash"]
    assert commands == plan()["validation_approach"]["verify_commands"] * 2


def test_no_todo_is_left_open_at_the_end() -> None:
    lists = [given["todos"] for tool, given in calls() if tool == "TodoWrite"]
    assert {row["status"] for row in lists[0]} == {"in_progress", "pending"}
    assert {row["status"] for row in lists[-1]} == {"completed"}
    assert len({tuple(row["content"] for row in todos) for todos in lists}) == 1


def test_what_the_recording_writes_is_the_code_to_the_byte(tmp_path: Path) -> None:
    assert files(played(tmp_path)) == files(CODE)


@pytest.mark.slow
def test_the_first_version_fails_its_tests_for_the_reason_that_the_recording_gives(tmp_path: Path) -> None:
    of_paper, rows_of_table_2 = "tests.test_paper.Paper", "test_r30_three_rows_of_table_2_come_out_to_the_last_digit"
    ended = run_tests(played(tmp_path, until="Bash"), "tests.test_averages", f"{of_paper}.{rows_of_table_2}")
    assert ended.returncode != 0
    assert "FAIL: test_r7_time_stamps_give_the_tail_average" in ended.stderr
    assert "FAIL: test_r8" not in ended.stderr
    assert "Lists differ: [1.0, 0.125] != [1.0, 0.25]" in ended.stderr
    assert "('19.94 ± 1.27', 35.3, 35.3, 21.8) != ('19.95 ± 1.27', 35.3, 35.3, 21.8)" in ended.stderr


# The plan


def test_the_plan_plans_every_file_once_and_in_an_order_that_its_dependencies_allow() -> None:
    order, planned = plan()["implementation_strategy"], {row["path"]: row for row in plan()["file_structure"]}
    assert sorted(order) == sorted(planned) == sorted(files(CODE))
    for path, row in planned.items():
        for needed in row.get("depends_on", []):
            assert order.index(needed) < order.index(path), f"{path} needs {needed}"


def test_every_requirement_has_one_id_and_a_file_and_a_component_that_meet_it() -> None:
    identifiers = [row["id"] for row in plan()["requirements"]]
    assert identifiers == [f"R{number}" for number in range(1, len(identifiers) + 1)]
    for part, key in (("file_structure", "implements"), ("components", "requirements")):
        named = {name for row in plan()[part] for name in row.get(key, [])}
        assert named - {row["id"] for row in plan()["values"]} == set(identifiers), part


@pytest.mark.parametrize("requirement", plan()["requirements"], ids=lambda row: str(row["id"]))
def test_a_quote_stands_in_the_paper_on_its_page_and_in_its_section(requirement: dict[str, Any]) -> None:
    source, text = requirement["source"], example_paper().document.text
    [section] = [row for row in example_paper().outline["sections"] if row["number"] == source["section"]]
    assert text.count(source["quote"]) == 1
    place = text.index(source["quote"])
    assert section["start"] <= place < section["end"]
    assert text.count("<!-- page ", 0, place) == source["page"]


# The code


def test_every_requirement_is_cited_by_code_that_does_something(tmp_path: Path) -> None:
    traced = trace_requirements(Workspace(str(played(tmp_path))), plan())["requirements"]
    assert {(row["status"], row["how"]) for row in traced} == {("located", "cited")}


def test_a_requirement_is_implemented_in_the_files_that_the_plan_says(tmp_path: Path) -> None:
    traced = {row["id"]: row for row in trace_requirements(Workspace(str(played(tmp_path))), plan())["requirements"]}
    for row in plan()["file_structure"]:
        for identifier in row.get("implements", []):
            assert any(place.startswith(f"{row['path']}:") for place in traced[identifier]["places"]), identifier


def test_the_values_of_the_plan_are_those_of_the_code() -> None:
    tree = ast.parse((CODE / PACKAGE / "settings.py").read_text(encoding="utf-8"))
    scope = {
        ast.unparse(row.targets[0]): ast.literal_eval(row.value) for row in tree.body if isinstance(row, ast.Assign)
    }
    stated = [scope[name] for name in ("ETA", "VOCABULARY", "TRAINING_SIZE")]
    assert stated == [row["value"] for row in plan()["values"]]


@pytest.mark.slow
def test_the_code_passes_its_own_tests(tmp_path: Path) -> None:
    ended = run_tests(played(tmp_path), *TESTS)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.rstrip().endswith("OK")


def test_the_command_tells_how_it_is_used() -> None:
    command = [sys.executable, "-m", PACKAGE, "--help"]
    ended = subprocess.run(
        command, cwd=CODE, env=ENVIRONMENT, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--check" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("table", "rows_of_it"), chosen([("2", 8), ("3", 5), ("4", 10)], 1))
def test_a_table_at_full_size_is_that_of_the_paper_to_the_last_digit(table: str, rows_of_it: int) -> None:
    rows_in_paper = rf"(?ms)^> \*\*Table {table}\.\*\*.*?^\|[- |]*\|\n(.*?)\n\n"
    found = re.search(rows_in_paper, example_paper().document.text)
    assert found
    printed = re.sub(r"\$([0-9.]+)\\times 10\^\{-([0-9]+)\}\$", r"\1e-\2", found[1])
    paper = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.split("\n")]
    command = [sys.executable, "-m", PACKAGE, "--full", "--table", table]
    ended = subprocess.run(
        command, cwd=CODE, env=ENVIRONMENT, capture_output=True, text=True, timeout=5 * HANGS, check=True
    )
    here = [re.split(r"\s{2,}", line) for line in ended.stdout.replace(" ± ", "±").splitlines()[3 : 3 + rows_of_it]]
    assert here == paper
    if table == "2":
        assert "AP is ahead in 59 of 60 paired comparisons" in ended.stdout


# The paper's tables


def test_the_figures_that_the_plan_expects_are_those_of_the_papers_tables() -> None:
    expected = [row for row in plan()["expected_results"] if row["table"].startswith("Table")]
    for table in ("Table 2", "Table 3", "Table 4"):
        found = re.search(rf"(?ms)^> \*\*{table}\.\*\*.*?^\|[- |]*\|\n(.*?)\n\n", example_paper().document.text)
        assert found
        printed = re.sub(r"\$([0-9.]+)\\times 10\^\{-([0-9]+)\}\$", r"\1e-\2", found[1])
        settings = {"Table 2": 1, "Table 3": 1, "Table 4": 2}[table]
        cells = [cell.strip() for line in printed.split("\n") for cell in line.strip("|").split("|")[settings:]]
        figures = [read_figure(cell.replace("±", " ± ")) for cell in cells if cell not in ("-", "--", "–")]
        planned = [read_figure(row["value"]) for row in expected if row["table"] == table]
        assert [figure and figure[:2] for figure in planned] == [figure and figure[:2] for figure in figures]


def test_every_expected_result_is_spoken_of_by_one_experiment() -> None:
    data = (CODE / "experiments.yaml").read_bytes()
    declared = Contracts().parse("experiments.yaml", data, writer="the example")["experiments"]
    spoken = [result for one in declared for result in one["results"]]
    assert spoken == [row["id"] for row in plan()["expected_results"]]


@pytest.mark.slow
def test_the_streams_that_are_held_out_are_made_as_the_paper_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.syspath_prepend(str(CODE))
    draw_stream = import_module("held_out").draw_stream
    stream, data = draw_stream(0), import_module("averaged_perceptron.zipfbag").zipf_bag(0, 0.1)
    assert [(bag.tokens, bag.label) for bag in data.training] == [
        (tuple(bag), -clean if flip < 0.1 else clean) for bag, clean, flip in stream.training
    ]
    assert [(bag.tokens, bag.label) for bag in data.test] == [(tuple(bag), clean) for bag, clean in stream.test]


@pytest.mark.slow
@pytest.mark.parametrize("is_held", chosen([False, True], 1))
def test_the_tables_of_the_paper_come_out(is_held: bool, tmp_path: Path) -> None:
    held = tmp_path / "held_out" if is_held else None
    if held:
        subprocess.run(
            [sys.executable, str(HERE / "held_out.py"), str(held), "--first", "20"], timeout=HANGS, check=True
        )
    expected = plan()["expected_results"]
    found = reproduce(tmp_path, files(CODE), expected, held_out=held, seconds=60 * HANGS)
    verdicts = {row["id"]: row["verdict"] for row in found["cells"]}
    errors = {row["id"] for row in expected if measure_of(row["metric"]) and row["table"].startswith("Table")}
    if not held:
        assert set(verdicts.values()) == {"reported"}
        assert {row["agrees"] for row in found["cells"]} == {"yes"}
        assert found["orderings"]["held"] == found["orderings"]["of"] > 200
    else:
        assert {name for name, verdict in verdicts.items() if verdict in ("reproduced", "near", "differs")} >= errors
        assert sum(verdicts[name] == "reproduced" for name in errors) > 0.5 * len(errors)
    assert "suspect" not in verdicts.values()


MUTANTS = [
    pytest.param("learning.py", "margin <= gamma", "margin < gamma", id="(3) with < in place of <="),
    pytest.param("learning.py", "mistakes += margin <= 0", "mistakes += margin < 0", id="a product of zero is no mistake"),
    pytest.param("learning.py", "product(weights, example) >= 0", "product(weights, example) > 0", id="zero predicts -1"),
    pytest.param("learning.py", "math.floor(schedule.kappa * steps)", "math.floor(schedule.kappa * steps) + 1",
                 id="t0 one step later"),
    pytest.param("learning.py", "if epoch > 1:", "if epoch > 9:", id="no shuffle"),
    pytest.param("learning.py", "SHUFFLE_SEED + seed", "SHUFFLE_SEED", id="one shuffle for all seeds"),
    pytest.param("averages.py", "weight - taken / averaged", "weight", id="no correction"),
    pytest.param("averages.py", "max(0, t - 1 - self._burn_in)", "max(0, t - self._burn_in)", id="correction off by one"),
    pytest.param("averages.py", "gap = t - 1 - max(stamps[j], burn_in)", "gap = t - 1 - stamps[j]",
                 id="stamps without t0"),
    pytest.param("averages.py", "self._now > self._burn_in", "self._now >= self._burn_in", id="dense average from t0"),
    pytest.param("hashing.py", "crc_of(token) >> 31", "crc_of(token) >> 30", id="another bit for the sign"),
    pytest.param("hashing.py", "count / length for", "float(count) for", id="no unit length"),
    pytest.param("hashing.py", "counts.items() if count}", "counts.items()}", id="zero sums are kept"),
    pytest.param("zipfbag.py", "[v - mean for v in drawn]", "drawn", id="the teacher is not centred"),
    pytest.param("zipfbag.py", "draw() < noise)", "bool(noise) and draw() < noise)", id="no call where there is no noise"),
    pytest.param("baselines.py", "min(c, loss(margin, 1.0))", "loss(margin, 1.0)", id="PA without C"),
    pytest.param("baselines.py", "eta_0 / math.sqrt(t)", "eta_0", id="SGD without a falling rate"),
    pytest.param("metrics.py", "(len(values) - 1)", "len(values)", id="deviation of a population"),
    pytest.param("metrics.py", "3 * plain + 2 * sweep", "2 * plain + 2 * sweep", id="another cost of stamps"),
    pytest.param("experiments.py", "(errors[value], value)", "(errors[value], [-x for x in value])",
                 id="ties go to the larger value"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("file", "right", "wrong"), MUTANTS)
def test_a_method_that_is_not_the_papers_fails_its_tests(file: str, right: str, wrong: str, tmp_path: Path) -> None:
    path = played(tmp_path) / PACKAGE / file
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    ended = run_tests(tmp_path, "--failfast", *QUICK_FIRST)
    assert ended.returncode == 1, "the tests do not notice"
    assert "FAILED (failures=1)" in ended.stderr, ended.stderr


def test_the_mutants_meet_every_test_of_the_code() -> None:
    assert sorted(QUICK_FIRST) == sorted(f"tests.{path.stem}" for path in (CODE / "tests").glob("test_*.py"))
