"""The page on which a plan is reviewed: what is uncertain first, then its tables, then each row beside its page of the paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.pages import style
from phases.pages.markup import in_html, in_picture, page_start, render_frame
from phases.pages.plan_sheets import Reviewed, link_row, render_sheets, write_id
from phases.planning.plan_words import (
    count_rows,
    group_doubts,
    group_results,
    name_place,
    name_value,
    read_aloud,
    read_formula,
    steps_of,
    write_value,
)

__all__ = ["PAGE_START", "Reviewed", "render_review"]
PAGE_START = page_start("review")
_DOUBT = re.compile(r"(?:line [0-9]+: )?([RCVEX][0-9]+): ")
"""A doubt begins with the line of the file, which is for an editor, and the id of its row."""
Row = Mapping[str, Any]


def render_review(shown: Reviewed) -> str:
    """The page, as HTML. It runs nothing and loads nothing."""
    plan = shown.plan
    title = in_html(plan["paper"]["title"] or "untitled")
    parts = [
        ("uncertain", "What is uncertain", _uncertain(shown)),
        ("changes", "What changed since the version before", _changes(shown.difference)),
        ("decide", "How to decide", _commands(shown)),
        ("components", "Components", _components(plan)),
        ("values", "Values", _values(plan)),
        ("data", "Data sets, metrics, baselines", _mentions(plan)),
        ("results", "Expected results", _results(shown)),
        ("experiments", "Experiments", _experiments(plan)),
        ("files", "Files, in the order of writing", _files(plan)),
        ("checks", "Checks and packages", _checks(plan)),
        ("paper", "Each row beside its page", render_sheets(shown)),
    ]
    kept = [(name, head, body) for name, head, body in parts if body]
    links = "".join(f'<li><a href="#{name}">{in_html(head)}</a>' for name, head, _ in kept)
    sections = "".join(
        f'<section id="{name}"><h2>{in_html(head)}</h2>\n{body}</section>\n' for name, head, body in kept
    )
    body = (
        f"<header><p class=kicker>Plan for review</p><h1>{title}</h1>"
        f"<p class=lead>{in_html(read_aloud(plan['paper']['core_contribution']))}</p>"
        f"<p class=soft>{in_html(count_rows(plan))}. Plan <code>{in_html(shown.digest[:12])}</code>, "
        f"{in_html(shown.standing)}.</p></header>\n"
        f'<div class=columns><nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>{sections}</main></div>'
    )
    return render_frame(PAGE_START, title, style.REVIEW, ("uncertain", "paper"), body)


def _uncertain(shown: Reviewed) -> str:
    items = []
    for line in shown.doubts:
        found = _DOUBT.match(line)
        head, what = (link_row(found.group(1)) + " ", line[found.end() :]) if found else ("", line)
        items.append(f"<li class=doubt><p>{head}{in_html(read_aloud(what))}</p>")
    for what, rows in group_doubts(shown.plan):
        said = "".join(f"<li>{link_row(one)} {in_html(told)}" for one, told in rows)
        items.append(f"<li><p>{in_html(what)}</p>{f'<ul>{said}</ul>' if said else ''}")
    return f"<ul class=doubts>{''.join(items)}</ul>" if items else "<p>Nothing is marked as uncertain.</p>"


def _changes(lines: Sequence[str]) -> str:
    names = {"+": "added", "~": "changed", "-": "gone"}
    rows = "".join(
        f"<li><b>{names.get(line[:1], '')}</b> <span>{in_html(line[1:].strip())}</span>" for line in lines if line
    )
    return f"<ul class=changes>{rows}</ul>" if rows else ""


def _commands(shown: Reviewed) -> str:
    """Commands to paste, with ids of this very plan."""
    requirement = next((row["id"] for row in shown.plan["requirements"]), "R1")
    value = next((row["id"] for row in shown.plan.get("values", ())), "V1")
    rows = [
        (f"--strike {requirement}", "strike a row: a requirement, value, component, expected result or experiment"),
        (f"--set {value}.value=0.1", "change a field of a row; also .owner, .condition, .name, .text"),
        ('--add value "batch size = 32"', "add a value"),
        ('--add requirement "It must log every step."', "add a requirement"),
        ("--diff", "what changed since the version before"),
        ('--change "use the second data set too"', "ask the planner for another plan"),
        (f"--approve --plan {shown.digest[:12]}", "approve exactly this plan"),
        ("--reject", "reject it"),
    ]
    cells = "".join(
        f"<tr><td><code>{in_html(f'{shown.command} {flags}')}</code><td>{in_html(what)}" for flags, what in rows
    )
    return f"<div class=wide><table class=commands>{cells}</table></div><p class=soft>Several fit in one command.</p>"


def _components(plan: Row) -> str:
    rows = []
    for row in plan.get("components", ()):
        algorithm = f"<br><span class=soft>{in_html(row['algorithm'])}</span>" if row.get("algorithm") else ""
        equations = "".join(f"<p class=formula>{in_html(read_formula(one))}</p>" for one in row.get("equations", ()))
        steps = "".join(f"<li>{in_html(read_aloud(one))}" for one in steps_of(row))
        rows.append(
            f"<tr id={write_id(row)}><th scope=row>{write_id(row)}<td>{in_html(row['name'])}{algorithm}"
            f"<td>{in_html(read_aloud(row['what']))}{equations}{f'<ol>{steps}</ol>' if steps else ''}"
            f"<td>{' '.join(map(link_row, row['requirements'])) or _NONE}<td>{_page_link(row)}"
        )
    return _table(("", "name", "what it does", "requirements", "where"), rows, "components")


def _values(plan: Row) -> str:
    rows = [
        f"<tr><th scope=row>{link_row(row['id'])}<td>{in_html(name_value(row))}<td class=number>{in_html(write_value(row))}"
        f"<td>{in_html(row['owner'])}<td>{in_html(row.get('condition', ''))}<td>{_page_link(row)}"
        for row in plan.get("values", ())
    ]
    return _table(("", "name", "value", "owner", "condition", "where"), rows)


def _mentions(plan: Row) -> str:
    rows = []
    for name, key in (("data sets", "datasets"), ("metrics", "metrics"), ("baselines", "baselines")):
        named = ", ".join(
            f"{in_html(row['name'])} <span class=soft>{_page_link(row)}</span>" for row in plan.get(key, ())
        )
        rows += [f"<dt>{name}<dd>{named}"] if named else []
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _results(shown: Reviewed) -> str:
    told = "<p class=soft>Targets of a reproduction, and no constants of the code.</p>"
    tables = []
    for place, rows in group_results(shown.plan):
        conditions = {str(row.get("condition") or "") for row in rows}
        said = conditions.pop() if len(conditions) == 1 else None
        cells = [
            f"<tr id={write_id(row)}><th scope=row>{write_id(row)}<td>{in_html(row['row'])}<td>{in_html(row['column'])}"
            + ("" if said is not None else f"<td>{in_html(row.get('condition', ''))}")
            + f"<td class=number>{in_html(write_value(row))}"
            for row in rows
        ]
        heads = ("", "row", "column", *(() if said is not None else ("condition",)), "value")
        link = f'<a href="#page-{rows[0]["page"]}">{in_html(place)}</a>'
        drawn = shown.floats.get(str(rows[0]["table"]))
        picture = f"<details><summary>as printed</summary>{in_picture(drawn.png, place)}</details>" if drawn else ""
        tables.append(f"<h3>{link}</h3>{f'<p>{in_html(said)}</p>' if said else ''}{_table(heads, cells)}{picture}")
    return told + "".join(tables) if tables else ""


def _experiments(plan: Row) -> str:
    rows = [
        f"<tr><th scope=row>{write_id(row)}<td>{in_html(read_aloud(row['what']))}"
        f"<td>{' '.join(map(link_row, row.get('results', ()))) or _NONE}"
        f"<td>{in_html(row.get('quick', ''))}<td>{in_html(row.get('full', ''))}"
        for row in plan.get("experiments", ())
    ]
    rows += [f"<tr><th><td>{in_html(text)}<td><td><td>" for text in plan["validation_approach"].get("experiments", ())]
    return _table(("", "what", "results", "quick", "full"), rows)


def _files(plan: Row) -> str:
    files = {row["path"]: row for row in plan["file_structure"]}
    rows = []
    for number, path in enumerate(plan["implementation_strategy"], 1):
        row = files.get(path, {"purpose": "is not in file_structure"})
        needs = "<br>".join(f"<code>{in_html(one)}</code>" for one in row.get("depends_on", ()))
        rows.append(
            f"<tr><th scope=row>{number}<td><code>{in_html(path)}</code><td>{in_html(row['purpose'])}"
            f"<td>{' '.join(map(link_row, row.get('implements', ()))) or _NONE}<td>{needs or _NONE}"
        )
    return _table(("", "file", "what it holds", "requirements and values", "imports"), rows, "files")


def _checks(plan: Row) -> str:
    commands = "".join(
        f"<dt>check<dd><code>{in_html(one)}</code>" for one in plan["validation_approach"]["verify_commands"]
    )
    setup = plan["environment_setup"]
    packages = ", ".join(setup["packages"]) or "none"
    return f"<dl>{commands}<dt>Python<dd>{in_html(setup['python'])}<dt>packages<dd>{in_html(packages)}</dl>"


_NONE = "<span class=soft>–</span>"


def _table(heads: Sequence[str], rows: Sequence[str], name: str = "") -> str:
    if not rows:
        return ""
    cells = "".join(f"<th scope=col>{head}" for head in heads)
    return f"<div class=wide><table class='{name}'><thead><tr>{cells}</thead><tbody>{''.join(rows)}</table></div>"


def _page_link(row: Row) -> str:
    place = in_html(name_place(row))
    return f'<a class=place href="#page-{row["source"]["page"]}">{place}</a>' if row["source"]["page"] else place
