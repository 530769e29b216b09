"""The formulas of HTML pages as LaTeX: what the page says of them, else their MathML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phases.readers.dialect.blocks import one_line
from phases.readers.dialect.symbols import accent, braced, matrix, prose, tex, word
from phases.readers.html.tree import Element, descend, text_of

_TEX = ("application/x-tex", "application/x-latex", "tex", "latex")
_SCRIPTS = {
    "msub": ("_",),
    "msup": ("^",),
    "msubsup": ("_", "^"),
    "munder": ("_",),
    "mover": ("^",),
    "munderover": ("_", "^"),
}
_SCRIPTS |= {"mmultiscripts": ("_", "^")}
_STYLE = re.compile(r"^\\(?:displaystyle|textstyle)(?![a-zA-Z])\s*")
_WRAPPED = re.compile(r"^\{\\(?:displaystyle|textstyle)(?![a-zA-Z])(.*)\}$", re.DOTALL)
_OUTER = re.compile(r"^\\begin\{(equation|displaymath|math)(\*?)\}(.*)\\end\{\1\2\}$", re.DOTALL)
_LABEL = re.compile(r"\\(?:label\{[^{}]*\}|nonumber(?![a-zA-Z])|notag(?![a-zA-Z]))")
_OPENED = re.compile(r"\\\$|\\\(|\\\[|\$\$|\$|\\begin\{(?:equation|align|gather|multline|eqnarray)\*?\}")
_CLOSING = {"\\(": "\\)", "\\[": "\\]", "$$": "$$", "$": "$"}
_ALWAYS = ("\\(", "\\[")
_ALIGNED = re.compile(r"\\(begin|end)\{(?:align|eqnarray|gather|multline)\*?\}")
_LOOSE = re.compile(r"(?<!\\)\$|[\\ ]+$")
_PICTURED = re.compile(r"math|latex|\btex\b|equation", re.IGNORECASE)
_LONGEST_DOLLARS = 2000


def math_tex(math: Element) -> str:
    """The LaTeX of a `math` element, on one line; empty where it holds nothing."""
    written = math.attributes.get("alttext", "")
    if not written.strip():
        notes = (one for one in descend(math) if one.tag == "annotation")
        written = next((text_of(one) for one in notes if one.attributes.get("encoding", "").lower() in _TEX), "")
    return clean_tex(written) if written.strip() else one_line(_converted(math))


def formula_of(element: Element) -> tuple[str, bool]:
    """The LaTeX of a formula, be it MathML, a script or a picture, and whether it stands on a line of its own."""
    if element.tag == "math":
        return math_tex(element), element.attributes.get("display") == "block"
    if element.tag == "script":
        return clean_tex(text_of(element)), "mode=display" in element.attributes.get("type", "")
    pictured = _PICTURED.search(element.attributes.get("class", ""))
    return clean_tex(element.attributes.get("alt", "")) if pictured else "", False


def clean_tex(written: str) -> str:
    """LaTeX as pages carry it, on one line, without what only says how large it is set."""
    if written.isalnum():
        return written
    text = one_line(_LABEL.sub("", re.sub(r"(?<!\\)%\n", "", written.strip())))
    text = text.strip("$").strip() if text.startswith("$") else text
    for pattern, group in ((_WRAPPED, 1), (_OUTER, 3)):
        match = pattern.match(text)
        text = match.group(group).strip() if match else text
    text = _ALIGNED.sub(r"\\\1{aligned}", text)
    return _LOOSE.sub("", _STYLE.sub("", text)).strip()


def _converted(element: Element) -> str:
    """MathML as LaTeX. The tree is never deep: its builder sees to that."""
    parts = [child for child in element.children if isinstance(child, Element)]
    tag = element.tag.rpartition(":")[2]
    if tag in ("mi", "mn", "mo", "mtext", "ms"):
        return _leaf(tag, element)
    if tag in ("annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts", "maligngroup"):
        return " " if tag == "mspace" else ""
    if tag == "semantics":
        return _converted(parts[0]) if parts else ""
    if tag in _SCRIPTS and parts:
        return _scripts(tag, parts)
    if tag == "mfrac" and len(parts) > 1:
        return f"\\frac{_argument(parts[0])}{_argument(parts[1])}"
    if tag == "mroot" and len(parts) > 1:
        return f"\\sqrt[{_converted(parts[1]).strip()}]{_argument(parts[0])}"
    if tag == "mtable":
        cells = ([_row(cell) for cell in row.children if isinstance(cell, Element)] for row in parts)
        return matrix(cells)
    inner = _row(element)
    if tag == "msqrt":
        return f"\\sqrt{braced(inner)}"
    if tag == "mfenced":
        fences = [tex(element.attributes.get(side, sign)) for side, sign in (("open", "("), ("close", ")"))]
        return f"{fences[0]}{', '.join(map(_converted, parts))}{fences[1]}"
    return inner


def _leaf(tag: str, element: Element) -> str:
    text = one_line(text_of(element))
    if tag in ("mtext", "ms"):
        return prose(text)
    return word(text) if tag == "mi" else tex(text)


def _row(element: Element) -> str:
    return "".join(
        _converted(child) if isinstance(child, Element) else tex(child.strip()) for child in element.children
    )


def _argument(element: Element) -> str:
    return braced(_converted(element))


def _scripts(tag: str, parts: list[Element]) -> str:
    base = _converted(parts[0])
    if tag in ("mover", "munder") and len(parts) > 1:
        sign = text_of(parts[1]).strip()
        command = accent(sign, default="")
        if command:
            return f"\\{command}{braced(base)}"
    base = base if len(base.strip()) == 1 or base.strip().startswith("\\") else braced(base)
    return base.strip() + "".join(sign + _argument(part) for sign, part in zip(_SCRIPTS[tag], parts[1:], strict=False))


def pieces(text: str, *, dollars: bool) -> Iterator[tuple[str, str]]:
    """A text cut at the formulas that a script would typeset: (`text`, `inline` or `display`, the piece).

    `\\(...\\)` and `\\[...\\]` always count; `$...$` and environments do where the page loads such a script.
    """
    start, missing = 0, set[str]()
    for opened in _OPENED.finditer(text):
        sign = opened.group()
        closing = _CLOSING.get(sign) or sign.replace("begin", "end")
        if opened.start() < start or sign == "\\$" or closing in missing or (sign not in _ALWAYS and not dollars):
            continue
        end = text.find(closing, opened.end())
        if end < 0:
            missing.add(closing)
            continue
        if sign == "$" and (end - opened.end() > _LONGEST_DOLLARS or text[opened.end()].isspace()):
            continue
        if opened.start() > start:
            yield "text", _unescaped(text[start : opened.start()], dollars=dollars)
        start = end + len(closing)
        whole = sign.startswith("\\begin")
        inner = text[opened.start() : start] if whole else text[opened.end() : end]
        yield "inline" if sign in ("\\(", "$") else "display", clean_tex(inner)
    if start < len(text):
        yield "text", _unescaped(text[start:], dollars=dollars)


def _unescaped(text: str, *, dollars: bool) -> str:
    return text.replace("\\$", "$") if dollars else text
