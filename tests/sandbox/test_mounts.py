"""Everything that is mounted for commands, tried from within in every kind of sandbox: it is read, and not changed or left."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from phases.sandbox.box import APPTAINER, DOCKER, ENGINES, LANDLOCK, MOUNTED, PODMAN, Box, Limits
from phases.sandbox.commands import kind_of_sandbox, run_command
from phases.sandbox.containers import wrap_in_container
from phases.sandbox.devices import DataFolder
from phases.sandbox.probe import probe_kind
from phases.workspace.manifest import tree_digest
from phases.workspace.tree import TreeEntry, list_entries, open_root
from phases.workspace.workspace import Workspace
from tests.papers import HANGS, ROOT
from tests.sandbox.test_agent_sandbox import EVERY_KIND
from tests.work import wait_until

ATTACKS = """
import json, mmap, os, socket, subprocess, sys
root, host = sys.argv[1:]
inner, new = root + "/inner.txt", root + "/new"
def by_descriptor():
    fd = os.open(inner, os.O_RDONLY)
    open(f"/proc/self/fd/{fd}", "r+").write("mine")
def by_hard_link():
    os.link(inner, "hard")
    open("hard", "a").write("mine")
def by_map():
    with open(inner, "r+b") as file:
        mmap.mmap(file.fileno(), 0)[:1] = b"x"
def by_socket():
    socket.socket(socket.AF_UNIX).bind(new)
def by_device():
    os.mknod("disk", 0o660 | 0o060000, os.makedev(254, 0))
    open("disk", "rb").read(1)
attacks = {
    "append": lambda: open(inner, "a").write("mine"),
    "empty": lambda: os.truncate(inner, 0),
    "make": lambda: open(new, "w"),
    "make a directory": lambda: os.mkdir(new),
    "link in": lambda: os.symlink("/etc/passwd", new),
    "remove": lambda: os.unlink(inner),
    "move out": lambda: os.rename(inner, "moved"),
    "move in": lambda: (open("own", "w").close(), os.rename("own", inner)),
    "hard link": by_hard_link,
    "descriptor": by_descriptor,
    "map": by_map,
    "socket": by_socket,
    "device": by_device,
    "remount": lambda: subprocess.run(["mount", "-o", "remount,rw", root], check=True, capture_output=True),
    "unmount": lambda: subprocess.run(["umount", root], check=True, capture_output=True),
    "mode": lambda: os.chmod(inner, 0o777),
    "times": lambda: os.utime(inner, (1, 1)),
    "attribute": lambda: os.setxattr(inner, "user.mine", b"1"),
    "beside": lambda: open(root + "/../secret").read(),
    "beside, as the host has it": lambda: open(host + "/../secret").read(),
    "through a link": lambda: open(root + "/way_out").read(),
    "first process": lambda: open(f"/proc/1/root{host}/../secret").read(),
}
holes = []
for name, attack in attacks.items():
    try:
        attack()
        holes.append(name)
    except (OSError, subprocess.SubprocessError, ValueError):
        pass
print(json.dumps({"holes": holes, "read": open(inner).read()}))
"""
_UNRULED = {"mode", "times"}
"""Landlock has no rule for these. They change no content, and a program needs them for its own files."""


def in_readable(box: Box, path: str) -> tuple[Box, str]:
    return box._replace(readable=(path,)), path


def in_environment(box: Box, path: str) -> tuple[Box, str]:
    return box._replace(python=path), path


def in_data(box: Box, path: str) -> tuple[Box, str]:
    folder = DataFolder("set", path)
    return box._replace(data=(folder,)), folder.inside if box.kind in MOUNTED else path


def in_workspace(box: Box, path: str) -> tuple[Box, str]:
    return box._replace(read_only=(path,)), path


MOUNTS = {
    "paper, jobs and code of other people": in_readable,
    "environment": in_environment,
    "data": in_data,
    "hooks of the workspace": in_workspace,
}


@EVERY_KIND
@pytest.mark.parametrize("mount", MOUNTS)
def test_what_is_mounted_to_be_read_cannot_be_changed_nor_left(tmp_path: Path, kind: str, mount: str) -> None:
    if mount == "hooks of the workspace" and kind == LANDLOCK:
        pytest.skip("Landlock cannot take back a right beneath a directory that has it; the gate notices a change")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text("4711")
    root = (workspace if mount == "hooks of the workspace" else tmp_path) / "mounted"
    root.mkdir()
    (root / "inner.txt").write_text("as it was")
    (root / "way_out").symlink_to(tmp_path / "secret")
    (workspace / "attack.py").write_text(ATTACKS)
    before = state_of(root)
    box, inside = MOUNTS[mount](Box(str(workspace), kind), str(root))
    finished = run_command(box, f"python attack.py '{inside}' '{root}'", seconds=HANGS)
    assert finished.exit_code == 0, finished.output
    told = json.loads(finished.output)
    assert told["read"] == "as it was"
    allowed = _UNRULED if kind == LANDLOCK else set()
    if mount == "hooks of the workspace":
        allowed |= {"beside"} & {name for name in told["holes"] if (workspace / "secret").exists()}
    assert set(told["holes"]) <= allowed
    assert state_of(root)[:-1] == before[:-1]
    assert kind == LANDLOCK or state_of(root) == before


MAKES = (
    "mkdir -p .pipeline; echo x > .pipeline/hooks.yaml",
    "ln -s /tmp .pipeline; echo x > .pipeline/hooks.yaml; mkdir own; mv own .pipeline; mv -T own .pipeline; rmdir own",
    "rmdir .pipeline; rm -rf .pipeline; mv .pipeline away; echo x > .pipeline; touch .pipeline/hooks.yaml; chmod 777 .pipeline",
    'python -c \'import os; os.rename(".pipeline", "away")\'; python -c \'import os; os.mkdir(".pipeline/scripts")\'',
)


@pytest.mark.skipif(kind_of_sandbox("bubblewrap") != "bubblewrap", reason="no bubblewrap on this machine")
def test_a_command_that_ends_opens_no_way_for_one_that_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    box = Box(str(root), "bubblewrap", read_only=(str(root / ".pipeline"),))
    waits = "touch begun; while [ ! -e ended ]; do sleep 0.02; done; mkdir -p .pipeline; echo x > .pipeline/hooks.yaml"
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run_command, box, waits, seconds=HANGS)
        wait_until(lambda: (root / "begun").exists(), "the first command runs")
        assert run_command(box, "touch ended", seconds=HANGS).exit_code == 0
        assert "Read-only file system" in other.result().output
    assert sorted(path.name for path in root.iterdir()) == ["begun", "ended"]


@EVERY_KIND
@pytest.mark.parametrize("makes", MAKES)
@pytest.mark.parametrize("before", ["nothing", "what a killed run left"])
def test_no_command_makes_the_directory_of_the_hooks(tmp_path: Path, kind: str, makes: str, before: str) -> None:
    if kind == LANDLOCK:
        pytest.skip("Landlock cannot take back a right beneath a directory that has it; untrusted hooks do not run")
    workspace, control = tmp_path / "workspace", tmp_path / "workspace" / ".pipeline"
    workspace.mkdir()
    (workspace / "kept.py").write_text("KEPT = 1\n")
    digest, entries = tree_digest(Workspace(str(workspace))), entries_of(workspace)
    if before != "nothing":
        control.mkdir()
    box = Box(str(workspace), kind, read_only=(str(control),))
    assert run_command(box, f"{makes}; true", seconds=HANGS).exit_code == 0
    assert os.listdir(workspace) == ["kept.py"]
    assert (tree_digest(Workspace(str(workspace))), entries_of(workspace)) == (digest, entries)


def entries_of(workspace: Path) -> list[TreeEntry]:
    """What a snapshot of the workspace holds."""
    with open_root(str(workspace)) as root:
        return [entry._replace(settled=False) for entry in list_entries(root)]


@EVERY_KIND
def test_the_hooks_that_a_user_put_there_stay(tmp_path: Path, kind: str) -> None:
    control = tmp_path / ".pipeline"
    control.mkdir()
    (control / "hooks.yaml").write_text("theirs")
    box = Box(str(tmp_path), kind, read_only=(str(control),))
    assert run_command(box, "cat .pipeline/hooks.yaml", seconds=HANGS).output == "theirs"
    assert (control / "hooks.yaml").read_text() == "theirs"


@EVERY_KIND
@pytest.mark.parametrize("place", ["a link", "another workspace", "no mount"])
def test_nothing_is_made_where_no_mount_is_needed(tmp_path: Path, kind: str, place: str) -> None:
    workspace, other = tmp_path / "workspace", tmp_path / "other"
    workspace.mkdir()
    other.mkdir()
    if place == "a link":
        (workspace / ".pipeline").symlink_to(other)
    named = {"a link": (workspace / ".pipeline",), "another workspace": (other / ".pipeline",), "no mount": ()}[place]
    box = Box(str(workspace), kind, read_only=tuple(map(str, named)))
    assert run_command(box, "true", seconds=HANGS).exit_code == 0
    assert list(other.iterdir()) == []
    assert os.listdir(workspace) == ([".pipeline"] if place == "a link" else [])


def state_of(root: Path) -> tuple[object, ...]:
    status = (root / "inner.txt").stat()
    signs = (status.st_mode, status.st_mtime_ns, os.listxattr(root / "inner.txt"))
    return sorted(os.listdir(root)), (root / "inner.txt").read_text(), signs


@EVERY_KIND
def test_a_file_system_that_is_mounted_beneath_data_is_not_writable_either(tmp_path: Path, kind: str) -> None:
    inner = tmp_path / "data" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    with mounted(inner):
        (inner / "theirs").write_text("theirs")
        box, inside = in_data(Box(str(tmp_path / "workspace"), kind), str(tmp_path / "data"))
        attack = f"echo mine > {inside}/inner/theirs; echo mine > {inside}/inner/new; true"
        assert run_command(box, attack, seconds=HANGS).exit_code == 0
        assert [(path.name, path.read_text()) for path in inner.iterdir()] == [("theirs", "theirs")]


@contextmanager
def mounted(path: Path) -> Iterator[None]:
    done = subprocess.run(["mount", "-t", "tmpfs", "none", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


@EVERY_KIND
def test_what_is_written_beside_the_workspace_has_a_bound(tmp_path: Path, kind: str) -> None:
    """Files in memory belong to no process, so a place for them without a bound would be memory without one."""
    box = Box(str(tmp_path), kind, limits=Limits(scratch=2**20))
    places = "/ /tmp /run /var/tmp /var /dev /dev/shm /dev/mqueue /etc /home /data /run/pipeline /sys /sys/fs/cgroup"
    fill = f'for d in {places}; do head -c 80M /dev/zero > $d/filled && echo "$d: 80 MB"; done; true'
    assert "80 MB" not in run_command(box, fill, seconds=HANGS).output


@EVERY_KIND
def test_a_card_is_there_and_no_other_device(tmp_path: Path, kind: str) -> None:
    """The node of /dev/zero stands for a card: what is bound can be used, and nothing beside it."""
    card, other = Path.home() / f".card-{os.getpid()}-{kind}", Path("/dev/kmsg")
    (tmp_path / "workspace").mkdir()
    try:
        os.mknod(card, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        card.chmod(0o666)
        card.open("rb").close()
    except OSError as error:
        card.unlink(missing_ok=True)
        pytest.skip(f"no device node can be made here: {error}")
    try:
        box = Box(str(tmp_path / "workspace"), kind, devices=(str(card),))
        seen = run_command(box, f"head -c 3 {card} | wc -c; head -c 1 {other}; ls /dev", seconds=HANGS).output
    finally:
        card.unlink()
    assert seen.startswith("3\n")
    assert f"cannot open '{other}'" in seen
    assert kind == LANDLOCK or "kmsg\n" not in seen


# engines


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PODMAN, DOCKER])
def test_what_an_engine_runs_ends_when_the_pipeline_is_killed(tmp_path: Path, kind: str) -> None:
    """A daemon would keep a container: its first process ends it when the one that started it is gone."""
    if not probe_kind(kind).usable:
        pytest.skip(probe_kind(kind).detail)
    (tmp_path / "code").mkdir()
    code = (
        "import sys; from phases.sandbox.box import Box; from phases.sandbox.commands import run_command; "
        "run_command(Box(sys.argv[1], sys.argv[2]), 'while true; do date +%N > step; sleep 0.1; done', seconds=600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "code"), kind], cwd=ROOT)
    step = tmp_path / "code" / "step"
    wait_until(step.exists, "the command runs")
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(2)
    last = step.read_text()
    time.sleep(1)
    assert step.read_text() == last


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENGINES)
def test_what_an_engine_runs_is_stopped_at_the_limit_of_memory(tmp_path: Path, kind: str) -> None:
    if not probe_kind(kind).usable:
        pytest.skip(probe_kind(kind).detail)
    held = "python -c 'x = bytearray(400 << 20); import time; time.sleep(60)'"
    finished = run_command(Box(str(tmp_path), kind, limits=Limits(memory=200 << 20)), held, seconds=HANGS)
    assert finished.limit == "memory: 200 MiB"


def test_an_engine_that_is_named_and_does_not_hold_is_not_replaced_by_a_weaker_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phases.sandbox.commands.probe_kind", lambda kind: probe_kind("no such engine"))
    monkeypatch.setattr("phases.sandbox.probe.engine_version", lambda kind: "x")
    assert kind_of_sandbox(PODMAN) == "none"


def _engine_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.setattr("phases.sandbox.containers.find_engine", lambda kind: str(path / kind))
    monkeypatch.setattr("phases.sandbox.containers.load_empty_image", lambda: None)
    monkeypatch.setattr("phases.sandbox.containers.engine_version", lambda kind: f"{kind} version 20.1")
    return lambda kind: str(path / kind)


@pytest.mark.parametrize("kind", ENGINES)
def test_the_line_of_an_engine_opens_what_the_box_says_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    engine = _engine_at(tmp_path, monkeypatch)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    box = Box(
        "/w", kind, readable=("/r",), writable=("/also",), data=(DataFolder("set", "/d"),), devices=("/dev/nvidia0",)
    )
    secret = {"TOKEN": "4711"}
    argv = wrap_in_container(
        box, ["/py/bin/python", "/py"], ["cd:/w", "--", "bash"], str(scratch), secret, network=False
    )
    assert argv[0] == engine(kind)
    line = " ".join(argv)
    assert "4711" not in line
    assert (scratch / "environment").read_text() == "TOKEN=4711\n"
    assert (scratch / "environment").stat().st_mode & 0o077 == 0
    words = ["--network none", "/dev/nvidia0", "-I -S /run/pipeline/confine.py cd:/w -- bash"]
    writable = [word for word in argv if word.startswith("type=bind") and ",readonly" not in word]
    if kind == APPTAINER:
        words += ["--containall", "--cleanenv", "--no-privs", "/d:/data/set:ro", "/w:/w:rw", "/r:/r:ro"]
        writable = [word for word in argv if word.endswith(":rw") and "nvidia" not in word]
    else:
        words += ["--read-only", "--cap-drop ALL", "no-new-privileges", "--pull never"]
        words.append("source=/d,target=/data/set,readonly")
    assert [word for word in words if word not in line] == []
    assert len(writable) == 2
    assert "--privileged" not in line


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("path", ["/a,readonly=false", "/a:/etc", '/a"b', "/a\nb"])
def test_a_path_that_would_be_read_as_an_option_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, path: str
) -> None:
    _engine_at(tmp_path, monkeypatch)
    (tmp_path / "s").mkdir()
    with pytest.raises(ValueError, match="a container cannot be given"):
        wrap_in_container(Box("/w", kind, readable=(path,)), ["/p"], ["--"], str(tmp_path / "s"), {}, network=False)
