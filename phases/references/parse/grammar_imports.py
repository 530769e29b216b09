"""What an import says, taken from its text in the languages that a grammar reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phases.references.parse.parsed import Import

_LONGEST = 10_000
_MOST_NAMES = 500
_INCLUDE = re.compile(r"#\s*(?:include|import)\w*\s*[<\"]([^>\"\n]+)[>\"]")
_STRING = re.compile(r"""["'`]([^"'`\n]+)["'`]""")
_BRACES = re.compile(r"\{([^{}]*)\}")
_DEFAULT = re.compile(r"(?:import|export)\s+(?:type\s+)?([\w$]+)\s*(?:,|from)")
_JAVA = re.compile(r"import\s+(static\s+)?([\w$]+(?:\.[\w$]+)*)\s*(\.\s*\*)?")
_PYTHON = re.compile(r"from\s*([.\w]+)\s*import\s*(.*)", re.DOTALL)


def imports_in(language: str, text: str, line: int) -> Iterator[Import]:
    """The imports that a statement makes, in its order."""
    text = text[:_LONGEST]
    if language in ("c", "cpp", "cuda"):
        return _c(text, line)
    if language in ("javascript", "typescript", "tsx"):
        return _script(text, line)
    if language == "java":
        return _java(text, line)
    if language == "go":
        return (Import(found[1], (), line) for found in _STRING.finditer(text))
    if language == "rust":
        return _rust(text, line)
    if language == "julia":
        return _julia(text, line)
    return _python(text, line)


def _c(text: str, line: int) -> Iterator[Import]:
    if found := _INCLUDE.match(text):
        yield Import(found[1].strip(), (), line)


def _script(text: str, line: int) -> Iterator[Import]:
    strings = list(_STRING.finditer(text))
    if not strings:
        return
    names: list[str] = []
    if text.startswith(("import", "export")):
        if default := _DEFAULT.match(text):
            names.append(default[1])
        if braces := _BRACES.search(text):
            names += _listed(braces[1])
    yield Import(strings[-1][1] if names else strings[0][1], tuple(names[:_MOST_NAMES]), line)


def _java(text: str, line: int) -> Iterator[Import]:
    if found := _JAVA.match(text):
        if found[3]:
            yield Import(found[2], ("*",), line)
        elif found[1]:
            module, _, name = found[2].rpartition(".")
            yield Import(module, (name,), line)
        else:
            yield Import(found[2], (), line)


def _rust(text: str, line: int) -> Iterator[Import]:
    """`use a::{b, c::d}` is two imports: `a::b` and `a::c::d`; `mod x;` is one of `self::x`, which is where its file is."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"^(?:\s*#!?\[[^\]]*\])*\s*(?:pub(?:\s*\([^)]*\))?\s+)?", "", text).rstrip("; \n")
    word, _, rest = text.partition(" ")
    if word == "mod":
        yield Import(f"self::{rest.strip()}", (), line)
    elif word == "extern":
        yield Import(rest.removeprefix("crate").split(" as ")[0].strip(), (), line)
    else:
        for path in _rust_paths(" ".join(rest.split())):
            yield Import(path, (), line)


def _rust_paths(tree: str) -> list[str]:
    """The paths of a tree of uses; a stack instead of recursion, for the tree is a stranger's."""
    paths: list[str] = []
    prefixes, current = [""], ""
    for part in re.findall(r"[{},]|[^{},]+", tree):
        if part == "{":
            prefixes.append(prefixes[-1] + current.strip())
            current = ""
        elif part in ",}":
            _add(paths, prefixes[-1], current)
            current = ""
            if part == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            current = part
        if len(paths) >= _MOST_NAMES or len(prefixes) > 50:
            return paths
    _add(paths, prefixes[-1], current)
    return paths


def _add(paths: list[str], prefix: str, name: str) -> None:
    name = name.split(" as ")[0].strip()
    if name:
        path = prefix.rstrip(":") if name == "self" and prefix else prefix + name
        paths.append(path.replace(" ", "")[:300])


def _julia(text: str, line: int) -> Iterator[Import]:
    if text.startswith("include"):
        if found := _STRING.search(text):
            yield Import(found[1], (), line)
        return
    _, _, rest = text.partition(" ")
    module, colon, names = rest.partition(":")
    if colon:
        yield Import(module.strip(), tuple(_listed(names)[:_MOST_NAMES]), line)
        return
    for part in rest.split(",")[:_MOST_NAMES]:
        if name := part.split(" as ")[0].strip():
            yield Import(name[:300], (), line)


def _python(text: str, line: int) -> Iterator[Import]:
    if found := _PYTHON.match(text):
        yield Import(found[1], tuple(_listed(found[2].strip("() \n"))[:_MOST_NAMES]), line)
        return
    for name in _listed(text.removeprefix("import"))[:_MOST_NAMES]:
        yield Import(name, (), line)


def _listed(text: str) -> list[str]:
    """The names in a list of names, without what they are called here."""
    names = (re.split(r"\s+as\s+|\s*:\s*", part.strip())[0].removeprefix("type ").strip() for part in text.split(","))
    return [name[:200] for name in names if name]
