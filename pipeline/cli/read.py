"""`pipeline read`: read a paper without making a task."""

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
from phases.readers.page_pictures import draw_floats, draw_pages
from phases.readers.reader_subprocess import is_scan, read_copy, read_in_subprocess, recognize_letters, run_worker
from phases.readers.reading import READABLE, OtherText, Unreadable, explain_verdict
from phases.sandbox.parsers import confine_parser
from pipeline.base.errors import PhaseError, UsageError
from pipeline.base.files import write_durable
from pipeline.base.formats import Markdown
from pipeline.base.safe_tree import open_file
from pipeline.base.workers import WorkerStart
from pipeline.cli.arguments import answers, complete_files, html_option
from pipeline.cli.assembly import settings_from, user_environment
from pipeline.cli.options import reader_option
from pipeline.cli.output import Answer, notify, print_text, write_page
from pipeline.cli.task_factory import refuse_unusable, safe_name
from pipeline.engine.settings import Settings

_run = partial(run_worker, start=WorkerStart(os.environ, confine_parser))
_DOTS_PER_INCH = 120
"""Resolution of figures and tables."""
_LISTED = ("sections", "references", "equations", "algorithms", "tables", "figures", "links")


@click.command("read")
@click.argument("file", metavar="SOURCE", shell_complete=complete_files)
@html_option("puts the paper's pages next to the Markdown")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the paper as Markdown.")
@click.option("--password", metavar="WORD", help="Opens an encrypted PDF.")
@click.option(
    "--ocr", is_flag=True, help="Have ocrmypdf recognize the letters of a scan; its copy with text is kept as ocr-NAME."
)
@reader_option
@click.option("--assets", metavar="DIR", help="Also write the figures, tables and pages of a PDF as PNG files.")
@answers
def read_command(
    file: str,
    html: str | None,
    as_markdown: bool,
    password: str | None,
    ocr: bool,
    reader: str | None,
    assets: str | None,
) -> Answer:
    """Show what the reader makes of SOURCE, which is what `run` takes, and make no task of it.

    \b
    pipeline read paper.pdf                     title, outline, counts, verdict
    pipeline read paper.pdf --html look.html    the pages beside what was read
    pipeline read paper.pdf --assets assets     figure-1.png, table-2.png, page-1.png, …
    pipeline read scan.pdf --ocr                the same of a scan, and ocr-scan.pdf to go on with
    """
    settings = settings_from({"password": password, "reader": reader})
    with tempfile.TemporaryDirectory() as folder:
        found = read_document(file, folder, settings, ocr=ocr or bool(settings.ocr))
        paper, outline = found.paper, found.outline
        if html:
            from phases.pages.preview import PAGE_START, render_preview  # imported here: only --html needs it

            write_page(html, PAGE_START, lambda: render_preview(paper, *_draw(found, settings)))
        if assets:
            _write_assets(assets, *_draw(found, settings))
    value = {"verdict": paper.front["verdict"], "reader": paper.front["reader"], **outline}
    return Answer(value, lambda: print_text(paper.text) if as_markdown else _show_paper(file, paper, outline))


class ReadDocument(NamedTuple):
    """A source with its kind, its copy and its text."""

    kind: str
    path: str
    paper: Markdown
    outline: dict[str, Any]


def read_document(
    file: str, folder: str, settings: Settings, *, ocr: bool = False, tell: Callable[[str], None] = notify
) -> ReadDocument:
    """Read a source, by way of a copy in `folder`. Raises PhaseError for what cannot be read."""
    kind, path = _copy_source(file, folder, settings, tell)
    reading = read_in_subprocess(kind, path, settings.password or None, reader=settings.reader, run=_run)
    if ocr and is_scan(kind, reading):
        _recognize(file, path)
        reading = read_copy(path, reader=settings.reader, run=_run)
    if reading.verdict not in READABLE:
        raise PhaseError(f"{file}: {reading.verdict}: it {explain_verdict(reading, file)}")
    paper = paper_document(reading, "0" * 64, kind)
    return ReadDocument(kind, path, paper, outline_of(paper))


def _recognize(file: str, path: str) -> None:
    """Put a text layer into the copy at `path`, and keep it for `run` under a name of its own."""
    kept = f"ocr-{os.path.basename(file)}"
    if os.path.exists(kept):
        raise PhaseError(f"{kept} already exists; read it, or remove it: pipeline read {quote(kept)}")
    notify(f"ocrmypdf recognizes the letters of {file}; this takes some seconds a page")
    content = recognize_letters(path, run=_run)
    for name in (path, kept):
        with open_file(name, "wb") as copy:
            copy.write(content)
    notify(f"kept as {kept}; go on with: pipeline run {quote(kept)}")


def _draw(found: ReadDocument, settings: Settings) -> tuple[dict[int, bytes], dict[str, bytes]]:
    """Return the pages by number, and the figures and tables by label; none without a PDF."""
    if found.kind != PDF:
        return {}, {}
    password = settings.password or None
    floats = draw_floats(found.path, found.outline, password, dots_per_inch=_DOTS_PER_INCH, run=_run)
    pages = draw_pages(found.path, password, run=_run)
    return pages, {label: picture.png for label, picture in floats.items()}


def _write_assets(directory: str, pages: dict[int, bytes], floats: dict[str, bytes]) -> None:
    if not pages:
        raise UsageError("--assets draws the pages of a PDF, and this file cannot be drawn")
    if os.path.lexists(directory) and (not os.path.isdir(directory) or os.listdir(directory)):
        raise UsageError(f"--assets {directory} already exists, and is not an empty directory; choose another name")
    os.makedirs(directory, exist_ok=True)
    named = {f"page {number}": png for number, png in pages.items()} | floats
    for name, png in named.items():
        write_durable(os.path.join(os.path.abspath(directory), f"{safe_name(name.lower())}.png"), png)
    notify(f"wrote {len(floats)} figures and tables and {len(pages)} pages into {directory}")


def _copy_source(file: str, folder: str, settings: Settings, tell: Callable[[str], None]) -> tuple[str, str]:
    """Copy a source for the reader alone; return its kind, and where its files are."""
    if is_path(file):
        refuse_unusable(os.path.abspath(file), settings, command="read")
    private = settings.private_addresses == "allowed"
    most, environment = settings.max_source_mb * 2**20, user_environment(settings._asdict())
    limits = IntakeLimits(most, settings.download_seconds, settings.arxiv, private, environment)
    try:
        source, _ = load_source(file, limits, tell)
    except Unreadable as error:
        meant = f"; if this text is meant: pipeline run --fast --anyway {quote(file)}"
        raise PhaseError(f"{file} {error.detail}{meant if isinstance(error, OtherText) else ''}") from error
    for name, content in source.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open_file(path, "wb") as copy:
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
    if by := front.get("recognized_by"):
        print_text(f"  scan     {by} recognized the text; it may have wrong letters and figures in it")
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
