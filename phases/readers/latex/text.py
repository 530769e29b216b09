"""What running text is made of: groups, paragraphs, fonts, links, notes."""

from __future__ import annotations

from phases.readers.latex.layout import LAYOUT
from phases.readers.latex.tokens import PARAGRAPH
from phases.readers.latex.walk import Act, Walk, one_line


def _open_group(walk: Walk, lexeme: str) -> None:
    walk.push("}")


def _close_group(walk: Walk, lexeme: str) -> None:
    if walk.frames and walk.frames[-1].closer == "}":
        walk.close()


def _close_bracket(walk: Walk, lexeme: str) -> None:
    if walk.frames and walk.frames[-1].closer == "]":
        walk.close()
    else:
        walk.out.append(lexeme)


def _end_paragraph(walk: Walk, lexeme: str) -> None:
    in_item = bool(walk.flow.prefix) or walk.flow.kind == "references"
    if walk.captures or in_item:
        walk.out.append(" ")
    else:
        walk.flush()


def _blank(walk: Walk, lexeme: str) -> None:
    walk.out.append(" ")


def bold(text: str) -> str:
    """Bold in Markdown; blanks at its ends stay outside."""
    words = text.strip()
    if not words or "**" in words or not any(letter.isalnum() for letter in words):
        return text
    return f"{text[: len(text) - len(text.lstrip())]}**{words}**{text[len(text.rstrip()) :]}"


def _bold(walk: Walk, lexeme: str) -> None:
    if not walk.plain and walk.flow.kind != "algorithm":
        walk.capture(lambda text: walk.out.append(bold(text)))


def _bold_from_here(walk: Walk, lexeme: str) -> None:
    frame = walk.frames[-1] if walk.frames else None
    if frame and frame.closer == "}" and not frame.close and not walk.plain and walk.flow.kind == "text":
        frame.close = lambda text: walk.out.append(bold(text))
        walk.grab()


def _write(walk: Walk, text: str) -> None:
    walk.out.append(text)  # where words go now, which is elsewhere while an argument is collected


def _typewriter(walk: Walk, lexeme: str) -> None:
    walk.capture(lambda text: _write(walk, text), literal=True)


def _address(walk: Walk, lexeme: str) -> None:
    url = walk.word()
    walk.out.append(url)
    walk.known.links.append((url, ""))


def _link(walk: Walk, lexeme: str) -> None:
    walk.option()
    url = walk.word()

    def close(text: str) -> None:
        words = one_line(text)
        walk.known.links.append((url, words))
        shown = words if walk.plain or not url or words == url else f"[{words or url}](<{url}>)"
        walk.out.append(shown.replace("(<", "(").replace(">)", ")") if not set("() <>") & set(url) else shown)

    walk.capture(close)


def _footnote(walk: Walk, lexeme: str) -> None:
    walk.option()
    if walk.plain:
        walk.raw()
        return
    walk.known.footnotes += 1
    number = walk.known.footnotes
    walk.out.append(f"[^{number}]")
    _note_text(walk, number)


def _note_text(walk: Walk, number: int) -> None:
    def close(text: str) -> None:
        walk.notes.append(f"[^{number}]: {one_line(text)}")

    walk.capture(close)


def _footnote_mark(walk: Walk, lexeme: str) -> None:
    if walk.option() is None and not walk.plain:
        walk.known.footnotes += 1
        walk.out.append(f"[^{walk.known.footnotes}]")


def _footnote_text(walk: Walk, lexeme: str) -> None:
    option = "".join(walk.option() or [])
    numbered = option.isdecimal() and option.isascii() and len(option) < 4
    _note_text(walk, int(option) if numbered else walk.known.footnotes)


def _sign(walk: Walk, lexeme: str) -> None:
    """\\ding{51}: a sign by its number in a font of signs."""
    walk.out.append({"51": "✓", "52": "✓", "55": "✗", "56": "✗"}.get(walk.word(), "•"))


def _space_if_word(walk: Walk, lexeme: str) -> None:
    following = walk.tokens[walk.at][:1] if walk.at < len(walk.tokens) else ""
    if following.isalnum() or following in ("$", "(", "\\"):
        walk.out.append(" ")


def _bracketed(walk: Walk, lexeme: str) -> None:
    """\\twocolumn[…]: what stands in the brackets is set over both columns."""
    if walk.follows("["):
        walk.at += 1
        walk.push("]")


def _text_or_math(walk: Walk, lexeme: str) -> None:
    def close(text: str) -> None:
        walk.out.append(text)
        walk.raw()

    walk.capture(close)


def _keywords(walk: Walk, lexeme: str) -> None:
    walk.capture(lambda text: walk.block("text", f"**Keywords.** {one_line(text)}"))


TEXT: dict[str, Act] = {
    **LAYOUT,
    **dict.fromkeys(("\\url", "\\nolinkurl", "\\path"), _address),
    **dict.fromkeys(("\\bf", "\\bfseries"), _bold_from_here),
    **dict.fromkeys(("\\texttt", "\\lstinline"), _typewriter),
    **dict.fromkeys((PARAGRAPH, "\\par"), _end_paragraph),
    "{": _open_group, "}": _close_group, "]": _close_bracket, "~": _blank, "\\keywords": _keywords,
    "\\ding": _sign, "\\textbf": _bold,
    "\\href": _link, "\\footnote": _footnote, "\\footnotemark": _footnote_mark, "\\footnotetext": _footnote_text,
    "\\xspace": _space_if_word, "\\twocolumn": _bracketed, "\\texorpdfstring": _text_or_math,
}  # fmt: skip
