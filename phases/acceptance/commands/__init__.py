"""Hooks that are commands: how one is run to its end, what it prints, and what its exit and its words mean."""
