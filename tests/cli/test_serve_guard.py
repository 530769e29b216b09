"""Who may ask the page, and what goes no further than its first line."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.assembly import settings_from
from pipeline.cli.web import tasks_page
from pipeline.cli.web.commands import Ended
from pipeline.cli.web.exchange import Site, open_site
from pipeline.cli.web.guard import Guard
from pipeline.cli.web.server import ROUTES
from tests.papers import ROOT, Command, paper
from tests.rows import with_covered
from tests.web_client import HOST, Client
from tests.work import must_end

WEB = ROOT / "pipeline" / "cli" / "web"
PAGES = ROOT / "phases" / "pages"
PATHS = [path for method, path, _ in ROUTES if method == "GET"]


def real(path: str) -> str:
    """An address of a route: of the task that the tests have."""
    return re.sub(r"\{page\}|\{mark\}", "1", path.replace("{task}", "paper"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one task, whose code is written."""
    made = tmp_path_factory.mktemp("served")
    command = Command(made)
    assert command("run", "--fast", paper(made)).code == 3
    return made


@pytest.fixture
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    for name in [name for name in os.environ if name.startswith(("PIPELINE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    return open_site(settings_from({}))


@pytest.fixture
def client(site: Site) -> Client:
    return Client(site)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were to be started, and were not."""
    kept: list[list[str]] = []

    def keep(words: Sequence[str]) -> Ended:
        kept.append([*words])
        return Ended(None, "")

    monkeypatch.setattr(tasks_page, "start_command", keep)
    return kept


@pytest.mark.parametrize("path", with_covered(PATHS, "/"))
def test_nothing_is_shown_without_the_key(client: Client, path: str) -> None:
    answered = client.ask("GET", real(path), cookie="none=1")
    assert answered.status == 403
    assert "pipeline serve" in answered.text
    assert "paper" not in answered.text


def test_the_key_in_the_address_becomes_a_cookie_that_no_script_and_no_other_site_gets(client: Client) -> None:
    answered = client.ask("GET", f"/?token={client.guard.token}", cookie="none=1")
    assert (answered.status, answered.headers["location"]) == (303, "/")
    name, *more = answered.headers["set-cookie"].split("; ")
    assert name.startswith("pipeline_8020=")
    assert client.guard.token not in name
    assert more == ["HttpOnly", "SameSite=Strict", "Path=/"]


def test_the_cookie_of_a_server_on_another_port_is_no_key(site: Site, client: Client) -> None:
    other = Guard(client.guard, port=9999, largest=1, token=client.guard.token)
    value = client.cookie.partition("=")[2]
    assert client.ask("GET", "/", cookie=f"{other.cookie}={value}").status == 403
    assert Client(site).ask("GET", "/", cookie=client.cookie).status == 403, "and neither is that of an earlier start"
    assert client.ask("GET", "/").status == 200


def test_a_key_cannot_be_guessed_for_long(client: Client) -> None:
    answered = [client.ask("GET", f"/?token={number}", cookie="a=b").status for number in range(25)]
    assert answered == [403] * 20 + [429] * 5


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example:8020", "localhost.evil.example", "127.0.0.2:8020", "0.0.0.0", "[::2]", "",
     "127.0.0.1:8020@evil.example", "localhost:8020:1", "evil.example#127.0.0.1"],
)  # fmt: skip
def test_a_page_that_another_name_leads_to_is_refused(client: Client, host: str) -> None:
    answered = client.ask("GET", "/", host=host or None)
    assert (answered.status, "paper" in answered.text) == (421, False)


def test_two_hosts_in_one_request_are_none(client: Client) -> None:
    assert client.ask("GET", "/", headers=[("host", "evil.example")]).status == 421


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", f"https://{HOST}", f"http://{HOST}.evil.example", "http://127.0.0.1:1"],
)
def test_a_form_of_another_page_does_nothing(client: Client, origin: str | None) -> None:
    kind = ("content-type", "application/x-www-form-urlencoded")
    body = f"key={client.site.form_key}&action=rm".encode()
    answered = client.ask("POST", "/t/paper/do", body=body, headers=[kind], origin=origin)
    assert answered.status == 403
    assert os.path.isdir("tasks/paper")


def test_a_form_without_the_key_of_this_start_does_nothing(client: Client) -> None:
    answered = client.post("/t/paper/do", key="guessed", action="rm")
    assert (answered.status, os.path.isdir("tasks/paper")) == (403, True)
    assert "load the page again" in answered.text


@pytest.mark.parametrize("path", ["/new", "/t/paper/do"])
def test_nothing_is_done_on_a_get(client: Client, path: str) -> None:
    answered = client.get(f"{path}?action=rm&key={client.site.form_key}&source=words")
    assert (answered.status, os.path.isdir("tasks/paper")) == (405, True)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_no_other_method_is_known(client: Client, method: str) -> None:
    assert client.ask(method, "/").status == 405


@pytest.mark.parametrize("path", [*PATHS, "/static/page.css", "/nowhere"])
def test_every_answer_says_what_a_browser_may_do_with_it(client: Client, path: str) -> None:
    headers = client.get(real(path)).headers
    policy = headers["content-security-policy"]
    assert policy.count("default-src 'none'") == 1
    assert "unsafe-eval" not in policy
    if "sandbox" not in policy:
        assert "unsafe-inline" not in policy
        assert "frame-ancestors 'none'" in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")


def test_the_page_in_a_frame_may_do_nothing(client: Client) -> None:
    policy = client.get("/t/paper/panes").headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "allow-" not in policy
    assert "script-src" not in policy
    assert "x-pipeline-frame" not in client.get("/t/paper/panes").headers


def test_what_is_too_large_is_refused_by_its_length_and_by_what_comes(client: Client, folder: Path) -> None:
    largest = client.site.settings.max_source_mb * 2**20
    for length in (str(2 * largest), "9" * 5000, "-1"):
        told = client.ask("POST", "/new", headers=[("content-length", length)])
        assert (told.status, "max_source_mb" in told.text) == (413, True)
    taken = asyncio.run(_send_much())
    assert taken <= 3, "pieces of 600 bytes, of which the second is too much"


async def _send_much() -> int:
    sent = 0

    async def receive() -> MutableMapping[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b"x" * 600, "more_body": True}

    async def inner(scope: Any, take: Any, send: Any) -> None:
        while (await take())["type"] != "http.disconnect":
            pass

    guarded = Guard(inner, port=1, largest=1000, token="t")
    scope = {"type": "http", "method": "POST", "path": "/static/x", "query_string": b""}
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]

    async def send(message: MutableMapping[str, Any]) -> None:
        raise AssertionError(message)

    await guarded({**scope, "headers": headers}, receive, send)
    return sent


WAYS_OUT = [
    "/t/..", "/t/../x", "/t/%2e%2e", "/t/..%2f..", "/t/paper%2f..%2fpaper", "/t/%2fetc", "/t/paper%00", "/t/.uploads",
    "/t/tasks.jsonl",
    "/t/paper/file/..%2f..%2fetc%2fpasswd", "/t/paper/file/task.json", "/t/paper/file/0", "/static/../guard.py",
    "/static/%2e%2e/guard.py", "/static/..%2fguard.py", "/t/paper/sheet/-1", "/t/paper/sheet/99999",
]  # fmt: skip


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_path_leads_out_of_the_tasks(client: Client, path: str) -> None:
    from urllib.parse import unquote

    for spelling in {path, unquote(path)}:
        answered = client.get(spelling)
        assert answered.status in (404, 405), spelling
        assert "root:" not in answered.text


def test_links_in_a_task_are_neither_listed_nor_followed(client: Client, folder: Path) -> None:
    task = folder / "tasks" / "paper"
    (folder / "secret.txt").write_text("the secret")
    (task / "link.txt").symlink_to(folder / "secret.txt")
    (task / "generate_code" / "out").symlink_to(folder)
    mark = hashlib.sha256(b"link.txt").hexdigest()[:16]
    try:
        assert "link.txt" not in client.get("/t/paper/files").text
        assert client.get(f"/t/paper/file/{mark}").status == 404
        assert b"the secret" not in client.get("/t/paper/zip").body
    finally:
        (task / "link.txt").unlink()
        (task / "generate_code" / "out").unlink()


def test_the_name_of_a_file_that_is_sent_leads_nowhere(client: Client, folder: Path, begun: list[list[str]]) -> None:
    for name in ("../../../evil.md", "..\\..\\evil.md", "/etc/evil.md", "--help.md", "a\nb.md", "🦊.md", "."):
        client.send_file(name.replace("\n", "%0A"), b"# A paper\n")
    kept = [Path(words[1]) for words in begun]
    assert len(kept) == 7
    for path in kept:
        assert path.parent.parent == folder / "tasks" / ".uploads"
        assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)
        assert not path.name.startswith((".", "-"))
        assert path.read_bytes() == b"# A paper\n"


@pytest.mark.parametrize(
    "typed", ["/etc/passwd", "file:///etc/passwd", "./paper.md", "http://localhost/x", "--help", "paper.md"]
)
def test_no_path_and_no_address_that_is_typed_is_opened(client: Client, begun: list[list[str]], typed: str) -> None:
    client.post("/new", source=typed)
    (words,) = begun
    assert words[0] == "chat", "it is taken for words"
    assert words[-2:] == ["--", typed]


def test_an_arxiv_id_that_is_typed_is_a_paper(client: Client, begun: list[list[str]]) -> None:
    client.post("/new", source="2401.12345", mode="full", max_usd="2", model="ollama:x", review="auto")
    (words,) = begun
    assert words[:3] == ["run", "arXiv:2401.12345", "--full"]
    assert {"--review=auto", "--model=ollama:x", "--max-usd=2"} < set(words)


# The templates, and what came with them


def test_no_template_marks_anything_as_safe_or_holds_a_script_or_a_style() -> None:
    for template in sorted([*(WEB / "templates").iterdir(), *(PAGES / "templates").iterdir()]):
        text = template.read_text()
        assert not re.search(
            r"\|\s*safe|autoescape|Markup|\son[a-z]+=|\sstyle=|<style|javascript:|hx-on|hx-vals", text
        ), template
        assert re.findall(r"<script(?! src=\"/static/[a-z.]+\" defer></script>)", text) == [], template
    code = "".join(path.read_text() for path in [*WEB.glob("*.py"), *PAGES.glob("*.py")])
    assert "Markup" not in code


def test_what_was_taken_from_others_is_as_its_note_says() -> None:
    note = (WEB / "static" / "LICENSE-htmx.txt").read_text()
    for name in ("htmx.min.js", "sse.min.js"):
        assert hashlib.sha256((WEB / "static" / name).read_bytes()).hexdigest() in note


def test_nothing_is_loaded_from_elsewhere() -> None:
    templates = [*(WEB / "templates").iterdir(), *(PAGES / "templates").iterdir()]
    for path in [*templates, PAGES / "page.css", WEB / "static" / "page.js"]:
        assert not re.search(r"(?:src|href|url\(|import)[=\s\"'(]*(?:https?:)?//", path.read_text()), path


# The command


def test_without_the_extra_one_line_says_what_to_type(tmp_path: Path) -> None:
    blocked = (
        "import sys; sys.modules.update(starlette=None, uvicorn=None); from pipeline.cli import main; main(['serve'])"
    )
    ended = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("pipeline: the page needs starlette, uvicorn; ")
    assert line.endswith(f"-m pip install -e '{ROOT}[web]'")


def test_the_server_answers_to_its_address_alone_and_a_signal_ends_it(folder: Path) -> None:
    with Command(folder).start("serve", "--port", "0") as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:([0-9]+)/\?token=[\w-]{40,}", address)
        assert found
        slow = [socket.create_connection(("127.0.0.1", int(found[1]))) for _ in range(50)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        with must_end(), socket.create_connection(("127.0.0.1", int(found[1])), timeout=20) as own:
            own.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"403" in own.recv(100), "while fifty others say nothing"
        for one in slow:
            one.close()
        process.terminate()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "runs go on" in err
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = Command(tmp_path)("serve", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "is taken" in ended.complaints[0]


def test_no_key_of_the_user_is_on_any_page(site: Site, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-abcdefghijklmnop1234567890"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("PIPELINE_API_KEY", key)
    own = Client(open_site(settings_from({})))
    assert key in own.site.settings._asdict().values()
    assert [path for path in PATHS if key in own.get(real(path)).body.decode("latin-1")] == []
