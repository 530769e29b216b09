"""The workload as phases of the pipeline: ten modules and ten schemas, written into a folder."""

from __future__ import annotations

import json
import os

import workload

_MODULE = '''"""Step {step} of the workload."""

from steps import outputs

from pipeline.engine.phase import Phase


def run(inputs, ctx):
    return outputs({step}, inputs, ctx)


PHASE = Phase(number="{number}", name="step_{step}", reads={reads}, writes={writes}, run=run)
'''

_STEPS = '''"""What the toy phases share."""

import json
import sys

sys.path.insert(0, {here!r})

import workload

from pipeline.engine.phase import build_manifest


def outputs(step, inputs, ctx):
    workload.trace("start", step)
    name = f"step_{{step}}.json"
    made = {{name: workload.document(step, b"") | {{"previous": ctx.digests.get(f"step_{{step - 1}}.json", "0" * 64)}}}}
    if str(step) == workload._KILL_AT:
        workload.plain_write(ctx.paths.root + f"/step_{{step}}.json.tmp", json.dumps(made).encode())
    if step == workload.PLAN_STEP:
        made["plan/plan.md"] = workload.plan_text()
        made[name]["files"] = build_manifest({{"plan/plan.md": made["plan/plan.md"]}})
    workload.trace("end", step)
    return made
'''


def write_toys(folder: str, schema: dict[str, object]) -> None:
    """Writes the phases; `schema` is the closed JSON Schema of a step's document."""
    os.makedirs(os.path.join(folder, "schemas"))
    here = os.path.dirname(os.path.abspath(__file__))
    _write(os.path.join(folder, "steps.py"), _STEPS.format(here=here))
    properties = dict(schema["properties"])  # type: ignore[call-overload]
    row = {"type": "object", "required": ["path", "bytes", "sha256"], "additionalProperties": False}
    row["properties"] = {"path": {"type": "string"}, "bytes": {"type": "integer"}, "sha256": {"type": "string"}}
    listed = {**schema, "properties": {**properties, "files": {"type": "array", "items": row}}}
    for step in range(1, workload.STEPS + 1):
        writes = f'("step_{step}.json", "plan/")' if step == workload.PLAN_STEP else f'("step_{step}.json",)'
        reads = f'("step_{step - 1}.json",)' if step > 1 else "()"
        module = _MODULE.format(step=step, number=f"{step:02}", reads=reads, writes=writes)
        _write(os.path.join(folder, f"phase{step:02}_step_{step}.py"), module)
        _write(os.path.join(folder, "schemas", f"step_{step}.schema.json"), json.dumps(listed))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
