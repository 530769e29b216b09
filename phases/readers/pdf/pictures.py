"""The child process that draws the pages of a PDF, one PNG a page, for people who look rather than read."""

from __future__ import annotations

import os
import sys

from phases.readers.limits import set_limits
from phases.readers.pdf.engine import draw_page

DOTS_PER_INCH = 80
MOST_PAGES = 60


def main() -> None:
    """Draws the PDF named first into a folder, in so many seconds; its password comes from standard input."""
    path, folder, seconds = sys.argv[1:4]
    set_limits(int(seconds))
    password = sys.stdin.read()
    for number in range(1, MOST_PAGES + 1):
        picture = draw_page(path, password or None, number, DOTS_PER_INCH)
        if picture is None:
            return
        with open(os.path.join(folder, f"{number}.png"), "wb") as file:
            file.write(picture)


if __name__ == "__main__":
    main()
