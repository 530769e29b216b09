"""Read HTML pages: arXiv's, journals', blogs'."""
