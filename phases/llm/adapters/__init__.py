"""One module for each way that a model is reached."""
