"""Split the author list at the beginning of a printed reference into names."""

from __future__ import annotations

import re
from typing import NamedTuple

from phases.references.find.text import letters_of


class Authors(NamedTuple):
    """Names as they are spelled, and the character at which the list ends."""

    names: tuple[str, ...]
    end: int


def authors_in(text: str) -> Authors:
    """Return the authors at the beginning of a tidy reference without label; no names and end 0 if there are none."""
    tokens = tokens_of(text)
    return (
        _chinese_names(text)
        or _semicolon_names(text)
        or _list_authors(text, tokens)
        or _surnames_alone(text, tokens)
        or Authors((), 0)
    )


def surname_of(author: str) -> str:
    """Return the surname of one author in comparable letters, whatever the order of the name."""
    front, comma, _ = author.partition(",")
    words = front.split()
    if not comma and len(words) > 1:
        if words[-1].isupper() and len(words[-1]) <= 4 and not words[0].endswith(".") and len(words[0]) > 1:
            words = words[:-1]  # Bates DM
        while len(words) > 1 and words[-1].strip(".").lower() in SUFFIXES:
            words = words[:-1]
    return letters_of(words[-1]) if words else ""


def _list_authors(text: str, tokens: list[Token]) -> Authors | None:
    """Return a list of names in one style; the later names may have their first names first."""
    for style in (parse_inverted, parse_initials_last, parse_given_first, parse_given_last):
        names: list[str] = []
        place, last, first = 0, False, style
        while (after := first(tokens, place) or _lone_word(tokens, place, names)) is not None:
            names.append(text[tokens[place].start : tokens[after - 1].end])
            after = _behind_suffix(tokens, after)
            place, last, more = _skip_separator(tokens, after, last=last)
            if more == "others" or more == "end":
                return Authors(tuple(names), tokens[place - 1].end if place else 0)
            first = parse_given_first if style is parse_given_last else style
        if names and _may_end(tokens, place, names, last=last, style=style):
            return Authors(tuple(names), tokens[_before_separators(tokens, place) - 1].end)
    return None


def _lone_word(tokens: list[Token], place: int, names: list[str]) -> int | None:
    """Return the end of a single word between commas in a long list of whole names: `Han Zou, Guangyi, Zhang, Hannah Wang`."""
    whole = len(names) >= 3 and all(" " in name and "." not in name.split()[0] for name in names[:3])
    if (
        whole
        and "," not in names[0]
        and place < len(tokens)
        and is_name(tokens[place].text)
        and is_one_of(tokens, place + 1, ",")
    ):
        more = parse_given_first(tokens, place + 2) or parse_given_first(tokens, place + 4)
        return place + 1 if more else None
    return None


def _skip_separator(tokens: list[Token], place: int, *, last: bool) -> tuple[int, bool, str]:
    """Return (place, whether `and` was seen, "more", "others" or "end") after a name."""
    start = place
    comma = is_one_of(tokens, place, ",", ";")
    place += comma
    if is_one_of(tokens, place, "et") and is_one_of(tokens, place + 1, "al"):
        return place + 2 + is_one_of(tokens, place + 2, "."), last, "others"
    joined = place < len(tokens) and tokens[place].text in AND
    place += joined
    if place < len(tokens) and tokens[place].text in ("others", "colleagues", "...", "…"):
        if tokens[place].text in ("...", "…") and not joined:
            place += 1 + (is_one_of(tokens, place + 1, "&", ",") and 1)
            return place, last, "more"
        return place + 1, last, "others"
    if not comma and not joined:
        return start, last, "end"
    return place, last or joined, "more"


def _before_separators(tokens: list[Token], place: int) -> int:
    """Return the place before trailing separators."""
    while place > 0 and tokens[place - 1].text in (",", ";", *AND):
        place -= 1
    return place


def _may_end(tokens: list[Token], place: int, names: list[str], *, last: bool, style: object) -> bool:
    """Return whether the list may stop at a comma: before a quoted title or a year, or in an unambiguous style."""
    if place >= len(tokens):
        return False
    token = tokens[place]
    if (
        token.text in "\"“„”«'‘`("
        or re.fullmatch(r"(?:1[6-9]|20)[0-9]{2}[a-z]?", token.text)
        or token.text.lower() in EDITORS
    ):
        return True
    if style in (parse_inverted, parse_initials_last):
        return True
    has_initials = any(re.match(r"[^\W\d_]\.", name) for name in names)
    return style is parse_given_first and (last or has_initials) and tokens[place - 1].text == ","


def _surnames_alone(text: str, tokens: list[Token]) -> Authors | None:
    """`Vinyals & Kaiser, Koo, and Hinton.`: nothing but names, with `and` before the last one."""
    names: list[str] = []
    start, joined = 0, False
    for at, token in enumerate(tokens[:60]):
        if token.text in (",", *AND, "."):
            if at > start:
                names.append(text[tokens[start].start : tokens[at - 1].end])
            if token.text == ".":
                done = joined and len(names) >= 2 and not is_initial(tokens[at - 1].text)
                return Authors(tuple(names), tokens[at - 1].end) if done else None
            start, joined = at + 1, joined or token.text in AND
        elif not is_name(token.text) or at - start > 3:
            return None
    return None


_DIVIDED = re.compile(
    r"[^\W\d_][^\d;,.:()\"“]{0,40},\s[^\W\d_][^\d;,:()\"“]{1,40}(?:\s?;\s[^\W\d_][^\d;,.:()\"“]{0,40},\s[^\W\d_][^\d;,:()\"“]{1,40}){1,60}(?=\s\(|:)"
)


def _semicolon_names(text: str) -> Authors | None:
    """`Weiß, Anna; Schön, Bernd (2020)`: whole names, of which each holds a comma."""
    match = _DIVIDED.match(text)
    return Authors(tuple(name.strip() for name in match.group().split(";")), match.end()) if match else None


_HAN = re.compile(
    r"[\u3400-\u9fff\uac00-\ud7a3]{2,4}(?:\s?[,，、;；]\s?[\u3400-\u9fff\uac00-\ud7a3]{2,4}){0,30}(?:\s?[,，、]?\s?等)?(?=\s?[.．。:：(（]|\s?[,，]\s?[\"“「『])"
)


def _chinese_names(text: str) -> Authors | None:
    """`崔添翼, 王刚.`: names of two to four signs."""
    match = _HAN.match(text)
    if not match:
        return None
    names = [name.strip() for name in re.split(r"[,，、;；]", match.group()) if name.strip() not in ("等", "")]
    return Authors(tuple(name.removesuffix("等").strip() for name in names), match.end())


def _behind_suffix(tokens: list[Token], place: int) -> int:
    """Return the place after `, Jr.` or `III`."""
    at = place + (is_one_of(tokens, place, ",") and 1)
    if at < len(tokens) and tokens[at].text.lower() in SUFFIXES:
        return at + 1 + (is_one_of(tokens, at + 1, ".") and is_one_of(tokens, at + 2, ",", "&", "and") and 1)
    return place


_TOKEN = re.compile(r"[^\W_][\w'’ʼ`´‐-]*|\.\.\.|[^\w\s]|_")
AND = frozenset({"and", "&", "und", "et", "y"})
SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
EDITORS = frozenset({"eds", "ed", "editors", "editor", "hrsg", "hg"})
_PARTICLES = frozenset(
    {
        "af", "al", "ap", "auf", "bin", "da", "das", "de", "degli", "del", "della", "den", "der", "des", "di", "do", "dos",
        "du", "e", "el", "ibn", "la", "las", "le", "los", "op", "tau", "te", "ten", "ter", "van", "vom", "von", "y", "zu",
        "zum", "zur",
    }
)  # fmt: skip
_VENUE_WORDS = frozenset(
    {"in", "proceedings", "proc", "advances", "arxiv", "http", "https", "url", "doi", "available", "corr"}
)
_MOST_TOKENS = 8000


class Token(NamedTuple):
    """A word or a sign, with its position."""

    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Return the words and signs of a reference."""
    return [Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)][:_MOST_TOKENS]


def parse_inverted(tokens: list[Token], place: int) -> int | None:
    """`van Stokkum, I. H. M.`"""
    comma = _skip_words(tokens, place, 4)
    if comma == place or not is_one_of(tokens, comma, ","):
        return None
    after, dots = _skip_initials(tokens, comma + 1)
    if after == comma + 1:
        return None
    if not dots and not (after >= len(tokens) or tokens[after].text in (",", ".", "(", ":", ";", *AND)):
        return None
    particle = after
    while particle < len(tokens) and tokens[particle].text in _PARTICLES - {"e", "la", "al", "y"}:
        particle += 1  # Beethoven, L. van
    return particle if particle < len(tokens) and tokens[particle].text in (",", *AND, ".", "(") else after


def parse_initials_last(tokens: list[Token], place: int) -> int | None:
    """`van Stokkum IHM`"""
    for after in range(place + 2, min(place + 5, len(tokens))):
        text = tokens[after - 1].text
        if text.isalpha() and text.isupper() and len(text) <= 4:
            named = all(is_name(token.text) or token.text in _PARTICLES for token in tokens[place : after - 1])
            surname_is_word = any(
                len(token.text) > 1 and not token.text.isupper() for token in tokens[place : after - 1]
            )
            follows = tokens[after].text in (",", "(", ":", ";", *AND) or (
                is_one_of(tokens, after, ".") and not _is_middle(tokens, after)
            )
            return after if named and surname_is_word and follows and tokens[place].text not in AND else None
    return None


def parse_given_first(tokens: list[Token], place: int) -> int | None:
    """`Geoffrey E. Hinton`, `J.-Y. Zhu`, `van der Maaten, Laurens` without its comma."""
    at, words, given = place, 0, 0
    while at < len(tokens) and at - place < 16:
        text = tokens[at].text
        if is_initial(text) and is_one_of(tokens, at + 1, "."):
            if words >= 2 and _ends_a_sentence(tokens, at + 1):
                break
            at, given = at + 2, given + 1
        elif text == "-" and given and at > place and tokens[at - 1].text == ".":
            at += 1
        elif (
            text == "("
            and words
            and is_one_of(tokens, at + 2, ")")
            and is_name(tokens[at + 1].text)
            and at + 3 < len(tokens)
        ):
            at += 3  # Ye (Charlotte) Qi
        elif text == "." and at == place + 1 and 2 <= len(tokens[place].text) <= 3 and _is_glued(tokens, at):
            at, given = at + 1, given + 1  # Ch. Smith
        elif is_name(text) and text.lower() not in _VENUE_WORDS:
            at, words = at + 1, words + 1
        elif (
            (text in _PARTICLES or _is_small_name(tokens, at))
            and at + 1 < len(tokens)
            and (words or given or at == place)
        ):
            at += 1
        else:
            break
    if words == 0 or words + given < 2 or words > 6 or not is_name(tokens[at - 1].text):
        return None
    return (
        at
        if at >= len(tokens) or not _is_word(tokens[at].text) or tokens[at].text in AND or tokens[at].text == "et"
        else None
    )


def parse_given_last(tokens: list[Token], place: int) -> int | None:
    """`Smith, John B.`, of which a list has the first alone; one surname, or a particle and one."""
    comma = place
    while (
        comma < len(tokens) and comma - place < 3 and (is_name(tokens[comma].text) or tokens[comma].text in _PARTICLES)
    ):
        comma += 1
    if place or comma == place or not is_one_of(tokens, comma, ","):
        return None
    at = comma + 1
    while (
        at < len(tokens) and at - comma < 5 and is_name(tokens[at].text) and tokens[at].text.lower() not in _VENUE_WORDS
    ):
        at += 1
        if is_initial(tokens[at - 1].text) and is_one_of(tokens, at, "."):
            at += 1
    ended = at < len(tokens) and (tokens[at].text in (".", ",", "(") or tokens[at].text in AND)
    return at if at > comma + 1 and ended else None


def is_one_of(tokens: list[Token], place: int, *texts: str) -> bool:
    """Return whether the token at a place is one of these texts."""
    return 0 <= place < len(tokens) and tokens[place].text in texts


def is_name(text: str) -> bool:
    """Return whether a word is capitalised like a name and has no digits."""
    return text[:1].isupper() and not any(sign.isdigit() for sign in text)


def is_initial(text: str) -> bool:
    """Return whether a word is a single capital letter."""
    return len(text) == 1 and text.isupper()


def _skip_words(tokens: list[Token], place: int, most: int) -> int:
    at = place
    while at < len(tokens) and at - place < most and _is_word(tokens[at].text) and tokens[at].text not in AND:
        at += 1
    return at


def _skip_initials(tokens: list[Token], place: int) -> tuple[int, bool]:
    """Return the end of a run of initials, and whether they have dots."""
    at, dots = place, False
    while at < len(tokens) and at - place < 14:
        text = tokens[at].text
        short = (len(text) == 1 and text.isalpha() and (text.isupper() or dots)) or (
            len(text) == 2 and text[0].isupper() and text.isalpha()
        )
        if short and is_one_of(tokens, at + 1, "."):
            at, dots = at + 2, True
        elif text == "-" and at > place:
            at += 1
        elif not dots and at == place and text.isalpha() and text.isupper() and len(text) <= 3:
            return at + 1, False
        else:
            break
    return at, dots


def _ends_a_sentence(tokens: list[Token], dot: int) -> bool:
    """Return whether no word follows this dot."""
    return dot + 1 >= len(tokens) or not _is_word(tokens[dot + 1].text)


def _is_glued(tokens: list[Token], dot: int) -> bool:
    return dot + 1 < len(tokens) and is_name(tokens[dot + 1].text) and tokens[dot - 1].text.lower() not in EDITORS


def _is_middle(tokens: list[Token], dot: int) -> bool:
    """Return whether this dot belongs to a middle initial: `Eric B. Baum and`."""
    named = dot + 1 < len(tokens) and is_name(tokens[dot + 1].text)
    return named and (dot + 2 >= len(tokens) or tokens[dot + 2].text in (",", ".", "(", *AND))


def _is_word(text: str) -> bool:
    return text[:1].isalpha()


def _is_small_name(tokens: list[Token], place: int) -> bool:
    """Return whether the token is a lower-case part between two names: Chi min Chan."""
    around = 0 < place < len(tokens) - 1 and is_name(tokens[place - 1].text) and is_name(tokens[place + 1].text)
    return (
        around
        and len(tokens[place].text) <= 4
        and tokens[place].text.isalpha()
        and tokens[place].text not in AND | _VENUE_WORDS
    )
