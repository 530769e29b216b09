"""Plans by rules: what a paper asks a builder for, and which files would meet it."""
