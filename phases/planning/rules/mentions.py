"""The data sets, metrics, baselines and packages that a paper names, each with the place where it does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from phases.planning.rules.blocks import ITEM
from phases.planning.rules.component_names import key_of
from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, PROOF, RESULTS, SETUP
from phases.planning.rules.tables import SETTING_NAME, cells_of, read_grid


class Mention(NamedTuple):
    """A name, and the sentence that has it."""

    name: str
    sentence: Sentence


_KNOWN_DATA_TEXT = """
MNIST CIFAR-10 CIFAR-100 CIFAR10 CIFAR100 CIFAR-FS miniImageNet tieredImageNet ImageNet ImageNet-1k Tiny-ImageNet
Omniglot SVHN CelebA LSUN FFHQ Fashion-MNIST FashionMNIST EMNIST KMNIST STL-10 Caltech-101 Food-101 CUB-200 COCO
MS-COCO PASCAL-VOC Cityscapes ADE20K KITTI Kinetics UCF101 GLUE SuperGLUE SQuAD SNLI MNLI QNLI SST-2 MRPC QQP RTE CoLA
WikiText-2 WikiText-103 PTB Penn-Treebank enwik8 text8 C4 OpenWebText BookCorpus Wikipedia CoNLL-2003 OntoNotes WMT
IWSLT newstest2013 newstest2014 LibriSpeech TIMIT AudioSet VCTK GSM8K MATH MMLU HellaSwag ARC PIQA WinoGrande BoolQ
HumanEval MBPP AQuA-RAT SVAMP StrategyQA CommonsenseQA TriviaQA HotpotQA WTQ SQA TabFact WikiSQL Spider P3 BIG-Bench
TruthfulQA MovieLens Netflix Yelp IMDB AG-News 20-Newsgroups Reuters Cora Citeseer Pubmed ogbn-arxiv PROTEINS MUTAG
QM9 ZINC MoleculeNet Adult COMPAS Iris MuJoCo Atari Hopper HalfCheetah Walker2d Ant Humanoid Reacher CartPole D4RL
DeepMind-Control TPC-C TPC-H YCSB TREC MSMARCO LETOR BEIR ShapeNet ModelNet40 ScanNet
"""
_KNOWN_DATA = [name.replace("-", " ") for name in _KNOWN_DATA_TEXT.split()]
_KNOWN_DATA_NAMED = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(_KNOWN_DATA, key=len, reverse=True)).replace(' ', '[- ]')})(?![\w-])"
)
_KNOWN_METRICS = (
    "cell selection accuracy", "denotation accuracy", "binary classification accuracy", "classification accuracy",
    "validation accuracy", "test accuracy", "training accuracy", "validation loss", "training loss", "test loss",
    "accuracy", "precision", "recall", "F1", "AUC", "AUROC", "ROC", "BLEU", "ROUGE", "METEOR", "perplexity",
    "bits per dimension", "bits per character", "mean squared error", "root mean squared error",
    "mean absolute error", "MSE", "RMSE", "MAE", "L2 relative error", "L2RE", "relative error", "error rate",
    "word error rate", "exact match", "edit success rate", "EM drop ratio", "mean average precision", "MAP", "NDCG",
    "MRR", "IoU", "FID", "inception score", "SSIM", "PSNR", "log-likelihood", "negative log-likelihood", "ELBO",
    "KL divergence", "KL", "cumulative reward", "average return", "total reward", "return", "reward", "regret",
    "throughput", "latency", "response time", "running time", "execution time", "wall-clock time", "memory usage",
    "hit rate", "hit ratio", "miss rate", "compression ratio", "speedup", "win rate", "winning rate",
    "silhouette score", "gradient norm", "correlation", "Spearman correlation", "Pearson correlation",
    "success rate", "fidelity score", "fidelity", "sparsity", "load factor", "space utilization",
    "prediction variation percentage", "coverage", "Brier score", "calibration error", "ECE", "top-1 accuracy",
    "top-5 accuracy", "loss", "mean error", "edit distance", "bandwidth", "scalability", "CPU utilization",
)  # fmt: skip
_WIDE_METRICS = frozenset(
    [
        "loss",
        "accuracy",
        "return",
        "reward",
        "correlation",
        "error",
        "coverage",
        "sparsity",
        "bandwidth",
        "precision",
        "recall",
    ]
)
_NAME = r"(?:[A-Z][\w@+.-]*\w|[a-z]+[A-Z]\w*)(?:[ -](?:[A-Z0-9][\w+.-]*|[0-9]+)){0,3}"
_DATA_NAMED = (
    re.compile(rf"\b({_NAME})(?: \[[0-9, ]+\]| \([^()]*\))? (?:data ?sets?|corp(?:us|ora)|benchmarks?|treebank)\b"),
    re.compile(
        r"\b(?:data ?sets?|corpora|benchmarks|tasks|environments)(?: \([^()]*\))?(?: namely| called|:| such as|"
        rf" including| \w+ing)?:? ((?:{_NAME}(?:,? ?(?:\[[0-9, ]+\]|\([^()]*[0-9]{{4}}[^()]*\)))?(?:, and |, | and"
        rf" ))+{_NAME})"
    ),
    re.compile(
        r"\b(?:evaluat\w+|experiments?|test(?:ed)?|trained|train|results?|models?) on (?:the )?(?:\w+"
        rf" )?({_NAME}(?:(?:, and |, | and ){_NAME})*)(?= (?:data|[\[(])|[.,;]| with| using| and)"
    ),
)  # fmt: skip
_TASKS_NAMED = re.compile(
    r"\b(?:tasks|problems|data ?sets|equations|environments): ((?:[a-z][\w -]{2,30}(?:, and |, | and"
    r" )){1,6}[a-z][\w -]{2,24}?)(?= (?:operations|tasks|problems)|[.;])"
)
_NOT_DATA = re.compile(
    r"^(?:We|The|Our|This|These|In|For|On|All|Both|Each|Table|Figure|Section|Appendix|Algorithm|Each|Adam|SGD"
    r"|GPU|CPU|NVIDIA|It|If|To|As|An?|At|And|Test|Train|Training|Evaluation|Experiments?|Model|Data|AI|NLP|ML"
    r"|LLMs?|RL|TPU|Python|Synthetic|Large|Natural|Most|Such|Here|Existing|Several)\b",
)
_OPTIMISERS = ("Adam", "SGD")
"""No data sets, but what others are compared with."""
_BASE_NAMED = (
    re.compile(
        rf"\b(?:compare[ds]?|comparing|comparison|compared) (?:\w+ ){{0,6}}?(?:with|to|against|and|between) (?:the"
        rf" )?(?:\w+ ){{0,3}}?((?:{_NAME})(?:(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and | or |;"
        rf" )(?:{_NAME}))*)"
    ),
    re.compile(
        r"\bbaselines?(?: methods?| models?| algorithms?)?(?:,| \(|:| such as| including| are| is| include)+"
        rf" ?(?:the )?((?:{_NAME})(?:(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and |; )(?:{_NAME}))*)"
    ),
    re.compile(rf"\b({_NAME})(?: \[[0-9, ]+\]| \([^()]*\))? (?:as (?:a |the |our )?baselines?|baselines?\b)"),
    re.compile(
        rf"\b(?:run|ran|played|tested|evaluated|measured|benchmarked) against (?:the )?({_NAME}(?:(?:, and |, "
        rf"| and ){_NAME})*)"
    ),
    re.compile(
        r"\b(?:the|an?) ((?!(?:strong|simple|same|other|new|proposed|common|standard|natural|first|second|following|best|original"
        r"|competitive|previous|stronger|additional|our|above|respective)\b)[a-z][\w-]+(?: [a-z][\w-]+){0,2}) baseline\b"
    ),
    re.compile(r"\bbaseline ((?:[a-z-]+ ){1,3}(?:strategy|method|model|algorithm|policy|agent))\b"),
)  # fmt: skip
_JOINED = re.compile(r"(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and | or |; )")
_PLAIN_WORD = re.compile(r"^[A-Z][a-z]+$")
_MOST, _LONG = 16, 8


def find_datasets(paper: PaperText) -> list[Mention]:
    """The data sets on which is trained or measured."""
    found: dict[str, Mention] = {}
    counts: Counter[str] = Counter()
    for sentence in _of(paper, (BUILD, SETUP, MIXED, RESULTS, "background")):
        weak = sentence.role == "background"
        for match in _KNOWN_DATA_NAMED.finditer(sentence.text):
            counts[match.group(0)] += 1
            if not weak:
                found.setdefault(match.group(0), Mention(match.group(0), sentence))
        for pattern in (
            ()
            if weak
            else _DATA_NAMED[
                : 3 if re.search(r"data ?set|corp(?:us|ora)|benchmark", sentence.text, re.IGNORECASE) else 2
            ]
        ):
            for match in pattern.finditer(sentence.text):
                for name in _split(match.group(1)):
                    counts[name] += 1
                    if not _NOT_DATA.match(name) and not _is_one_word(name):
                        found.setdefault(name, Mention(name, sentence))
        for match in () if weak else _TASKS_NAMED.finditer(sentence.text):
            for name in re.split(r", and |, | and ", match.group(1)):
                found.setdefault(name.strip(), Mention(name.strip(), sentence))
    kept = [one for name, one in found.items() if counts[name] > 1 or one.sentence.role in (SETUP, MIXED)]
    kept = [
        one
        for one in kept
        if one.name.replace("-", " ") in _KNOWN_DATA or not _PLAIN_WORD.match(one.name) or _is_proper(one.name, paper)
    ]
    kept = [one for one in kept if not any(other.name.startswith(f"{one.name} ") for other in kept)]
    return _unlike([*_parts_of(paper, _DATA_HEADING), *kept])[:_MOST]


def _is_proper(word: str, paper: PaperText) -> bool:
    """Whether a word has its capital in the middle of sentences too."""
    return bool(re.search(rf"[a-z,(] {re.escape(word)}\b", paper.text))


def find_metrics(paper: PaperText) -> list[Mention]:
    """By what results are measured: words of a lexicon, in set-up, results and captions."""
    counts: Counter[str] = Counter()
    first: dict[str, Sentence] = {}
    for sentence in _of(paper, (SETUP, MIXED, RESULTS, BUILD)):
        said = sentence.text.lower()
        for name in _KNOWN_METRICS:
            if re.search(
                rf"(?<![\w-]){re.escape(name.lower() if not name.isupper() else name)}(?![\w])",
                said if not name.isupper() else sentence.text,
            ):
                counts[name] += (
                    6 if _METRIC_HEADING.search(sentence.section["title"]) else 3 if sentence.role != BUILD else 1
                )
                first.setdefault(name, sentence)
                said = said.replace(name.lower(), " ") if " " in name else said
    for name in [name for name, sentence in first.items() if sentence.role == BUILD and counts[name] < 12]:
        del counts[name], first[name]  # a word of the method
    _count_in_heads(paper, counts, first)
    for one in _captioned(paper):
        if one.name not in counts and not any(name.lower() in one.name for name in counts):
            counts[one.name], first[one.name] = 9, one.sentence
    ranked = [
        name
        for name, count in counts.most_common()
        if count >= (9 if name in _WIDE_METRICS else 3 if " " in name else 6)
    ]
    whole = [
        name
        for name in ranked[:7]
        if not any(name != other and name in other and counts[name] < 3 * counts[other] for other in ranked[:7])
    ]
    return [Mention(name, first[name]) for name in whole]


def _captioned(paper: PaperText) -> Iterator[Mention]:
    """What captions of results say that their numbers are: "Failure rates and computation times"."""
    sections = {section["id"]: section for section in paper.outline["sections"]}
    said = " ".join(one.text for one in _of(paper, (SETUP, MIXED, RESULTS))).lower()
    for row in paper.outline["tables"]:
        text, section = " ".join(str(row["text"]).split()), sections.get(row["section"])
        for match in _MEASURED_NAME.finditer(text[:160]):
            name = re.sub(r"s$", "", match.group(1).lower())
            if section is not None and said.count(name) > 2 and not _NO_MEASURE.search(name):
                yield Mention(name, Sentence(text, section, row["page"], RESULTS, "caption"))


_MEASURED_NAME = re.compile(
    r"(?<![\w-])((?:(?!(?:the|and|of|for|in|mean|median|average|different|their)\b)[A-Za-z][a-z-]+ )(?:rate|time|score|ratio|error"
    r"|distance|cost|overhead|utilization|frequency|quality)s?)\b"
)
_NO_MEASURE = re.compile(
    r"\b(?:learning|dropout|batch|step|sampling|decay|each|every|this|first|same|one|training time|of)\b"
)


def _count_in_heads(paper: PaperText, counts: Counter[str], first: dict[str, Sentence]) -> None:
    """Adds what heads of tables and captions name."""
    heads = " ".join(" ".join(row) for table in paper.tables for row in cells_of(table.text)[:3])
    captions = [(row["text"], row["page"]) for row in (*paper.outline["tables"], *paper.outline["figures"])]
    heads += " " + " ".join(text for text, _ in captions)
    for name in _KNOWN_METRICS:
        if (
            name not in first
            and name.lower() not in _WIDE_METRICS
            and re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", heads, re.IGNORECASE if not name.isupper() else 0)
            and paper.tables
        ):
            table = paper.tables[0]
            first[name] = Sentence(name, table.section, table.page, table.role, "table")
            counts[name] += 1
    if re.search(r"\bP \W*R \W*F1\b", heads):
        counts.update({"precision": 12, "recall": 12, "F1": 12})
        for name in ("precision", "recall", "F1"):
            first.setdefault(
                name, Sentence("P R F1", paper.tables[0].section, paper.tables[0].page, paper.tables[0].role, "table")
            )
    for name in list(counts):
        counts[name] += 6 * bool(
            re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", heads, re.IGNORECASE if not name.isupper() else 0)
        )


def find_baselines(paper: PaperText, own: Iterable[str], known: Iterable[str] = ()) -> list[Mention]:
    """What the method is compared with, by sentences that compare and by rows of result tables with a citation.

    `known`: the paper's data sets, metrics and parts, which are no baselines.
    """
    mine = [name.lower() for name in own]
    known = list(known)
    others = {key_of(name) for name in known}
    found: dict[str, Mention] = {}
    for sentence in _of(paper, (SETUP, MIXED, RESULTS)):
        for pattern in _BASE_NAMED:
            for match in pattern.finditer(sentence.text):
                for name in _split(match.group(1)):
                    found.setdefault(name, Mention(name, sentence))
    for table in paper.tables:
        if table.role not in (RESULTS, MIXED, SETUP):
            continue
        for row in cells_of(table.text)[1:]:
            cited = re.match(r"([A-Z][\w+. /&-]{1,40}?) ?(?:\[[0-9, ]+\]|\([^()]*(?:19|20)[0-9]{2}[a-z]?\))", row[0])
            if cited and sum(any(map(str.isdigit, cell)) for cell in row[1:]) > 0:
                name = cited.group(0) if cited.group(1).strip().endswith("al.") else cited.group(1).strip()
                found.setdefault(name, Mention(name, Sentence(row[0], table.section, table.page, table.role, "table")))
    for one in (*_parts_of(paper, _BASE_HEADING), *_listed_baselines(paper), *_labels(paper, mine)):
        found.setdefault(one.name, one)
    kept = [
        one
        for name, one in found.items()
        if name.lower() not in mine
        and key_of(name) not in others
        and not (len(name) > _LONG and any(re.match(rf"{re.escape(name)}[ -]", part, re.IGNORECASE) for part in known))
        and not _is_metric(name)
        and not SETTING_NAME.match(name)
        and (name.startswith(_OPTIMISERS) or not _NOT_DATA.match(name))
        and not _is_one_word(name)
        and len(name) > 1
    ]
    return _unlike(kept)[:_MOST]


def _listed_baselines(paper: PaperText) -> Iterator[Mention]:
    """What a list names that is introduced as what is compared, and what a section on baselines begins its paragraphs with."""
    for sentence in _of(paper, (SETUP, MIXED, RESULTS)):
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
    return any(name.lower().startswith(metric.lower()) for metric in _KNOWN_METRICS) or bool(_MEASURE.search(name))


def _parts_of(paper: PaperText, heading: re.Pattern[str]) -> Iterator[Mention]:
    """The headings under a heading that promises data sets, or baselines: each is one."""
    over: list[dict[str, Any]] = []
    for section in paper.outline["sections"]:
        number = str(section["number"] or "")
        if any(number.startswith(f"{above['number']}.") for above in over if above["number"]):
            title = section["title"].strip()
            if len(title.split()) <= 3 and not _GENERIC.search(title):
                yield Mention(title, Sentence(title, section, section["page"], SETUP, "heading"))
        elif heading.search(section["title"]) and paper.roles.get(section["id"]) in (SETUP, MIXED, BUILD):
            over.append(section)


_MEASURE = re.compile(
    r"\b(?:ratio|rate|time|times|length|size|score|epochs|seeds|steps|method|average|avg)\.?$", re.IGNORECASE
)
_METRIC_HEADING = re.compile(r"\bmetrics?\b|\bmeasures?\b|evaluation (?:criteria|protocol)", re.IGNORECASE)
_DATA_HEADING = re.compile(
    r"\b(?:data ?sets?|problem setup|benchmark problems|tasks|environments|corpora)$", re.IGNORECASE
)
_MODEL_NAMES = re.compile(
    r"(?:BERT|RoBERTa|SciBERT|DeBERTa|DistilBERT|ALBERT|XLNet|ELECTRA|GPT|ChatGPT|Llama|LLaMA|Mistral|Mixtral|Gemma|Gemini|Claude"
    r"|Qwen|DeepSeek|Phi|FLAN|T5|BART|CLIP|ViT|DeiT|Swin|ResNet|WRN|WideResNet|VGG|DenseNet|EfficientNet|MobileNet|ConvNeXt|DiT|AlexNet|wav2vec)"
    r"(?![a-z])"
)
"""On what methods run, which no method is compared with."""
_SYSTEMS_LISTED = re.compile(r"\b(?:compar\w+|baselines?|competitors)\b.*:$", re.IGNORECASE)
_ITEM_NAME = re.compile(
    r"(?!How|Can|What|Why|Is|Do|Does|Which)([A-Za-z][\w¬+*-]*(?: [\w¬+*-]+){0,3}?)(?= ?(?:\[[0-9, ]+\]|\([^()]*\))?(?:[:.,;]| [-–—] | is | uses?\b| \())"
)
_LISTED_AFTER = re.compile(r"\bbaselines?\b[^:.;]{0,60}: (.+)$")
_ARTICLE = re.compile(r"^(?:and )?(?:an?|the) ")
_POLICY = re.compile(
    r"^(?:The|A) ((?:[\w-]+ ){1,3}(?:policy|method|model|baseline|strategy|agent|algorithm|heuristic|classifier|allocator))\b"
)
_BASE_HEADING = re.compile(r"\b(?:baselines?|compared methods|competitors|comparison methods)\b", re.IGNORECASE)
_GENERIC = re.compile(
    r"\b(?:details?|statistics|split|splits|evaluation|metrics?|preprocessing|setup|methodology|networks?"
    r"|training|baselines?|data ?sets?|overview|implementation)\b|\$",
    re.IGNORECASE,
)


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
    if not re.match(r"[A-Z]", name) or not 1 < len(name) <= 40 or len(name.split()) > 5 or _GENERIC.search(name):
        return False
    if re.search(
        r"\b(?:w/o|without|dataset|average|mean|total|all|params?)\b|[=<>%×]|^[A-Z]?[0-9]", name, re.IGNORECASE
    ):
        return False
    return not _OURS.search(name) and not any(one and one in name.lower() for one in own)


_OURS = re.compile(r"\b(?:ours?|proposed|this work)\b", re.IGNORECASE)


def _of(paper: PaperText, roles: tuple[str, ...]) -> Iterator[Sentence]:
    return (sentence for sentence in paper.sentences if sentence.role in roles and sentence.role != PROOF)


def _split(names: str) -> list[str]:
    parts = (re.sub(r" ?(?:\[[0-9, ]*\]?|\([^()]*\)?)$", "", part).strip(" .,;:(") for part in _JOINED.split(names))
    return [part for part in parts if part and len(part) > 1]


def _is_one_word(name: str) -> bool:
    """An ordinary word at the start of a sentence is no name."""
    return bool(_PLAIN_WORD.match(name)) and name.lower() in _ORDINARY


_ORDINARY_TEXT = """
first second third also then when where while using given since after before during however moreover note let see finally
additionally because although training testing figure table section similarly instead overall specifically results language
image text model method methods models dataset datasets
"""
_ORDINARY = frozenset(_ORDINARY_TEXT.split())


def _unlike(found: list[Mention]) -> list[Mention]:
    """Each name once: what another name contains, or differs from in marks alone, is the same."""
    kept: list[Mention] = []
    for one in found:
        plain = re.sub(r"[\W_]", "", one.name.lower())
        if one.name.endswith(" al.") and any(other.name.startswith(one.name) for other in found if other is not one):
            continue
        same = next((at for at, other in enumerate(kept) if re.sub(r"[\W_]", "", other.name.lower()) == plain), None)
        if same is None:
            kept.append(one)
    return kept


def mention_row(one: Mention) -> dict[str, Any]:
    """A mention as the plan has it."""
    source = one.sentence
    return {
        "name": one.name,
        "source": {
            "section": source.section["number"] or source.section["title"] or None,
            "page": source.page,
            "quote": source.text[:200],
        },
    }
