"""The reviewer: what it is sent, which verdicts it is asked for, and what becomes of its replies."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phases.agent.judge import Judge
from phases.agent.offline_model import GivenCode
from phases.llm.ledger import Ledger
from phases.llm.model import Reply, Request
from phases.workspace.workspace import Workspace
from pipeline.engine.contract import Contracts

Answer = Callable[[Sequence[str]], Sequence[Mapping[str, Any]]]
CODE = {
    "model.py": '"""R1: the model."""\n\n\nclass Model:\n    """R2: the network."""\n\n    def forward(self, x):\n'
    '        """R2, R3 and V1: halves x."""\n        return x * 0.5\n\n\n'
    'SETTINGS = {"rate": 0.1}\n\n\ndef unnamed():\n    return 7\n',
    "tests/test_model.py": "def test_other():\n    assert 2 == 2\n\n\ndef test_it_halves():\n    assert 1 == 1\n",
}
TESTED = {name: ["tests/test_model.py::test_it_halves", "tests/gone.py::test_gone"] for name in ("R2", "R3")}
"""By id, the tests that run its code."""
FILLER = "\n\n".join(f"Filler sentence {number} says nothing that matters here." for number in range(400))


def requirement(name: str, text: str, page: int = 1, quote: str | None = None) -> dict[str, Any]:
    source = {"section": "1", "page": page, "quote": text if quote is None else quote}
    return {"id": name, "kind": "model", "text": text, "status": "stated", "source": source}


def value(name: str, quote: str, page: int = 1) -> dict[str, Any]:
    source = {"section": "1", "page": page, "quote": quote}
    return {"id": name, "name": f"size {name}", "value": 3, "owner": "method", "kind": "training", "source": source}


ROWS = [
    requirement("R1", "The model has one network."),
    requirement("R2", "The network halves its input by a factor of 0.5."),
    requirement("R3", "Halving is done once."),
    requirement("R34", "The rate is kept in a dictionary of settings."),
]
VALUES = [
    value("V1", "halves its input by a factor of 0.5"),
    value("V2", "The batch size is 32 in every run."),
    value("V3", "Halving is done once.", page=2),
]
PAPER = "\n\n".join(["---\nsecret: note of the reader\n---", "<!-- page 1 -->", *(row["text"] for row in ROWS)])


class Judges(GivenCode):
    """A model that gives each requirement that it is asked for what `answer` says."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("tiny")
        self._answer, self.requests = answer, list[str]()

    def ask(self, request: Request) -> Reply:
        text = next(message.text for message in request.messages if message.role == "user")
        self.requests.append(text)
        return Reply("ok", json.dumps({"judgements": list(self._answer(asked_in(text)))}))


def asked_in(text: str) -> list[str]:
    return text.rpartition("Judge ")[2].partition(". Reply")[0].split(", ")


def says(name: str, verdict: str = "meets") -> dict[str, Any]:
    return {"id": name, "verdict": verdict, "line": 1, "sentence": "It  says\nso."}


def meets(names: Sequence[str]) -> list[dict[str, Any]]:
    return [says(name) for name in names]


class Place:
    """A reviewer of some code, with what it told the user."""

    def __init__(
        self,
        folder: Path,
        answer: Answer = meets,
        *,
        paper: str = PAPER,
        requirements: Sequence[Mapping[str, Any]] = ROWS,
        values: Sequence[Mapping[str, Any]] = VALUES,
        files: Sequence[Mapping[str, Any]] = ({"path": "model.py", "purpose": "x"},),
    ) -> None:
        self.notes, self.model = list[str](), Judges(answer)
        for path, text in CODE.items():
            (folder / "code" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "code" / path).write_text(text)
        (folder / "paper.md").write_text(paper)
        self.workspace = Workspace(str(folder / "code"))
        plan = {"requirements": list(requirements), "values": list(values), "file_structure": list(files)}
        ledger = Ledger(str(folder / "llm.jsonl"), {}, lambda: None)
        journals, paper_path = str(folder / "explorations"), str(folder / "paper.md")
        self.judge = Judge(
            *(self.model, ledger, journals, 1, paper_path, plan, Contracts().breach),
            in_place=lambda: None,
            clean=lambda given: given,
            tell=self.notes.append,
        )

    def review(self) -> dict[str, dict[str, Any]]:
        """The verdicts by id, of a look at what a test of the code runs."""
        plan = self.judge.plan
        ran = [
            {"id": row["id"], "tests": TESTED.get(row["id"], [])} for row in [*plan["requirements"], *plan["values"]]
        ]
        return {row["id"]: row["judged"] for row in self.judge.review(self.workspace, ran)[0] if "judged" in row}

    def sent(self) -> str:
        """The one request to the reviewer."""
        self.review()
        [request] = self.model.requests
        return request


def parts_of(request: str, name: str) -> list[str]:
    found = re.findall(rf"<<<({name}[^>]*) ([0-9a-f]+)>>>\n(.*?)\n<<<END OF \1 \2>>>", request, re.DOTALL)
    return [text for _, _, text in found]


# What it is asked


def test_each_requirement_and_each_value_gets_one_verdict(tmp_path: Path) -> None:
    place = Place(tmp_path)
    judgements = place.review()
    asked = Counter(name for request in place.model.requests for name in asked_in(request))
    assert asked == Counter(["R1", "R2", "R3", "R34", "V2", "V3"])
    assert set(judgements) == {row["id"] for row in [*ROWS, *VALUES]}
    assert place.notes == []


def test_a_value_is_judged_with_the_requirement_whose_sentence_states_it(tmp_path: Path) -> None:
    for case, (quote, page, owner) in enumerate((
        ("halves its input by a factor of 0.5", 1, "R2"),
        ("Halves its input,\nby a factor of 0.5", 1, "R2"),
        ("The network halves its input by a factor of 0.5.", 1, "R2"),
        ("halves its input by a factor of 0.5", 2, "V1"),  # another page
        ("0.5", 1, "V1"),  # too short to tell
        ("", 0, "V1"),
        ("The rate is 0.1 in all runs.", 1, "V1"),
    )):  # fmt: skip
        place = Place(tmp_path / f"{case}", values=[value("V1", quote, page)])
        place.review()
        assert ("V1" in asked_in(place.model.requests[-1])) == (owner == "V1"), case
        rows = map(json.loads, parts_of(place.model.requests[0], "REQUIREMENT"))
        assert sum(len(row.get("values", [])) for row in rows) == (owner == "R2"), case


def test_a_requirement_that_no_code_names_is_judged_on_its_planned_file_or_all_code(tmp_path: Path) -> None:
    planned: list[list[dict[str, Any]]] = [
        [{"path": "model.py", "implements": ["R34"]}],
        [{"path": "model.py"}, {"path": "none.py"}],
        [{"path": "none.py", "implements": ["R34"]}],
    ]
    for case, files in enumerate(planned):
        request = Place(tmp_path / f"{case}", requirements=ROWS[3:], values=(), files=files).sent()
        assert [text.partition("\n")[0] for text in parts_of(request, "CODE")] == ["model.py"]
        assert "def unnamed" in request
        assert parts_of(request, "TESTS") == []


def test_no_line_of_code_or_test_is_sent_twice(tmp_path: Path) -> None:
    request = Place(tmp_path).sent()
    assert "test_other" not in request
    [code], [tests] = parts_of(request, "CODE"), parts_of(request, "TESTS")
    for path, text in (("model.py", code), ("tests/test_model.py", tests)):
        lines = [line for line in text.splitlines()[1:] if not line.startswith("    …")]
        numbers = [int(line[:5]) for line in lines]
        assert numbers == sorted(set(numbers))
        assert [line[7:] for line in lines] == [CODE[path].split("\n")[number - 1] for number in numbers]


def test_lines_between_two_places_and_after_eight_hundred_of_one_are_marked_as_left_out(tmp_path: Path) -> None:
    far = ["def one():", '    """R2"""', "    return 1", *["X = 1"] * 20000, "def two():", '    """R5"""', ""]
    place = Place(tmp_path / "far", requirements=[requirement("R2", "x"), requirement("R5", "y")], values=())
    place.workspace.write("model.py", "\n".join(far))
    [code] = parts_of(place.sent(), "CODE")
    assert (code.count("    …\n"), code.count("X = 1")) == (1, 0)
    place = Place(tmp_path / "long", requirements=[requirement("R2", "x")], values=())
    place.workspace.write("model.py", 'def one():\n    """R2"""\n' + "    x = 1\n" * 1000)
    [code] = parts_of(place.sent(), "CODE")
    assert len(code.splitlines()) == 1 + 800 + 1
    assert code.endswith("\n    … 202 more lines")


# What it is sent of the paper


def paper_of(*pages: str) -> str:
    marked = [f"<!-- page {number} -->\n{text}" for number, text in enumerate(pages, 1)]
    return "\n".join(["---\nsecret: note of the reader\n---", *marked])


ENDS = "It is implemented as a learnable linear transformation:"
EQUATION = "$$ y = W x \\tag{5} $$"


EQUATIONS: dict[str, tuple[list[str], str, int]] = {
    "a quote at the end of its page": ([f"{FILLER}\n{ENDS}", f"{EQUATION}\n{FILLER}"], ENDS, 1),
    "a note below it": ([f"{FILLER}\n{ENDS}\n[^1]: A note.", f"{EQUATION}\n{FILLER}"], ENDS, 1),
    "after": ([f"It follows equation (5).\n{FILLER}", f"{FILLER}\n{EQUATION}"], "It follows equation (5).", 1),
    "pages before": ([f"{EQUATION}\n{FILLER}", f"{FILLER}", f"{FILLER} It is Eq. 5."], "It is Eq. 5.", 3),
    "one of two, printed with its number alone":
        ([f"It joins Eqs. (2) and (5).\n{FILLER}", f"{FILLER}\nw = y (5)\n{FILLER}"], "It joins Eqs. (2) and (5).", 1),
    "deep in a page that is long": ([f"{FILLER}\n{ENDS}\n{EQUATION}", "End."], ENDS, 1),
    "not on the page that the plan names": ([f"{FILLER}\n{ENDS}\n{EQUATION}"], ENDS, 7),
}  # fmt: skip


@pytest.mark.parametrize("case", EQUATIONS)
def test_the_equation_of_a_requirement_is_sent_wherever_it_stands(case: str, tmp_path: Path) -> None:
    pages, said, page = EQUATIONS[case]
    request = Place(tmp_path, paper=paper_of(*pages), requirements=[requirement("R2", said, page)], values=()).sent()
    sent = "".join(parts_of(request, "PAGES? [0-9]"))
    assert said in sent
    assert EQUATION in sent or "w = y (5)" in sent
    assert len(sent) < 15_000


def test_each_part_of_the_paper_is_sent_once_notes_of_the_reader_never_and_no_page_for_an_assumption(
    tmp_path: Path,
) -> None:
    request = Place(tmp_path / "cited").sent()
    assert (len(parts_of(request, "PAGE")), "note of the reader" in request, "secret" in request) == (1, False, False)
    row = {**requirement("R2", "Assume ReLU.", 0, ""), "status": "missing"}
    request = Place(tmp_path / "assumed", requirements=[row], values=()).sent()
    assert json.loads(parts_of(request, "REQUIREMENT")[0])["status"] == "missing"
    assert parts_of(request, "PAGE") == []


# What becomes of its replies


@pytest.mark.parametrize(
    ("bad", "lost"),
    [
        pytest.param(lambda names: meets(names[1:]), ["R1"], id="one is missing"),
        pytest.param(lambda names: [*meets(names), says(names[0], "differs")], ["R1"], id="two verdicts on one"),
        pytest.param(lambda names: [], ["R1", "R2", "R3", "R34", "V1", "V2", "V3"], id="none is there"),
    ],
)
def test_what_a_reply_lacks_is_asked_for_again_and_then_reported(bad: Answer, lost: list[str], tmp_path: Path) -> None:
    place = Place(tmp_path, bad)
    judgements = place.review()
    assert len(place.model.requests) == 3
    assert sorted({row["id"] for row in [*ROWS, *VALUES]} - judgements.keys()) == lost
    assert [note.partition(":")[0] for note in place.notes] == ["tiny did not judge all of 6 points"]
    replies = iter([bad, meets, meets])
    mended = Place(tmp_path / "mended", lambda names: next(replies)(names))
    assert set(mended.review()) == {row["id"] for row in [*ROWS, *VALUES]}
    assert (len(mended.model.requests), mended.notes) == (2, [])


def test_verdicts_given_twice_are_one_and_those_not_asked_for_are_reported_and_not_used(tmp_path: Path) -> None:
    twice = [says("R99", "differs"), says("V1", "differs")]
    place = Place(tmp_path, lambda names: [*meets(names), *meets(names), *twice])
    judged = place.review()
    assert (len(judged), {said["verdict"] for said in judged.values()}) == (len([*ROWS, *VALUES]), {"meets"})
    assert len(place.model.requests) == 1
    assert place.notes == ["tiny also judged R99, V1, unasked: those verdicts are not used"]


def test_a_verdict_is_noted_with_who_gave_it_and_a_value_is_met_with_its_requirement(tmp_path: Path) -> None:
    judged = Place(
        tmp_path, lambda names: [says(name, "differs" if name == "R2" else "meets") for name in names]
    ).review()
    assert judged["R1"] == {"verdict": "meets", "by": "tiny", "file": "", "line": 1, "sentence": "It says so."}
    assert {name for name, row in judged.items() if row["verdict"] == "differs"} == {"R2"}
    assert "V1" not in judged


def test_what_the_delivered_directory_lacks_is_told_beside_the_verdicts(tmp_path: Path) -> None:
    place = Place(tmp_path, lambda names: [says(name, "differs") for name in names], requirements=ROWS[:1], values=())
    assert place.judge.review(place.workspace, [])[1] == ["README.md is missing"]
    place.workspace.write("README.md", "# A model\n")
    assert place.judge.review(place.workspace, [])[1] == ["what its user gets could be better: It says so."]
    assert "# A model" in place.model.requests[-1]


# What a second look costs


def test_the_words_of_the_user_and_what_the_commands_of_the_readme_did_are_in_the_request(tmp_path: Path) -> None:
    place = Place(tmp_path, requirements=ROWS[:1], values=())
    place.workspace.write("README.md", "    $ python model.py\n")
    place.judge = replace(place.judge, plan={**place.judge.plan, "user_requests": ["also halve lists"]})
    tried = [{"command": "python model.py", "exit_code": 2, "limit": "", "tail": "no such file"}]
    place.judge.review(place.workspace, [{"id": "R1", "tests": []}], tried)
    [request] = place.model.requests
    assert parts_of(request, "REQUEST OF THE USER") == ["also halve lists"]
    assert parts_of(request, "README COMMAND") == ["$ python model.py\nexit code 2\nno such file"]
    place.judge.review(place.workspace, [{"id": "R1", "tests": []}], [{**tried[0], "exit_code": 0}])
    assert asked_in(place.model.requests[-1]) == ["DELIVERY"], "a command that works now is judged again"


@pytest.mark.parametrize(
    ("changed", "again"),
    [("", []), ("model.py", ["R1, R2, R3"]), ("other.py", ["R5"]), ("tests/test_model.py", []), ("notes.md", []),
     ("README.md", ["DELIVERY"])],
)  # fmt: skip
def test_a_run_that_goes_on_asks_about_what_changed_and_pays_for_nothing_else(
    changed: str, again: list[str], tmp_path: Path
) -> None:
    place = Place(tmp_path, requirements=[*ROWS[:3], requirement("R5", "It adds.")], values=())
    place.workspace.write("other.py", 'def add(x):\n    """R5"""\n    return x + 1\n')
    first = place.review()
    if changed:
        before = place.workspace.read(changed) if place.workspace.exists(changed) else ""
        place.workspace.write(changed, before.replace("0.5", "0.25").replace("+ 1", "+ 2").replace("1 == 1", "3 == 3"))
    later = Judges(meets)
    place.judge = replace(place.judge, model=later, _known=None, _before={})
    assert place.review() == first
    assert [text.rpartition("Judge ")[2].partition(". Reply")[0] for text in later.requests] == again
    assert len(place.model.requests) == 1


def test_a_change_that_is_taken_back_and_a_run_that_goes_on_pay_for_nothing_again(tmp_path: Path) -> None:
    place = Place(tmp_path, requirements=ROWS[:3], values=())
    first, before = place.review(), place.workspace.read("model.py")
    for text, asked in ((before.replace("0.5", "0.25"), 2), (before, 2)):
        place.workspace.write("model.py", text)
        place.judge = replace(place.judge, _known=None, _before={})
        assert (place.review(), len(place.model.requests)) == (first, asked)
    for journal in (tmp_path / "explorations").iterdir():
        journal.write_text(journal.read_text() + '{"kind": "reply", "key"')  # a kill cut the last line off
    again = Place(tmp_path, requirements=ROWS[:3], values=())
    assert (again.review(), again.model.requests) == (first, [])


def test_what_another_model_answered_is_not_taken_for_its_own(tmp_path: Path) -> None:
    Place(tmp_path, requirements=ROWS[:3], values=()).review()
    other = Place(tmp_path, requirements=ROWS[:3], values=())
    other.model.name = "other"
    assert {row["by"] for row in other.review().values()} == {"other"}
    assert len(other.model.requests) == 1


# How much of the code it is sent at once


def test_small_files_are_asked_about_in_one_request_and_large_ones_apart(tmp_path: Path) -> None:
    for name, lines, count in (("small", 3, 1), ("large", 750, 2)):
        place = Place(tmp_path / name, requirements=[requirement("R5", "x"), requirement("R6", "y")], values=())
        for path, cited in (("a.py", "R5"), ("b.py", "R6")):
            place.workspace.write(path, f'def one():\n    """{cited}"""\n' + f"    x = {'1' * 80}\n" * lines)
        assert set(place.review()) == {"R5", "R6"}
        assert len(place.model.requests) == count


@pytest.mark.parametrize(
    ("files", "test"),
    [
        ({"form.js": "// R2\nfunction check() {}\n\n// R3\nfunction other() {}\n"}, "tests/form.test.js"),
        ({"index.html": "<!-- R2 -->\n<form></form>\n", "form.css": "/* R3 */\nform {}\n"}, "tests/page.test.mjs"),
        ({"src/lib.rs": "// R2\nfn halve() {}\n", "src/main.rs": "// R3\nfn main() {}\n"}, "tests/lib_test.rs"),
    ],
    ids=["JavaScript", "a page", "Rust"],
)
def test_of_other_languages_whole_files_and_all_tests_are_sent(
    files: Mapping[str, str], test: str, tmp_path: Path
) -> None:
    plan = [{"path": path} for path in files]
    place = Place(tmp_path, requirements=ROWS[1:3], values=(), files=plan)
    for path, text in {**files, test: "halves(1)\n"}.items():
        place.workspace.write(path, text)
    place.judge.review(place.workspace, [{"id": name, "tests": [], "measured": False} for name in ("R2", "R3")])
    [request] = place.model.requests
    code = "\n".join(parts_of(request, "CODE"))
    for text in files.values():
        assert all(line in code for line in text.splitlines())
    assert "halves(1)" in "\n".join(parts_of(request, "TESTS"))
