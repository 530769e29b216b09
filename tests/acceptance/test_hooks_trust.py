"""Trust: a repository's hooks run as the user has read them, or not at all, and an exam that was edited is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.configuration.checksums import (
    ABSENT,
    UNREADABLE,
    find_changed,
    hash_scripts,
    item_digest,
    script_paths_of,
)
from phases.acceptance.configuration.parse_hooks import HookConfigError
from phases.acceptance.configuration.repo_hooks import (
    HOOKS_FILE,
    INVALID,
    MODIFIED,
    NO_HOOKS,
    TRUSTED,
    UNTRUSTED,
    RepoHooks,
    TrustRefused,
    build_trust_entry,
    discover_repo_hooks,
    read_store,
    write_trust,
)  # fmt: skip
from phases.acceptance.hook import REPO, USER, Hook
from pipeline.base.errors import StorageError
from pipeline.base.files import sha256
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.contract import Contracts
from tests.papers import HANGS
from tests.work import must_end

CONTRACTS = Contracts()
AT = "2026-01-31T12:00:00.000Z"
TESTS = {"id": "tests", "point": "accept_gate", "kind": "command", "params": {"command": "sh ci/check.sh"}}
LINT = {"id": "lint", "point": "accept_gate", "kind": "command", "params": {"command": "ruff check ."}}
check = partial(CONTRACTS.breach, CONTRACTS.schema("trusted-workspaces.json"))


def parse(data: bytes) -> Any:
    return CONTRACTS.parse("hooks.yaml", data, writer="the repository")


class Place:
    """A workspace with hooks, and a store beside it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.store = folder / "ws", folder / "config" / "pipeline" / "trusted-workspaces.json"
        self.file = self.root / HOOKS_FILE
        (self.root / "ci").mkdir(parents=True)
        self.script = self.root / "ci" / "check.sh"
        self.script.write_text("true\n")
        self.write([TESTS, LINT])

    def write(self, items: list[dict[str, Any]], **hooks: Any) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(dump_yaml({"hooks": {**hooks, "items": items}}))

    def trust(self) -> dict[str, Any]:
        entry = build_trust_entry(str(self.root), parse, AT, "cli")
        write_trust(str(self.store), str(self.root), entry, check)
        return entry

    def discover(self, root: Path | None = None, *, trust_now: bool = False) -> RepoHooks:
        return discover_repo_hooks(str(root or self.root), str(self.store), parse, check, trust_now=trust_now)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ids(found: RepoHooks) -> list[str]:
    return [hook.id for hook in found.hooks]


# Trusted or not


def test_a_workspace_without_a_hooks_file_has_none(place: Place) -> None:
    place.file.unlink()
    assert place.discover() == RepoHooks(NO_HOOKS)


def test_hooks_that_nobody_trusted_are_skipped_and_told_of(place: Place) -> None:
    found = place.discover()
    assert (found.state, ids(found), dict(found.checksums), found.store_fault) == (UNTRUSTED, [], {}, "")
    assert found.skipped == (("tests", "it is not trusted"), ("lint", "it is not trusted"))
    assert found.reason == f"no workspace is trusted yet ({place.store} is not there)"


def test_what_the_user_trusts_runs_and_is_pinned(place: Place) -> None:
    place.trust()
    found = place.discover()
    assert (found.state, ids(found), found.reason, found.was_trusted) == (TRUSTED, ["tests", "lint"], "", True)
    assert {hook.source for hook in found.hooks} == {REPO}
    assert found.checksums == {HOOKS_FILE: sha256(place.file.read_bytes()), "ci/check.sh": sha256(b"true\n")}
    assert find_changed(found.checksums, str(place.root)) == ()


def test_trust_for_one_run_writes_nothing(place: Place) -> None:
    found = place.discover(trust_now=True)
    assert (found.state, ids(found), found.was_trusted) == (TRUSTED, ["tests", "lint"], True)
    assert set(found.checksums) == {HOOKS_FILE, "ci/check.sh"}
    assert not place.store.exists()
    assert place.discover().state == UNTRUSTED


def test_another_workspace_is_not_trusted_by_the_same_file(place: Place, tmp_path: Path) -> None:
    place.trust()
    other = Place(tmp_path / "other")
    other.store = place.store
    assert other.discover().reason == "its hooks are not trusted"


# Changed since


def edit_the_command(place: Place) -> None:
    place.write([{**TESTS, "params": {"command": "true"}}, LINT])


def edit_the_script(place: Place) -> None:
    place.script.write_text("exit 0\n")


def remove_the_script(place: Place) -> None:
    place.script.unlink()


def put_a_link_for_the_directory(place: Place) -> None:
    os.rename(place.root / "ci", place.root / "real")
    (place.root / "ci").symlink_to("real")


def put_a_link_for_the_script(place: Place) -> None:
    os.rename(place.script, place.root / "other.sh")
    place.script.symlink_to("../other.sh")


def remove_the_hook(place: Place) -> None:
    place.write([LINT])


def turn_the_hook_off(place: Place) -> None:
    place.write([{**TESTS, "enabled": False}, LINT])


CHANGES: list[tuple[Callable[[Place], None], str]] = [
    (edit_the_command, "it has changed since it was trusted"),
    (edit_the_script, "ci/check.sh changed since it was trusted"),
    (remove_the_script, "ci/check.sh changed since it was trusted"),
    (put_a_link_for_the_script, "ci/check.sh changed since it was trusted"),
    (remove_the_hook, "it was trusted, and no longer exists"),
    (turn_the_hook_off, "it has changed since it was trusted"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[row[0].__name__.replace("_", " ") for row in CHANGES])
def test_a_hook_that_changed_is_skipped_and_the_others_run(
    place: Place, change: Callable[[Place], None], why: str
) -> None:
    place.trust()
    change(place)
    found = place.discover()
    assert (found.state, ids(found), found.skipped) == (MODIFIED, ["lint"], (("tests", why),))
    assert f"tests: {why}" in found.reason
    assert set(found.checksums) == {HOOKS_FILE}


OFF = "it was trusted, and the file turns all hooks off now"
FILES: list[Any] = [
    pytest.param(lambda place: place.write([TESTS, LINT, {**LINT, "id": "new"}]), ["tests", "lint"],
        {"new": "it is new since the file was trusted"}, "", id="a new hook"),
    pytest.param(lambda place: place.write([TESTS, LINT], enabled=False), [], {"tests": OFF, "lint": OFF}, "",
        id="all turned off"),
    pytest.param(lambda place: place.file.write_bytes(place.file.read_bytes() + b"# a comment\n"), ["tests", "lint"], {},
        f"{HOOKS_FILE} has changed since it was trusted (all its hooks are unchanged)", id="a comment"),
    pytest.param(lambda place: place.file.unlink(), [], None, f"{HOOKS_FILE} no longer exists", id="deleted"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "run", "skipped", "reason"), FILES)
def test_a_file_that_changed_is_modified_and_its_trusted_hooks_run(
    place: Place, change: Callable[[Place], object], run: list[str], skipped: dict[str, str] | None, reason: str
) -> None:
    place.trust()
    change(place)
    found = place.discover()
    assert (found.state, ids(found)) == (MODIFIED, run)
    assert found.reason.startswith(reason)
    assert skipped is None or dict(found.skipped) == skipped
    assert {hook.id for hook in found.skipped} | set(run) >= {"tests", "lint"}


def test_hooks_that_were_trusted_to_be_turned_off_are_missed_by_nobody(place: Place) -> None:
    place.write([TESTS, {**LINT, "enabled": False}])
    place.trust()
    found = place.discover()
    assert (found.state, ids(found), found.skipped) == (TRUSTED, ["tests"], ())


def test_a_trusted_file_that_was_spoiled_since_is_modified_and_not_a_workspace_without_hooks(place: Place) -> None:
    place.trust()
    place.file.write_text("hooks: [")
    found = place.discover()
    assert (found.state, ids(found), found.was_trusted) == (MODIFIED, [], False)
    assert found.reason.startswith(
        f"{HOOKS_FILE} has changed since it was trusted, and cannot be used (hooks.yaml, line 2"
    )


# Invalid


def test_an_invalid_file_that_nobody_trusted_is_only_told_of(place: Place) -> None:
    place.write([{**TESTS, "point": "Stop"}])
    found = place.discover()
    assert (found.state, ids(found), found.was_trusted) == (INVALID, [], False)
    assert (
        found.reason
        == f"{HOOKS_FILE} at $.hooks.items[0].point: 'Stop' is the name of accept_gate in other tools; write that"
    )


def test_a_trusted_file_that_this_version_refuses_is_one_that_the_user_counts_on(place: Place) -> None:
    place.trust()
    stored = json.loads(place.store.read_bytes())
    place.file.write_text("hooks: {items: [], later: true}\n")
    stored["workspaces"][str(place.root)]["hooks_file_sha256"] = sha256(place.file.read_bytes())
    place.store.write_text(json.dumps(stored))
    found = place.discover()
    assert (found.state, found.was_trusted) == (INVALID, True)
    assert "'later' was unexpected" in found.reason


def test_an_invalid_file_that_is_trusted_for_one_run_is_one_that_the_user_counts_on(place: Place) -> None:
    place.file.write_text("hooks: [")
    found = place.discover(trust_now=True)
    assert (found.state, found.was_trusted) == (INVALID, True)


def test_a_file_that_is_too_large_is_invalid(place: Place) -> None:
    place.file.write_bytes(b"#" * (256 * 1024 + 1))
    assert place.discover().reason == f"{HOOKS_FILE} holds over 262,144 bytes; make it smaller"


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_hooks_file_that_is_no_regular_file_is_invalid_and_never_waited_for(place: Place, kind: str) -> None:
    os.rename(place.file, place.root / "real.yaml")
    make: dict[str, Callable[[], object]] = {
        "link": lambda: place.file.symlink_to("../real.yaml"),
        "folder": place.file.mkdir,
        "pipe": lambda: os.mkfifo(place.file),
    }
    make[kind]()
    found = place.discover()
    assert (found.state, ids(found)) == (INVALID, [])
    assert f"cannot read {HOOKS_FILE}: " in found.reason
    assert found.reason.endswith("; put a regular file there")


def test_a_folder_of_hooks_that_is_a_link_is_not_followed(place: Place) -> None:
    os.rename(place.root / ".pipeline", place.root / "elsewhere")
    (place.root / ".pipeline").symlink_to("elsewhere")
    assert place.discover().state == INVALID


def test_an_invalid_file_is_not_trusted(place: Place) -> None:
    place.write([{**TESTS, "timeout_sec": 0}])
    with pytest.raises(HookConfigError) as caught:
        place.trust()
    assert str(caught.value) == (
        f"nothing is trusted: {HOOKS_FILE} at $.hooks.items[0].timeout_sec: 0 seconds: it must be over 0 and at most 3600"
    )
    assert not place.store.exists()


def test_a_script_that_is_a_link_is_not_trusted(place: Place) -> None:
    put_a_link_for_the_script(place)
    with pytest.raises(HookConfigError) as caught:
        place.trust()
    assert str(caught.value).startswith("nothing is trusted: ci/check.sh, which a hook runs, cannot be read safely")
    found = place.discover(trust_now=True)
    assert (found.state, found.was_trusted) == (INVALID, True)


# The store


def swap_for_a_link(path: Path) -> None:
    os.rename(path, path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def swap_for_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def name_a_relative_workspace(path: Path) -> None:
    value = json.loads(path.read_bytes())
    value["workspaces"]["a/b"] = next(iter(value["workspaces"].values()))
    path.write_text(json.dumps(value))


def give_it_to_another_user(path: Path) -> None:
    try:
        os.chown(path, 65534, -1)
    except PermissionError:
        pytest.skip("only root can give a file to another user")


SPOILED: list[Any] = [
    pytest.param(lambda path: path.write_text(""), "it is empty; delete it", id="empty"),
    pytest.param(lambda path: path.write_text("{"), "line 1: not JSON: ", id="no JSON"),
    pytest.param(lambda path: path.write_text("[" * 99999), "nested too deeply; fix or delete it", id="endlessly deep"),
    pytest.param(lambda path: path.write_text('{"version": 1, "workspaces": ["/a"]}'), "its version is not 2",
        id="of version 1"),
    pytest.param(lambda path: path.write_text("[]"), "its version is not 2", id="of no version"),
    pytest.param(lambda path: path.write_text('{"version": 2}'), "it is damaged at $: 'workspaces' is a required",
        id="without workspaces"),
    pytest.param(lambda path: path.write_text('{"version": 2, "workspaces": {"/a": {}}}'), "it is damaged at $.workspaces",
        id="with an entry that says nothing"),
    pytest.param(name_a_relative_workspace, "the workspace 'a/b' is not an absolute path", id="with a relative workspace"),
    pytest.param(lambda path: path.chmod(0o602), "all users may write to it; check it, then: chmod 600 ",
        id="that everybody may write"),
    pytest.param(lambda path: path.chmod(0o620), "its group may write to it; check it, then: chmod 600 ",
        id="that its group may write"),
    pytest.param(swap_for_a_link, "it is a symbolic link; put the file there itself", id="that is a link"),
    pytest.param(swap_for_a_pipe, "it is not a regular file; move it away", id="that is a pipe"),
    pytest.param(lambda path: (path.unlink(), path.mkdir()), "it is not a regular file; move it away", id="that is a folder"),
    pytest.param(give_it_to_another_user, "it belongs to another user (65534)", id="of another user"),
    pytest.param(lambda path: path.parent.chmod(0o777), "all users may write to the directory ",
        id="in a folder that everybody may write"),
    pytest.param(lambda path: path.parent.parent.chmod(0o777), "all users may write to the directory ",
        id="below a folder that everybody may write"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "words"), SPOILED)
def test_a_store_that_somebody_else_could_have_written_trusts_nothing(
    place: Place, spoil: Callable[[Path], object], words: str
) -> None:
    place.trust()
    spoil(place.store)
    store = read_store(str(place.store), check)
    assert (dict(store.workspaces), store.missing) == ({}, False)
    assert store.fault.startswith(f"{place.store}: {words}"), store.fault
    found = place.discover()
    assert (found.state, ids(found), found.store_fault) == (UNTRUSTED, [], store.fault)
    assert found.reason == store.fault
    with pytest.raises(TrustRefused) as caught:
        place.trust()
    assert str(caught.value) == f"nothing is written: {store.fault}"


def test_a_store_that_cannot_be_read_trusts_nothing(place: Place) -> None:
    place.trust()
    place.store.chmod(0)
    if os.access(place.store, os.R_OK):
        pytest.skip("this user reads every file")
    assert read_store(str(place.store), check).fault == f"{place.store}: it cannot be read (EACCES)"


def test_a_sticky_folder_lets_nobody_swap_the_store(place: Place) -> None:
    place.trust()
    place.store.parent.parent.chmod(0o1777)
    assert place.discover().state == TRUSTED


def test_a_linked_folder_of_settings_is_looked_at_where_it_leads(place: Place, tmp_path: Path) -> None:
    place.trust()
    real, shared = place.store.parent, tmp_path / "shared"
    shared.mkdir()
    os.rename(real, shared / "pipeline")
    real.symlink_to(shared / "pipeline")
    assert place.discover().state == TRUSTED
    shared.chmod(0o777)
    assert f"all users may write to the directory {shared}" in place.discover().store_fault


def test_without_a_folder_of_settings_nothing_is_trusted(place: Place) -> None:
    found = discover_repo_hooks(str(place.root), "", parse, check)
    assert found.reason == "no directory of settings is known, so no workspace is trusted"


def test_the_store_is_private_and_keeps_what_others_are_trusted_for(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.store = place.store
    first = place.trust()
    place.store.parent.chmod(0o755)
    second = other.trust()
    assert place.store.stat().st_mode & 0o777 == 0o600
    assert place.store.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(place.store.read_bytes()) == {
        "version": 2, "workspaces": {str(place.root): first, str(other.root): second},
    }  # fmt: skip
    assert sorted(os.listdir(place.store.parent)) == [place.store.name, f"{place.store.name}.lock"]
    assert Path(f"{place.store}.lock").stat().st_mode & 0o777 == 0o600
    assert (place.discover().state, other.discover().state) == (TRUSTED, TRUSTED)


WRITER = """
import sys
from functools import partial
from phases.acceptance.configuration.repo_hooks import write_trust
from pipeline.engine.contract import Contracts
contracts = Contracts()
check = partial(contracts.breach, contracts.schema("trusted-workspaces.json"))
entry = {"hooks_file_sha256": "a" * 64, "scripts": {}, "hooks": {}, "trusted_at": "2026-01-31T12:00:00.000Z", "by": "cli"}
sys.stdin.read(1)
for number in range(10):
    write_trust(sys.argv[1], f"{sys.argv[2]}/{number}", entry, check)
"""


@pytest.mark.slow
def test_workspaces_that_are_trusted_at_once_are_all_trusted_and_the_store_is_never_half(
    place: Place, tmp_path: Path
) -> None:
    place.trust()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, place.store, tmp_path / name], stdin=subprocess.PIPE, text=True)
        for name in ("one", "two", "three")
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go")
        writer.stdin.close()
    with must_end():
        while any(writer.poll() is None for writer in writers):
            assert place.discover().state == TRUSTED
    assert [writer.wait(HANGS) for writer in writers] == [0, 0, 0]
    there = set(read_store(str(place.store), check).workspaces)
    assert there == {
        str(place.root),
        *(f"{tmp_path}/{name}/{n}" for name in ("one", "two", "three") for n in range(10)),
    }
    assert sorted(os.listdir(place.store.parent)) == [place.store.name, f"{place.store.name}.lock"]


@pytest.mark.parametrize(
    "plant", [lambda path: path.symlink_to("elsewhere"), lambda path: path.mkdir()], ids=["a link", "a folder"]
)
def test_a_lock_that_is_none_is_not_followed_and_nothing_is_written(
    place: Place, plant: Callable[[Path], object]
) -> None:
    place.trust()
    before, lock = place.store.read_bytes(), Path(f"{place.store}.lock")
    lock.unlink()
    plant(lock)
    with pytest.raises(StorageError, match=f"cannot write {place.store}: "):
        place.trust()
    assert (place.store.read_bytes(), (place.store.parent / "elsewhere").exists()) == (before, False)


def test_an_entry_that_is_none_is_not_written(place: Place) -> None:
    with pytest.raises(TrustRefused) as caught:
        write_trust(str(place.store), str(place.root), {"hooks": {}}, check)
    assert "nothing is written: " in str(caught.value)
    assert not place.store.exists()


def test_an_entry_says_what_was_read(place: Place) -> None:
    assert build_trust_entry(str(place.root), parse, AT, "cli") == {
        "hooks_file_sha256": sha256(place.file.read_bytes()), "scripts": {"ci/check.sh": sha256(b"true\n")},
        "hooks": {"tests": item_digest(TESTS), "lint": item_digest(LINT)}, "beside": {}, "trusted_at": AT, "by": "cli",
    }  # fmt: skip


def test_the_digest_of_a_hook_does_not_depend_on_the_order_of_its_keys() -> None:
    assert item_digest({"a": 1, "b": {"c": "é", "d": 2}}) == item_digest({"b": {"d": 2, "c": "é"}, "a": 1})
    assert item_digest({"a": 1}) != item_digest({"a": 2})


# Which files a command names


def command(line: str | list[str]) -> Hook:
    return Hook("a", REPO, "accept_gate", params={"command": line} if isinstance(line, str) else {"args": line})


NAMED: list[tuple[str | list[str], set[str]]] = [
    ("pytest -q tests", set()), ("pytest tests/ tests/unit", set()),
    ("python -m pytest", {"pytest.py", "pytest/__main__.py", "pytest/__init__.py"}), ("python -m checks", set()),
    ("sh ci/check.sh", {"ci/check.sh"}), ("./ci/check.sh --fast", {"ci/check.sh"}), ("ci/run", {"ci/run"}),
    ("$CLAUDE_PROJECT_DIR/ci/check.sh", {"ci/check.sh"}), ('"${PIPELINE_PROJECT_DIR}"/ci/check.sh', {"ci/check.sh"}),
    ("'$PWD/ci/check.sh'", {"ci/check.sh"}), ("top.py", {"top.py"}), ("cd ci && ./check.sh", {"ci/check.sh"}),
    ("sh -c 'cd ci; sh check.sh'", {"ci/check.sh"}), (["bash", "-c", "cd ci && sh check.sh"], {"ci/check.sh"}),
    (["ci/run", "a b"], {"ci/run"}), ("true; ci/run | sh ci/check.sh&", {"ci/run", "ci/check.sh"}),
    ("if sh ci/check.sh; then ci/run; fi", {"ci/run", "ci/check.sh"}), ("x=$(ci/run)", {"ci/run"}), ("`ci/run`", {"ci/run"}),
    ("MODE=1 ci/run --config=ci/check.sh", {"ci/run", "ci/check.sh"}), ("ci/../top.py", {"top.py"}),
    ("sh ci/check.sh > out/log.sh", {"ci/check.sh"}), ("sh ci/check.sh >>out/log.sh 2>&1", {"ci/check.sh"}),
    ("echo 'unclosed ci/check.sh", {"ci/check.sh"}), ("cat <ci/run", {"ci/run"}), ("first\nci/run", {"ci/run"}),
    ("sh new.sh", {"new.sh"}), ("./new", {"new"}), ("bash ci/new", {"ci/new"}), ("pytest -o junit=out/report.xml", set()),
    ("ls ci/*.sh ~/x.sh $HOME/y.sh", set()), ("curl http://localhost/x.sh", set()), ("/usr/bin/env python", set()),
]  # fmt: skip


@pytest.mark.parametrize(("line", "paths"), NAMED, ids=[str(row[0])[:50] for row in NAMED])
def test_the_files_that_a_command_names_are_found(place: Place, line: str | list[str], paths: set[str]) -> None:
    (place.root / "ci" / "run").write_text("true")
    (place.root / "top.py").write_text("1")
    (place.root / "tests" / "unit").mkdir(parents=True)
    found = hash_scripts(command(line), str(place.root))
    assert set(found) == paths
    assert {path for path, digest in found.items() if digest == ABSENT} == {
        path for path in paths if "new" in path or "pytest" in path
    }


@pytest.mark.parametrize(("source", "found"), [(REPO, {".pipeline/check.sh"}), (USER, set())])
def test_the_plugin_root_of_a_hook_of_the_workspace_is_its_directory_of_hooks(
    place: Place, source: str, found: set[str]
) -> None:
    hook = replace(command('cd ci && sh "${CLAUDE_PLUGIN_ROOT}/check.sh"'), source=source)
    assert set(hash_scripts(hook, str(place.root))) == found


def test_files_outside_are_pinned_by_their_whole_path_and_links_there_are_not(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("true")
    (tmp_path / "link").symlink_to("outside")
    os.mkfifo(tmp_path / "pipe")
    line = f"{tmp_path}/outside ../outside {tmp_path}/link {tmp_path}/pipe {tmp_path}/none.sh {tmp_path}"
    assert hash_scripts(command(line), str(place.root)) == {f"{tmp_path}/outside": sha256(b"true")}


def test_a_whole_path_into_the_workspace_is_pinned_as_inside_by_either_way(place: Place, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(place.root)
    for root in (place.root, tmp_path / "link"):
        found = hash_scripts(command(f"sh {tmp_path}/ws/ci/check.sh"), str(root))
        assert found == {"ci/check.sh": sha256(b"true\n")}


def test_a_file_that_cannot_be_read_safely_is_pinned_as_one_that_nobody_vouches_for(place: Place) -> None:
    put_a_link_for_the_script(place)
    pins = hash_scripts(command("sh ci/check.sh"), str(place.root))
    assert pins == {"ci/check.sh": UNREADABLE}
    assert find_changed(pins, str(place.root)) == ("ci/check.sh",)


def test_a_link_to_nowhere_is_no_file_that_is_not_there_yet(place: Place) -> None:
    (place.root / "ci" / "later.sh").symlink_to("nowhere.sh")
    assert hash_scripts(command("sh ci/later.sh"), str(place.root)) == {"ci/later.sh": UNREADABLE}


def test_a_builtin_names_no_files() -> None:
    builtin = Hook("a", REPO, "accept_gate", "builtin", params={"path": "ci/check.sh"})
    assert (hash_scripts(builtin, "/"), script_paths_of(builtin, "/")) == ({}, ())


WAYS = [
    "ci/../ci/check.sh", "./ci//check.sh", "cd ci && sh ./check.sh", "cd ci/sub; sh ../check.sh", "${PWD}/ci/./check.sh",
]  # fmt: skip


@pytest.mark.parametrize("line", WAYS)
def test_a_script_has_one_name_whatever_the_way_to_it_is_and_whether_it_is_there(place: Place, line: str) -> None:
    assert hash_scripts(command(line), str(place.root)) == {"ci/check.sh": sha256(b"true\n")}
    assert script_paths_of(command(line), str(place.root)) == ("ci/check.sh",)
    place.script.unlink()
    assert hash_scripts(command(line), str(place.root)) == {"ci/check.sh": ABSENT}
    assert script_paths_of(command(line), str(place.root)) == ("ci/check.sh",)


def test_a_way_that_steps_back_out_of_a_link_leads_to_a_file_that_nobody_vouches_for(place: Place) -> None:
    (place.root / "else" / "where").mkdir(parents=True)
    (place.root / "out").symlink_to("else/where")
    (place.root / "top.sh").write_text("true")
    for line in ("sh out/../top.sh", "cd out; sh ../top.sh"):
        assert hash_scripts(command(line), str(place.root)) == {"top.sh": UNREADABLE}
        assert script_paths_of(command(line), str(place.root)) == ("top.sh",)


def test_only_what_is_run_or_has_the_suffix_of_a_script_is_named_as_one_and_nothing_outside(
    place: Place, tmp_path: Path
) -> None:
    (place.root / "ci" / "rules.toml").write_text("")
    line = f"ci/run --config ci/rules.toml new.py sh {tmp_path}/else.sh ../out.sh; sh ci/check.sh; ci/run"
    assert script_paths_of(command(line), str(place.root)) == ("ci/run", "new.py", "ci/check.sh")
    assert set(hash_scripts(command(line), str(place.root))) == {"ci/run", "ci/rules.toml", "new.py", "ci/check.sh"}


# Scripts of the user's own hooks


def own(line: str) -> Hook:
    return Hook("a", USER, "accept_gate", params={"command": line})


def vouched(place: Place, *hooks: Hook) -> dict[str, Any]:
    entry = build_trust_entry(str(place.root), parse, AT, "cli", hooks)
    write_trust(str(place.store), str(place.root), entry, check)
    return entry


def test_scripts_that_hooks_of_the_user_name_are_vouched_for_without_a_hooks_file(place: Place) -> None:
    place.file.unlink()
    entry = vouched(place, own("sh ci/check.sh; sh .pipeline/more.sh; sh ci/later.sh"), own("ruff check ."))
    scripts = {"ci/check.sh": sha256(b"true\n"), ".pipeline/more.sh": ABSENT}
    assert entry == {
        "hooks_file_sha256": "", "scripts": {}, "hooks": {}, "user_scripts": scripts, "beside": {}, "trusted_at": AT, "by": "cli"
    }  # fmt: skip
    assert place.discover() == RepoHooks(NO_HOOKS, user_scripts=scripts, beside={})


@pytest.mark.parametrize(
    ("make", "beside"),
    [
        pytest.param(lambda folder: None, {}, id="no folder"),
        pytest.param(lambda folder: folder.mkdir(), {}, id="an empty one"),
        pytest.param(lambda folder: folder.symlink_to("ci"), {".pipeline": UNREADABLE}, id="a link"),
    ],
)
def test_what_lies_in_the_folder_of_hooks_is_vouched_for_along_with_the_scripts_of_the_user(
    place: Place, make: Callable[[Path], object], beside: dict[str, str]
) -> None:
    place.file.unlink()
    place.file.parent.rmdir()
    make(place.file.parent)
    assert vouched(place, own("sh ci/check.sh"))["beside"] == beside


def test_an_entry_without_a_hooks_file_trusts_none_that_comes_later(place: Place) -> None:
    data = place.file.read_bytes()
    place.file.unlink()
    vouched(place, own("sh ci/check.sh"))
    for later in (data, b"", b"hooks: ["):
        place.file.write_bytes(later)
        found = place.discover()
        assert (found.state, ids(found), found.was_trusted) == (UNTRUSTED if later == data else INVALID, [], False)
        assert set(found.user_scripts) == {"ci/check.sh"}
    place.file.write_bytes(data)
    assert place.discover().reason == "its hooks are not trusted"


@pytest.mark.parametrize(
    "change", [row[0] for row in CHANGES], ids=[row[0].__name__.replace("_", " ") for row in CHANGES]
)
def test_what_the_user_vouched_for_of_his_own_hooks_is_told_whatever_became_of_the_hooks_file(
    place: Place, change: Callable[[Place], None]
) -> None:
    vouched(place, own("sh ci/check.sh"))
    assert place.discover().state == TRUSTED
    change(place)
    for found in (place.discover(), place.discover(trust_now=True)):
        assert found.user_scripts == {"ci/check.sh": sha256(b"true\n")}


def test_a_store_that_is_not_sound_vouches_for_no_script(place: Place) -> None:
    vouched(place, own("sh ci/check.sh"))
    place.store.chmod(0o666)
    assert place.discover().user_scripts == {}


def test_a_script_of_the_user_s_own_hook_that_is_a_link_is_not_vouched_for(place: Place) -> None:
    place.file.unlink()
    put_a_link_for_the_script(place)
    with pytest.raises(HookConfigError) as caught:
        vouched(place, own("sh ci/check.sh"))
    assert str(caught.value).startswith("nothing is trusted: ci/check.sh, which a hook runs, cannot be read safely")


# Edited during the run


def test_an_edit_of_a_pinned_file_is_seen_and_its_restoration_too(place: Place) -> None:
    place.trust()
    pins, before = place.discover().checksums, place.file.read_bytes()
    edit_the_script(place)
    edit_the_command(place)
    assert find_changed(pins, str(place.root)) == (HOOKS_FILE, "ci/check.sh")
    place.file.write_bytes(before)
    assert find_changed(pins, str(place.root)) == ("ci/check.sh",)
    place.script.write_text("true\n")
    assert find_changed(pins, str(place.root)) == ()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda place: place.script.unlink(), id="removed"),
        pytest.param(put_a_link_for_the_script, id="turned into a link to the same content"),
        pytest.param(put_a_link_for_the_directory, id="in a directory that is a link now"),
        pytest.param(lambda place: swap_for_a_pipe(place.script), id="turned into a pipe"),
        pytest.param(lambda place: (place.script.unlink(), place.script.mkdir()), id="turned into a folder"),
        pytest.param(lambda place: place.script.write_bytes(b"#" * (3 << 20)), id="blown up"),
    ],
)
def test_a_pinned_file_is_not_what_it_was_once_it_is(place: Place, change: Callable[[Place], object]) -> None:
    pins = hash_scripts(command("sh ci/check.sh"), str(place.root))
    change(place)
    assert find_changed(pins, str(place.root)) == ("ci/check.sh",)


def test_a_script_that_was_not_there_is_not_written_by_who_is_examined(place: Place) -> None:
    pins = hash_scripts(command("sh ci/later.sh"), str(place.root))
    assert pins == {"ci/later.sh": ABSENT}
    assert find_changed(pins, str(place.root)) == ()
    (place.root / "ci" / "later.sh").write_text("true")
    assert find_changed(pins, str(place.root)) == ("ci/later.sh",)


def test_an_edit_outside_is_seen_too(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside.sh").write_text("true")
    pins = hash_scripts(command("sh ../outside.sh"), str(place.root))
    (tmp_path / "outside.sh").write_text("false")
    assert find_changed(pins, str(place.root)) == (f"{tmp_path}/outside.sh",)
