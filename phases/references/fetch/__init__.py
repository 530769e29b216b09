"""Fetch repositories from untrusted servers: pinned, bounded, and never run."""
