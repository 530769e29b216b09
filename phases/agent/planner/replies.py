"""What of a model's reply is a plan: its bytes by the one plan parser, or the words that say why it is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from pipeline.errors import ContractError, FormatError, PipelineError
from pipeline.formats import parse_json

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


def _unfenced(text: str) -> str:
    """What stands in the one fenced block; the whole text where there is none. Raises NoPlan for more than one."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    if len(fences) != 2:
        raise NoPlan(f"the reply has {len(fences)} lines that open or close a fenced block; reply with the plan alone")
    return text[fences[0].end() : fences[1].start()]
