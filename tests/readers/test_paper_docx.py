"""Word documents: structure by styles in any language, formulas, what their readers do not see, and hostile parts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.readers.docx.math import omml_tex
from phases.readers.docx.reader import read_docx
from phases.readers.docx.xml import parse_xml
from phases.readers.reading import BROKEN, ENCRYPTED, OK, Reading, Unreadable
from tests.rows import later, with_covered
from tests.strategies import QUICK
from tests.work import must_end

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SPACES = (
    f'xmlns:w="{W}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wps="urn:wps"'
)
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = f"""<w:styles {SPACES}>
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Author"><w:name w:val="Author"/><w:basedOn w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="Überschrift 2"/></w:style>
<w:style w:type="paragraph" w:styleId="a3"><w:name w:val="我的样式"/><w:basedOn w:val="Heading1"/></w:style>
<w:style w:type="paragraph" w:styleId="o2"><w:name w:val="Section"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="MDPI21"><w:name w:val="MDPI_2.1_heading1"/></w:style>
<w:style w:type="paragraph" w:styleId="Caption"><w:name w:val="caption"/></w:style>
<w:style w:type="paragraph" w:styleId="Abstract"><w:name w:val="Abstract"/></w:style>
<w:style w:type="paragraph" w:styleId="AbstractTitle"><w:name w:val="Abstract Title"/></w:style>
<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Bibliography"><w:name w:val="Bibliography"/></w:style>
<w:style w:type="paragraph" w:styleId="SourceCode"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Ghost"><w:name w:val="Ghost"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop1"><w:name w:val="Loop1"/><w:basedOn w:val="Loop2"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop2"><w:name w:val="Loop2"/><w:basedOn w:val="Loop1"/></w:style>
<w:style w:type="table" w:styleId="Dark"><w:name w:val="Dark"/>
<w:tblStylePr w:type="firstRow"><w:tcPr><w:shd w:fill="112233"/></w:tcPr>
</w:tblStylePr></w:style></w:styles>"""
NUMBERING = f"""<w:numbering {SPACES}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0">
<w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="[%1]"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>"""
NOTES = f"""<w:footnotes {SPACES}><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> Rooms </w:t></w:r>
<w:r><w:t>differ.</w:t></w:r>
</w:p></w:footnote><w:footnote w:id="9"><w:p><w:r><w:t>Nobody points here.</w:t></w:r></w:p></w:footnote></w:footnotes>"""
LINKS = f"""<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="{RELATION}/hyperlink" Target="https://example.org/code" TargetMode="External"/>
<Relationship Id="rId2" Type="{RELATION}/hyperlink" Target="javascript:alert(1)" TargetMode="External"/>
<Relationship Id="rId3" Type="{RELATION}/image" Target="media/image1.png"/></Relationships>"""


def p(content: str, style: str = "", more: str = "") -> str:
    """A paragraph; `content` is text, or runs."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    runs = content if content.startswith("<") else run(content)
    return f"<w:p><w:pPr>{named}{more}</w:pPr>{runs}</w:p>"


def run(text: str, looks: str = "") -> str:
    return f'<w:r><w:rPr>{looks}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def listed(text: str, identity: int, level: int = 0) -> str:
    return p(text, more=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{identity}"/></w:numPr>')


def mr(text: str, looks: str = "") -> str:
    return f"<m:r><m:rPr>{looks}</m:rPr><m:t>{text}</m:t></m:r>"


def cell(content: str, looks: str = "") -> str:
    return f"<w:tc><w:tcPr>{looks}</w:tcPr>{content if content.startswith('<') else p(content)}</w:tc>"


def tbl(*rows: str, looks: str = "") -> str:
    return f"<w:tbl><w:tblPr>{looks}</w:tblPr>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def document(body: str, space: str = SPACES, before: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>{before}<w:document {space}><w:body>{body}<w:sectPr/></w:body></w:document>'


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of parts."""
    packet = io.BytesIO()
    with zipfile.ZipFile(packet, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packet.getvalue()


def docx(body: str, more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A document with styles, lists, footnotes and links."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "word/document.xml": document(body),
        "word/styles.xml": STYLES,
        "word/numbering.xml": NUMBERING,
        "word/footnotes.xml": NOTES,
        "word/_rels/document.xml.rels": LINKS,
    }
    return packed({**parts, **(more or {})})


def read(body: str, more: Mapping[str, str | bytes] | None = None) -> Reading:
    return read_docx(docx(body, more))


def flow(body: str) -> str:
    return read(body).pages[0].strip()


FRACTION = f"<m:f><m:num>{mr('Q')}</m:num><m:den>{mr('2')}</m:den></m:f>"
UPRIGHT = '<m:sty m:val="p"/>'
WAIT = f"<m:oMathPara><m:oMath>{mr('W', UPRIGHT)}{mr('=')}{FRACTION}</m:oMath></m:oMathPara>"
PAPER = "".join(
    [
        p("Slow Waiting for Everyone", "Title"),
        p("Ada Author, Bernd Müller and 王小明", "Author"),
        p("1 Introduction 3", "TOC1"),
        p("Abstract", "AbstractTitle"),
        p("We wait.", "Abstract"),
        p("1 Introduction", "Heading1"),
        p(
            run("Waiting is ")
            + run("old")
            + run(".")
            + '<w:r><w:footnoteReference w:id="2"/></w:r>'
            + run(" The code is ")
            + f'<w:hyperlink r:id="rId1">{run("here")}</w:hyperlink>'
            + run(", and costs $5.")
        ),
        p("2. Methode", "a3"),
        p("2.1 Räume", "berschrift2"),
        p(
            run("As in ")
            + f"<m:oMath><m:sSub><m:e>{mr('d')}</m:e><m:sub>{mr('k')}</m:sub></m:sSub></m:oMath>"
            + run(":")
        ),
        p(WAIT + run("\t(1)")),
        listed("Sit down.", 1),
        listed("Stay.", 1, 1),
        listed("First.", 2),
        p(
            "<w:r><w:drawing><wps:txbx><w:txbxContent>"
            + p("Figure 1: A room.", "Caption")
            + "</w:txbxContent></wps:txbx></w:drawing></w:r>"
        ),
        tbl(
            cell("Room") + cell("Time | s", '<w:gridSpan w:val="2"/>'),
            cell("A", '<w:vMerge w:val="restart"/>') + cell("1") + cell(p("2") + p("s")),
            cell("gone", "<w:vMerge/>") + cell("3") + cell("4"),
        ),
        p("Table 1. Times.", "Caption"),
        p(
            '<w:r><w:t xml:space="preserve">def f():</w:t><w:br/><w:t xml:space="preserve">    return $1</w:t></w:r>',
            "SourceCode",
        ),
        p("结论和 데이터", "o2"),
        p("我们提出了一种新的网络结构。"),
        p("References", "Heading1"),
        p("A. Author. On time. 1999.", "Bibliography"),
    ]
)
READ = r"""# Slow Waiting for Everyone

Ada Author, Bernd Müller, 王小明

## Abstract

We wait.

## 1 Introduction

Waiting is old.[^1] The code is [here](https://example.org/code), and costs \$5.

[^1]: Rooms differ.

## 2 Methode

### 2.1 Räume

As in $d_{k}$:

$$ W=\frac{Q}{2} \tag{1} $$

- Sit down.
  1. Stay.
1. First.

> **Figure 1.** A room.

> **Table 1.** Times.

| Room | Time \| s |  |
|---|---|---|
| A | 1 | 2 s |
|  | 3 | 4 |

```
def f():
    return $1
```

### 结论和 데이터

我们提出了一种新的网络结构。

## References

A. Author. On time. 1999.
"""


def test_a_document_is_read_whole_and_in_order() -> None:
    reading = read(PAPER)
    assert reading.pages == (READ,)
    assert (reading.verdict, reading.reader, reading.title) == (OK, "docx 2", "Slow Waiting for Everyone")
    assert reading.authors == ("Ada Author", "Bernd Müller", "王小明")
    assert [(link.url, link.text) for link in reading.links] == [("https://example.org/code", "here")]
    assert reading.hidden == ()


def test_a_document_in_the_strict_form_of_the_format_is_read_alike() -> None:
    strict = SPACES.replace(W, "http://purl.oclc.org/ooxml/wordprocessingml/main")
    parts = {"word/document.xml": document(p("1 A", "Heading1") + p("We wait."), strict)}
    assert read("", parts).pages == ("# 1 A\n\nWe wait.\n",)


def test_the_main_part_may_have_any_name() -> None:
    root = f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Type="{RELATION}'
    root += '/officeDocument" Target="/word/document2.xml"/></Relationships>'
    data = packed({"_rels/.rels": root, "word/document2.xml": document(p("We wait."))})
    assert read_docx(data).pages == ("We wait.\n",)


def fold(name: str, properties: str = "", **parts: str) -> str:
    inner = "".join(f"<m:{key}>{content}</m:{key}>" for key, content in parts.items())
    return f"<m:{name}><m:{name}Pr>{properties}</m:{name}Pr>{inner}</m:{name}>"


FORMULAS = [
    pytest.param(FRACTION, r"\frac{Q}{2}", id="a fraction"),
    pytest.param(fold("f", '<m:type m:val="lin"/>', num=mr("a"), den=mr("b")), "{a}/{b}", id="a fraction on the line"),
    pytest.param(fold("f", '<m:type m:val="noBar"/>', num=mr("n"), den=mr("k")), r"\binom{n}{k}", id="a binomial"),
    pytest.param(fold("sSup", e=mr("x"), sup=mr("2")), "x^{2}", id="a power"),
    pytest.param(fold("sSubSup", e=mr("W"), sub=mr("i"), sup=mr("Q")), "W_{i}^{Q}", id="both scripts"),
    pytest.param(fold("sSup", e=mr("10"), sup=mr("−9")), "10^{-9}", id="a power of a number"),
    pytest.param(fold("sPre", sub=mr("a"), sup=mr("b"), e=mr("X")), "{}_{a}^{b}X", id="scripts in front"),
    pytest.param(fold("rad", '<m:degHide m:val="1"/>', deg="", e=mr("x")), r"\sqrt{x}", id="a root"),
    pytest.param(fold("rad", deg=mr("3"), e=mr("x")), r"\sqrt[3]{x}", id="a third root"),
    pytest.param(
        fold("nary", '<m:chr m:val="∑"/>', sub=mr("i=1"), sup=mr("n"), e=mr("i")), r"\sum_{i=1}^{n} i", id="a sum"
    ),
    pytest.param(
        fold("nary", '<m:subHide m:val="on"/><m:supHide m:val="on"/>', sub="", sup="", e=mr("f")), r"\int f", id="an integral"
    ),
    pytest.param(fold("d", e=mr("x")), "(x)", id="brackets"),
    pytest.param(fold("d", '<m:begChr m:val="{"/><m:endChr m:val=""/>', e=FRACTION),
                 r"\left\{ \frac{Q}{2} \right.", id="one brace"),
    pytest.param(fold("func", fName=mr("max", UPRIGHT), e=mr("x")), r"\max x", id="a function"),
    pytest.param(
        fold("func", fName=fold("limLow", e=mr("lim", UPRIGHT), lim=mr("n→∞")), e=mr("x")), r"\lim_{n\to \infty} x", id="a limit"
    ),
    pytest.param(
        "<m:m><m:mr><m:e>" + mr("a") + "</m:e><m:e>" + mr("b") + "</m:e></m:mr><m:mr><m:e>" + mr("c") + "</m:e></m:mr></m:m>",
        r"\begin{matrix} a & b \\ c \end{matrix}",
        id="a matrix",
    ),
    pytest.param(fold("acc", '<m:chr m:val="̃"/>', e=mr("x")), r"\tilde{x}", id="a tilde"),
    pytest.param(fold("acc", e=mr("x")), r"\hat{x}", id="the accent that is not named"),
    pytest.param(fold("bar", '<m:pos m:val="top"/>', e=mr("x")), r"\overline{x}", id="a bar"),
    pytest.param(
        "<m:eqArr><m:e>" + mr("a&amp;=b") + "</m:e><m:e>" + mr("&amp;=c") + "</m:e></m:eqArr>",
        r"\begin{aligned} a&=b \\ &=c \end{aligned}",
        id="lines of an equation",
    ),
    pytest.param(mr("αΩϵ≤ℝ𝒩𝐱𝜃"), r"\alpha \Omega \epsilon \leq \mathbb{R}\mathcal{N}\mathbf{x}\theta", id="letters of all kinds"),
    pytest.param("".join(mr(sign, UPRIGHT) for sign in "softmax"), r"\mathrm{softmax}", id="a word, letter by letter"),
    pytest.param(
        mr("hea", UPRIGHT) + fold("sSub", e=mr("d", UPRIGHT), sub=mr("1")), r"\mathrm{head}_{1}", id="a word with an index"
    ),
    pytest.param(mr("if x", "<m:nor/>"), r"\text{if x}", id="words"),
    pytest.param(mr("R", '<m:scr m:val="double-struck"/>'), r"\mathbb{R}", id="a letter of another font"),
    pytest.param(mr("50%{$}"), r"50\%\{\$\}", id="signs that mean something"),
    pytest.param(f"<w:del>{mr('x')}</w:del><w:ins>{mr('y')}</w:ins>", "y", id="a formula that was changed"),
]  # fmt: skip


@pytest.mark.parametrize(("omml", "tex"), FORMULAS)
def test_formulas_become_latex(omml: str, tex: str) -> None:
    (formula,) = parse_xml(f"<m:oMath {SPACES}>{omml}</m:oMath>".encode(), "a formula").children
    assert omml_tex(formula).strip() == tex


EQUATIONS = [
    pytest.param(p(f"<m:oMath>{mr('x')}</m:oMath>"), "$$ x $$", id="alone in its paragraph"),
    pytest.param(p(f"<m:oMath>{mr('x')}</m:oMath>{run(' (2a)')}"), r"$$ x \tag{2a} $$", id="with its number behind it"),
    pytest.param(
        tbl(cell("") + cell(p(WAIT)) + cell("(3)")), r"$$ W=\frac{Q}{2} \tag{3} $$", id="in a table with its number"
    ),
    pytest.param(
        p(f"<m:oMathPara><m:oMath><m:eqArr><m:e>{mr('x=1#(4)')}</m:e></m:eqArr></m:oMath></m:oMathPara>"),
        r"$$ \begin{aligned} x=1 \end{aligned} \tag{4} $$",
        id="with its number behind a sign of Word's",
    ),
    pytest.param(
        p(run("so ") + WAIT + run("as")), "so\n\n" + r"$$ W=\frac{Q}{2} $$" + "\n\nas", id="within a paragraph"
    ),
]


@pytest.mark.parametrize(("body", "text"), EQUATIONS)
def test_display_equations_are_blocks_with_their_numbers(body: str, text: str) -> None:
    assert flow(body) == text


HIDDEN = [
    pytest.param(p(run("IGNORE", "<w:vanish/>")), "invisible", id="a hidden run"),
    pytest.param(p("IGNORE", "Ghost"), "invisible", id="a hidden style"),
    pytest.param(p(run("IGN", "<w:vanish/>") + run("ORE", '<w:vanish w:val="1"/>')), "invisible", id="hidden in two pieces"),
    pytest.param(p(run("IGNORE", '<w:color w:val="FFFFFF"/>')), "white", id="white"),
    pytest.param(
        p(run("IGNORE", '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="FFFFFF"/>')),
        "white",
        id="white on white",
    ),
    pytest.param(p(run("IGNORE", '<w:sz w:val="2"/>')), "tiny", id="one point"),
    pytest.param(tbl(cell("a") + cell(p(run("IGNORE", "<w:vanish/>"))), cell("b") + cell("c")), "invisible", id="in a table"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "how"), HIDDEN)
def test_hidden_text_is_told_and_stands_nowhere_in_the_flow(body: str, how: str) -> None:
    reading = read(p("We wait.") + body)
    assert "IGN" not in reading.pages[0]
    assert [(one.text, one.how, one.page) for one in reading.hidden] == [("IGNORE", how, 1)]


WHITE = run("SEEN", '<w:color w:val="FFFFFF"/>')
SEEN = [
    pytest.param(p(run("SEEN", '<w:vanish w:val="0"/>'), "Ghost"), id="shown again"),
    pytest.param(p(run("SEEN", '<w:color w:val="FFFFFF"/><w:highlight w:val="black"/>')), id="white on black"),
    pytest.param(p(WHITE, more='<w:shd w:val="clear" w:fill="112233"/>'), id="white in a dark paragraph"),
    pytest.param(
        tbl(cell(p(WHITE), '<w:shd w:fill="000000"/>') + cell("b"), cell("c") + cell("d")), id="white in a dark cell"
    ),
    pytest.param(
        tbl(cell(p(WHITE)) + cell("b"), cell("c"), looks='<w:tblStyle w:val="Dark"/>'), id="white in a dark table"
    ),
]


@pytest.mark.parametrize("body", SEEN)
def test_text_that_is_seen_stays_in_the_flow(body: str) -> None:
    reading = read(body)
    assert "SEEN" in reading.pages[0]
    assert reading.hidden == ()


FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
LINES = [
    pytest.param(f"{run('a')}<w:del><w:r><w:delText>b</w:delText></w:r></w:del><w:ins>{run('c')}</w:ins>", "ac", id="changes"),
    pytest.param(
        FIELD.format("begin") + '<w:r><w:instrText> HYPERLINK "https://a.org/" \\h</w:instrText></w:r>' + FIELD.format("separate")
        + run("it") + FIELD.format("end"), "[it](https://a.org/)", id="a link that is a field"),
    pytest.param(
        FIELD.format("begin") + "<w:r><w:instrText>PAGEREF x</w:instrText></w:r>" + FIELD.format("separate") + run("7")
        + FIELD.format("end"), "7", id="another field"),
    pytest.param(f'<w:fldSimple w:instr="SEQ Figure">{run("3")}</w:fldSimple>', "3", id="a simple field"),
    pytest.param(f'<w:hyperlink r:id="rId2">{run("it")}</w:hyperlink>', "it", id="a link that is a script"),
    pytest.param(f'<w:hyperlink w:anchor="x">{run("it")}</w:hyperlink>', "it", id="a link within the document"),
    pytest.param(run("10") + run("5", '<w:vertAlign w:val="superscript"/>') + run("x")
                 + run("ij", '<w:vertAlign w:val="subscript"/>'),
                 "10^5x_{ij}", id="raised and lowered"),
    pytest.param("<w:r><w:t>co</w:t><w:softHyphen/><w:t>op</w:t><w:noBreakHyphen/><w:t>x</w:t><w:tab/><w:t>y</w:t></w:r>",
                 "coop-x y", id="signs of their own"),
    pytest.param(f"<w:sdt><w:sdtPr/><w:sdtContent>{run('in')}</w:sdtContent></w:sdt>", "in", id="a control"),
    pytest.param('<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>', "α", id="a letter of the font Symbol"),
    pytest.param(run("# no heading"), r"\# no heading", id="a sign of structure"),
    pytest.param("<w:r><mc:AlternateContent><mc:Choice><w:drawing><w:txbxContent>"
                 + p("box") + "</w:txbxContent></w:drawing></mc:Choice>"
                 "<mc:Fallback><w:pict><w:txbxContent>" + p("box")
                 + "</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>",
                 "box", id="a text box, once"),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "text"), LINES)
def test_a_paragraph_is_what_its_reader_sees(runs: str, text: str) -> None:
    assert flow(p(runs)) == text


def test_the_numbers_of_references_are_those_of_their_list() -> None:
    body = p("1 A", "Heading1") + p("x") + p("References", "Heading1") + listed("A. 1999.", 2) + listed("B. 2001.", 2)
    assert read(body).pages[0].endswith("## References\n\n[1] A. 1999.\n\n[2] B. 2001.\n")


def test_headings_of_templates_are_headings() -> None:
    assert flow(p("T", "Title") + p("1. A", "MDPI21") + p("x") + p("y", "Loop1")) == "# T\n\n## 1 A\n\nx\n\ny"


CORE = (
    '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title>'
    "<dc:creator>Ada Author; Bernd Müller</dc:creator></cp:coreProperties>"
)
TITLES = [
    pytest.param(p("Best", "Title"), "Other", "Best", id="by its style"),
    pytest.param(p("x"), "Best", "Best", id="by the properties of the file"),
    pytest.param(p("Best", "Heading1") + p("x"), "Microsoft Word - best.doc", "Best", id="the first heading"),
    pytest.param(p("x"), "", None, id="none"),
]


@pytest.mark.parametrize(("body", "told", "title"), TITLES)
def test_the_title_is_found(body: str, told: str, title: str | None) -> None:
    reading = read(body, {"docProps/core.xml": CORE.format(told)})
    assert reading.title == title
    assert reading.authors == (), "the properties of a file name whoever saved it"


BOLD = "<w:b/>"


def bold(text: str) -> str:
    return p(run(text, BOLD))


BOLD_HEADINGS = [
    pytest.param(
        bold("T") + p("Jane Doe") + bold("Method") + p("x"),
        "# T\n\nJane Doe\n\n## Method\n\nx",
        id="the first one is the title",
    ),
    pytest.param(
        p("T", "Title") + bold("1. A") + p("x") + bold("1.1. B") + p("y"),
        "# T\n\n## 1 A\n\nx\n\n### 1.1 B\n\ny",
        id="numbers say the levels",
    ),
    pytest.param(
        bold("T") + p("A", "Heading1") + bold("b") + p("x"), "# A\n\nT\n\nb\n\nx", id="not beside headings by style"
    ),
    pytest.param(
        p("x") + bold("A sentence.") + p(run("B", BOLD) + run(" is so")) + bold("C"),
        "x\n\nA sentence.\n\nB is so\n\nC",
        id="not bold words of the text",
    ),
]


@pytest.mark.parametrize(("body", "text"), BOLD_HEADINGS)
def test_bold_paragraphs_are_headings_where_no_style_says_so(body: str, text: str) -> None:
    assert flow(body) == text


def test_letters_of_a_style_that_is_bold_are_bold() -> None:
    styles = STYLES.replace(
        "</w:styles>", '<w:style w:styleId="Own"><w:name w:val="Own"/><w:rPr><w:b/></w:rPr></w:style></w:styles>'
    )
    body = p("T", "Own") + p("x") + p("Method", "Own") + p("y") + p(run("z", '<w:b w:val="0"/>'), "Own")
    assert read(body, {"word/styles.xml": styles}).pages[0].strip() == "# T\n\nx\n\n## Method\n\ny\n\nz"


ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'
FILE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
INCLUDE = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
HOSTILE = [
    pytest.param(document(p("&b;"), before=ENTITIES), "declares entities", id="entities in entities"),
    pytest.param(document(p("x"), before=OUTSIDE), "declares entities", id="a document type elsewhere"),
    pytest.param(document(p("&a;"), before=FILE), "declares entities", id="an entity that is a file"),
    pytest.param(document(p(INCLUDE)), "includes files", id="an inclusion"),
    pytest.param(later(lambda: document("<w:sdt>" * 50_000)), "deeper", id="endless depth"),
    pytest.param(document("<w:p>"), "not valid XML", id="tags that do not end"),
    pytest.param("words", "not valid XML", id="no XML"),
    pytest.param('<?xml version="1.0" encoding="klingon"?><x/>', "not valid XML", id="an encoding that nobody knows"),
    pytest.param(b"\xff\xfe\x00", "not valid XML", id="bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "words"), HOSTILE)
@pytest.mark.parametrize("name", ["word/document.xml", "word/styles.xml", "word/footnotes.xml"])
def test_hostile_parts_are_refused_at_once(
    part: str | bytes, words: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a part of a document was opened, or an address")

    monkeypatch.setattr("socket.socket.connect", refuse)
    data = docx(p("x"), {name: part})
    with must_end():
        with pytest.raises(Unreadable, match=words) as refused:
            read_docx(data)
        assert refused.value.verdict == BROKEN


@pytest.mark.parametrize(
    ("part", "words"),
    [
        pytest.param("<x/>", "no document text", id="another XML"),
        pytest.param(document(p("...")), "without words", id="no words"),
    ],
)
def test_a_document_without_text_is_refused(part: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        read("", {"word/document.xml": part})


SLOW = [
    pytest.param(later(lambda: "<w:p/>" * 100_000 + p("x")), id="empty paragraphs"),
    pytest.param(p(run("x", "<w:b/>" * 50) * 2_000), id="properties again and again", marks=pytest.mark.slow),
    pytest.param(
        later(lambda: p(FIELD.format("begin") * 50_000 + run("x") + FIELD.format("end") * 50_000)),
        id="fields in fields",
    ),
    pytest.param(later(lambda: "".join(listed("x", 1, 1) for _ in range(20_000))), id="a long list"),
    pytest.param(
        later(lambda: tbl(*[cell("x", '<w:gridSpan w:val="999"/>') for _ in range(10_000)])),
        id="wide cells",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        later(lambda: "<w:tbl><w:tr><w:tc>" * 35 + p("x" + "|" * 10_000) + "</w:tc></w:tr></w:tbl>" * 35),
        id="tables in tables",
    ),
    pytest.param(
        later(lambda: p("<m:oMath>" + "<m:d><m:e>" * 50 + mr("x" * 10_000) + "</m:e></m:d>" * 50 + "</m:oMath>")),
        id="brackets in brackets",
        marks=pytest.mark.slow,
    ),
    pytest.param(later(lambda: p('<w:r><w:footnoteReference w:id="2"/></w:r>' * 20_000)), id="one footnote, often"),
]


@pytest.mark.parametrize("body", with_covered(SLOW, "empty paragraphs", "a long list"))
def test_a_document_that_wants_to_do_harm_costs_seconds_and_no_more(body: str) -> None:
    data = docx(body)
    with must_end():
        assert len(read_docx(data).pages[0]) < 20_000_000


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)
WRONG = [
    pytest.param(OLE, ENCRYPTED, "password", id="with a password, perhaps"),
    pytest.param(OLE + "EncryptedPackage".encode("utf-16-le"), ENCRYPTED, "password", id="with a password"),
    pytest.param(OLE + "WordDocument".encode("utf-16-le"), BROKEN, "old Word file", id="of an old Word"),
    pytest.param(b"", BROKEN, "not a Word document", id="empty"),
    pytest.param(b"%PDF-1.7", BROKEN, "not a Word document", id="a PDF"),
    pytest.param(packed({"xl/workbook.xml": "<x/>"}), BROKEN, "without word/document.xml", id="a spreadsheet"),
    pytest.param(docx(p("x"))[:-100], BROKEN, ".", id="half a file"),
    pytest.param(b"PK\x03\x04" + bytes(100), BROKEN, ".", id="the beginning of one"),
]


@pytest.mark.parametrize(("data", "verdict", "words"), WRONG)
def test_what_is_no_document_is_refused_with_the_reason(data: bytes, verdict: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as refused:
        read_docx(data)
    assert refused.value.verdict == verdict


def test_a_document_with_more_elements_than_any_paper_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phases.readers.docx.xml._MOST_ELEMENTS", 8_000)
    with pytest.raises(Unreadable, match="more or deeper elements"):
        read(f"{'<w:p/>' * 8_000}")
    assert read(f"{'<w:p/>' * 7_000}{p(run('words'))}").verdict == "ok"


def test_nothing_is_written_and_no_name_in_the_archive_leads_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read(p("We wait."), {"../../evil.xml": "<x/>", "/etc/evil": "x"}).pages == ("We wait.\n",)
    assert list(tmp_path.iterdir()) == []


PIECES = st.sampled_from(
    [
        p("words"), p("1 A", "Heading1"), p("x", "Caption"), p("code", "SourceCode"), p("T", "Title"), p("A", "Author"),
        listed("i", 1),
        listed("j", 2, 1), p(WAIT), p(f"<m:oMath>{FRACTION}</m:oMath>"), tbl(cell("a") + cell("b"), cell("c")), tbl(cell("a")),
        tbl(),
        p(FIELD.format("begin")), p(FIELD.format("separate")), p(FIELD.format("end")), p('<w:hyperlink r:id="rId1"/>'), "<w:p/>",
        p('<w:r><w:footnoteReference w:id="2"/></w:r>'), p('<w:r><w:endnoteReference w:id="99"/></w:r>'),
        p(run("h", "<w:vanish/>")),
        p('<w:r><w:sym w:char="zz"/></w:r>'), p("x", "Nowhere"), p("x", more='<w:outlineLvl w:val="99"/>'),
        "<w:sdt/>", "<w:tbl/>",
        p("<m:oMath><m:f/><m:nary/><m:d/><m:m/><m:acc/><m:limLow/><m:rad/><m:func/><m:sSub/><m:r/></m:oMath>"),
        "<mc:AlternateContent/>",
        p("<w:r><mc:AlternateContent/></w:r>"), tbl(cell(p("x"), '<w:gridSpan w:val="-1"/>') * 2) * 2, "<m:oMathPara/>", "text",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
@example(p("Table 1: x"))
@QUICK
def test_no_document_surprises_the_reader(body: str) -> None:
    reading = read(body + p("words"))
    assert reading == read(body + p("words")), "the same document, the same reading"
    assert reading.pages[0].endswith("\n")


@given(st.binary(max_size=200), st.booleans())
@QUICK
def test_no_bytes_surprise_the_reader(data: bytes, inside: bool) -> None:
    with pytest.raises(Unreadable):
        read_docx(packed({"word/document.xml": data}) if inside else b"PK\x03\x04" + data)
