"""How much an implementer needs a sentence: what it does (defines, computes, sends, sets) against what it talks about."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_SENTENCES_KEPT = 8192
_AGAIN = 0.3
"""How much a second deed counts: one thing that is done is often told in two ways."""
_ACTS = """
abandon|abort|accept|accumulate|acknowledge|add|adopt|advance|advertise|aggregate|allocate|alternate|announce|append|apply
|assemble|assign|assume|attach|attend|await|average|backtrack|become|begin|block|broadcast|build|call|check|choose|claim
|classify|clear|clip|close|collapse|collect|combine|commit|compare|compile|complete|compress|compute|concatenate|conduct|configure|connect|construct
|consult|consume|convert|copy|count|create|crop|cycle|decide|decode|decompose|decrement|decrypt|define|delete|deliver|denote
|deposit|derive|detect|determine|discard|dispatch|distribute|divide|draw|drop|eliminate|embed|emit|employ|encode|encrypt
|enqueue|enter|erase|establish|estimate|evaluate|evict|examine|exchange|execute|exit|expand|expire|explore|export|extend
|extract|fall|feed|fetch|fill|filter|find|finish|flip|flush|follow|forward|freeze|gather|generate|get|give|go|group|grow
|halt|hash|hold|identify|ignore|implement|increase|increment|index|infer|inherit|inform|initialise|initialize|initiate|inject|insert
|instantiate|interpolate|invoke|issue|iterate|join|keep|label|leave|link|list|load|locate|lock|look|loop|lower|maintain|map
|mark|mask|match|maximize|maximise|measure|merge|minimize|minimise|mix|modify|monitor|move|multiplex|multiply|negotiate|normalize
|normalise|notify|obtain|open|optimize|optimise|operate|order|output|pack|package|pair|parse|partition|pass|penalize|perform|permute
|pick|place|point|poll|pop|precede|predict|proceed|process|produce|project|propagate|propose|prune|publish|pull|push|put
|query|raise|randomize|rank|reach|read|rebuild|receive|reclaim|recompute|reconstruct|record|recover|recurse|reduce|refer
|refresh|register|reject|relay|release|remember|remove|renounce|reorder|repeat|replace|reply|report|request|reserve|reset
|reside|resize|respond|restart|restore|retain|retire|retrieve|retry|return|reuse|reverse|rewrite|roll|rotate|round|route
|run|sample|save|scale|scan|schedule|score|scroll|search|segment|select|send|separate|serialize|serve|set|share|shift|shrink
|shuffle|shut|sign|signal|skip|sleep|smooth|sort|spawn|specify|split|spread|stack|start|stay|steal|stop|store|stream|strip
|subtract|sum|swap|switch|synchronize|tag|take|terminate|test|threshold|tokenize|track|train|transform|transition|translate
|transmit|traverse|treat|trigger|truncate|try|tune|turn|unlock|unmask|unwrap|update|upload|use|utilize|verify|visit|vote
|wait|wake|walk|weigh|wrap|write|yield
""".replace("\n", "")
_NO_DEED = (
    r"(?:i|wa|ha|doe|thi|a|thu|it|hi|plu|minu|versu|acros|toward|beside|alway|perhap|sometime|unles|les|wherea|mean|term|case|way|time"
    r"|show|describe|discusse|illustrate|explain|suggest|indicate|demonstrate|motivate|summarize|seem|appear|lie|believe|argue)s\b"
)
"""What ends in "s" before "the" or "a" and does nothing: no verb, or one of talk."""
_DONE_TO = (
    r"(?:[a-z-]{2,20}ed|set|split|built|chosen|taken|drawn|fed|found|given|held|kept|left|made|put|read|run|sent|shown|shut"
    r"|cut|spent|written|broken|hidden|frozen|begun|thrown|known|grown)"
)
_TALK = (
    r"(?:has|have|had|are|were|can|could|may|might|do|did|will|would|shall|must|should|cannot|want|wanted|need|note|noted|notice"
    r"|noticed|see|saw|get|refer|describe|described|discuss|discussed|present|review|turn|provide|explore|investigate|study|examine"
    r"|explain|summari[sz]e|give|recall|prove|proved|show|showed|outline|illustrate|clarify|dig|believe|believed|think|hope|wish"
    r"|find|found|observe|observed|claim|argue|argued|expect|expected|know|focus|consider|conclude|emphasi[sz]e|highlight|suspect"
    r"|conjecture|hypothesi[sz]e|leave|stress|point|mention|address|motivate|demonstrate|aim|seek|understand|look|suggest|thank"
    r"|compare favorably)\b"
)
_MORE = r"(?:[a-z]{2,18}ly |then |also |first |next |only |never |always |not |both |again |further |now |each |simply ){0,2}"
_PARTS = (
    r"(?:sets?|lists?|pairs?|tuples?|triples?|sequences?|vectors?|matri(?:x|ces)|tensors?|functions?|numbers?|maps?"
    r"|tables?|nodes?"
    r"|keys?|values?|variables?|flags?|pointers?|counters?|graphs?|trees?|arrays?|strings?|integers?|stacks?"
    r"|queues?|layers?|fields?"
    r"|parameters?|weights?|fractions?|sums?|means?|products?|probabilit(?:y|ies)|distributions?|concatenation"
    r"|index|histor(?:y|ies)"
    r"|constants?|identifiers?|entr(?:y|ies)|records?|messages?|tokens?|bits?|bytes|ratios?|differences?|averages?"
    r"|embeddings?"
    r"|rows?|columns?|cells?|dimensions?|states?|actions?|steps?|components?|phases?|stages?|modules?|blocks?"
    r"|parts?|copy|copies)"
)
_IN_BRACKETS = re.compile(r"\([A-Z][^()]{0,400}\)$")
_BRACKETS = re.compile(r" ?\([^()]{0,200}\)")
_POINTER = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bwas )(?<!\bwere ),? ?(?:as )?\b(?:depicted|shown|described|illustrated"
    r"|defined|given|listed|specified"
    r"|outlined|explained|introduced|discussed) (?:above|below|earlier|previously|(?:in|by) (?:the )?(?:(?:next"
    r"|previous|following) )?"
    r"(?:figures?|fig\.|sections?|sec\.|tables?|appendix|equations?|eqs?\.|algorithms?)(?: [0-9A-Z](?:[0-9A-Z]|\.[0-9A-Z])*+)?)",
    re.IGNORECASE,
)
_PURPOSE = re.compile(r"^(?:in order )?to (?:[^,$]|\$[^$]{0,200}\$){3,160}, ", re.IGNORECASE)


class Sign(NamedTuple):
    """What a sentence does or talks about, the points for that, and how it is known."""

    name: str
    points: float
    pattern: re.Pattern[str]


def _sign(name: str, points: float, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Sign:
    return Sign(name, points, re.compile(pattern, flags))


DEEDS = (
    _sign(
        "does", 1.0,
        rf"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!\bof )(?<!\btwo )(?<!\bin )(?<!\bfor )(?<!\bwith )(?<![-\w])"
        rf"(?<!\bto )(?:{_ACTS})(?:e?s|ies)\b(?! (?:of|are|is|were|have|can|may|and) )"
        r"|\b(?:tries|copies|applies|carries|multiplies|verifies|replies|modifies|specifies|queries|identifies|classifies) "
        rf"|\b(?!{_NO_DEED})[a-z]{{2,20}}(?<!s)s (?:the|an?|its|their|his|her|all|each|every|it|them|both)\b",
    ),
    _sign(
        "they do", 0.9,
        rf"(?:^|[,;:] )(?:[^\s,;:.]++ ){{0,5}}?(?:[\w'-]{{1,24}}s|they|and|then) {_MORE}(?:{_ACTS})"
        r" (?!of\b|is\b|are\b|was\b|were\b|have\b|and\b|or\b|can\b)\S",
    ),
    _sign("we do", 1.0, rf"\bwe {_MORE}(?!{_TALK})[a-z][a-z-]{{2,20}}\b|\b(?:our|the|these|all) (?:experiments?"
          rf"|implementations?|systems?) {_MORE}"
          r"(?:used?|compares?|trains?|runs?|employs?|consists?)\b"),
    _sign("told to", 1.0, rf"^(?:\w++ ?\w*+: )?(?:then |first |next |finally,? )?(?:{_ACTS}|let|start|do|make|repeat) "
          r"(?!of\b|is\b|are\b|and\b)"),
    _sign("is done", 0.8, rf"\b(?:is|are|was|were|be|been|being|gets?) {_MORE}{_DONE_TO}\b"),
    _sign("defines", 1.0, r"^let\b|\b(?:denotes?|denoted|defined? (?:as|by|to)|we (?:define|call|write|say)"
          r"|is called|are called"
          r"|stands? for|refers? to|represents?|corresponds to)\b|\bgiven by\b|\bis proportional to\b"),
    _sign("is made of", 1.0, r"\b(?:consists? (?:of|in)|composed of|compris(?:es?|ing)|contains?|includes?"
          r"|has (?:an?|two|three|four|five|six|the)"
          rf"|have (?:an?|two|three|four|the)|maintains?|holds?|stores?|uses?) |\b(?:is|are) (?:then |simply "
          rf"|just )?(?:an?|the|two|three"
          rf"|all) (?:[^\s,;.]++ ){{0,3}}?{_PARTS}\b|^[^\s,:]{{1,30}}(?: num)?[,:] (?:an?"
          rf"|the) (?:[^\s,;.]++ ){{0,3}}?{_PARTS}\b|\binitially\b|^there (?:is|are) (?:no|one|two|three|four|five"
          rf"|exactly|[0-9])"),
)  # fmt: skip
"""What a sentence does: something acts, we act, something is defined or made of something."""
SIGNS = (
    # what goes with a deed
    _sign("is obliged", 0.5, r"\b(?:must|shall|has to|have to|may only|can only|cannot|never|at most|at least"
          r"|exactly|only if"
          r"|unless|until|should)\b"),
    _sign("comes when", 0.6, r"^(?:if|when|whenever|once|upon|on receipt|after|before|until|unless|for (?:each"
          r"|every|all)|at each|in"
          r" each|during|given|initially|otherwise|step|at the (?:beginning|end|start))\b"
          r"|, (?:if|when|whenever|once|unless|until) "),
    _sign("follows in order", 0.3, r"^(?:first|second|third|next|then|finally|lastly|subsequently)\b"),
    _sign("says with signs", 0.5, r"[=∈←≤≥]|\\(?:in|leftarrow|gets|sim|leq?|geq?|propto|mapsto)\b|\bmod\b"),
    _sign("counts", 0.5, r"(?<![\w.\[-])(?<!ection )(?<!igure )(?<!able )(?<!quation )(?<!hase )(?<!tep )(?<!rithm )"
          r"(?<!ine )[0-9](?![0-9.,]*+\])"),
    _sign("sets a value", 0.7, r"\b(?:set|fix(?:ed|es)?|initiali[sz]ed?|limit(?:ed)?|equals?|defaults?|train(?:ed)?"
          r"|uses?|used|employ(?:ed)?|choose|chose|chosen|run|repeat(?:ed)?"
          r"|split|ratio|draw|sampled?)\b[^.;:]{0,60}?(?<![\w.\[-])\$?[0-9]"),
    # what it talks about
    _sign("what may be", -0.6, r"\b(?:can|could|may|might|would)\b(?! only)|\b(?:possib\w++|potential(?:ly)?"
          r"|able to|in principle)\b"),
    _sign("how it is", -0.5, r"\b(?:efficient(?:ly)?|easy|easily|simpl(?:er|est|icity)|(?:quite|very) \w++"
          r"|natural(?:ly)?|useful(?:ness)?|important(?:ly)?"
          r"|importance|powerful|flexib\w++|robust(?:ness)?|practical(?:ly)?|desir\w++|beneficial|benefits?|helpful"
          r"|attractive|good|poor(?:ly)?"
          r"|difficult\w*+|hard|expensive|cheap|costly|trivial(?:ly)?|nice(?:ly)?|advantages?|drawbacks?|problems?"
          r"|challeng\w++|worth\w*+"
          r"|interest(?:ing)?|complicated|complex|minimal|novel|generic|general(?:ly)?|effective(?:ly|ness)?"
          r"|sufficient(?:ly)?|necessary"
          r"|overhead|popular|common(?:ly)?|usual(?:ly)?|typical(?:ly)?|straightforward|well-suited|unnecessary"
          r"|faithful|diverse)\b"),
    _sign("what it brings", -0.7, r"(?<!\bto )\b(?:ensur(?:es?|ing)|guarantees?|allows?|allowing|enabl(?:es?|ing)"
          r"|prevents?|avoids?|avoiding|helps?"
          r"|makes? (?:it|them|sure)|leads? to|implies|imply|encourages?|permits?|supports?|simplif\w++|serves?"
          r"|facilitat\w++|eliminates?|improves?|motivat\w++|thereby|results? in|yields?)\b"),
    _sign("why", -0.4, r"\b(?:because|since|due to|so that|therefore|hence|thus|consequently|otherwise it would"
          r"|in order that"
          r"|as a result|for this reason|the reason)\b"),
    _sign("the text itself", -1.0, r"\b(?:in |of |by )?(?:sections?|appendix|appendices|chapter) (?:[0-9A-Z]|\d)"
          r"|\b(?:this|next|following|previous|above)"
          r" (?:section|subsection|paper|article|discussion)\b|\bfig(?:ure|s?\.) ?[0-9A-Z]|\boverview\b|\b(?:will"
          r"|shall) (?:be )?(?:see|show|discuss\w*|describe\w*|present\w*)\b"
          r"|\b(?:described|discussed|shown|mentioned|explained|presented|outlined|elaborated) (?:in|below|above"
          r"|earlier|later)\b"
          r"|\b(?:we (?:now|next|first|also|then|further|will|briefly|begin by)? ?(?:describe|discuss|present"
          r"|review|turn|provide|explore|investigate"
          r"|study|examine|analy[sz]e|explain|summari[sz]e|introduce|give|recall|note|prove|show|show how|outline"
          r"|illustrate|clarify|dig))\b"
          r"|\b(?:recall|note|notice|observe) that\b|\bremember\b|\b(?:earlier|so far|hereafter|henceforth)\b"),
    _sign("an aim", -0.6, r"\b(?:goals?|aims?|aimed|purposes?|intuition|ideas?|principles?|key (?:idea|insight"
          r"|observation|point|aspect|component)|notabl[ey]|designed to|intended|wish|want|desired?"
          r"|hope|ideal(?:ly)?|essence|philosophy|view(?:ed)?|requirement|question|interested)\b"),
    _sign("an example", -1.2, r"\b(?:for example|for instance|(?:this|our|an? \w+|the \w+ing|above|these) examples?"
          r"|examples? of|illustrat\w++|imagine|suppose|scenario|consider(?:,| the| a| an)|e\.g\.,?|say,)"
          r"|例如|比如|zum Beispiel|예를 들어|たとえば|例えば"),
    _sign("others", -0.5, r"\b(?:et al|(?:in|by|of|from|to|with|like|and) \[[0-9]|original(?:ly)?|previous(?:ly)?"
          r"|earlier|prior|traditional(?:ly)?"
          r"|existing|conventional|literature|researchers|authors|inspired|recent(?:ly)?|well[- ]known"
          r"|other (?:work|method|approach|system|protocol)\w*+"
          r"|similar to|analogous|unlike|in contrast|whereas)\b|^(?:many|most|some|several)\b"),
    _sign("advice", -1.0, r"\b(?:recommend\w*+|advisable|suggest\w*+|practitioners|users? (?:can|may|might)"
          r"|one (?:can|could|may|might|should)|prefer\w*+"
          r"|good (?:choice|balance|practice)|tend(?:s|ed)? to|it is (?:\w++ ){1,2}(?:to|that))\b"),
    _sign("what is not needed", -0.7, r"\b(?:do|does|did|is|are|need|has|have|was|were)(?: not|n't) (?:need|require"
          r"|necess|have to|important|sufficient|clear|feasible"
          r"|enough|only|possible|be\b|efficient)|\bneed not\b|\bno (?:need|effort|longer)\b|\bwithout (?:the need"
          r"|requiring|changing|having)\b"),
    _sign("what must hold", -0.3, r"\b(?:needs?|require[sd]?|satisf\w++|hold[s]? (?:for|if|when))\b"),
    _sign("what was proved", -0.8, r"\b(?:converges?|convergence|theorem|lemma|prove[nsd]?|proof|eigenvalue"
          r"|invariants?|standard (?:fact|result)|clearly|obviously"
          r"|of course|in fact|indeed|in other words|intuitively|informally|essentially|in general|in a sense|roughly)\b"),
    _sign("an attacker", -0.5, r"\b(?:attack\w*+|adversar\w++|malicious|hostile|vulnerab\w++|harm\w*+|threat\w*+)\b"),
    _sign("a question", -2.0, r"[?？][\"”)]*$"),
)  # fmt: skip
_OTHER_LANGUAGES = re.compile(
    r"verwende|berechne|trainier|definier|gegeben|setze|heißt|bezeichne|^Seien? "
    r"|使用|采用|训练|定义|计算|设置|设为|选择|采样|输入|输出|表示|称为|赋值|返回|插入|删除|枚举|(?:^|，)[令设]|사용|학습|정의|계산|用い|学習"
)


def weigh_deeds(sentence: str) -> float:
    """How much an implementer needs a sentence: above 1 it says what to build, below 0 it talks about something."""
    found = find_signs(sentence)
    deeds = sorted((one.points for one in found if one in DEEDS), reverse=True)
    return sum(deeds[:1]) + _AGAIN * sum(deeds[1:]) + sum(one.points for one in found if one not in DEEDS)


@lru_cache(_SENTENCES_KEPT)
def find_signs(sentence: str) -> tuple[Sign, ...]:
    """The signs of DEEDS and SIGNS that the gist of a sentence has, in their order."""
    said = gist_of(sentence)
    found = tuple(one for one in (*DEEDS, *SIGNS) if one.pattern.search(said))
    return (*found, DEEDS[0]) if _OTHER_LANGUAGES.search(said) else found


def gist_of(sentence: str) -> str:
    """A sentence without what stands in brackets, what its deed is for ("To save time, …") and where it is shown."""
    whole = sentence[1:-1] if _IN_BRACKETS.match(sentence) else sentence
    return _POINTER.sub("", _PURPOSE.sub("", _BRACKETS.sub("", whole))).strip()
