"""What to run: the load, and each table and section with results, in the sizes that the paper gives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from phases.planning.rules.cells import plain_cell
from phases.planning.rules.numbers import NUMBER, number_of, scaled
from phases.planning.rules.passages import PaperText, Sentence, Table
from phases.planning.rules.sections import BUILD, MIXED, OTHER, RESULTS, SETUP
from phases.planning.rules.table_kinds import caption_of, holds_data

Row = Mapping[str, Any]
_MOST_LOADS, _MOST_SIZES, _NAMED, _FEWEST_STEPS = 5, 4, 4, 3
_MOST_DRAWN, _MOSTLY = 6, 0.6
_LONGEST_CAPTION, _LONGEST_SENTENCE, _LONGEST_LABEL = 360, 400, 80
_PART = ", part "
"""Between the label of a table and its part, where several were set under one caption."""
_REPEATED = re.compile(r"\b(?:seeds|runs|repetitions|repeats|trials|folds|invocations)\b", re.IGNORECASE)
_LONG = re.compile(
    r"\b(?:epochs|iterations|(?:training|gradient|update|optimi[sz]ation) steps|episodes|updates|simulations|games"
    r"|requests|operations|pairs|references|rounds|(?:training|pre-?training) (?:samples|examples)|snapshots|data items"
    r"|keys)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(r"\bnumber of steps\b", re.IGNORECASE)
_TRAINED = re.compile(r"\btrain(?:ed|ing)?\b", re.IGNORECASE)
"""Steps are many where something is trained for them; others are part of the method: "30 steps to fix an example"."""
_NO_SIZE = re.compile(
    r"\b(?:warm|batch|per|every|between|patience|decay|inner|horizon|window|last|first|percentile|quantile|probability)",
    re.IGNORECASE,
)
"""In the name of a number that is no size of an experiment."""
_TENTH = 10
_COUNT = (
    r"(?:[0-9][0-9,.]*[0-9](?:\^\{?[0-9]+\}?)?(?: ?(?:[KMGkmg]B?|ns|bytes?))?|two|five|ten"
    r"|(?:hundred|thousand|million)s?(?: of)?|random(?:ly)?|uniform(?:ly)?|Zipf\w*)"
)
_AMOUNT = re.compile(
    rf"\b{_COUNT}[- ](?:[\w'-]+[- ]){{0,2}}[\"“]?(?:operations?|requests?|transactions?|quer(?:y|ies)|keys?|records?|packets?"
    r"|elements?|clients?|threads|jobs?|tuples?|messages?|strings?|traces?|files?|blocks?|allocations?|references|rows?"
    r"|points?|pairs|snapshots?|games|documents?|circuits?|servers?|events?|citations|characters|keywords|iterations"
    r"|images?|work)\b",
    re.IGNORECASE,
)
"""So much of what programs work on."""
_RUNS = re.compile(
    r"\b(?:generat(?:e[sd]?|ing)|issu(?:es?|ed|ing)|submit\w*|sen(?:ds?|t|ding)|insert\w*|enqueue[sd]?|perform(?:s|ed)?"
    r"|execut(?:es?|ed)|run|runs|ran|replay(?:s|ed)?|creat(?:es?|ed)|fill(?:s|ed)?(?!-)|initiali[sz]ed|populat(?:es?|ed)"
    r"|(?:down|up)load(?:s|ed)?|fetch(?:es|ed)?|search(?:es|ed)? for|consists? of|contain(?:s|ed|ing)?|comprises?"
    r"|receiv(?:es?|ed)|sleeps?|prefill\w*|(?:randomly|uniformly) \w+|were (?:taken|drawn|sampled))\b",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\b(?:throughput|latency|accurac(?:y|ies)|errors?|loss(?:es)?|perform\w*|compar\w+|times?|precision|recall|AUC|rates?"
    r"|F1|BLEU|FID|scores?|results?|fragmentation|cycles|ratios?|(?:out|under)-?perform\w*|higher|lower|faster|versus|vs"
    r"|speed-?ups?|responsiveness|behaviou?r|effects?|sensitivity|experiments?|mastery|reductions?|converge\w*)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\b(?:illustrat\w+|examples? of|visuali[sz]\w+|samples? from|sampling results|images?|schematic|diagram|overview|t-?SNE"
    r"|architecture|frames|latent codes?|trajectories|detailed results in|structures?|pseudo ?code|residuals)\b"
    r"|^(?:curves|calculation) of\b",
    re.IGNORECASE,
)
"""What the caption of a figure says that shows what was measured, and of one that shows something else or a table again."""
_NO_LOAD = re.compile(
    r"\b(?:outperform\w*|faster|slower|than|shows?|seen|because|could|would|might|future|e\.g|for example|suppose|took"
    r"|epochs?|mini-?batch\w*|tokens|layers?|trained|tune|learning rate|per second|[Pp]hase [0-9])\b|\?$"
)


def experiments_of(
    results: Sequence[Row], paper: PaperText, captions: Mapping[str, str], sizes: Sequence[Row]
) -> list[dict[str, Any]]:
    """What is run, with ids: the load where the paper says what it is made of, then each table, section and figure of results.

    `captions`: of each table by its label. `sizes`: values that say how large the paper's experiments are. A quick size is
    given only where the paper's own numbers give one.
    """
    tables: dict[str, list[Row]] = {}
    for row in results:
        tables.setdefault(str(row["table"]).partition(_PART)[0], []).append(row)
    told = ", ".join(f"{_name(row)} {row['value']} ({row['id']})" for row in sizes)
    made: list[dict[str, Any]] = [{"what": load}] if (load := _describe_load(find_load(paper))) else []
    targets: list[tuple[int, dict[str, Any]]] = [
        (page, {"what": what}) for page, what in find_unread(paper, set(tables))
    ]
    for label, rows in tables.items():
        quick = _describe_quick(rows, sizes)
        targets.append(
            (
                int(rows[0]["page"]),
                {
                    "what": _describe_target(label, rows, captions.get(label, "")),
                    "results": [str(row["id"]) for row in rows],
                    **({"quick": quick} if quick else {}),
                    **({"full": f"As in the paper: {told}."} if told else {}),
                },
            )
        )
    targets.sort(key=lambda target: (target[0], "results" not in target[1]))
    return [{"id": f"X{number}", **row} for number, row in enumerate([*made, *(row for _, row in targets)], 1)]


def find_unread(paper: PaperText, known: Collection[str]) -> list[tuple[int, str]]:
    """Page and words of what was run and is read as no number: figures of results, and tables with numbers of none of `known`."""
    drawn = [
        (int(row["page"]), f"{said} ({row['label']}, page {row['page']}: drawn, no number of it is read)")
        for row in paper.outline["figures"]
        if paper.roles.get(row["section"]) in (RESULTS, MIXED)
        and (said := _shorten(str(row["text"])).rstrip())
        and _MEASURED.search(said)
        and not _SHOWN.search(said)
    ]
    printed = []
    for table in paper.tables:
        label, caption = caption_of(table, paper)
        name = label.partition(_PART)[0] or f"unnumbered table on page {table.page}"
        is_there = table.role in (RESULTS, MIXED) or (not known and not label and table.role in (BUILD, SETUP))
        if is_there and name not in known and _holds_numbers(table) and not holds_data(caption, table.grid):
            said = f"{_shorten(caption)} ({name}, page {table.page})" if label and caption else name.capitalize()
            printed.append((table.page, f"{said}: which of its numbers are the method's is not known"))
    return [*drawn[:_MOST_DRAWN], *dict.fromkeys(printed)]


def _holds_numbers(table: Table) -> bool:
    """Whether most of what stands behind the first column of a table is numbers, in two rows at least."""
    cells = [plain_cell(cell) for row in table.cells[1:] for cell in row[1:] if cell.strip()]
    numbers = [cell for cell in cells if re.match(rf"[^\w.]*{NUMBER}", cell)]
    return len(table.grid.rows) > 1 and len(numbers) >= _MOSTLY * len(cells)


def find_sizes(values: Sequence[Row], doubted: Collection[str]) -> list[Row]:
    """The values that say how long or how often the method is run, and that nothing doubts."""
    found: dict[str, Row] = {}
    for row in values:
        value, name = row.get("value"), str(row["name"])
        is_own = row["owner"] == "method" and row["id"] not in doubted and not row.get("unit")
        if not isinstance(value, int) or value < 2 or not is_own or _NO_SIZE.search(name):
            continue
        is_long = _LONG.search(name) or (_STEPS.search(name) and _TRAINED.search(str(row["source"]["quote"])))
        if _REPEATED.search(name) or (is_long and value >= _TENTH):
            found.setdefault(_name(row).lower(), row)
    return list(found.values())[:_MOST_SIZES]


def find_load(paper: PaperText) -> list[Sentence]:
    """The sentences that say who generates what, and how much of it: at most five, in the order of the paper."""
    told = [
        (len(_AMOUNT.findall(one.text)), place)
        for place, one in enumerate(paper.sentences)
        if one.role in (SETUP, RESULTS, MIXED, OTHER)
        and len(one.text) <= _LONGEST_SENTENCE
        and _AMOUNT.search(one.text)
        and _RUNS.search(one.text)
        and not _NO_LOAD.search(one.text)
    ]
    best = sorted(told, key=lambda row: (-row[0], row[1]))[:_MOST_LOADS]
    return [paper.sentences[place] for place in sorted(place for _, place in best)]


def _describe_load(found: Sequence[Sentence]) -> str:
    said = (f"“{one.text}” ({one.section['number'] or one.section['title'] or '1'}, p. {one.page})" for one in found)
    return f"The load, in the paper's words: {' '.join(said)}" if found else ""


def _describe_target(label: str, rows: Sequence[Row], caption: str) -> str:
    """The caption, or the sentences that the results are from, and the place; where there is neither, rows and columns."""
    place = label if "page" in label else f"{label}, page {rows[0]['page']}"
    if quotes := list(dict.fromkeys(str(row["quote"]) for row in rows if row.get("quote"))):
        return f"{place[0].upper()}{place[1:]}: {' '.join(f'“{quote}”' for quote in quotes)}"
    if said := _shorten(caption):
        return f"{said} ({place})"
    parts = [place]
    for key in ("row", "column"):
        names = list(dict.fromkeys(str(row[key]) for row in rows if row[key]))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts += [f"{key.capitalize()}s: {'; '.join(names[:_NAMED])}{more}"] if names else []
    return f"{'. '.join(parts)}."


def _shorten(caption: str) -> str:
    """The first sentences of a caption; one at least."""
    kept = ""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z(])", plain_cell(caption)):
        is_cut = len(caption) > _LONGEST_CAPTION and sentence[-1:].isalnum()
        if kept and (is_cut or len(kept) + len(sentence) > _LONGEST_CAPTION):
            break
        kept = f"{kept} {sentence}".strip()
    return kept[: 2 * _LONGEST_CAPTION]


def _describe_quick(rows: Sequence[Row], sizes: Sequence[Row]) -> str:
    """The smallest step of a table that runs over sizes, and the paper's own numbers made smaller; empty where it has neither."""
    steps = next((f"{key} '{least}' alone, the least of {count}" for key, least, count in _find_steps(rows)), "")
    smaller = ", ".join(
        f"{_name(row)} {1 if _REPEATED.search(row['name']) else max(1, row['value'] // _TENTH)} of {row['value']} ({row['id']})"
        for row in sizes
    )
    said = "; ".join(filter(None, (steps, smaller)))
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _find_steps(rows: Sequence[Row]) -> Iterator[tuple[str, str, int]]:
    """Rows, then columns, whose labels are growing numbers of one thing: which of the two, the least label, how many."""
    for key in ("row", "column"):
        labels = list(dict.fromkeys(str(row[key]) for row in rows))
        if any(len(label) > _LONGEST_LABEL for label in labels):
            continue
        numbers = [re.fullmatch(rf"(.*?)({NUMBER})(K|M|G|B|k|%)?", label) for label in labels]
        found = [number for number in numbers if number and not _NO_SIZE.search(number.group(1))]
        sizes = [_size_of(number) for number in found]
        if (
            len(found) == len(labels) >= _FEWEST_STEPS
            and len({number.group(1) for number in found}) == 1
            and all(one < other for one, other in pairwise(sizes))
        ):
            yield key, labels[0], len(labels)


def _size_of(number: re.Match[str]) -> float:
    value = number_of(number.group(2)) or 0
    return float(scaled(value, number.group(3)) if number.group(3) in ("K", "M", "B", "k") else value)


def _name(row: Row) -> str:
    return re.sub(r"^(?:total |maximum )?number of ", "", str(row["name"]))
