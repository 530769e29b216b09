"""logs/llm.jsonl: what every call to a model cost, and the limits that stop the next one.

The file is never moved aside: what was spent stays spent, whatever is done again. A call that gave no content is in it too.
Two phases of one run may write it side by side, each with a Ledger of its own: all of them count what any of them spent.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from phases.llm.estimate import DryRun, Price, Work, learn, note_expected, price_work
from phases.llm.journal import find_journals, read_journal, run_of
from phases.llm.ledger_rows import (
    EXPECTED,
    RESERVED,
    ZERO,
    forget_open_call,
    is_noted,
    is_row,
    note_open_call,
    paid_call,
    read_ledger,
    read_open_calls,
    sum_reserved,
    sum_rows,
    total_tokens,
)
from phases.llm.model import OK, TRANSIENT, Model, Reply, reply_from_json
from pipeline.base.errors import Paused, PhaseError, PipelineError
from pipeline.base.jsonl import append_row, repair_tail
from pipeline.base.lease import lock_descriptor
from pipeline.base.logs import logger

_CUT_OFF = "the run ended in this call; what it cost is an estimate"
_LONGEST_PARTIAL = 4000
_RAISED_BY = {"max_usd": "add_usd"}
_RESERVED: dict[str, dict[str, float]] = {}
"""Minimum cost of the open calls of each ledger, by thread."""
_CENT, _ROUNDING = 100, 1e-9
# decision 112: planning and references ask models side by side, each with a ledger of its own.
_LOCKS: dict[str, threading.RLock] = {}
"""Locks of the ledgers that this process has opened: the lock of the task keeps other processes out."""


Waited = TypeVar("Waited")


class LedgerCall(NamedTuple):
    """Call of a task that a row belongs to."""

    thread: str
    """plan, references, implement, or explore-… for a sub-agent."""
    run: int
    """Counts how often that thread was begun anew."""
    turn: int
    about: str = ""
    """Purpose of the call, like the file to be written."""


def paid_replies(
    rows: Iterable[Mapping[str, Any]], thread: str, run_of_turn: Callable[[int], int]
) -> Iterator[tuple[LedgerCall, str, Reply]]:
    """Yield the paid calls of a journal: call, model and reply."""
    for row in rows:
        if row["kind"] == "reply":
            turn, result = row["key"]["turn"], row["result"]
            yield LedgerCall(thread, run_of_turn(turn), turn, result["about"]), result["model"], reply_from_json(result)


class Ledger:
    """Spending of one task. Two threads may have one each."""

    def __init__(
        self, path: str, limits: Mapping[str, Any], in_place: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._path, self._limits, self._in_place, self._clock = path, limits, in_place, clock
        self._since = time.monotonic()
        self._others: dict[str, tuple[int, float]] = {}
        self._lock, self._size = _LOCKS.setdefault(os.path.realpath(path), threading.RLock()), -1
        self._reserved = _RESERVED.setdefault(os.path.realpath(path), {})
        self._rows: list[dict[str, Any]] = []
        self._known: set[tuple[Any, ...]] = set()
        self._begun: dict[str, tuple[str, int]] = {}
        self._prices: dict[str, Price] = {}
        self.spent: dict[str, Any] = dict(ZERO)
        with self._lock:  # what looks torn may be a line that another phase is just adding
            repair_tail(path)
            self._catch_up()
        self._recover_all()
        self._take_over()

    @property
    def task(self) -> str:
        """Return the name of the task, as typed in a shell."""
        return shlex.quote(os.path.basename(os.path.dirname(os.path.dirname(self._path))))

    def next_run(self, thread: str) -> int:
        """Return the run number for a thread that starts again."""
        self._catch_up()
        return 1 + max((row["run"] for row in self._rows if row["thread"] == thread), default=0)

    def enforce_limits(self, model: Model, thread: str = "", usd: float = 0.0, *, most: float = 0.0) -> float:
        """Reserve the cost of a thread's next call until its row is written: `most`, or the rest of the budget.

        Returns what is left in dollars, infinity without a limit: more the call may not cost. Raises Paused where a limit is
        reached or has no room for `usd`, which it costs at least: then it must not be made. Raises PhaseError for a limit
        that cannot be kept.
        """
        limits = self._limits
        if limits.get("dry_run") == "yes":
            is_free = model.priced and not model.price(1_000_000, 1_000_000)
            raise DryRun(self.task, {"the work": Price("costs nothing", (0.0, 0.0))} if is_free else self._prices)
        if (limits.get("max_usd") or limits.get("batch_usd")) and not (model.priced or model.reports_cost):
            raise PhaseError(
                f"what {model.name} costs is not known, and its server does not say it, so a limit in dollars cannot be kept: "
                "give its price in prices.yaml next to the settings file, or limit tokens instead with --max-tokens"
            )
        with self._lock:
            under_way, left = sum(other for name, other in self._reserved.items() if name != thread), math.inf
            for name, used in self.used().items():
                logger.debug("{}: {:g} of {:g} are used before the next call of {}", name, used, limits[name], thread)
                over = used + usd + under_way - limits[name] if name.endswith("_usd") else 0.0
                if used >= limits[name] or over > _ROUNDING:
                    raise self._no_room(name, used, usd, under_way)
                left = min(left, limits[name] - used - under_way) if name.endswith("_usd") else left
            self._reserved[thread] = min(max(usd, most), left)
            return left

    def _no_room(self, name: str, used: float, usd: float, under_way: float) -> Paused:
        limit, spent, more = self._limits[name], self.spent, "N"
        told = f"${spent['usd']:.4f} and {total_tokens(spent):,} tokens in {spent['calls']} calls so far"
        what = f"the limit {name} = {limit} is reached ({told})"
        if name.endswith("_usd") and usd:
            call = f"the next call costs about ${usd:.4f}"
            beside = f", and calls under way ${under_way:.4f}" if under_way else ""
            over = math.ceil((used + usd + under_way - limit) * _CENT) / _CENT
            more = f"{over if name in _RAISED_BY else limit + over:.2f}"
            passed = f"the limit {name} = {limit} would be passed: {call}{beside} ({told})"
            what = f"{what}; {call}" if used >= limit else passed
        flag = f"--{_RAISED_BY.get(name, name).replace('_', '-')} {more}"
        return Paused(
            f"{what}; finished work is kept; continue with: pipeline resume {self.task} {flag}",
            stop_reason=f"budget_{name.partition('_')[2]}",
            flag=flag,
        )

    def leave_out(self, wait: Callable[..., Waited]) -> Callable[..., Waited]:
        """Wrap a function so that its time does not count as work: it waits for the user."""

        def waits(*given: object) -> Waited:
            since = time.monotonic()
            try:
                return wait(*given)
            finally:
                self._since += time.monotonic() - since

        return waits

    def expect(self, work: Work, run: int, model: Model, *, begins: bool) -> str:
        """Describe the expected cost in one line; empty if it is free. `begins`: none of the work is done yet."""
        if model.priced and not model.price(1_000_000, 1_000_000):
            return ""
        if begins and self._limits.get("dry_run") != "yes":
            self._in_place()
            note_expected(self._path, work, run, model.name)
        if not (price := price_work(work, model, learn(self._path, work.thread))):
            return ""
        self._prices["the plan" if work.thread == "plan" else "the code"] = price
        return price.text

    def release(self, thread: str) -> None:
        with self._lock:
            self._reserved.pop(thread, None)

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows so far, of any ledger of this task."""
        self._catch_up()
        return self._rows

    def used(self) -> dict[str, float]:
        """Return the used-up part of every limit that is set."""
        self._catch_up()
        spent = self.spent
        amounts: dict[str, Callable[[], float]] = {
            "max_usd": lambda: float(spent["usd"]),
            "batch_usd": self._batch,
            "max_tokens": lambda: total_tokens(spent),
            "max_minutes": lambda: float(spent["seconds"]) / 60,
        }
        return {name: amount() for name, amount in amounts.items() if self._limits.get(name)}

    def begin(self, call: LedgerCall, model: str, tokens_in: int, usd: float) -> None:
        """Note a call before it is made, with the least that it costs: it counts, should the run end in it."""
        # decision 116: no thread notices a signal, or any process kill -9, so the call is noted before it is made.
        self._in_place()
        row = self._row(call, model, Reply(TRANSIENT, "", (), tokens_in, usd=usd, detail=_CUT_OFF))
        self._begun[call.thread] = row["at"], tokens_in
        note_open_call(self._path, {**row, RESERVED: self._reserved.get(call.thread, usd)})

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other tasks of the folder from the shared limit: reserve and note a call inside."""
        # without it, as many tasks as run side by side would each take the last of the money (decision 215)
        if not self._limits.get("batch_usd"):
            yield
            return
        folder = os.open(self._folder(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            with lock_descriptor(folder, os.path.join(self._folder(), ".money")):
                yield
        finally:
            os.close(folder)

    def record(self, call: LedgerCall, model: str, reply: Reply, *, used: bool) -> None:
        """Add what a call cost; on the disk when it returns. `used`: a journal holds the reply."""
        noted = self._begun.pop(call.thread, None)
        begun = {"begun": noted[0], EXPECTED: noted[1]} if noted else {}
        with self._lock:  # the seconds since the call before: sub-agents may ask side by side
            row = {**self._row(call, model, reply), "used": used, **begun}
            if reply.outcome != OK and reply.text:
                row["partial"] = reply.text[:_LONGEST_PARTIAL]
            self._since += row["seconds"]
            self._add(row)
        forget_open_call(self._path, call.thread)
        self.release(call.thread)

    def _row(self, call: LedgerCall, model: str, reply: Reply) -> dict[str, Any]:
        return {
            "at": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **call._asdict(),
            "model": model,
            "outcome": reply.outcome,
            "detail": reply.detail,
            "used": False,
            **{name: getattr(reply, name) for name in ("tokens_in", "tokens_cached", "tokens_out", "usd")},
            "seconds": round(time.monotonic() - self._since, 3),
        }

    def _recover_all(self) -> None:
        """Look through every journal of the task, those too that were set aside: what was paid for stays spent."""
        for path in find_journals(os.path.dirname(os.path.dirname(self._path))):
            # A damaged one is named by who works with it.
            with contextlib.suppress(PipelineError, KeyError, TypeError, ValueError):
                header, *rows = read_journal(path)
                self.recover(paid_replies(rows, header["thread"], partial(run_of, header)))

    def _take_over(self) -> None:
        """Call that a run was in when it was killed are paid for, as far as anybody knows."""
        for path, row in read_open_calls(self._path, left=True).items():
            with self._lock:
                self._catch_up()
                if not is_row(row):
                    continue
                if not is_noted(row, self._rows):
                    row.pop(RESERVED, None)
                    self._add({**row, "used": False, "seconds": 0.0, "begun": row["at"]})
            with contextlib.suppress(OSError):
                os.unlink(path)

    def recover(self, calls: Iterable[tuple[LedgerCall, str, Reply]]) -> None:
        """Add what a journal says was paid for and a crash kept from being noted here."""
        for call, model, reply in calls:
            with self._lock:
                self._catch_up()
                if (call.thread, call.run, call.turn) not in self._known:
                    self.record(call, model, reply, used=True)

    def _batch(self) -> float:
        """Return the spending of this task and its neighbours, with their open calls.

        A ledger that did not change is not read again.
        """
        folder, total = self._folder(), float(self.spent["usd"])
        for name in os.listdir(folder):
            path = os.path.join(folder, name, "logs", os.path.basename(self._path))
            if path == self._path:
                continue
            total += sum_reserved(path)
            if not os.path.exists(path):
                continue
            # One that goes away or is damaged is not this task's trouble.
            with contextlib.suppress(PipelineError, OSError):
                size = os.path.getsize(path)
                if self._others.get(path, (0, 0.0))[0] != size:
                    self._others[path] = size, sum_rows(read_ledger(path))["usd"]
            total += self._others.get(path, (0, 0.0))[1]
        return total

    def _folder(self) -> str:
        return os.path.dirname(os.path.dirname(os.path.dirname(self._path)))

    def _add(self, row: dict[str, Any]) -> None:
        with self._lock:
            self._in_place()
            self._catch_up()
            # decision 43: a journal holds what was used, and recover() looks there.
            append_row(self._path, row, durable=not row["used"])
            self._size = os.path.getsize(self._path)
            self._rows.append(row)
            if row["used"]:
                self._known.add(paid_call(row))
            for name in ZERO:
                self.spent[name] += 1 if name == "calls" else row[name]

    def _catch_up(self) -> None:
        """Read the file where it has grown by rows of others. One that went away takes back nothing that was spent."""
        with self._lock:
            size = os.path.getsize(self._path) if os.path.exists(self._path) else 0
            if size > self._size:
                self._rows, self._size = read_ledger(self._path), size
                self.spent = sum_rows(self._rows)
                self._known = {paid_call(row) for row in self._rows if row["used"]}
