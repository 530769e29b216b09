"""Honest work in many forms is accepted without a doubt, unfinished work is refused, and the same tree gets the same verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from phases.acceptance.checks.code_check import Reviewer
from phases.acceptance.feedback import LARGEST, Reason, Rejection, build_feedback, frame_output, rejection_lines
from phases.evidence.observation import Observation
from phases.evidence.places import extended_classes, text_stubs
from phases.evidence.traceability import build_table, count_evidence, open_requirements, trace_requirements
from phases.workspace.workspace import Workspace
from pipeline.base.text_escaping import shorten_text
from tests.acceptance.test_acceptance_code_check import KIND, checked, needs_a_sandbox

Files = dict[str, str]
PYTEST = "python -m pytest -q"


def plan_of(files: Files, *texts: str, verify: Sequence[str] = (PYTEST,)) -> dict[str, Any]:
    """A plan of requirements R1, R2 and so on, all of which are to be in each file."""
    sources = [{"section": "2.1", "page": 1, "quote": text} for text in texts]
    rows = [
        {"id": f"R{number}", "kind": "equation", "text": source["quote"], "source": source}
        for number, source in enumerate(sources, 1)
    ]
    return {
        "requirements": rows,
        "file_structure": [{"path": path, "implements": [row["id"] for row in rows]} for path in files],
        "validation_approach": {"verify_commands": list(verify)},
    }


def assert_accepted(verdict: dict[str, Any]) -> None:
    """No fact is against the work, nobody doubts it, and its own tests vouch for it."""
    found = verdict["verification"]
    assert (verdict["block"], found["doubts"], found["verified"]) == (None, [], True)
    assert found["verified_by"][0].startswith("own tests (")


# honest work

MEAN = "The mean of all values is taken."
AVERAGE = 'def average(values):\n    """@says@Return the mean."""\n    return sum(values) / len(values)\n'
TEST = "from average import average\n\n\ndef test_it():\n    assert average([1, 3]) == 2\n"
UNLABELLED = AVERAGE.replace("@says@", "")
IN_CLASSES = (
    '"""Tests of R1."""\n\nimport unittest\n\nimport pytest\nfrom average import average\n\n\n'
    "class TestOuter:\n    class TestInner:\n        def test_r34_scores(self):\n            assert average([1, 3]) == 2\n\n\n"
    "class Means(unittest.TestCase):\n    def test_R11_one_step(self):\n        self.assertEqual(average([2]), 2)\n\n\n"
    '@pytest.mark.parametrize("value", [1, 2])\ndef test_each(value):\n    assert average([value]) == value\n'
)
RELATIONS = (
    "from average import average\n\n\ndef test_order_has_no_influence():\n    assert average([1, 5]) == average([5, 1])\n"
    "\n\ndef test_it_scales():\n    assert average([2, 4]) == 2 * average([1, 2])\n"
)
BASE = (
    'class Loss:\n    def value(self, x):\n        """R1"""\n        raise NotImplementedError\n\n\n'
    "class Square(Loss):\n    def value(self, x):\n        return x * x\n"
)
ABSTRACT = "import abc\n\n\n" + BASE.replace("    def", "    @abc.abstractmethod\n    def", 1)
ERROR_CLASS = '\n\nclass Empty(ValueError):\n    """R1: there is no value."""\n'
OF_BASE = "from loss import Square\n\n\ndef test_it():\n    assert Square().value(3) == 9\n"
READS_BROKEN = TEST + "\n\ndef test_broken():\n    assert open('tests/data/a.json').read() == '{'\n"
NEEDS_TOKEN = "import os\n\nTOKEN = os.environ['T']\n\n\n" + UNLABELLED
SOUND = {"average.py": UNLABELLED, "test_a.py": TEST}


def case(name: str, files: Files, *, verify: str = PYTEST, level: str = "run") -> Any:
    return pytest.param(files, verify, level, id=name)


def page(path: str, text: str) -> Any:
    reads = f"from pathlib import Path\n\n\ndef test_it():\n    assert 'Mean' in Path({path!r}).read_text()\n"
    return case(f"a label in {path}", {path: text, "test_a.py": reads}, level="located")


HONEST = [
    # without a label anywhere, or with another one
    case("it cites nothing", SOUND),
    case("it cites sections", SOUND | {"average.py": AVERAGE.replace("@says@", "Section 2.1. ")}),
    case("it cites another requirement", SOUND | {"average.py": AVERAGE.replace("@says@", "R7. ")}),
    # tests and checks of any form
    case("tests in classes and with parameters", {"average.py": AVERAGE.replace("@says@", "R1. "), "test_a.py": IN_CLASSES}),
    case("tests of relations alone", SOUND | {"test_a.py": RELATIONS}),
    case("a check that wants a failure", SOUND, verify="python -c 'exit(2)'; test $? -eq 2"),
    case("a check that reads the beginning", SOUND, verify="yes | head -1 | grep y"),
    # labels in files whose language is not parsed
    page("index.html", "<!-- R1, page 1 -->\n<p>Mean</p>\n"),
    page("app.tsx", "// R1\nexport const A = () => <p>Mean</p>;\n"),
    page("mean.php", "<?php /* R1, page 1 */ ?>\n<p>Mean</p>\n"),
    # definitions that have no work of their own
    case("a base class without ABC", {"loss.py": BASE, "test_a.py": OF_BASE}),
    case("an abstract base class", {"loss.py": ABSTRACT, "test_a.py": OF_BASE}),
    case("an error class", SOUND | {"average.py": UNLABELLED + ERROR_CLASS}, level="located"),
    # files that are as they must be
    case("broken data of a test", {**SOUND, "test_a.py": READS_BROKEN, "tests/data/a.json": "{", "tests/data/b.txt": ""}),
    case("settings with comments", {**SOUND, "tsconfig.json": '{\n  // strict\n  "compilerOptions": {},\n}\n'}),
    case("a typed package", {**SOUND, "py.typed": ""}),
    # modules that are imported in a way of their own
    case(
        "a package below the top",
        {
            "backend/app/core.py": UNLABELLED,
            "backend/app/main.py": "from app.core import average\n\nprint(average([1]))\n",
            "backend/test_a.py": TEST.replace("from average", "from app.core"),
        },
        verify=f"cd backend && {PYTEST}",
    ),
    case("a module that needs its environment",
        {"average.py": NEEDS_TOKEN, "test_a.py": "import os\n\nos.environ['T'] = 'x'\n" + TEST}),
    case("a script that needs an argument", {**SOUND, "run.py": "import sys\n\nprint(int(sys.argv[1]) + 1)\n"}),
]  # fmt: skip


@needs_a_sandbox
@pytest.mark.parametrize(("files", "verify", "level"), HONEST)
def test_honest_work_is_accepted_without_a_doubt_whatever_its_labels_and_form(
    files: Files, verify: str, level: str, tmp_path: Path
) -> None:
    verdict = checked(tmp_path, files, plan=plan_of(files, MEAN, verify=(verify,)))
    assert_accepted(verdict)
    assert [row["level"] for row in verdict["verification"]["evidence"]] == [level]
    if IN_CLASSES in files.values():
        assert verdict["verification"]["evidence"][0]["tests"] == [
            "test_a.py::Means::test_R11_one_step",
            "test_a.py::TestOuter::TestInner::test_r34_scores",
            "test_a.py::test_each",
        ]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("value", "code", "note"),
    [
        pytest.param({"value": 8, "unit": "kHz"}, "16000", "the plan says 8 kHz, rates.py:RATE is 16000", id="a number"),
        pytest.param({"value": "Adam"}, "'sgd'", "the plan says 'Adam', rates.py:RATE is 'sgd'", id="a word"),
        pytest.param({"value": 8, "unit": "kHz"}, "8000", "", id="the value in its base unit"),
    ],
)  # fmt: skip
def test_a_value_that_differs_or_that_no_test_names_is_at_most_a_note(
    value: dict[str, Any], code: str, note: str, tmp_path: Path
) -> None:
    files = {
        "rates.py": f"RATE = {code}  # V1\n\n\ndef read():\n    return RATE\n",
        "test_a.py": "from rates import read\n\n\ndef test_it():\n    assert read()\n",
    }
    source = {"section": "2.1", "page": 1, "quote": ""}
    plan = plan_of(files, MEAN) | {"values": [{"id": "V1", "name": "rate", "unit": "", "source": source, **value}]}
    verdict = checked(tmp_path, files, plan=plan)
    assert_accepted(verdict)
    assert verdict["verification"]["evidence"][1]["note"] == note


@pytest.mark.parametrize(
    ("says", "is_cited"),
    [
        ("R30 scores of all wrong tracks", True), ("R12-statistic of a fit", True), ("R4 squared and summed", True),
        ("the R2 score", False), ("an R2-squared of 0.9", False),
    ],
)  # fmt: skip
def test_an_id_is_a_label_whatever_word_follows_and_the_measure_r2_is_none(says: str, is_cited: bool) -> None:
    name = says.split("R")[1].split(" ")[0].split("-")[0]
    plan = plan_of({}, MEAN)
    plan["requirements"][0]["id"] = f"R{name}"
    row = build_table(plan, {"a.py": AVERAGE.replace("@says@", f"{says}. ")}, Observation({}, {}))[0]
    assert (row["how"] == "cited") is is_cited


FOREIGN = [
    pytest.param({"lib.py": "def zork(a):\n    return sum(a) / len(a)\n"}, id="names that fit nothing"),
    pytest.param({"lib.js": "export const zork = a => a.length;\n"}, id="another language"),
    pytest.param({"lib/a/b/zork.py": "ZORK = 3\n"}, id="values alone"),
]


@needs_a_sandbox
@pytest.mark.parametrize("files", FOREIGN)
def test_code_that_the_plan_does_not_know_is_never_refused_for_its_names(files: Files, tmp_path: Path) -> None:
    plan = {
        **plan_of({}, MEAN, "The median.", verify=("true",)),
        "components": [{"name": "Mean", "requirements": ["R1"]}],
    }
    verdict = checked(tmp_path, files, plan=plan)
    assert verdict["block"] is None
    assert "2 of 2 requirements were not located in the code: R1, R2" in verdict["verification"]["doubts"]


# unfinished work


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", 'class Shape {\n  area() {\n    throw new Error("not implemented");\n  }\n}\nclass Disc extends Shape { }\n'),
        ("a.js", 'function find(id) {\n  if (!todos[id]) {\n    throw new Error("Todo not found");\n  }\n  return 1;\n}\n'),
        ("a.ts", 'switch (kind) {\n  case 1:\n    return 2;\n  default:\n    throw new Error("Not implemented: " + kind);\n}\n'),
        ("index.html", "<h1>TODO</h1><ul id='todo'></ul>\n"),
        ("a.js", "// TODO: animate\nfunction add(todo) { todos.push(todo); }\n"),
        ("a.rs", "// todo list\nfn todo() {}\n"),
        ("README.md", "Not implemented: Lorem ipsum\n"),
        ("a.rs", "match kind {\n    1 => 2,\n    _ => unimplemented!(\"{kind}\"),\n}\n"),
        ("a.cs", "class Disc : Shape { }\nclass Shape {\n  double Area() {\n    throw new NotImplementedException();\n  }\n}\n"),
    ],
)  # fmt: skip
def test_a_base_method_a_guard_and_honest_code_that_says_todo_are_no_stubs_in_other_languages(
    path: str, text: str
) -> None:
    assert list(text_stubs(path, text, extended_classes([text]))) == []


@needs_a_sandbox
@pytest.mark.parametrize(
    ("files", "verify"),
    [
        pytest.param({}, "cargo-of-nobody test", id="the plan names it"),
        pytest.param({}, "cargo-of-nobody test || exit 127", id="and its exit code"),
        pytest.param({"Makefile": "test:\n\tcargo-of-nobody test\n"}, "make test", id="a Makefile names it"),
        pytest.param({"check.sh": "cargo-of-nobody test\n"}, "bash check.sh", id="a script names it"),
    ],
)
def test_a_program_that_the_machine_lacks_costs_no_attempt(files: Files, verify: str, tmp_path: Path) -> None:
    files = {"average.py": UNLABELLED, **files}
    verdict = checked(tmp_path, files, plan=plan_of(files, MEAN, verify=(verify,)))
    told = f"`{verify}` was not run: cargo-of-nobody was not found (--programs DIR)"
    assert verdict["block"] is None
    assert verdict["verification"]["why"] == told
    is_ours = verify.startswith("cargo")
    assert (told in verdict["verification"]["advice"]) is not is_ours, (
        "what a file of the work names, the work may mend"
    )


# nonsense

NONSENSE = "\n\n".join(
    f'def part_{k}(x, y):\n    """R{k}"""\n    total = x * {k} + y\n    return [total, total - {k}]\n'
    for k in range(1, 9)
)
OF_NONSENSE = "from parts import *\n\n\n" + "\n\n".join(
    f"def test_{k}():\n    assert part_{k}(1, 2)[0] == {k + 2}\n" for k in range(1, 9)
)
QUEUE = (
    'class Queue:\n    """R1: safe for several threads."""\n\n    def __init__(self):\n        self.items = []\n\n'
    "    def put(self, item):\n        self.items.append(item)\n\n    def get(self):\n        return self.items.pop(0)\n"
)
OF_QUEUE = "from queues import Queue\n\n\ndef test_it():\n    q = Queue()\n    q.put(1)\n    assert q.get() == 1\n"


def reviewer(*verdicts: str) -> Reviewer:
    """One that gives these verdicts, whatever it reads."""

    def review(
        workspace: Workspace, rows: Sequence[dict[str, Any]], tried: Sequence[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        said = {"by": "model", "file": "queues.py", "line": 7, "sentence": "It takes no lock."}
        return [{**row, "judged": {**said, "verdict": one}} for row, one in zip(rows, verdicts, strict=True)], []

    return review


@needs_a_sandbox
@pytest.mark.parametrize(
    ("files", "review", "verified_by", "doubts"),
    [
        pytest.param({"parts.py": NONSENSE, "test_a.py": OF_NONSENSE}, None, ["own tests (8)"],
            ["8 copies of one function", "shares no word with them (8 of 8 requirements)"], id="one shape for eight parts"),
        pytest.param({"queues.py": QUEUE, "test_a.py": OF_QUEUE}, reviewer("differs"), ["own tests (1)"],
            ["R1 differs in queues.py, line 7: It takes no lock. (model)"], id="a reviewer finds a difference"),
        pytest.param({"queues.py": QUEUE, "test_a.py": OF_QUEUE}, reviewer("cannot tell"), ["own tests (1)"], [],
            id="a reviewer cannot tell"),
        pytest.param({"queues.py": QUEUE, "test_a.py": OF_QUEUE}, reviewer("meets"), ["own tests (1)", "reviewer (model)"], [],
            id="a reviewer agrees"),
    ],
)  # fmt: skip
def test_nonsense_with_tests_of_its_own_is_in_doubt_and_nobody_else_vouches_for_it(
    files: Files, review: Reviewer | None, verified_by: list[str], doubts: list[str], tmp_path: Path
) -> None:
    texts = ["The peaks are sorted by the loudness of the band."] * (8 if "parts.py" in files else 1)
    verdict = checked(tmp_path, files, plan=plan_of(files, *texts), review=review)
    found = verdict["verification"]
    assert (verdict["block"], found["verified_by"], len(found["doubts"])) == (None, verified_by, len(doubts))
    assert all(words in doubt for words, doubt in zip(doubts, found["doubts"], strict=True))
    assert found["verified"] is not bool(doubts)


# commands of the README

OF_USE = """# Average

    $ pip install .
    $ python average.py \\
        --twice
    ran with --twice
    $ python -m pytest -q
    $ mkdir data && cd data
    $ python ../average.py missing.txt >> left.txt; cat left.txt
    $ printf 'a\\n' | grep b
    $ yes

A line without a dollar is none: rm -r tests. Nor is $ E = mc^2 $ one, nor
$ a + b $
"""
PROGRAM = UNLABELLED + '\n\nif __name__ == "__main__":\n    import sys\n\n    print("ran with", *sys.argv[1:])\n'
RAN = [
    (0, "", "ran with --twice"),
    (0, "", ""),
    (0, "", "ran with missing.txt"),
    (1, "", ""),
    (None, "output", "stopped at a limit ("),
]


@needs_a_sandbox
@pytest.mark.parametrize(
    ("readme", "more", "kind", "ran"),
    [
        pytest.param(OF_USE, {}, KIND, RAN, id="one shell for all"),
        pytest.param(OF_USE.replace("\n", "\r\n"), {}, KIND, RAN, id="lines of Windows"),
        pytest.param(
            OF_USE, {"model.bin": "0" * (2 * 2**20 + 1)}, KIND, [], id="a tree that is too large to take back"
        ),
        pytest.param(OF_USE, {}, "off", [], id="no sandbox"),
        pytest.param("$ " + "a" * 501, {}, KIND, [], id="a line that nobody types"),
    ],
)
def test_the_reviewer_learns_what_the_commands_of_the_readme_do_and_none_of_them_refuses_or_stays(
    readme: str, more: Files, kind: str, ran: list[tuple[int | None, str, str]], tmp_path: Path
) -> None:
    seen = list[dict[str, Any]]()

    def review(
        workspace: Workspace, rows: Any, tried: Sequence[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        seen.extend(tried)
        return list(rows), []

    files = {"average.py": PROGRAM, "test_a.py": TEST, "README.md": readme}
    verdict = checked(tmp_path, {**files, **more}, plan=plan_of(files, MEAN), review=review, kind=kind)
    assert verdict["block"] is None
    assert [(row["exit_code"], row["limit"].partition(":")[0], row["tail"].strip()[:20]) for row in seen] == ran
    assert not list(tmp_path.rglob("left.txt"))


# changes that are tried

CHANGED = '''"""Steps."""
import datetime
def pick(values):
    """R1."""
    return values[len(values) - 1]
def due(day, weeks):
    """R2."""
    return day + datetime.timedelta(days=weeks * 7)
def ensure(width):
    """R3."""
    if width < 1:
        raise ValueError("too small")
    return width
class Base:
    def __init__(self, width):
        self.width = width + 100
class Net(Base):
    """R4."""
    def __init__(self, width):
        super().__init__(width)
        self.depth = 2
class Other(Base):
    def __init__(self):
        super().__init__(3)
        self.size = 7 * 9
def plain(signal):
    """R5."""
    return [2 * each / max(signal) for each in signal]
'''
OF_CHANGED = """import datetime
import pytest
from steps import Net, due, ensure, pick, plain
def test_pick():
    assert pick([1, 2]) == 2
def test_due():
    assert due(datetime.date(2026, 1, 1), 2) == datetime.date(2026, 1, 15)
def test_refusal():
    with pytest.raises(ValueError):
        ensure(0)
    assert ensure(1) == 1
def test_net():
    assert (Net(1).width, Net(1).depth) == (101, 2)
def test_the_loudness_has_no_influence():
    assert plain([1, 2]) == plain([2, 4])
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The rows of a table with changes tried, by requirement."""
    files = {"steps.py": CHANGED, "test_a.py": OF_CHANGED}
    plan = plan_of(
        files, "The last is picked.", "It is due in weeks.", "A width is positive.", "A net.", "Loudness is left out."
    )
    verdict = checked(tmp_path_factory.mktemp("tried"), files, plan=plan, mutants="9")
    assert_accepted(verdict)
    return {row["id"]: row for row in verdict["verification"]["evidence"]}


@needs_a_sandbox
@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("R1", 2, id="by an IndexError"),
        pytest.param("R2", 3, id="in a date"),
        pytest.param("R3", 3, id="by an error that does not come"),
        pytest.param("R4", 1, id="in a class, and in no other one of its base"),
    ],
)
def test_a_change_is_noticed_by_a_failure_of_any_kind(tried: dict[str, dict[str, Any]], name: str, count: int) -> None:
    row = tried[name]
    assert (row["level"], row["noticed"], row["missed"]) == ("guarded", row["tried"], [])
    assert row["tried"] >= count


@needs_a_sandbox
def test_changes_that_a_test_of_a_relation_does_not_notice_are_named(tried: dict[str, dict[str, Any]]) -> None:
    row = tried["R5"]
    assert row["tests"] == ["test_a.py::test_the_loudness_has_no_influence"]
    assert row["missed"] == ["steps.py, line 28: 2 → 3"]


# what is told


def rejected(*facts: str) -> Rejection:
    fact = "\n\n".join(["The built-in check of the code does not pass.", *facts])
    return Rejection(1, 3, "hook:internal:code", (Reason("internal:code", fact, framed=True),))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param([f"net/a{n}.py:run is a stub" for n in range(40)], id="stubs"),
        pytest.param([f"net/a{n}.py cannot be imported:\n{frame_output('Traceback' + 'x' * 1500)}" for n in range(20)],
            id="long outputs"),
        pytest.param([f"`test {n}` ended with 1:\n{frame_output('é' * 900)}" for n in range(12)] + ["a.json does not parse"],
            id="both"),
    ],
)  # fmt: skip
def test_all_facts_are_told_to_the_model_at_once_and_none_is_left_off_the_screen_without_a_sign(
    facts: list[str],
) -> None:
    text, lines = build_feedback(rejected(*facts)), rejection_lines(rejected(*facts))
    assert len(text.encode()) <= LARGEST
    assert [fact for fact in facts if fact.partition("\n")[0] not in text] == []
    assert text.count("--- output (") == text.count("--- end ---") == sum("---" in fact for fact in facts)
    assert lines[1:6] == [f"  {fact.partition(chr(10))[0]}" for fact in facts[:5]]
    assert lines[6] == f"  and {len(facts) - 5} more"


@pytest.mark.parametrize("word", ["and did not pass", "cannot be imported", "语" * 40])
def test_a_text_is_cut_between_words_and_with_a_sign(word: str) -> None:
    cut = shorten_text(f"{word}\n" * 300, 500)
    assert (len(cut) <= 500, cut[-1]) == (True, "…")
    assert set(cut[:-1].split()) == set(word.split())


@pytest.mark.parametrize(
    "levels", [("unlocated", "run"), ("stubbed", "located", "unlocated"), ("unlocated",) * 30], ids=["two", "three", "thirty"]
)  # fmt: skip
def test_every_report_has_the_same_numbers(levels: Sequence[str], tmp_path: Path) -> None:
    code = {"run": "    return x * 2\n", "stubbed": "    raise NotImplementedError\n", "located": "    return x + 1\n"}
    files = {"notes.txt": "none"} | {
        f"a{n}.py": f'def f(x):\n    """R{n}"""\n{code[level]}' for n, level in enumerate(levels, 1) if level in code
    }
    plan = {**plan_of({}, *(MEAN for _ in levels), verify=()), "file_structure": []}
    verdict = checked(tmp_path, files, plan=plan, kind="none")
    workspace = Workspace(str(tmp_path / "task" / "generate_code"))
    traced = trace_requirements(workspace, plan, verdict["verification"]["evidence"])["requirements"]
    counts = count_evidence(traced)
    unlocated = [row["id"] for row in open_requirements(traced) if row["status"] == "unlocated"]
    assert counts["unlocated"] == len(unlocated) == levels.count("unlocated")
    told = f"{len(unlocated)} of {len(levels)} requirements were not located in the code: {', '.join(unlocated[:20])}"
    assert any(doubt.startswith(told) for doubt in verdict["verification"]["doubts"])
    assert (verdict["block"] or "").count("is a stub") == counts["stubbed"] == levels.count("stubbed")


# the same tree, the same verdict


@contextmanager
def busy() -> Iterator[None]:
    """Every core has something else to do."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@needs_a_sandbox
@pytest.mark.parametrize(
    ("files", "mutants"),
    [
        pytest.param({"steps.py": CHANGED, "test_a.py": OF_CHANGED}, "3", id="with changes tried"),
        pytest.param({"parts.py": NONSENSE, "test_a.py": OF_NONSENSE}, "off", id="in doubt"),
        pytest.param({"average.py": UNLABELLED, "test_a.py": TEST.replace("2", "{4, 5}")}, "off", id="refused"),
    ],
)
def test_the_same_tree_gets_the_same_verdict_byte_for_byte(files: Files, mutants: str, tmp_path: Path) -> None:
    plan = plan_of(files, *(f"The step {number} of the method." for number in range(1, 9)))

    def judge() -> str:
        return json.dumps(checked(tmp_path, files, plan=plan, mutants=mutants), sort_keys=True)

    verdicts = [judge(), judge()]
    with busy():
        verdicts.append(judge())
    assert len(set(verdicts)) == 1
    assert json.loads(verdicts[0])["verification"]["evidence"]
