"""Normalize the sources that users name: paths, addresses and arXiv identifiers in all their spellings."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LONGEST = 2000
_ID = re.compile(
    r"(?:(?P<month>[0-9]{4})\.(?P<number>[0-9]{4,5})"
    r"|(?P<archive>[a-z][a-z-]{1,8})(?:\.[a-z][a-z-]{1,9})?/(?P<old_month>[0-9]{4})(?P<old_number>[0-9]{3}))"
    r"(?:v(?P<version>[1-9][0-9]{0,2}))?",
    re.IGNORECASE,
)
_WRITTEN = re.compile(r"(?:arxiv ?: ?)?(?P<id>[^ \[]+)(?: ?\[[a-z.-]{2,20}\])?", re.IGNORECASE)
_DOI = re.compile(
    r"(?:https?://(?:www\.)?(?:dx\.)?doi\.org/|doi: ?)?10\.48550/arxiv\.(?P<id>[^?#]+?)/?(?:[?#]\S*)?", re.IGNORECASE
)
_ADDRESS = re.compile(
    r"(?:https?://)?(?:www\.)?(?:"
    r"(?:(?:export|browse)\.)?arxiv\.org/(?:abs|pdf|html|e-print|src|format|ps)"
    r"|alphaxiv\.org/(?:abs|pdf|html|overview)"
    r"|(?:ar5iv\.labs\.arxiv|ar5iv)\.org/(?:html|abs|pdf)"
    r"|(?:huggingface\.co|hf\.co)/papers"
    r")/(?:arxiv:)?(?P<id>[^?#]+?)(?:\.pdf)?/?(?:[?#]\S*)?",
    re.IGNORECASE,
)
_ARCHIVES = (
    " acc-phys adap-org alg-geom ao-sci astro-ph atom-ph bayes-an chao-dyn chem-ph cmp-lg comp-gas cond-mat cs dg-ga "
    "funct-an gr-qc hep-ex hep-lat hep-ph hep-th math math-ph mtrl-th nlin nucl-ex nucl-th patt-sol physics plasm-ph "
    "q-alg q-bio quant-ph solv-int supr-con "
)
# identifiers with a dot began in April 2007 and grew to five digits in January 2015
_FIRST_OLD, _FIRST_NEW, _FIRST_OF_FIVE = 199107, 200704, 201501


def canonical_origin(origin: str) -> str:
    """Return the absolute path, the unchanged address, or `arXiv:ID`. An existing file is a path, whatever its name."""
    is_address = _SCHEME.match(origin)
    paper = arxiv_id(origin) if is_address or not os.path.lexists(origin) else None
    if paper:
        return f"arXiv:{paper.spelling}"
    return origin if is_address else os.path.abspath(origin)


def is_path(origin: str) -> bool:
    """Return whether a source is a path, existing or not."""
    return os.path.isabs(canonical_origin(origin))


def name_of_origin(origin: str) -> str:
    """Return a short name: of the file, of the last part of an address, or of the paper."""
    if not os.path.lexists(origin) and (paper := arxiv_id(origin)):
        return f"arxiv-{paper.spelling}"
    path = origin.partition("?")[0].partition("#")[0] if "://" in origin else origin
    base = os.path.basename(path.rstrip("/"))
    for ending in (".tar.gz", ".tar.bz2", ".tar.xz"):
        base = base.removesuffix(ending)
    return base.rsplit(".", 1)[0] or base


@dataclass(frozen=True)
class ArxivId:
    """A paper on arXiv by its canonical name (`2401.12345`, `math/0309136`); without a version, the newest one."""

    name: str
    version: int | None = None

    @property
    def spelling(self) -> str:
        """The name with its version, as arXiv prints it."""
        return self.name if self.version is None else f"{self.name}v{self.version}"

    def source_url(self, base: str) -> str:
        """Return the address of the LaTeX source on a server such as `https://export.arxiv.org`."""
        return self._under(base, "e-print")

    def pdf_url(self, base: str) -> str:
        """Return the address of the PDF."""
        return self._under(base, "pdf")

    def html_url(self, base: str) -> str:
        """Return the address of the HTML page that arXiv renders from the source; old papers have none."""
        return self._under(base, "html")

    def _under(self, base: str, kind: str) -> str:
        return f"{base.rstrip('/')}/{kind}/{self.spelling}"


def arxiv_id(text: str) -> ArxivId | None:
    """Parse a text that is as a whole an arXiv identifier, its DOI, or the address of the paper's page; else return None.

    A file name such as `2401.12345.pdf` does not count. arXiv is not asked whether the paper exists.
    """
    # the patterns backtrack, and the source may be a long text
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    for spelling in (_WRITTEN, _DOI, _ADDRESS):
        match = spelling.fullmatch(text)
        found = _ID.fullmatch(match.group("id")) if match else None
        if found:
            return _validate_id(found)
    return None


def _validate_id(found: re.Match[str]) -> ArxivId | None:
    version = int(found["version"]) if found["version"] else None
    if found["month"]:
        return _new_style_id(found["month"], found["number"], version)
    return _old_style_id(found["archive"].lower(), found["old_month"], found["old_number"], version)


def _new_style_id(month: str, number: str, version: int | None) -> ArxivId | None:
    when = 200000 + int(month)
    digits = 5 if when >= _FIRST_OF_FIVE else 4
    if when < _FIRST_NEW or not _is_month(when) or len(number) != digits or not int(number):
        return None
    return ArxivId(f"{month}.{number}", version)


def _old_style_id(archive: str, month: str, number: str, version: int | None) -> ArxivId | None:
    when = int(month) + (190000 if month >= "9000" else 200000)
    known = f" {archive} " in _ARCHIVES and _is_month(when) and _FIRST_OLD <= when < _FIRST_NEW
    # the subject class (math.GT/0309136) is dropped: the number is unique without it
    return ArxivId(f"{archive}/{month}{number}", version) if known and int(number) else None


def _is_month(when: int) -> bool:
    return 1 <= when % 100 <= 12
