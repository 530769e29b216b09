"""Decides which names of a stranger's files can be written anywhere, and what a repository is called here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from pipeline.base.http.addresses import Target

_MOST_PARTS = 40
_LONGEST_PATH = 1000
_LONGEST_PART = 255
_LONGEST_SLUG = 80
_TAKEN = ("index",)
_GITS_OWN = (".git", "git~1")
ODD, DEEP, TWIN = "odd_names", "deep", "twins"


def plain_path(raw: bytes) -> tuple[str, str | None]:
    """A path as text, and why it is left out: ODD where some system would read it as something else, DEEP, or None."""
    if len(raw) > _LONGEST_PATH:
        return "", ODD
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "", ODD
    parts = path.split("/")
    # What is not printable turns the direction of writing, moves a cursor, or cannot be seen.
    if not path.isprintable() or "\\" in path or any(_is_odd(part) for part in parts):
        return path, ODD
    return path, DEEP if len(parts) > _MOST_PARTS else None


class Twins:
    """Tells names that differ in case or spelling alone: on some disks they are one file. The first one stays."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()

    def add(self, path: str) -> bool:
        """Takes a path in; False where it cannot stand beside those that are there."""
        folded = _folded(path)
        if folded in self._spelled:
            return False
        parts = path.split("/")
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        pairs = [(_folded(folder), folder) for folder in folders]
        if any(name in self._files or self._spelled.get(name, folder) != folder for name, folder in pairs):
            return False
        self._spelled.update(pairs)
        self._spelled[folded] = path
        self._files.add(folded)
        return True


def slug_of(target: Target, taken: Collection[str]) -> str:
    """What a repository at this address is called here: owner__name; another one of that name gets a number."""
    path = target.path.strip("/").removesuffix(".git")
    return free_name("__".join(path.split("/")[-2:]) or target.host, taken)


def free_name(wish: str, taken: Collection[str]) -> str:
    """A name of plain letters that no other has, whatever the case."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", wish).strip("-.")[:_LONGEST_SLUG].rstrip("-.") or "repository"
    plain = re.sub(r"\.json$", "-json", plain, flags=re.IGNORECASE)  # the manifest of another is called so
    used, number, name = {other.lower() for other in (*taken, *_TAKEN)}, 1, plain
    while name.lower() in used:
        number += 1
        ending = f"-{number}"
        name = plain[: _LONGEST_SLUG - len(ending)] + ending
    return name


def printable(text: str) -> str:
    """A name or a path for people to read, and for documents: on one line, and with nothing that is no text."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _is_odd(part: str) -> bool:
    if part in ("", ".", "..") or part[-1] in ". " or len(part.encode("utf-8")) > _LONGEST_PART:
        return True
    stem = unicodedata.normalize("NFKC", part).casefold().split(":")[0].rstrip(". ")
    return stem in _GITS_OWN


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
