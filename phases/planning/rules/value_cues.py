"""How likely it is that a number in a sentence was set by the authors: cues of the sentence, the number and its name, weighed.

The weights were learnt from gold that was made by hand (benchmarks/planning/learn_values.py, decision 298).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from phases.planning.rules import value_patterns as patterns
from phases.planning.rules.cues import says_what_is_set, why_not
from phases.planning.rules.numbers import NUMBER
from phases.planning.rules.passages import Sentence
from phases.planning.rules.sections import RESULTS, SETUP
from phases.planning.rules.value_weights import WEIGHTS
from phases.planning.rules.values import Value

LIKELY, LIKELY_WHERE_SET, LIKELY_WHERE_STATED, LIKELY_WHERE_VARIED = 0.7, 0.55, 0.5, 0.4
_SMALL, _FEW_WORDS, _SHORT = 5, 4, 60
_FEWEST_LETTERS, _FEWEST_OF_LABEL = 10, 4
"""What has fewer is a scrap between formulas, and no quote to find a place by."""
_STATED_FORMS = ("set_to", "identifiers", "defaulted", "labelled")
"""Ways of writing that say "this is set", whatever else their sentence tells: "the best were found with nu set to 0.01"."""

_LESS_WHERE_JOINED = 0.15
_JOINED = re.compile(r"[^.;:()]{0,30}(?:, (?:and )?| and )[^.;:()]{0,20}")
_COSTS = ("time", "training time")
"""What a run took, where nothing else is said of it."""
_RUN_FORMS = ("counted", "intervals", "listed_counts", "named", "ranges", "repeated", "set_to", "signs")
"""Ways of writing that a sentence has which says how something was run."""


def _cue(name: str, pattern: str, flags: int = re.IGNORECASE) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern, flags)


_IN_SENTENCE = (
    _cue("we or our", r"\b(?:we|our)\b"),
    _cue("training", r"\b(?:(?:fine-?|pre-?)?train\w*|tun(?:e[ds]?|ing)|optimi[sz]\w*)\b"),
    _cue("repetition", r"\b(?:averag\w+|repeat\w*|runs?|seeds?|evaluat\w+)\b"),
    _cue(
        "result",
        r"\b(?:achiev\w+|outperform\w*|improv\w+|(?:in|de)creas\w+|reduc\w+|better|worse|higher|lower|best|observ\w+|show[sn]?"
        r"|report\w*|obtain\w*|reach\w*|drop\w*|result\w*|perform\w*|gain\w*|faster|slower)\b",
    ),
    _cue(
        "case or example",
        r"\b(?:if|when|suppose|assume|let|consider|example|e\.g|for instance|would|could|might)\b",
    ),
    _cue(
        "what is measured",
        r"\b(?:time|seconds?|hours?|minutes?|ms|GPU|memory|accuracy|error|score|rate|cost|percent)\b",
    ),
    _cue("others", r"\b(?:they|their|previous|prior|existing|traditional|original(?:ly)?|other)\b"),
    _cue("points to a figure", r"\b(?:Fig(?:ure|\.)|Tables?|Section|Appendix|Theorem|Lemma|Equation|Eq\.)"),
)
_BEFORE = (
    _cue(
        "a deed and an article",
        r"\b(?:use|used|using|train|sample|run|ran|perform|has|have|contains?|consists? of|for|with) (?:an? |the )?$",
    ),
    _cue("a preposition", r"\b(?:with|using|of|to|at|for|over|on|in) (?:an? |the )?$"),
    _cue("an equals sign", r"[=:∈] ?[{(\[]?$"),
    _cue("a bracket", r"\($"),
    _cue("the, all or each", r"\b(?:the|these|those|all|both|each|first|last|next|other) $"),
    _cue("a limit", r"\b(?:than|by|only|about|around|approximately|nearly|almost|over|under|within|after) $"),
    ("words of a result", patterns.RESULT_BEFORE),
)
_NEAR = (
    _cue(
        "a change",
        r"\b(?:achiev\w+|outperform\w*|improv\w+|better|worse|higher|lower|observ\w+|reach\w*|drop\w*|gain\w*|faster|slower"
        r"|took|takes?|after|won|compared|than|more|less|resulted|(?:in|de)creases?)\b",
    ),
    _cue("a superlative", r"\b(?:best|lowest|highest|largest|smallest|most|least|worst|fastest|optimal)\b"),
)
_DEED_NEAR = re.compile(
    r"\b(?:sets?|setting|use[ds]?|using|train\w*|sampl\w+|fix\w*|initiali[sz]\w*|choose|chose\w*|with|has|have|contain\w*"
    r"|consist\w*|compris\w*|run|ran|averag\w+|select\w*|default\w*|employ\w*|limit\w*|receiv\w+|generat\w+|split\w*"
    r"|updat\w+|repeat\w*|decay\w*|hold|held)\b[^#]{0,45}$",
    re.IGNORECASE,
)
_NAMED = (
    _cue("a head noun", rf"^(?:.* )?(?:{patterns.HEADS})$"),
    _cue("a unit", rf"^(?:.* )?(?:{patterns.UNITS})$", 0),
    _cue(
        "a word of training",
        r"(?:seeds?|runs?|trials?|folds?|repetitions?|epochs?|steps?|iterations?|batch\w*|rate|decay|dropout|momentum|layers?"
        r"|heads?|dimension\w*|units?|hidden|size|temperature)$",
    ),
    ("what is measured", patterns.RESULT_NAME),
    ("what only a text counts", patterns.NOT_COUNTED),
)
_SURE_FORMS = (
    "formulas", "identifiers", "intervals", "labelled", "listed_counts", "set_to", "dimensions", "assigned", "searched",
)  # fmt: skip
"""Ways of writing that hardly anything but a setting has; each alone is too rare to be learnt."""
_DEFAULT = re.compile(r"\b(?:by default|defaults? (?:to|value|is|of))\b", re.IGNORECASE)
_KINDS_OF_ASIDE = {
    "result": "tells a result", "discussion": "an aside", "motivation": "an aside", "points elsewhere": "an aside",
    "related": "of others, or proves", "of authors": "of others, or proves", "proof": "of others, or proves",
    "rejected approach": "of others, or proves",
}  # fmt: skip


_RUN_DEEDS = (
    r"(?:ran|runs?|use[sd]?|execute[sd]?|perform(?:s|ed)?|generate[sd]?|issue[sd]?|sen[dt]s?|simulate[sd]?|assign(?:s|ed)?"
    r"|conduct(?:s|ed)?|recruit(?:s|ed)?|deploy(?:s|ed)?|repeat(?:s|ed)?|collect(?:s|ed)?|configured?|var(?:y|ied)"
    r"|launch(?:es|ed)?|submit(?:s|ted)?|allocate[sd]?|sampled?|create[sd]?|host(?:s|ed)?|keeps?|kept|consist(?:s|ed)?"
    r"|contain(?:s|ed)?|had|equipped|averaged|divided|populated?|insert(?:s|ed)?|loaded?|access(?:es|ed)?|set|built|wrote|drew"
    r"|completed?|compris(?:es?|ed)|covers?|covered|spans?|spread|gathered|given|placed|measured|played|answered|rated|viewed|shown|asked|lasts?|lasted|reads|writes|holds?"
    r"|store[sd]?)\b"
)
_RUN_THINGS = (
    r"(?:benchmarks?|experiments?|simulat(?:ions?|or)|tests?|runs?|trials?|threads?|process(?:es)?|clients?|servers?|nodes?"
    r"|clusters?|(?:test[- ]?)?systems?|test-?beds?|machines?|workloads?|traces?|files?|databases?|networks?|participants?"
    r"|subjects?|users?|students|volunteers|models?|learners?|agents?|stud(?:y|ies)|sessions?|generators?|wrappers?|requests?"
    r"|packets?|messages?|quer(?:y|ies)|jobs?|transactions?|workers?|data ?sets?|corpus|crawl|survey)"
)
_RAN = re.compile(
    r"\bwe (?:\w+ly |then |also |first |only )?(?!(?:assum|believ|propos|present|introduc|describ|discuss|mention|show|prov"
    r"|defin|explain|report|expect|conclud|obtain|not|ne|compar|review|intend|want|lik|argu|learn|summari[sz]|hypothesi[sz]"
    r"|reveal|identifi|demonstrat|focus|highlight|observ|achiev)e?d\b)[a-z]{2,}ed\b"
    rf"|\bwe (?:\w+ly |then |also |first )?{_RUN_DEEDS}"
    r"|\b(?:each|every|all|both|the|our|these|those|an?|[0-9]+|two|three|four|five|ten|twelve|twenty) (?:[\w-]+ ){0,3}?"
    rf"{_RUN_THINGS} (?:is |are |was |were )?(?:\w+ly |then )?{_RUN_DEEDS}|^{_RUN_THINGS} (?:are |were )?{_RUN_DEEDS}"
    r"|\b(?:clusters?|test-?beds?|networks?) (?:of|with) [0-9]|\b(?:averaged?|mean|median) (?:of|over|across) (?:the )?[0-9]"
    r"|^(?:participants|subjects|volunteers) were\b|\bdata (?:was|were) (?:collected|gathered|recorded)\b"
    r"|^(?:In|For) (?:all|both|each|our|these|this|the (?:first|second|third|last|following|next)) (?:[\w-]+ )?"
    r"(?:experiments?|tests?|runs?|simulations?|benchmarks?|stud(?:y|ies)|trials?|evaluations?)\b",
    re.IGNORECASE,
)
"""What says how a measurement was run, and with what; in systems papers it stands beside the results."""
_VARIED = re.compile(r"\b(?:var(?:y|ied|ying)|sweep|swept|rang(?:ed|ing))\b", re.IGNORECASE)
_FOUND_OUT = re.compile(
    r"\b(?:found|observ\w+|notic\w+|see|saw|achiev\w+|reach\w*|attain\w*|took|outperform\w*|result(?:s|ed) in)\b"
)
_SHOWN_FOR = re.compile(
    r"\b(?:for|with|using|over|on|across) (?:[0-9][0-9,]*(?:,? and |, ))*[0-9][0-9,]* (?:[a-z]+ )?"
    r"(?:threads|clients|servers|nodes|users|participants|subjects|runs|trials|simulations|repetitions|seeds|processes|machines"
    r"|requests|messages|keys|records|queries|samples|snapshots)\b"
)
"""What a caption says of the run that it shows."""


_FRAME = re.compile(
    r"^(?:As (?:shown|seen|described|reported|summari[sz]ed|given|listed) in|To \w+|In (?:order to|Table|Figure|Fig\.)"
    r"|Based on|Following)\b[^,;]{3,120}, (?=\w)"
)
"""What a sentence is led by that says why, or where it is shown."""


def likely_values(sentence: Sentence, values: Sequence[Value]) -> list[Value]:
    """Those of a sentence's values that the authors set, more likely than not."""
    letters = sum(map(str.isalnum, sentence.text)) if values else 0
    if letters < _FEWEST_LETTERS:
        values = [one for one in values if one.reading == "labelled" and letters >= _FEWEST_OF_LABEL]
    said = list(cues_of_sentence(sentence)) if values else []
    usual = LIKELY_WHERE_SET if says_what_is_set(sentence.text) else LIKELY
    usual = LIKELY_WHERE_STATED if _DEFAULT.search(sentence.text) else usual
    least = dict.fromkeys(_STATED_FORMS, LIKELY_WHERE_STATED)
    if values and _says_how_it_ran(sentence):
        least |= dict.fromkeys(_RUN_FORMS, min(usual, LIKELY_WHERE_SET))
        least["shares"] = LIKELY_WHERE_STATED
        if _VARIED.search(sentence.text):
            least["ranges"] = LIKELY_WHERE_VARIED
    kept: list[Value] = []
    for one in values:
        needed = usual if one.name in _COSTS else least.get(one.reading, usual)
        if kept and _goes_on(kept[-1], one, sentence.text):
            needed -= _LESS_WHERE_JOINED
        if _likelihood((*said, *cues_of_value(one))) > needed:
            kept.append(one)
    return kept


def _goes_on(first: Value, second: Value, text: str) -> bool:
    """Whether a number is said in one breath with one that is set: "t = 200, and d = 50"."""
    between = text[first.end : second.start]
    is_joined = bool(_JOINED.fullmatch(between)) and first.name not in _COSTS
    return first.reading == second.reading and second.reading in ("counted", "signs", "shares") and is_joined


def _likelihood(cues: Iterable[str]) -> float:
    return 1 / (1 + math.exp(-sum(WEIGHTS.get(cue, 0.0) for cue in cues)))


def cues_of_sentence(sentence: Sentence) -> Iterator[str]:
    """What holds of a sentence, in words; the names in WEIGHTS."""
    yield "any"
    yield f"section: {SETUP if sentence.role == RESULTS and _says_how_it_ran(sentence) else sentence.role}"
    why = why_not(_FRAME.sub("", sentence.text))
    if says_what_is_set(sentence.text):
        yield "sentence: says what is set"
    if why in _KINDS_OF_ASIDE:
        yield f"sentence: {_KINDS_OF_ASIDE[why]}"
    if why == "result" and not says_what_is_set(sentence.text):
        yield "sentence: only tells a result"
    if not sentence.before:
        yield "sentence: first of its paragraph"
    yield from (f"sentence: {name}" for name, pattern in _IN_SENTENCE if pattern.search(sentence.text))


def _says_how_it_ran(sentence: Sentence) -> bool:
    """Whether it says how something was run, and not what came of it."""
    said = (_SHOWN_FOR if sentence.kind == "caption" else _RAN).search(sentence.text)
    return bool(said) and not _FOUND_OUT.search(sentence.text)


def cues_of_value(value: Value) -> Iterator[str]:
    """What holds of a value, its name and what stands beside it; the names in WEIGHTS."""
    yield f"read as {value.reading}"
    if value.reading in _SURE_FORMS:
        yield "read in a form that settings have"
    yield from (f"before it: {name}" for name, pattern in _BEFORE if pattern.search(value.before))
    near = f"{value.before[-_SHORT:]} # {value.after}"
    yield from (f"near it: {name}" for name, pattern in _NEAR if pattern.search(near))
    if _DEED_NEAR.search(value.before):
        yield "near it: a deed"
    yield from _cues_of_end(value.after)
    yield from _cues_of_name(value)
    yield from _cues_of_number(value)
    yield f"numbers near it: {min(len(re.findall(NUMBER, near)), _SMALL)}"


def _cues_of_end(after: str) -> Iterator[str]:
    if re.match(r" ?[±(\[]", after):
        yield "after it: a bracket"
    if re.match(r"[,.;:)]|$", after):
        yield "after it: a clause ends"


def _cues_of_name(value: Value) -> Iterator[str]:
    yield from (f"name: {name}" for name, pattern in _NAMED if pattern.search(value.name))
    yield f"name: {min(len(value.name.split()), _FEW_WORDS)} words"
    if value.symbol:
        yield "name: a symbol"
    if value.name.startswith("number of "):
        yield "name: a count"


def _cues_of_number(value: Value) -> Iterator[str]:
    """Of the first, where there are several."""
    number = value.value[0] if isinstance(value.value, tuple) else value.value
    if isinstance(value.value, tuple):
        yield "value: several"
    if isinstance(number, str):
        yield "value: a share" if "%" in number else "value: a word"
        return
    is_whole = number == int(number)
    if not is_whole and value.name.startswith("number of "):
        yield "value: a count that is not whole"
    sizes = ((0, "0"), (1, "1"), (4, "2 to 4"), (999, "5 to 999"), (math.inf, "1000 or more"))
    yield f"value: {next(name for most, name in sizes if number <= most) if is_whole and number >= 0 else 'a fraction'}"
    if is_whole and number >= _SMALL and int(number) & (int(number) - 1) == 0:
        yield "value: a power of 2"
    if is_whole and number < _SMALL and value.reading in ("counted", "loose"):
        yield "value: a small count"
    if is_whole and number and number % 10 == 0:
        yield "value: round"
