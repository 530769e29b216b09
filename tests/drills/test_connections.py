"""Every connection of a run, recorded: docs/privacy.md names them all.

strace follows the command with all its children. What a sandbox tries of itself (a socket of this machine, which must be refused)
goes to the loopback; it is the one connection of a run without a model.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drills import scenes
from tests.drills.faults import need_strace
from tests.drills.ground import Ground
from tests.llm_server import LlmServer

pytestmark = pytest.mark.slow

_CALL = re.compile(
    r"\b(?:connect|sendto|sendmsg|sendmmsg)\(.*?"
    r"(?:sin6?_port=htons\((\d+)\).*?\"([0-9a-f.:]+)\"|sun_path=\"([^\"]*)\")"
)
_NAMES_OF_USERS = "/var/run/nscd/socket"
"""Where the C library looks up users, if there is such a service."""


def _connections(ground: Ground, codes: Sequence[int]) -> set[tuple[str, int]]:
    """Where a command connected to or sent something: address and port, or the path of a socket and 0."""
    need_strace()
    log = ground.base / "connections"
    strace = [shutil.which("strace") or "strace", "-f", "-qq", "-s", "200", "-o", str(log)]
    ended = ground.call(before=[*strace, "-e", "trace=connect,sendto,sendmsg,sendmmsg"], patience=200)
    assert ended.code in codes, ended.err
    found = set()
    for match in _CALL.finditer(log.read_text(errors="backslashreplace")):
        found.add((match[2], int(match[1])) if match[2] else (match[3], 0))
    return found


def _outside(found: set[tuple[str, int]], *allowed: int) -> set[tuple[str, int]]:
    """What is neither the loopback nor allowed there: with ports, these alone."""
    names = {_NAMES_OF_USERS}
    return {
        (place, port)
        for place, port in found
        if place not in names and not (place in ("127.0.0.1", "::1") and (not allowed or port in allowed))
    }


def test_a_fast_run_connects_to_nobody(tmp_path: Path) -> None:
    ground = replace(scenes.paper(tmp_path, tools=True), arguments=("run", "--fast", "paper.md"))
    assert _outside(_connections(ground, (3,))) == set()


def test_a_full_run_on_folders_of_the_user_s_connects_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "ours" / "encoders").mkdir(parents=True)
    (tmp_path / "ours" / "encoders" / "model.py").write_text("SIZE = 1\n")
    words = ("run", "--full", "paper.md", "--references", str(tmp_path / "ours"), "--review", "auto")
    assert _outside(_connections(Ground(tmp_path, arguments=words, text=scenes.PAPER), (0, 3))) == set()


def test_a_full_run_asks_the_servers_of_the_repositories_that_the_paper_links_and_no_other(tmp_path: Path) -> None:
    text = scenes.PAPER + "\n[2] A. Author. Code. https://192.0.2.7/author/code\n"
    text = text.replace("## 3 Exp", "Our code is at https://192.0.2.7/author/code.\n\n## 3 Exp")
    ground = Ground(
        tmp_path,
        arguments=("run", "--full", "paper.md", "--review", "auto", "--allow-own-code"),
        text=text,
        extra={"PIPELINE_PRIVATE_ADDRESSES": "allowed"},
    )
    outside = _outside(_connections(ground, (0, 3)))
    assert outside <= {("192.0.2.7", 443)}
    assert "192.0.2.7" in (ground.task / "reference.txt").read_text()


def test_a_run_with_a_model_connects_to_its_server_alone(tmp_path: Path) -> None:
    with LlmServer(scenes.Voice()) as server:
        base = scenes.modelled(tmp_path, "--model", "compatible:tiny", "--base-url", server.base_url)
        words = (*base.arguments, "--context-tokens", "32000")
        found = _connections(replace(base, arguments=words), (0, 3))
        port = int(server.host.rpartition(":")[2])
        assert ("127.0.0.1", port) in found
        assert _outside(found) == set()
        assert server.asked > 5
