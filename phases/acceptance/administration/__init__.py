"""Functions of `pipeline hooks`: list hooks, trust them, run one now, and translate those of other tools. Prints nothing."""
