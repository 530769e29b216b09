"""The phrases by which papers say on whose code they build."""

from __future__ import annotations

import re

from phases.references.find.claims import CODE

_BUILDING = re.compile(
    rf"""\b(?:
      (?:our|the|this|all)\s(?:\w+[\s-]){{0,3}}(?:{CODE}|experiments?|models?|framework|method|system|pipeline)\s(?:\w+\s){{0,2}}
          (?:based\s(?:up)?on|built\s(?:up)?on(?:\stop\sof)?|builds?\s(?:up)?on|adapted\sfrom|derived\sfrom|extends?|modif(?:ies|ied\sfrom)|forked\sfrom|borrow)
    | our\s(?:\w+[\s-]){{0,3}}{CODE}\s(?:\w+\s){{0,2}}(?:follows?|uses?|reuses?|relies\son|rely\son|starts?\sfrom
          |depends\son|wraps?)\b
    | we\s(?:\w+\s){{0,3}}(?:use|used|adopt|adopted|adapt|adapted|employ|employed
          |follow|followed|extend|extended
          |modify|modified|fork|forked|reuse|reused
          |run|ran|utili[sz]e|utili[sz]ed|leverage|leveraged|take|took|borrow|borrowed|amend)\s(?:[^.;]{{0,60}}\s)?{CODE}\b
    | we\s(?:\w+\s){{0,2}}(?:build|built|base)\s(?:[^.;]{{0,40}}\s)?(?:up)?on\b
    | we\s(?:\w+\s){{0,2}}implement(?:ed)?\s[^.;]{{0,80}}\s(?:using|with|in|on\stop\sof|based\son)\b
    | (?:using|use|with|from|on|by)\s(?:the|their|its|an?)\s(?:\w+[\s-]){{0,2}}
          (?:official|public|publicly\savailable|released|original
          |open[\s-]?source[d]?)\s(?:\w+\s){{0,2}}{CODE}
    | (?:implemented|implementation)\s(?:\w+\s){{0,4}}(?:using|on\stop\sof|with|based\son)\s
    | (?:basieren|basiert|aufbauend)\s(?:\w+\s){{0,3}}auf\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def says_builds_on(sentence: str) -> bool:
    """Whether a sentence says that the paper's own code, or its experiments, stand on somebody's code."""
    return _BUILDING.search(sentence) is not None
