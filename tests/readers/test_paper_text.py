"""What a person wrote by hand: Markdown and plain text as they stand, and requirements sentence by sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.planning.quotes import quote_of
from phases.planning.rules import plan_by_rules, plan_of_text
from phases.readers.markdown import add_notes, paper_document
from phases.readers.outline import outline_of
from phases.readers.reading import BROKEN, OK, Unreadable
from phases.readers.text import read_requirement, read_text
from tests.papers import MARKDOWN, PAPER
from tests.rows import later, with_covered
from tests.strategies import QUICK
from tests.work import must_end


def body(text: str, *, markdown: bool) -> str:
    """The one page of a text."""
    [page] = read_text(text.encode(), markdown=markdown).pages
    return page


# Markdown


def test_markdown_is_left_as_it_stands() -> None:
    reading = read_text(PAPER.encode(), markdown=True)
    assert (reading.verdict, reading.pages) == (OK, (PAPER,))
    assert reading.title == "Slow Waiting for Everyone"


@pytest.mark.parametrize("end", ["\r\n", "\r"], ids=["Windows", "an old Mac"])
def test_the_line_ends_of_other_systems_are_read(end: str) -> None:
    assert body(PAPER.replace("\n", end), markdown=True) == PAPER


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert read_text(b"\xef\xbb\xbf# Title\n", markdown=True).title == "Title"


FRONT = [
    pytest.param("title: 'FastThing: thinning'\nauthors:\n  - name: Jane Doe\n    orcid: 0000\n  - name: A. Li\n",
                 ("FastThing: thinning", ("Jane Doe", "A. Li")), id="a list of names with their places"),
    pytest.param("title: T\nauthor: Jane Doe and A. Li\ndate: 1 June 2021\n", ("T", ("Jane Doe", "A. Li")), id="one line"),
    pytest.param("title: T\nauthors:\n- given-names: Jane\n  surname: Doe\n- A. Li\n", ("T", ("Jane Doe", "A. Li")), id="both"),
    pytest.param("title: FastThing: thinning\ntags: [a]\n", ("FastThing: thinning", ()), id="a colon without quotes"),
]  # fmt: skip


@pytest.mark.parametrize(("front", "known"), FRONT)
def test_title_and_authors_of_front_matter_are_those_of_the_paper(
    front: str, known: tuple[str, tuple[str, ...]]
) -> None:
    reading = read_text(f"---\n{front}---\n# Summary\n\nWords.\n\n```\n# code\n```\n".encode(), markdown=True)
    assert (reading.title, reading.authors) == known
    assert reading.pages[0] == f"# {known[0]}\n\n## Summary\n\nWords.\n\n```\n# code\n```\n"


def test_front_matter_is_no_part_of_the_text() -> None:
    assert body("---\ndate: x\n---\n# A\n\n---\n\nB\n", markdown=True) == "# A\n\n---\n\nB\n"


@pytest.mark.parametrize("text", ["---\nnever closed\n# A\n", "\n---\na\n---\n", "----\na\n----\n"])
def test_what_is_no_front_matter_stays(text: str) -> None:
    assert body(text, markdown=True) == text


def test_each_address_is_a_link_once_and_without_the_full_stop_behind_it() -> None:
    text = "See https://a.org/x, (http://b.org/y?z=1#w). Or [c](https://c.org/d), https://a.org/x! <https://e.org/>"
    links = [link.url for link in read_text(text.encode(), markdown=True).links]
    assert links == ["https://a.org/x", "http://b.org/y?z=1#w", "https://c.org/d", "https://e.org/"]


@pytest.mark.parametrize("markdown", [True, False], ids=["Markdown", "plain text"])
def test_bytes_that_are_no_text_are_unreadable_and_the_byte_is_named(markdown: bool) -> None:
    with pytest.raises(Unreadable, match="byte 6") as caught:
        read_text(b"words \xff", markdown=markdown)
    assert caught.value.verdict == BROKEN


@given(st.binary(max_size=200), st.booleans())
@example(b"\xef\xbb\xbf", True)
@example(b"\x00", False)
@QUICK
def test_any_bytes_are_read_or_unreadable(content: bytes, markdown: bool) -> None:
    try:
        reading = read_text(content, markdown=markdown)
        requirement = read_requirement(content)
    except Unreadable:
        with pytest.raises(UnicodeDecodeError):
            content.decode("utf-8-sig")
    else:
        assert reading.verdict == requirement.verdict == OK
        assert len(requirement.title or "") <= 80


NOTES = [
    "# Addendum\n\nThe window is set to 7 items.\n\n## Data\n\nUse all lists.\n",
    "The window is set to 7 items.\n",
]


@pytest.mark.parametrize("note", NOTES, ids=["below its heading", "without any heading"])
def test_the_prose_of_an_addendum_is_planned(note: str) -> None:
    paper = b"# Thin\n\n## 1 Introduction\n\nLists are long.\n\n## 2 Method\n\nWe keep every third item.\n"
    reading = add_notes(read_text(paper, markdown=True), [("addendum.md", read_text(note.encode(), markdown=True))])
    document = paper_document(reading, "0" * 64, "md")
    plan = plan_by_rules(document.text, outline_of(document), body_start=document.body_start)
    assert "The window is set to 7 items." in [row["text"] for row in plan["requirements"]]
    assert [(row["name"], row["value"]) for row in plan["values"]] == [("window", 7)]


# Plain text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("1 Introduction\n\nWords", "## 1 Introduction\n\nWords", id="a number"),
        pytest.param("a\n\n2. Method\n\nb", "a\n\n## 2. Method\n\nb", id="a number with a point"),
        pytest.param("3.1 Loss\n\nx", "### 3.1 Loss\n\nx", id="a number of two parts"),
        pytest.param("3.1.2 Loss\n\nx", "#### 3.1.2 Loss\n\nx", id="a number of three parts"),
        pytest.param("A Title\n=======\n\nx", "# A Title\n\nx", id="a double line under it"),
        pytest.param("Method\n------\n\nx", "## Method\n\nx", id="a line under it"),
        pytest.param("4 Größe\n\nx", "## 4 Größe\n\nx", id="letters of every alphabet"),
        pytest.param("5 方法\n\nx", "## 5 方法\n\nx", id="a heading in Chinese"),
    ],
)
def test_a_heading_of_plain_text_is_told_by(text: str, wanted: str) -> None:
    assert body(text, markdown=False) == wanted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\n1 apple\nb", id="a line amid others"),
        pytest.param("1 apple was eaten.\n\nx", id="a sentence"),
        pytest.param("1. apples,\n\nx", id="an item of a list"),
        pytest.param("2020 2021\n\nx", id="years"),
        pytest.param("3.14159\n\nx", id="a number alone"),
        pytest.param("1 " + "long " * 30 + "\n\nx", id="a long line"),
        pytest.param("a\nb\n---\n\nc", id="a line under a paragraph of two lines"),
        pytest.param("\n\n---\n\nc", id="a line alone"),
        pytest.param("a = b\n== c\n", id="a line that only begins so"),
    ],
)
def test_what_is_no_heading_of_plain_text_is_left_as_it_stands(text: str) -> None:
    assert body(text, markdown=False) == text


MEMO = """

Some Working Group                                              A. Li
Request for Comments: 1                                      May 1996

                Thinning Lists in Linear Time

Status of This Memo:

   This memo thins lists.  It is
   informational.

1. Method

   1.1. Stride

      Every third item stays

Li                           Informational                      [Page 1]
\f
RFC 1                 Thinning Lists in Linear Time             May 1996

      in the list.

         Code  Bits
         ----  ----
            1     3

Li                           Informational                      [Page 2]
\f
RFC 1                 Thinning Lists in Linear Time             May 1996

   1. An item of a list

"""


def test_a_memo_has_its_title_and_headings_and_no_page_feet() -> None:
    reading = read_text(MEMO.encode(), markdown=False)
    assert reading.title == "Thinning Lists in Linear Time"
    page = reading.pages[0]
    headings = re.findall("^#.*", page, re.MULTILINE)
    assert headings == [f"# {reading.title}", "## Status of This Memo", "## 1. Method", "### 1.1. Stride"]
    assert "[Page" not in page
    assert "RFC 1 " not in page
    assert "```\n         Code  Bits\n         ----  ----\n            1     3\n```" in page


@given(MARKDOWN)
@example("A\n===\n===\n---")
@example("===\n---\n\n1 A\n\n---")
@QUICK
def test_no_word_of_a_plain_text_is_lost_or_made_up(text: str) -> None:
    before = re.findall(r"\w+", text.replace("\r", "\n"))
    assert re.findall(r"\w+", body(text, markdown=False)) == before


HOSTILE = [
    pytest.param(later(lambda: "1." * 200_000 + "\n\n"), id="a number without an end"),
    pytest.param(later(lambda: "-" * 400_000 + "x"), id="a line without an end"),
    pytest.param(later(lambda: "1 " * 200_000), id="numbers and blanks"),
    pytest.param(later(lambda: "# " * 200_000), id="headings in one line"),
    pytest.param(later(lambda: "---\n" * 100_000), id="front matter again and again"),
    pytest.param(later(lambda: "http://" * 60_000), id="addresses in addresses"),
    pytest.param(later(lambda: "http://a" + "." * 400_000), id="full stops behind an address"),
    pytest.param(later(lambda: "\n" * 400_000 + "a"), id="empty lines"),
    pytest.param(later(lambda: "a\n===\n" * 60_000), id="headings"),
    pytest.param(later(lambda: " " * 400_000 + "a"), id="blanks"),
    pytest.param(later(lambda: "1 a\t" + " \t" * 200_000 + "\n\n"), id="tabs behind a heading"),
]


@pytest.mark.parametrize(
    "text", with_covered(HOSTILE, "a number without an end", "front matter again and again", "empty lines", "headings")
)
def test_to_read_a_text_takes_time_in_proportion_to_it(text: str) -> None:
    content = text.encode()
    with must_end():
        read_text(content, markdown=True)
        read_text(content, markdown=False)
        read_requirement(content)


# Requirements


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("Build a queue. It must survive.", "Build a queue", id="its first sentence"),
        pytest.param("Build a queue\nthat survives", "Build a queue", id="its first line"),
        pytest.param("  \n\nBuild a queue!", "Build a queue", id="its first line that is not empty"),
        pytest.param("Use Python 3.11 and no more. Then rest.", "Use Python 3.11 and no more", id="a point in a number"),
        pytest.param("实现一个队列。它必须可靠。", "实现一个队列", id="a sentence in Chinese"),
        pytest.param("word " * 40, ("word " * 16).strip(), id="as many words as a title holds"),
        pytest.param("w" * 200, "w" * 80, id="as many letters as a title holds"),
    ],
)  # fmt: skip
def test_the_title_of_a_requirement_is(text: str, title: str) -> None:
    assert read_requirement(text.encode()).title == title


OUTLINE = {"title": "Wishes", "abstract": "", "equations": []}


def test_each_sentence_and_item_of_a_requirement_is_asked_for() -> None:
    plan = plan_of_text(
        "Build a queue. It must survive a crash.\n\n- Keep items on the disk\n- Tell the length\n", OUTLINE
    )
    assert plan
    assert [wish["text"] for wish in plan["requirements"]] == [
        "Build a queue.",
        "It must survive a crash.",
        "Keep items on the disk",
        "Tell the length",
    ]
    assert [wish["id"] for wish in plan["requirements"]] == ["R1", "R2", "R3", "R4"]


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("It must survive a crash.", "def survive_crash"),
        ("Please write a cache", "class WriteCache"),
        ("Users can sort rows by name.", "def users_sort_rows"),
    ],
)
def test_a_wish_is_called_by_its_first_telling_words(wish: str, name: str) -> None:
    plan = plan_of_text(wish, OUTLINE)
    assert plan
    assert name in [line for row in plan["file_structure"] for line in row["interface"]]


def test_each_value_in_a_requirement_is_asked_for_by_its_name() -> None:
    plan = plan_of_text("Train it with a learning rate of 0.1 and a batch size of 32.", OUTLINE)
    assert plan
    assert {row["name"]: row["value"] for row in plan["values"]} == {"learning rate": 0.1, "batch size": 32}


def test_what_says_nothing_is_not_asked_for() -> None:
    assert plan_of_text("...\n\n--\n\n1 2 3\n\nok\n", OUTLINE) is None


@pytest.mark.slow
@given(MARKDOWN)
@example("a learning rate of 0.1\n\n" * 3)
@example("x" * 900 + ". " + "y " * 700)
@QUICK
def test_every_wish_quotes_its_own_words(text: str) -> None:
    plan = plan_of_text(text, OUTLINE)
    plain = " ".join(text.split())
    wishes = plan["requirements"] if plan else []
    assert len({wish["id"] for wish in wishes}) == len(wishes)
    for wish in wishes:
        assert quote_of(wish) in plain, "a quote stands in the text"
        assert 0 < len(wish["text"]) <= 2000
        assert len(wish["source"]["quote"]) <= 120


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(later(lambda: "a b c " * 20_000), id="a sentence without an end", marks=pytest.mark.slow),
        pytest.param(later(lambda: "Build it. " * 12_000), id="many sentences", marks=pytest.mark.slow),
        pytest.param(later(lambda: "0.1 " * 30_000), id="many numbers", marks=pytest.mark.slow),
        pytest.param(later(lambda: "learning rate of " * 8_000), id="a name without a value", marks=pytest.mark.slow),
        pytest.param(later(lambda: "- a\n" * 30_000), id="many items", marks=pytest.mark.slow),
        pytest.param(later(lambda: "learning rate = 0.1, " * 6_000), id="many values", marks=pytest.mark.slow),
        pytest.param(later(lambda: "(" * 100_000), id="brackets"),
        pytest.param(later(lambda: "```\n" * 30_000), id="fences"),
        pytest.param(later(lambda: "a" * 120_000), id="a word without an end", marks=pytest.mark.slow),
        pytest.param(later(lambda: "." * 120_000), id="full stops"),
        pytest.param(later(lambda: "a" + " " * 120_000 + "b"), id="blanks"),
    ],
)
def test_to_find_the_requirements_takes_time_in_proportion_to_the_text(text: str) -> None:
    with must_end():
        plan_of_text(text, {"title": "T", "abstract": "", "equations": []})
