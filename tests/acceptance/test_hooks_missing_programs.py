"""Programs and scripts of hooks that are not there, found before anybody runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks.missing_programs import describe_missing, find_missing
from phases.acceptance.hook import ACCEPT_GATE, BUILTIN, COMMAND, REPO, USER, Hook
from phases.acceptance.payload import RunFacts
from phases.llm.model import Reply
from tests.agents import carry_out, says, small_plan, write
from tests.hooks import PATH, item, mounting


def hook_of(command: str | list[str], **more: Any) -> Hook:
    params = {"args": command} if isinstance(command, list) else {"command": command}
    return Hook("tests", more.pop("source", USER), ACCEPT_GATE, COMMAND, params=params, **more)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("pytset -q", ["no program pytset"]),
        ("CI=1 timeout -k 5 60 pytset -q | tail", ["no program pytset"]),
        ("exec nice -n 10 pytset", ["no program pytset"]),
        (["pytset", "-q"], ["no program pytset"]),
        ("./gone.sh --all", ["no file ./gone.sh"]),
        ("sh ci/gone.sh", ["no file ci/gone.sh"]),
        ("python3 -P gone.py", ["no file gone.py"]),
        (["bash", "gone.sh"], ["no file gone.sh"]),
        ('"$CLAUDE_PROJECT_DIR"/gone.sh', ["no file {}/gone.sh"]),
        ("~/gone/stop.sh", ["no file /home/nobody/gone/stop.sh"]),
        ("/gone/stop.sh", ["no file /gone/stop.sh"]),
        (". ci/gone.sh", ["no file ci/gone.sh"]),
        *((line, []) for line in (
            "sh ci/check.sh", "$CLAUDE_PROJECT_DIR/ci/check.sh", "ls -l && pytset", "command -v pytset && pytset",
            "cd src && ./gone.sh", "if test -e x; then pytset; fi", "python3 -m pytset", "bash -c 'pytset'", "$TOOL/gone.sh",
            "env -u HOME pytset", "sh ci/*.sh", "$(which pytset) -q", "check() { pytset; }; check", "(cd src; pytset)",
            "# the tests\npytset", "",
        )),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_there_is_named_and_what_is_not_known_is_not(
    command: str | list[str], missing: list[str], tmp_path: Path
) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "check.sh").touch()
    variables = {**PATH, "HOME": "/home/nobody", "CLAUDE_PROJECT_DIR": str(tmp_path)}
    assert find_missing(hook_of(command), str(tmp_path), variables) == [line.format(tmp_path) for line in missing]


def test_what_depends_on_a_workspace_or_on_the_sandbox_is_not_looked_for_without_it() -> None:
    assert find_missing(hook_of("sh ci/gone.sh"), "", PATH) == []
    assert find_missing(hook_of("pytset -q", sandbox=True), "", PATH) == []
    assert find_missing(Hook("note", USER, ACCEPT_GATE, BUILTIN), "", PATH) == []


def test_a_line_says_what_is_missing_where_it_is_written_and_what_to_do(tmp_path: Path) -> None:
    hooks = [hook_of("pytset"), hook_of("sh gone.sh", source=REPO), hook_of("python3 main.py")]
    run = RunFacts("s", "r", str(tmp_path), "m")
    assert list(describe_missing(hooks, run, PATH, "/own/config.yaml", ["main.py"])) == [
        "hook user:tests cannot run: there is no program pytset; install it, or fix the command in /own/config.yaml",
        "hook repo:tests cannot run: there is no file gone.sh; write it, or fix the command in .pipeline/hooks.yaml",
    ]


def test_a_hook_that_names_a_file_that_is_not_there_is_told_when_the_run_starts(tmp_path: Path) -> None:
    told: list[str] = []
    hooks = mounting(
        item("lint", "/gone/lint.sh", failure_policy="fail_open"), item("runs", "python3 a.py"), folder=tmp_path / "own"
    )
    model = says(
        write("a.py", 'def meet() -> int:\n    """R1, section 1, page 1."""\n    return 4\n'), Reply("ok", "done")
    )
    carry_out(tmp_path / "task", model, small_plan("a.py"), hooks=hooks, tell=told.append)
    [line] = [line for line in told if "cannot run" in line]
    assert line.startswith(
        "hook user:lint cannot run: there is no file /gone/lint.sh; write it, or fix the command in "
    )
    assert told.index(line) == 0, "before anything is asked or paid"
