"""The plan by rules: what the paper says, sentence by sentence and value by value, and the files that would meet it.

Deterministic, and without a model. Nothing here is invented: what the rules cannot decide is told in `uncertain`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from phases.planning.plan_words import is_in_formula
from phases.planning.rules.component_homes import assign_components, join_small_parts
from phases.planning.rules.component_names import core_words, name_words
from phases.planning.rules.component_readings import STEPS
from phases.planning.rules.components import Component, find_components
from phases.planning.rules.data_links import find_licence, find_link
from phases.planning.rules.data_sentences import find_data_sentences
from phases.planning.rules.experiments import experiments_of, find_sizes
from phases.planning.rules.gaps import gaps_of
from phases.planning.rules.layout import plan_files
from phases.planning.rules.listing_doubts import doubts_of_listings
from phases.planning.rules.mentions import BASELINES, DATASETS, METRICS, Mention, find_mentions, mention_row
from phases.planning.rules.name_candidates import find_candidates
from phases.planning.rules.naming import package_name, request_name
from phases.planning.rules.own_names import own_names
from phases.planning.rules.owners import Known, is_other
from phases.planning.rules.packages import find_packages
from phases.planning.rules.passages import PaperText, find_caption, read_paper
from phases.planning.rules.requirement_choice import MOST, choose_requirements, is_told_in
from phases.planning.rules.requirements import Requirement, find_requirements, quote_start, requirement_row
from phases.planning.rules.results import expected_results
from phases.planning.rules.sections import BUILD, MIXED, RESULTS, SETUP
from phases.planning.rules.sentences import sentences_of
from phases.planning.rules.settings import find_settings, value_row
from phases.planning.rules.table_kinds import caption_of
from phases.planning.rules.table_uses import captions_of, use_tables
from phases.planning.rules.tables import METHOD_HEAD
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
_FEWEST, _MOST_DOUBTS, _MOST_NAMED = 8, 8, 4
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
Homes = list[tuple[Requirement, int | None]]
"""Requirements, each with the place of its component."""


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
    found, chosen = _choose(paper, own, found)
    requirements = _requirement_rows(paper, chosen)
    components = _component_rows(paper, *_without_empty(found, chosen), requirements)
    known = Known(tuple(own), tuple(one.name for one in datasets), tuple(one.name for one in baselines))
    values = [value_row(one, f"V{number}") for number, one in enumerate(find_settings(paper, known), 1)]
    targets, unsure = _target_rows(paper, own, values, requirements)
    packages = find_packages(paper)
    named = {"data set": datasets, "metric": metrics, "baseline": baselines}
    uncertain = [
        *_few_requirements(paper, requirements, values),
        *_left_out(paper, requirements, components),
        *doubts_of_listings(components),
        *gaps_of(paper, requirements, components, values),
        *doubts_of_values(values),
        *_unsure_tables(unsure, paper, known),
        *([] if targets["expected_results"] else _only_drawn(paper)),
        *_guessed(named),
    ][:_MOST_DOUBTS]
    return assemble_plan(
        outline,
        {
            "requirements": requirements,
            "components": components,
            "values": values,
            "datasets": _data_rows(datasets, paper),
            "metrics": _mention_rows(metrics),
            "baselines": _mention_rows(baselines),
            **targets,
            "uncertain": uncertain,
        },
        requests,
        [Mention(*one) for one in packages],
        own,
    )


def _choose(paper: PaperText, own: Sequence[str], found: Sequence[Component]) -> tuple[list[Component], Homes]:
    """The components, and the requirements of the paper, each with the place of the component that it is about."""
    asked = find_requirements(paper, [*own, *(one.name for one in found)])
    if len(asked) > MOST:  # what is a step of a component needs no place among them
        steps = " ".join(step for one in found if one.algorithm == STEPS for step in one.steps)
        asked = [row for row in asked if not is_told_in(steps, row)]
    parts, homes = assign_components(asked, found, paper)
    return parts, choose_requirements(asked, homes)


def _requirement_rows(paper: PaperText, chosen: Homes) -> list[Row]:
    about_data = find_data_sentences(paper)
    return [
        {
            **requirement_row(row, f"R{number}"),
            **({"kind": "dataset"} if home is None and row.place in about_data else {}),
        }
        for number, (row, home) in enumerate(chosen, 1)
    ]


def _target_rows(
    paper: PaperText, own: Sequence[str], values: Sequence[Row], requirements: Sequence[Row]
) -> tuple[dict[str, list[Row]], list[str]]:
    """What the paper reports, what is to be run for it, and what each table is used as; and the tables whose rows are unsure."""
    found = expected_results(paper, own)
    results = [{"id": f"E{number}", **row} for number, row in enumerate(found.rows, 1)]
    doubted = {name for row in doubts_of_values(values) for name in str(row.get("about", "")).split(", ")}
    return {
        "expected_results": results,
        "experiments": experiments_of(results, paper, captions_of(paper), find_sizes(values, doubted)),
        "tables": use_tables(paper, results, values, found.shortened, requirements),
    }, found.unsure


def assemble_plan(
    outline: Mapping[str, Any],
    found: Row,
    requests: Sequence[str],
    packages: Sequence[Mention] = (),
    own: Sequence[str] = (),
) -> Row:
    """The plan of what was found and asked for, with its files and their order."""
    requirements, components = list(found["requirements"]), list(found["components"])
    for text in requests:
        _add_request(text, requirements, components)
    if not requirements:
        requirements = [_missing_requirement(outline)]
    package = package_name(outline["title"] or "paper", own)
    files = plan_files(package, requirements, components, found["values"], outline.get("sections", ()))
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


def _without_empty(found: Sequence[Component], chosen: Homes) -> tuple[list[Component], list[int | None]]:
    """The components of which the paper says more than a name; and the homes of the requirements then."""
    homes = join_small_parts(found, chosen)
    told = set(homes)
    kept = [
        place
        for place, one in enumerate(found)
        if (one.is_named and one.sentence) or one.equations or one.algorithm or place in told
    ] or list(range(len(found)))
    now = {place: number for number, place in enumerate(kept)}
    return [found[place] for place in kept], [None if home is None else now[home] for home in homes]


def _component_rows(
    paper: PaperText, found: Sequence[Component], homes: Sequence[int | None], requirements: Sequence[Row]
) -> list[Row]:
    """The components with their requirements; each requirement is told its component, and takes its formula from the others."""
    rows: list[Row] = []
    told = [(home, row["formula"]) for row, home in zip(requirements, homes, strict=True) if "formula" in row]
    for number, one in enumerate(found, 1):
        elsewhere = [formula for home, formula in told if home != number - 1]
        equations = [text for text in one.equations if not any(is_in_formula(text, formula) for formula in elsewhere)]
        said = one.sentence.text if one.sentence else ""
        section = one.sentence.section if one.sentence else one.section
        rows.append(
            {
                "id": f"C{number}",
                "name": one.name,
                "what": " ".join(filter(None, (said, find_caption(paper, one.algorithm)))),
                "source": {
                    "section": section["number"] or section["title"] or None,
                    "page": one.sentence.page if one.sentence else one.page,
                    "quote": quote_start(said) if said else one.name,
                },
                **({"algorithm": one.algorithm} if one.algorithm else {}),
                **({"steps": one.steps} if one.steps else {}),
                **({"equations": equations} if equations else {}),
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


def _few_requirements(paper: PaperText, requirements: Sequence[Row], values: Sequence[Row]) -> list[Row]:
    """That hardly anything was found, and why; that no value was."""
    count = len(requirements)
    known = (
        f"Only {count} sentences are known as requirements"
        if count > 1
        else "Only one sentence is known as a requirement"
    )
    known = known if count else "No sentence is known as a requirement"
    few = f"{known}: {_why_few(paper)} Read the paper, and add what is missing."
    rows: list[Row] = [{"what": few}] if len(requirements) < _FEWEST else []
    return rows if values else [*rows, {"what": "No value is stated in a sentence or table that the rules can read."}]


def _only_drawn(paper: PaperText) -> list[Row]:
    """Where no number is read as a result: the figures among the results, which show what was measured."""
    drawn = [row for row in paper.outline["figures"] if paper.roles.get(row["section"]) in (RESULTS, MIXED)]
    places = ", ".join(f"{row['label']} (p. {row['page']})" for row in drawn[:_MOST_DOUBTS])
    return [{"what": f"No result is read as a number. What was measured is drawn: {places}."}] if drawn else []


def _guessed(named: Mapping[str, Sequence[Mention]]) -> list[Row]:
    """The names that are told although little speaks for them."""
    said = [
        f"{', '.join(names)} as {f'a {kind}' if len(names) == 1 else f'{kind}s'}"
        for kind, found in named.items()
        if (names := [one.name for one in found if not one.is_sure])
    ]
    return [{"what": f"Named with little to go by: {'; '.join(said)}. Look whether they are."}] if said else []


def _unsure_tables(tables: Sequence[str], paper: PaperText, known: Known) -> list[Row]:
    """The tables that have rows or columns of others; one of settings or variants of the method alone leaves no doubt."""
    others = Known(known.own, (), known.others)
    with_others = {
        caption_of(table, paper)[0] or f"unnumbered table on page {table.page}"
        for table in paper.tables
        if table.cells
        and (
            METHOD_HEAD.search(table.cells[0][0])
            or any(
                is_other(label, others) for label in (*table.cells[0][1:], *(row[0] for row in table.cells[1:] if row))
            )
        )
    }
    doubtful = [table for table in dict.fromkeys(tables) if table in with_others]
    if not doubtful:
        return []
    plural = ", ".join(doubtful[:-1]).replace("Table ", "") + f" and {doubtful[-1].removeprefix('Table ')}"
    named = f"tables {plural}" if len(doubtful) > 1 else doubtful[0]
    what = f"Which rows of {named} are the method's own is not said in words that the rules know: all but others' are given."
    return [{"about": ", ".join(doubtful), "what": what}]


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
            **({"about": ", ".join(about)} if (about := list(dict.fromkeys(filter(None, ids)))[:_MOST_NAMED]) else {}),
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
