"""A recorded run whose work is refused twice by hooks that are real scripts, and what these scripts tell of themselves."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phases.llm.model import Reply, ToolCall, reply_to_json
from tests.drills import scenes
from tests.drills.ground import Ground
from tests.drills.looping import RIGHT, Turn
from tests.hooks import item, script

GUARDED, STYLED, CLAIMS = (2, 3), (5, 7), (4, 6, 8)
"""The turns with calls that `guard` and `style` are asked about, and those that say that the work is done."""
REFUSALS = ("the loss is negative", "the seed is not fixed")
"""What `tests` says of the first two claims."""
_LITTER = "echo '# cut off' >> decay.py; echo litter > litter.txt"
_TELLS = """
input=$(cat); bench=@bench@; cd "$PIPELINE_PROJECT_DIR" || exit 9
turn=$(printf %s "$input" | sed 's/.*"turn_id":"\\([0-9]*\\)".*/\\1/')
attempt=$(printf %s "$input" | sed 's/.*"attempt":\\([0-9]*\\).*/\\1/')
tree=$(find . -type f ! -path './.pipeline/*' -exec sha256sum {} + | sort | sha256sum | cut -c1-16)
echo "$PIPELINE_HOOK_ID $turn $attempt $tree" >> "$bench/runs.txt"
if [ "$(cat "$bench/hold" 2>/dev/null)" = "$PIPELINE_HOOK_ID $turn" ]; then
    rm "$bench/hold"; @litter@
    sleep 600 & setsid sleep 600 & (sleep 600; echo late > late.txt) &
    touch "$bench/held"; sleep 600
fi
"""
_SCRIPTS = {
    "tidy": "sed -i '/FIXME/d' decay.py",
    "tests": f"""case $attempt in 1) echo '{REFUSALS[0]}' >&2; exit 2;; 2) echo '{REFUSALS[1]}' >&2; exit 1;; esac""",
    "slow": f"{_LITTER}; sleep 0.1; rm litter.txt; sed -i '$d' decay.py",
    "fine": "true",
    "guard": "case $input in *forbidden*) echo 'not this one' >&2; exit 2;; esac",
    "style": """echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "short lines"}}'""",
}
_FIELDS: dict[str, dict[str, Any]] = {
    "tidy": {"priority": 9, "allow_writes": True},
    "tests": {"priority": 5},
    "slow": {"priority": 1},
    "guard": {"point": "before_tool_call", "matcher": "Bash"},
    "style": {"point": "after_tool_result", "matcher": "Edit"},
}
_CODE = {
    str(arguments["file_path"]): str(arguments["content"])
    for _, _, (_, calls) in scenes.SAID
    for name, arguments in calls
    if name == "Write"
} | {"decay.py": RIGHT + "# FIXME: tidy up\n"}


def _mends(before: str, after: str) -> Turn:
    return [("Edit", {"file_path": "config.py", "old_string": before, "new_string": after})]


TURNS: tuple[Turn, ...] = (
    [("Write", {"file_path": path, "content": content}) for path, content in _CODE.items()],
    [("Bash", {"command": "touch forbidden"})],
    [("Bash", {"command": "echo one >> log.txt; sleep 0.1; echo two >> log.txt"})],
    [],
    _mends("ETA = 0.1 ", "ETA = 0.1  # above zero "),
    [],
    _mends("BETA = 0.05 ", "BETA = 0.05  # a seed "),
    [],
    [],  # and so on, where a claim more is refused than in a run that nothing happens to
    [],
)


@dataclass(frozen=True)
class Bench:
    """What of the scene lies outside the workspace."""

    ground: Ground

    @property
    def folder(self) -> Path:
        return self.ground.base / "bench"

    def fresh(self, **others: str | None) -> None:
        """The scripts and the setting as they were at first, and nothing has run yet. `others`: see configure."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            path.unlink()
        for name, text in _SCRIPTS.items():
            self.write(name, text)
        self.configure(**others)

    def write(self, name: str, text: str, folder: Path | None = None) -> None:
        """The script of a hook."""
        tells = _TELLS.replace("@bench@", str(self.folder)).replace("@litter@", _LITTER)
        script(folder or self.folder, f"{name}.sh", tells + text + "\n")

    @property
    def inside(self) -> Path:
        """Where scripts lie in the workspace that are the user's."""
        return self.ground.task / "generate_code" / ".pipeline"

    def move_in(self, name: str) -> None:
        """Has a hook that is there use a script in the workspace."""
        self.write(name, _SCRIPTS[name], self.inside)
        self.configure(name)

    def configure(self, within: str = "", /, **others: str | None) -> None:
        """The user's setting: these hooks, and `others` with the text of their scripts; None takes a hook out.

        `within`: the one whose script lies in the workspace.
        """
        for name, text in others.items():
            if text is not None:
                self.write(name, text)
        names = [name for name in {**_SCRIPTS, **others} if others.get(name, "") is not None]
        commands = {name: str(self.folder / f"{name}.sh") for name in names}
        if within:
            commands[within] = f"sh .pipeline/{within}.sh"
        items = [item(name, command, **_FIELDS.get(name, {})) for name, command in commands.items()]
        path = self.ground.home / ".config" / "pipeline" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"runtime": {"hooks": {"items": items}}}))

    def hold(self, hook: str, turn: int) -> None:
        """Lets that hook leave litter and sleep, once, with processes that go ways of their own."""
        (self.folder / "hold").write_text(f"{hook} {turn}\n")

    @property
    def held(self) -> bool:
        """Whether it does."""
        return (self.folder / "held").exists()

    def told(self) -> list[str]:
        """A line for each run of a hook: its name, the turn, the attempt, and the digest of the tree that it found."""
        path = self.folder / "runs.txt"
        return path.read_text().splitlines() if path.exists() else []

    def runs(self) -> Counter[tuple[str, int]]:
        """How often each hook was run in each turn."""
        return Counter((line.split()[0], int(line.split()[1])) for line in self.told())

    def recorded(self) -> Counter[tuple[str, int]]:
        """How often the journal has what a hook said in a turn, as far as hooks are scripts."""
        found: Counter[tuple[str, int]] = Counter()
        for row in self.rows():
            key = row.get("key", {})
            if row["kind"] == "hook" and key["hook"].startswith("user:"):
                found[key["hook"].removeprefix("user:"), key["turn"]] += 1
            elif row["kind"] == "result" and key["turn"] in (*GUARDED, *STYLED):
                found["guard" if key["turn"] in GUARDED else "style", key["turn"]] += 1
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Of the journal; a last line without its end is none."""
        path = self.ground.task / "journal.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The rows of one kind."""
        return [row for row in self.rows() if row["kind"] == kind]

    def document(self, name: str) -> Any:
        """One of the task's documents."""
        return json.loads((self.ground.task / name).read_bytes())


def refused_twice(base: Path) -> Bench:
    """The real phases on the small paper, and a recording that is accepted at its third claim."""
    base.mkdir(parents=True, exist_ok=True)
    path = base / "recording.jsonl"
    checks = {"verify_commands": [scenes.CHECK, "echo litter > checked.txt; mkdir -p out/in"]}
    replies = [("plan", 1, Reply("ok", json.dumps({**scenes.PLAN, "validation_approach": checks})))]
    for turn, calls in enumerate(TURNS, 1):
        named = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
        replies.append(("implement", turn, Reply("ok", "" if named else "Done.", named)))
    rows = [
        {"kind": "reply", "key": {"thread": thread, "turn": turn}, "result": reply_to_json(reply)}
        for thread, turn, reply in replies
    ]
    path.write_text("".join(json.dumps(row) + os.linesep for row in rows))
    bench = Bench(scenes.modelled(base, "--model", f"replay:{path}"))
    bench.fresh()
    return bench
