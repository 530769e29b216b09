"""Reads LaTeX source, as TeX would and without running any of it."""
