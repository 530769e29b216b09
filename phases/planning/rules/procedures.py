"""Procedures that stand in no box with a caption: "Step 1 … Step 5", an enumeration of what is done, code between paragraphs.

Each is an algorithm like those in boxes: its steps are kept whole, in their order and with the paper's own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BUILD, MIXED, SETUP, Section
from phases.readers.outline import pages_of

_FEWEST, _FEWEST_LED, _MOST, _LONGEST = 3, 2, 80, 900
_MOSTLY, _LONGEST_END = 0.6, 8
"""The share of deeds among items, and the last signs of a part, which alone say whether it goes on."""
_NAMED = re.compile(
    r"(?:[-*] )?\**(?P<kind>Step|STEP|Stage|Phase) (?P<label>[^\s:(]{0,6}[0-9][\w.′']{0,8})\**(?=[\s:.(])"
)
"""Step 3, Step f.1.2, Phase 2 (Synchronization)."""
_COUNTED = re.compile(r"(?:[-*] )?(?P<label>[0-9]{1,2})[.)] +(?=\S)")
_ASIDE = re.compile(r"[#>|]|<!--|\[\^")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_ITEM_LINE = re.compile(r"\n(?=[ \t]*(?:[-*+]|[0-9]{1,2}[.)])[ \t]+\S)")
_ENDED = re.compile(r"(?:[.!?。:;][\"”’)\]]?|[✷□■∎])(?: ?\$\$)?$")
_LEADS = re.compile(
    r"\b(?:steps?|procedure|algorithm|protocol|proceeds?|as follows|operates|works|performs?|phases|stages|executes?|routine)\b",
    re.IGNORECASE,
)
_LEADS_SURELY = re.compile(r"\b(?:algorithm|procedure):$", re.IGNORECASE)
_RUN_IN = re.compile(r"[A-Z][\w-]*(?: [\w-]+){0,3}: (?=[A-Z])")
"""The name of a step before what is done in it."""
_NO_STEPS = re.compile(
    r"\b(?:contribut|question|propert|advantage|benefit|reason|condition|assumption|challenge|experiment|baseline|data ?sets?"
    r"|metric|hypothes|definition|limitation|example|cases?\b|invariant|requirement|goal|observation|finding|(?:type|kind)s? of)",
    re.IGNORECASE,
)
_DEED = re.compile(
    r"(?:if|when|once|upon|for each|for every|for all|while|until|otherwise|repeat|then|finally|first|next|it|the \w+|each \w+"
    r"|we)\b|(?:accept|acknowledg|add|advanc|allocat|append|apply|assign|broadcast|build|calculat|call|check|choos|claim|clear"
    r"|collect|combin|commit|comput|concatenat|construct|copy|creat|cut|decod|decreas|deliver|delet|determin|draw|encod|estimat"
    r"|evaluat|exchang|extract|fetch|find|fit|generat|get|go to|increas|increment|initiali[sz]e|insert|invok|iterat|join|label"
    r"|learn|load|loop|mark|merg|minimi[sz]|maximi[sz]|mov|normali[sz]|output|partition|perform|pick|plac|pop|predict|process"
    r"|propos|prun|push|put|quer|rank|read|receiv|record|recurs|reject|remov|replac|reserv|reset|restor|return|run|sampl|scal"
    r"|scan|scor|search|select|send|set|sort|split|stop|stor|subtract|swap|take|train|transform|travers|unlock|lock|updat|us"
    r"|verif|visit|wait|walk|weight|write)(?:s|e|es|ies|y|ing|ning|ting|ped)?\b|[^.]{0,60}(?:←|:=|\\leftarrow|\\gets)",
    re.IGNORECASE,
)
"""How a step begins: with what is done, or with when it is done."""

MOST_LINES = 200
"""Of one algorithm."""
_FEWEST_LINES, _LONGEST_LEAD = 3, 100
"""Of a listing: fewer lines are a formula or a call; and the words before it that still name it."""
_NUMBER_OF_LINE = re.compile(r"([0-9]{1,3}[:.)]?) +(?=\S)")
_CODE_LINE = re.compile(
    r"(?://|/\*|#|▷)|(?:if|then|for|while|repeat|return|else|until|end|begin|def|class|import|from|function|procedure)\b"
    r"|.{0,200}?(?::=|←|<-|\\leftarrow|[\w)\]] ?= ?[\w\[(\"'$]|\w\(|>>>)|.{0,200}[,;:({\[)}\]]$",
    re.IGNORECASE,
)
_SURELY_CODE = re.compile(
    r"(?:if|then|for|while|repeat|return|else|until|end|begin|def|import|function|procedure)\b|class \w+ ?[(:{]|>>>"
    r"|.{0,200}?(?::=|←|<- |\\leftarrow)|.{0,200}?\w\((?:[\[{]?|[\w\"'$&*\[(-][^|]{0,300}\)|\));?$",
    re.IGNORECASE,
)
"""What neither data nor printed output has: a word of a language, a sign that gives a value, a call that ends the line."""


@dataclass(frozen=True)
class Procedure:
    """Steps, each as a line of an algorithm, and where they stand."""

    section: Section
    page: int
    lead: str
    steps: tuple[str, ...]


@dataclass
class _Part:
    """A paragraph, or an item of a list."""

    text: str
    page: int


def find_procedures(paper: PaperText) -> list[Procedure]:
    """The lists of steps in sections of what is built, in their order."""
    found: list[Procedure] = []
    for section in paper.outline["sections"]:
        if paper.roles.get(section["id"]) == BUILD:
            parts = list(_parts_of(paper.text, section))
            found += _named_steps(section, parts) or _counted_steps(section, parts)
    return found


def find_listings(paper: PaperText, known: Sequence[str]) -> list[Procedure]:
    """The code and pseudo-code without a caption in sections of what is built or set up, one procedure for each section.

    `known` are the lines of the algorithms that were found. What leads to a listing stands before its lines, where it is short.
    """
    shown = [(row["start"], row["end"]) for row in paper.outline["algorithms"]]
    have = {_letters(line) for line in known}
    found: dict[str, Procedure] = {}
    for text, section, page, start in placed_listings(paper):
        lines = [line for line in text.split("\n") if line.strip()]
        if (
            paper.roles.get(section["id"]) not in (BUILD, SETUP, MIXED)
            or len(lines) < _FEWEST_LINES
            or any(first <= start < end for first, end in shown)
            or all(_letters(line) in have for line in lines)
            or not is_procedure(lines)
        ):
            continue
        lead = _lead_of(paper.text, start)
        steps = [*([lead] if lead else []), *set_in([line[:_LONGEST] for line in lines])]
        before = found.get(section["id"])
        all_steps = [*(before.steps if before else ()), *steps][:MOST_LINES]
        found[section["id"]] = Procedure(section, before.page if before else page, lead, tuple(all_steps))
    return list(found.values())


def placed_listings(paper: PaperText) -> Iterator[tuple[str, Section, int, int]]:
    """Each listing with its section, its page and where its lines begin, -1 where that is not found; one may be there twice."""
    end = 0
    for text, section, page in paper.listings:
        start = paper.text.find(text, end)
        end = start + len(text) if start >= 0 else end
        yield text, section, page, start


def set_in(lines: Sequence[str]) -> Iterator[str]:
    """The lines with the blanks that set them in behind their numbers, however wide these are."""
    found = [_NUMBER_OF_LINE.match(line) for line in lines]
    widest = max((match.end(1) for match in found if match), default=-1) + 1
    # numbers of one and of two digits are followed by blanks up to the same column
    padded = all(match.end() >= widest for match in found if match)
    for line, match in zip(lines, found, strict=True):
        if not match:
            text = line.expandtabs(4)
            blanks = len(text) - len(text.lstrip())
            yield " " * (max(blanks - widest, 0) if padded else blanks) + " ".join(text.split())
        else:
            depth = match.end() - (widest if padded else match.end(1) + 1)
            yield f"{match.group(1)} {' ' * depth}{' '.join(line[match.end() :].split())}"


def _lead_of(text: str, start: int) -> str:
    """The paragraph before a fence that begins at `start`, where it is short and says that something follows."""
    before = text[max(start - 4 * _LONGEST_LEAD, 0) : max(start, 0)].rstrip().removesuffix("```").rstrip()
    said = " ".join(before.rpartition("\n\n")[2].split())
    return said if said.endswith(":") and len(said) <= _LONGEST_LEAD and not _ASIDE.match(said) else ""


def is_procedure(lines: Sequence[str]) -> bool:
    """Whether half of the lines do something, and some surely as code does."""
    bare = [_NUMBER_OF_LINE.sub("", line.strip(), count=1) for line in lines]
    code = [line for line in bare if _CODE_LINE.match(line)]
    return any(map(_SURELY_CODE.match, bare)) and 2 * sum(
        bool(line in code or _DEED.match(line)) for line in bare
    ) >= len(lines)


def _letters(line: str) -> str:
    return "".join(filter(str.isalnum, line))


def _parts_of(text: str, section: Section) -> Iterator[_Part]:
    """The paragraphs of a section; one that goes on behind a page's end or a float is one."""
    last: _Part | None = None
    for page, part in pages_of(text, section):
        outside = "\n\n".join(_FENCE.split(part)[::2])
        for block in re.split(r"\n[ \t]*\n", outside):
            for said in _ITEM_LINE.split(block.strip("\n")):
                plain = " ".join(said.split())
                if not plain or _ASIDE.match(plain):
                    continue
                begins = _NAMED.match(plain) or _COUNTED.match(plain) or plain.startswith("- ")
                if last and not begins and (not _ENDED.search(last.text[-_LONGEST_END:]) or plain.startswith("$$")):
                    last.text = f"{last.text} {plain}"
                    continue
                if last:
                    yield last
                last = _Part(plain, page)
    if last:
        yield last


def _named_steps(section: Section, parts: Sequence[_Part]) -> list[Procedure]:
    """The procedure of all steps that are called so; what stands between two of them belongs to the first."""
    matches = [(number, match) for number, part in enumerate(parts) if (match := _NAMED.match(part.text))]
    kinds = {match["kind"].title() for _, match in matches}
    named = _without_short_runs(matches) if len(kinds) == 1 else [number for number, _ in matches]
    if len(named) < _FEWEST or named[-1] - named[0] > 4 * len(named):
        return []
    steps = []
    for number in range(named[0], _end_of_last(parts, named[-1])):
        match = _NAMED.match(parts[number].text)
        inner = 2 * ("Phase" in kinds and len(kinds) > 1)
        depth = inner * (match["kind"].title() != "Phase") if match else inner + 2
        steps.append(f"{' ' * depth}{_plain(parts[number].text)}")
    lead = parts[named[0] - 1].text if named[0] else ""
    return [Procedure(section, parts[named[0]].page, lead, tuple(steps[:_MOST]))]


def _without_short_runs(matches: Sequence[tuple[int, re.Match[str]]]) -> list[int]:
    """The places of steps whose labels grow; a few that another run has more of are the labels of a picture."""
    runs: list[list[int]] = []
    last = ""
    for number, match in matches:
        label = match["label"]
        is_anew = label.isdecimal() and last.isdecimal() and int(label) <= int(last)
        if is_anew or not runs:
            runs.append([])
        runs[-1].append(number)
        last = label
    longest = max(map(len, runs), default=0)
    return [number for run in runs if len(run) >= min(_FEWEST, longest) for number in run]


def _end_of_last(parts: Sequence[_Part], last: int) -> int:
    """Behind the items below the last step."""
    end = last + 1
    while end < len(parts) and parts[last].text.endswith(":") and _COUNTED.match(parts[end].text):
        end += 1
    return end


def _counted_steps(section: Section, parts: Sequence[_Part]) -> list[Procedure]:
    """The procedures that are items 1, 2, 3 … of what is done, below words that say so."""
    found = []
    for start, part in enumerate(parts):
        if not (first := _COUNTED.match(part.text)) or first["label"] != "1" or not start:
            continue
        end = start
        while end < len(parts) and (at := _COUNTED.match(parts[end].text)) and at["label"] == str(end - start + 1):
            end += 1
        items = [one.text for one in parts[start:end]]
        plain = (_RUN_IN.sub("", _COUNTED.sub("", item)) for item in items)
        lead = parts[start - 1].text
        said = lead[-_LONGEST:].rpartition(". ")[2]
        deeds = sum(bool(_DEED.match(item.lstrip("*_$("))) for item in plain)
        if (
            len(items) < (_FEWEST_LED if _LEADS_SURELY.search(said) else _FEWEST)
            or deeds < _MOSTLY * len(items)
            or not _LEADS.search(said)
            or _NO_STEPS.search(said)
        ):
            continue
        found.append(Procedure(section, part.page, said, tuple(map(_plain, items))))
    return found


def _plain(text: str) -> str:
    """A step in one line; its displayed formulas stand in it."""
    text = re.sub(r"\$\$ ?([^$]{1,400}?) ?\$\$", r"$\1$", text.removeprefix("- ").replace("**", ""))
    return " ".join(text.split())[:_LONGEST]
