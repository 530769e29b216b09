"""The numbers that LaTeX counts: sections, equations, floats, theorems."""

from __future__ import annotations

import string
from dataclasses import dataclass

LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")


@dataclass(frozen=True)
class Anchor:
    """What a label refers to: its kind and the number as printed."""

    kind: str
    number: str


class Counters:
    """Every counter with its value, and which one it starts anew with."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.within: dict[str, str] = {"subsection": "section", "subsubsection": "subsection"}
        self.letters: set[str] = set()
        """Counters that print letters: of the sections, in the appendix."""
        self.deepest = 3
        """How deep sections are numbered (secnumdepth)."""

    def step(self, name: str) -> str:
        """Counts on, starts anew what counts within, and gives the number."""
        self.values[name] = self.values.get(name, 0) + 1
        waiting, seen = [name], {name}
        while waiting:
            outer = waiting.pop()
            inner = [child for child, parent in self.within.items() if parent == outer and child not in seen]
            for child in inner:
                self.values[child] = 0
            seen.update(inner)
            waiting += inner
        return self.number(name)

    def number(self, name: str) -> str:
        """The number as printed, with those of the counters around it."""
        parts: list[str] = []
        current: str | None = name
        # counters may be declared to count within each other
        while current and len(parts) < 8:
            value = self.values.get(current, 0)
            parts.append(letter_of(value) if current in self.letters else str(value))
            current = self.within.get(current)
        return ".".join(reversed(parts))

    def use_chapters(self) -> None:
        """In a book, sections and floats count within chapters."""
        self.within |= dict.fromkeys(("section", "equation", "figure", "table"), "chapter")

    def begin_appendix(self) -> None:
        """From here on the outermost sections bear letters."""
        top = "chapter" if self.within.get("section") == "chapter" else "section"
        self.values[top] = 0
        self.values.update(dict.fromkeys(("section", "subsection", "subsubsection"), 0))
        self.letters.add(top)


def letter_of(value: int) -> str:
    """1 is A, 27 is AA."""
    letters = string.ascii_uppercase
    text = ""
    while value > 0:
        value, rest = divmod(value - 1, 26)
        text = letters[rest] + text
    return text or "0"
