"""The graph: the order of the phases follows from what they read and write, or the phases do not fit together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import ContractError, UsageError
from pipeline.engine.graph import Graph
from pipeline.engine.phase import Context, Documents, Phase
from tests.strategies import QUICK


def nothing(inputs: Documents, ctx: Context) -> Documents:
    return {}


def phase(number: str, name: str, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> Phase:
    return Phase(number=number, name=name, reads=reads, writes=writes or (f"{name}.json",), run=nothing)


INTAKE = phase("01", "intake", ("task.json",))
READ = phase("02", "read", ("intake.json",))
PLAN = phase("05", "plan", ("read.json",), ("plan.json", "plan_versions/"))
REVIEW = phase("05b", "review", ("plan.json", "plan_requests.json"))
CODE = phase("10", "code", ("review.json", "read.json"))
ASIDE = phase("06", "aside", ("read.json",))
ALL = (CODE, REVIEW, INTAKE, ASIDE, PLAN, READ)


def names(phases: list[Phase]) -> list[str]:
    return [phase.name for phase in phases]


def test_the_phases_stand_in_the_order_of_their_numbers() -> None:
    assert names(Graph(ALL).phases) == ["intake", "read", "plan", "review", "aside", "code"]


def test_before_a_phase_come_those_whose_documents_it_reads() -> None:
    graph = Graph(ALL)
    assert names(graph.before(CODE)) == ["review", "read"]
    assert names(graph.before(INTAKE)) == []


def test_after_a_phase_come_all_that_follow_from_it() -> None:
    graph = Graph(ALL)
    assert names(graph.after(INTAKE)) == ["read", "plan", "review", "aside", "code"]
    assert names(graph.after(PLAN)) == ["review", "code"]
    assert names(graph.after(ASIDE)) == []


def test_the_writer_of_a_document_is_known_also_for_a_file_in_a_folder() -> None:
    graph = Graph(ALL)
    assert graph.writer("plan.json") is PLAN
    assert graph.writer("plan_versions/0001.txt") is PLAN
    assert graph.writer("task.json") is None
    assert graph.writer("other/plan.json") is None


def test_a_folder_is_no_document() -> None:
    assert "plan_versions/" not in Graph(ALL).documents
    assert "plan.json" in Graph(ALL).documents


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        pytest.param(
            (phase("01", "a", (), ("x.json",)), phase("02", "b", (), ("x.json",))),
            "x.json has two writers: 01 a and 02 b",
            id="two writers",
        ),
        pytest.param(
            (phase("01", "outline"), phase("02", "b", ("outlin.json",))),
            "phase 02 b reads outlin.json, and no phase writes it; did you mean 'outline.json'?",
            id="a document that is misspelt",
        ),
        pytest.param(
            (phase("01", "a"), phase("02", "b", ("zzzzzzzz",))),
            "phase 02 b reads zzzzzzzz, and no phase writes it; known: a.json, b.json, task.json",
            id="a document that nobody knows",
        ),
        pytest.param(
            (phase("01", "a", ("b.json",)), phase("02", "b")),
            "phase 01 a reads b.json, which only phase 02 b writes, later",
            id="a writer that comes later",
        ),
        pytest.param(
            (phase("01", "a", ("b.json",)), phase("02", "b", ("a.json",))),
            "phase 01 a reads b.json, which only phase 02 b writes, later",
            id="a circle",
        ),
        pytest.param(
            (phase("01", "a", ("a.json",)),),
            "phase 01 a reads a.json, which only phase 01 a writes, later",
            id="a phase that reads itself",
        ),
    ],
)
def test_phases_that_do_not_fit_together_are_refused(phases: tuple[Phase, ...], message: str) -> None:
    with pytest.raises(ContractError) as caught:
        Graph(phases)
    assert str(caught.value).startswith(message)


def test_two_phases_with_one_number_are_refused_because_their_stamps_would_mix() -> None:
    with pytest.raises(ContractError, match="03"):
        Graph((phase("03", "a"), phase("03", "b")))


def test_two_phases_with_one_name_are_refused_because_neither_could_be_named() -> None:
    with pytest.raises(ContractError, match="same"):
        Graph((phase("03", "same", (), ("a.json",)), phase("04", "same", (), ("b.json",))))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("1", INTAKE),
        ("01", INTAKE),
        ("intake", INTAKE),
        ("5", PLAN),
        ("05", PLAN),
        ("5b", REVIEW),
        ("05b", REVIEW),
        ("review", REVIEW),
        ("10", CODE),
    ],
)
def test_a_phase_is_found_by_its_number_or_its_name(wanted: str, found: Phase) -> None:
    assert Graph(ALL).find(wanted) is found


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("revew", "did you mean 'review'?"),
        ("99", "the phases are 01 intake, 02 read"),
        ("001", "did you mean '01'?"),
        ("05c", "did you mean '05"),
        ("b", "the phases are "),
        ("", "the phases are "),
    ],
)
def test_an_unknown_phase_is_a_usage_error_with_a_hint(wanted: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        Graph(ALL).find(wanted)
    assert str(caught.value).startswith(f"there is no phase '{wanted}'; ")
    assert hint in str(caught.value)


def test_nothing_asked_for_is_not_the_first_phase() -> None:
    with pytest.raises(UsageError, match="there is no phase ''"):
        Graph((phase("00", "environment"),)).find("")


@st.composite
def chains(draw: st.DrawFn) -> list[Phase]:
    """Phases of which each reads some of what the earlier ones write."""
    made: list[Phase] = []
    for number in range(draw(st.integers(1, 12))):
        reads = draw(st.lists(st.sampled_from([p.writes[0] for p in made]), unique=True)) if made else []
        made.append(phase(f"{number:02}", f"p{number}", tuple(reads)))
    return made


@pytest.mark.slow
@QUICK
@given(chains())
def test_who_follows_from_whom_does_not_depend_on_the_order_of_discovery(made: list[Phase]) -> None:
    graph = Graph(reversed(made))
    assert graph.phases == made
    for start in made:
        reached = {start.number}
        for later in made:
            if any(before.number in reached for before in graph.before(later)):
                reached.add(later.number)
        assert [p.number for p in graph.after(start)] == sorted(reached - {start.number})
        for earlier in graph.before(start):
            assert start in graph.after(earlier)
