"""Interface of a phase: its declaration, its context, and its paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from pipeline.base.errors import PhaseError
from pipeline.base.files import sha256

Documents = Mapping[str, Any]
"""Document name -> parsed value. JSON and YAML give plain values, Markdown gives formats.Markdown."""

SKIPPED, FAILED = "skipped", "failed"
OFF = "off"
"""Value of a setting that requests no phase."""
TYPED = "typed:"
"""Prefix of a source that the user typed, which is neither a file nor an address."""


# decision 7: the machine's values are named tuples, the promise of a frozen dataclass at a fifth of its import time.
class Decision(NamedTuple):
    """A reviewer's decision on a plan."""

    verdict: str
    """approve or reject."""
    by: str
    """auto, or the name of the person."""
    at: str
    """Time, UTC, ISO 8601."""
    plan_sha256: str
    """Digest of the very bytes that were shown."""


class WorkflowContext(NamedTuple):
    root: str

    @property
    def plan(self) -> str:
        return os.path.join(self.root, "initial_plan.txt")

    @property
    def plan_versions(self) -> str:
        return os.path.join(self.root, "plan_versions")

    @property
    def plan_journal(self) -> str:
        return os.path.join(self.root, "plan_journal.jsonl")

    @property
    def plan_pictures(self) -> str:
        return os.path.join(self.root, "plan_pictures")

    @property
    def ledger(self) -> str:
        return os.path.join(self.root, "logs", "llm.jsonl")


class Checker(Protocol):
    """Contracts for a phase: they validate values from a model."""

    def parse(self, name: str, data: bytes, *, writer: str) -> Any:
        """Parse and validate a document. Raises ContractError with line, column and rule."""

    def schema(self, name: str) -> dict[str, Any]:
        """Return the schema of a document."""

    def breach(self, schema: Mapping[str, Any], value: Any) -> str | None:
        """Describe why a value breaks a schema, in one line, or return None."""


class Context(NamedTuple):
    """Services for a running phase besides its documents."""

    paths: WorkflowContext
    settings: Mapping[str, Any]
    """Exactly the settings that the phase named."""
    # decision 36: apart from the settings, because those go into stamps.
    secrets: Mapping[str, str]
    """Settings that no file may hold: they make nothing stale, and a phase keeps them to itself."""
    limits: Mapping[str, Any]
    """Settings that say how far the phase may go; they make nothing stale either."""
    environment: Mapping[str, str]
    """The user's environment, for programs that need it. It may hold keys: never to be given to a command of the agent."""
    contracts: Checker
    # decision 3: an approval is bound to exactly these bytes.
    digests: Mapping[str, str]
    """The sha256 of each input document, as it was read."""
    # decision 2: opened by whoever needs it, so that a phase without a model pays for none.
    open_model: Callable[[], object]
    """Opens the model that the settings name for this phase. Opaque to the machine; phases/llm/model.py says what it can do."""
    review: Callable[[str, str], Decision]
    """Asks for a verdict on a plan: (the plan's text, its sha256). Raises Paused or Rejected."""
    progress: Callable[[int, int, str], None]
    """Tells the user how far the phase is: (done, total, what now)."""
    in_place: Callable[[], None]
    """Raises when the task folder was moved or replaced. A phase that writes files itself calls it before it does."""
    deadline: float | None
    """time.monotonic() at which the phase should give up, or None."""
    tell: Callable[[str], None] = lambda text: None
    """Tells the user something that stays on the screen."""
    ask: Callable[[str, Sequence[str]], str | None] = lambda question, options: None
    """Ask the user a question with options; None without an answer."""
    open_other: Callable[[str], object] = lambda use: None
    """Opens the model that the settings name for another use than this phase: judge."""
    config_directory: str = ""
    """Directory of the user's settings, which no task can write."""
    permissions: Mapping[str, str] = MappingProxyType({})
    """Permissions that the user gave for this run alone, by a flag; they make nothing stale."""
    hooks: Mapping[str, Any] = MappingProxyType({})
    """The user's own hooks, `{"hooks": …}` as in hooks.yaml; empty without any."""
    cache_directory: str = ""
    """The user's cache directory, which no task can write. It may be missing; empty if there is none."""


class Phase(NamedTuple):
    """One step of a run. It may start as soon as each of its input documents exists and is fresh."""

    number: str
    name: str
    reads: tuple[str, ...]
    """Documents; a folder of another phase, as in `writes`, is read as the sha256 of each of its files."""
    writes: tuple[str, ...]
    """Documents; a name that ends in '/' is a folder whose files a written document lists in `files`."""
    run: Callable[[Documents, Context], Documents]
    settings: tuple[str, ...] = ()
    observe: Callable[[], Mapping[str, str]] | None = None
    """Facts of the machine that decide what the phase writes, by name. They are compared and kept as settings are."""
    version: int = 1
    """Raise it when the same inputs should give other outputs."""
    # decision 231: an approved document is not made again because a release would do it better.
    edition: int = 1
    """Raise it when they give better ones: what an older edition made stays as it is, and `why` tells of it."""
    optional: bool = False
    """Fast mode skips it, and its failure degrades the run instead of ending it."""
    # decision 207: a phase that runs for hours is a wish of its own, and no part of what everybody asks for.
    asked: str = ""
    """Setting that requests it. While that is off the phase does not run, and has no stamp and no status."""
    owns: tuple[str, ...] = ()
    """Files and folders that the phase keeps by itself while it runs; a redo moves them to `<name>.prev`."""
    changes: Callable[[str, Collection[str]], Iterable[tuple[str, str]]] | None = None
    """Changes of files that only a listed file names: from a task and the phase's files to paths with `edited` or so."""
    report: Callable[[Documents], Mapping[str, Any]] | None = None
    """Pure: from the phase's own documents to fields of report.json."""

    @property
    def label(self) -> str:
        return f"{self.number} {self.name}"

    def is_selected(self, settings: Mapping[str, Any]) -> bool:
        """Return whether these settings select a phase that runs on request only."""
        return not self.asked or settings.get(self.asked, OFF) != OFF


def build_placeholder(status: str, reason: str, mode: str) -> dict[str, str]:
    """Return the placeholder document of an optional phase that gave no result."""
    return {"status": status, "reason": reason, "mode": mode}


def is_placeholder(value: object) -> bool:
    """Return whether a document of an optional phase is a placeholder, which is never a result."""
    return isinstance(value, dict) and value.get("status") in (SKIPPED, FAILED)


def build_manifest(files: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the `files` list of a folder document: path in the task, bytes and sha256 of each text."""
    encoded = {path: text.encode("utf-8") for path, text in files.items()}
    return [{"path": path, "bytes": len(data), "sha256": sha256(data)} for path, data in sorted(encoded.items())]


def require(condition: object, message: str) -> None:
    """Raise PhaseError with this line unless the condition holds."""
    if not condition:
        raise PhaseError(message)
