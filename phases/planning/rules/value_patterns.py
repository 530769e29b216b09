"""How papers set values: the patterns of names, numbers and words, in one place."""

from __future__ import annotations

import re

from phases.planning.rules.numbers import NUMBER, WORDS

UNITS = (
    "epochs?|iterations?|(?:mini-?)?batches|steps?|updates?|layers?|sub-?layers?|heads?|seeds?|units?|trials?|neurons?|clusters?"
    "|blocks?|filters?|channels?"
    "|GPUs?|TPUs?|CPUs?|cores?|machines?|servers?|nodes?|workers?|threads?|samples?|examples?|sentences?"
    "|sentence pairs|pairs?|tokens?|words?|characters?|documents?"
    "|images?|questions?|question sequences|queries|tasks?|classes|categories|categor(?:y|ies)|episodes?"
    "|trajectories|rollouts?|simulations?|games?|positions?|points?|checkpoints?|models?|runs?|repetitions"
    "|times"
    "|folds?|splits?|users?|items?|participants?|subjects?|annotators?|labels?|dimensions?|features?"
    "|parameters?|weights?|bits?|bytes?|KB|MB|GB|Mb|ms|seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    "|entries|buckets?|levels?|keys?|key sets|records?|hidden units|neighbou?rs|components?|modules?|stages?"
    "|phases?|types?|scalars?|relations?|agents?|particles?|transformations?|experiments?|instances?|variables?"
    "|frames?|patches|windows?|rounds?|demonstrations?|shots?|ways?|candidates?|responses?|paths?|linked lists"
    "|lists|degrees?|percent|characters|partitions?|replicas?|requests?|temperatures?|constraints?|topics?"
    "|states?|actions?|environments?|terms?|matrices|vectors?|functions?|operators?|problems?|datasets?|data"
    " sets?|attention layers|transformer layers|convolutions?"
)
HEADS = (
    "weight decay|learning[- ]rates?|step[- ]?sizes?|batch[- ]?sizes?|rates?|decay|momentum|dropout|epochs"
    "|layers|sizes?|dimensions?|dimensionality"
    "|heads|steps|iterations|temperatures?|margins?|factors?|coefficients?|smoothing|clipping|norm|lengths?"
    "|seeds?|clusters|thresholds?"
    "|strength|patience|tolerance|weights?|penalty|probabilit(?:y|ies)|ratios?|width|depth|units|ranks?"
    "|neighbou?rs|bandwidth|trials|frequency|capacity|budgets?"
    "|degrees?|bonus|bias(?:es)?|beams?|neurons|filters|stride|padding|perplexity|variance|deviation|mean|slope"
    "|discount|horizon|window|k|vocabulary(?: size)?|resolution|interval|fraction|constant|base|level|limit"
    "|number|max(?:imum)?|top-[kp]|tokens|hyper-?parameters?|parameters?|scale|radius|order|memory(?: size)?"
    "|kernel size|precision|sparsity|damping|offset|cardinality|urgency|komi|points|value"
)
ONE = rf"(?:2\^[0-9]{{1,2}}|{NUMBER})(?: ?%)?(?: ?(?:million|billion|thousand)\b|[kKMB]\b)?"
NEXT = rf"(?:,|;|,? and|,? or) ?{ONE}"
MORE = rf"{NEXT}(?![0-9])(?![- ](?:[a-z-]+[- ])?(?:{UNITS})\b)(?! (?:for|on|in|with) )"
SEVERAL = rf"(?:[{{\[(] ?)?((?>{ONE}(?:/{NUMBER}(?![0-9/]))?(?:{MORE}){{0,13}}))"
WHOLE = r"(?![\w^/⁄√⁻⁰¹²³⁴-⁹]|[*·×][\w\\]|\.[0-9]| ?(?:×|√|\^|/|⁄|·|\*|±)|[A-Za-z(\\])"
"""No number stops in the middle of a formula, or of a fraction."""
SIGN = re.compile(
    r"(?<![\w\\{^.])([α-ωϵϕµA-Za-z](?:_[\w-]{1,24}|[0-9])?|[A-Za-z][A-Za-z]{1,20}(?:[_-][A-Za-z0-9]{1,20}){0,4})"
    rf"(?: ?=[^=<>,;.]{{1,24}}?)? ?(?:=|∈|←|:=|from) ?{SEVERAL}{WHOLE}"
)
NAMED = re.compile(
    rf"\b({HEADS})\b(?: ?\(?[A-Za-zα-ωϵϕ](?:_\w+)?\)?)? ?(?:(?:\(?which )?(?:is |are |was |were |be |being"
    r" )?(?:\w+ly )?(?:set |fixed |equal |chosen |initiali[sz]ed |restricted |tuned |varied |limited )?"
    rf"(?:to be|to|as|of|is|are|was|were|from|at|in|over|among|starts as|by a grid search (?:on|over|in)|=|∈|:|\|)|\()"
    rf"(?: (?:about|approximately|around|either|a value of|value|up to|a|the range|be))? ?{SEVERAL}{WHOLE}",
    re.IGNORECASE,
)
SET = re.compile(
    rf"((?:[A-Za-z][\w-]* ){{1,5}})(?:is|are|was|were|be)? ?(?:then |also |all )?(?:initiali[sz]ed|set|reset"
    rf"|fixed|equal|defaults?) (?:to|at|with) (?:be )?({ONE}|zero|one)(?![\w×^*/(]| ?[×*·])"
)
COUNTED = re.compile(
    rf"(?<![\w.,^_/⁄±=-])((?>{ONE}(?:{NEXT}){{0,8}})[\]}}]?|\b(?:{'|'.join(WORDS)})\b)[ -]((?:(?!(?:of|the|and|or|to"
    r"|for|with|in|on|at|is|are|more|less|most|best|other|which|that|these|those|as|by|from|than"
    rf"|possible)\b)[A-Za-z][\w-]*[ -]){{0,3}}?(?:{UNITS})(?: intervals?)?)\b(?![-_][a-z])"
)
ONE_COUNTED = re.compile(rf"(?<= and )((?>{ONE}))[ -]((?:[a-z][\w-]*[ -])?(?:{UNITS}))\b(?![-_][a-z])")
"""The last of two numbers, of which the first belongs to another name: "a rate of 0.1 and 100 epochs"."""
WORD_UNITS = re.compile(
    r"(?:layers?|heads|blocks|seeds|gpus|tpus|epochs|runs|folds|steps|iterations|perceptrons|filters|channels"
    r"|neurons|words|bits|bytes)$"
)
MEASURES = r"seconds?|minutes?|hours?|days?|weeks?|gb|mb|kb|ms|intervals?"
POINTED = re.compile(
    r"\b(?:vs\.?|versus|one of|each of|these|those|latter|other|of the|among the|all) (?:the )?$", re.IGNORECASE
)
STEPS = re.compile(r"(?:steps|iterations|epochs|updates|episodes)$")
MEASURED = re.compile(
    r"\b(?:after|within|than|at|in|by|(?<!up )to|vs\.?|versus)(?: about| only| just)? $", re.IGNORECASE
)
"""What comes before a number of steps that was needed, and not set."""
SPACED = re.compile(
    r"\b(rate|size|momentum|decay|dropout|dimension|temperature|seed|dim|stride|ReLU|RELU|lr|epochs|batch)["
    rf" ]({NUMBER}){WHOLE}"
)
SHAPE = re.compile(r"(?<![\w×x.])([0-9]{1,5}(?: ?(?:×|x) ?[0-9]{1,5}){1,3})(?![\w×.])[ -]?((?:[a-zA-Z][a-z-]+ ?){0,2})")
CONSTANT = re.compile(r"\b(?:const|int|float|unsigned|double|let)\b")
ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,30}) ?= ?(0x[0-9A-Fa-f]+|-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)(?=[,; )]|$)")
IDENTIFIER = re.compile(
    r"\b([a-z]{2,20}(?:[_-][a-z0-9]{1,20}){1,4}|sampling|metric|kernel|padding|gamma|nu) ?(?:=|:|set to|is set"
    r" to) ?([A-Za-z_][\w.]*|[0-9][\w.,]*[0-9]|[0-9])"
)
WORDS_AS_VALUES = ("auto", "scale", "true", "false", "none", "linear", "rbf", "same", "valid", "euclidean", "cosine")
LABEL = re.compile(
    rf"^[-•* ]*([A-Za-z][\w ()/.-]{{1,60}}?)(?:(?: |[,:(] ?)([α-ωϵϕ](?:_\w+)?|[A-Za-z](?:_\w+)?)\)?)? ?[:=]"
    rf" ?{SEVERAL}(?: ([a-z]+))?\.?$"
)
GOES_ON = re.compile(
    rf"( (?:for|on|in|when|to|with) [^,;.]{{2,60}}?),? (?:and|or) ({ONE})((?: (?:for|on|in|when|to|with) [^,;.]{{2,50}}))"
)


def _word(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern)


LEXICON = (
    _word(
        "optimizer",
        r"\b(AdamW|Adam|RMS[Pp]rop|Adagrad|AdaGrad|Adadelta|Adafactor|SGD|LAMB|Lion|Nadam)\b(?= (?:optimi[sz]er"
        r"|algorithm|with)|[^.]{0,12}optimi[sz]er)",
    ),
    _word(
        "optimizer",
        r"(?:optimi[sz]er(?: is|:)|(?:using|with|use|by|used|via) (?:the )?)(?<!\w)(AdamW|Adam|RMS[Pp]rop"
        r"|Adagrad|AdaGrad|Adadelta|Adafactor|(?:stochastic gradient descent|SGD)(?: with momentum)?)\b(?!\+)",
    ),
    _word(
        "activation function",
        r"\b((?:[Ll]eaky )?ReLU|RELU|GELU|SiLU|Swish|ELU|tanh|sigmoid|softplus|hyperbolic tangent)(?:[-"
        r" ](?:non-?linear(?:ity|ities)?|activations?|units?|functions?|hidden))",
    ),
    _word(
        "weight initialization",
        r"\b((?:Xavier|Glorot|He|Kaiming|[Oo]rthogonal)(?: (?:normal|uniform))?)(?= initiali[sz])",
    ),
    _word(
        "loss function",
        r"\b((?:binary |categorical |softmax )?cross[- ]entropy|mean[- ]squared[- ]error|hinge|negative log[-"
        r" ]likelihood|Huber|triplet|contrastive)(?= (?:loss|objective|criterion|function))",
    ),
    _word(
        "learning rate schedule",
        r"\b((?:linear|cosine)(?: (?:warm-?up|decay|annealing|learning rate decay)){1,2}|(?:cosine|linear"
        r"|exponential|step|polynomial)(?= (?:learning rate |rate )?(?:decay|schedule|annealing)))",
    ),
    _word("line search", r"\b(strong Wolfe|Armijo|backtracking)(?= line search| conditions?)"),
    _word("kernel", r"\b(linear|RBF|Gaussian|polynomial)(?= kernels?\b)"),
    _word("metric", r"\b(euclidean|Euclidean|cosine|Manhattan)(?= (?:metric|distance))"),
    _word("algorithm", r"\b(ball_tree|kd_tree)\b"),
    _word("padding", r"['\"’ʼ‘“](same|valid)['\"’ʼ”] padding|\b(?:with )?(same)(?= padding)"),
)
RESULT_BEFORE = re.compile(
    r"\b(?:by|than|up to|score of|accuracy of|F1 of|BLEU of|(?:an?|the) (?:average|mean) (?:\w+ )?of|total time"
    r" of|improvement of|reduction of|took|takes about|within|achiev\w+|reach\w*|drops? (?:of|to)|attain\w*"
    r"|error of|speedup of)(?: about| around| at least| at most| almost| nearly)? \$?$",
    re.IGNORECASE,
)
LOOSE = re.compile(
    r"\b(?:if|when|case|any|iff|until|wenn|für|suppose|assume|e\.g\.,?|example,?|say|where) (?:\w+ )?$|\bfor $",
    re.IGNORECASE,
)
STOPS_TEXT = """
the a an of with and or our we use used using set to is are for in by on from as at its their fixed same default best
each per all that this which whose where when has have total both vary tune select choose different various these
following see report get let denote observe employ adopt fix i.e e.g be it was were been being into such than then
also only over under between about approximately around every if not no one two three run chosen takes take find given
resulting respectively instead most more number equal any train trained apply applied perform performed consist
consists include includes
"""
STOPS = frozenset(STOPS_TEXT.split())
VAGUE_TEXT = """
factor factors range ranges size sizes weight weights parameter parameters length lengths number value times terms
points k base order scale level types
"""
VAGUE = frozenset(VAGUE_TEXT.split())
INDEXES = frozenset(["i", "j", "k", "m", "n", "t", "ij", "l", "x", "y", "p"])
SHARES = re.compile(r"(?:dropout|probability|momentum)$")
LONGEST_QUOTE = 150
