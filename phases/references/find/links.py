"""Find addresses of git repositories in text, and normalise them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

_TWO_PARTS = frozenset({"github.com", "bitbucket.org", "codeberg.org", "gitee.com"})
_GROUPS = frozenset({"gitlab.com"})
_HUT = "git.sr.ht"
_NO_OWNER = frozenset(
    {
        "about", "account", "advisories", "apps", "blog", "codespaces", "collections", "contact", "copilot",
        "customer-stories", "dashboard", "enterprise", "events", "explore", "features", "groups", "help", "issues",
        "join", "login", "logout", "marketplace", "new", "notifications", "organizations", "orgs", "pricing",
        "pulls", "readme", "resources", "search", "security", "sessions", "settings", "signup", "site", "snippets",
        "solutions", "sponsors", "stars", "team", "topics", "trending", "users", "wiki",
    }
)  # fmt: skip
_NO_GROUP = frozenset((
    "account", "admin", "api", "dashboard", "explore", "groups", "help", "login", "product", "search", "settings", "user",
    "users",
))  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}|-[A-Za-z0-9_.-]{1,99}")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?){1,5}")
_BY_NAME = re.compile(r"(?:ssh://)?git@([A-Za-z0-9.-]{4,100}?)(?::[0-9]{1,5}/|[:/])(.{1,300})", re.DOTALL)
_AFTER = ".,;:!?*'\"`’”»)]}>"
_LONGEST = 500
_PAGES_OF_A_REPOSITORY = frozenset(
    {"tree", "blob", "raw", "src", "issues", "pull", "pulls", "releases", "commit", "commits", "wiki", "-", "tags",
     "archive", "branch", "actions", "discussions"}
)  # fmt: skip
_START = re.compile(
    r"""(?: (?:git\+)? (?:https?|ssh|git) \s?:\s?/\s?/ \s? (?![<>"'`|\\{}])[!-~]   # any address with a scheme ...
          | git@ [a-z0-9]                                                 # ... or the way that git writes one ...
          | (?<![A-Za-z0-9_/@.-]) (?:www\.)? (?: github\. \s? com | gitlab\. \s? com | gitee\. \s? com   # ... or a host alone
                    | bitbucket\. \s? org | codeberg\. \s? org | git\.sr\.ht ) \s? / ) """,
    re.VERBOSE | re.IGNORECASE,
)
_BROKEN_HOST = re.compile(
    r"(?:git\+)?(?:https?|ssh|git)?\s?:?\s?/?\s?/?\s?(?:git@)?(?:www\.\s?)?"
    r"(?:github\.\s?com|gitlab\.\s?com|gitee\.\s?com|bitbucket\.\s?org|codeberg\.\s?org|git\.sr\.ht)(?![A-Za-z0-9_.-])",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[!#-&*-;=?-Z^_a-z~]{1,300}")
"""The signs of an address; scripts without blanks go on right behind it, so any other sign ends it."""
_GAP = re.compile(r"\s{1,2}")
_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "by", "can", "for", "from", "has", "in", "is", "it", "of", "on", "or", "our",
        "that", "the", "this", "to", "und", "was", "we", "were", "which", "will", "with",
    }
)  # fmt: skip


def repository_of(url: str) -> str | None:
    """Return the https address of the repository that an address lies in; None if git cannot clone it."""
    address = url.strip()[:_LONGEST].rstrip(_AFTER)
    if named := _BY_NAME.fullmatch(address.removeprefix("git+")):
        host, path = named.groups()
        return _repository_on(host.lower(), path.split("?")[0].split("#")[0])
    if "://" not in address:
        address = f"https://{address}"
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in ("http", "https", "git", "ssh", "git+https", "git+http", "git+ssh"):
        return None
    try:
        parts = urlsplit(f"https://{rest}")
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if "@" in parts.netloc or port not in (None, 443, 80):
        return None
    return _repository_on(host, parts.path)


def repository_key(repository: str) -> str:
    """Return the key under which two spellings of a repository's address are equal."""
    return repository.casefold()


def is_discussion_page(url: str) -> bool:
    """Return whether an address is an issue, a review or a discussion rather than files of a repository."""
    return re.search(r"/(?:issues|pull|pulls|merge_requests|discussions)(?:/|$)", url[:_LONGEST]) is not None


def links_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the repository addresses in a text with their positions, with line breaks repaired where that is certain."""
    end = 0
    for match in _START.finditer(text):
        if match.start() < end:
            continue
        address, end = _read_address(text, match.start())
        if repository_of(address):
            yield address, match.start()


def _repository_on(host: str, path: str) -> str | None:
    host = host.removeprefix("www.")
    if not _HOST.fullmatch(host):
        return None
    pieces = [unquote(piece) for piece in path.split("/") if piece]
    if host == _HUT:
        known = len(pieces) >= 2 and pieces[0].startswith("~") and _is_name(pieces[0][1:])
        return _build_address(host, pieces[:2]) if known and _is_name(pieces[1]) else None
    if host in _TWO_PARTS:
        return _of_owner(host, pieces[:2])
    if host in _GROUPS or host.startswith(("gitlab.", "git.")):
        return _of_owner(host, _before_pages(pieces))
    return None


def _before_pages(pieces: list[str]) -> list[str]:
    """Return the groups and the name: the path before the first part that is a page of a repository."""
    for index, piece in enumerate(pieces):
        if index >= 2 and piece in _PAGES_OF_A_REPOSITORY:
            return pieces[:index]
    return pieces[:12]


def _of_owner(host: str, pieces: list[str]) -> str | None:
    reserved = _NO_OWNER if host == "github.com" else _NO_GROUP
    if len(pieces) < 2 or pieces[0].lower() in reserved or pieces[0].startswith("-"):
        return None
    return _build_address(host, pieces)


def _build_address(host: str, pieces: list[str]) -> str | None:
    name = pieces[-1].rstrip(_AFTER)
    name = name[:-4] if name.lower().endswith(".git") else name
    whole = [*pieces[:-1], name]
    checked = [piece.removeprefix("~") if host == _HUT else piece for piece in whole]
    return f"https://{host}/{'/'.join(whole)}" if all(map(_is_name, checked)) else None


def _is_name(piece: str) -> bool:
    return _NAME.fullmatch(piece) is not None and piece.strip(".") != ""


def _read_address(text: str, start: int) -> tuple[str, int]:
    """Return an address with line breaks repaired, and the end of its printed form."""
    head = _BROKEN_HOST.match(text, start)
    if head is None:
        piece = _PIECE.match(text, start)
        return (piece.group(), piece.end()) if piece else ("", start)
    address, place = "".join(head.group().split()), head.end()
    while len(address) < _LONGEST:
        piece = _PIECE.match(text, place)
        if piece:
            address, place = address + piece.group(), piece.end()
        follows = _GAP.match(text, place)
        following = _PIECE.match(text, follows.end()) if follows else None
        if not follows or not following or not _goes_on(address, following.group()):
            break
        place = follows.end()
    return address, place


def _goes_on(address: str, following: str) -> bool:
    """Return whether the next word certainly continues an address that was broken here."""
    parts = address.partition("://")[2].split("/") if "://" in address else address.replace(":", "/").split("/")
    bare = following.rstrip(_AFTER)
    if not bare or bare.lower() in _WORDS or not re.match(r"/?[\w.~-]", bare) or "://" in bare:
        return False
    if len(parts) == 1:
        return bare.startswith("/")
    if address.endswith("/"):
        return (len(parts) == 2 and "/" in bare) or (len(parts) == 3 and _is_name(bare.split("/")[0]))
    if len(parts) <= 3 and address.endswith(("-", "_")):
        return len(parts) == 3 or "/" in bare
    return len(parts) == 2 and bare.startswith("/") and len(bare) > 1
