"""Ask a user's own server for a model's window if its list of models does not state it: Ollama and llama.cpp."""

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
    """Return the window that the server gives the model; 0 if unknown. Asks only servers that are known to answer."""
    probe = _PROBES.get(connection.server.provider)
    if probe is None:
        return 0
    window = probe(connection)
    logger.debug("{} says a window of {:,}", connection.server.host, window)
    return window if _LEAST <= window <= _MOST else 0


def _window_of_llamacpp(connection: Connection) -> int:
    """Return the window of one request at start-up: n_ctx_train of its list is the model's maximum."""
    props = _fetch(connection, "GET", "/props")
    settings = props.get("default_generation_settings")
    return _whole(settings.get("n_ctx")) if isinstance(settings, Mapping) else 0


def _window_of_ollama(connection: Connection) -> int:
    """Return the loaded window, else that of the model's file. The trained one does not count: Ollama serves less."""
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
    """Fetch the JSON object at a path next to /v1; empty on any failure."""
    try:
        content = parse_json(fetch_page(connection, method, path, body))
    except (ReplyError, FormatError) as error:
        logger.debug("{} does not say its window at {} ({})", connection.server.host, path, error)
        return {}
    return content if isinstance(content, Mapping) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
