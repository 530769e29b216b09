"""Formulas on the pages: what is set is made of known elements alone, and what cannot be set is said as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.pages.mathml import MathElement, set_formula, split_formulas
from phases.pages.render import Templates
from tests.strategies import NASTY, QUICK
from tests.web_client import Elements
from tests.work import must_end

pytest.importorskip("latex2mathml", reason="the extra [web] holds it")
HOSTILE = [
    r"\text{<script>alert(1)</script>}",
    r"\href{javascript:alert(1)}{x}",
    r"\style{background:url(//x)}{x}",
    r"\class{evil}{x}",
    r"\color{red;onclick=alert(1)} x",
    r"x<img src=x onerror=alert(1)>",
    r"\mathrm{</math><script>1</script>}",
    r"\id{main}{x}",
    r"\unicode{x3c}",
    "&lt;script&gt;",
]
EXPANDING = [
    r"\newcommand{\a}{xx}\newcommand{\b}{\a\a}\newcommand{\c}{\b\b\b\b}\c\c\c\c",
    r"\def\a{\a\a}\a",
    r"\begin{array}{*{999999}{c}}1\end{array}",
    "{" * 300,
    r"\left(" * 90 + r"\right)" * 90,
    r"\frac" * 100,
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    folder = tmp_path_factory.mktemp("templates")
    (folder / "one.html").write_text('{% from "drawing.html" import inline %}{{ inline(text|formulas) }}')
    return Templates(str(folder))


def every(element: MathElement) -> Iterator[MathElement]:
    yield element
    for child in element.inside:
        yield from every(child)


@pytest.mark.parametrize(
    ("formula", "tags"),
    [
        (r"\frac{a}{b}", {"math", "mfrac"}),
        (r"\sum_{i=1}^n x_i", {"munderover", "msubsup"}),
        (r"\sqrt{QK^T}", {"msqrt", "msup"}),
        (r"\begin{matrix}a&b\\c&d\end{matrix}", {"mtable", "mtr", "mtd"}),
        (r"\mathbb{E}_{x\sim p}[\log p(x)]", {"msub", "mo"}),
    ],
)
def test_a_formula_is_set(formula: str, tags: set[str]) -> None:
    made = set_formula(formula)
    assert isinstance(made, MathElement)
    found = {element.tag for element in every(made)}
    assert found & tags


def test_what_is_no_known_command_is_said_as_text() -> None:
    assert isinstance(set_formula(r"\undefined{x}"), str)
    assert isinstance(set_formula("x" * 601), str)


def test_the_words_around_formulas_stay_as_they_are() -> None:
    first, formula, last = split_formulas("the rate $\\alpha$ of learning")
    assert (first, last) == ("the rate ", " of learning")
    assert isinstance(formula, MathElement)
    assert split_formulas("costs $5") == ["costs $5"]


@pytest.mark.parametrize("formula", [*HOSTILE, *EXPANDING])
def test_nothing_that_a_formula_says_comes_alive_or_takes_long(templates: Templates, formula: str) -> None:
    with must_end():
        shown = Elements(templates.render("one.html", {"text": f"a ${formula}$ b"}))
    for tag, attributes in shown.found:
        assert tag == "math" or tag.startswith("m"), tag
        assert not {"href", "style", "class", "id", "src", "mathcolor"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]


@given(st.one_of(st.sampled_from(NASTY), st.text("\\{}^_&$<>\"'abfrctexm(). ", max_size=60), st.text(max_size=30)))
@example(r"\frac{")
@QUICK
def test_any_text_is_shown(templates: Templates, text: str) -> None:
    shown = Elements(templates.render("one.html", {"text": f"${text}$ {text}"}))
    assert [tag for tag, _ in shown.found if not tag.startswith("m")] == []
