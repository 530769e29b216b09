"""Other people's code: finds what a paper stands on, fetches it, indexes it and searches it. No model decides anything here.

`find` reads the bibliography and the links of a paper, `lookup` asks services for more, `fetch` takes repositories without
running anything of them, `parse` and `index` say what they hold, `relate` compares that with a plan, `search` answers questions.
Of the rest of the project the package needs `pipeline.base` alone; its phases hand it git, in a sandbox.
"""

__all__ = [
    "fetch.fetch",
    "fetch.install",
    "fetch.model",
    "fetch.user_directories",
    "find.reference_document",
    "index.build",
    "lookup.services",
    "parse.grammars",
    "relations",
    "search",
    "values",
]
