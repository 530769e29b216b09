"""The directory of generated code, which is hostile: reading and writing it, commands in it, copies of it to go back to.

`workspace.Workspace` holds every path that a model gives inside the directory. Before a command a copy is taken (`snapshots`), so
that one that was cut off runs again on the same tree; one that takes long runs on a copy beside the work (`jobs`); a rejected
attempt is copied for its owner (`rejected_snapshots`); `manifest` tells what changed.

It needs phases.sandbox for the commands, phases.llm to read the journal of a run, and the walker and reader of
pipeline.base.safe_tree.
"""

__all__ = [
    "backup_tree", "command_runner", "data_sets", "jobs", "manifest", "packages", "rejected_snapshots", "snapshots",
    "syntax", "task_paths", "workspace",
]  # fmt: skip
