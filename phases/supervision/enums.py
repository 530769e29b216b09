"""Define the kernel's vocabulary, as its files spell it (specification, section 2)."""

from __future__ import annotations

from enum import StrEnum

# decision 63: listed, since a broad except would also hide errors outside of the kernel.
FAULTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Exceptions that a bug in the kernel would raise: supervision may fail, the work that it supervises must not."""


class SupervisorMode(StrEnum):
    """L0: the policy of a whole run."""

    OFF = "off"
    ADAPTIVE = "adaptive"
    STRICT = "strict"


class ExecutionMode(StrEnum):
    """L1: whether every call of the agent is executed."""

    FREE = "free"
    FORCED = "forced"


class SupervisorPhase(StrEnum):
    """L2: who leads."""

    FREE = "free"
    TAKEOVER = "takeover"
    HANDOFF_PENDING = "handoff_pending"
    COOLDOWN = "cooldown"


LED = (SupervisorPhase.TAKEOVER, SupervisorPhase.HANDOFF_PENDING)
"""The phases in which the supervisor leads."""


class TaskPhase(StrEnum):
    """The progress of a task; it only moves forward."""

    INTENT = "intent"
    CONTEXT = "context"
    EDITING = "editing"
    VERIFICATION = "verification"
    FINAL = "final"


class ModeSignal(StrEnum):
    """Reasons to enter forced mode, the strongest first.

    loop_detected: a loop went on after its hint, and its calls are refused from now on, which only forced mode does.
    recovery_pending only blocks the exit. engine_fail_safe stands for an error of the engine, and is never submitted.
    """

    CHECKPOINT_RESUMED = "checkpoint_resumed"
    TASK_GRAPH_ACTIVE = "task_graph_active"
    BRANCH_SWITCHED = "branch_switched"
    PENDING_STEPS = "pending_steps"
    TOOL_FAILURE = "tool_failure"
    MULTI_WRITE = "multi_write"
    LARGE_DIFF = "large_diff"
    EXPLICIT_IMPL = "explicit_impl"
    TAKEOVER_FLOOR = "takeover_floor"
    LOOP_DETECTED = "loop_detected"
    RECOVERY_PENDING = "recovery_pending"
    ENGINE_FAIL_SAFE = "engine_fail_safe"


class DeviationSignal(StrEnum):
    TOOL_REPEAT_FAIL = "tool_repeat_fail"
    NO_PROGRESS = "no_progress"
    FILE_LOOP = "file_loop"
    GOAL_DRIFT = "goal_drift"
    SCOPE_CREEP = "scope_creep"
    USER_FORCE_TAKEOVER = "user_force_takeover"
    CYCLE = "cycle"
    ERROR_PLATEAU = "error_plateau"


class NodeType(StrEnum):
    INSPECT = "inspect"
    SEARCH = "search"
    EDIT = "edit"
    VERIFY = "verify"
    SUMMARIZE = "summarize"
    FALLBACK = "fallback"


class NodeStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class GraphStatus(StrEnum):
    """The status of a graph. Ready and running are active."""

    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


class OutputSignal(StrEnum):
    FILE_READ = "file_read"
    FILE_WRITTEN = "file_written"
    SEARCH_COMPLETED = "search_completed"
    COMMAND_EXECUTED = "command_executed"
    TEST_PASSED = "test_passed"
    VERIFICATION_DONE = "verification_done"
    SUMMARY_GENERATED = "summary_generated"


class FallbackReason(StrEnum):
    RETRIES_EXCEEDED = "retries_exceeded"
    REPEATED_FAILURE = "repeated_failure"
    NO_PROGRESS = "no_progress"
    INVALID_OUTPUT = "invalid_output"
    VERIFY_FAIL = "verify_fail"


class CorrectionKind(StrEnum):
    TAKEOVER = "takeover"
    RECOVERY = "recovery"
    GRAPH_HINT = "graph_hint"


class GateAction(StrEnum):
    """The decision on a call. confirm needs the user; without one the call is refused."""

    EXECUTE = "execute"
    SKIP = "skip"
    CONFIRM = "confirm"


class RecoveryTier(StrEnum):
    TEMPLATE_GRAPH = "template_graph"
    STRONG_HINT = "strong_hint"
    MANUAL_CHECKPOINT = "manual_checkpoint"


class TimelineEvent(StrEnum):
    """The subject of a line of the event log."""

    SWITCH = "switch"
    RECOVER = "recover"
    ROLLBACK = "rollback"
    HANDOFF = "handoff"
    FAILURE = "failure"
    DRIFT = "drift"
    TIMEOUT = "timeout"
    SHADOW_DIAGNOSTIC = "shadow_diagnostic"


class DecisionKind(StrEnum):
    """The decision of L2 after a round."""

    CONTINUE = "continue"
    TAKEOVER = "takeover"
    HANDOFF_PENDING = "handoff_pending"
    HANDOFF = "handoff"
    FAIL = "fail"


class StopReason(StrEnum):
    """Reasons for which supervision stops a run; none of them can be mistaken for success (section 14)."""

    USER_CHECKPOINT = "user_checkpoint"
    CIRCUIT_BREAKER = "circuit_breaker"
    STUCK_CYCLE = "stuck_cycle"


class ToolClass(StrEnum):
    """The effect of a call; the kernel knows no tool by name."""

    READ = "READ"
    SEARCH = "SEARCH"
    WRITE = "WRITE"
    EXEC = "EXEC"
    DELEGATE = "DELEGATE"
    NEUTRAL = "NEUTRAL"


class ProgressClass(StrEnum):
    ALL_FAILED_OR_BLOCKED = "all_failed_or_blocked"
    MEANINGFUL_PROGRESS = "meaningful_progress"
    NON_PROGRESS_SUCCESS = "non_progress_success"
    NO_TOOL = "no_tool"
