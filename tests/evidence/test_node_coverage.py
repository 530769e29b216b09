"""Which functions of JavaScript files tests run, as Node's own engine notes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from phases.evidence.observation import read_node_coverage

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
CODE = """\
// R1: a name that is not plain ASCII: é 𝕏
function validate(name, value) {
  if (!value) { return "empty"; }
  return "";
}

function other(count) {
  return count + 1;
}
module.exports = { validate, other };
"""
TEST = """\
const test = require("node:test");
const assert = require("node:assert");
const { validate } = require("../js/form.js");
test("an empty name is refused", () => { assert.equal(validate("name", ""), "empty"); });
"""
DATA = 'module.exports = { rate: 0.1 };\nconst unused = "x";\n'


def write(root: Path, files: dict[str, str]) -> dict[str, str]:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return files


def run_node(root: Path, *tests: str) -> str:
    notes = str(root / "notes")
    environment = {**os.environ, "NODE_V8_COVERAGE": notes}
    subprocess.run(["node", "--test", *tests], cwd=root, env=environment, check=True, capture_output=True)
    return notes


@needs_node
def test_a_function_is_run_by_the_test_files_that_enter_it(tmp_path: Path) -> None:
    again = TEST.replace("validate", "other").replace('other("name", "")', "other(1)").replace('"empty"', "2")
    sources = write(tmp_path, {"js/form.js": CODE, "tests/form.test.js": TEST, "tests/count.test.js": again})
    ran = read_node_coverage(run_node(tmp_path, "tests/form.test.js", "tests/count.test.js"), str(tmp_path), sources)
    form, count = frozenset({"tests/form.test.js"}), frozenset({"tests/count.test.js"})
    assert ran == {"js/form.js": {**dict.fromkeys((2, 3, 4, 5), form), **dict.fromkeys((7, 8, 9), count)}}


@needs_node
@pytest.mark.parametrize(
    ("code", "is_run"),
    [(DATA, True), (CODE, False), ("module.exports = { half: (x) => x / 2 };\n", False)],
    ids=["data", "functions", "an arrow function"],
)
def test_a_file_that_is_only_loaded_is_run_if_it_holds_no_function(code: str, is_run: bool, tmp_path: Path) -> None:
    test = 'require("node:test")("loads", () => { require("../settings.js"); });\n'
    sources = write(tmp_path, {"settings.js": code, "tests/settings.test.js": test})
    ran = read_node_coverage(run_node(tmp_path, "tests/settings.test.js"), str(tmp_path), sources)
    assert ("settings.js" in ran) is is_run


@pytest.mark.parametrize(
    "noted",
    [
        "{",
        [],
        {"result": {}},
        {"result": [1, {"url": 3, "functions": 4}]},
        {"result": [{"url": "file:///w/a.js", "functions": [{"ranges": [{"startOffset": "0"}]}, {}, 7]}]},
        {"result": [{"url": "file:///etc/passwd", "functions": []}]},
        {"result": [{"url": "file:///w/../etc/passwd", "functions": []}]},
    ],
    ids=["no JSON", "a list", "no rows", "rows of numbers", "no offsets", "another file", "a path that leads out"],
)
def test_what_no_engine_writes_is_no_evidence(noted: Any, tmp_path: Path) -> None:
    (tmp_path / "coverage.json").write_text(noted if isinstance(noted, str) else json.dumps(noted))
    ran = read_node_coverage(str(tmp_path), "/w", {"a.js": "function f() {}", "b.js": "1;\n"})
    assert all(not by for lines in ran.values() for by in lines.values())


def test_offsets_beyond_the_file_end_at_its_last_line(tmp_path: Path) -> None:
    functions = [{"ranges": [{"startOffset": 2, "endOffset": 10**12, "count": 1}]}]
    rows = [{"url": f"file:///w/{name}", "functions": functions} for name in ("a.js", "tests/a.test.js")]
    (tmp_path / "coverage.json").write_text(json.dumps({"result": rows}))
    sources = {"a.js": "1;\nfunction f() {\n}\n", "tests/a.test.js": "2;\n"}
    ran = read_node_coverage(str(tmp_path), "/w", sources)
    assert set(ran["a.js"]) == {1, 2, 3, 4}
