"""`pipeline read`: what the reader makes of a paper, without a task."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import click

from pipeline.base.errors import PhaseError
from pipeline.cli.arguments import complete_files
from pipeline.cli.assembly import settings_from
from pipeline.cli.console import say, say_json, tell
from pipeline.cli.pages import may_write_page, write_page
from pipeline.cli.sources import refuse_unusable

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
@click.option("--json", "as_json", is_flag=True, help="Print the outline as JSON.")
@click.option("--password", metavar="WORD", help="Opens an encrypted PDF.")
def read_command(file: str, html: str | None, as_markdown: bool, as_json: bool, password: str | None) -> None:
    """Show what the reader makes of SOURCE, which is what `run` takes, and make no task of it.

    \b
    pipeline read paper.pdf                     title, outline, counts, verdict
    pipeline read paper.pdf --html look.html    the pages beside what was read
    """
    settings = settings_from({"password": password})
    password = settings.password or None
    with tempfile.TemporaryDirectory() as folder:
        kind, path = _copied(file, folder, settings)
        paper = _read(file, kind, path, password)
        outline = _outline(paper)
        if html:
            _write_preview(paper, kind, path, password, html)
    if as_json:
        say_json({"verdict": paper.front["verdict"], "reader": paper.front["reader"], **outline})
    elif as_markdown:
        say(paper.text)
    else:
        _show(file, paper, outline)


def _copied(file: str, folder: str, settings: Settings) -> tuple[str, str]:
    """The kind of a source, and where its files lie now, for the reader alone."""
    from phases.readers.arxiv import arxiv_id
    from phases.readers.intake import Limits, take_in
    from phases.readers.kinds import LATEX
    from phases.readers.reading import Unreadable

    if "://" not in file and arxiv_id(file) is None:
        refuse_unusable(os.path.abspath(file), settings, command="read")
    private = settings.private_addresses == "allowed"
    limits = Limits(settings.max_source_mb * 2**20, settings.download_seconds, settings.arxiv, private)
    try:
        source, _ = take_in(file, limits, tell)
    except Unreadable as error:
        raise PhaseError(f"{file} {error.detail}") from error
    for name, content in source.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as copy:
            copy.write(content)
    return source.kind, folder if source.kind == LATEX else path


def _read(file: str, kind: str, path: str, password: str | None) -> Markdown:
    from phases.readers.markdown import paper_document
    from phases.readers.reader_subprocess import read_apart
    from phases.readers.reading import OK, cure

    reading = read_apart(kind, path, password, environment=os.environ)
    if reading.verdict != OK:
        raise PhaseError(f"{file}: {reading.verdict}: it {cure(reading, file)}")
    return paper_document(reading, "0" * 64, kind)


def _outline(paper: Markdown) -> dict[str, Any]:
    from phases.readers.outline import outline_of

    return outline_of(paper)


def _write_preview(paper: Markdown, kind: str, path: str, password: str | None, out: str) -> None:
    from phases.readers.preview import pictures_of, preview_of

    may_write_page(out, _PAGE_START)
    pictures = pictures_of(path, password, os.environ) if kind == "pdf" else {}
    write_page(out, preview_of(paper, pictures))


def _show(file: str, paper: Markdown, outline: dict[str, Any]) -> None:
    front = paper.front
    say(f"{file}: {front['verdict']} ({front['reader']})")
    say(f"  title    {outline['title'] or '(none found)'}")
    if outline["authors"]:
        say(f"  authors  {', '.join(outline['authors'])}")
    counts = ", ".join(f"{len(outline[name])} {name}" for name in _LISTED)
    say(f"  holds    {front['pages']} pages, {front['characters']:,} characters, {counts}")
    if outline["hidden_text"]:
        say(f"  hidden   {len(outline['hidden_text'])} pieces of text that no page shows:")
        for row in outline["hidden_text"][:5]:
            say(f"           page {row['page']}, {row['how'].replace('_', ' ')}: {row['text'][:80]}")
    say()
    for section in outline["sections"]:
        number = f"{section['number']} " if section["number"] else ""
        say(f"  p. {section['page']:<4}{'  ' * (section['level'] - 1)}{number}{section['title']}")
