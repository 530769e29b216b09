"""Order the phases by their inputs and outputs; nothing else decides."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.base.errors import ContractError, UsageError
from pipeline.engine.phase import Phase
from pipeline.engine.settings import did_you_mean, nearest_word

# decision 12: a request for a change is an ordinary reason for planning to run again, so it is a document.
GIVEN = ("task.json", "plan_requests.json")
"""Documents that commands write, not phases."""


class Graph:
    """Phases of one run, in the order of their numbers. Raises ContractError when they do not fit together."""

    def __init__(self, phases: Iterable[Phase]) -> None:
        self.phases = sorted(phases, key=lambda phase: phase.number)
        self._writers: dict[str, Phase] = {}
        for phase in self.phases:
            for other in self.phases:
                if other is not phase and (other.number == phase.number or other.name == phase.name):
                    both = f"{phase.label} and {other.label}"
                    raise ContractError(f"two phases are called {both}; number and name must be its own")
            for name in phase.writes:
                if name in self._writers:
                    raise ContractError(f"{name} has two writers: {self._writers[name].label} and {phase.label}")
                self._writers[name] = phase
        self.documents = frozenset(name for name in self._writers if not name.endswith("/"))
        self._check_reads()

    def writer(self, document: str) -> Phase | None:
        """Return the phase that writes a document or a file in one of its folders; None for what commands write."""
        return self._writers.get(document) or self._writers.get(document.split("/", 1)[0] + "/")

    def before(self, phase: Phase) -> list[Phase]:
        """Return the phases whose documents this one reads."""
        return [writer for name in phase.reads if (writer := self._writers.get(name))]

    def after(self, phase: Phase) -> list[Phase]:
        """Return every phase that reads, directly or not, a document of this one."""
        readers = [phase]
        for other in self.phases:  # one pass is enough: who reads comes later in number
            if other not in readers and any(writer in readers for writer in self.before(other)):
                readers.append(other)
        return readers[1:]

    def flows(self) -> dict[tuple[str, str], list[str]]:
        """Return the documents between two phases: {(number of the writer, number of the reader): names}."""
        flows: dict[tuple[str, str], list[str]] = {}
        for phase in self.phases:
            for name in phase.reads:
                if writer := self.writer(name):
                    flows.setdefault((writer.number, phase.number), []).append(name)
        return flows

    def find(self, wanted: str) -> Phase:
        """Return the phase of a number ('3', '03', '05b'), a name, or a word of one name alone. Raises UsageError."""
        for phase in self.phases if wanted else ():
            if wanted in (phase.name, phase.number) or wanted.zfill(len(phase.number)) == phase.number:
                return phase
        partly = [phase for phase in self.phases if wanted and wanted in phase.name.split("_")]
        if len(partly) == 1:
            return partly[0]
        known = [text for phase in self.phases for text in (phase.number, phase.name)]
        near = nearest_word(wanted, known)
        labels = ", ".join(phase.label for phase in self.phases)
        raise UsageError(
            f"there is no phase '{wanted}'; " + (f"did you mean '{near}'?" if near else f"the phases are {labels}")
        )

    def _check_reads(self) -> None:
        for phase in self.phases:
            for name in phase.reads:
                writer = self._writers.get(name)
                if writer is None and name not in GIVEN:
                    hint = did_you_mean(name, [*self._writers, *GIVEN])
                    raise ContractError(f"phase {phase.label} reads {name}, and no phase writes it{hint}")
                if writer and writer.number >= phase.number:
                    raise ContractError(
                        f"phase {phase.label} reads {name}, which only phase {writer.label} writes, later"
                    )
