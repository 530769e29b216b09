"""Plan a paper by rules, without a model: quote what it builds, sets and reports, and lay out the files that would hold it."""

from phases.planning.rules2.captions import caption_of
from phases.planning.rules2.links import printed_addresses
from phases.planning.rules2.numbers import NUMBER, WORDS, fold, number_of
from phases.planning.rules2.passages import quote_start, read_paper
from phases.planning.rules2.plan import plan_by_rules, plan_of_text
from phases.planning.rules2.sections import BACKGROUND, OTHER, PROOF, roles_of
from phases.planning.rules2.sentences import sentences_of
from phases.planning.rules2.tables import Grid

__all__ = [
    "BACKGROUND", "NUMBER", "OTHER", "PROOF", "WORDS", "Grid", "caption_of", "fold", "number_of", "plan_by_rules", "plan_of_text",
    "printed_addresses", "quote_start", "read_paper", "roles_of", "sentences_of",
]  # fmt: skip
