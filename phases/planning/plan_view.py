"""A plan as sections and tables for the terminal: what a reviewer reads, and nothing that only a machine needs."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from phases.planning.plan_words import (
    ABSENT,
    OF_DATA,
    Row,
    count_rows,
    describe_tables,
    find_tellers,
    group_doubts,
    group_mentions,
    group_requirements,
    group_results,
    group_values,
    is_in_formula,
    name_page,
    name_place,
    name_value,
    read_aloud,
    read_formula,
    steps_of,
    without_only_page,
    write_ids,
    write_printed,
    write_value,
)

_WIDTH = 80
_INDENT = "      "
_GRID_IDS, _GRID_NAME, _GRID_CELL = 10, 24, 7
"""Columns of a table of results that is shown as the paper has it: ids, the name of the row at most, a value at least."""
_CELLS = " | "
"""Between the cells of a row of a table that is quoted."""
_FILLER, _GLUE = "\ue002", "\ue003"
"""Behind a sign of two columns; and a blank at which no line ends."""


def render_plan(plan: Row, width: int = _WIDTH) -> str:
    """The text, in at most so many columns."""
    text, plan = _Text(width), without_only_page(plan)
    paper = plan["paper"]
    parts = [
        [*text.wrap(paper["title"], ""), "=" * min(len(paper["title"]), width)],
        [*text.wrap(read_aloud(paper["core_contribution"]), "")],
        text.wrap(f"{count_rows(plan)}.{_places_told(plan)}", ""),
        text.section("What is uncertain: look here first", text.uncertain(plan)),
        text.section("What is built: components and their requirements", text.requirements(plan)),
        text.section("Values", text.values(plan)),
        text.section("Data sets, metrics, baselines", text.mentions(plan)),
        text.section("Expected results: targets of a reproduction, no constants of the code", text.results(plan)),
        text.section("Experiments", text.experiments(plan)),
        text.section("Files, in the order of writing", text.files(plan)),
        text.section("Checks and packages", text.checks(plan)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part).replace(_FILLER, "").replace(_GLUE, " ") + "\n"


def _places_told(plan: Row) -> str:
    """What every row says of its place; nothing of a text that has neither sections nor pages."""
    sources = [row["source"] for row in plan["requirements"]]
    names = [name for name in ("section", "page") if any(source[name] for source in sources)]
    return f" Every row names the {' and the '.join(names)} that it is taken from." if names else ""


class _Text:
    """The sections of a plan in lines of a certain width."""

    def __init__(self, width: int) -> None:
        self._width = width

    def section(self, title: str, lines: Iterator[str]) -> list[str]:
        body = list(lines)
        return [*self.wrap(title, ""), "-" * min(len(title), self._width), *body] if body else []

    def uncertain(self, plan: Row) -> Iterator[str]:
        """Each doubt, with the rows that it is about, so that nobody need look for them."""
        for what, rows in group_doubts(plan):
            yield from self.wrap(what, "  ", 4)
            for one, said in rows:
                yield from self.wrap(said, f"    {one:<5}", 9)

    def requirements(self, plan: Row) -> Iterator[str]:
        tellers = find_tellers(plan)
        for number, (component, rows) in enumerate(group_requirements(plan)):
            if number:
                yield ""
            home = None if isinstance(component, str) else component
            if home:
                yield from self._component(home, rows, tellers.get(home["id"], ""))
            elif number or component == OF_DATA:
                yield str(component)
            for row in rows:
                told = "" if row["status"] == "stated" else row["status"]
                # below its component a requirement of the same section names its page alone
                is_near = home and row["source"]["section"] == home["source"]["section"] != "review"
                where = name_page(row["source"]["page"]) if is_near else name_place(row)
                about = ", ".join(filter(None, (where, "" if where == ABSENT else told)))
                said = f"{read_aloud(row['text'])}{f' ({about})' if about else ''}"
                yield from self.wrap(said, f"  {row['id']:<4} ", 7)
                if row.get("formula"):
                    yield from self.wrap(read_formula(row["formula"]), " " * 9, 11)

    def _component(self, row: Row, requirements: Sequence[Row], teller: str) -> Iterator[str]:
        algorithm = f", {row['algorithm']}" if row.get("algorithm") else ""
        place = f" ({name_place(row)})" if row["source"]["section"] or row["source"]["page"] else ""
        yield from self.wrap(f"{row['name']}{algorithm}{place}", f"{row['id']:<4} ", 5)
        if row["what"] and teller not in {requirement["id"] for requirement in requirements}:
            yield from self.wrap(f"See {teller}." if teller else read_aloud(row["what"]), "     ", 5)
        shown = [str(requirement.get("formula", "")) for requirement in requirements]
        for equation in row.get("equations", ()):
            if not any(is_in_formula(equation, one) for one in shown):
                yield from self.wrap(read_formula(equation), " " * 9, 11)
        for step in steps_of(row):
            # what does not fit goes on below its own text, and deeper than what stands in the step
            yield from self.wrap(read_aloud(step.text), f"     {step.number:>3}  {' ' * step.depth}", 14 + step.depth)

    def values(self, plan: Row) -> Iterator[str]:
        """The values below the words that set them: the name alone does not say what a number is for."""
        before = ""
        for where, rows in group_values(plan):
            quote = str(rows[0]["source"]["quote"])
            # rows of one table of settings stand together
            if before and not (_CELLS in before and _CELLS in quote):
                yield ""
            before = quote or where
            yield from self.wrap(where, "  ", 2)
            for row in rows:
                condition = f", {row['condition']}" if row.get("condition") not in (None, "", row["owner"]) else ""
                printed = f", {write_printed(row)}" if row.get("printed") else ""
                said = f"{name_value(row)} = {write_value(row)}{printed}  (of {row['owner']}{condition})"
                yield from self.wrap(said, f"    {row['id']:<4} ", 9)

    def mentions(self, plan: Row) -> Iterator[str]:
        for name, rows in group_mentions(plan):
            named = ", ".join(f"{row['name']}{_in_brackets(row)}" for row in rows)
            yield from self.wrap(named or "none found", f"  {name:<11}", 13)
        for row in plan.get("datasets", ()):
            if row.get("address"):
                said = f"{row['name']}: {row['address']} (licence: {row.get('licence', 'not stated')})"
                yield from self.wrap(said, " " * 13, 15)

    def results(self, plan: Row) -> Iterator[str]:
        for place, rows in group_results(plan):
            conditions = {str(row.get("condition") or "") for row in rows}
            said = f": {next(iter(conditions))}" if len(conditions) == 1 and "" not in conditions else ""
            yield from self.wrap(f"{place}{said}", "  ", 4)
            if (said or conditions == {""}) and (grid := self._grid(rows)):
                yield from grid
                continue
            cells = [
                [row["id"], row["row"], row["column"], "" if said else row.get("condition", ""), write_value(row)]
                for row in rows
            ]
            yield from self.table(["", "row", "column", "condition", "value"], cells, (5, 26, 24, 13, 10))
        if used := describe_tables(plan):
            yield from self.wrap(f"Tables of the paper: {used}", "  ", 4)

    def _grid(self, rows: Sequence[Row]) -> list[str]:
        """A table as the paper has it, a line a row, in parts of a few columns where it is wide; nothing where it is none."""
        heads = list(dict.fromkeys(row["column"] for row in rows))
        lines = [list(group) for _, group in groupby(rows, key=lambda row: str(row["row"]))]
        is_whole = all([row["column"] for row in line] == heads for line in lines) and len(lines) > 1
        name = min(_GRID_NAME, max(len(str(row["row"])) for row in rows) + 2)
        longest = max(len(write_value(row)) for row in rows)
        fit = (self._width - 2 - _GRID_IDS - name) // (max(longest, _GRID_CELL) + 1)
        if not is_whole or fit < min(2, len(heads)):
            return []
        each = -(-len(heads) // -(-len(heads) // fit))
        shown: list[str] = []
        for start in range(0, len(heads), each):
            part = self._part_of_grid([line[start : start + each] for line in lines], name, longest)
            shown += ["", *part] if start else part
        return shown

    def _part_of_grid(self, lines: Sequence[Sequence[Row]], name: int, longest: int) -> Iterator[str]:
        heads = [row["column"] for row in lines[0]]
        room = (self._width - 2 - _GRID_IDS - name) // len(heads)
        cells = [[write_ids(row["id"] for row in line), line[0]["row"], *map(write_value, line)] for line in lines]
        width = min(room, max(longest, *(min(len(head), 16) for head in heads)) + 2)
        shares = (_GRID_IDS, name, *(width for _ in heads))
        return self.table(["", "row", *heads], cells, shares, grows=False)

    def experiments(self, plan: Row) -> Iterator[str]:
        """What is run; a size that all have stands once above them, and so does that the paper gives none."""
        rows = plan.get("experiments", ())
        sizes = {size: Counter(row.get(size) for row in rows if row.get("results")) for size in ("quick", "full")}
        same: dict[str, str] = {}
        for size, said in sizes.items():
            often, count = next(iter(said.most_common(1)), (None, 0))
            if often and count > 1:
                same[size] = often
                yield from self.wrap(f"{size}{'' if len(said) == 1 else ', unless said otherwise'}: {often}", "  ", 4)
        if sizes["quick"] and not any(sizes["quick"]):
            yield from self.wrap("A quick size does not follow from the paper: begin with one cell of each.", "  ", 4)
        for row in rows:
            results = f" ({write_ids(row['results'])})" if row.get("results") else ""
            yield from self.wrap(f"{read_aloud(row['what'])}{results}", f"  {row['id']:<4} ", 7)
            for size in sizes:
                if row.get(size) and row[size] != same.get(size):
                    yield from self.wrap(f"{size}: {row[size]}", "       ", 9)

    def files(self, plan: Row) -> Iterator[str]:
        files = {row["path"]: row for row in plan["file_structure"]}
        for number, path in enumerate(plan["implementation_strategy"], 1):
            row = files.get(path, {"purpose": "is not in file_structure"})
            met = write_ids(sorted(row.get("implements", ()), key=_number))
            yield f"  {number:>2}  {path}"
            yield from self.wrap(f"{row['purpose']}{f': {met}' if met else ''}", _INDENT, 6)

    def checks(self, plan: Row) -> Iterator[str]:
        for command in plan["validation_approach"]["verify_commands"]:
            yield f"  {command}"
        setup = plan["environment_setup"]
        pages = {row["name"]: _in_brackets(row) for row in setup.get("sources", ())}
        packages = ", ".join(f"{line}{pages.get(line, '')}" for line in setup["packages"]) or "no packages"
        language = " ".join(filter(None, (plan["language"], setup.get("python"))))
        said = [language, *filter(None, (plan.get("framework"),)), packages]
        yield from self.wrap("; ".join([*said, *setup.get("tools", ())]), "  ", 4)

    def wrap(self, text: str, first: str, after: int = 0) -> list[str]:
        plain = _fill_wide(re.sub(r"\bp\. (?=[0-9])", f"p.{_GLUE}", " ".join(str(text).split())))
        # a sign of two columns may stand at the end of a line, with its filler on the next one
        made = textwrap.wrap(
            plain,
            self._width - (_FILLER in plain),
            initial_indent=first,
            subsequent_indent=" " * after,
            break_on_hyphens=False,
        )
        return made or [first.rstrip()]

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[int], *, grows: bool = True
    ) -> Iterator[str]:
        """Columns of fixed widths, of which the wide ones share what a wide terminal has more; a column that is empty in
        all rows is left out, and what is longer than its column goes on below."""
        kept = [at for at in range(len(heads)) if not at or any(str(row[at]).strip() for row in rows)]
        wide = [at for at in kept if shares[at] > 10] if grows else []
        room = self._width - 2 - sum(shares[at] for at in kept)
        widths = [shares[at] + (room // len(wide) if at in wide else 0) for at in kept]
        for row in [heads, *rows]:
            cells = [
                textwrap.wrap(_fill_wide(" ".join(str(row[at]).split())), width - 1, break_on_hyphens=False) or [""]
                for at, width in zip(kept, widths, strict=True)
            ]
            for line in range(max(map(len, cells))):
                shown = "".join(
                    (cell[line] if line < len(cell) else "").ljust(width)
                    for cell, width in zip(cells, widths, strict=True)
                )
                yield f"  {shown.rstrip()}"


def _fill_wide(text: str) -> str:
    """The text with a filler behind each character that takes two columns, so that its length is its width."""
    if text.isascii():
        return text
    return "".join(f"{sign}{_FILLER}" if unicodedata.east_asian_width(sign) in "WF" else sign for sign in text)


def _in_brackets(row: Row) -> str:
    page = name_page(row["source"]["page"])
    return f" ({page})" if page else ""


def _number(identifier: str) -> tuple[str, int]:
    return identifier[0], int(identifier[1:])
