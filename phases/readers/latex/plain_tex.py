"""Turns a paper in plain TeX or AmS-TeX, written without \\documentclass, into the LaTeX that the reader knows. Nothing is run.

What plain TeX says of the look of a page is left out; what it says of structure (\\beginsection, \\proclaim, a line in bold that
stands alone) becomes LaTeX's command for it. A macro whose arguments end in text, such as `\\def\\head#1. #2\\par`, gets braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

_CLASS = re.compile(
    r"^[^%\n]{0,200}\\(?:documentclass|documentstyle ?(?:\[|\{(?!amsppt))|begin ?\{document\})", re.MULTILINE
)
_PLAIN = re.compile(
    r"^[ \t]{0,20}\\(?:bye\b|beginsection\b|magnification\b|nopagenumbers\b|topmatter\b|input (?:amstex|eplain|harvmac)\b"
    r"|documentstyle ?\{amsppt\}|(?:center|left)line ?\{|proclaim\b|end[ \t]{0,20}$)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n?[ \t]*")
_END = re.compile(r"\\(?:bye|enddocument|end)(?![A-Za-z@{ ]|[ \t]*\{)")
_DIMENSION = r"-?(?:[0-9.]+ ?(?:true ?)?(?:pt|in|cm|mm|em|ex|pc|sp|bp|dd|cc|fil+)\b|[0-9]+|[0-9.]*\\[A-Za-z@]+)"
_GLUE = rf"{_DIMENSION}(?: ?plus ?{_DIMENSION})?(?: ?minus ?{_DIMENSION})?"
_REGISTERS = (
    "magnification|hsize|vsize|hoffset|voffset|parindent|parskip|baselineskip|normalbaselineskip|lineskip|lineskiplimit"
    "|tolerance|pretolerance|hbadness|vbadness|hfuzz|vfuzz|overfullrule|pageno|topskip|maxdepth|leftskip|rightskip|hangindent"
    "|hangafter|looseness|abovedisplayskip|belowdisplayskip|tabskip|mathsurround|widowpenalty|clubpenalty|interlinepenalty"
    "|parfillskip|spaceskip|displaywidth|advance ?\\\\[A-Za-z]+(?: ?by)?"
)
_ASSIGNMENT = re.compile(rf"\\(?:{_REGISTERS}) ?=? ?(?:\\magstep(?:half| ?[0-9])|{_GLUE})[ \t]?")
_FONT = re.compile(
    r"\\font ?\\?[A-Za-z@]+ ?=? ?[A-Za-z0-9]+(?: (?:scaled|at) ?(?:\\magstep(?:half| ?[0-9])|[0-9.]+ ?[a-z]*))?"
)
_NUMBER = r"(?:\"[0-9A-Fa-f]+|'[0-7]+|`\\?.|-?[0-9]+|\\[A-Za-z@]+)"
_CODES = re.compile(
    rf"\\(?:(?:cat|lc|uc|sf|math|del)code ?{_NUMBER} ?=? ?{_NUMBER}|(?:math)?chardef ?\\(?:[A-Za-z@]+|.) ?=? ?{_NUMBER}"
    rf"|(?:text|script|scriptscript)font ?{_NUMBER} ?=? ?\\[A-Za-z@]+|(?:skew|hyphen)char ?\\[A-Za-z@]+ ?=? ?{_NUMBER}"
    rf"|new(?:dimen|count|skip|box|toks|fam|read|write) ?\\[A-Za-z@]+|fam ?{_NUMBER}|char ?{_NUMBER})"
    r"|\\[hv]rule(?: ?(?:width|height|depth) ?[-0-9.]+ ?[a-z]{2})*"
)
_ANY_ASSIGNMENT = re.compile(
    rf"(?<!\\let)(?<!\\let )\\(?!let|def|[gex]def|ifx|tag)[A-Za-z@]{{4,30}} ?= ?(?:{_GLUE}|{_NUMBER})"
)
_FORMULA = re.compile(r"(\$\$.{1,5000}?\$\$|(?<!\\)\$[^$]{1,1000}\$)", re.DOTALL)
_PENALTY = re.compile(r"\\penalty ?-?(?:[0-9]+|\\[A-Za-z]+)")
_ACROSS = re.compile(rf"\\(?:hskip|kern|mkern|hglue) ?{_GLUE}|\\(?:hfil+|hss|hfilneg)(?![A-Za-z])")
_BREAK = re.compile(
    rf"\\(?:vskip|vglue) ?{_GLUE}|\\(?:bigskip|medskip|smallskip|bigbreak|medbreak|smallbreak|goodbreak|filbreak|eject|supereject"
    r"|vfil+|vss|break|nobreak|hrule|endinsert|nopagenumbers|raggedbottom|topmatter|endtopmatter|document)(?![A-Za-z])"
)
_OUTPUT = ("headline", "footline", "output", "everypar", "everymath", "everydisplay", "footnoterule")
_INSERT = re.compile(r"\\(?:topinsert|midinsert|pageinsert)(?![A-Za-z])")
_PARAGRAPH = r"(?=\\par(?![A-Za-z])|\n[ \t]*\n|\Z)"
_SECTION = re.compile(rf"\\beginsection(?![A-Za-z]) *(.{{1,300}}?){_PARAGRAPH}", re.DOTALL)
_PROCLAIM = re.compile(rf"\\proclaim(?![A-Za-z]) *([^{{\n].{{0,100}}?)\.\s(.*?){_PARAGRAPH}", re.DOTALL)
_AMS = (
    (re.compile(r"\\title(?![A-Za-z])(.{1,500}?)\\endtitle", re.DOTALL), r"\\title{\1}"),
    (re.compile(r"\\author(?![A-Za-z])(.{1,500}?)\\endauthor", re.DOTALL), r"\\author{\1}"),
    (re.compile(r"\\(?:head|heading)(?![A-Za-z])(.{1,300}?)\\end(?:head|heading)", re.DOTALL), r"\n\n\\PlainHead{\1}\n\n"),
    (re.compile(r"\\(?:sub)+head(?:ing)?(?![A-Za-z])(.{1,300}?)\\end(?:sub)+head(?:ing)?", re.DOTALL), r"\n\n\\textbf{\1} "),
    (re.compile(r"\\abstract(?![A-Za-z{])(.{1,5000}?)\\endabstract", re.DOTALL), r"\\begin{abstract}\1\\end{abstract}"),
    (re.compile(r"\\(?:proclaim|demo|definition|remark) ?\{([^{}]{1,200})\}"), r"\n\n\\textbf{\1.} "),
    (re.compile(r"\\end(?:proclaim|demo|definition|remark)(?![A-Za-z])"), "\n\n"),
    (re.compile(r"\\(?:address|affil|email|thanks|date|keywords|subjclass)(?![A-Za-z])(.{0,800}?)\\end[a-z]+", re.DOTALL), " "),
)  # fmt: skip
_EQUATION_NUMBER = re.compile(r"\\l?eqno ?(?:\{(?:\\rm )?)?\(?([0-9A-Za-z.*'-]{1,12})\)?\}?")
_ROWS = (
    ("eqalignno", "aligned"), ("leqalignno", "aligned"), ("eqalign", "aligned"), ("displaylines", "gathered"),
    ("cases", "cases"), ("pmatrix", "pmatrix"), ("matrix", "matrix"), ("bordermatrix", "matrix"),
)  # fmt: skip
_TAGGED = re.compile(r"\$\$((?:[^$]|\\\$){1,5000}?)(\\tag\{[^{}]*\})\s*\$\$")
_BOXED_TABLE = re.compile(r"\$\$\s*\\vbox ?\{\s*(\\begin\{tabular\}.{1,20000}?\\end\{tabular\})\s*\}\s*\$\$", re.DOTALL)
_LINES = ("centerline", "leftline", "rightline", "line")
_FACES = re.compile(r"\\(?:bf|rm|it|sl|tt|sc|caps|smc|[a-z]{0,12}(?:font|bf|bold|rm))(?![A-Za-z])|\\/")
_LINE_ALONE = re.compile(r"\s*\\PlainLine ?\{(.*)\}\s*", re.DOTALL)
_BOLD_LINE = re.compile(
    r"\s*(?:\\noindent ?)?\{ ?(?:\\[a-z]{0,8}(?:bf|bold|font)|\\bf|\\sc|\\caps) ?([^{}]{2,150})\}[.:]?\s*\Z"
)
_HEADING_BODY = re.compile(r"\\(?:bigskip|medskip|bigbreak|medbreak|vskip|goodbreak|centerline|leftline)(?![A-Za-z])")
_NUMBERED = re.compile(r"\s*(?:\\S ?)?([0-9]{1,2}(?:\.[0-9]{1,2}){0,3})(?:\.|\b)\s*(.*)", re.DOTALL)
_DEFINITION = re.compile(r"\\[gex]?def ?\\([A-Za-z]+)((?:[^{}\\\n]|\\par(?![A-Za-z])|\\[.,; ]){0,60})\{")
_LONGEST_ARGUMENT = 500
_MOST_MACROS = 200
_MACHINERY = 0.6
_LETTERS = re.compile(r"[^\W\d_]")


def is_plain_tex(text: str) -> bool:
    """Whether a text is a paper of its own in plain TeX or AmS-TeX, and no LaTeX."""
    return not _CLASS.search(text) and bool(_PLAIN.search(text))


def convert_plain_tex(text: str, *, whole: bool = True) -> str:
    """The same paper as LaTeX; with `whole` unset, a file that it takes in."""
    text = _COMMENT.sub(r"\1", text)
    text = text[: end.start()] if (end := _END.search(text)) else text
    text = _with_braces(text if whole or not _is_machinery(text) else _definitions_of(text))
    for pattern, instead in _AMS:
        text = pattern.sub(instead, text)
    text = _SECTION.sub(r"\n\n\\PlainHead{\1}\n\n", text)
    text = _PROCLAIM.sub(r"\n\n\\textbf{\1.} \2\n\n", text)
    for name in _OUTPUT:
        text = _replace_groups(text, rf"\\{name} ?=? ?", lambda _: "")
    text = _without_machinery(text)
    text = _BREAK.sub("\n\n", _ACROSS.sub(" ", text))
    text = _convert_displays(text)
    text = _replace_groups(
        text, r"\\v?footnote ?(?:\{[^{}]{0,30}\}|\$[^$]{0,30}\$|[^\s{}\\])? ?", lambda note: f"\\footnote{{{note}}}"
    )
    for name in _LINES:
        text = _replace_groups(text, rf"\\{name} ?", lambda line: f"\n\n\\PlainLine{{{line}}}\n\n")
    return _compose(re.split(r"\n[ \t]*\n|\\par(?![A-Za-z])", text), whole=whole)


def _is_machinery(text: str) -> bool:
    """Whether a file that is taken in holds macros and nothing to read."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return sum(line.startswith(("\\", "}", "{")) for line in lines) > _MACHINERY * len(lines)


def _definitions_of(text: str) -> str:
    ends = ((found.start(), _group_end(text, found.end() - 1)) for found in _DEFINITION.finditer(text))
    return "\n".join(text[start:end] for start, end in ends if end > 0)


def _without_machinery(text: str) -> str:
    """The text without what sets registers, codes and fonts. Outside of formulas alone: there `=` is a relation."""
    pieces = _FORMULA.split(text)
    for index in range(0, len(pieces), 2):
        for pattern in (_FONT, _CODES, _ASSIGNMENT, _PENALTY, _INSERT, _ANY_ASSIGNMENT):
            pieces[index] = pattern.sub(" ", pieces[index])
    return "".join(pieces)


def _with_braces(text: str) -> str:
    """The text where macros with other text between their parameters are used with braces; macros of headings are headings."""
    place = 0
    for _ in range(_MOST_MACROS):
        found = _DEFINITION.search(text, place)
        end = _group_end(text, found.end() - 1) if found else -1
        if not found or end < 0:
            break
        place = found.end()
        name, pattern, body = found[1], found[2], text[found.end() : end - 1]
        parameters = re.findall("#[0-9]", pattern)
        heads = _HEADING_BODY.search(body) and _FACES.search(body) and len(body) < _LONGEST_ARGUMENT
        if not parameters or not (heads or "".join(parameters) != pattern.strip()):
            continue
        body = f"\\PlainHead{{{' '.join(parameters)}}}" if heads else body
        given = f"\\def\\{name}{''.join(parameters)}{{{body}}}"
        rest = text[end:]
        if "".join(parameters) != pattern.strip():
            rest = _brace_uses(rest, name, pattern, len(parameters))
        place = found.start() + len(given)
        text = text[: found.start()] + given + rest
    return text


def _brace_uses(text: str, name: str, pattern: str, count: int) -> str:
    pieces = re.split(r"#[0-9]", pattern)
    ends = "".join(rf"(.{{1,{_LONGEST_ARGUMENT}}}?){_delimiter(piece)}" for piece in pieces[1:])
    use = re.compile(rf"\\{name}(?![A-Za-z]) *{_delimiter(pieces[0])}{ends}", re.DOTALL)
    after = "\n\n" if "\\par" in pattern else ""
    groups = range(1, count + 1)
    return use.sub(lambda match: f"\\{name}" + "".join(f"{{{match[n].strip()}}}" for n in groups) + after, text)


def _delimiter(piece: str) -> str:
    """A pattern for what ends an argument; without any, it is one group or one sign, which is near enough to a word."""
    words = [re.escape(part.strip()) for part in piece.split("\\par")]
    return r"\s*(?:\\par(?![A-Za-z])|\n[ \t]*\n|\Z)".join(words) if "\\par" in piece else words[0]


def _convert_displays(text: str) -> str:
    text = _EQUATION_NUMBER.sub(r"\\tag{\1}", text)
    for name, environment in _ROWS:
        text = _replace_groups(
            text,
            rf"\\{name} ?",
            partial(_in_environment, environment),
        )
    text = _replace_groups(text, r"\\halign ?(?:to ?[^{]{1,30})?", _convert_table)
    text = _BOXED_TABLE.sub(r"\n\n\1\n\n", text)
    return _TAGGED.sub(r"\\begin{equation*}\1\2\\end{equation*}", text)


def _in_environment(name: str, rows: str) -> str:
    if name == "cases":
        # what stands behind the sign is words there
        rows = re.sub(r"&([^&\\]*)", r"&\\text{\1}", rows)
    return f"\\begin{{{name}}}{_rows(rows)}\\end{{{name}}}"


def _rows(text: str) -> str:
    return re.sub(r"\\cr(?:cr)?(?![A-Za-z])", r"\\\\", text).strip().removesuffix("\\\\")


def _convert_table(text: str) -> str:
    """An \\halign as a tabular: its first row says how columns look."""
    text = _replace_groups(text, r"\\noalign ?", lambda _: "")
    look, _, rows = _rows(text).partition("\\\\")
    columns = look.count("&") + 1
    rows = re.sub(r"\\(?:omit|strut|vrule(?: ?(?:width|height|depth) ?[^\s&]{1,12})*)(?![A-Za-z])", "", rows)
    return f"\n\n\\begin{{tabular}}{{{'l' * columns}}}{rows}\\end{{tabular}}\n\n"


def _compose(paragraphs: list[str], *, whole: bool) -> str:
    """The paragraphs as a LaTeX document: the first line that stands alone is the title, the next one the authors'."""
    has_title = not whole or any("\\title{" in one for one in paragraphs)
    wanted = [] if has_title else ["title", "author"]
    front: list[str] = []
    blocks: list[str] = []
    for paragraph in paragraphs:
        line = _LINE_ALONE.fullmatch(paragraph)
        inner = line[1].strip() if line else paragraph
        bold = _BOLD_LINE.match(inner if inner.startswith("{") or not line else f"{{{inner}}}")
        words = _words_of(bold[1] if bold else inner) if line or bold else ""
        at_top = len(wanted) and not any(_LETTERS.search(block) and "\\def" not in block for block in blocks)
        if at_top and _LETTERS.search(words) and not _NUMBERED.match(words) and (line or wanted[0] == "title"):
            front.append(f"\\{wanted.pop(0)}{{{words}}}")
        else:
            blocks.append(_heading(words) if bold else _with_list(paragraph.replace("\\PlainLine", "")))
    body = "\n\n".join(blocks)
    body = _replace_groups(body, r"\\PlainHead ?", lambda words: f"\n\n{_heading(words)}\n\n")
    if not whole:
        return body
    return "\n".join(["\\documentclass{article}", *front, "\\begin{document}", body, "\\end{document}"])


def _words_of(line: str) -> str:
    return " ".join(_FACES.sub("", line).replace("{", "").replace("}", "").split())


def _heading(words: str) -> str:
    number = _NUMBERED.match(words)
    if not number:
        return f"\\section*{{{words}}}"
    return f"\\{'sub' * min(number[1].count('.'), 2)}section*{{{number[1]} {number[2]}}}"


def _with_list(paragraph: str) -> str:
    """A paragraph with \\item{mark} in it, as a list."""
    if not re.search(r"\\item(?:item)? ?\{", paragraph):
        return paragraph
    before, *items = re.split(r"\\item(?:item)? ?(?=\{)", paragraph)
    rows = []
    for item in items:
        end = _group_end(item, 0)
        rows.append(f"\\item[{item[1 : end - 1]}] {item[end:].strip()}" if end > 0 else f"\\item {item}")
    return f"{before}\n\\begin{{description}}\n" + "\n".join(rows) + "\n\\end{description}"


def _replace_groups(text: str, command: str, change: Callable[[str], str]) -> str:
    """The text with each such command and the group in braces behind it changed; `change` gets what stands in the braces."""
    return "".join(_pieces(text, re.compile(command + r"(?=\{)"), change))


def _pieces(text: str, pattern: re.Pattern[str], change: Callable[[str], str]) -> Iterator[str]:
    place = 0
    while found := pattern.search(text, place):
        end = _group_end(text, found.end())
        if end < 0:
            break
        yield text[place : found.start()] + change(text[found.end() + 1 : end - 1])
        place = end
    yield text[place:]


def _group_end(text: str, start: int) -> int:
    """Behind the brace that closes the one at `start`; -1 where none does."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += (found[0] == "{") - (found[0] == "}")
        if not depth and found[0] == "}":
            return found.end()
    return -1
