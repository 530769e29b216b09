"""What is in one file of code: language, symbols, imports, and the pieces that a search finds. Parsed apart, in children."""
