"""What a paper calls its own method: by its title, by what it says that it proposes, and by the labels of its tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from phases.planning.rules.component_names import is_component_name, is_known_to_all
from phases.planning.rules.component_readings import PROPOSED
from phases.planning.rules.known_names import KNOWN_DATA, KNOWN_MACHINES, KNOWN_METHODS, KNOWN_METRICS, KNOWN_MODELS
from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BACKGROUND, BUILD
from phases.planning.rules.short_forms import find_short_forms

_MOST, _LEAD, _ABSTRACT, _LONGEST_WORD = 8, 400, 14, 60
_ENOUGH, _SAID = 2, 3
"""Points for a name to count; and of a name that the authors say is theirs."""
_OFTEN, _SOMETIMES, _SHORT_OFTEN = 8, 3, 5
_SAYS_WE = re.compile(r"\b(?:we|our|this (?:paper|work|article))\b", re.IGNORECASE)
_CALLED = re.compile(
    r"\b(?:call(?:ed)?|named?|term(?:ed)?|dub(?:bed)?|refer(?:red)? to (?:it |this \w+ )?as|namely)"
    r" (?:it |this (?:method |approach |model )?|them |the |our |as )?[\"“*_]*"
    r"([A-Z][\w*+-]*(?: [A-Z][\w*+-]*){0,3}|[a-z]+[A-Z][\w*+-]*)"
)
_OURS = re.compile(
    r"([A-Z0-9][\w*+-]*+(?: [\w*+-]++){0,3}) ?[(\[](?:ours?|this (?:work|paper)|proposed)[)\]]", re.IGNORECASE
)
_OUR = re.compile(r"\b[Oo]ur (?:proposed |own |new |novel )?((?:[A-Z][a-z]*[A-Z0-9]|[A-Z]{2})[\w*+-]*)(?= |[.,;:)])")
_REFERRED = re.compile(
    r"\b(?:call|refer to|denote|name|dub|label)\b[^.;]{0,60}\bour [^.;]{0,60}? (?:as|by) "
    r"([A-Z][\w*+-]*[A-Z0-9](?:(?:,? and |, )[A-Z][\w*+-]*[A-Z0-9]){0,4})"
)
"""What the authors call versions of their own: "our queue as WF-10 and WF-0"."""
_PROPOSES = re.compile(
    r"\b(?:we|this (?:paper|work)|our) .{0,40}?\b(?:propos|introduc|present|develop|design|call|term|nam)",
    re.IGNORECASE,
)
_PROPOSES_NEW = re.compile(r"\b(?:we|this (?:paper|work)) (?:\w+ly )?(?:propose|introduce)s? ", re.IGNORECASE)
_APPOSED = re.compile(r", (?:the |called |named )?([A-Z][\w*+-]*(?: [A-Z][\w*+-]*){0,2})(?=[,.]| \()")
_SHORT = re.compile(r"\(([A-Z][A-Za-z0-9*+-]{1,9})\)")
_PROPER = re.compile(r"(?<=[a-z,(] )((?:[A-Z][\w+*-]*[A-Z0-9+*][\w+*-]*|[A-Z][a-z]+ [A-Z][a-z]+))(?=[\s.,;:)])")
_TELLING = re.compile(r"\w*[a-z]\w*[A-Z0-9]\w*|[A-Z0-9][\w*]*-[\w*+]{1,2}|[A-Z]{2,}[\w*+-]*|\w*\d\w*[A-Z]\w*")
"""A word that is a name by its letters: PaperMage, Min-p, DyT, 2Q."""
_LETTERS = re.compile(r"[^\W\d_].*[^\W\d_]|\d[^\W\d_]")
_SMALL = re.compile(r"an?|the|of|for|in|on|with|by|to|and|as|from|is|are|via|using", re.IGNORECASE)
_CITED = r"[\w-]*,? ?(?:\[[0-9, ]+\]|\([A-Z][^()]*[0-9]{4}|[A-Z][a-z]+ et al)"
_OF_DATA = r"[\w-]* (?:data ?sets?|corpus|corpora|benchmarks?|tasks?|test set|scores?)\b"


def own_names(paper: PaperText) -> list[str]:
    """At most eight names, the surest first. A name that stands for data, a measure or others' work is none."""
    texts = [one.text for one in paper.sentences]
    everything = " ".join(texts)
    points = Counter[str]()
    for told, worth in (*_in_title(paper, everything), *_in_tables(paper), *_in_sentences(paper), *_in_abstract(paper)):
        name = re.sub(r"[$\\*_]", "", told).strip(" -")
        is_plain = worth < _SAID and re.fullmatch(r"[A-Z]?[a-z]+", name)
        is_rare = name.islower() and (len(name.split()) < 3 or everything.count(name) < _SOMETIMES)
        is_kind = re.fullmatch("[A-Z]{2,}s", name)  # CRFs and GPUs are many
        if not (is_plain or is_rare or is_kind) and _LETTERS.search(name):
            points[name] = max(points[name], worth)
    sure = {name: worth + _more(name, worth, paper, everything) for name, worth in points.items()}
    kept = [name for name in sure if sure[name] >= _ENOUGH and (points[name] >= _SAID or is_component_name(name))]
    return sorted(kept, key=lambda name: (-sure[name], -sum(name in text for text in texts)))[:_MOST]


def _in_title(paper: PaperText, everything: str) -> Iterator[tuple[str, int]]:
    title = re.sub(r"[$]", "", str(paper.outline.get("title") or ""))
    title = re.sub(r"^\[\w+\] ", "", title)
    head, colon, _ = title.replace("：", ":").partition(":")
    body = everything.replace("$", "")
    folded = body.lower()
    if colon and len(head.split()) <= 4 and folded.count(head.strip().lower()) >= _SOMETIMES:
        yield _as_printed(head.strip(), body), _SAID + 1
    words = [word for word in re.findall(r"[\w*+’'-]+", title) if len(word) <= _LONGEST_WORD]
    for word in words if not title.isupper() else ():
        # capitals alone are mostly a field's (HPC, LLM), but for those that end a title: "Data Compression with SZ"
        is_field = word.isupper() and word.isalpha() and word != words[-1]
        if _TELLING.fullmatch(word) and not is_field and folded.count(word.lower()) >= _OFTEN:
            yield _as_printed(word, body), _SAID + 1
    yield from ((short, _SAID) for short in _initials(words) if len(re.findall(rf"\b{short}\b", body)) >= _SHORT_OFTEN)
    starts = {0, len(re.findall(r"[\w*+’'-]+", head)) if colon else 0}
    for length in (4, 3, 2):
        for at in sorted(starts):
            part = words[at : at + length]
            phrase = " ".join(part)
            if len(part) < length or _SMALL.fullmatch(part[0]) or _SMALL.fullmatch(part[-1]):
                continue
            if folded.count(phrase.lower()) >= _OFTEN:
                yield phrase if not phrase.isupper() else phrase.title(), _SAID
                return


def _initials(words: Sequence[str]) -> Iterator[str]:
    """What the first words of a title may be shortened to: AP of "Averaged Perceptrons with Lazy Updates"; no RNN."""
    capitals = [word for word in words if word[0].isalpha() and not _SMALL.fullmatch(word)]
    shorts = ("".join(word[0].upper() for word in capitals[:count]) for count in range(2, min(len(capitals), 5) + 1))
    yield from (short for short in shorts if not any(known.fullmatch(short) for known in (KNOWN_MODELS, KNOWN_METHODS)))


def _as_printed(name: str, body: str) -> str:
    """A name of the title as the text mostly prints it: TABLEFORMER is TableFormer."""
    forms = Counter(form for form in re.findall(re.escape(name), body, re.IGNORECASE) if not form.islower())
    return forms.most_common(1)[0][0] if forms else name


def _in_tables(paper: PaperText) -> Iterator[tuple[str, int]]:
    for table in paper.tables:
        for match in _OURS.finditer(re.sub(r"[*_$]", "", table.text)):
            yield match.group(1), _SAID + 1


def _in_sentences(paper: PaperText) -> Iterator[tuple[str, int]]:
    for sentence in paper.sentences:
        if " our " in sentence.text and (match := _REFERRED.search(sentence.text)):
            yield from ((name, _SAID) for name in re.findall(r"[A-Z][\w*+-]+", match.group(1)))
    for sentence in [one for one in paper.sentences if one.role in (BACKGROUND, BUILD)][:_LEAD]:
        if proposes := (_PROPOSES if sentence.role == BACKGROUND else _PROPOSES_NEW).search(sentence.text):
            told = sentence.text[proposes.end() : proposes.end() + 160]
            worth = _SAID if sentence.role == BACKGROUND else _ENOUGH
            yield from ((match.group(1), worth) for pattern in (_APPOSED, _SHORT) for match in pattern.finditer(told))
        if sentence.role != BACKGROUND or not _SAYS_WE.search(sentence.text):
            continue
        for match in PROPOSED.finditer(sentence.text):
            yield re.sub(r" \(.*|.* (?:called|termed|named) | and .*", "", match.group(1)), _ENOUGH
        yield from ((match.group(1), _SAID) for pattern in (_CALLED, _OUR) for match in pattern.finditer(sentence.text))
        for one in find_short_forms(sentence.text):
            if one.capitals and re.search(r"\b(?:we|our)\b", sentence.text[: one.place], re.IGNORECASE):
                yield from ((part, _SAID) for part in (one.capitals, one.short))


def _in_abstract(paper: PaperText) -> Iterator[tuple[str, int]]:
    """Names of the abstract that the rest goes on about."""
    abstract = " ".join([one.text for one in paper.sentences if one.role == BACKGROUND][:_ABSTRACT])
    everything = " ".join(one.text for one in paper.sentences)
    for name in dict.fromkeys(_PROPER.findall(abstract)):
        if everything.count(name) >= _OFTEN:
            yield name, 1


def _more(name: str, worth: int, paper: PaperText, everything: str) -> int:
    """What speaks for a name beside where it was found, less what speaks against it."""
    plain = re.escape(name)
    has = [one for one in paper.sentences if name in one.text]
    found = 1 if has and sum(one.role == BUILD for one in has) * 3 >= len(has) else 0
    found += any(
        name.lower() in str(section["title"] or "").lower() and paper.roles.get(section["id"]) == BUILD
        for section in paper.outline["sections"]
    )
    if worth <= _SAID and KNOWN_METHODS.fullmatch(name):
        found -= 4
    if worth <= _SAID and (re.search(plain + _CITED, everything) or is_known_to_all(name)):
        found -= 2
    if len(re.findall(plain + _OF_DATA, everything)) >= _SOMETIMES:
        found -= 2
    known = (KNOWN_DATA, KNOWN_METRICS, KNOWN_MACHINES, *((KNOWN_MODELS,) if worth < _SAID else ()))
    if any(pattern.fullmatch(name) for pattern in known):
        found -= 4
    return found
