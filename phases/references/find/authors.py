"""The list of authors at the beginning of a reference: each name, and where the list ends."""

from __future__ import annotations

import re
from typing import NamedTuple

from phases.references.find.names import (
    AND,
    EDITORS,
    SUFFIXES,
    Token,
    is_initial,
    is_name,
    is_one_of,
    parse_given_first,
    parse_given_last,
    parse_initials_last,
    parse_inverted,
    tokens_of,
)
from phases.references.find.text import letters_of


class Authors(NamedTuple):
    """Names as they are spelled, and the character at which the list ends."""

    names: tuple[str, ...]
    end: int


def authors_in(text: str) -> Authors:
    """The authors at the beginning of a tidy reference without its label; no names and 0 where there are none."""
    tokens = tokens_of(text)
    return (
        _chinese_names(text)
        or _semicolon_names(text)
        or _list_authors(text, tokens)
        or _surnames_alone(text, tokens)
        or Authors((), 0)
    )


def surname_of(author: str) -> str:
    """The surname of one author, compared by letters: the last word of it, be the name in whatever order."""
    front, comma, _ = author.partition(",")
    words = front.split()
    if not comma and len(words) > 1:
        if words[-1].isupper() and len(words[-1]) <= 4 and not words[0].endswith(".") and len(words[0]) > 1:
            words = words[:-1]  # Bates DM
        while len(words) > 1 and words[-1].strip(".").lower() in SUFFIXES:
            words = words[:-1]
    return letters_of(words[-1]) if words else ""


def _list_authors(text: str, tokens: list[Token]) -> Authors | None:
    """One name behind another, in the style of the first; the first names of the later ones may come before."""
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
    """One word between commas in a long list of whole names: `Han Zou, Guangyi, Zhang, Hannah Wang`."""
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
    """What follows a name: (place, whether `and` came, more | others | end)."""
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
    """The place before the separators that led to no further name."""
    while place > 0 and tokens[place - 1].text in (",", ";", *AND):
        place -= 1
    return place


def _may_end(tokens: list[Token], place: int, names: list[str], *, last: bool, style: object) -> bool:
    """Whether a list may stop at a comma: where a title in quotes, or a year follows, or its style is beyond doubt."""
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
    """The place behind `, Jr.` or `III`."""
    at = place + (is_one_of(tokens, place, ",") and 1)
    if at < len(tokens) and tokens[at].text.lower() in SUFFIXES:
        return at + 1 + (is_one_of(tokens, at + 1, ".") and is_one_of(tokens, at + 2, ",", "&", "and") and 1)
    return place
