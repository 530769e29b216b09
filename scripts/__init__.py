"""What a maintainer runs: setting up a machine, moving and renaming code."""
