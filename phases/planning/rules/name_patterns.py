"""How names of data sets, metrics and baselines look, and what stands beside them."""

from __future__ import annotations

import re


def _sign(name: str, pattern: str, flags: int = re.IGNORECASE) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern, flags)


_WORD = r"(?:[A-Z]+/[0-9]|[A-Z][\w@+*.’'-]*[\w+*]|[A-Z](?![\w.’'])|[a-z]+[A-Z]\w*|[a-z]{2,}-?[0-9]{2,}\w*)"
NAME = re.compile(
    rf"(?<![\w$\\@/.-]){_WORD}(?:(?:[ -]| ?[+&] ?)(?:{_WORD}|[0-9][\w.]*\w|[0-9])){{0,5}}(?: \(?et al\.(?: \([0-9]{{4}}\))?)?"
)
ORDINARY = re.compile(
    r"(?:(?i:the|a|an|we|our|this|these|those|in|for|on|all|both|each|to|as|at|and|of|if|it|its|i|he|they|there|then|thus|hence"
    r"|however|moreover|furthermore|also|while|when|where|since|because|although|first|second|third|finally|next|note|let"
    r"|see|here|with|by|from|using|given|after|before|during|similarly|instead|overall|specifically|one|two|three|but|or"
    r"|such|most|many|some|several|other|existing|previous|recent|unlike|like|compared|following|standard|vanilla|original"
    r"|regarding|following|additionally|table|figure|fig|section|appendix|equation|eq|algorithm|theorem|lemma|definition"
    r"|proposition|whereas|how|what|why|which|whether|remark|corollary|assumption)\b\.?[ -]*)"
)
"""Words with a capital that begin no name."""
NO_NAME = re.compile(
    r"(?:[A-Z]|[0-9.]+|(?i:table|figure|fig|section|appendix|equation|eq|algorithm|theorem|lemma|results?|experiments?"
    r"|methods?|models?|data|values?|training|testing|evaluation|university|conference|proceedings|journal|januar|februar|march|april"
    r"|we|our|it|i)\b.*)$"
)
QUOTED = re.compile(r"[“\"‘]([A-Za-z][\w-]*(?: [\w-]+){0,2})[”\"’]")
_METHOD_HEADS = (
    r"policy|allocator|baseline|heuristic|classifier|scheduler|attention|initiali[sz]ation|sampling|deletion|strategy|operator|agent"
    r"|hash(?:ing)?|table|tree|forecasting|retraining|replacement|fine-?tuning|search|learning rate|gain|algorithm"
)
_DATA_HEADS = (
    r"equation|game|task|corpus|corpora|data ?set|(?:micro)?benchmark|addition|subtraction|division|trace|workload"
)
_METRIC_HEADS = (
    r"accurac(?:y|ies)|errors?|rates?|times?|scores?|ratios?|loss(?:es)?|distances?|costs?|overheads?|utili[sz]ation"
    r"|latency|throughput|quality|returns?|rewards?|fragmentation|consumption|usage|frequency|variance|norm"
    r"|coefficients?|probability|perplexity|length|access(?:es)?|bandwidth|speed-?ups?|percentage|fraction|likelihood|similarity"
)
_SMALL = (
    r"the|an?|and|or|of|for|in|on|to|with|by|from|as|at|is|are|was|were|be|been|we|our|this|that|these|those|its|their|each|all|both"
    r"|any|some|same|other|different|new|which|more|most|less|than|when|where|has|have|had|not|no|if|via|per|into|through|using|uses?"
    r"|used|over|under|only|also|such|between|within|across|compar\w+|reports?|reported|measures?|measured|shows?|shown|higher|lower|better|best|worse"
    r"|while|but|so|one|two|three|four|five|several|many|few|first|second|third|either|neither|like|unlike|during|after|before|until|without"
    r"|outperforms?|surpass\w*|achiev\w+|improv\w+|reduc\w+|increas\w+|decreas\w+|require[sd]?|requiring|includ\w+|emulates?|behaves?|perform\w*|obtain\w*"
    r"|selects?|computes?|gives?|given|makes?|takes?|gets?|keeps?|needs?|lead\w*|yield\w*|cause[sd]?|provid\w+|preserv\w+|degrad\w+|minimi\w+|maximi\w+"
    r"|can|could|will|would|may|might|must|should|do|does|did|it|they|he|proposed|novel|similar|good|high|low|large|small|great|overall|additional"
    r"|entire|whole|certain|various|respective|corresponding|resulting|following|above|actual|simple|own|very|much|evaluat\w+|approach(?:es)?|methods?|results?|then|thus|how|what|whose|there|here|out|up|down|just|even|still|modern"
    r"|another|forms?|because|why|applying|introducing|combin\w+|hurts?|mechanism|general|efficient|optimized|final|challenging|fast"
    r"|standard|single|target|distinct|unseen|doing|\w+ly"
)
PHRASE = re.compile(
    rf"(?<![\w-])((?:(?!(?i:{_SMALL})(?![\w-]))[a-zA-Z][\w’'-]*[ ]){{1,3}}(?:{_METHOD_HEADS}|{_DATA_HEADS}|{_METRIC_HEADS})"
    r"|(?i:time|distance|rate|coefficient|fraction|percentage|probability|mixture|accuracy|cost) (?:of|to|per) (?:the )?(?!the)"
    r"[a-z-]{4,}(?: point| turn)?)(?![\w-])"
)
"""Words in small letters that end in what may be a method, data, or a measure."""
LIKE_A_METRIC = re.compile(
    r"\b(?:accurac(?:y|ies)|errors?|rates?|times?|scores?|ratios?|loss(?:es)?|distances?|costs?|overheads?|utili[sz]ation|latency"
    r"|throughput|quality|returns?|rewards?|fragmentation|consumption|usage|variance|norm|probability|perplexity"
    r"|speed-?ups?|percentage|fraction|F1|precision|recall|accesses|acc\.?|drop|ppl|[↑↓])$",
    re.IGNORECASE,
)
_CITATION = (
    r"\[[^\[\]]{0,80}[0-9][^\[\]]{0,40}\]|\([^()]{0,120}\b(?:19|20)[0-9]{2}[a-z]?[^()]{0,60}\)"
    r"|[A-Z][\w’'-]+(?: et al\.?| and [A-Z][\w’'-]+| & [A-Z][\w’'-]+)(?:,? \(?(?:19|20)[0-9]{2}[a-z]?\)?|[0-9]{1,3}| ?\[[0-9]+\])"
)
AUTHORS = re.compile(r"[A-Z][\w’'-]+(?: (?:&|and) [A-Z][\w’'-]+)?(?: e[tl] al\.?)? \((?:19|20)[0-9]{2}[a-z]?\)")
"""A method that is known by those who wrote of it."""
AUTHORS_AFTER = re.compile(
    r" ?\b[A-Z][\w’'-]+(?:(?: (?:et al\.?|(?:&|and) [A-Z][\w’'-]+)|, (?:[A-Z][\w’'-]+,? )*(?:and"
    r"|&) [A-Z][\w’'-]+),? ?[(\[]?|,? [(\[])"
    r"(?:19|20)[0-9]{2}"
)
"""The authors of a citation that has no brackets around it."""
CITE_KEY = re.compile(r"\[[^\[\]]{0,80}[0-9][^\[\]]{0,60}\]")
CITED = re.compile(rf"(?: ?\([A-Za-z][\w+-]{{0,9}}\))? ?,? ?(?:{_CITATION})(?:[;,] ?(?:{_CITATION}))*")
_ASIDE = r"(?: ?\([^()]{0,60}\)| ?\[[^\[\]]{0,80}\])"
BETWEEN = re.compile(
    rf"(?:s|es)?[”\"’]?{_ASIDE}{{0,3}}(?:, (?:and |or )?|; (?:and )?| and | or | & | as well as |/)(?:the |an? "
    rf"|on |with )?[“\"‘]?"
)
BEFORE = (
    _sign("compared with", r"\bcompar\w+ (?:\S+ ){0,6}?(?:with|to|against|and|between)?:? ?(?:\S+ ){0,3}$"),
    _sign("against", r"\b(?:against|versus|vs\.?) (?:the |an? )?(?:\w+ )?[“\"]?$"),
    _sign("beats", r"\b(?:outperform\w*|surpass\w*|beats?|exceeds?|superior to) (?:both |all )?(?:the )?(?:\w+ )?$"),
    _sign("than", r"\bthan (?:the |that of |those of |using |with )?(?:\w+ )?$"),
    _sign("so much over", r"(?:%|×|\btimes\b)[^.;]{0,25} (?:than|of|over) (?:the |that of )?(?:\w+ )?$"),
    _sign("over", r"\b(?:over|improve\w* (?:on|upon)) (?:the )?(?:\w+ )?$"),
    _sign("baselines", r"\bbaselines?\b[^.]{0,40}$"),
    _sign(
        "others",
        r"\b(?:existing|previous|prior|other|alternatives?|current|competing|standard|traditional|common)\b[^.]{0,30}$",
    ),
    _sign(
        "written in",
        r"\b(?:implement\w*|written|develop\w*|built|coded|compiled) (?:\w+ ){0,4}(?:in|with|on|using) (?:the )?$",
    ),
    _sign(
        "data", r"\b(?:data ?sets?|corpora|corpus|benchmarks?|collections?|(?:data|synthetic) streams?)\b[^.]{0,25}$"
    ),
    _sign(
        "tasks", r"\b(?:tasks?|environments?|games?|problems?|equations?|workloads?|traces?|simulations?)\b[^.]{0,25}$"
    ),
    _sign("on", r"\b(?:on|over) (?:the |both |all )?(?:\w+ )?[“\"]?$"),
    _sign(
        "tested on",
        r"\b(?:train\w*|fine-?tun\w*|evaluat\w+|test\w*|experiment\w*|results?|perform\w*|runs?|ran|pre-?train\w*|appl\w+"
        r"|accurac\w+|conduct\w*|score\w*|classif\w+) (?:\S+ ){0,5}?(?:on|to|for) (?:the )?(?:\w+ ){0,2}[“\"]?$",
    ),
    _sign("used", r"\b(?:use[ds]?|using|with|consider\w*|adopt\w*|includ\w+|employ\w*) (?:the |an? )?(?:\w+ )?[“\"]?$"),
    _sign("followed", r"\b(?:follow\w*|proposed (?:in|by)|introduced (?:in|by)|by|from|see|in) (?:the )?$"),
    _sign(
        "measured",
        r"\b(?:metrics?|measur\w+|report\w*|in terms of|assess\w*|comput\w+|averages?|mean|median|evaluat\w+)\b[^.]{0,25}$",
    ),
    _sign("a part of it", r"\b(?:of|in|from) (?:the )?$"),
    _sign(
        "best or change",
        r"\b(?:higher|lower|better|best|worse|improv\w+|reduc\w+|increas\w+|decreas\w+|achiev\w+)\b[^.]{0,20}$",
    ),
    _sign("begins", r"^[“\"]?$"),
    _sign("version", r"\b(?:variants?|versions?|extensions?) of (?:the )?$"),
)
AFTER = (
    _sign("its own kind, data", r"[”\"]?[ -](?:data ?sets?|corp(?:us|ora)|benchmarks?|treebank|traces?)\b"),
    _sign("its own kind, a baseline", r"[ -]baselines?\b"),
    _sign("data", r"[”\"]?[ -]?(?:\w+ )?(?:data ?sets?|corp(?:us|ora)|benchmarks?|collections?|treebank|data\b"
        r"|databases?|traces?|logs)\b"),
    _sign("a task", r"[”\"]?[ -](?:\w+ )?(?:tasks?|games?|environments?|equations?|problems?|workloads?|domain"
        r"|(?:test|dev|development|validation|training) (?:set|split)|images?)\b"),
    _sign("a method", r"[ -](?:\w+ )?(?:methods?|algorithms?|optimi[sz]ers?|approach(?:es)?|polic(?:y|ies)"
        r"|agents?|allocators?|strateg(?:y|ies)|systems?|initiali[sz]ation|schemes?|updates?)\b"),
    _sign("a model", r"[ -](?:\w+ )?(?:models?|networks?|layers?|architectures?|blocks?|encoders?|decoders?|backbones?)\b"),
    _sign("a baseline", r"[ -](?:\w+ )?baselines?\b|,? as (?:an? |the |our )?(?:strong )?baselines?\b"),
    _sign("how well it does", r" (?:\w+ly )?(?:achiev|obtain|perform|outperform|yield|fail|suffer|need|require"
        r"|converge|reach|does|did|show)\w*"),
    _sign("a library", r"[ -](?:\w+ )?(?:librar|packages?|toolkit|frameworks?|implementation|codebase|software)"),
    _sign("is a", r" (?:is|are) (?:an?|the)\b"),
    _sign("what it does", r" (?:uses?|selects?|learns?|ignores?|consists?|contains?|trains?|combines?|applies"
        r"|adds?|computes?|provides?)\b"),
    _sign("a score", r"[ -](?:scores?|values?)\b"),
    _sign("a number", r" ?(?:of |= ?|: ?|is )?[-+]?[0-9.]+"),
    _sign("a colon", r" ?:"),
    _sign("a definition", r"[^.]{0,10} (?:is |are )?(?:defined|measured|computed|calculated)\b"),
    _sign("on", r" (?:scores? )?(?:on|over|for|of|across) "),
)  # fmt: skip
IN_SENTENCE = (
    _sign(
        "compares", r"\b(?:compar\w+|baselines?|outperform\w*|state[- ]of[- ]the[- ]art|competitors?|versus|vs\.|than)"
    ),
    _sign("of data", r"\b(?:data ?sets?|corpora|corpus|benchmarks?)\b"),
    _sign("of measures", r"\b(?:metrics?|measur\w+|report\w*|evaluat\w+)\b"),
    _sign("of code", r"\b(?:implement\w+|librar\w+|packages?|code|software|toolkit)\b"),
    _sign("of the authors", r"\b(?:we|our)\b"),
    _sign(
        "tells what we compare",
        r"\bwe\b[^.]*\bcompare\b|\bcompared? (?:\w+ ){0,4}(?:to|with|against)\b|\bas (?:the |our )?baselines?\b"
        r"|\bbaselines?:? (?:are|include|methods)",
    ),
    _sign("of parts", r"\b(?:consists?|contains?|composed|comprises?|layers?|module)\b"),
)
GENERIC = re.compile(
    r"\b(?:details?|statistics|splits?|evaluation|metrics?|preprocessing|setup|set-up|\w*ology|networks?"
    r"|training|baselines?|data ?sets?|tasks?|overview|implementation"
    r"|experiment\w*|results?|models?|preliminaries|methods?|description|comparisons?|analysis|ablations?|parameters?|settings?|discussion|contributions?|studies|study|document|performance)\b|\$|\?",
    re.IGNORECASE,
)
"""Headings that every paper has."""
HEADINGS = (
    ("data", re.compile(r"\b(?:data(?: ?sets?)?|corpora|corpus|tasks?|environments?|benchmarks?|workloads?"
    r"|problems?)\b(?! structure)", re.IGNORECASE)),
    ("baselines", re.compile(r"\b(?:baselines?|compared|compar\w+|competitors?|methods)\b", re.IGNORECASE)),
    ("metrics", re.compile(r"\b(?:metrics?|measures?|criteri\w+|protocol)\b", re.IGNORECASE)),
    ("experiments", re.compile(r"\b(?:experiment\w*|evaluation|results?|set-?up|settings?|simulations?)\b", re.IGNORECASE)),
)  # fmt: skip
"""Headings and leads of lists, by what they are about."""
PROMISES = (
    ("data", re.compile(r"\b(?:data ?sets?|tasks|(?:benchmark )?problems|problem set-?up|environments|corpora"
    r"|benchmarks|workloads)$", re.IGNORECASE)),
    ("baselines", re.compile(r"\b(?:baselines?|compared methods|competitors|comparison methods)\b", re.IGNORECASE)),
    ("metrics", re.compile(r"\b(?:metrics|measures)$", re.IGNORECASE)),
    ("experiments", re.compile(r"\b(?:experiments?|evaluation|results)\b", re.IGNORECASE)),
)  # fmt: skip
"""Headings whose parts are one each."""
