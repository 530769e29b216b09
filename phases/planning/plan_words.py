"""Read a plan and write its rows for people: its language and packages; formulas as text, places, values, ranges of ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
_LISTS = ("requirements", "components", "values", "expected_results", "experiments")
_ID = re.compile(r"\b[RCVEX][0-9]+\b")
_INLINE = re.compile(r"\$([^$\n]{1,2000})\$")
_NUMBER = re.compile(r"^\([^()]{1,8}\) ")
"""Of an equation, before it."""
"""Above the requirements of no component that the file of the data holds."""
_ONLY_PAGE = re.compile(r"(?:,| on) page 1(?=\)|: “|$)| \(p\. 1\)")
"""Of texts that name the page of a table or a figure, where there is but one page."""
_LONGEST, _DEPTH = 4_000, 12
"""Of a formula: what is longer or deeper is shown as it stands."""
_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303",
            "widetilde": "\u0303", "dot": "\u0307", "vec": "\u20d7"}  # fmt: skip
_SIGNS = {
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "sim": "~", "equiv": "≡",
    "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "cup": "∪", "cap": "∩", "emptyset": "∅", "forall": "∀",
    "exists": "∃", "setminus": "∖", "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞", "cdot": "·",
    "times": "×", "pm": "±", "odot": "⊙", "oplus": "⊕", "otimes": "⊗", "circ": "∘", "to": "→", "rightarrow": "→",
    "leftarrow": "←", "Rightarrow": "⇒", "mapsto": "↦", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "ldots": "…", "cdots": "…", "dots": "…", "ell": "ℓ", "prime": "′", "mid": "|",
    "top": "ᵀ", "propto": "∝", "ll": "≪", "gg": "≫", "neg": "¬", "land": "∧", "lor": "∨", "quad": " ", "qquad": " ",
    "left": "", "right": "", "limits": "", "big": "", "bigl": "", "bigr": "", "Big": "", "Bigl": "", "Bigr": "",
    "displaystyle": "", "surd": "√", "parallel": "‖", "Vert": "‖", "lVert": "‖", "rVert": "‖", "vert": "|", "lvert": "|",
    "rvert": "|", "rm": "", "bf": "", "it": "", "sf": "", "tt": "", "cal": "", "bm": "", "boldsymbol": "", "mathstrut": "",
    "wedge": "∧", "vee": "∨", "prec": "≺", "preceq": "⪯", "succ": "≻", "succeq": "⪰", "supset": "⊃", "supseteq": "⊇", "perp": "⊥",
    "bot": "⊥", "triangleright": "▷", "gets": "←", "leftrightarrow": "↔", "Leftrightarrow": "⇔", "iff": "⇔", "implies": "⇒",
    "longrightarrow": "→", "ast": "∗", "star": "⋆", "bullet": "•", "mp": "∓", "simeq": "≃", "cong": "≅", "lnot": "¬",
    "sqsubseteq": "⊑", "aleph": "ℵ", "hbar": "ℏ", "dagger": "†", "colon": ":", "nonumber": "",
    "varepsilon": "ε", "varphi": "φ", "vartheta": "θ",
}  # fmt: skip
_GROUP = re.compile(r"(\\[A-Za-z]+|[_^]|(?<!\})(?<!\} ))[ ]?\{([^{}]*)\}(?:[ ]?\{([^{}]*)\})?")
_BARE_ACCENT = re.compile(rf"\\({'|'.join(_ACCENTS)}) ([^\W\d_])")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_CASES = re.compile(r"\\begin\{cases\}(.*?)\\end\{cases\}", re.DOTALL)
_AROUND = re.compile(r"\\(?:begin|end) ?\{[a-z]+\*?\}(?:(?<=array\})(?:\[[tcb]\])?\{[lcr|@ ]{1,20}\})?")
_BARE_FRACTION = re.compile(r"(\\[dtc]?frac) ?([0-9])(?: ?([0-9A-Za-z])(?![0-9A-Za-z])|(?=\{))")
_NUMBERED = re.compile(r"([0-9]{1,3})(?:[:.)](?![0-9=])(\s*)|(\s+))(?=\S)")
_NAMED_STEP = re.compile(r"(?:Step|Stage|Phase|Rule)\s+\S*[0-9]|\(?[0-9a-z]{1,3}\)\s")
_DEEPEST_STEP = 24
"""Blanks in front of a step, at most."""
_FEWEST_OF_RUN, _MOST_STEPS = 3, 1_000
"""So many lines that are counted from 1 are numbered, however many go on below them; and more than a number of a line can be."""
_FUNCTION_NAMES = """arccos arcsin arctan arg argmax argmin cos cosh cot det dim exp gcd inf ker lg lim ln log max min Pr
sin sinh sup tan tanh"""
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_SCALED = frozenset(("scalebox", "raisebox", "rotatebox", "textcolor", "color"))
"""Before a formula in braces, with a number or a colour in braces of its own."""
_FRACTIONS = frozenset(("frac", "dfrac", "tfrac", "cfrac"))


class Step(NamedTuple):
    """A line of an algorithm: its number, if any, its indentation and its text."""

    number: str
    depth: int
    text: str


def read_aloud(text: str) -> str:
    """Return the words with formulas between `$` as plain text: `$d_{model}$` as d_model."""
    return _INLINE.sub(lambda match: read_formula(match.group(1)), text)


def read_formula(formula: str) -> str:
    """Return a LaTeX formula as one line of text, like softmax(QK^T/√d_k) V; unknown commands keep their names."""
    if len(formula) > _LONGEST:
        return formula
    text = _CASES.sub(_write_cases, formula).replace("\\|", "‖")
    text = text.replace("\\{", "\ue000").replace("\\}", "\ue001").replace("\\\\", "; ")
    text = _BARE_FRACTION.sub(lambda match: f"{match[1]}{{{match[2]}}}" + (f"{{{match[3]}}}" if match[3] else ""), text)
    text = re.sub(r"\\[,;:! ]", " ", _AROUND.sub(" ", text)).replace("~", " ").replace("&", " ").replace("$", "")
    text = re.sub(r" +([_^])", r"\1", _COMMAND.sub(_write_sign, text))
    text = _BARE_ACCENT.sub(r"\\\1{\2}", text)
    for _ in range(_DEPTH):
        made = _GROUP.sub(_write_group, text)
        if made == text:
            break
        text = made
    text = _COMMAND.sub(r"\1 ", text).replace("{", "").replace("}", "")
    text = text.replace("\ue000", "{").replace("\ue001", "}").replace("\\", "")
    text = re.sub(r"([(\[]) +", r"\1", " ".join(text.split()))
    return re.sub(r" +([)\],;]|\.(?:\s|$))", r"\1", text).replace(",;", ";")


def _write_group(match: re.Match[str]) -> str:
    head, inside, second = match.group(1) or "", match.group(2).strip(), match.group(3)
    name = head.removeprefix("\\")
    after = "" if second is None else f"{{{second}}}"
    if name in _FRACTIONS:
        if second is None:
            return match.group()  # what is below is not written yet
        below = second.strip()
        return f"{_enclose(inside)}/{below if re.fullmatch(r'[0-9.]+|.', below) else f'({below})'}"
    if name == "tag":
        return f" ({inside}){after}"
    if name in _FUNCTIONS:
        return f"{name}({inside}){after}"
    if name in _SCALED:
        return f" {second or ''}"
    if name == "sqrt":
        return f"√{_enclose(inside)}{after}"
    if name in _ACCENTS:
        return unicodedata.normalize("NFC", inside + _ACCENTS[name]) + after if len(inside) == 1 else inside + after
    if head in ("_", "^"):
        return f"{head}{_enclose(inside)}{after}"
    return f"{inside}{after}"


def _write_cases(match: re.Match[str]) -> str:
    """Return cases on one line: { 1 if x > 0; 0 otherwise }."""
    return f"\\{{ {match.group(1).replace('&', ' ').strip()} \\}}"


def _write_sign(match: re.Match[str]) -> str:
    name = match.group(1)
    if name in _SIGNS:
        return _SIGNS[name]
    size = "CAPITAL" if name[:1].isupper() else "SMALL"
    try:
        # Unicode spells one of them otherwise
        return unicodedata.lookup(f"GREEK {size} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")
    except KeyError:
        return match.group()


def _enclose(text: str) -> str:
    return text if len(text) < 2 or re.fullmatch(r"\\?[A-Za-z0-9.]+", text) else f"({text})"


ABSENT = "assumed"


def name_place(row: Row) -> str:
    """Return "3.1, p. 3"; "p. 3" without a section, "3.1" without a page."""
    source = row["source"]
    if source["section"] == "review":
        return "asked for"
    place = ", ".join(filter(None, (source["section"], name_page(source["page"]))))
    return place or (ABSENT if row.get("status") == "missing" else "no place")


def name_page(page: int) -> str:
    """Return "p. 3"; empty for page 0."""
    return f"p. {page}" if page else ""


def without_only_page(plan: Row) -> Row:
    """Return the plan without pages where all of it is on page 1, as with LaTeX."""
    rows = [row for value in plan.values() if isinstance(value, list) for row in value if isinstance(row, Mapping)]
    pages = {int(place.get("page") or 0) for row in rows for place in (row, row.get("source", {}))}
    return {**plan, **_clear_pages(plan)} if max(pages, default=0) == 1 else plan


def _clear_pages(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _clear_pages(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clear_pages(inner) for inner in value]
    if key in ("what", "table"):
        return _ONLY_PAGE.sub("", value)
    return 0 if key == "page" else value


def write_value(row: Row) -> str:
    """Return the value or values of a row with the unit."""
    shown = str(row["value"]) if "value" in row else ", ".join(map(str, row["values"]))
    unit = str(row.get("unit") or "")
    return shown if not unit else f"{shown}{unit}" if unit == "%" else f"{shown} {unit}"


def write_printed(row: Row) -> str:
    """Return the value as the paper prints it where that differs from the value; else an empty text."""
    return f"printed as {row['printed']}" if row.get("printed") else ""


def name_value(row: Row) -> str:
    """Return the name of a value with its symbol."""
    symbol = row.get("symbol")
    return f"{row['name']} ({read_formula(symbol)})" if symbol and symbol != row["name"] else read_aloud(row["name"])


def write_ids(ids: Iterable[str]) -> str:
    """Return ids with consecutive ones as a range: R1–R4, R7."""
    runs: list[list[str]] = []
    for one in ids:
        if runs and one[0] == runs[-1][-1][0] and int(one[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def describe_row(plan: Row, identifier: str) -> str:
    """Return a row of a plan as one line, by its id; empty where there is none."""
    row = next((row for name in _LISTS for row in plan.get(name, ()) if row.get("id") == identifier), None)
    if row is None:
        return ""
    if identifier[0] == "V":
        told = [write_value(row), write_printed(row), f"of {row['owner']}", row.get("condition", "")]
        return f"{name_value(row)} = {', '.join(filter(None, told))} ({name_place(row)})"
    if identifier[0] == "E":
        return f"{row['row']}, {row['column']}: {write_value(row)} ({_name_table(row)})"
    said = read_aloud(str(row.get("text") or row.get("name") or row.get("what")))
    return f"{said} ({name_place(row)})" if "source" in row else said


def group_doubts(plan: Row) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Return each doubt with its rows; equal doubts about several tables are joined."""
    said: dict[str, list[Row]] = {}
    for row in plan.get("uncertain", ()):
        about = str(row.get("about") or "")
        said.setdefault(row["what"].replace(about, "\n") if about else row["what"], []).append(row)
    for alike in said.values():
        places = [str(row.get("about") or "") for row in alike]
        named = [(one, told) for one in _ID.findall(", ".join(places)) if (told := describe_row(plan, one))]
        what, unnamed = alike[0]["what"], [place for place in places if place and not named]
        head = f"{unnamed[0]}: " if unnamed and unnamed[0] not in what else ""
        more = f" The same of {', '.join(unnamed[1:])}." if unnamed[1:] else ""
        yield f"{head}{what}{more}", named


def steps_of(component: Row) -> list[Step]:
    """Return the lines of a component's algorithm without its title, numbered as the paper does where it does.

    In the plan a step is set in by blanks in front of it or behind its number; the least deep one stands at 0 here.
    """
    label = str(component.get("algorithm") or "")
    title = re.compile(rf"{re.escape(label)}(?![0-9])")
    lines = [line for line in component.get("steps", ()) if not label or not title.match(line.lstrip())]
    own = _clear_misread([_split_step(line) for line in lines], lines)
    counted = [int(step.number) for step in own if step.number]
    is_most = 2 * len(counted) > len(lines)
    is_run = len(counted) >= _FEWEST_OF_RUN and counted == list(range(1, len(counted) + 1))
    if counted != sorted(set(counted)) or not (is_most or is_run):
        is_named = 2 * sum(bool(_NAMED_STEP.match(line.lstrip())) for line in lines) > len(lines)
        numbers = ["" if is_named else str(number) for number in range(1, len(lines) + 1)]
        # several listings in one are counted anew, and two numbers in a line mislead
        bare = own if is_most or counted.count(1) > 1 else [Step("", _depth_of(line), line.strip()) for line in lines]
        own = [step._replace(number=number) for number, step in zip(numbers, bare, strict=True)]
    least = min((step.depth for step in own), default=0)
    return [step._replace(depth=min(step.depth - least, _DEEPEST_STEP)) for step in own]


def _clear_misread(steps: Sequence[Step], lines: Sequence[str]) -> list[Step]:
    """Return the steps without misread numbers: those that do not fit between their consecutive neighbours.

    One that is written otherwise than the others is no number of a line: it stays in its text.
    """
    numbers = [int(step.number) for step in steps if step.number]
    signs = [_sign_behind(line) for step, line in zip(steps, lines, strict=True) if step.number]
    usual = max(set(signs), key=signs.count, default="")
    after = iter([*numbers[1:], _MOST_STEPS])
    found, before = [], 0
    for step, line in zip(steps, lines, strict=True):
        following = next(after) if step.number else 0
        if not step.number or before < int(step.number) < following or before >= following:
            found.append(step)
            before = int(step.number or before)
        elif _sign_behind(line) == usual:
            found.append(step._replace(number=""))
        else:
            found.append(Step("", _depth_of(line), line.strip()))
    return found


def _sign_behind(line: str) -> str:
    """Return the sign between the number of a line and its text: a colon, a full stop, a bracket, or nothing."""
    return line.strip().lstrip("0123456789")[:1].strip()


def _split_step(line: str) -> Step:
    found = _NUMBERED.match(line.strip())
    if not found:
        return Step("", _depth_of(line), line.strip())
    blanks = (found[2] or found[3] or " ").expandtabs(4)
    return Step(found[1], _depth_of(line) + max(len(blanks) - 1, 0), line.strip()[found.end() :])


def _depth_of(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def group_mentions(plan: Row) -> Iterator[tuple[str, Sequence[Row]]]:
    """Return data sets, metrics and baselines, even where there are none; nothing for a plan without a paper."""
    kinds = (("data sets", "datasets"), ("metrics", "metrics"), ("baselines", "baselines"))
    if "tables" in plan or any(plan.get(key) for _, key in kinds):
        yield from ((name, plan.get(key, ())) for name, key in kinds)


def find_tellers(plan: Row) -> dict[str, str]:
    """Return for each component the row that already describes it in the same words."""
    told: dict[str, str] = {}
    for place, row in enumerate(plan.get("components", ())):
        says = [one["id"] for one in plan["requirements"] if row["what"] and row["what"] in one["text"]]
        # its own first: there nothing need be said again
        says.sort(key=lambda one: one not in row["requirements"])
        says += [one["id"] for one in plan["components"][:place] if one["what"] == row["what"]]
        told |= {row["id"]: says[0]} if says else {}
    return told


def is_in_formula(equation: str, formula: str) -> bool:
    """Return whether a numbered equation begins the last formula of a requirement, or a line of it."""
    bare = _NUMBER.sub("", equation).rstrip(" .…")
    return formula.startswith(bare) or f"\\\\ {bare}" in formula


def group_results(plan: Row) -> Iterator[tuple[str, list[Row]]]:
    """Return the expected results of each table, under "Table 2, p. 8"."""
    tables: dict[str, list[Row]] = {}
    for row in plan.get("expected_results", ()):
        tables.setdefault(_name_table(row), []).append(row)
    yield from tables.items()


def describe_tables(plan: Row) -> str:
    """ "results: Tables 2–3; settings: Table 1; not used (words and no numbers): Table 4, p. 6", or nothing."""
    kinds = {"results": "results", "settings": "settings", "data": "facts of the data", "none": "not used"}
    said: dict[str, list[str]] = {}
    for kind, told in kinds.items():
        for row in plan.get("tables", ()):
            if row["used_as"] == kind:
                why = row.get("why", "")
                names = said.setdefault(f"{told} ({why})" if why else told, [])
                names.append(_name_table(row) if why and "page" not in row["table"] else row["table"])
    return "; ".join(f"{told}: {_join_labels(names)}" for told, names in said.items())


def _join_labels(labels: Sequence[str]) -> str:
    """Return labels with consecutive ones as a range: Tables 2–4, Table 7."""
    runs: list[tuple[str, int, int]] = []
    for label in labels:
        number = re.fullmatch(r"(Table )([0-9]+)", label)
        name, place = (number[1], int(number[2])) if number else (label, -1)
        if runs and place > 0 and runs[-1][0] == name and runs[-1][2] + 1 == place:
            runs[-1] = (name, runs[-1][1], place)
        else:
            runs.append((name, place, place))
    return ", ".join(
        name if first < 0 else f"{name}{first}" if first == last else f"{name.rstrip()}s {first}–{last}"
        for name, first, last in runs
    )


def _name_table(row: Row) -> str:
    return ", ".join(filter(None, (row["table"], name_page(row["page"]))))


def count_rows(plan: Row) -> str:
    """Return "49 requirements, 18 components, …" for the parts that a plan has."""
    names = {"requirements": "requirement", "components": "component", "values": "value",
             "expected_results": "expected result", "file_structure": "file"}  # fmt: skip
    counts: Sequence[tuple[int, str]] = [(len(plan.get(key, ())), name) for key, name in names.items()]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)


def language_of(plan: Mapping[str, Any]) -> str:
    """Return the language of a plan without its version: of "C++17" C++, of "HTML/CSS/JavaScript" JavaScript."""
    names = [
        re.sub(r"[ \d.]+$", "", part.strip()) for part in re.split(r"[/,(]| and ", str(plan.get("language", "Python")))
    ]
    return next((name for name in names if name not in ("HTML", "CSS", "")), "JavaScript")


def is_python(plan: Mapping[str, Any]) -> bool:
    """Return whether the code of a plan is in Python."""
    return language_of(plan).casefold() == "python"


def pip_packages(plan: Mapping[str, Any]) -> list[str]:
    """Return the packages of a plan that pip installs: those of code in Python, and none of another language."""
    return list(plan["environment_setup"]["packages"]) if is_python(plan) else []
