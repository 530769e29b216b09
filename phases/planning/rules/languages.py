"""Find the programming language that a request names."""

from __future__ import annotations

import re

PYTHON = "Python"
_BARE = {
    "TypeScript": "typescript",
    "JavaScript": r"javascript|node\.?js",
    "C++": r"c\+\+",
    "C#": "c#",
    "PHP": "php",
    "Kotlin": "kotlin",
    "Haskell": "haskell",
    "Scala": "scala",
    "Perl": "perl",
    "Lua": "lua",
    "Bash": "bash|shell script",
    "MATLAB": "matlab",
    "Fortran": "fortran",
    "OCaml": "ocaml",
    "Elixir": "elixir",
    "SQL": "sql",
}
"""Names that mean nothing else."""
_WORDS = "C|R|Go|Java|Rust|Ruby|Swift|Julia|HTML"
"""Names that mean something else, too: `in Go` and `a Go program` name the language."""
_THING = "program|tool|library|package|crate|module|app|application|service|server|code|script|page|command"
_NAMED = re.compile(
    rf"(?:\b(?:[Ii]n|[Uu]sing)\s+|用\s*)(?P<used>{_WORDS})(?![a-zA-Z0-9+#^²'-])"
    rf"|\b(?P<made>{_WORDS})\s+(?:command-line\s+)?(?:{_THING})\b"
)
_PAGE = re.compile(
    r"\b(?:build|make|create|write|design|develop)\s+(?:me\s+)?(?:an?|the|my|our)\s+"
    r"(?:(?!that|which|to|for|of)[\w-]+\s+){0,3}(?:web ?(?:page|site|app)|landing page|react app)\b",
    re.IGNORECASE,
)


def language_of(text: str) -> str:
    """Return the language that a request names; without one JavaScript for a web page, else Python."""
    if re.search("python", text, re.IGNORECASE):
        return PYTHON
    for name, pattern in _BARE.items():
        if re.search(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", text, re.IGNORECASE):
            return name
    if found := _NAMED.search(text):
        return found["used"] or found["made"]
    return "JavaScript" if _PAGE.search(text) else PYTHON
