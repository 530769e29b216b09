"""What a number before a noun counts, if that is something that is used: no result, no year, no part of a machine's name."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import NamedTuple

from phases.planning.rules import value_patterns as patterns
from phases.planning.rules.numbers import WORDS, Scalar, number_of, parse_value
from phases.planning.rules.value_names import name_before, words_before

_FEW = 13
_OF = re.compile(r"(?<!\w)([a-z][\w-]*) of (?:about |approximately |size |around )?$")
_PARTED = re.compile(rf"(?:epochs?|parameters?|{patterns.MEASURES}|degrees?|percent|points?|bits?)$", re.IGNORECASE)
_NOT_OF = re.compile(
    r"(?:ed|ing|set|stack|maximum|cluster|pair|array|series|couple|values|median|average|mean|network"
    r"|grid|ring|testbed|group|team|corpus)$"
)


_FOUND = re.compile(r"^(?:[^,;]{0,40}, )?(?:(?:about|approximately|roughly|some|only|all) )?$")
_FOUND_AFTER = re.compile(
    r" (?:were (?!(?:\w+ly )?\w+(?:ed|un|en|pt|ld|de|et|it))|are (?!(?:\w+ly )?(?:sampled|used|run|trained|chosen|selected|drawn"
    r"|generated|repeated|performed|held|kept|reserved|set|averaged|employed|played|split|taken|collected|created|added|given|made"
    r"|needed|required|executed|allocated|assigned|stacked|applied|evaluated|considered|fixed|\w*computed|available)\b))"
)
"""What was counted afterwards: "1035 labels are flipped"; a deed of the authors, "1,500 positions were sampled", is a setting."""
_CUT_NOUN = re.compile(
    r"(?<=[^\W\d_sui]s) (?:[a-z]+ing|[a-z]+ed|per|across|between|under|within|during|over|into|through)\b.*"
)
"""What a counted noun does, and where: of "sections evaluating different temperatures" the sections are counted."""
_SUBJECT_BEFORE = re.compile(r"([A-Za-z][\w-]*) (?:is|are|was|were) (?:an? |exactly |always |all )*$")
"""What is said to be so large: "each cell is 512 bytes"."""
_TYPES = re.compile(
    r"\b(?:words?|integers?|ints?|values?|numbers?|pointers?|float\w*|counters?|version)$", re.IGNORECASE
)
"""What every machine has in so many bits."""
_LAYERED = re.compile(
    r"[- ]((?:[a-z][\w-]* ){0,2}?(?:[A-Z]{2,}[a-z]?|[A-Za-z]*(?:network|former|encoder|decoder|perceptron|model)))s?\b"
)
"""What has so many layers: "five-layer MLP"."""

_NUMBERED = re.compile(
    r"\b(?:frequency|order|degree|rank|type|class|grade|phase|stage|generation|priority) $", re.IGNORECASE
)
"""A noun that the number belongs to, and not the noun behind it: "frequency 10 extractions", "Markov order 1 features"."""
_HOURS_OF = re.compile(
    r" of ((?:[a-z][\w-]* )?(?:speech|audio|video|music|recordings?|footage|data|conversations?|transcripts?))\b"
)
"""Data that is measured by its time: "430 hours of transcribed speech"."""

_PER = re.compile(r" (per (?:second|minute|hour|day))\b")
_DURATION_OF = re.compile(r"\b(?:duration|length) of (?:each|every|all|the|a) ([a-z]+) (?:is|was|are|were) $")
_LASTS = re.compile(r"\b(?:for|lasts?|lasted|duration of|ran|runs?) (?:about |at least |up to )?$")


class Counted(NamedTuple):
    """What a number before a noun says: "10 hidden layers" is a number of hidden layers; "4 kB pages" a page size in kB."""

    name: str
    value: Scalar | tuple[Scalar, ...]
    unit: str = ""


def name_count(read: str, match: re.Match[str]) -> Counted | None:
    """What a number (group 1) before a noun (group 2) counts or measures; None where that is nothing that is set."""
    before, shown, noun = words_before(read, match.start()), match.group(1).strip(), match.group(2).strip()
    value = parse_value(shown)
    if (
        value is None
        or re.match("(?:bit|byte) ", noun)
        or not _is_possible(value, noun)
        or not _is_count(before, shown, noun, read, match.end())
    ):
        return None
    noun = _CUT_NOUN.sub("", noun)
    more = re.match(r" ([a-z]+[^\W\d_sui]s)\b", read[match.end() :])
    if more and value != 1 and not (noun.endswith("s") or patterns.SINGULAR.search(noun)):
        noun = f"{noun} {more.group(1)}"  # question sequences
    last = noun.split()[-1].lower()
    if last.removesuffix("s") in patterns.SIZES and (sized := _name_size(before, noun, read, match.end())) is not None:
        return Counted(sized, value, _plural(noun.split()[-1], value)) if sized else None
    if last == "vocabulary":
        return Counted("vocabulary size", value)
    if re.fullmatch(f"{patterns.TIMES}|(?:milli|micro|nano)seconds?|ms|[µμun]s", last):
        if data := _HOURS_OF.match(read, match.end()):
            return Counted(f"amount of {data.group(1)}", value, noun.split()[-1])
        return Counted(_name_time(before, read), value, noun.split()[-1])
    if per := _PER.match(read, match.end()):
        return Counted(f"{noun} {per.group(1)}", value)
    if patterns.MODEL_SIZES.fullmatch(shown) and re.search(r"(?:params|parameters?|models?)$", last):
        sizes = tuple(re.findall(r"[0-9.]+ ?[MB]", shown))  # a model is known by this: 7B
        return Counted("number of parameters", sizes[0] if len(sizes) == 1 else sizes)
    if interval := re.fullmatch(rf"({patterns.TIMES})[ -]intervals?", noun):
        deeds = patterns.INTERVAL_DEED.findall(before)
        name = next((word for stem, word in patterns.DEED_NOUNS.items() if deeds and deeds[-1].startswith(stem)), "")
        return Counted(f"{name} interval".strip(), value, _plural(interval.group(1), value))
    if last == "layer" and (thing := _LAYERED.match(read, match.end())):
        return Counted(f"number of {thing.group(1)} layers", value)
    noun += "s" if patterns.SINGULAR.search(noun) and value != 1 else ""
    what = _OF.search(before)
    is_of = what and what.group(1) not in patterns.STOPS and not _NOT_OF.search(what.group(1))
    is_of = is_of and what and not patterns.RESULT_NAME.search(what.group(1))
    unit = noun.split()[-1] if re.fullmatch(patterns.MEASURES, last) else ""
    of = f"{what.group(1)} of " if what and is_of else ""
    if of and what and re.search("[^sui]s$", what.group(1)) and not unit:
        return Counted(f"number of {noun} per {_singular(what.group(1))}", value)
    is_named = of or unit or (last in ("level", "degree") and value != 1)
    return Counted(f"{of}{noun}" if is_named else f"number of {noun}", value, unit)


def _is_possible(value: Scalar | tuple[Scalar, ...], noun: str) -> bool:
    """Whether so many can be counted: more than nothing, and whole ones but of what can be parted."""
    numbers = [one for one in (value if isinstance(value, tuple) else (value,)) if not isinstance(one, str)]
    return all(number > 0 for number in numbers) and (
        bool(_PARTED.search(noun)) or all(number == int(number) for number in numbers)
    )


def _plural(unit: str, value: object) -> str:
    return (
        f"{unit}s"
        if unit.lower() in ("bit", "byte", "minute", "second", "hour", "day", "week") and value != 1
        else unit
    )


def _name_time(before: str, read: str) -> str:
    """What takes so long: 3 sessions of 45 minutes, runs that last 10 minutes."""
    if (of := _OF.search(before)) and of.group(1) not in patterns.STOPS and not _NOT_OF.search(of.group(1)):
        return f"{_singular(of.group(1))} duration"
    if whose := _DURATION_OF.search(before):
        return f"{_singular(whose.group(1))} duration"
    return "training time" if re.search(r"\btrain", read) else "duration" if _LASTS.search(before) else "time"


def _singular(noun: str) -> str:
    return re.sub("ies$", "y", noun) if noun.endswith("ies") else re.sub("(?<=ss)es$|(?<=[^s])s$", "", noun)


def _name_size(before: str, noun: str, read: str, end: int) -> str | None:
    """What has a size of so many bytes; "" where that is a machine's or nothing that is set, None where nothing says it."""
    subject = _SUBJECT_BEFORE.search(before)
    thing = patterns.SIZED.match(read, end)
    told = " ".join(takewhile(lambda word: word not in patterns.STOPS, thing.group(1).split())) if thing else ""
    if told in ("", "long", "large", "wide", "deep"):
        thing = None
    of = _OF.search(before)
    if of and not thing and of.group(1) not in patterns.STOPS and not _NOT_OF.search(of.group(1)):
        return f"{_singular(of.group(1))} size".removeprefix("size ")
    if noun.lower() in ("bit", "byte", "bits", "bytes"):
        named, after = name_before(subject.group(1)) if subject else "", patterns.WORDS_AFTER.match(read, end)
        words = after.group(1).split() if after and not noun.endswith("s") else []
        following = list(takewhile(lambda word: word.lower() not in patterns.STOPS, words))
        if any(_TYPES.fullmatch(word) for word in following):
            return ""
        named = named or " ".join(following)
        return f"{_singular(named)} size" if name_before(named) == named != "" else None
    named = name_before(told) if thing else name_before(patterns.OF_WHAT.sub(" ", before))
    if not named and subject:
        named = name_before(subject.group(1))
    if named in patterns.VAGUE:
        named = name_before(before)
    is_deed = re.search(r"\b(?:we|they|to) [a-z]+ $", before) and not thing  # "of which we assign 16 MB"
    is_set = named and not is_deed and not patterns.MACHINE.search(named)
    return f"{_singular(named)} size".removesuffix(" size size") if is_set else ""


def _is_count(before: str, shown: str, noun: str, read: str, end: int) -> bool:
    """Whether a number before a noun says how many are used: no result, no second number of a pair, no year, no word."""
    last = noun.split()[-1].lower()
    if patterns.NO_NAME.search(noun) or (shown[-1] in "kKMB" and re.search(rf"\b{shown[-1]} (?:is|denotes|=)", read)):
        return False  # 2M where M is a symbol
    if (
        patterns.POINTED.search(before)
        or _NUMBERED.search(before)
        or (patterns.RESULT_BEFORE.search(before) and not (before.endswith("up to ") and patterns.STEPS.search(noun)))
    ):
        return False
    if _FOUND_AFTER.match(read, end) and _FOUND.search(
        re.split(r"[;.:] ", read[: len(read[:end]) - len(noun) - len(shown) - 1])[-1]
    ):
        return False
    if (before.endswith(" of ") and " and " in shown) or last in ("times", "percent", "second"):
        return False  # the first number belongs to what stands before it
    if shown.lower() in WORDS and (
        WORDS[shown.lower()] < 2
        or not (patterns.WORD_UNITS.search(last) or (patterns.HAS_PARTS.search(before) and last.endswith("s")))
    ):
        return False
    if re.search(r"(?:^|[.;] )[A-Z]\w+ $", before) and re.match(r" (?:the|an?|that|how|its)\b", read[end:]):
        return False  # a verb: "Epoch 1 follows the order"
    if noun == "steps" and shown.lower() in WORDS:
        return False  # of a procedure
    if (
        (patterns.NOT_COUNTED.search(noun) and (number_of(shown) or 99) < _FEW)
        or "%" in shown
        or (read[end - len(noun) - 1] == "-" and patterns.ADJECTIVE.match(noun))
    ):
        return False
    machine = re.match(r" (architectures?|machines?|computers?|version|processors?|systems?)", read[end:])
    if last == "bit" and machine and (shown, machine.group(1)) != ("8", "version"):
        return False
    if patterns.STEPS.search(last) and patterns.MEASURED.search(before) and not re.search(r"\bwe\b", read):
        return False
    # a year in the name of a data set
    is_year = re.fullmatch(r"(?:19|20)[0-9]{2}", shown)
    is_set_of = before.endswith((" of ", " by ")) and re.fullmatch(patterns.UNITS, noun)  # "a set of 2048 images"
    return not (is_year and (noun[:1].isupper() or (patterns.YEAR_BEFORE.search(before) and not is_set_of)))
