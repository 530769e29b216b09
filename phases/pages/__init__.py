"""Pages and drawings that a command writes, and the words of `pipeline supervisor`.

Their HTML is in templates/, with one stylesheet (page.css); `serve` uses the same. A page runs and loads nothing. Pages read
documents and values of the packages below, and change none.
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
