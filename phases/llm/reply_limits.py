"""How long a reply may be, by model: a model that thinks needs more room than its answer takes."""

from __future__ import annotations

from phases.llm.model import Room

THINKS = 32_768
_ROWS = (
    # The beginning of a model's name; how much it gets at first (0: as much as any other), and its own limit (0: not known).
    ("gpt-4.1", 0, 32_768),
    ("gpt-4o", 0, 16_384),
    ("gpt-5", THINKS, 128_000),
    ("gpt-6", THINKS, 0),
    ("o3", THINKS, 100_000),
    ("o4-mini", THINKS, 100_000),
    ("claude-opus-4-1", 0, 32_000),
    ("claude-opus-4-5", THINKS, 64_000),
    ("claude-sonnet-4-5", THINKS, 64_000),
    ("claude-haiku-4-5", THINKS, 64_000),
    ("claude-opus", THINKS, 0),
    ("claude-sonnet", THINKS, 0),
    ("claude-fable", THINKS, 0),
    ("deepseek-reasoner", THINKS, 64_000),
    ("deepseek-r1", THINKS, 0),
    ("kimi-k2-thinking", THINKS, 0),
)


def room_for(name: str, setting: int) -> Room:
    """What a model gets: what the user says, else what is known of it. `name` is as in the setting `model`."""
    if setting:
        return Room(setting, setting)
    plain = name.partition(":")[2].rpartition("/")[2].lower().replace(".", "-")
    found = [row for row in _ROWS if plain.startswith(row[0].replace(".", "-"))]
    _, first, most = max(found, key=lambda row: len(row[0]), default=("", 0, 0))
    return Room(first, most or Room().most)
