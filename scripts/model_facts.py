"""Makes phases/llm/model_facts.json: prices, windows and abilities of models, as two MIT-licensed packages list them today.

    python -m pip download --no-deps litellm genai-prices
    python scripts/model_facts.py litellm-*.whl genai_prices-*.whl

Facts and figures alone are taken. litellm goes first; genai-prices adds OpenRouter's models, and what litellm does not have.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median_low
from typing import Any

from phases.llm.prices import plain_name

TARGET = Path(__file__).resolve().parent.parent / "phases" / "llm" / "model_facts.json"
_LITELLM_TABLE = "litellm/model_prices_and_context_window_backup.json"
_TALKS = ("chat", "responses")
_PREFIXES = {
    "openai": "",
    "anthropic": "",
    "gemini": "gemini/",
    "deepseek": "deepseek/",
    "mistral": "mistral/",
    "groq": "groq/",
}
_OURS = {"gemini": "google"}
_RENAMES = ("bedrock", "azure", "databricks", "snowflake", "oci", "vertex", "github")
"""Their names of models are their own, with regions and makers in them."""
_ABOVE = re.compile(r"input_cost_per_token_above_([0-9]+)k_tokens")
_MILLION = 1_000_000
_ABOUT = (
    "US dollars a million tokens: in, cached (read from the provider's cache), written (into it), out. window: how many tokens "
    "request and reply have together, no further than these prices go; reply: the longest one. marks: r reasons, v sees "
    "pictures, e takes an effort, R answers on the Responses API alone. `windows`: of models by name, whoever serves them. List "
    "prices, check yours. Made by scripts/model_facts.py: do not edit."
)

Row = dict[str, Any]


def main(litellm: str, genai: str) -> None:
    """Writes the table."""
    listed = json.loads(zipfile.ZipFile(litellm).read(_LITELLM_TABLE))
    own = dict(_rows_of_litellm(listed))
    windows = _windows_by_name(listed)
    for name, row in _rows_of_genai(genai):
        own.setdefault(name, {**_known_elsewhere(name, windows), **row})
    sources = [f"{Path(wheel).name.split('-')[0]} {Path(wheel).name.split('-')[1]} (MIT)" for wheel in (litellm, genai)]
    head = {"about": _ABOUT, "date": datetime.now(UTC).date().isoformat(), "sources": sources}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    lines += [f'  "models": {_table(own)},', f'  "windows": {_table(windows)}']
    TARGET.write_text("{\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(own)} models with a price, {len(windows)} windows by name, {TARGET.stat().st_size:,} bytes")


def _table(rows: Mapping[str, Row]) -> str:
    return (
        "{\n" + ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items())) + "\n  }"
    )


def _rows_of_litellm(listed: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    for name, row in listed.items():
        vendor = row.get("litellm_provider")
        if vendor not in _PREFIXES or row.get("mode") not in _TALKS or "input_cost_per_token" not in row:
            continue
        prefix = _PREFIXES[vendor]
        if name.startswith(prefix) and (prefix or "/" not in name) and "output_cost_per_token" in row:
            yield f"{_OURS.get(vendor, vendor)}:{name.removeprefix(prefix)}", _prices_in(row) | _facts_in(row)


def _prices_in(row: Mapping[str, Any]) -> Row:
    named = {
        "in": row.get("input_cost_per_token"),
        "cached": row.get("cache_read_input_token_cost"),
        "written": row.get("cache_creation_input_token_cost") or None,
        "out": row.get("output_cost_per_token"),
    }
    return {name: _rounded(value * _MILLION) for name, value in named.items() if value is not None}


def _facts_in(row: Mapping[str, Any]) -> Row:
    steps = [int(found[1]) * 1000 for name in row if (found := _ABOVE.fullmatch(name))]
    told = [size for size in (row.get("max_input_tokens"), *steps) if isinstance(size, int) and size > 0]
    effort = any(
        row.get(f"supports_{level}_reasoning_effort") is not None for level in ("none", "minimal", "xhigh", "max")
    )
    marks = [
        ("r", row.get("supports_reasoning")),
        ("v", row.get("supports_vision")),
        ("e", row.get("supports_reasoning") and (effort or row.get("supports_output_config"))),
        ("R", row.get("mode") == "responses"),
    ]
    facts = {"window": min(told, default=0), "reply": row.get("max_output_tokens") or 0}
    return {**{name: size for name, size in facts.items() if isinstance(size, int) and size}, **_marks(marks)}


def _marks(marks: list[tuple[str, Any]]) -> Row:
    said = "".join(mark for mark, holds in marks if holds)
    return {"marks": said} if said else {}


def _windows_by_name(listed: Mapping[str, Any]) -> dict[str, Row]:
    """Of each model, whoever serves it: the middle one of the windows that its servers give it."""
    found: dict[str, list[Row]] = {}
    for name, row in listed.items():
        facts = _facts_in({key: value for key, value in row.items() if not _ABOVE.fullmatch(key)})
        renamed = str(row.get("litellm_provider")).startswith(_RENAMES)
        if row.get("mode") in _TALKS and facts.get("window") and not renamed:
            found.setdefault(plain_name(name), []).append(facts)
    return {name: _middle(rows) for name, rows in found.items() if name}


def _middle(rows: list[Row]) -> Row:
    replies = [row["reply"] for row in rows if "reply" in row]
    marks = [(mark, sum(mark in row.get("marks", "") for row in rows) * 2 > len(rows)) for mark in "rv"]
    facts = {"window": median_low(row["window"] for row in rows), "reply": median_low(replies) if replies else 0}
    return {**{name: size for name, size in facts.items() if size}, **_marks(list(marks))}


def _known_elsewhere(name: str, windows: Mapping[str, Row]) -> Row:
    return dict(windows.get(plain_name(name.partition(":")[2]), {}))


def _rows_of_genai(wheel: str) -> Iterator[tuple[str, Row]]:
    sys.path.insert(0, wheel)
    for provider in import_module("genai_prices.data").providers:
        if provider.id in ("openrouter", "google", *_PREFIXES):
            for model in provider.models:
                foreign = provider.id == "google" and not model.id.startswith(("gemini", "gemma"))  # those of Vertex
                if not foreign and (row := _row_of_genai(model)):
                    yield f"{provider.id}:{model.id}", row


def _row_of_genai(model: Any) -> Row:
    prices = model.prices[-1].prices if isinstance(model.prices, list) else model.prices
    names = {"in": "input_mtok", "cached": "cache_read_mtok", "written": "cache_write_mtok", "out": "output_mtok"}
    found = {name: getattr(prices, field, None) for name, field in names.items()}
    steps = [tier.start for value in found.values() for tier in getattr(value, "tiers", ())]
    plain = {name: getattr(value, "base", value) for name, value in found.items() if value is not None}
    if "in" not in plain or "out" not in plain:
        return {}
    window = min([size for size in (model.context_window, *steps) if size], default=0)
    return {name: _rounded(float(value)) for name, value in plain.items()} | ({"window": window} if window else {})


def _rounded(price: float) -> float | int:
    short = round(price, 6)
    return int(short) if short == int(short) else short


if __name__ == "__main__":
    main(*sys.argv[1:])
