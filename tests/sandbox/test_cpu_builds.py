"""Without a graphics card, builds for processors are resolved where an index has them; else the review names the cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.locks import LockedPackage, describe_cuda, exclude_cuda
from phases.sandbox.package_index import find_index
from phases.workspace.packages import (
    PackageRules,
    describe_lock,
    install_packages,
    lock_packages,
    make_package_rules,
    read_package_lock,
)
from tests.wheels import wheel

TENSORS, LIBRARY = "pipelinetest_tensors", "nvidia_pipelinetest_blas"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """An index with a library that every newer build needs, and a package that needs the library on all machines."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, LIBRARY, "12.1")
    wheel(folder, "pipelinetest_trees", "1.0")
    wheel(folder, "pipelinetest_trees", "2.0", needs=LIBRARY)
    return folder


def rules_of(wheels: Path, *, gpu: str = "none") -> PackageRules:
    environment = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONFIG_FILE": "/dev/null",
        "HOME": "/nowhere",
    }
    settings = {"sandbox": "off", "gpu": gpu}
    return make_package_rules(str(wheels.parent / "task"), settings, environment, "", None)


def resolve(wheels: Path, *wanted: str, gpu: str = "none") -> dict[str, str]:
    wheels.parent.joinpath("task").mkdir(exist_ok=True)
    lock = lock_packages(wanted, rules_of(wheels, gpu=gpu))
    assert lock["outcome"] == "locked", lock["unresolved"]
    return {row["name"]: row["version"] for row in lock["resolved"]}


def test_the_newest_build_for_processors_goes_before_a_newer_one_for_graphics_cards(wheels: Path) -> None:
    for version in ("1.9+cpu", "2.0+cpu"):
        wheel(wheels, TENSORS, version)
    wheel(wheels, TENSORS, "2.1", needs=LIBRARY)
    assert resolve(wheels, TENSORS) == {"pipelinetest-tensors": "2.0+cpu"}
    with_card = resolve(wheels, TENSORS, gpu="auto")
    assert with_card == {"pipelinetest-tensors": "2.1", "nvidia-pipelinetest-blas": "12.1"}
    assert resolve(wheels, TENSORS) == {"pipelinetest-tensors": "2.0+cpu"}, "each setting keeps its own lock"
    made = install_packages([TENSORS], rules_of(wheels))
    assert [row["version"] for row in made.installed] == ["2.0+cpu"]


def test_of_builds_of_one_version_the_one_for_processors_is_taken(wheels: Path) -> None:
    for version in ("2.0+cpu", "2.0+cu118", "2.0+cu121"):
        wheel(wheels, TENSORS, version)
    assert resolve(wheels, TENSORS) == {"pipelinetest-tensors": "2.0+cpu"}
    assert resolve(wheels, TENSORS, gpu="0") == {"pipelinetest-tensors": "2.0+cu121"}


def test_a_package_without_a_build_for_processors_stays_as_new_as_it_was(wheels: Path) -> None:
    """An older release that needs no such library is no build for processors."""
    wheel(wheels, TENSORS, "2.0+cpu")
    wheel(wheels, TENSORS, "2.1", needs=LIBRARY)
    found = resolve(wheels, TENSORS, "pipelinetest_trees")
    assert (found["pipelinetest-tensors"], found["pipelinetest-trees"]) == ("2.0+cpu", "2.0")
    assert resolve(wheels, "pipelinetest_trees")["pipelinetest-trees"] == "2.0"


def test_bounds_of_the_plan_hold_for_builds_for_processors_too(wheels: Path) -> None:
    wheel(wheels, TENSORS, "2.0+cpu")
    wheel(wheels, TENSORS, "2.1", needs=LIBRARY)
    assert resolve(wheels, f"{TENSORS}>=2.1")["pipelinetest-tensors"] == "2.1"


def test_the_review_names_what_serves_graphics_cards_alone_and_its_size(wheels: Path) -> None:
    wheel(wheels, TENSORS, "2.1", needs=LIBRARY)
    resolve(wheels, TENSORS)
    lock = read_package_lock([TENSORS], rules_of(wheels))
    words = "builds for graphics cards, which --gpu none does not use: nvidia-pipelinetest-blas (1 kB); no others were found"
    assert describe_lock(lock, "none")[-1] == words
    assert len(describe_lock(lock, "auto")) == 1


def locked(name: str, version: str, size: int | None = None) -> LockedPackage:
    return LockedPackage(name, version, ("0" * 64,), size)


def test_builds_for_graphics_cards_are_known_by_their_label_or_their_libraries() -> None:
    rows = [
        locked("torch", "2.5.1+cu124", 900_000_000),
        locked("jaxlib", "0.4+rocm60", 100_000_000),
        locked("nvidia-cublas-cu12", "12.4", 400_000_000),
        locked("cuda-bindings", "13.0"),
        locked("cudatext", "1.0"),
        locked("numpy", "2.1"),
    ]
    assert exclude_cuda(rows) == (
        "torch==2.5.1+cpu",
        "jaxlib==0.4+cpu",
        "nvidia-cublas-cu12<0",
        "cuda-bindings<0",
    )
    assert describe_cuda([row._asdict() for row in rows]) == "torch and 3 more (1.4 GB)"
    assert exclude_cuda(rows[4:]) == ()
    assert describe_cuda([]) == ""


@pytest.mark.parametrize(
    ("environment", "is_usual"),
    [
        ({}, True),
        ({"PIP_CERT": "/etc/ssl/cert.pem", "HTTPS_PROXY": "http://127.0.0.1:3128"}, True),
        ({"PIP_EXTRA_INDEX_URL": "https://pypi.example/simple"}, False),
        ({"PIP_FIND_LINKS": "/wheels"}, False),
        ({"UV_TORCH_BACKEND": "cu126"}, False),
    ],
    ids=["nothing", "a way to it", "an index more", "a folder", "uv's own setting"],
)
def test_an_index_is_the_usual_one_where_no_setting_names_another(
    environment: Mapping[str, str], is_usual: bool, tmp_path: Path
) -> None:
    whole = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null", **environment}
    assert find_index(whole).is_usual is is_usual


STAND_IN = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/asked"
case "$*" in *"pip compile"*) ;; *) exit 0;; esac
case "$*" in *"--torch-backend cpu"*) {fail} name=torch version=2.9.0+cpu;; *) name=torch version=2.9.0+cu132;; esac
while [ "$1" != --output-file ]; do shift; done
printf 'lock-version = "1.0"\\n[[packages]]\\nname = "%s"\\nversion = "%s"\\n' $name $version > "$2"
printf 'wheels = [{{ url = "https://files.example/%s.whl", size = 5, hashes = {{ sha256 = "{digest}" }} }}]\\n' $name >> "$2"
"""


@pytest.mark.parametrize(
    ("fail", "version"), [("", "2.9.0+cpu"), ("exit 2;", "2.9.0+cu132")], ids=["there", "not there"]
)
def test_beside_pypi_alone_uv_is_asked_for_pytorchs_own_builds_and_what_pypi_has_stays_where_it_has_none(
    fail: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uv").write_text(STAND_IN.format(fail=fail, digest="0" * 64))
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(tmp_path / "uv"))
    settings: dict[str, Any] = {"sandbox": "off", "gpu": "none"}
    environment = {"PIP_CONFIG_FILE": "/dev/null", "HOME": str(tmp_path)}
    rules = make_package_rules(str(tmp_path / "task"), settings, environment, "", None)
    (tmp_path / "task").mkdir()
    lock = lock_packages(["torch"], rules)
    assert [row["version"] for row in lock["resolved"]] == [version], json.dumps(lock)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert ["--torch-backend cpu" in line for line in asked] == [False, True]
    install_packages(["torch"], rules)
    last = (tmp_path / "asked").read_text().splitlines()[-1]
    assert ("pip sync" in last, "--torch-backend cpu" in last) == (True, version.endswith("+cpu"))


def test_a_blacklisted_index_of_pytorch_is_not_asked(tmp_path: Path) -> None:
    settings = {"sandbox": "off", "gpu": "none"}
    assert make_package_rules(str(tmp_path), settings, {}, "", None).cpu
    for line in ("download.pytorch.org", "https://download.pytorch.org/whl/cpu"):
        assert not make_package_rules(str(tmp_path), {**settings, "blacklist": line}, {}, "", None).cpu
    assert not make_package_rules(str(tmp_path), {**settings, "gpu": "0,1"}, {}, "", None).cpu
