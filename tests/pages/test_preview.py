"""The page that shows a paper beside what was read: all of it, in its place, and nothing of it comes alive."""

from __future__ import annotations

import base64
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.pages.preview import render_preview
from phases.readers.markdown import paper_document
from phases.readers.page_pictures import draw_pages
from phases.readers.reading import OK, Hidden, Link, Reading
from phases.readers.text import read_text
from pipeline.base.errors import PipelineError
from tests.papers import MARKDOWN, PAPER, good_pdf, pdf
from tests.rows import later
from tests.strategies import QUICK
from tests.work import must_end

PNG = b"\x89PNG\r\n\x1a\n"
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&<a href=javascript:alert(3)>"
NEVER = ("script", "iframe", "object", "embed", "link", "base", "form", "input", "svg", "a", "video", "audio")


class Page(HTMLParser):
    """What a browser would make of a page: its elements, and its words."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def words(self) -> list[str]:
        return re.findall(r"\w+", " ".join(self.texts))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def shown(text: str, pictures: dict[int, bytes] | None = None) -> Page:
    return Page(render_preview(paper_document(read_text(text.encode(), markdown=True), "0" * 64, "md"), pictures or {}))


def body_of(source: str) -> str:
    return unescape(source[source.index("<section") :])


def assert_dead(page: Page) -> None:
    """Nothing in the page runs, loads or leads anywhere."""
    assert page.comments == []
    for tag, attributes in page.elements:
        assert tag not in NEVER, tag
        assert [name for name in attributes if name.startswith("on")] == []
        for name in ("src", "href", "action", "background", "srcset", "style"):
            value = attributes.get(name) or "data:"
            assert value.startswith("data:"), f"{tag} {name}={value}"


def test_each_page_of_the_paper_stands_beside_its_picture() -> None:
    reading = Reading(OK, "test 1", pages=("first words", "second words", "third words"), title="T")
    page = render_preview(paper_document(reading, "0" * 64, "pdf"), {1: PNG + b"one", 3: PNG + b"three"})
    sections = page.split("<section")[1:]
    assert ["<img" in section for section in sections] == [True, False, True]
    for section, words in zip(sections, ("first", "second", "third"), strict=True):
        assert f"{words} words" in section
    assert 'alt="page 3"' in sections[2]
    assert "page 2" in sections[1], "a page without a picture is told by its number"


def test_a_figure_stands_over_its_caption_and_other_quotes_have_none() -> None:
    reading = Reading(OK, "e 1", pages=("> **Figure 3.** A room\n\n> A word.\n\n> **Table 9.** None",))
    floats = {"Figure 3": PNG + b"room", "Table 1": PNG + b"other"}
    page = render_preview(paper_document(reading, "0" * 64, "pdf"), {}, floats)
    assert page.count("<img") == 1
    assert (
        f'src="data:image/png;base64,{base64.b64encode(PNG + b"room").decode()}"><blockquote><b>Figure 3.</b> A room'
        in page
    )


def test_the_head_tells_the_title_the_authors_the_reader_and_the_verdict() -> None:
    reading = Reading(OK, "engine 7", pages=("words",), title="A & B", authors=("C <D>", "E"))
    page = Page(render_preview(paper_document(reading, "0" * 64, "pdf"), {}))
    text = " ".join(page.texts)
    for words in ("A & B", "C <D>, E", "engine 7", "1 pages", "verdict ok"):
        assert words in text


def test_text_that_no_page_shows_is_told_with_its_page_and_how() -> None:
    hidden = (Hidden("ignore <all> rules", 2, "off_page"), Hidden("white words", 1, "white"))
    page = render_preview(paper_document(Reading(OK, "e 1", pages=("x", "y"), hidden=hidden), "0" * 64, "pdf"), {})
    assert "page 2, off page: ignore &lt;all&gt; rules" in page
    assert "page 1, white: white words" in page


def test_a_paper_without_hidden_text_says_nothing_of_it() -> None:
    assert "do not show" not in " ".join(shown("# A\n\nwords").texts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EVIL, id="a paragraph"),
        pytest.param(f"# {EVIL}", id="a heading"),
        pytest.param(f"> **Figure 1.** {EVIL}", id="a caption"),
        pytest.param(f"|a|\n|---|\n|{EVIL}|", id="a cell of a table"),
        pytest.param(f"- {EVIL}", id="an item of a list"),
        pytest.param(f"[^1]: {EVIL}", id="a footnote"),
        pytest.param(f"$$ {EVIL} $$", id="an equation"),
        pytest.param(f"```\n{EVIL}\n```", id="a listing"),
        pytest.param(f"```\n{EVIL}", id="a listing that never ends"),
        pytest.param(f"```{EVIL}\nx\n```", id="the language of a listing"),
        pytest.param(f"[{EVIL}](javascript:alert(4))", id="a link"),
        pytest.param(f"![x](https://example.org/x.png)\n\n{EVIL}", id="a picture from elsewhere"),
        pytest.param("</div></section></body></html><script>alert(5)</script>", id="the end of the page"),
        pytest.param("<!-- --><style>@import url(http://example.org)</style>", id="a style"),
        pytest.param("<!-- page 7 -->\n\n<!-- page 7 --><script>", id="the mark of a page"),
        pytest.param("&lt;script&gt;alert(6)&lt;/script&gt;", id="what is escaped already"),
    ],
)
def test_nothing_that_a_stranger_wrote_comes_alive(text: str) -> None:
    reading = Reading(
        OK,
        EVIL,
        pages=(text, EVIL),
        title=EVIL,
        authors=(EVIL,),
        links=(Link("javascript:alert(7)", 1, EVIL),),
        hidden=(Hidden(EVIL, 1, "tiny"),),
    )
    page = Page(render_preview(paper_document(reading, "0" * 64, "pdf"), {1: PNG}))
    assert_dead(page)
    assert page.count("section") == 2


def test_the_page_itself_forbids_to_run_and_to_load() -> None:
    page = shown("words")
    [policy] = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert page.elements[[tag for tag, _ in page.elements].index("meta")][1] == {"charset": "utf-8"}


@given(MARKDOWN)
@example("## 1 Introduction\nWaiting is old.\n\nmore")
@example("```inline```\n\nmore")
@example("|a|b|\n|---|---|\n|--- lost|c|")
@example("```\nlast```\n\nmore")
@example("> one\n> two\n\n- a\n- b\n\n[^1]: x\ny")
@example("a\n\n\n\n\nb\n \nc")
@example("\x800")
@QUICK
def test_every_word_of_a_paper_is_in_its_page_and_nothing_comes_alive(text: str) -> None:
    paper = paper_document(read_text(text.encode(), markdown=True), "0" * 64, "md")
    source = render_preview(paper, {})
    assert_dead(Page(source))
    marks = re.compile(r"<!-- page 1 -->|^```\w*$|^[#>|-]+", re.MULTILINE)
    words = re.findall(r"\w+", marks.sub(" ", paper.text[paper.body_start :]))
    left = unescape(re.sub(r"<[^<>]*>", " ", source[source.index("<section") :]))
    assert [word for word in words if word not in left] == []  # what is not seen is written out, as letters of the word


def test_every_word_of_a_whole_paper_is_in_its_page() -> None:
    found = set(shown(PAPER).words)
    assert [word for word in re.findall(r"\w+", PAPER) if word not in found] == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("## 1 Introduction", "<h2>1 Introduction</h2>", id="a heading"),
        pytest.param("###### Deep", "<h6>Deep</h6>", id="a deep heading"),
        pytest.param("#hashtag", "<p>#hashtag</p>", id="what only looks like a heading"),
        pytest.param("\\# escaped", "<p>\\# escaped</p>", id="a sign that its author wrote"),
        pytest.param("> **Figure 3.** A room", "<blockquote><b>Figure 3.</b> A room</blockquote>", id="a caption"),
        pytest.param("$$ y = x \\tag{3} $$", '<div class="equation">$$ y = x \\tag{3} $$</div>', id="an equation"),
        pytest.param("[^1]: note", '<p class="soft">[^1]: note</p>', id="a footnote"),
        pytest.param("```algorithm\nAlgorithm 1: W\n  for\n```", "<pre>Algorithm 1: W\n  for</pre>", id="an algorithm"),
        pytest.param(
            "```\na\n\n\nb\n```\n\nafter", "<p>after</p>", id="what follows a listing with an empty line in it"
        ),
        pytest.param("```\na\n\n```\n\nafter", "<p>after</p>", id="what follows a listing that ends in an empty line"),
        pytest.param("```\n# no\n\n## heading\n```", "<pre># no\n\n## heading</pre>", id="a comment in a listing"),
    ],
)
def test_a_block_is_shown_as_what_it_is(text: str, wanted: str) -> None:
    paper = paper_document(read_text(text.encode(), markdown=True), "0" * 64, "md")
    assert wanted in body_of(render_preview(paper, {}))


def test_a_table_has_a_cell_for_each_cell() -> None:
    page = shown("> **Table 1.** T\n\n|a|b|c|\n|---|---|---|\n|1\\|2||3|\n|||4|")
    assert (page.count("tr"), page.count("td")) == (3, 9), "an empty cell is a cell"


def test_a_heading_in_a_listing_that_spans_pages_stays_on_its_page() -> None:
    reading = Reading(OK, "e 1", pages=("```\nnever closed", "## Next page"))
    source = render_preview(paper_document(reading, "0" * 64, "pdf"), {})
    assert "<h2>Next page</h2>" in source


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(later(lambda: "```\n" * 40_000), id="fences"),
        pytest.param(later(lambda: "```\n\n" * 40_000), id="fences in blocks", marks=pytest.mark.slow),
        pytest.param(later(lambda: "|" * 400_000), id="bars"),
        pytest.param(later(lambda: "| a " * 100_000 + "\n|---|"), id="a wide table"),
        pytest.param(later(lambda: "\\|" * 200_000), id="escaped bars", marks=pytest.mark.slow),
        pytest.param(later(lambda: "\n" * 400_000 + "a"), id="empty lines"),
        pytest.param(later(lambda: "# " + " " * 400_000 + "x"), id="a heading of blanks", marks=pytest.mark.slow),
        pytest.param(later(lambda: "<" * 400_000), id="angle brackets", marks=pytest.mark.slow),
        pytest.param(later(lambda: "<!-- page 1\n" * 40_000), id="marks of pages", marks=pytest.mark.slow),
        pytest.param(later(lambda: "<!--" + " " * 400_000), id="a mark of blanks", marks=pytest.mark.slow),
        pytest.param(later(lambda: "a\n\n" * 100_000), id="short paragraphs", marks=pytest.mark.slow),
    ],
)
def test_to_show_a_paper_takes_time_in_proportion_to_it(page: str) -> None:
    reading = Reading(OK, "e 1", pages=(page,))
    with must_end():
        render_preview(paper_document(reading, "0" * 64, "pdf"), {})


# Pictures of pages


def pictures(folder: Path, content: bytes, password: str | None = None) -> dict[int, bytes]:
    (folder / "paper.pdf").write_bytes(content)
    return draw_pages(str(folder / "paper.pdf"), password)


def test_each_page_of_a_pdf_has_its_picture(tmp_path: Path) -> None:
    found = pictures(tmp_path, good_pdf())
    assert sorted(found) == [1, 2]
    assert all(picture.startswith(PNG) for picture in found.values())
    assert found[1] != found[2]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="an empty file", marks=pytest.mark.slow),
        pytest.param(b"%PDF-1.7\n", id="a head alone"),
        pytest.param(good_pdf()[:300], id="a truncated PDF"),
        pytest.param(pdf([["words"]], locked=True), id="an encrypted PDF"),
        pytest.param(b"\x89PNG" * 100, id="no PDF at all", marks=pytest.mark.slow),
    ],
)
def test_a_pdf_that_cannot_be_drawn_has_no_pictures_and_does_no_harm(content: bytes, tmp_path: Path) -> None:
    assert pictures(tmp_path, content) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["paper.pdf"]


def test_drawing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert pictures(tmp_path, good_pdf())
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_word_with_half_a_character_is_shown_all_the_same() -> None:
    # Half a surrogate pair comes out of PDFs and web pages; it has no bytes in UTF-8.
    rows: dict[str, Any] = {"title": "A \ud800 title", "pages": ("words \udfff here",)}
    try:
        source = render_preview(paper_document(Reading(OK, "e 1", **rows), "0" * 64, "pdf"), {})
    except (ValueError, PipelineError) as error:
        pytest.fail(f"a reading with half a character breaks: {error!r}")
    source.encode("utf-8")


@pytest.mark.slow
@given(st.text(max_size=60), st.text(max_size=60))
@QUICK
def test_any_title_and_text_make_a_page_that_can_be_written(title: str, text: str) -> None:
    reading = Reading(OK, "e 1", pages=(text,), title=title, authors=(text,), hidden=(Hidden(text, 1, "white"),))
    source = render_preview(paper_document(reading, "0" * 64, "pdf"), {})
    assert_dead(Page(source))
    source.encode("utf-8")
