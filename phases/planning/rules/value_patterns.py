"""How papers set values: the patterns of names, numbers and words, in one place."""

from __future__ import annotations

import re

from phases.planning.rules.numbers import NUMBER, WORDS

UNITS = (
    "epochs?|iterations?|(?:mini-?)?batches|steps?|updates?|layers?|sub-?layers?|heads?|seeds?|units?|trials?|neurons?|clusters?"
    "|blocks?|filters?|channels?"
    "|GPUs?|TPUs?|CPUs?|cores?|machines?|servers?|nodes?|workers?|threads?|samples?|examples?|sentences?"
    "|sentence pairs|pairs?|tokens?|words?|characters?|documents?"
    "|images?|questions?|queries|tasks?|classes|categories|categor(?:y|ies)|episodes?"
    "|trajectories|rollouts?|simulations?|games?|positions?|points?|checkpoints?|models?|runs?|repetitions"
    "|times"
    "|folds?|splits?|users?|items?|participants?|subjects?|annotators?|labels?|dimensions?|features?"
    "|parameters?|weights?|bits?|(?:kilo|mega|giga|tera)?bytes?|[kKMGT]i?B|Mb|ms|[µμun]s|seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    "|entries|buckets?|levels?|keys?|key sets|records?|hidden units|neighbou?rs|components?|modules?|stages?"
    "|phases?|types?|scalars?|relations?|agents?|particles?|transformations?|experiments?|instances?|variables?"
    "|frames?|patches|windows?|rounds?|demonstrations?|shots?|ways?|candidates?|responses?|paths?"
    "|lists|degrees?|percent|characters|partitions?|replicas?|requests?|temperatures?|constraints?|topics?"
    "|vocabulary|states?|actions?|environments?|terms?|matrices|vectors?|functions?|operators?|problems?|datasets?|data"
    " sets?|attention layers|transformer layers|convolutions?"
)
HEADS = (
    "weight decay|learning[- ]rates?|step[- ]?sizes?|batch[- ]?sizes?|rates?|decay|momentum|dropout|epochs"
    "|layers|sizes?|dimensions?|dimensionality"
    "|heads|steps|iterations|temperatures?|margins?|factors?|coefficients?|smoothing|clipping|norm|lengths?"
    "|seeds?|clusters|thresholds?"
    "|strength|patience|tolerance|weights?|penalty|probabilit(?:y|ies)|ratios?|widths?|depths?|units|ranks?"
    "|neighbou?rs|bandwidth|trials|frequency|capacity|budgets?"
    "|degrees?|bonus|bias(?:es)?|beams?|neurons|filters|stride|padding|perplexity|variance|deviation|mean|slope"
    "|discount|horizon|window|k|vocabulary(?: size)?|resolution|interval|fraction|constant|base|level|limit"
    "|number|max(?:imum)?|top-[kp]|tokens|hyper-?parameters?|parameters?|scale|radius|order|memory(?: size)?"
    "|kernel size|precision|sparsity|damping|offset|cardinality|value|timeouts?|delays?|periods?|quotas?|deadlines?|lifetimes?"
)
ONE = rf"(?:2\^[0-9]{{1,2}}|{NUMBER})(?: ?%)?+(?: ?(?:[Mm]illion|[Bb]illion|[Tt]housand)\b|[kKMB]\b)?"
NEXT = rf"(?:,|;|,? and|,? or) ?{ONE}"
MORE = rf"{NEXT}(?![0-9]|,[0-9]{{3}})(?![- ](?:[a-z-]+[- ])?(?:{UNITS})\b)(?! (?:for|on|in|with) )"
SEVERAL = rf"(?:[{{\[(] ?)?((?>{ONE}(?:/{NUMBER}(?![0-9/]))?(?:{MORE}){{0,13}}))"
SEVERAL_EQUAL = SEVERAL.replace(MORE, rf"{MORE}(?! (?:[a-z-]+ )?[a-z]{{3,}}s\b)")
"""Of a symbol: in "k = 5 and 10 clusters" the clusters are another value."""
WHOLE = r"(?!,? ?(?:\.\.\.|…|· ?·)|[\w^/⁄√⁻⁰¹²³⁴-⁹]|[*·×][\w\\]|\.[0-9]| ?(?:×|√|\^|/|⁄|·|\*|±|[α-ωϵ])| ?\+ ?[\w(\\]|[A-Za-z(\\])"
"""No number stops in the middle of a formula, or of a fraction."""
SIGN = re.compile(
    r"(?<![\w\\{^.])(?<![-+*/·×] )(\|[A-Za-z](?: ?[×x] ?[A-Za-z])?\|"
    r"|[α-ωϵϕµA-Za-z](?:_[\w-]{1,24}|[0-9])?|[A-Za-z][A-Za-z]{1,20}(?:[_-][A-Za-z0-9]{1,20}){0,4})"
    rf"(?: ?=[^=<>,;.]{{1,24}}?){{0,3}}? {{0,2}}(?:=|∈|←|:=|from) ?{SEVERAL_EQUAL}{WHOLE}"
)
CHAINED = re.compile(r"= ?([α-ωϵϕµA-Za-z](?:_[\w-]{1,24})?) ?(?==)")
"""The other symbols that have the same value: d_k = d_v = 64."""
NAMED = re.compile(
    rf"\b({HEADS})\b(?: ?\(?[A-Za-zα-ωϵϕ](?:_\w+)?\)?)? ?(?:(?:\(?which )?(?:is |are |was |were |be |being"
    r" )?(?:\w+ly )?(?:set |fixed |equal |chosen |initiali[sz]ed |restricted |tuned |varied |limited )?"
    rf"(?:to be|to|as|of|is|are|was|were|from|at|in|over|among|=|∈|:|\|)|\()"
    rf"(?: (?:about|approximately|around|either|a value of|value|up to|a|the range|be|(?:the|a|an) (?:default|constant"
    rf"|fixed|initial"
    rf"|same)(?: value)?(?: of)?))? ?{SEVERAL}{WHOLE}",
    re.IGNORECASE,
)
SET = re.compile(
    rf"(?<![\w])((?:[A-Za-zα-ωϵ][\w-]* ){{1,5}})(?:is|are|was|were|be)? ?(?:then |also |all |\w+ly )?(?:initiali[sz]ed|set|reset"
    r"|fixed|equal|defaults?|limited|restricted|capped|clipped|starts?|started|kept|chosen|increased|raised) (?:to|at"
    r"|with|as|by|from)"
    rf" (?:be )?(?:a maximum of |at most |about )?({ONE}|zero|one)(?![\w×^*/(]| ?[×*·])"
)
SET_TO = re.compile(r"(?:[sztp]ed|set|fixed|equal|defaults?|starts?|kept|chosen) (?:to|at|with|as|by|from) ")
"""What SET has in it: it is looked for first, since most sentences set nothing."""
COUNTED = re.compile(
    rf"(?<![\w.,^_/⁄±=+-])(?<![-+−] )((?>{ONE}(?:{NEXT}){{0,8}})[\]}}]?|\b(?i:{'|'.join(WORDS)})\b)[ -]((?:(?!(?:of|the|and|or|to"
    r"|for|with|in|on|at|is|are|more|less|most|best|other|which|that|these|those|if|when|while|as|by|from|than"
    rf"|possible|using)\b)[A-Za-z][\w-]*[ -]){{0,3}}?(?:{UNITS})"
    rf"(?: (?:steps|points|pairs|layers|examples|samples|instances))?(?: intervals?)?)\b(?![-_][a-z])"
)
DEVICES = re.compile(
    rf"(?<![\w.,-])({ONE}|\b(?:{'|'.join(WORDS)})\b)(?:x|×)? (?:[A-Z][\w-]* (?:[0-9]\w* )?){{1,3}}([GT]PUs?)\b"
)
"""4 Nvidia RTX 3090 GPUs."""
ONE_COUNTED = re.compile(rf"(?<= and )((?>{ONE}))[ -]((?:[a-z][\w-]*[ -])?(?:{UNITS}))\b(?![-_][a-z])")
"""The last of two numbers, of which the first belongs to another name: "a rate of 0.1 and 100 epochs"."""
WORD_UNITS = re.compile(
    r"(?:layers?|heads|blocks|seeds|gpus|tpus|epochs|runs|folds|steps|iterations|perceptrons|filters|channels"
    r"|neurons|words|bits|bytes|participants|subjects|students|volunteers|annotators|patients|raters)$"
)
MEASURES = r"seconds?|minutes?|hours?|days?|weeks?|[kmgt]i?b|ms|[µμun]s|intervals?"
POINTED = re.compile(
    r"\b(?:vs\.?|versus|one of|each of|these|those|latter|other|of the|among the|between the|all|if there are) (?:the )?$",
    re.IGNORECASE,
)
STEPS = re.compile(r"(?:steps|iterations|epochs|updates|episodes)$")
MEASURED = re.compile(
    r"\b(?:after|within|than|at|in|by|(?<!up )to|vs\.?|versus)(?: about| only| just)? $", re.IGNORECASE
)
"""What comes before a number of steps that was needed, and not set."""
SPACED = re.compile(
    r"\b(rates?|sizes?|momentum|decay|dropout|dimensions?|temperatures?|seed|dim|stride|ReLU|RELU|lr|epochs|batch|depths?"
    r"|widths?|level|lengths?|threshold|radius|rank|horizon|slope|patience|margin|tolerance|degree|probability"
    r")"
    rf" {SEVERAL}{WHOLE}"
)
CALLED = re.compile(
    r"\b(?:an?|the|with|at|to) (?:(?!(?:of|an?|the|total)\b)[a-z][\w-]* ){0,2}((?!(?:number|total|factor|cluster|group|team"
    r"|series|collection|stack|set|pair|array|ensemble|sequence|network|ring|grid|mesh)s?\b)[a-z][\w-]{2,}) of"
    rf" (?:about |approximately |around |at most |at least |up to |only )?(?:size |length )?{SEVERAL}{WHOLE}"
)
"""Any noun of a number: a maximum of 500, an embedding of size 64."""
SHAPE = re.compile(
    r"(?<![\w×x.])([0-9]{1,5}(?: ?(?:×|x) ?[0-9]{1,5}){1,3})(?![\w×.^]|[-−–][0-9])[ -]?((?:[a-zA-Z][a-z-]+ ?){0,2})"
)
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
_CASE = r"(?:[A-Z][\w@+.$-]*|[a-z]+[A-Z]\w*)(?: [A-Z0-9][\w+.-]*)*(?: \([^()]*\))?"
LISTED = re.compile(rf"((?:{_CASE}(?:, ))*{_CASE}(?:,? and |, ){_CASE})")
"""Names in a row, each of which can own one of as many numbers."""
GOES_ON = re.compile(
    rf"( (?:for|on|in|when|to|with) [^,;.]{{2,60}}?),? (?:and|or) ({ONE})((?: (?:for|on|in|when|to|with) [^,;.]{{2,50}}))"
)
RESULT_BEFORE = re.compile(
    r"\b(?:by|than|up to|score of|accuracy of|F1 of|BLEU of|(?:an?|the) (?:average|mean) (?:\w+ )?of|total time"
    r" of|improvement of|reduction of|took|takes about|within|achiev\w+|reach\w*|drops? (?:of|to)|attain\w*"
    r"|error of|speedup of|account\w* for|yielded"
    r"|succe\w+ (?:for|in|on)|fail\w* (?:for|in|on)|agreement on|agree\w* on)"
    r"(?: about| around| at least| at most| almost| nearly)? \$?$",
    re.IGNORECASE,
)
LOOSE = re.compile(
    r"\b(?:if|when|case|any|iff|until|wenn|für|suppose|assume|e\.g\.,?|example,?|say|where) (?:\w+ )?$|\bfor $",
    re.IGNORECASE,
)
STOPS_TEXT = """
the a an of with and or our we use used using set to is are for in by on from as at its their fixed same default
best each per all that this which whose where when has have total both vary tune select choose different various
these following see report get let denote observe employ adopt fix i.e e.g be it was were been being into such than
then also only over under between about approximately around every if not no one two three run chosen takes take
find given resulting respectively instead most more number equal any train trained apply applied perform performed
consist consists include includes while employ employs employed conduct conducts test tests consider considers
evaluate evaluates evaluated sample samples limit limits has have had contain contains comprise comprises keep keeps
provide provides require requires yield yields gives give make makes made setting using achieve achieves obtain
obtains reach reaches can must should may will would could they it he she there here out up off so because since
until unless both either neither yet still just exactly first second third last initial final next previous less
fewer greater larger smaller higher lower least again ourselves themselves itself define let denote always never
construct constructs constructed pick picks appear appears exceed exceeds involve involves become becomes might try uses
fixing moving making leading often usually typically generally specifically respectively compared initialized initialised
increase increases below above
increased reduce reduces reduced range ranges ranging vary varies varying start starts started
single enough forall ing tion ments
"""
STOPS = frozenset(STOPS_TEXT.split())
VAGUE_TEXT = """
factor factors range ranges size sizes weight weights parameter parameters length lengths number value times terms
points k base order scale level types
"""
VAGUE = frozenset(VAGUE_TEXT.split())
INDEXES = frozenset(["i", "j", "k", "m", "n", "t", "ij", "l", "x", "y", "p"])
BATCH = re.compile(r"(?:(?<=mini-)|\b(?:generat\w+ |train\w* )?)batch(?:es)?$")
"""What is as large as it has parts: "batches of 250,000 requests"."""
EXTREME = re.compile(r"(?:average|mean|median|maximum|minimum|max|min|total)$", re.IGNORECASE)
"""What says no more than how several numbers became one: "a maximum of 100 steps" is a number of steps."""
APART = re.compile(r"\b(?:with|over|across|against|by|in|on|from) $")
"""What a number stands apart by from the noun before it: "we compare X with 8 methods"."""
SHARES = re.compile(r"(?:dropout|probability|momentum)$")
LONGEST_QUOTE = 150

TIMES = "seconds?|minutes?|hours?|days?|weeks?"
TIME_AFTER = re.compile(rf" ?(?:{TIMES})\b")
SAYS = re.compile(
    r"^(?:we|in|for|the|this|pl\w+ refer|refer|see|consider|with|by|as|at|on|and|if|when|note|let)\b"
    r"|\b(?:we|is|are|was|were|used?|set|have|has|gilt|ist|sei|sind)\b|\b(?:with|of|for|at|by|on|in)$",
    re.IGNORECASE,
)
"""No label, but a clause, or what is left of one."""
NO_VALUES = (
    # what a product is called by
    re.compile(
        r"\b(?:RTX|GTX|TITAN|Titan|Tesla|Xeon|Core|GeForce|Ryzen|EPYC|Athlon|Opteron|Pentium|Quadro|Radeon|Gold|Silver|Intel|AMD"
        r"|TPU|Llama|LLaMA|GPT|Gemma|Qwen|Claude|Windows|Ubuntu|Debian|Fedora|CUDA|Java|Solaris|Linux|IP|Go)[- ]?v?[0-9][\w.+]*"
        r"(?: (?:Ti|XP|Super|Pro|Max)\b)?"
    ),
    # the domain of a variable, and what everybody has to be in
    re.compile(
        r"(?:∈|\bin|from|into|to|range|interval|between) ?[{\[(] ?-?[01](?:\.0)? ?, ?1(?:\.0)? ?[}\])](?:\^\w+)?"
    ),
    # what a run cost
    re.compile(
        rf"\b(?:takes?|took|(?:run|runs|ran|complete[sd]?|finish\w*) in|requires?|required) (?:about |around "
        rf"|approximately |roughly |only |up to |less than |more than )*{NUMBER}(?:(?:[-–]|, |,? and "
        rf"|,? or ){NUMBER})*? ?(?:cycles|{TIMES}|(?:GPU"
        rf"|CPU|TPU)[- ])"
    ),
    re.compile(rf"{NUMBER}(?:[-–]{NUMBER})? (?:GPU|TPU|CPU)[- ](?:{TIMES})"),
    re.compile(rf"(?:[<>≤≥]|\b6=|\b[lg](?:eq|e|t)\b) ?{NUMBER}|=6 (?=[a-z]\b)"),
    # a part of something else
    re.compile(rf"{NUMBER} times (?:the|that of)\b"),
    # what a function takes: "max(0, x)"
    re.compile(rf"\b(?:max|min) ?\( ?{NUMBER}(?= ?,)"),
    # the number of an item in a list: "(1) convert the array, (2) compress it"
    re.compile(r"(?:^|[:;,.] |\b(?:and|or) )\([1-9]\)(?= )"),
    # what a machine or a compiler is
    re.compile(
        r"\b(?:8|16|32|64|128)[- ][Bb]it (?:architectures?|machines?|computers?|gcc|GCC|compilers?|processors?|systems?"
        r"|(?<!\b8.[Bb]it )versions?"
        r"|CPUs?|OS\b|Linux|Windows|platforms?|atomic)"
    ),
    # a version
    re.compile(r"\b(?:[Vv]ersion |v)[0-9]+(?:\.[0-9]+)*|\b[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,3}\b"),
)
RANGE = re.compile(
    rf"\b(?:from|between|range (?:of )?)(?: a| the)?(?: (?P<what>[a-z]+s))? ?({ONE}|zero\b|one\b)"
    rf" (?:to|and|through) ({ONE})(?: ([a-z]+s)\b)?{WHOLE}"
)
RANGE_WORDS = re.compile(
    r"(?: (?:is|are|was|were|that|which))?(?: (?:chosen|sampled|drawn|selected|varied|varying|varies|vary|ranging|ranges?"
    r"|uniformly|randomly|set|tuned|within|in|over|with|of|the|a))* $"
)
LISTED_COUNTS = re.compile(
    rf"(?<![\w.,^_/⁄±=+-])(?<![-+−] )((?>{ONE}(?:, ?{ONE})+,? ?(?:and|or) ?{ONE}))[ -]"
    rf"((?:[a-z][\w-]*[ -]){{0,2}}?(?:{UNITS}))\b"
)
"""Three or more numbers of one unit: "layers of 512, 256, and 128 units"."""
COPULA = re.compile(
    rf"(?:^|[,;(] ?|\b(?:the|our|its|an?|with|and|maximum|minimum|total) )(?:[Tt]he )?"
    rf"((?:(?!(?:and|or)\b)[A-Za-z][\w-]* ){{0,3}}?number of"
    rf" (?:[a-z][\w-]* ){{1,4}}?)(?:is|was|are|were|to be|to|at|=|equals?)(?: (?:again|always|only|also|then|set to|fixed"
    rf" (?:to|at)|equal to|about|limited to|at most|up to))* ({ONE}|{'|'.join(WORDS)})\b{WHOLE}"
)
"""The number of teaching phases was again 40."""
CASE_LED = re.compile(r"\W*(?:If|When|Whenever|For)\b")
CASE_AFTER = re.compile(r"\b(?:if|when|while|otherwise)\b|←")
"""What follows 0 or 1 where it is a case, or a step, and no constant."""
REPEATED = re.compile(
    rf"\b(repeat\w*|run|ran|runs|execut\w+|train\w*|evaluat\w+|perform\w*|measur\w+|sampl\w+|trial\w*|conduct\w*"
    rf"|test\w*|simulat\w*)\b(?: [\w-]+){{0,4}}?"
    rf" ({ONE}|{'|'.join(list(WORDS)[2:])})"
    r" times\b(?! (?:faster|slower|more|less|larger|smaller|higher|lower|as|the))"
)
VERSION = re.compile(
    r"\b([A-Z][\w+-]*[A-Za-z+])(?: \(?(?:library )?(?:version |v\.? ?)([0-9]+(?:\.[0-9]+)*)"
    r"|[ -]([0-9]+\.[0-9]+\.[0-9]+))\b(?![\w%])"
)
"""PyTorch 1.9.0; Mistral 7B (version 0.1)."""
PERCENT = re.compile(
    rf"(?<![\w.,-])({NUMBER}) ?(?:%|percent) (?!of\b)((?:[a-z][\w-]* ){{0,2}}?(?:probabilit(?:y|ies)|chance|threshold|confidence"
    r"|confidence (?:intervals?|levels?)|split|quantile|percentile|dropout|sparsity|rate))\b"
)
EVERY = re.compile(
    rf"\b(?:every|once every|each) ({ONE}|{'|'.join(list(WORDS)[2:])}) ((?:[a-z][\w-]* ){{0,2}}?(?![kKMGT]i?B)(?:{UNITS}))\b"
)
DEED_NOUNS = {
    "evaluat": "evaluation", "updat": "update", "sav": "checkpoint", "written": "checkpoint", "checkpoint": "checkpoint",
    "sampl": "sampling", "decay": "decay", "report": "report", "log": "logging", "validat": "validation", "replay": "replay",
    "measur": "measurement", "synchroni": "synchronization", "refresh": "refresh", "dampen": "decay", "reduc": "decay",
    "halv": "decay", "divid": "decay", "drop": "decay", "test": "test", "recomput": "update", "resampl": "resampling",
}  # fmt: skip
INTERVAL_DEED = re.compile(rf"\b((?:{'|'.join(DEED_NOUNS)})\w*)", re.IGNORECASE)
DECAYED = re.compile(
    r"\b(?:decay(?:s|ed|ing)?|dampen(?:s|ed|ing)?|multipl(?:y|ied|ying)|divid(?:e|ed|ing)|reduc(?:e|ed|ing)|anneal(?:s|ed|ing)?"
    rf"|drop(?:s|ped)?|decreas(?:e|ed|ing)|scaled)(?: (?:it|them|the learning rate|the step size))? (?:by"
    rf"|with)(?: a)?(?: factor)?(?: of)? ({ONE}){WHOLE}"
)
DECAYING = re.compile(
    r"\b(learning rate|step size|temperature|momentum|weight|epsilon|exploration rate)s?\b", re.IGNORECASE
)
COUNTED_AFTER = re.compile(
    rf" ?((?:(?!(?:in|for|on|and|or|as|to|the|our|of|with|at|by|from|is|are|was|were|has|if"
    rf"|when|\w+ly)\b)[a-z][\w-]* ){{0,3}}?(?:{UNITS}"
    rf"|(?!(?:implies|gives|means|yields|makes|leads|results|requires|becomes|denotes|represents|works|suffices|performs)\b)"
    rf"[a-z]{{3,}}[^\W\d_sui]s))\b"
)
COUNTED_ANY = re.compile(
    rf"(?<![\w.,^_/⁄±=+\-])(?<![-+−] )({ONE}|\b(?i:{'|'.join(WORDS)})\b)[ -]((?:(?!(?:of|the|and|or|to|for|with|in|on"
    rf"|at|is|are|more|less|most"
    r"|best|other|which|that|these|those|if|when|while|as|by|from|than|possible|main|key|using)\b)[a-z][\w-]*[ -]){0,3}?"
    r"(?:(?!(?:was|has|does|goes)\b)[a-z][a-z-]*[^\W\d_sui]s|[a-z]{3,}(?= matches| games| runs| tests| sets)))\b(?![-_][a-z])"
)
"""A number and any plural."""
HAS_PARTS = re.compile(
    r"\b(?:has|have|(?:consists?|composed|made) of|contains?|comprises?|provides?|maintains?|averaged (?:over|across)"
    r"|uses?|used|employs?|constructs?|trains?|trained|select(?:s|ed)?|sampled?|generates?|creates?|runs?|ran|designs?|presents?)"
    r" (?:just |exactly |only |the )?$",
    re.IGNORECASE,
)
NOT_COUNTED = re.compile(
    r"\b(?:contributions?|reasons?|ways|cases|aspects|things|works|papers|results|advantages|issues|questions|sections|figures"
    r"|tables|properties|observations|challenges|directions|scenarios|goals|kinds|forms|pages|years|authors|researchers|people"
    r"|halves|phases|parts|possibilities|options|conditions|points of|others|sides|ends|ones|types|steps to"
    r"|limitations|approaches"
    r"|was|has|does|values|modifications|changes|differences|purposes|methods|strategies|studies|tools|assumptions"
    r"|choices|effects|terms|digits|times|decimals|orders"
    r"|sources)$",
    re.IGNORECASE,
)
"""What a text counts and no program does."""
SINGULAR = re.compile(
    r"(?:layer|parameter|bit|shot|way|sentence|head|block|unit|step|epoch|game|fold|word|token|image|character|point|node|problem|[GTC]PU|core"
    r"|iteration|sample|example|byte|label|feature|channel|filter|seed|run|episode|thread|machine|server|agent|instance)$"
)
ADJECTIVE = re.compile(r"[a-z]+(?:al|ed|ic|ous|ive|ary|fold|free)\b")
DIMENSIONAL = re.compile(
    rf"({NUMBER})[- ]dimensional ((?:[a-z][\w-]* ){{0,2}}?[a-z]{{3,}})(?= (?:of|and|for|in|that|to|with|by|is"
    rf"|using)\b|[,.;:)]|$)"
)
OF_MODEL = re.compile(r"\b(?:latent|hidden|embeddings?|representations?|codes?|features?|projections?|subspaces?)\b")
"""What has few dimensions by choice: other spaces, grids and images have two or three by nature."""
SETS = re.compile(
    r"\b(?:set|sets|use[ds]?|using|initiali[sz]\w*|start\w*|begin\w*|default|choose|chose|chosen|fix\w*|with"
    r"|employ\w*|const|tune[ds]?)\b"
)
SHARE = re.compile(
    rf"({NUMBER} ?%|[1-9]/[1-9][0-9]?) of (?:the |all |our |its |total |number of )*([a-z][\w-]*(?: [a-z][\w-]*){{0,2}}?)"
    r"(?=[,.;:)]| (?:is|are|was|were|as|for|to|in|and|that|with|of|from|used)\b|$)"
)
WORKLOAD = re.compile(
    rf"({NUMBER} ?%) ((?:reads?|writes?|updates?|inserts?|insertions|deletes?|deletions|lookups?|gets?|puts?|scans?|enqueues"
    r"|dequeues|searches|queries|adds|removes)(?: operations)?)\b"
)
"""A mix of operations: 80% reads and 20% writes."""
SPLIT = re.compile(r"\b([0-9]{1,2}[/:][0-9]{1,2}(?:[/:][0-9]{1,2})?) ((?:[a-z/-]+ ){0,3}(?:splits?|ratios?))\b")
WE_SET = re.compile(
    r"\b(?:we|We|and|to|by) (?:then |also |always )?(?:set|sets|fix|fixed|limit|limited|limiting|restrict|restricted"
    r"|cap|capped|initiali[sz]e"
    r"|clip|clipped|keep|kept|increase[d]?|setting|fixing|chose|choose) ((?:(?:the|our|all|both"
    r"|its) )?(?:[A-Za-zα-ωϵ][\w-]* ){1,6}?)(?:to|at|as|by)"
    rf" (?:be |a maximum of |at most |about )?({ONE}|zero|one)(?![\w×^*/(]| ?[×*·])"
)
WE_SETS = re.compile(r"\b[Ww]e (?:set|fix|choose|chose)\b")
AND_SET = re.compile(
    rf"(?:,|\band) (?:the |its )?((?:[A-Za-zα-ω][\w-]* ){{1,6}}?)to ({ONE}|zero|one)(?![\w×^*/(]| ?[×*·]|(?<!%),? (?:of|to)\b)"
)
"""What goes on after "we set": "and the mean of the sizes to 512 bytes"."""
RESULT_NAME = re.compile(
    r"\b(?:accurac\w+|acc|AUC|AUROC|MSE|RMSE|MAE|FID|R2|scores?|improvements?|speed-?ups?|gains?|errors?|reductions?"
    r"|increases?"
    r"|costs?|overhead|agreement|precision|latency|throughput"
    r"|performance|results?|recall|F1|BLEU|perplexity|AUC|times?|cent|percent)$",
    re.IGNORECASE,
)
"""What is measured, and not set."""
UNIT_AFTER = re.compile(
    r" ?((?:(?:requests|operations|ops|packets|messages|transactions|queries|events|frames)(?= per )"
    r"|[kKMGT]i?B|[kM]?bytes|bytes?|ms|[µμun]s|s|secs?|seconds?|mins?|minutes?|hours?|days?|weeks?|months?"
    r"|[kMG]?Hz|[KMG]bps|dB|°C|[cmk]m|kg)(?:/s| per (?:second|minute|hour|day|epoch|step|iteration|node|core|thread|GPU"
    r"|token|image|sample|item|entry|key)\b)?)(?![-/^\w(]| ?=)"
)
"""The unit that stands behind a number."""
NO_NAME = re.compile(
    r"\b(?:there|we|they|it|is|are|was|were|did|does|had|can|could|will|would|perhaps|sometimes|whom|ahead)\b",
    re.IGNORECASE,
)
"""A word of a clause: what has it is no name."""
YEAR_BEFORE = re.compile(
    r"\b(?:in|since|until|by|of|from|year|spring|summer|autumn|fall|winter|January|February|March|April|May|June|July|August"
    r"|September|October|November|December) $"
)
DEFAULTED = re.compile(
    rf"([A-Za-zα-ω][\w-]*) \((?:which )?(?:(?:is|we|typically|usually|normally|currently|here|by default|defaults?|set"
    rf"|fixed|chosen|equal|to|is|as|of|about|around|at|value)[:,]? ){{1,5}}({ONE})(?: ([a-z]+))?\)"
)
"""A name with its usual value in a bracket: a parameter t (typically set to about 200); the patience (default 10)."""
SUBJECT = re.compile(
    rf"(?:^|, )(?:The|Our|Its|the|our) ((?:[a-z][\w-]* ){{0,3}}?(?:{HEADS}))\b(?:,? (?:that|which|in|for|of|on|we"
    rf"|used|[A-Z])\b[^.;:=0-9]{{0,50}})? (?:is|was|are|were)(?: always| also)?(?: set to| fixed (?:to|at)"
    rf"| limited to| chosen as)? ({ONE}){WHOLE}"
)
"""What a sentence is about, with words between: "The segment size of our queue, N, is 1024"."""
MODEL_SIZES = re.compile(r"[0-9.]+ ?[MB](?:(?:,|,? and|,? or) [0-9.]+ ?[MB])*")
OF_WHAT = re.compile(r" (?:of|with|has|have|having)(?: an?| the)? $")
"""Between a thing and its size: "sub-hash tables with size 32"."""
LONE_SIGN = re.compile(r"(?:^| )([A-Zb-zα-ω](?:_\w+)?|[A-Z][a-z]{1,4}) (?:\w+ly )?$")
_SIZES_TEXT = "kb mb gb tb kib mib gib tib bit byte kilobyte megabyte gigabyte terabyte"
SIZES = tuple(_SIZES_TEXT.split())
SIZED = re.compile(r"[- ]((?:[A-Za-z][\w-]* ){0,2}[a-z]{3,})\b(?! (?:of|is))")
"""What has a size of so many bytes: "64 KB data block"."""
MACHINE = re.compile(r"\b(?:[GC]PUs?|RAM|memory|disks?|machines?|servers?|processors?|cards?)$", re.IGNORECASE)
ANY_NUMBER = re.compile(
    rf"(?<![\w.,^_/⁄±=+\\{{-])({ONE}|\b(?:{'|'.join(list(WORDS)[1:])})\b)(?![\w^/⁄]|\.[0-9]| ?[×·*^/√])", re.IGNORECASE
)
ANY_SET = re.compile(rf"[{{\[(] ?({ONE}(?:, ?{ONE}){{1,13}}) ?[}}\])](?!\^)")
"""What one is chosen from: "tune it in {1, 0.1}"."""
TUNED = re.compile(
    r"\b(?:tun(?:e[ds]?|ing)|search\w*|grids?|sweep\w*|swept|select\w*|chos\w+|choose|var(?:y|ied)|tested|candidates?)\b"
)
WORDS_AFTER = re.compile(
    r"[- ](?:(?:different|distinct|separate|such|independent) )?((?:[A-Za-z][\w-]*[ -]){0,3}[A-Za-z][\w-]*)"
)
COUNTABLE = re.compile(rf"[A-Za-z-]+s|{UNITS}")
LEADS_TO_VALUE = re.compile(
    r"(?: (?:is|are|was|were|be|set|fixed|equal|to|down|of|at|as|with|by|in|on|over|from|about|approximately|around|only|up|a|an"
    r"|the|values?|most|least|maximum|chosen|(?:grid )?search(?:es|ed)?|grid|range|among|=|≈|:|being))+ $|[(=:≈] ?$"
)
"""Between a name and its number."""
