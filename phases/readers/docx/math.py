"""The formulas of Word documents (OMML) as LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.dialect.blocks import one_line
from phases.readers.dialect.symbols import accent, braced, matrix, prose, tex, word
from phases.readers.docx.xml import Node

_FONTS = {
    "double-struck": "mathbb",
    "script": "mathcal",
    "fraktur": "mathfrak",
    "sans-serif": "mathsf",
    "monospace": "mathtt",
}
_LIMITS = {
    "lim",
    "max",
    "min",
    "sup",
    "inf",
    "limsup",
    "liminf",
    "det",
    "gcd",
    "Pr",
    "argmax",
    "argmin",
    "arg max",
    "arg min",
}


def omml_tex(formula: Node) -> str:
    """The LaTeX of an `oMath` element, on one line. Its depth is bounded by the parser."""
    return one_line(_row(formula))


def _row(node: Node | None) -> str:
    """What stands side by side in a node. Upright letters of their own become one word."""
    parts: list[str] = []
    upright = ""
    for child in node.children if node else ():
        letters = _upright(child)
        if letters:
            upright += letters
            continue
        base = _upright_base(child) if upright else ""
        if upright and not base:
            parts.append(word(upright))
            upright = ""
        act = _ACTS.get(child.name)
        if base:
            parts.append(word(upright + base).strip() + _below_and_above(child))
            upright = ""
        elif act:
            parts.append(act(child))
        elif not child.name.endswith("Pr") and child.name not in ("w:del", "w:moveFrom"):
            parts.append(_row(child))
    return "".join([*parts, word(upright)] if upright else parts)


def _upright(node: Node) -> str:
    """The letters of a run that is set upright, and is not marked as words."""
    properties = node.find("m:rPr") if node.name == "m:r" else None
    if properties is None or properties.value("m:sty") != "p" or properties.find("m:nor") or properties.find("m:scr"):
        return ""
    text = _text(node)
    return text if text.isascii() and text.isalpha() else ""


def _upright_base(node: Node) -> str:
    """The upright letters that carry scripts: the end of the word before them."""
    base = node.find("m:e") if node.name in ("m:sSub", "m:sSup", "m:sSubSup") else None
    letters = [_upright(child) for child in base.children if not child.name.endswith("Pr")] if base else []
    return "".join(letters) if all(letters) else ""


def _text(node: Node) -> str:
    return "".join(child.text for child in node.children if child.name in ("m:t", "w:t"))


def _run(node: Node) -> str:
    text = _text(node)
    if node.is_on("m:rPr", "m:nor"):
        return prose(text)
    font = _FONTS.get(node.value("m:rPr", "m:scr") or "")
    bold = node.value("m:rPr", "m:sty") in ("b", "bi")
    font = font or ("mathbf" if bold and text.strip().isalnum() else None)
    return f"\\{font}{braced(tex(text))}" if font and text.strip() else tex(text)


def _argument(node: Node, name: str) -> str:
    return braced(_row(node.find(name)))


def _base(node: Node) -> str:
    text = _row(node.find("m:e")).strip()
    simple = len(text) == 1 or text.isdecimal() or (text.startswith("\\") and text[1:].isalpha())
    return text if simple else braced(text)


def _fraction(node: Node) -> str:
    kind = node.value("m:fPr", "m:type")
    if kind == "lin":
        return f"{_argument(node, 'm:num')}/{_argument(node, 'm:den')}"
    command = "binom" if kind == "noBar" else "frac"
    return f"\\{command}{_argument(node, 'm:num')}{_argument(node, 'm:den')}"


def _scripts(node: Node) -> str:
    scripts = _below_and_above(node)
    return f"{{}}{scripts}{_base(node)}" if node.name == "m:sPre" else f"{_base(node)}{scripts}"


def _below_and_above(node: Node) -> str:
    below = f"_{_argument(node, 'm:sub')}" if node.find("m:sub") else ""
    return below + (f"^{_argument(node, 'm:sup')}" if node.find("m:sup") else "")


def _radical(node: Node) -> str:
    degree = "" if node.is_on("m:radPr", "m:degHide") else _row(node.find("m:deg")).strip()
    return f"\\sqrt{f'[{degree}]' if degree else ''}{_argument(node, 'm:e')}"


def _nary(node: Node) -> str:
    sign = node.value("m:naryPr", "m:chr")
    command = tex("∫" if sign is None else sign).strip()
    below = "" if node.is_on("m:naryPr", "m:subHide") else _row(node.find("m:sub")).strip()
    above = "" if node.is_on("m:naryPr", "m:supHide") else _row(node.find("m:sup")).strip()
    scripts = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{command}{scripts} {_row(node.find('m:e'))}"


def _delimited(node: Node) -> str:
    signs = {name: node.value("m:dPr", name) for name in ("m:begChr", "m:sepChr", "m:endChr")}
    left, middle, right = (
        default if sign is None else sign
        for sign, default in zip(signs.values(), ("(", "|", ")"), strict=True)
    )  # fmt: skip
    inner = [_row(child) for child in node.children if child.name == "m:e"]
    tall = any("\\frac" in part or "\\begin" in part or "\\sum" in part for part in inner)
    text = tex(middle or "|").join(inner)
    before, after = (tex(sign).strip() if sign else "." if tall else "" for sign in (left, right))
    if tall:
        return f"\\left{before} {text} \\right{after} "
    return f"{_spaced(before)}{text}{_spaced(after)}"


def _spaced(sign: str) -> str:
    return sign + " " if sign.startswith("\\") and sign[-1:].isalpha() else sign


def _function(node: Node) -> str:
    name = node.find("m:fName")
    words = _row(name).strip()
    if name and words.isalpha():
        words = word(words).strip()
    return f"{words} {_row(node.find('m:e'))}"


def _limit(node: Node) -> str:
    base, limit = _row(node.find("m:e")).strip(), _row(node.find("m:lim")).strip()
    sign = "_" if node.name == "m:limLow" else "^"
    if base.lstrip("\\").removeprefix("mathrm{").rstrip("}") in _LIMITS:
        return f"{word(base) if base.isalpha() else base}{sign}{{{limit}}}"
    return f"\\{'under' if sign == '_' else 'over'}set{{{limit}}}{{{base}}}"


def _matrix(node: Node) -> str:
    return matrix(
        [_row(cell) for cell in row.children if cell.name == "m:e"] for row in node.children if row.name == "m:mr"
    )


def _array(node: Node) -> str:
    lines = (_row(child).strip().replace("\\&", "&") for child in node.children if child.name == "m:e")
    rows = " \\\\ ".join(filter(None, lines))
    return f"\\begin{{aligned}} {rows} \\end{{aligned}}"


def _accent(node: Node) -> str:
    return f"\\{accent(node.value('m:accPr', 'm:chr') or '^', default='hat')}{_argument(node, 'm:e')}"


def _bar(node: Node) -> str:
    command = "overline" if node.value("m:barPr", "m:pos") == "top" else "underline"
    return f"\\{command}{_argument(node, 'm:e')}"


def _group(node: Node) -> str:
    sign = node.value("m:groupChrPr", "m:chr") or "⏟"
    return f"\\{accent(sign, default='underbrace')}{_argument(node, 'm:e')}"


def _boxed(node: Node) -> str:
    return f"\\boxed{_argument(node, 'm:e')}"


_ACTS: dict[str, Callable[[Node], str]] = {
    "m:r": _run, "m:f": _fraction, "m:sSub": _scripts, "m:sSup": _scripts, "m:sSubSup": _scripts, "m:sPre": _scripts,
    "m:rad": _radical, "m:nary": _nary, "m:d": _delimited, "m:func": _function, "m:limLow": _limit, "m:limUpp": _limit,
    "m:m": _matrix, "m:eqArr": _array, "m:acc": _accent, "m:bar": _bar, "m:groupChr": _group, "m:borderBox": _boxed,
}  # fmt: skip
