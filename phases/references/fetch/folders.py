"""Takes in repositories that the user has in a folder: without following links, as strangers' files all the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from phases.references.fetch.apart import holds_the_task, leading_to
from phases.references.fetch.choosing import LINK, OTHER, REGULAR, Listed, chosen, too_many
from phases.references.fetch.names import free_name, printable
from phases.references.fetch.values import LARGEST_FILE, Kept, Refused, Rules, Source
from pipeline.base.errors import UsageError
from pipeline.base.files import storage_error
from pipeline.base.safe_tree import WalkedEntry, open_directory, read_beneath, walk_tree

_GIT = ".git"
_MOST_FOLDERS = 100
_UNREADABLE = "unreadable"
_MOST_LEFT_OUT = 10
"""So many times the files that are taken may be left out; a folder with more is no repository."""


class Folder(NamedTuple):
    """One repository in the user's folder."""

    name: str
    path: str
    url: str


def folder_repositories(folders: str, into: str, taken: Collection[str]) -> tuple[list[Folder], list[str]]:
    """The sub-folders, each a repository, or the folder itself where it is one; and notes on what was left out.

    The one that leads to `into` is left out; `taken` are names that none gets. Raises StorageError and UsageError.
    """
    try:
        with os.scandir(folders) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
            inner = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
            links = [entry.name for entry in found if entry.is_symlink()]
            files = any(entry.is_file(follow_symlinks=False) for entry in found)
    except OSError as error:
        raise storage_error("look into", folders, error) from error
    top, held = os.path.abspath(folders), leading_to(into, folders)
    if _GIT in inner or (files and not inner):
        if held is not None:
            raise holds_the_task(folders)
        return [_folder(os.path.basename(top), top, taken)], []
    plain = [name for name in inner if not name.startswith(".") and name != held]
    repositories: list[Folder] = []
    for name in plain[:_MOST_FOLDERS]:
        known = [repository.name for repository in repositories]
        repositories.append(_folder(name, os.path.join(top, name), [*taken, *known]))
    return repositories, _notes(printable(folders), links, held, len(plain))


def refuse_useless(folders: str) -> None:
    """Raises UsageError where no file of a folder of the user's would be taken."""
    repositories, _ = folder_repositories(folders, os.sep, ())
    if not any(map(_gives_a_file, repositories)):
        raise UsageError(
            f"--references {printable(folders)} holds no code that can be taken: put each repository into a folder of its "
            "own there, or leave --references out to fetch what the paper links"
        )


def _gives_a_file(folder: Folder) -> bool:
    try:
        return next(folder_content(folder, Rules()).contents, None) is not None
    except Refused:
        return True  # too much of it, say: phase 07 says so by its name


def folder_content(folder: Folder, rules: Rules) -> Source:
    """The content of one repository as it is now. Raises Refused, also as the source is gone through."""
    entries: list[Listed] = []
    most = rules.most_files * (_MOST_LEFT_OUT + 1)
    try:
        entries.extend(_listed(found) for found in islice(walk_tree(folder.path, skip=_GIT), most))
    except OSError as error:
        raise _unreadable(folder.path, error) from error
    if len(entries) >= most:
        raise too_many(rules)
    kept, left_out = chosen(entries, _UNREADABLE, rules)
    return Source(printable(folder.path), None, _contents(folder.path, kept, left_out), left_out)


def _notes(folders: str, links: Sequence[str], held: str | None, count: int) -> list[str]:
    notes = [f"{folders}: {name!r} is a link, and links are not followed; give the folder itself" for name in links]
    if held is not None:
        notes.append(f"{folders}: {held!r} is left out, because this task itself lies in it")
    if count > _MOST_FOLDERS:
        notes.append(f"{folders}: of {count} folders, the first {_MOST_FOLDERS} by name are taken")
    return notes


def _folder(name: str, path: str, taken: Collection[str]) -> Folder:
    wish = f"folder__{os.fsencode(name).decode('utf-8', 'replace')}"
    return Folder(free_name(wish, taken), path, f"folder:{printable(name)}")


def _listed(found: WalkedEntry) -> Listed:
    if found.status is None:
        return Listed(REGULAR, found.path)
    mode = found.status.st_mode
    if stat.S_ISLNK(mode):
        return Listed(LINK, found.path)
    return Listed(REGULAR, found.path, found.status.st_size) if stat.S_ISREG(mode) else Listed(OTHER, found.path)


def _contents(root: str, kept: Sequence[Kept], left_out: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """What can be read; what the user may not read is counted as left out, as folders are that cannot be opened."""
    path = root
    try:
        with open_directory(root) as folder:
            for file in kept:
                path = os.path.join(root, file.path)
                try:
                    data = read_beneath(folder, file.path, LARGEST_FILE)
                except PermissionError:
                    left_out[_UNREADABLE] = left_out.get(_UNREADABLE, 0) + 1
                    continue
                yield file.path, data
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> Refused:
    why = error.strerror or error
    return Refused(f"{printable(path)} cannot be read ({why}); mend that, or take it out of the folder")
