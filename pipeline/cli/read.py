"""`pipeline read`: what the reader makes of a paper, without a task."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pipeline.base.errors import PhaseError
from pipeline.cli.arguments import answers, complete_files
from pipeline.cli.assembly import settings_from
from pipeline.cli.output import Answer, notify, print_text, refuse_other_file, write_page
from pipeline.cli.task_factory import refuse_unusable

if TYPE_CHECKING:
    from pipeline.base.formats import Markdown
    from pipeline.engine.settings import Settings

_LISTED = ("sections", "references", "equations", "algorithms", "tables", "figures", "links")

_PAGE_START = "<!doctype html>\n<html><head><meta charset="


@click.command("read")
@click.argument("file", metavar="SOURCE", shell_complete=complete_files)
@click.option(
    "--html",
    metavar="OUT",
    help="Also write a page that puts the paper's pages beside the Markdown.",
    shell_complete=complete_files,
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the paper as Markdown.")
@click.option("--password", metavar="WORD", help="Opens an encrypted PDF.")
@answers
def read_command(file: str, html: str | None, as_markdown: bool, password: str | None) -> Answer:
    """Show what the reader makes of SOURCE, which is what `run` takes, and make no task of it.

    \b
    pipeline read paper.pdf                     title, outline, counts, verdict
    pipeline read paper.pdf --html look.html    the pages beside what was read
    """
    settings = settings_from({"password": password})
    password = settings.password or None
    with tempfile.TemporaryDirectory() as folder:
        kind, path = _copy_source(file, folder, settings)
        paper = _read_paper(file, kind, path, password)
        outline = _build_outline(paper)
        if html:
            _write_preview(paper, kind, path, password, html)
    value = {"verdict": paper.front["verdict"], "reader": paper.front["reader"], **outline}
    return Answer(value, lambda: print_text(paper.text) if as_markdown else _show_paper(file, paper, outline))


def _copy_source(file: str, folder: str, settings: Settings) -> tuple[str, str]:
    """The kind of a source, and where its files lie now, for the reader alone."""
    from phases.readers.arxiv import arxiv_id
    from phases.readers.intake import IntakeLimits, load_source
    from phases.readers.kinds import LATEX
    from phases.readers.reading import Unreadable

    if "://" not in file and arxiv_id(file) is None:
        refuse_unusable(os.path.abspath(file), settings, command="read")
    private = settings.private_addresses == "allowed"
    limits = IntakeLimits(settings.max_source_mb * 2**20, settings.download_seconds, settings.arxiv, private)
    try:
        source, _ = load_source(file, limits, notify)
    except Unreadable as error:
        raise PhaseError(f"{file} {error.detail}") from error
    for name, content in source.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as copy:
            copy.write(content)
    return source.kind, folder if source.kind == LATEX else path


def _read_paper(file: str, kind: str, path: str, password: str | None) -> Markdown:
    from phases.readers.markdown import paper_document
    from phases.readers.reader_subprocess import read_in_subprocess, run_worker
    from phases.readers.reading import OK, explain_verdict

    reading = read_in_subprocess(kind, path, password, run=partial(run_worker, environment=os.environ))
    if reading.verdict != OK:
        raise PhaseError(f"{file}: {reading.verdict}: it {explain_verdict(reading, file)}")
    return paper_document(reading, "0" * 64, kind)


def _build_outline(paper: Markdown) -> dict[str, Any]:
    from phases.readers.outline import outline_of

    return outline_of(paper)


def _write_preview(paper: Markdown, kind: str, path: str, password: str | None, out: str) -> None:
    from phases.pages.preview import render_preview
    from phases.readers.reader_subprocess import draw_pages, run_worker

    refuse_other_file(out, _PAGE_START)
    pictures = draw_pages(path, password, run=partial(run_worker, environment=os.environ)) if kind == "pdf" else {}
    write_page(out, render_preview(paper, pictures))


def _show_paper(file: str, paper: Markdown, outline: dict[str, Any]) -> None:
    front = paper.front
    print_text(f"{file}: {front['verdict']} ({front['reader']})")
    print_text(f"  title    {outline['title'] or '(none found)'}")
    if outline["authors"]:
        print_text(f"  authors  {', '.join(outline['authors'])}")
    counts = ", ".join(f"{len(outline[name])} {name}" for name in _LISTED)
    print_text(f"  holds    {front['pages']} pages, {front['characters']:,} characters, {counts}")
    if outline["hidden_text"]:
        print_text(f"  hidden   {len(outline['hidden_text'])} pieces of text that no page shows:")
        for row in outline["hidden_text"][:5]:
            print_text(f"           page {row['page']}, {row['how'].replace('_', ' ')}: {row['text'][:80]}")
    print_text()
    for section in outline["sections"]:
        number = f"{section['number']} " if section["number"] else ""
        print_text(f"  p. {section['page']:<4}{'  ' * (section['level'] - 1)}{number}{section['title']}")
