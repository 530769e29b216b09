"""The words by which a sentence is known as a demand of some kind, or as none."""

from __future__ import annotations

import re

_KINDS = {
    "baseline": (
        r"baselines?\b|compar(?:e|ed|ing) (?:\w+ ){0,4}(?:with|to|against)\b|competitors?\b|compared methods"
        r"|Vergleichsverfahren|基线"
    ),
    "dataset": (
        r"data ?sets?\b|corp(?:us|ora)\b|benchmarks? (?:suite|data)|(?:training|test|validation"
        r"|dev(?:elopment)?) (?:set|split|data)\b|Datens[aä]tz|数据集|데이터셋"
    ),
    "loss": (
        r"loss function|training loss|objective function|cross[- ]entropy|[a-z-]{2,40} loss\b|(?:^|\bwe )(?:mini"
        r"|maxi|opti)mi[sz]e|Verlustfunktion|Zielfunktion|损失|目标函数|손실"
    ),
    "metric": (
        r"metrics?\b|measure[sd]? (?:by|as|with|the)\b|accuracy\b|\bF1\b|BLEU|ROUGE|perplexity|error rate|\bR?MSE\b"
        r"|mean squared error|\bAUC\b|precision and recall|mistakes?\b|Genauigkeit|Fehlerrate|准确率|指标|정확도"
    ),
}
_CUES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS.items())
_CLAIM = re.compile(
    r"(?:out|under)perform|superior|state[- ]of[- ]the[- ]art (?:performance|results)|(?:results?|experiments?"
    r"|figure|table|analys[ie]s|we|it|this|that) (?:\w+ )?(?:shows?|showed|notices?|demonstrates?|indicates?"
    r"|suggests?|implies|confirms?|reveal(?:s|ed)?|validates?|illustrates?|summari[sz]es?|observed?|observes|finds?"
    r"|found|concludes?|witness|hypothesi[sz]e|believe|conjecture|expect)\b|significantly (?:better|higher|worse"
    r"|improves?|faster)|surprising|interestingly|notably|likely due|(?:achieve|attain|yield|obtain|exhibit|improve"
    r"|boost|increase|decrease|reduce|drop)(?:s|d|ed)? (?:\w+ ){0,3}(?:by|best|better|higher|lower|comparable"
    r"|competitive|strong|slight|gains?|accuracy|performance)\b|promising|future work|remains? (?:an )?open"
    r"|to (?:the best of )?our knowledge|(?:worse|better|higher|lower|larger|smaller|faster|slower) than"
    r"|attract(?:s|ed)|challenging|has been (?:widely|extensively)|recent(?:ly)? (?:work|studies|advances)"
    r"|existing stud|thank\b|supported by|\b(?:demonstrat(?:e|es|ed|ing)|suggesting|indicating|highlighting"
    r"|showcas\w+|prov(?:es?|ing) that|tends? to|varied|remained|effectiveness (?:of|in)|(?:positively"
    r"|negatively) affects?|perform(?:s|ed)? (?:above|below|well|poorly|similar\w*|on par))\b|(?:visible|seen"
    r"|depicted|evident) (?:in|from) (?:the |our )?(?:results?|tables?|figures?)|it is (?:important|interesting"
    r"|clear|worth|well)|(?:key|following) observations?|this (?:aligns|means)|may be (?:due|because)|in bold"
    r"|bold numbers|(?:results?|scores?|details?|settings?|proofs?|curves?|comparisons?"
    r"|discussion) (?:[\w ]{1,30} )?(?:are|is|can be) (?:shown|reported|presented|given|listed|provided"
    r"|summari[sz]ed|found|included|deferred|in [A-Z])|(?:present|report|provide|show)s? (?:the |our |more "
    r"|additional |detailed |full |further )*(?:results|details)",
    re.IGNORECASE,
)
_PROVEN = re.compile(
    r"\b(?:Lemma|Theorem|Corollary|Proposition|Proof|Assumption|Q\.E\.D|w\.l\.o\.g|Beweis|Satz|Korollar)\b"
    r"|it follows that|we have that|completes? the proof|证明"
)
_OF_AUTHORS = re.compile(
    r"equal contribution|contributed equally|corresponding author|correspondence (?:to\b|should)|\w@[\w-]+(?:\.[a-z]{2,})+\b"
    r"|\b(?:work|research) (?:was |were )?(?:done|performed|conducted|carried out) (?:while|when|during)\b|\bare grateful"
    r"|(?:supported|funded|sponsored) (?:in part |partially )?by (?:the|an?|grants?)\b|\bgrants? (?:no|number|agreement)"
    r"|permission to (?:make|copy|reproduce)|copyright (?:©|held|is held|by|\(c\)|[12][0-9]{3})|©|all rights reserved"
    r"|\bwe (?:would like to )?thank\b|arXiv:[0-9]|authors? (?:declares?|contributed)|(?:University|Department) of\b"
    r"|gleichen Teilen|gefördert (?:von|durch)|contribution égale|financé par|financiado por|通[讯信]作者|同等贡献|资助|資助"
    r"|교신저자|責任著者",
    re.IGNORECASE,
)
_DEED = (
    r"use|utili[sz]e|employ|adopt|apply|train|pre-?train|re-?train|fine-?tune|tune|set|fix|compute|calculate"
    r"|evaluate|assess|measure|report|test|sample|draw|select|choose|pick|initiali[sz]e|update|mini?mi[sz]e"
    r"|maximi[sz]e|optimi[sz]e|add|append|define|denote|construct|build|create|generate|split|partition|divide"
    r"|include|implement|run|repeat|perform|conduct|collect|gather|remove|filter|normali[sz]e|assign|obtain|feed"
    r"|take|encode|parameteri[sz]e|freeze|compare|vary|sweep|search|replace|combine|concatenate|predict|estimate"
    r"|design|propose|introduce|model|formulate|learn|solve|extract|parse|store|record|rank|sort|mask|augment"
    r"|average|consider"
)
_DONE = re.compile(
    rf"\b(?:we|to|and|then|can|will|by) (?:\w+ly |then |also |first |only )?(?:{_DEED})\b|^(?:{_DEED})s?\b"
    r"|\b(?:is|are|was|were|be|been) (?:\w+ly |then |also |first |only |both )?(?:used|set|built|chosen|drawn|run"
    r"|fed|taken|given|kept|split"
    r"|defined|computed|\w{3,}(?:ed|zed))\b|\b(?:consists? of|composed of|followed by|contains?|takes?|outputs?"
    r"|returns?)\b"
    r"|\b(?:set to|using (?:the|an?)|at the end of|parameterized by)\b"
    r"|[=∈]|\\in\b|\b[0-9][0-9.,]* (?:epochs|steps|layers|iterations|examples|samples|seeds|runs|tasks|heads|units"
    r"|points|trials)\b"
    r"|verwende|berechne|trainier|definier|gegeben|setze|使用|采用|训练|定义|计算|设置|设为|选择|采样|输入|输出|사용|학습",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_FEWEST_WORDS, _FEWEST_LETTERS, _MOST_NUMBERS, _MOST_REPEATED = 3, 0.5, 0.4, 0.5


def asks_for_code(sentence: str, *, loosely: bool = False) -> bool:
    """Whether a sentence says what is done; `loosely`: or what there is. What praises, proves or thanks asks for nothing."""
    words, parts = _LETTERS.findall(sentence), sentence.split()
    counted = sum(any(map(str.isdigit, part)) for part in parts)
    if counted > _MOST_NUMBERS * len(parts) or len(set(parts)) < _MOST_REPEATED * len(parts):
        # mostly numbers, or the same words again and again: the labels of a picture
        return False
    if len(words) < _FEWEST_WORDS or sum(map(len, words)) < _FEWEST_LETTERS * len(sentence.replace(" ", "")):
        return False
    if _PROVEN.search(sentence) or _CLAIM.search(sentence) or _OF_AUTHORS.search(sentence):
        return False
    return loosely or bool(_DONE.search(sentence))


def kind_of_statement(text: str, section_kind: str) -> str:
    """The kind of requirement that a statement is, by its words, else by the kind of section it stands in."""
    for kind, cue in _CUES:
        if cue.search(text):
            return kind
    return "experiment" if section_kind == "experiment" else "model"
