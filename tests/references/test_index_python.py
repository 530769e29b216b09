"""What Python, old Python, Cython and notebooks hold."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phases.references.parse.model import Parsed, Symbol
from phases.references.parse.source_code import parse_code, text_of
from tests.papers import HANGS, ROOT

needs_grammar = pytest.mark.skipif(
    not importlib.util.find_spec("tree_sitter_python"), reason="the extra [code] is not installed"
)


def rows(source: str | bytes, language: str = "python") -> list[tuple[str, str, int, str]]:
    """Name, kind, line and parent of what a source defines."""
    data = source.encode() if isinstance(source, str) else source
    return [(symbol.name, symbol.kind, symbol.line, symbol.parent) for symbol in parse_code(language, data).symbols]


def only(source: str, name: str) -> Symbol:
    (symbol,) = (symbol for symbol in parse_code("python", source.encode()).symbols if symbol.name == name)
    return symbol


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\nx = 2", [("x", "variable", 1, ""), ("x", "variable", 2, "")]),
        ("a, (b, *c) = 1, (2, 3)", [("a", "variable", 1, ""), ("b", "variable", 1, ""), ("c", "variable", 1, "")]),
        ("MAX_LEN: int = 3\nf: int", [("MAX_LEN", "constant", 1, ""), ("f", "variable", 2, "")]),
        ("x += 1\nd['a'] = 1\na.b = 2", []),
        ("for i in []:\n    k = i\nelse:\n    e = 1", [("k", "variable", 2, ""), ("e", "variable", 4, "")]),
        ("with a as b:\n    l = 1", [("l", "variable", 2, "")]),
        (
            "try:\n    n = 1\nexcept E as x:\n    o = 1\nfinally:\n    p = 1",
            [("n", "variable", 2, ""), ("o", "variable", 4, ""), ("p", "variable", 6, "")],
        ),
        ("match a:\n    case 1:\n        m = 1", [("m", "variable", 3, "")]),
        ("if (q := 3):\n    pass\nprint(r := 1)", [("q", "variable", 1, ""), ("r", "variable", 3, "")]),
        ("sq = lambda x: x", [("sq", "function", 1, "")]),
        (
            "def f():\n    x = 1\n    def g(): y = 1\n    class C:\n        z = 1",
            [("f", "function", 1, ""), ("g", "function", 3, "f"), ("C", "class", 4, "f"), ("z", "variable", 5, "f.C")],
        ),
        (
            "class A:\n    async def go(me):\n        me.u = me.u = 1\n        me.v, other.w = 1, 2\n    s = 1",
            [
                ("A", "class", 1, ""),
                ("go", "method", 2, "A"),
                ("u", "field", 3, "A"),
                ("v", "field", 4, "A"),
                ("s", "variable", 5, "A"),
            ],
        ),
        (
            "class A:\n    def f(self):\n        self.a = 1\n    def g(self):\n        self.a = 2",
            [("A", "class", 1, ""), ("f", "method", 2, "A"), ("a", "field", 3, "A"), ("g", "method", 4, "A")],
        ),
        ("@wrap\ndef f(): pass", [("f", "function", 2, "")]),
        ("\f\nx = 1\r\ny = 2\rz = 3", [("x", "variable", 2, ""), ("y", "variable", 3, ""), ("z", "variable", 4, "")]),
    ],
    ids=lambda value: value.split("\n")[0][:20] if isinstance(value, str) else "",
)
def test_all_that_a_file_defines_is_found_with_kind_line_and_parent(source: str, expected: Sequence[object]) -> None:
    assert rows(source) == expected


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        ("def f(a, b=1): pass", "def f(a, b=1)"),
        (
            "def f(\n    a: int,  # the first: one\n    b=':', c={1: 2},\n) -> dict[str, int]:\n    pass",
            "def f( a: int, b=':', c={1: 2}, ) -> dict[str, int]",
        ),
        ("async def f(a) -> T: return a", "async def f(a) -> T"),
        ("@wrap\n@twice\ndef f():\n    '''Doc.'''", "def f()"),
        ("def f(): # why: so\n    @g\n    def h(): pass", "def f()"),
        ("def f(x=lambda: 1):\n\n    return 1", "def f(x=lambda: 1)"),
    ],
    ids=["one-line", "many-lines", "async", "decorated", "comment", "lambda"],
)
def test_a_signature_is_as_the_source_has_it_on_one_line(source: str, signature: str) -> None:
    assert only(source, "f").signature == signature


def test_a_docstring_is_cleaned_and_bounded() -> None:
    assert only('def f():\n    """First.\n\n        Second.\n    Third."""', "f").doc == "First.\n\n    Second.\nThird."
    assert len(only('def f():\n    """' + "word " * 5000 + '"""', "f").doc) <= 2000
    assert only("def f():\n    f'no {doc}'", "f").doc == ""


@pytest.mark.parametrize(
    "data",
    [
        "é = 1".encode("latin-1"),
        b"\xef\xbb\xbf" + "é = 1".encode(),
        "# -*- coding: latin-1 -*-\né = 1".encode("latin-1"),
        "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\né = 1".encode("cp1252"),
        "é = 1".encode("utf-16"),
        "# coding: zlib\né = 1".encode("latin-1"),
    ],
    ids=["latin", "mark", "coding-line", "second-line", "utf-16", "no-character-set"],
)
def test_a_file_is_read_in_the_encoding_that_it_has(data: bytes) -> None:
    assert [row[0] for row in rows(data)] == ["é"]


@needs_grammar
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            'class A(B):\n    """Doc."""\n    def f(self):\n        print "old"\n',
            [("A", "class", 1, ""), ("f", "method", 3, "A")],
        ),
        ("def f():\n    pass\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\ndef g():\n    pass\n", None),
    ],
    ids=["python-2", "merge"],
)
def test_what_python_refuses_a_tolerant_parser_reads_and_the_fault_says_so(source: str, expected: object) -> None:
    parsed = parse_code("python", source.encode())
    assert parsed.fault.startswith("it is not valid Python (line ")
    assert parsed.fault.endswith("what a tolerant parser found")
    found = rows(source)
    assert found == expected if expected else {"f", "g"} <= {row[0] for row in found}


def notebook(*cells: object, **more: object) -> bytes:
    made = [{"cell_type": "code", "source": cell} if not isinstance(cell, dict) else cell for cell in cells]
    return json.dumps({"nbformat": 4, "cells": made, **more}).encode()


def test_a_notebook_is_one_source_with_its_magic_blanked() -> None:
    data = notebook(
        ["%matplotlib inline\n", "import a\n", "!pip install x\n", "x = !ls\n", "y = 1"],
        {"cell_type": "markdown", "source": "# no code"},
        "%%bash\nrm -rf x",
        "%%time\ndef f():\n    pass",
        "f?",
    )
    assert rows(data, "notebook") == [("y", "variable", 5, ""), ("f", "function", 11, "")]
    parsed = parse_code("notebook", data)
    assert parsed.fault == ""
    text, language, _ = text_of("notebook", data)
    assert (text.split("\n")[10], language) == ("def f():", "python")


def test_a_notebook_of_format_3_and_one_of_r_are_read() -> None:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["def f(): pass"]}]}]}
    assert rows(json.dumps(old).encode(), "notebook") == [("f", "function", 1, "")]
    in_r = notebook("f <- function(x) x", metadata={"kernelspec": {"name": "ir", "language": "R"}})
    assert parse_code("notebook", in_r).fault == ""


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"{", "the notebook is not JSON"),
        (b"[]", "the notebook is not a JSON object"),
        (b"{}", "the notebook has no list of cells"),
        (b'{"cells": 3}', "the notebook has no list of cells"),
        (b"[" * 100_000, "the notebook is not JSON"),
        (b'{"cells": [3, {"cell_type": "code", "source": [3, "x \\ud800"]}]}', "it is not valid Python"),
    ],
    ids=["broken", "list", "empty", "number", "deep", "surrogate"],
)
def test_a_broken_notebook_is_a_fault_in_words(data: bytes, fault: str) -> None:
    parsed = parse_code("notebook", data)
    assert parsed.fault.startswith(fault)


def check(parsed: Parsed, data: bytes) -> None:
    """What holds whatever the file: lines within it, bounded words, kinds that exist."""
    for symbol in parsed.symbols:
        assert 1 <= symbol.line <= symbol.end <= parsed.lines
        assert symbol.name
        assert len(symbol.signature) <= 300
        assert len(symbol.doc) <= 2000
        assert "\n" not in symbol.signature
    assert [symbol.line for symbol in parsed.symbols] == sorted(symbol.line for symbol in parsed.symbols)


@settings(deadline=None)  # no timing is asserted
@given(st.binary(max_size=300), st.sampled_from(["python", "notebook", "r", "text"]))
@example(b"\0", "python")
@example(b"(" * 5000, "python")
@example(b"x = " + b"-" * 100_000 + b"1", "python")
@example(b"1" + b"+1" * 50_000, "python")
@example(b"if x:\n" * 50, "python")
@example(b"\\\n", "python")
@example(b"# coding: undefined\n\xff", "python")
@example(b'"\\d"', "python")
def test_no_bytes_make_it_raise(data: bytes, language: str) -> None:
    check(parse_code(language, data), data)


@settings(deadline=None)  # no timing is asserted
@given(st.data())
def test_no_damage_to_real_code_makes_it_raise(data: st.DataObject) -> None:
    source = Path(__file__).read_text("utf-8")[:4000].encode()
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, min(len(source), start + 300)))
    damaged = source[:start] + data.draw(st.binary(max_size=20)) + source[end:]
    check(parse_code("python", damaged), damaged)


@pytest.mark.slow
def test_symbols_are_capped() -> None:
    parsed = parse_code("python", b"x = 1\n" * 30_000)
    assert len(parsed.symbols) == 20_000
    assert parsed.lines == 30_000


@pytest.mark.slow
def test_a_trap_in_a_notebook_takes_no_more_time_than_its_length() -> None:
    source = "__import__('json').dumps({'cells': [{'cell_type': 'code', 'source': ' ' * 3_000_000 + 'y-'}]})"
    program = f"from phases.references.parse.source_code import parse_code; parse_code('notebook', ({source}).encode())"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=HANGS, check=True)
