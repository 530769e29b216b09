"""Render plan.md: a plan on a few screens, in the order of the paper, for a reviewer or as a brief for a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from phases.planning.plan_words import (
    ABSENT,
    Row,
    count_rows,
    describe_tables,
    find_tellers,
    group_doubts,
    group_mentions,
    group_results,
    name_page,
    name_place,
    name_value,
    read_aloud,
    read_formula,
    steps_of,
    without_only_page,
    write_ids,
    write_value,
)
from phases.planning.quotes import is_reworded
from pipeline.base.text_escaping import escape_text, shorten_text

MOST_LINES = 150
PLAN_MD = "plan.md"
"""Beside initial_plan.txt: nothing reads it back, and nobody becomes stale by it."""
_WHOLE = "initial_plan.txt"
_LONGEST, _LONGEST_WHAT, _LONGEST_STEP, _LONGEST_QUOTE, _MOST_LISTINGS = 600, 200, 240, 120, 8
_WIDTHS = {"name": 32, "value": 24, "unit": 8, "condition": 28}
"""Columns of a cell of the settings, at most; the whole of it is in initial_plan.txt."""
_HTML = re.compile(r"<(?=[A-Za-z/!?])")


class _Part(NamedTuple):
    """A section or listing: head and foot are always shown, the lines between may be cut."""

    head: list[str]
    lines: list[str]
    foot: list[str]
    weight: int = 1
    """How many shares of the lines it gets."""


def plan_md(plan: Row, most: int = MOST_LINES) -> str:
    """Return the plan as Markdown of at most so many lines, 0 for all of it.

    The sections share the lines: what a short one leaves is used by the long ones, and what is cut is counted. Words of a
    paper are plain text in it: no HTML, no links, no pictures, no control characters.
    """
    plan = without_only_page(plan)
    parts = list(_parts(plan))
    room = most - sum(len(part.head) + len(part.foot) + 1 for part in parts)
    rooms = _share(room, parts) if most else [len(part.lines) for part in parts]
    blocks = (
        "\n".join([*part.head, *_cut(part.lines, left), *part.foot]) for part, left in zip(parts, rooms, strict=True)
    )
    return "\n\n".join(blocks) + "\n"


def _parts(plan: Row) -> Iterator[_Part]:
    yield _Part(list(_title(plan)), list(_components(plan)), [])
    yield from _section("What is uncertain or missing", _doubts(plan), weight=6)
    yield from _section("Requirements", _requirements(plan), weight=3)
    yield from _listings(plan)
    yield from _section("Settings", _settings(plan))
    targets = [*_mentions(plan), *_targets(plan), *_experiments(plan)]
    yield from _section("Targets: of a reproduction, no constants of the code", targets)
    unused = describe_tables({"tables": [row for row in plan.get("tables", ()) if row["used_as"] == "none"]})
    yield from _section("Left out", [f"- {unused}"] if unused else [])
    yield from _section("Files, in the order of writing", _files(plan))
    yield _Part([], _checks(plan), [])


def _section(title: str, lines: list[str], weight: int = 1) -> Iterator[_Part]:
    if lines:
        head = lines[:2] if lines[0].startswith("|") else []
        yield _Part([f"## {title}", "", *head], lines[len(head) :], [], weight)


def _share(room: int, parts: Sequence[_Part]) -> list[int]:
    """Return how many lines each part gets: its share, and a part of what others do not need."""
    given, left, weights = [0] * len(parts), max(room, len(parts)), sum(part.weight for part in parts)
    for at in sorted(range(len(parts)), key=lambda at: len(parts[at].lines) / parts[at].weight):
        given[at] = min(len(parts[at].lines), max(left * parts[at].weight // weights, 1))
        left, weights = left - given[at], weights - parts[at].weight
    return given


def _cut(lines: list[str], room: int) -> list[str]:
    return lines if len(lines) <= room else [*lines[: room - 1], f"… {len(lines) - room + 1} more lines: {_WHOLE}"]


def _title(plan: Row) -> Iterator[str]:
    yield f"# {_plain(plan['paper']['title'])}"
    yield ""
    yield f"The plan: {count_rows(plan)}. `pipeline review` changes rows by their ids; {_WHOLE} has all of it."
    yield ""
    yield "## What is built"
    yield ""
    language = " with ".join(_plain(plan[key]) for key in ("language", "framework") if plan.get(key))
    yield " ".join(
        filter(
            None,
            [
                "In short:",
                f"{_plain(plan['paper']['core_contribution']).rstrip('.')}.",
                f"In {language}." * bool(language),
            ],
        )
    )
    yield ""


def _components(plan: Row) -> Iterator[str]:
    tellers = find_tellers(plan)
    for row in plan.get("components", ()):
        place = ", ".join(filter(None, (row.get("algorithm", ""), _place(row))))
        teller = tellers.get(row["id"], "")
        what = f"see {teller}" if teller else _plain(row["what"], _LONGEST_WHAT)
        met = f"({write_ids(row['requirements'])})" if row["requirements"] and not teller else ""
        told = " ".join(filter(None, (what, met)))
        yield f"- **{row['id']} {_plain(row['name'])}**{f' ({place})' if place else ''}{f': {told}' if told else ''}"


def _doubts(plan: Row) -> list[str]:
    """Return uncertain points with the rows they concern, and what the paper leaves open with its assumption."""
    lines = []
    for what, rows in group_doubts(plan):
        ids = [one for one, _ in rows if one.startswith("R")]  # a section of their own has their words
        lines.append(f"- {_plain(what)}{f' ({write_ids(ids)})' if ids else ''}")
        lines += [f"  - **{one}** {_plain(said, _LONGEST_WHAT)}" for one, said in rows if one not in ids]
    open_rows = [row for row in plan["requirements"] if row["status"] == "missing"]
    open_values = [row for row in plan.get("values", ()) if row.get("status", "stated") == "missing"]
    lines += [f"- **{row['id']}** {_plain(row['text'])} ({ABSENT})" for row in open_rows]
    return lines + [
        f"- **{row['id']}** {_plain(name_value(row))} = {_plain(write_value(row))} ({ABSENT})" for row in open_values
    ]


def _requirements(plan: Row) -> list[str]:
    reworded = any(map(is_reworded, plan["requirements"]))
    lines = (
        ["These are the planner's words; a quote is the paper's, and may prove only a part of its row.", ""]
        if reworded
        else []
    )
    for row in plan["requirements"]:
        if row["status"] != "missing":
            status = row["status"] if row["status"] != "stated" else ""
            status = f"quote: “{_plain(row['source']['quote'], _LONGEST_QUOTE)}”" if is_reworded(row) else status
            told = ", ".join(filter(None, (_place(row), status)))
            formula = f": {_plain(read_formula(row['formula']))}" if row.get("formula") else ""
            lines.append(f"- **{row['id']}** {_plain(row['text'])}{formula}{f' ({told})' if told else ''}")
    return lines


def _listings(plan: Row) -> Iterator[_Part]:
    """Yield the steps of algorithms as printed, then the equations. Indented lines cannot end their block."""
    rows = [row for row in plan.get("components", ()) if row.get("steps")]
    for at, row in enumerate(rows[:_MOST_LISTINGS]):
        place = ", ".join(filter(None, (str(row.get("algorithm", "")), _place(row))))
        told = f"**{row['id']} {_plain(row['name'])}**{f' ({place})' if place else ''}"
        lines = [f"{step.number:>3}  {' ' * step.depth}{_code(step.text)}" for step in steps_of(row)]
        yield _Part([*(["## Algorithms", ""] if not at else []), told, "", "```"], lines, ["```"])
    if left := [row["id"] for row in rows[_MOST_LISTINGS:]]:
        yield _Part([], [f"The lines of {write_ids(left)} are in {_WHOLE}."], [])
    told_by = [(row["id"], text) for row in plan.get("components", ()) for text in row.get("equations", ())]
    if equations := [f"     {one}  {_code(read_formula(text))}" for one, text in told_by]:
        yield _Part(["## Equations of the components", "", "```"], equations, ["```"])


def _settings(plan: Row) -> list[str]:
    rows = [
        {
            "id": row["id"],
            "name": name_value(row),
            "value": write_value({**row, "unit": ""}),
            "unit": row.get("unit", ""),
            "condition": ", ".join(
                filter(None, (row["owner"] if row["owner"] != "method" else "", row.get("condition")))
            ),
            "page": str(row["source"]["page"] or ""),
        }
        for row in plan.get("values", ())
        if row.get("status", "stated") != "missing"
    ]
    if not rows:
        return []
    cells = [{key: _cell(text, _WIDTHS.get(key, 8)) for key, text in row.items()} for row in rows]
    kept = [key for key in rows[0] if any(row[key] for row in cells)]
    widths = {key: max(len(key), *(len(row[key]) for row in cells)) for key in kept}
    lines = [{key: key for key in kept}, {key: "-" * widths[key] for key in kept}, *cells]
    return [f"| {' | '.join(row[key].ljust(widths[key]) for key in kept)} |" for row in lines]


def _mentions(plan: Row) -> Iterator[str]:
    addresses = {row["name"]: row["address"] for row in plan.get("datasets", ()) if row.get("address")}
    licences = {row["name"]: row.get("licence", "not stated") for row in plan.get("datasets", ())}
    for kind, rows in group_mentions(plan):
        named = []
        for row in rows:
            where = f"{addresses[row['name']]} (licence: {licences[row['name']]})" if row["name"] in addresses else ""
            page = name_page(row["source"]["page"])
            named.append(f"{_plain(row['name'])}{f' ({page})' if page else ''}{f': {_plain(where)}' if where else ''}")
        yield f"- {kind}: {', '.join(named) or 'none found'}"


def _targets(plan: Row) -> Iterator[str]:
    """Yield the tables of results, a line a row: AP: Error 17.5, Writes 21.8 (E1, E2)."""
    for place, rows in group_results(plan):
        conditions = {str(row.get("condition") or "") for row in rows}
        said = conditions.pop() if len(conditions) == 1 else ""
        yield f"- **{_plain(place)}**{f': {_plain(said)}' if said else ''}"
        for name, cells in groupby(rows, key=lambda row: str(row["row"])):
            own = list(cells)
            values = ", ".join(f"{row['column']} {write_value(row)}" for row in own)
            yield f"  - {_plain(name)}: {_plain(values)} ({write_ids(row['id'] for row in own)})"


def _experiments(plan: Row) -> Iterator[str]:
    for row in plan.get("experiments", ()):
        results = f" ({write_ids(row['results'])})" if row.get("results") else ""
        sizes = "".join(f"; {size}: {row[size]}" for size in ("quick", "full") if row.get(size))
        yield f"- **{row['id']}** {_plain(row['what'])}{_plain(sizes)}{results}"


def _files(plan: Row) -> list[str]:
    files: Mapping[str, Row] = {row["path"]: row for row in plan["file_structure"]}
    lines = []
    for number, path in enumerate(plan["implementation_strategy"], 1):
        row = files.get(path, {"purpose": "is not in file_structure"})
        met = write_ids(sorted(row.get("implements", ()), key=lambda one: (one[0], int(one[1:]))))
        lines.append(f"{number}. {path}: {_plain(row['purpose'], _LONGEST_WHAT)}{f' ({met})' if met else ''}")
    return lines


def _checks(plan: Row) -> list[str]:
    commands = ", ".join(f"`{_code(text)}`" for text in plan["validation_approach"]["verify_commands"])
    setup = plan["environment_setup"]
    needs = [f"Python {setup['python']}"] if setup.get("python") else []
    needs += [*setup["packages"], *setup.get("tools", ())]
    checks = f"Checked with {commands}" if commands else "The plan has no check commands"
    return [f"{checks}; needs {_plain(', '.join(needs)) or 'nothing else'}."]


def _place(row: Row) -> str:
    place = name_place(row)
    return "" if place in (ABSENT, "no place") else _plain(place)


def _plain(text: object, most: int = _LONGEST) -> str:
    """Return untrusted words as one line that Markdown shows as plain text."""
    said = shorten_text(escape_text(" ".join(read_aloud(str(text)).split())), most)
    return _HTML.sub("< ", said).replace("](", "] (").replace("]:", "] :").replace("![", "! [")


def _cell(text: str, most: int) -> str:
    return _plain(text, most).replace("|", "\\|")


def _code(text: str) -> str:
    return shorten_text(escape_text(read_aloud(text)), _LONGEST_STEP).replace("`", "'")
