#!/usr/bin/env python3
"""Write docs/api.md from the docstrings of what `import pipeline` offers, and docs/settings.md from those of the settings.

python -m scripts.api_page
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from pathlib import Path

import pipeline
from pipeline import api
from pipeline.engine.settings import Settings

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
SETTINGS_PAGE = PAGE.with_name("settings.md")
_SETTINGS = """# Settings

Defaults < `~/.config/pipeline/config.yaml` < environment (`PIPELINE_MODEL`, …) < flags (`--model`, …). `pipeline config` shows
the values in force and where each comes from. An unknown name is refused; a `PIPELINE_` variable only if it resembles a setting.

This page is made from the docstrings in pipeline/engine/settings.py by `python -m scripts.api_page`.

| setting | default | what |
|---|---|---|
"""
_FUNCTIONS = ("run", "resume", "events", "status", "load_task", "read_paper", "phases")
_CLASSES = ("Report", "Plan", "PaperText", "TaskStatus", "LoadedTask", "Events")
_NOTE = "This page is made from the docstrings in pipeline/api.py by `python -m scripts.api_page`."


def whole_page() -> str:
    """The page."""
    example = (PAGE.parent.parent / "examples" / "library.py").read_text(encoding="utf-8").partition("\n\n")[2]
    parts = [
        f"# Library\n\n{_NOTE}",
        inspect.cleandoc(api.__doc__ or ""),
        f"```python\n{example.strip()}\n```",
        *(_describe_function(name) for name in _FUNCTIONS),
        *(_describe_class(name) for name in _CLASSES),
        f"## pipeline.PipelineError\n\n{inspect.getdoc(pipeline.PipelineError)} `pipeline/base/errors.py` draws its kinds.",
    ]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Return the page of all settings."""
    node = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body[0]
    statements = getattr(node, "body", ())
    told = {
        ast.unparse(one.target): _on_one_line(str(text.value.value))
        for one, text in pairwise(statements)
        if isinstance(one, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    rows = (f"| {name} | {default} | {told[name]} |\n" for name, default in Settings._field_defaults.items())
    return _SETTINGS + "".join(rows)


def _describe_function(name: str) -> str:
    function = getattr(api, name)
    signature = _shorten(str(inspect.signature(function)))
    return f"## pipeline.{name}\n\n```python\n{_wrap(name + signature)}\n```\n\n{inspect.getdoc(function)}"


def _describe_class(name: str) -> str:
    kind = getattr(api, name)
    node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    rows = []
    for statement, following in zip(getattr(node, "body", ()), [*getattr(node, "body", ())[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and not ast.unparse(statement.target).startswith("_"):
            told = (
                following.value.value
                if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                else ""
            )
            rows.append((f"{ast.unparse(statement.target)}: {ast.unparse(statement.annotation)}", str(told)))
        elif isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            answer = ast.unparse(statement.returns) if statement.returns else "None"
            is_property = any(ast.unparse(row) == "property" for row in statement.decorator_list)
            called = (
                ""
                if is_property
                else _shorten(str(inspect.signature(getattr(kind, statement.name)))).partition(" ->")[0]
            )
            rows.append(
                (
                    f"{statement.name}{called.replace('(self, ', '(').replace('(self', '(')}: {answer}",
                    ast.get_docstring(statement) or "",
                )
            )
    lines = "\n".join(f"- `{what}`{f': {_on_one_line(told)}' if told else ''}" for what, told in rows)
    return f"## pipeline.api.{name}\n\n{inspect.getdoc(kind)}\n\n{lines}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _shorten(signature: str) -> str:
    """A signature as people write it."""
    return re.sub(r"\b(pipeline\.\w+\.\w+|collections\.abc|os|typing)\.", "", signature).replace("'", "")


def _wrap(signature: str) -> str:
    if len(signature) <= 100:
        return signature
    head, _, rest = signature.partition("(")
    inside, _, answer = rest.rpartition(")")
    parameters = re.split(r", (?![^\[]*\])", inside)
    return f"{head}(\n" + "".join(f"    {row},\n" for row in parameters) + f"){answer}"


if __name__ == "__main__":
    PAGE.write_text(whole_page(), encoding="utf-8")
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
