"""Which sentences are the items of one list: bullets, numbers, and paragraphs with labels like "R1:" or "Stage 2."."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.passages import Sentence
from phases.planning.rules.sentences import count_words

_MOST_ITEMS, _FARTHEST = 16, 12
_LABEL = re.compile(
    r"(?P<kind>Stage|Step|Phase|Round|Rule|Case|Invariant|Property|[A-Z](?=[0-9]{1,2}[:.] )) ?"
    r"(?P<label>[0-9]{1,2}|[A-Z]|[IVX]{1,4})(?=[.:] | \([^()]{1,60}\)[.:]? )"
)
_NO_DUTIES = re.compile(
    r"\b(?:(?<!optimization )(?<!optimisation )problems|challenges|questions|contributions|limitations|shortcomings|difficulties"
    r"|advantages|benefits|drawbacks|goals|assumptions|hypotheses|findings|observations|reasons|lessons|issues|examples)\b"
    r"[^.:]{0,60}:?$",
    re.IGNORECASE,
)
"""How the words above a list end whose items are nothing to do."""

_OPEN = re.compile(
    r"(?:[:：]|\b(?:when(?:ever)?|if|unless|until|then|where|that|either|(?:is|are) met|wenn|falls|gilt|dass|Eigenschaften)"
    r"|若|当|如果)$"
)
"""How a sentence ends that its items end: "A point is hopeless when"."""
_SMALL = re.compile(r"(?:\([a-z0-9]{1,4}\) ?)?[a-z]|\([a-z0-9]{1,4}\) ")
"""How an item begins that goes on with the words above its list."""
_ENDED = re.compile(r"[.!?。！？][)\"”’]*$")
_STOPPED = re.compile(r"[.!?;,。！？；，][)\"”’]*$|,? (?:and|or)$")
_FEWEST_LED = 4
"""The words of a sentence that its items end; fewer are a label of a picture."""
_ARGUES = re.compile(r"\bcontradict(?:s|ion)\b|\bby induction\b", re.IGNORECASE)


@dataclass(frozen=True)
class ItemList:
    """A list: for each item the places of its sentences, in their order."""

    items: tuple[tuple[int, ...], ...]
    has_duties: bool
    """Whether it may say what to do; a list of problems or contributions does not."""


def find_lists(sentences: Sequence[Sentence]) -> list[ItemList]:
    """The lists of two items and more, in the order of the paper."""
    found: list[list[list[int]]] = []
    labels: dict[int, str] = {}
    for place, sentence in enumerate(sentences):
        kind = _kind_of_item(sentence)
        last = found[-1] if found else None
        goes_on = last is not None and sentences[last[-1][-1]].section["id"] == sentence.section["id"]
        if last and goes_on and not kind:
            if _is_part_of_item(sentence, last, labels, place):
                last[-1].append(place)
            continue
        if not kind:
            continue
        labels[place] = kind
        if last and goes_on and labels[last[0][0]] == kind and last[-1][-1] == place - 1:
            last.append([place])
        else:
            found.append([[place]])
    return [_build_list(items, sentences) for items in found if 2 <= len(items) <= _MOST_ITEMS]


def find_open_lists(sentences: Sequence[Sentence]) -> list[tuple[int, tuple[int, ...]]]:
    """The places of each sentence that items end, and of these: two and more of which none is a sentence alone."""
    found: list[tuple[int, tuple[int, ...]]] = []
    for place, lead in enumerate(sentences):
        if (
            not _OPEN.search(lead.text)
            or lead.formula
            or _NO_DUTIES.search(lead.text)
            or count_words(lead.text) < _FEWEST_LED
        ):
            continue
        items: list[int] = []
        for at in range(place + 1, min(place + 1 + _MOST_ITEMS, len(sentences))):
            one = sentences[at]
            if one.kind != ITEM or one.before or one.section["id"] != lead.section["id"] or not _goes_on(one, lead):
                break
            items.append(at)
        if len(items) > 1:
            found.append((place, tuple(items)))
    return found


def join_items(lead: Sentence, items: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences of a list as one: what stands in lines of their own is told apart by semicolons."""
    *others, last = items
    end = "" if _STOPPED.search(last.text) or last.formula else "."
    told = [one if _STOPPED.search(one.text) else replace(one, text=f"{one.text};") for one in others]
    return (lead, *told, replace(last, text=f"{last.text}{end}"))


def _goes_on(item: Sentence, lead: Sentence) -> bool:
    is_label = lead.kind != ITEM and lead.text[-1] in ":：" and not _ENDED.search(item.text)
    return bool(_SMALL.match(item.text)) or is_label


def _kind_of_item(sentence: Sentence) -> str:
    """What kind of item begins with a sentence; empty where none does."""
    if sentence.before:
        return ""
    if match := _LABEL.match(sentence.text):
        return match["kind"]
    return ITEM if sentence.kind == ITEM else ""


def _is_part_of_item(sentence: Sentence, last: Sequence[Sequence[int]], labels: dict[int, str], place: int) -> bool:
    """Whether a sentence goes on with the last item; paragraphs do where the items are told apart by labels."""
    if last[-1][-1] != place - 1:
        return False
    return sentence.kind == ITEM or bool(sentence.before) or (labels[last[0][0]] != ITEM and len(last[-1]) < _FARTHEST)


def _build_list(items: Sequence[Sequence[int]], sentences: Sequence[Sentence]) -> ItemList:
    first = items[0][0]
    lead = sentences[first - 1].text if first else ""
    argues = any(_ARGUES.search(sentences[place].text) for item in items for place in item)
    return ItemList(tuple(map(tuple, items)), not argues and not _NO_DUTIES.search(lead))
