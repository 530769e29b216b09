"""Bytes to values and back: what a stranger wrote gives a value or one kind of error, and what we wrote comes back."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given

from pipeline.base.errors import FormatError
from pipeline.base.formats import compose_markdown, dump_json, parse_json, parse_markdown
from pipeline.base.plain_yaml import DEEPEST, LARGEST, dump_yaml, locate_yaml, parse_yaml
from tests.rows import later
from tests.strategies import (
    NASTY,
    QUICK,
    hostile_json,
    hostile_markdown,
    hostile_yaml,
    json_values,
    mappings,
    texts,
)
from tests.work import must_end


def is_plain(value: Any) -> bool:
    """Whether a value holds nothing but what JSON can say."""
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or type(value) in (bool, int, str)


def many(form: str, between: str = "") -> str:
    """So many keys, the last one twice, that to compare each with each would take very long."""
    return between.join(form.format(min(number, 149_999)) for number in range(150_001))


@pytest.mark.parametrize(
    ("parse", "data"),
    [
        pytest.param(parse_json, later(lambda: ("{" + many('"key{}":1', ",") + "}").encode()), id="JSON"),
        pytest.param(parse_yaml, later(lambda: many("key{}: 1\n").encode()), id="YAML"),
        pytest.param(
            parse_markdown,
            later(lambda: ("---\n" + many("key{}: 1\n") + "---\ntext").encode()),
            id="front matter",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_key_that_stands_twice_among_many_is_found_at_once(parse: Callable[[bytes], Any], data: bytes) -> None:
    with must_end(), pytest.raises(FormatError, match="'key149999' appears twice"):
        parse(data)


# JSON


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(b"[NaN]", "NaN is not a JSON number", id="NaN"),
        pytest.param(b"[Infinity]", "Infinity is not a JSON number", id="Infinity"),
        pytest.param(b"[-Infinity]", "-Infinity is not a JSON number", id="minus Infinity"),
        pytest.param(b"[1e999]", "1e999 is too large for a number", id="a float that overflows"),
        pytest.param(b"[-1e999]", "-1e999 is too large for a number", id="a negative float that overflows"),
        pytest.param(b'{"a": 1, "a": 2}', "the key 'a' appears twice in one object", id="a key that stands twice"),
        pytest.param(b'{"b": {"a": 1, "a": 1}}', "the key 'a' appears twice", id="a key that stands twice, further in"),
        pytest.param(b'["\\ud800"]', "not UTF-8 text", id="half a surrogate pair"),
        pytest.param(b'["\\uDC00\\uD800"]', "not UTF-8 text", id="a surrogate pair the wrong way round"),
        pytest.param(b'{"\\ud800": 1}', "not UTF-8 text", id="half a surrogate pair in a key"),
        pytest.param(later(lambda: b"9" * 5000), "not JSON", id="an integer of 5,000 digits"),
        pytest.param(later(lambda: b"[" * 100_000), "nested too deeply", id="100,000 open brackets"),
        pytest.param(later(lambda: b'{"a":' * 100_000), "nested too deeply", id="100,000 open braces"),
        pytest.param(later(lambda: b"[" * 100_000 + b"]" * 100_000), "nested too deeply", id="100,000 levels"),
        pytest.param(b"\xef\xbb\xbf{}", "not JSON", id="a byte order mark"),
        pytest.param(b"\xff\xfe{\x00}\x00", "not UTF-8 text", id="UTF-16"),
        pytest.param(b'["\xff"]', "not UTF-8 text", id="a byte that is not UTF-8"),
        pytest.param(b'["\xed\xa0\x80"]', "not UTF-8 text", id="a surrogate as bytes"),
        pytest.param(b'["a\nb"]', "not JSON", id="a raw newline in a string"),
        pytest.param(b'["\x00"]', "not JSON", id="a raw NUL in a string"),
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b"\x00" * 64, "not JSON", id="a block of NULs"),
        pytest.param(b"{} {}", "not JSON", id="two values"),
        pytest.param(b"[1,]", "not JSON", id="a trailing comma"),
        pytest.param(b"{'a': 1}", "not JSON", id="single quotes"),
        pytest.param(b"[01]", "not JSON", id="a leading zero"),
        pytest.param(b"// a\n{}", "not JSON", id="a comment"),
    ],
)
def test_json_that_is_not_strict_json_is_a_format_error(text: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_json(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_json_error_names_line_and_column() -> None:
    with pytest.raises(FormatError) as caught:
        parse_json(b'{\n  "a": 1,\n  "b": ]\n}')
    assert (caught.value.line, caught.value.column) == (3, 8)


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert parse_json(b'["\\ud83d\\ude00"]') == ["\U0001f600"]


def test_json_cut_at_any_byte_is_a_format_error() -> None:
    whole = '{"name": "é😀", "list": [1, 2.5, -3e4, true, null], "in": {"a": "\\u00e9\\n"}}'.encode()
    assert parse_json(whole)
    for end in range(len(whole)):
        with pytest.raises(FormatError):
            parse_json(whole[:end])


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="NaN"),
        pytest.param(float("inf"), id="infinity"),
        pytest.param({"a": object()}, id="an object"),
        pytest.param({1, 2}, id="a set"),
        pytest.param(b"bytes", id="bytes"),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param({(1, 2): 3}, id="a tuple as key"),
        pytest.param({1: "a", "1": "b"}, id="two keys that are one in JSON"),
        pytest.param(10**5000, id="an integer of 5,001 digits"),
    ],
)
def test_what_json_cannot_say_is_not_written(value: object) -> None:
    with pytest.raises(FormatError, match="cannot be written as JSON"):
        dump_json(value)


@pytest.mark.parametrize(
    "dump", [pytest.param(dump_json, id="JSON"), pytest.param(dump_yaml, id="YAML", marks=pytest.mark.slow)]
)
def test_a_value_that_is_nested_too_deeply_is_not_written(dump: Callable[[Any], bytes]) -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(FormatError, match="cannot be written as"):
        dump(value)


def test_a_value_that_holds_itself_is_not_written_as_json() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(FormatError, match="cannot be written as JSON"):
        dump_json(value)


@pytest.mark.slow
@QUICK
@given(json_values)
def test_what_is_written_as_json_comes_back(value: Any) -> None:
    assert repr(parse_json(dump_json(value))) == repr(value)


@QUICK
@given(hostile_json)
@example(b"[1e999")
@example(b'"\\ud8')
@example(b'{"a":1,"a":' + b"9" * 5000 + b"}")
def test_any_bytes_as_json_give_a_plain_value_or_a_format_error(data: bytes) -> None:
    try:
        value = parse_json(data)
    except FormatError:
        return
    assert is_plain(value)
    json.dumps(value, ensure_ascii=False).encode("utf-8")


# YAML


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param(b"a: &x 1\nb: 2", "anchors and aliases are not allowed", 1, 4, id="an anchor"),
        pytest.param(b"a: 1\nb: *x", "anchors and aliases are not allowed", 2, 4, id="an alias"),
        pytest.param(b"a: 1\nb: &x [1]\nc: *x", "anchors and aliases are not allowed", 2, 4, id="both"),
        pytest.param(b"a: !!python/object:os.system x", "tags are not allowed", 1, 4, id="a Python object"),
        pytest.param(b"a: !!python/object/apply:os.system [x]", "tags are not allowed", 1, 4, id="a Python call"),
        pytest.param(b"a: !mine x", "tags are not allowed", 1, 4, id="a tag of one's own"),
        pytest.param(b"a: !!str x", "tags are not allowed", 1, 4, id="a tag that is true"),
        pytest.param(b"a: !!binary aGk=", "tags are not allowed", 1, 4, id="bytes"),
        pytest.param(b"a: !!set {x}", "tags are not allowed", 1, 4, id="a set"),
        pytest.param(b"!!python/name:os.system a: 1", "tags are not allowed", 1, 1, id="a tag of a key"),
        pytest.param(
            b"a: 1\nb: 2\na: 3", "the key 'a' appears twice in one mapping", 3, 1, id="a key that stands twice"
        ),
        pytest.param(b"? [a]\n: b", "a key must be a plain string", 1, 3, id="a list as key"),
        pytest.param(b"? {a: b}\n: c", "a key must be a plain string", 1, 3, id="a mapping as key"),
        pytest.param(b"&x a: b", "a key must be a plain string", 1, 1, id="a key with an anchor"),
        pytest.param(b"a: b\n*x : c", "a key must be a plain string", 2, 1, id="an alias as key"),
        pytest.param(b"a: .inf", ".inf is not a finite number", 1, 4, id="infinity"),
        pytest.param(b"a: .nan", ".nan is not a finite number", 1, 4, id="NaN"),
        pytest.param(b"a: 1.0e+999", "1.0e+999 is not a finite number", 1, 4, id="a float that overflows"),
        pytest.param(
            b"a: " + b"9" * 5000, "is not a number of a reasonable size", 1, 4, id="an integer of 5,000 digits"
        ),
        pytest.param(b"a: [1\nb: 2", "not YAML", 2, 2, id="an open bracket"),
        pytest.param(b"a: 1\n\tb: 2", "not YAML", 2, 1, id="a tab"),
        pytest.param(b"a: 'x", "not YAML", 1, 6, id="an open quote"),
        pytest.param(b"a: 1\n--- 2", "a second document begins here", 2, 5, id="two documents"),
        pytest.param(b"[" * 65 + b"]" * 65, f"nested deeper than {DEEPEST} levels", 1, 65, id="65 levels"),
        pytest.param(b"- " * 65 + b"a", f"nested deeper than {DEEPEST} levels", 1, 129, id="65 levels of a block"),
    ],
)
def test_a_yaml_error_says_what_and_where(text: bytes, message: str, line: int, column: int) -> None:
    with pytest.raises(FormatError) as caught:
        parse_yaml(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_64_levels_of_yaml_are_allowed() -> None:
    value = parse_yaml(b"[" * DEEPEST + b"]" * DEEPEST)
    for _ in range(DEEPEST - 1):
        (value,) = value
    assert value == []


def test_yaml_over_the_size_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(FormatError, match=f"4,194,305 bytes of YAML, over the limit of {LARGEST:,}"):
        parse_yaml(b"[" * (LARGEST + 1))


@pytest.mark.parametrize(
    "data",
    [
        later(lambda: b"[" + b"1," * 2_090_000 + b"]"),
        pytest.param(later(lambda: b"- a\n" * 1_040_000), marks=pytest.mark.slow),
    ],
    ids=["in a line", "a line each"],
)
def test_the_densest_yaml_that_is_read_costs_little(data: bytes) -> None:
    with must_end(), pytest.raises(FormatError, match="more than 300,000 values"):
        parse_yaml(data)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        pytest.param("b'[' * 100_000", "nested deeper than 64 levels", id="100,000 open brackets"),
        pytest.param("b'{a: ' * 100_000", "nested deeper than 64 levels", id="100,000 open braces"),
        pytest.param("b'- ' * 100_000", "nested deeper than 64 levels", id="100,000 dashes"),
        pytest.param("b'? ' * 100_000", "a key must be a plain string", id="100,000 question marks"),
        pytest.param("b'[' * 4_194_304", "nested deeper than 64 levels", id="as many brackets as are read at all"),
    ],
)
def test_deep_yaml_never_crashes_the_interpreter(program: str, message: str) -> None:
    code = (
        "from pipeline.base.plain_yaml import parse_yaml\n"
        "from pipeline.base.errors import FormatError\n"
        f"try:\n    parse_yaml({program})\n"
        "except FormatError as error:\n    print(error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{message}\n", "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: \x00", id="a NUL"),
        pytest.param(b'a: "\\ud800"', id="half a surrogate pair"),
        pytest.param(b"a: \xff", id="a byte that is not UTF-8"),
        pytest.param(b"\xff\xfea\x00", id="UTF-16"),
        pytest.param(b"a: @b", id="a reserved character"),
        pytest.param(b"a: b: c", id="a mapping in a mapping on one line"),
    ],
)
def test_bytes_that_are_not_yaml_are_a_format_error(text: bytes) -> None:
    with pytest.raises(FormatError, match=r"^not (YAML|UTF-8 text)"):
        parse_yaml(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"off", "off", id="off"),
        pytest.param(b"yes", "yes", id="yes"),
        pytest.param(b"2026-01-31", "2026-01-31", id="a date"),
        pytest.param(b"1:30", "1:30", id="a time"),
        pytest.param(b"08", "08", id="a number with a leading zero"),
        pytest.param(b"0x1f", "0x1f", id="a number of another base"),
        pytest.param(b"1_000", "1_000", id="a number with an underscore"),
        pytest.param(b"=", "=", id="an equals sign"),
        pytest.param(b"3.10.1", "3.10.1", id="a version"),
        pytest.param(b"'1'", "1", id="a number in quotes"),
        pytest.param(b'"true"', "true", id="a truth in quotes"),
        pytest.param(b"|\n  1\n", "1\n", id="a number in a block"),
        pytest.param(b"-17", -17, id="an integer"),
        pytest.param(b"2.50", 2.5, id="a number"),
        pytest.param(b"1.0e-3", 0.001, id="a number with an exponent"),
        pytest.param(b"true", True, id="true"),
        pytest.param(b"False", False, id="false"),
        pytest.param(b"null", None, id="null"),
        pytest.param(b"~", None, id="a tilde"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"# only a comment\n", None, id="a comment"),
        pytest.param(b"a:\n", {"a": None}, id="a key without a value"),
        pytest.param(b"1: a", {"1": "a"}, id="a number as key"),
        pytest.param(b"no: a", {"no": "a"}, id="a truth as key"),
        pytest.param(b"<<: {a: 1}", {"<<": {"a": 1}}, id="a merge key"),
        pytest.param(b"\xef\xbb\xbfa: 1", {"a": 1}, id="a byte order mark"),
        pytest.param(b"a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}, id="Windows line ends"),
    ],
)
def test_yaml_says_what_it_seems_to_say(text: bytes, value: Any) -> None:
    assert repr(parse_yaml(text)) == repr(value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: !!omap [x: 1]", id="an ordered map"),
        pytest.param(b"a: !!timestamp 2020-01-01", id="a date by its tag"),
        pytest.param(b"a: !!bool maybe", id="a bool that is none"),
        pytest.param(b"a: !!timestamp soon", id="a timestamp that is none"),
        pytest.param(b"a: !!int ''", id="an empty int"),
        pytest.param(b"a: !!float ''", id="an empty float"),
        pytest.param(b"a: " + b"1:" * 400 + b"1.0", id="a sexagesimal that overflows"),
        pytest.param(b"a: 2020-13-45", id="a day that does not exist"),
        pytest.param(b"a: 2020-01-01T00:00:00+99:00", id="a time zone that does not exist"),
        pytest.param(b"~: a", id="null as key"),
        pytest.param(b"?", id="no key and no value"),
        pytest.param(b"<<: 3", id="a merge of nothing"),
    ],
)
def test_yaml_that_json_cannot_say_is_refused_or_read_as_plain_text(text: bytes) -> None:
    try:
        value = parse_yaml(text)
    except FormatError:
        return
    assert is_plain(value), f"{text!r} became {value!r}"


@pytest.mark.slow
@QUICK
@given(json_values)
@example(["x"] * 2)
@example({"a\n---\nb": "a\n---\nb"})
def test_what_is_written_as_yaml_comes_back(value: Any) -> None:
    assert repr(parse_yaml(dump_yaml(value))) == repr(value)


@pytest.mark.parametrize("text", NASTY, ids=ascii)
def test_a_nasty_string_survives_yaml_as_key_and_as_value(text: str) -> None:
    value = {text: [text, {"in": text}]}
    assert parse_yaml(dump_yaml(value)) == value


def test_one_value_in_two_places_is_written_twice() -> None:
    shared = {"a": [1]}
    written = dump_yaml({"x": shared, "y": shared, "z": [shared, shared]})
    assert b"&" not in written
    assert parse_yaml(written) == {"x": shared, "y": shared, "z": [shared, shared]}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(object(), id="an object"),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param({"a": "x\udfffy"}, id="half a surrogate pair further in"),
    ],
)
def test_what_yaml_cannot_say_is_not_written(value: object) -> None:
    with pytest.raises(FormatError, match="cannot be written as YAML"):
        dump_yaml(value)


@QUICK
@given(hostile_yaml)
@example(b"!!bool x")
@example(b"!!timestamp x")
@example(b"!!int ''")
def test_any_bytes_as_yaml_give_a_plain_value_or_a_format_error(data: bytes) -> None:
    try:
        value = parse_yaml(data)
    except FormatError:
        return
    assert is_plain(value), f"{data!r} became {value!r}"


# Places in YAML

PLAN = b"""\
title: On Time
steps:
  - id: R1
    text: first
  - id: R2
    text: second
deep: {a: [1, 2]}
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param([], (1, 1), id="the whole"),
        pytest.param(["title"], (1, 8), id="a value"),
        pytest.param(["steps"], (3, 3), id="a list"),
        pytest.param(["steps", 1], (5, 5), id="an item of a list"),
        pytest.param(["steps", 1, "text"], (6, 11), id="a value in an item"),
        pytest.param(["deep", "a", 1], (7, 15), id="a value in a flow"),
        pytest.param(["nothing"], (0, 0), id="a key that is not there"),
        pytest.param(["steps", 2], (0, 0), id="an item past the end"),
        pytest.param(["steps", "id"], (0, 0), id="a key of a list"),
        pytest.param(["title", "x"], (0, 0), id="a key of a text"),
        pytest.param(["title", 0], (0, 0), id="an item of a text"),
    ],
)
def test_the_place_of_a_value_in_yaml(path: list[str | int], place: tuple[int, int]) -> None:
    assert locate_yaml(PLAN, path) == place


def test_empty_yaml_has_no_places() -> None:
    assert locate_yaml(b"", []) == (0, 0)


@pytest.mark.slow
@QUICK
@given(mappings)
def test_every_key_that_was_written_is_found_again(value: dict[str, Any]) -> None:
    written = dump_yaml(value)
    for key in value:
        line, column = locate_yaml(written, [key])
        assert line >= 1
        assert column >= 1


# Markdown


@pytest.mark.slow
@QUICK
@given(mappings, texts)
@example({"title": "a\n---\nb"}, "---\nbody\n---\n")
@example({"---\n": "x"}, "")
def test_front_matter_and_body_come_back(front: dict[str, Any], body: str) -> None:
    made = compose_markdown(front, body)
    read = parse_markdown(made.text.encode("utf-8"))
    assert repr(read.front) == repr(front)
    assert read.text == made.text
    assert read.text[read.body_start :] == body
    assert made.body_start == read.body_start


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        pytest.param(b"", "no front matter", 1, id="nothing"),
        pytest.param(b"# Title\n", "no front matter", 1, id="no front matter"),
        pytest.param(b"---\na: 1\n", "no front matter", 1, id="a front matter that does not end"),
        pytest.param(b"\n---\na: 1\n---\n", "no front matter", 1, id="a line before the front matter"),
        pytest.param(b"---\n---\nbody", "not a mapping", 2, id="an empty front matter"),
        pytest.param(b"---\n- a\n---\nbody", "not a mapping", 2, id="a list as front matter"),
        pytest.param(b"---\na: *x\n---\n", "anchors and aliases are not allowed", 2, id="an alias in the front matter"),
        pytest.param(b"---\na: 1\n---\n\xff", "not UTF-8 text", 0, id="a body that is not UTF-8"),
    ],
)
def test_markdown_without_proper_front_matter_is_a_format_error(text: bytes, message: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        parse_markdown(text)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_the_line_of_an_error_in_front_matter_counts_from_the_top_of_the_file() -> None:
    with pytest.raises(FormatError) as caught:
        parse_markdown(b"---\ntitle: x\nauthors: [a\n---\n# Title\n")
    assert caught.value.line == 4


@QUICK
@given(hostile_markdown)
def test_any_bytes_as_markdown_give_a_document_or_a_format_error(data: bytes) -> None:
    try:
        document = parse_markdown(data)
    except FormatError:
        return
    assert is_plain(dict(document.front)), f"{data!r} became {document.front!r}"
    assert document.text.encode("utf-8") == data
    assert 0 <= document.body_start <= len(document.text)
