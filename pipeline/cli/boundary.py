"""Turn failures into a line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable
from typing import Any

import click

from pipeline.base.errors import Interrupted, PipelineError
from pipeline.cli.output import print_error


def exit_code_of(call: Callable[[], Any]) -> int:
    """Call a command and return the code that the process should end with."""
    try:
        catch_signals()
        result = call()
    # one table of exit codes for every command: each error carries its own (decision 85)
    except PipelineError as error:
        print_error(str(error))
        return error.exit_code
    except Interrupted as error:
        # a run tells itself how it goes on; what ends here has no task, or none yet
        print_error("interrupted")
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print_error("interrupted")
        return 130
    except click.UsageError as error:
        message = " ".join(error.format_message().split())  # click puts choices into lines of their own, with tabs
        print_error(message + (f" (see: {error.ctx.command_path} --help)" if error.ctx else ""))
        return 2
    except click.ClickException as error:
        print_error(error.format_message())
        return 1
    except (
        OSError
    ) as error:  # what no phase foresaw: no descriptors or processes left, or a disk that fails (decision 256)
        return _report_machine(error)
    except MemoryError:
        print_error("the machine is out of memory; free some, and continue with: pipeline resume")
        return 1
    except SystemExit as error:  # of the completion of a shell; click makes one from any broken pipe, too
        if error.__context__ is not None:  # and stdout and stderr never raise that
            return _report_bug(error.__context__)
        return error.code if isinstance(error.code, int) else 0
    except Exception as error:  # noqa: BLE001 - the last one that can tell the user
        return _report_bug(error)
    finally:  # the outcome is settled: only the last words are left to be printed
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    return result if isinstance(result, int) else 0


def _report_machine(error: OSError) -> int:
    """Print one line with the machine's error and the place in our code."""
    place, trace = "", error.__traceback__
    while trace:  # not by the module traceback, which could not be imported now
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    word = errno.errorcode.get(error.errno or 0, "unknown")
    print_error(
        f"the machine failed: {error.filename or 'a system call'}: {error.strerror or error} ({word}, {place}); finished work is "
        "kept: once that is fixed, continue with: pipeline resume"
    )
    return 1


def _report_bug(error: BaseException) -> int:
    import traceback  # imported here: only a bug needs it

    traceback.print_exception(error)
    print_error(f"a bug in the pipeline: {type(error).__name__}: {error}. Please report it with the lines above.")
    return 70


def end_children() -> None:
    """End what a phase started and did not get to end. Linux tells the children of a process; elsewhere they stay."""
    threads = list[str]()
    with contextlib.suppress(OSError):  # elsewhere there is no such place
        threads = os.listdir("/proc/self/task")
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
            for pid in map(int, file.read().split()):
                group = os.getpgid(pid)
                if group == pid:
                    os.killpg(group, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGKILL)


def catch_signals() -> None:
    """End the run in order at the first signal, and the process at once at the second. Both leave a resumable state."""

    def first(number: int, _frame: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_DFL)
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup asked for that
            signal.signal(number, first)
