"""Runs the experiments that generated code declares, and lays what they give beside the paper's tables, cell by cell.

`reproduce.reproduce_tables` is the way through: `declared` (experiments.yaml), `runs` (each experiment in the sandbox, where plan
and paper are not), `artifacts` (what it left), `measures` (accuracy and the like, computed by us), `compare`;
`attempts` sends what differs back to the agent.
A number that the code reports is not a number that was reproduced: that takes labels which the code could not see.
"""

__all__ = ["attempts", "compare", "declared", "reproduce"]
