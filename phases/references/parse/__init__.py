"""Parse one file of code into symbols and searchable pieces, in confined worker processes."""
