"""HTML pages of papers: LaTeXML's and others', what their readers do not see, and pages that want to do harm."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.readers.html.reader import LARGEST, read_html
from phases.readers.html.tree import parse_html, text_of
from phases.readers.reading import BROKEN, OK, Reading, Unreadable
from tests.papers import SHARED
from tests.rows import later, with_covered
from tests.strategies import QUICK
from tests.work import must_end

FORMULA = '<math id="m1" class="ltx_Math" alttext="{tex}" display="{display}"><semantics><mi>x</mi></semantics></math>'


def formula(tex: str, display: str = "inline") -> str:
    return FORMULA.format(tex=tex, display=display)


EQUATION = f"""
<table id="S3.E1" class="ltx_equation ltx_eqn_table"><tbody><tr class="ltx_equation ltx_eqn_row ltx_align_baseline">
<td class="ltx_eqn_cell ltx_eqn_center_padleft"></td>
<td class="ltx_eqn_cell ltx_align_center">{formula(chr(92) + "mathrm{Wait}(Q)=" + chr(92) + "frac{Q}{2}", "block")}</td>
<td class="ltx_eqn_cell ltx_eqn_center_padright"></td>
<td rowspan="1" class="ltx_eqn_cell ltx_eqn_eqno"><span class="ltx_tag ltx_tag_equation ltx_align_right">(1)</span></td>
</tr></tbody></table>"""
GROUP = f"""
<table class="ltx_equationgroup ltx_eqn_align ltx_eqn_table">
<tbody id="S3.E2"><tr class="ltx_equation ltx_eqn_row"><td class="ltx_eqn_cell">{formula("a")}</td>
<td class="ltx_eqn_cell">{formula("=b")}</td><td class="ltx_eqn_cell ltx_eqn_eqno">
<span class="ltx_tag ltx_tag_equation">(2)</span>
</td></tr></tbody><tbody id="S3.E3"><tr class="ltx_equation ltx_eqn_row"><td class="ltx_eqn_cell">{formula("c")}</td>
<td class="ltx_eqn_cell">{formula("=d")}</td><td class="ltx_eqn_cell"><span class="ltx_tag ltx_tag_equation">(3)</span></td></tr>
<tr class="ltx_eqn_row"><td class="ltx_eqn_cell">{formula("=e")}</td></tr></tbody></table>"""
NOTE = (
    '<span id="footnote1" class="ltx_note ltx_role_footnote"><sup class="ltx_note_mark">1</sup><span class="ltx_note_outer">'
    '<span class="ltx_note_content"><sup class="ltx_note_mark">1</sup> <span class="ltx_tag ltx_tag_note">1</span> '
    "Rooms differ.</span></span></span>"
)
ARXIV = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Slow Waiting</title>
<script src="/static/base.js"></script><style>.ltx_note_outer{{display:none}}</style></head><body>
<header class="desktop_header"><a href="#main">Skip to main content</a><button>Report issue</button></header>
<nav class="ltx_page_navbar"><ol class="ltx_toclist"><li>1 Introduction</li></ol></nav>
<div class="ltx_page_main"><div class="ltx_page_content"><article class="ltx_document ltx_authors_1line">
<h1 class="ltx_title ltx_title_document">Slow Waiting for <br class="ltx_break">Everyone
<span class="ltx_note ltx_role_thanks"><span class="ltx_note_outer">
<span class="ltx_note_content">Funded.</span></span></span></h1>
<div class="ltx_authors"><span class="ltx_creator ltx_role_author"><span class="ltx_personname">Ada Author<br class="ltx_break">
University of Rooms<br class="ltx_break"><span class="ltx_text">ada@example.org</span> &amp;Bernd Müller<sup>2</sup><br> Lab
</span></span><span class="ltx_creator ltx_role_author"><span class="ltx_personname">王小明</span></span></div>
<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6><p class="ltx_p">We wait.</p></div>
<section id="S1" class="ltx_section"><h2 class="ltx_title ltx_title_section"><span class="ltx_tag ltx_tag_section">1 </span>
Introduction</h2><div id="S1.p1" class="ltx_para"><p id="S1.p1.1" class="ltx_p">Waiting is old
<cite class="ltx_cite ltx_citemacro_cite">[<a href="#bib.bib1" title="" class="ltx_ref">1</a>]</cite>, see
<a href="#S3" class="ltx_ref">Section 3</a>.{NOTE} The code is
<a href="https://example.org/code(1)" class="ltx_ref">here</a>, of {formula("d_{k}")} rooms at $5 each.</p></div></section>
<section id="S2" class="ltx_section"><h2 class="ltx_title ltx_title_section"><span class="ltx_tag ltx_tag_section">2 </span>Method
</h2><section class="ltx_subsection"><h3 class="ltx_title ltx_title_subsection"><span class="ltx_tag">2.1 </span>Room</h3>
<div class="ltx_para"><p class="ltx_p">As in{EQUATION}where all is known.</p>{GROUP}</div>
<section class="ltx_paragraph"><h4 class="ltx_title ltx_runin ltx_title_paragraph">Doors</h4>
<div class="ltx_para"><p class="ltx_p">They open.</p></div></section>
<ul class="ltx_itemize"><li class="ltx_item"><span class="ltx_tag ltx_tag_item">•</span><div class="ltx_para">
<p class="ltx_p">Sit down.</p></div></li><li class="ltx_item"><span class="ltx_tag ltx_tag_item">•</span>
<div class="ltx_para"><p class="ltx_p">Stay.</p></div></li></ul>
<figure class="ltx_figure" id="S2.F1"><img src="x1.png" class="ltx_graphics" alt="Refer to caption"><figcaption
class="ltx_caption ltx_centering"><span class="ltx_tag ltx_tag_figure">Figure 1: </span>A room.</figcaption></figure>
<figure class="ltx_table"><table class="ltx_tabular ltx_guessed_headers"><thead><tr class="ltx_tr">
<th class="ltx_td ltx_th">Room</th>
<th class="ltx_td ltx_th" colspan="2">Time | s</th></tr></thead><tbody><tr class="ltx_tr"><td class="ltx_td" rowspan="2">A</td>
<td class="ltx_td">1</td><td class="ltx_td">2</td></tr><tr class="ltx_tr"><td class="ltx_td">3</td><td class="ltx_td">4</td></tr>
</tbody></table><figcaption class="ltx_caption"><span class="ltx_tag ltx_tag_table">Table 1: </span>Times.</figcaption></figure>
<figure id="alg1" class="ltx_float ltx_float_algorithm ltx_framed"><figcaption class="ltx_caption">
<span class="ltx_tag ltx_tag_float">
<span class="ltx_text ltx_font_bold">Algorithm 1</span> </span>Wait</figcaption><div class="ltx_listing">
<div class="ltx_listingline"><span class="ltx_tag ltx_tag_listingline">1:</span> <b>for</b> {formula("i<n")} <b>do</b></div>
<div class="ltx_listingline"><span class="ltx_tag ltx_tag_listingline">2:</span>&nbsp;&nbsp;&nbsp;sit</div></div></figure>
</section></section>
<section class="ltx_bibliography"><h2 class="ltx_title ltx_title_bibliography">References</h2><ul class="ltx_biblist">
<li id="bib.bib1" class="ltx_bibitem"><span class="ltx_tag ltx_role_refnum ltx_tag_bibitem">[1]</span>
<span class="ltx_bibblock"> A. Author. </span><span class="ltx_bibblock">On time. 1999. </span></li>
<li class="ltx_bibitem"><span class="ltx_tag ltx_role_refnum ltx_tag_bibitem">Author et al. (2001)</span>
<span class="ltx_bibblock">C. Author. More time. 2001.</span></li></ul></section>
<section class="ltx_appendix"><h2 class="ltx_title ltx_title_appendix"><span class="ltx_tag">Appendix A </span>Proofs</h2>
<div class="ltx_theorem"><h6 class="ltx_title ltx_runin ltx_title_theorem"><span class="ltx_tag">Theorem 1</span>.</h6>
<div class="ltx_para"><p class="ltx_p">It ends.</p></div></div></section>
</article></div><footer class="ltx_page_footer">Generated by LaTeXML</footer></div></body></html>"""
READ = r"""# Slow Waiting for Everyone

Ada Author, Bernd Müller, 王小明

## Abstract

We wait.

## 1 Introduction

Waiting is old [1], see Section 3.[^1] The code is [here](https://example.org/code%281%29), of $d_{k}$ rooms at \$5 each.

[^1]: Rooms differ.

## 2 Method

### 2.1 Room

As in

$$ \mathrm{Wait}(Q)=\frac{Q}{2} \tag{1} $$

where all is known.

$$ a =b \tag{2} $$

$$ \begin{aligned} c =d \\ =e \end{aligned} \tag{3} $$

**Doors.** They open.

- Sit down.
- Stay.

> **Figure 1.** A room.

> **Table 1.** Times.

| Room | Time \| s |  |
|---|---|---|
| A | 1 | 2 |
|  | 3 | 4 |

```algorithm
Algorithm 1: Wait
1: for $i<n$ do
2:    sit
```

## References

[1] A. Author. On time. 1999.

C. Author. More time. 2001.

## A Proofs

**Theorem 1.** It ends.
"""
WORDS = "<p>" + "Some words of a paper that go on for a while. " * 25 + "</p>"


def read(body: str, head: str = "", base: str | None = None) -> Reading:
    """The reading of a page that has words enough."""
    return read_html(f"<html><head>{head}</head><body>{body}{WORDS}</body></html>".encode(), base)


def flow(body: str, head: str = "") -> str:
    """What stands before the words that fill the page."""
    return read(body, head).pages[0].partition("Some words of")[0].strip()


def test_a_page_of_latexml_is_read_whole_and_in_order() -> None:
    reading = read_html(ARXIV.encode())
    assert reading.pages == (READ,)
    assert (reading.verdict, reading.reader, reading.title) == (OK, "html 1", "Slow Waiting for Everyone")
    assert reading.authors == ("Ada Author", "Bernd Müller", "王小明")
    assert [(link.url, link.text, link.page) for link in reading.links] == [
        ("https://example.org/code%281%29", "here", 1)
    ]
    assert reading.hidden == ()


FORMULAS = [
    pytest.param(r"of \(x_1 < y\) it", r"of $x_1 < y$ it", id="MathJax within a line"),
    pytest.param(r"<p>so \[ x = 1 \label{a} \] it</p>", "so\n\n$$ x = 1 $$\n\nit", id="MathJax on a line of its own"),
    pytest.param('<script type="math/tex">a^2</script>', "$a^2$", id="a script that holds LaTeX"),
    pytest.param('<script type="math/tex; mode=display">a^2</script>', "$$ a^2 $$", id="a display script"),
    pytest.param('<span class="math inline">\\alpha</span>', r"$\alpha$", id="LaTeX that KaTeX will set"),
    pytest.param(
        '<span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">'
        'x^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x2</span></span>',
        "$x^2$",
        id="KaTeX that is set already",
    ),
    pytest.param(
        '<span class="mwe-math-element"><span style="display:none"><math alttext="y"></math></span><img aria-hidden="true" '
        'class="mwe-math-fallback-image-inline" alt="{\\displaystyle x+1}"></span>',
        "$x+1$",
        id="a picture of a formula",
    ),
    pytest.param(
        "<math><mfrac><mi>α</mi><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac><mo>≤</mo><mover><mi>x</mi><mo>^</mo>"
        "</mover><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>softmax</mi></math>",
        r"$\frac{\alpha}{\sqrt{d_{k}}}\leq \hat{x}\sum_{i=1}^{n}\mathrm{softmax}$",
        id="MathML without LaTeX",
    ),
    pytest.param(
        "<math><mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr>"
        "<mtr><mtd><mi>𝐜</mi></mtd></mtr></mtable></math>",
        r"$(\begin{matrix} a & b \\ \mathbf{c} \end{matrix}$",
        id="a matrix in MathML",
    ),
    pytest.param('<math alttext="x"><mi>x<p>seen', "$x$\n\nseen", id="MathML that does not end"),
    pytest.param("it costs $5 or $6", r"it costs \$5 or \$6", id="prices"),
    pytest.param(
        "<table><tr><td><math alttext='e'></math></td><td>(4)</td></tr></table>",
        "$$ e \\tag{4} $$",
        id="an equation's own table",
    ),
]


@pytest.mark.parametrize(("body", "text"), FORMULAS)
def test_formulas_are_read_in_all_the_ways_in_which_pages_carry_them(body: str, text: str) -> None:
    assert flow(body) == text


def test_dollars_are_mathematics_where_the_page_loads_a_script_that_sets_them() -> None:
    script = '<script src="https://cdn.example.org/mathjax@3/es5/tex-mml-chtml.js"></script>'
    assert flow("<p>of $x$ and $$y$$</p>", script) == "of $x$ and\n\n$$ y $$"


HIDDEN = [
    pytest.param("<div hidden>IGNORE</div>", "invisible", id="the attribute hidden"),
    pytest.param('<p style="DISPLAY : none !important">IGNORE</p>', "invisible", id="display none"),
    pytest.param('<p style="display:none"><b style="display:block">IGNORE</b></p>', "invisible", id="within display none"),
    pytest.param('<p style="visibility:hidden">IGNORE</p>', "invisible", id="visibility hidden"),
    pytest.param('<p style="opacity:0.0">IGNORE</p>', "invisible", id="opacity zero"),
    pytest.param('<p style="color:rgba(0,0,0,0)">IGNORE</p>', "invisible", id="a clear colour"),
    pytest.param('<p class="sr-only">IGNORE</p>', "invisible", id="for screen readers alone"),
    pytest.param('<p style="font-size:0">IGNORE</p>', "tiny", id="size zero"),
    pytest.param('<p style="font-size: 0.5px;">IGNORE</p>', "tiny", id="half a pixel"),
    pytest.param('<p style="color:#fff">IGNORE</p>', "white", id="white"),
    pytest.param('<p style="color: rgb(255, 255, 255)">IGNORE</p>', "white", id="white in numbers"),
    pytest.param('<font color="#FEFEFE">IGNORE</font>', "white", id="all but white, in old HTML"),
    pytest.param('<p style="color:white;background:#ffffff">IGNORE</p>', "white", id="white on white"),
    pytest.param('<p style="position:absolute;left:-9999px">IGNORE</p>', "off_page", id="left of the page"),
    pytest.param('<p style="text-indent:-100em">IGNORE</p>', "off_page", id="moved out by its indent"),
    pytest.param("<div>" * 300 + "<p hidden>IGNORE" + "</div>" * 300, "invisible", id="far below"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "how"), HIDDEN)
def test_hidden_text_is_told_and_stands_nowhere_in_the_flow(body: str, how: str) -> None:
    reading = read(body)
    assert "IGNORE" not in reading.pages[0]
    assert [(one.text, one.how, one.page) for one in reading.hidden] == [("IGNORE", how, 1)]


SEEN = [
    pytest.param('<div style="background:#123"><p style="color:#fff">SEEN</p></div>', id="white on a dark ground"),
    pytest.param('<p style="color:white"><b style="color:#222">SEEN</b></p>', id="dark within white"),
    pytest.param('<p style="visibility:hidden"><b style="visibility:visible">SEEN</b></p>', id="made visible again"),
    pytest.param('<p style="font-size:0"><b style="font-size:12px">SEEN</b></p>', id="made large again"),
    pytest.param('<p style="left:-10px;color:#fafa00">SEEN</p>', id="yellow, a little to the left"),
    pytest.param('<p style="opacity:0.9;font-size:70%">SEEN</p>', id="somewhat small and pale"),
]


@pytest.mark.parametrize("body", SEEN)
def test_text_that_is_seen_stays_in_the_flow(body: str) -> None:
    reading = read(body)
    assert "SEEN" in reading.pages[0]
    assert reading.hidden == ()


@pytest.mark.parametrize(
    "body",
    [
        "<nav>NOT</nav>", "<footer>NOT</footer>", "<aside>NOT</aside>", "<form>NOT</form>", "<script>NOT</script>",
        "<style>NOT</style>", "<noscript>NOT</noscript>", "<template>NOT</template>", "<svg><text>NOT</text></svg>",
        '<i aria-hidden="true">NOT</i>', "<!-- NOT -->", "<header>NOT</header>", '<div role="navigation">NOT</div>',
        "<textarea><p>NOT</textarea>", "<iframe>NOT</iframe>", '<div class="ltx_ERROR undefined">NOT</div>',
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_paper_is_left_out_without_a_word(body: str) -> None:
    reading = read(body)
    assert "NOT" not in reading.pages[0]
    assert reading.hidden == ()


LINKS = [
    pytest.param("https://a.org/x", "[it](https://a.org/x)", id="an address"),
    pytest.param("/x?y=1", "[it](https://site.org/x?y=1)", id="an address of the same site"),
    pytest.param("//cdn.org/x", "[it](https://cdn.org/x)", id="an address without a scheme"),
    pytest.param("#part", "it", id="a place in the page"),
    pytest.param("https://site.org/papers/1#part", "it", id="a place in the page, written out"),
    pytest.param("javascript:alert(1)", "it", id="a script"),
    pytest.param(" java\nscript:alert(1)", "it", id="a script in disguise"),
    pytest.param("data:text/html,x", "it", id="data"),
    pytest.param("mailto:a@b.org", "it", id="mail"),
    pytest.param("http://[::1", "it", id="no address at all"),
    pytest.param("https://a.org/" + "x" * 3000, "it", id="an address that is too long"),
]


@pytest.mark.parametrize(("href", "text"), LINKS)
def test_links_lead_to_the_web_or_are_plain_text(href: str, text: str) -> None:
    reading = read(f'<p><a href="{href}">it</a></p>', base="https://site.org/papers/1")
    assert reading.pages[0].startswith(text + "\n")
    assert len(reading.links) == text.startswith("[")


def test_the_page_says_what_its_links_are_relative_to() -> None:
    assert (
        read('<p><a href="x">it</a></p>', '<base href="https://b.org/d/">', "https://a.org/").links[0].url
        == "https://b.org/d/x"
    )


TITLES = [
    pytest.param(
        '<meta name="citation_title" content="Best"><title>Other</title>', "<h1>Site</h1>", "Best", id="for indexes"
    ),
    pytest.param(
        '<meta property="og:title" content="Best | Site"><title>x</title>', "<h1>Best</h1>", "Best", id="for sharing"
    ),
    pytest.param("<title>Best - Journal of Rooms</title>", "<h1>Best</h1>", "Best", id="of the page, without the site"),
    pytest.param("<title>Best</title>", "", "Best", id="of the page"),
    pytest.param("", "<header><h1>Best</h1></header>", "Best", id="the first heading"),
    pytest.param("", "<p>a</p>", None, id="none"),
]


@pytest.mark.parametrize(("head", "body", "title"), TITLES)
def test_the_title_is_the_one_that_the_page_tells_most_surely(head: str, body: str, title: str | None) -> None:
    reading = read(body, head)
    assert reading.title == title
    assert reading.pages[0].count("# Best") == (title is not None), "once, and not again as a heading"


def test_authors_are_those_that_the_page_tells_indexes() -> None:
    head = '<meta name="citation_author" content="Müller, Bernd"><meta name="citation_author" content="김철수">'
    assert read("<p>a</p>", head).authors == ("Bernd Müller", "김철수")


BLOCKS = [
    pytest.param("<h2>A</h2><p>x</p><h4>B</h4><h3>C</h3>", "## A\n\nx\n\n### B\n\n### C", id="headings without gaps"),
    pytest.param("<h3>1. A</h3>", "## 1 A", id="a number without its dot"),
    pytest.param("<ol start=3><li>a<ul><li>b</ul><li>c</ol>", "3. a\n  - b\n4. c", id="lists in lists, unclosed"),
    pytest.param("<dl><dt>Room<dd>has walls</dl>", "- **Room** has walls", id="definitions"),
    pytest.param("<pre>def f():\n    return '<b>'</pre>", "```\ndef f():\n    return ''\n```", id="code"),
    pytest.param("<pre>```\nx</pre>", "````\n```\nx\n````", id="code with a fence in it"),
    pytest.param("<p>a <code>x  y</code> b", "a `x y` b", id="code in a line"),
    pytest.param("<p>10<sup>5</sup> x<sub>ij</sub> 1<sup>st</sup> a<sup><a href='#r1'>1,2</a></sup>",
                 "10^5 x_{ij} 1st a [1,2]", id="raised"),
    pytest.param("<p># no heading</p><p>```</p><p>&lt;!-- page 3 --></p>",
                 "\\# no heading\n\n\\```\n\n\\<!-- page 3 -->", id="signs"),
    pytest.param("<p>soft&shy;ly\u200b and&nbsp;on\nand on", "softly and on and on", id="one line, without unseen signs"),
    pytest.param("<table><tr><td><h2>A</h2><p>x</table>", "## A\n\nx", id="a table that sets out the page"),
    pytest.param("<table><caption>Tab. 2. C</caption><tr><th>a<th>b<tr><td>c</table>",
                 "> **Table 2.** C\n\n| a | b |\n|---|---|\n| c |  |", id="a table"),
    pytest.param("<p>Figure 2: A room.</p>", "> **Figure 2.** A room.", id="a caption that is a paragraph"),
    pytest.param("<p>Figure 2 shows a room.</p>", "Figure 2 shows a room.", id="a sentence on a figure"),
    pytest.param("<p>图 3：房间</p>", "> **图3.** 房间", id="a Chinese caption"),
    pytest.param("<h2>Übersicht</h2><p>数据集。<p>데이터", "## Übersicht\n\n数据集。\n\n데이터", id="German, Chinese, Korean"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text"), BLOCKS)
def test_blocks_are_written_as_the_dialect_says(body: str, text: str) -> None:
    assert flow(body) == text


def test_a_list_below_the_heading_of_the_references_is_a_paragraph_each() -> None:
    page = read(
        "<h2>Intro</h2>" + WORDS + "<h2>References</h2><ol><li>A. 1999.<li>B. <i>More</i>. 2001.</ol><h2>Annex</h2>"
    ).pages[0]
    assert "## References\n\n[1] A. 1999.\n\n[2] B. More. 2001.\n\n## Annex" in page


def test_footnotes_at_the_end_of_a_page_stand_at_the_end_of_the_section_that_points_to_them() -> None:
    mark = '<a href="#fn{0}" class="footnote-ref" role="doc-noteref"><sup>{0}</sup></a>'
    notes = '<aside class="footnotes" role="doc-endnotes"><ol><li id="fn1"><p>One.'
    notes += '<a href="#fnref1" role="doc-backlink">↩</a></p></li></ol></aside>'
    page = flow(f"<h2>A</h2><p>x{mark.format(1)}</p><h2>B</h2><p>y</p>{notes}")
    assert page == "## A\n\nx[^1]\n\n[^1]: One.\n\n## B\n\ny"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Please sign in to download this paper.", id="a login page"),
        pytest.param("<h1>403</h1><p>Forbidden</p>", id="an error page"),
        pytest.param("<h2>Sign in</h2><form><p>Name <input></form>", id="a heading above a form"),
        pytest.param("<ul>" + "<li><a href='https://a.org/'>many links of a site</a>" * 90 + "</ul>", id="links alone"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_page_with_hardly_any_text_is_refused(body: str) -> None:
    with pytest.raises(Unreadable, match="hardly any text, perhaps a login page") as refused:
        read_html(f"<html><title>403</title><body>{body}</body></html>".encode())
    assert refused.value.verdict == BROKEN


def test_a_short_page_with_a_section_is_read() -> None:
    assert read_html(b"<h1>T</h1><h2>Method</h2><p>We wait.").pages == ("# T\n\n## Method\n\nWe wait.\n",)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared papers are not here")
def test_a_saved_login_page_is_refused() -> None:
    with pytest.raises(Unreadable, match="login page"):
        read_html((SHARED / "bad_html.pdf").read_bytes())


ENCODINGS = [
    pytest.param("<meta charset=latin-1>", "latin-1", id="as the page says"),
    pytest.param(
        '<meta http-equiv="Content-Type" content="text/html; charset=gb18030">', "gb18030", id="as an old page says"
    ),
    pytest.param("", "utf-8", id="UTF-8 unless it says so"),
    pytest.param("", "cp1252", id="Windows' own, unless it is UTF-8"),
    pytest.param("<meta charset=nonsense>", "utf-8-sig", id="as its byte order mark says"),
    pytest.param("<meta charset=utf-16>", "utf-8", id="not what cannot be"),
]


@pytest.mark.parametrize(("head", "encoding"), ENCODINGS)
def test_the_encoding_is_found(head: str, encoding: str) -> None:
    page = f"<html><head>{head}</head><body><p>Größe{WORDS}</body></html>"
    assert read_html(page.encode(encoding)).pages[0].startswith("Größe")


BOMBS = [
    pytest.param(later(lambda: "<div>" * 100_000 + WORDS), id="a hundred thousand boxes"),
    pytest.param(later(lambda: "<" * 10_000_000), id="ten million brackets"),
    pytest.param(later(lambda: "<a" * 2_000_000), id="tags that never end"),
    pytest.param(later(lambda: "<!--" * 1_000_000), id="comments that never end"),
    pytest.param(later(lambda: "</b" * 1_000_000), id="end tags that never end"),
    pytest.param(later(lambda: '<a b="' * 500_000), id="attributes that never end"),
    pytest.param(later(lambda: "<b>" * 100_000 + "</i>" * 100_000), id="wrong end tags"),
    pytest.param(later(lambda: "<table><tr><td>" * 20_000 + "x" + WORDS), id="tables in tables"),
    pytest.param(later(lambda: "<ul><li>" * 20_000 + "x" + WORDS), id="lists in lists"),
    pytest.param(later(lambda: "<sup><sub>" * 20_000 + "x" + WORDS), id="signs in signs"),
    pytest.param(later(lambda: "<figure><h2>" * 20_000 + "x" + WORDS), id="figures in figures"),
    pytest.param(later(lambda: "<math>" + "<mfrac>" * 20_000 + "<mi>x" + WORDS), id="fractions in fractions"),
    pytest.param(later(lambda: "\\(" * 1_000_000 + "\\[" * 500_000), id="formulas that never end"),
    pytest.param(
        f"<table>{'<tr><td colspan=99999 rowspan=99999>a' * 3000}</table>" + WORDS, id="cells of a great width"
    ),
    pytest.param(later(lambda: "&#" + "9" * 100_000 + ";" + WORDS), id="a character of a great number"),
    pytest.param(
        later(lambda: f'<base href="https://a.org/{"x" * 1900}/">' + "<a href=x>y</a>" * 12_000),
        id="a long base of many links",
    ),
    pytest.param(later(lambda: f"<p style='{'color:#fff;' * 100_000}'>x" + WORDS), id="a long style"),
    pytest.param(
        later(lambda: "<p><a href=#fn1>1</a>" * 20_000 + "<ol class=footnotes>" + "<li id=fn1>x" * 20_000),
        id="many footnotes",
    ),
]


@pytest.mark.parametrize(
    "page",
    with_covered(
        BOMBS,
        "a hundred thousand boxes",
        "ten million brackets",
        "attributes that never end",
        "wrong end tags",
        "tables in tables",
        "lists in lists",
        "signs in signs",
        "formulas that never end",
        "a long base of many links",
        "many footnotes",
    ),
)
def test_a_page_that_wants_to_do_harm_costs_seconds_and_no_more(page: str) -> None:
    with must_end():
        try:
            size = sum(map(len, read_html(page.encode()).pages))
        except Unreadable as refused:
            size = len(refused.detail)
    assert size < 40_000_000


def test_a_page_that_is_larger_than_any_paper_is_refused() -> None:
    with pytest.raises(Unreadable, match="more than 16 MiB"):
        read_html(b" " * (LARGEST + 1))


PIECES = st.sampled_from(
    [
        "<p>", "</p>", "<div hidden>", "</div>", "<table>", "<tr>", "<td colspan=3>", "</table>", "<ul>", "<li>", "<ol>", "<h2>",
        "</h2>",
        "<h1 class=ltx_title>", "<a href='x'>", "</a>", "<a href=#fn1>", "<math>", "<mfrac>", "<mi>x", "</math>", "\\(", "\\)",
        "$", "$$",
        "<pre>", "<code>", "<sup>", "<figure>", "<figcaption>", "<script type=math/tex>", "</script>", "<!--", "-->", "<!",
        "&#xD800;",
        "&#0;", "&lt;", "&#99999999999;", "<table class=ltx_equation>", "<div class=ltx_listing>", "<span class=ltx_note>",
        "<li class=ltx_bibitem>",
        "<section role=doc-endnotes>", "<p style='color:#fff'>", "<p style='left:-.px'>", "Figure 1:", "[^1]",
        "words and words ",
        "<br>", "<body>", "<main>", "<svg/>", "<x-y z='", '"', "<dl><dt>", "<dd>", "图", "\u2028", "\x00", "|",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=60).map("".join))
@example("<p>\\begin{align}")
@example("<ol><dt></dt><table><caption></table>")
@QUICK
def test_no_page_surprises_the_reader(page: str) -> None:
    try:
        reading = read_html(page.encode("utf-8", "replace") + WORDS.encode())
    except Unreadable:
        return
    (text,) = reading.pages
    assert text.endswith("\n")
    assert not any(line.startswith("<!-- page") for line in text.split("\n"))
    assert all(link.url.startswith(("http://", "https://")) for link in reading.links)
    assert reading == read_html(page.encode("utf-8", "replace") + WORDS.encode()), "the same page, the same reading"


@given(st.binary(max_size=200))
@QUICK
def test_no_bytes_surprise_the_reader(data: bytes) -> None:
    with pytest.raises(Unreadable) as refused:
        read_html(data)
    assert refused.value.verdict == BROKEN


@pytest.mark.slow
@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), min_size=1, max_size=20))
@QUICK
def test_the_words_of_a_page_come_out_as_they_went_in(words: list[str]) -> None:
    assert text_of(parse_html(f"<p>{' <b>'.join(words)}").root).split() == " ".join(words).split()
