"""What a model is to the agent: messages and tools in, one reply out. Adapters live beside this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from pipeline.errors import PhaseError, UsageError


@dataclass(frozen=True)
class ToolCall:
    """One call that a model asks for."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One entry of the transcript. `role` is system, user, assistant or tool; a tool message answers the call `call_id`."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True)
class Reply:
    """What a model said. `outcome` is ok, or the kind of failure (architecture.md, section 6); only ok becomes content."""

    outcome: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    detail: str = ""


@runtime_checkable
class Model(Protocol):
    """Anything that answers."""

    name: str
    detail: str

    def ask(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        """One reply to the transcript so far. A failure is a reply too, with its outcome."""
        ...


class _Opens(Protocol):
    """The part of a phase's context that is needed here."""

    @property
    def open_model(self) -> Any: ...


def open_model(name: str) -> Model:
    """The adapter for a model's name. Raises UsageError for one that is not known."""
    if name == "offline":
        from phases.agent.offline import OfflineModel

        return OfflineModel()
    if name.startswith("replay:"):
        from phases.agent.replay import ReplayModel

        return ReplayModel(name.removeprefix("replay:"))
    raise UsageError(f"there is no model '{name}'; known: offline, replay:FILE")


def opened(ctx: _Opens) -> Model:
    """The model of a phase's context."""
    model = ctx.open_model()
    if not isinstance(model, Model):
        raise PhaseError("this phase needs a model, and the run was started without one")
    return model


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """A reply as the journal and recordings keep it."""
    return asdict(reply)


def reply_from_json(row: Mapping[str, Any]) -> Reply:
    """A reply from the journal or a recording."""
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in row["calls"])
    return Reply(**{**row, "calls": calls})
