"""What `pipeline hooks` does: list hooks, trust them, run one now, and translate those of other tools. It prints nothing."""
