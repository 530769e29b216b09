"""The plan: by rules, by a model, and what changed in it."""
