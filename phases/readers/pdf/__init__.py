"""Reads PDFs: an engine gives pieces of text with their places, and what stands here makes a paper of them."""
