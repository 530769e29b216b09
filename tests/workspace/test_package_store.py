"""The packages of a task are found where they were put, by every later command, and made again where they are gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from phases.sandbox.box import BUBBLEWRAP, OFF
from phases.sandbox.installs import find_environment
from phases.sandbox.probe import probe_kind
from phases.workspace.data_sets import data_store
from phases.workspace.packages import PackageRules, find_or_install, install_packages, package_store
from tests.wheels import wheel

needs_bubblewrap = pytest.mark.skipif(not probe_kind(BUBBLEWRAP).usable, reason=probe_kind(BUBBLEWRAP).detail)
PACKAGE = "pipelinetest_patience"


@pytest.mark.parametrize(("find", "name"), [(package_store, "environments"), (data_store, "data")])
def test_a_fresh_home_gets_the_directory_that_tasks_share(find: object, name: str, tmp_path: Path) -> None:
    assert callable(find)
    fresh = tmp_path / "home" / ".cache" / "pipeline"
    assert find(str(fresh)) == str(fresh / name)
    assert find(str(fresh)) == str(fresh / name), "the next command looks in the same place"
    assert fresh.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("find", [package_store, data_store])
def test_where_the_directory_cannot_be_made_there_is_none(find: object, tmp_path: Path) -> None:
    assert callable(find)
    (tmp_path / "file").write_text("in the way")
    assert [find(place) for place in ("", str(tmp_path / "file"), str(tmp_path / "file" / "pipeline"))] == ["", "", ""]


def rules_of(folder: Path, cache: str, kind: str) -> PackageRules:
    if not (folder / "wheels").exists():
        (folder / "wheels").mkdir()
        wheel(folder / "wheels", PACKAGE, "1.5")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels"), "PIP_CONFIG_FILE": "/dev/null"}
    return PackageRules(str(folder / "task"), package_store(cache), kind, {**offline, "HOME": str(folder / "home")})


def has_package(environment: str | None) -> bool:
    return environment is not None and any(Path(environment).rglob(f"{PACKAGE}.py"))


@pytest.mark.parametrize(
    ("kind", "is_shared"), [pytest.param(BUBBLEWRAP, True, marks=needs_bubblewrap), (OFF, False)], ids=["shared", "own"]
)
def test_a_later_command_finds_the_packages_where_they_were_put(kind: str, is_shared: bool, tmp_path: Path) -> None:
    """Commands with the user's own rights could write to the shared store, so they get an environment in the task."""
    rules = rules_of(tmp_path, str(tmp_path / "fresh" / "cache"), kind)
    made = install_packages([PACKAGE], rules)
    assert has_package(made.python)
    assert (str(made.python).startswith(rules.store), str(made.python).startswith(rules.directory)) == (
        is_shared,
        not is_shared,
    )
    later = rules_of(tmp_path, str(tmp_path / "fresh" / "cache"), kind)
    assert find_environment(later.directory, later.store) == made.python
    assert find_or_install(later) == made.python


@needs_bubblewrap
def test_packages_whose_store_is_gone_are_installed_again_from_the_lock_of_the_task(tmp_path: Path) -> None:
    first = rules_of(tmp_path, str(tmp_path / "one" / "cache"), BUBBLEWRAP)
    install_packages([PACKAGE], first)
    wheel(tmp_path / "wheels", PACKAGE, "2.0")
    for rules in (rules_of(tmp_path, str(tmp_path / "another" / "cache"), BUBBLEWRAP), first):
        shutil.rmtree(tmp_path / "one", ignore_errors=True)
        found = find_or_install(rules)
        assert has_package(found)
        assert str(found).startswith(rules.store)
        assert any(Path(str(found)).rglob(f"{PACKAGE}-1.5.dist-info"))


def test_a_task_that_installed_nothing_gets_no_environment(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, str(tmp_path / "cache"), OFF)
    assert find_or_install(rules) is None
    (tmp_path / "task").mkdir()
    record = tmp_path / "task" / "installed.json"
    record.write_text('{"version": 2, "asked": 7, "asked_sha256": "0", "environment": "0", "packages": []}')
    assert find_or_install(rules) is None
