"""Decide before planning whether a text describes something to implement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"[^\W\d_]+")
_MARK = re.compile(r"<!-- page \d+ -->")
_ENGLISH = frozenset({
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not", "he", "his",
    "are", "this", "at", "from", "or", "have", "an", "they", "which", "you", "we", "our",
})  # fmt: skip
_IS_ENGLISH = 0.12
"""Of English prose at least a fourth of the words are among these; of other languages next to none."""
# What a text of computing or of mathematics can hardly do without; no word that law, history or a letter often needs.
_TECHNICAL = re.compile(
    r"\b(algorithm|pseudocode|data ?sets?\b|neural|hyper-?parameter|gradient|baseline|benchmark|classif(?:y|ier)|regression"
    r"|train(?:ing|ed)? (?:data|set|step|loss|on)|optimi[sz]|simulat|sampl(?:e|ing)|accuracy|latency|throughput|runtime"
    r"|iterat|matri(?:x|ces)|vector|equation|theorem|lemma|complexity|probabilit|variance|gaussian|stochastic|convergen"
    r"|comput(?:e|ation|er)|software|source code|pseudo-?code|librar(?:y|ies) in|python|api\b|database|server|queue|buffer"
    r"|cache|thread|hash|encod|decod|pars(?:e|er|ing)|compiler|input|output|graphs?\b|nodes?\b|loss function|learning rate"
    r"|reinforcement|attention|embedding|transformer|pixel|image|token|corpus|query|index(?:ing|ed)|numeric|parameter"
    r"|estimator|likelihood|bayes|kernel|polynomial|integral|derivative|logs?\b|crash|file|disk|packet|protocol|robot|sensor)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:build|builds|write|writes|create|creates|implement\w*|make|makes|develop|design|add|program|script|code|app|tool|game"
    r"|website|page|function|class|compute\w*|calculat\w+|read|reads|stor(?:e|es)|sort|print|plot|train|simulat\w+|convert|download"
    r"|counts?|counter|find|search|list|generate|solve|model|test|show|keep|keeps|draw|translate|summari[sz]e|predict|detect"
    r"|propose|method|report|median|mean|use|uses|must|should|shall)\b",
    re.IGNORECASE,
)
_SHORT = 80
"""Words of a text that is a wish rather than a paper."""
_LEAST, _A_MORE, _MOST = 1, 400, 6
"""Different technical words that a longer text has: one, one more for each 400 words, and never more than six."""


def why_nothing_to_implement(text: str, outline: Mapping[str, Any]) -> str:
    """Return why a text looks like neither a paper nor a request; empty where it may be one."""
    if any(outline.get(kind) for kind in ("equations", "algorithms")) or "```" in text:
        return ""
    text = _MARK.sub("", text)
    words = [word.lower() for word in _WORD.findall(text)]
    found = sorted({match.lower() for match in _TECHNICAL.findall(text)})
    if not words or (found and len(words) <= _SHORT):
        return ""
    if len(words) <= _SHORT:
        return "" if _ASKS.search(text) or not text.isascii() else "it asks for nothing that a program could do"
    if sum(word in _ENGLISH for word in words) < _IS_ENGLISH * len(words):
        return ""  # these words are English, and of other languages they say nothing
    if len(found) >= min(_MOST, _LEAST + len(words) // _A_MORE):
        return ""
    told = f"of the words of computing it has only {', '.join(found)}" if found else "no word in it is one of computing"
    return f"in {len(words):,} words there is no equation and no algorithm, and {told}"
