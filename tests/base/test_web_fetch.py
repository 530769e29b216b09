"""Downloads from servers that lie, dawdle, flood and mislead: a whole file under its name, or none, and one line of why."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.base.errors import Interrupted, StorageError
from pipeline.base.http import connection
from pipeline.base.http.addresses import LONGEST_URL, Forbidden, permit_addresses, printable_url, target_of, why_refused
from pipeline.base.http.fetch import DownloadError, DownloadLimits, Fetched, fetch_url
from tests.rows import with_covered
from tests.strategies import QUICK
from tests.web import Script, Server, floods, head, redirects, resets, says, sends, serving
from tests.work import must_end

PAPER = b"%PDF-1.7 " + bytes(range(256)) * 100
LIMITS = DownloadLimits(bytes=1_000_000, seconds=10, seconds_to_connect=5)
SHORT = DownloadLimits(bytes=1_000_000, seconds=0.4, seconds_to_connect=5)


@dataclass
class Ground:
    """A folder to download into, and the pauses that were made."""

    folder: Path
    pauses: list[float] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "paper.pdf"

    def fetch(self, url: str, limits: DownloadLimits = LIMITS, **options: object) -> Fetched:
        given = {"private": True, "sleep": self.pauses.append, **options}
        return fetch_url(url, str(self.file), limits, **given)  # type: ignore[arg-type]

    def fails(self, url: str, *words: str, limits: DownloadLimits = LIMITS, **options: object) -> DownloadError:
        """It fails with one line that holds these words, and leaves nothing."""
        with pytest.raises(DownloadError) as caught:
            self.fetch(url, limits, **options)
        message = str(caught.value)
        for word in words:
            assert word in message, f"{word!r} is not in: {message}"
        assert message.isprintable(), f"more than a line, or control characters: {message!r}"
        assert os.listdir(self.folder) == [], "something is left behind"
        return caught.value


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "downloads").mkdir()
    return Ground(tmp_path / "downloads")


# What may be connected to

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "151.101.3.42",
    "2606:4700::1111",
    "2a04:4e42::810",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]
SPECIAL = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.9", "192.0.0.192",
    "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "::2", "::7f00:1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b::a00:1", "64:ff9b:1::808:808", "100::1",
    "2001::1", "2001:0:7f00:1::", "2001:db8::1", "2001:10::1", "2001:20::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1",
    "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1",
    "ff0e::1", "2606:4700::1111%eth0",
]  # fmt: skip
NO_ADDRESSES = [
    "",
    " ",
    "127.1",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "2130706433",
    "８.8.8.8",
    "8.8.8.8 ",
    "example.org",
    "[::1]",
    "8.8.8.8\n",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_permitted(address: str) -> None:
    assert why_refused(address) is None


@pytest.mark.parametrize("address", SPECIAL)
def test_a_special_address_is_refused(address: str) -> None:
    assert why_refused(address), f"{address} would be connected to"


@pytest.mark.parametrize("address", NO_ADDRESSES, ids=repr)
def test_what_is_no_plain_address_is_refused(address: str) -> None:
    assert why_refused(address) == "no address"
    assert why_refused(address, private=True) == "no address"


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.7", "172.20.0.1", "100.64.0.9", "fd12::1"]
)
def test_an_intranet_is_permitted_where_that_is_set(address: str) -> None:
    assert why_refused(address, private=True) is None


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "::ffff:169.254.169.254",
     "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "0.0.0.0", "224.0.0.1", "255.255.255.255", "ff02::1", "fe80::1"],
)  # fmt: skip
def test_metadata_services_and_the_like_are_refused_in_an_intranet_too(address: str) -> None:
    assert why_refused(address, private=True)


@QUICK
@given(address=st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_is_permitted_is_global_by_the_librarys_word_too(address: IPv4Address | IPv6Address) -> None:
    if why_refused(str(address)) is None:
        assert getattr(address, "ipv4_mapped", None) or address.is_global


@QUICK
@given(text=st.text())
@example("1" * 5000)
@example("::%\x00")
def test_no_text_breaks_the_check_of_an_address(text: str) -> None:
    assert why_refused(text) is None or why_refused(text)


def test_one_refused_address_refuses_the_host() -> None:
    with pytest.raises(Forbidden, match=r"mixed.example leads to 10.0.0.1, which is a private address"):
        permit_addresses("mixed.example", ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(Forbidden, match="has no address"):
        permit_addresses("empty.example", [])
    assert permit_addresses("good.example", ["2606:4700:0:0::1111", "8.8.8.8", "8.8.8.8"]) == (
        "2606:4700::1111",
        "8.8.8.8",
    )


# What is a URL

TARGETS = [
    pytest.param("https://arxiv.org/pdf/1", ("https", "arxiv.org", 443, "/pdf/1"), id="a plain one"),
    pytest.param("HTTPS://ArXiv.ORG/PDF", ("https", "arxiv.org", 443, "/PDF"), id="capitals"),
    pytest.param("http://a.example:8080", ("http", "a.example", 8080, "/"), id="a port, no path"),
    pytest.param("https://a.example?q=1", ("https", "a.example", 443, "/?q=1"), id="a query, no path"),
    pytest.param("https://a.example/a?b#c", ("https", "a.example", 443, "/a?b"), id="a fragment"),
    pytest.param("https://a.example./x", ("https", "a.example", 443, "/x"), id="a dot at the end of the host"),
    pytest.param("https://a.example/%7Ex%2f", ("https", "a.example", 443, "/%7Ex%2f"), id="percent signs"),
    pytest.param("https://a.example/ü/数", ("https", "a.example", 443, "/%C3%BC/%E6%95%B0"), id="a path with letters"),
    pytest.param("https://bücher.example/", ("https", "xn--bcher-kva.example", 443, "/"), id="a host with letters"),
    pytest.param("https://[2606:4700:0::1111]:8443/", ("https", "2606:4700::1111", 8443, "/"), id="IPv6"),
    pytest.param("http://169.254.169.254#@good.example/", ("http", "169.254.169.254", 80, "/"), id="# before the host"),
    pytest.param(
        "http://127.0.0.1?@good.example/", ("http", "127.0.0.1", 80, "/?@good.example/"), id="? before the host"
    ),
    pytest.param("http://①②⑦.⓪.⓪.①/", ("http", "127.0.0.1", 80, "/"), id="circled digits"),
    pytest.param("http://127。0。0。1/", ("http", "127.0.0.1", 80, "/"), id="dots of another alphabet"),
    pytest.param("http://0x7f.1/", ("http", "0x7f.1", 80, "/"), id="hexadecimal, for the resolver to say"),
]
NO_TARGETS = [
    pytest.param("", "not a URL", id="nothing"),
    pytest.param("paper.pdf", "not a URL", id="a file name"),
    pytest.param("//a.example/x", "not a URL", id="no scheme"),
    pytest.param("file:///etc/passwd", "file: is not fetched", id="a file"),
    pytest.param("ftp://a.example/x", "ftp: is not fetched", id="FTP"),
    pytest.param("gopher://a.example/x", "gopher: is not fetched", id="gopher"),
    pytest.param("data:text/plain,x", "data: is not fetched", id="data"),
    pytest.param("javascript:alert(1)", "javascript: is not fetched", id="a script"),
    pytest.param("https:a.example/x", "has no host name", id="no slashes"),
    pytest.param("https:///x", "has no host name", id="no host"),
    pytest.param("https://user@a.example/", "before the host", id="a user"),
    pytest.param("https://user:secret@a.example/", "before the host", id="a password"),
    pytest.param("http://good.example@169.254.169.254/", "before the host", id="a host as a user"),
    pytest.param("http://good.example\\@evil.example/", "backslashes", id="a backslash"),
    pytest.param("http://a.example/a b", "blanks", id="a blank"),
    pytest.param("http://a.example\u3000/", "blanks", id="a wide blank"),
    pytest.param(" http://a.example/", "blanks", id="a blank before it"),
    pytest.param("http://a.example/\r\nHost: evil", "control characters", id="a second header"),
    pytest.param("http://a.example/\x00", "control characters", id="a NUL"),
    pytest.param("http://a.example/\u202efdp", "control characters", id="text that runs backwards"),
    pytest.param("http://a.example/\ud800", "control characters", id="half a character"),
    pytest.param("http://a.example:22/", "port 22", id="the port of SSH"),
    pytest.param("http://a.example:6379/", "port 6379", id="the port of a database"),
    pytest.param("http://a.example:0/", "no port 0", id="port 0"),
    pytest.param("http://a.example:65536/", "no port 65536", id="a port too high"),
    pytest.param("http://a.example:80:80/", "malformed", id="two ports"),
    pytest.param("http://a.example:/", "malformed", id="a port without digits"),
    pytest.param("http://a.example:８０/", "malformed", id="a port in wide digits"),
    pytest.param("http://a.example:+80/", "malformed", id="a port with a sign"),
    pytest.param("http://a..example/", "malformed", id="an empty label"),
    pytest.param("http://.example/", "malformed", id="a dot at the start"),
    pytest.param("http://./", "malformed", id="a dot alone"),
    pytest.param("http://-a.example/", "malformed", id="a hyphen at the start"),
    pytest.param("http://a%2eexample/", "malformed", id="percent signs in the host"),
    pytest.param("http://a,b.example/", "malformed", id="a comma in the host"),
    pytest.param("http://a.example／x/", "malformed", id="a wide slash"),
    pytest.param(f"http://{'a' * 64}.example/", "malformed", id="a long label"),
    pytest.param(f"http://{'ü.' * 200}example/", "malformed", id="a long host"),
    pytest.param("http://[::1/", "malformed", id="an open bracket"),
    pytest.param("http://[fe80::1%25eth0]/", "malformed", id="a scope"),
    pytest.param("http://[::1].example/", "malformed", id="words after the bracket"),
    pytest.param("http://[1.2.3.4]/", "malformed", id="IPv4 in brackets"),
    pytest.param(f"http://a.example/{'a' * LONGEST_URL}", "characters", id="a very long one"),
]


@pytest.mark.parametrize(("url", "parts"), TARGETS)
def test_a_url_has_one_reading(url: str, parts: tuple[str, str, int, str]) -> None:
    target = target_of(url)
    assert (target.scheme, target.host, target.port, target.path) == parts
    assert target_of(target.url) == target, "read again it is another"


@pytest.mark.parametrize(("url", "reason"), NO_TARGETS)
def test_a_url_with_two_readings_or_none_is_refused(url: str, reason: str) -> None:
    with pytest.raises(Forbidden) as caught:
        target_of(url)
    assert reason in str(caught.value)


@pytest.mark.slow
@QUICK
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.text(st.sampled_from("htps:/@#?[]%\\. \t12é。０x-"), max_size=40).map(lambda rest: f"http://{rest}"),
    )
)
def test_any_text_is_a_target_of_plain_letters_or_forbidden(text: str) -> None:
    try:
        target = target_of(text)
    except Forbidden:
        return
    assert target.url.isascii()
    assert not set(target.url) & set(" \\\r\n\t\x00"), target.url
    assert target_of(target.url) == target
    assert "@" not in target.authority


def test_a_url_is_shown_without_its_password_and_on_one_line() -> None:
    assert printable_url("https://me:secret@a.example/x") == "https://…@a.example/x"
    assert "secret" not in printable_url("https:\\\\x//me:sec\x1b[0mret:secret@a.example/" + "x" * 9000)
    assert printable_url("a\nb\x1b[31m\u202ec").isprintable()
    assert len(printable_url("https://a.example/" + "x" * 9000)) < 400


# What is downloaded


def test_a_file_is_there_whole_with_its_digest(ground: Ground) -> None:
    with serving(says(PAPER, "Content-Type: Application/PDF; charset=x")) as server:
        fetched = ground.fetch(f"{server.base}/a/paper.pdf?x=1#page=2")
    assert ground.file.read_bytes() == PAPER
    assert fetched == Fetched(
        f"{server.base}/a/paper.pdf?x=1", len(PAPER), hashlib.sha256(PAPER).hexdigest(), "application/pdf"
    )
    assert os.listdir(ground.folder) == ["paper.pdf"]
    assert ground.pauses == []


def test_the_question_is_plain_and_tells_nothing_of_the_user(ground: Ground) -> None:
    with serving(says(PAPER)) as server:
        ground.fetch(f"{server.base}/ü?q=ü")
    assert server.questions[0].split("\r\n") == [
        "GET /%C3%BC?q=%C3%BC HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: paper-pipeline",
        "Accept: */*",
        "Accept-Encoding: identity",
        "Connection: close",
        "",
        "",
    ]


def test_a_proxy_in_the_environment_is_ignored(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(says(PAPER)) as server, serving(says(b"from the proxy")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base)
        ground.fetch(server.base)
    assert ground.file.read_bytes() == PAPER
    assert proxy.connections == 0


BODIES = [
    pytest.param(sends(head() + PAPER), id="without a length"),
    pytest.param(says(PAPER), id="with its length"),
    pytest.param(sends(head(f"Content-Length: {len(PAPER)}") + PAPER + b"more"), id="with more than was promised"),
    pytest.param(
        sends(head("Transfer-Encoding: chunked"), b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAPER), PAPER)), id="in a chunk"
    ),
    pytest.param(
        sends(head("Transfer-Encoding: chunked"), *(b"1;a=b\r\n%c\r\n" % byte for byte in PAPER), b"0\r\nX: y\r\n\r\n"),
        id="in chunks of a byte",
    ),
    pytest.param(says(gzip.compress(PAPER), "Content-Encoding: gzip"), id="packed, unasked"),
    pytest.param(says(gzip.compress(PAPER), "Content-Encoding: X-GZip"), id="packed, under the old name"),
    pytest.param(says(gzip.compress(PAPER) + bytes(512), "Content-Encoding: gzip"), id="packed and padded"),
    pytest.param(sends(head(status="100 Continue"), head(f"Content-Length: {len(PAPER)}"), PAPER), id="after a 100"),
]


@pytest.mark.parametrize("script", BODIES)
def test_a_body_arrives_however_it_is_sent(script: Script, ground: Ground) -> None:
    with serving(script) as server:
        assert ground.fetch(server.base).bytes == len(PAPER)
    assert ground.file.read_bytes() == PAPER


def test_an_html_page_is_downloaded_as_it_stands(ground: Ground) -> None:
    with serving(says(b"<html>Log in", "Content-Type: text/html")) as server:
        assert ground.fetch(f"{server.base}/paper.pdf").content_type == "text/html"


@pytest.mark.parametrize("claim", ["", "x", "a b/c", "text/ht\x1bml", "text/" + "h" * 500, "/", "ü/ü"], ids=repr)
def test_a_media_type_that_is_none_is_not_passed_on(claim: str, ground: Ground) -> None:
    with serving(says(PAPER, f"Content-Type: {claim}")) as server:
        assert ground.fetch(server.base).content_type == ""


def test_a_file_of_exactly_the_limit_is_downloaded_and_one_byte_more_is_not(ground: Ground) -> None:
    body = bytes(1000)
    with serving(sends(head() + body)) as server:
        assert ground.fetch(server.base, DownloadLimits(1000, 10, 5)).bytes == 1000
        ground.file.unlink()
        ground.fails(server.base, "larger than the 999 bytes", limits=DownloadLimits(999, 10, 5))


def test_an_older_file_is_replaced_at_the_end_and_kept_on_failure(ground: Ground) -> None:
    ground.file.write_bytes(b"old")
    with serving(says(b"x" * 100, status="404 Not Found"), resets(head("Content-Length: 9") + b"x")) as server:
        for _ in range(2):
            with pytest.raises(DownloadError):
                ground.fetch(server.base)
            assert ground.file.read_bytes() == b"old"
    with serving(says(PAPER)) as server:
        ground.fetch(server.base)
    assert ground.file.read_bytes() == PAPER
    assert os.listdir(ground.folder) == ["paper.pdf"]


def test_what_a_killed_download_left_is_no_hindrance(ground: Ground) -> None:
    outside = ground.folder.parent / "outside"
    outside.write_bytes(b"mine")
    (ground.folder / ".paper.pdf.tmp").symlink_to(outside)
    with serving(says(PAPER)) as server:
        ground.fetch(server.base)
    assert os.listdir(ground.folder) == ["paper.pdf"]
    assert outside.read_bytes() == b"mine", "it wrote through a link"


# Servers with faults

BOMB = gzip.compress(bytes(20_000_000))
FAULTS = [
    pytest.param(floods(head(), b"x" * 65536), ("larger than the 1,000,000 bytes",), False, id="an endless body"),
    pytest.param(
        floods(head("Transfer-Encoding: chunked"), b"400\r\n%s\r\n" % bytes(1024)), ("larger",), False, id="endless chunks"
    ),
    pytest.param(
        sends(head("Content-Length: 99999999999999999999") + b"x"), ("larger than",), False, id="a length beyond measure"
    ),
    pytest.param(sends(head("Content-Length: 9000") + b"x" * 8999), ("ended early",), True, id="a body of a byte less"),
    pytest.param(
        sends(head("Transfer-Encoding: chunked") + b"4\r\nab"), ("ended early",), True, id="a chunk that is cut off"
    ),
    pytest.param(
        sends(head("Transfer-Encoding: chunked") + b"2\r\nab\r\n"), ("ended early",), True, id="chunks without an end"
    ),
    pytest.param(
        floods(head("Transfer-Encoding: chunked") + b"-1\r\n", b"x" * 65536), ("larger than",), False, id="a chunk of -1"
    ),
    pytest.param(
        sends(head("Transfer-Encoding: chunked") + b"zz\r\nab"), ("ended early",), True, id="a chunk of nonsense"
    ),
    pytest.param(
        sends(head("Transfer-Encoding: gzip, chunked") + b"x"), ("gzip, chunked", "was not requested"), False, id="two codings"
    ),
    pytest.param(resets(head("Content-Length: 9000") + b"x" * 8910), ("connection failed",), True, id="a reset at 99 %"),
    pytest.param(sends(), ("connection",), True, id="no answer at all"),
    pytest.param(sends(b"HTTP/1.1 2"), ("malformed",), False, id="half a status line"),
    pytest.param(sends(b"SSH-2.0-OpenSSH_9.2\r\n"), ("malformed",), False, id="another protocol"),
    pytest.param(sends(b"HTTP/1.1 2x0 OK\r\n\r\n"), ("malformed",), False, id="a status that is no number"),
    pytest.param(sends(head("A: " + "x" * 70000)), ("malformed (LineTooLong)",), False, id="a very long header"),
    pytest.param(sends(head(*["A: b"] * 200)), ("malformed",), False, id="very many headers"),
    pytest.param(floods(b"HTTP/1.1 200 OK\r\nA: ", b"x" * 65536), ("malformed",), False, id="an endless header"),
    pytest.param(says(b""), ("0 bytes",), False, id="nothing in it"),
    pytest.param(sends(head()), ("0 bytes",), False, id="nothing in it, without a length"),
    pytest.param(says(gzip.compress(b""), "Content-Encoding: gzip"), ("0 bytes",), False, id="nothing in it, packed"),
    pytest.param(says(BOMB, "Content-Encoding: gzip"), ("larger than",), False, id="a gzip bomb"),
    pytest.param(says(gzip.compress(BOMB), "Content-Encoding: gzip, gzip"), ("gzip, gzip",), False, id="a bomb twice packed"),
    pytest.param(says(gzip.compress(PAPER)[:-9], "Content-Encoding: gzip"), ("ended early",), True, id="gzip that is cut off"),
    pytest.param(says(PAPER, "Content-Encoding: gzip"), ("encoded wrongly",), False, id="gzip that is none"),
    pytest.param(says(gzip.compress(PAPER) * 2, "Content-Encoding: gzip"), ("several parts",), False, id="gzip in two parts"),
    pytest.param(says(PAPER, "Content-Encoding: br"), ("not requested (br)",), False, id="a coding nobody asked for"),
    pytest.param(says(PAPER, status="206 Partial Content"), ("only a part", "206"), False, id="a part of it"),
    pytest.param(says(b"", status="204 No Content"), ("answers 204",), False, id="no content"),
    pytest.param(says(b"", status="304 Not Modified"), ("answers 304",), False, id="not modified"),
    pytest.param(says(b"gone", status="404 Not Found"), ("is not there (404)", "check the address"), False, id="404"),
    pytest.param(says(b"gone", status="410 Gone"), ("no longer there",), False, id="410"),
    pytest.param(says(b"no", status="401 Unauthorized"), ("wants a login",), False, id="401"),
    pytest.param(says(b"no", status="403 Forbidden"), ("to programs (403)", "with your browser"), False, id="403"),
    pytest.param(says(b"no", status="429 Too Many Requests"), ("too many requests (429)",), True, id="429"),
    pytest.param(says(b"no", status="500 Oops"), ("an internal error (500)",), True, id="500"),
    pytest.param(says(b"no", status="503 Later"), ("an internal error (503)", "try again later"), True, id="503"),
    pytest.param(says(b"no", status="418 Teapot"), ("answers 418",), False, id="any other status"),
    pytest.param(redirects(""), ("redirect names no address",), False, id="a redirect without an address"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "words", "transient"), FAULTS)
def test_a_servers_fault_is_told_and_leaves_nothing(
    script: Script, words: tuple[str, ...], transient: bool, ground: Ground
) -> None:
    with serving(script) as server:
        error = ground.fails(f"{server.base}/paper.pdf", f"{server.base}/paper.pdf", *words)
    assert error.transient is transient
    assert len(server.questions) == (3 if transient else 1), "it was asked another number of times"
    assert ground.pauses == ([1.0, 4.0] if transient else [])


SLOW: list[tuple[str, bytes, bytes]] = [
    ("in the body", head("Content-Length: 9000"), b"x"),
    ("in the status line", b"H", b"T"),
    ("in the headers", b"HTTP/1.1 200 OK\r\nA: ", b"x"),
    ("in a chunk's length", head("Transfer-Encoding: chunked"), b"0"),
    ("behind the last chunk", head("Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n", b"A: b\r\n"),
    ("with interim answers", b"", head(status="100 Continue")),
    ("with nothing at all", b"", b""),
]


@pytest.mark.parametrize(
    ("start", "piece"),
    with_covered(
        [pytest.param(*row[1:], id=row[0]) for row in SLOW],
        "in the headers",
        "in a chunk's length",
        "with interim answers",
        "with nothing at all",
    ),
)
def test_a_server_that_dawdles_is_left_at_the_cap(start: bytes, piece: bytes, ground: Ground) -> None:
    with serving() as server:
        server.scripts = [server.trickle(start, piece)]
        with must_end():
            error = ground.fails(server.base, "longer than 0.4 s", limits=SHORT)
    assert error.transient
    assert ground.pauses == [], "no time was left for another try"


def test_a_server_that_falls_silent_is_asked_again(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LONGEST_SILENCE", 0.2)
    with serving() as server:
        server.scripts = [server.trickle(head("Content-Length: 9"), pause=9), says(PAPER)]
        assert ground.fetch(server.base).bytes == len(PAPER)
    assert ground.pauses == [1.0]


def test_a_resolver_that_hangs_is_left_at_the_cap(ground: Ground) -> None:
    over = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        over.wait(20)
        return []

    with must_end():
        ground.fails("https://a.example/", "longer than 0.4 s", limits=SHORT, resolve=resolve)
    over.set()


def test_a_secure_server_that_says_nothing_is_left_at_the_cap(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, must_end():
        ground.fails(f"https://127.0.0.1:{silent.getsockname()[1]}", "in time", limits=DownloadLimits(9, 20, 0.2))


# Trying again


def test_what_was_transient_is_tried_again_and_then_there(ground: Ground) -> None:
    with serving(says(b"", status="503 Later"), resets(head("Content-Length: 9") + b"12"), says(PAPER)) as server:
        ground.fetch(server.base)
    assert ground.file.read_bytes() == PAPER
    assert ground.pauses == [1.0, 4.0]


@pytest.mark.parametrize(
    ("patience", "pauses"),
    [
        pytest.param("7", [7.0], id="a wait that is bearable"),
        pytest.param("30", [30.0], id="half a minute"),
        pytest.param("0", [1.0], id="no wait, but we take one"),
        pytest.param("-5", [1.0], id="a negative one"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", [1.0], id="a date, which is not read"),
        pytest.param("9" * 5000, [1.0], id="a number without end"),
    ],
)
def test_a_server_that_asks_for_patience_gets_it(patience: str, pauses: list[float], ground: Ground) -> None:
    busy = says(b"", f"Retry-After: {patience}", status="429 Slow down")
    with serving(busy, says(PAPER)) as server:
        ground.fetch(server.base, DownloadLimits(1_000_000, 60, 5))
    assert ground.pauses == pauses


@pytest.mark.parametrize(("patience", "seconds"), [("31", 99), ("3600", 9999), ("20", 15)])
def test_a_wait_that_is_too_long_is_told_and_not_made(patience: str, seconds: float, ground: Ground) -> None:
    with serving(says(b"", f"Retry-After: {patience}", status="503 Later")) as server:
        ground.fails(server.base, f"asks to wait {patience} s", limits=DownloadLimits(1_000_000, seconds, 5))
    assert ground.pauses == []


def test_nobody_listening_is_told_and_tried_again(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert ground.fails(f"http://127.0.0.1:{port}/", "connection failed (Connection refused)").transient
    assert ground.pauses == [1.0, 4.0]


@pytest.mark.parametrize(
    ("error", "words", "transient"),
    [
        pytest.param(socket.gaierror(socket.EAI_NONAME, "unknown"), "no host of that name", False, id="no such name"),
        pytest.param(socket.gaierror(socket.EAI_AGAIN, "later"), "check your network", True, id="no name server"),
        pytest.param(OSError(errno.ENETUNREACH, "Network is unreachable"), "unreachable", True, id="no network"),
        pytest.param(UnicodeError("label too long"), "malformed", False, id="a name that cannot be encoded"),
    ],
)
def test_a_resolvers_trouble_is_told(error: Exception, words: str, transient: bool, ground: Ground) -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise error

    assert ground.fails("https://a.example/x", words, resolve=resolve).transient is transient


def test_a_host_with_a_dead_address_is_reached_by_its_other_one(ground: Ground) -> None:
    with serving(says(PAPER)) as server:
        ground.fetch(f"http://a.example:{server.port}/", resolve=lambda host, port: ["127.9.9.9", "::1", "127.0.0.1"])
    assert ground.file.read_bytes() == PAPER


# Where a name leads

LOOPBACKS = [
    "127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "0177.0.0.1", "0", "0.0.0.0", "①②⑦.⓪.⓪.①", "localhost",
    "LOCALHOST.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
]  # fmt: skip
BEHIND_A_NAME = ["169.254.169.254", "fd00:ec2::254", "100.64.0.1", "10.0.0.1", "224.0.0.1", "192.0.0.192", "fe80::1%lo"]


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[object]]:
    """Every address that anybody connects to in this process."""
    seen: list[object] = []
    connect = socket.socket.connect

    def watched(self: socket.socket, address: object) -> None:
        seen.append(address)
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", watched)
    return lambda: seen


@pytest.mark.parametrize("host", LOOPBACKS)
def test_no_spelling_of_this_machine_is_connected_to(
    host: str, ground: Ground, canary: Callable[[], list[object]]
) -> None:
    ground.fails(f"http://{host}:8080/latest/meta-data", private=False)
    assert canary() == []


@pytest.mark.parametrize("address", BEHIND_A_NAME)
@pytest.mark.parametrize("company", [[], ["8.8.8.8"]], ids=["alone", "beside a public one"])
def test_a_name_that_leads_to_a_special_address_is_not_connected_to(
    address: str, company: list[str], ground: Ground, canary: Callable[[], list[object]]
) -> None:
    answer = [*company, address]
    ground.fails("https://a.example/x", f"leads to {address}", private=False, resolve=lambda host, port: answer)
    assert canary() == []


class Rebinding:
    """A resolver that gives another answer each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = answers, 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


def test_the_address_that_was_checked_is_the_one_connected_to(
    ground: Ground, canary: Callable[[], list[object]]
) -> None:
    resolve = Rebinding(["127.0.0.1"], ["127.0.0.2"])
    with serving(says(PAPER)) as server:
        ground.fetch(f"http://a.example:{server.port}/", resolve=resolve)
    assert resolve.asked == 1, "the name was resolved a second time"
    assert canary() == [("127.0.0.1", server.port)]
    assert f"Host: a.example:{server.port}\r\n" in server.questions[0]


@pytest.fixture
def rerouted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server], None]:
    """Lets a public address lead to a server of the test, below everything that is checked."""

    def to(server: Server) -> None:
        connect = socket.socket.connect

        def elsewhere(self: socket.socket, address: tuple[str, int]) -> None:
            connect(self, ("127.0.0.1", server.port) if address[0] == "8.8.8.8" else address)

        monkeypatch.setattr(socket.socket, "connect", elsewhere)

    return to


def test_a_name_that_is_rebound_between_redirects_is_refused(
    ground: Ground, rerouted: Callable[[Server], None]
) -> None:
    resolve = Rebinding(["8.8.8.8"], ["127.0.0.1"])
    with serving(redirects("/again"), says(PAPER)) as server:
        rerouted(server)
        ground.fails(
            "http://a.example/x", "redirect 1, to http://a.example/again", "127.0.0.1", private=False, resolve=resolve
        )
    assert server.connections == 1


HOPS = [
    pytest.param("http://127.0.0.1:8080/admin", "which is a loopback address", id="to this machine"),
    pytest.param("http://169.254.169.254/latest", "which is a link-local address", id="to a metadata service"),
    pytest.param("//169.254.169.254/latest", "which is a link-local address", id="without a scheme"),
    pytest.param("http://[::ffff:a9fe:a9fe]/", "which is IPv6 around 169.254.169.254", id="to one in disguise"),
    pytest.param("http://8.8.8.8:22/", "port 22", id="to another port"),
    pytest.param("http://me:secret@8.8.8.8/", "before the host", id="with a password"),
    pytest.param("http://8.8.8.8\\@evil.example/", "backslashes", id="with a backslash"),
    pytest.param("file:///etc/passwd", "file: is not fetched", id="to a file"),
    pytest.param("FILE:/etc/passwd", "file: is not fetched", id="to a file in capitals"),
    pytest.param("ftp://8.8.8.8/x", "ftp: is not fetched", id="to FTP"),
    pytest.param("data:text/plain,x", "data: is not fetched", id="to data"),
    pytest.param("http://[::1", "", id="to an open bracket"),
    pytest.param("http:///x", "has no host name", id="to no host"),
    pytest.param("http://" + "a" * 9000, "characters", id="to a very long one"),
    pytest.param("\tfile:///etc/passwd", "file: is not fetched", id="behind a tab"),
    pytest.param("http://8.8.8.8/\x0b", "redirect names no address", id="with a control character"),
    pytest.param("http://8.8.8.8/\r\n folded", "redirect names no address", id="over two lines"),
]


@pytest.mark.parametrize(("to", "reason"), HOPS)
def test_a_redirect_is_checked_like_a_first_address(
    to: str, reason: str, ground: Ground, rerouted: Callable[[Server], None]
) -> None:
    with serving(redirects(to), says(PAPER)) as server:
        rerouted(server)
        error = ground.fails("http://8.8.8.8/x", "http://8.8.8.8/x", reason, private=False)
    assert server.connections == 1
    assert "secret" not in str(error)


def test_neither_a_blacklisted_address_nor_a_redirect_to_one_is_asked(ground: Ground) -> None:
    with serving(redirects("/owner/name/archive.zip"), says(PAPER)) as server:
        error = ground.fails(
            f"{server.base}/x",
            "redirect 1",
            "it is on your blacklist (owner/name)",
            private=True,
            blacklist="owner/name",
        )
    assert server.connections == 1
    assert not error.transient
    with serving(says(PAPER)) as server:
        ground.fails(f"{server.base}/x", "on your blacklist", private=True, blacklist=f"{server.base}/x")
        ground.fails(f"{server.base}/x", "on your blacklist", private=True, blacklist="https://127.0.0.1")
    assert server.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_ten_redirects_are_followed(status: int, ground: Ground) -> None:
    ways = [
        "b?c=d",
        "/e/f/g",
        "../h",
        "./i",
        "?j",
        "/ü/k l",
        "//127.0.0.1:{port}/m",
        "http://127.0.0.1:{port}/n",
        "#o",
        "/p",
    ]
    with serving() as server:
        hops = [redirects(way.format(port=server.port), status=status) for way in ways]
        server.scripts = [*hops, says(PAPER)]
        assert ground.fetch(f"{server.base}/a").url == f"{server.base}/p"
    asked = [question.split(" ")[1] for question in server.questions]
    assert asked == [
        "/a", "/b?c=d", "/e/f/g", "/e/h", "/e/i", "/e/i?j", "/%FC/k%20l", "/m", "/n", "/n", "/p",
    ]  # fmt: skip


def test_the_eleventh_redirect_is_refused_and_shown(ground: Ground) -> None:
    with serving(redirects("/round")) as server:
        ground.fails(f"{server.base}/a", "more than 10 redirects", f"(redirect 11, to {server.base}/round)")
    assert len(server.questions) == 11


# Secure servers


@dataclass(frozen=True)
class Authority:
    """A certificate authority for `paper.example`, which only the tests trust."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("authority")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=Tests", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=paper.example", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=DNS:paper.example\n", encoding="utf-8")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    return Authority(server, ssl.create_default_context(cafile=str(folder / "ca.pem")))


def here(host: str, port: int) -> list[str]:
    """A resolver for which every name is this machine."""
    return ["127.0.0.1"]


def test_a_secure_server_is_asked_by_its_name(ground: Ground, authority: Authority) -> None:
    named: list[str | None] = []
    authority.server.sni_callback = lambda connection, name, context: named.append(name)
    with serving(says(PAPER), context=authority.server) as server:
        url = f"https://paper.example:{server.port}/a"
        assert ground.fetch(url, resolve=here, ssl_context=authority.client).url == url
    assert ground.file.read_bytes() == PAPER
    assert named == ["paper.example"]


def test_a_certificate_nobody_vouches_for_is_refused(ground: Ground, authority: Authority) -> None:
    with serving(says(PAPER), context=authority.server) as server:
        error = ground.fails(f"https://paper.example:{server.port}/", "certificate is not valid", resolve=here)
    assert not error.transient
    assert server.questions == [], "something was asked before the certificate was checked"


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1", "sub.paper.example"])
def test_a_certificate_for_another_name_is_refused(host: str, ground: Ground, authority: Authority) -> None:
    with serving(says(PAPER), context=authority.server) as server:
        url = f"https://{host}:{server.port}/"
        ground.fails(url, "certificate is not valid", resolve=here, ssl_context=authority.client)
    assert server.questions == []


def test_a_server_that_is_not_secure_is_refused_where_it_should_be(ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def shout() -> None:
            with listener.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(head(status="400 Bad Request"))

        thread = threading.Thread(target=shout)
        thread.start()
        ground.fails(f"https://127.0.0.1:{listener.getsockname()[1]}/", "no secure connection is possible")
        thread.join()


def test_a_redirect_from_https_to_http_is_refused(ground: Ground, authority: Authority) -> None:
    with serving(says(PAPER)) as plain, serving(redirects(f"{plain.base}/b"), context=authority.server) as server:
        url = f"https://paper.example:{server.port}/a"
        words = ("from https to http", url, f"(redirect 1, to {plain.base}/b)")
        ground.fails(url, *words, resolve=here, ssl_context=authority.client)
    assert plain.connections == 0


def test_a_redirect_from_http_to_https_is_followed(ground: Ground, authority: Authority) -> None:
    with serving(says(PAPER), context=authority.server) as secure:
        url = f"https://paper.example:{secure.port}/b"
        with serving(redirects(url)) as server:
            assert ground.fetch(server.base, resolve=here, ssl_context=authority.client).url == url


def test_a_secure_stream_that_is_cut_off_is_not_taken_for_whole(ground: Ground, authority: Authority) -> None:
    def cut(connection: socket.socket) -> None:
        connection.sendall(head() + PAPER)
        # The operating system hangs up; TLS has not said goodbye.
        with socket.socket(fileno=os.dup(connection.fileno())) as below:
            below.shutdown(socket.SHUT_RDWR)

    with serving(cut, context=authority.server) as server:
        url = f"https://paper.example:{server.port}/"
        ground.fails(url, "ended early", resolve=here, ssl_context=authority.client)


# The disk, and the user


def test_trouble_with_the_disk_is_not_the_servers(ground: Ground) -> None:
    with serving(says(PAPER)) as server, pytest.raises(StorageError, match=r"cannot write .*nowhere.*ENOENT"):
        fetch_url(server.base, str(ground.folder / "nowhere" / "paper.pdf"), LIMITS, private=True)
    assert len(server.questions) == 1, "it was tried again"


def test_a_full_disk_leaves_nothing(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with serving(says(PAPER)) as server, pytest.raises(StorageError, match="ENOSPC"):
        ground.fetch(server.base)
    assert os.listdir(ground.folder) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), Interrupted(signal.SIGTERM)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_download_leaves_nothing(interruption: BaseException, ground: Ground) -> None:
    def interrupt(*_: object) -> None:
        raise interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with serving() as server:
            server.scripts = [server.trickle(head("Content-Length: 9000"))]
            signal.setitimer(signal.ITIMER_REAL, 0.4)
            with pytest.raises(type(interruption)):
                ground.fetch(server.base)
            assert server.connections == 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert os.listdir(ground.folder) == []


STARTS = [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 Found\r\nLocation: ", head(), head("Content-Length: 5")]
PACKED = [head("Transfer-Encoding: chunked"), head("Content-Encoding: gzip")]


@QUICK
@given(answer=st.binary(max_size=300), start=st.sampled_from(STARTS + PACKED))
@example(answer=b"\r\nLocation: http://[\r\n\r\n", start=b"HTTP/1.1 302 Found")
@example(answer=b"\xff\xff://\xff\r\n\r\n", start=b"HTTP/1.1 302 Found\r\nLocation: ")
@example(answer=b"ffffffffffffffffffffff\r\n", start=head("Transfer-Encoding: chunked"))
def test_no_answer_breaks_it(answer: bytes, start: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    ground = Ground(tmp_path_factory.mktemp("any"))
    with serving(sends(start + answer)) as server, suppress(DownloadError):  # anything but this error fails the test
        ground.fetch(server.base, DownloadLimits(100_000, 3, 1), resolve=here)
    assert os.listdir(ground.folder) in ([], ["paper.pdf"])
