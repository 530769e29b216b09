"""Recognizes texts that are neither a paper nor a requirement: a table, code, a mail, data, hardly any words."""

from __future__ import annotations

import re

_LINES, _LONGEST = 400, 400
"""So much of a text is looked at: lines, and characters of each."""
_LEAST_WORDS = 3
_FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_MAIL = re.compile(
    r"(?:from|to|cc|subject|date|received|message-id|mime-version|return-path|reply-to|delivered-to):\s", re.IGNORECASE
)
_HEADER = re.compile(r"(?:[A-Za-z][A-Za-z0-9-]{1,40}:|[ \t])")
_CODE = re.compile(
    r"(?:(?:async )?def \w+\(|class \w+[(:{ ]?[^.]*[:{]$|import [\w.{*]+[\w., {}*;\"'@/-]*$|from [\w.]+ import "
    r"|#\s?include\s?[<\"]|(?:public|private|protected|static|const|let|var|fn|func|function|package|using|namespace|struct|template|typedef)\b"
    r"[^.]*[;{(=]?$"
    r"|return\b.*;?$|(?:if|for|while|elif|switch|catch)\b.*[:{]$|(?:else|try|finally)\s?[:{]$|@\w+(?:\(.*\))?$"
    r"|[}\])]+[;,]?$|(?:raise|assert|yield|await|with|except)\b.*[:)\w]$"
    r"|[\w.\[\]\"']+(?::\s?[\w.\[\], |]+)?\s?(?:[+*/-]|<-)?=\s?[^=].*$|[\w.]+\(.*\);?$|.*[()=\[\]<>{}].*[;{]$|//|/\*|\"\"\")"
)
_PROSE = re.compile(r"[.!?][\"')\]]?$")
_NUMBER = re.compile(r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?%?|")


def recognized(text: str) -> str | None:
    """What a text is that nobody can plan from, in words; None for a paper or a requirement."""
    start = text.lstrip("\ufeff").lstrip()
    lines = [line[:_LONGEST] for line in text.splitlines()[:_LINES] if line.strip()]
    if start.startswith(("<?xml", "<svg")):
        return "an SVG picture" if "<svg" in start[:2000] else "XML"
    if _is_json(start):
        return "JSON"
    if _is_mail(start):
        return "a mail"
    if start.startswith("#!"):
        return "a script"
    if _is_table(lines):
        return "a table (CSV)"
    if _is_code(text):
        return "source code"
    return None


def few_words(text: str) -> str | None:
    """How few words a text has, where nothing can be planned from them. Not every script has spaces between them."""
    words = re.findall(r"[^\W\d_]+", text[:4000])
    enough = len(words) >= _LEAST_WORDS or not "".join(words).isascii()
    return None if enough else f"a text of {len(words)} word{'' if len(words) == 1 else 's'}"


def _is_json(start: str) -> bool:
    return bool(
        re.match(r'\{\s*(?:"[^"\n]{0,200}"\s*:|\})|\[\s*(?:[\[{"]|-?\d[\d.\s-]{0,200},[\d.,\s-]{0,2000}\])', start)
    )


def _is_mail(start: str) -> bool:
    """Three headers of a mail at least, and nothing but headers before the first empty line."""
    head = start.partition("\n\n")[0].splitlines()[:_LINES]
    if head and head[0].startswith("From "):  # as a mailbox begins a mail
        head = head[1:]
    return all(map(_HEADER.match, head)) and sum(bool(_MAIL.match(line)) for line in head) >= 3


def _is_table(lines: list[str]) -> bool:
    """Every line has the same number of the same separator, and what stands between is short."""
    for separator in (",", ";", "\t"):
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=counts.count) if counts else 0
        if len(lines) < 2 or not usual or counts.count(usual) < 0.9 * len(lines):
            continue
        cells = [cell.strip().strip('"') for line in lines for cell in line.split(separator)]
        numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / len(cells)
        words = sum(len(cell.split()) for cell in cells) / len(cells)
        prose = sum(bool(_PROSE.search(line)) for line in lines) / len(lines)
        if prose < 0.2 and words <= 4 and (usual >= 2 or numbers >= 0.3) and (len(lines) > 2 or numbers > 0):
            return True
    return False


def _is_code(text: str) -> bool:
    """Most lines look like code, outside of fences: a paper shows code as well."""
    lines = [line.strip()[:_LONGEST] for line in _FENCED.sub("", text).splitlines()[: 3 * _LINES]]
    lines = [line for line in lines if (line and not line.startswith("#")) or line.startswith("#include")]
    code = sum(bool(_CODE.match(line)) and not _PROSE.search(line) for line in lines)
    return code >= 3 and code >= 0.5 * len(lines)
