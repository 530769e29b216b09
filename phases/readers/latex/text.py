"""Read running text: groups, paragraphs, fonts, links, notes."""

from __future__ import annotations

import re
from functools import partial

from phases.readers.latex.tokens import PARAGRAPH
from phases.readers.latex.walk import Act, Walk, ignore_command, one_line

_MEASURES = (
    "vskip hskip kern itemsep parskip parindent baselineskip looseness penalty tolerance topsep parsep tabcolsep"
)
_SILENT = """
    maketitle small footnotesize scriptsize tiny large Large LARGE huge Huge normalsize centering raggedright raggedleft sc it
    em rm sl sf tt normalfont itshape upshape scshape mdseries rmfamily sffamily ttfamily noindent indent clearpage newpage
    cleardoublepage pagebreak bigskip medskip smallskip vfill hfil null protect onecolumn selectfont noalign boldmath break
    allowbreak nobreak sloppy fussy frenchspacing endhead endfirsthead endfoot endlastfoot nolinebreak nopagebreak flushbottom
    raggedbottom tableofcontents listoffigures listoftables doparttoc faketableofcontents parttoc appendixname immediate loop
    repeat IEEEpeerreviewmaketitle IEEEoverridecommandlockouts iclrfinalcopy nolinenumbers linenumbers begingroup endgroup
    bgroup egroup qed qedhere mainmatter backmatter frontmatter balance strut displaystyle textstyle phantomsection
"""
_TEXT_COMES_LAST = {
    0: "makebox framebox hyperref fbox mbox",
    1: "textcolor colorbox scalebox rotatebox parbox raisebox adjustbox foreignlanguage highlight minibox hypertarget bibinfo "
    "bibfield",
    2: "resizebox fcolorbox multirow textblock",
}
_WITHOUT_ARGUMENTS = {
    1: """
    vspace hspace includegraphics includesvg includepdf color bibliographystyle pagestyle thispagestyle hypersetup captionsetup
    phantom hphantom vphantom index todo pagenumbering newcounter usetikzlibrary lstset selectlanguage tikzset pgfplotsset
    geometry graphicspath author title icmltitle icmltitlerunning titlerunning authorrunning date thanks affiliation affil
    institute address email institution country city orcid orcidID authornote authornotemark ccsdesc icmlkeywords preprint
    printAffiliationsAndNotice rowcolor cellcolor columncolor arrayrulecolor theoremstyle received acmConference acmYear acmISBN
    acmDOI acmBooktitle acmPrice setcopyright copyrightyear acmJournal acmVolume acmNumber fontfamily fontseries fontshape
    linespread stepcounter refstepcounter newtoggle shorttitle shortauthors runningtitle runningauthor subtitle editor markright
    usepackage setcitestyle bibpunct citestyle addbibresource openout openin closeout special pdfinfo algsetup hyphenation
    marginpar setstretch pdfbookmark tocless ead cortext fntext corref fnref tnotetext journal IEEEmembership inst
    IEEEspecialpapernotice IEEEpubid conferenceinfo DeclareGraphicsExtensions vadjust hyperlink BibitemShut
    """,
    2: """
    setlength addtolength definecolor rule icmlaffiliation icmlauthor newtcolorbox icmlcorrespondingauthor icmlsetsymbol markboth
    colorlet settowidth fontsize SetKwProg setkeys lstdefinestyle lstdefinelanguage newcolumntype DeclareFontShape
    etocsettagdepth SetKwComment SetKwRepeat SetKwFor SetKwIF settoheight AtBeginEnvironment Crefname crefname
    """,
    3: "addcontentsline titlespacing newtcbox crefrangeformat DeclareCaptionLabelFormat",
}
_DIMENSION = re.compile(
    r" ?=? ?[+-]? ?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}) ?(?:pt|em|ex|in|cm|mm|bp|sp|mu|pc)?"
    r"(?: ?(?:plus|minus) ?[\d.]{1,9} ?(?:pt|em|ex|in|cm|mm|fill?|fil)?){0,2}"
)

_SIZE = re.compile(
    r" ?(?:to|spread|width|height|depth) ?[-+]?[0-9.]{0,12} ?(?P<unit>pt|em|ex|in|cm|mm|bp|sp|mu|pc)?(?![a-z])"
)
_MOST_SIZES = 3


def _open_group(walk: Walk, lexeme: str) -> None:
    walk.push("}")


def _close_group(walk: Walk, lexeme: str) -> None:
    if walk.frames and walk.frames[-1].closer == "}":
        walk.close()


def _close_bracket(walk: Walk, lexeme: str) -> None:
    if walk.frames and walk.frames[-1].closer == "]":
        walk.close()
    else:
        walk.out.append(lexeme)


def _end_paragraph(walk: Walk, lexeme: str) -> None:
    in_item = bool(walk.flow.prefix) or walk.flow.kind == "references"
    if walk.captures or in_item:
        walk.out.append(" ")
    else:
        walk.flush()


def _on_blank(walk: Walk, lexeme: str) -> None:
    walk.out.append(" ")


def bold_text(text: str) -> str:
    """Return bold Markdown; blanks at the ends stay outside."""
    words = text.strip()
    if not words or "**" in words or not any(letter.isalnum() for letter in words):
        return text
    return f"{text[: len(text) - len(text.lstrip())]}**{words}**{text[len(text.rstrip()) :]}"


def _on_bold(walk: Walk, lexeme: str) -> None:
    if not walk.plain and walk.flow.kind != "algorithm":
        walk.capture(lambda text: walk.out.append(bold_text(text)))


def _bold_from_here(walk: Walk, lexeme: str) -> None:
    frame = walk.frames[-1] if walk.frames else None
    if frame and frame.closer == "}" and not frame.close and not walk.plain and walk.flow.kind == "text":
        frame.close = lambda text: walk.out.append(bold_text(text))
        walk.grab()


def _write_text(walk: Walk, text: str) -> None:
    # look up `out` now: it is another list while an argument is collected
    walk.out.append(text)


def _on_typewriter(walk: Walk, lexeme: str) -> None:
    walk.capture(lambda text: _write_text(walk, text), literal=True)


def _on_address(walk: Walk, lexeme: str) -> None:
    url = walk.word()
    walk.out.append(url)
    walk.known.links.append((url, ""))


def _on_link(walk: Walk, lexeme: str) -> None:
    walk.option()
    url = walk.word()

    def close(text: str) -> None:
        words = one_line(text)
        walk.known.links.append((url, words))
        shown = words if walk.plain or not url or words == url else f"[{words or url}](<{url}>)"
        walk.out.append(shown.replace("(<", "(").replace(">)", ")") if not set("() <>") & set(url) else shown)

    walk.capture(close)


def _on_footnote(walk: Walk, lexeme: str) -> None:
    walk.option()
    if walk.plain:
        walk.raw()
        return
    walk.known.footnotes += 1
    number = walk.known.footnotes
    walk.out.append(f"[^{number}]")
    _note_text(walk, number)


def _note_text(walk: Walk, number: int) -> None:
    def close(text: str) -> None:
        walk.notes.append(f"[^{number}]: {one_line(text)}")

    walk.capture(close)


def _footnote_mark(walk: Walk, lexeme: str) -> None:
    if walk.option() is None and not walk.plain:
        walk.known.footnotes += 1
        walk.out.append(f"[^{walk.known.footnotes}]")


def _footnote_text(walk: Walk, lexeme: str) -> None:
    option = "".join(walk.option() or [])
    numbered = option.isdecimal() and option.isascii() and len(option) < 4
    _note_text(walk, int(option) if numbered else walk.known.footnotes)


def _on_sign(walk: Walk, lexeme: str) -> None:
    walk.out.append({"51": "✓", "52": "✓", "55": "✗", "56": "✗"}.get(walk.word(), "•"))


def _space_if_word(walk: Walk, lexeme: str) -> None:
    following = walk.tokens[walk.at][:1] if walk.at < len(walk.tokens) else ""
    if following.isalnum() or following in ("$", "(", "\\"):
        walk.out.append(" ")


def _on_brackets(walk: Walk, lexeme: str) -> None:
    if walk.follows("["):
        walk.at += 1
        walk.push("]")


def _text_or_math(walk: Walk, lexeme: str) -> None:
    def close(text: str) -> None:
        walk.out.append(text)
        walk.raw()

    walk.capture(close)


def _on_keywords(walk: Walk, lexeme: str) -> None:
    walk.capture(lambda text: walk.block("text", f"**Keywords.** {one_line(text)}"))


def _keep_last(count: int, walk: Walk, lexeme: str) -> None:
    walk.skip(count)


def _leave_out(count: int, walk: Walk, lexeme: str) -> None:
    for _ in range(count):
        walk.skip(0)
        walk.raw()


def _on_dimension(walk: Walk, lexeme: str) -> None:
    text = walk.tokens[walk.at] if walk.at < len(walk.tokens) else PARAGRAPH
    if match := _DIMENSION.match(text):
        rest = text[match.end() :]
        walk.tokens[walk.at] = rest or " "
    elif text.strip(" =-") == "" and text != PARAGRAPH and walk.tokens[walk.at + 1 : walk.at + 2] != ["{"]:
        walk.at += 1
        walk.raw()
    elif text[0] == "\\" and lexeme in ("\\vskip", "\\hskip", "\\kern"):
        walk.at += 1


def _on_box(walk: Walk, lexeme: str) -> None:
    for _ in range(_MOST_SIZES):
        text = walk.tokens[walk.at] if walk.at < len(walk.tokens) else PARAGRAPH
        match = _SIZE.match(text)
        if not match:
            return
        rest, follows = text[match.end() :], walk.tokens[walk.at + 1 : walk.at + 2]
        walk.tokens[walk.at] = rest or " "
        if not rest:
            walk.at += 1 + (not match["unit"] and bool(follows) and follows[0].startswith("\\"))


def _on_write(walk: Walk, lexeme: str) -> None:
    if walk.at < len(walk.tokens) and walk.tokens[walk.at].strip().lstrip(".").isalnum():
        walk.at += 1
    walk.raw()


LAYOUT: dict[str, Act] = {
    **{f"\\{name}": ignore_command for name in _SILENT.split()},
    **{
        f"\\{name}": partial(_leave_out, count) for count, names in _WITHOUT_ARGUMENTS.items() for name in names.split()
    },
    **{f"\\{name}": partial(_keep_last, count) for count, names in _TEXT_COMES_LAST.items() for name in names.split()},
    **{f"\\{name}": _on_dimension for name in _MEASURES.split()},
    **dict.fromkeys(("\\hbox", "\\vbox", "\\hrule", "\\vrule"), _on_box),
    **dict.fromkeys(("\\write", "\\etocdepthtag"), _on_write),
}
TEXT: dict[str, Act] = {
    **LAYOUT,
    **dict.fromkeys(("\\url", "\\nolinkurl", "\\path"), _on_address),
    **dict.fromkeys(("\\bf", "\\bfseries"), _bold_from_here),
    **dict.fromkeys(("\\texttt", "\\lstinline"), _on_typewriter),
    **dict.fromkeys((PARAGRAPH, "\\par"), _end_paragraph),
    "{": _open_group, "}": _close_group, "]": _close_bracket, "~": _on_blank, "\\keywords": _on_keywords,
    "\\ding": _on_sign, "\\textbf": _on_bold,
    "\\href": _on_link, "\\footnote": _on_footnote, "\\footnotemark": _footnote_mark, "\\footnotetext": _footnote_text,
    "\\xspace": _space_if_word, "\\twocolumn": _on_brackets, "\\texorpdfstring": _text_or_math,
}  # fmt: skip
