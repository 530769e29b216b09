"""Recognises the texts of licences by phrases that no other has."""

from __future__ import annotations

import re
from typing import NamedTuple

_LONGEST = 60_000
_NOT_A_WORD = re.compile(r"[^a-z0-9.]+")


class _Print(NamedTuple):
    """A licence, and what its text says and does not say: in small letters, words with single blanks, no marks."""

    licence: str
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


_MIT = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE = "the above copyright notice and this permission notice"
_BSD = "redistributions in binary form must reproduce the above copyright notice"
_BSD_START = "redistribution and use in source and binary forms"
_NAMES = r"endorse or promote products"
_PRINTS = (
    _Print("AGPL-3.0", ("gnu affero general public license", "version 3")),
    _Print(
        "LGPL-3.0",
        ("gnu lesser general public license", "version 3", "incorporates the terms and conditions of version 3"),
    ),
    _Print("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    _Print("LGPL-2.0", ("gnu library general public license", "version 2")),
    _Print("GPL-3.0", ("gnu general public license", "version 3 29 june 2007")),
    _Print("GPL-2.0", ("gnu general public license", "version 2 june 1991")),
    _Print(
        "Apache-2.0", ("apache license", "version 2.0", "terms and conditions for use reproduction and distribution")
    ),
    _Print("Apache-2.0", ("licensed under the apache license version 2.0",)),
    _Print("MPL-2.0", ("mozilla public license version 2.0", "covered software")),
    _Print("MPL-2.0", ("subject to the terms of the mozilla public license v. 2.0",)),
    _Print("EPL-2.0", ("eclipse public license v 2.0", "recipient")),
    _Print("Artistic-2.0", ("the artistic license 2.0", "standard version")),
    _Print("CC-BY-NC-SA-4.0", ("attribution noncommercial sharealike 4.0 international",)),
    _Print("CC-BY-NC-ND-4.0", ("attribution noncommercial noderivatives 4.0 international",)),
    _Print("CC-BY-NC-4.0", ("attribution noncommercial 4.0 international",)),
    _Print("CC-BY-SA-4.0", ("attribution sharealike 4.0 international",)),
    _Print("CC-BY-ND-4.0", ("attribution noderivatives 4.0 international",)),
    _Print("CC-BY-4.0", ("attribution 4.0 international",)),
    _Print("CC0-1.0", ("cc0 1.0 universal",)),
    _Print("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    _Print("BSL-1.0", ("boost software license version 1.0",)),
    _Print("WTFPL", ("do what the fuck you want to public license",)),
    _Print(
        "Zlib",
        (
            "altered source versions must be plainly marked as such",
            "the origin of this software must not be misrepresented",
        ),
    ),
    _Print("BSD-4-Clause", (_BSD_START, _BSD, "all advertising materials mentioning features or use")),
    _Print("BSD-3-Clause-Clear", (_BSD_START, _BSD, "no express or implied licenses to any party s patent rights")),
    _Print("BSD-3-Clause", (_BSD_START, _BSD, _NAMES), ("noncommercial", "non commercial")),
    _Print("BSD-2-Clause", (_BSD_START, _BSD), (_NAMES, "neither the name", "noncommercial", "non commercial")),
    _Print("MIT", (_MIT, _MIT_NOTICE), ("noncommercial", "non commercial", "except as contained in this notice")),
    _Print("X11", (_MIT, _MIT_NOTICE, "except as contained in this notice"), ("noncommercial", "non commercial")),
    _Print(
        "MIT-0",
        (_MIT, "the software is provided as is"),
        ("the above copyright notice", "noncommercial", "non commercial", "subject to the following"),
    ),
    _Print(
        "ISC",
        (
            "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted",
            "provided that the above copyright notice",
        ),
    ),
    _Print(
        "ISC",
        (
            "permission to use copy modify and distribute this software for any purpose with or without fee is hereby granted",
            "provided that the above copyright notice",
        ),
    ),
    _Print("0BSD", ("for any purpose with or without fee is hereby granted",), ("provided that the above",)),
)
"""In the order in which they are tried: what names another licence in its own text goes before that one."""


def recognised(text: str) -> str | None:
    """The SPDX id of a licence's text, or None. A licence changed in what it permits is not taken for what it was."""
    words = _NOT_A_WORD.sub(" ", text[:_LONGEST].lower().replace("non-commercial", "noncommercial"))
    words = re.sub(r"\.(?= |$)", "", words)
    found = [
        (words.find(row.says[0]), number, row.licence)
        for number, row in enumerate(_PRINTS)
        if all(phrase in words for phrase in row.says) and not any(phrase in words for phrase in row.never)
    ]
    # Licences name each other further down, and other people's often follow one's own.
    return min(found)[2] if found else None
