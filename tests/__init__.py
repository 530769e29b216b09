"""Tests: each name is a promise."""
