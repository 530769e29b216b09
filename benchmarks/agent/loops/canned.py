"""The one conversation that every loop has: a model that answers at once, and a tool that does nothing.

Each turn the model says TEXT (520 characters) and calls one tool; the tool answers OUTPUT (2,000 characters). After TURNS turns
the model is done. What is measured is everything but the model and the tool.
"""

from __future__ import annotations

import json
import sys
import time

SYSTEM = "You are a careful programmer. " * 60
TEXT = "I look at the file once more and think about the change. " * 9
OUTPUT = "a line of forty characters, as files are\n" * 49
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 20


class Clock:
    """When each turn began."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def tick(self) -> int:
        """The number of this turn, from 1 on."""
        self.marks.append(time.perf_counter())
        return len(self.marks)

    def tell(self) -> None:
        """Prints milliseconds a turn: over all turns, over the first and over the last tenth."""
        self.marks.append(time.perf_counter())
        gaps = [1000 * (after - before) for before, after in zip(self.marks, self.marks[1:], strict=False)]
        tenth = max(1, len(gaps) // 10)
        told = {
            "turns": len(gaps),
            "ms": sum(gaps) / len(gaps),
            "first_tenth": sum(gaps[:tenth]) / tenth,
            "last_tenth": sum(gaps[-tenth:]) / tenth,
        }
        print(json.dumps({name: round(value, 4) for name, value in told.items()}))
