"""Procedures that a paper gives as a list of steps: "Step 1 … Step 5", the steps of a protocol, an enumeration of what is done.

Such a list is an algorithm like those in boxes: its steps are kept whole, in their order and with the paper's own numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phases.planning.rules.passages import PaperText
from phases.planning.rules.sections import BUILD, Section
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


@dataclass(frozen=True)
class Procedure:
    """The steps of a list, each as a line of an algorithm, and where it stands."""

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
    named = [number for number, part in enumerate(parts) if _NAMED.match(part.text)]
    kinds = {match["kind"].title() for number in named if (match := _NAMED.match(parts[number].text))}
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
