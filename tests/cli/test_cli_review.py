"""The review gate: nothing is written before a plan is approved, and an approval is for exactly that plan."""

from __future__ import annotations

import hashlib
import re
import shlex
from html import unescape
from pathlib import Path

import pytest
import yaml

from tests.papers import NUMBERS, Command, in_terminal, paper

PLAN = "initial_plan.txt"
PROMPT = "explains): "


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command with a paper beside it."""
    paper(tmp_path)
    return Command(tmp_path)


def plan_of(command: Command) -> Path:
    return command.task("paper") / PLAN


def code_of(command: Command) -> Path:
    return command.task("paper") / "generate_code"


def versions_of(command: Command) -> set[str]:
    return {path.read_text() for path in (command.task("paper") / "plan_versions").iterdir()}


def wait_for_review(command: Command) -> None:
    """A run that waits at the gate for `pipeline review`."""
    ended = command("run", "--fast", "paper.md", "--review", "file")
    assert ended.code == 5, ended.err
    assert "pipeline review paper --approve" in ended.out
    assert not code_of(command).exists()


def editor(command: Command, script: str) -> None:
    """Makes a shell script the user's editor; $1 is the file."""
    path = command.folder / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    command.environment["EDITOR"] = command.environment["VISUAL"] = str(path)


# auto and file


@pytest.mark.slow
def test_a_plan_that_nobody_has_to_look_at_says_so(command: Command) -> None:
    assert command("run", "--fast", "paper.md", "--review", "auto").code == 3
    review = command.document("paper", "plan_review.json")
    assert (review["decision"], review["by"]) == ("approve", "auto")
    assert review["plan_sha256"] == hashlib.sha256(plan_of(command).read_bytes()).hexdigest()


def test_an_approved_plan_is_carried_out_and_the_approval_is_bound_to_it(command: Command) -> None:
    wait_for_review(command)
    approved = command("review", "paper", "--approve")
    assert (approved.code, "pipeline resume paper" in approved.err) == (0, True)
    assert command("resume", "paper", "--review", "file").code == 3
    review = command.document("paper", "plan_review.json")
    assert review["decision"] == "approve"
    assert review["by"] not in ("", "auto")
    assert review["plan_sha256"] == hashlib.sha256(plan_of(command).read_bytes()).hexdigest()


@pytest.mark.slow
def test_the_plan_is_shown_before_it_is_decided_about(command: Command) -> None:
    wait_for_review(command)
    shown = command("review", "paper")
    assert shown.code == 0
    for words in (
        "\n## What is built",
        "\n## Settings\n",
        "We minimize the cross-entropy loss of the waiter over all rooms.",
    ):
        assert words in shown.out
    assert hashlib.sha256(plan_of(command).read_bytes()).hexdigest() in shown.out
    assert command("resume", "paper", "--review", "file").code == 5, "looking at a plan approves nothing"


def test_a_reviewer_strikes_changes_and_adds_by_id_and_sees_what_differs(command: Command) -> None:
    wait_for_review(command)
    ended = command("review", "paper", "--strike", "R2", "--set", "V1.value=0.25", "--add", "value", "queue length = 7")
    assert ended.code == 0, ended.err
    text = plan_of(command).read_text()
    assert "id: R2\n" not in text
    assert "LEARNING_RATE = 0.25" in text
    assert "QUEUE_LENGTH = 7" in text
    assert "| queue length " in (command.task("paper") / "plan.md").read_text(), "plan.md is of the plan that is there"
    assert "~ values V1, learning rate: value 0.1 -> 0.25" in ended.err
    assert "V1: 0.25 does not stand in the words that it quotes" in ended.err
    told = command("review", "paper", "--diff").out
    assert "~ values V1, learning rate: value 0.1 -> 0.25" in told
    assert command("review", "paper", "--set", "V1.value").code == 2
    assert command("review", "paper", "--approve").code == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--strike", "R99"), "the plan has no row R99; it has requirements R1–R"),
        pytest.param(("--strike", "Z1"), "the plan has no row Z1; it has requirements R1–", marks=pytest.mark.slow),
        (("--set", "V2.bogus=5"), "V2 has no field 'bogus'; it has name, symbol, value, "),
        pytest.param(
            ("--set", "R1.kind=foo"),
            "--set R1.kind=foo: R1.kind: 'foo' is not one of ['algorithm', ",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--set", "V1.owner="),
            "--set V1.owner=: V1.owner: '' should be non-empty; the plan is unchanged",
            marks=pytest.mark.slow,
        ),
        (("--set", "R1.component=C99"), "R1.component: the plan has no C99; it has components C1, C"),
        pytest.param(
            ("--set", "V3=5"), "'V3=5' is not of the form ID.FIELD=VALUE, like V3.value=0.1", marks=pytest.mark.slow
        ),
    ],
)
def test_an_edit_that_cannot_be_is_refused_with_what_can_be(
    command: Command, flags: tuple[str, ...], said: str
) -> None:
    wait_for_review(command)
    before = plan_of(command).read_bytes()
    ended = command("review", "paper", *flags)
    assert ended.code == 2
    assert said in ended.err
    assert plan_of(command).read_bytes() == before


def test_a_plan_that_was_damaged_by_hand_is_told_with_the_command_that_mends_it(command: Command) -> None:
    wait_for_review(command)
    good = plan_of(command).read_text()
    plan_of(command).write_text(good.replace("  text:", "\ttext:", 1))
    ended = command("review", "paper")
    assert ended.code == 1
    assert "found a tab character" in ended.err
    assert ended.err.strip().endswith("it was changed after it was written: fix it with: pipeline review paper --edit")
    script = command.folder / "mend.sh"
    script.write_text("#!/bin/sh\nsed -i 's/\\ttext:/  text:/' \"$1\"\n")
    script.chmod(0o755)
    assert command("review", "paper", "--edit", EDITOR=str(script)).code == 0
    assert plan_of(command).read_text() == good


def test_a_hand_edit_that_nobody_reviews_is_told_of_when_the_run_goes_on(command: Command) -> None:
    assert command("run", "--fast", "paper.md", "--until", "plan").code == 0
    plan_of(command).write_text(plan_of(command).read_text().replace("id: R2\n", "id: R1\n", 1))
    ended = command("resume", "paper", "--until", "review")
    assert ended.code == 0, ended.err
    assert "requirements: the id R1 stands 2 times" in ended.err


def test_the_page_of_a_review_is_written_and_what_it_says_can_be_typed(command: Command) -> None:
    wait_for_review(command)
    command("review", "paper", "--set", "V1.value=0.25")
    ended = command("review", "paper", "--html", "plan.html")
    assert ended.code == 0, ended.err
    assert ended.out == ""
    html = (command.folder / "plan.html").read_text()
    assert "0.25 does not stand in the words that it quotes" in html
    assert "values V1, learning rate: value 0.1 -&gt; 0.25" in html
    typed = [unescape(one) for one in re.findall(r"<tr><td><code>(.*?)</code>", html)]
    assert len(typed) == 8
    for line in typed[:6]:
        _, *words = shlex.split(line)
        assert command(*words).code == 0, line
    assert command("review", "paper", "--html", "paper.md").code == 2, "nothing else is written over"


@pytest.mark.slow
def test_a_long_plan_is_shown_page_by_page_in_a_terminal(command: Command, tmp_path: Path) -> None:
    wait_for_review(command)
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n")
    pager.chmod(0o755)
    screen = in_terminal(command, "show", "paper", "plan", columns=70, environment={"PAGER": str(pager)})
    assert screen.code == 0
    assert "PAGED" in screen.text
    assert "Checked with" in screen.text
    assert max(map(len, screen.text.splitlines())) <= 70


def test_a_hand_edit_that_makes_no_sense_is_told_with_its_line(command: Command) -> None:
    wait_for_review(command)
    plan = plan_of(command)
    plan.write_text(
        plan.read_text().replace(
            "quote: We report the accuracy over 5 epochs.", "quote: nobody ever wrote this down", 1
        )
    )
    told = command("review", "paper").err
    assert "line " in told
    assert "'nobody ever wrote this down' is not in the paper" in told


def test_an_approval_of_an_older_plan_does_not_count(command: Command) -> None:
    wait_for_review(command)
    command("review", "paper", "--approve")
    plan = plan_of(command)
    plan.write_text(plan.read_text().replace("We wait, and measure how long.", "We do something else."))
    ended = command("resume", "paper", "--review", "file")
    assert ended.code == 5
    assert "which is another one" in ended.out
    assert not code_of(command).exists()


@pytest.mark.slow
def test_an_approval_that_was_carried_out_does_not_cover_a_later_edit(command: Command) -> None:
    wait_for_review(command)
    command("review", "paper", "--approve")
    assert command("resume", "paper", "--review", "file").code == 3
    plan = plan_of(command)
    plan.write_text(plan.read_text().replace("We wait, and measure how long.", "We do something else."))
    assert command("resume", "paper", "--review", "file").code == 5


def test_a_decision_about_another_plan_than_the_one_that_was_seen_is_refused(command: Command) -> None:
    wait_for_review(command)
    refused = command("review", "paper", "--approve", "--plan", "0123456789")
    assert refused.code == 2
    assert "look at it again" in refused.complaints[0]
    assert command("resume", "paper", "--review", "file").code == 5


@pytest.mark.slow
def test_a_rejected_plan_ends_the_run_with_4(command: Command) -> None:
    wait_for_review(command)
    assert command("review", "paper", "--reject").code == 0
    ended = command("resume", "paper", "--review", "file")
    assert ended.code == 4
    assert "pipeline review paper --change" in ended.complaints[0]
    assert not code_of(command).exists()
    assert command.document("paper", "report.json")["status"] == "cancelled"
    assert command("resume", "paper", "--review", "file").code == 4, "a rejection holds"


@pytest.mark.slow
def test_a_rejection_can_be_taken_back(command: Command) -> None:
    wait_for_review(command)
    command("review", "paper", "--reject")
    command("resume", "paper", "--review", "file")
    command("review", "paper", "--approve")
    assert command("resume", "paper", "--review", "file").code == 3


@pytest.mark.slow
def test_a_change_that_was_asked_for_is_a_requirement_of_the_next_plan(command: Command) -> None:
    wait_for_review(command)
    before = plan_of(command).read_text()
    assert command("review", "paper", "--change", "also wait in the garden").code == 0
    assert command("resume", "paper", "--review", "file").code == 5
    rows = yaml.safe_load(plan_of(command).read_text())["requirements"]
    assert [row["text"] for row in rows if row["source"]["section"] == "review"] == ["also wait in the garden"]
    assert {before, plan_of(command).read_text()} <= versions_of(command)


def test_an_approval_does_not_outlive_a_change_that_was_asked_for_after_it(command: Command) -> None:
    wait_for_review(command)
    command("review", "paper", "--approve")
    command("review", "paper", "--change", "also wait in the garden")
    assert command("resume", "paper", "--review", "file").code == 5
    assert not code_of(command).exists()


@pytest.mark.slow
def test_every_change_that_was_asked_for_stays(command: Command) -> None:
    wait_for_review(command)
    for text in ("first this", "then that"):
        command("review", "paper", "--change", text)
        command("resume", "paper", "--review", "file")
    rows = yaml.safe_load(plan_of(command).read_text())["requirements"]
    assert [row["text"] for row in rows if row["source"]["section"] == "review"] == ["first this", "then that"]


@pytest.mark.slow
def test_an_edit_in_the_editor_is_kept_and_so_is_the_version_before(command: Command) -> None:
    wait_for_review(command)
    before = plan_of(command).read_text()
    editor(command, "sed -i 's/We wait, and measure how long/We hurry/' \"$1\"")
    edited = command("review", "paper", "--edit", "--approve")
    assert edited.code == 0, edited.err
    assert "We hurry" in plan_of(command).read_text()
    assert before in versions_of(command)
    assert command("resume", "paper", "--review", "file").code == 3
    assert (
        command.document("paper", "plan_review.json")["plan_sha256"]
        == hashlib.sha256(plan_of(command).read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("echo 'paper: [' > \"$1\"", 1, id="it is not YAML any more"),
        pytest.param(
            "sed -i 's/^  kind: metric/  kind: miracle/' \"$1\"", 1, id="it breaks its schema", marks=pytest.mark.slow
        ),
        pytest.param(': > "$1"', 1, id="it is empty", marks=pytest.mark.slow),
        pytest.param("exit 1", 1, id="the editor fails"),
        pytest.param("exit 0", 0, id="nothing was changed"),
    ],
)
def test_an_edit_that_is_no_plan_is_dropped_and_approves_nothing(script: str, code: int, command: Command) -> None:
    wait_for_review(command)
    before = plan_of(command).read_bytes()
    editor(command, script)
    ended = command("review", "paper", "--edit")
    assert ended.code == code, ended.err
    assert len(ended.complaints) == code
    assert plan_of(command).read_bytes() == before
    assert command("resume", "paper", "--review", "file").code == 5


def test_a_plan_can_be_read_when_data_of_the_users_settings_are_gone(command: Command) -> None:
    wait_for_review(command)
    data = command.folder / "lobby"
    data.mkdir()
    assert command("config", "data", "lobby=lobby").code == 0
    data.rmdir()
    shown = command("review", "paper")
    assert (shown.code, f"note: data lobby names {data}, and there is no such" in shown.out) == (0, True)
    assert f"{command.home}/.config/pipeline/config.yaml says so: pipeline config data NAME=PATH" in shown.out
    assert command("config", "data", "--unset").code == 0
    assert "note: data" not in command("review", "paper").out
    ended = command("resume", "paper", "--data", f"lobby={paper(command.folder)}", "--review", "file")
    assert ended.code == 5
    (command.folder / "paper.md").unlink()
    shown = command("review", "paper")
    assert (shown.code, "the task says so: pipeline resume paper --data NAME=PATH" in shown.out) == (0, True)


def test_a_review_of_a_task_without_a_plan_says_how_to_get_one(command: Command) -> None:
    command("run", "--fast", "paper.md", "--until", "outline")
    refused = command("review", "paper", "--approve")
    assert refused.code == 2
    assert "--until plan" in refused.complaints[0]


def test_a_damaged_plan_cannot_be_approved(command: Command) -> None:
    wait_for_review(command)
    plan_of(command).write_text("paper: [\n")
    refused = command("review", "paper", "--approve")
    assert refused.code == 1
    assert "line 2, column 1" in refused.complaints[0]


# what the task says of itself until it goes on

CHANGE = ("review", "paper", "--set", "V2.value=0.25")
REJECT = ("review", "paper", "--reject")


def words_about(command: Command) -> dict[str, str]:
    """What each command says of the task and its gate."""
    status = command("status", "paper", "--json").json()
    gate = next(phase for phase in status["phases"] if phase["name"] == "plan_review")
    why = next((row["reason"] for row in command("why", "paper", "--json").json() if row["name"] == "plan_review"), "")
    return {
        "status": status["reason"],
        "gate": gate["stale"],
        "why": why,
        "list": command("list", "--json").json()[0]["reason"],
    }


@pytest.mark.parametrize(
    ("way", "before"),
    [
        pytest.param("file", [CHANGE], id="changed"),
        pytest.param("file", [REJECT, ("resume", "paper")], id="rejected and told so by a run"),
        pytest.param("ask", [], id="where nobody could be asked"),
    ],
)
def test_after_an_approval_every_command_names_the_resume_and_it_works(
    command: Command, way: str, before: list[tuple[str, ...]]
) -> None:
    assert command("run", "--fast", "paper.md", "--review", way).code == 5
    for arguments in before:
        command(*arguments)
    assert command("review", "paper", "--approve").code == 0
    digest = hashlib.sha256(plan_of(command).read_bytes()).hexdigest()[:12]
    for place, said in words_about(command).items():
        assert said.endswith(f"plan {digest} is approved; continue with: pipeline resume paper"), place
    assert command("status", "paper", "--json").json()["status"] == "paused"
    assert command("resume", "paper").code == 3
    assert "everything is up to date" in command("why", "paper").out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (CHANGE, "paused", "waits for a decision: pipeline review paper --approve (or --edit, or --reject)"),
        (REJECT, "cancelled", "ask for another with: pipeline review paper --change TEXT (or --edit)"),
        (("review", "paper", "--change", "wait"), "paused", "plan again with: pipeline resume paper"),
    ],
    ids=["changed", "rejected", "asked for another"],
)
def test_what_was_done_at_the_gate_is_said_before_the_next_run(
    command: Command, arguments: tuple[str, ...], status: str, said: str
) -> None:
    wait_for_review(command)
    old = hashlib.sha256(plan_of(command).read_bytes()).hexdigest()[:12]
    assert command(*arguments).code == 0
    told = words_about(command)
    assert {place for place, text in told.items() if text.endswith(said)} == {*told}, told
    assert command("status", "paper", "--json").json()["status"] == status
    assert (arguments == CHANGE) <= (old not in str(told))


# ask


def test_asking_where_nobody_is_approves_nothing(command: Command) -> None:
    ended = command("run", "--fast", "paper.md", "--review", "ask")
    assert ended.code == 5
    assert "pipeline review paper --approve" in ended.out
    assert not code_of(command).exists()


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        pytest.param([], 5, id="the end of the input", marks=pytest.mark.slow),
        pytest.param([""] * 9, 5, id="silence", marks=pytest.mark.slow),
        pytest.param(["y", "yes", "ok", "aprove", "approve it", "1", "sure"], 5, id="nonsense"),
        pytest.param(["later"], 5, id="later", marks=pytest.mark.slow),
        pytest.param(["reject"], 4, id="a rejection"),
        pytest.param(["approve"], 3, id="an approval", marks=pytest.mark.slow),
        pytest.param(["?", "A"], 3, id="help, and the letter"),
        pytest.param(["r"], 4, id="the letter of a rejection"),
        pytest.param(["ap", "l"], 5, id="half a word, and the letter of later"),
        pytest.param(["", "hm", " APPROVE "], 3, id="an approval after some nonsense", marks=pytest.mark.slow),
    ],
)
def test_only_approve_or_its_letter_approves(answers: list[str], code: int, command: Command) -> None:
    screen = in_terminal(command, "run", "--fast", "paper.md", "--review", "ask", answers=answers, prompt=PROMPT)
    assert screen.code == code, screen.text
    assert "Slow Waiting for Everyone" in screen.text, "the plan is shown before anything is asked"
    assert ("a, approve  approve this plan, and go on" in screen.text) == ("?" in answers)
    assert code_of(command).exists() == (code == 3)


@pytest.mark.slow
def test_an_approved_plan_is_not_asked_about_again(command: Command) -> None:
    asked = ("run", "--fast", "paper.md", "--review", "ask", "--until", "plan_review")
    assert in_terminal(command, *asked, answers=["approve"], prompt=PROMPT).code == 0
    assert command.document("paper", "plan_review.json")["by"] != "auto"
    resumed = command("resume", "paper", "--review", "ask")
    assert resumed.code == 3, resumed.err
    assert command.attempts("paper")["plan_review"] == 1


@pytest.mark.parametrize(
    ("word", "more"),
    [
        pytest.param("change", ["also wait in the garden"], id="another plan", marks=pytest.mark.slow),
        pytest.param("edit", [], id="an edit"),
    ],
)
def test_a_plan_that_was_changed_at_the_prompt_must_be_approved_as_it_is_then(
    word: str, more: list[str], command: Command
) -> None:
    editor(command, "sed -i 's/We wait, and measure how long/also wait in the garden/' \"$1\"")
    run = ("run", "--fast", "paper.md", "--review", "ask")
    screen = in_terminal(command, *run, answers=[word, *more, "later"], prompt=": ")
    assert screen.code == 5, screen.text
    assert not code_of(command).exists()
    assert "also wait in the garden" in screen.text.rpartition("This is plan")[0], "the new plan is shown again"
    after = in_terminal(command, "resume", "paper", "--review", "ask", answers=["approve"], prompt=PROMPT)
    assert after.code == 3, after.text
    assert "also wait in the garden" in plan_of(command).read_text()
    assert len(versions_of(command)) == 2


# what a terminal shows


@pytest.mark.slow
def test_progress_in_a_terminal_is_a_live_line_that_never_goes_back(command: Command) -> None:
    command.environment["NO_COLOR"] = "1"
    screen = in_terminal(command, "run", "--fast", "paper.md")
    assert screen.code == 3
    lines = [line for row in screen.text.split("\n") for line in row.split("\r\x1b[K") if line.strip()]
    finished = [line.split()[0] for line in lines if line.rstrip().endswith((" done", " skipped"))]
    assert finished == NUMBERS
    counts = [int(line.split(" of ")[0].split()[-1]) for line in lines if "09 implement" in line and " of " in line]
    assert counts, "the live line tells files done of planned"
    assert counts == sorted(counts)
    assert [line for line in lines if "… 09 implement" in line and " s" in line], "the live line tells the time"


@pytest.mark.slow
def test_a_plan_cannot_drive_the_terminal_of_the_person_who_reviews_it(command: Command) -> None:
    text = (command.folder / "paper.md").read_text()
    paper(command.folder, text.replace("Slow Waiting", "Slow \x1b]0;owned\x07\x1b[2J Waiting\u202e"))
    screen = in_terminal(command, "run", "--fast", "paper.md", "--review", "ask", answers=["later"], prompt=PROMPT)
    assert screen.code == 5
    plain = screen.text.replace("\r\x1b[K", "")
    for hostile in ("\x1b]0", "\x07", "\x1b[2J", "\u202e"):
        assert hostile not in plain


# what a resume makes of the gate


@pytest.mark.slow
def test_a_plan_that_waits_is_not_approved_by_going_on(command: Command) -> None:
    wait_for_review(command)
    again = command("resume", "paper")
    assert (again.code, code_of(command).exists()) == (5, False)
    assert "pipeline review paper --approve" in again.out


@pytest.mark.parametrize(
    "how",
    [pytest.param(("resume", "paper"), marks=pytest.mark.slow), ("run", "paper.md", "--review", "auto")],
    ids=["resume", "run"],
)
def test_a_rejection_holds_however_one_goes_on(command: Command, how: tuple[str, ...]) -> None:
    wait_for_review(command)
    assert command("review", "paper", "--reject").code == 0
    ended = command(*how)
    assert (ended.code, code_of(command).exists()) == (4, False)
    assert "rejected plan" in ended.complaints[0]


def test_a_decision_about_an_approved_plan_is_refused_with_the_way_to_another(command: Command) -> None:
    assert command("run", "--fast", "paper.md").code == 3
    ended = command("review", "paper", "--reject")
    assert ended.code == 2
    assert "is already approved" in ended.complaints[0]
    assert command("review", "paper", "--json").json()["standing"] == "approved"


@pytest.mark.parametrize(
    "answers",
    [["change", "\x04"], pytest.param(["\x04"], marks=pytest.mark.slow)],
    ids=["at the text", "at the question"],
)
def test_leaving_the_question_decides_nothing_and_is_no_bug(command: Command, answers: list[str]) -> None:
    screen = in_terminal(command, "run", "--fast", "paper.md", "--review", "ask", answers=answers)
    assert screen.code == 5
    assert not code_of(command).exists()


def test_an_editor_that_fails_is_told_and_the_question_comes_again(command: Command) -> None:
    editor(command, "exit 1")
    screen = in_terminal(command, "run", "--fast", "paper.md", "--review", "ask", answers=["edit", "later"])
    assert screen.code == 5
    assert "Editing failed" in screen.text
