"""The page that puts the paper next to the code: every link leads somewhere, and nothing in it can run or load."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.evidence.locate import locate_demands
from phases.evidence.observation import NOTHING
from phases.evidence.traceability import build_table
from phases.pages.trace_page import MOST_LINES, PAGE_START, Traced, render_page
from pipeline.base.formats import Markdown, compose_markdown
from tests.sound_pages import Seen, assert_sound
from tests.strategies import NASTY, QUICK

BODY = """<!-- page 1 -->

# Slow Waiting

We wait, and measure how long.

## 1 Method

<!-- page 2 -->

We minimize the cross-entropy
loss of the waiter. We use a rate of 0.1.

We wait, and measure again.

| a | b |

$$ y = x $$
"""
CODE = {
    "README.md": "# Waiting\n",
    "model/wait.py": 'RATE = 0.2  # R2\n\n\ndef wait(room):\n    """R1: waits."""\n    return room + RATE\n\n\n'
    'class Room:\n    """R3."""\n\n    def enter(self):\n        raise NotImplementedError\n',
    "tests/test_wait.py": "def test_waits():\n    assert wait(1) == 1.2\n",
}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>&\x1b[2J\u202e\ud800</pre></mark>"


def requirement(identifier: str, quote: str, *, page: int = 2, **more: Any) -> dict[str, Any]:
    source = {"section": "1", "page": page, "quote": quote}
    return {
        "id": identifier,
        "kind": "algorithm",
        "text": f"text of {identifier}",
        "source": source,
        "status": "stated",
    } | more


REQUIREMENTS = [
    requirement("R1", "We wait, and measure"),
    requirement("R2", "a rate of 0.1.", kind="hyperparameter", value=0.1),
    requirement("R3", "the cross-entropy loss of the waiter. We use"),
    requirement("R4", "words that stand nowhere"),
    requirement("R5", "", page=9),
]
STATUSES = {"R1": "run", "R2": "located", "R3": "stubbed"}


def traced(
    body: str = BODY,
    requirements: list[dict[str, Any]] | None = None,
    files: dict[str, str] | None = None,
    verified_by: Sequence[str] = ("own tests (1)",),
) -> Traced:
    requirements, files = requirements or REQUIREMENTS, CODE if files is None else files
    plan = {"paper": {"title": "Slow Waiting"}, "requirements": requirements, "file_structure": [], "components": []}
    table = build_table(plan, files, NOTHING)
    judged = {"verdict": "differs", "by": "a model", "file": "model/wait.py", "line": 4, "sentence": "It waits twice."}
    rows = [
        {"text": row["text"], "status": STATUSES.get(row["id"], "unlocated"), **known}
        | (
            {"tests": ["tests/test_wait.py::test_waits"], "measured": True, "judged": judged}
            if row["id"] == "R1"
            else {}
        )
        for row, known in zip(requirements, table, strict=True)
    ]
    paper: Markdown = compose_markdown({"title": "Slow Waiting"}, body)
    return Traced(paper, plan, rows, locate_demands(plan, files), files, verified_by)


def test_the_page_shows_paper_and_code_with_links_both_ways() -> None:
    page = render_page(traced())
    seen = assert_sound(page)
    assert page.startswith(PAGE_START)
    assert "default-src 'none'" in page
    for name in ("quote-R1", "quote-R2", "quote-R3", "R1", "R5", "code-1-1", "code-1-4", "code-1-9"):
        assert name in seen.ids, name
    for link in ("#quote-R1", "#code-1-4", "#R1", "#requirements", "#paper", "#code"):
        assert link in seen.links, link


@pytest.mark.parametrize(
    ("verified_by", "told"),
    [
        (["own tests (1)"], "Checked by its own tests only; 2 of 5"),
        (["own tests (1)", "reviewer"], "Checked by own tests (1), reviewer; 2 of 5"),
        ([], "2 of 5"),
    ],
    ids=["own tests", "a reviewer, too", "nobody"],
)
def test_who_vouches_the_counts_and_what_is_known_of_a_row_are_said_in_words(verified_by: list[str], told: str) -> None:
    words = Seen(render_page(traced(verified_by=verified_by))).words
    counts = (
        "requirements and values located, 1 run by passing tests, 1 stub, 0 meet the text by the reviewer, 1 differs."
    )
    assert f"{told} {counts}" in words
    assert "differs in model/wait.py, line 4: It waits twice. (a model)" in words
    assert "the plan says 0.1, model/wait.py:RATE is 0.2" in words
    assert "tests/test_wait.py::test_waits" in words
    assert "nowhere" in words


def test_a_quote_is_marked_on_its_own_page_and_over_line_ends() -> None:
    page = render_page(traced())
    seen = Seen(page)
    assert ("run", "We wait, and measure") in seen.marked
    assert page.index('id="quote-R1"') > page.index('id="page-2"')
    marked = "".join(words for status, words in seen.marked if status == "stubbed")
    assert marked.split() == ["the", "cross-entropy", "loss", "of", "the", "waiter.", "We", "use"]


def test_a_quote_that_is_not_in_the_text_is_said_to_be_none() -> None:
    seen = Seen(render_page(traced()))
    assert seen.words.count("the quote is not in the text as it stands") == 2
    assert "quote-R4" not in seen.ids


def test_quotes_that_overlap_are_all_marked_and_linked() -> None:
    rows = [requirement("R1", "We use a rate"), requirement("R2", "use a rate of 0.1."), requirement("R3", "a rate")]
    seen = assert_sound(render_page(traced(requirements=rows)))
    assert {"quote-R1", "quote-R2", "quote-R3"} <= set(seen.ids)
    assert "".join(words for _, words in seen.marked) == "We use a rate of 0.1."


def test_a_quote_that_runs_over_blocks_is_marked_in_each() -> None:
    rows = [requirement("R1", "of 0.1. We wait, and"), requirement("R2", "We wait,")]
    seen = assert_sound(render_page(traced(requirements=rows)))
    assert "".join(words for _, words in seen.marked).split() == ["of", "0.1.", "We", "wait,", "and"]


def test_the_code_has_every_line_once_and_the_innermost_status() -> None:
    page = render_page(traced())
    lines = re.findall(r'<span class="line ([a-z]*)"[^>]*>(.*?)</span>', page)
    assert len(lines) == sum(text.count("\n") for text in CODE.values())
    shown = [(kind, unescape(re.sub(r"<a .*", "", text))) for kind, text in lines]
    assert ("run", "def wait(room):") in shown
    assert ("stubbed", "        raise NotImplementedError") in shown
    assert ("", "    assert wait(1) == 1.2") in shown
    assert ("", "# Waiting") in shown


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_lines_are_counted_as_python_counts_them(end: str) -> None:
    text = end.join(["x = 'a\x0cb\u2028c'", "", "RATE = 1  # R1", ""])
    assert '<span class="line run" data-n="3" id="code-0-3">RATE = 1' in render_page(traced(files={"a.py": text}))


def test_a_task_without_code_has_a_page() -> None:
    assert "No file is written." in assert_sound(render_page(traced(files={}))).words


def test_a_long_file_is_cut_and_that_is_said() -> None:
    seen = assert_sound(render_page(traced(files={"a.py": "x = 1\n" * (MOST_LINES + 7) + "RATE = 1  # R1\n"})))
    assert "… 8 more lines" in seen.words


def test_a_large_paper_has_a_page() -> None:
    body = BODY + "".join(
        f"\n<!-- page {number} -->\n\n## {number} More\n\n{'Words. ' * 400}\n" for number in range(3, 400)
    )
    rows = [requirement(f"R{number}", f"{number} More", page=number) for number in range(3, 400)]
    seen = assert_sound(render_page(traced(body, rows)))
    assert sum(name.startswith("quote-") for name in seen.ids) == 397


def test_what_a_stranger_wrote_is_shown_and_does_nothing() -> None:
    rows = [requirement("R1", HOSTILE.replace("\ud800", ""), text=HOSTILE, kind=HOSTILE)]
    rows[0]["source"]["section"] = HOSTILE
    body = f"# {HOSTILE}\n\n{HOSTILE}\n\n> {HOSTILE}\n"
    code = {f"{HOSTILE}.md": HOSTILE, "a.py": f"# R1 {HOSTILE!r}\ndef wait():\n    {HOSTILE!r}\n    return 1\n"}
    made = traced(body, rows, code)
    made.plan["paper"]["title"] = HOSTILE
    seen = assert_sound(render_page(made))
    assert seen.words.count("<script>alert(1)</script>") >= 8
    assert r"\x1b[2J\u202e" in seen.words


@given(st.one_of(st.sampled_from(NASTY), st.text(max_size=60)), st.one_of(st.sampled_from(NASTY), st.text(max_size=12)))
@QUICK
def test_no_text_breaks_the_page(text: str, quote: str) -> None:
    rows = [requirement("R1", quote, text=text), requirement("R2", text)]
    assert_sound(render_page(traced(f"{text}\n\n## {text}\n\n{text}{quote}", rows, {"a.py": text, text: text})))


@pytest.mark.parametrize("quote", ["a " * 3000, "(a+)+ " * 300, "\\" * 500, "$" * 500])
def test_no_quote_is_a_pattern(quote: str) -> None:
    assert_sound(render_page(traced("a" * 20_000 + " (a+)+ b\n", [requirement("R1", quote)])))
