"""Takes in repositories that the user has in a folder: without following links, as strangers' files all the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from phases.reference.fetch.beneath import Found, opened, read_beneath, walk
from phases.reference.fetch.choosing import LINK, OTHER, REGULAR, Listed, chosen, too_many
from phases.reference.fetch.names import free_name
from phases.reference.fetch.values import LARGEST_FILE, Kept, Refused, Rules, Source
from pipeline.files import failure

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


def folder_repositories(folders: str) -> tuple[list[Folder], list[str]]:
    """The sub-folders, each a repository, or the folder itself where it is one; and notes on what was left out.

    Raises StorageError.
    """
    try:
        with os.scandir(folders) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
            inner = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
            links = [entry.name for entry in found if entry.is_symlink()]
            files = any(entry.is_file(follow_symlinks=False) for entry in found)
    except OSError as error:
        raise failure("look into", folders, error) from error
    top = os.path.abspath(folders)
    if _GIT in inner or (files and not inner):
        return [_folder(os.path.basename(top), top, ())], []
    plain = [name for name in inner if not name.startswith(".")]
    notes = [f"{folders}: {name!r} is a link, and links are not followed; give the folder itself" for name in links]
    if len(plain) > _MOST_FOLDERS:
        notes.append(f"{folders}: of {len(plain)} folders, the first {_MOST_FOLDERS} by name are taken")
    repositories: list[Folder] = []
    for name in plain[:_MOST_FOLDERS]:
        taken = [known.name for known in repositories]
        repositories.append(_folder(name, os.path.join(top, name), taken))
    return repositories, notes


def folder_content(folder: Folder, rules: Rules) -> Source:
    """The content of one repository as it is now. Raises Refused, also as the source is gone through."""
    entries: list[Listed] = []
    most = rules.most_files * (_MOST_LEFT_OUT + 1)
    try:
        entries.extend(_listed(found) for found in islice(walk(folder.path, skip=_GIT), most))
    except OSError as error:
        raise _unreadable(folder.path, error) from error
    if len(entries) >= most:
        raise too_many(rules)
    kept, left_out = chosen(entries, _UNREADABLE, rules)
    return Source(folder.path, None, _contents(folder.path, kept), left_out)


def _folder(name: str, path: str, taken: Sequence[str]) -> Folder:
    return Folder(
        free_name(f"folder__{os.fsencode(name).decode('utf-8', 'replace')}", taken), path, f"folder:{_shown(name)}"
    )


def _shown(name: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def _listed(found: Found) -> Listed:
    if found.status is None:
        return Listed(REGULAR, found.path)
    mode = found.status.st_mode
    if stat.S_ISLNK(mode):
        return Listed(LINK, found.path)
    return Listed(REGULAR, found.path, found.status.st_size) if stat.S_ISREG(mode) else Listed(OTHER, found.path)


def _contents(root: str, kept: Sequence[Kept]) -> Iterator[tuple[str, bytes]]:
    try:
        with opened(root) as folder:
            for file in kept:
                yield file.path, read_beneath(folder, file.path, LARGEST_FILE)
    except OSError as error:
        raise _unreadable(root, error) from error


def _unreadable(path: str, error: OSError) -> Refused:
    return Refused(f"{path} cannot be read ({error.strerror or error}); mend that, or take it out of the folder")
