"""What the loop works with, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from phases.acceptance.chain import Chain
from phases.acceptance.todo_list.todos import Todo
from phases.acceptance.tool_hooks import ToolHooks
from phases.agent.memory import Memory
from phases.agent.supervisor_adapter import Supervisor
from phases.agent.tool_runner import ToolRunner
from phases.llm.conversation import Conversation


@dataclass
class RunTodos:
    """The list of one run."""

    todos: tuple[Todo, ...] = ()
    turn: int = 0


@dataclass
class AgentState:
    """What the loop works with."""

    conversation: Conversation
    memory: Memory
    hands: ToolRunner
    chain: Chain
    tool_hooks: ToolHooks
    supervised: Supervisor
    most_turns: int
    most_continues: int
    todo_list: RunTodos
    deadline: float | None = None
    """time.monotonic() after which no further turn begins."""
    on_turn: Callable[[str], None] = lambda what: None
    """Told what was done in a turn; not of turns that the journal answered."""
    say: Callable[[str], None] = lambda what: None
    """Told what a person should still see later."""
    said: list[str] = field(default_factory=list)
    """What hooks said for the model when this start began."""
    keep_ending: Callable[[int, str], object] = lambda number, tree: None
    """Keeps the workspace at a refusal: which one it is, and the digest of what was judged."""
    characters: int = 0
    """Of the reply that is on its way."""
    recent: list[tuple[str, bool]] = field(default_factory=list)
    """The last calls: name, and whether they failed."""


@dataclass(frozen=True)
class Ending:
    """How the loop ended."""

    stop_reason: str
    """One of acceptance/stop_reasons.py."""
    turns: int
    verification: dict[str, Any]
    detail: str = ""
