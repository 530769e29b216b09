"""A plan as sections and tables for the terminal: what a reviewer reads, and nothing that only a machine needs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WIDTH = 100
Row = Mapping[str, Any]


def render_plan(plan: Row) -> str:
    """The text, in at most 100 columns. A plan of version 1 is shown by its requirements, values and files."""
    paper = plan["paper"]
    parts = [
        [paper["title"], "=" * min(len(paper["title"]), _WIDTH), *_wrap(paper["core_contribution"], "")],
        _section("What is uncertain", _uncertain(plan)),
        _section("Components", _components(plan)),
        _section("Requirements", _requirements(plan)),
        _section("Values", _values(plan)),
        _section("Data sets, metrics, baselines", _mentions(plan)),
        _section("Expected results: targets of a reproduction, no constants of the code", _results(plan)),
        _section("Experiments", _experiments(plan)),
        _section("Files, in the order of writing", _files(plan)),
        _section("Checks and packages", _checks(plan)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _section(title: str, lines: Iterator[str]) -> list[str]:
    body = list(lines)
    return [title, "-" * len(title), *body] if body else []


def _uncertain(plan: Row) -> Iterator[str]:
    for row in plan.get("uncertain", ()):
        yield from _wrap(row["what"], f"  {row['about']}: " if row.get("about") else "  ")


def _components(plan: Row) -> Iterator[str]:
    for row in plan.get("components", ()):
        algorithm = f", {row['algorithm']}" if row.get("algorithm") else ""
        met = f" [{', '.join(row['requirements'])}]" if row["requirements"] else ""
        yield from _wrap(f"{row['name']}{algorithm} ({_place(row)}){met}", f"  {row['id']:<5}")
        for equation in row.get("equations", ()):
            yield from _wrap(equation, "         ")


def _requirements(plan: Row) -> Iterator[str]:
    for row in plan["requirements"]:
        told = "" if row["status"] == "stated" else f", {row['status']}"
        yield from _wrap(f"{row['text']} ({_place(row)}{told})", f"  {row['id']:<5}")


def _values(plan: Row) -> Iterator[str]:
    rows = []
    for row in plan.get("values", ()):
        shown = str(row["value"]) if "value" in row else ", ".join(map(str, row["values"]))
        name = f"{row['name']} ({row['symbol']})" if row.get("symbol") else str(row["name"])
        unit = f" {row['unit']}" if row.get("unit") else ""
        rows.append([row["id"], name, f"{shown}{unit}", row["owner"], row.get("condition", ""), _place(row)])
    yield from _table(["", "name", "value", "owner", "condition", "where"], rows, (5, 30, 16, 16, 22, 12))


def _mentions(plan: Row) -> Iterator[str]:
    for name in ("datasets", "metrics", "baselines"):
        if rows := plan.get(name):
            yield from _wrap(
                ", ".join(f"{row['name']} (page {row['source']['page']})" for row in rows), f"  {name:<10}"
            )


def _results(plan: Row) -> Iterator[str]:
    rows = [
        [row["id"], row["table"], row["row"], row["column"], f"{row['value']}{row.get('unit', '')}"]
        for row in plan.get("expected_results", ())
    ]
    yield from _table(["", "table", "row", "column", "value"], rows, (5, 10, 32, 34, 12))


def _experiments(plan: Row) -> Iterator[str]:
    for row in plan.get("experiments", ()):
        yield from _wrap(row["what"], f"  {row['id']:<5}")
        for size in ("quick", "full"):
            if row.get(size):
                yield from _wrap(f"{size}: {row[size]}", "         ")
    for text in plan["validation_approach"].get("experiments", ()):
        yield from _wrap(text, "  ")


def _files(plan: Row) -> Iterator[str]:
    files = {row["path"]: row for row in plan["file_structure"]}
    for path in plan["implementation_strategy"]:
        row = files.get(path, {"purpose": "is not in file_structure"})
        count = len(row.get("implements", ()))
        met = f" ({count} requirements and values)" if count else ""
        yield from _wrap(f"{row['purpose']}{met}", f"  {path:<34} ")


def _checks(plan: Row) -> Iterator[str]:
    for command in plan["validation_approach"]["verify_commands"]:
        yield f"  {command}"
    packages = ", ".join(plan["environment_setup"]["packages"]) or "no packages"
    yield from _wrap(f"Python {plan['environment_setup']['python']}; {packages}", "  ")


def _place(row: Row) -> str:
    source = row["source"]
    section = f"{source['section']}, " if source["section"] else ""
    return f"{section}p. {source['page']}"


def _wrap(text: str, first: str) -> list[str]:
    after = " " * min(len(first), 9)
    plain = " ".join(str(text).split())
    return textwrap.wrap(plain, _WIDTH, initial_indent=first, subsequent_indent=after, break_on_hyphens=False) or [
        first
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Columns of fixed widths; what is longer goes on below."""
    if not rows:
        return
    for row in [heads, *rows]:
        cells = [
            textwrap.wrap(" ".join(str(cell).split()), width - 1) or [""]
            for cell, width in zip(row, widths, strict=True)
        ]
        for at in range(max(map(len, cells))):
            line = "".join(
                (cell[at] if at < len(cell) else "").ljust(width) for cell, width in zip(cells, widths, strict=True)
            )
            yield f"  {line.rstrip()}"
