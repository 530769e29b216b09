"""The plan of a text of plain words, sentence by sentence, where there is no paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.rules.blocks import ITEM, NOTE, PROSE, blocks_of
from phases.planning.rules.cues import kind_of_statement
from phases.planning.rules.owners import METHOD, Setting
from phases.planning.rules.passages import Sentence
from phases.planning.rules.plan import Row, assemble_plan, component_of_wish
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.settings import value_row
from phases.planning.rules.values import values_in

_MOST = 2000
_LONGEST_TEXT, _LONGEST_QUOTE = 2000, 120
_FEWEST_LETTERS = 3
_ASKS = re.compile(r"(?:\w[\w'-]* ){1,6}?(?:must|should|shall|(?:has|have|needs?) to) (?!not\b|never\b)")
_ALSO = re.compile(
    r"(?:,? and(?: also)?|,) (?=(?:be|have|keep|survive|tell|handle|accept|read|write|allow|remember|ensure|provide|contain|stay"
    r"|become|delete|remove|send|receive|save|add|create|make|give|reject|ignore)\b)"
)
"""Before a verb, which shares the subject and the "must" of the one in front."""
_LEANS = re.compile(r"\b(?:if|when|while|unless|until|that|which|who|where|because|so|to|can)\b")
"""Words behind which a verb may be of another clause."""
_SECTION: Mapping[str, Any] = {"id": "S0", "number": None, "title": "", "level": 1, "page": 1, "start": 0, "end": 0}


def plan_of_text(body: str, outline: Mapping[str, Any], requests: Sequence[str] = ()) -> Row | None:
    """The plan of what somebody asks for; None where the text says nothing."""
    lines = list(_lines(body))[:_MOST]
    if not lines:
        return None
    requirements: list[Row] = []
    components: list[Row] = []
    settings: list[Setting] = []
    for line in lines:
        for claim in _claims_of(line):
            number = len(requirements) + 1
            requirements.append(_requirement(claim, line, number))
            components.append(component_of_wish(claim, requirements[-1], number))
        sentence = Sentence(line, dict(_SECTION), 1, "build", PROSE)
        settings += [Setting(value, METHOD, value.condition, sentence) for value in values_in(line)]
    values = [value_row(one, f"V{number}") for number, one in enumerate(settings, 1)]
    nothing: dict[str, list[Row]] = {
        name: [] for name in ("datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
    }
    return assemble_plan(
        outline, {"requirements": requirements, "components": components, "values": values, **nothing}, requests
    )


def _lines(body: str) -> Iterator[str]:
    """Each sentence and each item of a list, on a line."""
    for block in blocks_of(body):
        for sentence in sentences_of(block.text) if block.kind in (PROSE, ITEM, NOTE) else [block.text]:
            line = " ".join(sentence.split())[:_LONGEST_TEXT]
            if sum(map(str.isalpha, line)) >= _FEWEST_LETTERS:
                yield line


def _claims_of(line: str) -> list[str]:
    """What a sentence asks for, a claim a sentence: "It must survive a crash and be fast." asks for two things."""
    found = _ASKS.match(line)
    if not found:
        return [line]
    asked, rest = found.group(), line[found.end() :]
    ends = [one.span() for one in _ALSO.finditer(rest) if not _LEANS.search(rest[: one.start()])]
    starts = [0, *(end for _, end in ends)]
    parts = [rest[at:end].rstrip(" .!") for at, end in zip(starts, [*(at for at, _ in ends), len(rest)], strict=True)]
    return [f"{asked}{part}." for part in parts] if ends else [line]


def _requirement(claim: str, line: str, number: int) -> Row:
    kind = kind_of_statement(claim, "other")
    return {
        "id": f"R{number}",
        "kind": "artifact" if kind == "model" else kind,
        "component": f"C{number}",
        "text": claim,
        "source": {"section": None, "page": 1, "quote": line[:_LONGEST_QUOTE].rstrip()},
        "status": "stated",
    }
