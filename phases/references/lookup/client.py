"""Ask one service within its rate limit, and cache its answers on the disk."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from phases.references.lookup.candidates import NoServiceAnswer
from pipeline.base.errors import FormatError, StorageError
from pipeline.base.files import make_directory, read_bytes, sha256, write_without_sync
from pipeline.base.formats import dump_json_line, parse_json
from pipeline.base.http.fetch import DownloadError, DownloadLimits, fetch_url
from pipeline.base.http.proxy import Proxy

LARGEST_ANSWER = 5 * 1024 * 1024
_DAY = 24 * 3600.0
_FOUND_DAYS, _NOTHING_DAYS = 30, 7
_VERSION = 1
_LIMITS = DownloadLimits(bytes=LARGEST_ANSWER, seconds=60, seconds_to_connect=10)
_NOTHING = (404, 410)
_TOO_MANY = (403, 429)
_BY_HAND = re.compile(r"(?:; |, or )download it with your browser and give the file|; check the address")


class RateLimit(NamedTuple):
    """So many questions in so many seconds."""

    most: int
    seconds: float


class ClientSettings(NamedTuple):
    """Settings that all services share."""

    cache: str
    """Directory of cached answers. It may be deleted at any time; its parent exists."""
    private: bool = False
    """True if servers in a private network may be asked."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    blacklist: str = ""
    """Addresses that are not asked."""
    proxy: Proxy | None = None


class ServiceClient:
    """The questions to one service."""

    def __init__(self, service: str, pace: RateLimit, ground: ClientSettings) -> None:
        self._service, self._pace, self._ground = service, pace, ground
        self._asked: deque[float] = deque(maxlen=pace.most)
        self._swept = False

    def answer(self, url: str, found: Callable[[Any], bool]) -> Any:
        """Return the service's answer, cached or new; None if it has nothing. Raises NoServiceAnswer.

        `found` tells whether an answer is a hit: hits are cached for 30 days, others for 7. Failures are not cached.
        """
        path = os.path.join(self._ground.cache, f"{self._service}-{sha256(url.encode())[:32]}.json")
        cached = self._kept(path, url)
        if cached is None:
            value = self._downloaded(url)
            cached = {"version": _VERSION, "url": url, "at": self._ground.clock(), "found": False, "answer": None}
            if value is not None and found(value):
                cached |= {"found": True, "answer": value}
            with suppress(StorageError, FormatError):  # what cannot be kept is asked for again
                write_without_sync(path, dump_json_line(cached))
        return cached["answer"]

    def _kept(self, path: str, url: str) -> dict[str, Any] | None:
        """Return a cached answer that is still valid; a damaged one counts as missing."""
        try:
            cached = parse_json(read_bytes(path, limit=LARGEST_ANSWER * 2))
        except (StorageError, FormatError):
            return None
        if not isinstance(cached, dict) or cached.get("version") != _VERSION or cached.get("url") != url:
            return None
        at, days = cached.get("at"), _FOUND_DAYS if cached.get("found") is True else _NOTHING_DAYS
        if (
            not isinstance(at, (int, float))
            or not 0 <= self._ground.clock() - at < days * _DAY
            or "answer" not in cached
        ):
            return None
        return cached

    def _downloaded(self, url: str) -> Any:
        make_directory(self._ground.cache)
        self._sweep()
        self._wait()
        # A folder of its own: another task may ask the same at the same time.
        with tempfile.TemporaryDirectory(prefix=".asking-", dir=self._ground.cache) as folder:
            path = os.path.join(folder, "answer")
            try:
                ground = self._ground
                fetch_url(
                    url,
                    path,
                    _LIMITS,
                    private=ground.private,
                    sleep=ground.sleep,
                    proxy=ground.proxy,
                    blacklist=ground.blacklist,
                )
                return parse_json(read_bytes(path, limit=LARGEST_ANSWER))
            except DownloadError as error:
                # the service knows no such paper: an answer like any other, and kept
                if error.status in _NOTHING:
                    return None
                raise NoServiceAnswer(self._told(error)) from error
            except FormatError as error:
                raise NoServiceAnswer(f"{self._service} does not answer in JSON ({error})") from error

    def _wait(self) -> None:
        """Until the service takes another question."""
        # the wait is for the oldest of the last `most` questions: a burst is allowed, as the services count
        if len(self._asked) == self._pace.most:
            left = self._asked[0] + self._pace.seconds - time.monotonic()
            if left > 0:
                self._ground.sleep(left)
        self._asked.append(time.monotonic())

    def _sweep(self) -> None:
        """Remove expired answers, once per run."""
        if self._swept:
            return
        self._swept, oldest = True, self._ground.clock() - _FOUND_DAYS * _DAY
        with suppress(OSError), os.scandir(self._ground.cache) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)

    def _told(self, error: DownloadError) -> str:
        reason = _BY_HAND.sub("", str(error).partition(": ")[2])
        if error.status in _TOO_MANY:
            return f"rate limited: {self._service} takes no more questions now ({reason})"
        return f"not reachable: {self._service}: {reason}"
