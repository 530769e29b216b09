"""The runner: what runs, what does not, what stops it, and that the end is always told."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.base.errors import (
    FormatError,
    InputsChanged,
    Interrupted,
    Paused,
    PhaseError,
    PipelineError,
    Rejected,
    StorageError,
    UsageError,
)
from pipeline.base.formats import dump_json
from pipeline.base.logs import task_log
from pipeline.engine.activity import NAME as ACTIVITY
from pipeline.engine.activity import Activity, read_activity
from pipeline.engine.graph import Graph
from pipeline.engine.phase import Context, Decision, Documents, Phase, is_placeholder
from pipeline.engine.run_request import RunEvent, RunRequest, missing_input, stale_phases
from pipeline.engine.runner import run_pipeline
from pipeline.engine.store import TaskStore
from tests.engine.test_store import contracts_in, make_task, toy
from tests.papers import HANGS
from tests.strategies import FEW

Work = Callable[[Documents, Context], Documents]


class Machine:
    """A task of toy phases, and what was seen of its runs."""

    def __init__(self, folder: Path, *phases: Phase) -> None:
        self.phases = phases
        self.ran: list[str] = []
        self.events: list[RunEvent] = []
        self.recorded: list[tuple[str, str]] = []
        self.settings: dict[str, Any] = {"mode": "full", "model": "offline", "phase_seconds": 0}
        self.watch: Callable[[RunEvent], None] = lambda event: None
        self.root = make_task(folder, *phases).root
        self.contracts = contracts_in(folder)
        self.log = folder / "system.jsonl"

    def store(self) -> TaskStore:
        """The task, as a new process would open it."""
        return TaskStore(self.root, Graph(self._counted(phase) for phase in self.phases), self.contracts)

    def change(self, number: str, **changes: Any) -> None:
        """From now on the phase of that number is another."""
        self.phases = tuple(remade(p, **changes) if p.number == number else p for p in self.phases)

    def asked(self, store: TaskStore, **asked: Any) -> RunRequest:
        phases: dict[str, Any] = {name: store.graph.find(number) for name, number in asked.items()}
        return RunRequest(
            settings=self.settings,
            open_model=lambda phase: None,
            review=lambda text, digest: Decision("approve", "auto", "2026-01-31T12:00:00.000Z", digest),
            record=lambda status, reason: self.recorded.append((status, reason)),
            watch=self._seen,
            **phases,
        )

    def run(self, **asked: Any) -> dict[str, Any]:
        """Runs in a process of its own, so to say; returns the report."""
        self.ran, self.events, self.recorded = [], [], []
        store = self.store()
        with store.writing(), task_log(str(self.log)):
            return run_pipeline(store, self.asked(store, **asked))

    def stale(self) -> dict[str, str]:
        store = self.store()
        return {phase.name: reason for phase, reason in stale_phases(store, self.asked(store))}

    def document(self, name: str) -> Any:
        return json.loads((Path(self.root) / name).read_bytes())

    def edit(self, name: str, text: str) -> None:
        (Path(self.root) / name).write_bytes(dump_json({"text": text}))

    def statuses(self) -> dict[str, str]:
        return {row["name"]: row["status"] for row in self.document("report.json")["phases"]}

    def told(self, kind: str) -> list[str]:
        return [event.phase.name for event in self.events if event.kind == kind]

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_bytes().split(b"\n")[:-1]]

    def _seen(self, event: RunEvent) -> None:
        self.events.append(event)
        self.watch(event)

    def _counted(self, phase: Phase) -> Phase:
        def run(inputs: Documents, ctx: Context) -> Documents:
            self.ran.append(phase.name)
            return phase.run(inputs, ctx)

        return remade(phase, run=run)


def remade(phase: Phase, **changes: Any) -> Phase:
    names = (
        "number", "name", "reads", "writes", "run", "settings", "version", "optional", "owns", "report", "asked",
    )  # fmt: skip
    return Phase(**{**{name: getattr(phase, name) for name in names}, **changes})


def joins(name: str) -> Work:
    """A phase that adds its name to the texts that it reads."""

    def run(inputs: Documents, ctx: Context) -> Documents:
        read = "+".join(value.get("text", "?") for value in inputs.values())
        return {f"{name}.json": {"text": f"{read}>{name}"}}

    return run


def raises(error: BaseException) -> Work:
    def run(inputs: Documents, ctx: Context) -> Documents:
        raise error

    return run


def raises_after(told: threading.Event, error: BaseException) -> Work:
    def run(inputs: Documents, ctx: Context) -> Documents:
        assert told.wait(HANGS)
        raise error

    return run


def step(number: str, name: str, *reads: str, **more: Any) -> Phase:
    return toy(number, name, tuple(f"{other}.json" for other in reads), **{"run": joins(name), **more})


CHAIN = (step("01", "alpha"), step("02", "beta", "alpha"), step("03", "gamma", "beta"))
DIAMOND = (
    step("01", "alpha"),
    step("02", "beta", "alpha"),
    step("03", "gamma", "alpha", optional=True),
    step("04", "delta", "beta", "gamma"),
)


@pytest.fixture
def chain(tmp_path: Path) -> Machine:
    return Machine(tmp_path, *CHAIN)


@pytest.fixture
def diamond(tmp_path: Path) -> Machine:
    return Machine(tmp_path, *DIAMOND)


# Order, and what need not run


def test_the_order_follows_from_the_contracts(tmp_path: Path) -> None:
    machine = Machine(tmp_path, *reversed(CHAIN))
    report = machine.run()
    assert (report["status"], report["exit_code"]) == ("completed", 0)
    assert machine.ran == ["alpha", "beta", "gamma"]
    assert machine.document("gamma.json") == {"text": ">alpha>beta>gamma"}
    assert [(event.kind, event.phase.name) for event in machine.events] == [
        (kind, name) for name in machine.ran for kind in ("started", "done")
    ]


def test_what_is_up_to_date_is_not_run_again(chain: Machine) -> None:
    chain.run()
    report = chain.run()
    assert chain.ran == []
    assert chain.told("fresh") == ["alpha", "beta", "gamma"]
    assert report["status"] == "completed"
    assert {row["attempts"] for row in report["phases"]} == {1}


def test_a_resume_after_a_failure_runs_only_what_is_needed(chain: Machine) -> None:
    chain.change("02", run=raises(PhaseError("no network; plug it in")))
    report = chain.run()
    assert (report["status"], report["reason"], report["exit_code"]) == ("error", "no network; plug it in", 1)
    assert chain.ran == ["alpha", "beta"]
    assert chain.statuses() == {"alpha": "done", "beta": "failed", "gamma": "pending"}
    assert chain.stale()["beta"] == "never finished: no network; plug it in"
    chain.change("02", run=joins("beta"))
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["beta", "gamma"]
    assert [row["attempts"] for row in chain.document("report.json")["phases"]] == [1, 2, 1]
    assert [row["error"] for row in chain.document("report.json")["phases"]] == [None, None, None]


def test_a_deleted_output_is_made_again_and_what_follows_stays_when_it_is_the_same(chain: Machine) -> None:
    chain.run()
    os.unlink(os.path.join(chain.root, "beta.json"))
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["beta"]


def test_an_edit_by_hand_is_taken_and_what_reads_it_runs_again(chain: Machine) -> None:
    chain.run()
    chain.edit("beta.json", "by hand")
    assert chain.stale() == {"gamma": "beta.json changed"}
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["gamma"]
    assert chain.document("gamma.json") == {"text": "by hand>gamma"}
    assert [event.text for event in chain.events if event.kind == "fresh"] == ["", "edited by hand: beta.json"]


def test_a_damaged_output_stops_the_run_by_name(chain: Machine) -> None:
    chain.run()
    Path(chain.root, "beta.json").write_text('{"text": ')
    report = chain.run()
    assert (report["status"], report["exit_code"]) == ("error", 1)
    assert "beta.json, line 1" in report["reason"]
    assert "--redo 02" in report["reason"]
    assert chain.ran == []
    assert chain.document("report.json")["reason"] == report["reason"]


def test_an_input_edited_while_its_phase_runs_makes_the_phase_stale(chain: Machine) -> None:
    def edits(inputs: Documents, ctx: Context) -> Documents:
        chain.edit("alpha.json", "edited meanwhile")
        return joins("beta")(inputs, ctx)

    chain.change("02", run=edits)
    chain.run()
    assert chain.document("beta.json") == {"text": ">alpha>beta"}
    assert chain.stale()["beta"] == "alpha.json changed"
    chain.change("02", run=joins("beta"))
    chain.run()
    assert chain.ran == ["beta", "gamma"]
    assert chain.document("gamma.json") == {"text": "edited meanwhile>beta>gamma"}


def test_a_new_version_makes_a_phase_run_and_what_reads_a_changed_result(chain: Machine) -> None:
    chain.run()
    chain.change("02", version=2)
    assert chain.stale()["beta"] == "version changed from 1 to 2"
    chain.run()
    assert chain.ran == ["beta"], "its result is the same, so nobody else has to run"
    chain.change("02", version=3, run=joins("beta2"), writes=("beta.json",))
    chain.change("02", run=lambda inputs, ctx: {"beta.json": {"text": "other"}})
    chain.run()
    assert chain.ran == ["beta", "gamma"]


def test_a_setting_that_a_phase_named_makes_it_run_when_it_changes(chain: Machine) -> None:
    chain.change("02", settings=("model",))
    chain.run()
    chain.settings["phase_seconds"] = 9
    assert chain.stale() == {}
    chain.settings["model"] = "replay:a.json"
    assert chain.stale()["beta"] == "model changed from offline to replay:a.json"
    chain.run()
    assert chain.ran == ["beta"]


def test_a_phase_gets_the_settings_that_it_named_and_no_others(chain: Machine) -> None:
    got: list[Context] = []

    def looks(inputs: Documents, ctx: Context) -> Documents:
        got.append(ctx)
        return joins("beta")(inputs, ctx)

    chain.change("02", settings=("model",), run=looks)
    chain.run()
    assert got[0].settings == {"model": "offline"}
    assert got[0].digests == {"alpha.json": chain.store().digest("alpha.json")}
    assert got[0].paths.root == chain.root
    assert got[0].deadline is None
    assert got[0].review("text", "0" * 64).plan_sha256 == "0" * 64


def test_a_limit_of_time_becomes_a_deadline(chain: Machine) -> None:
    got: list[float | None] = []

    def looks(inputs: Documents, ctx: Context) -> Documents:
        got.append(ctx.deadline)
        return joins("alpha")(inputs, ctx)

    chain.change("01", run=looks)
    chain.settings["phase_seconds"] = 3600
    chain.run()
    assert got[0] is not None


def test_progress_is_told_while_a_phase_runs(chain: Machine) -> None:
    def tells(inputs: Documents, ctx: Context) -> Documents:
        ctx.progress(1, 2, "half")
        return joins("alpha")(inputs, ctx)

    chain.change("01", run=tells)
    chain.run(until="01")
    assert [(event.kind, event.text, event.done, event.total) for event in chain.events] == [
        ("started", "", 0, 0),
        ("progress", "half", 1, 2),
        ("done", "", 0, 0),
    ]


def test_progress_is_published_for_other_processes_until_the_run_ends(diamond: Machine) -> None:
    seen: list[Mapping[str, str]] = []

    def reports(inputs: Documents, ctx: Context) -> Documents:
        ctx.progress(1, 2, "half")
        seen.append(read_activity(diamond.root))
        raise PhaseError("it fails")

    os.makedirs(os.path.join(diamond.root, "logs"))
    diamond.change("01", run=reports)
    diamond.run()
    assert seen[0]["01"] == "1 of 2: half"
    assert not os.path.exists(os.path.join(diamond.root, ACTIVITY))


@pytest.mark.parametrize("damage", ["", "[1]", '{"01": ', "a link", "no folder"])
def test_a_damaged_line_of_progress_is_no_line(damage: str, tmp_path: Path) -> None:
    if damage != "no folder":
        (tmp_path / "logs").mkdir()
        (tmp_path / "other").write_text('{"01": "x"}')
        if damage == "a link":
            (tmp_path / ACTIVITY).symlink_to(tmp_path / "other")
        else:
            (tmp_path / ACTIVITY).write_text(damage)
    assert read_activity(str(tmp_path)) == {}
    Activity(str(tmp_path)).note("01", "x")
    assert read_activity(str(tmp_path)) == ({} if damage == "no folder" else {"01": "x"})


def test_what_would_run_is_told_with_reasons(diamond: Machine) -> None:
    assert set(diamond.stale().values()) == {"never ran"}
    diamond.run()
    diamond.change("02", version=2)
    assert diamond.stale() == {
        "beta": "version changed from 1 to 2",
        "delta": "it reads what phase 02 beta writes, and that runs first",
    }


# Stops


@pytest.mark.parametrize(
    ("asked", "ran", "before"),
    [
        pytest.param({"stop_at": "02"}, ["alpha"], "02 beta", id="stop at 02"),
        pytest.param({"stop_at": "beta"}, ["alpha"], "02 beta", id="stop at beta"),
        pytest.param({"stop_at": "1"}, [], "01 alpha", id="stop at the first"),
        pytest.param({"until": "02"}, ["alpha", "beta"], "03 gamma", id="until 02"),
        pytest.param({"until": "alpha"}, ["alpha"], "02 beta", id="until alpha"),
        pytest.param({"only": "01"}, ["alpha"], "02 beta", id="only 01"),
    ],
)
def test_a_stop_that_was_asked_for_pauses_with_exit_code_0_and_a_resume_goes_on(
    chain: Machine, asked: dict[str, str], ran: list[str], before: str
) -> None:
    report = chain.run(**asked)
    assert chain.ran == ran
    assert (report["status"], report["exit_code"]) == ("paused", 0)
    assert report["reason"] == f"stopped before phase {before}, as asked"
    assert chain.recorded[-1] == ("paused", report["reason"])
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["alpha", "beta", "gamma"][len(ran) :]


@pytest.mark.parametrize("asked", [{"only": "02"}, {"until": "02"}, {"stop_at": "03"}], ids=str)
def test_a_run_that_stops_short_ends_with_what_its_phases_report(chain: Machine, asked: dict[str, str]) -> None:
    chain.run()
    told = {"status": "incomplete", "reason": "2 checks fail"}
    chain.change(
        "02", version=2, run=lambda inputs, ctx: {"beta.json": {"text": "again"}}, report=lambda documents: told
    )
    report = chain.run(**asked)
    assert (chain.ran, set(chain.stale())) == (["beta"], {"gamma"})
    assert (report["status"], report["exit_code"], report["reason"]) == ("incomplete", 3, "2 checks fail")


@pytest.mark.parametrize("asked", [{"only": "01"}, {"until": "01"}, {"stop_at": "02"}], ids=str)
def test_a_report_on_older_inputs_does_not_decide_how_a_run_that_stops_short_ends(
    chain: Machine, asked: dict[str, str]
) -> None:
    chain.change("02", report=lambda documents: {"status": "incomplete", "reason": "2 checks fail"})
    assert chain.run()["exit_code"] == 3
    chain.change("01", version=2, run=lambda inputs, ctx: {"alpha.json": {"text": "again"}})
    report = chain.run(**asked)
    assert (report["status"], report["exit_code"]) == ("paused", 0)


@pytest.mark.parametrize("asked", [{"until": "03"}, {"stop_at": "03"}, {"only": "03"}], ids=str)
def test_a_stop_where_nothing_is_left_is_the_end(chain: Machine, asked: dict[str, str]) -> None:
    chain.run()
    assert chain.run(**asked)["status"] == "completed"
    assert chain.ran == []


def test_a_step_without_its_inputs_is_refused_and_the_way_shown(chain: Machine) -> None:
    store = chain.store()
    gamma = store.graph.find("03")
    found = missing_input(store, chain.asked(store)._replace(only=gamma))
    assert found is not None
    before, reason = found
    assert (before.name, reason) == ("beta", "never ran")


def test_a_step_runs_one_phase_and_nothing_else(diamond: Machine) -> None:
    for name in ("alpha", "gamma", "beta", "delta"):
        diamond.run(only=name)
        assert diamond.ran == [name]
    assert diamond.run()["status"] == "completed"
    assert diamond.ran == []


def test_a_step_of_a_phase_that_is_up_to_date_runs_nothing(chain: Machine) -> None:
    chain.run(until="02")
    chain.run(only="01")
    assert (chain.ran, chain.told("fresh")) == ([], ["alpha"])


def test_a_phase_that_changed_its_own_inputs_is_looked_at_anew_in_the_same_run(chain: Machine) -> None:
    looks = iter((True, False))

    def reviews(inputs: Documents, ctx: Context) -> Documents:
        if next(looks):
            chain.edit("beta.json", "edited at the review")
            raise InputsChanged("the plan was edited")
        return joins("gamma")(inputs, ctx)

    chain.change("03", run=reviews)
    report = chain.run()
    assert report["status"] == "completed", report["reason"]
    assert chain.ran == ["alpha", "beta", "gamma", "gamma"]
    assert chain.document("gamma.json") == {"text": "edited at the review>gamma"}
    assert report["phases"][2]["attempts"] == 2
    assert chain.stale() == {}


def test_a_phase_that_made_an_earlier_one_stale_waits_for_it(chain: Machine) -> None:
    looks = iter((True, False))

    def reviews(inputs: Documents, ctx: Context) -> Documents:
        if next(looks):
            os.unlink(os.path.join(chain.root, "alpha.json"))
            raise InputsChanged("a change was asked for")
        return joins("gamma")(inputs, ctx)

    chain.change("03", run=reviews)
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["alpha", "beta", "gamma", "alpha", "gamma"]


def test_inputs_that_change_beside_a_running_phase_start_it_no_second_time(diamond: Machine) -> None:
    release, looks = threading.Event(), iter((True, False))

    def waits(inputs: Documents, ctx: Context) -> Documents:
        release.wait(30)
        return joins("beta")(inputs, ctx)

    def reviews(inputs: Documents, ctx: Context) -> Documents:
        if next(looks):
            raise InputsChanged("a change was asked for")
        release.set()
        return joins("gamma")(inputs, ctx)

    diamond.change("02", run=waits)
    diamond.change("03", run=reviews)
    assert diamond.run()["status"] == "completed"
    assert sorted(diamond.ran) == ["alpha", "beta", "delta", "gamma", "gamma"]


# Optional phases


def test_an_optional_phase_that_gives_up_degrades_the_run(diamond: Machine) -> None:
    diamond.change("03", run=raises(PhaseError("no repository is there any more")))
    report = diamond.run()
    assert (report["status"], report["exit_code"]) == ("warning", 0)
    assert report["reason"] == "gamma: no repository is there any more"
    assert diamond.document("gamma.json") == {
        "status": "failed",
        "reason": "no repository is there any more",
        "mode": "full",
    }
    assert diamond.document("delta.json") == {"text": ">alpha>beta+?>delta"}
    assert diamond.statuses() == {"alpha": "done", "beta": "done", "gamma": "degraded", "delta": "done"}
    assert diamond.told("degraded") == ["gamma"]


def test_a_bug_in_an_optional_phase_degrades_the_run_and_its_traceback_is_in_the_log(diamond: Machine) -> None:
    diamond.change("03", run=raises(ZeroDivisionError("by zero")))
    report = diamond.run()
    assert (report["status"], report["exit_code"]) == ("warning", 0)
    assert "phase 03 gamma has a bug: ZeroDivisionError: by zero; the log has the traceback" in report["reason"]
    assert any("Traceback" in line.get("traceback", "") for line in diamond.logged())


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda inputs, ctx: {"gamma.json": {"text": 3}}, id="a document that breaks its schema"),
        pytest.param(lambda inputs, ctx: {}, id="no document"),
        pytest.param(lambda inputs, ctx: None, id="nothing"),
        pytest.param(raises(FormatError("not JSON")), id="an error of a parser"),
    ],
)
def test_whatever_an_optional_phase_does_wrong_degrades_the_run(diamond: Machine, work: Work) -> None:
    diamond.change("03", run=work)
    report = diamond.run()
    assert (report["status"], report["exit_code"]) == ("warning", 0), report["reason"]
    assert is_placeholder(diamond.document("gamma.json"))
    assert diamond.statuses()["delta"] == "done"


def test_an_optional_phase_is_left_out_where_its_input_is_only_a_placeholder(tmp_path: Path) -> None:
    machine = Machine(
        tmp_path,
        step("01", "alpha", optional=True, run=raises(PhaseError("no network"))),
        step("02", "beta", "alpha", optional=True),
        step("03", "gamma", "beta"),
    )
    report = machine.run()
    assert machine.ran == ["alpha", "gamma"]
    assert machine.document("beta.json") == {
        "status": "skipped",
        "reason": "it needs alpha.json, and that is only a placeholder: no network",
        "mode": "full",
    }
    assert machine.statuses() == {"alpha": "degraded", "beta": "skipped", "gamma": "done"}
    assert report["status"] == "warning"


def test_fast_mode_leaves_optional_phases_out_and_full_mode_runs_them_then(diamond: Machine) -> None:
    diamond.settings["mode"] = "fast"
    assert diamond.run()["status"] == "completed"
    assert diamond.ran == ["alpha", "beta", "delta"]
    assert diamond.document("gamma.json") == {
        "status": "skipped",
        "reason": "fast mode leaves this phase out",
        "mode": "fast",
    }
    assert diamond.statuses()["gamma"] == "skipped"
    assert diamond.run()["status"] == "completed"
    assert diamond.ran == []
    diamond.settings["mode"] = "full"
    assert diamond.stale() == {
        "gamma": "mode changed from fast to full",
        "delta": "it reads what phase 03 gamma writes, and that runs first",
    }
    assert diamond.run()["status"] == "completed"
    assert diamond.ran == ["gamma", "delta"]
    diamond.settings["mode"] = "fast"
    assert diamond.stale()["gamma"] == "mode changed from full to fast"


def test_fast_mode_runs_one_phase_at_a_time_in_order(tmp_path: Path) -> None:
    machine = Machine(tmp_path, step("01", "alpha"), step("02", "beta"), step("03", "gamma"), step("04", "delta"))
    machine.settings["mode"] = "fast"
    machine.run()
    assert machine.ran == ["alpha", "beta", "gamma", "delta"]
    assert [(event.kind, event.phase.name) for event in machine.events] == [
        (kind, name) for name in machine.ran for kind in ("started", "done")
    ]


@pytest.mark.parametrize("mode", ["fast", "full"])
def test_the_log_tells_once_that_a_phase_runs_and_once_how_it_ended(tmp_path: Path, mode: str) -> None:
    machine = Machine(tmp_path, step("01", "alpha"), step("02", "beta"), step("03", "gamma"), step("04", "delta"))
    machine.settings["mode"] = mode
    machine.run()
    told = Counter(" ".join(line["message"].split()[:3]) for line in machine.logged())
    for phase in machine.phases:
        assert told[f"{phase.label} runs:"] == 1
        assert told[f"{phase.label} done"] == 1


# Side by side


def meets(name: str, barrier: threading.Barrier) -> Work:
    def run(inputs: Documents, ctx: Context) -> Documents:
        barrier.wait()
        return joins(name)(inputs, ctx)

    return run


def test_phases_that_do_not_wait_for_each_other_run_at_the_same_time(diamond: Machine) -> None:
    barrier = threading.Barrier(2, timeout=30)
    diamond.change("02", run=meets("beta", barrier))
    diamond.change("03", run=meets("gamma", barrier))
    report = diamond.run()
    assert report["status"] == "completed", report["reason"]
    assert not barrier.broken
    assert sorted(diamond.ran) == ["alpha", "beta", "delta", "gamma"]
    assert diamond.document("delta.json") == {"text": ">alpha>beta+>alpha>gamma>delta"}


def test_a_phase_that_becomes_ready_starts_while_another_still_runs(tmp_path: Path) -> None:
    barrier = threading.Barrier(2, timeout=30)
    machine = Machine(
        tmp_path,
        step("01", "alpha", run=meets("alpha", barrier)),
        step("02", "beta"),
        step("03", "gamma", "beta", run=meets("gamma", barrier)),
        step("04", "delta", "alpha", "gamma"),
    )
    report = machine.run()
    assert report["status"] == "completed", report["reason"]
    assert not barrier.broken


@pytest.mark.parametrize("mode", ["full", "fast"])
def test_what_does_not_need_the_reviewer_goes_on_while_he_takes_his_time(tmp_path: Path, mode: str) -> None:
    machine = Machine(
        tmp_path,
        step("01", "alpha"),
        step("02", "beta", "alpha", run=raises(Paused("waits for a review"))),
        step("03", "gamma", "alpha"),
        step("04", "delta", "gamma"),
        step("05", "note", "beta", "delta"),
    )
    machine.settings = {**machine.settings, "mode": mode}
    report = machine.run()
    assert (report["status"], report["reason"], report["exit_code"]) == ("paused", "waits for a review", 5)
    # Fast mode stops at once: what could run beside is left out there anyway.
    assert sorted(machine.ran) == sorted(["alpha", "beta", *(["gamma", "delta"] if mode == "full" else [])])
    machine.change("02", run=joins("beta"))
    assert machine.run()["status"] == "completed"
    assert sorted(machine.ran) == sorted(["beta", "note", *([] if mode == "full" else ["gamma", "delta"])])


def test_a_phase_whose_input_is_changed_by_a_reviewer_while_it_runs_is_run_on_the_new_one(diamond: Machine) -> None:
    reviewed = threading.Event()

    def review(inputs: Documents, ctx: Context) -> Documents:
        if not reviewed.is_set():
            diamond.edit("alpha.json", "edited")
            reviewed.set()
            raise InputsChanged("the plan was edited")
        return joins("beta")(inputs, ctx)

    def slow(inputs: Documents, ctx: Context) -> Documents:
        assert reviewed.wait(HANGS)
        return joins("gamma")(inputs, ctx)

    diamond.change("02", run=review)
    diamond.change("03", run=slow)
    assert diamond.run()["status"] == "completed"
    assert diamond.document("gamma.json") == {"text": "edited>gamma"}
    assert diamond.stale() == {}


def test_a_failure_beside_a_running_phase_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    release, failing = threading.Event(), threading.Event()

    def waits(inputs: Documents, ctx: Context) -> Documents:
        failing.set()
        release.wait(60)
        return joins("beta")(inputs, ctx)

    def fails(inputs: Documents, ctx: Context) -> Documents:
        failing.wait(60)
        raise PhaseError("no more disk")

    machine = Machine(
        tmp_path, step("01", "alpha"), step("02", "beta", "alpha", run=waits), step("03", "gamma", "alpha", run=fails)
    )
    try:
        report = machine.run()
    finally:
        release.set()
    assert (report["status"], report["reason"]) == ("error", "no more disk")
    assert machine.statuses() == {"alpha": "done", "beta": "stopped", "gamma": "failed"}
    assert machine.stale()["beta"] == "never finished: the run ended while it was running"
    machine.change("02", run=joins("beta"))
    machine.change("03", run=joins("gamma"))
    assert machine.run()["status"] == "completed"
    assert sorted(machine.ran) == ["beta", "gamma"]


def test_what_phases_side_by_side_log_goes_to_the_log_of_their_task(diamond: Machine) -> None:
    from pipeline.base.logs import log_event

    def tells(name: str) -> Work:
        def run(inputs: Documents, ctx: Context) -> Documents:
            log_event(f"inside {name}")
            return joins(name)(inputs, ctx)

        return run

    diamond.change("02", run=tells("beta"))
    diamond.change("03", run=tells("gamma"))
    diamond.run()
    messages = [line["message"] for line in diamond.logged()]
    assert {"inside beta", "inside gamma"} <= set(messages)


# Failures


def test_a_bug_in_a_phase_ends_with_exit_code_70_and_its_traceback_in_the_log(chain: Machine) -> None:
    chain.change("02", run=raises(KeyError("a\nb")))
    report = chain.run()
    assert (report["status"], report["exit_code"]) == ("error", 70)
    assert report["reason"].startswith("phase 02 beta has a bug: KeyError: ")
    assert report["reason"].endswith("; the log has the traceback")
    assert "\n" not in report["reason"]
    (line,) = [line for line in chain.logged() if line["level"] == "ERROR"]
    assert line["message"] == "02 beta has a bug"
    assert "Traceback (most recent call last)" in line["traceback"]
    assert "KeyError" in line["traceback"]
    assert chain.statuses()["beta"] == "failed"


@pytest.mark.parametrize(
    ("error", "status", "code", "stamp"),
    [
        pytest.param(PhaseError("gave up"), "error", 1, "failed", id="a phase that gives up"),
        pytest.param(StorageError("no space"), "error", 1, "failed", id="a disk that says no"),
        pytest.param(UsageError("no such model"), "error", 2, "stopped", id="a model that is not there"),
        pytest.param(Paused("waits for a review"), "paused", 5, "stopped", id="a phase that waits"),
        pytest.param(Rejected("rejected by me"), "cancelled", 4, "stopped", id="a plan that was rejected"),
        pytest.param(Interrupted(2), "cancelled", 130, "stopped", id="SIGINT"),
        pytest.param(Interrupted(15), "cancelled", 143, "stopped", id="SIGTERM"),
        pytest.param(RecursionError("deep"), "error", 70, "failed", id="a bug"),
        pytest.param(SystemExit(0), "error", 70, "failed", id="a phase that ends the process"),
        pytest.param(asyncio.CancelledError(), "error", 70, "failed", id="a phase that asyncio cancels"),
    ],
)
def test_every_way_out_leaves_a_report_and_a_line_in_the_catalog(
    chain: Machine, error: BaseException, status: str, code: int, stamp: str
) -> None:
    chain.change("02", run=raises(error))
    report = chain.run()
    assert (report["status"], report["exit_code"]) == (status, code)
    assert chain.document("report.json") == report
    assert chain.recorded[-1] == (status, report["reason"])
    assert chain.statuses() == {"alpha": "done", "beta": stamp, "gamma": "pending"}
    assert chain.logged()[-1]["message"] == f"ended {status}: {report['reason']}"
    chain.change("02", run=joins("beta"))
    assert chain.run()["status"] == "completed"
    assert chain.ran == ["beta", "gamma"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(SystemExit(0), id="ends the process"),
        pytest.param(asyncio.CancelledError(), id="is cancelled by asyncio"),
    ],
)
def test_a_phase_beside_another_that_leaves_in_an_odd_way_does_not_hang_the_run(
    diamond: Machine, error: BaseException
) -> None:
    diamond.change("02", run=raises(error))
    reports: list[dict[str, Any]] = []
    runner = threading.Thread(target=lambda: reports.append(diamond.run()), daemon=True)
    runner.start()
    runner.join(20)
    assert reports, "the run still waits for a phase whose thread is gone"
    assert (reports[0]["status"], reports[0]["exit_code"]) == ("error", 70)


def test_an_interruption_while_phases_run_side_by_side_ends_cancelled(diamond: Machine) -> None:
    release = threading.Event()

    def waits(inputs: Documents, ctx: Context) -> Documents:
        release.wait(60)
        return joins("beta")(inputs, ctx)

    def interrupts(event: RunEvent) -> None:
        if (event.kind, event.phase.name) == ("started", "gamma"):
            raise Interrupted(15)

    diamond.change("02", run=waits)
    diamond.watch = interrupts
    try:
        report = diamond.run()
    finally:
        release.set()
    assert (report["status"], report["exit_code"]) == ("cancelled", 143)
    assert report["reason"] == "interrupted (SIGTERM); nothing is lost"
    assert diamond.statuses() == {"alpha": "done", "beta": "stopped", "gamma": "stopped", "delta": "pending"}


@pytest.mark.parametrize(
    ("work", "message"),
    [
        pytest.param(lambda inputs, ctx: None, "phase 02 beta returned ", id="nothing"),
        pytest.param(lambda inputs, ctx: {}, "did not return beta.json, which it promises to write", id="no document"),
        pytest.param(
            lambda inputs, ctx: {"beta.json": {"text": 3}}, "beta.json at $.text: 3 is not of type", id="a wrong one"
        ),
        pytest.param(
            lambda inputs, ctx: {"beta.json": {"text": ""}, "alpha.json": {"text": ""}},
            "returned alpha.json, which it does not declare",
            id="one too many",
        ),
        pytest.param(lambda inputs, ctx: [("beta.json", {})], "phase 02 beta", id="a list"),
    ],
)
def test_a_phase_that_returns_what_it_did_not_promise_is_never_done(chain: Machine, work: Work, message: str) -> None:
    chain.change("02", run=work)
    report = chain.run()
    assert report["status"] == "error"
    assert report["exit_code"] in (1, 70)
    assert message in report["reason"]
    assert chain.statuses()["beta"] in ("failed", "stopped")
    assert "beta" not in chain.told("done")
    assert chain.document("state.json")["phases"]["02"]["status"] in ("failed", "stopped")
    assert chain.stale()["beta"].startswith("never finished")


def test_a_document_that_a_phase_changes_in_its_hands_stays_as_it_is_on_the_disk(chain: Machine) -> None:
    def spoils(inputs: Documents, ctx: Context) -> Documents:
        inputs["alpha.json"]["text"] = "spoilt"
        return joins("beta")({"alpha.json": {"text": ""}}, ctx)

    chain.change("02", run=spoils)
    chain.run()
    assert chain.document("alpha.json") == {"text": ">alpha"}
    assert chain.stale() == {}


def test_nobody_is_told_that_a_phase_is_done_before_its_stamp_is_on_the_disk(diamond: Machine) -> None:
    seen: list[tuple[str, str]] = []

    def looks(event: RunEvent) -> None:
        if event.kind in ("done", "skipped", "degraded"):
            stamp = diamond.store().stamps[event.phase.number]
            seen.append((event.phase.name, stamp.status))
            for name, digest in stamp.written.items():
                assert diamond.store().digest(name) == digest

    diamond.change("03", run=raises(PhaseError("no network")))
    diamond.watch = looks
    diamond.run()
    assert sorted(seen) == [("alpha", "done"), ("beta", "done"), ("delta", "done"), ("gamma", "degraded")]


def test_nobody_is_told_that_a_phase_started_before_that_is_on_the_disk(chain: Machine) -> None:
    seen: list[str] = []

    def looks(event: RunEvent) -> None:
        if event.kind == "started":
            seen.append(chain.store().stamps[event.phase.number].status)

    chain.watch = looks
    chain.run()
    assert seen == ["running", "running", "running"]


@pytest.mark.parametrize("at", range(1, 9))
def test_a_disk_that_is_full_at_any_time_is_told_and_a_resume_ends_the_same(chain: Machine, at: int) -> None:
    real, left = os.replace, [at]

    def full(source: str, target: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", full)
        report = chain.run()
    if left[0] < 0:
        assert report["exit_code"] != 0
        assert "No space left on device (ENOSPC)" in report["reason"]
        assert chain.recorded[-1][0] == report["status"]
    assert not [name for name in os.listdir(chain.root) if name.endswith(".tmp")]
    assert chain.run()["status"] == "completed"
    assert chain.document("gamma.json") == {"text": ">alpha>beta>gamma"}


def test_a_catalog_that_cannot_be_written_is_told_beside_the_outcome(chain: Machine) -> None:
    store = chain.store()

    def full(status: str, reason: str) -> None:
        if status != "running":
            raise StorageError("cannot append to tasks.jsonl: No space left on device (ENOSPC)")

    run = chain.asked(store)
    with store.writing():
        report = run_pipeline(
            store, RunRequest(settings=run.settings, open_model=run.open_model, review=run.review, record=full)
        )
    assert report["status"] == "completed"
    assert report["exit_code"] == 1
    assert report["reason"].endswith("; moreover: cannot append to tasks.jsonl: No space left on device (ENOSPC)")


@pytest.mark.parametrize(
    "report_of",
    [
        pytest.param(lambda documents: 1 / 0, id="a bug"),
        pytest.param(lambda documents: {"files": "many"}, id="facts that break the schema of the report"),
        pytest.param(lambda documents: {"status": "splendid", "reason": "x"}, id="a status that is none"),
    ],
)
def test_a_phase_whose_facts_are_wrong_still_leaves_a_report(
    chain: Machine, report_of: Callable[[Documents], Mapping[str, Any]]
) -> None:
    chain.change("02", report=report_of)
    with contextlib.suppress(Exception):  # what the call itself ends in is not what this is about
        chain.run()
    assert chain.document("report.json")["exit_code"] != 0
    assert chain.recorded[-1][0] == "error"
    assert chain.document("state.json")["phases"]["03"]["status"] == "done"


def test_a_task_file_that_is_lost_during_a_run_costs_no_stamp_and_no_record(chain: Machine) -> None:
    def loses(inputs: Documents, ctx: Context) -> Documents:
        os.unlink(os.path.join(chain.root, "task.json"))
        raise PhaseError("gave up")

    chain.change("02", run=loses)
    with contextlib.suppress(PipelineError):
        chain.run()
    assert chain.document("state.json")["phases"]["02"]["status"] == "failed"
    assert chain.recorded[-1][0] == "error"


def test_a_task_that_is_deleted_during_a_run_is_told_and_not_made_again(chain: Machine) -> None:
    def deletes(inputs: Documents, ctx: Context) -> Documents:
        os.rename(chain.root, chain.root + ".moved")
        return joins("beta")(inputs, ctx)

    chain.change("02", run=deletes)
    store = chain.store()
    try:
        with store.writing():
            reason = str(run_pipeline(store, chain.asked(store))["reason"])
    except PipelineError as error:
        reason = str(error)
    assert "was deleted, moved or replaced while it was in use" in reason
    assert not os.path.exists(chain.root)
    assert chain.recorded[-1][0] == "error"


def test_a_bug_in_the_runner_itself_still_leaves_a_report(chain: Machine) -> None:
    def breaks(event: RunEvent) -> None:
        if event.phase.name == "beta":
            raise ZeroDivisionError

    chain.watch = breaks
    with pytest.raises(ZeroDivisionError):
        chain.run()
    assert chain.document("report.json")["exit_code"] == 70
    assert chain.document("report.json")["reason"] == "a bug in the pipeline ended the run"
    assert chain.recorded[-1][0] == "error"


def test_a_run_begins_in_the_catalog_before_its_first_phase_and_ends_there(chain: Machine) -> None:
    def looks(event: RunEvent) -> None:
        assert chain.recorded == [("running", "")]

    chain.watch = looks
    chain.run()
    assert [status for status, _ in chain.recorded] == ["running", "completed"]


# Any graph, any interruption


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Phase, ...]:
    names = ("alpha", "beta", "gamma", "delta")[: draw(st.integers(1, 4))]
    phases = []
    for index, name in enumerate(names):
        reads = draw(st.lists(st.sampled_from(names[:index]), unique=True)) if index else []
        phases.append(step(f"{index:02}", name, *reads, optional=draw(st.booleans())))
    return tuple(phases)


@pytest.mark.slow
@FEW
@given(phases=graphs(), failures=st.lists(st.integers(0, 3), max_size=4), mode=st.sampled_from(("fast", "full")))
def test_after_any_failures_a_resume_ends_where_an_undisturbed_run_ends(
    tmp_path_factory: pytest.TempPathFactory, phases: tuple[Phase, ...], failures: list[int], mode: str
) -> None:
    smooth = Machine(tmp_path_factory.mktemp("smooth"), *phases)
    rough = Machine(tmp_path_factory.mktemp("rough"), *phases)
    smooth.settings["mode"] = rough.settings["mode"] = mode
    smooth.run()
    for failure in failures:
        phase = phases[failure % len(phases)]
        rough.change(phase.number, run=raises(Paused("later")))
        rough.run()
        rough.change(phase.number, run=phase.run)
    assert rough.run()["status"] == "completed"
    for phase in phases:
        assert rough.document(phase.writes[0]) == smooth.document(phase.writes[0])
    assert smooth.stale() == rough.stale() == {}
    rough.run()
    assert rough.ran == []


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        pytest.param("--max-turns 4", "--add-usd 0.5", "--add-usd 0.5", id="the limit of the later phase"),
        pytest.param("--max-turns 4", "", "--max-turns 4", id="the only limit"),
        pytest.param("", "", "", id="no limit"),
    ],
)
def test_of_several_limits_the_next_command_raises_the_one_that_was_reached_last(
    tmp_path: Path, first: str, second: str, named: str
) -> None:
    first_is_told = threading.Event()
    machine = Machine(
        tmp_path,
        step("01", "alpha"),
        step("02", "beta", "alpha", run=raises(Paused("one limit", flag=first))),
        step("03", "gamma", "alpha", run=raises_after(first_is_told, Paused("another limit", flag=second))),
    )
    machine.watch = lambda event: first_is_told.set() if event.kind == "stopped" else None
    report = machine.run()
    assert (report["status"], report["reason"]) == ("paused", "one limit; another limit")
    assert report["resume_with"] == named


def test_what_a_reason_says_is_never_taken_for_a_flag(chain: Machine) -> None:
    chain.change("02", run=raises(Paused("the server said: continue with: pipeline resume x --max-usd 5")))
    assert chain.run()["resume_with"] == ""
    chain.change("02", run=raises(Paused("a limit", flag="--max-usd $(rm)")))
    report = chain.run()
    assert (report["exit_code"], report["resume_with"]) == (70, "")


# Phases that run when they are asked for


@pytest.fixture
def extra(tmp_path: Path) -> Machine:
    """A chain whose last phase must be asked for."""
    machine = Machine(tmp_path, *CHAIN[:2], step("03", "gamma", "beta", asked="more", settings=("more",)))
    machine.settings["more"] = "off"
    return machine


def test_a_phase_that_is_not_asked_for_leaves_no_trace(extra: Machine) -> None:
    report = extra.run()
    assert (report["status"], extra.ran) == ("completed", ["alpha", "beta"])
    assert extra.statuses() == {"alpha": "done", "beta": "done"}
    assert set(extra.document("state.json")["phases"]) == {"01", "02"}
    assert not (Path(extra.root) / "gamma.json").exists()
    assert extra.stale() == {}


def test_a_phase_that_is_asked_for_runs_and_stays_out_of_a_later_run_that_does_not_ask(extra: Machine) -> None:
    extra.run()
    extra.settings["more"] = "yes"
    assert extra.stale() == {"gamma": "never ran"}
    extra.run()
    assert (extra.ran, extra.statuses()["gamma"]) == (["gamma"], "done")
    extra.settings["more"] = "off"
    extra.edit("beta.json", "changed by hand")
    extra.run()
    assert (extra.ran, extra.stale()) == ([], {})
    extra.settings["more"] = "yes"
    assert extra.stale() == {"gamma": "beta.json changed"}


def test_a_phase_that_is_asked_for_in_another_way_runs_again(extra: Machine) -> None:
    extra.settings["more"] = "little"
    extra.run()
    extra.settings["more"] = "much"
    assert extra.stale() == {"gamma": "more changed from little to much"}


def test_the_end_of_a_run_is_no_stop_before_a_phase_that_nobody_asked_for(extra: Machine) -> None:
    assert extra.run(until="02")["status"] == "completed"
