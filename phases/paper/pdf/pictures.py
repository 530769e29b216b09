"""The child process that draws the pages of a PDF, one PNG a page, for people who look rather than read."""

from __future__ import annotations

import os
import sys

from phases.paper.limits import set_limits

DOTS_PER_INCH = 80
MOST_PAGES = 60


def main() -> None:
    """Draws the PDF named first into the folder named second; its password comes from standard input."""
    set_limits()
    import liteparse

    path, folder, password = sys.argv[1], sys.argv[2], sys.stdin.read()
    engine = liteparse.LiteParse(ocr_enabled=False, quiet=True, dpi=DOTS_PER_INCH, password=password or None)
    for number in range(1, MOST_PAGES + 1):
        drawn = engine.screenshot(path, page_numbers=[number])
        if not drawn:
            return
        with open(os.path.join(folder, f"{number}.png"), "wb") as file:
            file.write(drawn[0].image_bytes)


if __name__ == "__main__":
    main()
