"""Recognize files of passwords and keys, by path and content: none of them is a paper, or code."""

from __future__ import annotations

import os
import re

_SECRETS_OF = {
    "the keys of AWS": (r"\.aws/(?:credentials|config)", r"\.aws/(?:cli|sso)/cache/.*"),
    "the keys of Google's cloud": (
        r"gcloud/(?:.*/)?(?:credentials\.db|access_tokens\.db|application_default_credentials\.json|adc\.json)",
    ),
    "the keys of Azure": (r"\.azure/(?:.*token.*|.*cache.*|.*profile.*|service_principal.*)",),
    "keys of ssh": (
        r"\.ssh/(?!known_hosts|authorized_keys|config$|.*\.pub$).+",
        r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?",
    ),
    "passwords for the network": (
        r"[._]netrc|\.git-credentials|git/credentials|\.config/gh/hosts\.ya?ml|\.config/hub",
    ),
    "passwords of a database": (r"\.pgpass|\.my\.cnf|\.mylogin\.cnf|\.pg_service\.conf",),
    "passwords of a registry": (
        r"\.docker/config\.json|\.dockercfg|\.pypirc|\.npmrc|\.yarnrc\.yml",
        r"\.cargo/credentials(?:\.toml)?|\.gem/credentials",
    ),
    "the keys of a cluster": (
        r"\.kube/(?:config|cache/.*)|kubeconfig|\.terraform\.d/credentials\.tfrc\.json|\.vault-token",
    ),
    "passwords of other places": (r"rclone/rclone\.conf|\.s3cfg|\.boto|\.?huggingface/(?:token|stored_tokens)",),
    "keys of an environment": (r"\.env(?:\.(?!(?:example|sample|template|dist)$)[A-Za-z0-9_-]+)?|proc/[^/]+/environ",),
    "passwords": (
        r"\.gnupg/.+|\.password-store/.+|keyrings/.+|kwalletd?/.+",
        r"[^/]+\.(?:kdbx?|keychain(?:-db)?|agilekeychain|p12|pfx|jks|keystore|ppk)",
    ),
    "passwords and sessions of a browser": (
        r"logins\.json|key[34]\.db|cookies\.sqlite|Login Data|Cookies|Web Data|Local State",
    ),
    "the passwords of this machine": (r"etc/(?:g?shadow-?|sudoers(?:\.d/.*)?|master\.passwd)",),
    "the keys of this program": (r"\.config/pipeline/(?:config\.yaml|seal-key)",),
}
"""Kinds of secrets, each with the ends of its paths."""
_PLACES = tuple(
    (what, re.compile(rf"(?:.*/)?(?:{'|'.join(places)})", re.DOTALL)) for what, places in _SECRETS_OF.items()
)
_STORES = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker/config.json", ".password-store", ".mozilla", ".netrc"),
    *(".pgpass", ".git-credentials", ".config/gcloud", ".config/google-chrome", ".config/chromium", ".config/pipeline"),
    ".local/share/keyrings",
)
"""Directories that mark their parent as a store of keys."""
_MOST = 64 * 1024
"""Largest file to look into: a longer one is text about keys."""
_LEAST_SHARE = 0.5
"""Least share of lines with passwords in a file of passwords."""
_INSIDE = (
    ("a private key", re.compile(r"\s*-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-")),
    (
        "a key of a cloud service",
        re.compile(r'\s*\{(?=[^{}]*"private_key"\s*:)(?=[^{}]*"type"\s*:\s*"service_account")'),
    ),
    ("a key of a cloud service", re.compile(r'\s*\{(?=[^{}]*"refresh_token"\s*:)(?=[^{}]*"client_secret"\s*:)')),
    ("passwords of a registry", re.compile(r'\s*\{\s*"auths"\s*:\s*\{[^{}]*\{[^{}]*"(?:auth|identitytoken)"\s*:')),
    (
        "the keys of a cluster",
        re.compile(
            r"(?ms)(?:apiVersion|kind|clusters|users|contexts|current-context|---)"
            r"(?=.*^kind:[ ]*Config\b)(?=.*^[ ]*(?:client-key-data|token|password):[ ]*\S)"
        ),
    ),
)
_LINES = (
    ("the keys of AWS", re.compile(r"(?i)\s*aws_(?:secret_access_key|session_token|access_key_id)\s*=\s*\S{8,}")),
    (
        "passwords for the network",
        re.compile(r"\s*(?:(?:machine\s+\S+|default)\s+)?(?:(?:login|account)\s+\S+\s+){0,2}password\s+\S+\s*"),
    ),
    ("passwords for the network", re.compile(r"https?://[^\s:/@]+:[^\s/@]+@[^\s/]+/?\s*")),
    (
        "passwords of a database",
        re.compile(r"(?:\\.|[^:\s\\])+:(?:\d{1,5}|\*):(?:\\.|[^:\s\\])+:(?:\\.|[^:\s\\])+:\S+\s*"),
    ),
    ("passwords of a registry", re.compile(r"\s*//[^\s:]+/?:_(?:authToken|password|auth)\s*=\s*\S+")),
)
_NO_WORD = re.compile(r"\s*(?:[#;].*|\[[^\]]*\]|(?:region|output|login|account|user|machine)\b\s*[= ]\s*\S+)?\s*")
"""Lines of such a file without a password: comments, sections and their settings."""


def credentials_at(path: str) -> str:
    """Return the kind of keys or passwords in a file at that path, links followed, or an empty string."""
    for place in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        for what, pattern in _PLACES:
            if pattern.fullmatch(place):
                return what
    return ""


def credentials_in(data: bytes) -> str:
    """Return the kind of keys or passwords that the bytes consist of, or an empty string.

    A text that shows one key among other things is none: only a file that is little else.
    """
    if len(data) > _MOST or b"\0" in data:
        return ""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if kind := next((what for what, pattern in _INSIDE if pattern.match(text)), ""):
        return kind
    lines = [line for line in text.splitlines() if not _NO_WORD.fullmatch(line)]
    for what, pattern in _LINES:
        if lines and sum(pattern.fullmatch(line) is not None for line in lines) > _LEAST_SHARE * len(lines):
            return what
    return ""


def credential_store(path: str, home: str) -> str:
    """Return the credential store that a directory contains or belongs to, or an empty string."""
    real = os.path.realpath(path)
    if what := credentials_at(real):
        return what
    if os.path.commonpath([real, os.path.realpath(home)]) == real and real != os.path.realpath(home):
        return f"your home folder {home}"
    within = (name for name in _STORES if f"/{name}/" in f"{real}/" or os.path.lexists(os.path.join(real, name)))
    return next(within, "")


def why_no_source(path: str, data: bytes = b"") -> str:
    """Return why a user's file is not given to a model, with what to do, or an empty string."""
    place, content = credentials_at(path), credentials_in(data)
    if place:
        return f"lies where {place} are kept, so it is not read; give the paper itself"
    return f"holds {content}, so it is not read; give a file without" if content else ""
