"""Opens the services that a setting names."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from phases.references.lookup.github import GitHub
from phases.references.lookup.openalex import OpenAlex
from phases.references.lookup.papers_with_code import PapersWithCode
from phases.references.lookup.protocol import Canonical, Lookup
from phases.references.lookup.questions import Ground
from phases.references.lookup.semantic_scholar import SemanticScholar
from pipeline.base.errors import UsageError

OFF = "off"
_ON_THE_NETWORK: dict[str, Callable[..., Lookup]] = {
    GitHub.name: GitHub,
    OpenAlex.name: OpenAlex,
    SemanticScholar.name: SemanticScholar,
}
KNOWN = (*_ON_THE_NETWORK, PapersWithCode.name)


def open_lookups(
    setting: str,
    *,
    cache: str,
    canonical: Canonical,
    private: bool = False,
    servers: Mapping[str, str] = {},
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> list[Lookup]:
    """The services of a setting like "github,openalex,paperswithcode:/path/dump.json.gz", in its order; none for "" and "off".

    Nothing is asked, made or read yet: that the setting can be kept is all that is found out. Raises UsageError. `canonical`
    gives the one spelling of a repository's address, or None; `servers` has other addresses for services.
    """
    ground = Ground(cache, private, sleep, clock)
    opened: dict[str, Lookup] = {}
    for word in filter(None, map(str.strip, setting.split(","))):
        name, _, path = (part.strip() for part in word.partition(":"))
        if name == PapersWithCode.name:
            opened[name] = PapersWithCode(_dump(path), canonical)
        elif name in _ON_THE_NETWORK and not path:
            more = (servers[name].rstrip("/"),) if name in servers else ()
            opened[name] = _ON_THE_NETWORK[name](ground, canonical, *more)
        elif setting.strip() != OFF:
            raise UsageError(_unknown(name, path))
    return list(opened.values())


def _dump(path: str) -> str:
    if not path or not os.path.isfile(path):
        told = f"there is no file {path}" if path else "it needs a file"
        raise UsageError(
            f"the lookup paperswithcode: {told}; give its dump like paperswithcode:/path/links-between-papers-and-code.json.gz"
        )
    return path


def _unknown(name: str, path: str) -> str:
    if name in _ON_THE_NETWORK:
        return f"the lookup {name} takes nothing after its name, and {path[:100]!r} stands there; write {name} alone"
    near = get_close_matches(name, KNOWN, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no lookup {name[:100]!r}; {meant}known: {', '.join(KNOWN)} (paperswithcode:/path/to/its/dump), or off"
