"""Read headings and their numbers, the abstract, and other named parts of a paper."""

from __future__ import annotations

from functools import partial

from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import LEVELS, Act, Anchor, Walk, one_line

_DEEPEST_MARK = 6
_PARTS = (
    ("abstract", "Abstract"), ("acknowledgments", "Acknowledgments"), ("acknowledgements", "Acknowledgements"),
    ("acks", "Acknowledgments"), ("ack", "Acknowledgments"),
)  # fmt: skip


def set_heading(walk: Walk, level: str, text: str, number: str = "") -> None:
    """Close what is open and add a heading."""
    words = one_line(text)
    walk.end_section()
    depth = LEVELS.index(level) - 1 + ("chapter" in walk.known.counters.within.values())
    mark = "#" * min(max(2, depth + 1), _DEEPEST_MARK)
    if words:
        walk.flow.blocks.append(("heading", f"{mark} {f'{number} ' if number else ''}{words}"))


def _on_section(walk: Walk, lexeme: str) -> None:
    level = lexeme.strip("\\*")
    while walk.frames and (walk.captures or walk.flow.counter):
        # headings are never inside a note or float: if one seems to be, the paper forgot to close it
        walk.close()
    counters = walk.known.counters
    numbered = not lexeme.endswith("*") and level != "part" and LEVELS.index(level) - 1 <= counters.deepest
    number = counters.step(level) if numbered else ""
    walk.anchor = Anchor(level, number) if number else walk.anchor
    walk.option()
    walk.flow.prefix = ""
    walk.capture(lambda text: set_heading(walk, level, text, number), plain=True)


def _on_chapter(walk: Walk, lexeme: str) -> None:
    if not lexeme.endswith("*"):
        walk.known.counters.use_chapters()
    _on_section(walk, lexeme)


def _run_in(walk: Walk, lexeme: str) -> None:
    walk.option()
    walk.end_paragraph()

    def close(text: str) -> None:
        words = " ".join(text.split())
        if words:
            walk.out.append(f"**{words}{'' if words[-1] in '.:?!。' else '.'}** ")

    walk.capture(close, plain=True)


def _part_of_paper(title: str, walk: Walk, name: str) -> None:
    walk.option()
    set_heading(walk, "part", title)
    walk.push(name, lambda _: walk.end_section() if not walk.captures else None)


def _part_in_braces(title: str, walk: Walk, lexeme: str) -> None:
    set_heading(walk, "part", title)
    if walk.follows("{"):
        walk.at += 1
        walk.push("}", lambda _: walk.end_section() if not walk.captures else None)


def _on_keywords(walk: Walk, name: str) -> None:
    walk.end_paragraph()
    walk.out.append("**Keywords.** ")
    walk.push(name, lambda _: walk.end_paragraph())


def _on_appendix(walk: Walk, lexeme: str) -> None:
    walk.end_section()
    walk.known.counters.begin_appendix()


def _on_appendices(walk: Walk, name: str) -> None:
    walk.push(name)
    _on_appendix(walk, "")


def _set_counter(walk: Walk, lexeme: str) -> None:
    name, value = walk.word(), walk.word().replace(" ", "")
    if not value.lstrip("-").isdecimal() or not value.isascii() or len(value) > 6:
        return
    counters = walk.known.counters
    if name == "secnumdepth":
        counters.deepest = int(value)
    else:
        before = counters.values.get(name, 0) if lexeme == "\\addtocounter" else 0
        counters.values[name] = before + int(value)


def _on_counter_within(walk: Walk, lexeme: str) -> None:
    walk.option()
    inner, outer = walk.word(), walk.word()
    if inner != outer and len(walk.known.counters.within) < 100:
        walk.known.counters.within[inner] = outer


def _document_class(walk: Walk, lexeme: str) -> None:
    walk.option()
    if plain_of(walk.raw()) in ("book", "report", "scrbook", "scrreprt", "memoir"):
        walk.known.counters.use_chapters()


SECTIONS: dict[str, Act] = {
    **dict.fromkeys((f"\\{level}" for level in LEVELS[2:5]), _on_section),
    **dict.fromkeys(("\\paragraph", "\\subparagraph"), _run_in),
    **dict.fromkeys(("\\appendix", "\\appendices"), _on_appendix),
    "\\part": _on_section,
    "\\chapter": _on_chapter,
    **{f"\\{name}": partial(_part_in_braces, title) for name, title in _PARTS},
}
COUNTERS: dict[str, Act] = {
    **dict.fromkeys(("\\numberwithin", "\\counterwithin"), _on_counter_within),
    **dict.fromkeys(("\\setcounter", "\\addtocounter"), _set_counter),
    "\\documentclass": _document_class,
}
SECTION_ENVIRONMENTS: dict[str, Act] = {
    **{name: partial(_part_of_paper, title) for name, title in (*_PARTS, ("acknowledgement", "Acknowledgement"))},
    **dict.fromkeys(("keywords", "IEEEkeywords", "keyword"), _on_keywords),
    **dict.fromkeys(("appendix", "appendices", "subappendices"), _on_appendices),
}
