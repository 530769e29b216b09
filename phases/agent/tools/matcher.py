"""Matches a regular expression in a process of its own: a pattern may take for ever, and that must not be the runner.

The texts come by standard input as JSON and the matches go by standard output; it opens no file of the workspace.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any

MEMORY = 1024 * 1024 * 1024
MOST_OUTPUT = 4 * 1024 * 1024


def main() -> None:
    """One request: pattern, ignore_case, seconds, context, most, texts (path -> text)."""
    request = json.loads(sys.stdin.buffer.read())
    seconds = int(request["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(json.dumps(_match_texts(request)).encode("ascii"))


def _match_texts(request: dict[str, Any]) -> dict[str, Any]:
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        return {"fault": f"the pattern is not a Python regular expression: {error}"}
    files, left = [], request["most"]
    for path, text in request["texts"].items():
        lines = text.split("\n")
        numbers = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        if numbers:
            shown = _lines_around(lines, numbers[:left], request["context"])
            left -= len(numbers[:left])
            files.append({"path": path, "count": len(numbers), "lines": shown})
    return {"files": files}


def _lines_around(lines: list[str], numbers: list[int], context: int) -> list[tuple[int, bool, str]]:
    """Number, whether it matches, and text of the lines that are shown."""
    hits = set(numbers)
    wanted = {near for number in numbers for near in range(number - context, number + context + 1)}
    return [(number, number in hits, lines[number - 1][:400]) for number in sorted(wanted) if 0 < number <= len(lines)]


if __name__ == "__main__":
    main()
