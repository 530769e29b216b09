"""The work: one numbered module a phase, and the packages that they share."""
