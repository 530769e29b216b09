"""Where commands that a model wrote run: what they may touch, what they may use up, and how they are stopped."""
