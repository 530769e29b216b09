"""State of one run, facts that reach it from outside, and the protocols of its observers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from phases.acceptance.chain import Chain
from phases.acceptance.protected_files import CHECKSUMS
from phases.acceptance.todos import Todo, apply_change
from phases.agent.memory import Memory
from phases.agent.session import FACTS
from phases.agent.tool_runner import ToolCallStep, ToolRunner
from phases.llm.conversation import Conversation
from phases.llm.journal import Journal
from phases.llm.model import Finite, Reply, ToolCall

if TYPE_CHECKING:  # few runs have one
    from phases.reproduction.attempts import Attempt

WINDOW, SAID = "window", "said"
"""Kinds of journal rows: another window of the model, and words of hooks for the model."""
HOOKS_SAY = "A hook of the user says: "
_MOST_RECENT = 20


class AgentEvents(Protocol):
    """Observer of a run. It changes nothing in the run and is not called during replay."""

    def begin_turn(self, turn: int) -> None:
        """Begin a turn, also one that is replayed."""

    def end_turn(self, turn: int, what: str, interfaces: Mapping[str, str]) -> None:
        """End a turn that was not replayed. `interfaces`: of every file written so far."""

    def working(self, what: str) -> None:
        """Report work that takes a while; it need not stay on the screen."""

    def receiving(self, characters: int) -> None:
        """Report how many characters of a reply have arrived."""

    def say(self, line: str) -> None:
        """Report a line that stays on the screen."""

    def rejected(self, number: int, tree_sha256: str) -> None:
        """Report the `number`-th refusal of the workspace in its present state."""


class Supervisor(Protocol):
    """Watches over a run: see supervisor_adapter.py."""

    turn: int

    @property
    def acts(self) -> bool:
        """Return whether it may intervene in a run that goes wrong."""

    @property
    def may_refuse(self) -> bool:
        """Return whether it may refuse a call of this turn."""

    def news(self) -> dict[str, Any]:
        """Return facts from outside that are not yet in the journal; empty if there are none."""

    def ingest(self, news: Mapping[str, Any], live: bool) -> None:
        """Take in such facts. `live`: they come from this start of the run."""

    def brief(self) -> str:
        """Return a message to the model for its next turn only."""

    def refuse(self, call: ToolCall) -> str:
        """Return why a call is refused; empty if it is not."""

    def observe(self, call: ToolCall, result: Mapping[str, Any]) -> None:
        """Take in the result of the call passed to `refuse` last."""

    def end_turn(self, reply: Reply, verdict: Mapping[str, Any] | None) -> str:
        """End a turn and return a line for the user. Raises Paused to stop the run."""

    def close(self, stop_reason: str, detail: str, *, ended: bool = False) -> None:
        """Write down how the run ended. Raises StorageError where it has `ended` and that cannot be kept."""


class Unsupervised:
    """Stands for the supervisor of a run that has none."""

    turn, acts, may_refuse = 0, False, False

    def news(self) -> dict[str, Any]:
        return {}

    def ingest(self, news: Mapping[str, Any], live: bool) -> None: ...

    def brief(self) -> str:
        return ""

    def refuse(self, call: ToolCall) -> str:
        return ""

    def observe(self, call: ToolCall, result: Mapping[str, Any]) -> None: ...

    def end_turn(self, reply: Reply, verdict: Mapping[str, Any] | None) -> str:
        return ""

    def close(self, stop_reason: str, detail: str, *, ended: bool = False) -> None: ...


@dataclass(frozen=True)
class Fact:
    """Something from outside that a run learns between two turns. The journal has it before the run goes by it."""

    kind: str
    turn: int
    content: Callable[[], dict[str, Any]]
    """Returns the new content; empty if there is none. Not called during replay."""
    ingest: Callable[[Mapping[str, Any], bool], None]
    """Takes the content in, and whether it is from this start of the run."""

    def is_due(self, journal: Journal) -> bool:
        """Return whether this fact is the next step of the run."""
        return journal.next_kind == self.kind if journal.replaying else bool(self.content())

    def record(self, journal: Journal) -> None:
        """Record the fact or replay it, then apply it."""
        live = not journal.replaying
        self.ingest(journal.replay_or_record(self.kind, {"turn": self.turn}, self.content), live)


@dataclass
class RunTodos:
    todos: tuple[Todo, ...] = ()
    turn: int = 0


@dataclass
class AgentState:
    conversation: Conversation
    memory: Memory
    tools: ToolRunner
    chain: Chain
    supervisor: Supervisor
    events: AgentEvents
    most_turns: int
    most_continues: int
    todo_list: RunTodos
    deadline: float | None = None
    """time.monotonic() after which no further turn begins."""
    hook_messages: list[str] = field(default_factory=list)
    """Messages of hooks to the model at this start."""
    recent: list[tuple[str, bool]] = field(default_factory=list)
    """The last calls: name, and whether they failed."""
    attempt: Attempt | None = None
    """Results of the paper's tables, for the model once its work is accepted."""
    holds: Callable[[Ending], bool] = lambda ending: True
    """Returns whether the verdict of an ending still applies to the current work."""

    @property
    def replaying(self) -> bool:
        """Return whether the next step is replayed from the journal."""
        return self.conversation.journal.replaying

    @property
    def is_model_over(self) -> bool:
        """Return whether the model is finished: a scaffold, or a recording at its end."""
        model, thread = self.conversation.model, self.conversation.thread
        return isinstance(model, Finite) and model.is_over(thread, self.conversation.turn + 1)

    def pending_facts(self) -> Iterator[Fact]:
        """Yield the facts that are due before the next turn; record each before asking for the next.

        During replay the journal gives their order, otherwise the order below applies.
        """
        turn, journal = self.conversation.turn, self.conversation.journal
        self.supervisor.turn = turn + 1
        facts = (
            Fact(WINDOW, turn, self._other_window, lambda row, live: self.memory.widen(row["window"])),
            Fact(CHECKSUMS, turn + 1, self._added_checksums, lambda row, live: self.chain.added.clear()),
            Fact(SAID, turn, self._hook_texts, self._pin_hook_texts),
            Fact(FACTS, turn + 1, self.supervisor.news, self.supervisor.ingest),
        )
        while fact := next((fact for fact in facts if fact.is_due(journal)), None):
            yield fact

    def observe(self, step: ToolCallStep, result: dict[str, Any]) -> None:
        """Take in the result of a call from its journal row."""
        call, failed = step.call, bool(result["failed"])
        self.supervisor.observe(call, result)
        pictures = self.tools.load_pictures(result)
        self.memory.observed(call.id, ("error: " if failed else "") + result["text"], result["files"], pictures)
        if call.name == "TodoWrite" and not failed:
            self.todo_list.todos = apply_change(self.todo_list.todos, call.arguments)
        self.recent = [*self.recent, (call.name, failed)][-_MOST_RECENT:]

    def report_turn(self, what: str) -> None:
        """Report a turn unless it is replayed."""
        if not self.replaying:
            self.events.end_turn(self.conversation.turn, what, self.memory.interfaces)

    def _other_window(self) -> dict[str, Any]:
        """Return the window if another model continues or the user changed the size."""
        window = self.conversation.model.window
        return {} if window == self.memory.window else {"window": window}

    def _added_checksums(self) -> dict[str, Any]:
        return {"pins": dict(self.chain.added)} if self.chain.added else {}

    def _hook_texts(self) -> dict[str, Any]:
        return {"texts": list(self.hook_messages)} if self.hook_messages else {}

    def _pin_hook_texts(self, row: Mapping[str, Any], live: bool) -> None:
        self.hook_messages = []
        self.memory.pin("hooks", "\n".join(f"{HOOKS_SAY}{text}" for text in row["texts"]))


@dataclass(frozen=True)
class Ending:
    stop_reason: str
    """One of acceptance/stop_reasons.py."""
    turns: int
    verification: dict[str, Any]
    detail: str = ""
    feedback: str = ""
    """Message to the model if the work continues."""
