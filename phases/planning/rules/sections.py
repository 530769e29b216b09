"""What each section of a paper is for, by its heading and the headings above it.

Requirements come from sections that are built or set up alone; targets of a reproduction come from results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from phases.planning.rules.sentences import sentences_of
from phases.readers.line_patterns import ABSTRACT, REFERENCES, plain_title

Section = dict[str, Any]
BUILD, SETUP, RESULTS, MIXED, BACKGROUND, PROOF, OTHER = (
    "build", "setup", "results", "mixed", "background", "proof", "other",
)  # fmt: skip
"""MIXED: experiments under one heading, where what is done stands beside what came out."""
_COUNTED = re.compile(r"^(?:第?[0-9一二三四五六七八九十]+[章节節部]?|제?[0-9]+[장절])(?=\D)")
_BACKGROUND_BEGINNINGS = """
introduction einleitung einführung introducción introdução introduzione inleiding 引言 绪论 緒論 前言 导言 はじめに 序論 緒言
서론 머리말 введение relatedwork relatedliterature otherrelatedwork priorwork previouswork earlierwork literaturereview
literaturesurvey background motivation stateoftheart verwandtearbeiten standdertechnik standderforschung travauxconnexes
étatdelart trabajosrelacionados estadodelarte trabalhosrelacionados lavoricorrelati 相关工作 相關工作 相关研究 文献综述 研究现状
関連研究 先行研究 관련연구 관련작업 선행연구 kurzfassung resumo riassunto abstrakt 中文摘要 概要 аннотация executivesummary
"""
_BESIDE_BEGINNINGS = """
authors authorinformation aboutauthors abouttheauthors authoraddresses authorsaddresses addresses affiliations
correspondence equalcontribution funding contents inhalt sommaire índice indice contenido contenidos sumário inhoud 目录 目錄
目次 목차 autoren auteurs autores 作者简介 作者信息 基金项目 著者 저자 acknowledg danksagung remerciements agradecimientos
agradecimentos ringraziamenti dankwoord 致谢 致謝 謝辞 감사의글 감사의말 사사 благодарности tableofcontents
inhaltsverzeichnis tabledesmatières tabladecontenido listoffigures listoftables abbildungsverzeichnis
tabellenverzeichnis authorcontribution authornote conflictofinterest conflictsofinterest competinginterest
referenceliste conclusion concludingremarks schluss fazit 结论 結論 总结 おわりに 결론 conclusión заключение
"""
_BACKGROUND_STARTS, _BESIDE_STARTS = tuple(_BACKGROUND_BEGINNINGS.split()), tuple(_BESIDE_BEGINNINGS.split())


def _rule(role: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return role, re.compile(pattern, re.IGNORECASE)


KINDS_OF_DATA = "real|training|test|validation|raw|trace|evaluation|synthetic|simulated|experimental|benchmark"
"""Before "data", of what a method is run on: "Meta Data" and "Tidy data" are things of the method."""
_SET_UP_PROPER = re.compile(
    r"^addendum\b|set-?ups?\b|settings?\b|\bimplementation\b|\bconfigurations?\b|hyper-?\s?param|^(?:\w+ ){0,2}parameters?\b"
    r"|\bdata ?sets?\b|\bcorpora\b|\bcorpus\b|\bbaselines?\b|compared methods|\bmetrics?\b|\bmethodology$|^training\b"
    r"|training (?:details|data|and)|\bhardware\b|\bprotocol$|\bdetails\b|\btestbed|\benvironments?$|\bGPUs?\b|pre-?processing"
    r"|evaluation (?:setup|procedure|metrics?|protocol)|Versuchsaufbau|实验设置|数据集|実験設定"
    r"|^(?:(?:the|our|test|training|validation|evaluation|models?|tasks|metrics|data|and|,) ?){0,4}\b(?:data|tasks?|benchmarks?"
    r"|prompts?|measures|optimi[sz]er|regulari[sz]ation|language models|数据|データ|Daten|Données|Datos|Dados|Dati)"
    r"(?:$|:| (?:and|for|from|used|collection|generation|preparation|processing|sources?|splits?)\b)",
    re.IGNORECASE,
)
"""One of these makes a section a set-up also in a chapter of results, where what is called by a name is an experiment:

"Test data" and "Benchmarks" are a set-up there, "Trace data", "Andrew benchmark" and a workload are none.
"""
_RULES = (
    _rule(
        OTHER,
        r"\b(?:limitations?|broader impact|impact statement|ethic|societal|future (?:work|direction)|discussions?$"
        r"|checklist|licen[cs]e|reproducibility statement|author contribution|glossary|summary|intuition|open problems?"
        r"|lessons|failure (?:cases|scenarios)|vignette|case stud|visuali[sz]ations?$|shot prompts|prompt"
        r" templates?|(?:sample|example) (?:outputs?|prompts?|generations?)|frequently asked|open (?:questions|issues"
        r"|challenges)|(?:early |practical )?experiences?\b"
        r"|^exercises?$|^(?:our |main |summary of )?contributions?$|(?:non-)?goals$|\badvantages\b|attacks?$"
        r"|threat model|lessons learned"
        r"|other (?:research )?problems"
        r"|availability|(?:impact|ethics?|funding|data|availability|reproducibility) statement$)|^why\b|\?$|^discussion\b",
    ),
    _rule(
        BUILD,
        r"\b(?:algorithms?|methods?|model) and (?:its )?(?:\w+ )?(?:analysis|convergence|theory|complexity|proofs?)",
    ),
    _rule(
        PROOF,
        r"^proofs?\b|\bproofs?$|\bproof of|theor(?:y|em|etical)|\blemma|corollar|convergence\b|guarantees?\b"
        r"|formal statement|correctness|^(?:time|space|computational|asymptotic) complexity\b"
        r"|complexity analysis|Beweis|证明",
    ),
    _rule(
        BACKGROUND,
        r"\b(?:related (?:work|method|research|literature)|prior work|previous work|background|motivation|overview of related"
        r"|comparison (?:to|with) (?:related|existing|prior|other|previous))\b|^challenges\b",
    ),
    _rule(
        RESULTS,
        r"\bresults?$|^results?\b|\banalys[ie]s$|^(?:performance )?comparisons?\b|\bt-SNE\b|(?:operation|access) counts",
    ),
    (SETUP, _SET_UP_PROPER),
    _rule(
        SETUP,
        rf"\bparameters?\b|^(?:the )?data(?:$|:)|\b(?:{KINDS_OF_DATA}) data\b|\bmeasures\b"
        r"|\bdata (?:and|for|from|used|collection|generation|preparation|processing|sources?|splits?)\b"
        r"|\boptimi[sz]er$|\bregulari[sz]ation$|\bbenchmarks?$|\bprompt|\bworkloads?\b|\btasks?$|language models$|reproducib",
    ),
    _rule(
        RESULTS,
        r"\bresults?\b|\bperformance\b|\bcomparisons?\b|\bablations?\b|\befficiency\b|\beffects?\b|\bfindings\b|\banalys[ie]s$"
        r"|\banaly[sz]ing\b|\bimpact of\b|\brobustness\b|\bvariations?$|\bevaluation$"
        r"|\b(?:run|execution)[ -]?times?\b|wall-clock"
        r"|\b(?:space|memory) (?:used|usage|consumption)\b"
        r"|sensitivity|scalability|qualitative|\bquality\b|\bimprov(?:es|ing|ement)\b|\b(?:is|are"
        r"|requires?|gives?|leads?|optimizes|outperforms|generalizes|improves|matters?) "
        r"|结果|結果|결과|Ergebnis",
    ),
    _rule(MIXED, r"\bexperiments?\b|\bexperimental\b|\bempirical\b|\bevaluat|\bsimulations?$|\bstudy$|实验|実験|실험"),
)
_FIXED = {BACKGROUND, PROOF, OTHER}
_OWN_WORDS = re.compile(r"\b(?:preliminar|problem|notation)", re.IGNORECASE)
_NAME_WITH_LETTERS = re.compile(r"\([A-Z][A-Za-z0-9+*-]{1,8}\)$")
"""A method with its abbreviation: "NysNewton-CG (NNCG)"."""
_ANALYSIS = re.compile(r"^(?!.*\bresult).*\banalys[ie]s$", re.IGNORECASE)
"""Under a heading of what is built it is a part of the method."""
_PROVEN = re.compile(
    r"\b(?:invariants?|safety|liveness|lemmas?|theorems?|proofs?|claims?|correctness)\b", re.IGNORECASE
)
"""A heading below an analysis by which it proves."""
_BUILT_AND_ANALYSED = re.compile(
    r"\b(?:algorithms?|methods?|approach|models?|framework|architecture|implementation)\b.*\b(?:and|with)\b",
    re.IGNORECASE,
)
"""A heading that names what is built first, and then what is proven of it: "Algorithms and convergence analysis"."""
_OF_THE_METHOD = re.compile(
    r"^(?:the |our )?(?:(?:problem )?settings?\b(?!s?$)|problem settings?$)|\b(?:of|between) (?:\w+ ){0,2}parameters?\b"
    r"|^parameter (?:estimation|inference|learning|updates?|sharing)\b|^training (?:with|by|via|objectives?|loss(?:es)?)\b",
    re.IGNORECASE,
)
"""Under a heading of what is built: what it works on, what it is trained for, and no setting of an experiment."""
_PROBLEM = re.compile(r"^problem set-?up$", re.IGNORECASE)
"""What is to be solved, in a chapter of its own."""
_IMPLEMENTED = re.compile(
    r"^(?!.*\b(?:details|set-?ups?|settings?|environments?|configurations?|hardware|baselines?|data ?sets?|concerns)\b)"
    r".*\bimplementations?\b",
    re.IGNORECASE,
)
"""How the method is built, where this is no part of an experiment."""
_RUN_ON = re.compile(
    r"\b(?:GHz|RAM|CPUs?|Xeon|Opteron|Ubuntu|GCC|clang|javac|experiments?|epochs?|learning rate|batch size|source code)\b"
    r"|\b(?:NVIDIA|Intel|AMD|Linux|Windows|macOS|Python|Java|CUDA|PyTorch|TensorFlow)\b[^.]{0,20} v?[0-9]|\bversion [0-9]"
    r"|[0-9][ -](?:GPUs?|(?:\w+ )?cores?)\b|[0-9] ?[GT]B\b|\bcompiled (?:with|using|by)\b|\bmachines? with\b|g\+\+"
    r"|实验|実験|실험|Experimente?\b|expériences?\b|Versuche?\b",
    re.IGNORECASE,
)
"""What says on which machine, with which versions and in which experiments the method was run, and not how it is built."""
_STATED = re.compile(r"^(?!.*\bresults?\b).* (?:is|are) ", re.IGNORECASE)
_COMPARED = re.compile(r" (?:is|are) (?:[\w-]*er|more|less|better|worse|due|[\w-]+ly)\b", re.IGNORECASE)
"""A heading that is a sentence, and one that says what came out."""
_ROMAN = re.compile("[IVXL]+")
_ENTRY = re.compile(r"^[0-9]+$")


def roles_of(sections: Sequence[Section], text: str = "") -> dict[str, str]:
    """Section id -> what the section is for. A part of a background, a proof or a conclusion is one too.

    `text`: the paper, by which an implementation that tells of machines alone is known.
    """
    roles: dict[str, str] = {}
    is_after_references = False
    first, around = _first_of_body(sections), sections_around(sections)
    proven = {one["id"] for section in sections if _PROVEN.search(section["title"]) for one in around[section["id"]]}
    for place, section in enumerate(sections):
        over = next((roles[one["id"]] for one in around[section["id"]]), "")
        role = _role_of(section["title"], over)
        if role == RESULTS and section["id"] in proven and _ANALYSIS.search(section["title"]):
            role = PROOF  # an analysis by invariants and lemmas measures nothing
        if role == BUILD and text and _IMPLEMENTED.search(section["title"]) and _tells_of_machines(section, text):
            role = SETUP
        if is_after_references and _ENTRY.match(section["number"] or "") and "." in section["title"]:
            role = OTHER  # an entry of the list of references that was read as a heading
        if place < first and not section["number"] and role not in _FIXED:
            role = BACKGROUND  # the title, the authors and the abstract under one heading
        is_after_references |= _plain_name(section["title"]) in REFERENCES
        roles[section["id"]] = role
    return roles


def _tells_of_machines(section: Section, text: str) -> bool:
    _, _, said = text[section["start"] : section["end"]].strip().partition("\n")
    sentences = [one for one in sentences_of(" ".join(said.split())) if one]
    return 2 * sum(bool(_RUN_ON.search(one)) for one in sentences) > len(sentences)


def sections_around(sections: Sequence[Section]) -> dict[str, tuple[Section, ...]]:
    """Section id -> the sections of which it is a part, the innermost first."""
    found: dict[str, tuple[Section, ...]] = {}
    above: list[Section] = []
    for section in _without_articles(sections):
        while above and not _is_part(section, above[-1]):
            above.pop()
        found[section["id"]] = tuple(reversed(above))
        above.append(section)
    return found


def _without_articles(sections: Sequence[Section]) -> Iterator[Section]:
    """The sections; "A satisfactory model" begins with an article where no B or A.1 comes before another A."""
    for place, section in enumerate(sections):
        following = (str(one["number"] or "") for one in sections[place + 1 :])
        is_article = (
            section["number"] == "A"
            and section["title"][:1].islower()
            and next((number for number in following if re.match("[AB](?:$|\\.)", number)), "A") == "A"
        )
        yield {**section, "number": None} if is_article else section


def _first_of_body(sections: Sequence[Section]) -> int:
    """The place of the introduction, else of section 1; what stands before it is the front of the paper."""
    for place, section in enumerate(sections):
        if _plain_name(section["title"]).startswith("introduction") or section["number"] in ("1", "I"):
            return place
    return 0


def is_named_after_content(title: str) -> bool:
    """Whether a heading says what stands under it; those that every paper has do not."""
    name = _plain_name(title)
    return not (name in ABSTRACT or name in REFERENCES or name.startswith((*_BACKGROUND_STARTS, *_BESIDE_STARTS)))


def _role_of(title: str, over: str) -> str:
    name = _plain_name(title)
    if over == BACKGROUND and _OWN_WORDS.search(title):
        return BUILD
    if over in _FIXED:
        return over
    if name in REFERENCES or name.startswith(_BESIDE_STARTS):
        return OTHER
    if name in ABSTRACT or name.startswith(_BACKGROUND_STARTS):
        return BACKGROUND
    found = next((role for role, pattern in _RULES if pattern.search(title)), "")
    if not found and _NAME_WITH_LETTERS.search(title):
        return BUILD
    if found in (PROOF, RESULTS) and _BUILT_AND_ANALYSED.search(title):
        return BUILD
    if found == SETUP and over in ("", BUILD) and (_IMPLEMENTED.search(title) or _PROBLEM.search(title)):
        return BUILD
    if over == BUILD and (
        (found == RESULTS and _ANALYSIS.search(title)) or (found == SETUP and _OF_THE_METHOD.search(title))
    ):
        return BUILD
    if over in (BUILD, SETUP) and found == RESULTS and _STATED.search(title) and not _COMPARED.search(title):
        found = ""  # "Column headers are values" is a case that the method meets
    if over == RESULTS and found not in _FIXED and not (found == SETUP and _SET_UP_PROPER.search(title)):
        return RESULTS
    if over == MIXED and not found:
        return MIXED
    if over == SETUP and found in ("", MIXED):
        return SETUP
    return found or BUILD


def _is_part(section: Section, whole: Section) -> bool:
    # levels are guessed from the look of a page, numbers are the author's
    if section["number"] and whole["number"]:
        if _ROMAN.fullmatch(whole["number"]) and re.fullmatch("[A-Z]", section["number"]):
            return bool(section["level"] > whole["level"])  # "C" is a part of "III"
        return str(section["number"]).startswith(f"{whole['number']}.")
    return bool(section["level"] > whole["level"])


def _plain_name(title: str) -> str:
    return _COUNTED.sub("", plain_title(unicodedata.normalize("NFKC", title)))
