"""Run the experiments that generated code declares, and compare the results with the paper's tables, cell by cell.

`reproduce.reproduce_tables` is the entry: `declared` (experiments.yaml), `runs` (each experiment in the sandbox, without plan and
paper), `artifacts` (result files, and signs of copied figures), `measures` (accuracy and the like, computed by us), `compare`;
`attempts` sends differences back to the agent. A number that the code reports is not reproduced: that takes labels which the code
could not see.
"""

__all__ = ["attempts", "compare", "declared", "reproduce"]
