"""Find the parts of the method: its algorithms and listings as printed, its headings, and the things it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from phases.planning.plan_words import is_in_formula
from phases.planning.rules.names import NAME, is_same, is_telling, letters_of
from phases.planning.rules.passages import PaperText, Sentence, quote_start, sentences_of, source_of
from phases.planning.rules.requirements import Requirement, has_hole, why_not
from phases.planning.rules.sections import BUILD, MIXED, SETUP, Section, is_named_after_content, split_heading

MOST, MOST_LINES, _MOST_NAMED = 24, 200, 16
_FAR, _FEWEST_LINES, _LONGEST_LINE, _OFTEN = 4_000, 3, 900, 3
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_NUMBER_OF_LINE = re.compile(r"([0-9]{1,3}[:.)]?) +(?=\S)")
_CODE = re.compile(
    r"(?:if|then|for|while|repeat|return|else|until|end|begin|def|import|function|procedure|input|output|require|ensure)\b"
    r"|class \w+ ?[(:{]|>>>|.{0,200}?(?::=|←|<- |\\leftarrow)|.{0,200}?\w\([^|]{0,300}\);?$|.{0,200}[;{}]$|.{0,80}?\w ?= ?\w",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(
    r"(?:our |the |proposed )*(?:overview|method(?:s|ology)?|approach|model|algorithms?|design|architecture|system|framework"
    r"|notation|problem|preliminaries|definitions?|setup|implementation|details|overall|appendix|formulation"
    r"|problem (?:setup|setting|statement|formulation|definition)|(?:proposed )?(?:methods?|approach(?:es)?|models?)"
    r"|results|training|building blocks"
    r"|refinements|(?:lemma|definition|theorem|assumption|corollary|proposition)\b.*|methods and materials|experiments?"
    r"|discussion|materials?|方法|算法|模型)",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"\b(?:is|are|vs\.?|does|do|can|improves?|helps?|matters?)\b|\?|^(?:Vignette|Case study|Example)")
_LEADING = re.compile(
    r"^(?:(?:the|our|an?|proposed|using|on|description of|details (?:of|on)|overview of|essentials of|[a-z]+ing (?:the|an?"
    r"|our)) )+",
    re.IGNORECASE,
)
_TITLE_OF_ALGORITHM = re.compile(r"^[\s:.*_]+|(?: (?:algorithm|procedure))?[\s:.]*$", re.IGNORECASE)
_PHRASE = re.compile(rf"(?<=[a-z,(] )((?:{NAME})(?: (?:{NAME})){{0,3}})(?=[\s.,;:)])")
_PLAIN_WORD = re.compile(r"[a-z][a-z-]{3,}")
_ORDINARY = re.compile(
    r"(?:(?:th|wh)\w{2,4}|with|from|into|have|been|will|each|such|same|more|most|other|than|over|also|only|both|some|many|very"
    r"|case|number|given|first|second|third|last|next|following|different|previous|single|original|above|below|current|final"
    r"|possible|respect|paper|work|section|figure|table|example|result\w*|experiment\w*|method\w*|approach\w*|we|our|all|any"
    r"|two|three|one|between|within|without|during|after|before|well|used|using|based|set|see|how|does|make|take|need|must"
    r"|should|could|would)|\w+(?:ed|ly|ing)"
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
    """0 for an algorithm and a listing, 1 for a heading, 2 for a named thing."""


def find_components(paper: PaperText, others: Sequence[str]) -> list[Component]:
    """Return at most `MOST` parts in the order of the paper; `others` are names of data, measures and baselines."""
    found: list[Component] = []
    offered = chain(_algorithms(paper), _headings(paper), _listings(paper), _named(paper, others))
    for one in islice(offered, 4 * MOST):
        if (same := next((known for known in found if _is_one(known, one)), None)) is None:
            found.append(one)
        else:
            same.steps = [*same.steps, *(step for step in one.steps if step not in same.steps)][:MOST_LINES]
            same.rank = min(same.rank, one.rank)
    kept = sorted(found, key=lambda one: one.rank)[:MOST]
    for one in kept:
        one.sentence = _sentence_about(one, paper)
    return sorted(kept, key=lambda one: (one.section.get("start", 0), one.page))


def assign(requirements: Sequence[Requirement], components: Sequence[Component], paper: PaperText) -> list[int | None]:
    """Return for each requirement the place of the component that most of its section and words speak for."""
    return [_home(row, components, paper) for row in requirements]


def component_rows(
    components: Sequence[Component], homes: Sequence[int | None], requirements: Sequence[Row], paper: PaperText
) -> list[Row]:
    """Return the components as rows of the plan and give each requirement its component; empty components are left out."""
    kept = [at for at, one in enumerate(components) if at in homes or one.steps or one.sentence or one.rank == 0]
    shown = [str(row["formula"]) for row in requirements if "formula" in row]
    _add_equations([components[at] for at in kept], shown, paper)
    rows = []
    for number, at in enumerate(kept, 1):
        one, said = components[at], components[at].sentence
        mine = [row for row, home in zip(requirements, homes, strict=True) if home == at]
        held = {"algorithm": one.label, "steps": one.steps, "equations": one.equations}
        rows.append(
            {
                "id": f"C{number}",
                "name": one.name,
                "what": " ".join(filter(None, (said.text if said else "", one.caption))),
                "source": source_of(said.section, said.page, quote_start(said.text))
                if said
                else source_of(one.section, one.page, one.name),
                **{key: value for key, value in held.items() if value},
                "requirements": [row["id"] for row in mine],
            }
        )
        for row in mine:
            row["component"] = f"C{number}"
    return rows


def _algorithms(paper: PaperText) -> Iterator[Component]:
    sections = {one["id"]: one for one in paper.outline["sections"]}
    for row in paper.outline["algorithms"]:
        title, *more = list(sentences_of(str(row["text"]))) or [""]
        name = " ".join(_TITLE_OF_ALGORITHM.sub("", title).split()[:10]) or row["label"]
        if section := sections.get(row["section"]):
            lines = _lines_of(paper, row)
            yield Component(name, section, row["page"], row["label"], lines, caption=" ".join(more)[:600])


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
        text = line.expandtabs(4)
        depth = len(text) - len(text.lstrip())
        depth = max(depth - widest, 0) if padded else depth
        if match:
            depth = match.end() - (widest if padded else match.end(1) + 1)
        number = f"{match.group(1)} " if match else ""
        made.append(f"{number}{' ' * depth}{' '.join(line[match.end() if match else 0 :].split())}"[:_LONGEST_LINE])
    return made


def _listings(paper: PaperText) -> Iterator[Component]:
    """Yield code without a caption in sections of the method or set-up: one component a section."""
    shown = {letters_of(line) for row in paper.outline["algorithms"] for line in _lines_of(paper, row)}
    found: dict[str, Component] = {}
    for one in paper.listings:
        lines = [line for line in one.text.split("\n") if line.strip()]
        code = sum(bool(_CODE.match(_NUMBER_OF_LINE.sub("", line.strip(), count=1))) for line in lines)
        is_built = paper.roles.get(one.section["id"], BUILD) in (BUILD, SETUP, MIXED)
        if not is_built or 4 * code < len(lines) or len(lines) < _FEWEST_LINES:
            continue
        if not all(letters_of(line) in shown for line in lines):
            name = _name_of(one.section) or "Listing"
            home = found.setdefault(one.section["id"], Component(name, one.section, one.page))
            home.steps = [*home.steps, *_set_in(lines)][:MOST_LINES]
    yield from found.values()


def _headings(paper: PaperText) -> Iterator[Component]:
    built = (section for section in paper.outline["sections"] if paper.roles.get(section["id"]) == BUILD)
    yield from (Component(name, one, one["page"], rank=1) for one in built if (name := _name_of(one)))


def _name_of(section: Section) -> str:
    """Return what a heading names, without articles and brackets; empty where it names nothing of its own."""
    title = split_heading(section["title"])[0]
    plain = _LEADING.sub("", re.sub(r"\$", "", title).strip(" .:"))
    is_name = bool(plain) and len(plain.split()) < 10 and is_named_after_content(title)
    return (
        plain[0].upper() + plain[1:]
        if is_name and not _NOT_A_NAME.fullmatch(plain) and not _CLAIM.search(plain)
        else ""
    )


def _named(paper: PaperText, others: Sequence[str]) -> Iterator[Component]:
    """Yield names in sections of the method: run-in headings first, then the most frequent."""
    seen: dict[str, Sentence] = {}
    counts, spelling = Counter[str](), dict[str, str]()
    for one in (one for one in paper.sentences if one.role in (BUILD, SETUP, MIXED)):
        if one.head and len(one.head.split()) < 6 and not _NOT_A_NAME.fullmatch(one.head):
            counts[one.head] += _OFTEN
            seen.setdefault(one.head, one)
        for name in {*_phrases(one.text)} if one.role == BUILD else ():
            spelled = spelling.setdefault(name.removesuffix("s"), name)
            counts[spelled] += 1
            seen.setdefault(spelled, one)
    for name in [name for name in counts if name.count(" ") == 2]:
        pair = name.partition(" ")[2]
        pair = spelling.get(pair.removesuffix("s"), pair)
        # "state distribution" where it is not mostly "initial state distribution"
        counts[name if 2 * counts[name] <= counts[pair] else pair] = 0
    taken: list[str] = []
    for name, _ in sorted(counts.items(), key=lambda item: (-item[1], paper.prose.find(item[0]))):
        if len(taken) >= _MOST_NAMED or counts[name] < _OFTEN:
            return
        if not any(is_same(name, other) for other in (*others, *taken)):
            taken.append(name)
            yield Component(name, seen[name].section, seen[name].page, rank=2)


def _phrases(text: str) -> Iterator[str]:
    """Yield the names of a sentence, and the two or three plain words in a row that may name a part."""
    yield from (
        name
        for name in _PHRASE.findall(text)
        if (is_telling(name.split()[0]) and not re.fullmatch("[A-Z]{2,5}", name)) or " " in name
    )
    run: list[str] = []
    for word in (*text.split(), "."):
        last = word.rstrip(".,;:)")
        if _PLAIN_WORD.fullmatch(last) and not _ORDINARY.fullmatch(last):
            run.append(last)
        elif last.endswith("ing") and not run and _PLAIN_WORD.fullmatch(last):
            run = [last]
            continue
        else:
            last = ""
        if not last or last != word:
            yield from (" ".join(run[-most:]) for most in (2, 3) if len(run) >= most)
            run = []


def _is_one(one: Component, other: Component) -> bool:
    first, second = _words_of(one.name), _words_of(other.name)
    is_alike = first and second and len(first & second) >= 0.75 * max(len(first), len(second))
    return bool(is_alike or is_same(one.name, other.name)) and not (one.label and other.label)


def _words_of(text: str) -> set[str]:
    words = {word.rstrip("s") for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 2}
    return words - {"the", "and", "for", "with", "from", "algorithm"}


def _sentence_about(one: Component, paper: PaperText) -> Sentence | None:
    """Return the first readable sentence that names a component, preferably in its section, else the first of its section."""
    words, label = _words_of(one.name), re.compile(rf"\b{re.escape(one.label or one.name)}\b")
    best: tuple[float, Sentence | None] = (0.6, None)
    for said in paper.sentences:
        is_fit = said.role in (BUILD, SETUP, MIXED) and 30 < len(said.text) < 400 and said.text[0].isupper()
        here, share = said.section["id"] == one.section["id"], len(words & _words_of(said.text)) / max(len(words), 1)
        points = bool(label.search(said.text))
        if is_fit and (here or share > 0.6 or points) and not has_hole(said.text):
            score = share + 0.6 * here + 0.5 * points - 0.7 * bool(why_not(said.text))
            best = max(best, (score, said), key=lambda one: one[0])
    return best[1]


def _home(row: Requirement, components: Sequence[Component], paper: PaperText) -> int | None:
    section, said = row.sentences[-1].section["id"], _words_of(row.text)
    around = [section, *(one["id"] for one in paper.around.get(section, ()))]
    best, home = 0.0, None
    for at, one in enumerate(components):
        words = _words_of(one.name)
        share = len(words & said) / len(words) if words else 0.0
        near = 1.0 if one.section["id"] == section else 0.4 if one.section["id"] in around else 0.0
        near = near if row.sentences[-1].role == BUILD or one.section["id"] == section else near / 2
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
