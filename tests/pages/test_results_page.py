"""The paper's figures beside ours as drawings, and the curves of what experiments wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phases.pages.results_page import describe_results, draw_curves, render_page
from pipeline.cli.assembly import settings_from
from pipeline.cli.results import read_curves
from pipeline.cli.web.exchange import open_site
from tests.papers import ROOT
from tests.web_client import Elements

EXAMPLE: dict[str, Any] = json.loads((ROOT / "schemas" / "results.schema.json").read_text())["examples"][0]
EVIL = "<script>alert(1)</script>\u202e\"'"


def test_each_column_in_which_something_came_out_is_drawn_with_the_papers_figure_and_ours() -> None:
    (table, *_) = describe_results(EXAMPLE)["tables"]
    drawn = [shape for plot in table["plots"] for shape in plot["shapes"] if shape.tag == "g"]
    assert len(drawn) == sum(cell["ours"] is not None and cell["paper"] is not None for cell in table["cells"])
    for shape in drawn:
        assert {one.tag for one in shape.inside} == {"text", "rect", "path", "circle"}


def test_a_figure_that_is_larger_stands_further_right() -> None:
    cell = {**EXAMPLE["cells"][0], "paper": 1.0, "tolerance": 0.1}
    (table,) = describe_results({**EXAMPLE, "cells": [{**cell, "ours": ours} for ours in (0.5, 1.0, 2.0)]})["tables"]
    shapes = [shape for shape in table["plots"][0]["shapes"] if shape.tag == "g"]
    places = [float(str(one.attributes["cx"])) for shape in shapes for one in shape.inside if one.tag == "circle"]
    assert places == sorted(places)
    assert places[0] < places[1] < places[2]


@pytest.mark.parametrize("row", ["NMC", "x" * 26, "Fixed weighting of both losses, {}", "{} of " + "y" * 40])
def test_labels_that_differ_differ_in_a_drawing(row: str) -> None:
    cells = [{**EXAMPLE["cells"][0], "ours": 1.0, "row": row.format(name)} for name in ("dino", "moons")]
    (table,) = describe_results({**EXAMPLE, "cells": cells})["tables"]
    drawn = [shape.inside[0].text for shape in table["plots"][0]["shapes"] if shape.tag == "g"]
    assert (len(set(drawn)), max(map(len, drawn)) <= 26) == (1 + ("{" in row), True)


def test_nothing_that_a_result_or_a_file_says_comes_alive() -> None:
    cells = [{**cell, "row": EVIL, "column": EVIL, "table": EVIL, "why": EVIL} for cell in EXAMPLE["cells"]]
    curves = draw_curves(EVIL, [{"epoch": number, EVIL: number * 2} for number in range(5)])
    shown = Elements(render_page(EVIL, {**EXAMPLE, "cells": cells, "sentence": EVIL}, curves))
    assert len(curves) == 1
    assert not {"script", "img", "iframe"} & {tag for tag, _ in shown.found}
    assert not [
        name for _, attributes in shown.found for name in attributes if name.startswith("on") or name == "style"
    ]
    assert "\u202e" not in shown.text


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([{"epoch": n, "loss": 1 / (n + 1), "note": "x"} for n in range(4)], ["m: loss"]),
        ([{"Step": str(n), "loss": str(n), "accuracy": "0.5"} for n in range(4)], ["m: loss", "m: accuracy"]),
        ([{"loss": n} for n in range(4)], []),
        ([{"epoch": n % 2, "loss": n} for n in range(4)], []),
        ([{"epoch": n, "loss": n} for n in range(2)], []),
        ([{"epoch": n, "loss": "nan"} for n in range(4)], []),
        ([], []),
    ],
    ids=["a loss", "a table of text", "no steps", "steps that begin again", "two points", "no numbers", "nothing"],
)
def test_a_curve_is_what_goes_along_epochs_or_steps(rows: list[dict[str, Any]], names: list[str]) -> None:
    assert [curve["name"] for curve in draw_curves("m", rows)] == names


def test_curves_are_read_from_what_experiments_left_and_from_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "tasks" / "one"
    (root / "results").mkdir(parents=True)
    table = "epoch,loss\n0,3\n1,2\n2,1\n"
    (root / "results" / "a.csv").write_text(table)
    (root / "results" / "b.jsonl").write_text('{"step": 1, "f": 1}\n{"step": 2, "f": 4}\n{"step": 3, "f": 9}\n')
    (root / "results" / "c.csv").write_bytes(b"\xff\xfe")
    (root / "results" / "d.jsonl").write_text("[1]\n{")
    (tmp_path / "out.csv").write_text(table)
    (root / "results" / "link.csv").symlink_to(tmp_path / "out.csv")
    names = (
        "results/a.csv",
        "results/b.jsonl",
        "results/c.csv",
        "results/d.jsonl",
        "results/link.csv",
        "../../out.csv",
    )
    results = {"experiments": [{"files": [{"path": name} for name in names]}]}
    store = open_site(settings_from({"tasks_dir": str(tmp_path / "tasks")})).open_root(str(root))
    assert [curve["name"] for curve in read_curves(store, results)] == ["a.csv: loss", "b.jsonl: f"]
