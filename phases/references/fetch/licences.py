"""Determine a repository's licence from its licence files and package metadata."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json

UNKNOWN = "NOASSERTION"
"""There is a licence, and it is none that is known here."""
_MOST_READ = 200_000
_TEXT = re.compile(r"(?:un)?licen[cs]es?|copying|copyright", re.IGNORECASE)
_PLAIN_ENDINGS = ("", ".txt", ".md", ".rst", ".markdown")
_SPDX = re.compile(
    r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() \t-]{1,200}?)[ \t]*(?:\*/|-->|[\"']|$)", re.MULTILINE
)
_EXPRESSION = re.compile(r"\(?[A-Za-z0-9][A-Za-z0-9.+-]*\)?(?: (?:AND|OR|WITH) \(?[A-Za-z0-9][A-Za-z0-9.+-]*\)?){0,9}")
_IDS = (
    "MIT", "MIT-0", "Apache-2.0", "Apache-1.1", "BSD-3-Clause", "BSD-2-Clause", "BSD-4-Clause", "0BSD", "ISC", "Zlib", "BSL-1.0",
    "GPL-2.0", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0", "GPL-3.0-only", "GPL-3.0-or-later", "AGPL-3.0", "AGPL-3.0-only",
    "AGPL-3.0-or-later", "LGPL-2.1", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0", "LGPL-3.0-only", "LGPL-3.0-or-later",
    "MPL-2.0", "MPL-1.1", "EPL-2.0", "EPL-1.0", "EUPL-1.2", "CECILL-2.1", "CC0-1.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-SA-4.0",
    "CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0", "Unlicense", "WTFPL", "Artistic-2.0", "Artistic-1.0", "PSF-2.0", "Python-2.0", "NCSA",
    "ECL-2.0", "PostgreSQL",
)  # fmt: skip
_BY_KEY = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in _IDS}
_FILLERS = re.compile(r"\b(?:the|gnu|licen[cs]e|version)\b|\bv(?=[0-9])|\+ *file .*|\(mit\)", re.IGNORECASE)


def may_name_a_licence(path: str) -> bool:
    """Return whether `licence_of` reads this file: in the top directory, or in LICENSES (REUSE)."""
    folder, _, name = path.rpartition("/")
    return folder.upper() in ("LICENSES", "LICENSE", "LICENCE") or (
        not folder and (_is_licence_name(name) or name in _METADATA)
    )


def licence_of(files: Mapping[str, bytes]) -> tuple[str | None, str | None]:
    """Return the SPDX id and the file that states it; (None, None) if no file mentions a licence, UNKNOWN for an unknown one.

    An SPDX tag counts most, then the licence text, then package metadata.
    """
    paths = (path for path in files if may_name_a_licence(path) and path not in _METADATA)
    texts = sorted(paths, key=_nearest_first)
    licences = [*_licences_in_texts(texts, files), *_licences_in_metadata(files)]
    known = [(licence, path) for licence, path in licences if licence]
    if known:
        return known[0]
    return (UNKNOWN, texts[0]) if texts else (UNKNOWN, licences[0][1]) if licences else (None, None)


def _licences_in_texts(texts: list[str], files: Mapping[str, bytes]) -> Iterator[tuple[str | None, str]]:
    for path in texts:
        text = files[path][:_MOST_READ].decode("utf-8", "replace")
        tag = _SPDX.search(text)
        yield (_parse_expression(tag[1]) if tag else None) or recognise_licence(text), path


def _licences_in_metadata(files: Mapping[str, bytes]) -> Iterator[tuple[str | None, str]]:
    for path, read in _METADATA.items():
        if path not in files:
            continue
        try:
            word = read(files[path][:_MOST_READ].decode("utf-8", "replace"))
        except (FormatError, ValueError, RecursionError):
            continue
        if isinstance(word, str) and word.strip():
            yield _parse_expression(word) or _id_of(word[:200]) or recognise_licence(word), path


def _id_of(name: str) -> str | None:
    """Return the SPDX id for an id or a common name, like `MIT License` or `GPL (>= 3)`."""
    key = re.sub(r"[^a-z0-9]", "", _FILLERS.sub("", name).lower())
    return _BY_KEY.get(key) or _BY_KEY.get(f"{key}0")


def _parse_expression(text: str) -> str | None:
    """Return an SPDX expression in canonical spelling; None if one of its ids is unknown."""
    plain = " ".join(text.split())[:200]
    if not _EXPRESSION.fullmatch(plain) or plain.count("(") != plain.count(")"):
        return None
    words = plain.split(" ")
    parts = []
    for number, word in enumerate(words):
        bare = word.strip("()")
        licence = _BY_KEY.get(re.sub(r"[^a-z0-9]", "", bare.lower()))
        if number % 2 or (number and words[number - 1] == "WITH"):
            parts.append(word)
        elif licence is None:
            return None
        else:
            parts.append(word.replace(bare, licence + ("+" if bare.endswith("+") else "")))
    return " ".join(parts)


def _of_pyproject(text: str) -> object:
    licence = _as_table(tomllib.loads(text).get("project")).get("license")
    return licence if isinstance(licence, str) else _as_table(licence).get("text")


def _of_package(text: str) -> object:
    licence = _as_table(parse_json(text.encode())).get("license")
    return licence if isinstance(licence, str) else _as_table(licence).get("type")


def _of_cargo(text: str) -> object:
    return _as_table(tomllib.loads(text).get("package")).get("license")


def _of_description(text: str) -> object:
    match = re.search(r"^License:[ \t]*(.{1,200})$", text, re.MULTILINE)
    return match[1] if match else None


_METADATA: Mapping[str, Callable[[str], object]] = {
    "pyproject.toml": _of_pyproject,
    "package.json": _of_package,
    "Cargo.toml": _of_cargo,
    "DESCRIPTION": _of_description,
}


def _as_table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_licence_name(name: str) -> bool:
    stem = re.split(r"[._-]", name, maxsplit=1)[0]
    ending = re.search(r"\.[a-z]+$", name.lower())
    return bool(_TEXT.fullmatch(stem)) and (ending is None or ending[0] in _PLAIN_ENDINGS or len(ending[0]) > 5)


def _nearest_first(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2].lower()
    kind = next((rank for rank, start in enumerate(("licen", "unlicen", "copying")) if name.startswith(start)), 3)
    return path.count("/") * 10 + kind, len(name), path


_LONGEST = 60_000
_NOT_A_WORD = re.compile(r"[^a-z0-9.]+")


class _LicenceText(NamedTuple):
    """A licence, and what its text says and does not say: in small letters, words with single blanks, no marks."""

    licence: str
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


_MIT = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE = "the above copyright notice and this permission notice"
_BSD = "redistributions in binary form must reproduce the above copyright notice"
_BSD_START = "redistribution and use in source and binary forms"
_TEXT_NAMES = r"endorse or promote products"
_LIMITED_USE = ("noncommercial", "non commercial")
_ISC = (
    "permission to use copy modify and {}distribute this software for any purpose with or without fee is hereby granted"
)
_ISC_NOTICE = "provided that the above copyright notice"
_PRINTS = (
    _LicenceText("AGPL-3.0", ("gnu affero general public license", "version 3")),
    _LicenceText("LGPL-3.0", ("gnu lesser general public license", "version 3",
        "incorporates the terms and conditions of version 3")),
    _LicenceText("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    _LicenceText("LGPL-2.0", ("gnu library general public license", "version 2")),
    _LicenceText("GPL-3.0", ("gnu general public license", "version 3 29 june 2007")),
    _LicenceText("GPL-2.0", ("gnu general public license", "version 2 june 1991")),
    _LicenceText("Apache-2.0", ("apache license", "version 2.0", "terms and conditions for use reproduction and distribution")),
    _LicenceText("Apache-2.0", ("licensed under the apache license version 2.0",)),
    _LicenceText("MPL-2.0", ("mozilla public license version 2.0", "covered software")),
    _LicenceText("MPL-2.0", ("subject to the terms of the mozilla public license v. 2.0",)),
    _LicenceText("EPL-2.0", ("eclipse public license v 2.0", "recipient")),
    _LicenceText("Artistic-2.0", ("the artistic license 2.0", "standard version")),
    _LicenceText("CC-BY-NC-SA-4.0", ("attribution noncommercial sharealike 4.0 international",)),
    _LicenceText("CC-BY-NC-ND-4.0", ("attribution noncommercial noderivatives 4.0 international",)),
    _LicenceText("CC-BY-NC-4.0", ("attribution noncommercial 4.0 international",)),
    _LicenceText("CC-BY-SA-4.0", ("attribution sharealike 4.0 international",)),
    _LicenceText("CC-BY-ND-4.0", ("attribution noderivatives 4.0 international",)),
    _LicenceText("CC-BY-4.0", ("attribution 4.0 international",)),
    _LicenceText("CC0-1.0", ("cc0 1.0 universal",)),
    _LicenceText("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    _LicenceText("BSL-1.0", ("boost software license version 1.0",)),
    _LicenceText("WTFPL", ("do what the fuck you want to public license",)),
    _LicenceText("Zlib", ("altered source versions must be plainly marked as such",
        "the origin of this software must not be misrepresented")),
    _LicenceText("BSD-4-Clause", (_BSD_START, _BSD, "all advertising materials mentioning features or use")),
    _LicenceText("BSD-3-Clause-Clear", (_BSD_START, _BSD, "no express or implied licenses to any party s patent rights")),
    _LicenceText("BSD-3-Clause", (_BSD_START, _BSD, _TEXT_NAMES), _LIMITED_USE),
    _LicenceText("BSD-2-Clause", (_BSD_START, _BSD), (_TEXT_NAMES, "neither the name", *_LIMITED_USE)),
    _LicenceText("MIT", (_MIT, _MIT_NOTICE), (*_LIMITED_USE, "except as contained in this notice")),
    _LicenceText("X11", (_MIT, _MIT_NOTICE, "except as contained in this notice"), _LIMITED_USE),
    _LicenceText("MIT-0", (_MIT, "the software is provided as is"),
        ("the above copyright notice", *_LIMITED_USE, "subject to the following")),
    _LicenceText("ISC", (_ISC.format("or "), _ISC_NOTICE)),
    _LicenceText("ISC", (_ISC.format(""), _ISC_NOTICE)),
    _LicenceText("0BSD", ("for any purpose with or without fee is hereby granted",), ("provided that the above",)),
)  # fmt: skip
"""In the order of matching: a licence that quotes another one goes before it."""


def recognise_licence(text: str) -> str | None:
    """Return the SPDX id of a licence text; None if it is unknown, or was changed in what it permits."""
    words = _NOT_A_WORD.sub(" ", text[:_LONGEST].lower().replace("non-commercial", "noncommercial"))
    words = re.sub(r"\.(?= |$)", "", words)
    matches = [
        (words.find(pattern.says[0]), number, pattern.licence)
        for number, pattern in enumerate(_PRINTS)
        if all(phrase in words for phrase in pattern.says) and not any(phrase in words for phrase in pattern.never)
    ]
    # Licences name each other further down, and other people's often follow one's own.
    return min(matches)[2] if matches else None
