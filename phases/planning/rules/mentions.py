"""Name the data sets, measures and baselines of a paper, by table heads and by "evaluate on", "compare with"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phases.planning.links import link_and_licence
from phases.planning.rules.names import NAMES, abbreviations_of, expand, is_same, is_telling, letters_of
from phases.planning.rules.passages import PaperText, Sentence, quote_start, source_of
from phases.planning.rules.results import METRIC, TableUse, is_own, metric_of
from phases.planning.rules.sections import BACKGROUND, BUILD, OTHER, PROOF
from phases.planning.rules.tables import METHOD_HEAD, SETTING_NAME

_MOST, _LONGEST, _FEWEST_MENTIONS, _MOST_METRICS = 12, 6, 2, 10
_LIST = rf"{NAMES}(?:(?:, | and |, and |, or | or ){NAMES}){{0,9}}"
_KIND_OF_DATA = r"(?:data ?sets?|corpus|corpora|benchmarks?|collections?|test ?sets?|tree ?bank|Datens[aä]tze?|数据集)"
_DATA = (
    re.compile(rf"({_LIST})(?: (?:[a-z]+[- ])?[a-z]+)?? {_KIND_OF_DATA}\b"),
    re.compile(
        rf"\b{_KIND_OF_DATA}(?:,| named| called|:| such as| including| like| are| is|,? namely)+ (?:the )?({_LIST})"
    ),
    re.compile(
        r"\b(?:evaluat\w*|experiment\w*|train\w*|test\w*|results?|benchmark\w*|perform\w*|validat\w*)\b(?: [\w-]+){0,5}? on"
        rf" (?:the |both |several |standard |public )*({_LIST})(?! (?:GPU|CPU|and \w+ GPU))"
    ),
)
_USED = re.compile(rf"\b(?:employ|us(?:e|es|ed|ing)|consider(?:ed)?|adopt(?:ed)?|test on) (?:the )?({_LIST})")
_IS_ABOUT_DATA = re.compile(r"\bdata ?sets?\b", re.IGNORECASE)
_BRACKETS = re.compile(r" ?\([^()]*\)")
_IN_CAPTION = re.compile(rf"\bon (?:the )?({_LIST})")
_COMPARED = (
    re.compile(
        rf"\b(?:[Cc]ompar\w+|[Oo]utperform\w*)\b(?: [\w-]+){{0,6}}?(?: with| to| against| over)? (?:the |those of |that of "
        rf")*({_LIST})"
    ),
    re.compile(
        rf"\bbaselines?(?: methods?| models?)?(?:,| are| is|:| include| including| such as| like|,? namely)+ (?:the )?({_LIST})"
    ),
    re.compile(rf"\b(?:versus|vs\.?|instead of|(?:run|played|tested|evaluated|measured) against) (?:the )?({_LIST})"),
    re.compile(rf"({_LIST}) (?:is|are|as) (?:the |our |a )?(?:\w+ )?baselines?\b"),
)
_MEASURED = re.compile(
    r"\b(?:we (?:report|measure|use|compute)|in terms of|measured (?:by|in)|evaluated (?:by|using|with)|metrics?(?:,| are| is"
    r"|:| such as))"
    rf" (?:the |both |average |mean )*((?:[A-Za-z][\w@-]* ){{0,2}}?(?:{METRIC.pattern}))",
    re.IGNORECASE,
)
_METRICS = re.compile(
    r"\bmetrics?(?: are|:| include| such as|, namely) ([^.;:()]{3,160}?)(?: until| when| where|[.;:(]|$)"
)
"""What a sentence lists: three metrics: the number of iterations, ratio of FLOPS and ratio of CPU-time."""
_NO_METRIC = re.compile(
    r"learning rates?|time ?-?steps?|standard errors?|loss functions?|dropout rates?|sampl\w+ rates?", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:an?|the|our) ", re.IGNORECASE)
_LONGEST_TOLD = 1500
"""Of a sentence in which names are looked for."""
_VAGUE = frozenset(["time", "rate", "memory", "score", "return", "returns", "loss", "error", "acc"])
"""Measures that say nothing without the word before them."""
_QUALIFIED = re.compile(
    r"\b(?!(?:default|learning|smaller|larger|one|dropout|sampling|decay|update|the|this|that|each|our|an?|of|and|or|same"
    r"|high\w*|low\w*"
    rf"|better|best|good|average|mean|overall|time|total|running|in|at|for|with|on|to|is|more|less) )[A-Za-z][a-z-]+ "
    rf"(?:{METRIC.pattern})",
)
"""A measure with the word that says which: validation accuracy."""
_LEADING = re.compile(
    r"^(?:(?:The|We|Our|This|These|In|On|For|All|Both|Each|With|As|It|If|To|A|An|Then|And|Table|Figure|Section|See|Here|From) "
    r")+"
)
_NO_NAME_TEXT = """
the we our this these in on for all both each with as it if to a an then table figure fig section algorithm appendix equation
theorem lemma dataset datasets data test train average total mean results method methods model models baseline baselines ours
however since when while although task tasks note english using state step phase part parameter setting value linux windows
python
"""
_NO_NAME = frozenset(_NO_NAME_TEXT.split())
_NO_HEAD = re.compile(r"[=<>↑↓%#(]")
_CITED = re.compile(r"\s*(?:\[[0-9, ]+\]|\((?:[A-Z][^()]*)?(?:19|20)[0-9]{2}[a-z]?\))$")
_ROW_OF_NUMBERS = re.compile(r"[\W\d]*$|[0-9]|.*[=<>]|w/|\+|-|no |without |only |with ", re.IGNORECASE)
_MACHINE = re.compile(r"\b(?:[GCT]PUs?|RAM|GHz|Intel|NVIDIA|Xeon)\b")


@dataclass(frozen=True)
class Mention:
    """A name and the sentence that a reader finds it in."""

    name: str
    sentence: Sentence


def find_datasets(paper: PaperText, uses: Sequence[TableUse], own: Sequence[str]) -> list[Mention]:
    """Return the data sets: "the X data set", "evaluate on X", and what captions of results are "on"."""
    found: list[Mention] = []
    for one in _told(paper):
        said = _BRACKETS.sub("", one.text)
        for at, pattern in enumerate(_DATA):  # what is called a data set counts more than what is trained on
            found += [Mention(name, one) for name in _names_in(pattern, said, proper=at == 2) for _ in range(3 - at)]
        if _IS_ABOUT_DATA.search(one.head):
            found += [Mention(name, one) for name in _names_in(_USED, said, proper=True)]
    called = [name for one in _told(paper) for pattern in _DATA[:2] for name in _names_in(pattern, one.text)]
    called = [name for name, times in Counter(called).items() if times > 1]
    for use in (use for use in uses if use.rows):
        heads = _columns_of_data(use, own)
        heads = heads if not called or any(_is_any(head, called) for head in heads) else []
        names = [*heads, *_names_in(_IN_CAPTION, use.caption[:200], proper=True)]
        found += [Mention(name, use.place) for name in names]
    return _choose(found, paper, own, least=_FEWEST_MENTIONS)


def find_metrics(paper: PaperText, uses: Sequence[TableUse], datasets: Sequence[str]) -> list[Mention]:
    """Return the measures: what heads and captions of result tables name, and what sentences of the set-up report."""
    found: list[Mention] = []
    for use in (use for use in uses if use.rows):
        heads = [head.rpartition(" / ")[2] for head in use.table.grid.heads]
        names = [head for head in heads if METRIC.search(head) and len(head.split()) < 5 and "=" not in head]
        names += [*(str(row["metric"]) for row in use.rows), *(metric_of(head, "") for head in heads)]
        names += [match.group(0) for match in _QUALIFIED.finditer(use.caption)]
        found += [Mention(name, use.place) for name in dict.fromkeys(names)]
    named: dict[str, list[Sentence]] = {}
    for one in _told(paper):
        names = [match.group(0) for match in _QUALIFIED.finditer(one.text)]
        if one.role == BUILD:
            names = [name for name in names if name.split()[-1] not in _VAGUE]
        else:
            found += [Mention(match[1], one) for match in _MEASURED.finditer(one.text)]
            listed = [
                name for match in _METRICS.finditer(one.text) for name in re.split(r", (?:and )?| and ", match[1])
            ]
            found += [Mention(name, one) for name in listed if name and len(name.split()) <= _LONGEST]
            told = [match.group(0) for match in METRIC.finditer(_NO_METRIC.sub(" ", one.text))]
            names += [name if name.isupper() else name.lower() for name in told]
        for name in names:
            named.setdefault(name, []).append(one)
    often = [name for name, places in named.items() if len(places) >= 2 + (" " in name)]
    found += [Mention(name, named[name][0]) for name in sorted(often, key=lambda name: -len(named[name]))]
    sets = re.compile(rf"\b(?:{'|'.join(map(re.escape, datasets))})\b[ 0-9]*") if datasets else _ARTICLE
    found = [replace(one, name=sets.sub("", one.name).strip() or one.name) for one in found]
    found = [replace(one, name=_ARTICLE.sub("", one.name)) for one in found if not _NO_METRIC.search(one.name)]
    is_clear = [one.sentence.kind == "caption" or one.name.lower() not in _VAGUE for one in found]
    found = [one for one, clear in zip(found, is_clear, strict=True) if clear and not _is_any(one.name, datasets)]
    found = [replace(one, name=expand(one.name.replace("accuracies", "accuracy"), paper.prose)) for one in found]
    return _choose(found, paper, (), least=1, flags=re.IGNORECASE)[:_MOST_METRICS]


def find_baselines(
    paper: PaperText, uses: Sequence[TableUse], own: Sequence[str], others: Sequence[str]
) -> list[Mention]:
    """Return what the method is compared with: the other rows of tables of methods, and what sentences compare it with."""
    found: list[Mention] = []
    for use in (use for use in uses if use.rows):
        grid = use.table.grid
        heads = list(
            dict.fromkeys(part for head in grid.heads for part in head.split(" / ") if not METRIC.search(head))
        )
        names = list(dict.fromkeys(label.split(" / ")[-1] for label in grid.labels))
        is_measured = any(is_own(name, own) for name in names)
        if not is_measured and any(is_own(head, own) for head in heads):
            names, is_measured = heads, True  # a column for each method
        if METHOD_HEAD.search(grid.corner) or is_measured:
            names = [name for name in names if re.search(r"[^\W\d_]{2}", name) and not METRIC.search(name)]
            names = [name for name in names if not (_ROW_OF_NUMBERS.match(name) or SETTING_NAME.match(name))]
            found += [Mention(_CITED.sub("", name), use.place) for name in names]
    for one in _told(paper):
        found += [Mention(name, one) for pattern in _COMPARED for name in _names_in(pattern, one.text)]
    others = [*others, *_parts(paper)]
    known = [one for one in found if not _is_any(one.name, others) and not is_own(one.name, own)]
    known = [one for one in known if len(one.name.split()) <= _LONGEST and not METRIC.search(one.name)]
    return _choose(known, paper, own, least=1)


def _parts(paper: PaperText) -> Iterator[str]:
    """Yield what the method's headings name, in words and in short: a part of the method is not a rival."""
    for section in paper.outline["sections"]:
        if paper.roles.get(section["id"]) == BUILD:
            name = re.sub(r" ?\(.*?\)", "", section["title"])
            yield from (name, *abbreviations_of(name, f"{section['title']} {paper.prose}"))


def mention_row(one: Mention) -> dict[str, Any]:
    """Return the name as a row of the plan."""
    said = one.sentence
    return {"name": one.name, "source": source_of(said.section, said.page, quote_start(said.text))}


def data_rows(found: Sequence[Mention], paper: PaperText) -> list[dict[str, Any]]:
    """Return the data sets with the address and licence that the paper prints next to the name."""
    names = {one.name for one in found}
    return [{**mention_row(one), **link_and_licence(one.name, paper.text, names)} for one in found]


def _columns_of_data(use: TableUse, own: Sequence[str]) -> list[str]:
    """Return the heads that are names, of a table whose rows are methods, or its rows where the columns are."""
    grid = use.table.grid
    heads = list(dict.fromkeys(part for head in grid.heads for part in head.split(" / ")))
    labels = list(dict.fromkeys(label.split(" / ")[-1] for label in grid.labels))
    if any(is_own(head, own) for head in heads):
        names = labels
    elif METHOD_HEAD.search(grid.corner) or any(is_own(label, own) for label in labels):
        names = heads
    else:
        return []
    names = [name for name in names if re.match(r"[A-Za-z]*[A-Z]", name) and len(name) > 2 and len(name.split()) <= 3]
    return [name for name in names if not (METRIC.search(name) or _NO_HEAD.search(name) or is_own(name, own))]


def _told(paper: PaperText) -> Iterator[Sentence]:
    yield from (one for one in paper.sentences if one.role not in (BACKGROUND, OTHER, PROOF))


def _names_in(pattern: re.Pattern[str], text: str, *, proper: bool = False) -> Iterator[str]:
    """Yield the names of a list that a pattern finds; `proper`: those whose letters say that they are names."""
    # a list of capitals takes the square of its length, and nobody writes such a sentence
    for part in (
        part
        for match in pattern.finditer(text[:_LONGEST_TOLD])
        for part in re.split(r", and |, or | and | or |, ", match[1])
    ):
        name = _LEADING.sub("", part).strip(" .,;:")
        is_short = len(name) > 1 and len(name.split()) <= _LONGEST
        is_fit = is_short and name.lower() not in _NO_NAME and not _MACHINE.search(name)
        if is_fit and (not proper or is_telling(name.split()[0]) or " " in name or re.fullmatch(r"[A-Z]\w+", name)):
            yield name


def _is_any(name: str, others: Sequence[str]) -> bool:
    return any(is_same(name, other) for other in others)


def _without_note(name: str, text: str) -> str:
    """Return a name without the number of a note behind it: "MNIST24" of a text that mostly has "MNIST"."""
    bare = name.rstrip("0123456789")
    if len(bare) < 3 or bare == name or bare[-1] in "-_ .":
        return name
    return bare if len(re.findall(rf"{re.escape(bare)}(?!\w)", text)) > text.count(name) else name


def _choose(
    found: Sequence[Mention], paper: PaperText, own: Sequence[str], *, least: int, flags: int = 0
) -> list[Mention]:
    """Return the names that the paper has often enough, the most supported first, each in one spelling."""
    kept: dict[str, Mention] = {}
    support = Counter[str]()
    for one in (replace(row, name=_without_note(row.name, paper.text)) for row in found):
        key = letters_of(one.name).rstrip("s")
        if key and not _is_any(one.name, own):
            kept.setdefault(key, one)
            support[key] += 1
    counts = {
        key: len(re.findall(rf"(?<!\w){re.escape(one.name)}(?!\w)", paper.text, flags)) for key, one in kept.items()
    }
    sure = [key for key in kept if counts[key] >= least or support[key] >= 3]
    sure.sort(key=lambda key: -support[key] - 0.1 * counts[key])
    places = {key: at for at, key in enumerate(kept)}
    return [kept[key] for key in sorted(sure[:_MOST], key=places.__getitem__)]
