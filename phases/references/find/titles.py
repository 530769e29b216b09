"""The title of a reference: where it begins and ends behind the authors."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‘": "’", "'": "'", "`": "'", "”": "”"}
_LEAD = re.compile(r"[\s.,:;·．。，：]{0,6}(?:(?:et al|\((?:Eds?|Hrsg|Hg)\.?\)|Eds?|Hrsg|editors?)\.?[\s.,:;]{1,4})?")
_STOP = re.compile(r"[.．。?!？！]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(-])(?:[A-Za-z]|vs|St|Dr|Mr|Mrs|Prof|e\.g|i\.e|cf|etc|resp|ca|approx|bzw|z\.B|Bd|Nr|Inc|al|Vol|Jr|Mt|Ph|Fig|Eq)$"
)
_VENUE = re.compile(
    r"""[\s"'“”]* (?: [Ii]n:?\s | (?:Proc(?:\.|eedings)?|Advances|Journal|Transactions|Trans\.|IEEE|ACM|J\.|CoRR|arXiv|ArXiv|arxiv
        |Technical|Tech\.|PhD|Ph\.D|Master|Communications|International|Annual|Conference|Springer|Elsevier|Nature|Science
        |MIT|Cambridge|Oxford|Academic|Wiley|URL|https?:|www\.|doi|DOI|Available|Accessed|Preprint|preprint|Lecture|LNCS
        |Neural\ [Cc]omputation|Pattern|Artificial|Machine|Foundations|SIAM|PMLR|NeurIPS
        |ICML|ICLR|CVPR|ICCV|AAAI|ACL|EMNLP|NAACL|In$)\b
        | (?:1[7-9]|20)[0-9]{2}\b | \[(?:J|M|C|D|R|S|P|N|EB|OL|Z|A)[\]/] | pp?\.\s | (?:[Vv]ol|[Nn]o)\. )""",
    re.VERBOSE,
)
_KIND = re.compile(r"\s?\[(?:[JMCDRSPNZA]|EB|DB|CP)(?:/OL)?\]")
_TAIL = re.compile(
    r"(?:[,;]\s(?:1[7-9]|20)[0-9]{2}[a-z]?|[,.;]?\s?\(?(?:1[7-9]|20)[0-9]{2}[a-z]?\)|,\s(?:volume|vol\.?|Band|Bd\.?)\s?[0-9IVX]{1,5}"
    r"(?:\sof\s.{1,80})?|,\s(?:[0-9]{1,2}(?:st|nd|rd|th)|[Ss]econd|[Tt]hird)\s[Ee]d(?:ition|\.)?|,\sarXiv.{0,40})$"
)
_CHUNK_OF_VENUE = re.compile(
    r"\s*(?:in:?\s|In:?\s|Proc|Advances|Journal|J\.\s|[A-Z][\w.]*\s(?:J\.|Journal|Trans\.|Lett\.|Rev\.)|IEEE|ACM\s|arXiv|CoRR|Springer|Elsevier|Wiley"
    r"|Nature\b|Science\b|Neural Networks?\s[0-9]|[A-Z][\w.&\s]{2,60}\s[0-9]{1,4}\s?[(:]|(?:1[7-9]|20)[0-9]{2}"
    r"|vol|pp?\.|Ph\.?D|Technical|Tech\.|University"
    r"|(?:[A-Z][a-z]{0,8}\.\s?){2,6})"
)
_LONGEST = 400


def title_in(text: str, start: int, skip: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Start and end of the title that is looked for from here on; the same place twice where there is none."""
    lead = _LEAD.match(text, start)
    begin = lead.end() if lead else start
    if quoted := _quoted_title(text, begin):
        return quoted
    end = _sentence_end(text, begin, [span for span in skip if span[1] > begin])
    unquoted = _without_venue(text, begin, end, after_comma=text[start:begin].strip().startswith(","))
    return _trim_title(text, begin, unquoted)


def without_tail(text: str, begin: int, end: int) -> tuple[int, int]:
    """A title without the year, volume or edition that the style puts behind it."""
    for _ in range(3):
        tail = _TAIL.search(text, max(begin, end - 140), end)
        if not tail or tail.start() - begin < 3:
            break
        end = tail.start()
    return begin, end


def _quoted_title(text: str, begin: int) -> tuple[int, int] | None:
    """A title in quotation marks, which must begin here."""
    opening = text[begin : begin + 1]
    if opening not in _QUOTES or not opening:
        return None
    inner = begin + (2 if text[begin : begin + 2] in ("``", "''", ",,") else 1)
    closers = _QUOTES[opening]
    for place in range(inner + 1, min(len(text), inner + _LONGEST)):
        if text[place] in closers or (opening == "“" and text[place] == '"'):
            after = text[place + 1 : place + 2]
            ends = text[place - 1] in ".,?!" or after in ("", ".", ",", ";", "'")
            if (ends or opening not in "'‘`") and (after == "" or not after.isalnum()) and text[place - 1] != " ":
                return _trim_title(text, inner, place) if place - inner >= 3 else None
    return None


def _sentence_end(text: str, begin: int, skip: Sequence[tuple[int, int]]) -> int:
    """Where the sentence ends that begins here: before an address or an identifier at the latest."""
    limit = min([len(text), begin + _LONGEST, *(span[0] for span in skip if span[0] > begin)])
    kind = _KIND.search(text, begin, limit)
    if kind:
        return kind.start()
    for stop in _STOP.finditer(text, begin, limit):
        after = text[stop.end() : stop.end() + 1]
        if stop.group() in "．。":
            return stop.start()
        if (
            after
            and not after.isspace()
            and not (after in "\"”'’)" and text[stop.end() + 1 : stop.end() + 2] in ("", " "))
        ):
            continue
        if stop.group() == ".":
            if not _ABBREVIATION.search(text, max(begin, stop.start() - 7), stop.start()) or _VENUE.match(
                text, stop.end() + 1
            ):
                return stop.start()
            continue
        begins = text[stop.end() + 1 : stop.end() + 2].isupper() and not _goes_on(text, stop.end(), limit)
        if begins or not after or _VENUE.match(text, stop.end()):
            return stop.end()
    return limit


def _goes_on(text: str, place: int, limit: int) -> bool:
    """Whether behind a question mark comes a second half of the title: a sentence, with a venue behind it."""
    for stop in re.compile(r"\.\s").finditer(text, place, limit):
        if not _ABBREVIATION.search(text, max(place, stop.start() - 7), stop.start()):
            return _VENUE.match(text, stop.end()) is not None
    return False


def _without_venue(text: str, begin: int, end: int, *, after_comma: bool) -> int:
    """The end of a title that a comma divides from its venue: `Title, in: Proceedings`, or a style of commas alone."""
    inside = re.compile(
        r",?\s(?:In|in):\s|,\sin\s(?=Proc|Advances|[A-Z]{3,})|[.,]?\s\(?[Uu][Rr][Ll]\)?:?\s?$|\.?\s(?:doi|DOI):?\s?$"
    )
    if cut := inside.search(text, begin + 3, end):
        end = cut.start()
    if not after_comma:
        return end
    place = begin
    while (comma := text.find(", ", place, end)) >= 0:
        if _CHUNK_OF_VENUE.match(text, comma + 1, len(text)):
            return comma
        place = comma + 2
    return end


def _trim_title(text: str, begin: int, end: int) -> tuple[int, int]:
    while end > begin and text[end - 1] in ' .,;:-–—"“”':
        end -= 1
    while begin < end and text[begin] in " .,;:-–—":
        begin += 1
    return without_tail(text, begin, end)
