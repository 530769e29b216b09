"""Build the tree of an HTML page with the visibility of its elements.

Style sheets are not applied: anything hidden or shown only by them counts as visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import unescape

from phases.readers.markdown_blocks import strip_invisible
from phases.readers.reading import BROKEN, Hidden, Unreadable


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


VOID = word_set("area base br col embed hr img input link meta param source track wbr")
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_INLINE = word_set("a abbr b bdi bdo big cite code em font i kbd mark q s samp small span strong sub sup tt u var")
RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_CELLS = ("td", "th", "caption")
_TABLE_PARTS = frozenset(("table", "tr", "tbody", "thead", "tfoot", *_CELLS))
_BLOCKS = word_set(
    "address article aside blockquote div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre "
    "section table ul"
)
_SCOPE = ("table", *_CELLS, "li", "dd", "div", "section", "article", "blockquote", "button", "figure", "main", "object")
_FOREIGN, _HOSTS = ("math", "svg"), ("mtext", "annotation-xml", "foreignobject", "desc")
_BREAKS_OUT = _BLOCKS | word_set("b big br center code em embed font i img li s small span strong sub sup tt u var")
_CLOSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), ("ul", "ol", "table")),
    "dt": (("dt", "dd"), ("dl", "table")),
    "dd": (("dt", "dd"), ("dl", "table")),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "tr": (("tr",), ("table",)),
    "tbody": (("tbody", "thead", "tfoot"), ("table",)),
    "thead": (("tbody", "thead", "tfoot"), ("table",)),
    "tfoot": (("tbody", "thead", "tfoot"), ("table",)),
    "option": (("option",), ("select",)),
    "a": (("a",), _SCOPE),
}
KEPT = word_set(
    "class id href alttext display colspan rowspan alt type role name property content encoding start value src open close"
)
_NUMBER_TOO_LONG = re.compile(r"&#(?=[0-9]{8}|[xX][0-9a-fA-F]{8})")
_DEEPEST, _MOST_OPEN, _MOST_ELEMENTS, _MOST_TAGS = 80, 150_000, 300_000, 1_500_000
_MOST_HIDDEN, _LONGEST_HIDDEN = 200, 2000
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")
_STYLING = ("style", "hidden", "aria-hidden", "bgcolor", "color")
_DROPPED_ROLES = frozenset(("navigation", "search", "banner", "contentinfo", "dialog", "alert", "menu"))
_NOTES = frozenset(("doc-endnotes", "doc-endnote", "doc-footnote", "doc-footnotes"))
_UNSEEN_CLASSES = frozenset(("sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"))
_LENGTH = re.compile(r"(-?[0-9]{0,9}\.?[0-9]{0,9})(px|pt|em|rem|ex|%|vw|vh)?")
_RGB = re.compile(r"rgba?\(([0-9.]{1,9})[ ,]+([0-9.]{1,9})[ ,]+([0-9.]{1,9})(?:[ ,/]+([0-9.]{1,9})(%?))?\)")
_WHITE, _TINY, _FAR = 250, 2, -900
_LONGEST_STYLE = 4000


@dataclass(slots=True, eq=False)
class Element:
    """An element of the page with its visible content."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)
    holds: frozenset[str] = frozenset()
    """Which of table, heading and pre occur below it."""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


@dataclass(frozen=True)
class HtmlPage:
    """A parsed page: its tree and its metadata."""

    root: Element
    metas: list[tuple[str, str]]
    title: str
    base: str
    hidden: tuple[Hidden, ...]
    math_in_text: bool
    """Whether a loaded script typesets `$...$` in the text."""


def walk_elements(element: Element) -> Iterator[Element]:
    """Yield an element and all its descendants, in order."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(child for child in reversed(one.children) if isinstance(child, Element))


def text_of(element: Element) -> str:
    """Return all text of an element."""
    parts: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            parts.append(one)
        else:
            parts += ["\n"] if one.tag == "br" else []
            waiting.extend(reversed(one.children))
    return "".join(parts)


def decode_characters(text: str) -> str:
    """Resolve character references and remove invisible characters."""
    if "&" in text:
        text = unescape(_NUMBER_TOO_LONG.sub("&amp;#", text))
    return strip_invisible(text)


@dataclass(slots=True)
class _OpenElement:
    tag: str
    sight: Visibility
    element: Element


class TreeBuilder:
    """Builds the tree; holds the open elements. Elements nested too deep are flattened into their ancestor."""

    def __init__(self) -> None:
        self._root = Element("html", {})
        self._stack = [_OpenElement("", PLAIN, self._root)]
        self._places: dict[str, list[int]] = {}
        self._metas: list[tuple[str, str]] = []
        self._title, self._base = "", ""
        self._hidden: list[tuple[Visibility, list[str], list[int]]] = []
        self._math_in_text = False
        self._elements, self._tags = 0, 0

    def page(self) -> HtmlPage:
        hidden = ((sight.how, " ".join("".join(parts).split())) for sight, parts, _ in self._hidden)
        unseen = tuple(Hidden(text, 1, how) for how, text in hidden if text)
        return HtmlPage(self._root, self._metas, self._title, self._base, unseen, self._math_in_text)

    def text(self, text: str) -> None:
        top = self._stack[-1]
        if top.sight.dropped:
            return
        text = decode_characters(text)
        if not top.sight.how:
            top.element.children.append(text)
        elif text.strip():
            self._hide(text, top.sight)

    def raw(self, tag: str, text: str) -> None:
        """Return the raw content of an element such as `script`, in which `<` has no meaning."""
        kind = self._stack[-1].element.attributes.get("type", "") if self._stack[-1].tag == tag else ""
        if tag == "title" and not self._title:
            self._title = " ".join(decode_characters(text[:2000]).split())
        elif tag == "script" and kind.startswith("math/tex"):
            self._stack[-1].element.children.append(text)
        self._math_in_text |= tag == "script" and ("MathJax" in text or "renderMathInElement" in text)

    def open(self, tag: str, attributes: dict[str, str], *, empty: bool) -> None:
        self._tags += 1
        if len(self._stack) > _MOST_OPEN or self._elements > _MOST_ELEMENTS or self._tags > _MOST_TAGS:
            raise Unreadable(BROKEN, "is an HTML page with far more elements than a paper")
        self._imply(tag)
        parent = self._stack[-1]
        if tag in ("meta", "base", "script", "link"):
            self._head(tag, attributes)
        sight = visibility_of(tag, attributes, parent.sight)
        # invisible or too deep: its text goes to the report or to the enclosing element
        element = parent.element
        if not sight.dropped and not sight.how and len(self._stack) < _DEEPEST:
            element = Element(tag, {name: value for name, value in attributes.items() if name in KEPT})
            parent.element.children.append(element)
            self._elements += 1
            self._tell_ancestors(tag)
        if tag not in VOID and not (empty and tag not in _BLOCKS | _INLINE | set(RAW)):
            has_tex = tag == "math" and attributes.get("alttext", "").strip()
            self._places.setdefault(tag, []).append(len(self._stack))
            self._stack.append(_OpenElement(tag, NOT_PART if has_tex else sight, element))

    def close(self, tag: str) -> None:
        place = self._place((tag,))
        if not place or (tag not in _TABLE_PARTS and place < self._place(_CELLS)):
            return
        if tag in _INLINE and place < self._place(_SCOPE):
            return
        self._pop_to(place)

    def _imply(self, tag: str) -> None:
        """Close the elements that a start tag closes implicitly."""
        foreign = self._place(_FOREIGN) if tag in _BREAKS_OUT else 0
        if foreign > self._place(_HOSTS):
            self._pop_to(foreign)
        if tag in _BLOCKS and self._place(("p",)) > self._place(_SCOPE):
            self._pop_to(self._place(("p",)))
        if tag in _CLOSES:
            ended, within = _CLOSES[tag]
            place = self._place(ended)
            if place > self._place(within):
                self._pop_to(place)

    def _place(self, tags: tuple[str, ...]) -> int:
        # a list of places per tag: walking down the stack is quadratic on a page of open tags
        place = 0
        for tag in tags:
            places = self._places.get(tag)
            if places and places[-1] > place:
                place = places[-1]
        return place

    def _pop_to(self, place: int) -> None:
        while len(self._stack) > place:
            self._places[self._stack.pop().tag].pop()

    def _tell_ancestors(self, tag: str) -> None:
        kind = "heading" if tag in HEADINGS else tag
        if kind in ("heading", "table", "pre"):
            for element in reversed(self._stack):
                if kind in element.element.holds:
                    break
                element.element.holds |= {kind}

    def _head(self, tag: str, attributes: dict[str, str]) -> None:
        address = attributes.get("src", "") + attributes.get("href", "")
        self._math_in_text |= tag == "script" and ("mathjax" in address.lower() or "auto-render" in address)
        if tag == "base" and not self._base:
            self._base = address
        name = attributes.get("name") or attributes.get("property") or ""
        if tag == "meta" and name and len(self._metas) < 1000:
            self._metas.append((name.lower(), " ".join(attributes.get("content", "")[:2000].split())))

    def _hide(self, text: str, sight: Visibility) -> None:
        if not self._hidden or self._hidden[-1][0] is not sight:
            if len(self._hidden) >= _MOST_HIDDEN:
                return
            self._hidden.append((sight, [], [0]))
        _, parts, size = self._hidden[-1]
        if size[0] < _LONGEST_HIDDEN:
            parts.append(text[: _LONGEST_HIDDEN - size[0]])
            size[0] += len(text)


def parse_html(text: str) -> HtmlPage:
    """Parse an HTML text, however broken."""
    # decision 33: html.parser is quadratic on broken pages (unclosed tags and comments)
    builder = TreeBuilder()
    position, length = 0, len(text)
    while position < length:
        found = _MARKUP.search(text, position)
        start = found.start() if found else length
        if start > position:
            builder.text(text[position:start])
        position = _read_markup(text, start, builder) if found else length
    return builder.page()


def _read_markup(text: str, start: int, builder: TreeBuilder) -> int:
    following = text[start + 1 : start + 2]
    if following in ("!", "?"):
        comment = text.startswith("<!--", start)
        end = text.find("-->" if comment else ">", start + (2 if comment else 1))
        return len(text) if end < 0 else end + (3 if comment else 1)
    closing = following == "/"
    name = _NAME.match(text, start + 2 if closing else start + 1)
    if name is None:
        # an end tag without a name is not a tag
        return start + 2
    tag = name.group().lower()
    if closing:
        builder.close(tag)
        end = text.find(">", name.end())
        return len(text) if end < 0 else end + 1
    attributes, end, empty = _read_attributes(text, name.end())
    builder.open(tag, attributes, empty=empty)
    if tag in RAW and not empty:
        return _read_raw(text, end, tag, builder)
    return end


def _read_attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    result: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, position):
        position = match.end()
        name, value = match.group(1).lower(), match.group(2) or ""
        if (name in KEPT or name in _STYLING) and name not in result:
            result[name] = decode_characters(value[1:-1] if value[:1] in ("'", '"') else value)
    end = text.find(">", position)
    if end < 0:
        return result, len(text), False
    return result, end + 1, text[end - 1] == "/"


def _read_raw(text: str, start: int, tag: str, builder: TreeBuilder) -> int:
    closing = re.compile(f"</{tag}(?=[\\s/>])", re.IGNORECASE).search(text, start)
    end = closing.start() if closing else len(text)
    builder.raw(tag, text[start:end])
    return end


@dataclass(frozen=True, slots=True)
class Visibility:
    """Visibility of an element's content."""

    dropped: bool = False
    """Not part of the paper: navigation, scripts and the like."""
    gone: str = ""
    """Hidden for good: no descendant can show itself again."""
    unseen: str = ""
    white: bool = False
    tiny: bool = False
    shaded: bool = False

    @property
    def how(self) -> str:
        """The way it is hidden; empty if it is visible."""
        white = "white" if self.white and not self.shaded else ""
        return self.gone or self.unseen or white or ("tiny" if self.tiny else "")


def visibility_of(tag: str, attributes: dict[str, str], above: Visibility) -> Visibility:
    """Return the visibility of an element inside another one, from which it inherits."""
    if above.dropped:
        return above
    if tag == "script" and attributes.get("type", "").startswith("math/tex"):
        return above
    # dropped content is not part of the paper; merely invisible content is reported as hidden text
    role = attributes.get("role", "")
    if tag in _DROPPED or (tag == "aside" and role not in _NOTES) or role in _DROPPED_ROLES:
        return NOT_PART
    classes = frozenset(attributes.get("class", "").split())
    if classes & _DROPPED_CLASSES:
        return NOT_PART
    # content withheld from screen readers is decoration, or repeated elsewhere
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
