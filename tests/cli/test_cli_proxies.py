"""A proxy as a user sets it: for papers, arXiv and lookups, in the settings file and by HTTPS_PROXY."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.references.lookup.candidates import NoServiceAnswer
from phases.references.lookup.services import open_lookups
from phases.references.values import Entry
from pipeline.base.http.proxy import find_proxy
from tests.papers import PAPER, Command
from tests.proxy import PASSWORD, proxying
from tests.web import says, serving

HEAD = ("run", "--fast", "--until", "02")


@pytest.mark.slow
def test_a_paper_at_an_address_comes_through_the_proxy(tmp_path: Path) -> None:
    pipeline = Command(tmp_path)
    with serving(says(PAPER.encode())) as server, proxying(tmp_path, upstream=server.port) as proxy:
        ended = pipeline(*HEAD, "http://8.8.8.8/paper.md", HTTPS_PROXY=proxy.url)
        assert ended.code == 0, ended.err
        assert proxy.asked == ["8.8.8.8:80"]


def test_a_paper_of_arxiv_comes_through_the_proxy_of_the_settings_file(tmp_path: Path) -> None:
    pipeline = Command(tmp_path, PIPELINE_ARXIV="http://8.8.8.8")
    with serving(says(PAPER.encode())) as server, proxying(tmp_path, "407", server.port) as proxy:
        assert pipeline("config", "proxy", proxy.with_password).code == 0
        shown = pipeline("config")
        assert f"127.0.0.1:{proxy.port}" in shown.out
        assert PASSWORD not in shown.out + shown.err
        pipeline(*HEAD, "2401.12345")
        assert proxy.asked == ["8.8.8.8:80"] * 2  # the source, and the PDF where that is none
        found = [
            path
            for path in (tmp_path / "tasks").rglob("*")
            if path.is_file() and PASSWORD.encode() in path.read_bytes()
        ]
        assert found == [], "no task remembers it"


@pytest.mark.slow
def test_a_proxy_that_refuses_ends_the_run_with_one_line_that_names_it(tmp_path: Path) -> None:
    pipeline = Command(tmp_path)
    with proxying(tmp_path, "407") as proxy:
        ended = pipeline(*HEAD, "http://8.8.8.8/paper.md", HTTPS_PROXY=proxy.url)
    assert ended.code == 1
    assert f"the proxy 127.0.0.1:{proxy.port} (HTTPS_PROXY) wants a name and password (407)" in ended.err
    assert f"export HTTPS_PROXY=http://NAME:PASSWORD@127.0.0.1:{proxy.port}" in ended.err


def test_a_paper_on_the_disk_needs_no_proxy_however_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER)
    assert Command(tmp_path)(*HEAD, "paper.md", HTTPS_PROXY="socks5://nonsense:1", PIPELINE_PROXY="ftp://x").code == 0


@pytest.mark.slow
def test_a_service_is_asked_through_the_proxy_and_a_dead_one_is_named(tmp_path: Path) -> None:
    entry = Entry(id="r1", raw="", title="Slow waiting for everyone who waits")
    servers = {"github": "http://8.8.8.8"}
    with serving(says(b'{"items": []}')) as server, proxying(tmp_path, upstream=server.port) as proxy:
        environment = {"HTTPS_PROXY": proxy.url}
        opened = open_lookups("github", cache=str(tmp_path / "a"), servers=servers, proxy=find_proxy(environment))
        assert opened[0].ask(entry) == []
        assert (proxy.asked, len(server.questions)) == (["8.8.8.8:80"], 1)
    dead = open_lookups(
        "github", cache=str(tmp_path / "b"), servers=servers, sleep=lambda s: None, proxy=find_proxy(environment)
    )
    with pytest.raises(
        NoServiceAnswer, match=rf"the proxy 127\.0\.0\.1:{proxy.port} \(HTTPS_PROXY\) cannot be reached"
    ):
        dead[0].ask(entry)
