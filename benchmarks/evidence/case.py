"""A case of evidence: a small workspace with its requirements, and what a judge of it may or must say."""

from textwrap import dedent
from typing import NamedTuple

RUNGS = ("missing", "named", "stubbed", "executed", "tested", "guarded")
STATUSES = ("incomplete", "warning", "completed")


class Case(NamedTuple):
    """One workspace; what `expected` and `status` mean (at most, at least) is said in the file that holds the case."""

    name: str
    kind: str  # the class of fake, or the kind of project
    requirements: list[dict[str, str]]  # id, kind and text
    files: dict[str, str]  # path in the workspace: content
    verify: str  # a shell command, run in the workspace
    user_tests: dict[str, str]  # laid over the workspace, the verify command runs them too; hidden from the agent
    expected: dict[str, str]  # requirement id: rung
    status: str


def requirement(number: str, kind: str, words: str) -> dict[str, str]:
    """One requirement of the plan."""
    return {"id": number, "kind": kind, "text": words}


def text(content: str) -> str:
    """A file's content, written indented between two lines of quotes."""
    return dedent(content).removeprefix("\n")
