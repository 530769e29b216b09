"""Noun phrases that a paper says again and again, and what stands around them: the names of its parts, most of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from phases.planning.rules.component_names import is_component_name, name_words
from phases.planning.rules.cues import DEED
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, RESULTS, SETUP

_LONGEST, _FEWEST, _MOST = 4, 1, 1500
"""Words of a phrase; how often one is said at least; how many phrases are looked at, the most frequent first."""
_MADE = (BUILD, SETUP, MIXED)
_STOP_TEXT = """
the a an of and or nor in on to for with by is are was were be been being our this that these those each all its their his her we
as at from which where both same other others such new one two three four five first second third following proposed any every
more most less least no not using use uses used useful given only final next existing additional corresponding identical previous
many several also then than if when so per but it they there here has have had can may will would could should might must into
over between under up out own multiple various while since besides without among about upon after before just few overall
similar typical however considered further much like available particular specific certain distinct possible due via within
across during through along against whether either neither how what why who whose i you he she them us itself themselves because
although though thus hence therefore moreover furthermore finally still even already yet often usually typically always never
very too quite rather instead respectively e.g i.e etc et al vs cf figure fig table section appendix equation eq algorithm theorem
lemma see shown does do did done make makes made get gets let lets become becomes well now again only once until unless except
real large small high low simple true false best worst good bad highest lowest larger smaller deeper lower higher simpler better
bigger big greater strong weak enough useful truly highly sufficient sufficiently arbitrary arbitrarily expected known official
distinct balanced original main actual correct unique old detailed complete requested provided resulting appropriate successive
required desired subsequent maximum minimum suitable nearby empty typical usual valid important interesting major minor
different another some particular above below respective entire whole certain called named denoted based related able
"""
_VERBS_TEXT = """
achieve affect allow appear apply argue arise assume attain avoid begin believe belong bring cause choose come compare comprise
compute conclude consider consist constitute contain converge correspond deliver demonstrate denote depend derive describe
determine differ differentiate discuss employ enable encourage ensure enhance equal evaluate exceed exhibit exist expect explain
explore exploit express facilitate fail fall find follow formulate give go grow guarantee happen help highlight hold identify
illustrate imply improve include incorporate indicate induce inspire introduce invoke investigate involve keep know
lack lead learn
leave leverage lie maintain maximize maximise mean minimize minimise motivate need note notice observe obtain occur offer
outperform perform permit plot possess predict prefer present preserve prevent produce propose prove provide reach receive recall
reduce refer rely remain remove repeat replace report represent require resemble resolve retain retrieve return reveal run satisfy
say scale seem select serve simplify solve specify stay store succeed suffer suggest suppose surpass take tell tend treat turn
undergo understand utilize utilise vary verify want work yield
"""
"""Words that are hardly ever nouns in these forms."""


def _forms(verb: str) -> tuple[str, ...]:
    stem = verb.removesuffix("e")
    third = (
        f"{verb[:-1]}ies"
        if re.search(r"[^aeo]y$", verb)
        else f"{verb}es"
        if re.search(r"(?:[sxz]|ch|sh)$", verb)
        else f"{verb}s"
    )
    return verb, third, f"{stem}ing"


_STOP = frozenset(
    [
        *_STOP_TEXT.split(),
        *(form for verb in _VERBS_TEXT.split() for form in _forms(verb)),
        "according",
        "shown",
        "given",
    ]
) - frozenset(
    [
        "learning",
        "work",
        "works",
        "working",
        "run",
        "runs",
        "scale",
        "scaling",
        "planning",
        "processing",
        "understanding",
        "return",
        "returns",
    ]
)
_TAIL = re.compile(r"\w+(?:ed|ly)|found|built|held|made|taken|chosen|drawn|kept")
"""What no name ends with: "points sampled", "models trained"."""
_WORD = re.compile(r"[A-Za-z][\w'’+*-]*(?:/[A-Za-z][\w-]*)?")
_FORMULA = re.compile(r"\$[^$]*\$")
_DETERMINER = frozenset(["the", "a", "an", "our", "this", "each", "its", "every", "these", "their", "both", "all"])
VERB = re.compile(rf"(?:{DEED})", re.IGNORECASE)
_DEED_BEFORE = re.compile(
    rf"\b(?:we|to|and|by|then|also|is|are|which|that) (?:\w+ly |then |also |first )?(?:{DEED}|add|maintain|contain|keep)s?"
    r" (?:an?|the|our|its)? ?(?:\w+ly )?$",
    re.IGNORECASE,
)
_CITED_AFTER = re.compile(r"[)\s]*(?:\[[0-9, ]+\]|\([^()]*(?:19|20)[0-9]{2}|[A-Z][a-z]+ et al)")
_DEFINED_AFTER = re.compile(
    r" ?(?:\([^()]*\) |\$[^$]*\$ )?(?:is|are|was) (?:\w+ly |then |thus )?(?:defined|given|computed|calculated|formulated|obtained"
    r"|updated|built|constructed|trained|initiali[sz]ed|implemented|an?\b|the\b)|,? (?:which|where) |[:=]"
)


_INSTRUMENT_BEFORE = re.compile(r"\b(?:using|with|by|via|through|from|into) (?:an?|the|our|its)? ?$", re.IGNORECASE)
_VERB_BEFORE = re.compile(
    r"(?:^To|\b(?:[Ww]e|I|can|will|must|should|cannot|to \w+ly|in order to))(?: (?:\w+ly|then|also|not|first|only))? $"
)
"""Before a verb, whatever its letters: "To quickly reject memory regions"."""
_OUR_BEFORE = re.compile(r"\b[Oo]ur (?:\w+ )?$")
_AGENT_AFTER = re.compile(
    r" (?:\([^()]*\) |\$[^$]*\$ )?(?:(?:then|also|only|first|simply|\w+ly) )?(?:takes?|maps?|returns?|computes?"
    r"|consists?|contains?|predicts?"
    r"|outputs?|produces?|receives?|stores?|holds?|keeps?|selects?|updates?|generates?|provides?|uses?|applies|performs?|has|have"
    r"|finds?|calculates?|estimates?|learns?|converts?|extracts?|reads?|writes?|sends?|checks?|runs?|starts?"
    r"|allows?|ensures?|works)\b"
)


@dataclass
class Phrase:
    """A phrase in its most frequent spelling, how often it is said where, and what stands around it."""

    key: str
    name: str
    sentence: Sentence
    counts: Counter[str] = field(default_factory=Counter)
    """Role of a section -> how often; and signs: "determiner", "deed", "cited", "defined", "formula", "small", "capital"."""
    sections: set[str] = field(default_factory=set)
    spellings: Counter[str] = field(default_factory=Counter)

    @property
    def said(self) -> int:
        return sum(self.counts[role] for role in _MADE)


def find_phrases(paper: PaperText) -> dict[str, Phrase]:
    """Words of a name (name_words) -> what is said of it."""
    found: dict[str, Phrase] = {}
    for sentence in paper.sentences:
        if sentence.role not in (BUILD, SETUP, MIXED, RESULTS, BACKGROUND):
            continue
        for words, start, end in _chunks(sentence.text):
            _count(found, sentence, words, start, end)
    often = sorted((key for key, one in found.items() if one.said >= _FEWEST), key=lambda key: (-found[key].said, key))[
        :_MOST
    ]
    for key in often:
        found[key].name = _best_spelling(found[key].spellings)
    return {key: found[key] for key in often if is_component_name(found[key].name) and not _is_act(found[key])}


def _is_act(one: Phrase) -> bool:
    """Whether the words are mostly a verb and what it is done to."""
    return 2 * one.counts["act"] > one.counts["alone"]


def _chunks(text: str) -> Iterator[tuple[list[str], int, int]]:
    """Words that stand together between words that say nothing, with where they begin and end."""
    plain = _FORMULA.sub(lambda match: "$" * len(match.group()), text)
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(plain):
        stops = match.group().lower() in _STOP or len(match.group()) < 2
        # "the points sampled from": what is done to a thing is no part of its name
        stops = stops or (bool(run) and bool(_TAIL.fullmatch(match.group().lower())))
        if run and (stops or plain[run[-1].end() : match.start()] != " "):
            yield [one.group() for one in run], run[0].start(), run[-1].end()
            run = []
        if not stops:
            run.append(match)
    if run:
        yield [one.group() for one in run], run[0].start(), run[-1].end()


def _count(found: dict[str, Phrase], sentence: Sentence, words: list[str], start: int, end: int) -> None:
    """A chunk, and each end of it: "root hash table", "hash table", "table"."""
    text = sentence.text
    before = text[:start]
    is_led = (before.split() or [""])[-1].lower() in _DETERMINER
    for first in range(max(0, len(words) - _LONGEST), len(words)):
        part = words[first:]
        if len(part) > 1 and VERB.fullmatch(part[0]) and not (is_led and first == 0):
            continue
        name = " ".join(part)
        key = " ".join(name_words(name))
        if len(name) < 3:
            continue
        one = found.get(key) or found.setdefault(key, Phrase(key, name, sentence))
        if one.sentence.role not in _MADE and sentence.role in _MADE:
            one.sentence = sentence
        at_front = start == 0 and first == 0
        one.counts[sentence.role] += 1
        one.counts["determiner"] += is_led and first == 0
        one.counts["deed"] += first == 0 and bool(_DEED_BEFORE.search(before[-60:]))
        one.counts["alone"] += first == 0
        one.counts["act"] += first == 0 and bool(_VERB_BEFORE.search(before[-40:]))
        one.counts["cited"] += bool(_CITED_AFTER.match(text[end : end + 60]))
        one.counts["defined"] += bool(_DEFINED_AFTER.match(text[end : end + 60]))
        one.counts["subject"] += first == 0 and (start == 0 or bool(re.fullmatch(r"(?:The|Our|An?|Each) ", before)))
        one.counts["instrument"] += first == 0 and bool(_INSTRUMENT_BEFORE.search(before[-40:]))
        one.counts["our"] += first == 0 and bool(_OUR_BEFORE.search(before[-40:]))
        one.counts["agent"] += bool(_AGENT_AFTER.match(text[end : end + 60]))
        one.counts["formula"] += bool(sentence.formula)
        one.counts["capital"] += not at_front and all(word[0].isupper() for word in part)
        one.sections.add(sentence.section["id"])
        one.spellings[_without_sentence_case(name, at_front=at_front)] += 1


def _without_sentence_case(name: str, *, at_front: bool) -> str:
    return name[0].lower() + name[1:] if at_front and name[1:].islower() else name


def _best_spelling(spellings: Counter[str]) -> str:
    """The most frequent spelling, in the singular where the paper has it."""
    best = max(spellings, key=lambda name: (spellings[name], name))
    single = next((name for name in spellings if name + "s" == best), "")
    return single or best
