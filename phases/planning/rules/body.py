"""Which sections of a paper say what to build, by their headings, and which only lead to that or stand beside it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phases.readers.heading_patterns import ABSTRACT, REFERENCES, plain_title

Section = dict[str, Any]
_COUNTED = re.compile(r"^(?:第?[0-9一二三四五六七八九十]+[章节節部]?|제?[0-9]+[장절])(?=\D)")
_MORE_ABSTRACTS = "kurzfassung resumo riassunto abstrakt 中文摘要 概要 аннотация executivesummary"
_LEADING_BEGINNINGS = """
introduction einleitung einführung introducción introdução introduzione inleiding 引言 绪论 緒論 前言 导言 はじめに 序論 緒言
서론 머리말 введение relatedwork relatedliterature priorwork previouswork earlierwork literaturereview literaturesurvey
stateoftheart verwandtearbeiten standdertechnik standderforschung travauxconnexes étatdelart trabajosrelacionados
estadodelarte trabalhosrelacionados lavoricorrelati 相关工作 相關工作 相关研究 文献综述 研究现状 関連研究 先行研究 관련연구
관련작업 선행연구
"""
_BESIDE_NAMES = """
authors author authorinformation aboutauthors abouttheauthors authoraddresses authorsaddresses addresses affiliations
correspondence correspondenceto equalcontribution funding contents inhalt sommaire índice indice contenido contenidos sumário
inhoud 目录 目錄 目次 목차 index autoren autorenangaben auteurs autores 作者简介 作者信息 基金项目 著者 저자
"""
_BESIDE_BEGINNINGS = """
acknowledg danksagung remerciements agradecimientos agradecimentos ringraziamenti dankwoord 致谢 致謝 謝辞 감사의글 감사의말
사사 благодарности tableofcontents inhaltsverzeichnis tabledesmatières tabladecontenido listoffigures listoftables
abbildungsverzeichnis tabellenverzeichnis authorcontribution authornote fundingstatement fundinginformation
conflictofinterest conflictsofinterest competinginterest referenceliste
"""
_LEADING_STARTS, _BESIDE_STARTS = tuple(_LEADING_BEGINNINGS.split()), tuple(_BESIDE_BEGINNINGS.split())
_LEADING = frozenset((*ABSTRACT, *_MORE_ABSTRACTS.split()))
_BESIDE = frozenset((*REFERENCES, *_BESIDE_NAMES.split()))
_NOT_BUILT = re.compile(
    r"proofs?\b|theor(?:y|em|etical)|lemma|corollar|convergence (?:of|analysis|guarantee)|guarantee|limitation"
    r"|ethic|impact|related|discussion|conclusion|case stud|qualitative|future work|checklist|licen[cs]e|beweis|证明",
    re.IGNORECASE,
)
_NOT_BUILT_KINDS = frozenset({"references", "front", "related", "conclusion"})
_BACKGROUND = re.compile(r"preliminar|problem|notation|setting", re.IGNORECASE)


def body_of(sections: Sequence[Section], kinds: Mapping[str, str]) -> list[Section]:
    """The sections that may ask for code. `kinds`: the kind of each section, by its id."""

    def asks(section: Section) -> bool:
        title, kind = section["title"], kinds.get(section["id"], "other")
        background = kind == "related" and _BACKGROUND.search(title)
        built = is_named_after_content(title) and not _NOT_BUILT.search(title)
        return built and (kind not in _NOT_BUILT_KINDS or bool(background))

    return _filter_sections(sections, asks)


def read_sections(sections: Sequence[Section]) -> list[Section]:
    """All but references, thanks, notes on authors, and contents."""
    return _filter_sections(sections, lambda section: not _is_beside(section["title"]))


def leading_sections(sections: Sequence[Section]) -> list[Section]:
    """What leads to the body: abstract, introduction, related work."""
    body = {section["id"] for section in _filter_sections(sections, lambda section: not _is_leading(section["title"]))}
    return [section for section in read_sections(sections) if section["id"] not in body]


def is_named_after_content(title: str) -> bool:
    """Whether a heading says what stands under it; those that every paper has do not."""
    return not _is_leading(title) and not _is_beside(title)


def _filter_sections(sections: Sequence[Section], fits: Callable[[Section], bool]) -> list[Section]:
    """The sections that fit; what is under a heading that does not fit does not either."""
    kept: list[Section] = []
    barring: Section | None = None
    for section in sections:
        if barring and not _is_part(section, barring):
            barring = None
        if not barring and not fits(section):
            barring = section
        if not barring:
            kept.append(section)
    return kept


def _is_part(section: Section, whole: Section) -> bool:
    # levels are guessed from the look of a page, numbers are the author's
    if section["number"] and whole["number"]:
        return str(section["number"]).startswith(f"{whole['number']}.")
    return bool(section["level"] > whole["level"])


def _is_leading(title: str) -> bool:
    return _is_one(title, _LEADING, _LEADING_STARTS)


def _is_beside(title: str) -> bool:
    return _is_one(title, _BESIDE, _BESIDE_STARTS)


def _is_one(title: str, names: frozenset[str], beginnings: tuple[str, ...]) -> bool:
    name = _COUNTED.sub("", plain_title(unicodedata.normalize("NFKC", title)))
    return name in names or name.startswith(beginnings)
