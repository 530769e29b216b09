"""The many commands that set text elsewhere, or otherwise: of what they say, only the text is kept."""

from __future__ import annotations

import re
from functools import partial

from phases.readers.latex.tokens import PARAGRAPH
from phases.readers.latex.walk import Act, Walk

_SILENT = """
    maketitle small footnotesize scriptsize tiny large Large LARGE huge Huge normalsize centering raggedright raggedleft sc it
    em rm sl sf tt normalfont itshape upshape scshape mdseries rmfamily sffamily ttfamily noindent indent clearpage newpage
    cleardoublepage pagebreak bigskip medskip smallskip vfill hfil null protect onecolumn selectfont noalign boldmath break
    allowbreak nobreak sloppy fussy frenchspacing endhead endfirsthead endfoot endlastfoot nolinebreak nopagebreak flushbottom
    raggedbottom tableofcontents listoffigures listoftables doparttoc faketableofcontents parttoc appendixname immediate loop
    repeat IEEEpeerreviewmaketitle IEEEoverridecommandlockouts iclrfinalcopy nolinenumbers linenumbers begingroup endgroup
    bgroup egroup qed qedhere mainmatter backmatter frontmatter balance strut displaystyle textstyle phantomsection
"""
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
_TEXT_COMES_LAST = {
    0: "makebox framebox hyperref fbox mbox",
    1: "textcolor colorbox scalebox rotatebox parbox raisebox adjustbox foreignlanguage highlight minibox hypertarget bibinfo "
    "bibfield",
    2: "resizebox fcolorbox multirow textblock",
}
_MEASURES = (
    "vskip hskip kern itemsep parskip parindent baselineskip looseness penalty tolerance topsep parsep tabcolsep"
)
_DIMENSION = re.compile(
    r" ?=? ?[+-]? ?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}) ?(?:pt|em|ex|in|cm|mm|bp|sp|mu|pc)?"
    r"(?: ?(?:plus|minus) ?[\d.]{1,9} ?(?:pt|em|ex|in|cm|mm|fill?|fil)?){0,2}"
)


def _nothing(walk: Walk, lexeme: str) -> None:
    """A command that says nothing to a reader."""


def _leave_out(count: int, walk: Walk, lexeme: str) -> None:
    for _ in range(count):
        while walk.option() is not None:
            pass
        walk.raw()


def _keep_last(count: int, walk: Walk, lexeme: str) -> None:
    """The arguments before the text are measures and colours; the text is an ordinary group."""
    _leave_out(count, walk, lexeme)
    while walk.option() is not None:
        pass


def _dimension(walk: Walk, lexeme: str) -> None:
    """\\vskip 3pt plus 1pt: a measure without braces."""
    text = walk.tokens[walk.at] if walk.at < len(walk.tokens) else PARAGRAPH
    if match := _DIMENSION.match(text):
        rest = text[match.end() :]
        walk.tokens[walk.at] = rest or " "
    elif text.strip(" =-") == "" and text != PARAGRAPH and walk.tokens[walk.at + 1 : walk.at + 2] != ["{"]:
        walk.at += 1
        walk.raw()
    elif text[0] == "\\" and lexeme in ("\\vskip", "\\hskip", "\\kern"):
        walk.at += 1


def _write(walk: Walk, lexeme: str) -> None:
    """\\write18{…}, \\etocdepthtag.toc{…}: a stream, and what would be written to it, or run."""
    if walk.at < len(walk.tokens) and walk.tokens[walk.at].strip().lstrip(".").isalnum():
        walk.at += 1
    walk.raw()


LAYOUT: dict[str, Act] = {
    **{f"\\{name}": _nothing for name in _SILENT.split()},
    **{
        f"\\{name}": partial(_leave_out, count) for count, names in _WITHOUT_ARGUMENTS.items() for name in names.split()
    },
    **{f"\\{name}": partial(_keep_last, count) for count, names in _TEXT_COMES_LAST.items() for name in names.split()},
    **{f"\\{name}": _dimension for name in _MEASURES.split()},
    **dict.fromkeys(("\\write", "\\etocdepthtag"), _write),
}
