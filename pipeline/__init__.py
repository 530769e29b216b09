"""Turn a research paper into code. The engine runs numbered phases; other programs import `pipeline.api`.

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
        from importlib import import_module  # late: importing one module of the engine must not load the rest

        return getattr(import_module("pipeline.base.errors" if name == "PipelineError" else "pipeline.api"), name)
