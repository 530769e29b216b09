"""Turns a paper (PDF, LaTeX source, HTML, Word, Markdown, plain text) into Markdown, an outline and segments, without a model.

`intake` fetches the source, `reader_subprocess` reads it in a worker process with limits (scans through ocrmypdf), `markdown`,
`outline` and `segments` make the documents; `page_pictures` draws pages; `kinds` is the table of what is read.
Of the rest of the project the package needs `pipeline.base` alone.
"""

__all__ = [
    "intake",
    "kinds",
    "line_patterns",
    "markdown",
    "origins",
    "outline",
    "page_pictures",
    "reader_subprocess",
    "reading",
    "segments",
]
