"""The words that searching goes by, and the pieces that files are cut into."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.references.parse.model import Symbol
from phases.references.parse.source_code import pieces_of
from phases.references.parse.terms import LONGEST_WORD, first_spellings, fold_name, stem_word, words_of

SOURCE = '''\
"""What the module says."""
RATE = 0.1


class Encoder(Module):
    """Reads tokens."""

    width: int

    def forward(self, tokens):
        """Gives the hidden states.

        Of all tokens.
        """
        def inner():
            return hidden
        return inner()


# Adds noise to a batch.
def corrupt(batch):
    return batch + noise
'''
SYMBOLS = (
    Symbol("RATE", "constant", 2, 2),
    Symbol("Encoder", "class", 5, 17, "", "class Encoder(Module)", "Reads tokens."),
    Symbol("width", "field", 8, 8, "Encoder"),
    Symbol(
        "forward",
        "method",
        10,
        17,
        "Encoder",
        "def forward(self, tokens)",
        "Gives the hidden states.\n\nOf all tokens.",
    ),
    Symbol("inner", "function", 15, 16, "Encoder.forward", "def inner()"),
    Symbol("corrupt", "function", 21, 22, "", "def corrupt(batch)", "Adds noise to a batch."),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getLoss", ["get", "loss", "getloss"]),
        ("get_loss_2", ["get", "loss", "2", "getloss2"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("loss", ["loss"]),
        ("naïve Größe", ["naiv", "gross"]),
        ("機械学習", ["機械", "械学", "学習"]),
        ("文", ["文"]),
        ("λόγος ΛΌΓΟΣ", ["λογοσ", "λογοσ"]),
        ("", []),
        ("+-*/", []),
    ],
    ids=[
        "camel case",
        "snake case",
        "capitals",
        "one word",
        "accents",
        "a script without spaces",
        "one letter of it",
        "the sigma that ends a word",
        "nothing",
        "signs",
    ],
)
def test_identifiers_are_taken_apart_and_kept_whole(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    "family",
    [
        ("compute", "computes", "computed", "computing"),
        ("loss", "losses"),
        ("query", "queries"),
        ("stop", "stopped", "stopping"),
        ("box", "boxes"),
    ],
    ids=lambda family: family[0],
)
def test_forms_of_a_word_meet(family: tuple[str, ...]) -> None:
    assert len({stem_word(word) for word in family}) == 1, [stem_word(word) for word in family]


@given(st.text(max_size=300))
@example("0⑴")
def test_words_hold_nothing_that_is_syntax_to_a_search(text: str) -> None:
    for word in words_of(text):
        assert word
        assert len(word) <= LONGEST_WORD
        assert not set(word) & set("\"'*():^-+ \t\n\0")


def test_the_index_spells_each_letter_of_every_alphabet_as_the_words_do() -> None:
    words = {word for number in (*range(0x3400), *range(0xA640, 0xAC00)) for word in words_of(chr(number))}
    database = sqlite3.connect(":memory:")
    database.execute('CREATE VIRTUAL TABLE t USING fts5(x, tokenize="unicode61 remove_diacritics 0")')
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, row)")
    database.executemany("INSERT INTO t VALUES (?)", ((word,) for word in words))
    terms = {term for (term,) in database.execute("SELECT term FROM v")}
    database.close()
    assert len(terms) > 5_000
    assert terms <= words  # one that its table of letters does not know is no term


def test_a_word_is_told_as_the_text_first_spells_it() -> None:
    assert first_spellings("Sizes of learning_rate, size, naïve") == {
        "siz": "sizes",
        "of": "of",
        "learn": "learning",
        "rat": "rate",
        "naiv": "naïve",
    }


def test_spellings_of_a_name_are_one() -> None:
    assert fold_name("get_loss") == fold_name("getLoss") == fold_name("GetLoss")
    assert fold_name("__") == "__"


def test_a_function_is_one_piece_with_what_stands_in_it() -> None:
    pieces = {(piece.kind, piece.name): piece for piece in pieces_of("python", SOURCE, SYMBOLS)}
    assert set(pieces) == {("module", ""), ("class", "Encoder"), ("method", "Encoder.forward"), ("function", "corrupt")}
    method = pieces["method", "Encoder.forward"]
    assert (method.line, method.end) == (10, 17)
    assert "hidden" in method.doc.split()
    assert method.body.split().count("hidden") == 1, "the docstring is not searched once more as a body"
    assert method.names.split() == ["encoder", "forward"]


def test_what_is_left_of_a_class_and_of_a_module_are_pieces_too() -> None:
    pieces = {(piece.kind, piece.name): piece for piece in pieces_of("python", SOURCE, SYMBOLS)}
    whole = pieces["class", "Encoder"]
    assert "width" in whole.names.split()
    assert "modul" in whole.body.split()
    assert "hidden" not in whole.body.split()
    module = pieces["module", ""]
    assert "rat" in module.body.split()
    assert "nois" not in module.body.split(), "the comment above a function is its documentation"


def test_text_is_cut_at_headings_and_after_sixty_lines() -> None:
    text = "# One\nfirst\n## Two\n```\n# no heading\n```\n" + "line\n" * 100
    assert [(piece.line, piece.end) for piece in pieces_of("text", text, ())] == [(1, 2), (3, 62), (63, 106)]


spans = st.tuples(
    st.integers(-2, 40), st.integers(-2, 40), st.sampled_from(["class", "function", "method", "field", "enum"])
)


@given(
    st.text(alphabet="ab\n\"'#\\ {}", max_size=200),
    st.lists(spans, max_size=12),
    st.sampled_from(["python", "c", "text"]),
)
def test_nonsense_is_cut_without_an_error(text: str, spans: list[tuple[int, int, str]], language: str) -> None:
    symbols = [Symbol("n", kind, line, end, "", "", "a b") for line, end, kind in spans]
    lines = text.count("\n") + 1
    for piece in pieces_of(language, text, symbols):
        assert 1 <= piece.line <= piece.end <= lines


@pytest.mark.slow
def test_twenty_thousand_symbols_over_the_same_lines_are_cut_in_linear_time() -> None:
    lines = 20_000
    symbols = [Symbol(f"s{number}", "struct", number + 1, lines, "", "", "words") for number in range(lines)]
    assert len(pieces_of("c", "x;\n" * lines, symbols)) == lines
