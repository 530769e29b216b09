"""The sandbox, from the inside: what a command of the agent cannot do, in each kind that this machine has."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from phases.sandbox.box import BUBBLEWRAP, ENGINES, LANDLOCK, NONE, OFF, Box, CommandResult, Limits
from phases.sandbox.box import KINDS as EVERY
from phases.sandbox.commands import kind_of_sandbox, run_command
from phases.sandbox.output import LARGEST_OUTPUT
from phases.sandbox.probe import probe_best, probe_kind
from tests.papers import HANGS, ROOT
from tests.work import wait_until

KINDS = [
    pytest.param(
        kind,
        marks=[
            pytest.mark.skipif(not probe_kind(kind).usable, reason=f"{kind}: {probe_kind(kind).detail}"),
            *([pytest.mark.slow] if kind in ENGINES else []),
        ],
    )
    for kind in EVERY
]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "task" / "generate_code").mkdir(parents=True)
    (tmp_path / "task" / "paper.md").write_text("the paper")
    return tmp_path / "task" / "generate_code"


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host."""
    with subprocess.Popen(["sleep", "600"], env={"SECRET": "secret-4711"}) as process:
        yield process
        process.kill()


def inside(command: str, workspace: Path, kind: str, seconds: int = HANGS) -> tuple[int | None, str]:
    finished = run_command(Box(str(workspace), kind), command, seconds=seconds)
    return finished.exit_code, finished.output


def python_inside(code: str, workspace: Path, kind: str) -> str:
    (workspace / "attack.py").write_text(code)
    finished = run_command(Box(str(workspace), kind), "python attack.py", seconds=HANGS)
    (workspace / "attack.py").unlink(missing_ok=True)
    return finished.output


def bounded(command: str, workspace: Path, kind: str, **limits: int) -> CommandResult:
    return run_command(Box(str(workspace), kind, limits=Limits(**limits)), command, seconds=HANGS)


def running(mark: str) -> bool:
    """Whether a process of this machine has these words on its command line."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


# What works


@EVERY_KIND
def test_a_command_works_in_the_workspace_with_python(workspace: Path, kind: str) -> None:
    code, output = inside("python -c 'print(6 * 7)' > made.txt && cat made.txt && pwd", workspace, kind)
    assert (code, output.split()) == (0, ["42", str(workspace)])
    assert (workspace / "made.txt").read_text() == "42\n"


@EVERY_KIND
def test_what_programs_do_all_day_works(workspace: Path, kind: str) -> None:
    commands = (
        "mkdir -p a/b && touch a/b/c && cp a/b/c d && mv d e && ln -s e f && rm -r a && chmod +x e && cat < f",
        "echo x > $HOME/y && mktemp && echo out > /dev/stdout && echo err > /dev/stderr && echo x > /dev/null",
        'python -c \'import shutil; shutil.copy2("e", "g"); shutil.copytree(".", "tree", symlinks=True)\'',
        "python -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
        "python -c 'import asyncio; asyncio.run(asyncio.sleep(0))'",
        "python -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix)'",
    )
    for command in commands:
        assert inside(command, workspace, kind)[0] == 0, inside(command, workspace, kind)


SETUID = """
import ctypes, os, stat

def attempt(do):
    try:
        do()
    except OSError as error:
        print(error.strerror)

os.umask(0)
open("f", "w").close()
os.mkdir("d")
attempt(lambda: os.chmod("f", 0o4755))
attempt(lambda: os.chmod("f", 0o2755))
attempt(lambda: os.chmod("d", 0o2755))
attempt(lambda: os.fchmod(os.open("f", os.O_RDWR), 0o6755))
attempt(lambda: os.close(os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt(lambda: os.mknod("node", 0o4755 | stat.S_IFREG))
attempt(lambda: os.chmod("f", 0o755))
attempt(lambda: os.chmod("d", 0o1777))
"""


@EVERY_KIND
def test_nothing_that_a_command_makes_can_be_run_with_the_rights_of_another(workspace: Path, kind: str) -> None:
    assert python_inside(SETUID, workspace, kind).splitlines() == ["Operation not permitted"] * 6
    assert inside("cp /bin/true t; install -m 4755 t u; echo $?; chmod u+s t; echo $?", workspace, kind)[1].endswith(
        "1\n"
    )
    inside("printf x > s && tar --mode=4755 -cf s.tar s && rm s && tar -xpf s.tar", workspace, kind)
    left = [path for path in workspace.rglob("*") if path.lstat().st_mode & 0o6000]
    assert left == []


@EVERY_KIND
def test_the_exit_code_is_that_of_the_command(workspace: Path, kind: str) -> None:
    assert inside("exit 7", workspace, kind)[0] == 7
    assert inside("kill -TERM $$", workspace, kind)[0] == 128 + 15


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("python -c 'import sys; sys.exit(3)' | tail -3", 3, ""),
        ("(exit 4) 2>&1 | tee log | cat > /dev/null", 4, ""),
        ("false | true && echo goes on", 1, ""),
        ("(echo tests; exit 5) &> log; code=$?; cat log; exit $code", 5, "tests\n"),
        ("yes | head -1", 0, "y\n"),
        ("seq 100000 | head -1 | cat", 0, "1\n"),
        ("yes | head -1; echo after", 0, "y\nafter\n"),
        ("yes | head -1 && echo after", 141, "y\n"),
        ("set -e; yes | head -1; echo after", 141, "y\n"),
        ("(exit 4) | yes | head -1", 141, "y\n"),
        ("[[ ab == a* ]] && rows=(1 2 3) && echo ${#rows[@]}", 0, "3\n"),
        ("echo 'here=1' > vars; source ./vars; cat <(echo $here)", 0, "1\n"),
    ],
    ids=[
        "a failing test in a pipe", "a failing test before tee", "a pipe before and", "both streams into a file",
        "a pipe that is read in part", "the same in three parts", "another command after it", "what came next was not run",
        "the same under set -e", "a failure beside it", "tests and arrays", "source and substitution",
    ],
)  # fmt: skip
@EVERY_KIND
def test_a_command_is_run_by_bash_and_a_failure_in_a_pipe_is_one(
    command: str, code: int, words: str, workspace: Path, kind: str
) -> None:
    assert inside(command, workspace, kind) == (code, words)


@EVERY_KIND
def test_a_readable_path_is_read_and_not_written(workspace: Path, kind: str) -> None:
    paper = workspace.parent / "paper.md"
    box = Box(str(workspace), kind, readable=(str(paper),))
    finished = run_command(box, f"cat {paper} && echo owned > {paper}", seconds=HANGS)
    assert finished.output.startswith("the paper")
    assert finished.exit_code != 0
    run_command(box, f"rm -f {paper}; mv x {paper}; : > {paper}; truncate -s 0 {paper}; chmod 0 {paper}", seconds=HANGS)
    assert (paper.read_text(), paper.stat().st_mode & 0o777) == ("the paper", 0o644)


@EVERY_KIND
def test_an_environment_of_packages_is_used_and_not_written(workspace: Path, kind: str, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "installed_here.py").write_text("ANSWER = 42\n")
    box = Box(str(workspace), kind, python=str(venv))
    finished = run_command(box, "python -c 'import installed_here; print(installed_here.ANSWER)'", seconds=HANGS)
    assert finished == CommandResult(0, "42\n", None)
    assert run_command(box, f"echo x >> {packages}/installed_here.py; echo x > {packages}/new.pth").exit_code != 0
    assert sorted(path.name for path in packages.iterdir()) == ["installed_here.py"]
    assert (packages / "installed_here.py").read_text() == "ANSWER = 42\n"


# Files


@EVERY_KIND
@pytest.mark.parametrize("place", ["..", "../paper.md", "/usr/owned", "/etc/owned", "/owned", "{home}/owned", "{tmp}"])
def test_a_command_cannot_write_outside(place: str, workspace: Path, kind: str) -> None:
    target = place.format(home=os.path.expanduser("~"), tmp=workspace.parent.parent / "owned")
    inside(f"echo owned > {target}; rm -rf {target}; mkdir -p {target}/owned; ln -s / {target}", workspace, kind)
    assert (workspace.parent / "paper.md").read_text() == "the paper"
    assert sorted(path.name for path in workspace.parent.iterdir()) == ["generate_code", "paper.md"]
    assert not target.endswith("owned") or not os.path.lexists(target)


@EVERY_KIND
def test_no_trick_with_links_leads_out(workspace: Path, kind: str) -> None:
    outside = workspace.parent
    code = f"""
import os
outside, paper = {str(outside)!r}, {str(outside / "paper.md")!r}
def attempt(what):
    try: what()
    except OSError: pass
attempt(lambda: os.symlink(outside, "out"))
attempt(lambda: open("out/paper.md", "w").write("owned"))
attempt(lambda: os.link(paper, "hard"))
attempt(lambda: open("hard", "w").write("owned"))
attempt(lambda: os.rename(paper, "moved"))
attempt(lambda: os.rename("attack.py", outside + "/attack.py"))
attempt(lambda: os.truncate(paper, 0))
attempt(lambda: os.open(paper, os.O_RDONLY | os.O_TRUNC))
attempt(lambda: os.chmod(paper, 0))
attempt(lambda: os.chmod("out", 0))
attempt(lambda: os.utime(paper, (0, 0)))
attempt(lambda: os.setxattr(paper, "user.owned", b"x"))
attempt(lambda: os.chown(paper, 1, 1))
attempt(lambda: os.unlink("out"))
for i in range(1000):
    os.mkdir("race"); os.symlink(outside, "link")
    attempt(lambda: os.rename("link", "race")); os.rmdir("race"); os.rename("link", "race")
    attempt(lambda: open("race/owned", "w")); os.unlink("race")
for pid in (1, os.getpid(), os.getppid(), {os.getpid()}):
    for way in ("root", "cwd"):
        attempt(lambda: open(f"/proc/{{pid}}/{{way}}{{paper}}", "w").write("owned"))
        attempt(lambda: open(f"/proc/{{pid}}/{{way}}/../paper.md", "w").write("owned"))
print("tried")
"""
    before = os.stat(outside / "paper.md")
    assert "tried" in python_inside(code, workspace, kind)
    after = os.stat(outside / "paper.md")
    assert (outside / "paper.md").read_text() == "the paper"
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)
    assert os.listxattr(outside / "paper.md") == []
    assert sorted(path.name for path in outside.iterdir()) == ["generate_code", "paper.md"]
    assert os.stat(outside).st_mode & 0o777 == 0o755


@EVERY_KIND
def test_a_command_cannot_read_the_home_folder_nor_the_task(workspace: Path, kind: str) -> None:
    home = os.path.expanduser("~")
    (workspace.parent.parent / "key").write_text("secret-4711")
    _, output = inside("exec 2>/dev/null; cat ../paper.md ../../key; ls -a .. ../..", workspace, kind)
    for words in ("secret-4711", "the paper", "paper.md", "key\n"):
        assert words not in output
    _, output = inside(f"ls -A {home}", workspace, kind)
    python = os.path.relpath(sys.base_prefix, home).partition("/")[0]  # a Python that lives at home must be seen
    assert {line for line in output.splitlines() if line in os.listdir(home)} <= {python}


@EVERY_KIND
@pytest.mark.parametrize("step", ["cd /", "cd /nowhere", "ln -s / root && cd root", "cd .. && cd .."], ids=str)
def test_wherever_a_command_goes_it_can_write_no_more(step: str, workspace: Path, kind: str) -> None:
    inside(f"{step}; echo owned > owned; pwd", workspace, kind)
    assert not os.path.lexists("/owned")
    assert not (workspace.parent / "owned").exists()
    assert inside("pwd", workspace, kind) == (0, f"{workspace}\n")


@EVERY_KIND
def test_a_hundred_commands_leave_nothing_but_what_they_made(workspace: Path, kind: str) -> None:
    for number in range(10):
        inside(f"echo {number} > {number}; mktemp; echo x > $HOME/x", workspace, kind)
    assert sorted(path.name for path in workspace.iterdir()) == [str(number) for number in range(10)]


# Secrets and other processes


@EVERY_KIND
def test_a_command_does_not_see_the_environment(
    workspace: Path, kind: str, victim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-4711")
    places = "/proc/*/environ /proc/$PPID/mem /proc/$PPID/cmdline"
    code, output = inside(f"env; cat {places} /proc/{victim.pid}/environ | tr '\\0' '\\n'", workspace, kind)
    assert "HOME=/tmp" in output, (code, output)
    assert "4711" not in output


@EVERY_KIND
def test_a_command_inherits_no_descriptor(workspace: Path, kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret-4711")
    with open(tmp_path / "secret") as file:
        os.set_inheritable(file.fileno(), True)
        code = "import os\nfor n in range(3, 200):\n  try: print('open', n, os.fstat(n))\n  except OSError: pass"
        output = python_inside(f"import sys\n{code}\n", workspace, kind)
    assert output == ""


@EVERY_KIND
def test_a_command_reaches_no_process_of_the_host(workspace: Path, kind: str, victim: subprocess.Popen[bytes]) -> None:
    code = f"""
import os, resource, signal
for attempt in (lambda: os.kill({victim.pid}, 9), lambda: os.kill({os.getpid()}, 9),
                lambda: resource.prlimit({victim.pid}, resource.RLIMIT_CPU, (0, 0)),
                lambda: os.setpriority(os.PRIO_PROCESS, {victim.pid}, 19),
                lambda: open("/proc/{victim.pid}/mem", "rb"), lambda: os.listdir("/proc/{victim.pid}/fd")):
    try: attempt(); print("a hole")
    except OSError: pass
"""
    assert python_inside(code, workspace, kind) == ""
    inside("kill -9 -1", workspace, kind)
    assert victim.poll() is None
    assert os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)


@EVERY_KIND
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ptrace", 101), ("keyctl", 250), ("add_key", 248), ("io_uring_setup", 425), ("bpf", 321), ("unshare", 272),
        ("perf_event_open", 298), ("mount", 165), ("setns", 308), ("userfaultfd", 323), ("process_vm_readv", 310),
        ("kexec_load", 246), ("memfd_create", 319), ("shmget", 29), ("open_by_handle_at", 304),
    ],
)  # fmt: skip
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86_64")
def test_a_call_that_opens_a_way_out_is_refused(name: str, number: int, workspace: Path, kind: str) -> None:
    code = (
        "import ctypes\nkernel = ctypes.CDLL(None, use_errno=True)\n"
        f"print(kernel.syscall({number}, 0, 0, 0, 0, 0), ctypes.get_errno())"
    )
    assert python_inside(code, workspace, kind) == "-1 1\n", name


@EVERY_KIND
def test_no_new_namespace_and_no_key_press_can_be_made(workspace: Path, kind: str) -> None:
    code = """
import ctypes, fcntl, os
kernel = ctypes.CDLL(None, use_errno=True)
print(kernel.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())
print(kernel.syscall(435, 0, 0), ctypes.get_errno())
print(kernel.ioctl(0, 0x5412, b"x"), ctypes.get_errno())
"""
    assert python_inside(code, workspace, kind) == "-1 1\n-1 38\n-1 1\n"


# Network


@EVERY_KIND
def test_a_command_reaches_no_socket(workspace: Path, kind: str, tmp_path: Path) -> None:
    path = f"/tmp/pipeline-test-{os.getpid()}.sock"  # a name of a socket has at most 108 bytes
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract,
    ):
        datagrams.bind(("127.0.0.1", 0))
        named.bind(path)
        named.listen()
        abstract.bind(f"\0pipeline-test-{os.getpid()}")
        try:
            output = python_inside(
                f"""
import socket
def attempt(what):
    try: what(); print("a hole")
    except OSError as error: pass
attempt(lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 5))
attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r}))
attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", {abstract.getsockname()!r}))
attempt(lambda: socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b"x", {abstract.getsockname()!r}))
attempt(lambda: socket.socket(socket.AF_VSOCK))
attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt(lambda: socket.getaddrinfo("example.com", 80))
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {datagrams.getsockname()[1]}))
except OSError: pass
print("tried")
""",
                workspace,
                kind,
            )
        finally:
            os.unlink(path)
        assert output == "tried\n"
        for receiver in (datagrams, abstract):
            receiver.setblocking(False)
            with pytest.raises(BlockingIOError):
                receiver.recv(1)


def test_landlock_alone_allows_no_socket_of_any_kind(workspace: Path) -> None:
    if not probe_kind(LANDLOCK).usable:
        pytest.skip(probe_kind(LANDLOCK).detail)
    code = """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_VSOCK):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try: print("a hole", socket.socket(family, kind))
        except PermissionError: pass
"""
    assert python_inside(code, workspace, LANDLOCK) == ""


# The end of a command


@EVERY_KIND
def test_a_child_that_was_sent_to_the_background_is_gone_when_the_command_is(workspace: Path, kind: str) -> None:
    mark = f"86400.{os.getpid()}"
    daemons = "".join(
        f"{how} sh -c 'echo x > {how}; exec sleep {mark}' >/dev/null 2>&1 {end} until [ -e {how} ]; do :; done\n"
        for how, end in (("setsid", "&"), ("nohup", "&"))
    )
    code, output = inside(f"{daemons}(setsid nohup sleep {mark} >/dev/null 2>&1 &)\necho started", workspace, kind)
    assert (code, "started" in output) == (0, True), output
    assert not running(mark)


@EVERY_KIND
def test_a_command_that_takes_too_long_is_stopped_with_its_children(workspace: Path, kind: str) -> None:
    mark = f"86401.{os.getpid()}"
    finished = run_command(
        Box(str(workspace), kind), f"echo begun; trap '' TERM; setsid sleep {mark} & sleep {mark}", seconds=1
    )
    assert finished == CommandResult(None, "stopped at a limit (time: 1 s)\nbegun\n", "time: 1 s", timed_out=True)
    assert not running(mark)


@pytest.mark.parametrize("kind", [*KINDS, OFF])
def test_when_the_runner_is_killed_no_process_of_a_command_goes_on(workspace: Path, kind: str) -> None:
    mark = f"86402.{os.getpid()}{len(kind)}"
    code = (
        "import sys; from phases.sandbox.box import *; from phases.sandbox.commands import *; "
        f"run_command(Box({str(workspace)!r}, {kind!r}), 'setsid nohup sleep {mark} >/dev/null 2>&1 & sleep {mark}')"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as runner:
        wait_until(lambda: running(f"sleep\0{mark}"), "the command starts")
        runner.kill()
    wait_until(lambda: not running(mark), "no process outlives the runner")


# Limits


@EVERY_KIND
def test_what_a_command_prints_is_of_bounded_size(workspace: Path, kind: str) -> None:
    code, output = inside("echo the beginning; yes | head -c 3000000; echo the end", workspace, kind)
    assert code == 0
    assert len(output) < LARGEST_OUTPUT + 100
    assert output.startswith("the beginning")
    assert "bytes left out here" in output
    assert output.endswith("the end\n")


@EVERY_KIND
def test_a_file_of_a_command_is_of_bounded_size(workspace: Path, kind: str) -> None:
    finished = bounded("head -c 3000000 /dev/zero > big", workspace, kind, file=2**20)
    assert (workspace / "big").stat().st_size == 2**20
    assert finished.limit == "file: 1 MiB each"


@EVERY_KIND
@pytest.mark.parametrize(
    ("command", "limits", "named"),
    [
        ("yes", {"output": 2**20}, "output: 1 MiB"),
        ("for i in $(seq 40); do sleep 60 & done; wait", {"processes": 20}, "processes: 20"),
        (
            "python -c 'import threading,time\nfor i in range(40): threading.Thread(target=time.sleep, args=(60,)).start()'",
            {"threads": 20},
            "threads: 20",
        ),
        (
            "for i in 1 2 3 4; do python -c 'import time; x=b\"x\"*40_000_000; time.sleep(60)' & done; wait",
            {"memory": 2**27},
            "memory: 128 MiB",
        ),
        ("head -c 20000000 /dev/zero > big; sleep 60", {"disk": 2**24}, "disk: 16 MiB in the workspace"),
        ("for i in 1 2 3; do head -c 9000000 /dev/zero > $i; done; sleep 60", {"disk": 2**24}, "disk: 16 MiB in the"),
        ("for i in $(seq 600); do : > $i; done; sleep 60", {"disk": 2**21}, "disk: 2 MiB in the workspace"),
        ("exec 5>big; rm big; head -c 20000000 /dev/zero >&5; sleep 60", {"disk": 2**24}, "disk: 16 MiB in the"),
        (
            'python -c \'import os\nfor i in range(400): os.mkdir("d"); os.chdir("d")\'; sleep 60',
            {"disk": 2**24},
            "disk: 16 MiB in the workspace",
        ),
    ],
    ids=["output", "processes", "threads", "memory", "one file", "files", "names", "a deleted file", "depth"],
)
def test_what_goes_over_a_limit_is_stopped_and_the_limit_is_named(
    command: str, limits: dict[str, int], named: str, workspace: Path, kind: str
) -> None:
    finished = bounded(command, workspace, kind, **limits)
    assert (finished.limit or "").startswith(named), finished
    assert finished.exit_code is None
    assert finished.output.startswith(f"stopped at a limit ({finished.limit})\n")


@EVERY_KIND
def test_one_process_gets_no_more_memory_than_all(workspace: Path, kind: str) -> None:
    code = "python -c 'import time; x = b\"x\" * 10**9; time.sleep(60)'"
    assert bounded(code, workspace, kind, memory=2**29).limit == "memory: 512 MiB"


@EVERY_KIND
def test_addresses_that_nothing_was_written_to_are_free(workspace: Path, kind: str) -> None:
    reserved = "mmap.mmap(-1, 40 * 2**30, flags=mmap.MAP_PRIVATE | 0x4000)"  # MAP_NORESERVE
    code = f"import mmap, time; x = {reserved}; x[:2**27] = bytes(2**27); time.sleep(1)"
    finished = bounded(f"python -c '{code}'", workspace, kind, memory=2**29)
    assert (finished.exit_code, finished.limit) == (0, None), finished.output


@pytest.mark.skipif(not probe_kind(BUBBLEWRAP).usable, reason="the others have no /proc of their own")
def test_a_command_is_the_first_to_go_where_the_machine_runs_out_of_memory(workspace: Path) -> None:
    assert inside("cat /proc/self/oom_score_adj", workspace, BUBBLEWRAP) == (0, "1000\n")


@EVERY_KIND
def test_a_sparse_file_that_costs_no_disk_is_no_breach(workspace: Path, kind: str) -> None:
    finished = bounded("truncate -s 1G sparse && sleep 0.6", workspace, kind, disk=2**24)
    assert (finished.exit_code, finished.limit) == (0, None)


@EVERY_KIND
def test_a_folder_that_was_full_before_may_be_made_smaller(workspace: Path, kind: str) -> None:
    (workspace / "big").write_bytes(b"x" * 2**22)
    assert bounded("sleep 0.6; rm big", workspace, kind, disk=2**20).exit_code == 0


# Strange commands


@EVERY_KIND
@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (" && ".join(["true"] * 60), 0, ""),
        ("echo $(echo a)\necho b", 0, "a\nb\n"),
        ("true " + "x" * 90_000, 0, ""),
        ("true " + "x" * 200_000, None, "not run: the command has 200,005 bytes, over 100,000"),
        ("echo a\0b", None, "not run: there is a NUL character in the command\n"),
        ("echo \ud800", None, "not run: the command is not valid text: it holds half a surrogate pair\n"),
        (
            "printf '\\377\\033]0;owned\\007\\033[2J\\r\\302\\233x\\342\\200\\256y'",
            0,
            "�\\x1b]0;owned\\x07\\x1b[2J\\r\\x9bx\\u202ey",
        ),
        ("", 0, ""),
        ("syntax ' error", 2, "bash: "),
    ],
    ids=["60 parts", "two lines", "long", "too long", "NUL", "half a character", "terminal tricks", "empty", "syntax"],
)
def test_a_strange_command_runs_or_is_refused(
    command: str, code: int | None, words: str, workspace: Path, kind: str
) -> None:
    finished = run_command(Box(str(workspace), kind), command, seconds=HANGS)
    assert finished.exit_code == code, finished
    assert finished.output.startswith(words)


@pytest.mark.parametrize("kind", [*KINDS, OFF])
def test_nothing_that_lies_in_the_workspace_is_run_unasked(
    workspace: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sitecustomize", "usercustomize", "os", "ctypes", "resource", "phases/__init__", "encodings/__init__"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / f"{name}.py").write_text(f"open({str(workspace / 'ran')!r}, 'w')\n")
    for name in ("sh", "python", "python3", "bwrap", "true"):
        (workspace / name).write_text(f"#!/bin/sh\n: > {workspace}/ran\n")
        (workspace / name).chmod(0o755)
    (workspace / "x.pth").write_text("import os\n")
    monkeypatch.setenv("PYTHONPATH", str(workspace))
    monkeypatch.chdir(workspace)
    assert run_command(Box(str(workspace), kind), "true; command -v python sh").exit_code == 0
    assert not (workspace / "ran").exists()


@EVERY_KIND
@pytest.mark.parametrize("missing", ["workspace", "readable"])
def test_what_is_not_there_is_named(missing: str, workspace: Path, kind: str, tmp_path: Path) -> None:
    nothing = str(tmp_path / "nothing")
    box = Box(nothing, kind) if missing == "workspace" else Box(str(workspace), kind, readable=(nothing,))
    assert run_command(box, "true") == CommandResult(
        None, f"not run: {nothing} is needed in the sandbox, and is not there\n", None
    )


# Whether there is a sandbox


def test_without_a_sandbox_nothing_runs_unless_the_user_says_so(workspace: Path) -> None:
    refused = run_command(Box(str(workspace), NONE), "touch ran")
    assert (refused.exit_code, "--unsandboxed" in refused.output) == (None, True)
    assert not (workspace / "ran").exists()
    assert run_command(Box(str(workspace), OFF), "touch ran").exit_code == 0
    assert (workspace / "ran").exists()
    assert kind_of_sandbox("off") == OFF
    assert kind_of_sandbox("required") == (probe_best().kind if probe_best().usable else NONE)


FALSE_BUBBLEWRAP = """#!/bin/sh
case "$1" in --version) echo bubblewrap 9; exit;; --help) exit;; esac
while [ "$1" != -- ]; do shift; done
shift 5
while [ "$1" != -- ]; do case "$1" in cd:*) cd "${1#cd:}";; esac; shift; done
shift
"""


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ('exec "$@"', "could be written"),
        ('exec "$real" --dev-bind / / --unshare-net -- "$@"', "could be written"),
        ('exec "$real" --ro-bind / / --bind "$PWD" "$PWD" --unshare-net -- "$@"', "a file outside could be read"),
        ('exec "$real" --dev-bind / / --tmpfs "$PWD/../outside" -- "$@"', "a socket of this machine could be reached"),
        ("exit 0", "does not start here"),
        ("echo no namespaces >&2; exit 1", "does not start here: no namespaces"),
    ],
    ids=["nothing", "network alone", "not reading", "not the network", "runs nothing", "fails"],
)
def test_a_bubblewrap_that_keeps_too_little_in_is_found_out(
    ending: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("bwrap")
    if not real:
        pytest.skip("there is no bubblewrap here to twist")
    names = f"export PATH={tmp_path}:$PATH\nreal={real}\n"
    (tmp_path / "bwrap").write_text(FALSE_BUBBLEWRAP + names + ending + "\n")
    (tmp_path / "bwrap").chmod(0o755)
    (tmp_path / "python").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = probe_kind.__wrapped__(BUBBLEWRAP)
    assert not found.usable
    assert words in found.detail


def test_a_machine_without_bubblewrap_falls_back_on_landlock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert probe_kind.__wrapped__(BUBBLEWRAP) == (False, "bubblewrap is not installed", NONE)
    # commands find bash by a path of their own
    assert probe_kind.__wrapped__(LANDLOCK).usable == probe_kind(LANDLOCK).usable


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_an_older_landlock_holds_or_is_refused(version: int, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not probe_kind(LANDLOCK).usable:
        pytest.skip(probe_kind(LANDLOCK).detail)
    for module in ("landlock", "launch", "probe"):
        monkeypatch.setattr(f"phases.sandbox.{module}.landlock_abi", lambda: version)
    found = probe_kind.__wrapped__(LANDLOCK)
    if version < 3:
        assert found == (False, f"the kernel has Landlock {version}, and 3 is needed", NONE)
        return
    assert found == (True, f"Landlock {version} and seccomp, no signals", LANDLOCK)
    mark = f"86404.{os.getpid()}"
    code, output = inside(f"setsid sleep {mark} & kill -9 $PPID || echo refused", workspace, LANDLOCK)
    assert (code, output.splitlines()[-1]) == (0, "refused")
    assert not running(mark)


REFUSING = """
import ctypes, struct, sys
steps = [(0x20, 0, 0, 0)]
for number in {numbers}:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | {code})]
steps.append((0x06, 0, 0, 0x7fff0000))
data = b"".join(struct.pack("=HBBI", *step) for step in steps)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
kernel = ctypes.CDLL(None)
assert not kernel.prctl(38, 1, 0, 0, 0)
assert not kernel.prctl(22, 2, ctypes.byref(Program(len(steps), data)), 0, 0)
from phases.sandbox.box import *
from phases.sandbox.probe import *
from phases.sandbox.commands import *
print(probe_best())
print(run_command(Box({workspace!r}, kind_of_sandbox("required")), "touch ran"))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86_64")
def test_where_the_kernel_has_neither_namespaces_nor_landlock_nothing_runs(workspace: Path, tmp_path: Path) -> None:
    code = REFUSING.format(numbers=(444, 56, 272), code=38, workspace=str(workspace))
    # bubblewrap cannot make a namespace, Python cannot fork by clone: it then takes vfork or clone3
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert "Probe(usable=False" in ended.stdout, ended
    assert "no Landlock, and 3 is needed" in ended.stdout
    assert "--unsandboxed" in ended.stdout
    assert not (workspace / "ran").exists()


# As an ordinary user

ORDINARY = """
import os, sys
sys.path.insert(0, {root!r})
from phases.sandbox.box import *
from phases.sandbox.probe import *
from phases.sandbox.commands import *
box = Box({workspace!r}, {kind!r})
print(probe_kind({kind!r}))
print(run_command(box, "python3 -c 'open(\\"made\\", \\"w\\").write(\\"x\\")'; cat made {secret}; echo x > {secret}; id -u"))
print(run_command(box, "setsid sleep {mark} & sleep {mark}", seconds=1))
bomb = "b() {{ [ $1 = 0 ] && sleep 50 || {{ b $(($1 - 1)) | b $(($1 - 1)) & }}; }}; b 8; sleep 60"
print(run_command(box._replace(limits=Limits(processes=20)), bomb, seconds=60).limit)
"""


@EVERY_KIND
def test_an_ordinary_user_has_the_same_sandbox(kind: str) -> None:
    if os.getuid() or not shutil.which("setpriv") or not os.path.exists("/usr/bin/python3"):
        pytest.skip("needs root, setpriv and the system's own Python")
    folder = Path(f"/tmp/pipeline-test-user-{os.getpid()}-{kind}")
    (folder / "workspace").mkdir(parents=True)
    try:
        (folder / "secret").write_text("secret-4711")
        for path in (folder, folder / "workspace", folder / "secret"):
            os.chown(path, 1000, 1000)
        mark = f"86403.{os.getpid()}"  # the other kinds are tried at the same time
        code = ORDINARY.format(
            root=str(ROOT), workspace=str(folder / "workspace"), kind=kind, secret=str(folder / "secret"), mark=mark
        )
        user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
        ended = subprocess.run(
            [*user, "/usr/bin/python3", "-B", "-c", code], capture_output=True, text=True, timeout=HANGS, check=False
        )
        if "Probe(usable=False" in ended.stdout:
            pytest.skip(ended.stdout)
        assert "4711" not in ended.stdout
        assert "exit_code=0, output='x" in ended.stdout, ended
        assert "limit='time: 1 s'" in ended.stdout, ended
        assert "processes: 20" in ended.stdout, ended
        assert (folder / "secret").read_text() == "secret-4711"
        assert not running(mark)
    finally:
        shutil.rmtree(folder)
