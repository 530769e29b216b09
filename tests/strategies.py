"""Hypothesis strategies: values and texts as strangers write them."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

QUICK = settings(
    max_examples=80,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
"""For properties of parsers: the same examples each time, a second or two a property."""

FEW = settings(QUICK, max_examples=20)
"""For properties whose every example writes files."""

NASTY = (
    "",
    " ",
    "\n",
    "a\n",
    "\na",
    " a ",
    "---",
    "...",
    "a\n---\nb",
    "- a",
    "? a",
    "a: b",
    "a #b",
    "# a",
    "&a",
    "*a",
    "!a",
    "!!python/object:os.system x",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "=",
    "<<",
    "~",
    "null",
    "Null",
    "yes",
    "No",
    "on",
    "off",
    "true",
    "1",
    "01",
    "0x1f",
    "0o7",
    "1e5",
    "1.0e5",
    "1.e5",
    ".5E3",
    "-.5e+3",
    "+1",
    "-0",
    "+.5",
    "0.0",
    "tRUE",
    "fALSE",
    "nULL",
    ".iNf",
    "-.INF",
    "+.nan",
    ".NaN",
    "1_000",
    "1:30",
    "190:20:30",
    ".inf",
    ".nan",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "'",
    '"',
    "\\",
    "\\ud800",
    "\t",
    "\ta",
    "a\r\nb",
    "\r",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "\u2028",
    "\ufeff",
    "\ufffe",
    "\U0001f600",
    "e\u0301",
    "\u202eabc",
    "[",
    "{",
    "x" * 300,
    "word " * 60,
    ("a " * 60 + "\n") * 3,
)

texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=30))
numbers = st.one_of(
    st.integers(),
    st.sampled_from((0, -1, 2**63, 2**64, -(2**63) - 1, 10**40)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from((1e16, 1e-7, 1.5e300, 5e-324, -0.0, 0.1)),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(children, max_size=4), st.dictionaries(texts, children, max_size=4))


json_values: st.SearchStrategy[Any] = st.recursive(scalars, _containers, max_leaves=12)
"""Whatever JSON can say; YAML documents hold the same."""

mappings: st.SearchStrategy[dict[str, Any]] = st.dictionaries(texts, json_values, max_size=4)

_YAML_PIECES = (
    "- ", "? ", ": ", "a", "b:", "1", "\n", "  ", "\n  ", "[", "]", "{", "}", ",", "&x ", "*x", "!!bool ", "!!int ",
    "!!float ", "!!timestamp ", "!!binary ", "!!set ", "!!omap ", "!x ", "'", '"', "|", ">", "#", "---\n", "...\n",
    "2020-01-01", "2020-13-45", "1:30", ".inf", "~", "<<: ", "=", "%YAML 1.1\n", "\t", "\x00", "\ufeff", "\\", "0x", "é",
)  # fmt: skip
_JSON_PIECES = (
    "{", "}", "[", "]", ",", ":", '"a"', '"', "1", "-", "1e999", "NaN", "Infinity", "true", "null", "\\ud800", '"\\udc00"',
    " ", "\n", "\x00", "\ufeff", "9" * 5000, "é", "\\",
)  # fmt: skip


def _soup(pieces: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(pieces), max_size=14).map(lambda parts: "".join(parts).encode("utf-8"))


hostile_json = st.one_of(st.binary(max_size=60), _soup(_JSON_PIECES))
hostile_yaml = st.one_of(st.binary(max_size=60), _soup(_YAML_PIECES))
hostile_markdown = st.one_of(hostile_yaml, hostile_yaml.map(lambda front: b"---\n" + front + b"\n---\nbody"))
