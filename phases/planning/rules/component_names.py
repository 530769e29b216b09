"""What may be the name of a component: a noun phrase, and no clause, no property, no word that every paper has."""

from __future__ import annotations

import re
from functools import lru_cache

_LONGEST = 6
_OF_PAPERS = re.compile(
    r"\b(?:results?|comparisons?|discussion|performance|conclusions?|limitations?|observations?|findings|insights?|intuition"
    r"|challenges|drawbacks?|trade-?offs?|benefits?|differences?|costs?|effectiveness|efficiency|effects?|gains?|improvements?"
    r"|failures?|hypothes[ei]s|evidence|importance|consequences?|proofs?|theorems?|lemmas?|corollar(?:y|ies)|propositions?"
    r"|definitions?|assumptions?|axioms?|propert(?:y|ies)|guarantees?|invariants?|convergence|complexity|theory"
    r"|notations?|overview"
    r"|addend(?:um|a)|details?|preliminar\w+|appendix|introduction|motivation|background|examples of|summary|remarks?|notes?"
    r"|contributions?|goals?"
    r"|works?|papers?|literature|research|questions?|exercises?|related|additional|future|description|statements?|formulation"
    r"|settings?|set-?ups?|use cases|patterns|state-of-the-art|reproducib\w+|experiments?|experimental|statistics"
    r"|hardware|software"
    r"|libraries|resources|users?|people|authors?|applications?|usage|requirements?|approaches|choice|reasons?"
    r"|concepts?|ideas?)\b",
    re.IGNORECASE,
)
"""What a chapter, a claim or a proof is called by, and no part of a program."""
_MEASURED = re.compile(
    r"\b(?:CIFAR\S*|\w*ImageNet\S*|MNIST\S*|Penn Treebank|Wall Street Journal|SQuAD\S*|S?GLUE|WMT\S*|CelebA\S*"
    r"|data ?sets?|corpus|corpora"
    r"|errors?|rates?|sizes?|dimensions?|lengths?|numbers?|counts?|times?|max-new-tokens|temperatures?|probability|phenomen\w+"
    r"|inception distance|BLEU|ROUGE\S*|accuracy|(?:mean|root)[ -]squared? error|F1(?:[ -]scores?)?)$",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"(?:[A-Za-z]*BERT|GPT|FLAN|T5|L[Ll]a[Mm][Aa]|ResNet|VGG|ViT|CLIP|AlexNet|DenseNet|Mistral|Gemini|Claude|BART"
    r"|XLNet|ConvNeXt|wav2vec)"
    r"[\w.-]*(?: (?:Large|Base|Small|[0-9.]+[BM]))*(?: (?:models?|backbones?))?"
)
"""A well-known data set, measure or model by its name alone: it is used, and not built."""
WORDS_OF_PAPERS = (
    (
        "an experiment",
        re.compile(
            r"\b(?:evaluations?|ablations?|analys[ie]s|study|studies|tests?|metrics?|baselines?|benchmarks?|data ?sets?"
            r"|scenarios?"
            r"|cases?|configurations?|hyper-?parameters?|environments?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "the name of a value",
        re.compile(
            r"\b(?:rate|split|threshold|term|problem|length|size|dimension|number|pair|word|time|consumption|count|level"
            r"|type|value|degree|amount|probability|ratio|cost|error|score|accuracy|step|phase|stage|part|parameter|index"
            r"|constant"
            r"|coefficient|factor|point|set|range|order|way|unit|bit|byte)s?$",
            re.IGNORECASE,
        ),
    ),
    ("a property", re.compile(r"^\w+(?:ity|ness|ability|ance|ency)$", re.IGNORECASE)),
)
"""Words by which a name is that of an experiment or a quantity, each kind weighed by itself."""
_OF_CHAPTERS = re.compile(
    rf"{WORDS_OF_PAPERS[0][1].pattern}|\b(?:examples?|illustrat\w+|building blocks|designs?|mechanisms? and|extensions?"
    r"|pragmatic|basics|components|detailed|attacks?|expressiveness|security and)\b"
    r"|^(?:specification|implementation)(?: (?:issues|concerns|notes|in \S+))?$",
    re.IGNORECASE,
)
"""What a heading has that tells of a thing, and names none."""
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|may|must|should|will|does|do|did|we|they|it|there|this|that|which"
    r"|who|why|what"
    r"|when|if|because|satisf(?:y|ies)|shows?|gives?|makes?|differs?|becomes?|proceeds?|even|also|not|no|might|could|would)\b",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    r"^(?:examples?|numbers?|types?|kinds?|sets?|tuning|the|an?|this|these|those|each|every|our|its|their|some|any|such|one"
    r"|two|three|four|five|six|several|many"
    r"|most|all|both|no"
    r"|other|more|same|to|in|on|of|as|by|at|for|with|from|and|or|via|using|unlike|than|very|called|based)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"(?:\b(?:the|an?|of|to|in|on|for|with|and|or|as|by|from|at|one|based|related|associated|else|then|behind|code)"
    r"|\w(?<!pp)(?<!famil)(?<!assemb)ly|'s|’s)$",
    re.IGNORECASE,
)
_ACT = re.compile(
    r"(?<!\bof)(?<!\bin)(?<!\bon)(?<!\bto)(?<!\bfor)(?<!\bby)(?<!\bwith)(?<!\bfrom) (?:the|an?) ", re.IGNORECASE
)
"""What is done to something: "decides the flip"."""
_ORDER = re.compile(
    r"^(?:calculat|defin|comput|sampl|select|generat|build|creat|construct|estimat|updat|apply|add|find|get|obtain"
    r"|train|set|choos"
    r"|determin|deriv|perform|evaluat|initializ|combin|extract|us)(?:e|es|ing)? (?:from )?(?:the|an?) ",
    re.IGNORECASE,
)
_LED_BY = re.compile(
    r"^(?:essentials|analysis|design|derivation|pseudocode|overview|details|applications?|description|implementation|computation|definition|construction"
    r"|structure|use|choice|concept|basics|idea|role|types?|case) of (?:the |an? |our )?|^(?:the|an?|our|on|using"
    r"|computing|how|via"
    r"|with|towards?|proposed (?:method|approach|model|algorithm):?|(?:our|the) (?:method|approach|model|algorithm):)\s+",
    re.IGNORECASE,
)
_AS_BEFORE = re.compile(r"^ *(?:the )?(?:same|previous|as (?:above|before|in))\b[^,;:]*[,;:] ", re.IGNORECASE)
"""What points to an earlier caption: "same average, correction vector"."""
_WITH_NAME = re.compile(r"^[A-Z]\w+(?:ing\b|-)[\w ,-]* (?:with|in|by|using) ([\w-]+)$")
"""A deed with a part that has a name: "End-to-end processing with Recipes"."""
_WITHOUT_LAST = re.compile(r"(.{1,120}) (?:on|for|with|via|using|in|from|by) ")
"""A long heading without what stands behind its last preposition."""
_WIDE_TEXT = """
true false duplicates solution first last previous updated identical method methods model models approach results data
training algorithm network networks framework system section figure table number time cost learning neural setup
design architecture methodology hyperparameters parameters implementation prototype usability flexibility robustness
structure values value target ready input output loss function functions objective activation softmax attention
language probability distribution variables layer layers module nodes node process operation operations format
platform test train validation inference task tasks policy agent state epoch seed example coordinate
"""
_WIDE = frozenset(_WIDE_TEXT.split())
_OTHERS_TEXT = """
adam sgd gpu gpus cpu cpus nlp ai ml dl rl llm llms gpt bert cnn cnns rnn rnns lstm gru mlp mlps l-bfgs mnist cifar-10
imagenet bleu f1 auc tpu tpus api apis pdf pdfs ode odes pde pdes dnn dnns gan gans vae vaes mdp pomdp url urls html
xml json http https ssl tls tcp udp ip dns unix linux windows java javascript python pytorch tensorflow keras jax
numpy nvidia amd intel cuda github amazon google microsoft facebook openai wikipedia latex iid ram ssd os sql
"""
_OTHERS = frozenset(_OTHERS_TEXT.split())
_HEADS_TEXT = """
learner: network encoder decoder classifier predictor extractor learner transformer model backbone head critic actor
    policy agent regressor discriminator generator autoencoder lstm gru cnn mlp rnn kernel estimator perceptron
    machine tower teacher student
layer: layer block module attention embedding encoding convolution pooling activation connection normalization dropout
    norm gate mask masking projection softmax bias adapter token
loss: loss objective penalty regularizer regularization likelihood divergence reward criterion energy regularisation
    constraint
optimizer: optimizer optimiser scheduler schedule descent sgd adam update step momentum annealing warmup
    preconditioner solver initialization gradient
structure: table tree trie list map pool cache buffer queue stack heap index bucket block page log file hash graph
    matrix pointer record node bitmap field flag header array vector key entry region store database dictionary set
procedure: search insertion deletion removal selection lookup split sharing allocation deallocation resizing sampling
    pruning clustering ranking scoring routing matching parsing tagging tokenization filtering sorting hashing backup
    rollout simulation replay augmentation smoothing averaging weighting voting detection estimation regression
    decomposition factorization approximation extraction generation decoding training pretraining finetuning inference
    planning prediction compression quantization recovery replication synchronization scheduling aggregation
    annotation perturbation transformation expansion
procedure word: algorithm procedure strategy mechanism scheme rule protocol method technique heuristic operator
    function operation routine approach variant formula equation
worker: server client manager allocator handler collector controller engine parser sampler coordinator dispatcher
    daemon thread process service pipeline system library toolkit framework interface recipe tool component simulator
    emulator
statistics: distribution prior posterior belief process mixture field filter chain density covariance variance mean
task: task game problem environment benchmark dataset corpus experiment test evaluation study ablation analysis pde
    ode domain world
"""
HEAD_KINDS = {
    kind: frozenset(words.split())
    for kind, words in re.findall(r"^(\w[\w ]*): (.*(?:\n    .*)*)", _HEADS_TEXT, re.MULTILINE)
}
"""What the last word of a name says of the thing."""
_FINITE_TEXT = """
improves improve requires require uses gives reduces reduce maximises outperforms leads makes shows yields needs learns performs
increases decreases achieves enables allows provides affects generalizes generalises matters works becomes remains beats contains
completes propagates sends receives returns reads writes stores delivers
"""
_FINITE = frozenset(_FINITE_TEXT.split())
"""Verbs in the middle of a heading that is a claim."""
_PARTS = ("layer", "loss", "optimizer", "procedure")
_SIGNS, _MOST_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}"), 24
"""Two signs of Chinese or Japanese at least, and so many at most."""
_ALONE = re.compile(
    r"(?:基本|具体|主要|简单的|简化的|较一般的|进一步的)?"
    r"(?:题目|问题(?:描述|定义)?|思路|思想|算法|方法|模型|定义|小结|总结|概述|讨论|分析|说明|符号|优化|実装|手法|定義|概要|考察|実験|実験結果|问题|细节)"
)
"""A heading of a chapter's parts in such scripts: what it is of stands above it."""
_SAME_TEXT = """
stack stacks layer layers module network model function algorithm method mechanism operation procedure process
approach scheme the of a
"""
_SAME = frozenset(_SAME_TEXT.split())

_KINDS = _SAME | {"data", "set", "system", "new", "learned", "problem", "task", "based"}
"""Words that do not tell one name from another."""


def clean_name(name: str) -> str:
    """A heading, a caption or a quoted name without signs, articles, and words that only lead to it."""
    plain = _AS_BEFORE.sub("", re.sub(r"\$[^$]*\$|[*_`\"“”]|(?<!O)\([^()]*\)|\[[^\[\]]*\]", " ", name))
    plain = " ".join(plain.split()).strip(" .,:;-–()")
    plain = re.sub(r"(?<=[a-z]) [a-z]$", "", plain)  # "update rate u" has its symbol beside it
    head, colon, _ = plain.partition(": ")
    if colon and re.fullmatch(r"[A-Z][\w*+-]*", head):
        plain = head  # "TabDiff: a model for" is TabDiff
    plain = _ORDER.sub("", _LED_BY.sub("", plain))
    if match := _WITH_NAME.match(plain):
        plain = match.group(1)
    plain = re.sub(r"(?<!['’]s )\b(?:method|approach|algorithm)s?$", "", plain, flags=re.IGNORECASE).strip(" .,:;-–()")
    plain = re.sub(
        r"^(?:the|novel|new|simple|efficient|proposed|standard|general|basic|modified|improved) | in (?:our|the"
        r"|this) \w+$",
        "",
        plain,
        flags=re.IGNORECASE,
    )
    return plain.capitalize() if plain.isupper() and len(plain.split()) > 1 and not _SIGNS.search(plain) else plain


def is_component_name(name: str) -> bool:
    """Whether a cleaned name may be that of something that is built."""
    words = name.lower().split()
    if not 0 < len(words) <= _LONGEST or len(name) < 3 or not re.match(r"[A-Za-z]", name):
        return False
    if any(word in _FINITE for word in words[1:]):
        return False
    if (
        _BEGINNING.search(name)
        or _ENDING.search(name)
        or _CLAUSE.search(name)
        or _ACT.search(name)
        or _OF_PAPERS.search(name)
        or _MEASURED.search(name)
        or _MODEL.fullmatch(name)
    ):
        return False
    if len(words) == 1 and (words[0].endswith("ed") or words[0].rstrip("s") in _OTHERS or words[0] in _OTHERS):
        return False
    return not all(map(is_wide, words)) and not re.search(
        r"[=<>{}\\|]|^\d| \d+$| per | (?:of|in|on|with) (?:for|of|in|on|with|and) ", name
    )


def name_of_heading(title: str) -> str:
    """The thing that a heading names, whole or by one of its parts; empty where it names none."""
    if _OF_CHAPTERS.search(title):
        return ""
    parts = [title, *re.split(r",? and |: ", title)]
    if len(title.split()) > _LONGEST and (shorter := _WITHOUT_LAST.match(title)) and shorter.group(1).count(" ") > 1:
        parts.append(shorter.group(1))
    for part in parts:
        name = clean_name(part)
        if is_component_name(name) or _is_kind_of_part(name) or _is_name_in_signs(name):
            return name
    return ""


def _is_kind_of_part(name: str) -> bool:
    """Whether a heading says by itself, in plain words, what of a method stands under it: "Attention", "Loss function"."""
    words = name.lower().split()
    return (
        bool(words) and all(map(is_wide, words)) and any(word in HEAD_KINDS[kind] for kind in _PARTS for word in words)
    )


def _is_name_in_signs(name: str) -> bool:
    """Whether a heading in a script without blanks names a thing, and not what every chapter has."""
    plain = "".join(name.split())
    return bool(_SIGNS.search(plain)) and len(plain) <= _MOST_SIGNS and not _ALONE.fullmatch(plain)


def is_wide(word: str) -> bool:
    """Whether a word in small letters is so common that it names nothing by itself."""
    return word in _WIDE or word.rstrip("s") in _WIDE


def is_known_to_all(name: str) -> bool:
    """Whether a name is that of a device, a company, a format, or a method that everybody uses."""
    return name.lower() in _OTHERS


def name_words(name: str) -> list[str]:
    """The words of a name in small letters and in the singular; "SpanPredictor" has two."""
    return list(_words_of(name))


@lru_cache(maxsize=4096)
def _words_of(name: str) -> tuple[str, ...]:
    split = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name)
    return tuple(_singular(word) for word in re.findall(r"[^\W_]+", split.lower()))


def _singular(word: str) -> str:
    plain = re.sub(r"isation$", "ization", word)
    if len(plain) > 4 and plain.endswith("ies"):
        return plain[:-3] + "y"
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") and plain[-2] not in "siu" else plain


def stems_of(name: str) -> list[str]:
    """The words of a name without the ends of deeds: "Creating macaroons" and "CreateMacaroon" are the same."""
    return [re.sub(r"(?:ing|e|ed)$", "", word) if len(word) > 4 else word for word in name_words(name)]


def core_words(name: str) -> set[str]:
    """The words of a name that tell it from others: without those that name a kind of part, unless there are no others."""
    words = set(name_words(name))
    return {word for word in words if word not in _KINDS} or words
