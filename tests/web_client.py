"""Asks the pages without a browser: one request, as the server hands it to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from pipeline.cli.web.exchange import Site
from pipeline.cli.web.server import build_app

PORT = 8020
HOST = f"127.0.0.1:{PORT}"
Header = tuple[str, str]


@dataclass(frozen=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """A browser that knows the key, as far as a test does not say otherwise."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.guard = build_app(site, PORT)
        self.cookie = self.ask("GET", f"/?token={self.guard.token}", cookie="").headers["set-cookie"].partition(";")[0]

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Sequence[bytes] = b"",
        headers: Iterable[Header] = (),
        host: str | None = HOST,
        origin: str | None = f"http://{HOST}",
        cookie: str | None = None,
    ) -> Answered:
        own = [("host", host), ("cookie", self.cookie if cookie is None else cookie)]
        own += [("origin", origin)] if method == "POST" else []
        sent = [*((name, value) for name, value in own if value), *headers]
        pieces = [body] if isinstance(body, bytes) else list(body)
        return asyncio.run(self._ask(method, path, sent, pieces))

    def get(self, path: str) -> Answered:
        return self.ask("GET", path)

    def post(self, path: str, **form: str) -> Answered:
        kind = ("content-type", "application/x-www-form-urlencoded")
        names = {name.replace("__", "."): value for name, value in {"key": self.site.form_key, **form}.items()}
        return self.ask("POST", path, body=urlencode(names).encode(), headers=[kind])

    def send_file(self, name: str, data: bytes, **form: str) -> Answered:
        return self.send_files({name: data}, **form)

    def send_files(self, files: Mapping[str, bytes], **form: str) -> Answered:
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in {"key": self.site.form_key, **form}.items()
        ]
        for name, data in files.items():
            head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            parts.append(head.encode() + data + b"\r\n")
        body = b"".join([*parts, b"--x--\r\n"])
        return self.ask("POST", "/new", body=body, headers=[("content-type", "multipart/form-data; boundary=x")])

    async def _ask(self, method: str, path: str, headers: Sequence[Header], pieces: list[bytes]) -> Answered:
        raw, _, query = path.partition("?")
        scope: MutableMapping[str, Any] = {
            "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": raw, "raw_path": raw.encode(),
            "query_string": query.encode(), "root_path": "", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        }  # fmt: skip
        answered: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            if not pieces:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message: MutableMapping[str, Any]) -> None:
            answered.append(message)

        await self.guard(scope, receive, send)
        start, *rest = answered
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Answered(start["status"], found, b"".join(one.get("body", b"") for one in rest))


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())
