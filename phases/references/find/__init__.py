"""Find what a paper refers to: its references, the places that cite them, and the repositories that it links."""
