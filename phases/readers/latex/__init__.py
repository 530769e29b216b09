"""Read LaTeX source as TeX would, without executing it."""
