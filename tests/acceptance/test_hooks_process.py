"""A hook as a process: what it is given, how long it may take, and that nothing of it is left."""

from __future__ import annotations

import os
import re
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phases.acceptance.command_hooks import (
    MOST_KEPT,
    MOST_LOGGED,
    CommandLaunch,
    ProcessOutcome,
    dropped_names,
    environment_of,
    mask_tag,
    run_process,
    strip_control,
)
from phases.acceptance.hook import ACCEPT_GATE, COMMAND, USER, Hook
from pipeline.base.errors import Interrupted
from pipeline.base.text_escaping import escape_text
from tests.drills.test_hook_soak import MARK, descriptors, left_behind, soak
from tests.papers import HANGS, ROOT
from tests.strategies import NASTY, QUICK
from tests.work import must_end, wait_until

SYSTEM = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}


def ran(folder: Path, script: str, *, stdin: bytes = b"", seconds: float = HANGS, log: str = "") -> ProcessOutcome:
    """A script, run; that it leaves neither a process nor a descriptor is checked each time."""
    mark = f"{os.getpid()}-{folder.name}"
    before = descriptors()
    result = run_process(
        CommandLaunch(("/bin/sh", "-c", script), str(folder), {**SYSTEM, MARK: mark}, stdin, seconds, log)
    )
    assert left_behind(mark) == []
    assert descriptors() == before
    return result


def until_gone(mark: str) -> None:
    """Waits for processes that are killed, and whose parent is not there to wait for them."""
    wait_until(lambda: not left_behind(mark), "no process is left")


# What comes of it


def test_a_command_that_ends_is_told_apart_by_code_and_by_signal(tmp_path: Path) -> None:
    plain = ran(tmp_path, "printf out; printf err >&2; exit 7")
    assert (plain.exit_code, plain.signal, plain.stdout, plain.stderr) == (7, None, b"out", b"err")
    assert plain.is_whole
    killed = ran(tmp_path, "kill -KILL $$")
    assert (killed.exit_code, killed.signal, killed.fault) == (None, 9, "")


@pytest.mark.parametrize(
    ("argv", "folder", "fault"),
    [
        (("no-such-program",), ".", "no-such-program: No such file or directory"),
        (("./text",), ".", "./text: Permission denied"),
        (("./empty",), ".", "./empty: Exec format error"),
        (("true",), "gone", "gone: No such file or directory"),
        (("a\0b",), ".", "there is a NUL character in the command or in a variable"),
        (("a\ud800b",), ".", "surrogates not allowed"),
        ((), ".", "the command is empty"),
    ],
    ids=["no program", "not executable", "no format", "no folder", "a NUL", "half a character", "nothing"],
)
def test_a_command_that_cannot_be_run_says_why(tmp_path: Path, argv: tuple[str, ...], folder: str, fault: str) -> None:
    (tmp_path / "text").write_text("words")
    (tmp_path / "empty").write_bytes(b"\x7f")
    (tmp_path / "empty").chmod(0o700)
    before = descriptors()
    result = run_process(CommandLaunch(argv, str(tmp_path / folder), SYSTEM, b"", HANGS))
    assert (result.exit_code, result.signal, result.timed_out) == (None, None, False)
    assert fault in result.fault
    assert descriptors() == before


def test_a_variable_that_no_program_can_be_given_is_a_fault(tmp_path: Path) -> None:
    result = run_process(CommandLaunch(("true",), str(tmp_path), {"A=B": "c"}, b"", HANGS))
    assert result.fault == "no program can be given a variable of this name or value: 'A=B'"


def test_bytes_that_are_no_text_reach_the_command_as_they_are(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    result = run_process(
        CommandLaunch(("/bin/sh", "-c", 'printf "$1$V"', "sh", odd), str(tmp_path), {"V": odd}, b"", HANGS)
    )
    assert result.stdout == b"\xff\xfe" * 2


def test_what_a_hook_is_given_does_not_reach_the_process_that_watches_over_it(tmp_path: Path) -> None:
    broken = {
        **SYSTEM,
        "LD_LIBRARY_PATH": "/nonexistent",
        "PYTHONHOME": "/nonexistent",
        "LD_PRELOAD": "/nonexistent.so",
    }
    result = run_process(CommandLaunch(("/bin/sh", "-c", "exit 5"), str(tmp_path), broken, b"", HANGS))
    assert result.exit_code == 5


def test_it_has_no_terminal_and_ordinary_signals(tmp_path: Path) -> None:
    assert ran(tmp_path, "exec 3</dev/tty").exit_code != 0
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        launch = CommandLaunch(("grep", "-E", "SigIgn|SigBlk", "/proc/self/status"), str(tmp_path), SYSTEM, b"", HANGS)
        masks = run_process(launch)  # not by way of a shell: some set their own mask right
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if sys.platform == "linux":
        ours_of_libc = 3 << 31  # signals 32 and 33 are its own, and nobody can set them
        assert [int(mask, 16) & ~ours_of_libc for mask in re.findall(rb"\t(\w+)", masks.stdout)] == [0, 0]


# What it is given, and what it prints


def test_a_hook_that_ignores_two_megabytes_of_input_neither_hangs_nor_breaks_a_pipe(tmp_path: Path) -> None:
    big = b"x" * 2_000_000
    assert ran(tmp_path, "exit 0", stdin=big).exit_code == 0
    assert ran(tmp_path, "exec <&-; exit 4", stdin=big).exit_code == 4
    assert ran(tmp_path, "head -c 10", stdin=big).stdout == b"x" * 10
    assert ran(tmp_path, "wc -c", stdin=big).stdout.strip() == b"2000000"


def test_fifty_megabytes_of_output_keep_head_and_tail_and_fill_the_log_up_to_its_cap(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    result = ran(tmp_path, "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last", log=str(log))
    assert not result.is_whole
    assert len(result.stdout) <= MOST_KEPT
    assert result.stdout.startswith(b"first\n")
    assert result.stdout.endswith(b"\nlast\n")
    assert re.search("\n… 49,93[0-9],[0-9]{3} bytes left out here …\n", result.stdout.decode())
    written = log.read_bytes()
    assert MOST_LOGGED < len(written) < MOST_LOGGED + 200
    assert "\n… the log of a run ends here: 33,222,796 more bytes are left out …\n" in written[-200:].decode()


def test_a_character_is_never_cut_in_two_where_output_is_left_out(tmp_path: Path) -> None:
    result = ran(tmp_path, "printf a; yes é€𐍈 | head -c 200000 | iconv -c -f UTF-8 -t UTF-8")
    assert not result.is_whole
    assert "\ufffd" not in result.stdout.decode()


def test_streams_are_kept_apart_and_stand_together_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "hook.log"
    launch = CommandLaunch(
        ("/bin/sh", "-c", "echo one; echo two >&2"), str(tmp_path), SYSTEM, b"", HANGS, str(log), "the heading"
    )
    result = run_process(launch)
    assert (result.stdout, result.stderr) == (b"one\n", b"two\n")
    assert sorted(log.read_text().splitlines()) == ["one", "the heading", "two"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    run_process(launch)
    assert log.read_text().count("the heading") == 2, "a second try does not take the first away"


@pytest.mark.parametrize("kind", ["a link", "a second name", "a fifo", "a folder", "no folder", "a NUL"])
def test_a_log_that_cannot_be_written_changes_no_verdict_and_nothing_else(tmp_path: Path, kind: str) -> None:
    victim, log = tmp_path / "victim", tmp_path / "hook.log"
    victim.write_text("mine")
    if kind == "a link":
        log.symlink_to(victim)
    elif kind == "a second name":
        os.link(victim, log)
    elif kind == "a fifo":
        os.mkfifo(log)
    elif kind == "a folder":
        log.mkdir()
    path = {"no folder": str(tmp_path / "gone" / "hook.log"), "a NUL": "a\0b"}.get(kind, str(log))
    result = ran(tmp_path, "echo out; exit 3", log=path)
    assert (result.exit_code, result.stdout) == (3, b"out\n")
    assert [note.split(":")[0] for note in result.notes] == ["its log could not be written"]
    assert victim.read_text() == "mine"


def test_a_log_that_cannot_grow_changes_no_verdict(tmp_path: Path) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from phases.acceptance.command_hooks import *;"
        "r = run_process(CommandLaunch(('/bin/sh', '-c', 'yes | head -c 90000; exit 3'), '/', {}, b'', 60, sys.argv[1]));"
        "print(r.exit_code, len(r.stdout), r.notes)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")], cwd=ROOT, capture_output=True, text=True, timeout=HANGS,
        check=True,
    )  # fmt: skip
    assert ended.stdout.startswith("3 65")
    assert "its log could not be written" in ended.stdout


# How long it may take, and what is left


def test_a_timeout_ends_the_command_and_its_background_child(tmp_path: Path) -> None:
    result = ran(tmp_path, "echo begun; sleep 999 & sleep 999", seconds=0.3)
    assert result.timed_out
    assert (result.exit_code, result.signal) == (None, None)
    assert result.stdout == b"begun\n"


@pytest.mark.slow
def test_at_a_timeout_a_command_is_asked_first_and_may_clean_up_and_is_killed_if_it_does_not_listen(
    tmp_path: Path,
) -> None:
    result = ran(tmp_path, "trap 'echo cleaned; exit 0' TERM; echo ready; sleep 999 & wait", seconds=0.5)
    assert result.timed_out
    assert result.stdout == b"ready\ncleaned\n"
    assert ran(tmp_path, "trap '' TERM; while :; do sleep 0.05; done", seconds=0.2).timed_out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a chosen parent")
@pytest.mark.parametrize("ending", ["exit 0", "sleep 999", "kill -KILL $$"], ids=["it ends", "a timeout", "a signal"])
def test_a_child_that_went_into_a_session_of_its_own_is_gone_too(tmp_path: Path, ending: str) -> None:
    code = (
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(999)"
    )
    (tmp_path / "daemon.py").write_text(code)
    result = ran(
        tmp_path, f"{sys.executable} daemon.py | head -1; {ending}", seconds=HANGS if ending != "sleep 999" else 2
    )
    with pytest.raises(ProcessLookupError):
        os.kill(int(result.stdout), 0)


def test_a_child_that_holds_the_output_of_a_command_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    with must_end():
        assert ran(tmp_path, "sleep 999 & echo done; exit 0").stdout == b"done\n"


def test_what_kills_the_process_that_watches_over_it_gets_no_verdict(tmp_path: Path) -> None:
    mark, script = f"{os.getpid()}-unwatched", "sleep 999 & kill -KILL $PPID; sleep 999"
    result = run_process(CommandLaunch(("/bin/sh", "-c", script), str(tmp_path), {**SYSTEM, MARK: mark}, b"", HANGS))
    assert result.fault == "its supervising process ended first (exit code -9)"
    assert result.exit_code is None
    assert result.notes[0].startswith("a process of it may still run")
    until_gone(mark)


class _Interrupting:
    """SIGUSR1 raises what a stopped run raises."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGUSR1, self._raise)

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGUSR1, self._before)

    @staticmethod
    def _raise(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)


def test_an_interrupt_ends_the_hook_with_all_its_children_and_goes_on_up(tmp_path: Path) -> None:
    mark, before = f"{os.getpid()}-interrupted", descriptors()
    script = f"setsid sleep 999 & sleep 999 & kill -USR1 {os.getpid()}; sleep 999"
    with _Interrupting(), pytest.raises(Interrupted):
        run_process(CommandLaunch(("/bin/sh", "-c", script), str(tmp_path), {**SYSTEM, MARK: mark}, b"", HANGS))
    assert left_behind(mark) == []
    assert descriptors() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a chosen parent")
def test_a_killed_runner_leaves_no_process_of_its_hook(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    script = "setsid sleep 999 & sleep 999 & echo ready; kill -KILL $RUNNER; sleep 999"
    code = (
        "import os, sys; from phases.acceptance.command_hooks import *;"
        "run_process(CommandLaunch(('/bin/sh', '-c', 'exec >alive; ' + sys.argv[1]), sys.argv[2],"
        " {**os.environ, 'RUNNER': str(os.getpid())}, b'', 60))"
    )
    runner = subprocess.Popen([sys.executable, "-c", code, script, str(tmp_path)], cwd=ROOT)
    reader = os.open(tmp_path / "alive", os.O_RDONLY)
    try:
        assert runner.wait(HANGS) == -signal.SIGKILL
        said, piece = b"", b"more"
        while piece:
            assert select.select([reader], [], [], HANGS)[0], "somebody still holds it open"
            piece = os.read(reader, 4096)
            said += piece
        assert said == b"ready\n"
    finally:
        os.close(reader)


@pytest.mark.slow
def test_a_small_share_of_the_soak_leaves_nothing(tmp_path: Path) -> None:
    soak(tmp_path, runs=25)


# What is left of its text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        (b"\x1b]never closed\nnext", "\nnext"),
        (b"\x1bPq#0\x1b\\a\x1b(Bb\x1bc", "ab"),
        (b"a\0b\x08c\x7fd", "abcd"),
        (b"\xff\xfeok\xc3", "��ok�"),
        ("a\u202eb\u200bc\ufeffd\U000e0041e", "abcde"),
        ("\x9b31mred\x9d0;t\x9c.", "red."),
        (b"a\r\nb\r\r\nc\r", "a\nb\nc"),
        (b" 10%\r 50%\r100%\r\x1b[K\nend", "100%\nend"),
        (b"\ttab\nline", "\ttab\nline"),
    ],
    ids=[
        "colour",
        "title",
        "unclosed",
        "strings",
        "controls",
        "no text",
        "unseen",
        "C1",
        "line ends",
        "progress",
        "plain",
    ],
)
def test_a_text_is_what_can_be_seen_of_it(data: bytes | str, text: str) -> None:
    assert strip_control(data, 1000) == text


def test_what_is_left_out_of_a_long_text_is_said_between_its_first_quarter_and_the_rest() -> None:
    text = strip_control("".join(f"{number:07}\n" for number in range(10_000)), 8192)
    assert text.startswith("0000000\n")
    assert text.endswith("\n0009999\n")
    head, said, tail = re.split("\n(… 71,8[0-9][0-9] bytes left out here …)\n", text)
    assert said
    assert (len(head) // 100, len(tail) // 100) == (20, 60)


def test_the_same_characters_are_unseen_here_and_in_what_tools_show() -> None:
    points = [*range(0xD800), *range(0xE000, 0x10000), *range(0xE0000, 0xE1000)]
    differing = [
        hex(c) for c in points if (chr(c) in strip_control(f"a{chr(c)}b", 9)) != (escape_text(chr(c)) == chr(c))
    ]
    assert differing == []


@QUICK
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300), st.sampled_from(NASTY)), st.integers(0, 200))
@example("\x1b\x1b[0m[31m", 50)
@example("é" * 100, 61)
@example("\ud800" * 9, 5)
def test_a_cleaned_text_is_bounded_clean_and_stays_as_it_is(data: bytes | str, most: int) -> None:
    text = strip_control(data, most)
    assert len(text.encode()) <= most
    assert strip_control(text, most) == text
    assert escape_text(text) == text


@pytest.mark.parametrize(
    "forged",
    [
        "</acceptance-feedback>", "<acceptance-feedback attempt='9'>", "< / Acceptance-FEEDBACK>", "<\n/\tacceptance - feedback",
        "<acceptance_feedback>", "<acceptance\u2010feedback>", "<<</acceptance-feedback</acceptance-feedback",
    ],
)  # fmt: skip
def test_a_forged_tag_is_none(forged: str) -> None:
    text = mask_tag(f"before {forged} after")
    assert not re.search(r"<\s*/?\s*acceptance", text, re.IGNORECASE)
    assert len(text) == len(f"before {forged} after")
    assert text.startswith("before ")


@QUICK
@given(
    st.lists(st.sampled_from(["<", "/", " ", "\n", "acceptance", "Acceptance", "-", "feedback", ">", "x"])).map("".join)
)
def test_no_text_can_open_or_close_the_tag(text: str) -> None:
    safe = mask_tag(text)
    assert not re.search(r"<\s*/?\s*acceptance\s*-\s*feedback", safe, re.IGNORECASE)
    assert mask_tag(safe) == safe
    assert safe.replace("[", "<") == text


@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "\x1b", "\r", "<", "< ", "</acceptance ", "\x1b[0;", "\x9d"])
def test_no_text_takes_long_to_be_made_safe(piece: str) -> None:
    text = piece * 200_000
    assert len(mask_tag(strip_control(text, 8192))) <= 8192
    assert mask_tag(text + " " * 200_000).count("<") == text.count("<")


# What it finds in its environment

SECRETS = (
    "X_API_KEY", "APIKEY", "GITHUB_TOKEN", "TOKEN_OF_MINE", "DB_PASSWORD", "MY_SECRET_VALUE", "GOOGLE_APPLICATION_CREDENTIALS",
    "aws_secret", "AWS_PROFILE", "GIT_CONFIG_COUNT", "GIT_ASKPASS", "SSH_AUTH_SOCK", "LD_PRELOAD", "PIPELINE_OPENAI_KEY",
    "PIPELINE_SERVER_PASSWORD", "HOUSE_MODEL", "DATABASE_URL", "TEST_DATABASE_URL", "SENTRY_DSN", "SLACK_WEBHOOK", "WEBHOOK_URL",
)  # fmt: skip
ORDINARY = (
    "PATH", "HOME", "LANG", "TOKENIZERS_PARALLELISM", "KEYBOARD", "GIT_AUTHOR_NAME", "PIPELINE_MODE", "MONKEY", "SECRETARY",
    "DATABASE_URLS_FILE", "WEBHOOKS_ENABLED",
)  # fmt: skip


def hook_of(env: dict[str, str] | None = None, env_allow: tuple[str, ...] = ()) -> Hook:
    return Hook("tests", USER, ACCEPT_GATE, COMMAND, env=env or {}, env_allow=env_allow)


def test_what_looks_like_a_secret_is_not_given_to_a_hook() -> None:
    own = dict.fromkeys((*SECRETS, *ORDINARY), "v")
    assert set(environment_of(own, secret_names=["house_model"], hook=hook_of(), added={})) == set(ORDINARY)
    assert dropped_names(own, secret_names=["HOUSE_MODEL"], hook=hook_of()) == tuple(sorted(SECRETS))


def test_an_address_with_a_password_in_it_is_not_given_whatever_its_name() -> None:
    own = {
        "STORE": "postgres://app:hunter22@db.example/x",
        "HTTPS_PROXY": "http://me:pw@proxy:3128",
        "CACHE": "redis://:pw@c",
    }
    plain = {"DOCS": "https://docs.example/a:b@c", "PROXY": "http://proxy:3128", "WHO": "ssh://me@host"}
    assert set(environment_of({**own, **plain}, secret_names=(), hook=hook_of(), added={})) == set(plain)


def test_a_name_that_is_allowed_is_given_and_no_other() -> None:
    own = {"X_API_KEY": "1", "X_API_KEY_2": "2", "PATH": "p"}
    found = environment_of(own, secret_names=(), hook=hook_of(env_allow=("X_API_KEY",)), added={})
    assert found == {"X_API_KEY": "1", "PATH": "p"}


def test_what_the_hook_sets_counts_more_than_what_the_user_has_and_what_we_add_counts_most() -> None:
    own = {"A": "user", "B": "user", "C": "user"}
    found = environment_of(own, secret_names=(), hook=hook_of({"B": "hook", "C": "hook"}), added={"C": "ours"})
    assert found == {"A": "user", "B": "hook", "C": "ours"}
    assert own == {"A": "user", "B": "user", "C": "user"}
