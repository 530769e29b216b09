"""Read environments: lists, theorems, transparent groups, and content without text."""

from __future__ import annotations

from phases.readers.latex.tokens import plain_of
from phases.readers.latex.walk import Act, Anchor, Items, Walk, one_line

_COUNTED = ("enumerate", "inparaenum", "compactenum", "asparaenum")
_LISTS = (
    *_COUNTED, "itemize", "description", "compactitem", "inparaitem", "compactdesc", "list", "trivlist", "asparaitem",
)  # fmt: skip
_USUAL = ("theorem", "lemma", "corollary", "proposition", "definition", "remark", "example", "assumption", "claim", "conjecture",
          "fact", "observation", "property", "problem", "hypothesis", "condition", "note", "question", "axiom")  # fmt: skip
_MOST_KINDS = 200
_ARGUMENTS = {"minipage": 1, "multicols": 1, "adjustbox": 1, "spacing": 1, "adjustwidth": 2, "textblock": 1, "wrapfig": 2,
              "subequations": 0, "columns": 0, "column": 1, "mdframed": 0, "tcolorbox": 0, "threeparttable": 0, "varwidth": 1,
              "spacing*": 1, "strip": 0, "tablenotes": 0, "CJK": 2, "CJK*": 2, "otherlanguage": 1, "footnotesize": 0}  # fmt: skip
_NO_TEXT = ("tikzpicture", "pgfpicture", "picture", "CCSXML", "icmlauthorlist", "forest", "axis", "filecontents", "tikzcd",
            "overpic", "asy", "pspicture", "animateinline", "scaletikzpicturetowidth")  # fmt: skip
_INLINE = (
    "small", "footnotesize", "scriptsize", "bf", "it", "em", "sloppypar", "NoHyper", "document", "normalsize", "large",
)  # fmt: skip


def _open_list(walk: Walk, name: str) -> None:
    walk.option()
    if name == "list":
        walk.raw()
        walk.raw()
    walk.end_paragraph()
    walk.lists.append(Items(name.rstrip("*")))

    def close(_: str) -> None:
        walk.lists.pop()
        if not walk.captures:
            walk.flush()
            walk.flow.prefix = ""

    walk.push(name, close)


def _on_item(walk: Walk, lexeme: str) -> None:
    current = walk.lists[-1] if walk.lists else Items("itemize")
    counted = current.kind in _COUNTED and not walk.follows("[")
    current.count += counted
    mark = f"{current.count}. " if counted else "- "
    if walk.captures:
        walk.out.append(f" {mark}")
    elif walk.flow.kind == "algorithm":
        walk.flush()
    else:
        walk.flush()
        walk.flow.prefix = "  " * (min(len(walk.lists), 6) - 1) + mark
    if counted:
        walk.anchor = Anchor("item", str(current.count))
    named = current.kind in ("description", "compactdesc")

    def close(text: str) -> None:
        words = " ".join(text.split())
        if any(letter.isalnum() for letter in words):
            walk.out.append(f"**{words}** " if named and "**" not in words else f"{words} ")

    walk.capture(close, bracket=True)


def _new_theorem(walk: Walk, lexeme: str) -> None:
    name = walk.word()
    shared = "".join(walk.option() or [])
    title = walk.word()
    within = "".join(walk.option() or [])
    known = walk.known
    if len(known.theorems) >= _MOST_KINDS:
        return
    counter = known.theorems.get(shared, ("", shared))[1] if shared else name
    known.theorems[name] = (title, "" if lexeme.endswith("*") else counter)
    if within and within != counter:
        known.counters.within[counter] = within


def on_theorem(walk: Walk, name: str) -> None:
    """Open a theorem, lemma and the like: its paragraph begins with name and number in bold."""
    title, counter = walk.known.theorems.get(name, (name.rstrip("*").capitalize(), "" if name.endswith("*") else name))
    _open_theorem(walk, name, title, counter)


def _on_restatable(walk: Walk, name: str) -> None:
    option = walk.option()
    kind = walk.word()
    walk.raw()
    title, counter = walk.known.theorems.get(kind, (kind.capitalize(), kind))
    if option:
        title = f"{title} ({''.join(lexeme for lexeme in option if lexeme[0] not in chr(92) + '{}$')})"
    _open_theorem(walk, name, title, counter)


def _open_theorem(walk: Walk, name: str, title: str, counter: str) -> None:
    walk.push_paragraph(name)
    number = walk.known.counters.step(counter) if counter else ""
    if number:
        walk.anchor = Anchor(title.lower(), number)
    head = f"{title} {number}".strip()
    if walk.follows("["):
        walk.capture(lambda text: walk.out.append(f"**{head} ({' '.join(text.split())}).** "), plain=True, bracket=True)
    else:
        walk.out.append(f"**{head}.** " if head else "")


def _on_proof(walk: Walk, name: str) -> None:
    walk.push_paragraph(name)
    if walk.follows("["):
        walk.capture(lambda text: walk.out.append(f"**{one_line(text).rstrip('.')}.** "), plain=True, bracket=True)
    else:
        walk.out.append("**Proof.** ")


def _on_begin(walk: Walk, lexeme: str) -> None:
    name = plain_of(walk.raw())
    if act := walk.rules.environments.get(name):
        act(walk, name)
    elif name in walk.known.theorems:
        on_theorem(walk, name)
    else:
        _on_transparent(walk, name)


def _on_transparent(walk: Walk, name: str) -> None:
    walk.skip(_ARGUMENTS.get(name, 0))
    inline = name in _INLINE or walk.captures or walk.flow.kind == "algorithm" or walk.flow.prefix
    if inline:
        walk.push(name)
    else:
        walk.push_paragraph(name)


def _on_end(walk: Walk, lexeme: str) -> None:
    walk.close_until(plain_of(walk.raw()))


def _on_ignored(walk: Walk, name: str) -> None:
    walk.environment(name)


LISTS: dict[str, Act] = {"\\item": _on_item}
THEOREMS: dict[str, Act] = {"\\newtheorem": _new_theorem, "\\spnewtheorem": _new_theorem}
LIST_ENVIRONMENTS: dict[str, Act] = {
    **{name + star: _open_list for name in _LISTS for star in ("", "*")},
    **{name + star: on_theorem for name in _USUAL for star in ("", "*")},
    "proof": _on_proof,
    "restatable": _on_restatable,
    "restatable*": _on_restatable,
}
SCOPES: dict[str, Act] = {"\\begin": _on_begin, "\\end": _on_end}
SCOPE_ENVIRONMENTS: dict[str, Act] = {name + star: _on_ignored for name in _NO_TEXT for star in ("", "*")}
