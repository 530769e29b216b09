"""Finds things in the fetched code, for people and for the agent."""
