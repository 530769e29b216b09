"""The data sets, metrics, baselines and packages that a paper names, each with the place where it does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from phases.planning.rules.passages import PaperText, Sentence
from phases.planning.rules.sections import BUILD, MIXED, PROOF, RESULTS, SETUP
from phases.planning.rules.tables import cells_of


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
KNOWN_METRICS = (
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
NAME = r"(?:[A-Z][\w@+.-]*\w|[a-z]+[A-Z]\w*)(?:[ -](?:[A-Z0-9][\w+.-]*|[0-9]+)){0,3}"
_DATA_NAMED = (
    re.compile(rf"\b({NAME})(?: \[[0-9, ]+\]| \([^()]*\))? (?:data ?sets?|corp(?:us|ora)|benchmarks?|treebank)\b"),
    re.compile(
        r"\b(?:data ?sets?|corpora|benchmarks|tasks|environments)(?: \([^()]*\))?(?: namely| called|:| such as|"
        rf" including| \w+ing)?:? ((?:{NAME}(?:,? ?(?:\[[0-9, ]+\]|\([^()]*[0-9]{{4}}[^()]*\)))?(?:, and |, | and"
        rf" ))+{NAME})"
    ),
    re.compile(
        r"\b(?:evaluat\w+|experiments?|test(?:ed)?|trained|train|results?|models?) on (?:the )?(?:\w+"
        rf" )?({NAME}(?:(?:, and |, | and ){NAME})*)(?= (?:data|[\[(])|[.,;]| with| using| and)"
    ),
)  # fmt: skip
_TASKS_NAMED = re.compile(
    r"\b(?:tasks|problems|data ?sets|equations|environments): ((?:[a-z][\w -]{2,30}(?:, and |, | and"
    r" )){1,6}[a-z][\w -]{2,24}?)(?= (?:operations|tasks|problems)|[.;])"
)
NOT_DATA = re.compile(
    r"^(?:We|The|Our|This|These|In|For|On|All|Both|Each|Table|Figure|Section|Appendix|Algorithm|Each|Adam|SGD"
    r"|GPU|CPU|NVIDIA|It|If|To|As|An?|At|And|Test|Train|Training|Evaluation|Experiments?|Model|Data|AI|NLP|ML"
    r"|LLMs?|RL|TPU|Python|Synthetic|Large|Natural|Most|Such|Here|Existing|Several)\b",
)
_JOINED = re.compile(r"(?: \[[0-9, ]+\]| \([^()]*\))?(?:, and |, | and | or |; )")
_PLAIN_WORD = re.compile(r"^[A-Z][a-z]+$")
MOST = 16


def find_datasets(paper: PaperText) -> list[Mention]:
    """The data sets on which is trained or measured."""
    found: dict[str, Mention] = {}
    counts: Counter[str] = Counter()
    for sentence in sentences_of_roles(paper, (BUILD, SETUP, MIXED, RESULTS, "background")):
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
                for name in split_names(match.group(1)):
                    counts[name] += 1
                    if not NOT_DATA.match(name) and not is_one_word(name):
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
    return drop_spellings([*headings_below(paper, _DATA_HEADING), *kept])[:MOST]


def _is_proper(word: str, paper: PaperText) -> bool:
    """Whether a word has its capital in the middle of sentences too."""
    return bool(re.search(rf"[a-z,(] {re.escape(word)}\b", paper.text))


def find_metrics(paper: PaperText) -> list[Mention]:
    """By what results are measured: words of a lexicon, in set-up, results and captions."""
    counts: Counter[str] = Counter()
    first: dict[str, Sentence] = {}
    for sentence in sentences_of_roles(paper, (SETUP, MIXED, RESULTS, BUILD)):
        said = sentence.text.lower()
        for name in KNOWN_METRICS:
            word, text = (name, sentence.text) if name.isupper() else (name.lower(), said)
            # to look for a word before its borders is ten times as fast
            if word in text and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w])", text):
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
    said = " ".join(one.text for one in sentences_of_roles(paper, (SETUP, MIXED, RESULTS))).lower()
    for row in paper.outline["tables"]:
        text, section = " ".join(str(row["text"]).split()), sections.get(row["section"])
        for match in _MEASURED_NAME.finditer(text[:160]):
            name = re.sub(r"s$", "", match.group(1).lower())
            if section is not None and said.count(name) > 2 and not _NO_MEASURE.search(name):
                yield Mention(name, Sentence(text, section, row["page"], RESULTS, "caption"))


_MEASURED_NAME = re.compile(
    r"(?<![\w-])((?:(?!(?:the|and|of|for|in|mean|median|average|different|their)\b)[A-Za-z][a-z-]+ )(?:rate|time|score|ratio"
    r"|error|distance|cost|overhead|utilization|frequency|quality)s?)\b"
)
_NO_MEASURE = re.compile(
    r"\b(?:learning|dropout|batch|step|sampling|decay|each|every|this|first|same|one|training time|of)\b"
)


def _count_in_heads(paper: PaperText, counts: Counter[str], first: dict[str, Sentence]) -> None:
    """Adds what heads of tables and captions name."""
    heads = " ".join(" ".join(row) for table in paper.tables for row in cells_of(table.text)[:3])
    captions = [(row["text"], row["page"]) for row in (*paper.outline["tables"], *paper.outline["figures"])]
    heads += " " + " ".join(text for text, _ in captions)
    for name in KNOWN_METRICS:
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


def headings_below(paper: PaperText, heading: re.Pattern[str]) -> Iterator[Mention]:
    """The headings under a heading that promises data sets, or baselines: each is one."""
    over: list[dict[str, Any]] = []
    for section in paper.outline["sections"]:
        number = str(section["number"] or "")
        if any(number.startswith(f"{above['number']}.") for above in over if above["number"]):
            title = section["title"].strip()
            if len(title.split()) <= 3 and not GENERIC.search(title):
                yield Mention(title, Sentence(title, section, section["page"], SETUP, "heading"))
        elif heading.search(section["title"]) and paper.roles.get(section["id"]) in (SETUP, MIXED, BUILD):
            over.append(section)


_METRIC_HEADING = re.compile(r"\bmetrics?\b|\bmeasures?\b|evaluation (?:criteria|protocol)", re.IGNORECASE)
_DATA_HEADING = re.compile(
    r"\b(?:data ?sets?|problem setup|benchmark problems|tasks|environments|corpora)$", re.IGNORECASE
)
GENERIC = re.compile(
    r"\b(?:details?|statistics|split|splits|evaluation|metrics?|preprocessing|setup|methodology|networks?"
    r"|training|baselines?|data ?sets?|overview|implementation)\b|\$",
    re.IGNORECASE,
)


def sentences_of_roles(paper: PaperText, roles: tuple[str, ...]) -> Iterator[Sentence]:
    return (sentence for sentence in paper.sentences if sentence.role in roles and sentence.role != PROOF)


def split_names(names: str) -> list[str]:
    parts = (re.sub(r" ?(?:\[[0-9, ]*\]?|\([^()]*\)?)$", "", part).strip(" .,;:(") for part in _JOINED.split(names))
    return [part for part in parts if part and len(part) > 1]


def is_one_word(name: str) -> bool:
    """An ordinary word at the start of a sentence is no name."""
    return bool(_PLAIN_WORD.match(name)) and name.lower() in _ORDINARY


_ORDINARY_TEXT = """
first second third also then when where while using given since after before during however moreover note let see finally
additionally because although training testing figure table section similarly instead overall specifically results language
image text model method methods models dataset datasets
"""
_ORDINARY = frozenset(_ORDINARY_TEXT.split())


def drop_spellings(found: list[Mention]) -> list[Mention]:
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
