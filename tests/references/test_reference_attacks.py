"""Evil repositories: nothing of them runs, nothing is written outside, and what is left out is told."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.references.fetch.clone import parse_listing, parse_sizes
from phases.references.fetch.fetch import fetch_repositories
from phases.references.fetch.file_filter import DEEP, ODD, NameCollisions, free_name, plain_path
from phases.references.fetch.model import FetchRules, RepositoryRefused, WantedRepository
from tests.papers import HANGS
from tests.repositories import (
    FILE,
    FOLDER,
    LINK,
    RUNNABLE,
    SUBMODULE,
    CountingGit,
    Repository,
    needs_git,
    new_repository,
    without_a_sandbox,
)
from tests.strategies import QUICK

pytestmark = needs_git
EVIL, GOOD = "https://github.com/evil/evil", "https://github.com/good/good"
CONTENT = b"precious"


@dataclass
class Ground:
    """A mirror with an evil repository and a good one in it, and canaries outside."""

    top: Path
    evil: Repository
    git: CountingGit = field(default_factory=CountingGit)

    @property
    def into(self) -> Path:
        return self.top / "code_base"

    @property
    def command(self) -> str:
        """What would be seen if it ran."""
        return f"touch {self.top}/ran"

    def fetch(self, *urls: str, **changed: Any) -> dict[str, Any]:
        rules = FetchRules(**{"mirror": str(self.top / "mirror"), "seconds": HANGS, **changed})
        wanted = [WantedRepository(url, "cited") for url in (*(urls or (EVIL,)), GOOD)]
        found = fetch_repositories(wanted, str(self.into), rules, self.git, lambda *row: None)
        assert [row["name"] for row in found["repositories"]][-1] == "good__good", "the good one did not get its turn"
        assert (self.into / "good__good" / "good.py").read_bytes() == b"1"
        for path in self.into.rglob("*"):
            assert not path.is_symlink()
            assert path.is_dir() or path.stat().st_mode & 0o7777 == 0o644
        return found

    def left_out(self, **changed: Any) -> dict[str, int]:
        """The evil one is fetched; what of it was left out."""
        row, _ = self.fetch(**changed)["repositories"]
        return dict(row["left_out"])

    def why(self, *urls: str, **changed: Any) -> str:
        """The evil one is refused; why. Nothing of it is left."""
        found = self.fetch(*urls, **changed)
        assert len(found["refused"]) == 1
        assert {path.name for path in self.into.iterdir()} == {"good__good", "good__good.json"}
        return str(found["refused"][0]["why"])

    def files(self) -> set[str]:
        tree = self.into / "evil__evil"
        return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}


@pytest.fixture(
    params=[
        pytest.param(True, id="in the best box here", marks=pytest.mark.slow),
        pytest.param(False, id="without a box"),
    ]
)
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    if not request.param:
        without_a_sandbox(monkeypatch)
    mirror = tmp_path / "mirror" / "github.com"
    new_repository(mirror / "good" / "good").holds({"good.py": b"1"})
    (tmp_path / "canary").write_bytes(CONTENT)
    ground = Ground(tmp_path, new_repository(mirror / "evil" / "evil"))
    yield ground
    assert (tmp_path / "canary").read_bytes() == CONTENT, "a file outside was changed"
    assert not (tmp_path / "ran").exists(), "something of a repository ran"
    assert sorted(os.listdir(tmp_path)) in (
        ["canary", "code_base", "mirror"],
        ["canary", "code_base", "given", "mirror"],
    )


# What would act if git checked it out, or believed its settings


def test_hooks_of_a_mirror_never_run(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    hooks = ground.evil.folder / "hooks"
    hooks.mkdir()
    names = ("post-checkout", "post-merge", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman", "pre-receive")
    for name in names:
        (hooks / name).write_text(f"#!/bin/sh\n{ground.command}\n")
        (hooks / name).chmod(0o755)
    assert ground.left_out() == {}


def test_settings_of_a_mirror_are_never_read(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1", ".gitattributes": b"* filter=evil diff=evil\n"})
    evil = f"sh -c '{ground.command}'"
    rows = {
        "core.fsmonitor": evil, "core.sshCommand": evil, "core.pager": evil, "core.hooksPath": "/tmp", "core.gitProxy": evil,
        "core.alternateRefsCommand": evil, "uploadpack.packObjectsHook": evil, "filter.evil.smudge": evil,
        "filter.evil.process": evil, "filter.evil.required": "true", "diff.evil.textconv": evil, "diff.external": evil,
        "credential.helper": f"!{evil}", "remote.origin.url": f"ext::{evil}", "remote.origin.uploadpack": evil,
        "remote.origin.promisor": "true", "extensions.partialClone": "origin", "alias.ls-tree": f"!{evil}",
        "alias.cat-file": f"!{evil}", "gpg.program": evil, "include.path": "/etc/passwd", "core.worktree": "/",
    }  # fmt: skip
    # Not by git itself, which would believe them from the second one on.
    with (ground.evil.folder / "config").open("a") as file:
        for name, value in rows.items():
            section, key = name.rsplit(".", 1)
            first, _, inner = section.partition(".")
            title = f' "{inner}"' if inner else ""
            file.write(f'[{first}{title}]\n\t{key} = "{value}"\n')
        file.write("[core]\n\trepositoryFormatVersion = 1\n")
    assert ground.left_out() == {}
    assert ground.files() == {"f.py", ".gitattributes"}


def test_content_that_a_mirror_only_promises_is_left_out_and_nobody_is_asked_for_it(ground: Ground) -> None:
    lost = ground.evil.blob(b"lost")
    ground.evil.holds({"f.py": b"1"}, (FILE, b"lost.py", lost))
    (ground.evil.folder / "objects" / lost[:2] / lost[2:]).unlink()
    ground.evil.git("config", "remote.origin.url", str(ground.evil.folder))
    ground.evil.git("config", "remote.origin.promisor", "true")
    ground.evil.git("config", "remote.origin.uploadpack", f"sh -c '{ground.command}'")
    assert ground.left_out() == {"missing": 1}


@pytest.mark.parametrize("name", ["objects/info/alternates", "commondir"])
def test_a_mirror_that_leads_elsewhere_is_refused(name: str, ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / name).parent.mkdir(exist_ok=True)
    (ground.evil.folder / name).write_text(str(ground.top))
    assert f"in the mirror it leads elsewhere ({name})" in ground.why()


def test_links_among_the_objects_of_a_mirror_are_refused(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / "objects" / "zz").symlink_to("/etc")
    assert "in the mirror it holds a link (objects/zz)" in ground.why()


@pytest.mark.parametrize("name", [b"z\xff", b"z\x1b[2J"], ids=["no text", "an escape"])
def test_the_odd_name_of_a_link_in_a_mirror_is_told_as_text(name: bytes, ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / "objects" / os.fsdecode(name)).symlink_to("/etc")
    assert "in the mirror it holds a link (objects/z\N{REPLACEMENT CHARACTER}" in (why := ground.why())
    assert why.isprintable()


def test_the_odd_name_of_a_branch_that_is_no_file_is_told_as_text(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / "HEAD").write_text("ref: refs/heads/a\u202eb\n")
    os.mkfifo(ground.evil.folder / "refs" / "heads" / "a\u202eb")
    assert "cannot be read (refs/heads/a\N{REPLACEMENT CHARACTER}b is not a regular file)" in ground.why()


@pytest.mark.parametrize(
    "head",
    [
        "ref: refs/heads/../../canary\n",
        "ref: /etc/passwd\n",
        "ref: refs/heads/--upload-pack=x\n",
        "--all\n",
        "",
        "x" * 9999,
    ],
    ids=["up and out", "absolute", "an option", "another option", "empty", "far too long"],
)
def test_a_head_that_leads_astray_is_refused(head: str, ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / "HEAD").write_text(head)
    assert "HEAD names no branch that is there" in (why := ground.why()) or "not in the mirror" in why


def test_an_embedded_bare_repository_is_nothing_but_files(ground: Ground) -> None:
    config = f"[core]\n\tfsmonitor = {ground.command}\n\tbare = false\n\tworktree = ..\n".encode()
    ground.evil.holds(
        {"bare/HEAD": b"ref: refs/heads/main\n", "bare/config": config, "bare/objects/x": b"", "bare/refs/x": b""}
    )
    assert ground.left_out() == {}
    assert ground.files() == {"bare/HEAD", "bare/config", "bare/objects/x", "bare/refs/x"}


def test_submodules_of_all_kinds_are_counted_and_never_fetched(ground: Ground) -> None:
    modules = "".join(
        f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n\tupdate = !{ground.command}\n'
        for name, path, url in (
            ("a", "a", f"ext::sh -c '{ground.command}'"), ("b", '"b\r"', "https://github.com/good/good"),
            ("../../x", "c", "-u./payload"), ("d", "-uc", "file:///etc"),
        )
    )  # fmt: skip
    rows = [(SUBMODULE, name, "1" * 40) for name in (b"a", b"b\r", b"c", b"-uc")]
    ground.evil.holds({".gitmodules": modules.encode()}, *rows)
    assert ground.left_out() == {"submodules": 4}


# Links, names, twins


def test_links_out_are_counted_and_nothing_is_written_through_one(ground: Ground) -> None:
    blob, data = ground.evil.blob, ground.evil.blob(b"overwritten")
    rows = [
        (LINK, b"canary", blob(str(ground.top / "canary").encode())),
        (LINK, b"out", blob(str(ground.top).encode())),
    ]
    ground.evil.commit(
        ground.evil.tree(
            [*rows, (FOLDER, b"out", ground.evil.tree([(FILE, b"canary", data)])), (FILE, b"canary", data)]
        )
    )
    assert ground.left_out() == {"links": 2}
    assert ground.files() == {"canary", "out/canary"}


BAD = [
    b"..", b".", b"/etc", b"../../canary", b"a/../../canary", b".git", b".GIT", b".Git.", b".git ", b".git::$INDEX_ALLOCATION",
    b"git~1", b"GIT~1", ".g\u200cit".encode(), "\uff0egit".encode(), b"a\\b", b"C:\\x", b"a\nb", b"a\x1b[31m", b"a\x7f",
    "\u202etxt.exe".encode(), "\u2066x".encode(), b"\xff\xfe", b"\xed\xa0\x80", b"dot.", b"blank ",
    b"x" * 256, b"a//b", "a\u2028b".encode(), b"",
]  # fmt: skip


def test_odd_names_are_counted_and_never_written(ground: Ground) -> None:
    data = ground.evil.blob(b"overwritten")
    rows = [(FILE, name, data) for name in BAD if name] + [(FILE, b"f.py", data)]
    hooks = ground.evil.tree([(RUNNABLE, b"post-checkout", data)])
    ground.evil.commit(ground.evil.tree([*rows, (FOLDER, b".gIt", ground.evil.tree([(FOLDER, b"hooks", hooks)]))]))
    assert ground.left_out() == {"odd_names": len(rows)}
    assert ground.files() == {"f.py"}


def test_of_twins_the_first_stays(ground: Ground) -> None:
    first, second = ground.evil.blob(b"first"), ground.evil.blob(b"second")
    names = ["a.py", "A.py", "stra\u00dfe", "STRASSE", "e\u0301", "\u00e9", "\u212a", "k"]
    rows = [(FILE, name.encode(), first if number % 2 == 0 else second) for number, name in enumerate(names)]
    inner = ground.evil.tree([(FILE, b"x", second)])
    ground.evil.commit(
        ground.evil.tree(
            [*rows, (FOLDER, b"A.PY", inner), (FILE, b"a.py", second), (FOLDER, b"d", inner), (FOLDER, b"D", inner)]
        )
    )
    assert ground.left_out() == {"twins": 7}
    assert ground.files() == {*names[::2], "d/x"}
    assert (ground.into / "evil__evil" / "a.py").read_bytes() == b"first"


def test_what_lies_too_deep_is_left_out(ground: Ground) -> None:
    tree = ground.evil.tree([(FILE, b"f", ground.evil.blob(b"1"))])
    for _ in range(50):
        tree = ground.evil.tree([(FOLDER, b"d", tree)])
    ground.evil.commit(tree)
    assert ground.left_out() == {"deep": 1}


def test_pointers_to_large_files_are_counted(ground: Ground) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9999999\n"
    ground.evil.holds({"w.bin": pointer, ".lfsconfig": b"[lfs]\n\turl = https://example.org\n", "f.py": b"1"})
    assert ground.left_out() == {"lfs": 1}
    assert ground.files() == {".lfsconfig", "f.py"}


# Too much of everything


def test_a_file_that_is_too_large_is_left_out(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1", "huge.txt": b"\0" * 30_000_000})
    assert ground.left_out() == {"large": 1}


def test_a_repository_of_a_hundred_thousand_files_is_refused(ground: Ground) -> None:
    blob = ground.evil.blob(b"")
    ground.evil.commit(ground.evil.tree([(FILE, b"%06d" % number, blob) for number in range(100_000)]))
    assert "it has too many files, and at most 20,000 of a repository are taken" in ground.why()


def test_folders_in_folders_that_multiply_are_refused(ground: Ground) -> None:
    tree = ground.evil.tree([(FILE, b"%d" % number, ground.evil.blob(b"")) for number in range(10)])
    for _ in range(10):
        tree = ground.evil.tree([(FOLDER, b"%d" % number, tree) for number in range(10)])
    ground.evil.commit(tree)
    assert "it has too many files" in ground.why()


def test_one_content_under_many_names_counts_each_time(ground: Ground) -> None:
    blob = ground.evil.blob(b"\0" * 2_000_000)
    ground.evil.commit(ground.evil.tree([(FILE, b"%03d" % number, blob) for number in range(200)]))
    assert "it is too large, and at most 200 MiB of a repository are taken" in ground.why()


def loose(repository: Repository, oid: str, raw: bytes) -> None:
    path = repository.folder / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(raw))


def test_an_object_that_claims_a_size_it_has_not_is_refused(ground: Ground) -> None:
    oid = ground.evil.blob(b"small")
    ground.evil.holds({"f.py": b"1"}, (FILE, b"liar", oid))
    loose(ground.evil, oid, b"blob 1000000\0small")
    assert "git" in ground.why()


def test_300_megabytes_that_are_claimed_are_never_made(ground: Ground) -> None:
    oid = ground.evil.blob(b"small")
    ground.evil.holds({"f.py": b"1"}, (FILE, b"liar", oid))
    loose(ground.evil, oid, b"blob 300000000\0small")
    assert ground.left_out() == {"large": 1}


@pytest.mark.parametrize("which", ["blob", "tree", "commit"])
def test_content_that_is_not_what_its_name_says_is_refused(which: str, ground: Ground) -> None:
    blob, other = ground.evil.blob(b"good"), ground.evil.blob(b"evil")
    tree = ground.evil.tree([(FILE, b"f.py", blob)])
    commit = ground.evil.commit(tree)
    evil_tree = b"100644 f.py\0" + bytes.fromhex(other)
    if which == "blob":
        loose(ground.evil, blob, b"blob 4\0evil")
    elif which == "tree":
        loose(ground.evil, tree, b"tree %d\0" % len(evil_tree) + evil_tree)
    else:
        text = f"tree {ground.evil.tree([(FILE, b'f.py', other)])}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nm\n".encode()
        loose(ground.evil, commit, b"commit %d\0" % len(text) + text)
    assert "git" in ground.why()


def test_a_pack_that_is_damaged_is_refused(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1" * 1000})
    ground.evil.git("repack", "-adq")
    for pack in (ground.evil.folder / "objects" / "pack").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        data[12:60] = struct.pack(">12I", *([0xFFFFFFFF] * 12))
        pack.chmod(0o644)
        pack.write_bytes(data)
    assert "git" in ground.why()


def test_a_repository_without_a_commit_is_told(ground: Ground) -> None:
    assert "it is empty, or its HEAD names no branch that is there" in ground.why()


def test_a_repository_without_a_default_branch_is_told(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    (ground.evil.folder / "HEAD").write_text("ref: refs/heads/trunk\n")
    assert "its HEAD names no branch that is there" in ground.why()


def test_a_commit_of_no_files_is_fetched_as_it_is(ground: Ground) -> None:
    ground.evil.commit(ground.evil.tree([]))
    assert ground.left_out() == {}
    assert (ground.into / "evil__evil").is_dir()


# Addresses that are commands


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% {top}/ran", "--upload-pack=touch {top}/ran", "-u touch {top}/ran", "ssh://-oProxyCommand=touch/x",
        "file:///etc", "git@github.com:a/b", "http://github.com/a/b", "https://user:word@github.com/a/b", "https://github.com/",
        "https://github.com/../../a", "https://github.com/a/b?x=1", "https://github.com/$(touch {top}/ran)/b",
        "https://github.com/a/`touch {top}/ran`", "https://github.com/a/b'; touch {top}/ran; '", "https://github.com/-u/x;y", "",
        "fd::7", "git://github.com/a/b", "https://github.com:22/a/b", "https://127.0.0.1/a/b", "https://[::1]/a/b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mirror", [True, False], ids=["mirror", "network"])
def test_an_address_that_is_none_is_refused_and_git_never_sees_it(url: str, mirror: bool, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    git = CountingGit()
    rules = FetchRules(
        mirror=str(tmp_path / "mirror") if mirror else None, seconds=HANGS, resolve=lambda host, port: ["127.0.0.1"]
    )
    wanted = [WantedRepository(url.format(top=tmp_path), "cited")]
    found = fetch_repositories(wanted, str(tmp_path / "code_base"), rules, git, lambda *row: None)
    assert (len(found["refused"]), found["repositories"], git.scripts) == (1, [], [])
    assert found["refused"][0]["why"].isprintable()
    assert not (tmp_path / "ran").exists()


# A folder of the user's


def test_a_folder_full_of_traps_is_read_without_falling_into_one(ground: Ground) -> None:
    given_folder = ground.top / "given" / "one"
    given_folder.mkdir(parents=True)
    (given_folder / "f.py").write_bytes(b"1")
    (given_folder / "out").symlink_to(ground.top)
    os.mkfifo(given_folder / "pipe")
    with open(given_folder / "sparse", "wb") as file:
        file.truncate(2**40)
    (given_folder / os.fsdecode(b"\xff")).write_bytes(b"1")
    (given_folder / "A.py").write_bytes(b"1")
    (given_folder / "a.py").write_bytes(b"1")
    found = fetch_repositories(
        [], str(ground.into), FetchRules(folders=str(ground.top / "given")), ground.git, lambda *row: None
    )
    row = found["repositories"][0]
    assert row["left_out"] == {"large": 1, "links": 1, "odd_names": 1, "other": 1, "twins": 1}
    manifest = json.loads((ground.into / "folder__one.json").read_text())
    assert [file["path"] for file in manifest["files"]] == ["A.py", "f.py"]


# The parts


@pytest.mark.parametrize("raw", BAD)
def test_a_name_that_some_system_reads_otherwise_is_odd(raw: bytes) -> None:
    assert plain_path(raw)[1] == ODD


@pytest.mark.parametrize(
    "raw", [b"a", b".github/x", b".gitignore", "\u00fc/\u4e2d.py".encode(), b"-u", b"a b.py", b"$(x)", b".gitx"]
)
def test_a_plain_name_is_plain(raw: bytes) -> None:
    assert plain_path(raw) == (raw.decode(), None)


@given(st.binary(max_size=80) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"/".join([b"a"] * 41))
@QUICK
def test_a_path_that_is_taken_stays_below_its_folder(raw: bytes) -> None:
    path, fault = plain_path(raw)
    if fault is None:
        assert os.path.normpath(f"/top/{path}") == f"/top/{path}"
        assert path.encode() == raw
    else:
        assert fault in (ODD, DEEP)


@given(st.lists(st.text("aA/\u00df\u00e9\u0301S", min_size=1, max_size=6), max_size=12))
@QUICK
def test_no_two_paths_that_are_taken_are_one_file_anywhere(paths: Sequence[str]) -> None:
    twins = NameCollisions()
    taken = [path.casefold() for path in paths if plain_path(path.encode())[1] is None and twins.add(path)]
    assert len(set(taken)) == len(taken)
    assert not any(other.startswith(f"{path}/") for path in taken for other in taken)


@given(st.text(max_size=120), st.lists(st.sampled_from(["a", "A", "index", "x" * 80]), max_size=4))
@QUICK
def test_every_repository_gets_a_plain_name_of_its_own(wish: str, taken: Sequence[str]) -> None:
    name = free_name(wish, taken)
    assert name.isascii()
    assert 0 < len(name) <= 80
    assert name.lower() not in {*(other.lower() for other in taken), "index"}
    assert name.strip(".-") == name
    assert not name.lower().endswith(".json")


@pytest.mark.parametrize("parse", [parse_listing, parse_sizes])
@given(data=st.binary(max_size=200))
@example(data=b"100644 blob " + b"0" * 40 + b"\tx")
@QUICK
def test_what_git_did_not_print_is_refused_and_nothing_else_goes_wrong(
    parse: Callable[[bytes], object], data: bytes
) -> None:
    with suppress(RepositoryRefused):
        parse(data)


@pytest.mark.parametrize("data", [b"x", b"100644 blob 1\tx\0", b"100644 blob " + b"0" * 40 + b"\tx"])
def test_a_list_that_is_none_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(RepositoryRefused, match="git does not print it as it should"):
        parse_listing(data)


def test_the_mirror_itself_is_never_changed(ground: Ground) -> None:
    ground.evil.holds({"f.py": b"1"})
    command = ["find", str(ground.top / "mirror"), "-printf", "%p %s %T@ %m\n"]
    before = subprocess.run(command, capture_output=True, check=True).stdout
    ground.left_out()
    assert subprocess.run(command, capture_output=True, check=True).stdout == before
