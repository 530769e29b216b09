"""Run a model's commands: what they may access and use up, and how they are stopped.

`commands.run_command` runs one in the best kind of sandbox that was tried out and holds here (bubblewrap, else Landlock with a
filter on system calls), and returns when no process of it is left. git on fetched code, pip, and the hooks of the user run under
the same supervisor. It needs pipeline.base alone; confine.py and supervisor.py also start without the rest of this program.
"""

__all__ = [
    "bash",
    "box",
    "commands",
    "devices",
    "git",
    "installs",
    "locks",
    "output",
    "parsers",
    "probe",
    "process",
    "supervisor",
]
