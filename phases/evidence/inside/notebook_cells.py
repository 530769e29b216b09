"""Run the cells of a notebook in order, without Jupyter."""

import contextlib
import io
import json
import os
import shlex
import subprocess
import traceback

_MOST = 20_000
_WRITES, _INSTALLS, _SHELL = "%%writefile ", "%pip ", "%%bash"


def run_cell(source: str, names: dict[str, object]) -> str:
    """Return what a cell prints. Installing is left out: there is no network."""
    first, _, rest = source.partition("\n")
    if first.startswith(_INSTALLS):
        return ""
    if first.startswith(_WRITES):
        path = shlex.split(first)[1]
        with open(path, "w", encoding="utf-8") as file:
            file.write(rest)
        return f"Writing {path}\n"
    if first.startswith(_SHELL):
        done = subprocess.run(["bash", "-c", rest], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise RuntimeError(f"a check ended with {done.returncode}: {(done.stdout + done.stderr)[-_MOST:]}")
        return done.stdout + done.stderr
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(compile(source, "<cell>", "exec"), names)  # noqa: S102 - in a sandbox
    return shown.getvalue()


def run_cells(sources: list[str]) -> dict[str, object]:
    """Return the outputs up to the first cell that fails, and why that one does."""
    names: dict[str, object] = {"__name__": "__main__"}
    outputs: list[str] = []
    try:
        for source in sources:
            outputs.append(run_cell(source, names)[:_MOST])  # noqa: PERF401 - what ran before a fault is kept
    except BaseException as error:  # noqa: BLE001 - whatever the code raises, also sys.exit
        return {"outputs": outputs, "fault": "".join(traceback.format_exception_only(error)).strip()[-_MOST:]}
    return {"outputs": outputs, "fault": ""}


if __name__ == "__main__":
    with open("cells.json", encoding="utf-8") as given, open("outputs.json", "w", encoding="utf-8") as made:
        json.dump(run_cells(json.load(given)), made)
    os._exit(0)  # threads of the code do not keep it
