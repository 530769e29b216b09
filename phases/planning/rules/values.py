"""Read the numbers that a paper sets: "set to", "= n", "a rate of n", counts, and tables of settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phases.planning.rules.names import is_same, letters_of
from phases.planning.rules.numbers import NUMBER, WORDS, Scalar, parse_value, read_numbers
from phases.planning.rules.passages import NOTE, PaperText, Sentence, Table, source_of
from phases.planning.rules.results import caption_of, is_settings_table
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP
from phases.planning.rules.tables import is_figure, plain_cell

METHOD = "method"
_MOST, _LONGEST_QUOTE = 120, 400
_ONE = rf"(?:2\^[0-9]{{1,2}}|{NUMBER})(?: ?%| percent\b)?+(?: ?(?:[Mm]illion|[Bb]illion|[Tt]housand)\b|[kKMB]\b)?"
_WORDED = rf"(?:{'|'.join(WORDS)})\b(?! (?:of|or|and|to)\b)(?! [a-z-]+s\b)"
_NEXT = rf"(?:,|;|,? and|,? or) ?{_ONE}"
_MORE = rf"{_NEXT}(?![0-9]|,[0-9]{{3}})(?![- ](?!respectively)[a-z]{{3,}})"
_SEVERAL = rf"(?:[{{\[(] ?)?((?>{_ONE}(?:/{NUMBER}(?![0-9/]))?(?:{_MORE}){{0,13}}))"
_WHOLE = (
    r"(?!,? ?(?:\.\.\.|…|· ?·)|[\w^/⁄√⁻]|[*·×][\w\\]|\.[0-9]| ?(?:×|√|\^|/|·|\*|±|[α-ωϵ])| ?\+ ?[\w(\\]|[A-Za-z(\\])"
)
_QUANTITY = (
    r"rates?|sizes?|decay|momentum|dropout|dimensions?|dimensionality|steps?|temperatures?|margins?|factors?|coefficients?"
    r"|lengths?|seeds?|thresholds?|strength|patience|tolerance|weights?|penalty|probabilit(?:y|ies)|ratios?|widths?|depths?"
    r"|ranks?|bandwidth|frequency|capacity|budgets?|degrees?|variance|deviation|mean|discount|horizon|window|resolution"
    r"|interval|fraction|constant|base|level|limit|number|max(?:imum)?|min(?:imum)?|parameters?|scale|radius|order|precision"
    r"|offset|cardinality|timeouts?|delays?|periods?|epochs?|iterations?|layers?|biases|bias|heads?|clusters?|memory size"
)
"""Nouns for quantities, in any field."""
_IS_QUANTITY = re.compile(rf"\b(?:{_QUANTITY})$", re.IGNORECASE)
_SIGN = re.compile(
    rf"(?<![\w\\{{^.])(?<![-+*/·×] )(\|[A-Za-z]\||[α-ωϵϕµA-Za-z](?:_[\w-]{{1,24}}|[0-9])?"
    rf"|[A-Za-z]{{2,20}}(?:[_-][A-Za-z0-9]{{1,20}}){{0,3}})(?: ?= ?[^=<>,;.]{{1,24}}?){{0,2}}? {{0,2}}(?:=|∈|←|:=) "
    rf"?{_SEVERAL}{_WHOLE}"
)
_SET = re.compile(
    r"(?<![\w])((?:[A-Za-zα-ωϵ][\w-]*,? (?:\(\w{1,12}\) )?){1,6})(?:is|are|was|were|be|being)? ?(?:then |also |all |\w+ly "
    r")?(?:initiali[sz]ed|set|fixed|equal|limited|restricted|capped|clipped|kept|chosen|tuned|varied|grid search|search(?:ed)?"
    r"|swept)"
    rf" (?:to|at|with|as|by|from|in|on|over|among) (?:be )?(?:the value |values? (?:of )?)?(?:{_SEVERAL}{_WHOLE}|({_WORDED}))"
)
_SET_FIRST = re.compile(
    r"\b(?:set|sets|fix|fixed|initiali[sz]ed?|limit|limited|keep|kept|choose|chose|increased?|reduced?)"
    rf" ((?:[\w-]+ ){{1,6}})(?:to|at|as|equal to|=) (?:{_SEVERAL}{_WHOLE}|({_WORDED}))"
)
"""The verb in front: we set the maximum length to 400."""
_PAIRED = re.compile(
    rf"((?:[\w-]+ ){{1,5}})and ((?:[\w-]+ ){{1,5}})(?:are|were) (?:\w+ly )?(?:set|fixed|initiali[sz]ed|equal) (?:to|at|as) "
    rf"({_ONE}),? and ({_ONE}){_WHOLE}"
)
"""Two names and two values: the rate and the size are set to 0.1 and 32."""
_LISTED = re.compile(rf"(?:[-*•] )?([A-Za-z][\w-]*(?: [\w-]+){{0,4}}) ?[:=] ?{_SEVERAL}(?: [\w%]+)?[.,;]?$")
"""An item of a list of settings: top-k: 50."""
_NAMED = re.compile(
    rf"(?<![\w-])((?:[A-Za-z][\w-]* ){{0,3}}(?:\w+-)*(?:{_QUANTITY})(?: values?)?)"
    rf"(?: ?\(?[A-Za-zα-ωϵϕ](?:_\w+)?\)?)? ?(?:of|to|is|are|was|were|as|:|=|\() ?"
    rf"(?:(?:about|approximately|around|either|up to|equal to|at most|at least|always|the default|a default) "
    rf")?{_SEVERAL}{_WHOLE}",
    re.IGNORECASE,
)
_SINGULAR = r"bit|byte|layer|head|fold|entry|dimension(?:al)?|way|shot|step|character|word"
"""Units that stand before a noun in the singular: a 32 bit hash."""
_COUNTED = re.compile(
    rf"(?<![\w.,^_/⁄±=+-])(?<![-+−] )((?>{_ONE}(?:{_NEXT}){{0,8}})[\]}}]?|\b(?i:{'|'.join(WORDS)})\b)[ -]((?:(?!(?:of|the|and"
    rf"|or|to|for|with|in|on|at|is|are|more|less|most|best|other|which|that|these|those|if|when|while|as|by|from|than"
    r"|different|main|key)\b)[A-Za-z][\w-]*[ -])"
    rf"{{0,3}}?(?:[a-zA-Z][a-z-]*[a-rt-z]s|[A-Z]PUs|{_SINGULAR}))\b(?![-_][a-z])"
)
_CHOSEN = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|with|and|employ\w*|optimi[sz]e\w* (?:with|by)) (?:the |an? )?((?!of |same|default|other|propos"
    r"|differ|custom)[A-Za-z][\w-]*(?: [\w-]+)?)"
    r" (optimi[sz]er|activation|initiali[sz]ation|line search)(?![a-z])"
)
"""What is chosen by name: with tanh activations."""
_OPTIMIZED = re.compile(
    r"\b(?:[Aa]n? ([A-Z][\w-]*) optimi[sz]er\b|optimi[sz]er(?: used)? (?:is|was) ([A-Z][\w-]*)"
    r"|(?:using|by|with) ([A-Z][\w-]*) +with (?:an? |the )?(?:\w+ ){0,2}(?:learning rate|step size))"
)
"""An optimizer without the word, or behind it: using SGD with a learning rate of 0.1."""
_REPEATED = re.compile(rf"\brepeated (?:for )?({_ONE}|{'|'.join(WORDS)}) times\b")
_UNIT = re.compile(
    r" ?(%|percent|(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|weeks?|ms|[µμun]s|[kMG]?Hz|[kKMGT]i?B(?:/s)?|(?:kilo"
    r"|mega|giga)?bytes?|bits?|dB|fps|nm|mm|cm|m|s|V|mV|K|°C|degrees)(?![\w-])"
)
_WORD_COUNTED = re.compile(
    r"layers|heads|blocks|seeds|epochs|runs|folds|steps|iterations|repetitions|threads|bits|bytes|GPUs"
)
"""Nouns whose number counts where it is a word: "three hidden layers", and not "two groups"."""
_MEASURES = re.compile(
    r"(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|bytes?|times|fold"
)
_NO_COUNT = re.compile(
    r"(?:possible|\w*ness|thing|way|case|reason|kind|type|aspect|challenge|contribution|advantage|person|people|author"
    r"|paper|work|other|more|and|year|month|section|include|contain|part|result|experiment)s?"
)
_BEFORE_RESULT = re.compile(
    r"\b(?:by|than|score of|accuracy of|F1 of|average of|mean of|improvement of|reduction of|took|takes|within|achiev\w+"
    r"|reach\w*|drops? (?:of|to)|attain\w*|error of|speedup of|yield\w*|obtain\w*|cost\w*|vs\.?|versus|one of|each of|these"
    r"|those|the other|if|when|suppose|assume|say|e\.g\.,?|example,?)(?: the| about| around| at least| at most| almost| nearly"
    r"| only)? \$?$",
    re.IGNORECASE,
)
_NO_SETTING = re.compile(
    r"\b(?:outperform|improv\w+ (?:by|of|over)|faster than|better than|we (?:observe|find|found|see)|achieves?|achieved"
    r"|results show)",
    re.IGNORECASE,
)
_SET_BY_US = re.compile(
    r"\b(?:we|our)\b.{0,60}\b(?:us|set|train|run|ran|fix|choose|chose|tune|select|initiali[sz]|sampl|employ|averag|delet|add"
    r"|remov)"
    r"|\b(?:trained|run|tested)\b.{0,60}\bus(?:ed|ing)\b|\b(?:is|are|was|were) (?:\w+ly )?(?:used|set|fixed|trained|adopted"
    r"|chosen|selected|exploited|initiali[sz]ed|sampled|repeated|run)\b",
    re.IGNORECASE,
)
_STOPS_TEXT = """
through across against before after every during per under above below takes gives needs using require would
a an and are as at be been both by can each either for from had has have having here if in into is it its namely of on one only
or our over per same set sets so such than that the their then there these they this those to total until up use used uses using
via was we were when where which while whose will with within without all any also about around between default fixed equal
value values being experiments work paper setting choose chose train trained run ran initialize initialized sample sampled
employ keep kept contains consists let respectively
"""
_STOPS = frozenset(_STOPS_TEXT.split())
"""Words that no name of a value begins or ends with."""
_FACT = re.compile(r"\b(?:gpus?|cpus?|cores?|machines?|hours?|days?|RAM)\b", re.IGNORECASE)
"""Names of what was there, which no code is set to."""
_BETWEEN = frozenset(
    ["is", "are", "was", "were", "of", "be", "a", "the", "to", "all", "value", "values", "by", "using"]
)
"""What may stand between a name and its number."""
_GOES_ON = re.compile(r",? ?(?:\.\.\.|…|\. \.)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BREAK = re.compile(r"[,.;:()\[\]{}=<>|“”\"]|\$[^$]*\$| [–—-] |\b[0-9]\S*")
_CONDITION = re.compile(r",? ((?:for|on|in|when|during) (?:the |each |all )?[^,.;()]{2,50}?)(?=[,.;()]| and |$)")
_FOR_OWNER = re.compile(r"^(?:For|In|On|With) (?:the |our )?([^,]{2,40}?)(?:, | we | with )")


@dataclass(frozen=True)
class Value:
    """A number, or several, with its name and its place in the sentence as folded."""

    name: str
    value: Scalar | tuple[Scalar, ...]
    printed: str
    start: int
    end: int
    symbol: str = ""
    unit: str = ""


def find_values(
    paper: PaperText, own: Sequence[str], sets: Sequence[str], rivals: Sequence[str]
) -> list[dict[str, Any]]:
    """Return rows for the plan. `own` are names of the method; data sets and rivals can own a value, too."""
    rows = [row for one in paper.sentences if _may_set(one) for row in _rows_of(one, own, [*sets, *rivals])]
    for table in paper.tables:
        rows += _rows_of_table(table, paper, rivals)
    kept: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in rows:
        held = row.get("value", tuple(row.get("values", ())))
        kept.setdefault((letters_of(row["name"]), held, row["owner"], row.get("condition", "")), row)
    chosen = sorted(kept.values(), key=lambda row: row["source"]["page"])[:_MOST]
    return [{"id": f"V{number}", **row} for number, row in enumerate(chosen, 1)]


def values_in(text: str) -> list[Value]:
    """Return the values that a sentence sets, in its order; each number is read once."""
    read = read_numbers(text)
    found: list[Value] = []
    for value in (*_signs(read), *_phrases(read), *_counts(read)):
        is_free = all(value.end <= one.start or value.start >= one.end or _is_chained(value, one) for one in found)
        if is_free and not _BEFORE_RESULT.search(read[max(0, value.start - 40) : value.start]):
            found.append(value)
    chosen = [Value(match[2], match[1], match[0], *match.span(1)) for match in _CHOSEN.finditer(read)]
    for match in _OPTIMIZED.finditer(read):
        at = match.lastindex or 1
        if all(match.start(at) != one.start for one in chosen):
            chosen.append(Value("optimizer", match[at], match[0], *match.span(at)))
    found += chosen
    return sorted(found, key=lambda value: value.start)


def _is_chained(one: Value, other: Value) -> bool:
    """Return whether two symbols share one number: d_k = d_v = 64."""
    return (one.start, one.end) == (other.start, other.end) and bool(one.symbol and other.symbol != one.symbol)


def value_row(value: Value, one: Sentence, owner: str = METHOD, condition: str = "") -> dict[str, Any]:
    """Return the value as a row of the plan, without an id."""
    held: dict[str, Any] = {"values": list(value.value)} if isinstance(value.value, tuple) else {"value": value.value}
    parts = value.value if isinstance(value.value, tuple) else (value.value,)
    said: dict[str, str] = {
        "symbol": value.symbol if value.symbol != value.name else "",
        "printed": value.printed if not all(str(part) in value.printed for part in parts) else "",
        "unit": value.unit,
    }
    return {
        "name": value.name,
        **held,
        **{key: text for key, text in said.items() if text},
        "owner": owner,
        **({"condition": condition} if condition else {}),
        "kind": "fact" if _FACT.search(value.name) else "hyperparameter",
        "source": source_of(one.section, one.page, one.text[:_LONGEST_QUOTE]),
    }


def _may_set(one: Sentence) -> bool:
    if one.kind == NOTE and one.role not in (SETUP, MIXED):
        return False
    if one.role in (BUILD, SETUP, MIXED):
        return not _NO_SETTING.search(one.text) or bool(_SET_BY_US.search(one.text))
    return one.role == RESULTS and bool(_SET_BY_US.search(one.text)) and not _NO_SETTING.search(one.text)


def _rows_of(one: Sentence, own: Sequence[str], others: Sequence[str]) -> Iterator[dict[str, Any]]:
    read = read_numbers(one.text)
    for value in values_in(one.text):
        behind = _CONDITION.match(read, value.end)
        condition = behind[1].strip() if behind else ""
        owner = _owner_of(one, condition, own, others)
        if not condition and any(is_same(name, str(one.section["title"])) for name in others):
            condition = str(one.section["title"])  # under the heading of a data set
        yield value_row(value, one, owner, "" if owner in condition else condition)


def _owner_of(one: Sentence, condition: str, own: Sequence[str], others: Sequence[str]) -> str:
    """Return who a value belongs to: what the opening "For X,", its condition or a heading names, else the method."""
    opening = _FOR_OWNER.match(one.text)
    for words in filter(None, (opening[1] if opening else "", condition, one.head)):
        if any(_names(name, words) for name in own):
            return METHOD
        if found := max((name for name in others if _names(name, words)), key=len, default=""):
            return found
    if one.head and len(one.head.split()) <= 4 and re.search(r"[A-Z]\w*[A-Z0-9]|[a-z][A-Z]", one.head):
        return one.head
    return METHOD


def _names(name: str, words: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE))


def _signs(read: str) -> Iterator[Value]:
    for match in _SIGN.finditer(read):
        symbol, value = match.group(1), parse_value(match.group(2))
        before = read[max(0, match.start() - 70) : match.start()]
        name = _name_before(before) if len(symbol) < 3 or "_" in symbol else ""
        name = name if _IS_QUANTITY.search(name) else symbol
        is_range = value == (0, 1) or (isinstance(value, tuple) and _GOES_ON.match(read[match.end(2) :]))
        if value is not None and not is_range:
            yield _value(name, value, read, match.span(2), symbol)
            for other in map(str.strip, match.group()[: match.start(2) - match.start()].split("=")[1:]):
                if re.fullmatch(r"[^\W\d](?:_[\w-]{1,24}|[0-9])?", other):
                    yield _value(other, value, read, match.span(2), other)


def _phrases(read: str) -> Iterator[Value]:
    for match in _PAIRED.finditer(read):
        yield from (one for at in (1, 2) if (one := _named_value(match[at], read, match.span(at + 2), True)))
    for pattern in (_SET, _SET_FIRST, _NAMED, _LISTED):
        for match in pattern.finditer(read):
            at = match.lastindex or 2
            if one := _named_value(match[1], read, match.span(at), pattern in (_SET, _SET_FIRST)):
                yield one
    yield from (
        _value("number of repeats", parse_value(one[1]) or 0, read, one.span(1)) for one in _REPEATED.finditer(read)
    )


def _named_value(before: str, read: str, span: tuple[int, int], may_end_with_symbol: bool) -> Value | None:
    """Return the value at `span` with the name that ends the words before it; None without a name or a number."""
    words = before.split()
    last = next((word for word in reversed(words) if word not in _BETWEEN), "")
    # "in all runs b is set to 0.003" names b, and "the rate b is set" a rate
    symbol = last if len(last) == 1 and may_end_with_symbol else ""
    name = _name_before(" ".join(words[: words.index(last)]) if symbol else before)
    name = symbol if symbol and not _IS_QUANTITY.search(name) else name
    value = parse_value(read[slice(*span)])
    if not name or value is None:
        return None
    return _value(name, value, read, span, symbol if symbol != name else "")


def _counts(read: str) -> Iterator[Value]:
    for match in _COUNTED.finditer(read):
        noun, value = match.group(2).replace("- ", "-"), parse_value(match.group(1))
        last = noun.split()[-1].split("-")[-1]
        is_word = match.group(1).lower() in WORDS and not _WORD_COUNTED.fullmatch(last)
        if is_word or value in (None, 0, 1) or _NO_COUNT.fullmatch(last) or last in _STOPS:
            continue
        if noun != last or not _MEASURES.fullmatch(last):
            noun = f"{noun.removesuffix('y')}ie" if noun.endswith("entry") else noun.removesuffix("al")
            yield _value(f"number of {noun.removesuffix('s')}s", value or 0, read, match.span(1))
        elif before := _name_before(read[max(0, match.start() - 60) : match.start()]):
            yield replace(_value(before, value or 0, read, match.span(1)), unit=last)


def _value(name: str, value: Scalar | tuple[Scalar, ...], read: str, span: tuple[int, int], symbol: str = "") -> Value:
    unit = _UNIT.match(read, span[1])
    return Value(name, value, read[slice(*span)].strip(" ]}"), *span, symbol, unit[1] if unit else "")


def _name_before(before: str) -> str:
    """Return the noun phrase that ends a text, at most four words: "we set the learning rate" gives "learning rate"."""
    kept: list[str] = []
    for match in reversed(list(_WORD.finditer(_BREAK.split(before.rstrip())[-1]))):
        word = match.group()
        if word.lower() in _STOPS or (not kept and re.search(r"(?:[^e]ed|ly)$", word)):
            if kept or word.lower() not in _BETWEEN:
                break
            continue
        kept.insert(0, word)
        if len(kept) == 4:
            break
    while kept and kept[0].lower().endswith("ly"):
        kept.pop(0)
    name = " ".join(kept)
    if name and re.search(rf"\bnumber of (?:the )?{re.escape(name)}\b", before):
        return f"number of {name}"
    return name if len(name) > 2 or name.isupper() else ""


def _rows_of_table(table: Table, paper: PaperText, rivals: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield each cell of a settings table, named by its row; a rival's column is its owner, another column its condition."""
    label, caption = caption_of(table, paper)
    if not (label or table.role in (BUILD, SETUP, MIXED, RESULTS)) or not is_settings_table(table, caption):
        return
    lines = [line for line in table.text.split("\n") if not re.match(r"\|[-:| ]+\|?$", line)]
    cells = [[plain_cell(cell) for cell in row] for row in table.cells]
    heads = cells[0] if len(cells) > 1 and not any(map(is_figure, cells[0][1:])) else [""] * len(cells[0])
    for row, line in list(zip(cells, lines, strict=False))[bool(any(heads)) :]:
        one = Sentence(" ".join(line.strip("| ").split())[:200], table.section, table.page, table.role, "table")
        for head, cell in zip(heads[1:], row[1:], strict=False):
            value = parse_value(cell) if is_figure(cell) else None
            if value is None or is_figure(row[0]) or not re.search(r"[^\W\d_]", row[0]):
                continue
            case = "" if len(heads) < 3 or re.match(r"values?$|default", head, re.IGNORECASE) else head
            is_rival = any(is_same(case, name) for name in rivals)
            owner, condition = (case, "") if is_rival else (METHOD, case)
            yield value_row(Value(row[0], value, cell, 0, 0), one, owner, condition)
