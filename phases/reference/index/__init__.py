"""What is in the fetched code: its files, symbols and imports, how they relate to a plan, and the search over them."""
