"""How the fetched code helps with a plan."""
