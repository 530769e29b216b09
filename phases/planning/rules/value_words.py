"""Values that are words or formulas: an optimizer, an activation, a schedule; 2^t, 10,000 × S, input length + 50."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINK = r"(?:is|are|was|were|be|being|to|as|of|with|by|:|=|\|)"
_ROOM = 34
"""How many letters may stand between what is chosen and the word for it: "the nonlinearity is set to be a ReLU"."""


class Kind(NamedTuple):
    """Something that is chosen by a word."""

    name: str
    words: str
    """The words that are known for it."""
    heads: str
    """The nouns that stand behind such a word, or before it: "Adam optimizer", "the optimizer is Adam"."""
    deeds: str = ""
    """What stands before a word that can be nothing else: "trained with Adam"."""
    about: str = ""
    """What the sentence has to speak of, where the heads are used of much else: "linear decay" of a weight."""


class Found(NamedTuple):
    """A word or formula, what it is called, and where it stands."""

    name: str
    match: re.Match[str]
    group: int | str
    symbol: str = ""


_USED = r"using|with|uses?|by|used|via|employ\w*|through|adopt\w*"
KINDS = (
    Kind(
        "optimizer",
        r"AdamW|N?Adam|AMSGrad|RMS-?[Pp]rop|Rprop|Ada[Gg]rad|Ada[Dd]elta|Adafactor|LAMB|LARS|Lion|Shampoo|L-?BFGS"
        r"|(?:[Ss]tochastic [Gg]radient [Dd]escent|SGD)(?: with (?:Nesterov )?momentum)?",
        r"optimi[sz](?:er|ation)(?: algorithm| method)?|solver",
        _USED,
    ),
    Kind(
        "activation function",
        r"(?:[Ll]eaky |[Pp]arametric )?(?:ReLUs?|RELU)|PReLU|G[Ee]LU|S[Ee]LU|SwiGLU|GLU|SiLU|ELU|Swish|Mish|[Tt]anh|maxout"
        r"|[Hh]yperbolic tangent|[Ss]igmoid(?:al)?|[Ss]oftplus|[Ss]oftmax|rectified linear",
        r"(?:hidden )?(?:activations?(?: functions?)?|non-?linear(?:ity|ities)|units?)",
    ),
    Kind(
        "weight initialization",
        r"(?:Xavier|Glorot|He|Kaiming|LeCun|[Oo]rthogonal|[Tt]runcated)(?:[ -](?:normal|uniform|Gaussian))?",
        r"initiali[sz]\w+",
    ),
    Kind(
        "loss function",
        r"(?:[Bb]inary |[Cc]ategorical |[Ss]oftmax |[Ww]eighted )?[Cc]ross[- ][Ee]ntropy|[Mm]ean[- ][Ss]quared?[- ][Ee]rror|MSE"
        r"|[Nn]egative log[- ]likelihood|[Ss]mooth L1|L[12]|[Hh]inge|Huber|[Tt]riplet|[Cc]ontrastive|InfoNCE|[Ff]ocal|CTC"
        r"|[Dd]ice",
        r"(?:training )?(?:loss|objective|criterion)(?: functions?)?",
    ),
    Kind(
        "learning rate schedule",
        r"[Ll]inear|[Cc]osine|[Pp]olynomial|[Ee]xponential|[Ii]nverse[- ]square[- ]root|[Cc]onstant|[Ss]tep|[Oo]ne-?cycle",
        r"(?:learning rate |rate |lr )?(?:decay|schedul(?:e|er|ing)|annealing|warm-?up)(?: (?:decay|schedule|annealing))?",
        about=r"(?i)learning[- ]rate|step[- ]?size|\blr\b|warm-?up|\b(?:rate|cosine) (?:schedul|decay|anneal)",
    ),
    Kind("line search", r"[Ss]trong Wolfe|Wolfe|Armijo|[Bb]acktracking", r"line[- ]search|conditions?"),
    Kind(
        "kernel",
        r"[Ll]inear|RBF|Gaussian|[Pp]olynomial|Mat[eé]rn|Laplac(?:e|ian)|Epanechnikov|[Rr]adial basis function",
        r"kernels?(?: function)?(?! size)",
    ),
    Kind(
        "distance metric",
        r"[Ee]uclidean|[Cc]osine|Manhattan|Hamming|Mahalanobis|Levenshtein|[Ee]dit|Wasserstein|Jaccard|L[12]",
        r"metric|distance|similarity",
    ),
    Kind("padding", r"[Ss]ame|[Vv]alid|[Zz]ero|[Rr]eflect(?:ion)?|[Cc]ircular", r"['’”ʼ]? ?padding"),
    Kind(
        "tokenizer",
        r"[Bb]yte[- ][Pp]air [Ee]ncoding|(?:byte-level )?BPE|[Ww]ord-?[Pp]iece|SentencePiece",
        r"tokeni[sz]\w+|vocabular\w+|model",
        _USED,
    ),
    Kind("decoding", r"[Gg]reedy|[Nn]ucleus|[Bb]eam", r"decoding|sampling|search(?! size)"),
    Kind("file format", r"(?:TEI )?XML|JSON(?:L| [Ll]ines)?|CSV|YAML|Parquet|HDF5|Avro"
        r"|[Pp]rotocol [Bb]uffers?", r"(?:file )?formats?"),
    Kind(
        "numerical precision",
        r"(?:BF|bf|FP|fp)(?:16|32|64|8)|bfloat16|float(?:16|32|64)|int8|[Hh]alf|[Ss]ingle|[Dd]ouble|[Mm]ixed",
        r"(?:floating[- ]point )?(?:precision|arithmetic)",
    ),
    Kind(
        "hash function",
        r"Murmur(?:Hash)?[23]?|xxHash|CityHash|FarmHash|SipHash|SHA-?(?:1|256|512)|MD5|CRC-?32|FNV(?:-1a?)?|Zobrist"
        r"|[Tt]abulation",
        r"(?:hash(?:es|ing)?|digests?)(?: functions?)?",
        _USED,
    ),
    Kind(
        "programming language",
        r"C\+\+|C#|C|Java|Python|Rust|Go|Scala|OCaml|Haskell|Julia|MATLAB|Matlab|Fortran|R|CUDA|Erlang|Perl|Lisp|Prolog",
        r"programming language",
        r"(?:implement|writt|cod|develop|programm)\w* (?:\w+ ){0,3}?in",
    ),
    Kind("compiler", r"(?:gcc|GCC|g\+\+|clang|icc|nvcc|MSVC)(?: (?:version )?[0-9][0-9.]*[0-9])?", r"compiler", r"compiled with"),
    Kind("statistical test", r"Wilcoxon(?: signed[- ]rank)?|Mann-Whitney(?: U)?|(?:paired )?t|McNemar|ANOVA"
        r"|bootstrap", r"[- ]?tests?"),
)  # fmt: skip
_END = r"(?![\w+#]|[-/][\w])"


def _patterns_of(kind: Kind) -> re.Pattern[str]:
    behind = rf"(?<![A-Za-z0-9_+-])(?P<first>{kind.words})['’”ʼ]?[- ]?(?:{kind.heads})\b"
    link = rf"(?:(?<!\w)|(?=[:=]|\|)){_LINK} (?:an? |the )?['\"’ʼ‘“]?"
    ahead = rf"\b(?i:{kind.heads})\b[^.,\d]{{0,{_ROOM}}}?{link}(?P<second>{kind.words}){_END}"
    forms = [behind, ahead]
    if kind.deeds:
        forms.append(rf"\b(?:{kind.deeds}) (?:the |an? )?(?P<third>{kind.words}){_END}")
    return re.compile("|".join(forms))


_LEXICON = tuple((kind.name, _patterns_of(kind), re.compile(kind.about)) for kind in KINDS)
_TERM = r"(?:[0-9][0-9,.]*(?<![,.])|[A-Za-zα-ωϵ](?:_?\w+)?)"
_PRODUCT = rf"{_TERM}(?: ?[×*∗·] ?{_TERM}){{1,3}}"
_POWER = r"2\^(?:\([^()]{1,12}\)|[a-z](?:[+−-]\w+)*)"
_FORMULAS = (
    # the urgency gets 10,000 × S
    re.compile(
        r"(?<![\w.])(?P<value>[0-9][0-9,.]*(?<![,.]) ?[×*∗·] ?[A-Za-z]\w{0,12}) (?:is|are) added to (?:the "
        r"|its )?(?P<name>[a-z][a-z -]{2,30}\b)"
    ),
    # a table of size 2^t
    re.compile(
        rf"(?P<name>(?:[a-z][\w-]* ){{0,3}}(?:table|array|list|tree|buffer|filter|vector|set)s?) (?:is \w+ )?(?:of|with|to|has) "
        rf"(?:an? )?(?:size |length )?(?:of )?(?P<value>{_POWER})"
    ),
    # set the output length to the input length + 50
    re.compile(
        r"\b(?:set|sets|setting|limit|limited|increased?|cap|capped|fix|fixed) (?:the |its "
        r"|our )?(?P<name>(?:[a-z][\w-]* ){1,4}?)"
        r"(?:during [a-z]+ )?(?:to|at|as) (?:the )?(?P<value>[a-z]+ [a-z]+ [+−-] [0-9]+)"
    ),
    # we set ρ = 1/(20n)
    re.compile(
        r"\b(?:set|sets|setting|choose|chose|fix|use|using|take|with) (?:the |an? |its |our )?(?P<name>(?:[a-z][\w-]* ){0,3}?)"
        r"(?P<symbol>[α-ωϵA-Za-z](?:_\w{1,12})?) ?= ?(?P<value>[0-9]+/\([0-9A-Za-z α-ω]{1,8}\)"
        r"|(?<!\^)[0-9]{1,6} ?[α-ω]?(?: ?[a-z])?"
        rf"(?<=\D)(?!\w)|{_PRODUCT})(?= ?(?:[,.;)]|$|and\b|for\b|in\b))"
    ),
)  # fmt: skip


def find_words(read: str) -> Iterator[Found]:
    """What a sentence sets to a word of its field."""
    for name, pattern, about in _LEXICON:
        for match in pattern.finditer(read) if about.search(read) else ():
            yield Found(name, match, str(match.lastgroup))


def find_formulas(read: str) -> Iterator[Found]:
    """What a sentence sets to a formula, with a name or a symbol."""
    for pattern in _FORMULAS:
        for match in pattern.finditer(read):
            found = match.groupdict()
            yield Found(found["name"] or found.get("symbol") or "", match, "value", found.get("symbol") or "")
