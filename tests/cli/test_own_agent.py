"""`--agent CMD`: an agent of the user's own writes the code, and is judged like any other."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from phases.agent.agent_command import AgentCommand
from tests.papers import Command
from tests.work import wait_until

WORDS = "Build a queue that keeps its items on the disk. It must survive a crash of the process."
AGENT = '''"""A stand-in: its first work fails its own tests, and what it is told mends it."""
import os, pathlib, sys, time

prompt = open(sys.argv[1]).read() if sys.argv[1:] else sys.stdin.read()
with open(os.environ["RUNS"], "a") as runs:
    runs.write(f"{os.getpid()}\\n")
files = next(line for line in open("../initial_plan.txt") if "path:" in line) and [
    line.split("path:")[1].strip() for line in open("../initial_plan.txt") if line.strip().startswith("- path:")
]
for path in files:
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text('"""A part of the queue."""\\n')
if os.path.exists(os.environ["RUNS"] + ".wait"):
    time.sleep(60)
NEW = "\\n"
wrong = 0 if "acceptance-feedback" in prompt else 1
module = next(path for path in files if path.endswith("config.py"))
code = "".join(f'def meet_r{n}(count):\\n    """R{n}, page 1."""\\n    return count * {n + 1} + {n}\\n\\n\\n' for n in (1, 2))
pathlib.Path(module).write_text(f'"""The queue."""\\n\\n\\n{code}')
main = next(path for path in files if path.endswith("__main__.py"))
pathlib.Path(main).write_text('"""Says what it is."""\\nimport argparse\\nargparse.ArgumentParser().parse_args()\\n')
tests = "".join(
    f'    def test_r{n}(self):{NEW}        """R{n}."""{NEW}        '
    f"self.assertEqual(config.meet_r{n}(3), {3 * (n + 1) + n + wrong}){NEW}{NEW}"
    for n in (1, 2)
)
start = f'"""Tests."""{NEW}import unittest{NEW}from {module.partition("/")[0]} import config{NEW}{NEW}{NEW}'
start += f"class Tests(unittest.TestCase):{NEW}"
pathlib.Path(next(path for path in files if path.startswith("tests/test"))).write_text(start + tests)
print("written; the key is", os.environ.get("SOME_API_KEY"))
'''


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "agent.py").write_text(AGENT)
    return Command(tmp_path, RUNS=str(tmp_path / "runs"), SOME_API_KEY="k-0123456789abcdef")


def agent(command: Command, *words: str) -> tuple[str, str]:
    return "--agent", " ".join([sys.executable, str(command.folder / "agent.py"), *words])


def runs_of(command: Command) -> list[int]:
    path = command.folder / "runs"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="its prompt on stdin"),
        pytest.param(("{prompt}",), id="its prompt in a file"),
    ],
)
def test_what_is_refused_is_its_next_prompt_and_then_it_is_accepted(words: tuple[str, ...], command: Command) -> None:
    ended = command("chat", "--fast", WORDS, "--id", "queue", *agent(command, *words))
    assert ended.code == 0, ended.err
    assert "Task queue: completed." in ended.out
    assert "with your own rights: nothing of it is in the sandbox" in ended.err
    first, second = (command.task("queue") / "logs" / f"agent-{turn}.prompt.md" for turn in (1, 2))
    assert "build_queue_keeps/config.py" in first.read_text()
    assert second.read_text().startswith("<acceptance-feedback attempt=")
    assert "FAILED (failures=2)" in second.read_text()
    assert len(runs_of(command)) == 2
    attempts = command("show", "queue", "acceptance", "--json").json()
    assert "internal:code" in json.dumps(attempts)


@pytest.mark.slow
def test_its_work_is_not_done_twice_and_its_task_remembers_it(command: Command) -> None:
    assert command("chat", "--fast", WORDS, "--id", "queue", *agent(command)).code == 0
    assert command("resume", "queue").code == 0
    assert len(runs_of(command)) == 2
    settings = command.document("queue", "task.json")["settings"]
    assert settings["code_model"].startswith("agent:")


@pytest.mark.slow
def test_no_key_of_the_user_is_in_any_file(command: Command) -> None:
    assert command("chat", "--fast", WORDS, "--id", "queue", *agent(command)).code == 0
    holds = [
        path for path in command.task("queue").rglob("*") if path.is_file() and b"0123456789abcdef" in path.read_bytes()
    ]
    assert holds == []
    assert "written; the key is" in (command.task("queue") / "logs" / "agent-1.out").read_text()


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.slow), pytest.param(signal.SIGKILL, id="kill -9")],
)
def test_it_ends_with_the_run_and_goes_on_with_it(number: signal.Signals, command: Command) -> None:
    (command.folder / "runs.wait").touch()
    with command.start("chat", "--fast", WORDS, "--id", "queue", *agent(command)) as process:
        wait_until(lambda: runs_of(command), "the agent runs")
        process.send_signal(number)
        process.communicate(timeout=60)
    wait_until(lambda: not os.path.exists(f"/proc/{runs_of(command)[0]}"), "nothing of the agent is left")
    (command.folder / "runs.wait").unlink()
    ended = command("resume", "queue")
    assert ended.code == 0, ended.err
    assert not list(command.task("queue").glob("generate_code.prev*")), "what it had written was not put aside"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("exit 3", "ended with exit code 3", marks=pytest.mark.slow),
        ("A=1 sh -c no-such-agent", "ended with exit code 127 ("),
    ],
)
def test_an_agent_that_fails_ends_the_run_with_its_words(line: str, told: str, command: Command) -> None:
    ended = command("chat", "--fast", WORDS, "--id", "queue", "--agent", line)
    assert (ended.code, told in ended.err, "logs/agent-1.out" in ended.err) == (1, True, True)
    assert command("resume", "queue", *agent(command)).code == 0


@pytest.mark.slow
def test_a_task_of_somebody_else_starts_no_agent(command: Command) -> None:
    assert command("chat", "--fast", WORDS, "--id", "queue", "--until", "plan").code == 0
    path = command.task("queue") / "task.json"
    task = json.loads(path.read_text())
    evil = command.folder / "evil"
    task["settings"]["code_model"] = f"agent:touch {evil}"
    path.write_text(json.dumps(task))
    ended = command("resume", "queue")
    assert ended.code == 3, ended.err
    assert not evil.exists()


def test_it_writes_code_and_plans_nothing(command: Command) -> None:
    ended = command("chat", "--fast", WORDS, "--plan-model", "agent:true")
    assert (ended.code, "writes code, and does nothing else" in ended.err) == (2, True)
    ended = command("chat", "--fast", WORDS, "--agent", "true", "--code-model", "offline")
    assert (ended.code, "give one of them" in ended.err) == (2, True)


def test_a_program_that_is_not_there_is_told_before_anything_is_planned(command: Command) -> None:
    ended = command("chat", "--fast", WORDS, "--agent", "no-such-agent -p")
    assert (ended.code, "the program no-such-agent was not found" in ended.err) == (2, True)
    assert not (command.folder / "tasks").exists()


@pytest.mark.slow
def test_models_says_whether_it_is_there(command: Command) -> None:
    assert "with your own rights" in command("models", PIPELINE_CODE_MODEL="agent:sh -c true").out
    ended = command("models", PIPELINE_CODE_MODEL="agent:no-such-agent -p")
    assert "the program no-such-agent was not found" in ended.out + ended.err


def test_what_others_write_meanwhile_does_not_hide_the_agents_program(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def grow(directory: str) -> int:
        measured.append(directory)
        return len(os.listdir(directory))

    monkeypatch.setattr("phases.sandbox.watch.measure_disk_use", grow)
    for name, reachable in (("agent:sh -c true", True), ("agent:A=1 sh", True), ("agent:no-such-program", False)):
        assert AgentCommand(name, os.environ).check().reachable is reachable
    assert len(measured) >= 3
    assert os.path.sep not in measured
