"""The files of a plan: named after the sections and the parts of the method, in the order in which they are written.

Config and data come first, then what is used before its user; experiments come last. At most ten files beside the tests hold all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from phases.planning.rules.component_names import is_wide, name_of_heading, name_words, stems_of
from phases.planning.rules.naming import (
    constant_name,
    declare_component,
    is_in_letters,
    join_names,
    module_name,
    name_in_letters,
    plain_constant_name,
)
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, is_named_after_content, roles_of

_MOST_MODULES, _FEWEST_EACH = 6, 2
"""Files of components, and how many components a file has at least on average."""
_OF_COMPONENT, _OF_ALGORITHM = 2, 3
"""For how many requirements a component and an algorithm count where the sizes of groups are compared."""
_SMALL = 5
"""A group of one component that is smaller shares a file with its neighbour."""
_APART, _ALIKE = 12, 16
"""For how many requirements it counts that two groups stand in different chapters, or that their names share a word."""
_MOST_OF_NAME = 0.5
"""The share of a group that stands in the section which names its file."""
_FEWEST_OF_DATA = 2
_FEWEST_OF_METHOD = 4
"""With fewer components than these, the experiments are what is built."""
_SPOKEN_OF, _CLEARLY = 3, 2
"""How often a file names what another one has, and how much more than the other way, before it is built on that."""
_OF_LABEL = 3
"""A pointer to an equation or an algorithm counts for so many names."""
_LABEL = re.compile(r"\(([0-9]+(?:\.[0-9]+)?[a-z]?)\)")
_POINTER = re.compile(
    r"\b(?:in|of|by|from|as|is|are|via|using|with|Eqs?\.?|[Ee]quations?) ?\(([0-9]+(?:\.[0-9]+)?[a-z]?)\)(?! [a-z]+,)"
)
_GENERATED = re.compile(r"\b(?:drawn|generat\w+|synthe\w+|simulat\w+|uniform(?:ly)?|random(?:ly)?)\b", re.IGNORECASE)
_CALL = re.compile(r"\b([A-Za-z_]\w{2,40}) ?\(")
_DECLARED = re.compile(
    r"(?!return\b|if\b|while\b|for\b|else\b|do\b)(?:[\w*]+ ){0,4}\*? ?[A-Za-z_]\w{2,40} ?\([^=<>]*(?:[){:]|\)[:\w ]*\{?)$"
)
_WORDS_OF_CODE = frozenset(
    ["return", "while", "for", "switch", "else", "until", "sizeof", "and", "not", "max", "min", "len"]
)
_BESIDE = re.compile(r" (?:for|with|via|using) ")
"""What stands behind the thing that a heading names: "The LEN algorithm for convex problems"."""
_LONGEST_LINE, _LONGEST_PURPOSE = 300, 72
_EXPERIMENTS = re.compile(r"\bexperiment|\bevaluation", re.IGNORECASE)
Row = dict[str, Any]


@dataclass(frozen=True)
class _Place:
    """Where a component stands: a number for its section and one for its chapter, and their headings."""

    section: object
    chapter: object
    title: str = ""
    chapter_title: str = ""
    is_tried: bool = False
    """Whether it belongs to the experiments and not to what is tried in them."""


def plan_files(
    package: str,
    requirements: Sequence[Row],
    components: Sequence[Row],
    values: Sequence[Row],
    sections: Sequence[Mapping[str, Any]] = (),
) -> list[Row]:
    """The rows of file_structure, in the order of writing. `sections`: those of the paper, whose headings name files."""
    init, config = _file(f"{package}/__init__.py", "the package"), _config(package, values)
    places = _places(components, sections, requirements)
    tried = [row for row in components if places[row["id"]].is_tried and not row.get("algorithm")]
    tried = tried if len(components) - len(tried) >= _FEWEST_OF_METHOD else []
    method = [row for row in components if row not in tried]
    symbols: set[str] = set()
    modules = _modules(package, requirements, method, config["path"], places, symbols)
    placed = {name for row in modules for name in row["implements"]}
    rest = [row for row in requirements if row["id"] not in placed]
    data = _data_file(package, rest, config["path"])
    files = [init, config, *data, *modules]
    rest = _add_by_section(
        [row for row in rest if row["kind"] != "dataset" or not data], files[2:], requirements, sections
    )
    if rest or tried or len(files) < 3:
        files.append(
            _file(
                f"{package}/experiments.py",
                f"{'' if data else 'data, '}measures, baselines and what is run with them",
                implements=[row["id"] for row in rest],
                needs=[row["path"] for row in files[1:]],
                interface=[*(declare_component(name_in_letters(row), symbols) for row in tried), "def run_experiments"],
                components=[row["id"] for row in tried],
            )
        )
    paths = [row["path"] for row in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file(f"{package}/__main__.py", main, needs=paths, interface=["def main"]),
        _file("README.md", "what the paper is about, what of it is here, and what is a stub"),
        _file("tests/__init__.py", "the tests"),
        _file("tests/test_scaffold.py", "every module imports and has its planned names", needs=paths),
    ]


def _config(package: str, values: Sequence[Row]) -> Row:
    constants: set[str] = set()
    values = [row for row in values if row["kind"] != "fact"]
    named = Counter(map(plain_constant_name, values))
    return _file(
        f"{package}/config.py",
        "every value that the paper states, with its owner, its condition and its place",
        implements=[row["id"] for row in values],
        interface=[
            f"{constant_name(row, constants, is_one_of_several=named[plain_constant_name(row)] > 1)} = {_literal(row)}"
            for row in values
        ],
    )


def _data_file(package: str, rest: Sequence[Row], config: str) -> list[Row]:
    """The file of the data, where several requirements of no component are about them."""
    about = [row["id"] for row in sorted(rest, key=lambda row: row["source"]["page"]) if row["kind"] == "dataset"]
    if len(about) < _FEWEST_OF_DATA:
        return []
    purpose = "the data: made or read here, before anything is run on them"
    is_made = any(row["id"] in about and _GENERATED.search(row["text"]) for row in rest)
    name = "generate_data" if is_made else "load_data"
    return [_file(f"{package}/data.py", purpose, implements=about, needs=[config], interface=[f"def {name}"])]


def _add_by_section(
    rest: Sequence[Row], files: Sequence[Row], requirements: Sequence[Row], sections: Sequence[Mapping[str, Any]]
) -> list[Row]:
    """Adds what is built to the file that has most of its section, else of its chapter; what is left belongs to the trials."""
    chapters, roles = _chapters(sections), roles_of([dict(one) for one in sections])
    found = {row["id"]: _find_section(row["source"], sections) for row in requirements}
    homes = [{found[name] for name in row["implements"]} - {-1} for row in files]
    counts = [Counter(found[name] for name in row["implements"]) for row in files]
    has_trials = any(role in (MIXED, RESULTS) for role in roles.values())
    left: list[Row] = []
    for row in rest:
        at = found[row["id"]]
        place = _place_in(sections[at], at, sections[chapters[at]], chapters[at], roles) if at >= 0 else None
        is_built = place and not place.is_tried and (not has_trials or roles[sections[at]["id"]] == BUILD)
        near = [
            (counts[number][at], any(chapters[one] == chapters[at] for one in homes[number]), -number)
            for number in range(len(files))
            if is_built
        ]
        best = max(near, default=(0, False, 0))
        if best[0] or best[1]:
            files[-best[2]]["implements"].append(row["id"])
        else:
            left.append(row)
    return left


def _chapters(sections: Sequence[Mapping[str, Any]]) -> list[int]:
    """For each section the place of the chapter in which it stands."""
    top = min((one["level"] for one in sections), default=1)
    chapters: list[int] = []
    for at, one in enumerate(sections):
        chapters.append(at if one["level"] <= top or not chapters else chapters[-1])
    return chapters


def _modules(
    package: str,
    requirements: Sequence[Row],
    components: Sequence[Row],
    config: str,
    places: Mapping[str, _Place],
    symbols: set[str],
) -> list[Row]:
    """A file for each group of components, with the requirements of these; a file comes after those that it uses."""
    known = {row["id"]: f"{row['text']} {row.get('formula', '')}" for row in requirements}
    groups = _groups(components, places)
    used = _uses(groups, known)
    names = {"config", "experiments", "data"}
    files: dict[int, Row] = {}
    for at in _order(used):
        group = groups[at]
        needs = [files[other]["path"] for other in sorted(used[at]) if other in files]
        purpose = join_names(row["name"] for row in group)
        built_on = join_names(path.rpartition("/")[2] for path in needs)
        files[at] = _file(
            f"{package}/{module_name(_name_of_group(group, places, names), names)}.py",
            f"{purpose}; built on {built_on}" if needs and len(purpose + built_on) < _LONGEST_PURPOSE else purpose,
            implements=list(dict.fromkeys(name for row in group for name in row["requirements"] if name in known)),
            needs=[config, *needs],
            interface=[f"{declare_component(name_in_letters(row), symbols)}{_arguments(row, known)}" for row in group],
            components=[row["id"] for row in group],
        )
    return list(files.values())


def _places(
    components: Sequence[Row], sections: Sequence[Mapping[str, Any]], requirements: Sequence[Row]
) -> dict[str, _Place]:
    """Component id -> where it stands: in the section of most of its requirements, of its own where as many are there."""
    chapters, roles = _chapters(sections), roles_of([dict(one) for one in sections])
    said = {row["id"]: _find_section(row["source"], sections) for row in requirements}
    found = {}
    for row in components:
        source = row["source"]
        votes = Counter([_find_section(source, sections), *(said.get(name, -1) for name in row["requirements"])])
        del votes[-1]
        at = votes.most_common(1)[0][0] if votes else -1
        # what was asked for at the review, and text without sections, goes by what the row says itself
        found[row["id"]] = (
            _place_in(sections[at], at, sections[chapters[at]], chapters[at], roles)
            if at >= 0 and source["section"] != "review"
            else _Place(source["section"], str(source["section"] or "").partition(".")[0])
        )
    return found


def _place_in(
    section: Mapping[str, Any], at: int, chapter: Mapping[str, Any], first: int, roles: Mapping[str, str]
) -> _Place:
    of_trials = any(roles[one["id"]] in (MIXED, RESULTS) for one in (section, chapter))
    return _Place(
        at, first, section["title"], chapter["title"], of_trials or bool(_EXPERIMENTS.search(chapter["title"]))
    )


def _find_section(source: Mapping[str, Any], sections: Sequence[Mapping[str, Any]]) -> int:
    """The section of this number or title: of several the last that begins before its page; -1 where there is none."""
    named = [at for at, one in enumerate(sections) if source["section"] in (one["number"], one["title"])]
    before = [at for at in named if sections[at]["page"] <= source["page"]]
    if not source["section"] or not named:
        return -1
    return before[-1] if before else named[0]


def _name_of_group(group: Sequence[Row], places: Mapping[str, _Place], taken: Collection[str]) -> str:
    """What a file is called by: the heading under which most of it stands, else its chapter's, else its largest component."""
    sizes = Counter[str]()
    for row in group:
        sizes[places[row["id"]].title] += _size(row)
    (title, most), *_ = sizes.most_common(1)
    chapters = {places[row["id"]].chapter_title for row in group}
    headings = [title] if most >= _MOST_OF_NAME * sizes.total() else []
    headings += chapters if len(chapters) == 1 and len(sizes) > 1 else []
    named = [name_of_heading(heading) for heading in headings if is_named_after_content(heading)]
    named = [name_of_heading(_BESIDE.split(name)[0]) or name for name in named]
    free = (name for name in named if is_in_letters(name) and module_name(name, set()) not in taken)
    largest = max(group, key=lambda row: (is_in_letters(row["name"]), _size(row)))
    return next(free, name_in_letters(largest))


def _size(row: Row) -> int:
    return _OF_COMPONENT + len(row["requirements"]) + _OF_ALGORITHM * bool(row.get("algorithm"))


def _uses(groups: Sequence[Sequence[Row]], known: Mapping[str, str]) -> list[set[int]]:
    """For each group the others whose components, equations or algorithms it speaks of, clearly more than they of its own."""
    texts = [" ".join(text for row in group for text in _texts(row, known)) for group in groups]
    words = [f" {' '.join(name_words(text))} " for text in texts]
    names = [
        {f" {' '.join(name_words(row['name']))} " for row in group if _is_telling(row["name"])} for group in groups
    ]
    labels = [{str(row["algorithm"]).lower() for row in group if row.get("algorithm")} for group in groups]
    pointers = [Counter(_POINTER.findall(text)) for text in texts]
    equations = [
        {match.group(1) for row in group for one in row.get("equations", ()) if (match := _LABEL.match(one))}
        for group in groups
    ]
    calls = [_calls(group) for group in groups]

    def count(one: int, other: int) -> int:
        pointed = sum(words[one].count(f" {label} ") for label in labels[other])
        pointed += sum(pointers[one][label] for label in equations[other])
        pointed += len((calls[one][1] - calls[one][0]) & calls[other][0])
        return _OF_LABEL * pointed + sum(words[one].count(name) for name in names[other] - names[one])

    return [
        {
            other
            for other in range(len(groups))
            if other != one and count(one, other) >= _SPOKEN_OF and count(one, other) > _CLEARLY * count(other, one)
        }
        for one in range(len(groups))
    ]


def _calls(group: Sequence[Row]) -> tuple[set[str], set[str]]:
    """The operations that the algorithms of a group declare, and those that they call."""
    declared, called = set[str](), set[str]()
    for line in (line for row in group for line in row.get("steps", ())):
        found = [name for name in _CALL.findall(line[:_LONGEST_LINE]) if name not in _WORDS_OF_CODE]
        is_head = bool(found) and not line.rstrip().endswith(";") and bool(_DECLARED.match(line))
        declared.update(found[:1] if is_head else ())
        called.update(found[1:] if is_head else found)
    return declared, called


def _is_telling(name: str) -> bool:
    """Whether a text that has this name speaks of the part: "training" and "line" are said of anything."""
    return len(name_words(name)) > 1 or (len(name) > 3 and not name.islower() and not is_wide(name.lower()))


def _texts(row: Row, known: Mapping[str, str]) -> list[str]:
    return [row["what"], *row.get("steps", ()), *(known[name] for name in row["requirements"] if name in known)]


def _arguments(row: Row, known: Mapping[str, str]) -> str:
    """What an operation takes as the paper calls it, "(k, id)" of CreateMacaroon(k, id); empty where it does not say."""
    if not re.fullmatch(r"\w*[a-z0-9_][A-Z]\w*", row["name"]):
        return ""
    found = re.search(rf"\b{row['name']} ?\(([\w, ]+)\)", " ".join(_texts(row, known)))
    names = [one.strip() for one in found.group(1).split(",")] if found else []
    is_sound = all(one.isidentifier() and not iskeyword(one) for one in names) and len(set(names)) == len(names)
    return f"({', '.join(names)})" if names and is_sound else ""


def _order(used: Sequence[set[int]]) -> list[int]:
    """The groups in the order of the paper, each after those that it uses; a circle is cut at its first."""
    order: list[int] = []
    left = list(range(len(used)))
    while left:
        free = next((place for place in left if not used[place].intersection(left)), left[0])
        left.remove(free)
        order.append(free)
    return order


def _file(
    path: str,
    purpose: str,
    *,
    implements: Sequence[str] = (),
    needs: Sequence[str] = (),
    interface: Sequence[str] = (),
    components: Sequence[str] = (),
) -> Row:
    row: Row = {
        "path": path,
        "purpose": purpose,
        "implements": list(implements),
        "depends_on": list(needs),
        "interface": list(interface),
    }
    return {**row, "components": list(components)} if components else row


def _groups(components: Sequence[Row], places: Mapping[str, _Place]) -> list[list[Row]]:
    """The components in a few groups: those of one section stand together, and the smallest join a neighbour of their chapter."""
    by_section: dict[object, list[Row]] = {}
    asked: list[Row] = []
    for row in components:
        # what was asked for at the review joins what is there: no file gets another name for it
        is_asked = bool(by_section) and row["source"]["section"] == "review"
        (asked if is_asked else by_section.setdefault(places[row["id"]].section, [])).append(row)
    groups = list(by_section.values())
    if all(isinstance(section, int) for section in by_section):
        groups.sort(key=lambda group: int(str(places[group[0]["id"]].section)))
    if asked:
        groups[-1] = [*groups[-1], *asked]

    def stems(group: Sequence[Row]) -> set[str]:
        return set(stems_of(max(group, key=_size)["name"]))

    def cost(at: int) -> int:
        one, other = groups[at], groups[at + 1]
        is_apart = places[one[-1]["id"]].chapter != places[other[0]["id"]].chapter
        is_alike = bool(stems(one) & stems(other))
        return _APART * is_apart - _ALIKE * is_alike + sum(map(_size, (*one, *other)))

    def is_small(group: Sequence[Row]) -> bool:
        return len(group) == 1 and _size(group[0]) < _SMALL

    most = min(_MOST_MODULES, -(-len(components) // _FEWEST_EACH))
    while len(groups) > 1:
        pairs: Iterable[int] = range(len(groups) - 1)
        if len(groups) <= most:
            pairs = [at for at in pairs if is_small(groups[at]) or is_small(groups[at + 1])]
        at = min(pairs, key=cost, default=-1)
        if at < 0:
            break
        groups[at : at + 2] = [[*groups[at], *groups[at + 1]]]
    return groups


def _literal(row: Mapping[str, Any]) -> str:
    return repr(row["value"] if "value" in row else tuple(row["values"]))
