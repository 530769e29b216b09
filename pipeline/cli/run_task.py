"""Run phases: shared code of the commands run, resume and step, and of `import pipeline`."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, Protocol

from pipeline.base.errors import PipelineError, UsageError
from pipeline.base.files import make_directory
from pipeline.base.logs import Echo, log_event, task_log
from pipeline.cli.assembly import (
    OWN_AGENT,
    cache_directory,
    command_name,
    config_directory,
    discover_phases,
    is_served,
    model_for,
    open_model,
    read_user_hooks,
    settings_from,
    user_environment,
    with_settings_to_keep,
)
from pipeline.cli.given_code import take_given_code
from pipeline.cli.given_folder import copy_given
from pipeline.cli.options import flags_of
from pipeline.cli.progress import Progress
from pipeline.cli.summary import show_summary
from pipeline.cli.trust import (
    refuse_idle_attempts,
    refuse_outside,
    refuse_own_directories,
    settings_in_force,
    with_absolute_paths,
)
from pipeline.cli.user_tests import copy_user_tests
from pipeline.engine.catalog import Catalog
from pipeline.engine.phase import OFF, Decision, Phase
from pipeline.engine.run_request import RunEvent, RunRequest, missing_input, stale_phases, stops_before
from pipeline.engine.runner import run_pipeline
from pipeline.engine.seal import make_key, seal_task
from pipeline.engine.settings import Settings
from pipeline.engine.stamps import DONE
from pipeline.engine.store import TaskStore

_RESULTS = "results.json"
_WITH_PLAN = (0, 3, 5)
"""Exit codes of a run up to the plan that leave a plan."""


class Audience(Protocol):
    """Listener of a run that also answers its questions: a terminal, or the caller of the library."""

    echo: Echo | None
    """Receiver of each line of the log, or None."""

    def show(self, event: RunEvent) -> None:
        """Take one event of the runner, from whichever thread."""

    def tell(self, text: str, *, warning: bool = False) -> None:
        """Take what the user should know before the first phase runs."""

    def choose_reviewer(self, store: TaskStore, values: dict[str, Any]) -> Callable[[str, str], Decision]:
        """Return the reviewer of the plan."""

    def ask(self, values: Mapping[str, Any], question: str, options: Sequence[str]) -> str | None:
        """Answer a model's question; None without an answer."""


def check_options(options: dict[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """Return the settings in force, and the flags among them. Raises UsageError as check_settings does."""
    flags = flags_of(options)
    return check_settings(flags, [options.get("redo"), options.get("only")]), flags


def check_settings(flags: dict[str, Any], phases: Sequence[str | None] = ()) -> Settings:
    """Return the settings in force. Raises UsageError for an unknown phase or model before anything changes."""
    settings = with_absolute_paths(settings_from(flags))
    read_user_hooks()  # raises for hooks that no run could use
    named = [name for name in (settings.stop_at, settings.until, *phases) if name]
    if named:
        graph = discover_phases(settings.phases)
        for name in named:
            graph.find(name)
    if {settings.model, settings.plan_model, settings.code_model} - {"", Settings().model}:
        for phase in ("", "plan", "implement"):
            open_model(settings._asdict(), phase)
    if settings.code_model.startswith(OWN_AGENT):
        from phases.agent.agent_command import AgentCommand  # imported here: few runs have one

        # a server may be started later; a program that is not there would be found when the plan is paid for
        found = AgentCommand(settings.code_model, os.environ).check()
        if not found.reachable:
            raise UsageError(found.detail)
    if settings.reader:
        from phases.readers.kinds import why_no_reader  # imported here: TAB must import no phase

        if why := why_no_reader(settings.reader):
            raise UsageError(f"--reader {settings.reader}: {why}")
    if not re.fullmatch(r"off|[1-9][0-9]?", settings.mutants):
        raise UsageError(f"--mutants {settings.mutants}: give a number from 1 to 99, or off")
    if settings.judge == Settings().model:
        raise UsageError(
            "--judge offline: rules cannot judge code; name a model (`pipeline models` lists them), or same"
        )
    open_model(settings._asdict(), "judge")
    asked = [name for phase in ("plan", "judge") if (name := model_for(settings._asdict(), phase))]
    if settings.batch_prices == "yes" and not any(name.startswith("openai:") for name in asked):
        raise UsageError(
            f"--batch-prices: {' and '.join(asked)} cannot be asked at such a price; only OpenAI's models plan and judge at its "
            "flex tariff; name one with --plan-model or --judge, or leave --batch-prices out"
        )
    return settings


def run_task(store: TaskStore, settings: Settings, flags: dict[str, Any], options: dict[str, Any]) -> int:
    """Run what is stale in a task, show how it ended, and return the exit code."""
    gc.freeze()
    gc.enable()
    progress = Progress(store.root, options)
    try:
        report, passed = carry_out(store, settings, flags, options, progress)
    finally:
        progress.close()
    return show_summary(store, report, as_json=options["as_json"], passed=passed, again=_server_flags(flags))


def _server_flags(flags: Mapping[str, Any]) -> str:
    """Return the flags that say where the model is, as they were given: no task keeps them."""
    address = f" --base-url {quote(flags['base_url'])}" if flags.get("base_url") else ""
    return f"{address}{' --send-key' if flags.get('send_key') == 'yes' else ''}"


def carry_out(
    store: TaskStore, settings: Settings, flags: dict[str, Any], options: dict[str, Any], audience: Audience
) -> tuple[dict[str, Any], Phase | None]:
    """Run what is stale, and print nothing: the report; and the phase to stop before, where that had its result already."""
    catalog = Catalog(os.path.dirname(store.root))
    with store.writing() as left:
        task = store.load("task.json")
        make_key(config_directory())
        allowed = settings_in_force(store, settings, flags)
        if allowed.told:
            audience.tell(allowed.told)
        values = _with_more_money(allowed.values, options["add_usd"])
        refuse_outside(store, allowed)
        refuse_own_directories(values, store.path("code_base"))
        refuse_idle_attempts(values, flags, f"pipeline resume {command_name(store)} ")
        make_directory(store.path("logs"))
        with task_log(store.path("logs/system.jsonl"), echo=audience.echo):
            if left:
                audience.tell(left, warning=True)
                log_event(left, level="WARNING")
            if allowed.trusted and "judge_again" not in options:
                sealed = seal_task(with_settings_to_keep(task, values, flags), config_directory())
                if sealed != task:
                    store.write({"task.json": sealed})
            _copy_user_files(store, values)
            _reopen_what_changed(store, task, values, flags)
            if options.get("redo"):
                store.redo(store.graph.find(options["redo"]))
            elif why := options.get("judge_again") or _why_more_attempts(store, flags):
                store.reopen(store.graph.find("implement"), why)

            def record(status: str, reason: str) -> None:
                catalog.record(store.id, status, mode=values["mode"], source=task["source"], reason=reason)

            if options.get("given_code"):
                report, passed = _run_phases(store, {**values, "until": "plan"}, record, options, audience)
                if report["exit_code"] in _WITH_PLAN:
                    take_given_code(store, options["given_code"])
                    report, passed = _run_phases(store, values, record, options, audience)
            else:
                report, passed = _run_with_attempts(store, values, record, options, audience)
    return report, passed


def _run_with_attempts(
    store: TaskStore,
    values: dict[str, Any],
    record: Callable[[str, str], None],
    options: dict[str, Any],
    audience: Audience,
) -> tuple[dict[str, Any], Phase | None]:
    """Run what is stale; then, as often as the user allows, send what differs from the paper's tables back to the agent."""
    while True:
        again = _reopen_for_attempt(store)
        chosen = {name: value for name, value in options.items() if not (again and name == "only")}
        ended = _run_phases(store, values, record, chosen, audience)
        if "judge_again" in options or ended[0]["exit_code"] or not _begin_attempt(store, values, audience):
            return ended


def _reopen_for_attempt(store: TaskStore) -> bool:
    """Return whether an attempt at the paper's tables is open, after which the agent and the experiments run again."""
    if not os.path.isdir(store.path("attempts")):
        return False
    from phases.reproduction.attempts import open_attempt  # imported here: TAB must import no phase

    attempt = open_attempt(store.root)
    for name in ("implement", "reproduce") if attempt else ():
        phase = store.graph.find(name)
        if store.stamps[phase.number].status == DONE:
            store.reopen(phase, "the paper's tables differ, and the agent is to look at it")
    return attempt is not None


def _begin_attempt(store: TaskStore, values: dict[str, Any], audience: Audience) -> bool:
    """Record the next attempt at the paper's tables; return whether there is one."""
    phase = store.graph.writer(_RESULTS)
    if not values["reproduce_attempts"] or not phase or not phase.is_selected(values):
        return False
    wanted = {name: values[name] for name in phase.settings}
    is_done = phase.number in store.stamps and not store.stale_reason(phase, wanted)
    if not is_done or store.load("acceptance.json")["stop_reason"] != "accepted":
        return False
    from phases.llm.journal import read_journal  # imported here: TAB must import no phase
    from phases.reproduction.attempts import begin_attempt

    replies = (
        row["result"]["model"] for row in reversed(read_journal(store.path("journal.jsonl"))) if row["kind"] == "reply"
    )
    author, model = next(replies, ""), getattr(open_model(values, "implement"), "name", "")
    if author != model:
        audience.tell(f"no attempt at the tables: the code was not written by {model}, this task's model")
        return False
    most, plan = int(values["reproduce_attempts"]), store.digest("initial_plan.txt") or ""
    attempt, why = begin_attempt(store.root, store.path("generate_code"), store.load(_RESULTS), plan, most)
    if attempt:
        audience.tell(f"attempt {attempt.number}: the agent is told of {len(attempt.told)} figures that differ")
    elif why:
        audience.tell(f"the paper's tables: {why}")
    return attempt is not None


def _copy_user_files(store: TaskStore, values: Mapping[str, Any]) -> None:
    """Copy what is the user's own into the task, where the agent does not reach it."""
    if values["tests"]:
        copy_user_tests(values["tests"], store.path("user_tests"))
    if values["held_out"]:
        copy_given(values["held_out"], store.path("held_out"), keep_links=False)


def _reopen_what_changed(
    store: TaskStore, task: Mapping[str, Any], values: Mapping[str, Any], flags: Mapping[str, Any]
) -> None:
    """Open phases again for what their stamps do not hold."""
    if values["held_out"] or flags.get("data") or flags.get("gpu"):
        _reopen(store, lambda phase: bool(phase.asked), "experiments may see other data, or other devices")
    if flags.get("reproduce") and values["reproduce"] != OFF and (why := _why_experiments_again(store)):
        _reopen(store, lambda phase: phase.asked == "reproduce", why)
    if values["blacklist"] != task["settings"].get("blacklist", ""):
        _reopen(store, lambda phase: phase.name == "repositories", "the blacklist has other lines")


def _why_experiments_again(store: TaskStore) -> str:
    """Return why `pipeline reproduce` runs experiments again that have results: some gave none. Empty where all did."""
    if not store.exists(_RESULTS):
        return ""
    failed = [row["name"] for row in store.load(_RESULTS)["experiments"] if row["status"] != "done"]
    return f"without a result: {', '.join(failed)}" if failed else ""


def _reopen(store: TaskStore, is_meant: Callable[[Phase], bool], why: str) -> None:
    for phase in filter(is_meant, store.graph.phases):
        store.reopen(phase, why)


def _run_phases(
    store: TaskStore,
    values: dict[str, Any],
    record: Callable[[str, str], None],
    options: dict[str, Any],
    audience: Audience,
) -> tuple[dict[str, Any], Phase | None]:
    """Run the phases; return the report, and the phase to stop before if it had its result already."""
    find = store.graph.find
    run = RunRequest(
        settings=values,
        open_model=lambda phase: _open_model(values, phase, stands_in=_stands_in(phase, options)),
        review=audience.choose_reviewer(store, values),
        ask=partial(audience.ask, values),
        record=record,
        environment=user_environment(values),
        config_directory=config_directory(),
        cache_directory=cache_directory(),
        hooks=read_user_hooks(),
        spent=partial(_read_spending, store.path("logs/llm.jsonl")),
        watch=audience.show,
        stop_at=find(values["stop_at"]) if values["stop_at"] else None,
        until=find(values["until"]) if values["until"] else None,
    )
    if "only" in options:
        run = _request_for_one_phase(store, run, options["only"])
    if (judge := options.get("judge")) not in (None, "off", "auto"):
        phase = find("implement")
        if run.wants(phase) and phase not in [stale for stale, _ in stale_phases(store, run)]:
            again = f"pipeline verify {command_name(store)} --judge {judge}"
            audience.tell(f"{judge} is not asked: phase {phase.label} is up to date; to have its code judged: {again}")
    _refuse_unready_models(store, run)
    report = run_pipeline(store, run)
    border = stops_before(store, run)
    if border is None or report["status"] in ("error", "cancelled"):
        return report, None
    return report, None if border in [phase for phase, _ in stale_phases(store, run)] else border


def _refuse_unready_models(store: TaskStore, run: RunRequest) -> None:
    """Raise UsageError where a phase of this run asks a model that has no key or no package, before any phase runs."""
    uses = [use for use in ("plan", "implement", "judge") if is_served(model_for(run.settings, use))]
    if run.settings["dry_run"] == "yes" or not uses:
        return
    try:
        stale = stale_phases(store, run)
    except PipelineError:
        return  # a damaged document, say: the run itself reports it
    for phase, _ in stale:
        asked = {"plan": ("plan",), "implement": ("implement", "judge")}.get(phase.name, ()) if run.wants(phase) else ()
        for use in asked:
            model = run.open_model(use) if use in uses else None
            if why := getattr(model, "why_unready", str)():
                raise UsageError(
                    f"{why}; then: pipeline resume {command_name(store)} (without a model: --model offline)"
                )


def _stands_in(phase: str, options: dict[str, Any]) -> bool:
    """Return whether code is only judged, so that this phase's model is not asked: CI has no key. A named judge is."""
    return "judge_again" in options and (phase == "implement" or (phase == "judge" and not options.get("judge")))


def _open_model(values: dict[str, Any], phase: str, *, stands_in: bool) -> object:
    """Open the model of a phase, or its stand-in that replays earlier replies."""
    model = open_model(values, phase)
    if not stands_in:
        return model
    from phases.agent.offline_model import GivenCode  # imported here: TAB must import no phase
    from phases.llm.model import as_model

    served = as_model(model)
    return model if served is None else GivenCode(served.name)


def _why_more_attempts(store: TaskStore, flags: dict[str, Any]) -> str:
    """Return why finished work continues with more attempts; empty if it does not."""
    wanted = flags.get("max_acceptance_continues")
    if wanted is None or not store.exists("acceptance.json"):
        return ""
    before = store.load("acceptance.json")
    out_of_attempts = before["stop_reason"] == "accept_continue_exhausted"
    more = out_of_attempts and int(wanted) > before["max_continues"]
    return f"{wanted} attempts are allowed now, and there were {before['max_continues']}" if more else ""


def _with_more_money(values: dict[str, Any], more: float | None) -> dict[str, Any]:
    if more is None:
        return values
    if not values["max_usd"]:
        raise UsageError("--add-usd raises the limit max_usd, and this task has none; set one with --max-usd")
    return {**values, "max_usd": round(values["max_usd"] + more, 6)}


def _read_spending(ledger: str) -> dict[str, Any]:
    """Return the cost of models so far; empty if none was asked, or the record is damaged (its reader reports that)."""
    if not os.path.exists(ledger) and not os.path.exists(os.path.join(os.path.dirname(ledger), "open_calls")):
        return {}
    from phases.llm.ledger_rows import rows_by_now, sum_rows  # imported here: TAB must import no phase

    try:
        total = sum_rows(rows_by_now(ledger))
    except PipelineError:
        return {}
    del total["seconds"]
    return {**total, "usd": round(total["usd"], 6)}


def _request_for_one_phase(store: TaskStore, run: RunRequest, wanted: str) -> RunRequest:
    """Return the run of one phase: the named one, or the first that is not up to date."""
    stale = [phase for phase, _ in stale_phases(store, run)]
    run = run._replace(only=store.graph.find(wanted) if wanted else (stale or store.graph.phases)[0])
    if run.only and not run.only.is_selected(run.settings):
        raise UsageError(
            f"phase {run.only.label} runs where it is asked for: pipeline step {command_name(store)} {run.only.number} "
            f"--{run.only.asked}"
        )
    if missing := missing_input(store, run):
        before, reason = missing
        label = run.only.label if run.only else ""
        raise UsageError(
            f"phase {label} needs phase {before.label} first ({reason}): "
            f"pipeline step {command_name(store)} {before.number}"
        )
    return run
