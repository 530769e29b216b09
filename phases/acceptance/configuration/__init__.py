"""Hooks as files have them: read, refused, trusted, watched, and taken over from other tools."""
