"""Packages for the sandbox: from a folder of wheels that the tests make, with the network never needed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, NONE, OFF, Box
from phases.sandbox.commands import run_command
from phases.sandbox.installs import (
    InstallResult,
    find_environment,
    install_wheels,
    read_requirement,
    why_not_installable,
)
from phases.sandbox.probe import probe_kind
from pipeline.base.errors import PipelineError
from tests.papers import HANGS
from tests.wheels import wheel

needs_bubblewrap = pytest.mark.skipif(not probe_kind(BUBBLEWRAP).usable, reason=probe_kind(BUBBLEWRAP).detail)


@pytest.fixture
def offline(tmp_path: Path) -> Mapping[str, str]:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "pipelinetest_waiting", "1.0")
    wheel(wheels, "pipelinetest_waiting", "2.0", needs="pipelinetest_patience>=1")
    wheel(wheels, "pipelinetest_patience", "1.5")
    (tmp_path / "empty.conf").write_text("")
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_TARGET": str(tmp_path / "elsewhere"),
        "HOME": str(tmp_path / "home"),
        "SECRET_API_KEY": "sk-4711",
    }


@pytest.mark.slow
@needs_bubblewrap
def test_what_a_plan_names_is_installed_for_the_sandbox_and_only_once(
    tmp_path: Path, offline: Mapping[str, str]
) -> None:
    folder, workspace = tmp_path / "installed", tmp_path / "workspace"
    workspace.mkdir()
    done = install_wheels(
        ["pipelinetest_waiting>=1.5"], str(folder), kind=BUBBLEWRAP, environment=offline, seconds=HANGS
    )
    assert done.ok, done.output
    assert [dict(row) for row in done.packages] == [
        {"name": "pipelinetest-patience", "version": "1.5"},
        {"name": "pipelinetest-waiting", "version": "2.0"},
    ]
    box = Box(str(workspace), BUBBLEWRAP, python=find_environment(str(folder)))
    finished = run_command(
        box,
        "python -c 'import pipelinetest_waiting as first, pipelinetest_patience; print(first.VERSION)'",
        seconds=HANGS,
    )
    assert finished.output == "2.0\n"
    nowhere = {**offline, "PIP_FIND_LINKS": str(tmp_path / "nowhere")}
    again = install_wheels(
        ["pipelinetest_waiting>=1.5"], str(folder), kind=BUBBLEWRAP, environment=nowhere, seconds=HANGS
    )
    assert (again.ok, again.output, list(again.packages)) == (True, "", [dict(row) for row in done.packages])
    other = install_wheels(["pipelinetest_waiting<2"], str(folder), kind=BUBBLEWRAP, environment=offline, seconds=HANGS)
    assert [dict(row) for row in other.packages] == [{"name": "pipelinetest-waiting", "version": "1.0"}]
    assert json.loads((folder / "installed.json").read_text())["asked"] == ["pipelinetest_waiting<2"]
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.slow
@needs_bubblewrap
def test_an_index_in_a_folder_is_read_with_the_files_beside_it(tmp_path: Path, offline: Mapping[str, str]) -> None:
    name = "pipelinetest_patience-1.5-py3-none-any.whl"
    page = tmp_path / "index" / "simple" / "pipelinetest-patience"
    page.mkdir(parents=True)
    (tmp_path / "index" / "files").mkdir()
    (tmp_path / "wheels" / name).rename(tmp_path / "index" / "files" / name)
    (page / "index.html").write_text(
        f'<!DOCTYPE html><html><body><a href="../../files/{name}">{name}</a></body></html>'
    )
    settings = {"PIP_INDEX_URL": f"file://{tmp_path}/index/simple", "PIP_CONFIG_FILE": "/dev/null", "HOME": "/nowhere"}
    done = install_wheels(
        ["pipelinetest-patience"], str(tmp_path / "i"), kind=BUBBLEWRAP, environment=settings, seconds=HANGS
    )
    assert [dict(row) for row in done.packages] == [{"name": "pipelinetest-patience", "version": "1.5"}], done.output


@pytest.mark.slow
@needs_bubblewrap
def test_what_cannot_be_installed_is_told_and_tried_again_the_next_time(
    tmp_path: Path, offline: Mapping[str, str]
) -> None:
    failed = install_wheels(
        ["pipelinetest_absent"], str(tmp_path / "i"), kind=BUBBLEWRAP, environment=offline, seconds=HANGS
    )
    assert (failed.ok, failed.packages) == (False, ())
    assert "pipelinetest-absent was not found" in failed.output
    assert not (tmp_path / "i" / "installed.json").exists()


@pytest.mark.slow
@needs_bubblewrap
def test_a_package_that_would_have_to_be_built_is_refused(tmp_path: Path, offline: Mapping[str, str]) -> None:
    source = tmp_path / "wheels" / "pipelinetest_evil-1.0.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("pipelinetest_evil-1.0/setup.py", f"open({str(tmp_path / 'ran')!r}, 'w')\n")
        archive.writestr(
            "pipelinetest_evil-1.0/PKG-INFO", "Metadata-Version: 1.0\nName: pipelinetest_evil\nVersion: 1.0\n"
        )
    failed = install_wheels(
        ["pipelinetest_evil"], str(tmp_path / "i"), kind=BUBBLEWRAP, environment=offline, seconds=HANGS
    )
    assert "pipelinetest-evil" in failed.output
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", [LANDLOCK, NONE])
def test_where_pip_cannot_be_shut_in_nothing_is_installed(kind: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="apt-get install bubblewrap, or run with --install refused"):
        install_wheels(["numpy"], str(tmp_path / "i"), kind=kind, environment={})
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize(
    "text",
    [
        "-r requirements.txt", "--index-url=https://evil.test", "git+https://evil.test/x", "https://evil.test/x.whl",
        "x @ https://evil.test/x.whl", "x@file:///x", "./x", "../x", "/x", "x.whl/", "x; sys_platform == 'linux'",
        "x==1 --global-option=y", "x\ny", "x\0", "", " ", "x=1", "x===1", "x>=1;", "$(id)", "`id` x", "x`id`", "x>=1 y",
        "ｘ", "x" * 300,
    ],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_plain_requirement_is_refused(text: str, tmp_path: Path) -> None:
    assert why_not_installable(text)
    with pytest.raises(PipelineError, match=r"initial_plan\.txt at environment_setup\.packages: "):
        install_wheels([text], str(tmp_path / "i"), kind=OFF, environment={})
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize(
    "text", ["numpy", "numpy>=1.26", "numpy >= 1.26, < 3", "jax[cpu]==0.4.*", "scikit-learn~=1.4", "torch==2.2.0+cpu"]
)
def test_a_plain_requirement_is_taken(text: str) -> None:
    assert why_not_installable(text) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Torch (>=2.0)", "Torch>=2.0"),
        ("numpy (>=1.20, <2)", "numpy>=1.20, <2"),
        ("numpy 1.26", "numpy==1.26"),
        ("scipy v1.11.4", "scipy==1.11.4"),
        ("pytorch>=2", "torch>=2"),
        ("sklearn", "scikit-learn"),
        ("opencv-python", "opencv-python"),
        (" pandas ", "pandas"),
        ("numpy 1.20+", "numpy>=1.20"),
        ("transformers>=4.30  # for its tokenizers", "transformers>=4.30"),
        ("matplotlib (for plots)", "matplotlib"),
        ("`einops`", "einops"),
        ("- tqdm", "tqdm"),
        ("pip install einops", "einops"),
        ('tqdm>=4.0; python_version >= "3.8"', "tqdm>=4.0"),
        ("tomli ; python_version<'3.11'", ""),
        ("python>=3.8", ""),
        ("argparse", ""),
        ("CUDA 11.8", ""),
    ],
)
def test_a_line_as_models_write_them_is_read_where_only_one_thing_can_be_meant(text: str, read: str) -> None:
    assert read_requirement(text) == read


@pytest.mark.parametrize(
    "text", ["numpy, scipy", "CUDA drivers", "numpy or cupy", "torch (2.0 or later)", "the usual ones"]
)
def test_what_could_mean_two_things_is_not_guessed_at(text: str) -> None:
    assert read_requirement(text) is None


@given(st.text(max_size=40))
def test_nothing_that_is_taken_can_be_an_option_a_path_or_an_address(text: str) -> None:
    if read := read_requirement(text):
        assert read[0].isalnum()
        assert not set(read) & set("/\\:@;|&$`'\"\n\0()?#%")


def install(wanted: str, task: Path, store: Path, environment: Mapping[str, str]) -> InstallResult:
    return install_wheels(
        [wanted], str(task), store=str(store), kind=BUBBLEWRAP, environment=environment, seconds=HANGS
    )


@pytest.mark.slow
@needs_bubblewrap
def test_tasks_share_an_environment_and_what_is_new_in_another_costs_no_second_copy(
    tmp_path: Path, offline: Mapping[str, str]
) -> None:
    store = tmp_path / "cache" / "environments"
    assert install("pipelinetest_patience", tmp_path / "one", store, offline).ok
    assert install("pipelinetest_patience", tmp_path / "two", store, offline).ok
    first = find_environment(str(tmp_path / "one"), str(store))
    assert first == find_environment(str(tmp_path / "two"), str(store))
    assert install("pipelinetest_waiting", tmp_path / "three", store, offline).ok
    third = find_environment(str(tmp_path / "three"), str(store))
    assert first
    assert third not in (None, first)
    files = [next(Path(str(home)).rglob("pipelinetest_patience.py")) for home in (first, third)]
    assert files[0].samefile(files[1])


@pytest.mark.slow
@needs_bubblewrap
def test_a_task_gets_the_same_files_again_elsewhere_and_a_tampered_one_is_refused(
    tmp_path: Path, offline: Mapping[str, str]
) -> None:
    task = tmp_path / "task"
    assert install("pipelinetest_patience", task, tmp_path / "here", offline).ok
    [path] = task.glob("lock-*.json")
    lock = path.read_text()
    wheel(tmp_path / "wheels", "pipelinetest_patience", "1.6")
    again = install("pipelinetest_patience", task, tmp_path / "elsewhere", offline)
    assert [row["version"] for row in again.packages] == ["1.5"], again.output
    assert path.read_text() == lock

    with zipfile.ZipFile(tmp_path / "wheels" / "pipelinetest_patience-1.5-py3-none-any.whl", "a") as archive:
        archive.writestr("pipelinetest_evil.py", "print('evil')\n")
    refused = install("pipelinetest_patience", task, tmp_path / "a third place", offline)
    assert not refused.ok
    assert "hash" in refused.output.lower()
    assert find_environment(str(task), str(tmp_path / "a third place")) is None


@pytest.mark.slow
@needs_bubblewrap
def test_an_installation_that_was_cut_off_is_made_anew(tmp_path: Path, offline: Mapping[str, str]) -> None:
    store = tmp_path / "store"
    assert install("pipelinetest_patience", tmp_path / "one", store, offline).ok
    home = Path(str(find_environment(str(tmp_path / "one"), str(store)))).parent
    (home / "made.json").unlink()
    next(home.rglob("pipelinetest_patience.py")).unlink()
    assert install("pipelinetest_patience", tmp_path / "two", store, offline).ok
    assert next(home.rglob("pipelinetest_patience.py")).exists()


def test_a_record_leads_to_no_other_place_than_the_store(tmp_path: Path) -> None:
    (tmp_path / "evil" / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "evil" / "venv" / "bin" / "python").write_text("")
    row = {"version": 2, "asked_sha256": "0", "environment": "../../evil", "packages": []}
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "installed.json").write_text(json.dumps(row))
    assert find_environment(str(tmp_path / "task"), str(tmp_path / "store" / "made")) is None
