"""What other readers make of a PDF: each one as a process of its own, in a virtual environment made on demand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass

SECONDS = 600
_PYPDFIUM2 = """
import sys, pypdfium2
pages = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(sys.argv[1])]
with open(sys.argv[2], "w", encoding="utf-8", errors="replace") as file:
    file.write("\\n\\n".join(pages).replace("\\r\\n", "\\n"))
"""
_MARKITDOWN = """
import sys, markitdown
text = markitdown.MarkItDown().convert(sys.argv[1]).text_content
with open(sys.argv[2], "w", encoding="utf-8", errors="replace") as file:
    file.write(text)
"""
_PYMUPDF4LLM = """
import sys, pymupdf4llm
text = pymupdf4llm.to_markdown(sys.argv[1], show_progress=False)
with open(sys.argv[2], "w", encoding="utf-8", errors="replace") as file:
    file.write(text)
"""


@dataclass(frozen=True)
class Peer:
    """Another reader: a program that is there or not, or a Python script and what is to be installed for it.

    `markdown` says that a `#` at the start of a line means a heading.
    """

    name: str
    program: str = ""
    script: str = ""
    needs: str = ""
    markdown: bool = False


BARE = Peer("pypdfium2", script=_PYPDFIUM2, needs="pypdfium2>=5,<6")
"""Plain text extraction and nothing else: what a time is compared with."""
PEERS = {
    peer.name: peer
    for peer in (
        Peer("pdftotext", program="pdftotext"),
        BARE,
        Peer("markitdown", script=_MARKITDOWN, needs="markitdown[pdf]", markdown=True),
        # From 2.0 on the package of this name is empty: the code moved.
        Peer("pymupdf4llm", script=_PYMUPDF4LLM, needs="pymupdf4llm<2", markdown=True),
    )
}


@dataclass(frozen=True)
class Extract:
    """The text that a peer wrote, and how long its process took. Without a text: why there is none."""

    text: str
    seconds: float
    failure: str = ""


class Peers:
    """The peers that can be had, below one folder, and what they wrote, each paper read once."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self._folder = folder
        self._read: dict[tuple[str, str], Extract] = {}
        os.makedirs(folder, exist_ok=True)
        self._commands = {name: command for name in names if (command := self._installed(PEERS[name]))}
        self._bare = self._commands.get(BARE.name) or self._installed(BARE)

    @property
    def names(self) -> list[str]:
        """Those that are there."""
        return list(self._commands)

    def extract(self, name: str, path: str) -> Extract:
        """What a peer makes of a paper; the second time it is not asked again."""
        if (name, path) not in self._read:
            self._read[name, path] = self._run(self._commands[name], path)
        return self._read[name, path]

    def bare_text(self, path: str) -> str:
        """The plain text of a paper, by the bare extraction."""
        return self.timed_bare(path).text if BARE.name not in self._commands else self.extract(BARE.name, path).text

    def timed_bare(self, path: str) -> Extract:
        """The bare extraction, run now."""
        return self._run(self._bare, path) if self._bare else Extract("", 0.0, f"{BARE.name} is not there")

    def _run(self, command: Sequence[str], path: str) -> Extract:
        output = os.path.join(self._folder, "output.txt")
        if os.path.exists(output):
            os.unlink(output)
        started = time.perf_counter()
        try:
            ended = subprocess.run(
                [*command, path, output], env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Extract("", float(SECONDS), f"took more than {SECONDS} s")
        seconds = time.perf_counter() - started
        if ended.returncode or not os.path.exists(output):
            return Extract("", seconds, f"ended with code {ended.returncode}")
        with open(output, encoding="utf-8", errors="replace") as file:
            return Extract(file.read(), seconds)

    def _installed(self, peer: Peer) -> list[str]:
        """The beginning of a peer's command, or nothing where it cannot be had, which is said."""
        if peer.program:
            found = shutil.which(peer.program)
            return [found] if found else _left_out(peer, "no such program")
        folder = os.path.join(self._folder, peer.name)
        python, ready = os.path.join(folder, "bin", "python"), os.path.join(folder, "ready")
        if not os.path.exists(ready):
            print(f"({peer.needs} is being installed)", file=sys.stderr, flush=True)
            try:
                venv.create(folder, with_pip=True, clear=True)
            except (OSError, subprocess.CalledProcessError) as error:
                return _left_out(peer, f"no virtual environment: {error}")
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.needs]
            ended = subprocess.run(pip, check=False, capture_output=True, text=True)
            if ended.returncode:
                return _left_out(peer, " ".join(ended.stderr.split())[-200:])
            with open(ready, "w", encoding="ascii") as file:
                file.write("installed\n")
        script = os.path.join(folder, "extract.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(peer.script)
        return [python, script]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.path.expanduser("~"), "LANG": "C.UTF-8"}


def _left_out(peer: Peer, reason: str) -> list[str]:
    print(f"({peer.name} is left out: {reason})", file=sys.stderr, flush=True)
    return []
