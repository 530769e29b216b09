"""The characters that LaTeX writes with commands: accents, letters, quotes, dashes, signs."""

from __future__ import annotations

import unicodedata

_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
    "b": "\u0331", "t": "\u0361",
}  # fmt: skip
ACCENTS = {f"\\{name}": mark for name, mark in _ACCENTS.items()}

SYMBOLS = {
    "\\ss": "ß", "\\o": "ø", "\\O": "Ø", "\\l": "ł", "\\L": "Ł", "\\ae": "æ", "\\AE": "Æ", "\\oe": "œ", "\\OE": "Œ",
    "\\aa": "å", "\\AA": "Å", "\\i": "ı", "\\j": "ȷ", "\\dh": "ð", "\\th": "þ", "\\dj": "đ", "\\DJ": "Đ", "\\S": "§",
    "\\P": "¶", "\\pounds": "£", "\\copyright": "©", "\\textcopyright": "©", "\\dag": "†",
    "\\ddag": "‡", "\\textdagger": "†", "\\dots": "…", "\\ldots": "…", "\\textellipsis": "…", "\\textbullet": "•",
    "\\textendash": "–", "\\textemdash": "—", "\\textquotedblleft": "“", "\\textquotedblright": "”", "\\textdegree": "°",
    "\\textquoteleft": "‘", "\\textquoteright": "’", "\\textasciitilde": "~", "\\textasciicircum": "^", "\\euro": "€",
    "\\textbackslash": "\\", "\\textbar": "|", "\\textless": "<", "\\textgreater": ">",
    "\\textbraceleft": "{", "\\textbraceright": "}", "\\texttrademark": "™", "\\textmu": "µ", "\\texttimes": "×",
    "\\guillemotleft": "«", "\\guillemotright": "»", "\\LaTeX": "LaTeX", "\\TeX": "TeX", "\\BibTeX": "BibTeX",
    "\\checkmark": "✓", "\\cmark": "✓", "\\xmark": "✗", "\\ding": "", "\\onedot": ".", "\\textrightarrow": "→",
    "\\textregistered": "®", "\\lq": "‘", "\\rq": "’", "\\slash": "/", "\\newblock": " ", "\\quad": " ", "\\qquad": " ",
    "\\enspace": " ", "\\enskip": " ", "\\thinspace": " ",
    "\\bibnamedelima": " ", "\\bibnamedelimb": " ", "\\bibinitperiod": ".", "\\space": " ", "\\hfill": " ", "\\newline": " ",
    "\\linebreak": " ", "\\tabularnewline": "\\\\", "\\textunderscore": "_", "\\today": "", "\\lbrack": "[",
    "\\rbrack": "]", "\\textvisiblespace": "␣", "\\textexclamdown": "¡", "\\textquestiondown": "¿",
    "\\%": "%", "\\&": "&", "\\_": "_", "\\#": "#", "\\{": "{", "\\}": "}", "\\$": "\\$", "\\ ": " ", "\\,": " ",
    "\\;": " ", "\\:": " ", "\\>": " ", "\\!": "", "\\/": "", "\\-": "", "\\@": "", "\\\n": " ",
}  # fmt: skip


def accent_letter(command: str, letters: str) -> str:
    """The letter under an accent: `\\'` and `e` give é."""
    base = {"ı": "i", "ȷ": "j"}.get(letters[:1], letters[:1])
    return unicodedata.normalize("NFC", base + ACCENTS[command]) + letters[1:] if base.strip() else letters


def typeset(text: str) -> str:
    """Quotes and dashes as a printer sets them."""
    if "-" in text:
        text = text.replace("---", "—").replace("--", "–")
    if "`" in text or "'" in text:
        text = text.replace("``", "“").replace("''", "”").replace("`", "‘").replace("'", "’")
    return text
