"""Foundations of the other packages: errors, files, formats, logs, downloads. Imports none of them."""
