"""The services that a setting names: opened, and asked which repositories belong to references."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from phases.references.lookup.catalogues import OPENALEX, SEMANTIC_SCHOLAR, CatalogueLookup
from phases.references.lookup.client import ClientSettings
from phases.references.lookup.github import GitHub
from phases.references.lookup.service import Lookup, NoServiceAnswer
from phases.references.values import Candidate, Entry
from pipeline.base.errors import UsageError
from pipeline.base.http.proxy import Proxy
from pipeline.base.logs import logger

OFF = "off"
_SERVICES: dict[str, Callable[..., Lookup]] = {
    GitHub.name: GitHub,
    OPENALEX.name: partial(CatalogueLookup, OPENALEX),
    SEMANTIC_SCHOLAR.name: partial(CatalogueLookup, SEMANTIC_SCHOLAR),
}


def open_lookups(
    setting: str,
    *,
    cache: str,
    private: bool = False,
    servers: Mapping[str, str] = {},
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    blacklist: str = "",
    proxy: Proxy | None = None,
) -> list[Lookup]:
    """The services of a setting like "github,openalex", in its order; none for "" and "off".

    Nothing is asked, made or read yet: that the setting can be kept is all that is found out. `servers` has
    other addresses for services. Raises UsageError.
    """
    ground = ClientSettings(cache, private, sleep, clock, blacklist, proxy)
    opened: dict[str, Lookup] = {}
    for name in filter(None, map(str.strip, setting.split(","))):
        if name in _SERVICES:
            more = (servers[name].rstrip("/"),) if name in servers else ()
            opened[name] = _SERVICES[name](ground, *more)
        elif setting.strip() != OFF:
            near = get_close_matches(name, _SERVICES, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"there is no lookup {name[:100]!r}; {meant}known: {', '.join(_SERVICES)}, or off")
    return list(opened.values())


_MOST_FAILURES = 2


def look_up(
    entries: Sequence[Entry], lookups: Sequence[Lookup], *, most: int = 40
) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """What the services say, and a row for each of them: service, asked, found, and why in words where something failed.

    Asked are the first `most` entries that can be asked for, in their order, so the likeliest should come first: those
    that link no repository themselves, and have a title or a number. A service that fails twice in a row is not asked
    again.
    """
    open_ones = [e for e in entries if not e.repositories and (e.title or e.doi or e.arxiv)]
    candidates, rows = [], []
    for lookup in lookups:
        found, row = _ask_service(lookup, open_ones[:most])
        if len(open_ones) > most:
            row["why"] = "; ".join(
                filter(None, [row["why"], f"only the first {most} of {len(open_ones)} were to be asked"])
            )
        logger.info("{}: asked {}, found {} {}", row["service"], row["asked"], row["found"], row["why"])
        for candidate in found:
            logger.debug("{} for {}: {} ({})", candidate.url, candidate.reference, candidate.confidence, candidate.why)
        candidates += found
        rows.append(row)
    return candidates, rows


def _ask_service(lookup: Lookup, entries: Sequence[Entry]) -> tuple[list[Candidate], dict[str, Any]]:
    """One service. `asked` counts the questions that it was asked, those without an answer among them."""
    found: list[Candidate] = []
    failed, in_a_row, asked, why = 0, 0, 0, ""
    for entry in entries:
        asked += 1
        try:
            found += lookup.ask(entry)
            in_a_row = 0
        except NoServiceAnswer as error:
            failed, in_a_row, why = failed + 1, in_a_row + 1, str(error)
            if in_a_row == _MOST_FAILURES:
                break
    if failed:
        left = len(entries) - asked
        why = f"{failed} of {asked} questions had no answer; the last: {why}"
        why += f"; {left} more were not asked" if left else ""
    return found, {"service": lookup.name, "asked": asked, "found": len(found), "why": why}
