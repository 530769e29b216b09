"""Check the work on the disk: changed files, written files, and the built-in check."""
