"""Whether the work is done: hooks say whether it is right, the gate whether it is finished. Never what the model says."""
