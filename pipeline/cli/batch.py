"""`pipeline batch`: many papers, some at a time. The state of each is its task directory; the batch has none of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import click

from pipeline.base.errors import UsageError
from pipeline.base.files import read_bytes, write_durable
from pipeline.cli.arguments import complete_files
from pipeline.cli.batches import record_batch
from pipeline.cli.options import RunCommand, run_options
from pipeline.cli.output import notify, print_advice, print_json, print_table, write_page
from pipeline.cli.run_batch import Paper, run_batch
from pipeline.cli.run_task import check_options
from pipeline.cli.task_factory import PACKED, name_source

_LISTS = (".txt", ".csv")
_WORST_FIRST = (70, 1, 2, 4, 75, 3, 5)
_HEADER = ("PAPER", "STATUS", "EVIDENCE", "SECONDS", "USD", "WHY")
_COUNTS = ("unlocated", "stubbed", "located", "run", "guarded")


@click.command("batch", cls=RunCommand)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--jobs", metavar="N", type=click.IntRange(1, 256), default=1, help="How many papers at a time (1).")
@click.option(
    "--engine",
    type=click.Choice(["local", "slurm", "dask"]),
    default="local",
    help="Where papers are run: here (the default), as a Slurm array, or by Dask's workers. docs/machines.md says how.",
)
@click.option(
    "--where",
    metavar="TEXT",
    default="",
    help="Options for sbatch; or the address of Dask's scheduler, or a class of clusters with arguments.",
)
@click.option("--csv", "csv_file", metavar="FILE", help="Also write the table as CSV.", shell_complete=complete_files)
@click.option("--html", metavar="FILE", help="Also write the table as a page.", shell_complete=complete_files)
@click.option("--json", "rows_as_json", is_flag=True, help="Print the table as JSON.")
@run_options(without=("password", "redo", "add_usd", "verbose", "as_json"))
def batch_command(
    sources: tuple[str, ...],
    jobs: int,
    engine: str,
    where: str,
    csv_file: str | None,
    html: str | None,
    rows_as_json: bool,
    **options: Any,
) -> int:
    """Turn many papers into code: files, addresses, directories of papers, or lists (LIST.txt: a source a line; LIST.csv: in
    the column `source`).

    The same command goes on after anything: what is finished is neither done nor paid for again. One paper that fails stops
    no other. Ctrl-C stops them all in order.

    \b
    pipeline batch --fast papers/ --jobs 4
    pipeline batch --fast papers/ --jobs 40 --engine slurm --where "--partition=cpu --time=4:00:00"
    pipeline batch --fast list.txt --jobs 4 --model openai:gpt-5 --batch-usd 20 --csv table.csv
    """
    options.update(verbose=False, as_json=False, redo=None, add_usd=None)
    settings, flags = check_options(options)
    found = list(dict.fromkeys(paper for source in sources for paper in expand_source(source)))
    papers = [Paper(source) for source in found]
    record_batch(settings.tasks_dir, sources, _name_sources(found))
    if engine == "local":
        signal_code = run_batch(papers, jobs, settings, flags, options)
    else:
        from pipeline.cli.engines import run_elsewhere  # imported here: most batches run on this machine

        signal_code = run_elsewhere(engine, where, papers, jobs, settings, flags)
    if rows_as_json:
        print_json([paper.facts() for paper in papers])
    elif any(paper.root for paper in papers):  # else each was told of, and there is nothing to count
        print_table([_row(paper) for paper in papers], header=_HEADER)
        print_advice(f"\n{_total(papers)}")
        if signal_code or any(paper.exit_code not in (0, 3) for paper in papers):
            print_advice("The same command continues what is not finished.")
    _write_files(papers, csv_file, html)
    return signal_code or next((code for code in _WORST_FIRST if any(p.exit_code == code for p in papers)), 0)


def _name_sources(sources: list[str]) -> list[str]:
    """Return the sources as tasks name them; one that cannot be named fails as a paper, and not here."""
    names = []
    for source in sources:
        with suppress(UsageError):
            names.append(name_source(source)[0])
    return names


def _write_files(papers: list[Paper], csv_file: str | None, html: str | None) -> None:
    """Write the table to the requested files."""
    if csv_file:
        write_durable(os.path.abspath(csv_file), _as_csv(papers).encode())
        notify(f"wrote {csv_file}")
    if html:
        from phases.pages.render import page_start, render_file  # imported here: only --html needs it

        start, rows = page_start("batch"), [_row(paper) for paper in papers]
        shown = {"header": _HEADER, "rows": rows, "total": _total(papers)}
        write_page(html, start, lambda: render_file(start, "pipeline batch", "batch_file.html", shown, ("papers",)))


def expand_source(source: str) -> list[str]:
    """Return the papers of a command-line word. Raises UsageError for a list or directory without one."""
    if os.path.isfile(source) and source.lower().endswith(_LISTS):
        return _read_list(source)
    if os.path.isdir(source):
        return _list_directory(source)
    if source.endswith((os.sep, *_LISTS)) and "://" not in source and not os.path.lexists(source):
        raise UsageError(f"{source} does not exist; check the name")
    return [source]


def _list_directory(source: str) -> list[str]:
    """Return the papers in a directory, and warn of archives of other things, which are left out."""
    from phases.readers.intake import (
        IN_ARCHIVES,
        find_bundle,
        is_other_archive,
        list_papers,
    )  # imported here: TAB must import no phase

    papers = [paper for paper in list_papers(source) if not paper.endswith(PACKED)]
    for entry in sorted(os.listdir(source)):
        if is_other_archive(os.path.join(source, entry)):
            notify(f"left out: {os.path.join(source, entry)}: {IN_ARCHIVES}")
    beside = [entry for entry in os.listdir(source) if papers == [source] and entry.lower().endswith(".pdf")]
    if beside and not find_bundle(source):
        notify(f"{source} is one paper in LaTeX; PDFs in it are treated as its figures ({len(beside)})")
    if not papers:
        raise UsageError(f"{source} holds no paper that can be read: no PDF, LaTeX source, HTML, Word file or text")
    return papers


def _read_list(path: str) -> list[str]:
    """Return the sources in a list; relative paths are relative to the list."""
    import csv  # imported here, both: only a list needs them
    import io

    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text, so it cannot be a list of sources") from error
    if path.lower().endswith(".csv"):
        rows = csv.DictReader(io.StringIO(text, newline=""))
        if "source" not in (rows.fieldnames or ()):
            raise UsageError(f"{path} has no column 'source'; its first line must name the columns")
        words = [(row["source"] or "").strip() for row in rows]
    else:
        words = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    beside = os.path.dirname(path)
    found = [
        os.path.join(beside, word) if os.path.lexists(os.path.join(beside, word)) else word for word in words if word
    ]
    if not found:
        raise UsageError(f"{path} names no source; put one on each line")
    return found


def _row(paper: Paper) -> tuple[str, ...]:
    level = "run" if paper.counts.get("measured") else "located"
    evidence = f"{paper.counts.get(level, 0)} of {paper.requirements} {level}" if paper.requirements else ""
    why = paper.reason if len(paper.reason) <= 70 else paper.reason[:69].rpartition(" ")[0].rstrip(" ;:,") + " …"
    return paper.name, paper.status, evidence, f"{paper.seconds:.1f}", f"{paper.usd:.2f}", why


def _total(papers: list[Paper]) -> str:
    counts = {status: sum(paper.status == status for paper in papers) for status in (p.status for p in papers)}
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    spent = sum(paper.usd for paper in papers)
    return f"{len(papers)} paper{'s' * (len(papers) != 1)}: {told}; {sum(p.seconds for p in papers):.0f} s of work, ${spent:.2f}"


def _as_csv(papers: list[Paper]) -> str:
    import csv  # imported here, both: only --csv needs them
    import io

    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["source", "task", "status", "exit_code", "requirements", *_COUNTS, "seconds", "usd", "reason"])
    for paper in papers:
        counts = [paper.counts.get(name, 0) for name in _COUNTS]
        first = [_harmless(paper.source), _harmless(paper.root), paper.status, paper.exit_code, paper.requirements]
        writer.writerow([*first, *counts, round(paper.seconds, 2), round(paper.usd, 6), _harmless(paper.reason)])
    return table.getvalue()


def _harmless(text: str) -> str:
    """Return a cell that no spreadsheet reads as a formula: names and reasons are untrusted."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
