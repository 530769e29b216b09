"""Whether a reader of an HTML page sees what an element holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_DROPPED_ROLES = frozenset(("navigation", "search", "banner", "contentinfo", "dialog", "alert", "menu"))
_NOTES = frozenset(("doc-endnotes", "doc-endnote", "doc-footnote", "doc-footnotes"))
_UNSEEN_CLASSES = frozenset(("sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"))
_LENGTH = re.compile(r"(-?[0-9]{0,9}\.?[0-9]{0,9})(px|pt|em|rem|ex|%|vw|vh)?")
_RGB = re.compile(r"rgba?\(([0-9.]{1,9})[ ,]+([0-9.]{1,9})[ ,]+([0-9.]{1,9})(?:[ ,/]+([0-9.]{1,9})(%?))?\)")
_WHITE, _TINY, _FAR = 250, 2, -900
_LONGEST_STYLE = 4000


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for asking whether a name is one of them."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Visibility:
    """How what an element holds is seen."""

    dropped: bool = False
    """It is no part of the paper: navigation, scripts and the like."""
    gone: str = ""
    """Hidden for good: no element inside can show itself again."""
    unseen: str = ""
    white: bool = False
    tiny: bool = False
    shaded: bool = False

    @property
    def how(self) -> str:
        """How it is hidden; empty if it is seen."""
        white = "white" if self.white and not self.shaded else ""
        return self.gone or self.unseen or white or ("tiny" if self.tiny else "")


def visibility_of(tag: str, attributes: dict[str, str], above: Visibility) -> Visibility:
    """The sight of an element within another. What says nothing of it is seen as that other is."""
    if above.dropped:
        return above
    if tag == "script" and attributes.get("type", "").startswith("math/tex"):
        return above
    # what is dropped is no part of the paper; what is merely unseen is told as hidden text
    role = attributes.get("role", "")
    if tag in _DROPPED or (tag == "aside" and role not in _NOTES) or role in _DROPPED_ROLES:
        return NOT_PART
    classes = frozenset(attributes.get("class", "").split())
    if classes & _DROPPED_CLASSES:
        return NOT_PART
    # what screen readers are spared is decoration, or is said again beside it
    if attributes.get("aria-hidden", "").lower() == "true" and not classes & {"mwe-math-fallback-image-inline"}:
        return above if tag == "img" and "math" in attributes.get("class", "") else NOT_PART
    sight = above
    if "hidden" in attributes or classes & _UNSEEN_CLASSES:
        sight = replace(sight, gone=sight.gone or "invisible")
    if "bgcolor" in attributes:
        sight = replace(sight, shaded=True)
    if tag == "font" and "color" in attributes:
        sight = replace(sight, white=_is_white(attributes["color"].strip().lower()))
    return _apply_style(attributes["style"], sight) if "style" in attributes else sight


def _apply_style(style: str, sight: Visibility) -> Visibility:
    rules = {}
    for rule in style[:_LONGEST_STYLE].lower().split(";"):
        name, _, value = rule.partition(":")
        rules[name.strip()] = value.replace("!important", "").strip()
    background = rules.get("background", "") + rules.get("background-color", "") + rules.get("background-image", "")
    if background and background not in ("none", "transparent", "inherit") and not _is_white(background):
        sight = replace(sight, shaded=True)
    if rules.get("display") == "none" or _is_zero(rules.get("opacity", "1")) or _is_clipped(rules):
        sight = replace(sight, gone=sight.gone or "invisible")
    elif _is_far(rules):
        sight = replace(sight, gone=sight.gone or "off_page")
    visibility = rules.get("visibility", "")
    if visibility:
        sight = replace(sight, unseen="invisible" if visibility in ("hidden", "collapse") else "")
    if "color" in rules and rules["color"] != "inherit":
        colour = rules["color"]
        match = _RGB.match(colour)
        clear = colour == "transparent" or bool(match and match.group(4) and _is_zero(match.group(4)))
        sight = replace(sight, white=_is_white(colour), unseen="invisible" if clear else sight.unseen)
    size = _LENGTH.match(rules.get("font-size", ""))
    if size and size.group(1) not in ("", "-", ".", "-."):
        number, relative = float(size.group(1)), size.group(2) in ("em", "rem", "ex", "%", "vw", "vh")
        tiny = number <= (0.1 if size.group(2) != "%" else 10) if relative else number <= _TINY
        sight = replace(sight, tiny=tiny or (sight.tiny and size.group(2) in ("em", "ex", "%")))
    return sight


def _is_white(colour: str) -> bool:
    if colour.startswith("#"):
        digits = colour[1:7] if len(colour) >= 7 else "".join(2 * digit for digit in colour[1:4])
        parts = [digits[place : place + 2] for place in (0, 2, 4)]
        return all(len(part) == 2 and part[0] == "f" and part[1] in "abcdef" for part in parts)
    match = _RGB.match(colour)
    if match:
        return all(part.count(".") < 2 and part != "." and float(part) >= _WHITE for part in match.groups()[:3])
    return colour in ("white", "snow", "ivory", "ghostwhite", "floralwhite", "mintcream", "azure", "whitesmoke")


def _is_zero(number: str) -> bool:
    return bool(re.fullmatch(r"[0.]{1,12}%?", number))


def _is_clipped(rules: dict[str, str]) -> bool:
    none = {"width", "height"} & {name for name, value in rules.items() if re.fullmatch(r"0(px|em|pt)?", value)}
    clip = rules.get("clip", "").replace(" ", "").replace(",", "")
    return (bool(none) and rules.get("overflow") == "hidden") or bool(re.fullmatch(r"rect\([01px]{4,20}\)", clip))


def _is_far(rules: dict[str, str]) -> bool:
    for name in ("left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"):
        match = _LENGTH.match(rules.get(name, ""))
        if match and match.group(1) not in ("", "-", ".", "-.") and match.group(2) != "%":
            number = float(match.group(1)) * (16 if match.group(2) in ("em", "rem") else 1)
            if number <= _FAR:
                return True
    return False


_DROPPED = word_set(
    "nav footer form script style noscript template svg textarea title iframe object canvas audio video select button "
    "dialog datalist embed xmp noembed noframes menu map input"
)
_DROPPED_CLASSES = word_set(
    "ltx_page_navbar ltx_page_footer ltx_page_logo ltx_TOC ltx_listing_data ltx_ERROR ltx_note_type mathjax_preview "
    "lineno linenos gutter MathJax MathJax_Preview MathJax_CHTML MathJax_SVG headerlink anchorjs-link mw-editsection "
    "package-alerts ltx_nounicode"
)
PLAIN = Visibility()
NOT_PART = Visibility(dropped=True)
