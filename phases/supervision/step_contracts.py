"""Say what completes each kind of step, and how long it may last (section 6.5). A step refuses no call.

Only the rounds of a step are limited; its tokens fall under the limits of the whole run (decision 200).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision.enums import NodeType, OutputSignal, ToolClass
from phases.supervision.facts import Action, Call, Task
from phases.supervision.graph import Node, StepUse

_PER_PLANNED_FILE = 2


@dataclass(frozen=True)
class Contract:
    required: tuple[OutputSignal, ...]
    """One of these signals completes the step; without any, the model says that it is done."""
    max_rounds: int
    next: str
    """The instruction for the model."""


_S = OutputSignal
CONTRACTS = {
    NodeType.INSPECT: Contract((), 5, 'read or search what the goal touches, or say "step done".'),
    NodeType.SEARCH: Contract((_S.FILE_READ, _S.SEARCH_COMPLETED), 4, "read or search something that the work needs."),
    NodeType.EDIT: Contract((_S.FILE_WRITTEN,), 8, "write the planned files that are missing, or are not right yet."),
    NodeType.VERIFY: Contract(
        (_S.TEST_PASSED, _S.VERIFICATION_DONE),
        5,
        "run the checks of the plan; if one fails, mend the code that it names.",
    ),
    NodeType.SUMMARIZE: Contract((_S.SUMMARY_GENERATED,), 2, "reply with a summary of the work, and make no call."),
    NodeType.FALLBACK: Contract(
        (_S.FILE_WRITTEN, _S.TEST_PASSED), 4, "write the code in another way, then run the checks of the plan."
    ),
}


def contract_of(node: Node, task: Task) -> Contract:
    """Return the contract of a step: more rounds for more planned files, and all checks for a plan with several."""
    contract = CONTRACTS[node.type]
    if node.type in (NodeType.EDIT, NodeType.FALLBACK):
        return replace(contract, max_rounds=contract.max_rounds + _PER_PLANNED_FILE * len(task.planned_files))
    if node.type is not NodeType.VERIFY or len(task.verify_commands) == 1:
        return contract
    more = (_S.TEST_PASSED,) if task.verify_commands else (*contract.required, _S.COMMAND_EXECUTED)
    return replace(contract, required=more)


def is_completed(node: Node, contract: Contract, use: StepUse, open_files: int, *, said_done: bool = False) -> bool:
    """Return whether a step is complete. An edit is not while a planned file is open."""
    if not contract.required:
        return said_done
    if node.type in (NodeType.EDIT, NodeType.FALLBACK) and open_files > 0:
        return False
    return any(signal in use.signals for signal in contract.required)


def is_check(call: Call, task: Task) -> bool:
    """Return whether a call checks the work: it runs a check, or any command for a plan without checks."""
    return call.checks or (call.tool_class is ToolClass.EXEC and not task.verify_commands)


def is_finished_check(action: Action, task: Task) -> bool:
    """Return whether a call was a check that ran to its end, whatever it said."""
    return is_check(action.call, task) and action.result.executed and not action.result.background
