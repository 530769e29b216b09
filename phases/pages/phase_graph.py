"""Draw the phases and the documents that flow between them, as SVG or Mermaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.engine.phase import Phase

Flows = Mapping[tuple[str, str], Sequence[str]]
"""(number of the writer, number of the reader) -> names of the documents."""
_COLOURS = {
    "done": "#cfe8cf",
    "skipped": "#e8e8e8",
    "degraded": "#f5e3c0",
    "failed": "#f3c9c9",
    "running": "#cfdff5",
    "stopped": "#f5e3c0",
}


def as_mermaid(phases: Sequence[Phase], flows: Flows, status: Mapping[str, str]) -> str:
    """Return a Mermaid flowchart: phases as nodes, documents on the arrows."""
    lines = ["flowchart TD"]
    for phase in phases:
        lines.append(f'    p{phase.number}["{phase.number} {phase.name}"]')
        if status.get(phase.number) in _COLOURS:
            lines.append(f"    style p{phase.number} fill:{_COLOURS[status[phase.number]]}")
    for (source, target), names in sorted(flows.items()):
        lines.append(f'    p{source} -->|"{", ".join(names)}"| p{target}')
    return "\n".join(lines)


def as_svg(phases: Sequence[Phase], flows: Flows, status: Mapping[str, str]) -> str:
    """Return an SVG: the phases in a column, an arc for each pair with documents."""
    height, top = 46, 20
    place = {phase.number: top + index * height for index, phase in enumerate(phases)}
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{top * 2 + height * len(place)}" '
            'font-family="sans-serif" font-size="13">'
        ),
        (
            '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>'
        ),
    ]
    for (source, target), names in sorted(flows.items()):
        start, end = place[source] + 15, place[target] + 15
        reach = 200 + min(260, (end - start) // 2)
        parts.append(
            f'<path d="M190 {start} C{reach} {start} {reach} {end} 192 {end}" fill="none" stroke="#999" marker-end="url(#a)">'
            f"<title>{', '.join(names)}</title></path>"
        )
    for phase in phases:
        y, colour = place[phase.number], _COLOURS.get(status.get(phase.number, ""), "#ffffff")
        dash = ' stroke-dasharray="4 3"' if phase.optional else ""
        parts.append(
            f'<rect x="20" y="{y}" width="170" height="30" rx="6" fill="{colour}" stroke="#333"{dash}/>'
            f'<text x="30" y="{y + 20}">{phase.number} {phase.name}</text>'
            f'<text x="480" y="{y + 20}" fill="#555">{", ".join(phase.writes)}</text>'
        )
    return "\n".join([*parts, "</svg>"])
