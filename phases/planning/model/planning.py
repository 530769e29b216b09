"""Ask a model for a plan until a reply is accepted: the whole paper at once, or in parts where it is too long."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote
from typing import Any, TypeVar

from phases.llm.conversation import (
    MOST_REPAIRS,
    Conversation,
    Record,
    Unusable,
    keep_window,
    open_conversation,
    question_digest,
)
from phases.llm.estimate import Work
from phases.llm.journal import read_journal
from phases.llm.ledger import Ledger
from phases.llm.model import (
    EMPTY,
    OK,
    OVERFLOW,
    TRUNCATED,
    Message,
    Model,
    Reply,
    most_tokens,
    notify_assumed_window,
    tokens_of,
)
from phases.planning.model.form import is_whole, mending_form, replace_rows, reply_form, server_form
from phases.planning.model.material import Paper, draw_doubtful, load_shown, pack_batches
from phases.planning.model.plan_steps import STEPS, empty_plan, part_in_reply, step_question, step_schema
from phases.planning.model.plan_validation import (
    PLAN,
    NoPlan,
    drop_faulty_lines,
    is_mended_alone,
    mended_plan,
    misquotes_of,
    object_in_reply,
    problems_of,
    quoted_rows,
    sections_of,
    whole_plan,
)
from phases.planning.model.prompt import (
    VERIFY,
    ChangeRequest,
    ask_for_whole,
    mending_message,
    planning_messages,
    reading_messages,
    refusal_message,
    repeat_question,
)
from phases.planning.model.quote_index import QUOTED, QuoteIndex, find_places, nearest_sentences, without_quote
from phases.sandbox.box import Box, with_machine
from phases.sandbox.commands import describe_tools, kind_of_sandbox
from pipeline.base.errors import ContractError, Paused, PhaseError
from pipeline.base.files import read_bytes, set_aside, sha256
from pipeline.base.logs import logger
from pipeline.base.plain_yaml import dump_yaml
from pipeline.engine.phase import Context

_REQUESTS = "plan_requests.json"


def open_planning(paper: Paper, requests: Sequence[str], model: Model, ctx: Context, version: int) -> Conversation:
    """Return the earlier conversation where it was about the same question, else a new one."""
    ctx.in_place()
    keep_window(model, ctx.paths.plan_journal)
    header = {
        "thread": "plan",
        "documents": dict(sorted(ctx.digests.items())),
        "version": version,
        "model": model.name,
        "window": model.window,
    }
    present = (
        read_bytes(ctx.paths.plan).decode("utf-8", "replace") if requests and os.path.lexists(ctx.paths.plan) else ""
    )
    box = with_machine(Box("", kind_of_sandbox(str(ctx.limits.get("sandbox")))), ctx.limits)
    pictures = draw_doubtful(paper.doubtful, paper.source_sha256, model, ctx)
    return open_conversation(
        model,
        Record(ctx.paths.plan_journal, Ledger(ctx.paths.ledger, ctx.limits, ctx.in_place), ctx.in_place),
        header,
        begun={"present": present, "tools": describe_tools(box), **({"pictures": pictures} if pictures else {})},
        is_same=lambda rows: present == rows[0].get("begun", {}).get("present") or _is_own_result(present, rows),
        on_set_aside=lambda kept: ctx.progress(0, 1, _describe_new_start(os.path.join(ctx.paths.root, kept), header)),
        shown_again=False,
        on_wait=partial(ctx.progress, 0, 1),
    )


def _describe_new_start(aside: str, header: Mapping[str, Any]) -> str:
    """Return why the conversation in a journal that was set aside is not continued."""
    old = read_journal(aside)[0]
    kept = f"; the earlier conversation is kept in {os.path.basename(aside)}"
    if old["model"] != header["model"]:
        return f"plans with {header['model']}; before it was {old['model']}{kept}"
    if old["version"] != header["version"]:
        return f"plans again: this release plans differently{kept}"
    changed = [name for name, digest in header["documents"].items() if old.get("documents", {}).get(name) != digest]
    if _REQUESTS in changed:
        return f"plans the change that you asked for{kept}"
    return f"plans again: {changed[0] if changed else PLAN} changed{kept}"


def _is_own_result(plan: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a plan is what this very conversation ended in: the run was killed after its plan was written, and before
    that was noted. It must not plan from its own result."""
    return sha256(plan.encode()) in [row["result"].get("plan") for row in rows if row["kind"] == "facts"]


def read_change_request(requests: Sequence[str], present: str, ctx: Context) -> ChangeRequest:
    """Return the user's requests, and the plan to change as it was when the conversation began."""
    if not present:
        return ChangeRequest(tuple(requests))
    try:
        plan = ctx.contracts.parse(PLAN, present.encode("utf-8"), writer="an earlier run, or a person")
    except ContractError as error:
        raise ContractError(
            f"{error}; a change was asked for, and this is the plan to be changed: mend it in {ctx.paths.root}, or remove it to "
            "plan from nothing"
        ) from error
    return ChangeRequest(tuple(requests), present, plan)


_LEAST_NOTES = 150
"""Notes on a part in fewer tokens than this say nothing; a model that has no more room is too small for the paper."""
_TYPICAL_PLAN, _TYPICAL_CHANGE = 8_000, 2_000
_MOST_TRIES = 2
"""So often a row that misquotes is asked for again; after that it is marked as inferred."""
_Accepted = TypeVar("_Accepted")


class PlanRefused(PhaseError):
    """The model used up its repairs, and no reply was a plan."""


class _TooLong(Exception):
    """The model accepts less than its window promised."""


class _CutOff(Exception):
    """The plan does not fit into one reply of the model."""


@dataclass(frozen=True)
class _Route:
    """How the paper is read: in one part with the plan at once, or part by part into notes of bounded length."""

    parts: list[str]
    notes: int = 0
    """Tokens for the notes on each part; 0: no notes are made."""

    @property
    def turns(self) -> int:
        return len(self.parts) + 1 if self.notes else 1


def plan_with_model(
    paper: Paper, requests: Sequence[str], model: Model, ctx: Context, *, version: int
) -> dict[str, Any]:
    """Return a plan that is valid, consistent, and quotes the paper.

    `requests` is what people asked for; the plan on the disk is changed by them. `version` counts the releases of phase 05
    whose plans differ. What a journal has is not asked again.
    Raises PlanRefused when the model gives no plan, Paused where a limit is reached, PhaseError when it cannot read enough at
    once, ContractError where the plan that is to be changed is damaged.
    """
    notify_assumed_window(model, ctx.tell)
    conversation = open_planning(paper, requests, model, ctx, version)
    begun = conversation.journal.begun
    # a conversation goes on with the pictures and tools that it began with
    paper = replace(paper, shown=tuple(load_shown(begun.get("pictures", ()), ctx)), tools=begun.get("tools", ""))
    wanted = read_change_request(requests, begun.get("present", ""), ctx)
    room = model.window - 2 * most_tokens(model.window)  # for the reply, and for one that is sent back to be mended
    try:
        while True:
            try:
                return _Planning(ctx, paper, wanted, conversation, room).plan()
            except _TooLong:
                room //= 2
                logger.debug("{} refused so long a request: the next one has {:,} tokens", model.name, room)
    except PlanRefused as error:
        # Its replies must not be taken again: the next run asks anew.
        ctx.in_place()
        kept = os.path.basename(set_aside(ctx.paths.plan_journal))
        raise PlanRefused(f"{error}; what it said is kept in {kept}") from error


class _Planning:
    """One attempt to plan a paper, with a given room in each request."""

    def __init__(
        self, ctx: Context, paper: Paper, wanted: ChangeRequest, conversation: Conversation, room: int
    ) -> None:
        self._ctx, self._paper, self._wanted, self._conversation, self._room = ctx, paper, wanted, conversation, room
        self._name, self._window = conversation.model.name, conversation.model.window
        self._most = most_tokens(self._window)
        self._cited = QuoteIndex(paper.pages, wanted.requests, paper.sections)
        self._is_read = False
        """Whether the last reply was an object at all."""
        self._draft: dict[str, Any] = {}
        """The new plan as the replies so far make it: a later one may have only what changes."""

    def plan(self) -> dict[str, Any]:
        route = self._route()
        logger.debug("the paper is read in {} parts of at most {:,} tokens", len(route.parts), self._room)
        self._ctx.progress(0, route.turns, self._estimate(route))
        body = self._notes(route) if route.notes else "".join(route.parts)
        messages = self._planning_messages(body, notes=bool(route.notes))
        plan = self._plan(messages)
        if self._wanted.present and "todos" in self._wanted.present:
            plan["todos"] = self._wanted.present["todos"]  # a person added them, and no model is asked for them
        plan.pop("user_requests", None)
        before = self._wanted.present or {}
        if {**plan, "user_requests": []} == {**before, "user_requests": []}:  # nothing was to change
            plan = dict(before)
        elif self._wanted.requests:  # whole, since who writes or reviews the code sees the plan and not what led to it
            plan["user_requests"] = list(self._wanted.requests)
        plan = {name: plan[name] for name in self._ctx.contracts.schema(PLAN)["properties"] if name in plan}
        written = sha256(dump_yaml(plan))
        conversation = self._conversation
        # known again by a run that was killed before the plan was noted
        conversation.journal.replay_or_record("facts", {"turn": conversation.turn}, lambda: {"plan": written})
        files, requirements = len(plan["file_structure"]), len(plan["requirements"])
        logger.info("{} planned {} files for {} requirements", self._name, files, requirements)
        self._ctx.progress(route.turns, route.turns, f"{files} files for {requirements} requirements")
        return plan

    def _check_deadline(self) -> None:
        if self._ctx.deadline is not None and time.monotonic() > self._ctx.deadline:
            raise Paused(
                "the time for this phase (phase_seconds) is used up; what the model said is kept; continue with: "
                f"pipeline resume {quote(os.path.basename(self._ctx.paths.root))}"
            )

    def _route(self) -> _Route:
        paper = self._paper
        planning = self._room - _count_tokens(self._planning_messages(""))
        whole = pack_batches(paper, 2**40)
        if sum(map(tokens_of, whole)) <= planning:
            return _Route(whole)
        reading = self._room - _count_tokens(reading_messages(paper, "", 1, 1, self._most))
        parts = pack_batches(paper, reading) if reading > _LEAST_NOTES else []
        notes = min(planning // max(len(parts), 1) - 2, self._most)
        if notes < _LEAST_NOTES or not parts:
            raise PhaseError(
                f"{self._name} is said to read {self._window:,} tokens at once{self._in_truth()}, which is too little to plan "
                f"from this paper of about {sum(map(tokens_of, whole)):,}; choose another with --plan-model, or set "
                "context_tokens to what it can read"
            )
        return _Route(parts, notes)

    def _in_truth(self) -> str:
        promised = self._window - 2 * self._most
        return f" and refused {2 * self._room:,}" if self._room < promised else ""

    def _planning_messages(self, body: str, *, notes: bool = False) -> list[Message]:
        return planning_messages(self._paper, self._wanted, body, self._most, notes=notes)

    def _estimate(self, route: _Route) -> str:
        model, paper = self._conversation.model, self._paper
        plan = min(_TYPICAL_CHANGE if self._wanted.present else _TYPICAL_PLAN, self._most)
        out = plan + len(route.parts) * min(route.notes, plan)
        read = sum(map(tokens_of, route.parts)) + _count_tokens(self._planning_messages(""))
        if route.notes:
            read += out + len(route.parts) * _count_tokens(reading_messages(paper, "", 1, 1, 0))
        kept, journal = len(self._conversation.journal.rows()), self._conversation.journal
        goes_on = f"continues after {kept} replies; in all it " if kept else ""
        times = "once" if route.turns == 1 else f"about {route.turns} times"
        work = Work("plan", route.turns, read, out)
        told = self._conversation.ledger.expect(work, journal.run, model, begins=not kept)
        return goes_on + (told or f"asks {model.name} {times}")

    def _notes(self, route: _Route) -> str:
        notes = []
        for number, part in enumerate(route.parts, 1):
            messages = reading_messages(self._paper, part, number, len(route.parts), route.notes * 3 // 4)

            def short_enough(reply: Reply) -> tuple[str, list[str]]:
                count = tokens_of(reply.text)
                too_long = f"these notes have about {count:,} tokens; write them in at most {route.notes * 3 // 4:,}"
                return reply.text.strip(), [too_long] if count > route.notes else []

            notes.append(self._ask(messages, short_enough, f"notes on part {number} of {len(route.parts)}"))
            self._ctx.progress(number, route.turns, f"read {number} of {len(route.parts)} parts")
        return "\n".join(notes)

    def _form(self, *, is_change: bool) -> dict[str, Any]:
        """Return the schema that the provider can bind a reply to."""
        form = reply_form(self._ctx.contracts.schema(PLAN), is_change=is_change)
        return server_form(form, is_request=self._paper.is_request)

    def _plan(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the plan, with its misquotes mended row by row."""

        def accept(reply: Reply) -> tuple[tuple[Reply, dict[str, Any]], list[str]]:
            plan, problems = self._read(reply.text)
            mendable = bool(plan) and all(is_mended_alone(fault) for fault in self._faults(plan))
            return (reply, plan), [] if mendable else problems

        try:
            form = self._form(is_change=self._wanted.present is not None)
            reply, plan = self._ask(messages, accept, "the plan", form, in_steps=True)
        except _CutOff:
            if self._wanted.present:
                messages = ask_for_whole(messages)
            reply, plan = self._plan_in_steps(messages)
        return self._mended(messages, reply, plan)

    def _plan_in_steps(self, messages: Sequence[Message]) -> tuple[Reply, dict[str, Any]]:
        """Ask for the plan part by part; return it and the last reply. A reply with a whole plan ends the steps."""
        # decision 385
        plan, last, schema = empty_plan(), Reply(OK, ""), self._form(is_change=False)
        room = (self._window - self._most - _count_tokens(messages)) // 2
        for number in range(len(STEPS)):
            asked, about = step_question(messages, number, plan, room), f"part {number + 1} of {len(STEPS)} of the plan"
            accept = partial(self._read_part, number=number, sofar=plan)
            last, plan = self._ask(asked, accept, about, step_schema(schema, number))
            if plan["file_structure"]:
                break
        return last, plan

    def _read_part(
        self, reply: Reply, number: int, sofar: dict[str, Any]
    ) -> tuple[tuple[Reply, dict[str, Any]], list[str]]:
        try:
            part = part_in_reply(reply.text, number, sofar, self._ctx.contracts)
        except NoPlan as error:
            return (reply, sofar), [str(error)]
        plan = find_places({**sofar, **part}, self._cited, self._wanted.present)
        # what is not there yet is no fault of this part
        borne = [] if plan["file_structure"] else self._faults(sofar)
        return (reply, plan), [fault for fault in self._faults(plan) if fault not in borne]

    def _faults(self, plan: Mapping[str, Any]) -> list[str]:
        """Return the faults of a plan other than its misquotes."""
        misquotes = {f"{name}: {fault}" for name, fault in self._misquotes(plan).items()}
        return [one for one in problems_of(plan, self._cited, self._wanted.present) if one not in misquotes]

    def _read(self, text: str) -> tuple[dict[str, Any], list[str]]:
        contracts, present, self._is_read = self._ctx.contracts, self._wanted.present, False
        try:
            value = object_in_reply(text)
            self._is_read = True
            if present is None:
                is_part = self._draft and not is_whole(value)
                value = self._draft = replace_rows(self._draft, value, contracts.schema(PLAN)) if is_part else value
            plan = whole_plan(value, contracts, present)
        except NoPlan as error:
            return {}, [str(error)]
        plan = find_places(plan, self._cited, self._wanted.present)
        return plan, problems_of(plan, self._cited, self._wanted.present)

    def _misquotes(self, plan: Mapping[str, Any]) -> dict[str, str]:
        return misquotes_of(plan, self._cited, self._wanted.present)

    def _mended(self, messages: Sequence[Message], first: Reply, plan: dict[str, Any]) -> dict[str, Any]:
        """Ask again for the rows that misquote, and only for these; rows that stay wrong lose their quote, with a warning."""
        problem, schema = "", self._form(is_change=True)
        for _ in range(_MOST_TRIES):
            wrong, lines = self._misquotes(plan), self._faults(plan)
            if not wrong and not lines:
                return plan
            rows = [row for row in quoted_rows(plan) if row["id"] in wrong]
            near = nearest_sentences(rows, self._paper.pages)
            told = {name: "; ".join(filter(None, (fault, near.get(name)))) for name, fault in wrong.items()}
            sections = sections_of(lines)
            kept = {name: schema["properties"][name] for name in (*QUOTED, *sections)}
            wanted = {**schema, "properties": kept, "required": sections or ["requirements"]}
            asked = self._repair(messages, first, mending_message(rows, told, lines, problem))
            self._check_deadline()
            about = " and ".join(
                [*([f"the quotes of {len(rows)} rows"] if rows else []), *(["lines"] if lines else [])]
            )
            try:
                reply = self._conversation.ask(asked, schema=wanted, about=about, digest=question_digest(asked, wanted))
            except Unusable as error:
                logger.debug("what is wrong in rows stays so: {}", error.what)
                break  # the plan is paid for, and rows can do without their quotes
            plan, problem = self._with_rows(plan, wrong, lines, reply)
        return self._unquoted(self._without_lines(plan))

    def _with_rows(
        self, plan: dict[str, Any], wrong: Mapping[str, str], lines: Sequence[str], reply: Reply
    ) -> tuple[dict[str, Any], str]:
        """Return the plan with what a reply mends in it, and why the reply is of no use."""
        if reply.outcome != OK:
            return plan, _why_useless(reply)
        try:
            made = mended_plan(reply.text, plan, wrong, lines, self._ctx.contracts)
        except NoPlan as error:
            return plan, str(error)
        made = find_places(made, self._cited, self._wanted.present)
        return (made, "") if all(is_mended_alone(fault) for fault in self._faults(made)) else (plan, "")

    def _without_lines(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Return the plan without packages that cannot be installed and checks that hide their exit code."""
        faults = self._faults(plan)
        for fault in faults:
            self._ctx.tell(f"warning: a line is left out of the plan: {fault}")
        try:
            return drop_faulty_lines(plan, VERIFY) if faults else plan
        except NoPlan as error:
            raise PlanRefused(f"{self._name} gave no plan that can be used: {error}") from error

    def _unquoted(self, plan: dict[str, Any]) -> dict[str, Any]:
        wrong = self._misquotes(plan)
        for name, fault in wrong.items():
            told = fault.partition(";")[0]
            self._ctx.tell(f"warning: {name} of the plan is marked as inferred: {told}; check it in initial_plan.txt")
        rows = {
            name: [without_quote(row, self._cited) if row["id"] in wrong else row for row in plan[name]]
            for name in QUOTED
        }
        return {**plan, **rows}

    def _ask(
        self,
        messages: Sequence[Message],
        accept: Callable[[Reply], tuple[_Accepted, list[str]]],
        about: str,
        schema: Mapping[str, Any] | None = None,
        *,
        in_steps: bool = False,
    ) -> _Accepted:
        """Asks until a reply is accepted; what is wrong with one is told back. Raises PlanRefused, _TooLong; _CutOff where it was
        cut off and may be asked for in steps."""
        asked, problems = list(messages), [""]
        for _ in range(MOST_REPAIRS + 1):
            self._check_deadline()
            reply = self._conversation.ask(asked, schema=schema, about=about, digest=question_digest(asked, schema))
            if reply.outcome == OVERFLOW:
                raise _TooLong
            if reply.outcome == TRUNCATED and in_steps:
                raise _CutOff
            if reply.outcome == OK:
                accepted, problems = accept(reply)
                if not problems:
                    return accepted
                logger.debug("{} is refused for {} faults, the first: {}", about, len(problems), problems[0])
                is_partial = in_steps and self._wanted.present is None and self._is_read
                if is_partial:
                    reply = replace(reply, text=json.dumps(self._draft, ensure_ascii=False), reasoning={})
                    schema = mending_form(schema) if schema else None
                asked = self._repair(messages, reply, refusal_message(problems, is_partial=is_partial))
            else:
                problems = [_why_useless(reply)]
                asked = repeat_question(messages, None, f"Your reply could not be used: {problems[0]}.")
        more = f" (and {len(problems) - 1} more faults)" if len(problems) > 1 else ""
        raise PlanRefused(
            f"{self._name} gave no {about.removeprefix('the ')} that can be used; it was told {MOST_REPAIRS} times what is "
            f"wrong, and the last reply still has this fault: {problems[0]}{more}; to ask again: "
            f"pipeline resume {quote(os.path.basename(self._ctx.paths.root))} (or choose another model with --plan-model)"
        )

    def _repair(self, messages: Sequence[Message], reply: Reply, problem: str) -> list[Message]:
        """The question with the last reply and its faults; without what it thought, or without the reply, where all is too
        long together."""
        for shown in (reply, replace(reply, reasoning={})):
            whole = repeat_question(messages, shown, problem)
            if _count_tokens(whole) <= min(self._window - self._most, 2 * self._room):
                return whole
        told = f"You replied already, at a length that leaves no room to show it here. {problem}"
        return repeat_question(messages, None, told)


def _why_useless(reply: Reply) -> str:
    if reply.outcome == TRUNCATED:
        return f"it was cut off after {reply.tokens_out or tokens_of(reply.text):,} tokens; be shorter"
    return "it was empty" if reply.outcome == EMPTY else f"it was {reply.outcome} ({reply.detail[:300]})"


def _count_tokens(messages: Sequence[Message]) -> int:
    pictures = sum(picture.tokens for message in messages for picture in message.pictures)
    return pictures + sum(message.tokens if message.reasoning else tokens_of(message.text) for message in messages)
