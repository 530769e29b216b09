"""What no schema can say of a plan: packages, checks, and quotes that are nearly right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.planning.plan_faults import command_faults, package_faults
from phases.planning.quotes import find_nearly
from tests.strategies import QUICK


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
    "command", ["python -m unittest discover -s tests -t .", "pytest -q && ruff check", "bash -o pipefail -c 'pytest | tee log'",
                "grep -c 'a|b' file", "pytest 2>&1", "make || exit 1"]
)  # fmt: skip
def test_a_check_that_ends_as_it_went_is_no_fault(command: str) -> None:
    assert list(command_faults([command])) == []


@pytest.mark.parametrize(
    "command",
    [
        "pytest || true",
        "pytest ||true",
        "pytest | tail -3",
        "pytest &",
        "pytest; true",
        "pytest || echo failed",
        "! pytest",
    ],
)
def test_a_check_that_hides_how_it_ended_is_told(command: str) -> None:
    [told] = command_faults([command])
    assert repr(command) in told


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
