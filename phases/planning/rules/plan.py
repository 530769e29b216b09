"""The plan by rules: what the paper says, sentence by sentence and value by value, and the files that would meet it.

Deterministic, and without a model. Nothing here is invented: what the rules cannot decide is told in `uncertain`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.rules.component_homes import assign_components
from phases.planning.rules.component_names import core_words, name_words
from phases.planning.rules.components import STEPS, Component, find_components
from phases.planning.rules.data_links import find_licence, find_link
from phases.planning.rules.layout import plan_files
from phases.planning.rules.listing_doubts import doubts_of_listings
from phases.planning.rules.mentions import BASELINES, DATASETS, METRICS, Mention, find_mentions, mention_row
from phases.planning.rules.name_candidates import find_candidates
from phases.planning.rules.naming import package_name, request_name
from phases.planning.rules.own_names import own_names
from phases.planning.rules.owners import Known
from phases.planning.rules.packages import find_packages
from phases.planning.rules.passages import PaperText, read_paper
from phases.planning.rules.requirements import (
    MOST,
    choose_requirements,
    find_requirements,
    quote_start,
    requirement_row,
)
from phases.planning.rules.results import expected_results, experiments_of
from phases.planning.rules.sections import BUILD, MIXED, SETUP
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.settings import find_settings, value_row
from phases.planning.rules.techniques import is_technique
from phases.planning.rules.value_doubts import doubts_of_values

PYTHON = ">=3.11"
# decision 16: it must run where only Python is installed.
VERIFY = "python -m unittest discover -s tests -t ."
_LONGEST_CONTRIBUTION = 600
_NEW = re.compile(
    r"\b(?:we|this (?:paper|work)) (?:\w+ )?(?:propos|introduc|present|develop|design|study|investigat)"
    r"|\bour (?:approach|method|framework|model|algorithm)|wir (?:stellen|zeigen)|提出|本文",
    re.IGNORECASE,
)
_FEWEST, _MOST_DOUBTS = 8, 8
_POINTS_TO = re.compile(
    r"\b(Algorithm|Listing|Procedure) ([0-9]+|[A-Z][0-9]+)(?![\w.])"
    r"(?! (?:of|in|from|by) [^.;]{0,40}?(?:\[[0-9]|et al|\([^()]{0,40}(?:19|20)[0-9]{2}))"
)
"""An algorithm of this paper: "Algorithm 3 of Smith [7]" is another's."""
ASKED_FOR = "requested changes"
"""The component of wishes that are about none of the paper's."""
_SHARED = 0.6
"""The share of a component's words that a wish about it has."""
Row = dict[str, Any]


def plan_by_rules(text: str, outline: Mapping[str, Any], requests: Sequence[str] = (), *, body_start: int = 0) -> Row:
    """initial_plan.txt as a value. What people asked for becomes a requirement."""
    paper = read_paper(text, outline, body_start)
    own = own_names(paper)
    names = find_candidates(paper, own)
    datasets, metrics = find_mentions(DATASETS, names), find_mentions(METRICS, names)
    data, measures = ([one.name.lower() for one in found] for found in (datasets, metrics))
    own = [name for name in own if name.lower() not in (*data, *measures)]
    found = find_components(paper, own, data, measures)
    parts = [name for one in found for name in (one.name, *one.aliases) if not is_technique(name)]
    baselines = find_mentions(BASELINES, names, own, parts)
    with_equations = {one.section["id"] for one in found if one.equations}
    asked = find_requirements(paper, [*own, *(one.name for one in found)], with_equations)
    if len(asked) > MOST:  # what is a step of a component needs no place among them
        steps = " ".join(step for one in found if one.algorithm == STEPS for step in one.steps)
        asked = [row for row in asked if row.text not in steps]
    chosen = choose_requirements(asked, assign_components(asked, found, paper))
    requirements = [requirement_row(row, f"R{number}") for number, (row, _) in enumerate(chosen, 1)]
    components = _component_rows(found, [home for _, home in chosen], requirements)
    known = Known(tuple(own), tuple(one.name for one in datasets), tuple(one.name for one in baselines))
    values = [value_row(one, f"V{number}") for number, one in enumerate(find_settings(paper, known), 1)]
    results, unsure = expected_results(paper, own)
    results = [{"id": f"E{number}", **row} for number, row in enumerate(results, 1)]
    packages = find_packages(paper)
    uncertain = [*_left_out(paper, requirements, components), *doubts_of_listings(components)]
    uncertain += [*_uncertain(paper, requirements, values, unsure)]
    return assemble_plan(
        outline,
        {
            "requirements": requirements,
            "components": components,
            "values": values,
            "datasets": _data_rows(datasets, paper),
            "metrics": _mention_rows(metrics),
            "baselines": _mention_rows(baselines),
            "expected_results": results,
            "experiments": experiments_of(results),
            "uncertain": uncertain,
        },
        requests,
        [Mention(*one) for one in packages],
    )


def assemble_plan(
    outline: Mapping[str, Any], found: Row, requests: Sequence[str], packages: Sequence[Mention] = ()
) -> Row:
    """The plan of what was found and asked for, with its files and their order."""
    requirements, components = list(found["requirements"]), list(found["components"])
    for text in requests:
        _add_request(text, requirements, components)
    if not requirements:
        requirements = [_missing_requirement(outline)]
    files = plan_files(package_name(outline["title"] or "paper"), requirements, components, found["values"])
    return {
        "plan_version": 2,
        "paper": {
            "title": outline["title"] or "untitled",
            "core_contribution": _core_contribution(outline["abstract"] or outline["title"] or ""),
        },
        **found,
        "requirements": requirements,
        "components": components,
        "file_structure": files,
        "validation_approach": {"verify_commands": [VERIFY]},
        "environment_setup": {
            "python": PYTHON,
            "packages": [one.name for one in packages],
            **({"sources": _mention_rows(packages)} if packages else {}),
        },
        "implementation_strategy": [row["path"] for row in files],
    }


def component_of_wish(text: str, requirement: Mapping[str, Any], number: int) -> Row:
    """The component of a wish in plain words."""
    return {
        "id": f"C{number}",
        "name": request_name(text) or "wish",
        "what": text,
        "source": requirement["source"],
        "requirements": [requirement["id"]],
    }


def _add_request(text: str, requirements: list[Row], components: list[Row]) -> None:
    """What somebody asks for becomes a requirement of the component that it is about, else of one for all such wishes."""
    said = " ".join(text.split())
    row: Row = {
        "id": f"R{len(requirements) + 1}",
        "kind": "artifact",
        "text": said,
        "source": {"section": "review", "page": 0, "quote": quote_start(said)},
        "status": "stated",
    }
    home = _component_about(said, components) or next((one for one in components if one["name"] == ASKED_FOR), None)
    if home is None:
        home = {**component_of_wish(said, row, len(components) + 1), "name": ASKED_FOR, "requirements": []}
        components.append(home)
    row["component"] = home["id"]
    home["requirements"].append(row["id"])
    requirements.append(row)


def _component_about(text: str, components: Sequence[Row]) -> Row | None:
    """The component most of whose telling words a text has; None where none has as much as half of them in it."""
    words = set(name_words(text))

    def share(row: Row) -> tuple[float, int]:
        core = core_words(row["name"])
        return len(core & words) / len(core) if core else 0.0, len(core)

    best = max(components, key=share, default=None)
    return best if best is not None and share(best)[0] >= _SHARED else None


def _component_rows(found: Sequence[Component], homes: Sequence[int | None], requirements: Sequence[Row]) -> list[Row]:
    """The components with their requirements; each requirement is told its component."""
    rows: list[Row] = []
    for number, one in enumerate(found, 1):
        said = one.sentence.text if one.sentence else ""
        section = one.sentence.section if one.sentence else one.section
        rows.append(
            {
                "id": f"C{number}",
                "name": one.name,
                "what": said,
                "source": {
                    "section": section["number"] or section["title"] or None,
                    "page": one.sentence.page if one.sentence else one.page,
                    "quote": quote_start(said) if said else one.name,
                },
                **({"algorithm": one.algorithm} if one.algorithm else {}),
                **({"steps": one.steps} if one.steps else {}),
                **({"equations": one.equations} if one.equations else {}),
                "requirements": [],
            }
        )
    for requirement, home in zip(requirements, homes, strict=True):
        if home is not None:
            requirement["component"] = rows[home]["id"]
            rows[home]["requirements"].append(requirement["id"])
    return rows


def _mention_rows(found: Sequence[Mention]) -> list[Row]:
    return [mention_row(one) for one in found]


def _data_rows(found: Sequence[Mention], paper: PaperText) -> list[Row]:
    """The data sets, each with the address and the licence that the paper prints beside its name."""
    names = {one.name for one in found}
    rows = []
    for one in found:
        said = {
            name: find(one.name, paper.text, names)
            for name, find in (("address", find_link), ("licence", find_licence))
        }
        rows.append({**mention_row(one), **{name: text for name, text in said.items() if text}})
    return rows


def _uncertain(
    paper: PaperText, requirements: Sequence[Row], values: Sequence[Row], tables: Sequence[str]
) -> list[Row]:
    """What the rules could not decide, for the reviewer."""
    count = len(requirements)
    known = (
        f"Only {count} sentences are known as requirements"
        if count > 1
        else "Only one sentence is known as a requirement"
    )
    known = known if count else "No sentence is known as a requirement"
    few = f"{known}: {_why_few(paper)} Read the paper, and add what is missing."
    rows: list[Row] = [{"what": few}] if len(requirements) < _FEWEST else []
    rows += [
        {
            "about": table,
            "what": f"Which rows of {table} are the method's own is not said in words that the rules know: what is not a "
            "cited method's or a baseline's is given.",
        }
        for table in dict.fromkeys(tables)
    ]
    rows += doubts_of_values(values)
    return rows if values else [*rows, {"what": "No value is stated in a sentence or table that the rules can read."}]


def _left_out(paper: PaperText, requirements: Sequence[Row], components: Sequence[Row]) -> list[Row]:
    """The algorithms and listings that what is built points to, and that no component has; with the requirements that do."""
    shown = {str(row.get("algorithm")) for row in components}
    pointing: dict[str, list[str]] = {}
    texts = [("", one.text) for one in paper.sentences if one.role in (BUILD, SETUP, MIXED)]
    for name, text in (*((row["id"], row["text"]) for row in requirements), *texts):
        for kind, number in _POINTS_TO.findall(text):
            pointing.setdefault(f"{kind} {number}", []).append(name)
    return [
        {
            **({"about": ", ".join(about)} if (about := dict.fromkeys(filter(None, ids))) else {}),
            "what": f"{label}, to which {'this' if about else 'the paper'} points, is not in the plan: read it in the paper.",
        }
        for label, ids in pointing.items()
        if label not in shown
    ][:_MOST_DOUBTS]


def _why_few(paper: PaperText) -> str:
    letters = "".join(one.text for one in paper.sentences[:400])
    if letters and sum(letter.isascii() for letter in letters) < 0.7 * len(letters):
        return "the rules know English words best, and the paper is in another language."
    if not paper.sentences:
        return "the paper has no text that could be read."
    roles = set(paper.roles.values())
    return (
        "no section is known to say what is built."
        if not roles & {"build", "setup"}
        else "few of its sentences say plainly what is done."
    )


def _core_contribution(abstract: str) -> str:
    """The sentences of an abstract that say what is new, else its first ones; whole ones, as many as fit."""
    sentences = list(sentences_of(" ".join(abstract.split())))
    kept: list[str] = []
    length = 0
    for sentence in [sentence for sentence in sentences if _NEW.search(sentence)] or sentences:
        length += len(sentence) + 1
        if kept and length > _LONGEST_CONTRIBUTION:
            break
        kept.append(sentence)
    return " ".join(kept)[: 2 * _LONGEST_CONTRIBUTION]


def _missing_requirement(outline: Mapping[str, Any]) -> Row:
    """The one requirement of a paper in which no rule finds any: it says so."""
    named = " ".join(str(outline["title"] or outline["abstract"] or "what was given").split())[:240]
    return {
        "id": "R1",
        "kind": "artifact",
        "text": f"Nothing to build was found by rules in: {named}. Say at the review what is wanted, or plan with a model "
        "(--plan-model).",
        "source": {"section": None, "page": 1, "quote": ""},
        "status": "missing",
    }
