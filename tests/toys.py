"""Toy phases: a chain of small file-to-file steps as real modules in a real folder, run by the real command."""

from __future__ import annotations

import json
from pathlib import Path

STEP = '''"""Toy phase {number}."""

from pipeline.engine.phase import Phase


def run(inputs, ctx):
    before = {before}
    return {{"{name}.json": {{"step": {index}, "text": before + "{name} "}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''


def write_toys(folder: Path, count: int = 5) -> Path:
    """A folder of `count` toy phases 00, 01, …, each of which reads what the one before wrote."""
    (folder / "schemas").mkdir(parents=True)
    for index in range(count):
        write_toy(folder, index)
    return folder


def write_toy(folder: Path, index: int, *, body: str = "", more: str = "") -> Path:
    """One toy phase and its schema. `body` replaces the module's text after the same placeholders."""
    name, previous = toy_name(index), toy_name(index - 1)
    text = (body or STEP).format(
        number=f"{index:02}",
        name=name,
        index=index,
        reads=f'("{previous}.json",)' if index else "()",
        before=f'inputs["{previous}.json"]["text"]' if index else '""',
        more=more,
    )
    path = folder / f"phase{index:02}_{name}.py"
    path.write_text(text)
    (folder / "schemas" / f"{name}.schema.json").write_text(json.dumps(schema_of(index)))
    return path


def toy_name(index: int) -> str:
    """alpha, beta, …: names that sort as they should."""
    return f"toy{index:02}"


def schema_of(index: int) -> dict[str, object]:
    """The closed schema of a toy document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["step", "text"],
        "properties": {"step": {"const": index}, "text": {"type": "string"}},
        "examples": [{"step": index, "text": "x"}],
    }
