"""Which language a file is in, told from its name or its first line."""

from __future__ import annotations

import os
import re

TEXT = "text"
CODE = ("python", "c", "cpp", "cuda", "java", "javascript", "typescript", "tsx", "go", "rust", "julia", "r", "notebook")
"""The languages whose symbols are known."""

_SUFFIXES = {
    "python": "py pyi pyw pyx pxd pxi",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp tcc txx ino",
    "cuda": "cu cuh",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "julia": "jl",
    "r": "r",
    "notebook": "ipynb",
    TEXT: (
        "md markdown mdx rst txt text tex bib sty cls adoc asciidoc org rmd qmd yaml yml toml json jsonc json5 cfg ini conf "
        "config properties gin sh bash zsh fish ps1 bat cmd mk cmake make dockerfile html htm css scss xml proto sql lua m "
        "scala kt swift rb php pl pm cs fs f f77 f90 f95 f03 for hs ml mli ex exs erl clj nim zig d vim el lisp scm gradle "
        "graphql tf nix bzl bazel env template tmpl j2 jinja"
    ),
}
_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {
    **dict.fromkeys(("sconstruct", "sconscript", "wscript"), "python"),
    ".rprofile": "r",
    **dict.fromkeys(
        (
            *(
                "makefile",
                "gnumakefile",
                "dockerfile",
                "containerfile",
                "cmakelists.txt",
                "readme",
                "license",
                "licence",
            ),
            *(
                "copying",
                "authors",
                "changelog",
                "changes",
                "news",
                "notice",
                "install",
                "contributing",
                "history",
                "todo",
            ),
            *(
                "citation",
                "requirements",
                "gemfile",
                "rakefile",
                "procfile",
                "jenkinsfile",
                "build",
                "workspace",
                "manifest",
            ),
            *(
                "description",
                "namespace",
                "justfile",
                "snakefile",
                "pipfile",
                ".gitignore",
                ".gitattributes",
                ".flake8",
            ),
        ),
        TEXT,
    ),
}
_SHEBANG = re.compile(rb"#![^\n]*?\b(python|pypy|node|deno|bun|Rscript|julia|bash|sh|zsh|perl|ruby|make)[\d.]*\b")
_BY_PROGRAM = {
    **dict.fromkeys((b"python", b"pypy"), "python"),
    **dict.fromkeys((b"node", b"deno", b"bun"), "javascript"),
    b"Rscript": "r",
    b"julia": "julia",
}
_CPP_HEADER = re.compile(
    rb"^[ \t]*(?:class\s+\w|template\s*<|namespace\b|using\s+\w|public\s*:|private\s*:|protected\s*:|"
    rb"#\s*include\s*<(?:string|vector|map|memory|iostream|utility|functional|algorithm|cstdint|cstddef|cmath)>)",
    re.MULTILINE,
)
_CUDA_HEADER = re.compile(rb"\b__(?:global|device)__\b")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def language_of(path: str, head: bytes) -> str | None:
    """The language of the file at a path that begins with these bytes; None where it is not text that anybody searches."""
    name = os.path.basename(path).lower()
    stem, _, suffix = name.rpartition(".")
    found = _BY_NAME.get(name) or (_BY_SUFFIX.get(suffix) if stem else None)
    if found == "c" and suffix == "h":
        return _header(head)
    return found or _by_first_line(head) or (TEXT if not suffix or not stem else _plain(head))


def _header(head: bytes) -> str:
    """What a .h is: the three languages share the suffix."""
    if _CUDA_HEADER.search(head):
        return "cuda"
    return "cpp" if _CPP_HEADER.search(head) else "c"


def _by_first_line(head: bytes) -> str | None:
    found = _SHEBANG.match(head)
    return _BY_PROGRAM.get(found[1], TEXT) if found else None


def _plain(head: bytes) -> str | None:
    """A name that says nothing: text if its first bytes are."""
    if not head or _CONTROL.search(head):
        return None
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return TEXT if len(head) - error.start < 4 else None  # the cut through a letter at the end of the head
    return TEXT
