"""Settings: defaults < the user's file < environment < flags. An unknown setting is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.base.errors import FormatError, UsageError
from pipeline.base.files import read_bytes, why_others_may_write

PREFIX = "PIPELINE_"
_LIMITS_OF_A_TASK = ("max_usd", "max_tokens", "max_turns", "max_minutes")
_EFFORTS = ("effort", "plan_effort", "code_effort")
_WATCH = ("supervisor", "supervisor_shadow")
_COMMANDS = ("command_seconds", "command_memory_gb", "job_seconds", "gpu", "data", "allow_data", "python", "programs")
_CHECKS = ("max_acceptance_continues", "mutants", "judge", "evidence", "require")
_REPRODUCTION = ("reproduce", "tolerance", "reproduce_attempts")
_READING = ("ocr", "reader", "notes")
_PACKAGES = ("install", "packages_of")
_REFERENCES = ("references", "mirror", "lookup", "allow_own_code")
# decision 42: a higher limit goes on with the same plan and the same journal.
LIMITS = (
    *(*_LIMITS_OF_A_TASK, "batch_usd", "experiment_minutes", "dry_run"),
    *(*_WATCH, *_CHECKS, *_COMMANDS),
    # what the review of a plan looks up depends on them, and no review is stale because of them
    *("sandbox", *_PACKAGES),
    # what was fetched before is looked at by phase 07 again where another list is given
    *("blacklist", "private_addresses", "max_data_mb"),
)
"""The settings that say how far a run may go, and how closely it is watched. Another limit makes nothing stale."""
PERMISSIONS = ("trust_hooks", "dry_run", "anyway", "send_key")
"""Settings that only a flag may give, for one run: a file or variable would permit them for every later workspace."""
# decision 25: with `review` among them, so that a plain resume does not walk around a gate that waits.
STORED = (
    *("mode", "model", "plan_model", "code_model", "review", "sandbox", "max_output_tokens"),
    *_PACKAGES,
    *_EFFORTS,
    *_LIMITS_OF_A_TASK,
    *_WATCH,
    *_CHECKS,
    *_COMMANDS,
    *_REFERENCES,
    *_REPRODUCTION,
    *_READING,
    "blacklist",
)
"""The settings that decide what a run makes. They are kept in task.json, and a resume takes them from there."""
_VENDOR_KEYS = ("openai", "openrouter", "anthropic", "gemini", "deepseek", "mistral", "groq")
SECRET = ("password", "api_key", *(f"{vendor}_api_key" for vendor in _VENDOR_KEYS))
"""The settings that are written down nowhere."""
_CHOICES = {
    "mode": ("fast", "full"),
    "review": ("", "auto", "ask", "file"),
    "sandbox": ("required", "bubblewrap", "landlock", "podman", "docker", "apptainer", "off"),
    "install": ("ask", "allowed", "refused"),
    "reproduce": ("off", "quick", "full"),
    "reader": ("", "docling"),
    "packages_of": ("today", "paper"),
    "require": ("", "located", "run", "guarded"),
    "supervisor": ("", "off", "adaptive", "strict"),
    "openai_api": ("", "chat", "responses"),
    **dict.fromkeys(_EFFORTS, ("", "none", "low", "medium", "high")),
}
_SWITCHES = {
    "allow_data": ("no", "yes"),
    "allow_own_code": ("no", "yes"),
    "anyway": ("no", "yes"),
    "evidence": ("off", "on"),
    "ocr": ("", "yes"),
    "private_addresses": ("refused", "allowed"),
    "supervisor_shadow": ("false", "true"),
    "trust_hooks": ("no", "yes"),
    "dry_run": ("no", "yes"),
    "send_key": ("no", "yes"),
    "batch_prices": ("no", "yes"),
}
"""Settings that are true or false, and how task.json and the stamps spell false and true for each: tasks of earlier versions
hold these words, and another spelling would make their phases stale."""
_FALSE, _TRUE = ("false", "no", "0", "refused"), ("true", "yes", "1", "allowed")
_MOST = {
    "max_acceptance_continues": 20,
    "command_seconds": 86_400,
    "command_memory_gb": 100_000,
    "job_seconds": 864_000,
}
HOOKS = "runtime"
"""Key of the user's file for `runtime: hooks:`, the user's own hooks. No variable and no flag sets it."""


class Settings(NamedTuple):
    """Every setting, with its default."""

    tasks_dir: str = "tasks"
    """Parent directory of the tasks."""
    mode: str = "full"
    """fast writes placeholders for the optional phases 06-08; full runs them."""
    model: str = "offline"
    """offline (rules, no network, no key), replay:PATH (recorded replies), or PROVIDER:NAME (`pipeline models` lists both)."""
    plan_model: str = ""
    """The model that plans. Empty: the same as model."""
    code_model: str = ""
    """The model that writes the code. Empty: the same as model."""
    # decision 41: no task may decide where a key is sent.
    base_url: str = ""
    """The address to ask models at. No task remembers it: an untrusted task directory must not send a key anywhere."""
    api_key: str = ""
    """The key for the server at base_url, where it wants one. No vendor gets it. It is kept in no file of a task."""
    openai_api_key: str = ""
    """The key for openai, where the variable OPENAI_API_KEY is not set. It is kept in no file of a task."""
    openrouter_api_key: str = ""
    """The same for openrouter and OPENROUTER_API_KEY."""
    anthropic_api_key: str = ""
    """The same for anthropic and ANTHROPIC_API_KEY."""
    gemini_api_key: str = ""
    """The same for google and GEMINI_API_KEY."""
    deepseek_api_key: str = ""
    """The same for deepseek and DEEPSEEK_API_KEY."""
    mistral_api_key: str = ""
    """The same for mistral and MISTRAL_API_KEY."""
    groq_api_key: str = ""
    """The same for groq and GROQ_API_KEY."""
    openai_base_url: str = ""
    """A gateway that is asked instead of OpenAI, and gets OpenAI's key. Like base_url, no task remembers it."""
    openrouter_base_url: str = ""
    """The same for openrouter."""
    anthropic_base_url: str = ""
    """The same for anthropic."""
    google_base_url: str = ""
    """The same for google."""
    deepseek_base_url: str = ""
    """The same for deepseek."""
    mistral_base_url: str = ""
    """The same for mistral."""
    groq_base_url: str = ""
    """The same for groq."""
    context_tokens: int = 0
    """Context window of the model in tokens; 0: as far as it is known."""
    max_output_tokens: int = 0
    """Longest reply in tokens, thinking included; 0: by the model, and longer after a reply cut off while thinking."""
    effort: str = ""
    """Effort of thinking before an answer: none, low, medium or high. Empty: the vendor's default."""
    batch_prices: str = "no"
    """true: planning and judging wait longer for half the price, where OpenAI has such a tariff (flex). Kept in no task."""
    plan_effort: str = ""
    """The same for planning. Empty: the same as effort."""
    code_effort: str = ""
    """The same for the code. Empty: the same as effort."""
    openai_api: str = ""
    """Protocol for servers of OpenAI's kind: chat or responses. Empty: by the model, and chat for other servers."""
    max_usd: float = 0.0
    """No call is made once this much money is spent on a task; 0 means no limit."""
    max_tokens: int = 0
    """The same in tokens, read and written together."""
    max_turns: int = 400
    """The same in turns of the agent."""
    max_minutes: int = 0
    """The same in minutes that models and tools were at work."""
    review: str = ""
    """Reviewer of the plan: auto, ask (in the terminal) or file (`pipeline review`). Empty: ask where it makes sense."""
    stop_at: str = ""
    """Stop before this phase (number or name). Its environment variable is STOP_AT_PHASE."""
    until: str = ""
    """Stop after this phase (number or name)."""
    phases: str = ""
    """A folder of phase modules, with a folder `schemas` in it, to run instead of the built-in ones."""
    max_source_mb: int = 200
    """A larger source is refused."""
    password: str = ""
    """Opens an encrypted PDF. It is kept in no file."""
    ocr: str = ""
    """true: ocrmypdf recognizes the letters of a scan, and the copy that it makes is read."""
    reader: str = ""
    """docling: it reads PDFs, where it and its models are installed. Empty: the built-in reader."""
    notes: str = ""
    """Texts (Markdown or plain) that belong to the paper, with colons between them: its addendum, notes on its data. They are
    read behind it, and copied into the task."""
    blacklist: str = ""
    """Addresses, hosts and repositories (owner/name) never to fetch from, separated by blanks. A task only adds to its list."""
    arxiv: str = "https://export.arxiv.org"
    """The server that papers named by an arXiv id are downloaded from."""
    download_seconds: int = 300
    """A download that takes longer is given up."""
    private_addresses: str = "refused"
    """true: papers may be downloaded from addresses inside a private network, and from any port."""
    proxy: str = ""
    """http://HOST:PORT, the way to all servers but this machine and those in NO_PROXY; off: none. Empty: what HTTPS_PROXY
    says. No task remembers it."""
    max_acceptance_continues: int = 3
    """Number of times that the agent may fix what a check refused, over the whole run; the next refusal ends it."""
    mutants: str = "off"
    """Number of small changes tried to each requirement's code, to see whether its tests notice; off: none.
    The result is reported and decides nothing.
    """
    evidence: str = "on"
    """off: it is not measured which test runs which line."""
    require: str = ""
    """located, run or guarded: what must be known of each requirement, or the code is refused. Empty: it is only reported."""
    judge: str = "auto"
    """The model that reviews code whose facts hold: a name as in `model`, same, or off. auto: the model that wrote it, if it is
    behind a server. Its findings are advice, once; what it still finds is a doubt, and the run ends as a warning."""
    tests: str = ""
    """A folder of your own tests (or one file). A run copies it into the task, out of the agent's reach, and the code must pass
    them."""
    trust_hooks: str = "no"
    """true: hooks of the workspace run as they are when the agent first begins, though not trusted. Said by the flag alone."""
    dry_run: str = "no"
    """true: no model is asked; the run stops where one would be, and says what that would cost. Said by the flag alone."""
    send_key: str = "no"
    """true: a vendor's key is sent to base_url. Said by the flag alone."""
    anyway: str = "no"
    """true: plan what does not look like something to implement. Said by the flag alone."""
    phase_seconds: int = 0
    """After so many seconds the agent begins no further turn; 0 means no limit."""
    sandbox: str = "required"
    """required: commands of the agent run in bubblewrap, else under Landlock, or not at all; bubblewrap, landlock, podman, docker
    or apptainer: in this one or not at all; off: with your rights, and the report says so."""
    batch_usd: float = 0.0
    """No call is made once so much money is spent on all tasks of the tasks folder together; 0 means no limit."""
    supervisor: str = ""
    """Supervision of the agent: off, adaptive (trusts it until it goes astray), strict. Empty: the value of the task's
    kernel/supervisor-config.json, else adaptive.
    """
    supervisor_shadow: str = ""
    """true: supervision only notes what it would do. Empty: what kernel/supervisor-config.json says."""
    references: str = ""
    """A folder of code to use instead of what the paper links: each folder in it is one repository. Nothing is fetched then."""
    mirror: str = ""
    """A folder of copies of repositories, as host/owner/name. They are taken from there, and the network is not asked."""
    lookup: str = ""
    """Services that are asked which repository belongs to a reference: github, semanticscholar, openalex, with commas
    between them. Empty: none is."""
    allow_own_code: str = "no"
    """true: the paper's own repository is fetched too. A reproduction that may look at it shows little."""
    max_repositories: int = 8
    """Most repositories to fetch, the most helpful ones first."""
    max_repository_mb: int = 200
    """A larger repository is refused."""
    max_repository_files: int = 20_000
    """One with more files is refused."""
    reproduce: str = "off"
    """quick or full: phase 10 runs the experiments of the code in that size, and compares the paper's tables."""
    tolerance: float = 0.0
    """By how many percent a figure may differ from the paper's. 0: the paper's own spread where it gives one, else 5."""
    reproduce_attempts: int = 0
    """Number of times that differences from the paper's tables go back to the agent, with the limits of the task."""
    held_out: str = ""
    """A folder of data of your own, at data/ for the experiments. What they predict is scored against its folder labels."""
    experiment_minutes: int = 60
    """An experiment that takes longer is stopped."""
    install: str = "ask"
    """allowed: the packages that a plan names are installed, for the sandbox only, from the index that pip is set to; ask: the
    person who reviews the plan says so, and without one nothing is installed; refused. true and false are allowed and refused."""
    packages_of: str = "today"
    """today: packages as new as the plan's bounds permit; paper: none newer than two years after an arXiv paper's month."""
    command_seconds: int = 600
    """Longest time that a command of the agent may request, and the limit of each check, in seconds."""
    command_memory_gb: int = 8
    """Memory limit in GB of all processes of a command. Unused address space does not count."""
    job_seconds: int = 14_400
    """The longest that a job in the background may run, from each start of it."""
    python: str = ""
    """An environment of your own, whose packages commands use, and never write to; then nothing is installed."""
    programs: str = ""
    """Directories of programs for commands, several with a colon between them; a `bin` in one counts, too."""
    gpu: str = "none"
    """The graphics cards that commands may use: none, auto (all), or numbers like 0,1."""
    data: str = ""
    """NAME=PATH, or NAME=https://…, several with a colon between them: what commands may read, at /data/NAME and $DATA_NAME."""
    allow_data: str = "no"
    """true: the data sets that the plan or `data` names an address of are fetched, and kept for all tasks."""
    max_data_mb: int = 4096
    """A larger data set is not fetched, and no archive of data unpacks to more; 0 means no limit."""


_KNOWN = list(Settings._fields)


def load_settings(user_file: str, environment: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
    """Load the settings in force. A flag that is None was not given. Raises UsageError for an unknown setting."""
    settings = Settings()._replace(**_from_file(user_file))
    settings = settings._replace(**_from_environment(environment))
    given = {name: value for name, value in flags.items() if value is not None}
    return settings._replace(
        **{name: _check_value(name, value, f"--{name.replace('_', '-')}") for name, value in given.items()}
    )


def user_hooks(user_file: str) -> dict[str, Any]:
    """Return `{"hooks": …}` of the user's file, unchecked; empty without hooks. Raises UsageError."""
    runtime = read_user_file(user_file).get(HOOKS, {})
    if not isinstance(runtime, dict) or runtime.keys() - {"hooks"}:
        raise UsageError(f"{user_file} at $.{HOOKS}: it holds `hooks:` and nothing else")
    return runtime


def read_prices(directory: str) -> dict[str, Any]:
    """Read the user's price table, prices.yaml; empty if there is none. Raises UsageError."""
    path = os.path.join(directory, "prices.yaml")
    return read_user_file(path, "prices are 'MODEL: {in: …, out: …}' lines, in dollars for a million tokens")


def did_you_mean(wrong: str, known: list[str]) -> str:
    """Return `; did you mean 'x'?` for a similar known word, else a list of the known ones."""
    near = nearest_word(wrong, known)
    return f"; did you mean '{near}'?" if near else f"; known: {', '.join(known)}"


def nearest_word(wrong: str, known: list[str]) -> str:
    """Return the known word closest to an unknown one, or an empty string."""
    from difflib import get_close_matches  # late: only a mistake needs it

    return next(iter(get_close_matches(wrong, known, n=1)), "")


def _from_file(path: str) -> dict[str, Any]:
    content = {name: value for name, value in read_user_file(path).items() if name != HOOKS}
    return {name: _check_value(str(name), _no_permission(name, value, path), path) for name, value in content.items()}


def _no_permission(name: str, value: Any, where: str) -> Any:
    """Return the value if a file or a variable may hold that setting."""
    if name in PERMISSIONS:
        raise UsageError(f"{where}: {name} can only be given by the flag --{name.replace('_', '-')}, for one run")
    return value


def read_user_file(path: str, form: str = "settings are 'name: value' lines") -> dict[str, Any]:
    for place in dict.fromkeys((path, os.path.realpath(path))):
        if why := why_others_may_write(place):
            raise UsageError(f"the settings in {path} are not read: {why}")
    if not os.path.exists(path):
        return {}
    from pipeline.base.plain_yaml import parse_yaml  # late: YAML is loaded only for a settings file

    try:
        content = parse_yaml(read_bytes(os.path.realpath(path)))
    except FormatError as error:
        raise UsageError(f"{path}, line {error.line}, column {error.column}: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UsageError(f"{path}: {form}")
    return content


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    from_environment: dict[str, Any] = {}
    for variable, value in environment.items():
        name = "stop_at" if variable == "STOP_AT_PHASE" else variable.removeprefix(PREFIX).lower()
        if variable != "STOP_AT_PHASE" and not variable.startswith(PREFIX):
            continue
        if name in _KNOWN:
            from_environment[name] = _check_value(name, _no_permission(name, value, variable), variable)
        # decision 23: others own PIPELINE_ variables too; one that resembles a setting is refused.
        elif near := nearest_word(name, _KNOWN):
            meant = "STOP_AT_PHASE" if near == "stop_at" else PREFIX + near.upper()
            raise UsageError(f"{variable} is not a setting; did you mean '{meant}'?")
    return from_environment


def _check_value(name: str, value: Any, where: str) -> Any:
    if name not in _KNOWN:
        raise UsageError(f"{where}: '{name}' is not a setting{did_you_mean(name, _KNOWN)}")
    what = _name_setting(name, where)
    if name in _SWITCHES:
        return _check_switch(name, value, where)
    if name == "install":  # it was a switch once
        value = {**dict.fromkeys(_FALSE, "refused"), **dict.fromkeys(_TRUE, "allowed")}.get(str(value).lower(), value)
    if name in _CHOICES and value not in _CHOICES[name]:
        allowed = ", ".join(choice for choice in _CHOICES[name] if choice)
        raise UsageError(f"{what} must be one of {allowed}, not {value!r}")
    if isinstance(Settings._field_defaults[name], float):
        if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", str(value)):
            raise UsageError(f"{what} must be an amount like 2 or 0.50, not {value!r}")
        return float(value)
    if isinstance(Settings._field_defaults[name], int):
        if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,12}", str(value)):
            raise UsageError(f"{what} must be a whole number (0 or more), not {value!r}")
        if int(value) > _MOST.get(name, int(value)):
            raise UsageError(f"{what} must be at most {_MOST[name]}, not {value}")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise UsageError(f"{what} must be text, not {value!r}")
    return str(value)


def _name_setting(name: str, where: str) -> str:
    """Return the start of a complaint: a flag or a variable names its setting, and a file holds many."""
    return f"{where}: {name}" if os.sep in where else where


def _check_switch(name: str, value: Any, where: str) -> str:
    """Return the stored spelling of true or false; empty for a default, which means undecided."""
    text = str(value).lower()
    if text in (*_FALSE, *_TRUE):
        return _SWITCHES[name][text in _TRUE]
    if value == "" == Settings._field_defaults[name]:
        return ""
    raise UsageError(f"{_name_setting(name, where)} must be true or false, not {value!r}")
