"""What a paper refers to: addresses of repositories, citations, ranks, the paper's own code, the whole document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.readers.outline import outline_of
from phases.references.find.citations import citations_of
from phases.references.find.entries import entries_of
from phases.references.find.links import links_in, repository_key, repository_of
from phases.references.find.reference_document import build_reference_document
from phases.references.values import Candidate, Entry
from pipeline.engine.contract import Contracts
from tests.papers import SHARED, read, read_on
from tests.strategies import QUICK

A_B = "https://github.com/a/b"


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("https://github.com/a/b", A_B),
        ("http://www.github.com/a/b.git", A_B),
        ("github.com/a/b/tree/main/src?x=1#readme", A_B),
        ("https://github.com/a/b/issues/3", A_B),
        ("https://github.com/a/b/releases/tag/v1.", A_B),
        ("git@github.com:a/b.git", A_B),
        ("ssh://git@github.com/a/b", A_B),
        ("git+https://github.com/a/b.git@main#egg=b", None),
        ("git+https://github.com/a/b.git", A_B),
        ("https://github.com/john-cardiff/-cyborg-cage-2", "https://github.com/john-cardiff/-cyborg-cage-2"),
        ("https://gitlab.com/g/sub/deeper/b/-/tree/main", "https://gitlab.com/g/sub/deeper/b"),
        ("https://gitlab.inria.fr/team/tool/-/issues/2", "https://gitlab.inria.fr/team/tool"),
        ("https://git.example.org/x/y.git", "https://git.example.org/x/y"),
        ("https://bitbucket.org/a/b/src/master/", "https://bitbucket.org/a/b"),
        ("https://codeberg.org/a/b", "https://codeberg.org/a/b"),
        ("https://gitee.com/a/b", "https://gitee.com/a/b"),
        ("https://git.sr.ht/~user/repo/tree", "https://git.sr.ht/~user/repo"),
        ("https://user:word@github.com/a/b", None),
        ("https://github.com/a", None),
        ("https://github.com/features/actions", None),
        ("https://github.com/topics/nlp", None),
        ("https://github.com/orgs/a/people", None),
        ("https://gist.github.com/a/0123", None),
        ("https://a.github.io/b", None),
        ("https://raw.githubusercontent.com/a/b/main/x", None),
        ("https://github.com.evil.org/a/b", None),
        ("https://evil.org/github.com/a/b", None),
        ("https://github.com/../b", None),
        ("https://github.com/a/..", None),
        ("https://github.com/a/b%2F..%2Fc", None),
        ("https://github.com:8080/a/b", None),
        ("file:///a/b", None),
        ("https://example.org/a/b", None),
        ("https://[::1/a/b", None),
    ],
)
def test_an_address_is_the_repository_that_git_can_clone_or_none(url: str, repository: str | None) -> None:
    assert repository_of(url) == repository


def test_two_spellings_of_an_address_count_as_one() -> None:
    assert repository_of("https://github.com/Abc/Def") == "https://github.com/Abc/Def"
    assert repository_key("https://github.com/Abc/Def") == repository_key("https://github.com/abc/def")


@pytest.mark.parametrize(
    ("text", "repository"),
    [
        ("Code: https://github.com/a/b.", A_B),
        ("see github.com/a/b, and more", A_B),
        ("(https://github.com/a/b)", A_B),
        ("at https://github. com/a/b now", A_B),
        ("at https://github.com/\na/b now", A_B),
        ("at https://github.com/a/\nb", A_B),
        ("at https://github.com/some-owner/data-\nefficient now", "https://github.com/some-owner/data-efficient"),
        ("at https://github.com/a /b", A_B),
        ("at https://github.com/a/ and elsewhere", None),
        ("at https://github.com/ for all", None),
        ("my.github.com/a/b", None),
        ("我们的代码已开源：https://github.com/a/b。我们", A_B),
        ("我们使用张三的实现（https://github.com/a/b），见", A_B),
        ("以及github.com/a/b、完。", A_B),
        ("https://github.com/a/b에서 확인", A_B),
        ("コードはgithub.com/a/bで公開", A_B),
        ("we have no code", None),
    ],
)
def test_an_address_in_a_text_is_put_together_only_where_that_is_sure(text: str, repository: str | None) -> None:
    assert [repository_of(url) for url, _ in links_in(text)] == ([repository] if repository else [])


def test_the_outline_ends_an_address_where_a_script_without_blanks_goes_on() -> None:
    paper = read(
        "# W\n\n我们的代码（见https://github.com/a/b）和https://github.com/c/d。以及 https://é.org/é now.\n"
    ).document
    written = outline_of(paper._replace(front={**paper.front, "links": []}))["links"]
    assert [row["url"] for row in written] == ["https://github.com/a/b", "https://github.com/c/d", "https://é.org/é"]


def test_an_address_is_found_where_it_stands() -> None:
    text = "First github.com/a/b, then https://gitlab.com/c/d."
    assert [text[start:].split("/")[0] for _, start in links_in(text)] == ["github.com", "https:"]


@QUICK
@given(
    st.lists(
        st.sampled_from(["https://", "github.com", "/", "a", "-", " ", "\n", ".", "git@", ":", "gitlab.com", "?"])
    ).map("".join)
)
@example("https://" * 500)
@example("github.com/" * 500)
def test_any_text_gives_addresses_that_canonical_form_keeps(text: str) -> None:
    for url, start in links_in(text):
        found = repository_of(url)
        assert found is not None
        assert repository_of(found) == found
        assert 0 <= start < len(text)


def numbered(body: str) -> str:
    listed = [
        "[1] A. Author and B. Builder. On time. 1999.",
        "[2] C. Coder. A waiting machine. In ICML, 2001. https://github.com/coder/machine",
        "[3] D. Doer. On no time at all. In NeurIPS, 2005.",
        "[4] E. Ender. The end of waiting. In ICLR, 2006.",
    ]
    return f"# Slow Waiting\n\n## 1 Introduction\n\n{body}\n\n## References\n\n" + "\n\n".join(listed) + "\n"


def cited(text: str) -> dict[str, list[str]]:
    """The sentences that cite each reference."""
    paper = read(text)
    outline = paper.outline
    found = citations_of(entries_of(outline["references"]), paper.document.text, paper.document.body_start, outline)
    return {name: [mention.quote for mention in mentions] for name, mentions in found.items()}


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("We wait [3].", ["B3"]),
        ("We wait [1, 3].", ["B1", "B3"]),
        ("We wait [2–4].", ["B2", "B3", "B4"]),
        ("We wait [1, 3-4].", ["B1", "B3", "B4"]),
        ("We wait [2, p. 7].", ["B2"]),
        ("In [0, 1] nothing waits.", []),
        ("Of x[1] nothing is known.", []),
        ("Nobody is the 17th [17].", []),
        ("We test on MNIST[2] and CIFAR10[3].", ["B2", "B3"]),
        ("A smoothing of 0.1[4] helps.", ["B4"]),
        ("See refs. [1]-[3].", ["B1", "B2", "B3"]),
        ("We clip to [1, 2] and scale x in [1,3].", []),
        ("Of W1[2] and arr_x[3] nothing is known.", []),
    ],
)
def test_a_citation_by_number_is_found(sentence: str, names: list[str]) -> None:
    assert sorted(cited(numbered(sentence))) == names


def test_raised_numbers_are_citations_where_most_of_a_list_is_cited_so() -> None:
    text = numbered("Many networks1,2 wait long. Others do not3. ResNet50 waits too, says Ender et al.4 in words.")
    assert cited(text)["B2"] == ["Many networks1,2 wait long."]
    assert sorted(cited(text)) == ["B1", "B2", "B3", "B4"]
    assert cited(numbered("The paper has a note1 and no more.")) == {}


NAMED = """\
# Slow Waiting

## 1 Introduction

{body}

## References

Smith, J., Lee, K., and Doe, D. First waiting. In ICML, 2019a.

Smith, J., Lee, K., and Doe, D. Second waiting. In ICML, 2019b.

Lee, K. and Kim, B. Waiting in pairs. In ACL, 2020.

van Stokkum, I. Waiting alone. In NeurIPS, 2004.

De Cao, N. and Aziz, W. Editing waits. In EMNLP, 2021.
"""


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("It waits (Smith et al., 2019a).", ["B1"]),
        ("It waits (Smith et al., 2019b; Lee & Kim, 2020).", ["B2", "B3"]),
        ("Smith et al. (2019a;b) wait.", ["B1", "B2"]),
        ("As Lee and Kim (2020) say, it waits.", ["B3"]),
        ("It waits (van Stokkum 2004, Lee and Kim 2020).", ["B3", "B4"]),
        ("It waits (see De Cao & Aziz, 2021, for more).", ["B5"]),
        ("It waits [Lee and Kim, 2020].", ["B3"]),
        ("It waited in 2019, and in 2020 again.", []),
        ("It waits (Lee and Park, 2020).", []),
        ("It waits (Smith et al., 2018).", []),
    ],
)
def test_a_citation_by_author_and_year_is_found(sentence: str, names: list[str]) -> None:
    assert sorted(cited(NAMED.format(body=sentence))) == names


def test_a_citation_by_label_is_found() -> None:
    text = numbered("It waits [Smi19; Lee20].").replace("[1] A.", "[Smi19] A.").replace("[2] C.", "[Lee20] C.")
    assert sorted(cited(text.replace("[3] D.", "[Do05] D.").replace("[4] E.", "[End06] E."))) == ["B1", "B2"]


def test_a_citation_says_where_it_stands() -> None:
    paper = read(numbered("Others hurry. We wait, as ever [3]. The end."))
    found = citations_of(
        entries_of(paper.outline["references"]), paper.document.text, paper.document.body_start, paper.outline
    )
    mention = found["B3"][0]
    assert (mention.where, mention.section, mention.quote) == ("text", "S1", "We wait, as ever [3].")
    assert paper.document.text[mention.start :].startswith("[3]")


# The whole document


def document(
    text: str, *, allow: bool = False, candidates: Any = None, links: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The value of reference.txt of a Markdown paper, checked against its schema."""
    paper = read(text)
    outline = {**paper.outline, "links": [*links] or paper.outline["links"]}
    kinds = {row["section"]: row["kind"] for row in paper.index["segments"] if row["section"]}
    found = build_reference_document(
        paper.document.text,
        paper.document.body_start,
        outline,
        kinds=kinds,
        allow_own_code=allow,
        candidates=candidates,
    )
    contracts = Contracts()
    written = contracts.serialise("reference.txt", found, writer="phase 06")
    return dict(contracts.parse("reference.txt", written, writer="phase 06"))


def repositories(found: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Role, and whether it is fetched, of each repository."""
    return {row["url"]: (row["role"], row["fetch"]) for row in found["repositories"]}


PAPER = """\
# Slow Waiting with WAITER

## Abstract

We wait. Our code is available at https://github.com/us/waiter.

## 1 Introduction

Many wait [1, 4].

## 2 Method

Our implementation is based on the code of Coder [2]. We minimize the loss of the waiter [2, 3].
For the old machine we use the official implementation at https://github.com/old/machine.

$$ y = x + 1 $$

## 3 Related work

Ender et al. [4] wait less; their code is available at https://github.com/ender/less.

## References

[1] A. Author and B. Builder. On time. 1999.

[2] C. Coder. A waiting machine. In ICML, 2001. https://github.com/coder/machine

[3] D. Doer. On no time at all. In NeurIPS, 2005.

[4] E. Ender and F. Fast. The end of waiting. In ICLR, 2006. https://github.com/Ender/End
"""


def test_what_the_paper_builds_on_comes_first() -> None:
    found = document(PAPER)
    assert found["references"][0]["id"] == "B2"
    best = found["references"][0]
    assert best["cited"] == 2
    assert best["why"].startswith(
        'cited 2 times, 2 of them in the method (2); the paper builds on it: "Our implementation is based'
    )
    assert "links a repository" in best["why"]
    assert [row["score"] for row in found["references"]] == sorted(
        (row["score"] for row in found["references"]), reverse=True
    )


def test_each_repository_has_its_role_and_the_papers_own_is_left_out() -> None:
    assert repositories(document(PAPER)) == {
        "https://github.com/us/waiter": ("own", False),
        "https://github.com/coder/machine": ("basis", True),
        "https://github.com/old/machine": ("basis", True),
        "https://github.com/Ender/End": ("cited", True),
        "https://github.com/ender/less": ("mentioned", True),
    }


def test_the_papers_own_repository_is_fetched_where_that_is_allowed() -> None:
    own = next(row for row in document(PAPER, allow=True)["repositories"] if row["role"] == "own")
    assert own["fetch"]
    assert own["why"] == 'the paper calls it its own: "Our code is available at https://github.com/us/waiter."'


@pytest.mark.parametrize(
    "sentence",
    [
        "Our code is available at https://github.com/a/b.",
        "We release our implementation at https://github.com/a/b.",
        "The source code of WAITER can be found in https://github.com/a/b.",
        "The code for our experiments is available at https://github.com/a/b.",
        "All scripts used in this paper are at https://github.com/a/b.",
        "We will publicly release the models and the code: https://github.com/a/b",
    ],
)
def test_a_paper_says_which_code_is_its_own(sentence: str) -> None:
    found = document(f"# Waiting with WAITER\n\n## 1 Introduction\n\nWe wait.\n\n## 2 Method\n\n{sentence}\n")
    assert repositories(found)[A_B][0] == "own"


@pytest.mark.parametrize(
    "sentence",
    [
        "We use their released code from https://github.com/a/b.",
        "The code of Smith et al. is available at https://github.com/a/b.",
        "The original authors made their code available at https://github.com/a/b.",
        "We use the official implementation of OTHER at https://github.com/a/b.",
        "Our implementation is based on https://github.com/a/b.",
        "The source code of OTHER can be found in https://github.com/a/b.",
        "Open peer review is available at https://github.com/a/b/pull/148.",
        "The data set is at https://github.com/a/b.",
        "See https://github.com/a/b for more.",
    ],
)
def test_what_is_credited_to_others_is_never_the_papers_own(sentence: str) -> None:
    for section in ("Introduction", "Abstract"):
        found = document(f"# Waiting with WAITER\n\n## {section}\n\n{sentence}\n\n## 2 Method\n\nWe wait.\n")
        assert repositories(found)[A_B][0] != "own"


def test_a_footnote_is_judged_by_the_sentence_that_carries_its_mark() -> None:
    text = "# Waiting\n\n## 1 Method\n\nFor streams we employ the implementation of others8. It waits.\n\n[^8]: https://github.com/a/b\n"
    row = document(text)["repositories"][0]
    assert (row["role"], row["mentions"][0]["where"]) == ("basis", "footnote")
    assert "we employ the implementation of others" in row["why"]


def test_a_footnote_belongs_to_the_reference_that_is_cited_right_before_its_mark() -> None:
    text = (
        "# W\n\n<!-- page 1 -->\n\n## 2 Method\n\nWe compare with Slow (Doe, 2019)3 and with Quick (Roe and Poe, 2020).\n\n"
        "[^3]: https://github.com/doe/slow\n\nQuick is at https://github.com/roe/quick, says Roe (2021).\n\n"
        "## References\n\nJ. Doe. Slow waiting for all. In ICML, 2019.\n\n"
        "A. Roe and B. Poe. Quick waiting for all. In ICML, 2020.\n"
    )
    found = document(text)
    assert {row["url"]: row["references"] for row in found["repositories"]} == {
        "https://github.com/doe/slow": ["B1"],
        "https://github.com/roe/quick": [],  # no reference is cited in its sentence before it
    }
    assert {row["id"]: row["repositories"] for row in found["references"]} == {
        "B1": ["https://github.com/doe/slow"],
        "B2": [],
    }


def test_a_link_without_visible_address_is_an_annotation() -> None:
    found = document(numbered("We wait."), links=[{"url": "https://github.com/a/b", "page": 2, "text": "here"}])
    row = next(row for row in found["repositories"] if row["url"] == A_B)
    assert row["mentions"] == [{"where": "annotation", "section": None, "page": 2, "start": 0, "quote": "here"}]


def test_an_address_that_the_text_spells_short_is_read_as_the_link_under_it() -> None:
    link = {"url": "https://github.com/a/opt_for_pinns", "page": 1, "text": ""}
    found = document("# W\n\n## 1 Method\n\nSee https://github.com/a/opt for pinns.\n", links=[link])
    assert list(repositories(found)) == ["https://github.com/a/opt_for_pinns"]


def test_a_footnotes_mark_behind_an_address_is_no_part_of_it_but_a_digit_of_a_linked_name_is() -> None:
    links = [{"url": f"https://github.com/a/{name}", "page": 1, "text": ""} for name in ("net", "net2", "other")]
    text = "# W\n\n## 1 Method\n\nSee https://github.com/a/net2 and https://github.com/a/other12 too.\n"
    found = document(text, links=links)
    assert set(repositories(found)) == {
        "https://github.com/a/net",
        "https://github.com/a/net2",
        "https://github.com/a/other",
    }


def test_a_thousand_links_are_each_compared_with_what_stands_there_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from phases.references.find import repositories as module

    asked: list[str] = []

    def counted(url: str) -> str | None:
        asked.append(url)
        return repository_of(url)

    monkeypatch.setattr(module, "repository_of", counted)
    rows = [f"https://github.com/own{at}/repo{at}" for at in range(1000)]
    text = "# W\n\n## 1 Method\n\n" + "\n\n".join(f"It waits, see {url} there." for url in rows)
    found = document(text, links=[{"url": url, "page": 1, "text": ""} for url in rows])
    assert len(found["repositories"]) == 1000
    assert len(asked) <= 10 * len(rows)


def test_a_lookup_is_asked_for_references_without_a_repository_most_promising_first() -> None:
    asked: list[str] = []

    def candidates(entries: Sequence[Entry]) -> tuple[list[Candidate], list[dict[str, Any]]]:
        asked.extend(entry.id for entry in entries)
        row = {"service": "a service", "asked": len(entries), "found": 1, "why": ""}
        return [Candidate("B3", "https://github.com/doer/code", "a service", "title and year agree", 0.9)], [row]

    found = document(PAPER, candidates=candidates)
    assert asked == ["B3", "B1"]
    assert repositories(found)["https://github.com/doer/code"] == ("found", True)
    assert found["lookups"] == [{"service": "a service", "asked": 2, "found": 1, "why": ""}]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("# W\n\n## 1 Method\n\nWe wait.\n", "the paper has no references"),
        (
            "# W\n\n## 1 Method\n\nWe wait.\n\n## References\n\nnone\n",
            "the reference list could not be split into references",
        ),
    ],
)
def test_a_paper_without_references_is_told(text: str, note: str) -> None:
    assert document(text)["notes"] == [note]


def test_the_document_is_the_same_each_time() -> None:
    assert json.dumps(document(PAPER)) == json.dumps(document(PAPER))


@QUICK
@given(st.text(alphabet=st.sampled_from("ab [1]-,.;()2019\n#^:/A&\u2028$"), max_size=300))
@example("[^1]:\n\n" * 40)
@example("A 2019 " * 60)
def test_any_body_gives_a_document(body: str) -> None:
    assert document(numbered(body))["version"] == 2


@pytest.mark.slow
def test_a_long_hostile_paper_is_read_to_its_end() -> None:
    for piece in (
        "Smith (2019a) ",
        "[1] ",
        "github.com/a/ ",
        "networks1 ",
        "our code code ",
        "a. ",
        "https://github.com/x/y ",
        "((((",
        "[^1]: x\n\n",
    ):
        assert document(numbered(piece * (150_000 // len(piece))))["version"] == 2


@pytest.mark.skipif(not (SHARED / "manifest.json").is_file(), reason="the real papers are not on this machine")
def test_real_papers_give_their_titles_and_their_own_code() -> None:
    from phases.readers.markdown import paper_document
    from phases.readers.pdf.reader import read_pdf

    for name, own in (
        ("rs_h-detach", "https://github.com/dido1998/h-detach"),
        ("pb_rice", "https://github.com/chengzelei/RICE"),
    ):
        paper = read_on(paper_document(read_pdf(str(SHARED / f"{name}.pdf")), "0" * 64, "pdf"))
        found = build_reference_document(
            paper.document.text, paper.document.body_start, paper.outline, kinds={}, allow_own_code=False
        )
        assert repositories(found)[own] == ("own", False)
        assert all(row["title"] for row in found["references"])
