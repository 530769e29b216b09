"""Turn a research paper into code. Below it is the machine that runs numbered phases; `pipeline.api` is what others import.

The names of the library are reached at their first use, so that `import pipeline` alone loads nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.api import (
        LoadedTask,
        PaperText,
        Plan,
        Report,
        events,
        load_task,
        phases,
        read_paper,
        resume,
        run,
        status,
    )
    from pipeline.base.errors import PipelineError

__version__ = "0.1.0"
__all__ = [
    "LoadedTask",
    "PaperText",
    "PipelineError",
    "Plan",
    "Report",
    "events",
    "load_task",
    "phases",
    "read_paper",
    "resume",
    "run",
    "status",
]


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))


if not TYPE_CHECKING:  # else a checker would take every name for one that is there

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
        from importlib import import_module  # late: nobody pays for it who wants one module of the machine

        return getattr(import_module("pipeline.base.errors" if name == "PipelineError" else "pipeline.api"), name)
