"""The values of a paper: which sentences and tables may set one, and each of them once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from phases.planning.rules.numbers import fold
from phases.planning.rules.owners import ORIGINAL, Known, Setting, settings_of_sentence
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, OTHER, RESULTS, SETUP
from phases.planning.rules.setting_tables import settings_of_tables
from phases.planning.rules.value_cues import likely_values
from phases.planning.rules.value_names import meanings_of
from phases.planning.rules.values import Value, candidates_in, values_in

MOST = 240
_CODE = re.compile(
    r"\b[A-Za-z_]\w*\.\w+[(\[]|\w\(\)|\w\[[0-9]+\]\.\w|>>>|(?:https?://|www\.)|←.*←|[«»|&]=? ?\(|\w [|&]= "
)
_DECLARED = re.compile(
    r"\bconst\b|(?<!for\()(?<!for \()\b(?:int|float|unsigned|double|let)\b[^=]*= ?[-+.\w]+ ?(?:[,;]|$)"
    r"|^\W*(?:Require|Input|Parameters?|Hyper-?parameters?|Given)\b.*=",
    re.IGNORECASE,
)
"""A line of a listing that gives constants (no loop, no product), or of an algorithm that says what it needs."""
_EXAMPLE = re.compile(
    r"^(?:For (?:example|instance)\b|As an example\b|Consider (?:the following|an example)\b)|^\W*\w+ ?[-−–]*[→⇒] ?\w+ ?:"
)
"""What only shows how something goes: an example, or a message of a protocol, "A → B: x = 7"."""
_EXPERIENCE = re.compile(r"\bexperiences?\b|\bdeployments?\b", re.IGNORECASE)
"""Headings of sections that build nothing, and say how something was run."""
_DONE_BY_US = re.compile(r"\bwe (?:\w+ly |also |then )?(?:ran|run|set|sent|use|[a-z]+ed)\b", re.IGNORECASE)
"""There "we downloaded a file every 30 minutes" is a run; "the network consists of 32 nodes" is a count of what is in use."""
_BARE = re.compile(r"(?<!\S)-?[0-9]+(?:\.[0-9]+)?(?!\S)")
_FEWEST_OF_DEBRIS = 8
_FACT = re.compile(r"\b(?:[GTC]PUs?|GHz|machines|cluster|training time|version|cores|processors|hardware)\b")
"""What a run had or took: nothing that a program sets."""
_KINDS = (
    (
        "data",
        re.compile(
            r"examples?|samples|sentences|pairs|images|questions|queries|documents|classes|vocabulary|corpus"
            r"|dataset|split|alphabet|cardinality|sequences|characters|trajectories|users|items",
            re.IGNORECASE,
        ),
    ),
    (
        "architecture",
        re.compile(
            r"layers?|heads?|dimension|hidden|units|filters|channels|kernel size|stride|padding|blocks?"
            r"|activation|width|depth|d_\w+|embedding|neurons|bits|table|entries|node",
            re.IGNORECASE,
        ),
    ),
    (
        "evaluation",
        re.compile(r"seeds?|runs|folds|trials|beam|evaluat|test|games|repetitions|confidence", re.IGNORECASE),
    ),
    (
        "training",
        re.compile(
            r"optimizer|learning rate|batch|epochs?|steps?|iterations?|warmup|schedule|decay|dropout|loss"
            r"|momentum|GPUs?|initiali[sz]|beta|gradient|smoothing",
            re.IGNORECASE,
        ),
    ),
)

_USUAL = {"", "base", "base model", "default"}
"""The sizes of a model that a paper means where it names none."""
_NO_WORDS = frozenset(["number", "of", "the", "size", "length", "", "a"])


def find_settings(paper: PaperText, known: Known) -> list[Setting]:
    """The values that sentences, captions, lists and tables of settings give, each once, in the order of the paper."""
    found: list[Setting] = []
    meanings = meanings_of(one.text for one in paper.sentences if one.role in (BUILD, SETUP, MIXED))
    for sentence, values in candidates_of(paper):
        likely = likely_values(sentence, values)
        found += [_with_meaning(one, meanings) for one in settings_of_sentence(sentence, likely, known)]
    for text, section, page in paper.listings:
        for line in text.split("\n") if paper.roles.get(section["id"]) in (BUILD, SETUP, MIXED) else ():
            if _DECLARED.search(line):
                sentence = Sentence(" ".join(line.split()), section, page, BUILD, "listing")
                found += settings_of_sentence(sentence, values_in(sentence.text), known)
    found += settings_of_tables(paper, known)
    return _once(found)[:MOST]


def candidates_of(paper: PaperText) -> Iterator[tuple[Sentence, list[Value]]]:
    """What each sentence and caption may set, before it is weighed."""
    for sentence in (*paper.sentences, *_captions(paper)):
        is_read = sentence.role in (BUILD, SETUP, MIXED, RESULTS)
        if sentence.role == OTHER and _EXPERIENCE.search(sentence.section["title"]):
            is_read = bool(_DONE_BY_US.search(sentence.text))
        is_read = is_read and not _CODE.search(sentence.text)
        is_read = is_read and not _EXAMPLE.search(fold(sentence.text[:80])[0])
        if is_read and not _is_debris(sentence.text):
            yield sentence, candidates_in(sentence.text)


def _is_debris(text: str) -> bool:
    """Whether a text is the labels along the axes of a figure: more than a third of at least eight words are bare numbers."""
    words = text.split()
    return len(words) >= _FEWEST_OF_DEBRIS and 3 * len(_BARE.findall(text)) > len(words)


def _captions(paper: PaperText) -> Iterator[Sentence]:
    """The captions: they say how their numbers came about, and the numbers themselves."""
    sections = {section["id"]: section for section in paper.outline["sections"]}
    for row in (*paper.outline["tables"], *paper.outline["figures"]):
        if row["section"] in sections:
            text = " ".join(str(row["text"]).split())
            yield Sentence(text, sections[row["section"]], row["page"], RESULTS, "caption")


def _with_meaning(one: Setting, meanings: dict[str, str]) -> Setting:
    """A value that is known by its symbol alone gets the name that the paper gives to the symbol."""
    value = one.value
    meant = meanings.get(value.symbol) if value.symbol and value.name == value.symbol else None
    return replace(one, value=replace(value, name=meant)) if meant else one


def value_row(one: Setting, identifier: str) -> dict[str, Any]:
    """The value as the plan has it. A several-valued one has `values`, and no `value`."""
    value, source = one.value, one.sentence
    held: dict[str, Any] = {"values": list(value.value)} if isinstance(value.value, tuple) else {"value": value.value}
    return {
        "id": identifier,
        "name": value.name,
        **({"symbol": value.symbol} if value.symbol and value.symbol != value.name else {}),
        **held,
        **({"printed": value.printed} if value.printed and not _is_printed_so(value) else {}),
        **({"unit": value.unit} if value.unit else {}),
        "owner": one.owner,
        **({"condition": one.condition} if one.condition else {}),
        "kind": _kind(value, one.owner),
        "source": {
            "section": source.section["number"] or source.section["title"] or None,
            "page": source.page,
            "quote": value.quote,
        },
    }


def _is_printed_so(value: Value) -> bool:
    """Whether a value reads as the paper prints it, but for commas: 0.1 does, and 0.0001 does not where 10^-4 is printed."""
    digits = re.sub(r"[^\w.]", "", value.printed)
    values = value.value if isinstance(value.value, tuple) else (value.value,)
    return all(re.sub(r"[^\w.]", "", f"{one:g}" if isinstance(one, float) else str(one)) in digits for one in values)


def _kind(value: Value, owner: str) -> str:
    if owner == ORIGINAL or _FACT.search(value.name):
        return "fact"
    words = f"{value.name} {value.symbol} {value.unit}"
    return next((kind for kind, pattern in _KINDS if pattern.search(words)), "hyperparameter")


def _once(found: Sequence[Setting]) -> list[Setting]:
    """Each value of a thing in one row: in the words of the table of settings where one has it, and by its longest name.

    A number of things that another row lists, and one that stands in a bracket and in another row's list, say nothing more.
    """
    kept: list[Setting] = []
    places: dict[str, list[int]] = {}
    for one in found:
        shown = str(one.value.value).replace(" ", "")
        same = next((at for at in places.get(shown, ()) if _is_same(one, kept[at])), None)
        if same is None:
            places.setdefault(shown, []).append(len(kept))
            kept.append(one)
        else:
            kept[same] = _clearer(kept[same], one)
    lists = [(_words_of(one), one) for one in kept if isinstance(one.value.value, tuple)]
    return [one for one in kept if not any(_is_told_by(one, words, several) for words, several in lists)]


def _is_same(one: Setting, other: Setting) -> bool:
    """Whether two values that are equal are of the same thing, in the same case."""
    is_size = _is_of_size(one, other) or _is_of_size(other, one)
    if not is_size and (one.owner != other.owner or not _is_same_case(one, other)):
        return False
    signs = (one.value.symbol, other.value.symbol)
    words, others = _words_of(one), _words_of(other)
    return (signs[0] == signs[1] != "") or (bool(words and others) and (words <= others or others <= words))


def _is_of_size(row: Setting, other: Setting) -> bool:
    """Whether the row of a size in a table and a sentence speak of the same model: big, and the big models."""
    return row.sentence.kind == "row" and other.owner.lower().startswith(f"{row.condition.lower()} ")


def _is_same_case(one: Setting, other: Setting) -> bool:
    """Two rows of tables are in the same case if they say the same; a sentence says too little of that to tell it apart.

    The row of one size of a model says what no sentence says, but for the size that the sentences are about.
    """
    if "row" in (one.sentence.kind, other.sentence.kind):
        return one.condition == other.condition or {one.condition.lower(), other.condition.lower()} <= _USUAL
    if one.sentence.kind == other.sentence.kind == "table":
        return one.condition == other.condition
    return "table" not in (one.sentence.kind, other.sentence.kind) or not (one.condition and other.condition)


def _clearer(one: Setting, other: Setting) -> Setting:
    """The row of a table before a sentence; where both are sentences the first, with the symbol that either gives."""
    best, rest = (other, one) if other.sentence.kind == "table" != one.sentence.kind else (one, other)
    value = best.value
    symbol = value.symbol or rest.value.symbol
    return replace(best, value=replace(value, symbol=symbol)) if symbol else best


def _words_of(one: Setting) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+?(?=s?\b)", one.value.name.lower())) - _NO_WORDS


def _is_told_by(one: Setting, words: frozenset[str], several: Setting) -> bool:
    """Whether a row with several values says what a row with one says: how many they are, or that it is one of them."""
    value, listed = one.value.value, several.value.value
    if one is several or isinstance(value, tuple) or not isinstance(listed, tuple) or one.owner != several.owner:
        return False
    if value == len(listed) and one.value.name == f"number of {several.value.name}":
        return True
    is_case = one.value.before.rstrip("=: ").rpartition("(")[1] and ")" not in one.value.before.rpartition("(")[2]
    is_named_so = bool(words and _words_of(one) == words) or one.value.symbol == several.value.symbol != ""
    return bool(is_case) and value in listed and is_named_so
