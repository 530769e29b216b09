"""The adapters: what answers, and what of its answers may become content."""
