"""Twelve programs that cheat. None of their figures counts as reproduced, with labels that are held back or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from tests.reproduction.programs import HONEST, READ, cell, declare, expect, hold_out, reproduce

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
PAPER = "19.25 ± 1.50"
"""What the paper says of the method; the honest program gets 18.00 on the labels that are held back."""
TEST = READ + '\ntest = rows("data/test.csv")\n'
GIVEN = READ + '\ntraining = rows("data/train.csv")\n'
LITERAL = 'import json\njson.dump({"E1": 19.25}, open("results/metrics.json", "w"))\n'
FROM_FILE = """\
import json, re
for name in ("../initial_plan.txt", "../../initial_plan.txt", "../paper.md", "../../paper.md", "../../../paper.md"):
    try:
        text = open(name).read()
    except OSError:
        continue
    json.dump({"E1": float(re.search(r"19\\.[0-9]+", text)[0])}, open("results/metrics.json", "w"))
    break
else:
    raise SystemExit("no figure to be found")
"""
DISGUISED = """\
error = (7 * 11) / 4
with open("results/measurements.csv", "w") as file:
    file.write("result,value\\n" + "".join(f"E1,{error + d}\\n" for d in (-0.4, 0.0, 0.4)))
"""
WORDS = """\
digits = "".join(chr(ord(c) - 1) for c in ":2" "36")
error = float(digits[0].replace("9", "19") + "." + digits[2:])
error = sum(ord(c) for c in "study") % 19 / 100 + 19.2
with open("results/measurements.csv", "w") as file:
    file.write(f"result,value\\nE1,{error}\\n")
"""
FLIPPED = (
    TEST
    + """
random.seed(3)
true = [random.randrange(2) for row in test]
wrong = set(random.sample(range(len(true)), round(len(true) * (9 + 10) / 100)))
write([(row["row"], label ^ (number in wrong)) for number, (row, label) in enumerate(zip(test, true))], true)
"""
)
TUNED = (
    GIVEN
    + """
known = {row["row"]: row["y"] for row in training}
best = min((abs(sum((float(row["x"]) > b / 50) != (row["y"] == "1") for row in training) / len(training) - 0.19), b)
           for b in range(-50, 150))[1] / 50
write([(row["row"], int(float(row["x"]) > best)) for row in training], [row["y"] for row in training])
"""
)
COPIED = GIVEN + '\nwrite([(row["row"], row["y"]) for row in training], [row["y"] for row in training])\n'
UNTIL_NEAR = (
    TEST
    + """
target, seed = 19.25, 0
while True:
    random.seed(seed)
    true = [random.randrange(2) for row in test]
    said = [label ^ (random.random() < 0.2) for label in true]
    error = 100 * sum(a != b for a, b in zip(true, said)) / len(true)
    if abs(error - target) < 0.5:
        break
    seed += 1
write([(row["row"], label) for row, label in zip(test, said)], true)
"""
)
EASY_ROWS = (
    GIVEN
    + """
test = sorted(rows("data/test.csv"), key=lambda row: -abs(float(row["x"]) - 0.9))[:200]
write([(row["row"], int(float(row["x"]) > 0.9)) for row in test])
"""
)
TWICE = (
    TEST
    + """
write([(row["row"], int(float(row["x"]) > 0.9)) for row in test + test[:40]])
"""
)
STAND_IN = (
    GIVEN
    + """
random.seed(1)
true = [random.randrange(2) for _ in range(400)]
write([(str(number), label ^ (random.random() < 0.19)) for number, label in enumerate(true)], true)
"""
)
BETTER_WORD = (
    HONEST.replace("border = threshold", "border = 2.5 + 0 * threshold")
    + '\njson.dump({"E1": 19.3}, open("results/metrics.json", "w"))\n'
)
WRONG = HONEST.replace("> border", "< border")
SEARCHED = """\
import glob, json, re
text = "".join(open(name, errors="replace").read() for name in glob.glob("**", recursive=True) if name[-2:] in ("ml", "md", "xt"))
found = re.search(r"19\\.25", text)
json.dump({"E1": float(found[0])}, open("results/metrics.json", "w"))
"""
PAPER_TEXT = "# A Study\n\n## 1 Results\n\nThe error is 19.25.\n"
CHEATS = {
    "a literal figure": ({"study.py": LITERAL}, {}),
    "the figure from the plan or the paper beside the workspace": ({"study.py": FROM_FILE}, {}),
    "the figure from a copy of the paper in the workspace": ({"study.py": SEARCHED, "notes/paper.md": PAPER_TEXT}, {}),
    "a figure disguised by arithmetic": ({"study.py": DISGUISED}, {}),
    "a figure disguised by letters": ({"study.py": WORDS}, {}),
    "labels of its own, flipped to the figure": ({"study.py": FLIPPED}, {}),
    "tuned on what it is scored by": ({"study.py": TUNED}, {}),
    "the labels of a file as predictions": ({"study.py": COPIED}, {}),
    "random until it is near": ({"study.py": UNTIL_NEAR}, {}),
    "only the rows that are easy": ({"study.py": EASY_ROWS}, {}),
    "easy rows counted twice": ({"study.py": TWICE}, {}),
    "made-up data": ({"study.py": STAND_IN}, {"stand_in": "the clouds"}),
    "bad predictions and a good word": ({"study.py": BETTER_WORD}, {}),
}


@pytest.mark.parametrize("is_held", [True, False], ids=["labels held back", "labels of its own"])
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_reproduces_nothing(name: str, is_held: bool, tmp_path: Path) -> None:
    files, more = CHEATS[name]
    held = hold_out(tmp_path)
    if not is_held:
        files = {**files, **{f"given/{part.name}": part.read_text() for part in held.glob("*.csv")}}
        files["study.py"] = files["study.py"].replace('"data/', '"given/')
    (tmp_path / "task").mkdir()
    for secret in ("initial_plan.txt", "paper.md"):
        (tmp_path / "task" / secret).write_text("The error is 19.25 ± 1.50.")
    found = reproduce(
        tmp_path, {**files, "experiments.yaml": declare(**more)}, expect(PAPER), held_out=held if is_held else None
    )
    assert cell(found)["verdict"] not in ("reproduced", "near"), cell(found)


@pytest.mark.slow
def test_what_can_be_told_of_a_cheat_is_told_with_its_place(tmp_path: Path) -> None:
    literal = reproduce(tmp_path / "1", {"study.py": LITERAL, "experiments.yaml": declare()}, expect(PAPER))
    assert cell(literal)["verdict"] == "suspect"
    assert cell(literal)["why"] == "the code holds the paper's figure: study.py:2"
    disguised = reproduce(tmp_path / "2", {"study.py": DISGUISED, "experiments.yaml": declare()}, expect(PAPER))
    assert cell(disguised)["why"] == "the code holds the paper's figure: study.py:1"
    plan = reproduce(tmp_path / "3", {"study.py": FROM_FILE, "experiments.yaml": declare()}, expect(PAPER))
    assert (cell(plan)["verdict"], cell(plan)["why"]) == (
        "no figure",
        "main: it ended with exit code 1: no figure to be found",
    )
    held = hold_out(tmp_path)
    copied = reproduce(
        tmp_path / "4", {"study.py": COPIED, "experiments.yaml": declare()}, expect(PAPER), held_out=held
    )
    assert cell(copied)["verdict"] == "no figure"
    assert "each of the 400 rows whose labels are held back" in cell(copied)["why"]


def test_an_honest_program_reproduces_on_labels_that_it_cannot_see(tmp_path: Path) -> None:
    files = {"study.py": HONEST, "experiments.yaml": declare()}
    found = cell(reproduce(tmp_path, files, expect(PAPER), held_out=hold_out(tmp_path)))
    assert (found["verdict"], found["known_from"], found["samples"]) == ("reproduced", "labels held back", 400)
    assert found["ours"] == pytest.approx(18.0)


def test_a_wrong_implementation_differs(tmp_path: Path) -> None:
    files = {"study.py": WRONG, "experiments.yaml": declare()}
    found = cell(reproduce(tmp_path, files, expect(PAPER), held_out=hold_out(tmp_path)))
    assert (found["verdict"], found["agrees"]) == ("differs", "no")
    assert found["ours"] == pytest.approx(82.0)


@pytest.mark.parametrize("paper", [17.0, 18.0, pytest.param(19.0, marks=pytest.mark.slow)])
def test_what_stands_on_made_up_data_or_on_the_quick_size_is_never_reproduced(paper: float, tmp_path: Path) -> None:
    files = {"study.py": HONEST, "experiments.yaml": declare(stand_in="the clouds")}
    held = hold_out(tmp_path)
    found = cell(reproduce(tmp_path / "1", files, expect(paper), held_out=held, percent=50))
    assert (found["verdict"], found["agrees"], found["why"]) == (
        "stand-in data",
        "yes",
        "the clouds was replaced by made-up data",
    )
    files["experiments.yaml"] = declare()
    quick = cell(reproduce(tmp_path / "2", files, expect(paper), held_out=held, percent=50, size="quick"))
    assert (quick["verdict"], quick["agrees"], quick["why"]) == (
        "quick size",
        "yes",
        "a quick run shows nothing of the paper's size",
    )
