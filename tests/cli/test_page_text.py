"""Every page that is served or written to a file shows text for people: nothing of its template, and nothing of Python."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest

from pipeline.cli.assembly import settings_from
from pipeline.cli.web.exchange import open_site
from pipeline.cli.web.server import ROUTES
from tests.papers import EXAMPLE, ROOT, Command, paper
from tests.supervised import takeover_log, write_files
from tests.web_client import Client

LEAKS = re.compile(
    r"<Macro|<(?:function|bound|class|built-in)\b|\bat 0x[0-9a-f]{6}|\{\{|\{%|\bNone\b|&(?:lt|gt|amp|#\d+);"
)
QUOTED = ("code", "pre", "style", "script", "textarea")
"""Elements whose text is quoted: a program may hold any of this."""


class Visible(HTMLParser):
    """The text of a page and of its attributes, without what it quotes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self._quoted: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in QUOTED:
            self._quoted.append(tag)
        self.words += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag in self._quoted:
            self._quoted.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self._quoted:
            self.words.append(data)


def leaks(page: str) -> list[str]:
    return [word for word in Visible(page).words if LEAKS.search(word)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task whose code is written, that was supervised and has results; and one whose plan waits."""
    folder = tmp_path_factory.mktemp("made")
    command = Command(folder)
    assert command("run", "--fast", paper(folder)).code == 3
    assert command("run", "--fast", EXAMPLE, "--review", "file", "--id", "waiting").code == 5
    results = json.loads((ROOT / "schemas" / "results.schema.json").read_text())["examples"][0]
    (command.task("paper") / "results.json").write_text(json.dumps(results))
    write_files(command.task("paper"), takeover_log().lines)
    return folder


@pytest.fixture
def client(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    own = tmp_path / "own"
    shutil.copytree(made, own, symlinks=True)
    monkeypatch.setenv("HOME", str(own / "home"))
    monkeypatch.chdir(own)
    return Client(open_site(settings_from({})))


def test_every_page_of_serve_shows_text_for_people(client: Client) -> None:
    paths = [path for method, path, _ in ROUTES if method == "GET" and not path.endswith("zip")]
    pages = [path.replace("{task}", task) for path in paths for task in ("paper", "waiting") if "{mark}" not in path]
    pages += [f"/t/paper/{page}" for page in ("trace?only=open", "log?level=ALL", "redo?phase=05")]
    pages += [f"/?said={client.site.keep_message('Stopped.')}", "/t/nothing"]
    pages += sorted(set(re.findall(r"/t/paper/file/[0-9a-f]{16}", client.get("/t/paper/files").text)))
    shown = 0
    for page in pages:
        answered = client.get(page.replace("{page:int}", "1"))
        if answered.headers["content-type"].startswith("text/html"):
            shown += 1
            assert leaks(answered.text) == [], page
    assert shown > 30


def test_every_page_that_is_one_file_shows_text_for_people(made: Path, tmp_path: Path) -> None:
    command = Command(made)
    commands = [
        ("review", "waiting"),
        ("trace", "paper"),
        ("supervisor", "paper"),
        ("results", "paper"),
        ("read", str(EXAMPLE)),
        ("batch", "paper.md", "--until", "intake", "--tasks-dir", str(tmp_path / "batch")),
    ]
    for arguments in commands:
        file = tmp_path / f"{arguments[0]}.html"
        ended = command(*arguments, "--html", str(file))
        assert file.exists(), (arguments, ended.err)
        assert leaks(file.read_text()) == [], arguments


@pytest.mark.parametrize(
    ("template", "leak"),
    [
        ("{% macro said() %}{% endmacro %}<p>{{ said }}</p>", "<Macro 'said'>"),
        ("<p>{{ value }}</p>", "None"),
        ("<p>{{ '<b>'|escape|string|forceescape }}</p>", "&lt;b&gt;"),
    ],
)
def test_a_leak_of_a_template_is_noticed(template: str, leak: str) -> None:
    page = jinja2.Environment(autoescape=True).from_string(template).render(value=None)
    assert leak in leaks(page)
