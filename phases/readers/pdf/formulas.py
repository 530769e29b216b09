"""Reconstruct displayed formulas as LaTeX from positioned characters: fractions, limits, scripts, cases."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from unicodedata import normalize

from phases.readers.math_symbols import FUNCTIONS, tex_of
from phases.readers.pdf.blocks import EQUATION, ITEM, PARAGRAPH, TAG, PdfBlock
from phases.readers.pdf.characters import LARGE_SIGNS, box_around
from phases.readers.pdf.crosscheck import fold
from phases.readers.pdf.lines import Line
from phases.readers.pdf.page import BoundingBox, Character, Page

_RELATION = (
    r"(?:[=<>≤≥∈∼≈→←≠≡∝⊆⊂↦⇒⇔≺⪯⊑]|\\(?:leq?|geq?|in|sim|approx|to|gets|propto|equiv|mapsto|neq?|leftarrow|rightarrow"
    r"|Rightarrow|prec|subset(?:eq)?|sqsubseteq)(?![A-Za-z]))"
)
_BLANK = r"(?:[\s$&\x00-\x1f\ue000-\uf8ff]|\\\\)*"
"""Separators between signs, including letters that no font defines."""
_RELATES = re.compile(
    rf"[\w)\]}}|'′∗*!∞⟩…]{_BLANK}(?::{_BLANK}(?==))?{_RELATION}+{_BLANK}(?:[\w(\[{{|^√∑∏∫∂∇∞⟨+−±-]|\\(?!\\))"
)
"""A relation between two mathematical terms."""
_GOES_ON = re.compile(rf"{_BLANK}{_RELATION}")
_BRACKETED = re.compile(r"(?<![\w)\]}|])(?<![\w)\]}|] )<[^<>]{1,200}>")
"""A pair of angle brackets, as of a tuple or a tag, which is not a relation."""
_NO_SIGN = re.compile("[¢«»©®™£¥“”]")
"""Signs of code, and of drawings recognized as text."""
_COMMON_FONT = re.compile(r"Times|Arial|Helvetica|Courier|GlyphLess|Hidden")
"""Fonts of recognized text, which every viewer has."""
_NUMBER = re.compile(r"\(([0-9A-Z.]{1,6}[a-z]?)\)")
_LONG_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")
_NAMED = re.compile(r"\\(?:mathrm|text)\{([^{}]*)\}")
_MOST_WORDS, _MOST_WORDS_OF_CASES, _MOST_WORDS_RECOGNIZED = 3, 12, 1
_BRACE, _TWO_LINES = frozenset("{\uf8f1\uf8f2\uf8f3\uf8f4⎧⎨⎩⎪"), 17.0
_MOST_MISSING, _TWICE = 0.1, 2
_NEAR = 0.7
_SHORT = 40
_SLACK, _FAR, _BY_BAR = 1.5, 30.0, 0.5
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
"""Greek letters of TeX's italic font, for PDFs that do not name them."""
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
"""Fonts whose capitals have a typeface of their own."""
_SAME_HEIGHT = 3.0
_TALL = 1.7
_NEAR_BAR = 1.5
_DEEPEST = 6


def with_equations(blocks: Sequence[PdfBlock], pages: Mapping[int, Page]) -> list[PdfBlock]:
    """Return the blocks with whole formulas in LaTeX; text that only looks like a formula becomes a paragraph."""
    result: list[PdfBlock] = []
    most = _MOST_WORDS_RECOGNIZED if _is_recognized(pages) else _MOST_WORDS
    for block in _whole_cases(_whole_formulas(blocks), pages):
        if block.kind == EQUATION:
            _set_text(block, pages.get(block.page))
            text = block.text or " ".join(line.text for line in block.lines)
            if result and result[-1].kind == EQUATION and _GOES_ON.match(text):
                text = f"x{text}"
            if not _is_equation(text, most):
                block.kind, block.text = PARAGRAPH, ""
        result.append(block)
    return result


def _whole_formulas(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    result: list[PdfBlock] = []
    for block in blocks:
        last = result[-1] if result else None
        if last and EQUATION in (last.kind, block.kind) and _belong_together(last, block):
            kind = EQUATION
            result[-1] = PdfBlock(kind, last.page, [*last.lines, *block.lines], fresh=last.fresh)
        else:
            result.append(block)
    return result


def _whole_cases(blocks: Sequence[PdfBlock], pages: Mapping[int, Page]) -> list[PdfBlock]:
    """Merge the lines next to a tall brace, even words, into one formula."""
    result: list[PdfBlock] = []
    for block in blocks:
        last = result[-1] if result else None
        braces = _braces_of(pages[block.page]) if block.page in pages else []
        if last and EQUATION in (last.kind, block.kind) and any(_are_beside(brace, last, block) for brace in braces):
            result[-1] = PdfBlock(EQUATION, last.page, [*last.lines, *block.lines], fresh=last.fresh)
        else:
            result.append(block)
    return result


def _braces_of(page: Page) -> list[BoundingBox]:
    """Yield the boxes of opening braces at least two lines high, including braces drawn in pieces."""
    pieces = [one for line in page.glyphs for one in line if one.text in _BRACE]
    result: list[BoundingBox] = []
    for one in sorted(pieces, key=lambda one: (round(one.box.x0), one.box.y0)):
        joins = result and abs(result[-1].x0 - one.box.x0) < 3 and one.box.y0 - result[-1].y1 < 3
        if joins:
            result[-1] = result[-1].around(one.box)
        else:
            result.append(one.box)
    return [box for box in result if box.height > _TWO_LINES]


def _are_beside(brace: BoundingBox, one: PdfBlock, other: PdfBlock) -> bool:
    lines = (*one.lines, *other.lines)
    within = all(brace.y0 - 3 <= line.box.middle <= brace.y1 + 3 and line.box.x1 > brace.x0 for line in lines)
    return one.page == other.page and within


def _belong_together(one: PdfBlock, other: PdfBlock) -> bool:
    kinds = (EQUATION, PARAGRAPH, ITEM)
    if one.kind not in kinds or other.kind not in kinds or one.page != other.page or other.fresh:
        return False
    if any(TAG.search(line.text) for line in one.lines) and any(TAG.search(line.text) for line in other.lines):
        return False
    loose = one if other.kind == EQUATION else other
    if loose.kind != EQUATION and not all(map(_is_scrap, loose.lines)):
        return False
    gap = min(line.box.y0 for line in other.lines) - max(line.box.y1 for line in one.lines)
    size = max(line.size for line in (*one.lines, *other.lines))
    close = gap < (_NEAR * size if loose.kind != EQUATION else 0.1 * size)
    beside = one.lines[-1].box.x0 < other.lines[0].box.x1 and other.lines[0].box.x0 < one.lines[-1].box.x1
    return close and (beside or gap < 0)


def _is_scrap(line: Line) -> bool:
    inside = line.box.x0 > line.column.x0 + line.size and len(line.text) <= _SHORT
    return inside and len(_LONG_WORD.findall(re.sub(r"\$[^$]*\$", " ", line.text))) < 2


def _set_text(block: PdfBlock, page: Page | None) -> None:
    box = block.lines[0].box
    for line in block.lines:
        box = box.around(line.box)
    room = _widen(box)
    bars = [bar for bar in page.rulings if room.holds(bar)] if page else []
    lines = page.glyphs if page else ()
    inside = [
        glyph for line in lines if _lies_in(line, room) or (bars and _is_part_of_fraction(line, bars)) for glyph in line
    ]
    if not inside or not _are_all(inside, block):
        return
    number, rest = _without_number(inside)
    whole = _widen(box_around(inside))
    text = latex_of(rest, [bar for bar in page.rulings if whole.holds(bar)] if page else [])
    block.text = f"{text} ({number})" if number else text


def _widen(box: BoundingBox) -> BoundingBox:
    return BoundingBox(box.x0 - _SLACK, box.y0 - 2 * _SLACK, box.x1 + _SLACK, box.y1 + 2 * _SLACK)


def _lies_in(line: Sequence[Character], room: BoundingBox) -> bool:
    if line[0].box.y1 < room.y0 - _FAR or line[0].box.y0 > room.y1 + _FAR:
        return False
    return 2 * sum(room.holds(glyph.box) for glyph in line) > len(line)


def _is_part_of_fraction(line: Sequence[Character], bars: Sequence[BoundingBox]) -> bool:
    """Return whether a line is directly above or below one of these bars, and not longer."""
    box, size = box_around(line), max(glyph.size for glyph in line)
    return any(
        bar.x0 - _SLACK < box.x0
        and box.x1 < bar.x1 + _SLACK
        and min(abs(bar.y0 - box.y1), abs(box.y0 - bar.y1)) < _BY_BAR * size
        for bar in bars
    )


def _are_all(inside: Sequence[Character], block: PdfBlock) -> bool:
    wanted = Counter(fold(" ".join(line.text for line in block.lines)))
    have = Counter(fold("".join(glyph.text for glyph in inside)))
    missing = sum(count - have[letter] for letter, count in wanted.items() if count > _TWICE * have[letter])
    return missing <= _MOST_MISSING * max(1, sum(wanted.values()))


def _without_number(characters: Sequence[Character]) -> tuple[str, list[Character]]:
    left = min(one.box.x0 for one in characters)
    first = next(one for one in characters if one.box.x0 == left)
    level = sorted(
        (one for one in characters if abs(one.box.middle - first.box.middle) < one.size), key=lambda one: one.box.x0
    )
    if (begins := _NUMBER.match("".join(one.text for one in level))) and begins.end() < len(level):
        tag, after = level[: begins.end()], level[begins.end()]
        if after.box.x0 - tag[-1].box.x1 > 2 * first.size:
            return begins.group(1), [one for one in characters if one not in tag]
    right = max(one.box.x1 for one in characters)
    for row in sorted({round(one.box.y1) for one in characters if one.box.x1 > right - 3 and one.text == ")"}):
        level = [one for one in characters if abs(one.box.middle - (row - one.box.height / 2)) < one.size]
        level.sort(key=lambda one: one.box.x0)
        text = "".join(one.text for one in level)
        match = re.search(r"\(([0-9A-Z.]{1,6}[a-z]?)\)$", text)
        if not match or not match.start():
            continue
        tag = level[match.start() :]
        if tag[0].box.x0 - level[match.start() - 1].box.x1 > tag[0].size:
            return match.group(1), [one for one in characters if one not in tag]
    return "", list(characters)


def _is_recognized(pages: Mapping[int, Page]) -> bool:
    """Return whether the letters may come from a scan: no font is specific to the document."""
    fonts = {glyph.font for page in pages.values() for line in page.glyphs for glyph in line}
    return bool(fonts) and all(map(_COMMON_FONT.match, fonts))


def _is_equation(text: str, most: int) -> bool:
    prose = len(_LONG_WORD.findall(_NAMED.sub(r" \1 ", text.replace("$", " "))))
    if _NO_SIGN.search(text) or prose > (_MOST_WORDS_OF_CASES if "{cases}" in text else most):
        return False
    return bool(_RELATES.search(_BRACKETED.sub("x", text)))


@dataclass(frozen=True, slots=True)
class Token:
    """A sign, or a combination of signs: LaTeX, box, letter size and baseline."""

    tex: str
    box: BoundingBox
    size: float
    base: float
    sign: str = ""
    """The character, or the name of a function; "" for other combinations."""
    word: bool = False
    blank: bool = False


def with_braces(lines: Sequence[Sequence[Character]]) -> list[tuple[Character, ...]]:
    """Return the lines of a page, with braces for unclosed parentheses of TeX's large font, whose code is a brace."""
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
    """Return the formula of these characters; `bars` are the rules among them. Two backslashes separate lines."""
    tokens = _with_accents(_with_words(_tokens_of(characters)))
    return " ".join(_parse(_with_fractions(tokens, bars), 0).split())


def _tokens_of(characters: Iterable[Character]) -> list[Token]:
    result: list[Token] = []
    for glyph in characters:
        sign = glyph.text
        if LARGE_SIGNS.search(glyph.font) or (sign in _LARGE_CODES and sign > "\ue000"):
            sign = _LARGE_CODES.get(sign, sign)
        elif _SYMBOL.search(glyph.font):
            sign = _SYMBOL_CODES.get(sign, sign)
        elif _ITALIC.search(glyph.font):
            sign = _ITALIC_CODES.get(sign, sign)
        if sign == "=" and result and result[-1].sign == "≠":
            continue
        tex = _tex_of(glyph, sign)
        slanted = bool(_SLANTED.search(glyph.font)) or sign > "\uffff"
        sign = normalize("NFKC", sign) if sign > "\uffff" else sign
        upright = sign.isalpha() and sign.isascii() and not slanted
        below = sign in _DESCENDING or (sign == "f" and slanted)
        base = glyph.box.y1 - (0.2 * glyph.size if below else 0.0)
        result.append(Token(tex, glyph.box, glyph.size, base, sign, upright, glyph.blank))
    return _with_whole_delimiters(result)


def _tex_of(one: Character, sign: str) -> str:
    face = next((face for fonts, face in _FACES if fonts.search(one.font)), "") if "A" <= sign <= "Z" else ""
    return f"\\{face}{{{sign}}}" if face else tex_of(_PLAIN.get(sign, sign))


def _with_whole_delimiters(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        other = next((one for one in result if _is_piece_of(token, one)), None) if token.sign in _DELIMITERS else None
        if other:
            box = other.box.around(token.box)
            result[result.index(other)] = replace(other, box=box, base=box.middle + 0.3 * other.size)
        else:
            result.append(token)
    return result


def _is_piece_of(token: Token, other: Token) -> bool:
    near = other.box.y0 - token.box.height - 3 < token.box.y0 < other.box.y1 + 3
    return token.sign == other.sign and abs(other.box.x0 - token.box.x0) < 3 and near


def _with_words(tokens: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    for word, group in itertools.groupby(tokens, key=lambda token: token.word):
        run = list(group)
        if not word:
            result += run
            continue
        for part in _runs_of_letters(run):
            letters = "".join(token.sign for token in part)
            box = part[0].box
            for token in part[1:]:
                box = box.around(token.box)
            tex = f"\\{letters} " if letters in FUNCTIONS else f"\\mathrm{{{letters}}}" if len(letters) > 1 else letters
            base = median(token.base for token in part)
            result.append(Token(tex, box, part[0].size, base, letters, len(letters) > 1, part[0].blank))
    return result


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
    result = [token for token in tokens if token.sign not in _ACCENTS]
    for accent in (token for token in tokens if token.sign in _ACCENTS):
        under = [index for index, token in enumerate(result) if _is_under(token, accent)]
        if not under:
            result.append(accent)
            continue
        place = min(under, key=lambda index: abs(result[index].box.centre - accent.box.centre))
        result[place] = replace(result[place], tex=f"\\{_ACCENTS[accent.sign]}{{{result[place].tex.strip()}}}")
    return result


def _is_under(token: Token, accent: Token) -> bool:
    high = -0.6 * token.size < token.box.y0 - accent.box.y1 < 0.5 * token.size
    return high and token.box.x0 - 1 <= accent.box.centre <= token.box.x1 + 1


def _with_fractions(tokens: Sequence[Token], bars: Sequence[BoundingBox]) -> list[Token]:
    """Merge the terms above and below a bar into a fraction; narrow bars first, since they are inside wide ones."""
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
        result = [token for token in left if token not in used]
        result.insert(min(place, len(result)), Token(made, box, size, bar.y0 + 0.25 * size, "frac"))
        left = result
    return left


def _is_by(token: Token, bar: BoundingBox) -> bool:
    return bar.x0 - 1 <= token.box.centre <= bar.x1 + 1


def _is_above(token: Token, bar: BoundingBox) -> bool:
    return token.box.y1 <= bar.y1 + 1.5 and bar.y0 - token.box.y1 < _NEAR_BAR * token.size and token.sign != "√"


def _is_below(token: Token, bar: BoundingBox) -> bool:
    # the ink of a sign starts lower than that of adjacent letters
    top = token.box.y0 - (0.35 * token.size if _is_loose(token) else 0.0)
    return token.box.y0 >= bar.y0 - 1.5 and top - bar.y1 < _NEAR_BAR * token.size and token.sign != "√"


def _parse(tokens: Sequence[Token], depth: int) -> str:
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
    """Return the tokens of each line: full-size tokens define the lines, the others join the nearest."""
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
    # tall letters reach far up from a line below that of their base
    raised = token.box.middle < level - _RAISED * size and (not token.sign.isalnum() or token.base < level)
    return (before[-1] if before else 0), "^" if raised else "_"


def _limits_of(main: Sequence[Token], small: Sequence[Token], size: float) -> dict[int, tuple[int, str]]:
    """Return operator and side (above or below) for small tokens above or below an operator."""
    result: dict[int, tuple[int, str]] = {}
    for index, operator in enumerate(main):
        if operator.sign not in _OPERATORS and operator.sign not in _LIMITED:
            continue
        for mark in ("_", "^"):
            row = [token for token in small if id(token) not in result and _is_limit(token, operator, mark)]
            row.sort(key=lambda token: token.box.x0)
            for run in _close_runs(row, size):
                if run[0].box.x0 - size / 2 <= operator.box.centre <= run[-1].box.x1 + size / 2:
                    result |= {id(token): (index, mark) for token in run}
    return result


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
