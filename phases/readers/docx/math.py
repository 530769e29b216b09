"""Convert the formulas of Word documents (OMML) to LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from phases.readers.docx.xml import XmlNode
from phases.readers.markdown_blocks import one_line
from phases.readers.math_symbols import accent_command, brace_argument, matrix_tex, tex_of, text_tex, word_tex

_FONTS = {
    "double-struck": "mathbb", "script": "mathcal", "fraktur": "mathfrak", "sans-serif": "mathsf",
    "monospace": "mathtt",
}  # fmt: skip
_LIMITS = {
    "lim", "max", "min", "sup", "inf", "limsup", "liminf", "det", "gcd", "Pr", "argmax", "argmin", "arg max",
    "arg min",
}  # fmt: skip


def omml_tex(formula: XmlNode) -> str:
    """Return the LaTeX of an `oMath` element on one line. Its depth is bounded by the parser."""
    return one_line(_row_tex(formula))


def _row_tex(node: XmlNode | None) -> str:
    """Return the LaTeX of adjacent elements. Adjacent upright letters form one word."""
    parts: list[str] = []
    upright = ""
    for child in node.children if node else ():
        letters = _upright_letters(child)
        if letters:
            upright += letters
            continue
        # Word splits `max` with an index into a run `ma` and an `x` with the index
        base = _upright_base(child) if upright else ""
        if upright and not base:
            parts.append(word_tex(upright))
            upright = ""
        act = _ACTS.get(child.name)
        if base:
            parts.append(word_tex(upright + base).strip() + _below_and_above(child))
            upright = ""
        elif act:
            parts.append(act(child))
        elif not child.name.endswith("Pr") and child.name not in ("w:del", "w:moveFrom"):
            parts.append(_row_tex(child))
    return "".join([*parts, word_tex(upright)] if upright else parts)


def _upright_letters(node: XmlNode) -> str:
    properties = node.find("m:rPr") if node.name == "m:r" else None
    if properties is None or properties.value("m:sty") != "p" or properties.find("m:nor") or properties.find("m:scr"):
        return ""
    text = _text_of(node)
    return text if text.isascii() and text.isalpha() else ""


def _upright_base(node: XmlNode) -> str:
    """Return the upright letters that carry scripts: the end of the word before them."""
    base = node.find("m:e") if node.name in ("m:sSub", "m:sSup", "m:sSubSup") else None
    letters = [_upright_letters(child) for child in base.children if not child.name.endswith("Pr")] if base else []
    return "".join(letters) if all(letters) else ""


def _text_of(node: XmlNode) -> str:
    return "".join(child.text for child in node.children if child.name in ("m:t", "w:t"))


def _run_tex(node: XmlNode) -> str:
    text = _text_of(node)
    if node.is_on("m:rPr", "m:nor"):
        return text_tex(text)
    font = _FONTS.get(node.value("m:rPr", "m:scr") or "")
    bold = node.value("m:rPr", "m:sty") in ("b", "bi")
    font = font or ("mathbf" if bold and text.strip().isalnum() else None)
    return f"\\{font}{brace_argument(tex_of(text))}" if font and text.strip() else tex_of(text)


def _argument_tex(node: XmlNode, name: str) -> str:
    return brace_argument(_row_tex(node.find(name)))


def _base_tex(node: XmlNode) -> str:
    text = _row_tex(node.find("m:e")).strip()
    simple = len(text) == 1 or text.isdecimal() or (text.startswith("\\") and text[1:].isalpha())
    return text if simple else brace_argument(text)


def _fraction_tex(node: XmlNode) -> str:
    kind = node.value("m:fPr", "m:type")
    if kind == "lin":
        return f"{_argument_tex(node, 'm:num')}/{_argument_tex(node, 'm:den')}"
    command = "binom" if kind == "noBar" else "frac"
    return f"\\{command}{_argument_tex(node, 'm:num')}{_argument_tex(node, 'm:den')}"


def _scripts_tex(node: XmlNode) -> str:
    scripts = _below_and_above(node)
    return f"{{}}{scripts}{_base_tex(node)}" if node.name == "m:sPre" else f"{_base_tex(node)}{scripts}"


def _below_and_above(node: XmlNode) -> str:
    below = f"_{_argument_tex(node, 'm:sub')}" if node.find("m:sub") else ""
    return below + (f"^{_argument_tex(node, 'm:sup')}" if node.find("m:sup") else "")


def _radical_tex(node: XmlNode) -> str:
    degree = "" if node.is_on("m:radPr", "m:degHide") else _row_tex(node.find("m:deg")).strip()
    return f"\\sqrt{f'[{degree}]' if degree else ''}{_argument_tex(node, 'm:e')}"


def _nary_tex(node: XmlNode) -> str:
    sign = node.value("m:naryPr", "m:chr")
    command = tex_of("∫" if sign is None else sign).strip()
    below = "" if node.is_on("m:naryPr", "m:subHide") else _row_tex(node.find("m:sub")).strip()
    above = "" if node.is_on("m:naryPr", "m:supHide") else _row_tex(node.find("m:sup")).strip()
    scripts = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{command}{scripts} {_row_tex(node.find('m:e'))}"


def _delimiter_tex(node: XmlNode) -> str:
    signs = {name: node.value("m:dPr", name) for name in ("m:begChr", "m:sepChr", "m:endChr")}
    left, middle, right = (
        default if sign is None else sign
        for sign, default in zip(signs.values(), ("(", "|", ")"), strict=True)
    )  # fmt: skip
    inner = [_row_tex(child) for child in node.children if child.name == "m:e"]
    tall = any("\\frac" in part or "\\begin" in part or "\\sum" in part for part in inner)
    text = tex_of(middle or "|").join(inner)
    before, after = (tex_of(sign).strip() if sign else "." if tall else "" for sign in (left, right))
    if tall:
        return f"\\left{before} {text} \\right{after} "
    return f"{_pad_sign(before)}{text}{_pad_sign(after)}"


def _pad_sign(sign: str) -> str:
    return sign + " " if sign.startswith("\\") and sign[-1:].isalpha() else sign


def _function_tex(node: XmlNode) -> str:
    name = node.find("m:fName")
    words = _row_tex(name).strip()
    if name and words.isalpha():
        words = word_tex(words).strip()
    return f"{words} {_row_tex(node.find('m:e'))}"


def _limit_tex(node: XmlNode) -> str:
    base, limit = _row_tex(node.find("m:e")).strip(), _row_tex(node.find("m:lim")).strip()
    sign = "_" if node.name == "m:limLow" else "^"
    if base.lstrip("\\").removeprefix("mathrm{").rstrip("}") in _LIMITS:
        return f"{word_tex(base) if base.isalpha() else base}{sign}{{{limit}}}"
    return f"\\{'under' if sign == '_' else 'over'}set{{{limit}}}{{{base}}}"


def _matrix_tex(node: XmlNode) -> str:
    return matrix_tex(
        [_row_tex(cell) for cell in row.children if cell.name == "m:e"] for row in node.children if row.name == "m:mr"
    )


def _array_tex(node: XmlNode) -> str:
    lines = (_row_tex(child).strip().replace("\\&", "&") for child in node.children if child.name == "m:e")
    rows = " \\\\ ".join(filter(None, lines))
    return f"\\begin{{aligned}} {rows} \\end{{aligned}}"


def _accent_tex(node: XmlNode) -> str:
    return f"\\{accent_command(node.value('m:accPr', 'm:chr') or '^', default='hat')}{_argument_tex(node, 'm:e')}"


def _bar_tex(node: XmlNode) -> str:
    command = "overline" if node.value("m:barPr", "m:pos") == "top" else "underline"
    return f"\\{command}{_argument_tex(node, 'm:e')}"


def _group_tex(node: XmlNode) -> str:
    sign = node.value("m:groupChrPr", "m:chr") or "⏟"
    return f"\\{accent_command(sign, default='underbrace')}{_argument_tex(node, 'm:e')}"


_ACTS: dict[str, Callable[[XmlNode], str]] = {
    "m:r": _run_tex, "m:f": _fraction_tex, "m:sSub": _scripts_tex, "m:sSup": _scripts_tex, "m:sSubSup": _scripts_tex,
    "m:sPre": _scripts_tex, "m:rad": _radical_tex, "m:nary": _nary_tex, "m:d": _delimiter_tex,
    "m:func": _function_tex, "m:limLow": _limit_tex, "m:limUpp": _limit_tex, "m:m": _matrix_tex,
    "m:eqArr": _array_tex, "m:acc": _accent_tex, "m:bar": _bar_tex, "m:groupChr": _group_tex,
    "m:borderBox": lambda node: f"\\boxed{_argument_tex(node, 'm:e')}",
}  # fmt: skip
