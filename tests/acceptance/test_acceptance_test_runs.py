"""How tests are counted, and what follows if none ran, or if they could not run here."""

from __future__ import annotations

import py_compile
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks.planned_files import packages_missing_in_tests
from phases.acceptance.checks.test_runs import SuiteCounts, count_tests, find_tests_not_run
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
        ("# tests 5\n# suites 0\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n", 4, 1, 0),
        ("ℹ tests 6\nℹ pass 5\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\n", 5, 0, 1),
        ("Test Suites: 1 passed, 1 total\nTests:       1 failed, 5 passed, 6 total\n", 5, 1, 0),
        (" Test Files  1 passed (1)\n      Tests  2 failed | 5 passed (7)\n", 5, 2, 0),
        ("\n  5 passing (8ms)\n  1 failing\n", 5, 1, 0),
        ("67% tests passed, 1 tests failed out of 3\n", 2, 1, 0),
        ("No tests were found!!!\n", 0, 0, 0),
        ("[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n", 2, 1, 0),
        ("test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n", 5, 0, 1),
        ("ok  \texample.com/wc\t0.003s\nFAIL\texample.com/x\t0.01s\n?   \texample.com/y\t[no test files]\n", 1, 1, 0),
        ("[INFO] Tests run: 5, Failures: 0, Errors: 1, Skipped: 2\n", 2, 1, 2),
        ('<testsuite name="x" tests="3" failures="1" errors="0">', 2, 1, 0),
        ("Test Summary: | Pass  Fail  Total  Time\nwc            |    3     1      4  0.1s\n  inner | 3 3\n", 3, 1, 0),
        ("[ FAIL 0 | WARN 0 | SKIP 0 | PASS 5 ]\n", 5, 0, 0),
        ("ok parse\n12 passed, 1 failed\n", 12, 1, 0),
        ("All 7 tests passed.\n", 7, 0, 0),
        ("test_units: 19 passed, 0 failed (175 checks)\ntest_cli: 10 passed, 1 failed (135 checks)\n", 29, 1, 0),
        ("All tests passed (31 assertions in 7 test cases)\n", 7, 0, 0),
        ("test cases:  7 |  6 passed | 1 failed\nassertions: 31 | 30 passed | 1 failed\n", 6, 1, 0),
        ("[doctest] test cases:  7 |  6 passed | 1 failed | 0 skipped\n", 6, 1, 0),
        ("7 Tests 1 Failures 2 Ignored\nFAIL\n", 4, 1, 2),
        ("test_cli: 9 tests, 103 checks, 1 tests failed\ntest_io: 2 tests, 0 failures\n", 10, 1, 0),
        ("ok 1 - parse\nnot ok 2 - print\n1..2\n", 1, 1, 0),
        ("ok 1 - parse # SKIP no file\nnot ok 2 - print # TODO\nok 3 - read\n1..3\n", 1, 0, 2),
    ],
)
def test_the_summaries_of_test_runners_of_many_languages_are_counted(
    output: str, passed: int, failed: int, skipped: int
) -> None:
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
        pytest.param({"test_a.py": OF_UNITTEST.replace("    def test", "    @unittest.skip('later')\n    def test")},
            "all 1 tests were skipped, or are expected to fail", id="all are skipped"),
        pytest.param(
            {"test_a.py": OF_UNITTEST.replace("    def test", "    @unittest.expectedFailure\n    def test").replace("3)", "4)")},
            "all 1 tests were skipped, or are expected to fail",
            id="all are expected to fail",
        ),
    ],
)  # fmt: skip
def test_a_check_that_runs_no_test_is_refused_and_says_so(tmp_path: Path, tests: dict[str, str], told: str) -> None:
    found = verdict(tmp_path, {"total.py": SUM, **tests}, DISCOVER)
    assert found["block"].startswith(f"`{DISCOVER}` ran no test ({told}): write tests that run")
    assert not found["verification"]["verified"]


@needs_a_sandbox
@pytest.mark.parametrize("tests", [PLAIN, IN_A_CLASS], ids=["a function", "a class"])
@pytest.mark.parametrize("verify", [(DISCOVER,), ()], ids=["the plan says unittest", "the plan names no check"])
def test_tests_in_pytests_style_are_run_whatever_the_plan_says(
    tmp_path: Path, verify: tuple[str, ...], tests: str
) -> None:
    wrong = verdict(tmp_path / "wrong", {"total.py": WRONG, "tests/test_total.py": tests}, *verify)
    assert "assert" in wrong["block"].lower(), wrong
    right = verdict(tmp_path / "right", {"total.py": SUM, "tests/test_total.py": tests}, *verify)
    assert right["block"] is None
    last = right["verification"]["commands"][-1]
    assert (right["verification"]["verified"], last["tests"]) == (True, {"passed": 1, "failed": 0, "skipped": 0})
    assert last["command"] == "python -m pytest -q"


def test_tests_that_a_command_of_the_plan_ran_are_not_run_again() -> None:
    files = {"test_a.py": PLAIN, "test_b.py": OF_UNITTEST, "model.py": SUM}
    counts = {name: SuiteCounts(1, 0, 0, frozenset([name])) for name in ("pytest", "unittest")}
    assert find_tests_not_run(files, [counts["pytest"]]) == []
    assert find_tests_not_run(files, [counts["unittest"]]) == ["test_a.py"]
    assert find_tests_not_run(files, []) == ["test_a.py", "test_b.py"]


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
)  # fmt: skip
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
        pytest.param(OF_UNITTEST + "\n    def test_more(self):\n        import torchless\n", ("torchless",),
            id="another test fails too"),
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


# What stands in for what is checked


@needs_a_sandbox
@pytest.mark.parametrize(
    "path", [pytest.param("unittest.py"), "unittest/__init__.py", pytest.param("_pytest/__init__.py"), "traceback.py"]
)
def test_a_file_that_stands_in_for_what_tests_need_is_refused(tmp_path: Path, path: str) -> None:
    files = {"total.py": WRONG, "test_total.py": OF_UNITTEST}
    found = verdict(tmp_path, files, DISCOVER)
    assert "ended with 1" in found["block"]
    written(tmp_path, {path: "class TestCase: ...\n"})
    found = verdict(tmp_path, files, DISCOVER)
    assert f"{path} replaces a module of Python or of a test runner: rename it" in found["block"]


@needs_a_sandbox
@pytest.mark.parametrize("way", ["beside the source", pytest.param("in its cache")])
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
