"""What people look at: the pages and drawings that a command writes, and the screen of `pipeline supervisor`.

Everything that writes HTML or SVG stands here, with one stylesheet (style.py) and one escaper (markup.py). A page runs nothing
and loads nothing. It reads documents and values of the packages below it, and changes none.
"""

__all__ = [
    "batch_page",
    "notebook",
    "phase_graph",
    "plan_page",
    "preview",
    "results_page",
    "supervisor_events",
    "supervisor_page",
    "supervisor_text",
    "supervisor_view",
    "trace_page",
]
