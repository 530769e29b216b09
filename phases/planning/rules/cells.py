"""Pipe tables as rows of cells: what a cell says, and whether it is a value."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    """The rows of a pipe table, without its rule; empty where it is no grid but prose that fell into columns."""
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
    """The words of a cell without marks of bold, colour and formulas; Greek letters, arrows and ± as signs, 0,8 as 0.8."""
    said = _MACRO.sub("", _RULE_LEFT.sub("", cell))
    # of a command that is not known, what it is written around is left: \best{0.93}
    said = _COMMAND.sub(lambda match: _SIGNS.get(match.group(1), "" if match.group(2) else match.group(1)), said)
    # a star alone belongs to the name: "R2D2*" is not "R2D2"
    said = said.replace("**", "") if said.replace("**", "").count("*") == 1 else said.replace("*", "")
    return _DECIMAL_COMMA.sub(".", " ".join(_MARKS.sub("", said).split()))


def is_figure(cell: str) -> bool:
    """Whether a cell holds a value, two with a stroke between them, or an interval."""
    return is_value(cell) or bool(_INTERVAL.match(cell) or _PAIR.match(cell))


def is_measured(cell: str) -> bool:
    """Whether a value looks measured: two digits with a fraction, a deviation, or a percent sign. Chosen ones are round."""
    return bool(re.search(r"[1-9][0-9]*\.[0-9]|\.0*[1-9][0-9]|±|%", cell))


def is_value(cell: str) -> bool:
    """Whether a cell begins with a value; "2 Pac" is a name, 2000-02-26 a date and 10-20 a range."""
    return bool(CELL_VALUE.match(cell)) and not _NO_VALUE.match(cell)


def count_numbers(cells: Sequence[str]) -> int:
    """How many cells hold values, and no heads that begin with a number."""
    return sum(is_figure(cell) and not _COUNTED_HEAD.match(cell) for cell in cells)
