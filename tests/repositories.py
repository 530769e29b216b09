"""Repositories of git for tests, good and evil ones, and a server that serves them by https on this machine alone."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import ssl
import subprocess
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from phases.sandbox import git as git_in_a_box
from phases.sandbox.box import OFF, CommandResult
from phases.sandbox.git import run_git

FILE, RUNNABLE, LINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"
HOST = "code.example"
_CLEAN = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "2020-01-01T00:00:00Z"))
    },
}
Row = tuple[str, bytes, str]
"""Mode, name, and what git calls the content."""
needs_git = pytest.mark.skipif(not shutil.which("git"), reason="there is no git")


@dataclass
class Repository:
    """A bare repository, into which objects are written as they are, however evil."""

    folder: Path

    def git(self, *words: str, given: bytes = b"") -> str:
        command = ["git", f"--git-dir={self.folder}", *words]
        done = subprocess.run(command, input=given, env=_CLEAN, capture_output=True, check=True, timeout=60)
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        return self._object("blob", data)

    def tree(self, rows: Sequence[Row]) -> str:
        """A folder of exactly these rows: no name is looked at."""
        return self._object(
            "tree", b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in rows)
        )

    def commit(self, tree: str) -> str:
        """Makes a commit that the default branch is at."""
        who = "A <a@example.org> 1577836800 +0000"
        commit = self._object("commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\na commit\n".encode())
        (self.folder / "refs" / "heads" / "main").write_text(f"{commit}\n")
        return commit

    def _object(self, kind: str, data: bytes) -> str:
        """Writes an object as git does, which would cost a process for each."""
        whole = f"{kind} {len(data)}".encode() + b"\0" + data
        name = hashlib.sha1(whole).hexdigest()
        path = self.folder / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 1))
        return name

    def holds(self, files: Mapping[str, bytes], *more: Row) -> str:
        """A commit of these files, by plain paths, with more rows in the top folder."""
        return self.commit(self.tree([*self._rows(files), *more]))

    def _rows(self, files: Mapping[str, bytes]) -> list[Row]:
        folders: dict[str, dict[str, bytes]] = {}
        rows: list[Row] = []
        for path, data in sorted(files.items()):
            top, _, rest = path.partition("/")
            if rest:
                folders.setdefault(top, {})[rest] = data
            else:
                rows.append((FILE, top.encode(), self.blob(data)))
        rows += [(FOLDER, name.encode(), self.tree(self._rows(inner))) for name, inner in folders.items()]
        return sorted(rows, key=lambda row: row[1] + (b"/" if row[0] == FOLDER else b""))


def new_repository(folder: Path) -> Repository:
    """An empty one, laid out as `git init --bare` does."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n")
    return Repository(folder)


@dataclass
class CountingGit:
    """The real git in its box, with what it was asked."""

    scripts: list[str] = field(default_factory=list)

    def __call__(
        self, script: str, folder: str, *, readable: Sequence[str], seconds: float, most_bytes: int, network: bool
    ) -> CommandResult:
        self.scripts.append(script)
        return run_git(script, folder, readable=readable, seconds=seconds, most_bytes=most_bytes, network=network)


def without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git runs with the rights of this user from now on: what should not run would be seen to run."""
    monkeypatch.setattr(git_in_a_box, "git_box_kind", lambda: OFF)


@contextmanager
def without_override() -> Iterator[None]:
    """In this thread, root may read and write only what its owner may, as everybody else. Others can do no more already."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, rights):
        pytest.skip("this kernel does not tell which capabilities there are")
    before = rights[0]
    rights[0] = before & ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    libc.capset(header, rights)
    try:
        yield
    finally:
        rights[0] = before
        libc.capset(header, rights)


@dataclass(frozen=True)
class Certificates:
    """A certificate for HOST and this machine, and the authority behind it, which only the tests trust."""

    server: ssl.SSLContext
    client: ssl.SSLContext
    ca_file: str


def certificates(folder: Path) -> Certificates:
    """Makes new ones. Skips where there is no openssl."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make certificates with")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=Tests", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", f"/CN={HOST}", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:{HOST},IP:127.0.0.1\n", encoding="utf-8")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    ca_file = str(folder / "ca.pem")
    return Certificates(server, ssl.create_default_context(cafile=ca_file), ca_file)


@dataclass
class GitServer:
    """A server of repositories that runs."""

    port: int
    asked: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def base(self) -> str:
        return f"https://{HOST}:{self.port}"


@contextmanager
def serving_repositories(
    root: Path, context: ssl.SSLContext, answers: Mapping[str, tuple[int, str]] | None = None
) -> Iterator[GitServer]:
    """Serves what is below `root`. What begins with a key of `answers` gets this status and Location instead; with status
    0 no answer at all. A key is a path, `POST /path`, or `2. /path` for the second question that is asked."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    server = GitServer(listener.server_address[1])
    listener.root, listener.answers, listener.told = root, dict(answers or {}), server  # type: ignore[attr-defined]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        listener.shutdown()
        listener.server_close()
        thread.join(timeout=20)


class _Handler(BaseHTTPRequestHandler):
    """Git's own backend, asked as a web server would."""

    def handle(self) -> None:
        with suppress(OSError):
            super().handle()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - the library calls it so
        """Says nothing."""

    def _answer(self) -> None:
        told: GitServer = self.server.told  # type: ignore[attr-defined]
        told.asked.append(f"{self.command} {self.path}")
        for start, (status, location) in self.server.answers.items():  # type: ignore[attr-defined]
            asked = (self.path, f"{self.command} {self.path}", f"{len(told.asked)}. {self.path}")
            if any(name.startswith(start) for name in asked):
                if not status:
                    told.over.wait(60)
                    return
                self._says(status, {"Location": location} if location else {}, b"")
                return
        path, _, query = self.path.partition("?")
        names = ("Content-Type", "Content-Encoding", "Git-Protocol", "Content-Length")
        given = {f"HTTP_{name.upper().replace('-', '_')}": self.headers.get(name, "") for name in names}
        environment = {
            **_CLEAN, **given, "GIT_PROJECT_ROOT": str(self.server.root), "GIT_HTTP_EXPORT_ALL": "1",  # type: ignore[attr-defined]
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": given["HTTP_CONTENT_TYPE"], "GIT_PROTOCOL": given["HTTP_GIT_PROTOCOL"],
        }  # fmt: skip
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        command = ["git", "-c", "safe.directory=*", "-c", "uploadpack.allowFilter=true", "http-backend"]
        done = subprocess.run(command, input=body, env=environment, capture_output=True, timeout=60, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
        self._says(int(headers.pop("Status", "200").split()[0]), headers, content)

    def _says(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
