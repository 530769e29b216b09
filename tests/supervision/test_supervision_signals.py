"""A signal, and every setting, is declared once: each test names what a new one would still want."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from phases.supervision import observer
from phases.supervision.config import Triggers
from phases.supervision.enums import DeviationSignal
from phases.supervision.observer import DETECTORS
from phases.supervision.serialization import to_camel
from phases.supervision.signals import SIGNALS
from scripts.kernel_schema import SCHEMA, whole_schema


def settings_of(part: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting of the schema, by its dotted name."""
    for key, inner in part["properties"].items():
        if "properties" in inner:
            yield from settings_of(inner, f"{name}{key}.")
        else:
            yield f"{name}{key}", inner


def test_the_schema_is_what_the_settings_say() -> None:
    assert json.loads(SCHEMA.read_text()) == whole_schema(), "write it anew with: python -m scripts.kernel_schema"


@pytest.mark.parametrize("kind", DeviationSignal)
def test_every_signal_says_what_it_counts_and_what_raises_it(kind: DeviationSignal) -> None:
    assert kind in SIGNALS, f"{kind} has no row in signals.py"
    assert SIGNALS[kind].about.endswith("."), f"{kind} does not say what it counts"
    raised = "\n".join(inspect.getsource(detect) for detect in (*DETECTORS, observer._name_stall))
    assert f"DeviationSignal.{kind.name}" in raised, f"{kind} is raised by nothing in observer.py"


@pytest.mark.parametrize("kind", [kind for kind in DeviationSignal if SIGNALS[kind].setting])
def test_every_signal_with_a_threshold_can_be_set_by_the_user(kind: DeviationSignal) -> None:
    rule, described = SIGNALS[kind], dict(settings_of(json.loads(SCHEMA.read_text())))
    name = "triggers." + ".".join(map(to_camel, rule.setting.split(".")))
    assert name in described, f"{kind}: {name} is no setting; declare it in config.py with signal_setting()"
    assert described[name]["default"] == rule.default
    assert described[name]["description"] == rule.about


def test_only_what_a_person_asks_for_has_no_threshold() -> None:
    assert [kind for kind in DeviationSignal if not SIGNALS[kind].setting] == [DeviationSignal.USER_FORCE_TAKEOVER]


def test_every_threshold_is_of_a_signal_or_of_how_all_are_remembered() -> None:
    of_signals = {rule.setting.partition(".")[0] for rule in SIGNALS.values()} - {""}
    assert {row.name for row in fields(Triggers)} - of_signals == {"signal_ttl_rounds", "disabled"}
