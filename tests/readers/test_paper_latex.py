"""LaTeX sources as papers: structure, numbers, words, and nothing that a source can do to the reader."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phases.readers.latex.reader import RULES, read_latex
from phases.readers.latex.references import bib_entries, format_entry
from phases.readers.reading import BROKEN, OK, Link, Reading, Unreadable, unpack
from tests.papers import SHARED
from tests.rows import later
from tests.work import must_end

FILLER = "Waiting is old, and has been studied by many people for a very long time."


def read(body: str, preamble: str = "", **others: str) -> Reading:
    source = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\n{FILLER}\n\\end{{document}}"
    files = {"main.tex": source, **{name.replace("__", "/").replace("_", "."): text for name, text in others.items()}}
    return read_latex({name: text.encode() for name, text in files.items()})


def page(body: str, preamble: str = "", **others: str) -> str:
    text = read(body, preamble, **others).pages[0]
    return text.replace(f"\n\n{FILLER}", "").replace(FILLER, "").strip()


# Papers that were written before this reader


REAL = ["pb_lbcs", "pb_semantic-self-consistency", "pb_what-will-my-model-forget", "transformer_1706.03762"]


def real(paper: str) -> dict[str, bytes]:
    lone = SHARED / "gt" / paper / "Transformer_cleaned.tex"
    archive = SHARED / f"{paper}.tex.tar.gz"
    if not (lone.exists() or archive.exists()):
        pytest.skip("the shared papers are not here")
    return {lone.name: lone.read_bytes()} if lone.exists() else dict(unpack(archive.read_bytes()).files)


def bare(title: str) -> str:
    number = r"^\s*(appendix\s+)?([A-Z]|\d+)?(\.\d+)*\.?\s+"
    return re.sub(r"[^a-z0-9]+", "", re.sub(number, "", title).lower())


@pytest.mark.parametrize("paper", REAL)
def test_a_real_paper_keeps_its_title_headings_numbers_and_references(paper: str) -> None:
    gold = json.loads(Path(SHARED / "gt" / paper / "gold.json").read_text()) if SHARED.exists() else {}
    files = real(paper)
    with must_end():
        reading = read_latex(files)
    text = reading.pages[0]
    headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    wanted = [f"{section['number']} {section['title']}".strip() for section in gold["sections"]]
    found = [heading for heading in headings if heading not in ("Abstract", "References")]
    assert [bare(title) for title in found] == [bare(title) for title in wanted]
    assert [title.split()[0] for title in found] == [title.split()[0] for title in wanted]
    assert bare(reading.title or "") == bare(gold["title"])
    if "## References" in text:
        references = text.partition("\n## References\n\n")[2].partition("\n\n## ")[0].split("\n\n")
        assert len(references) == len(gold["references"])


@pytest.mark.parametrize("paper", REAL)
def test_a_real_paper_reads_well(paper: str) -> None:
    text = read_latex(real(paper)).pages[0]
    prose = re.sub(r"```.*?```|\$\$.*?\$\$|\$[^$\n]*\$", "", text.replace("\\$", ""), flags=re.DOTALL)
    assert re.findall(r"\\[A-Za-z]+|[{}]", prose) == [], "a command is left in the prose"
    assert re.findall(r"[\x00-\x08\x0b-\x1f]", text) == []
    assert "missing]" not in text
    assert len(text) > 20_000


# Structure


def test_sections_are_counted_and_the_appendix_bears_letters() -> None:
    body = r"""\section{One}\subsection{Two}\subsubsection{Three}\section*{None}\section[short]{Long\label{x}}
    \appendix\section{Proofs}\subsection{Lemma}See \ref{x} and \ref{y}.\section{More}\label{y}"""
    assert re.findall(r"^#+ .*", page(body), re.MULTILINE) == [
        "## 1 One", "### 1.1 Two", "#### 1.1.1 Three", "## None", "## 2 Long", "## A Proofs", "### A.1 Lemma", "## B More",
    ]  # fmt: skip
    assert "See 2 and B." in page(body)


@pytest.mark.parametrize(
    ("preamble", "body"),
    [
        (r"\title{On \emph{Slow}\\ Waiting\thanks{Nobody paid.}}", r"\maketitle"),
        (r"\title[Short]{On {S}low Waiting\footnote{A note.}}", r"\maketitle"),
        (r"\newcommand{\paperTitle}{On Slow Waiting}\title{\paperTitle}", r"\maketitle"),
        (r"\def\paperTitle{On Slow Waiting}", r"\maketitle"),
        ("", r"\twocolumn[\icmltitle{On Slow Waiting}\vskip 0.3in]"),
    ],
    ids=["line breaks and thanks", "a short form", "a macro", "a macro of a template", "the command of a conference"],
)
def test_the_title_is_found_wherever_a_template_hides_it(preamble: str, body: str) -> None:
    reading = read(body, preamble)
    assert reading.title == "On Slow Waiting"
    assert reading.pages[0].startswith("# On Slow Waiting\n\n")


@pytest.mark.parametrize(
    "author",
    [
        r"\author{Ada Lovelace \and J\"urgen van der Berg}",
        r"\author{Ada Lovelace\thanks{Equal} \\ University of X \\ \texttt{a@b.c} \And J\"urgen van der Berg \\ Lab}",
        r"\author{Ada Lovelace$^{1,2}$, J\"urgen van der Berg\textsuperscript{2}\\ $^1$ Institute of Things}",
        r"\author[1]{Ada Lovelace}\author[2]{J\"urgen van der Berg}\affil[1]{Somewhere}",
        r"\author{\IEEEauthorblockN{Ada Lovelace}\IEEEauthorblockA{Dept.} \and \IEEEauthorblockN{J\"urgen van der Berg}}",
        r"\author{Ada Lovelace\inst{1}\orcidID{0000-1} \and J\"urgen van der Berg\inst{2}}\institute{A \and B}",
        r"\icmlauthor{Ada Lovelace}{x}\icmlauthor{J\"urgen van der Berg}{y}",
    ],
    ids=["plain", "NeurIPS", "marks", "authblk", "IEEE", "LNCS", "ICML"],
)
def test_authors_are_names_and_no_addresses(author: str) -> None:
    assert read("", author).authors == ("Ada Lovelace", "Jürgen van der Berg")


def test_an_abstract_is_a_section_also_as_a_command_before_the_document() -> None:
    assert page(r"\begin{abstract}We wait.\end{abstract}").startswith("## Abstract\n\nWe wait.")
    assert page("", r"\abstract{We wait.}").startswith("## Abstract\n\nWe wait.")
    early = page("", r"\begin{abstract}We wait.\end{abstract}\setlength{\x}{3pt} stray")
    assert early == "## Abstract\n\nWe wait."


def test_a_run_in_title_is_bold_and_no_heading() -> None:
    assert page(r"\paragraph{Positional encoding} text goes on") == "**Positional encoding.** text goes on"


def test_paragraphs_are_single_lines_and_comments_are_gone() -> None:
    assert page("one\ntwo % no\nthree%\nfour\n% no\nfive \\% six\n\n\nseven") == (
        "one two threefour five % six\n\nseven"
    )


def test_an_equation_is_a_block_of_its_own_with_its_number() -> None:
    body = r"""So \begin{equation}\label{e} E = mc^2 \end{equation} and
    \begin{align} a &= b \label{f}\\ c &= d \nonumber\end{align} and
    \begin{align} x &= 1 \\ y &= 2 \tag{*} \end{align}
    \[ z \] $$ w $$ \begin{equation*} v \end{equation*} (\ref{f}), \eqref{e}"""
    assert page(body).split("\n\n") == [
        "So", r"$$ E = mc^2 \tag{1} $$", "and", r"$$ \begin{aligned} a &= b \\ c &= d \end{aligned} \tag{2} $$", "and",
        r"$$ \begin{align} x &= 1 \tag{3} \\ y &= 2 \tag{*} \end{align} $$", "$$ z $$", "$$ w $$", "$$ v $$", "(2), (1)",
    ]  # fmt: skip


def test_macros_are_expanded_in_text_and_in_mathematics() -> None:
    preamble = r"""\newcommand{\R}{\mathbb{R}}\newcommand{\vv}[2][x]{#1_{#2}}\def\pair#1#2{(#1, #2)}\providecommand{\R}{no}
    \DeclareMathOperator*{\amin}{arg\,min}\newcommand\eg{e.g.\xspace}\let\also\eg\newif\iflong\longtrue
    \NewDocumentCommand{\kk}{m O{k}}{#1#2}"""
    body = r"$\R^n$ $\vv{1} \vv[y]{2}$ $\pair{a}{b}$ $\amin_x$ \eg this \also{} \iflong long\else short\fi{} \kk{a} \kk{a}[b]"
    assert page(body, preamble) == (
        r"$\mathbb{R}^n$ $x_{1} y_{2}$ $(a, b)$ $\operatorname*{arg\,min}_x$ e.g. this e.g. long ak ab"
    )


def test_dead_branches_are_left_out() -> None:
    body = r"""a \iffalse b \ifx\x\y c \fi \else d \fi e \begin{comment} f \end{comment} g \ifdefined\nothing h\else i\fi"""
    assert page(body) == "a d e g i"


def test_a_figure_waits_for_the_end_of_its_paragraph_and_a_caption_stands_above_its_table() -> None:
    body = r"""Before
    \begin{figure}\includegraphics[width=1cm]{x}\caption{A \emph{nice} one.}\label{f}\end{figure}
    behind Figure~\ref{f}.
    \begin{table}\begin{tabular}{l|cc} \toprule & \multicolumn{2}{c}{Both} \\ \cmidrule(lr){2-3} a & $|x|$ & c\,|\,d \\[2pt]
    \hline \multirow{2}{*}{b} & {\bf 1} & 2 \\ & 3 & \makecell{4 \\ 5} \\ \bottomrule\end{tabular}\caption{Numbers}\end{table}"""
    assert page(body).split("\n\n") == [
        "Before behind Figure 1.",
        "> **Figure 1.** A nice one.",
        "> **Table 1.** Numbers",
        "|  | Both |  |\n|---|---|---|\n| a | $\\vert x\\vert $ | c \\| d |\n| b | **1** | 2 |\n|  | 3 | 4 5 |",
    ]


@pytest.mark.parametrize(
    "steps",
    [
        r"""\begin{algorithmic}[1]\Require $x$ \For{$i < n$}\If{a} \State go \Comment{now} \Else \State \Return $z$
        \EndIf \EndFor\end{algorithmic}""",
        r"""\begin{algorithmic}\REQUIRE $x$ \FOR{$i < n$}\IF{a} \STATE go \COMMENT{now} \ELSE \RETURN $z$
        \ENDIF \ENDFOR\end{algorithmic}""",
        r"\KwIn{$x$}\SetAlgoLined\For{$i < n$}{\eIf{a}{go \tcp{now}\;}{\Return $z$\;}}",
    ],
    ids=["algpseudocode", "algorithmic", "algorithm2e"],
)
def test_an_algorithm_is_one_step_a_line_and_indented(steps: str) -> None:
    body = rf"\begin{{algorithm}}\caption{{Go}}\label{{a}}{steps}\end{{algorithm}} See \ref{{a}}."
    lines = page(body).split("\n")
    name = "Input:" if "KwIn" in steps else "Require:"
    kept = [line for line in lines if not line.strip().startswith("end ")]
    steps_found = ["for $i < n$ do", "  if a then", "    go // now", "  else", "    return $z$", "```"]
    assert kept[:9] == ["```algorithm", "Algorithm 1: Go", f"{name} $x$", *steps_found]
    assert "See 1." in lines


def test_theorems_bear_names_and_numbers() -> None:
    preamble = r"\newtheorem{thm}{Theorem}[section]\newtheorem{lem}[thm]{Lemma}\newtheorem*{rem}{Remark}"
    body = r"""\section{A}\begin{thm}[Of waiting]\label{t} All wait.\end{thm}\begin{lem}Some.\end{lem}\begin{rem}None.\end{rem}
    \begin{proof}By \ref{t}, \cref{t}.\qed\end{proof}"""
    assert page(body, preamble).split("\n\n")[1:] == [
        "**Theorem 1.1 (Of waiting).** All wait.", "**Lemma 1.2.** Some.", "**Remark.** None.", "**Proof.** By 1.1, Theorem 1.1.",
    ]  # fmt: skip


def test_lists_footnotes_links_and_code() -> None:
    body = r"""\section{A} Word\footnote{A \emph{note}.} more.
    \begin{enumerate}\item one \begin{itemize}\item in\end{itemize}\item two\end{enumerate}
    \href{http://a.org/x_y}{here}, \url{http://a.org/%7Eb}, \verb|x_%1|
    \begin{verbatim}
# not % a heading
```
    \end{verbatim}
    \section{B}"""
    reading = read(body)
    assert reading.pages[0].partition("\n\n" + FILLER)[0].split("\n\n") == [
        "## 1 A", "Word[^1] more.", "1. one\n  - in\n2. two", "[here](http://a.org/x_y), http://a.org/%7Eb, `x_%1`",
        "````\n# not % a heading\n```\n````", "[^1]: A note.", "## 2 B",
    ]  # fmt: skip
    assert reading.links == (Link("http://a.org/x_y", 1, "here"), Link("http://a.org/%7Eb", 1, ""))


def test_accents_quotes_dashes_and_other_alphabets() -> None:
    body = (
        r"""\'e \"{u} \c{c} \v s \H{o} \'{\i} \ss{} \o{} \L{} na\"{\i}ve ``so''---it 1--2~x \S 3 50\% \$5 \& \_ \# """
    )
    body += "中文 한국어 \\dots"
    assert page(body) == "é ü ç š ő í ß ø Ł naïve “so”—it 1–2 x §3 50% \\$5 & _ # 中文 한국어 …"


def test_an_unknown_command_is_dropped_and_its_argument_kept() -> None:
    assert page(r"a \unknown[x]{kept \more{this}} \vspace{1em}\textcolor{red}{red} \hspace*{2pt}b {\small c}") == (
        "a kept this red b c"
    )


@pytest.mark.parametrize("start", ["#", "```", "<!--", "> **Figure 9.**", "|a|"])
def test_prose_that_looks_like_structure_is_escaped(start: str) -> None:
    shown = start.replace("#", "\\#")
    assert page(f"\\texttt{{{shown} words}}").startswith("\\" + start[:3])


# References


ENTRIES = r"""\begin{thebibliography}{9}\providecommand{\natexlab}[1]{#1}
\bibitem[Lamport et~al.(1986)Lamport, Other]{lam} L.~Lamport.
\newblock \emph{A Book}. 1986.

\bibitem[Knuth(1984)]{knuth} D.~Knuth. The {\TeX}book. \url{http://k.org}.
\end{thebibliography}"""


def test_authors_and_years_are_cited_as_natbib_prints_them() -> None:
    body = (
        r"\cite{lam} \citep[see][p.~3]{knuth,lam} \citet{knuth} \citeauthor{lam} \citeyear{lam} \citep{new}" + ENTRIES
    )
    assert page(body, r"\usepackage{natbib}").split("\n\n") == [
        "Lamport et al. (1986) (see Knuth, 1984; Lamport et al., 1986, p. 3) Knuth (1984) Lamport et al. 1986 [new]",
        "## References", "L. Lamport. A Book. 1986.", "D. Knuth. The TeXbook. http://k.org.",
    ]  # fmt: skip


def test_numbered_references_bear_their_labels() -> None:
    body = r"\cite{b} \cite{a,b} \begin{thebibliography}{9}\bibitem{a} A. One. 2001. \bibitem{b} B. Two.\end{thebibliography}"
    assert page(body).split("\n\n") == ["[2] [1, 2]", "## References", "[1] A. One. 2001.", "[2] B. Two."]


def test_a_bbl_counts_before_a_bib() -> None:
    text = page(
        r"\cite{knuth}\bibliography{refs}",
        r"\usepackage{natbib}",
        main_bbl=ENTRIES,
        refs_bib="@book{knuth, title={No}}",
    )
    assert text.endswith("## References\n\nL. Lamport. A Book. 1986.\n\nD. Knuth. The TeXbook. http://k.org.")


BIB = r"""@string{jot = "Journal of Things"} @comment{no}
@book{knuth, author={Knuth, Donald E.}, title={The {\TeX}book}, year=1984, publisher = "Addison" # "-Wesley"}
@article(lam, author = "Leslie Lamport and {The Group} and others", title = {A {L}a{T}eX title}, journal=jot,
  volume=3, number=2, pages={1--9}, year={1986}, doi={10.1/x})
@misc{broken, title={Open {brace, year=2000
@misc{other, title={Other}, year=2001}"""


def test_without_a_bbl_the_cited_entries_of_the_bib_are_set() -> None:
    text = page(
        r"\citep{lam} \citet{knuth}\bibliographystyle{plainnat}\bibliography{refs}",
        r"\usepackage{natbib}",
        refs_bib=BIB,
    )
    assert text.split("\n\n") == [
        "(Lamport et al., 1986) Knuth (1984)", "## References", "Donald E. Knuth. The TeXbook. Addison-Wesley, 1984.",
        "Leslie Lamport, The Group et al. A LaTeX title. Journal of Things, 3(2), pages 1–9, 1986. https://doi.org/10.1/x",
    ]  # fmt: skip
    assert "Other. 2001." in page(r"\nocite{*}\printbibliography", "\\addbibresource{refs.bib}", refs_bib=BIB)


BIBLATEX = r"""\refsection{0}\datalist[entry]{nty/global}
\entry{knuth}{book}{}
  \name{author}{1}{}{{{un=0,hash=x}{family={Knuth}, familyi={K\bibinitperiod}, given={Donald\bibnamedelima E.}, giveni={D.}}}}
  \list{publisher}{1}{{Addison}}
  \field{title}{The {\TeX}book}
  \field{year}{1984}
  \verb{url}
  \verb http://k.org/a_b
  \endverb
\endentry"""


def test_the_bbl_of_biblatex_is_read_where_there_is_nothing_else() -> None:
    text = page(r"\parencite{knuth}\printbibliography", r"\usepackage[style=authoryear]{biblatex}", main_bbl=BIBLATEX)
    assert text.split("\n\n") == [
        "(Knuth, 1984)",
        "## References",
        "Donald E. Knuth. The TeXbook. Addison, 1984. http://k.org/a_b",
    ]


@settings(max_examples=150, deadline=None)
@example("@a{" * 50)
@given(st.text(st.sampled_from('@a{}"#=,\\ \nxy1'), max_size=200))
def test_any_bib_file_is_read(text: str) -> None:
    for entry in bib_entries([text, BIB]).values():
        assert isinstance(format_entry(entry), str)


# Files


def test_the_main_file_is_the_document_that_nobody_includes() -> None:
    whole = "\\documentclass{article}\\begin{document}%s " + FILLER + "\\end{document}"
    files = {
        "supplement.tex": whole % "Less.",
        "part.tex": whole % "Part.",
        "ms.tex": whole % "Main \\subfile{part} \\input{deep/one.tex}",
        "deep/one.tex": "One \\input{deep/two}",
        "deep/two.tex": "Two\\endinput never",
    }
    text = read_latex({name: content.encode() for name, content in files.items()}).pages[0]
    assert text.startswith("Main Part. ")
    assert "One Two" in text
    assert "never" not in text


def test_what_is_missing_or_lies_outside_leaves_a_note_and_nothing_is_run_or_read() -> None:
    body = r"""\input{/etc/passwd} \input{../../secret} \input{|ls} \include{gone} \immediate\write18{touch x} \openout1=y
    \loop\iftrue a\repeat \input main \special{x}"""
    text = page(body)
    assert "root:" not in text
    assert text.count("is missing]") == 4
    assert "touch" not in text
    assert len(text) < 300


@pytest.mark.parametrize(
    "files", [{}, {"a.pdf": b"%PDF"}, {"a.tex": b"hello"}, {"a.tex": b"\\documentclass{a}\\begin{document}"}]
)
def test_what_is_no_paper_is_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(Unreadable) as caught:
        read_latex(files)
    assert caught.value.verdict == BROKEN


def test_a_cleaned_file_without_a_preamble_is_a_paper() -> None:
    reading = read_latex({"x.tex": f"\\title{{Old}}\\section{{One}}{FILLER}\\end{{document}}".encode("utf-16")})
    assert (reading.verdict, reading.title) == (OK, "Old")


# Hostility

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CHAIN = "".join(f"\\def\\{c * 2}{{\\{d * 2}\\{d * 2}}}" for c, d in pairwise(LETTERS))
BOMBS = {
    "a chain of doublings": CHAIN + "\\aa",
    "a macro of itself": "\\def\\x{\\x\\x}" + "\\x" * 50,
    "arguments that double": "\\newcommand{\\x}[1]{\\y{#1#1}}\\newcommand{\\y}[1]{\\x{#1#1}}\\x{abc}",
    "an environment of itself": "\\newenvironment{q}{\\begin{q}\\begin{q}}{\\end{q}}\\begin{q}x\\end{q}" * 100,
    "a loop": "\\loop\\iftrue a\\repeat" * 500,
    "braces without end": later(lambda: "{" * 200_000),
    "brackets without end": later(lambda: "\\item[" * 50_000),
    "addresses without end": later(lambda: "\\url{" * 50_000),
    "notes within notes": later(lambda: "\\footnote{" * 50_000),
    "floats within floats": later(lambda: "\\begin{figure}\\caption{a}" * 10_000),
    "tables within tables": later(lambda: "\\begin{tabular}{c}" * 10_000),
    "blocks within blocks": later(lambda: "\\begin{algorithm}" + "\\For{x}{" * 20_000),
    "a wide table": later(lambda: "\\begin{tabular}{c}" + "a&" * 2_000 + "\\\\" + "a\\\\" * 50_000 + "\\end{tabular}"),
    "signs of mathematics": later(lambda: "$ {" * 50_000),
    "conditionals": later(lambda: "\\iffalse " * 50_000),
    "names of names": later(lambda: "\\csname csname\\endcsname" * 20_000),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_of_macros_or_of_depth_ends_fast(bomb: str) -> None:
    with must_end():
        text = read(bomb).pages[0]
    assert len(text) < 10_000_000


@pytest.mark.slow
def test_files_that_include_each_other_twice_end() -> None:
    letters = "abcdefghijklmnopqrst"
    others = {
        f"{one}_tex": f"\\input{{{two}}}\\input{{{two}}} word"
        for one, two in zip(letters, letters[1:] + "a", strict=True)
    }
    with must_end():
        page("\\input{a}", **others)


PIECES = st.sampled_from([
    *RULES.commands, *(f"\\{word}{{{name}}}" for name in RULES.environments for word in ("begin", "end")),
    *(["{", "}", "[", "]", "$", "&", "\\\\", "%", "\n", "\n\n", " ", "words", "#1", "\\x", "*", "|", "\\def\\x",
       "\\newcommand{\\x}",
       "\\if", "\\else", "\\fi", "\\input{x}", "\\verb", "\\'"] * 20),
])  # fmt: skip


@settings(max_examples=250, deadline=None)
@example(["\\begin{thebibliography}", "$", "\\nocite{x}", "$"])
@example(["\\begin{}", "\\usepackage{}", "\\csname"])
@given(st.lists(PIECES, max_size=60))
def test_any_source_is_read_or_refused_and_every_paragraph_is_one_line(pieces: list[str]) -> None:
    try:
        text = read("".join(pieces), x_tex="\\x{}\\input{x}").pages[0]
    except Unreadable:
        return
    assert re.search(r"[\x00-\x08\x0b-\x1f]", text) is None
    assert text == text.strip() + "\n"


@pytest.mark.parametrize(
    ("preamble", "body", "text"),
    [
        pytest.param(
            r"\let\oldemph\emph \renewcommand{\emph}[1]{(\oldemph{#1})}", r"We \emph{wait}.", "We (wait).",
            id="a command of LaTeX that is defined again with its old self",
        ),
        pytest.param(
            r"\newcommand{\room}{hall} \let\place\room \renewcommand{\room}{door}", r"The \place{} and the \room.",
            "The hall and the door.", id="a macro that is defined again",
        ),
        pytest.param(
            r"\let\place=\textbf \renewcommand{\textbf}[1]{never}", r"\place{here}", "here", id="with a sign between them"
        ),
        pytest.param(r"\let\one\textbf \let\two\one", r"\two{here}", "here", id="a name of a name"),
    ],
)  # fmt: skip
def test_let_gives_a_name_to_what_a_command_means_now(preamble: str, body: str, text: str) -> None:
    assert page(body, preamble).replace("*", "") == text


def test_how_large_a_box_is_drawn_is_no_text() -> None:
    highlight = (
        r"\def\High{\leavevmode\rlap{\hbox to \linewidth{\leaders\hrule height .8\baselineskip depth .5ex\hfill}}}"
    )
    text = "\n".join(read(r"\High Sample a seat.", highlight).pages)
    assert "Sample a seat." in text
    assert "height" not in text
