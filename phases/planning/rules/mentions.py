"""Name the data sets, measures, baselines and packages of a paper, by table heads and by "evaluate on", "compare with"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from phases.planning.rules.captions import METRIC, metric_of
from phases.planning.rules.links import find_licence, find_link
from phases.planning.rules.names import NAMES, is_same, is_telling, letters_of
from phases.planning.rules.passages import PaperText, Sentence, quote_start, source_of
from phases.planning.rules.results import TableUse, is_own
from phases.planning.rules.sections import BACKGROUND, BUILD, MIXED, OTHER, PROOF, RESULTS, SETUP
from phases.planning.rules.tables import METHOD_HEAD

_MOST, _LONGEST, _FEWEST_MENTIONS = 12, 6, 2
_LIST = rf"{NAMES}(?:(?:, | and |, and |, or | or ){NAMES}){{0,9}}"
_KIND_OF_DATA = r"(?:data ?sets?|corpus|corpora|benchmarks?|collections?|test ?sets?|tree ?bank|Datens[aä]tze?|数据集)"
_DATA = (
    re.compile(rf"({_LIST})(?: (?:[a-z]+[- ])?[a-z]+)?? {_KIND_OF_DATA}\b"),
    re.compile(
        rf"\b{_KIND_OF_DATA}(?:,| named| called|:| such as| including| like| are| is|,? namely)+ (?:the )?({_LIST})"
    ),
    re.compile(
        rf"\b(?:evaluat\w*|experiment\w*|train\w*|test\w*|results?|benchmark\w*|performance|perform\w*|validat\w*)\b(?: [\w-]+){{0,5}}? on"
        rf" (?:the |both |several |standard |public )*({_LIST})(?! (?:GPU|CPU|and \w+ GPU))"
    ),
)
_IN_CAPTION = re.compile(rf"\bon (?:the )?({_LIST})")
_COMPARED = (
    re.compile(
        rf"\b(?:[Cc]ompar\w+|[Oo]utperform\w*)\b(?: [\w-]+){{0,6}}?(?: with| to| against| over)? (?:the |those of |that of )*({_LIST})"
    ),
    re.compile(
        rf"\bbaselines?(?: methods?| models?)?(?:,| are| is|:| include| including| such as| like|,? namely)+ (?:the )?({_LIST})"
    ),
    re.compile(rf"\b(?:versus|vs\.?|instead of) ({_LIST})"),
    re.compile(rf"({_LIST}) (?:is|are|as) (?:the |our |a )?(?:\w+ )?baselines?\b"),
)
_MEASURED = re.compile(
    r"\b(?:we (?:report|measure|use|compute)|in terms of|measured (?:by|in)|evaluated (?:by|using|with)|metrics?(?:,| are| is|:| include| such as))"
    rf" (?:the |both |average |mean )*((?:[A-Za-z][\w@-]* ){{0,2}}?(?:{METRIC.pattern}))",
    re.IGNORECASE,
)
_NO_METRIC = re.compile(
    r"learning rates?|time ?-?steps?|standard errors?|loss functions?|dropout rates?|sampl\w+ rates?", re.IGNORECASE
)
_VAGUE = frozenset(["time", "rate", "memory", "score", "return", "returns", "loss", "error", "acc"])
"""Measures that say nothing without the word before them."""
_QUALIFIED = re.compile(
    r"\b(?!(?:default|learning|lowest|smaller|larger|one|dropout|sampling|decay|update|the|this|that|each|our|an?|of|and|or|same|high\w*|low\w*|better|best|good|average|mean"
    rf"|overall|time|total|running|in|at|for|with|on|to|is|more|less) )[A-Za-z][a-z-]+ (?:{METRIC.pattern})",
)
"""A measure with the word that says which: validation accuracy."""
_LEADING = re.compile(
    r"^(?:(?:The|We|Our|This|These|In|On|For|All|Both|Each|With|As|It|If|To|A|An|Then|And|Table|Figure|Section|See|Here|From) )+"
)
_NO_NAME = frozenset(
    ["the", "we", "our", "this", "these", "in", "on", "for", "all", "both", "each", "with", "as", "it", "if", "to", "a", "an", "then", "table", "figure", "fig", "section", "algorithm", "appendix", "equation", "theorem", "lemma", "gpu", "gpus", "cpu", "nvidia", "intel", "i", "ii", "iii", "iv", "dataset", "datasets", "data", "test", "train", "average", "total", "mean", "results", "method", "methods", "model", "models", "baseline", "baselines", "ours", "however", "since", "when", "while", "although", "task", "tasks", "note", "using", "english", "state", "step", "phase", "part", "parameter", "setting", "value", "ram", "linux", "windows", "python", "pytorch", "tensorflow", "x", "y", "n", "k"]
)
_ROW_OF_NUMBERS = re.compile(r"[\W\d]*$|[0-9]|.*[=<>]|w/|\+|-|no |without |only |with ", re.IGNORECASE)
_MACHINE = re.compile(r"\b(?:[GCT]PUs?|RAM|GHz|Intel|NVIDIA|Xeon)\b")
_PACKAGES = {
    letters_of(name): name
    for name in ["PyTorch", "TensorFlow", "Keras", "JAX", "Flax", "numpy", "SciPy", "scikit-learn", "pandas", "Matplotlib", "Transformers", "diffusers", "tokenizers", "spaCy", "NLTK", "gensim", "XGBoost", "LightGBM", "NetworkX", "Ray", "statsmodels", "Pillow", "pdfplumber", "pdf2image", "PySBD", "LayoutParser", "sciSpaCy", "PyHessian", "fairseq", "SentencePiece", "sacreBLEU", "librosa", "torchvision", "Optuna", "CVXPY", "SymPy", "Numba", "Captum", "FEniCS", "einops", "gymnasium", "tianshou", "MuJoCo", "tensor2tensor", "CUDA", "stable-baselines3", "lm-eval", "Theano"]
}
"""Packages that are installed under the name that papers use; a name that a paper makes up could be anybody's package."""
_SPELLED = {"torch": "PyTorch", "sklearn": "scikit-learn", "huggingface": "Transformers", "openaigym": "gymnasium"}
_OF_CODE = re.compile(
    r"librar|packages?\b|framework|toolkit|implement|software|\bcode\b|built (?:on|with|in)|\busing\b|version|\buse",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mention:
    """A name and the sentence that a reader finds it in."""

    name: str
    sentence: Sentence


def find_datasets(paper: PaperText, uses: Sequence[TableUse], own: Sequence[str]) -> list[Mention]:
    """Return the data sets: "the X data set", "evaluate on X", and what captions of results are "on"."""
    found: list[Mention] = []
    for one in _told(paper):
        for at, pattern in enumerate(_DATA):
            names = [
                name for match in pattern.finditer(one.text) for name in _split(match[1]) if at < 2 or _is_proper(name)
            ]
            found += [Mention(name, one) for name in names for _ in range(3 - at)]
    for use in uses:
        if use.rows:
            place = Sentence(use.caption or use.label, use.table.section, use.table.page, use.table.role, "caption")
            found += [Mention(name, place) for name in _columns_of_data(use, own)]
            found += [
                Mention(name, place)
                for match in _IN_CAPTION.finditer(use.caption[:200])
                for name in _split(match[1])
                if _is_proper(name)
            ]
    return _choose(found, paper, own, least=_FEWEST_MENTIONS)


def find_metrics(paper: PaperText, uses: Sequence[TableUse], datasets: Sequence[str]) -> list[Mention]:
    """Return the measures: what heads and captions of result tables name, and what sentences of the set-up report."""
    found: list[Mention] = []
    for use in uses:
        place = Sentence(use.caption or use.label, use.table.section, use.table.page, use.table.role, "caption")
        names = [str(row["metric"]) for row in use.rows if row["metric"]]
        names += [metric_of(head, "", "") for head in use.table.grid.heads] if use.rows else []
        found += [Mention(name, place) for name in dict.fromkeys(filter(None, names))]
        found += [Mention(match.group(0), place) for match in _QUALIFIED.finditer(use.caption)] if use.rows else []
    named: dict[str, list[Sentence]] = {}
    for one in _told(paper):
        told = _MEASURED.finditer(one.text) if one.role != BUILD else ()
        found += [Mention(match[1], one) for match in told]
        for match in _QUALIFIED.finditer(one.text):
            named.setdefault(match.group(0), []).append(one)
        for match in METRIC.finditer(_NO_METRIC.sub(" ", one.text)):
            if one.role != BUILD and match.group(0).lower() not in _VAGUE:
                named.setdefault(match.group(0).lower(), []).append(one)
    often = sorted(
        (name for name, places in named.items() if len(places) >= 2 + (" " in name)), key=lambda name: -len(named[name])
    )
    found += [Mention(name, named[name][0]) for name in often]
    found = [
        one
        for one in found
        if (one.name.lower() not in _VAGUE or one.sentence.kind == "caption")
        and not any(is_same(one.name, name) for name in datasets)
    ]
    return _choose(found, paper, (), least=1)[:8]


def find_baselines(
    paper: PaperText, uses: Sequence[TableUse], own: Sequence[str], others: Sequence[str]
) -> list[Mention]:
    """Return what the method is compared with: the other rows of tables of methods, and what sentences compare it with."""
    found: list[Mention] = []
    for use in uses:
        grid = use.table.grid
        names = [label.split(" / ")[-1] for label in grid.labels]
        is_of_methods = METHOD_HEAD.search(grid.corner) or (
            any(is_own(name, own) for name in names) and use.table.role in (RESULTS, MIXED)
        )
        if not use.rows or not is_of_methods:
            continue
        place = Sentence(use.caption or use.label, use.table.section, use.table.page, use.table.role, "caption")
        found += [
            Mention(re.sub(r"\s*(?:\[[0-9, ]+\]|\((?:[A-Z][^()]*)?(?:19|20)[0-9]{2}[a-z]?\))$", "", name), place)
            for name in dict.fromkeys(names)
            if re.search(r"[^\W\d_]{2}", name) and not _ROW_OF_NUMBERS.match(name) and not METRIC.search(name)
        ]
    for one in _told(paper):
        for pattern in _COMPARED:
            found += [Mention(name, one) for match in pattern.finditer(one.text) for name in _split(match[1])]
    known = [
        one for one in found if not any(is_same(one.name, other) for other in others) and not is_own(one.name, own)
    ]
    return _choose(known, paper, own, least=1)


def find_packages(paper: PaperText) -> list[Mention]:
    """Return the packages that the paper says it uses."""
    found: dict[str, Mention] = {}
    for one in paper.sentences:
        if one.role in (BUILD, SETUP, MIXED, RESULTS, OTHER) and _OF_CODE.search(one.text):
            for word in re.findall(r"[A-Za-z][\w-]+\w(?: Gym)?", one.text):
                plain = letters_of(word)
                name = _SPELLED.get(plain) or (
                    _PACKAGES.get(plain) if word[0].isupper() or "-" in word or plain in ("numpy", "pandas") else None
                )
                if name:
                    found.setdefault(name, Mention(name, one))
    return list(found.values())


def mention_row(one: Mention) -> dict[str, Any]:
    """The name as the plan holds it."""
    said = one.sentence
    return {"name": one.name, "source": source_of(said.section, said.page, quote_start(said.text))}


def data_rows(found: Sequence[Mention], paper: PaperText) -> list[dict[str, Any]]:
    """The data sets, each with the address and the licence that the paper prints beside its name."""
    names = {one.name for one in found}
    rows = []
    for one in found:
        said = {"address": find_link(one.name, paper.text, names), "licence": find_licence(one.name, paper.text, names)}
        rows.append({**mention_row(one), **{key: text for key, text in said.items() if text}})
    return rows


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
    return [name for name in names if re.match(r"[A-Za-z]*[A-Z]", name) and not METRIC.search(name) and len(name) > 2 and not is_own(name, own)
            and len(name.split()) <= 3 and not re.search(r"[=<>↑↓%#]|\(", name) and name.lower() not in _NO_NAME]  # fmt: skip


def _told(paper: PaperText) -> Iterator[Sentence]:
    yield from (one for one in paper.sentences if one.role not in (BACKGROUND, OTHER, PROOF))


def _split(names: str) -> Iterator[str]:
    for part in re.split(r", and |, or | and | or |, ", names):
        name = _LEADING.sub("", part).strip(" .,;:")
        if (
            name
            and len(name) > 1
            and len(name.split()) <= _LONGEST
            and name.lower() not in _NO_NAME
            and not _MACHINE.search(name)
        ):
            yield name


def _is_proper(name: str) -> bool:
    return (
        is_telling(name.split()[0])
        or len(name.split()) > 1
        or bool(re.fullmatch(r"[A-Z][a-z]+[A-Z0-9]\w*|[A-Z]\w+", name))
    )


def _choose(found: Sequence[Mention], paper: PaperText, own: Sequence[str], *, least: int) -> list[Mention]:
    """Return the names that the paper has often enough, the most supported first, each in one spelling."""
    kept: dict[str, Mention] = {}
    support = Counter[str]()
    for one in found:
        key = letters_of(one.name).rstrip("s")
        if key and not any(is_same(one.name, name) for name in own):
            kept.setdefault(key, one)
            support[key] += 1
    counts = {key: len(re.findall(rf"(?<!\w){re.escape(one.name)}(?!\w)", paper.text)) for key, one in kept.items()}
    sure = [key for key in kept if counts[key] >= least or support[key] >= 3]
    sure.sort(key=lambda key: -support[key] - 0.1 * counts[key])
    places = {key: at for at, key in enumerate(kept)}
    return [kept[key] for key in sorted(sure[:_MOST], key=places.__getitem__)]
