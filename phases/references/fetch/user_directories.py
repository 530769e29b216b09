"""Read the directories of code that the user gives, and keep them apart from the task's own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from phases.references.fetch.file_filter import (
    LINK,
    OTHER,
    REGULAR,
    GitEntry,
    free_name,
    make_printable,
    select_files,
    too_many_files,
)
from phases.references.fetch.model import LARGEST_FILE, FetchRules, KeptFile, RepositoryContent, RepositoryRefused
from pipeline.base.credentials import credentials_at, credentials_in
from pipeline.base.errors import UsageError
from pipeline.base.files import storage_error
from pipeline.base.safe_tree import WalkedEntry, open_directory, read_beneath, walk_files


def refuse_overlap(rules: FetchRules, into: str) -> None:
    """Raise UsageError if a directory of the user's is, contains or lies in the one that the task fetches into.

    A directory of references may contain it in a subdirectory next to others: see `_subdirectory_leading_to`.
    """
    base = os.path.realpath(into)
    task = os.path.dirname(base)
    for flag, folder in (("references", rules.folders), ("mirror", rules.mirror)):
        place = os.path.realpath(folder) if folder else ""
        if not folder or not (_is_inside(place, base) or _is_inside(base, place)):
            continue
        if _is_inside(place, base):
            how = "is" if place == base else "lies in"
            raise _overlap_error(flag, folder, f"{how} {make_printable(base)}, where this task keeps what it fetches")
        if flag == "mirror" or place in (task, os.path.dirname(task)):
            raise _overlap_error(flag, folder, f"holds this task itself ({make_printable(task)})")


def _subdirectory_leading_to(into: str, folder: str) -> str | None:
    """Return the entry of the directory that contains `into`; None if `into` is elsewhere."""
    base, place = os.path.realpath(into), os.path.realpath(folder)
    return os.path.relpath(base, place).split(os.sep)[0] if _is_inside(base, place) and base != place else None


def _is_inside(inner: str, outer: str) -> bool:
    return os.path.commonpath([inner, outer]) == outer


def _overlap_error(flag: str, folder: str, why: str) -> UsageError:
    return UsageError(
        f"--{flag} {make_printable(folder)} {why}; put the code into its own directory, and give that one"
    )


_GIT = ".git"
_MOST_FOLDERS = 100
UNREADABLE, CREDENTIALS = "unreadable", "credentials"
_MOST_LEFT_OUT = 10
"""Factor by which left-out files may exceed the kept ones; a directory with more is not a repository."""


class UserRepository(NamedTuple):
    """One repository in the user's directory."""

    name: str
    path: str
    url: str


def list_user_repositories(folders: str, into: str, taken: Collection[str]) -> tuple[list[UserRepository], list[str]]:
    """Return the repositories in a directory of the user's, or the directory itself if it is one, and notes on omissions.

    The entry that contains `into` is left out; names in `taken` are not used. Raises StorageError and UsageError.
    """
    try:
        with os.scandir(folders) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
            inner = [entry.name for entry in children if entry.is_dir(follow_symlinks=False)]
            links = [entry.name for entry in children if entry.is_symlink()]
            files = any(entry.is_file(follow_symlinks=False) for entry in children)
    except OSError as error:
        raise storage_error("look into", folders, error) from error
    top, held = os.path.abspath(folders), _subdirectory_leading_to(into, folders)
    if _GIT in inner or (files and not inner):
        if held is not None:
            raise _overlap_error("references", folders, "is one repository, and holds this task itself")
        return [_user_repository(os.path.basename(top), top, taken)], []
    plain = [name for name in inner if not name.startswith(".") and name != held]
    repositories: list[UserRepository] = []
    for name in plain[:_MOST_FOLDERS]:
        known = [repository.name for repository in repositories]
        repositories.append(_user_repository(name, os.path.join(top, name), [*taken, *known]))
    return repositories, _directory_notes(make_printable(folders), links, held, len(plain))


def refuse_empty(folders: str) -> None:
    """Raise UsageError if no file of the user's directory can be used."""
    repositories, _ = list_user_repositories(folders, os.sep, ())
    if not any(map(_gives_a_file, repositories)):
        raise UsageError(
            f"--references {make_printable(folders)} holds no usable code: put each repository into a directory of its "
            "own there, or leave --references out to fetch what the paper links"
        )


def _gives_a_file(folder: UserRepository) -> bool:
    try:
        return next(read_user_repository(folder, FetchRules()).contents, None) is not None
    except RepositoryRefused:
        return True  # too much of it, say: phase 07 says so by its name


def read_user_repository(folder: UserRepository, rules: FetchRules) -> RepositoryContent:
    """Return the current content of one repository. Raises RepositoryRefused, also while the content is read."""
    entries: list[GitEntry] = []
    most = rules.most_files * (_MOST_LEFT_OUT + 1)
    try:
        entries.extend(
            _tree_entry(entry)
            for entry in islice(walk_files(folder.path, skip=lambda name: name.lower() == _GIT), most)
        )
    except OSError as error:
        raise _unreadable_error(folder.path, error) from error
    if len(entries) >= most:
        raise too_many_files(rules)
    kept, left_out = select_files(entries, UNREADABLE, rules)
    return RepositoryContent(
        make_printable(folder.path), None, _user_file_contents(folder.path, kept, left_out), left_out
    )


def _directory_notes(folders: str, links: Sequence[str], held: str | None, count: int) -> list[str]:
    notes = [f"{folders}: {name!r} is a link, and links are not followed; give the directory itself" for name in links]
    if held is not None:
        notes.append(f"{folders}: {held!r} is left out, because this task itself lies in it")
    if count > _MOST_FOLDERS:
        notes.append(f"{folders}: of {count} directories, the first {_MOST_FOLDERS} by name are taken")
    return notes


def _user_repository(name: str, path: str, taken: Collection[str]) -> UserRepository:
    wish = f"folder__{os.fsencode(name).decode('utf-8', 'replace')}"
    return UserRepository(free_name(wish, taken), path, f"folder:{make_printable(name)}")


def _tree_entry(walked: WalkedEntry) -> GitEntry:
    """Return an entry as GitEntry; an unreadable one counts as a file, which is reported when it is read."""
    path = os.fsencode(walked.path)
    try:
        if walked.entry.is_symlink():
            return GitEntry(LINK, path)
        if walked.is_regular():
            return GitEntry(REGULAR, path, walked.status().st_size)
        return GitEntry(REGULAR if walked.is_directory() else OTHER, path)
    except OSError:
        return GitEntry(REGULAR, path)


def _user_file_contents(root: str, kept: Sequence[KeptFile], left_out: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield the readable files; unreadable files and files with credentials are counted as left out."""
    path = root
    try:
        with open_directory(root) as folder:
            for file in kept:
                path = os.path.join(root, file.path)
                try:
                    data = read_beneath(folder, file.path, LARGEST_FILE)
                except PermissionError:
                    left_out[UNREADABLE] = left_out.get(UNREADABLE, 0) + 1
                    continue
                if credentials_at(path) or credentials_in(data):
                    left_out[CREDENTIALS] = left_out.get(CREDENTIALS, 0) + 1
                    continue
                yield file.path, data
    except OSError as error:
        raise _unreadable_error(path, error) from error


def _unreadable_error(path: str, error: OSError) -> RepositoryRefused:
    why = error.strerror or error
    return RepositoryRefused(
        f"{make_printable(path)} cannot be read ({why}); repair it, or remove it from the directory"
    )
