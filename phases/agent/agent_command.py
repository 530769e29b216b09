"""An agent of the user's own as the model that writes the code: a command that is run in the workspace, once a turn.

It gets a prompt, and the plan, the paper and the workspace as files. What it leaves goes through the same checks as anybody's
work, and what they refuse is its next prompt. It runs with the user's rights: nothing of it is in the sandbox.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from shlex import quote
from tempfile import TemporaryDirectory

from phases.agent.prompt import DATA, code_rules, describe_work, parse_first_messages
from phases.llm.model import FATAL, OK, Message, Reachability, Reply, Request
from phases.llm.redaction import redact_value
from phases.sandbox.box import OFF, Box, CommandResult, Limits
from phases.sandbox.commands import run_command
from pipeline.base.files import make_directory, write_without_sync

_PLACE = "{prompt}"
_LOGS = "logs"
_SECONDS = 6 * 3600.0
_LIMITS = Limits(memory=64 << 30, processes=1024, disk=64 << 30, file=16 << 30)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST_SECRET, _LONGEST_REPLY = 8, 4000
_FIRST = """{work}. The current directory is the workspace, where all code goes.

- ../initial_plan.txt is the plan (YAML), ../paper.md the whole {source}. Change neither. {data}
- Write these files, in this order, whole: {write}
- A file that is there already was written from an earlier plan (../plan_versions has those): change the files named here as far
  as this plan wants it, and others where they use or test what changed.
- Packages that may be imported beside the standard library: {packages}.
{rules}

Finishing:
- What you really cannot implement raises an error that says so. A stub is never called done.
- When every file is written, run the plan's verify_commands and fix what fails. Then end. Checks decide whether it is done:
  what fails is your next prompt, or advice, once. Leave .pipeline and whatever decides there as it is.
"""


class AgentCommand:
    """A command that writes the code. What it costs is between the user and whoever runs it: here it is 0."""

    window = 10**9
    priced = True
    reports_cost = False

    def __init__(self, name: str, environment: Mapping[str, str], workspace: str = "", *, forbidden: str = "") -> None:
        """`name` is agent:COMMAND; `environment` is the user's own, which the command finds; `workspace` is where it runs;
        `forbidden` are addresses that it is told not to fetch, which is all that can be done about it."""
        self._forbidden = forbidden
        command = name.partition(":")[2]
        self.name, self.detail = name, f"runs `{command}` with your own rights"
        self._command, self._environment, self._workspace = command, dict(environment), workspace
        secrets = (value for name, value in environment.items() if _SECRET.search(name))
        self.secrets = tuple(value for value in secrets if len(value) >= _SHORTEST_SECRET)

    def in_workspace(self, workspace: str) -> AgentCommand:
        """Return this command, run in a directory."""
        return AgentCommand(self.name, self._environment, workspace, forbidden=self._forbidden)

    def ask(self, request: Request) -> Reply:
        task = os.path.dirname(self._workspace)
        make_directory(os.path.join(task, _LOGS))
        prompt = os.path.join(task, _LOGS, f"agent-{request.turn}.prompt.md")
        write_without_sync(prompt, _build_prompt(request, self._forbidden).encode())
        with_prompt = self._command.replace(_PLACE, quote(prompt))
        line = with_prompt if _PLACE in self._command else f"{{ {self._command}\n}} < {quote(prompt)}"
        result = run_command(
            Box(self._workspace, OFF, limits=_LIMITS), line, seconds=_SECONDS, variables=self._environment
        )
        output = str(redact_value(result.output, secrets=self.secrets))
        log = os.path.join(_LOGS, f"agent-{request.turn}.out")
        write_without_sync(os.path.join(task, log), output.encode("utf-8", "replace"))
        return _read_ending(self._command, result, output, log)

    def check(self) -> Reachability:
        program = self._program()
        # an empty directory: what others write beside it is no growth of this command's
        with TemporaryDirectory() as empty:
            result = run_command(Box(empty, OFF), f"type -- {program}", variables=self._environment)
        if result.exit_code == 0:
            return Reachability(True, self.detail)
        if result.exit_code is None:
            return Reachability(False, f"{program} could not be looked for: {' '.join(result.output.split())}")
        return Reachability(False, f"the program {program} was not found; install it, or name another with --agent")

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return 0.0

    def _program(self) -> str:
        # a variable may be set before it: A=1 program
        return quote(next((word for word in self._command.split() if "=" not in word), ""))


def _build_prompt(request: Request, forbidden: str) -> str:
    """Return the prompt: the task in the first turn, later the messages since the last reply."""
    messages = request.messages
    since = next((place for place in range(len(messages), 0, -1) if messages[place - 1].role == "assistant"), 0)
    if since:
        return _join_texts(messages[since:])
    plan, write = parse_first_messages(messages)
    given = json.loads(messages[1].text)
    is_request = "request" in given
    source = "request" if is_request else "paper"
    prompt = _FIRST.format(
        work=describe_work(plan, is_request=is_request),
        source=source,
        data=DATA.format(source=source),
        write=", ".join(write) or "none; they are there",
        packages=", ".join(given["packages_installed"]) or "none",
        rules=code_rules(plan, is_request=is_request),
    )
    if required := given.get("required_by_the_user"):
        prompt += f"- {required}\n"
    if forbidden:
        prompt += (
            f"- Fetch nothing from these addresses, and no copy of what is there: {', '.join(forbidden.split())}\n"
        )
    refused = [message for message in messages[2:] if message.role == "user" and "acceptance-feedback" in message.text]
    return prompt + (f"\n{_join_texts(refused)}" if refused else "")


def _join_texts(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.text for message in messages if message.role == "user") + "\n"


def _read_ending(command: str, result: CommandResult, output: str, log: str) -> Reply:
    last = " ".join(output[-_LONGEST_REPLY:].split())
    if result.exit_code == 0:
        return Reply(OK, last or "It ended without a word.")
    how = f"ended with exit code {result.exit_code}" if result.exit_code is not None else "was stopped"
    return Reply(
        FATAL, detail=f"the agent `{command}` {how} ({last[-200:] or 'without a word'}); all that it said is in {log}"
    )
