"""Select the hooks of a repository to run, by the store of content that the user has trusted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from phases.acceptance.configuration.checksums import (
    UNREADABLE,
    Checksums,
    hash_control_files,
    hash_scripts,
    item_digest,
)
from phases.acceptance.configuration.parse_hooks import HookConfigError, parse_hooks
from phases.acceptance.hook import REPO, Hook
from phases.workspace.workspace import Workspace, WorkspaceError
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.files import sha256, storage_error, write_durable
from pipeline.base.formats import dump_json, parse_json
from pipeline.base.lease import lock_descriptor

HOOKS_FILE = ".pipeline/hooks.yaml"
_OURS = ".pipeline/"
LARGEST_HOOKS_FILE = 256 * 1024
NO_HOOKS, UNTRUSTED, TRUSTED, MODIFIED, INVALID = "none", "untrusted", "trusted", "modified", "invalid"
Parse = Callable[[bytes], Mapping[str, Any]]
"""The checked value of a hooks.yaml. Raises PipelineError."""
VERSION = 2
LARGEST_STORE = 4 * 1024 * 1024
_PATIENCE = 10
Check = Callable[[Any], str | None]
"""Return why a value breaks the schema of the store, or None."""


class SkippedHook(NamedTuple):
    """A hook that is trusted, or would be, and does not run."""

    id: str
    reason: str


class RepoHooks(NamedTuple):
    """State of a workspace's hooks file."""

    state: str
    """none, untrusted, trusted, modified (since it was trusted) or invalid."""
    hooks: tuple[Hook, ...] = ()
    """Hooks to run, in order."""
    reason: str = ""
    """Reason why some do not run, and what to do, on one line."""
    skipped: tuple[SkippedHook, ...] = ()
    checksums: Checksums = MappingProxyType({})
    """The hooks file, and the scripts of the hooks that run, as they are now."""
    was_trusted: bool = False
    """These very bytes of the file are trusted. Of an invalid file: what the user counts on cannot be used."""
    store_fault: str = ""
    """Fault of the store of trusted workspaces; empty if it is sound, or does not exist yet."""
    beside: Mapping[str, str] | None = None
    """Files beside the scripts in the directory of hooks, as the user trusted them; None where nothing is trusted."""
    user_scripts: Mapping[str, str] = MappingProxyType({})
    """Scripts in the workspace that hooks of the user name, as the user trusted them, whatever the hooks file is."""

    @property
    def is_trusted(self) -> bool:
        """No hook of the workspace waits to be trusted."""
        return self.state in (TRUSTED, NO_HOOKS)


class _HooksFile(NamedTuple):
    """A hooks file as it is read."""

    sha256: str
    items: Mapping[str, Mapping[str, Any]]
    """By id, those that are turned off too."""
    hooks: tuple[Hook, ...]


def discover_repo_hooks(
    workspace: str, store_path: str, parse: Parse, check: Check, *, trust_now: bool = False
) -> RepoHooks:
    """Return the hooks of a workspace. `trust_now`: trust its current state for this run."""
    workspace = os.path.realpath(workspace)  # once: a link that is turned elsewhere meanwhile changes nothing
    store = read_store(store_path, check)
    known = store.entry(workspace) or {}
    # an entry for the user's own scripts alone says nothing of a hooks file
    entry = known if known.get("hooks_file_sha256") and not trust_now else None
    found = _read_state(workspace, parse, entry, trust_now=trust_now)
    if found.state == UNTRUSTED:
        found = found._replace(reason=store.fault or "its hooks are not trusted")
    fault = "" if store.missing or found.state == NO_HOOKS else store.fault
    beside = hash_control_files(workspace) if trust_now else known.get("beside")
    return found._replace(store_fault=fault, user_scripts=known.get("user_scripts", {}), beside=beside)


def build_trust_entry(workspace: str, parse: Parse, at: str, by: str, own: Iterable[Hook] = ()) -> dict[str, Any]:
    """Build the store entry of a workspace as it is now. Raises HookConfigError if it cannot be trusted.

    `own`: the hooks of the user. A workspace without hooks can be trusted, too: that it has none any more, say.
    """
    workspace = os.path.realpath(workspace)
    theirs = hash_user_scripts(workspace, own)
    if not os.path.lexists(os.path.join(workspace, HOOKS_FILE)):
        entry: dict[str, Any] = {"hooks_file_sha256": "", "scripts": {}, "hooks": {}}
    else:
        entry = _file_entry(workspace, parse)
    if words := _name_unreadable({**entry["scripts"], **theirs}):
        raise HookConfigError(f"nothing is trusted: {words}")
    scripts = {HOOKS_FILE: "", **entry["scripts"], **theirs}
    beside = {path: digest for path, digest in hash_control_files(workspace).items() if path not in scripts}
    more = {"user_scripts": theirs, "beside": beside}
    given = {name: rows for name, rows in more.items() if rows or name == "beside"}
    return {**entry, **given, "trusted_at": at, "by": by}


def hash_user_scripts(workspace: str, own: Iterable[Hook]) -> dict[str, str]:
    """Return the scripts in a workspace that the user's hooks name, including missing ones that must stay away."""
    named = _hash_all(own, workspace)
    inside = (path for path in named if not os.path.isabs(path) and (named[path] or path.startswith(_OURS)))
    return {path: named[path] for path in inside}


def _hash_all(hooks: Iterable[Hook], workspace: str) -> dict[str, str]:
    return {path: digest for hook in hooks for path, digest in hash_scripts(hook, workspace).items()}


def _file_entry(workspace: str, parse: Parse) -> dict[str, Any]:
    """Return the digests in an entry of the hooks file and its scripts."""
    try:
        file = _parse_hooks_file(_read_hooks_file(workspace), parse)
    except PipelineError as error:
        raise HookConfigError(f"nothing is trusted: {error}") from error
    scripts = _hash_all(file.hooks, workspace)
    items = {name: item_digest(item) for name, item in file.items.items()}
    return {"hooks_file_sha256": file.sha256, "scripts": scripts, "hooks": items}


def _read_state(workspace: str, parse: Parse, entry: Mapping[str, Any] | None, *, trust_now: bool) -> RepoHooks:
    if not os.path.lexists(os.path.join(workspace, HOOKS_FILE)):
        if entry and entry["hooks"]:
            return _report_lost(entry, f"{HOOKS_FILE} no longer exists")
        return RepoHooks(NO_HOOKS)
    digest = ""
    try:
        data = _read_hooks_file(workspace)
        digest = sha256(data)
        file = _parse_hooks_file(data, parse)
    except PipelineError as error:
        # A trusted file that a newer schema refuses must not be skipped in silence (spec, section 4).
        known = trust_now or (entry is not None and entry["hooks_file_sha256"] == digest)
        if entry is None or known:
            return RepoHooks(INVALID, reason=str(error), was_trusted=known)
        return _report_lost(entry, f"{HOOKS_FILE} has changed since it was trusted, and cannot be used ({error})")
    if trust_now:
        return _trust_as_is(file, workspace)
    if entry is None:
        return RepoHooks(UNTRUSTED, skipped=tuple(SkippedHook(hook.id, "it is not trusted") for hook in file.hooks))
    return _compare_entry(file, entry, workspace)


def _report_lost(entry: Mapping[str, Any], why: str) -> RepoHooks:
    """Trusted hooks are gone, or unusable: that is reported as a change, not as a workspace without hooks."""
    skipped = tuple(SkippedHook(name, "it was trusted, and no longer exists") for name in entry["hooks"])
    return RepoHooks(MODIFIED, reason=why, skipped=skipped)


def _read_hooks_file(workspace: str) -> bytes:
    try:
        data = Workspace(workspace).read_bytes(HOOKS_FILE)
    except WorkspaceError as error:
        raise HookConfigError(f"{error}; put a regular file there") from error
    if len(data) > LARGEST_HOOKS_FILE:
        raise HookConfigError(f"{HOOKS_FILE} holds over {LARGEST_HOOKS_FILE:,} bytes; make it smaller")
    return data


def _parse_hooks_file(data: bytes, parse: Parse) -> _HooksFile:
    config = parse(data)["hooks"]
    hooks = parse_hooks(config, REPO, HOOKS_FILE)
    return _HooksFile(sha256(data), {item["id"]: item for item in config.get("items", ())}, hooks)


def _trust_as_is(file: _HooksFile, workspace: str) -> RepoHooks:
    checksums = {HOOKS_FILE: file.sha256, **_hash_all(file.hooks, workspace)}
    if words := _name_unreadable(checksums):
        return RepoHooks(INVALID, reason=words, was_trusted=True)
    return RepoHooks(TRUSTED, file.hooks, checksums=checksums, was_trusted=True)


def _name_unreadable(scripts: Checksums) -> str:
    """Return which files cannot be trusted, and what to do; empty if all can."""
    paths = ", ".join(path for path, digest in scripts.items() if digest == UNREADABLE)
    reason = "cannot be read safely (a link, or over 2 MiB); put regular files there"
    return f"{paths}, which a hook runs, {reason}" if paths else ""


def _compare_entry(file: _HooksFile, entry: Mapping[str, Any], workspace: str) -> RepoHooks:
    """Hook by hook: what is as it was trusted runs, though something beside it has changed."""
    hooks, checksums = [], {HOOKS_FILE: file.sha256}
    gone = ((name, _why_missing(name, file, entry)) for name in entry["hooks"])
    skipped = [SkippedHook(name, reason) for name, reason in gone if reason]
    for hook in file.hooks:
        scripts = hash_scripts(hook, workspace)
        reason = _why_changed(hook, file, scripts, entry)
        if reason:
            skipped.append(SkippedHook(hook.id, reason))
        else:
            hooks.append(hook)
            checksums.update(scripts)
    same = entry["hooks_file_sha256"] == file.sha256
    if same and not skipped:
        return RepoHooks(TRUSTED, tuple(hooks), checksums=checksums, was_trusted=True)
    summary = "; ".join(f"{name}: {why}" for name, why in skipped) or "all its hooks are unchanged"
    reason = f"{HOOKS_FILE} has changed since it was trusted ({summary})" if not same else summary
    return RepoHooks(MODIFIED, tuple(hooks), reason, tuple(skipped), checksums, was_trusted=same)


def _why_missing(name: str, file: _HooksFile, entry: Mapping[str, Any]) -> str:
    """Return why a trusted hook cannot run, unless it was trusted as disabled."""
    item = file.items.get(name)
    if item is None:
        return "it was trusted, and no longer exists"
    if any(hook.id == name for hook in file.hooks):
        return ""
    if entry["hooks"][name] != item_digest(item):
        return "it has changed since it was trusted"
    turned_off = item.get("enabled", True) and entry["hooks_file_sha256"] != file.sha256
    return "it was trusted, and the file turns all hooks off now" if turned_off else ""


def _why_changed(hook: Hook, file: _HooksFile, scripts: Checksums, entry: Mapping[str, Any]) -> str:
    if hook.id not in entry["hooks"]:
        return "it is new since the file was trusted"
    if entry["hooks"][hook.id] != item_digest(file.items[hook.id]):
        return "it has changed since it was trusted"
    changed = [path for path, digest in scripts.items() if entry["scripts"].get(path) != digest]
    return f"{', '.join(changed)} changed since it was trusted" if changed else ""


class TrustRefused(PipelineError):
    """A store that is not written to, because it could not be trusted afterwards."""


class TrustStore(NamedTuple):
    """Trusted workspaces; none if there is a fault."""

    workspaces: Mapping[str, Mapping[str, Any]]
    fault: str = ""
    """Reason why nothing is trusted, and what to do; empty if the store is sound."""
    missing: bool = False
    """There is no store yet, which is not a fault."""

    def entry(self, workspace: str) -> Mapping[str, Any] | None:
        """Return the entry of a workspace, whichever path leads to it."""
        return self.workspaces.get(os.path.realpath(workspace))


def read_store(path: str, check: Check) -> TrustStore:
    """Read the store at a path. A store that cannot be trusted is returned as one that trusts nothing."""
    if not path:
        return TrustStore({}, "no directory of settings is known, so no workspace is trusted", missing=True)
    try:
        fault = _directory_fault(path)
        data = b"" if fault else _read_bytes(path)
        return TrustStore({}, f"{path}: {fault}") if fault else TrustStore(_parse_workspaces(data, check))
    except FileNotFoundError:
        return TrustStore({}, f"no workspace is trusted yet ({path} is not there)", missing=True)
    except _StoreFault as error:
        return TrustStore({}, f"{path}: {error}")
    except OSError as error:
        return TrustStore({}, f"{path}: it cannot be read ({errno.errorcode.get(error.errno or 0, error.strerror)})")


def write_trust(path: str, workspace: str, entry: Mapping[str, Any], check: Check) -> None:
    """Write the entry of a workspace, keeping the others. Raises TrustRefused if the store is not sound."""
    _require_sound(path, check)  # before anything is made beside it
    directory = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chmod(directory, 0o700)
        with _lock_store(path):
            known = _require_sound(path, check).workspaces
            value = {"version": VERSION, "workspaces": {**known, os.path.realpath(workspace): dict(entry)}}
            if breach := check(value):
                raise TrustRefused(f"nothing is written: {path} would no longer be a valid store ({breach})")
            write_durable(path, dump_json(value), rights=0o600)
            fault = read_store(path, check).fault
    except OSError as error:
        raise storage_error("write", path, error) from error
    if fault:
        raise TrustRefused(f"it is written, and trusts nothing: {fault}")


def _require_sound(path: str, check: Check) -> TrustStore:
    store = read_store(path, check)
    if store.fault and not store.missing:
        raise TrustRefused(f"nothing is written: {store.fault}")
    return store


@contextmanager
def _lock_store(path: str) -> Iterator[None]:
    """Hold the lock between reading and writing the store, so that no entry of another process is lost."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(f"{path}.lock", flags, 0o600)
    try:
        with lock_descriptor(descriptor, f"{path}.lock", _PATIENCE) as mine:
            if not mine:
                raise TrustRefused(
                    f"nothing is written: another process has held {path}.lock for {_PATIENCE} s; end it first"
                )
            yield
    finally:
        os.close(descriptor)


class _StoreFault(PipelineError):
    """A store that must not be trusted."""


def _read_bytes(path: str) -> bytes:
    """Return the bytes of a store after checking the open file: its name may lead elsewhere by then."""
    try:
        # By descriptor, so that what is looked at is what is read: the name may be another file's by then.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _StoreFault("it is a symbolic link; put the file there itself") from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _StoreFault("it is not a regular file; move it away")
        if status.st_uid != os.geteuid():
            raise _StoreFault(
                f"it belongs to another user ({status.st_uid}); move it away, then trust what you need again"
            )
        if status.st_mode & 0o022:
            raise _StoreFault(f"{_other_writers(status.st_mode)} may write to it; check it, then: chmod 600 {path}")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(LARGEST_STORE + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_STORE:
        raise _StoreFault(f"it is over {LARGEST_STORE:,} bytes; move it away")
    return data


def _parse_workspaces(data: bytes, check: Check) -> dict[str, Mapping[str, Any]]:
    if not data.strip():
        raise _StoreFault("it is empty; delete it, then trust what you need again")
    try:
        value = parse_json(data)
    except FormatError as error:
        place = f"line {error.line}: " if error.line else ""
        raise _StoreFault(f"{place}{error}; fix or delete it") from error
    version = value.get("version") if isinstance(value, dict) else None
    if version != VERSION or isinstance(version, bool):
        raise _StoreFault(f"its version is not {VERSION}; delete it, then trust what you need again")
    if breach := check(value):
        raise _StoreFault(f"it is damaged {breach}; fix or delete it")
    for workspace in value["workspaces"]:
        if not os.path.isabs(workspace):
            raise _StoreFault(f"the workspace {workspace!r} is not an absolute path; fix or delete it")
    return dict(value["workspaces"])


def _directory_fault(path: str) -> str:
    """Return why another user could replace the file; empty if none could. A sticky directory such as /tmp is safe."""
    for directory in _parent_directories(path):
        mode = os.stat(directory).st_mode
        # Whoever may write to a directory can put a store of their own in the place of the user's.
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"all users may write to the directory {directory}, and so could swap the file; type: chmod o-w {directory}"
    return ""


def _parent_directories(path: str) -> Iterator[str]:
    """Yield every parent directory of a file, both as written and with links resolved."""
    seen = set()
    for start in (os.path.dirname(os.path.abspath(path)), os.path.realpath(os.path.dirname(path))):
        directory = start
        while directory not in seen:
            seen.add(directory)
            if os.path.isdir(directory):
                yield directory
            directory = os.path.dirname(directory)


def _other_writers(mode: int) -> str:
    return "all users" if mode & stat.S_IWOTH else "its group"
