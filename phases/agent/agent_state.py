"""What the loop works with: the state of one run, the facts that reach it from outside, and whom it tells of its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from phases.acceptance.chain import Chain
from phases.acceptance.protected_files import CHECKSUMS
from phases.acceptance.todos import Todo, apply_change
from phases.agent.kernel_setting import FACTS
from phases.agent.memory import Memory
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
    """Is told of a run while it works. Nothing that it does changes the run, so one that is replayed tells nobody."""

    def begin_turn(self, turn: int) -> None:
        """A turn begins; also one that the journal answers."""

    def end_turn(self, turn: int, what: str, interfaces: Mapping[str, str]) -> None:
        """A turn was done, and not answered by the journal. `interfaces`: of every file that is written by now."""

    def working(self, what: str) -> None:
        """Something that takes a while, and need not stay on the screen."""

    def receiving(self, characters: int) -> None:
        """So many characters of a reply have come."""

    def say(self, line: str) -> None:
        """Something that a person should still see later."""

    def rejected(self, number: int, tree_sha256: str) -> None:
        """The work was not accepted, for the `number`-th time, as it stands in the workspace now."""


class Supervisor(Protocol):
    """Watches over a run: see supervisor_adapter.py."""

    turn: int

    @property
    def acts(self) -> bool:
        """Whether it may do something about a run that goes wrong."""

    @property
    def may_refuse(self) -> bool:
        """Whether it may keep back a call of this turn."""

    def news(self) -> dict[str, Any]:
        """What it should learn from outside, and the journal does not say yet; empty where that is nothing."""

    def ingest(self, news: Mapping[str, Any], live: bool) -> None:
        """Learns it. `live`: it comes from this start of the run, and not from an earlier one."""

    def brief(self) -> str:
        """What the model is told for its next turn alone."""

    def refuse(self, call: ToolCall) -> str:
        """Why a call must not be done; empty where it may."""

    def observe(self, call: ToolCall, result: Mapping[str, Any]) -> None:
        """Learns what came of the call that it was asked about last."""

    def end_turn(self, reply: Reply, verdict: Mapping[str, Any] | None) -> str:
        """Ends a turn; returns what a person should know of it. Raises Paused where it stops the run."""

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
    """What is new; empty where nothing is. Not asked while the journal answers."""
    ingest: Callable[[Mapping[str, Any], bool], None]
    """Takes the content in, and whether it is from this start of the run."""

    def is_due(self, journal: Journal) -> bool:
        """Whether it is the next step of the run."""
        return journal.next_kind == self.kind if journal.replaying else bool(self.content())

    def record(self, journal: Journal) -> None:
        """Writes it down, or takes it from where it was written down, and goes by it."""
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
    """What hooks said for the model when this start began."""
    recent: list[tuple[str, bool]] = field(default_factory=list)
    """The last calls: name, and whether they failed."""
    attempt: Attempt | None = None
    """What it is to hear of the paper's tables, once its work is accepted."""
    holds: Callable[[Ending], bool] = lambda ending: True
    """Whether the verdict that ended the work is still about the work as it is."""

    @property
    def replaying(self) -> bool:
        """Whether the next step is answered by the journal."""
        return self.conversation.journal.replaying

    @property
    def is_model_over(self) -> bool:
        """Whether the model has nothing more to say: a scaffold, or a recording that is at its end."""
        model, thread = self.conversation.model, self.conversation.thread
        return isinstance(model, Finite) and model.is_over(thread, self.conversation.turn + 1)

    def pending_facts(self) -> Iterator[Fact]:
        """What the run has to learn before its next turn, one by one; each is to be recorded before the next is asked for.

        While the journal answers, it says which and in which order; then they come as below.
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
        """Learns what came of a call, from the journal's row of it."""
        call, failed = step.call, bool(result["failed"])
        self.supervisor.observe(call, result)
        pictures = self.tools.load_pictures(result)
        self.memory.observed(call.id, ("error: " if failed else "") + result["text"], result["files"], pictures)
        if call.name == "TodoWrite" and not failed:
            self.todo_list.todos = apply_change(self.todo_list.todos, call.arguments)
        self.recent = [*self.recent, (call.name, failed)][-_MOST_RECENT:]

    def report_turn(self, what: str) -> None:
        """Tells of a turn, unless it is only walked again."""
        if not self.replaying:
            self.events.end_turn(self.conversation.turn, what, self.memory.interfaces)

    def _other_window(self) -> dict[str, Any]:
        """Another model may go on with the work, or the user may have said how large the window is."""
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
    """What the model would be told, if it went on."""
