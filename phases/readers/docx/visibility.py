"""Whether a reader of a Word document sees a run of its text."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, replace

from phases.readers.docx.xml import XmlNode

# half points
_TINY = 2
_NO_FILL = ("", "auto", "ffffff", "none")


@dataclass(frozen=True)
class Look:
    """How a run looks, as far as it decides whether it is seen."""

    vanished: bool = False
    white: bool = False
    tiny: bool = False
    shaded: bool = False

    @property
    def how(self) -> str:
        """How it is hidden; empty if it is seen."""
        if self.vanished:
            return "invisible"
        return "white" if self.white and not self.shaded else "tiny" if self.tiny else ""

    def combine(self, other: Look) -> Look:
        """What either of them is."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Look(*(one or another for one, another in pairs))


PLAIN = Look()


def look_of(properties: XmlNode | None, above: Look) -> Look:
    """The look of a run with these properties; what they do not say is as it is above."""
    if properties is None:
        return above
    look = above
    if properties.find("w:vanish") or properties.find("w:specVanish"):
        look = replace(look, vanished=properties.is_on("w:vanish") or properties.is_on("w:specVanish"))
    colour = properties.value("w:color")
    if colour is not None:
        look = replace(look, white=_is_white(colour))
    size = properties.value("w:sz")
    if size and re.fullmatch("[0-9]{1,6}", size):
        look = replace(look, tiny=int(size) <= _TINY)
    marked = properties.value("w:highlight") not in (None, "none", "white")
    if marked or is_shade(properties.find("w:shd")):
        look = replace(look, shaded=True)
    return look


def is_shade(shade: XmlNode | None) -> bool:
    """Whether a shading gives a ground that is not white."""
    if shade is None:
        return False
    pattern = shade.value() == "solid" and shade.attributes.get("w:color", "auto").lower() not in _NO_FILL
    return pattern or shade.attributes.get("w:fill", "").lower() not in _NO_FILL or "w:themeFill" in shade.attributes


def _is_white(colour: str) -> bool:
    return bool(re.fullmatch("(?:[fF][a-fA-F]){3}", colour))
