"""`pipeline serve`: show the tasks live in a browser, with the plan review and buttons to start, stop and resume."""

from __future__ import annotations

import errno
import gc
import sys
from contextlib import suppress
from importlib.util import find_spec

import click

from pipeline.base.errors import Interrupted, UsageError
from pipeline.cli.arguments import tasks_dir_option
from pipeline.cli.assembly import settings_from
from pipeline.cli.output import notify, print_text
from pipeline.engine.settings import Settings

_PORT = 8020
_NEEDED = ("starlette", "uvicorn", "python_multipart")


@click.command("serve")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help=f"Port (default: {_PORT}, or a free one).")
@tasks_dir_option
def serve_command(port: int | None, tasks_dir: str | None) -> int:
    """Show the tasks of a directory in a browser: what runs, what waits for you, what it cost.

    Only this machine can reach the page, and only with the key in the address that is printed.

    \b
    pipeline serve
    pipeline serve --tasks-dir papers --port 8030
    ssh -L 8020:localhost:8020 LAB pipeline serve --port 8020     the page of another machine
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise UsageError(f"the page needs {', '.join(missing)}; pip install 'paper-pipeline[web]'")
    settings = settings_from({"tasks_dir": tasks_dir})
    _serve(settings, port)
    notify("the page is closed; runs go on")
    return 0


def _serve(settings: Settings, port: int | None) -> None:
    from pipeline.cli.web.exchange import open_site  # imported here: TAB and --help must not need the extra
    from pipeline.cli.web.server import listen  # the same

    site = open_site(settings)
    try:
        listening = listen(site, _PORT if port is None else port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        if port is not None:
            raise UsageError(f"port {port} is taken, or not yours; choose another: pipeline serve --port N") from error
        listening = listen(site, 0)
    print_text(listening.address)
    sys.stdout.flush()
    gc.freeze()
    gc.enable()  # a start does without; a server that runs for days does not
    notify(
        f"the tasks in {site.folder}; the address above holds the key, so keep it to yourself; Ctrl-C closes the page"
    )
    with suppress(Interrupted, KeyboardInterrupt):  # runs are processes of their own: nothing is lost
        listening.serve()
