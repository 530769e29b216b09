"""How sentences set values: each reading finds one way of saying that something is a number or a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from phases.planning.rules import value_patterns as patterns
from phases.planning.rules.numbers import WORDS, Scalar, number_of, parse_value, symbol_of
from phases.planning.rules.value_counts import name_count
from phases.planning.rules.value_names import name_before, name_of_part, name_of_symbol, plain_symbol, words_before
from phases.planning.rules.value_pairs import find_pairs
from phases.planning.rules.value_words import find_formulas, find_words

_NUMBER_IN = re.compile(rf"[0-9]|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_MACHINE_TYPE = re.compile(r"bits? (?:\w+ )?(?:integers?|words?|pointers?|counters?|floats?)\b")
_VERBS = re.compile(r"(?:(?:^| )(?:is|are|was|were|be|been|being|then|also|all|both))+ $")
_OTHER_VALUE = re.compile(rf"(?:,? and |,? or |, )({patterns.ONE})(?= of\b|[,.;)]|$)")
"""What a name is set to, too: "to 20% and 30% of the slots"."""
_OF_WHOM = re.compile(
    rf"\b(?:of|among) (?:whom|which|them|these),? ({patterns.ONE}|{'|'.join(list(WORDS)[1:])}) (?:(?:is|are|was|were|had|have) )?"
    r"(?=([a-z][^,.;()]{3,60}))"
)
"""A part of those who were counted: "144 subjects, of whom 36 were diagnosed with MCI"."""


@dataclass(frozen=True)
class Reading:
    name: str
    value: Scalar | tuple[Scalar, ...]
    first: int
    start: int
    end: int
    symbol: str = ""
    unit: str = ""
    condition: str = ""
    case: str = ""
    kind: str = ""
    """Which of the ways below found it."""


def readings_of(read: str) -> Iterator[Reading]:
    """What a sentence may set, by each way in turn; the last takes any number that has a noun beside it."""
    # most sentences have no number
    for find in _READINGS if _NUMBER_IN.search(read) else (_words, _formulas, _identifiers):
        yield from (replace(one, kind=find.__name__.strip("_")) for one in find(read))


def _versions(read: str) -> Iterator[Reading]:
    for match in patterns.VERSION.finditer(read):
        group = match.lastindex or 2
        yield _read(f"{match.group(1)} version", match.group(group), match, group)


def _listed_counts(read: str) -> Iterator[Reading]:
    for match in patterns.LISTED_COUNTS.finditer(read):
        value = parse_value(match.group(1))
        is_size = match.group(2).endswith(("parameters", "params"))
        if value is not None and not is_size and not patterns.RESULT_BEFORE.search(words_before(read, match.start())):
            yield _read(f"number of {match.group(2)}", value, match, 1)


def _repeated(read: str) -> Iterator[Reading]:
    """Runs of something: repeated 50 times; the number of phases was 40; with 50% probability."""
    for match in patterns.REPEATED.finditer(read):
        value = parse_value(match.group(2))
        if value is not None and not isinstance(value, tuple):
            yield _read(
                "number of runs" if match.group(1).startswith(("run", "ran", "exec")) else "number of repetitions",
                value,
                match,
                2,
            )
    for match in _OF_WHOM.finditer(read):
        counted = patterns.COUNTED.findall(read, 0, match.start())
        value = parse_value(match.group(1))
        if counted and value is not None and not isinstance(value, tuple):
            named = _read(f"number of {counted[-1][1]}", value, match, 1)
            yield replace(named, condition=f"those {match.group(2).strip()}")
    for match in patterns.COPULA.finditer(read):
        value = parse_value(match.group(2))
        if value is not None:
            yield _read(match.group(1).strip(), value, match, 2)
    for match in patterns.PERCENT.finditer(read):
        if not patterns.RESULT_BEFORE.search(words_before(read, match.start())):
            yield _read(match.group(2), f"{match.group(1)}%", match, 1)


def _assigned(read: str) -> Iterator[Reading]:
    """Constants of a listing: unsigned int a=31415,b=27183."""
    for match in patterns.ASSIGNED.finditer(read) if patterns.CONSTANT.search(read) else ():
        shown = match.group(2)
        number = None if shown.startswith("0x") else number_of(shown)
        yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _paired(read: str) -> Iterator[Reading]:
    for match, pairs in find_pairs(read):
        for one in pairs:
            value = parse_value(one.shown)
            if value is not None:
                yield Reading(one.name, value, match.start(), one.start, one.end, one.symbol)


def _labelled(read: str) -> Iterator[Reading]:
    """An item of a list that is a name and a value: "Hidden dimension: 128"."""
    if match := patterns.LABEL.match(read):
        value = parse_value(match.group(3))
        name = match.group(1).strip()
        if value is not None and len(name.split()) <= 9 and not patterns.SAYS.search(name):
            yield _read(name, value, match, 3, symbol=plain_symbol(match.group(2) or ""), unit=match.group(4) or "")


def _identifiers(read: str) -> Iterator[Reading]:
    for match in patterns.IDENTIFIER.finditer(read):
        shown = match.group(2).rstrip(".,")
        number = number_of(shown)
        if number is not None or shown.lower() in patterns.WORDS_AS_VALUES:
            yield _read(match.group(1), shown if number is None else number, match, 2, symbol=match.group(1))


def _defaulted(read: str) -> Iterator[Reading]:
    """A usual value in a bracket behind its name: the patience (default 10)."""
    for match in patterns.DEFAULTED.finditer(read):
        sign, before = match.group(1), read[: match.end(1)]
        name = name_before(before) or (name_before(read[: match.start(1)]) and sign)
        if name and not re.fullmatch("(?:19|20)[0-9]{2}", match.group(2)):
            is_sign = len(sign) < 3
            named = name_of_symbol(read[: match.start(1)]) if is_sign else name
            yield _read(
                named or sign, parse_value(match.group(2)) or "", match, 2, plain_symbol(sign) if is_sign else ""
            )


def _no_values(read: str) -> Iterator[Reading]:
    """What looks like a value and is none: its place is taken, and it has no name."""
    for pattern in patterns.NO_VALUES:
        for match in pattern.finditer(read):
            yield _read("", "", match, 0)


def _ranges(read: str) -> Iterator[Reading]:
    """From 1 to 32 entries; in the range 0.1 to 0.5. One without a name is none, and neither are its ends."""
    for match in patterns.RANGE.finditer(read):
        before = words_before(read, match.start())
        name = match["what"] or name_of_part(patterns.RANGE_WORDS.sub(" ", before)) or match.group(4) or ""
        name = "" if re.fullmatch(patterns.MEASURES, name) else name
        if name and re.search(rf"\bnumber of {re.escape(name)} $", patterns.RANGE_WORDS.sub(" ", before)):
            name = f"number of {name}"
        shown = f"{WORDS.get(match.group(2), match.group(2))} to {match.group(3)}"
        is_stated = bool(name) and not patterns.RESULT_BEFORE.search(before)
        yield Reading(name if is_stated else "", shown, match.start(), match.start(2), match.end(3))


def _intervals(read: str) -> Iterator[Reading]:
    """Evaluated every 10 batches; a learning rate of 0.1, halved, or decayed by 0.5, every 20 epochs."""
    for match in patterns.EVERY.finditer(read):
        value, before = parse_value(match.group(1)), words_before(read, match.start())
        if value is not None:
            deed = patterns.INTERVAL_DEED.findall(read[: match.start()])
            name = f"{_as_noun(deed[-1])} interval" if deed else f"{name_before(before)} interval".strip()
            yield _read(name, value, match, 1, unit=match.group(2).split()[-1])
    for match in patterns.DECAYED.finditer(read):
        heads = patterns.DECAYING.findall(read[: match.start()])
        value = parse_value(match.group(1))
        if value is not None and heads:
            yield _read(f"{heads[-1].lower()} decay factor", value, match, 1)


def _as_noun(deed: str) -> str:
    """Evaluations, evaluated and evaluating are evaluation; other deeds keep their stem."""
    stem = deed.lower()
    return next((noun for start, noun in patterns.DEED_NOUNS.items() if stem.startswith(start)), stem)


def _signs(read: str) -> Iterator[Reading]:
    for match in patterns.SIGN.finditer(read):
        before = words_before(read, match.start())
        plain = plain_symbol(match.group(1))
        value = parse_value(match.group(2))
        if value is None or not plain or _is_index(plain, before, read, match.end(), value):
            continue
        if "(" in match.group()[: match.start(2) - match.start()].removesuffix("("):
            continue  # what a function gives at one place: state = f(1) = 0
        if patterns.RESULT_NAME.search(plain) or (match.group().rpartition("from")[1] and len(match.group(1)) > 2):
            continue
        noun = patterns.COUNTED_AFTER.match(read, match.end())
        named = f"number of {noun.group(1)}" if noun else name_of_symbol(before)
        if not patterns.RESULT_NAME.search(named):
            yield _read(named or plain, value, match, 2, symbol=plain)
            for sign in patterns.CHAINED.findall(match.group()[match.end(1) - match.start() :]):
                yield _read(plain_symbol(sign), value, match, 2, symbol=plain_symbol(sign))


def _is_index(plain: str, before: str, read: str, end: int, value: object) -> bool:
    if patterns.LOOSE.search(before) and not re.search(r"\b(?:set|use)\b", before):
        return True
    if re.match(r" ?(?:,? ?(?:\.\.\.|…|· · ·)| ?[-+<≤∑∏]|,? (?:if|when|otherwise)\b)", read[end:]) or re.search(
        r"(?:∑|\bsum\b|\bprod\b|_)$", before.rstrip()
    ):
        return True
    if (
        plain.rpartition("_")[2] in patterns.INDEXES - {"x", "y"}
        and "_" in plain
        and (value in (0, 1, 2, 3) or not patterns.SETS.search(before))
    ):
        return True
    if value in (0, 1) and not patterns.SETS.search(read):
        return True  # a case that is talked about
    return (
        plain in patterns.INDEXES and not isinstance(value, tuple) and value in (0, 1, 2, 3) and not name_before(before)
    )


def _named(read: str) -> Iterator[Reading]:
    """A learning rate of 0.1; depth 3; widths are 50 or 100; a cap of 500."""
    for match in (*patterns.NAMED.finditer(read), *patterns.SPACED.finditer(read), *patterns.CALLED.finditer(read)):
        name = name_before(words_before(read, match.end(1)))
        if not name and match.group(1).lower() not in patterns.STOPS:
            name = match.group(1)
        if patterns.BATCH.search(name) and patterns.COUNTED_AFTER.match(read, match.end(2)):
            name = f"{patterns.BATCH.sub('batch', name)} size"
        if name.lower() in patterns.VAGUE:
            name = f"{name_before(patterns.OF_WHAT.sub(' ', words_before(read, match.start(1))))} {name}".strip()
        value = parse_value(match.group(2))
        if (
            value is None
            or name.lower() in patterns.VAGUE
            or not name
            or (patterns.EXTREME.search(name) and patterns.COUNTED_AFTER.match(read, match.end(2)))
            or patterns.RESULT_BEFORE.search(words_before(read, match.start(2)))
            or patterns.RESULT_NAME.search(name)
            or (patterns.STEPS.search(name) and patterns.TIME_AFTER.match(read, match.end(2)))
            or (value in (0, 1) and patterns.CASE_AFTER.match(read, match.end() + 1))
            or _is_bracket(read, match)
        ):
            continue
        before = words_before(read, match.start(1))
        if not re.search(r"\b(?:by|within) an? (?:[a-z]+ )?$", before) and _is_possible(name, match.group(2), value):
            yield _read(name, value, match, 2)
    for match in patterns.SUBJECT.finditer(read):
        value, name = parse_value(match.group(2)), name_before(match.group(1))
        is_case = value in (0, 1) and patterns.CASE_AFTER.search(read, match.end())
        is_told = not is_case and name.lower() not in patterns.VAGUE and not patterns.RESULT_NAME.search(name)
        if value is not None and name and is_told and _is_possible(name, match.group(2), value):
            yield _read(name, value, match, 2)


def _is_bracket(read: str, match: re.Match[str]) -> bool:
    """Whether a number in a bracket is not what stands before it: the argument of a function, or a count of something else."""
    opens = read[: match.start(2)].rstrip()
    return opens.endswith("(") and (opens[-2:-1] != " " or bool(patterns.COUNTED_AFTER.match(read, match.end(2))))


def _set_to(read: str) -> Iterator[Reading]:
    """Biases are initialized to zero; the urgency is set to 1; we fix the seed at 7; t starts as 5."""
    goes_on = patterns.AND_SET.finditer(read) if patterns.WE_SETS.search(read) else ()
    is_set = patterns.SET.finditer(read) if patterns.SET_TO.search(read) else ()
    for match in (*is_set, *patterns.WE_SET.finditer(read), *goes_on):
        end = match.end(2)
        while other := _OTHER_VALUE.match(read, end):
            end = other.end(1)
        value = parse_value(read[match.start(2) : end])
        said = _VERBS.sub(" ", match.group(1))
        name, symbol = name_of_part(said), ""
        if (sign := patterns.LONE_SIGN.search(said)) and name in ("", sign.group(1)):
            symbol = plain_symbol(sign.group(1))
            name = symbol
        is_case = value in (0, 1) and not match.group().startswith(("we ", "We "))
        is_case = is_case and bool(patterns.CASE_LED.match(read) or patterns.CASE_AFTER.search(read, match.end()))
        is_of_another = re.search(r"[a-z][A-Z]\w+$", name) and patterns.COUNTED_AFTER.match(read, match.end())
        if value is not None and name and not (is_case or is_of_another) and not patterns.RESULT_NAME.search(name):
            yield replace(_read(name, value, match, 2, symbol=symbol), end=end)


def _counted(read: str) -> Iterator[Reading]:
    for match in (
        *patterns.DEVICES.finditer(read),
        *patterns.COUNTED.finditer(read),
        *patterns.ONE_COUNTED.finditer(read),
        *patterns.COUNTED_ANY.finditer(read),
    ):
        if counted := name_count(read, match):
            yield _read(counted.name, counted.value, match, 1, unit=counted.unit)


def _shares(read: str) -> Iterator[Reading]:
    """20% of the training data; 80% reads; an 80/20 split."""
    for match in (*patterns.SHARE.finditer(read), *patterns.WORKLOAD.finditer(read)):
        before = words_before(read, match.start())
        if not patterns.RESULT_BEFORE.search(before):
            yield _read(f"share of {match.group(2)}", match.group(1), match, 1)
    for match in patterns.SPLIT.finditer(read):
        yield _read(f"{name_before(match.group(2)) or 'data split'}", match.group(1), match, 1)


def _shapes(read: str) -> Iterator[Reading]:
    for match in patterns.SHAPE.finditer(read):
        noun = " ".join(
            takewhile(lambda word: word not in patterns.STOPS and not word.endswith("ed"), match.group(2).split())
        )
        before = name_before(patterns.LEADS_TO_VALUE.sub(" ", words_before(read, match.start())))
        if noun or before:
            yield _read(f"{noun or before} size", match.group(1), match, 1)


def _dimensions(read: str) -> Iterator[Reading]:
    """A 64-dimensional latent space."""
    for match in patterns.DIMENSIONAL.finditer(read):
        value, name = parse_value(match.group(1)), name_before(match.group(2))
        is_chosen = value not in (1, 2, 3) or patterns.OF_MODEL.search(match.group(2))
        if value is not None and is_chosen and name:
            yield _read(f"{name} dimension", value, match, 1)


def _words(read: str) -> Iterator[Reading]:
    for name, match, group, _ in find_words(read):
        yield _read(name, match.group(group), match, group)


def _formulas(read: str) -> Iterator[Reading]:
    for name, match, group, symbol in find_formulas(read):
        yield _read(
            name_before(name) or symbol, " ".join(match.group(group).split()), match, group, plain_symbol(symbol)
        )


def _searched(read: str, *, tuned: bool = True) -> Iterator[Reading]:
    """A set that something is chosen from: tune the rate in {1, 0.1}; with `tuned` false, any set with a noun before it."""
    for match in patterns.ANY_SET.finditer(read):
        value = parse_value(match.group(1))
        before = words_before(read, match.start())
        name = name_before(patterns.LEADS_TO_VALUE.sub(" ", before))
        if isinstance(value, tuple) and name and (not tuned or patterns.TUNED.search(before)):
            yield _read(name, value, match, 1)


def _loose(read: str) -> Iterator[Reading]:
    """Any other set with a noun before it, and any other number with a noun after or before it."""
    yield from _searched(read, tuned=False)
    for match in patterns.ANY_NUMBER.finditer(read):
        value = parse_value(match.group(1))
        if value is None or re.fullmatch("(?:19|20)[0-9]{2}", match.group(1)):
            continue  # a year, mostly
        following = patterns.WORDS_AFTER.match(read, match.end())
        words = list(
            takewhile(
                lambda word: word.lower() not in patterns.STOPS,
                following.group(1).split() if following else (),
            )
        )
        last = next((at for at, word in enumerate(words, 1) if patterns.COUNTABLE.fullmatch(word)), 0)
        if last and (re.fullmatch(patterns.MEASURES, words[last - 1].lower()) or _MACHINE_TYPE.match(" ".join(words))):
            continue  # of a machine or a run, as a rule
        before = words_before(read, match.start())
        named = "" if patterns.APART.search(before) else name_before(patterns.LEADS_TO_VALUE.sub(" ", before))
        counted = "share" if "%" in match.group(1) else "number"
        name = f"{counted} of {' '.join(words[:last])}" if last else named
        if name:
            yield _read(name, value, match, 1)


_READINGS = (
    _versions, _words, _formulas, _no_values, _defaulted, _assigned, _paired, _labelled, _identifiers, _ranges, _intervals,
    _listed_counts, _signs, _shapes, _dimensions, _repeated, _named, _set_to, _counted, _shares, _searched, _loose,
)  # fmt: skip
"""In the order of trust: of two that read one number the first counts."""


def _read(
    name: str,
    value: Scalar | tuple[Scalar, ...],
    match: re.Match[str],
    group: int | str,
    symbol: str = "",
    unit: str = "",
) -> Reading:
    return Reading(" ".join(name.split()), value, match.start(), match.start(group), match.end(group), symbol, unit)


def _is_possible(name: str, stated: str, value: Scalar | tuple[Scalar, ...]) -> bool:
    """A text layer that loses a raised sign makes a share of more than the whole, and a fraction's bar a factor of 1."""
    # decision 135: a wrong constant costs more than a missing one
    numbers = [one for one in (value if isinstance(value, tuple) else (value,)) if not isinstance(one, str)]
    if (
        patterns.SHARES.search(symbol_of(name))
        and "%" not in stated
        and any(not 0 <= number <= 1 for number in numbers)
    ):
        return False
    return not (name.endswith("factor") and numbers == [1])
