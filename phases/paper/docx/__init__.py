"""Reads Word documents."""
