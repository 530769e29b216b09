"""Files of keys and passwords are known by where they lie and by what is in them, and papers and code are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.base.credentials import credential_store, credentials_at, credentials_in
from tests.papers import PAPER, ROOT, Command

HOME = "/home/you"
STORES = [
    ".aws/credentials",
    ".aws/config",
    ".netrc",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/work",
    "keys/id_ecdsa",
    ".pgpass",
    ".my.cnf",
    ".docker/config.json",
    ".kube/config",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".config/gcloud/application_default_credentials.json",
    ".azure/msal_token_cache.json",
    ".env",
    "app/.env.production",
    ".mozilla/firefox/x.default/logins.json",
    ".mozilla/firefox/x.default/key4.db",
    ".config/google-chrome/Default/Login Data",
    ".config/chromium/Default/Cookies",
    ".gnupg/secring.gpg",
    ".password-store/a.gpg",
    ".local/share/keyrings/login.keyring",
    "secrets.kdbx",
    "site.p12",
    ".config/pipeline/config.yaml",
    ".config/pipeline/seal-key",
    ".cache/huggingface/token",
    ".config/rclone/rclone.conf",
    ".vault-token",
]
PLAIN = [
    "paper.pdf",
    "notes/credentials.md",
    "env.py",
    ".env.example",
    ".ssh/id_rsa.pub",
    ".ssh/known_hosts",
    "id_card.md",
    "config.json",
    "docker/config.json",
    "cookies.md",
    "papers/netrc.txt",
    "kube/config.py",
    "my.cnf.tex",
    "login/data.csv",
    "keys.tex",
]


@pytest.mark.parametrize("name", STORES)
def test_a_place_of_keys_is_known(name: str) -> None:
    assert credentials_at(f"{HOME}/{name}")


@pytest.mark.parametrize("name", PLAIN)
def test_another_place_is_none(name: str) -> None:
    assert credentials_at(f"{HOME}/{name}") == ""


@pytest.mark.parametrize("path", ["/etc/shadow", "/proc/self/environ", "/proc/1/environ"])
def test_places_of_the_machine_are_known(path: str) -> None:
    assert credentials_at(path)


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text("x")
    (tmp_path / "paper.md").symlink_to(tmp_path / ".aws/credentials")
    assert credentials_at(str(tmp_path / "paper.md")) == "the keys of AWS"


KEYS = {
    "ssh": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
    "pgp": "\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n",
    "aws": "[default]\naws_access_key_id = AKIAABCDEFGHIJKLMNOP\n"
    "aws_secret_access_key = abcdefghijklmnopqrstuvwxyz\nregion = eu-west-1\n",
    "netrc": "machine a.example\n login me\n password hunter22\nmachine b.example login me password hunter23\n",
    "pgpass": "# mine\nlocalhost:5432:*:me:hunter22\ndb.example:*:app:me:pass\\:word\n",
    "docker": '{\n "auths": {\n  "registry.example": {\n   "auth": "bWU6aHVudGVyMjI="\n  }\n }\n}\n',
    "kube": "apiVersion: v1\nclusters: []\nkind: Config\nusers:\n- name: me\n  user:\n    token: abcdefgh\n",
    "git": "https://me:hunter22@github.example\nhttps://me:hunter22@gitlab.example\n",
    "npm": "//registry.example/:_authToken=abcdefgh\n",
    "google": '{\n "type": "service_account",\n "private_key": "-----BEGIN PRIVATE KEY-----\\nabc"\n}\n',
    "oauth": '{"client_id": "a", "client_secret": "b", "refresh_token": "c", "type": "authorized_user"}',
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_file_of_keys_is_known_whatever_it_is_called(kind: str) -> None:
    assert credentials_in(KEYS[kind].encode())
    assert credentials_in(b"\xef\xbb\xbf" + KEYS[kind].encode())


@pytest.mark.parametrize("kind", KEYS)
def test_a_paper_that_shows_such_a_file_is_none(kind: str) -> None:
    assert credentials_in((PAPER + "\n```\n" + KEYS[kind] + "```\n" + PAPER).encode()) == ""


def test_the_files_of_this_project_are_none() -> None:
    files = [
        *ROOT.rglob("pipeline/**/*.*"),
        *ROOT.rglob("schemas/*"),
        *ROOT.rglob("docs/*.md"),
        *ROOT.rglob("examples/**/*.*"),
    ]
    files = [path for path in files if path.is_file()]
    assert len(files) > 100
    assert [path for path in files if credentials_at(str(path)) or credentials_in(path.read_bytes())] == []


def test_what_looks_like_one_takes_no_time_to_tell() -> None:
    for text in (
        "{" * 60_000,
        '{"auths":' * 6000,
        "a:" * 30_000,
        "machine x " * 6000,
        "kind: Config\n" * 4000,
        " " * 60_000,
    ):
        credentials_in(text.encode())  # the limit on each test is the assertion: a backtracking one takes hours


# As a user meets it


@pytest.mark.parametrize(("name", "kind"), [(".aws/credentials", "aws"), ("notes.txt", "ssh"), ("readme.md", "pgpass")])
def test_a_run_on_a_file_of_keys_is_refused_with_a_word(name: str, kind: str, tmp_path: Path) -> None:
    pipeline = Command(tmp_path)
    path = tmp_path / "home" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(KEYS[kind])
    ended = pipeline("run", "--fast", path)
    assert ended.code == 1
    assert "so it is not read" in ended.err
    secret = KEYS[kind].splitlines()[1].encode()
    kept = [file for file in (tmp_path / "tasks").rglob("*") if file.is_file() and secret in file.read_bytes()]
    assert kept == []


def test_files_of_keys_in_a_folder_of_references_are_left_out_and_counted(tmp_path: Path) -> None:
    import json

    folder = tmp_path / "ours" / "code"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("SIZE = 1\n")
    (folder / ".env").write_text("TOKEN=abcdefgh\n")
    (folder / "deploy").write_text(KEYS["ssh"])
    (tmp_path / "paper.md").write_text(PAPER)
    ended = Command(tmp_path)(
        "run", "--full", "paper.md", "--references", tmp_path / "ours", "--review", "auto", "--until", "07"
    )
    assert ended.code == 0, ended.err
    row = json.loads((tmp_path / "tasks/paper/code_base.json").read_text())["repositories"][0]
    assert row["left_out"] == {"credentials": 2}
    assert not list((tmp_path / "tasks/paper/code_base").rglob("deploy"))


@pytest.mark.parametrize("flag", ["--tests", "--code"])
def test_a_given_folder_with_a_file_of_keys_is_refused(flag: str, tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "test_a.py").write_text("def test_a() -> None:\n    assert True\n")
    (folder / ".env").write_text("TOKEN=abcdefgh\n")
    (tmp_path / "paper.md").write_text(PAPER)
    words = (
        ("verify", "--code", folder, "--paper", "paper.md")
        if flag == "--code"
        else ("run", "--fast", "paper.md", flag, folder)
    )
    ended = Command(tmp_path)(*words)
    assert ended.code == 2
    assert ".env in it is a file as keys of an environment are kept in" in ended.err


def test_data_with_keys_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER)
    pipeline = Command(tmp_path)
    (pipeline.home / ".ssh").mkdir()
    (pipeline.home / "sets").mkdir()
    for path, what in ((pipeline.home, ".ssh"), (pipeline.home / ".ssh", ".ssh"), (tmp_path, "your home folder")):
        ended = pipeline("run", "--fast", "paper.md", "--data", f"mine={path}")
        assert (ended.code, what in ended.err) == (2, True), ended.err
    assert credential_store(str(pipeline.home / "sets"), str(pipeline.home)) == ""
    assert credential_store(os.sep + "srv", str(pipeline.home)) == ""
