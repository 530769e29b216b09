"""Collect the evidence for each requirement: where code names it, whether a check ran it, whether a test notices a change.

The levels: missing, named, stubbed, executed, tested, guarded. Claims of the code itself do not count.
"""
