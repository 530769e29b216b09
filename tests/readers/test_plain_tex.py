"""Papers in plain TeX and AmS-TeX, without \\documentclass: their structure is found, and what only sets type is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from phases.readers.kinds import kind_of
from phases.readers.latex.plain_tex import convert_plain_tex, is_plain_tex
from phases.readers.latex.reader import read_latex
from phases.readers.reading import Reading
from tests.papers import Command

PAPER = r"""% a paper as people wrote them
\magnification=\magstep1
\hsize=6.5truein \parskip=6pt plus 1pt
\font\big=cmbx10 scaled \magstep2
\headline={\ifnum\pageno>1 \hfil On waiting\fi}
\def\sec#1. #2\par{\bigskip\noindent{\bf #1. #2}\medskip}
\def\pair<#1,#2>{\langle #1, #2\rangle}
\centerline{\big On Waiting in Queues}
\medskip
\centerline{Ada Lovelace and Charles Babbage}
\bigskip
{\narrower\noindent{\bf Abstract.} We show that waiting is slow.\par}
\beginsection 1. Introduction

Waiting is old.\footnote{*}{So are queues.} We write $\pair<x,y>$ with $\theta=0.1$.
$$ x_{n+1} = {a \over b} x_n \eqno(1) $$
\sec 2. The method\par
It has two steps:
\item{(a)} wait,
\item{(b)} wait again.

\proclaim Theorem 1. Every queue ends.

Proof. $$\eqalign{a &= b\cr &= d.\cr}\eqno(2)$$
$$ f(x) = \cases{1,&if $x>0$;\cr 0,&otherwise.\cr} $$
\bigskip
\leftline{\bf 2.1 Experiments}
\smallskip
$$\vbox{\halign{#\hfil&\quad\hfil#\cr Method&Score\cr \noalign{\hrule} Ours&92.1\cr Theirs&90.0\cr}}$$
\vskip 12pt plus 3pt
The end.
\bye
Nobody sees this.
"""
FILLER = "The rest of it says in many words what everybody knows of waiting, and it has no end that anybody has seen."
AMS = r"""\documentstyle{amsppt}
\topmatter
\title On Rooms \endtitle
\author Ada Lovelace \endauthor
\abstract We count doors. \endabstract
\endtopmatter
\document
\head 1. Doors \endhead
A door is a wall that opens.
\proclaim{Theorem 2} Every room has one. \endproclaim
\demo{Proof} Look. \enddemo
\enddocument
"""


def read(text: str, **others: str) -> Reading:
    files = {"paper.tex": text.encode(), **{f"{name}.tex": content.encode() for name, content in others.items()}}
    return read_latex(files)


def test_a_paper_in_plain_tex_is_read_with_its_structure() -> None:
    reading = read(PAPER)
    [text] = reading.pages
    assert (reading.title, reading.authors) == ("On Waiting in Queues", ("Ada Lovelace", "Charles Babbage"))
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# On Waiting in Queues", "## 1 Introduction", "## 2 The method", "### 2.1 Experiments"]
    for piece in (
        "We show that waiting is slow.",
        "[^1]: So are queues.",
        r"We write $\langle x, y\rangle$ with $\theta=0.1$.",
        r"$$ x_{n+1} = {a \over b} x_n \tag{1} $$",
        "- **(a)** wait,\n- **(b)** wait again.",
        "**Theorem 1.** Every queue ends.",
        r"\begin{aligned}a &= b\\ &= d.\end{aligned} \tag{2}",
        r"\begin{cases}1,&\text{if x>0;}\\ 0,&\text{otherwise.}\end{cases}",
        "| Ours | 92.1 |",
        "The end.",
    ):
        assert piece in text
    for piece in ("magstep", "6.5", "truein", "cmbx", "pageno", "12pt", "Nobody sees this", "hrule"):
        assert piece not in text


def test_a_paper_in_ams_tex_is_read_with_its_structure() -> None:
    reading = read(AMS)
    [text] = reading.pages
    assert (reading.title, reading.authors) == ("On Rooms", ("Ada Lovelace",))
    assert "## 1 Doors\n\nA door is a wall that opens." in text
    assert "**Theorem 2.** Every room has one." in text
    assert "We count doors." in text


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        pytest.param(
            r"\def\head#1{\bigskip{\bf #1}\medskip}\head{3. Doors} They open.", "## 3. Doors", id="a heading macro"
        ),
        pytest.param(r"\bigskip{\bf 4. Walls}\medskip They stand.", "## 4 Walls", id="a bold line alone"),
        pytest.param(r"A {\bf bold} word.", "A **bold** word.", id="a bold word in a line"),
        pytest.param(r"$\alpha=0.5$ and $\lambda = 3$", r"$\alpha=0.5$ and $\lambda= 3$", id="relations in formulas"),
        pytest.param(r"\let\tensf=\tenrm \def\x{one} \x{} door", "one", id="a name that is given"),
        pytest.param(r"\newdimen\wide \wide=3pt \advance\wide by 2pt A door.", "A door.", id="registers"),
        pytest.param(r"Half \% of {\it all} \quad rooms", "Half % of", id="a sign that is no comment"),
    ],
)
def test_what_plain_tex_says_is_told_from_what_it_sets(source: str, wanted: str) -> None:
    [text] = read(f"\\magnification=1200\n{source}\n\n{FILLER}\n\\bye\n").pages
    assert wanted in text
    assert "pt" not in text


def test_a_file_of_macros_that_is_taken_in_gives_its_macros_and_no_text() -> None:
    macros = "\\catcode`\\@=11\n\\font\\bigger=cmr12\n\\tolerance=500\n\\def\\room{hall}\n\\skewchar\\tenrm='177\n"
    [text] = read(f"\\input mac\n\\beginsection 1. Rooms\n\nThe \\room\\ is big. {FILLER}\n\\bye\n", mac=macros).pages
    assert text.strip() == f"## 1 Rooms\n\nThe hall is big. {FILLER}"


def test_latex_is_left_as_it_is() -> None:
    latex = (
        "\\documentclass{article}\\begin{document}\n\\centerline{A line}\n\\section{One} "
        + FILLER
        + "\n\\end{document}"
    )
    assert not is_plain_tex(latex)
    assert "## 1 One" in read(latex).pages[0]


@pytest.mark.parametrize("text", [PAPER, AMS, "\\beginsection One\n\nWords.\n\\bye\n"])
def test_a_file_in_plain_tex_is_known_by_its_content(text: str) -> None:
    assert kind_of(text.encode()).name == "tex"


@pytest.mark.parametrize(
    "text", ["{" * 20_000, "\\def\\x#1.{" * 2_000, "\\footnote{" * 5_000, "\\beginsection " + "a" * 50_000]
)
def test_a_hostile_text_is_converted_in_bounded_time(text: str) -> None:
    assert convert_plain_tex(f"\\magnification=1000 {text}\n\\bye")


def test_a_run_plans_from_a_paper_in_plain_tex(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(PAPER)
    command = Command(tmp_path)
    assert command("run", "--fast", "paper.tex", "--until", "outline").code == 0
    assert "2.1 Experiments" in command("read", "paper.tex").out
