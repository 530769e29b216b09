"""The store: what is committed is checked and whole, and what a person wrote by hand is never lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import ContractError, StorageError, TaskBusy
from pipeline.base.files import sha256
from pipeline.base.formats import compose_markdown, dump_json
from pipeline.engine.contract import Contracts
from pipeline.engine.graph import Graph
from pipeline.engine.phase import Context, Documents, Phase, build_manifest
from pipeline.engine.stamps import Stamp
from pipeline.engine.store import TaskStore
from tests.base.test_files import plant

ROW = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path", "bytes", "sha256"],
    "properties": {"path": {"type": "string"}, "bytes": {"type": "integer"}, "sha256": {"type": "string"}},
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "files": {"type": "array", "items": ROW}},
    "mayBePlaceholder": True,
    "examples": [{"text": "a"}],
}
NAMES = ("alpha", "beta", "gamma", "delta", "note", "plan")


def idle(inputs: Documents, ctx: Context) -> Documents:
    return {}


def toy(number: str, name: str, reads: tuple[str, ...] = (), **more: Any) -> Phase:
    writes = more.pop("writes", (f"{name}.json",))
    return Phase(number=number, name=name, reads=reads, writes=writes, **{"run": idle, **more})


def contracts_in(folder: Path) -> Contracts:
    """Contracts for the documents of toys: one text each, and perhaps a manifest."""
    schemas = folder / "schemas"
    schemas.mkdir(exist_ok=True)
    for name in NAMES:
        (schemas / f"{name}.schema.json").write_text(json.dumps(SCHEMA))
    return Contracts((str(schemas),))


def make_task(folder: Path, *phases: Phase, mode: str = "full") -> TaskStore:
    """A new task of these phases."""
    root = folder / "tasks" / "toy"
    root.mkdir(parents=True)
    store = TaskStore(str(root), Graph(phases), contracts_in(folder))
    settings = {"mode": mode, "model": "offline", "review": "", "sandbox": "required"}
    created = "2026-01-31T12:00:00.000Z"
    task = {"version": 1, "id": "toy", "created": created, "source": "paper.pdf", "settings": settings}
    store.write({"task.json": task})
    return store


def again(store: TaskStore, *phases: Phase) -> TaskStore:
    """The same task as another process would open it."""
    return TaskStore(store.root, Graph(phases) if phases else store.graph, store.contracts)


def perform(store: TaskStore, phase: Phase, documents: Mapping[str, Any]) -> None:
    """What the runner does with a phase that returned these documents."""
    _, digests = store.load_inputs(phase)
    store.begin(phase, "2026-01-31T12:00:00.000Z")
    store.save()
    attempts = store.stamps[phase.number].attempts
    store.commit(phase, documents, Stamp(phase.name, "done", attempts, phase.version, read=digests))
    store.save()


ALPHA = toy("01", "alpha")
BETA = toy("02", "beta", ("alpha.json",))
GAMMA = toy("03", "gamma", ("beta.json",), owns=("workspace", "journal.jsonl"))
NOTE = toy("04", "note", writes=("note.md", "plan.txt"))
CODE = toy("05", "delta", writes=("delta.json", "code/"))


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    return make_task(tmp_path, ALPHA, BETA, GAMMA, NOTE, CODE)


def file(store: TaskStore, name: str) -> Path:
    return Path(store.path(name))


def done(store: TaskStore) -> TaskStore:
    """The task with its first three phases done."""
    for phase in (ALPHA, BETA, GAMMA):
        perform(store, phase, {phase.writes[0]: {"text": phase.name}})
    return store


# Commit


def test_what_is_committed_is_read_back_by_anyone(store: TaskStore) -> None:
    perform(store, ALPHA, {"alpha.json": {"text": "a"}})
    other = again(store)
    assert other.load("alpha.json") == {"text": "a"}
    assert other.outputs(ALPHA) == {"alpha.json": {"text": "a"}}
    assert other.stamps == store.stamps
    assert other.stamps["01"].written == {"alpha.json": sha256(file(store, "alpha.json").read_bytes())}
    assert other.stale_reason(ALPHA, {}) is None


def test_every_format_is_committed(store: TaskStore) -> None:
    note = compose_markdown({"text": "a\n---\nb"}, "# body\n")
    perform(store, NOTE, {"note.md": note, "plan.txt": {"text": "yes"}})
    assert store.load("note.md").text == note.text
    assert store.load("plan.txt") == {"text": "yes"}
    assert store.stale_reason(NOTE, {}) is None


def test_a_commit_without_a_saved_stamp_is_not_done(store: TaskStore) -> None:
    store.begin(ALPHA, "2026-01-31T12:00:00.000Z")
    store.save()
    store.commit(ALPHA, {"alpha.json": {"text": "a"}}, Stamp("alpha", "done", 1))
    other = again(store)
    assert other.load("alpha.json") == {"text": "a"}
    assert other.stale_reason(ALPHA, {}) == "never finished"


@pytest.mark.parametrize(
    ("phase", "documents", "message"),
    [
        pytest.param(ALPHA, {}, "phase 01 alpha did not return alpha.json, which it promises to write", id="nothing"),
        pytest.param(
            NOTE,
            {"note.md": compose_markdown({"text": ""}, "")},
            "phase 04 note did not return plan.txt, which it promises to write",
            id="one of two",
        ),
        pytest.param(
            ALPHA,
            {"alpha.json": {"text": "a"}, "beta.json": {"text": "b"}},
            "phase 01 alpha returned beta.json, which it does not declare",
            id="a document of another phase",
        ),
        pytest.param(
            ALPHA,
            {"alpha.json": {"text": "a"}, "state.json": {}},
            "phase 01 alpha returned state.json, which it does not declare",
            id="the state",
        ),
        pytest.param(
            CODE,
            {"delta.json": {"text": "a"}, "code/../beta.json": "x"},
            "phase 05 delta returned code/../beta.json, which it does not declare",
            id="a way out of its folder",
        ),
        pytest.param(
            CODE,
            {"delta.json": {"text": "a"}, "codes/a.py": "x"},
            "phase 05 delta returned codes/a.py, which it does not declare",
            id="a folder with a similar name",
        ),
        pytest.param(
            ALPHA,
            {"alpha.json": {"text": 3}},
            "alpha.json at $.text: 3 is not of type 'string' (rule: type; written by phase 01 alpha)",
            id="a document that breaks its schema",
        ),
        pytest.param(
            NOTE,
            {"note.md": compose_markdown({"text": ""}, ""), "plan.txt": {"text": None}},
            "plan.txt, line 1, column 7, at $.text: None is not of type 'string'",
            id="a second document that breaks its schema",
        ),
        pytest.param(
            CODE,
            {"delta.json": {"text": "a", "files": build_manifest({"code/a.py": "1"})}, "code/a.py": "2"},
            "delta.json lists code/a.py with another sha256 than the file has (written by phase 05 delta)",
            id="a manifest that lies",
        ),
        pytest.param(
            CODE,
            {"delta.json": {"text": "a", "files": build_manifest({"code/a.py": "1"})}},
            "delta.json lists code/a.py with another sha256 than the file has (written by phase 05 delta)",
            id="a manifest of a file that is not there",
        ),
    ],
)
def test_a_commit_that_breaks_a_promise_writes_nothing(
    store: TaskStore, phase: Phase, documents: Mapping[str, Any], message: str
) -> None:
    before = sorted(os.listdir(store.root))
    with pytest.raises(ContractError) as caught:
        perform(store, phase, documents)
    assert message in str(caught.value)
    assert sorted(os.listdir(store.root)) == sorted([*before, "state.json"])
    assert str(again(store).stale_reason(phase, {})) == "never finished"


def test_the_files_of_a_folder_count_as_written(store: TaskStore) -> None:
    files = {"code/a.py": "a\n", "code/deep/in/b.py": "b\n"}
    perform(store, CODE, {"delta.json": {"text": "x", "files": build_manifest(files)}, **files})
    assert file(store, "code/deep/in/b.py").read_text() == "b\n"
    assert set(store.stamps["05"].written) == {"delta.json", *files}
    file(store, "code/a.py").unlink()
    assert store.stale_reason(CODE, {}) == "code/a.py is missing"


def test_a_file_that_the_phase_wrote_itself_counts_when_its_manifest_lists_it(store: TaskStore) -> None:
    file(store, "code").mkdir()
    file(store, "code/a.py").write_text("a\n")
    perform(store, CODE, {"delta.json": {"text": "x", "files": build_manifest({"code/a.py": "a\n"})}})
    assert set(store.stamps["05"].written) == {"delta.json", "code/a.py"}


READS_CODE = toy("06", "note", ("code/",), writes=("note.md",))


def write_code(store: TaskStore, text: str, files: Mapping[str, str]) -> None:
    perform(store, CODE, {"delta.json": {"text": text, "files": build_manifest(files)}, **files})


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        pytest.param({"code/a.py": "a\n", "code/b.py": "b\n"}, None, id="none"),
        pytest.param({"code/a.py": "c\n", "code/b.py": "b\n"}, "code/ changed", id="another text"),
        pytest.param({"code/a.py": "a\n"}, "code/ changed", id="one less"),
        pytest.param({"code/a.py": "a\n", "code/b.py": "b\n", "code/c.py": ""}, "code/ changed", id="one more"),
        pytest.param({"code/b.py": "a\n", "code/a.py": "b\n"}, "code/ changed", id="two that changed places"),
        pytest.param({}, "code/ changed", id="all gone"),
    ],
)
def test_a_phase_that_reads_a_folder_is_stale_when_a_file_of_it_changed_and_not_when_its_document_did(
    tmp_path: Path, files: Mapping[str, str], reason: str | None
) -> None:
    store = make_task(tmp_path, CODE, READS_CODE)
    write_code(store, "before", {"code/a.py": "a\n", "code/b.py": "b\n"})
    perform(store, READS_CODE, {"note.md": compose_markdown({"text": "n"}, "")})
    assert again(store).stale_reason(READS_CODE, {}) is None
    write_code(store, "after", files)
    assert again(store).stale_reason(READS_CODE, {}) == reason


def test_a_phase_that_reads_a_folder_gets_the_digest_of_each_file(tmp_path: Path) -> None:
    store = make_task(tmp_path, CODE, READS_CODE)
    write_code(store, "x", {"code/a.py": "a\n", "code/deep/b.py": ""})
    inputs, digests = store.load_inputs(READS_CODE)
    assert inputs["code/"] == {"code/a.py": sha256(b"a\n"), "code/deep/b.py": sha256(b"")}
    assert digests == {"code/": store.digest("code/")}


def test_a_manifest_never_leads_out_of_the_task(store: TaskStore, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a\n")
    row = {**build_manifest({"x": "a\n"})[0], "path": "../../secret"}
    with pytest.raises(ContractError, match=r"\.\./\.\./secret"):
        perform(store, CODE, {"delta.json": {"text": "x", "files": [row]}})


@pytest.mark.parametrize("name", ["alpha", "delta"])
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(7, id="a number"),
        pytest.param("a.py", id="a text"),
        pytest.param(True, id="a truth"),
        pytest.param(["a.py", "b.py"], id="texts"),
        pytest.param([1, 2, None], id="numbers"),
        pytest.param([["a.py"]], id="lists"),
        pytest.param({"a.py": {"sha256": "0"}}, id="a mapping"),
        pytest.param([{"sha256": "0"}], id="rows without a path"),
        pytest.param([{"path": 1, "sha256": "0"}, {"path": "a.py", "sha256": 2}], id="rows of numbers"),
    ],
)
def test_a_field_files_that_is_no_manifest_is_a_matter_of_its_schema_alone(
    tmp_path: Path, name: str, files: object
) -> None:
    store = make_task(tmp_path, ALPHA, CODE)
    schema = {**SCHEMA, "properties": {"text": {}, "files": {}}}
    (tmp_path / "schemas" / f"{name}.schema.json").write_text(json.dumps(schema))
    store = TaskStore(store.root, store.graph, Contracts((str(tmp_path / "schemas"),)))
    perform(store, {"alpha": ALPHA, "delta": CODE}[name], {f"{name}.json": {"text": "a", "files": files}})
    assert store.load(f"{name}.json")["files"] == files


def test_a_phase_without_a_folder_has_no_manifest(tmp_path: Path) -> None:
    store = make_task(tmp_path, ALPHA)
    value = {"text": "a", "files": build_manifest({"elsewhere/a.py": "a"})}
    perform(store, ALPHA, {"alpha.json": value})
    assert store.load("alpha.json") == value
    assert set(store.stamps["01"].written) == {"alpha.json"}


def test_a_link_in_place_of_a_folder_is_not_written_through(store: TaskStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file(store, "code").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="code is a symbolic link, and a task holds its own files"):
        perform(store, CODE, {"delta.json": {"text": "x"}, "code/a.py": "a"})
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_commit_on_a_disk_that_fails_leaves_each_document_old_or_new(store: TaskStore, call: str) -> None:
    done(store)
    old, new = {"text": "beta"}, {"text": "new"}
    real = getattr(os, call)
    for at in range(1, 12):
        left = [at]

        def fail(*arguments: Any, left: list[int] = left, **options: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, call, fail)
            try:
                perform(again(store), BETA, {"beta.json": new})
            except StorageError as error:
                told = str(error)
            else:
                told = "nothing failed"
        assert ("ENOSPC" in told) == (left[0] <= 0)
        other = again(store)
        assert other.load("beta.json") in (old, new)
        assert not [name for name in os.listdir(store.root) if name.endswith(".tmp")]
        if left[0] > 0:
            break
        perform(other, BETA, {"beta.json": old})


# What changed


def test_an_output_that_was_deleted_is_a_reason(store: TaskStore) -> None:
    file(done(store), "beta.json").unlink()
    assert store.stale_reason(BETA, {}) == "beta.json is missing"
    assert store.stale_reason(GAMMA, {}) == "beta.json is missing"
    assert store.stale_reason(ALPHA, {}) is None


def test_a_new_time_on_a_file_is_no_change(store: TaskStore) -> None:
    os.utime(file(done(store), "alpha.json"), (0, 0))
    assert [store.stale_reason(phase, {}) for phase in (ALPHA, BETA, GAMMA)] == [None, None, None]


def test_an_edit_by_hand_is_accepted_and_what_reads_it_is_stale(store: TaskStore) -> None:
    file(done(store), "alpha.json").write_bytes(dump_json({"text": "by hand"}))
    assert store.stale_reason(ALPHA, {}) is None
    assert store.stale_reason(BETA, {}) == "alpha.json changed"
    assert store.accept_edits(ALPHA) == ("alpha.json",)
    store.save()
    other = again(store)
    assert other.stamps["01"].edited == ("alpha.json",)
    assert other.accept_edits(ALPHA) == ()
    assert other.load("alpha.json") == {"text": "by hand"}
    assert other.stale_reason(ALPHA, {}) is None
    assert other.stale_reason(BETA, {}) == "alpha.json changed"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(b"", "alpha.json, line 1, column 1: not JSON", id="emptied"),
        pytest.param(b'{"text": ', "alpha.json, line 1, column ", id="cut"),
        pytest.param(b'{"text": 3}', "alpha.json at $.text: 3 is not of type 'string'", id="of a wrong type"),
        pytest.param(b'{"text": "a", "b": 1}', "'b' was unexpected", id="with a key too many"),
        pytest.param(b"\xff", "alpha.json: not UTF-8 text", id="not text"),
        pytest.param(b"\0" * 20, "alpha.json, line 1, column 1: not JSON", id="of NULs"),
    ],
)
def test_a_damaged_output_is_refused_by_name_and_the_remedy_is_ready_to_paste(
    store: TaskStore, damage: bytes, message: str
) -> None:
    file(done(store), "alpha.json").write_bytes(damage)
    with pytest.raises(ContractError) as caught:
        store.stale_reason(ALPHA, {})
    assert message in str(caught.value)
    assert "written by phase 01 alpha" in str(caught.value)
    assert f"pipeline run {store.root} --redo 01" in str(caught.value)
    with pytest.raises(ContractError, match=r"alpha\.json"):
        store.load_inputs(BETA)


@pytest.mark.parametrize("kind", ["a folder", "a link", "a pipe"])
@pytest.mark.parametrize("name", ["alpha.json", "state.json"])
def test_what_is_no_file_is_refused_by_name_and_never_waited_for(store: TaskStore, name: str, kind: str) -> None:
    path = file(done(store), name)
    path.unlink()
    plant(kind, path)
    with pytest.raises(StorageError, match=f"{name} is a .*, not a regular file"):
        again(store).stale_reason(ALPHA, {})


def test_the_digests_of_inputs_are_those_of_the_bytes_that_were_read(store: TaskStore) -> None:
    done(store)
    values, digests = store.load_inputs(BETA)
    assert values == {"alpha.json": {"text": "alpha"}}
    assert digests == {"alpha.json": sha256(file(store, "alpha.json").read_bytes())}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(b"", "state.json, line 1", id="emptied"),
        pytest.param(b"\0" * 64, "state.json, line 1", id="of NULs"),
        pytest.param(b"[]", "state.json at $: ", id="a list"),
        pytest.param(
            b'{"version": 2, "phases": {}}', "state.json at $.version: 1 was expected", id="of another version"
        ),
        pytest.param(b'{"version": 1, "phases": {"x": {}}}', "state.json at $.phases", id="of a wrong shape"),
    ],
)
def test_a_damaged_state_is_refused_by_name_and_never_taken_for_a_new_task(
    store: TaskStore, damage: bytes, message: str
) -> None:
    file(done(store), "state.json").write_bytes(damage)
    with pytest.raises(ContractError) as caught:
        again(store)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("byte", range(0, 60, 7))
def test_a_state_that_is_cut_is_refused_wherever_it_is_cut(store: TaskStore, byte: int) -> None:
    path = file(done(store), "state.json")
    path.write_bytes(path.read_bytes()[:byte])
    with pytest.raises(ContractError, match=r"state\.json"):
        again(store)


# Edits are kept


def kept(store: TaskStore) -> list[str]:
    folder = file(store, "edited")
    return sorted(path.read_text() for path in folder.iterdir()) if folder.exists() else []


BY_HAND = dump_json({"text": "by hand"}).decode("utf-8")


def test_an_edit_that_was_accepted_is_kept_when_its_phase_runs_again(store: TaskStore) -> None:
    file(done(store), "alpha.json").write_text(BY_HAND)
    store.accept_edits(ALPHA)
    perform(store, ALPHA, {"alpha.json": {"text": "new"}})
    assert store.load("alpha.json") == {"text": "new"}
    assert kept(store) == [BY_HAND]
    assert store.stamps["01"].edited == ()


def test_an_edit_that_nobody_saw_is_kept_too(store: TaskStore) -> None:
    file(done(store), "alpha.json").write_text(BY_HAND)
    perform(store, ALPHA, {"alpha.json": {"text": "new"}})
    assert kept(store) == [BY_HAND]


def test_a_damaged_edit_is_kept_too(store: TaskStore) -> None:
    file(done(store), "alpha.json").write_text("half a docu")
    perform(store, ALPHA, {"alpha.json": {"text": "new"}})
    assert kept(store) == ["half a docu"]


def test_two_edits_of_one_document_are_both_kept(store: TaskStore) -> None:
    done(store)
    for number in (1, 2):
        file(store, "alpha.json").write_text(f"edit {number}")
        perform(store, ALPHA, {"alpha.json": {"text": f"new {number}"}})
    assert kept(store) == ["edit 1", "edit 2"]


def test_an_edit_survives_a_redo(store: TaskStore) -> None:
    file(done(store), "alpha.json").write_text(BY_HAND)
    store.accept_edits(ALPHA)
    store.save()
    other = again(store)
    other.redo(ALPHA)
    perform(again(store), ALPHA, {"alpha.json": {"text": "new"}})
    assert kept(store) == [BY_HAND]


def test_an_edit_of_a_file_in_a_folder_is_kept_under_one_name(store: TaskStore) -> None:
    files = {"code/in/a.py": "a\n"}
    perform(store, CODE, {"delta.json": {"text": "x", "files": build_manifest(files)}, **files})
    file(store, "code/in/a.py").write_text("by hand\n")
    perform(store, CODE, {"delta.json": {"text": "x", "files": build_manifest(files)}, **files})
    assert [path.name.split(".py.")[0] for path in file(store, "edited").iterdir()] == ["code__in__a"]
    assert kept(store) == ["by hand\n"]


def test_what_the_phase_wrote_itself_is_not_kept_as_an_edit(store: TaskStore) -> None:
    done(store)
    for text in ("one", "two", "two"):
        perform(store, ALPHA, {"alpha.json": {"text": text}})
    assert kept(store) == []


# Redo


def test_a_redo_makes_a_phase_and_all_that_follows_stale(store: TaskStore) -> None:
    done(store)
    perform(store, NOTE, {"note.md": compose_markdown({"text": ""}, ""), "plan.txt": {"text": ""}})
    store.redo(BETA)
    other = again(store)
    assert other.stale_reason(ALPHA, {}) is None
    assert other.stale_reason(NOTE, {}) is None
    assert other.stale_reason(BETA, {}) == "never finished: asked to redo"
    assert other.stale_reason(GAMMA, {}) == "never finished: asked to redo"


def test_a_redo_moves_what_the_phases_own_aside_and_counts(store: TaskStore) -> None:
    for number in range(3):
        file(store, "workspace").mkdir()
        file(store, "workspace/code.py").write_text(str(number))
        file(store, "journal.jsonl").write_text(str(number))
        done(store)
        store.redo(BETA)
    names = {name for name in os.listdir(store.root) if name.startswith(("workspace", "journal"))}
    assert names == {f"{name}.prev{n}" for name in ("workspace", "journal.jsonl") for n in ("", "2", "3")}
    assert file(store, "workspace.prev2/code.py").read_text() == "1"


def test_a_redo_of_a_phase_that_never_ran_is_fine(store: TaskStore) -> None:
    store.redo(ALPHA)
    assert again(store).stale_reason(ALPHA, {}) == "never ran"


def test_a_redo_keeps_count_of_the_attempts(store: TaskStore) -> None:
    done(store).redo(ALPHA)
    perform(store, ALPHA, {"alpha.json": {"text": "a"}})
    assert store.stamps["01"].attempts == 2


# The folder itself


def delete(root: Path) -> None:
    shutil.rmtree(root)


def move(root: Path) -> None:
    root.rename(root.with_name("moved"))


def replace(root: Path) -> None:
    root.rename(root.with_name("moved"))
    shutil.copytree(root.with_name("moved"), root)


def link(root: Path) -> None:
    root.rename(root.with_name("moved"))
    root.symlink_to(root.with_name("moved"))


@pytest.mark.parametrize("change", [delete, move, replace, link], ids=["deleted", "moved", "replaced", "made a link"])
def test_nothing_is_written_into_a_task_that_is_no_longer_there(
    store: TaskStore, change: Callable[[Path], None]
) -> None:
    done(store)
    root = Path(store.root)
    store.begin(ALPHA, "2026-01-31T12:00:00.000Z")
    change(root)
    elsewhere = root.with_name("moved") / "alpha.json"
    before = elsewhere.read_bytes() if elsewhere.exists() else b""
    words = "was deleted, moved or replaced while it was in use; nothing more is written there"
    with pytest.raises(StorageError, match=words):
        store.commit(ALPHA, {"alpha.json": {"text": "lost"}}, Stamp("alpha", "done", 1))
    with pytest.raises(StorageError, match=words):
        store.save()
    with pytest.raises(StorageError, match=words):
        store.write({"task.json": store.contracts.schema("task.json")["examples"][0]})
    assert (elsewhere.read_bytes() if elsewhere.exists() else b"") == before
    if change is delete:
        assert not root.exists()


def test_a_writer_holds_the_lock_and_sees_what_the_last_writer_did(store: TaskStore) -> None:
    other = again(store)
    with store.writing() as left:
        assert left is None
        with pytest.raises(TaskBusy), other.writing():
            pass
        perform(store, ALPHA, {"alpha.json": {"text": "a"}})
    assert other.stamps == {}
    with other.writing():
        assert other.stale_reason(ALPHA, {}) is None


def test_a_writer_sweeps_what_a_killed_one_left(store: TaskStore) -> None:
    file(store, ".alpha.json.tmp").write_bytes(b"half")
    with store.writing():
        assert not file(store, ".alpha.json.tmp").exists()


def test_a_writer_sweeps_what_a_killed_one_left_in_a_folder_of_documents(store: TaskStore) -> None:
    files = {"code/in/a.py": "a\n"}
    perform(store, CODE, {"delta.json": {"text": "x", "files": build_manifest(files)}, **files})
    file(store, "code/in/.b.py.tmp").write_bytes(b"half")
    with again(store).writing():
        assert not file(store, "code/in/.b.py.tmp").exists()


def test_a_state_that_did_not_change_is_not_written_again(store: TaskStore) -> None:
    done(store)
    before = file(store, "state.json").stat().st_ino
    store.save()
    assert file(store, "state.json").stat().st_ino == before


def test_a_document_of_the_command_is_checked_before_it_is_written(store: TaskStore) -> None:
    with pytest.raises(ContractError, match=r"task\.json at \$: .* written by the pipeline command"):
        store.write({"task.json": {"version": 1}})
    assert store.load("task.json")["id"] == "toy"


def test_reading_a_task_changes_nothing_in_it(store: TaskStore) -> None:
    done(store)
    before = {path: path.stat().st_mtime_ns for path in Path(store.root).rglob("*")}
    other = again(store)
    assert [other.stale_reason(phase, {}) for phase in (ALPHA, BETA, GAMMA)] == [None, None, None]
    other.outputs(ALPHA)
    assert {path: path.stat().st_mtime_ns for path in Path(store.root).rglob("*")} == before
