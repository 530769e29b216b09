"""Errors that the pipeline raises on purpose.

PipelineError            expected: one line says what, where, whose fault, what to do next   exit 1
├── UsageError           the command line or a setting asks for something that is not there  exit 2
├── StorageError         the disk said no: the path and the errno
│   └── FileTooLarge     a file is over the limit of what reads it
├── FormatError          bytes that are not the JSON, YAML or Markdown that they should be: line and column
├── ContractError        a document breaks its schema, or is damaged
├── CatalogError         tasks.jsonl has a damaged line that a decision needs
├── TaskBusy             another process works on this task; names it                         exit 75
├── PhaseError           a phase gives up, in words that its author chose
│   ├── PhaseBug         a phase raised something else: a traceback is in the log            exit 70
│   └── Incomplete       a phase waits for what only its user can fix, and continues from there exit 3
├── Rejected             the user rejected the plan                                          exit 4
└── Paused               the run waits for the user, or was asked to stop here                exit 5
        └── InputsChanged    a reviewer changed what was read: every phase is checked again, in the same run

Interrupted              SIGINT, SIGTERM or SIGHUP; a BaseException, so that no phase swallows it   exit 128 + signal
"""

from __future__ import annotations

from collections.abc import Mapping

_SIGNALS = {1: "SIGHUP", 2: "Ctrl-C", 15: "SIGTERM"}


class PipelineError(Exception):
    """An expected failure. Its text is one line that a user can act on."""

    exit_code = 1


class UsageError(PipelineError):
    exit_code = 2


class StorageError(PipelineError):
    """`code` is the errno of what the machine said, where one thing was; 0: another one."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class FileTooLarge(StorageError):
    """A file of more bytes than its reader takes."""


class FormatError(PipelineError):
    """Bytes that do not parse. `line` and `column` count from 1; 0 says that there is no one place."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class ContractError(PipelineError):
    pass


class CatalogError(PipelineError):
    pass


class TaskBusy(PipelineError):
    exit_code = 75  # EX_TEMPFAIL of sysexits.h: the same command may do it later


class PhaseError(PipelineError):
    """A phase gives up. `report` holds what the final report should still state.

    `flag` is what a resume needs to get further, like `--max-output-tokens 8000`.
    """

    def __init__(self, message: str, *, report: Mapping[str, object] | None = None, flag: str = "") -> None:
        super().__init__(message)
        self.report = dict(report or {})
        self.flag = flag


class PhaseBug(PhaseError):
    exit_code = 70


class Incomplete(PhaseError):
    """Work that is kept but not finished, because of a broken hook, say. `stop_reason`, in one word, is for files."""

    exit_code = 3

    def __init__(self, message: str, *, stop_reason: str, report: Mapping[str, object] | None = None) -> None:
        super().__init__(message, report=report)
        self.stop_reason = stop_reason


class Rejected(PipelineError):
    exit_code = 4


class Paused(PipelineError):
    """`stop_reason`, in one word, is for files; the text is for a person; `flag` raises the limit that was reached."""

    exit_code = 5

    def __init__(self, message: str, *, stop_reason: str = "paused", flag: str = "") -> None:
        super().__init__(message)
        self.stop_reason = stop_reason
        self.flag = flag


class InputsChanged(Paused):
    pass


class Interrupted(BaseException):
    """A signal asked the run to end."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(_SIGNALS.get(signal_number, f"signal {signal_number}"))
        self.exit_code = 128 + signal_number
