"""Find the parts of the method: its algorithms and listings as printed, its headings, and the things it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from phases.planning.plan_words import is_in_formula
from phases.planning.rules.names import NAME, is_same, is_telling, letters_of, short_forms
from phases.planning.rules.passages import PaperText, Sentence, quote_start, source_of
from phases.planning.rules.requirements import Requirement, has_hole, why_not
from phases.planning.rules.sections import BUILD, MIXED, SETUP, Section, is_named_after_content, split_heading
from phases.planning.rules.sentences import sentences_of

MOST, MOST_LINES, _MOST_NAMED = 24, 200, 12
_FAR, _FEWEST_LINES, _LONGEST_LEAD, _LONGEST_LINE, _OFTEN = 4_000, 3, 100, 900, 3
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_NUMBER_OF_LINE = re.compile(r"([0-9]{1,3}[:.)]?) +(?=\S)")
_CODE = re.compile(
    r"(?:if|then|for|while|repeat|return|else|until|end|begin|def|import|function|procedure|input|output|require|ensure)\b|class \w+ ?[(:{]|>>>"
    r"|.{0,200}?(?::=|←|<- |\\leftarrow)|.{0,200}?\w\([^|]{0,300}\);?$|.{0,200}[;{}]$|.{0,80}?\w ?= ?\w",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(
    r"(?:our |the |proposed )*(?:overview|method(?:s|ology)?|approach|model|algorithms?|design|architecture|system|framework|notation|problem"
    r"|preliminaries|definitions?|setup|implementation|details|overall|appendix|formulation|problem (?:setup|statement|formulation|definition)"
    r"|proposed (?:method|approach|model)|methods and materials|experiments?|discussion|materials?|方法|算法|模型)",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:the|our|an?|proposed|using|on|description of|details (?:of|on)|overview of|essentials of|[a-z]+ing (?:the|an?|our)) )+",
    re.IGNORECASE,
)
_TITLE_OF_ALGORITHM = re.compile(r"^[\s:.*_]+|(?: (?:algorithm|procedure))?[\s:.]*$", re.IGNORECASE)
_PHRASE = re.compile(rf"(?<=[a-z,(] )((?:{NAME})(?:[ -](?:{NAME})){{0,3}})(?=[\s.,;:)])")
_PLAIN_WORD = re.compile(r"[a-z][a-z-]{3,}")
_ORDINARY = re.compile(
    r"(?:(?:th|wh)\w{2,4}|with|from|into|have|been|will|each|such|same|more|most|other|than|over|also|only|both|some|many|very|case|number"
    r"|given|first|second|third|last|next|following|different|previous|single|original|above|below|current|final|possible|respect"
    r"|paper|work|section|figure|table|example|result\w*|experiment\w*|method\w*|approach\w*|we|our|all|any|two|three|one|between"
    r"|within|without|during|after|before|well|used|using|based|set|see|how|does|make|take|need|must|should|could|would)|\w+(?:ed|ly|ing)"
)
"""Words that begin or end no name of a part."""
Row = dict[str, Any]


@dataclass
class Component:
    """A part of the method, where it is described and what is printed of it."""

    name: str
    section: Section
    page: int
    label: str = ""
    steps: list[str] = field(default_factory=list)
    sentence: Sentence | None = None
    equations: list[str] = field(default_factory=list)
    caption: str = ""
    rank: int = 0
    """0 for an algorithm, 1 for a heading, 2 for a listing, 3 for a named thing."""


def find_components(paper: PaperText, own: Sequence[str], others: Sequence[str]) -> list[Component]:
    """Return at most `MOST` parts in the order of the paper; `others` are names of data, measures and baselines."""
    found: list[Component] = []
    for one in (*_algorithms(paper), *_headings(paper), *_listings(paper), *_named(paper, own, others)):
        same = next(
            (known for known in found if _is_one(known.name, one.name) and not (known.label and one.label)), None
        )
        if same is None:
            found.append(one)
        elif one.steps and not same.steps:
            same.steps, same.label = one.steps, one.label
    kept = sorted(found, key=lambda one: one.rank)[:MOST]
    for one in kept:
        one.sentence = one.sentence or _sentence_about(one, paper)
    return sorted(kept, key=lambda one: (one.section.get("start", 0), one.page))


def assign(requirements: Sequence[Requirement], components: Sequence[Component], paper: PaperText) -> list[int | None]:
    """Return for each requirement the place of its component: one that it names, in its section or anywhere, else its section's."""
    return [_home(row, components, paper) for row in requirements]


def component_rows(
    components: Sequence[Component], homes: Sequence[int | None], requirements: Sequence[Row], paper: PaperText
) -> list[Row]:
    """The components as the plan holds them; each requirement is given its component. One with nothing to say is left out."""
    held = set(homes)
    kept = [at for at, one in enumerate(components) if at in held or one.steps or one.sentence or one.rank == 0]
    shown = [str(row["formula"]) for row in requirements if "formula" in row]
    _add_equations([components[at] for at in kept], shown, paper)
    numbers = {at: number for number, at in enumerate(kept, 1)}
    rows = []
    for at in kept:
        one = components[at]
        said = one.sentence.text if one.sentence else ""
        section, page = (one.sentence.section, one.sentence.page) if one.sentence else (one.section, one.page)
        mine = [row for row, home in zip(requirements, homes, strict=True) if home == at]
        rows.append(
            {
                "id": f"C{numbers[at]}",
                "name": one.name,
                "what": " ".join(filter(None, (said, one.caption))),
                "source": source_of(section, page, quote_start(said) if said else one.name),
                **({"algorithm": one.label} if one.label else {}),
                **({"steps": one.steps} if one.steps else {}),
                **({"equations": one.equations} if one.equations else {}),
                "requirements": [row["id"] for row in mine],
            }
        )
        for row in mine:
            row["component"] = f"C{numbers[at]}"
    return rows


def _algorithms(paper: PaperText) -> Iterator[Component]:
    sections = {one["id"]: one for one in paper.outline["sections"]}
    for row in paper.outline["algorithms"]:
        section = sections.get(row["section"])
        if section is None:
            continue
        said = list(sentences_of(str(row["text"])))
        name = _TITLE_OF_ALGORITHM.sub("", said[0] if said else "")
        name = name if 0 < len(name.split()) <= 10 else " ".join(name.split()[:10]) or row["label"]
        lines = _lines_of(paper, row)
        yield Component(name, section, row["page"], row["label"], lines, caption=" ".join(said[1:])[:600])


def _lines_of(paper: PaperText, row: Row) -> list[str]:
    own = paper.text[row["start"] : row["end"]]
    behind = paper.text[row["end"] : row["end"] + _FAR]
    match = _FENCE.search(own) or _FENCE.match(behind.lstrip())
    return _set_in(match.group(1).split("\n")) if match else []


def _set_in(lines: Sequence[str]) -> list[str]:
    """Return the lines as printed, with the blanks that set them in behind their numbers."""
    lines = [line for line in lines if line.strip()][:MOST_LINES]
    found = [_NUMBER_OF_LINE.match(line) for line in lines]
    widest = max((match.end(1) for match in found if match), default=-1) + 1
    padded = all(match.end() >= widest for match in found if match)
    made = []
    for line, match in zip(lines, found, strict=True):
        if match:
            depth = match.end() - (widest if padded else match.end(1) + 1)
            made.append(f"{match.group(1)} {' ' * depth}{' '.join(line[match.end() :].split())}"[:_LONGEST_LINE])
        else:
            text = line.expandtabs(4)
            blanks = len(text) - len(text.lstrip())
            made.append(" " * (max(blanks - widest, 0) if padded else blanks) + " ".join(text.split())[:_LONGEST_LINE])
    return made


def _listings(paper: PaperText) -> Iterator[Component]:
    """The code without a caption in sections of what is built or set up: one component for each section."""
    shown = [(row["start"], row["end"] + _FAR // 8) for row in paper.outline["algorithms"]]
    have = {letters_of(line) for row in paper.outline["algorithms"] for line in _lines_of(paper, row)}
    found: dict[str, Component] = {}
    end = 0
    for one in paper.listings:
        start = paper.text.find(one.text, end)
        end = start + len(one.text) if start >= 0 else end
        lines = [line for line in one.text.split("\n") if line.strip()]
        code = sum(bool(_CODE.match(_NUMBER_OF_LINE.sub("", line.strip(), count=1))) for line in lines)
        if (
            paper.roles.get(one.section["id"], BUILD) not in (BUILD, SETUP, MIXED)
            or len(lines) < _FEWEST_LINES
            or 2 * code < len(lines)
            or any(first <= start < last for first, last in shown)
            or all(letters_of(line) in have for line in lines)
        ):
            continue
        lead = _lead_of(paper.text, start)
        home = found.setdefault(
            one.section["id"], Component(_name_of(one.section) or "Listing", one.section, one.page, rank=2)
        )
        home.steps = [*home.steps, *([lead] if lead else []), *_set_in(lines)][:MOST_LINES]
    yield from found.values()


def _lead_of(text: str, start: int) -> str:
    """Return the short paragraph before a fence that announces it."""
    before = text[max(start - 4 * _LONGEST_LEAD, 0) : max(start, 0)].rstrip().removesuffix("```").rstrip()
    said = " ".join(before.rpartition("\n\n")[2].split())
    return said if said.endswith(":") and len(said) <= _LONGEST_LEAD and said[0] not in "#>|<" else ""


def _headings(paper: PaperText) -> Iterator[Component]:
    for section in paper.outline["sections"]:
        name = _name_of(section)
        if name and paper.roles.get(section["id"]) == BUILD:
            yield Component(name, section, section["page"], rank=1)


def _name_of(section: Section) -> str:
    """Return what a heading names, without articles and brackets; empty where it names nothing of its own."""
    title = split_heading(section["title"])[0]
    plain = _LEADING.sub("", re.sub(r"\$", "", title).strip(" .:"))
    if re.search(r"\b(?:is|are|vs\.?|does|do|can|improves?|helps?|matters?)\b|\?", plain) or re.match(
        r"Vignette|Case study|Example", plain
    ):
        return ""
    if not plain or _NOT_A_NAME.fullmatch(plain) or not is_named_after_content(title) or len(plain.split()) > 9:
        return ""
    return plain if plain[0].isdigit() else plain[0].upper() + plain[1:]


def _named(paper: PaperText, own: Sequence[str], others: Sequence[str]) -> Iterator[Component]:
    """Names in sections of what is built, run-in headings first, then what is named most often."""
    built = [one for one in paper.sentences if one.role == BUILD]
    seen: dict[str, Sentence] = {}
    counts = Counter[str]()
    for one in built:
        if one.head and 1 <= len(one.head.split()) <= 5 and not _NOT_A_NAME.fullmatch(one.head):
            counts[one.head] += _OFTEN
            seen.setdefault(one.head, one)
        names = [name for name in _PHRASE.findall(one.text) if is_telling(name.split()[0]) or " " in name]
        words = one.text.split()
        for first, second in zip(words, words[1:], strict=False):
            if _PLAIN_WORD.fullmatch(first) and (last := second.rstrip(".,;:)")) and _PLAIN_WORD.fullmatch(last):
                if not (_ORDINARY.fullmatch(first) and not first.endswith("ing")) and not _ORDINARY.fullmatch(last):
                    names.append(f"{first} {last.removesuffix('s') if not last.endswith('ss') else last}")
        for name in dict.fromkeys(names):
            counts[name] += 1
            seen.setdefault(name, one)
    for short, long in short_forms(" ".join(one.text for one in built)).items():
        if short in counts and long not in own:
            counts[short] += 1
    taken: list[str] = []
    for name, count in counts.most_common():
        if len(taken) >= _MOST_NAMED or count < _OFTEN:
            return
        if not any(is_same(name, other) for other in (*others, *taken)):
            taken.append(name)
            yield Component(name, seen[name].section, seen[name].page, rank=3)


def _is_one(one: str, other: str) -> bool:
    first, second = _words_of(one), _words_of(other)
    return is_same(one, other) or bool(first and second and len(first & second) >= 0.75 * max(len(first), len(second)))


def _words_of(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {
        word.rstrip("s")
        for word in words
        if len(word) > 2 and word not in ("the", "and", "for", "with", "from", "algorithm")
    }


def _sentence_about(one: Component, paper: PaperText) -> Sentence | None:
    """Return the first readable sentence that names a component, preferably in its section, else the first of its section."""
    words = _words_of(one.name)
    pointer = re.compile(rf"\b{re.escape(one.label)}\b") if one.label else None
    best: tuple[float, Sentence] | None = None
    for said in paper.sentences:
        if (
            said.role not in (BUILD, SETUP, MIXED)
            or has_hole(said.text)
            or not 30 < len(said.text) < 400
            or not said.text[0].isupper()
        ):
            continue
        here, share = said.section["id"] == one.section["id"], len(words & _words_of(said.text)) / max(len(words), 1)
        score = share + 0.6 * here + 0.5 * bool(pointer and pointer.search(said.text)) - 0.7 * bool(why_not(said.text))
        if (here or share > 0.6 or (pointer and pointer.search(said.text))) and (best is None or score > best[0]):
            best = (score, said)
    return best[1] if best and best[0] >= 0.6 else None


def _home(row: Requirement, components: Sequence[Component], paper: PaperText) -> int | None:
    """Return the component that most of a requirement's section and words speak for."""
    section, said = row.last.section["id"], _words_of(row.text)
    around = [section, *(one["id"] for one in paper.around.get(section, ()))]
    best, home = 0.0, None
    for at, one in enumerate(components):
        words = _words_of(one.name)
        share = len(words & said) / len(words) if words else 0.0
        near = 1.0 if one.section["id"] == section else 0.4 if one.section["id"] in around else 0.0
        near = near if row.last.role == BUILD or one.section["id"] == section else near / 2
        score = near + (share if share >= 0.6 else 0.3 * share) + 0.05 * (one.rank == 1)
        if score > best and (near or (share == 1.0 and len(words) > 1)):
            best, home = score, at
    return home


def _add_equations(components: Sequence[Component], shown: Sequence[str], paper: PaperText) -> None:
    """Give each numbered equation that no requirement prints to the component of its section."""
    for row in paper.outline["equations"]:
        text = " ".join(str(row["text"]).split())
        label = str(row["label"] or "")
        home = next((one for one in components if one.section["id"] == row["section"]), None)
        if home is None or not label or any(is_in_formula(text, formula) for formula in shown):
            continue
        home.equations.append(text if text.startswith(label) else f"{label} {text}")
