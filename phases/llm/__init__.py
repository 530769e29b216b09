"""Ask models: one protocol for all, a journal of the replies and a ledger of the costs.

`conversation` is where a phase begins: what is recorded is not asked again, and what is asked stays within the limits. An
adapter speaks to one kind of server; which there are stands in `providers`. The package needs `pipeline.base` alone.
"""

__all__ = [
    "conversation",
    "estimate",
    "factory",
    "journal",
    "ledger",
    "ledger_rows",
    "model",
    "pictures",
    "prices",
    "providers",
    "redaction",
]
