"""Choose the sentences that say what is built or set up, each whole and as printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from phases.planning.rules.passages import (
    ITEM,
    NOTE,
    PaperText,
    Sentence,
    count_words,
    is_closed,
    is_whole,
    leans_on,
    quote_start,
    source_of,
    without_next,
)  # fmt: skip
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP

MOST = 60
_FEWEST_WORDS, _LONGEST, _LEAST, _LEAST_OF_TRIALS = 5, 500, 0.1, 0.6
_CITATION = re.compile(r"\[[0-9][0-9, –-]*\]|\bet al\b|\([A-Z][^()]{1,60}(?:19|20)[0-9]{2}[a-z]?\)")
_OURS = re.compile(
    r"\b(?:we|our|us)\b|\bthis (?:paper|work)\b|\b(?:wir|unser\w*|nous|notre)\b|我们|本文", re.IGNORECASE
)
_OF_OTHERS = re.compile(
    r"^(?:[A-Z][\w-]+ (?:et al|and [A-Z][\w-]+ (?:\[|\())|Previous|Prior|Recent|Existing|Traditional|Other (?:work|methods"
    r"|approaches))|\b(?:has|have) (?:recently|long|shown|become|proven|(?:also |\w+ly )?been (?:\w+ly )?"
    r"(?:able|shown|proposed|used|studied|proven|applied|observed|introduced|developed|explored|suggested"
    r"|successful))\b|\b(?:the|original) authors\b|\bin "
    r"the literature\b"
)
_OUTCOME = re.compile(
    r"\b(?:outperform|surpass|superior|inferior|significant(?:ly)? (?:better|worse|improve|faster)|improves? (?:over|upon|on)\b"
    r"|(?:better|worse|faster|slower|(?:higher|lower|larger|smaller|greater|more|less|fewer)(?! than)\b)[^.]{0,40}\bthan\b)"
    r"|\b[Ww]e (?:\w+ly )?(?:observed?|find|found|see|saw|notice|conclude|believe|hypothesi[sz]e|conjecture|expect|suspect|hope"
    r"|argue|note|showed|show that|demonstrate|achieved?|prove|discuss|review|summari[sz]e|leave)\b|^(?:As (?:shown|can be seen"
    r"|expected|seen)|Interestingly|Surprisingly|Notably|Unfortunately|Clearly|Obviously|Finally, we (?:show|discuss))"
    r"|\b(?:Tables?|Tab\.|Figures?|Figs?\.|Section|Sec\.|Appendix|Algorithm) ?[A-Z0-9.]+[a-z]?(?: \([a-z]+\))? (?:shows?"
    r"|presents?|reports?|lists?|summari[sz]es|gives|compares|depicts|illustrates|displays|discusses|contains|describes"
    r"|plots)\b|\b(?:is|are) (?:shown|given|listed|presented|reported|summari[sz]ed|illustrated|depicted|described|discussed"
    r"|provided|displayed) in\b|\b(?:results?|experiments?|findings|evidence) (?:show|suggest|indicate|demonstrate|confirm"
    r"|reveal)"
)
_ARGUES = re.compile(
    r"\b(?:would|could|might|cannot be|can be seen|it is (?:known|well|important|worth|clear|possible|easy|easily|difficult"
    r"|natural|not (?:clear|possible|necessary))|(?:is|are) important"
    r"|importantly|challeng\w+|popular|intuiti\w+|well[- ]known|promising|unlikely"
    r"|unclear|of course)\b|^(?:Suppose|Assume|Imagine|Consider|For (?:example|instance)|E\.g|In (?:this|the next|the "
    r"following) (?:section|paper|chapter)|The (?:remainder|rest) of|However|Although|While|Because|Since|But|Yet|Nevertheless"
    r"|Therefore|Thus|Hence)\b|\b(?:e\.g\.|for example|for instance)\b|\?$"
)
_CONCLUDES = re.compile(r"^(?:Hence|Therefore|Thus),? (?=.{0,60}\bwe\b)")
"""How a decision begins that follows from an argument: "Therefore, we train"."""
_DEED = re.compile(
    r"\b(?:us(?:e[sd]?|ing)|appl(?:y|ies|ied)|comput\w+|calculat\w+|set|sets|defin(?:e[sd]?|ing)|denot\w+|initiali[sz]\w+"
    r"|train(?:s|ed)?|sampl(?:e[sd]?|ing)|draw[ns]?|generat\w+|creat\w+|updat\w+|add(?:s|ed|ing)?|tak(?:es?|en)|return\w*"
    r"|stor(?:e[sd]?|ing)|keep\w*|kept|consists?|contain\w*|compris\w+|includ(?:e[sd]?)|map(?:s|ped)?|select\w*|choos\w+"
    r"|chosen|split\w*|remov\w+|replac\w+|insert\w*|multipl\w+|divid\w+|normali[sz]\w+|minimi[sz]\w+|maximi[sz]\w+"
    r"|optimi[sz]e[sd]?|evaluat\w+|measur\w+|compar(?:e[sd]?|ing)|run|runs|perform\w*|report\w*|implement\w*|employ\w*"
    r"|adopt\w*|build\w*|built|construct\w*|form(?:s|ed)?|assign\w*|start\w*|stop\w*|repeat\w*|mov(?:e[sd]?|ing)|send\w*"
    r"|receiv\w+|read|reads|writ(?:e|es|ten)|process\w*|produc\w+|output\w*|predict\w*|estimat\w+|represent\w*|encod\w+"
    r"|decod\w+|allocat\w+|index\w*|search\w*|check\w*|follow\w*|combin\w+|concatenat\w+|call(?:s|ed)?|pass(?:es|ed)?|provid\w+"
    r"|must|should|needs? to|requires?|given|equals?|corresponds?|verwenden|berechne\w*|utilis\w+)\b|使用|采用|计算|定义",
    re.IGNORECASE,
)
_WE_DO = re.compile(
    r"(?:(?:To|For|In|On|With|At|Meanwhile)\b[^.;]{0,90}, )?[Ww]e (?:\w+ly )?(?:us|set|fix|train|r[au]n\b|sampl|employ|compar"
    r"|test|evaluat|measur"
    r"|pick|add|delet|remov|replac|repeat|initiali|averag|appl|increas|modif|var(?:y|ied)|utili|comput|obtain|let\b)"
    r"|[^.;]{0,90}\b(?:is|are|was|were) (?:\w+ly )?(?:set|fixed|used|employed|repeated|initiali[sz]ed|calculated|computed) "
    r"(?!(?:in|by|as|for) (?:\[|Sec|Fig|Tab|previous|prior|other))"
)
"""What is set up among the results: "We used a beam of 4"."""
_SETS = re.compile(r"[0-9]|\b(?:two|three|four|five|six|eight|ten|default)\b")
_EXPLAINS = re.compile(r"(?:,? ?(?:where|with|in which|wobei|où|donde)\b|其中|Here,?\b)")
_LONGEST_TERMS = 400
_KINDS = (
    ("dataset", r"\b(?:data ?sets?|corpus|corpora|test set|training set|training data)\b|数据集|Datensatz"),
    ("baseline", r"\bbaselines?\b|\bcompare[sd]? (?:\w+ ){0,4}(?:with|to|against)\b"),
    ("metric", r"\bmetrics?\b|\b(?:we|is|are) (?:report|measur)\w*"),
    ("loss", r"\b(?:loss|objective|cost) (?:function|term)?"),
)  # fmt: skip


@dataclass(frozen=True)
class Requirement:
    """One sentence, or two where the second cannot be read alone."""

    sentences: tuple[Sentence, ...]
    score: float
    place: int
    terms: str = ""

    @property
    def text(self) -> str:
        """Return the sentences as printed."""
        return " ".join(without_next(one.text) for one in self.sentences)


def find_requirements(paper: PaperText, own: Sequence[str]) -> list[Requirement]:
    """Return at most `MOST` requirements in the order of the paper; `own` are the names of its method."""
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, own))})(?!\w)") if own else None
    found = {row.text: row for row in reversed(_candidates(paper.sentences, named))}
    best = sorted(found.values(), key=lambda row: -row.score)[:MOST]
    return sorted(best, key=lambda row: row.place)


def requirement_row(row: Requirement, identifier: str) -> dict[str, Any]:
    """Return the requirement as a row of the plan, with the displayed formula that its words lead to."""
    first, last = row.sentences[0], row.sentences[-1]
    formula = " ".join(filter(None, (last.formula, row.terms)))
    return {
        "id": identifier,
        "kind": kind_of(row.text, last.role, has_formula=bool(formula)),
        "text": row.text,
        "source": source_of(first.section, first.page, quote_start(first.text)),
        "status": "stated",
        **({"formula": formula} if formula else {}),
    }


def kind_of(text: str, role: str, *, has_formula: bool = False) -> str:
    """Return the plan's kind for a sentence."""
    if has_formula:
        return "loss" if re.search(r"\b(?:loss|objective)\b", text, re.IGNORECASE) else "equation"
    found = next((kind for kind, pattern in _KINDS if re.search(pattern, text, re.IGNORECASE)), "")
    if found and (role != BUILD or found == "loss"):
        return found
    if role in (SETUP, MIXED):
        return "hyperparameter" if re.search(r"\b(?:set to|is set|= ?[0-9])", text) else "experiment"
    return "algorithm" if re.match(r"(?:We|Then|First|Next|If|When|For each|To)\b", text) else "model"


def why_not(text: str) -> str:
    """Return why a sentence is not an instruction: "cited", "outcome" or "argument"; empty where it may be one."""
    if _OF_OTHERS.search(text) or (_CITATION.search(text) and not _OURS.search(text) and not _DEED.search(text)):
        return "cited"
    if _OUTCOME.search(text):
        return "outcome"
    return "argument" if _ARGUES.search(_CONCLUDES.sub("", text)) else ""


def has_hole(text: str) -> bool:
    """Return whether words or signs were lost: an unreadable character, an unclosed bracket or formula."""
    return not is_closed(text) or "\ufffd" in text or bool(re.search(r"\w- \w", text))


def _candidates(sentences: Sequence[Sentence], own: re.Pattern[str] | None) -> list[Requirement]:
    """Return each sentence that may be an instruction, with the one before it where it cannot be read alone."""
    rows: list[Requirement] = []
    for place, one in enumerate(sentences):
        is_built = one.role in (BUILD, SETUP, MIXED) or (one.role == RESULTS and _WE_DO.match(one.text))
        is_fit = is_built and _is_readable(one) and not why_not(one.text)
        score = _score(one, own) if is_fit else 0.0
        if score < (_LEAST_OF_TRIALS if one.role in (MIXED, RESULTS) else _LEAST):
            continue  # among experiments stands what came out, too
        row = Requirement((one,), score, place, _terms(sentences, place))
        if not leans_on(one.text):
            rows.append(row)
            continue
        before = sentences[place - 1] if place and sentences[place - 1].text == one.before else None
        is_pair = before and len(f"{before.text} {one.text}") < _LONGEST and not leans_on(before.text)
        if before and is_pair and _is_readable(before) and why_not(before.text) in ("", "argument"):
            if rows and rows[-1].sentences == (before,):
                rows.pop()
            rows.append(replace(row, sentences=(before, one), place=place - 1))
    return rows


def _is_readable(one: Sentence) -> bool:
    text = without_next(one.text)
    is_short = count_words(text) < _FEWEST_WORDS or not re.search(r"[^\W\d_]{3}", text)
    if one.kind == NOTE or is_short or len(text) > _LONGEST or has_hole(text):
        return False
    return text[0].isupper() if one.formula else is_whole(text) and not text.endswith((":", "："))


def _score(one: Sentence, own: re.Pattern[str] | None) -> float:
    """Weigh a sentence: an action, a formula, a number, the authors or their method speak for it, citations against it."""
    said = one.text
    deeds, ours = len(_DEED.findall(said)), bool(_OURS.search(said))
    score = (
        0.5 * min(deeds, 2) + (0.4 if deeds else 0.2) * ours + 0.6 * bool(one.formula) + 0.2 * bool(_SETS.search(said))
    )
    score += 0.3 * bool(own and own.search(said)) + 0.3 * (one.kind == ITEM) + 0.2 * (one.role == BUILD)
    return score - 0.3 * min(len(_CITATION.findall(said)), 2) + 0.5 * (not said.isascii() and not deeds)


def _terms(sentences: Sequence[Sentence], place: int) -> str:
    if not sentences[place].formula or place + 1 == len(sentences):
        return ""
    following = sentences[place + 1]
    is_here = following.section["id"] == sentences[place].section["id"] and len(following.text) <= _LONGEST_TERMS
    return following.text if is_here and _EXPLAINS.match(following.text) else ""
