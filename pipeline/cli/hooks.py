"""`pipeline hooks`: list, add, trust, try and import the hooks that check the agent's work."""

from __future__ import annotations

import os
from typing import Any

import click

from phases.acceptance.administration.discovery import HookListing, ListedHook, find_hook, list_hooks
from phases.acceptance.administration.trust import REPO_FILE, build_offer, offer_json, offer_lines, write_offer
from phases.acceptance.hook_registry import STORE, HookSetting
from pipeline.base.errors import UsageError
from pipeline.base.logs import utc_timestamp
from pipeline.base.text_escaping import one_line
from pipeline.cli.arguments import answers, complete_files, task_argument, task_or_newest, tasks_dir_option
from pipeline.cli.assembly import (
    cache_directory,
    command_name,
    config_directory,
    newest_task,
    open_task,
    open_task_directory,
    read_user_hooks,
    relative_path,
    settings_file,
    settings_from,
)
from pipeline.cli.output import (
    Answer,
    confirm,
    notify,
    print_advice,
    print_json,
    print_table,
    print_text,
    print_warning,
    to_printable,
)
from pipeline.cli.review import user_name
from pipeline.cli.trust import settings_in_force
from pipeline.engine.contract import Contracts, explain_breaches
from pipeline.engine.settings import did_you_mean, user_hooks
from pipeline.engine.store import TaskStore

_KINDS = click.Choice(["claude", "codex", "gemini"])
_SCOPES = click.Choice(["user", "repo"])
_LONGEST_COMMAND = 120


class _Group(click.Group):
    """Group that suggests the intended command after a typo."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            ctx.fail(f"there is no command 'hooks {args[0]}'{did_you_mean(args[0], list(self.commands))}")
        return super().resolve_command(ctx, args)


@click.group("hooks", cls=_Group, invoke_without_command=True)
@click.pass_context
def hooks_command(context: click.Context) -> None:
    """List, add, trust, try and import the hooks that check the agent's work before it counts as done.

    \b
    pipeline hooks list                          yours, and those of the newest task
    pipeline hooks add tests 'pytest -q'         one of your own
    pipeline hooks trust paper --show            what you would trust
    pipeline hooks test paper user:tests         run one now
    pipeline hooks import --from claude .claude/settings.json
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@hooks_command.command("list", short_help="List your hooks, and those of a workspace.")
@task_or_newest
@tasks_dir_option
@answers
def list_command(task: str | None, tasks_dir: str | None) -> Answer:
    """List your hooks and those in the workspace of a task (the newest without ID). Exits with 1 when some are invalid.

    \b
    pipeline hooks list paper
    """
    store = _task_if_any(task, tasks_dir)
    workspace = store.path("generate_code") if store else ""
    found = _list_hooks(store.contracts if store else Contracts(), workspace)
    rows = [{name: value for name, value in row._asdict().items() if name != "hook"} for row in found.rows]
    there = {"task": store.id, "workspace": os.path.realpath(workspace)} if store else {}
    return Answer(
        {**there, "hooks": rows, "problems": found.problems, "notes": found.notes},
        lambda: _show_hooks(found, store),
        1 if found.problems else 0,
        [f"invalid: {problem}" for problem in found.problems],
    )


@hooks_command.command("add", short_help="Add a hook of your own.")
@click.argument("name", metavar="NAME")
@click.argument("command", metavar="COMMAND")
@click.option("--point", default="", metavar="POINT", help="When it runs (default: accept_gate).")
@click.option("--matcher", default="", metavar="REGEX", help="Only for tools of that name, like 'Write|Edit'.")
@answers
def add_command(name: str, command: str, point: str, matcher: str) -> Answer:
    """Add a hook to your settings file, for all runs to come. COMMAND is one word to the shell: quote it.

    \b
    pipeline hooks add tests 'pytest -q'
    pipeline hooks add tidy 'ruff format .' --point after_tool_result --matcher 'Write|Edit'
    """
    from phases.acceptance.administration.add_hook import (  # imported here: only this command needs it
        add_hook,
        new_item,
    )

    item = new_item(name, command, point, matcher)
    add_hook(item, read_user_hooks(), settings_file())
    found = _list_hooks(Contracts(), "")
    problems = [note for note in found.notes if note.startswith(f"hook user:{name} ")]
    told = f"{settings_file()} has the hook user:{name} now; try it on a task with: pipeline hooks test ID user:{name}"
    return Answer({"file": settings_file(), "item": item}, lambda: print_text(told), 0, problems)


@hooks_command.command("trust", short_help="Trust the hooks of a workspace.")
@task_or_newest
@click.option("--show", is_flag=True, help="Only show what would be trusted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@tasks_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def trust_command(task: str | None, show: bool, yes: bool, tasks_dir: str | None, as_json: bool) -> int:
    """Trust the hooks in the workspace of a task (the newest without ID), as they are now. Until then they do not run.

    Scripts in the workspace that your own hooks name are trusted along with them.

    \b
    pipeline hooks trust paper --show
    pipeline hooks trust paper
    """
    store = open_task(settings_from({"tasks_dir": tasks_dir}), task)
    workspace = _workspace_of(store)
    setting = _hook_setting(store.contracts, read_user_hooks())
    offer = build_offer(setting, workspace, utc_timestamp(), user_name())
    wanted = not show and not offer.nothing_new
    if not as_json:
        place = relative_path(workspace)
        head = f"{place}/{REPO_FILE}:" if offer.has_file else f"{place} has no {REPO_FILE}:"
        print_text("\n".join([head, *offer_lines(offer, setting.settings_file)]))
    if offer.fault:
        print_warning(f"nothing can be trusted now: {offer.fault}")
    how = f"look with: pipeline hooks trust {command_name(store)} --show, then type --yes"
    written = wanted and (yes or confirm("Trust all of that?", how, asks_nobody=as_json))
    if written:
        write_offer(setting, workspace, offer)
    if as_json:
        print_json(
            {"task": store.id, "workspace": os.path.realpath(workspace), **offer_json(offer), "written": written}
        )
    elif offer.nothing_new:
        notify("all of that is trusted already")
    elif not show:
        notify("trusted, as it is now" if written else "nothing is trusted")
    return 0 if show or written or offer.nothing_new else 1


@hooks_command.command("test", short_help="Run one hook now.")
@task_argument
@click.argument("hook", metavar="HOOK")
@tasks_dir_option
@answers
def test_command(task: str, hook: str, tasks_dir: str | None) -> Answer:
    """Run one hook now on the workspace of a task, as a run would. Exits with 0 when it passes, else with 1.

    What the hook changes stays changed; what a check without allow_writes only adds is taken back, as in a run.

    \b
    pipeline hooks test paper tests
    pipeline hooks test paper internal:code
    """
    # imported here: to run a hook needs most of acceptance and the agent, 0.2 s that the other commands do not need
    from phases.acceptance.administration.hook_trial import TrialTask, describe_result, run_hook
    from phases.agent.session import order_files
    from phases.workspace.packages import package_store

    settings = settings_from({"tasks_dir": tasks_dir})
    store = open_task(settings, task)
    workspace = _workspace_of(store)
    with store.writing() as left:
        if left:
            print_warning(left)
        setting = _hook_setting(store.contracts, read_user_hooks())
        chosen = find_hook(_list_hooks(store.contracts, workspace), hook, command_name(store))
        notify(f"runs {chosen.key} …")
        values = settings_in_force(store, settings, {}).values
        plan = store.load("initial_plan.txt") if store.exists("initial_plan.txt") else None
        planned = order_files(plan) if plan else ()
        environments = package_store(cache_directory())
        outcome = run_hook(TrialTask(store.root, store.id, values, plan, planned, setting, environments), chosen)
    lines = describe_result(chosen, {**outcome, "log": relative_path(outcome["log"]) if outcome["log"] else ""})
    return Answer(
        {"task": store.id, "hook": chosen.key, **outcome},
        lambda: print_text("\n".join(lines)),
        0 if outcome["status"] == "pass" else 1,
    )


@hooks_command.command("import", short_help="Translate the hooks of another tool.")
@click.argument("file", metavar="FILE", shell_complete=complete_files)
@click.option("--from", "kind", type=_KINDS, required=True, help="The tool that the file is for.")
@click.option(
    "--scope",
    type=_SCOPES,
    default="user",
    help="Where you will paste it: your settings (the default), or a repository.",
)
@answers
def import_command(file: str, kind: str, scope: str) -> Answer:
    """Translate the hooks of another tool. Prints YAML to paste; what cannot be translated is listed. Writes nothing.

    \b
    pipeline hooks import --from claude .claude/settings.json
    pipeline hooks import --from gemini ~/.gemini/settings.json --scope repo > .pipeline/hooks.yaml
    """
    from phases.acceptance.administration.import_hooks import import_file  # imported here: only this command needs it

    found = import_file(kind, file, to_printable)
    for line in found.untranslated:
        notify(f"not translated: {' '.join(line.splitlines())}")
    value = {"items": found.items, "untranslated": found.untranslated}
    if not found.items:
        return Answer(value, lambda: None, 1, [f"nothing of {file} could be translated"])

    def show() -> None:
        place = REPO_FILE if scope == "repo" else settings_file()
        print_text(found.to_yaml(scope).rstrip("\n"))
        notify(f"{len(found.items)} hooks, for {place}; look at them there with: pipeline hooks list")

    return Answer(value, show)


def _task_if_any(task: str | None, tasks_dir: str | None) -> TaskStore | None:
    """Return the named task, else the newest, or None."""
    settings = settings_from({"tasks_dir": tasks_dir})
    if task:
        return open_task(settings, task)
    try:
        root = newest_task(settings)
    except UsageError:
        return None
    return open_task_directory(settings, root)


def _hook_setting(contracts: Contracts, own: dict[str, Any]) -> HookSetting:
    """Return the user's hooks for acceptance; `own` are those of the settings file."""
    return HookSetting(
        own,
        config_directory(),
        lambda data: dict(contracts.parse("hooks.yaml", data, writer="you")),
        lambda value: contracts.breach(contracts.schema(STORE), value),
        os.environ,
    )


def _list_hooks(contracts: Contracts, workspace: str) -> HookListing:
    """List all hooks. An invalid settings file is listed as a problem."""

    def explain(value: Any) -> list[tuple[str, str]]:
        schema = contracts.schema("hooks.yaml")
        found = [] if contracts.breach(schema, value) is None else explain_breaches(schema, value)
        return [(each.json_path, each.message) for each in found]

    try:
        own, fault = user_hooks(settings_file()), ""
    except UsageError as error:
        own, fault = {}, str(error)
    return list_hooks(_hook_setting(contracts, own), workspace, explain, fault)


def _table_row(row: ListedHook) -> tuple[str, ...]:
    limit = "-" if row.seconds is None else f"{row.seconds:g} s"
    cells = (row.point, row.key, row.state, row.kind, limit, row.policy or "-", row.command[:_LONGEST_COMMAND])
    return tuple(one_line(cell.strip().replace("\n", " ⏎ ")) for cell in cells)


def _show_hooks(found: HookListing, store: TaskStore | None) -> None:
    header = ("POINT", "HOOK", "STATE", "KIND", "LIMIT", "POLICY", "RUNS")
    print_table([_table_row(row) for row in found.rows], header=header)
    for note in found.notes:
        print_text(note)
    if store and found.repo.state in ("untrusted", "modified"):
        name = command_name(store)
        print_advice(f"look at them with: pipeline hooks trust {name} --show, then: pipeline hooks trust {name}")


def _workspace_of(store: TaskStore) -> str:
    workspace = store.path("generate_code")
    if not os.path.isdir(workspace):
        raise UsageError(
            f"task {store.id} has no workspace yet: phase 09 makes it; go on with: pipeline resume {command_name(store)}"
        )
    return workspace
