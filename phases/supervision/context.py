"""The one block that a model reads before a round, where somebody leads: in a takeover, or by the graph of strict mode."""

from __future__ import annotations

from phases.supervision.enums import LED, ToolClass
from phases.supervision.execution_mode import is_forced
from phases.supervision.graph_executor import is_active
from phases.supervision.progress import has_plateau
from phases.supervision.signatures import command_key
from phases.supervision.state import KernelState, Setting
from phases.supervision.step_contracts import CONTRACTS
from phases.supervision.wording import lead_text, quote_text, step_text
from phases.supervision.work_ledger import REQUIRED, check_fails

_READ = (
    "read the first failing test and the code that it tests{where}, say in one sentence why it fails, "
    "make one change to that code"
)
_MEND = "say in one sentence why the first test fails, make one change to the code that it tests{where}"
_END = "if nothing is left to do, reply with a short summary and no call."


def context_of(state: KernelState, setting: Setting) -> str:
    """Return the block of this round; empty where nobody leads, or where a word of the last round is still to be read."""
    if setting.policy.shadow:
        return ""
    if state.phase.phase in LED:
        return lead_block(state, setting)
    graph = state.graph.graph
    if (
        graph is None
        or not is_active(state.graph)
        or not is_forced(state.mode)
        or state.spoke_at == state.round - 1 > 0
    ):
        return ""
    return step_text(graph.current.title, state.graph.missing, CONTRACTS[graph.current.type].next)


def lead_block(state: KernelState, setting: Setting) -> str:
    """Return the block of a round that is led: what fails now, what was tried, and the one next action."""
    fails = check_fails(state.ledger)
    failing = state.ledger.assertion.splitlines() or ([state.ledger.build_output] if fails else [])
    passed = state.proved and not fails
    first = state.first_action if state.round <= state.phase.takeover_start_round + 1 else ""
    todo = first or next_action(state, setting)
    return lead_text(failing, () if passed else state.tried, todo, passed=passed, changed=_is_changed(state))


def next_action(state: KernelState, setting: Setting) -> str:
    """Return the one next action: mend a check on a plateau, write an open file, mend a failing check, run a check."""
    passed = set(map(command_key, state.ledger.passed_since_write))
    check = next((one for one in setting.task.verify_commands if command_key(one) not in passed), "")
    run = f"run `{quote_text(check, 120)}`" if check else "run the check that failed"
    if state.next_file and not has_plateau(state.progress, setting.config.triggers.plateau_repeats):
        # with a planned test still to be written, the check would fail for want of it
        then = f", then {run}" if check and state.open_files <= 1 else ""
        return f"write {quote_text(state.next_file)}, a planned file that is open{then}."
    if check_fails(state.ledger) and not _is_changed(state):
        edits = state.progress.edits
        edited = max(edits, key=lambda path: edits[path], default="")
        where = f" (`{quote_text(edited)}`)" if edited else ""
        has_read = ToolClass.READ in state.last.tool_classes and not state.last.write_targets
        return f"{(_MEND if has_read else _READ).format(where=where)}, then {run}."
    return f"{run}." if check or check_fails(state.ledger) else _END


def _is_changed(state: KernelState) -> bool:
    """Whether a check failed when it was run last, and a file changed since."""
    return check_fails(state.ledger) and state.ledger.test_summary == REQUIRED
