"""The web app: what every answer has in common. The pages are in ``pages``."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from assay.errors import AssayError, one_line
from assay.runs.queries import NotFoundError
from assay.web.library import Library
from assay.web.pages import router
from assay.web.replays import Replays
from assay.web.site import Site, shown

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Of every answer, unless it sets its own."""

_log = logging.getLogger(__name__)


def application(library: Library, replays: Replays) -> FastAPI:
    """The web app for a folder of runs."""
    app = FastAPI(title="Assay", openapi_url=None)
    app.state.site = Site(library, replays)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    app.middleware("http")(_guarded)
    # Whoever makes a browser believe that another name is this machine must not read it.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app.add_exception_handler(NotFoundError, _not_found)
    app.add_exception_handler(AssayError, _unreadable)
    app.add_exception_handler(sqlite3.Error, _unreadable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    return app


async def _guarded(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    try:
        response = await answer(request)
    except Exception as error:  # a file that holds what no run can hold; never a traceback
        reason = one_line(error, 300)
        _log.error("%s: %s", request.url.path, reason)
        response = _error(request, HTTPStatus.INTERNAL_SERVER_ERROR, f"This cannot be shown: {reason}")
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _error(request: Request, status: int, said: str) -> Response:
    return shown(request, "error.html", status=status, title=HTTPStatus(status).phrase, said=said)


def _not_found(request: Request, error: Exception) -> Response:
    return _error(request, HTTPStatus.NOT_FOUND, f"{error}.")


def _unreadable(request: Request, error: Exception) -> Response:
    return _error(request, HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return _error(request, HTTPStatus.BAD_REQUEST, f"{place}: {first['msg'].lower()}")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(request, error.status_code, str(error.detail))
