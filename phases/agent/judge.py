"""Have a model review code against the paper (--judge): one verdict on each requirement and value of the plan.

It is asked when the facts hold, and lifts none of them. What it finds reaches the implementer once, as advice; what it still
finds after that is a doubt. A question is asked and paid for once: a second look asks about the files that changed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from phases.acceptance.checks.code_check import README
from phases.agent.offline_model import GivenCode
from phases.agent.review_question import (
    DELIVERY,
    MOST_CHARACTERS,
    Row,
    batch_items,
    build_question,
    digest_item,
    find_items,
    read_paper,
    with_file,
)
from phases.evidence.locate import read_sources
from phases.evidence.traceability import DIFFERENT, MEETS, UNCLEAR
from phases.llm.conversation import Conversation, Unusable, question_digest
from phases.llm.journal import Journal, read_journal_lines
from phases.llm.ledger import Ledger
from phases.llm.model import OK, Message, Model
from phases.planning.model.material import strip_invisible
from phases.workspace.workspace import Workspace
from pipeline.base.errors import FormatError
from pipeline.base.files import make_directory, sha256
from pipeline.base.formats import parse_json

_MOST_REPAIRS, _MOST_NAMED = 2, 20
_JOURNAL, _SHOWN = "judge-", "shown"
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["judgements"],
    "properties": {
        "judgements": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "verdict", "sentence"],
                "properties": {
                    "id": {"type": "string", "maxLength": 20},
                    "verdict": {"enum": [MEETS, DIFFERENT, UNCLEAR]},
                    "file": {"type": "string", "maxLength": 300},
                    "line": {"type": "integer", "minimum": 0},
                    "sentence": {"type": "string", "maxLength": 600},
                },
            },
        }
    },
}
Breach = Callable[[Mapping[str, Any], Any], str | None]


class Judgement(NamedTuple):
    verdict: str
    """meets, differs or cannot tell."""
    file: str
    line: int
    sentence: str


@dataclass
class Judge:
    """The reviewer of one run. `directory` holds a journal for each question, so the same one is asked and paid for once."""

    model: Model
    ledger: Ledger
    directory: str
    run: int
    paper: str
    """The path of paper.md."""
    plan: Mapping[str, Any]
    breach: Breach
    in_place: Callable[[], None]
    clean: Callable[[Any], Any]
    author: str = ""
    """The name of the model that wrote the code: one that reviews its own work is told apart."""
    progress: Callable[[str], None] = lambda text: None
    tell: Callable[[str], None] = lambda text: None
    """Tells the user something that stays on the screen."""

    _known: dict[str, Judgement] | None = None
    """Verdicts by a digest of what was shown for them: what has not changed is not asked again, nor in a run that goes on."""
    _before: dict[str, Judgement] = field(default_factory=dict)
    """By id, the verdicts of this start's last look: the file that one names is shown at the next one, too."""

    def review(
        self, workspace: Workspace, evidence: Sequence[Row], tried: Sequence[Row] = ()
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the rows of evidence, each with its verdict, and what the delivered directory lacks.

        `tried`: the README's commands and what they did.
        A row has no verdict where no reply could be used.

        Raises PhaseError if the model cannot be asked, Paused at a limit.
        """
        sources, (paper, is_request) = read_sources(workspace), read_paper(self.paper)
        all_items = find_items(self.plan, sources, evidence, tried=tried, is_request=is_request)
        items, requests = [item for item in all_items if item.code], self.plan.get("user_requests", ())
        digests = {str(item.row["id"]): digest_item(item, sources) for item in items}
        known = self._known = self._read_verdicts() if self._known is None else self._known
        stale = [item for item in items if digests[item.row["id"]] not in known]
        last = {name: verdict.file for name, verdict in self._before.items()}
        stale = [with_file(item, last.get(item.row["id"], ""), sources) for item in stale]
        is_asked = type(self.model) is not GivenCode  # else what it said before is known, and nobody is there to ask
        room, is_first = min(MOST_CHARACTERS, self.model.window), 2 * len(stale) > len(items)
        batches = batch_items(stale if is_asked else [], sources, room, is_first=is_first)
        for number, batch in enumerate(batches, 1):
            label = f"{len(batch)} points"
            self.progress(f"{self.model.name} reviews {label}: part {number} of {len(batches)}")
            shown = {str(item.row["id"]): digests[item.row["id"]] for item in batch}
            question = build_question(batch, paper, sources, requests=requests, tried=tried, is_first=is_first)
            given = self._ask(label, shown, question)
            known |= {shown[name]: verdict for name, verdict in given.items()}
        judgements = dict[str, Judgement]()
        for item in items:
            if judgement := known.get(digests[item.row["id"]]):
                # what differs may be in the requirement alone
                rows = (item.row, *item.values) if judgement.verdict == MEETS else (item.row,)
                judgements.update({row["id"]: judgement for row in rows})
        self._before |= judgements
        lacks = [] if README in sources else [f"{README} is missing"]
        if (delivery := judgements.get(DELIVERY)) and delivery.verdict == DIFFERENT:
            lacks.append(f"what its user gets could be better: {delivery.sentence}")
        return [{**row, **self._as_field(judgements.get(row["id"]))} for row in evidence], lacks

    def skip(self, why: str) -> None:
        """Tell the user that the code is not judged."""
        self.tell(f"{self.model.name} was not asked to review the code: {why}")

    def _as_field(self, said: Judgement | None) -> dict[str, Any]:
        if said is None:
            return {}
        wrote = ", which wrote the code" if self.model.name == self.author else ""
        return {"judged": {"by": f"{self.model.name}{wrote}", **said._asdict()}}

    def _read_verdicts(self) -> dict[str, Judgement]:
        """Return what this model has answered in an earlier start of the run."""
        known = dict[str, Judgement]()
        names = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
        for name in names:
            if name.startswith(_JOURNAL) and name.endswith(".jsonl"):
                shown, replies = _read_replies(os.path.join(self.directory, name))
                for reply in replies:
                    if (reply["outcome"], reply["model"]) == (OK, self.model.name):
                        judged, _ = self._parse(reply["text"])
                        known |= {
                            shown[name]: judgement for name, judgement in _single_verdicts(judged, shown.keys()).items()
                        }
        return known

    def _name_question(self, digest: str) -> str:
        """Return a name for a question and its journal; another one where another model has answered it."""
        name = digest[:16]
        path = os.path.join(self.directory, f"{_JOURNAL}{name}.jsonl")
        others = os.path.exists(path) and any(reply["model"] != self.model.name for reply in _read_replies(path)[1])
        return sha256(f"{digest} {self.model.name}".encode())[:16] if others else name

    def _ask(self, path: str, shown: Mapping[str, str], messages: Sequence[Message]) -> dict[str, Judgement]:
        """Return the verdicts on these requirements, as far as replies give them. `shown`: by id, a digest of what is shown."""
        digest, wanted = question_digest(messages, _SCHEMA), shown.keys()
        self.in_place()
        make_directory(self.directory)
        name = self._name_question(digest)
        thread = f"explore-judge-{name}"
        journal = Journal(
            os.path.join(self.directory, f"{_JOURNAL}{name}.jsonl"),
            {"thread": thread, "prompt_sha256": digest, "of_run": 0},
            self.run,
            self.in_place,
            begun={_SHOWN: dict(shown)},
            clean=self.clean,
        )
        conversation = Conversation(self.model, journal, self.ledger, thread)
        given, fault, asked = dict[str, Judgement](), "", list(messages)
        for _ in range(_MOST_REPAIRS + 1):
            try:
                reply = conversation.ask(asked, schema=_SCHEMA, about=path, digest=question_digest(asked, _SCHEMA))
            except Unusable as error:
                fault = error.what
                break
            rows, fault = self._parse(reply.text) if reply.outcome == OK else ([], reply.detail or reply.outcome)
            if strays := sorted({row["id"] for row in rows} - wanted):
                self.tell(
                    f"{self.model.name} also judged {', '.join(strays[:_MOST_NAMED])}, unasked: those verdicts are not used"
                )
            given |= _single_verdicts(rows, wanted)
            if left := sorted(wanted - given.keys()):
                fault = fault or f"it gives no verdict, or more than one, on {', '.join(left)}"
            if not fault:
                return given
            asked = [*messages, Message("user", f"Your last reply could not be used ({fault[:300]}). Reply again.")]
        self.tell(f"{self.model.name} did not judge all of {path}: {fault[:300]}")
        return given

    def _parse(self, text: str) -> tuple[list[Row], str]:
        """Return the rows of a reply, or its fault."""
        try:
            value = parse_json(text[text.find("{") : text.rfind("}") + 1].encode("utf-8", "replace"))
        except FormatError as error:
            return [], f"it is not a JSON object: {error}"
        fault = self.breach(_SCHEMA, value)
        return ([], fault) if fault else (value["judgements"], "")


def _read_replies(path: str) -> tuple[Mapping[str, str], list[Row]]:
    """Return what a question showed, a digest by id, and the replies to it so far."""
    rows = [row for _, row in read_journal_lines(path)]
    shown = rows[0].get("begun", {}).get(_SHOWN, {}) if rows else {}
    return shown, [row["result"] for row in rows if row["kind"] == "reply"]


def _single_verdicts(rows: Sequence[Row], wanted: Set[str]) -> dict[str, Judgement]:
    """Return the requested verdicts, without contradictory ones."""
    counts = Counter(name for name, _ in {(row["id"], row["verdict"]) for row in rows})
    return {
        row["id"]: Judgement(row["verdict"], _clean(row.get("file", "")), row.get("line", 0), _clean(row["sentence"]))
        for row in rows
        if row["id"] in wanted and counts[row["id"]] == 1
    }


def _clean(text: str) -> str:
    return " ".join(strip_invisible(text).split())
