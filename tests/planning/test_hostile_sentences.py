"""No pattern of the plan without a model takes more than a text's worth of work, whatever the text."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

from phases.planning import rules
from tests.papers import read
from tests.rows import with_covered
from tests.work import assert_linear, must_end

TEXTS = {
    "hyphens": "The " + "-".join(["a"] * 300) + " was used.",
    "hyphens and capitals": "The " + "-".join(["Ala", "Gly", "Ser"] * 100) + " was used.",
    "capitals": "We propose " + "Word " * 300,
    "capitals with hyphens": "We propose A-" + "Ab-" * 200 + "x",
    "small words": "we use the " + "word " * 300,
    "digits": "1," * 700,
    "numbers": "0.1 " * 300,
    "blanks": " " * 1400,
    "square brackets": "[1" * 400,
    "brackets": "(a" * 500,
    "names in brackets": "A-B (AB " * 150,
    "dots": "a.b" * 400,
    "a long number of a section": "For layer " + "1." * 29 + "1 we take the step",
    "commas": "Aa, " * 300,
    "lists": "X and " * 200,
    "authors": "Smith and Jones, " * 90,
    "an address": "https://a/" + "a-b/" * 150,
    "cases": "4" + " and 2 tasks for a and b" * 100,
    "explanations": "where a is b, " * 150,
    "a list of numbers": "[" + "1, " * 500,
    "formulas": "$x_1 = " * 200,
    "a heading": "Implementation of data for parameters with implementations of " * 30,
    "a heading in signs": "简单的问题" * 300,
}


def patterns() -> Iterator[re.Pattern[str]]:
    """Every compiled pattern that a module of the rules has, in tables and tuples too, once."""
    found: dict[str, re.Pattern[str]] = {}

    def walk(value: object) -> None:
        if isinstance(value, re.Pattern):
            found[f"{value.pattern} {value.flags}"] = value
        elif isinstance(value, dict):
            walk(tuple(value.values()))
        elif isinstance(value, (tuple, list)):
            for one in value:
                walk(one)

    for module in pkgutil.iter_modules(rules.__path__):
        walk(tuple(vars(importlib.import_module(f"{rules.__name__}.{module.name}")).values()))
    yield from found.values()


def test_the_patterns_of_the_rules_are_found() -> None:
    assert len(list(patterns())) > 80


@pytest.mark.parametrize(
    "name",
    with_covered(
        TEXTS,
        "hyphens",
        "hyphens and capitals",
        "capitals",
        "small words",
        "digits",
        "numbers",
        "blanks",
        "names in brackets",
        "commas",
        "lists",
        "authors",
        "formulas",
    ),
)
def test_no_pattern_explodes(name: str) -> None:
    with must_end():
        for pattern in patterns():
            for _ in pattern.finditer(TEXTS[name]):
                pass


@pytest.mark.parametrize(
    ("title", "body"),
    [
        pytest.param("A Queue", "We set it to " + "1" * 19_000 + ".", id="digits"),
        pytest.param("A Queue", "We set it to " + "1, " * 6_300 + ".", id="digits and commas"),
        pytest.param("x_" * 20_000, "We use a queue.", id="a title of one word"),
        pytest.param("A Queue", "We compare with " + "Foo Bar Baz " * 4_000, id="capitals without an end"),
    ],
)
def test_a_paragraph_or_a_title_that_is_one_word_is_planned_at_once(title: str, body: str) -> None:
    with must_end():
        assert (
            read(f"# {title}\n\n## 1 Introduction\n\nWe propose a queue.\n\n## 2 Method\n\n{body}\n").plan["values"]
            == []
        )


@pytest.mark.parametrize(
    "line",
    [pytest.param("we compute the value of the", marks=pytest.mark.slow), "Step 1: we compute the"],
    ids=["words", "steps"],
)
def test_lines_that_never_end_a_sentence_take_the_time_of_their_length(line: str) -> None:
    assert_linear(lambda many: read("# A Queue\n\n## 2 Method\n\n" + f"{line}\n\n" * many), 200)


@pytest.mark.parametrize(
    "body",
    ["We compute it so:\n\n```\nx = f({0});\ny = g(x);\nreturn y;\n```", "We compute the value {0} of all blocks."],
    ids=["listings", "sentences"],
)
def test_many_headings_make_a_bounded_number_of_parts_in_the_work_of_their_number(body: str) -> None:
    def plan(many: int) -> None:
        names = (f"{chr(97 + number % 26)}{chr(97 + number // 26)}" * 2 for number in range(many))
        parts = (f"### 2.{at} Sorting grid {name}\n\n{body.format(at)}\n\n" for at, name in enumerate(names, 1))
        text = f"# T\n\n## 1 Introduction\n\nWe build it.\n\n## 2 Method\n\n{''.join(parts)}"
        assert len(read(text).plan["components"]) <= 60

    assert_linear(plan, 50)
