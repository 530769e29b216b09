"""Programs that run in the sandbox next to the observed code. They import nothing of this program."""
