"""Apply the user's blacklist of addresses: a repository, a page, or a whole host, in any spelling.

A line is an address (https://github.com/owner/name), a host (example.org, which means those below it too), or a repository
(owner/name, on any host). What leads there by a redirect is refused like what names it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from pipeline.base.errors import StorageError, UsageError
from pipeline.base.files import read_bytes
from pipeline.base.http.addresses import Forbidden, Target, target_of

_MOST_LINES, _LARGEST = 10_000, 1 << 20
_HOST = re.compile(r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}", re.IGNORECASE)
_REPOSITORY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SSH = re.compile(r"(?:ssh://)?git@([^:/\s]+)[:/](?=\S)|git\+(?=https?://)|git://")
_SAME_HOST = {
    "raw.githubusercontent.com": "github.com",
    "codeload.github.com": "github.com",
    "api.github.com": "github.com",
}
"""Mirror hosts of the same repositories."""
_ARXIV = re.compile(r"/(?:abs|pdf|e-print|src|html|format|ps)/(.+?)(?:v[0-9]+)?(?:\.pdf)?", re.IGNORECASE)
_NONE = ("none", "n/a")
"""Lines that state in words that the list forbids nothing."""


class Blacklisted(Forbidden):
    """An address that stands on the user's own list."""


class _Place(NamedTuple):
    """An address in the form that all its spellings share."""

    host: str
    parts: tuple[str, ...]
    query: str


def read_blacklist(path: str) -> str:
    """Return the lines of a list as one setting. Raises UsageError for a line that cannot be applied."""
    try:
        text = read_bytes(path, limit=_LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--blacklist {path}: it is not UTF-8 text") from error
    except StorageError as error:
        raise UsageError(f"--blacklist {path}: {error}; give a file with an address in each line") from error
    entries: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = re.sub(r"(?:^|\s)#.*", "", line).strip().strip("<>").lstrip("-*• ").strip()
        if not entry or entry.lower() in _NONE:
            continue
        if _rule_of(entry) is None or len(entries) >= _MOST_LINES:
            raise UsageError(
                f"--blacklist {path}, line {number}: {entry[:100]!r} is not an address (https://host/path), host (example.org) "
                "or repository (owner/name); put # before a comment"
            )
        entries.append(entry)
    return "\n".join(dict.fromkeys(entries))


def why_blacklisted(target: Target, blacklist: str) -> str:
    """Return which line of the list forbids an address, in words, or an empty string."""
    if not blacklist:
        return ""
    place = _place_of(target)
    line = next((line for line, rule in _rules_of(blacklist) if _is_meant(place, rule)), "")
    return f"it is on your blacklist ({line})" if line else ""


def refuse_blacklisted(target: Target, blacklist: str) -> None:
    """Raise Blacklisted for an address that the list forbids."""
    if why := why_blacklisted(target, blacklist):
        raise Blacklisted(why)


@cache
def _rules_of(blacklist: str) -> Sequence[tuple[str, _Place]]:
    rules = [(line, _rule_of(line)) for line in blacklist.split()]
    # what came another way than by read_blacklist is held to all the same: a host of that name
    return [(line, rule or _Place(line.casefold(), (), "")) for line, rule in rules]


def _rule_of(line: str) -> _Place | None:
    """Parse a line of the list; a repository without a host has an empty one. Returns None for an invalid line."""
    if _REPOSITORY.fullmatch(line) and "." not in line.partition("/")[0]:
        return _Place("", _split_path(line), "")
    if _HOST.fullmatch(line):
        return _Place(_fold_host(line.removeprefix("*.")), (), "")
    plain = _SSH.sub(
        lambda match: f"https://{match[1]}/" if match[1] else "" if match[0] == "git+" else "https://", line, count=1
    )
    try:
        return _place_of(target_of(plain if "://" in plain else f"https://{plain}", private=True))
    except Forbidden:
        return None


def _place_of(target: Target) -> _Place:
    path, _, query = target.path.partition("#")[0].partition("?")
    host = _fold_host(target.host)
    if host == "arxiv.org" or host.endswith(".arxiv.org"):
        host, paper = "arxiv.org", _ARXIV.fullmatch(path)
        path = f"/{paper[1]}" if paper else path
    parts = _split_path(path)
    if target.host.casefold() == "api.github.com" and parts[:1] == ("repos",):
        parts = parts[1:]
    return _Place(host, parts, unquote(query).casefold())


def _fold_host(host: str) -> str:
    plain = host.casefold().rstrip(".").removeprefix("www.")
    return _SAME_HOST.get(plain, plain)


def _split_path(path: str) -> tuple[str, ...]:
    """Split a path into parts, without differences that mean nothing: case, escapes, dots, `.git`."""
    plain = posixpath.normpath("/" + unquote(path)).casefold()
    return tuple(part.removesuffix(".git") for part in plain.split("/") if part)


def _is_meant(place: _Place, rule: _Place) -> bool:
    most = len(rule.parts)
    if not rule.host:  # a repository, wherever it is
        return any(place.parts[at : at + most] == rule.parts for at in range(len(place.parts)))
    is_host = place.host == rule.host or place.host.endswith(f".{rule.host}")
    return is_host and place.parts[:most] == rule.parts and (not rule.query or place.query.startswith(rule.query))
