"""Implement `pipeline hooks`: list, add, trust, test and import hooks. Nothing is printed here."""
