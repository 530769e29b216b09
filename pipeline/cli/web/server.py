"""Serve the pages: take requests with Starlette, call the plain functions of the pages, and send their answers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from phases.pages import render as shared
from phases.pages.render import Templates, read_style
from pipeline.base.errors import PipelineError, TaskBusy
from pipeline.cli.web import code_pages, live_page, overview_page, plan_page, tasks_page
from pipeline.cli.web.exchange import HtmlPage, NotThere, PageRequest, SeeOther, Site, Upload, WebAnswer, WebFile
from pipeline.cli.web.guard import FRAME_MARK, Guard
from pipeline.cli.web.watch import list_signature, task_signature

_HERE = os.path.dirname(__file__)
STATIC = os.path.join(_HERE, "static")


def build_templates() -> shared.Templates:
    """Return all templates, with their shared words."""
    return shared.Templates(os.path.join(_HERE, "templates"), money=write_money, ago=write_age)


def write_money(usd: float) -> str:
    """Format dollars, to the cent; less than one cent in full."""
    return "$0" if not usd else f"${usd:.4f}" if usd < 0.01 else f"${usd:,.2f}"


def write_age(at: str) -> str:
    """Return the age of a time stamp: "3 min ago"."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return at
    seconds = (datetime.now(UTC) - then.astimezone(UTC)).total_seconds()
    return "now" if seconds < 5 else f"{shared.write_span(seconds)} ago"


if TYPE_CHECKING:
    from starlette.requests import Request

_LOOK_SECONDS = 1.0
_MOST_STREAMS, _MOST_CONNECTIONS = 200, 500
_LARGEST_FORM, _MOST_FILES = 1 << 20, 200
_QUIET_LOOKS = 15
Handler = Callable[[Site, PageRequest], WebAnswer]
GET, POST = "GET", "POST"
ROUTES: tuple[tuple[str, str, Handler], ...] = (
    (GET, "/", tasks_page.show_tasks),
    (GET, "/tasks", tasks_page.show_rows),
    (POST, "/new", tasks_page.begin_run),
    (GET, "/t/{task}", overview_page.show_task),
    (GET, "/t/{task}/now", overview_page.show_now),
    (GET, "/t/{task}/redo", overview_page.ask_redo),
    (POST, "/t/{task}/do", overview_page.act),
    (GET, "/t/{task}/plan", plan_page.show_plan),
    (POST, "/t/{task}/plan", plan_page.decide),
    (GET, "/t/{task}/sheet/{page}", plan_page.show_sheet),
    (GET, "/t/{task}/figure/{page}", plan_page.show_figure),
    (GET, "/t/{task}/live", live_page.show_live),
    (GET, "/t/{task}/turns", live_page.show_turns),
    (GET, "/t/{task}/state", live_page.show_state),
    (GET, "/t/{task}/trace", code_pages.show_trace),
    (GET, "/t/{task}/panes", code_pages.show_panes),
    (GET, "/t/{task}/results", code_pages.show_results),
    (GET, "/t/{task}/cost", code_pages.show_cost),
    (GET, "/t/{task}/files", code_pages.show_files),
    (GET, "/t/{task}/file/{mark}", code_pages.show_file),
    (GET, "/t/{task}/zip", code_pages.send_zip),
    (GET, "/t/{task}/log", code_pages.show_log),
)


class Streams:
    """Number of listening pages."""

    def __init__(self) -> None:
        self.open = 0


class Listening(NamedTuple):
    """A server that is ready to start."""

    address: str
    """Address with the key."""
    server: uvicorn.Server
    socket: socket.socket

    def serve(self) -> None:
        """Serve until a signal comes."""
        self.server.run(sockets=[self.socket])


def listen(site: Site, port: int) -> Listening:
    """Take a port of this machine alone (0: a free one). Raises OSError where it is taken."""
    bound = socket.create_server(("127.0.0.1", port), backlog=128)
    guard = build_app(site, bound.getsockname()[1])
    config = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        ws="none",
        http="h11",
        loop="asyncio",
    )
    return Listening(f"http://127.0.0.1:{bound.getsockname()[1]}/?token={guard.token}", uvicorn.Server(config), bound)


def build_app(site: Site, port: int) -> Guard:
    templates, streams = build_templates(), Streams()
    routes = [
        Route(path, partial(_handle, handler, site, templates), methods=[method]) for method, path, handler in ROUTES
    ]
    listening = [
        Route("/events", partial(_send_events, site, streams), methods=[GET]),
        Route("/t/{task}/events", partial(_send_events, site, streams), methods=[GET]),
    ]
    app = Starlette(routes=[*listening, *routes, Route("/static/page.css", _send_style)])
    app.mount("/static", StaticFiles(directory=STATIC))
    return Guard(app, port=port, largest=site.settings.max_source_mb * 2**20 + _LARGEST_FORM)


async def _handle(handler: Handler, site: Site, templates: Templates, request: Request) -> Response:
    route = {name: str(value) for name, value in request.path_params.items()}
    if request.method != POST:
        answer = await run_in_threadpool(_call, handler, site, PageRequest(route, dict(request.query_params)))
        return await run_in_threadpool(_respond, answer, site, templates, request)
    async with request.form(max_files=_MOST_FILES, max_fields=60, max_part_size=_LARGEST_FORM) as form:
        words = {name: value for name, value in form.items() if isinstance(value, str)}
        files = [value for _, value in form.multi_items() if isinstance(value, UploadFile) and value.filename]
        uploads = [Upload(file.filename or "", file.file) for file in files]
        if words.pop("key", "") != site.form_key:
            told = "This form is of an earlier start of the server, and so nothing was done; go back, and load the page again."
            answer = HtmlPage("problem.html", {"told": told}, 403)
        else:
            asked = PageRequest(route, dict(request.query_params), words, uploads)
            answer = await run_in_threadpool(_call, handler, site, asked)
    return await run_in_threadpool(_respond, answer, site, templates, request)


def _call(handler: Handler, site: Site, request: PageRequest) -> WebAnswer:
    try:
        return handler(site, request)
    except NotThere as error:
        return HtmlPage("problem.html", {"told": str(error)}, 404)
    except TaskBusy as error:
        return HtmlPage("problem.html", {"told": str(error)}, 409)
    except PipelineError as error:
        return HtmlPage("problem.html", {"told": str(error)}, 400 if request.form else 500)


def _respond(answer: WebAnswer, site: Site, templates: Templates, request: Request) -> Response:
    if isinstance(answer, SeeOther):
        path, hash_mark, place = answer.to.partition("#")
        said = f"{'&' if '?' in path else '?'}said={site.keep_message(answer.message)}" if answer.message else ""
        return RedirectResponse(path + said + hash_mark + place, status_code=303)
    if isinstance(answer, WebFile):
        headers = {"content-disposition": f'attachment; filename="{answer.name}"'} if answer.name else {}
        headers |= {FRAME_MARK.decode(): "yes"} if answer.is_frame else {}
        headers |= {"cache-control": "private, max-age=86400"} if answer.lasts else {}
        return Response(answer.data, media_type=answer.media, headers=headers)
    values = {
        "key": site.form_key,
        "said": site.take_message(request.query_params.get("said", "")),
        "path": request.url.path,
        "folder": site.folder,
        "task": None,
        "part": False,
        **answer.values,
    }
    page = templates.render(answer.template, values).encode("utf-8", "replace")
    return Response(page, answer.status, media_type="text/html; charset=utf-8")


async def _send_style(_: Request) -> Response:
    return Response(read_style(), media_type="text/css")


async def _send_events(site: Site, streams: Streams, request: Request) -> Response:
    """Send an event to a page when something has changed; the page fetches what it shows."""
    if streams.open >= _MOST_STREAMS:
        return Response("too many pages listen already\n", 503)
    task = request.path_params.get("task")
    try:
        root = (await run_in_threadpool(site.open, str(task))).root if task else ""
    except PipelineError:
        return Response("there is no such task\n", 404)
    look = partial(task_signature, root) if root else partial(list_signature, site.folder)
    return StreamingResponse(_watch(look, streams), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _watch(look: Callable[[], object], streams: Streams) -> AsyncIterator[bytes]:
    streams.open += 1
    try:
        before, quiet = look(), 0
        yield b": listening\n\n"
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now, quiet = look(), quiet + 1
            if now != before:
                before, quiet = now, 0
                yield b"event: changed\ndata: \n\n"
            elif quiet >= _QUIET_LOOKS:
                quiet = 0
                yield b": still here\n\n"
    finally:
        streams.open -= 1
