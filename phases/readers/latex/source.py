"""Load the text files of a LaTeX paper by their names for each other, without comments, and with verbatim code set aside."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from phases.readers.latex.tokens import BLOCK_CODE, INLINE_CODE, tokenise
from phases.readers.reading import BROKEN, Unreadable

LARGEST_SOURCE = 12_000_000
"""Characters of a file; the rest is not read."""
_TEXT = (".tex", ".ltx", ".latex", ".sty", ".bbl", ".bib", ".tikz", ".txt", ".md", ".def", ".cfg")
_PREFERRED = ("main", "ms", "paper")
_NEAR = 0.8
"""A file with this share of the longest one's text is as good a main file."""
_CLASS = re.compile(r"^[^%\n]*\\document(?:class|style)", re.MULTILINE)
_BEGIN = re.compile(r"^[^%\n]*\\begin ?\{document\}", re.MULTILINE)
_INCLUDE = re.compile(r"\\(?:input|include|subfile|subfileinclude|InputIfFileExists) ?\{?([^\s{}\\%]{1,200})")
_CODE = "verbatim|verbatim*|Verbatim|BVerbatim|lstlisting|minted|alltt|filecontents|filecontents*|comment|spverbatim"
_SCAN = re.compile(
    r"\\begin ?\{(" + _CODE.replace("*", r"\*") + r")\}"
    r"|\\(verb|lstinline|mintinline|url|href|nolinkurl|path)(?![A-Za-z@])\*?|\\[\s\S]|%"
)
_LONGEST_WHITE = 300
# directly after another brace it is in a coloured box
_WHITE = re.compile(
    r"(?<!\{)\\textcolor ?(?:\[HTML\] ?\{[fF]{6}\}|\{white\}) ?\{([^{}]{1,5000})\}|\{ ?\\color ?\{white\} ?([^{}]{1,5000})\}"
)
_NOISE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_LONGEST_ADDRESS, _DEEPEST_ADDRESS = 2000, 8


class Sources:
    """Files of a paper; each text is read once. `code` holds the content of verbatim environments."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._tokens: dict[str, list[str]] = {}
        self._folded = {name.casefold(): name for name in sorted(files, reverse=True)}
        self.code: list[str] = []
        self.white: list[str] = []
        """Invisible words, set in white."""
        self.main = _main_file({name: decode_text(files[name]) for name in sorted(files) if _is_tex(name)})
        self.directory = posixpath.dirname(self.main)

    def find(self, name: str, directory: str = "", suffixes: tuple[str, ...] = (".tex", "")) -> str | None:
        """Return the file that an \\input in the main file means; None if it is missing or outside."""
        for base in dict.fromkeys((posixpath.join(self.directory, directory), directory, self.directory, "")):
            path = posixpath.normpath(posixpath.join(base, name))
            if name.startswith("/") or path.startswith(("/", "..")):
                continue
            for suffix in suffixes:
                found = self._folded.get((path + suffix).casefold())
                if found is not None and found.lower().endswith(_TEXT):
                    return found
        return None

    def tokens(self, name: str) -> list[str]:
        """Return a file's tokens without comments; of a part of another document, only those between its begin and end."""
        if name not in self._tokens:
            text = decode_text(self._files[name])
            if _BEGIN.search(text) and name != self.main:
                text = text.partition("\\begin{document}")[2].partition("\\end{document}")[0]
            self._tokens[name] = tokenise(_WHITE.sub(self._set_aside, clean_text(text, self.code)))
        return self._tokens[name]

    def _set_aside(self, match: re.Match[str]) -> str:
        self.white.append(" ".join((match.group(1) or match.group(2)).split())[:_LONGEST_WHITE])
        return " "

    def text(self, name: str) -> str:
        """Return a file's text."""
        return decode_text(self._files[name])

    def bibliography(self) -> str | None:
        """Return the .bbl of the paper: the main file's own, else the only one."""
        own = posixpath.splitext(self.main)[0] + ".bbl"
        others = [name for name in sorted(self._files) if name.lower().endswith(".bbl")]
        return own if own in self._files else others[0] if len(others) == 1 else None


def decode_text(raw: bytes) -> str:
    """Decode bytes as UTF-8, else as Windows-1252, without control characters."""
    raw = raw[: 4 * LARGEST_SOURCE]
    try:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(_NOISE)[:LARGEST_SOURCE]


def clean_text(text: str, code: list[str]) -> str:
    """Remove comments, collapse blanks, and move verbatim text to `code`."""
    parts: list[str] = []
    position = 0
    while match := _SCAN.search(text, position):
        parts.append(text[position : match.start()])
        position = match.end()
        if match.group(1):
            position = _set_code_aside(text, match, code, parts)
        elif match.group(2) in ("verb", "lstinline", "mintinline"):
            position = _set_inline_aside(text, match, code, parts)
        elif match.group(2):
            end = _address_end(text, position)
            parts.append(match.group() + text[position:end].replace("\\%", "%").replace("%", "\\%"))
            position = end
        elif match.group() == "%":
            position = _behind_comment(text, position, parts)
        else:
            parts.append(match.group())
    parts.append(text[position:])
    return _BLANKS.sub(lambda blank: "\n\n" if blank.group().count("\n") > 1 else " ", "".join(parts))


_BLANKS = re.compile(r"[ \t\n]+")
_INDENT = re.compile(r"[ \t]*")


def _behind_comment(text: str, position: int, parts: list[str]) -> int:
    end = text.find("\n", position)
    if end < 0:
        return len(text)
    indent = _INDENT.match(text, end + 1)
    position = indent.end() if indent else end + 1
    if text[position : position + 1] == "\n":
        parts.append("\n\n")
    return position


def _set_code_aside(text: str, match: re.Match[str], code: list[str], parts: list[str]) -> int:
    ending = f"\\end{{{match.group(1)}}}"
    end = text.find(ending, match.end())
    end = len(text) if end < 0 else end
    if not match.group(1).startswith(("comment", "filecontents")):
        first, feed, rest = text[match.end() : end].partition("\n")
        if feed or match.group(1) == "minted":
            first = re.sub(r"^\s*(?:\[[^\]]*\])?\s*(?:\{[^}]*\})?\s*", "", first)
        parts.append(f"{BLOCK_CODE}{len(code)}{BLOCK_CODE}")
        code.append((f"{first}\n{rest}" if first.strip() else rest).strip("\n").rstrip())
    return end + len(ending)


def _set_inline_aside(text: str, match: re.Match[str], code: list[str], parts: list[str]) -> int:
    position = match.end()
    if match.group(2) != "verb":
        option = re.compile(r"(?:\[[^\]\n]{0,200}\])?").match(text, position)
        position = option.end() if option else position
        if match.group(2) == "mintinline" and text.startswith("{", position):
            position = max(text.find("}", position, position + 100) + 1, position)
    mark = text[position : position + 1]
    line = text.find("\n", position)
    end = text.find("}" if mark == "{" else mark or "\n", position + 1, line if line >= 0 else len(text))
    if end < 0:
        return position
    parts.append(f"{INLINE_CODE}{len(code)}{INLINE_CODE}")
    code.append(text[position + 1 : end])
    return end + 1


def _address_end(text: str, position: int) -> int:
    if not text.startswith("{", position):
        return position
    end = position
    for _ in range(_DEEPEST_ADDRESS):
        end = text.find("}", end, position + _LONGEST_ADDRESS) + 1
        if not end:
            break
        if text.count("{", position, end) == text.count("}", position, end):
            return end
    return position


def _is_tex(name: str) -> bool:
    return name.lower().endswith((".tex", ".ltx", ".latex")) or "." not in posixpath.basename(name)


def _main_file(texts: dict[str, str]) -> str:
    """Return the main file: a whole document that no other file includes, and the longest of those."""
    if not texts:
        raise Unreadable(BROKEN, "it has no LaTeX file")
    includes = {name: set(_INCLUDE.findall(text)) for name, text in texts.items()}
    taken = {_stem_of(target) for targets in includes.values() for target in targets}
    whole = [name for name, text in texts.items() if _CLASS.search(text) and _BEGIN.search(text)]
    whole = whole or [name for name, text in texts.items() if "\\section" in text or "\\title" in text]
    if not whole:
        raise Unreadable(BROKEN, "no file in it is a LaTeX document; for plain TeX, give its PDF")
    free = [name for name in whole if _stem_of(name) not in taken and _stem_of(posixpath.basename(name)) not in taken]
    sizes = {name: _size_with_includes(name, texts, includes) for name in free or whole}
    longest = max(sizes.values())
    near = [name for name, size in sizes.items() if size >= _NEAR * longest]
    return min(near, key=lambda name: (_stem_of(posixpath.basename(name)) not in _PREFERRED, -sizes[name], name))


def _stem_of(name: str) -> str:
    return name.casefold().removeprefix("./").removesuffix(".tex").removesuffix(".ltx")


def _size_with_includes(name: str, texts: dict[str, str], includes: dict[str, set[str]]) -> int:
    by_stem = {_stem_of(other): other for other in texts}
    directory = posixpath.dirname(name)
    seen, waiting = {name}, [name]
    while waiting:
        for target in includes[waiting.pop()]:
            other = by_stem.get(_stem_of(posixpath.join(directory, target))) or by_stem.get(_stem_of(target))
            if other and other not in seen:
                seen.add(other)
                waiting.append(other)
    return sum(len(texts[other]) for other in seen)
