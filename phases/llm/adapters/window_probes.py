"""What servers of the user's own say of a model's window where their list of models does not: Ollama's and llama.cpp's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from phases.llm.adapters.connection import Connection, fetch_page
from phases.llm.error_classification import ReplyError
from pipeline.base.errors import FormatError
from pipeline.base.formats import parse_json
from pipeline.base.logs import logger

_LEAST, _MOST = 1_024, 10_000_000
_NUM_CTX = re.compile(r"^num_ctx\s+([0-9]{3,9})\s*$", re.MULTILINE)


def ask_window(connection: Connection) -> int:
    """The window that the server gives the model; 0 where it does not say it. Asks only those that are known to."""
    probe = _PROBES.get(connection.server.provider)
    if probe is None:
        return 0
    window = probe(connection)
    logger.debug("{} says a window of {:,}", connection.server.host, window)
    return window if _LEAST <= window <= _MOST else 0


def _window_of_llamacpp(connection: Connection) -> int:
    """What it was started with, for one request: what its list calls n_ctx_train is what the model could have."""
    props = _fetch(connection, "GET", "/props")
    settings = props.get("default_generation_settings")
    return _whole(settings.get("n_ctx")) if isinstance(settings, Mapping) else 0


def _window_of_ollama(connection: Connection) -> int:
    """What the model was loaded with, else what its own file sets. What it was trained with says nothing: Ollama serves less."""
    name = connection.server.model
    loaded = _fetch(connection, "GET", "/api/ps").get("models")
    for row in loaded if isinstance(loaded, list) else ():
        own = isinstance(row, Mapping) and name in (row.get("name"), str(row.get("name")).removesuffix(":latest"))
        if own and (window := _whole(row.get("context_length"))):
            return window
    set_in_file = _NUM_CTX.search(str(_fetch(connection, "POST", "/api/show", {"model": name}).get("parameters")))
    return int(set_in_file[1]) if set_in_file else 0


_PROBES: Mapping[str, Callable[[Connection], int]] = {"ollama": _window_of_ollama, "llamacpp": _window_of_llamacpp}


def _fetch(connection: Connection, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The JSON object at a path beside /v1; an empty one where there is none, whatever the reason."""
    try:
        content = parse_json(fetch_page(connection, method, path, body))
    except (ReplyError, FormatError) as error:
        logger.debug("{} does not say its window at {} ({})", connection.server.host, path, error)
        return {}
    return content if isinstance(content, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
