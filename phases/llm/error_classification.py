"""Classify a server's failure into one of the outcomes, with words for the user."""

from __future__ import annotations

import math
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from phases.llm.model import FATAL, MALFORMED, OVERFLOW, RATE_LIMITED, TRANSIENT, UNAVAILABLE
from phases.llm.providers import PROVIDERS
from phases.llm.redaction import redact_text
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.formats import parse_json

_TRANSIENT_STATUS = (408, 409, 425)
_DOWN_STATUS = (502, 503, 504)
_FIRST_OF_GATEWAYS = 520
"""First status of gateways: 529 of Anthropic's, and messages on a server behind them that is down."""
_LONGEST = 300
_OVERFLOW = re.compile(
    r"context.?length|context.?window|context.?size|maximum context|prompt is too long|input is too long"
    r"|context.?limit|maximum number of tokens allowed"
    r"|maximum prompt length|too many input tokens|reduce the length of the (messages|prompt|input)|request_too_large"
)
_WINDOW_TOLD = re.compile(
    r"(?:maximum context length (?:is|of) |> ?|context size \(|tokens allowed \(|context window (?:is|of) |for model with )"
    r"([0-9][0-9,]{3,9})"
)
_LENGTH_REFUSED = re.compile(r"max_(?:completion_)?tokens|(?:output|completion) tokens")
_LEAST_LIMIT = 1024
_NO_CREDIT = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low|insufficient credits")


@dataclass(frozen=True)
class Server:
    """Server facts for messages."""

    provider: str
    host: str
    model: str
    key_variable: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    proxy: str = ""
    """Proxy on the way, by host, port and origin of the setting; empty: none known."""

    def quote(self, text: str) -> str:
        """Sanitize external text for one line: redact keys, collapse, truncate."""
        line = " ".join("".join(c if c.isprintable() else " " for c in redact_text(text, self.secrets)).split())
        return line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + "…"


class ReplyError(PipelineError):
    """There is no usable reply. It never leaves the adapters: it becomes a Reply with its outcome."""

    def __init__(
        self, outcome: str, detail: str, *, wait: float | None = None, status: int = 0, said: str = ""
    ) -> None:
        super().__init__(detail)
        self.outcome, self.wait, self.status = outcome, wait, status
        self.said = said
        """The server's own words, for the adapter to look into."""


def bad_reply(server: Server, what: str) -> ReplyError:
    """Return the error for an invalid reply."""
    return ReplyError(MALFORMED, f"{server.host} sent {what}")


def classify_status(
    server: Server, status: int, headers: Mapping[str, str], body: str, *, now: datetime | None = None
) -> ReplyError:
    code, said = _parse_error_body(body)
    wait = _retry_after(headers, now or datetime.now(UTC))
    words = f"{code} {said}".lower()
    outcome, advice = _outcome_of(server, status, words)
    detail = f"{server.host} answered {status}"
    if quoted := server.quote(said):
        detail += f": {quoted}"
    if outcome == OVERFLOW:
        detail = f"the request is too long for {server.quote(server.model)} ({detail})"
    return ReplyError(
        outcome,
        detail + (f"; {advice}" if advice else ""),
        wait=wait if outcome in (RATE_LIMITED, UNAVAILABLE, TRANSIENT) else None,
        status=status,
        said=words,
    )


def window_told(error: ReplyError) -> int:
    """Return the window that a server names for an oversized request; 0 if it names none."""
    found = _WINDOW_TOLD.search(error.said) if error.outcome == OVERFLOW else None
    window = int(found[1].replace(",", "")) if found else 0
    return window if window >= _LEAST_LIMIT else 0


def length_limit(error: ReplyError, most_tokens: int) -> int:
    """Return the limit that a server names for an oversized reply; 0 if it refused for another reason."""
    # Its own words alone: in ours stands its address, and a port is a number too.
    if error.outcome != FATAL or not _LENGTH_REFUSED.search(error.said):
        return 0
    numbers = (int(number.replace(",", "")) for number in re.findall(r"\b[0-9][0-9,]{3,9}\b", error.said))
    return max((number for number in numbers if _LEAST_LIMIT <= number < most_tokens), default=0)


def classify_event(server: Server, error: object) -> ReplyError:
    code, said = _parse_error(error)
    number = re.search(r"\b[45][0-9]{2}\b", code)
    status = int(number.group()) if number else 0
    words = f"{code} {said}".lower()
    if status < 400 and ("rate_limit" in words or "rate limit" in words):
        status = 429
    outcome, advice = _outcome_of(server, status or 500, words)
    told = f"{server.host} broke off its reply: {server.quote(said or code) or 'it did not say why'}"
    return ReplyError(outcome, told + (f"; {advice}" if advice else ""), status=status, said=words)


def classify_connection_error(server: Server, error: BaseException) -> ReplyError:
    reasons = list(_walk_causes(error))
    for reason in reasons:
        if isinstance(reason, ReplyError):
            return reason
    outcome, words = TRANSIENT, f"the connection to {server.host} broke"
    for reason in reasons:
        if isinstance(reason, ssl.SSLCertVerificationError):
            why = f"its TLS certificate is refused ({server.quote(reason.verify_message)})"
            advice = f"; it comes through the proxy {server.proxy}: name its certificate: export SSL_CERT_FILE=FILE"
            look = advice if server.proxy else "; look at base_url and the clock"
            return ReplyError(FATAL, f"{server.host} cannot be trusted: {why}{look}")
        if isinstance(reason, ssl.SSLError):
            why = server.quote(str(reason))
            look = f"the proxy {server.proxy}" if server.proxy else "base_url"
            return ReplyError(FATAL, f"{server.host} does not speak TLS correctly ({why}); look at {look}")
        if isinstance(reason, socket.gaierror):
            words = f"the name {server.host} cannot be resolved (DNS); is there a network?"
        elif isinstance(reason, ConnectionRefusedError):
            advice = "is the server started?" if _is_here(server.host) else "look at base_url and HTTPS_PROXY"
            words = f"nothing listens at {server.host} (connection refused); {advice}"
            if server.proxy:
                words = f"the proxy {server.proxy} cannot be reached (connection refused)"
    names = {type(reason).__name__ for reason in reasons}
    if "ProxyError" in names:
        which = server.proxy or "on the way"
        words = f"the proxy {which} does not reach {server.host}; look at HTTPS_PROXY, NO_PROXY and the setting proxy"
    elif "ConnectTimeout" in names:
        words = f"{f'the proxy {server.proxy}' if server.proxy else server.host} did not accept the connection in time"
    elif "ReadTimeout" in names or "APITimeoutError" in names:
        words = f"{server.host} fell silent" + (f" behind the proxy {server.proxy}" if server.proxy else "")
    told = server.quote(str(reasons[-1]))
    return ReplyError(outcome, words if "(" in words or not told else f"{words} ({told})")


def _outcome_of(server: Server, status: int, words: str) -> tuple[str, str]:
    """Return the outcome of a status, and what to type next."""
    if status == 402 or _NO_CREDIT.search(words):
        return FATAL, "the account has no credit left"
    if status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(words)):
        return OVERFLOW, ""
    if status == 429:
        return RATE_LIMITED, ""
    if status in _DOWN_STATUS or status >= _FIRST_OF_GATEWAYS or (status >= 500 and "overloaded" in words):
        return UNAVAILABLE, ""
    if status in _TRANSIENT_STATUS or status >= 500:
        return TRANSIENT, ""
    if status in (401, 403):
        variable = server.key_variable
        where = f"{variable}, or {variable.lower()} in the settings file" if variable else "the setting api_key"
        unsent = "" if variable or server.provider not in PROVIDERS else PROVIDERS[server.provider].key_variable
        return FATAL, f"look at the key in {where}" + (f", or send {unsent} there with --send-key" if unsent else "")
    if status == 404:
        return FATAL, f"is '{server.quote(server.model)}' a model there? see: pipeline models"
    if status == 407:
        return (
            FATAL,
            f"the proxy {server.proxy or 'in HTTPS_PROXY'} wants a name and password, as http://NAME:PASSWORD@HOST:PORT",
        )
    if 300 <= status < 400:
        return FATAL, "it sends elsewhere, and no key goes along; set base_url to the place itself"
    return FATAL, "see: pipeline models"


def _parse_error_body(body: str) -> tuple[str, str]:
    """Return the code and message of an error's body; the body itself if it is not JSON."""
    try:
        content = parse_json(body.encode("utf-8", "replace"))
    except FormatError:
        return "", body
    if isinstance(content, dict):
        return _parse_error(content.get("error") or content)
    return "", body


def _parse_error(error: object) -> tuple[str, str]:
    if not isinstance(error, Mapping):
        return "", error if isinstance(error, str) else ""
    inner: Any = error.get("error") if isinstance(error.get("error"), Mapping) else error
    code = " ".join(str(inner[key]) for key in ("code", "type") if isinstance(inner.get(key), (str, int)))
    said = next((inner[key] for key in ("message", "detail", "error") if isinstance(inner.get(key), str)), "")
    return code, said


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the delay in seconds that the server asks for, or None without a sensible one."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        told = headers.get(name, "").strip()
        if not told:
            continue
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,9})?", told):
            seconds = float(told) / unit
            return seconds if math.isfinite(seconds) else None
        try:
            at = parsedate_to_datetime(told)
        except (ValueError, IndexError, TypeError, OverflowError):
            continue
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
    return None


def _walk_causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(12):  # a chain is short; a ring of causes must not hold us
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _is_here(host: str) -> bool:
    return host.startswith(("localhost", "127.", "[::1]"))
