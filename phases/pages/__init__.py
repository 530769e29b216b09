"""What people look at: the pages and drawings that a command writes, and the words on the screen of `pipeline supervisor`.

What is shown stands in templates/, with one stylesheet (page.css); `serve` shows the same. A page runs nothing and loads nothing.
It reads documents and values of the packages below it, and changes none.
"""

__all__ = [
    "notebook",
    "phase_graph",
    "plan_page",
    "preview",
    "render",
    "results_page",
    "supervisor_page",
    "trace_page",
]
