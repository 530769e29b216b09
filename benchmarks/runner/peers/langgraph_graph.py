"""The workload as a langgraph graph: a chain of nodes with a SQLite checkpoint after every one.

Usage: ``BENCH_DIR=<task directory> python langgraph_graph.py``; the checkpoints are in
``<task directory>.langgraph.sqlite``.
A thread that stopped half-way goes on at the node it had reached; one that came to its end is left alone.
"""

import os
import sys
from collections.abc import Callable
from typing import TypedDict

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import workload
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Progress(TypedDict):
    """What the nodes hand on: where the task lies and the last step that is done."""

    directory: str
    completed: int


def make_node(step: int) -> Callable[[Progress], dict[str, int]]:
    """Return the node of one step."""

    def node(progress: Progress) -> dict[str, int]:
        workload.run_step(step, progress["directory"])
        return {"completed": step}

    return node


def make_builder() -> StateGraph:
    """Return the chain of all steps."""
    builder = StateGraph(Progress)
    names = [f"step_{step}" for step in range(1, workload.STEPS + 1)]
    for step, name in enumerate(names, start=1):
        builder.add_node(name, make_node(step))
    for before, after in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(before, after)
    return builder


def main() -> None:
    """Start the task's thread, or go on with it."""
    directory = workload.task_directory()
    config = {"configurable": {"thread_id": os.path.basename(directory)}, "recursion_limit": workload.STEPS + 5}
    with SqliteSaver.from_conn_string(f"{directory}.langgraph.sqlite") as saver:
        graph = make_builder().compile(checkpointer=saver)
        snapshot = graph.get_state(config)
        if not snapshot.values:
            graph.invoke({"directory": directory, "completed": 0}, config, durability="sync")
        elif snapshot.next:
            graph.invoke(None, config, durability="sync")


if __name__ == "__main__":
    main()
