"""What each kind of step asks of a model (section 6.5): the calls it allows, the signals that complete it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phases.supervision.facts import Action, Call, Task
from phases.supervision.graph import Node
from phases.supervision.graph_run import StepUse
from phases.supervision.words import NodeType, OutputSignal, TaskIntent, ToolClass

ALLOW, WARN, BLOCK = "allow", "warn", "block"
MAX_SAME_CALL = 5
READ, SEARCH, WRITE, EXEC = ToolClass.READ, ToolClass.SEARCH, ToolClass.WRITE, ToolClass.EXEC
_ENDLESS = 1_000_000
_READS_LIKE_A_DELEGATE = 3
_PER_PLANNED_FILE = 2
_AFTER_EDIT = (NodeType.VERIFY, NodeType.SUMMARIZE)


@dataclass(frozen=True)
class Contract:
    """One row of the table."""

    allowed: tuple[ToolClass, ...]
    forbidden: tuple[ToolClass, ...]
    required: tuple[OutputSignal, ...]
    """One of them is enough."""
    min_calls: int
    max_rounds: int
    max_idle: int
    max_calls: int
    explicit_done: bool = False
    """The model may say that the step is done."""
    primary: ToolClass | None = None
    """The class that the step is for."""
    tolerated: tuple[ToolClass, ...] = ()
    """Neither the step's nor kept from it: warned of in every mode."""


_S = OutputSignal
CONTRACTS = {
    NodeType.INSPECT: Contract((READ, SEARCH), (WRITE, EXEC), (), 0, 5, 3, 8, explicit_done=True),
    NodeType.SEARCH: Contract((READ, SEARCH), (WRITE,), (_S.FILE_READ, _S.SEARCH_COMPLETED), 1, 4, 3, 6),
    NodeType.READ: Contract((READ,), (WRITE, EXEC), (_S.FILE_READ,), 1, 3, 2, 5),
    NodeType.EDIT: Contract(
        (WRITE, READ, SEARCH), (), (_S.FILE_WRITTEN,), 1, 8, 3, 12, primary=WRITE, tolerated=(EXEC,)
    ),
    NodeType.VERIFY: Contract(
        (EXEC, READ, SEARCH), (WRITE,), (_S.TEST_PASSED, _S.VERIFICATION_DONE), 1, 5, 2, 8, primary=EXEC
    ),
    NodeType.SUMMARIZE: Contract((), (WRITE, EXEC), (_S.SUMMARY_GENERATED,), 0, 2, 2, 0, explicit_done=True),
    NodeType.FALLBACK: Contract((WRITE, READ, SEARCH, EXEC), (), (_S.FILE_WRITTEN, _S.TEST_PASSED), 1, 4, 2, 6),
    NodeType.DELEGATE: Contract(
        (ToolClass.DELEGATE, READ, SEARCH), (WRITE, EXEC), (_S.DELEGATE_DONE,), 1, 6, 2, _ENDLESS
    ),
}
_WORDS = {
    READ: "reading files",
    SEARCH: "searching",
    WRITE: "writing files",
    EXEC: "running commands",
    ToolClass.DELEGATE: "delegating",
}
_NEXT = {
    NodeType.INSPECT: 'Read or search what the goal touches, or say "step done".',
    NodeType.SEARCH: "Read or search something that the work needs.",
    NodeType.READ: "Read the file.",
    NodeType.EDIT: "Write the files that the goal asks for.",
    NodeType.VERIFY: "Run the verify commands; where one fails, the edit step opens again.",
    NodeType.SUMMARIZE: "Reply with a summary of the work, without a call.",
    NodeType.FALLBACK: "Write the code another way, or run the checks until they pass.",
    NodeType.DELEGATE: "Delegate the exploration, or read and search three times yourself.",
}


@dataclass(frozen=True)
class ContractCheck:
    """Whether a call fits the step, and what to tell the model."""

    action: str
    """ALLOW, WARN or BLOCK."""
    text: str = ""


@dataclass(frozen=True)
class Terms:
    """What a contract is to be read with, for the moment."""

    strict: bool = False
    blocking: bool = False
    """The model has strayed too often."""
    mending: bool = False
    """A fix is wanted: the last check is known to have failed, or a recovery asked for one."""
    unchecked: bool = False
    """The plan has no verify commands."""


_AS_AGREED = Terms()


def contract_of(node: Node, task: Task) -> Contract:
    """The contract of a step in a task."""
    contract = scaled(node, task.intent, len(task.planned_files))
    return _checked(contract, task) if node.type is NodeType.VERIFY else contract


def scaled(node: Node, intent: TaskIntent, planned_files: int) -> Contract:
    """The contract of a step, with more rounds where more files are planned."""
    contract = CONTRACTS[node.type]
    if node.type in (NodeType.EDIT, NodeType.FALLBACK):
        more = _PER_PLANNED_FILE * planned_files
        return replace(contract, max_rounds=contract.max_rounds + more, max_calls=contract.max_calls + more)
    if node.type is NodeType.SEARCH and intent is TaskIntent.TEST:
        return replace(contract, allowed=(*contract.allowed, EXEC))
    return contract


def completed(node: Node, contract: Contract, use: StepUse, open_files: int, *, said_done: bool = False) -> bool:
    """Whether a step has what it takes. Code is not written while a planned file is open."""
    if use.calls < contract.min_calls:
        return False
    if contract.explicit_done and not contract.required:
        return said_done
    if node.type in (NodeType.EDIT, NodeType.FALLBACK) and open_files > 0:
        return False
    if node.type is NodeType.DELEGATE and use.reads >= _READS_LIKE_A_DELEGATE:
        return True
    return any(signal in use.signals for signal in contract.required)


def check(node: Node, contract: Contract, use: StepUse, call: Call, terms: Terms) -> ContractCheck:
    """What the contract says of a call, before it is made; nothing is counted."""
    if call.tool_class is ToolClass.NEUTRAL or _belongs_anywhere(node.type, call, terms):
        return ContractCheck(ALLOW)
    kind = class_in(contract, call)
    if kind in contract.forbidden:
        return ContractCheck(BLOCK, _off(node, call))
    if kind in contract.tolerated:
        return ContractCheck(BLOCK if terms.blocking else WARN, _off(node, call))
    if kind not in contract.allowed:
        return ContractCheck(BLOCK if terms.strict or terms.blocking else WARN, _off(node, call))
    if call.signature == use.last_signature and use.same_calls >= MAX_SAME_CALL:
        return ContractCheck(WARN, f"This very call was made {use.same_calls} times in a row. Do something else.")
    if use.calls >= contract.max_calls:
        return ContractCheck(
            WARN, f"The step {node.title!r} has had its {contract.max_calls} calls. {_NEXT[node.type]}"
        )
    return ContractCheck(ALLOW)


def class_refusal(kind: NodeType, call: Call, terms: Terms = _AS_AGREED) -> str:
    """Why a kind of step forbids a call; empty where it does not."""
    if call.tool_class is ToolClass.NEUTRAL or _belongs_anywhere(kind, call, terms):
        return ""
    if call.tool_class not in CONTRACTS[kind].forbidden:
        return ""
    return f"{_words(call.tool_class)} is not part of this step ({kind}). {_NEXT[kind]}"


def class_in(contract: Contract, call: Call) -> ToolClass:
    """What a call counts as in a step: to delegate is to search, where that is the step's."""
    delegates = call.tool_class is ToolClass.DELEGATE and ToolClass.DELEGATE not in contract.allowed
    return SEARCH if delegates and SEARCH in contract.allowed else call.tool_class


def is_check(call: Call, task: Task) -> bool:
    """Whether a call says if the work is right: a verify command, one with more around it, any where the plan has none."""
    return call.checks or (call.tool_class is EXEC and not task.verify_commands)


def checks(action: Action, task: Task) -> bool:
    """Whether it was one, and was waited for. One that fails is how work goes."""
    return is_check(action.call, task) and action.result.executed and not action.result.background


def next_of(kind: NodeType) -> str:
    """What to do in a step of this kind."""
    return _NEXT[kind]


def _checked(contract: Contract, task: Task) -> Contract:
    """Of several checks all must pass; where none is known, a command that ends well is one."""
    if len(task.verify_commands) > 1:
        more = len(task.verify_commands)
        return replace(contract, required=(_S.TEST_PASSED,), max_calls=contract.max_calls + more)
    if not task.verify_commands:
        return replace(contract, required=(*contract.required, _S.COMMAND_EXECUTED))
    return contract


def _belongs_anywhere(kind: NodeType, call: Call, terms: Terms) -> bool:
    """What no step keeps back: a check, a fix that is wanted, any command of a plan without checks once code is written."""
    if call.checks:
        return True
    if call.tool_class is WRITE:
        return kind in _AFTER_EDIT and (terms.mending or terms.unchecked)
    return call.tool_class is EXEC and terms.unchecked and kind in (NodeType.EDIT, NodeType.FALLBACK, *_AFTER_EDIT)


def _off(node: Node, call: Call) -> str:
    return f"{_words(call.tool_class)} is not part of the step {node.title!r} ({node.type}). {_NEXT[node.type]}"


def _words(kind: ToolClass) -> str:
    return _WORDS.get(kind, kind.value).capitalize()
