"""Drill 92: an agent that is killed goes on under a release that says its prompts and tools otherwise, twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from phases.sandbox.commands import kind_of_sandbox
from tests.drills import scenes
from tests.drills.aftermath import last_words
from tests.llm_server import Answer, LlmServer, Says, Status

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="the openai package is not installed")
if kind_of_sandbox("required") == "none":
    pytest.skip("no sandbox on this machine, so the recorded commands do not run", allow_module_level=True)

RELEASE = """\
try:
    from phases.agent import explore, prompt
    from phases.planning.model import prompt as planning
    from phases.agent.tools.toolbox import Toolbox
except ImportError:
    pass  # another Python than the run's
else:
    schemas = Toolbox.schemas
    prompt.DATA += "\\nRelease {number}."
    planning._CODE += "\\nRelease {number}."
    explore._SYSTEM += "\\nRelease {number}."
    Toolbox.schemas = lambda box: [
        {{**row, "description": "Release {number}", "parameters": {{**row["parameters"], "title": "{number}"}}}}
        for row in schemas(box)
    ]
"""
"""As sitecustomize.py, it changes what the release that is installed says."""
KILLS = (1, 4, 9)
"""The second turn of the plan, the third of the code, the second of the sub-agent."""


class Killer:
    """Says what SERVED has, after a plan that is none; at the places of KILLS the run is killed instead, once each."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.running: subprocess.Popen[str] | None = None
        self._left = list(KILLS)

    def __call__(self, body: dict[str, Any]) -> Answer:
        place = len(self.said)
        if place in self._left and self.running:
            self._left.remove(place)
            os.kill(self.running.pid, signal.SIGKILL)
            return Status(500)
        self.said.append(body["messages"])
        return Says("I have no plan.") if place == 0 else scenes.spoken(place - 1)


def test_a_run_that_is_killed_goes_on_under_other_prompts_and_asks_nothing_again(tmp_path: Path) -> None:
    killer = Killer()
    with LlmServer(killer) as server:
        ground = scenes.modelled(tmp_path, "--model", "compatible:x", "--base-url", server.base_url)
        for number in range(4):
            release = tmp_path / f"release{number}"
            release.mkdir()
            (release / "sitecustomize.py").write_text(RELEASE.format(number=number))
            ground.extra["PYTHONPATH"] = str(release)
            killer.running = ground.start()
            ended = ground.wait(killer.running)
            assert ended.code == (0 if number == 3 else -signal.SIGKILL), last_words(ended)
    assert len(killer.said) == 1 + len(scenes.SERVED)
    assert "Release 3" in json.dumps(killer.said[len(scenes.SAID)])
    assert not list(ground.task.glob("*.prev"))
    log = (ground.task / "logs" / "system.jsonl").read_text()
    assert log.count("recorded replies are used as they are") == 3
