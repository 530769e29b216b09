"""Reads papers: no model, no network, and no trust in what it reads."""
