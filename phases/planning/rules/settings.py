"""The values of a paper: which sentences and tables may set one, whose each is, and under what condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from phases.planning.rules.blocks import PROSE
from phases.planning.rules.cues import says_what_is_set, why_not
from phases.planning.rules.numbers import NUMBER, number_of
from phases.planning.rules.passages import PaperText, Sentence, Table
from phases.planning.rules.results import caption_of
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP
from phases.planning.rules.tables import cells_of
from phases.planning.rules.values import Value, values_in

MOST = 90
METHOD = "method"
"""The owner of what belongs to the paper's own method, or to everything that is run."""
_NEVER = ("related", "of authors", "proof", "rejected approach")
_ONLY_BY_DEED = ("result", "discussion", "motivation", "points elsewhere")
_CODE = re.compile(r"\b\w+\.\w+[(\[]|\w\(\)|\w\[[0-9]+\]\.\w|>>>|(?:https?://|www\.)")
_DATA_UNIT = re.compile(
    r"\b(?:examples?|samples?|sentences?|sentence pairs|pairs|images?|questions?|question sequences|queries"
    r"|documents?|classes|categories|instances?|characters?|users?|items?|tasks?|articles?|utterances?|labels?"
    r"|splits?)\b",
    re.IGNORECASE,
)
_NAMED = r"(?:[A-Z][\w+*.()-]*(?: (?:[A-Z0-9(][\w+*.()-]*|and(?= [A-Z])))*)"
_FOR = re.compile(
    rf"^(?:For|In the case of|When (?:using|training)) (?:the |our |all )?({_NAMED}|base models?|big models?"
    r"|small models?|large models?)(?: (?:experiments?|models?|data ?set|training|task))?(?:,| we\b| the\b)"
)
_HELD = re.compile(rf"({_NAMED}) \($")
_SUBJECT = re.compile(
    rf"^(?:Both |All )?(?:[Tt]he |[Oo]ur |[Aa]n? )?({_NAMED})(?: (?:model|network|method|algorithm|data ?set"
    r"|corpus|implementation|baseline|agent))?s?(?: \([^)]*\)| \[[0-9, ]+\])* (?:\w+ly )?(?:is|are|has|have"
    r"|uses?|used|employs?|contains?|consists?|comprises?|was|were|provides?|includes?|takes?)\b"
)
_LEAD = re.compile(r"^((?:For|On|In|When|During|With|After|Before|At) [^,;:]{3,70}),")
_TRAIL = re.compile(
    r"^[^,;.]{0,40}?\b((?:for|on|when|during|in|at|per|between|over) (?:the |each |both |all |our )?[^,;.()0-9]{3,60})"
)
_NO_OWNER_TEXT = """
the we our all this these in for on it each both they a an its as at during figure table section appendix algorithm
training optimizer following note here specifically additionally similarly finally first second moreover furthermore
however therefore hence thus then also instead since while although because encoder decoder hidden data models model
"""
_NO_OWNER = frozenset(_NO_OWNER_TEXT.split())
_NO_CONDITION = frozenset(
    [
        "in all",
        "in total",
        "in between",
        "on average",
        "in practice",
        "in our experiments",
        "in this work",
        "in particular",
        "in this paper",
        "for all",
        "in addition",
    ]
)
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
_SETTINGS_TABLE = re.compile(
    r"hyper-?\s?param|(?:parameter|training|optimi[sz]er|model|architecture|experiment\w*) (?:settings?"
    r"|choices?|values?|configurations?|details?)|parameters? (?:used|of|for)\b|search space|temperature sets"
    r"|settings? (?:of|for)|Einstellung|超参数|参数设置",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:learning|dropout|batch|momentum|weight decay|warm|epochs|(?:number|#|no\.?) ?of|num|n_|max|min|layers"
    r"|hidden|heads|steps|iterations|temperature|optimi[sz]er|decay|size|seed|discount|entropy|clip|gamma"
    r"|buffer|embedding|α|β|γ|λ|η|\\(?:alpha|beta|gamma|lambda|eta))",
    re.IGNORECASE,
)
_RESULT_TABLE = re.compile(
    r"\bresults?\b|accurac|\bscores?\b|\bperformance|\bBLEU|\bF1\b|\berrors?\b|compar|ablation|attain|achiev",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_$\\{}]|<[^<>]{0,20}>")
_LONGEST_LABEL = 48


@dataclass(frozen=True)
class Known:
    """Names that can own a value: data sets, and everything that is not the method."""

    own: tuple[str, ...]
    datasets: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    """A value with its owner, its condition and its place."""

    value: Value
    owner: str
    condition: str
    sentence: Sentence


def find_settings(paper: PaperText, known: Known) -> list[Setting]:
    """The values that sentences, lists and tables of settings give, each once, in the order of the paper."""
    found: list[Setting] = []
    for sentence in paper.sentences:
        if _may_set(sentence):
            found += _of_sentence(sentence, known)
    for table in paper.tables:
        found += _of_table(table, paper, known)
    return list(_once(found))[:MOST]


def value_row(one: Setting, identifier: str) -> dict[str, Any]:
    """The value as the plan has it. A several-valued one has `values`, and no `value`."""
    value, source = one.value, one.sentence
    held: dict[str, Any] = {"values": list(value.value)} if isinstance(value.value, tuple) else {"value": value.value}
    return {
        "id": identifier,
        "name": value.name,
        **({"symbol": value.symbol} if value.symbol and value.symbol != value.name else {}),
        **held,
        **({"unit": value.unit} if value.unit else {}),
        "owner": one.owner,
        **({"condition": one.condition} if one.condition else {}),
        "kind": _kind(value),
        "source": {
            "section": source.section["number"] or source.section["title"] or None,
            "page": source.page,
            "quote": value.quote,
        },
    }


def _may_set(sentence: Sentence) -> bool:
    if sentence.role not in (BUILD, SETUP, MIXED, RESULTS) or _CODE.search(sentence.text):
        return False
    if sentence.kind == PROSE and not sentence.before and sentence.text[:1].islower():
        return False  # the end of a sentence that a column or a page divides
    does = says_what_is_set(sentence.text)
    if sentence.role in (RESULTS, MIXED) and not does:
        return False
    why = why_not(sentence.text)
    return why not in _NEVER and (does or why not in _ONLY_BY_DEED)


def _of_sentence(sentence: Sentence, known: Known) -> Iterator[Setting]:
    lead = _LEAD.match(sentence.text)
    for value in values_in(sentence.text):
        owner = _owner(sentence, value, known)
        trail = _TRAIL.match(sentence.text[value.end :])
        condition = (
            value.condition
            or (trail.group(1) if trail else "")
            or (lead.group(1) if lead and value.start > lead.end() else "")
        )
        yield Setting(value, owner, _condition(condition, owner), sentence)


def _condition(text: str, owner: str) -> str:
    """When a value holds, in at most ten words; empty where that says no more than whose it is."""
    said = " ".join(re.sub(r"[$\\{}]", "", text).split()[:10])
    return (
        "" if said.lower() in _NO_CONDITION or said.lower() in (f"for {owner.lower()}", f"on {owner.lower()}") else said
    )


def _owner(sentence: Sentence, value: Value, known: Known) -> str:
    """The data set of a count of data, the baseline that a clause is about, else the method."""
    before = sentence.text[: value.start]
    if _DATA_UNIT.search(value.name):
        near = [(before.rfind(name), name) for name in known.datasets if name in before]
        if near:
            return max(near)[1]
        after = [name for name in known.datasets if name in sentence.text[value.end : value.end + 60]]
        if after:
            return after[0]
    if value.name.endswith("parameters") and (held := _HELD.search(before)):
        return held.group(1)
    if (match := _FOR.match(sentence.text)) and match.end() <= value.start + 1:
        name = match.group(1).strip(" ()")
        if name not in known.own and not _is_word(name) and name not in known.datasets:
            return name
    for pattern in (_SUBJECT,):
        if (match := pattern.match(sentence.text)) and match.end() <= value.start + 1:
            name = match.group(1).strip(" ()")
            if _is_other(name, known):
                return name
    if value.condition:
        named = [name for name in known.others if name in value.condition]
        if named:
            return named[0]
    title = sentence.section["title"]
    return title if any(title.lower() == name.lower() for name in (*known.others, *known.datasets)) else METHOD


def _is_word(name: str) -> bool:
    return name.split()[0].lower() in _NO_OWNER or len(name.split()) > 5


def _is_other(name: str, known: Known) -> bool:
    """Whether a name is a baseline's or a data set's, and neither the method's nor an ordinary word."""
    words = name.split()
    if not words or words[0].lower() in _NO_OWNER or len(words) > 5 or name in known.own:
        return False
    plain = name.lower()
    return any(plain == other.lower() or other.lower() in plain.split() for other in (*known.others, *known.datasets))


def _kind(value: Value) -> str:
    words = f"{value.name} {value.symbol} {value.unit}"
    return next((kind for kind, pattern in _KINDS if pattern.search(words)), "hyperparameter")


def _once(found: Sequence[Setting]) -> Iterator[Setting]:
    """The same value of the same thing is one row, wherever it is said again, in whichever words of its name."""
    seen: list[tuple[str, str, str, frozenset[str]]] = []
    for one in found:
        shown, symbol = str(one.value.value), one.value.symbol
        words = frozenset(
            word.rstrip("s")
            for word in re.findall(r"[a-z]+", one.value.name.lower())
            if word not in ("number", "of", "the")
        )
        if any(
            shown == other and one.owner == owner and ((symbol and symbol == sign) or words <= known or known <= words)
            for other, owner, sign, known in seen
        ):
            continue
        seen.append((shown, one.owner, symbol, words))
        yield one


def _of_table(table: Table, paper: PaperText, known: Known) -> Iterator[Setting]:
    _, caption = caption_of(table, paper)
    rows = cells_of(table.text)
    if not rows or table.role not in (BUILD, SETUP, MIXED, RESULTS, "other", "background"):
        return
    is_named = bool(_SETTINGS_TABLE.search(caption[:200]) or _SETTINGS_TABLE.search(" ".join(rows[0])))
    if _RESULT_TABLE.search(caption) and not is_named:
        return
    # a table may have a run in each row: turned, it has a setting in each
    if 2 * sum(map(_is_setting, rows[0][1:])) > len(rows[0][1:]):
        rows = [list(column) for column in zip_longest(*rows, fillvalue="")]
    body = rows if _cell_value(rows[0][-1]) is not None else rows[1:]
    known_rows = sum(_is_setting(row[0]) and any(_cell_value(cell) is not None for cell in row[1:]) for row in body)
    if not known_rows or (not is_named and 2 * known_rows <= len(body)):
        return
    for row in body:
        name = _plain(row[0])
        if 0 < len(name) <= _LONGEST_LABEL and re.search(r"[A-Za-zα-ω]", name):
            yield from _of_row(name, row[1:], rows[0][1:], table, known)


def _of_row(name: str, cells: Sequence[str], heads: Sequence[str], table: Table, known: Known) -> Iterator[Setting]:
    columns = zip_longest(cells, heads[: len(cells)], fillvalue="")
    found = [(cell, head) for cell, head in columns if _cell_value(cell) is not None]
    same = len({cell for cell, _ in found}) == 1
    for cell, head in found[:1] if same else found:
        shown = _cell_value(cell)
        plain = "" if same or _cell_value(head) is not None else _plain(head)
        owner = plain if _is_other(plain, known) else METHOD
        line = next(
            (line for line in table.text.split("\n") if cell in line and line.strip("| ").startswith(name[:4])), name
        )
        sentence = Sentence(line, table.section, table.page, table.role, "table")
        if shown is not None:
            yield Setting(
                Value(name, shown, " ".join(line.strip("| ").split())[:200]),
                owner,
                "" if plain.lower() in ("value", "values") else plain,
                sentence,
            )


def _is_setting(label: str) -> bool:
    """By its name; one with a number in it is a variant that was measured."""
    return bool(_KNOWN.match(_plain(label))) and not re.search(r"[0-9]", label)


def _cell_value(cell: str) -> int | float | str | None:
    plain = cell.strip("$* ")
    if re.fullmatch(NUMBER, plain):
        return number_of(plain)
    return (
        plain
        if re.fullmatch(r"Adam|AdamW|SGD|RMSProp|ReLU|tanh|GELU|[0-9]+ ?×? ?10\^\{?-?[0-9]+\}?|True|False", plain)
        else None
    )


def _plain(cell: str) -> str:
    return " ".join(_MARKS.sub("", cell).split())
