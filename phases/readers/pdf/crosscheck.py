"""Compare the engine's items with PDFium's characters: restore dropped text, symbols, subscripts, exponents and run-in heads."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from unicodedata import lookup, normalize

from phases.readers.math_symbols import FUNCTIONS, tex_of
from phases.readers.pdf.characters import PageText, TextLine, box_around, is_bold, is_typewriter, mend_letters
from phases.readers.pdf.page import BoundingBox, Character, Item

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
)
_COMMAND = re.compile(r"\\(?:var)?([a-zA-Z]+)")
_SIGNS = {name: lookup(f"GREEK SMALL LETTER {name.upper()}") for name in _GREEK.split()}
_SIGNS |= {name.capitalize(): lookup(f"GREEK CAPITAL LETTER {name.upper()}") for name in _GREEK.split()}
_SIGNS |= {"lambda": "λ", "Lambda": "Λ", "ell": "ℓ"}
_SYMBOLS = re.compile(r"cmsy|cmbsy|cmex|msam|msbm", re.IGNORECASE)
"""Fonts of symbols only."""
_BARRED = re.compile(r"\\(?:overline|underline)\s*\{[^{}$]{8,}\}")
_ENDS_CODE = re.compile(r"[({;})]\s*$")
_ALEFS, _LAM = frozenset("اأإآ"), "ل"
_MOST_MISSING = 0.1
_FEWEST_MISSING = 2
_SHORTEST = 5
_FEWEST_LETTERS = 12
_CELL_GAP = 0.9
"""White that separates two pieces, as a share of the letter size."""
_DESCENDING = frozenset("gjpqyQ,;()[]{}|/$")
_ASCENT, _DESCENT = 0.85, 0.25
_SMALLER, _RAISED, _LOWERED = 0.85, 0.2, 0.08
_SYMBOL_FONT = re.compile(r"cmb?sy", re.IGNORECASE)
_COMMAND_SIGNS = {
    "0": "′",
    "1": "∞",
    "2": "∈",
    "6": "\u0338",
    "7": "↦",
    "8": "∀",
    "9": "∃",
    "!": "→",
    ">": "⊤",
    "?": "⊥",
    ";": "∅",
}
"""Codes the engine leaves in the text; in letter fonts all of them are other signs."""
_CODES = _COMMAND_SIGNS | {"h": "⟨", "i": "⟩", "k": "‖", "f": "{", "g": "}", "j": "|", "µ": "⪯"}
_ITALICS = re.compile(r"cmmi", re.IGNORECASE)
_CODED = re.compile(f"{_SYMBOL_FONT.pattern}|{_ITALICS.pattern}", re.IGNORECASE)
_SPELLED = {
    "′": ("'", "\\prime"), "∞": ("\\infty",), "∈": ("\\in",), "\u0338": ("≠", "\\neq", "\\not"), "↦": ("\\mapsto",),
    "∀": ("\\forall",), "∃": ("\\exists",), "→": ("\\rightarrow", "\\to"), "⊤": ("\\top",), "⊥": ("\\bot", "\\perp"),
    "∅": ("\\emptyset",), "ℓ": ("\\ell",),
}  # fmt: skip
"""Spellings of a symbol by an engine that recognized it, next to the symbol itself."""
_WORD = re.compile(r"(?<!\w)(?:[^\W\d_]\w{1,5}|[hfkj]\w{1,30}|\w{1,30}[igkj]|i)(?!\w)")
"""Short words, and words with a possible bracket code at an end."""
_POWER = re.compile(r"(?<![\w.,])(?:(?:2|10)[−-]?[0-9]{1,3}|[0-9]{2,5}(?= ?[=×]))(?![\w.,]?[0-9])(?!\w)")
"""Digits that may be a power. A raised digit after another number is a footnote mark, except in "32² = 1024"."""
_BASE = re.compile(r"(?:(?<![^\W_])[^\W\d_]|(?<=[^\W_])\))$")
_EXPONENT = re.compile(r"(?:[^\W\d_]{1,2}|[1-9])(?!\w)")
_TERM = re.compile(r"\((?=[^()]*[-+−/·×*])(?:(?![^\W\d_]{3})[^()]){1,24}$")
"""Text before the closing bracket of a term that may have an exponent: an operator, and no word."""
_BRACKETS = frozenset("⟨⟩‖{}|")
_CLOSING = ("i", "ii")
"""Bracket codes after a prime, which PDFium puts on a line of its own."""
_FORMULA = re.compile(r"(\$[^$]*\$)")
_LONGEST_BASE = 2
_FARTHEST = 0.6
"""White before the rest of an index, at most, in sizes of its base."""
_NUMBERED = re.compile(r"(?:[0-9A-Z]{1,2}(?:\.[0-9]{1,2}){1,3}\.?|[0-9]{1,2}\))\s+[^\W\d_]")
"""A heading number. Lists count in whole numbers; numbers in brackets count too, but their words must differ in style."""
_FEWEST, _MOST = 3, 100
_FEWEST_BEHIND = 6
"""Letters that must follow in another font: a single word may be emphasized in a heading."""
_MARKS, _WIDE = frozenset(".:—–"), 0.6
"""A heading ends in one of these marks, or in white as wide as this share of the letter size."""
_SLACK = 1.0


def with_dropped(items: Sequence[Item], text: PageText, known: str, skipped: Sequence[BoundingBox]) -> list[Item]:
    """Return the items of a page, with lines of PDFium's text that the engine dropped as additional items.

    `known` is all text the engine found on the page, visible or not; boxes in `skipped` are ignored.
    """
    # the engine takes a table rule above letters for a long bar over a formula
    kept = [item for item in items if not _BARRED.search(item.text)]
    body = fold(_BARRED.sub(" ", known))
    lines = list(text.lines())
    letters = [fold(line.text) for line in lines]
    whole = {fold(word) for word in known.split()}
    for index, line in enumerate(lines):
        # a digit or two occur in many words
        given = whole if len(letters[index]) < _SHORTEST else body
        if letters[index] and letters[index] not in given:
            elsewhere = f"{''.join(letters[:index])}|{''.join(letters[index + 1 :])}"
            kept = _with_line(kept, line, text, skipped, elsewhere)
        elif _ENDS_CODE.search(line.text):
            kept += _signs_of_code(kept, line, text, skipped)
    return kept


def _signs_of_code(
    items: Sequence[Item], line: TextLine, text: PageText, skipped: Sequence[BoundingBox]
) -> Iterator[Item]:
    """Yield the missing end of a line of code: the engine drops pieces without a letter, such as `) {`."""
    characters = text.characters(line)
    if 2 * sum(is_typewriter(one.font) for one in characters) <= len(characters):
        return
    boxes = [item.box for item in items] + list(skipped)
    lost = itertools.takewhile(lambda one: not any(box.holds(one.box) for box in boxes), reversed(characters))
    if ending := list(lost)[::-1]:
        yield from map(item_of, _pieces_of(ending))


def items_of_lines(text: PageText, skipped: Sequence[BoundingBox]) -> list[Item]:
    """Return an item for each line of PDFium's text: the engine splits right-to-left lines into pieces."""
    items = []
    for line in text.lines():
        characters = [glyph for glyph in text.characters(line) if not any(box.holds(glyph.box) for box in skipped)]
        if characters:
            items.append(replace(item_of(characters), text=mend_letters(_in_order(characters))))
    return items


def _in_order(characters: Sequence[Character]) -> str:
    """Return the text of a line; the letters of a lam-alef ligature, a single glyph, arrive reversed."""
    signs = [glyph.text for glyph in characters]
    for index, (glyph, after) in enumerate(itertools.pairwise(characters)):
        if glyph.text in _ALEFS and after.text == _LAM and glyph.box == after.box:
            signs[index], signs[index + 1] = after.text, glyph.text
    return "".join(f" {sign}" if glyph.blank else sign for glyph, sign in zip(characters, signs, strict=True))


def fold(text: str) -> str:
    """Return only letters and digits, for comparison; LaTeX commands count as the symbols they show."""
    if "\\" in text:
        text = _COMMAND.sub(lambda match: _SIGNS.get(match[1], match[1] if match[1] in FUNCTIONS else " "), text)
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def _with_line(
    items: Sequence[Item], line: TextLine, text: PageText, skipped: Sequence[BoundingBox], elsewhere: str
) -> list[Item]:
    """Return the items, with a line of PDFium's text in place of items that have too little of it.

    `elsewhere` are the letters of the page's other lines.
    """
    characters = [one for one in text.characters(line) if not any(box.holds(one.box) for box in skipped)]
    inked = [one for one in characters if one.text.isalnum() and not _SYMBOLS.search(one.font)]
    if not inked:
        return list(items)
    box, base = box_around(inked), _baseline(inked)
    near = [
        item
        for item in items
        if _touch(item.box, box)
        and any(_holds(item.box, one, base) for one in inked)
        # the box of an item may reach over a line that the engine dropped
        and not _is_of(fold(item.text), elsewhere, fold(line.text))
    ]
    size = max(one.size for one in inked)
    # the number of a line of code or of a footnote is small and before it
    shown = list(itertools.dropwhile(lambda one: one.text.isdigit() and one.size < _SMALLER * size, inked))
    # each digit counts, and each mathematical letter beyond U+FFFF, which the engine never knows
    exact = {fold(one.text) for one in shown if one.text.isdigit() or one.text > "\uffff"}
    missing = Counter(fold("".join(one.text for one in inked)))
    missing.subtract(fold(" ".join(item.text for item in near)))
    count = sum(number for number in missing.values() if number > 0)
    complete = not any(missing[sign] > 0 for sign in exact)
    if complete and count <= max(_MOST_MISSING * len(inked), _FEWEST_MISSING) and near:
        return list(items)
    replaced = {item for item in near if _lies_in(item.box, box)}
    # the box of a formula may reach over letters it does not have
    others = [(item.box, Counter(fold(item.text))) for item in near if item not in replaced]
    pieces = _pieces_of([one for one in characters if not _is_given(one, others, base)])
    return [*(item for item in items if item not in replaced), *map(item_of, pieces)]


def _baseline(characters: Sequence[Character]) -> float:
    size = max(glyph.size for glyph in characters)
    feet = [glyph.box.y1 for glyph in characters if glyph.text not in _DESCENDING and glyph.size > 0.9 * size]
    feet = feet or [glyph.box.y1 for glyph in characters]
    return sorted(feet)[len(feet) // 2]


def _holds(box: BoundingBox, one: Character, base: float) -> bool:
    """Return whether a letter belongs to the line of a box: tall letters reach into the box of the line above."""
    middle = min(max(one.box.y0, base - one.size / 4), one.box.y1)
    return box.x0 <= one.box.centre <= box.x1 and box.y0 <= middle <= box.y1


def _is_given(one: Character, others: Sequence[tuple[BoundingBox, Counter[str]]], base: float) -> bool:
    """Return whether one of the items has a letter, and count it off there. Signs belong to the item they are inside."""
    for box, letters in others:
        sign = fold(one.text)
        if _holds(box, one, base) and (not sign or letters[sign] > 0):
            letters.subtract([sign] if sign else [])
            return True
    return False


def _is_of(letters: str, elsewhere: str, line: str) -> bool:
    return len(letters) >= _FEWEST_LETTERS and letters in elsewhere and letters not in line


def _touch(one: BoundingBox, other: BoundingBox) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


def _lies_in(inner: BoundingBox, outer: BoundingBox) -> bool:
    """Return whether a piece belongs to this line only: it begins and ends inside, and its middle is at this height."""
    slack = outer.height / 2
    across = inner.x0 > outer.x0 - slack and inner.x1 < outer.x1 + slack
    return across and outer.y0 - 1 <= inner.middle <= outer.y1 + 1


def _pieces_of(characters: Sequence[Character]) -> Iterator[list[Character]]:
    piece: list[Character] = []
    for glyph in characters:
        if piece:
            gap, size = glyph.box.x0 - piece[-1].box.x1, max(glyph.size, piece[-1].size)
            away = abs(glyph.box.middle - piece[-1].box.middle)
            if gap > _CELL_GAP * size or gap < -2 * size or away > size:
                yield piece
                piece = []
        piece.append(glyph)
    if piece:
        yield piece


def item_of(piece: Sequence[Character]) -> Item:
    """Return an item of adjacent characters, with raised and lowered ones between dollar signs."""
    size = Counter(round(glyph.size, 1) for glyph in piece).most_common(1)[0][0]
    font = Counter(glyph.font for glyph in piece).most_common(1)[0][0]
    ink, base = box_around(piece), _baseline(piece)
    box = BoundingBox(ink.x0, min(ink.y0, base - _ASCENT * size), ink.x1, max(base + _DESCENT * size, base))
    text = mend_letters(_text_with_scripts(piece, size, base))
    return Item(text, box, size, font.rpartition("+")[2], is_bold(piece[0].font), is_bold(piece[-1].font))


def _text_with_scripts(piece: Sequence[Character], size: float, base: float) -> str:
    parts: list[tuple[str, str]] = []
    for glyph in map(mend_symbol, piece):
        mark = script_of(glyph, size, base)
        if parts and parts[-1][0] == mark and not (mark and glyph.blank):
            parts[-1] = (mark, parts[-1][1] + (" " if glyph.blank else "") + glyph.text)
        else:
            parts.append((mark, (" " if glyph.blank and parts and not mark else "") + glyph.text))
    return "".join(f"${mark}{{{text}}}$" if mark else text for mark, text in parts)


def script_of(one: Character, size: float, base: float) -> str:
    """Return `^` or `_` for a character that is smaller than its line and raised or lowered; else ""."""
    if one.size > _SMALLER * size or not one.text.isalnum():
        return ""
    if one.box.y1 < base - _RAISED * size:
        return "^"
    return "_" if one.box.y1 > base + _LOWERED * size else ""


def with_symbols(items: Iterable[Item], text: PageText) -> list[Item]:
    """Return the items with the symbols of TeX's fonts; an item with other letters than the page stays as it is."""
    letters = sorted(text.find({*_COMMAND_SIGNS, "`"}, _CODED), key=lambda one: one.box.middle)
    signs = [mend_symbol(one).text for one in letters]
    if all(sign == one.text for sign, one in zip(signs, letters, strict=True)):
        return list(items)
    heights = [one.box.middle for one in letters]
    mended = []
    for item in items:
        rows = slice(bisect_left(heights, item.box.y0), bisect_right(heights, item.box.y1))
        near = zip(letters[rows], signs[rows], strict=True)
        inside = sorted(((one, sign) for one, sign in near if item.box.holds(one.box)), key=lambda pair: pair[0].box.x0)
        mended.append(_mend(item, inside) if any(sign != one.text for one, sign in inside) else item)
    return mended


def _mend(item: Item, letters: Sequence[tuple[Character, str]]) -> Item:
    words = tuple(
        (_insert_symbols(word, [pair for pair in letters if x0 <= pair[0].box.centre <= x1]), x0, x1)
        for word, x0, x1 in item.words
    )
    return replace(item, text=_insert_symbols(item.text, letters), words=words)


def mend_symbol(one: Character) -> Character:
    """Return the symbol for a code of TeX's fonts."""
    if one.text == "`" and _ITALICS.search(one.font):
        return replace(one, text="ℓ")
    known = _CODES.get(one.text) if _SYMBOL_FONT.search(one.font) else None
    return replace(one, text=known) if known else one


def _insert_symbols(text: str, letters: Sequence[tuple[Character, str]]) -> str:
    """Insert symbols in place of their codes, in order; return the text unchanged if the codes differ."""
    waiting: dict[str, list[str]] = defaultdict(list)
    spelled: dict[str, str] = {}
    """Spelling in the text -> letter of the page."""
    for glyph, sign in letters:
        waiting[glyph.text].append(sign)
        spelled |= dict.fromkeys((glyph.text, sign, *_SPELLED.get(sign, ())), glyph.text)
    if not letters:
        return text
    known = "|".join(
        re.escape(glyph) + "(?![a-z])" * glyph.startswith("\\") for glyph in sorted(spelled, key=len, reverse=True)
    )
    pieces = re.split(f"({known})", text)
    for place in range(1, len(pieces), 2):
        piece, signs = pieces[place], waiting[spelled[pieces[place]]]
        is_code = piece == spelled[piece]
        if signs and (is_code or piece in (signs[0], *_SPELLED.get(signs[0], ()))):
            sign = signs.pop(0)
            pieces[place] = sign if is_code else piece
        elif is_code:
            return text
    if any(waiting.values()):
        return text
    return re.sub("\u0338 ?=", "≠", "".join(pieces)).replace("↦→", "↦")


def with_subscripts(items: Sequence[Item], text: PageText) -> list[Item]:
    """Return the items of a page with words that have subscripts or exponents as formulas between dollar signs."""
    result = list(items)
    for word, formula, box in _words_with_subscripts(text):
        _replace_word(result, word, formula, box)
    for word, formula, box, above in _words_with_exponents(text):
        # the exponent may be an item of its own
        if not _replace_word(result, word, formula, box):
            _replace_word(result, word[1:], "$" + formula[formula.index("^") :], above, alone=True)
    return result


def _replace_word(items: list[Item], word: str, told: str, box: BoundingBox, *, alone: bool = False) -> bool:
    for place, item in enumerate(items):
        if not item.box.holds(box) or (alone and item.text != word):
            continue
        if changed := _insert_script(item.text, word, told, _share(box, item.box.x0, item.box.x1)):
            words = [
                (
                    _insert_script(glyph, word, told, _share(box, x0, x1)) or glyph
                    if x0 <= box.centre <= x1
                    else glyph,
                    x0,
                    x1,
                )
                for glyph, x0, x1 in item.words
            ]
            items[place] = replace(item, text=changed, words=tuple(words))
            return True
    return False


def _share(box: BoundingBox, x0: float, x1: float) -> float:
    return (box.x0 - x0) / max(x1 - x0, 1.0)


def _words_with_subscripts(text: PageText) -> Iterator[tuple[str, str, BoundingBox]]:
    for line in text.lines():
        for match in (*_WORD.finditer(line.text), *_POWER.finditer(line.text)):
            first, last = line.start + match.start(), line.start + match.end() - 1
            if match.group() not in _CLOSING and text.are_drawn_together(first, last):
                continue  # one font and size
            behind = len(line.text) - len(line.text[match.end() :].lstrip()) + 1
            found = text.characters(TextLine(line.text[match.start() : behind], first))
            word, after = found[: len(match.group())], found[len(match.group()) :]
            if len(word) == len(match.group()) and (formula := _write(word, after)) != match.group():
                yield match.group(), formula, box_around(word)


def _words_with_exponents(text: PageText) -> Iterator[tuple[str, str, BoundingBox, BoundingBox]]:
    """Yield a letter or a bracketed term whose exponent begins PDFium's next line: "r" and "2 in"."""
    for line, following in itertools.pairwise(text.lines()):
        base, raised = _BASE.search(line.text), _EXPONENT.match(following.text)
        if not base or not raised or (base.group() == ")" and not _TERM.search(line.text[: base.start()][-30:])):
            continue
        before = text.characters(TextLine(line.text, line.start))
        above = text.characters(TextLine(raised.group(), following.start))
        if not before or not above or "′" in {mend_symbol(one).text for one in above}:
            continue
        one, size = before[-1], before[-1].size
        is_raised = all(
            other.size < _SMALLER * size and one.box.y0 - size / 2 < other.box.y1 < one.box.middle for other in above
        )
        # a footnote mark follows a letter in the style of the words before it
        is_marked = raised.group().isdigit() and one.text != ")" and before[-2:-1] and before[-2].font == one.font
        if is_raised and abs(above[0].box.x0 - one.box.x1) < size / 2 and not is_marked:
            formula = f"^{{{''.join(map(tex_of, raised.group())).strip()}}}$"
            told = f")${formula}" if one.text == ")" else f"${tex_of(one.text)}{formula}"
            yield one.text + raised.group(), told, box_around([one, *above]), box_around(above)


def _write(word: Sequence[Character], after: Sequence[Character]) -> str:
    """Return a word with corrected brackets, and with its formula between dollar signs."""
    if word[0].text.isdigit():
        return _write_power(word)
    signs = [mend_symbol(glyph) for glyph in word]
    start = _count_brackets(signs)
    end = _count_brackets(signs[start:][::-1])
    inner = signs[start : len(signs) - end]
    formula = _formula_of(inner, after) if len(inner) > 1 else ""
    middle = f"${formula}$" if formula else "".join(glyph.text for glyph in word[start : len(word) - end])
    return "".join(
        [*(glyph.text for glyph in signs[:start]), middle, *(glyph.text for glyph in signs[len(signs) - end :])]
    )


def _write_power(digits: Sequence[Character]) -> str:
    size, base = digits[0].size, digits[0].box.y1
    marks = [
        "^" if glyph.text in "−-" and glyph.size <= _SMALLER * size else script_of(glyph, size, base)
        for glyph in digits
    ]
    height = marks.count("")
    below, above = ("".join(glyph.text for glyph in part) for part in (digits[:height], digits[height:]))
    raised = not any(marks[:height]) and set(marks[height:]) == {"^"}
    return f"${below}^{{{above.replace('−', '-')}}}$" if raised else below + above


def _count_brackets(signs: Sequence[Character]) -> int:
    return next((count for count, glyph in enumerate(signs) if glyph.text not in _BRACKETS), len(signs))


def _formula_of(word: Sequence[Character], after: Sequence[Character]) -> str:
    """Return the LaTeX of a word; "" for small capitals, a footnote mark, or an index that continues after it."""
    size, base = word[0].size, word[0].box.y1
    if any(one.size < _SMALLER * size and one.box.x0 - word[-1].box.x1 < _FARTHEST * size for one in after):
        return ""
    runs = [
        (mark, "".join(one.text for one in run)) for mark, run in groupby(word, lambda one: _mark_of(one, size, base))
    ]
    bases = [run for mark, run in runs if not mark]
    if len(bases) == len(runs) or not all(base.isalpha() and len(base) <= _LONGEST_BASE for base in bases):
        return ""
    if any(mark == "^" and run.isdigit() for mark, run in runs):
        return ""
    parts = [(mark, "".join(map(tex_of, run)).strip()) for mark, run in runs]
    return "".join(f"{mark}{{{part}}}" if mark in ("_", "^") else part for mark, part in parts)


def _mark_of(one: Character, size: float, base: float) -> str:
    return "'" if one.text == "′" else script_of(one, size, base)


def _insert_script(text: str, word: str, told: str, share: float) -> str:
    """Replace the occurrence of a word nearest to this share of the text, outside formulas; return "" if there is none."""
    parts = _FORMULA.split(text)
    # a prime is a 0 in the item, and may be between a bracket and its formula
    before = "(?<=0)" if word in _CLOSING else "" if word[0] == ")" else r"(?<!\w)"
    behind = r"(?![^\W0])" if told[0] == "⟨" and word not in _CLOSING else r"(?!\w)"
    starts = [0, *accumulate(map(len, parts))]
    places = [
        (abs(starts[number] + match.start() - share * len(text)), number, match.start())
        for number in range(0, len(parts), 2)
        for match in re.finditer(f"{before}{re.escape(word)}{behind}", parts[number])
    ]
    if not places:
        return ""
    _, number, at = min(places)
    tail = parts[number][at + len(word) :]
    if number and not at and told.startswith("$"):  # merge adjacent formulas
        parts[number - 1], told = parts[number - 1][:-1], f" {told[1:]}"
    if number + 1 < len(parts) and not tail and told.endswith("$"):
        told, parts[number + 1] = f"{told[:-1]} ", parts[number + 1][1:]
    parts[number] = parts[number][:at] + told + tail
    return "".join(parts)


def split_run_in(items: Sequence[Item], text: PageText) -> list[Item]:
    """Split items where a heading and its paragraph share a line; the heading gets `run_in`."""
    result = list(items)
    for line in text.lines():
        if _NUMBERED.match(line.text.strip()):
            characters = text.characters(line)
            if behind := _find_switch(characters):
                result = list(_cut(result, characters, behind))
    return result


def _find_switch(characters: Sequence[Character]) -> int:
    """Return the index of the first character after the heading; 0 if the style never changes."""
    first = next((place for place, glyph in enumerate(characters) if glyph.text.isalpha()), None)
    if first is None or characters[-1].font == characters[first].font:
        return 0
    font = characters[first].font
    behind = len(characters)
    while characters[behind - 1].font != font:
        behind -= 1
    letters = sum(glyph.text.isalpha() for glyph in characters[first:behind])
    following = [glyph for glyph in characters[behind:] if glyph.text.isalpha()]
    ends = characters[behind - 1].text in _MARKS or (
        characters[behind].box.x0 - characters[behind - 1].box.x1 > _WIDE * characters[behind].size
    )
    return behind if _FEWEST <= letters <= _MOST and len(following) >= _FEWEST_BEHIND and ends else 0


def _cut(items: Sequence[Item], characters: Sequence[Character], behind: int) -> Iterator[Item]:
    end, start = characters[behind - 1].box, characters[behind].box
    font = next(glyph.font for glyph in characters if glyph.text.isalpha())
    for item in items:
        across = item.box.x0 < end.x1 - _SLACK and item.box.y0 < end.middle < item.box.y1
        if not across or item.box.x0 >= start.x0 or item.box.x1 < end.x1 - _SLACK:
            yield item
            continue
        within = [glyph for glyph in characters[:behind] if glyph.box.x0 >= item.box.x0 - _SLACK]
        place = _place_behind(item.text, sum(glyph.text.isalnum() for glyph in within))
        if not item.text[place:].strip():
            yield replace(item, run_in=True)
            continue
        bold, name = is_bold(font), font.rpartition("+")[2]
        head = BoundingBox(item.box.x0, item.box.y0, end.x1, item.box.y1)
        words = tuple(word for word in item.words if word[2] <= end.x1 + _SLACK)
        yield replace(
            item,
            text=item.text[:place].strip(),
            box=head,
            font=name,
            bold=bold,
            bold_end=bold,
            words=words,
            run_in=True,
        )
        rest = BoundingBox(start.x0, item.box.y0, item.box.x1, item.box.y1)
        last = characters[-1].font
        yield replace(
            item, text=item.text[place:].strip(), box=rest, font=last.rpartition("+")[2], bold=is_bold(last),
            bold_end=is_bold(last), words=item.words[len(words) :],
        )  # fmt: skip


def _place_behind(text: str, count: int) -> int:
    for place, sign in enumerate(text):
        if not count and sign.isspace():
            return place
        count -= sign.isalnum() and count > 0
    return len(text)
