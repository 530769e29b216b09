"""`python -m pipeline` is the same as the `pipeline` command."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
