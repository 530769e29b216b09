"""Classify the sections of a paper by their headings: built, set up, measured, or none of these."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from phases.readers.line_patterns import ABSTRACT, REFERENCES, plain_title

Section = dict[str, Any]
BUILD, SETUP, RESULTS, MIXED, BACKGROUND, PROOF, OTHER = (
    "build", "setup", "results", "mixed", "background", "proof", "other",
)  # fmt: skip
"""MIXED: experiments where the set-up and the outcome share one heading."""
_BACKGROUND_TEXT = """
introduction einleitung einführung introducción introdução introduzione inleiding 引言 绪论 緒論
前言 导言 はじめに 序論 서론 введение
relatedwork relatedliterature priorwork previouswork literaturereview background motivation stateoftheart
verwandtearbeiten standdertechnik standderforschung travauxconnexes étatdelart trabajosrelacionados 相关工作 相关研究 関連研究
先行研究 관련연구 kurzfassung resumen riassunto 概要 аннотация executivesummary
"""
_OTHER_TEXT = """
authors aboutauthors abouttheauthors affiliations correspondence funding contents inhalt sommaire índice contenido 目录
目次 목차 acknowledg danksagung remerciements agradecimientos 致谢 謝辞 감사의글 благодарности tableofcontents listof
conflictofinterest conflictsofinterest competinginterest conclusion concludingremarks schluss fazit 结论 結論 总结 おわりに 결론
conclusión заключение
"""
_BACKGROUND_TITLES, _OTHER_TITLES = tuple(_BACKGROUND_TEXT.split()), tuple(_OTHER_TEXT.split())
_COUNTED = re.compile(r"^(?:第?[0-9一二三四五六七八九十]+[章节節部]?|제?[0-9]+[장절])(?=\D)")
_RULES = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        (OTHER, (
            r"\b(?:limitations?|broader impact|impact statement|ethic|future (?:work|direction)|checklist|licen[cs]e|glossary"
            r"|summary|lessons|case stud|frequently asked|open (?:questions|issues|problems)|(?:non-)?goals$|attacks?$"
            r"|experiences?|exercises?$|availability|statement$|(?:sample|example) (?:outputs?|prompts?)|prompts?(?: "
            r"templates?| examples?)?$)|\bcontributions?$|^why\b|\?$|^discussion\b|^examples?\b"
        )),
        (BUILD, r"\b(?:algorithms?|methods?|models?|architecture|framework|approach)\b.* and\b"),
        (PROOF, (
            r"\bproofs?\b|theor(?:y|em|etical)|\blemma|corollar|convergence\b|guarantees?\b|correctness|\bcomplexity\b|Beweis"
            r"|证明"
        )),
        (BACKGROUND, (
            r"\b(?:related|prior|previous|existing) (?:work|methods?|research|literature|approach)|\bbackground\b|\bmotivati"
            r"|^challenges\b"
        )),
        (RESULTS, r"\bresults?\b|结果|結果|결과|Ergebnis|\bablations?\b|^(?:performance )?comparisons?\b"),
        (SETUP, (
            r"set-?ups?\b|\bsettings?\b|\bimplementation\b|configuration|hyper-?\s?param|\bparameters?\b|\bdata ?sets?\b"
            r"|\bcorp(?:us|ora)\b|\bbaselines?\b|\bmetrics?\b|\btraining\b|\bhardware\b|\bprotocol$|\bdetails\b|\btestbed"
            r"|\benvironments?\b|pre-?processing|\bworkloads?\b|\btasks?\b|\bbenchmarks?$|^(?:the )?data\b|\b(?:test|training"
            r"|evaluation|synthetic) data\b|\boptimi[sz]er$|Versuchsaufbau|实验设置|数据|実験設定|Daten\b|Données|Datos"
        )),
        (RESULTS, (
            r"\bperformance\b|\befficiency\b|\beffects?\b|\bfindings\b|\banaly[sz]|\bimpact of\b|\brobustness\b|\bevaluation$"
            r"|times?$|sensitivity|scalability|quality\b|\bcosts?$|\b(?:outperforms|improves|leads?|requires?|generali[sz]es"
            r"|matters?) "
        )),
        (MIXED, r"\bexperiment|\bempirical\b|\bevaluat|\bsimulations?$|\bstudy$|实验|実験|실험|Experiment|expérience"),
    )
)  # fmt: skip
_FIXED = (BACKGROUND, PROOF, OTHER)
_PROBLEM = re.compile(r"\b(?:preliminar|problem|notation)", re.IGNORECASE)
"""Background that an implementation builds on."""
_ROMAN = re.compile("[IVXL]+")
_LONGEST_HEADING = 12
_SWALLOWED = re.compile(
    r"(?P<name>\S+(?: \S+){0,7}?[.:]?) (?P<rest>(?:We|The|This|These|In|Our|To|For|It|An?|Each|All|As|When|If|Given|Let|Wir"
    r"|Die|Der|Das) .*)"
)


def split_heading(title: str) -> tuple[str, str]:
    """Return the heading and the paragraph that the text layer joined to it; empty for an ordinary heading."""
    words = title.split()
    has_sentences = bool(re.search(r"[a-z]{3}[.!?] [A-Z]", title)) and len(words) > _LONGEST_HEADING // 2
    if len(words) <= _LONGEST_HEADING and not has_sentences:
        return title, ""
    if match := _SWALLOWED.fullmatch(" ".join(words)):
        return match["name"].rstrip(".:"), match["rest"]
    if has_sentences and (first := re.match(r"(.{3,80}?)[.!?] (?=[A-Z])", title)):
        return (first[1], title[first.end() :]) if len(first[1].split()) <= _LONGEST_HEADING else ("", title)
    return (title, "") if not re.search(r"[.!?]$", title) else ("", title)


def roles_of(sections: Sequence[Section]) -> dict[str, str]:
    """Return section id -> role. Parts of background, proofs or a conclusion share that role."""
    roles: dict[str, str] = {}
    around, first, previous = sections_around(sections), _first_of_body(sections), ""
    for place, section in enumerate(sections):
        name, swallowed = split_heading(section["title"])
        over = next((roles[one["id"]] for one in around[section["id"]]), "")
        # a paragraph that was read as a heading says nothing about its section
        role = (previous or over or BUILD) if swallowed and not name else _role_of(name, over)
        if place < first and not section["number"] and role not in _FIXED:
            role = BACKGROUND  # the title, the authors and the abstract
        roles[section["id"]] = previous = role
    return roles


def sections_around(sections: Sequence[Section]) -> dict[str, tuple[Section, ...]]:
    """Return section id -> the sections that contain it, the innermost first."""
    found: dict[str, tuple[Section, ...]] = {}
    above: list[Section] = []
    lowest = {id(one): min((row["level"] for row in sections[at + 1 :]), default=0) for at, one in enumerate(sections)}
    for section in sections:
        while above and not _is_part(section, above[-1], lowest[id(above[-1])]):
            above.pop()
        found[section["id"]] = tuple(reversed(above))
        above.append(section)
    return found


def is_named_after_content(title: str) -> bool:
    """Return whether a heading names its content, which the headings that every paper has do not."""
    name = _plain_name(title)
    is_common = name in ABSTRACT or name in REFERENCES or name.startswith((*_BACKGROUND_TITLES, *_OTHER_TITLES))
    return not is_common and bool(re.search(r"[^\W\d_]{2}", title))


def _first_of_body(sections: Sequence[Section]) -> int:
    for place, section in enumerate(sections):
        if _plain_name(section["title"]).startswith("introduction") or section["number"] in ("1", "I"):
            return place
    return 0


def _role_of(title: str, over: str) -> str:
    name = _plain_name(title)
    if over == BACKGROUND and _PROBLEM.search(title):
        return BUILD
    if over in _FIXED:
        return over
    if name in REFERENCES or name.startswith(_OTHER_TITLES):
        return OTHER
    if name in ABSTRACT or name.startswith(_BACKGROUND_TITLES):
        return BACKGROUND
    found = next((role for role, pattern in _RULES if pattern.search(title)), "")
    if over == RESULTS and found not in (*_FIXED, SETUP):
        return RESULTS
    if over in (MIXED, SETUP) and found in ("", MIXED):
        return over
    if (
        found == SETUP
        and over == BUILD
        and re.search(r"\b(?:training|implementation|parameters?|settings?)\b", title, re.IGNORECASE)
    ):
        return BUILD
    if found == SETUP and not over and re.fullmatch(r"(?:the |our |\w+ )?implementation", title, re.IGNORECASE):
        return BUILD
    return found or BUILD


def _is_part(section: Section, whole: Section, lowest: int) -> bool:
    """Return whether one section is inside another: levels are guessed from the look of a page, numbers are the author's."""
    number, outer = section["number"], whole["number"]
    if number and outer:
        if _ROMAN.fullmatch(outer) and re.fullmatch("[A-Z]", number):
            return bool(section["level"] > whole["level"])  # "C" is a part of "III"
        return str(number).startswith(f"{outer}.")
    if section["level"] <= whole["level"]:
        return False
    name, swallowed = split_heading(whole["title"])
    is_front = _plain_name(name) in ABSTRACT or _plain_name(name).startswith(_BACKGROUND_TITLES)
    # neither an abstract nor a paragraph contains chapters, and no introduction contains all that follows
    return not (swallowed or _plain_name(name) in ABSTRACT or (is_front and (lowest > whole["level"] or bool(number))))


def _plain_name(title: str) -> str:
    return _COUNTED.sub("", plain_title(unicodedata.normalize("NFKC", title)))
