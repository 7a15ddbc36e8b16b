"""Serves the web app to this machine until Ctrl-C."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import uvicorn
from fastapi import FastAPI

from assay.errors import AssayError
from assay.web.app import application
from assay.web.library import Library
from assay.web.replays import Replays
from assay.web.site import warm

HOST = "127.0.0.1"


class ServingError(AssayError):
    """The web app cannot be served there."""


def serve(folder: Path, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve the runs below a folder; ``ready`` is told the address, where port 0 is any that was free.

    Raises RunError if there is no such folder, ServingError if the port cannot be had.
    """
    library = Library(folder)
    with Replays() as replays:
        app = application(library, replays)

        def begin(address: str) -> None:
            Thread(target=warm, args=(app.state.site,), daemon=True).start()
            ready(address)

        run(app, port, begin)


def run(app: FastAPI, port: int, ready: Callable[[str], None]) -> None:
    """Serve an app as `serve` does."""
    with suppress(KeyboardInterrupt), _listening(port) as listener:
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        address = f"http://{HOST}:{listener.getsockname()[1]}/"
        _Server(config, lambda: ready(address)).run(sockets=[listener])  # hands Ctrl-C on when it is done


class _Server(uvicorn.Server):
    """Says when it is up: from then on it hears Ctrl-C itself."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        code = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
        raise ServingError(
            f"{HOST}:{port}: {os.strerror(code).lower()}; choose another --port, or 0 for any that is free"
        ) from None
    return listener
