"""The rules of the house that a machine can check: over every module of pipeline/ and phases/, by its syntax tree."""

from __future__ import annotations

import ast
import builtins
import gc
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from tests.papers import Command
from tests.toys import write_toys

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(path for package in ("pipeline", "phases") for path in (ROOT / package).rglob("*.py"))
LONGEST_MODULE, LONGEST_FUNCTION = 600, 45
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@contextmanager
def uncollected() -> Iterator[None]:
    """What is made meanwhile stays: the collector need not go through a million nodes again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@pytest.fixture(scope="module", autouse=True)
def forget_trees() -> Iterator[None]:
    """The syntax trees take 190 MB, which this worker must not hold for the rest of its run."""
    yield
    for cached in (tree_of, nodes, imported, imported_modules):
        cached.cache_clear()


@cache
def tree_of(module: Path) -> ast.Module:
    with uncollected():
        return ast.parse(module.read_bytes(), str(module))


def name_of(node: ast.AST) -> str:
    """`a.b.c` for a name or an attribute of one; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def nodes(module: Path) -> Sequence[ast.AST]:
    """All that has a place in a module."""
    with uncollected():
        return tuple(node for node in ast.walk(tree_of(module)) if hasattr(node, "lineno"))


def breaches(is_one: Callable[[ast.AST], bool]) -> list[str]:
    """File and line of whatever breaks a rule, in all modules."""
    return [
        f"{module.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        for module in MODULES
        for node in nodes(module)
        if is_one(node)
    ]


def calls(*names: str) -> Callable[[ast.AST], bool]:
    """Whether a node calls one of these, by its whole name or by the last part of it."""

    last = {name[1:] for name in names if name.startswith(".")}

    def is_one(node: ast.AST) -> bool:
        name = name_of(node.func) if isinstance(node, ast.Call) else ""
        return name in names or name.rpartition(".")[2] in last

    return is_one


def passes(keyword: str, *, value: bool) -> Callable[[ast.AST], bool]:
    """Whether a node is a call that passes this keyword with this value, or with one that nobody can tell."""

    def is_one(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and any(
            word.arg == keyword and not (isinstance(word.value, ast.Constant) and word.value.value is not value)
            for word in node.keywords
        )

    return is_one


@cache
def imported(module: Path) -> set[str]:
    """The top-level packages that a module imports, wherever in it."""
    found: set[str] = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def importers(package: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in MODULES if package in imported(path)]


def test_there_are_modules_to_check() -> None:
    assert len(MODULES) > 30


# What never stands in product code


def test_nothing_is_asserted() -> None:
    assert breaches(lambda node: isinstance(node, ast.Assert)) == []


def test_no_shell_is_started() -> None:
    assert breaches(passes("shell", value=True)) == []
    assert breaches(calls("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")) == []


def test_no_text_is_run_as_code() -> None:
    found = breaches(calls("eval", "exec", "__import__"))
    assert [place for place in found if not place.startswith(IN_THE_SANDBOX)] == []
    for package in ("pickle", "marshal", "shelve", "dill", "cloudpickle", "code"):
        assert importers(package) == []


def test_no_archive_is_unpacked_blindly() -> None:
    assert breaches(calls(".extractall", ".unpack_archive")) == []


def test_yaml_is_loaded_by_a_safe_loader_alone() -> None:
    assert breaches(calls("yaml.unsafe_load", "yaml.full_load", "yaml.unsafe_load_all", "yaml.full_load_all")) == []
    assert breaches(
        lambda node: isinstance(node, ast.Call)
        and name_of(node.func) in ("yaml.load", "yaml.load_all")
        and "Loader" not in {word.arg for word in node.keywords}
    ) == []  # fmt: skip
    risky = (
        "yaml.Loader",
        "yaml.CLoader",
        "yaml.FullLoader",
        "yaml.CFullLoader",
        "yaml.UnsafeLoader",
        "yaml.CUnsafeLoader",
    )
    assert breaches(lambda node: name_of(node) in risky) == []


def test_nothing_is_printed_and_nobody_is_asked_but_by_way_of_click() -> None:
    assert breaches(calls("print", "input")) == []


def test_no_certificate_goes_unchecked() -> None:
    assert breaches(passes("verify", value=False)) == []
    assert breaches(calls("._create_unverified_context")) == []


# Errors


def caught(handler: ast.ExceptHandler) -> set[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
    return {name_of(kind) for kind in kinds}


IN_THE_SANDBOX = "phases/evidence/inside/"
"""These run beside the code that is looked at, as programs of their own."""


def test_every_exception_is_caught_in_two_places_and_no_others() -> None:
    broad = breaches(
        lambda node: isinstance(node, ast.ExceptHandler) and bool(caught(node) & {"Exception", "BaseException"})
    )
    assert sorted(place.rpartition(":")[0] for place in broad if not place.startswith(IN_THE_SANDBOX)) == [
        "pipeline/cli/boundary.py",
        "pipeline/engine/attempt.py",
    ]


def test_no_handler_is_bare() -> None:
    assert breaches(lambda node: isinstance(node, ast.ExceptHandler) and node.type is None) == []


def test_no_error_is_suppressed_wholesale() -> None:
    assert breaches(
        lambda node: calls(".suppress")(node)
        and isinstance(node, ast.Call)
        and bool({name_of(argument) for argument in node.args} & {"Exception", "BaseException"})
    ) == []  # fmt: skip


def test_no_error_without_a_kind_is_raised() -> None:
    def is_one(node: ast.AST) -> bool:
        raised = node.exc if isinstance(node, ast.Raise) else None
        name = name_of(raised.func if isinstance(raised, ast.Call) else raised) if raised else ""
        return name in ("Exception", "BaseException", "AssertionError")

    assert breaches(is_one) == []


_NAME = r"`?(?:[a-z_]\w*\.)*[A-Z]\w*`?|`?(?:[a-z_]\w*\.)+\w+`?"
RAISES = re.compile(rf"\bRaises:?\s+((?:{_NAME})(?:(?:, and |, or |, | and | or |:[^\n]*\n\s+)(?:{_NAME}))*)")


def raised_in(docstring: str) -> list[str]:
    """The exceptions that a docstring names, after "Raises" in a sentence or in a section of Google style."""
    return [name.strip("`") for names in RAISES.findall(docstring) for name in re.findall(_NAME, names)]


@cache
def exceptions() -> set[str]:
    """The names of all exception classes, those of Python and those of the product."""
    classes = {node.name: node for module in MODULES for node in nodes(module) if isinstance(node, ast.ClassDef)}
    found = {name for name, value in vars(builtins).items() if is_exception(value)}
    while more := {
        name
        for name, node in classes.items()
        if name not in found and any(name_of(base).rpartition(".")[2] in found for base in node.bases)
    }:
        found |= more
    return found


def is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def is_exception_in(module: Path, name: str) -> bool:
    """Whether a module can raise what a docstring of it calls so."""
    if name in exceptions():
        return True
    own = ".".join(module.relative_to(ROOT).with_suffix("").parts)
    for full in (f"{own}.{name}", name):
        with suppress(ImportError, AttributeError, ValueError):
            return is_exception(pkgutil.resolve_name(full))
    return False


def test_every_exception_that_a_docstring_names_exists() -> None:
    assert [
        f"{module.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {name}"
        for module in MODULES
        for node in (tree_of(module), *nodes(module))
        if isinstance(node, (ast.Module, ast.ClassDef, *Function))
        for name in raised_in(ast.get_docstring(node) or "")
        if not is_exception_in(module, name)
    ] == []


@pytest.mark.parametrize(
    ("docstring", "names"),
    [
        ("Return a page. Raises Refused, zlib.error and what it calls raises.", ["Refused", "zlib.error"]),
        ("Return a page.\n\nRaises:\n    `Refused`: for a link.\n    OSError: for a hole.", ["Refused", "OSError"]),
        ("Raises when the folder was moved. It raises what the reader raises.", []),
    ],
    ids=["in a sentence", "in a section", "without a name"],
)
def test_the_exceptions_of_a_docstring_are_found(docstring: str, names: list[str]) -> None:
    assert raised_in(docstring) == names


# Files

OPENERS = {
    *(
        "open",
        "io.open",
        "os.open",
        "gzip.open",
        "bz2.open",
        "lzma.open",
        "tarfile.open",
        "zipfile.ZipFile",
        "sqlite3.connect",
    ),
    *(".read_text", ".write_text", ".write_bytes", ".touch"),
}
OPEN_BY_THEMSELVES = {
    "pipeline/base/safe_tree.py": "the opener, and directories opened step by step",
    "pipeline/base/files.py": "directories, to make their names durable",
    "pipeline/base/archives.py": "a zip in a file that is open already",
    "pipeline/cli/pack.py": "the archive that the user names: a link or a pipe is as good",
    "pipeline/cli/export.py": "the file that the user names with -o",
    "pipeline/cli/web/code_pages.py": "a zip in memory",
    "phases/acceptance/configuration/repo_hooks.py": "the user's own store, whose owner and mode count as well",
    "phases/evidence/inside/": "programs of their own, in the sandbox",
    "phases/llm/ledger.py": "the tasks folder itself, to lock it",
    "phases/readers/intake.py": "a zip of the user's, which a link may lead to",
    "phases/references/fetch/install.py": "directories opened step by step",
    "phases/references/index/cache.py": "a database in the user's cache: none of a task is opened",
    "phases/sandbox/confine.py": "directories for Landlock, in a program of its own",
    "phases/sandbox/devices.py": "what the kernel says of graphics cards",
    "phases/sandbox/probe.py": "files in a scratch directory made for the trial",
    "phases/workspace/tree.py": "directories opened step by step",
}
"""Modules that open files past `open_regular`, each with the reason."""


def opens_by_itself(node: ast.AST) -> bool:
    """Whether a node opens a file without `open_regular`; /proc, the null device and files in memory need no opener."""
    if not isinstance(node, ast.Call):
        return False
    whole = name_of(node.func)
    last = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_inherited = isinstance(owner, ast.Call) and name_of(owner.func) == "super"
    if is_inherited or not {whole, last} & OPENERS or "fileobj" in {word.arg for word in node.keywords}:
        return False
    place = node.args[0] if node.args else None
    first = place.values[0] if isinstance(place, ast.JoinedStr) else place
    is_kernel = isinstance(first, ast.Constant) and str(first.value).startswith("/proc/")
    return not (is_kernel or (place is not None and name_of(place) == "os.devnull"))


def test_a_file_is_opened_by_the_one_opener_that_follows_no_link_and_waits_for_no_pipe() -> None:
    found = {place.rpartition(":")[0]: place for place in breaches(opens_by_itself)}
    assert [place for module, place in found.items() if not module.startswith(tuple(OPEN_BY_THEMSELVES))] == []
    assert [name for name in OPEN_BY_THEMSELVES if not any(module.startswith(name) for module in found)] == []


@pytest.mark.parametrize(
    "line",
    [
        *("open(path, 'rb')", "os.open(path, os.O_RDONLY)", "io.open(path)", "Path(task, 'plan').read_text()"),
        *(
            "gzip.open(path)",
            "tarfile.open(path, 'r')",
            "sqlite3.connect(path)",
            "where.write_bytes(data)",
            "open(f'{task}/x')",
        ),
    ],
)
def test_the_rule_of_the_one_opener_sees(line: str) -> None:
    assert opens_by_itself(ast.parse(line, mode="eval").body)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "open(f'/proc/{pid}/stat')",
            "open(os.devnull, 'rb')",
            "tarfile.open(fileobj=raw, mode='w|')",
            "site.open(task)",
            "super().write_text(words)",
        ),
        *("open_file(path)", "os.fdopen(descriptor)", "read_text(content)", "workspace.read_bytes(path)"),
    ],
)
def test_the_rule_of_the_one_opener_lets_pass(line: str) -> None:
    assert not opens_by_itself(ast.parse(line, mode="eval").body)


# Shape and names


def test_every_module_says_in_its_docstring_what_it_is_for() -> None:
    assert [module for module in MODULES if not ast.get_docstring(tree_of(module))] == []


def test_every_module_is_short_enough_to_be_read() -> None:
    lengths = {str(module.relative_to(ROOT)): len(module.read_bytes().splitlines()) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_every_function_is_short_enough_to_be_read() -> None:
    assert breaches(
        lambda node: isinstance(node, Function) and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ) == []  # fmt: skip


FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "handler", "handlers"}


def words_of(name: str) -> set[str]:
    """The words of a name, be it in snake_case or in CamelCase."""
    spaced = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
    return set(spaced.lower().split("_"))


def test_nothing_has_a_name_that_says_nothing() -> None:
    assert breaches(
        lambda node: isinstance(node, (*Function, ast.ClassDef)) and bool(words_of(node.name) & FORBIDDEN_NAMES)
    ) == []  # fmt: skip
    assert [module for module in MODULES if words_of(module.stem) & FORBIDDEN_NAMES] == []


def test_everything_is_annotated() -> None:
    def is_one(node: ast.AST) -> bool:
        if not isinstance(node, Function):
            return False
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        bare = (argument.annotation is None for argument in arguments if argument.arg not in ("self", "cls"))
        return node.returns is None or any(bare)

    assert breaches(is_one) == []


# What the tests may not do

CLOCKS = ("perf_counter", "process_time", "thread_time", "monotonic", "getrusage", "time", "time_ns", "perf_counter_ns",
          "monotonic_ns", "process_time_ns")  # fmt: skip
CLOCK_USES = {
    "tests/work.py": "deadlines whose only verdict is that something hangs or never happened",
    "tests/bombs.py": "memory, not time",
    "tests/drills/test_downloads.py": "memory, not time",
    "tests/drills/test_models.py": "memory, not time",
    "tests/drills/test_busy.py": "kills at moments of a run, spread over how long it takes",
    "tests/drills/test_power_cut.py": "the same, for cuts",
    "tests/drills/test_sandbox.py": "an attack that ends by itself if nothing stops it",
    "tests/engine/test_lock.py": "how old a file says that it is",
}
"""Files of the tests that may read a clock, or a process's account, and what for."""
_ANY_CLOCK = f"(?:{'|'.join(CLOCKS)})"
CLOCK_CALL = re.compile(rf"\b(?:time|resource)\.{_ANY_CLOCK}\(|\bfrom (?:time|resource) import .*\b{_ANY_CLOCK}\b")


def test_no_test_reads_a_clock_but_for_a_listed_reason() -> None:
    """A test that compares a duration fails on a slower machine: tests/work.py counts, ends what hangs, and waits."""
    found = {
        path.relative_to(ROOT).as_posix(): call.group()
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__).resolve() and (call := CLOCK_CALL.search(path.read_text()))
    }
    assert {name: call for name, call in found.items() if name not in CLOCK_USES} == {}


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("began = time.perf_counter()", True),
        ("resource.getrusage(resource.RUSAGE_SELF)", True),
        ("from time import monotonic", True),
        ("from resource import RLIMIT_FSIZE", False),
        ("time.sleep(0.1)", False),
        ('monkeypatch.setattr("worker.time.monotonic", ticks)', False),
    ],
)
def test_a_call_of_a_clock_is_found(line: str, is_one: bool) -> None:
    assert bool(CLOCK_CALL.search(line)) is is_one


# Who imports what


@pytest.mark.parametrize(
    ("package", "home"),
    [
        ("jsonschema", "pipeline/engine/contract.py"),
        ("jsonschema_rs", "pipeline/engine/contract.py"),
        ("loguru", "pipeline/base/logs.py"),
        ("mcp", "pipeline/cli/mcp.py"),
        ("distributed", "pipeline/cli/engines.py"),
        ("yaml", "pipeline/base/plain_yaml.py"),
        ("starlette", "pipeline/cli/web/server.py"),
        ("uvicorn", "pipeline/cli/web/server.py"),
        ("jinja2", "phases/pages/render.py"),
        ("latex2mathml", "phases/pages/mathml.py"),
    ],
)
def test_a_library_is_imported_in_one_module_alone(package: str, home: str) -> None:
    assert importers(package) == [home]


@pytest.mark.parametrize("package", ["tenacity", "liteparse", "pypdfium2", "openai", "anthropic", "httpx2"])
def test_a_library_of_the_phases_is_imported_in_one_module_at_most(package: str) -> None:
    assert len(importers(package)) <= 1


def test_the_page_is_imported_by_its_command_alone() -> None:
    web = "pipeline.cli.web"
    found = [module.relative_to(ROOT).as_posix() for module in MODULES if web in imported_modules(module)]
    inside = [name for name in found if not name.startswith("pipeline/cli/web/")]
    assert inside in ([], ["pipeline/cli/serve.py"])
    assert any(f"{web}.server" in imported_modules(module) for module in MODULES)


def test_click_stands_in_the_command_line_alone() -> None:
    assert [name for name in importers("click") if not name.startswith("pipeline/cli/")] == []


def test_only_the_command_line_reads_the_environment_and_exits() -> None:
    names = ("os.environ", "os.environb", "os.getenv", "sys.exit", "os._exit")
    found = breaches(lambda node: name_of(node) in names or calls("exit", "quit")(node))
    assert [place for place in found if not place.startswith(("pipeline/cli/", IN_THE_SANDBOX))] == []


PACKAGES = sorted(path.parent for path in (ROOT / "phases").glob("*/__init__.py"))
MOST_PUBLIC = 12


def public_modules(package: Path) -> list[str] | None:
    """The modules that a package names in its `__all__`; None where it has no face yet."""
    for node in tree_of(package / "__init__.py").body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(name_of(target) == "__all__" for target in targets) and isinstance(node, ast.Assign):
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


FACES = {package.name: names for package in PACKAGES if (names := public_modules(package)) is not None}


@cache
def imported_modules(module: Path) -> set[str]:
    """Every module, in full, that a module imports, wherever in it; of `from a import b` both a and a.b."""
    found: set[str] = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def package_of(name: str) -> str:
    """`readers` for phases.readers.pdf.lines; empty for what is in no package of phases."""
    parts = name.split(".")
    return parts[1] if parts[0] == "phases" and len(parts) > 1 and (ROOT / "phases" / parts[1]).is_dir() else ""


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize("package", FACES)
def test_the_face_of_a_package_is_at_most_twelve_modules_that_are_there(package: str) -> None:
    assert len(FACES[package]) <= MOST_PUBLIC
    assert [name for name in FACES[package] if not is_module(f"phases.{package}.{name}")] == []


def test_a_package_is_entered_by_its_face_alone() -> None:
    inside = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in MODULES
        for name in imported_modules(module)
        if (package := package_of(name)) in FACES
        and package != package_of(".".join(module.relative_to(ROOT).with_suffix("").parts))
        and is_module(name)
        and name != f"phases.{package}"
        and not any(f"{name}.".startswith(f"phases.{package}.{public}.") for public in FACES[package])
    }
    assert sorted(inside) == []


def test_the_work_knows_of_the_machine_only_what_a_phase_needs() -> None:
    found = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in MODULES
        if module.is_relative_to(ROOT / "phases")
        for name in imported_modules(module)
        if name.startswith(("pipeline.engine", "pipeline.cli"))
        and is_module(name)
        and name not in ("pipeline.engine", "pipeline.engine.phase")
    }
    assert sorted(found) == []


HEAVY = ("loguru", "jsonschema", "jsonschema_rs", "tenacity", "yaml", "rich", "asyncio", "ssl")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_what_needs_no_library_imports_none(arguments: list[str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipeline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert "pipeline" in ended.stdout
    modules = {line.rpartition("|")[2].strip().split(".")[0] for line in ended.stderr.splitlines() if "|" in line}
    assert "click" in modules, "the list of imports is there"
    assert modules & set(HEAVY) == set()


@pytest.mark.parametrize("arguments", ["run p.md", "status", "list", "why p"])
def test_what_logs_no_work_never_imports_loguru(arguments: str, tmp_path: Path) -> None:
    toys = write_toys(tmp_path / "toys", 2)
    (tmp_path / "p.md").write_text("# A paper\n")
    command = Command(tmp_path, PIPELINE_PHASES=str(toys), PYTHONPROFILEIMPORTTIME="1")
    assert command("run", "p.md").code == 0
    ended = command(*arguments.split())
    assert ended.code == 0, ended.err
    assert "pipeline.base.logs" in ended.err or "pipeline.cli.status" in ended.err, "the list of imports is there"
    assert "loguru" not in ended.err
