"""A page that draws how an agent was supervised. It is escaped, runs nothing, and loads nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

from phases.pages.markup import in_html
from phases.pages.supervisor.drawing import drawing_of, swatch
from phases.pages.supervisor.graph_drawing import graph_drawing
from phases.pages.supervisor.lanes import Lanes, lanes_of
from phases.pages.supervisor.rows import Row, plain, rows_of
from phases.pages.supervisor.steps import MARKS
from phases.pages.supervisor.style import STYLE
from phases.pages.supervisor.text import budget_lines, detail, headline, rounds_of, snapshot_lines
from phases.pages.supervisor.view import View

PAGE_START = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="pipeline supervisor">'
)
"""What every such page begins with, and no other file."""
MOST_ROWS = 3000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SPANS = ("free", "forced", "takeover", "handoff_pending", "cooldown")
_MARKS = (
    ("signal", "signal", "signal"),
    ("hint", "hint", "hint"),
    ("block", "block", "call kept back"),
    ("takeover", "led", "takeover"),
    ("handoff", "back", "handback"),
    ("stop", "stop", "stop"),
)


def page_of(view: View) -> str:
    """The page, as HTML."""
    title = f"Supervision of {in_html(view.task)}"
    return (
        f'{PAGE_START}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{STYLE}</style></head>\n<body>'
        '<nav class="skip" aria-label="Skip to"><a href="#rounds">rounds</a> <a href="#graph">graph</a> '
        '<a href="#events">events</a></nav>\n'
        f"<header><h1>{title}</h1>{''.join(_head(view))}</header>\n"
        f'<section id="rounds"><h2>Rounds</h2>{drawing_of(lanes_of(view))}{_legend(lanes_of(view))}</section>\n'
        f'<section id="graph"><h2>Graph of steps</h2>{_graph(view)}</section>\n'
        f"{_snapshots(view)}{_budgets(view)}"
        f'<section id="events"><h2>Events</h2>{_events(view)}</section></body></html>\n'
    )


def _head(view: View) -> Iterator[str]:
    yield f"<p>{in_html(headline(view))}</p>"
    if told := detail(view):
        yield f'<p class="soft">{in_html(told)}</p>'
    if view.take_over_asked:
        yield "<p>A takeover is asked for, and comes with the next turn.</p>"
    if view.report and view.report["warning"]:
        yield f'<p class="warning">{in_html(str(view.report["warning"]))}</p>'
    for line in view.damage[:20]:
        yield f'<p class="warning">damaged: {in_html(line)}</p>'


def _legend(lanes: Lanes) -> str:
    """What is in the drawing, and nothing else."""
    values = {span.value for span in (*lanes.modes, *lanes.phases)}
    shapes = {*lanes.interventions, *(["signal"] if lanes.signals else []), *(["stop"] if lanes.stop else [])}
    rows = [f"<li>{swatch('span', name)}{plain(name)}</li>" for name in _SPANS if name in values]
    rows += [f"<li>{swatch(shape, kind)}{word}</li>" for shape, kind, word in _MARKS if shape in shapes]
    return f'<ul class="legend" aria-label="Legend">{"".join(rows)}</ul>'


def _graph(view: View) -> str:
    if view.graph is None:
        return "<p>There is none: the agent was led by no graph.</p>"
    graph = view.graph
    rows = "".join(f"<li><b>{mark}</b> {state}</li>" for state, mark in MARKS.items())
    return (
        f"<p>{graph.status}, {graph.progress} % done, for: {in_html(graph.goal[:300])}</p>{graph_drawing(graph)}"
        f'<ul class="legend" aria-label="Legend">{rows}<li>dashed line, round corners: stands in for the step above it</li></ul>'
    )


def _snapshots(view: View) -> str:
    rows = "".join(f"<dt>round {turn}<dd>{in_html(line)}" for turn, line in snapshot_lines(view))
    return f'<section id="workspace"><h2>The workspace at takeovers</h2><dl>{rows}</dl></section>\n' if rows else ""


def _budgets(view: View) -> str:
    if view.report is None:
        return ""
    rows = "".join(
        f"<dt>{name}<dd>{in_html(line)}" for name, line in budget_lines(view.report["budgets"], view.config, view.mode)
    )
    return f'<section id="budgets"><h2>Budgets</h2><dl>{rows}</dl></section>\n'


def _events(view: View) -> str:
    rows = rows_of(view.events)
    if not rows:
        return "<p>Nothing happened that supervision had a word for.</p>"
    more = f'<p class="soft">… {len(rows) - MOST_ROWS:,} more</p>' if len(rows) > MOST_ROWS else ""
    return (
        "<table><thead><tr><th scope=col>Round<th scope=col>Time (UTC)<th scope=col>What<th scope=col>Times<th scope=col>"
        f"In words</thead>\n<tbody>{''.join(map(_event, rows[:MOST_ROWS]))}</tbody></table>{more}"
    )


def _event(row: Row) -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(row.ts // 1000))
    return (
        f'<tr><td>{rounds_of(row)}<td>{at}<td class="kind kind-{in_html(row.kind)}">{in_html(row.kind)}'
        f"<td>{row.times if row.times > 1 else ''}<td>{in_html(row.text)}</tr>\n"
    )
