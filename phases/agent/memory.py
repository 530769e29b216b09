"""Build the model context: the plan, interfaces of written files and recent turns, cut to the window.

The turns that wrote the last files stay whole if they fit; older files are shown as interfaces. The beginning never changes
and additions come last, for the provider's prompt cache. All of it follows from the journal alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from phases.agent.interfaces import outline_of
from phases.agent.prompt import REQUIRED, build_system, describe_next_file, without_result
from phases.agent.session import Session
from phases.llm.journal import digest_of
from phases.llm.model import OVERFLOW, TRUNCATED, Message, Reply, describe_pictures, message_of, most_tokens, tokens_of
from phases.llm.pictures import Picture
from phases.planning.model.material import strip_invisible
from phases.readers.kinds import REQUIREMENT
from phases.readers.markdown import PAGE_MARK
from pipeline.base.errors import FormatError, PhaseError
from pipeline.base.formats import parse_markdown
from pipeline.base.logs import logger

_KEPT_WHOLE = 2
_SHORT = 60
_PART_FOR_PAPER = 6
"""Sections of the paper may take this fraction of the room."""
_PART_FOR_FILES, _MOST_FOR_FILES = 3, 60_000
"""Turns that wrote sound files may take this fraction of the room, and this many tokens."""
_MOST_PICTURES = 16
_SHRINK = 0.6
_LONGEST_TOLD = 2000
_WRITING = ("Write", "Edit")
_TELLING = ("file_path", "command", "pattern", "description")
_HEADING = re.compile(r"#{1,6} +(\S.*)")
_FENCE = "```"
_FRONT = "---"


class _FileTurns(NamedTuple):
    """Turns that wrote a file."""

    messages: list[Message]
    sections: frozenset[str]
    """Titles of the paper sections shown in them."""
    paths: frozenset[str]
    """Files written in them."""

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.messages)


class Memory:
    """The transcript of one implementation."""

    def __init__(
        self, plan: Mapping[str, Any], begun: Session, tools: Sequence[Mapping[str, Any]], *, paper: str = ""
    ) -> None:
        """`paper` is the text of paper.md."""
        request = _read_request(paper)
        self._sections = [] if request else split_paper(paper)
        self._plan, self._open, self._first_time, self._kept = plan, list(begun.write), set(begun.write), begun.kept
        self._tools = digest_of(json.dumps(list(tools), sort_keys=True))
        self._tools_size = tokens_of(json.dumps(list(tools)))
        self.window, self._room = begun.window, 0
        self.widen(begun.window)
        self._references, self._plan_changes = begun.references, begun.changed
        self._head = first_messages(plan, begun, self._room, request)
        self._written = {path: Message("user", text) for path, text in begun.kept.items()}
        self._changed: dict[str, Message] = {}
        self._outlines: dict[str, Message] = {}
        self._done: list[_FileTurns] = []
        """The last files that are sound, whole."""
        self._step: list[Message] = []
        self._step_sections: frozenset[str] = frozenset()
        self._step_paths: set[str] = set()
        self._pinned: dict[str, Message] = {}
        self._feedback: Message | None = None
        self._recent: list[list[Message]] = []
        self._step_is_over = False
        self._shown: list[Message] = []
        self._aside: list[Message] = []
        self.forgotten = 0
        """Number of times turns were dropped; their content must be shown again when needed."""
        self._begin_step()

    @property
    def target(self) -> str:
        """Return the next file to write; empty if all exist."""
        return self._open[0] if self._open else ""

    @property
    def interfaces(self) -> dict[str, str]:
        """Return the interface of each written file by path, in the order of writing."""
        return {path: message.text for path, message in {**self._written, **self._changed}.items()}

    def widen(self, window: int) -> None:
        """Set the window: another model continues, or the user changed the size."""
        self.window, self._brief = window, False
        self._room = window - most_tokens(window) - self._tools_size

    def messages(self, aside: str = "") -> list[Message]:
        """Return the next request; `aside` is part of it alone. Raises PhaseError if the plan does not fit the window."""
        self._aside = [Message("user", aside)] if aside else []
        size = self._look()
        # From what costs the model least to what costs it most; each step only where the one before was not enough.
        for reduce in (
            self._leave_out_files,
            self._leave_out_results,
            self._leave_out_paper,
            self._shorten,
            self._shorten_all,
            self._outline,
        ):
            if size <= self._room:
                break
            logger.debug("{} tokens, and room for {}: {}", size, self._room, reduce.__name__.strip("_"))
            reduce()
            size = self._look()
        if size > self._room:
            raise PhaseError(
                f"the plan and the turn at hand need about {size:,} tokens, and the model has room for {self._room:,}: "
                "continue with a model that has a larger one (--code-model), or say how large it is (context_tokens)"
            )
        return self._shown

    @property
    def lasting(self) -> tuple[int, ...]:
        """Indexes up to which the next requests begin like this one: plan, interfaces, turns of the current file."""
        # Providers cache a prefix: a mark is worth its price only where later questions begin alike (decision 134).
        interfaces = len(self._head) + len(self._interfaces())
        turns = interfaces + len(self._finished()) + len(self._step) + sum(map(len, self._recent))
        return len(self._head) - 1, interfaces - 1, turns - 1

    def digest(self) -> str:
        """Return the sha256 of the last messages() and the tools."""
        return digest_of(b"".join([self._tools, *[message.digest for message in self._shown]])).hex()

    def heard(self, reply: Reply) -> None:
        """Begin a turn with a reply."""
        self._recent.append([message_of(reply)])

    def rejected(self, feedback: str) -> None:
        """Add a refusal. The latest one is never dropped."""
        self.told(feedback)
        self._feedback = self._recent[-1][-1]

    def told(self, text: str) -> None:
        """Add a message to the model at the end of a turn."""
        if not self._recent:
            self._recent.append([])
        self._recent[-1].append(Message("user", text))

    def pin(self, name: str, text: str) -> None:
        """Keep a message in every request until another one of this name replaces it."""
        self._pinned[name] = Message("user", text)

    def observed(
        self, call_id: str, text: str, files: Mapping[str, Mapping[str, Any]], pictures: tuple[Picture, ...] = ()
    ) -> None:
        """Add the result of a call. `files`: `interface` and `sound` of each file written."""
        self._recent[-1].append(Message("tool", text, call_id=call_id, pictures=pictures))
        if pictures:
            self._leave_out_pictures()
        for path, state in files.items():
            self._changed[path] = Message("user", state["interface"])
            self._step_paths.add(path)
            if state["sound"]:
                self._open = [other for other in self._open if other != path]
                self._step_is_over |= path in self._first_time
                self._first_time.discard(path)
            elif path not in self._open:
                self._open.insert(0, path)

    def turn_over(self) -> bool:
        """End a turn. If it wrote a planned file, replace the oldest turns by interfaces as room requires."""
        if not self._step_is_over:
            return False
        self._step_is_over = False
        messages = [*self._step, *(message for turn in self._recent for message in turn)]
        self._done.append(_FileTurns(messages, self._step_sections, frozenset(self._step_paths)))
        self._recent.clear()
        self._step_paths.clear()
        # Half of them at once: a prefix that changes with each file would find nothing in a provider's cache (decision 190).
        most = min(self._room // _PART_FOR_FILES, _MOST_FOR_FILES)
        if sum(file.tokens for file in self._done) > most:
            while len(self._done) > 1 and sum(file.tokens for file in self._done) > most // 2:
                self._done.pop(0)
            self._keep_feedback()
            self._fold()
        self._begin_step()
        return True

    def useless(self, reply: Reply) -> None:
        """Take in an unusable reply, so that the next question differs."""
        if reply.outcome == OVERFLOW:
            size = self._look()
            if 0 < reply.window < self.window:
                self.widen(reply.window)
            # Where it should have fitted all the same, the tokens are denser than they were counted.
            self._room = self._room if self._room < size else int(size * _SHRINK)
        elif reply.outcome == TRUNCATED:
            self.told(
                "Your last reply was longer than is allowed and was cut off; nothing of it was used. Say less at once: write one "
                "file a reply, and a long file in parts, the first with Write and the others with Edit."
            )
        else:
            self.told(
                f"Your last reply could not be used: {reply.detail or reply.outcome}. Nothing of it was done. Reply again."
            )

    def _begin_step(self) -> None:
        if self._open:
            there = self.target in self._kept
            helps = (self._references or {}).get(self.target, ())
            next_file = describe_next_file(
                self._plan, self.target, len(self._open), there=there, helps=helps, changed=self._plan_changes
            )
            above = frozenset().union(*(file.sections for file in self._done))
            room = self._room // _PART_FOR_PAPER
            cited, self._step_sections = describe_sections(self._plan, self.target, self._sections, room, above)
            self._step = [Message("user", text) for text in (next_file, cited) if text]
        elif self.interfaces:
            self._step = [
                Message(
                    "user",
                    "Every planned file is written. Run the plan's checks unless they just passed; mend what fails.",
                )
            ]

    def _all(self) -> list[Message]:
        recent = (message for turn in self._recent for message in turn)
        rest = [*self._step, *recent, *self._pinned.values(), *self._aside]
        return [*self._head, *self._interfaces(), *self._finished(), *rest]

    def _finished(self) -> list[Message]:
        return [message for file in self._done for message in file.messages]

    def _interfaces(self) -> list[Message]:
        """Return the interface of every written file; if room is short, only names for unneeded ones."""
        if not self._brief:
            return list(self._written.values())
        row: Mapping[str, Any] = next((row for row in self._plan["file_structure"] if row["path"] == self.target), {})
        needed = {self.target, *row.get("depends_on", [])}
        return [
            message if path in needed else self._outlines.setdefault(path, Message("user", outline_of(message.text)))
            for path, message in self._written.items()
        ]

    def _look(self) -> int:
        """Assemble the next request and count its tokens."""
        self._shown = self._all()
        return sum([message.tokens for message in self._shown])

    def _keep_feedback(self) -> None:
        """Put the last refusal before the remaining turns if it was dropped with others."""
        shown = (message for turn in (self._finished(), *self._recent) for message in turn)
        if self._feedback is not None and not any(message is self._feedback for message in shown):
            self._recent.insert(0, [self._feedback])

    def _leave_out_files(self) -> None:
        """Drop the turns of written files; show the sections that the current file needs again."""
        if self._done:
            unread = "" if any(self._recent) else _results_in(self._done[-1].messages)
            self._done.clear()
            if unread:
                self._recent.append([Message("user", unread)])
            self._keep_feedback()
            self._fold()
            self._begin_step()

    def _leave_out_pictures(self) -> None:
        """Drop the oldest pictures beyond the number that vendors accept in one question."""
        turns = [*(file.messages for file in self._done), *self._recent]
        left = _MOST_PICTURES
        for turn in reversed(turns):
            for place in reversed(range(len(turn))):
                left -= len(turn[place].pictures)
                if turn[place].pictures and left < 0:
                    turn[place] = describe_pictures(turn[place])

    def _leave_out_results(self) -> None:
        for turn in self._recent[:-_KEPT_WHOLE]:
            turn[:] = [without_result(message) for message in turn]
        self.forgotten += 1

    def _leave_out_paper(self) -> None:
        """Drop the sections of the paper until the next file; quotes stay."""
        self._step, self._step_sections = self._step[:1], frozenset()

    def _fold(self) -> None:
        """Append changed interfaces to the unchanged ones, so that the cached prefix held until now."""
        whole = frozenset().union(*(file.paths for file in self._done))
        for path in [path for path in self._changed if path not in whole]:
            message = self._changed.pop(path)
            self._written.pop(path, None)
            self._outlines.pop(path, None)
            self._written[path] = message
        self.forgotten += 1

    def _shorten(self, kept: int = _KEPT_WHOLE) -> None:
        """Replace all but the last turns with one message that lists their calls and results."""
        old, self._recent = self._recent[:-kept], self._recent[-kept:]
        lines = [line for turn in old for line in _summarize_turn([row for row in turn if row is not self._feedback])]
        self._keep_feedback()
        if lines:
            self._recent.insert(0, [Message("user", "Earlier turns, in short:\n" + "\n".join(lines[-_SHORT:]))])
        self._fold()

    def _shorten_all(self) -> None:
        self._shorten(1)

    def _outline(self) -> None:
        self._brief = True


def first_messages(plan: Mapping[str, Any], begun: Session, room: int, request: str = "") -> list[Message]:
    """Return the transcript before the first turn: the system prompt, and one JSON object with the plan and what to write.

    `request` is the text of a request in plain words; empty for a paper.
    """
    machine = {"machine": begun.machine} if begun.machine else {}
    required = {"required_by_the_user": REQUIRED[begun.require]} if begun.require else {}
    asked = {"request": _fit_request(request, room // 4)} if request else {}
    write = {"write": list(begun.write), **({"may_need_a_change": list(begun.may_change)} if begun.may_change else {})}
    beside = {**asked, **write, "packages_installed": list(begun.packages), **machine, **required}
    plan = _with_named_results(plan)
    whole = json.dumps({"plan": plan, **beside}, ensure_ascii=False)
    if tokens_of(whole) > room // 2:
        whole = json.dumps({"plan": _without_quotes(plan), **beside}, ensure_ascii=False)
    system = build_system(plan, is_request=bool(request), has_references=begun.references is not None)
    return [Message("system", system), Message("user", whole)]


def describe_sections(
    plan: Mapping[str, Any], path: str, sections: Sequence[Section], room: int, above: Collection[str] = ()
) -> tuple[str, frozenset[str]]:
    """Return the paper sections that the next file's requirements cite, and their titles; empty if there are none.

    `above`: titles of sections already in the transcript.
    """
    row: Mapping[str, Any] = next((row for row in plan["file_structure"] if row["path"] == path), {})
    wanted = set(row.get("implements", []))
    new = [section for section in sections if section.title not in above]
    shown, left_out = cited_sections(new, [one for one in plan["requirements"] if one["id"] in wanted], room)
    if not shown and not left_out:
        return "", frozenset()
    rest = [f"section {one.title}: sed -n {one.first},{one.last}p ../paper.md" for one in left_out]
    excerpts = {"paper": [one.text for one in shown], **({"too_long_to_show": rest} if rest else {})}
    words = "What these requirements cite of the paper, whole, where it does not stand above already:\n"
    return words + json.dumps(excerpts, ensure_ascii=False), frozenset(one.title for one in shown)


def _fit_request(request: str, room: int) -> str:
    """Return a request, or as much of a long one as this many tokens of three bytes hold and where the rest is."""
    beginning = request.encode("utf-8", "replace")[: 3 * room].decode("utf-8", "ignore")
    return request if beginning == request else f"{beginning} … (whole: ../paper.md, {len(request):,} characters)"


def _with_named_results(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plan with its results as ids and labels, by table: the figures are targets that no code may hold."""
    tables: dict[str, list[str]] = {}
    for row in plan.get("expected_results", ()):
        labels = [row["row"], row["column"], *(row[name] for name in ("metric", "condition", "unit") if row.get(name))]
        tables.setdefault(row["table"], []).append(f"{row['id']}: {', '.join(labels)}")
    return {**plan, "expected_results": tables} if tables else plan


def _without_quotes(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan in short: a file's own requirements are shown in full when its turn comes."""
    return {
        **plan,
        "requirements": [
            {"id": row["id"], "kind": row["kind"], "text": row["text"][:160]} for row in plan["requirements"]
        ],
        "components": [],
    }


def _read_request(paper: str) -> str:
    """Return the whole text of a request in plain words; empty where paper.md is a paper."""
    try:
        document = parse_markdown(paper.encode())
    except FormatError:
        return ""
    if document.front.get("kind") != REQUIREMENT:
        return ""
    return PAGE_MARK.sub("", strip_invisible(document.text[document.body_start :])).strip()


def _results_in(turn: Sequence[Message]) -> str:
    """Return the last results other than writes, and the paths written; empty if there are none.

    The model has not read them yet when their turn is dropped.
    """
    last = next((message for message in reversed(turn) if message.calls), None)
    calls = {call.id: call for call in last.calls} if last else {}
    other = {name: call for name, call in calls.items() if call.name not in _WRITING}
    results = [(call, message.text) for message in turn if (call := other.get(message.call_id or ""))]
    if not results:
        return ""
    wrote = [str(call.arguments.get("file_path", "")) for call in calls.values() if call.name in _WRITING]
    lines = [f"In your last reply you wrote {', '.join(wrote)}."] if wrote else []
    for call, text in results:
        what = next((str(call.arguments[name]) for name in _TELLING if name in call.arguments), "")
        lines.append(f"{call.name} {' '.join(what.split())[:_LONGEST_TOLD]} gave:\n{text}")
    return "\n".join(lines)


def _summarize_turn(turn: Sequence[Message]) -> list[str]:
    answers = {message.call_id: message.text.partition("\n")[0][:120] for message in turn if message.role == "tool"}
    lines = []
    for message in turn:
        if message.role == "user":
            lines.append(message.text[:_LONGEST_TOLD])
        for call in message.calls:
            what = next((str(call.arguments[name]) for name in _TELLING if name in call.arguments), "")
            lines.append(f"- {call.name} {' '.join(what[:400].split())[:120]}: {answers.get(call.id, '')}")
    return lines


class Section(NamedTuple):
    title: str
    first: int
    """The number of its heading's line in paper.md; the first line is 1."""
    last: int
    text: str


def split_paper(paper: str) -> list[Section]:
    """Return the sections of paper.md, each up to the next heading, without text before the first."""
    lines = paper.splitlines()
    starts = [(number, title) for number, title in _headings(lines)]
    ends = [*(number - 1 for number, _ in starts[1:]), len(lines)] if starts else []
    return [
        Section(title, first, last, "\n".join(lines[first - 1 : last]).strip())
        for (first, title), last in zip(starts, ends, strict=True)
    ]


def cited_sections(
    sections: Sequence[Section], requirements: Iterable[Mapping[str, Any]], room: int
) -> tuple[list[Section], list[Section]]:
    """Return the cited sections in the paper's order: those that fit into `room` tokens, and the rest."""
    names = [str((row.get("source") or {}).get("section") or "") for row in requirements]
    counted = [(sum(_is_named(section.title, name) for name in names), section) for section in sections]
    # Those that most requirements cite first; a long one that does not fit keeps no short one out.
    wanted = sorted((row for row in counted if row[0]), key=lambda row: -row[0])
    shown: list[Section] = []
    for _, section in wanted:
        if (size := tokens_of(section.text)) <= room:
            room -= size
            shown.append(section)
    left_out = [section for _, section in wanted if section not in shown]
    return sorted(shown, key=lambda one: one.first), sorted(left_out, key=lambda one: one.first)


def _is_named(title: str, name: str) -> bool:
    """Return whether a citation names this section, by number (3.2, A) or title."""
    name, title = name.strip().rstrip(".").lower(), title.lower()
    number, _, rest = title.partition(" ")
    return bool(name) and name in (title, number.rstrip("."), rest.strip(), f"appendix {number.rstrip('.')}")


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    inside, front = False, bool(lines) and lines[0] == _FRONT
    for number, line in enumerate(lines, 1):
        if front:
            front = number == 1 or line != _FRONT
        elif line.startswith(_FENCE):
            inside = not inside
        elif not inside and (match := _HEADING.fullmatch(line.rstrip())):
            yield number, match[1]
