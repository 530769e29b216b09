"""Pipe tables as grids of cells, their heads told from their bodies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from phases.planning.rules2.cells import CELL_VALUE, count_numbers, is_figure, is_measured, plain_cell
from phases.planning.rules2.numbers import NUMBER

_MOST_HEAD_ROWS, _LONGEST_SECTION, _FEWEST_STEPS = 4, 4, 4
METHOD_HEAD = re.compile(r"method|model|optimi[sz]er|algorithm|approach|system|policy|strategy", re.IGNORECASE)
"""Over a column that names methods."""

SETTING_NAME = re.compile(
    r"(?:\w+[ -])?(?:learning|dropout|batch|momentum|weight decay|warm|epochs?\b|(?:number|#|no\.?) ?of|num\b|num_|n_"
    r"|(?:max|min)(?:imum)?[ _-](?!max)|layers"
    r"|hidden|heads|steps|iterations|temperature|optimi[sz]er|decay|size|seeds?\b|discount|entropy|clip|gamma"
    r"|buffer|embedding|lr\b|gpus?\b|activation|gradient clip|label smooth|α|β|γ|λ|η|\\(?:alpha|beta|gamma|lambda|eta))",
    re.IGNORECASE,
)
"""How labels of settings begin, in any table."""
_SETTING_HEAD = re.compile(
    r"(?!.*(?:%|time|ratio|[↑↓]|steps to)|F1|.*\b(?:errors?|accurac(?:y|ies)|correlations?|scores?|loss|precision|recall|latency"
    r"|throughput|overhead|quality)\b)"
    rf"(?:{SETTING_NAME.pattern}|#|P_?drop|widths?\b|depths?\b|degree|dimension"
    r"|rank\b|folds\b)",
    re.IGNORECASE,
)
_ADDED = ("w/", "+ ", "- ")
"""How labels begin that go on with the name of their group."""
_KEY_HEAD = re.compile(
    r"(?![PRF]$)(?-i:[A-Za-zα-ωϵϕ](?:_\w{1,8}|[0-9])?|[a-zα-ωϵϕ][a-z])(?: ?[α-ωϵϕ]_?\w{0,4})?$|[α-ωϵϕ]_?[a-z]{0,4}$"
    r"|(?:N ?)?d_?(?:model|ff|hidden|head|inner)$|years?\b",
    re.IGNORECASE,
)
"""Over a column that tells rows apart by a symbol."""


class Grid(NamedTuple):
    """A table with its heads told from its body."""

    heads: list[str]
    rows: list[tuple[str, list[str]]]
    """Label and cells."""
    labels: list[str]
    """What stands in the column that names the methods."""
    corner: str = ""
    """What stands over the labels."""
    keys: tuple[int, int] = (0, 0)
    """The columns of settings that tell rows apart: the first, and the one behind them."""


def read_grid(cells: Sequence[Sequence[str]]) -> Grid:
    """The heads of a table joined by column, and its rows by label; a head that spans columns stands over each.

    Where several columns on the left hold words, a row's label is what stands in all of them. Columns of settings beside
    them tell rows apart that have the same label, or none.
    """
    width = max((len(row) for row in cells), default=0)
    rows = _part_sections([[*(plain_cell(cell) for cell in row), *[""] * (width - len(row))] for row in cells])
    first = _find_body(rows)
    if first == len(rows) or width < 2:
        return Grid([], [], [])
    wide = _count_label_columns(rows[first:])
    heads = _fill_heads(rows[:first], wide, width)
    joined = [" / ".join(dict.fromkeys(filter(None, (row[at] for row in heads)))) for at in range(width)]
    named = next((at for at in range(wide) if METHOD_HEAD.search(joined[at])), wide - 1)
    body = _fill_labels(rows[first:], wide) if wide > 1 else rows[first:]
    keys = _count_keys(joined, body, wide)
    merged = [[" / ".join(dict.fromkeys(filter(None, row[:wide]))), *row[wide:]] for row in body]
    labelled = list(_labelled_rows(merged))
    labels = [row[named] for row in body] if wide > 1 else [label.rpartition(" / ")[2] for label, _ in labelled]
    corner = " / ".join(dict.fromkeys(filter(None, joined[:wide])))
    told = _tell_apart(labelled, joined[wide : wide + keys], corner)
    body_rows = [(label, row[keys:]) for label, row in told]
    return Grid(_part_same(joined[wide + keys :]), body_rows, labels, corner, (wide, wide + keys))


def _part_sections(rows: list[list[str]]) -> list[list[str]]:
    """The rows of a table whose heads stand again over each part of it: what is beside them names the rows below."""
    heads = rows[0][1:] if rows else []
    again = [at for at, row in enumerate(rows) if row[0] and row[1:] == heads]
    if len(again) < 2 or again[0] or sum(map(bool, heads)) < 2:
        return rows
    blank = [""] * len(heads)
    return [["", *heads], *([row[0], *blank] if at in again else row for at, row in enumerate(rows))]


def _find_body(rows: Sequence[Sequence[str]]) -> int:
    """The place of the first row of figures under the heads; the number of rows where there is none."""
    first = next(
        (at for at, row in enumerate(rows) if count_numbers(row[1:]) >= max(1, 0.4 * sum(map(bool, row[1:])))),
        len(rows),
    )
    if first == len(rows):
        return first
    if count_numbers(rows[0][1:]) == 0 or _is_scale(rows, 0):
        first = max(first, 1)
    # words with nothing beside them on the left are heads still: "Accuracy" and "Loss" under 10 and 20
    for at, row in enumerate(rows[:_MOST_HEAD_ROWS]):
        is_words = count_numbers(row) == 0 and sum(map(bool, row)) > 1
        is_head = not row[0] and (is_words or (at > 0 and _is_scale(rows, at)))
        if is_head and first in (0, at) and at < len(rows) - 1:
            first = at + 1
    while first > 1 and rows[first - 1][0] and not any(rows[first - 1][1:]):
        first -= 1  # the name of the first rows, not a head
    return first


def _is_scale(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Whether a row numbers the columns: whole numbers that grow, over numbers that are not whole or over words.

    Where they are several and what they are stands on their left, they need not be whole: Temperature, 0.0, 0.5, 0.7, 1.0.
    """
    head = [cell for cell in rows[at][1:] if cell]
    while head and not head[0][:1].isdigit():
        head = head[1:]
    is_named = at == 0 and rows[0][0] and len(head) >= _FEWEST_STEPS
    if len(head) < 2 or not all(
        re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]+)?" if is_named else "[0-9]{1,6}", one) for one in head
    ):
        return False
    below = [cell for row in rows[at + 1 : at + 6] for cell in row[1:] if cell]
    return [float(cell) for cell in head] == sorted({float(cell) for cell in head}) and sum(
        "." in one or not re.search("[0-9]", one) for one in below
    ) > len(below) / 2


def _fill_heads(heads: Sequence[Sequence[str]], wide: int, width: int) -> list[list[str]]:
    """The rows of heads, each group's name over all of its columns; what names the labels spreads over no value."""
    filled = [list(row) for row in heads]
    groups = _find_groups(filled[-1], wide) if len(filled) > 1 else []
    for depth, row in enumerate(filled[:-1]):
        above = filled[depth - 1] if depth else []
        if groups and "" in row[wide:] and _fill_groups(row, groups, above):
            continue
        for run in _runs_of(above, wide):
            named = [row[at] for at in run if row[at]]
            if len(named) == 1 and len(run) > 1:  # a name in the middle of its columns
                row[run.start : run.stop] = named * len(run)
        for at in range(wide, width):
            is_part = not above or above[at] == above[at - 1] != ""
            if not row[at] and filled[-1][at] and at > wide and is_part:
                row[at] = row[at - 1]
    return filled


def _runs_of(row: Sequence[str], start: int) -> Iterator[range]:
    """The columns beside each other that have one name."""
    for name, run in groupby(range(start, len(row)), key=row.__getitem__):
        places = list(run)
        if name:
            yield range(places[0], places[-1] + 1)


def _part_same(heads: Sequence[str]) -> list[str]:
    """The heads with those that are the same told apart: by their own words where they are as many, else by number."""
    times, seen, parted = Counter(heads), Counter[str](), []
    for head in heads:
        seen[head] += 1
        several = times[head]
        # "Convection Reaction Wave Loss" thrice, beside "Convection Reaction Wave L2RE": three heads that ran together
        words = _common_words(head, next((one for one in times if one != head and times[one] == several), ""))
        is_joint = head and len(words) == several > 1
        parted.append(" ".join([words[seen[head] - 1], *head.split()[several:]]) if is_joint else head)
    return number_same(parted)


def number_same(names: Sequence[str]) -> list[str]:
    """The names with those that are the same told apart by number: AM (1 of 2)."""
    times, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]} of {times[name]})" if name and times[name] > 1 else name)
    return numbered


def _common_words(one: str, other: str) -> list[str]:
    pairs = zip(one.split(), other.split(), strict=False)
    return [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _find_groups(row: Sequence[str], start: int) -> list[range]:
    """The columns from where the heads begin to where they begin again: P, R, F1, P, R, F1; none where they do not.

    A reader may have cut a head in two, so groups are alike by their letters, not by their cells.
    """
    again = [at for at in range(start, len(row)) if row[at] and row[at] == row[start]]
    if len(again) < 2 or again[1] == start + 1:
        return []
    said = "".join(row[start : again[1]]).replace(" ", "")
    groups = []
    for first, after in zip(again, [*again[1:], len(row)], strict=True):
        ends = (at for at in range(first, after + 1) if "".join(row[first:at]).replace(" ", "") == said)
        end = next(ends, first)
        groups.append(range(first, after if after < len(row) else end))
        if end == first:
            return []
    return groups


def _fill_groups(row: list[str], groups: Sequence[range], above: Sequence[str] = ()) -> bool:
    """Each group under its name, wherever in the group it stands; not where one has none, and no group's beside it."""
    names: list[str] = []
    for place, group in enumerate(groups):
        name = " ".join(dict.fromkeys(filter(None, (row[at] for at in group))))
        if not name and place and above and above[group[0]] == above[groups[place - 1][0]]:
            name = names[-1]
        names.append(name)
    if not all(names):
        return False
    for group, name in zip(groups, names, strict=True):
        for at in group:
            row[at] = name
    return True


def _count_label_columns(body: Sequence[Sequence[str]]) -> int:
    """How many columns on the left hold words and no numbers; one at least, three at most."""
    wide = 0
    for column in list(zip(*body, strict=True))[:3]:
        filled = [cell for cell in column if cell]
        if not filled or count_numbers(filled) or not all(re.search("[A-Za-z]", cell) for cell in filled):
            break
        wide += 1
    return max(1, min(wide, len(body[0]) - 1))


def _count_keys(heads: Sequence[str], body: Sequence[Sequence[str]], wide: int) -> int:
    """How many columns beside the labels hold settings and not what was measured; never all that are left."""
    keys = 0
    for at in range(wide, len(heads) - 1):
        below, leaf = [row[at] for row in body if row[at]], heads[at].rpartition(" / ")[2]
        whole = sum(bool(re.fullmatch("[0-9]{1,5}", cell)) for cell in below)
        is_symbol = len(leaf) < 5 and whole > 0.7 * len(below)
        is_key = _KEY_HEAD.match(leaf) or (leaf and is_symbol) or (not leaf and keys) or _runs_again(below)
        if not is_setting_column(leaf, below) and not (is_key and _are_chosen(below)):
            break
        keys += 1
    return keys or int(_run_over_numbers(heads, body, wide))


def _run_over_numbers(heads: Sequence[str], body: Sequence[Sequence[str]], wide: int) -> bool:
    """Whether each method has a row for each of some growing whole numbers, the first that is printed: threads 1, 2, 4."""
    labels = [tuple(row[:wide]) for row in body]
    numbers = [row[wide] for row in body if labels[0] == tuple(row[:wide])]
    if len(heads) < wide + 2 or len(numbers) < 2 or not any(map(METHOD_HEAD.search, heads[:wide])):
        return False
    is_whole = all(re.fullmatch("[0-9]{1,5}", number) for number in numbers)
    all_pairs = {(label, number) for label in labels for number in numbers}
    return (
        is_whole
        and [int(one) for one in numbers] == sorted(set(map(int, numbers)))
        and all_pairs == {(label, row[wide]) for label, row in zip(labels, body, strict=True)}
    )


def _runs_again(cells: Sequence[str]) -> bool:
    """Whether a column counts up or down, and then again in each group of rows: 0.7, 0.6, 0.5, 0.7, 0.6, 0.5."""
    is_plain = all(re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", cell) for cell in cells)
    size = next((at for at in range(1, len(cells)) if cells[at] == cells[0]), 0)
    if not is_plain or not size:
        return False
    steps = [float(cell) for cell in cells[:size]]
    grows = steps in (sorted(set(steps)), sorted(set(steps), reverse=True))
    return size > 1 and grows and len(cells) % size == 0 and list(cells) == [*cells[:size]] * (len(cells) // size)


def is_setting_column(head: str, cells: Sequence[str]) -> bool:
    """Whether a column holds what was chosen and not measured: by how its head is called, and how its numbers look."""
    return bool(_SETTING_HEAD.match(head)) and _are_chosen(cells)


def _are_chosen(cells: Sequence[str]) -> bool:
    return 2 * sum(map(is_measured, cells)) <= len(cells)


def _fill_labels(body: Sequence[Sequence[str]], wide: int) -> list[list[str]]:
    """The rows with each label of a group beside all of its rows, wherever in the group it stands, or in parts."""
    filled = [list(row) for row in body]
    groups = _find_groups([row[wide - 1] for row in body], 0)
    for at in range(wide - 1):
        column = [row[at] for row in body]
        if not (groups and "" in column and _fill_groups(column, groups)):
            column = _fill_down(column)
        for row, label in zip(filled, column, strict=True):
            row[at] = label
    return filled


def _fill_down(column: Sequence[str]) -> list[str]:
    """Each blank takes the label above it; where the first is blank, labels stand in the middle, and the nearest is taken."""
    named = [place for place, label in enumerate(column) if label]
    if not named:
        return list(column)
    if column[0]:
        return [column[max(one for one in named if one <= place)] for place in range(len(column))]
    return [column[min(named, key=lambda one: abs(one - place))] for place in range(len(column))]


def _labelled_rows(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Each row of figures under its label; one without a label under that of its group, which may stand below it."""
    groups = {at: row[0] for at, row in enumerate(rows) if count_numbers(row[1:]) == 0 and row[0]}
    centred = _centre_labels(rows)
    for at, row in enumerate(rows):
        label, cells = row[0], list(row[1:])
        if count_numbers(cells) == 0:
            continue
        if centred:
            yield centred[at], cells
            continue
        if not label and cells and not CELL_VALUE.match(cells[0]):
            label = cells[0]
            # a label and the first value may have fallen into one cell
            if split := re.match(rf"(.*?[A-Za-z)].*?) ({NUMBER})(?: .*)?$", label):
                label, cells[0] = split.group(1), split.group(2)
        start = next((place for place in range(at, -1, -1) if place in groups and _is_section(rows, place)), -1)
        above = groups[start] if start >= 0 else ""
        if above and rows[start + 1][0].startswith(_ADDED) and not label.startswith(_ADDED):
            above = ""  # what is added to the group's name has come to its end
        if not label:
            yield _nearest_group(rows, groups, at), cells
        else:
            yield f"{above}{'' if label.startswith(_ADDED) else ' /'} {label}" if above else label, cells


def _centre_labels(rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """The label of each row of figures where labels stand in the middle of their groups, on a row or between two.

    Empty where they do not: then not every group has as many rows above its label as below.
    """
    places = [at for at, row in enumerate(rows) if count_numbers(row[1:])]
    spot = {at: float(place) for place, at in enumerate(places)}
    labels = [(spot.get(at, sum(one < at for one in places) - 0.5), row[0]) for at, row in enumerate(rows) if row[0]]
    is_between = any(place != int(place) for place, _ in labels)
    if not is_between or all(rows[at][0] for at in places):
        return {}
    found, start = dict[int, str](), 0
    for place, label in labels:
        end = int(2 * place) - start
        if not start <= place <= end < len(places):
            return {}
        found.update(dict.fromkeys(places[start : end + 1], label))
        start = end + 1
    return found if start == len(places) else {}


def _is_section(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Whether a label that stands alone is over the rows below it, and not a part of one that needed several lines."""
    is_short = len(rows[at][0].split()) <= _LONGEST_SECTION and not any(rows[at][1:])
    return is_short and at + 1 < len(rows) and bool(rows[at + 1][0]) and (at == 0 or bool(rows[at - 1][0]))


def _nearest_group(rows: Sequence[Sequence[str]], groups: dict[int, str], at: int) -> str:
    """The label that stands alone next above or below a row, with no other label between them."""
    near = []
    for step in (-1, 1):
        place = at + step
        while 0 <= place < len(rows) and not rows[place][0]:
            place += step
        if place in groups:
            near.append((abs(place - at), groups[place]))
    return min(near, key=lambda one: one[0])[1] if near else ""


def _tell_apart(
    rows: Sequence[tuple[str, list[str]]], keys: Sequence[str], corner: str
) -> Iterator[tuple[str, list[str]]]:
    """The rows with their settings in the label, where the label alone is no word or is another row's too.

    Under a head of methods what has a letter is a name: T5, S4.
    """
    times = Counter(label for label, _ in rows)
    for printed, cells in rows:
        is_word = re.search(r"[^\W\d_]{2}|[^\W\d_]$", printed) or (
            METHOD_HEAD.search(corner) and re.search(r"[^\W\d_]", printed)
        )
        label = f"{corner}={printed}" if printed and not is_word and corner else printed
        if not is_word or times[printed] > 1:
            named = [(head.rpartition(" / ")[2], cell) for head, cell in zip(keys, cells, strict=False) if cell]
            label = " ".join(
                [label, *(f"{head}={cell}" if head and is_figure(cell) else cell for head, cell in named)]
            ).strip()
        yield label, cells
