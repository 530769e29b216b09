"""What no schema can say of a plan: ids that lead nowhere, packages that cannot be installed, checks that hide how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from phases.planning.hidden_exits import why_exit_hidden
from phases.sandbox.installs import read_requirement

_IDS = {"components": "C", "values": "V", "expected_results": "E", "experiments": "X", "requirements": "R"}


def reference_faults(plan: Mapping[str, Any]) -> Iterator[str]:
    """Ids that stand twice, and ids that lead nowhere."""
    known: set[str] = set()
    for name in _IDS:
        counted = Counter(row["id"] for row in plan[name])
        known |= set(counted)
        yield from (f"{name}: the id {one} stands {count} times" for one, count in counted.items() if count > 1)
    leads = [
        *((f"{row['id']}: its component", row["component"]) for row in plan["requirements"] if "component" in row),
        *((f"{row['id']}: one of its requirements", one) for row in plan["components"] for one in row["requirements"]),
        *((f"{row['id']}: one of its results", one) for row in plan["experiments"] for one in row.get("results", ())),
        *(
            (f"{row['path']}: one of its components", one)
            for row in plan["file_structure"]
            for one in row.get("components", ())
        ),
        *(
            (f"{row['path']}: one that it implements", one)
            for row in plan["file_structure"]
            for one in row.get("implements", ())
        ),
    ]
    yield from (f"{place} is {one}, which the plan does not have" for place, one in leads if one not in known)


def package_faults(packages: Sequence[str]) -> Iterator[str]:
    """Lines that pip cannot install, with the form that it can."""
    for line in packages:
        if read_requirement(line) is None:
            yield (
                f"environment_setup: {line!r} is no line that can be installed; write the name in the package index, and a "
                "version if it matters, like 'scikit-learn>=1.3'"
            )


def command_faults(commands: Sequence[str]) -> Iterator[str]:
    """Verify commands that hide how they ended."""
    for command in commands:
        if why := why_exit_hidden(command):
            yield f"validation_approach: the check {command!r} hides how it ended: {why}"
