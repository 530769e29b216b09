"""Which component a requirement is about: by where it stands, and by what it names; what is said of the data has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from phases.planning.rules.component_names import core_words, name_of_heading, name_words, stems_of
from phases.planning.rules.component_readings import STEPS
from phases.planning.rules.components import MOST_PARTS, Component
from phases.planning.rules.data_sentences import find_data_sentences, is_section_of_measures, read_topics
from phases.planning.rules.naming import telling_words
from phases.planning.rules.passages import PaperText
from phases.planning.rules.requirements import Requirement
from phases.planning.rules.sections import BUILD, Section, is_named_after_content

_FRONT = 6
"""The words within which a sentence names what it is about."""
_LABEL = re.compile(r"\b(?:Algorithm|Listing|Procedure) (?:[0-9]+|[A-Z][0-9]+)(?![\w.])")
_RARE = 0.2
"""The share of requirements that have a telling word at most."""
_ELSEWHERE = 0.5
"""What a name counts in a section that has parts of its own, where the part that it names is in another one."""
_ENOUGH, _ENOUGH_SET_UP = 0.6, 1.0
"""How much speaks for a component at least. What is set up is about a component only where it says so."""
_ENOUGH_OF_DATA = 1.6
"""How much speaks for a component that a sentence about the data begins with."""


@dataclass(frozen=True)
class _Profile:
    """What a requirement's words are held against."""

    keys: tuple[str, ...]
    core: frozenset[str]
    stems: frozenset[str]
    rare: frozenset[str]
    """Its words and those of its steps that few requirements have."""
    sections: frozenset[str]
    """Where it stands, and what points to its algorithm."""
    label: str
    weight: float


def assign_components(
    requirements: Sequence[Requirement], components: Sequence[Component], paper: PaperText
) -> tuple[list[Component], list[int | None]]:
    """The components, with a part for each heading of the method above requirements of no other; and each requirement's place
    among them, None where it is about none.

    `requirements` may stand in any order; the answer is in theirs.
    """
    texts = {row.place: f" {' '.join(name_words(row.text))} " for row in requirements}
    rare = _rare_words(texts.values())
    title = f" {' '.join(name_words(str(paper.outline.get('title') or '')))} "
    pointing = _sections_by_label(paper)
    profiles = [_profile(one, title, rare, pointing.get(one.algorithm, set())) for one in components]
    settled = frozenset().union(*(profile.sections for profile in profiles))
    about_data, topics = find_data_sentences(paper), [set(stems_of(topic)) for topic in read_topics(paper)]
    parts, homes, headings = list(components), dict[int, int | None](), dict[str, int | None]()
    before: tuple[str, int | None] = ("", None)
    for row in sorted(requirements, key=lambda row: row.place):
        section = row.sentences[0].section["id"]
        points = [
            _points(row, texts[row.place], one, profile, settled) + _is_topic(topics[row.place], profile)
            for one, profile in zip(components, profiles, strict=True)
        ]
        if row.place in about_data and max(points, default=0.0) < _ENOUGH_OF_DATA:
            homes[row.place] = None
            continue
        if (
            before[0] == section
            and before[1] is not None
            and before[1] < len(points)
            and row.sentences[0].role == BUILD
        ):
            points[before[1]] += 0.4  # what has no name of its own goes on about the same
        home = _choose(row, points, components)
        if home is None and row.sentences[0].role == BUILD:
            if section not in headings:
                headings[section] = _find_by_heading(row, paper.around.get(section, ()), parts)
            home = headings[section]
        homes[row.place] = home
        before = (section, home)
    order = sorted(range(len(parts)), key=lambda place: (parts[place].section["start"], parts[place].page))
    now: dict[int | None, int | None] = {None: None, **{place: at for at, place in enumerate(order)}}
    return [parts[place] for place in order], [now[homes[row.place]] for row in requirements]


def join_small_parts(
    components: Sequence[Component], chosen: Sequence[tuple[Requirement, int | None]]
) -> list[int | None]:
    """The homes; the one requirement of a phrase that is told elsewhere goes to the part that has the heading above it."""
    counts = Counter(home for _, home in chosen)
    headed = {one.section["id"]: place for place, one in enumerate(components) if one.is_headed}

    def is_phrase(one: Component) -> bool:
        is_told_here = one.sentence is not None and one.sentence.section["id"] == one.section["id"]
        return not (one.is_named or one.algorithm or one.equations or is_told_here)

    return [
        headed.get(row.sentences[0].section["id"], home)
        if home is not None and counts[home] == 1 and is_phrase(components[home])
        else home
        for row, home in chosen
    ]


def _rare_words(texts: Iterable[str]) -> frozenset[str]:
    said = list(texts)
    counts = Counter(word for text in said for word in set(text.split()))
    return frozenset(word for word, count in counts.items() if count <= max(2, _RARE * len(said)))


def _sections_by_label(paper: PaperText) -> dict[str, set[str]]:
    """Label of an algorithm -> the sections that point to it."""
    found: dict[str, set[str]] = {}
    for sentence in paper.sentences:
        for label in _LABEL.findall(sentence.text):
            found.setdefault(label, set()).add(sentence.section["id"])
    return found


def _profile(one: Component, title: str, rare: frozenset[str], pointing: set[str]) -> _Profile:
    # "the following section" does not speak of a part called Following
    keys = tuple(" ".join(name_words(name)) for name in (one.name, *one.aliases) if telling_words(name))
    words = {word for line in (one.name, *one.steps) for word in name_words(line) if len(word) > 3} & rare
    # what the whole paper is about is said of nearly everything
    weight = 0.6 if any(f" {key} " in title for key in keys) else 1.0
    return _Profile(
        keys,
        frozenset(core_words(one.name)),
        frozenset(stems_of(" ".join(core_words(one.name)))),
        frozenset(words.intersection(telling_words(" ".join(words)))),
        frozenset({one.section["id"], *pointing}),
        one.algorithm,
        weight,
    )


def _points(row: Requirement, text: str, one: Component, profile: _Profile, settled: Collection[str]) -> float:
    """How much speaks for it that a requirement is about a component. `settled`: the sections that have a part."""
    points = 0.0
    section = row.sentences[0].section
    is_here = section["id"] in profile.sections
    words = text.split()
    for key in profile.keys:
        if f" {key} " in text:
            size = len(key.split())
            is_subject = f" {key} " in f" {' '.join(words[: _FRONT + size - 1])} "
            points = max(points, (1.0 + 0.3 * (size - 1) + 0.6 * is_subject) * profile.weight)
    if not points and len(profile.core) > 1 and len(profile.core & set(words)) >= 0.6 * len(profile.core):
        points = 0.7 * len(profile.core & set(words)) / len(profile.core)
    points += min(0.3 * len(profile.rare.intersection(words)), 0.9)
    if not is_here and (section["id"] in settled or (is_section_of_measures(section["title"]) and not one.is_named)):
        points *= _ELSEWHERE
    if profile.label and (found := re.search(rf"\b{re.escape(profile.label)}\b", row.text)):
        points += 1.6 if found.start() < 20 else 1.0
    points += 1.5 * (one.sentence is not None and one.sentence.text in row.text)
    points += 0.6 * (is_here and one.name != STEPS)
    heading = set(name_words(section["title"]))
    # "Optimizer" is said of an Adam optimizer, where it stands there
    is_headed = profile.core <= heading or (is_here and bool(heading) and heading <= set(name_words(one.name)))
    return points + 0.6 * (bool(heading) and is_headed)


def _is_topic(topic: Collection[str], profile: _Profile) -> bool:
    """Whether the run-in heading above a requirement has the telling words of a component: "Hashing." of a hash function."""
    return bool(topic) and profile.stems <= set(topic)


def _choose(row: Requirement, points: Sequence[float], components: Sequence[Component]) -> int | None:
    first = row.sentences[0]
    best = max(range(len(points)), key=lambda place: points[place], default=None)
    if best is not None and points[best] >= (_ENOUGH if first.role == BUILD else _ENOUGH_SET_UP):
        return best
    if first.role != BUILD:
        return None
    # what no component is named in is about one of its own section: about the algorithm there, else about what came last
    here = [
        place
        for place, one in enumerate(components)
        if one.section["id"] == first.section["id"] and one.name != STEPS  # steps without a name are about nothing else
    ]
    return max(here, key=lambda place: (bool(components[place].algorithm), place), default=None)


def _find_by_heading(row: Requirement, around: Sequence[Section], parts: list[Component]) -> int | None:
    """The place of the part that the heading above a requirement names, else of one in the section around it; adds what is new.

    A sister section is about something else.
    """
    first = row.sentences[0]
    for section in (first.section, *around):
        here = [place for place, one in enumerate(parts) if one.section["id"] == section["id"] and one.name != STEPS]
        if here:
            return max(here, key=lambda place: (parts[place].is_headed, bool(parts[place].algorithm), place))
        name = name_of_heading(section["title"]) if is_named_after_content(section["title"]) else ""
        same = next((place for place, one in enumerate(parts) if stems_of(one.name) == stems_of(name)), None)
        if name and same is not None:
            return same
        if name and len(parts) < MOST_PARTS:
            parts.append(Component(name, first, section, first.page, is_named=False, is_headed=True))
            return len(parts) - 1
    return None
