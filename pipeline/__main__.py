"""Entry point of the `pipeline` command and `python -m pipeline`."""

import gc

gc.disable()  # imports make no garbage, and looking for it costs each start a few ms; a run turns it on again

from pipeline.cli import main  # noqa: E402 - after the line above on purpose

if __name__ == "__main__":
    main()
