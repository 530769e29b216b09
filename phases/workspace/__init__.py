"""Handle the directory of generated code, which is hostile: read and write it, run commands in it, copy and restore it.

`workspace.Workspace` keeps every path that a model gives inside the directory. A copy is made before each command
(`snapshots`), so that an interrupted one runs again on the same tree; long commands run on their own copy (`jobs`); rejected
attempts are copied for the user (`rejected_snapshots`); `manifest` reports changes.

It needs phases.sandbox for commands, phases.llm to read the journal of a run, and pipeline.base.safe_tree.
"""

__all__ = [
    "backup_tree", "command_runner", "data_sets", "jobs", "manifest", "packages", "rejected_snapshots", "snapshots",
    "syntax", "task_paths", "workspace",
]  # fmt: skip
