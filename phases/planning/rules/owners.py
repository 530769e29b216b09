"""Whose a value is, and when it holds: by its sentence, by the names in it, and by its section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from phases.planning.rules.conditions import condition_of
from phases.planning.rules.passages import Sentence
from phases.planning.rules.sections import BUILD
from phases.planning.rules.values import Value

METHOD = "method"
"""The owner of what belongs to the paper's own method, or to everything that is run."""
_DATA_UNIT = re.compile(
    r"\b(?:examples?|samples?|sentences?|sentence pairs|pairs|images?|questions?|queries"
    r"|documents?|classes|categories|instances?|characters?|users?|items?|tasks?|articles?|utterances?|labels?"
    r"|splits?|vocabular(?:y|ies))\b",
    re.IGNORECASE,
)
_NAMED = r"(?:[A-Z][\w+*.()-]*(?: (?:[A-Z0-9(][\w+*.()-]*|and(?= [A-Z])))*)"
_DATA_NAME = re.compile(
    r"\b((?:[A-Z][\w+-]*+ ){0,2}[A-Z][\w+-]*+)(?: \(([A-Z][\w-]*)\))? (?:data ?set|corpus|corpora|portion|benchmark"
    r"|trace|collection)s?\b"
)
_FOR = re.compile(
    rf"^(?:For|In the case of|When (?:using|training)) (?:the |our |all )?({_NAMED}|base models?|big models?"
    r"|small models?|large models?)(?: (?:experiments?|models?|data ?set|training|task))?(?:,| we\b| the\b)"
)
_IN = re.compile(rf"^(?:In|For|On) (?:the )?({_NAMED}) \[[^\]]+\],")
"""Something of others, as the citation behind it says, in which all of the sentence holds."""
_OURS = re.compile(r"\b[Oo]urs?\b(?! (?:experiments?|work|setup|study|evaluation|baselines?|implementation)\b)")
_HELD = re.compile(rf"({_NAMED}) \($")
_QUOTED = re.compile(r"[“\"‘]([A-Za-z][\w +-]{1,30})[”\"’] ?\([^()]*$")
"""What is named in quotes, before a bracket."""
_GOES_ON = r",? (?:performing|using|with|which|that|trained|running|run|having|whose|at|has|had|uses|used) [^.;]{0,60}$"
_GOES_BACK = re.compile(
    r"^(?:It|This|These|They|Each|Every|The|Among|Of (?:these|the|them)|In total|Sentences|There|All|Both|We (?:use|split"
    r"|train|hold|sample))\b"
)
"""How a sentence begins that goes on about what the one before it names."""
_RUN_IN = re.compile(r"([A-Z][\w+ -]{1,40})[.:]$")
_TRAINED = re.compile(
    r"\b[Ww]e (?:\w+ly |also |then )?(?:pre-?|fine-?)?(?:train|trained|tune|tuned|run|ran|optimi[sz]ed?) the "
    r"((?:[a-z][\w-]* ){1,2}(?:models|agents|networks|baselines|classifiers|model|agent|network|baseline|classifier))\b"
)
_KIND = r"(?:models?|agents?|networks?|baselines?|classifiers?|polic(?:y|ies)|allocators?|variants?|learners?)"
_MODELS = re.compile(
    rf"\b[Tt]he ((?:[a-z][\w-]* ){{1,2}}{_KIND})(?: (?:\w+ly )?(?:is|are|was|were|has|have|had|takes?|took|ran|\w+ed|uses?"
    r"|consists?|contains?|employs?|comprises?)\b|['’ʼ]s )"
)
"""One of several models: "we trained the base models for", "the big models were trained", "the big model's depth"."""
_WHOSE = re.compile(r"([\w -]+?)['’ʼ]s ")
_DOER = re.compile(
    rf"\b[Tt]he ((?:[a-z][\w-]* ){{1,2}}{_KIND})(?: with [a-z]+)? (?:[a-z]+ed|has|had|uses?)(?: (?:respectively|only|about))? $"
)
"""What does something with so many, even with data: "the memoryless model sampled 7 items"."""
_VARIANT = re.compile(
    r"^(?:The |Our )?([A-Z][\w-]* \((?:big|base|small|large|tiny|medium|mini)\)) models?\b", re.IGNORECASE
)
"""One of the sizes of a model, with its name."""
_AUTHORS = re.compile(
    r"^(?:In )?([A-Z][\w’'-]+ (?:et al\.?|and [A-Z][\w’'-]+|& [A-Z][\w’'-]+))(?: ?[\[(][^\])]*[\])])?,? \w+"
)
_SAME_MODELS_TEXT = "proposed resulting trained final same whole entire full our above neural deep new two three both"
_SAME_MODELS = frozenset(_SAME_MODELS_TEXT.split())
_ALGORITHM = re.compile(
    r"^(?:[\w-]+ ){0,3}(?:forests?|machines?|neighbou?rs?|regression|k-means|trees?|classifiers?|baselines?"
    r"|process(?:es)?)(?= results?$|$)",
    re.IGNORECASE,
)
"""A heading under which another algorithm is set up."""
_ORIGINAL = re.compile(
    r"(?<!line with )(?<!as )(?<!follow )(?<!following )\b(?:(?:[Ii]n|by|of) )?(?:[Tt]heir|[Tt]he original|[Tt]he authors[’'ʼ]?)"
    r" (?:paper|work|implementation|experiments|code|article)\b(?! (?:as|,))"
)
ORIGINAL = "original paper"
"""The owner of what a replication reports of the paper that it replicates."""
_SUBJECT = re.compile(
    rf"^(?:Both |All )?(?:[Tt]he |[Oo]ur |[Aa]n? )?({_NAMED})(?: (?:(data ?set|corpus|benchmark|trace)|model|network|method"
    r"|algorithm|implementation|baseline|agent))?s?(?: \([^)]*\)| \[[0-9, ]+\])* (?:\w+ly )?(?:is|are|has|have"
    r"|uses?|used|employs?|contains?|consists?|comprises?|was|were|provides?|includes?|takes?)\b"
)
_NO_OWNER_TEXT = """
the we our all this these in for on it each both they a an its as at during figure table section appendix algorithm
training optimizer following note here specifically additionally similarly finally first second moreover furthermore
however therefore hence thus then also instead since while although because encoder decoder hidden data models model
baselines test validation
"""
_NO_OWNER = frozenset(_NO_OWNER_TEXT.split())
_ACRONYM = re.compile(r"[A-Z][\w+-]*[A-Z0-9][\w+-]*")
_PROPER = re.compile(r"[A-Z]\w*[A-Z0-9][\w.+-]*(?: [\w.+-]+){0,2}")
"""A name that somebody gave: LLaMA 7B, ViT-B, GPT-2 medium."""


@dataclass(frozen=True)
class Known:
    """Names that can own a value: data sets, and everything that is not the method."""

    own: tuple[str, ...]
    datasets: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """A value with its owner, its condition and its place."""

    value: Value
    owner: str
    condition: str
    sentence: Sentence


def settings_of_sentence(sentence: Sentence, values: Iterable[Value], known: Known) -> Iterator[Setting]:
    """The values of a sentence, each with its owner and its condition."""
    for one in values:
        owner = _owner(sentence, one, known)
        value = _without_owner(one, owner)
        if value.case:
            is_owner = value.name.endswith("parameters") or is_other(value.case, known)
            yield Setting(value, value.case if is_owner else owner, "" if is_owner else f"for {value.case}", sentence)
            continue
        yield Setting(value, owner, condition_of(sentence.text, value, owner), sentence)


def _without_owner(value: Value, owner: str) -> Value:
    """A value whose name begins with whose it is, without that: "model's maximum size" of the continuous model."""
    whose = _WHOSE.match(value.name)
    is_owner = whose and owner.lower().endswith(whose.group(1).lower())
    return replace(value, name=value.name[whose.end() :]) if whose and is_owner else value


def _owner(sentence: Sentence, value: Value, known: Known) -> str:
    """The data set of a count of data, the baseline that a clause is about, else the method."""
    before = sentence.text[: value.start]
    if (doer := _DOER.search(before)) and doer.group(1).split()[0] not in _SAME_MODELS:
        return doer.group(1)
    if _DATA_UNIT.search(value.name) and (owner := _owner_of_data(sentence, value, known)):
        return owner
    if is_other(value.name, known):
        words = value.name.lower().split()
        names = [name for name in (*known.others, *known.datasets) if name.lower() in words]
        return max(names, key=len, default=value.name)
    for find in (_holder, _named_first, _named_by_deed, _named_in_clause):
        if owner := find(sentence.text, before, value, known):
            return owner
    if _ORIGINAL.match(before):
        return ORIGINAL
    if value.condition:
        named = [name for name in known.others if name in value.condition]
        if named:
            return named[0]
    return _owner_of_section(sentence, known) or METHOD


def _holder(text: str, before: str, value: Value, known: Known) -> str:
    """What a bracket is about in which a value stands: LLaMA (7B parameters); “heart” (n = 270)."""
    held = _HELD.search(before)
    if held and (value.name.endswith("parameters") or is_other(held.group(1), known)):
        return held.group(1)
    quoted = _QUOTED.search(before)
    return quoted.group(1) if quoted else ""


def _named_first(text: str, before: str, value: Value, known: Known) -> str:
    """Whom a sentence begins with: "For X, we use", "X has", "Smith et al. use"."""
    if (match := _FOR.match(text)) and match.end() <= value.start + 1:
        name = match.group(1).strip(" ()")
        if name not in known.own and not _is_word(name) and name not in known.datasets and " and " not in name:
            return name
    if (match := _VARIANT.match(text)) and match.end() <= value.start + 1:
        return match.group(1)
    if (match := _IN.match(text)) and not _is_own(match.group(1), known) and not _is_word(match.group(1)):
        return match.group(1)
    if (match := _SUBJECT.match(text)) and match.end() <= value.start + 1:
        name = match.group(1).strip(" ()")
        is_system = text.startswith(name) and _ACRONYM.fullmatch(name) and not _is_own(name, known)
        if (match.group(2) or is_other(name, known) or is_system) and not _is_word(name):
            return name.partition(". ")[0]
    authors = _AUTHORS.match(before)
    return authors.group(1) if authors else ""


def _named_by_deed(text: str, before: str, value: Value, known: Known) -> str:
    """Which of several models a clause is about: "we trained the base models for"."""
    if (match := _TRAINED.search(before)) and match.group(1).split()[0] not in _SAME_MODELS:
        return match.group(1)
    models = [one for one in _MODELS.findall(before) if one.split()[0] not in _SAME_MODELS]
    return str(models[-1]) if models else ""


def _named_in_clause(text: str, before: str, value: Value, known: Known) -> str:
    """A baseline that what follows it is said of: "against Indigo, with a width of 7"."""
    near = [
        (match.start(), name)
        for name in known.others
        if not _is_word(name)
        for match in [_said_of(name, before)]
        if match
    ]
    return max(near)[1] if near else ""


def _said_of(name: str, before: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(name)}(?: \([^)]*\))?{_GOES_ON}", before)


def _owner_of_section(sentence: Sentence, known: Known) -> str:
    """What a heading names, or the words in which a paragraph begins; empty where that is the method."""
    title = sentence.section["title"]
    if _OURS.search(sentence.text) or re.match(
        rf"(?:{'|'.join(map(re.escape, known.own)) or '(?!)'})\b", sentence.text
    ):
        return ""
    if sentence.role != BUILD and (algorithm := _ALGORITHM.search(title)) and not _is_own(title, known):
        return algorithm.group()
    names = [name for name in (*known.others, *known.datasets) if not _is_word(name)]
    first = _RUN_IN.match(sentence.lead)
    heads = (first.group(1) if first else "", title)
    for head in heads:
        same = [name for name in names if name.lower() == head.lower()]
        if same and not _is_own(same[0], known):
            return same[0]
    return ""


def _owner_of_data(sentence: Sentence, value: Value, known: Known) -> str:
    """The data set that a count of data is nearest to, or that the sentence before names; empty where none is named."""
    if value.condition:  # the names before it are another number's
        return next((name for name in known.datasets if name in value.condition), "")
    text = sentence.text
    before = text[: value.start]
    near = [
        (before.rfind(name), name)
        for name in known.datasets
        if name in before and not before[before.rfind(name) + len(name) :].startswith(("'s", "’s", "ʼs"))
    ]
    if near:
        return max(near)[1]
    after = [name for name in known.datasets if name in text[value.end : value.end + 60]]
    if after:
        return after[0]
    named = [match for match in _DATA_NAME.finditer(text) if match.group(1).lower() not in _NO_OWNER]
    if named:
        nearest = min(named, key=lambda match: min(abs(match.start() - value.end), abs(match.end() - value.start)))
        return str(nearest.group(2) or nearest.group(1))
    if not _GOES_BACK.match(text):
        return ""
    earlier = [(sentence.before.rfind(name), name) for name in known.datasets if name in sentence.before]
    return max(earlier)[1] if earlier else ""


def _is_own(name: str, known: Known) -> bool:
    return any(name.lower() in own.lower() or own.lower() in name.lower() for own in known.own)


def _is_word(name: str) -> bool:
    return name.split()[0].lower() in _NO_OWNER or len(name.split()) > 5


def names_other(label: str, known: Known) -> bool:
    """Whether the label of a row or column names something else than the method: by a list, or by a name of its own."""
    return is_other(label, known) or (bool(_PROPER.fullmatch(label)) and not _is_own(label, known))


def is_other(name: str, known: Known) -> bool:
    """Whether a name is a baseline's or a data set's, and neither the method's nor an ordinary word."""
    words = name.split()
    if not words or words[0].lower() in _NO_OWNER or len(words) > 5 or name in known.own:
        return False
    plain = name.lower()
    return any(plain == other.lower() or other.lower() in plain.split() for other in (*known.others, *known.datasets))
