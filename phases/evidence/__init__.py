"""Observe each requirement: where it is in the code, which tests run it, and which changes they notice.

The ladder: missing, named, stubbed, executed, tested, guarded. Nothing here believes a word of the code that it looks at.
"""
