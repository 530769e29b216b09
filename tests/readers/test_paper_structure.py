"""The structure of paper.md: sections, references, links, captions, and segments that cover all of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given

from phases.readers.segments import LONGEST, RELEVANCE
from pipeline.engine.contract import Contracts
from tests.papers import EXAMPLE, MARKDOWN, PAPER, Read, example_paper, read
from tests.strategies import QUICK


def sections_of(made: Read) -> list[tuple[str | None, str, int]]:
    return [(row["number"], row["title"], row["level"]) for row in made.outline["sections"]]


def test_sections_have_their_number_title_and_level() -> None:
    assert sections_of(read(PAPER)) == [
        (None, "Abstract", 1),
        ("1", "Introduction", 1),
        ("2", "Method", 1),
        ("2.1", "Waiting model", 2),
        ("3", "Experiments", 1),
        (None, "References", 1),
    ]


NUMBERS = [
    pytest.param("3 Method", "3", "Method", id="a plain number"),
    pytest.param("3. Method", "3", "Method", id="a number with a dot"),
    pytest.param("3.2.1 Method", "3.2.1", "Method", id="a deep number"),
    pytest.param("A. Proofs", "A", "Proofs", id="a letter with a dot"),
    pytest.param("A.1 Proofs", "A.1", "Proofs", id="a letter and a number"),
    pytest.param("Appendix B Proofs", "B", "Proofs", id="an appendix"),
    pytest.param("A Method", None, "A Method", id="an article is no number"),
    pytest.param("2024 in Review", None, "2024 in Review", id="a year is no number"),
    pytest.param("Method", None, "Method", id="no number"),
]


@pytest.mark.parametrize(("heading", "number", "title"), NUMBERS)
def test_the_number_of_a_heading_is_told_from_its_words(heading: str, number: str | None, title: str) -> None:
    [section] = read(f"# T\n\n## {heading}\n\nwords\n").outline["sections"]
    assert (section["number"], section["title"]) == (number, title)


@pytest.mark.parametrize(("marks", "level"), [("##", 1), ("###", 2), ("####", 3)])
def test_the_level_of_a_markdown_heading_is_the_one_it_was_given(marks: str, level: int) -> None:
    made = read(f"# T\n\n{marks} 1 One\n\nwords\n")
    assert [row["level"] for row in made.outline["sections"]] == [level]


def test_a_span_begins_at_the_heading_and_ends_at_the_next() -> None:
    made = read(PAPER)
    text = made.document.text
    for row, following in zip(made.outline["sections"], [*made.outline["sections"][1:], None], strict=True):
        piece = text[row["start"] : row["end"]]
        assert piece.splitlines()[0].lstrip("# ").endswith(row["title"])
        assert piece.startswith("#" * (row["level"] + 1) + " ")
        assert row["end"] == (following["start"] if following else len(text))


FENCES = [
    pytest.param("```\n# no heading\n```", id="a fence"),
    pytest.param("```python\n# no heading\n```", id="a fence with a language"),
    pytest.param("~~~\n# no heading\n~~~", id="a fence of tildes"),
    pytest.param("````\n```\n# no heading\n```\n# no heading\n````", id="a fence in a longer fence"),
    pytest.param("  ```\n# no heading\n  ```", id="an indented fence"),
    pytest.param("```\n# no heading\n~~~\n# no heading\n```", id="the other fence in a fence"),
]


@pytest.mark.parametrize("fence", FENCES)
def test_a_line_in_a_fence_is_no_heading(fence: str) -> None:
    made = read(f"# T\n\n## 1 One\n\n{fence}\n\n## 2 Two\n\nwords\n")
    assert [row["title"] for row in made.outline["sections"]] == ["One", "Two"]


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    made = read("# T\n\n## 1 One\n\n```\n# no heading\n\nwords\n")
    assert [row["title"] for row in made.outline["sections"]] == ["One"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("words without any heading, as a plain text file has them\n", id="no heading at all"),
        pytest.param("# Only a Title\n\nand words\n", id="a title and no section"),
        pytest.param("# Only a Title\n", id="a title and nothing else"),
        pytest.param("##\n\nwords\n", id="a heading without words"),
    ],
)
def test_a_paper_without_sections_has_none_and_is_read_all_the_same(text: str) -> None:
    made = read(text)
    assert made.outline["sections"] == []
    assert "".join(made.texts.values()) == made.document.text
    assert made.plan["requirements"]


def test_the_abstract_is_found() -> None:
    assert read(PAPER).outline["abstract"] == "We wait, and measure how long."


REFERENCES = [
    pytest.param("[1] A. One. 1999.\n\n[2] B. Two.\nMore. 2001.\n\n[3] C. Three. 2005.", id="labels in brackets"),
    pytest.param("1. A. One. 1999.\n2. B. Two.\n   More. 2001.\n3. C. Three. 2005.", id="numbers"),
    pytest.param("- [A99] A. One. 1999.\n- [B01] B. Two. More. 2001.\n- [C] C. Three. 2005.", id="a list of labels"),
    pytest.param("A. One. 1999.\n\nB. Two.\nMore. 2001.\n\nC. Three. 2005.", id="paragraphs"),
]


@pytest.mark.parametrize("block", REFERENCES)
def test_references_are_split_and_each_is_one_line(block: str) -> None:
    references = read(f"# T\n\n## 1 One\n\nwords\n\n## References\n\n{block}\n").outline["references"]
    assert [row["id"] for row in references] == ["B1", "B2", "B3"]
    for row, words in zip(references, ("One. 1999.", "Two. More. 2001.", "Three. 2005."), strict=True):
        assert row["raw"].endswith(words)


def test_links_are_found_once_without_the_marks_around_them() -> None:
    made = read("# T\n\n## 1 One\n\nSee (https://a.org/x), https://b.org/y. And <https://a.org/x>!\n")
    assert [row["url"] for row in made.outline["links"]] == ["https://a.org/x", "https://b.org/y"]


@pytest.mark.parametrize(
    ("line", "where", "label", "text"),
    [
        pytest.param("Algorithm 1: Wait a little", "algorithms", "Algorithm 1", "Wait a little", id="an algorithm"),
        pytest.param("**Table 2.** Results", "tables", "Table 2", "Results", id="a table in bold"),
        pytest.param("Figure 3: A picture", "figures", "Figure 3", "A picture", id="a figure"),
        pytest.param("Fig. 4: A picture", "figures", "Fig. 4", "A picture", id="a short figure"),
        pytest.param("> Table A.1: More", "tables", "Table A.1", "More", id="a table of an appendix"),
    ],
)
def test_captions_are_anchored_where_they_stand(line: str, where: str, label: str, text: str) -> None:
    made = read(f"# T\n\n## 1 One\n\nwords\n\n## 2 Two\n\n{line}\n\nmore words\n")
    [row] = made.outline[where]
    assert (row["label"], row["text"], row["section"], row["page"]) == (label, text, "S2", 1)
    assert line.strip("> ") in made.document.text[row["start"] : row["end"]]


@pytest.mark.parametrize(
    "line", ["Table 1 shows that we win.", "See Table 1: it is good.", "Tables 1: no", "Table 1 and Table 2"]
)
def test_a_sentence_about_a_table_is_no_caption(line: str) -> None:
    made = read(f"# T\n\n## 1 One\n\n{line}\n\nTable 1: The caption\n")
    assert [row["text"] for row in made.outline["tables"]] == ["The caption"]


def test_an_equation_is_anchored() -> None:
    made = read(PAPER)
    [row] = made.outline["equations"]
    assert (row["text"], row["section"]) == ("y = x + 1", "S3")


@pytest.mark.parametrize(
    ("lines", "label", "text"),
    [
        ("MultiHead(Q, K) = Concat($h_{1},\\ldots$)$W^{O}$", "", "MultiHead(Q, K) = Concat($h_{1},\\ldots$)$W^{O}$"),
        ("$r=d^{-0.5}\\cdot \\min (s$, warmup_$steps$) (3)", "(3)", "$r=d^{-0.5}\\cdot \\min (s$, warmup_$steps$)"),
        ("max($0,1+z_{j}$)=  (3) v$=y_{j}$", "(3)", "max($0,1+z_{j}$)= v$=y_{j}$"),
        ("$f=Kx$\n\n(2)", "(2)", "$f=Kx$"),
        ("pmax(pvals) ≡ {⟨s, p⟩ | ∃b : ⟨b, s, p⟩ ∈ pvals ∧", "", "pmax(pvals) ≡ \\{⟨s, p⟩ | ∃b : ⟨b, s, p⟩ ∈ pvals ∧"),
    ],
)  # fmt: skip
def test_a_formula_that_stands_alone_is_an_equation_without_its_marks(lines: str, label: str, text: str) -> None:
    made = read(f"# T\n\n## 1 Method\n\nWe use\n\n{lines}\n\nand also\n\n$$ y = x $$\n")
    first, second = made.outline["equations"]
    assert (first["label"], first["text"], second["text"]) == (label, text, "y = x")


@pytest.mark.parametrize(
    "line",
    [
        "Plugging in $a=b$:", "Thus after $k=3$ iterations", "Then we have for $x=y$", "Lemma 2. Let $a=b$.",
        "Reaction, ρ = 5 Wave, β = 5", "- a = b", "> a = b", "2. $a=b+c$", "Note that $a=b$",
        "若 $F[v] = -1$ 则说明这种状态不可行，若可行应满足 $0 ≤ F[v] ≤ M$。", "여기서 $a = b$ 이다.", "Пусть $a = b$.",
    ],
)  # fmt: skip
def test_a_line_with_words_of_its_own_is_no_equation(line: str) -> None:
    assert read(f"# T\n\n## 1 Method\n\nWe use\n\n{line}\n\nand also this.\n").outline["equations"] == []


EMPTY = [
    "$$ $$", "$$$$", "$$\n\n$$", "$$ \\tag{3} $$", "$$ \\label{eq:one} \\nonumber $$",
    "$$ \\begin{equation}\\end{equation} $$", "$$ \\, \\quad $$", "$$\n<!-- page 3 -->\n$$",
]  # fmt: skip


@pytest.mark.parametrize("marks", EMPTY)
def test_marks_with_no_formula_between_them_are_no_equation_and_hide_none(marks: str) -> None:
    made = read(f"# T\n\n## 1 Method\n\nWe use\n\n{marks}\n\nand also\n\n$$ y = x $$\n")
    assert [row["text"] for row in made.outline["equations"]] == ["y = x"]


def test_the_pages_of_sections_are_those_of_the_pdf() -> None:
    made = example_paper()
    pages = [row["page"] for row in made.outline["sections"]]
    assert pages == sorted(pages)
    assert set(pages) <= set(range(1, made.document.front["pages"] + 1))
    assert len(set(pages)) > 2


def test_the_sections_of_the_example_paper_are_those_it_was_written_with() -> None:
    written = re.findall(r"\\(?:sub)?section\{([^}$\\]+)\}", EXAMPLE.with_suffix(".tex").read_text(encoding="utf-8"))
    found = [row["title"] for row in example_paper().outline["sections"]]
    assert len(written) > 15
    assert [title for title in written if not any(row.endswith(title) for row in found)] == []


def test_the_appendices_of_the_example_paper_have_their_letters() -> None:
    rows = {row["title"]: row["number"] for row in example_paper().outline["sections"]}
    assert (rows.get("Reproducing the Numbers"), rows.get("Why the Lazy Forms Are Exact")) == ("A", "B")


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        pytest.param("references", "\\bibitem{", id="references"),
        pytest.param("algorithms", "\\begin{algorithm", id="algorithms"),
        pytest.param("tables", "\\begin{table", id="tables"),
    ],
)
def test_the_outline_of_the_example_paper_has_as_many_as_were_written(kind: str, begin: str) -> None:
    written = EXAMPLE.with_suffix(".tex").read_text(encoding="utf-8").count(begin)
    assert len(example_paper().outline[kind]) == written > 0


def test_the_captions_of_the_example_paper_are_captions_and_no_sentences() -> None:
    captions = {row["label"]: row["text"] for row in example_paper().outline["tables"]}
    assert captions["Table 2"].startswith("Test error in percent"), captions
    assert captions["Table 3"].startswith("Effect of the hash size"), captions


# for every text


@pytest.mark.slow
@given(MARKDOWN)
@example("x" * (3 * LONGEST))
@example("# T\n\n## A\n\n" + "word " * 5000 + "\n\n## B\n")
@example("## A\n\n## B\n## C")
@QUICK
def test_segments_cover_every_character_exactly_once(text: str) -> None:
    made = read(text)
    whole, rows = made.document.text, made.index["segments"]
    assert "".join(made.texts[row["path"]] for row in rows) == whole
    assert [row["start"] for row in rows] == [0, *[row["end"] for row in rows[:-1]]]
    assert rows[-1]["end"] == made.index["characters"] == len(whole)
    assert len({row["path"] for row in rows}) == len(rows) == len(made.texts)
    known = {section["id"] for section in made.outline["sections"]} | {None}
    for row in rows:
        assert row["section"] in known
        assert RELEVANCE[row["kind"]] == row["relevance"]
        assert 0 < row["end"] - row["start"] <= LONGEST


@given(MARKDOWN)
@QUICK
def test_every_anchor_lies_in_the_text_and_in_its_section(text: str) -> None:
    made = read(text)
    sections: dict[Any, Any] = {row["id"]: row for row in made.outline["sections"]}
    end = made.document.body_start
    for row in sections.values():
        assert end <= row["start"] < row["end"] <= len(made.document.text)
        assert (row["page"], row["title"].strip()) == (1, row["title"])
        end = row["end"]
    for kind in ("algorithms", "equations", "tables", "figures"):
        for row in made.outline[kind]:
            assert made.document.body_start <= row["start"] < row["end"] <= len(made.document.text)
            if row["section"]:
                assert sections[row["section"]]["start"] <= row["start"] < sections[row["section"]]["end"]


@pytest.mark.slow
@given(MARKDOWN)
@QUICK
def test_the_documents_of_every_text_fit_their_schemas(text: str) -> None:
    made, contracts = read(text), Contracts()
    documents = {
        "paper.md": made.document,
        "outline.json": made.outline,
        "document_segments/document_index.json": {**made.index, "files": []},
        "initial_plan.txt": made.plan,
    }
    for name, document in documents.items():
        data = contracts.serialise(name, document, writer="a test")
        assert contracts.parse(name, data, writer="a test") == document


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("Sit(k)\n  s := Take(k)\n  t := Put(s)\n  u := t\n  return u", 1),
        ("s = take(k)\nt = put(s)\nu = t\nreturn u", 0),
        ("void sit (chair *k) {\n  take (k);\n}", 1),
        ("take (k);\nput (k);", 0),
    ],
    ids=["pseudo-code", "calls that show how it is used", "a function with a blank behind its name", "calls alone"],
)
def test_a_figure_of_pseudo_code_is_an_algorithm(code: str, found: int) -> None:
    text = f"# T\n\n## 2 Method\n\n> **Fig. 8.** All operations.\n\n```\n{code}\n```\n"
    assert len(read(text).outline["algorithms"]) == found


FENCE = "```\nbegin\n  s := 0\n  return s\n```"


@pytest.mark.parametrize(
    ("text", "label", "has_lines"),
    [
        (f"Algorithm 1: Wait\n\nInput. A room x where each\n\ndoor is open.\n\nMethod.\n\n{FENCE}", "Algorithm 1", True),
        (f"Algorithm 1: Wait\n\nWe wait in the room.\n\n{FENCE}", "Algorithm 1", False),
        (f"Algorithm I. Wait\n\n{FENCE}\n\nAlgorithm 1 waits.", "Algorithm 1", True),
        (f"Algorithm I. Wait\n\n{FENCE}\n\nIt waits.", "Algorithm I", True),
        ("```\nAlgorithm 1:\n```\n\nwords\n\n```\nAlgorithm 1: Wait\n1: s := 0\n2: return s\n```", "Algorithm 1", True),
    ],
    ids=["what goes in before its lines", "words before other lines", "1 read as I", "a Roman number", "twice"],
)  # fmt: skip
def test_an_algorithm_has_its_lines(text: str, label: str, has_lines: bool) -> None:
    made = read(f"# T\n\n## 2 Method\n\n{text}\n")
    [row] = made.outline["algorithms"]
    assert (row["label"], "return s" in made.document.text[row["start"] : row["end"]]) == (label, has_lines)
