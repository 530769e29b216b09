"""Web pages of `pipeline serve`: the output of commands, and buttons that start the same commands.

The files of the tasks are the only truth. Nothing here writes into a task: whoever presses a button has a command started, as a
process of its own, which outlives the page. `serve` alone imports this package, whose libraries are the extra `[web]`.
`guard` decides who may ask, `server` (Starlette, uvicorn) takes the requests, and the rest are plain functions from a request
to a page.
"""
