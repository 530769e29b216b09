"""Read pipe tables as grids: heads joined by column, rows with their labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phases.planning.rules.numbers import GREEK, NUMBER

_RULE = re.compile(r"\|[-:| ]+\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS, _LONGEST_PROSE = 80, 6
UNIT = r"%|[µμmn]?s(?:ecs?)?|mins?|hrs?|h|[KMGTkmB]B?|x|×|dB|fps|pp"
CELL_VALUE = re.compile(rf"^(?:\\(?:textbf|mathbf|bf)|[*_${{}} ≈~<>≤≥↑↓])*(?:{NUMBER})(?: ?(?:{UNIT}))?(?![\w.:/])")
"""A cell that is one value, with a unit or a deviation behind it or none; no pair."""
_INTERVAL = re.compile(rf"^[\[(] ?{NUMBER}[ ,;–-]")
_PAIR = re.compile(rf"{NUMBER} ?/ ?{NUMBER}(?![\w.])")
_COUNTED_HEAD = re.compile(rf"[*_ ]*{NUMBER}[KMGB]? [A-Z]?[a-z]{{3,}}")
"""A head that begins with a number: "32 Nodes"."""
_NO_VALUE = re.compile(rf"{NUMBER} [A-Z][a-z]|\W{{0,2}}[0-9]+ ?[-–−][0-9]")
_MACRO = re.compile(
    r"\\(?:textcolor|color|cellcolor|rowcolor|fontsize)(?:\[[^\]]*\])?\{[^{}]*\}|\\(?:text|math)[a-z]+|\\(?:b[fm]|rm|it|em"
    r"|underline|uline|emph|boldsymbol|left|right)(?![a-z])|<[^<>]{0,20}>"
)
_RULE_LEFT = re.compile(r"(?:^| )[a-z0-9.]*\)[0-9]+-[0-9]+(?= |$)")
"""What a reader leaves of the line under a head that spans columns."""
_SIGNS = {"uparrow": "↑", "downarrow": "↓", "pm": "±", "times": "×", "cdot": "·", "rightarrow": "→", "to": "→",
          "sim": "~", "approx": "≈", "Delta": "Δ", "circ": "∘", "%": "%", "langle": "⟨", "rangle": "⟩",
          "sqrt": "√", **{name: sign for sign, name in GREEK.items()}}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]+|%) ?(?=(\{)?)")
_DECIMAL_COMMA = re.compile(r"(?<=^[0-9]),(?=[0-9]{1,2} ?%?$)|(?<=^[0-9]{2}),(?=[0-9]{1,2} ?%?$)")
_MARKS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|[$\\{}]")


def cells_of(table: str) -> list[list[str]]:
    """Return the rows of a pipe table without its rule; empty for prose that was read as columns."""
    rows = [
        [" ".join(cell.replace("\\|", "|").split()) for cell in _CELL.split(line.strip().strip("|"))]
        for line in table.split("\n")[:_MOST_ROWS]
        if not _RULE.match(line.strip())
    ]
    filled = [cell for row in rows for cell in row if cell]
    words = sum(cell.count(" ") + 1 for cell in filled)
    if len(rows) < 2 or not filled or words > _LONGEST_PROSE * len(filled):
        return []
    return rows


def plain_cell(cell: str) -> str:
    """Return a cell without markup; Greek letters, arrows and ± as signs, and 0,8 as 0.8."""
    said = _MACRO.sub("", _RULE_LEFT.sub("", cell))
    # of a command that is not known, what it is written around is left: \best{0.93}
    said = _COMMAND.sub(lambda match: _SIGNS.get(match.group(1), "" if match.group(2) else match.group(1)), said)
    # a star alone belongs to the name: "R2D2*" is not "R2D2"
    said = said.replace("**", "") if said.replace("**", "").count("*") == 1 else said.replace("*", "")
    return _DECIMAL_COMMA.sub(".", " ".join(_MARKS.sub("", said).split()))


def is_figure(cell: str) -> bool:
    """Return whether a cell holds a value, a pair of values, or an interval."""
    return is_value(cell) or bool(_INTERVAL.match(cell) or _PAIR.match(cell))


def is_measured(cell: str) -> bool:
    """Return whether a value looks measured: two digits with a fraction, a deviation, or a percent sign."""
    return bool(re.search(r"[1-9][0-9]*\.[0-9]|\.0*[1-9][0-9]|±|%", cell))


def is_value(cell: str) -> bool:
    """Return whether a cell begins with a value; "2 Pac" is a name, 2000-02-26 a date and 10-20 a range."""
    return bool(CELL_VALUE.match(cell)) and not _NO_VALUE.match(cell)


def count_numbers(cells: Sequence[str]) -> int:
    """Return the number of cells with values; heads that begin with a number do not count."""
    return sum(is_figure(cell) and not _COUNTED_HEAD.match(cell) for cell in cells)


_MOST_HEAD_ROWS, _LONGEST_SECTION, _FEWEST_STEPS = 4, 4, 4
METHOD_HEAD = re.compile(r"method|model|optimi[sz]er|algorithm|approach|system|policy|strategy", re.IGNORECASE)
"""Over a column that names methods."""
SETTING_NAME = re.compile(
    r"(?:\w+[ -]){0,3}(?:rates?|sizes?|momentum|decay|epochs?|(?:number|#|no\.?) ?of|num_|n_|max(?:imum)?[ _-](?!max)"
    r"|min(?:imum)?[ _-]|layers|heads|steps|iterations|temperature|optimi[sz]er|seeds?|dimensions?|widths?|depths?|thresholds?"
    r"|weights?|factors?|coefficients?|capacity|lr|[α-ωϵ]|\\[a-z]+)\b",
    re.IGNORECASE,
)
"""How labels of settings begin."""
_SYMBOL = re.compile(r"\$\\?(?!times|pm)[A-Za-zα-ωϵ][^$]*\$$|[A-Za-zα-ωϵ](?:_\w{1,8}|[0-9])?$")
"""A head that is set as a formula, or is a letter: over a column that tells rows apart."""
_ADDED = ("w/", "+ ", "- ")
"""How labels begin that go on with the name of their group."""


class Grid(NamedTuple):
    """A table with its heads told from its body."""

    heads: list[str]
    rows: list[tuple[str, list[str]]]
    """Label and cells."""
    labels: list[str]
    """The entries of the column that names the methods."""
    corner: str = ""
    """The head of the labels."""


def read_grid(cells: Sequence[Sequence[str]]) -> Grid:
    """Return the grid of printed cells; one without rows where no body of figures is found.

    Several columns of words on the left make one label; columns of settings beside them tell equal labels apart.
    """
    width = max((len(row) for row in cells), default=0)
    rows = [[*(plain_cell(cell) for cell in row), *[""] * (width - len(row))] for row in cells]
    first = _find_body(rows)
    if first == len(rows) or width < 2:
        return Grid([], [], [])
    wide = _count_label_columns(rows[first:])
    heads = _fill_heads(rows[:first], wide, width)
    joined = [" / ".join(dict.fromkeys(filter(None, (row[at] for row in heads)))) for at in range(width)]
    body = _fill_labels(rows[first:], wide)
    telling = max(range(wide), key=lambda at: (len({row[at] for row in body}), at))
    named = next((at for at in range(wide) if METHOD_HEAD.search(joined[at])), telling)
    symbols = [any(_SYMBOL.match(row[at]) for row in cells[:first] if at < len(row)) for at in range(width)]
    keys = _count_keys(joined, symbols, body, wide)
    labelled = list(
        _labelled_rows([[" / ".join(dict.fromkeys(filter(None, row[:wide]))), *row[wide:]] for row in body])
    )
    labels = [row[named] for row in body] if wide > 1 else [label.rpartition(" / ")[2] for label, _ in labelled]
    corner = " / ".join(dict.fromkeys(filter(None, joined[:wide])))
    told = _tell_apart(labelled, joined[wide : wide + keys], corner)
    return Grid(number_same(joined[wide + keys :]), [(label, row[keys:]) for label, row in told], labels, corner)


def number_same(names: Sequence[str]) -> list[str]:
    """Return the names with equal ones told apart by number: AM (1 of 2)."""
    times, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]} of {times[name]})" if name and times[name] > 1 else name)
    return numbered


def _find_body(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the first row of figures under the heads; the number of rows where there is none."""
    shares = (count_numbers(row[1:]) >= max(1, 0.4 * sum(map(bool, row[1:]))) for row in rows)
    first = next((at for at, is_body in enumerate(shares) if is_body), len(rows))
    if first == len(rows):
        return first
    if count_numbers(rows[0][1:]) == 0 or _is_scale(rows, 0):
        first = max(first, 1)
    for at, row in enumerate(rows[:_MOST_HEAD_ROWS]):
        is_words = count_numbers(row) == 0 and sum(map(bool, row)) > 1
        is_head = not row[0] and (is_words or (at > 0 and _is_scale(rows, at)))
        if is_head and first in (0, at) and at < len(rows) - 1:
            first = at + 1
    while first > 1 and rows[first - 1][0] and not any(rows[first - 1][1:]):
        first -= 1  # the name of the first rows, not a head
    return first


def _is_scale(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Return whether a row numbers the columns: numbers that grow, over numbers that are not whole or over words."""
    head = [cell for cell in rows[at][1:] if cell]
    is_named = at == 0 and rows[0][0] and len(head) >= _FEWEST_STEPS
    number = r"[0-9]{1,6}(?:\.[0-9]+)?" if is_named else "[0-9]{1,6}"
    if len(head) < 2 or not all(re.fullmatch(number, one) for one in head):
        return False
    below = [cell for row in rows[at + 1 : at + 6] for cell in row[1:] if cell]
    unlike = sum("." in one or not re.search("[0-9]", one) for one in below)
    return [float(cell) for cell in head] == sorted({float(cell) for cell in head}) and unlike > len(below) / 2


def _fill_heads(heads: Sequence[Sequence[str]], wide: int, width: int) -> list[list[str]]:
    """Return the rows of heads, each group's name over all of its columns."""
    filled = [list(row) for row in heads]
    for depth, row in enumerate(filled[:-1]):
        above = filled[depth - 1] if depth else []
        for at in range(wide + 1, width):
            if not row[at] and filled[-1][at] and (not above or above[at] == above[at - 1] != ""):
                row[at] = row[at - 1]
    return filled


def _count_label_columns(body: Sequence[Sequence[str]]) -> int:
    """Return how many columns on the left hold words and no numbers; one at least, three at most."""
    wide = 0
    for column in list(zip(*body, strict=True))[:3]:
        filled = [cell for cell in column if cell]
        if not filled or count_numbers(filled) or not all(re.search(r"[^\W\d_]", cell) for cell in filled):
            break
        wide += 1
    return max(1, min(wide, len(body[0]) - 1))


def _count_keys(heads: Sequence[str], symbols: Sequence[bool], body: Sequence[Sequence[str]], wide: int) -> int:
    """Return how many columns beside the labels hold settings; never all that are left."""
    keys = 0
    for at in range(wide, len(heads) - 1):
        below, leaf = [row[at] for row in body if row[at]], heads[at].rpartition(" / ")[2]
        is_chosen = 2 * sum(map(is_measured, below)) <= len(below)
        if not is_chosen or not (SETTING_NAME.match(leaf) or symbols[at]):
            break
        keys += 1
    return keys


def _fill_labels(body: Sequence[Sequence[str]], wide: int) -> list[list[str]]:
    """Return the rows with each label of a group beside all of its rows; the nearest one where it stands in the middle."""
    filled = [list(row) for row in body]
    for at in range(wide - 1):
        named = [place for place, row in enumerate(body) if row[at]]
        for place, row in enumerate(filled):
            if named and not row[at]:
                above = [one for one in named if one <= place]
                near = above[-1] if body[0][at] and above else min(named, key=lambda one: abs(one - place))
                row[at] = body[near][at]
    return filled


def _labelled_rows(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of figures under its label, behind the name of its group; one without a label takes the nearest."""
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
            named = [place for place in range(len(rows)) if rows[place][0]]
            yield rows[min((abs(one - at), one) for one in named)[1]][0] if named else "", cells
        else:
            yield f"{above}{'' if label.startswith(_ADDED) else ' /'} {label}" if above else label, cells


def _centre_labels(rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """Return the label of each row of figures where labels stand in the middle of their groups; empty where they do not."""
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
    """Return whether a label that stands alone is over the rows below it, and not a part of one on several lines."""
    is_short = len(rows[at][0].split()) <= _LONGEST_SECTION and not any(rows[at][1:])
    return is_short and at + 1 < len(rows) and bool(rows[at + 1][0]) and (at == 0 or bool(rows[at - 1][0]))


def _tell_apart(
    rows: Sequence[tuple[str, list[str]]], keys: Sequence[str], corner: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows with their settings in the label, where the label alone is no word or is another row's too."""
    times = Counter(label for label, _ in rows)
    for printed, cells in rows:
        is_word = re.search(r"[^\W\d_]{2}|[^\W\d_]$", printed) or (
            METHOD_HEAD.search(corner) and re.search(r"[^\W\d_]", printed)
        )
        label = f"{corner}={printed}" if printed and not is_word and corner else printed
        if not is_word or times[printed] > 1:
            named = [(head.rpartition(" / ")[2], cell) for head, cell in zip(keys, cells, strict=False) if cell]
            told = [f"{head}={cell}" if head and is_figure(cell) else cell for head, cell in named]
            label = " ".join([label, *told]).strip()
        yield label, cells
