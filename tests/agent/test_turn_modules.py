"""How much of the program one turn of the agent runs through: what a person has to read who wants to change it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phases.agent.kernel_facts import FactExtractor
from phases.agent.tools.toolbox import ToolKind
from phases.supervision import enums
from tests.agents import tool_kinds
from tests.papers import HANGS

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from phases.agent.implement import implement_plan
from tests.agents import assignment_in, says, small_plan, write

folder, mode = Path(sys.argv[1]), sys.argv[2]
names = [f"part{number}.py" for number in range(8)]
model = says(*(write(name, f"def meet():\\n    return {name!r}\\n") for name in names))
turns = [set()]


def profile(frame, event, argument):
    path = frame.f_code.co_filename.removeprefix(str(Path.cwd()) + "/")
    if event != "call" or not path.startswith(("phases/", "pipeline/")):
        return
    if path == "phases/agent/loop.py" and frame.f_code.co_name == "_ask":
        turns.append(set())
    turns[-1].add(path)


assignment = assignment_in(folder, small_plan(*names), sandbox="off", supervisor=mode)
sys.setprofile(profile)
implement_plan(assignment, model, lambda done, total, text: None)
sys.setprofile(None)
loaded = [name for name in sys.modules if name.startswith("phases.supervision")]
print(json.dumps({"turns": [sorted(turn) for turn in turns[1:]], "loaded": loaded}))
"""


def turns_of(mode: str, folder: Path) -> dict[str, Any]:
    """The modules that each turn of a run of Write calls enters, and those of supervision that were imported at all."""
    argv = [sys.executable, "-c", SCRIPT, str(folder / "task"), mode]
    told = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False)
    assert told.returncode == 0, told.stderr
    return dict(json.loads(told.stdout))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run without supervision."""
    return turns_of("off", tmp_path_factory.mktemp("off"))


def test_a_turn_that_writes_a_file_runs_through_at_most_thirty_modules_and_none_of_a_supervision_that_is_off(
    run: dict[str, Any],
) -> None:
    assert len(run["turns"]) == 9
    assert max(map(len, run["turns"][1:8])) <= 30, run["turns"][4]
    assert run["loaded"] == []


@pytest.mark.slow
def test_supervision_that_is_on_adds_its_adapter_and_what_looks_and_no_graph_is_built_in_a_healthy_turn(
    run: dict[str, Any], tmp_path: Path
) -> None:
    on = turns_of("adaptive", tmp_path)
    added = {path for path in set(on["turns"][4]) - set(run["turns"][4]) if not path.startswith("phases/supervision/")}
    assert added <= {
        "phases/agent/kernel_facts.py",
        "phases/agent/kernel_files.py",
        "phases/agent/supervisor_adapter.py",
    }


def test_a_tool_names_its_own_kind_and_supervision_knows_each_kind_and_no_other() -> None:
    kinds = {"Read": "READ", "SearchReference": "READ", "Write": "WRITE", "Edit": "WRITE", "Bash": "EXEC"}
    kinds |= {"Task": "DELEGATE", "TodoWrite": "NEUTRAL", "AskUser": "NEUTRAL", "Job": "NEUTRAL"}
    assert tool_kinds() == {**kinds, "Glob": "SEARCH", "Grep": "SEARCH"}
    assert {kind.value for kind in ToolKind} == {kind.value for kind in enums.ToolClass}
    with pytest.raises(ValueError, match="NEW"):
        FactExtractor([], {}, [], [], {"Paint": "NEW"})  # type: ignore[dict-item]
