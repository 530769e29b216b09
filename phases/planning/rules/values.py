"""What a sentence sets: a number or a word, what it is called, and the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phases.planning.rules.numbers import GREEK, NUMBER, WORDS, fold, number_of, scaled, symbol_of, without_pointers
from phases.planning.rules.value_patterns import (
    ASSIGNED,
    CONSTANT,
    COUNTED,
    GOES_ON,
    HEADS,
    IDENTIFIER,
    INDEXES,
    LABEL,
    LEXICON,
    LONGEST_QUOTE,
    LOOSE,
    MEASURED,
    MEASURES,
    NAMED,
    ONE,
    ONE_COUNTED,
    POINTED,
    RESULT_BEFORE,
    SET,
    SHAPE,
    SHARES,
    SIGN,
    SPACED,
    STEPS,
    STOPS,
    UNITS,
    VAGUE,
    WORD_UNITS,
    WORDS_AS_VALUES,
)

Scalar = int | float | str


@dataclass(frozen=True)
class Value:
    """Something that a sentence sets, and the words that say so."""

    name: str
    value: Scalar | tuple[Scalar, ...]
    quote: str
    symbol: str = ""
    unit: str = ""
    start: int = 0
    end: int = 0
    """Where the value stands in its sentence."""
    condition: str = ""


def values_in(text: str) -> list[Value]:
    """What one sentence or list item sets, from left to right; of two readings of a number the first rule's holds."""
    read, places = fold(text)
    read = without_pointers(read)
    taken: list[tuple[int, int]] = []
    found: list[Value] = []
    for reading in _readings(read):
        for one in _apart(reading, read):
            if any(start < one.end and one.start < end for start, end in taken):
                continue
            taken.append((one.start, one.end))
            quote = _quote(text, places[one.first], places[one.end])
            found.append(
                Value(
                    one.name, one.value, quote, one.symbol, one.unit, places[one.start], places[one.end], one.condition
                )
            )
    return sorted(found, key=lambda value: value.start)


@dataclass(frozen=True)
class _Reading:
    name: str
    value: Scalar | tuple[Scalar, ...]
    first: int
    start: int
    end: int
    symbol: str = ""
    unit: str = ""
    condition: str = ""


def _readings(read: str) -> Iterator[_Reading]:
    yield from _assigned(read)
    yield from _labelled(read)
    yield from _identifiers(read)
    yield from _signs(read)
    yield from _shapes(read)
    yield from _named(read)
    yield from _set_to(read)
    yield from _counted(read)
    yield from _words(read)


def _apart(one: _Reading, read: str) -> Iterator[_Reading]:
    """Two numbers joined by "and" are two values, and what goes on with "and N for" is another; a set or grid is one."""
    value, shown = one.value, read[one.start : one.end]
    is_apart = isinstance(value, tuple) and (
        "respectively" in read[one.end :]
        or (len(value) == 2 and re.search(r" and ", shown) and read[one.start - 1] not in "{[(")
    )
    if is_apart and isinstance(value, tuple):
        for part, match in zip(value, re.finditer(ONE, shown), strict=False):
            yield _Reading(
                one.name, part, one.first, one.start + match.start(), one.start + match.end(), one.symbol, one.unit
            )
        return
    yield one
    if more := GOES_ON.match(read, one.end):
        second = _parse(more.group(2))
        if second is not None and not isinstance(second, tuple):
            yield _Reading(
                one.name, second, one.first, more.start(2), more.end(2), one.symbol, one.unit, more.group(3).strip()
            )


def _assigned(read: str) -> Iterator[_Reading]:
    """Constants of a listing: unsigned int a=31415,b=27183."""
    for match in ASSIGNED.finditer(read) if CONSTANT.search(read) else ():
        shown = match.group(2)
        number = None if shown.startswith("0x") else number_of(shown)
        yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _labelled(read: str) -> Iterator[_Reading]:
    """An item of a list that is a name and a value: "Hidden dimension: 128"."""
    if match := LABEL.match(read):
        value = _parse(match.group(3))
        name = match.group(1).strip()
        if value is not None and len(name.split()) <= 9:
            yield _read(name, value, match, 3, symbol=plain_symbol(match.group(2) or ""), unit=match.group(4) or "")


def _identifiers(read: str) -> Iterator[_Reading]:
    for match in IDENTIFIER.finditer(read):
        shown = match.group(2).rstrip(".,")
        number = number_of(shown)
        if number is not None or shown.lower() in WORDS_AS_VALUES:
            yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _signs(read: str) -> Iterator[_Reading]:
    for match in SIGN.finditer(read):
        before = read[max(0, match.start() - 30) : match.start()]
        plain = plain_symbol(match.group(1))
        value = _parse(match.group(2))
        if value is None or not plain or _is_index(plain, before, read, match.end(), value):
            continue
        noun = re.match(
            rf" ?((?:(?!(?:in|for|on|and|or|as|to|the|our|of|with|at|by|from)\b)[a-z][\w-]* ){{0,3}}?(?:{UNITS}))\b",
            read[match.end() :],
        )
        bare = re.sub(r" (?:of|with|to|at)(?: a)?(?: value(?: of)?)? $", " ", before)
        named = _name_before(bare) or (noun.group(1) if noun else "")
        yield _read(named or plain, value, match, 2, symbol=plain)


def _is_index(plain: str, before: str, read: str, end: int, value: object) -> bool:
    if LOOSE.search(before) and not re.search(r"\b(?:set|use)\b", before):
        return True
    if re.match(r" ?(?:,? ?(?:\.\.\.|…|· · ·)| ?[-+<≤∑∏]|,? (?:if|when|otherwise)\b)", read[end:]) or re.search(
        r"(?:∑|\bsum\b|\bprod\b|_)$", before.rstrip()
    ):
        return True
    if plain.rpartition("_")[2] in INDEXES and "_" in plain:
        return True
    return plain in INDEXES and not isinstance(value, tuple) and value in (0, 1, 2, 3) and not _name_before(before)


def _named(read: str) -> Iterator[_Reading]:
    for match in (*NAMED.finditer(read), *SPACED.finditer(read)):
        before = read[max(0, match.start() - 40) : match.start()]
        name = _with_modifiers(before, match.group(1))
        value = _parse(match.group(2))
        if (
            value is None
            or name.lower() in VAGUE
            or RESULT_BEFORE.search(read[max(0, match.start(2) - 40) : match.start(2)])
        ):
            continue
        if not re.search(r"\b(?:by|within) an? (?:[a-z]+ )?$", before) and _is_possible(name, match.group(2), value):
            yield _read(name, value, match, 2)


def _set_to(read: str) -> Iterator[_Reading]:
    """Biases are initialized to zero; the urgency is set to 1."""
    for match in SET.finditer(read):
        value = _parse(match.group(2))
        words = [word for word in match.group(1).split() if word.lower() not in STOPS]
        if value is not None and words:
            yield _read(" ".join(words[-4:]), value, match, 2)


def _counted(read: str) -> Iterator[_Reading]:
    for match in (*COUNTED.finditer(read), *ONE_COUNTED.finditer(read)):
        before, shown, noun = (
            read[max(0, match.start() - 40) : match.start()],
            match.group(1).strip(),
            match.group(2).strip(),
        )
        if (RESULT_BEFORE.search(before) and not (before.endswith("up to ") and STEPS.search(noun))) or POINTED.search(
            before
        ):
            continue
        if before.endswith(" of ") and " and " in shown:
            continue  # the first number belongs to what stands before it
        value, last = _parse(shown), noun.split()[-1].lower()
        is_word = shown.lower() in WORDS
        if (
            value is None
            or (is_word and (WORDS[shown.lower()] < 2 or not WORD_UNITS.search(last)))
            or last in ("times", "percent", "gb", "mb", "second")
        ):
            continue
        if last == "bit" and re.match(
            r" (?:architecture|machine|computer|version|processor|system)", read[match.end() :]
        ):
            continue
        if STEPS.search(last) and MEASURED.search(before) and not re.search(r"\bwe\b", read):
            continue
        if isinstance(value, int) and 1900 <= value <= 2100 and noun[:1].isupper():
            continue  # a year in the name of a data set
        what = re.search(r"([a-z][\w-]*) of (?:about |approximately |size |around )?$", before)
        of = (
            f"{what.group(1)} of "
            if what and what.group(1) not in (*STOPS, "consisting", "composed", "set", "stack", "maximum")
            else ""
        )
        unit = noun.split()[-1] if re.fullmatch(MEASURES, last) else ""
        if last in ("parameters", "params") and re.fullmatch(r"[0-9.]+ ?[KMB]", shown):
            value = shown.replace(" ", "")  # a model is known by this: 7B
        noun += "s" if re.search(r"(?:layer|bit|shot|way|sentence|head|block|unit|step|epoch)$", noun) else ""
        yield _read(f"{of}{noun}" if of or unit else f"number of {noun}", value, match, 1, unit=unit)


def _shapes(read: str) -> Iterator[_Reading]:
    for match in SHAPE.finditer(read):
        noun = " ".join(word for word in match.group(2).split() if word not in STOPS)
        before = _name_before(read[max(0, match.start() - 30) : match.start()])
        if noun or before:
            yield _read(f"{noun or before} size", match.group(1), match, 1)


def _words(read: str) -> Iterator[_Reading]:
    """What is set to a word: an optimizer, an activation, a loss."""
    for name, pattern in LEXICON:
        for match in pattern.finditer(read):
            group = match.lastindex or 1
            yield _read(name, match.group(group), match, group)


def _read(
    name: str, value: Scalar | tuple[Scalar, ...], match: re.Match[str], group: int, symbol: str = "", unit: str = ""
) -> _Reading:
    return _Reading(" ".join(name.split()), value, match.start(), match.start(group), match.end(group), symbol, unit)


def _quote(text: str, start: int, end: int) -> str:
    """The clause around a value, in whole words; all of a short sentence."""
    if len(text) <= LONGEST_QUOTE:
        return text
    room = max(LONGEST_QUOTE - (end - start), 40)
    first = text.rfind(" ", 0, max(0, start - room // 2)) + 1 if start > room // 2 else 0
    last = text.find(" ", min(len(text), end + room // 2))
    return text[first : last if last > 0 else len(text)].strip()


def _parse(shown: str) -> Scalar | tuple[Scalar, ...] | None:
    """A number, or several; a share keeps its sign and a fraction its bar: 30% is not 30, and 1/2 is not 1."""
    shown = shown.strip()
    if re.search(r"(?<![0-9.,])0[0-9]", shown):
        return None  # the end of a longer number, such as 20, 000
    if re.fullmatch(rf"{NUMBER}/{NUMBER}|2\^[0-9]{{1,2}}", shown):
        return shown
    if shown.lower() in WORDS:
        return WORDS[shown.lower()]
    values: list[Scalar] = []
    for number, share, word, letter in re.findall(
        rf"({NUMBER})( ?%)?(?: ?(million|billion|thousand)\b|([kKMB])\b)?", shown
    )[:14]:
        value = number_of(number)
        if value is None:
            return None
        scale = word or letter
        values.append(f"{number.strip()}%" if share else scaled(value, scale) if scale else value)
    return (values[0] if len(values) == 1 else tuple(values)) if values else None


def plain_symbol(sign: str) -> str:
    """A symbol in plain letters: d_{model} is d_model, \\eta is eta."""
    spelled = "".join(GREEK.get(letter, letter) for letter in sign).replace("\\", "")
    return re.sub(r"[^A-Za-z0-9_*-]+", "_", re.sub(r"[{}$ ]", "", spelled)).strip("_")


def _name_before(before: str) -> str:
    """The noun that stands directly before a symbol: "of dimension d = 512"."""
    words = re.findall(r"[A-Za-z][\w-]*", re.split(r"[,.;:()]|\$[^$]*\$", before)[-1])
    kept: list[str] = []
    for word in reversed(words[-4:]):
        if word.lower() in STOPS:
            break
        kept.insert(0, word)
    named = " ".join(kept)
    return (
        named if (kept and re.search(rf"\b(?:{HEADS})$", named, re.IGNORECASE)) or (kept and len(kept[-1]) > 3) else ""
    )


def _with_modifiers(before: str, head: str) -> str:
    """A name with up to three words before it that belong to it: "mask", "hidden layer"; or what is counted."""
    words = re.findall(r"[A-Za-z][\w-]*|[.,;:()$]", before)
    kept: list[str] = []
    for word in reversed(words[-3:]):
        if word.lower() in STOPS or not word[0].isalpha():
            break
        kept.insert(0, word)
    return " ".join([*kept, head])


def _is_possible(name: str, stated: str, value: Scalar | tuple[Scalar, ...]) -> bool:
    """A text layer that loses a raised sign makes a share of more than the whole, and a fraction's bar a factor of 1."""
    # decision 135: a wrong constant costs more than a missing one
    numbers = [one for one in (value if isinstance(value, tuple) else (value,)) if not isinstance(one, str)]
    if SHARES.search(symbol_of(name)) and "%" not in stated and any(not 0 <= number <= 1 for number in numbers):
        return False
    return not (name.endswith("factor") and numbers == [1])
