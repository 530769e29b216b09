"""What no schema can say of a plan: packages, checks, and quotes that are nearly right."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.planning.plan_faults import command_faults, package_faults, why_exit_hidden
from phases.planning.quotes import find_nearly
from tests.strategies import QUICK
from tests.work import assert_linear, must_end


@pytest.mark.parametrize(
    "line",
    [
        "numpy",
        "scikit-learn>=1.3",
        "torch==2.1.0",
        "ray[rllib]>=2,<3",
        "tomli; python_version<'3.11'",
        "a.b_c-d ~= 1.0",
        "PyTorch (any)",
        "pip install numpy",
        "torch 2.1",
    ],
)
def test_a_line_that_pip_can_install_is_no_fault(line: str) -> None:
    assert list(package_faults([line])) == []


@pytest.mark.parametrize(
    "line",
    ["numpy and scipy", "", "-r file.txt", "git+https://example.org/x", "torch (2.0 or later)"],
)
def test_a_line_that_pip_cannot_install_is_told(line: str) -> None:
    [told] = package_faults([line])
    assert repr(line) in told


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest discover -s tests -t .",
        "pytest -q && ruff check",
        "pytest -q && echo passed",
        "cd src && pytest -q && true",
        "bash -o pipefail -c 'pytest | tee log'",
        "set -euo pipefail; pytest | tail; ruff check",
        "set -e\npytest\nruff check",
        "grep -c 'a|b' file",
        "pytest 2>&1",
        "make || exit 1",
        "pytest > log 2>&1 || { cat log; exit 1; }",
        "pytest || (cat log && false)",
        "if ! pytest; then exit 1; fi",
        "cd src; PYTHONPATH=. timeout 60 pytest",
        "mkdir -p out; [ -d data ] || mkdir data; pytest",
        "echo 1 | python -m package",
        "test -f a.py && ! grep -q TODO a.py",
        "python - <<'END'\nimport x; x.check()\nEND",
        "python -c 'print(1|2); x = 1; assert x'",
        'python -c "import subprocess as s, sys; sys.exit(s.run([1]).returncode)"',
        "python -c 'import subprocess; subprocess.run([1], check=True)'",
        'python -c "\ntry:\n    f()\nexcept ValueError: pass\nelse: raise SystemExit(1)"',
        "pytest  # || true",
    ],
)
def test_a_check_that_ends_as_it_went_is_no_fault(command: str) -> None:
    assert list(command_faults([command])) == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("pytest || true", "after ||"),
        ("pytest ||true", "after ||"),
        ("pytest || echo failed", "after ||"),
        ("pytest || { true; }", "after ||"),
        ("pytest || python -c pass", "after ||"),
        ("pytest \\\n || :", "after ||"),
        ("(pytest || true)", "after ||"),
        ("bash -c 'pytest || true'", "after ||"),
        ("eval 'pytest || true'", "after ||"),
        ("pytest | tail -3", "a pipe"),
        ("sh -c 'pytest | tee log'", "a pipe"),
        ("pytest &", "in the background"),
        ("pytest & wait", "in the background"),
        ("pytest; true", "only the command after it decides"),
        ("timeout 60 pytest ; exit 0", "only the command after it decides"),
        ("(pytest; true)", "only the command after it decides"),
        ("pytest\nls", "only the command after it decides"),
        ("echo $(pytest)", "ends well whatever"),
        ("cd src && echo passed", "ends well whatever"),
        ("set -o pipefail; pytest | tail; true", "only the command after it decides"),
        ("set +e; pytest", "set +e"),
        ("bash -ec 'set +e; pytest; exit 0'", "set +e"),
        ("trap 'exit 0' EXIT; pytest", "`trap`"),
        ("! pytest", "`!`"),
        ("if pytest; then echo ok; fi", "`if`"),
        ("while true; do pytest; break; done", "`while`"),
        ("make -i test", "ignores what fails"),
        ("pytest --collect-only", "runs no test"),
        ('python -c "\ntry:\n    f()\nexcept Exception:\n    pass"', "`except` swallows"),
        ('python -c "\ntry:\n    f()\nfinally:\n    exit(0)"', "`finally`"),
        ("python -c 'import os; os.system(\"pytest\")'", "os.system ended"),
        ("python3 -c 'import subprocess; subprocess.run([\"pytest\"])'", "subprocess.run ended"),
    ],
)
def test_a_check_that_hides_how_it_ended_is_told_with_the_reason(command: str, why: str) -> None:
    [told] = command_faults([command])
    assert repr(command) in told
    assert why in told.partition("hides how it ended")[2]


@given(st.text("ab;|&()'\"`$<>\n\\ ", max_size=300))
@example("(" * 20_000)
@example("<<A\n" * 20_000)
@example("$(" * 20_000)
@example("python -c 'a" + ".b" * 5_000 + "()'")
@QUICK
def test_any_text_is_read_as_a_command(command: str) -> None:
    assert isinstance(why_exit_hidden(command), str)


TEXT = "theencoderiscomposedofastackofsixidenticallayersandeachlayerhastwosublayers"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("encoderiscomposedofastackofsixidenticallayers", True),
        ("encoderiscompozedofastackofsixidenticallayers", True),
        ("encoderiscompsedofastackofsixidenticallayers", True),
        ("encoderiscomposeddofastackofsixidenticallayers", True),
        ("encoderiscompozedofastackofsixidenticallayerz", True),
        ("encoderizcompozedofastackofsevenidenticallayerz", False),
        ("encodericompozed", False),
    ],
)
def test_one_wrong_letter_in_twenty_is_borne(quote: str, found: bool) -> None:
    assert bool(find_nearly(quote, TEXT)) == found


@given(st.text("ab", min_size=20, max_size=80), st.text("ab", max_size=200))
@QUICK
def test_a_quote_that_is_there_is_found_at_its_place(quote: str, text: str) -> None:
    place = find_nearly(quote, text + quote + text)
    assert place is not None


def test_a_hostile_quote_is_looked_for_in_few_places() -> None:
    assert_linear(lambda many: find_nearly("a" * 700 + "c" * 100 + "a" * 700, "a" * many), 500)
    assert_linear(lambda many: find_nearly(("ab" * 20 + "aabb" * 10) * 20, "ab" * many), 300)
    with must_end():
        assert find_nearly("a" * 700 + "c" * 100 + "a" * 700, "a" * 20_000) is None
        assert find_nearly(("ab" * 20 + "aabb" * 10) * 20, "ab" * 20_000) is None
