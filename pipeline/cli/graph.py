"""`pipeline graph`: the phases, and the documents that flow between them."""

from __future__ import annotations

import click

from phases.pages.phase_graph import as_mermaid, as_svg
from pipeline.cli.arguments import answers, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import discover_phases, open_task, settings_from
from pipeline.cli.output import Answer, print_text
from pipeline.engine.graph import Graph


@click.command("graph")
@task_or_newest
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "mermaid", "svg"]),
    default="text",
    show_default=True,
    help="text for the terminal, mermaid for Markdown, svg for a page.",
)
@tasks_dir_option
@answers
def graph_command(task: str | None, form: str, tasks_dir: str | None) -> Answer:
    """Draw the phases and what flows between them; with ID, coloured by how far that task is.

    \b
    pipeline graph
    pipeline graph paper --format mermaid
    pipeline graph --format svg > phases.svg
    """
    settings = settings_from({"tasks_dir": tasks_dir})
    status: dict[str, str] = {}
    if task:
        store = open_task(settings, task)
        graph, status = store.graph, {number: stamp.status for number, stamp in store.stamps.items()}
    else:
        graph = discover_phases(settings.phases)
    names = ("number", "name", "reads", "writes", "optional")
    rows = [{**{n: getattr(p, n) for n in names}, "status": status.get(p.number)} for p in graph.phases]
    draw = {"mermaid": as_mermaid, "svg": as_svg}.get(form)
    return Answer(
        rows, lambda: print_text(draw(graph.phases, graph.flows(), status) if draw else as_text(graph, status))
    )


def as_text(graph: Graph, status: dict[str, str]) -> str:
    """Return one block a phase: its status, inputs and outputs."""
    lines = []
    for phase in graph.phases:
        mark = status.get(phase.number, "optional" if phase.optional else "when asked" if phase.asked else "")
        lines.append(f"{phase.number:<3} {phase.name}" + (f"  [{mark}]" if mark else ""))
        for name in phase.reads:
            writer = graph.writer(name)
            lines.append(f"     <- {name}" + (f"  (from {writer.label})" if writer else ""))
        lines += [f"     -> {name}" for name in phase.writes]
    return "\n".join(lines)
