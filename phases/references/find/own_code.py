"""Decide from the words around a link whether a repository is the paper's own code, or code that the paper builds on.

Both errors cost: own code that is shown makes the reproduction worthless, and the code that a paper builds on helps most.
`own_reason` has the rules. `words` are the sentence up to the link, without what belongs to an earlier link in it; of a
footnote with nothing but a link, the sentence up to its mark. Other languages than English are known by single words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from phases.references.find.authors import surname_of
from phases.references.find.text import letters_of, shorten_text

_FLAGS = re.VERBOSE | re.IGNORECASE
_CODE = (
    r"(?:(?:source\s?-?|quell|programm)?codes?|code\s?-?base|impl[ée]mentations?|repositor(?:y|ies)|scripts?"
    r"|quelltext|implementierung(?:en)?|programme?|implementaci[óo]n|c[óo]digos?)"
)
_WIDE_CODE = r"(?:代码|代碼|源码|源碼|程序|实现|开源|コード|実装|코드|구현(?!하)|소프트웨어)"
_OUR_CODE = re.compile(
    rf"""\b(?:
      (?:our|unser\w*|notre|nos|nuestr[oa]s?)\s(?:[\w*+-]+\s){{0,6}}?(?:{_CODE}|model\sweights|software|package|toolkit|library)\b
    | our\s[\w*+ -]{{1,50}}:\s*$
    | (?:{_CODE}|software)\s(?:[\w,]+\s){{0,5}}(?:we|our|this\s(?:paper|work|article|study)|(?:dieser|vorliegenden)\sarbeit)\b
    | {_CODE}\s(?:and\s\w+\s)?(?:to|for)\s(?:reproduc|replicat)\w+\s(?:\w+\s){{0,3}}
          (?:experiments?|results?|figures?|tables?|paper)\b
    | we\s(?:(?:also|will|have|plan\sto|then|\w+ly)\s){{0,3}}(?:releas|open[\s-]?sourc|publish|provid|shar|ma[dk]e)\w*
          \s(?:[^.;]{{0,80}}\s)?(?:{_CODE}|available|publicly|it\b)
    | (?:wir\sveröffentlichen|nous\spublions|publicamos)\s(?:[\w’'à-]+\s){{0,5}}{_CODE}\b
    ) | (?:我们|本文|本研究|我々の|本論文の)[^，。；,;]{{0,16}}?{_WIDE_CODE}
      | (?:우리|저희|본\s?논문)의?\s?(?:\S{{1,12}}\s){{0,3}}?{_WIDE_CODE}""",
    _FLAGS,
)
_AVAILABLE = re.compile(
    rf"""\b{_CODE}\b[^.;]{{0,60}}\b(?:available|found|released|accessible|hosted|provided|published|at|in|on|see|here|unter|verfügbar
          |disponible)\b
       | \b(?:{_CODE}|github)\s*[:=]\s*\W{{0,3}}$ | \bopen[\s-]?source[d]?\b[^.;]{{0,60}}\b(?:at|on|in|under)\b
       | {_WIDE_CODE}[^。]{{0,30}}(?:https?|github|见|在|：|:)""",
    _FLAGS,
)
_GIVEN_AWAY = re.compile(
    r"\b(?:is|are|be|been|publicly|freely|openly)\s(?:\w+\s){0,2}(?:available|released|open[\s-]?sourced?|hosted|found)\b"
    r"|\bwe\s(?:\w+\s){0,2}(?:release|open[\s-]?source|publish|share|provide)d?\b|\b(?:disponible|verfügbar)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\W{0,4}(?:(?:the|our|source|project|official|open)\s){0,2}(?:code|implementation|repository|github)"
    r"(?:\s(?:page|repository|repo|available|here))?\W{0,4}",
    re.IGNORECASE,
)
_USE = re.compile(
    r"""(?<!to\s)\b(?:
      uses? | using | used\s(?!to\b|in\b|for\b|by\sus\b) | re-?us(?:e[sd]?|ing) | rel(?:y|ies|ied|ying)\s(?:\w+ly\s)?(?:up)?on
    | follow(?:s|ed|ing)? | extends? | extend(?:ed|ing)\s(?:from|the) | modif(?:y|ies|ying) | modified\sfrom
    | (?:is|are)\s(?:an?|the)\s(?:\w+\s){0,2}(?:version|fork|copy|port)\sof | adapt(?:s|ing)? | adapted\s(?:from|to\sthe)
    | code\sfrom | borrow(?:s|ed|ing)? | calls? | runs?\s(?:on|with|through) | leverag\w+ | (?:employ|adopt)(?:s|ed|ing)?
    | utili[sz]\w+ | start(?:s|ed|ing)?\s(?:from|with) | depends?\son | imports? | wraps? | fork(?:s|ed)?\s?(?:of|from)?
    | (?:port(?:s|ed)|taken|inherit(?:s|ed)?|derived)\s(?:of|from) | inspired\sby | (?:based|built|building|builds?)\s(?:up)?on
    | built\s(?:with|around|on\stop) | compar(?:e|es|ed|ing)\s | instead\sof | thanks\sto | outperforms?
    | basier\w+ | bau(?:t|en) | beruh\w+ | verwende\w* | nutz\w+ | folgt | erweitert
    | s['’]appuie\w* | basée?s? | se\sbasan? | utilizan? | extiende
    )\b
    | 使用 | 采用 | 基于 | 参考 | 修改 | 借鉴 | 用い | 基づ | ベース | 改変""",
    _FLAGS,
)
_USE_BEHIND = re.compile(
    r"사용(?!\s?(?:할\s?수|가능))|기반|활용|참고|수정"
    r"|に基づ|を使用|をベース|的基础上|[上中]修改|\bauf(?:baut)?\.?$|\bbasiert\b"
)
"""In languages whose verb follows its object."""
_OF_OTHERS = re.compile(
    rf"""\bet\sal\b | \b(?:their|his|her|whose|authors['’])\s(?:[\w-]+\s){{0,3}}(?:{_CODE})
       | \b(?:original|official)\s(?:\w+\s){{0,2}}(?:authors?|paper|release|{_CODE})
       | \b(?:released|provided|published|made|written|shared|developed|given|maintained)\s(?:\w+\s){{0,2}}by\b(?!\sus\b)
       | \bwe\s(?:\w+\s){{0,3}}(?:use|used(?!\s(?:to|in|for)\b)|adopt|employ|follow|adapt|borrow|take|run|extend|build|compare
            |rely|start|evaluate)\b
       | \bauthors?\s(?:have\s)?(?:made|released|provide|published|open) | \bpeer\sreview | \bdata\s?set\b | \bthird[\s-]party
       | 官方 | 原作者 | 等人 | 公式 | 공식""",
    _FLAGS,
)
_NAMED_OWNER = re.compile(
    rf"\b(?i:{_CODE})\s(?i:of|from|by|von|de|des)\s[A-ZÄÖÜ\[(]|\b[A-Z][\w-]{{1,30}}['’]s?\s(?:[\w-]+\s){{0,3}}(?i:{_CODE}|software|library)\b"
    r"|[\u4e00-\u9fff]{2,4}(?<!我们|本文)(?<!研究|工作|方法|算法|模型)的(?:代码|源码|实现)"
    r"|[\uac00-\ud7a3]{2,4}(?<!우리|저희|논문|연구)의\s(?:코드|구현)"
)
_CITATION = re.compile(
    r"\[[0-9]{1,3}(?:\s?[,–-]\s?[0-9]{1,3}){0,5}\]|\([A-Z][^()]{1,60}\b(?:19|20)[0-9]{2}[a-z]?\)"
    r"|\b(?:et\sal\.?|and\s[A-Z]\w+|[A-Z]\w{3,})\s\((?:19|20)[0-9]{2}"
)
_ASIDE = re.compile(
    r",\s(?:which\s(?:is|are|was|were)\s)?(?:based|built|adapted|derived|forked|modified|extended|written|implemented)\b[^,]{1,120},"
    r"\s(?=(?:is|are|can|will|has|have|may)\b)"
    r"|\s(?:relies\son|uses|extends|follows|builds\s(?:up)?on|is\sbased\son|modifies)\b(?:(?!\b(?:which|whose|that)\b)[^,;]){1,120},?"
    r"\sand\s(?=(?:is|are|can|will|has)\b)",
    re.IGNORECASE,
)
"""An insertion before `is available at`: our code, based on theirs, is available at."""
_BUILDS_ON = re.compile(
    rf"""\b(?:
      (?:our|the|this|all)\s(?:\w+[\s-]){{0,3}}(?:{_CODE}|experiments?|models?|framework|method|system|pipeline)\s(?:\w+\s){{0,2}}
          (?:(?:based|built|builds?)\s(?:up)?on|adapted\sfrom|derived\sfrom|extends?|modif(?:ies|ied\sfrom)|forked\sfrom|borrow)
    | our\s(?:\w+[\s-]){{0,3}}{_CODE}\s(?:\w+\s){{0,2}}(?:follows?|uses?|reuses?|rel(?:ies|y)\son|starts?\sfrom
          |depends\son|wraps?)\b
    | we\s(?:\w+\s){{0,3}}(?:used?|adopt(?:ed)?|adapt(?:ed)?|employ(?:ed)?|follow(?:ed)?|extend(?:ed)?|modif(?:y|ied)|fork(?:ed)?
          |reused?|run|ran|utili[sz]ed?|leveraged?|take|took|borrow(?:ed)?|amend)\s(?:[^.;]{{0,60}}\s)?{_CODE}\b
    | we\s(?:\w+\s){{0,2}}(?:build|built|base)\s(?:[^.;]{{0,40}}\s)?(?:up)?on\b
    | we\s(?:\w+\s){{0,2}}implement(?:ed)?\s[^.;]{{0,80}}\s(?:using|with|in|on\stop\sof|based\son)\b
    | (?:using|use|with|from|on|by)\s(?:the|their|its|an?)\s(?:\w+[\s-]){{0,2}}
          (?:official|public|publicly\savailable|released|original|open[\s-]?source[d]?)\s(?:\w+\s){{0,2}}{_CODE}
    | (?:implemented|implementation)\s(?:\w+\s){{0,4}}(?:using|on\stop\sof|with|based\son)\s
    )""",
    _FLAGS,
)
_ENDING = re.compile(r"[-_.]?(?:official|code|pytorch|torch|tf|jax|release|public|main|paper|py)$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|www\.|git@|(?:github|gitlab|gitee|codeberg|bitbucket)\.)[!-~]{3,300}")
_JOINED = re.compile(r"[\s,;&()]*(?:and|und|et|y|or|with|mirror|和)?[\s,;&()]*")
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"})


class Linked(NamedTuple):
    """A repository's address where the paper gives it, with the words around it."""

    repository: str
    page: int
    sentence: str
    """The sentence, or the footnote, that holds the address."""
    before: str
    """The part of it before the address."""
    early: bool
    """On the first page, in the abstract, or in a footnote of either."""
    after: str = ""
    """The part of it behind the address."""


def own_reason(linked: Linked, outline: Mapping[str, Any]) -> str | None:
    """Return why the repository is the paper's own; None if nothing says so. The first rule that fits decides:

    1. The owner bears an author's name, and the repository the name that the title coins: own.
    2. Between "our code" and the link there is no verb of use, no credit to others and no citation: own.
    3. The words use the code, credit others or cite: not own.
    4. Code is offered there under the name that the title coins: own.
    5. The words offer code, on the first page, in the abstract or from an owner with an author's name: own.
    6. The first page links a repository with the name that the title coins: own.
    """
    quote = f'"{shorten_text(linked.sentence, 160)}"'
    owner, name = linked.repository.split("/")[-2:]
    author, coined = _author_owner(owner, outline), _is_coined(name, outline)
    if author and coined:
        return f"its owner bears the name of the author {author}, and it the name in the paper's title: {quote}"
    words = _ASIDE.sub(" ", _since_last_address(linked.before))
    claim = max((match.start() for match in _OUR_CODE.finditer(words)), default=None)
    if claim is not None and not _is_of_others(words[claim:], linked.after):
        return f"the paper calls it its own: {quote}"
    named = _names_paper(words, outline)
    if _is_of_others(words, linked.after) and not named:
        return None
    available = bool(_AVAILABLE.search(words) or _LABEL.fullmatch(words))
    if (available or _GIVEN_AWAY.search(words)) and (coined or named) and not _is_used_or_cited(words, linked.after):
        return f"it is said to hold the code of what the title names: {quote}"
    if available and linked.early:
        return f"the paper's first page says where its code is: {quote}"
    if available and author:
        return f"its owner bears the name of the author {author}: {quote}"
    if linked.early and coined:
        return f"the first page links it, and it bears the name in the paper's title: {quote}"
    return None


def says_builds_on(sentence: str) -> bool:
    """Return whether a sentence says that the paper's code or experiments build on someone else's code."""
    return _BUILDS_ON.search(sentence) is not None


def _is_of_others(words: str, after: str) -> bool:
    credited = _OF_OTHERS.search(words) or _NAMED_OWNER.search(words)
    return credited is not None or _is_used_or_cited(words, after)


def _is_used_or_cited(words: str, after: str) -> bool:
    return any((_USE.search(words), _USE_BEHIND.search(after), _CITATION.search(words), _CITATION.search(after[:60])))


def _since_last_address(before: str) -> str:
    """Return the words after the previous address of a sentence; all words if `and` joins the two."""
    addresses = list(_ADDRESS.finditer(before))
    if not addresses or _JOINED.fullmatch(before, addresses[-1].end()):
        return before
    return before[addresses[-1].end() :]


def _author_owner(owner: str, outline: Mapping[str, Any]) -> str | None:
    """Return the author whose surname is part of the owner's name."""
    key = letters_of(owner)
    for author in outline.get("authors", ())[:60]:
        for last in (surname_of(author), surname_of(author.lower().translate(_SPELLED_OUT))):
            if len(last) >= 4 and last in key:
                return str(author)
    return None


def _names_paper(words: str, outline: Mapping[str, Any]) -> bool:
    """`The source code of RICE can be found in`, `we release RICE`: whether what is there is a name that the title coins."""
    of = re.search(
        r"\b(?:code|implementation|repository|Code)\s(?:of|for|von|de)\s(?:the\s)?([A-Z][\w+*-]{1,40})", words
    )
    itself = re.search(r"(?:^|\brelease[sd]?\s|\bsource\s|\bpublish\s)([A-Z][\w+*-]{1,40})\b", words)
    return any(match is not None and _is_coined(match.group(1), outline) for match in (of, itself))


def _is_coined(name: str, outline: Mapping[str, Any]) -> bool:
    """Return whether a name is the one that the title gives to the paper's method, and not an everyday word."""
    title = str(outline.get("title") or "")[:500]
    head, colon, _ = title.partition(":")
    key = letters_of(_ENDING.sub("", name)) or letters_of(name)
    if len(key) < 4:
        return False
    words = re.findall(r"[\w+*-]+", title)
    own_words = re.findall(r"[\w+*-]+", head) if colon and len(head.split()) <= 2 else []
    odd = [word for word in words if word[1:] != word[1:].lower() or any(sign.isdigit() for sign in word)]
    if key in {letters_of(word) for word in own_words or (odd if not title.isupper() else [])}:
        return True
    small = [letters_of(word) for word in words]
    joined = ["".join(small[at:end]) for at in range(len(small)) for end in range(at + 2, min(len(small), at + 8) + 1)]
    return len(key) >= 8 and key in joined
