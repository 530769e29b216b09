"""The phrases by which papers say what their code is, and on whose code they build."""

from __future__ import annotations

import re

_CODE = r"(?:source\s?-?code|codes?|code\s?-?base|implementations?|repositor(?:y|ies)|scripts?)"
_BUILDING = re.compile(
    rf"""\b(?:
      (?:our|the|this|all)\s(?:\w+[\s-]){{0,3}}(?:{_CODE}|experiments?|models?|framework|method|system|pipeline)\s(?:\w+\s){{0,2}}
          (?:based\s(?:up)?on|built\s(?:up)?on(?:\stop\sof)?|builds?\s(?:up)?on|adapted\sfrom|derived\sfrom|extends?|modif(?:ies|ied\sfrom)|forked\sfrom|borrow)
    | we\s(?:\w+\s){{0,3}}(?:use|used|adopt|adopted|adapt|adapted|employ|employed
          |follow|followed|extend|extended
          |modify|modified|fork|forked|reuse|reused
          |run|ran|utili[sz]e|utili[sz]ed|leverage|leveraged|take|took|borrow|borrowed|amend)\s(?:[^.;]{{0,60}}\s)?{_CODE}\b
    | we\s(?:\w+\s){{0,2}}(?:build|built|base)\s(?:[^.;]{{0,40}}\s)?(?:up)?on\b
    | we\s(?:\w+\s){{0,2}}implement(?:ed)?\s[^.;]{{0,80}}\s(?:using|with|in|on\stop\sof|based\son)\b
    | (?:using|use|with|from|on|by)\s(?:the|their|its|an?)\s(?:\w+[\s-]){{0,2}}
          (?:official|public|publicly\savailable|released|original
          |open[\s-]?source[d]?)\s(?:\w+\s){{0,2}}{_CODE}
    | (?:implemented|implementation)\s(?:\w+\s){{0,4}}(?:using|on\stop\sof|with|based\son)\s
    | (?:basieren|basiert|aufbauend)\s(?:\w+\s){{0,3}}auf\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    rf"""\b(?:
      our\s(?:[\w*+-]+\s){{0,6}}?(?:{_CODE}|model\sweights|software|package|toolkit|library)\b
    | our\s[\w*+ -]{{1,50}}:\s*$
    | (?:{_CODE}|software)\s(?:[\w,]+\s){{0,5}}(?:we|our|this\s(?:paper|work|article|study))\b
    | we\s(?:(?:also|will|have|plan\sto|further|hereby|then|fully|freely|\w+ly)\s){{0,3}}
          (?:release|released|open[\s-]?source[d]?|publish|published|share|provide|make|made)
          \s(?:[^.;]{{0,80}}\s)?(?:{_CODE}|available|publicly|it\b)
    | unser(?:e[nmrs]?)?\s(?:\w+\s){{0,2}}(?:Code|Quellcode|Implementierung)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_AVAILABLE = re.compile(
    rf"""(?: \b{_CODE}\b[^.;]{{0,60}}\b(?:available|found|released|accessible
             |hosted|provided|published|downloaded|obtained|at|in|on|see|here)\b
         | \b(?:{_CODE}|github|software\srepository)\s*[:=]\s*(?:\W{{0,3}})$
         | \bopen[\s-]?source[d]?\b[^.;]{{0,60}}\b(?:at|on|in|under)\b
         | (?:代码|源码|源代码|程序)[^。]{{0,30}}(?:https?|github|见|在|：|:)
         | \b(?:Code|Quellcode|Quelltext)\b[^.;]{{0,40}}\b(?:verfügbar|unter|auf)\b )""",
    re.VERBOSE | re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    rf"""(?: \bet\sal\b | \b(?:their|his|her)\s(?:[\w-]+\s){{0,3}}(?:{_CODE}|repository)
         | \boriginal\s(?:authors?|paper|{_CODE}|release)
         | \bofficial\s(?:\w+\s){{0,2}}{_CODE} | \b(?:released|provided|published|made|written
             |shared|developed|given|maintained)\s(?:\w+\s){{0,2}}by\b
         | \bwe\s(?:\w+\s){{0,3}}(?:use|used|adopt|employ|follow|adapt|borrow|take|run|extend|build|compare)\b
         | \b(?:based|built)\s(?:up)?on\b
         | \badapted\sfrom\b | \bforked\sfrom\b | \bauthors?\s(?:have\s)?(?:made|released|provide|published|open)
         | \bauthors['’]\s | \bpeer\sreview
         | \bdata\s?set\b | \b(?:implementation|code)\s(?:of|from|by)\s[A-Z\[(] | \bthird[\s-]party )""",
    re.VERBOSE | re.IGNORECASE,
)


def builds_on(sentence: str) -> bool:
    """Whether a sentence says that the paper's own code, or its experiments, stand on somebody's code."""
    return _BUILDING.search(sentence) is not None


def says_ours(before: str) -> bool:
    """Whether the words before an address say in the first person whose code lies there."""
    return _FIRST_PERSON.search(before) is not None


def says_available(before: str) -> bool:
    """Whether the words before an address say that code lies there, be it whose it may."""
    return _AVAILABLE.search(before) is not None


def says_others(sentence: str) -> bool:
    """Whether a sentence credits others than its authors."""
    return _OF_OTHERS.search(sentence) is not None
