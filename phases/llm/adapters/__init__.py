"""Adapters, one module for each way to reach a model."""
