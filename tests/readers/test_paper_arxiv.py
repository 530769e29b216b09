"""Every spelling of an arXiv identifier, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.readers.origins import ArxivId, arxiv_id
from tests.strategies import QUICK

BARE = [
    pytest.param("2401.12345", ArxivId("2401.12345"), id="five digits"),
    pytest.param("2401.12345v2", ArxivId("2401.12345", 2), id="with a version"),
    pytest.param("1706.03762v17", ArxivId("1706.03762", 17), id="a version of two digits"),
    pytest.param("1501.00001", ArxivId("1501.00001"), id="the first of five digits"),
    pytest.param("1412.9999", ArxivId("1412.9999"), id="the last month of four digits"),
    pytest.param("0704.0001", ArxivId("0704.0001"), id="the first of the new scheme"),
    pytest.param("cs/0112017", ArxivId("cs/0112017"), id="the old scheme"),
    pytest.param("math.GT/0309136v1", ArxivId("math/0309136", 1), id="an old one with its subject class"),
    pytest.param("cond-mat.mtrl-sci/0101001", ArxivId("cond-mat/0101001"), id="a subject class in words"),
    pytest.param("hep-th/9901001", ArxivId("hep-th/9901001"), id="an archive with a hyphen"),
    pytest.param("hep-th/9108001", ArxivId("hep-th/9108001"), id="one of the oldest"),
    pytest.param("quant-ph/0703999", ArxivId("quant-ph/0703999"), id="one of the last old ones"),
    pytest.param("cmp-lg/9404001", ArxivId("cmp-lg/9404001"), id="an archive that is no more"),
]
WAYS = [
    "{}", " {}\n", "arXiv:{}", "arxiv:{}", "ARXIV:{}", "arXiv: {}", "arxiv : {}", "arXiv:{} [cs.CL]", "arXiv:{} [hep-th]",
    "https://arxiv.org/abs/{}", "http://arxiv.org/abs/{}", "HTTPS://ARXIV.ORG/abs/{}", "arxiv.org/abs/{}",
    "https://www.arxiv.org/abs/{}", "https://export.arxiv.org/abs/{}", "https://arxiv.org/abs/{}/", "https://arxiv.org/abs/arXiv:{}",
    "https://arxiv.org/pdf/{}", "https://arxiv.org/pdf/{}.pdf", "https://arxiv.org/pdf/{}.pdf#page=3", "https://arxiv.org/html/{}",
    "https://arxiv.org/html/{}/#S1", "https://arxiv.org/e-print/{}", "https://arxiv.org/src/{}", "https://arxiv.org/format/{}",
    "https://arxiv.org/abs/{}?context=cs.LG", "https://arxiv.org/abs/{}#comments", "https://arxiv.org/abs/{}/?a=b#c",
    "https://doi.org/10.48550/arXiv.{}", "http://dx.doi.org/10.48550/arxiv.{}", "10.48550/arXiv.{}", "doi:10.48550/ARXIV.{}",
    "https://doi.org/10.48550/arXiv.{}/", "https://www.alphaxiv.org/abs/{}", "alphaxiv.org/abs/{}", "https://ar5iv.org/abs/{}",
    "https://ar5iv.labs.arxiv.org/html/{}", "https://huggingface.co/papers/{}", "https://hf.co/papers/{}",
]  # fmt: skip
OTHERS = [
    pytest.param("", id="nothing"),
    pytest.param("2401.12345.pdf", id="a file name"),
    pytest.param("2401.12345v2.pdf", id="a file name with a version"),
    pytest.param("./2401.12345", id="a path"),
    pytest.param("papers/2401.12345", id="a file in a folder"),
    pytest.param("papers/0112017", id="a folder that is no archive"),
    pytest.param("cs/0112017.pdf", id="a file in a folder that is an archive's name"),
    pytest.param("2401.12345v0", id="version 0"),
    pytest.param("2401.12345v", id="no version after the v"),
    pytest.param("2401.12345v01", id="a version with a leading 0"),
    pytest.param("3.14159", id="a number"),
    pytest.param("2013.00001", id="month 13"),
    pytest.param("2400.00001", id="month 0"),
    pytest.param("2401.1234", id="four digits after 2014"),
    pytest.param("1412.00001", id="five digits before 2015"),
    pytest.param("0703.0001", id="the new scheme before its time"),
    pytest.param("cs/0704001", id="the old scheme after its time"),
    pytest.param("cs/9106001", id="before arXiv"),
    pytest.param("hep-th/9913001", id="an old one of month 13"),
    pytest.param("2401.00000", id="paper 0"),
    pytest.param("hep-th/9901000", id="old paper 0"),
    pytest.param("2024.01.15", id="a date"),
    pytest.param("2024-01-15", id="a date with hyphens"),
    pytest.param("15.01.2024", id="a date of another country"),
    pytest.param("２４０１.12345", id="digits of another alphabet"),
    pytest.param("2401.12345 2401.12346", id="two of them"),
    pytest.param("see arXiv:2401.12345", id="a sentence"),
    pytest.param("2401.12345\n2401.12346", id="two lines"),
    pytest.param("https://arxiv.org/list/cs.LG/2401", id="a list"),
    pytest.param("https://arxiv.org/abs/", id="an address without a paper"),
    pytest.param("https://arxiv.org/pdf/2401.12345.pdf.exe", id="another ending"),
    pytest.param("https://arxiv.org/html/2401.12345v1/x1.png", id="a picture of a paper"),
    pytest.param("https://arxiv.org.evil.example/abs/2401.12345", id="another host that begins alike"),
    pytest.param("https://notarxiv.org/abs/2401.12345", id="another host that ends alike"),
    pytest.param("https://evil.example/https://arxiv.org/abs/2401.12345", id="an address in an address"),
    pytest.param("https://me@arxiv.org/abs/2401.12345", id="a name before the host"),
    pytest.param("ftp://arxiv.org/abs/2401.12345", id="another scheme"),
    pytest.param("10.48550/other.2401.12345", id="another DOI"),
    pytest.param("10.1000/arXiv.2401.12345", id="another publisher's DOI"),
    pytest.param("2401.12345" + " " * 3000 + "x", id="a very long text"),
]
NAMES = st.one_of(
    st.builds(
        lambda year, month, number: f"{year:02}{month:02}.{number:05}",
        st.integers(15, 60),
        st.integers(1, 12),
        st.integers(1, 99999),
    ),
    st.builds(
        lambda year, month, number: f"{year:02}{month:02}.{number:04}",
        st.integers(8, 14),
        st.integers(1, 12),
        st.integers(1, 9999),
    ),
    st.builds(
        lambda archive, year, month, number: f"{archive}/{year:02}{month:02}{number:03}",
        st.sampled_from(["cs", "math", "hep-th", "astro-ph", "q-bio", "nlin"]),
        st.sampled_from([92, 99, 0, 1, 6]),
        st.integers(1, 12),
        st.integers(1, 999),
    ),
)


@pytest.mark.parametrize(("text", "expected"), BARE)
def test_an_identifier_is_known(text: str, expected: ArxivId) -> None:
    assert arxiv_id(text) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spelling", ["2401.12345", "2401.12345v2", "cs/0112017", "hep-th/9901001v3"])
def test_every_way_to_write_an_identifier_gives_the_same(way: str, spelling: str) -> None:
    found = arxiv_id(way.format(spelling))
    assert found is not None, f"{way.format(spelling)!r} is not known"
    assert found.spelling == spelling


@pytest.mark.parametrize("text", OTHERS)
def test_what_only_looks_like_an_identifier_is_none(text: str) -> None:
    assert arxiv_id(text) is None


@QUICK
@given(name=NAMES, version=st.one_of(st.none(), st.integers(1, 99)), way=st.sampled_from(WAYS), loud=st.booleans())
def test_any_identifier_is_found_again_in_any_spelling(name: str, version: int | None, way: str, loud: bool) -> None:
    wanted = ArxivId(name, version)
    text = way.format(wanted.spelling)
    assert arxiv_id(text.upper() if loud and "/abs/" not in text and "://" not in text else text) == wanted


@QUICK
@given(text=st.one_of(st.text(), st.from_regex(r"[a-z.:/0-9v?# -]{0,60}", fullmatch=True)))
@example("arxiv:" * 300)
@example("https://arxiv.org/abs/" + "/" * 1900)
@example("\x00\ud800")
def test_no_text_breaks_it_and_what_it_finds_it_finds_again(text: str) -> None:
    found = arxiv_id(text)
    if found:
        assert arxiv_id(found.spelling) == found


@pytest.mark.parametrize("base", ["https://export.arxiv.org", "https://export.arxiv.org/"])
def test_an_identifier_knows_its_addresses(base: str) -> None:
    paper = ArxivId("math/0309136", 1)
    assert paper.source_url(base) == "https://export.arxiv.org/e-print/math/0309136v1"
    assert paper.pdf_url(base) == "https://export.arxiv.org/pdf/math/0309136v1"
    assert paper.html_url(base) == "https://export.arxiv.org/html/math/0309136v1"


def test_without_a_version_the_newest_is_asked_for() -> None:
    assert ArxivId("2401.12345").pdf_url("https://arxiv.org") == "https://arxiv.org/pdf/2401.12345"
