"""Todo list: its allowed changes, and its summary."""
