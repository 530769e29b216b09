"""The interface of a written file: what others need to know of it, short, whatever is in the file."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.agent.interfaces import LARGEST, interface_of
from tests.papers import ROOT
from tests.rows import later, with_covered
from tests.strategies import QUICK
from tests.work import must_end

SOURCE = '''"""Trains the model.

More words.
"""

from __future__ import annotations

import os
import numpy as np
from collections.abc import Iterator
from model.layers import Layer
from .config import RATE

STEPS: int = 10
BATCH = 32  # R3
_SECRET = 1
NAMES = ("a", "b")


@dataclass(frozen=True)
class Options(Base, metaclass=Meta):
    """What training may be told. R2.

    More.
    """

    rate: float = 0.1
    name: str
    _inner = 3

    def __init__(self, size: int) -> None:
        self.size = size
        self._hidden = 1
        self.weights: list[float] = []

    @property
    def total(self) -> int:
        """The whole."""
        return 1

    def _private(self): ...


async def train(data: Iterator[int], /, *rest, rate: float = 0.1, **more) -> "Model":
    """Trains. R1."""
    def inner(): ...
    return 1


def quick(a, b=2): return a
'''
EXPECTED = '''\
# model/train.py
"""Trains the model."""
import numpy as np
from model.layers import Layer
from .config import RATE
STEPS: int = 10
BATCH = 32
NAMES = ('a', 'b')
@dataclass(frozen=True)
class Options(Base, metaclass=Meta):
    """What training may be told. R2."""
    self.size
    self.weights: list[float]
    rate: float = 0.1
    name: str
    def __init__(self, size: int) -> None: ...
    @property
    def total(self) -> int:
        """The whole."""
async def train(data: Iterator[int], /, *rest, rate: float=0.1, **more) -> 'Model':
    """Trains. R1."""
def quick(a, b=2): ...'''


def test_the_interface_is_what_is_public_and_nothing_of_how() -> None:
    assert interface_of("model/train.py", SOURCE) == EXPECTED


def test_an_interface_is_python_itself() -> None:
    for path in sorted((ROOT / "phases" / "agent" / "tools").glob("*.py")):
        shown = interface_of(path.name, path.read_text(encoding="utf-8"))
        assert "…" in shown or ast.parse(shown)


def test_another_file_is_its_first_line_and_its_size() -> None:
    for path, source, expected in (
        ("README.md", "\n# Waiting\n\nWords.\n", "# README.md: 4 lines, 19 characters\n# Waiting"),
        ("a.json", '{"a": 1}', '# a.json: 1 lines, 8 characters\n{"a": 1}'),
        ("a.txt", "", "# a.txt: 0 lines, 0 characters"),
        ("a.py", "", "# a.py"),
        ("a.py", "def (\n", "# a.py: 1 lines, 6 characters, does not parse\ndef ("),
        ("a.txt", "\x1b[2Jx", "# a.txt: 1 lines, 5 characters\n\\x1b[2Jx"),
    ):
        assert interface_of(path, source) == expected


AROUND = (
    "(function (root) {\n  const { b } = require('./b.js');\n  function add(x) {\n    const y = 1;\n  }\n})(this);\n"
)
CPP = "// adds\ndouble add(double a) {\n  const auto b = a;\n  if (b > 1) {\n  }\n}\nvoid Sum::reset() {\n}\n"


def test_of_another_language_the_lines_that_define_are_shown() -> None:
    for path, source, shown in (
        ("a.js", AROUND, ["  const { b } = require('./b.js');", "  function add(x) {"]),
        ("a.cpp", CPP, ["double add(double a) {", "void Sum::reset() {"]),
        ("a.hpp", "#pragma once\n\nint add(int a);\n", ["#pragma once", "int add(int a);"]),
        ("a.rs", "use std::io;\npub fn add(a: u8) -> u8 {\n    a\n}\n", ["pub fn add(a: u8) -> u8 {"]),
        ("a.css", "body {\n}\n", ["body {"]),
    ):
        assert interface_of(path, source).split("\n")[1:] == shown, path


def test_what_is_cut_is_counted() -> None:
    shown = interface_of("a.py", "".join(f"def function_{number}(): ...\n" for number in range(1000)))
    assert len(shown) <= LARGEST
    kept = shown.count("def function_")
    assert shown.splitlines()[-1] == f"# … {1000 - kept} lines more are left out here"


HOSTILE = [
    pytest.param(later(lambda: "x = [" + "1," * 200_000 + "]"), "x = …", id="a huge list"),
    pytest.param(later(lambda: "x = [" + "1," * 300_000 + "]"), "does not parse", id="a list that is over the limit"),
    pytest.param("x = {\n" + "1: 2,\n" * 1000 + "}", "x = …", id="a long table"),
    pytest.param("x = " + "-" * 2000 + "1", "x = …", id="nested too deeply to be written"),
    pytest.param("x = " + "-" * 9000 + "1", "does not parse", id="nested too deeply to be parsed"),
    pytest.param("x = 1" + "+1" * 900, "x = ", id="a long sum"),
    pytest.param("x" + ".a" * 1900 + " = 1", "", id="a long chain of attributes"),
    pytest.param(later(lambda: "def f(a=[" + "1," * 200_000 + "]): pass"), "def f(a=…): ...", id="a huge default"),
    pytest.param(later(lambda: "def f(a: [" + "1," * 200_000 + "]): pass"), "def f(a: …): ...", id="a huge annotation"),
    pytest.param("def f(" + ",".join(f"a{n}" for n in range(9000)) + "): pass", "def f(…): ...", id="9,000 arguments"),
    pytest.param(later(lambda: "def f():\n    '''" + "x" * 100_000 + "'''"), "xxx…", id="a long docstring"),
    pytest.param("'''\u202e\x07'''", r"\u202e\x07", id="a docstring that would not be seen"),
    pytest.param(later(lambda: "class " + "A" * 100_000 + ": pass"), "", id="a long name"),
    pytest.param("".join("    " * n + f"class A{n}:\n" for n in range(80)) + "    " * 80 + "x = 1", "class A2:", id="deep"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "words"), with_covered(HOSTILE, "a huge list", "a huge default", "a huge annotation")
)
def test_a_hostile_file_has_a_short_interface_soon(source: str, words: str) -> None:
    with must_end():
        shown = interface_of("a.py", source)
    assert len(shown) <= LARGEST
    assert words in shown


@given(
    st.text("ab=:()[]\n    defclasimportx'\"@*,.1-\\é\x00", max_size=80), st.sampled_from(["a.py", "a.txt", "a\x1b.py"])
)
@QUICK
def test_no_source_surprises(source: str, path: str) -> None:
    shown = interface_of(path, source)
    assert len(shown) <= LARGEST
    assert shown.replace("\n", "").isprintable()
