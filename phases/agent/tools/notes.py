"""What of the workspace a conversation has before it, so that nothing is sent twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Notes:
    """Path -> sha256 of what the model was shown whole, or wrote, since its context began. One context has one."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def known(self, path: str) -> str | None:
        """The sha256 of what the model knows of a file; None where it does not know the whole."""
        return self._seen.get(path)

    def learn(self, seen: Mapping[str, str]) -> None:
        """Takes in what an answer says under `seen`: on a resume, from the journal. An empty digest forgets."""
        for path, digest in seen.items():
            if digest:
                self._seen[path] = digest
            else:
                self._seen.pop(path, None)

    def forget(self, paths: Iterable[str] | None = None) -> None:
        """To be called when the context drops these files, or all."""
        for path in list(self._seen if paths is None else paths):
            self._seen.pop(path, None)
