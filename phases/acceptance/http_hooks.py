"""Notifies a server on this machine that a hook point was reached: of what happened, never of what was said or printed.

The connection goes to a loopback address by number: no name is looked up, no proxy is asked, no redirect is followed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from phases.acceptance.commands.sanitize import strip_control
from phases.acceptance.configuration.validation import METHODS, why_bad_header, why_bad_url
from phases.acceptance.hook import FAILED, HTTP, PASS, Hook, HookResult
from phases.acceptance.payload import RunFacts, payload_bytes
from pipeline.base.http.addresses import Target
from pipeline.base.http.connection import ClientOptions, open_response

if TYPE_CHECKING:
    import ssl

_LOCALHOST = ("127.0.0.1", "::1")
_MOST_READ, _MOST_TOLD, _PIECE = 64 * 1024, 512, 16 * 1024
_AS_IT_IS = "/%:@!$&'()*+,;=~"
_FIELDS = (
    "hook_event_name", "turn_id", "cwd", "model", "stop_hook_active", "workspace", "todo_summary", "recent_tools", "tool_name",
    "tool_use_id", "source", "reason", "detail", "agent_id", "agent_type", "state",
)  # fmt: skip
"""Of what other hooks are given. Any user of this machine may listen at a port: no arguments, no answers, no message."""


def send_observation(
    hook: Hook, run: RunFacts, given: Mapping[str, Any], at: str, *, ssl_context: ssl.SSLContext | None = None
) -> HookResult:
    """Whether the server took it. All of it is over within `hook.seconds`; whatever goes wrong is a failed hook."""
    started = time.monotonic()
    try:
        target = _parse_target(hook.params)
        request = _build_request(target, hook.params, _build_body(hook, run, given, at))
    except _NotSent as error:
        return HookResult(FAILED, f"hook {hook.key}: {error}")
    shown = f"{target.scheme}://{_host_of(target)}{target.path.partition('?')[0]}"[:200]  # a query may hold a secret
    # A silent server may use all of the hook's time, and no more.
    options = ClientOptions(
        started + hook.seconds, math.inf, _resolve_loopback,
        private=True, ssl_context=ssl_context, longest_silence=math.inf,
    )  # fmt: skip
    try:
        status, text = _send_request(target, request, options)
    except TimeoutError:
        reason = f"hook {hook.key}: {shown} gave no whole answer within {hook.seconds:g} s"
        result = HookResult(FAILED, reason, timed_out=True)
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        why = " ".join(strip_control(why, _MOST_TOLD).split())
        result = HookResult(FAILED, f"hook {hook.key}: {shown} cannot be asked: {why}")
    else:
        fault = "a redirect is not followed" if 300 <= status < 400 else "that is no success"
        reason = f"hook {hook.key}: {shown} answered {status}; {fault}" + (f": {text}" if text else "")
        result = HookResult(PASS) if 200 <= status < 300 else HookResult(FAILED, reason)
    return result._replace(seconds=round(time.monotonic() - started, 3))


class _NotSent(Exception):
    """Why it is not even tried."""


def _parse_target(params: Mapping[str, Any]) -> Target:
    url = str(params.get("url", ""))
    if why_bad_url(url):  # whose words show the whole URL: there may be a secret in it
        raise _NotSent("its url is not http://HOST:PORT/PATH or https://… with the HOST localhost, 127.0.0.1 or [::1]")
    parts = urlsplit(url)
    port = {"http": 80, "https": 443}[parts.scheme] if parts.port is None else parts.port
    path = quote(parts.path or "/", safe=_AS_IT_IS, errors="replace")
    query = "?" + quote(parts.query, safe=_AS_IT_IS + "?", errors="replace") if parts.query else ""
    return Target(parts.scheme, parts.hostname or "", port, path + query)


def _host_of(target: Target) -> str:
    return f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"


def _resolve_loopback(host: str, _: int) -> tuple[str, ...]:
    return _LOCALHOST if host == "localhost" else (host,)


def _build_body(hook: Hook, run: RunFacts, given: Mapping[str, Any], at: str) -> bytes:
    body: dict[str, Any] = {
        "hook_id": hook.id,
        "point": hook.point,
        "scope": hook.source,
        "kind": HTTP,
        "mode": "observe",
        "run_id": run.run_id,
        "session_id": run.session_id,
        "triggered_at": at,
    }
    if hook.params.get("include_metadata") is True:
        body["metadata"] = {name: given[name] for name in _FIELDS if name in given}
    return payload_bytes(body)


def _build_request(target: Target, params: Mapping[str, Any], body: bytes) -> bytes:
    method = str(params.get("method") or "POST").upper()
    if method not in METHODS:
        raise _NotSent(f"its method is none of {', '.join(METHODS)}")
    headers = {"host": _host_of(target), "content-type": "application/json", "accept-encoding": "identity"}
    for name, value in (params.get("headers") or {}).items():
        if why_bad_header(str(name), str(value)):
            raise _NotSent(f"its header {strip_control(str(name), 80)!r} cannot be sent")
        headers[str(name).lower()] = str(value).strip()
    headers |= {"content-length": str(len(body)), "connection": "close"}
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _send_request(target: Target, request: bytes, options: ClientOptions) -> tuple[int, str]:
    """The status, and where it is no success the beginning of what the server said."""
    with open_response(target, options, request) as response:
        start, count = b"", 0
        while count < _MOST_READ and (piece := response.read1(min(_PIECE, _MOST_READ - count))):
            start, count = (start + piece)[:_MOST_TOLD], count + len(piece)
        return response.status, "" if response.status < 300 else strip_control(start, 2 * _MOST_TOLD).strip()
