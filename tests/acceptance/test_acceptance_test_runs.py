"""What the built-in check makes of tests: those that nobody ran, that ran nothing, that could not run here, and of open work."""

from __future__ import annotations

import os
import py_compile
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks import code_check
from phases.acceptance.checks.missing_dependencies import packages_missing_in_tests
from phases.acceptance.checks.test_runs import SuiteCounts, command_for_all, count_tests, find_tests_not_run
from phases.acceptance.checks.traceability import list_open_requirements
from phases.sandbox.box import OFF, Box
from phases.workspace.command_runner import CommandRunner
from phases.workspace.packages import describe_missing, missing_packages
from phases.workspace.snapshots import Snapshot
from tests.acceptance.test_acceptance_code_check import checked, needs_a_sandbox, plan_of, written

DISCOVER = "python -m unittest discover"
SUM = "def total(values):\n    return sum(values)\n"
WRONG = "def total(values):\n    return len(values)\n"
PLAIN = "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
IN_A_CLASS = (
    "from total import total\n\n\nclass TestTotal:\n    def test_sum(self):\n        assert total([1, 2]) == 3\n"
)
OF_UNITTEST = (
    "import unittest\n\nfrom total import total\n\n\nclass Total(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)


def verdict(tmp_path: Path, files: dict[str, str], *verify: str, **more: Any) -> dict[str, Any]:
    return checked(tmp_path, files, plan=plan_of(files, verify, more.pop("requirements", ())), **more)


# How many tests ran


@pytest.mark.parametrize(
    ("output", "passed", "failed", "skipped"),
    [
        ("...\n3 passed in … s\n", 3, 0, 0),
        ("=== 1 failed, 2 passed, 4 skipped, 1 xfailed, 2 warnings in 0.12s ===\n", 2, 1, 5),
        ("no tests ran in 0.01s\n", 0, 0, 0),
        ("2 skipped in … s\n", 0, 0, 2),
        ("1 error in 0.05s\n", 0, 1, 0),
        ("Ran 0 tests in 0.000s\n\nOK\n", 0, 0, 0),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 0, 0, 0),
        ("Ran 5 tests in … s\n\nOK (skipped=2, expected failures=1)\n", 2, 0, 3),
        ("Ran 5 tests in … s\n\nFAILED (failures=1, errors=2, skipped=1)\n", 1, 3, 1),
        ("Ran 1 test in 0.1s\n\nOK\n3 passed in 1.0s\n", 4, 0, 0),
    ],
)
def test_the_summaries_of_both_runners_are_counted(output: str, passed: int, failed: int, skipped: int) -> None:
    found = count_tests(output)
    assert found is not None
    assert (found.passed, found.failed, found.skipped) == (passed, failed, skipped)


@pytest.mark.parametrize("output", ["", "all 3 passed\n", "I ran 3 tests in a row\n", "done in 3 s\n"])
def test_an_output_without_a_summary_counts_nothing(output: str) -> None:
    assert count_tests(output) is None


# Zero tests


@needs_a_sandbox
@pytest.mark.parametrize(
    ("tests", "told"),
    [
        pytest.param({}, "no test was found", id="there is no test"),
        pytest.param({"test_a.py": "def check():\n    assert False\n"}, "no test was found", id="a name that none finds"),
        pytest.param(
            {"test_a.py": OF_UNITTEST.replace("    def test", "    @unittest.skip('later')\n    def test")},
            "all 1 tests were skipped, or are expected to fail",
            id="all are skipped",
        ),
        pytest.param(
            {"test_a.py": OF_UNITTEST.replace("    def test", "    @unittest.expectedFailure\n    def test").replace("3)", "4)")},
            "all 1 tests were skipped, or are expected to fail",
            id="all are expected to fail",
        ),
    ],
)  # fmt: skip
def test_a_check_that_runs_no_test_is_refused_and_says_so(tmp_path: Path, tests: dict[str, str], told: str) -> None:
    found = verdict(tmp_path, {"total.py": SUM, **tests}, DISCOVER)
    assert found["block"].startswith(f"`{DISCOVER}` ran no test ({told}), so nothing is known of the code")
    assert not found["verification"]["verified"]


@needs_a_sandbox
@pytest.mark.parametrize("with_pytest", [True, False], ids=["pytest is there", "pytest is not installed"])
@pytest.mark.parametrize(
    "tests", [pytest.param(PLAIN, id="a function"), pytest.param(IN_A_CLASS, id="a class", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("verify", [(DISCOVER,), ()], ids=["the plan says unittest", "the plan names no check"])
def test_tests_in_pytests_style_are_run_whatever_the_plan_says(
    tmp_path: Path, verify: tuple[str, ...], tests: str, with_pytest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_pytest:
        monkeypatch.setattr(code_check, "ASK_FOR_PYTEST", "false")
    elif subprocess.run(
        [os.path.realpath(sys.executable), "-I", "-c", "import pytest"], capture_output=True
    ).returncode:
        pytest.skip("the interpreter of the sandbox has no pytest")
    wrong = verdict(tmp_path / "wrong", {"total.py": WRONG, "tests/test_total.py": tests}, *verify)
    assert "assert" in wrong["block"].lower(), wrong
    right = verdict(tmp_path / "right", {"total.py": SUM, "tests/test_total.py": tests}, *verify)
    assert right["block"] is None
    last = right["verification"]["commands"][-1]
    assert (right["verification"]["verified"], last["tests"]) == (True, {"passed": 1, "failed": 0, "skipped": 0})
    assert last["command"] == (
        "python -m pytest -q" if with_pytest else "(the built-in test runner) tests/test_total.py"
    )


def test_tests_that_a_command_of_the_plan_ran_are_not_run_again() -> None:
    files = {"test_a.py": PLAIN, "test_b.py": OF_UNITTEST, "model.py": SUM}
    counts = {name: SuiteCounts(1, 0, 0, frozenset([name])) for name in ("pytest", "unittest")}
    assert find_tests_not_run(files, [counts["pytest"]]) == []
    assert find_tests_not_run(files, [counts["unittest"]]) == ["test_a.py"]
    assert find_tests_not_run(files, []) == ["test_a.py", "test_b.py"]


def test_the_built_in_runner_finds_both_styles_and_skips_what_only_pytest_can_run(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/total.py": SUM,
            "pkg/tests/__init__.py": "",
            "pkg/tests/test_a.py": PLAIN.replace("total import", "pkg.total import"),
            "test_b.py": OF_UNITTEST.replace("total import", "pkg.total import"),
            "test_c.py": "def test_with(tmp_path):\n    assert False\n\n\nasync def test_later():\n    assert False\n",
            "test_d.py": "raise RuntimeError('no tests here')\n",
        },
    ).root
    words = shlex.split(command_for_all(["pkg/tests/test_a.py", "test_b.py", "test_c.py", "test_d.py"]))
    ended = subprocess.run([sys.executable, *words[1:]], cwd=root, capture_output=True, text=True)
    counts = count_tests(ended.stderr)
    assert counts is not None
    assert (ended.returncode, counts.passed, counts.failed, counts.skipped) == (1, 2, 1, 2)
    assert "no tests here" in ended.stderr


# What this machine lacks


@needs_a_sandbox
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(OF_UNITTEST.replace("import unittest\n", "import unittest\n\nimport torchless\n"), id="at import"),
        pytest.param(OF_UNITTEST.replace("        self", "        import torchless.nn\n        self"), id="in a test"),
        pytest.param(
            OF_UNITTEST.replace(
                "class Total",
                "try:\n    import torchless\nexcept ImportError:\n    torchless = None\n\n\n"
                "@unittest.skipIf(torchless is None, 'no torchless')\nclass Total",
            ),
            id="skipped for it",
        ),
        pytest.param(PLAIN.replace("from total", "import torchless\nfrom total"), id="in pytest's style"),
    ],
)
def test_a_check_that_fails_for_want_of_a_package_of_the_plan_is_not_checked_and_not_refused(
    tmp_path: Path, tests: str
) -> None:
    found = verdict(tmp_path, {"total.py": SUM, "test_a.py": tests}, DISCOVER, missing=("torchless",))
    assert found["block"] is None
    verification = found["verification"]
    assert (verification["verified"], verification["missing_packages"]) == (False, ["torchless"])
    assert verification["why"] == "not checked: torchless is not installed here"


@needs_a_sandbox
@pytest.mark.parametrize(
    ("tests", "missing"),
    [
        pytest.param("import torchless\n" + OF_UNITTEST, (), id="no package of the plan"),
        pytest.param(
            OF_UNITTEST + "\n    def test_more(self):\n        import torchless\n", ("torchless",), id="another test fails too"
        ),
        pytest.param(OF_UNITTEST.replace("from total", "from totals"), ("torchless",), id="a file of another name"),
        pytest.param(OF_UNITTEST.replace("3)", "4)"), ("torchless",), id="a wrong test alone"),
    ],
)  # fmt: skip
def test_what_fails_for_another_reason_too_is_refused(tmp_path: Path, tests: str, missing: tuple[str, ...]) -> None:
    found = verdict(tmp_path, {"total.py": WRONG, "test_a.py": tests}, DISCOVER, missing=missing)
    assert found["block"]


@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("scikit-learn", "sklearn"),
        ("Torch", "torch"),
        ("opencv-python", "cv2"),
        ("flash-attn", "flash_attn"),
        ("PyYAML", "yaml"),
    ],
)
def test_a_package_is_known_by_what_it_is_imported_as(package: str, module: str) -> None:
    output = f"E   ModuleNotFoundError: No module named '{module}.nn'\n"
    assert packages_missing_in_tests(output, [package]) == [package]
    assert packages_missing_in_tests(output, ["numpy"]) == []


def test_packages_that_are_not_installed_are_found_by_the_names_of_the_plan() -> None:
    wanted = ["pip>=20", "Torch-less (>=2.0)", "no_such.package", "torch-less[extra]==1"]
    assert missing_packages(wanted) == ("Torch-less", "no_such.package", "torch-less")
    assert missing_packages([]) == ()
    assert describe_missing(["a"]) == "a is not installed here"
    assert describe_missing(["a", "b", "c"]) == "a, b and c are not installed here"


# What is still open


REQUIREMENTS: list[dict[str, Any]] = [
    {"id": "R1", "kind": "algorithm", "text": "Sum all values."},
    {"id": "R2", "kind": "hyperparameter", "text": "Use a rate of 0.1.", "value": 0.1},
]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (SUM, "R1 is in no code; name R1 in the docstring of what implements it: Sum all values."),
        ('def total(values):\n    """R1"""\n', "R1 is a stub (total.py:total): Sum all values."),
        (f"RATE = 0.2  # R2\n{SUM}", "R2 has another value: the plan says 0.1, total.py:RATE is 0.2"),
    ],
    ids=["missing", "a stub", "another value"],
)
def test_what_is_open_is_told_to_the_model_with_its_place(tmp_path: Path, code: str, told: str) -> None:
    files = {"total.py": code}
    workspace, plan = written(tmp_path, files), plan_of(files, (), REQUIREMENTS)
    (text,) = list_open_requirements(workspace, plan)
    assert told in text.splitlines()
    assert text.splitlines()[0] == f"{len(text.splitlines()) - 1} of 2 requirements of the plan are open:"


@needs_a_sandbox
def test_open_requirements_refuse_work_whose_tests_pass(tmp_path: Path) -> None:
    files = {"total.py": SUM, "test_total.py": OF_UNITTEST}
    found = verdict(tmp_path, files, DISCOVER, requirements=REQUIREMENTS)
    assert found["block"].startswith("2 of 2 requirements of the plan are open:\nR1 is in no code")
    met = {**files, "total.py": 'RATE = 0.1  # R2\n\n\ndef total(values):\n    """R1"""\n    return sum(values)\n'}
    assert verdict(tmp_path, met, DISCOVER, requirements=REQUIREMENTS)["block"] is None


# What stands in for what is checked


@needs_a_sandbox
@pytest.mark.parametrize("path", ["unittest.py", "unittest/__init__.py", "_pytest/__init__.py", "traceback.py"])
def test_a_file_that_stands_in_for_what_tests_need_is_refused(tmp_path: Path, path: str) -> None:
    files = {"total.py": WRONG, "test_total.py": OF_UNITTEST}
    found = verdict(tmp_path, files, DISCOVER)
    assert "ended with 1" in found["block"]
    written(tmp_path, {path: "class TestCase: ...\n"})
    found = verdict(tmp_path, files, DISCOVER)
    assert found["block"] == f"{path} stands in for a module of Python or of a test runner: rename it"


@needs_a_sandbox
@pytest.mark.parametrize("way", ["beside the source", "in its cache"])
def test_stale_bytecode_decides_nothing(tmp_path: Path, way: str) -> None:
    """The cache says that it is right whatever the source is, as `unchecked-hash` has it."""
    files = {"total.py": SUM, "test_total.py": OF_UNITTEST}
    root = Path(written(tmp_path, files).root)
    beside = str(root / "other.pyc") if way == "beside the source" else None
    py_compile.compile(str(root / "total.py"), beside, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    if beside:
        files["test_total.py"] = OF_UNITTEST.replace("total import", "other import")
    else:
        files["total.py"] = WRONG
    found = verdict(tmp_path, files, DISCOVER)
    assert "ended with 1" in (found["block"] or ""), found
    assert not list(root.rglob("*.pyc"))


def test_bytecode_is_gone_before_a_command_of_the_agent_runs(tmp_path: Path) -> None:
    root = tmp_path / "code"
    (root / "__pycache__").mkdir(parents=True)
    (root / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"stale")
    outside = tmp_path / "kept.pyc"
    outside.write_bytes(b"mine")
    (root / "link").symlink_to(tmp_path)
    commands = CommandRunner(Box(str(root), OFF), Snapshot(str(root), str(tmp_path / "snapshot")))
    commands.step = "1-0"
    assert commands.run("find . -name '*.pyc'", 20).output == ""
    assert outside.exists()
