"""Which rules a run is supervised by. Work keeps the rules that it began under: what its model was told follows from them."""

FIRST = 1
"""Of runs whose journal names none."""
RULES = 2
"""Today's. A change of what is decided or said takes the next number, and leaves what the ones before it decide."""
