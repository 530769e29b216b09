"""Finds in a paper what it refers to: its references one by one, where each is cited, and the repositories that it links."""
