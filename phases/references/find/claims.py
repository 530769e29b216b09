"""The words by which papers claim code, say whose it is, and where it lies: in seven languages."""

from __future__ import annotations

import re

CODE = r"(?:source\s?-?code|codes?|code\s?-?base|implementations?|repositor(?:y|ies)|scripts?)"
_ROMANCE = (
    r"(?:code(?:\ssource)?|codes|impl[ée]mentation|scripts?|logiciel|dépôt"
    r"|c[óo]digos?(?:\sfuente)?|implementaci[óo]n|repositorio)"
)
_GERMAN = r"(?:\w*code|quelltext|implementierung(?:en)?|software|programme?|skripte?)"
_HAN = r"(?:源代码|代码|源码|代碼|源碼|程序|实现|コード|実装|ソース)"
_HANGUL = r"(?:소스\s?코드|코드|구현(?!하)|소프트웨어|프로그램)"
_FLAGS = re.VERBOSE | re.IGNORECASE

_FIRST_PERSON = re.compile(
    rf"""\b(?:
      our\s(?:[\w*+-]+\s){{0,6}}?(?:{CODE}|model\sweights|software|package|toolkit|library)\b
    | our\s[\w*+ -]{{1,50}}:\s*$
    | (?:{CODE}|software)\s(?:[\w,]+\s){{0,5}}(?:we|our|this\s(?:paper|work|article|study))\b
    | {CODE}\s(?:and\s\w+\s)?(?:to|for)\s(?:reproduc|replicat)\w+\s(?:\w+\s){{0,3}}
          (?:experiments?|results?|figures?|tables?|paper)\b
    | we\s(?:(?:also|will|have|plan\sto|further|hereby|then|fully|freely|\w+ly)\s){{0,3}}
          (?:release|released|open[\s-]?source[d]?|publish|published|share|provide|make|made)
          \s(?:[^.;]{{0,80}}\s)?(?:{CODE}|available|publicly|it\b)
    | (?:unser(?:e[nmrs]?)?|dieser\sarbeit|vorliegenden\sarbeit)\s(?:[\w-]+\s){{0,3}}{_GERMAN}\b
    | {_GERMAN}\s(?:\w+\s){{0,3}}(?:dieser|vorliegenden)\sarbeit\b
    | wir\s(?:veröffentlichen|stellen|teilen)\s(?:[\w-]+\s){{0,5}}{_GERMAN}\b
    | (?:notre|nos|nuestr[oa]s?)\s(?:\w+\s){{0,2}}{_ROMANCE}\b
    | (?:nous\s(?:publions|partageons|rendons|mettons|fournissons|diffusons)
          |publicamos|liberamos|compartimos|ponemos|proporcionamos)\s(?:[\w’'à]+\s){{0,5}}{_ROMANCE}\b
    | {_ROMANCE}\s(?:\w+\s){{0,3}}(?:de\s(?:cet\sarticle|ce\stravail|este\s(?:trabajo|artículo)))\b
    ) | (?:我们|本文|本研究|本工作|本项目|我々の|本論文の|本研究の)[^，。；,;]{{0,16}}?(?:{_HAN}|开源)
      | (?:우리|저희|본\s?(?:논문|연구)|이\s?논문)(?:의|는|은|가|에서)?\s?(?:\S{{1,12}}\s){{0,3}}?{_HANGUL}""",
    _FLAGS,
)
_AVAILABLE = re.compile(
    rf"""(?: \b{CODE}\b[^.;]{{0,60}}\b(?:available|found|released|accessible
             |hosted|provided|published|downloaded|obtained|at|in|on|see|here)\b
         | \b(?:{CODE}|{_GERMAN}|{_ROMANCE}|github|software\srepository)\s*[:=]\s*(?:\W{{0,3}})$
         | \bopen[\s-]?source[d]?\b[^.;]{{0,60}}\b(?:at|on|in|under)\b
         | {_HAN}[^。]{{0,30}}(?:https?|github|见|在|：|:)
         | \b(?:{_GERMAN})\b[^.;]{{0,40}}\b(?:verfügbar|unter|auf)\b
         | \b{_ROMANCE}\b[^.;]{{0,40}}\b(?:disponible|accessible|accesible|trouve|encuentra|publiée?|publicado|hébergé)
         | {_HANGUL}(?:는|은|를|을)?\s*(?:\S{{1,12}}\s){{0,3}}$ )""",
    _FLAGS,
)
_OFFERED = re.compile(
    r"\b(?:is|are|be|been|publicly|freely|openly)\s(?:\w+\s){0,2}(?:available|released|open[\s-]?sourced?|hosted|found)\b"
    r"|\bwe\s(?:\w+\s){0,2}(?:release|open[\s-]?source|publish|share|provide)d?\b|\bdisponible\b|\bverfügbar\b|开源|公開|공개",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\W{0,4}(?:(?:the|our|source|project|official|open)\s){0,2}(?:code|implementation|repository|github)(?:\s(?:page|repository|repo|available|here))?\W{0,4}",
    re.IGNORECASE,
)
_USE = re.compile(
    r"""(?<!to\s)\b(?:
      uses? | using | used\s(?!to\b|in\b|for\b|by\sus\b) | re-?us(?:e|es|ed|ing)
    | rel(?:y|ies|ied|ying)\s(?:heavily\s|mainly\s|largely\s)?(?:up)?on | follow(?:s|ed|ing)?
    | extends? | extend(?:ed|ing)\s(?:from|the)
    | modif(?:y|ies|ying) | modified\sfrom | (?:is|are)\s(?:an?|the)\s(?:\w+\s){0,2}(?:version|fork|copy|port)\sof
    | adapt(?:s|ing)? | adapted\s(?:from|to\sthe) | code\sfrom | borrow(?:s|ed|ing)? | calls? | runs?\s(?:on|with|through)
    | leverag\w+ | employ(?:s|ed|ing)?
    | adopt(?:s|ed|ing)? | utili[sz](?:es?|ed|ing) | start(?:s|ed|ing)?\s(?:from|with) | depends?\son | imports?
    | wraps? | fork(?:s|ed)?\s?(?:of|from)?
    | port(?:s|ed)\s(?:of|from) | taken\sfrom | inherit(?:s|ed)?\sfrom | derived\sfrom | inspired\sby
    | (?:based|building|built)\s(?:up)?on | builds?\s(?:up)?on
    | built\s(?:with|around|on\stop) | compar(?:e|es|ed|ing)\s | instead\sof | thanks\sto | outperforms?
    | basier(?:t|en)\sauf | auf\sbasis\s(?:von|des|der) | (?:baut|bauen|aufbauend)\s(?:\w+\s){0,2}auf | beruh(?:t|en)\sauf
    | verwende(?:t|n) | (?:be)?nutz(?:t|en)
    | folg(?:t|en) | erweiter(?:t|n) | stütz(?:t|en)\ssich | übernommen | angepasst | abgeleitet
    | utilis(?:e|ent|ant|ons) | (?:repose|reposent|s['’]appuie|appuient)\ssur | (?:basée?s?|fondée?s?)\ssur
    | dérivée?s? | repren(?:d|ons|nent) | étend(?:ent)?
    | adaptée?s?\sd | emprunt\w+ | s['’]inspire | modifie
    | usa(?:n|mos)? | utiliza(?:n|mos|do)? | emplea(?:n|mos)? | se\sbasan?\sen | basad[oa]s?\sen | extienden?
    | modifican? | deriva\w* | adaptad[oa]s?\sde | partimos | partes?\sde | sigue
    )\b
    | 使用 | 采用 | 基于 | 沿用 | 参考 | 借鉴 | 修改自 | 改自 | 改编 | 依赖 | 扩展 | 复用 | 利用(?!可能)
    | 调用 | 对比 | 比较 | 用い | 基づ | ベース | 改変 | 拡張 | 参照""",
    _FLAGS,
)
_USE_BEHIND = re.compile(
    r"사용(?!\s?(?:할\s?수|가능))|이용(?!\s?(?:할\s?수|가능))|기반|활용|참고|수정하|수정한|수정했|확장하|확장한|확장했|따르|따랐|빌려|의존|채택|비교"
    r"|を使用|を利用|を用い|に基づ|をベース|を改変|を拡張|を参考|的基础上|(?:上|中)修改|\bauf(?:baut|bauen)?\.?$|\b(?:basiert|beruht|verwendet|benutzt|genutzt)\b"
)
"""In languages whose verb stands behind what it speaks of."""
_OF_OTHERS = re.compile(
    rf"""(?: \bet\sal\b | \b(?:their|his|her|whose)\s(?:[\w-]+\s){{0,3}}(?:{CODE}|repository)
         | \boriginal\s(?:authors?|paper|{CODE}|release)
         | \bofficial\s(?:\w+\s){{0,2}}{CODE} | \b(?:released|provided|published|made|written
             |shared|developed|given|maintained)\s(?:\w+\s){{0,2}}by\b(?!\sus\b)
         | \bwe\s(?:\w+\s){{0,3}}(?:use|used(?!\s(?:to|in|for)\b)|adopt|employ|follow|adapt|borrow|take|run|extend|build
             |compare|rely|start|evaluate)\b
         | \b(?:based|built)\s(?:up)?on\b
         | \badapted\sfrom\b | \bforked\sfrom\b | \bauthors?\s(?:have\s)?(?:made|released|provide|published|open)
         | \bauthors['’]\s | \bpeer\sreview
         | \bdata\s?set\b | \bthird[\s-]party
         | \b(?:leur|su|ihr|ihre[nmrs]?|officielle?|oficial|offizielle[nmrs]?|originale?[nmrs]?)\s(?:{_ROMANCE}|{_GERMAN}|{CODE})
         | \b(?:{_ROMANCE})\s(?:officiel|original|oficial)
         | 官方 | 原作者 | 他们的 | 等人 | 公式(?:実装|コード) | 공식 | 저자들의 | 그들의 )""",
    _FLAGS,
)
_SOMEBODYS = re.compile(
    rf"\b(?i:implementation|code|{_GERMAN}|{_ROMANCE})\s(?i:of|from|by|von|de|des)\s[A-ZÄÖÜ\[(]"
    rf"|\b[A-Z][\w-]{{1,30}}['’]s?\s(?:[\w-]+\s){{0,3}}(?i:{CODE}|software|library)\b"
    r"|[\u4e00-\u9fff]{2,4}(?<!我们)(?<!本文)(?<!研究)(?<!工作)(?<!实验)(?<!训练)(?<!完整)(?<!方法)(?<!算法)(?<!模型)的(?:官方)?(?:代码|源码|实现)"
    r"|[\uac00-\ud7a3]{2,4}(?<!우리)(?<!저희)(?<!논문)(?<!연구)(?<!실험)의\s(?:공식\s)?(?:코드|구현)"
)
_CITES = re.compile(
    r"\[[0-9]{1,3}(?:\s?[,–-]\s?[0-9]{1,3}){0,5}\]|\([A-Z][^()]{1,60}\b(?:19|20)[0-9]{2}[a-z]?\)|\b(?:et\sal\.?|and\s[A-Z]\w+|[A-Z]\w{3,})\s\((?:19|20)[0-9]{2}"
)
_ASIDE = re.compile(
    r",\s(?:which\s(?:is|are|was|were)\s)?(?:based|built|adapted|derived|forked|modified|extended|written|implemented|basierend|aufbauend"
    r"|basée?|basad[oa])\b[^,]{1,120},\s(?=(?:is|are|can|will|has|have|may|ist|est|está)\b)"
    r"|\s(?:relies\son|uses|extends|follows|builds\s(?:up)?on|is\sbased\son|modifies)\b(?:(?!\b(?:which|whose|that)\b)[^,;]){1,120},?\sand\s(?=(?:is|are|can|will|has)\b)"
    r"|基于[^，。]{1,40}，(?=[^，。]{0,6}(?:开源|公开))",
    re.IGNORECASE,
)


def claim_position(words: str) -> int | None:
    """Where the last claim in the first person begins: our code, we release, das ist unser Code; None without one."""
    return max((found.start() for found in _FIRST_PERSON.finditer(words)), default=None)


def says_available(words: str) -> bool:
    """Whether the words before an address say that code lies there, be it whose it may."""
    return _AVAILABLE.search(words) is not None


def is_offered(words: str) -> bool:
    """Whether something is given away there."""
    return _OFFERED.search(words) is not None


def is_label(words: str) -> bool:
    """Whether nothing stands there but the word code."""
    return _BARE.fullmatch(words) is not None


def is_used(before: str, after: str) -> bool:
    """Whether the words around an address, or a claim and an address, speak of using what lies there."""
    return _USE.search(before) is not None or _USE_BEHIND.search(after) is not None


def is_credited_to_others(sentence: str) -> bool:
    """Whether a sentence credits others than its authors with code."""
    return _OF_OTHERS.search(sentence) is not None or _SOMEBODYS.search(sentence) is not None


def has_citation(sentence: str) -> bool:
    """Whether a sentence cites a reference."""
    return _CITES.search(sentence) is not None


def without_asides(before: str) -> str:
    """The words without what is said on the way to `is available at`: our code, based on theirs, is available at."""
    return _ASIDE.sub(" ", before)
