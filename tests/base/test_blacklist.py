"""The user's list of addresses that nothing may be fetched from: every spelling of one, every way that leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.errors import UsageError
from pipeline.base.http.addresses import target_of
from pipeline.base.http.blacklist import read_blacklist, why_blacklisted


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("https://github.com/owner/name", "https://github.com/owner/name"),
        ("https://github.com/owner/name", "https://github.com/owner/name.git"),
        ("https://github.com/owner/name.git", "https://github.com/owner/name/"),
        ("https://github.com/owner/name", "http://www.GitHub.com/Owner/NAME/tree/main/src?plain=1#L3"),
        ("https://github.com/owner/name", "https://github.com:443/owner/./x/../name"),
        ("https://github.com/owner/name", "https://github.com//owner//name"),
        ("https://github.com/owner/name", "https://github.com/owner/n%61me/archive/main.zip"),
        ("https://github.com/owner/name", "https://raw.githubusercontent.com/owner/name/main/setup.py"),
        ("https://github.com/owner/name", "https://codeload.github.com/owner/name/tar.gz/main"),
        ("https://github.com/owner/name", "https://api.github.com/repos/owner/name/zipball"),
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        ("git+https://github.com/owner/name", "https://github.com/owner/name"),
        ("github.com/owner", "https://github.com/owner/anything"),
        ("owner/name", "https://gitlab.com/owner/name.git"),
        ("Owner/Name", "https://mirror.example.org/github.com/owner/name/info/refs?service=git-upload-pack"),
        ("example.org", "https://example.org/"),
        ("example.org", "https://data.example.org./set.zip"),
        ("*.example.org", "https://a.b.example.org/x"),
        ("https://arxiv.org/abs/2401.01234", "https://export.arxiv.org/e-print/2401.01234v2"),
        ("https://arxiv.org/pdf/2401.01234v1.pdf", "https://arxiv.org/abs/2401.01234"),
        ("https://drive.example.org/uc?id=abc", "https://drive.example.org/uc?id=ABC&export=1"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x/y"),
    ],
)
def test_what_a_line_means_is_refused_however_it_is_written(line: str, address: str) -> None:
    assert why_blacklisted(target_of(address), f"unrelated/thing\n{line}") == f"it is on your blacklist ({line})"


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("https://github.com/owner/name", "https://github.com/owner/name2"),
        ("https://github.com/owner/name", "https://github.com/other/name"),
        ("https://github.com/owner/name", "https://gitlab.com/owner/name"),
        ("owner/name", "https://github.com/owner/names"),
        ("owner/name", "https://github.com/owner"),
        ("example.org", "https://notexample.org/"),
        ("example.org", "https://example.org.evil.net/"),
        ("https://arxiv.org/abs/2401.01234", "https://arxiv.org/abs/2401.01235"),
        ("https://drive.example.org/uc?id=abc", "https://drive.example.org/uc?id=xyz"),
    ],
)
def test_what_only_looks_alike_is_fetched(line: str, address: str) -> None:
    assert why_blacklisted(target_of(address), line) == ""


def test_a_list_is_read_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "blacklist.txt"
    path.write_text(
        "\ufeff# not these\r\n\r\n- https://github.com/a/b  # theirs\r\n<https://x.org/y>\nnone\na/b\na/b\n"
    )
    assert read_blacklist(str(path)).split() == ["https://github.com/a/b", "https://x.org/y", "a/b"]
    path.write_text("None\n")
    assert read_blacklist(str(path)) == ""


@pytest.mark.parametrize(
    "line", ["the authors' own code", "localhost:", "a/b/c d", "ftp://x.org/y", "http://", "../..", "\x1b[2J"]
)
def test_a_line_that_names_nothing_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "blacklist.txt"
    path.write_text(f"a/b\n{line}\n")
    with pytest.raises(UsageError, match=r"--blacklist .*blacklist\.txt, line 2: .* is not an address"):
        read_blacklist(str(path))


def test_a_file_that_is_no_text_or_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "blacklist.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_blacklist(str(path))
    with pytest.raises(UsageError, match="No such file"):
        read_blacklist(str(tmp_path / "nowhere"))
