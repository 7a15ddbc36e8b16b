"""Web app and its server on the local machine. The pages are in ``pages`` and ``episodes``."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from assay.errors import AssayError, one_line, plain_reason
from assay.web import episodes, pages
from assay.web.library import Library
from assay.web.queries import NotFoundError
from assay.web.replays import Replays
from assay.web.site import Site, render_page

HOST = "127.0.0.1"
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Default headers of all responses."""

MAX_REQUESTS = 16
"""Maximum number of requests that are processed at the same time; a browser sends six."""

_log = logging.getLogger(__name__)


class ServingError(AssayError):
    """Raised when the web app cannot be served on the requested port."""


def application(library: Library, replays: Replays) -> FastAPI:
    """Return the web app for a folder of runs."""
    app = FastAPI(title="Assay", openapi_url=None)
    app.state.site = Site(library, replays)
    app.state.active = 0
    app.include_router(pages.router)
    app.include_router(episodes.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.middleware("http")(_limit_work)
    app.middleware("http")(_add_headers)
    # DNS rebinding: a web site whose name resolves to this machine must not be able to read the runs.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    for kind in (AssayError, sqlite3.Error, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _error_page)
    return app


async def _limit_work(request: Request, respond: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer requests that other sites cause, and too many simultaneous ones, without computing anything.

    Browsers name the origin of a request in Sec-Fetch-Site: ``none`` if the user typed the address; old ones only name
    the other site in Origin. A link on another site leads to a page on which the user can continue; the link there is
    this app's own.
    """
    if request.url.path.startswith("/static/"):
        return await respond(request)
    own = f"http://{request.headers.get('host')}"
    site = request.headers.get("sec-fetch-site")
    if site not in ("same-origin", "none") if site else request.headers.get("origin", own) != own:
        return render_page(request, "other_site.html", status=HTTPStatus.FORBIDDEN.value)
    state = request.app.state
    if state.active >= MAX_REQUESTS:
        message = f"{MAX_REQUESTS} requests are being processed; try again in a moment."
        return _error_page(request, HTTPException(HTTPStatus.SERVICE_UNAVAILABLE.value, message))
    state.active += 1
    try:
        return await respond(request)
    finally:
        state.active -= 1


async def _add_headers(request: Request, respond: Callable[[Request], Awaitable[Response]]) -> Response:
    try:
        response = await respond(request)
    except Exception as error:  # a run file with unexpected content; never show a traceback
        reason = one_line(error, 300)
        _log.error("%s: %s", request.url.path, reason)
        response = _error_page(request, HTTPException(500, f"This page cannot be shown: {reason}"))
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _error_page(request: Request, error: Exception) -> Response:
    match error:
        case NotFoundError():
            status, message = HTTPStatus.NOT_FOUND.value, f"{error}."
        case RequestValidationError():
            first = error.errors()[0]
            parameter = ".".join(str(part) for part in first["loc"][1:])
            status, message = HTTPStatus.BAD_REQUEST.value, f"{parameter}: {plain_reason(first['msg'])}"
        case HTTPException():
            status, message = error.status_code, str(error.detail)
        case _:
            status, message = HTTPStatus.UNPROCESSABLE_ENTITY.value, str(error)
    return render_page(request, "error.html", status=status, title=HTTPStatus(status).phrase, message=message)


def serve(folder: Path, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve the runs in a folder until Ctrl-C, calling ``ready`` with the address. Port 0 picks a free port.

    Raises RunError if the folder does not exist, ServingError if the port is not available.
    """
    with Replays() as replays:
        serve_app(application(Library(folder), replays), port, ready)


def serve_app(app: FastAPI, port: int, ready: Callable[[str], None]) -> None:
    """Serve an app on this machine, as `serve` does."""
    with suppress(KeyboardInterrupt), _listen(port) as listener:
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        # uvicorn raises the KeyboardInterrupt again once it has shut down
        _Server(config, lambda: ready(address)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Server that calls ``ready`` once it handles requests and Ctrl-C."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        reason = os.strerror(getattr(error, "errno", None) or errno.EINVAL).lower()
        raise ServingError(
            f"{HOST}:{port}: {reason}; choose another --port, or 0 for any free port"
        ) from None
