"""Read a paper (PDF, LaTeX source, HTML, Word, Markdown, plain text) into Markdown, an outline and segments, without a model.

`intake` loads the source, `reader_subprocess` reads it in a worker process with limits (scans through ocrmypdf), `markdown`,
`outline` and `segments` build the documents; `page_pictures` renders pages; `kinds` is the table of supported formats.
Within the project the package depends on `pipeline.base` alone. README.md shows how to call it.
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
