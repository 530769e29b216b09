"""Read PDFs: an engine returns text pieces with their positions, and these modules compose a paper from them."""
