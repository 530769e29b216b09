"""Guard the pages: refuse requests without the key or over the limits, and add security headers to answers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
FRAME_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'self'; "
    "base-uri 'none'"
)
"""Policy of a page in a frame without an origin: it runs nothing and reaches nothing."""
FRAME_MARK = b"x-pipeline-frame"
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    # not no-referrer: with that a browser says Origin: null with our own forms
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
_BODY_SECONDS = 20.0
"""Time limit of a client that sends nothing."""
_GUESSES, _GUESS_SECONDS = 20, 60.0
_MOST_HEADERS = 100


class Guard:
    """Filter that passes the requests of this user's browser. `largest` is the largest body, in bytes."""

    def __init__(self, inner: AsgiApp, *, port: int, largest: int, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(32)
        # the name carries the port: two servers on one machine must not take each other's cookies away
        self.cookie = f"pipeline_{port}"
        self._inner, self._largest = inner, largest
        self._value = hmac.new(self.token.encode(), b"cookie", hashlib.sha256).hexdigest()
        self._wrong: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        if refused := self._refuse(scope):
            await _answer(send, *refused)
        elif token := self._token_in(scope):
            await self._log_in(scope, send, token)
        elif scope["path"].startswith("/static/") or self._is_known(scope):
            await self._inner(scope, self._bounded(receive), _with_headers(send))
        else:
            await _answer(send, 403, "Open the address that `pipeline serve` printed: it holds the key to this page.")

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request is refused unseen, or None."""
        host = _header(scope, b"host")
        if not _HOST.fullmatch(host) or len(scope["headers"]) > _MOST_HEADERS:
            return 421, "This page answers to 127.0.0.1 and localhost alone."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "This page takes GET and POST."
        if scope["method"] == "POST" and _header(scope, b"origin") != f"http://{host}":
            return 403, "This came from another page, and so nothing was done."
        length = _header(scope, b"content-length")
        if length and (not re.fullmatch("[0-9]{1,12}", length) or int(length) > self._largest):
            return 413, f"That is too large: at most {self._largest >> 20} MB are taken (the setting max_source_mb)."
        return None

    def _token_in(self, scope: Scope) -> str:
        asked = parse_qs(scope["query_string"].decode("latin-1")) if scope["path"] == "/" else {}
        return asked.get("token", [""])[0] if scope["method"] == "GET" else ""

    async def _log_in(self, scope: Scope, send: Send, token: str) -> None:
        now = time.monotonic()
        self._wrong = [at for at in self._wrong if now - at < _GUESS_SECONDS]
        if len(self._wrong) >= _GUESSES:
            await _answer(send, 429, "Too many wrong keys; wait a minute.")
        elif hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            cookie = f"{self.cookie}={self._value}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
        else:
            self._wrong.append(now)
            await _answer(
                send, 403, "That is not the key of this page: open the address that `pipeline serve` printed."
            )

    def _is_known(self, scope: Scope) -> bool:
        try:
            found = SimpleCookie(_header(scope, b"cookie")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._value.encode())

    def _bounded(self, receive: Receive) -> Receive:
        """Give no more of a body than may come, and leave a client that sends none of it."""
        taken, ended = 0, False

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal taken, ended
            if ended:
                return await receive()  # the word that the client has gone: who streams waits for it
            try:
                message = await asyncio.wait_for(receive(), _BODY_SECONDS)
            except TimeoutError:
                return {"type": "http.disconnect"}
            taken += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            return {"type": "http.disconnect"} if taken > self._largest else message

        return bounded


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name, value) for name, value in message["headers"] if name != FRAME_MARK]
            is_frame = len(own) < len(message["headers"])
            message = {**message, "headers": [*own, *_safe_headers(own, FRAME_POLICY if is_frame else POLICY)]}
        await send(message)

    return send_with_headers


def _safe_headers(own: Iterable[tuple[bytes, bytes]], policy: str) -> list[tuple[bytes, bytes]]:
    kept = [] if any(name == b"cache-control" for name, _ in own) else [(b"cache-control", b"no-store")]
    return [*_HEADERS, *kept, (b"content-security-policy", policy.encode())]


async def _answer(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *_safe_headers(own, POLICY)]})
    await send({"type": "http.response.body", "body": text.encode() + b"\n" * bool(text)})


def _header(scope: Scope, name: bytes) -> str:
    """Return the header if there is exactly one of that name; else an empty string."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""
