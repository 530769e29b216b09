"""Interface of a model: a request in, one reply out. The adapters are in adapters/."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from phases.llm.pictures import Picture
from pipeline.base.errors import PhaseError

OK = "ok"
TRUNCATED, REFUSED, EMPTY, MALFORMED = "truncated", "refused", "empty", "malformed"
OVERFLOW, RATE_LIMITED, UNAVAILABLE, TRANSIENT, FATAL = "overflow", "rate_limited", "unavailable", "transient", "fatal"
OUTCOMES = (OK, TRUNCATED, REFUSED, EMPTY, MALFORMED, OVERFLOW, RATE_LIMITED, UNAVAILABLE, TRANSIENT, FATAL)
"""Architecture, section 6: every reply is one of these, and only ok becomes content."""
MOST_TOKENS = 16_384
_BYTES_A_TOKEN = 3
_LONGEST_REPLY = 131_072
_notified: set[str] = set()
"""Models whose assumed window this process has reported."""


@dataclass(frozen=True)
class ToolCall:
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
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    """Parts before the text, as in the reply."""
    pictures: tuple[Picture, ...] = ()
    """Pictures of a message of a user or a tool. A model that sees none gets a line of words for each."""

    @cached_property
    def digest(self) -> bytes:
        calls = [[call.id, call.name, dict(call.arguments)] for call in self.calls]
        parts = [self.role, self.text, calls, self.call_id, *([dict(self.reasoning)] if self.reasoning else [])]
        parts += [picture.sha256 for picture in self.pictures]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()

    @cached_property
    def tokens(self) -> int:
        calls = sum(tokens_of(json.dumps(dict(call.arguments))) + 10 for call in self.calls)
        reasoning = tokens_of(json.dumps(dict(self.reasoning))) if self.reasoning else 0
        return tokens_of(self.text) + calls + reasoning + sum(picture.tokens for picture in self.pictures) + 4


@dataclass(frozen=True)
class Request:
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    """name, description, parameters (a JSON schema) each."""
    schema: Mapping[str, Any] | None = None
    """Schema for the reply as one JSON value; left out for a server without that feature."""
    most_tokens: int = MOST_TOKENS
    """Length limit: a longer reply is cut off and unusable."""
    thread: str = ""
    """Conversation: plan, implement, or explore-… for a sub-agent. Not sent."""
    turn: int = 1
    """Turn of the conversation. Not sent."""
    on_text: Callable[[int], None] = lambda characters: None
    """Called while the reply arrives, with the number of its characters so far."""
    on_words: Callable[[str, str], None] = lambda kind, piece: None
    """Called with each piece of it that a person can read, and what it is of: text, reasoning, arguments."""
    effort: str = ""
    """Thinking effort: none, low, medium or high; empty: the vendor's default. Left out for a server that does not know it."""
    flex: bool = False
    """True if a slower answer at a lower price will do. Left out for a server without such a tariff for the model."""
    lasting: Sequence[int] = ()
    """Positions of messages up to which later questions will be the same: where a cache mark is worthwhile."""
    most_usd: float = 0.0
    """Maximum cost of all tries of this question together; 0: no limit. Not sent."""
    worst_usd: float = 0.0
    """Maximum cost of one try. Not sent."""
    answered_before: bool = False
    """True if the model answered before in this task: a lost connection is then an outage, not a wrong address. Not sent."""
    on_wait: Callable[[float, str], None] = lambda seconds, detail: None
    """Called before a wait, with its seconds and why the server could not answer."""


@dataclass(frozen=True)
class Reply:
    """Reply of a model. `outcome` is one of OUTCOMES; `detail` describes a fault in one line for the user."""

    outcome: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    """All tokens of the request, including those from the provider's cache."""
    tokens_cached: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    detail: str = ""
    wait: float | None = None
    """Delay in seconds that the server asks for, of rate_limited, unavailable and transient."""
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    """The model's thoughts, if the server sends them: returned to it word for word (reasoning.py)."""
    room: int = 0
    """Room of a reply that was cut off during thinking; else 0."""
    limit: int = 0
    """Longest reply by the server, of a request refused for that; else 0."""
    window: int = 0
    """Window by the server, of a request that was too long; else 0."""


class Room(NamedTuple):
    """Limits of a reply in tokens, thinking included."""

    first: int = 0
    """0: as most_tokens says."""
    most: int = _LONGEST_REPLY
    """Limit if the first was used up in thinking."""


class Reachability(NamedTuple):
    """Result of a check whether a model can be asked."""

    reachable: bool
    detail: str
    """The server, or what is wrong with the setting and what to type."""


class Model(Protocol):
    """Anything that answers."""

    name: str
    """Name as in the setting `model`."""
    detail: str
    """Description of the model and its server for the user."""
    secrets: tuple[str, ...]
    """Keys that no file may contain. Replies are free of them already; other texts are not."""
    priced: bool
    """True if the price of a call is known beforehand."""
    reports_cost: bool
    """True if the server states each reply's cost. Without that or a price, no budget in money can be kept."""

    @property
    def window(self) -> int:
        """Return the tokens that request and reply may have together."""
        ...

    def ask(self, request: Request) -> Reply:
        """Ask for one reply. A failure is a reply too, with its outcome; only Interrupted is raised."""
        ...

    def check(self) -> Reachability:
        """Check whether the model can be asked, without cost, within seconds."""
        ...

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of so many tokens in US dollars; 0.0 if it is unknown."""
        ...


@runtime_checkable
class Finite(Protocol):
    """A model with a limited supply of replies: rules that write a scaffold, or a recording."""

    def is_over(self, thread: str, turn: int) -> bool:
        """Return whether the model has no reply for this turn, so that a refusal cannot be fixed."""
        ...


@runtime_checkable
class AssumesWindow(Protocol):
    """Model without a configured window: its server may state one, and another one tomorrow."""

    def assumes_window(self) -> bool:
        """Return whether the server states no window either, so that the usual one of this model is assumed."""
        ...

    def take_window(self, window: int) -> None:
        """Take the window that recorded work was begun with, where the user says none."""
        ...

    def learn_window(self, window: int) -> None:
        """Record the window that the server named for an oversized request: an upper bound for what was known."""
        ...


def notify_assumed_window(model: Model, tell: Callable[[str], None]) -> None:
    """Report once that a window is assumed, and how to set it. Raises PhaseError if it is unknown."""
    if isinstance(model, AssumesWindow) and model.assumes_window() and model.name not in _notified:
        _notified.add(model.name)
        tell(f"{model.name}: {describe_assumed_window(model.window)}")


def describe_assumed_window(window: int) -> str:
    return (
        f"its server does not say its context window; taking {window:,} tokens, as models of that name usually have (say it "
        "with --context-tokens N, or context_tokens in the settings file)"
    )


def describe_unknown_window(name: str) -> str:
    return (
        f"{name}: the context window is not known, and the server does not say it; say how many tokens the server was "
        "started with: --context-tokens N, or context_tokens in the settings file"
    )


def dearest(model: Model, tokens_in: int) -> float:
    """Return the cost of a request whose tokens all go into the provider's cache, which may cost more."""
    price = getattr(model, "dearest", None)
    return float(price(tokens_in)) if callable(price) else model.price(tokens_in, 0)


def sees_pictures(model: Model) -> bool:
    """Return whether the model can be shown pictures, as far as that is known."""
    return getattr(model, "sees", False) is True


def describe_pictures(message: Message) -> Message:
    """Return the message with its pictures in words."""
    told = [f"[{picture.describe()}, and you are shown none]" for picture in message.pictures]
    return replace(message, text="\n".join([message.text, *told]), pictures=()) if told else message


def room_of(model: Model) -> Room:
    """Return the reply limits that the model states, or the defaults."""
    room = getattr(model, "room", None)
    return room if isinstance(room, Room) else Room()


@runtime_checkable
class _Asks(Protocol):
    """The part of a model that nothing else has."""

    def ask(self, request: Request) -> Reply: ...

    def check(self) -> Reachability: ...


class _OpensModel(Protocol):
    """The part of a phase's context that is needed here."""

    @property
    def open_model(self) -> Any: ...


def require_model(ctx: _OpensModel) -> Model:
    model = as_model(ctx.open_model())
    if model is None:
        raise PhaseError("this phase needs a model, and the run was started without one")
    return model


def as_model(value: object) -> Model | None:
    """Return the value if it is a model. Its window is not read: that may ask a server, and fail."""
    return cast("Model", value) if isinstance(value, _Asks) else None


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text, on the high side: tokenizers differ, and none is available here."""
    return len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN + 1


def most_tokens(window: int) -> int:
    """Return the longest reply if request and reply share a window."""
    return min(MOST_TOKENS, window // 4)


def message_of(reply: Reply) -> Message:
    return Message("assistant", reply.text, reply.calls, reasoning=reply.reasoning)


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as journal and recordings keep it; rare fields are present only if set."""
    calls = [{"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in reply.calls]
    row = {**vars(reply), "calls": calls}
    return {name: value for name, value in row.items() if value or name not in _RARE}


_RARE = ("reasoning", "room", "limit", "window")
OWNER = "model"
"""Key of `reasoning` with its owner: another model cannot check a signature, and may refuse it."""
BESIDE = ("model", "about", "prompt")
"""Journal keys next to a reply: its model, its purpose, and the version of its prompt."""


def reply_from_json(row: Mapping[str, Any]) -> Reply:
    """Return a reply from the journal or a recording."""
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in row["calls"])
    told = row.get("reasoning")
    reasoning = told if isinstance(told, dict) else {}
    kept = {name: value for name, value in row.items() if name not in BESIDE}
    return Reply(**{**kept, "calls": calls, "reasoning": reasoning})


DEEPEST = 64
"""Levels of lists and objects: no tool has use for more, and whoever walks them later must get to the bottom."""


def is_deep(value: object) -> bool:
    """Return whether a JSON value has more levels than that, without recursion."""
    level = [value]
    for _ in range(DEEPEST):
        level = [child for each in level for child in _child_values(each) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _child_values(value: object) -> list[object]:
    return [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
