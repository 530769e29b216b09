"""Put the plan together: what the rules read in a paper, and the files that would hold it. Nothing is invented."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from phases.planning.rules.components import assign, component_rows, find_components
from phases.planning.rules.doubts import find_doubts
from phases.planning.rules.layout import package_name, plan_files, request_name, telling_words
from phases.planning.rules.mentions import data_rows, find_baselines, find_datasets, find_metrics, mention_row
from phases.planning.rules.names import own_names
from phases.planning.rules.passages import ITEM, NOTE, PROSE, Sentence, blocks_of, quote_start, read_paper, sentences_of
from phases.planning.rules.requirements import find_requirements, kind_of, requirement_row
from phases.planning.rules.results import describe_tables, experiments_of, read_results
from phases.planning.rules.sections import BUILD
from phases.planning.rules.values import find_values, value_row, values_in

PYTHON = "Python"
VERSIONS = ">=3.11"
# decision 16: it must run where only Python is installed.
VERIFY = "python -m unittest discover -s tests -t ."
ASKED_FOR = "requested changes"
"""The component of wishes that are about none of the paper's."""
_LONGEST_CONTRIBUTION, _MOST_LINES, _LONGEST_LINE = 600, 2_000, 2_000
_NO_SECTION: Mapping[str, Any] = {"id": "S0", "number": None, "title": "", "level": 1, "page": 1, "start": 0, "end": 0}
Row = dict[str, Any]


def plan_by_rules(text: str, outline: Mapping[str, Any], requests: Sequence[str] = (), *, body_start: int = 0) -> Row:
    """Return initial_plan.txt as a value. Each of `requests` becomes a requirement."""
    paper = read_paper(text, outline, body_start)
    own = own_names(paper)
    uses = read_results(paper, own)
    datasets = find_datasets(paper, uses, own)
    sets = [one.name for one in datasets]
    metrics = find_metrics(paper, uses, sets)
    baselines = find_baselines(paper, uses, own, [*sets, *(one.name for one in metrics)])
    rivals = [one.name for one in baselines]
    components = find_components(paper, [*sets, *rivals, *(one.name for one in metrics)])
    asked = find_requirements(paper, [*own, *(one.name for one in components)])
    requirements = [requirement_row(row, f"R{number}") for number, row in enumerate(asked, 1)]
    rows = component_rows(components, assign(asked, components, paper), requirements, paper)
    values = find_values(paper, own, sets, rivals)
    results = [row for one in uses for row in one.rows]
    results = [{"id": f"E{number}", **row} for number, row in enumerate(results, 1)]
    found: Row = {
        "requirements": requirements,
        "components": rows,
        "values": values,
        "datasets": data_rows(datasets, paper),
        "metrics": [mention_row(one) for one in metrics],
        "baselines": [mention_row(one) for one in baselines],
        "expected_results": results,
        "experiments": experiments_of(uses, results, paper),
        "tables": describe_tables(uses, values, paper),
    }
    return assemble_plan(outline, {**found, "uncertain": find_doubts(paper, found, uses)}, requests, own)


def plan_of_text(body: str, outline: Mapping[str, Any], requests: Sequence[str] = ()) -> Row | None:
    """Return the plan of a request in plain words, a requirement a sentence; None where the text says nothing."""
    lines = list(_lines(body))[:_MOST_LINES]
    if not lines:
        return None
    requirements: list[Row] = []
    components: list[Row] = []
    values: list[Row] = []
    for number, line in enumerate(lines, 1):
        kind = kind_of(line, "other")
        kind = "artifact" if kind in ("model", "algorithm") else kind
        source = {"section": None, "page": 1, "quote": line[:120].rstrip()}
        row: Row = {"id": f"R{number}", "kind": kind, "component": f"C{number}", "text": line}
        requirements.append({**row, "source": source, "status": "stated"})
        components.append(_component_of_wish(line, requirements[-1], number))
        one = Sentence(line, dict(_NO_SECTION), 1, BUILD, PROSE)
        values += [value_row(value, one) for value in values_in(line)]
    named = ("datasets", "metrics", "baselines", "expected_results", "experiments", "uncertain")
    found: Row = {"requirements": requirements, "components": components, **{name: [] for name in named}}
    found["values"] = [{"id": f"V{number}", **row} for number, row in enumerate(values, 1)]
    plan, language = assemble_plan(outline, found, requests), language_of("\n".join([body, *requests]))
    return plan if language == PYTHON else {**plan, **_for_a_model(language)}


def _for_a_model(language: str) -> Row:
    """Return what a plan says of a language that rules cannot lay files out for: only a model knows its files and checks."""
    row: Row = {"path": "README.md", "purpose": f"what is asked for; a model plans its files in {language}"}
    return {
        "language": language,
        "file_structure": [{**row, "implements": [], "depends_on": [], "interface": []}],
        "validation_approach": {"verify_commands": []},
        "environment_setup": {"packages": []},
        "implementation_strategy": ["README.md"],
    }


def assemble_plan(
    outline: Mapping[str, Any],
    found: Row,
    requests: Sequence[str],
    own: Sequence[str] = (),
) -> Row:
    """Return the plan of what was found and asked for, with its files and their order."""
    requirements, components = list(found["requirements"]), list(found["components"])
    for text in filter(str.strip, requests):
        _add_request(text, requirements, components)
    if not requirements:
        requirements = [_missing_requirement(outline)]
    package = package_name(outline["title"] or "paper", own)
    files = plan_files(package, requirements, components, found["values"], outline.get("sections", ()))
    contribution = _core_contribution(outline["abstract"] or outline["title"] or "")
    return {
        "plan_version": 2,
        "paper": {"title": outline["title"] or "untitled", "core_contribution": contribution},
        "language": PYTHON,
        **found,
        "requirements": [_without_echo(row) for row in requirements],
        "components": components,
        "file_structure": files,
        "validation_approach": {"verify_commands": [VERIFY]},
        "environment_setup": {"python": VERSIONS, "packages": []},
        "implementation_strategy": [row["path"] for row in files],
    }


def _without_echo(row: Row) -> Row:
    """Return a requirement without a quote that its text begins with: the text is the proof."""
    echoes = row["status"] == "stated" and row["text"].startswith(row["source"]["quote"])
    return {**row, "source": {**row["source"], "quote": ""}} if echoes else row


def _component_of_wish(text: str, requirement: Mapping[str, Any], number: int) -> Row:
    row = {"id": f"C{number}", "name": request_name(text) or "wish", "what": text, "source": requirement["source"]}
    return {**row, "requirements": [requirement["id"]]}


def _add_request(text: str, requirements: list[Row], components: list[Row]) -> None:
    """Add a wish as a requirement of the component that it names, else of one for all such wishes."""
    said = " ".join(text.split())
    source = {"section": "review", "page": 0, "quote": quote_start(said)}
    row: Row = {"id": f"R{len(requirements) + 1}", "kind": "artifact", "text": said}
    row |= {"source": source, "status": "stated"}
    home = next(
        (
            one
            for one in components
            if set(telling_words(one["name"])) <= set(telling_words(said)) or one["name"] == ASKED_FOR
        ),
        None,
    )
    if home is None:
        home = {**_component_of_wish(said, row, len(components) + 1), "name": ASKED_FOR, "requirements": []}
        components.append(home)
    row["component"] = home["id"]
    home["requirements"].append(row["id"])
    requirements.append(row)


def _core_contribution(abstract: str) -> str:
    told = list(sentences_of(" ".join(abstract.split())))
    lengths = accumulate(len(sentence) + 1 for sentence in told)
    kept = [told[at] for at, length in enumerate(lengths) if not at or length <= _LONGEST_CONTRIBUTION]
    return " ".join(kept)[: 2 * _LONGEST_CONTRIBUTION]


def _missing_requirement(outline: Mapping[str, Any]) -> Row:
    named = " ".join(str(outline["title"] or outline["abstract"] or "what was given").split())[:240]
    text = f"Nothing to build was found by rules in: {named}. Say at the review what is wanted, or plan with a model"
    text = f"{text} (--plan-model)."
    source = {"section": None, "page": 1, "quote": ""}
    return {"id": "R1", "kind": "artifact", "text": text, "source": source, "status": "missing"}


def _lines(body: str) -> Iterator[str]:
    for block in blocks_of(body):
        for sentence in sentences_of(block.text) if block.kind in (PROSE, ITEM, NOTE) else [block.text]:
            line = " ".join(sentence.split())[:_LONGEST_LINE]
            if sum(map(str.isalpha, line)) >= 3:
                yield line


_BARE_TEXT = "TypeScript JavaScript C++ C# PHP Kotlin Haskell Scala Perl Lua Bash MATLAB Fortran OCaml Elixir SQL"
_BARE = _BARE_TEXT.split()
"""Names that mean nothing else."""
_WORDS = "C|R|Go|Java|Rust|Ruby|Swift|Julia|HTML"
"""Names that mean something else, too: `in Go` and `a Go program` name the language."""
_THING = "program|tool|library|package|crate|module|app|application|service|server|code|script|page|command"
_NAMED = re.compile(
    rf"(?:\b(?:[Ii]n|[Uu]sing)\s+|用\s*)(?P<used>{_WORDS})(?![a-zA-Z0-9+#^²'-])"
    rf"|\b(?P<made>{_WORDS})\s+(?:command-line\s+)?(?:{_THING})\b"
)
_PAGE = re.compile(
    r"\b(?:build|make|create|write|design|develop)\s+(?:me\s+)?(?:an?|the|my|our)\s+"
    r"(?:(?!that|which|to|for|of)[\w-]+\s+){0,3}(?:web ?(?:page|site|app)|landing page|react app)\b",
    re.IGNORECASE,
)


def language_of(text: str) -> str:
    """Return the language that a request names; without one JavaScript for a web page, else Python."""
    if re.search("python", text, re.IGNORECASE):
        return PYTHON
    text = re.sub("(?i)shell script", "Bash", re.sub(r"(?i)node\.?js", "JavaScript", text))
    for name in _BARE:
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.IGNORECASE):
            return name
    if found := _NAMED.search(text):
        return found["used"] or found["made"]
    return "JavaScript" if _PAGE.search(text) else PYTHON
