"""What is known of each requirement, observed: where code names it, whether a check ran it, whether a test would notice a change.

The ladder: missing, named, stubbed, executed, tested, guarded. Nothing here believes a word of the code that it looks at.
"""
