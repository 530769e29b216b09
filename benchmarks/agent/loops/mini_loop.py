"""mini-swe-agent: its DefaultAgent, with `save` its trajectory on the disk too."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["MSWEA_SILENT_STARTUP"] = "1"
os.environ["MSWEA_GLOBAL_CONFIG_DIR"] = tempfile.mkdtemp()

from canned import OUTPUT, SYSTEM, TEXT, TURNS, Clock
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output

CLOCK = Clock()
DONE = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class Canned(DeterministicModel):
    def query(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        command = f"echo {DONE}" if CLOCK.tick() >= TURNS else "cat file"
        return make_output(TEXT, [{"command": command}], cost=0.0)


class Nothing(LocalEnvironment):
    def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
        said = f"{DONE}\nok" if DONE in action["command"] else OUTPUT
        answer = {"output": said, "returncode": 0, "exception_info": ""}
        self._check_finished(answer)
        return answer


saved = Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_FOLDER")), "trajectory.json") if "save" in sys.argv else None
DefaultAgent(
    Canned(outputs=[], cost_per_call=0.0),
    Nothing(cwd=tempfile.mkdtemp()),
    system_template=SYSTEM,
    instance_template="Task: {{task}}",
    cost_limit=0.0,
    output_path=saved,
).run("read the file")
CLOCK.tell()
