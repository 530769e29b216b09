"""Join the engine with the phases: settings, discovery, contracts, the model, and a command's task."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pipeline.base.errors import ContractError, UsageError
from pipeline.engine.catalog import Catalog
from pipeline.engine.contract import Contracts
from pipeline.engine.graph import GIVEN, Graph
from pipeline.engine.phase import Phase
from pipeline.engine.settings import PREFIX, STORED, Settings, load_settings, nearest_word, read_prices, user_hooks
from pipeline.engine.store import TaskStore

GIVEN_CODE = "given"
"""Name of the model for code that was given (`pipeline verify --code`)."""
OWN_AGENT = "agent:"
"""Prefix of a model's name that is a command of the user's."""
_MODULE = "phase"
JUDGE_AUTO = "auto"
_REPLAY = "replay:"
_OF_MACHINE = ("data", "gpu")
_UNFINISHED = ("running", "paused", "error", "cancelled")


def settings_from(flags: dict[str, Any]) -> Settings:
    """Return the settings in force for a command with these flags (None: not given)."""
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError("the current directory no longer exists; change to another one first") from error
    settings = load_settings(settings_file(), os.environ, flags)
    return settings._replace(
        model=_with_absolute_recording(settings.model),
        plan_model=_with_absolute_recording(settings.plan_model),
        code_model=_with_absolute_recording(settings.code_model),
        judge=_with_absolute_recording(settings.judge),
    )


def user_environment(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the user's environment with the proxy of the settings in it."""
    return {**os.environ, **({PREFIX + "PROXY": str(values["proxy"])} if values.get("proxy") else {})}


def config_directory() -> str:
    """Return the directory of the user's settings, where no task can write."""
    return _user_directory("XDG_CONFIG_HOME", ".config")


def cache_directory() -> str:
    """Return the user's cache directory, where no task can write."""
    # not in the task: SQLite is not made for files that an enemy wrote (decision 147)
    return _user_directory("XDG_CACHE_HOME", ".cache")


def _user_directory(variable: str, usual: str) -> str:
    given = os.environ.get(variable, "")  # its standard ignores a relative one
    return os.path.join(given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), usual), "pipeline")


def settings_file() -> str:
    """Return the path of the user's settings, which may be missing."""
    return os.path.join(config_directory(), "config.yaml")


def read_user_hooks() -> dict[str, Any]:
    """Read the user's own hooks, `{"hooks": …}`; empty if there are none. Raises UsageError for an invalid file."""
    where = settings_file()
    runtime = user_hooks(where)
    if not runtime:
        return {}
    # late: only a user with hooks of their own needs it
    from phases.acceptance.hook_registry import why_invalid

    contracts = Contracts()
    if wrong := contracts.breach(contracts.schema("hooks.yaml"), runtime):
        raise UsageError(f"{where}, {wrong.replace('at $', 'at $.runtime', 1)}")
    if wrong := why_invalid(runtime, where):
        raise UsageError(wrong)
    return runtime


def discover_phases(folder: str) -> Graph:
    """Return the phases of a folder, or the built-in ones: every module phaseNN_<name>.py, each with a PHASE."""
    if not folder:
        import phases  # imported here: a user's own phases need none of ours

        return Graph(_phase_in(f"phases.{name}") for name in _module_names(os.path.dirname(phases.__file__)))
    if not os.path.isdir(folder):
        raise UsageError(f"the setting 'phases' names {folder}, and there is no such directory")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return Graph(_phase_in(name) for name in _module_names(folder))


def open_task(settings: Settings, task: str | None) -> TaskStore:
    """Open the task of that id, path, or path inside it; without one, the newest. Raises UsageError."""
    return open_task_directory(settings, task_directory(settings, task) if task else newest_task(settings))


def open_task_directory(settings: Settings, root: str) -> TaskStore:
    """Open a task directory with the phases and schemas in force."""
    own = os.path.join(settings.phases, "schemas")
    contracts = Contracts((own,) if settings.phases and os.path.isdir(own) else ())
    return TaskStore(root, discover_phases(settings.phases), contracts)


def task_directory(settings: Settings, task: str) -> str:
    """Return the directory of a task by its id or a path to it or into it. Raises UsageError if there is none."""
    named = os.path.join(settings.tasks_dir, task)
    found = named if os.sep not in task and is_task(named) else enclosing_task(task)
    if not found and os.sep not in task and task in Catalog(settings.tasks_dir).read().entries:
        where = relative_path(os.path.join(settings.tasks_dir, task))
        remove = f"pipeline rm {quote_word(task)}{tasks_dir_flag(settings.tasks_dir)}"
        raise UsageError(f"task '{task}' is gone: {where} is missing; remove it from the list: {remove}")
    if not found:
        raise UsageError(describe_unknown_task(settings.tasks_dir, task))
    return found


def describe_unknown_task(folder: str, task: str) -> str:
    """Describe a missing task, with one of a similar name, or the command that lists the tasks."""
    names = [name for name in Catalog(folder).read().entries if is_task(os.path.join(folder, name))]
    near = nearest_word(task, names)
    advice = f"did you mean '{near}'?" if near else f"to see the tasks: pipeline list{tasks_dir_flag(folder)}"
    return f"there is no task '{task}' in {relative_path(folder)}; {advice}"


def command_name(store: TaskStore) -> str:
    """Return a task as the user types it: its id in the usual folder, else its path, ready to paste."""
    return name_in_commands(store.root)


def name_in_commands(root: str) -> str:
    """Return a task directory as the user types it."""
    name = os.path.basename(root) if _is_usual_folder(os.path.dirname(root)) else relative_path(root)
    return quote_word(name)


def tasks_dir_flag(folder: str) -> str:
    """Return the flag, after a blank, that selects this folder in a command; empty for the usual one."""
    return "" if _is_usual_folder(folder) else f" --tasks-dir {quote_word(relative_path(folder))}"


def locate_task(text: str, root: str) -> str:
    """Replace the task's id in every command by what this user types: phases know the id alone."""
    if "pipeline " not in text:
        return text
    name, task = name_in_commands(root), quote_word(os.path.basename(root))
    command = rf"(?<![\w./-])(pipeline (?:hooks )?[a-z]+ ){re.escape(task)}(?![\w./-])"
    return re.sub(command, lambda found: found[1] + name, text)


def quote_word(word: str) -> str:
    if word.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum() and word.isascii():
        return word

    from shlex import quote

    return quote(word)


def _is_usual_folder(folder: str) -> bool:
    return os.path.abspath(folder) == os.path.abspath(settings_from({}).tasks_dir)


def relative_path(path: str) -> str:
    """Return a path as seen from here if that is shorter."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def newest_task(settings: Settings, *, unfinished: bool = False) -> str:
    """Return the directory of the task that changed last. Raises UsageError, or CatalogError for a damaged list."""
    listing = Catalog(settings.tasks_dir).read()
    listing.must_be_whole(tasks_dir_flag(settings.tasks_dir))
    roots = {entry.id: os.path.join(settings.tasks_dir, entry.id) for entry in listing.entries.values()}
    # a link leads to a task elsewhere, which only the user names
    names = [name for name, root in roots.items() if is_task(root) and not os.path.islink(root)]
    if unfinished:
        open_ones = [name for name in names if listing.entries[name].status in _UNFINISHED]
        names = open_ones or [name for name in names if listing.entries[name].status == "incomplete"]
    if not names:
        raise UsageError(
            f"there is no {'unfinished ' if unfinished else ''}task in {settings.tasks_dir}; "
            f"start one with: pipeline run --fast paper.pdf{tasks_dir_flag(settings.tasks_dir)}"
        )
    return os.path.join(settings.tasks_dir, names[-1])


def enclosing_task(path: str) -> str | None:
    """Return the task directory that contains a path, or None. A missing path is in none."""
    folder = os.path.abspath(path)
    while os.path.lexists(path) and folder != os.path.dirname(folder):
        if is_task(folder):
            return folder
        folder = os.path.dirname(folder)
    return None


def is_task(folder: str) -> bool:
    """Return whether a folder is a task: it has the two documents of every task."""
    return all(os.path.lexists(os.path.join(folder, name)) for name in GIVEN)


def mode_of(fast: bool | None) -> str | None:
    """Return the mode of --fast or --full, or None without either."""
    return {True: "fast", False: "full", None: None}[fast]


def effective_settings(settings: Settings, task: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run: those in force, except that a task keeps its own unless a flag differs."""
    values = settings._asdict()
    # a plain resume must not walk around a gate that the task was begun with (decision 25)
    unsaid = _list_unsaid(task, flags)
    values.update(
        {name: task["settings"][name] for name in task["settings"].keys() - unsaid if flags.get(name) is None}
    )
    return {**values, "source": task["source"]}


def _list_unsaid(task: Mapping[str, Any], flags: Mapping[str, Any]) -> set[str]:
    """List the machine's settings that neither a task nor a flag names, so that the user's own decide (decision 332)."""
    # a default that a flag named is said; tasks of earlier releases do not tell the two apart (decision 339)
    is_default = {name for name in _OF_MACHINE if task["settings"].get(name) == Settings._field_defaults[name]}
    return is_default - set(_list_said(task, flags))


def _list_said(task: Mapping[str, Any], flags: Mapping[str, Any]) -> list[str]:
    return [name for name in _OF_MACHINE if name in task.get("said", ()) or flags.get(name) is not None]


def settings_to_store(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that task.json keeps."""
    return {name: values[name] for name in STORED}


def with_settings_to_keep(
    task: Mapping[str, Any], values: Mapping[str, Any], flags: Mapping[str, Any]
) -> dict[str, Any]:
    """Return task.json with these settings, unsealed. Settings that neither it nor a flag names stay so."""
    unsaid = {name: task["settings"][name] for name in _list_unsaid(task, flags)}
    said = _list_said(task, flags)
    return {**task, "settings": {**settings_to_store(values), **unsaid}, **({"said": said} if said else {})}


def open_model(values: dict[str, Any], phase: str = "") -> object:
    """Open the model that the settings name for a phase."""
    name = model_for(values, phase)
    if not name:
        return None
    if name == "offline":
        # it reads the agent's prompt, so it is the agent's and no adapter of llm (decision 142)
        from phases.agent.offline_model import OfflineModel

        return OfflineModel()
    if name == GIVEN_CODE:
        from phases.agent.offline_model import GivenCode  # imported here: as above

        return GivenCode()
    if name.startswith(OWN_AGENT):
        from phases.agent.agent_command import AgentCommand  # imported here: as above

        if phase not in ("", "implement"):
            raise UsageError(f"{name}: an agent of your own writes code, and does nothing else; name it with --agent")
        return AgentCommand(name, os.environ, forbidden=str(values["blacklist"]))
    from phases.llm.factory import open_model as open_named  # imported here: few runs ask a server
    from phases.llm.providers import Access, gateways_in, keys_in, with_settings

    access = Access(
        base_url=_address_for(values, name),
        key=str(values["api_key"]),
        environment=with_settings(user_environment(values), values),
        context_tokens=int(values["context_tokens"]),
        prices=read_prices(config_directory()),
        send_key=values["send_key"] == "yes",
        unsent=keys_in(values),
        gateways=gateways_in(values),
        most_output=int(values["max_output_tokens"]),
        effort=effort_for(values, phase),
        openai_api=str(values["openai_api"]),
        flex=values["batch_prices"] == "yes" and phase in ("plan", "references", "judge"),
    )
    return open_named(name, access)


def model_for(values: Mapping[str, Any], phase: str) -> str:
    """Return the name of a phase's model."""
    if phase == "judge" and values["judge"] not in (JUDGE_AUTO, "same"):
        return "" if values["judge"] == "off" else str(values["judge"])
    own = {"plan": "plan_model", "references": "plan_model", "implement": "code_model", "judge": "code_model"}.get(
        phase
    )
    name = str((values[own] if own else "") or values["model"])
    # By itself only a served model reviews: a recording lacks replies to these questions.
    return "" if phase == "judge" and values["judge"] == JUDGE_AUTO and not is_served(name) else name


def effort_for(values: dict[str, Any], phase: str) -> str:
    """Return the thinking effort of a phase's model; empty for its vendor's default."""
    own = {"plan": "plan_effort", "references": "plan_effort", "implement": "code_effort", "judge": "code_effort"}.get(
        phase
    )
    return str((values[own] if own else "") or values["effort"])


def is_served(name: str) -> bool:
    """Return whether a model is behind a server, and so may cost money."""
    return name not in ("", "offline", GIVEN_CODE) and not name.startswith((_REPLAY, OWN_AGENT))


def _address_for(values: Mapping[str, Any], name: str) -> str:
    """Return base_url where it is for this model: for a server of the user's own, or for a vendor where there is no such server.

    Raises UsageError where it would be for two providers.
    """
    if not values["base_url"] or not is_served(name):
        return ""
    from phases.llm.providers import provider_of  # imported here: as above

    names = [
        name for name in (model_for(values, phase) for phase in ("", "plan", "implement", "judge")) if is_served(name)
    ]
    used = {provider.name: provider for provider in map(provider_of, names)}
    takers = {name for name, provider in used.items() if not provider.key_variable} or set(used)
    if len(takers) > 1:
        raise UsageError(
            f"base_url is one address, and the models are from {' and '.join(sorted(takers))}; name models of one provider, or "
            "leave base_url out (--base-url '')"
        )
    return str(values["base_url"]) if provider_of(name).name in takers else ""


def _with_absolute_recording(name: str) -> str:
    """Return a model's name with the full path of a recording, valid in every folder."""
    path = name.removeprefix(_REPLAY)
    return _REPLAY + os.path.abspath(path) if name.startswith(_REPLAY) and path else name


def _module_names(folder: str) -> list[str]:
    names = [entry[:-3] for entry in os.listdir(folder) if entry.startswith(_MODULE) and entry.endswith(".py")]
    return sorted(name for name in names if name[len(_MODULE)].isdigit())


def _phase_in(module: str) -> Phase:
    phase = getattr(import_module(module), "PHASE", None)
    if not isinstance(phase, Phase) or not module.rpartition(".")[2].startswith(f"{_MODULE}{phase.number}_"):
        raise ContractError(f"the module {module} must hold a PHASE whose number is in the module's name")
    return phase
