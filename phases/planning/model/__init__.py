"""Plan with a model: material, prompts, conversation and validation of replies."""
