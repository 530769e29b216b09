"""What is left out of an index: what nobody wrote by hand, what belongs to others, what is no text."""

from __future__ import annotations

import re

BINARY, GENERATED, VENDORED, HUGE, DATA = "binary", "generated", "vendored", "huge", "data"
HEAD = 8192
"""So many bytes of a file are enough to decide."""

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
_LIBRARIES = re.compile(
    r"(?:^|/)(?:jquery(?:[-.]ui)?|bootstrap|d3|angular|react|vue|lodash|underscore|backbone|mathjax|three|plotly|katex|modernizr|require|"
    r"versioneer|ez_setup|distribute_setup|get-pip|stb_\w+|sqlite3(?:ext)?|catch|doctest|cJSON|tinyxml2?|miniz|pugixml|nanoflann|toml11|"
    r"json11|rapidjson|uthash|xxhash)(?:[-.]v?\d[\w.]*)?(?:[-.](?:slim|bundle|core|all))?\.(?:js|css|h|hpp|c|cc|cpp|py)$"
)
_OWN_NAMES = re.compile(r"(?:^|/)(?:three|require|react|vue|angular|catch|doctest)\.(?:py|c|cc|cpp)$")
_GENERATED_NAME = re.compile(
    r"(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h|c)|_grpc\.pb\.(?:go|cc|h)|\.g\.dart|\.generated\.\w+|_generated\.\w+|[-.]min\.(?:js|css|mjs)|"
    r"\.(?:bundle|chunk)\.js|\.map|\.lock|\.tab\.[ch]|\.yy\.[ch]|(?:^|/)lex\.\w+\.c|(?:^|/)moc_\w+\.cpp|(?:^|/)ui_\w+\.h|"
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|cargo\.lock|poetry\.lock|pipfile\.lock|yarn\.lock|"
    r"manifest\.toml|parsetab\.py|lextab\.py|yacctab\.py|_version\.py|configure|aclocal\.m4|ltmain\.sh|config\.guess|config\.sub))$",
    re.IGNORECASE,
)
_GENERATED_HEAD = re.compile(
    rb"@generated\b|\bdo[ _]not[ _](?:edit|modify|change)\b(?=[^\n]{0,60}(?:\n|$))|\bauto[- ]?generated\b|"
    rb"\bautomatically[- ]generated\b|"
    rb"\bgenerated (?:automatically|by (?:the )?(?:protocol buffer|protoc|swig|cython|antlr|bison|flex|thrift|re2c|qt|f2py|ply|"
    rb"openapi|swagger|webpack|rollup|autoconf|cmake|sphinx|hardhat|tree-sitter|gperf|lemon))|"
    rb"\ba (?:bison|lexical scanner|yacc) (?:parser|generated)\b|webpackBootstrap",
    re.IGNORECASE,
)
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


def left_out(path: str, size: int, head: bytes) -> str | None:
    """Why a file is not indexed, in one word, or None; told from its path in the repository, its size and its first 8 KiB."""
    head = head[:HEAD]
    if _BINARY_NAME.search(path) or _is_binary(head):
        return BINARY
    if _VENDORED.search(path) or (_LIBRARIES.search(path) and not _OWN_NAMES.search(path)):
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
    """A large file without prose: JSON, XML and YAML of this size are data, a .txt is if most of it is numbers."""
    if not path.lower().endswith(".txt"):
        return True
    digits = sum(head.count(b"%d" % digit) for digit in range(10))
    return digits * 3 > len(head)


def _says_generated(head: bytes) -> bool:
    """Whether a comment near the top says so; a string or a sentence further down proves nothing."""
    return any(_COMMENT.match(line) and _GENERATED_HEAD.search(line) for line in head.splitlines()[:40])


def _has_long_lines(path: str, head: bytes) -> bool:
    """Minified or dumped: code that no person has broken into lines. Prose may have a paragraph on a line."""
    if path.lower().endswith(
        (".md", ".markdown", ".rst", ".txt", ".tex", ".html", ".htm", ".rmd", ".qmd", ".org", ".bib")
    ):
        return False
    lines = head.split(b"\n")
    return len(head) >= _LONG_LINE and max(map(len, lines)) >= _LONG_LINE and len(head) > 300 * len(lines)
