"""The list of things to do: what a change of it may be, and what the list comes to."""
