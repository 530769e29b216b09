"""The page of a review: what is uncertain first, each row beside its page with its words marked, and nothing comes alive."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.pages.plan_page import Reviewed, render_review
from phases.readers.page_pictures import Picture, QuotePlace
from pipeline.cli.review_page import draw_sheets, list_targets, locate_rows
from tests.pages.test_preview import EVIL, PNG, Page
from tests.papers import EXAMPLE, PAPER, Read, example_paper, read
from tests.strategies import QUICK

READ = read(PAPER)
PAGE = (0.0, 0.0, 600.0, 800.0)


def shown(plan: dict[str, Any] | None = None, *, paper: Read = READ, **more: Any) -> str:
    return render_review(
        Reviewed(plan or paper.plan, paper.document, "ab" * 32, "open", "pipeline review paper", **more)
    )


def headings(html: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", html)


def with_text(words: str) -> dict[str, Any]:
    """A plan in which every text that a person or a paper chose is these words."""

    def put(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: put(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [put(one, key) for one in value]
        kept = ("id", "kind", "status", "requirements", "implements", "results", "component", "components", "about")
        return words if isinstance(value, str) and key not in kept else value

    plan: dict[str, Any] = put(copy.deepcopy(READ.plan))
    return plan


def test_what_is_uncertain_stands_first_then_what_changed_then_what_to_type() -> None:
    html = shown(doubts=["line 12: V2: 0.3 does not stand in the words"], difference=["~ V2 value: 0.1 -> 0.3"])
    assert headings(html)[:3] == ["What is uncertain", "What changed since the version before", "How to decide"]
    assert headings(html)[-1] == "Each row beside its page"
    assert '<a class="id" href="#V2">V2</a> 0.3 does not stand in the words' in html
    assert "<b>changed</b> <span>V2 value: 0.1 -&gt; 0.3</span>" in html


def test_the_commands_to_type_name_the_task_the_rows_and_the_plan() -> None:
    text = " ".join(Page(shown()).texts)
    for flags in ("--strike R1", "--set V1.value=0.1", '--add value "batch size = 32"', f"--approve --plan {'ab' * 6}"):
        assert f"pipeline review paper {flags}" in text


@pytest.mark.parametrize("pictures", [{}, {1: Picture(PNG, PAGE)}], ids=["by its text", "by pictures"])
def test_every_row_stands_once_beside_its_page_and_every_link_leads_somewhere(pictures: dict[int, Picture]) -> None:
    page = Page(shown(pictures=pictures, places={"R1": (QuotePlace(1, ((10, 20, 300, 32),)),)}))
    ids = [str(attributes["id"]) for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for row in (*READ.plan["requirements"], *READ.plan["values"], *READ.plan["components"]):
        assert row["id"] in ids
    targets = {str(attributes["href"]) for tag, attributes in page.elements if tag == "a"}
    lost = {target for target in targets if target.removeprefix("#") not in ids}
    # a row whose words are not found has nothing to lead to
    assert all(target.startswith("#at-") for target in lost)


def test_the_words_of_a_row_are_marked_on_the_picture_of_its_page() -> None:
    places = {"R1": (QuotePlace(1, ((60.0, 80.0, 360.0, 96.0), (60.0, 96.0, 200.0, 112.0))),)}
    html = shown(pictures={1: Picture(PNG, PAGE)}, places=places)
    [first, second] = re.findall(r'<a [^>]*><rect class="mark"[^>]*>', html)
    assert 'id="at-R1"' in first
    assert 'href="#R1"' in first
    assert 'x="60.0" y="80.0" width="300.0" height="16.0"' in first
    assert 'id="at-R1"' not in second
    assert "Its words are not found on the page" in html, "of the rows that have no place"
    assert html.count("Its words are not found") == len(READ.plan["requirements"]) + len(READ.plan["values"]) - 1


def test_a_picture_stands_once_however_many_rows_quote_its_page() -> None:
    html = shown(pictures={1: Picture(PNG, PAGE)})
    assert html.count("data:image/png;base64,") == 1


def test_the_table_that_results_are_from_is_shown_as_it_is_printed() -> None:
    row = {"id": "E1", "table": "Table 2", "row": "ours", "column": "BLEU", "metric": "BLEU", "value": 28.4, "page": 1}
    plan = {**READ.plan, "expected_results": [row, {**row, "id": "E2", "table": "Table 3"}]}
    html = shown(plan, floats={"Table 2": Picture(b"\x89PNG table", (0, 0, 9, 9))})
    assert html.count("as printed") == 1
    assert html.index("Table 2<") < html.index("as printed") < html.index("Table 3<")


def test_a_table_whose_results_stand_in_parts_is_drawn() -> None:
    plan = {"expected_results": [{"table": "Table 2, part 1 of 2"}, {"table": "Table 2, part 2 of 2"}]}
    assert list_targets(plan, {"tables": [{"label": "Table 1"}, {"label": "Table 2"}]}) == [{"label": "Table 2"}]


def test_a_paper_without_pages_is_reviewed_without_their_numbers() -> None:
    html = shown()
    assert "p. 1" not in html
    assert '<section class="sheet" id="page-1"><h3>The paper</h3>' in html
    assert "p. 2" in shown({**READ.plan, "values": [{**READ.plan["values"][0], "source": source_on(2)}]})


def source_on(page: int) -> dict[str, Any]:
    return {**READ.plan["values"][0]["source"], "page": page}


def test_a_page_of_which_nothing_is_taken_is_folded_and_still_there() -> None:
    html = shown(pictures={1: Picture(PNG, PAGE), 2: Picture(PNG, PAGE)})
    assert '<details class="sheet" id="page-2"><summary>Page 2: nothing is taken from it</summary>' in html


def test_a_paper_without_pictures_is_shown_by_its_text_with_the_words_marked() -> None:
    html = shown()
    assert 'id="at-R1"' in html
    assert re.search(r"<mark class=\"demand\">We minimize the cross-entropy loss", html)


@pytest.mark.parametrize("words", [EVIL, f"</section></style>{EVIL}<!--", "\u202egnp.exe\x00", "$" * 50 + EVIL])
def test_nothing_that_a_plan_or_a_paper_says_comes_alive(words: str) -> None:
    paper = read(PAPER.replace("We wait, and", f"{words} and"))
    html = shown(with_text(words), paper=paper, doubts=[words], difference=[f"+ {words}"])
    page = Page(html)
    assert page.comments == []
    for tag, attributes in page.elements:
        assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form", "svg", "video"), tag
        assert [name for name in attributes if name.startswith("on")] == []
        assert str(attributes.get("href") or "#").startswith("#")
        assert str(attributes.get("src") or "data:").startswith("data:image/png;base64,") or tag != "img"
    assert "\x00" not in html
    assert "\u202e" not in html
    assert "default-src 'none'" in html


@pytest.mark.slow
@QUICK
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_words_are_shown(words: str) -> None:
    assert Page(shown(with_text(words))).count("script") == 0


def test_the_words_of_a_real_paper_are_found_on_its_pages() -> None:
    document, plan = example_paper().document, example_paper().plan
    pictures, places = draw_sheets(str(EXAMPLE), document.front["pages"]), locate_rows(str(EXAMPLE), plan)
    rows = [*plan["requirements"], *plan["values"]]
    assert sorted(pictures) == list(range(1, document.front["pages"] + 1))
    found = [row["id"] for row in rows if any(place.page == row["source"]["page"] for place in places[row["id"]])]
    assert len(found) >= 0.9 * len(rows)
    html = render_review(Reviewed(plan, document, "0" * 64, "open", "x", pictures=pictures, places=places))
    assert len(html) < 200_000 * len(pictures)
