"""`pipeline mcp`, used by the official client of the protocol, over the real process."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.papers import ROOT, Command, paper

TOOLS = ["resume", "review", "run", "search", "show", "status", "trace", "why"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    paper(tmp_path)
    return Command(tmp_path)


def serve(command: Command, work: Callable[[Client], Awaitable[None]]) -> None:
    """Does some work with a client of the server, which is a process of its own."""
    line = StdioServerParameters(
        command=sys.executable, args=["-m", "pipeline", "mcp"], env=command.environment, cwd=str(command.folder)
    )

    async def talk() -> None:
        with anyio.fail_after(120):
            async with Client(line) as client:
                await work(client)

    anyio.run(talk)


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers. Raises ValueError with its words where it failed."""
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(part, "text", "") for part in result.content)
    if result.is_error:
        raise ValueError(text)
    return text


async def wait_for(client: Client, task: str, status: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while True:
        told: dict[str, Any] = json.loads(await call(client, "status", task=task))
        if told["status"] == status and not told["holder"]:
            return told
        assert time.monotonic() < until, told
        await anyio.sleep(0.1)


def test_a_paper_is_planned_looked_at_approved_and_written_by_tools_alone(command: Command) -> None:
    async def work(client: Client) -> None:
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == TOOLS
        began = json.loads(await call(client, "run", source="paper.md", until="plan"))
        assert (began["task"], began["status"]) == ("paper", "running")
        told = await wait_for(client, "paper", "paused")
        assert [row["name"] for row in told["phases"] if row["status"] == "done"][-1] == "plan"
        assert "We minimize the cross-entropy loss" in await call(client, "show", task="paper", document="plan")
        assert "plan_review" in await call(client, "why", task="paper")
        assert "is approved" in await call(client, "review", task="paper", decision="approve")
        await call(client, "resume", task="paper")
        await wait_for(client, "paper", "incomplete")
        assert "R1" in await call(client, "trace", task="paper")
        assert "R1 " in await call(client, "trace", task="paper", requirement="R1")
        resource = await client.read_resource("task://paper/paper")
        assert "# Slow Waiting for Everyone" in getattr(resource.contents[0], "text", "")

    serve(command, work)


def test_a_run_goes_on_when_the_server_has_ended(command: Command) -> None:
    async def work(client: Client) -> None:
        await call(client, "run", source="paper.md")

    serve(command, work)
    until = time.monotonic() + 60
    while not (command.task("paper") / "report.json").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert command.document("paper", "report.json")["status"] == "incomplete"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("run", {"source": "nothing.pdf"}, "nothing.pdf does not exist", marks=pytest.mark.slow),
        pytest.param(
            "run",
            {"source": "paper.md", "model": "agent:touch evil"},
            "named by the user alone",
            marks=pytest.mark.slow,
        ),
        ("resume", {"task": "paper-9"}, "there is no task 'paper-9'"),
        pytest.param("show", {"task": "--help"}, "there is no task '--help'", marks=pytest.mark.slow),
        pytest.param("show", {"task": "../../etc", "document": "passwd"}, "there is no task", marks=pytest.mark.slow),
        ("status", {"task": "-nobody"}, "there is no task"),
        pytest.param("trace", {"task": "x", "requirement": "--html=evil"}, "there is no task", marks=pytest.mark.slow),
        ("review", {"task": "x", "decision": "--edit"}, "decision must be approve or reject"),
        pytest.param("search", {"task": "x", "query": "--json"}, "there is no task", marks=pytest.mark.slow),
    ],
)
def test_what_fails_is_told_in_its_own_words(tool: str, arguments: dict[str, Any], told: str, command: Command) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(ValueError, match=told):
            await call(client, tool, **arguments)

    serve(command, work)
    assert not [name for name in os.listdir(command.folder) if name.startswith("evil")]


@pytest.mark.slow
def test_a_task_that_is_at_work_is_told_and_not_started_twice(command: Command) -> None:
    from pipeline.engine.lock import lock_task

    assert command("run", "--fast", "paper.md", "--until", "intake").code == 0

    async def work(client: Client) -> None:
        with lock_task(str(command.task("paper"))):
            told = json.loads(await call(client, "resume", task="paper"))
            assert (told["status"], "process" in told["holder"]) == ("running", True)

    serve(command, work)
    assert not (command.task("paper") / "logs" / "mcp.out").exists()


def test_without_the_extra_its_name_is_told(command: Command) -> None:
    away = command.folder / "away"
    (away / "mcp").mkdir(parents=True)
    (away / "mcp" / "__init__.py").write_text("raise ImportError('away')\n")
    ended = command("mcp", PYTHONPATH=str(away))
    assert (ended.code, f"pip install -e '{ROOT}[mcp]'" in ended.err) == (2, True)
