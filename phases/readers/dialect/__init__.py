"""Writes Markdown in the dialect of paper.md: what the readers of marked-up papers share."""
