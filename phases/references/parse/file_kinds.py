"""Determine the language of a file, or why it is not indexed."""

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
_NAMED_TEXTS = (
    "makefile gnumakefile dockerfile containerfile cmakelists.txt readme license licence copying authors changelog changes news "
    "notice install contributing history todo citation requirements gemfile rakefile procfile jenkinsfile build workspace "
    "manifest description namespace justfile snakefile pipfile .gitignore .gitattributes .flake8"
)
_BY_NAME = {
    **dict.fromkeys(("sconstruct", "sconscript", "wscript"), "python"),
    ".rprofile": "r",
    **dict.fromkeys(_NAMED_TEXTS.split(), TEXT),
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
    """Return the language of a file from its path and first bytes; None if it is not text worth searching."""
    name = os.path.basename(path).lower()
    stem, _, suffix = name.rpartition(".")
    language = _BY_NAME.get(name) or (_BY_SUFFIX.get(suffix) if stem else None)
    if language == "c" and suffix == "h":
        return _header_language(head)
    return language or _by_first_line(head) or (TEXT if not suffix or not stem else _text_if_plain(head))


def _header_language(head: bytes) -> str:
    """Return the language of a .h file, whose suffix C, C++ and CUDA share."""
    if _CUDA_HEADER.search(head):
        return "cuda"
    return "cpp" if _CPP_HEADER.search(head) else "c"


def _by_first_line(head: bytes) -> str | None:
    match = _SHEBANG.match(head)
    return _BY_PROGRAM.get(match[1], TEXT) if match else None


def _text_if_plain(head: bytes) -> str | None:
    """Return TEXT for a file whose name says nothing and whose first bytes are text."""
    if not head or _CONTROL.search(head):
        return None
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return TEXT if len(head) - error.start < 4 else None  # the cut through a letter at the end of the head
    return TEXT


BINARY, GENERATED, VENDORED, HUGE, DATA = "binary", "generated", "vendored", "huge", "data"
HEAD = 8192
"""Bytes of a file that are enough to decide."""

_LARGEST = 1_000_000
_LARGEST_NOTEBOOK = 10_000_000
_LARGEST_DATA = 50_000
"""Bytes of a JSON or XML that may still be a configuration."""
_LONG_LINE = 2_000
_VENDORED = re.compile(
    r"(?:^|/)(?:vendor|vendors|vendored|_vendor|_vendored|third[-_]?party|3rd[-_]?party|externals?|extern|ext_libs|node_modules|"
    r"bower_components|site-packages|dist-packages|\.?venv|virtualenv|\.tox|\.eggs|Godeps|Pods|jspm_packages|googletest|gtest|"
    r"\.git|\.svn|\.hg|__pycache__|\.ipynb_checkpoints|\.mypy_cache|\.pytest_cache|deps/src|contrib/libs)/"
)
_VERSIONED = r"(?:[-.]v?\d[\w.]*)?(?:[-.](?:slim|bundle|core|all))?"
_LIBRARIES = re.compile(
    rf"(?:^|/)(?:(?:jquery(?:[-.]ui)?|bootstrap|d3|angular|react|vue|lodash|underscore|backbone|mathjax|three|plotly|katex|modernizr|"
    rf"require){_VERSIONED}\.(?:js|mjs|css)|(?:catch|doctest){_VERSIONED}\.(?:h|hpp)|(?:stb_\w+|sqlite3(?:ext)?|cJSON|tinyxml2?|miniz|"
    rf"pugixml|nanoflann|toml11|json11|rapidjson|uthash|xxhash){_VERSIONED}\.(?:h|hpp|c|cc|cpp)|"
    rf"(?:versioneer|ez_setup|distribute_setup|get-pip)\.py)$"
)
"""With the suffixes of the libraries: models/backbone.py is a project's own file."""
_GENERATED_NAME = re.compile(
    r"(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h|c)|_grpc\.pb\.(?:go|cc|h)|\.g\.dart|\.generated\.\w+|"
    r"_generated\.(?:go|h|hpp|c|cc|cpp|rs|ts|js|java|kt|swift|cs|dart)|[-.]min\.(?:js|css|mjs)|"
    r"\.(?:bundle|chunk)\.js|\.map|\.lock|\.tab\.[ch]|\.yy\.[ch]|(?:^|/)lex\.\w+\.c|(?:^|/)moc_\w+\.cpp|(?:^|/)ui_\w+\.h|"
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|cargo\.lock|poetry\.lock|pipfile\.lock|yarn\.lock|"
    r"manifest\.toml|parsetab\.py|lextab\.py|yacctab\.py|_version\.py|configure|aclocal\.m4|ltmain\.sh|config\.guess|config\.sub))$",
    re.IGNORECASE,
)
_FILE = rb"(?:file|code|source|header|module|script|document|parser|lexer|stub|page|package)s?"
_BY_ITSELF = rb"(?:auto[- ]?|automatically[- ]|machine[- ])"
_TOOL = (
    rb"(?:protocol buffer|protoc|swig|cython|antlr|bison|flex|thrift|re2c|qt|f2py|ply|openapi|swagger|webpack|rollup|autoconf|"
    rb"cmake|sphinx|hardhat|tree-sitter|gperf|lemon|django|grpc|flatc)"
)
_START = rb"^\W*(?:(?:note|warning|attention)\b\W*)?"
_ON = rb"(?: (?:by|from|with|using|at|on|via)\b|\s*[.!;:)>*\"']|\s*$|\s+[-\xe2])"
_SAYS_GENERATED = re.compile(
    b"|".join(
        (
            rb"(?:^|[\s*])@generated\b",
            rb"webpackBootstrap",
            rb"\ba (?:bison|lexical scanner|yacc) (?:parser|generated)\b",
            rb"form implementation generated from",
            # "This file was automatically generated", "this is an auto-generated file"
            rb"\b(?:this|the following) (?:\w+ )?%b (?:is|was|has been|were|are) (?:\w+ )?%b?generated\b"
            % (_FILE, _BY_ITSELF),
            rb"\bthis is an? %b?generated %b\b" % (_BY_ITSELF, _FILE),
            # a comment that begins with it and goes on as such a one does: "Auto-generated by …", "File generated by protoc"
            rb"%b(?:%b )?(?:is |was )?%bgenerated(?: %b)?%b" % (_START, _FILE, _BY_ITSELF, _FILE, _ON),
            rb"%b(?:%b )?generated (?:automatically )?(?:by|with|using) (?:the )?%b\b" % (_START, _FILE, _TOOL),
        )
    ),
    re.IGNORECASE,
)
"""A comment that says that its file was generated. The words alone are not enough: "scores auto-generated captions"."""
_NOT_BY_HAND = re.compile(
    rb"\b(?:do[ _]not|don'?t|never)[ _](?:edit|modify|change)"
    rb"(?:\W*$|[.,;:!]| (?:it|them|by hand|manually|directly)\b| (?:this|the|any) (?:\w+ )?%b\b)" % _FILE,
    re.IGNORECASE,
)
_MADE = re.compile(
    rb"generated\b|\b(?:created|produced|made|built|written|compiled) (?:automatically )?(?:by|from)\b", re.IGNORECASE
)
_NEAR = 3
"""Lines of comment between "do not edit" and "generated"; "do not edit" alone may protect a single setting."""
_COMMENT = re.compile(rb"^[ \t]*(?:#|//|/\*|\*|;|--|%|<!--|\"\"\"|'''|\"|r\"\"\"|:|\(\*)")
_DATA = re.compile(
    r"\.(?:csv|tsv|psv|jsonl|ndjson|geojson|arff|libsvm|svm|dat|data|log|out|vtk|obj|ply|stl|off|pdb|cif|xyz|sdf|mol2?|fasta|fa|"
    r"fastq|gff|vcf|bed|gml|graphml|mtx|conll\w*|srt|vtt|po|pot|svg|ttl|nt|rdf|vocab|bpe|merges|emb|vec|npy|npz|parquet)$",
    re.IGNORECASE,
)
_PERHAPS_DATA = re.compile(r"\.(?:json|jsonc|json5|xml|ya?ml|html?|txt|sql)$", re.IGNORECASE)
_BINARY_NAME = re.compile(
    r"\.(?:png|jpe?g|gif|bmp|tiff?|webp|ico|pdf|ps|eps|zip|gz|bz2|xz|zst|tar|tgz|7z|rar|jar|war|class|whl|egg|so|dylib|dll|a|o|obj|exe|bin|"
    r"pyc|pyd|pt|pth|ckpt|onnx|safetensors|h5|hdf5|pkl|pickle|joblib|mat|rds|rdata|mp[34]|wav|"
    r"flac|ogg|avi|mov|ttf|otf|woff2?|docx?|xlsx?|pptx?)$",
    re.IGNORECASE,
)


def why_left_out(path: str, size: int, head: bytes) -> str | None:
    """Return why a file is not indexed, in one word, or None; by path in the repository, size and first 8 KiB."""
    head = head[:HEAD]
    if _BINARY_NAME.search(path) or _is_binary(head):
        return BINARY
    if _VENDORED.search(path) or _LIBRARIES.search(path):
        return VENDORED
    if _DATA.search(path) or (size > _LARGEST_DATA and _PERHAPS_DATA.search(path) and _is_table(path, head)):
        return DATA
    if path.endswith(".ipynb"):
        return HUGE if size > _LARGEST_NOTEBOOK else None
    if _GENERATED_NAME.search(path) or _says_generated(head) or _has_long_lines(path, head):
        return GENERATED
    return HUGE if size > _LARGEST else None


def _is_binary(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False  # UTF-16 with its mark
    return b"\0" in head


def _is_table(path: str, head: bytes) -> bool:
    """Return whether a large file is data: JSON, XML and YAML of this size are; a .txt is if most of it is numbers."""
    if not path.lower().endswith(".txt"):
        return True
    digits = sum(head.count(b"%d" % digit) for digit in range(10))
    return digits * 3 > len(head)


def _says_generated(head: bytes) -> bool:
    """Return whether a comment near the top says that the file was generated."""
    comments = [(at, line) for at, line in enumerate(head.splitlines()[:40]) if _COMMENT.match(line)]
    made = [at for at, line in comments if _MADE.search(line)]
    return any(
        _SAYS_GENERATED.search(line) or (_NOT_BY_HAND.search(line) and any(abs(at - other) <= _NEAR for other in made))
        for at, line in comments
    )


def _has_long_lines(path: str, head: bytes) -> bool:
    """Minified or dumped: code that no person has broken into lines. Prose may have a paragraph on a line."""
    if path.lower().endswith(
        (".md", ".markdown", ".rst", ".txt", ".tex", ".html", ".htm", ".rmd", ".qmd", ".org", ".bib")
    ):
        return False
    lines = head.split(b"\n")
    return len(head) >= _LONG_LINE and max(map(len, lines)) >= _LONG_LINE and len(head) > 300 * len(lines)
