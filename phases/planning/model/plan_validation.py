"""Read a plan from a model's reply and describe its faults in words for the model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from phases.planning.model.form import MOST, MOST_RESULTS, OPTIONAL, SOURCED, complete_plan, is_whole, reply_form
from phases.planning.model.quote_index import QUOTED, QuoteIndex
from phases.planning.plan_faults import command_faults, package_faults, reference_faults
from phases.planning.plan_words import is_python, pip_packages
from phases.planning.quotes import quote_of
from pipeline.base.errors import FormatError, PipelineError
from pipeline.base.formats import parse_json
from pipeline.base.plain_yaml import parse_yaml
from pipeline.engine.phase import Checker

PLAN = "initial_plan.txt"
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_OBJECT = re.compile(r"^\{", re.MULTILINE)
_THOUGHT = "</think>"
"""What some servers let stand before a reply ends so."""
_LINES = ("environment_setup: ", "validation_approach: the check ")
"""How faults begin of lines that are mended without the rest of a plan."""


class NoPlan(PipelineError):
    """A reply that is not a plan; the message goes back to the model."""


def plan_in_reply(text: str, contracts: Checker, present: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the plan that a reply is, or makes of the present one. Raises NoPlan.

    What stands around it is read past: models greet, and think aloud.
    """
    return whole_plan(object_in_reply(text), contracts, present)


def whole_plan(value: dict[str, Any], contracts: Checker, present: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the plan that an object stands for, or makes of the present one. Raises NoPlan."""
    schema = contracts.schema(PLAN)
    present = None if is_whole(value) else present
    if breach := contracts.breach(reply_form(schema, is_change=present is not None), value):
        raise NoPlan(f"the plan {breach}")
    plan = complete_plan(
        value if present else {**value, **{name: [] for name in OPTIONAL if name not in value}}, present
    )
    if breach := contracts.breach(schema, plan):
        raise NoPlan(f"the plan {breach}")
    return plan


def object_in_reply(text: str) -> dict[str, Any]:
    """Return the object in a reply: JSON, or a plan in YAML; bare or in its one fenced block. Raises NoPlan."""
    bare = _strip_words(text)
    if not bare.startswith("{") and "plan_version" not in bare:
        raise NoPlan(f"it is not a plan: it begins {' '.join(bare.split())[:80]!r}; reply with one JSON object")
    try:
        # JSON is read as JSON: YAML has other ideas of \ud83d\ude00 and of 1e-3.
        value = (parse_json if bare.startswith("{") else parse_yaml)((bare + "\n").encode("utf-8"))
    except UnicodeError as error:
        raise NoPlan(str(error)) from error
    except FormatError as error:
        place = f", line {error.line}, column {error.column}" if error.line else ""
        raise NoPlan(f"the plan{place}: {error}") from error
    if not isinstance(value, dict):
        raise NoPlan("it is not a JSON object")
    return value


def _strip_words(text: str) -> str:
    """Return the JSON or YAML of a reply, without what a model thought or said around it."""
    thought, mark, rest = text.partition(_THOUGHT)
    is_thought = mark and not thought.lstrip("\ufeff \n\r\t").startswith("{")
    bare = _strip_fence(rest if is_thought else text).strip("\ufeff \n\r\t")
    start = _OBJECT.search(bare)
    if bare.startswith("{") or not start or "\nplan_version:" in f"\n{bare}":
        return bare
    return bare[start.start() : bare.rfind("}") + 1]


def _strip_fence(text: str) -> str:
    """Return what stands in the one fenced block; the whole text where there is none. Raises NoPlan for more than one."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    if len(fences) != 2:
        raise NoPlan(f"the reply has {len(fences)} lines that open or close a fenced block; reply with the plan alone")
    return text[fences[0].end() : fences[1].start()]


def is_mended_alone(fault: str) -> bool:
    """Return whether a fault is about a package line or a check."""
    return fault.startswith(_LINES)


def sections_of(lines: Sequence[str]) -> list[str]:
    """Return the sections of a plan that these faults of lines are in."""
    return sorted({line.partition(":")[0] for line in lines})


def mended_plan(
    text: str, plan: dict[str, Any], wrong: Mapping[str, str], lines: Sequence[str], contracts: Checker
) -> dict[str, Any]:
    """Return the plan with what a reply says of the wrong rows and sections, and of no others. Raises NoPlan."""
    value = object_in_reply(text)
    kept = {name: value[name] for name in sections_of(lines) if name in value}
    for name in QUOTED:
        rows = value.get(name, [])
        kept[name] = (
            [row for row in rows if isinstance(row, dict) and row.get("id") in wrong]
            if isinstance(rows, list)
            else rows
        )
    return whole_plan(kept, contracts, plan)


def drop_faulty_lines(plan: dict[str, Any], check: str) -> dict[str, Any]:
    """Return the plan without packages that cannot be installed and checks that hide their end; `check` where none is left."""
    setup, approach = plan["environment_setup"], plan["validation_approach"]
    faulty = [line for line in pip_packages(plan) if list(package_faults([line]))]
    packages = [line for line in setup["packages"] if line not in faulty]
    commands = [line for line in approach["verify_commands"] if not list(command_faults([line]))]
    if not commands and not is_python(plan):
        raise NoPlan("none of its checks tells how it ended")
    return {
        **plan,
        "environment_setup": {**setup, "packages": packages},
        "validation_approach": {**approach, "verify_commands": commands or [check]},
    }


def quoted_rows(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requirements and values of a plan."""
    return [row for name in QUOTED for row in plan[name]]


def misquotes_of(
    plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return for the id of a requirement or value why its source cannot stand. Rows of the present plan are not looked at."""
    kept = quoted_rows(present) if present else []
    faults = ((row["id"], cited.fault(row)) for row in quoted_rows(plan) if row not in kept)
    return {name: fault for name, fault in faults if fault}


def problems_of(plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None = None) -> list[str]:
    """Return every fault, each as a line for the model. What stands so in the present plan is not looked at again."""
    if counts := list(count_faults(plan)):
        return counts  # so many are not looked up
    misquotes = misquotes_of(plan, cited, present)
    quoted = any(quote_of(row) and row["id"] not in misquotes for row in plan["requirements"])
    return [
        *(f"{name}: {fault}" for name, fault in misquotes.items()),
        # rows may lose their quotes one by one; a plan without any is invented
        *([] if quoted else ["requirements: not one of them quotes words that are there"]),
        *_file_faults(plan),
        *_other_faults(plan, cited, present),
    ]


def count_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lists that are longer than a plan may have them."""
    names = dict.fromkeys((*SOURCED, "expected_results", "experiments"), MOST) | {"expected_results": MOST_RESULTS}
    for name, most in names.items():
        if (count := len(plan.get(name, ()))) > most:
            what, advice = ("cells", ": leave out columns") if name == "expected_results" else ("rows", "")
            yield f"{name}: {count} {what} are too many; at most {most}{advice}"


def _file_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    files, order = plan["file_structure"], plan["implementation_strategy"]
    needs = {row["path"]: row.get("depends_on", ()) for row in files}
    place = {path: number for number, path in enumerate(order)}
    for name, paths in (("file_structure", [row["path"] for row in files]), ("implementation_strategy", order)):
        yield from (f"{name}: {path} stands {count} times" for path, count in Counter(paths).items() if count > 1)
    for path in needs:
        above = ("/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1))
        yield from (
            f"file_structure: {folder} is a file and the folder of {path}" for folder in above if folder in needs
        )
        yield from (f"{path}: depends_on {one}, which is not planned" for one in needs[path] if one not in needs)
    try:
        TopologicalSorter({path: [one for one in needs[path] if one in needs] for path in needs}).prepare()
    except CycleError as error:
        yield f"file_structure: depends_on goes round in a circle: {' -> '.join(reversed(error.args[1]))}"
    yield from (f"implementation_strategy: {path} is not planned" for path in place if path not in needs)
    yield from (f"implementation_strategy: {path} is planned and missing here" for path in needs if path not in place)
    for path in place:
        yield from (f"implementation_strategy: {path} comes before {one}, which it depends on"
                    for one in needs.get(path, ()) if place.get(one, -1) > place[path])  # fmt: skip


def _other_faults(plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None) -> Iterator[str]:
    kept = {(row["name"], row.get("address")) for row in (present or {}).get("datasets", ())}
    for row in plan["datasets"]:
        is_kept = (row["name"], row.get("address")) in kept  # a person's, or looked at before
        if row.get("address") and not is_kept and not cited.has_address(row["address"]):
            yield f"datasets: the address {row['address'][:120]!r} of {row['name'][:60]} is not in the paper; leave it out"
    commands = plan["validation_approach"]["verify_commands"]
    if not any(command.strip() for command in commands):
        yield "validation_approach: verify_commands is empty; nothing would show that the code works"
    yield from reference_faults(plan)
    yield from package_faults(pip_packages(plan))
    yield from command_faults(commands)
