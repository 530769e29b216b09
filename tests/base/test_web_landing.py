"""Where a repository really is: redirects walked and checked by us, so that git connects to an address that was checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pipeline.base.errors import PipelineError
from pipeline.base.http.addresses import Forbidden
from pipeline.base.http.fetch import DownloadError, DownloadLimits
from pipeline.base.http.git_remote import GitRemote, resolve_remote
from tests.papers import HANGS
from tests.repositories import HOST, Certificates, certificates
from tests.web import Script, floods, head, redirects, says, serving

LIMITS = DownloadLimits(bytes=0, seconds=HANGS, seconds_to_connect=10)
KIND = "Content-Type: application/x-git-upload-pack-advertisement"
ANSWER = says(b"001e# service=git-upload-pack\n", KIND)
Resolve = Callable[[str, int], Sequence[str]]


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


def here(host: str, port: int) -> list[str]:
    """A resolver for which every name is this machine; an address is itself."""
    return [host] if host[0].isdigit() else ["127.0.0.1"]


def land(url: str, certified: Certificates, *, resolve: Resolve = here, limits: DownloadLimits = LIMITS) -> GitRemote:
    nap = lambda seconds: None  # noqa: E731
    return resolve_remote(url, limits, resolve=resolve, private=True, sleep=nap, ssl_context=certified.client)


def fails(url: str, certified: Certificates, *words: str, resolve: Resolve = here) -> None:
    with pytest.raises(PipelineError) as caught:
        land(url, certified, resolve=resolve)
    assert isinstance(caught.value, (DownloadError, Forbidden))
    message = str(caught.value)
    assert message.isprintable()
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


def test_a_repository_that_answers_is_told_with_its_checked_addresses(certified: Certificates) -> None:
    with serving(ANSWER, context=certified.server) as server:
        found = land(f"https://{HOST}:{server.port}/a/b/", certified)
    assert found == GitRemote(f"https://{HOST}:{server.port}/a/b", HOST, server.port, ("127.0.0.1",))
    assert server.questions[0].startswith("GET /a/b/info/refs?service=git-upload-pack HTTP/1.1\r\n")


def test_redirects_are_followed_to_where_the_repository_is_now(certified: Certificates) -> None:
    with serving(redirects("/new/name/info/refs?service=git-upload-pack"), ANSWER, context=certified.server) as server:
        found = land(f"https://{HOST}:{server.port}/a/b", certified)
    assert found.url == f"https://{HOST}:{server.port}/new/name"


def test_the_body_is_never_read(certified: Certificates) -> None:
    with serving(floods(head(KIND), b"0" * 65536), context=certified.server) as server:
        assert land(f"https://{HOST}:{server.port}/a/b", certified).host == HOST


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (says(status="404 Not Found"), "it is not there (404); check the address"),
        (says(status="401 Unauthorized"), "it is private, or not there (401); check the address, or clone it by hand"),
        (says(status="403 Forbidden"), "the server refuses it to programs (403); clone it by hand"),
        (says(status="451 No"), "the server may not give it (451)"),
        (says(status="500 Oh"), "the server has an internal error (500); try again later, or clone it by hand"),
        (says(b"<html>", "Content-Type: text/html"), "there is no repository of git there"),
        (says(b"001e# service=git-upload-pack\n"), "there is no repository of git there"),
        (redirects("https://169.254.169.254/a/info/refs?service=git-upload-pack"), "where clouds keep their keys"),
        (redirects("http://code.example:8080/a/b"), "redirects from https to http"),
        (redirects("file:///etc/passwd"), "file: is not fetched"),
        (redirects("ext::sh -c x"), "ext: is not fetched"),
        (redirects("https://user:word@code.example/"), "a name or password stands before the host"),
        (redirects("/a/b/info/refs?service=git-upload-pack"), "more than 10 redirects"),
    ],
    ids=[
        "dead", "private", "forbidden", "taken away", "in trouble", "a page", "of no kind", "to the cloud's keys", "to http",
        "to a file", "to a command", "with a password", "in a circle",
    ],
)  # fmt: skip
def test_an_answer_that_is_no_repository_is_told_in_words(script: Script, words: str, certified: Certificates) -> None:
    with serving(script, context=certified.server) as server:
        fails(f"https://{HOST}:{server.port}/a/b", certified, f"cannot reach https://{HOST}:{server.port}/a/b", words)


def test_a_redirect_to_a_page_is_no_repository(certified: Certificates) -> None:
    with serving(redirects("/login"), ANSWER, context=certified.server) as server:
        fails(f"https://{HOST}:{server.port}/a/b", certified, "redirects to an address that is not a repository's")


def test_trouble_that_passes_is_waited_for(certified: Certificates) -> None:
    with serving(says(status="503 Soon"), ANSWER, context=certified.server) as server:
        assert land(f"https://{HOST}:{server.port}/a/b", certified).host == HOST


def test_a_name_that_leads_inside_is_refused_where_the_inside_is_not_permitted(certified: Certificates) -> None:
    with serving(ANSWER, context=certified.server) as server:
        with pytest.raises(DownloadError, match=r"leads to 127\.0\.0\.1, which is a loopback address"):
            resolve_remote(f"https://{HOST}/a/b", LIMITS, resolve=here, ssl_context=certified.client)
        assert server.connections == 0


def test_a_name_that_changes_its_mind_is_refused_or_pinned_to_what_was_checked(certified: Certificates) -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    with serving(ANSWER, context=certified.server) as server:
        found = land(f"https://{HOST}:{server.port}/a/b", certified, resolve=lambda host, port: next(answers))
    assert found.addresses == ("127.0.0.1",)
    with serving(ANSWER, context=certified.server) as server:
        url = f"https://{HOST}:{server.port}/a/b"
        fails(url, certified, "where clouds keep their keys", resolve=lambda *of: ["127.0.0.1", "169.254.169.254"])
        assert server.connections == 0


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://code.example/a/b", "repositories are fetched over https:// only"),
        ("ssh://code.example/a/b", "ssh: is not fetched"),
        ("ext::sh -c x", "a URL has no blanks"),
        ("--upload-pack=x", "it is not a URL"),
        ("https://code.example/a/b?x=1", "has no question mark"),
        ("https://me:word@code.example/a/b", "a name or password"),
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_asked(
    url: str, words: str, certified: Certificates
) -> None:
    def never(host: str, port: int) -> list[str]:
        raise OSError(f"{host} was looked up")

    fails(url, certified, words, resolve=never)


def test_a_certificate_that_nobody_vouches_for_is_refused(certified: Certificates, tmp_path: Path) -> None:
    with serving(ANSWER, context=certified.server) as server:
        url = f"https://{HOST}:{server.port}/a/b"
        with pytest.raises(DownloadError, match="certificate is not valid"):
            resolve_remote(url, LIMITS, resolve=here, private=True)
        assert server.questions == []
