"""What the method is made of: its algorithms, the parts that have a name, and the equations of each.

Many readings offer names (component_readings.py); each name is weighed (component_cues.py), and the likeliest are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from phases.planning.rules.blocks import TABLE
from phases.planning.rules.component_cues import Candidate, cues_of, likelihood_of, read_signs
from phases.planning.rules.component_names import clean_name, core_words, name_of_heading, name_words, stems_of
from phases.planning.rules.component_phrases import find_phrases
from phases.planning.rules.component_readings import STEPS, Offer, read_offers
from phases.planning.rules.component_sentences import find_first, find_telling, is_of_others
from phases.planning.rules.cues import says_what_is_done, why_not
from phases.planning.rules.data_sentences import find_data_sentences, is_section_of_measures
from phases.planning.rules.naming import telling_words
from phases.planning.rules.passages import PaperText, Sentence, find_terms
from phases.planning.rules.procedures import Procedure, find_listings, find_procedures
from phases.planning.rules.sections import BUILD, MIXED, SETUP, Section, is_named_after_content
from phases.planning.rules.short_forms import find_short_forms
from phases.readers.outline import cut_formula

MOST, _ENOUGH, MOST_PARTS = 22, 10, 60
_LIKELY, _POSSIBLE = 0.28, 0.18
"""What is less likely is taken where there is little else, and is at least possible. The bounds: decision 311."""
_ALIKE = 0.6
_SHOWN = ("a heading", "a run-in", "a listing", "a table", "an identifier", "code")
"""Readings by which a name is a component though no sentence tells it."""
_WEAK = frozenset(("a phrase", "abbreviated", "counted"))
"""Readings that offer every noun of a sentence: what these alone find is no part of what is measured or of the data."""
_OF_DATA = re.compile(r"\bdata (?:collection|generation|preparation|sources?|splits?)\b|\bdata ?sets?$", re.IGNORECASE)
_FEWEST_IN_SECTION, _OF_FORMULA = 3, 3
"""The sentences that say what is done in a section whose heading names a part; and for how many a formula counts."""
_MOST_EQUATIONS, _LONGEST_EQUATION = 12, 2_000
_FRONT_OF_FORMULA = 40
"""The first signs of a formula, by which the one in a text is known."""
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
    is_named: bool = True
    """Whether the paper names it as a part, and does not only speak of it."""
    is_headed: bool = False
    """Whether it is called as the heading of its section."""


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
    about_data = {paper.sentences[place].text for place in find_data_sentences(paper)}
    for likely, one in sorted(rows, key=lambda row: -row[0]):
        if len(kept) == MOST or likely < (_LIKELY if len(kept) >= _ENOUGH else _POSSIBLE):
            break
        if any(one is other or _says_the_same(one, other) for other, _ in kept):
            continue
        made = _component(one, paper)
        if _is_shown(one) or (made.sentence and not _is_aside(made, about_data, kept)):
            kept.append((one, made))
    made_of = _without_lists(_called_as_headings(kept, paper))
    lists = find_procedures(paper)
    known = [*(line for one in made_of for line in one.steps), *(line for one in lists for line in one.steps)]
    for procedure in (*lists, *find_listings(paper, known)):
        if len(made_of) < MOST_PARTS:
            _give_steps(procedure, made_of, paper, own)
    found = [*made_of, *islice(_named_by_headings(made_of, paper, own), max(MOST_PARTS - len(made_of), 0))]
    found.sort(key=lambda one: (one.section["start"], one.page))
    give_equations(paper, found)
    return found


def _called_as_headings(kept: Sequence[tuple[Candidate, Component]], paper: PaperText) -> list[Component]:
    """The components; one that a phrase names, and a heading of the method more fully, is called as the heading and stands there.

    The phrase stays an alias: "feed-forward network" of "Position-wise Feed-Forward Networks".
    """
    headed = {one.section["id"] for candidate, one in kept if one.algorithm or _is_of_heading(candidate)}
    free = [
        (section, name)
        for section in paper.outline["sections"]
        if paper.roles.get(section["id"]) == BUILD and section["id"] not in headed
        if is_named_after_content(section["title"]) and (name := name_of_heading(section["title"]))
    ]
    found: list[Component] = []
    for candidate, one in kept:
        row = next((row for row in free if _is_said_fully(one.name, row[1])), None)
        if row is None or one.algorithm or _is_of_heading(candidate):
            found.append(one)
            continue
        free.remove(row)
        section, name = row
        told = find_telling([name, one.name], section, "", paper) or one.sentence
        page = told.page if told else section["page"]
        found.append(
            replace(
                one,
                name=name,
                sentence=told,
                section=section,
                page=page,
                aliases=[one.name, *one.aliases],
                is_headed=True,
            )
        )
    return found


def _is_said_fully(name: str, heading: str) -> bool:
    """Whether a heading has all of a name, and little more before it."""
    words, core = core_words(heading), core_words(name)
    is_same_thing = stems_of(name)[-1:] == stems_of(heading)[-1:]
    return is_same_thing and len(core) > 1 and core < words and 2 * len(core) >= len(words)


def _is_of_heading(one: Candidate) -> bool:
    return any(offer.reading.startswith("a heading") for offer in one.offers)


def _named_by_headings(found: Sequence[Component], paper: PaperText, own: Sequence[str]) -> Iterator[Component]:
    """A component for each section of the method, or with a formula, that says what is done: its heading names it.

    Phrases that stand in the section are parts beside it, but for one that says the heading more fully: "Adam optimizer".
    """
    have = {one.section["id"] for one in found if one.is_headed or one.algorithm}
    known = [stems_of(one.name) for one in found]
    told = Counter(
        one.section["id"]
        for one in paper.sentences
        if one.role in (BUILD, SETUP) and says_what_is_done(one.text) and not why_not(one.text)
    )
    formulas = Counter(
        row["section"] for row in paper.outline["equations"] if paper.roles.get(row["section"]) in (BUILD, SETUP)
    )
    whole = [core_words(name) for name in own]  # what all of it is about is no part
    for section in paper.outline["sections"]:
        titles = [one["title"] for one in (section, *(paper.around[section["id"]] if formulas[section["id"]] else ()))]
        name = next(
            (name for title in titles if is_named_after_content(title) and (name := name_of_heading(title))), ""
        )
        is_built = paper.roles.get(section["id"]) == BUILD or formulas[section["id"]]
        weight = told[section["id"]] + _OF_FORMULA * formulas[section["id"]]
        if not (name and is_built) or section["id"] in have or weight < _FEWEST_IN_SECTION:
            continue
        here = [stems_of(one.name) for one in found if one.is_named and section["id"] in places_of(one)]
        is_known = stems_of(name) in known or any(set(stems_of(name)) <= set(stems) for stems in here)
        sentence = find_first(section, paper)
        if (sentence or formulas[section["id"]]) and not is_known and core_words(name) not in whole:
            page = sentence.page if sentence else section["page"]
            known.append(stems_of(name))
            yield Component(name, sentence, section, page, is_headed=True)


def places_of(one: Component) -> set[str]:
    """The sections in which a component stands and is told."""
    return {one.section["id"], *([one.sentence.section["id"]] if one.sentence else ())}


def _is_shown(one: Candidate) -> bool:
    return any(offer.reading.startswith(_SHOWN) and not is_of_others(offer.section) for offer in one.offers)


def _is_aside(made: Component, about_data: Collection[str], kept: Sequence[tuple[Candidate, Component]]) -> bool:
    """Whether a sentence only happens to have a name in it: it is about the data or a measure, or about a known part."""
    told = made.sentence
    if told is None or _OF_DATA.search(made.name):
        return told is not None
    if any(other.sentence == told and _is_one_word_of(made.name, other.name) for _, other in kept):
        return True
    return not made.is_named and (told.text in about_data or is_section_of_measures(told.section["title"]))


def _is_one_word_of(name: str, other: str) -> bool:
    """Whether the thing that a name ends with is one that another name has: the "perceptron loss" of "Loss and update"."""
    return bool(stems_of(name)) and stems_of(name)[-1] in stems_of(other)


def _without_lists(found: Sequence[Component]) -> list[Component]:
    """The components without headings that only list others: "Encoder and Decoder Stacks", where there is an encoder."""
    names = [stems_of(one.name) for one in found]

    def is_list(one: Component) -> bool:
        first, *others = re.split(r", | and ", one.name)
        return bool(others) and not one.algorithm and stems_of(first) in names

    return [one for one in found if not is_list(one)]


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
    if stems_of(one.name) == stems_of(known.name):
        return True  # "Creating macaroons" is CreateMacaroon
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
    names = [name for name in (one.name, *aliases) if telling_words(name)]  # "following" is said of anything
    label = best.algorithm if best.algorithm != STEPS else ""
    sentence = find_telling(names, best.section, label, paper) if names or label else None
    if best.algorithm == STEPS and sentence and sentence.section["id"] != best.section["id"]:
        sentence = None  # a procedure is told where its lines stand
    if sentence is None and best.reading.startswith(("a heading", "a run-in")):
        sentence = find_first(best.section, paper)
    in_tables = (offer.sentence for offer in one.offers if offer.sentence and offer.sentence.kind == TABLE)
    sentence = sentence or next((told for told in in_tables if says_what_is_done(told.text)), None)
    is_headed = any(offer.reading == "a heading of build" and offer.section == best.section for offer in one.offers)
    if is_headed and sentence and sentence.section["id"] != best.section["id"]:
        sentence = find_first(best.section, paper) or sentence  # a part is told under its heading
    is_named = not _WEAK.issuperset(offer.reading for offer in one.offers)
    steps = list(best.steps)
    return Component(
        one.name, sentence, best.section, best.page, best.algorithm, steps, [], aliases, is_named, is_headed
    )


def _give_steps(procedure: Procedure, components: list[Component], paper: PaperText, own: Sequence[str]) -> None:
    """The steps to the component that is told in their section and named in the words before them, else to a new one.

    Where nothing names them they are of the one part of their section, else of what the paper calls its own.
    """
    section, said = procedure.section, set(name_words(f"{procedure.section['title']} {procedure.lead}"))
    free = [one for one in components if not one.steps and section["id"] in places_of(one)]
    home = next((one for one in free if core_words(one.name) and core_words(one.name) <= said), None)
    if home is None:
        known = [core_words(one.name) for one in components if one.steps]
        title = _title_of_steps(section, components, paper)
        noun = _PROCEDURE.search(procedure.lead)
        if title and core_words(title) in known:
            return  # its listing says more
        if not title and not noun:
            title = next((name for name in own if core_words(name) not in known), "")
            called = [one for one in free if one.is_named]
            of_paper = [
                one for one in components if title and not one.steps and core_words(title) <= core_words(one.name)
            ]
            home = called[0] if len(called) == 1 else next(iter(of_paper), None)
        if home is None:
            name = title or f"{noun.group().lower() if noun else ''} {STEPS}".strip()
            home = Component(name, find_first(section, paper), section, procedure.page)
            components.append(home)
    home.algorithm, home.steps = STEPS, list(procedure.steps)


def _title_of_steps(section: Section, components: Sequence[Component], paper: PaperText) -> str:
    """What steps are called by: the heading above them, else the one around it where that names a thing and no part yet."""
    title = clean_name(section["title"]) if is_named_after_content(section["title"]) else ""
    if name_of_heading(section["title"]):
        return title
    around = paper.around.get(section["id"], ())
    outer = next((name for one in around if (name := name_of_heading(one["title"]))), "")
    is_free = outer and stems_of(outer) not in [stems_of(one.name) for one in components]
    return outer if is_free else f"{outer}: {title}" if outer and title else title


def give_equations(paper: PaperText, components: Sequence[Component]) -> None:
    """Each equation to the part of its section that was named last before it, else to the first that stands there.

    In a section of the method without a part, it goes to one of the sections around it.
    """
    leading = [(place, one.formula) for place, one in enumerate(paper.sentences) if one.formula]
    names = [f" {' '.join(name_words(one.name))} " for one in components]
    sections = {section["id"]: section for section in paper.outline["sections"]}
    for row in paper.outline["equations"]:
        text = " ".join(str(row["text"]).split())
        if not text or len(text) < 5 or not re.search(r"[=≤≥∈\\<>]", text):
            continue
        near = [place for place, one in enumerate(components) if row["section"] in places_of(one)] or _around_or_before(
            sections.get(row["section"]), paper.around.get(row["section"], ()), components, paper
        )
        lead = next((place for place, formula in leading if text[:_FRONT_OF_FORMULA] in formula), None)
        near.sort(key=lambda place: not components[place].is_named)
        # what has no name in the paper is no part for a formula's sake
        named = _named_last(paper.sentences, lead, [one for one in near if components[one].is_named], names)
        homes = [components[place] for place in ([named] if named is not None else []) + near]
        home = next((one for one in homes if len(one.equations) < _MOST_EQUATIONS), None)
        if home is not None:
            # the words behind several formulas explain the signs of all
            is_last = lead is not None and paper.sentences[lead].formula.rstrip(" .").endswith(text.rstrip(" ."))
            terms = find_terms(paper.sentences, lead) if lead is not None and is_last else ""
            text = f"{text.rstrip(' .')} {terms}" if terms else text
            home.equations.append(cut_formula(f"{row['label']} {text}".strip(), _LONGEST_EQUATION))


def _around_or_before(
    section: Section | None, around: Sequence[Section], components: Sequence[Component], paper: PaperText
) -> list[int]:
    """The parts of the sections around one of the method, else the part that came last before it in its chapter."""
    if section is None or paper.roles.get(section["id"]) != BUILD:
        return []
    for outer in around:
        if found := [place for place, one in enumerate(components) if outer["id"] in places_of(one)]:
            return found
    first = around[-1]["start"] if around else section["start"]
    return [place for place, one in enumerate(components) if first <= one.section["start"] <= section["start"]][-1:]


def _named_last(
    sentences: Sequence[Sentence], lead: int | None, near: Sequence[int], names: Sequence[str]
) -> int | None:
    """Which of the near parts the sentence that leads to a formula names, or the one before it, and so on up the section."""
    for place in range(lead, -1, -1) if lead is not None else ():
        if sentences[place].section["id"] != sentences[lead or 0].section["id"]:
            break
        said = f" {' '.join(name_words(sentences[place].text))} "
        found = [one for one in near if names[one] in said]
        if found:
            return max(found, key=lambda one: len(names[one]))
    return None
