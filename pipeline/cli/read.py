"""`pipeline read`: what the reader makes of a paper, without a task."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from shlex import quote
from typing import Any, NamedTuple

import click

from phases.readers.intake import IntakeLimits, load_source
from phases.readers.kinds import LATEX, PDF
from phases.readers.markdown import paper_document
from phases.readers.origins import is_path
from phases.readers.outline import outline_of
from phases.readers.page_pictures import draw_pages
from phases.readers.reader_subprocess import read_in_subprocess, recognize_letters, run_worker
from phases.readers.reading import GARBLED, NO_TEXT, READABLE, Unreadable, explain_verdict
from pipeline.base.errors import PhaseError
from pipeline.base.formats import Markdown
from pipeline.cli.arguments import answers, complete_files, html_option
from pipeline.cli.assembly import settings_from
from pipeline.cli.output import Answer, notify, print_text, write_page
from pipeline.cli.task_factory import refuse_unusable
from pipeline.engine.settings import Settings

_run = partial(run_worker, environment=os.environ)
_LISTED = ("sections", "references", "equations", "algorithms", "tables", "figures", "links")


@click.command("read")
@click.argument("file", metavar="SOURCE", shell_complete=complete_files)
@html_option("puts the paper's pages beside the Markdown")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the paper as Markdown.")
@click.option("--password", metavar="WORD", help="Opens an encrypted PDF.")
@click.option(
    "--ocr", is_flag=True, help="Have ocrmypdf recognize a scan first; the copy with text is kept as ocr-NAME."
)
@answers
def read_command(file: str, html: str | None, as_markdown: bool, password: str | None, ocr: bool) -> Answer:
    """Show what the reader makes of SOURCE, which is what `run` takes, and make no task of it.

    \b
    pipeline read paper.pdf                     title, outline, counts, verdict
    pipeline read paper.pdf --html look.html    the pages beside what was read
    pipeline read scan.pdf --ocr                the same of a scan, and ocr-scan.pdf to go on with
    """
    settings = settings_from({"password": password})
    with tempfile.TemporaryDirectory() as folder:
        found = read_document(file, folder, settings, ocr=ocr)
        paper, outline = found.paper, found.outline
        if html:
            from phases.pages.preview import PAGE_START, render_preview  # imported here: only --html needs it

            pictures = draw_pages(found.path, settings.password or None, run=_run) if found.kind == PDF else {}
            write_page(html, PAGE_START, lambda: render_preview(paper, pictures))
    value = {"verdict": paper.front["verdict"], "reader": paper.front["reader"], **outline}
    return Answer(value, lambda: print_text(paper.text) if as_markdown else _show_paper(file, paper, outline))


class ReadDocument(NamedTuple):
    """A source that was read: of which kind it is, where its copy lies, and what it says."""

    kind: str
    path: str
    paper: Markdown
    outline: dict[str, Any]


def read_document(
    file: str, folder: str, settings: Settings, *, ocr: bool = False, tell: Callable[[str], None] = notify
) -> ReadDocument:
    """Reads a source, by way of a copy in `folder`. Raises PhaseError for what cannot be read."""
    kind, path = _copy_source(file, folder, settings, tell)
    reading = read_in_subprocess(kind, path, settings.password or None, run=_run)
    if ocr and reading.verdict in (NO_TEXT, GARBLED):
        _recognize(file, path)
        reading = read_in_subprocess(kind, path, run=_run)
    if reading.verdict not in READABLE:
        raise PhaseError(f"{file}: {reading.verdict}: it {explain_verdict(reading, file)}")
    paper = paper_document(reading, "0" * 64, kind)
    return ReadDocument(kind, path, paper, outline_of(paper))


def _recognize(file: str, path: str) -> None:
    """Puts a text layer into the copy at `path`, and keeps it for `run` under a name of its own."""
    kept = f"ocr-{os.path.basename(file)}"
    if os.path.exists(kept):
        raise PhaseError(f"{kept} is there already; read it, or take it away: pipeline read {quote(kept)}")
    notify(f"ocrmypdf recognizes the letters of {file}; this takes some seconds a page")
    content = recognize_letters(path, run=_run)
    for name in (path, kept):
        with open(name, "wb") as copy:
            copy.write(content)
    notify(f"kept as {kept}; go on with: pipeline run {quote(kept)}")


def _copy_source(file: str, folder: str, settings: Settings, tell: Callable[[str], None]) -> tuple[str, str]:
    """The kind of a source, and where its files lie now, for the reader alone."""
    if is_path(file):
        refuse_unusable(os.path.abspath(file), settings, command="read")
    private = settings.private_addresses == "allowed"
    limits = IntakeLimits(settings.max_source_mb * 2**20, settings.download_seconds, settings.arxiv, private)
    try:
        source, _ = load_source(file, limits, tell)
    except Unreadable as error:
        raise PhaseError(f"{file} {error.detail}") from error
    for name, content in source.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as copy:
            copy.write(content)
    return source.kind, folder if source.kind == LATEX else path


def _show_paper(file: str, paper: Markdown, outline: dict[str, Any]) -> None:
    front = paper.front
    print_text(f"{file}: {front['verdict']} ({front['reader']})")
    print_text(f"  title    {outline['title'] or '(none found)'}")
    if outline["authors"]:
        print_text(f"  authors  {', '.join(outline['authors'])}")
    counts = ", ".join(f"{len(outline[name])} {name}" for name in _LISTED)
    print_text(f"  holds    {front['pages']} pages, {front['characters']:,} characters, {counts}")
    if missing := front.get("missing"):
        print_text(f"  missing  {missing}")
    if outline["hidden_text"]:
        print_text(f"  hidden   {len(outline['hidden_text'])} pieces of text that no page shows:")
        for row in outline["hidden_text"][:5]:
            print_text(f"           page {row['page']}, {row['how'].replace('_', ' ')}: {row['text'][:80]}")
    print_text()
    for section in outline["sections"]:
        number = f"{section['number']} " if section["number"] else ""
        print_text(f"  p. {section['page']:<4}{'  ' * (section['level'] - 1)}{number}{section['title']}")
