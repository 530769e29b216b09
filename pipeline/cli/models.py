"""`pipeline models`: list the models of the settings, whether they answer, and the providers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from phases.llm.model import AssumesWindow, Message, Model, Request, describe_assumed_window, require_model
from phases.llm.prices import facts_date
from phases.llm.providers import PROVIDERS, gateways_in, key_of, with_settings
from pipeline.base.errors import PhaseError
from pipeline.cli.arguments import answers
from pipeline.cli.assembly import open_model, settings_from
from pipeline.cli.options import base_url_option, send_key_option
from pipeline.cli.output import Answer, notify, print_table, print_text
from pipeline.engine.settings import Settings

_USES = (("model", ""), ("plan_model", "plan"), ("code_model", "implement"))
_DESCRIPTIONS = {"model": "the default", "plan_model": "for planning", "code_model": "for the code"}
_SMALL = 16
_QUESTION = "Say the one word: ready"
_ANSWERED = ("ok", "truncated", "refused")
"""A model that thinks before it speaks may use up so small a limit; it was there all the same."""


@click.command("models")
@click.option("--no-call", is_flag=True, help="Only check that the servers answer; send nothing to a model.")
@click.option("--model", metavar="NAME", help="Test this model, like openai:gpt-5, instead of the configured ones.")
@base_url_option
@send_key_option
@answers
def models_command(no_call: bool, model: str | None, base_url: str | None, send_key: str | None) -> Answer:
    """List the configured models, and test each with one small call. Exits with 1 when one cannot be asked.

    \b
    pipeline models
    pipeline models --no-call
    pipeline models --model openai:gpt-5
    """
    settings = settings_from({"model": model, "base_url": base_url, "send_key": send_key})
    if model:
        settings = settings._replace(plan_model="", code_model="", judge="")
    rows = [_try_model(name, uses, settings, call=not no_call) for name, uses in _models_in_settings(settings).items()]
    providers = _list_providers(settings)
    exit_code = 0 if all(row["reachable"] for row in rows) else 1
    return Answer(
        {"models": rows, "providers": providers},
        lambda: _show_models(rows, providers, is_named=model is not None),
        exit_code,
    )


def _models_in_settings(settings: Settings) -> dict[str, list[str]]:
    """Return the models that the settings name, each with those settings."""
    names: dict[str, list[str]] = {}
    for use, _ in _USES:
        if name := getattr(settings, use):
            names.setdefault(name, []).append(use)
    return names


def _try_model(name: str, uses: list[str], settings: Settings, *, call: bool) -> dict[str, Any]:
    phase = dict(_USES)[uses[0]]
    model = require_model(_ModelOpener(lambda: open_model(settings._asdict(), phase)))
    served = name.partition(":")[0] in PROVIDERS
    row: dict[str, Any] = {"name": name, "settings": uses, "at": model.detail}
    reachable, detail = model.check()
    if served:
        row |= {"reports_cost": model.reports_cost, **_abilities(model), **_describe_window(model, reachable=reachable)}
    if served and model.priced:
        row["usd_per_million"] = {"in": model.price(1_000_000, 0), "out": model.price(0, 1_000_000)}
    row |= {"reachable": reachable, "detail": detail}
    if not (call and reachable and served):
        return row
    notify(f"asking {name} …")
    begun = time.monotonic()
    reply = model.ask(Request((Message("user", _QUESTION),), most_tokens=_SMALL))
    return row | {
        "reachable": reply.outcome in _ANSWERED,
        "detail": detail if reply.outcome == "ok" else reply.detail,
        "outcome": reply.outcome,
        "seconds": round(time.monotonic() - begun, 2),
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "usd": reply.usd if model.priced or reply.usd else None,
    }


def _abilities(model: Model) -> dict[str, bool]:
    """Return whether a model reasons and sees pictures, as far as its name tells."""
    marks = str(getattr(model, "marks", ""))
    return {"reasoning": "r" in marks, "vision": "v" in marks}


def _describe_window(model: Model, *, reachable: bool) -> dict[str, Any]:
    """Describe the window, or that it is unknown, with what to type. Empty for a server that cannot be asked."""
    try:
        window = model.window
    except PhaseError as error:
        return {"window": None, **({"window_unknown": str(error)} if reachable else {})}
    assumed = isinstance(model, AssumesWindow) and model.assumes_window()
    return {"window": window, **({"window_assumed": describe_assumed_window(window)} if assumed else {})}


class _ModelOpener(NamedTuple):
    """The part of a phase's context that opening a model needs."""

    open_model: Callable[[], object]


def _list_providers(settings: Settings) -> list[dict[str, Any]]:
    environment, gateways = with_settings(os.environ, settings._asdict()), gateways_in(settings._asdict())
    return [
        {
            "name": provider.name,
            "address": gateways.get(provider.name) or provider.base_url or None,
            "key_variable": provider.key_variable,
            "key_set": bool(key_of(provider, settings.api_key, environment)),
        }
        for provider in PROVIDERS.values()
    ]


def _show_models(rows: list[dict[str, Any]], providers: list[dict[str, Any]], *, is_named: bool) -> None:
    for row in rows:
        uses = ", ".join(_DESCRIPTIONS[use] for use in row["settings"])
        print_text(f"{row['name']}{'' if is_named else f' ({uses})'}: {_describe_verdict(row)}")
        print_text(f"  {row['at']}; {_describe_price(row)}")
        print_text(f"  {row['detail']}")
        for word in ("window_assumed", "window_unknown"):
            if word in row:
                print_text(f"  {row[word]}")
    print_text()
    shown = [(f"{row['name']}:NAME", row["address"] or "set base_url", _describe_key(row)) for row in providers]
    print_table(
        [("offline", "rules, no network", "none"), ("replay:PATH", "recorded replies", "none"), *shown],
        header=("MODEL", "WHERE", "KEY"),
    )


def _describe_verdict(row: dict[str, Any]) -> str:
    if "outcome" not in row:
        return "ready" if row["reachable"] else "cannot be asked"
    spent = f"{row['seconds']} s, {row['tokens_in']} + {row['tokens_out']} tokens"
    cost = "" if row["usd"] is None else f", ${row['usd']:.6f}"
    return f"{'answers' if row['reachable'] else 'cannot be asked'} ({row['outcome']}; {spent}{cost})"


def _describe_price(row: dict[str, Any]) -> str:
    if "window" not in row:
        return "costs nothing"
    reads = f"reads and writes {row['window']:,} tokens at once" if row["window"] else "its window is not known"
    able = [word for word, mark in (("reasons", "reasoning"), ("sees pictures", "vision")) if row[mark]]
    reads = ", ".join([reads, *able])
    if "usd_per_million" not in row and row["reports_cost"]:
        return f"{reads}; its price is not known, and its server says what each call cost: max_usd goes by that"
    if "usd_per_million" not in row:
        return f"{reads}; its price is not known: max_usd needs it, from prices.yaml next to the settings file"
    price = row["usd_per_million"]
    if not price["in"] and not price["out"]:
        return f"{reads}; costs nothing"
    return f"{reads}; ${price['in']:g} a million tokens in, ${price['out']:g} out (list prices of {facts_date()}, check yours)"


def _describe_key(row: dict[str, Any]) -> str:
    if row["key_variable"] is None:
        return "none needed"
    return f"{row['key_variable']} ({'set' if row['key_set'] else 'not set'})"
