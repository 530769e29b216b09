"""Takes one defence after the other out of a copy of the code, and says whether the test that holds it turns red.

python scripts/knockouts.py [WORD]     only those whose name has the word
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Knockout(NamedTuple):
    """One defence: where it stands, what stands there without it, and a test that must fail then."""

    name: str
    path: str
    before: str
    after: str
    test: str


KNOCKOUTS = (
    Knockout(
        "a proxy is asked for the checked address", "pipeline/base/http/connection.py",
        "open_tunnel(proxy, address, target.port", "open_tunnel(proxy, target.host, target.port",
        "tests/base/test_proxies.py -k number_that_was_checked",
    ),
    Knockout(
        "git's way out leads to one place", "pipeline/base/http/proxy.py",
        'if asked[:2] != ["CONNECT", _with_port(host, port)]:', 'if asked[:1] != ["CONNECT"]:',
        "tests/base/test_proxies.py -k one_place_alone",
    ),
    Knockout(
        "private addresses are refused", "pipeline/base/http/addresses.py",
        "        if reason:\n            raise Forbidden", "        if False:\n            raise Forbidden",
        "tests/base/test_proxies.py -k may_not_be_asked",
    ),
    Knockout(
        "files of keys are no source", "phases/readers/intake.py",
        "if why := why_no_source(path, content):", 'if why := "":',
        "tests/base/test_credentials.py -k run_on_a_file",
    ),
    Knockout(
        "files of keys are no reference", "phases/references/fetch/user_directories.py",
        "if credentials_at(path) or credentials_in(data):", "if False:",
        "tests/base/test_credentials.py -k left_out_and_counted",
    ),
    Knockout(
        "keys are no data", "pipeline/cli/trust.py",
        'credential_store(folder.path, os.path.expanduser("~"))', '""',
        "tests/base/test_credentials.py -k data_with_keys",
    ),
    Knockout(
        "no data without permission", "phases/workspace/data_sets.py",
        'return settings.get("allow_data") == "yes"', "return True",
        "tests/workspace/test_data_sets.py -k without_permission",
    ),
    Knockout(
        "other data than before are refused", "phases/workspace/data_sets.py",
        "if digest and fetched.sha256 != digest:", "if False:",
        "tests/workspace/test_data_sets.py -k other_bytes",
    ),
    Knockout(
        "fetched data are looked at again", "phases/workspace/data_sets.py",
        "return _digest_tree(directory)[0] == tree", "return os.path.isdir(directory)",
        "tests/workspace/test_data_sets.py -k changed_in_the_store",
    ),
    Knockout(
        "a page is no data", "phases/workspace/data_sets.py",
        "    if is_page:", "    if False:",
        "tests/workspace/test_data_sets.py -k a_page_about",
    ),
    Knockout(
        "the list of a zip is bounded", "pipeline/base/archives.py",
        "if size is not None and size > _LARGEST_LIST:", "if False:",
        "tests/workspace/test_data_sets.py -k list",
    ),
    Knockout(
        "links and ways out stay in the archive", "pipeline/base/archives.py",
        "        if reason:\n            refused.append", "        if False:\n            refused.append",
        "tests/workspace/test_data_sets.py -k must_not_be",
    ),
    Knockout(
        "a model names no address", "phases/planning/model/quote_index.py",
        "is not None and address in self._addresses", "is not None",
        "tests/planning/test_links.py -k name_no_host",
    ),
    Knockout(
        "a stranger's task fetches nothing", "pipeline/cli/trust.py",
        '    "allow_data": lambda own, theirs: "no",\n', '    "allow_data": lambda own, theirs: theirs,\n',
        "tests/cli/test_adopt.py -k widens",
    ),
    Knockout(
        "the watch beside the runner", "phases/sandbox/orphan_watch.py",
        "    for info, pid in launches.values():", "    for info, pid in ():",
        "tests/drills/test_orphans.py -k killed",
    ),
    Knockout(
        "a short machine is no verdict on the sandbox", "phases/sandbox/launch.py",
        "isinstance(error, OSError) and error.errno in MACHINE_SHORT", "False",
        "tests/drills/test_machine_errors.py -k pipe",
    ),
    Knockout(
        "a stranger's settings only narrow", "pipeline/cli/trust.py",
        "    values = dict(own)\n", "    values = dict(own) | dict(theirs)\n",
        "tests/cli/test_adopt.py -k widens",
    ),
    Knockout(
        "the seal", "pipeline/cli/trust.py",
        "if is_sealed(task, config_directory()):", "if True:",
        "tests/cli/test_adopt.py -k source_that_a_stranger",
    ),
    Knockout(
        "the report of the supervision is synced", "phases/agent/kernel_files.py",
        "write_durable(self._report", "write_without_sync(self._report",
        "tests/drills/test_durable_trees.py -k report",
    ),
    Knockout(
        "keys are blanked", "phases/llm/redaction.py",
        "return pattern.sub(REDACTED, text) if", "return text if",
        "tests/llm/test_agent_models_parts.py -k redact or shape or key or secret",
    ),
    Knockout(
        "hooks get no addresses with passwords", "phases/acceptance/command_hooks.py",
        "_PASSWORD.search(own[name]) is not None", "False",
        "tests/acceptance/test_hooks_process.py -k address_with_a_password",
    ),
    Knockout(
        "settings of others are not read", "pipeline/base/files.py",
        'return f"all users may write to', 'return "" and f"all users may write to',
        "tests/cli/test_machine_faults.py -k everybody",
    ),
    Knockout(
        "no file is opened through a link in a task", "pipeline/base/safe_tree.py",
        "        elif link and", "        elif False and",
        "tests/base/test_opener.py -k is_a_link",
    ),
    Knockout(
        "no file that is a link or a pipe is opened", "pipeline/base/safe_tree.py",
        "_SAFELY = os.O_NOFOLLOW |", "_SAFELY =",
        "tests/base/test_opener.py -k kind",
    ),
    Knockout(
        "no task with a linked directory is opened", "pipeline/engine/store.py",
        "        _refuse_links(self.root)\n", "",
        "tests/cli/test_foreign_task.py -k link_to_a_directory",
    ),
    Knockout(
        "names in the list of tasks are plain", "pipeline/engine/catalog.py",
        "return not _ODD_NAME.search(name)", "return True",
        "tests/cli/test_foreign_task.py -k not_plain_is",
    ),
    Knockout(
        "no command makes the directory of the hooks", "phases/sandbox/launch.py",
        "                os.mkdir(path)\n", "                pass\n",
        "tests/sandbox/test_mounts.py -k makes_the_directory",
    ),
    Knockout(
        "one writer a task", "pipeline/engine/lock.py",
        "LOCK_EX", "LOCK_SH",
        "tests/engine/test_lock.py",
    ),
)  # fmt: skip


def is_red(knockout: Knockout) -> bool:
    """Whether the test passes with the defence and fails without it. Raises SystemExit where that stands elsewhere by now."""
    path = ROOT / knockout.path
    whole = path.read_text(encoding="utf-8")
    if knockout.before not in whole:
        raise SystemExit(f"{knockout.name}: {knockout.path} does not hold {knockout.before!r} any more")
    if subprocess.run(["git", "diff", "--quiet", "--", knockout.path], cwd=ROOT, check=False).returncode:
        raise SystemExit(f"{knockout.path} has changes that are not committed; commit them first")
    if _exit_code(knockout) != 0:
        raise SystemExit(f"{knockout.name}: {knockout.test} does not pass with the defence")
    try:
        path.write_text(whole.replace(knockout.before, knockout.after), encoding="utf-8")
        return _exit_code(knockout) == 1
    finally:
        path.write_text(whole, encoding="utf-8")


def _exit_code(knockout: Knockout) -> int:
    file, _, words = knockout.test.partition(" -k ")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", file, *(["-k", words] if words else [])]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode


def main() -> int:
    word, green = sys.argv[1] if len(sys.argv) > 1 else "", 0
    for knockout in KNOCKOUTS:
        if word in knockout.name:
            red = is_red(knockout)
            green += not red
            print(f"{'red  ' if red else 'GREEN'}  {knockout.name}  ({knockout.test})", flush=True)
    return 1 if green else 0


if __name__ == "__main__":
    raise SystemExit(main())
