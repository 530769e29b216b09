"""Finds a repository in a mirror: a folder with host/owner/name in it. Of its settings and hooks, nothing is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from phases.references.fetch.names import printable
from phases.references.fetch.objects import OID
from phases.references.fetch.values import Refused
from pipeline.base.http.addresses import Target
from pipeline.base.safe_tree import open_directory, read_beneath

_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~+-]{1,100}")
_BRANCH = re.compile(r"ref: (refs/heads/[^\x00-\x20\x7f~^:?*\[\\]{1,250})\n?")
_DETACHED = re.compile(rf"({OID.pattern})\n?")
_LARGEST_REF, _LARGEST_REFS = 4096, 64 * 2**20
_LEADS_ELSEWHERE = ("objects/info/alternates", "objects/info/http-alternates", "commondir")


class Mirrored(NamedTuple):
    """A repository in the mirror."""

    folder: str
    """As the mirror has it."""
    objects: str
    """The folder of its objects, which is all that git reads."""
    commit: str


def mirrored(target: Target, mirror: str) -> Mirrored:
    """The repository of this address. Raises Refused where it is not there, or cannot be taken as it is."""
    path = f"{target.host}/{target.path.strip('/').removesuffix('.git')}"
    parts = path.split("/")
    if not all(_PART.fullmatch(part) for part in parts) or "\n" in mirror:
        raise Refused("its address is no name for a folder of the mirror; give it by a plain one, like host/owner/name")
    top = os.path.realpath(mirror)
    for folder in (path, f"{path}.git"):
        for inner in (folder, f"{folder}/.git"):
            if _is_there(top, inner):
                return _repository(top, inner, folder)
    raise Refused(
        f"it is not in the mirror: there is no repository at {path} in {printable(mirror)}; clone it there, or set no mirror"
    )


def _is_there(top: str, inner: str) -> bool:
    """Whether the places of a repository are there, none of them by a link."""
    try:
        with open_directory(top, [*inner.split("/"), "objects"]):
            read_beneath(top, f"{inner}/HEAD", _LARGEST_REF)
    except OSError:
        return False
    return True


def _repository(top: str, inner: str, folder: str) -> Mirrored:
    place = os.path.join(top, inner)
    for name in _LEADS_ELSEWHERE:
        if os.path.lexists(os.path.join(place, name)):
            raise Refused(f"in the mirror it leads elsewhere ({name}); make a clone there that stands alone")
    try:
        if link := next(_links(place), None):
            raise Refused(
                f"in the mirror it holds a link ({printable(link)}), and no link is followed; make a clone there without"
            )
        commit = _commit(place)
    except OSError as error:
        why = printable(str(error.strerror or error))
        raise Refused(f"in the mirror it cannot be read ({why}); make a new clone there") from error
    if commit is None:
        raise Refused("in the mirror it is empty, or its HEAD names no branch that is there; make a new clone there")
    return Mirrored(folder, os.path.join(place, "objects"), commit)


def _links(place: str) -> Iterator[str]:
    """Links among the objects, down to the last level that git looks at."""
    with open_directory(place, ["objects"]) as objects, os.scandir(objects) as entries:
        names = [(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, link, is_folder in names:
            if link:
                yield f"objects/{name}"
            elif is_folder:
                with open_directory(objects, [name]) as inner, os.scandir(inner) as files:
                    yield from (f"objects/{name}/{file.name}"[:100] for file in files if file.is_symlink())


def _commit(place: str) -> str | None:
    """The commit that HEAD leads to, or None."""
    head = read_beneath(place, "HEAD", _LARGEST_REF).decode("utf-8", "replace")
    if match := _DETACHED.fullmatch(head):
        return match[1]
    branch = _BRANCH.fullmatch(head)
    if not branch or not all(part and part != ".." for part in branch[1].split("/")):
        return None
    try:
        found = _DETACHED.fullmatch(read_beneath(place, branch[1], _LARGEST_REF).decode("utf-8", "replace"))
        return found[1] if found else None
    except FileNotFoundError:
        return _packed(place, branch[1].encode())


def _packed(place: str, branch: bytes) -> str | None:
    try:
        lines = read_beneath(place, "packed-refs", _LARGEST_REFS).splitlines()
    except FileNotFoundError:
        return None
    rows = (line.split(b" ", 1) for line in lines)
    oids = [row[0].decode("ascii", "replace") for row in rows if len(row) == 2 and row[1] == branch]
    return next((oid for oid in oids if OID.fullmatch(oid)), None)
