"""What of a model's reply is a plan: the schema that it is bound to, the one plan parser, and what is wrong with it in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from phases.planning.model.bounded_schema import MOST_OTHERS, MOST_ROWS, restrict_schema
from phases.planning.model.plan_change import change_schema, is_patched, is_whole
from phases.planning.model.quote_index import REVIEW, QuoteIndex
from phases.planning.model.short_form import complete_plan, fill_quotes, short_schema, type_fault
from phases.planning.plan_faults import command_faults, package_faults, reference_faults
from pipeline.base.errors import ContractError, FormatError, PipelineError
from pipeline.base.formats import parse_json
from pipeline.base.plain_yaml import parse_yaml
from pipeline.engine.phase import Checker

PLAN = "initial_plan.txt"
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_OBJECT = re.compile(r"^\{", re.MULTILINE)
_THOUGHT = "</think>"
"""What some servers let stand before a reply ends so."""


class NoPlan(PipelineError):
    """A reply that is no plan; its text goes back to the model."""


def plan_in_reply(
    text: str, contracts: Checker, writer: str, present: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The plan that a reply is, or makes of the present one: one JSON object or YAML document, bare or in its one fenced block.

    What stands around it is read past: models greet, and think aloud. Raises NoPlan.
    """
    bare = _strip_words(text)
    if not bare.startswith("{"):
        if "plan_version" not in bare:
            raise NoPlan(f"it is no plan: it begins {' '.join(bare.split())[:80]!r}; reply with one JSON object")
        try:
            return dict(contracts.parse(PLAN, (bare + "\n").encode("utf-8"), writer=writer))
        except (ContractError, UnicodeError) as error:
            if short := _short_form_in_yaml(bare):
                return whole_plan(short, contracts, present)
            raise NoPlan(str(error)) from error
    return whole_plan(object_in_reply(bare), contracts, present)


def _short_form_in_yaml(text: str) -> dict[str, Any]:
    """A plan in the short form that is written as YAML; empty where it is none."""
    with suppress(FormatError, UnicodeError):
        value = parse_yaml((text + "\n").encode("utf-8"))
        rows = _rows(value.get("requirements")) if isinstance(value, dict) else []
        if rows and not any("source" in row for row in rows):
            return dict(value)
    return {}


def is_whole_reply(text: str) -> bool:
    """Whether a reply has all the keys of a plan, or is one in YAML, and so is no change and no part of one."""
    try:
        return is_whole(object_in_reply(text))
    except NoPlan:
        return "plan_version" in text


def whole_plan(value: dict[str, Any], contracts: Checker, present: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The plan that an object is, in its own form or in the short one. Raises NoPlan."""
    schema = contracts.schema(PLAN)
    if fault := type_fault(value):
        raise NoPlan(f"the plan {fault}")
    plan = complete_plan(value, present)
    if breach := contracts.breach(schema, plan):
        # told in the form in which the model wrote
        is_short = not any("source" in row for row in _rows(value.get("requirements")))
        told = contracts.breach(reply_schema(schema, present), value) if is_short else None
        raise NoPlan(f"the plan {told or breach}")
    return plan


def reply_schema(schema: Mapping[str, Any], present: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema that a reply is bound to, of that of a plan: the short form's, or that of a change to the present plan."""
    short = short_schema(restrict_schema(schema))
    return change_schema(short) if is_patched(present) else short


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def object_in_reply(text: str) -> dict[str, Any]:
    """The JSON object in a reply. Raises NoPlan."""
    try:
        # JSON is read as JSON: YAML has other ideas of \ud83d\ude00 and of 1e-3.
        value = parse_json(_strip_words(text).encode("utf-8"))
    except UnicodeError as error:
        raise NoPlan(str(error)) from error
    except FormatError as error:
        place = f", line {error.line}, column {error.column}" if error.line else ""
        raise NoPlan(f"the plan{place}: {error}") from error
    if not isinstance(value, dict):
        raise NoPlan("it is no JSON object")
    return value


def parse_reply(text: str) -> Any:
    """The JSON in a reply. Raises NoPlan."""
    try:
        return parse_json(_strip_words(text).encode("utf-8"))
    except (FormatError, UnicodeError) as error:
        raise NoPlan(str(error)) from error


def rows_in_reply(text: str, contracts: Checker, sofar: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The requirements and values in a reply that holds some rows of a plan, as JSON, or the whole plan. Raises NoPlan.

    `sofar`: the plan to which the rows belong; they may quote its rows.
    """
    value = parse_reply(text)
    given = {name: value[name] for name in QUOTED if name in value} if isinstance(value, dict) else {QUOTED[0]: value}
    if fault := type_fault(given):
        raise NoPlan(f"the rows {fault}")
    completed = complete_plan(given or {QUOTED[0]: None})
    fill_quotes(completed, sofar)
    for name, rows in completed.items():
        rule = {
            **contracts.schema(PLAN)["properties"][name],
            "minItems": 0 if len(given) > 1 or name != QUOTED[0] else 1,
        }
        if breach := contracts.breach(rule, rows):
            raise NoPlan(f"the {name} {breach}")
    return [row for rows in completed.values() for row in rows]


QUOTED = ("requirements", "values")
"""The lists of a plan whose rows quote the paper, and are mended row by row."""
NAMED = ("components", "datasets", "metrics", "baselines")
"""Lists whose rows have a source, and no status that could say that the paper does not have it."""


_LINES = ("environment_setup: ", "validation_approach: the check ")
"""How faults begin of lines that are mended without the rest of a plan."""


def is_mended_alone(fault: str) -> bool:
    """Whether a fault is of a package line or a check."""
    return fault.startswith(_LINES)


def mending_schema(schema: Mapping[str, Any], plan: Mapping[str, Any], lines: Sequence[str]) -> dict[str, Any]:
    """The schema of a reply that mends rows, and the sections of these faults, of the schema of a plan."""
    sections = sections_of(lines)
    names = [*(name for name in QUOTED if name in plan), *sections]
    wanted = {name: schema["properties"][name] for name in names}
    return {**schema, "properties": wanted, "required": sections or ["requirements"]}


def sections_of(lines: Sequence[str]) -> list[str]:
    """The sections of a plan that these faults of lines are in."""
    return sorted({line.partition(":")[0] for line in lines})


def sections_in_reply(text: str, lines: Sequence[str], contracts: Checker) -> dict[str, Any]:
    """The sections of these faults, in a reply that mends. Raises NoPlan."""
    found = parse_reply(text)
    made: dict[str, Any] = {}
    for name in sections_of(lines):
        if isinstance(found, dict) and name in found:
            if breach := contracts.breach(contracts.schema(PLAN)["properties"][name], found[name]):
                raise NoPlan(f"{name} {breach}")
            made[name] = found[name]
    return made


def drop_faulty_lines(plan: dict[str, Any], check: str) -> dict[str, Any]:
    """The plan without packages that cannot be installed and checks that hide their end; `check` where none is left."""
    if plan["plan_version"] == 1:
        return plan
    setup, approach = plan["environment_setup"], plan["validation_approach"]
    packages = [line for line in setup["packages"] if not list(package_faults([line]))]
    commands = [line for line in approach["verify_commands"] if not list(command_faults([line]))]
    setup, approach = {**setup, "packages": packages}, {**approach, "verify_commands": commands or [check]}
    return {**plan, "environment_setup": setup, "validation_approach": approach}


def quoted_rows(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The requirements and values of a plan of either version."""
    return [row for name in QUOTED for row in plan.get(name, ())]


def with_rows(plan: Mapping[str, Any], said: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The plan with these rows, by their ids, in the place of those that it has."""
    return {**plan, **{name: [said.get(row["id"], row) for row in plan[name]] for name in QUOTED if name in plan}}


def components_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The components of a plan of either version."""
    return list(plan["components"] if "components" in plan else plan.get("implementation_components", ()))


def may_end_in(
    plan: Mapping[str, Any], texts: Sequence[str], contracts: Checker, present: Mapping[str, Any] | None = None
) -> bool:
    """Whether a plan is what came of these replies: the last whole one, or a change, with rows that were mended after it."""
    mended: list[dict[str, Any]] = []
    for text in reversed(texts):
        with suppress(NoPlan):
            if _comes_of(plan, plan_in_reply(text, contracts, "the model", present), mended):
                return True
            if is_whole_reply(text):
                return False
        with suppress(NoPlan):
            mended += rows_in_reply(text, contracts, plan)
    return False


def _comes_of(plan: Mapping[str, Any], whole: Mapping[str, Any], mended: Sequence[dict[str, Any]]) -> bool:
    """Whether a plan is another one, with some of its rows as they were mended."""
    # what is mended by row, what a person adds, and what is found beside the model's word
    others = dict.fromkeys((*QUOTED, *NAMED, "todos", "uncertain", "environment_setup", "validation_approach"))
    if {**whole, **others} != {**plan, **others}:
        return False
    ours, theirs = ([*quoted_rows(one), *(row for name in NAMED for row in one.get(name, ()))] for one in (plan, whole))
    said = [*theirs, *mended]
    return len(ours) == len(theirs) and all(row in said or any(_is_made_of(row, one) for one in said) for row in ours)


def _is_made_of(row: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Whether a row is what was said, with its place looked up or put right, its quote taken, or marked as inferred for that."""
    kept = [{name: value for name, value in one.items() if name not in ("source", "status")} for one in (row, said)]
    quotes = (row["source"]["quote"], said["source"]["quote"])
    return kept[0] == kept[1] and (quotes[0] in ("", quotes[1]) or not quotes[1])


def _strip_words(text: str) -> str:
    """The JSON or YAML of a reply, without what a model thought or said around it."""
    thought, mark, rest = text.partition(_THOUGHT)
    is_thought = mark and not thought.lstrip("\ufeff \n\r\t").startswith("{")
    bare = _strip_fence(rest if is_thought else text).strip("\ufeff \n\r\t")
    start = _OBJECT.search(bare)
    if bare.startswith("{") or not start or "\nplan_version:" in f"\n{bare}":
        return bare
    return bare[start.start() : bare.rfind("}") + 1]


def _strip_fence(text: str) -> str:
    """What stands in the one fenced block; the whole text where there is none. Raises NoPlan for more than one."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    if len(fences) != 2:
        raise NoPlan(f"the reply has {len(fences)} lines that open or close a fenced block; reply with the plan alone")
    return text[fences[0].end() : fences[1].start()]


def problems_of(plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None = None) -> list[str]:
    """Every fault, each as a line for the model. Citations that stand so in the present plan are not looked at again."""
    if counts := list(count_faults(plan)):
        return counts  # so many are not looked up
    return [
        *_requirement_faults(plan, cited, present),
        *_file_faults(plan),
        *_order_faults(plan),
        *_other_faults(plan, cited, present),
    ]


def misquotes_of(
    plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Id of a requirement or value -> why its source cannot stand."""
    kept = {row["id"]: row for row in quoted_rows(present)} if present else {}
    faults = ((row["id"], cited.fault(row)) for row in quoted_rows(plan) if row != kept.get(row["id"]))
    return {name: fault for name, fault in faults if fault}


def without_quote(row: Mapping[str, Any], cited: QuoteIndex) -> dict[str, Any]:
    # decision 136: nothing in a plan may claim words that the paper does not have.
    source = row["source"]
    page = source["page"] if cited.has_page(source["page"]) else 0
    section = None if source["section"] == REVIEW else source["section"]
    status = "missing" if row.get("status") == "missing" else "inferred"
    return {**row, "source": {**source, "section": section, "page": page, "quote": ""}, "status": status}


def count_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    """Lists that are longer than a plan may have them."""
    names = (*QUOTED, *NAMED, "expected_results", "experiments")
    lists = ((name, len(plan.get(name, ())), MOST_ROWS.get(name, MOST_OTHERS)) for name in names)
    yield from (f"{name}: {count} rows are too many; at most {most}" for name, count, most in lists if count > most)


def _requirement_faults(plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None) -> Iterator[str]:
    known = Counter(row["id"] for row in quoted_rows(plan))
    twice = [(name, count) for name, count in known.items() if count > 1 and plan["plan_version"] == 1]
    yield from (f"requirements: the id {name} stands {count} times" for name, count in twice)
    misquotes = misquotes_of(plan, cited, present)
    yield from (f"{name}: {fault}" for name, fault in misquotes.items())
    # rows may lose their quotes one by one; a plan without any is invented
    if not any(row["source"]["quote"] and row["id"] not in misquotes for row in plan["requirements"]):
        yield "requirements: not one of them is in the paper's words"
    for row in plan["file_structure"]:
        yield from (f"{row['path']}: implements {name}, which is no requirement" for name in row.get("implements", ())
                    if name not in known)  # fmt: skip
    for row in components_of(plan) if plan["plan_version"] == 1 else ():  # of version 2: reference_faults
        yield from (f"the component {row['name']!r} names {name}, which is no requirement" for name in row["requirements"]
                    if name not in known)  # fmt: skip


def _file_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    planned = Counter(row["path"] for row in plan["file_structure"])
    yield from (f"file_structure: {path} is planned {count} times" for path, count in planned.items() if count > 1)
    for path in planned:
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        yield from (
            f"file_structure: {folder} is a file and the folder of {path}" for folder in folders if folder in planned
        )
    for row in plan["file_structure"]:
        yield from (f"{row['path']}: depends_on {path}, which is not planned" for path in row.get("depends_on", ())
                    if path not in planned)  # fmt: skip
    if circle := _find_cycle({row["path"]: row.get("depends_on", ()) for row in plan["file_structure"]}):
        yield f"file_structure: depends_on goes round in a circle: {' -> '.join(circle)}"


def _order_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    order = plan["implementation_strategy"]
    needs = {row["path"]: row.get("depends_on", ()) for row in plan["file_structure"]}
    counted, place = Counter(order), {path: index for index, path in enumerate(order)}
    yield from (f"implementation_strategy: {path} stands {count} times" for path, count in counted.items() if count > 1)
    yield from (f"implementation_strategy: {path} is not planned" for path in counted if path not in needs)
    yield from (f"implementation_strategy: {path} is planned and missing here" for path in needs if path not in counted)
    for path, index in place.items():
        yield from (f"implementation_strategy: {path} comes before {other}, which it depends on"
                    for other in needs.get(path, ()) if place.get(other, -1) > index)  # fmt: skip


def _other_faults(plan: Mapping[str, Any], cited: QuoteIndex, present: Mapping[str, Any] | None) -> Iterator[str]:
    kept = {(row["name"], row.get("address")) for row in (present or {}).get("datasets", ())}
    for row in plan.get("datasets", ()):
        is_kept = (row["name"], row.get("address")) in kept  # a person's, or looked at before
        if row.get("address") and not is_kept and not cited.has_address(row["address"]):
            yield f"datasets: the address {row['address'][:120]!r} of {row['name'][:60]} is not in the paper; leave it out"
    commands = plan["validation_approach"]["verify_commands"]
    if not any(command.strip() for command in commands):
        yield "validation_approach: verify_commands is empty; nothing would show that the code works"
    if plan["plan_version"] > 1:
        yield from reference_faults(plan)
        yield from package_faults(plan["environment_setup"]["packages"])
        yield from command_faults(commands)


def _find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle, its first name again at its end; nothing where there is none."""
    done: set[str] = set()
    for start in needs:
        path, on_path, waiting = [start], {start}, [iter(needs[start])]
        while path:
            following = next((name for name in waiting[-1] if name in needs and name not in done), None)
            if following is None or path[-1] in done:
                on_path.discard(path[-1])
                done.add(path.pop())
                waiting.pop()
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                on_path.add(following)
                waiting.append(iter(needs[following]))
    return []
