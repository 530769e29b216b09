"""The rules that the streams of both wire formats share: what one is, how it ends, and what a check makes of a listing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from phases.agent.model import EMPTY, TRANSIENT, Check, Reply
from phases.agent.models.connection import MOST_BYTES, faults_named
from phases.agent.models.drafts import Draft
from phases.agent.models.events import Event, read_events
from phases.agent.models.verdicts import ReplyError, Server, malformed
from pipeline.errors import FormatError
from pipeline.formats import parse_json

_UNREACHABLE = (0, 401, 402, 403, 407)


def pieces_of(sdk: Any, server: Server, response: Any) -> Iterator[bytes]:
    """The bytes of a response's body. Raises ReplyError for a page of a website, and for a body without a byte.

    Faults are named in here, not around whoever reads: an error of the reader's own is none of the server's.
    """
    kind = str(response.headers.get("content-type", "")).lower()
    if "text/html" in kind:
        raise malformed(server, "a page of a website instead of a reply; look at base_url (it often ends in /v1)")
    size = 0
    with faults_named(sdk, server):
        for piece in response.iter_bytes():
            size += len(piece)
            if size > MOST_BYTES:  # counted unpacked
                raise malformed(server, "a reply without an end")
            yield piece
    if not size:
        raise ReplyError(EMPTY, f"{server.host} sent a reply with nothing in it")


def events_of(server: Server, pieces: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream. Raises ReplyError where it is none."""
    try:
        yield from read_events(pieces)
    except FormatError as error:
        raise malformed(server, server.quote(str(error))) from error


def cut_off(server: Server) -> ReplyError:
    """A stream that is over before its end mark."""
    return ReplyError(TRANSIENT, f"{server.host} ended its reply in the middle")


def good_end(server: Server, draft: Draft, finish: str | None, ends: Mapping[str, str], *, calling: str) -> Reply:
    """The reply of a stream that reached its end mark, by the reason that it gave for ending."""
    if finish is None:
        raise malformed(server, "a reply without a reason for its end")
    if finish not in ends:
        raise malformed(server, f"a reply that ended for a reason that is not known ({server.quote(finish)})")
    reply = draft.whole(ends[finish], finish)
    if finish == calling and reply.outcome not in ("refused", "empty") and not reply.calls:
        raise malformed(server, "a reply that calls tools, without a call")
    return reply


def check_of(server: Server, error: ReplyError | None, listing: bytes) -> Check:
    """Whether a server that was asked for its models can be asked for more."""
    if error is not None:
        refused = error.status in _UNREACHABLE or error.status >= 500
        if refused or error.status in range(300, 400):
            return Check(False, str(error))
        return Check(True, f"{server.host} answers (it lists no models)")
    names = _names(listing)
    if names is None:
        return Check(
            False, f"{server.host} answers, but not as a model's server does; look at base_url (it often ends in /v1)"
        )
    if not names or server.model in names or f"{server.model}:latest" in names:
        return Check(True, f"{server.host} answers")
    near = get_close_matches(server.model, names, n=1)
    meant = f"; did you mean '{server.quote(near[0])}'?" if near else ""
    return Check(True, f"{server.host} answers; it does not list '{server.quote(server.model)}'{meant}")


def _names(listing: bytes) -> list[str] | None:
    try:
        content = parse_json(listing)
    except FormatError:
        return None
    rows = content.get("data") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        return None
    return [row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]
