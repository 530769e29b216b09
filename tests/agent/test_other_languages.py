"""`pipeline chat` in languages other than Python: recorded replies, real compilers and test runners in the sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from phases.llm.model import Reply, reply_to_json
from phases.planning.rules.plan import language_of
from phases.sandbox.commands import kind_of_sandbox
from tests.agents import small_plan, write
from tests.papers import Command


class Example(NamedTuple):
    language: str
    tools: tuple[str, ...]
    check: str
    files: Mapping[str, str]


_RLE = "// R1: a run of a letter becomes its length and the letter.\n"
_CPP = {
    "rle.hpp": f"{_RLE}#pragma once\n#include <string>\nstd::string encode(const std::string& text);\n",
    "rle.cpp": """\
#include "rle.hpp"
// R1
std::string encode(const std::string& text) {
    std::string out;
    for (std::size_t start = 0, end; start < text.size(); start = end) {
        for (end = start; end < text.size() && text[end] == text[start]; ++end) {}
        out += std::to_string(end - start) + text[start];
    }
    return out;
}
""",
    "test_rle.cpp": """\
#include "rle.hpp"
#include <cstdio>
int main() {
    int failed = (encode("aaab") != "3a1b") + (encode("") != "");
    std::printf("%d passed, %d failed\\n", 2 - failed, failed);
    return failed != 0;
}
""",
}
EXAMPLES = {
    "node": Example(
        "JavaScript",
        ("node",),
        "node --test",
        {
            "package.json": '{"name": "rle", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}\n',
            "rle.js": _RLE
            + "export const encode = (text) => text.replace(/(.)\\1*/gs, (run) => run.length + run[0]);\n",
            "test/rle.test.js": """\
import assert from "node:assert";
import test from "node:test";
import { encode } from "../rle.js";
test("a run becomes its length", () => assert.equal(encode("aaab"), "3a1b"));
test("nothing stays nothing", () => assert.equal(encode(""), ""));
""",
        },
    ),
    "make": Example(
        "C++",
        ("g++", "make"),
        "make test",
        {
            "Makefile": "test: test_rle\n\t./test_rle\ntest_rle: rle.cpp test_rle.cpp rle.hpp\n\tg++ -o $@ $(filter %.cpp,$^)\n",
            **_CPP,
        },
    ),
    "ctest": Example(
        "C++",
        ("g++", "cmake", "ctest"),
        "cmake -S . -B build && cmake --build build && ctest --test-dir build",
        {
            "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.10)
project(rle CXX)
enable_testing()
add_executable(test_rle rle.cpp test_rle.cpp)
add_test(NAME runs COMMAND test_rle)
add_test(NAME again COMMAND test_rle)
""",
            **_CPP,
        },
    ),
    "javac": Example(
        "Java",
        ("javac", "java"),
        "javac -d out Rle.java RleTest.java && java -cp out RleTest",
        {
            "Rle.java": """\
/** R1: a run of a letter becomes its length and the letter. */
public class Rle {
    public static String encode(String text) {
        StringBuilder out = new StringBuilder();
        for (int start = 0, end; start < text.length(); start = end) {
            for (end = start; end < text.length() && text.charAt(end) == text.charAt(start); end++) {}
            out.append(end - start).append(text.charAt(start));
        }
        return out.toString();
    }
}
""",
            "RleTest.java": """\
public class RleTest {
    public static void main(String[] arguments) {
        System.out.println((Rle.encode("aaab").equals("3a1b") ? "ok" : "not ok") + " 1 - a run becomes its length");
        System.out.println((Rle.encode("").isEmpty() ? "ok" : "not ok") + " 2 - nothing stays nothing");
        System.out.println("1..2");
    }
}
""",
        },
    ),
    "cargo": Example(
        "Rust",
        ("cargo",),
        "cargo test --offline",
        {
            "Cargo.toml": '[package]\nname = "rle"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": _RLE
            + """\
pub fn encode(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters.chunk_by(|a, b| a == b).map(|run| format!("{}{}", run.len(), run[0])).collect()
}
""",
            "tests/encode.rs": """\
#[test]
fn a_run_becomes_its_length() { assert_eq!(rle::encode("aaab"), "3a1b"); }
#[test]
fn nothing_stays_nothing() { assert_eq!(rle::encode(""), ""); }
""",
        },
    ),
    "go": Example(
        "Go",
        ("go",),
        "go test ./...",
        {
            "go.mod": "module rle\n\ngo 1.21\n",
            "rle.go": """\
package rle

import "strconv"

// Encode meets R1: a run of a letter becomes its length and the letter.
func Encode(text string) string {
	out := ""
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && text[end] == text[start] {
			end++
		}
		out += strconv.Itoa(end-start) + text[start:start+1]
		start = end
	}
	return out
}
""",
            "rle_test.go": """\
package rle

import "testing"

func TestEncode(t *testing.T) {
	if Encode("aaab") != "3a1b" || Encode("") != "" {
		t.Fatal(Encode("aaab"))
	}
}
""",
        },
    ),
    "julia": Example(
        "Julia",
        ("julia",),
        "julia test/runtests.jl",
        {
            "src/Rle.jl": """\
module Rle
"R1: a run of a letter becomes its length and the letter."
encode(text) = replace(text, r"(.)\\1*"s => run -> string(length(run), run[1]))
end
""",
            "test/runtests.jl": """\
using Test
include("../src/Rle.jl")
@testset "encode" begin
    @test Rle.encode("aaab") == "3a1b"
    @test Rle.encode("") == ""
end
""",
        },
    ),
}


def plan_of(example: Example, request: str) -> dict[str, Any]:
    source = {"section": None, "page": 1, "quote": request.partition(".")[0]}
    row = {"id": "R1", "kind": "algorithm", "text": "A run of a letter becomes its length and the letter."}
    plan = small_plan("README.md", *example.files, verify=(example.check,))
    files = [{**file, "implements": ["R1"] * ("rle." in file["path"].lower())} for file in plan["file_structure"]]
    return {
        **plan,
        "language": example.language,
        "requirements": [{**row, "source": source, "status": "inferred"}],
        "file_structure": files,
        "environment_setup": {"packages": [], "tools": list(example.tools)},
    }


def record(folder: Path, example: Example, request: str) -> Path:
    """Write the replies of a planner and of an implementer that writes all files in one turn."""
    files = {"README.md": "# Run lengths\n", **example.files}
    calls = [write(path, text, f"w{number}").calls[0] for number, (path, text) in enumerate(files.items())]
    threads = {
        "plan": [Reply("ok", json.dumps(plan_of(example, request)))],
        "implement": [Reply("ok", "", tuple(calls)), Reply("ok", "done"), Reply("ok", "done")],
    }
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(reply)}
        for thread, replies in threads.items()
        for turn, reply in enumerate(replies, 1)
    ]
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def find_toolchain(tool: str) -> list[str]:
    """Return the option that shows commands the directory of a toolchain that is outside the system's."""
    if tool != "cargo":
        return []
    found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("rustc has no toolchain for this user")
    return ["--programs", found.stdout.strip()]


@pytest.mark.skipif(kind_of_sandbox("required") == "none", reason="no sandbox on this machine")
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_request_in_another_language_is_written_and_its_own_tests_are_run_and_counted(
    name: str, tmp_path: Path
) -> None:
    example = EXAMPLES[name]
    if absent := [tool for tool in example.tools if shutil.which(tool) is None]:
        pytest.skip(f"{', '.join(absent)} is not on this machine")
    request = f"Write a run-length coder in {example.language}. It must take any text."
    command = Command(tmp_path)
    recording = record(tmp_path, example, request)
    ended = command(
        "chat", "--fast", request, "--id", "t", "--model", f"replay:{recording}", *find_toolchain(example.tools[0])
    )
    report = command.document("t", "report.json")
    assert (ended.code, report["status"]) == (0, "completed"), f"{ended.err}{ended.out}"
    (check,) = report["checks"]
    assert (check["exit_code"], check["tests"]["failed"]) == (0, 0)
    assert check["tests"]["passed"] == (1 if name == "go" else 2)
    code = command.task("t") / "generate_code"
    assert {path for path in example.files if not (code / path).is_file()} == set()
    assert [path.name for path in code.rglob("*.py")] == []


def test_without_a_model_a_request_in_another_language_ends_incomplete_and_says_what_it_needs(tmp_path: Path) -> None:
    command = Command(tmp_path)
    ended = command("chat", "--fast", "Write a run-length coder in Rust. It must take any text.", "--id", "t")
    assert ended.code == 3
    assert "Code in Rust needs a model; continue with --model PROVIDER:NAME" in ended.err + ended.out
    assert "pipeline show t plan" in ended.out + ended.err
    plan = command("show", "t", "plan", "--json").json()
    assert (plan["language"], [row["path"] for row in plan["file_structure"]]) == ("Rust", ["README.md"])
    assert len(plan["requirements"]) == 2
    assert not (command.task("t") / "generate_code").exists()


@pytest.mark.parametrize(
    ("request_text", "language"),
    [
        ("Build a web page in JavaScript that counts words.", "JavaScript"),
        ("Make me a small responsive web page with a clock", "JavaScript"),
        ("Write a script that downloads web pages", "Python"),
        ("Write a Python generator of web pages", "Python"),
        ("a C++ library for matrices", "C++"),
        ("a command-line tool in C that prints", "C"),
        ("Write a Go service", "Go"),
        ("Go through the list and sum it", "Python"),
        ("用Rust实现一个队列", "Rust"),
        ("Compute the mean in R^2", "Python"),
        ("Build a queue that keeps its items on the disk.", "Python"),
    ],
)
def test_the_language_of_a_request_is_the_one_that_it_names(request_text: str, language: str) -> None:
    assert language_of(request_text) == language
