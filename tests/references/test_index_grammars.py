"""What the files of other languages hold, told by their grammars, and R by our own scanner."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phases.references.parse.grammars import GRAMMARS
from phases.references.parse.source_code import parse_code

needs_grammars = pytest.mark.skipif(
    not all(importlib.util.find_spec(grammar.package) for grammar in GRAMMARS.values()),
    reason="the extra [code] is not installed",
)

CPP = """\
#include <vector>
#include "layers.h"
#define MAX_LEN 10
#define SQ(x) ((x)*(x))
namespace ns { namespace inner {
/** A point.
 *  With two. */
template <typename T>
class Point : public Base<T> {
 public:
  Point(int x) : x_(x) {}
  ~Point() = default;
  int area() const;
  bool operator==(const Point& o) const { int local = 1; return true; }
 private:
  int x_, *y_;
};
}}
// Adds.
// Twice.
int ns::inner::Point<T>::area() const { return 0; }
enum class Color { Red, Green };
typedef struct { int a; } Foo;
using Bar = std::vector<int>;
int *ptr(void) { return 0; }
void (*callback)(int);
int
two_lines(int a,
   int b) // comment
{ return 0; }
"""
CUDA = "/* Adds. */\n__global__ void add(float *a) { a[0] += 1; }\n__device__ float sq(float x) { return x*x; }\n"
JAVA = """\
import java.util.List;
import static a.b.C.m;
import x.y.*;
/** Doc. */
@Deprecated
public class A<T> extends B {
  private static final int MAX = 1;
  public A(int x) { int l; }
  public <R> List<R> get(int a) { return null; }
  interface I { void q(); }
  enum E { X; }
}
"""
TYPESCRIPT = """\
import React, { useState as u, type X } from "react";
import * as fs from 'fs';
const x = require("../util.js");
export { a } from "./b";
/** Adds. */
export const add = (a: number): Promise<number> => a;
export default class Foo<T> extends Bar {
  handler = () => { const z = 1; };
  constructor(private q: string) { super(); }
  get v(): number { return 1; }
}
interface Shape { area(): number; w: number }
type Alias = string | number;
enum E { A, B = 2 }
namespace N { export function inner() {} }
"""
JAVASCRIPT = """\
var a = 1, B = function() { return 1; };
Foo.prototype.bar = function(x) { var y; return x; };
module.exports.go = () => 1;
class C extends D { #p = 1; m() {} }
"""
GO = """\
package main
import ( "fmt"; alias "a/b/c" )
// Encoder encodes.
type Encoder[T any] struct {
	A, B int
}
type I interface { Do(x int) error }
type Str string
const MAX = 1
// Run runs.
func (e *Encoder[T]) Run(x int) (int, error) { var loc = 1; return loc, nil }
func main() {}
"""
RUST = """\
use crate::net::{self, a::B, c as d};
mod child;
/// A point.
#[derive(Debug)]
pub struct Point<T> { pub x: T }
enum E { A, B(i32) }
trait Tr { fn req(&self); }
impl<T> Tr for Point<T> { fn req(&self) { let z = 1; } }
impl<T> Point<T> {
    /// New.
    pub fn new(x: T) -> Vec<T> where T: Copy { }
}
macro_rules! mac { () => {} }
"""
JULIA = '''\
module A
using B, C.D
import E: f, g
include("x.jl")
"""
    foo(x)
"""
function foo(x::Int)::Int where T
 y = 1
end
Base.show(io::IO, x) = 1
const Z = 3
mutable struct P{T} <: Q
  a::Int
end
macro m(x)
end
function (c::Chain)(x) x end
end
'''
FOUND: dict[str, tuple[str, Sequence[str]]] = {
    "cpp": (
        CPP,
        [
            "MAX_LEN macro 3",
            "SQ macro 4",
            "ns namespace 5",
            "ns.inner namespace 5",
            "ns.inner.Point class 9",
            "ns.inner.Point.Point method 11",
            "ns.inner.Point.~Point method 12",
            "ns.inner.Point.area method 13",
            "ns.inner.Point.operator== method 14",
            "ns.inner.Point.x_ field 16",
            "ns.inner.Point.y_ field 16",
            "ns.inner.Point.area method 21",
            "Color enum 22",
            "Color.Red constant 22",
            "Color.Green constant 22",
            "Foo type 23",
            "Foo.a field 23",
            "Bar type 24",
            "ptr function 25",
            "callback variable 26",
            "two_lines function 28",
        ],
    ),
    "cuda": (CUDA, ("add function 2", "sq function 3")),
    "java": (
        JAVA,
        [
            "A class 6",
            "A.MAX constant 7",
            "A.A method 8",
            "A.get method 9",
            "A.I interface 10",
            "A.I.q method 10",
            "A.E enum 11",
            "A.E.X constant 11",
        ],
    ),
    "typescript": (
        TYPESCRIPT,
        [
            "x variable 3",
            "add function 6",
            "Foo class 7",
            "Foo.handler method 8",
            "Foo.constructor method 9",
            "Foo.v method 10",
            "Shape interface 12",
            "Shape.area method 12",
            "Shape.w field 12",
            "Alias type 13",
            "E enum 14",
            "E.A constant 14",
            "E.B constant 14",
            "N namespace 15",
            "N.inner function 15",
        ],
    ),
    "javascript": (
        JAVASCRIPT,
        [
            "a variable 1",
            "B function 1",
            "Foo.bar method 2",
            "go function 3",
            "C class 4",
            "C.p field 4",
            "C.m method 4",
        ],
    ),
    "go": (
        GO,
        [
            "Encoder struct 4",
            "Encoder.A field 5",
            "Encoder.B field 5",
            "I interface 7",
            "I.Do method 7",
            "Str type 8",
            "MAX constant 9",
            "Encoder.Run method 11",
            "main function 12",
        ],
    ),
    "rust": (
        RUST,
        [
            "Point struct 5",
            "Point.x field 5",
            "E enum 6",
            "E.A constant 6",
            "E.B constant 6",
            "Tr trait 7",
            "Tr.req method 7",
            "Point.req method 8",
            "Point.new method 11",
            "mac macro 13",
        ],
    ),
    "julia": (
        JULIA,
        [
            "A module 1",
            "A.foo function 8",
            "A.show function 11",
            "A.Z constant 12",
            "A.P struct 13",
            "A.P.a field 14",
            "A.m macro 16",
            "A.Chain function 18",
        ],
    ),
}
FOUND["tsx"] = FOUND["typescript"]


@needs_grammars
@pytest.mark.parametrize("language", FOUND)
def test_each_language_gives_its_symbols_with_kind_line_and_parent(language: str) -> None:
    source, symbols = FOUND[language]
    parsed = parse_code(language, source.encode())
    assert parsed.fault == ""
    found = [f"{one.parent}.{one.name}".removeprefix(".") + f" {one.kind} {one.line}" for one in parsed.symbols]
    assert found == list(symbols)


@needs_grammars
@pytest.mark.parametrize(
    ("language", "name", "signature", "doc"),
    [
        ("cpp", "Point", "class Point : public Base<T>", "A point.\n With two."),
        ("cpp", "two_lines", "int two_lines(int a, int b)", ""),
        ("cuda", "add", "__global__ void add(float *a)", "Adds."),
        ("java", "A", "@Deprecated public class A<T> extends B", "Doc."),
        ("typescript", "add", "add = (a: number): Promise<number>", "Adds."),
        ("go", "Run", "func (e *Encoder[T]) Run(x int) (int, error)", "Run runs."),
        ("rust", "Point", "pub struct Point<T>", "A point."),
        ("rust", "new", "pub fn new(x: T) -> Vec<T> where T: Copy", "New."),
        ("julia", "foo", "function foo(x::Int)::Int where T", "foo(x)"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_signature_and_comment_are_told(language: str, name: str, signature: str, doc: str) -> None:
    found = [
        (one.signature, one.doc)
        for one in parse_code(language, FOUND[language][0].encode()).symbols
        if one.name == name
    ]
    assert found[:1] == ([(signature, doc)] if signature else [])


@needs_grammars
def test_damaged_code_gives_what_is_whole_and_says_where_it_is_not() -> None:
    parsed = parse_code("c", b"int good(void) { return 1; }\nint bad( {{{ ;\n")
    assert "good" in [symbol.name for symbol in parsed.symbols]
    assert parsed.fault == "the parser could not make sense of all of it, first of line 2"


def test_without_grammars_the_fault_says_what_to_type() -> None:
    program = textwrap.dedent("""
        import sys
        sys.modules["tree_sitter"] = None
        from phases.references.parse.source_code import parse_code
        for language, source in (("c", b"int f(void) { return 1; }"), ("python", b"print 1")):
            parsed = parse_code(language, source)
            print(parsed.fault, len(parsed.symbols), len(parsed.pieces))
    """)
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "no parser for C: pip install 'paper-pipeline[code]' 0 1"
    assert told[1].endswith("there is no parser for damaged or old Python: pip install 'paper-pipeline[code]' 0 1")


LANGUAGES = sorted(FOUND)


@needs_grammars
@settings(deadline=None)  # no timing is asserted
@given(st.sampled_from(LANGUAGES), st.data())
def test_no_damage_to_real_code_makes_it_raise(language: str, data: st.DataObject) -> None:
    source = FOUND[language][0].encode()
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    damaged = source[:start] + data.draw(st.binary(max_size=20)) + source[end:]
    for symbol in (parsed := parse_code(language, damaged)).symbols:
        assert 1 <= symbol.line <= symbol.end <= parsed.lines
        assert len(symbol.signature) <= 300


@pytest.mark.slow
@needs_grammars
@settings(deadline=None)  # no timing is asserted
@given(st.sampled_from(LANGUAGES), st.binary(max_size=200))
@example("c", b"{" * 20_000)
@example("cpp", b"a<" * 5_000)
@example("javascript", b"[" * 20_000)
@example("rust", b"use " + b"a::{" * 5_000 + b";")
@example("go", b"\xff\xfe")
def test_no_bytes_make_it_raise(language: str, data: bytes) -> None:
    parse_code(language, data)
