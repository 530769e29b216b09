"""A formula that is too long ends where nothing of it is torn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.planning.plan_words import read_formula
from phases.readers.outline import cut_formula
from tests.papers import read
from tests.strategies import QUICK

LONG = "y = " + " + ".join(rf"\frac{{a_{{{number}}}}}{{\sum _{{j}} b_{{j}}}}" for number in range(40))


def test_a_formula_that_is_cut_has_whole_fractions_and_indices() -> None:
    for most in range(30, 120):
        made = cut_formula(LONG, most)
        assert len(made) <= most
        assert made.endswith(" …"), most
        assert made.count("{") == made.count("}"), most
        assert "frac" not in read_formula(made), most


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        pytest.param("x + y", "x + y", id="one that is short enough"),
        pytest.param(r"x + \alpha " * 5, r"x + \alpha x + …", id="no half command"),
        pytest.param("{" + "x" * 40, "{" + "x" * 17 + " …", id="one group that goes on for ever"),
        pytest.param(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", r"\begin{aligned} a …", id="an environment"),
    ],
)
def test_a_formula_is_cut_to_twenty_characters(formula: str, made: str) -> None:
    assert cut_formula(formula, 20) == made


@given(st.text(alphabet="\\{}_^ abc…\n", max_size=80), st.integers(3, 60))
@QUICK
def test_whatever_is_cut_is_short_enough_and_begins_alike(formula: str, most: int) -> None:
    made = cut_formula(formula, most)
    assert len(made) <= most
    assert formula.startswith(made.removesuffix(" …"))


def test_no_half_of_a_long_formula_is_in_a_plan() -> None:
    plan = read(f"# Waiting\n\n## 1 Method\n\nWe minimize the waiting loss\n\n$$ {LONG} $$\n").plan
    shown = [one for row in plan["components"] for one in row.get("equations", ())]
    shown += [row["formula"] for row in plan["requirements"] if "formula" in row]
    assert shown
    assert all("frac" not in read_formula(one) for one in shown)
