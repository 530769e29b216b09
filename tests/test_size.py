"""How large the tree may be: a total and a number for each package, which only go down.

`python -m tests.test_size` writes the numbers of today into size_budget.json, where none of them is larger than before.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = Path(__file__).with_name("size_budget.json")
SLACK = 300
"""Lines that a part may be smaller than its number, so that not every commit changes the numbers."""


def sizes() -> dict[str, int]:
    """Return the lines of Python of each package of pipeline/ and phases/, of both together, and of tests/."""
    lines: Counter[str] = Counter()
    for top in ("pipeline", "phases", "tests"):
        for path in (ROOT / top).rglob("*.py"):
            inner = path.relative_to(ROOT).parts
            count = path.read_bytes().count(b"\n")
            if top == "tests":
                lines["tests"] += count
                continue
            lines["pipeline + phases"] += count
            lines["/".join(inner[:2]) if len(inner) > 2 else top] += count
    return dict(sorted(lines.items()))


def test_no_part_of_the_tree_grows_and_what_shrinks_stays_small() -> None:
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    now = sizes()
    grown = {part: lines for part, lines in now.items() if lines > budget.get(part, 0)}
    assert grown == {}, "delete as much as you add, or say in docs/decisions.md what a user gets for the lines"
    shrunk = {part: lines for part, lines in budget.items() if now.get(part, 0) < lines - SLACK}
    assert shrunk == {}, "lower the numbers: python -m tests.test_size"


if __name__ == "__main__":
    before = json.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {}
    lowered = {part: min(lines, before.get(part, lines)) for part, lines in sizes().items()}
    BUDGET.write_text(json.dumps(lowered, indent=2) + "\n", encoding="utf-8")
