"""Read hooks files: parse, validate, trust and watch them."""
