"""What is measured, a function a section; each gives rows for one table."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial

import peers as others
import score
from runs import OK, Bench, Paper, Run
from templates import templates

STOPPED, FAILED = 0, 1
CUTS = {"2k": 8_000, "4k": 16_000, "8k": 32_000}
"""Tokens of a plan, at four characters each."""
Row = tuple[str, str, float | None, str]
"""Figure, who, value, and the value in words."""


def verdicts(bench: Bench) -> Iterator[Row]:
    """Whether each file ends as the manifest expects: a readable one stops where asked, the others fail with a reason."""
    right = 0
    for paper in bench.papers:
        run = bench.run(paper.path)
        allowed = {"broken_or_partial": ("broken", OK)}.get(paper.expect, (paper.expect,))
        fine = run.verdict in allowed and run.code == (STOPPED if run.verdict == OK else FAILED)
        right += fine
        bench.note(f"{paper.name}: {run.verdict}, exit code {run.code}{'' if fine else f', EXPECTED {paper.expect}'}")
    yield "verdicts and exit codes as expected", "pipeline", *_share(right, len(bench.papers))


def headings(bench: Bench) -> Iterator[Row]:
    """Section titles and titles of papers, against the gold files."""
    yield from _headings_of(bench, "", "pipeline", _readable(bench), lambda paper: _own(bench.run(paper.path)))
    latex = [paper for paper in _readable(bench) if paper.latex]
    if latex:
        yield from _headings_of(bench, ", LaTeX", "pipeline", latex, lambda paper: _own(bench.run(str(paper.latex))))
    for name in bench.peers.names:
        yield from _headings_of(bench, "", name, _readable(bench), partial(_peers, bench, name))


def _headings_of(
    bench: Bench,
    source: str,
    who: str,
    papers: list[Paper],
    found: Callable[[Paper], tuple[list[str], list[str]]],
) -> Iterator[Row]:
    scores, titles, titled = [], 0, [paper for paper in papers if paper.gold.get("title")]
    for paper in titled:
        names, sections = found(paper)
        right = score.plain(paper.gold["title"]) in map(score.plain, names)
        titles += right
        words = f"{paper.name}{source}, {who}: title {'right' if right else f'WRONG: {names[:1]}'}"
        if known := [row["title"] for row in paper.gold.get("sections", ())]:
            scores.append(score.headings(known, sections))
            words += f", F1 {scores[-1].f1:.3f} P {scores[-1].precision:.3f} R {scores[-1].recall:.3f}"
        bench.note(words)
    for figure in ("f1", "precision", "recall"):
        name = "F1" if figure == "f1" else figure
        yield f"heading {name}{source}", who, *_mean([getattr(row, figure) for row in scores])
    yield f"titles{source}", who, *_share(titles, len(titled))


def references(bench: Bench) -> Iterator[Row]:
    """How many references are found, and whether each one stands alone."""
    yield from _references_of(bench, "", [(paper, paper.path) for paper in _readable(bench)])
    yield from _references_of(bench, ", LaTeX", [(paper, paper.latex) for paper in _readable(bench) if paper.latex])
    for name in bench.peers.names:
        alone = [
            score.own_blocks(wanted, score.peer_blocks(bench.peers.extract(name, paper.path).text))
            for paper in _readable(bench)
            if (wanted := _wanted(bench, paper))
        ]
        yield "references in a block of their own", name, *_mean(alone)


def _references_of(bench: Bench, source: str, files: list[tuple[Paper, str]]) -> Iterator[Row]:
    errors, alone = [], []
    for paper, path in files:
        if not (wanted := _wanted(bench, paper)):
            continue
        outline = bench.run(path).document("outline.json") or {"references": []}
        count = len(paper.gold["references"])
        errors.append(abs(len(outline["references"]) - count) / count)
        alone.append(score.own_blocks(wanted, [row["raw"] for row in outline["references"]]))
        bench.note(
            f"{paper.name}{source}: {len(outline['references'])} references of {count}, {alone[-1]:.3f} of them alone"
        )
    if errors:
        median = statistics.median(errors)
        yield f"reference count error, median{source}", "pipeline", median, f"{median:.3f}"
        yield f"references in a block of their own{source}", "pipeline", *_mean(alone)


def seconds(bench: Bench) -> Iterator[Row]:
    """Whole commands, cold, each beside a bare text extraction of the same paper that ran just before it."""
    own, ratios = [], []
    for paper in _readable(bench):
        bench.fresh_run(
            paper.path, "outline"
        )  # one that does not count: the file, and the modules, come into the cache
        pairs = [
            (bench.peers.timed_bare(paper.path).seconds, bench.fresh_run(paper.path, "outline").seconds)
            for _ in range(bench.given.rounds)
        ]
        own.append(statistics.median(pair[1] for pair in pairs))
        ratios += [statistics.median(pair[1] / pair[0] for pair in pairs)] if pairs[0][0] else []
        bench.note(
            f"{paper.name}: {own[-1]:.3f} s" + (f", {ratios[-1]:.2f} times the bare extraction" if ratios else "")
        )
    if not own:
        return
    figure = "seconds to outline.json, median"
    yield figure, "pipeline", statistics.median(own), f"{statistics.median(own):.2f} (up to {max(own):.2f})"
    if ratios:
        figure = "times the bare text extraction, median"
        middle = statistics.median(ratios)
        yield figure, "pipeline", middle, f"{middle:.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        late = sorted(ratios)[min(len(ratios) - 1, round(0.95 * (len(ratios) - 1)))]
        yield "times the bare text extraction, 95th percentile", "pipeline", late, f"{late:.2f}"
    for name in bench.peers.names:
        took = [bench.peers.extract(name, paper.path).seconds for paper in _readable(bench)]
        words = f"{statistics.median(took):.2f} (up to {max(took):.2f})"
        yield "seconds to outline.json, median", name, statistics.median(took), words


def coverage(bench: Bench) -> Iterator[Row]:
    """How much of what graders look for the beginning of the plan mentions."""
    papers = [paper for paper in _readable(bench) if paper.rubric]
    if not bench.given.scorer or not papers:
        print("(the coverage of rubrics is left out: it needs --scorer, and papers with rubrics)", file=sys.stderr)
        return
    share = score.scorer(bench.given.scorer)
    for name, characters in CUTS.items():
        plans = [bench.run(paper.path).text("initial_plan.txt")[:characters] for paper in papers]
        found = [share(paper.rubric, plan) for paper, plan in zip(papers, plans, strict=True)]
        for paper, one in zip(papers, found, strict=True):
            bench.note(f"{paper.name} at {name}: {one:.3f}")
        yield f"rubric coverage at {name} tokens", "pipeline", *_mean(found)


def segments(bench: Bench) -> Iterator[Row]:
    """Whether the segments together are the paper, on every file that is read."""
    characters, once = 0, 0
    for paper in _readable(bench):
        run = bench.run(paper.path)
        text, index = run.text("paper.md"), run.document("document_segments/document_index.json")
        spans = [(row["start"], row["end"]) for row in index["segments"]] if index else []
        found = score.in_one_segment(len(text), spans)
        characters, once = characters + len(text), once + found
        bench.note(f"{paper.name}: {found:,} of {len(text):,} characters in {len(spans)} segments")
    yield "characters in exactly one segment", "pipeline", *_share(once, characters)


def _readable(bench: Bench) -> list[Paper]:
    return [paper for paper in bench.papers if paper.expect == OK]


def _own(run: Run) -> tuple[list[str], list[str]]:
    outline = run.document("outline.json") or {"title": None, "sections": []}
    return [outline["title"] or ""], [row["title"] or "" for row in outline["sections"]]


def _peers(bench: Bench, name: str, paper: Paper) -> tuple[list[str], list[str]]:
    extract = bench.peers.extract(name, paper.path)
    if extract.failure:
        print(f"({name} on {paper.name}: {extract.failure})", file=sys.stderr)
    title = score.plain(paper.gold["title"])
    # The title of the paper is no section: nobody is charged for a heading that says it.
    found = score.peer_headings(extract.text, markdown=others.PEERS[name].markdown)
    sections = [line for line in found if score.plain(line) != title]
    return score.peer_titles(extract.text), sections


def _wanted(bench: Bench, paper: Paper) -> list[str]:
    titles = [row["title"] for row in paper.gold.get("references", ()) if row.get("title")]
    return score.wanted_references(titles, bench.peers.bare_text(paper.path)) if titles else []


def _mean(found: list[float]) -> tuple[float | None, str]:
    return (statistics.mean(found), f"{statistics.mean(found):.3f}") if found else (None, "none to score")


def _share(part: int, whole: int) -> tuple[float | None, str]:
    return (part / whole, f"{part:,} of {whole:,}") if whole else (None, "none to score")


MEASURES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "verdicts": verdicts,
    "headings": headings,
    "references": references,
    "time": seconds,
    "coverage": coverage,
    "segments": segments,
    "templates": templates,
}
