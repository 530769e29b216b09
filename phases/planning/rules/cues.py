"""By which words a sentence is known to say what is built, or to say something else. Each rule has its examples in the tests."""

from __future__ import annotations

import re
from typing import NamedTuple

from phases.planning.rules.sentence_results import states_result
from phases.planning.rules.sentences import count_words


class Rule(NamedTuple):
    """Why a sentence asks for nothing, and how such sentences are known."""

    why: str
    pattern: re.Pattern[str]


def _rule(why: str, pattern: str) -> Rule:
    return Rule(why, re.compile(pattern, re.IGNORECASE))


_CITED = (
    r"(?:[A-Z][\w'’-]+ (?:et al\.?|and [A-Z][\w'’-]+|& [A-Z][\w'’-]+),? ?[(\[]?[0-9]{4}|[A-Z][\w'’-]+ ?\[[0-9]+\]"
    r"|[A-Z][\w'’-]+ et al)"
)
_COUNTED_AGAINST = (
    r" or equal| (?:one|zero|half|twice)\b| \$?[0-9][0-9.,]*(?![0-9.,]|\\?%)| \$?[^\W0-9_]['′]?\$?(?:[\s,;)]|\.?$)"
    r"| (?:its|their)\b| that (?!of|in|for|achieved|obtained|with|from|by)\w"
    r"| (?:the|a|some) (?:threshold|number|current|given|fixed|minimum|maximum|limit|size|length|value|capacity|timeout)"
)
"""What stands behind "than" in a condition: a number, a sign or a limit, and no other method."""
RULES = (
    _rule(
        "result",
            r"(?:out|under|over|under-|over-)(?:perform|estimat)|instabilit|inaccura|primitive"
            r"|\bsuperior|state[- ]of[- ]the[- ]art|(?<!\bthe )significantly|surprising|interestingly|notably|remarkabl"
            r"|(?:results?|experiments?|figure|fig\.?|table|analys[ie]s|curves?|we|this|these)"
            r" (?:\([^)]*\) )?(?:\[?[0-9.]+\]? )?(?:\w+ly )?"
            r"(?:also )?(?:shows?|showed|shown|notices?|demonstrat\w+|indicat\w+|suggests?|suggested|implies"
            r"|confirms?|reveal\w*|validates?|illustrat\w+"
        r"|summari[sz]es?|observe[sd]?|finds?|found|concludes?|witness|compares)\b(?! (?:the )?following| it (?:\w++ )?to\b"
            r"| (?:that )?(?:an? |the )?(?:values?|setting|choice|size|number|depth) [^.]{0,40}[0-9])"
            r"|\b(?:it|that|which) (?:also |\w+ly )?(?:shows?|demonstrates|indicates|suggests|implies|confirms"
            r"|reveals|illustrates)\b"
            r"|\b(?:better|worse|higher|lower|larger|smaller|faster|slower|stronger|more \w+|less \w+)"
            rf" than\b(?!{_COUNTED_AGAINST})|\bfewer than\b(?! or equal| the (?:threshold|number))"
            r"|(?:achiev|attain|yield|obtain|exhibit|boost)(?:e?s|e?d|ing)? (?:an? |the |\w+ ){0,3}(?:best|better"
            r"|higher|lower|lowest|highest|comparable|competitive|strong|gains?|accurac\w+|performance"
            r"|improvements?|reduction)\b"
            r"|\b(?:improv(?:es?|ed|ing)|increas(?:es?|ed)|decreas(?:es?|ed)|reduc(?:es?|ed)|drops?|dropped) (?:\w+"
            r" ){0,4}(?:by(?! (?:one|1|a fixed)\b)|from|performance|accuracy|results?|significantly)\b"
        r"|\b(?:speed-?ups?|in bold|bold numbers|nearly identical|on par|similar(?:ly)? (?:results?|performance))\b"
            rf"|(?:higher|lower|better|worse|faster|slower) (?:\w+ ){{1,3}}than\b(?!{_COUNTED_AGAINST})"
            r"|\bas (?:shown|seen|reported"
                r"|demonstrated|can be seen) (?:in|by)\b|can be seen|we (?:see|note that"
            r" the results)|performs? (?:\w+ )?(?:well|poorly|best|better|worse|similarly)"
            r"|\bp ?(?:<|= ?0?\.0) ?0?\.?[0-9]|\beffectiveness\b|performance (?:drop|gain|gap|improvement)|consistently"
            r"|\bprovides? (?:further )?improvement",
    ),
    _rule(
        "discussion",
            r"\b(?:suspect|hypothesi[sz]e[sd]?|conjecture|believe|expect|speculate|argue"
            r"|surmise)\b(?! to be)|\bas (?:we )?expected\b|\bexpected (?:that\b|to\b(?! be))"
            r"|\bwe (?:\w+ )?attribute\b"
            r"|\b(?:perhaps|presumably|likely due|plausibl\w+|arguably|unsurprising|unfortunately|fortunately)\b"
            r"|may be (?:due|because|beneficial)"
            r"|\b(?:might|would (?:be|waste|require|make|lead|have)|could (?:be (?:restricted|used|extended"
            r"|improved)|also|help|lead|improve|enhance|enable))\b"
            r"|future (?:work|research|stud)|remains? (?:an )?open|further (?:research|investigation|work)|we"
            r" (?:plan|hope|think|leave|recommend|anticipate|encourage)"
            r"|\bit is (?:important|interesting|clear|worth|well|known|fine|possible that|likely|unlikely|not clear"
            r"|unclear|natural)\b|\bthe (?:main |key )?(?:reason|advantage|benefit|drawback|disadvantage|limitation"
            r"|intuition|downside)s?\b"
            r"|\b(?:advantages?|drawbacks?|shortcomings?|trade-?offs?) (?:of|is|are|over)\b|to (?:the best of )?our"
            r" knowledge|one (?:can|could|may|might) (?:see|argue|expect|also)|note that (?:this|the (?:results?"
            r"|performance))|in theory\b|another way of"
            r"|\b(?:versatil\w+|flexibility|promising|crucial|appealing|elegant|attractive|highlight(?:s|ed)?"
            r"|underscor\w+|intuitive(?:ly)?)\b",
    ),
    _rule(
        "motivation",
            r"attract(?:s|ed)|challenging|has been (?:widely|extensively|very)|have been (?:widely|extensively|very"
            r"|proposed|shown)|ha(?:s|ve) (?:seen|become|received) (?:a|much|great|considerable|increasing\w*"
            r"|growing|wide\w*|little"
            r"|significant"
            r"|attention|more|very|popular|important|standard|common)\b"
            r"|recent(?:ly)?,? (?:work|studies|advances|years|progress|approaches)|in recent|increasing(?:ly)?"
            r" (?:interest|popular|important)|growing (?:interest|need)|success(?:ful|es)? (?:in|for|of|at)\b"
            r"|widespread|well-known|ubiquitous|\b(?:suffer|hinder|prohibit|hamper|preclude)(?:s|ed|ing)?\b"
            r"|existing (?:work|method|approach|stud|model|system|solution)|traditional(?:ly)?|conventional(?:ly)?"
            r"|\bdespite\b"
            r"|most (?:competitive|existing|current|prior|previous|modern|commonly)|previous (?:work|method"
            r"|approach|stud)|prior (?:work|method|approach|stud)|(?:many|several|most|few|some|other) (?:works?"
            r"|researchers|papers|studies|authors|methods|approaches)\b"
            r"|\b(?:researchers|practitioners|people|experts|scientists)\b|in (?:many|most) (?:cases"
            r"|domains|applications)|is (?:well|widely) (?:known|used|studied)|cornerstone|suboptimal",
    ),
    _rule(
        "related",
            rf"^(?:{_CITED})|^They (?!are\b|contain|consist|have\b|must\b|can\b|include)"
            r"|^Their (?:\w+ ){0,2}(?:method|approach|work|model|algorithm|system|result|experiment|analys[ie]s|framework"
            r"|idea|study|paper|proposal|technique|solution|architecture|design|evaluation|implementation)s?\b"
            rf"|\b(?:introduced|proposed|presented|described|developed"
            rf"|suggested|studied|shown|demonstrated) (?:in|by) (?:{_CITED}|\[)"
            rf"|(?:{_CITED}[)\]]*) (?:\w+ly |also |further |first )?(?:propos|introduc|present|develop|suggest|stud"
            r"|show|demonstrat|leverag|learn|us|build|apply|appli|extend|find|found|train|argu|provid|investigat"
            r"|combin|describ|dissect)\w*"
            r"|^(?:another|other|similar) (?:\w+ ){0,3}(?:method|approach|work|tool|model|example|technique)"
            r"|\b(?:unlike|in contrast to|compared (?:to|with)|similar to|different from) (?:the )?(?:previous"
            r"|prior|existing|other|earlier|traditional|(?-i:[A-Z][a-z]+) )",
    ),
    _rule(
        "rejected approach",
            r"\bwe (?:also )?(?:tried|experimented with|attempted|considered but|explored (?:but|and found))|did"
            r" not (?:improve|help|work|yield|lead|focus|use)|\bdoes not (?:improve|help|work|seem)|\bnot (?:employ"
            r"|pursue|adopt)"
            r"|\brejected\b|counter-?example|instead of (?:adding|using|the) [^,.]{0,60}, we (?:mask|found|find)"
            r"|\bwould (?:waste|be too|be prohibitive)|\bprohibitive|\btoo (?:slow|expensive|costly|much|many"
            r"|large)\b|straightforward (?:method|way|approach)|na[iï]ve(?:ly)? |a simple alternative|one"
            r" alternative|an alternative (?:would|is to)",
    ),
    _rule(
        "proof",
            r"\b(?:Lemmas?|Theorems?|Corollary|Corollaries|Propositions?|Proof|Q\.E\.D|w\.l\.o\.g|Beweis|Satz"
            r"|Korollar)\b|it follows that|we have that|completes? the proof|\bwe (?:prove|show that|derive that"
            r"|obtain that)\b|holds? (?:with probability|for all|true)|implies that|is bounded (?:by|above|below)"
            r"|证明",
    ),
    _rule(
        "of authors",
            r"equal contribution|contributed equally|corresponding author|correspondence (?:to\b|should)"
            r"|\w@[\w-]+(?:\.[a-z]{2,})+\b|\b(?:work|research) (?:was |were )?(?:done|performed|conducted|carried"
            r" out) (?:while|when|during)\b|\bare grateful"
            r"|(?:supported|funded|sponsored) (?:in part |partially )?by (?:the|an?|grants?)\b|\bgrants? (?:no"
            r"|number|agreement)|permission to (?:make|copy|reproduce)|copyright|©|all rights reserved|\bthank\b"
            r"|arXiv:[0-9]|authors? (?:declares?|contributed|agree)"
            r"|(?:University|Department) of\b|gleichen Teilen|gefördert (?:von|durch)|contribution égale|financé"
            r" par|financiado por|通[讯信]作者|同等贡献|资助|資助|교신저자|責任著者|workshop|\bin Proceedings\b|proceedings of",
    ),
    _rule(
        "points elsewhere",
            r"\b(?:are|is|can be|were|will be) (?:\w+ ){0,2}(?:shown|presented|given|listed|provided|summari[sz]ed"
            r"|found|included|deferred|discussed|depicted|described|reported) (?:below |further |again )?(?:in|at"
            r"|by) (?:the )?(?:\(?(?:our )?(?:table|fig|section|sec\b|sec\.|appendix|supplement|§|algorithm|next"
            r"|following|https?)|Tables)"
            r"|(?<!\()\b(?:see(?! if\b| whether\b)|refer to(?![^.]{0,60} as\b)|we refer(?! to [^.]{0,60} as\b))\b"
            r" [^.]{0,60}\b(?:for|section|appendix|table|figure)|in the"
            r" (?:following|next|remainder|rest)(?: (?:(?:sub)?sections?|paragraphs?|chapters?|appendix)\b"
            r"| of (?:this|the) (?:paper|section|work)|,)"
            r"|^(?:in |section )?§|explains? in (?:more )?detail|\bshowcase"
            r"|\b(?:will|shall) be (?:discussed|described|explained) (?:\w+ )?(?:later|below|next)|^in what follows"
            r"|^as mentioned (?:above|before|previously|earlier)|full"
            r" breakdown|(?:this|the (?:following|next|previous)) (?:section|paper|appendix)"
            r" (?:describes?|presents?|discusses|is)|in this (?:section"
            r"|appendix),? we|we (?:describe|discuss|present|report|review|now (?:describe|turn)) (?:\w+"
            r" ){0,5}(?:below|next|in (?:section|appendix|table|fig))"
            r"|^(?:figures?|fig\.|tables?|algorithms?|listings?|sections?|appendix) [0-9A-Z.–-]+"
            r" (?:shows?|presents?|gives?|describes?|depicts?|illustrates?|summari[sz]es|lists?|compares?|introduces?"
            r"|explains?|discusses|details)\b"
            r"|\b(?:as follows|the following(?: \w+){0,3})[.:]$|\b(?:start|begin)s? with (?:\w+ ){0,3}(?:definitions?"
            r"|notations?|preliminar\w+)|\bintroduce (?:\w+ ){0,3}(?:assumptions|definitions|notations?)\b",
    ),
    _rule(
        "assumption",
            r"^(?:suppose|assume) that\b|^(?:now |let us )?(?:suppose|consider) |^as for the example\b"
            r"|\bwe (?:make|impose|need|require|state) (?:\w+ ){0,3}assumptions?\b"
            r"|\bAssumptions? [0-9A-Z]|\bwe assume (?:that )?(?:the )?(?:function|gradient|Hessian|objective)\b"
            r"|\bcomputational complexit(?:y|ies) of\b|\bcomplexity metric",
    ),
)  # fmt: skip
DEED = (
        r"use[sd]?|using|utili[sz]e[sd]?|employ(?:s|ed)?|adopt(?:s|ed)?|appl(?:y|ies|ied)|(?:re|pre"
        r"|fine)?-?train(?:s|ed)?|(?:fine-?)?tuned?|set|fix(?:ed)?|compute[sd]?|calculate[sd]?"
        r"|evaluate[sd]?|assess(?:ed)?|measure[sd]?|report(?:ed)?|test(?:ed)?|sample[sd]?|draws?|select(?:s|ed)?"
        r"|choose|chose|chosen|pick(?:ed)?|initiali[sz]e[sd]?|update[sd]?|minimi[sz]e[sd]?"
        r"|maximi[sz]e[sd]?|optimi[sz]e[sd]?|add(?:s|ed)?|append(?:s|ed)?|define[sd]?|denote[sd]?|construct(?:s"
        r"|ed)?|buil[dt]s?|create[sd]?|generate[sd]?|split|partition(?:ed)?|divide[sd]?"
        r"|include[sd]?|implement(?:s|ed)?|run|ran|repeat(?:ed)?|perform(?:s|ed)?|conduct(?:ed)?|collect(?:ed)?"
        r"|gather|remove[sd]?|filter(?:ed)?|normali[sz]e[sd]?|assign(?:s|ed)?|obtain(?:s|ed)?|feeds?|fed"
        r"|takes?|encode[sd]?|parameteri[sz]e[sd]?|fre?oze|compare[sd]?|var(?:y|ied)|sweep|search(?:es|ed)?"
        r"|replace[sd]?|concatenate[sd]?|predict(?:s|ed)?|estimate[sd]?|design(?:ed)?|propose[sd]?|introduce[sd]?"
        r"|model(?:s|ed|led)?|formulate[sd]?|learns?|solve[sd]?|extract(?:s|ed)?|parse[sd]?|store[sd]?|record(?:s"
        r"|ed)?|rank(?:s|ed)?|sort(?:s|ed)?|mask(?:s|ed)?|augment(?:s|ed)?|average[sd]?|consider|represent(?:s|ed)?"
        r"|provides?"
        r"|inserts?|inserted|deleted?|returns?|maps?|reads?|writes?|sends?|receives?|allocate[sd]?|increments?"
        r"|incremented|copied|counts?|counted|considered|performed|rehash(?:ed)?|scale[sd]?|multipl(?:y|ied)"
        r"|projects?|weigh(?:t|ted)?|cluster(?:ed)?|cache[sd]?|modif(?:y|ied)|share[sd]?|follow(?:s|ed)?"
        r"|limit(?:ed)?|restrict(?:ed)?|index(?:ed)?"
)  # fmt: skip
_DONE = re.compile(
    r"^(?:start|begin|keep|find|compute|go|move|let|return|repeat)\b|"
    r"\b(?:we|to|and|then|can|will|must|should|by) (?:\w+ly |then |also |first |only |further |instead "
    rf"|additionally )?(?:{DEED})\b|^(?:{DEED})\b"
    r"|\b(?:is|are|was|were|be|been) (?:not |\w+ly |then |also |first |only |both |further |simply |again "
    r"|moved |reset )?\w{2,}(?:ed|zed|wn|set|ilt|hosen|epent|pt|un|iven|aken|rawn|ound|plit)\b"
    r"|\b(?:consists? (?:of|in)|composed of|followed by|contains?|takes?|outputs?|returns?|comprises?|supports?"
    r"|defines?|maps?|stores?|represents?|produces?|inserts?|wraps?|provides?|requires?|uses?|parameterized by"
    r"|set to|is (?:an?|the|then)|are (?:the|then))\b"
    r"|[=∈←]|\\in\b|\\leftarrow|\b[0-9][0-9.,]* ?(?:k|K|M|B|%|[a-z]{3,})|\b(?:if|otherwise|let|for each|for"
    r" every|at each|whenever|until)\b"
    r"|\bwe (?:\w+ly |then |also |first |only |further )?(?!have\b|had\b|are\b|were\b|can\b|note\b|see\b"
    r"|refer\b|do\b|will\b|would\b|call\b|want\b|need\b)[a-z]{3,}\b"
    r"|verwende|berechne|trainier|definier|gegeben|setze|使用|采用|训练|定义|计算|设置|设为|选择|采样|输入|输出|사용|학습|用い|学習",
    re.IGNORECASE,
)
_SET_UP = re.compile(
    r"\b(?:we|were|was|is|are|all|each) (?:\w+ly |then |also |only |first |always )?(?:use[sd]?|using|set"
    r"|train(?:ed)?|employ(?:ed)?|choose|chose|chosen|fix(?:ed)?|run|ran|sampled?|averaged?|initiali[sz]ed?"
    r"|tuned?|fine-?tuned?|apply|applied|report(?:ed)?|compared?|adopt(?:ed)?|performed?|repeat(?:ed)?|limit(?:ed)?"
    r"|delete[d]?|pick(?:ed)?|select(?:ed)?|split|evaluated?|(?:opti|mini|maxi)mi[sz]ed?|implement(?:ed)?|consist(?:s|ed)?"
    r"|employed)\b|\bused (?:a |an |the )?\w+|\bhad (?:an? |\d)"
    r"|verwende|setze|使用|设置|设为|采用",
    re.IGNORECASE,
)
_KINDS = {
    "baseline": (
        r"\bbaselines?\b|\bcompar(?:e|ed|ing) (?:\w+ ){0,4}(?:with|to|against)\b|competitors?\b|compared methods"
        r"|Vergleichsverfahren|基线"
    ),
    "dataset": (
        r"\bdata ?sets?\b|\bcorp(?:us|ora)\b|benchmarks? (?:suite|data)|(?:training|test|validation"
        r"|dev(?:elopment)?) (?:set|split|data)\b|Datens[aä]tz|数据集|데이터셋"
    ),
    "loss": (
        r"\bloss\b|objective function|cross[- ]entropy|(?:^|\bwe )(?:mini|maxi|opti)mi[sz]e|Verlustfunktion"
        r"|Zielfunktion|损失|目标函数|손실"
    ),
    "metric": (
        r"\bmetrics?\b|measure[sd]? (?:by|as|with|the)\b|accuracy\b|\bF1\b|BLEU|ROUGE|perplexity|error rate"
        r"|\bR?MSE\b|mean squared error|\bAUC\b|precision and recall|Genauigkeit|Fehlerrate|准确率|指标|정확도"
    ),
}  # fmt: skip
_CUES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS.items())
_LETTERS = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_FEWEST_WORDS, _FEWEST_LETTERS, _MOST_NUMBERS, _MOST_REPEATED = 4, 0.5, 0.4, 0.5
_MOST_WITH_VERB = 0.6
_VERB = re.compile(r"\b(?:we|is|are|was|were|has|have|uses?) (?![0-9.]+ [0-9.])")
_FORMULA = re.compile(r"\$[^$]*\$|[\[(](?:[0-9][0-9.]*[,;] ?){1,40}[0-9][0-9.]*[\])]")
"""In a sentence, or numbers in brackets: its other words say whether it is one."""
_TORN = re.compile(r"\w- \w|>>>|\ufffd|…|\.\.\.\.|(?:\b\w\b ?){8,}")
_ASIDE = re.compile(r"^(?:and|or|but|where|which|who|because|since they|so|as well)\b", re.IGNORECASE)


def why_not(sentence: str) -> str:
    """Why a sentence is no requirement: the first rule that knows it; empty where none does."""
    if not _is_language(sentence):
        return "no sentence"
    if states_result(sentence):
        return "result"
    return next((rule.why for rule in RULES if rule.pattern.search(sentence)), "")


def says_what_is_done(sentence: str) -> bool:
    """Whether a sentence says what is done, or how something is made."""
    return bool(_DONE.search(sentence))


def says_what_is_set(sentence: str) -> bool:
    """Whether it says what the authors used, set, trained or ran."""
    return bool(_SET_UP.search(sentence))


def kind_of_statement(text: str, role: str) -> str:
    """The kind of requirement that a statement is, by its words, else by what its section is for."""
    for kind, cue in _CUES:
        if cue.search(text):
            return kind
    return "experiment" if role in ("setup", "mixed", "results", "experiment") else "model"


def _is_language(sentence: str) -> bool:
    said = _FORMULA.sub("", sentence)
    words, parts = _LETTERS.findall(said), said.split() or ["0"]
    counted = sum(any(map(str.isdigit, part)) for part in parts)
    if counted > (_MOST_WITH_VERB if _VERB.search(said) else _MOST_NUMBERS) * count_words(said) or len(
        set(parts)
    ) < _MOST_REPEATED * len(parts):
        return False  # mostly numbers, or the same words again and again: the labels of a picture
    if len(words) < _FEWEST_WORDS and not re.search(r"[\u3040-\u9fff\uac00-\ud7af]{6}", sentence):
        return False
    if sum(map(len, words)) < _FEWEST_LETTERS * len(said.replace(" ", "")):
        return False
    return not _TORN.search(sentence) and not _ASIDE.match(sentence)
