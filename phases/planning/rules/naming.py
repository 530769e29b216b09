"""Names of files, functions, classes and constants, as a person would give them."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from phases.planning.rules.numbers import GREEK, symbol_of

LONGEST_NAME = 40
_MOST_WORDS = 4
_SHORT = 4
"""So many capitals alone are an abbreviation that says nothing beside a title that has none of it."""
_FEWEST_LETTERS = 2
_STOP_WORDS_TEXT = """
a an and are as at by for from in into is it its of on or our that the their this to via we with section algorithm following use
used using can be which these each all two one more additional details further how does do what why not i you he she they must
should shall will would may might need needs want wants please let make sure so there then than also only always never when if
while given any every some has have had was were been
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
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
    """The words of a text that say what it is about, in small letters."""
    return [word for word in _plain_words(text) if word not in _STOP_WORDS]


def _plain_words(text: str) -> list[str]:
    """The words of a text in small letters without accents, Greek letters in words; "SpanPredictor" has two."""
    plain = "".join(GREEK.get(letter, letter) for letter in re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text))
    plain = re.sub(r"['’]s\b", "", unicodedata.normalize("NFKD", plain.replace("ß", "ss")))
    return re.findall(r"[a-z0-9]+", re.sub(r"[\u0300-\u036f]", "", plain).lower())


def request_name(text: str) -> str:
    """Return what a wish is about: its first telling words."""
    return " ".join([word for word in telling_words(text) if not word.isdigit()][:3])


def declare_component(name: str, taken: set[str]) -> str:
    """The signature of a component: a class for what holds a state by its name, else a function. Adds it to `taken`."""
    words = _words_of_name(name)[:_MOST_WORDS] or ["component"]
    is_class = bool(_STATEFUL.search(name))
    plain = "".join(word.capitalize() for word in words) if is_class else "_".join(words)
    plain = f"{plain}_method" if plain in dir(builtins) else plain
    symbol = _free(_sound(plain[:LONGEST_NAME].strip("_"), "component"), taken)
    return f"class {symbol}" if is_class else f"def {symbol}"


def name_in_letters(row: Mapping[str, Any]) -> str:
    """A component's name; one in a script that code is not written in is called by its place: "part 2.5"."""
    name, section = str(row["name"]), str(row["source"]["section"] or "")
    is_place = not is_in_letters(name) and re.fullmatch(r"[0-9A-Z]+(?:\.[0-9]+)*", section)
    return f"part {section}" if is_place else name


def is_in_letters(name: str) -> bool:
    """Whether what code can write of a name says something: "O(V N) 的算法" is left with single letters."""
    words = _plain_words(name)
    return any(len(word) > _FEWEST_LETTERS and not word.isdigit() for word in words) or (name.isascii() and bool(words))


def constant_name(row: Mapping[str, Any], taken: set[str], *, is_one_of_several: bool = False) -> str:
    """The constant of a value: its name, after its owner where that is not the method. Adds it to `taken`.

    One of several of a name is told from the others by its condition, else by its page.
    """
    plain = plain_constant_name(row)
    if is_one_of_several:
        page = row["source"].get("page")
        case = "_".join(telling_words(row.get("condition") or "")[:3]) or (f"page_{page}" if page else "")
        plain = f"{plain}_{case.upper()}"[:LONGEST_NAME].strip("_")
    return _free(_sound(plain, "VALUE"), taken)


def plain_constant_name(row: Mapping[str, Any]) -> str:
    """Owner and name of a value in capitals; its symbol where it has no name."""
    owner = "" if row["owner"] == "method" else "_".join(telling_words(row["owner"])[:2])
    name = symbol_of(str(row["name"]).removeprefix("number of ")) or symbol_of(str(row.get("symbol", ""))) or "value"
    return f"{owner}_{name}".strip("_")[:LONGEST_NAME].strip("_").upper()


def module_name(name: str, taken: set[str]) -> str:
    """The file of a component, without its ending. Adds it to `taken`."""
    plain = "_".join(_words_of_name(name)[:3])[:LONGEST_NAME].strip("_")
    return _free(_sound(plain, "method"), taken)


def _words_of_name(name: str) -> list[str]:
    """The telling words of a name; all of its words in code, in "loss and update", or where none tells."""
    words, is_code = _plain_words(name), re.fullmatch(r"\w*[a-z0-9_][A-Z]\w*", name)
    if is_code or (len(words) == 3 and words[1] == "and"):
        return words
    return telling_words(name) or words


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


def join_names(names: Iterable[str], most: int = 3) -> str:
    """A few names in a row, for a purpose: "encoder, decoder and 2 more"."""
    listed = list(names)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")
