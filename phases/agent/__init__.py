"""Writes the code of an approved plan: a model asks for tools, they are run, and what came of them goes back, until the work is
accepted or a limit says stop. Its whole state is a journal, so a run that was cut off is walked again and goes on. It needs
planning for plans, acceptance for what is done, workspace, sandbox and llm to act and to ask, and supervision where it is on.
"""

__all__ = [
    "agent_command",
    "assignment",
    "implement",
    "kernel_files",
    "offline_model",
    "reports",
    "rewind",
    "session",
]
