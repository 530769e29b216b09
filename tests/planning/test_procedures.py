"""Steps that a paper gives as a list are an algorithm of the plan; lists of anything else are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.planning.plan_words import steps_of
from phases.planning.rules.passages import read_paper
from phases.planning.rules.procedures import find_procedures
from tests.papers import read
from tests.work import assert_linear

PROTOCOL = """# T

## 2 Waiting

The two phases of the protocol are as follows:

- Phase 1 (Arrival): Guest g and host h execute the following steps:

- Step g.1.1 A guest sends its name to the host.

- Step h.1.1 Upon receiving names from a quorum of guests,

<!-- page 2 -->

the host answers:

1. It sets the clock.

2. It waits, and makes

$$ c = 0. $$

Finally, it opens the door.

- Phase 2 (Stay): Guest and host do this:

- Step g.2.1: Guest g sits down. ✷

Note that no guest has to stand.
"""


def test_the_steps_of_a_protocol_are_kept_whole_in_order_and_with_their_own_numbers() -> None:
    plan = read(PROTOCOL).plan
    [row] = [row for row in plan["components"] if row.get("steps")]
    assert [(step.number, step.depth, step.text) for step in steps_of(row)] == [
        ("", 0, "Phase 1 (Arrival): Guest g and host h execute the following steps:"),
        ("", 2, "Step g.1.1 A guest sends its name to the host."),
        ("", 2, "Step h.1.1 Upon receiving names from a quorum of guests, the host answers:"),
        ("", 4, "1. It sets the clock."),
        ("", 4, "2. It waits, and makes $c = 0.$"),
        ("", 4, "Finally, it opens the door."),
        ("", 0, "Phase 2 (Stay): Guest and host do this:"),
        ("", 2, "Step g.2.1: Guest g sits down. ✷"),
    ]
    assert row["source"]["section"] == "2"


def test_steps_that_begin_anew_after_a_few_are_those_of_the_list_and_not_the_labels_of_a_picture() -> None:
    labels = "Stage 1: Reservation\n\nStage 3: Stop\n\n"
    steps = "\n\n".join(f"Stage {number}: We do what is next at {number}." for number in range(4))
    [row] = [row for row in read(f"# T\n\n## 2 Design\n\n{labels}{steps}\n").plan["components"] if row.get("steps")]
    assert [step.text for step in steps_of(row)] == steps.split("\n\n")


@pytest.mark.parametrize(
    ("lead", "items", "found"),
    [
        ("A guest performs these steps:", ["Take a chair.", "Put it down.", "Sit on it."], True),
        ("The algorithm works as follows.", ["If the room is full, wait.", "$c \\leftarrow 0$", "Return c."], True),
        ("Our contributions are as follows:", ["We use chairs.", "We run tests.", "We find bounds."], False),
        ("The protocol has these properties:", ["It sends names.", "It waits.", "It stops."], False),
        ("The steps of a stair are:", ["Wood.", "Stone.", "Iron."], False),
        ("The algorithm works as follows.", ["Take a chair.", "Sit on it."], False),
        ("A guest runs this algorithm:", ["Chair choice: For each chair, look.", "Take it."], True),
        ("Chairs are of oak.", ["Take a chair.", "Put it down.", "Sit on it."], False),
    ],
)
def test_an_enumeration_is_an_algorithm_where_its_words_say_what_is_done(
    lead: str, items: list[str], found: bool
) -> None:
    listed = "\n\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    plan = read(f"# T\n\n## 2 Sitting down\n\nChairs stand in rows. {lead}\n\n{listed}\n").plan
    steps = [row["steps"] for row in plan["components"] if row.get("steps")]
    assert steps == ([[f"{number}. {item}" for number, item in enumerate(items, 1)]] if found else [])


def test_experiments_are_no_steps_of_the_method() -> None:
    text = f"{PROTOCOL}\n## 3 Chairs\n\nWe build chairs of oak.\n".replace("2 Waiting", "5 Experiments")
    assert not any(row.get("steps") for row in read(text).plan["components"])


@pytest.mark.slow
@given(st.text(st.sampled_from("- Step1.2)\n$|#>`Phase a:"), max_size=300))
def test_any_text_has_procedures_of_lines_that_say_something(text: str) -> None:
    made = read(f"# T\n\n## 2 Method\n\n{text}\n")
    paper = read_paper(made.document.text, made.outline, made.document.body_start)
    assert all(step.strip() and "\n" not in step for one in find_procedures(paper) for step in one.steps)


@pytest.mark.slow
def test_hostile_lists_take_the_time_of_their_length() -> None:
    def find(many: int) -> None:
        made = read(f"# T\n\n## 2 Method\n\n{'1. a ' * many}\n\n{'- Step 1 $$' * many}\n\n" + "1. Take it.\n\n" * many)
        find_procedures(read_paper(made.document.text, made.outline, made.document.body_start))

    assert_linear(find, 200)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["1: a := f(b)", "2: return a"], ""),
        (["1: a := f(b", "2:   c)", "3: return [0, 1)"], ""),
        (["1: take b  // (see below", "2: 1) go on", "3: return b"], ""),
        (["1: a := f(b", "2: return a"], "Algorithm 1: a bracket of its line 1 has no other half. Hold it against page 1."),
        (["1: a", "2: b", "// a line whose number was not read", "4: d", "5: e"], ""),
        (["1: a", "2: b", "5: c", "7: d"], "Algorithm 1: it has no lines 3–4, 6. Hold it against page 1."),
        (
            ["process Wait(a) process Sit(b)", "a := 1 b := 2"],
            "Algorithm 1: its line 1 begins two listings, whose lines are mixed. Hold it against page 1.",
        ),
        (
            ["state ~ 0", "state ~ g(a)", "j *- 1"],
            "Algorithm 1: its arrows and other signs are read as ~, *- in 3 lines. Hold it against page 1.",
        ),
        (["x ~ N(0, 1)", "y ~ N(x, 1)", "z := y"], ""),
        (
            ["1: a[1])", "3: b"],
            "Algorithm 1: it has no line 2, and a bracket of its line 1 has no other half. Hold it against page 1.",
        ),
    ],
)  # fmt: skip
def test_a_listing_that_visibly_lacks_something_is_a_doubt_with_its_lines(lines: list[str], told: str) -> None:
    fence = "\n".join(["```algorithm", "Algorithm 1: Wait well", *lines, "```"])
    plan = read(f"# T\n\n<!-- page 1 -->\n\n## 2 Method\n\n{fence}\n").plan
    doubts = [row["what"] for row in plan["uncertain"] if row.get("about") == "C1"]
    assert doubts == ([told] if told else [])


LINES = "Set s := r\nFor each page p in r\n  Add p to s\nReturn s"


@pytest.mark.parametrize(
    ("listing", "steps"),
    [
        (f"Collect(r,d)\n\nr: pages.\n\n<!-- page 2 -->\n\n```\n{LINES}\n```", ["Collect(r,d)", "r: pages."]),
        (f"The pages are taken so.\n\n```\nprocedure Collect(r, d):\n{LINES}\n```", ["procedure Collect(r, d):"]),
        (f"The pages are taken so:\n\n```\n{LINES}\n```", ["The pages are taken so:"]),
        ("Collect(r,d)\n\n```\nGET /a\nPUT /b\nGET /c\nPUT /d\n```", None),
    ],
    ids=["a name before the lines", "a name in the first line", "no name", "no procedure"],
)  # fmt: skip
def test_a_listing_that_is_called_by_a_name_with_what_goes_in_is_an_algorithm(
    listing: str, steps: list[str] | None
) -> None:
    plan = read(f"# T\n\n<!-- page 1 -->\n\n## 2 Method\n\nWe collect pages.\n\n{listing}\n").plan
    found = [(row["name"], row["steps"]) for row in plan["components"] if row.get("steps")]
    name = "Collect" if "Collect" in listing else "steps"
    assert found == ([(name, [*steps, *LINES.split("\n")])] if steps else [])


LISTING = """# T

## 2 Two Queues

A page that is asked for twice is hot.

On access of a page X:

```
if X is in Am then
  move X to the head of Am
else if free slots are left
  put X into one
end if
```

To free a slot:

```
def reclaim(X)
  evict the tail of A1
```
{more}
## 3 Results

```
if nothing is planned of this
  return it
end if
```
"""


def _listed(text: str) -> list[tuple[str, list[str]]]:
    plan = read(text).plan
    return [(row["name"], row["steps"]) for row in plan["components"] if row.get("steps")]


def test_code_without_a_caption_is_the_algorithm_of_its_section_with_the_words_that_lead_to_it() -> None:
    [(name, steps)] = _listed(LISTING.format(more="\n```\nreclaim(X)\nX ← nil\nreturn\n```\n"))
    assert name == "Two Queues"
    assert steps == [
        "On access of a page X:",
        "if X is in Am then",
        "  move X to the head of Am",
        "else if free slots are left",
        "  put X into one",
        "end if",
        "reclaim(X)",
        "X ← nil",
        "return",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "Garbage collection 11\nResidual error of it\n4.1 Mb of cons cells",
        "x ← 1\nreturn x",
        "Revolt\nof the\nmasses",
        "Epoch 1: loss=0.53, acc=0.81\nEpoch 2: loss=0.41, acc=0.85\nEpoch 3: loss=0.33, acc=0.88",
        '{\n  "name": "Ann",\n  "age": 31,\n  "tags": ["a", "b"]\n}',
        "@article{foo,\n  author = {A. Author},\n  title = {Waiting},\n  year = 1999,\n}",
        "You are a helpful assistant,\nYou are given a question:\n{question}\nAnswer:",
        "     Estimate Pr(>|t|)\n(Intercept)  37.22\nF-statistic: 91.3 on 1 DF,\nR-squared: 0.75,\np-value: 1e-10 (two-sided)",
        "Client (A)\nrequest(m),\nServer (B)",
    ],
    ids=[
        "what a program printed",
        "two lines",
        "words of a picture",
        "a log of training",
        "data in JSON",
        "an entry of a bibliography",
        "a prompt",
        "a summary by R",
        "a call in a picture",
    ],
)
def test_what_is_no_procedure_is_no_algorithm_though_it_stands_in_a_fence(lines: str) -> None:
    [(_, steps)] = _listed(LISTING.format(more=f"\n```\n{lines}\n```\n"))
    assert steps[-1] == "end if"


@pytest.mark.parametrize(
    "lines",
    [
        "optimizer = AdamW([\n  {'params': low, 'lr': 8e-4},\n  {'params': high, 'lr': 2e-3},\n], weight_decay=0.5)",
        'class Verdict(Base):\n  first: Literal["0", "9"]\n  second: Literal["0", "9"]',
        ">>> doc = Doc.read('a.pdf')\n>>> doc.pages\n[<Page 1>, <Page 2>]",
        "library(TIMP)\nfit <- fitModel(list(data),\n  opt = kinopt(iter = 4))",
    ],
    ids=["groups of parameters", "fields of a class", "an example of use", "a call in R"],
)
def test_code_that_a_person_would_run_is_an_algorithm(lines: str) -> None:
    [(_, steps)] = _listed(LISTING.format(more=f"\n```\n{lines}\n```\n"))
    assert steps[6:] == lines.split("\n")


def test_two_procedures_of_two_steps_are_kept() -> None:
    said = ["Step 1: We open the door.", "Step 2: We sit down.", "Step 1: We stand up.", "Step 2: We close the door."]
    text = "\n\n".join(["To come in:", *said[:2], "To go out:", *said[2:]])
    [(_, steps)] = _listed(f"# T\n\n## 2 Sitting down\n\n{text}\n")
    assert [step for step in steps if step.startswith("Step")] == said


def test_a_listing_that_stands_there_twice_has_the_words_before_each() -> None:
    lines = "x := f(y);\ny := g(x);\nreturn y;"
    part = "## {} of Blocks\n\nFor {} blocks we do:\n\n```\n" + lines + "\n```\n\n"
    found = dict(_listed(f"# T\n\n{part.format('2 Search', 'red')}{part.format('3 Deletion', 'old')}"))
    assert [steps[0] for steps in found.values()] == ["For red blocks we do:", "For old blocks we do:"]


BOXED = "Algorithm {0}: Sorting of grid {0}\n\n```\nfor each block b do\n  move b to its place\nend for\n```\n\n"


def test_many_boxes_of_others_leave_those_of_the_method() -> None:
    others = "".join(BOXED.format(number) for number in range(1, 60))
    text = f"# T\n\n## 2 Related Work\n\n{others}## 3 Method\n\nWe sort.\n\n{BOXED.format(60)}"
    assert [name for name, _ in _listed(text)] == ["Sorting of grid 60"]


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [("Dear maker,\n1. I am here.\n2. I am well.", False), ("for each letter x\n  send x\nend for", True)],
    ids=["a letter", "lines that do something"],
)
def test_a_box_far_from_the_method_is_an_algorithm_where_the_text_points_to_it_and_its_lines_do_something(
    lines: str, is_found: bool
) -> None:
    box = f"Listing 2: A letter of our model\n\n```\n{lines}\n```\n"
    text = f"# T\n\n## 2 Method\n\nWe write. Listing 2 shows how.\n\n## A Sample Outputs\n\n{box}"
    assert bool(_listed(text)) == is_found


def test_what_a_caption_says_of_a_second_algorithm_is_not_told_of_the_first() -> None:
    caption = "(a) Pseudo code for a waiter. Here r is its room. (b) Pseudo code for a guest. Here h is its host."
    fence = f"```algorithm\nFigure 3: {caption}\nfor each room r\n  wait(r)\nend for\n```"
    [row] = read(f"# T\n\n## 2 Method\n\nA waiter waits in its room. Figure 3 shows it.\n\n{fence}\n").plan[
        "components"
    ]
    assert row["what"].endswith("Here r is its room.")


def test_a_listing_with_a_caption_is_said_once() -> None:
    boxed = "\n```\nAlgorithm 1: Reclaim\nfor each page X\n  evict X\nreturn\n```\n"
    rows = read(LISTING.format(more=boxed)).plan["components"]
    said = [step for row in rows for step in row.get("steps", ())]
    assert said.count("  evict X") == 1


def test_code_that_declares_a_name_is_the_algorithm_of_that_part_and_not_of_its_section() -> None:
    declared = "def ZeroOnePack(F, C, W)\n    for v ← V to C\n        F[v] ← max(F[v], F[v - C] + W)"
    found = dict(_listed(LISTING.format(more=f"\n```\n{declared}\n```\n")))
    assert found["ZeroOnePack"] == declared.split("\n")
    assert not any("ZeroOnePack" in step for step in found["Two Queues"])
    assert "Pack" not in dict(_listed(LISTING.format(more="\n```\nPack(F, C)\nx ← 1\nreturn x\n```\n")))


UNNAMED = """# LWR: Layer-Wise Rates for Waiting

## Abstract

We propose Layer-Wise Rates (LWR), a way to train.

## 2 Method

We set the groups of parameters so:

```
optimizer = AdamW([
  {'params': low, 'lr': 8e-4},
], weight_decay=0.5)
```

We train each group with a rate of its own and store it in the table.
"""


def test_a_listing_that_nothing_names_is_of_the_papers_own_method_and_no_part_or_file_is_called_steps() -> None:
    plan = read(UNNAMED).plan
    [row] = [row for row in plan["components"] if row.get("steps")]
    assert row["name"] in ("LWR", "Layer-Wise Rates")
    assert not any(one["path"].endswith("/steps.py") for one in plan["file_structure"])


def test_steps_that_have_no_name_at_all_are_given_nothing_that_is_only_said_in_their_section() -> None:
    text = UNNAMED.replace("(LWR)", "").replace("LWR: Layer-Wise", "On").replace("Layer-Wise Rates", "a thing")
    plan = read(f"{text}\nWe store all numbers of the table in a file.\n").plan
    said = next(row["id"] for row in plan["requirements"] if "numbers" in row["text"])
    assert not any(said in row["requirements"] for row in plan["components"] if row["name"] == "steps")
