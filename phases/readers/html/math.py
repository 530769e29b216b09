"""Convert the formulas of HTML pages to LaTeX: from the page's own LaTeX, else from MathML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phases.readers.html.tree import Element, text_of, walk_elements
from phases.readers.markdown_blocks import one_line
from phases.readers.math_symbols import accent_command, brace_argument, matrix_tex, tex_of, text_tex, word_tex

_TEX = ("application/x-tex", "application/x-latex", "tex", "latex")
_SCRIPTS = {"msub": "_", "msup": "^", "msubsup": "_^", "munder": "_", "mover": "^", "munderover": "_^",
            "mmultiscripts": "_^"}  # fmt: skip
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
    """Return the LaTeX of a `math` element on one line; "" if it is empty."""
    written = math.attributes.get("alttext", "")
    if not written.strip():
        notes = (element for element in walk_elements(math) if element.tag == "annotation")
        written = next(
            (text_of(element) for element in notes if element.attributes.get("encoding", "").lower() in _TEX), ""
        )
    return clean_tex(written) if written.strip() else one_line(_convert_element(math))


def formula_of(element: Element) -> tuple[str, bool]:
    """Return the LaTeX of a formula (MathML, script or picture) and whether it is displayed."""
    if element.tag == "math":
        return math_tex(element), element.attributes.get("display") == "block"
    if element.tag == "script":
        return clean_tex(text_of(element)), "mode=display" in element.attributes.get("type", "")
    pictured = _PICTURED.search(element.attributes.get("class", ""))
    return clean_tex(element.attributes.get("alt", "")) if pictured else "", False


def clean_tex(written: str) -> str:
    """Return LaTeX on one line, without commands for its size."""
    if written.isalnum():
        return written
    text = one_line(_LABEL.sub("", re.sub(r"(?<!\\)%\n", "", written.strip())))
    text = text.strip("$").strip() if text.startswith("$") else text
    for pattern, group in ((_WRAPPED, 1), (_OUTER, 3)):
        match = pattern.match(text)
        text = match.group(group).strip() if match else text
    text = _ALIGNED.sub(r"\\\1{aligned}", text)
    return _LOOSE.sub("", _STYLE.sub("", text)).strip()


def _convert_element(element: Element) -> str:
    parts = [child for child in element.children if isinstance(child, Element)]
    tag = element.tag.rpartition(":")[2]
    if tag in ("mi", "mn", "mo", "mtext", "ms"):
        return _leaf_tex(tag, element)
    if tag in ("annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts", "maligngroup"):
        return " " if tag == "mspace" else ""
    if tag == "semantics":
        return _convert_element(parts[0]) if parts else ""
    if tag in _SCRIPTS and parts:
        return _scripts_tex(tag, parts)
    if tag == "mfrac" and len(parts) > 1:
        return f"\\frac{_argument_tex(parts[0])}{_argument_tex(parts[1])}"
    if tag == "mroot" and len(parts) > 1:
        return f"\\sqrt[{_convert_element(parts[1]).strip()}]{_argument_tex(parts[0])}"
    if tag == "mtable":
        cells = ([_row_tex(cell) for cell in row.children if isinstance(cell, Element)] for row in parts)
        return matrix_tex(cells)
    inner = _row_tex(element)
    if tag == "msqrt":
        return f"\\sqrt{brace_argument(inner)}"
    if tag == "mfenced":
        fences = [tex_of(element.attributes.get(side, sign)) for side, sign in (("open", "("), ("close", ")"))]
        return f"{fences[0]}{', '.join(map(_convert_element, parts))}{fences[1]}"
    return inner


def _leaf_tex(tag: str, element: Element) -> str:
    text = one_line(text_of(element))
    if tag in ("mtext", "ms"):
        return text_tex(text)
    return word_tex(text) if tag == "mi" else tex_of(text)


def _row_tex(element: Element) -> str:
    return "".join(
        _convert_element(child) if isinstance(child, Element) else tex_of(child.strip()) for child in element.children
    )


def _argument_tex(element: Element) -> str:
    return brace_argument(_convert_element(element))


def _scripts_tex(tag: str, parts: list[Element]) -> str:
    base = _convert_element(parts[0])
    if tag in ("mover", "munder") and len(parts) > 1:
        sign = text_of(parts[1]).strip()
        command = accent_command(sign, default="")
        if command:
            return f"\\{command}{brace_argument(base)}"
    base = base if len(base.strip()) == 1 or base.strip().startswith("\\") else brace_argument(base)
    return base.strip() + "".join(
        sign + _argument_tex(part) for sign, part in zip(_SCRIPTS[tag], parts[1:], strict=False)
    )


def split_at_formulas(text: str, *, dollars: bool) -> Iterator[tuple[str, str]]:
    r"""Split a text at the formulas that a script would typeset: (`text`, `inline` or `display`, content).

    `\(...\)` and `\[...\]` always count; `$...$` and environments only if the page loads such a script.
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
            yield "text", _unescape_tex(text[start : opened.start()], dollars=dollars)
        start = end + len(closing)
        whole = sign.startswith("\\begin")
        inner = text[opened.start() : start] if whole else text[opened.end() : end]
        yield "inline" if sign in ("\\(", "$") else "display", clean_tex(inner)
    if start < len(text):
        yield "text", _unescape_tex(text[start:], dollars=dollars)


def _unescape_tex(text: str, *, dollars: bool) -> str:
    return text.replace("\\$", "$") if dollars else text
