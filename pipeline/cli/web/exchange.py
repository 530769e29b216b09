"""Requests to pages and their answers as values: no handler of a page knows a web framework."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from pipeline.base.errors import PipelineError
from pipeline.cli.assembly import discover_phases, is_task, open_task_directory
from pipeline.cli.trust import SettingsInForce, settings_in_force
from pipeline.cli.web.watch import Newest, list_signature
from pipeline.engine.catalog import Catalog, TaskList
from pipeline.engine.settings import Settings
from pipeline.engine.store import TaskStore

_MOST_MESSAGES = 200


class NotThere(PipelineError):
    """The request is for no page of this server."""


class Upload(NamedTuple):
    """An uploaded file. Its name is untrusted, and only ever made safe."""

    name: str
    file: BinaryIO


class PageRequest(NamedTuple):
    route: Mapping[str, str]
    """Variable parts of the path."""
    query: Mapping[str, str]
    form: Mapping[str, str] = {}
    uploads: Sequence[Upload] = ()


class HtmlPage(NamedTuple):
    template: str
    values: Mapping[str, Any]
    status: int = 200


class SeeOther(NamedTuple):
    """Go to another page of this server, which says the message once."""

    to: str
    message: str = ""


class WebFile(NamedTuple):
    data: bytes
    media: str
    name: str = ""
    """File name for a download; empty for a page."""
    is_frame: bool = False
    """True for a page of a file: it is shown in a frame without an origin or permissions."""
    lasts: bool = False
    """True if its address is the digest of its content, so that the browser may cache it."""


WebAnswer = HtmlPage | SeeOther | WebFile


class Site:
    """Tasks of one directory, and the shared state of the pages."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = os.path.abspath(settings.tasks_dir)
        self.form_key = secrets.token_urlsafe(24)
        self._shared = open_task_directory(settings, self.folder)
        self._messages: dict[str, str] = {}
        self._listed: Newest[TaskList] = Newest(1)

    def listing(self) -> TaskList:
        """Return the list of tasks, read again after a change."""
        return self._listed.get(self.folder, list_signature(self.folder), Catalog(self.folder).read)

    def open(self, task: str) -> TaskStore:
        """Open a task of the list. Raises NotThere: a client's words are never a path here."""
        root = os.path.join(self.folder, task)
        if task not in self.listing().entries or os.sep in task or not is_task(root):
            raise NotThere("There is no such task.")
        return self.open_root(root)

    def open_root(self, root: str) -> TaskStore:
        """Open a task directory that the list led to."""
        return TaskStore(root, self._shared.graph, self._shared.contracts)

    def in_force(self, store: TaskStore) -> SettingsInForce:
        """Return the settings of the task's next run."""
        return settings_in_force(store, self.settings, {})

    def keep_message(self, text: str) -> str:
        """Keep what a page will say once; return its key."""
        key = secrets.token_urlsafe(9)
        self._messages[key] = text
        for old in list(self._messages)[:-_MOST_MESSAGES]:
            self._messages.pop(old, None)
        return key

    def take_message(self, key: str) -> str:
        return self._messages.pop(key, "")


def open_site(settings: Settings) -> Site:
    """Open the site of the settings' tasks directory."""
    discover_phases(settings.phases)
    return Site(settings)
