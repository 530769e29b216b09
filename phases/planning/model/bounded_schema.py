"""The schema of a plan as a server is given it: with an end to each text and each list, and without what nobody is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DROPPED = (
    "$schema", "title", "description", "examples", "default", "mayBePlaceholder", "volatile", "allOf", "oneOf",
)  # fmt: skip
# decision 83: a person adds them, and no model can drop or weaken them.
_NOT_ASKED = ("todos",)
_LENGTHS = {
    "title": 300,
    "core_contribution": 800,
    "text": 800,
    "quote": 300,
    "purpose": 400,
    "name": 80,
    "section": 80,
    "python": 20,
    "packages": 80,
    "equations": 400,
    "what": 400,
    "formula": 400,
    "steps": 300,
}
_LENGTH = 240
MOST_ROWS = {
    "requirements": 250,
    "file_structure": 80,
    "implementation_strategy": 80,
    "verify_commands": 6,
    "packages": 40,
    "values": 150,
    "expected_results": 400,
}
MOST_OTHERS = 60
_PART = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,38}"
_PATTERNS = {f"^{letter}[0-9]+$": f"^{letter}[0-9]{{1,4}}$" for letter in ("R", "V", "C", "E", "X", "[RV]")}
_PATH = f"^{_PART}(/{_PART}){{0,4}}$"


def restrict_schema(schema: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """A stricter schema: what fits it fits the given one, and none of its texts and lists goes on for ever."""
    made = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "properties" in made:
        # A property without a rule of its own (one of older plans) is not asked for.
        kept = {
            key: value
            for key, value in made["properties"].items()
            if key not in _NOT_ASKED and set(value) - set(_DROPPED) and not value.get("deprecated")
        }
        made["properties"] = {key: restrict_schema(value, key) for key, value in kept.items()}
    if not name and "allOf" in schema:
        # a new plan is of the newest version
        made["required"] = [*made["required"], *schema["allOf"][0]["then"]["required"]]
        made["properties"]["plan_version"] = {"const": max(schema["properties"]["plan_version"]["enum"])}
    if "items" in made:
        made["items"] = restrict_schema(made["items"], name)
        made["maxItems"] = MOST_ROWS.get(name, MOST_OTHERS)
    if name == "verify_commands" and "items" in made:
        made["minItems"] = 1
    if "pattern" in made:
        made["pattern"] = _PATTERNS.get(made["pattern"], _PATH if "/" in made["pattern"] else made["pattern"])
        made.pop("maxLength", None)  # the pattern has an end itself, and grammars know one or the other
    elif "string" in _types_of(made):
        made["maxLength"] = min(made.get("maxLength", 10**6), _LENGTHS.get(name, _LENGTH))
    return made


def _types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)
