"""Reads HTML pages: arXiv's, journals', blogs'."""
