"""Says what the input of a run costs with Anthropic's prompt cache, in parts of what it would cost without.

    python benchmarks/agent/prompt_cache.py [--seconds-a-call N] [--least TOKENS] [--by-request]

The recorded run of examples/averaged-perceptron is done again; each question is put into the body that Anthropic would be
sent, and the bodies are priced by the rules of its cache: an entry is written at each of at most four breakpoints (1.25 times
the price), found at a breakpoint or up to 20 blocks before one (a tenth of the price), from a least length on, for five minutes
since it was last used. Nothing is sent. Tokens are the bytes of a block's JSON over four: near enough for a part of a whole,
and the least length is the only place where their absolute number matters.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLE = os.path.join(ROOT, "examples", "averaged-perceptron")
sys.path.insert(0, ROOT)

from phases.llm.adapters.anthropic_messages import _build_body
from phases.llm.adapters.replay import ReplayModel
from phases.llm.error_classification import Server
from phases.llm.model import Reply, Request
from pipeline.cli import main as pipeline

SERVER = Server("anthropic", "api.anthropic.com", "a-model")
READ, WRITTEN, LIFETIME, LOOKS_BACK, MOST_BREAKPOINTS = 0.1, 1.25, 300.0, 20, 4
BODIES = "bodies.jsonl"


class Block(NamedTuple):
    """A part of a request, in the order in which the cache reads it: tools, system, messages."""

    digest: str
    """Of all up to here."""
    tokens: float
    marked: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds-a-call", type=float, default=20.0)
    parser.add_argument("--least", type=int, default=1024)
    parser.add_argument("--by-request", action="store_true")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.record:
        record()
    bodies = recorded_bodies()
    cached: dict[str, float] = {}
    paid = whole = 0.0
    for number, body in enumerate(bodies):
        blocks = blocks_of(body)
        size, cost, read = priced(blocks, cached, number * chosen.seconds_a_call, chosen.least)
        paid, whole = paid + cost, whole + size
        if chosen.by_request:
            marks = sum(block.marked for block in blocks)
            print(f"{number + 1:>4}: {size:>8,.0f} tokens, {read:>8,.0f} read, {marks} breakpoints, {cost / size:.2f}")
    print(
        f"{len(bodies)} questions, about {whole:,.0f} tokens of input: {paid / whole:.3f} of the price without a cache"
    )


def recorded_bodies() -> list[dict[str, Any]]:
    """What Anthropic would be sent, in order."""
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".bench-") as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        argv = [sys.executable, os.path.abspath(__file__), "--record"]
        told = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if told.returncode not in (0, 3):  # incomplete: the questions were asked all the same
            sys.exit(f"the recorded run failed:\n{told.stderr[-2000:]}")
        with open(os.path.join(folder, BODIES), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def record() -> None:
    """The recorded run, in the current directory; each body is a line of a file."""
    answer = ReplayModel.ask

    def ask(model: ReplayModel, request: Request) -> Reply:
        with open(bodies, "a", encoding="utf-8") as file:
            file.write(json.dumps(_build_body(SERVER, request, eager=True)) + "\n")
        return answer(model, request)

    ReplayModel.ask, bodies = ask, os.path.abspath(BODIES)  # type: ignore[method-assign]
    replies, paper = os.path.join(EXAMPLE, "replies.jsonl"), os.path.join(EXAMPLE, "paper.pdf")
    pipeline(["run", "--fast", paper, "--review", "auto", "--model", f"replay:{replies}"])


def blocks_of(body: Mapping[str, Any]) -> list[Block]:
    """The request, cut where a breakpoint may stand."""
    parts = [("tools", tool) for tool in body.get("tools", ())] + [("system", part) for part in body.get("system", ())]
    for message in body["messages"]:
        parts += [(message["role"], part) for part in message["content"]]
    blocks, before = list[Block](), hashlib.sha256()
    for place, part in parts:
        text = json.dumps([place, {name: value for name, value in part.items() if name != "cache_control"}])
        before.update(text.encode())
        blocks.append(Block(before.hexdigest(), len(text) / 4, "cache_control" in part))
    assert sum(block.marked for block in blocks) <= MOST_BREAKPOINTS
    return blocks


def priced(blocks: list[Block], cached: dict[str, float], now: float, least: int) -> tuple[float, float, float]:
    """Of one request: its tokens, what they cost in prices of one token, and how many were read. Updates what is cached."""
    sizes = [sum(block.tokens for block in blocks[: place + 1]) for place in range(len(blocks))]
    marks = [place for place, block in enumerate(blocks) if block.marked and sizes[place] >= least]
    near = {place for mark in marks for place in range(max(0, mark - LOOKS_BACK), mark + 1)}
    hits = [place for place in near if now - cached.get(blocks[place].digest, -LIFETIME) < LIFETIME]
    read = sizes[max(hits)] if hits else 0.0
    written = max(0.0, sizes[marks[-1]] - read) if marks else 0.0
    for place in [*marks, *([max(hits)] if hits else [])]:
        cached[blocks[place].digest] = now
    return sizes[-1], read * READ + written * WRITTEN + (sizes[-1] - read - written), read


if __name__ == "__main__":
    main()
