"""Lay out the files of a plan: constants first, then a module for each chapter of the method, experiments last."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.numbers import GREEK, symbol_of
from phases.planning.rules.sections import is_named_after_content

LONGEST_NAME = 40
_MOST_WORDS = 4
_SHORT = 4
"""So many capitals alone are an abbreviation that says nothing beside a title that has none of it."""
_MOST_MODULES = 6
_STOP_WORDS_TEXT = """
a an and are as at by for from in into is it its of on or our that the their this to via we with section algorithm following use
used using can be which these each all two one more additional details further how does do what why not i you he she they must
should shall will would may might need needs want wants please let make sure so there then than also only always never when if
while given any every some has have had was were been
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
Row = dict[str, Any]
Sections = Sequence[Mapping[str, Any]]
_STATEFUL = re.compile(
    r"\b(?:model|network|encoder|decoder|extractor|classifier|predictor|tree|trie|table|cache|queue|server|client|buffer|pool"
    r"|store|index|environment|transformer|policy|critic|discriminator|generator|learner|machine|parser)$",
    re.IGNORECASE,
)


def package_name(title: str, own: Sequence[str] = ()) -> str:
    """Return a Python package name: what the paper calls its method, else the first telling words of its title."""
    said = next((name for name in own[:1] if name.lower() in title.lower() and len(name.split()) < 3), "")
    is_short = said.isupper() and len(said) <= _SHORT and ":" not in title
    words = _plain_words(said.lower()) if said and not is_short else telling_words(title)[:3]
    name = "_".join(words)[:LONGEST_NAME].strip("_") or "paper"
    # a package named like a standard module would hide it
    taken = keyword.iskeyword(name) or name in sys.stdlib_module_names or name == "tests"
    return f"paper_{name}" if name[0].isdigit() or taken else name


def telling_words(text: str) -> list[str]:
    """Return the words that say what a text is about, in lower case."""
    return [word for word in _plain_words(text) if word not in _STOP_WORDS]


def _plain_words(text: str) -> list[str]:
    """Return words in lower case without accents, with Greek letters spelt out; "SpanPredictor" has two."""
    plain = "".join(GREEK.get(letter, letter) for letter in re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text))
    plain = re.sub(r"['’]s\b", "", unicodedata.normalize("NFKD", plain.replace("ß", "ss")))
    return re.findall(r"[a-z0-9]+", re.sub(r"[\u0300-\u036f]", "", plain).lower())


def request_name(text: str) -> str:
    """Return what a wish is about: its first telling words."""
    return " ".join([word for word in telling_words(text) if not word.isdigit()][:3])


def declare_component(name: str, taken: set[str]) -> str:
    """Return the signature of a component: a class where its name suggests a state, else a function. Add it to `taken`."""
    words = telling_words(name)[:_MOST_WORDS] or ["component"]
    is_class = bool(_STATEFUL.search(name))
    plain = "".join(word.capitalize() for word in words) if is_class else "_".join(words)
    plain = f"{plain}_method" if plain in dir(builtins) else plain
    symbol = _free(_sound(plain[:LONGEST_NAME].strip("_"), "component"), taken)
    return f"class {symbol}" if is_class else f"def {symbol}"


def constant_name(row: Mapping[str, Any], taken: set[str]) -> str:
    """Return the constant of a value: its owner, unless that is the method, and its name, else its symbol. Add it to `taken`."""
    owner = "" if row["owner"] == "method" else "_".join(telling_words(row["owner"])[:2])
    name = symbol_of(str(row["name"]).removeprefix("number of ")) or symbol_of(str(row.get("symbol", ""))) or "value"
    return _free(_sound(f"{owner}_{name}".strip("_")[:LONGEST_NAME].strip("_").upper(), "VALUE"), taken)


def module_name(name: str, taken: set[str]) -> str:
    """Return the file name of a component without its suffix. Add it to `taken`."""
    plain = "_".join(telling_words(name)[:3])[:LONGEST_NAME].strip("_")
    return _free(_sound(plain, "method"), taken)


def _sound(name: str, otherwise: str) -> str:
    if not name:
        return otherwise
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"{otherwise}_{name}"


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


def plan_files(
    package: str, requirements: Sequence[Row], components: Sequence[Row], values: Sequence[Row], sections: Sections = ()
) -> list[Row]:
    """Return the rows of file_structure in the order of writing; the headings of `sections` name the files."""
    config = _config(package, values)
    files = [_file(f"{package}/__init__.py", "the package"), config]
    files += _modules(package, requirements, components, config["path"], sections)
    placed = {name for row in files for name in row["implements"]}
    rest = [row["id"] for row in requirements if row["id"] not in placed]
    if rest or len(files) < 3:
        purpose, needs = "data, measures, baselines and what is run with them", [row["path"] for row in files[1:]]
        files.append(_file(f"{package}/experiments.py", purpose, rest, needs, ["def run_experiments"]))
    paths = [row["path"] for row in files]
    main = "the entry script: lists what is implemented and what is not"
    return [
        *files,
        _file(f"{package}/__main__.py", main, (), paths, ["def main"]),
        _file("README.md", "what the paper is about, what of it is here, and what is a stub"),
        _file("tests/__init__.py", "the tests"),
        _file("tests/test_scaffold.py", "every module imports and has its planned names", (), paths),
    ]


def _config(package: str, values: Sequence[Row]) -> Row:
    constants: set[str] = set()
    values = [row for row in values if row["kind"] != "fact"]
    held = [repr(tuple(row["values"])) if "values" in row else row["value"] for row in values]
    lines = [f"{constant_name(row, constants)} = {value}" for row, value in zip(values, held, strict=True)]
    purpose = "every value that the paper states, with its owner, its condition and its place"
    return _file(f"{package}/config.py", purpose, [row["id"] for row in values], (), lines)


def _modules(
    package: str, requirements: Sequence[Row], components: Sequence[Row], config: str, sections: Sections
) -> list[Row]:
    known = {row["id"] for row in requirements}
    groups = _groups(components, sections)
    files: list[Row] = []
    names, symbols = {"config", "experiments", "data"}, set[str]()
    for group in groups:
        implements = dict.fromkeys(name for row in group for name in row["requirements"] if name in known)
        path = f"{package}/{module_name(_name_of(group, sections), names)}.py"
        interface = [declare_component(row["name"], symbols) for row in group]
        purpose = ", ".join(row["name"] for row in group[:3]) + f" and {len(group) - 3} more" * (len(group) > 3)
        file = _file(path, purpose, list(implements), [config], interface)
        files.append({**file, "components": [row["id"] for row in group]})
    return files


def _groups(components: Sequence[Row], sections: Sections) -> list[list[Row]]:
    """Return the components by section; neighbours are joined until the groups are few and none is a single part."""
    groups: dict[int, list[Row]] = {}
    for row in components:
        is_asked = row["source"]["section"] == "review" and groups  # a wish of a reviewer gets no file of its own
        at = [*groups][-1] if is_asked else _find_section(row["source"], sections)
        groups.setdefault(at, []).append(row)
    joined = list(groups.values())
    while len(joined) > _MOST_MODULES or (len(joined) > 1 and min(map(len, joined)) == 1):
        at = min(range(len(joined) - 1), key=lambda at: sorted(map(len, joined[at : at + 2])))
        joined[at : at + 2] = [[*joined[at], *joined[at + 1]]]
    return joined


def _find_section(source: Mapping[str, Any], sections: Sections) -> int:
    """Return the last section of this number or title that begins before the page; -1 where there is none."""
    section = source["section"]
    named = [at for at, one in enumerate(sections) if section and section in (one["number"], one["title"])]
    before = [at for at in named if sections[at]["page"] <= source["page"]]
    return before[-1] if before else named[0] if named else -1


def _name_of(group: Sequence[Row], sections: Sections) -> str:
    """Return the heading under which most of a group stands, else the name of its largest component."""
    places = Counter(_find_section(row["source"], sections) for row in group)
    (at, most), *_ = places.most_common(1)
    title = str(sections[at]["title"]) if at >= 0 and 2 * most >= len(group) else ""
    if title and is_named_after_content(title) and telling_words(title) and len(title.split()) < 10:
        return title
    return str(max(group, key=lambda row: len(row["requirements"]))["name"])


def _file(
    path: str, purpose: str, implements: Sequence[str] = (), needs: Sequence[str] = (), interface: Sequence[str] = ()
) -> Row:
    row: Row = {"path": path, "purpose": purpose, "implements": list(implements), "depends_on": list(needs)}
    return {**row, "interface": list(interface)}
