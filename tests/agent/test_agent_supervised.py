"""Runs under supervision, as they are: a healthy one, one that is led out of a loop, one that cannot be helped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from phases.agent.implement import implement_plan
from phases.agent.session import RULES
from phases.llm import journal
from phases.llm.model import Reply, Request
from phases.sandbox.box import NONE
from phases.sandbox.commands import kind_of_sandbox
from phases.supervision.wording import HANDED_BACK
from pipeline.base.errors import Paused, PhaseError
from pipeline.base.files import sha256
from tests.agents import CONTRACTS, Scripted, assignment_in, call, says, small_plan, tree, write

pytestmark = pytest.mark.skipif(kind_of_sandbox("required") == NONE, reason="no sandbox on this machine")
CHECK = "python -m unittest -q test_sum"
PATHS = (
    "config.py",
    "numbers_of.py",
    "total.py",
    "report.py",
    "test_sum.py",
    "mean.py",
    "table.py",
    "main.py",
    "notes.py",
)
PLAN = small_plan(*PATHS, verify=(CHECK,))
TEST = (
    "import unittest\n\nfrom total import total\n\n\nclass SumTest(unittest.TestCase):\n"
    "    def test_the_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
RIGHT = "def total(values):\n    return sum(values)\n"
_LEADS = "You are being led"


def wrong(number: int) -> str:
    """Another wrong sum, which fails in just the same way."""
    return f"def total(values):\n    attempt = {number}\n    return len(values)\n"


def written() -> list[Reply]:
    return [
        write("config.py", "UNIT = 1\n"),
        write("numbers_of.py", "def numbers():\n    return [1, 2]\n"),
        write("total.py", wrong(0)),
        write("report.py", "def report(value):\n    return str(value)\n"),
        write("test_sum.py", TEST),
    ]


def supervised(
    folder: Path, model: Scripted, mode: str = "adaptive", *, deadline: float | None = None, **limits: Any
) -> dict[str, Any]:
    """Phase 09 on the plan, which lies in the task as phase 05 would leave it."""
    data = json.dumps(PLAN).encode()
    work = assignment_in(folder, PLAN, sha256(data), supervisor=mode, **limits)._replace(deadline=deadline)
    (folder / "initial_plan.txt").write_bytes(data)
    made: dict[str, Any] = implement_plan(work, model, lambda done, total, text: None)["implementation"]
    return made


def again(folder: Path) -> list[str]:
    """Return what a resume of a copy, answered by the journal alone, decides or asks in another way."""
    copy, told = folder.with_name(f"{folder.name}-again"), list[str]()
    shutil.copytree(folder, copy)
    (copy / "kernel" / "supervisor-events.jsonl").unlink(missing_ok=True)
    with suppress(PhaseError, Paused), patch.object(journal, "logger", SimpleNamespace(debug=told.append)):
        over = says(Reply("fatal", detail="the journal is over"))
        supervised(copy, over, header(copy)["begun"]["supervisor"]["mode"])
    before, now = events(folder), events(copy)
    shutil.rmtree(copy)
    changed = [] if now[: len(before)] == before else [f"{before} became {now}"]
    return [*changed, *told]


def repeating(model: Scripted, cut: int = 0) -> Scripted:
    """Says again what another model said; at turn `cut` the server breaks down."""
    said_then = {request.turn: reply for request, reply in zip(model.requests, model.replies, strict=True)}

    def reply(request: Request) -> Reply:
        return Reply("fatal", detail="cut") if request.turn == cut else said_then[request.turn]

    return Scripted(reply)


def report(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "kernel-report.json").read_text())
    assert CONTRACTS.breach(CONTRACTS.schema("kernel-report.json"), value) is None
    return value


def events(folder: Path) -> list[str]:
    path = folder / "kernel" / "supervisor-events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [f"{row['round']} {row['event']} {row['reason']}" for row in map(json.loads, lines)]


def said(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def looping(helped: bool) -> Callable[[Request], Reply]:
    """Writes some files, then changes the sum again and again without getting it right. Once it is led, and if that helps, it
    gets it right and writes the rest."""
    led: list[bool] = []
    rest = iter(
        [
            write("total.py", RIGHT),
            call("Bash", command=CHECK),
            *(write(path, f"NAME = {path!r}\n") for path in PATHS[5:]),
            call("Bash", command=CHECK),
        ]
    )

    def reply(request: Request) -> Reply:
        first = written()
        if request.turn <= len(first):
            return first[request.turn - 1]
        step = request.turn - len(first)
        if helped and (_LEADS in said(request) or led):
            led.append(True)
            return next(rest, Reply("ok", "done"))
        return call("Bash", command=CHECK) if step % 2 else write("total.py", wrong(step))

    return reply


def healthy() -> list[Reply]:
    """Files one by one, a failing check, a look, a repair, and the rest."""
    return [
        *written(),
        call("Bash", command=CHECK),
        call("Read", file_path="total.py"),
        call("Edit", file_path="total.py", old_string="len(values)", new_string="sum(values)"),
        call("Bash", command=CHECK),
        *(write(path, f"NAME = {path!r}\n") for path in PATHS[5:]),
        call("Bash", command=CHECK),
        Reply("ok", "Done."),
    ]


# healthy


@pytest.mark.parametrize("mode", ["adaptive", "strict"])
def test_a_healthy_run_is_never_touched(mode: str, tmp_path: Path) -> None:
    model = says(*healthy())
    made = supervised(tmp_path, model, mode)
    assert made["stop_reason"] == "accepted"
    assert made["verification"]["verified"] is True
    told = report(tmp_path)
    assert told["interventions"] == {"hints": 0, "blocks": 0, "takeovers": 0}
    assert (told["mode"], told["stopReason"], told["rounds"]) == (mode, "model_done", len(healthy()))
    texts = [text for request in model.requests for text in said(request).split("[Supervision] ")[1:]]
    assert all(text.startswith("Current step: ") for text in texts), "but for its steps, strict says nothing"
    assert bool(texts) is (mode == "strict")
    assert again(tmp_path) == []


@pytest.mark.slow
def test_without_supervision_nothing_of_it_is_written_and_a_healthy_model_is_asked_the_same(tmp_path: Path) -> None:
    asked = []
    for mode in ("adaptive", "off"):
        model = says(*healthy())
        supervised(tmp_path / mode, model, mode)
        asked.append([said(request).replace(f"/{mode}/", "/") for request in model.requests])
    assert asked[0] == asked[1]
    assert not (tmp_path / "off" / "kernel").exists()
    assert not (tmp_path / "off" / "kernel-report.json").exists()


@pytest.mark.slow
def test_a_check_after_every_file_that_fails_until_the_last_one_is_there_is_left_alone(tmp_path: Path) -> None:
    test = TEST.replace("from total", "import notes\nfrom total")
    files = [write("test_sum.py", test), write("total.py", RIGHT), *(write(path, "N = 1\n") for path in PATHS[:2])]
    files += [write(path, "N = 1\n") for path in (*PATHS[3:4], *PATHS[5:])]
    replies = [reply for one in files for reply in (one, call("Bash", command=CHECK))]
    assert supervised(tmp_path, says(*replies, Reply("ok", "Done.")))["stop_reason"] == "accepted"
    told = report(tmp_path)["interventions"]
    assert (told["blocks"], told["takeovers"]) == (0, 0)


def test_files_that_frame_a_package_are_no_work_outside_of_the_plan(tmp_path: Path) -> None:
    frame = [write(path, "# frame\n") for path in ("package/__init__.py", "setup.py", ".gitignore", "README.md")]
    supervised(tmp_path, says(*written()[:3], *frame, *healthy()[3:]))
    assert report(tmp_path)["interventions"] == {"hints": 0, "blocks": 0, "takeovers": 0}


# led out of a loop


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scripted, Path]:
    """A run that is led out of its loop, and nobody cuts off; with its folder."""
    straight, folder = Scripted(looping(helped=True)), tmp_path_factory.mktemp("uncut")
    made = supervised(folder, straight)
    assert (made["stop_reason"], made["missing"]) == ("accepted", [])
    return straight, folder


def test_a_run_that_loops_on_a_failing_test_is_taken_over_led_by_a_graph_of_what_is_there_and_handed_back(
    uncut: tuple[Scripted, Path],
) -> None:
    model, folder = uncut
    told = report(folder)
    assert (told["takeovers"], told["handoffs"], told["stopReason"]) == (1, 1, "model_done")
    assert told["phaseRounds"]["free"] > 0 < told["phaseRounds"]["cooldown"]
    log = "\n".join(events(folder))
    assert "recover hint:" in log
    assert "recover template_graph:2/5" in log
    assert log.index("template_graph") < log.index("handoff_pending") < log.index("handoff handoff\n")
    graph = json.loads((folder / "kernel" / "task-graph.json").read_text())
    assert CONTRACTS.breach(CONTRACTS.schema("task-graph.json"), graph) is None
    done = [node["type"] for node in graph["nodes"].values() if node["status"] == "done"]
    assert done[:2] == ["inspect", "search"]
    shown = [said(request).count(_LEADS) for request in model.requests]
    first, last = shown.index(1), len(shown) - 1 - shown[::-1].index(1)
    assert shown == [0] * first + [1] * (last + 1 - first) + [0] * (len(shown) - 1 - last), "once, and while it is led"
    assert any(HANDED_BACK in said(request) for request in model.requests[last + 1 :])
    assert again(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("cut", range(2, 22))
def test_a_run_that_is_cut_off_at_any_turn_is_led_and_handed_back_all_the_same(
    cut: int, uncut: tuple[Scripted, Path], tmp_path: Path
) -> None:
    straight, folder = uncut
    with pytest.raises(PhaseError, match="cut"):
        supervised(tmp_path / "cut", repeating(straight, cut))
    led_at = next(request.turn for request in straight.requests if _LEADS in said(request))
    resumed = repeating(straight) if cut > led_at else Scripted(looping(helped=True))
    made = supervised(tmp_path / "cut", resumed)
    assert made["stop_reason"] == "accepted"
    assert tree(tmp_path / "cut") == tree(folder)
    told = report(tmp_path / "cut")
    assert (told["takeovers"], told["handoffs"]) == (1, 1)
    assert next(iter(resumed.requests)).turn == cut
    log = events(tmp_path / "cut")
    assert sum("recover template_graph" in line for line in log) == 1
    assert sum("failure checkpoint_resumed" in line for line in log) == 1
    assert again(tmp_path / "cut") == []


# what comes from outside


def test_the_user_may_ask_for_a_takeover_and_gets_one(tmp_path: Path) -> None:
    with pytest.raises(PhaseError, match="cut"):
        supervised(tmp_path, says(*healthy()[:5], Reply("fatal", detail="cut")))
    (tmp_path / "kernel").mkdir(exist_ok=True)
    (tmp_path / "kernel" / "take-over").write_text("{}")
    model = says(*healthy())
    supervised(tmp_path, model)
    assert sum("recover user_force_takeover" in line for line in events(tmp_path)) == 1
    assert not (tmp_path / "kernel" / "take-over").exists()
    assert any(_LEADS in said(request) for request in model.requests)
    assert again(tmp_path) == []


def test_settings_of_the_task_count_and_stay_those_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    settings = {"mode": "strict", "executionMode": {"modeLockRounds": 5.0}}
    (tmp_path / "kernel" / "supervisor-config.json").write_text(json.dumps(settings))
    supervised(tmp_path, says(*healthy()), "")
    assert report(tmp_path)["mode"] == "strict"
    header = json.loads((tmp_path / "journal.jsonl").read_text().partition("\n")[0])
    assert header["begun"]["supervisor"]["config"]["executionMode"]["modeLockRounds"] == 5
    (tmp_path / "kernel" / "supervisor-config.json").unlink()
    assert again(tmp_path) == []


@pytest.mark.slow
def test_the_model_is_told_when_half_a_quarter_and_a_tenth_of_a_limit_are_left(tmp_path: Path) -> None:
    model = says(*healthy())
    supervised(tmp_path, model, max_turns=20)
    assert "[Budget]" not in said(model.requests[9])
    assert "50% or less of the turns are left" in said(model.requests[10])
    with pytest.raises(Paused, match="max_turns") as paused:
        supervised(tmp_path / "short", says(*healthy()), max_turns=10)
    assert paused.value.stop_reason == "budget_rounds"
    assert report(tmp_path / "short")["stopReason"] == "budget_rounds"
    longer = says(*healthy())
    supervised(tmp_path / "short", longer, max_turns=100)
    assert again(tmp_path / "short") == []


# what must not be lost


@pytest.mark.slow
def test_every_resume_is_noticed_and_not_only_the_first(tmp_path: Path) -> None:
    for cut in (4, 7, 9):
        with pytest.raises(PhaseError, match="cut"):
            supervised(tmp_path, says(*healthy()[: cut - 1], Reply("fatal", detail="cut")))
    supervised(tmp_path, says(*healthy()))
    assert sum("failure checkpoint_resumed" in line for line in events(tmp_path)) == 3
    assert report(tmp_path)["interventions"] == {"hints": 0, "blocks": 0, "takeovers": 0}
    assert again(tmp_path) == []


@pytest.mark.parametrize("mode", ["off", pytest.param("adaptive", marks=pytest.mark.slow)])
def test_after_a_stop_nothing_of_the_takeover_stands_before_the_model_any_more(mode: str, tmp_path: Path) -> None:
    with pytest.raises(Paused):
        supervised(tmp_path, Scripted(looping(helped=False)))
    mender = Scripted(lambda request: write("total.py", RIGHT) if request.turn % 2 else Reply("ok", "done"))
    supervised(tmp_path, mender, mode)
    assert not any(
        _LEADS in said(request) or "[Supervision]" in said(request)[-600:] for request in mender.requests[:2]
    )
    assert tree(tmp_path)["total.py"] == RIGHT.encode()


@pytest.mark.slow
def test_the_reason_in_the_report_is_that_of_the_code_as_it_is_in_the_end(tmp_path: Path) -> None:
    replies = [*healthy()[:-1], Reply("fatal", detail="cut")]
    with pytest.raises(PhaseError):
        supervised(tmp_path, says(*replies))
    supervised(tmp_path, says(*healthy()))
    assert report(tmp_path)["stopReason"] == "model_done"
    (tmp_path / "generate_code" / "total.py").write_text("def total(values):\n    return 0\n")
    made = supervised(tmp_path, says(*healthy()))
    assert made["verification"]["verified"] is False
    assert report(tmp_path)["stopReason"] != "model_done"


@pytest.mark.slow
def test_a_mistake_in_the_kernel_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*anything: Any, **more: Any) -> Any:
        raise LookupError("a mistake")

    for name in ("start_round", "record_result", "end_round"):
        with monkeypatch.context() as patch:
            patch.setattr(f"phases.supervision.bridge.{name}", broken)
            made = supervised(tmp_path / name, says(*healthy()))
        assert made["stop_reason"] == "accepted"
        assert any("kernel_error" in line for line in events(tmp_path / name))
    for name in ("gate_call", "step_l2"):  # a healthy turn enters neither
        with monkeypatch.context() as patch:
            patch.setattr(f"phases.supervision.bridge.{name}", broken)
            with pytest.raises(Paused):  # of a limit, or for its user: in order
                supervised(tmp_path / name, Scripted(looping(helped=False)), max_turns=30)
        assert any("kernel_error" in line for line in events(tmp_path / name))


def lists(request: Request) -> Reply:
    return call("TodoWrite", {"todos": [{"content": "all", "status": "in_progress"}]})


def reads(request: Request) -> Reply:
    return written()[request.turn - 1] if request.turn <= 5 else call("Grep", pattern=f"word{request.turn}")


@pytest.mark.parametrize(
    ("reply", "modes", "most"),
    [
        (lists, ("off", "adaptive", "strict"), 30),
        pytest.param(reads, ("adaptive", "strict"), 79, marks=pytest.mark.slow),
    ],
)
def test_the_same_list_or_reading_for_ever_ends_and_is_not_paid_for_for_ever(
    reply: Callable[[Request], Reply], modes: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    for mode in modes:
        model = Scripted(reply)
        with pytest.raises(Paused, match="supervision stopped") if mode != "off" else nullcontext():
            supervised(tmp_path / mode, model, mode)
        assert model.asked <= most


@pytest.mark.slow
def test_a_takeover_that_is_asked_for_when_the_work_is_done_takes_nothing_over(tmp_path: Path) -> None:
    replies = healthy()

    def reply(request: Request) -> Reply:
        if request.turn == len(replies):
            (tmp_path / "kernel").mkdir(exist_ok=True)
            (tmp_path / "kernel" / "take-over").write_text("{}")
        return replies[request.turn - 1]

    supervised(tmp_path, Scripted(reply))
    assert report(tmp_path)["takeovers"] == 0


def test_a_run_that_paused_for_time_is_on_record_and_computed_again_in_the_same_way(tmp_path: Path) -> None:
    with pytest.raises(PhaseError, match="cut"):
        supervised(tmp_path, says(*healthy()[:6], Reply("fatal", detail="cut")))
    with pytest.raises(Paused, match="time") as paused:
        supervised(tmp_path, says(*healthy()), deadline=0.0)
    assert (paused.value.stop_reason, report(tmp_path)["stopReason"]) == ("budget_time", "budget_time")
    assert again(tmp_path) == []
    supervised(tmp_path, says(*healthy()))
    assert any("timeout budget_time" in line for line in events(tmp_path))
    assert again(tmp_path) == []


@pytest.mark.slow
def test_the_mode_may_be_changed_whenever_a_run_is_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(Paused):
        supervised(tmp_path, says(*healthy()), max_turns=3)
    with pytest.raises(PhaseError, match="cut"):
        supervised(tmp_path, says(*healthy()[:5], Reply("fatal", detail="cut")), "off")
    assert again(tmp_path) == []
    supervised(tmp_path, says(*healthy()), "strict")
    told = report(tmp_path)
    assert (told["mode"], told["interventions"]["blocks"]) == ("strict", 0)
    assert any("task_graph_init" in line for line in events(tmp_path))
    assert again(tmp_path) == []


# rules


def header(folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((folder / "journal.jsonl").read_text().splitlines()[0])
    return row


def test_supervised_work_that_began_under_other_rules_is_refused_with_the_command_that_begins_it_anew(
    tmp_path: Path,
) -> None:
    for mode, number in (("adaptive", RULES - 1), ("adaptive", RULES + 1), ("off", RULES - 1)):
        folder = tmp_path / f"{mode}{number}"
        with pytest.raises(PhaseError, match="cut"):
            supervised(folder, says(*healthy()[:3], Reply("fatal", detail="cut")), mode)
        path = folder / "journal.jsonl"
        path.write_text(path.read_text().replace(f'"rules": {RULES}', f'"rules": {number}', 1))
        if mode == "off":
            assert supervised(folder, says(*healthy()), mode)["stop_reason"] == "accepted"
            continue
        told = rf"rules {number} of supervision.* rules {RULES}, .*: pipeline resume {folder.name} --redo implement$"
        with pytest.raises(PhaseError, match=told) as refused:
            supervised(folder, says(*healthy()), mode)
        assert refused.value.flag == "--redo implement"
