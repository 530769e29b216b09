"""The values in tables of settings: a name and a value in a row, or a run in a row and a setting in a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from phases.planning.rules.numbers import NUMBER, Scalar, number_of, parse_value
from phases.planning.rules.owners import METHOD, Known, Setting, is_other, names_other
from phases.planning.rules.passages import PaperText, Sentence, Table
from phases.planning.rules.sections import BUILD, MIXED, SETUP
from phases.planning.rules.table_kinds import METRIC, RESULT_WORDS, SETTINGS_TABLE, caption_of
from phases.planning.rules.tables import METHOD_HEAD, SETTING_NAME, is_setting_column
from phases.planning.rules.value_names import plain_symbol
from phases.planning.rules.values import Value

_CAPTION = re.compile(
    r"(?:list of |summary of |the |all |our |main |default )*(?:hyper-?parameters?|parameters?|(?:\w+ )?(?:settings?"
    r"|configurations?))"
    r"(?: (?:settings?|values?|choices?))?(?: (?:used|chosen|selected))*(?: (?:for|in|of|on|to|during|by"
    r"|with)\b)?(?: the| our| all)*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"(?<![A-Za-z])_|_(?![A-Za-z])|[*$\\{}]|<[^<>]{0,20}>")
_SEVERAL = re.compile(rf"[\[{{(]?({NUMBER}(?:(?: ?[,;/] ?| or ){NUMBER})+)[\]}})]?")
_NOTHING = re.compile(r"(?:[-–—/]|n/?a|none|value|default|unit)?", re.IGNORECASE)
_VALUE_HEAD = re.compile(
    r"(?:default |chosen |final |best |used )?(?:values?|settings?|defaults?|choice)$", re.IGNORECASE
)
_MEANING_HEAD = re.compile(r"(?:\w+ )?(?:meaning|description|definition|name|(?:hyper-?)?parameters?)$", re.IGNORECASE)
_JOINT = re.compile(r" (?=[0-9])")
_COUNT = re.compile(r"^# ?(?:of )?([A-Z]?[a-z]+)")
_BASELINE = re.compile(r"baselines?\b", re.IGNORECASE)
_SIZE = re.compile(
    r"(?:[\w.-]+[ -])?\(?(?:base|big|small|large|tiny|medium|mini|huge|default)\)?(?: model)?", re.IGNORECASE
)
"""The label of one size of a model."""
_WIDE_TEXT = """
all and the of for in our tasks task methods method models model experiments experiment training appendix
"""
_WIDE = frozenset(_WIDE_TEXT.split())
_FEWEST_COLUMNS, _MOST_LABELS, _MOST_VALUES = 3, 3, 5
_LONGEST_LABEL, _LONGEST_CELL, _MOST_WORDS = 48, 32, 4


def settings_of_tables(paper: PaperText, known: Known) -> Iterator[Setting]:
    """The values of the tables of settings; where there are several tables, each under the condition that its caption says."""
    named = [table for table in paper.tables if list(_of_table(table, paper, known, with_case=False))]
    for table in paper.tables:
        if table in named:
            yield from _of_table(table, paper, known, with_case=len(named) > 1)
        elif table.role != "proof":
            yield from list(_of_columns(table, known)) or _of_sizes(table)


def _of_columns(table: Table, known: Known) -> Iterator[Setting]:
    """The columns of settings among those of a table of models or results, each value with the rows that have it."""
    rows = table.cells
    width = max(map(len, rows), default=0)
    if width < _FEWEST_COLUMNS or not all(re.search("[A-Za-z]{2}", row[0]) for row in rows[1:] if row[0]):
        return
    for at in range(1, width):
        head = _plain(rows[0][at]) if at < len(rows[0]) else ""
        if not is_setting_column(head, [row[at] for row in rows[1:] if at < len(row)]):
            continue
        labels: dict[str, list[str]] = {}
        for row in rows[1:]:
            if at < len(row) and _is_number(row[at]):
                labels.setdefault(row[at], []).append(_plain(row[0]))
        rows_named = [label for named in labels.values() for label in named]
        if len(labels) > _MOST_VALUES or "" in rows_named or len(set(rows_named)) < len(rows_named):
            continue  # what the table runs over: a row has several of them
        for cell, named in labels.items():
            others = [label for label in named if names_other(label, known)]
            own = ", ".join([label for label in named if label not in others][:_MOST_LABELS])
            for label in filter(None, (own, *others)):
                yield from _of_row(head, [(cell, label)], table, known, ("", False, "", False))


def _of_sizes(table: Table) -> Iterator[Setting]:
    """The settings of the rows that are a size of the model each, in a table of results whose other rows vary some of them."""
    rows, (first, end) = table.cells, table.grid.keys
    start = next((at for at, row in enumerate(rows) if any(map(_is_number, row[first:end]))), len(rows))
    if end - first < _FEWEST_COLUMNS:
        return
    for row in (row for row in rows[start:] if _SIZE.fullmatch(_plain(row[0]))):
        quote = " ".join(" | ".join(row).strip("| ").split())
        sentence = Sentence(quote, table.section, table.page, table.role, "row")
        for at in range(first, min(end, len(row))):
            head = " ".join(above[at] for above in rows[:start] if at < len(above) and above[at])
            value = parse_value(row[at]) if re.match(NUMBER, row[at]) else None
            if head and value is not None:
                symbol = plain_symbol(head) if head.startswith("$") or len(head) < 3 else ""
                called = symbol or _plain(head)
                yield Setting(
                    Value(called, value, quote[:200], symbol, printed=row[at]), METHOD, _plain(row[0]), sentence
                )


def _is_number(cell: str) -> bool:
    return _cell_value(cell, is_named=False) is not None and bool(re.search(NUMBER, cell))


def _of_table(table: Table, paper: PaperText, known: Known, *, with_case: bool) -> Iterator[Setting]:
    """None of one of results, or of one that the rules cannot tell."""
    _, caption = caption_of(table, paper)
    rows = table.cells
    if not rows or table.role == "proof":
        return
    is_named = bool(SETTINGS_TABLE.search(caption[:200]) or SETTINGS_TABLE.search(" ".join(rows[0])))
    if RESULT_WORDS.search(caption) and not is_named:
        return
    # a table may have a run in each row: turned, it has a setting in each
    if 2 * sum(map(_is_setting, set(rows[0][1:]))) > len(rows[0][1:]):
        rows = [list(column) for column in zip_longest(*rows, fillvalue="")]
    body = rows if _cell_value(rows[0][-1], is_named=False) is not None else rows[1:]
    known_rows = sum(_is_setting(row[0]) and any(_cell_value(cell, is_named=False) for cell in row[1:]) for row in body)
    has_heads = any(_VALUE_HEAD.match(_plain(head)) for head in rows[0][1:])
    is_pair = table.role in (BUILD, SETUP, MIXED) and _is_pair_table(rows, caption)
    if not (known_rows or is_pair or (is_named and has_heads)) or (
        not is_named and not is_pair and 2 * known_rows <= len(body)
    ):
        return
    title = table.section["title"]
    case = _case_of(caption or title) or (title if is_pair else "") if with_case and (is_named or is_pair) else ""
    head = _plain(rows[0][1]).lower() if is_pair and not is_named else ""
    named_rows = list(_named_rows(body, rows[0]))
    has_owners = len({_split_owner(label, known) for label, *_ in named_rows} - {""}) > 1
    for label, symbol, cells, heads in named_rows:
        name = f"{label} {head}".strip() if not _VALUE_HEAD.match(head) else label
        if 0 < len(name) <= _LONGEST_LABEL and re.search(r"[A-Za-zα-ω]", name):
            yield from _of_row(
                name,
                list(zip_longest(cells, heads[: len(cells)], fillvalue="")),
                table,
                known,
                (case, is_named, symbol, has_owners),
            )


def _is_pair_table(rows: Sequence[Sequence[str]], caption: str) -> bool:
    """Whether each row is a name and a number, and nothing says that the number was measured."""
    said = f"{caption} {' '.join(rows[0])}"
    return (
        len(rows) > 2
        and not METHOD_HEAD.search(rows[0][0])
        and all(len(row) == 2 and re.search(r"[A-Za-z]{2}", _plain(row[0])) for row in rows)
        and not RESULT_WORDS.search(said)
        and not METRIC.search(said)
        and all(_cell_value(row[1], is_named=False) is not None for row in rows[1:])
        and sum(bool(re.search(NUMBER, row[1])) for row in rows[1:]) == len(rows) - 1
    )


def _named_rows(
    body: Sequence[Sequence[str]], heads: Sequence[str]
) -> Iterator[tuple[str, str, Sequence[str], Sequence[str]]]:
    """Label, symbol, cells and heads of each row; of a table that was folded to save room, each half of a row is one.

    Where the heads say which column has the meaning and which the value, those are taken.
    """
    width = len(heads)
    middle = width // 2
    values = [at for at, head in enumerate(heads) if at and _VALUE_HEAD.match(_plain(head))]
    is_folded = width >= 4 and 2 * sum(_is_setting(row[middle]) for row in body if len(row) > middle) > len(body)
    ends = [0, *(at + 1 for at in values)] if len(values) > 1 else [0, middle, width] if is_folded else [0, width]
    parts = [slice(start, end) for start, end in pairwise(ends)]
    for row in body:
        for part in parts:
            cells, above = row[part], heads[part]
            value = next((at for at, head in enumerate(above) if at and _VALUE_HEAD.match(_plain(head))), None)
            meaning = next((at for at, head in enumerate(above) if _MEANING_HEAD.match(_plain(head))), 0)
            if value is not None and value < len(cells):
                symbol = _plain(cells[0]) if meaning else ""
                symbol = "" if _NOTHING.fullmatch(symbol) else symbol
                yield _plain(cells[meaning] or cells[0]), symbol, [cells[value]], [""]
            elif cells:
                yield _plain(cells[0]), "", cells[1:], () if len(parts) > 1 else above[1:]


def _of_row(
    name: str, columns: Sequence[tuple[str, str]], table: Table, known: Known, named: tuple[str, bool, str, bool]
) -> Iterator[Setting]:
    case, is_named, symbol, has_owners = named
    cells: dict[str, list[str]] = {}
    for cell, head in columns:
        if _cell_value(cell, is_named=is_named) is not None:
            cells.setdefault(cell, []).append("" if _cell_value(head, is_named=False) is not None else _plain(head))
    for cell, heads in cells.items():
        shown = _cell_value(cell, is_named=is_named)
        plain = "" if (len(cells) == 1 and len(columns) > 1) or _NOTHING.fullmatch(heads[0]) else ", ".join(heads)
        owner = plain if names_other(plain, known) else "baseline" if _BASELINE.match(name) else METHOD
        of_whom = _split_owner(name, known) if has_owners and not plain else ""
        if of_whom:
            owner, plain = (of_whom if is_other(of_whom, known) else METHOD), of_whom
        lines = [line for line in table.text.split("\n") if cell in map(str.strip, line.split("|"))]
        named_by = (heads[0], name) if heads[0] else (name,)
        line = next((line for by in named_by for line in lines if by in _plain(line)), lines[0] if lines else name)
        condition = ", ".join(filter(None, ("" if owner == plain else plain, case)))
        if shown is not None:
            called, aside = _part_aside(_without(name, of_whom))
            called = (
                f"{_JOINT.sub('_', symbol)} {called}".strip() if called == "grid" else _COUNT.sub(_spell_count, called)
            )
            condition = ", ".join(filter(None, (condition, aside)))
            value = Value(
                called, shown, " ".join(line.strip("| ").split())[:200], plain_symbol(symbol), printed=_plain(cell)
            )
            yield Setting(value, owner, condition, Sentence(line, table.section, table.page, table.role, "table"))


def _split_owner(label: str, known: Known) -> str:
    """Whose the setting of a label is, where it says so: what stands behind a comma, or a name before the noun.

    "margin, AP+M" and "logistic SGD step" are AP+M's and logistic SGD's; of "vocabulary, English" nobody known is named.
    """
    head, comma, tail = label.partition(", ")
    tail = re.sub(r" ?\([^()]*\)$", "", tail)
    parts = [part.lower() for part in re.split(r",? and |, ", tail)]
    names = [name.lower() for name in (*known.others, *known.own)]
    if comma and head and all(part in names or part.partition("+")[0] in names for part in parts):
        return tail
    starts = [name for name in known.others if label.lower().startswith(f"{name.lower()} ")]
    return max(starts, key=len, default="")


def _without(label: str, owner: str) -> str:
    """The label without whose it is."""
    return label.partition(", ")[0] if owner and f", {owner}" in label else label[len(owner) :].strip()


def _part_aside(label: str) -> tuple[str, str]:
    """The label, and what a bracket behind it says of when it holds: "grid (all pairs with γ)"."""
    aside = re.search(r" \(((?:all|only|with|for|in|on|per|when|each|both) [^()]+)\)$", label)
    return (label[: aside.start()], aside[1]) if aside else (label, "")


def _spell_count(match: re.Match[str]) -> str:
    return f"number of {match[1].lower()}"


def _case_of(caption: str) -> str:
    """What a table of settings is for: "IPD Hyperparameters" and "Hyperparameters for IPD" are for IPD."""
    said = _CAPTION.sub(" ", re.split(r"[.;:(]", _plain(caption))[0])
    words = said.split()[:6]
    return " ".join(words) if any(word.lower() not in _WIDE for word in words) else ""


def _is_setting(label: str) -> bool:
    """By its name; one with a number in it is a variant that was measured."""
    return bool(SETTING_NAME.match(_plain(label))) and not re.search(r"[0-9]", label)


def _cell_value(cell: str, *, is_named: bool) -> Scalar | tuple[Scalar, ...] | None:
    """A number, several, or a word; in a table that says that it has settings, any few words."""
    plain = re.sub(r" ?\([^()]*\)$|[*∗†‡]+$", "", _plain(cell)).strip()
    plain = re.sub(r"(?<=\d) (?=\d{3}\b)", "", plain)
    if re.fullmatch(NUMBER, plain):
        return number_of(plain)
    if re.fullmatch(rf"{NUMBER}/{NUMBER}", plain):
        return plain  # two that belong to what the head says, or a share
    if match := _SEVERAL.fullmatch(plain):
        numbers = [number_of(one) for one in re.findall(NUMBER, match.group(1))]
        return tuple(one for one in numbers if one is not None)
    if re.fullmatch(rf"Adam|AdamW|SGD|RMSProp|ReLU|tanh|GELU|{NUMBER} ?%|True|False", plain):
        return plain
    is_short = 0 < len(plain) <= _LONGEST_CELL and len(plain.split()) <= _MOST_WORDS
    return plain if is_named and is_short and not _NOTHING.fullmatch(plain) else None


def _plain(cell: str) -> str:
    return " ".join(_MARKS.sub("", re.sub(r"\\times|\\cdot", "×", cell)).split())
