"""Read the files that an experiment left in results/NAME/ or results/, and look for copied figures. All files are hostile.

predictions.csv   result,y_pred[,y_true][,y_score][,seed][,row]   one prediction a line
measurements.csv  result,value[,seed]                             one raw measurement a line; `name` for `result` will do
metrics.json      {"E1": 17.5} or {"E1": [17.1, 17.9]}            what the code reports; as CSV: result,value
"""

from __future__ import annotations

import ast
import csv
import io
import math
import operator
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json
from pipeline.base.safe_tree import read_beneath

PREDICTIONS, MEASUREMENTS = "predictions.csv", "measurements.csv"
LARGEST = 256 * 2**20
MOST_ROWS = 5_000_000
_NO_RESULT = "it needs a column `result`, which names a result of the plan (E1, …)"


class Predictions(NamedTuple):
    """Of one result and one seed, in the order in which they were written."""

    rows: list[str]
    """Label of each row; empty strings if the file has none."""
    true: list[str]
    """True labels according to the code; empty if it has none."""
    predicted: list[str]
    scores: list[float]
    """Empty where there are none."""


class Artifacts(NamedTuple):
    predictions: Mapping[str, Mapping[str, Predictions]]
    """Result -> seed -> predictions."""
    measurements: Mapping[str, Sequence[float]]
    reported: Mapping[str, Sequence[float]]
    faults: tuple[str, ...]
    """Files that cannot be read, in words."""


def read_artifacts(directory: str, metrics: str) -> Artifacts:
    """Return the contents of a directory. A file, or a directory, that is not there leaves its part empty."""
    faults: list[str] = []
    predictions: dict[str, dict[str, Predictions]] = {}
    measurements: dict[str, list[float]] = {}
    reported: dict[str, list[float]] = {}
    takers: dict[str, Callable[[bytes], None]] = {
        PREDICTIONS: partial(_take_predictions, into=predictions),
        MEASUREMENTS: partial(_take_values, into=measurements),
        metrics: partial(_take_metrics, into=reported, is_json=metrics.endswith(".json")),
    }
    for name, take in takers.items():
        try:
            take(read_beneath(directory, name, LARGEST))
        except FileNotFoundError:
            continue
        except OSError as error:
            faults.append(f"{name} cannot be read: {error}")
        except (ValueError, FormatError) as error:
            faults.append(f"{name}: {error}")
    return Artifacts(predictions, measurements, reported, tuple(faults))


def read_labels(data: bytes) -> dict[tuple[str, str], str]:
    """Return the true labels of a file with the columns row, y_true and perhaps seed: (seed, row) -> label. Raises ValueError."""
    labels: dict[tuple[str, str], str] = {}
    for row in _table(data, ("row", "y_true")):
        key = (row.get("seed", ""), row["row"])
        if key in labels:
            raise ValueError(f"two labels for row {key[1]}")
        labels[key] = row["y_true"]
    return labels


def to_number(text: str) -> float:
    """Return a finite number. Raises ValueError."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _take_predictions(data: bytes, into: dict[str, dict[str, Predictions]]) -> None:
    words: dict[str, str] = {}  # most labels are a few words that come again and again
    heads, lines = _read_table(data, ("y_pred",))
    # by place and not by name: there may be millions of lines, and reading them is what this phase takes time for
    last = {name: place for place, name in enumerate(heads)}
    result, name, seed, row, label, true, score = (
        last.get(head, -1) for head in ("result", "name", "seed", "row", "y_pred", "y_true", "y_score")
    )
    group, of = Predictions([], [], [], []), None
    for cells in lines:
        cells.append("")  # what stands for a column that is not there
        if of != (key := (cells[result] or cells[name], cells[seed])):
            if not key[0]:
                raise ValueError(_NO_RESULT)
            group, of = into.setdefault(key[0], {}).setdefault(key[1], Predictions([], [], [], [])), key
        group.rows.append(cells[row])
        group.predicted.append(words.setdefault(cells[label], cells[label]))
        if cells[true]:
            group.true.append(words.setdefault(cells[true], cells[true]))
        if cells[score]:
            group.scores.append(to_number(cells[score]))
    _refuse_halves(into)


def _refuse_halves(into: Mapping[str, Mapping[str, Predictions]]) -> None:
    for result, seeds in into.items():
        for group in seeds.values():
            if len(group.true) not in (0, len(group.predicted)) or len(group.scores) not in (0, len(group.predicted)):
                raise ValueError(f"some rows of {result} have y_true or y_score, and some have none")


def _take_values(data: bytes, into: dict[str, list[float]]) -> None:
    for row in _table(data, ("value",)):
        into.setdefault(_result_of(row), []).append(to_number(row["value"]))


def _take_metrics(data: bytes, into: dict[str, list[float]], *, is_json: bool) -> None:
    if not is_json:
        _take_values(data, into)
        return
    found: Any = parse_json(data, strict=False)
    if not isinstance(found, dict):
        raise ValueError("it must be one object: result -> value, or result -> list of values")
    for result, value in found.items():
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(one, bool) or not isinstance(one, int | float) for one in values):
            raise ValueError(f"{str(result)[:40]} must be a number or a list of numbers")
        into[str(result)] = [to_number(str(one)) for one in values]


def _result_of(row: Mapping[str, str]) -> str:
    result = row.get("result") or row.get("name")
    if not result:
        raise ValueError(_NO_RESULT)
    return result


def _table(data: bytes, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file with a line of names. Raises ValueError, with the line."""
    heads, lines = _read_table(data, needed)
    return (dict(zip(heads, cells, strict=True)) for cells in lines)


def _read_table(data: bytes, needed: Sequence[str]) -> tuple[list[str], Iterator[list[str]]]:
    """Yield the names of the columns of a CSV file, and its lines as lists of as many cells. Raises ValueError, with the line."""
    text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
    reader = csv.reader(text)
    try:
        heads = [head.strip() for head in next(reader, [])]
        if missing := [name for name in needed if name not in heads]:
            raise ValueError(f"it needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error
    return heads, _lines_of(reader, len(heads))


def _lines_of(reader: Any, width: int) -> Iterator[list[str]]:
    try:
        for number, cells in enumerate(reader, 2):
            if number > MOST_ROWS:
                raise ValueError(f"more than {MOST_ROWS:,} rows")
            if not cells:
                continue
            if len(cells) != width:
                raise ValueError(f"line {number} does not have the {width} columns of the first line")
            yield cells
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error


_NUMBER = re.compile(r"(?<![\w.])[-+]?[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w])")
_FEW_DIGITS = 3
"""Figures with fewer digits occur in any code by chance."""
_SAME = 1e-9
_FEW_ROWS = 20
_LARGEST_FOLDED = 1e15
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_CONVERSIONS = ("float", "round", "abs", "int", "Decimal", "Fraction", "str")


def find_constants(
    code: Mapping[str, bytes], figures: Mapping[str, float], known: Sequence[float]
) -> dict[str, list[str]]:
    """Return where the code contains the paper's figures, by figure id, as `path:line` in the order of the files.

    A figure also counts as a share of 1, as its complement to 1 or 100, and as the result of arithmetic on constants. `known`
    are values that the plan requires.
    """
    forms = [
        (form, name)
        for name, value in figures.items()
        if count_digits(value) >= _FEW_DIGITS and not any(_is_same(value, number) for number in known)
        for form in {value, value / 100, value * 100, 100 - value, 1 - value, 1 - value / 100}
        if form
    ]
    forms.sort()
    places: dict[str, list[str]] = {}
    for path, data in code.items():
        text = data.decode("utf-8", "replace")
        for line, value in _constants_of(text) if path.endswith(".py") else _numbers_of(text):
            for name in _look_up(forms, abs(value)):
                place = f"{path}:{line}"
                if place not in places.setdefault(name, []):
                    places[name].append(place)
    return places


def find_copied_labels(groups: Mapping[str, Predictions], code: Mapping[str, bytes]) -> str:
    """Return the column of a given file that a result's predictions are copied from; empty if there is none."""
    for seed, group in groups.items():
        wanted = group.predicted
        if len(wanted) < _FEW_ROWS or len(set(wanted)) < 2:
            continue
        for path, data in code.items():
            if path.endswith((".csv", ".tsv")) and (column := _equal_column(data, wanted, path)):
                return f"its predictions{f' of seed {seed}' if seed else ''} are column {column} of {path}"
        if group.true and group.true == wanted:
            return "every prediction equals its label"
    return ""


def count_digits(value: float) -> int:
    """Significant digits of a number as it is written; of a power of two as few as of a round number."""
    if value == int(value) and value > 0 and math.log2(value).is_integer():
        return 1
    digits = re.sub(r"e.*", "", repr(float(value))).replace(".", "").strip("-0")
    return len(digits)


def _look_up(forms: Sequence[tuple[float, str]], value: float) -> Iterator[str]:
    at = bisect_left(forms, (value * (1 - _SAME) - 1e-15, ""))
    while at < len(forms) and forms[at][0] <= value * (1 + _SAME) + 1e-15:
        yield forms[at][1]
        at += 1


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def _constants_of(text: str) -> Iterator[tuple[int, float]]:
    """Yield every number of Python code, the results of arithmetic on numbers, and the numbers in strings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _numbers_of(text)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Docstrings, too: code can read its own.
            yield from ((node.lineno, value) for _, value in _numbers_of(node.value))
        elif isinstance(node, ast.expr) and (value := _fold(node)) is not None:
            yield node.lineno, value


def _fold(node: ast.expr, depth: int = 0) -> float | None:
    """Return the value of an expression of numbers; None for any other expression."""
    if depth > 20:
        return None
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return float(node.value) if abs(node.value) < _LARGEST_FOLDED else None
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _fold(node.operand, depth + 1)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    if isinstance(node, ast.BinOp):
        return _fold_operation(node, depth)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CONVERSIONS and node.args:
        return _fold(node.args[0], depth + 1)
    return None


def _fold_operation(node: ast.BinOp, depth: int) -> float | None:
    left, right = _fold(node.left, depth + 1), _fold(node.right, depth + 1)
    if left is None or right is None:
        return None
    try:
        if isinstance(node.op, ast.Pow):
            value = left**right if abs(left) < 1e6 and abs(right) <= 64 else None
        else:
            act = _OPERATIONS.get(type(node.op))
            value = act(left, right) if act else None
    except (ArithmeticError, ValueError):
        return None
    return value if isinstance(value, float) and abs(value) < _LARGEST_FOLDED else None


def _numbers_of(text: str) -> Iterator[tuple[int, float]]:
    for number, line in enumerate(text.split("\n"), 1):
        for match in _NUMBER.finditer(line):
            try:
                yield number, float(match[0].replace(",", "."))
            except ValueError:
                continue


def _equal_column(data: bytes, wanted: Sequence[str], path: str) -> str:
    """Return the name or number of the column with these values in this order; empty if there is none."""
    delimiter = "\t" if path.endswith(".tsv") else ","
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace")), delimiter=delimiter))
    except csv.Error:
        return ""
    for skipped in (0, 1):
        body = rows[skipped:]
        if len(body) != len(wanted):
            continue
        for number in range(min(map(len, body))):
            if all(row[number].strip() == one for row, one in zip(body, wanted, strict=True)):
                return rows[0][number] if skipped else str(number + 1)
    return ""
