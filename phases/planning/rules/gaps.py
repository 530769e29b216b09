"""What a plan needs and no rule found in the paper: values that are used, formulas that are pointed to, settings of a training.

Each is looked for in the whole text, tables and appendices too; and the words say "not found", since a rule may miss what a
person sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from phases.planning.rules.cues import says_what_is_set
from phases.planning.rules.numbers import WORDS, fold
from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP

Row = dict[str, Any]
_MOST_NAMED, _BEGINNING, _MOST_SEARCHED = 8, 30, 60
"""How many formulas a row names, how many letters of one are looked for, and how many names are looked for in the whole text."""
_CONSTANT = re.compile(
    r"(?<![\w.>])(?!(?:NULL|INFINITY|INFTY)\b)([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4,})\b(?! ?[(\w])"
)
_RECKONED = r"(?:[-+*/∗·×<≤≥%]|(?<!-)>|\bmod|\.\.|(?<=[0-9] )to|\bdownto)"
"""A sign that reckons with a number, or orders it: what a constant without one may stand for need not be a number."""
_NUMBER = rf"(?:[0-9]|\b(?:{'|'.join([*WORDS, 'thousand'])})\b)"
_NUMBERED = re.compile(r"\(?(?:[A-Z]\.?)?[0-9]+(?:\.[0-9]+)*[a-z]?\)?")
_DIGITS = re.compile(r"\(([0-9]{1,2})[a-z]?\)")
_EQUATION = re.compile(r"\b[Ee]q(?:uations?|ns?|s)?\.? ?\(?([0-9]{1,2})\b")
_FIGURE = re.compile(r"\b[Ff]ig(?:ures?|s?\.) ?([0-9]{1,2})\b(?!\.[0-9])")
_PICTURE = re.compile(r"\s{0,4}> In the picture: ([^\n]+)")
_RELATES = re.compile(r"[=←≡∣]|:=")
_LONGEST_WRITTEN, _MOST_COUNTED, _MOST_MISSING = 300, 60, 0.4
"""Of a picture's text; the highest number of formulas that are counted, and what share of them may be missing."""
_NO_LETTERS = re.compile(r"\\(?:begin|end) ?\{\w+\*?\}|\\(?:tag|label) ?\{[^{}]*\}")
_CALL = re.compile(r"(?<![\w\\])([a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+) ?\(")
_NEAR = 20
_SET_TO = re.compile(
    rf"[^.;]{{0,50}}?(?:=|←|:|\||\b(?:is|to|of|as|with|by|at)\b|[({{∈])[^.;\w]{{0,6}}{_NUMBER}", re.IGNORECASE
)
_SET_BEFORE = re.compile(rf"(?:#define|{_NUMBER}) $", re.IGNORECASE)
_BY_GRADIENT = re.compile(
    r"\b(?:AdamW?|SGD|stochastic gradient descent|RMSProp|Adagrad|Adafactor|fine-?tun\w+|back-?propagat\w+)\b",
    re.IGNORECASE,
)
_TRAINS = re.compile(
    r"\b(?:we|is|are|was|were) (?:\w+ )?(?:pre-?|fine-?)?(?:train(?:ed)?|tuned?|optimi[sz]ed?)\b", re.IGNORECASE
)
_TRAINING = {
    "learning rate": rf"(?:learning[- ]rates?|step[- ]?sizes?|\blrs?\b)[^.;]{{0,90}}?{_NUMBER}"
    rf"|{_NUMBER}[^.;]{{0,30}}(?:learning[- ]rate|step[- ]?size)|(?:\\eta|η)[^.;]{{0,12}}= ?{_NUMBER}",
    "batch size": rf"batch(?:es|[- _]?sizes?)?\b[^.;]{{0,60}}?{_NUMBER}|{_NUMBER}[^.;]{{0,25}}(?:mini-?)?batch"
    r"|full[- ]batch|(?:single|one) (?:example|sample) at a time",
    "number of epochs or steps": rf"{_NUMBER}[^.;]{{0,25}}(?:epochs?|steps|iterations|updates|episodes|games|passes)\b"
    rf"|(?:epochs?|steps|iterations|updates|episodes)\b[^.;]{{0,40}}?{_NUMBER}|early stopping|until convergence",
    "random seed, or how many runs are made": r"\bseeds?\b|(?:runs|trials|repetitions|repeated|averaged? over)\b|\btimes\b",
}
"""What every training by gradients needs, and how a text gives it."""


def gaps_of(
    paper: PaperText, requirements: Sequence[Row], components: Sequence[Row], values: Sequence[Row]
) -> list[Row]:
    """Rows of `uncertain` for what a plan uses and the paper was not found to say; the most costly first."""
    text = " ".join(fold(paper.text.replace("\\_", "_"))[0].split())
    return [
        *_equations(paper, requirements, components),
        *_numbers_left_out(paper),
        *_figures(paper, requirements, components),
        *_constants(text, components),
        *_training(text, paper, values),
        *_calls(text, components),
    ]


def _constants(text: str, components: Sequence[Row]) -> Iterator[Row]:
    """Constants in capitals that the lines of an algorithm reckon with, and that nothing sets to a number."""
    seen: set[str] = set()
    for row in components:
        for number, line in enumerate(row.get("steps", ()), 1):
            for name in dict.fromkeys(_CONSTANT.findall(line)):
                is_reckoned = re.search(rf"{_RECKONED} ?{name}\b|\b{name} ?{_RECKONED}", line)
                if name in seen or not is_reckoned or len(seen) > _MOST_SEARCHED:
                    continue
                seen.add(name)
                if _is_given(name, text):
                    continue
                place = f"{row['algorithm']}, line {number}" if row.get("algorithm") else row["name"]
                yield {"about": row["id"], "what": f"Not found in the paper: the value of {name} ({place})."}


def _is_given(name: str, text: str) -> bool:
    """Whether a text sets a name to a number anywhere, in a sentence, a table or a listing."""
    spelled = "|".join({re.escape(name), re.escape(name.replace("_", " "))})
    return any(
        _SET_TO.match(text, found.end()) or _SET_BEFORE.search(text[max(0, found.start() - _NEAR) : found.start()])
        for found in re.finditer(rf"(?:{spelled})\b", text, re.IGNORECASE)
    )


def _calls(text: str, components: Sequence[Row]) -> Iterator[Row]:
    """Functions with a name of several words that an algorithm calls, and that stand nowhere else in the paper."""
    lines = [
        (row, number, line) for row in components for number, line in enumerate(row.get("steps", ()), 1) if "(" in line
    ]
    every = "\n".join(line for _, _, line in lines)
    seen: set[str] = set()
    for row, number, line in lines:
        for name in _CALL.findall(line):
            if name in seen or len(seen) > _MOST_SEARCHED:
                continue
            seen.add(name)
            word = rf"(?<!\w){re.escape(name)}(?!\w)"
            is_told = len(re.findall(word, text)) > len(re.findall(word, every)) or re.search(
                rf"^[ \t]*(?:[\w*]+ +)+\*? ?{name} ?\(|\b(?:procedure|function|def) +{name}\b"
                rf"|^{name} ?\([^;\n]*\)(?:: ?\w+)? ?\{{?$",
                every,
                re.MULTILINE | re.IGNORECASE,
            )
            if not is_told:
                place = f"{row['algorithm']}, line {number}" if row.get("algorithm") else row["name"]
                what = f"Not found in the paper: what {name} does, which {place} calls."
                yield {"about": row["id"], "what": what}


def _training(text: str, paper: PaperText, values: Sequence[Row]) -> Iterator[Row]:
    """What a training by gradients needs; nothing of a paper that does not say that it trains so."""
    told = (one for one in paper.sentences if one.role in (BUILD, SETUP, MIXED) and _TRAINS.search(one.text))
    first = next((one for one in told if _BY_GRADIENT.search(one.text) and says_what_is_set(one.text)), None)
    if first is None:
        return
    known = [str(row["name"]).lower() for row in values]
    missing = [
        name
        for name, pattern in _TRAINING.items()
        if not re.search(pattern, text, re.IGNORECASE) and not any(name in other for other in known)
    ]
    if missing:
        number = first.section["number"]
        place = f"section {number}, p. {first.page}" if number else f"p. {first.page}"
        yield {"what": f"Not found in the paper, though it trains a model ({place}): the {'; the '.join(missing)}."}


def _equations(paper: PaperText, requirements: Sequence[Row], components: Sequence[Row]) -> Iterator[Row]:
    """Numbered formulas of what is built that the plan does not have, or not to their end."""
    rows = [_letters(text) for row in components for text in row.get("equations", ())]
    rows += [_letters(f"{row['text']} {row.get('formula', '')}") for row in requirements]
    shown = " ".join(rows)
    said = " ".join(
        [*(row["text"] for row in requirements), *(line for row in components for line in row.get("steps", ()))]
    )
    pointed = {f"({number})" for number in _EQUATION.findall(said)}
    lacking: list[str] = []
    cut: list[str] = []
    for row in paper.outline["equations"]:
        letters = _letters(paper.text[row["start"] : row["end"]].replace(row["label"] or "()", " "))
        if not _NUMBERED.fullmatch(row["label"]) or not letters or letters in shown:
            continue
        # another formula may begin with the same letters
        if any(letters.startswith(one[at:]) for one in rows if (at := one.find(letters[:_BEGINNING])) >= 0):
            cut.append(row["label"])
        elif paper.roles.get(row["section"]) in (BUILD, MIXED, SETUP) or row["label"] in pointed:
            lacking.append(row["label"])
    for labels, what in ((lacking, "not in the plan"), (cut, "cut short in the plan")):
        if labels:
            named = ", ".join(labels[:_MOST_NAMED])
            more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
            verb = "Equation {} is" if len(labels) == 1 else "Equations {} are"
            yield {
                "what": f"{verb.format(named + more)} {what}: read {'it' if len(labels) == 1 else 'them'} in the paper."
            }


def _numbers_left_out(paper: PaperText) -> Iterator[Row]:
    """Numbers of formulas that none has of those that were read, where most have theirs."""
    labels = {int(label[1]) for row in paper.outline["equations"] if (label := _DIGITS.fullmatch(row["label"]))}
    inside = " ".join(row["text"].replace(" ", "") for row in paper.outline["equations"])
    last = max(labels, default=0)
    missing = [
        number
        for number in range(1, last if last <= _MOST_COUNTED else 0)
        if number not in labels
        and f"({number})" not in inside
        and not re.search(rf"\\tag\{{{number}\}}|\({number}\)[ \t.]*(?:\$\$[ \t]*)?$", paper.text, re.MULTILINE)
    ]
    if missing and len(missing) < _MOST_MISSING * last:
        named = ", ".join(map(str, missing[:_MOST_NAMED]))
        verb, it = ("Equations {} were", "them") if len(missing) > 1 else ("Equation {} was", "it")
        yield {
            "what": f"{verb.format(named)} not found as {'formulas' if it == 'them' else 'a formula'}: read {it} in the paper."
        }


def _figures(paper: PaperText, requirements: Sequence[Row], components: Sequence[Row]) -> Iterator[Row]:
    """Drawings that a requirement points to: what is written in them, else where they are."""
    shown = {_FIGURE.sub(r"\1", str(row.get("algorithm", ""))) for row in components}
    pointing: dict[str, list[str]] = {}
    for row in requirements:
        for number in _FIGURE.findall(row["text"]):
            pointing.setdefault(number, []).append(row["id"])
    drawn: list[tuple[str, str]] = []
    for row in paper.outline["figures"]:
        number = _FIGURE.sub(r"\1", row["label"])
        names = ", ".join(pointing.pop(number, [])[:_MOST_NAMED])
        if not names or number in shown or paper.roles.get(row["section"]) == RESULTS:
            continue
        place = f"Figure {number}, p. {row['page']}" if row["page"] else f"Figure {number}"
        written = _PICTURE.match(paper.text, row["end"])
        if written and _RELATES.search(written.group(1)):
            yield {"about": names, "what": f"In {place} stands: {written.group(1)[:_LONGEST_WRITTEN]}"}
        else:
            drawn.append((names, place))
    if drawn:
        about = ", ".join(dict.fromkeys(name for names, _ in drawn for name in names.split(", ")))
        yield {
            "about": about,
            "what": f"What is drawn is not in the plan: see {'; '.join(place for _, place in drawn)}.",
        }


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", fold(_NO_LETTERS.sub(" ", text))[0]).lower()
