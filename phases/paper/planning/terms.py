"""The terms that a paper speaks in, weighted by how much of the paper turns on them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"[^\W\d_]+[0-9]*|[0-9]+(?:\.[0-9]+)?(?:[eE][-−]?[0-9]+)?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SUFFIX = re.compile(r"(?<=.{4})(?:ations?|ings?|ed|ies|es|s|ly)$")
_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FLOOR = 0.5
_COMMON_WORDS = """
a an the of to in on for and or is are be been being was were with without by as at from into that this these those it
its their there which who whom where when then than so such not no nor each every all any some both either neither
other another same own only more most less least very can could should would may might must will shall do does did
done has have had we our us they he you i if also however thus hence therefore while because since between during
before after above below over under again further once here how what why about against out up down off through per via
eg ie et al fig figure table section appendix see one two first second respectively show shown shows paper work
propose proposed use used using uses based given following due well better best many several different various der die
das den dem des ein eine einer eines einem einen und oder ist sind war wird werden mit von zu im auf für als auch
nicht es sich bei aus nach wie wir dass sie man kann durch am zum zur dann aber wenn hat haben diese dieser mathbb
mathcal mathbf mathrm frac left right text sum cdot operatorname
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def terms_of(text: str) -> list[str]:
    """The terms of a text in its order: words without their endings, numbers, and pairs of Chinese, Japanese or Korean signs."""
    terms: list[str] = []
    for word in _WORD.findall(_CAMEL.sub(" ", text)):
        lower = word.lower()
        if _ASIAN.match(word):
            terms += [word[at : at + 2] for at in range(len(word) - 1)]
        elif lower not in _COMMON and (len(lower) > 2 or lower[0].isdigit()):
            terms.append(_SUFFIX.sub("", lower))
    return terms


def weights_of(sections: Iterable[Iterable[str]]) -> Mapping[str, float]:
    """Term -> weight, from the terms of each section: what comes up often, and in many sections, is what a paper is about."""
    often: Counter[str] = Counter()
    widely: Counter[str] = Counter()
    for terms in sections:
        counted = Counter(terms)
        often.update(counted)
        widely.update(counted.keys())
    return {term: _FLOOR + math.log(widely[term]) + 0.5 * math.log(count) for term, count in often.items()}
