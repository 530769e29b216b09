"""List a plan's requirements and values for the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def demands_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the requirements of a plan and its values, as rows of one form.

    What describes a data set, a machine or another paper's runs is in the plan for its reader, and no code has to hold it.
    """
    values = [row for row in plan.get("values", ()) if not _is_fact(row)]
    return [*plan["requirements"], *map(_demand_of_value, values)]


def is_value(row: Mapping[str, Any]) -> bool:
    """Return whether a row of `demands_of` is a value of the plan."""
    return str(row["id"]).startswith("V")


def describe_value(row: Mapping[str, Any]) -> str:
    """Describe a value: name, symbol, quantity, owner, and condition."""
    shown = row["value"] if "value" in row else ", ".join(map(str, row["values"]))
    symbol = f" ({row['symbol']})" if row.get("symbol") else ""
    unit = f" {row['unit']}" if row.get("unit") else ""
    owner = f", of {row['owner']}" if row.get("owner") not in (None, "", "method") else ""
    condition = f", {row['condition']}" if row.get("condition") else ""
    return f"{row['name']}{symbol} = {shown}{unit}{owner}{condition}"


def _is_fact(row: Mapping[str, Any]) -> bool:
    return row.get("kind") == "fact" or (row.get("kind") == "data" and row.get("owner") not in (None, "", "method"))


def _demand_of_value(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "kind": "hyperparameter",
        "text": describe_value(row),
        "source": row["source"],
        "status": row.get("status", "stated"),
        "name": row["name"],
        "value": row["value"] if "value" in row else list(row["values"]),
        "unit": row.get("unit", ""),
    }
