"""Store of one task directory: documents are validated when read and written, and nothing else in the engine accesses them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from pipeline.base.errors import ContractError, StorageError
from pipeline.base.files import (
    make_directory,
    read_bytes,
    set_aside,
    sha256,
    storage_error,
    sweep_temporary_files,
    write_all_durable,
    write_durable,
)
from pipeline.base.formats import dump_json
from pipeline.base.jsonl import drop_torn_tail
from pipeline.base.lease import new_attempt
from pipeline.engine.contract import Contracts, check_listed_files, check_output_names
from pipeline.engine.graph import Graph
from pipeline.engine.lock import holder_of, is_held, lock_task
from pipeline.engine.phase import Documents, Phase
from pipeline.engine.stamps import (
    DONE,
    LINES,
    RUNNING,
    Stamp,
    Stamps,
    add_to_state,
    find_edited_outputs,
    has_lines,
    read_state,
    stale_reason,
    write_state,
)

_WORDS = {"edited": "was edited", "added": "was added", "missing": "is missing"}


class TaskStore:
    """The documents and stamps of one task. Reading needs no lock; a writer holds `writing()`."""

    def __init__(self, root: str, graph: Graph, contracts: Contracts) -> None:
        self.root = os.path.abspath(root)
        self.graph = graph
        self.contracts = contracts
        self.stamps: Stamps = {}
        self._attempt = ""
        self._identity = _identity_of(self.root)
        self._unsaved: Stamps = {}
        _refuse_links(self.root)
        self.stamps = read_state(self.root, contracts)

    @property
    def id(self) -> str:
        return os.path.basename(self.root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))

    @contextmanager
    def writing(self) -> Iterator[str | None]:
        """Hold the task's lock; give the words for a dead holder's lock that was taken over, or None."""
        attempt = new_attempt()
        with lock_task(self.root, attempt) as left:
            self._attempt = attempt
            self.stamps = read_state(self.root, self.contracts)
            drop_torn_tail(self.path(LINES))
            written = {name for stamp in self.stamps.values() for name in stamp.written}
            for folder in {os.path.dirname(name) for name in written} | {""}:
                sweep_temporary_files(self.path(folder) if folder else self.root)
            try:
                yield left
            finally:
                self._attempt = ""

    def exists(self, name: str) -> bool:
        return os.path.lexists(self.path(name))

    def assert_in_place(self) -> None:
        """Raise StorageError when the task folder is no longer the one that was opened: nothing may be written elsewhere."""
        # decision 21: before each write; to hold every path by descriptor would not reach child processes.
        if _identity_of(self.root) != self._identity:
            raise StorageError(
                f"{self.root} was deleted, moved or replaced while it was in use; nothing more is written there"
            )
        # decision 272: a machine that slept, or lost the network, may come back when another one has the task
        if self._attempt and not is_held(self.root, self._attempt):
            raise StorageError(
                f"{self.root} was taken over by {holder_of(self.root) or 'another process'} while this one gave no sign of life; "
                "nothing more is written there"
            )

    def digest(self, name: str) -> str | None:
        """Return the present sha256 of a document or folder, or None if it is missing."""
        if name.endswith("/"):
            return sha256(dump_json(self._digest_files(name)))
        try:
            return sha256(read_bytes(self.path(name)))
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def load(self, name: str) -> Any:
        return self._load(name)[0]

    def load_inputs(self, phase: Phase) -> tuple[dict[str, Any], dict[str, str]]:
        """Read and validate the inputs of a phase, with the digests of the very bytes that were read."""
        loaded = {name: self._load(name) for name in phase.reads}
        digests = {name: digest for name, (_, digest) in loaded.items()}
        return {name: value for name, (value, _) in loaded.items()}, digests

    def outputs(self, phase: Phase) -> dict[str, Any]:
        return {name: self.load(name) for name in phase.writes if not name.endswith("/")}

    def write(self, documents: Mapping[str, Any]) -> None:
        """Check and write documents that a command owns (task.json, report.json, …)."""
        contents = {
            self.path(name): self.contracts.serialise(name, value, writer=self._writer(name))
            for name, value in documents.items()
        }
        self.assert_in_place()
        write_all_durable(contents)

    def stale_reason(self, phase: Phase, settings: Mapping[str, Any]) -> str | None:
        """Return why the phase must run, or None. Raises ContractError for an output that was damaged since it was written."""
        digest = cache(self.digest)
        stamp = self.stamps.get(phase.number)
        reason = stale_reason(phase, stamp, settings, digest)
        if reason is None and stamp:
            for name in find_edited_outputs(stamp, digest):
                self._refuse_damage(phase, name)
            path, what = next(self.changes(phase), ("", ""))
            reason = f"{path} {_WORDS[what]}" if path else None
        return reason

    def changes(self, phase: Phase) -> Iterator[tuple[str, str]]:
        """Yield changes of files that only a listed file names: `edited`, `added` or `missing`."""
        stamp = self.stamps.get(phase.number)
        if phase.changes and stamp and stamp.status == DONE:
            yield from phase.changes(self.root, tuple(stamp.written))

    def accept_edits(self, phase: Phase) -> tuple[str, ...]:
        """Take outputs that were edited by hand for the phase's own; return their names."""
        stamp, digest = self.stamps[phase.number], cache(self.digest)
        edited = find_edited_outputs(stamp, digest)
        if edited:
            written = {name: digest(name) or "" for name in stamp.written}
            self._put(phase, stamp._replace(written=written, edited=tuple(sorted({*stamp.edited, *edited}))))
        return edited

    def begin(self, phase: Phase, started: str) -> None:
        """Note that a phase runs. Durable after save()."""
        before = self.stamps.get(phase.number, Stamp(phase.name))
        self._put(phase, before._replace(status=RUNNING, attempts=before.attempts + 1, started=started, error=None))

    def finish(self, phase: Phase, status: str, *, seconds: float, error: str | None = None) -> None:
        """Note how a phase ended when it wrote nothing. Durable after save()."""
        self._put(phase, self.stamps[phase.number]._replace(status=status, seconds=seconds, error=error))

    def commit(self, phase: Phase, documents: Documents, stamp: Stamp) -> None:
        """Write what a phase returned: every document checked first, then each made durable. The stamp follows with save()."""
        label = f"phase {phase.label}"
        check_output_names(phase, documents)
        contents = {name: self._serialise(name, value, label) for name, value in documents.items()}
        digests = {name: sha256(data) for name, data in contents.items()}
        self.assert_in_place()
        digests |= check_listed_files(phase, documents, digests, self.digest)
        self._keep_edits(phase, digests)
        for name in contents:
            self._make_folders(name)
        write_all_durable({self.path(name): data for name, data in contents.items()})
        if stamp.status == DONE:  # what stands in for a result takes nothing away that a later one can use
            self._remove_leftovers(phase, digests)
        self._put(phase, stamp._replace(written=digests, edited=()))

    def redo(self, phase: Phase) -> None:
        """Make a phase and all that follows from it stale; what they own moves aside. Durable when it returns."""
        for stale in (phase, *self.graph.after(phase)):
            if stale.number in self.stamps:
                self._put(stale, self.stamps[stale.number]._replace(status="redo", error="asked to redo"))
            for name in stale.owns:
                set_aside(self.path(name))
        self.save()

    def reopen(self, phase: Phase, why: str) -> None:
        """Make a finished phase run again on its own result. `pipeline why` shows `why`."""
        if phase.number in self.stamps:
            self._put(phase, self.stamps[phase.number]._replace(status="stopped", error=why))

    def note(self) -> None:
        """Make what changed in the stamps durable. Only after this may a phase be called done."""
        if self._unsaved:
            self.assert_in_place()
            add_to_state(self.root, self._unsaved, self.contracts)
            self._unsaved = {}

    def save(self) -> None:
        """Make the stamps durable as one document, at the end of a run."""
        if self._unsaved or has_lines(self.root):
            self.assert_in_place()
            write_state(self.root, self.stamps, self.contracts)
            self._unsaved = {}

    def _put(self, phase: Phase, stamp: Stamp) -> None:
        self.stamps[phase.number] = self._unsaved[phase.number] = stamp

    def _digest_files(self, folder: str) -> dict[str, str | None]:
        """Return the present sha256 of each file that a folder's phase wrote there."""
        writer = self.graph.writer(folder)
        stamp = self.stamps.get(writer.number) if writer else None
        return {path: self.digest(path) for path in sorted(stamp.written if stamp else ()) if path.startswith(folder)}

    def _load(self, name: str) -> tuple[Any, str]:
        if name.endswith("/"):
            files = self._digest_files(name)
            return files, sha256(dump_json(files))
        data = read_bytes(self.path(name))
        try:
            return self.contracts.parse(name, data, writer=self._writer(name)), sha256(data)
        except ContractError as error:
            raise ContractError(f"{error}, in {self.root}") from error

    def _serialise(self, name: str, value: Any, label: str) -> bytes:
        if name in self.graph.documents:
            return self.contracts.serialise(name, value, writer=label)
        # A file of a folder document: its manifest is what is checked.
        return value if isinstance(value, bytes) else str(value).encode("utf-8")

    def _writer(self, name: str) -> str:
        writer = self.graph.writer(name)
        return f"phase {writer.label}" if writer else "the pipeline command"

    def _refuse_damage(self, phase: Phase, name: str) -> None:
        if name not in self.graph.documents:
            return  # a file of a folder document has no schema of its own
        try:
            self.load(name)
        except ContractError as error:
            from shlex import quote  # late: only a damaged document needs it

            raise ContractError(
                f"{error}; it was changed after it was written: fix it in {self.root}, "
                f"or regenerate it: pipeline run {quote(self.root)} --redo {phase.number}"
            ) from error

    def _keep_edits(self, phase: Phase, digests: dict[str, str]) -> None:
        """Keep edits by hand as edited/<name>.<digest> instead of overwriting them."""
        before = self.stamps[phase.number]
        for name, new in digests.items():
            now = self.digest(name)
            # decision 29: after a crash this may be our own output; to keep too much is the lesser evil.
            by_hand = name in before.edited or now != before.written.get(name)
            if now and now != new and before.written and by_hand:
                make_directory(self.path("edited"))
                copy = self.path(f"edited/{name.replace('/', '__')}.{now[:12]}")
                write_durable(copy, read_bytes(self.path(name)))

    def _remove_leftovers(self, phase: Phase, digests: dict[str, str]) -> None:
        """Remove files of a folder document that an earlier run wrote and this one did not; edited ones stay."""
        for name, digest in self.stamps[phase.number].written.items():
            mine = name not in self.graph.documents and name.split("/")[0] not in phase.owns
            if mine and name not in digests and self.digest(name) == digest:
                os.unlink(self.path(name))

    def _make_folders(self, name: str) -> None:
        parts = name.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            make_directory(os.path.join(self.root, *parts[:depth]))


def _refuse_links(root: str) -> None:
    """Raise StorageError if a directory of a task is a link: mounts, removals and walks would follow it out of the task."""
    try:
        with os.scandir(root) as entries:
            link = next((entry.path for entry in entries if entry.is_symlink() and entry.is_dir()), "")
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("look into", root, error) from error
    if link:
        raise StorageError(f"{link} is a symbolic link, and a task holds its own files; put the directory itself there")


def _identity_of(root: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino
