"""Environments as such: which one begins, what it is made of, and those whose inside is no text."""

from __future__ import annotations

from phases.readers.latex.lists import on_theorem
from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import Act, Walk

_ARGUMENTS = {"minipage": 1, "multicols": 1, "adjustbox": 1, "spacing": 1, "adjustwidth": 2, "textblock": 1, "wrapfig": 2,
              "subequations": 0, "columns": 0, "column": 1, "mdframed": 0, "tcolorbox": 0, "threeparttable": 0, "varwidth": 1,
              "spacing*": 1, "strip": 0, "tablenotes": 0, "CJK": 2, "CJK*": 2, "otherlanguage": 1, "footnotesize": 0}  # fmt: skip
_NO_TEXT = ("tikzpicture", "pgfpicture", "picture", "CCSXML", "icmlauthorlist", "forest", "axis", "filecontents", "tikzcd",
            "overpic", "asy", "pspicture", "animateinline", "scaletikzpicturetowidth")  # fmt: skip
_INLINE = (
    "small",
    "footnotesize",
    "scriptsize",
    "bf",
    "it",
    "em",
    "sloppypar",
    "NoHyper",
    "document",
    "normalsize",
    "large",
)


def _on_begin(walk: Walk, lexeme: str) -> None:
    name = plain_of(walk.raw())
    if act := walk.rules.environments.get(name):
        act(walk, name)
    elif name in walk.known.theorems:
        on_theorem(walk, name)
    else:
        _on_transparent(walk, name)


def _on_transparent(walk: Walk, name: str) -> None:
    """An environment that only sets its text elsewhere."""
    walk.skip(_ARGUMENTS.get(name, 0))
    inline = name in _INLINE or walk.captures or walk.flow.kind == "algorithm" or walk.flow.prefix
    if inline:
        walk.push(name)
    else:
        walk.push_paragraph(name)


def _on_end(walk: Walk, lexeme: str) -> None:
    walk.close_until(plain_of(walk.raw()))


def _on_ignored(walk: Walk, name: str) -> None:
    """A drawing, or metadata."""
    walk.environment(name)


SCOPES: dict[str, Act] = {"\\begin": _on_begin, "\\end": _on_end}
SCOPE_ENVIRONMENTS: dict[str, Act] = {name + star: _on_ignored for name in _NO_TEXT for star in ("", "*")}
