"""Drills 58 to 61: downloads in processes of their own, in a network with planted servers, killed, flooded and starved."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.base.http.addresses import why_refused
from pipeline.base.http.fetch import DownloadError, DownloadLimits, fetch_url
from tests.strategies import QUICK
from tests.web import Script, floods, head, says, sends, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BODY = random.Random(61).randbytes(3_000_000)
MANY = settings(QUICK, max_examples=1500)

DOWNLOAD = """\
import json, sys
from pipeline.base.http.fetch import DownloadLimits, fetch_url
from pipeline.base.errors import PipelineError
from tests.memory import measure_growth
url, to, most, seconds = sys.argv[1:]
growth = measure_growth()
try:
    fetched = fetch_url(url, to, DownloadLimits(int(most), float(seconds), 5), private=True, sleep=lambda pause: None)
    end = fetched.sha256
except PipelineError as error:
    end = str(error)
print(json.dumps([end, growth()]))
"""


@dataclass(frozen=True)
class Ended:
    """How a download in a process of its own ended: its digest or complaint, and the growth of its memory."""

    end: str
    growth_mib: int


def started(url: str, to: Path, most: int = 10**8, seconds: float = 60) -> subprocess.Popen[str]:
    """A download in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", DOWNLOAD, url, str(to), str(most), str(seconds)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(url: str, to: Path, most: int = 10**8, seconds: float = 60) -> Ended:
    with started(url, to, most, seconds) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    end, growth_mib = json.loads(out)
    return Ended(end, growth_mib)


# 58: a network of its own, in which every special address has a server behind it

PLANTED = [
    "169.254.169.254", "169.254.170.2", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200",
    "192.0.0.192", "198.18.0.1", "168.63.129.16", "fd00:ec2::254", "2002:7f00:1::", "64:ff9b::7f00:1", "2001:db8::1",
]  # fmt: skip
SPELLINGS = [
    "http://127.0.0.1/", "http://127.1/", "http://0x7f.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/",
    "http://017700000001/", "http://0/", "http://0.0.0.0/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://localhost/",
    "http://LOCALHOST./", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/",
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/", "http://[fd00:ec2::254]/", "http://169.254.169.254.:80/",
    "http://169.254.169.254#@good.example/", "http://169.254.169.254?@good.example/", "http://good.example@169.254.169.254/",
    "http://good.example\\@169.254.169.254/", "http://169.254.169.254\\@good.example/", "http://good.example#@169.254.169.254/",
    "http:169.254.169.254", "http:/169.254.169.254/", "http:///169.254.169.254/", "//169.254.169.254/", "169.254.169.254",
    "http://169.254.169.254:80:80/", "http://[169.254.169.254]/", "http://169.254.169.254%00.good.example/",
    "http://169.254.169.254%2f@good.example/", "http://169.254.169.254\t/", "http://169.254.169.254\n.good.example/",
    "file:///etc/passwd", "ftp://169.254.169.254/", "gopher://169.254.169.254:80/_GET", "data:text/plain,x", "dict://127.0.0.1:80/",
    "ldap://127.0.0.1/", "jar:http://127.0.0.1!/", "unix:/run/x.sock", "http+unix://x/",
    *(f"http://[{address}]/" if ":" in address else f"http://{address}/" for address in PLANTED),
]  # fmt: skip
IN_A_NETWORK_OF_ITS_OWN = """\
import json, socket, subprocess, sys, tempfile, threading
from pipeline.base.http.fetch import DownloadError, DownloadLimits, fetch_url
planted, spellings = json.loads(sys.argv[1])
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
for address in planted:
    subprocess.run(["ip", "addr", "add", address + ("/128" if ":" in address else "/32"), "dev", "lo"], check=True)
    if ":" in address:
        subprocess.run(["ip", "-6", "route", "replace", "local", address, "dev", "lo"], check=False)
hits = []
def canary(family, host):
    listener = socket.create_server((host, 80), family=family)
    def listen():
        while True:
            connection, _ = listener.accept()
            hits.append(str(connection.getsockname()))
            connection.close()
    threading.Thread(target=listen, daemon=True).start()
canary(socket.AF_INET, "0.0.0.0")
canary(socket.AF_INET6, "::")
wrong = []
with tempfile.TemporaryDirectory() as folder:
    for url in spellings:
        try:
            fetch_url(url, folder + "/x", DownloadLimits(1000, 5, 2))
        except DownloadError as error:
            if "\\n" in str(error):
                wrong.append(str(error))
        else:
            wrong.append(url + " was fetched")
early = list(hits)
reached = 0
for address in planted:
    with socket.create_connection((address, 80), timeout=5) as connection:
        reached += connection.recv(1) == b""
print(json.dumps([early, wrong, reached, len(planted)]))
"""


def test_no_spelling_reaches_a_special_address_where_each_has_a_server() -> None:
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("there is no unshare or no ip to make a network with")
    process = subprocess.run(
        ["unshare", "-Urn", sys.executable, "-c", IN_A_NETWORK_OF_ITS_OWN, json.dumps([PLANTED, SPELLINGS])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if process.returncode and "unshare" in process.stderr:
        pytest.skip(f"no network of its own is permitted here: {process.stderr.strip()}")
    assert process.returncode == 0, process.stderr
    early, wrong, reached, planted = json.loads(process.stdout)
    assert wrong == []
    assert early == [], "a server was reached"
    assert reached == planted, "the servers are not there: the drill proves nothing"


# 59: names that change their mind


def test_a_name_that_changes_its_mind_never_leads_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, connected, asked = random.Random(59), [], 0
    pool = [
        "8.8.8.8",
        "1.1.1.1",
        "2606:4700::1111",
        "127.0.0.1",
        "10.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "x",
    ]

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise OSError("nobody is there")

    def resolve(host: str, port: int) -> list[str]:
        nonlocal asked
        asked += 1
        return dice.sample(pool, dice.randint(0, 3))

    monkeypatch.setattr(socket.socket, "connect", connect)
    for _ in range(1000):
        with pytest.raises(DownloadError):
            fetch_url(
                "https://a.example/x",
                str(tmp_path / "x"),
                DownloadLimits(9, 9, 9),
                resolve=resolve,
                sleep=lambda pause: None,
            )
    assert asked >= 1000
    assert connected, "no address was ever good: the drill proves nothing"
    assert {address for address in connected if why_refused(address)} == set()


# 61: servers with faults, and the memory and time that they cost


FLOODS: list[tuple[str, Script]] = [
    ("an endless body", floods(head(), bytes(1 << 20))),
    ("a length beyond measure", floods(head("Content-Length: 99999999999999"), bytes(1 << 20))),
    ("endless chunks", floods(head("Transfer-Encoding: chunked"), b"10000\r\n" + bytes(65536) + b"\r\n")),
    ("one endless chunk", floods(head("Transfer-Encoding: chunked") + b"ffffffffffffff\r\n", bytes(1 << 20))),
    ("a chunk of -1", floods(head("Transfer-Encoding: chunked") + b"-1\r\n", bytes(1 << 20))),
    ("a gzip bomb", floods(head("Content-Encoding: gzip"), gzip.compress(bytes(256 << 20), 9))),
]


@pytest.mark.parametrize("script", [pytest.param(script, id=name) for name, script in FLOODS])
def test_a_flood_costs_no_memory_and_ends_at_the_cap(script: Script, tmp_path: Path) -> None:
    with serving(script) as server:
        result = ended(server.base, tmp_path / "paper.pdf", most=200_000_000)
    assert "larger than the 200,000,000 bytes" in result.end
    assert os.listdir(tmp_path) == []
    assert result.growth_mib < 100


def test_gzip_that_unpacks_to_nothing_for_ever_ends_at_the_cap(tmp_path: Path) -> None:
    empty = b"\x00\x00\x00\xff\xff" * 10_000  # stored blocks of no bytes
    with serving(floods(head("Content-Encoding: gzip") + gzip.compress(b"")[:10], empty)) as server:
        result = ended(server.base, tmp_path / "paper.pdf", most=50_000_000, seconds=30)
    assert "larger than" in result.end
    assert os.listdir(tmp_path) == []


def test_a_byte_a_second_ends_at_the_cap(tmp_path: Path) -> None:
    with serving() as server:
        server.scripts = [server.trickle(head("Content-Length: 9000"), pause=1)]
        result = ended(server.base, tmp_path / "paper.pdf", seconds=4)
    assert "longer than 4 s" in result.end
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["SIGKILL", "SIGTERM", "SIGINT"])
def test_killed_at_any_moment_there_is_no_half_file_under_the_name(which: signal.Signals, tmp_path: Path) -> None:
    target, partial = tmp_path / "paper.pdf", 0

    def slowly(connection: socket.socket) -> None:
        connection.sendall(head(f"Content-Length: {len(BODY)}"))
        for start in range(0, len(BODY), 100_000):
            connection.sendall(BODY[start : start + 100_000])
            time.sleep(0.01)

    with serving(slowly) as server:
        for moment in range(20):
            with started(server.base, target) as process:
                time.sleep(0.03 * moment)
                process.send_signal(which)
                process.communicate(timeout=60)
            left = set(os.listdir(tmp_path))
            partial += ".paper.pdf.tmp" in left
            assert left <= {"paper.pdf", ".paper.pdf.tmp"}
            assert not target.exists() or target.read_bytes() == BODY, "half a file has the name"
            if which == signal.SIGINT:
                assert ".paper.pdf.tmp" not in left, "Ctrl-C left litter"
            target.unlink(missing_ok=True)
        assert partial or which == signal.SIGINT, "no kill fell into the download: the drill proves nothing"
        assert not ended(server.base, target).end.startswith("cannot")
    assert os.listdir(tmp_path) == ["paper.pdf"]
    assert target.read_bytes() == BODY


GOOD = [
    head("Content-Length: 11", "Content-Type: application/pdf") + b"%PDF-1.7 ok",
    head("Transfer-Encoding: chunked") + b"4\r\n%PDF\r\n7;x=y\r\n-1.7 ok\r\n0\r\nA: b\r\n\r\n",
    head("Content-Encoding: gzip") + gzip.compress(b"%PDF-1.7 ok" * 50, mtime=0),
    head("Location: http://a.example/x?y#z", status="302 Found"),
    head("Retry-After: 3", status="503 Later"),
]


@MANY
@given(
    answer=st.sampled_from(GOOD),
    edits=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 5), st.binary(max_size=6)), max_size=6),
    cut=st.one_of(st.none(), st.integers(0, 200)),
)
def test_no_damaged_answer_breaks_it_or_leaves_litter(
    answer: bytes,
    edits: list[tuple[int, int, bytes]],
    cut: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    for place, gone, new in edits:
        answer = answer[:place] + new + answer[place + gone :]
    folder = tmp_path_factory.getbasetemp() / "damaged"
    folder.mkdir(exist_ok=True)
    with serving(sends(answer[:cut]), says(b"", status="404 Not Found")) as server, suppress(DownloadError):
        fetch_url(
            f"http://a.example:{server.port}/",
            str(folder / "paper.pdf"),
            DownloadLimits(100_000, 5, 1),
            resolve=lambda host, port: ["127.0.0.1"] if port == server.port else [],
            private=True,
            sleep=lambda pause: None,
        )
    assert set(os.listdir(folder)) <= {"paper.pdf"}
