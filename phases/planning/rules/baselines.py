"""What a paper compares its method with: sentences that compare, lists, headings, and the rows of its tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.component_names import key_of
from phases.planning.rules.mentions import (
    GENERIC,
    KNOWN_METRICS,
    MOST,
    NAME,
    NOT_DATA,
    Mention,
    drop_spellings,
    headings_below,
    is_one_word,
    sentences_of_roles,
    split_names,
)
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import MIXED, RESULTS, SETUP
from phases.planning.rules.tables import SETTING_NAME, cells_of, read_grid

_LONG = 8
_OPTIMISERS = ("Adam", "SGD")
"""No data sets, but what others are compared with."""
_BASE_NAMED = (
    re.compile(
        rf"\b(?:compare[ds]?|comparing|comparison|compared) (?:\w+ ){{0,6}}?(?:with|to|against|and|between) (?:the"
        rf" )?(?:\w+ ){{0,3}}?((?:{NAME})(?:(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and | or |;"
        rf" )(?:{NAME}))*)"
    ),
    re.compile(
        r"\bbaselines?(?: methods?| models?| algorithms?)?(?:,| \(|:| such as| including| are| is| include)+"
        rf" ?(?:the )?((?:{NAME})(?:(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and |; )(?:{NAME}))*)"
    ),
    re.compile(rf"\b({NAME})(?: \[[0-9, ]+\]| \([^()]*\))? (?:as (?:a |the |our )?baselines?|baselines?\b)"),
    re.compile(
        rf"\b(?:run|ran|played|tested|evaluated|measured|benchmarked) against (?:the )?({NAME}(?:(?:, and |, "
        rf"| and ){NAME})*)"
    ),
    re.compile(
        r"\b(?:the|an?) ((?!(?:strong|simple|same|other|new|proposed|common|standard|natural|first|second|following|best|original"
        r"|competitive|previous|stronger|additional|our|above|respective)\b)[a-z][\w-]+(?: [a-z][\w-]+){0,2}) baseline\b"
    ),
    re.compile(r"\bbaseline ((?:[a-z-]+ ){1,3}(?:strategy|method|model|algorithm|policy|agent))\b"),
)  # fmt: skip
_MEASURE = re.compile(
    r"\b(?:ratio|rate|time|times|length|size|score|epochs|seeds|steps|method|average|avg)\.?$", re.IGNORECASE
)
_MODEL_NAMES = re.compile(
    r"(?:BERT|RoBERTa|SciBERT|DeBERTa|DistilBERT|ALBERT|XLNet|ELECTRA|GPT|ChatGPT|Llama|LLaMA|Mistral|Mixtral|Gemma|Gemini|Claude"
    r"|Qwen|DeepSeek|Phi|FLAN|T5|BART|CLIP|ViT|DeiT|Swin|ResNet|WRN|WideResNet|VGG|DenseNet|EfficientNet|MobileNet|ConvNeXt|DiT|AlexNet|wav2vec)"
    r"(?![a-z])"
)
"""On what methods run, which no method is compared with."""
_SYSTEMS_LISTED = re.compile(r"\b(?:compar\w+|baselines?|competitors)\b.*:$", re.IGNORECASE)
_ITEM_NAME = re.compile(
    r"(?!How|Can|What|Why|Is|Do|Does|Which)([A-Za-z][\w¬+*-]*(?: [\w¬+*-]+){0,3}?)"
    r"(?= ?(?:\[[0-9, ]+\]|\([^()]*\))?(?:[:.,;]| [-–—] | is | uses?\b| \())"
)
_LISTED_AFTER = re.compile(r"\bbaselines?\b[^:.;]{0,60}: (.+)$")
_ARTICLE = re.compile(r"^(?:and )?(?:an?|the) ")
_POLICY = re.compile(
    r"^(?:The|A) ((?:[\w-]+ ){1,3}(?:policy|method|model|baseline|strategy|agent|algorithm|heuristic|classifier|allocator))\b"
)
_BASE_HEADING = re.compile(r"\b(?:baselines?|compared methods|competitors|comparison methods)\b", re.IGNORECASE)
_OURS = re.compile(r"\b(?:ours?|proposed|this work)\b", re.IGNORECASE)


def find_baselines(paper: PaperText, own: Iterable[str], known: Iterable[str] = ()) -> list[Mention]:
    """What the method is compared with, by sentences that compare and by rows of result tables with a citation.

    `known`: the paper's data sets, metrics and parts, which are no baselines.
    """
    mine = [name.lower() for name in own]
    known = list(known)
    others = {key_of(name) for name in known}
    found: dict[str, Mention] = {}
    for sentence in sentences_of_roles(paper, (SETUP, MIXED, RESULTS)):
        for pattern in _BASE_NAMED:
            for match in pattern.finditer(sentence.text):
                for name in split_names(match.group(1)):
                    found.setdefault(name, Mention(name, sentence))
    for table in paper.tables:
        if table.role not in (RESULTS, MIXED, SETUP):
            continue
        for row in cells_of(table.text)[1:]:
            cited = re.match(r"([A-Z][\w+. /&-]{1,40}?) ?(?:\[[0-9, ]+\]|\([^()]*(?:19|20)[0-9]{2}[a-z]?\))", row[0])
            if cited and sum(any(map(str.isdigit, cell)) for cell in row[1:]) > 0:
                name = cited.group(0) if cited.group(1).strip().endswith("al.") else cited.group(1).strip()
                found.setdefault(name, Mention(name, Sentence(row[0], table.section, table.page, table.role, "table")))
    for one in (*headings_below(paper, _BASE_HEADING), *_listed_baselines(paper), *_labels(paper, mine)):
        found.setdefault(one.name, one)
    kept = [
        one
        for name, one in found.items()
        if name.lower() not in mine
        and key_of(name) not in others
        and not (len(name) > _LONG and any(re.match(rf"{re.escape(name)}[ -]", part, re.IGNORECASE) for part in known))
        and not _is_metric(name)
        and not SETTING_NAME.match(name)
        and (name.startswith(_OPTIMISERS) or not NOT_DATA.match(name))
        and not is_one_word(name)
        and len(name) > 1
    ]
    return drop_spellings(kept)[:MOST]


def _listed_baselines(paper: PaperText) -> Iterator[Mention]:
    """What a list names that is introduced as what is compared, and what a section on baselines begins its paragraphs with."""
    for sentence in sentences_of_roles(paper, (SETUP, MIXED, RESULTS)):
        if sentence.kind == ITEM and not sentence.before and _SYSTEMS_LISTED.search(sentence.lead):
            yield from (Mention(match.group(1), sentence) for match in [_ITEM_NAME.match(sentence.text)] if match)
        if match := _LISTED_AFTER.search(sentence.text):
            parts = re.split(r",? and (?=an? )|, (?=(?:and )?an? )", re.sub(r" ?\([^()]*\)", "", match.group(1)))
            for part in parts if len(parts) > 1 else ():
                name = re.split(r" (?:with|that|which|of|according|from|using)\b|[.,]", _ARTICLE.sub("", part))[0]
                if 0 < len(name.split()) <= 4:
                    yield Mention(name, sentence)
        if (
            _BASE_HEADING.search(sentence.section["title"])
            and not sentence.before
            and (match := _POLICY.match(sentence.text))
        ):
            yield Mention(match.group(1), sentence)


def _is_metric(name: str) -> bool:
    return any(name.lower().startswith(metric.lower()) for metric in KNOWN_METRICS) or bool(_MEASURE.search(name))


def _labels(paper: PaperText, own: list[str]) -> Iterator[Mention]:
    """The methods that tables of results have beside the paper's own: labels of rows, else heads of columns."""
    counts: Counter[str] = Counter()
    first: dict[str, Mention] = {}
    for table in paper.tables:
        cells = cells_of(table.text)
        grid = read_grid(cells)
        labels = list(filter(None, grid.labels))
        heads = [head.partition(" / ")[0] for head in grid.heads]
        is_listed = bool(
            cells
            and re.search(
                r"method|model|optimi[sz]er|algorithm|approach|system",
                " ".join(cells[0][:2] + cells[min(1, len(cells) - 1)][:2]),
                re.IGNORECASE,
            )
        )
        names = labels if is_listed or _has_own(labels, own) else heads if _has_own(heads, own) else []
        for name in dict.fromkeys(names):
            plain = re.sub(r"(?: [0-9.]+| ?\([^()]*\)| ?\[[0-9, ]+\])+$| (?:paper|code|ours)$", "", name).strip()
            if _is_method(plain, own) and len(names) <= 24 and not (names is heads and _MODEL_NAMES.match(plain)):
                counts[plain] += 1
                first.setdefault(plain, Mention(plain, Sentence(name, table.section, table.page, table.role, "table")))
    yield from (first[name] for name, _ in counts.most_common(8))


def _has_own(labels: list[str], own: list[str]) -> bool:
    return any(_OURS.search(label) or any(name and name in label.lower() for name in own) for label in labels)


def _is_method(name: str, own: list[str]) -> bool:
    """Whether a label may be another method's name: no number, no variant without a part, and not the paper's own."""
    if not re.match(r"[A-Z]", name) or not 1 < len(name) <= 40 or len(name.split()) > 5 or GENERIC.search(name):
        return False
    if re.search(
        r"\b(?:w/o|without|dataset|average|mean|total|all|params?)\b|[=<>%×]|^[A-Z]?[0-9]", name, re.IGNORECASE
    ):
        return False
    return not _OURS.search(name) and not any(one and one in name.lower() for one in own)
