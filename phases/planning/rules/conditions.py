"""When a value holds, in the words of its sentence: "for BART", "during testing", "per hidden layer"."""

from __future__ import annotations

import re

from phases.planning.rules.values import Value

_MOST_WORDS = 10
_LEAD = re.compile(r"^((?:For|On|In|When|During|With|After|Before|At) (?:[^,;:]|,(?=[0-9])){3,70}),")
_TRAIL = re.compile(
    r"^[^,;.]{0,40}?\b((?:for|on|when|during|in|at|per|between|over) (?:the |each |both |all |our )?"
    r"(?:[^,;:.()]|[,.](?=[0-9])){3,60})"
)
"""A comma or a point within a number does not end a phrase."""
_TURN = re.compile(r"[,;] (?:while|whereas|but|and) ((?:for|on|in|when|during|with|after|before|at) [^,;:]{3,60}),")
"""Where a sentence turns to another case: "9 actions in one task, while in the number game, 20"."""
_NUMBER = re.compile(r"(?<![\w.-])[0-9][0-9.,^-]*+(?:e-?[0-9]+)?(?![\w.])")
_FIRST_OF = re.compile(r"\b(?:first|last|initial|final|remaining|top) [0-9][0-9,]* [a-z]+")
_ENDS = re.compile(
    r" and an? .*| ?\(.*| \[.*| (?:in order )?to (?:be )?(?!(?:the|an?|each|all|our)\b)[a-z]+\b.*"
    r"| (?:and|but|while|whereas) (?:we|it|they)\b.*|,? (?:in |for |on |of )?(?:which|that|where|whose|there)\b.*"
    r"| (?:and )?(?:using|(?!training|testing)[a-z]+ing (?=(?:that|it|the|an?|both|its|their|all|each) )).*"
    r"| (?:[a-z]{3,}ed|drawn|taken|chosen|given|shown) (?:from|by|with|in|on|to)\b.*"
)
"""Where the phrase ends and the sentence goes on."""
_NO_CONDITION = re.compile(
    r"(?:in|for|on|at|with) (?:(?:this|these|such)(?: [a-z-]+){1,2}"
    r"|our (?:[a-z-]+ )?(?:case|experiments?|implementation|evaluation|method|model|paper|setup|study|system|work)"
    r"|(?:a )?total\b.*|all|between|average|practice|particular|addition|turn|fact|general|contrast|example|instance|short"
    r"|order\b.*|terms\b.*|(?:table|figure|fig|section|appendix|equation|algorithm)\b.*)"
    r"|.* respectively|for [a-z]+ing\b(?<!training)(?<!testing)(?<!tuning) (?:out|the|an?)\b.*",
    re.IGNORECASE,
)
"""What only points into the paper, and what the value is for."""
_OPEN_ENDS = (
    "a an and as at by containing for from in its of on or our that the their this to we when where which with is are"
)
_OPEN_END = frozenset(_OPEN_ENDS.split())


def condition_of(text: str, value: Value, owner: str) -> str:
    """The phrase behind the value, else the one that its sentence begins with; empty where that says no more than whose it is."""
    lead, trail = _LEAD.match(text), _TRAIL.match(text[value.end :])
    turned = [match.group(1) for match in _TURN.finditer(text) if match.end() <= value.start]
    found = (
        value.condition,
        trail.group(1) if trail else "",
        turned[-1] if turned else "",
        lead.group(1) if lead and value.start > lead.end() else "",
    )
    said = _shorten(next(filter(None, found), ""))
    return "" if said.lower() in (f"for {owner.lower()}", f"on {owner.lower()}") else said


def _shorten(phrase: str) -> str:
    """A phrase of at most ten words, without what another number says and without an open end."""
    phrase = re.sub(r"[$\\{}]", "", phrase)
    if (number := _NUMBER.search(phrase)) and not phrase[0].isupper():
        first = _FIRST_OF.search(phrase)
        phrase = phrase[: first.end()] if first else phrase[: number.start()].rpartition(" and ")[0]
    words = (_ENDS.sub("", phrase) if not phrase.startswith(("When", "those ")) else phrase).split()[:_MOST_WORDS]
    while words and words[-1].lower() in _OPEN_END:
        words.pop()
    said = " ".join(words)
    return "" if _NO_CONDITION.fullmatch(said) else said
