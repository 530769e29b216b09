"""Whether a number before a noun counts something that is used: no result, no year, no part of a machine's name."""

from __future__ import annotations

import re

from phases.planning.rules import value_patterns as patterns
from phases.planning.rules.numbers import WORDS, number_of

_FEW = 13


def is_count(before: str, shown: str, noun: str, read: str, end: int) -> bool:
    """Whether a number before a noun says how many are used: no result, no second number of a pair, no year, no word."""
    last = noun.split()[-1].lower()
    if patterns.NO_NAME.search(noun) or (shown[-1] in "kKMB" and re.search(rf"\b{shown[-1]} (?:is|denotes|=)", read)):
        return False  # 2M where M is a symbol
    if patterns.POINTED.search(before) or (
        patterns.RESULT_BEFORE.search(before) and not (before.endswith("up to ") and patterns.STEPS.search(noun))
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
