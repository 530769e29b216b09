"""What a paper is made of: files, folders and archives of strangers, taken in whole, and nothing beside them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.phase01_intake import PHASE
from phases.readers.intake import Source, digest_of, source_of, source_on_disk
from phases.readers.kinds import ARCHIVE, DOCX, HTML, LATEX, MARKDOWN, PDF, REQUIREMENT, TEXT, kind_of
from phases.readers.reading import BROKEN, OtherText, UnclearDirectory, Unreadable
from pipeline.base.errors import PhaseError, PipelineError, StorageError
from pipeline.base.files import sha256
from pipeline.engine.contract import Contracts
from pipeline.engine.phase import TYPED, Context, Decision, WorkflowContext
from tests.papers import good_pdf
from tests.rows import later, with_covered
from tests.strategies import FEW, QUICK
from tests.web import head, says, sends, serving
from tests.work import must_end

LIMIT = 10**6
TEX = b"\\documentclass{article}\n\\begin{document}\n\\section{One}\nWords.\n%s\n\\end{document}\n"
MAIN = TEX % b""
SECRET = b"\\section{Secret} nobody may read this"
PAGE = b"<!DOCTYPE html><html><body><h1>A paper</h1><p>Words.</p></body></html>"
PDF_FILE = good_pdf()
PATIENCE = 60.0
"""Seconds. What is linear takes a tenth of it; what is not takes a lifetime."""


def tar(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def zipped(members: Mapping[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name or "/", content)  # the library cannot write an empty name
    return buffer.getvalue()


def packed(members: Mapping[str, bytes]) -> bytes:
    return gzip.compress(tar(members))


def word_file() -> bytes:
    return zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w:document/>"})


def laid(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder with these files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def taken(path: Path, limit: int = LIMIT) -> Source:
    return source_on_disk(str(path), limit)


def outcome(content: bytes) -> tuple[Mapping[str, bytes], str]:
    """The files of the paper in these bytes, or the reason why there is none."""
    try:
        return source_of(content).files, ""
    except Unreadable as error:
        return {}, error.detail


# What a file is, by its content


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        pytest.param(PDF_FILE, PDF, id="a PDF"),
        pytest.param(b"\n\n junk before it \n" + PDF_FILE, PDF, id="a PDF with junk before it"),
        pytest.param(MAIN, LATEX, id="LaTeX"),
        pytest.param(b"% a comment\n  \\input{all}\n", LATEX, id="LaTeX that is one input"),
        pytest.param(MAIN + b"\\begin{verbatim}\n# count\nn = 1\n\\end{verbatim}\n", LATEX, id="LaTeX with a program"),
        pytest.param("\\section{Größe}".encode("latin-1"), LATEX, id="LaTeX in Latin-1"),
        pytest.param(b"\xef\xbb\xbf" + MAIN, LATEX, id="LaTeX behind a byte order mark"),
        pytest.param(b"\\pdfminorversion=5 %PDF-1.5\n" + MAIN, LATEX, id="LaTeX that speaks of PDF"),
        pytest.param(b"# On %PDF-1.7 files\n\nWords\n", MARKDOWN, id="Markdown that speaks of PDF"),
        pytest.param(b"\\documentstyle{revtex}\r\n\\begin{document}", LATEX, id="LaTeX of the last century"),
        pytest.param(PAGE, HTML, id="a web page"),
        pytest.param(b"<?xml version='1.0'?>\n<!-- made by hand -->\n" + PAGE, HTML, id="a web page behind a comment"),
        pytest.param(b"\n \t<HTML><p>x", HTML, id="a web page in capitals"),
        pytest.param(word_file(), DOCX, id="a Word file"),
        pytest.param(packed({"main.tex": MAIN}), ARCHIVE, id="a .tar.gz"),
        pytest.param(tar({"main.tex": MAIN}), ARCHIVE, id="a .tar"),
        pytest.param(bz2.compress(MAIN), ARCHIVE, id="a .bz2"),
        pytest.param(lzma.compress(MAIN), ARCHIVE, id="an .xz"),
        pytest.param(zipped({"main.tex": MAIN}), ARCHIVE, id="a .zip"),
        pytest.param(b"# Title\n\nWords\n", MARKDOWN, id="Markdown"),
        pytest.param(b"---\ntitle: x\n---\nWords\n", MARKDOWN, id="Markdown with front matter"),
        pytest.param(b"Title\n\nAbstract\n\nWe wait.\n", TEXT, id="a paper as plain text"),
        pytest.param(b"Title\n\n1. Introduction\n\nWe wait.\n", TEXT, id="a paper as plain text with numbers"),
        pytest.param(b"word " * 5000, TEXT, id="a long text"),
        pytest.param(b"Build a queue. It must survive a crash.", REQUIREMENT, id="a requirement"),
        pytest.param(b"% \\section{not LaTeX}\nBuild a queue", REQUIREMENT, id="a requirement behind a percent sign"),
        pytest.param("实现一个队列。".encode(), REQUIREMENT, id="a requirement in Chinese"),
    ],
)
def test_a_file_is_what_its_content_says(content: bytes, kind: str) -> None:
    assert kind_of(content).name == kind


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b" \n\t\r\n", "is empty", id="blanks"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull", id="a git-LFS pointer"),
        pytest.param(b"7z\xbc\xaf\x27\x1c", "7z", id="a 7z archive"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "a picture", id="a PNG"),
        pytest.param(b"\xff\xd8\xff\xe0", "a picture", id="a JPEG"),
        pytest.param(b"%!PS-Adobe-3.0\n", "PostScript", id="PostScript"),
        pytest.param(b"{\\rtf1 words}", "RTF", id="RTF"),
        pytest.param(b"\x7fELF\x02", "a program", id="a program"),
        pytest.param(b"words\x00more", "NUL", id="text with NUL bytes"),
        pytest.param(b"words \xff\xfe", "byte 6", id="bytes that are no text"),
        pytest.param("Grüße".encode("utf-16"), "not valid UTF-8", id="text in UTF-16"),
        pytest.param(b"--- !! ***", "no words", id="text without words"),
        pytest.param(b"1 0.5 7\n2 0.4 8\n3 0.1 9\n", "a text of 0 words", id="numbers"),
        pytest.param(b"2026-01-02 10:00:00 the server has started\n" * 3, "a log", id="a log"),
        pytest.param(b"Jan  2 10:00:00 host kernel: it is up and well\n" * 3, "a log", id="a log of the system"),
        pytest.param(b"[10:00:00] the build has begun\n" * 3, "a log", id="a log without a date"),
    ],
)
def test_what_is_no_paper_is_refused_with_the_reason(content: bytes, words: str) -> None:
    kind = kind_of(content)
    assert kind.name is None
    assert words in kind.reason
    with pytest.raises(Unreadable, match="broken: ") as caught:
        source_of(content)
    assert caught.value.detail == kind.reason


PIECES = st.sampled_from(
    [b"%PDF-1.4", b"\x1f\x8b", b"PK\x03\x04", b"<!--", b"-->", b"<html>", b"\\section{", b"\\input", b"# ", b"\n", b" ",
     b"abstract", b"word/", b"ustar", b"\xff", b"\x00", b"a", b"BZh", b"\xfd7zXZ\x00", b"---\n", b"%"]
)  # fmt: skip
CONTENT = st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=30).map(b"".join))


@given(CONTENT)
@example(b"\x1f\x8b")
@example(b"BZh91AY&SY")
@example(b"PK\x03\x04")
@example(b"\x00" * 257 + b"ustar" + b"\x00" * 300)
@QUICK
def test_any_bytes_are_a_paper_or_unreadable(content: bytes) -> None:
    kind = kind_of(content)
    assert (kind.name is None) == bool(kind.reason), "either a kind, or the reason why it is none"
    files, reason = outcome(content)
    assert files or reason


HOSTILE = {
    "a thousand comments and no page": b"<!---->" * 580 + b"x",
    "a comment in each line and no page": b"<!-- a -->\n" * 370,
    "a text of empty lines": b"a" + b"\n" * 400_000 + b"b",
    "lines of blanks": b"a\n" + b" \n" * 200_000 + b"b",
    "half a million backslashes": b"a" + b"\\" * 500_000,
    "a line of percent signs": b"%" * 500_000 + b"a",
    "headings that are none": b"#######" * 70_000 + b"a",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_to_say_what_a_file_is_takes_time_in_proportion_to_it(name: str) -> None:
    def work() -> None:
        assert kind_of(HOSTILE[name]).name in (TEXT, REQUIREMENT, None)

    with must_end():
        work()


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"ab\n", b"# a\n", b"a\r"], ids=["lines", "headings", "carriage returns"])
def test_to_say_what_a_file_is_takes_memory_in_proportion_to_it(line: bytes) -> None:
    content = line * (1_500_000 // len(line))
    tracemalloc.start()
    kind_of(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(content), f"{peak / len(content):.0f} times the size of the file"


@pytest.mark.parametrize("name", ["Makefile", "hosts", "app.log", "settings.toml", "notes.org", "paper.pdf", ".bashrc"])
def test_text_under_another_name_than_that_of_a_text_is_read_where_the_user_says_so(name: str, tmp_path: Path) -> None:
    text = b"# Settings\n\nBuild a queue. It must survive a crash.\n"
    laid(tmp_path, {name: text, "wish.txt": text})
    with pytest.raises(OtherText, match="neither a paper nor a requirement"):
        taken(tmp_path / name)
    for source in (source_on_disk(str(tmp_path / name), LIMIT, anyway=True), taken(tmp_path / "wish.txt")):
        assert list(source.files.values()) == [text]


@pytest.mark.parametrize("content", [b"a,b,c\n1,2,3\n4,5,6\n", b"import os\nx = 1\ny = f(x)\n"])
def test_a_text_that_is_taken_for_something_else_is_read_where_the_user_says_so(content: bytes) -> None:
    with pytest.raises(OtherText):
        source_of(content)
    assert list(source_of(content, anyway=True).files.values()) == [content]


# Folders


def test_a_folder_gives_its_latex_by_the_paths_in_it(tmp_path: Path) -> None:
    texts = {"main.tex": MAIN, "sections/one.tex": b"one", "refs.bib": b"@a{b}", "style.sty": b"x", "main.bbl": b"y"}
    laid(tmp_path, {**texts, "figure.png": b"\x89PNG", "data.csv": b"1", "notes.txt": b"private", "main.log": b"l"})
    source = taken(tmp_path)
    assert (source.kind, dict(source.files)) == (LATEX, texts)
    assert list(source.files) == sorted(texts)


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/.", "{}/sections/.."])
def test_a_folder_is_the_same_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": MAIN, "sections/one.tex": b"one"})
    assert list(source_on_disk(spelling.format(tmp_path), LIMIT).files) == ["main.tex", "sections/one.tex"]


def test_links_and_hidden_folders_are_not_followed(tmp_path: Path) -> None:
    outside = laid(tmp_path / "outside", {"secret.tex": SECRET, "deep/secret.tex": SECRET})
    paper = laid(tmp_path / "paper", {"main.tex": MAIN, ".git/old.tex": SECRET, ".cache/a/b.tex": SECRET})
    (paper / "file.tex").symlink_to(outside / "secret.tex")
    (paper / "folder").symlink_to(outside)
    (paper / "up").symlink_to(tmp_path)
    (paper / "circle").symlink_to(paper)
    (paper / "nowhere.tex").symlink_to(tmp_path / "nowhere")
    assert dict(taken(paper).files) == {"main.tex": MAIN}


def test_a_link_that_the_user_gives_is_followed(tmp_path: Path) -> None:
    laid(tmp_path / "paper", {"main.tex": TEX % b"\\input{one}", "one.tex": b"one"})
    (tmp_path / "folder").symlink_to(tmp_path / "paper")
    (tmp_path / "file.tex").symlink_to(tmp_path / "paper" / "main.tex")
    assert list(taken(tmp_path / "folder").files) == ["main.tex", "one.tex"]
    assert list(taken(tmp_path / "file.tex").files) == ["main.tex", "one.tex"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({}, "is an empty directory", id="an empty one"),
        pytest.param({"a.txt": b"words"}, "holds no paper at its top", id="one with a text"),
        pytest.param({"a.pdf": PDF_FILE, "b.pdf": PDF_FILE}, "several papers .a.pdf, b.pdf.", id="one with two papers"),
        pytest.param(
            {"refs.bib": b"@a{b}", "x.sty": b"x"}, "holds no paper at its top", id="one with a bibliography alone"
        ),
        pytest.param(
            later(lambda: {"a.tex": b"x" * 600_000, "b.tex": b"x" * 600_000}),
            "more LaTeX than",
            id="one that is too large",
        ),
        pytest.param({f"{n}.tex": MAIN for n in range(2001)}, "more LaTeX than", id="one of two thousand files"),
    ],
)
def test_a_folder_that_is_no_paper_is_refused_with_the_reason(
    files: dict[str, bytes], words: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=words):
        taken(laid(tmp_path, files))


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        pytest.param({"main.tex": TEX % b"\\input{one}", "one.tex": MAIN}, "main.tex", id="a document in a document"),
        pytest.param({"a.tex": MAIN, "old/a.tex": MAIN, "old/deep/b.tex": MAIN}, "a.tex", id="older versions below"),
        pytest.param({"latex/a.tex": MAIN, "code/x/b.tex": MAIN}, "latex/a.tex", id="one directory below"),
        pytest.param({"paper.pdf": PDF_FILE, "refs.bib": b"@a{b}"}, "paper.pdf", id="a PDF beside a bibliography"),
        pytest.param(
            {"p.tex": b"\\input macros\nWords.\n\\bye", "macros.tex": b"\\beginsection x\n"}, "p.tex", id="TeX"
        ),
        pytest.param(
            {"pre.tex": b"\\documentclass{article}", "a.tex": b"\\input{pre}\n\\begin{document}x\\end{document}"},
            "a.tex",
            id="a class in another file",
        ),
    ],
)
def test_the_one_paper_of_a_folder_is_named_and_no_other_document_is_taken(
    files: dict[str, bytes], chosen: str, tmp_path: Path
) -> None:
    source = taken(laid(tmp_path, files))
    assert source.chosen == chosen
    assert not {"old/a.tex", "old/deep/b.tex", "code/x/b.tex"} & set(source.files)


@pytest.mark.parametrize(
    ("files", "names"),
    [
        pytest.param(["a.tex", "letter.tex"], ["a.tex", "letter.tex"], id="two documents at the top"),
        pytest.param(["v1/a.tex", "v2/a.tex", "v2/b.tex"], ["v1/a.tex", "v2/a.tex", "v2/b.tex"], id="three below"),
        pytest.param(["paper.pdf", "latex/a.tex"], ["paper.pdf", "latex/a.tex"], id="a PDF, and a document below"),
        pytest.param(["examples/one/a.tex"], ["examples/one/a.tex"], id="one, two directories below"),
        pytest.param(["x/y/z/a.tex", "x/b.sty"], ["x/y/z/a.tex"], id="one, three directories below"),
    ],
)
def test_a_folder_without_one_paper_at_its_top_lists_what_may_be_meant(
    files: list[str], names: list[str], tmp_path: Path
) -> None:
    laid(tmp_path, {name: PDF_FILE if name.endswith(".pdf") else MAIN for name in files})
    with pytest.raises(UnclearDirectory) as caught:
        taken(tmp_path)
    assert caught.value.names == names
    assert ", ".join(names) in caught.value.detail


@pytest.mark.slow
def test_a_folder_like_a_home_ends_soon_and_in_a_clear_refusal(tmp_path: Path) -> None:
    for folder in range(60):
        (tmp_path / f"project{folder}" / "src").mkdir(parents=True)
        for file in range(150):
            (tmp_path / f"project{folder}" / "src" / f"{file}.py").touch()
    with must_end(), pytest.raises(Unreadable, match="give a PDF"):
        taken(tmp_path)


def test_the_tree_of_a_folder_may_be_deep_but_not_every_depth_is_read(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 300)
    laid(tmp_path, {"main.tex": MAIN, "a/b/c/d/e/near.tex": b"near", f"{deep}/far.tex": SECRET})
    assert set(taken(tmp_path).files) == {"main.tex", "a/b/c/d/e/near.tex"}


def test_a_pipe_among_the_files_does_not_hang(tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": TEX % b"\\input{pipe}"})
    os.mkfifo(tmp_path / "pipe.tex")
    with suppress(StorageError):
        assert "pipe.tex" not in taken(tmp_path).files
    assert list(taken(tmp_path / "main.tex").files) == ["main.tex"]


ODD_NAMES = {
    "bytes that are no text": b"a\xff.tex",
    "a new line": b"a\nb.tex",
    "an escape": b"a\x1b[31m.tex",
    "a backslash": b"a\\b.tex",
    "blanks": b" a b .tex",
    "dots": b"...tex",
    "a dash": b"-rf.tex",
    "another alphabet": "论文.tex".encode(),
    "nothing before its ending": b".tex",
}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_with_an_odd_name_is_taken_or_refused_and_nothing_breaks(name: str, tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": MAIN})
    Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), ODD_NAMES[name]))).write_bytes(b"\\section{Odd}")
    try:
        source = taken(tmp_path)
    except PipelineError:
        return
    assert "main.tex" in source.files
    assert len(digest_of(source)) == 64
    for path in source.files:
        path.encode("utf-8")
        assert ".." not in PurePosixPath(path).parts


# A .tex file and what it names


@pytest.mark.parametrize(
    ("command", "path"),
    [
        pytest.param("\\input{one}", "one.tex", id="an input"),
        pytest.param("\\input{one.tex}", "one.tex", id="an input with its ending"),
        pytest.param("\\input one ", "one.tex", id="an input without braces"),
        pytest.param("\\input{./one}", "one.tex", id="an input with a dot"),
        pytest.param("\\input{ one }", "one.tex", id="an input with blanks around it"),
        pytest.param("\\input{the one}", "the one.tex", id="an input with a blank in it"),
        pytest.param("\\input{part.one}", "part.one.tex", id="an input with a dot in its name"),
        pytest.param("\\input{plot.tikz}", "plot.tikz", id="a drawing"),
        pytest.param("\\include{sections/one}", "sections/one.tex", id="an include"),
        pytest.param("\\input{sections/../one}", "one.tex", id="a way there and back"),
        pytest.param("\\subfile{sections/one}", "sections/one.tex", id="a subfile"),
        pytest.param("\\import{sections/}{one}", "sections/one.tex", id="an import from a folder"),
        pytest.param("\\bibliography{refs}", "refs.bib", id="a bibliography"),
        pytest.param("\\bibliography{more,refs}", "refs.bib", id="the second of two bibliographies"),
        pytest.param("\\addbibresource{refs.bib}", "refs.bib", id="a bibliography of biblatex"),
        pytest.param("\\usepackage[a,b]{ours}", "ours.sty", id="a style"),
        pytest.param("\\documentclass[a4paper]{ours}", "ours.cls", id="a class"),
        pytest.param("words", "main.bbl", id="its own references"),
    ],
)
def test_what_a_tex_file_names_comes_with_it(command: str, path: str, tmp_path: Path) -> None:
    content = TEX % command.encode()
    laid(tmp_path, {"main.tex": content, path: b"named", "unnamed.tex": SECRET, "other/unnamed.tex": SECRET})
    (tmp_path / "sections").mkdir(exist_ok=True)
    assert dict(taken(tmp_path / "main.tex").files) == {"main.tex": content, path: b"named"}


def test_what_is_named_in_what_is_named_comes_too_and_a_circle_ends(tmp_path: Path) -> None:
    files = {
        "main.tex": TEX % b"\\input{a}",
        "a.tex": b"\\input{sections/b}",
        "sections/b.tex": b"\\input{a}\\input{main}\\input{c}",
        "c.tex": b"the end",
    }
    assert dict(taken(laid(tmp_path, files) / "main.tex").files) == files


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("\\input{../secret}", id="a dotted way"),
        pytest.param("\\input{sub/../../secret}", id="a dotted way through a folder"),
        pytest.param("\\input{./.././secret.tex}", id="a dotted way with its ending"),
        pytest.param("\\input{OUTSIDE/secret}", id="an absolute name"),
        pytest.param("\\input OUTSIDE/secret.tex ", id="an absolute name without braces"),
        pytest.param("\\input{/OUTSIDE/secret}", id="an absolute name with two slashes"),
        pytest.param("\\import{OUTSIDE/}{secret}", id="an import from outside"),
        pytest.param("\\import{../}{secret}", id="an import from above"),
        pytest.param("\\input{link}", id="a link to a file"),
        pytest.param("\\input{linked/secret}", id="a link to a folder"),
        pytest.param("\\input{chain}", id="a link to a link"),
        pytest.param("\\input{linked/../secret}", id="a way up from a link"),
        pytest.param("\\input{~/secret}", id="a home"),
        pytest.param("\\input{|cat OUTSIDE/secret.tex}", id="a command"),
        pytest.param("\\bibliography{../secret}", id="a bibliography above"),
        pytest.param("\\usepackage{../paper2/secret}", id="a style in a folder whose name begins alike"),
    ],
)
def test_nothing_outside_its_folder_is_read(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"secret.tex": SECRET, "secret.bib": SECRET}
    laid(tmp_path, {**secrets, "paper2/secret.sty": SECRET})
    outside = laid(tmp_path / "outside" / "in", secrets)
    laid(tmp_path / "outside", secrets)
    paper = laid(
        tmp_path / "paper", {"main.tex": TEX % command.replace("OUTSIDE", str(outside)).encode(), "sub/x.tex": b"x"}
    )
    (paper / "link.tex").symlink_to(outside / "secret.tex")
    (paper / "chain.tex").symlink_to("link.tex")
    (paper / "linked").symlink_to(outside)
    monkeypatch.setenv("HOME", str(outside))
    assert list(taken(paper / "main.tex").files) == ["main.tex"]


STEPS = st.lists(
    st.sampled_from(["..", ".", "/", "//", "secret", ".tex", "sub", "linked", "link", "~", "\\", " ", "\x00", "main", "a"]),
    max_size=9,
).map("".join)  # fmt: skip


@pytest.mark.slow
@given(st.lists(STEPS, max_size=4), st.sampled_from(["input", "include", "bibliography", "import{../}", "usepackage"]))
@example(["a\x00b"], "input")
@example(["a" * 1900], "input")
@example(["../secret", "sub/../../secret"], "bibliography")
@FEW
def test_whatever_a_tex_file_names_its_own_folder_is_all_that_is_read(names: list[str], command: str) -> None:
    base = Path(tempfile.mkdtemp())
    laid(base, {"secret.tex": SECRET, "secret.bib": SECRET, "secret.sty": SECRET})
    paper = laid(base / "paper", {"sub/a.tex": b"\\input{../secret}"})
    (paper / "linked").symlink_to(base)
    (paper / "link.tex").symlink_to("../secret.tex")
    written = "".join(f"\\{command}{{{name}}}\n" for name in names)
    # The Latin-1 letter: what is no UTF-8 is LaTeX even with NUL bytes in it.
    laid(paper, {"main.tex": TEX % (written.encode() + b"\xe9")})
    try:
        found = dict(taken(paper / "main.tex").files)
    finally:
        shutil.rmtree(base)
    assert SECRET not in found.values()
    assert set(found) <= {"main.tex", "sub/a.tex"}


def test_a_named_file_over_the_limit_is_not_left_out_in_silence(tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": TEX % b"\\input{method}", "method.tex": b"words " * 1000})
    try:
        source = taken(tmp_path / "main.tex", limit=3000)
    except PipelineError:
        return
    assert any("method.tex" in line for line in source.refused), "the paper lacks its method, and nobody is told"


LONG_WAYS = {
    "an input and blanks": b"\\documentclass{a}\\input" + b" " * 300_000 + b"x",
    "an import and blanks": b"\\documentclass{a}\\import{a}" + b" " * 300_000 + b"x",
    "brackets that never close": b"\\documentclass{a}" + b"\\input[" * 40_000,
    "inputs without an end": b"\\documentclass{a}" + b"\\input{" * 40_000,
    "one name a hundred thousand times": b"\\documentclass{a}" + b"\\input{a}" * 100_000,
    "fifty thousand names": b"\\documentclass{a}" + b"".join(b"\\input{%d}" % number for number in range(50_000)),
    "a name with a hundred thousand commas": b"\\documentclass{a}\\bibliography{" + b"," * 1990 + b"}",
}


@pytest.mark.parametrize(
    "name",
    with_covered(
        LONG_WAYS,
        "an import and blanks",
        "brackets that never close",
        "one name a hundred thousand times",
        "a name with a hundred thousand commas",
    ),
)
def test_to_find_what_a_tex_file_names_takes_time_in_proportion_to_it(name: str, tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": LONG_WAYS[name]})

    def work() -> None:
        assert [*source_on_disk(str(tmp_path / "main.tex"), 10**6).files] == ["main.tex"]

    with must_end():
        work()


def test_a_file_that_is_not_there_is_the_disks_trouble(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="ENOENT"):
        taken(tmp_path / "paper.pdf")


def test_a_file_over_the_limit_is_refused_with_both_sizes(tmp_path: Path) -> None:
    laid(tmp_path, {"paper.md": b"# A\n" * 500})
    with pytest.raises(StorageError, match=r"2,000 bytes, over the limit of 1,999"):
        taken(tmp_path / "paper.md", limit=1999)


# Archives

PACKINGS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "a .tar": tar,
    "a .tar.gz": packed,
    "a .tar.bz2": lambda members: bz2.compress(tar(members)),
    "a .tar.xz": lambda members: lzma.compress(tar(members)),
    "a .zip": zipped,
    "a .zip without packing": lambda members: zipped(members, zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("name", PACKINGS)
def test_an_archive_of_latex_gives_its_texts_and_tells_what_is_left_out(name: str) -> None:
    members = {"main.tex": MAIN, "sections/one.tex": b"one", "main.bbl": b"refs", "plot.png": b"\x89PNG" * 300}
    source = source_of(PACKINGS[name](members))
    assert (source.kind, list(source.files)) == (LATEX, ["main.bbl", "main.tex", "sections/one.tex"])
    assert source.refused == ("plot.png: not part of the text",)


@pytest.mark.parametrize("name", PACKINGS)
def test_an_archive_whose_first_file_is_a_drawing_in_pdf_is_still_an_archive(name: str) -> None:
    assert source_of(PACKINGS[name]({"figures/plot.pdf": PDF_FILE, "main.tex": MAIN})).kind == LATEX


@pytest.mark.parametrize("name", PACKINGS)
def test_an_archive_with_one_pdf_in_it_is_that_pdf(name: str) -> None:
    source = source_of(PACKINGS[name]({"readme.txt": b"Read the paper.", "a/paper.pdf": PDF_FILE}))
    assert (source.kind, dict(source.files)) == (PDF, {"paper.pdf": PDF_FILE})


def test_an_archive_with_one_word_file_in_it_is_that_word_file() -> None:
    assert source_of(packed({"a.docx": word_file(), "b.txt": b"words"})).kind == DOCX


def test_latex_in_an_archive_goes_before_a_pdf_in_it() -> None:
    assert list(source_of(packed({"main.pdf": PDF_FILE, "main.tex": MAIN})).files) == ["main.tex"]


def test_a_folder_in_a_zip_may_have_a_name_that_ends_in_word() -> None:
    assert source_of(zipped({"keyword/main.tex": MAIN})).kind == LATEX


@pytest.mark.parametrize(
    "beside", [{}, {"refs.bib": b"@a{b}"}, {"x.sty": b"%"}], ids=["alone", "with .bib", "with .sty"]
)
def test_latex_in_an_archive_needs_no_ending(beside: dict[str, bytes]) -> None:
    source = source_of(packed({"paper": MAIN, **beside}))
    assert MAIN in source.files.values()
    assert [name for name in source.files if name.startswith("paper")] == ["paper.tex"]


def test_a_lone_packed_file_is_the_paper() -> None:
    assert dict(source_of(gzip.compress(MAIN)).files) == {"main.tex": MAIN}


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"a.txt": b"words"}, id="a text"),
        pytest.param({"inner.tar.gz": packed({"main.tex": MAIN})}, id="another archive"),
        pytest.param({"refs.bib": b"@a{b}"}, id="a bibliography"),
        pytest.param({"../main.tex": MAIN, "/main.tex": MAIN}, id="names that lead out of it"),
    ],
)
def test_an_archive_without_a_paper_is_refused_with_a_reason(members: dict[str, bytes]) -> None:
    with pytest.raises(Unreadable, match=r"is an archive, and an archive must hold LaTeX source .*; give a PDF"):
        source_of(packed(members))


def test_a_member_whose_name_leads_out_is_left_out_and_told() -> None:
    source = source_of(packed({"../evil.tex": SECRET, "/etc/evil.tex": SECRET, "main.tex": MAIN}))
    assert dict(source.files) == {"main.tex": MAIN}
    assert sorted(line.partition(": ")[0] for line in source.refused) == ["'../evil.tex'", "'/etc/evil.tex'"]


def test_what_is_left_out_is_told_a_hundred_times_at_most() -> None:
    source = source_of(packed({"main.tex": MAIN, **{f"../{number}.tex": b"x" for number in range(300)}}))
    assert len(source.refused) == 100


def _flood() -> bytes:
    return packed({f"{number}.tex": b"" for number in range(6000)})


MIB = 2**20
BOMBS: dict[str, Callable[[], bytes]] = {
    "a gzip of 64 MiB": lambda: gzip.compress(bytes(64 * MIB)),
    "a tar of 64 MiB": lambda: packed({"main.tex": MAIN, "a.tex": bytes(64 * MIB)}),
    "a gzip of gzips": lambda: gzip.compress(gzip.compress(bytes(32 * MIB))),
    "a bzip2 of 100 MiB": lambda: bz2.compress(bytes(MIB)) * 100,
    "an xz of 64 MiB": lambda: lzma.compress(bytes(64 * MIB), preset=0),
    "a zip of 96 MiB": lambda: zipped({"main.tex": MAIN, "a.tex": bytes(96 * MIB)}),
    "a tar of six thousand files": _flood,
}


@pytest.mark.parametrize(
    "name", with_covered(BOMBS, "a gzip of 64 MiB", "a tar of 64 MiB", "a gzip of gzips", "a zip of 96 MiB")
)
def test_a_bomb_is_put_out_soon(name: str) -> None:
    content = BOMBS[name]()
    with must_end(), pytest.raises(Unreadable):
        source_of(content)


NAMES = st.one_of(
    st.sampled_from(["main.tex", "../a.tex", "/a.tex", "a/../b.tex", "C:\\a.tex", "a\\..\\b.tex", "main.tex/b.tex", "A.TEX",
                     "a.tex", "", ".", "a//b.tex", "./c.tex", "é.tex", "e\u0301.tex", "x" * 199, "论" * 120 + ".tex"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20),
)  # fmt: skip
MEMBERS = st.dictionaries(NAMES, st.one_of(st.sampled_from([MAIN, PDF_FILE, b"", b"words"]), CONTENT), max_size=6)


@given(MEMBERS, st.sampled_from(sorted(PACKINGS)))
@example({"main.tex": MAIN, "main.tex/b.tex": MAIN}, "a .tar")
@example({"main.tex": MAIN, "论" * 120 + ".tex": MAIN}, "a .zip")
@QUICK
def test_the_files_of_any_archive_can_be_laid_into_a_folder(members: dict[str, bytes], packing: str) -> None:
    try:
        source = source_of(PACKINGS[packing](members))
    except Unreadable:
        return
    folders = {parent for name in source.files for parent in PurePosixPath(name).parents}
    for name in source.files:
        path = PurePosixPath(name)
        assert not path.is_absolute(), name
        assert ".." not in path.parts
        assert all(len(part.encode("utf-8")) <= 255 for part in path.parts), "no disk has names as long as that"
        assert path not in folders, f"{name} is a file, and a folder too"


@given(st.integers(0, 700), st.sampled_from(["a .tar.gz", "a .tar", "a .zip"]))
@QUICK
def test_an_archive_that_was_cut_off_is_a_paper_or_unreadable(left: int, packing: str) -> None:
    whole = PACKINGS[packing]({"main.tex": MAIN, "one.tex": random.Random(1).randbytes(300)})
    files, reason = outcome(whole[:left])
    assert files or reason


# The digest of a paper


def test_the_digest_of_one_file_is_its_own() -> None:
    assert digest_of(source_of(PDF_FILE)) == sha256(PDF_FILE)


def test_the_digest_of_many_files_is_another_when_anything_changes() -> None:
    files = {"a.tex": b"1", "b.tex": b"2"}
    others = [
        {"a.tex": b"2", "b.tex": b"1"},
        {"a.tex": b"1", "c.tex": b"2"},
        {"a.tex": b"1", "b.tex": b"2", "c.tex": b""},
        {"a.tex": b"12", "b.tex": b""},
        {f"a.tex\n{sha256(b'2')}  b.tex": b"1"},
    ]
    digests = [digest_of(Source(LATEX, each)) for each in (files, *others)]
    assert len(set(digests)) == len(digests)
    assert digest_of(Source(LATEX, dict(reversed(files.items())))) == digests[0], "their order is nothing"


def test_the_digest_tells_two_names_from_one_name_of_two_lines() -> None:
    plain = {"a.tex": b"1", "b.tex": b"2", "c.tex": b"3"}
    forged = {"a.tex": b"1", f"b.tex\n{sha256(b'3')}  c.tex": b"2"}
    assert digest_of(Source(LATEX, plain)) != digest_of(Source(LATEX, forged))


# Phase 01


def _never(*_: object) -> Decision:
    raise AssertionError("nobody is asked")


def intake(source: str, **values: Any) -> dict[str, Any]:
    """What phase 01 writes for a source."""
    values = {
        "notes": "",
        "max_source_mb": 1,
        "arxiv": "",
        "private_addresses": "allowed",
        "download_seconds": 5,
        **values,
    }
    context = Context(
        paths=WorkflowContext("/nowhere"),
        settings={"source": source, **values},
        secrets={},
        limits={},
        environment={},
        contracts=Contracts(),
        digests={},
        open_model=_never,
        review=_never,
        progress=lambda _done, _total, _now: None,
        in_place=lambda: None,
        deadline=None,
    )
    return dict(PHASE.run({}, context))


def test_phase_01_lists_every_file_that_it_writes(tmp_path: Path) -> None:
    laid(tmp_path, {"main.tex": MAIN, "sections/one.tex": b"one"})
    written = intake(str(tmp_path))
    document = written.pop("input.json")
    assert written == {"source/main.tex": MAIN, "source/sections/one.tex": b"one"}
    assert document["files"] == [
        {"path": path, "bytes": len(data), "sha256": sha256(data)} for path, data in written.items()
    ]
    assert (document["kind"], document["origin"], document["fetched"]) == (LATEX, str(tmp_path), None)
    assert document["bytes"] == len(MAIN) + 3


def test_phase_01_takes_typed_words_as_they_are() -> None:
    written = intake(TYPED + "Build a queue. \\input{/etc/passwd} http://127.0.0.1/")
    assert written["source/requirement.txt"] == b"Build a queue. \\input{/etc/passwd} http://127.0.0.1/"
    assert written["input.json"]["kind"] == REQUIREMENT


@pytest.mark.parametrize(
    ("content", "words", "cure"),
    [
        pytest.param(None, "does not exist", "check the name", id="a file that is not there"),
        pytest.param(b"", "is empty", "fetch the file again", id="an empty file"),
        pytest.param(later(lambda: b"x" * (MIB + 1)), "over the limit", "max_source_mb", id="a file over the limit"),
        pytest.param(b"\x89PNG", "a picture", "give the paper as", id="a picture"),
    ],
)
def test_phase_01_gives_up_with_what_to_do(content: bytes | None, words: str, cure: str, tmp_path: Path) -> None:
    if content is not None:
        laid(tmp_path, {"paper.pdf": content})
    with pytest.raises(PhaseError, match=words) as caught:
        intake(str(tmp_path / "paper.pdf"))
    assert cure in str(caught.value)
    assert str(tmp_path / "paper.pdf") in str(caught.value)
    assert caught.value.report == {"input_verdict": BROKEN}


def test_a_file_on_the_disk_goes_before_an_arxiv_id_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(tmp_path, {"2401.12345": PDF_FILE})
    monkeypatch.chdir(tmp_path)
    with serving(says(PDF_FILE)) as server:
        assert intake("2401.12345", arxiv=server.base)["input.json"]["fetched"] is None
    assert server.questions == []


GONE = says(b"no", status="404 Not Found")


def asked(questions: list[str]) -> list[str]:
    return [question.split()[1] for question in questions]


@pytest.mark.parametrize(
    ("first", "why"),
    [
        pytest.param(GONE, "the source is not there", id="a source that is not there"),
        pytest.param(says(b"no", status="403 Forbidden"), "it is kept back", id="a source that is not given out"),
        pytest.param(says(packed({"a.txt": b"words"})), "it holds no LaTeX", id="an archive without LaTeX"),
        pytest.param(says(PAGE, "Content-Type: text/html"), "a page is not the source", id="a page in its place"),
        pytest.param(says(b"words \xff"), "it is nothing", id="bytes that are nothing"),
    ],
)
def test_the_pdf_of_an_arxiv_paper_is_taken_where_its_source_cannot_be(first: Any, why: str) -> None:
    with serving(first, says(PDF_FILE, "Content-Type: application/pdf")) as server:
        document = intake("arXiv:2401.12345v2", arxiv=server.base)["input.json"]
    assert asked(server.questions) == ["/e-print/2401.12345v2", "/pdf/2401.12345v2"], why
    assert document["kind"] == PDF
    assert document["fetched"] == {
        "url": f"{server.base}/pdf/2401.12345v2",
        "content_type": "application/pdf",
        "arxiv": "2401.12345v2",
    }


def test_the_source_of_an_arxiv_paper_is_preferred_and_its_pdf_never_asked_for() -> None:
    with serving(says(packed({"main.tex": MAIN}))) as server:
        document = intake("https://arxiv.org/abs/2401.12345", arxiv=server.base + "/")["input.json"]
    assert asked(server.questions) == ["/e-print/2401.12345"]
    assert (document["kind"], document["fetched"]["arxiv"]) == (LATEX, "2401.12345")


def test_a_server_in_trouble_is_no_reason_to_take_the_pdf() -> None:
    busy = says(b"", "Retry-After: 600", status="503 Busy")
    with serving(busy, says(PDF_FILE)) as server, pytest.raises(PhaseError, match="an internal error"):
        intake("2401.12345", arxiv=server.base)
    assert len(server.questions) == 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(GONE, "not there", id="nothing there"),
        pytest.param(sends(head("Content-Length: 99999999")), "more than|larger|over|limit", id="too much"),
        pytest.param(says(b""), "0 bytes", id="nothing in it"),
        pytest.param(says(b"\x89PNG"), "picture", id="a picture"),
    ],
)
def test_a_download_that_is_no_paper_ends_with_the_address_and_the_reason(script: Any, words: str) -> None:
    with serving(script) as server, pytest.raises(PhaseError, match=words) as caught:
        intake(f"{server.base}/paper.pdf")
    assert f"{server.base}/paper.pdf" in str(caught.value)


def test_an_archive_of_two_papers_is_refused_with_what_to_do() -> None:
    with pytest.raises(Unreadable, match="is an archive of 2 papers; unpack it, and give one of them"):
        source_of(packed({"a.pdf": PDF_FILE, "b.pdf": PDF_FILE + b"\n"}))
