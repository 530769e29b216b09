"""What the method is made of: its algorithms, the parts that have a name, and the equations of each.

Many readings offer names (component_readings.py); each name is weighed (component_cues.py), and the likeliest are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from phases.planning.rules.component_cues import Candidate, cues_of, likelihood_of, read_signs
from phases.planning.rules.component_names import clean_name, core_words, name_words
from phases.planning.rules.component_phrases import find_phrases
from phases.planning.rules.component_readings import Offer, read_offers
from phases.planning.rules.component_sentences import find_first, find_telling, is_of_others
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.procedures import Procedure, find_procedures
from phases.planning.rules.sections import BUILD, MIXED, SETUP, Section, is_named_after_content
from phases.planning.rules.short_forms import find_short_forms

MOST, _ENOUGH = 20, 10
_LIKELY, _POSSIBLE = 0.28, 0.18
"""What is less likely is taken where there is little else, and is at least possible. The bounds: decision 311."""
_ALIKE = 0.6
_SHOWN = ("a heading", "a run-in", "a listing", "a table", "an identifier", "code")
"""Readings by which a name is a component though no sentence tells it."""
_MOST_EQUATIONS = 6
STEPS = "steps"
"""What a procedure without a box is called."""
_PROCEDURE = re.compile(r"protocol|algorithm|procedure|process", re.IGNORECASE)
_SAID_OF_DATA = 1
"""How many words a part may have beside the name of a data set."""


@dataclass
class Component:
    """Something to be built, and where the paper says so."""

    name: str
    sentence: Sentence | None
    section: Section
    page: int
    algorithm: str = ""
    steps: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


def find_components(
    paper: PaperText, own: Sequence[str], data: Sequence[str] = (), metrics: Sequence[str] = ()
) -> list[Component]:
    """At most MOST components in the order of the paper; none is called as one of `data`, the data sets, or of `metrics`."""
    sets, measures = [name_words(name) for name in data], [name_words(name) for name in metrics]
    rows = [
        (likelihood_of(cues), one)
        for one, cues in find_candidates(paper, own, {*data, *metrics})
        if one.algorithm or not (_is_called(one.name, [*sets, *measures]) or _tells_of(one.name, sets))
    ]
    # an algorithm is a component whatever its caption says
    kept = [(one, _component(one, paper)) for _, one in rows if one.algorithm][:MOST]
    for likely, one in sorted(rows, key=lambda row: -row[0]):
        if len(kept) == MOST or likely < (_LIKELY if len(kept) >= _ENOUGH else _POSSIBLE):
            break
        if any(one is other or _says_the_same(one, other) for other, _ in kept):
            continue
        made = _component(one, paper)
        if made.sentence or any(
            offer.reading.startswith(_SHOWN) and not is_of_others(offer.section) for offer in one.offers
        ):
            kept.append((one, made))
    made_of = [made for _, made in kept]
    for procedure in find_procedures(paper):
        _give_steps(procedure, made_of, paper)
    found = sorted(made_of, key=lambda one: (one.section["start"], one.page))
    _give_equations(paper, found)
    return found


def find_candidates(paper: PaperText, own: Iterable[str], data: Iterable[str]) -> Iterator[tuple[Candidate, list[str]]]:
    """Every name that is offered, once, an abbreviation with what it stands for; each with its cues."""
    phrases = find_phrases(paper)
    spelled = _abbreviations(paper)
    found: dict[str, Candidate] = {}
    for offer in read_offers(paper, phrases):
        said = " ".join(name_words(offer.name))
        key = spelled.get(said, said)
        one = found.setdefault(key, Candidate(offer.name))
        one.offers.append(offer)
        if key != said and offer.name not in one.shorts:
            one.shorts.append(offer.name)
        elif key == said and one.name in one.shorts:
            one.name = offer.name
    signs = read_signs(paper, phrases, data, own)
    return ((one, cues_of(one, signs)) for one in found.values())


def _abbreviations(paper: PaperText) -> dict[str, str]:
    """The words of an abbreviation -> those that it stands for, where the paper says so: "Lazy Extra Newton (LEN)"."""
    found: dict[str, str] = {}
    for sentence in paper.sentences:
        for one in find_short_forms(sentence.text):
            short = one.short.removesuffix("s")
            letters = "".join(filter(str.isupper, short)).lower()
            last = re.split(r"[ -]", one.before.strip())[-len(letters) :]
            # without a blank it may be a call: Search Key(SK)
            if one.before.endswith(" ") and "".join(word[:1] for word in last).lower() == letters:
                found.setdefault(" ".join(name_words(short)), " ".join(name_words(" ".join(last))))
    return found


def _says_the_same(one: Candidate, known: Candidate) -> bool:
    """Whether a name has no telling word that a known one has not, or says little more than a known one."""
    words, have = core_words(one.name), core_words(known.name)
    same = len(words & have)
    return words <= have or same >= _ALIKE * len(words | have) or (have < words and len(have) > 1)


def _is_called(name: str, known: Iterable[list[str]]) -> bool:
    """Whether a name is one of those that are known, or one of them without its number: ZipfBag of ZipfBag-5k."""
    plain = "".join(name_words(name))
    return any(
        plain == "".join(words[:size]) and all(re.search(r"\d", word) for word in words[size:])
        for words in known
        for size in range(1, len(words) + 1)
    )


def _tells_of(name: str, data: Iterable[list[str]]) -> bool:
    """Whether a name is what a sentence says of a data set: "ZipfBag-5k imitates short texts", and no Mapping of mAP."""
    words = name_words(name)
    return any(
        "".join(words[:size]) == "".join(known)
        for known in data
        for size in range(1, len(words) if len(words) > len(known) + _SAID_OF_DATA else 0)
    )


def _component(one: Candidate, paper: PaperText) -> Component:
    """The component of a name, at the place that says most of it: its algorithm, else its heading, else where it is built."""

    def rank(offer: Offer) -> tuple[bool, bool, bool, bool]:
        role = offer.sentence.role if offer.sentence else BUILD
        is_sure = offer.reading.startswith(("a heading", "a run-in", "proposed", "defined", "called"))
        return bool(offer.algorithm), role in (BUILD, SETUP, MIXED), is_sure, offer.sentence is not None

    best = max(one.offers, key=rank)
    aliases = [short for short in one.shorts if short != one.name][:2]
    sentence = find_telling([one.name, *aliases], best.section, best.algorithm, paper)
    if sentence is None and best.reading.startswith(("a heading", "a run-in")):
        sentence = find_first(best.section, paper)
    return Component(one.name, sentence, best.section, best.page, best.algorithm, list(best.steps), aliases=aliases)


def _give_steps(procedure: Procedure, components: list[Component], paper: PaperText) -> None:
    """The steps to the component that is told in their section and named in the words before them, else to a new one."""
    section, said = procedure.section, set(name_words(f"{procedure.section['title']} {procedure.lead}"))
    free = [
        one
        for one in components
        if not one.steps and (one.sentence.section if one.sentence else one.section)["id"] == section["id"]
    ]
    home = next((one for one in free if core_words(one.name) and core_words(one.name) <= said), None)
    if home is None:
        known = [core_words(one.name) for one in components if one.steps]
        title = clean_name(section["title"]) if is_named_after_content(section["title"]) else ""
        noun = _PROCEDURE.search(procedure.lead)
        first = find_first(section, paper)
        if title and core_words(title) in known:
            return  # its listing says more
        home = Component(
            title or f"{noun.group().lower() if noun else ''} {STEPS}".strip(), first, section, procedure.page
        )
        components.append(home)
    home.algorithm, home.steps = STEPS, list(procedure.steps)


def _give_equations(paper: PaperText, components: list[Component]) -> None:
    """Each equation to the component of its section; the first that stands there, else the nearest before it."""
    for row in paper.outline["equations"]:
        text = " ".join(str(row["text"]).split())
        if not text or len(text) < 5 or not re.search(r"[=≤≥∈\\<>]", text):
            continue
        same = [one for one in components if one.section["id"] == row["section"]]
        if same and len(same[0].equations) < _MOST_EQUATIONS:
            same[0].equations.append(f"{row['label']} {text}".strip()[:400])
