"""Find the code that a paper builds on, fetch it, index it and search it. No model decides anything here.

`find` reads the bibliography and the links of a paper, `lookup` asks services for more, `fetch` takes repositories without
running them, `parse` and `index` describe their content, `relations` compares that with a plan, `search` answers queries.
README.md shows how to call it. The package needs only `pipeline.base`; its phases pass in git, in a sandbox.
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
