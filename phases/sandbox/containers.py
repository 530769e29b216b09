"""Build the command lines of podman, docker and apptainer, with bubblewrap's view of the system in a container.

There is no image to fetch: a container begins with an empty root, and the system of this machine is mounted in it, read-only.
"""

from __future__ import annotations

import io
import os
import pwd
import re
import resource
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from phases.sandbox.bash import SEARCH_PATH
from phases.sandbox.box import APPTAINER, DOCKER, PODMAN, Box
from phases.sandbox.bubblewrap import BIN, CONFINE, INSIDE, TMP, is_in_system
from phases.sandbox.devices import DATA
from phases.sandbox.landlock import SYSTEM
from phases.sandbox.process_tree import count_threads_of_user
from phases.sandbox.scratch import PREFIX, is_stale
from pipeline.base.safe_tree import open_regular

_HERE = os.path.dirname(os.path.abspath(__file__))
_IMAGE = "paper-pipeline-empty:2"
_OPEN_FILES = 4096
_RENAMED = 25
"""The version of docker that calls bind-nonrecursive otherwise."""
_SECONDS = 60
_ENGINE_PATH = f"{SEARCH_PATH}:/usr/local/sbin:/usr/sbin:/sbin"


class Mount(NamedTuple):
    """A path of this machine, and where a container finds it."""

    source: str
    target: str
    is_writable: bool = False


def wrap_in_container(
    box: Box, python: Sequence[str], words: Sequence[str], scratch: str, variables: Mapping[str, str], *, network: bool
) -> list[str]:
    """Wrap a command in a container. `python` is its interpreter, then the directories that it needs.

    `scratch` is an empty directory; its name becomes the container's. Raises OSError, ValueError for an impossible name.
    """
    mounts = _list_mounts(box, python, _make_names(scratch, python[0]))
    command = [python[0], "-I", "-S", CONFINE, *words]
    # On a command line everybody could read it.
    environment = _write_environment(scratch, variables)
    if box.kind == APPTAINER:
        return [*_apptainer_options(box, mounts, environment, network=network), _make_root(scratch), *command]
    options = [*_container_options(box, mounts, environment, network=network), "--name", os.path.basename(scratch)]
    if box.kind == DOCKER:
        load_empty_image()
        return [find_engine(DOCKER), "run", *options, *_docker_options(box), _IMAGE, *command]
    return [find_engine(PODMAN), "run", *options, *_podman_options(), "--rootfs", _make_root(scratch), *command]


def find_engine(kind: str) -> str:
    """Return the path of the program. Raises OSError if it is not installed."""
    found = shutil.which(kind, path=_ENGINE_PATH)
    if found is None:
        raise FileNotFoundError(f"{kind} is not installed")
    return found


def engine_version(kind: str) -> str:
    """Return an engine's version. Raises OSError without it."""
    asked = subprocess.run(
        [find_engine(kind), "--version"],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env=engine_environment(),
    )
    return " ".join(asked.stdout.split()) or kind


def engine_environment() -> dict[str, str]:
    """Return the environment of an engine: not the user's, which may hold keys."""
    runtime = f"/run/user/{os.getuid()}"
    return {
        "HOME": pwd.getpwuid(os.getuid()).pw_dir,
        "PATH": _ENGINE_PATH,
        **({"XDG_RUNTIME_DIR": runtime} if os.path.isdir(runtime) else {}),
    }


def remove_container(kind: str, name: str) -> None:
    """End a container that may be there still, and remove what the engine knows of it."""
    if kind in (PODMAN, DOCKER):
        _ask_engine(kind, "rm", "--force", "--volumes", name)


def find_first_process(name: str) -> int:
    """Return the id of a docker container's first process on this machine, which is not our child; 0 if there is none."""
    told = _ask_engine(DOCKER, "inspect", "--format", "{{.State.Pid}}", name).strip()
    return int(told) if told.isdigit() and os.path.isdir(f"/proc/{told}") else 0


@cache
def remove_leftovers(kind: str) -> None:
    """Remove containers of runs that were killed; once a process."""
    for name in _ask_engine(kind, "ps", "--all", "--filter", f"name=^{PREFIX}", "--format", "{{.Names}}").split():
        if is_stale(name):
            remove_container(kind, name)


@cache
def load_empty_image() -> None:
    """Make the image that docker wants: nothing but the links of this system's root. Raises OSError."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path, target in _root_links().items():
            link = tarfile.TarInfo(path.lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for path in (os.path.dirname(INSIDE), INSIDE, DATA):
            directory = tarfile.TarInfo(path.lstrip("/"))
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(directory)
    made = subprocess.run(
        [find_engine(DOCKER), "import", "-", _IMAGE],
        input=data.getvalue(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
        env=engine_environment(),
    )
    if made.returncode:
        raise OSError(" ".join(made.stderr.decode("utf-8", "replace").split())[-300:])


def _ask_engine(kind: str, *words: str) -> str:
    try:
        asked = subprocess.run(
            [find_engine(kind), *words],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=engine_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout


def _list_mounts(box: Box, python: Sequence[str], names: str) -> list[Mount]:
    """Return the mounts in order: a later one covers an earlier one."""
    read = [path for path in SYSTEM if os.path.exists(path) and not os.path.islink(path)]
    read += [path for path in (*python[1:], *box.all_readable) if not is_in_system(path)]
    mounts = [Mount(path, path) for path in dict.fromkeys(read)]
    mounts += [Mount(folder.path, folder.inside) for folder in box.data]
    mounts += [Mount(names, BIN), Mount(os.path.join(_HERE, "confine.py"), CONFINE)]
    mounts += [Mount(path, path, is_writable=True) for path in (box.workspace, *box.writable)]
    return mounts + [Mount(path, path) for path in box.read_only if os.path.isdir(path) and not os.path.islink(path)]


def _container_options(box: Box, mounts: Sequence[Mount], environment: str, *, network: bool) -> list[str]:
    """Return the options that podman and docker share."""
    size = box.limits.scratch
    options = ["--rm", "--interactive", "--read-only", "--network", "host" if network else "none", "--pull", "never"]
    options += [
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--hostname",
        "sandbox",
        "--log-driver",
        "none",
    ]
    options += ["--ulimit", f"nofile={_OPEN_FILES}:{_OPEN_FILES}", "--ulimit", f"nproc={_most_processes(box)}"]
    options += ["--tmpfs", f"{TMP}:rw,exec,nosuid,nodev,size={size},mode=1777", "--shm-size", str(size)]
    options += ["--env-file", environment, "--workdir", box.workspace]
    # A file system that is mounted beneath would stay writable, so it is not taken along.
    alone = "bind-recursive=disabled" if box.kind == DOCKER and _is_new_docker() else "bind-nonrecursive=true"
    for mount in mounts:
        mode = (alone,) if mount.is_writable else ("readonly", alone)
        where = (f"source={_plain(mount.source)}", f"target={_plain(mount.target)}")
        options += ["--mount", ",".join(("type=bind", *where, *mode))]
    for path in box.devices:
        options += ["--device", path]
    return options


def _podman_options() -> list[str]:
    user = f"{os.getuid()}:{os.getgid()}"
    mapping = ["--userns", "keep-id"] if os.getuid() else []
    # By itself podman makes /run, /tmp and /var/tmp writable in memory, without any bound.
    return [*mapping, "--user", user, "--no-hosts", "--image-volume", "ignore", "--read-only-tmpfs=false"]


def _docker_options(box: Box) -> list[str]:
    """Return docker's own options: its daemon holds the containers, so /tmp and shared memory count as memory there."""
    most = box.limits.memory + 2 * box.limits.scratch
    user = f"{os.getuid()}:{os.getgid()}"
    return ["--user", user, "--memory", str(most), "--memory-swap", str(most), "--pids-limit", str(box.limits.threads)]


def _apptainer_options(box: Box, mounts: Sequence[Mount], environment: str, *, network: bool) -> list[str]:
    options = [find_engine(APPTAINER), "exec", "--containall", "--cleanenv", "--no-home", "--no-privs", "--userns"]
    options += ["--no-eval", "--writable-tmpfs", "--no-mount", "hostfs,bind-paths,home,cwd"]
    options += [] if network else ["--net", "--network", "none"]
    options += ["--env-file", environment, "--pwd", box.workspace]
    for mount in mounts:
        mode = "rw" if mount.is_writable else "ro"
        options += ["--bind", f"{_plain(mount.source)}:{_plain(mount.target)}:{mode}"]
    for path in box.devices:
        options += ["--bind", f"{_plain(path)}:{_plain(path)}:rw"]
    return options


@cache
def _is_new_docker() -> bool:
    """Return whether docker warns of the older name of an option in the middle of a command's output."""
    version = re.search(r"\b(\d+)\.\d+", engine_version(DOCKER))
    return version is not None and int(version[1]) >= _RENAMED


def _plain(path: str) -> str:
    """Return a path that the options of containers can hold. Raises ValueError."""
    if any(sign in path for sign in ',:"\n'):
        raise ValueError(f"a container cannot be given {path!r}: a comma, a colon or a quote is in its name")
    return path


def _most_processes(box: Box) -> str:
    """Return the limit on processes: the kernel counts all threads of a user, and an engine's default may exceed its own."""
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = count_threads_of_user() + box.limits.threads
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    return f"{most}:{most}"


def _root_links() -> dict[str, str]:
    """Return the links in the root of this system, like /bin to usr/bin."""
    return {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}


def _make_root(scratch: str) -> str:
    root = os.path.join(scratch, "root")
    os.makedirs(root + INSIDE)
    for path, target in _root_links().items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        os.symlink(target, root + path)
    return root


def _make_names(scratch: str, python: str) -> str:
    names = os.path.join(scratch, "bin")
    os.mkdir(names)
    for name in ("python", "python3"):
        os.symlink(python, os.path.join(names, name))
    return names


def _write_environment(scratch: str, variables: Mapping[str, str]) -> str:
    if wrong := next((name for name, value in variables.items() if "\n" in name + value), None):
        raise ValueError(f"a container cannot be given the variable {wrong}: it holds a line end")
    path = os.path.join(scratch, "environment")
    descriptor = open_regular(path, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in variables.items())
    return path
