"""The hook that ships: what it blocks, and what healthy code it lets through."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.acceptance.checks import code_check
from phases.acceptance.checks.bindings import read_bindings
from phases.acceptance.checks.code_check import MOST_NAMED, check_code
from phases.acceptance.checks.entry_script import asks_same_program, find_entry_script, help_command
from phases.acceptance.checks.imports import MOST_PROBLEMS, import_problems
from phases.evidence.look import EvidenceSetting
from phases.sandbox.box import NONE, Box, Limits
from phases.sandbox.commands import kind_of_sandbox
from phases.workspace.command_runner import CommandRunner
from phases.workspace.manifest import tree_digest
from phases.workspace.snapshots import Snapshot
from phases.workspace.syntax import LARGEST_PYTHON
from phases.workspace.workspace import LARGEST_FILE, Workspace
from tests.bare import shared_python
from tests.papers import ROOT
from tests.rows import later, with_covered
from tests.strategies import QUICK

KIND = kind_of_sandbox("required")
needs_a_sandbox = pytest.mark.skipif(KIND == NONE, reason="no sandbox on this machine")
VERIFY = "python -m unittest discover -s tests -t ."
HELP = "python -m net --help"
HEALTHY = {
    "net/__init__.py": "",
    "net/model.py": "import math\n\n\nclass Encoder:\n    width = math.floor(2.5)\n",
    "net/settings.json": '{"width": 2}\n',
    "net/__main__.py": "import argparse\n\nfrom net.model import Encoder\n\n"
    "argparse.ArgumentParser().parse_args()\nprint(Encoder.width)\n",
    "tests/__init__.py": "",
    "tests/test_model.py": "import unittest\n\nfrom net import model\n\n\nclass Widths(unittest.TestCase):\n"
    "    def test_width(self) -> None:\n        self.assertEqual(model.Encoder.width, 2)\n",
    "pyproject.toml": '[project]\nname = "net"\n',
}


def plan_of(
    files: Mapping[str, str], verify: tuple[str, ...] = (VERIFY,), requirements: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """A plan as far as this hook reads it; files without content are not planned."""
    planned = [{"path": path} for path, text in files.items() if text]
    checks = {"verify_commands": list(verify)}
    return {"file_structure": planned, "validation_approach": checks, "requirements": list(requirements)}


def written(tmp_path: Path, files: Mapping[str, str]) -> Workspace:
    root = tmp_path / "task" / "generate_code"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Workspace(str(root))


def checked(
    tmp_path: Path,
    files: Mapping[str, str],
    *,
    plan: Mapping[str, Any] | None = None,
    kind: str = KIND,
    untouched: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
    seconds: int = Limits().seconds,
) -> dict[str, Any]:
    """The verdict on these files."""
    workspace = written(tmp_path, files)
    evidence = EvidenceSetting(shared_python(), str(tmp_path / "task" / "evidence"))
    box = Box(workspace.root, kind, python=shared_python(), limits=Limits(seconds=seconds))
    commands = CommandRunner(box, Snapshot(workspace.root, str(tmp_path / "task" / "kept")))
    commands.step = "verdict-1"
    verdict = check_code(workspace, dict(plan or plan_of(HEALTHY)), commands, untouched, missing, evidence)
    commands.settled()
    assert set(verdict) == {"block", "verification"}
    assert set(verdict["verification"]) == {
        "verified", "tree_sha256", "sandbox", "commands", "why", "doubts", "missing_packages", "evidence",
    }  # fmt: skip
    assert verdict["verification"]["tree_sha256"] == tree_digest(workspace)
    assert verdict["verification"]["verified"] is not bool(verdict["verification"]["why"])
    return verdict


# The whole hook


@pytest.mark.slow
@needs_a_sandbox
def test_healthy_code_is_verified_by_its_checks_and_its_help(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY)
    assert verdict["block"] is None
    found = verdict["verification"]
    assert (found["verified"], found["why"], found["sandbox"]) == (True, "", KIND)
    assert [(row["command"], row["exit_code"]) for row in found["commands"]] == [(VERIFY, 0), (HELP, 0)]
    assert "usage: " in found["commands"][1]["tail"]


@needs_a_sandbox
@pytest.mark.parametrize("spelled", [HELP, "python3 -m  net -h"])
def test_a_check_of_the_plan_that_asks_the_program_for_its_help_is_not_run_twice(spelled: str, tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY, plan=plan_of(HEALTHY, (VERIFY, spelled)))
    assert [row["command"] for row in verdict["verification"]["commands"]] == [VERIFY, spelled]


@pytest.mark.parametrize(
    ("command", "is_same"),
    [
        (HELP, True),
        ("python3 -m net --help", True),
        ("python -m net -h", True),
        ("python -m net", False),
        ("python -m net train --help", False),
        ("python -m network --help", False),
        ("python -m net '--help", False),
    ],
)
def test_only_a_command_that_asks_the_same_program_for_its_help_counts_as_that(command: str, is_same: bool) -> None:
    assert asks_same_program(command, HELP) is is_same


BROKEN = [
    pytest.param({"net/model.py": None}, "net/model.py is planned and not there", id="a planned file is not there"),
    pytest.param({"net/model.py": " \n"}, "net/model.py is empty", id="a planned file is empty"),
    pytest.param(
        {"net/model.py": "class Encoder\n"}, "net/model.py does not parse: line 1", id="planned code does not parse"
    ),
    pytest.param(
        {"net/settings.json": "{]"}, "net/settings.json does not parse: line 1", id="planned JSON does not parse"
    ),
    pytest.param(
        {"pyproject.toml": "name ="}, "pyproject.toml does not parse: line 1", id="planned TOML does not parse"
    ),
    pytest.param({"net/extra.py": "x ="}, "net/extra.py does not parse: line 1", id="other code does not parse"),
    pytest.param({"out.json": "{"}, "out.json does not parse: ", id="other JSON does not parse"),
    pytest.param({"out.json": '{"a": 1}\n}\n'}, "out.json does not parse: Extra", id="a line of JSON does not parse"),
    pytest.param(
        {"net/settings.json": "{}\n{}\n"}, "net/settings.json does not parse: line 2", id="planned JSON by the line"
    ),
    pytest.param({"net/__init__.py": "("}, "net/__init__.py does not parse: ", id="an __init__.py does not parse"),
    pytest.param(
        later(lambda: {"net/settings.json": '"' + "x" * LARGEST_FILE + '"'}),
        "net/settings.json is planned and not there (cannot read net/settings.json: not a regular file of at most",
        id="planned JSON is too large to be read",
    ),
    pytest.param(
        {"net/model.py": "Coder = 1\n"},
        "net/__main__.py, line 3: imports name 'Encoder' from net/model.py, which does not define it",
        id="a name that nobody defines",
    ),
    pytest.param(
        {"tests/test_model.py": "import net.modle\n"},
        "tests/test_model.py, line 1: imports from 'net.modle', and there is no module 'modle' in net",
        id="a module that is not there",
    ),
    pytest.param(
        {"net/model.py": "class Encoder:\n    width = 3\n"},
        f"`{VERIFY}` ended with 1:\n",
        id="a check of the plan fails",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nraise SystemExit(3)\n"},
        f"`{HELP}` ended with 3:\n",
        id="the program does not answer --help",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nwhile True:\n    print('x' * 9999)\n"},
        f"`{HELP}` did not end by itself:\n",
        id="the program prints without end",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse, importlib\nimportlib.import_module('net.gone')\n"},
        "No module named 'net.gone'",
        id="the program misses a module of its own",
    ),
]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("change", "told"),
    with_covered(
        BROKEN,
        "a check of the plan fails",
        "the program does not answer --help",
        "the program prints without end",
        "the program misses a module of its own",
    ),
)
def test_each_rule_that_is_broken_blocks(change: dict[str, str | None], told: str, tmp_path: Path) -> None:
    files = {path: text for path, text in {**HEALTHY, **change}.items() if text is not None}
    verdict = checked(tmp_path, files)
    assert told in verdict["block"]
    assert verdict["verification"]["verified"] is False


def test_a_file_that_was_to_be_changed_and_was_not_blocks(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY, untouched=("net/model.py",))
    assert verdict["block"] == "net/model.py is as it was, and the plan changed it"
    assert verdict["verification"]["why"].startswith("the files are not in order, so nothing was run")
    assert verdict["verification"]["commands"] == []


def test_what_is_no_file_at_all_blocks(tmp_path: Path) -> None:
    workspace = written(tmp_path, HEALTHY)
    os.symlink("/etc/passwd", os.path.join(workspace.root, "link"))
    assert "delete what cannot be taken in: 'link': it is a link" in checked(tmp_path, HEALTHY)["block"]


def test_no_more_faults_are_named_than_a_model_can_mend_at_once(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {**HEALTHY, **{f"x/{number}.py": "(" for number in range(MOST_NAMED + 5)}})
    assert verdict["block"].count("does not parse") == MOST_NAMED
    assert "and 5 more files that do not parse" in verdict["block"]


def test_without_a_sandbox_nothing_is_run_and_nothing_is_verified(tmp_path: Path) -> None:
    files = {**HEALTHY, "net/__main__.py": "import argparse\nopen('was_run', 'w').close()\n"}
    verdict = checked(tmp_path, files, kind=NONE)
    assert verdict["block"] is None
    assert verdict["verification"]["why"].startswith("no sandbox on this machine: ")
    assert not list(tmp_path.rglob("was_run"))


@needs_a_sandbox
def test_work_with_nothing_to_run_is_accepted_and_not_verified(tmp_path: Path) -> None:
    files = {"net/model.py": "X = 1\n"}
    verdict = checked(tmp_path, files, plan=plan_of(files, ()))
    assert verdict["block"] is None
    assert verdict["verification"]["why"] == "nothing was run: the plan has no checks and there is no entry script"


NOT_HERE = "needs the package nowhere_to_be_found, which is not installed here"
TRIES = "import argparse\ntry:\n    import nowhere_to_be_found as lib\nexcept ImportError:\n    "
LACKS = [
    pytest.param({"net/__main__.py": "import argparse\nimport nowhere_to_be_found.at_all\n"}, NOT_HERE, id="plainly"),
    pytest.param({"net/__main__.py": f"{TRIES}raise SystemExit('pip install it')\n"}, NOT_HERE, id="in its own words"),
    pytest.param({"net/__main__.py": f"{TRIES}lib = None\nlib.f()\n"}, NOT_HERE, id="by what it is without it"),
    pytest.param(
        {
            "net/__main__.py": "import argparse, sys\ntry:\n    from net import deep\nexcept ImportError:\n    sys.exit(2)\n",
            "net/deep.py": "from net import deeper\n",
            "net/deeper.py": "import nowhere_to_be_found\n",
        },
        NOT_HERE,
        id="in its own words, far from the program",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nraise ImportError('libGL.so.1: cannot open shared object file')\n"},
        "needs the library libGL.so.1, which is not in order here",
        id="a library of the system",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nfrom net._fast import f\n", "csrc/fast.c": ""},
        "needs the module net._fast, which a build of the project makes",
        id="what a compiler makes",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nfrom net import _fast\n", "csrc/fast.c": ""},
        "needs the module net._fast, which a build of the project makes",
        id="what a compiler makes, as a name",
    ),
    pytest.param(
        {
            "net/__main__.py": "import argparse\nfrom src.load import load\n",
            "src/__init__.py": "",
            "src/load.py": "from nowhere_to_be_found import load\n",
            "src/nowhere_to_be_found.py": "mine = 1\n",
        },
        NOT_HERE,
        id="a package that something of the workspace is named like",
    ),
    pytest.param(
        {
            "net/__main__.py": "import argparse\nfrom nowhere_to_be_found import load\n",
            "nowhere_to_be_found/notes.txt": "x",
        },
        NOT_HERE,
        id="a package that a folder of data is named like",
    ),
]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("change", "lack"),
    with_covered(
        LACKS, "plainly", "in its own words", "by what it is without it", "in its own words, far from the program"
    ),
)
def test_what_this_machine_lacks_is_no_fault_of_the_code(change: dict[str, str], lack: str, tmp_path: Path) -> None:
    verdict = checked(tmp_path, {**HEALTHY, **change})
    assert verdict["block"] is None
    assert verdict["verification"]["why"] == f"{HELP} {lack}"
    assert [row["command"] for row in verdict["verification"]["commands"]] == [VERIFY, HELP]


FAULTS = [
    pytest.param({"net/__main__.py": f"{TRIES}lib = None\nraise KeyError('x')\n"}, "KeyError: 'x'", id="another fault"),
    pytest.param(
        {"net/__main__.py": "import argparse\nimport json as lib\nraise SystemExit('it is broken')\n"},
        "it is broken",
        id="words of its own with nothing missing",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse, ctypes\nctypes.CDLL('./libown.so')\n"},
        "OSError: ./libown.so",
        id="a library of its own",
    ),
    pytest.param(
        {"net/__main__.py": "import argparse\nfrom model import Encoder\n", "src/model.py": "Encoder = 1\n"},
        "No module named 'model'",
        id="a module of its own that is not found from there",
    ),
]


@needs_a_sandbox
@pytest.mark.parametrize(("change", "told"), FAULTS)
def test_a_fault_of_the_code_is_not_taken_for_a_lack(change: dict[str, str], told: str, tmp_path: Path) -> None:
    assert told in (checked(tmp_path, {**HEALTHY, **change})["block"] or "")


@needs_a_sandbox
def test_a_program_that_does_its_work_whatever_it_is_asked_is_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_check, "_HELP_SECONDS", 2)
    verdict = checked(
        tmp_path, {**HEALTHY, "net/__main__.py": "import argparse, threading\nthreading.Event().wait()\n"}
    )
    assert verdict["block"] is None
    assert verdict["verification"]["why"] == f"{HELP} gave no answer within 2 s"
    assert verdict["verification"]["commands"][-1]["exit_code"] is None


@pytest.mark.slow
@needs_a_sandbox
def test_a_check_of_the_plan_that_does_not_end_blocks(tmp_path: Path) -> None:
    verdict = checked(tmp_path, HEALTHY, plan=plan_of(HEALTHY, ("sleep 60",)), seconds=2)
    assert "did not end by itself" in verdict["block"]


@needs_a_sandbox
def test_what_the_checks_leave_behind_is_taken_back(tmp_path: Path) -> None:
    main = HEALTHY["net/__main__.py"] + "\n"
    files = {**HEALTHY, "net/__main__.py": "open('left', 'w').close()\nopen('net/model.py', 'a').write('#')\n" + main}
    before = tree_digest(written(tmp_path, files))
    verdict = checked(tmp_path, files)
    assert (verdict["block"], verdict["verification"]["tree_sha256"]) == (None, before)


@needs_a_sandbox
def test_results_and_what_tools_put_there_are_not_taken_for_code(tmp_path: Path) -> None:
    others = {
        "out/metrics.json": '{"loss": NaN, "loss": Infinity}',
        "out/log.json": '{"step": 1}\n\n{"step": 2, "loss": NaN}\n',
        "out/marked.py": "\ufeffx = 1\n",
        "out/large.json": '{"x": "' + "y" * LARGEST_FILE + '"',
        "data/generated.py": "x = (" + "1," * LARGEST_PYTHON,
        ".vscode/settings.json": "// a comment\n{}",
        "env/pyvenv.cfg": "home = /usr/bin\n",
        "env/lib/python3/bad.py": "print 'two'\n",
        "web/node_modules/x/bad.json": "{",
        "notes.yaml": "a: [\n",
    }
    assert checked(tmp_path, {**HEALTHY, **others})["block"] is None


# Imports

SOUND = [
    pytest.param(
        {"p/a.py": "from . import tables\n", "p/__init__.py": "", "p/tables/x.csv": ""}, id="a folder of data"
    ),
    pytest.param(
        {
            "a.py": "from b import x, y, z\n",
            "b.py": "if 1:\n    x = 1\nelse:\n    y = 2\ntry:\n    import json as z\nexcept ImportError:\n    z = None\n",
        },
        id="bound on any path",
    ),
    pytest.param(
        {
            "a.py": "from b import e, f, g, h, i\n",
            "b.py": "with open('x') as (e, *f):\n    pass\nfor g in ():\n    h: int\nwhile (i := 1):\n    pass\n",
        },
        id="bound by any statement",
    ),
    pytest.param(
        {
            "a.py": "from b import k, m, r\n",
            "b.py": "match {}:\n    case {'a': k, **r}:\n        pass\n    case [*m]:\n        pass\n",
        },
        id="bound by a pattern",
    ),
    pytest.param(
        {"a.py": "from b import late\n", "b.py": "def f():\n    global late\n    late = 1\n"}, id="bound by a function"
    ),
    pytest.param(
        {"a.py": "from b import last\n", "b.py": "any((last := x) for x in ())\n"}, id="bound inside a comprehension"
    ),
    pytest.param(
        {"a.py": "from b import anything\n", "b.py": "def __getattr__(name):\n    return name\n"},
        id="a module with a __getattr__",
    ),
    pytest.param(
        {"a.py": "from b import anything\n", "b.py": "globals().update(anything=1)\n"},
        id="a module that sets its globals",
    ),
    pytest.param(
        {"a.py": "from b import anything\n", "b.py": "import sys\nsetattr(sys.modules[__name__], 'anything', 1)\n"},
        id="a module that sets itself",
    ),
    pytest.param({"a.py": "from b import anything\n", "b.py": "from torch import *\n"}, id="a star from elsewhere"),
    pytest.param(
        {"a.py": "from b import deep\n", "b.py": "from c import *\n", "c.py": "from b import *\ndeep = 1\n"},
        id="stars in a circle",
    ),
    pytest.param(
        {
            "p/a.py": "from . import b, c\nfrom .q import d\n",
            "p/__init__.py": "c = 1\n",
            "p/b.py": "",
            "p/q/d.py": "from ..b import __doc__\nfrom .. import q\n",
        },
        id="modules of the own package",
    ),
    pytest.param({"a.py": "import p.q.d\nfrom p import q\n", "p/q/d.py": ""}, id="folders without an __init__.py"),
    pytest.param(
        {"p/a.py": "from p.native import fast\n", "p/__init__.py": "", "p/native.so": ""},
        id="a module that is no Python",
    ),
    pytest.param(
        {
            "src/p/a.py": "from p.b import x\n",
            "src/p/b.py": "x = 1\n",
            "src/p/__init__.py": "",
            "tests/test_a.py": "from p.b import x\n",
        },
        id="packages under src",
    ),
    pytest.param(
        {"scripts/a.py": "import b\nfrom b import x\n", "scripts/b.py": "x = 1\n"},
        id="the folder of the importing file",
    ),
    pytest.param(
        {
            "p/__init__.py": "",
            "p/types.py": "",
            "p/logging.py": "",
            "p/a.py": "from types import MappingProxyType\nfrom logging import getLogger\n",
        },
        id="names of the standard library",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/openai.py": "from openai import OpenAI\n", "p/a.py": "from openai import OpenAI\n"},
        id="a module named like a package from elsewhere",
    ),
    pytest.param(
        {"datasets/load.py": "", "a.py": "from datasets import load_dataset\nfrom datasets.arrow import Table\n"},
        id="a folder named like a package from elsewhere",
    ),
    pytest.param(
        {
            "a.py": "try:\n    from b import fast\nexcept ImportError:\n    from b import slow as fast\n",
            "b.py": "slow = 1\n",
        },
        id="an import that may fail",
    ),
    pytest.param(
        {"a.py": "import contextlib\nwith contextlib.suppress(ImportError):\n    import b.c\n", "b.py": ""},
        id="an import whose failure is passed over",
    ),
    pytest.param(
        {
            "a.py": "import pytest\nwith pytest.raises(ImportError):\n    from b import x\n",
            "c.py": "def test(self):\n    with self.assertRaises(ImportError):\n        from b import x\n",
            "b.py": "",
        },
        id="an import that a test wants to fail",
    ),
    pytest.param(
        {
            "tests/unit/a.py": "import sys\nsys.path.insert(0, 'lib')\nfrom b import x\n",
            "lib/b.py": "x = 1\n",
            "b.py": "",
        },
        id="a folder that is put into the path",
    ),
    pytest.param({"a.py": "from b import __name__, __doc__, __file__\n", "b.py": ""}, id="names that every module has"),
    pytest.param(
        {"a.py": "from b import x\n", "b.py": "x = (\n"}, id="a module that does not parse is told of elsewhere"
    ),
    pytest.param(
        {"a.py": "import numpy.nothing\nfrom torch import nothing\n"}, id="packages from elsewhere are not judged"
    ),
    pytest.param(
        {"p/__init__.py": "__path__.append('elsewhere')\n__path__ = []\n", "a.py": "import p.q\n"},
        id="a package that is spread over folders",
    ),
    pytest.param(
        {
            "a.py": "from net import dtypes\nfrom net.dtypes import F\n",
            "net/__init__.py": "",
            "net/dtypes.py": "def add(x):\n    from net import dtypes\n    setattr(dtypes, x, 1)\n",
        },
        id="a module that sets names on itself by import",
    ),
    pytest.param(
        {
            "main.py": "from models.encoder import E\n",
            "models/encoder.py": "from transformers import AutoModel\nfrom .transformers import Block\nE = 1\n",
            "models/transformers.py": "class Block: ...\n",
        },
        id="a neighbour named like a package from elsewhere",
    ),
    pytest.param(
        {
            "main.py": "from src.data.loader import load\n",
            "src/__init__.py": "",
            "src/data/__init__.py": "",
            "src/data/loader.py": "from datasets import load_dataset\nload = 1\n",
            "src/datasets/__init__.py": "from .cifar import C\n",
            "src/datasets/cifar.py": "class C: ...\n",
            "tests/test_a.py": "from src.datasets import C\n",
        },
        id="a package under src that is one itself",
    ),
    pytest.param(
        {
            "src/train.py": "from datasets import load_dataset\nfrom src.datasets import mine\n",
            "src/datasets.py": "mine = 1\n",
        },
        id="a module of src that is run as a package",
    ),
    pytest.param(
        {
            "p/__init__.py": "from . import ops\nfrom ._C import f\n",
            "p/ops.py": "from . import _C, quick, lib\nfrom .quick import g\n",
            "setup.py": "Extension('p.quick', ['csrc/x.cpp'])\n",
            "csrc/x.cpp": "",
            "csrc/lib.cu": "",
        },
        id="modules that a compiler makes",
    ),
    pytest.param(
        {"p/__init__.py": "from .core import f\n", "Cargo.toml": "", "src/lib.rs": ""}, id="a module that cargo names"
    ),
    pytest.param(
        {
            "p/__init__.py": "",
            "p/a.py": "from . import msg_pb2\nfrom .msg_pb2 import M\nfrom .msg_pb2_grpc import Stub\n",
            "protos/msg.proto": "",
        },
        id="modules that a description of messages makes",
    ),
    pytest.param(
        {"p/__init__.py": "from ._version import version\n", "pyproject.toml": ""}, id="a version that a build writes"
    ),
    pytest.param(
        {"a.py": "from b import RED\n", "b.py": "import enum\n@enum.global_enum\nclass C(enum.Enum):\n    RED = 1\n"},
        id="members of an enumeration that its module has",
    ),
    pytest.param(
        {
            "a.py": "from b import RED\n",
            "b.py": "from enum import Enum, global_enum\n@global_enum\nclass C(Enum):\n    RED = 1\n",
        },
        id="members of an enumeration that its module has, said shortly",
    ),
    pytest.param(
        {"a.py": "from b import A\n", "b.py": "import enum\nenum.IntEnum._convert_('B', __name__, str.isupper)\n"},
        id="an enumeration of names of its module",
    ),
    pytest.param(
        {
            "main.py": "import settings, p.more\nsettings.DEBUG = True\np.more.LEVEL = 1\nimport worker\n",
            "settings.py": "",
            "p/__init__.py": "",
            "p/more.py": "",
            "worker.py": "from settings import DEBUG\nfrom p.more import LEVEL\n",
        },
        id="names that another module sets",
    ),
    pytest.param({"a.py": "from b import x\n", "b.py": "\ufeffx = 1\n"}, id="a file with a mark of its encoding"),
]
UNSOUND = [
    pytest.param(
        {"a.py": "import os\n\nfrom b import x, y\n", "b.py": "x = 1\n"},
        "a.py, line 3: imports name 'y' from b.py, which does not define it",
        id="a name",
    ),
    pytest.param(
        {"a.py": "from b import y\n", "b.py": "def f():\n    y = 1\nclass C:\n    y = 1\n[y for y in ()]\n"},
        "a.py, line 1: imports name 'y' from b.py, which does not define it",
        id="a name inside something",
    ),
    pytest.param(
        {"p/__init__.py": "", "a.py": "from p import b\n"},
        "a.py, line 1: imports name 'b' from p/__init__.py, which does not define it",
        id="a module of a package",
    ),
    pytest.param(
        {"p/b.py": "", "a.py": "import p.b\nfrom p import c\n"},
        "a.py, line 2: imports 'c' from the directory p, which has no such module",
        id="a module of a folder that is a package for certain",
    ),
    pytest.param(
        {"p/__init__.py": "", "a.py": "import p.q.r\n"},
        "a.py, line 1: imports from 'p.q.r', and there is no module 'q' in p",
        id="a module in the middle",
    ),
    pytest.param(
        {"b.py": "", "a.py": "import b.c\n"},
        "a.py, line 1: imports from 'b.c', and there is no module 'c' in b",
        id="a module that is no package",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/a.py": "from .gone import x\n"},
        "p/a.py, line 1: imports from '.gone', and there is no module 'gone' in p",
        id="a neighbour",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/a.py": "from ..b import x\n", "b.py": "x = 1\n"},
        "p/a.py, line 1: imports from '..b', which leads out of its package",
        id="out of the package",
    ),
    pytest.param(
        {"a.py": "from .b import x\n", "b.py": "x = 1\n"},
        "a.py, line 1: imports from '.b', which leads out of its package",
        id="a relative import in no package",
    ),
    pytest.param(
        {"a.py": "from p.b import x\n", "src/p/__init__.py": "", "src/p/b.py": "", "src/c.py": "from p import b\n"},
        "a.py, line 1: imports name 'x' from src/p/b.py, which does not define it",
        id="under src",
    ),
    pytest.param(
        {"s/a.py": "from b import x\n", "s/b.py": "y = 1\n", "s/c.py": "from b import y\n"},
        "s/a.py, line 1: imports name 'x' from s/b.py, which does not define it",
        id="beside the importing file",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/a.py": "from . import _fast\n", "lib.c": ""}
        | {"p/b.py": "from .fast import f\n", "setup.py": "Extension('p.quick', ['lib.c'])\n"},
        "p/b.py, line 1: imports from '.fast', and there is no module 'fast' in p",
        id="a module that no build makes",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/a.py": "from .other_pb2 import M\nfrom ._version import v\n", "p/msg.proto": ""}
        | {"pyproject.toml": ""},
        "p/a.py, line 1: imports from '.other_pb2', and there is no module 'other_pb2' in p",
        id="a module of a message that nobody described",
    ),
    pytest.param(
        {"a.py": "from b import x\n", "b.py": "class C: ...\nc = C()\nc.x = 1\n"},
        "a.py, line 1: imports name 'x' from b.py, which does not define it",
        id="a name that is set on something else",
    ),
    pytest.param(
        {"a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import x\n", "b.py": ""},
        "a.py, line 3: imports name 'x' from b.py, which does not define it",
        id="for types alone",
    ),
    pytest.param(
        {"a.py": "def f():\n    from b import x\n", "b.py": ""},
        "a.py, line 2: imports name 'x' from b.py, which does not define it",
        id="inside a function",
    ),
    pytest.param(
        {"a.py": "try:\n    from b import x\nexcept ValueError:\n    pass\n", "b.py": ""},
        "a.py, line 2: imports name 'x' from b.py, which does not define it",
        id="where another error is caught",
    ),
    pytest.param(
        {"a.py": "from b import x\n", "b.py": "from c import *\n", "c.py": "y = 1\n"},
        "a.py, line 1: imports name 'x' from b.py, which does not define it",
        id="by way of a star",
    ),
]


@pytest.mark.parametrize("files", SOUND)
def test_imports_that_may_hold_are_never_told_of(files: dict[str, str]) -> None:
    python = {path: text for path, text in files.items() if path.endswith(".py")}
    assert import_problems(python, list(files)) == []


@pytest.mark.parametrize(("files", "told"), UNSOUND)
def test_imports_that_cannot_hold_are_told_by_file_and_line(files: dict[str, str], told: str) -> None:
    python = {path: text for path, text in files.items() if path.endswith(".py")}
    assert import_problems(python, list(files)) == [told]


def test_hostile_texts_take_neither_time_nor_memory_by_the_square() -> None:
    stars = {f"m{i}.py": "".join(f"from m{(i + j) % 70} import *\n" for j in range(60)) for i in range(70)}
    hostile = {
        "a.py": "import " + ".".join(["a"] * 200_000),
        "b.py": "from " + "." * 200_000 + " import a",
        "c.py": "".join(f"from m0 import x{number}\n" for number in range(20_000)),
        "d.py": "x = " + "-" * 100_000 + "1",
    }
    told = f"b.py, line 1: imports from {'.' * 32!r}, which leads out of its package"
    assert import_problems({**stars, **hostile}) == [told]


def test_many_imports_that_do_not_hold_are_counted() -> None:
    problems = import_problems({"a.py": "from b import x\n" * (MOST_PROBLEMS + 3), "b.py": ""})
    assert (len(problems), problems[-1]) == (MOST_PROBLEMS + 1, "and 3 more imports that do not hold")


def python_files(folder: Path, prefix: str) -> tuple[dict[str, str], list[str]]:
    """The Python files of a folder that are looked into, and all paths."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    named = {f"{prefix}/{path.relative_to(folder).as_posix()}": path for path in paths}
    sizes = {name: path for name, path in named.items() if path.stat().st_size <= LARGEST_PYTHON}
    return {name: path.read_text() for name, path in sizes.items() if name.endswith(".py")}, list(named)


PACKAGES = (
    "click",
    "jsonschema",
    "loguru",
    "tenacity",
    "yaml",
    "_pytest",
    "hypothesis",
    "openai",
    "anyio",
    "httpx",
    "unittest",
)


@pytest.mark.slow
@pytest.mark.parametrize("package", [*PACKAGES, "asyncio", "email", "importlib", "concurrent", "multiprocessing"])
def test_there_is_no_false_alarm_over_code_that_many_people_use(package: str) -> None:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    files, there = python_files(Path(found.submodule_search_locations[0]), package)
    assert len(files) > 3
    assert import_problems(files, there) == []


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pipeline", "phases"])
def test_there_is_no_false_alarm_over_this_program(package: str) -> None:
    files, there = python_files(ROOT / package, package)
    assert import_problems(files, there) == []


@pytest.mark.slow
@QUICK
@given(st.text(max_size=200), st.text(max_size=200))
@example("from . import *\nfrom .b import *\n", "from a import *\nfrom b import *\n")
@example("import " + ".".join("a" * 500), "from " + "." * 500 + " import b")
@example("x = " + "(" * 150 + ")" * 150, "[" * 90 + "]" * 90)
def test_no_text_breaks_the_check(first: str, second: str) -> None:
    files = {"a.py": first, "b.py": second, "p/a.py": first, "p/__init__.py": second}
    assert all("\n" not in problem for problem in import_problems(files))
    path = find_entry_script(files, plan_of(files))
    assert path in ("", *files)


# The entry script

ARGPARSE = "import argparse\n"
GUARD = 'if __name__ == "__main__":\n    main()\n'
PROGRAMS = [
    pytest.param({"train.py": ARGPARSE + GUARD}, "train.py", "python train.py --help", id="a script"),
    pytest.param(
        {"p/__init__.py": "", "p/__main__.py": ARGPARSE},
        "p/__main__.py",
        "python -m p --help",
        id="a package that can be run",
    ),
    pytest.param(
        {"p/__main__.py": "from .cli import main\nmain()\n", "p/cli.py": "import click\n"},
        "p/__main__.py",
        "python -m p --help",
        id="a command line that another file reads",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/run.py": "from . import x\nimport typer\n" + GUARD, "p/x.py": ""},
        "p/run.py",
        "python -m p.run --help",
        id="relative imports",
    ),
    pytest.param(
        {"p/__init__.py": "", "p/run.py": "from p import x\nimport fire\n" + GUARD, "p/x.py": ""},
        "p/run.py",
        "python -m p.run --help",
        id="its own package by name",
    ),
    pytest.param(
        {"src/p/__init__.py": "", "src/p/__main__.py": ARGPARSE},
        "src/p/__main__.py",
        "PYTHONPATH=src python -m p --help",
        id="a package under src",
    ),
    pytest.param(
        {"src/a.py": ARGPARSE + "from .b import x\n" + GUARD, "src/b.py": "x = 1\n"},
        "src/a.py",
        "python -m src.a --help",
        id="src is the package",
    ),
    pytest.param(
        {"scripts/go.py": ARGPARSE + "from model import x\n" + GUARD, "model.py": "x = 1\n"},
        "scripts/go.py",
        "PYTHONPATH=. python scripts/go.py --help",
        id="a script that imports from the root",
    ),
    pytest.param(
        {"scripts/go.py": ARGPARSE + "from model import x\n" + GUARD, "scripts/model.py": "x = 1\n"},
        "scripts/go.py",
        "python scripts/go.py --help",
        id="a script that imports from its folder",
    ),
    pytest.param(
        {"my code/run it.py": ARGPARSE + GUARD},
        "my code/run it.py",
        "python 'my code/run it.py' --help",
        id="a name that a shell would split",
    ),
    pytest.param({"-x.py": ARGPARSE + GUARD}, "-x.py", "python ./-x.py --help", id="a name like an option"),
    pytest.param({"__main__.py": ARGPARSE}, "__main__.py", "python __main__.py --help", id="a folder that can be run"),
    pytest.param(
        {"z.py": ARGPARSE + GUARD, "a.py": ARGPARSE + GUARD}, "z.py", "python z.py --help", id="the plan's order"
    ),
    pytest.param(
        {"p/main.py": ARGPARSE + GUARD, "other.py": ARGPARSE + GUARD, "q/r/main.py": ARGPARSE + GUARD},
        "p/main.py",
        "python p/main.py --help",
        id="a usual name, nearest to the root",
    ),
    pytest.param(
        {
            "lib.py": ARGPARSE,
            "run.py": GUARD,
            "setup.py": ARGPARSE + GUARD,
            "tests/test_a.py": ARGPARSE + GUARD,
            "tests/main.py": ARGPARSE + GUARD,
        },
        "",
        "",
        id="no program",
    ),
    pytest.param(
        {"main.py": "from train import train\n" + GUARD, "train.py": ARGPARSE + "def train(): ...\n" + GUARD},
        "train.py",
        "python train.py --help",
        id="a program that takes from another one",
    ),
    pytest.param(
        {"main.py": "from train import train\n" + GUARD, "train.py": ARGPARSE + "(" + GUARD},
        "",
        "",
        id="a program that takes from what does not parse",
    ),
    pytest.param({"a.py": ARGPARSE + "(" + GUARD}, "", "", id="what does not parse is no program"),
]


@pytest.mark.parametrize(("files", "path", "command"), PROGRAMS)
def test_the_program_is_found_and_asked_as_its_users_would_ask_it(
    files: dict[str, str], path: str, command: str
) -> None:
    plan = {"file_structure": [{"path": each} for each in files]}
    assert find_entry_script(files, plan) == path
    assert not path or help_command(path, files) == command


def test_what_is_not_planned_is_not_the_program() -> None:
    assert find_entry_script({"main.py": ARGPARSE + GUARD}, {"file_structure": [{"path": "other.py"}]}) == ""


@needs_a_sandbox
@pytest.mark.parametrize(
    ("files", "path", "command"),
    with_covered(
        [row for row in PROGRAMS if row.values[1]],
        "a script",
        "a package that can be run",
        "relative imports",
        "a package under src",
        "a script that imports from the root",
        "a script that imports from its folder",
        "a name that a shell would split",
        "a name like an option",
        "the plan's order",
        "a program that takes from another one",
    ),
)
def test_the_command_that_asks_a_program_runs(files: dict[str, str], path: str, command: str, tmp_path: Path) -> None:
    def runnable(text: str) -> str:
        for library in ("click", "typer", "fire"):  # which need not be installed
            text = text.replace(f"import {library}", "import argparse")
        return f"def main():\n    print(1)\n\n\n{text}" if text else ""

    ready = {each: runnable(text) for each, text in files.items()}
    verdict = checked(tmp_path, ready, plan=plan_of(ready, ()))
    assert verdict["block"] is None
    assert [row["command"] for row in verdict["verification"]["commands"]] == [command]


def test_a_file_is_read_for_what_it_imports_and_binds() -> None:
    found = read_bindings("import a.b as c, d.e\nfrom ..f import g as h, i\nx: int = 1\n" + GUARD)
    assert found is not None
    assert found.names == {"c", "d", "h", "i", "x"}
    assert [(row.line, row.level, row.module, row.names) for row in found.imports] == [
        (1, 0, "a.b", ()),
        (1, 0, "d.e", ()),
        (2, 2, "f", ("g", "i")),
    ]
    assert (found.is_program, found.opaque) == (True, False)
    assert read_bindings("(") is None
