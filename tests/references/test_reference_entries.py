"""References of every usual style, taken apart: a table by hand, and what holds for any text."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.references.find.entries import entries_of
from phases.references.values import Entry
from tests.strategies import QUICK


class Row(NamedTuple):
    """A reference as it is printed, and what it says."""

    style: str
    raw: str
    title: str
    authors: tuple[str, ...]
    year: int | None


ROWS = (
    Row("numbered in brackets", "[1] J. L. Ba, J. R. Kiros, and G. E. Hinton. Layer normalization. arXiv preprint "
        "arXiv:1607.06450, 2016.",
        "Layer normalization", ("J. L. Ba", "J. R. Kiros", "G. E. Hinton"), 2016),
    Row("numbered with a dot", "12. Nair, V., Hinton, G.: Rectified linear units. In: ICML, pp. 807–814 (2010)",
        "Rectified linear units", ("Nair, V.", "Hinton, G."), 2010),
    Row("Korean with quotes", '[1] 박영희, 이민수, "그래프 학습의 새로운 방법," 한국정보과학회 논문지, 제46권, pp. 1-9, 2019.',
        "그래프 학습의 새로운 방법", ("박영희", "이민수"), 2019),
    Row("DIN 1505", "Weiß, Anna; Schön, Bernd (2020): Ein Titel über Dinge. Springer.",
        "Ein Titel über Dinge", ("Weiß, Anna", "Schön, Bernd"), 2020),
    Row("DIN 1505, editors", "Weiß, Anna; Schön, Bernd (Hrsg.) (2019): Handbuch der Dinge. Springer.",
        "Handbuch der Dinge", ("Weiß, Anna", "Schön, Bernd"), 2019),
    Row("in press", "Smith, A. (in press). One thing alone. Journal of X.", "One thing alone", ("Smith, A.",), None),
    Row("no date", "Jones, B. (n.d.). Two things here. Website.", "Two things here", ("Jones, B.",), None),
    Row("natbib, full names", "Ian Goodfellow, Yoshua Bengio, and Aaron Courville. Deep learning, volume 1. MIT Press, 2016.",
        "Deep learning", ("Ian Goodfellow", "Yoshua Bengio", "Aaron Courville"), 2016),
    Row("natbib, inverted", "Braverman, V., Cohen-Addad, V., Jiang, H.-C. S., and Wu, X. The power of uniform "
        "sampling. In FOCS, pp. 462-473, 2022.",
        "The power of uniform sampling", ("Braverman, V.", "Cohen-Addad, V.", "Jiang, H.-C. S.", "Wu, X."), 2022),
    Row("ACL", "Iz Beltagy, Matthew E. Peters, and Arman Cohan. 2020. Longformer: The long-document transformer. "
        "arXiv:2004.05150.",
        "Longformer: The long-document transformer", ("Iz Beltagy", "Matthew E. Peters", "Arman Cohan"), 2020),
    Row("ACL with a letter", "Kyle Lo and Lucy Lu Wang. 2023a. Reading better. In Proceedings of ACL, pages 1–9.",
        "Reading better", ("Kyle Lo", "Lucy Lu Wang"), 2023),
    Row("APA", "Smith, J. A., & Lee, K. (2019). On the nature of waiting. Journal of Time, 12(3), 45–67. "
        "https://doi.org/10.1000/xyz123",
        "On the nature of waiting", ("Smith, J. A.", "Lee, K."), 2019),
    Row("APA with a month", "Doe, J. (2021, May). Slow models. Journal of Slowness, 1, 2–3.",
        "Slow models", ("Doe, J.",), 2021),
    Row("IEEE with quotes", "[3] A. Esteva and S. Thrun, “Dermatologist-level classification of skin cancer,” Nature, "
        "vol. 542, pp. 115–118, 2017.",
        "Dermatologist-level classification of skin cancer", ("A. Esteva", "S. Thrun"), 2017),
    Row("IEEE, straight quotes", '[4] J. Redmon, S. Divvala, and A. Farhadi, "You only look once," in Proc. IEEE '
        'CVPR, 2016, pp. 779-788.',
        "You only look once", ("J. Redmon", "S. Divvala", "A. Farhadi"), 2016),
    Row("biblatex with quotes", '[5] C. Finn, P. Abbeel, and S. Levine. "Model-Agnostic Meta-Learning." In: ICML '
        '(Mar. 2017). arXiv: 1703.03400.',
        "Model-Agnostic Meta-Learning", ("C. Finn", "P. Abbeel", "S. Levine"), 2017),
    Row("LNCS", "Krizhevsky, A., Sutskever, I., Hinton, G.E.: ImageNet classification with deep networks. In: Advances in Neural "
        "Information Processing Systems, pp. 1097–1105 (2012)",
        "ImageNet classification with deep networks", ("Krizhevsky, A.", "Sutskever, I.", "Hinton, G.E."), 2012),
    Row("Chicago author-date", 'Smith, John, and Jane Lee. 2019. "The Long Wait." Journal of Time 12 (3): 45–67.',
        "The Long Wait", ("Smith, John", "Jane Lee"), 2019),
    Row("Chicago notes", 'Smith, John. "The Long Wait." Journal of Time 12, no. 3 (2019): 45–67.',
        "The Long Wait", ("Smith, John",), 2019),
    Row("Harvard", "Smith, J. and Lee, K., 2018. Waiting for everyone. Journal of Time, 12(3), pp. 45-67.",
        "Waiting for everyone", ("Smith, J.", "Lee, K."), 2018),
    Row("Vancouver", "Smith JA, Lee K. Waiting for everyone. J Time. 2019;12(3):45-67.",
        "Waiting for everyone", ("Smith JA", "Lee K"), 2019),
    Row("statistics journal", 'Bates DM, DebRoy S (2003). "Converting a Large R Package." In K Hornik (ed.), '
        '"Proceedings," ISSN 1609-395X.',
        "Converting a Large R Package", ("Bates DM", "DebRoy S"), 2003),
    Row("Nature", "Silver, D. & Huang, A. Mastering the game of Go. Nature 529, 484–489 (2016).",
        "Mastering the game of Go", ("Silver, D.", "Huang, A."), 2016),
    Row("Elsevier, commas alone", "[7] M. Raissi, P. Perdikaris, G.E. Karniadakis, Physics-informed neural networks, "
        "J. Comput. Phys. 378 (2019) 686–707.",
        "Physics-informed neural networks", ("M. Raissi", "P. Perdikaris", "G.E. Karniadakis"), 2019),
    Row("a question, then the venue", "Ghorbani, B. and Mei, S. When Do Neural Networks Outperform Kernel Methods? In "
        "Advances in Neural Information "
        "Processing Systems, 2020.",
        "When Do Neural Networks Outperform Kernel Methods?", ("Ghorbani, B.", "Mei, S."), 2020),
    Row("a question that goes on", "Betty Shea and Mark Schmidt. Why line search when you can plane search? "
        "so-friendly networks. ArXiv, abs/2406.17954, 2024.",
        "Why line search when you can plane search? so-friendly networks", ("Betty Shea", "Mark Schmidt"), 2024),
    Row("a question and a second sentence", "Tao, M. Can BERT refrain from forgetting? A probing study. In ICLR, 2023.",
        "Can BERT refrain from forgetting? A probing study", ("Tao, M.",), 2023),
    Row("an exclamation", "Holtzman, A. and West, P. Surprise! Models that wait. In ACL, 2021.",
        "Surprise! Models that wait", ("Holtzman, A.", "West, P."), 2021),
    Row("particles", "van den Oord, A., de Bézenac, E., and Li, Y. Representation learning. In NeurIPS, 2018.",
        "Representation learning", ("van den Oord, A.", "de Bézenac, E.", "Li, Y."), 2018),
    Row("particles in front", "Bart van Merrienboer, Diego de las Casas, and Aaron van den Oord. Learning phrases. In "
        "EMNLP, 2014.",
        "Learning phrases", ("Bart van Merrienboer", "Diego de las Casas", "Aaron van den Oord"), 2014),
    Row("et al.", "Paszke, A., Gross, S., et al. Pytorch: An imperative style. In Proc. of NeurIPS, 2019.",
        "Pytorch: An imperative style", ("Paszke, A.", "Gross, S."), 2019),
    Row("a middle initial before and", "Mahmoud H. Alrefaei and Sigrún Andradóttir. A simulated annealing algorithm. "
        "Management Science, 45(5):748–764, 1999.",
        "A simulated annealing algorithm", ("Mahmoud H. Alrefaei", "Sigrún Andradóttir"), 1999),
    Row("a suffix", "Strunk, W., Jr. and White, E. B. The elements of style. Macmillan, 1959.",
        "The elements of style", ("Strunk, W.", "White, E. B."), 1959),
    Row("an organisation", "OpenAI. Gpt-4 technical report. ArXiv, abs/2303.08774, 2023.",
        "Gpt-4 technical report", ("OpenAI",), 2023),
    Row("an organisation with a year", "R Development Core Team (2006). R: A Language and Environment. R Foundation, "
        "Vienna, Austria.",
        "R: A Language and Environment", ("R Development Core Team",), 2006),
    Row("software by its own name", "pdfplumber. 2023. pdfplumber. https://github.com/jsvine/pdfplumber.",
        "pdfplumber", ("pdfplumber",), 2023),
    Row("no author", "Mountain car continuous. https://example.org/gym/mountain_car/. Accessed: 2024-05-24.",
        "Mountain car continuous", (), None),
    Row("a year and no venue", "Jacob Devlin and Kenton Lee. Bert: Pre-training of transformers, 2019.",
        "Bert: Pre-training of transformers", ("Jacob Devlin", "Kenton Lee"), 2019),
    Row("a year in the venue's name", "Yao, Z. and Gholami, A. PyHessian. In 2020 IEEE International Conference on "
        "Big Data (Big Data), 2021.",
        "PyHessian", ("Yao, Z.", "Gholami, A."), 2021),
    Row("pages that look like a year", "Srivastava, N. Dropout. Journal of Machine Learning Research, 15(1):1929-1958, 2014.",
        "Dropout", ("Srivastava, N.",), 2014),
    Row("a year in the title", "Isabelle Augenstein and Mrinal Das. 2018. Semeval 2017 task 10: Extracting "
        "keyphrases. In ACL workshop.",
        "Semeval 2017 task 10: Extracting keyphrases", ("Isabelle Augenstein", "Mrinal Das"), 2018),
    Row("a word broken at a line's end", "Waleed Ammar and Chandra Bhagavat- ula. 2017. Semi-supervised rela- tion "
        "extraction. In ACL.",
        "Semi-supervised relation extraction", ("Waleed Ammar", "Chandra Bhagavatula"), 2017),
    Row("German", "Schmidt, H. und Müller, K.: Über das Warten. Springer, Berlin, 2010.",
        "Über das Warten", ("Schmidt, H.", "Müller, K."), 2010),
    Row("Chinese", "[9] 崔添翼, 王刚. 背包问题九讲[J]. 计算机学报, 2011, 34(2): 1-5.", "背包问题九讲", ("崔添翼", "王刚"), 2011),
    Row("one letter for a surname", "E, W. and Yu, B. The Deep Ritz Method. Communications in Mathematics, 6(1):1-12, 2018.",
        "The Deep Ritz Method", ("E, W.", "Yu, B."), 2018),
    Row("a thesis", "L. Victor Allis. Searching for Solutions in Games. PhD thesis, Universiteit Maastricht, 1994.",
        "Searching for Solutions in Games", ("L. Victor Allis",), 1994),
    Row("code for a paper", 'C. Finn. Code for "Model-Agnostic Meta-Learning": cbfinn/maml. Dec. 2018.',
        'Code for "Model-Agnostic Meta-Learning": cbfinn/maml', ("C. Finn",), 2018),
)  # fmt: skip


def entry(raw: str) -> Entry:
    return entries_of([{"id": "B1", "raw": raw}])[0]


@pytest.mark.parametrize("row", ROWS, ids=[row.style for row in ROWS])
def test_a_reference_of_each_style_is_taken_apart(row: Row) -> None:
    found = entry(row.raw)
    assert (found.title, found.authors, found.year) == (row.title, row.authors, row.year)


@pytest.mark.parametrize(
    ("raw", "doi"),
    [
        ("A. B. Title. 2019. https://doi.org/10.1137/S1052623400374495.", "10.1137/s1052623400374495"),
        ("A. B. Title. 2019. http://dx.doi.org/10.1000/xyz123", "10.1000/xyz123"),
        ("A. B. Title. 2019. doi: 10.1137/ S1052623400374495.", "10.1137/s1052623400374495"),
        ("A. B. Title. 2019. DOI:10.1109/ICDM.2008.17.", "10.1109/icdm.2008.17"),
        ("A. B. Title. 2019. doi:https://doi.org/10.1145/3394486.3403172", "10.1145/3394486.3403172"),
        ("A. B. Title (doi 10.1016/S0022-0000(05)80010-3).", "10.1016/s0022-0000(05)80010-3"),
        ("A. B. Title. 2019. doi.org/10.1000/x_y-z;", "10.1000/x_y-z"),
        ("A. B. Title. Version 10.1. 2019.", None),
    ],
)
def test_a_doi_is_read_in_every_spelling(raw: str, doi: str | None) -> None:
    assert entry(raw).doi == doi


@pytest.mark.parametrize(
    ("raw", "arxiv"),
    [
        ("A. B. Title. arXiv preprint arXiv:1705.03122v2, 2017.", "1705.03122"),
        ("A. B. Title. CoRR, abs/1409.0473, 2014.", "1409.0473"),
        ("A. B. Title. arXiv: 1412.6980.", "1412.6980"),
        ("A. B. Title, 2022. URL https://arxiv.org/abs/2210. 11610.", "2210.11610"),
        ("A. B. Title. arXiv:hep-th/9901001, 1999.", "hep-th/9901001"),
        ("A. B. Title. Journal 1234.5678, 2019.", None),
    ],
)
def test_the_number_on_arxiv_is_read_without_its_version(raw: str, arxiv: str | None) -> None:
    assert entry(raw).arxiv == arxiv


@pytest.mark.parametrize(
    ("raw", "repository"),
    [
        (
            "pdfplumber. 2023. pdfplumber. https://github. com/jsvine/pdfplumber.",
            "https://github.com/jsvine/pdfplumber",
        ),
        (
            "Cage. https://github.com/ cage-challenge/cage-challenge-2, b.",
            "https://github.com/cage-challenge/cage-challenge-2",
        ),
        ("A. B. Code. github.com/a/b, 2020.", "https://github.com/a/b"),
    ],
)
def test_a_repository_is_read_though_a_line_end_broke_its_address(raw: str, repository: str) -> None:
    assert entry(raw).repositories == (repository,)


@pytest.mark.parametrize(
    ("raw", "venue"),
    [
        ("Kingma, D. and Ba, J. Adam. In ICLR, 2015.", "ICLR"),
        ("Belkin, M. Fit without fear. Acta Numerica, 30:203-248, 2021.", "Acta Numerica"),
        ('C. Finn. "Meta." In: International Conference on Learning Representations. 2019.',
         "International Conference on Learning Representations"),
        ("A. Author. Title of it. 2019.", None),
    ],
)  # fmt: skip
def test_the_venue_ends_where_volume_pages_or_year_begin(raw: str, venue: str | None) -> None:
    assert entry(raw).venue == venue


def bare(text: str) -> str:
    """A text without what is repaired: white space, hyphens, signs that nobody sees."""
    return "".join(
        sign
        for sign in text
        if not sign.isspace() and sign not in "-\u00ad\ufeff" and not "\u200b" <= sign <= "\u200f" and sign != "\u2060"
    )


PIECES = st.sampled_from(
    ["A. Author", "Smith, J.", ", ", " and ",
     ". ", "(2019)", "2019", '"', "“", "”", "In ", "In: ", "doi:10.1/x", "10.1000/", "arXiv:",
     "abs/1234.56789", "https://github. com/a/ b", "https://", "[1]", "1.", "et al.",
     "?", "!", ":", "- ", "-", "王刚", "[J]", "vol. 3", "pp. 1-2", " ", "x" * 50]
)  # fmt: skip


@QUICK
@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)))
@example("[" * 300 + "]" * 300)
@example("A. " * 400)
@example("a, " * 400)
@example('"' * 50 + " 2019")
@example("\u00adA. B. T\u00aditle. 2019.")
def test_each_part_of_any_text_is_a_piece_of_it(raw: str) -> None:
    found = entry(raw)
    whole = bare(raw)
    for part in (found.title, found.venue, found.arxiv, found.url, *found.authors):
        assert part is None or bare(part) in whole
    assert found.doi is None or bare(found.doi) in whole.lower()
    assert found.year is None or str(found.year) in whole


@pytest.mark.parametrize(
    "piece",
    [
        "A. ",
        "a, ",
        "Smith, J., ",
        "1. 2019 ",
        '"a" ',
        "https://a ",
        "(2019) ",
        "10.1000/ ",
        "? A. ",
        "x- y ",
        "A-",
        "，王刚",
        " , in",
    ],
)
def test_a_long_hostile_reference_is_read_up_to_a_limit_alone(piece: str) -> None:
    found = entry(piece * (200_000 // len(piece)))
    assert max(len(found.title or ""), len(found.venue or "")) <= 400
