"""Looking up which repository belongs to a reference: real servers on this machine, answers good and hostile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.references.lookup.candidates import (
    FoundPaper,
    Lookup,
    NoServiceAnswer,
    agreement_of,
    family_name,
    repositories_in,
    text_in,
    title_agreement,
    year_in,
)
from phases.references.lookup.services import look_up, open_lookups
from phases.references.values import Candidate, Entry
from pipeline.base.errors import UsageError
from tests.web import Script, Server, says, serving

DAY = 24 * 3600.0
ENTRY = Entry(
    "B1",
    "A. Kühn, B. Osei. Slow waiting with sparse rooms. 2019.",
    title="Slow Waiting with Sparse Rooms",
    authors=("A. Kühn", "B. Osei"),
    year=2019,
    doi="10.1000/wait.1",
    arxiv="1905.01234",
)
TITLED = ENTRY._replace(doi=None, arxiv=None)
CODE = "https://github.com/kuehn/waiting"
ABSTRACT = f"We wait. Our code is available at {CODE}."


def answers(value: Any, *headers: str, status: str = "200 OK") -> Script:
    return says(json.dumps(value).encode(), *headers, status=status)


NOT_THERE = answers({"error": "not found"}, status="404 Not Found")
NO_MORE = answers({"message": "API rate limit exceeded"}, "Retry-After: 900", status="429 Too Many Requests")


def work(**more: Any) -> dict[str, Any]:
    """A work as OpenAlex has it."""
    return {
        "id": "https://openalex.org/W1",
        "doi": "https://doi.org/10.1000/wait.1",
        "title": "Slow <i>waiting</i> with sparse rooms",
        "publication_year": 2019,
        "authorships": [{"author": {"display_name": "Anna Kuhn"}}, {"author": {"display_name": "Ben Osei"}}],
        "locations": [{"landing_page_url": "https://doi.org/10.1000/wait.1", "pdf_url": None}],
        "abstract_inverted_index": {word: [n] for n, word in enumerate(ABSTRACT.split())},
        **more,
    }


def paper(**more: Any) -> dict[str, Any]:
    """A paper as Semantic Scholar has it."""
    return {
        "paperId": "1" * 40,
        "title": "Slow waiting with sparse rooms",
        "year": 2019,
        "authors": [{"authorId": "1", "name": "A. Kühn"}, {"authorId": "2", "name": "B. Osei"}],
        "externalIds": {"DOI": "10.1000/WAIT.1", "ArXiv": "1905.01234", "CorpusId": 1},
        "abstract": ABSTRACT,
        **more,
    }


def found(**more: Any) -> dict[str, Any]:
    """A repository as GitHub's search has it."""
    return {
        "html_url": CODE,
        "name": "waiting",
        "owner": {"login": "kuehn"},
        "description": "Code for 'Slow waiting with sparse rooms' (2019)",
        "homepage": None,
        "created_at": "2019-04-01T00:00:00Z",
        "fork": False,
        **more,
    }


@dataclass
class Desk:
    """A cache, and services on this machine."""

    cache: Path
    now: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)
    servers: dict[str, Server] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def serve(self, service: str, *scripts: Script) -> None:
        self.servers[service] = self.stack.enter_context(serving(*scripts))

    def open(self, setting: str) -> list[Lookup]:
        return open_lookups(
            setting,
            cache=str(self.cache),
            private=True,
            servers={name: server.base for name, server in self.servers.items()},
            sleep=self.slept.append,
            clock=lambda: self.now,
        )

    def ask(self, service: str, entry: Entry = ENTRY) -> list[Candidate]:
        return self.open(service)[0].ask(entry)

    def asked(self, service: str) -> list[str]:
        """The addresses that a service was asked for."""
        return [question.split(" ")[1] for question in self.servers[service].questions]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "lookups")
    with desk.stack:
        yield desk


# The services


@pytest.mark.parametrize(
    ("service", "answer", "question"),
    [
        ("openalex", work(), "/works/doi:10.1000/wait.1?select="),
        ("semanticscholar", paper(), "/graph/v1/paper/DOI:10.1000/wait.1?fields="),
        ("github", {"items": [found()]}, "/search/repositories?q=slow%20waiting%20sparse%20rooms"),
    ],
    ids=["openalex", "semanticscholar", "github"],
)
def test_a_service_that_knows_the_paper_gives_its_repository(
    service: str, answer: Any, question: str, desk: Desk
) -> None:
    desk.serve(service, answers(answer))
    [candidate] = desk.ask(service)
    assert candidate[:3] == ("B1", CODE, service)
    assert 0.75 <= candidate.confidence <= 1.0
    assert candidate.why
    assert desk.asked(service)[0].replace("%20with", "").startswith(question)


@pytest.mark.parametrize(
    ("service", "by_number", "by_title"),
    [
        ("openalex", "/works/doi:10.48550/arxiv.1905.01234?", "/works?filter=title.search:slow%20waiting"),
        ("semanticscholar", "/graph/v1/paper/ARXIV:1905.01234?", "/graph/v1/paper/search/match?query=slow%20waiting"),
    ],
    ids=["openalex", "semanticscholar"],
)
def test_a_number_that_a_service_does_not_know_is_followed_by_the_title(
    service: str, by_number: str, by_title: str, desk: Desk
) -> None:
    listed = {"results": [work()]} if service == "openalex" else {"data": [paper()]}
    desk.serve(service, NOT_THERE, answers(listed))
    [candidate] = desk.ask(service, ENTRY._replace(doi=None))
    assert candidate.url == CODE
    first, second = desk.asked(service)
    assert first.startswith(by_number)
    assert second.startswith(by_title)


def test_a_place_of_a_work_on_a_host_of_code_counts_too(desk: Desk) -> None:
    desk.serve("openalex", answers(work(abstract_inverted_index=None, locations=[{"landing_page_url": CODE + ".git"}])))
    [candidate] = desk.ask("openalex")
    assert candidate.why.startswith("openalex: the place of 'Slow waiting with sparse rooms' names it; the same number")


@pytest.mark.parametrize(
    "other",
    [
        paper(title="Fast running in dense halls", externalIds={}),
        paper(authors=[{"name": "C. Nobody"}], externalIds={}),
        paper(title="Slow waiting in queues of sparse theory", year=2003, externalIds={}),
        paper(abstract=None),
        paper(abstract="Code: https://example.org/kuehn/waiting"),
    ],
    ids=["another title", "other authors", "half the title", "no abstract", "no host of code"],
)
def test_what_does_not_agree_or_names_no_code_is_not_given(other: dict[str, Any], desk: Desk) -> None:
    desk.serve("semanticscholar", answers({"data": [other]}))
    assert desk.ask("semanticscholar", TITLED) == []


@pytest.mark.parametrize(
    ("row", "sure"),
    [
        (found(), True),
        (found(description="All about 1905.01234"), True),
        (found(owner={"login": "somebody"}, created_at="2023-01-01T00:00:00Z"), True),
        (found(description="We wait"), False),
        (found(description="Sparse rooms, slow waiting"), True),
        (found(description="Sparse rooms, slow waiting", owner={"login": "x"}), False),
        (found(description=None, name="rooms"), False),
        (found(fork=True), False),
        (found(html_url="https://example.org/a/b"), False),
        (found(created_at="2009-01-01T00:00:00Z", owner={"login": "x"}, description="slow waiting, sparse"), False),
    ],
    ids=[
        "title",
        "number",
        "by others, later",
        "other words",
        "scattered words of an author",
        "scattered words of others",
        "nothing said",
        "fork",
        "elsewhere",
        "before, by others",
    ],
)
def test_a_repository_is_believed_for_what_its_name_and_description_say(
    row: dict[str, Any], sure: bool, desk: Desk
) -> None:
    desk.serve("github", answers({"items": [row]}))
    assert [candidate.url for candidate in desk.ask("github")] == ([CODE] if sure else [])


def test_a_repository_named_after_the_head_of_a_title_counts_where_an_author_owns_it(desk: Desk) -> None:
    entry = TITLED._replace(title="Waiting: an unhurried method for anybody", authors=("A. Kuehn",))
    rows = [
        found(description="PyTorch code"),
        found(html_url="https://github.com/x/waiting", owner={"login": "x"}, description=""),
    ]
    desk.serve("github", answers({"items": rows}))
    assert [candidate.url for candidate in desk.ask("github", entry)] == [CODE]


def test_a_question_to_github_is_short_and_holds_no_operator(desk: Desk) -> None:
    desk.serve("github", answers({"items": []}))
    desk.ask("github", TITLED._replace(title='NOT "a" user:x OR ' + "verylongword " * 100))
    query = desk.asked("github")[0].partition("?q=")[2].partition("&")[0].replace("%20", " ")
    assert len(query) < 256
    assert query.startswith("not a user x or verylongword ")
    assert query.endswith(" in%3Aname%2Cdescription%2Creadme")


# The cache


def test_an_answer_holds_for_thirty_days_over_runs(desk: Desk) -> None:
    desk.serve("openalex", answers(work()))
    first = desk.ask("openalex")
    desk.now += 29 * DAY
    assert desk.ask("openalex") == first
    assert len(desk.asked("openalex")) == 1
    desk.now += 2 * DAY
    assert desk.ask("openalex") == first
    assert len(desk.asked("openalex")) == 2


@pytest.mark.parametrize("nothing", [answers({"items": []}), NOT_THERE], ids=["an empty list", "404"])
def test_that_there_is_nothing_holds_for_seven_days(nothing: Script, desk: Desk) -> None:
    desk.serve("github", nothing, answers({"items": [found()]}))
    assert desk.ask("github") == []
    desk.now += 6 * DAY
    assert desk.ask("github") == []
    desk.now += 2 * DAY
    assert len(desk.ask("github")) == 1


def test_a_failure_is_not_kept(desk: Desk) -> None:
    desk.serve("openalex", NO_MORE, answers(work()))
    with pytest.raises(NoServiceAnswer):
        desk.ask("openalex")
    assert len(desk.ask("openalex")) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: b"",
        lambda kept: kept[: len(kept) // 2],
        lambda kept: kept.replace(b'"at":', b'"at": "x", "then":'),
        lambda kept: kept.replace(b"doi:10.1000", b"doi:10.2000"),
        lambda kept: b"[" * 100_000,
    ],
    ids=["empty", "cut", "no time", "another question", "deep"],
)
def test_a_damaged_file_of_the_cache_is_replaced(damage: Callable[[bytes], bytes], desk: Desk) -> None:
    desk.serve("openalex", answers(work()))
    first = desk.ask("openalex")
    [path] = desk.cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert desk.ask("openalex") == first
    assert len(desk.asked("openalex")) == 2
    assert path.read_bytes() == whole


def test_the_cache_can_be_deleted_between_two_questions(desk: Desk) -> None:
    desk.serve("openalex", answers(work()))
    [lookup] = desk.open("openalex")
    lookup.ask(ENTRY)
    for path in desk.cache.iterdir():
        path.unlink()
    desk.cache.rmdir()
    assert len(lookup.ask(ENTRY)) == 1


# Pace, and what goes wrong


@pytest.mark.parametrize(
    ("service", "at_once", "longest"), [("github", 10, 60), ("openalex", 10, 1), ("semanticscholar", 1, 1)]
)
def test_a_service_is_asked_at_its_pace(service: str, at_once: int, longest: float, desk: Desk) -> None:
    desk.serve(service, NOT_THERE)
    [lookup] = desk.open(service)
    for number in range(at_once):
        lookup.ask(TITLED._replace(title=f"Paper number {number}"))
    assert desk.slept == []
    lookup.ask(TITLED._replace(title="One more paper"))
    assert len(desk.slept) == 1
    assert 0 < desk.slept[0] <= longest


def test_a_short_retry_after_is_waited_for_and_a_long_one_is_not(desk: Desk) -> None:
    busy = answers({}, "Retry-After: 7", status="429 Too Many Requests")
    desk.serve("openalex", busy, answers(work()))
    assert len(desk.ask("openalex")) == 1
    assert desk.slept == [7]
    desk.serve("github", NO_MORE)
    with pytest.raises(NoServiceAnswer, match=r"^rate limited: github takes no more questions now .*asks to wait 900 s"):
        desk.ask("github")
    assert desk.slept == [7]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (says(b"<html>", status="403 Forbidden"), "rate limited: openalex takes no more questions now"),
        (says(b"", status="503 Busy"), "not reachable: openalex: the server has an internal error (503)"),
        (says(b"<html>hello"), "openalex does not answer in JSON"),
        (says(b'{"a": 1, "a": 2}'), "openalex does not answer in JSON"),
        (says(b"{" * 100_000), "openalex does not answer in JSON"),
        (says(b" " * (5 * 1024 * 1024 + 1)), "not reachable: openalex: it is larger than the 5,242,880 bytes"),
    ],
    ids=["403", "503", "html", "twice the same key", "deep", "huge"],
)
def test_what_goes_wrong_is_told_in_words(script: Script, told: str, desk: Desk) -> None:
    desk.serve("openalex", script)
    with pytest.raises(NoServiceAnswer) as raised:
        desk.ask("openalex")
    assert str(raised.value).startswith(told)
    assert "browser" not in str(raised.value)


@pytest.mark.parametrize("service", ["github", "openalex", "semanticscholar"])
@pytest.mark.parametrize(
    "value",
    [
        [], 7, "x", None, {"items": 7, "results": 7, "data": 7}, {"items": [7, None], "results": [[]], "data": ["x"]},
        {"items": [{}], "results": [{}], "data": [{}]}, {"title": 7}, work(authorships=7, locations={}, doi=[]),
        paper(authors={}, externalIds=[], year="soon", abstract=7), {"items": [found(owner=7, created_at=[], name={})]},
        {"title": "x" * 10**6, "abstract": "y" * 10**6, "authors": [{"name": "z" * 10**6}] * 3},
    ],
    ids=[f"shape {n}" for n in range(12)],
)  # fmt: skip
def test_an_answer_of_wrong_types_and_sizes_does_no_harm(service: str, value: Any, desk: Desk) -> None:
    desk.serve(service, answers(value))
    for candidate in desk.ask(service):
        assert candidate.url == CODE
        assert len(candidate.why) < 1500


def test_a_service_that_fails_twice_in_a_row_is_not_asked_again_and_the_others_are(desk: Desk) -> None:
    desk.serve("github", NO_MORE)
    desk.serve("openalex", answers(work()))
    entries = [ENTRY._replace(id=f"B{n}", title=f"Slow waiting with sparse rooms {n}") for n in range(5)]
    candidates, rows = look_up(entries, desk.open("github,openalex"))
    assert {candidate.service for candidate in candidates} == {"openalex"}
    github, openalex = rows
    assert (github["service"], github["asked"], github["found"]) == ("github", 2, 0)
    assert github["why"].startswith("2 of 2 questions had no answer; the last: rate limited: github takes no more")
    assert github["why"].endswith("; 3 more were not asked")
    assert openalex == {"service": "openalex", "asked": 5, "found": 5, "why": ""}
    assert len(desk.asked("github")) == 2


def test_one_failure_between_answers_stops_nothing(desk: Desk) -> None:
    desk.serve("github", NO_MORE, NOT_THERE, NO_MORE, NOT_THERE)
    entries = [TITLED._replace(id=f"B{n}", title=f"Paper number {n}") for n in range(4)]
    [row] = look_up(entries, desk.open("github"))[1]
    assert row["asked"] == 4
    assert row["why"].startswith("2 of 4 questions had no answer")


def test_asked_are_the_first_entries_that_can_be_asked_for_and_link_nothing_yet(desk: Desk) -> None:
    desk.serve("github", NOT_THERE)
    entries = [
        Entry("B1", "nothing is known of it"),
        TITLED._replace(id="B2", title="Linked already", repositories=(CODE,)),
        *(TITLED._replace(id=f"B{n}", title=f"Paper number {n}") for n in range(3, 9)),
    ]
    [row] = look_up(entries, desk.open("github"), most=2)[1]
    assert row == {"service": "github", "asked": 2, "found": 0, "why": "only the first 2 of 6 were to be asked"}
    assert ["number%203" in question or "number%204" in question for question in desk.asked("github")] == [True, True]


def test_an_address_inside_the_network_is_not_asked_unless_that_is_permitted(desk: Desk) -> None:
    desk.serve("github", answers({"items": [found()]}))
    servers = {"github": f"http://localhost:{desk.servers['github'].port}"}
    [lookup] = open_lookups("github", cache=str(desk.cache), servers=servers, sleep=desk.slept.append)
    with pytest.raises(NoServiceAnswer, match="not reachable: github"):
        lookup.ask(ENTRY)
    assert desk.asked("github") == []


# The setting


def test_a_setting_opens_its_services_in_their_order_and_touches_nothing(desk: Desk) -> None:
    lookups = desk.open("openalex, semanticscholar,github,openalex,")
    assert [lookup.name for lookup in lookups] == ["openalex", "semanticscholar", "github"]
    assert not desk.cache.exists()


@pytest.mark.parametrize("setting", ["", "off", " "], ids=["empty", "off", "blank"])
def test_a_setting_that_names_no_service_opens_none(setting: str, desk: Desk) -> None:
    assert desk.open(setting) == []


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            "githib",
            "there is no lookup 'githib'; did you mean 'github'? known: github, openalex, semanticscholar, or off",
        ),
        ("xyz", "there is no lookup 'xyz'; known: github"),
        ("github:x", "there is no lookup 'github:x'; did you mean 'github'?"),
    ],
    ids=["misspelt", "unknown", "more than a name"],
)
def test_a_setting_that_cannot_be_kept_is_refused_with_what_would_do(setting: str, told: str, desk: Desk) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        desk.open(setting)


# Agreement


@pytest.mark.parametrize(
    ("record", "least", "most"),
    [
        (FoundPaper("Slow waiting with sparse rooms", ("Anna Kühn", "Ben Osei"), 2019), 1.0, 1.0),
        (FoundPaper("Slow-Waiting with Sparse Rooms.", ("Kuhn, A.",), 2020), 0.8, 0.9),
        (FoundPaper("Slow waiting with sparse rooms"), 0.75, 0.85),
        (FoundPaper("Slow waiting with sparse rooms", ("C. Nobody",), 2019), 0.0, 0.5),
        (FoundPaper("Slow waiting with sparse rooms", ("Anna Kühn",), 1990), 0.6, 0.75),
        (FoundPaper("Fast running", ("Anna Kühn", "Ben Osei"), 2019), 0.0, 0.0),
        (FoundPaper("Fast running", ("C. Nobody",), 1990, arxiv="1905.01234"), 0.0, 0.3),
        (FoundPaper("", (), None, doi="10.1000/WAIT.1"), 0.75, 0.85),
    ],
    ids=["the same", "a year apart", "title alone", "other authors", "another year", "other title", "number misread", "number"],
)  # fmt: skip
def test_agreement_is_of_title_authors_and_year(record: FoundPaper, least: float, most: float) -> None:
    assert least <= agreement_of(ENTRY, record).confidence <= most


def test_two_papers_of_the_same_authors_and_year_are_told_apart_by_a_word() -> None:
    sibling = FoundPaper("Fast waiting with sparse rooms", ENTRY.authors, ENTRY.year)
    assert agreement_of(TITLED, sibling).confidence < 0.6


def test_a_title_of_two_words_is_not_enough_without_an_author() -> None:
    short = TITLED._replace(title="Deep learning")
    assert agreement_of(short, FoundPaper("Deep learning", (), 2019)).confidence == 0.5
    assert agreement_of(short, FoundPaper("Deep learning", ("A. Kühn", "B. Osei"), 2019)).confidence == 1.0


@pytest.mark.parametrize(
    ("author", "family"),
    [
        ("A. Kühn", "kuhn"),
        ("Kühn, A.", "kuhn"),
        ("de la Cruz, Ana", "cruz"),
        ("et al.", ""),
        ("X.", ""),
        ("", ""),
        ("李明", "李明"),
    ],
)
def test_the_family_name_is_found_in_either_order(author: str, family: str) -> None:
    assert family_name(author) == family


@given(st.text(max_size=60), st.text(max_size=60))
def test_title_agreement_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0.0 <= title_agreement(one, other) <= 1.0
    assert title_agreement(one, other) == title_agreement(other, one)


@example({"a": "nine char and more"})
@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner))
)
def test_what_is_taken_out_of_an_answer_is_one_bounded_line(value: Any) -> None:
    text = text_in(value, "a", 10)
    assert len(text) <= 10
    assert text == " ".join(text.split())
    assert text.isprintable()
    year = year_in(value, "a")
    assert year is None or 1500 <= year < 2200


def test_links_are_found_with_and_without_their_scheme_each_once() -> None:
    text = f"({CODE}), github.com/a/b. See {CODE}/tree/main; and https://example.org/a/b, not@this.x"
    assert repositories_in(text) == [CODE, "https://github.com/a/b"]
