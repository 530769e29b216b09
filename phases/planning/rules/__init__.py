"""Plan a paper by rules, without a model: quote what it builds, sets and reports, and lay out the files that would hold it."""

from phases.planning.rules.numbers import NUMBER, WORDS, fold, number_of
from phases.planning.rules.passages import read_paper, sentences_of
from phases.planning.rules.plan import plan_by_rules, plan_of_text
from phases.planning.rules.results import caption_of
from phases.planning.rules.sections import roles_of
from phases.planning.rules.tables import Grid

__all__ = [
    "NUMBER", "WORDS", "Grid", "caption_of", "fold", "number_of", "plan_by_rules", "plan_of_text", "read_paper",
    "roles_of", "sentences_of",
]  # fmt: skip
