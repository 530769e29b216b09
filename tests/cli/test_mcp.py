"""`pipeline mcp`, used by the official client of the protocol, over the real process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.papers import ROOT, Command, paper
from tests.work import HUNG, wait_until

if TYPE_CHECKING:
    from mcp import Client

TOOLS = ["resume", "review", "run", "search", "show", "status", "trace", "why"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    paper(tmp_path)
    return Command(tmp_path)


def serve(command: Command, work: Callable[[Client], Awaitable[None]], *flags: str, cwd: str = "") -> None:
    """Does some work with a client of the server, which is a process of its own."""
    from mcp import Client, StdioServerParameters  # 18 MB, not for each worker

    arguments = ["-m", "pipeline", "mcp", *flags]
    line = StdioServerParameters(
        command=sys.executable, args=arguments, env=command.environment, cwd=cwd or str(command.folder)
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


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The words of a tool that refuses; empty where it does not."""
    try:
        await call(client, tool, **arguments)
    except ValueError as error:
        return str(error)
    return ""


async def wait_for(client: Client, task: str, status: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with anyio.fail_after(HUNG):
        while (told.get("status"), told.get("holder")) != (status, None):
            await anyio.sleep(0.1)
            told = json.loads(await call(client, "status", task=task))
    return told


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

    serve(command, work, "--may-approve")


def test_a_run_goes_on_when_the_server_has_ended(command: Command) -> None:
    async def work(client: Client) -> None:
        await call(client, "run", source="paper.md")

    serve(command, work)
    wait_until((command.task("paper") / "report.json").exists, "the run ends")
    assert command.document("paper", "report.json")["status"] == "incomplete"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("run", {"source": "nothing.pdf"}, "nothing.pdf does not exist", marks=pytest.mark.slow),
        pytest.param(
            "run",
            {"source": "paper.md", "model": "agent:touch evil"},
            "only the user names an agent",
            marks=pytest.mark.slow,
        ),
        ("resume", {"task": "paper-9"}, "there is no task 'paper-9'"),
        pytest.param("show", {"task": "--help"}, "there is no task '--help'", marks=pytest.mark.slow),
        pytest.param(
            "show", {"task": "../../etc", "document": "passwd"}, "is a path, not the name", marks=pytest.mark.slow
        ),
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


# What the user allows

BEYOND: dict[str, tuple[str, str, dict[str, Any], str]] = {
    # what it is: (the settings file, the tool, its arguments, the limit that is named)
    "more money": ("max_usd: 1", "run", {"source": "paper.md", "max_usd": 500}, "max_usd is 1.0"),
    "a little more": ("max_usd: 1", "run", {"source": "typed: Build a queue.", "max_usd": 1.01}, "max_usd is 1.0"),
    "money of another task": ("max_usd: 1", "resume", {"task": "rich", "max_usd": 2}, "max_usd is 1.0"),
    "added money": ("max_usd: 12", "resume", {"task": "rich", "add_usd": 5}, "max_usd is 12.0"),
    "what a task may spend": ("max_usd: 9", "resume", {"task": "rich"}, "max_usd is 9.0"),
    "a task without a limit": ("max_usd: 9", "resume", {"task": "loose"}, "max_usd is 9.0"),
    "tokens": ("max_tokens: 100", "resume", {"task": "rich"}, "max_tokens is 100"),
    "turns": ("max_turns: 40", "run", {"source": "rich.md"}, "max_turns is 40"),
    "minutes": ("max_minutes: 3", "resume", {"task": "rich"}, "max_minutes is 3"),
    "seconds of a command": ("command_seconds: 60", "resume", {"task": "rich"}, "command_seconds is 60"),
    "nobody is asked": ("review: ask", "resume", {"task": "rich"}, "review is ask"),
    "nobody is asked of a change": ("review: file", "review", {"task": "rich", "change": "more"}, "review is file"),
    "no sandbox": ("", "resume", {"task": "loose"}, "sandbox is required"),
}


def test_the_limits_of_the_users_settings_hold_for_every_call(command: Command) -> None:
    paper(command.folder, name="rich.md")
    limits = ("--max-usd", "10", "--max-tokens", "500", "--max-minutes", "9", "--review", "auto")
    assert command("run", "--fast", "rich.md", "--until", "plan", *limits).code == 0
    assert (
        command("run", "--fast", paper(command.folder, name="loose.md"), "--until", "intake", "--unsandboxed").code == 0
    )

    async def work(client: Client) -> None:
        for name, (settings, tool, arguments, limit) in BEYOND.items():
            where = command.configure(settings)
            told = await refusal(client, tool, **arguments)
            assert limit in told, f"{name}: {told}"
            assert (str(where) in told) == bool(settings), name
        command.configure("max_usd: 12\nreview: auto\nmax_turns: 400")
        assert "up to date" not in await call(client, "run", source="paper.md", max_usd=0.5, until="intake")
        assert not await refusal(client, "resume", task="rich", add_usd=2, until="plan")

    serve(command, work)
    assert sorted(os.path.basename(path.parent) for path in command.folder.glob("tasks/*/task.json")) == [
        *("loose", "paper", "rich")
    ]
    assert command.document("paper", "task.json")["settings"]["max_usd"] == 0.5
    assert command.document("rich", "task.json")["settings"]["max_usd"] == 12


def test_a_limit_that_a_variable_sets_is_named_by_the_variable(command: Command) -> None:
    command.environment["PIPELINE_MAX_USD"] = "1"

    async def work(client: Client) -> None:
        assert "max_usd is 1.0 in PIPELINE_MAX_USD" in await refusal(client, "run", source="paper.md", max_usd=2)

    serve(command, work)


@pytest.mark.parametrize("flags", [(), ("--may-approve",)], ids=["without the flag", "with it"])
def test_a_plan_is_approved_only_where_the_user_allows_that(flags: tuple[str, ...], command: Command) -> None:
    assert command("run", "--fast", "paper.md", "--review", "file").code == 5

    async def work(client: Client) -> None:
        told = await refusal(client, "review", task="paper", decision="approve")
        assert ("pipeline review paper --approve" in told, "--may-approve" in told) == (not flags, not flags)
        assert (command.task("paper") / "plan_decision.json").exists() == bool(flags)
        if not flags:
            assert "is rejected" in await call(client, "review", task="paper", decision="reject")
            assert "noted" in await call(client, "review", task="paper", change="Use two queues.")

    serve(command, work, *flags)


@pytest.mark.parametrize("task", ["../elsewhere/paper", "/tmp/tasks/paper", "tasks/paper", ".."])
def test_a_path_is_not_the_name_of_a_task(task: str, command: Command) -> None:
    async def work(client: Client) -> None:
        for tool in ("resume", "status", "why", "show", "trace", "review"):
            assert "is a path, not the name of a task" in await refusal(client, tool, task=task), tool

    serve(command, work)


def test_an_agent_of_the_users_own_is_started_only_where_the_user_allows_that(command: Command) -> None:
    paper(command.folder, name="mine.md")
    assert command("run", "--fast", "mine.md", "--until", "plan", "--agent", "touch evil").code == 0

    async def work(client: Client) -> None:
        assert "code_model is agent:touch evil" in await refusal(client, "resume", task="mine")
        assert "pipeline mcp --may-run-agent" in await refusal(client, "resume", task="mine", model="offline")
        command.configure('code_model: "agent:touch evil"')
        assert "code_model is agent:touch evil" in await refusal(client, "run", source="paper.md")
        assert "only the user names an agent" in await refusal(client, "resume", task="mine", model="agent:touch evil")

    serve(command, work)
    assert not (command.folder / "tasks" / "paper").exists()
    assert not list(command.folder.rglob("evil"))

    async def allowed(client: Client) -> None:
        await call(client, "resume", task="mine")
        with anyio.fail_after(HUNG):
            while not list(command.folder.rglob("evil")):
                await anyio.sleep(0.1)

    serve(command, allowed, "--may-run-agent")
    assert list(command.folder.rglob("evil"))


def test_papers_come_from_the_directories_that_the_user_names(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mine, other, outside = (tmp_path_factory.mktemp(name) for name in ("mine", "other", "outside"))
    for folder in (mine, other, outside):
        paper(folder)
    (mine / "inside.md").symlink_to(other / "paper.md")
    (mine / "leads-out.md").symlink_to(outside / "paper.md")
    (mine / "bundle").mkdir()
    paper(mine / "bundle")
    (mine / "bundle" / "addendum.md").symlink_to("/etc/passwd")
    (mine / "down").symlink_to(outside)
    refused = [
        *("paper.md", str(outside / "paper.md"), "/etc/passwd", str(mine / ".." / outside.name / "paper.md")),
        *(str(mine / name) for name in ("leads-out.md", "bundle", "down", "down/paper.md", "../nothing.md")),
        *(f"{mine}-not/paper.md", "file:///etc/passwd", "ftp://example.org/a.pdf", "~/paper.md", "", "."),
    ]

    async def work(client: Client) -> None:
        for source in refused:
            assert "is not a source that an assistant may name" in await refusal(client, "run", source=source), source
        for path in (mine / "paper.md", mine / "inside.md", other / "paper.md"):
            assert not await refusal(client, "run", source=str(path), until="intake"), path
        for source in ("typed: Build a queue.", "arXiv:2401.01234", "https://127.0.0.1:9/paper.pdf"):
            assert "is not a source" not in await refusal(client, "run", source=source, until="environment"), source

    serve(command, work, "--papers", str(mine), "--papers", str(other))
    held = b"".join(path.read_bytes() for path in command.folder.glob("tasks/*/source/**/*") if path.is_file())
    assert b"root:" not in held


def test_without_such_a_directory_it_is_the_one_that_the_server_was_started_in_but_never_the_root(
    command: Command,
) -> None:
    async def work(client: Client) -> None:
        assert not await refusal(client, "run", source="paper.md", until="intake")
        assert "is not a source" in await refusal(client, "run", source="/etc/passwd")

    serve(command, work)

    async def at_root(client: Client) -> None:
        told = await refusal(client, "run", source=str(command.folder / "paper.md"))
        assert "in no directory of this machine" in told

    serve(command, at_root, "--tasks-dir", str(command.folder / "tasks"), cwd="/")
    ended = command("mcp", "--papers", "nowhere")
    assert (ended.code, "there is no such directory" in ended.err) == (2, True)


def test_a_run_that_is_refused_at_once_returns_its_refusal(command: Command) -> None:
    (command.folder / "users").write_text("a:x:0:0:/a:/bin/sh\nb:x:1:1:/b:/bin/sh\nc:x:1:1:/c\n")
    (command.folder / ".netrc").write_text("machine a.example login b password c\n")
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("run", {"source": "users"}, "a file whose name has no ending like"),
        ("run", {"source": ".netrc"}, "passwords"),
        ("run", {"source": "paper.md", "until": "nonsense"}, "nonsense"),
        ("run", {"source": "paper.md", "model": "nobody:nothing"}, "nobody"),
        ("resume", {"task": "done", "add_usd": 2}, "--add-usd raises the limit max_usd"),
        ("resume", {"task": "done", "max_usd": -1}, "--max-usd"),
    ]
    assert command("run", "--fast", paper(command.folder, name="done.md"), "--until", "intake").code == 0

    async def work(client: Client) -> None:
        for tool, arguments, words in refused:
            assert words in await refusal(client, tool, **arguments), arguments
        assert json.loads(await call(client, "resume", task="done", until="intake"))["status"] == "paused"

    serve(command, work)


def test_without_the_extra_its_name_is_told(command: Command) -> None:
    away = command.folder / "away"
    (away / "mcp").mkdir(parents=True)
    (away / "mcp" / "__init__.py").write_text("raise ImportError('away')\n")
    ended = command("mcp", PYTHONPATH=str(away))
    assert (ended.code, f"pip install -e '{ROOT}[mcp]'" in ended.err) == (2, True)
