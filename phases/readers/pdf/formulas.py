"""A displayed formula as LaTeX, from its characters and where they stand: fractions, limits, scripts, cases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from unicodedata import normalize

from phases.readers.math_symbols import FUNCTIONS, tex_of
from phases.readers.pdf.characters import LARGE_SIGNS
from phases.readers.pdf.page import BoundingBox, Character

_SYMBOL = re.compile(r"cmb?sy", re.IGNORECASE)
_SLANTED = re.compile(r"cmmi|cmsy|math|ital|obli|msbm|msam|-it|symbol|mi[0-9]*$", re.IGNORECASE)
_LARGE_CODES = dict(
    zip("PXÍQYÖRZS[T\\hinopqrst\"#!$%&'*+", "∑∑∑∏∏∏∫∫⋃⋃⋂⋂[]{}√√√√√[])⌊⌋⌈⌉⟨⟩", strict=True)
) | dict.fromkeys("\uf8eb\uf8ec\uf8ed⎛⎜⎝", "(") | dict.fromkeys("\uf8f6\uf8f7\uf8f8⎞⎟⎠", ")") | dict.fromkeys(
    "\uf8ee\uf8ef\uf8f0⎡⎢⎣", "["
) | dict.fromkeys("\uf8f9\uf8fa\uf8fb⎤⎥⎦", "]") | dict.fromkeys("\uf8f1\uf8f2\uf8f3\uf8f4⎧⎨⎩⎪", "{") | dict.fromkeys(
    "⎫⎬⎭", "}"
)  # fmt: skip
_SYMBOL_CODES = {"h": "⟨", "i": "⟩", "k": "‖", "7": "↦", "0": "′", "f": "{", "g": "}", "j": "|", "6": "≠", "µ": "⪯"}
_ITALIC = re.compile(r"cmmi|cmmib|lmmi", re.IGNORECASE)
_ITALIC_CODES = dict(zip("\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b", "δϵζηθικλμνξπρσ", strict=True))
"""Greek letters of TeX's italic font, where the PDF does not say which they are."""
_OPERATORS = frozenset("∑∏∫⋃⋂⨁⨂⋁⋀")
_LIMITED = frozenset(["lim", "max", "min", "sup", "inf", "argmax", "argmin", "limsup", "liminf"])
_ACCENTS = {"ˆ": "hat", "˜": "tilde", "¯": "bar", "˙": "dot", "¨": "ddot", "ˇ": "check", "´": "acute", "`": "grave"}
_WHOLE = ("frac", "cases")
_DELIMITERS = frozenset("()[]{}|‖⟨⟩⌈⌉⌊⌋")
_DESCENDING = frozenset("gjpqyQβγζημξρςφχψϕ,;()[]{}|/∫")
_SMALL = 0.82
_RAISED = 0.27
_SPACE = 0.12
_PLAIN = {"∆": "Δ", "Ω": "Ω", "µ": "μ", "Σ": "Σ", "\xad": "-", "\ufe01": ""}
_FACES = (
    (re.compile(r"cmb?sy|eusm", re.IGNORECASE), "mathcal"),
    (re.compile(r"msbm|bbm|bbold|dsrom", re.IGNORECASE), "mathbb"),
    (re.compile(r"eufm", re.IGNORECASE), "mathfrak"),
)
"""Fonts whose capitals have a face of their own."""
_SAME_HEIGHT = 3.0
_TALL = 1.7
_NEAR_BAR = 1.5
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Token:
    """A sign, or what became of several: its LaTeX, its place, the size of its letters and the line that it stands on."""

    tex: str
    box: BoundingBox
    size: float
    base: float
    sign: str = ""
    """What it is where it is one character, or the name of a function."""
    word: bool = False
    blank: bool = False


def with_braces(lines: Sequence[Sequence[Character]]) -> list[tuple[Character, ...]]:
    """The lines of a page, where a parenthesis of TeX's large font that nothing closes is what its code says: a brace."""
    closing = [one for line in lines for one in line if one.text == ")" and LARGE_SIGNS.search(one.font)]
    return [
        tuple(
            replace(one, text="{")
            if one.text == "("
            and LARGE_SIGNS.search(one.font)
            and not any(abs(other.box.middle - one.box.middle) < _SAME_HEIGHT for other in closing)
            else one
            for one in line
        )
        for line in lines
    ]


def latex_of(characters: Iterable[Character], bars: Sequence[BoundingBox]) -> str:
    """The formula that these characters are; `bars` are the rulings among them. Lines are parted by two backslashes."""
    tokens = _with_accents(_with_words(_tokens_of(characters)))
    return " ".join(_parse(_with_fractions(tokens, bars), 0).split())


def _tokens_of(characters: Iterable[Character]) -> list[Token]:
    found: list[Token] = []
    for one in characters:
        sign = one.text
        if LARGE_SIGNS.search(one.font) or (sign in _LARGE_CODES and sign > "\ue000"):
            sign = _LARGE_CODES.get(sign, sign)
        elif _SYMBOL.search(one.font):
            sign = _SYMBOL_CODES.get(sign, sign)
        elif _ITALIC.search(one.font):
            sign = _ITALIC_CODES.get(sign, sign)
        if sign == "=" and found and found[-1].sign == "≠":
            continue
        tex = _tex_of(one, sign)
        slanted = bool(_SLANTED.search(one.font)) or sign > "\uffff"
        sign = normalize("NFKC", sign) if sign > "\uffff" else sign
        upright = sign.isalpha() and sign.isascii() and not slanted
        below = sign in _DESCENDING or (sign == "f" and slanted)
        base = one.box.y1 - (0.2 * one.size if below else 0.0)
        found.append(Token(tex, one.box, one.size, base, sign, upright, one.blank))
    return _with_whole_delimiters(found)


def _tex_of(one: Character, sign: str) -> str:
    face = next((face for fonts, face in _FACES if fonts.search(one.font)), "") if "A" <= sign <= "Z" else ""
    return f"\\{face}{{{sign}}}" if face else tex_of(_PLAIN.get(sign, sign))


def _with_whole_delimiters(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, where the pieces that a tall delimiter is drawn in are one."""
    kept: list[Token] = []
    for token in tokens:
        other = next((one for one in kept if _is_piece_of(token, one)), None) if token.sign in _DELIMITERS else None
        if other:
            box = other.box.around(token.box)
            kept[kept.index(other)] = replace(other, box=box, base=box.middle + 0.3 * other.size)
        else:
            kept.append(token)
    return kept


def _is_piece_of(token: Token, other: Token) -> bool:
    near = other.box.y0 - token.box.height - 3 < token.box.y0 < other.box.y1 + 3
    return token.sign == other.sign and abs(other.box.x0 - token.box.x0) < 3 and near


def _with_words(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, where upright letters side by side are a word or a function's name."""
    kept: list[Token] = []
    for word, group in itertools.groupby(tokens, key=lambda token: token.word):
        run = list(group)
        if not word:
            kept += run
            continue
        for part in _runs_of_letters(run):
            letters = "".join(token.sign for token in part)
            box = part[0].box
            for token in part[1:]:
                box = box.around(token.box)
            tex = f"\\{letters} " if letters in FUNCTIONS else f"\\mathrm{{{letters}}}" if len(letters) > 1 else letters
            base = median(token.base for token in part)
            kept.append(Token(tex, box, part[0].size, base, letters, len(letters) > 1, part[0].blank))
    return kept


def _runs_of_letters(run: Sequence[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in run:
        if part:
            gap = token.box.x0 - part[-1].box.x1
            if (
                token.blank
                or not -0.3 * token.size < gap < 0.25 * token.size
                or abs(token.base - part[-1].base) > 0.2 * token.size
            ):
                yield part
                part = []
        part.append(token)
    if part:
        yield part


def _with_accents(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, where an accent is on the letter that it stands over."""
    kept = [token for token in tokens if token.sign not in _ACCENTS]
    for accent in (token for token in tokens if token.sign in _ACCENTS):
        under = [index for index, token in enumerate(kept) if _is_under(token, accent)]
        if not under:
            kept.append(accent)
            continue
        place = min(under, key=lambda index: abs(kept[index].box.centre - accent.box.centre))
        kept[place] = replace(kept[place], tex=f"\\{_ACCENTS[accent.sign]}{{{kept[place].tex.strip()}}}")
    return kept


def _is_under(token: Token, accent: Token) -> bool:
    high = -0.6 * token.size < token.box.y0 - accent.box.y1 < 0.5 * token.size
    return high and token.box.x0 - 1 <= accent.box.centre <= token.box.x1 + 1


def _with_fractions(tokens: Sequence[Token], bars: Sequence[BoundingBox]) -> list[Token]:
    """The tokens, where what stands above and below a bar is one; narrow bars come first, they stand in wide ones."""
    left = list(tokens)
    for bar in sorted(bars, key=lambda bar: bar.width):
        over = [token for token in left if _is_by(token, bar) and _is_above(token, bar)]
        under = [token for token in left if _is_by(token, bar) and _is_below(token, bar)]
        root = next((token for token in left if token.sign == "√" and abs(token.box.x1 - bar.x0) < 2), None)
        if root and under:
            made, used = f"\\sqrt{{{_parse(under, 1)}}}", [root, *under]
        elif over and under:
            made, used = f"\\frac{{{_parse(over, 1)}}}{{{_parse(under, 1)}}}", [*over, *under]
        else:
            continue
        box = bar
        for token in used:
            box = box.around(token.box)
        size = max(token.size for token in used)
        place = left.index(used[0])
        kept = [token for token in left if token not in used]
        kept.insert(min(place, len(kept)), Token(made, box, size, bar.y0 + 0.25 * size, "frac"))
        left = kept
    return left


def _is_by(token: Token, bar: BoundingBox) -> bool:
    return bar.x0 - 1 <= token.box.centre <= bar.x1 + 1


def _is_above(token: Token, bar: BoundingBox) -> bool:
    return token.box.y1 <= bar.y1 + 1.5 and bar.y0 - token.box.y1 < _NEAR_BAR * token.size and token.sign != "√"


def _is_below(token: Token, bar: BoundingBox) -> bool:
    # the ink of a sign begins lower than that of the letters beside it
    top = token.box.y0 - (0.35 * token.size if _is_loose(token) else 0.0)
    return token.box.y0 >= bar.y0 - 1.5 and top - bar.y1 < _NEAR_BAR * token.size and token.sign != "√"


def _parse(tokens: Sequence[Token], depth: int) -> str:
    """LaTeX of tokens, line by line."""
    if not tokens or depth > _DEEPEST:
        return " ".join(token.tex for token in tokens)
    size = (
        max(token.size for token in tokens if not _is_large(token))
        if not all(map(_is_large, tokens))
        else tokens[0].size
    )
    brace = next((token for token in tokens if token.sign == "{" and token.box.height > _TALL * size), None)
    if brace and depth < _DEEPEST:
        inside = [token for token in tokens if token.box.x0 > brace.box.x0 and _is_beside(token, brace)]
        lines = _lines_of(inside, size)
        if len(lines) > 1:
            rest = [token for token in tokens if token is not brace and token not in inside]
            rows = " \\\\ ".join(_parse_line(line, size, depth + 1) for line in lines)
            box = brace.box
            cases = Token(f"\\begin{{cases}} {rows} \\end{{cases}}", box, size, box.middle + 0.3 * size, "cases")
            return _parse([*rest, cases], depth + 1)
    return " \\\\ ".join(_parse_line(line, size, depth + 1) for line in _lines_of(tokens, size))


def _is_large(token: Token) -> bool:
    return token.sign in _OPERATORS or (token.sign in _DELIMITERS and token.box.height > _TALL * token.size)


def _is_beside(token: Token, brace: Token) -> bool:
    return brace.box.y0 - 2 <= token.box.middle <= brace.box.y1 + 2


def _lines_of(tokens: Sequence[Token], size: float) -> list[list[Token]]:
    """The tokens of each line: those of full size say where lines are, the others go to the nearest."""
    bases: list[float] = []
    for base in sorted(token.base for token in tokens if token.size > _SMALL * size and not _is_loose(token)):
        if not bases or base - bases[-1] > 0.75 * size:
            bases.append(base)
    if len(bases) < 2:
        return [sorted(tokens, key=lambda token: token.box.x0)]
    lines: list[list[Token]] = [[] for _ in bases]
    for token in tokens:
        place = token.base if not _is_loose(token) and token.size > _SMALL * size else token.box.middle + 0.3 * size
        nearest = min(range(len(bases)), key=lambda index: abs(bases[index] - place))
        lines[nearest].append(token)
    return [sorted(line, key=lambda token: token.box.x0) for line in lines if line]


def _is_loose(token: Token) -> bool:
    """Signs whose ink does not stand on the line."""
    return len(token.sign) == 1 and not token.sign.isalnum()


def _parse_line(line: Sequence[Token], size: float, depth: int) -> str:
    main = [token for token in line if token.size > _SMALL * size or _is_large(token) or token.sign in _WHOLE]
    small = [token for token in line if token not in main]
    if not main:
        return (
            _parse(small, depth + 1) if small and max(t.size for t in small) < size else " ".join(t.tex for t in line)
        )
    scripts: dict[int, dict[str, list[Token]]] = {}
    bases = [token.base for token in main if not _is_loose(token)]
    base = median(bases) if bases else main[0].base
    limits = _limits_of(main, small, size)
    for token in small:
        place = limits.get(id(token)) or _script_of(token, main, base, size)
        scripts.setdefault(place[0], {}).setdefault(place[1], []).append(token)
    parts: list[str] = []
    for index, token in enumerate(main):
        text = token.tex
        if (
            token.word
            and token.sign not in FUNCTIONS
            and parts
            and parts[-1].lstrip().startswith("\\mathrm{")
            and token.blank
        ):
            parts[-1] = f"{parts[-1][:-1]} {token.sign}}}"
            text = ""
        for mark in ("_", "^"):
            group = scripts.get(index, {}).get(mark, [])
            if group:
                text += f"{mark}{{{_parse(group, depth + 1)}}}"
        if text:
            gap = token.box.x0 - main[index - 1].box.x1 if index else 0.0
            parts.append(f" {text}" if gap > _SPACE * size else text)
    return "".join(parts)


def _script_of(token: Token, main: Sequence[Token], base: float, size: float) -> tuple[int, str]:
    before = [index for index, other in enumerate(main) if other.box.x0 <= token.box.x0 + 0.5]
    own = main[before[-1]] if before else main[0]
    level = own.base if own.word or own.sign.isalnum() else base
    # tall letters reach far up from a line that is lower than that of what they belong to
    raised = token.box.middle < level - _RAISED * size and (not token.sign.isalnum() or token.base < level)
    return (before[-1] if before else 0), "^" if raised else "_"


def _limits_of(main: Sequence[Token], small: Sequence[Token], size: float) -> dict[int, tuple[int, str]]:
    """For small tokens that stand above or below an operator: its place, and which of both."""
    found: dict[int, tuple[int, str]] = {}
    for index, operator in enumerate(main):
        if operator.sign not in _OPERATORS and operator.sign not in _LIMITED:
            continue
        for mark in ("_", "^"):
            row = [token for token in small if id(token) not in found and _is_limit(token, operator, mark)]
            row.sort(key=lambda token: token.box.x0)
            for run in _close_runs(row, size):
                if run[0].box.x0 - size / 2 <= operator.box.centre <= run[-1].box.x1 + size / 2:
                    found |= {id(token): (index, mark) for token in run}
    return found


def _is_limit(token: Token, operator: Token, mark: str) -> bool:
    if mark == "_":
        return token.box.middle > operator.box.y1 - 1
    return token.box.middle < operator.box.y0 + 1


def _close_runs(row: Sequence[Token], size: float) -> Iterator[list[Token]]:
    run: list[Token] = []
    for token in row:
        if run and token.box.x0 - run[-1].box.x1 > 0.5 * size:
            yield run
            run = []
        run.append(token)
    if run:
        yield run
