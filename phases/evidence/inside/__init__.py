"""What runs inside the sandbox, beside the code that is looked at. It imports nothing of this program."""
