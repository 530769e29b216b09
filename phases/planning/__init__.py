"""Turn a paper into a plan: by rules without a model (`rules`), or by asking a model and checking its reply (`model`).

`changes` says what another plan means for code that is there, and `model.rerank_references` asks a model whose code would
help. The package needs `phases.llm` to ask, `phases.readers` for headings and marks, and `pipeline.engine` for its context.
"""

__all__ = [
    "changes",
    "model.material",
    "model.planning",
    "model.rerank_references",
    "plan_edits",
    "plan_md",
    "plan_sense",
    "plan_words",
    "quotes",
    "rules",
    "subject",
]
