"""Measures what becomes of papers, from the file to the plan, beside what other readers make of the same files.

    python benchmarks/reader/bench.py [--papers FOLDER] [--only verdicts,headings,references,time,coverage,segments,templates]
        [--peers pdftotext,pypdfium2,markitdown,pymupdf4llm] [--scorer FILE.py] [--measure FOLDER]
        [--rounds N] [--folder WORK] [--each]

FOLDER holds manifest.json (a list of papers: id, file, expect, and where known latex_source, gt.gold, gt.rubric). A gold
file lists title, sections and references. FILE.py has `score(rubric, text)`; without one the coverage is left out.
Papers in other templates lie in FOLDER/other, their gold in FOLDER/gold-reading; --measure names the folder of
reading_quality.py, which scores them. Their two halves are told apart (templates.py).
Every figure comes from the real command in a tasks folder of its own; a peer's time is that of its text
alone. A benchmark reports: the exit code is 0 in any case.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import peers as others
from measures import MEASURES, Row
from runs import Bench, papers_of
from templates import HALVES
from templates import TARGETS as TEMPLATE_TARGETS

TARGETS = {
    "verdicts and exit codes as expected": (">=", 1.0),
    "heading F1": (">=", 0.95),
    "heading precision": (">=", 0.95),
    "heading recall": (">=", 0.95),
    "titles": (">=", 1.0),
    "reference count error, median": ("<=", 0.03),
    "references in a block of their own": (">=", 0.95),
    "heading F1, LaTeX": (">=", 0.99),
    "heading precision, LaTeX": (">=", 0.99),
    "heading recall, LaTeX": (">=", 0.99),
    "titles, LaTeX": (">=", 1.0),
    "reference count error, median, LaTeX": ("<=", 0.03),
    "references in a block of their own, LaTeX": (">=", 0.95),
    "seconds to outline.json, median": ("<=", 1.0),
    "times the bare text extraction, median": ("<=", 6.0),
    "rubric coverage at 2k tokens": (">=", 0.70),
    "rubric coverage at 4k tokens": (">=", 0.80),
    "rubric coverage at 8k tokens": (">=", 0.85),
    "characters in exactly one segment": (">=", 1.0),
    "times the bare text extraction, 95th percentile": ("<=", 10.0),
    **{f"{figure}, {half}": target for figure, target in TEMPLATE_TARGETS.items() for half in HALVES.values()},
}


def main() -> None:
    """Runs what is asked for and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = os.path.join(os.path.dirname(ROOT), "shared", "papers")
    parser.add_argument("--papers", default=os.environ.get("PIPELINE_PAPERS", beside))
    parser.add_argument("--only", default=",".join(MEASURES), help="the sections to print")
    parser.add_argument("--peers", default=",".join(others.PEERS), help="whom to compare with; empty for nobody")
    parser.add_argument("--measure", default=os.path.join(os.path.dirname(ROOT), "shared", "measure"))
    parser.add_argument("--scorer", help="a Python file with score(rubric, text)")
    parser.add_argument(
        "--rounds", type=lambda words: max(1, int(words)), default=5, help="pairs a paper, for the times"
    )
    parser.add_argument("--folder", help="where to work; the peers' environments stay there for the next time")
    parser.add_argument(
        "--command", default=os.path.join(ROOT, ".venv", "bin", "pipeline"), help="the pipeline to measure"
    )
    parser.add_argument("--each", action="store_true", help="a line for every paper, too")
    given = parser.parse_args()
    if not os.path.isfile(os.path.join(given.papers, "manifest.json")):
        print(f"no manifest.json in {given.papers}; name a folder of papers with --papers, or in PIPELINE_PAPERS")
        return
    for word, known in (("only", tuple(MEASURES)), ("peers", tuple(others.PEERS))):
        if wrong := [name for name in getattr(given, word).split(",") if name and name not in known]:
            print(f"--{word}: there is no {wrong[0]}; there are {', '.join(known)}")
            return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if given.folder:
        os.makedirs(given.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="bench-", dir=given.folder)
    try:
        _measure(folder, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(folder: str, given: argparse.Namespace) -> None:
    names = [name for name in given.peers.split(",") if name]
    peers = others.Peers(os.path.join(given.folder or folder, "peers"), names)
    bench = Bench(folder, given.command, papers_of(given.papers), peers, given)
    rows: list[Row] = []
    for section in filter(None, given.only.split(",")):
        print(f"({section})", file=sys.stderr, flush=True)
        rows += MEASURES[section](bench)
    print("\n".join(table(rows, ["pipeline", *peers.names])))


def table(rows: list[Row], names: list[str]) -> Iterator[str]:
    """The figures as Markdown, each with its target and whether it is reached."""
    yield f"| figure | target | reached | {' | '.join(names)} |"
    yield f"|---|---|---|{'---|' * len(names)}"
    for figure in dict.fromkeys(row[0] for row in rows):
        found = {who: (value, words) for name, who, value, words in rows if name == figure}
        sign, bound = TARGETS[figure]
        value = found.get("pipeline", (None, ""))[0]
        reached = "–" if value is None else "yes" if (value >= bound if sign == ">=" else value <= bound) else "NO"
        cells = (found.get(name, (None, ""))[1] for name in names)
        yield f"| {figure} | {sign} {bound:g} | {reached} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
