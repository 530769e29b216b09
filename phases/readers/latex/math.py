"""Read mathematics: kept as LaTeX, with the numbers as printed."""

from __future__ import annotations

from phases.readers.latex.marks import MARKS, build_mark
from phases.readers.latex.tokens import PARAGRAPH, plain_of, source_of
from phases.readers.latex.walk import Act, Anchor, Walk

_SILENT = {
    "$", "\\ensuremath", "\\nonumber", "\\notag", "\\xspace", "\\allowdisplaybreaks", "\\noindent", "\\selectfont", "\\small",
    "\\footnotesize", "\\scriptsize", "\\normalsize", "\\centering",
}  # fmt: skip
_ALIGNED = {"align": "aligned", "alignat": "aligned", "flalign": "aligned", "gather": "gathered", "multline": "gathered",
            "eqnarray": "array", "IEEEeqnarray": "array", "split": "aligned"}  # fmt: skip
_SINGLE = ("equation", "multline", "dmath")


def _on_dollar(walk: Walk, lexeme: str) -> None:
    display = walk.at < len(walk.tokens) and walk.tokens[walk.at] == "$"
    walk.at += display
    taken = _read_until(walk, "$")
    if display:
        walk.at += walk.at < len(walk.tokens) and walk.tokens[walk.at] == "$"
        _write_display(walk, _render_tokens(walk, taken, ""))
    else:
        _write_inline(walk, _render_tokens(walk, taken, ""))


def _read_until(walk: Walk, end: str) -> list[str]:
    """Read the tokens before a sign outside braces; a paragraph never ends within mathematics."""
    start, depth = walk.at, 0
    while walk.at < len(walk.tokens):
        lexeme = walk.tokens[walk.at]
        walk.at += 1
        if lexeme == "{":
            depth += 1
        elif lexeme == "}":
            depth -= 1
        elif (lexeme == end and depth <= 0) or lexeme == PARAGRAPH:
            return walk.tokens[start : walk.at - 1]
    return walk.tokens[start : walk.at]


def _render_tokens(walk: Walk, tokens: list[str], number: str, kind: str = "equation") -> str:
    """Render tokens as LaTeX on one line; labels are recorded with the number, references become marks."""
    kept: list[str] = []
    skip_to = 0
    for index, lexeme in enumerate(tokens):
        name = lexeme.rstrip("*")
        if index < skip_to or lexeme in _SILENT:
            continue
        if (
            lexeme[0] == "\\"
            and (name in ("\\label", "\\tag") or name in MARKS)
            and "{" in tokens[index + 1 : index + 3]
        ):
            open_ = tokens.index("{", index + 1)
            skip_to = next((end for end in range(open_, len(tokens)) if tokens[end] == "}"), len(tokens)) + 1
            argument = tokens[open_ + 1 : skip_to - 1]
            if name == "\\label":
                walk.known.labels.setdefault(plain_of(argument), Anchor(kind, number) if number else walk.anchor)
            elif name in MARKS:
                kept.append(build_mark(walk, name, plain_of(argument)) or " ")
        elif lexeme[0] not in "\x01\x02":
            kept.append(lexeme)
    text = " ".join(source_of(kept).split())
    if walk.grids:
        text = text.replace("\\|", "\\Vert ").replace("|", "\\vert ")
    return text


def _write_inline(walk: Walk, text: str) -> None:
    if text:
        walk.out.append(f"${text}$")


def _write_display(walk: Walk, text: str) -> None:
    if not text:
        return
    if walk.captures:
        walk.out.append(f" ${text}$ ")
    else:
        walk.block("equation", f"$$ {text} $$")


def _on_equation(walk: Walk, name: str) -> None:
    base = name.rstrip("*")
    tokens = walk.environment(name)
    if tokens is None:
        return
    if base in ("alignat", "IEEEeqnarray"):
        tokens = tokens[tokens.index("}") + 1 :] if "}" in tokens[:40] else tokens
    rows = (
        [tokens]
        if base in _SINGLE or base not in _ALIGNED
        else [row for row in _split_rows(tokens) if _has_content(row)]
    )
    numbers = [_number_of_row(walk, row, counted=base == name and base not in ("displaymath", "math")) for row in rows]
    texts = [_render_tokens(walk, row, number) for row, number in zip(rows, numbers, strict=True)]
    if base == "math":
        _write_inline(walk, texts[0])
        return
    given = [number for number in numbers if number]
    shape = _ALIGNED.get(base, "")
    if len(given) > 1:
        tags = (f" \\tag{{{number}}}" if number else "" for number in numbers)
        lines = " \\\\ ".join(text + tag for text, tag in zip(texts, tags, strict=True))
        _write_display(walk, f"\\begin{{align}} {lines} \\end{{align}}")
        return
    text = " \\\\ ".join(texts)
    if shape and (len(texts) > 1 or "&" in text or (base == "multline" and "\\\\" in text)):
        text = f"\\begin{{{shape}}}{'{rcl}' * (shape == 'array')} {text} \\end{{{shape}}}"
    _write_display(walk, f"{text} \\tag{{{given[0]}}}" if text and given else text)


def _split_rows(tokens: list[str]) -> list[list[str]]:
    """Split an aligned formula into lines, but not inside braces or inner environments."""
    rows: list[list[str]] = [[]]
    depth = 0
    for lexeme in tokens:
        depth += (lexeme in ("{", "\\begin")) - (lexeme in ("}", "\\end"))
        if lexeme == "\\\\" and depth <= 0:
            rows.append([])
        else:
            rows[-1].append(lexeme)
    return rows


def _has_content(row: list[str]) -> bool:
    return any(not lexeme.isspace() and lexeme not in ("&", "*") for lexeme in row)


def _number_of_row(walk: Walk, row: list[str], *, counted: bool) -> str:
    if "\\tag" in row:
        index = row.index("\\tag")
        return plain_of(row[index + 1 : row.index("}", index)]) if "}" in row[index:] else ""
    if not counted or "\\nonumber" in row or "\\notag" in row:
        return ""
    return walk.known.counters.step("equation")


MATH: dict[str, Act] = {
    "$": _on_dollar,
    "\\(": lambda walk, _: _write_inline(walk, _render_tokens(walk, _read_until(walk, "\\)"), "")),
    "\\[": lambda walk, _: _write_display(walk, _render_tokens(walk, _read_until(walk, "\\]"), "")),
    "\\ensuremath": lambda walk, _: _write_inline(walk, _render_tokens(walk, walk.raw(), "")),
}
MATH_ENVIRONMENTS: dict[str, Act] = {
    name + star: _on_equation
    for name in (*_ALIGNED, *_SINGLE, "displaymath", "math")
    for star in ("", "*")
    if name != "split"
}
