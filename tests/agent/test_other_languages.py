"""`pipeline chat` in languages other than Python: recorded replies, real compilers and test runners in the sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from phases.llm.model import Reply
from phases.planning.rules.plan import language_of
from phases.sandbox.commands import kind_of_sandbox
from tests.agents import small_plan, write, write_recording
from tests.papers import Command


class Example(NamedTuple):
    language: str
    tools: tuple[str, ...]
    check: str
    files: Mapping[str, str]


_R1 = "// R1: a number is doubled.\n"
_CPP = {
    "double.hpp": f"{_R1}int twice(int number);\n",
    "double.cpp": '#include "double.hpp"\n// R1\nint twice(int number) { return 2 * number; }\n',
    "test_double.cpp": """\
#include "double.hpp"
#include <cstdio>
int main() {
    int failed = (twice(4) != 8) + (twice(0) != 0);
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
            "package.json": '{"name": "double", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}\n',
            "double.js": f"{_R1}export const twice = (number) => 2 * number;\n",
            "test/double.test.js": """\
import assert from "node:assert";
import test from "node:test";
import { twice } from "../double.js";
test("a number is doubled", () => assert.equal(twice(4), 8));
test("nothing stays nothing", () => assert.equal(twice(0), 0));
""",
        },
    ),
    "make": Example(
        "C++",
        ("g++", "make"),
        "make test",
        {
            "Makefile": "test: t\n\t./t\nt: double.cpp test_double.cpp double.hpp\n\tg++ -o $@ $(filter %.cpp,$^)\n",
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
project(double CXX)
enable_testing()
add_executable(test_double double.cpp test_double.cpp)
add_test(NAME runs COMMAND test_double)
add_test(NAME again COMMAND test_double)
""",
            **_CPP,
        },
    ),
    "javac": Example(
        "Java",
        ("javac", "java"),
        "javac -d out Double.java DoubleTest.java && java -cp out DoubleTest",
        {
            "Double.java": f"{_R1}class Double {{ static int twice(int number) {{ return 2 * number; }} }}\n",
            "DoubleTest.java": """\
public class DoubleTest {
    public static void main(String[] arguments) {
        System.out.println((Double.twice(4) == 8 ? "ok" : "not ok") + " 1 - a number is doubled");
        System.out.println((Double.twice(0) == 0 ? "ok" : "not ok") + " 2 - nothing stays nothing");
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
            "Cargo.toml": '[package]\nname = "double"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": f"{_R1}pub fn twice(number: i32) -> i32 {{ 2 * number }}\n",
            "tests/twice.rs": "#[test]\nfn four() { assert_eq!(double::twice(4), 8); }\n"
            "#[test]\nfn zero() { assert_eq!(double::twice(0), 0); }\n",
        },
    ),
    "go": Example(
        "Go",
        ("go",),
        "go test ./...",
        {
            "go.mod": "module double\n\ngo 1.21\n",
            "double.go": f"package double\n\n{_R1}func Twice(number int) int {{ return 2 * number }}\n",
            "double_test.go": """\
package double

import "testing"

func TestTwice(t *testing.T) {
	if Twice(4) != 8 || Twice(0) != 0 {
		t.Fatal(Twice(4))
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
            "src/Double.jl": 'module Double\n"R1: a number is doubled."\ntwice(number) = 2 * number\nend\n',
            "test/runtests.jl": """\
using Test
include("../src/Double.jl")
@testset "twice" begin
    @test Double.twice(4) == 8
    @test Double.twice(0) == 0
end
""",
        },
    ),
}


def record(folder: Path, example: Example, request: str) -> Path:
    """Write the replies of a planner and of an implementer that writes all files in one turn."""
    files = {"README.md": "# Doubles\n", **example.files}
    source = {"section": None, "page": 1, "quote": request.partition(".")[0]}
    row = {"id": "R1", "kind": "algorithm", "text": "A number is doubled.", "source": source, "status": "inferred"}
    plan = small_plan(*files, verify=(example.check,))
    planned = [{**file, "implements": ["R1"] * ("double." in file["path"].lower())} for file in plan["file_structure"]]
    tools = {"packages": [], "tools": list(example.tools)}
    more = {"language": example.language, "requirements": [row], "file_structure": planned, "environment_setup": tools}
    calls = [write(path, text, f"w{number}").calls[0] for number, (path, text) in enumerate(files.items())]
    implement = [Reply("ok", "", tuple(calls)), Reply("ok", "done"), Reply("ok", "done")]
    return write_recording(folder, {"plan": [Reply("ok", json.dumps({**plan, **more}))], "implement": implement})


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
    request = f"Write a program that doubles numbers in {example.language}. It must take any number."
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


def test_the_language_of_a_request_is_the_one_that_it_names() -> None:
    for request, language in (
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
    ):
        assert language_of(request) == language, request
