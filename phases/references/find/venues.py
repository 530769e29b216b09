"""The venue of a reference: what stands behind its title, up to volume, pages or year."""

from __future__ import annotations

import re

_LEAD = re.compile(
    r"[\s.,:;\"”“'’?!»\])]{0,8}(?:\[[JMCDRSPNZA](?:/OL)?\][\s.,:]{0,3})?(?:[Ii]n(?::\s?|\s)|en\.\s[Ii]n:\s)?[\s:(]{0,2}"
)
_NOT_A_VENUE = re.compile(r"(?:https?:|www\.|URL|doi|DOI|[Aa]ccessed|[Aa]vailable|pp?\.|pages?\s|[0-9(])")
_END = re.compile(
    r"""[,.;:]?\s\(?(?:1[7-9]|20)[0-9]{2}[a-z]?\b(?!\s[A-Z])     # a year that does not begin a name
      | [,.;]?\s(?:pp?\.|pages?|vol(?:ume|\.)|Vol(?:ume|\.)|no\.|number|Bd\.|S\.|Eds?\.
          |edited|editors?|ISSN|ISBN|URL|https?:|doi|DOI|abs/|abgerufen)
      | ,\s[0-9]{1,5}\b | \s[0-9]{1,4}\s?[(:,] | \s[0-9]{1,4}\.[0-9] | [.?!]\s | [.,;]?$""",
    re.VERBOSE,
)
_SHORT = re.compile(r"(?:^|[\s.(])(?:[A-Z]|[A-Z][a-z]{0,9}|Proc|Conf|Int|Trans|Assoc|Comput)$")
_MONTH = re.compile(
    r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]*|eds?|en|English", re.IGNORECASE
)
_LONGEST = 250


def venue_in(text: str, start: int) -> str | None:
    """What a reference appeared in, as far as it says so behind its title."""
    lead = _LEAD.match(text, start)
    begin = lead.end() if lead else start
    if begin >= len(text) or _NOT_A_VENUE.match(text, begin):
        return None
    limit = min(len(text), begin + _LONGEST)
    for match in _END.finditer(text, begin, limit):
        abbreviated = match.group().startswith(". ") and _SHORT.search(
            text, max(begin, match.start() - 12), match.start()
        )
        if match.start() > begin and not abbreviated:
            return _clean_venue(text[begin : match.start()])
    return _clean_venue(text[begin:limit])


def _clean_venue(text: str) -> str | None:
    found = text.strip(' .,;:"”“')
    return found if len(found) > 1 and not _MONTH.fullmatch(found) else None
