"""Downloads through a proxy of the user's: to the address that was checked, and one line where it does not work."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.base.http.fetch import DownloadError, DownloadLimits, fetch_url
from pipeline.base.http.proxy import Proxy, client_proxy, find_proxy, lend_to_git
from tests.proxy import PASSWORD, proxying
from tests.repositories import HOST, Certificates, certificates
from tests.web import redirects, says, serving
from tests.work import must_end

PAPER = b"%PDF-1.7 through a proxy"
LIMITS = DownloadLimits(bytes=1_000_000, seconds=5, seconds_to_connect=0.4)
PUBLIC = "8.8.8.8"
"""An address that may be asked: the proxy of the tests leads back to this machine, whatever it is asked for."""


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


@dataclass
class Through:
    """Fetches through a proxy of that setting, whose name server knows one host alone."""

    folder: Path
    environment: dict[str, str]
    addresses: tuple[str, ...] = (PUBLIC,)
    certified: Certificates | None = None
    blacklist: str = ""

    def fetch(self, url: str) -> bytes:
        context = self.certified.client if self.certified else None
        options = {"proxy": find_proxy(self.environment), "resolve": self.resolve, "ssl_context": context}
        file = str(self.folder / "file")
        fetch_url(url, file, LIMITS, sleep=lambda s: None, blacklist=self.blacklist, **options)  # type: ignore[arg-type]
        return (self.folder / "file").read_bytes()

    def resolve(self, host: str, port: int) -> tuple[str, ...]:
        if host not in (HOST, PUBLIC):
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return self.addresses

    def fails(self, url: str, *words: str) -> str:
        with pytest.raises(DownloadError) as caught:
            self.fetch(url)
        told = str(caught.value)
        for word in words:
            assert word in told, f"{word!r} is not in: {told}"
        assert told.isprintable()
        assert PASSWORD not in told
        return told


def test_an_address_is_reached_through_connect_and_by_the_number_that_was_checked(
    tmp_path: Path, certified: Certificates
) -> None:
    named: list[str | None] = []
    certified.server.sni_callback = lambda connection, name, context: named.append(name)
    with serving(says(PAPER), context=certified.server) as server, proxying(tmp_path, upstream=server.port) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url}, certified=certified)
        assert through.fetch(f"https://{HOST}/a.pdf") == PAPER
        assert proxy.asked == [f"{PUBLIC}:443"]
        assert HOST not in proxy.heads
    assert named == [HOST], "the certificate is for the name, all the same"


def test_what_may_not_be_asked_is_not_asked_through_a_proxy_either(tmp_path: Path) -> None:
    with serving(says(PAPER)) as server, proxying(tmp_path, upstream=server.port) as proxy:
        for address in ("10.0.0.1", "169.254.169.254", "127.0.0.1", "fd00:ec2::254"):
            through = Through(tmp_path, {"HTTPS_PROXY": proxy.url}, (PUBLIC, address))
            through.fails(f"http://{HOST}/a.pdf", "that is not allowed")
        assert proxy.asked == []


def test_each_hop_of_a_redirect_is_checked_and_goes_through_the_proxy(tmp_path: Path) -> None:
    scripts = (redirects(f"http://{PUBLIC}:8080/b"), says(PAPER), redirects("http://10.0.0.1/c"))
    with serving(*scripts) as server, proxying(tmp_path, upstream=server.port) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url})
        assert through.fetch(f"http://{HOST}/a") == PAPER
        assert proxy.asked == [f"{PUBLIC}:80", f"{PUBLIC}:8080"]
        through.addresses = ("10.0.0.1",)
        through.fails(f"http://{PUBLIC}/a", "10.0.0.1")
        assert len(proxy.asked) == 2


def test_the_next_address_is_tried_where_the_proxy_does_not_get_to_one(tmp_path: Path) -> None:
    with proxying(tmp_path, "502") as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url}, ("2606:4700::1111", PUBLIC))
        through.fails(f"http://{HOST}/", f"127.0.0.1:{proxy.port} (HTTPS_PROXY)", "502")
        assert proxy.asked[:2] == ["[2606:4700::1111]:80", f"{PUBLIC}:80"]


REFUSALS = {
    "403": ("refuses to lead to 8.8.8.8:443 (403)", "ask its administrator", "give the file"),
    "407": ("wants a name and password (407)", "export HTTPS_PROXY=http://NAME:PASSWORD@127.0.0.1:"),
    "silent": ("does not answer in time", "export HTTPS_PROXY="),
    "drips": ("does not answer in time",),
    "gibberish": ("does not answer as a proxy does", "export HTTPS_PROXY="),
    "closes": ("does not answer as a proxy does",),
    "plain": ("the connection through the proxy", "WRONG_VERSION_NUMBER"),
    "ends": ("the connection through the proxy", "failed ("),
}


@pytest.mark.parametrize("mode", REFUSALS)
def test_a_proxy_that_does_not_lead_there_is_named_with_what_to_do(
    mode: str, tmp_path: Path, certified: Certificates
) -> None:
    with proxying(tmp_path, mode) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url}, certified=certified)
        with must_end():
            through.fails(f"https://{HOST}/a", f"127.0.0.1:{proxy.port} (HTTPS_PROXY)", *REFUSALS[mode])
        assert proxy.asked


def test_a_proxy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    through = Through(tmp_path, {"PIPELINE_PROXY": f"127.0.0.1:{port}"})
    words = (f"127.0.0.1:{port} (the setting proxy) cannot be reached", "refused", "pipeline config proxy http://")
    through.fails(f"http://{HOST}/a", *words)


def test_a_proxy_that_opens_tls_is_named_until_its_certificate_is_trusted(
    tmp_path: Path, certified: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(certified.ca_file).parent
    own = (str(folder / "server.pem"), str(folder / "server.key"))
    with serving(says(PAPER)) as server, proxying(tmp_path, upstream=server.port, certificate=own) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url})
        named = f"through the proxy 127.0.0.1:{proxy.port} (HTTPS_PROXY) is not valid"
        through.fails(f"https://{HOST}/a", named, "export SSL_CERT_FILE=FILE")
        assert not any(server.questions), "nothing is sent to whoever opened it"
        monkeypatch.setenv("SSL_CERT_FILE", certified.ca_file)
        assert through.fetch(f"https://{HOST}/a") == PAPER


def test_a_password_goes_to_the_proxy_alone(tmp_path: Path) -> None:
    with serving(says(PAPER)) as server, proxying(tmp_path, "407", server.port) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.with_password})
        assert through.fetch(f"http://{HOST}/a") == PAPER
        assert "Authorization" not in server.questions[0]
        wrong = Through(tmp_path, {"HTTPS_PROXY": f"http://me:{PASSWORD}x@127.0.0.1:{proxy.port}"})
        wrong.fails(f"http://{HOST}/a", "does not take this name and password (407)")


def test_what_is_on_the_blacklist_is_asked_of_no_proxy_either_where_an_answer_leads_there(tmp_path: Path) -> None:
    away = says(b"", f"Location: http://{HOST}/code.zip", status="302 Found")
    with serving(away) as server, proxying(tmp_path, upstream=server.port) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url}, blacklist=f"https://{HOST}/code.zip")
        through.fails(f"http://{HOST}/code.zip", "blacklist")
        assert proxy.asked == []
        through.fails(f"http://{HOST}/a", "blacklist")
        assert len(server.questions) == 1


def test_a_machine_without_a_name_server_says_so(tmp_path: Path) -> None:
    with proxying(tmp_path) as proxy:
        through = Through(tmp_path, {"HTTPS_PROXY": proxy.url})
        through.fails("http://elsewhere.example/a", "cannot resolve the name", "HTTPS_PROXY", "give the file")
        assert proxy.asked == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("socks5://127.0.0.1:9", "is one of SOCKS"),
        ("https://127.0.0.1:9", "is one of https"),
        ("http://[::1", "has no usable address"),
        ("ftp://proxy.example", "has no usable address"),
        ("http://a b:1", "has no usable address"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_told_with_what_to_type(address: str, why: str, tmp_path: Path) -> None:
    through = Through(tmp_path, {"ALL_PROXY": address})
    through.fails(f"http://{HOST}/a", "ALL_PROXY", why, "export ALL_PROXY=http://proxy.example:3128")


def _found(**environment: str) -> Proxy:
    found = find_proxy(environment)
    assert found
    return found


def test_the_setting_goes_before_the_environment_and_off_goes_straight() -> None:
    both = {"HTTPS_PROXY": "http://a:1", "PIPELINE_PROXY": "b:2"}
    assert (_found(**both).host, _found(**both).port) == ("b", 2)
    assert find_proxy({**both, "PIPELINE_PROXY": "off"}) is None
    assert client_proxy({**both, "PIPELINE_PROXY": "off"}, "api.example", 443) == ""
    assert client_proxy(both, "api.example", 443) == "http://b:2"
    assert client_proxy(both, "localhost", 11434) == ""
    assert client_proxy({"HTTPS_PROXY": "http://a:1"}, "api.example", 443) is None
    assert find_proxy({"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": " "}) is None


@pytest.mark.parametrize(
    ("words", "straight", "through"),
    [
        ("", ["localhost", "127.0.0.9", "::1", "x.localhost"], ["example.org", PUBLIC, "10.0.0.1"]),
        ("*", ["example.org", PUBLIC], []),
        ("example.org", ["example.org", "a.example.org", "EXAMPLE.org."], ["notexample.org"]),
        (".example.org, other.net", ["a.example.org", "other.net"], ["other.org"]),
        ("*.example.org", ["a.example.org"], ["example.net"]),
        ("10.0.0.0/8 fd00::/8", ["10.1.2.3", "fd00::1"], ["11.0.0.1", "fe00::1"]),
        ("example.org:8080", [], ["example.org"]),
    ],
)
def test_no_proxy_names_hosts_domains_and_networks(words: str, straight: list[str], through: list[str]) -> None:
    proxy = _found(HTTPS_PROXY="http://a:1", no_proxy=words)
    assert [host for host in straight if proxy.is_for(host, 443)] == []
    assert [host for host in through if not proxy.is_for(host, 443)] == []
    assert not _found(HTTPS_PROXY="http://a:1", NO_PROXY="b.example:8080").is_for("b.example", 8080)


def test_the_way_that_git_is_lent_leads_to_one_place_alone(tmp_path: Path) -> None:
    with serving(says(PAPER)) as server, proxying(tmp_path, upstream=server.port) as proxy:
        with lend_to_git(_found(HTTPS_PROXY=proxy.with_password), HOST, 443, [PUBLIC]) as way:
            assert PASSWORD not in way
            port = int(way.rpartition(":")[2])
            answers = [_ask(port, place) for place in (f"{HOST}:443", f"{HOST}:80", f"{PUBLIC}:443", "127.0.0.1:443")]
        assert [answer.split(b" ")[1] for answer in answers] == [b"200", b"403", b"403", b"403"]
        assert proxy.asked == [f"{PUBLIC}:443"]
    with pytest.raises(ConnectionRefusedError):
        _ask(port, f"{HOST}:443")
    assert not [thread for thread in threading.enumerate() if thread.name == "git's way out" and _stays(thread)]


def _ask(port: int, place: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        return client.recv(1000)


def _stays(thread: threading.Thread) -> bool:
    thread.join(timeout=3)
    return thread.is_alive()
