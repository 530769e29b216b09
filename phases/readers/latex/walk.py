"""Walk once over the tokens of a paper, tracking open braces and environments, counters, and the current output."""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from phases.readers.latex.tokens import BLOCK_CODE, INLINE_CODE, PARAGRAPH, environment_ends, match_pairs, plain_of

Block = tuple[str, str]
"""Kind of a block (text, item, heading, caption, table, code, equation, bibliography) and its Markdown."""
Close = Callable[[str], None]
LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_STRUCTURE = re.compile(r"#|```|~~~|<!--|>|\||\[\^\w{1,20}\]:")
_DEEPEST_STEP = 20
DEEPEST_CAPTURE = 40
"""Nesting depth of collected arguments; deeper ones become plain text, since each level copies its words."""
Act = Callable[["Walk", str], None]
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
    "b": "\u0331", "t": "\u0361",
}  # fmt: skip
ACCENTS = {f"\\{name}": mark for name, mark in _ACCENTS.items()}

SYMBOLS = {
    "\\ss": "ß", "\\o": "ø", "\\O": "Ø", "\\l": "ł", "\\L": "Ł", "\\ae": "æ", "\\AE": "Æ", "\\oe": "œ", "\\OE": "Œ",
    "\\aa": "å", "\\AA": "Å", "\\i": "ı", "\\j": "ȷ", "\\dh": "ð", "\\th": "þ", "\\dj": "đ", "\\DJ": "Đ", "\\S": "§",
    "\\P": "¶", "\\pounds": "£", "\\copyright": "©", "\\textcopyright": "©", "\\dag": "†",
    "\\ddag": "‡", "\\textdagger": "†", "\\dots": "…", "\\ldots": "…", "\\textellipsis": "…", "\\textbullet": "•",
    "\\textendash": "–", "\\textemdash": "—", "\\textquotedblleft": "“", "\\textquotedblright": "”", "\\textdegree": "°",
    "\\textquoteleft": "‘", "\\textquoteright": "’", "\\textasciitilde": "~", "\\textasciicircum": "^", "\\euro": "€",
    "\\textbackslash": "\\", "\\textbar": "|", "\\textless": "<", "\\textgreater": ">",
    "\\textbraceleft": "{", "\\textbraceright": "}", "\\texttrademark": "™", "\\textmu": "µ", "\\texttimes": "×",
    "\\guillemotleft": "«", "\\guillemotright": "»", "\\LaTeX": "LaTeX", "\\TeX": "TeX", "\\BibTeX": "BibTeX",
    "\\checkmark": "✓", "\\cmark": "✓", "\\xmark": "✗", "\\ding": "", "\\onedot": ".", "\\textrightarrow": "→",
    "\\textregistered": "®", "\\lq": "‘", "\\rq": "’", "\\slash": "/", "\\newblock": " ", "\\quad": " ", "\\qquad": " ",
    "\\enspace": " ", "\\enskip": " ", "\\thinspace": " ",
    "\\bibnamedelima": " ", "\\bibnamedelimb": " ", "\\bibinitperiod": ".", "\\space": " ", "\\hfill": " ", "\\newline": " ",
    "\\linebreak": " ", "\\tabularnewline": "\\\\", "\\textunderscore": "_", "\\today": "", "\\lbrack": "[",
    "\\rbrack": "]", "\\textvisiblespace": "␣", "\\textexclamdown": "¡", "\\textquestiondown": "¿",
    "\\%": "%", "\\&": "&", "\\_": "_", "\\#": "#", "\\{": "{", "\\}": "}", "\\$": "\\$", "\\ ": " ", "\\,": " ",
    "\\;": " ", "\\:": " ", "\\>": " ", "\\!": "", "\\/": "", "\\-": "", "\\@": "", "\\\n": " ",
}  # fmt: skip


@dataclass(frozen=True)
class Anchor:
    """Target of a label: kind and number as printed."""

    kind: str
    number: str


class Counters:
    """All counters with their values, and the counters that reset them."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.within: dict[str, str] = {"subsection": "section", "subsubsection": "subsection"}
        self.letters: set[str] = set()
        """Counters printed as letters, such as sections of the appendix."""
        self.deepest = 3
        """Depth of numbered sections (secnumdepth)."""

    def step(self, name: str) -> str:
        """Increment a counter, reset the counters within it, and return its number."""
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
        """Return the number as printed, with those of the enclosing counters."""
        parts: list[str] = []
        current: str | None = name
        # counters may be declared to count within each other
        while current and len(parts) < 8:
            value = self.values.get(current, 0)
            parts.append(letter_of(value) if current in self.letters else str(value))
            current = self.within.get(current)
        return ".".join(reversed(parts))

    def use_chapters(self) -> None:
        """Count sections and floats within chapters, as books do."""
        self.within |= dict.fromkeys(("section", "equation", "figure", "table"), "chapter")

    def begin_appendix(self) -> None:
        """Print top-level sections as letters from here on."""
        top = "chapter" if self.within.get("section") == "chapter" else "section"
        self.values[top] = 0
        self.values.update(dict.fromkeys(("section", "subsection", "subsubsection"), 0))
        self.letters.add(top)


@dataclass
class BlockFlow:
    """A run of blocks: the main text, or a float's. `kind` determines how lines end."""

    kind: str
    counter: str = ""
    """Counter of its captions: figure, table, algorithm …"""
    blocks: list[Block] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    pending: list[Block] = field(default_factory=list)
    """Floats waiting for the end of the surrounding paragraph."""
    prefix: str = ""
    indent: int = 0
    deeper: int = 0
    """Indentation added to the next line of an algorithm."""
    captions: list[str] = field(default_factory=list)
    parts: int = 0


@dataclass
class Items:
    """An open list."""

    kind: str
    count: int = 0


@dataclass
class OpenScope:
    """An open brace or environment: its closer, the action on closing, and the saved state."""

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
    """Facts about a paper, shared by pieces walked separately."""

    code: Sequence[str] = ()
    words: dict[str, str] = field(default_factory=dict)
    """The paper's own terms: `require` may be "Input:"."""
    counters: Counters = field(default_factory=Counters)
    theorems: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Environment -> printed name and counter; no counter if unnumbered."""
    labels: dict[str, Anchor] = field(default_factory=dict)
    marks: list[tuple[str, tuple[str, ...], str, str]] = field(default_factory=list)
    """References and citations to resolve at the end: (command, keys, before, after)."""
    cited: dict[str, None] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    entries: list[tuple[str, str, str]] = field(default_factory=list)
    """References as listed in the paper: key, label, text."""
    bibliographies: list[str] = field(default_factory=list)
    """The .bib files to read."""
    footnotes: int = 0


def letter_of(value: int) -> str:
    """Return 1 as A, 27 as AA."""
    letters = string.ascii_uppercase
    text = ""
    while value > 0:
        value, rest = divmod(value - 1, 26)
        text = letters[rest] + text
    return text or "0"


@dataclass(frozen=True)
class Rules:
    """Actions for commands, single signs and environments."""

    commands: Mapping[str, Act]
    environments: Mapping[str, Act]


class Walk:
    """One pass over tokens. The rules act on it; `out` is the current output."""

    def __init__(self, tokens: list[str], rules: Rules, known: Known) -> None:
        self.tokens, self.rules, self.known = tokens, rules, known
        self.ends = match_pairs(tokens)
        self.at = 0
        self.flow = BlockFlow("text")
        self.out = self.flow.words
        self.captures = 0
        self.plain = self.literal = False
        self.anchor = Anchor("section", "")
        self.frames: list[OpenScope] = []
        self.open: Counter[str] = Counter()
        self.lists: list[Items] = []
        self.notes: list[str] = []
        self.grids = self.floats = 0
        self._ends = environment_ends(tokens)

    def run(self) -> list[Block]:
        """Return the blocks of all tokens."""
        while self.at < len(self.tokens):
            lexeme = self.tokens[self.at]
            self.at += 1
            self.step(lexeme)
        while self.frames:
            self.close()
        self.end_section()
        return self.flow.blocks

    def step(self, lexeme: str) -> None:
        """Process one token."""
        act = self.rules.commands.get(lexeme)
        if act:
            act(self, lexeme)
        elif lexeme[0] == "\\":
            self._command(lexeme)
        elif lexeme[0] in (BLOCK_CODE, INLINE_CODE):
            self._code(self.known.code[int(lexeme[1:-1])], block=lexeme[0] == BLOCK_CODE)
        else:
            self.out.append(lexeme if self.literal else typeset(lexeme))

    def _command(self, lexeme: str) -> None:
        name = lexeme.rstrip("*") if len(lexeme) > 2 else lexeme
        if act := self.rules.commands.get(name):
            act(self, lexeme)
        elif name in SYMBOLS:
            self.out.append(SYMBOLS[name])
        elif name in ACCENTS:
            raw = self.raw()
            self.out.append(
                accent_letter(name, "".join(SYMBOLS.get(part, "") if part[0] == "\\" else part for part in raw))
            )
        elif self.at < len(self.tokens) and self.tokens[self.at] == "[":
            end = self.ends[self.at]
            if end > 0 and self.tokens[end + 1 : end + 2] == ["{"]:
                # the option of an unknown command is dropped, its argument is text
                self.at = end + 1

    def _code(self, code: str, *, block: bool) -> None:
        if block and not self.captures:
            self.block("code", fence_code(code))
        elif code.strip():
            mark = "``" if "`" in code else "`"
            self.out.append(f"{mark}{code}{mark}")

    # Arguments

    def blanks(self) -> None:
        """Skip blanks before an argument."""
        while self.at < len(self.tokens) and self.tokens[self.at] == " ":
            self.at += 1

    def raw(self) -> list[str]:
        """Read the tokens of the next argument: the content of braces, else one token or one character."""
        self.blanks()
        if self.at >= len(self.tokens) or self.tokens[self.at] in ("}", PARAGRAPH):
            return []
        lexeme = self.tokens[self.at]
        start, end = self.at + 1, self.ends[self.at]
        if lexeme == "{":
            self.at = end + 1 if end > 0 else start
            return self.tokens[start:end] if end > 0 else []
        text = lexeme.lstrip() or lexeme
        if len(text) > 1 and text[0] not in "\\\x01\x02":
            self.tokens[self.at] = text[1:]
            return [text[0]]
        self.at += 1
        return [text]

    def option(self) -> list[str] | None:
        """Read the tokens of an argument in brackets, if one comes next."""
        at = self.at
        self.blanks()
        if self.at < len(self.tokens) and self.tokens[self.at] == "[" and self.ends[self.at] > 0:
            start, self.at = self.at + 1, self.ends[self.at] + 1
            return self.tokens[start : self.at - 1]
        self.at = at
        return None

    def skip(self, count: int) -> None:
        """Skip options and this many arguments."""
        for left in range(count, -1, -1):
            while self.option() is not None:
                pass
            if left:
                self.raw()

    def word(self) -> str:
        """Read the next argument as a key or a file name."""
        return plain_of(self.raw())

    def follows(self, lexeme: str) -> bool:
        """Return whether this comes next, ignoring blanks."""
        self.blanks()
        return self.at < len(self.tokens) and self.tokens[self.at] == lexeme

    def environment(self, name: str) -> list[str] | None:
        """Read all tokens of this environment and move past it; None if it has no end."""
        ends = self._ends.get(name, [])
        index = bisect_left(ends, self.at)
        if index == len(ends):
            return None
        start, self.at = self.at, ends[index] + 4
        return self.tokens[start : ends[index]]

    # What is open

    def push(self, closer: str, close: Close | None = None) -> OpenScope:
        """Open a scope; settings inside end with it, and then `close` is called."""
        frame = OpenScope(closer, close, self.out, self.captures, self.plain, self.literal, self.anchor, self.flow)
        self.frames.append(frame)
        self.open[closer] += 1
        return frame

    def close(self) -> None:
        """Close the innermost scope."""
        frame = self.frames.pop()
        self.open[frame.closer] -= 1
        captured = "".join(self.out) if self.captures > frame.captures else ""
        if self.flow is not frame.flow:
            self.out, self.captures = self.flow.words, 0
            self.flush()
        self.out, self.captures, self.flow = frame.out, frame.captures, frame.flow
        self.plain, self.literal, self.anchor = frame.plain, frame.literal, frame.anchor
        if frame.close:
            frame.close(captured)

    def close_until(self, closer: str) -> None:
        """Close the scope that this closes, with everything open inside; do nothing if there is none."""
        if self.open[closer]:
            while self.frames[-1].closer != closer:
                self.close()
            self.close()

    def grab(self, *, plain: bool = False, literal: bool = False) -> None:
        """Collect words from here to the end of the innermost scope for its `close`."""
        if self.captures >= DEEPEST_CAPTURE:
            self.frames[-1].close = None
            return
        self.out = []
        self.captures += 1
        self.plain, self.literal = self.plain or plain, self.literal or literal

    def capture(self, close: Close, *, plain: bool = False, literal: bool = False, bracket: bool = False) -> None:
        """Pass the text of the next argument to `close` when it is complete."""
        self.blanks()
        lexeme = self.tokens[self.at] if self.at < len(self.tokens) else PARAGRAPH
        if lexeme == ("[" if bracket else "{") and (not bracket or self.ends[self.at] > 0):
            self.at += 1
            self.push("]" if bracket else "}", close)
            self.grab(plain=plain, literal=literal)
        elif not bracket and lexeme != "$":
            text = "".join(self.raw())
            close(SYMBOLS.get(text, "" if text[:1] == "\\" else text))

    # Blocks

    def flush(self) -> None:
        """End the current paragraph or line of code."""
        flow = self.flow
        text = one_line("".join(flow.words))
        flow.words.clear()
        if text and flow.kind == "algorithm":
            flow.blocks.append(("step", "  " * max(0, min(flow.indent, _DEEPEST_STEP)) + text))
            flow.indent, flow.deeper = flow.indent + flow.deeper, 0
        elif text:
            flow.blocks.append(
                ("item" if flow.prefix else "text", flow.prefix + (text if flow.prefix else escape_structure(text)))
            )
            flow.prefix = ""
        flow.blocks += flow.pending
        flow.pending.clear()

    def end_paragraph(self) -> None:
        """End the paragraph, unless its words are collected for an argument."""
        if not self.captures:
            self.flush()

    def push_paragraph(self, name: str) -> None:
        """Open an environment that begins and ends a paragraph."""
        self.end_paragraph()
        self.push(name, lambda _: self.end_paragraph())

    def end_section(self) -> None:
        """End the paragraph, and add the notes of this section below it."""
        self.flush()
        self.flow.blocks += [("note", note) for note in self.notes]
        self.notes.clear()

    def block(self, kind: str, text: str) -> None:
        """Add a separate block; within a heading, a note or a cell it becomes part of the line."""
        if self.captures:
            self.out.append(f" {text} ")
        else:
            self.flush()
            self.flow.blocks.append((kind, text))


def ignore_command(walk: Walk, lexeme: str) -> None:
    """Ignore a command that only affects looks."""


def one_line(text: str) -> str:
    """Collapse blanks; two adjacent formulas do not become a display formula."""
    return " ".join(text.split()).replace("$$", "$ $")


def escape_structure(text: str) -> str:
    """Escape a paragraph that Markdown would take for structure."""
    return "\\" + text if _STRUCTURE.match(text) else text


def fence_code(code: str, language: str = "") -> str:
    """Return a code block with a fence that does not occur in it."""
    fence = "`" * (max([2, *map(len, re.findall("`+", code))]) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def accent_letter(command: str, letters: str) -> str:
    """Return the letter under an accent: `\\'` and `e` give é."""
    base = {"ı": "i", "ȷ": "j"}.get(letters[:1], letters[:1])
    return unicodedata.normalize("NFC", base + ACCENTS[command]) + letters[1:] if base.strip() else letters


def typeset(text: str) -> str:
    """Typeset quotes and dashes."""
    if "-" in text:
        text = text.replace("---", "—").replace("--", "–")
    if "`" in text or "'" in text:
        text = text.replace("``", "“").replace("''", "”").replace("`", "‘").replace("'", "’")
    return text
