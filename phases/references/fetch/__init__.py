"""Fetches repositories of strangers: pinned, bounded, and never run."""
