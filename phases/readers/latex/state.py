"""What is known of a paper while it is walked over: open frames, flows of blocks, labels, counters, marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from phases.readers.latex.counters import Anchor, Counters

Block = tuple[str, str]
"""What a block is (text, item, heading, caption, table, code, equation, bibliography), and its Markdown."""
Close = Callable[[str], None]


@dataclass
class BlockFlow:
    """A run of blocks: the paper's own, or that of a float, which stands apart. `kind` says how lines end in it."""

    kind: str
    counter: str = ""
    """What a caption in it counts: figure, table, algorithm …"""
    blocks: list[Block] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    pending: list[Block] = field(default_factory=list)
    """Floats that wait for the end of the paragraph in which they stand."""
    prefix: str = ""
    indent: int = 0
    deeper: int = 0
    """How much further in the next line of an algorithm stands."""
    captions: list[str] = field(default_factory=list)
    parts: int = 0


@dataclass
class Items:
    """A list that is open."""

    kind: str
    count: int = 0


@dataclass
class OpenScope:
    """Something open: what closes it, what to do then, and what was so before."""

    closer: str
    close: Close | None
    out: list[str]
    captures: int
    plain: bool
    literal: bool
    anchor: Anchor
    flow: BlockFlow
    grid: list[list[str]] | None = None
    span: int = 1


@dataclass
class Known:
    """What a paper says about itself; pieces of it that are walked apart share it."""

    code: Sequence[str] = ()
    words: dict[str, str] = field(default_factory=dict)
    """How the paper calls things: `require` is perhaps "Input:"."""
    counters: Counters = field(default_factory=Counters)
    theorems: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Environment -> printed name and counter; no counter for those without a number."""
    labels: dict[str, Anchor] = field(default_factory=dict)
    marks: list[tuple[str, tuple[str, ...], str, str]] = field(default_factory=list)
    """References and citations, to be resolved at the end: (command, keys, before, behind)."""
    cited: dict[str, None] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    entries: list[tuple[str, str, str]] = field(default_factory=list)
    """The references as they stand in the paper: key, label, text."""
    bibliographies: list[str] = field(default_factory=list)
    """The .bib files that are to be asked."""
    footnotes: int = 0
