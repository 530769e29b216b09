"""Plans without a model: finds by rules what a paper asks to be built, quotes it, and lays out the files that would meet it.

`requirements` reads a paper, `requirement_text` a few sentences in plain words, `plan` makes the plan of either.
The package needs the readers' outline and nothing else of the project.
"""
