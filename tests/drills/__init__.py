"""Fault drills: the real command, in real processes, while the machine under it fails."""
