"""Tables of results, read as a person would: under which heads a number stands, whose it is, and whether it was measured."""

from __future__ import annotations

from typing import Any

import pytest

from phases.planning.plan_view import render_plan
from phases.planning.rules.cells import cells_of, plain_cell
from phases.planning.rules.results import shorten_caption
from phases.planning.rules.table_kinds import metric_of, metric_of_caption
from phases.planning.rules.tables import Grid, read_grid
from tests.papers import read

PAPER = "# Slow: Waiting for Everyone\n\n## 2 Method\n\nWe keep a queue of all rooms.\n\n## 5 Results\n\n{}\n"


def results_of(text: str) -> list[tuple[str, str, str, Any]]:
    rows = read(PAPER.format(text)).plan["expected_results"]
    return [(row["table"], row["row"], row["column"], row["value"]) for row in rows]


def table(*lines: str) -> str:
    first, *others = (f"| {line} |" for line in lines)
    return "\n".join([first, "|" + "---|" * (first.count("|") - 1), *others])


def grid(*lines: str) -> Grid:
    return read_grid(cells_of(table(*lines)))


def test_a_name_in_the_middle_of_its_columns_stands_over_all_of_them() -> None:
    assert grid(
        "Model |  | Full |  | Part | Part | ", "| P | R | F1 | P | R | F1", "A | 1.5 | 2 | 3 | 4 | 5 | 6"
    ).heads == ["Full / P", "Full / R", "Full / F1", "Part / P", "Part / R", "Part / F1"]


def test_a_name_in_the_middle_of_the_columns_that_one_head_spans_stands_over_all_of_them() -> None:
    read = grid(
        "Model | Small | Large | Large | Large",
        "Data | Halls |  | Rooms | ",
        "Rule | Head | Head | Low | Full",
        "A | 1.5 | 2.5 | 3.5 | 4.5",
    )
    assert read.heads[1:] == ["Large / Rooms / Head", "Large / Rooms / Low", "Large / Rooms / Full"]


def test_a_group_of_rows_that_add_to_its_name_ends_where_a_row_adds_nothing() -> None:
    read = grid("Rule | Hits", "Replay | ", "w/ Old | 1.5", "w/ New | 2.5", "Other | 3.5")
    assert [label for label, _ in read.rows] == ["Replay w/ Old", "Replay w/ New", "Other"]


def test_a_head_that_a_reader_cut_in_two_is_in_one_group_with_its_half() -> None:
    read = grid(
        " | Oak |  | Ash |  |  ",
        "Tool | Hits | Loss % | Hits | Loss | %",
        "A | 1.5 | 2.5 | 3.5 | 4.5 | ",
        "B | 1 | 2 | 3 | 4 | ",
    )
    assert read.heads == ["Oak / Hits", "Oak / Loss %", "Ash / Hits", "Ash / Loss", "Ash / %"]


def test_a_column_behind_the_groups_belongs_to_none_of_them() -> None:
    read = grid(
        "Rule | Sevens | Sevens | Fours |  | Comp.", "| Low | High | Low | High | time", "A | 1% | 2% | 3% | 4% | 5s"
    )
    assert read.heads == ["Sevens / Low", "Sevens / High", "Fours / Low", "Fours / High", "Comp. / time"]


def test_numbers_under_a_name_and_over_words_are_heads() -> None:
    read = grid(
        "Set | Rule | 10 |  | 20 | ",
        " |  | Acc | Loss | Acc | Loss",
        "A | Ours | 9.5 | 1 | 8.5 | 2",
        " | Old | 9 | 1 | 8 | 2",
    )
    assert read.heads == ["10 / Acc", "10 / Loss", "20 / Acc", "20 / Loss"]
    assert [label for label, _ in read.rows] == ["A / Ours", "A / Old"]


def test_the_parts_of_a_label_beside_its_rows_are_put_together() -> None:
    read = grid("Rule | Guest | Time", "Most | Old | 1.5", "news | New | 2.5", " | Old | 3.5", "None | New | 4.5")
    assert [label for label, _ in read.rows] == ["Most news / Old", "Most news / New", "None / Old", "None / New"]


def test_settings_beside_a_label_tell_its_rows_apart() -> None:
    read = grid(
        "| N | d_ff | BLEU",
        "base | 6 | 2048 | 25.8",
        "| 2 |  | 23.7",
        "(C) |  |  | ",
        "|  | 1024 | 25.4",
        "big | 6 | 4096 | 26.4",
    )
    assert [label for label, _ in read.rows] == ["base", "(C) N=2", "(C) d_ff=1024", "big"]
    assert read.heads == ["BLEU"]


def test_a_label_alone_in_its_row_is_over_the_rows_below_it() -> None:
    read = grid("Rule | Hits", "Ours | ", "Queue | 1.5", "Stack | 2.5", "Others | ", "Heap | 3.5")
    assert [label for label, _ in read.rows] == ["Ours / Queue", "Ours / Stack", "Others / Heap"]


def test_a_row_of_dashes_is_no_name_of_the_rows_below_it() -> None:
    read = grid("Rule | Hits | Loss", "Queue | 1.5 | 2.5", "Hu et al. | - | -", "Stack | 2.5 | 3.5", "Heap | 3.5 | 4.5")
    assert [label for label, _ in read.rows] == ["Queue", "Stack", "Heap"]


def test_what_is_added_to_a_baseline_is_the_methods() -> None:
    rows = table("System | Hits", "Baseline | 1.5", "Baseline + queue | 2.5", "Baseline + queue + stack | 3.5")
    found = results_of(f"> **Table 1.** Accuracy\n\n{rows}")
    assert [row[1] for row in found] == ["Baseline + queue", "Baseline + queue + stack"]


def test_rows_that_count_something_are_results_and_not_heads() -> None:
    rows = table("Number of guests | Hits | Loss", "1 | 1.5 | 2.5", "2 | 2.5 | 3.5", "4 | 3.5 | 4.5")
    assert {row[1] for row in results_of(f"> **Table 1.** Accuracy\n\n{rows}")} == {
        f"Number of guests={n}" for n in (1, 2, 4)
    }


def test_a_column_with_a_letter_over_what_was_measured_is_no_setting() -> None:
    assert grid("Rule | A | B", "Queue | 1.52 | 2.53", "Stack | 2.54 | 3.55").heads == ["A", "B"]


def test_a_label_that_is_a_number_says_of_what() -> None:
    assert [label for label, _ in grid("Steps | Ours", "5 | 1.5", "10 | 2.5").rows] == ["Steps=5", "Steps=10"]


def test_short_names_of_methods_are_no_settings() -> None:
    lines = ("Acc. | Loss", "T5 | 81.2 | 0.31", "S4 | 82.4 | 0.29", "7 | 80.1 | 0.33")
    assert [label for label, _ in grid(f"Model | {lines[0]}", *lines[1:]).rows] == ["T5", "S4", "Model=7"]
    assert [label for label, _ in grid(f"Round | {lines[0]}", *lines[1:]).rows] == ["Round=T5", "Round=S4", "Round=7"]


@pytest.mark.parametrize("name", ["慢网络优化器", "慢网络", "Медленный"])
def test_a_method_with_a_name_in_any_script_is_known_by_it_in_tables(name: str) -> None:
    said = table("方法 | Acc.", "ResNet | 71.3", f"{name} | 83.4", "快网络 | 72.8")
    text = f"# {name}: a queue\n\n## 2 Method\n\nWe keep a queue.\n\n## 5 Results\n\nTable 1: Accuracy.\n\n{said}\n"
    plan = read(text).plan
    assert [row["row"] for row in plan["expected_results"]] == [name]


def test_names_in_another_script_are_no_repeats_of_each_other() -> None:
    tables = (
        f"Table {number}: Accuracy results.\n\n{table('Name | Acc.', f'{name} | 71.32')}"
        for number, name in ((1, "慢网络"), (2, "快网络"))
    )
    assert [row[1] for row in results_of("\n\n".join(tables))] == ["慢网络", "快网络"]


def test_heads_that_are_the_same_are_told_apart() -> None:
    assert grid("A | Wave Heat Loss | Wave Heat Hits | Wave Heat Loss | Wave Heat Hits", "x | 1.5 | 2 | 3 | 4").heads == [
        "Wave Loss", "Wave Hits", "Heat Loss", "Heat Hits",
    ]  # fmt: skip
    assert grid("A | All | All", "x | 1.5 | 2.5").heads == ["All (1 of 2)", "All (2 of 2)"]


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        (r"$\bf{\textcolor{brickred}{.912}}$ $\pm.002$", ".912 ±.002"),
        ("**FID $\\downarrow$**", "FID ↓"),
        ("l2ptr2pt)2-3 lr)4-5 **Steps**", "Steps"),
        ("R2D2* ours", "R2D2* ours"),
        ("batch_size", "batch_size"),
        (r"\best{0.93}", "0.93"),
        ("0,82", "0.82"),
        ("1,024", "1,024"),
    ],
)
def test_a_cell_is_read_without_its_marks(cell: str, plain: str) -> None:
    assert plain_cell(cell) == plain


def test_tables_with_the_same_heads_have_each_its_own_caption() -> None:
    one, other = (
        table("Rule | Slow | Old", "A | 1.25 | 2", "B | 3.25 | 4"),
        table("Rule | Slow | Old", "C | 5.25 | 6", "D | 7.25 | 8"),
    )
    text = f"> **Table 1.** Accuracy of all\n\n{one}\n\nThen.\n\n> **Table 2.** Loss of all\n\n{other}"
    assert [row[:2] for row in results_of(text)] == [
        ("Table 1", "A"),
        ("Table 1", "B"),
        ("Table 2", "C"),
        ("Table 2", "D"),
    ]


def test_a_number_that_a_later_table_prints_again_is_one_result() -> None:
    one, other = (
        table("Rule | Slow | Old", "A | 82.5% | 2%"),
        table("Rule | Slow (first) | Slow (tuned)", "A | 82.5% | 82.8%"),
    )
    text = f"> **Table 1.** Accuracy of all\n\n{one}\n\nThen.\n\n> **Table 2.** Accuracy of all, tuned\n\n{other}"
    assert results_of(text) == [("Table 1", "A", "Slow", 82.5), ("Table 2", "A", "Slow (tuned)", 82.8)]


def test_where_no_row_is_the_method_s_those_of_others_are_left_out() -> None:
    rows = table(
        "Rule | Hits", "Random | 1.5", "Hurry (Hu et al., 2020) | 2.5", "Hurry [7] | 3.5", "Queue | 4.5", "Stack | 5.5"
    )
    assert [row[1] for row in results_of(f"> **Table 1.** Accuracy\n\n{rows}")] == ["Queue", "Stack"]


@pytest.mark.parametrize(
    ("caption", "lines"),
    [
        ("Hyper-parameters of all models", ("Parameter | Value", "Learning rate | 0.1", "Layers | 6")),
        ("Statistics of the data", ("Name | # Rows | # Train", "Oak | 48842 | 28943", "Ash | 30000 | 24000")),
        (
            "The two models",
            ("Name | Layers | Width", "Batch size | 32 | 64", "Hidden size | 128 | 256", "Epochs | 5 | 6"),
        ),
        ("Accuracy over time", (" |  |  | Hits", "0 |  |  | 20", " | 0 | 40 | 60")),
        ("The first hits of a year", ("Year | Artist | Rank", "2000 | 98 | 87", "2000 | 91 | 82", "2000 | 81 | 70")),
    ],
    ids=["settings", "data", "labels of settings", "a picture's axes", "rows that nothing tells apart"],
)
def test_what_was_not_measured_is_no_result(caption: str, lines: tuple[str, ...]) -> None:
    assert results_of(f"> **Table 1.** {caption}\n\n{table(*lines)}") == []


def test_numbers_that_look_measured_are_results_whatever_the_caption_says() -> None:
    rows = table("SetSize | Slow | Hash", "8K | 0.82 | 1.07", "16K | 0.81 | 1.44", "32K | 0.93 | 2.53")
    assert results_of(f"> **Table 1.** Search\n\n{rows}")[0] == ("Table 1", "8K", "Slow", 0.82)


def test_a_result_in_a_sentence_is_one_where_no_table_has_it() -> None:
    said = "Our waiter achieves a BLEU score of 41.0 on WMT. Training stops when the error is below 0.5%."
    assert results_of(said) == [("text of section 5", "the method", "BLEU score on WMT", 41.0)]
    rows = table("Rule | BLEU", "Slow | 41.0", "Old | 40.0")
    assert [row[0] for row in results_of(f"{said}\n\n> **Table 1.** Results\n\n{rows}")] == ["Table 1"]


def test_the_second_of_two_numbers_of_one_thing_is_another_s() -> None:
    said = "Our waiter had a precision of 0.75, which Hurry could not reach with guests that had a precision of 0.34."
    assert [row[2:] for row in results_of(said)] == [("precision", 0.75)]


@pytest.mark.parametrize(
    ("said", "column", "value"),
    [
        ("Our queue is about 30 times faster than CC-Queue.", "faster than CC-Queue", 30),
        (
            "Our queue achieves 2.8× the throughput of CC-Queue on Power7.",
            "throughput relative to CC-Queue on Power7",
            2.8,
        ),
        ("Our queue outperforms CC-Queue by about 65%.", "performance above that of CC-Queue", 65),
        ("Our queue's latency is lower than that of CC-Queue by 40%.", "latency lower than CC-Queue", 40),
        ("Our queue needs half the memory of CC-Queue.", "memory relative to CC-Queue", 0.5),
        ("On the pairs benchmark, our queue is twice as fast as LCRQ.", "speed relative to LCRQ on pairs benchmark", 2),
    ],
    ids=[
        "times faster",
        "a factor of a metric",
        "by a share",
        "a metric of its own",
        "in words",
        "on what it begins with",
    ],
)
def test_how_much_better_than_another_is_a_result(said: str, column: str, value: float) -> None:
    assert [row[2:] for row in results_of(said)] == [(column, value)]


@pytest.mark.parametrize(
    "said",
    [
        "CC-Queue is 30 times faster than our queue.",
        "CC-Queue outperforms LCRQ by 65%.",
        "Our queue is 3-4 times faster than CC-Queue.",
    ],
    ids=["the other's", "of two others", "a range"],
)
def test_what_others_reach_and_a_range_are_no_result_of_the_method(said: str) -> None:
    assert results_of(said) == []


@pytest.mark.parametrize(
    ("column", "caption", "metric"),
    [
        ("Full / P", "Grobid returns boxes", "precision"),
        ("Oak / Loss %", "Accuracy", "Loss %"),
        ("FID ↓", "Scores after 60 fine-tuning steps", "FID"),
        ("Slow", "Accuracy with tuned learning rates", "Accuracy"),
        ("Slow", "Between tuned learning rates", ""),
        ("Slow", "Test error, and the loss on the way", ""),
        ("Slow", "Most orders are returned by the waiter", ""),
        ("Teacher steps=100", "Results with different teacher steps", ""),
        ("Guests / k=20%", "Hit rate of the waiters", "rate"),
        ("error bound=0.1 / Cooking time", "Large rooms", "time"),
        ("Score (T=0)", "Large rooms", "Score"),
        ("Winrate (%)", "Win rate and length", "Winrate"),
    ],
)
def test_a_metric_is_named_by_the_column_else_by_a_caption_that_names_one(
    column: str, caption: str, metric: str
) -> None:
    assert metric_of(column, "Queue", metric_of_caption(caption, [column])) == metric


def test_columns_beside_one_that_is_named_after_the_metric_have_not_that_metric() -> None:
    assert metric_of_caption("Test error in percent", ["Error at 0", "Writes"]) == ""


def test_a_long_caption_ends_where_a_phrase_ends() -> None:
    assert (
        shorten_caption("Error for three rates (mean and deviation over five seeds), and more.", 8)
        == "Error for three rates"
    )
    assert shorten_caption("Hits of the waiter with a queue of rooms.", 5) == "Hits of the waiter"


def test_all_rows_of_a_table_have_one_condition_so_that_it_is_read_once() -> None:
    rows = table("Rule | Oak | A head of a great many words for one column", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")
    caption = "Hits of the waiter with a queue of rooms, in one building of many floors, at night"
    made = read(PAPER.format(f"> **Table 1.** {caption}\n\n{rows}")).plan["expected_results"]
    assert [row["condition"] for row in made] == ["Hits of the waiter with a queue of rooms"] * 2


@pytest.mark.parametrize(("tables", "rows"), [(8, 20), (40, 9), pytest.param(100, 9, marks=pytest.mark.slow)])
def test_of_many_numbers_the_first_table_is_whole_and_there_is_an_end(tables: int, rows: int) -> None:
    texts = []
    for number in range(1, tables + 1):
        lines = (f"room {chr(97 + row)} | {number}.{row + 10} | 1.5" for row in range(rows))
        texts.append(f"> **Table {number}.** Hits\n\n{table('Rule | Slow | Old', *lines)}")
    found = results_of("\n\nThen it goes on.\n\n".join(texts))
    assert len(found) <= 150
    assert len({row[0] for row in found}) == tables
    assert tables > 50 or sum(row[0] == "Table 1" for row in found) == rows


def test_an_experiment_has_the_whole_caption_and_no_quick_size_where_the_paper_gives_none() -> None:
    rows = table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")
    caption = "Hits on all trees. In percent, over one night."
    plan = read(PAPER.format(f"> **Table 1.** {caption}\n\n{rows}")).plan
    assert plan["experiments"] == [{"id": "X1", "what": f"{caption} (Table 1, page 1)", "results": ["E1", "E2"]}]
    assert "A quick size does not follow from the paper" in render_plan(plan)


def test_a_quick_size_is_the_least_of_the_rows_and_a_part_of_what_the_paper_repeats() -> None:
    rows = table("Rooms | Slow | Old", "8K | 41.5 | 42.5", "16K | 40.5 | 39.5", "1M | 40.5 | 38.5")
    text = "## 4 Setup\n\nWe use 5 seeds. We train for 300 epochs with a batch size of 16.\n\n## 5 Results\n\n"
    plan = read(PAPER.replace("## 5 Results\n\n", text).format(f"> **Table 1.** Hits\n\n{rows}")).plan
    [experiment] = plan["experiments"]
    ids = {row["name"].removeprefix("number of "): row["id"] for row in plan["values"]}
    assert experiment["full"] == f"As in the paper: seeds 5 ({ids['seeds']}), epochs 300 ({ids['epochs']})."
    assert experiment["quick"] == (
        f"Row '8K' alone, the least of 3; seeds 1 of 5 ({ids['seeds']}), epochs 30 of 300 ({ids['epochs']})."
    )


DRAWN = [
    pytest.param("Throughput of the rules as guests come.", True, id="what was measured"),
    pytest.param("Overview of the hall and its performance.", False, id="how something is made"),
    pytest.param("The hall at night.", False, id="nothing that is measured"),
]


@pytest.mark.parametrize(("caption", "is_run"), DRAWN)
def test_what_was_measured_and_is_only_drawn_is_run_too(caption: str, is_run: bool) -> None:
    plan = read(PAPER.format(f"> **Figure 1.** {caption}\n\nIt is fast.")).plan
    said = f"{caption} (Figure 1, page 1: drawn, no number of it is read)"
    assert [row["what"] for row in plan["experiments"]] == [said] * is_run


def test_numbers_in_a_table_without_a_caption_are_run_where_the_paper_has_no_others() -> None:
    rows = table("Program | 15 guests | 24 guests", "old | .79 | 1.27", "new | .18 | .21")
    hall = f"## 2 The Hall\n\nThe hall holds guests.\n\n{rows}\n\n"
    plan = read(f"# Halls\n\n## 1 Introduction\n\nHalls are old.\n\n{hall}").plan
    said = "Unnumbered table on page 1: which of its numbers are the method's is not known"
    assert [row["what"] for row in plan["experiments"]] == [said]


@pytest.mark.parametrize(
    ("said", "quick"),
    [
        pytest.param("We train for 3000 steps.", "Steps 300 of 3000", id="steps of the training"),
        pytest.param("We do 30 steps of updates on one door to fix it.", "", id="steps of the method itself"),
        pytest.param("During the check, the learner is presented with 10 items.", "", id="what one case is made of"),
        pytest.param("We use 15 examples per class for the check.", "", id="so many of each class"),
    ],
)
def test_a_quick_size_cuts_the_length_of_a_run_and_nothing_of_the_method(said: str, quick: str) -> None:
    rows = table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")
    text = f"## 4 Setup\n\n{said}\n\n## 5 Results\n\n"
    plan = read(PAPER.replace("## 5 Results\n\n", text).format(f"> **Table 1.** Hits\n\n{rows}")).plan
    assert len(plan["values"]) == 1
    assert plan["experiments"][0].get("quick", "").partition(" (")[0] == quick


def test_what_a_program_is_run_on_is_told_in_the_papers_words() -> None:
    text = (
        "The waiter generates batches of 2,000 requests and keeps 100 requests waiting. It is faster than 90 clients."
    )
    [experiment] = read(PAPER.format(text)).plan["experiments"]
    said = "The waiter generates batches of 2,000 requests and keeps 100 requests waiting."
    assert experiment["what"] == f"The load, in the paper's words: “{said}” (5, p. 1)"


def test_every_table_of_a_paper_is_told_as_what_it_is_used() -> None:
    tables = [
        ("1", "Hyper-parameters of the queue", table("Name | Value", "Learning rate | 0.1", "Batch size | 32")),
        ("2", "Hits on all trees", table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")),
        ("3", "Statistics of the data sets", table("Set | Rows | Classes", "Oak | 100 | 2", "Ash | 200 | 3")),
        ("4", "Which rule needs what", table("Rule | Needs", "Slow | a queue", "Old | a bell")),
    ]
    plan = read(PAPER.format("\n\n".join(f"> **Table {at}.** {said}.\n\n{rows}" for at, said, rows in tables))).plan
    assert [row["used_as"] for row in plan["tables"]] == ["settings", "results", "data", "none"]
    shown = " ".join(render_plan(plan).split())
    assert (
        "Tables of the paper: results: Table 2; settings: Table 1; facts of the data: Table 3; "
        "not used (words and no numbers): Table 4"
    ) in shown


def test_a_wide_table_of_results_is_shown_in_parts_of_a_few_columns() -> None:
    names = [f"{rule} on {tree}" for rule in ("Slow", "Slow, late") for tree in ("oaks", "ashes", "elms", "firs")]
    rows = table(f"Hits of Slow after | {' | '.join(names)}", "1 hour" + " | 41.5" * 8, "2 hours" + " | 42.5" * 8)
    plan = read(PAPER.format(f"> **Table 1.** Hits\n\n{rows}")).plan
    assert len(plan["expected_results"]) == 16
    lines = [line.split() for line in render_plan(plan).split("\n") if " hour" in line]
    assert [line[0] for line in lines] == ["E1–E4", "E9–E12", "E5–E8", "E13–E16"]
    assert all(line[-4:] == [line[-1]] * 4 for line in lines)


def test_a_table_that_is_not_taken_whole_says_so() -> None:
    lines = [[f"{at} | {place}{at}.5 | {place}{at}.25" for at in range(1, 46)] for place in (1, 2)]
    tables = [
        f"> **Table {at}.** Hits\n\n{table('Rooms | Slow | Slow, late', *rows)}" for at, rows in enumerate(lines, 1)
    ]
    plan = read(PAPER.format("\n\n".join(tables))).plan
    kept = [sum(row["table"] == name for row in plan["expected_results"]) for name in ("Table 1", "Table 2")]
    assert sum(kept) < 180
    shown = " ".join(render_plan(plan).split())
    assert all(f"({count} of its 90 values)" in shown for count in kept if count < 90)


def test_a_caption_with_a_roman_number_is_one() -> None:
    rows = table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")
    assert {row[0] for row in results_of(f"{rows}\n\n> **TABLE IV.** HITS ON ALL TREES")} == {"TABLE IV"}


def test_pairs_side_by_side_are_read_one_below_the_other() -> None:
    read = grid("Hash | 0.36 µs | Sign | 458 µs", "Code | 1.7 µs | Check | 27 µs")
    assert read.rows == [("Hash", ["0.36 µs"]), ("Code", ["1.7 µs"]), ("Sign", ["458 µs"]), ("Check", ["27 µs"])]
    headed = grid("Tree | Hits | Tree | Hits", "Oak | 4.5 | Ash | 3.5", "Elm | 2.5 | Fir | 1.5")
    assert (headed.heads, [label for label, _ in headed.rows]) == (["Hits"], ["Oak", "Elm", "Ash", "Fir"])


def test_a_method_beside_its_own_settings_is_no_pair() -> None:
    read = grid("Rule | Rooms | Base | Loss", "Slow | 4 | Oak | 3.5", "Old | 5 | Ash | 1.5")
    assert [label for label, _ in read.rows] == ["Slow", "Old"]


def test_numbers_over_columns_are_told_by_what_stands_on_their_left() -> None:
    rows = table(
        "Temperature | 0.0 | 0.5 | 0.7 | 1.0", "Slow | 28.5 | 29.46 | 30.1 | 27.4", "Old | 8.5 | 9.4 | 3.1 | 7.4"
    )
    found = results_of(f"> **Table 1.** Hits\n\n{rows}")
    assert found[:2] == [("Table 1", "Slow", "Temperature=0.0", 28.5), ("Table 1", "Slow", "Temperature=0.5", 29.46)]


def test_columns_that_lost_their_heads_are_told_apart_by_their_places() -> None:
    rows = table("Slow | 28.5 | 29.46 | 30.1", "Old | 8.5 | 9.4 | 3.1")
    assert [row[2] for row in results_of(f"> **Table 1.** Hits\n\n{rows}")] == [
        f"unnamed column ({at} of 3)" for at in (1, 2, 3)
    ]


def test_rows_with_one_label_and_parts_of_one_head_are_told_apart() -> None:
    rows = table(
        "Rule | Oak | Ash | Oak Ash",
        "Old | 8.5 | 9.5 | 7.5 6.5",
        "Slow | 1.5 | 2.5 | 3.5 4.5",
        "+ bell | 1.5 | 5.5 | 6.5 7.5",
        "Slow | 2.5 | 3.5 | 4.5 5.5",
        "+ bell | 3.5 | 4.5 | 5.5 6.5",
    )
    found = results_of(f"> **Table 1.** Hits\n\n{rows}")
    assert [row[1:] for row in found if row[1].startswith("Slow (1")] == [
        ("Slow (1 of 2)", "Oak (1 of 2)", 1.5),
        ("Slow (1 of 2)", "Ash (1 of 2)", 2.5),
        ("Slow (1 of 2)", "Oak (2 of 2)", 3.5),
        ("Slow (1 of 2)", "Ash (2 of 2)", 4.5),
    ]
    assert [row[1] for row in found][4:12:4] == ["Slow + bell (1 of 2)", "Slow (2 of 2)"]


def test_tables_under_one_caption_are_told_apart() -> None:
    rows = table("Rule | Oak | Ash", "Slow | 41.5 | 42.5", "Old | 40.5 | 39.5")
    more = rows.replace("4", "6")
    found = results_of(f"> **Table 1.** Hits\n\n{rows}\n\nAnd then:\n\n{more}")
    assert [row[0] for row in found] == ["Table 1, part 1 of 2"] * 2 + ["Table 1, part 2 of 2"] * 2


@pytest.mark.parametrize(
    ("head", "unit"), [("Steps to 99% hits", ""), ("Hits (%)", "%"), ("% of hits", "%"), ("Time (ms)", "ms")]
)
def test_a_percent_sign_behind_a_number_is_no_unit(head: str, unit: str) -> None:
    rows = table(f"Rule | {head}", "Slow | 41.5", "Old | 40.5")
    [row] = read(PAPER.format(f"> **Table 1.** Hits of the waiter\n\n{rows}")).plan["expected_results"]
    assert row["unit"] == unit


def test_what_is_chosen_is_no_result_though_it_stands_beside_some() -> None:
    rows = table("Rule | Temperature | Hits", "Slow | 0.7 | 41.52", "Old | 0.9 | 40.51")
    assert [row[2:] for row in results_of(f"> **Table 1.** Best hits\n\n{rows}")] == [("Hits", 41.52)]


def test_a_time_is_told_with_what_takes_it_and_quoted() -> None:
    said = "With our queue it took on average 7.5 milliseconds to fetch a 40 kB picture, with all doors open."
    [row] = read(PAPER.format(said)).plan["expected_results"]
    assert (row["column"], row["value"], row["unit"], row["quote"]) == (
        "time to fetch a 40 kB picture",
        7.5,
        "ms",
        said,
    )


@pytest.mark.parametrize(
    "said",
    [
        "The hit rate of Bell is 60.5% on Oak, and Slow rings.",
        "The hit rate of Slow is about 70.5% of its old hit rate.",
    ],
)
def test_what_is_said_of_another_or_as_a_share_is_no_result(said: str) -> None:
    assert results_of(said) == []


def test_heads_that_stand_again_over_each_part_of_a_table_name_the_rows_below() -> None:
    read = grid(
        "Oak | 5 | 10 | 20",
        "Slow | 1.5 | 2.5 | 3.5",
        "Old | 4.5 | 5.5 | 6.5",
        "Ash | 5 | 10 | 20",
        "Slow | 7.5 | 8.5 | 9.5",
    )
    assert read.heads == ["5", "10", "20"]
    assert [label for label, _ in read.rows] == ["Oak / Slow", "Oak / Old", "Ash / Slow"]


def test_labels_in_the_middle_of_their_groups_are_those_of_all_rows_around_them() -> None:
    rows = ["base | 8 | 4.9", " | 1 | 5.3", " | 4 | 5.1", "(A) |  | ", " | 16 | 4.8", " | 32 | 5.4",
            " | 2 | 6.1", "(B) | 3 | 5.2", " | 5 | 5.7", "big | 9 | 4.3"]  # fmt: skip
    read = grid(" | h | Loss", *rows)
    assert [label.split()[0] for label, _ in read.rows] == ["base", *["(A)"] * 4, *["(B)"] * 3, "big"]
