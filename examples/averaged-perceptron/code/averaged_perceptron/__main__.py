"""The command: checks the values of the paper, or runs its experiments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from averaged_perceptron.experiments import FULL, SMALL, Scale, bits_table, main_table, margin_table, tuning
from averaged_perceptron.tables import bits_text, main_text, margin_text, tuning_text, values_text
from averaged_perceptron.values import values_to_check

TABLES: dict[str, Callable[[Scale], str]] = {
    "tuning": lambda scale: tuning_text(tuning(scale)),
    "2": lambda scale: main_text(main_table(scale)),
    "3": lambda scale: bits_text(bits_table(scale)),
    "4": lambda scale: margin_text(margin_table(scale)),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was asked for; 1 if a value differs from the paper's (R21, appendix A, page 4)."""
    given = _parser().parse_args(arguments)
    if given.check:
        values = values_to_check()
        sys.stdout.write(values_text(values))
        return 0 if all(value.agrees for value in values) else 1
    for name in [given.table] if given.table else TABLES:
        sys.stdout.write(TABLES[name](FULL if given.full else SMALL) + "\n")
        sys.stdout.flush()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m averaged_perceptron", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="the paper's values to check, beside those of this code")
    what.add_argument(
        "--small", action="store_true", help="all tables on a tenth of the data and two seeds, in seconds"
    )
    what.add_argument("--full", action="store_true", help="all tables as in the paper, in a minute or two")
    parser.add_argument("--table", choices=[*TABLES], help="only this table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
