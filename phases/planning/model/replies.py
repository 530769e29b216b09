"""What of a model's reply is a plan: its bytes by the one plan parser, or the words that say why it is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from pipeline.base.errors import ContractError, FormatError, PipelineError
from pipeline.base.formats import parse_json

PLAN = "initial_plan.txt"
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)


class Contracts(Protocol):
    """The contracts, as far as a plan needs them."""

    def parse(self, name: str, data: bytes, *, writer: str) -> Any: ...

    def schema(self, name: str) -> dict[str, Any]: ...

    def breach(self, schema: Mapping[str, Any], value: Any) -> str | None: ...


class NoPlan(PipelineError):
    """A reply that is no plan; its text goes back to the model."""


def plan_in_reply(text: str, contracts: Contracts, writer: str) -> dict[str, Any]:
    """The plan that a reply is: one JSON object or YAML document, bare or in the one fenced block of the reply.

    What stands around that block is read past: models greet. Raises NoPlan.
    """
    bare = _unfenced(text).strip("\ufeff \n\r\t")
    try:
        if not bare.startswith("{"):
            return dict(contracts.parse(PLAN, (bare + "\n").encode("utf-8"), writer=writer))
        plan = parse_json(bare.encode("utf-8"))
    except (ContractError, UnicodeError) as error:
        raise NoPlan(str(error)) from error
    except FormatError as error:
        place = f", line {error.line}, column {error.column}" if error.line else ""
        raise NoPlan(f"the plan{place}: {error}") from error
    # JSON is read as JSON: YAML has other ideas of \ud83d\ude00 and of 1e-3.
    if breach := contracts.breach(contracts.schema(PLAN), plan):
        raise NoPlan(f"the plan {breach}")
    return dict(plan)


def rows_in_reply(text: str, contracts: Contracts) -> list[dict[str, Any]]:
    """The requirements in a reply that holds some rows of a plan, as JSON, or the whole plan. Raises NoPlan."""
    try:
        value = parse_json(_unfenced(text).strip("\ufeff \n\r\t").encode("utf-8"))
    except (FormatError, UnicodeError) as error:
        raise NoPlan(str(error)) from error
    rows: Any = value.get("requirements") if isinstance(value, dict) else value
    if breach := contracts.breach(contracts.schema(PLAN)["properties"]["requirements"], rows):
        raise NoPlan(f"the requirements {breach}")
    return list(rows)


def may_end_in(plan: Mapping[str, Any], texts: Sequence[str], contracts: Contracts) -> bool:
    """Whether a plan is what came of these replies: the last whole one, with rows that were mended after it."""
    mended: list[dict[str, Any]] = []
    for text in reversed(texts):
        try:
            whole = plan_in_reply(text, contracts, "the model")
        except NoPlan:
            with suppress(NoPlan):
                mended += rows_in_reply(text, contracts)
            continue
        if {**whole, "requirements": None, "todos": None} != {**plan, "requirements": None, "todos": None}:
            return False
        said = [*whole["requirements"], *mended]
        return len(plan["requirements"]) == len(whole["requirements"]) and all(
            row in said or (not row["source"]["quote"] and _unquoted(row) in map(_unquoted, said))
            for row in plan["requirements"]
        )
    return False


def _unquoted(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the quote that may have been taken from it."""
    taken = {"section": None, "page": 0, "quote": ""}
    return {**row, "source": taken, "status": "missing" if row["status"] == "missing" else "inferred"}


def _unfenced(text: str) -> str:
    """What stands in the one fenced block; the whole text where there is none. Raises NoPlan for more than one."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    if len(fences) != 2:
        raise NoPlan(f"the reply has {len(fences)} lines that open or close a fenced block; reply with the plan alone")
    return text[fences[0].end() : fences[1].start()]
