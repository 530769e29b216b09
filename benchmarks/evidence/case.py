"""A case of evidence: a small workspace with its requirements."""

from collections.abc import Mapping
from textwrap import dedent
from typing import NamedTuple


class Case(NamedTuple):
    """One workspace."""

    name: str
    kind: str  # the class of fake, or the kind of project
    requirements: list[dict[str, str]]  # id, kind and text
    files: dict[str, str]  # path in the workspace: content
    verify: str  # a shell command, run in the workspace
    user_tests: Mapping[str, str] = {}  # path in a directory of the user's own tests: content


def requirement(number: str, kind: str, words: str) -> dict[str, str]:
    """One requirement of the plan."""
    return {"id": number, "kind": kind, "text": words}


def text(content: str) -> str:
    """A file's content, written indented between two lines of quotes."""
    return dedent(content).removeprefix("\n")
