"""`pipeline batch` beside a shell loop and Snakemake on the same papers: seconds, and what is lost when each is killed half-way.

    python benchmarks/batch_beside.py DIRECTORY_OF_PAPERS WORK loop|batch|snakemake [--kill]
    python benchmarks/batch_beside.py DIRECTORY_OF_PAPERS WORK table

One call is one measurement, a line of WORK/figures.jsonl; `table` prints them all. `--kill` runs until half of the papers have
ended, kills everything with signal 9, types the same command again, and counts phases that were run twice. SNAKEMAKE names the
program where it is not on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

JOBS = 2
SKIPPED = ("bad_", "enc_", "pwl_data_compression_garbled", "pwl_flajolet85_scan")
"""Papers that cannot be read: damaged, encrypted, scanned."""
SNAKEFILE = """
import glob, os
NAMES = [os.path.basename(path)[:-4] for path in sorted(glob.glob("papers/*.pdf"))]
rule all:
    input: expand("tasks/{{name}}/report.json", name=NAMES)
rule code:
    input: "papers/{{name}}.pdf"
    output: "tasks/{{name}}/report.json"
    shell: "{pipeline} run --fast {{input}} --id {{wildcards.name}} > /dev/null 2>&1 || [ $? -eq 3 ]"
"""


def lay_out(papers: Path, work: Path) -> list[str]:
    """A directory with links to the papers, and nothing done yet."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "papers").mkdir(parents=True)
    names = [path for path in sorted(papers.glob("*.pdf")) if not path.name.startswith(SKIPPED)]
    for path in names:
        shutil.copy(path, work / "papers" / path.name)
    return [path.stem for path in names]


def command_of(way: str, work: Path) -> list[str]:
    pipeline = f"{sys.executable} -m pipeline"
    if way == "batch":
        return ["bash", "-c", f"exec {pipeline} batch --fast papers --jobs {JOBS}"]
    if way == "snakemake":
        (work / "Snakefile").write_text(SNAKEFILE.format(pipeline=pipeline))
        program = os.environ.get("SNAKEMAKE", "snakemake")
        flags = "--quiet all --rerun-incomplete --nolock"
        return ["bash", "-c", f"exec {program} -j {JOBS} -k {flags} --directory {work} -s {work / 'Snakefile'}"]
    return ["bash", "-c", f"ls papers/*.pdf | xargs -P {JOBS} -I FILE {pipeline} run --fast FILE"]


def start(way: str, work: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command_of(way, work), cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def ended(work: Path) -> int:
    return len(list(work.glob("tasks/*/report.json")))


def kill_all(session: int) -> None:
    """Every process of the session, and what has left it: all whose session or parent it is."""
    for _ in range(5):
        found = subprocess.run(["ps", "-eo", "pid=,sid=,ppid="], capture_output=True, text=True, check=True).stdout
        rows = [tuple(map(int, line.split())) for line in found.splitlines()]
        doomed = {session}
        for _ in rows:
            more = {pid for pid, sid, parent in rows if sid in doomed or parent in doomed}
            if more <= doomed:
                break
            doomed |= more
        for pid in doomed:
            if pid != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def measure(way: str, papers: Path, work: Path, *, kill: bool) -> dict[str, object]:
    names = lay_out(papers, work)
    began, cut = time.monotonic(), 0.0
    process = start(way, work)
    if kill:
        while ended(work) < len(names) // 2 and process.poll() is None:
            time.sleep(0.05)
        kill_all(process.pid)
        process.wait()
        cut = time.monotonic() - began
        process = start(way, work)
    process.wait()
    seconds = time.monotonic() - began
    attempts = [
        row["attempts"] - 1
        for path in work.glob("tasks/*/report.json")
        for row in json.loads(path.read_text())["phases"]
        if row["attempts"] > 1
    ]
    tasks = list(work.glob("tasks/*/task.json"))
    return {
        "way": way,
        "killed": kill,
        "papers": len(names),
        "ended": ended(work),
        "tasks": len(tasks),
        "seconds": round(seconds, 1),
        "a paper": round(seconds / len(names), 2),
        "until the kill": round(cut, 1),
        "phases run twice": sum(attempts),
        "exit code": process.returncode,
    }


def main() -> None:
    papers, work, way = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
    work.mkdir(parents=True, exist_ok=True)
    figures = work / "figures.jsonl"
    if way != "table":
        row = measure(way, papers, work / way, kill="--kill" in sys.argv)
        with figures.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    for line in figures.read_text(encoding="utf-8").splitlines():
        print("  ".join(f"{name}: {value}" for name, value in json.loads(line).items()))


if __name__ == "__main__":
    main()
