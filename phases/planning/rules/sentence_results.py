"""Results that a paper reports in a sentence: "we achieve 93.2% accuracy on CIFAR-10"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from phases.planning.rules.numbers import NUMBER, number_of, without_pointers
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, PROOF, RESULTS, SETUP

MOST, _NEAR = 12, 30
_METRIC = (
    r"(?:(?:test|training|validation|dev|top-[15]|mean|average|overall|word|character|phone|sentence|equal) )*"
    r"(?:accurac(?:y|ies)|errors?(?: rates?)?|(?:success|win(?:ning)?|failure|hit|recognition|miss) rates?|(?:F1|F-measure|BLEU"
    r"|ROUGE(?:-[12L])?|METEOR|AUC|FID|EER|WER|CER|PER|mAP|MRR|NDCG|IoU|PSNR|SSIM|RMSE|MSE|MAE)(?:[- ]?(?:scores?|points))?"
    r"|perplexit(?:y|ies)|precision|recall|throughput|latency|overhead|speed-?up)"
)
_VALUE = rf"(?P<value>{NUMBER}) ?(?P<unit>\\?%|percent|ms|µs|seconds?|minutes?|hours?|x|×|ops/s(?:ec)?|MB/s|GB/s)?(?![\w.]?\d)"
_REACH = r"(?:achiev|obtain|reach|attain|yield|report|get|got|gave|scor|produc|deliver|sustain|ha(?:s|ve|d)\b)\w*"
_ABOUT = r"(?:about |around |only |up to |approximately )?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!to )\b{_REACH} (?:an? |the )?(?:\w+ ){{0,4}}?(?:of |to )?{_ABOUT}{_VALUE} (?P<metric>{_METRIC})",
        rf"(?<!to )\b{_REACH} (?:an? |the )?(?:\S+ ){{0,4}}?(?P<metric>{_METRIC}) (?:of|at|equal to) {_ABOUT}{_VALUE}",
        rf"(?<!to )\b{_REACH} (?:an? |the )?{_ABOUT}{_VALUE}(?P<metric>)(?= on (?:the )?[A-Z])",
        rf"\b(?P<metric>{_METRIC}) (?:of \S+ )?(?:is|was|are|were) {_ABOUT}{_VALUE}",
        rf"\bwith an? (?:\w+ )?(?P<metric>FID|BLEU|F1|WER|EER|accuracy|perplexity)(?: score)? of {_ABOUT}{_VALUE}",
    )
)
_TIME = r"m?s|µs|(?:milli|micro)?seconds?|minutes?|hours?"
UNITS = {
    "percent": "%", "times": "×", "x": "×", "milliseconds": "ms", "millisecond": "ms", "microseconds": "µs", "microsecond": "µs",
    "seconds": "s", "second": "s", "minutes": "min", "minute": "min", "hours": "h", "hour": "h",
}  # fmt: skip
"""Units in words, and as a plan has them."""
_OF_OTHER = re.compile(r" of ([A-Z]\S*) (?:is|was|are|were) ")
_TASK = re.compile(r" (?:on average )?(to (?:[\w-]+ ){1,8}?[\w-]+)(?=[,.;:)]|$| (?:from|with|by|while|when|in|and)\b)")
"""Behind a time: what takes it, where that is no part of the method: "it takes 7.5 ms to download an image"."""
_WORK = r"(?:simulat|process|sustain|perform|handl|serv|deliver|execut|achiev|reach)"
_OF_SYSTEMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:takes?|took) (?:\w+ ){{0,4}}?{_ABOUT}(?P<value>{NUMBER}) ?(?P<unit>{_TIME})\b(?P<metric>)",
        rf"\b{_WORK}\w* {_ABOUT}(?P<value>{NUMBER}) (?P<unit>(?:\w+ ){{1,3}}per (?:second|minute|hour))(?P<metric>)",
    )
)
"""How systems are measured. Settings are told so, too: only sentences among results are read by these."""
_FACTOR = rf"{_ABOUT}(?<![\d.–-])(?P<value>{NUMBER}|twice|half) ?(?P<unit>\\?%|percent|×|x\b|times)?"
_THAN = (
    r"(?:the |that of |those of |an? )?"
    r"(?P<rival>[^\W\d][\w+*/-]*(?: (?!on|in|for|by|with|when|and|at|because)[\w+*/-]+){0,2})"
)
_MEASURE = rf"(?:the )?(?P<metric>{_METRIC}|performance|speed|bandwidth|(?:\w+ )?(?:time|space|memory|size|cost|ratio))"
_MORE = r"(?P<metric>faster|slower|smaller|larger|higher|lower|better)"
_RELATIVE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\boutperform\w* {_THAN}(?: \w+){{0,3}}? by {_FACTOR}(?P<metric>)",
        rf"{_FACTOR} (?:times )?{_MEASURE} (?:of|than) {_THAN}",
        rf"{_FACTOR} (?:times )?{_MORE} than {_THAN}",
        rf"{_FACTOR} (?:times )?as (?P<metric>fast|large|small) as {_THAN}",
        rf"\b{_MORE} than {_THAN}(?: \w+){{0,3}}? by {_FACTOR}",
        rf"{_FACTOR} (?:times )?(?P<metric>(?:less|more|fewer) \w+(?: \w+)?) than {_THAN}",
    )
)
"""How much better than others, in a sentence whose subject is the method: "is about 30 times faster than CC-Queue"."""
_WHOSE = re.compile(r"(?:[’']s|\bits|\bour|\bthe) ((?:\w+ )?\w+) (?:is|are|was|were)\b")
_COMPARES = re.compile("(?:[0-9]|twice|half).{0,60} (?:than|of|as) |outperform| than .{0,80}[0-9]")
"""What a sentence has that one of them may match."""
_LEAD = re.compile(
    r"(?:For|On|In|With) (?!(?:contrast|comparison|addition|particular|general|fact|summary|total|other|our|this|average)\b)"
    r"(?:the )?([^,.;]{3,60}), "
)
"""On what it was measured, where the sentence begins with it."""
_CLAUSE = re.compile(
    r"[,;:()]|\b(?:that|which|while|whereas|where|when|but|and|because|since|as|although|though|if|unlike|than)\b",
    re.IGNORECASE,
)
"""Where another clause may begin, with a subject of its own."""
_VERB = re.compile(
    r"(?:(?:^| )(?:is|are|was|were|be|been|can|may|to|runs?|ran|performs?|uses?|used|needs?|needed|takes?|took|ha[sd]|have"
    r"|achiev\w+|reach\w*|obtain\w*|gets?|got|yield\w*|deliver\w*|provid\w+|requir\w+|consum\w+|offer\w*|show(?:s|ed)?"
    r"|also|only|still|even|about|on average|more than|nearly|almost|over|at least|up to|by|an?|the|\w+ly))+$"
)
"""What stands between the subject and how much better it does."""
_NOT_SUBJECT = re.compile(
    r"\b(?:not|n[o']t|never|neither|nor|no|cannot|(?:contrast|compared|relative) (?:to|with)"
    r"|show\w*|f[oi](?:u)?nd\w*|see|saw|measur\w+|observ\w+|report\w*|believe\w*|expect\w*|assum\w+|make|made|let)\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"(?:our|ours|its|the (?:proposed|resulting|full|final|\w+ (?:model|method|system)))\b|(?:we|it)$", re.IGNORECASE
)
_WHERE = re.compile(r" (?:with|without|on|for|in|at|over|under|against) ", re.IGNORECASE)
"""What follows says where and with what, and is no subject."""
_RANGE = re.compile(r"[0-9]\S* (?:times )?(?:and|to|or) (?:about |around )?$|\b(?:not|never|n[o']t) (?:\w+ )?$")
"""Before a number that is the end of a range or the second of two, or that is denied."""
_NOUNS = {"fast": "speed", "large": "size", "small": "size"}
_IN_WORDS = {"twice": 2, "half": 0.5}
_SUBJECT = re.compile(
    r"\b(?:we|our|ours|its?|the (?:proposed|resulting|full|final|\w+ (?:model|method|system)))\b", re.IGNORECASE
)
_NOT_SHOWN = re.compile(
    r"\b(?:by|than|improv\w*|reduc\w*|gains?|increas\w*|decreas\w*|threshold|target|until|below|above|within|if|should"
    r"|assum\w*|at least|at most|previous|prior|baselines?|state[- ]of[- ]the[- ]art|et al|set to|human)\b",
    re.IGNORECASE,
)
_AUTHORS = re.compile(r"\b(?:we|our)\b", re.IGNORECASE)
_ON = re.compile(
    r"\b(?:on|for|in) (?:the )?((?:[A-Z][\w./+-]*|\d[\w.-]*[A-Za-z]\w*)(?: (?:[A-Z0-9][\w./+-]*|test|dev|set|task))*)"
)


def results_of_sentences(paper: PaperText, own: Sequence[str], tabled: set[float]) -> list[dict[str, Any]]:
    """Rows for the plan, at most MOST: numbers with a metric that the authors say of their own work and no table has.

    `tabled`: the values that the tables have given already.
    """
    rows: list[dict[str, Any]] = []
    known = set(tabled)
    for sentence in paper.sentences:
        if sentence.role == PROOF:
            continue
        found: dict[str, dict[str, Any]] = {}
        for row in _rows_of(sentence, own):
            found.setdefault(row["column"], row)  # of two numbers of one thing the second is another's
        for row in found.values():
            if row["value"] not in known and len(rows) < MOST:
                known.add(row["value"])
                rows.append(row)
    compared = (row for sentence in paper.sentences for row in _compared_rows(sentence, own))
    # the abstract says them first, and the sections of results again
    return [*rows, *{(row["column"], row["value"]): row for row in compared}.values()][:MOST]


def states_result(sentence: str) -> bool:
    """Whether a sentence tells a number that was measured: "its test error is 29.40%", and not how that compares."""
    said = without_pointers(sentence)
    return any(_is_measured(match) for one in _PATTERNS for match in one.finditer(said))


def _rows_of(sentence: Sentence, own: Sequence[str]) -> Iterator[dict[str, Any]]:
    said = without_pointers(sentence.text)
    subject = next((name for name in own if name.lower() in said.lower()), "")
    is_body = sentence.role in (RESULTS, MIXED, SETUP, BUILD)
    if not subject and not (_SUBJECT if is_body else _AUTHORS).search(said):
        return
    for pattern in (*_PATTERNS, *(_OF_SYSTEMS if sentence.role in (RESULTS, MIXED) else ())):
        for match in filter(_is_measured, pattern.finditer(said)):
            other = _OF_OTHER.search(match.group())
            if other and not _named_in(other.group(1), own):
                continue  # "the error of AP is 21%"
            if subject and subject.lower() not in said[: match.end()].lower():
                continue  # "its error is 29%; that of AP is 21%": the first is not AP's
            found = _ON.search(said, match.end()) or _ON.search(said)
            on = f" on {found.group(1).rstrip('.,')}" if found else ""
            unit = (match.group("unit") or "").removeprefix("\\")
            metric = match.group("metric") or (
                "time" if re.fullmatch(_TIME, unit) else "throughput" if "per " in unit else ""
            )
            task = _TASK.match(said, match.end()) if metric == "time" else None
            column = f"time {task.group(1)}" if task else f"{metric}{on}".strip()
            yield _row_of(sentence, subject, column, (metric, number_of(match.group("value")), unit))


def _compared_rows(sentence: Sentence, own: Sequence[str]) -> Iterator[dict[str, Any]]:
    """By how much the method does better, or worse, than others: it is named before the number, and the other is not it."""
    is_body = sentence.role in (RESULTS, MIXED)
    if not (is_body or sentence.role == BACKGROUND) or not _COMPARES.search(sentence.text):
        return
    said = without_pointers(sentence.text)
    for match in (match for pattern in _RELATIVE for match in pattern.finditer(said)):
        before, rival = said[: match.start()], match.group("rival").strip()
        subject = _subject_of(before, own)
        printed, unit = match.group("value"), (match.group("unit") or "").removeprefix("\\")
        value = _IN_WORDS.get(printed) or number_of(printed)
        is_told = unit or printed in _IN_WORDS or match.group().startswith(printed + " times")
        is_ours = subject is not None and (subject or is_body)
        if value is None or not is_told or not is_ours or _RANGE.search(said[: match.start("value")]):
            continue
        if not (any(name.lower() in rival.lower() for name in own) or _SUBJECT.match(rival)):
            metric = _NOUNS.get(match.group("metric"), match.group("metric")) or "performance"
            lead = _LEAD.match(said)
            on = lead if lead and not _named_in(lead.group(1), own) else _ON.search(said, match.end())
            if (whose := _WHOSE.findall(before)) and re.fullmatch(_MORE, metric):
                metric = f"{whose[-1]} {metric}"  # "its compression ratio is higher"
            better = match.group().lower().startswith("outperform")
            joined = "than" if " than " in match.re.pattern else "above that of" if better else "relative to"
            column = f"{metric} {joined} {rival}{f' on {on.group(1)}' if on else ''}".rstrip(".,")
            yield _row_of(sentence, subject or "", column, (metric, value, unit or "times"))


def _subject_of(before: str, own: Sequence[str]) -> str | None:
    """The method's name where it is the subject just before a comparison; "" for "our queue" or "it", None for others."""
    for clause in reversed(_CLAUSE.split(before)):
        subject = _WHERE.split(_VERB.sub("", f" {clause.strip()}"))[0].strip()
        if subject:
            if _NOT_SUBJECT.search(clause):
                return None
            return _named_in(subject, own) or ("" if _BEGINS.match(subject) else None)
    return None


def _named_in(text: str, own: Sequence[str]) -> str:
    return next((name for name in own if name.lower() in text.lower()), "")


def _row_of(sentence: Sentence, subject: str, column: str, told: tuple[str, int | float | None, str]) -> dict[str, Any]:
    metric, value, unit = told
    return {
        "table": f"text of section {sentence.section['number'] or sentence.section['title'] or '1'}",
        "row": subject or "the method",
        "column": column,
        "condition": "",
        "metric": metric,
        "value": value,
        "unit": UNITS.get(unit, unit),
        "page": sentence.page,
        "quote": sentence.text,
    }


def _is_measured(match: re.Match[str]) -> bool:
    """Measured numbers have a fraction or a unit, and are no threshold, no difference, and no other paper's."""
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR // 2]
    value = match.group("value")
    # "in 5 epochs"; "70% of its former rate" is a share
    is_reached = re.match(r" (?:in|within|after) [0-9]| of (?:its|the|that|their)\b", match.string[match.end() :])
    is_exact = bool(match.group("unit") or "." in value) and number_of(value) is not None
    return is_exact and not is_reached and not _NOT_SHOWN.search(around)
